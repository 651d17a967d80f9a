"""The tasks of lesson 07: an error that says what to do, arguments of the wrong type, requests left open."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from agentlib.course.quick_checks.task import SmallTask, Wrong, call
from agentlib.labs import shop
from agentlib.messages import Entry, calls_in, user


def advice(order_id: str, orders: Collection[str]) -> str:
    """Say what to do about an order that was not found."""
    digits = order_id.strip("#")
    if digits in orders:
        return f'Use the digits alone: "{digits}".'
    return "Tell the customer to check the number."


def wrong_types(given: Mapping[str, Any], hints: Mapping[str, type]) -> list[str]:
    """List the arguments that are missing or of another type."""
    return [name for name, kind in hints.items() if not isinstance(given.get(name), kind)]


def unanswered(calls: Sequence[Entry], results: Sequence[Entry]) -> list[str]:
    """List the ids of the requests that have no result."""
    answered = [result["id"] for result in results]
    return [one["id"] for one in calls if one["id"] not in answered]


def _heeded(order_id: str) -> Callable[[object], str]:
    """Let the shop's model read the advice behind an error, and say what it does next."""

    def look(text: object) -> str:
        request = {
            "role": "model",
            "type": "tool",
            "id": "1",
            "tool": "lookup_order",
            "input": {"order_id": order_id},
        }
        error = {"error": "not_found", "message": f"No order {order_id}. {text}"}
        result = {"role": "tool", "id": "1", "tool": "lookup_order", "result": error}
        reply = shop.model()([user(f"Where is order {order_id}?"), request, result])
        asked = calls_in(reply)
        if not asked:
            return f"the model answers: {reply['text']}"
        again = asked[0]["input"]["order_id"]
        return "the model asks the very same again" if again == order_id else f"the model asks for {again}"

    return look


def _names(listed: Any) -> Any:
    """Put names in one order, which is free; a tuple or a set is as good."""
    return sorted(listed) if isinstance(listed, (list, tuple, set)) else listed


def _calls(*names: str) -> list[Entry]:
    return [{"id": name, "tool": "look", "input": {}} for name in names]


TASKS = (
    SmallTask(
        name="07 advice",
        ours=advice,
        cases=(
            call(
                "#1043",
                {"1042", "1043"},
                look=_heeded("#1043"),
                said="for #1043, where there is an order 1043",
                hint="The text 1043, without the #, stands in `orders`. The model heeds `Use ...` with the "
                "right form in quotation marks",
            ),
            call(
                "#2043",
                {"1042", "1043"},
                look=_heeded("#2043"),
                said="for #2043, which does not exist",
                hint="Let it `Tell the customer to ...` something, with a full stop at the end",
            ),
            call(
                "11043",
                {"1042", "1043"},
                look=_heeded("11043"),
                said="for 11043, which does not exist",
                hint="Only a # is taken away, not a digit",
            ),
        ),
        wrong=(
            Wrong(
                "f'Use the digits alone: \"{digits}\".'",
                '"Use the digits alone."',
                "the model asks the very same again",
            ),
            Wrong("if digits in orders", "if digits", "for #2043, which does not exist"),
            Wrong('order_id.strip("#")', "order_id[1:]", "Only a # is taken away, not a digit"),
            Wrong('"{digits}"', '"1044"', 'the model asks for 1044", not'),
        ),
    ),
    SmallTask(
        name="07 wrong types",
        ours=wrong_types,
        cases=(
            call(
                {"order_id": "1042", "days": 3},
                {"order_id": str, "days": int},
                look=_names,
                hint="Give back a list; where all fits, an empty one",
            ),
            call(
                {"order_id": 1042, "days": 3},
                {"order_id": str, "days": int},
                look=_names,
                hint="1042 is no text",
            ),
            call(
                {"days": "3"}, {"order_id": str, "days": int}, look=_names, hint="A missing one is wrong too"
            ),
            call(
                {"order_id": "", "days": 0},
                {"order_id": str, "days": int},
                look=_names,
                hint="0 and an empty text fit",
            ),
            call(
                {"days": 3, "colour": "red"},
                {"days": int},
                look=_names,
                hint="Only the names in `hints` are asked for",
            ),
        ),
        wrong=(
            Wrong("given.get(name)", "given[name]", "it raised KeyError"),
            Wrong("not isinstance", "isinstance", "it gave days, order_id, not nothing"),
            Wrong("if not isinstance", "if not given.get(name) or not isinstance", "0 and an empty text fit"),
            Wrong(
                "hints.items()", "{**dict.fromkeys(given, int), **hints}.items()", "Only the names in `hints`"
            ),
        ),
    ),
    SmallTask(
        name="07 unanswered",
        ours=unanswered,
        cases=(
            call(_calls("a", "b", "c"), [{"id": "a"}], said="for a, b, c with a result for a"),
            call(_calls("a", "b"), [{"id": "b"}, {"id": "a"}], said="for a, b with results for b, a"),
            call(
                _calls("a", "b", "c"),
                [{"id": "b"}],
                said="for a, b, c with a result for b",
                hint="Compare the ids: which result came first says nothing",
            ),
            call(_calls("a", "b"), [], said="for a, b with no result"),
            call(
                _calls("c", "a", "b"), [{"id": "a"}], said="for c, a, b with a result for a", hint="In order"
            ),
        ),
        wrong=(
            Wrong("not in answered", "in answered", "it gave a, not b, c"),
            Wrong(
                'calls if call["id"] not in answered',
                "calls[len(answered):]",
                "with a result for b, it gave b, c",
            ),
            Wrong('[result["id"] for result in results]', "results", "it gave a, b, c, not b, c"),
            Wrong('call["id"] for call in calls', "call for call in calls", "it gave [{"),
        ),
    ),
)
