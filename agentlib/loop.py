"""The agent loop: ask the model, check its reply, act, record; and stop for the right reason.

The loop stands here and nowhere else. What is counted and written down on the way is in `_run.py`, in the
order in which the loop asks for it; the stop rules are in `stops.py`.
"""

import time
from typing import Any

from agentlib._run import MAX_RESULT_CHARS, Approve, Clock, Memory, OnEvent, Run, RunState, Stop
from agentlib.messages import ModelFunction
from agentlib.stops import ANSWERED, LEAVES_ROOM_FOR_CLOSING, read_stops
from agentlib.trace import Trace

__all__ = ["replay", "run_agent"]


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
        max_result_chars=max_result_chars, on_event=on_event, clock=clock,
    )  # fmt: skip
    with state:  # takes what is raised inside for the reason to stop, and gives every request a result
        state.begin()  # the goal is the first entry of the history
        while True:
            state.check_limits()  # raises Stop: a call that would break a limit is not made
            reply = state.ask()  # 1. ask: the model gets the whole history, it remembers nothing
            state.record_reply(reply)  # an answer is kept as the run's answer
            if reply.kind == "answer":  # 2. check
                raise Stop(ANSWERED)
            for call in state.allowed(reply):  # none, if it cannot be read or a rule says no: then a note
                outcome = state.act(call)  # 3. act: a risky tool waits for a person's yes
                state.record_result(call, outcome)  # 4. record: each request gets exactly one result
    if closing_call and state.reason in LEAVES_ROOM_FOR_CLOSING:  # such as the step limit; no budget does
        with state:  # once more, without tools: what can be said from what is known? The reason stays
            state.begin_closing()
            reply = state.ask()
            state.record_reply(reply)  # requests in it are not run
    return state.result()


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
