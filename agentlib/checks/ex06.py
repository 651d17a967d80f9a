"""ex06: every call answered. A reply may make several requests at once."""

from collections import Counter
from random import Random
from typing import Any

from agentlib.checks import loops
from agentlib.checks.exercise import Criterion, Exercise, Fault, Log, Logs, Scenario
from agentlib.checks.loops import agent, script
from agentlib.checks.player import shortened
from agentlib.checks.reading import (
    call_words,
    crash,
    holds,
    is_request,
    is_result,
    requests_in,
    same_call,
    sketch,
    times,
)
from agentlib.checks.worlds import World, interrupt, tools_of
from agentlib.messages import Entry, answer, ask_together, json_text

__all__ = ["EXERCISE"]


def together(requests: list[Entry], ids: list[Any]) -> Entry:
    """One reply that makes several requests. ids: one each; the id ... means that there is none."""
    reply = ask_together(*requests)
    for call, name in zip(reply["calls"], ids, strict=True):
        call["id"] = name
        if name is ...:
            del call["id"]
    return reply


def batches(
    world: World, replies: list[Entry], results: dict[str, list[Any]], wanted: list[list[Any]]
) -> Scenario:
    """A model that gives these replies and then an answer. wanted: what each reply's requests should get."""
    text = world.answer()
    facts = {"replies": replies, "wanted": wanted, "answer": text}
    model = script([*replies, answer(text)])
    return agent(world.goal(), model, tools_of(results), len(replies) + 1, facts, max_steps=len(replies) + 3)


def scenarios(rng: Random) -> dict[str, Scenario]:
    """The scenarios of one check."""
    world = World(rng)
    a, b, missing = world.tool_name(), world.tool_name(), world.tool_name()
    got = [world.result() for _ in range(6)]
    names = [f"call_{world.number()}" for _ in range(3)]
    failure = world.failure()
    return {
        **loops.loop_scenarios(world),
        "batches": batches(
            world,
            [
                together([world.request(a), world.request(b), world.request(a)], names),
                world.request(b),
                # Ids come again from reply to reply: they name a request within its own reply.
                together([world.request(a), world.request(b)], [names[1], names[0]]),
                together([world.request(b)], [names[0]]),
            ],
            {a: [got[0], got[2], got[4]], b: [got[1], got[3], got[5], "0"]},
            [[got[0], got[1], got[2]], [got[3]], [got[4], got[5]], ["0"]],
        ),
        "failure beside good ones": batches(
            world,
            [together([world.request(a), world.request(b), world.request(a)], names)],
            {a: [got[0], got[2]], b: [ValueError(failure)]},
            [[got[0], failure, got[2]]],
        ),
        "unknown beside good ones": batches(
            world,
            [together([world.request(a), world.request(missing), world.request(b)], names)],
            {a: [got[1]], b: [got[3]]},
            [[got[1], missing, got[3]]],
        ),
        "odd ids": batches(
            world,
            [
                together(
                    [world.request(a), world.request(b), world.request(a)], [names[0], names[0], names[1]]
                ),
                together([world.request(b), world.request(a)], [..., names[2]]),
            ],
            {a: [got[0], got[1], got[2]], b: [got[3], got[4]]},
            [[got[0], got[3], got[1]], [got[4], got[2]]],
        ),
        "endless batches": agent(
            world.goal(),
            script([], lambda number: together([world.request(a), world.request(b)], names[:2])),
            tools_of({a: [], b: []}),
            4,
            {"limit": 3},
            max_steps=3,
        ),
        "interrupt in a batch": agent(
            world.goal(),
            script([], lambda number: together([world.request(a), world.request(b)], names[:2])),
            {**tools_of({a: []}), b: interrupt},
            3,
            max_steps=3,
        ),
    }


def _calls(reply: Entry) -> list[Entry]:
    calls: list[Entry] = reply["calls"] if reply["type"] == "tools" else [reply]
    return calls


def runs_all(logs: Logs) -> Fault | None:
    """Every request of a batch runs once, with its input, before the model is asked again."""
    log = logs["batches"]
    known = log.scenario.args[1]
    for number, reply in enumerate(log.facts["replies"]):
        wanted = [call for call in _calls(reply) if call["tool"] in known]
        ran = _runs_after(log, number)
        if ran is None:
            return crash(log) or Fault(
                f"the model was asked {times(len(log.asks))}; reply {number + 1} was not asked for any "
                "more, and "
                f"the function returned {shortened(json_text(log.outcome.get('returned')))}"
            )
        many = f"reply {number + 1} made {len(wanted)} requests"
        if len(ran) < len(wanted) or not _same_runs(ran, wanted):
            fault = crash(log) if len(log.asks) == number + 1 else None
            if fault is not None:
                return Fault(f"{many}; {len(ran)} ran, then: {fault.seen}", fault.hint)
            got = ", ".join(call_words(tool, input) for tool, input in ran) or "nothing"
            if len(ran) > len(wanted):
                return Fault(
                    f"{many}; {len(ran)} ran: {got}",
                    "Each request runs once. Is a tool called in two places?",
                )
            return Fault(
                f"{many}; what ran was: {got}",
                '`reply["calls"]` is a list. What goes round over it?',
            )
    return None


def _runs_after(log: Log, number: int) -> list[tuple[str, Entry]] | None:
    """The tools that ran between reply `number` and the next call; None if that reply was never given."""
    asks = [index for index, call in enumerate(log.calls) if call.name == "model"]
    if number >= len(asks):
        return None
    end = asks[number + 1] if number + 1 < len(asks) else len(log.calls)
    return [(call.tool, call.kwargs) for call in log.calls[asks[number] + 1 : end]]


def _same_runs(ran: list[tuple[str, Entry]], wanted: list[Entry]) -> bool:
    one = Counter(f"{tool} {json_text(dict(sorted(input.items())))}" for tool, input in ran)
    two = Counter(f"{call['tool']} {json_text(dict(sorted(call['input'].items())))}" for call in wanted)
    return one == two


def _answered(log: Log, ids_count: bool = True) -> Fault | None:
    """In each call's history every request of the reply before has one result, in order, with its id."""
    for number, reply in enumerate(log.facts["replies"]):
        calls, wanted = _calls(reply), log.facts["wanted"][number]
        what = f"reply {number + 1} made {len(calls)} requests"
        if number + 1 >= len(log.histories):
            fault = crash(log)
            if fault is not None:
                return Fault(f"{what}; then: {fault.seen}", fault.hint)
            return Fault(
                f"{what}; after that the model was not asked again, and the function returned "
                f"{shortened(json_text(log.outcome.get('returned')))}"
            )
        history = log.histories[number + 1]
        places = [index for index, entry in enumerate(history) if is_request(entry)]
        read = f"{what}; call {number + 2} read {sketch(history)}"
        made = requests_in(history)
        before = sum(len(_calls(earlier)) for earlier in log.facts["replies"][:number])
        if len(made) < before + len(calls) or not all(
            same_call(have, want["tool"], want["input"])
            for have, want in zip(made[before:], calls, strict=False)
        ):
            return Fault(
                f"{read}; the requests themselves are not all there",
                "The reply goes into the history as it came, with all its calls, before the results.",
            )
        # A loop may write each request of a batch as an entry of its own, followed by its result.
        first = next(index for index in places if len(requests_in(history[: index + 1])) > before)
        results = [entry for entry in history[first:] if is_result(entry)]
        if len(results) != len(calls):
            return Fault(
                f"{read}; {len(results)} results stand behind it",
                "Count: as many results as requests, one by one, before the model is asked again.",
            )
        for call, entry, want in zip(calls, results, wanted, strict=True):
            asked = call_words(call["tool"], call["input"])
            if not holds(entry.get("result"), want):
                if any(holds(other.get("result"), want) for other in results):
                    return Fault(
                        f"{what}; the result of {asked} stands in another place: {sketch(results)}",
                        "The results stand in the order of the requests. Where does the order change?",
                    )
                return Fault(
                    f"{what}; the result of {asked} should hold {shortened(json_text(want))}, and is "
                    f"{shortened(json_text(entry.get('result')))}"
                )
            if ids_count and reply["type"] == "tools" and entry.get("id") != call["id"]:
                return Fault(
                    f"{what}; the request with the id {json_text(call['id'])} got a result with the id "
                    f"{json_text(entry.get('id'))}",
                    'Each result carries the id of its own request: `"id": call["id"]`.',
                )
    return None


def answers_each(logs: Logs) -> Fault | None:
    """One result for each request, with its id, in order."""
    log = logs["batches"]
    return _answered(log) or loops.answers_at_the_end(log, len(log.facts["replies"]) + 1)


def keeps_good_results(logs: Logs) -> Fault | None:
    """A failure beside good results takes none of them away, nor does an unknown tool."""
    for name, what in (
        ("failure beside good ones", "the second of three requests failed"),
        ("unknown beside good ones", "the second of three requests named an unknown tool"),
    ):
        fault = _answered(logs[name])
        if fault is None:
            fault = loops.answers_at_the_end(logs[name], 2)
        if fault is not None:
            return Fault(
                f"{what}; {fault.seen}",
                "Does one failure end the work on the others? `try` belongs inside the loop over the calls.",
            )
    return None


def answers_odd_ids(logs: Logs) -> Fault | None:
    """Doubled and missing ids are answered one by one."""
    log = logs["odd ids"]
    fault = _answered(log, ids_count=False) or loops.answers_at_the_end(log, 3)
    if fault is not None:
        return Fault(
            f"with an id that comes twice, or none at all: {fault.seen}",
            'Go through the calls by their place in the list, not by their ids. What does `call["id"]` '
            "do without one?",
        )
    return None


def ends_well(logs: Logs) -> Fault | None:
    """A batch is one step, and Ctrl-C leaves also in the middle of one."""
    fault = loops.at_the_limit(logs["endless batches"], 3)
    if fault is not None:
        return Fault(
            f"each reply made two requests; {fault.seen}",
            "A step is one call of the model, however many requests it makes.",
        )
    fault = loops.stops_at_the_limit(logs) or loops.interrupt_leaves(logs)
    if fault is not None:
        return fault
    log = logs["interrupt in a batch"]
    if "interrupted" not in log.outcome:
        then = crash(log) or Fault(
            f"the function returned {shortened(json_text(log.outcome.get('returned')))}"
        )
        return Fault(f"a person pressed Ctrl-C in the middle of a batch; then: {then.seen}")
    return None


WORKS = ("single", "all_run")

EXERCISE = Exercise(
    name="ex06_every_call_answered",
    title="Every call answered",
    scenarios=scenarios,
    criteria=(
        Criterion(
            "single",
            2,
            "still handles replies with one request: runs it, records it, and turns a failure into a result",
            (
                "Does your loop still know a reply whose type is `tool`?",
                "Turn one request into a list of one: the rest of the code then handles both.",
            ),
            lambda logs: loops.still_a_loop(logs) or loops.failures_become_results(logs),
        ),
        Criterion(
            "all_run",
            2,
            "runs every request of a batch, once, before the model is asked again",
            (
                "How many requests does a reply of the type `tools` make?",
                'A `for call in reply["calls"]:` inside the loop over the steps.',
            ),
            runs_all,
            WORKS[:1],
        ),
        Criterion(
            "each_answered",
            2,
            "gives every request one result with its id, in the order of the requests",
            (
                "How can the model tell which result belongs to which request?",
                "Append the reply once, then for each call "
                '`{"role": "tool", "id": call["id"], "tool": ..., "result": ...}`.',
            ),
            answers_each,
            WORKS,
        ),
        Criterion(
            "good_kept",
            2,
            "keeps the good results beside a failure and beside an unknown tool",
            (
                "The second of three requests fails. What becomes of the first, and of the third?",
                "Put `try` inside the loop over the calls, around one tool call.",
            ),
            keeps_good_results,
            (*WORKS, "each_answered"),
        ),
        Criterion(
            "odd_ids",
            1,
            "answers requests one by one also when ids are doubled or missing",
            (
                "Two requests have the same id. How many results does your loop record?",
                'A list keeps both, a dict by id does not. `call.get("id", "")` does not mind a missing one.',
            ),
            answers_odd_ids,
            (*WORKS, "each_answered"),
        ),
        Criterion(
            "ends",
            1,
            "counts a batch as one step, stops at max_steps, and lets Ctrl-C through",
            (
                "What does your count of steps count?",
                "Only a call of the model is a step. `except Exception` lets Ctrl-C pass.",
            ),
            ends_well,
            WORKS,
        ),
    ),
)
