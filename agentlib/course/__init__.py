"""The course around the library: exercises and their checks, grading, progress, the command line.

Nothing else in `agentlib` imports it. The command line alone loads grading, never a
learner's kernel.
"""

from typing import Any

from agentlib._platform import HERE
from agentlib.course._progress import keep_check, progress
from agentlib.course.checking.engine import check_functions, checked_seed, named_functions
from agentlib.course.checking.report import CheckReport
from agentlib.course.exercises import find_exercise
from agentlib.course.final import final_test
from agentlib.course.originals import course_folder, with_change
from agentlib.course.quick_checks import quick_check
from agentlib.course.running.trying import try_it
from agentlib.course.selfcheck import self_check

__all__ = ["check", "final_test", "progress", "quick_check", "self_check", "try_it"]


def check(exercise: Any = None, *functions: Any, seed: int | None = None) -> CheckReport:
    """Check what a learner wrote; shown as the last line of a cell, the report is a table.

    exercise: its name, such as "ex01_write_the_loop" or "ex01". functions: the function itself, or several in
    the exercise's order. seed: of the data, from 0 on; None draws a new one.
    It plays the model and the tools and judges by what they saw; the learner's source is never read.
    The best points are kept for `progress()`.
    Raises ValueError if there is no such exercise or seed, TypeError if what was given is no function.
    """
    if not isinstance(exercise, str):
        raise TypeError('The exercise\'s name comes first, then the function: check("ex01", run_agent).')
    checked_seed(seed)
    found = find_exercise(exercise)
    report = keep_check(check_functions(found, named_functions(found, functions), seed))
    folder = None if HERE.browser else course_folder()
    return with_change(report, folder) if folder else report
