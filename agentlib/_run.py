"""The result of a run, and the bookkeeping behind the loop: counts, events, every request answered."""

import copy
import inspect
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from agentlib._history import History
from agentlib._json import whole_number
from agentlib.costs import Usage, entry_tokens, tokens_for
from agentlib.memory import LEAST_CHARS, trim
from agentlib.messages import (
    Entry,
    ModelFunction,
    ReadCall,
    ReadReply,
    cut,
    describe,
    json_ready,
    json_text,
    user,
)
from agentlib.stops import (
    Deadline,
    Progress,
    StepLimit,
    StopReason,
    StopRule,
    Verdict,
    read_reason,
    read_stops,
)
from agentlib.tools import ToolOutcome, Worker, failure, read_tools, run_tool, words_of
from agentlib.trace import Event, Trace

__all__ = ["Approve", "Clock", "Memory", "OnEvent", "Run", "RunState"]

Memory = Callable[[list[Entry]], list[Entry]]
Approve = Callable[[Entry], bool]
OnEvent = Callable[[Event], None]
Clock = Callable[[], float]

MAX_RESULT_CHARS = 20_000
"""A tool result longer than this many characters (about 5,000 tokens) is cut, unless the caller says else."""

ENDED = "the run ended before it was this request's turn."


@dataclass(frozen=True)
class Run:
    """What came of a run, however it ended.

    answer: the model's answer; None = there is none (never made up).
    stopped: why it ended; equal to its text, such as "step limit".
    steps: model calls made. history: every entry, in order; each request is followed by its results.
    usage: tokens read and written. coins: entries read, summed over the calls.
    tool_runs: tools that really ran. errors: results that are errors (an unknown tool and refused
    arguments count here, not as runs), and replies of the wrong shape.
    trace: the events. closing: the answer came from a closing call after the run had been stopped.
    """

    answer: str | None
    stopped: StopReason
    steps: int
    history: list[Entry]
    usage: Usage
    tool_runs: int
    errors: int
    coins: int
    trace: Trace
    closing: bool = False

    def __repr__(self) -> str:
        return (
            f"Run(answer={self.answer!r}, stopped={str(self.stopped)!r}, steps={self.steps}, "
            f"tool_runs={self.tool_runs}, errors={self.errors}, entries={len(self.history)})"
        )


class RunState:
    """Everything that changes while a run goes on. The loop tells it what happens; it keeps count.

    Arguments as in `agentlib.run_agent`. Raises TypeError or ValueError at once for what a programmer
    got wrong, before any model call.
    """

    def __init__(
        self,
        model: ModelFunction,
        tools: object,
        goal: str,
        max_steps: int = 10,
        *,
        stops: object = (),
        approve: Approve | None = None,
        memory: Memory | None = None,
        max_result_chars: int | None = MAX_RESULT_CHARS,
        closing_call: bool = False,
        on_event: OnEvent | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        whole_number("max_steps", max_steps)
        if max_result_chars is not None:
            whole_number("max_result_chars", max_result_chars, least=LEAST_CHARS)
        if not isinstance(goal, str):
            raise TypeError(f"goal is text, but was {describe(goal)}.")
        _check_function("model", model)
        _check_function("clock", clock)
        for name, function in (("approve", approve), ("memory", memory), ("on_event", on_event)):
            if function is not None:
                _check_function(name, function)
        self.model = model
        self.tools = read_tools(tools)
        self.goal = goal
        self.approve = approve
        self.memory = memory
        self.max_result_chars = sys.maxsize if max_result_chars is None else max_result_chars
        self.closing_call = closing_call
        self.on_event = on_event
        self.about = {
            "made_by": "run_agent", "goal": goal, "max_steps": max_steps, "tools": list(self.tools),
            "repeatable": [name for name, tool in self.tools.items() if tool.repeatable],
            "max_result_chars": max_result_chars,
        }  # fmt: skip

        rules = sorted([StepLimit(max_steps), *read_stops(stops)], key=lambda rule: rule.order)
        self.call_rules = _that_look(rules, "before_call")
        self.request_rules = _that_look(rules, "on_request")
        self.tool_rules = _that_look(rules, "before_tool")
        self.result_rules = _that_look(rules, "on_result")
        self.deadline = min((rule.seconds for rule in rules if isinstance(rule, Deadline)), default=None)

        self.history = History()
        self.progress = Progress(goal, self.history, clock, clock())
        self.events: list[Event] = []
        self.read: list[Entry] | None = None
        self.reply: ReadReply | None = None
        self.running: ReadCall | None = None
        self.blanks = 0
        self.estimated = False
        self.answer: str | None = None
        self.stopped = StopReason("")
        self.closing = False
        self.ending = False
        self.said_late = ""
        self.worker = Worker()

    # -- what happens, as events

    def happened(self, event: Event) -> Event:
        """Keep an event and show it to the one who watches."""
        self.events.append(event)
        if self.on_event is not None:
            try:
                self.on_event(event)
            except BaseException as problem:
                self.on_event = None  # one that raises is not asked again: the run has to end in order
                if not self.ending:
                    raise
                self.said_late = f"on_event raised at the very end: {words_of(problem)}"
        return event

    def begin(self) -> Event:
        """Put the goal into the history."""
        entry = user(self.goal)
        self.history.add(entry, tokens_for(len(self.goal)))
        return self.happened(Event("start", 0, entry))

    def note(self, text: str) -> Event:
        """Add a note for the model to read."""
        entry = user(text)
        self.history.add(entry, tokens_for(len(text)))
        return self.happened(Event("note", self.progress.steps, entry))

    # -- before the call

    def limit_reached(self, closing_note: str = "") -> StopReason | None:
        """Look at every limit; a reason means that the next call must not be made.

        closing_note: the note that will come before a closing call, whose reading costs too; if it is
        given, only the limits that hold for a closing call are looked at.
        """
        self.prepare_call()
        if closing_note:
            self.progress.next_entries += 1
            self.progress.next_tokens += tokens_for(len(closing_note))
        for rule in self.call_rules:
            if closing_note and rule.allows_closing:
                continue
            reason = rule.before_call(self.progress)
            if reason is not None:
                return read_reason(reason)
        return None

    def prepare_call(self) -> None:
        """Find out what the next call would read."""
        progress = self.progress
        if self.memory is None:
            progress.next_entries = len(self.history.entries)
            progress.next_tokens = self.history.tokens
        else:
            self.read = _read_memory(self.memory, self.history.view())
            progress.next_entries = len(self.read)
            progress.next_tokens = _tokens_in(self.read)

    # -- 1. ask

    def asking(self) -> Event:
        """Count the call that is about to be made, and what it reads."""
        progress = self.progress
        progress.steps += 1
        progress.coins += progress.next_entries
        read = None
        if self.read is not None and self.read != self.history.entries:
            read = self.read  # what memory= made of the history
        entries, tokens = progress.next_entries, progress.next_tokens
        text = "closing" if self.closing else ""
        return self.happened(Event("ask", progress.steps, None, entries, tokens, "", text, False, 0, read))

    def view(self) -> list[Entry]:
        """Give what the model reads: a list that it may change without harm to the record."""
        return self.history.view() if self.read is None else copy.deepcopy(self.read)

    def record_reply(self, reply: ReadReply) -> Event:
        """Put the model's reply into the history, and count its tokens."""
        progress, entry = self.progress, reply.entry
        tokens = tokens_for(reply.chars)
        if self.closing:
            entry["closing"] = True
        self.reply = reply
        self.history.add(entry, tokens)
        if reply.usage is None:
            read, written = progress.next_tokens, tokens
            self.estimated = True
        else:
            read, written = reply.usage
        progress.input_tokens += read
        progress.output_tokens += written
        self.blanks = self.blanks + 1 if reply.kind == "empty" else 0
        if reply.kind == "invalid":
            progress.errors += 1
        return self.happened(Event("reply", progress.steps, entry, 0, read, "", reply.problem))

    # -- 2. check

    def verdict_on(self, calls: Sequence[ReadCall]) -> Verdict | None:
        """Ask the rules about requests; a verdict means that none of these requests is run."""
        for rule in self.request_rules:
            verdict = rule.on_request(calls)
            if verdict is not None:
                return verdict
        return None

    def forbidden_before(self) -> StopReason | None:
        """Look at a cancel and at the deadline before a tool runs."""
        for rule in self.tool_rules:
            reason = rule.before_tool(self.progress)
            if reason is not None:
                return read_reason(reason)
        return None

    # -- 3. act

    def acting(self, call: ReadCall) -> Event:
        """Say which tool is about to run."""
        return self.happened(Event("act", self.progress.steps, None, 0, 0, call.id, call.tool))

    def run(self, call: ReadCall) -> ToolOutcome:
        """Run one request and cut what comes of it if it is too long."""
        return _shortened(self._outcome(call), self.max_result_chars)

    def _outcome(self, call: ReadCall) -> ToolOutcome:
        """Ask a person first if the tool is risky, keep to the time limits."""
        tool = self.tools.get(call.tool)
        if call.problem and tool is not None:
            return failure("invalid_input", f"The request cannot be run: {call.problem}.", ran=False)
        if tool is not None and tool.risky:
            refusal = _ask_person(self.approve, call)
            if refusal:
                return failure("not_approved", refusal, ran=False, failed=False)
            if self.forbidden_before() is not None:  # the person may have taken long to say yes
                return failure("not_run", f"Not run: {ENDED}", ran=False, failed=False)
        self.running = call
        wait = tool.timeout_seconds if tool else None
        if self.deadline is not None:
            left = max(0.0, self.deadline - self.progress.seconds)
            wait = left if wait is None else min(wait, left)
        return run_tool(self.tools, call.tool, call.input_text, worker=self.worker, wait_seconds=wait)

    # -- 4. record

    def record_result(self, call: ReadCall, outcome: ToolOutcome, rules: bool = True) -> Event:
        """Put a result into the history, right behind its request, and let the rules see it.

        rules: False for a result that the loop made up itself; it says nothing about the tool.
        """
        progress = self.progress
        self.running = None
        if outcome.ran:
            progress.tool_runs += 1
            progress.tools_ran[call.tool] += 1
        if outcome.failed:
            progress.errors += 1
        entry = {"role": "tool", "id": call.id, "tool": call.tool, "result": outcome.result}
        self.history.add(entry, tokens_for(len(outcome.text)))
        text = "fatal" if outcome.fatal else "" if outcome.ran or outcome.failed else "not run"
        event = self.happened(Event("result", progress.steps, entry, 0, 0, "", text, outcome.ran))
        if rules and self.result_rules:  # last: one that raises must find the result recorded
            tool = self.tools.get(call.tool)
            for rule in self.result_rules:
                rule.on_result(call, outcome.text, tool is not None and tool.repeatable)
        return event

    def unanswered(self) -> Sequence[ReadCall]:
        """List the requests of the last reply that have no result in the history yet."""
        entries = self.history.entries
        results = 0
        while entries and entries[-1 - results]["role"] == "tool":
            results += 1
        if self.reply is None or not entries or entries[-1 - results] is not self.reply.entry:
            return ()
        return self.reply.calls[results:]

    def record_not_run(self, why: str = ENDED, repeated: frozenset[str] = frozenset()) -> Iterable[Event]:
        """Give every request that is still unanswered a result which says that it did not run."""
        for call in self.unanswered():
            if call is self.running:
                words, ran = "It was begun and not finished; what it has done so far is not known.", True
            elif call.key in repeated:
                words, ran = "Not run again: the same request gave the same result each time before.", False
            else:
                words, ran = f"Not run: {why}", False
            outcome = failure("not_finished" if ran else "not_run", words, ran=ran, failed=ran)
            yield self.record_result(call, _shortened(outcome, self.max_result_chars), rules=False)

    # -- the end

    def leave(self) -> None:
        """Leave everything in order, also if the one who asks for the events has walked away."""
        self.ending = True
        for _ in self.record_not_run():
            pass
        self.worker.close()

    def finish(self, reason: StopReason) -> Event:
        """Say why the run ended; once said, it stands."""
        if self.events and self.events[-1].kind == "stop":
            return self.events[-1]
        self.stopped = reason
        said: Entry = {"answer": self.answer, "detail": reason.detail}
        event = self.happened(Event("stop", self.progress.steps, said, text=str(reason)))
        if self.said_late:
            said["detail"] = cut("; ".join(filter(None, (reason.detail, self.said_late))))
        self.stopped = StopReason(reason, said["detail"])
        return event

    def result(self) -> Run:
        """Put the finished run together."""
        progress = self.progress
        return Run(
            answer=self.answer,
            stopped=self.stopped,
            steps=progress.steps,
            history=self.history.entries,
            usage=Usage(progress.input_tokens, progress.output_tokens, self.estimated),
            tool_runs=progress.tool_runs,
            errors=progress.errors,
            coins=progress.coins,
            trace=Trace(tuple(self.events), self.about),
            closing=self.closing and self.answer is not None,
        )


def _shortened(outcome: ToolOutcome, max_chars: int) -> ToolOutcome:
    """Cut a result that is too long; rules see what the model sees, so that a replay goes the same way."""
    if len(outcome.text) <= max_chars:
        return outcome
    result = trim(outcome.result, max_chars)
    return outcome._replace(result=result, text=json_text(result))


def _check_function(name: str, function: object) -> None:
    if not callable(function):
        raise TypeError(f"{name} is a function, but was {describe(function)}.")
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
        raise TypeError(f"{name} is a plain function, but {describe(function)} is written with `async def`.")


def _that_look(rules: Sequence[StopRule], moment: str) -> list[StopRule]:
    """Pick the rules that look at this moment; the others need not be asked at every step."""
    return [rule for rule in rules if getattr(type(rule), moment) is not getattr(StopRule, moment)]


def _read_memory(memory: Memory, view: list[Entry]) -> list[Entry]:
    """Give a fresh copy of what memory makes of the history: the model must not write into memory's own."""
    given = memory(view)
    read: list[Entry]
    read, _, notes = json_ready(given, more_depth=5)
    if not isinstance(given, list) or not all(isinstance(entry, dict) for entry in read):
        raise TypeError(f"memory gives a list of history entries, but gave {describe(given)}.")
    if notes:
        raise TypeError(f"memory gives entries that are ready for JSON, but {'; '.join(notes)}.")
    return read


def _tokens_in(read: list[Entry]) -> int:
    try:
        return sum(entry_tokens(entry) for entry in read)
    except Exception as problem:
        raise TypeError(f"memory gives entries that cannot be read: {words_of(problem)}.") from problem


def _ask_person(approve: Approve | None, call: ReadCall) -> str:
    """Ask whether a risky tool may run; "" = yes. Only True is a yes, and no answer is a no."""
    if approve is None:
        return f"{call.tool} needs a person's yes, and nobody can be asked in this run. It was not run."
    try:
        yes = approve(call.public())
    except KeyboardInterrupt:
        raise
    except BaseException as problem:
        why = words_of(problem)
        return f"{call.tool} needs a person's yes, and asking for it failed: {why}. It was not run."
    return (
        "" if yes is True else f"A person was asked whether {call.tool} may run and said no. It was not run."
    )
