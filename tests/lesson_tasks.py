"""The tasks of a lesson as its notebook holds them: a stub, its `quick_check`, and the folded solution."""

import json
import re
from pathlib import Path
from typing import NamedTuple

from agentlib.course.running.cells import Cell
from tests.notebook_checks import joined

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
CHECKED = re.compile(r'^(?P<name>\w+) = quick_check\("(?P<task>\d\d [^"]+)", (?P=name)\)$', re.MULTILINE)
FOLD = re.compile(r"<details>\s*<summary>[^<]*</summary>\s*```python\n(.*?)```\s*</details>", re.DOTALL)


class TaskInNotebook(NamedTuple):
    """task: its name. variable: what the learner makes. stub, check: numbers of code cells, from 1."""

    task: str
    variable: str
    stub: int
    check: int
    solution: str


def code_cells(lesson: Path) -> list[Cell]:
    """The code cells of a lesson, as a check runs them."""
    sources = [
        joined(cell["source"])
        for cell in json.loads(lesson.read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] == "code"
    ]
    return [Cell(number, source) for number, source in enumerate(sources, start=1)]


def tasks_in(lesson: Path) -> list[TaskInNotebook]:
    """The tasks of a lesson, in order. Raises ValueError if one lacks its stub or its fold."""
    found: list[TaskInNotebook] = []
    number, waiting = 0, None
    for cell in json.loads(lesson.read_text(encoding="utf-8"))["cells"]:
        source = joined(cell["source"])
        if cell["cell_type"] == "code":
            number += 1
            if waiting is not None:
                raise ValueError(f"{waiting['task']}: behind its quick_check no fold holds the solution")
            waiting = CHECKED.search(source)
        elif waiting is not None:
            fold = FOLD.search(source)
            if fold is None:
                raise ValueError(
                    f"{waiting['task']}: the text behind its quick_check folds no ```python block"
                )
            found.append(TaskInNotebook(waiting["task"], waiting["name"], number - 1, number, fold[1]))
            waiting = None
    if waiting is not None:
        raise ValueError(f"{waiting['task']}: no text stands behind its quick_check")
    return found
