"""A learner's notebook as plain data; what is wrong with it becomes a sentence."""

import json
import stat
from codecs import BOM_UTF8
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from agentlib.course.errors import NotebookError
from agentlib.course.running.cells import Cell, Ran
from agentlib.messages import short

__all__ = ["converted_note", "format_of", "functions_in", "read_cells", "read_notebook"]


def read_notebook(path: Path) -> list[Cell]:
    """Read the code cells of a notebook file. Raises NotebookError if it cannot be read."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # to read a pipe or a device may take for ever
            raise NotebookError(f"{path}: is no file that can be read.")
        data = path.read_bytes()
    except FileNotFoundError:
        raise NotebookError(f"{path}: there is no such file.") from None
    except (OSError, ValueError) as problem:  # ValueError: a zero byte in the name
        problem = problem if isinstance(problem, OSError) else OSError(str(problem))
        raise NotebookError(f"{path}: cannot be read ({problem.strerror or problem}).") from None
    return read_cells(data, path)


def read_cells(data: bytes, path: Path) -> list[Cell]:
    """Read the code cells out of the content of a notebook file; path: for the words of a NotebookError."""
    if not data.removeprefix(BOM_UTF8).strip():
        raise NotebookError(f"{path}: the file is empty. Save the notebook, and take that file.")
    if data.removeprefix(BOM_UTF8).lstrip()[:1] == b"<":
        raise NotebookError(
            f"{path}: is a web page and no notebook. Take the .ipynb file that JupyterLab saves."
        )
    try:
        notebook = json.loads(data)
    except RecursionError:
        raise NotebookError(f"{path}: is no notebook (nested too deep).") from None
    except json.JSONDecodeError as problem:
        where = f"line {problem.lineno}, column {problem.colno}"
        raise NotebookError(f"{path}: is no notebook file; its JSON breaks off at {where}.") from None
    except UnicodeDecodeError:
        raise NotebookError(f"{path}: is no notebook file; it is not text.") from None
    except ValueError:  # Python reads no number of more than 4300 digits
        raise NotebookError(f"{path}: is no notebook; a number in it is too long.") from None
    if not isinstance(notebook, dict) or type(notebook.get("nbformat")) is not int:
        raise NotebookError(f"{path}: is no notebook; it holds JSON of another kind.")
    if 1 <= notebook["nbformat"] < 4:
        notebook = _converted(notebook)
    if notebook["nbformat"] == 4 and not isinstance(notebook.get("cells"), list):
        raise NotebookError(f"{path}: is no notebook; it has no list of cells.")
    if notebook["nbformat"] != 4:
        raise NotebookError(
            f"{path}: has notebook format {notebook['nbformat']}, and format 4 is needed; "
            f"convert it with: jupyter nbconvert --to notebook {path.name}"
        )
    code = [cell for cell in notebook["cells"] if isinstance(cell, dict) and cell.get("cell_type") == "code"]
    return [_cell(number, cell) for number, cell in enumerate(code, start=1)]


def format_of(data: bytes) -> int:
    """Give the format of a notebook; 0 if it has none that can be read."""
    try:
        number = json.loads(data)["nbformat"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return 0
    return number if type(number) is int else 0


def converted_note(number: int) -> list[str]:
    """Say that a notebook of an old format was converted, if it was."""
    return [f"The notebook has the old format {number}; it was converted."] if 1 <= number < 4 else []


def _converted(notebook: dict[str, Any]) -> dict[str, Any]:
    """Bring an old notebook into the format of today, where that can be done."""
    try:
        import nbformat  # noqa: PLC0415  comes with Jupyter, and old notebooks are rare

        new: Any = nbformat.reads(json.dumps(notebook), as_version=4)  # type: ignore[no-untyped-call]
        text: str = nbformat.writes(new)  # type: ignore[no-untyped-call]
    except Exception:  # it is not installed, or this is no notebook of its format
        return notebook
    made: dict[str, Any] = json.loads(text)
    return made


def _cell(number: int, cell: dict[str, Any]) -> Cell:
    source = cell.get("source", "")
    metadata = _dict(cell.get("metadata"))
    about = _dict(metadata.get("nbgrader"))
    text = "".join(map(str, source)) if isinstance(source, list) else str(source)
    text = text.replace("\r\n", "\n").replace("\r", "\n")  # editors on Windows and on old Macs end lines so
    tags = metadata.get("tags")
    return Cell(
        number,
        text,
        tuple(map(str, tags)) if isinstance(tags, list) else (),
        str(about.get("grade_id", "")),
    )


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def functions_in(ran: Ran, needed: Sequence[str], path: Path) -> dict[str, Callable[..., Any]]:
    """Pick the functions that an exercise needs. Raises NotebookError if one is missing."""
    functions = {}
    for name in needed:
        function = ran.names.get(name)
        if function is None:
            first = next(iter([*ran.problems, *ran.passed_over]), "")
            why = f" ({first[:1].lower()}{first[1:]})" if first else ""
            raise NotebookError(f"{path}: no cell makes a function {name}{why}")
        if not callable(function):
            raise NotebookError(f"{path}: {name} is {short(function, 60)}, which is no function.")
        functions[name] = function
    return functions
