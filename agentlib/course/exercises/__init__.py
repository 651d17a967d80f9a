"""The exercises: what each must do, and hints that name what is wrong.

A module here whose name begins with "ex" and a number is an exercise; its `EXERCISE` says all about it.
"""

import re
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from agentlib.course.checking.spec import FRESH_DIR, Exercise
from agentlib.course.errors import NotebookError
from agentlib.course.running.cells import Cell
from agentlib.messages import short

__all__ = ["EXERCISES", "FRESH_DIR", "exercise_of", "exercise_of_cells", "find_exercise"]

EXERCISES: dict[str, Exercise] = {
    exercise.name: exercise
    for name in sorted(module.name for module in iter_modules(__path__) if re.match(r"ex\d+_", module.name))
    for exercise in [import_module(f"{__name__}.{name}").EXERCISE]
}
"""All exercises, by name, in the order of their numbers."""


def find_exercise(name: str) -> Exercise:
    """Find an exercise by its name, by the beginning of it, "ex02", or by its file's name, in any case.

    Raises ValueError if there is none.
    """
    sought = name.strip().lower().removesuffix(".ipynb")
    for known, exercise in EXERCISES.items():
        if sought in (known, exercise.number):
            return exercise
    raise ValueError(f'There is no exercise "{short(name, 60)}". There are: {", ".join(EXERCISES)}.')


def exercise_of(path: Path) -> Exercise:
    """Tell from a file's name which exercise it is: "ex02_three_stops.ipynb", "my ex02 (1).ipynb".

    Of several that it names the first one counts. Raises NotebookError if there is none.
    """
    stem = path.stem.lower()
    for before in (r"(?<![^\W_])", ""):  # better where a word begins: "alex01_ex02" is ex02
        found = [
            (match.start(), exercise.name)
            for exercise in EXERCISES.values()
            if (match := re.search(before + exercise.number, stem))
        ]
        if found:
            return EXERCISES[min(found)[1]]
    raise NotebookError(
        f"{path}: its name does not say which exercise it is; it should begin with one of "
        f"{', '.join(exercise.number for exercise in EXERCISES.values())}."
    )


def exercise_of_cells(cells: Sequence[Cell]) -> Exercise | None:
    """Tell by a notebook's own cells which exercise it is: by nbgrader's names for them, and by `check(...)`.

    None if they do not tell, or name two exercises alike: a learner may have copied a cell.
    """
    by_number = {exercise.number: exercise for exercise in EXERCISES.values()}
    named = [cell.grade_id.split("_")[0] for cell in cells]
    for cell in cells:
        named += re.findall(r"""\bcheck\(\s*["'](ex\d+)""", cell.source)
    counts = Counter(name for name in named if name in by_number).most_common(2)
    if not counts or (len(counts) == 2 and counts[0][1] == counts[1][1]):
        return None
    return by_number[counts[0][0]]
