"""A type that exists only for type checkers is not read where nobody needs it."""

import functools

import pytest

from agentlib import answer, ask, run_agent, tool
from agentlib.models import ScriptedModel


def result_of(function, **given):
    made = tool(function, name="it")
    return run_agent(ScriptedModel([ask("it", **given), answer("done")]), [made], "Goal").history[2]["result"]


def load(name: str) -> "DataFrame":  # noqa: F821
    """Load."""
    return name


def in_a_list(name: str) -> "list[DataFrame] | None":  # noqa: F821
    """Load."""
    return name


def no_type(name: str) -> "1/0":
    """Load."""
    return name


def no_python(name: str) -> "a table":  # noqa: F722
    """Load."""
    return name


class Store:
    def load(self: "NotThere", name: str) -> "DataFrame":  # noqa: F821
        """Load."""
        return name

    def __call__(self, name: str) -> "DataFrame":  # noqa: F821
        """Load."""
        return name

    @classmethod
    def of_class(cls: "NotThere", name: str) -> "DataFrame":  # noqa: F821
        """Load."""
        return name


def wrapped(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs) -> "NotThere":  # noqa: F821
        return function(*args, **kwargs)

    return wrapper


FUNCTIONS = {
    "a name": load,
    "inside": in_a_list,
    "an error": no_type,
    "no Python": no_python,
    "a method": Store().load,
    "an object": Store(),
    "a method of the class": Store.of_class,
    "a partial": functools.partial(load),
    "a wrapper": wrapped(load),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_return_type_that_cannot_be_read_is_ignored(name):
    made = tool(FUNCTIONS[name], name="it")
    assert made.schema["properties"]["name"]["type"] == "string"
    assert result_of(FUNCTIONS[name], name="a") == "a"
    assert result_of(FUNCTIONS[name], name=5)["error"] == "invalid_input"


def test_the_type_of_an_argument_is_needed_and_named():
    def see(at: "NotThere") -> str:  # noqa: F821
        """See."""

    with pytest.raises(TypeError, match=r"types of tool see cannot be read.*NotThere"):
        tool(see)
