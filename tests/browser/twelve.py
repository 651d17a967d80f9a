"""Twelve wrong solutions of the zoo as texts, as a learner would write them into an exercise's cells."""

import importlib
import inspect
import json
import re
import textwrap
from types import CodeType
from typing import Any

from agentlib.course.exercises import EXERCISES
from tests.zoo import Specimen, specimens

__all__ = ["TWELVE", "cells_of", "notebook_of", "specimen_of"]

TWELVE = [
    ("ex01", "only_the_result_recorded"),
    ("ex01", "zero_taken_for_no_result"),
    ("ex02", "stops_at_the_second"),
    ("ex02", "only_in_a_row"),
    ("ex03", "crash_left"),
    ("ex04", "guards_the_tool_alone"),
    ("ex05", "no_budget"),
    ("ex06", "ids_mixed_up"),
    ("ex07", "only_the_start"),
    ("ex07", "shorter_by_one_at_the_limit"),
    ("ex08", "demands_one_path"),
    ("ex09", "money_not_limited"),
]


def specimen_of(number: str, name: str) -> Specimen:
    """Find a specimen of the zoo."""
    found = specimens(importlib.import_module(f"tests.zoo.{number}"))
    return next(specimen for specimen in found if specimen.name == name)


def cells_of(number: str, name: str) -> dict[str, str]:
    """Give the texts of a specimen by the ids of the cells that they belong into."""
    specimen = specimen_of(number, name)
    exercise = next(one for one in EXERCISES.values() if one.number == number)
    functions = specimen.functions
    if not isinstance(functions, dict):
        functions = dict(zip(exercise.functions, functions, strict=True))
    return {
        cell["id"]: "\n\n".join(
            _text(called, function) for called, function in functions.items() if f"def {called}(" in source
        )
        for cell, source in _solution_cells(json.loads(exercise.fresh.read_text(encoding="utf-8")))
    }


def notebook_of(number: str, texts: dict[str, str]) -> dict[str, Any]:
    """Give an exercise's notebook with texts in its cells, by their ids."""
    exercise = next(one for one in EXERCISES.values() if one.number == number)
    notebook: dict[str, Any] = json.loads(exercise.fresh.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        cell["source"] = texts.get(cell["id"], cell["source"])
    return notebook


def _solution_cells(notebook: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    return [
        (cell, "".join(cell["source"]))
        for cell in notebook["cells"]
        if cell["metadata"].get("nbgrader", {}).get("solution")
    ]


def _text(name: str, function: Any) -> str:
    """Give the text of a function under another name, with all that it needs of its module before it."""
    needed: dict[str, str] = {}
    _needs(function.__code__, function.__globals__, needed)
    return "\n\n".join([*needed.values(), re.sub(r"^def \w+", f"def {name}", _source(function))])


def _source(function: Any) -> str:
    source = textwrap.dedent(inspect.getsource(function))
    return source[source.index("def ") :]  # without decorators


def _needs(code: CodeType, names: dict[str, Any], needed: dict[str, str]) -> None:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _needs(constant, names, needed)
    for name in code.co_names:
        if name not in names or name in needed:
            continue
        value = names[name]
        if inspect.ismodule(value):
            needed[name] = f"import {value.__name__} as {name}"
        elif inspect.isfunction(value) and value.__module__.startswith("tests."):
            needed[name] = ""  # its place comes behind what it needs itself
            _needs(value.__code__, names, needed)
            del needed[name]
            needed[name] = _source(value)
        elif inspect.isfunction(value) or inspect.isclass(value):
            needed[name] = f"from {value.__module__} import {value.__name__} as {name}"
        else:
            needed[name] = f"{name} = {value!r}"
