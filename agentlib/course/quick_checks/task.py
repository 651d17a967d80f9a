"""One task of a lesson: its cases, how they are played, and the line that a learner reads.

The course's own function says what is right: both are played with the same cases, and the first thing that
differs is told.
"""

import contextlib
import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from traceback import walk_tb
from typing import Any, NamedTuple, Protocol

from agentlib._json import short
from agentlib.course.running.runner import TOO_LONG, Counter, RunEnded, TimeLimit, error_of, why_not
from agentlib.messages import calls_in, is_result
from agentlib.views.describe import counted

__all__ = [
    "Judged",
    "Made",
    "PlayedCall",
    "PlayedRun",
    "SmallTask",
    "Words",
    "Wrong",
    "call",
    "itself",
    "run",
]

SECONDS = 3.0
"""So long all cases of a task together may take."""

OURS = "The course's own is used below."


Seen = dict[str, Any]
"""What was seen, in order, by what it is in words, such as "it gave"."""


class PlayedCase(Protocol):
    """Something to do with what a learner wrote. hint: what to think of if it comes out wrong."""

    @property
    def hint(self) -> str: ...

    def play(self, mine: Any) -> Seen:
        """Do it, and give all that counts, in order. What `mine` raises is raised."""


class Judged(NamedTuple):
    """Whether something is right, and the line for the learner."""

    right: bool
    line: str


class Wrong(NamedTuple):
    """A typical wrong solution: the folded one of the notebook with `old` made `new`.

    says: what the learner then has to read, a part of the line.
    """

    old: str
    new: str
    says: str


@dataclass(frozen=True)
class Made:
    """An argument that is made anew for each call, such as a model that keeps count."""

    make: Callable[[], Any]


@dataclass(frozen=True)
class SmallTask:
    """What a learner writes inside a lesson.

    name: the lesson's number and a word, "01 loop". ours: the course's own function or value, which is right.
    cases: what is played; its values are not those on the page. wrong: typical wrong solutions, for tests.
    """

    name: str
    ours: Any
    cases: tuple[PlayedCase, ...]
    wrong: tuple[Wrong, ...]
    seconds: float = SECONDS

    def judge(self, mine: Any) -> Judged:
        """Play all cases with `mine`, under a time limit."""
        if mine is self.ours and not isinstance(mine, (str, int, float)):
            return Judged(
                True, "this is the course's own. Run the cell with your lines, then this one again."
            )
        if problem := self._no_case_needed(mine):
            return Judged(False, problem)
        printed = Counter()
        limit = TimeLimit(self.seconds)
        seen: list[str] = []
        fault = ""
        try:
            with contextlib.redirect_stdout(printed):
                fault = limit.run(lambda: self._first_fault(mine, seen))
        except RunEnded as ended:
            fault = str(ended)
        if limit.over or fault == TOO_LONG:
            fault = f"it did not end within {self.seconds:g} seconds: is there a way out?"
        note = f" (It printed {counted(printed.lines, 'line')}, not shown.)" if printed.lines else ""
        if fault == NOT_STARTED:
            return Judged(False, NOT_STARTED)
        if fault:
            end = "" if fault.endswith(("?", ".")) else "."
            return Judged(False, f"not yet: {fault}{end}{note} {OURS}")
        return Judged(True, f"right, yours is used below. Seen {seen[-1]}.{note}")

    def _no_case_needed(self, mine: Any) -> str:
        """Say what is wrong with something that need not be played; "" if it is to be played."""
        if not callable(self.ours):
            return NOT_STARTED if mine is None or mine is ... else ""
        if not callable(mine):
            return f"not yet: {short(mine, 40)} is no function; write its name without brackets. {OURS}"
        if why := why_not(mine):
            return f"not yet: it is {why.split('; check wants')[0].rstrip(':')}. {OURS}"
        return NOT_STARTED if _is_empty(mine) else ""

    def _first_fault(self, mine: Any, seen: list[str]) -> str:
        """Play the cases one by one; give what differs first, "" if nothing does. seen: what was right."""
        for number, case in enumerate(self.cases):
            wanted = case.play(self.ours)
            try:
                got = case.play(mine)
            except (KeyboardInterrupt, RunEnded):
                raise
            except NotImplementedError as problem:
                return NOT_STARTED if not number else f"{case}, {_raised(problem, mine)}"
            except BaseException as problem:
                return f"{case}, {_raised(problem, mine)}"
            for what, value in wanted.items():
                if ENDED not in got and "it gave back" in got and what not in got:
                    return f"{case}, it gave back {_shown(got['it gave back'])}, and not a dict"
                if what in got and not _same(got[what], value):
                    hint = f". {case.hint}" if case.hint else ""
                    return f"{case}, {what} {_against(got[what], value)}{hint}"
            if ENDED in got:
                return f"{case}, {got[ENDED]}"
            what, value = list(wanted.items())[-1]
            seen.append(f"{case}, {what} {_shown(value)}")
        return ""


NOT_STARTED = "not started yet: the course's own is used here."
ENDED = "ended"


def _is_empty(function: Any) -> bool:
    """Whether a function has no line of its own: only `...`, `pass` or a docstring, or a `...` left in it."""
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    return ... in code.co_consts or code.co_code == _nothing(code)


def _nothing(code: Any) -> bytes:
    """The bytecode of an empty function with the same constants."""
    names: dict[str, Any] = {}
    doc = code.co_consts[0] if code.co_consts and isinstance(code.co_consts[0], str) else None
    exec("def empty():\n    " + ("pass" if doc is None else repr(doc)), names)
    made: bytes = names["empty"].__code__.co_code
    return made


def _raised(problem: BaseException, mine: Any) -> str:
    """Say what a learner's function raised, and at which of its lines."""
    error = error_of(problem, mine)
    message = " ".join(error["message"].split())
    what = f"it raised {error['type']}" + (f": {message.rstrip('.')}" if message else "")
    own = getattr(getattr(mine, "__code__", None), "co_filename", None)
    files = [frame.f_code.co_filename for frame, _ in walk_tb(problem.__traceback__)]
    return f"{what}, in `{error['code']}`" if own in files else what  # else it is a line of the course


# --- cases


@dataclass(frozen=True)
class PlayedCall:
    """One call of the learner's function; what counts is what it gives, or the error that it raises.

    look: what of the value counts; None = all of it. raises: an error is a good outcome, and its type counts.
    changed: not the value counts, but this argument after the call, such as a history that is added to.
    """

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    hint: str = ""
    look: Callable[[Any], Any] | None = None
    raises: bool = False
    said: str = ""
    changed: int | None = None

    def __str__(self) -> str:
        named = [f"{name}={_said(value)}" for name, value in self.kwargs.items()]
        return self.said or f"for ({', '.join([*map(_said, self.args), *named])})"

    def play(self, mine: Any) -> Seen:
        """Call it."""
        args = [_fresh(value) for value in self.args]
        kwargs = {name: _fresh(value) for name, value in self.kwargs.items()}
        try:
            value = mine(*args, **kwargs)
        except Exception as problem:
            if not self.raises or isinstance(problem, NotImplementedError):
                raise
            return {"it raised": Words(type(problem).__name__) if self.look is None else self.look(problem)}
        if self.raises:
            return {"it raised": Words(f"nothing and gave {short(value, 80)}")}
        if self.changed is not None:
            value = args[self.changed]
        what = "it gave" if self.changed is None else "it left"
        return {what: _seen(self.look, value)}


def call(
    *args: Any,
    hint: str = "",
    look: Callable[[Any], Any] | None = None,
    raises: bool = False,
    said: str = "",
    changed: int | None = None,
    **kwargs: Any,
) -> PlayedCall:
    """Make a case of one call. said: how the line names it, where the arguments would say too much."""
    return PlayedCall(args, kwargs, hint, look, raises, said, changed)


def itself(
    look: Callable[[Any], Any] = lambda value: value, *, hint: str = "", said: str = "your value"
) -> PlayedCall:
    """Make the case of a task that asks for a value. look: what of it counts."""
    return _PlayedValue((), {}, hint, look, False, said)


class _PlayedValue(PlayedCall):
    """Looks at a value; nothing is called."""

    def play(self, mine: Any) -> Seen:
        """Look at it."""
        return {"it is": _seen(self.look, copy.deepcopy(mine))}


def _seen(look: Callable[[Any], Any] | None, value: Any) -> Any:
    """What of a value counts; where it is of a kind that cannot be looked at, words that equal nothing."""
    try:
        return value if look is None else look(value)
    except Exception:
        return Words(short(value, 160))


PlayedReply = Mapping[str, Any] | Callable[[list[Any]], Mapping[str, Any]]
"""A reply of a played model, or a function that makes it from the history."""

KEYS = ("history", "answer", "steps", "stopped")
"""What a loop of the lessons gives back."""


@dataclass(frozen=True)
class PlayedRun:
    """One run of the learner's loop with a model that is played: `loop(model, tools, goal, **options)`.

    replies: what the model says, in order; a function gets the history and gives the reply.
    What counts: which kinds of entries each call of the model read, which tools ran with what, and what it
    gives back under these keys; of a history the kinds of entries.
    """

    goal: str
    tools: Mapping[str, Callable[..., Any]]
    replies: Sequence[PlayedReply]
    for_ever: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    keys: tuple[str, ...] = KEYS
    hint: str = ""
    said: str = ""

    def __str__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return self.said or f"for {self.goal!r}" + (f" with {options}" if options else "")

    def play(self, mine: Any) -> Seen:
        """Run it."""
        read: list[Any] = []
        ran: list[str] = []
        replies: Iterable[PlayedReply] = self.replies
        if self.for_ever:
            replies = chain(self.replies, repeat(self.replies[-1]))
        script = iter(replies)

        def model(history: list[Any]) -> Any:
            read.append(_looked_at(history))
            reply = next(script, None)
            if reply is None:
                raise RunEnded("the model had answered, and was asked once more")
            if len(read) > MAX_CALLS:
                raise RunEnded(f"the model was asked {MAX_CALLS} times, and nothing ended the run")
            return copy.deepcopy(dict(reply(history) if callable(reply) else reply))

        tools = {name: _noted(name, function, ran) for name, function in self.tools.items()}
        seen: Seen = {}
        try:
            result = mine(model, tools, self.goal, **copy.deepcopy(dict(self.options)))
            seen = {"model calls:": len(read), "tool runs:": ran}
            if isinstance(result, dict):
                seen |= {
                    f'in what it gave back, "{key}" is': _looked_at(result.get(key)) for key in self.keys
                }
            else:
                seen["it gave back"] = result
        except RunEnded as ended:
            if str(ended) == TOO_LONG:
                raise
            seen = {ENDED: str(ended)}
        return {f"call {n} of the model read": kinds for n, kinds in enumerate(read, start=1)} | seen


def _looked_at(value: Any) -> Any:
    """What counts of a value: of a list of entries their kinds."""
    return [_kind(entry) for entry in value] if isinstance(value, list) else value


MAX_CALLS = 30
"""A played model that never answers may be asked so often."""


def run(
    goal: str,
    tools: Mapping[str, Callable[..., Any]],
    replies: Sequence[PlayedReply],
    *,
    for_ever: bool = False,
    keys: tuple[str, ...] = KEYS,
    hint: str = "",
    said: str = "",
    **options: Any,
) -> PlayedRun:
    """Make a case of one run.

    replies: the model's, or functions of the history. for_ever: the last one comes again and again.
    """
    return PlayedRun(goal, tools, replies, for_ever, options, keys, hint, said)


def _noted(name: str, function: Callable[..., Any], ran: list[str]) -> Callable[..., Any]:
    def tool(*args: Any, **kwargs: Any) -> Any:
        ran.append(
            f"{name}({', '.join([*map(repr, args), *(f'{key}={kwargs[key]!r}' for key in sorted(kwargs))])})"
        )
        return function(*args, **kwargs)

    return tool


def _kind(entry: Any) -> str:
    """Name the kind of an entry, as the lessons do."""
    if is_result(entry):
        return "result"
    if calls_in(entry):
        return "request"
    if isinstance(entry, dict) and entry.get("type") == "answer":
        return "answer"
    return "user" if isinstance(entry, dict) and entry.get("role") == "user" else short(entry, 40)


def _same(got: Any, wanted: Any) -> bool:
    try:
        return bool(got == wanted)
    except Exception:  # a value that cannot be compared
        return False


def _fresh(value: Any) -> Any:
    return value.make() if isinstance(value, Made) else copy.deepcopy(value)


class Words(str):
    """A text of ours, which is shown without quotation marks."""


def _is_words(values: Any) -> bool:
    return all(isinstance(one, str) for one in values)


def _shown(value: Any) -> str:
    """A value in short; a list of words without brackets and marks."""
    if isinstance(value, list) and _is_words(value):
        return ", ".join(value) or "nothing"
    quoted = isinstance(value, str) and not isinstance(value, Words)
    return f'"{short(value, 160)}"' if quoted else short(value, 160)


def _against(got: Any, wanted: Any) -> str:
    """Both in short; written as Python does where they would look alike, or where one is no list of words."""
    words = _shown(got), _shown(wanted)
    if isinstance(got, list) and isinstance(wanted, list) and _is_words(got) != _is_words(wanted):
        words = short(got, 160), short(wanted, 160)
    return f"{words[0]}, not {words[1]}"


def _said(value: Any) -> str:
    return getattr(value, "__name__", None) or short(value, 60)
