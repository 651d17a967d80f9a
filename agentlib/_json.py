"""Values made ready for JSON, whatever a tool or a model has given, and short forms of them for messages."""

import codecs
import functools
import itertools
import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence, Set, ValuesView
from enum import Enum
from numbers import Integral, Real
from types import SimpleNamespace
from typing import Any, TypeGuard

__all__ = [
    "MAX_DEPTH",
    "MAX_DIGITS",
    "copy_plain",
    "describe",
    "exact_number",
    "is_number",
    "json_ready",
    "json_text",
    "make_plain",
    "read_lines",
    "ready_copy",
    "short",
    "text_of",
    "utf8_length",
    "whole",
    "whole_number",
]

MAX_DIGITS = 4_000
"""A whole number with more digits becomes text: Python itself refuses to read more than 4,300."""

MAX_DEPTH = 50
"""Lists and dicts nested deeper than this are cut off when a result is made ready for JSON."""

MAX_ITEMS = 100_000
"""An array or a range with more values than this is shown in short: written out, it would fill the memory."""


# --- short forms ------------------------------------------------------------------------------------


def short(value: object, limit: int = 120, *, say_length: bool = False) -> str:
    """Show a value in at most `limit` characters; a value that cannot be shown is named by its type.

    say_length: if it is cut, its end says how long the whole is.
    """
    try:
        text = whole(str.__str__(value) if isinstance(value, str) else repr(value))
    except KeyboardInterrupt:
        raise
    except BaseException:  # a method of the value itself may raise anything
        text = f"<{type(value).__name__} that cannot be shown>"
    if len(text) <= limit:
        return text
    end = f" ... (cut, {len(text)} characters in all)" if say_length else "..."
    return text[: limit - len(end)] + end


def whole(text: str) -> str:
    """Mend half Unicode characters (lone surrogates): no file can hold them and no screen can show them."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def utf8_length(text: str) -> int:
    """Count the bytes of a text in UTF-8: one for a letter of English, three for a character of Chinese."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def describe(value: object) -> str:
    """Name a value and its type, for an error message: `3.5 (float)`."""
    if value is None:
        return "None"
    if isinstance(value, str):
        return f'"{short(value, 80)}" (text)'
    return f"{short(value, 80)} ({type(value).__name__})"


# --- checks ------------------------------------------------------------------------------------------


def is_number(value: object) -> TypeGuard[float]:
    """True for a number; True and False are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def whole_number(name: str, value: object, minimum: int = 1) -> int:
    """Check a limit: a whole number from `minimum` up. Raises ValueError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
        raise ValueError(f"{name} is a whole number from {minimum} up, but was {describe(value)}.")
    return value


def exact_number(digits: str) -> float:
    """Read a number with a point: as a float, or as a whole number that no float holds, such as a long id."""
    from decimal import Decimal  # noqa: PLC0415  few need it; it loads slowly

    number, exact = float(digits), Decimal(digits)
    is_long = number.is_integer() and Decimal(repr(number)) != exact == int(exact)
    return int(exact) if is_long else number


# --- files of lines -----------------------------------------------------------------------------------


def read_lines(data: bytes) -> list[bytes]:
    """Split a file into its lines, without a UTF-8 mark in front and without empty lines at the end.

    Editors put a mark in front, and leave out the last line break or add one.
    """
    data = data.removeprefix(codecs.BOM_UTF8)
    lines = data.split(b"\n") if data else []
    while len(lines) > 1 and not lines[-1].strip():
        lines.pop()
    return lines


# --- ready for JSON ---------------------------------------------------------------------------------


def json_ready(value: object, more_depth: int = 0) -> tuple[Any, str, tuple[str, ...]]:
    """Make a value ready for JSON: give a fresh copy, its JSON text, and notes on what had to be changed.

    more_depth: how many levels deeper than usual the value may be nested.
    What has an obvious form in JSON gets it without a note: tuples, arrays of NumPy, models of pydantic, rows
    of pandas or of a database; keys that are no text become text. Nothing that a tool can return makes this
    raise; only a KeyboardInterrupt passes through.
    """
    try:
        copy = copy_plain(value, -more_depth)
        return copy, text_of(copy), ()
    except Exception:
        pass  # the slow way below finds out what is wrong with it
    notes: list[str] = []
    copy = make_plain(value, notes, depth=-more_depth, parents=())
    return copy, _writer()(copy).decode(), tuple(dict.fromkeys(notes))


def ready_copy(value: object) -> Any:
    """Give the copy of `json_ready` alone; plain data do without pydantic, which loads slowly."""
    try:
        copy = copy_plain(value)
        text = json.dumps(copy, ensure_ascii=False)
        text.encode()
        _refuse_long_numbers(text)
        return copy
    except Exception:
        return json_ready(value)[0]


def json_text(value: object) -> str:
    """Write any value as JSON text, made ready for JSON where it is not."""
    return json_ready(value)[1]


_UNCHANGEABLE = frozenset({str, int, bool, type(None)})


def copy_plain(value: Any, depth: int = 0) -> Any:
    """Copy a value of nothing but JSON's own types; raises TypeError at anything else and at great depth."""
    kind = type(value)
    # One level more than `make_plain` leaves: a value that it has changed is put into a dict, with a note.
    if depth > MAX_DEPTH and (kind is dict or kind is list):
        raise TypeError
    if kind is dict:
        copy = value.copy()
        for key, item in copy.items():
            if type(key) is not str:
                raise TypeError
            if type(item) not in _UNCHANGEABLE:
                copy[key] = copy_plain(item, depth + 1)  # no key is added, so the dict may be gone through
        return copy
    if kind is list:
        return [item if type(item) in _UNCHANGEABLE else copy_plain(item, depth + 1) for item in value]
    if kind in _UNCHANGEABLE or (kind is float and math.isfinite(value)):
        return value
    raise TypeError


def make_plain(value: Any, notes: list[str], depth: int, parents: tuple[int, ...]) -> Any:
    """Build the JSON-ready form of any value, adding to `notes` what was changed."""
    if value is None or value is True or value is False:
        return value
    # What a value really is: isinstance() would believe an object that only claims to be text or a number,
    # and a subclass may have methods of its own.
    kind = type(value)
    if issubclass(kind, str):
        text = str.__str__(value)
        mended = whole(text)
        if mended != text:
            notes.append("half a Unicode character was replaced")
        return mended
    if issubclass(kind, int):
        number = int.__int__(value)
        if number.bit_length() > MAX_DIGITS * 10 / 3:  # a decimal digit takes 3.3 bits
            notes.append("a very large whole number became text")
            return f"<whole number of {number.bit_length()} bits>"
        return number
    if issubclass(kind, float):
        fraction = float.__float__(value)
        if math.isfinite(fraction):
            return fraction
        notes.append(f"the number {fraction} became text, as JSON has no such number")
        return str(fraction)
    name = kind.__name__
    if id(value) in parents:
        notes.append(f"a {name} that contains itself was cut off")
        return f"<the same {name} again>"
    if depth >= MAX_DEPTH:
        notes.append(f"values nested deeper than {MAX_DEPTH} levels were cut off")
        return "<nested too deep>"
    inside = (*parents, id(value))
    try:
        if isinstance(value, Mapping):
            return _plain_dict(value, notes, depth, inside)
        if isinstance(value, list) or (isinstance(value, tuple) and not hasattr(kind, "_asdict")):
            return [make_plain(item, notes, depth + 1, inside) for item in value]
        if isinstance(value, (set, frozenset)):
            notes.append(f"a {name} became a list")
            return [make_plain(item, notes, depth + 1, inside) for item in sorted(value, key=repr)]
        return make_plain(_plainer(value, kind, notes), notes, depth + 1, inside)
    except KeyboardInterrupt:
        raise
    except BaseException:
        pass  # an object whose own methods raise: it is named like any other object below
    # Its repr may hold an address that changes from run to run, so the type's name has to do.
    # A generator is not drained here: it may never end.
    notes.append(f"a {name} is nothing that JSON can hold; return text, numbers, lists or dicts")
    return f"<{name}>"


_OWN_FORMS: tuple[tuple[str, dict[str, str]], ...] = (
    ("_asdict", {}),  # named tuples, rows of SQLAlchemy
    ("to_dict", {"orient": "records"}),  # frames of pandas: a dict for each row
    ("to_dicts", {}),  # frames of Polars
    ("to_dict", {}),
    ("to_pylist", {}),  # tables of Arrow
    ("tolist", {}),  # arrays and numbers of NumPy
    ("to_list", {}),
)
"""Methods by which the values of well-known packages give themselves in Python's own types."""


def _plainer(value: Any, kind: type, notes: list[str]) -> Any:
    """Give the obvious form of a value that is none of JSON's own; raises an exception if there is none."""
    name = kind.__name__
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _bytes_in_words(bytes(value), name, notes)
    if isinstance(value, Enum):
        return value.value
    if hasattr(kind, "__pydantic_serializer__") and hasattr(kind, "model_dump"):
        try:
            return value.model_dump(mode="json")
        except ValueError:  # it holds what has no form of its own, such as bytes that are no text
            return value.model_dump()
    if hasattr(kind, "__dataclass_fields__"):
        notes.append(f"a {name} became a dict")
        return {field.name: getattr(value, field.name) for field in sys.modules["dataclasses"].fields(value)}
    if hasattr(kind, "__attrs_attrs__"):
        return {field.name: getattr(value, field.name) for field in kind.__attrs_attrs__}
    if isinstance(value, SimpleNamespace):
        return vars(value)
    size = len(value) if kind is range else getattr(value, "size", 0)
    if isinstance(size, Integral) and int(size) > MAX_ITEMS:
        notes.append(f"a {name} of {size:,} values was shown in short")
        return str(value)
    if getattr(getattr(value, "dtype", None), "kind", "") == "M":
        value = value.astype(str)  # its own form for days and times is a number, if they are very exact
    for method, options in _OWN_FORMS:
        if hasattr(kind, method):
            try:
                form = getattr(value, method)(**options)
            except TypeError:  # another method of that name
                continue
            # NumPy's longest numbers give themselves.
            return float(form) if type(form) is kind and isinstance(form, Real) else form
    if hasattr(kind, "keys") and hasattr(kind, "__getitem__"):  # such as rows of sqlite3
        return {key: value[key] for key in value.keys()}  # noqa: SIM118  to go through it may give its values
    if isinstance(value, (Sequence, Set, ValuesView)):
        return list(value)
    if hasattr(kind, "__fspath__"):
        text = value.__fspath__()
    elif isinstance(value, (Iterator, complex)):
        raise TypeError  # an iterator is not drained: it may never end
    else:
        from pydantic_core import to_jsonable_python  # noqa: PLC0415  see `_writer`

        text = to_jsonable_python(value)
    notes.append(f"a {name} became text")
    return text


def _bytes_in_words(data: bytes, name: str, notes: list[str]) -> str:
    text = data.decode("utf-8-sig", errors="replace")
    # A letter that was cut in two does no harm; what has more such places, or a nought, is no text.
    if "\0" in text or text.count("\ufffd") * 100 > len(text):
        notes.append(f"{name} that are no text were left out")
        return f"<{len(data):,} bytes that are no text>"
    notes.append(f"{name} became text")
    return text


def _plain_dict(
    value: Mapping[Any, Any], notes: list[str], depth: int, inside: tuple[int, ...]
) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, item in value.items():
        name = make_plain(key, notes, depth + 1, inside)
        if type(name) is not str:
            name = short(name, 80)
        if name in made:
            notes.append(f'two keys are both written "{short(name, 80)}"; the second was renamed')
            name = next(new for n in itertools.count(2) if (new := f"{name} ({n})") not in made)
        made[name] = make_plain(item, notes, depth + 1, inside)
    return made


def text_of(value: Any) -> str:
    """Write a JSON-ready value as JSON text; raises an exception if it is not ready."""
    text = _writer()(value).decode()
    if len(text) > MAX_DIGITS:
        _refuse_long_numbers(text)
    return text


@functools.cache
def _writer() -> Callable[[Any], bytes]:
    """Load what writes JSON: it takes longer than all of agentlib, and most submissions do without it."""
    from pydantic_core import to_json  # noqa: PLC0415

    return to_json


def _refuse_long_numbers(text: str) -> None:
    if _TOO_MANY_DIGITS.search(text):
        json.loads(text, parse_int=_not_too_long)  # many digits in a row may stand inside a text


def _not_too_long(digits: str) -> int:
    if len(digits.lstrip("-")) > MAX_DIGITS:
        raise ValueError
    return 0


_TOO_MANY_DIGITS = re.compile(rf"\d{{{MAX_DIGITS + 1}}}")
