"""The result of a run, and the bookkeeping behind the loop: counts, events, every request answered."""

import copy
import functools
import inspect
import itertools
import pickle
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentlib._approval import LATER, Approve, refusal_of
from agentlib._at_once import Job, SideBySide
from agentlib._history import History
from agentlib._json import whole_number
from agentlib.costs import Usage, entry_tokens, text_tokens, tokens_for
from agentlib.memory import MIN_CHARS, trim
from agentlib.messages import (
    MAX_ERROR_CHARS,
    SHAPES,
    Entry,
    ModelFunction,
    ModelRequest,
    ReadCall,
    ReadReply,
    ReplyUsage,
    describe,
    json_ready,
    json_text,
    read_reply,
    read_usage,
    short,
    user,
)
from agentlib.stops import (
    CANCELLED,
    EMPTY_REPLY,
    FATAL_ERROR,
    MODEL_ERROR,
    WAITING,
    Deadline,
    Progress,
    StepLimit,
    StopReason,
    StopRule,
    read_reason,
    read_stops,
)
from agentlib.tools import STILL_RUNNING, Tool, ToolOutcome, Worker, failure, read_tools, run_tool, words_of
from agentlib.trace import CLOSING_FAILED, WAITS, Event, Trace

__all__ = ["Clock", "Memory", "OnEvent", "Run", "RunState", "Stop"]

Memory = Callable[[list[Entry]], list[Entry]]


OnEvent = Callable[[Event], None]
"""Sees each event. One that has `begin_trace(about, events)` is told before what is known of the run."""
Clock = Callable[[], float]

MAX_RESULT_CHARS = 20_000
"""A longer tool result is cut to so many characters (about 5,000 tokens) unless the caller says otherwise."""

CLOSING_NOTE = "No more tools can be used. Answer now from what you know, and say what is missing."

ENDED = "the run ended before it was this request's turn."


@dataclass(frozen=True)
class Run:
    """What came of a run, however it ended.

    answer: the model's answer; None = there is none (never made up).
    stopped: why it ended; equal to its text, such as "step limit". "waiting": see `agentlib.resume`.
    steps: model calls made.
    usage: tokens read and written. coins: entries read, summed over the calls.
    tool_runs: tools that really ran. errors: results that are errors (an unknown tool and refused
    arguments count here, not as runs), and replies of the wrong shape.
    trace: the events. closing: the answer came from a closing call after the run had been stopped.
    history: every entry, in order; each request is followed by its results. It shares nothing with the trace.
    """

    answer: str | None
    stopped: StopReason
    steps: int
    usage: Usage
    tool_runs: int
    errors: int
    coins: int
    trace: Trace
    closing: bool = False

    history: list[Entry] = field(init=False, compare=False)
    _entries: bytes = field(default=pickle.dumps([]), compare=False)

    def __getattr__(self, name: str) -> Any:
        """Give the history, when it is first asked for: until then its bytes take far less room."""
        if name != "history":
            raise AttributeError(f"A Run has no {name!r}.")
        vars(self)["history"] = pickle.loads(self._entries)
        return self.history

    def __repr__(self) -> str:
        return (
            f"Run(answer={self.answer!r}, stopped={str(self.stopped)!r}, steps={self.steps}, "
            f"tool_runs={self.tool_runs}, errors={self.errors}, entries={len(self.history)})"
        )


class Stop(Exception):
    """Raised inside the loop to end it. reason: why. allows_closing: as in `StopRule`."""

    def __init__(self, reason: StopReason, allows_closing: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.allows_closing = allows_closing


class RunState:
    """What the loop does, move by move, with everything that is counted and written down on the way.

    As a context manager it makes whatever is raised the reason to stop, and gives every request a result.
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
        on_event: OnEvent | None = None,
        clock: Clock = time.monotonic,
        at_once: int = 1,
    ) -> None:
        whole_number("max_steps", max_steps)
        whole_number("at_once", at_once)
        if max_result_chars is not None:
            whole_number("max_result_chars", max_result_chars, minimum=MIN_CHARS)
        if not isinstance(goal, str):
            raise TypeError(f"goal is text, but was {describe(goal)}.")
        _check_function("model", model)
        _check_function("clock", clock)
        for name, function in (("approve", approve), ("memory", memory), ("on_event", on_event)):
            if function is not None:
                _check_function(name, function)
        self.model = model
        self.ask_model = getattr(model, "call", None)  # of a model that wants to know more than the history
        self.tools = read_tools(tools)
        self.goal = goal
        self.approve = approve
        self.memory = memory
        self.max_result_chars = sys.maxsize if max_result_chars is None else max_result_chars
        self.on_event = on_event
        self.about = {
            "made_by": "run_agent", "goal": goal, "max_steps": max_steps, "tools": list(self.tools),
            "offered": {
                name: {"description": tool.description, "schema": tool.schema}
                for name, tool in self.tools.items()
            },
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
        # Called several times a step: where nobody watches, that is the list itself.
        self.happened: OnEvent = self.events.append if on_event is None else self._shown
        self.read: list[Entry] | None = None  # what memory= makes of the history
        self.reply: ReadReply | None = None
        self.replies = 0
        self.running: ReadCall | None = None
        self.waiting: list[str] = []  # the tools whose requests wait for a person
        self.empty_replies = 0  # in a row
        self.failed_usage: ReplyUsage | None = None  # what a provider counts for a call that gave no reply
        self.answer: str | None = None
        self.reason = self.stopped = StopReason("")  # why it ends, and what was said of it at the end
        self.may_close = False  # what stopped the run leaves room for one more call
        self.closing = False
        self.ending = False
        self.said_late = ""
        self.worker = Worker()
        self.together = SideBySide(at_once) if at_once > 1 else None
        if self.together is not None:
            self.about["at_once"] = int(at_once)
            self.about["parallel"] = [name for name, tool in self.tools.items() if tool.parallel]

    def __enter__(self) -> "RunState":
        return self

    def begin(self) -> None:
        """Put the goal into the history."""
        entry = user(self.goal)
        self.history.add(entry, text_tokens(self.goal))
        self.happened(Event("start", 0, entry))

    def check_limits(self) -> None:
        """Look at every limit. Raises Stop if the next call must not be made, or if a request waits."""
        if self.waiting:
            raise Stop(StopReason(WAITING, f"a person has to decide on: {', '.join(self.waiting)}"))
        self._prepare_call()  # with memory, what it leaves to read
        self._look_at(self.call_rules)

    # -- 1. ask

    def ask(self) -> ReadReply:
        """Ask the model, and read its reply. Raises Stop if the model fails."""
        progress = self.progress
        progress.steps += 1
        progress.coins += progress.next_entries
        read = None if self.read == self.history.entries else self.read
        entries, tokens = progress.next_entries, progress.next_estimate
        self.happened(
            Event(
                "ask", progress.steps, entries=entries, tokens=tokens, read=read,
                text="closing" if self.closing else "", seconds=progress.last_seconds,
            )
        )  # fmt: skip
        try:
            # A list that the model may change without harm to the record.
            history = self.history.view() if self.read is None else copy.deepcopy(self.read)
            raw = self.model(history) if self.ask_model is None else self.ask_model(history, self._request())
        except (KeyboardInterrupt, Stop):
            raise
        except BaseException as problem:  # whatever a provider's client raises, the work so far is kept
            words = words_of(problem)
            self.failed_usage = self._count_failed(getattr(problem, "usage", None))
            if self.closing:
                self.note(CLOSING_FAILED + words)
            raise Stop(StopReason(MODEL_ERROR, words)) from problem
        return read_reply(raw, progress.steps)

    def _request(self) -> ModelRequest:
        left = None if self.deadline is None else max(0.0, self.deadline - self.progress.look_at_clock())
        return ModelRequest(not self.closing, left, self._noted, self.replies)

    def _noted(self, event: Event) -> None:
        """Keep what a model tells while it is asked. Raises Stop if there must be no further attempt."""
        event = event._replace(step=self.progress.steps, seconds=self.progress.look_at_clock())
        self.happened(event)
        if event.kind == "attempt":
            self._count_failed((event.entry or {}).get("usage"))
            self._look_at([rule for rule in self.call_rules if rule.bounds_attempts])

    def record_reply(self, reply: ReadReply) -> None:
        """Put the model's reply into the history, and count its tokens; a note says why it cannot be read."""
        progress, entry = self.progress, reply.entry
        now = progress.look_at_clock()
        tokens = tokens_for(reply.size)
        if self.closing:
            entry["closing"] = True
        self.reply = reply
        self.replies += 1
        self.history.add(entry, tokens)
        if reply.usage is None:
            read = progress.next_estimate
            progress.input_tokens += read
            progress.output_tokens += tokens
            progress.estimated = True
        else:
            progress.last_usage = Usage(**reply.usage)
            progress.last_estimate = progress.next_estimate
            read = progress.last_usage.input_tokens
            self._count(progress.last_usage)
        self.empty_replies = self.empty_replies + 1 if reply.kind == "empty" else 0
        if reply.kind == "invalid":
            progress.errors += 1
        self.happened(Event("reply", progress.steps, entry, tokens=read, text=reply.problem, seconds=now))
        if reply.kind == "answer":
            self.answer = entry["text"]
        elif reply.kind == "invalid":
            self.note(f"Your reply could not be read. {reply.problem} {SHAPES}")

    def _count(self, usage: Usage) -> None:
        progress = self.progress
        progress.input_tokens += usage.input_tokens
        progress.output_tokens += usage.output_tokens
        progress.cached_tokens += usage.cached_tokens
        progress.cache_write_tokens += usage.cache_write_tokens

    def _count_failed(self, given: object) -> ReplyUsage | None:
        """Count what a provider says of a call that gave no reply; None = it says nothing."""
        usage = read_usage(given)
        if usage is not None:
            self._count(Usage(**usage))
        return usage

    # -- 2. check

    def allowed(self, reply: ReadReply) -> Sequence[ReadCall]:
        """List the requests of a reply that may run: all or none. Raises Stop if the run must end."""
        if reply.kind == "empty":
            if self.empty_replies == 2:
                raise Stop(StopReason(EMPTY_REPLY, "two replies in a row had neither text nor a request"))
            self.note("Your reply was empty. Ask for a tool, or answer in words.")
        elif reply.calls:
            for rule in self.request_rules:
                verdict = rule.on_request(reply.calls)
                if verdict is not None:
                    why = "another request in the same reply was a repeat. Ask again without it."
                    self._record_not_run(why, verdict.repeated)
                    if verdict.stop is not None:
                        raise Stop(read_reason(verdict.stop), rule.allows_closing)
                    if verdict.note:
                        self.note(verdict.note)
                    return ()
        return reply.calls

    # -- 3. act

    def act(self, call: ReadCall) -> ToolOutcome:
        """Run one request, and cut a result that is too long. Raises Stop if there is no time left."""
        if self.together is not None and self._is_parallel(call):
            return self._act_together(call, self.together)
        if self.tool_rules:
            self._look_before_tool()
        tool = self.tools.get(call.tool)
        # Before the event: what stands in the trace as begun had its yes, and may have done something.
        refusal = self._refusal(call, tool) if tool is not None and (tool.risky or call.problem) else None
        step, now = self.progress.steps, self.progress.last_seconds
        yes = refusal is None and tool is not None and tool.risky
        self.happened(Event("act", step, id=call.id, text=call.tool, seconds=now, approved=yes))
        outcome = self._outcome(call, tool) if refusal is None else refusal
        return _shortened(outcome, self.max_result_chars)

    def _is_parallel(self, call: ReadCall) -> bool:
        """True for a request that may run side by side with others."""
        tool = self.tools.get(call.tool)
        return tool is not None and tool.parallel

    def _act_together(self, call: ReadCall, together: SideBySide) -> ToolOutcome:
        """Give what came of a request; at the first one of several in a row, run them all."""
        if call.id not in together.outcomes:
            group = list(itertools.takewhile(self._is_parallel, self._unanswered()))
            now = self.progress.look_at_clock
            together.run(self._jobs(group, together.in_turn), self._look_before_tool, now)
        return _shortened(together.outcomes.pop(call.id), self.max_result_chars)

    def _jobs(self, group: Sequence[ReadCall], in_turn: bool) -> Iterator[tuple[str, Job]]:
        """Ask about all that are risky, then let one after another begin."""
        tools = [self.tools[call.tool] for call in group]
        if any(tool.risky for tool in tools):
            self._look_before_tool()  # nobody is asked for nothing
        refusals = [
            self._refusal(call, tool) if tool.risky or call.problem else None
            for call, tool in zip(group, tools, strict=True)
        ]
        for call, tool, refusal in zip(group, tools, refusals, strict=True):
            self._look_before_tool()
            now = self.progress.look_at_clock()
            yes = refusal is None and tool.risky
            step = self.progress.steps
            self.happened(Event("act", step, id=call.id, text=call.tool, seconds=now, approved=yes))
            # In a thread the run's own deadline is looked at by the one that waits.
            wait = self._wait_seconds(tool) if in_turn else tool.timeout_seconds
            yield call.id, functools.partial(self._outcome_apart, call, refusal, wait)

    def _outcome_apart(
        self, call: ReadCall, refusal: ToolOutcome | None, wait_seconds: float | None
    ) -> ToolOutcome:
        """Run a tool with nothing that another thread uses too."""
        if refusal is not None:
            return refusal
        worker = Worker()
        try:
            return run_tool(self.tools, call.tool, call.input_text, worker=worker, wait_seconds=wait_seconds)
        finally:
            worker.close()

    def _refusal(self, call: ReadCall, tool: Tool) -> ToolOutcome | None:
        """Say why a request is not run; ask a person if the tool is risky. None = it may run."""
        if call.problem:
            return failure("invalid_input", f"The request cannot be run: {call.problem}.", ran=False)
        said = refusal_of(self.approve, call)
        self.progress.look_at_clock()  # the person may have taken long
        if said is LATER:
            words = f"{call.tool} waits for a person's yes. It was not run yet; its result will stand here."
            return failure(WAITS, words, ran=False, failed=False)
        if said:
            return failure("not_approved", said, ran=False, failed=False)
        if self._forbidden() is not None:
            return failure("not_run", f"Not run: {ENDED}", ran=False, failed=False)
        return None

    def _outcome(self, call: ReadCall, tool: Tool | None) -> ToolOutcome:
        """Run the tool, and keep to the time limits."""
        self.running = call
        wait = self._wait_seconds(tool)
        return run_tool(self.tools, call.tool, call.input_text, worker=self.worker, wait_seconds=wait)

    def _wait_seconds(self, tool: Tool | None) -> float | None:
        """Say how long a tool is waited for; None = as long as it takes."""
        wait = tool.timeout_seconds if tool else None
        if self.deadline is None:
            return wait
        left = max(0.0, self.deadline - self.progress.seconds)
        return left if wait is None else min(wait, left)

    def _look_before_tool(self) -> None:
        """Raise Stop if no tool may run any more."""
        stop = self._forbidden()
        if stop is not None:
            raise stop

    def _forbidden(self) -> Stop | None:
        """Look at a cancel and at the deadline before a tool runs."""
        for rule in self.tool_rules:
            reason = rule.before_tool(self.progress)
            if reason is not None:
                return Stop(read_reason(reason), rule.allows_closing)
        return None

    # -- 4. record

    def record_result(self, call: ReadCall, outcome: ToolOutcome) -> None:
        """Put a result into the history, then let the rules see it. Raises Stop if no model can mend it."""
        self._record(call, outcome)
        if self.result_rules:
            tool = self.tools.get(call.tool)
            for rule in self.result_rules:
                rule.on_result(call, outcome.text, tool is not None and tool.repeatable)
        if outcome.fatal:
            raise Stop(StopReason(FATAL_ERROR, outcome.result["message"]))

    def _record(self, call: ReadCall, outcome: ToolOutcome) -> None:
        progress = self.progress
        self.running = None
        if outcome.ran:
            progress.tool_runs += 1
            progress.tools_ran[call.tool] += 1
            if outcome.failed:
                progress.tools_failed[call.tool] += 1
        elif not outcome.failed and outcome.result["error"] == WAITS:
            self.waiting.append(call.tool)
        if outcome.failed:
            progress.errors += 1
        entry = {"role": "tool", "id": call.id, "tool": call.tool, "result": outcome.result}
        self.history.add(entry, text_tokens(outcome.text))
        text = "fatal" if outcome.fatal else "" if outcome.ran or outcome.failed else "not run"
        ended = None if self.together is None else self.together.ended.pop(call.id, None)
        now = progress.look_at_clock() if ended is None else ended
        self.happened(Event("result", progress.steps, entry, text=text, ran=outcome.ran, seconds=now))

    # -- the end

    def __exit__(self, kind: object, problem: BaseException | None, traceback: object) -> bool:
        """Make what was raised the reason to stop, and give every request that is still open a result."""
        has_failed = False
        while True:
            try:
                stopped = isinstance(problem, Stop)
                if problem is not None and not (stopped and self.closing):  # a closing call changes no reason
                    self.reason = _reason_for(problem)
                    self.may_close = isinstance(problem, Stop) and problem.allows_closing
                self.ending = self.closing or not stopped
                self._record_not_run()
                return True
            except KeyboardInterrupt as interrupt:
                problem = interrupt
            except BaseException as another:  # of a watcher, which is not asked again
                if has_failed:  # memory that is full, say: nobody could make an end in order
                    raise
                has_failed, problem = True, another

    def begin_closing(self) -> None:
        """Tell the model that its next reply is the last. Raises Stop if that call would break a limit."""
        self.closing = True
        self._prepare_call(CLOSING_NOTE)
        self._look_at([rule for rule in self.call_rules if not rule.allows_closing])
        self.note(CLOSING_NOTE)
        self._prepare_call()

    def result(self) -> Run:
        """Say why the run ended, and put it together."""
        while True:
            try:
                self._finish()
                self.worker.close()
                return self._put_together()
            except KeyboardInterrupt as interrupt:  # it may come in these very last lines too
                if not self.__exit__(KeyboardInterrupt, interrupt, None):
                    raise

    def _put_together(self) -> Run:
        progress = self.progress
        return Run(
            answer=self.answer,
            stopped=self.stopped,
            steps=progress.steps,
            usage=progress.usage,
            tool_runs=progress.tool_runs,
            errors=progress.errors,
            coins=progress.coins,
            trace=Trace(tuple(self.events), self.about),
            closing=self.closing and self.answer is not None,
            _entries=pickle.dumps(self.history.entries, pickle.HIGHEST_PROTOCOL),
        )

    def _finish(self) -> None:
        """Say why the run ended; once said, it stands."""
        self.ending = True
        if self.events and self.events[-1].kind == "stop":
            return
        self.stopped = reason = self.reason
        said: Entry = {"answer": self.answer, "detail": reason.detail}
        if self.failed_usage is not None:
            said["usage"] = self.failed_usage
        now = self.progress.look_at_clock()
        self.happened(Event("stop", self.progress.steps, said, text=str(reason), seconds=now))
        if self.said_late:
            detail = "; ".join(filter(None, (reason.detail, self.said_late)))
            said["detail"] = short(detail, MAX_ERROR_CHARS, say_length=True)
        self.stopped = StopReason(reason, said["detail"])

    # -- what the others have in common

    def note(self, text: str) -> None:
        """Add a note for the model to read."""
        entry = user(text)
        self.history.add(entry, text_tokens(text))
        self.happened(Event("note", self.progress.steps, entry, seconds=self.progress.last_seconds))

    def _shown(self, event: Event) -> None:
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

    def _prepare_call(self, note: str = "") -> None:
        """Find out what the next call would read. note: what will stand in the history before it."""
        progress = self.progress
        if self.memory is None:
            entries, tokens = len(self.history.entries), self.history.tokens
        else:
            self.read = _read_memory(self.memory, self.history.view())
            progress.look_at_clock()  # it may have asked a model
            entries = len(self.read)
            try:
                tokens = sum(map(entry_tokens, self.read))
            except Exception as problem:
                words = words_of(problem)
                raise TypeError(f"memory gives entries that cannot be read: {words}.") from problem
        if note:
            entries, tokens = entries + 1, tokens + text_tokens(note)
        progress.next_entries, progress.next_estimate = entries, tokens

    def _look_at(self, call_rules: Sequence[StopRule]) -> None:
        for rule in call_rules:
            reason = rule.before_call(self.progress)
            if reason is not None:
                raise Stop(read_reason(reason), rule.allows_closing)

    def _record_not_run(self, why: str = ENDED, repeated: frozenset[str] = frozenset()) -> None:
        """Give every request that is still unanswered a result which says that it did not run."""
        beside = self.together
        for call in self._unanswered():
            outcome = None if beside is None else beside.outcomes.pop(call.id, None)
            if outcome is not None:
                pass  # it has ended, before the others of its group
            elif call is self.running or (beside is not None and call.id in beside.running):
                words = "It was begun and not finished; what it has done so far is not known."
                words += "" if call is self.running else f" {STILL_RUNNING}"
                outcome = failure("not_finished", words, ran=True)
            else:
                words = f"Not run: {why}"
                if call.key in repeated:
                    words = "Not run again: the same request gave the same result each time before."
                outcome = failure("not_run", words, ran=False, failed=False)
            self._record(call, _shortened(outcome, self.max_result_chars))

    def _unanswered(self) -> Sequence[ReadCall]:
        """List the requests of the last reply that have no result in the history yet."""
        entries = self.history.entries
        results = 0
        while entries and entries[-1 - results]["role"] == "tool":
            results += 1
        if self.reply is None or not entries or entries[-1 - results] is not self.reply.entry:
            return ()
        return self.reply.calls[results:]


def _reason_for(problem: BaseException) -> StopReason:
    if isinstance(problem, Stop):
        return problem.reason
    if isinstance(problem, KeyboardInterrupt):
        return StopReason(CANCELLED, "the program was interrupted")
    return StopReason(FATAL_ERROR, words_of(problem))  # a rule, memory or on_event raised


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
