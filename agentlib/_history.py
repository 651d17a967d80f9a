"""The record of one run: it only grows, and the model reads it through a view that it cannot corrupt."""

from collections.abc import Callable
from sys import getrefcount
from typing import Any, TypeVar

from agentlib.messages import Entry

__all__ = ["History"]


class History:
    """The entries of one run, oldest first.

    `entries` is the record, `tokens` its estimated size. `view()` makes the list that a model gets.
    Copying everything at each of n model calls would cost O(n^2), so each entry is copied once, when it
    is added, and copied again only if a model has written into its view.
    """

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.tokens = 0
        self._touched: list[bool] = []
        self._view = self._new_view([])
        self._unshared = getrefcount(self._view)  # what is counted while nobody else holds the view

    def add(self, entry: Entry, tokens: int) -> None:
        """Add one entry of so many estimated tokens; the caller must not change it afterwards."""
        self.tokens += tokens
        self.entries.append(entry)

    def view(self) -> list[Entry]:
        """Give the history as a list that may be kept and changed freely: the record stays as it is."""
        if self._touched:
            self._touched.clear()
            self._view = self._new_view([])
        elif getrefcount(self._view) > self._unshared:
            # Somebody has kept the last view and must not see it grow.
            self._view = self._new_view(self._view)
        known = len(self._view)
        for entry in self.entries[known:]:
            list.append(self._view, _guard(entry, self._touched))
        return self._view

    def _new_view(self, copies: list[Entry]) -> "_GuardedList":
        view = _GuardedList(copies)
        view.touched = self._touched
        return view


def _guard(value: Any, touched: list[bool]) -> Any:
    """Copy nested dicts and lists into ones that tell when somebody writes into them."""
    copy: Any
    if type(value) is dict:
        copy = _GuardedDict(value)
        for key, item in value.items():
            if (kind := type(item)) is dict or kind is list:
                dict.__setitem__(copy, key, _guard(item, touched))
    else:
        copy = _GuardedList([_guard(item, touched) if type(item) in _NESTED else item for item in value])
    copy.touched = touched
    return copy


_NESTED = frozenset({dict, list})


class _GuardedDict(dict[str, Any]):
    """A dict in all respects; a change to it is noted in `touched`."""

    __slots__ = ("touched",)
    touched: list[bool]

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return {key: _unguard(item) for key, item in self.items()}

    def __reduce_ex__(self, protocol: Any) -> Any:  # pickled and copied as the plain dict that it shows
        return dict, (_unguard(self),)


class _GuardedList(list[Any]):
    """A list in all respects; a change to it is noted in `touched`."""

    __slots__ = ("touched",)
    touched: list[bool]

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return [_unguard(item) for item in self]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return list, (_unguard(self),)


def _unguard(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unguard(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_unguard(item) for item in value]
    return value


Method = TypeVar("Method", bound=Callable[..., Any])


def _noting(method: Method) -> Method:
    """Wrap a method that changes its dict or list, so that the change is noted first."""

    def changed(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.touched.append(True)
        return method(self, *args, **kwargs)

    return changed  # type: ignore[return-value]


for _name in ("__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault", "update"):
    setattr(_GuardedDict, _name, _noting(getattr(dict, _name)))
for _name in ("__setitem__", "__delitem__", "__iadd__", "__imul__", "append", "clear", "extend", "insert",
              "pop", "remove", "reverse", "sort"):  # fmt: skip
    setattr(_GuardedList, _name, _noting(getattr(list, _name)))
