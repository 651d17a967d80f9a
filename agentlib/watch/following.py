"""The history of a watched loop: the list that it gives to its model, followed while it grows."""

from collections import deque
from collections.abc import Iterator
from types import FrameType
from typing import Any

from agentlib.costs import entry_tokens, text_tokens
from agentlib.messages import json_ready, json_text

__all__ = ["FollowedHistory"]

SHORT = 100
"""A history of at most this many entries is compared as a whole at each line of the loop."""

NEAREST_CALLS = 20
"""In a recursive loop the history is looked for in this many calls, from the innermost on."""

_LISTS = (list, tuple, deque)


class FollowedHistory:
    """Knows where a loop keeps its history, and tells what has changed in it.

    Before the first call it is the local variable that begins with the goal; then the variable that holds
    what the model was given, or (with entries before it, such as a system message) the end of that.
    A loop that keeps its history elsewhere is followed by the list itself, as it was given.

    frames: the calls of the loop that are going on, the innermost last.
    """

    def __init__(self, goal: Any, frames: list[FrameType]) -> None:
        self.goal = goal
        self.frames = frames
        self.names: list[str] = []
        """The variables that hold the history, such as "history" or "self.history"; [] = none is known."""
        self.entries: list[Any] = []
        """The history as it was last seen, ready for JSON."""
        self._before: list[Any] = []  # what the model reads before the variable's own entries
        self._given: Any = None
        self._seen: list[Any] = []  # as `entries`, but with the very values, to see what changes
        self._tokens: list[int] = []

    def find(self, given: Any) -> None:
        """Find out where the list lives that the model is about to read."""
        self._given = given
        lists = [
            (name, value)
            for frame in self._nearest()
            for name, value in _variables(frame)
            if isinstance(value, _LISTS)
        ]
        # A function inside the loop may know it by another name than the loop itself.
        names = [name for name, value in lists if value is given]
        if names:
            self.names, self._before = names, []
            return
        entries = _as_list(given)
        ends = [(name, len(value)) for name, value in lists if self._is_end(entries, list(value))]
        longest = max((length for _, length in ends), default=0)
        if longest:
            self.names = [name for name, length in ends if length == longest]
            self._before = entries[: len(entries) - longest]
        elif len(self.now() or ()) < len(entries):
            self.names = []  # else the model reads a shortened form of the history that is known already

    def _is_end(self, entries: list[Any], value: list[Any]) -> bool:
        if not 0 < len(value) <= len(entries):
            return False
        # A list that does not begin with the goal may be at the end by chance.
        if len(value) < len(entries) and not self._begins_with_goal(value):
            return False
        return _equal(entries[len(entries) - len(value) :], value)

    def now(self) -> list[Any] | None:
        """Give the entries as they are at this moment; None = not known."""
        for frame in self._nearest():
            variables = dict(_variables(frame))
            for name in self.names:
                if isinstance(variables.get(name), _LISTS):
                    return [*self._before, *variables[name]]
            if self._given is None:
                for value in variables.values():
                    if self._begins_with_goal(value):
                        return list(value)
        return None if self.names or self._given is None else _as_list(self._given)

    def _nearest(self) -> list[FrameType]:
        return self.frames[: -NEAREST_CALLS - 1 : -1]

    def _begins_with_goal(self, value: Any) -> bool:
        """True for a list that has the goal in one of its first three entries."""
        return isinstance(value, list) and any(
            type(part) is str and type(self.goal) is str and self.goal in part
            for entry in value[:3]
            if isinstance(entry, dict)
            for part in dict.values(entry)
        )

    def looks_the_same(self, now: list[Any] | None) -> bool:
        """True if a quick look finds no change: in a long history, the last few entries are all it looks at.

        Comparing all of it at each line would take minutes in a run of a thousand steps. A change further
        up is found when the model or a tool is called the next time.
        """
        if now is None or len(now) <= SHORT or len(now) != len(self._seen):
            return False
        return _equal(now[-10:], self._seen[-10:])

    def change(self, now: list[Any] | None) -> tuple[int, list[Any]] | None:
        """Say what is new: how many entries are as before, and those that follow. None = nothing."""
        if now is None or _equal(now, self._seen):
            return None
        same = _same_at_start(now, self._seen)
        new = [json_ready(entry)[0] for entry in now[same:]]
        self._seen[same:] = [_copied(entry) for entry in now[same:]]
        # What cannot be compared looks changed each time, though nothing that can be shown has changed.
        while new and same < len(self.entries) and new[0] == self.entries[same]:
            del new[0]
            same += 1
        if not new and same == len(self.entries):
            return None
        self.entries[same:] = new
        self._tokens[same:] = [_tokens(entry) for entry in new]
        return same, new

    def as_read(self, given: Any) -> tuple[int, int, list[Any] | None]:
        """Say what the model is about to read: how many entries and tokens, and what, if not the history."""
        entries = _as_list(given)
        if _equal(entries, self._seen):
            return len(entries), sum(self._tokens), None
        read = [json_ready(entry)[0] for entry in entries]
        return len(read), sum(map(_tokens, read)), None if read == self.entries else read


def _as_list(given: Any) -> list[Any]:
    """List the entries of whatever a loop gives to its model; what is no list counts as one entry."""
    if isinstance(given, _LISTS):
        return list(given)
    return [] if given is None else [given]


def _variables(frame: FrameType) -> Iterator[tuple[str, Any]]:
    """List the local variables of a frame, and the attributes of its `self`."""
    variables = dict(frame.f_locals)
    yield from variables.items()
    if "self" in variables:
        try:
            attributes = dict(vars(variables["self"]))
        except TypeError:
            return  # an object without attributes of its own
        yield from ((f"self.{name}", value) for name, value in attributes.items())


def _equal(one: Any, other: Any) -> bool:
    """Compare two values of any kind; what cannot be compared counts as different."""
    try:
        return bool(one == other)
    except Exception:
        return False


def _same_at_start(one: list[Any], other: list[Any]) -> int:
    """Count the entries that two lists have in common before the first difference, by halving."""
    same, most = 0, min(len(one), len(other))
    while same < most:
        middle = (same + most + 1) // 2
        if _equal(one[same:middle], other[same:middle]):
            same = middle
        else:
            most = middle - 1
    return same


def _copied(value: Any, parents: tuple[int, ...] = ()) -> Any:
    """Copy the dicts, lists and sets in a value, so that a change to them is seen; keep all else as it is."""
    if len(parents) > 20 or id(value) in parents:
        return value
    inside = (*parents, id(value))
    if isinstance(value, dict):
        return {key: _copied(item, inside) for key, item in dict.items(value)}
    if isinstance(value, list):
        return [_copied(item, inside) for item in list.__iter__(value)]
    if isinstance(value, tuple):
        return tuple(_copied(item, inside) for item in tuple.__iter__(value))
    return set(value) if isinstance(value, set) else value


def _tokens(entry: Any) -> int:
    """Estimate the tokens of one entry; one in a shape of its own counts by its JSON text."""
    if isinstance(entry, dict) and not entry.keys().isdisjoint(("text", "type", "result")):
        try:
            return entry_tokens(entry)
        except Exception:
            pass  # such as a "text" that is a number
    return text_tokens(json_text(entry))
