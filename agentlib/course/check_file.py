"""Checks a notebook's file in this process."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentlib.course.checking.engine import check_with, with_print_note
from agentlib.course.checking.magics import WRITES_FILE, plain
from agentlib.course.checking.notebook import functions_in, read_notebook
from agentlib.course.checking.report import CheckReport
from agentlib.course.checking.simulator import Learner
from agentlib.course.checking.spec import Exercise
from agentlib.course.errors import NotebookError
from agentlib.course.exercises import exercise_of, exercise_of_cells
from agentlib.course.running.cells import Ran, run_cells
from agentlib.course.running.runner import Runner, why_not
from agentlib.messages import Entry

__all__ = ["Followed", "check_file"]


def check_file(
    path: Path,
    seed: int | None = None,
    cell_seconds: float = 30.0,
    now: Callable[[str, float], None] | None = None,
) -> CheckReport:
    """Run the code of one notebook in this process and check it. See also `check_in_subprocess`.

    cell_seconds: time for each cell.
    now: called with what is to be run next and the seconds that it has, so that somebody can follow; that
    somebody is a program, and there is no person who could press Ctrl-C.
    Raises NotebookError if it cannot be checked.
    """
    if path.suffix != ".ipynb":
        exercise_of(path)  # before it is read: the name of another file than a notebook may be a slip
    cells = plain(read_notebook(path))
    exercise = exercise_of_cells(cells) or exercise_of(path)
    if not cells:
        name = exercise.functions[0]
        raise NotebookError(f"{path}: no cell makes a function {name}: there is no code cell in it.")
    alone = now is not None
    before = (lambda cell: now(cell.place, cell_seconds)) if now else None
    with (
        _own_folder()
        if any(cell.code and WRITES_FILE.match(cell.source) for cell in cells)
        else nullcontext()
    ):
        ran = run_cells(cells, cell_seconds, before=before, alone=alone, as_main=alone)
        try:
            return _report(path, exercise, ran, seed, now)
        finally:
            if ran.loop is not None:
                ran.loop.close()


@contextmanager
def _own_folder() -> Iterator[None]:
    """Go to an empty folder, as grading does: a cell writes a file that another one imports or reads."""
    with tempfile.TemporaryDirectory(prefix="agentlib_check_", ignore_cleanup_errors=True) as folder:
        before = os.getcwd()
        os.chdir(folder)
        sys.path.insert(0, folder)
        try:
            yield
        finally:
            sys.path.remove(folder)
            os.chdir(before)


def _report(
    path: Path, exercise: Exercise, ran: Ran, seed: int | None, now: Callable[[str, float], None] | None
) -> CheckReport:
    functions = functions_in(ran, exercise.functions, path)
    for name, function in functions.items():
        if why := why_not(function):
            raise NotebookError(f"{path}: {name} is {why} `def {name}(...)`.")
    learner = Runner(functions, alone=now is not None, loop=ran.loop)
    report = check_with(exercise, Followed(learner, now) if now else learner, seed)
    report = with_print_note(report, learner.printed)
    problems = tuple(problem for problem in ran.problems if report.started or "not started" not in problem)
    return replace(report, notes=(*report.notes, *problems, *_other_name(path, exercise)))


class Followed:
    """A `Learner` that tells which function it is about to call."""

    def __init__(self, learner: Learner, now: Callable[[str, float], None]) -> None:
        self.learner = learner
        self.now = now

    def run(self, request: Entry, called: Callable[[str, list[Any], Entry], Entry], seconds: float) -> Entry:
        """Tell, then call; see `agentlib.course.checking.simulator.Learner`."""
        self.now(request["function"], seconds)
        return self.learner.run(request, called, seconds)


def _other_name(path: Path, exercise: Exercise) -> tuple[str, ...]:
    """Give a note if a file's name says that it is another exercise than its cells do."""
    try:
        named = exercise_of(path).number
    except NotebookError:
        return ()
    real = exercise.number
    if named == real:
        return ()
    return (f"Its name says {named}, its cells say {real}; it was checked as {real}.",)
