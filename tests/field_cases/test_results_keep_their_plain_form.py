"""What has an obvious JSON form gets it, wherever it stands in a result; bytes that are no text, a note."""

import array
import dataclasses
import datetime
import decimal
import enum
import ipaddress
import json
import pathlib
import sqlite3
import types
import uuid
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque, namedtuple
from typing import NamedTuple

import attrs
import numpy
import pytest
from pydantic import BaseModel, Field, RootModel, SecretStr, computed_field
from pydantic.dataclasses import dataclass as pydantic_dataclass

from agentlib._json import json_ready
from tests.invariants import assert_json_ready


class City(BaseModel):
    name: str
    people: int
    founded: datetime.date | None = None


class Hidden(BaseModel):
    name: str
    key: SecretStr = SecretStr("do not tell")
    inside: str = Field(default="do not tell", exclude=True)

    @computed_field
    @property
    def letters(self) -> int:
        return len(self.name)


class Packet(BaseModel):
    name: str
    data: bytes


class Names(RootModel[list[str]]):
    pass


@pydantic_dataclass
class Shelf:
    mugs: int


@attrs.define
class Box:
    mugs: int
    colour: str = "blue"


Point = namedtuple("Point", "x y")


class Place(NamedTuple):
    town: str
    at: Point


class Colour(enum.StrEnum):
    BLUE = "blue"


class Weekday(enum.Enum):
    FIRST = datetime.date(2026, 1, 5)


@dataclasses.dataclass
class Order:
    day: datetime.date
    city: City
    counts: numpy.ndarray


def rows():
    database = sqlite3.connect(":memory:")
    database.row_factory = sqlite3.Row
    found = database.execute("select 1 as id, 'Bonn' as town union select 2, 'Ulm'").fetchall()
    database.close()
    return found


class Frame:
    """As a data frame of pandas gives itself."""

    def to_dict(self, orient="dict"):
        if orient == "records":
            return [{"a": numpy.int64(1)}, {"a": numpy.int64(2)}]
        return {"a": {0: numpy.int64(1), 1: numpy.int64(2)}}


class Series:
    """As a series of pandas gives itself."""

    def to_dict(self, *, into=dict):
        return {"x": numpy.float64(0.5), "y": 2}

    def tolist(self):
        return [0.5, 2]


class Polars:
    def to_dicts(self):
        return [{"a": 1}]

    def to_dict(self, *, as_series=True):
        raise AssertionError("rows are shorter")


class Arrow:
    def to_pylist(self):
        return [{"a": 1}]


PLAIN = {
    "an int of numpy": (numpy.int64(7), 7),
    "a small int of numpy": (numpy.uint8(200), 200),
    "a float of numpy": (numpy.float32(0.5), 0.5),
    "a long float of numpy": (numpy.longdouble(0.5), 0.5),
    "long floats of numpy": (numpy.array([0.5, 2], dtype=numpy.longdouble), [0.5, 2.0]),
    "a truth of numpy": (numpy.bool_(True), True),
    "a text of numpy": (numpy.str_("a"), "a"),
    "a day of numpy": (numpy.datetime64("2026-01-02"), "2026-01-02"),
    "a nanosecond of numpy": (numpy.datetime64("2026-01-02T03:04:05.000000006"),
                              "2026-01-02T03:04:05.000000006"),
    "an array": (numpy.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
    "an array without dimensions": (numpy.array(3), 3),
    "an array of days": (numpy.array(["2026-01-02"], dtype="datetime64[ns]"),
                         ["2026-01-02T00:00:00.000000000"]),
    "an array of objects": (numpy.array([City(name="Bonn", people=1), None], dtype=object),
                            [{"name": "Bonn", "people": 1, "founded": None}, None]),
    "a record of numpy": (numpy.array([(1, 0.5)], dtype=[("a", int), ("b", float)]), [[1, 0.5]]),
    "a model": (City(name="Bonn", people=3, founded=datetime.date(2026, 1, 2)),
                {"name": "Bonn", "people": 3, "founded": "2026-01-02"}),
    "a root model": (Names(["a", "b"]), ["a", "b"]),
    "a named tuple": (Place("Bonn", Point(1, 2)), {"town": "Bonn", "at": {"x": 1, "y": 2}}),
    "a text that is an enum": (Colour.BLUE, "blue"),
    "a class of attrs": (Box(3), {"mugs": 3, "colour": "blue"}),
    "a namespace": (types.SimpleNamespace(a=1, b=[2]), {"a": 1, "b": [2]}),
    "rows of a database": (rows(), [{"id": 1, "town": "Bonn"}, {"id": 2, "town": "Ulm"}]),
    "a counter": (Counter("aab"), {"a": 2, "b": 1}),
    "a default dict": (defaultdict(int, a=1), {"a": 1}),
    "a user dict": (UserDict(a=1), {"a": 1}),
    "a chain of dicts": (ChainMap({"a": 1}, {"b": 2}), {"b": 2, "a": 1}),
    "a read-only dict": (types.MappingProxyType({"a": 1}), {"a": 1}),
    "an ordered dict": (OrderedDict(a=1), {"a": 1}),
    "a deque": (deque([1, 2]), [1, 2]),
    "a user list": (UserList([1, 2]), [1, 2]),
    "keys": ({"b": 1, "a": 2}.keys(), ["b", "a"]),
    "values": ({"b": 1, "a": 2}.values(), [1, 2]),
    "items": ({"b": 1, "a": 2}.items(), [["b", 1], ["a", 2]]),
    "a range": (range(3), [0, 1, 2]),
    "an array of Python": (array.array("d", [0.5, 1.0]), [0.5, 1.0]),
    "a frame": (Frame(), [{"a": 1}, {"a": 2}]),
    "a series": (Series(), {"x": 0.5, "y": 2}),
    "a frame of polars": (Polars(), [{"a": 1}]),
    "a table of arrow": (Arrow(), [{"a": 1}]),
}  # fmt: skip


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("place", [lambda value: value, lambda value: [{"deep": (value,)}]])
def test_an_obvious_form_is_given_without_a_note(name, place):
    value, wanted = PLAIN[name]
    copy, text, notes = json_ready(place(value))
    assert copy == json.loads(json.dumps(place(wanted)))
    assert json.loads(text) == copy
    assert notes == ()
    assert_json_ready(copy)


AS_TEXT = {
    "a day": (datetime.date(2026, 1, 2), "2026-01-02"),
    "a moment": (datetime.datetime(2026, 1, 2, 3, 4, 5), "2026-01-02T03:04:05"),
    "a moment somewhere": (
        datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC),
        "2026-01-02T03:04:05Z",
    ),
    "a time": (datetime.time(3, 4, 5), "03:04:05"),
    "a price": (decimal.Decimal("1.50"), "1.50"),
    "a path": (pathlib.PurePosixPath("/tmp/x"), "/tmp/x"),
    "an id": (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
    "an address": (ipaddress.ip_address("10.0.0.1"), "10.0.0.1"),
    "an enum of days": (Weekday.FIRST, "2026-01-05"),
    "a key": (SecretStr("do not tell"), "**********"),
}


@pytest.mark.parametrize("name", AS_TEXT)
def test_what_is_written_as_text_becomes_text(name):
    value, wanted = AS_TEXT[name]
    copy, _, notes = json_ready({"in": value})
    assert copy == {"in": wanted}
    assert [note for note in notes if "nothing that JSON can hold" in note] == []


def test_a_duration_becomes_text_that_says_how_long():
    assert json_ready(datetime.timedelta(hours=1, minutes=30))[0] == "PT1H30M"


def test_keys_have_plain_forms_too():
    given = {numpy.int64(3): 1, datetime.date(2026, 1, 2): 2, Colour.BLUE: 3, uuid.UUID(int=5): 4}
    assert list(json_ready(given)[0]) == ["3", "2026-01-02", "blue", "00000000-0000-0000-0000-000000000005"]


def test_what_a_model_hides_stays_hidden():
    copy = json_ready([Hidden(name="Bonn")])[0]
    assert copy == [{"name": "Bonn", "key": "**********", "letters": 4}]


def test_dataclasses_hold_all_of_these():
    order = Order(datetime.date(2026, 1, 2), City(name="Bonn", people=3), numpy.arange(3))
    assert json_ready(order)[0] == {
        "day": "2026-01-02", "city": {"name": "Bonn", "people": 3, "founded": None}, "counts": [0, 1, 2],
    }  # fmt: skip
    assert json_ready(Shelf(3))[0] == {"mugs": 3}


def test_numbers_that_json_does_not_have_are_noted_there_too():
    for value in (numpy.float64("nan"), numpy.float32("nan"), numpy.array([1.0, numpy.nan])):
        copy, _, notes = json_ready([value])
        assert "nan" in json.dumps(copy)
        assert ["nan became text" in note for note in notes] == [True]


def test_a_very_large_array_is_shown_in_short():
    copy, _, notes = json_ready(numpy.zeros(1_000_000))
    assert len(json.dumps(copy)) < 1_000
    assert "1,000,000" in notes[0]
    copy, _, notes = json_ready(range(10**12))
    assert len(json.dumps(copy)) < 1_000
    assert notes


# --- bytes ------------------------------------------------------------------------------------------

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(128, 256)) * 60

NO_TEXT = {
    "a picture": PICTURE,
    "a bytearray": bytearray(PICTURE),
    "a view": memoryview(PICTURE),
    "an archive": b"PK\x03\x04" + bytes(range(256)) * 20,
    "only noughts": bytes(5_000),
    "text with two bytes a letter": ("word " * 500).encode("utf-16"),
    "text of an old kind": ("Gr\u00f6\u00dfe \u00fcber Stra\u00dfe " * 300).encode("latin-1"),
    "few bytes": b"\xff\x00ok",
    "bytes of numpy": numpy.bytes_(PICTURE),
}


@pytest.mark.parametrize("name", NO_TEXT)
@pytest.mark.parametrize("place", [lambda value: value, lambda value: {"data": [value]}])
def test_bytes_that_are_no_text_get_a_short_note_with_their_length(name, place):
    value = NO_TEXT[name]
    copy, text, notes = json_ready(place(value))
    assert f"{len(bytes(value)):,} bytes" in text
    assert len(text) < 100
    assert "\ufffd" not in text
    assert any("no text" in note for note in notes)
    assert_json_ready(copy)


def test_a_model_that_holds_bytes_keeps_the_rest():
    copy = json_ready(Packet(name="logo", data=PICTURE))[0]
    assert copy["name"] == "logo"
    assert "7,688 bytes" in copy["data"]
    assert json_ready(Packet(name="words", data=b"text"))[0] == {"name": "words", "data": "text"}


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (b"plain", "plain"),
        (b"", ""),
        (b"two\r\nlines\tand a tab\n", "two\r\nlines\tand a tab\n"),
        ("Gr\u00f6\u00dfe \u8bfb \U0001f600".encode(), "Gr\u00f6\u00dfe \u8bfb \U0001f600"),
        (b"\xef\xbb\xbfwith a mark", "with a mark"),
        (bytearray(b"ok"), "ok"),
        (memoryview(b"ok"), "ok"),
    ],
)
def test_bytes_that_are_text_become_text(value, wanted):
    assert json_ready(value)[0] == wanted


def test_text_that_was_cut_in_the_middle_of_a_letter_is_text():
    cut = ("Gr\u00f6\u00dfe " * 100).encode()[:-3]
    assert json_ready(cut)[0].startswith("Gr\u00f6\u00dfe ")
    assert json_ready(cut)[0].count("\ufffd") == 1


# --- what has none ----------------------------------------------------------------------------------


class Raises:
    def tolist(self):
        raise RuntimeError("no list")


class Endless:
    def to_dict(self):
        return Endless()


class SaysItIsEndless:
    def to_dict(self):
        return self


class Answers:
    """Has every attribute that is asked for, as a mock has."""

    def __getattr__(self, name):
        return lambda *args, **kwargs: Answers()


@pytest.mark.parametrize("kind", [Raises, Answers, object, SaysItIsEndless, Endless])
def test_what_has_no_plain_form_gets_a_note(kind):
    copy, text, notes = json_ready({"here": kind(), "beside": 1})
    assert copy["beside"] == 1
    assert len(text) < 300
    assert notes
    assert_json_ready(copy)


def test_a_generator_is_not_drained():
    taken = []

    def numbers():
        while True:
            taken.append(1)
            yield 1

    for value in (numbers(), iter(numbers()), map(str, numbers()), zip(numbers(), numbers(), strict=False)):
        assert json_ready([value])[2]
    assert taken == []
