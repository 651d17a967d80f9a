"""`3.0` for an int, null for what may be None: what the offered schema allows is taken."""

import enum
import json
from dataclasses import dataclass
from typing import Annotated, Literal

import jsonschema
import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from agentlib import answer, run_agent, tool
from agentlib._json import exact_number
from agentlib.models import ScriptedModel
from agentlib.providers import openai
from agentlib.tools import read_tools, run_tool


def result_of(function, **given):
    return run_tool({"it": tool(function, name="it")}, "it", json.dumps(given)).result


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Place:
    floor: int
    name: str = "shop"


class Order(BaseModel):
    mugs: int
    place: Place | None = None


class Size(TypedDict):
    width: int


HOLDS_AN_INT = {
    "int": (int, 3.0, 3),
    "written with an exponent": (int, 1e3, 1000),
    "minus nought": (int, -0.0, 0),
    "int or None": (int | None, 3.0, 3),
    "int or text": (int | str, 3.0, 3),
    "list": (list[int], [1.0, 2, 3.0], [1, 2, 3]),
    "dict": (dict[str, int], {"a": 1.0}, {"a": 1}),
    "pair": (tuple[int, int], [1.0, 2.0], [1, 2]),
    "bounded": (Annotated[int, Field(ge=1, le=5)], 5.0, 5),
    "one of": (Literal[1, 2], 2.0, 2),
    "enum": (Level, 2.0, 2),
    "dataclass": (Place, {"floor": 2.0}, {"floor": 2, "name": "shop"}),
    "model": (
        Order,
        {"mugs": 2.0, "place": {"floor": 1.0}},
        {"mugs": 2, "place": {"floor": 1, "name": "shop"}},
    ),
    "typed dict": (Size, {"width": 4.0}, {"width": 4}),
    "deep": (list[dict[str, list[int]]], [{"a": [1.0]}], [{"a": [1]}]),
}


def plain(value):
    """What a result holds, without the note on what became of a dataclass."""
    return value["value"] if isinstance(value, dict) and value.keys() == {"value", "note"} else value


@pytest.mark.parametrize("name", HOLDS_AN_INT)
def test_whole_numbers_with_a_point_become_ints_wherever_they_stand(name):
    hint, given, wanted = HOLDS_AN_INT[name]

    def look(n):
        """Look."""
        return n

    look.__annotations__["n"] = hint
    jsonschema.validate({"n": given}, tool(look).schema)  # the schema that the model was given allows it
    got = plain(result_of(look, n=given))
    assert json.dumps(got) == json.dumps(wanted)  # 3 and not 3.0


def test_the_tool_gets_a_number_of_its_own_type():
    def look(n: int, share: float, anything) -> str:
        """Look."""
        return f"{n!r} {share!r} {anything!r}"

    assert result_of(look, n=3, share=2.0, anything=1.0) == "3 2.0 1.0"
    assert result_of(look, n=3.0, share=2.0, anything=1.5) == "3 2.0 1.5"


@pytest.mark.parametrize("wrong", [3.5, "3.0", True, "3", [3.0], 1e400])
def test_what_is_no_whole_number_is_refused_as_before(wrong):
    def look(n: int):
        """Look."""

    result = result_of(look, n=wrong)
    assert result["error"] == "invalid_input"
    assert (
        'argument "n": expected a valid integer' in result["message"] or "cannot be read" in result["message"]
    )


def test_beside_a_number_with_a_point_only_what_is_wrong_is_named():
    def look(n: int, words: str):
        """Look."""

    message = result_of(look, n=3.0, words=5)["message"]
    assert 'argument "words": expected a valid string' in message
    assert '"n"' not in message


# --- null -------------------------------------------------------------------------------------------


def test_null_is_taken_where_the_default_is_none():
    def look(
        city: str,
        units: str = None,  # noqa: RUF013
        days: Annotated[int, Field(ge=1)] = None,  # noqa: RUF013
        mode: Literal["a"] = None,  # noqa: RUF013
    ):
        """Look."""
        return [city, units, days, mode]

    schema = tool(look).schema
    jsonschema.validate({"city": "Bonn", "units": None, "days": None, "mode": None}, schema)
    assert result_of(look, city="Bonn", units=None, days=None, mode=None) == ["Bonn", None, None, None]
    assert result_of(look, city="Bonn") == ["Bonn", None, None, None]
    assert result_of(look, city="Bonn", units="C", days=2, mode="a") == ["Bonn", "C", 2, "a"]
    assert result_of(look, city="Bonn", days=0)["error"] == "invalid_input"
    assert result_of(look, city="Bonn", mode="b")["error"] == "invalid_input"


@pytest.mark.parametrize("hint", [str, list[str], dict, Place, Order, Level, object])
def test_null_is_taken_whatever_the_type(hint):
    def look(what=None):
        """Look."""
        return what

    if hint is not object:
        look.__annotations__["what"] = hint
    assert result_of(look, what=None) is None


def test_null_is_refused_where_nothing_says_that_it_may_come():
    def look(city: str, units: str = "C"):
        """Look."""

    assert result_of(look, city=None)["error"] == "invalid_input"
    assert result_of(look, city="Bonn", units=None)["error"] == "invalid_input"


@pytest.mark.parametrize("digits", ["9007199254740993", "12345678901234567891", "1" + "0" * 30])
def test_a_long_whole_number_with_a_point_loses_no_digit(digits):
    def take(n: int) -> str:
        return str(n)

    assert run_tool(read_tools([take]), "take", f'{{"n": {digits}.0}}').result == digits


@pytest.mark.parametrize(
    ("written", "wanted"),
    [("9007199254740993.0", "9007199254740993"), ("1234567890123456789.0", "1234567890123456789"),
     ("1.234567890123456789e18", "1234567890123456789"), ("3.0", "3"), ("1e22", "1" + "0" * 22)],
)  # fmt: skip
def test_a_long_id_with_a_point_keeps_its_digits_on_the_way_from_a_provider(written, wanted):
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": f'{{"id": {written}}}'}}
    body = {"choices": [{"finish_reason": "tool_calls", "message": {"content": None, "tool_calls": [call]}}]}
    reply = openai.reply_from(body)

    def look(id: int) -> str:
        """Look."""
        return str(id)

    run = run_agent(ScriptedModel([reply, answer("done")]), [look], "Goal")
    assert run.history[2]["result"] == wanted
    sent = openai.messages_from(run.history)[1]
    assert sent["tool_calls"][0]["function"]["arguments"] == f'{{"id": {written}}}'


@pytest.mark.parametrize(
    "written", ["3.5", "0.1", "1e400", "1e-400", "9007199254740993.5", "1e300", "1e-9999999"]
)
def test_what_is_no_whole_number_is_none_from_a_provider_either(written):
    number = exact_number(written)
    assert type(number) is float
    assert number == float(written)
