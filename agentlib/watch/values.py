"""Values of a watched loop as they are at one moment: a copy to compare with, a plain form, a short form.

Nothing here runs code that belongs to such a value: no property, no `__repr__`, no `__eq__`. A watched loop
has to do what it does unwatched, and a `__repr__` may count its calls or ask a database.
"""

import functools
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from types import MemberDescriptorType, ModuleType, SimpleNamespace
from typing import Any

from agentlib._json import copy_plain
from agentlib.messages import Entry, json_ready, whole

__all__ = ["attributes", "is_left_out", "is_small", "kept", "plain_form", "short_form"]

MAX_CHARS = 80
"""A short form is about this many characters long; what is cut off is said beside it."""

MAX_OBJECTS = 4
"""Objects inside of objects are looked into this deep: a message, its parts, a part's call, its function."""

MAX_LINKS = 50
"""A list in an object that holds more objects than that is not looked into."""

_PLAIN = frozenset({str, int, float, bool, type(None), dict, list, tuple})
_FORMS_OF_THEIR_OWN = (
    str, int, float, bytes, bytearray, tuple, list, set, frozenset, Mapping, Enum, type, ModuleType,
)  # fmt: skip


def attributes(value: Any) -> Entry:
    """Give what an object of somebody's class holds: a dataclass, a pydantic model, any other. {} = nothing.

    Names that begin with "_" are the object's own affair.
    """
    kind: Any = type(value)
    slots = _slots(kind)
    if slots is None:
        return {}
    held: Entry = {}
    for name, slot in slots:
        try:
            held[name] = slot.__get__(value)
        except AttributeError:
            continue  # one that is empty
    try:
        own = object.__getattribute__(value, "__dict__")
    except Exception:
        own = {}  # slots alone, or a property of that name
    for name, item in own.items() if type(own) is dict else ():
        if type(name) is str and not name.startswith("_"):
            held[name] = item if type(item) is not list or len(item) <= MAX_LINKS else _links(item)
    more = held.pop(_PYDANTIC_EXTRA, None)
    return {**held, **more} if type(more) is dict else held


def _links(items: list[Any]) -> Any:
    """Give many objects as their number: a message may know the whole talk that it is a part of."""
    kind: Any = type(items[0])
    return items if _slots(kind) is None else f"<list, {len(items):,} items>"


_PYDANTIC_EXTRA = "__pydantic_extra__"
"""The slot in which a pydantic model keeps fields that its class does not name."""


@functools.lru_cache(1_000)
def _slots(kind: type) -> tuple[tuple[str, Any], ...] | None:
    """List the slots of a class, by their names. None = its objects are not looked into."""
    if (_is_pythons_own(kind) and kind is not SimpleNamespace) or issubclass(kind, _FORMS_OF_THEIR_OWN):
        return None
    return tuple(
        (name, member)
        for base in kind.__mro__
        for name, member in vars(base).items()
        if type(member) is MemberDescriptorType and (name[0] != "_" or name == _PYDANTIC_EXTRA)
    )


def _is_pythons_own(kind: type) -> bool:
    return str(_MODULE(kind)).partition(".")[0] in sys.stdlib_module_names


# As Python itself knows them: a class of classes may have a `__name__` of its own that raises.
_name: Callable[[type], str] = type.__dict__["__name__"].__get__
_MODULE: Callable[[type], object] = type.__dict__["__module__"].__get__


class _Kept:
    """An object as it was: equal to that very object as long as it holds the same."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any, held: Any) -> None:
        self.value, self.held = value, held

    def __eq__(self, other: object) -> bool:
        return other is self.value and self.held == _held(other)


def _held(value: Any) -> Any:
    """Give what an object holds, one of a class of somebody's own dicts and lists too."""
    if issubclass(type(value), dict):
        return dict(dict.items(value))
    return list(list.__iter__(value)) if issubclass(type(value), list) else attributes(value)


def kept(value: Any, parents: tuple[int, ...] = (), objects: int = 0) -> Any:
    """Copy a value, so that any later change to it is seen by comparing: `kept(value) == value`.

    Dicts, lists and sets are copied, and what an object of somebody's class holds; all else is kept as it is.
    """
    kind: Any = type(value)
    if kind is str or kind is int or len(parents) > 20 or id(value) in parents:
        return value
    inside = (*parents, id(value))
    if issubclass(kind, dict):
        held: Any = {key: kept(item, inside, objects) for key, item in dict.items(value)}
        # A class may have an `__eq__` of its own, which Python would ask first.
        return held if kind is dict else _Kept(value, held)
    if issubclass(kind, list):
        held = [kept(item, inside, objects) for item in list.__iter__(value)]
        return held if kind is list else _Kept(value, held)
    if issubclass(kind, tuple):
        return tuple(kept(item, inside, objects) for item in tuple.__iter__(value))
    if issubclass(kind, set):
        return set(value)
    if _slots(kind) is None:
        return value
    held = attributes(value) if objects < MAX_OBJECTS else {}
    return _Kept(value, {name: kept(item, inside, objects + 1) for name, item in held.items()})


def plain_form(value: Any) -> Any:
    """Make a value ready for JSON; an object of somebody's class becomes a dict of what it holds."""
    try:
        copy_plain(value)
    except Exception:  # there is more in it than JSON's own types
        value = _opened(value, (), 0)
    try:
        return json_ready(value)[0]
    except Exception:  # a class may raise wherever it is asked something
        return short_form(value)


def _opened(value: Any, parents: tuple[int, ...], objects: int) -> Any:
    """Put dicts in the place of objects."""
    if len(parents) > 20 or id(value) in parents:
        return value
    inside = (*parents, id(value))
    kind = type(value)
    if issubclass(kind, dict):
        return {key: _opened(item, inside, objects) for key, item in dict.items(value)}
    if issubclass(kind, list) or kind is tuple:
        base = list if issubclass(kind, list) else tuple
        return [_opened(item, inside, objects) for item in base.__iter__(value)]
    held = attributes(value) if objects < MAX_OBJECTS else {}
    return {name: _opened(item, inside, objects + 1) for name, item in held.items()} or value


# --- short forms ------------------------------------------------------------------------------------


def is_left_out(value: Any) -> bool:
    """True for what is no data: functions, classes, modules, and what holds them, such as a dict of tools."""
    if callable(value) or type(value) is ModuleType:
        return True
    if type(value) in (list, tuple, dict) and value:
        return callable(next(iter(value.values() if type(value) is dict else value)))
    return False


def is_small(value: Any, most: int = 50) -> bool:
    """True for a value of few plain parts: copying it is quick, and the copy holds no object of the loop."""
    return _parts(value, most) <= most


def _parts(value: Any, most: int) -> int:
    kind = type(value)
    if kind not in _PLAIN:
        return most + 1
    count = 1
    for part in value.values() if kind is dict else value if kind in (list, tuple) else ():
        if count > most:
            break
        count += _parts(part, most - count)
    return count


def short_form(value: Any, room: int = MAX_CHARS) -> str:
    """Show any value in about `room` characters, whatever it is, with its size where it is longer.

    Of a large value only the beginning is looked at.
    """
    try:
        return whole(_short(value, room, ()))
    except KeyboardInterrupt:
        raise
    except BaseException:  # a class may raise wherever Python itself asks it something
        return whole(f"<{_name(type(value))}>")


def _short(value: Any, room: int, parents: tuple[int, ...]) -> str:
    kind = type(value)
    if kind is str or kind is bytes:
        return _short_text(value, room)
    if value is None or kind is bool or kind is float:
        return repr(value)
    if kind is int:
        bits = value.bit_length()
        return repr(value) if bits < 200 else f"<whole number of {bits:,} bits>"
    name = _name(kind)
    if id(value) in parents or len(parents) > 5:
        return f"<the same {name} again>" if id(value) in parents else f"<{name}>"
    inside = (*parents, id(value))
    if issubclass(kind, Enum):
        return f"{name}.{object.__getattribute__(value, '_name_')}"
    if issubclass(kind, str):
        return _short_text(str.__str__(value), room)
    if issubclass(kind, dict):
        size = dict.__len__(value)
        return _row("{", _pairs(dict.items(value), _share(room, size), inside), "}", size, room)
    for base, opening, closing in _ROWS:
        if issubclass(kind, base):
            one = "," if base is tuple and tuple.__len__(value) == 1 else ""
            items = (_short(item, room // 2, inside) for item in base.__iter__(value))  # type: ignore[attr-defined]
            return _row(opening, items, one + closing, base.__len__(value), room)  # type: ignore[attr-defined]
    for base in (set, frozenset):
        if issubclass(kind, base):
            size = base.__len__(value)
            if not 0 < size <= 20:
                return f"<{name}, {size:,} items>" if size else f"{name}()"
            # They have no order, so that it would change from run to run.
            few = sorted(_short(item, room // 2, inside) for item in base.__iter__(value))
            return _row("{", few, "}", size, room)
    if issubclass(kind, BaseException):
        args = BaseException.args.__get__(value)  # type: ignore[attr-defined]
        share = _share(room, len(args))
        return _row(f"{name}(", (_short(arg, share, inside) for arg in args), ")", len(args), room)
    held = attributes(value)
    if held:
        pieces = (f"{key}={_short(item, room // 2, inside)}" for key, item in held.items())
        return _row(f"{name}(", pieces, ")", len(held), room)
    if not _is_pythons_own(kind) or callable(value):
        return f"<{name}>"
    if kind is not range and any("__len__" in vars(base) for base in kind.__mro__):
        return f"<{name}, {len(value):,} items>"
    text = repr(value)  # such as a date or a Decimal
    return (
        f"<{name}>" if text.startswith("<") else text[: 2 * MAX_CHARS]
    )  # that may hold an address in memory


_ROWS: tuple[tuple[type, str, str], ...] = ((list, "[", "]"), (tuple, "(", ")"), (deque, "deque([", "])"))


def _short_text(text: str | bytes, room: int) -> str:
    size = len(text)
    if size <= room:
        return repr(text)
    unit = "characters" if isinstance(text, str) else "bytes"
    return f"{repr(text[: room // 2])[:-1]}...' ({size:,} {unit})"


def _share(room: int, size: int) -> int:
    """Give the room for each item of a value; one that is alone has more of it."""
    return room * 3 // 4 if size == 1 else room // 2


def _pairs(items: Iterable[tuple[Any, Any]], room: int, inside: tuple[int, ...]) -> Iterator[str]:
    for key, item in items:
        yield f"{_short(key, room, inside)}: {_short(item, room, inside)}"


def _row(opening: str, pieces: Iterable[str], closing: str, size: int, room: int) -> str:
    """Put pieces side by side as long as there is room, and say how many there are where there is none."""
    text = opening
    for number, piece in enumerate(pieces):
        if number and len(text) + len(piece) > room:
            return f"{text}, ...{closing} ({size:,} items)"
        text += f", {piece}" if number else piece
    return text + closing
