"""What a model reads when a history grows long: trimmed results, summaries of old steps, notes in a file.

The loop keeps the whole history. Memory only decides what the model reads of it.
"""

import copy
import functools
import json
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from agentlib._json import is_number, whole_number
from agentlib.costs import Usage, estimate_tokens, next_reading
from agentlib.errors import SummaryError, ToolError, WindowError
from agentlib.messages import (
    Entry,
    InformedModel,
    ModelFunction,
    ModelRequest,
    call_model,
    describe,
    is_error,
    is_reply,
    json_text,
    read_usage,
    user,
)
from agentlib.tools import Tool, tool, words_of

__all__ = [
    "MIN_CHARS",
    "SUMMARY_WORDS",
    "CompactWhenFull",
    "Scratchpad",
    "Summarise",
    "WindowedModel",
    "clear_results",
    "compact",
    "split_steps",
    "trim",
    "trimmed",
]

MIN_CHARS = 2
"""The smallest limit for `trim`, in characters: one of each end."""

MIN_ERROR_CHARS = 60
"""From this limit on an error with a note in its message fits as JSON text."""

SUMMARY_WORDS = "Summary of earlier steps: "
"""How the note begins that stands where `compact` has taken steps out."""

Summarise = Callable[[list[Entry]], str]


# --- trim: the cheapest defence ---------------------------------------------------------------------


def trim(result: Any, max_chars: int, keep: Iterable[str] | None = None) -> Any:
    """Make a tool result short: pick the fields that are needed, then keep both ends of what is left.

    max_chars: the most characters, from 2 up. A text counts as it is, anything else as its JSON text.
    keep: the fields to pick from a dict; None = all.
    A result that fits comes back as it is. One that does not comes back as text, with a note in the middle
    of how many characters are left out; where there is no room for the note, its ends alone. An error stays
    an error; what it holds beside its message goes into the message. From 60 characters on it keeps to
    `max_chars` as JSON text; with less, only its words count.
    Raises ValueError for a wrong `max_chars`, TypeError if `keep` is no list of names.
    """
    whole_number("max_chars", max_chars, minimum=MIN_CHARS)
    if keep is not None:
        result = _pick(result, _names(keep))
    text = result if isinstance(result, str) else json_text(result)
    if len(text) <= max_chars:
        return result
    if is_error(result):
        return _shorter_error(result, max_chars)
    return _both_ends(text, max_chars)


def trimmed(function: Callable[..., Any], max_chars: int, keep: Iterable[str] | None = None) -> Tool:
    """Make a tool whose results are trimmed before the loop records them; arguments as for `trim`."""
    made = tool(function)
    whole_number("max_chars", max_chars, minimum=MIN_CHARS)
    names = None if keep is None else _names(keep)

    @functools.wraps(made.function)
    def short_result(*args: Any, **kwargs: Any) -> Any:
        return trim(made.function(*args, **kwargs), max_chars, names)

    return replace(made, function=short_result)


def _names(keep: Iterable[str]) -> list[str]:
    # A single name is a text, and a loop over it would give its letters.
    names = [] if isinstance(keep, str) else list(keep)
    if isinstance(keep, str) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"keep is a list of field names, or None, but was {describe(keep)}.")
    return names


def _pick(result: Any, names: list[str]) -> Any:
    if isinstance(result, dict) and not is_error(result):
        return {name: result[name] for name in names if name in result}
    return result


def _shorter_error(result: Entry, max_chars: int) -> Entry:
    rest = {name: value for name, value in result.items() if name != "error"}
    message = rest.pop("message", "")
    words = [message if isinstance(message, str) else json_text(message), json_text(rest) if rest else ""]
    code, text = result["error"], " ".join(filter(None, words))
    if max_chars < MIN_ERROR_CHARS:
        code = _both_ends(code, max_chars // 2 if text else max_chars)
        return (
            {"error": code, "message": _both_ends(text, max_chars - len(code))} if text else {"error": code}
        )
    if not text:
        return _fitting(lambda part: {"error": part}, code, max_chars)
    shorter = _fitting(lambda part: {"error": code, "message": part}, text, max_chars)
    if len(json_text(shorter)) <= max_chars:
        return shorter
    # The code takes all the room: only its first letters stay, and the whole of it goes before the message.
    letters = "".join(filter(str.isalnum, code[: max_chars // 10]))
    return _fitting(lambda part: {"error": letters, "message": part}, f"{code}: {text}", max_chars)


def _fitting(make: Callable[[str], Entry], text: str, max_chars: int) -> Entry:
    """Make an error with as much of both ends of a text as fits as JSON text; at least with the note."""
    kept = min(len(text), max_chars)
    while True:
        made = make(_ends(text, kept))
        over = len(json_text(made)) - max_chars
        if over <= 0 or not kept:
            return made
        kept = max(0, kept - max(1, over // 6))  # a character takes up to six in JSON text


def _both_ends(text: str, max_chars: int) -> str:
    """Cut the middle out of a text that is too long and say there how much that was."""
    if len(text) <= max_chars:
        return text
    # The note says how much is left out, and takes room itself; its longest form settles how much.
    room = max_chars - len(_left_out(len(text)))
    return _ends(text, room) if room > 1 else text[: max_chars - max_chars // 2] + text[-(max_chars // 2) :]


def _ends(text: str, kept: int) -> str:
    """Keep so many characters of a text, half of them at each end, and say how many are left out."""
    if kept >= len(text):
        return text
    note = _left_out(len(text) - kept)
    return text[: kept - kept // 2] + note + text[len(text) - kept // 2 :] if kept else note.strip()


def _left_out(chars: int) -> str:
    return f" [{chars} characters left out] "


_NOTE = re.compile(r"\[\d+ characters left out\]")
"""What stands in the place of a result that was cleared."""


# --- compact: whole steps only ----------------------------------------------------------------------


def split_steps(history: list[Entry]) -> tuple[list[Entry], list[list[Entry]]]:
    """Split a history into what stands before the first reply, and its steps.

    A step is a reply with all that follows up to the next reply: its results and the loop's notes.
    Replies of a hand-written loop may have no "role".
    """
    before: list[Entry] = []
    steps: list[list[Entry]] = []
    for entry in history:
        if is_reply(entry):
            steps.append([entry])
        elif steps:
            steps[-1].append(entry)
        else:
            before.append(entry)
    return before, steps


def compact(history: list[Entry], keep_steps: int, summarise: Summarise) -> list[Entry]:
    """Replace all but the last steps by one note with a summary; give a new list.

    The goal (the first entry) and the last `keep_steps` steps stay word for word. A step is kept or
    summarised whole, so no request is ever parted from its results. A history with no more steps than
    that comes back as it is. A summary loses details: what the model may need again belongs into the
    steps that are kept, or into a `Scratchpad`.
    summarise(entries) -> str: gets the old steps, with the note of an earlier summary if there is one.
    Raises ValueError if `keep_steps` is no whole number from 0 up; SummaryError if the summary is no
    text, blank, or longer than the steps it stands for (both as JSON text); and what `summarise` raises.
    """
    whole_number("keep_steps", keep_steps, minimum=0)
    before, steps = split_steps(history)
    old, recent = steps[: len(steps) - keep_steps], steps[len(steps) - keep_steps :]
    if len(steps) <= keep_steps:
        return list(history)
    goal, replaced = before[:1], [*before[1:], *chain(*old)]
    summary = summarise(list(replaced))
    if not isinstance(summary, str) or not summary.strip():
        raise SummaryError(f"{describe(summary)} came", summary)
    note = user(SUMMARY_WORDS + summary.strip())
    length, replaced_length = len(json_text([note])), len(json_text(replaced))
    if length > replaced_length:
        raise SummaryError(f"{length:,} characters came for {replaced_length:,}", summary)
    return [*goal, note, *chain(*recent)]


def clear_results(history: list[Entry], keep_steps: int) -> list[Entry]:
    """Replace the results of all but the last `keep_steps` steps by a note of their length; give a new list.

    The requests stay, so the model sees what it has asked. Results that are no longer than the note stay too,
    so that a second time changes nothing and no history grows.
    Raises ValueError if `keep_steps` is no whole number from 0 up.
    """
    whole_number("keep_steps", keep_steps, minimum=0)
    before, steps = split_steps(history)
    number_of_old = max(0, len(steps) - keep_steps)
    cleared = [[_without_result(entry) for entry in step] for step in steps[:number_of_old]]
    return [*before, *chain(*cleared, *steps[number_of_old:])]


def _without_result(entry: Entry) -> Entry:
    result = entry.get("result")
    if isinstance(result, str) and _NOTE.fullmatch(result):
        return entry
    chars = len(json_text(result))
    note = _left_out(chars).strip()
    return entry if chars <= len(json_text(note)) else {**entry, "result": note}


@dataclass
class CompactWhenFull:
    """Memory for `run_agent(..., memory=...)`: summarises old steps, and only when the window is filling.

    window_tokens: what the model's window holds. What a call will read is what the provider has counted for
    the last one, if the replies say so ("usage"), and our estimate of what is new.
    keep_steps: how many of the last steps stay word for word.
    summarise(entries) -> str: see `compact`; often a model call.
    full_at: the part of the window that may fill up before a summary is made, above 0 and up to 1.

    A summary is made once and read again at each call until the window fills again: one made anew at each
    step would cost a call each time, and nothing behind it could be read from a provider's cache.
    summaries: how many were made. problems: why a summary could not be used; the history then stays as it
    is, and the next call tries again.
    Raises WindowError, and with it ends the run as "fatal error", when what is left still does not fit.
    Raises ValueError at once for a wrong limit, TypeError if `summarise` is no function.
    """

    window_tokens: int
    keep_steps: int
    summarise: Summarise
    full_at: float = 0.8
    summaries: int = field(default=0, init=False)
    problems: list[str] = field(default_factory=list, init=False)
    _replaced: list[Entry] = field(default_factory=list, init=False, repr=False)
    _note: list[Entry] = field(default_factory=list, init=False, repr=False)
    _asked: tuple[int, int] = field(default=(0, 0), init=False, repr=False)
    """How long the history was at the last call, and our estimate of what was read then."""
    _counted: tuple[Usage | None, int] = field(default=(None, 0), init=False, repr=False)
    """The provider's figures for a call, and our estimate of what that call has read."""

    def __post_init__(self) -> None:
        whole_number("window_tokens", self.window_tokens)
        whole_number("keep_steps", self.keep_steps, minimum=0)
        if not is_number(self.full_at) or not 0 < self.full_at <= 1:
            raise ValueError(f"full_at is a number above 0 and up to 1, but was {describe(self.full_at)}.")
        if not callable(self.summarise):
            raise TypeError(f"summarise is a function, but was {describe(self.summarise)}.")

    def __call__(self, history: list[Entry]) -> list[Entry]:
        length, estimate = self._asked
        if history[: len(self._replaced)] != self._replaced or len(history) < length:  # of another run
            self._replaced, self._note, self._counted = [], [], (None, 0)
        elif length < len(history) and is_reply(history[length]):
            usage = read_usage(history[length].get("usage"))
            self._counted = (Usage(**usage), estimate) if usage else self._counted
        read = self._with_note(history)
        if self._tokens(read) > self.full_at * self.window_tokens:
            self._shorten(read, history)
            read = self._with_note(history)
        tokens = self._tokens(read)
        if tokens > self.window_tokens:
            raise self._too_long(history, tokens)
        self._asked = len(history), estimate_tokens(read)
        return read

    def _tokens(self, read: list[Entry]) -> int:
        return next_reading(*self._counted, estimate_tokens(read)).input_tokens

    def _with_note(self, history: list[Entry]) -> list[Entry]:
        if not self._note:
            return list(history)
        return [history[0], *self._note, *history[len(self._replaced) :]]

    def _shorten(self, read: list[Entry], history: list[Entry]) -> None:
        try:
            shorter = compact(read, self.keep_steps, self.summarise)
        except Exception as problem:  # a summariser is often a model, and its provider may be down
            self.problems.append(words_of(problem))
            return
        if shorter == read:  # no more steps than are to be kept
            return
        if estimate_tokens(shorter) >= estimate_tokens(read):
            self.problems.append("the summary saved no tokens")
            return
        # Behind the goal and the note stand the steps that are kept.
        self._note = copy.deepcopy(shorter[1:2])
        self._replaced = copy.deepcopy(history[: len(history) - len(shorter[2:])])
        self.summaries += 1

    def _too_long(self, history: list[Entry], tokens: int) -> WindowError:
        goal_tokens = estimate_tokens(history[:1])
        if goal_tokens > self.window_tokens:
            advice = "Shorten it, or take a model with a larger window."
            return WindowError("The goal alone takes", goal_tokens, self.window_tokens, advice)
        advice = "Keep fewer steps word for word, or trim the results."
        if self.problems:
            advice = f"The last summary failed: {self.problems[-1]}"
        return WindowError("What the model would read takes", tokens, self.window_tokens, advice)


class WindowedModel(InformedModel):
    """Passes each call on to another model, and fails, as a real one does, when the window is too small.

    window_tokens: one (estimated) token more raises WindowError; a run ends with "model error".
    """

    def __init__(self, model: ModelFunction, window_tokens: int) -> None:
        whole_number("window_tokens", window_tokens)
        self.model = model
        self.window_tokens = window_tokens

    def call(self, history: list[Entry], request: ModelRequest) -> Any:
        tokens = estimate_tokens(history)
        if tokens > self.window_tokens:
            advice = "Trim results, summarise old steps, or stop earlier."
            raise WindowError("The history takes", tokens, self.window_tokens, advice)
        return call_model(self.model, history, request)


# --- notes outside the window -----------------------------------------------------------------------


class Scratchpad:
    """Notes that a model keeps in a file, outside of its window: they outlive the run and the program.

    path: a JSON file, made when the first note is written. max_chars: the most characters of all notes.
    `tools` are the two tools to give to a run: `write_note` and `read_notes`. A note is written to a file
    beside it first, which then takes the place of the old one in a single move: a crash in the middle
    leaves the old notes whole. One program at a time may write.
    """

    def __init__(self, path: str | Path, max_chars: int = 10_000) -> None:
        whole_number("max_chars", max_chars)
        self.path = Path(path)
        self.max_chars = max_chars
        # Writing the same note twice is no sign of a stuck model.
        self.tools: list[Tool] = [tool(self.write_note, repeatable=True), tool(self.read_notes)]

    def write_note(self, title: str, text: str) -> str:
        """Keep a note under a title; a note with that title is replaced."""
        notes = {**self.notes(), title: text}
        chars = sum(len(name) + len(words) for name, words in notes.items())
        if chars > self.max_chars:
            raise ToolError(
                f"Not saved: the notes would hold {chars:,} characters, and {self.max_chars:,} fit. "
                "Replace a note by a shorter one.",
                code="full",
            )
        beside = self.path.with_name(self.path.name + ".part")
        try:
            with beside.open("w", encoding="utf-8") as file:
                json.dump(notes, file, indent=1)
                file.flush()
                os.fsync(file.fileno())  # on the disk before it takes the old file's place
            beside.replace(self.path)
        except OSError as problem:
            raise ToolError(
                f"Not saved: {problem.strerror or problem}. Put what matters into the answer.",
                code="not_saved",
            ) from problem
        return f'Saved "{title}". Notes kept: {len(notes)}.'

    def read_notes(self) -> dict[str, dict[str, str]]:
        """Give all notes that were kept, by title, those of earlier runs too."""
        # In a dict of their own: a note called "error" must not make this result look like a failure.
        return {"notes": self.notes()}

    def notes(self) -> dict[str, str]:
        """Give the notes by title. Raises ToolError if the file cannot be read or holds something else."""
        try:
            notes = json.loads(self.path.read_text(encoding="utf-8-sig"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as problem:
            # Never written over: whatever this file is, it may be of worth to somebody.
            raise ToolError(f"The notes cannot be read: {problem}", code="not_readable") from problem
        if not isinstance(notes, dict) or not all(isinstance(text, str) for text in notes.values()):
            raise ToolError("The notes cannot be read: the file holds something else.", code="not_readable")
        return notes
