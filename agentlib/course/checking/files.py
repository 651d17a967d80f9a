"""A notebook's file: which exercise it is, and its code run and checked in this process."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentlib.course.checking.engine import check_with, why_not, with_print_note
from agentlib.course.checking.magics import plain
from agentlib.course.checking.report import Report
from agentlib.course.checking.simulator import Learner
from agentlib.course.checking.spec import Exercise
from agentlib.course.exercises import EXERCISES
from agentlib.course.running.notebook import Cell, NotebookError, functions_in, read_notebook, run_cells
from agentlib.course.running.runner import Runner
from agentlib.messages import Entry

__all__ = ["check_file", "exercise_of", "exercise_of_cells", "short_name"]


def exercise_of(path: Path) -> Exercise:
    """Tell from a file's name which exercise it is: "ex02_three_stops.ipynb", "my ex02 (1).ipynb".

    Of several that it names the first one counts. Raises NotebookError if there is none.
    """
    stem = path.stem.lower()
    for before in (r"(?<![^\W_])", ""):  # better where a word begins: "alex01_ex02" is ex02
        found = [
            (match.start(), exercise.name)
            for exercise in EXERCISES.values()
            if (match := re.search(before + short_name(exercise), stem))
        ]
        if found:
            return EXERCISES[min(found)[1]]
    raise NotebookError(
        f"{path}: its name does not say which exercise it is; it should begin with one of "
        f"{', '.join(short_name(exercise) for exercise in EXERCISES.values())}."
    )


def short_name(exercise: Exercise) -> str:
    """Give the begin of an exercise's name: "ex02"."""
    return exercise.name.split("_")[0]


def exercise_of_cells(cells: Sequence[Cell]) -> Exercise | None:
    """Tell by a notebook's own cells which exercise it is: by nbgrader's names for them, and by `check(...)`.

    None if they do not tell, or name two exercises alike: a learner may have copied a cell.
    """
    short_names = {short_name(exercise): exercise for exercise in EXERCISES.values()}
    named = [cell.grade_id.split("_")[0] for cell in cells]
    for cell in cells:
        named += re.findall(r"""\bcheck\(\s*["'](ex\d\d)""", cell.source)
    counts = Counter(name for name in named if name in short_names).most_common(2)
    if not counts or (len(counts) == 2 and counts[0][1] == counts[1][1]):
        return None
    return short_names[counts[0][0]]


def check_file(
    path: Path,
    seed: int | None = None,
    cell_seconds: float = 30.0,
    now: Callable[[str, float], None] | None = None,
) -> Report:
    """Run the code of one notebook in this process and check it. `check_apart` does it in one of its own.

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
    ran = run_cells(cells, cell_seconds, before=before, alone=alone, as_main=alone)
    functions = functions_in(ran, exercise.functions, path)
    for name, function in functions.items():
        if why := why_not(function):
            raise NotebookError(f"{path}: {name} is {why} `def {name}(...)`.")
    learner = Runner(functions, alone=alone)
    report = check_with(exercise, _Followed(learner, now) if now else learner, seed)
    report = with_print_note(report, learner.printed)
    problems = tuple(problem for problem in ran.problems if report.started or "not started" not in problem)
    return replace(report, notes=(*report.notes, *problems, *_other_name(path, exercise)))


class _Followed:
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
        named = short_name(exercise_of(path))
    except NotebookError:
        return ()
    real = short_name(exercise)
    return (
        () if named == real else (f"Its name says {named}, its cells say {real}; it was checked as {real}.",)
    )
