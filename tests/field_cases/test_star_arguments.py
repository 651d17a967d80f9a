"""Typed `**kwargs` are checked; `*args` are offered as a list."""

import json
import typing
from typing import Annotated, NotRequired

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict, Unpack

from agentlib import Trace, answer, ask, compare, replay, run_agent, tool
from agentlib.models import ScriptedModel
from agentlib.tools import run_tool


def result_of(function, **given):
    return run_tool({"it": tool(function, name="it")}, "it", json.dumps(given)).result


class Item(BaseModel):
    price: int


# --- **kwargs ---------------------------------------------------------------------------------------


def total(**amounts: int) -> int:
    """Add amounts."""
    return sum(amounts.values())


def test_typed_keywords_are_checked_and_offered():
    assert tool(total).schema["additionalProperties"] == {"type": "integer"}
    assert result_of(total, a=1, b=2) == 3
    assert result_of(total) == 0
    refused = result_of(total, a=1, b="two")
    assert refused["error"] == "invalid_input"
    assert 'argument "b": expected a valid integer, got "two" (text)' in refused["message"]


def test_typed_keywords_take_whole_numbers_with_a_point():
    assert result_of(total, a=1.0, b=2.0) == 3


def test_typed_keywords_may_have_bounds_and_shapes():
    def bounded(at: str, **amounts: Annotated[int, Field(ge=0)]):
        """Look."""
        return [at, amounts]

    def shaped(**items: Item):
        """Look."""
        return {name: item.price for name, item in items.items()}

    assert result_of(bounded, at="x", a=1) == ["x", {"a": 1}]
    assert result_of(bounded, at="x", a=-1)["error"] == "invalid_input"
    assert result_of(bounded, a=1)["error"] == "invalid_input"
    assert result_of(shaped, mug={"price": 3}) == {"mug": 3}
    assert result_of(shaped, mug={"price": "dear"})["error"] == "invalid_input"


def test_untyped_keywords_take_any_value():
    def free(**more):
        """Look."""
        return more

    assert tool(free).schema["additionalProperties"] is True
    assert result_of(free, a=[1], b=None) == {"a": [1], "b": None}


class Options(TypedDict):
    city: str
    days: NotRequired[int]


def test_keywords_with_names_are_offered_by_name():
    def look(**options: Unpack[Options]):
        """Look."""
        return options

    schema = tool(look).schema
    assert (list(schema["properties"]), schema["required"]) == (["city", "days"], ["city"])
    assert schema["additionalProperties"] is False
    assert result_of(look, city="Bonn", days=2) == {"city": "Bonn", "days": 2}
    assert result_of(look, days=2)["error"] == "invalid_input"
    assert result_of(look, city="Bonn", weeks=2)["error"] == "invalid_input"


# --- *args ------------------------------------------------------------------------------------------


def join(*parts: str) -> str:
    """Join parts."""
    return "-".join(parts)


def test_any_number_is_offered_as_a_list_and_checked():
    offered = tool(join).schema["properties"]["parts"]
    assert (offered["type"], offered["items"]) == ("array", {"type": "string"})
    assert "required" not in tool(join).schema
    assert result_of(join, parts=["a", "b"]) == "a-b"
    assert result_of(join) == result_of(join, parts=[]) == ""
    assert result_of(join, parts=["a", 5])["error"] == "invalid_input"
    assert result_of(join, parts="ab")["error"] == "invalid_input"


def test_what_stands_before_and_behind_it_goes_where_it_belongs():
    def look(first: int, second: int = 2, *rest: int, last: int = 9, **more: int):
        """Look."""
        return [first, second, rest, last, more]

    assert result_of(look, first=1) == [1, 2, [], 9, {}]
    assert result_of(look, first=1, rest=[3, 4]) == [1, 2, [3, 4], 9, {}]
    assert result_of(look, first=1, second=0, rest=[3], last=8, other=7) == [1, 0, [3], 8, {"other": 7}]
    assert result_of(look, rest=[3])["error"] == "invalid_input"
    assert result_of(look, first=1, other="x")["error"] == "invalid_input"


def test_a_wrapper_that_passes_everything_on_is_still_a_tool():
    def wrapper(*args, **kwargs):
        """Look."""
        return [args, kwargs]

    assert result_of(wrapper, city="Bonn") == [[], {"city": "Bonn"}]
    assert result_of(wrapper, args=[1], city="Bonn") == [[1], {"city": "Bonn"}]


def test_a_tool_that_is_called_by_hand_gets_them_as_always():
    assert tool(join)("a", "b") == "a-b"


@pytest.mark.parametrize("limit", [None, 5])
def test_a_run_with_such_a_tool_is_replayed_event_for_event(limit, tmp_path):
    model = ScriptedModel([ask("join", parts=["a", "b"]), ask("join"), answer("done")])
    run = run_agent(model, [tool(join, timeout_seconds=limit)], "Goal")
    assert [entry["result"] for entry in run.history if entry["role"] == "tool"] == ["a-b", ""]
    loaded = Trace.load(run.trace.save(tmp_path / "run.jsonl"))
    assert compare(replay(loaded).trace, run.trace) == []


def test_keywords_unpacked_from_a_typed_dict_of_the_standard_library_are_offered():
    class Options(typing.TypedDict, total=False):
        unit: str

    def weather(city: str, **options: typing.Unpack[Options]) -> str:
        return f"{city} {options}"

    made = tool(weather)
    assert set(made.schema["properties"]) == {"city", "unit"}
    assert run_tool({"weather": made}, "weather", '{"city": "Pune", "unit": 3}').failed
    assert (
        run_tool({"weather": made}, "weather", '{"city": "Pune", "unit": "C"}').result == "Pune {'unit': 'C'}"
    )
