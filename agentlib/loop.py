"""The agent loop: ask the model, check its reply, act, record; and stop for the right reason.

The loop stands here and nowhere else. `steps` is the loop itself, one event at a time; `run_agent` runs
it to its end. What is counted and written down on the way is in `run.py`, the stop rules in `stops.py`.
"""

import time
from collections.abc import Generator
from typing import Any

from agentlib._run import MAX_RESULT_CHARS, Approve, Clock, Memory, OnEvent, Run, RunState
from agentlib.messages import SHAPES, ModelFunction, read_reply
from agentlib.stops import (
    ANSWERED,
    CANCELLED,
    EMPTY_REPLY,
    FATAL_ERROR,
    MODEL_ERROR,
    NO_PROGRESS,
    REPEATED_CALL,
    STEP_LIMIT,
    TOO_MANY_ERRORS,
    StopReason,
    read_reason,
    read_stops,
)
from agentlib.tools import words_of
from agentlib.trace import CLOSING_FAILED, Event, Trace

__all__ = ["replay", "run_agent", "steps"]


def run_agent(
    model: ModelFunction,
    tools: Any,
    goal: str,
    max_steps: int = 10,
    *,
    stops: Any = (),
    approve: Approve | None = None,
    memory: Memory | None = None,
    max_result_chars: int | None = MAX_RESULT_CHARS,
    closing_call: bool = False,
    on_event: OnEvent | None = None,
    clock: Clock = time.monotonic,
) -> Run:
    """Run an agent until it answers or a stop rule ends it; give back a `Run`, whatever happens.

    model: `model(history) -> reply`. tools: names and functions, or a list of functions or `Tool`s.
    goal: what the user wants. max_steps: the most model calls, a whole number from 1 up.
    stops: stop rules, see `agentlib.stops`. approve(call) -> bool: asked before a risky tool runs; only
    True is a yes. memory(history) -> history: what the model reads; the whole history is kept.
    max_result_chars: a longer result is cut before it is recorded, both ends kept; None = no limit.
    closing_call: after a stop make one more call, with no tools, for an answer from what is known.
    on_event(event): sees each event as it happens. clock: gives seconds.
    Raises ValueError or TypeError before the first model call if an argument is wrong.
    """
    state = RunState(
        model, tools, goal, max_steps, stops=stops, approve=approve, memory=memory,
        max_result_chars=max_result_chars, closing_call=closing_call, on_event=on_event, clock=clock,
    )  # fmt: skip
    events: Generator[Event, None, Any] = _run(state)
    while True:
        try:
            for _ in events:
                pass
            return state.result()
        except KeyboardInterrupt:  # in the very last lines: what is left to do is done now, nothing twice
            events = _end(state, StopReason(CANCELLED, "the program was interrupted"))
        except GeneratorExit as problem:  # nobody walks away here, so a rule or a watcher has raised it
            events = _end(state, StopReason(FATAL_ERROR, words_of(problem)))


def steps(
    model: ModelFunction, tools: Any, goal: str, max_steps: int = 10, **options: Any
) -> Generator[Event, None, Run]:
    """Run an agent and give each event as it happens; the generator's return value is the `Run`.

    Arguments and options as for `run_agent`. Wrong ones raise here, before the first event is asked for.
    """
    return _run(RunState(model, tools, goal, max_steps, **options))


def _run(state: RunState) -> Generator[Event, None, Run]:
    """Go through the four moves until there is a reason to stop; then leave everything in order."""
    try:
        try:
            reason = yield from _four_moves(state)
            yield from state.record_not_run()
            if state.closing_call and reason in _LEAVES_ROOM_FOR_CLOSING:
                yield from _closing_call(state)
        except KeyboardInterrupt:
            reason = StopReason(CANCELLED, "the program was interrupted")
        except GeneratorExit:  # the one who asks for the events walks away
            raise
        except BaseException as problem:  # a stop rule, memory or on_event raised: the work so far is kept
            reason = StopReason(FATAL_ERROR, words_of(problem))
        yield from _end(state, reason)
        return state.result()
    finally:
        state.leave()


def _end(state: RunState, reason: StopReason) -> Generator[Event, None, None]:
    state.ending = True
    yield from state.record_not_run()
    yield state.finish(reason)


def _four_moves(state: RunState) -> Generator[Event, None, StopReason]:
    yield state.begin()
    while True:
        # The limits come first: a call that would break one is not made.
        reason = state.limit_reached()
        if reason is not None:
            return reason

        # 1. Ask. The model gets the whole history each time: it remembers nothing.
        yield state.asking()
        try:
            raw = state.model(state.view())
        except KeyboardInterrupt:
            raise
        except BaseException as problem:  # whatever a provider's client raises, the work so far is kept
            return StopReason(MODEL_ERROR, words_of(problem))
        reply = read_reply(raw, state.progress.steps)
        yield state.record_reply(reply)

        # 2. Check. Is it an answer? Can it be understood? May its requests run?
        if reply.kind == "answer":
            state.answer = reply.entry["text"]
            return ANSWERED
        if reply.kind == "invalid":
            yield state.note(f"Your reply could not be read. {reply.problem} {SHAPES}")
            continue
        if reply.kind == "empty":
            if state.blanks == 2:
                return StopReason(EMPTY_REPLY, "two replies in a row had neither text nor a request")
            yield state.note("Your reply was empty. Ask for a tool, or answer in words.")
            continue
        verdict = state.verdict_on(reply.calls)
        if verdict is not None:
            yield from state.record_not_run(
                "another request in the same reply was a repeat. Ask again without it.", verdict.repeated
            )
            if verdict.stop is not None:
                return read_reason(verdict.stop)
            if verdict.note:
                yield state.note(verdict.note)
            continue

        # 3. Act and 4. record, one request after the other: each gets exactly one result, by its id.
        for call in reply.calls:
            reason = state.forbidden_before()
            if reason is not None:
                return reason
            yield state.acting(call)
            outcome = state.run(call)
            yield state.record_result(call, outcome)
            if outcome.fatal:
                return StopReason(FATAL_ERROR, outcome.result["message"])


# After these stops one more call may be affordable. A budget, a deadline or a cancel leaves no room.
_LEAVES_ROOM_FOR_CLOSING = (STEP_LIMIT, REPEATED_CALL, NO_PROGRESS, TOO_MANY_ERRORS)


def _closing_call(state: RunState) -> Generator[Event, None, None]:
    """Ask once more, with no tools on offer, for an answer from what is known. The stop reason stays."""
    note = "No more tools can be used. Answer now from what you know, and say what is missing."
    if state.limit_reached(note) is not None:
        return
    yield state.note(note)
    state.prepare_call()
    state.closing = True
    yield state.asking()
    try:
        reply = read_reply(state.model(state.view()), state.progress.steps)
    except KeyboardInterrupt:
        raise
    except BaseException as problem:
        yield state.note(CLOSING_FAILED + words_of(problem))
        return
    yield state.record_reply(reply)
    if reply.kind == "answer":
        state.answer = reply.entry["text"]
    elif reply.kind == "invalid":
        yield state.note(f"Your reply could not be read. {reply.problem} {SHAPES}")


def replay(trace: Trace, **options: Any) -> Run:
    """Run a recorded run again, without its model and tools; equal events show that nothing has changed.

    options: the options that the recorded run had, such as stops. What came from outside does not come
    again by itself: a person's yes or no, a cancel and the clock's deadline are taken from the record.
    """
    rules = [*read_stops(options.pop("stops", ())), trace.ending()]
    max_steps = trace.about.get("max_steps")
    if type(max_steps) is not int or max_steps < 1:  # a watched loop may have any
        max_steps = trace.steps + 1
    options.setdefault("max_result_chars", trace.about.get("max_result_chars"))
    return run_agent(trace.model(), trace.tools(), trace.goal, max_steps, stops=rules, **options)
