"""From a submitted notebook to the cells that are run."""

import ast
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agentlib.course.checking.magics import plain
from agentlib.course.checking.notebook import converted_note, format_of, read_cells
from agentlib.course.checking.spec import Exercise
from agentlib.course.errors import NotebookError
from agentlib.course.exercises import exercise_of_cells
from agentlib.course.grading.sketches import fingerprint
from agentlib.course.running.cells import Cell

__all__ = ["Plan", "exercise_in", "plan"]


# What is read here is read outside of the sandbox, where nothing bounds its time and its memory but these.
MAX_PARTS = 1_000_000
"""Lists and dicts in a notebook's JSON: each takes some hundred bytes, however few it has in the file."""
MAX_VALUES = 2_000_000
"""Values in them."""
MAX_PARTS_OLD = 10_000
"""Lists and dicts in a notebook of an old format, whose conversion takes its time for each."""
MAX_CELLS = 1_000
"""Code cells."""
MAX_CODE_CHARS = 300_000
"""Characters of code in all cells together: Python's own form of them is a thousand times as large."""

OWN_IMPORTS = re.compile(r"^from agentlib\.(?:checks|course|labs\.trying) import .*\n?", re.MULTILINE)
"""Where `check` and `try_it` come from: notebooks of the course's first form say it in other lines."""

IN_QUOTES = re.compile(rb'"(?>[^"\\]+|\\.)*+"?', re.DOTALL)


@dataclass(frozen=True)
class Plan:
    """The cells of one submission.

    cells: our set-up cells, then the learner's, in order.
    only: our set-up cells, then the solution's alone.
    notes: what is odd about the notebook, in sentences. fingerprint: of the solution; see `fingerprint`.
    """

    cells: tuple[Cell, ...]
    only: tuple[Cell, ...]
    notes: tuple[str, ...]
    fingerprint: str = ""


@dataclass(frozen=True)
class Own:
    """What our copy of an exercise says about its cells: set-up cells, and the grade ids of each kind."""

    setup: tuple[Cell, ...]
    locked: dict[str, str]  # grade id: source
    solution: tuple[str, ...]


def own_cells(exercise: Exercise) -> Own:
    """Read our copy of an exercise; without one, every cell is the learner's."""
    if not exercise.fresh.exists():
        return Own((), {}, ())
    data = exercise.fresh.read_bytes()
    code = [cell for cell in json.loads(data)["cells"] if cell["cell_type"] == "code"]
    about = [cell["metadata"].get("nbgrader", {}) for cell in code]
    setup, locked, solution = [], {}, []
    for cell, marks in zip(read_cells(data, exercise.fresh), about, strict=True):
        if marks.get("solution"):
            solution.append(cell.grade_id)
        elif marks.get("locked"):
            locked[cell.grade_id] = cell.source
            if "check" not in cell.tags and not marks.get("grade"):
                setup.append(cell)
    return Own(tuple(setup), locked, tuple(solution))


def plan(exercise: Exercise, data: bytes, path: Path) -> Plan:
    """Choose the cells to run. Raises NotebookError if the notebook cannot be read."""
    refuse_too_many_parts(data, path, MAX_PARTS, MAX_VALUES)
    old = format_of(data)
    if 1 <= old < 4:
        refuse_too_many_parts(data, path, MAX_PARTS_OLD, MAX_VALUES)
    notes = converted_note(old)
    cells = read_cells(data, path)
    if len(cells) > MAX_CELLS:
        raise NotebookError(f"{path}: has {len(cells):,} code cells; up to {MAX_CELLS:,} are graded.")
    size = sum(len(cell.source) for cell in cells)
    if size > MAX_CODE_CHARS:
        raise NotebookError(
            f"{path}: has {size:,} characters of code; up to {MAX_CODE_CHARS:,} are graded. Is data in it?"
        )
    own = own_cells(exercise)
    notes += oddities(cells, own)
    theirs = []
    for cell in cells:
        ours = own.locked.get(cell.grade_id)
        is_ours = ours is not None and is_same_code(cell.source, ours)
        if ours is not None and not is_ours:
            notes.append(f"{cell.name} belongs to the course and was changed.")
        # A changed one is run too, after ours: a learner may have put an import or the solution there.
        solves = any(defines(cell.source, name) for name in exercise.functions)
        if solves or not (is_ours or "check" in cell.tags):
            theirs.append(cell._replace(tags=()))
    theirs = plain(theirs)  # here: IPython would load slowly in the child
    numbers = {cell.grade_id: cell.number for cell in cells if cell.grade_id}
    setup = [cell._replace(number=numbers.get(cell.grade_id, 0)) for cell in own.setup]
    only, found = solution_cells(exercise, theirs, own)
    sketch = fingerprint(cell.source for cell in only)
    return Plan((*setup, *theirs), (*setup, *only), (*notes, *found), sketch)


def is_same_code(theirs: str, ours: str) -> bool:
    """Whether a cell is as the course made it; from where it imports the course does not count."""
    return theirs == ours or OWN_IMPORTS.sub("", theirs).strip() == OWN_IMPORTS.sub("", ours).strip()


def refuse_too_many_parts(data: bytes, path: Path, max_parts: int, max_values: int) -> None:
    """Raise NotebookError where a notebook's JSON has more lists and dicts, or values in them, than that.

    It is only counted here. What stands in quotes, such as a page among the outputs, is no part.
    """

    def too_many(text: bytes) -> bool:
        return text.count(b"[") + text.count(b"{") > max_parts or text.count(b",") > max_values

    quotes = data.count(b'"') - data.count(b'\\"')
    if quotes > 2 * max_values or (too_many(data) and too_many(IN_QUOTES.sub(b"", data))):
        raise NotebookError(f"{path}: is made of more parts than a notebook that somebody wrote.")


def oddities(cells: Sequence[Cell], own: Own) -> list[str]:
    """Tell what is odd about the order and the marks of the cells."""
    ids = [cell.grade_id for cell in cells if cell.grade_id in own.locked or cell.grade_id in own.solution]
    notes = [f"The cell {name} is there {count} times." for name, count in Counter(ids).items() if count > 1]
    missing = [cell.grade_id for cell in own.setup if cell.grade_id not in ids]
    notes += [f"The cell {name} is missing; ours was run." for name in missing]
    first = list(dict.fromkeys(ids))
    known = list(dict.fromkeys([*own.locked, *own.solution]))
    order = [cell for cell in _in_order(own) if cell in first]
    if known and first != order:
        notes.append("The cells of the course stand in another order.")
    return notes


def _in_order(own: Own) -> list[str]:
    """Give the grade ids of our copy in their order: set-up, solution, then what checks."""
    setup = [cell.grade_id for cell in own.setup]
    return [*setup, *own.solution, *(name for name in own.locked if name not in setup)]


def solution_cells(exercise: Exercise, cells: Sequence[Cell], own: Own) -> tuple[list[Cell], list[str]]:
    """Find the cells with the solution: by grade id, then by what they define. With notes on what was odd."""
    chosen = [cell for cell in cells if cell.grade_id in own.solution]
    notes = []
    for name in exercise.functions:
        makers = [cell for cell in cells if defines(cell.source, name)]
        if not any(cell in chosen for cell in makers) and makers:
            chosen.append(makers[-1])
            if own.solution:
                notes.append(f"{name} was found in {makers[-1].name}, not in the cell for the solution.")
        elif len(makers) > 1:
            places = ", ".join(cell.name for cell in makers)
            notes.append(f"{name} is made in more than one cell ({places}); the last one that is run counts.")
    return sorted(chosen, key=lambda cell: cell.number), notes


def defines(source: str, name: str) -> bool:
    """Whether code makes a function, a class or a value of this name, as far as reading it can tell."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        begins = rf"^(?:(?:async\s+)?def|class)\s+{name}\b|^{name}\s*="
        return re.search(begins, source, re.MULTILINE) is not None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name:
            return True
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return True
    return False


def exercise_in(data: bytes, exercises: Sequence[Exercise]) -> Exercise | None:
    """Tell by the marks of its cells which exercise a notebook is; None if it has none of them."""
    path = Path("notebook")
    try:
        refuse_too_many_parts(data, path, MAX_PARTS, MAX_VALUES)
        cells = read_cells(data, path)
    except NotebookError:
        return None
    found = exercise_of_cells(cells)
    return found if found in exercises else None
