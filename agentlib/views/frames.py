"""A trace as frames: a picture for each thing that a loop did, with a caption in plain words.

The frames of a watched loop follow its lines. A run of `run_agent` has one frame for each event.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

from agentlib.messages import Entry, call_key, calls_in, short
from agentlib.trace import Event, Trace
from agentlib.views.describe import (
    call_words,
    code,
    counted,
    entry_error,
    entry_words,
    joined,
    of_reason,
    one_line,
    quoted,
    role_of,
    sentence,
    value_words,
)
from agentlib.watch.source import Source

__all__ = ["Frame", "Frames", "HistoryAt", "Version", "frames", "request_key", "source_of", "tokens_per_call"]


@dataclass(frozen=True)
class Version:
    """What stood at one place of the history from one frame on, until the next version.

    frame: the number of that frame, from 1. repeat: it requests what an earlier reply had requested.
    """

    frame: int
    entry: Any
    repeat: bool


class HistoryAt(Sequence[Any]):
    """The history as it stood at one frame. It holds no copy: it looks each entry up when it is asked for.

    versions: for each place in the history all that ever stood there; shared by all frames of a trace.
    """

    def __init__(self, versions: list[list[Version]], frame: int, length: int) -> None:
        self.versions = versions
        self.frame = frame
        self._length = length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self.version(place).entry for place in range(*index.indices(self._length))]
        return self.version(range(self._length)[index]).entry

    def version(self, place: int) -> Version:
        """Give the version of the entry at `place` (from 0) that stood there at this frame."""
        stood = self.versions[place]
        return stood[bisect_right(stood, self.frame, key=lambda version: version.frame) - 1]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"HistoryAt(frame {self.frame}, {counted(self._length, 'entry', 'entries')})"


@dataclass(frozen=True)
class Frame:
    """One moment of a run.

    number: from 1. line: the line that is run, counted as in its file or cell; None = there are no lines.
    move: "ask", "check", "act", "record", or "" between the moves.
    step: model calls so far. max_steps: the most there may be; None = not known.
    tokens_read: tokens read by the model so far, summed over its calls.
    caption: what happens, in words; values stand between backticks.
    history: as it stands after this moment. new: places (from 0) of entries that are new or changed.
    repeats: places of requests that an earlier reply had made already.
    stopped: why the run ended; None before the end. error: what the loop itself raised; "" = nothing.
    """

    number: int
    line: int | None
    move: str
    step: int
    max_steps: int | None
    tokens_read: int
    caption: str
    history: HistoryAt
    new: tuple[int, ...] = ()
    repeats: tuple[int, ...] = ()
    stopped: str | None = None
    error: str = ""

    @property
    def entries(self) -> int:
        """Entries in the history."""
        return len(self.history)


Frames = list[Frame]


def frames(trace: Trace) -> Frames:
    """Turn a trace into frames, in order; the last one says why the run ended."""
    return (_WatchedBuilder(trace) if trace.watched else _Builder(trace)).build()


def tokens_per_call(trace: Trace) -> list[int]:
    """List the tokens read by each model call, in order."""
    read: list[int] = []
    for event in trace.events:
        if event.kind == "ask":
            read.append(event.tokens)
        elif event.kind == "reply" and read and event.tokens:
            read[-1] = event.tokens  # a provider's own count replaces the estimate
    return read


def source_of(trace: Trace) -> Source:
    """Give the source of a watched loop; it has no lines if there is none."""
    return Source(str(trace.about.get("source") or ""), int(trace.about.get("first_line") or 1))


def request_key(call: Mapping[str, Any]) -> str:
    """Give the same text for the same tool and input, whatever the order of the input's keys."""
    return call_key(str(call.get("tool")), call.get("input"))


class _Builder:
    """Goes through the events of a trace once and keeps what the captions need to know."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.events = trace.events
        limit = trace.about.get("max_steps")
        self.max_steps = limit if isinstance(limit, int) and not isinstance(limit, bool) else None
        self.frames: Frames = []
        self.versions: list[list[Version]] = []
        self.length = 0
        self.repeats: tuple[int, ...] = ()
        self.step = 0
        self.last_read = 0  # tokens, by the last call
        self.read_total = 0
        self.requested: dict[str, int] = {}  # the step in which a request was first made
        self.again: set[str] = set()
        self.reply: Entry | None = None
        self.ran = False  # whether a tool has run since the last reply
        self.last_ask = max((event.step for event in self.events if event.kind == "ask"), default=0)

    def build(self) -> Frames:
        for number, event in enumerate(self.events):
            new = self.apply(event)
            move, caption = self.caption_of(number, event)
            stopped = event.text if event.kind == "stop" else None
            self.add(None, move, caption, new, stopped)
        return self.frames

    # -- the run so far

    def add(
        self, line: int | None, move: str, caption: str, new: tuple[int, ...] = (),
        stopped: str | None = None, error: str = "",
    ) -> None:  # fmt: skip
        number = len(self.frames) + 1
        history = HistoryAt(self.versions, number, self.length)
        self.frames.append(
            Frame(number, line, move, self.step, self.max_steps, self.read_total, caption, history,
                  tuple(place for place in new if place < self.length), self.repeats, stopped, error)
        )  # fmt: skip

    def apply(self, event: Event) -> tuple[int, ...]:
        """Bring the counts and the history up to date; give the places that are new or changed."""
        if event.kind == "ask":
            self.step += 1
            self.read_total += event.tokens
            self.last_read = event.tokens
        elif event.kind == "reply":
            if self.step and event.tokens:
                self.read_total += event.tokens - self.last_read
                self.last_read = event.tokens
            self.reply = event.entry
            self.ran = False
            for call in calls_in(event.entry):
                key = request_key(call)
                if key in self.requested:
                    self.again.add(key)
                self.requested.setdefault(key, event.step)
        elif event.kind == "act":
            self.ran = True
        if event.kind == "history":
            return self.set_history(event.entries, event.read or [])
        if (
            not self.trace.watched
            and event.kind in ("start", "reply", "result", "note")
            and event.entry is not None
        ):
            return self.set_history(self.length, [event.entry])
        return ()

    def set_history(self, kept: int, entries: Sequence[Any]) -> tuple[int, ...]:
        """Let the history be its first `kept` entries and then these."""
        frame = len(self.frames) + 1
        before = {
            request_key(call)
            for place in range(kept)
            for call in calls_in(self.versions[place][-1].entry)
        } if kept < self.length else None  # fmt: skip
        repeats = [place for place in self.repeats if place < kept]
        new = []
        for place, entry in enumerate(entries, start=kept):
            repeat = self.is_repeat(entry, before)
            version = Version(frame, entry, repeat)
            if place == len(self.versions):
                self.versions.append([version])
            elif self.versions[place][-1].frame == frame:
                self.versions[place][-1] = version
            else:
                self.versions[place].append(version)
            if repeat:
                repeats.append(place)
            new.append(place)
        self.length = kept + len(entries)
        if repeats != list(self.repeats):
            self.repeats = tuple(repeats)
        return tuple(new)

    def is_repeat(self, entry: Any, before: set[str] | None) -> bool:
        keys = [request_key(call) for call in calls_in(entry)]
        if before is None:  # the usual case: the history only grew
            return any(key in self.again for key in keys)
        repeat = any(key in before for key in keys)
        before.update(keys)
        return repeat

    # -- captions

    def caption_of(self, number: int, event: Event) -> tuple[str, str]:
        """Give the move and the caption for one event of `run_agent`."""
        kind = event.kind
        if kind == "start":
            return "", f"The run begins. Your goal becomes entry 1: {quoted(self.trace.goal)}."
        if kind == "ask":
            return "ask", self.asked(event)
        if kind == "reply":
            return "check", f"{self.replied(event)} It is now entry {self.length}."
        if kind == "act":
            return "act", f"{code(call_words(self.trace.request(number)))} runs."
        if kind == "result":
            return "record", self.recorded(number, event)
        if kind == "note":
            text = (event.entry or {}).get("text", "")
            return "record", f"The loop adds a note for the model: {quoted(text)}. {self.will_be_read()}"
        if kind == "stop":
            return "", self.ended(event)
        return "", f"{kind}: {event.text}".strip(": ")

    def asked(self, event: Event) -> str:
        what = counted(event.entries, "entry", "entries")
        if event.read is not None:
            what = f"{what} that were picked out of {self.length}"
        tokens = f", about {counted(event.tokens, 'token')}" if event.tokens else ""
        return f"{self.step_words(self.step)}: the model is asked. It reads {what}{tokens}."

    def step_words(self, step: int) -> str:
        if not self.max_steps:
            return f"Step {step}"
        if step > self.max_steps:
            return f"Step {step}, though at most {self.max_steps} were allowed"
        return f"Step {step} of at most {self.max_steps}"

    def replied(self, event: Event) -> str:
        return f"{reply_words(event.entry)}{self.same_as(event)}"

    def same_as(self, event: Event) -> str:
        """Say where the requests of this reply were made before; "" if they are new."""
        first = {
            self.requested[request_key(call)]
            for call in calls_in(event.entry)
            if self.requested[request_key(call)] < event.step
        }
        if not first:
            return ""
        return f" It asked the same in step {joined([str(step) for step in sorted(first)])}."

    def recorded(self, number: int, event: Event) -> str:
        call = code(call_words(self.trace.request(number)))
        result = (event.entry or {}).get("result")
        problem = entry_error(event.entry)
        if event.text == "fatal":
            caption = f"{call} failed: {sentence(problem or '')} No model can mend that."
        elif event.text == "not run":
            caption = f"{call} was not run: {sentence(problem or value_words(result))}"
        elif problem is not None and event.ran:
            caption = f"{call} raised. The loop turned it into a result: {sentence(problem)}"
        elif problem is not None:
            caption = f"{call} could not be run. The loop says so in a result: {sentence(problem)}"
        else:
            caption = f"{call} gave {code(short(value_words(result), 80))}."
        return f"{caption} It is now entry {self.length}. {self.will_be_read()}"

    def will_be_read(self) -> str:
        if self.step < self.last_ask:
            return f"The model will read it in step {self.step + 1}."
        return "No further call is made, so the model never reads it."

    def ended(self, event: Event) -> str:
        end = event.entry or {}
        answer, detail = end.get("answer"), end.get("detail")
        parts = [f"The run is over: {code(event.text or 'no reason given')}."]
        meaning = self.repeated() if event.text == "repeated call" else of_reason(event.text)
        if meaning:
            parts.append(meaning)
        if detail and str(detail).startswith("the loop returned {"):
            pass  # the reason and the answer say what it returned
        elif detail and event.text != "model error":
            parts.append(f"Exactly: {sentence(str(detail), 200)}")
        elif detail:
            parts.append(f"It raised: {sentence(str(detail), 200)}")
        parts.append("There is no answer." if answer is None else f"The answer: {sentence(answer, 200)}")
        return " ".join(parts)

    def repeated(self) -> str:
        """Say of a run that ended with `repeated call` what was seen, and no more."""
        if not any(self.requested[request_key(call)] < self.step for call in calls_in(self.reply)):
            return of_reason("repeated call")
        return f"The same request came again{'' if self.ran else ' and was not run'}."


def reply_words(reply: object) -> str:
    """Say what a reply asks for or answers, as a sentence."""
    if not isinstance(reply, Mapping):
        return f"The model gives {code(short(value_words(reply), 80))}, which is not a reply."
    calls = calls_in(reply)
    if calls:
        asked = joined([code(call_words(call)) for call in calls[:3]])
        more = f" and {len(calls) - 3} more" if len(calls) > 3 else ""
        return f"The model requests {asked}{more}."
    if reply.get("type") == "answer":
        return f"The model answers {quoted(reply.get('text'))}."
    if reply.get("type") == "empty":
        return "The model's reply is empty."
    if reply.get("type") == "invalid":
        return f"The model's reply cannot be read: {quoted(reply.get('text'))}."
    return f"The model gives {code(short(value_words(reply), 80))}."


class _WatchedBuilder(_Builder):
    """A watched loop: one frame for each line that was run, and what that line brought about."""

    def __init__(self, trace: Trace) -> None:
        super().__init__(trace)
        self.source = source_of(trace)
        self.line: int | None = None
        self.checked = True  # whether the last reply has been acted upon
        self.call: Entry = {}  # the request whose tool runs
        self.raised = ""  # the request whose tool raised and whose error is not yet recorded
        self.problem = ""
        self.ask_lines = self.lines_of("ask")

    def lines_of(self, kind: str) -> set[int]:
        line, found = 0, set()
        for event in self.events:
            if event.kind == "line":
                line = event.line
            elif event.kind == kind:
                found.add(line)
        return found

    def build(self) -> Frames:
        for start, end in self.groups():
            first = self.events[start]
            if first.kind == "stop":
                self.add(self.line, "", self.ended(first), (), first.text)
            elif first.kind == "crash":
                self.line = first.line or self.line
                self.add(self.line, "", self.crashed(first), error=first.text)
            else:
                self.build_line(start, end)
        return self.frames

    def groups(self) -> Iterator[tuple[int, int]]:
        """Group the events: a line and what it brings about; a second call on one line starts a new group."""
        start, seen = 0, set[str]()
        for number, event in enumerate(self.events):
            begins = event.kind in ("line", "crash", "stop") or self.events[start].kind in ("crash", "stop")
            if number > start and (begins or (event.kind in ("ask", "act") and event.kind in seen)):
                yield start, number
                start, seen = number, set()
            seen.add(event.kind)
        if self.events:
            yield start, len(self.events)

    def build_line(self, start: int, end: int) -> None:
        first = self.events[start]
        if first.kind == "line":
            same = self.line is not None and self.source.same_statement(self.line, first.line)
            self.line = first.line
            quiet = end == start + 1
            if quiet and same and self.frames and self.frames[-1].move in ("", "check"):
                return  # the next line of one long statement: nothing new to say
        move, captions, new = "", [], set[int]()
        for number in range(start, end):
            event = self.events[number]
            before = self.length
            new.update(self.apply(event))
            moved, words = self.watched_caption(number, event, before)
            move = moved if moved and move in ("", "record") else move
            if words:
                captions.append(words)
        if not captions and first.kind == "line":
            move, words = self.line_caption(self.events[end] if end < len(self.events) else None)
            captions.append(words)
        if captions:
            self.add(self.line, move, " ".join(captions), tuple(sorted(new)))

    def watched_caption(self, number: int, event: Event, before: int) -> tuple[str, str]:
        """Give the move and the words for one event of a watched loop; "" for what needs no words."""
        if event.kind == "start":
            self.line = self.source.first_line if self.source.lines else None
            of = f" and at most {counted(self.max_steps, 'step')}" if self.max_steps else ""
            return "", f"Your loop is called with the goal {quoted(self.trace.goal)}{of}."
        if event.kind == "ask":
            return "ask", self.asked(event)
        if event.kind == "reply" and event.text == "raised":
            return (
                "ask",
                f"The model itself raises an error: {sentence((event.entry or {}).get('message', ''))}",
            )
        if event.kind == "reply":
            self.checked = False
            return "ask", self.replied(event)
        if event.kind == "act":
            self.checked = True
            self.call = event.entry or self.trace.request(number)
            return "act", ""
        if event.kind == "result":
            return "act", self.tool_gave(event)
        if event.kind == "history":
            return self.history_changed(event, before)
        return "", ""

    def tool_gave(self, event: Event) -> str:
        call = code(call_words(self.call))
        result = (event.entry or {}).get("result")
        if event.text == "raised":
            self.raised = call
            self.problem = entry_error(event.entry) or value_words(result)
            return f"{call} raises an error: {sentence(self.problem)}"
        return f"{call} runs and gives {code(short(value_words(result), 80))}."

    def history_changed(self, event: Event, before: int) -> tuple[str, str]:
        added = event.read or []
        if event.entries < before:
            return "record", self.history_rewritten(event.entries, before, added)
        if not added:
            return "", ""
        if len(added) > 1:
            word = "and" if len(added) == 2 else "to"
            return "record", f"Entries {before + 1} {word} {self.length} are added to the history."
        entry, place = added[0], f"entry {self.length}"
        if calls_in(entry):
            return "record", f"The request goes into the history as {place}."
        if role_of(entry) == "tool":
            return "record", self.result_recorded(entry, place)
        if role_of(entry) == "model":
            kind = "answer" if isinstance(entry, Mapping) and entry.get("type") == "answer" else "reply"
            return "record", f"The {kind} goes into the history as {place}."
        if before == 0:
            return "record", f"The goal goes into the history as {place}: all that the model will know."
        return "record", f"The loop adds {place}: {quoted(entry_words(entry))}."

    def result_recorded(self, entry: Any, place: str) -> str:
        if self.raised and entry_error(entry) is not None:
            call, self.raised = self.raised, ""
            turned = "The `except`" if self.source.has_except else "The loop"
            then = (
                f"so the model will read it in step {self.step + 1}" if self.step < self.last_ask
                else "but no further call is made to read it"
            )  # fmt: skip
            return f"{call} raised. {turned} turned it into a result, {then}. It is {place} of the history."
        kind = "error" if entry_error(entry) is not None else "result"
        return f"The {kind} goes into the history as {place}. {self.will_be_read()}"

    def history_rewritten(self, kept: int, before: int, added: Sequence[Any]) -> str:
        if not added:
            return f"The history is cut: {before - kept} of {counted(before, 'entry', 'entries')} are gone."
        if self.length == before and kept == before - 1:
            return f"Entry {before} of the history is changed: {quoted(entry_words(added[0]))}."
        new = f"It had {before} entries and has {self.length} now."
        return f"The history is rewritten from entry {kept + 1} on. {new}"

    def line_caption(self, after: Event | None) -> tuple[str, str]:
        """Say what a line does that neither asks, acts nor records, by the line that comes next."""
        line = self.line or 0
        following = after.line if after is not None and after.kind == "line" else None
        kind = self.source.kind(line)
        text = code(one_line(self.source.text(line).strip(), 90))
        if kind == "loop":
            return "", self.loop_head(line, following)
        if kind == "if":
            return self.if_line(line, following, text)
        if kind == "try":
            return "", "From here on an error is caught by the `except` below."
        if kind == "except":
            caught = f" of {self.raised}" if self.raised else ""
            return "", f"The `except` catches the error{caught}. The run goes on."
        if kind == "return":
            return "", "The loop returns, so the run ends here."
        if kind == "raise":
            return "", f"The loop itself raises: {text}."
        if kind == "break":
            return "", "The loop is left here."
        if kind == "continue":
            return "", "The rest of this round is left out."
        return "", f"{text} runs." if text != "``" else "A line of the loop runs."

    def loop_head(self, line: int, following: int | None) -> str:
        inside = following is not None and self.source.inside(line, following)
        if not any(self.source.inside(line, asking) for asking in self.ask_lines):
            return "The loop takes the next one." if inside else "There is no further one."
        if following is None:
            return "The loop looks whether there is one more step."
        if inside and self.source.is_while(line) and not self.source.is_endless(line):
            text = code(one_line(self.source.text(line).strip(), 90))
            return f"The loop looks whether to go round once more: {text} Yes: line {following} comes next."
        used_up = self.max_steps is not None and self.step >= self.max_steps
        if inside and (used_up or self.source.is_while(line)):
            # Nothing has been looked at yet: a limit may be checked further down, before the call.
            used = f" {self.step} of {self.max_steps} steps are used." if self.max_steps else ""
            return f"A new round of the loop begins.{used}"
        if inside:
            return f"{self.step_words(self.step + 1)}: it begins here."
        return f"There is no further step: {self.step} of {self.max_steps} are used." if self.max_steps else (
            "There is no further step."
        )  # fmt: skip

    def if_line(self, line: int, following: int | None, text: str) -> tuple[str, str]:
        move = "" if self.checked or self.reply is None else "check"
        if following is None:
            return move, f"The loop looks: {text}"
        met = self.source.inside(line, following)
        goes = f"{'Yes' if met else 'No'}: line {following} comes next."
        if move == "check" and self.reply is not None and self.source.looks_at_type(line):
            calls = calls_in(self.reply)
            if self.reply.get("type") == "answer" and met:
                return move, f"Is the reply an answer? {goes}"
            if calls and not met:
                asked = code(call_words(calls[0]))
                return move, f"Is the reply an answer? No, it requests {asked}, so the loop goes on."
        return move, f"The loop looks: {text} {goes}"

    def crashed(self, event: Event) -> str:
        where = f"Line {self.line}" if self.line else "The loop"
        return f"{where} raised {code(one_line(event.text, 200))}. Nothing caught it, so the run ends here."
