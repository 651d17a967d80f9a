"""Checks for the exercises: what each must do, and hints that name what is wrong.

`check("ex01_write_the_loop", run_agent)` gives a report. It plays the model and the tools and judges by what
they saw; the learner's source is never read.
"""

from typing import Any

from agentlib.checks import ex01, ex02, ex03, ex04, ex05, ex06, ex07, ex08, ex09
from agentlib.checks.checking import check_functions, checked_seed, named_functions
from agentlib.checks.exercise import Exercise
from agentlib.checks.report import Report, Result
from agentlib.messages import short

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
    """Find an exercise by its name, by the start of it, "ex02", or by its file's name, in any case.

    Raises ValueError if there is none.
    """
    wanted = name.strip().lower().removesuffix(".ipynb")
    for known, exercise in EXERCISES.items():
        if wanted in (known, known.split("_")[0]):
            return exercise
    raise ValueError(f'There is no exercise "{short(name, 60)}". There are: {", ".join(EXERCISES)}.')


def check(exercise: Any = None, *functions: Any, seed: int | None = None) -> Report:
    """Check what a learner wrote; shown as the last line of a cell, the report is a table.

    exercise: its name, such as "ex01_write_the_loop" or "ex01". functions: the function itself, or several in
    the exercise's order. seed: of the data, from 0 on; None draws a new one.
    Raises ValueError if there is no such exercise or seed, TypeError if what was given is no function.
    """
    if not isinstance(exercise, str):
        raise TypeError('The exercise\'s name comes first, then the function: check("ex01", run_agent).')
    checked_seed(seed)
    found = find_exercise(exercise)
    return check_functions(found, named_functions(found, functions), seed)
