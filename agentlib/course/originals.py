"""The learner's folder of the course, and what the course has changed in it since it was handed out."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentlib.course.checking.report import CheckReport
from agentlib.course.exercises import EXERCISES

__all__ = [
    "COPY", "COURSE_DIR", "HANDOUT_FILE", "Change", "change_in", "changes_in_folder", "course_folder",
    "needs_folder", "original_of", "sources_of", "why_not_written", "with_change",
]  # fmt: skip

COURSE_DIR = Path(__file__).resolve().parents[2]
"""Where the package comes from: the repository, or a folder of installed packages."""

COPY = "course_copy"
"""The folder of a handout that holds each notebook as it was handed out."""

HANDOUT_FILE = "handout.json"
"""In that folder: which files are the course's, and the earlier texts of the cells that it has changed."""

FIRST = Path("notebooks") / "00_start_here.ipynb"
# A stub's line that the learner replaces says nothing about which text the learner has.
TO_REPLACE = ("NotImplementedError", "YOUR CODE HERE")
Sources = dict[str, str]


def course_folder(start: Path | None = None) -> Path | None:
    """Find the learner's folder of the course; None if there is none.

    It is the working folder, one above it or the only one just below it; else the repository that the package
    comes from. It is never a folder of installed packages, nor the untouched copy.
    start: the working folder; None = this process's own.
    """
    found = None
    with suppress(OSError):  # the working folder may have been removed
        here = (start or Path.cwd()).resolve()
        found = next((folder for folder in (here, *here.parents) if _is_course(folder)), None)
        below = [] if found else [folder for folder in here.iterdir() if _is_course(folder)]
        if len(below) == 1:
            (found,) = below
    return found or (COURSE_DIR if (COURSE_DIR / "pyproject.toml").is_file() else None)


def needs_folder() -> Path:
    """Find the learner's folder of the course. Raises ValueError if there is none."""
    folder = course_folder()
    if folder is None:
        raise ValueError(
            "The course's notebooks are not here. Go to the folder that holds `notebooks` and `exercises` "
            "(type cd and its name), and try again."
        )
    return folder


def _is_course(folder: Path) -> bool:
    try:
        return folder.name != COPY and ((folder / FIRST).is_file() or (folder / COPY).is_dir())
    except OSError:  # a folder of somebody else's
        return False


def why_not_written(problem: OSError, folder: Path) -> str:
    """Say in a sentence why a file could not be written into this folder, and what to do."""
    return (
        f"Nothing was changed: {problem.filename or folder} cannot be written "
        f"({problem.strerror or problem}). Copy the folder {folder} to a place where you may write, such as "
        "your home folder, and work there."
    )


def original_of(file: Path, folder: Path) -> Path | None:
    """Find a notebook as it was handed out: in the folder's untouched copy, else what the package keeps."""
    copy = folder / COPY / file.relative_to(folder)
    if (folder / COPY).is_dir():
        return copy if copy.is_file() else None
    exercise = EXERCISES.get(file.stem)
    return exercise.fresh if exercise and file.parent == folder / "exercises" else None


@dataclass(frozen=True)
class Change:
    """What the course has changed in a notebook, and the learner's file does not have.

    file, original: the two notebooks. headings: of the changed cells. known: False if it is not known who has
    changed them, the course or the learner.
    """

    file: Path
    original: Path
    headings: tuple[str, ...]
    known: bool = True

    def __str__(self) -> str:
        count = len(self.headings)
        cells = f"{count} cell{'' if count == 1 else 's'}"
        names = list(dict.fromkeys(f'"{heading}"' for heading in self.headings))
        where = ", ".join(names[:3]) + (", ..." if names[3:] else "")
        if self.known:
            said = f"{self.file.name}: the course has changed {cells} that you do not have ({where})."
        else:
            differ = "is not as the course has it" if count == 1 else "are not as the course has them"
            said = f"{self.file.name}: {cells} {differ} now ({where})."
        short = self.file.stem.split("_")[0]
        beside = f"; or open {self.original.as_posix()} beside it" if self.known else ""
        return (
            f"{said} To take the new notebook, run  %run -m agentlib reset {short}  in a cell of another one "
            f"(yours is kept beside it){beside}."
        )


def change_in(file: Path, folder: Path) -> Change | None:
    """Compare one notebook with its original; None if the course has changed nothing that is missing in it.

    A notebook that cannot be read is no matter of this function: None.
    """
    original = original_of(file, folder)
    if original is None:
        return None
    mine, cells = _cells(file), _cells(original)
    if not mine or not cells or file.samefile(original):
        return None
    known = (folder / COPY).is_dir()
    if known:
        earlier = _earlier(folder).get(file.relative_to(folder).as_posix(), {})
    else:
        earlier = {cell["id"]: [""] for cell in cells if "id" in cell and not _is_to_write(cell)}
    missed = list(_missed(mine, cells, earlier))
    if not missed:
        return None
    shown = original.relative_to(folder) if known else original
    return Change(file, shown, tuple(_heading(cells, cell) for cell in missed), known)


def changes_in_folder(folder: Path) -> list[Change]:
    """List what the course has changed in this folder's notebooks, in the order of their names."""
    if (folder / COPY).is_dir():
        names = [folder / name for name in _earlier(folder)]
    else:
        names = [folder / "exercises" / f"{name}.ipynb" for name in EXERCISES]
    found = (change_in(file, folder) for file in sorted(names) if file.is_file())
    return [change for change in found if change]


def with_change(report: CheckReport, folder: Path) -> CheckReport:
    """Give the report of an exercise with a note if the course has changed its notebook in this folder."""
    change = change_in(folder / "exercises" / f"{report.exercise}.ipynb", folder)
    return replace(report, notes=(*report.notes, str(change))) if change else report


def sources_of(notebook: Path) -> Sources:
    """Give the text of each cell by its id; an empty dict if the file is no notebook."""
    return {cell["id"]: _source(cell) for cell in _cells(notebook) if isinstance(cell.get("id"), str)}


def _cells(notebook: Path) -> list[dict[str, Any]]:
    try:
        found = json.loads(notebook.read_bytes())
        cells = [cell for cell in found["cells"] if isinstance(cell, dict) and _source(cell)]
        return [cell for cell in cells if isinstance(cell.get("id", ""), str)]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []


def _source(cell: Mapping[str, Any]) -> str:
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(source)


def _earlier(folder: Path) -> dict[str, dict[str, list[str]]]:
    """Read the earlier texts: for each notebook, for each cell that was changed; "" = it was not there."""
    try:
        return dict(json.loads((folder / COPY / HANDOUT_FILE).read_bytes())["earlier"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}


def _is_to_write(cell: Mapping[str, Any]) -> bool:
    """Whether a code cell of an exercise is the learner's: the course's own ones are locked."""
    metadata = cell.get("metadata", {})
    return cell.get("cell_type") == "code" and not metadata.get("nbgrader", {}).get("locked")


def _missed(
    mine: list[dict[str, Any]], cells: list[dict[str, Any]], earlier: Mapping[str, list[str]]
) -> Iterator[dict[str, Any]]:
    """Find the cells whose newest text the learner does not have, and did not write over."""
    by_id = {cell.get("id"): _source(cell) for cell in mine}
    texts = {_source(cell) for cell in mine}
    if not any(cell.get("id") in by_id or _source(cell) in texts for cell in cells):
        return  # another notebook altogether
    for cell in cells:
        before = earlier.get(cell.get("id", ""), [])
        now = _source(cell)
        if not before or now in texts:
            continue
        # Some programs give cells ids of their own: then a text is looked for.
        got = by_id.get(cell.get("id"), next((text for text in before if text in texts), None))
        if got is None:  # the course has added the cell, or the learner has taken it out
            if "" in before:
                yield cell
        elif got in before or not _has_taken(got, before[-1], now):
            yield cell


def _has_taken(got: str, old: str, new: str) -> bool:
    """Whether a text that the learner has changed holds what the course has changed from old to new."""
    old_lines, new_lines, lines = _lines(old), _lines(new), _lines(got)
    return new_lines - old_lines <= lines and not (old_lines - new_lines) & lines


def _lines(text: str) -> set[str]:
    lines = {line.strip() for line in text.splitlines()}
    return {line for line in lines if line and not any(word in line for word in TO_REPLACE)}


def _heading(cells: list[dict[str, Any]], wanted: Mapping[str, Any]) -> str:
    """Give the heading under which a cell stands."""
    heading = "the beginning"
    for cell in cells:
        if cell.get("cell_type") == "markdown":
            found = [line.lstrip("# ") for line in _source(cell).splitlines() if line.startswith("#")]
            heading = (found or [heading])[0 if cell is wanted else -1]
        if cell is wanted:
            break
    return heading
