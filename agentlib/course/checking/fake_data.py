"""Data for the scenarios, drawn from a seeded random source: no run of a check looks like the one before."""

from collections.abc import Callable
from random import Random
from typing import Any, TypeVar

from agentlib.course.checking.simulator import PLAYED
from agentlib.messages import Entry, ask

__all__ = ["Tool", "World", "interrupt", "tools_of"]

PLACES = (
    "Amber Quay", "Birch Lane", "Cold Harbour", "Dover Yard", "Elm Row", "Fox Hill", "Gull Point", "Holm",
    "Iron Gate", "Juniper", "Kestrel", "Long Acre", "Maple", "Nord", "Otter", "Pine End", "Quarry", "Rook",
    "Salt Mill", "Thorn", "Umber", "Vale", "Weir", "Yarrow",
)  # fmt: skip
THINGS = (
    "anchors", "baskets", "candles", "drums", "easels", "flutes", "gloves", "hammers", "jars", "kettles",
    "lanterns", "mirrors", "needles", "oars", "pillows", "quilts", "ropes", "saddles", "tents", "wheels",
)  # fmt: skip
VERBS = ("count", "look_up", "measure", "read", "weigh", "find", "check", "list")
KEYS = ("place", "site", "depot", "store", "hall", "branch")
SIZES = ("row", "shelf", "floor", "bay", "zone")
FAILURES = (ValueError, KeyError, TimeoutError, RuntimeError, PermissionError, ConnectionError)

Tool = Callable[..., Any]


T = TypeVar("T")


class World:
    """Names, numbers and sentences, none of them twice."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self._used: set[Any] = set()

    def _new(self, draw: Callable[[], T]) -> T:
        while True:
            value = draw()
            if value not in self._used:
                self._used.add(value)
                return value

    def number(self) -> int:
        """A whole number of 4 to 6 digits."""
        return self._new(lambda: self.rng.randrange(1_001, 900_000))

    def place(self) -> str:
        """The name of a place, with a number behind it."""
        return self._new(lambda: f"{self.rng.choice(PLACES)} {self.rng.randrange(2, 99)}")

    def things(self) -> str:
        """Several of something."""
        return self.rng.choice(THINGS)

    def tool_name(self) -> str:
        """A name for a tool."""
        return self._new(
            lambda: f"{self.rng.choice(VERBS)}_{self.rng.choice(THINGS)}_{self.rng.randrange(10, 99)}"
        )

    def key(self) -> str:
        """A name for an argument."""
        return self.rng.choice(KEYS)

    def input(self) -> Entry:
        """The input of a request: a place, and a shelf or so with its number."""
        return {self.key(): self.place(), self.rng.choice(SIZES): self.number()}

    def request(self, tool: str) -> Entry:
        """A reply that asks for a tool with a new input."""
        return ask(tool, **self.input())

    def goal(self) -> str:
        """A question."""
        return f"Where are more {self.things()}, in {self.place()} or in {self.place()}?"

    def answer(self) -> str:
        """An answer."""
        return f"There are {self.number()} in {self.place()}."

    def failure(self) -> str:
        """The message of a failure."""
        return f"{self.place()} is closed, ask again under number {self.number()}"

    def result(self) -> Any:
        """What a tool gives: a dict, a text or a number."""
        kind = self.rng.randrange(3)
        if kind == 0:
            return {self.key(): self.place(), "amount": self.number()}
        return f"{self.number()} {self.things()} in {self.place()}" if kind == 1 else self.number()


def tools_of(results: dict[str, list[Any]]) -> dict[str, Tool]:
    """Make tools that give their results one after the other; an error among them is raised.

    After the last result a tool goes on with texts that differ from each other.
    """
    return {name: _in_turn(name, list(values)) for name, values in results.items()}


def _in_turn(name: str, values: list[Any]) -> Tool:
    count = 0

    def run(*args: Any, **input: Any) -> Any:
        nonlocal count
        if args:
            # As Python does for a function that takes its arguments by name.
            raise TypeError(f"{name}() takes 0 positional arguments but {len(args)} were given")
        count += 1
        if count > len(values):
            return f"nothing new, reading {count}"
        value = values[count - 1]
        if isinstance(value, BaseException):
            raise value
        return value

    return run


def interrupt(*args: Any, **input: Any) -> Any:
    """A model or a tool in which a person presses Ctrl-C."""
    raise KeyboardInterrupt(*PLAYED)
