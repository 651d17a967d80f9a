"""The tasks of lesson 13: a provider's message as a reply, several requests, and what a run had seen."""

import json
from collections.abc import Collection, Sequence
from typing import Any

from agentlib.course.quick_checks.task import SmallTask, Words, Wrong, call
from agentlib.messages import Entry, answer, ask, ask_together, user


def from_chat(message: Entry) -> Entry:
    """Read a message of Chat Completions as a reply."""
    calls = [
        {
            "id": one["id"],
            "tool": one["function"]["name"],
            "input": json.loads(one["function"]["arguments"]),
        }
        for one in message.get("tool_calls") or []
    ]
    if calls:
        return {"type": "tools", "calls": calls, "text": message.get("content") or ""}
    return {"type": "answer", "text": message["content"]}


def calls_of(reply: Entry) -> list[Entry]:
    """List the requests of a reply that is no answer."""
    return list(reply["calls"]) if reply["type"] == "tools" else [reply]


def has_seen(history: Sequence[Entry], numbers: Collection[int]) -> bool:
    """Tell whether each of these numbers stands in a tool's result."""
    results = [str(entry["result"]) for entry in history if entry.get("role") == "tool"]
    return all(any(str(number) in result for result in results) for number in numbers)


def _asked(*calls: tuple[str, str, str]) -> list[Entry]:
    return [
        {"id": name, "type": "function", "function": {"name": tool, "arguments": arguments}}
        for name, tool, arguments in calls
    ]


def _what_counts(reply: Any) -> Any:
    """Leave out what is free: a text beside requests, and whether one request stands alone."""
    if not isinstance(reply, dict):
        return Words(f"a {type(reply).__name__}, and no dict")
    if reply.get("type") == "answer":
        return reply
    calls = reply.get("calls", [reply])
    if ("calls" in reply) != (reply.get("type") == "tools"):
        return f"calls in a reply of the type {reply.get('type')!r}" if "calls" in reply else reply
    calls = [{name: one.get(name) for name in ("id", "tool", "input")} for one in calls]
    return {"type": "tools", "calls": calls}


ONE = _asked(("call_7", "weather", '{"place": "Rye", "days": 3}'))
TWO = [*ONE, *_asked(("call_8", "clock", "{}"))]


def _seen(*results: Any) -> list[Entry]:
    return [user("How many are 95 and 140?"), *({"role": "tool", "result": result} for result in results)]


TASKS = (
    SmallTask(
        name="13 from chat",
        ours=from_chat,
        cases=(
            call({"role": "assistant", "content": "Take an umbrella."}, said="for a text"),
            call({"content": None, "tool_calls": ONE}, look=_what_counts, said="for one request"),
            call({"content": "I look.", "tool_calls": TWO}, look=_what_counts, said="for two requests"),
            call({"content": "Done.", "tool_calls": None}, said="for a text and tool_calls that are None"),
            call(
                {"content": "Done.", "tool_calls": []},
                said="for a text and an empty list of tool_calls",
                hint="No request in the list: an answer",
            ),
        ),
        wrong=(
            Wrong(
                'json.loads(call["function"]["arguments"])',
                'call["function"]["arguments"]',
                "for one request",
            ),
            Wrong(
                'message.get("tool_calls") or []', 'message["tool_calls"]', "for a text, it raised KeyError"
            ),
            Wrong(
                '"type": "tools", "calls"', '"type": "tool", "calls"', "calls in a reply of the type 'tool'"
            ),
            Wrong('"id": call["id"], ', "", "for one request"),
            Wrong("    if calls:", '    if message.get("tool_calls") is not None:', "No request in the list"),
            Wrong('"calls": calls', '"calls": calls[:1]', "for two requests"),
            Wrong(
                'return {"type": "tools", "calls": calls,', "return calls or {", "it gave a list, and no dict"
            ),
            Wrong('"type": "answer", ', "", "for a text, it gave {'text'"),
        ),
    ),
    SmallTask(
        name="13 calls of",
        ours=calls_of,
        cases=(
            call(ask("clock"), said="for one request"),
            call(
                ask_together(ask("clock"), ask("weather", place="Rye")), said="for two requests in one reply"
            ),
            call(ask_together(ask("clock")), said='for one request in a "tools" reply', hint="Still a list"),
        ),
        wrong=(
            Wrong('reply["calls"] if reply["type"] == "tools" else [reply]', "[reply]", "for two requests"),
            Wrong("else [reply]", "else reply", "for one request, it gave {"),
            Wrong('reply["type"] == "tools"', 'len(reply.get("calls", [])) > 1', 'in a "tools" reply'),
        ),
    ),
    SmallTask(
        name="13 has seen",
        ours=has_seen,
        cases=(
            call(_seen({"mugs": 140}, {"mugs": 95}), [140, 95], said="for two results with both"),
            call(
                _seen({"mugs": 140}),
                [140, 95],
                said="for one result",
                hint="Each of the numbers has to stand in a result; the goal is none",
            ),
            call(_seen("95 and 140"), [140, 95], said="for one result with both"),
            call([user("Hello."), answer("95 against 140.")], [140, 95], said="for a guess"),
            call(_seen("nothing", {"mugs": 95}, 140, "done"), [140, 95], said="for results in between"),
            call(_seen({"mugs": 140}), [140], said="for one number that was asked for"),
        ),
        wrong=(
            Wrong("all(", "any(", "for one result"),
            Wrong(' if entry.get("role") == "tool"', "", "it raised KeyError"),
            Wrong("str(number) in result for", "number == result for", "for two results with both"),
            Wrong("for result in results)", "for result in results[-1:])", "for two results with both"),
            Wrong("for number in numbers)", "for number in [140, 95])", "for one number that was asked for"),
        ),
    ),
)
