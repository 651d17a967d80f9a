"""`Field(default=..., le=...)` as a default: its words, bounds and default hold."""

import json
from typing import Annotated

import pytest
from pydantic import Field

from agentlib import tool
from agentlib.tools import run_tool


def result_of(function, **given):
    return run_tool({"it": tool(function, name="it")}, "it", json.dumps(given)).result


def search(words: str, most: int = Field(default=5, description="how many", ge=1, le=10)):
    """Search."""
    return [words, most]


def made_new(tags: list[str] = Field(default_factory=list, max_length=2)):  # noqa: B008
    """Look."""
    tags.append("seen")
    return tags


def must_be_given(city: str = Field(description="a town", min_length=2)):
    """Look."""
    return city


def also_must_be_given(city: str = Field(..., min_length=2)):
    """Look."""
    return city


def may_be_null(units: str = Field(default=None, pattern="^[CF]$")):
    """Look."""
    return units


def both(most: Annotated[int, Field(ge=1)] = Field(default=5, le=10)):
    """Look."""
    return most


def in_the_type(most: Annotated[int, Field(default=5, le=10)]):
    """Look."""
    return most


def beside_a_default(most: Annotated[int, Field(default=5, le=10)] = 7):
    """Look."""
    return most


def only_by_name(*, most: int = Field(5, le=10)):
    """Look."""
    return most


def test_the_default_holds():
    assert result_of(search, words="a") == ["a", 5]
    assert result_of(both) == result_of(in_the_type) == result_of(only_by_name) == 5
    assert result_of(may_be_null) is None
    assert result_of(beside_a_default) == 7


def test_a_default_that_is_made_is_made_anew_each_time():
    assert result_of(made_new) == result_of(made_new) == ["seen"]


def test_the_bounds_hold_and_are_offered():
    offered = tool(search).schema["properties"]["most"]
    assert (offered["minimum"], offered["maximum"], offered["default"]) == (1, 10, 5)
    assert result_of(search, words="a", most=10) == ["a", 10]
    for wrong in (0, 11, "3"):
        assert result_of(search, words="a", most=wrong)["error"] == "invalid_input"
    assert result_of(made_new, tags=["a", "b", "c"])["error"] == "invalid_input"
    assert result_of(both, most=0)["error"] == result_of(both, most=11)["error"] == "invalid_input"
    assert result_of(may_be_null, units="K")["error"] == "invalid_input"
    assert result_of(may_be_null, units=None) is None


def test_the_words_are_offered():
    assert tool(search).schema["properties"]["most"]["description"] == "how many"
    assert tool(must_be_given).schema["properties"]["city"]["description"] == "a town"


@pytest.mark.parametrize("function", [must_be_given, also_must_be_given])
def test_a_field_without_a_default_must_be_given(function):
    assert tool(function).schema["required"] == ["city"]
    assert 'argument "city" is missing' in result_of(function)["message"]
    assert result_of(function, city="B")["error"] == "invalid_input"
    assert result_of(function, city="Bonn") == "Bonn"


def test_only_what_has_no_default_is_required():
    assert tool(search).schema["required"] == ["words"]
    assert "required" not in tool(in_the_type).schema


def test_a_tool_that_is_called_by_hand_has_the_default_too():
    assert tool(search)("a") == tool(search)(words="a") == ["a", 5]
    assert tool(search)("a", 3) == ["a", 3]
    assert tool(made_new)() == ["seen"]
