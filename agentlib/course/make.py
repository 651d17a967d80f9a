"""Makes what is not written by hand of the exercises: `python -m agentlib.course.make`.

By hand there is a spec, `agentlib/course/exercises/NAME.py`, and a solution, `solutions/NAME.ipynb`, whose
cells have the ids `ex01-title`, `ex01-setup`, `ex01-solution`, and any others. Made are

- in the solution: the cells `-task` (the parts with their hints), `-check-words`, `-check`, `-points` and
  `-next`, the numbers in `-title`, and nbgrader's marks;
- `exercises/NAME.ipynb`, and a copy in the package, since a learner works in the first and may begin anew;
- the table of exercises in README.md, and their numbers in lesson 00; there, too, the address of the course's
  repository, which stands in `pyproject.toml`.

The exercise is made by nbgrader's own preprocessors, as a library without a database, so that an instructor
who loads the solutions into nbgrader gets the same. nbgrader is the extra "teach"; its package loads its
whole server with any of its modules, so a lighter way in is not to be had.
"""

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentlib.course.checking.spec import Criterion, Exercise
from agentlib.course.exercises import EXERCISES

__all__ = ["in_order", "made_by_spec", "made_exercise", "main"]

COURSE_DIR = Path(__file__).resolve().parents[2]
STEPS = (
    "LockCells",
    "ClearSolutions",
    "ClearOutput",
    "CheckCellMetadata",
    "ComputeChecksums",
    "ClearHiddenTests",
    "ClearMarkScheme",
    "ComputeChecksums",
    "CheckCellMetadata",
)
"""The preprocessors, in the order in which `nbgrader generate_assignment` runs them, but for the database."""

DIFFICULTY = {1: "very easy", 2: "easy", 3: "medium", 4: "hard", 5: "very hard"}

CHECK_WORDS = (
    "## Check it\n\n"
    "The check draws its own data: names and numbers change from run to run, so nothing can be learned "
    "by heart. Mend the first line that says *not yet*, run your cell again, then this one."
)

NEXT_WORDS = (
    "## Next\n\nGo on with the lesson that sent you here, and with the lessons behind it, in their order.\n\n"
    "{following}\n\n"
    "When all lines say *ok*, compare with [the solution](../solutions/{name}.ipynb). To begin anew, type in "
    "a terminal, in the folder of the course: `.venv/bin/python -m agentlib reset {number}` (on Windows "
    "`.venv\\Scripts\\python -m agentlib reset {number}`). Your work is kept beside it."
)

AFTER_THE_LAST = (
    "You have written every part of an agent loop by hand. Read `agentlib/loop.py` next: you will know each "
    "line."
)


def in_order() -> list[Exercise]:
    """List the exercises as a learner comes to them: by lesson, then by number."""
    return sorted(EXERCISES.values(), key=lambda exercise: (exercise.lesson, exercise.name))


# --- the cells of a solution that the spec says all about


def _task(exercise: Exercise) -> str:
    parts = [_part(place, criterion) for place, criterion in enumerate(exercise.criteria, start=1)]
    return "\n\n".join(["## Your task", *parts])


def _part(place: int, criterion: Criterion) -> str:
    points = f"{criterion.points} point{'' if criterion.points == 1 else 's'}"
    pieces = [f"**Part {place}** ({points}). {criterion.wanted[:1].upper()}{criterion.wanted[1:]}."]
    if criterion.details:
        pieces.append(criterion.details)
    folds = [
        f"<details><summary>Part {place}, {which} hint</summary>\n\n{hint}\n\n</details>"
        for which, hint in zip(("first", "second"), criterion.hints, strict=True)
    ]
    return "\n\n".join([*pieces, "\n".join(folds)])


def _next(exercise: Exercise) -> str:
    following = in_order()[in_order().index(exercise) + 1 :]
    words = following[0].lead_in.format_map(_links(following[0])) if following else AFTER_THE_LAST
    return NEXT_WORDS.format(following=words, name=exercise.name, number=exercise.number)


def _links(exercise: Exercise) -> dict[str, str]:
    number, _, title = exercise.lesson.partition("_")
    lesson = f"[{_spaced(title).capitalize()}](../notebooks/{exercise.lesson}.ipynb), lesson {number}"
    return {"lesson": lesson, "exercise": f"[{_heading(exercise)}]({exercise.name}.ipynb)"}


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def _heading(exercise: Exercise) -> str:
    return f"{exercise.number}: {exercise.title[:1].lower()}{exercise.title[1:]}"


def _title(exercise: Exercise, source: str) -> str:
    source = re.sub(r"^# .*", f"# {_heading(exercise)}", source)
    source = re.sub(r"(\*\*Difficulty:\*\*) \d+ of 5", rf"\1 {exercise.difficulty} of 5", source)
    return re.sub(r"(\*\*Minutes:\*\*) \d+", rf"\1 {exercise.minutes}", source)


def _marks(exercise: Exercise, part: str) -> dict[str, Any]:
    """Give the metadata of a code cell: nbgrader's marks, and a tag for what a check passes over."""
    solution, graded = part.startswith("solution"), part == "points"
    name = f"{exercise.number}_{part.replace('-', '_')}"
    mark = {"grade": graded, "grade_id": name, "locked": not solution}
    if graded:
        mark["points"] = exercise.max_points
    mark.update(schema_version=3, solution=solution, task=False)
    return {"nbgrader": mark, "tags": ["check"]} if part in ("check", "points") else {"nbgrader": mark}


def made_solution(exercise: Exercise, solution: str) -> str:
    """Fill in what the spec says about a solution. Takes and gives the text of its file.

    Raises ValueError if it has no cell for its title.
    """
    notebook = json.loads(solution)
    cells = {cell["id"].removeprefix(f"{exercise.number}-"): cell for cell in notebook["cells"]}
    if "title" not in cells:
        raise ValueError(f"{exercise.name}: no cell of the solution has the id {exercise.number}-title.")
    sources = {
        "task": _task(exercise),
        "check-words": CHECK_WORDS,
        "check": f'report = check("{exercise.name}", {", ".join(exercise.functions)})\nreport',
        "points": "report.points",
        "next": _next(exercise),
    }
    first, *last = sources
    by_hand = [part for part in cells if part not in ("title", *sources)]
    for part, source in sources.items():
        kind = "code" if part in ("check", "points") else "markdown"
        new = {"cell_type": kind, "id": f"{exercise.number}-{part}", "metadata": {}}
        cells.setdefault(part, new)["source"] = source
    for part, cell in cells.items():
        if cell["cell_type"] == "code":
            cell.update(outputs=[], execution_count=None)
        if part in ("setup", "check", "points") or part.startswith("solution"):
            cell["metadata"] = _marks(exercise, part)
    cells["title"]["source"] = _title(exercise, "".join(cells["title"]["source"]))
    notebook["cells"] = [cells[part] for part in ("title", first, *by_hand, *last)]
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


# --- the pages that list the exercises


def _table(readme: str) -> str:
    rows = "".join(
        f"| [{_spaced(exercise.name)}](exercises/{exercise.name}.ipynb) | {exercise.task} "
        f"| {exercise.difficulty} of 5, {DIFFICULTY[exercise.difficulty]} | {exercise.minutes} "
        f"| {exercise.lesson[:2]} |\n"
        for exercise in in_order()
    )
    return re.sub(r"(\| exercise \|.*\n\|[-|]+\|\n)(?:\|.*\n)*", lambda head: head[1] + rows, readme)


def _numbers(lesson: str) -> str:
    first, *_, last = (exercise.number for exercise in EXERCISES.values())
    return re.sub(r"exercises, `ex\d+` to `ex\d+`", f"exercises, `{first}` to `{last}`", lesson)


def _address(lesson: str, course_dir: Path) -> str:
    """Write the repository's address into the cell for Colab; "" as long as `pyproject.toml` has none."""
    project = tomllib.loads((course_dir / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    line = f'REPOSITORY = "{project.get("urls", {}).get("Repository", "")}"'
    return re.sub(r'REPOSITORY = \\"[^"\\]*\\"', lambda _: json.dumps(line)[1:-1], lesson)


def made_by_spec(course_dir: Path = COURSE_DIR) -> Iterator[tuple[Path, str]]:
    """Give each file that holds what specs say, with the text that it should have."""
    for exercise in EXERCISES.values():
        path = course_dir / "solutions" / f"{exercise.name}.ipynb"
        yield path, made_solution(exercise, path.read_text(encoding="utf-8"))
    readme, start = course_dir / "README.md", course_dir / "notebooks" / "00_start_here.ipynb"
    yield readme, _table(readme.read_text(encoding="utf-8"))
    yield start, _address(_numbers(start.read_text(encoding="utf-8")), course_dir)


# --- the exercises


def made_exercise(solution: Path) -> str:
    """Make the exercise of one solution, as the text of its file.

    Raises ImportError without nbgrader, and what its preprocessors raise at a solution that is not in order.
    """
    import nbformat  # noqa: PLC0415  takes a second, and only an instructor needs it
    from nbgrader import preprocessors  # noqa: PLC0415

    notebook: Any = nbformat.read(solution, as_version=4)  # type: ignore[no-untyped-call]
    resources: Any = {"nbgrader": {"notebook": solution.stem, "assignment": solution.stem}}
    for name in STEPS:
        notebook, resources = getattr(preprocessors, name)().preprocess(notebook, resources)
    nbformat.validate(notebook)
    text: str = nbformat.writes(notebook)  # type: ignore[no-untyped-call]
    return text.rstrip("\n") + "\n"


def main(course_dir: Path = COURSE_DIR) -> int:
    """Make everything anew, and name what has changed. Returns the exit code: 1 without nbgrader."""
    for path, text in made_by_spec(course_dir):
        _write(path, text)
    folders = (course_dir / "exercises", course_dir / "agentlib" / "course" / "exercises" / "fresh")
    for exercise in EXERCISES.values():
        solution = course_dir / "solutions" / f"{exercise.name}.ipynb"
        try:
            text = made_exercise(solution)
        except ImportError as problem:
            print(f'{problem}. Run: {sys.executable} -m pip install -e ".[teach]"', file=sys.stderr)
            return 1
        for folder in folders:
            folder.mkdir(exist_ok=True)
            _write(folder / solution.name, text)
    return 0


def _write(path: Path, text: str) -> None:
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
        print(f"made: {path}")


if __name__ == "__main__":
    sys.exit(main())
