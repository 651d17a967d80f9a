"""What happened in a run, as events in order: saved as JSON lines, loaded, replayed and compared."""

import ast
import builtins
import copy
import functools
import itertools
import json
import operator
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from agentlib import errors
from agentlib._json import read_lines
from agentlib.errors import FatalToolError, ReplayError, TraceFileError, UnrunError
from agentlib.messages import Entry, RecordedReply, calls_in, error_text, json_ready, short
from agentlib.models import ReplayModel
from agentlib.stops import CANCELLED, DEADLINE, WAITING, Progress, StopReason, StopRule
from agentlib.tools import Tool

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = [
    "CLOSING_FAILED", "TRACE_VERSION", "WAITS", "Difference", "Event", "Trace", "compare", "given_again",
    "input_of", "is_waiting", "place_of",
]  # fmt: skip

CLOSING_FAILED = "The closing call failed: "
"""How the note begins that stands in the history when a closing call gave no reply."""

WAITS = "waiting"
"""The code of the result that stands for a request on which a person has not decided yet."""

TRACE_VERSION = 1
"""The version in the first line of a saved trace; a later one is refused."""


class Event(NamedTuple):
    """One thing that happened. Which fields are set depends on the kind.

    kind:
      "start"    entry: the goal.
      "ask"      entries, tokens: what the model is about to read (tokens are estimated).
                 read: what it reads, where that is not the whole history. text: "closing" for a closing call.
      "attempt"  text: why an attempt to ask failed. entry: its number, the wait in seconds, its usage.
      "reply"    entry: the reply as it was recorded. tokens: tokens read by this call.
                 text: what was wrong with a reply of the wrong shape; "raised" if a watched model gave none.
      "act"      id, text: the request and the tool that is about to run. approved: a person said yes to it.
                 entry: in a watched loop, the tool and the input that the loop really gave to it.
      "result"   entry: the result as it was recorded. ran: the tool's function was called.
                 text: "" or why the tool was not asked ("not run") or that no model can mend it ("fatal");
                 in a watched loop "raised", whatever the loop made of it, and id: the place of its "act", if
                 that tool was begun once more before it came to its end.
      "note"     entry: a user entry that the loop added.
      "resume"   the run goes on here, after a wait or after its program was ended; a result that said that a
                 request waits is replaced by what comes of it now. text: what was lost, and in what
                 the tools are others. entry: what is not as `about` says any more, such as max_steps.
      "history"  entries, read: a watched loop's history now is its first `entries` entries and then `read`.
      "line"     line: the line of the watched function that is about to run.
                 call: the number of the call of the loop, or of a function written inside it, that it is a
                 line of, from 1; in its first line, caller: the number of the call that it was made from.
                 compared: what its test will give, such as "16 + 9 = 25 > 20: yes".
                 variables: short forms of its variables that are new since the last line; None = no longer
                 there. Those of another call go, and come back with it.
                 budgets: what the loop has counted, and its limit, by name, where that is new.
      "crash"    line, text: where a watched loop raised, and what.
      "stop"     text: the reason. entry: the answer and the details, and the usage of a call that gave no
                 reply, if the provider has counted it; for a watched loop what it returned, and variables:
                 what its last line has changed.
    step: the number of the model call that it belongs to, from 1; 0 = before the first call.
    In a watched loop call and made_at say in which of its calls, and at which of its lines, a thing happened.
    seconds: running time since the start of the run, to the millisecond, by the run's own clock; a watched
    loop has none. It does not count when events are compared; neither does what stands behind it, which tells
    how a watched loop did it, and who said yes.
    """

    kind: str
    step: int
    entry: Entry | None = None
    entries: int = 0
    tokens: int = 0
    id: str = ""
    text: str = ""
    ran: bool = False
    line: int = 0
    read: list[Any] | None = None  # a watched loop may put anything into its history
    seconds: float = 0.0
    variables: dict[str, str | None] | None = None
    call: int = 0
    caller: int = 0
    compared: str = ""
    budgets: dict[str, list[float]] | None = None
    made_at: int = 0
    approved: bool = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and self[:_COMPARED] == other[:_COMPARED]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def as_dict(self) -> Entry:
        """Give the event as a dict without the fields that are not set."""
        return {
            name: value
            for name, value in self._asdict().items()
            if name in ("kind", "step") or value not in (None, 0, "", False)
        }


_COMPARED = Event._fields.index("seconds")


@dataclass(frozen=True)
class Trace:
    """The events of one run.

    about: what is known of the run as a whole: made_by, goal, max_steps, tools; and for a watched loop
    function, source and first_line, history_names (its variables), changed_on_disk (its
    lines are no longer in its file), and remarks: what could not be recorded of it.
    It does not count when traces are compared.
    problem: what was wrong with the file that it was loaded from; "" = nothing. lost: events of the file that
    could not be read.
    """

    events: tuple[Event, ...]
    about: Entry = field(default_factory=dict, compare=False)
    problem: str = field(default="", compare=False)
    lost: int = field(default=0, compare=False)

    def __len__(self) -> int:
        return len(self.events)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __repr__(self) -> str:
        return f"Trace({self.steps} steps, {len(self.events)} events, stopped: {self.stopped})"

    # -- what the run was

    @property
    def goal(self) -> str:
        """The goal of the run."""
        return str(self.about.get("goal", ""))

    @property
    def watched(self) -> bool:
        """True if the trace was made by watching a loop from outside, not by the loop itself."""
        return self.about.get("made_by") == "watch"

    @property
    def steps(self) -> int:
        """Model calls made."""
        return sum(event.kind == "ask" for event in self.events)

    @property
    def stopped(self) -> str | None:
        """Why the run ended; None if the trace ends before the run does."""
        last = self._end()
        return last.text if last else None

    @property
    def answer(self) -> str | None:
        """The answer, or None."""
        return self._said().get("answer")

    @property
    def detail(self) -> str:
        """What the stop event says beyond its reason, in words."""
        return str(self._said().get("detail", ""))

    def _said(self) -> Entry:
        last = self._end()
        return last.entry or {} if last else {}

    def _end(self) -> Event | None:
        last = next((event for event in reversed(self.events) if event.kind in ("stop", "resume")), None)
        return last if last and last.kind == "stop" else None

    def waiting(self) -> list[Entry]:
        """List the requests (id, tool, input) on which a person has to decide, if the run ended for that."""
        if self.stopped != WAITING or self.watched:
            return []
        results: dict[object, int] = {}
        for number, event in enumerate(self.events):
            if event.kind == "ask":
                results.clear()
            elif event.kind == "result":
                results[(event.entry or {}).get("id")] = number
        return [self.request(number) for number in results.values() if is_waiting(self.events[number])]

    def replies(self) -> list[Entry]:
        """List the replies of the model, in order."""
        return [event.entry for event in self.events if event.kind == "reply" and event.entry is not None]

    def history_after(self, number: int) -> list[Entry]:
        """Give the history as it stood after the first `number` events."""
        history: list[Entry] = []
        for event in self.events[:number]:
            _grow(history, event, self.watched)
        return history

    def histories(self) -> list[list[Entry]]:
        """List what the model read at each call."""
        history: list[Entry] = []
        read: list[list[Entry]] = []
        for event in self.events:
            _grow(history, event, self.watched)
            if event.kind == "ask":
                read.append(list(history if event.read is None else event.read))
        return read

    def request(self, number: int) -> Entry:
        """Give the request (id, tool, input) that event `number`, an "act" or a "result", belongs to."""
        event = self.events[number]
        if self.watched:  # a loop may give its tools another input than the model asked for
            if event.id:
                return {"id": "", **(self.events[int(event.id)].entry or {})}
            name = event.text if event.kind == "act" else (event.entry or {}).get("tool")
            for place in range(number, -1, -1):
                earlier = self.events[place]
                if earlier.kind == "act" and earlier.text == name:
                    if earlier.entry is not None:
                        return {"id": "", **earlier.entry}
                    break
        name = event.id or (event.entry or {}).get("id")
        for place in range(number - 1, -1, -1):
            earlier = self.events[place]
            if earlier.kind == "reply":
                for call in calls_in(earlier.entry):
                    if call.get("id") == name:
                        return call
                break
        return {"id": name, "tool": event.text or (event.entry or {}).get("tool", ""), "input": {}}

    # -- replay

    def resumed_at(self) -> int:
        """Give the number of the event with which the run went on for the last time; 0 = it never did."""
        return max((number for number, event in enumerate(self.events) if event.kind == "resume"), default=0)

    def latest_about(self) -> Entry:
        """Give what is known of the run as a whole, as it was when it went on for the last time."""
        changes = [event.entry for event in self.events if event.kind == "resume" and event.entry]
        return functools.reduce(operator.or_, changes, self.about)

    def model(self, since: int = 0) -> ReplayModel:
        """Make a model that gives the recorded replies again, as long as the new run is like this one.

        since: the number of the event from which on attempts that failed are told again.
        """
        replies = [self.reply_again(event) for event in self.events if event.kind == "reply"]
        lengths = [len(history) for history in self.histories()][: len(replies)]
        attempts: list[list[Event]] = []
        for number, event in enumerate(self.events):
            if event.kind == "ask":
                attempts.append([])
            elif event.kind == "attempt" and number >= since:
                attempts[-1].append(event)
        ended_with: BaseException | None = None
        if self.steps > len(replies):  # the last call gave no reply
            last = self.events[-2].entry if len(self.events) > 1 else None
            words = (last or {}).get("text", "")
            if self.stopped == "model error":
                ended_with = RuntimeError(self.detail)
            elif self.stopped == "cancelled":
                ended_with = KeyboardInterrupt()
            elif words.startswith(CLOSING_FAILED):
                ended_with = RuntimeError(words.removeprefix(CLOSING_FAILED))
            if isinstance(ended_with, RuntimeError):
                ended_with.usage = self._said().get("usage")  # type: ignore[attr-defined]
        return ReplayModel(replies, lengths, ended_with, attempts)

    def reply_again(self, event: Event) -> Any:
        """Give a recorded reply as the model gave it; an exception if it raised one."""
        entry = copy.deepcopy(event.entry or {})
        if self.watched:
            return raised_again(entry) if event.text == "raised" else entry
        return RecordedReply(entry, event.text) if entry.get("type") in ("invalid", "empty") else entry

    def tools(self, since: int = 0) -> dict[str, Callable[..., Any]]:
        """Make tools that give the recorded results again, in order, for the recorded inputs.

        since: the number of the event from which on their results count.
        Raises ReplayError inside the run if a tool gets another input than was recorded.
        """
        recorded: dict[str, deque[tuple[Entry, Event]]] = defaultdict(deque)
        acted: set[object] = set()  # the ids of a reply's requests that came to their turn
        for number, event in enumerate(self.events[since:], start=since):
            if event.kind == "reply":
                acted.clear()
            elif event.kind == "act":
                acted.add(event.id)
            elif event.kind == "result" and event.entry is not None and event.entry.get("id", "") in acted:
                call = self.request(number)
                # A request whose input is no dict never reaches its tool, when it is replayed either.
                if isinstance(call["input"], dict):
                    recorded[call["tool"]].append((call["input"], event))
        about = self.latest_about()
        names = about.get("tools", list(recorded))
        repeatable = about.get("repeatable", ())
        any_input = {"type": "object", "additionalProperties": True}
        parallel = about.get("parallel") or ()
        return {
            name: Tool(
                name, _replay_tool(name, recorded[name]), "", any_input,
                repeatable=name in repeatable, parallel=name in parallel,
            )
            for name in names
        }  # fmt: skip

    def ending(self, since: int = 0) -> StopRule:
        """Make a rule that ends a replay where this run ended, if nothing else has ended it before.

        since: the number of the event at which the replay begins.
        """
        acts = sum(event.kind == "act" for event in self.events[since:])
        if self.stopped is None:
            return _RecordedEnd(StopReason("end of the recording"), len(self.replies()), acts)
        steps = sum(event.kind == "ask" and event.text != "closing" for event in self.events)
        closed = steps < self.steps  # by a closing call; so another rule had stopped the run before
        from_outside = self.stopped in (CANCELLED, DEADLINE) and not closed
        reason = StopReason(self.stopped, self.detail)
        return _RecordedEnd(reason, steps, acts, from_outside, self._last_attempts(), closed)

    def _last_attempts(self) -> int:
        """Count the attempts that failed at the very end, before the run stopped."""
        before_the_end = reversed(self.events[:-1])
        return sum(1 for _ in itertools.takewhile(lambda event: event.kind == "attempt", before_the_end))

    # -- files

    def save(self, path: str | Path) -> Path:
        """Write the trace as JSON lines: a line about the run with the version, then one line an event."""
        path = Path(path)
        about = json_ready(self.about)[0]
        lines = [json.dumps({"agentlib_trace": TRACE_VERSION, "events": len(self.events), **about})]
        lines += [json.dumps(event.as_dict()) for event in self.events]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    @classmethod
    def load(cls, path: str | Path) -> "Trace":
        """Read a saved trace.

        A file that was cut off in the middle loads up to its last whole line, and `problem` says so.
        Raises TraceFileError, naming the file and the line, if it is no trace or of a later version;
        FileNotFoundError if there is no such file.
        """
        path = Path(path)
        data = path.read_bytes()
        lines = read_lines(data)
        about = _read_first_line(path, lines[0] if lines else b"")
        events: list[Event] = []
        for number, line in enumerate(lines[1:], start=2):
            try:
                events.append(_read_event(path, number, line))
            except TraceFileError:
                if number < len(lines) or data.endswith(b"\n"):
                    raise
                break  # the program was ended while it wrote this line
        saved = about.pop("events", len(lines) - 1)
        problem = ""
        if len(events) != saved:
            problem = f"{path} is cut off: {len(events)} whole events of {saved} were read."
        return cls(tuple(events), about, problem, saved - len(events))


def _grow(history: list[Entry], event: Event, watched: bool) -> None:
    """Bring a history up to date with one event. What a watched loop puts into it is its own affair."""
    if event.kind == "history":
        history[event.entries :] = event.read or []
    elif not watched and event.kind in ("start", "reply", "result", "note") and event.entry is not None:
        place = place_of(history, event.entry)
        history[place : place + 1] = [event.entry]


def is_waiting(event: Event) -> bool:
    """True for the result of a request on which a person has not decided yet."""
    if event.kind != "result" or event.text != "not run" or event.entry is None:
        return False
    return bool(event.entry["result"].get("error") == WAITS)


def place_of(history: Sequence[Any], entry: Entry) -> int:
    """Say where an entry belongs: at the end, or where a result stands that said that the request waits."""
    for place in range(len(history) - 1, -1, -1) if entry.get("role") == "tool" else ():
        if history[place].get("role") != "tool":
            break
        if history[place].get("id") == entry.get("id"):
            return place
    return len(history)


class _RecordedEnd(StopRule):
    """Stops with a recorded reason once so many model calls were made, or so many requests had their turn.

    attempts: of the last call, so many failed, and the run ended there; 0 = it ended somewhere else.
    """

    def __init__(
        self, reason: StopReason, steps: int, acts: int, from_outside: bool = False, attempts: int = 0,
        allows_closing: bool = False,
    ) -> None:  # fmt: skip
        # Every other rule is asked first, so that a replay shows whether it still stops the run there;
        # but what came from outside came at its own time.
        self.order = 0 if from_outside else 99
        self.reason = reason
        self.steps = steps
        self.acts = acts
        self.attempts = attempts
        self.bounds_attempts = attempts > 0
        self.allows_closing = allows_closing

    def before_call(self, run: Progress) -> str | None:
        if run.steps < self.steps:
            return None
        self.attempts -= 1
        return None if self.attempts > 0 else self.reason

    def before_tool(self, run: Progress) -> str | None:
        self.acts -= 1
        return self.reason if self.acts < 0 else None


def _replay_tool(name: str, recorded: "deque[tuple[Entry, Event]]") -> Callable[..., Any]:
    def replay(*args: Any, **kwargs: Any) -> Any:
        given = input_of(args, kwargs)
        if not recorded:
            raise ReplayError(f"{name} was asked once more", "no further call", given)
        expected, event = recorded.popleft()
        if event.ran and given != expected:
            raise ReplayError(f"{name} got another input", expected, given)
        return given_again(event)

    return replay


def given_again(event: Event) -> Any:
    """Give a recorded result again, or raise what the tool has raised."""
    result: Any = (event.entry or {}).get("result")
    if event.text == "fatal" or not event.ran:
        words, code = error_text(result) or "", str(result["error"])
        if event.text == "fatal":
            raise FatalToolError(words, code)
        raise UnrunError(words, code, failed=event.text != "not run")
    if event.text == "raised":
        raise raised_again(result)
    return copy.deepcopy(result)


def input_of(args: tuple[Any, ...], kwargs: Entry) -> Entry:
    """Give what a tool was called with as JSON; a value without a name gets one: "argument 1"."""
    unnamed = {f"argument {number}": value for number, value in enumerate(args, start=1)}
    given: Entry = json_ready({**unnamed, **kwargs})[0]
    return given


def raised_again(recorded: Entry) -> BaseException:
    """Make an exception anew that was recorded in a watched loop, with its kind, words and plain fields.

    It is caught by the same `except` as the first one, if its class is Python's own, agentlib's, or loaded.
    """
    kind, words = str(recorded.get("error")), str(recorded.get("message", ""))
    base = getattr(errors, kind, getattr(builtins, kind, None))
    if not (isinstance(base, type) and issubclass(base, BaseException)):
        named = [one for one in _subclasses(Exception) if one.__name__ == kind]
        same = (one for one in named if one.__module__ == recorded.get("module"))  # others may have its name
        base = next(same, named[0] if named else Exception)
    # The reverse of `tools.words_of`, which puts the kind before the words where these say too little.
    words = "" if words == f"{kind} with no message" else words.removeprefix(f"{kind}: ")
    kept: Entry = {name: recorded[name] for name in ("code", "failed") if name in recorded}
    name = kind if kind.isidentifier() else "Exception"
    module = recorded.get("module", base.__module__)
    made: Any = type(name, (base,), {"__str__": lambda _: words, "again": True, "__module__": module, **kept})
    if issubclass(base, BaseExceptionGroup):
        parts = [raised_again(one) for one in recorded["exceptions"]]
        group: BaseException = made(recorded["group"], parts)
        return group
    problem: BaseException = made.__new__(made)  # some kinds want more arguments than were recorded
    for name, value in recorded.get("fields", {}).items():
        with suppress(AttributeError, TypeError):  # a property now, or never meant to be set
            setattr(problem, name, value)
    if "args" in recorded:
        problem.args = tuple(recorded["args"])
        return problem
    problem.args = (words,) if words else ()
    if isinstance(problem, KeyError):  # its words are its argument as Python writes it
        with suppress(ValueError, SyntaxError):
            problem.args = (ast.literal_eval(words),)
    return problem


def _subclasses(kind: type[BaseException]) -> Iterator[type[BaseException]]:
    """Give the classes made from this one, the newest first; none of those that `raised_again` has made."""
    for one in reversed(kind.__subclasses__()):
        if "again" not in vars(one):
            yield one
            yield from _subclasses(one)


# --- reading files ----------------------------------------------------------------------------------


def _read_first_line(path: Path, line: bytes) -> Entry:
    try:
        about = json.loads(line)
    except (ValueError, RecursionError):
        about = None
    if not isinstance(about, dict) or "agentlib_trace" not in about:
        begins = short(line.decode("utf-8", "replace"), 60)
        raise TraceFileError(
            str(path), 1, 'expected a saved trace, whose first line is {"agentlib_trace": 1, ...}, '
            f"but it begins with {begins!r}."
        )  # fmt: skip
    version = about.pop("agentlib_trace")
    if type(version) is not int or version != TRACE_VERSION:
        raise TraceFileError(
            str(path), 1, f"the trace is of version {version!r}, and this agentlib reads version "
            f"{TRACE_VERSION}. Bring agentlib up to date, or record the run anew."
        )  # fmt: skip
    _checked(path, 1, _adapter(_About).validate_python, about)
    return about


class _About(TypedDict, total=False):
    """What loading and replaying rely on. A watched loop may have any goal and any max_steps."""

    events: int
    made_by: str
    tools: list[Any]
    repeatable: list[Any]
    parallel: list[Any] | None
    at_once: int | None
    max_result_chars: int | None
    source: str | None
    first_line: int | None


def _read_event(path: Path, number: int, line: bytes) -> Event:
    if not line.startswith(b"{"):
        words = 'expected an event as JSON, but it is none: an object with "kind" and "step".'
        raise TraceFileError(str(path), number, words)
    event: Event = _checked(path, number, _adapter(Event).validate_json, line)
    return event


@functools.cache
def _adapter(shape: Any) -> "TypeAdapter[Any]":
    from pydantic import TypeAdapter  # noqa: PLC0415  to load it takes as long as all the rest of agentlib

    return TypeAdapter(shape)


def _checked(path: Path, number: int, validate: Callable[..., Any], given: Any) -> Any:
    """Check what stands in one line; what is wrong with it is said in words."""
    from pydantic_core import ValidationError  # noqa: PLC0415  loaded with the adapter

    try:
        return validate(given, strict=True)
    except ValidationError as problem:
        error = problem.errors(include_url=False)[0]
    name = ".".join(map(str, error["loc"]))
    expected = error["msg"].removeprefix("Input should be ")
    words = {
        "json_invalid": f"expected an event as JSON, but it is none ({expected}).",
        "missing": f'expected an event with "kind" and "step", but it has no "{name}".',
        "extra_forbidden": f"an event has no field {name!r}.",
    }.get(error["type"], f"{name!r} should be {expected}, but was {short(error['input'], 60)!r}.")
    raise TraceFileError(str(path), number, words)


# --- comparing --------------------------------------------------------------------------------------


class Difference(NamedTuple):
    """One place where two traces differ. left, right: the event there; None where a trace has no more."""

    step: int
    left: Event | None
    right: Event | None

    def __str__(self) -> str:
        return f"step {self.step}: {_in_words(self.left)} against {_in_words(self.right)}"


def _in_words(event: Event | None) -> str:
    if event is None:
        return "nothing"
    left_out = ("kind", "step", "seconds")
    values = {name: value for name, value in event.as_dict().items() if name not in left_out}
    return f"{event.kind} {short(values, 100)}"


def compare(left: Trace, right: Trace) -> list[Difference]:
    """Compare two traces step by step; an empty list means that they are equal.

    Within each step the events are compared in order, so that a step that differs does not make the
    steps after it look different. Lines of a watched loop are left out: they say how, not what. Of its
    history counts what it has become by the next model call, not in how many moves.
    """
    both_watched = left.watched and right.watched
    left_steps, right_steps = _by_step(left, both_watched), _by_step(right, both_watched)
    differences = []
    for step in sorted(left_steps.keys() | right_steps.keys()):
        for one, other in zip_longest(left_steps.get(step, []), right_steps.get(step, [])):
            if one != other:
                differences.append(Difference(step, one, other))
    return differences


def _by_step(trace: Trace, with_history: bool) -> dict[int, list[Event]]:
    steps: dict[int, list[Event]] = defaultdict(list)
    history: list[Entry] = []
    before: list[Entry] = []  # as it was at the last model call
    for event in trace.events:
        _grow(history, event, watched=True)
        if with_history and event.kind in ("ask", "stop"):
            same = 0
            while same < min(len(history), len(before)) and history[same] == before[same]:
                same += 1
            steps[event.step].append(Event("history", event.step, entries=same, read=history[same:]))
            before = history.copy()
        if event.kind not in ("line", "history"):
            steps[event.step].append(event)
    return steps
