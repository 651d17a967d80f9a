"""Values that no model and no tool should give, and that some do: made fresh for each use."""

import itertools
import math
from collections import OrderedDict, UserDict
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import PurePosixPath


class EqualToAll:
    """Says that it equals everything, which makes `==` no proof of anything."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("type")


class EqualDict(dict):
    __hash__ = None

    def __eq__(self, other: object) -> bool:
        return True


class LyingText(str):
    """Text whose every method raises."""

    def strip(self, *_):
        raise RuntimeError("strip")

    def __eq__(self, other):
        raise RuntimeError("eq")

    def __hash__(self):
        raise RuntimeError("hash")

    def __len__(self):
        raise RuntimeError("len")

    def __str__(self):
        raise RuntimeError("str")

    def __repr__(self):
        raise RuntimeError("repr")

    def isascii(self):
        raise RuntimeError("isascii")


class LyingNumber(int):
    def __int__(self):
        raise RuntimeError("int")

    def __index__(self):
        raise RuntimeError("index")

    def __repr__(self):
        raise SystemExit("repr")


class LyingDict(dict):
    """A dict that is full, says that it is empty, and raises when it is read."""

    def get(self, *_):
        raise SystemExit("get")

    def items(self):
        raise SystemExit("items")

    def keys(self):
        raise KeyError("keys")

    def __iter__(self):
        raise GeneratorExit

    def __contains__(self, key):
        raise OSError("contains")

    def __repr__(self):
        raise SystemExit("repr")


class ShrinkingDict(dict):
    """Gives other items at each look."""

    def items(self):
        taken = list(super().items())
        self.clear()
        return taken


class EndlessDict(UserDict):
    """A mapping that is no dict, with a value that leads back to itself."""

    def __init__(self):
        super().__init__()
        self["again"] = self


class ClaimsToBeText:
    @property
    def __class__(self):
        return str


class ClaimsToBeDict:
    @property
    def __class__(self):
        return dict


class NoRepr:
    def __repr__(self):
        raise SystemExit("repr")


class Colour(Enum):
    RED = "red"


class Size(IntEnum):
    SMALL = 1


@dataclass
class Parcel:
    weight: float
    labels: tuple


def contains_itself() -> list:
    value: list = [1]
    value.append({"again": value})
    return value


def nested(depth: int, kind: type = list) -> object:
    value: object = "bottom"
    for _ in range(depth):
        value = [value] if kind is list else {"in": value}
    return value


ODD_VALUES = {
    "a set": lambda: {3, 1, 2},
    "a frozen set of texts": lambda: frozenset({"b", "a"}),
    "not a number": lambda: math.nan,
    "infinity in a list": lambda: [math.inf, -math.inf],
    "bytes": lambda: b"\xff\x00ok",
    "a bytearray": lambda: bytearray(b"ok"),
    "an object": object,
    "a class": lambda: dict,
    "a function": lambda: len,
    "a generator without end": itertools.count,
    "a generator": lambda: (number for number in range(3)),
    "a list that contains itself": contains_itself,
    "a mapping that contains itself": EndlessDict,
    "a number of 5,000 digits": lambda: 10**5_000,
    "a number of 5,000 digits inside": lambda: {"n": [-(10**5_000)]},
    "a number of 4,000 digits": lambda: 10**4_000,
    "a list 49 deep": lambda: nested(49),
    "a list 51 deep": lambda: nested(51),
    "a dict 300 deep": lambda: nested(300, dict),
    "a list 5,000 deep": lambda: nested(5_000),
    "half a character": lambda: "a\ud800b",
    "two halves of a character": lambda: "\ud83d\ude00",
    "half a character as a key": lambda: {"\udc00": {"\udc00": "\udc00"}},
    "a dict with number keys": lambda: {1: "one", 2.5: "two and a half", None: "none", False: "no"},
    "a dict with keys that collide": lambda: {1: "number", "1": "text", "1 (2)": "taken"},
    "a dict with a tuple as key": lambda: {(1, 2): "pair"},
    "a dict with an object as key": lambda: {EqualToAll(): 1},
    "a tuple": lambda: (1, (2, 3)),
    "an ordered dict": lambda: OrderedDict(b=1, a=2),
    "a decimal": lambda: Decimal("1.10"),
    "a date": lambda: date(2025, 11, 3),
    "a path": lambda: PurePosixPath("/tmp/x"),
    "a path with half a character": lambda: PurePosixPath("/tmp/\udcff"),
    "a complex number": lambda: 1j,
    "an enum": lambda: Colour.RED,
    "a number that is an enum": lambda: Size.SMALL,
    "a dataclass": lambda: Parcel(math.inf, ("a", {1})),
    "an exception": lambda: ValueError("kept, not raised"),
    "an object equal to everything": EqualToAll,
    "a dict equal to everything": lambda: EqualDict(a=EqualToAll()),
    "text whose methods raise": lambda: LyingText("lying"),
    "a number whose methods raise": lambda: LyingNumber(7),
    "a dict whose methods raise": lambda: LyingDict(type="answer", text="hidden"),
    "a dict that changes at each look": lambda: ShrinkingDict(type="answer", text="now you see me"),
    "an object that claims to be text": ClaimsToBeText,
    "an object that claims to be a dict": ClaimsToBeDict,
    "an object that cannot be shown": NoRepr,
}
"""Name and maker of each value; a maker is called anew for each use."""
