"""ex04: the repeat guard."""

from dataclasses import replace
from random import Random
from typing import Any

from agentlib.course.checking.evidence import (
    crash,
    holds,
    is_request,
    is_result,
    position,
    request_words,
    requests_in,
    results_in,
    shown,
)
from agentlib.course.checking.fake_data import World, tools_of
from agentlib.course.checking.spec import Criterion, Exercise, Fault, Log, Logs, Scenario, each, in_turn
from agentlib.course.exercises import loops
from agentlib.course.exercises.ex02_three_stops import (
    far_apart,
    other_lists,
    other_work,
    taken_for_the_same,
    turned_round,
)
from agentlib.course.exercises.loops import agent, script
from agentlib.messages import Entry, answer, ask, json_text
from agentlib.views.describe import counted, sketch, times

__all__ = ["EXERCISE"]


FIRST_RESULT = object()
"""Stands for a text that the scenario makes up."""


def stuck(
    world: World,
    requests: list[Entry],
    repeat_at: int,
    result: object = FIRST_RESULT,
    *,
    own_tools: bool = True,
) -> Scenario:
    """A model that makes these requests, one of them again, and then answers.

    repeat_at: the number of the request that is the first repeat, from 1. result: what each run of a tool
    gives; an error is raised. own_tools: False = the tools that are asked for are not there.
    """
    text = world.answer()
    if result is FIRST_RESULT:
        result = f"{world.number()} in {world.place()}"
    facts = {"requests": requests, "repeat_at": repeat_at, "answer": text}
    if not isinstance(result, Exception):
        facts["result"] = result
    results: dict[str, list[object]] = {}
    for request in requests:
        results.setdefault(request["tool"], []).append(result)
    model = script([*requests, answer(text)])
    tools = tools_of(results if own_tools else {world.tool_name(): []})
    return agent(world.goal(), model, tools, len(requests) + 1, facts, max_steps=len(requests) + 4)


def polling(world: World, alike: str = "") -> Scenario:
    """A model that asks one tool again and again until there is news; another request of it comes twice.

    The tool is named in `repeatable`, and another one that is never asked for. alike: the other tool has a
    name that is "longer" or "shorter" than the repeatable one, and else the same.
    """
    tool = world.tool_name()
    other = {"longer": f"{tool}_now", "shorter": tool.rsplit("_", 1)[0]}.get(alike) or world.tool_name()
    poll, twice = world.request(tool), world.request(other)
    waiting, done = f"waiting, {world.number()} to go", f"done: {world.answer()}"
    requests = [poll, twice, poll, twice, poll, poll]
    text = world.answer()
    facts = {"requests": requests, "poll": poll, "twice": twice, "news": done, "answer": text}
    tools = tools_of({tool: [waiting, waiting, f"{waiting}, nearly", done], other: [world.result()]})
    return agent(
        world.goal(), script([*requests, answer(text)]), tools, len(requests) + 1, facts,
        max_steps=len(requests) + 2, repeatable=[world.tool_name(), tool],
    )  # fmt: skip


def stubborn(world: World, limit: int) -> Scenario:
    """A model that makes one request again and again, whatever it is told."""
    request = world.request(world.tool_name())
    facts = {"request": request, "limit": limit}
    return agent(
        world.goal(),
        script([], lambda number: ask(request["tool"], **request["input"])),
        tools_of({request["tool"]: []}),
        limit + 1,
        facts,
        max_steps=limit,
    )


def scenarios(rng: Random) -> dict[str, Scenario]:
    """The scenarios of one check."""
    world = World(rng)
    tool, other = world.tool_name(), world.tool_name()
    again, first, between = world.request(tool), world.request(tool), world.request(other)
    nested, turned = turned_round(world, tool)
    repeated, new = world.request(other), world.request(other)
    missing = world.request(world.tool_name())
    return {
        **loops.loop_scenarios(world, own_tools=True),
        "other input": other_work(world),
        "other lists": other_lists(world),
        "polling": polling(world),
        "polling, a longer name": polling(world, "longer"),
        "polling, a shorter name": polling(world, "shorter"),
        "stuck": stuck(world, [again, again], 2),
        "failed first": stuck(world, [repeated, repeated], 2, ValueError(world.failure())),
        "nothing first": stuck(world, [repeated, repeated], 2, None),
        "far apart": stuck(world, far_apart(world, 2), 11),
        "same repeat in a second run": stuck(world, [again, again], 2),
        "no such tool": stuck(world, [missing, missing], 2, own_tools=False),
        "new after a repeat": stuck(world, [again, again, new], 2),
        "not in a row": stuck(world, [first, between, world.request(tool), first], 4),
        "other order of keys": stuck(world, [nested, turned], 2),
        "stubborn": stubborn(world, rng.randrange(12, 15)),
    }


def _other_input_is_work(log: Log) -> Fault | None:
    """Requests that only look alike all run."""
    requests = log.facts["requests"]
    ran = log.tool_runs
    if len(ran) < len(requests) and "returned" in log.outcome:
        left_out = [i for i, one in enumerate(requests) if (one["tool"], one["input"]) not in ran]
        return Fault(
            f"{len(requests)} different requests were made, and {len(ran)} of them "
            f"{'was' if len(ran) == 1 else 'were'} run; the first one left out was "
            f"{request_words(requests[left_out[0]])}",
            taken_for_the_same(requests, 2, left_out)
            or "What makes two requests the same for your code: the tool, the input, or both together, and "
            "all of it?",
            step=_first_left_out(log),
        )
    return loops.answers_at_the_end(log)


def _first_left_out(log: Log) -> int:
    """Give the step of the first request behind which no tool ran."""
    nexts = [call.tool for call in log.calls[1:]] + [""]
    left_out = (place for place, call in enumerate(log.calls) if not call.tool and not nexts[place])
    return log.step_at(next(left_out, -1))


def _repeat_words(log: Log) -> str:
    request = log.facts["requests"][log.facts["repeat_at"] - 1]
    return request_words(request)


def _held_back(log: Log) -> Fault | None:
    """The repeat of one run is not run, and the model is asked again."""
    repeat_at = log.facts["repeat_at"]
    what = _repeat_words(log)
    if len(log.asks) < repeat_at:
        return crash(log) or Fault(f"the model was asked {times(len(log.asks))} and the run ended")
    if len(log.tool_runs) >= repeat_at:
        return Fault(
            f"{what} was asked for a second time, and the tool ran a second time",
            _noticed(log),
            step=repeat_at,
        )
    if len(log.asks) == repeat_at:
        if fault := crash(log):
            return fault
        return Fault(
            f"{what} was asked for a second time; the run ended there as "
            f"{json_text(log.returned.get('stopped'))}",
            "The guard does not end the run. It says no, and lets the model go on with what it has.",
        )
    return None


def _noticed(log: Log) -> str | None:
    """Give a hint for a repeat that was run, if the history shows that the guard had noticed it."""
    repeat_at = log.facts["repeat_at"]
    history = log.histories[repeat_at] if len(log.histories) > repeat_at else []
    behind = history[max((i for i, entry in enumerate(history) if is_request(entry)), default=-1) + 1 :]
    if len(results_in(behind)) > 1 or (len(behind) > 1 and not is_result(behind[0])):
        return (
            "Your guard saw the repeat, and the loop then went on to the tool. What skips the rest of the "
            "round?"
        )
    if len(behind) > 1:
        return "When do you look whether a request came before: before the tool runs, or after?"
    return None


def second_is_held_back(logs: Logs) -> Fault | None:
    """The second identical request, whatever the first one gave."""
    if fault := _held_back(logs["stuck"]):
        stubborn = logs["stubborn"]
        if fault.hint is None and len(stubborn.tool_runs) == 2 < len(stubborn.asks):
            return Fault(
                fault.seen,
                "Your guard waits for the third request, as in ex02. Here the second one is held back.",
                "stuck",
                step=fault.step,
            )
        return replace(fault, scenario="stuck")
    log = logs["failed first"]
    if len(log.tool_runs) > 1:
        return Fault(
            f"{_repeat_words(log)} failed the first time, was asked for a second time, and the tool ran "
            "again",
            "When does your guard note a request: when it comes, or only when the tool has worked?",
            step=log.facts["repeat_at"],
        )
    fault = _held_back(log)
    # A loop that no failure gets through at all is named by the criterion for failures.
    if fault is not None and loops.failures_become_results(logs) is None:
        return replace(fault, scenario="failed first")
    log = logs["nothing first"]
    if len(log.tool_runs) > 1:
        return Fault(
            f"{_repeat_words(log)} gave None the first time, was asked for a second time, and the tool ran "
            "again",
            "Does your guard look at the result of the first request? Whether there was a request is enough.",
            step=log.facts["repeat_at"],
        )
    return _held_back(log) or _in_other_runs(logs)


def _in_other_runs(logs: Logs) -> Fault | None:
    """In a second run, for a tool that is not there, and with a new request behind the repeat."""
    log = logs["same repeat in a second run"]
    if not log.tool_runs and log.asks:
        return Fault(
            f"{_repeat_words(log)} was asked for the first time in a second run, and no tool ran",
            "Something is left over from the run before. Where is the memory of your guard made: inside the "
            "function, or once when it is defined?",
            step=1,
        )
    log = logs["no such tool"]
    results = results_in(log.histories[2]) if len(log.histories) > 2 else []
    told = len(log.histories) > 2 and len(_notes(log.histories[2])) > 0
    if len(results) == 2 and results[0] == results[1] and not told:
        return Fault(
            f"{_repeat_words(log)}, a tool that is not there, was asked for a second time; the model read "
            f"the same result again: {shown(results[1])}",
            "Is the guard passed by a request for an unknown tool? It comes before you look for the tool.",
            call=3,
        )
    log = logs["new after a repeat"]
    new = log.facts["requests"][-1]
    if len(log.asks) > 3 and len(log.tool_runs) < 2:
        return Fault(
            f"after a repeat was held back, {request_words(new)} was asked for, a new request; no tool ran",
            "Which requests are held back once there was a repeat: that one, or all of them?",
            step=len(log.facts["requests"]),
        )
    return None


def _notes(history: list[Any]) -> list[int]:
    """Where in a history the user speaks, behind the goal."""
    return [
        index
        for index, entry in enumerate(history)
        if index and isinstance(entry, dict) and entry.get("role") == "user" and not is_result(entry)
    ]


def _was_held_back(log: Log) -> bool:
    """Whether the repeat of a run was held back; another criterion is for those that were not."""
    repeat_at: int = log.facts["repeat_at"]
    return len(log.histories) > repeat_at > len(log.tool_runs)


def _result_of_the_repeat(log: Log) -> Fault | None:
    """The repeat has its request and a result of its own in the history."""
    if not _was_held_back(log):
        return None
    repeat_at = log.facts["repeat_at"]
    history = log.histories[repeat_at]
    call = repeat_at + 1
    if len(requests_in(history)) < repeat_at:
        return Fault(
            f"call {call} read {sketch(history)}; the second request is not there",
            "The model made that request, so it belongs into the history like any other.",
        )
    request = log.facts["requests"][repeat_at - 1]
    fault = loops.not_run_and_told(
        history, request, log.facts["result"], "second request", f"call {call} read"
    )
    return fault and replace(fault, call=call)


def _note(log: Log) -> Fault | None:
    """Behind the result of a run's first repeat stands a note by the user."""
    if not _was_held_back(log):
        return None
    history = log.histories[log.facts["repeat_at"]]
    call = log.facts["repeat_at"] + 1
    notes = _notes(history)
    if not notes:
        return Fault(
            f"call {call} read {sketch(history)}; there is no note",
            'A note is an entry with the role "user". What could it tell a model that is stuck?',
        )
    last_result = max(i for i, entry in enumerate(history) if is_result(entry))
    if notes[-1] < last_result:
        return Fault(
            f"call {call} read {sketch(history)}; the note stands before the result",
            "Nothing may stand between a request and its result. Which of the two do you append first?",
        )
    note = str(history[notes[-1]].get("text") or "").strip()
    if not any(letter.isalpha() for letter in note):
        return Fault(
            "the note has no text", "Say what the model should do now: answer with what it has.", call=call
        )
    if note == log.facts["goal"]:
        return Fault(
            "the note repeats the goal, which the model has read before",
            "Say what is new: the model should ask no more, and answer with what it has.",
            call=call,
        )
    told = results_in(history)[-1]
    if isinstance(told, str) and note.strip(" .!").lower() == told.strip(" .!").lower():
        return Fault(
            f"the note says the same as the result: {shown(note)}",
            "The result says what was not done. The note says what to do now: answer, or say that you "
            "cannot.",
            call=call,
        )
    return None


def _polls_again(log: Log) -> Fault | None:
    """What may be repeated is run each time; what may not is still held back."""
    poll, twice, requests = log.facts["poll"], log.facts["twice"], log.facts["requests"]
    if not log.asks or "raised" in log.outcome:
        return crash(log)
    asked = requests.count(poll)
    ran = sum(tool == poll["tool"] for tool, _ in log.tool_runs)
    what = f"{poll['tool']} was named in `repeatable`"
    if ran < asked:
        return Fault(
            f"{what} and asked for {times(asked)}; it ran {times(ran)}",
            "What may be repeated passes the guard each time. Does your guard look into `repeatable`?",
        )
    if sum(tool == twice["tool"] for tool, _ in log.tool_runs) > 1:
        return Fault(
            f"{what}; {request_words(twice)}, which was not, ran a second time",
            "`repeatable` holds whole names. Is the guard off for the tools in it, or for all?",
        )
    last = log.histories[-1]
    if not any(holds(result, log.facts["news"]) for result in results_in(last)):
        return Fault(f"{what}; its last result, {shown(log.facts['news'])}, was not in {sketch(last)}")
    behind = last[position(last, poll["tool"], poll["input"]) :]
    if notes := _notes(behind):
        return Fault(
            f"{what}; behind a run of it stood the note {shown(behind[notes[0]])}",
            "A note closes the door. Nothing is to be closed behind a request that was run.",
        )
    return loops.answers_at_the_end(log)


def _stays_held_back(log: Log) -> Fault | None:
    """A model that goes on with the same request ends at the step limit, and each time gets a result."""
    if len(log.tool_runs) > 1:
        return Fault(
            f"a model made one request {times(len(log.asks))}; the tool ran {times(len(log.tool_runs))}",
            "Once held back, always held back. What resets your count?",
        )
    for number, history in enumerate(log.histories[1:], start=1):
        if len(results_in(history)) < number:
            return Fault(
                f"call {number + 1} read {sketch(history)}: {counted(number, 'request')}, "
                f"{counted(len(results_in(history)), 'result')}",
                "The third and the fourth repeat need a result too.",
            )
    return loops.at_the_limit(log)


TOLD = ("stuck", "not in a row", "far apart")
"""Scenarios whose first repeat must be told to the model."""
KEPT = "Where do you keep what was asked before: only the last few requests, or all of them?"
LOOP, WORKS, HELD = ("loop",), ("loop", "other_input"), ("not_run",)

EXERCISE = Exercise(
    name="ex04_repeat_guard",
    title="Repeat guard",
    lesson="06_stuck_loops",
    given_by=("06_stuck_loops",),
    difficulty=3,
    minutes=20,
    task="hold back a repeated request and close the door",
    lead_in="{lesson}, and {exercise}: what to do when the model asks for the same again.",
    scenarios=scenarios,
    criteria=(
        Criterion(
            "loop", 1, "asks, runs, records and ends at the answer, as in ex01",
            nudge="Which of the four moves is missing: ask, check, act, record?",
            hint="Begin with the loop that passed ex01; the guard stands between the check and the act.",
            judge=loops.still_a_loop,
        ),
        Criterion(
            "other_input", 1, "runs every request that is new: other input, or another tool",
            nudge="Which requests does your guard take for the same?",
            hint="Compare the tool's name together with its whole input.",
            judge=each(_other_input_is_work, "other input", "other lists"),
            after=LOOP,
            details=(
                "All of the input counts: its names, its values, and the order of a list. As in ex02, `[1, "
                "2]` "
                "is not `[2, 1]`."
            ),
        ),
        Criterion(
            "not_run", 2, "does not run the second identical request, and goes on",
            nudge="How do you know, when a request comes, that it came before?",
            hint=(
                "Keep a set of the requests that were run. If a request is in it, skip the tool, but do not "
                "return."
            ),
            judge=second_is_held_back,
            after=WORKS,
            details=(
                "The second request is not run, whatever the first one gave: also when the tool failed, gave "
                "`None`, or is not there. A new request that comes later is run as usual."
            ),
        ),
        Criterion(
            "known_again", 1,
            "knows a request again after other requests, and with its keys in another order",
            nudge="What exactly do you keep of earlier requests?",
            hint=(
                "A set of texts made by `json.dumps(..., sort_keys=True)`, made before the loop, keeps them "
                "all."
            ),
            judge=in_turn(
                each(
                    _held_back, "not in a row", before="with 2 other requests in between, ", hint=KEPT,
                ),
                each(_held_back, "far apart", before="with 9 other requests in between, ", hint=KEPT),
                each(
                    _held_back, "other order of keys",
                    before="with its keys in another order, ",
                    hint=(
                        "`json.dumps(input, sort_keys=True)` writes both inputs as the same text. What do "
                        "you compare?"
                    ),
                ),
            ),
            needs=HELD,
            after=WORKS,
            details=(
                "As in ex02: over the whole run, however many requests lie between, and `json.dumps(..., "
                "sort_keys=True)` helps with the keys."
            ),
        ),
        Criterion(
            "told", 1, "puts the request into the history, with a result that says it was not run again",
            nudge="What does the model read where the result would stand?",
            hint='Append the reply, then `{"role": "tool", "result": "not run again: ..."}`.',
            judge=each(_result_of_the_repeat, *TOLD),
            needs=HELD,
            after=WORKS,
            details=(
                "Its words are yours. They do not repeat the old result, which the model can read above: a "
                "result that looks like a run would hide that there was none."
            ),
        ),
        Criterion(
            "note", 1, "adds a note by the user behind that result, which closes the door",
            nudge="A result alone did not help the model. What would you say to it?",
            hint=(
                'Append `{"role": "user", "text": "Answer with what you have, or say that you cannot."}` '
                "after the result."
            ),
            judge=each(_note, *TOLD),
            needs=HELD,
            after=(*WORKS, "told"),
            details=(
                "The check sees that the note is there and says more than the goal or the result. Whether "
                "its words close the door is yours to judge."
            ),
        ),
        Criterion(
            "repeatable", 1, "runs a tool named in repeatable again whenever it is asked for",
            nudge="A slow job is asked how far it is. Which requests may not be held back?",
            hint='`if key in seen and reply["tool"] not in repeatable:` and then as before.',
            judge=each(_polls_again, "polling", "polling, a longer name", "polling, a shorter name"),
            needs=HELD,
            after=(*WORKS, "known_again", "told"),
            details=(
                "Polling means to ask the same again until there is news. Its results are recorded as usual, "
                "with no note. Other tools are held back as before, in the same run too."
            ),
        ),
        Criterion(
            "ends", 1,
            'ends "answered" if the model then answers, and at max_steps (10) with "step limit" if it goes '
            'on',
            nudge="Run it on paper with a model that repeats itself five times. How often does the tool run?",
            hint=(
                "The guard changes what the model reads, never how the run ends: answer and limit stay as in "
                "ex01, and every call is counted, also the ones after a repeat."
            ),
            judge=in_turn(
                loops.stops_at_the_limit,
                each(loops.answers_at_the_end, "stuck"),
                each(_stays_held_back, "stubborn"),
            ),
            after=(*WORKS, *HELD, "told", "note"),
        ),
        *loops.failures_as_in_ex01(1, LOOP),
    ),
)  # fmt: skip
