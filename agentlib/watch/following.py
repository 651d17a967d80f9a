"""The history of a watched loop: the list that it gives to its model, followed while it grows."""

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from types import FrameType
from typing import Any

from agentlib.costs import entry_tokens, text_tokens
from agentlib.messages import Entry, json_text
from agentlib.watch.lines import LineWatcher
from agentlib.watch.values import kept, plain_form

__all__ = ["FollowedHistory"]

SHORT = 100
"""A history of at most this many entries is compared as a whole at each line of the loop."""

LAST = 10
"""In a longer one, so many of the last entries are compared at each line."""

BY_TURNS = 50
"""At each call of the model or a tool it is seen whether all entries are still the same ones.

Of a long history the first and the last ones and so many in between, by turns, are compared with what they
held: comparing all of it would take longer at each step. A change inside of an old entry that stands between
these is found some calls later.
"""

NEAREST_CALLS = 20
"""In a recursive loop the history is looked for in this many calls, from the innermost on."""

FAR_IN = 10_000
"""The goal begins within so many characters of the entry that holds it."""

_LISTS = (list, tuple, deque)


class FollowedHistory:
    """Knows where a loop keeps its history, and tells what has changed in it.

    Before the first call it is the local variable that begins with the goal; then the variable that holds
    what the model was given, or (with entries before it, such as a system message) the end of that.
    A loop that keeps its history elsewhere is followed by the list itself, as it was given.
    """

    def __init__(self, goal: Any, lines: LineWatcher) -> None:
        self.goal = goal
        self.lines = lines
        self.names: list[str] = []
        """The variables that hold the history, such as "history" or "self.history"; [] = none is known."""
        self.entries: list[Any] = []
        """The history as it was last seen, ready for JSON."""
        self.tokens = 0
        self._before: list[Any] = []  # what the model reads before the variable's own entries
        self._given: Any = None
        self._seen: list[Any] = []  # as `entries`, but with copies of the values, to see what changes
        self._very: list[Any] = []  # as `entries`, but the loop's own objects
        self._each_tokens: list[int] = []
        self._turn = 0

    def find(self, given: Any) -> None:
        """Find out where the list lives that the model is about to read."""
        self._given = given
        lists = [
            (name, value)
            for variables in self._nearest()
            for name, value in variables.items()
            if _is_list(value)
        ]
        # A function inside the loop may know it by another name than the loop itself.
        names = [name for name, value in lists if value is given]
        if names:
            self.names, self._before = names, []
            return
        entries = _as_list(given)
        own = [(name, _as_list(value)) for name, value in lists]
        ends = [(name, len(value)) for name, value in own if self._is_end(entries, value)]
        longest = max((length for _, length in ends), default=0)
        if longest:
            self.names = [name for name, length in ends if length == longest]
            self._before = entries[: len(entries) - longest]
        elif len(self.now() or ()) + len(self._before) < len(entries):
            self.names, self._before = (
                [],
                [],
            )  # else the model reads a shortened form of what is known already

    def _is_end(self, entries: list[Any], value: list[Any]) -> bool:
        if not 0 < len(value) <= len(entries):
            return False
        # A list that does not begin with the goal may be at the end by chance.
        if len(value) < len(entries) and not self.begins_with_goal(value):
            return False
        return _equal(entries[len(entries) - len(value) :], value)

    def now(self) -> Sequence[Any] | None:
        """Give the loop's own list as it is at this moment; None = not known."""
        for variables in self._nearest():
            found = self.found_in(variables)
            if found is not None:
                return found
        return None if self.names or self._given is None else _as_list(self._given)

    def found_in(self, variables: Entry) -> Sequence[Any] | None:
        """Give the list if it is one of these variables."""
        for name in self.names:
            value = variables.get(name)
            if _is_list(value):
                return _plain_list(value)
        if self._given is None:
            return next(map(_plain_list, filter(self.begins_with_goal, variables.values())), None)
        return None

    def _nearest(self) -> Iterator[Entry]:
        return map(self.variables, islice(self.lines.calls(), NEAREST_CALLS))

    def variables(self, frame: FrameType) -> Entry:
        """Give the variables of a call of the loop, and with them the attributes of its `self`."""
        variables = self.lines.variables(frame)
        if "self" in variables:
            try:
                attributes = dict(object.__getattribute__(variables["self"], "__dict__"))
            except Exception:
                attributes = {}  # an object without attributes of its own
            variables.update((f"self.{name}", value) for name, value in attributes.items())
        return variables

    def begins_with_goal(self, value: Any) -> bool:
        """True for a list that has the goal in one of its first three entries."""
        return issubclass(type(value), list) and any(
            type(part) is str and type(self.goal) is str and self.goal in part[: FAR_IN + len(self.goal)]
            for entry in list.__getitem__(value, slice(3))
            if issubclass(type(entry), dict)
            for part in islice(dict.values(entry), 20)
        )

    def change(self, now: Sequence[Any] | None, quick: bool = False) -> tuple[int, list[Any]] | None:
        """Say what is new: how many entries are as before, and those that follow. None = nothing.

        quick: between two lines, where it must not take longer the longer the history is.
        """
        if now is None:
            return None
        before = len(self._before)
        same = self._same(now, quick)
        if same == len(self._seen) == before + len(now):
            return None
        fresh = [*self._before[same:], *now[max(0, same - before) :]]
        new = [plain_form(entry) for entry in fresh]
        self._seen[same:] = [kept(entry) for entry in fresh]
        self._very[same:] = fresh
        # What cannot be compared looks changed each time, though nothing that can be shown has changed.
        while new and same < len(self.entries) and new[0] == self.entries[same]:
            del new[0]
            same += 1
        if not new and same == len(self.entries):
            return None
        tokens = [_tokens(entry) for entry in new]
        self.tokens += sum(tokens) - sum(self._each_tokens[same:])
        self.entries[same:], self._each_tokens[same:] = new, tokens
        return same, new

    def _same(self, now: Sequence[Any], quick: bool) -> int:
        """Count the entries that are as they were, from the first one on."""
        before, known = len(self._before), len(self._seen)
        own = known - before  # so many of the loop's own list were seen
        is_short = known <= SHORT
        if (
            0 <= own <= len(now)
            and (not before or _equal(self._seen[:before], self._before))
            and self._are_as_seen(now, 0 if is_short else max(0, own - LAST), own)
            and (quick or is_short or self._old_ones_are_the_same(now, own))
        ):
            return known
        return _same_at_start(self._seen, [*self._before, *now])

    def _old_ones_are_the_same(self, now: Sequence[Any], own: int) -> bool:
        before = len(self._before)
        very = self._very[before:] if before else self._very
        old = now if len(now) == own and type(now) is list else list(now[:own])
        self._turn = (self._turn + BY_TURNS) % (own or 1)
        return (
            _equal(very, old)
            and self._are_as_seen(old, 0, LAST)
            and self._are_as_seen(old, max(0, own - BY_TURNS), own)
            and self._are_as_seen(old, self._turn, min(self._turn + BY_TURNS, own))
        )

    def _are_as_seen(self, now: Sequence[Any], first: int, end: int) -> bool:
        before = len(self._before)
        return _equal(self._seen[before + first : before + end], list(now[first:end]))

    def as_read(self, given: Any) -> tuple[int, int, list[Any] | None]:
        """Say what the model is about to read: how many entries and tokens, and what, if not the history."""
        entries = _as_list(given)
        if _equal(self._very, entries) or _equal(self._seen, entries):
            return len(entries), self.tokens, None
        read = [plain_form(entry) for entry in entries]
        return len(read), sum(map(_tokens, read)), None if read == self.entries else read


def _is_list(value: Any) -> bool:
    return issubclass(type(value), _LISTS)  # isinstance() would ask the value itself what it is


def _plain_list(value: Any) -> Sequence[Any]:
    return value if type(value) is list or type(value) is tuple else _as_list(value)


def _as_list(given: Any) -> list[Any]:
    """List the entries of whatever a loop gives to its model; what is no list counts as one entry."""
    for base in _LISTS:
        if issubclass(type(given), base):
            return list(base.__iter__(given))  # not its own way to be gone through
    return [] if given is None else [given]


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


def _tokens(entry: Any) -> int:
    """Estimate the tokens of one entry; one in a shape of its own counts by its JSON text."""
    if type(entry) is dict and not entry.keys().isdisjoint(("text", "type", "result")):
        try:
            return entry_tokens(entry)
        except Exception:
            pass  # such as a "text" that is a number
    return text_tokens(json_text(entry))
