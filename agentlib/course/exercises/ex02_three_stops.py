"""ex02: three stops."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

from agentlib.course.checking.evidence import (
    crash,
    request_words,
    requests_in,
    results_in,
    same_call,
    shown,
    wrong_end,
)
from agentlib.course.checking.fake_data import World, tools_of
from agentlib.course.checking.spec import Criterion, Exercise, Fault, Log, Scenario, each, in_turn
from agentlib.course.exercises import loops
from agentlib.course.exercises.loops import agent, script
from agentlib.messages import Entry, answer, ask, json_text
from agentlib.views.describe import counted, sketch, times

__all__ = ["EXERCISE", "far_apart", "other_lists", "other_work", "taken_for_the_same", "turned_round"]

DEFAULT_STEPS = 6


def in_other_order(input: Entry) -> Entry:
    """The same input with its keys in another order, the nested ones too."""
    return {key: _turned(value) for key, value in reversed(list(input.items()))}


def _turned(value: Any) -> Any:
    if isinstance(value, list):
        return [_turned(item) for item in value]
    return in_other_order(value) if isinstance(value, dict) else value


def repeats(
    world: World,
    requests: list[Entry],
    stop_at: int,
    max_steps: int = 12,
    results: str = "equal",
    how: str = "",
) -> Scenario:
    """A model that makes these requests. stop_at: the number of the one that must end the run, from 1.

    results: "equal", "different", or "failures": what the tools give. "no tool": they are not there.
    how: the request was repeated, in words.
    """
    many = range(len(requests) + 1)
    message = f"{world.number()} in {world.place()}"
    made: dict[str, list[object]] = {
        "equal": [message for _ in many],
        "different": [],  # as a tool of `tools_of` gives them by itself
        "failures": [ValueError(message) for _ in many],
    }
    tools = tools_of({request["tool"]: made.get(results, []) for request in requests})
    if results == "no tool":
        tools = tools_of({world.tool_name(): []})
    facts = {"requests": requests, "stop_at": stop_at, "how": how, "earlier": message}
    # Further replies would differ, so that a loop that overlooks the repeat ends at its limit.
    further = script(requests, lambda number: world.request(requests[0]["tool"]))
    return agent(world.goal(), further, tools, max_steps + 1, facts, max_steps=max_steps)


def far_apart(world: World, times: int) -> list[Entry]:
    """One request several times, each time with many others in between."""
    tool, other = world.tool_name(), world.tool_name()
    again = world.request(tool)
    requests = [again]
    for _ in range(times - 1):
        requests += [world.request(world.rng.choice([tool, other])) for _ in range(9)]
        requests.append(again)
    return requests


def other_work(world: World) -> Scenario:
    """Requests that look alike and are none of them the same: other input, or another tool."""
    tool, other, third = (world.tool_name() for _ in range(3))
    several = [world.request(tool) for _ in range(4)]
    alike = several[0]["input"]
    one, two, place = world.number(), world.number(), world.place()
    long = " and ".join(world.place() for _ in range(12))
    close = [
        *(ask(tool, place=write(place)) for write in (str.lower, str.upper, str.title)),
        *(ask(tool, site=place.replace(" ", space)) for space in ("", "  ", "   ")),
        *(ask(tool, about=f"{long}: {number}") for number in (1, 2, 3)),
        *(ask(tool, depot=place, shelf=number) for number in (1, 2, 3)),
        *(ask(tool, hall=number, row=one) for number in (1, 2, 3)),
        *(ask(tool, **{first: one, second: two}) for first, second in (("a", "b"), ("b", "a"), ("c", "d"))),
    ]
    work = [*several, ask(other, **alike), ask(third, **alike), *close]
    world.rng.shuffle(work)
    return working(world, work)


def other_lists(world: World) -> Scenario:
    """Requests whose inputs hold the same things in another order, or lists and dicts that look alike."""
    tool = world.tool_name()
    one, two, three = (world.number() for _ in range(3))
    lists: list[Any] = [[one, two, three], [two, one, three], [three, two, one]]
    within = [{"of": [one, {"x": two}]}, {"of": [{"x": two}, one]}, {"of": [one, {"y": two}]}]
    return working(world, [ask(tool, numbers=numbers) for numbers in [*lists, *within]])


def working(world: World, work: list[Entry]) -> Scenario:
    """A model that makes all these requests and answers; every tool gives the same each time."""
    text = world.answer()
    return agent(
        world.goal(),
        script([*work, answer(text)]),
        tools_of({request["tool"]: ["the same"] * 40 for request in work}),
        len(work) + 1,
        {"requests": work, "answer": text},
        max_steps=len(work) + 3,
    )


def turned_round(world: World, tool: str) -> tuple[Entry, Entry]:
    """One request twice, its keys in two orders, the nested ones too."""
    span = {"since": world.number(), "until": world.number(), "of": {"a": 1, "b": 2}}
    stops = [{"at": world.number(), "in": world.place()}]
    nested = ask(tool, place=world.place(), span=span, stops=stops)
    return nested, ask(tool, **in_other_order(nested["input"]))


BETWEEN = ", with other requests in between,"


def scenarios(rng: Random) -> dict[str, Scenario]:
    """The scenarios of one check."""
    world = World(rng)
    tool, other = world.tool_name(), world.tool_name()
    again = world.request(tool)
    nested, turned = turned_round(world, tool)
    one, two = world.request(tool), world.request(other)
    with_list = ask(tool, numbers=[world.number(), world.number()])
    return {
        **loops.loop_scenarios(world, default_steps=DEFAULT_STEPS, own_tools=True),
        "repeat": repeats(world, [again] * 6, 3),
        "same repeat in a second run": repeats(world, [again] * 3, 3),
        "repeat at the last step": repeats(world, [two] * 3, 3, max_steps=3),
        "repeat of a list": repeats(world, [with_list] * 3, 3),
        "other order of keys": repeats(
            world, [nested, turned, nested], 3, how=", its keys in another order,"
        ),
        "not in a row": repeats(world, [one, two, one, world.request(tool), two, one], 6, how=BETWEEN),
        "far apart": repeats(world, far_apart(world, 3), 21, max_steps=25, how=BETWEEN),
        "other results": repeats(
            world, [world.request(other)] * 3, 3, results="different",
            how=", which gave another result each time,",
        ),
        "failures": repeats(
            world, [world.request(tool)] * 3, 3, results="failures", how=", which failed each time,"
        ),
        "no such tool": repeats(
            world, [world.request(tool)] * 3, 3, results="no tool", how=", a tool that is not there,"
        ),
        "other input": other_work(world),
        "other lists": other_lists(world),
    }  # fmt: skip


def _stops_at_the_repeat(log: Log) -> Fault | None:
    """One run must end with its third identical request, which is not run."""
    stop_at = log.facts["stop_at"]
    last = log.facts["requests"][stop_at - 1]
    what = f"{request_words(last)}{log.facts['how']}"
    asked = len(log.asks)
    runs = len(log.tool_runs)
    if asked < stop_at:
        if fault := crash(log):
            return fault
        number = sum(json_text(r["input"]) == json_text(last["input"]) for r in log.facts["requests"][:asked])
        return Fault(
            f"the run ended at call {asked} as {json_text(log.returned.get('stopped'))}; {what} had been "
            f"asked for {times(number)}",
            "The third identical request ends the run, not the one before it. When do you count, and from "
            "where?",
        )
    known = last["tool"] in log.scenario.args[1]
    if known and runs < min(stop_at - 1, asked):
        return Fault(
            f"{what} was asked for twice before the third time; by then the tool ran {times(runs)}"
            if stop_at == 3
            else f"{counted(stop_at - 1, 'request')} came before the third one for {what}; "
            f"{runs} of them were run",
            "The first two identical requests are run as usual, the second one too. What does yours get in "
            "place of a run?",
        )
    if runs >= stop_at and asked == stop_at:
        return Fault(
            f"the third request for {what} was run, and only then the run ended",
            "The third request is not run. Do you look at the count before the tool runs, or after?",
        )
    if asked > stop_at:
        seen = f"{what} was asked for a third time in call {stop_at}; the model was asked on"
        if log.returned.get("stopped") == "repeated call":
            return Fault(
                f"{seen}, and the run ended in call {asked}",
                "Your count ends the run, but too late. Is the request that has just come in it? With `>` or "
                "with `>=`?",
            )
        return Fault(seen)
    if log.returned.get("stopped") == "step limit":
        return Fault(
            f'{what} was asked for a third time in call {stop_at}; the run ended there as "step limit"',
            "The run ends in the right place, with the reason of another one. Where does your `break` lead?",
        )
    return wrong_end(log, None, stop_at, "repeated call")


def _knows_a_repeated_list(log: Log) -> Fault | None:
    fault = _stops_at_the_repeat(log)
    what = "An input may hold a list. A list cannot be part of a dict's key; the input's JSON text can."
    return Fault(fault.seen, f"{what} {fault.hint or ''}".strip()) if fault else None


def _third_is_told(log: Log) -> Fault | None:
    """The history that comes back has the third request, and a result that says it was not run."""
    history = log.returned.get("history")
    if not isinstance(history, list):
        return Fault(
            f'the dict that came back has {shown(history)} for its "history"'
            if "history" in log.returned
            else 'the dict that came back has no "history"',
            "The list that you have kept stands beside the reason, in every dict that you return: "
            '`"history": history`.',
        )
    request = log.facts["requests"][0]
    made = sum(same_call(call, request["tool"], request["input"]) for call in requests_in(history))
    if made < 3:
        return Fault(
            f"the history that came back is {sketch(history)}; {request_words(request)} stands there "
            f"{times(made)}",
            "The model made the third request too, so it belongs into the history like any other.",
        )
    where = "the history that came back is"
    return loops.not_run_and_told(history, request, log.facts["earlier"], "third request", where)


def _in_any_order(value: Any) -> Any:
    return sorted(map(json_text, value)) if isinstance(value, list) else value


MISREADINGS: tuple[tuple[Callable[[Entry], str], str], ...] = (
    (
        lambda request: (
            request["tool"]
            + json.dumps(
                {name: _in_any_order(value) for name, value in request["input"].items()}, sort_keys=True
            )
        ),
        "Your code seems to pass over the order of a list. `[1, 2]` and `[2, 1]` are different inputs.",
    ),
    (lambda request: request["tool"], "Your code seems to compare the tool's name alone. Inputs count too."),
    (
        lambda request: json.dumps(request["input"], sort_keys=True),
        "Your code seems to compare the input alone. Which tool is asked for counts too.",
    ),
    (
        lambda request: request["tool"] + str(sorted(map(json_text, request["input"].values()))),
        "Your code seems to compare the values of the input alone. Under which names they stand counts too.",
    ),
    (
        lambda request: (request["tool"] + json.dumps(request["input"], sort_keys=True)).replace(" ", ""),
        "Your code seems to pass over spaces. They count like any other letter.",
    ),
    (
        lambda request: (request["tool"] + json.dumps(request["input"], sort_keys=True)).lower(),
        "Your code seems to make no difference between small and capital letters.",
    ),
    (
        lambda request: request["tool"] + str(sorted(request["input"])),
        "Your code seems to compare the names in the input alone. Their values count too.",
    ),
)
"""What may be compared by mistake, and what to say then."""


def taken_for_the_same(requests: list[Entry], nth: int, places: list[int]) -> str | None:
    """Say why requests, by their places from 0, may be taken for ones that came before; None if nobody knows.

    nth: the so manieth of the same is held back, and each behind it.
    """
    for key, words in MISREADINGS:
        keys = [key(request) for request in requests]
        repeats = [i for i, one in enumerate(keys) if keys[: i + 1].count(one) >= nth]
        if repeats and repeats[: len(places)] == places:
            return words
    return None


def _other_input_is_work(log: Log) -> Fault | None:
    """The same tool with other input, and another tool with the same input, is normal work."""
    requests = log.facts["requests"]
    if log.returned.get("stopped") == "repeated call":
        last = requests[len(log.asks) - 1]
        return Fault(
            f"the run ended as a repeated call at {request_words(last)}, though no request had been made "
            "three times",
            taken_for_the_same(requests, 3, [len(log.asks) - 1])
            or "What do you count: the tool, the input, or both together, and all of it?",
        )
    return loops.answers_at_the_end(log)


def _history_in_every_end(log: Log) -> Fault | None:
    known = log.returned.get("stopped") in ("answered", "step limit")
    history = log.returned.get("history")
    if isinstance(history, list) and known:
        made = sum(call.answer.get("gave", {}).get("type") == "tool" for call in log.asks)
        held = min(len(requests_in(history)), len(results_in(history)))
        return (
            None
            if held >= made
            else Fault(
                f"{counted(made, 'request')} were made, and the history of a run that ended as "
                f"{json_text(log.returned['stopped'])} holds {held} of them with results: {sketch(history)}",
                "The history comes back whole, from the goal on.",
            )
        )
    if isinstance(history, list) or not known:
        return None
    return Fault(
        f'the dict of a run that ended as {json_text(log.returned.get("stopped"))} has no "history"',
        'Every dict that you return has it: `"history": history`.',
    )


LOOP, WORKS = ("loop",), ("loop", "other_input")

EXERCISE = Exercise(
    name="ex02_three_stops",
    title="Three stops",
    lesson="04_train_status",
    given_by=("04_train_status",),
    difficulty=3,
    minutes=20,
    task="add the third stop: the same call three times",
    lead_in="{lesson}: a model that asks the same again and again. Its exercise is {exercise}.",
    scenarios=scenarios,
    criteria=(
        Criterion(
            "loop", 1, "asks, runs, records and ends at the answer, as in ex01",
            nudge="Which of the four moves is missing: ask, check, act, record?",
            hint="Begin with the loop that passed ex01; everything else is built around it.",
            judge=loops.still_a_loop,
        ),
        Criterion(
            "other_input", 1,
            "lets the same tool with other input pass, and another tool with the same input",
            nudge="Is asking for three different trains a repeat?",
            hint="The key of your count is the tool's name together with its input.",
            judge=each(_other_input_is_work, "other input"),
            after=LOOP,
            details="Checking three trains is work, not a repeat.",
        ),
        Criterion(
            "step_limit", 1, 'ends with "step limit" after max_steps calls; 6 where none is given',
            nudge="Which part of your loop counts the calls, and what is returned when the count is over?",
            hint="`def run_agent(model, tools, goal, max_steps=6)`; the count works as in ex01.",
            judge=loops.stops_at_the_limit,
            after=LOOP,
        ),
        Criterion(
            "third_call", 2, 'ends with "repeated call" at the third identical request, which is not run',
            nudge="How do you know, when a request comes, how often it came before?",
            hint=(
                "Keep a dict from request to count. Count when the request comes, and look at the count "
                "before the tool runs. No answer is `None` here too."
            ),
            judge=in_turn(
                each(_stops_at_the_repeat, "repeat"),
                each(
                    _stops_at_the_repeat, "same repeat in a second run",
                    before="in a second run, ",
                    hint=(
                        "Something is left over from the run before. Where is your count made: inside the "
                        "function, or once when it is defined?"
                    ),
                ),
                each(
                    _stops_at_the_repeat, "repeat at the last step",
                    before="with max_steps=3, ",
                    hint="The last allowed call counts in full: a repeat in it is a repeat.",
                ),
            ),
            after=WORKS,
            details=(
                "Identical means: the same tool with the same input. The two requests before it were run as "
                "usual, each of them: no old result takes the place of a run."
            ),
        ),
        Criterion(
            "told", 1,
            'gives back its "history", in which the third request has a result that says it was not run',
            nudge="Somebody goes on from your history with another model. What does it read last?",
            hint=(
                'Append the reply, then `{"role": "tool", "result": "not run: asked for the third time"}`, '
                'then '
                'return, with `"history": history` in the dict.'
            ),
            judge=in_turn(
                each(_third_is_told, "repeat"), each(_history_in_every_end, "errand", "endless")
            ),
            needs=("third_call",),
            after=LOOP,
            details=(
                "Every request gets a result, this one too; providers refuse a history in which one is "
                "missing. Its words are yours; they do not repeat the old result. `\"history\"` stands in "
                "every dict that you return."
            ),
        ),
        Criterion(
            "key_order", 1,
            "knows a request again whatever its input is made of, and its keys in another order",
            nudge=(
                'Are `{"a": 1, "b": 2}` and `{"b": 2, "a": 1}` the same input for your code? And dicts '
                "inside?"
            ),
            hint="`json.dumps(input, sort_keys=True)` writes both as the same text, the nested ones too.",
            judge=in_turn(
                each(_knows_a_repeated_list, "repeat of a list"),
                each(_other_input_is_work, "other lists"),
                each(_stops_at_the_repeat, "other order of keys"),
            ),
            needs=("third_call",),
            after=WORKS,
            details=(
                '`{"from": 1, "to": 2}` and `{"to": 2, "from": 1}` are the same input. The same holds for a '
                "dict inside a dict, or in a list. A list is another one where its items come in another "
                "order: `[1, 2]` is not `[2, 1]`."
            ),
        ),
        Criterion(
            "whole_run", 1,
            "counts over the whole run, with other requests in between and whatever the results were",
            nudge="What happens to your count when another request comes in between, or another result?",
            hint=(
                "One dict of counts, made before the loop and never emptied, is enough. Results are not "
                "looked at."
            ),
            judge=in_turn(
                each(
                    _stops_at_the_repeat, "not in a row", "far apart",
                    spare_hint=(
                        "What happens to your count when other requests come in between? Is it emptied, or "
                        "does it look at the last few alone?"
                    ),
                ),
                each(
                    _stops_at_the_repeat, "other results",
                    spare_hint="Does the result stand in the key of your count?",
                ),
                loops.where_failures_pass(
                    each(
                        _stops_at_the_repeat, "failures",
                        spare_hint=(
                            "What does your count do when the tool fails? Count when the request comes, not "
                            "when the tool has worked."
                        ),
                    )
                ),
                loops.where_failures_pass(
                    each(
                        _stops_at_the_repeat, "no such tool",
                        spare_hint="Count each request that comes, also one for an unknown tool.",
                    )
                ),
            ),
            needs=("third_call",),
            after=WORKS,
            details=(
                "Two equal requests may stand far apart. A request whose tool failed, or is not there, "
                "counts like any other."
            ),
        ),
        *loops.failures_as_in_ex01(2, LOOP),
    ),
)  # fmt: skip
