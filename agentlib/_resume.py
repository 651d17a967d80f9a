"""A run that goes on from its trace: what was said and done before is taken from there, and counted again.

The loop is the same. It runs through the steps of the trace once more, with the recorded replies and results
in place of the model and the tools; so every count and every rule is where it was. Where the trace ends, the
model is asked and the tools are run again.
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from agentlib._run import RunState, Stop
from agentlib.costs import text_tokens
from agentlib.errors import ResumeError
from agentlib.messages import (
    Entry,
    ModelRequest,
    ReadCall,
    ReadReply,
    call_model,
    calls_in,
    is_error,
    json_text,
)
from agentlib.stops import WAITING, StopReason
from agentlib.tools import ToolOutcome, failure, read_tools
from agentlib.trace import Event, Trace, is_waiting

__all__ = ["has_ended", "make_state", "what_is_new"]


def make_state(goes_on_from: Trace | None, *args: Any, **options: Any) -> RunState:
    """Make the state of a new run, or of one that goes on from a trace; other arguments as for `RunState`."""
    state = (
        RunState(*args, **options) if goes_on_from is None else ResumedState(goes_on_from, *args, **options)
    )
    begin_trace = getattr(state.on_event, "begin_trace", None)  # as a trace_writer has it
    if begin_trace is not None:
        begin_trace(state.about, tuple(state.events))
    return state


def has_ended(trace: Trace) -> bool:
    """True if there is nothing to go on with: the run has ended, and not to wait for a person."""
    return trace.stopped not in (None, WAITING)


class Recorded:
    """What a trace says of each step: by the step's number, and by the request's id."""

    def __init__(self, trace: Trace) -> None:
        events, ended = trace.events, has_ended(trace)
        self.started = bool(events)
        self.asks: dict[int, Event] = {}
        self.attempts: defaultdict[int, list[Event]] = defaultdict(list)
        self.replies: dict[int, Event] = {}
        self.notes: defaultdict[int, deque[Event]] = defaultdict(deque)
        self.begun: set[tuple[int, str]] = set()  # a tool was about to run, and there is no result of it
        self.waiting: dict[tuple[int, str], str] = {}
        self.results: dict[tuple[int, str], Event] = {}
        self.acted: set[int] = set()  # the steps in which a request had its turn
        for event in events:
            step = event.step
            if event.kind == "ask":
                self.asks[step] = event
            elif event.kind == "attempt":
                self.attempts[step].append(event)
            elif event.kind == "reply":
                self.replies[step] = event
            elif event.kind == "note":
                self.notes[step].append(event)
            elif event.kind == "act":
                self.begun.add((step, event.id))
                self.acted.add(step)
            elif event.kind == "result" and event.entry is not None:
                key = (step, event.entry["id"])
                self.begun.discard(key)
                if is_waiting(event) and not ended:
                    self.waiting[key] = event.entry["tool"]
                else:
                    self.waiting.pop(key, None)
                    self.results[key] = event

    def asked(self, step: int) -> Event | None:
        """Give the event of a model call that was made in the course of the run; None = there was none."""
        ask = self.asks.get(step)
        return None if ask is None or ask.text == "closing" else ask

    def holds(self, event: Event) -> bool:
        """True if the trace has this event already."""
        if event.kind == "start":
            return self.started
        if event.kind == "result":
            return (event.step, (event.entry or {})["id"]) in self.results
        return event.step in {"ask": self.asks, "reply": self.replies}.get(event.kind, ())


class ResumedState(RunState):
    """The state of a run that goes on. trace: the run so far; other arguments as for `RunState`."""

    def __init__(self, trace: Trace, model: Any, tools: Any, *args: Any, **options: Any) -> None:
        super().__init__(model, tools, *args, **options)
        self.trace = trace
        self.recorded = Recorded(trace)
        if trace.events:
            self.progress.last_seconds = max(event.seconds for event in trace.events)
            self.progress.started -= self.progress.last_seconds  # running time alone counts
        self.ask_model = self._reply
        self.events.extend(trace.events)
        self.happened_now, self.happened = self.happened, self._happened_or_recorded
        before = trace.latest_about()
        kept = ("max_steps", "tools", "repeatable", "max_result_chars", "at_once", "parallel")
        now = {name: self.about.get(name) for name in kept}
        self.changed = {name: value for name, value in now.items() if value != before.get(name)}
        self.about = trace.about or self.about
        goes_on = trace.events and trace.events[-1].kind == "resume" and not (self.changed or trace.problem)
        self.live = not trace.events or goes_on
        self.end: StopReason | None = None  # of a run that has ended: only the counts are made up again
        if has_ended(trace):
            self.end = StopReason(str(trace.stopped), trace.detail)
            self.call_rules, self.request_rules, self.tool_rules, self.result_rules = [], [], [], []

    def __exit__(self, kind: object, problem: BaseException | None, traceback: object) -> bool:
        """As ever, but what goes wrong before the run goes on is raised, and leaves the trace as it was."""
        if problem is not None and not isinstance(problem, Stop) and not self.live:
            return False
        return super().__exit__(kind, problem, traceback)

    def _go_on(self) -> None:
        """Note that the run goes on from here."""
        if not self.live:
            self.live = True
            step, said, seconds = self.progress.steps, self.trace.problem, self.progress.look_at_clock()
            self.happened_now(Event("resume", step, self.changed or None, text=said, seconds=seconds))

    def _happened_or_recorded(self, event: Event) -> None:
        if self.end is None and not self.recorded.holds(event):
            self._go_on()
            self.happened_now(event)

    def note(self, text: str) -> None:
        """Add a note; one that stands in the trace is taken from there."""
        if self.recorded.notes[self.progress.steps]:
            self._take_recorded_note()
        else:
            super().note(text)

    def _take_recorded_note(self) -> None:
        entry = self.recorded.notes[self.progress.steps].popleft().entry or {}
        self.history.add(entry, text_tokens(entry["text"]))

    def check_limits(self) -> None:
        """Look at every limit. A call that the trace holds was made, whatever they say now."""
        ask = self.recorded.asked(self.progress.steps + 1)
        if ask is None and self.end is not None:
            raise Stop(self.end, allows_closing=True)
        if ask is None:
            return super().check_limits()
        while self.recorded.notes[self.progress.steps]:
            self._take_recorded_note()  # of a rule that is not there any more
        self.read = ask.read
        self.progress.next_entries, self.progress.next_estimate = ask.entries, ask.tokens
        for rule in self.call_rules:
            rule.before_call(self.progress)  # some remember what they see
        return None

    def _reply(self, history: list[Entry], request: ModelRequest) -> Any:
        """Give the recorded reply, or ask the model."""
        step = self.progress.steps
        for event in self.recorded.attempts[step]:
            self._count_failed((event.entry or {}).get("usage"))
        reply = self.recorded.replies.get(step)
        if reply is not None:
            return self.trace.reply_again(reply)
        if self.end is not None:
            self.failed_usage = self._count_failed((self.trace.events[-1].entry or {}).get("usage"))
            raise Stop(self.end)
        self._go_on()
        return call_model(self.model, history, request)

    def allowed(self, reply: ReadReply) -> Sequence[ReadCall]:
        """List the requests that may run. Where the run went on behind them, that was decided."""
        step = self.progress.steps
        if step not in self.recorded.acted and self.recorded.asked(step + 1) is None:
            return super().allowed(reply)
        with suppress(Stop):
            super().allowed(reply)  # the rules remember what they see
        return self._unanswered()

    def act(self, call: ReadCall) -> ToolOutcome:
        """Give the recorded outcome, or run the request. What was begun and is not repeatable is not run."""
        key = (self.progress.steps, call.id)
        if key in self.recorded.results:
            return _outcome_again(self.recorded.results[key])
        tool = self.tools.get(call.tool)
        there_was_one = tool is not None or call.tool in self.trace.about.get("tools", ())
        if key in self.recorded.begun and there_was_one and not (tool and tool.repeatable):
            self._go_on()
            words = (
                f"{call.tool} was begun, and the program was ended before there was a result: it is not "
                "known whether it finished. Find out what it has done before you ask for it again."
            )
            return failure("not_finished", words, ran=True)
        return super().act(call)

    def _is_parallel(self, call: ReadCall) -> bool:
        key = (self.progress.steps, call.id)
        tool = self.tools.get(call.tool)
        is_settled = key in self.recorded.results
        is_unknown = key in self.recorded.begun and not (tool and tool.repeatable)
        return not is_settled and not is_unknown and super()._is_parallel(call)

    def _record(self, call: ReadCall, outcome: ToolOutcome) -> None:
        recorded = self.recorded.results.get((self.progress.steps, call.id))
        super()._record(call, outcome if recorded is None else _outcome_again(recorded))

    def begin_closing(self) -> None:
        """Begin the closing call; of a run that has ended only one that was made."""
        if self.end is not None and self.recorded.asks[max(self.recorded.asks)].text != "closing":
            raise Stop(self.end)
        super().begin_closing()

    def _finish(self) -> None:
        if self.end is None:
            return super()._finish()
        while self.recorded.notes[self.progress.steps]:
            self._take_recorded_note()  # that the closing call failed
        self.stopped, self.answer = self.end, self.trace.answer
        return None


def _outcome_again(event: Event) -> ToolOutcome:
    result = (event.entry or {})["result"]
    fatal = event.text == "fatal"
    failed = fatal or (event.text != "not run" and is_error(result))
    return ToolOutcome(result, json_text(result), event.ran, failed, fatal)


def what_is_new(trace: Trace, tools: Any) -> str:
    """Say what was lost of a trace, and in what the tools are others.

    Raises ResumeError if too much was lost, or if a tool that the run needs next is not there.
    """
    if trace.lost > 1:
        raise ResumeError(
            f"The run cannot go on: {trace.problem} "
            "A tool may have run in what is missing, and would run again."
        )
    table = read_tools(tools)
    offered = trace.about.get("offered", {})
    before = trace.latest_about().get("tools", list(table))
    gone = [name for name in before if name not in table]
    recorded = Recorded(trace)
    unasked = {tool for tool in recorded.waiting.values() if tool in table and not table[tool].risky}
    if unasked:
        raise ResumeError(
            f"The run cannot go on: a person has to decide on {', '.join(sorted(unasked))}, and nobody would "
            "be asked, as this tool is not risky any more. Declare it risky."
        )
    needed = _not_begun(recorded).intersection(gone)
    if needed:
        raise ResumeError(
            f"The run cannot go on: it has to run {', '.join(sorted(needed))} next, which is not among the "
            f"tools ({', '.join(table) or 'none'}). Give it to resume as well."
        )
    lists = {
        "Tools that are new": [name for name in table if name not in before],
        "Tools that are gone": gone,
        "Tools whose arguments have changed": [
            name for name in table if name in offered and offered[name]["schema"] != table[name].schema
        ],
    }
    said = [trace.problem] if trace.problem else []
    said += [f"{words}: {', '.join(map(str, names))}." for words, names in lists.items() if names]
    return " ".join(said)


def _not_begun(recorded: Recorded) -> set[Any]:
    """Name the tools of those requests of the last reply that have not begun."""
    step = max(recorded.asks, default=0)
    if step not in recorded.replies:
        return set()
    keys = {(step, call["id"]): call["tool"] for call in calls_in(recorded.replies[step].entry)}
    return {tool for key, tool in keys.items() if key not in recorded.results and key not in recorded.begun}
