"""The bug zoo: wrong and right solutions of every exercise, as learners write them.

Each wrong one is named after its fault and tied to the criterion that has to find it first. The right ones
are written in many ways; none may be refused.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

__all__ = ["Specimen", "right", "specimens", "wrong"]


@dataclass(frozen=True)
class Specimen:
    """One solution. criterion: the id that must be red first; "" = it is right.

    named: words that the report of a wrong one must hold in what it has seen or in its hint.
    """

    name: str
    functions: Any
    criterion: str
    named: str = ""


def wrong(criterion: str, named: str) -> Callable[[Any], Specimen]:
    """Mark a solution (a function, or a dict made by a class) as wrong."""
    return lambda function: Specimen(function.__name__, _functions(function), criterion, named)


def right(function: Any) -> Specimen:
    """Mark a solution as right."""
    return Specimen(function.__name__, _functions(function), "")


def _functions(function: Any) -> Any:
    """A class stands for several functions: its static methods."""
    if isinstance(function, type):
        return {
            name: getattr(function, name)
            for name in vars(function)
            if isinstance(vars(function)[name], staticmethod)
        }
    return (function,)


def specimens(module: ModuleType) -> list[Specimen]:
    """All specimens of a module, in order."""
    return [value for value in vars(module).values() if isinstance(value, Specimen)]
