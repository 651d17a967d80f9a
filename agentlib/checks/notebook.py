"""A learner's notebook as plain data, and its code run in this process; what is wrong becomes a sentence."""

import ast
import builtins
import contextlib
import json
import linecache
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from agentlib.checks.here import Counter, RunEnded, TimeLimit, cell_words, error_of
from agentlib.messages import short

__all__ = ["Cell", "NotebookProblem", "Ran", "functions_in", "read_cells", "read_notebook", "run_cells"]

LARGE_OUTPUT_BYTES = 1_000_000
"""Printed text from so many bytes on is mentioned."""


class NotebookProblem(Exception):
    """What is wrong with a notebook, in one sentence for the learner."""


@dataclass(frozen=True)
class Cell:
    """One code cell. number: which code cell it is, counted from 1. tags: those of its metadata."""

    number: int
    source: str
    tags: tuple[str, ...] = ()
    grade_id: str = ""

    @property
    def name(self) -> str:
        """It stands in the place of a file name where Python names one."""
        return f"cell {self.number}"

    @property
    def place(self) -> str:
        """How a reader finds it: "the cell that begins `def run_agent(`"."""
        return cell_words(self.name, self.source.splitlines())


@dataclass
class Ran:
    """What came of running cells: the names that they made, and what went wrong, in sentences."""

    names: dict[str, Any]
    problems: list[str] = field(default_factory=list)


def read_notebook(path: Path) -> list[Cell]:
    """Read the code cells of a notebook file. Raises NotebookProblem if it cannot be read."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise NotebookProblem(f"{path}: there is no such file.") from None
    except OSError as problem:
        raise NotebookProblem(f"{path}: cannot be read ({problem.strerror or problem}).") from None
    return read_cells(data, path)


def read_cells(data: bytes, path: Path) -> list[Cell]:
    """Read the code cells out of the content of a notebook file; path: for the words of a NotebookProblem."""
    try:
        notebook = json.loads(data)
    except RecursionError:
        raise NotebookProblem(f"{path}: is no notebook (nested too deep).") from None
    except json.JSONDecodeError as problem:
        where = f"line {problem.lineno}, column {problem.colno}"
        raise NotebookProblem(f"{path}: is no notebook file; its JSON breaks off at {where}.") from None
    except ValueError:  # bytes that are no text
        raise NotebookProblem(f"{path}: is no notebook file; it is not text.") from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("nbformat"), int):
        raise NotebookProblem(f"{path}: is no notebook; it holds JSON of another kind.")
    if notebook["nbformat"] != 4 or not isinstance(notebook.get("cells"), list):
        raise NotebookProblem(
            f"{path}: has notebook format {notebook['nbformat']}, and format 4 is needed; "
            f"convert it with: jupyter nbconvert --to notebook {path.name}"
        )
    code = [cell for cell in notebook["cells"] if isinstance(cell, dict) and cell.get("cell_type") == "code"]
    return [_cell(number, cell) for number, cell in enumerate(code, start=1)]


def _cell(number: int, cell: dict[str, Any]) -> Cell:
    source = cell.get("source", "")
    metadata = _dict(cell.get("metadata"))
    about = _dict(metadata.get("nbgrader"))
    text = "".join(map(str, source)) if isinstance(source, list) else str(source)
    tags = metadata.get("tags")
    return Cell(
        number,
        text,
        tuple(map(str, tags)) if isinstance(tags, list) else (),
        str(about.get("grade_id", "")),
    )


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


class _Asked(Exception):
    """The code wanted something from a person."""


def _no_input(*args: Any, **kwargs: Any) -> Any:
    raise _Asked("input() waits for a person, and a check has nobody to ask")


def _no_exit(*args: Any, **kwargs: Any) -> Any:
    raise SystemExit


def run_cells(
    cells: Sequence[Cell],
    seconds: float = 30.0,
    skip_tags: Sequence[str] = ("check",),
    before: Callable[[Cell], None] | None = None,
) -> Ran:
    """Run code cells in order, as a notebook does, and go on after one that fails.

    seconds: time for each cell. skip_tags: cells with one of these tags are passed over.
    before: called with each cell before it runs, so that somebody can follow.
    What they print is counted and not shown.
    """
    os.environ.setdefault("MPLBACKEND", "Agg")  # no window for a plot
    module = ModuleType("__main__")  # as in a notebook; pickle and dataclasses look for it
    names = module.__dict__
    names.update(
        __builtins__=builtins,
        input=_no_input,
        exit=_no_exit,
        quit=_no_exit,
        display=_show_nothing,
        get_ipython=_show_nothing,
    )
    ran = Ran(names)
    for cell in cells:
        if set(skip_tags) & set(cell.tags):
            continue
        if before is not None:
            before(cell)
        problem = _run_cell(cell, names, seconds)
        if problem:
            ran.problems.append(problem)
    return ran


def _show_nothing(*args: Any, **kwargs: Any) -> None:
    """Stand in for what only a notebook can do."""


def _run_cell(cell: Cell, names: dict[str, Any], seconds: float) -> str:
    """Run one cell; give a sentence if something is wrong, else ""."""
    source = _without_magics(cell.source)
    try:
        code = compile(source, cell.name, "exec", dont_inherit=True)
    except SyntaxError as problem:
        return f"In {cell.place}, line {problem.lineno}: {problem.msg}: {_code(source, problem.lineno)}"
    except ValueError as problem:  # a zero byte
        return f"In {cell.place}: {problem}."
    # So that an error can show the line that it came from.
    linecache.cache[cell.name] = (len(source), None, cell.source.splitlines(keepends=True), cell.name)
    printed = Counter()
    limit = TimeLimit(seconds)
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            limit.run(_call(code, names))
    except RunEnded:
        return (
            f"{_capital(cell.place)} did not end within {seconds:g} seconds: is there a way out of its loop?"
        )
    except SystemExit:
        line = _line_of_exit(source)
        return f"In {cell.place}{line}: exit() would end the notebook; the rest of this cell was not run."
    except NotImplementedError:
        return f"In {cell.place}: not started yet."
    except KeyboardInterrupt:
        raise
    except BaseException as problem:
        error = error_of(problem)
        line, said = error["line"], error["message"]
        what = said if isinstance(problem, _Asked) else f"{error['type']}: {said}"
        place = f"{cell.place}, line {line}" if error["place"] == cell.place else cell.place
        return f"In {place}: {what.rstrip('.')}: {_code(source, line)}"
    if printed.chars >= LARGE_OUTPUT_BYTES:
        return f"{_capital(cell.place)} printed {printed.chars / 1_000_000:,.0f} MB, which are not shown."
    return ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _call(code: Any, names: dict[str, Any]) -> Callable[[], None]:
    return lambda: exec(code, names)


def _code(source: str, line: int | None) -> str:
    lines = source.splitlines()
    return f"`{short(lines[line - 1].strip(), 80)}`" if line and line <= len(lines) else "``"


def _line_of_exit(source: str) -> str:
    for number, line in enumerate(source.splitlines(), start=1):
        if re.search(r"\b(exit|quit)\s*\(|SystemExit", line):
            return f", line {number}"
    return ""


def _without_magics(source: str) -> str:
    """Take out what only IPython understands: lines with % or !, and whole cells in other languages."""
    try:
        ast.parse(source)
        return source
    except (SyntaxError, ValueError):
        pass
    if source.lstrip().startswith("%%"):
        first, _, rest = source.lstrip().partition("\n")
        return f"pass\n{rest}" if first.split()[0] in ("%%time", "%%capture", "%%timeit") else "pass"
    lines = []
    for line in source.split("\n"):
        found = re.match(r"(\s*)[%!]|(.*\S)\?+\s*$", line)
        lines.append(f"{found[1] or ''}pass" if found else line)
    return "\n".join(lines)


def functions_in(ran: Ran, wanted: Sequence[str], path: Path) -> dict[str, Callable[..., Any]]:
    """Pick the functions that an exercise needs. Raises NotebookProblem if one is missing."""
    functions = {}
    for name in wanted:
        function = ran.names.get(name)
        if function is None:
            first = ran.problems[0] if ran.problems else ""
            why = f" ({first[:1].lower()}{first[1:]})" if first else ""
            raise NotebookProblem(f"{path}: no cell makes a function {name}{why}")
        if not callable(function):
            raise NotebookProblem(f"{path}: {name} is {short(function, 60)}, which is no function.")
        functions[name] = function
    return functions
