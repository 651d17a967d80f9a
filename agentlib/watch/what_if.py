"""What if? Runs a loop again with one reply or one tool result changed, and on from there."""

import copy
import functools
import json
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from agentlib._json import whole_number
from agentlib.errors import ForkError
from agentlib.loop import run_agent as own_run_agent
from agentlib.messages import Entry, describe, json_ready, read_reply
from agentlib.trace import Event, Trace, given_again
from agentlib.watch.recorder import watch, wrapped_tools

__all__ = ["fork", "read_change"]


_NOTHING: Any = object()
"""Says that an argument was not given; None is a result that a tool may well give."""


def fork(
    run_agent: Callable[..., Any],
    make_model: Callable[[], Callable[..., Any]],
    tools: Any,
    goal: str,
    trace: Trace,
    at_step: int,
    *,
    reply: Any = _NOTHING,
    result: Any = _NOTHING,
    call: int = 0,
    **options: Any,
) -> Trace:
    """Run a loop as `trace` recorded it up to step `at_step`, change one thing there, and run on from there.

    reply: what the model says in that step instead. result: what a tool gives in that step instead; `call`
    says which of the step's results it is, from 0. Exactly one of the two is given.
    options: passed on to the loop.
    Before the change the recorded results are given and no tool runs, so nothing is done twice. The fresh
    model is asked along from the start, so that one that counts its calls knows where it is.
    Raises ForkError if the trace has no such step or result, or if not exactly one change is given.
    """
    whole_number("at_step", at_step)
    change = {name: value for name, value in (("reply", reply), ("result", result)) if value is not _NOTHING}
    if len(change) != 1:
        raise ForkError(f"A fork changes one thing: give reply= or result=, but {len(change)} were given.")
    if not trace.watched and run_agent is not own_run_agent:
        raise ForkError("agentlib's loop recorded this trace, so it is forked with agentlib's run_agent.")
    tape = _Tape(trace, at_step, change, call, make_model())
    if at_step > len(tape.replies):
        raise ForkError(f"The run has {len(tape.replies)} steps with a reply, so there is no step {at_step}.")
    if "result" in change and not 0 <= call < len(tape.results[at_step]):
        raise ForkError(
            f"Step {at_step} has {len(tape.results[at_step])} tool results, "
            f"so there is no result {call} (counted from 0)."
        )
    if type(trace.about.get("max_steps")) is int:
        options.setdefault("max_steps", trace.about["max_steps"])
    tools = wrapped_tools(tools, tape.tool)
    if not trace.watched:  # recorded by the loop itself, which writes down its own events
        return own_run_agent(tape.model, tools, goal, **options).trace
    return watch(run_agent, tape.model, tools, goal, **options)


class _Tape:
    """Plays a recorded run up to the change; from there on the model and the tools are the real ones.

    replies, results: what was recorded, by step. change: {"reply": ...} or {"result": ...}.
    """

    def __init__(
        self, trace: Trace, at_step: int, change: Entry, call: int, model: Callable[..., Any]
    ) -> None:
        self.at_step, self.change, self.call, self.fresh_model = at_step, change, call, model
        self.replies: dict[int, Entry] = {}
        self.results: dict[int, list[Event]] = defaultdict(list)
        for event in trace.events:
            if event.kind == "reply" and event.entry is not None and event.text != "raised":
                self.replies[event.step] = {key: value for key, value in event.entry.items() if key != "role"}
            elif event.kind == "result" and event.ran:
                self.results[event.step].append(event)
        self.step = 0
        self.runs = 0  # tool runs in this step

    def model(self, *args: Any, **kwargs: Any) -> Any:
        """Give the recorded reply, the changed one, or what the fresh model says."""
        self.step += 1
        self.runs = 0
        if self.step > self.at_step:
            return self.fresh_model(*args, **kwargs)
        with suppress(Exception):  # it is only asked along; what it would have said does not count here
            self.fresh_model(*args, **kwargs)
        if self.step == self.at_step and "reply" in self.change:
            return copy.deepcopy(self.change["reply"])
        return copy.deepcopy(self.replies[self.step])

    def tool(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a tool, so that it gives the recorded result, the changed one, or what it really gives."""

        @functools.wraps(function)
        def played(*args: Any, **kwargs: Any) -> Any:
            number = self.runs
            self.runs += 1
            if self.step > self.at_step or (self.step == self.at_step and "reply" in self.change):
                return function(*args, **kwargs)
            if self.step == self.at_step and number == self.call:
                return copy.deepcopy(self.change["result"])
            recorded = self.results[self.step][number:][:1]
            if recorded and (recorded[0].entry or {}).get("tool") == name:
                return given_again(recorded[0])
            return function(*args, **kwargs)

        return played


def read_change(kind: str, text: str) -> Any:
    """Read what somebody typed into the form for a fork: a reply or a result, as JSON.

    Raises ForkError that says what is wrong with it.
    """
    try:
        value = json.loads(text)
    except ValueError as problem:
        raise ForkError(f"This is no JSON: {problem}. Text needs double quotes, names too.") from None
    if kind == "result":
        return value
    if kind != "reply":
        raise ForkError(f'What is changed is a "reply" or a "result", but was {describe(kind)}.')
    read = read_reply(json_ready(value)[0], 1)
    if read.kind == "invalid":
        raise ForkError(f"This is no reply. {read.problem}")
    return value
