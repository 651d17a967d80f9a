"""The agent loop: ask the model, check its reply, act, record; and stop for the right reason.

The loop stands here and nowhere else. What is counted and written down on the way is in `_run.py`, in the
order in which the loop asks for it; the stop rules are in `stops.py`.
"""

import dataclasses
import time
import warnings
from typing import Any

from agentlib._approval import Approve
from agentlib._at_once import InTurn
from agentlib._resume import has_ended, make_state, what_is_new
from agentlib._run import MAX_RESULT_CHARS, Clock, Memory, OnEvent, Run, Stop
from agentlib.messages import ModelFunction, describe
from agentlib.stops import ANSWERED, read_stops
from agentlib.trace import Trace

__all__ = ["replay", "resume", "run_agent"]


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
    at_once: int = 1,
    goes_on_from: Trace | None = None,
) -> Run:
    """Run an agent until it answers or a stop rule ends it; give back a `Run`, whatever happens.

    model: `model(history) -> reply`. tools: names and functions, or a list of functions or `Tool`s.
    goal: what the user wants. max_steps: the most model calls, a whole number from 1 up.
    stops: stop rules, see `agentlib.stops`. approve(call): asked before a risky tool runs; True is a yes,
    `LATER` ends the run with "waiting", all else is a no, a text one with its reason.
    memory(history) -> history: what the model reads; the whole history is kept.
    max_result_chars: a longer result is cut before it is recorded, both ends kept; None = no limit.
    closing_call: after a stop make one more call, with no tools, for an answer from what is known.
    on_event(event): sees each event as it happens. clock: gives seconds. goes_on_from: see `resume`.
    at_once: how many requests of one reply may run side by side, in threads: those in a row whose tools are
    declared `parallel` (see `Tool`). Results stand in the order of the requests, when all of them have ended.
    A cancel or a deadline ends the waiting. Where there are no threads they run one after another.
    Raises ValueError or TypeError before the first model call if an argument is wrong.
    """
    state = make_state(  # a new one, or one that goes on from a trace
        goes_on_from, model, tools, goal, max_steps, stops=stops, approve=approve, memory=memory,
        max_result_chars=max_result_chars, on_event=on_event, clock=clock, at_once=at_once,
    )  # fmt: skip
    with state:  # takes what is raised inside for the reason to stop, and gives every request a result
        state.begin()  # the goal is the first entry of the history
        while True:
            state.check_limits()  # raises Stop: a call that would break a limit is not made
            reply = state.ask()  # 1. ask: the model reads the history anew, it remembers nothing
            state.record_reply(reply)  # an answer is kept as the run's answer
            if reply.kind == "answer":  # 2. check: is it over?
                raise Stop(ANSWERED)
            for call in state.allowed(reply):  # none, if it cannot be read or a rule says no: then a note
                outcome = state.act(call)  # 3. act: a risky tool waits for a person's yes
                state.record_result(call, outcome)  # 4. record: each request gets exactly one result
    if closing_call and state.may_close:  # after the step limit, say: a budget leaves no room for a call
        with state:  # once more, without tools: what can be said from what is known? The reason stays
            state.begin_closing()
            reply = state.ask()
            state.record_reply(reply)  # requests in it are not run
    return state.result()


def resume(trace: Trace, model: ModelFunction, tools: Any, **options: Any) -> Run:
    """Go on with a run from its trace: after a wait for a person, or after its program was ended anywhere.

    trace: the run so far: `run.trace`, or `Trace.load(path)` of what `trace_writer(path)` or `save` wrote.
    model, tools, options: as for `run_agent`; the goal and, unless given, max_steps are those of the trace.
    The loop goes through the recorded steps once more, with what was recorded in place of model and tools:
    nothing that ran is run again, and every count and limit goes on; a `Deadline` counts running time alone.
    A tool that was begun and gave no result runs again only if it is `repeatable`; else the model reads that
    it is not known whether it finished. A request that waits is put to `approve` again. A model call without
    a reply is made again. A run that has ended for any other reason is given back as it was.
    What was lost, and in what the tools are others, is warned of and stands in the trace's "resume" event.
    Raises ResumeError if going on would not be safe; TypeError or ValueError for a wrong argument.
    """
    if not isinstance(trace, Trace):
        raise TypeError(f"resume takes a trace, such as Trace.load(path), but was given {describe(trace)}.")
    if trace.watched:
        raise ValueError(
            "The trace was made by watching a loop from outside: run_agent cannot go on from it."
        )
    new = ""
    if has_ended(trace):  # all that was made is counted again, a closing call too
        options |= {"closing_call": True, "memory": None, "on_event": None}
    else:
        new = what_is_new(trace, tools)
    if new:
        warnings.warn(new, stacklevel=2)
    about = trace.latest_about()
    options.setdefault("max_steps", about.get("max_steps"))
    options.setdefault("max_result_chars", about.get("max_result_chars", MAX_RESULT_CHARS))
    options.setdefault("at_once", about.get("at_once") or 1)
    so_far = dataclasses.replace(trace, problem=new)
    return run_agent(model, tools, trace.goal, goes_on_from=so_far, **options)


def replay(trace: Trace, **options: Any) -> Run:
    """Run a recorded run again, without its model and tools; equal events show that nothing has changed.

    options: the options that the recorded run had, such as stops. What came from outside does not come
    again by itself: a person's yes or no, a cancel, the clock's deadline and the end of the program are taken
    from the record.
    """
    since = trace.resumed_at()
    so_far = _replay_until(since, trace, options) if since else None
    rules = [*read_stops(options.pop("stops", ())), trace.ending(since)]
    about = trace.latest_about()
    max_steps = about.get("max_steps")
    if type(max_steps) is not int or max_steps < 1:  # a watched loop may have any
        max_steps = trace.steps + 1
    options.setdefault("max_result_chars", about.get("max_result_chars"))
    options["at_once"] = InTurn(about.get("at_once") or 1)
    model, tools = trace.model(since), trace.tools(since)
    return run_agent(model, tools, trace.goal, max_steps, stops=rules, goes_on_from=so_far, **options)


def _replay_until(resumed_at: int, trace: Trace, options: dict[str, Any]) -> Trace:
    """Replay what a run did before it was resumed, up to the event that says so."""
    before = Trace(trace.events[:resumed_at], trace.about)
    if before.stopped is not None:
        before = replay(before, **options).trace
    return Trace((*before.events, trace.events[resumed_at]), trace.about)
