"""Makes `exercises/*.ipynb` out of `solutions/*.ipynb`: `python -m agentlib.course.make`.

A copy of each goes into the package, since a learner works in `exercises/` and may want to begin anew.

It uses nbgrader's own preprocessors, as a library without a database, so that an instructor who loads the
solutions into nbgrader gets the same. nbgrader is the extra "teach"; its package loads its whole server with
any of its modules, so a lighter way in is not to be had.
"""

import sys
from pathlib import Path
from typing import Any

__all__ = ["made_exercise", "main"]

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
    """Make all exercises anew. Returns the exit code: 1 without nbgrader."""
    folders = (course_dir / "exercises", course_dir / "agentlib" / "course" / "exercises" / "fresh")
    for solution in sorted((course_dir / "solutions").glob("ex*.ipynb")):
        try:
            text = made_exercise(solution)
        except ImportError as problem:
            print(f'{problem}. Run: {sys.executable} -m pip install -e ".[teach]"', file=sys.stderr)
            return 1
        for folder in folders:
            folder.mkdir(exist_ok=True)
            (folder / solution.name).write_text(text, encoding="utf-8")
        print(f"made: {solution.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
