"""What if? Runs a loop again with one reply or one tool result changed, and on from there."""

import copy
import functools
import json
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from agentlib._at_once import InTurn
from agentlib._json import whole_number
from agentlib.errors import ForkError
from agentlib.loop import run_agent as own_run_agent
from agentlib.messages import Entry, ModelRequest, call_model, describe, json_ready, read_reply
from agentlib.trace import Event, Trace, given_again, input_of
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
    says which of the step's results it is, from 0, without those that say "not run". Exactly one of the two
    is given. options: passed on to the loop.
    Before the change each request gets again what came of it: no tool runs, nobody is asked for a yes, so
    nothing is done twice. The fresh model is asked along from the start, so that one that counts its calls
    knows where it is.
    Raises ForkError if the trace has no such step or result, if that result came from no tool (the loop
    itself refused the request), or if not exactly one change is given.
    """
    whole_number("at_step", at_step)
    change = {name: value for name, value in (("reply", reply), ("result", result)) if value is not _NOTHING}
    if len(change) != 1:
        raise ForkError(f"A fork changes one thing: give reply= or result=, but {len(change)} were given.")
    if not trace.watched and run_agent is not own_run_agent:
        raise ForkError("agentlib's loop recorded this trace, so it is forked with agentlib's run_agent.")
    tape = _Tape(trace, at_step, change, make_model())
    if at_step > len(tape.replies):
        raise ForkError(f"The run has {len(tape.replies)} steps with a reply, so there is no step {at_step}.")
    if "result" in change:
        results = [outcome for _, outcome in tape.outcomes[at_step] if outcome.text != "not run"]
        if not 0 <= call < len(results):
            raise ForkError(
                f"Step {at_step} has {len(results)} tool results, "
                f"so there is no result {call} (counted from 0)."
            )
        tape.to_change = results[call]
    if type(trace.about.get("max_steps")) is int:
        options.setdefault("max_steps", trace.about["max_steps"])
    if run_agent is own_run_agent:
        options["approve"] = tape.approving(options.get("approve"))
    tools = wrapped_tools(tools, tape.tool)
    if trace.watched:
        forked = watch(run_agent, tape, tools, goal, **options)
    else:  # recorded by the loop itself, which writes down its own events
        options.setdefault("max_result_chars", trace.about.get("max_result_chars"))
        options["at_once"] = InTurn(options.get("at_once") or trace.about.get("at_once") or 1)
        options["on_event"] = tape.listening(options.get("on_event"))
        forked = own_run_agent(tape, tools, goal, **options).trace
    if tape.problem is not None:
        raise tape.problem
    return forked


class _Tape:
    """Plays a recorded run up to the change; from there on the model and the tools are the real ones.

    replies: what the model gave, by step. outcomes: the requests of each step that have not come again yet,
    each with the event of its result. to_change: the one of them that comes changed; None = none is left.
    change: {"reply": ...} or {"result": ...}.
    """

    def __init__(self, trace: Trace, at_step: int, change: Entry, model: Callable[..., Any]) -> None:
        self.watched, self.at_step, self.change, self.fresh_model = trace.watched, at_step, change, model
        self.replies: dict[int, Any] = {}
        self.outcomes: dict[int, list[tuple[Entry, Event]]] = defaultdict(list)
        for number, event in enumerate(trace.events):
            if event.kind == "reply":
                self.replies[event.step] = trace.reply_again(event)
            elif event.kind == "result":
                self.outcomes[event.step].append((trace.request(number), event))
        self.to_change: Event | None = None
        self.problem: ForkError | None = None
        self.step = 0
        self.call_id = ""  # of the request at its turn, in a loop that says so

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Give the reply, as a model does that a hand-written loop asks."""
        return self.reply(lambda: self.fresh_model(*args, **kwargs))

    def call(self, history: list[Entry], request: ModelRequest) -> Any:
        """Give the reply, as a model does that agentlib's loop asks."""
        return self.reply(lambda: call_model(self.fresh_model, history, request))

    def reply(self, fresh_reply: Callable[[], Any]) -> Any:
        """Give the recorded reply, the changed one, or what the fresh model says."""
        self.step += 1
        if self.step > self.at_step:
            if self.to_change is not None:
                self.problem = ForkError(
                    f"This result of step {self.at_step} came from no tool. Change the reply that asked."
                )
                raise self.problem
            return fresh_reply()
        with suppress(Exception):  # it is only asked along; what it would have said does not count here
            fresh_reply()
        if self.step == self.at_step and "reply" in self.change:
            return copy.deepcopy(self.change["reply"])
        reply = self.replies[self.step]
        if isinstance(reply, BaseException):
            raise reply
        return copy.deepcopy(reply)

    def tool(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a tool, so that it gives the recorded result, the changed one, or what it really gives."""

        @functools.wraps(function)
        def played(*args: Any, **kwargs: Any) -> Any:
            recorded = self.recorded(name, input_of(args, kwargs))
            if recorded is None:
                return function(*args, **kwargs)
            self.outcomes[self.step].remove(recorded)
            if recorded[1] is self.to_change:
                self.to_change = None
                return copy.deepcopy(self.change["result"])
            return given_again(recorded[1])

        return played

    def playing(self) -> bool:
        """True while requests get what was recorded."""
        return self.step < self.at_step or (self.step == self.at_step and "result" in self.change)

    def recorded(self, name: str, given: Entry) -> tuple[Entry, Event] | None:
        """Find what came of the request that is at its turn; None = it was not run."""
        if self.playing():
            for request, event in self.outcomes[self.step]:
                same = request["input"] == given if self.watched else request["id"] == self.call_id
                if same and request["tool"] == name:
                    return request, event
        return None

    def approving(self, approve: Callable[[Entry], Any] | None) -> Callable[[Entry], Any]:
        """Ask a person only behind the change: before it nothing is really done."""

        def approved(call: Entry) -> Any:
            self.call_id = call["id"]  # a person is asked before the request is said to begin
            if self.playing():
                return self.recorded(call["tool"], call["input"]) is not None
            if approve is None:
                raise ForkError("nobody can be asked in this fork")
            return approve(call)

        return approved

    def listening(self, on_event: Callable[[Event], None] | None) -> Callable[[Event], None]:
        """Hear from the loop which request is at its turn."""

        def heard(event: Event) -> None:
            if event.kind == "act":
                self.call_id = event.id
            if on_event is not None:
                on_event(event)

        return heard


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
