"""The frames of a run, and how they are built: one moment after another, with the history as it stood."""

import itertools
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

from agentlib.messages import Entry, call_key, calls_in, is_result, short
from agentlib.trace import Event, Trace, is_waiting, place_of
from agentlib.views.describe import (
    call_words,
    code,
    counted,
    entry_error,
    full_stop,
    joined,
    of_reason,
    quoted,
    sentence,
    value_words,
)
from agentlib.views.lanes import Lanes, lanes_by_result
from agentlib.watch.recorder import NOTHING

__all__ = [
    "FIRST_STEPS", "LAST_STEPS", "Builder", "Frame", "Frames", "HistoryAt", "Version", "has_no_frames",
    "request_key",
]  # fmt: skip


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
    stopped: why the run ended; None before the end. error: what the loop itself raised; "" = nothing.
    mark: "error", "repeat", "stop" or "": a sign beside the move.
    vars: the variables that this moment has changed, in short; None = no longer there.
    values: lines, and what stands at their ends from here on.
    coming: the reply or the result that is not in the history yet: who, text, marks, and recorded (False if
    it never comes in); None = nothing is waiting.
    meter: what the loop counts by itself: name, used, limit.
    lanes: the requests that ran at once, from where all have ended to the next call.
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
    stopped: str | None = None
    error: str = ""
    mark: str = ""
    vars: dict[str, str | None] = field(default_factory=dict)
    values: tuple[tuple[int, str], ...] = ()
    coming: dict[str, Any] | None = None
    meter: tuple[dict[str, Any], ...] = ()
    lanes: Lanes = ()

    @cached_property
    def repeats(self) -> tuple[int, ...]:
        """Places of requests that an earlier reply had made already."""
        return tuple(place for place in range(len(self.history)) if self.history.version(place).repeat)

    @property
    def entries(self) -> int:
        """Entries in the history."""
        return len(self.history)


Frames = list[Frame]

FIRST_STEPS, LAST_STEPS = 500, 50
"""Of a longer run only the frames of so many steps are made; the history and the counts go through all."""


def has_no_frames(step: int, steps: int) -> bool:
    """True for a step in the middle of a very long run."""
    return FIRST_STEPS < step <= steps - LAST_STEPS


def request_key(call: Mapping[str, Any]) -> str:
    """Give the same text for the same tool and input, whatever the order of the input's keys."""
    return call_key(str(call.get("tool")), call.get("input"))


class Builder:
    """Goes through the events of a trace once and keeps what the captions need to know."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.events = trace.events
        limit = trace.about.get("max_steps")
        self.max_steps = limit if isinstance(limit, int) and not isinstance(limit, bool) else None
        self.frames: Frames = []
        self.versions: list[list[Version]] = []
        self.length = 0
        self.place = 0  # of the newest entry
        self.step = 0
        self.last_read = 0  # tokens, by the last call
        self.read_total = 0
        self.requested: dict[str, int] = {}  # the step in which a request was first made
        self.again: set[str] = set()
        self.number = 0  # of the event that is told
        self.reply: Entry | None = None
        self.ran = False  # whether a tool has run since the last reply
        self.asks = [event for event in self.events if event.kind == "ask"]
        self.last_ask = len(self.asks)
        self.lanes: Lanes = ()

    def build(self) -> Frames:
        lanes = lanes_by_result(self.trace)
        for number, event in enumerate(self.events):
            self.number = number
            new = self.apply(event)
            self.lanes = () if event.kind == "ask" else lanes.get(number, self.lanes)
            if self.is_left_out:
                continue
            move, caption = self.caption_of(number, event)
            stopped = event.text if event.kind == "stop" else None
            mark = self.mark_of(event)
            self.add(None, move, caption, new, stopped=stopped, mark=mark, lanes=self.lanes)
        return self.frames

    # -- the run so far

    @property
    def is_left_out(self) -> bool:
        """True in the middle of a very long run, of which no frames are made."""
        return has_no_frames(self.step, self.last_ask)

    def add(self, line: int | None, move: str, caption: str, new: tuple[int, ...] = (), **more: Any) -> None:
        number = len(self.frames) + 1
        history = HistoryAt(self.versions, number, self.length)
        new = tuple(place for place in new if place < self.length)
        self.frames.append(
            Frame(
                number, line, move, self.step, self.max_steps, self.read_total, caption, history, new, **more
            )
        )

    def mark_of(self, event: Event) -> str:
        """Give the sign of an event: an error, a request that came before, or the end."""
        if event.kind == "stop":
            return "stop"
        if (
            event.kind == "result"
            and not is_waiting(event)
            and (event.text in ("raised", "fatal") or entry_error(event.entry) is not None)
        ):
            return "error"
        if event.kind == "reply" and (event.text == "raised" or self.same_as(event)):
            return "error" if event.text == "raised" else "repeat"
        return ""

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
            return self.put_entry(event.entry)
        return ()

    def put_entry(self, entry: Entry) -> tuple[int, ...]:
        """Put an entry behind the others, or in the place of the result that said that its request waits."""
        last = (self.versions[place][-1].entry for place in range(self.length - 1, -1, -1))
        results = list(itertools.takewhile(is_result, last))[::-1] if is_result(entry) else []
        place = self.length - len(results) + place_of(results, entry)
        if place == self.length:
            return self.set_history(self.length, [entry])
        self.versions[place].append(Version(len(self.frames) + 1, entry, False))
        self.place = place
        return (place,)

    def set_history(self, kept: int, entries: Sequence[Any]) -> tuple[int, ...]:
        """Let the history be its first `kept` entries and then these."""
        frame = len(self.frames) + 1
        before = {
            request_key(call)
            for place in range(kept)
            for call in calls_in(self.versions[place][-1].entry)
        } if kept < self.length else None  # fmt: skip
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
            new.append(place)
        self.length = kept + len(entries)
        self.place = self.length - 1
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
            return "", full_stop(f"The run begins. Your goal becomes entry 1: {quoted(self.trace.goal)}")
        if kind == "ask":
            return "ask", self.asked(event)
        if kind == "reply":
            return "check", f"{self.replied(event)} It is now entry {self.length}."
        if kind == "act":
            call = code(call_words(self.trace.request(number)))
            result = self.result_of(number)
            waits = result is not None and is_waiting(result)
            if waits:
                return "act", f"A person is asked whether {call} may run."
            if result is not None and was_refused(result):
                return "act", f"{call} needs a person's yes and does not get it."
            runs = (
                f"{call} runs." if result is None or result.ran else f"{call} has its turn and cannot be run."
            )
            return "act", f"A person was asked and said yes: {runs}" if event.approved else runs
        if kind == "result":
            return "record", self.recorded(number, event)
        if kind == "note":
            text = (event.entry or {}).get("text", "")
            note = full_stop(f"The loop adds a note for the model: {quoted(text)}")
            return "record", f"{note} {self.will_be_read()}"
        if kind == "resume":
            return "", f"The run goes on here, where it waited or its program was ended. {event.text}".strip()
        if kind == "stop":
            return "", self.ended(event)
        return "", f"{kind}: {event.text}".strip(": ")

    def result_of(self, number: int) -> Event | None:
        """Give the result of the request that begins with this event; None = there is none."""
        name = self.events[number].id
        for event in itertools.islice(self.events, number + 1, None):
            if event.kind == "result" and (event.entry or {}).get("id") == name:
                return event
            if event.kind not in ("act", "result"):
                break
        return None

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
        elif is_waiting(event):
            return f"{call} waits until a person has decided: entry {self.place + 1} says so until then."
        elif event.text == "not run":
            caption = f"{call} was not run: {sentence(problem or value_words(result))}"
        elif problem is not None and event.ran:
            caption = f"{call} raised. The loop turned it into a result: {sentence(problem)}"
        elif problem is not None:
            caption = f"{call} could not be run. The loop says so in a result: {sentence(problem)}"
        else:
            caption = f"{call} gave {code(short(value_words(result), 160))}."
        return f"{caption} It is now entry {self.place + 1}. {self.will_be_read()}"

    def will_be_read(self) -> str:
        """Say of the entry that has just been added whether the model reads it in its next call."""
        if self.step >= self.last_ask:
            return "No further call is made, so the model never reads it."
        is_read = self.is_read_next()
        if is_read is None:
            return f"Before step {self.step + 1} the history is changed once more."
        if not is_read:
            return f"Step {self.step + 1} leaves it out: the model does not read it there."
        return f"The model will read it in step {self.step + 1}."

    def is_read_next(self) -> bool | None:
        """Look at the next call: does the model read the newest entry? None = it is changed before that."""
        entry = self.versions[self.place][-1].entry if self.length else None
        for number in range(self.number + 1, len(self.events)):
            event = self.events[number]
            if event.kind == "history" and event.entries < self.length:
                return None
            if event.kind == "ask":
                return event.read is None or entry in event.read
        return None

    def ended(self, event: Event) -> str:
        end = event.entry or {}
        answer, detail = end.get("answer"), end.get("detail")
        parts = [f"The run is over: {code(event.text or 'no reason given')}."]
        meaning = self.meaning(event.text)
        if meaning and not (event.text == "returned" and detail):
            parts.append(meaning)
        if detail == NOTHING:
            parts[1:] = ["Your loop returned None: is a `return` missing?"]
        elif detail and str(detail).startswith("the loop returned {"):
            pass  # the reason and the answer say what it returned
        elif detail and event.text == "returned":
            words = sentence(str(detail), 200)
            parts.append(words[:1].upper() + words[1:])
            reply = self.reply
            is_answer = isinstance(reply, Mapping) and reply.get("type") == "answer"
            if reply and is_answer and answer is None and end.get("returned") == reply.get("text"):
                return f"{' '.join(parts)} That is the model's answer."
        elif detail and event.text != "model error":
            parts.append(f"Exactly: {sentence(str(detail), 200)}")
        elif detail:
            parts.append(f"It raised: {sentence(str(detail), 200)}")
        parts.append(self.answer_words(answer))
        return " ".join(parts)

    def meaning(self, reason: str) -> str:
        """Say what a stop reason means, as far as it goes with what was seen; a loop may give any."""
        if reason == "repeated call":
            return self.repeated()
        if reason == "answered" and not self.step:
            return "The loop says so, but the model was never asked."
        if reason == "answered" and calls_in(self.reply):
            return "The loop says so, but the model's last reply was a request."
        if reason == "step limit" and self.max_steps and self.step < self.max_steps:
            return f"The loop says so after {counted(self.step, 'step')} of at most {self.max_steps}."
        if reason == "step limit" and self.reply is not None and self.reply.get("type") == "answer":
            return "All allowed steps were used."
        return of_reason(reason)

    def answer_words(self, answer: Any) -> str:
        """Say what the answer is; a loop may return it in a shape of its own, or not at all."""
        if answer is not None:
            return f"The answer: {sentence(answer, 200)}"
        reply = self.reply
        if isinstance(reply, Mapping) and reply.get("type") == "answer":
            return f"The model's last reply was an answer: {sentence(reply.get('text'), 200)}"
        return "There is no answer."

    def repeated(self) -> str:
        """Say of a run that ended with `repeated call` what was seen, and no more."""
        if not any(self.requested[request_key(call)] < self.step for call in calls_in(self.reply)):
            return of_reason("repeated call")
        return f"The same request came again{'' if self.ran else ' and was not run'}."


def was_refused(result: Event) -> bool:
    """True for the result that stands where a person was asked for a yes and none came."""
    outcome = (result.entry or {}).get("result")
    return (
        result.text == "not run" and isinstance(outcome, Mapping) and outcome.get("error") == "not_approved"
    )


def requests_words(calls: Sequence[Mapping[str, Any]]) -> str:
    """Name what a reply requests: all of it, or the first three and how many more."""
    more = f" and {len(calls) - 3} more" if len(calls) > 3 else ""
    return joined([code(call_words(call)) for call in calls[:3]]) + more


def reply_words(reply: object) -> str:
    """Say what a reply asks for or answers, as a sentence."""
    if not isinstance(reply, Mapping):
        return f"The model gives {code(short(value_words(reply), 80))}, which is not a reply."
    calls = calls_in(reply)
    if calls:
        return f"The model requests {requests_words(calls)}."
    if reply.get("type") == "answer":
        return full_stop(f"The model answers {quoted(reply.get('text'))}")
    if reply.get("type") == "empty":
        return "The model's reply is empty."
    if reply.get("type") == "invalid":
        return full_stop(f"The model's reply cannot be read: {quoted(reply.get('text'))}")
    return f"The model gives {code(short(value_words(reply), 80))}."
