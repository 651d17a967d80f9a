"""Checks for the exercises: what each must do, and hints that name what is wrong.

`check("ex01_write_the_loop", run_agent)` gives a report. It plays the model and the tools and judges by what
they saw; the learner's source is never read.
"""

from typing import Any

from agentlib.checks import ex01, ex02, ex03, ex04, ex05, ex06, ex07, ex08, ex09
from agentlib.checks.checking import check_functions, named_functions
from agentlib.checks.exercise import Exercise
from agentlib.checks.report import Report, Result

__all__ = ["EXERCISES", "Exercise", "Report", "Result", "check", "find_exercise"]

EXERCISES = {
    exercise.name: exercise
    for exercise in (
        ex01.EXERCISE,
        ex02.EXERCISE,
        ex03.EXERCISE,
        ex04.EXERCISE,
        ex05.EXERCISE,
        ex06.EXERCISE,
        ex07.EXERCISE,
        ex08.EXERCISE,
        ex09.EXERCISE,
    )
}
"""All exercises, by name, in the order of the course."""


def find_exercise(name: str) -> Exercise:
    """Find an exercise by its name, or by the start of it: "ex02". Raises ValueError if there is none."""
    for known, exercise in EXERCISES.items():
        if name and (known == name or known.split("_")[0] == name):
            return exercise
    raise ValueError(f'There is no exercise "{name}". There are: {", ".join(EXERCISES)}.')


def check(exercise: str, *functions: Any, seed: int | None = None) -> Report:
    """Check what a learner wrote; shown as the last line of a cell, the report is a table.

    exercise: its name, such as "ex01_write_the_loop" or "ex01". functions: the function itself, or several in
    the exercise's order. seed: of the data; None draws a new one.
    Raises ValueError if there is no such exercise, TypeError if what was given is no function.
    """
    found = find_exercise(exercise)
    return check_functions(found, named_functions(found, functions), seed)
