"""ex06: every call answered. A reply may make several requests at once."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from random import Random
from typing import Any

from agentlib.course.checking.evidence import (
    crash,
    is_request,
    is_result,
    request_words,
    requests_in,
    results_in,
    same_call,
    shown,
    what_came_back,
)
from agentlib.course.checking.fake_data import World, interrupt, tools_of
from agentlib.course.checking.spec import Called, Criterion, Exercise, Fault, Log, Scenario, each, in_turn
from agentlib.course.exercises import loops
from agentlib.course.exercises.loops import agent, script
from agentlib.messages import Entry, answer, ask_together, json_text
from agentlib.views.describe import full_call, sketch, times

__all__ = ["EXERCISE"]


def together(requests: list[Entry], ids: list[Any], text: str = "") -> Entry:
    """One reply that makes several requests. ids: one each; the id ... means that there is none."""
    reply = ask_together(*requests, text=text)
    for call, name in zip(reply["calls"], ids, strict=True):
        call["id"] = name
        if name is ...:
            del call["id"]
    return reply


def batches(world: World, replies: list[Entry], results: dict[str, list[Any]]) -> Scenario:
    """A model that gives these replies and then an answer."""
    text = world.answer()
    facts = {"requests": replies, "answer": text}
    # So many steps that a loop which counts requests as steps does not come to its limit here.
    limit = 2 + sum(len(_calls(reply)) for reply in replies)
    model = script([*replies, answer(text)])
    return agent(world.goal(), model, tools_of(results), len(replies) + 1, facts, max_steps=limit)


def scenarios(rng: Random) -> dict[str, Scenario]:
    """The scenarios of one check."""
    world = World(rng)
    a, b, missing = world.tool_name(), world.tool_name(), world.tool_name()
    got = [world.result() for _ in range(6)]
    # Of several lengths, with the difference at the end.
    names = [
        f"{kind}_{world.number()}" for kind in ("call", "toolu", "request_of_this_reply_with_the_number")
    ]
    failure, failure_2, failure_3 = world.failure(), world.failure(), world.failure()
    again = world.request(a)
    pair = together([world.request(a), world.request(b)], names[:2])
    kinds: list[Any] = [{"rows": [world.number(), None]}, world.number(), [world.number()], 0, None]
    return {
        **loops.loop_scenarios(world),
        "batches": batches(
            world,
            [
                together([world.request(a), world.request(b), world.request(a)], names),
                world.request(b),
                # Ids come again from reply to reply: they name a request within its own reply.
                together([world.request(a), world.request(b)], [names[1], names[0]]),
                together([world.request(b)], [names[0]], text="One more look."),
                # So do requests: two that are equal stand beside each other, and one stood there before.
                together([again, world.request(b), again], names),
                together([again], [names[2]]),
                together([world.request(tool) for tool in (b, a, b, a, b)], [*names, "4", "5"]),
            ],
            {a: [kinds[0], got[0], kinds[1], got[1], got[2], kinds[4]], b: [kinds[2], "0", kinds[3], got[3]]},
        ),
        "failure beside good ones": batches(
            world,
            [together([world.request(a), world.request(b), world.request(a)], names)],
            {a: [got[0], got[2]], b: [ValueError(failure)]},
        ),
        "several failures": batches(
            world,
            [together([world.request(tool) for tool in (b, a, b, b, a)], [*names, "4", "5"])],
            {a: [got[0], got[2]], b: [ValueError(failure), KeyError(failure_2), TimeoutError(failure_3)]},
        ),
        "unknown beside good ones": batches(
            world,
            [together([world.request(a), world.request(missing), world.request(b)], names)],
            {a: [got[1]], b: [got[3]]},
        ),
        "odd ids": batches(
            world,
            [
                together(
                    [world.request(a), world.request(b), world.request(a)], [names[0], names[0], names[1]]
                ),
                together([world.request(b), world.request(a)], [..., names[2]]),
                together([world.request(a), world.request(b)], [..., ...]),
            ],
            {a: [got[0], got[1], got[2]], b: [got[3], got[4]]},
        ),
        "endless batches": agent(
            world.goal(),
            script([], lambda number: pair),
            tools_of({a: [], b: []}),
            4,
            # What the third asks for is read by nobody.
            {"limit": 3, "requests": [pair, pair]},
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


OWN_REPLY = "The id was used in an earlier reply too; ids count only within their own reply."


def _ids_before(log: Log, number: int) -> set[Any]:
    return {call.get("id") for reply in log.facts["requests"][:number] for call in _calls(reply)} - {None}


def _runs_all(log: Log) -> Fault | None:
    """Every request of a batch runs once, with its input, before the model is asked again."""
    for number, reply in enumerate(log.facts["requests"]):
        expected = _calls(reply)
        ran = _runs_after(log, number)
        if ran is None:
            return crash(log) or Fault(
                f"the model was asked {times(len(log.asks))}; reply {number + 1} was not asked for any more, "
                f"and the function returned {what_came_back(log)}"
            )
        if _counted((run.tool, run.kwargs) for run in ran) != _counted(_pair(call) for call in expected):
            return _wrong_runs(log, number, expected, ran)
    return None


def _wrong_runs(log: Log, number: int, expected: list[Entry], ran: list[Called]) -> Fault:
    many = f"reply {number + 1} made {len(expected)} request{'s' if len(expected) > 1 else ''}"
    fault = crash(log) if len(log.asks) == number + 1 else None
    if fault is not None and len(ran) < len(expected):
        return Fault(f"{many}; {len(ran)} ran, then: {fault.seen}", fault.hint)
    got = ", ".join(full_call(run.tool, run.kwargs) for run in ran) or "nothing"
    words = log.facts["requests"][number].get("text")
    if words and not ran and log.returned.get("answer") == words:
        return Fault(
            f"{many} and said {json_text(words)} beside it; that was taken for the answer",
            "A model may say something beside its requests. Which key tells an answer from them?",
        )
    if len(ran) > len(expected):
        return Fault(
            f"{many}; {len(ran)} ran: {got}", "Each request runs once. Is a tool called in two places?"
        )
    left = _counted(_pair(call) for call in expected) - _counted((run.tool, run.kwargs) for run in ran)
    out = [call for call in expected if _key(*_pair(call)) in left]
    before = [call for reply in log.facts["requests"][: number + 1] for call in _calls(reply)]
    if any(len([one for one in before if _pair(one) == _pair(call)]) > 1 for call in out):
        return Fault(
            f"{many}; what ran was: {got}; {request_words(out[0])} had been asked for before and was left "
            "out",
            "A request that equals another one is a request of its own, and runs. Was it left out as a "
            "repeat, or as one too many? `max_steps` counts calls of the model.",
        )
    later = _runs_after(log, number + 1) or []
    if ran and any(_key(*_pair(call)) == _key(run.tool, run.kwargs) for call in out[:1] for run in later[:1]):
        return Fault(
            f"{many}; the model was asked again when {len(ran)} had run",
            "First all requests of the reply, then the next call. What is inside the loop over the calls?",
        )
    if any(call.get("id") in _ids_before(log, number) for call in out):
        return Fault(
            f"{many}; what ran was: {got}; {request_words(out[0])} with the id {json_text(out[0].get('id'))} "
            "was left out",
            OWN_REPLY,
        )
    return Fault(f"{many}; what ran was: {got}", '`reply["calls"]` is a list. What goes round over it?')


def _runs_after(log: Log, number: int) -> list[Called] | None:
    """The tools that ran between reply `number` and the next call; None if that reply was never given."""
    asks = [index for index, call in enumerate(log.calls) if call.name == "model"]
    if number >= len(asks):
        return None
    end = asks[number + 1] if number + 1 < len(asks) else len(log.calls)
    return log.calls[asks[number] + 1 : end]


def _pair(call: Entry) -> tuple[str, Any]:
    return call["tool"], call["input"]


def _key(tool: str, input: Any) -> str:
    return f"{tool} {json_text(dict(sorted(input.items())))}"


def _counted(pairs: Iterable[tuple[str, Any]]) -> Counter[str]:
    return Counter(_key(tool, input) for tool, input in pairs)


def _answered(log: Log, ids_count: bool = True) -> Fault | None:
    """In each call's history every reply stands once, and behind it one result for each of its requests."""
    earlier: list[list[Entry]] = []
    for number, reply in enumerate(log.facts["requests"]):
        calls = _calls(reply)
        many = f"{len(calls)} request{'s' if len(calls) > 1 else ''}"
        what = f"reply {number + 1} made {many}"
        if number + 1 >= len(log.histories):
            if fault := crash(log):
                return Fault(f"{what}; then: {fault.seen}", fault.hint)
            return Fault(
                f"{what}; after that the model was not asked again, and the function returned "
                f"{what_came_back(log)}",
                "A result is no end. What has to happen after it, so that the model can read it?",
            )
        history = log.histories[number + 1]
        read = f"{what}; call {number + 2} read {sketch(history)}"
        if fault := _recorded(log, number, history, read):
            return fault
        parts = _parts(history)
        results = parts[number][1]
        behind = history[history.index(parts[number][0]) + 1 :][: len(results)]
        if results and behind != results:
            other = next(entry for entry in behind if not is_result(entry))
            return Fault(
                f"{read}; {shown(other)} stands between the reply and its results",
                "The results follow their reply directly. A note can stand behind the last one.",
            )
        for place, before in enumerate(earlier):
            if parts[place][1] != before and results:
                return Fault(
                    f"{read}; the results behind reply {place + 1} are not those of the call before",
                    "The history only grows: at its end, by a reply and by the results of this reply.",
                )
        if len(results) != len(calls):
            return _wrong_count(log, number, len(results), read)
        if fault := _results_fit(log, number, results, what, ids_count):
            return fault
        if ids_count and reply["type"] == "tools":
            had = [call.get("id") for call in requests_in([parts[number][0]])]
            if had != [call["id"] for call in calls]:
                return Fault(
                    f"{what}; in the history its requests have the ids {shown(had)}",
                    "The reply goes into the history as it came, ids and all.",
                )
        earlier.append(results)
    return None


def _parts(history: list[Any]) -> list[tuple[Entry, list[Entry]]]:
    """Each reply that asks for tools, with the results that stand behind it and before the next one."""
    parts: list[tuple[Entry, list[Entry]]] = []
    for entry in history:
        if is_request(entry):
            parts.append((entry, []))
        elif is_result(entry) and parts:
            parts[-1][1].append(entry)
    return parts


def _recorded(log: Log, number: int, history: list[Any], read: str) -> Fault | None:
    """Every reply so far must stand in the history once, in one piece."""
    expected = [call for reply in log.facts["requests"][: number + 1] for call in _calls(reply)]
    made = requests_in(history)
    parts = _parts(history)
    pieces = len(parts) - number
    if len(made) > len(expected):
        return Fault(
            f"{read}; {len(made)} requests stand there, and {len(expected)} were made",
            "Each reply goes into the history once. How many lines put it, or its requests, in?",
        )
    if len(made) < len(expected) or not all(
        same_call(have, one["tool"], one["input"]) for have, one in zip(made, expected, strict=True)
    ):
        return Fault(
            f"{read}; the requests themselves are not all there",
            "The reply goes into the history as it came, with all its calls, before the results.",
        )
    if pieces > 1:
        return Fault(
            f"{read}; the reply stands there in {pieces} pieces",
            "The reply goes in once, with all its calls, and the results follow. What do you append for each "
            "call?",
        )
    return None


def _wrong_count(log: Log, number: int, count: int, read: str) -> Fault:
    calls = _calls(log.facts["requests"][number])
    made = sum(len(_calls(reply)) for reply in log.facts["requests"][: number + 1])
    if count == 0 and len(results_in(log.histories[number + 1])) == made:
        return Fault(f"{read}; the results stand before it", "First the reply, then its results.")
    used = any(call.get("id") in _ids_before(log, number) for call in calls)
    return Fault(
        f"{read}; {count} result{' stands' if count == 1 else 's stand'} behind it",
        OWN_REPLY
        if used and count < len(calls)
        else "Count: as many results as requests, one by one, before the model is asked again.",
    )


def _results_fit(log: Log, number: int, results: list[Entry], what: str, ids_count: bool) -> Fault | None:
    """Each result is what its own request gave, with its id and its tool."""
    reply = log.facts["requests"][number]
    batch = reply["type"] == "tools"
    calls = _calls(reply)
    ids_count = ids_count and batch
    runs = list(_runs_after(log, number) or [])
    unused = list(runs)
    for call, entry in zip(calls, results, strict=True):
        asked = request_words(call)
        run = next((one for one in unused if _tells(entry, call, one)), None)
        if run is not None:
            unused.remove(run)
        elif not _tells_unknown(log, entry, call):
            return _wrong_result(log, call, entry, results, runs, what, ids_count)
        alone = batch and "id" in call and sum(one.get("id") == call["id"] for one in calls) == 1
        if not ids_count and alone and entry.get("id") != call["id"]:
            return Fault(
                f"{what}, of which one has the id {json_text(call['id'])} for itself; its result has the id "
                f"{json_text(entry.get('id'))}",
                KEEPS_ITS_ID,
            )
        if ids_count and entry.get("id") != call["id"]:
            return Fault(
                f"{what}; the request with the id {json_text(call['id'])} got a result with the id "
                f"{json_text(entry.get('id'))}",
                'Each result carries the id of its own request: `"id": call["id"]`.',
            )
        if entry.get("tool", None if batch else call["tool"]) != call["tool"]:
            has = f"has {json_text(entry['tool'])} for its tool" if "tool" in entry else 'has no key "tool"'
            return Fault(
                f"{what}; the result of {asked} {has}",
                'A result has four keys: `"tool": call["tool"]` is one of them.',
            )
    return None


KEEPS_ITS_ID = "An id that no other request of the reply has is kept. Only the others may be made anew."


IN_ORDER = "The results stand in the order of the requests. Where does the order change?"
UNDER_RESULT = 'What a call gave, or why it failed, stands under the key "result".'


def _tells(entry: Entry, call: Entry, run: Called) -> bool:
    """Whether an entry is the result of this run of this request."""
    if "result" not in entry or not same_call(call, run.tool, run.kwargs):
        return False
    result, gave = entry["result"], run.answer.get("gave")
    if "raises" in run.answer:
        message = run.answer["raises"]["message"]
        return message in str(result) or message in json_text(result)
    return bool(result == gave and isinstance(result, bool) == isinstance(gave, bool))


def _tells_unknown(log: Log, entry: Entry, call: Entry) -> bool:
    return call["tool"] not in log.scenario.args[1] and call["tool"] in json_text(entry.get("result"))


def _wrong_result(
    log: Log,
    call: Entry,
    entry: Entry,
    results: list[Entry],
    runs: list[Called],
    what: str,
    ids_count: bool,
) -> Fault:
    asked = request_words(call)
    mine = [run for run in runs if same_call(call, run.tool, run.kwargs)]
    moved = [one for one in results if any(_tells(one, call, run) for run in mine)]
    if moved and entry.get("id") == call.get("id") and ids_count:
        return Fault(
            f"{what}; the result of {asked} stands under the id {json_text(moved[0].get('id'))}, not under "
            f"{json_text(call['id'])}",
            "Id and result of one entry belong to the same request. Where do they part?",
        )
    if moved:
        return Fault(
            f"{what}; the result of {asked} stands in place {results.index(moved[0]) + 1} of {len(results)}: "
            f"{sketch(results)}",
            IN_ORDER,
        )
    if "result" not in entry:
        keys = ", ".join(map(repr, entry))
        return Fault(f'{what}; the entry for {asked} has the keys {keys}, and no "result"', UNDER_RESULT)
    got = shown(entry["result"])
    if not mine:
        return Fault(f"{what}; {asked} did not run, and its result is {got}")
    if "raises" in mine[0].answer:
        message = mine[0].answer["raises"]["message"]
        return Fault(f"{what}; {asked} failed with {json_text(message)}, and its result is {got}")
    gave = mine[0].answer.get("gave")
    hint = "What the tool gave goes into the history as it is."
    if isinstance(entry["result"], str) and not isinstance(gave, str):
        hint = 'What the tool gave goes into the history as it is, not as a text: `"result": result`.'
    return Fault(f"{what}; {asked} gave {shown(gave)}, and its result is {got}", hint)


def _answered_beside_a_failure(log: Log) -> Fault | None:
    ran = _runs_after(log, 0) or []
    if len(ran) > len(_calls(log.facts["requests"][0])):
        return _wrong_runs(log, 0, _calls(log.facts["requests"][0]), ran)
    fault = _answered(log)
    if fault is None or fault.hint in (IN_ORDER, UNDER_RESULT):
        return fault
    return replace(fault, hint=INSIDE_THE_LOOP)


def _odd_ids_answered(log: Log) -> Fault | None:
    fault = _answered(log, ids_count=False)
    if fault is None or fault.hint == KEEPS_ITS_ID:
        return fault
    return Fault(
        fault.seen,
        "Go through the calls by their place in the list, not by their ids. What does "
        '`call["id"]` do without one?',
    )


def _interrupt_leaves_a_batch(log: Log) -> Fault | None:
    pressed = next((place for place, call in enumerate(log.calls) if "interrupt" in call.answer), -1)
    step = log.step_at(pressed)
    if "interrupted" not in log.outcome:
        then = crash(log) or Fault(f"the function returned {what_came_back(log)}")
        return Fault(f"a person pressed Ctrl-C in the middle of a batch; then: {then.seen}", step=step)
    if log.calls[pressed + 1 :]:
        name = log.calls[pressed + 1].tool or "the model"
        return Fault(
            f"a person pressed Ctrl-C in the middle of a batch; after that {name} was called all the same",
            "Ctrl-C raises KeyboardInterrupt. Which `except` of yours catches it?",
            step=step,
        )
    return None


INSIDE_THE_LOOP = "Does one failure end the work on the others? `try` belongs inside the loop over the calls."
WORKS = ("single", "all_run")

EXERCISE = Exercise(
    name="ex06_every_call_answered",
    title="Every call answered",
    lesson="07_tools_that_fail_well",
    given_by=("07_tools_that_fail_well",),
    difficulty=4,
    minutes=25,
    task="answer every request of a reply, by its id",
    lead_in="{lesson}: what a model can do with an error depends on its words. Its exercise is {exercise}.",
    scenarios=scenarios,
    criteria=(
        Criterion(
            "single", 2,
            "still handles replies with one request: runs it, records it, and turns a failure into a result",
            nudge="Does your loop still know a reply whose type is `tool`?",
            hint="Turn one request into a list of one: the rest of the code then handles both.",
            judge=in_turn(loops.still_a_loop, loops.failures_become_results),
        ),
        Criterion(
            "all_run", 2, "runs every request of a batch, once, before the model is asked again",
            nudge="How many requests does a reply of the type `tools` make?",
            hint='A `for call in reply["calls"]:` inside the loop over the steps.',
            judge=in_turn(
                each(_runs_all, "batches"),
                each(_runs_all, "endless batches", before="with max_steps=3, "),
            ),
            after=WORKS[:1],
            details=(
                "A batch may make the same request twice: then it runs twice, and each run has its own "
                "result."
            ),
        ),
        Criterion(
            "each_answered", 2,
            "gives every request one result with its id and its tool, in the order of the requests",
            nudge="How can the model tell which result belongs to which request?",
            hint=(
                'Append the reply once, then for each call `{"role": "tool", "id": call["id"], "tool": '
                'call["tool"], "result": result}`.'
            ),
            judge=each(_answered, "batches"),
            after=WORKS,
            details=(
                "The reply goes into the history once, with all its calls; the results follow directly. Ids "
                "name a request within its own reply: the next reply may use them again."
            ),
        ),
        Criterion(
            "good_kept", 2, "keeps the good results beside a failure and beside an unknown tool",
            nudge="The second of three requests fails. What becomes of the first, and of the third?",
            hint="Put `try` inside the loop over the calls, around one tool call.",
            judge=in_turn(
                each(
                    _answered_beside_a_failure, "failure beside good ones",
                    before="the second of three requests failed; ",
                ),
                each(
                    _answered_beside_a_failure, "several failures",
                    before="the first of five requests failed, and two others; ",
                ),
                each(
                    _answered_beside_a_failure, "unknown beside good ones",
                    before="the second of three requests named an unknown tool; ",
                ),
            ),
            after=(*WORKS, "each_answered"),
            details="Each failure is a result that holds its own message, as in ex01.",
        ),
        Criterion(
            "odd_ids", 1, "answers requests one by one also when ids are doubled or missing",
            nudge="Two requests have the same id. How many results does your loop record?",
            hint=(
                'A list keeps both, a dict by id does not. `call.get("id", "")` does not mind a missing one.'
            ),
            judge=each(
                _odd_ids_answered, "odd ids", before="with an id that comes twice, or none at all: "
            ),
            after=(*WORKS, "each_answered"),
            details=(
                "What you write as the id of such a request is up to you; an id that stands for one request "
                "alone is kept."
            ),
        ),
        Criterion(
            "ends", 1, "counts a batch as one step, and stops at max_steps (10)",
            nudge="What does your count of steps count?",
            hint="Only a call of the model is a step: `for step in range(1, max_steps + 1)` around all.",
            judge=in_turn(
                each(
                    loops.at_the_limit, "endless batches",
                    before="each reply made two requests; ",
                    hint="A step is one call of the model, however many requests it makes.",
                ),
                loops.stops_at_the_limit,
                each(loops.answers_at_the_end, "batches", "failure beside good ones"),
            ),
            after=WORKS,
        ),
        loops.leaves(
            WORKS, in_turn(loops.lets_through, each(_interrupt_leaves_a_batch, "interrupt in a batch"))
        ),
    ),
)  # fmt: skip
