"""The code cells of a learner's notebook, run in this process; what goes wrong becomes a sentence."""

import __future__

import builtins
import contextlib
import linecache
import os
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from agentlib.course.running.runner import CO_COROUTINE, Counter, RunEnded, TimeLimit, cell_words, error_of
from agentlib.messages import short

if TYPE_CHECKING:
    from agentlib.course.running.event_loop import EventLoop

__all__ = ["Cell", "Ran", "run_cells"]

# They stand in `ast` and in `inspect`. Each submission is run in a Python of its own, and to load these two
# takes longer than most cells run; so does `dataclasses`, and `pathlib`.
PyCF_ALLOW_TOP_LEVEL_AWAIT = 0x2000
CO_FUTURES = 0x1FE0000
"""What `from __future__ import ...` sets; in a notebook it holds for all cells that come after it, too."""
FUTURE = re.compile(r"^from __future__ import ([\w ,]+)$", re.MULTILINE)

MAY_AWAIT = re.compile(r"async|await|aio")
"""Where none of that stands in a cell, no cell can tell whether an event loop runs."""

LARGE_OUTPUT_BYTES = 1_000_000
"""Printed text from so many bytes on is mentioned."""


class Cell(NamedTuple):
    """One code cell. number: which code cell it is, counted from 1. tags: those of its metadata.

    source: its lines end in "\\n" alone. `str.splitlines` knows more line ends than Python.
    code: plain Python in the place of a source that is none; None = the source itself is run.
    passed_over: the magic because of which nothing of it is run, but its code, which writes a file: "%%bash".
    Both come from `agentlib.course.checking.magics`.
    """

    number: int
    source: str
    tags: tuple[str, ...] = ()
    grade_id: str = ""
    code: str | None = None
    passed_over: str = ""

    @property
    def name(self) -> str:
        """It stands in the place of a file name where Python names one."""
        return f"cell {self.number}"

    @property
    def place(self) -> str:
        """How a reader finds it: "the cell that begins `def run_agent(`"."""
        return cell_words(self.name, self.source.split("\n"))


class Ran:
    """What came of running cells: the names that they made, and what went wrong, in sentences.

    passed_over: what was not run, in sentences. That is a problem only where something is missing.
    futures: what cells have imported from `__future__`, as flags of `compile`.
    loop: the event loop in which the cells ran, and their functions are to run; None = they need none.
    """

    def __init__(self, names: dict[str, Any], loop: "EventLoop | None" = None) -> None:
        self.names = names
        self.loop = loop
        self.problems: list[str] = []
        self.passed_over: list[str] = []
        self.futures = 0


NO_PERSON = "input() waits for a person, and a check has nobody to ask"


def _no_input(*args: Any, **kwargs: Any) -> Any:
    raise EOFError(NO_PERSON)  # Python's own error where nobody can type


def _no_exit(*args: Any, **kwargs: Any) -> Any:
    raise SystemExit


def run_cells(
    cells: Sequence[Cell],
    seconds: float = 30.0,
    skip_tags: Sequence[str] = ("check",),
    before: Callable[[Cell], None] | None = None,
    alone: bool = False,
    as_main: bool = False,
    screen: Callable[[], Counter] = Counter,
) -> Ran:
    """Run code cells in order, as a notebook does, and go on after one that fails.

    seconds: time for each cell. skip_tags: cells with one of these tags are passed over.
    before: called with each cell before it runs, so that somebody can follow.
    alone: no person can press Ctrl-C here, so that a KeyboardInterrupt is an error like any other.
    as_main: the cells become this process's own `__main__`, in which pickle and typing look for their names.
    screen: makes what takes the place of the screen, anew for each cell. What they print is counted, and not
    shown unless it keeps it.
    """
    os.environ.setdefault("MPLBACKEND", "Agg")  # no window for a plot
    module = ModuleType("__main__")  # as in a notebook
    if as_main:
        sys.modules["__main__"] = module
    names = module.__dict__
    names.update(
        __builtins__=builtins,
        input=_no_input,
        exit=_no_exit,
        quit=_no_exit,
        display=_show_nothing,
        get_ipython=lambda: _NoNotebook(names),
    )
    ran = Ran(names, _event_loop(cells))
    for cell in cells:
        if set(skip_tags) & set(cell.tags):
            continue
        if before is not None:
            before(cell)
        if cell.passed_over:
            ran.passed_over.append(f"{cell.place} was passed over: {cell.passed_over} is not run in a check")
        if cell.passed_over and not cell.code:
            continue
        problem = _run_cell(cell, ran, seconds, alone, screen())
        if problem:
            ran.problems.append(problem)
    return ran


def _show_nothing(*args: Any, **kwargs: Any) -> None:
    """Stand in for what only a notebook can do."""


class _NoNotebook:
    """Stands in for `get_ipython()`: every call does nothing, but that `%time` runs its line."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names

    def __getattr__(self, name: str) -> Callable[..., None]:
        return _show_nothing

    def run_line_magic(self, name: str, line: str, *more: Any) -> None:
        if name == "time":
            exec(line, self._names)

    def getoutput(self, *args: Any) -> list[str]:
        return []


def _compiled(source: str, name: str, futures: int) -> CodeType:
    """Compile a cell. futures: flags of what earlier cells have imported from `__future__`."""
    flags = PyCF_ALLOW_TOP_LEVEL_AWAIT | futures
    try:
        code: CodeType = compile(source, name, "exec", flags=flags, dont_inherit=True)
        return code
    except SyntaxError as problem:
        if "beginning of the file" not in str(problem.msg):
            raise
    # In a notebook it may stand anywhere in a cell, since each statement is compiled by itself.
    for found in FUTURE.findall(source):
        for feature in found.split(","):
            flags |= getattr(getattr(__future__, feature.strip(), None), "compiler_flag", 0) & CO_FUTURES
    code = compile(FUTURE.sub("", source), name, "exec", flags=flags, dont_inherit=True)
    return code


def _run_cell(cell: Cell, ran: Ran, seconds: float, alone: bool, printed: Counter) -> str:
    """Run one cell; give a sentence if something is wrong, else ""."""
    source = cell.source if cell.code is None else cell.code
    try:
        code = _compiled(source, cell.name, ran.futures)
        ran.futures |= code.co_flags & CO_FUTURES
    except SyntaxError as problem:
        if not problem.lineno:  # a zero byte
            return f"In {cell.place}: {problem.msg}."
        return f"In {cell.place}, line {problem.lineno}: {problem.msg}: {_code(cell, problem.lineno)}"
    except (ValueError, RecursionError, MemoryError) as problem:  # a zero byte; brackets in brackets
        return f"In {cell.place}: {str(problem) or 'it is nested too deep'}."
    # So that an error can show the line that it came from.
    lines = [f"{line}\n" for line in cell.source.split("\n")]
    linecache.cache[cell.name] = (len(source), None, lines, cell.name)
    limit = TimeLimit(seconds)
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            if ran.loop is None:
                limit.run(lambda: exec(code, ran.names))
            else:
                is_async = bool(code.co_flags & CO_COROUTINE)
                limit.run(partial(ran.loop.run, lambda: eval(code, ran.names), is_async))
    except RunEnded:
        return (
            f"{_capital(cell.place)} did not end within {seconds:g} seconds: is there a way out of its loop?"
        )
    except SystemExit:
        what = _exit_words(cell.source)
        return f"In {cell.place}{what} would end the notebook; the rest of this cell was not run."
    except NotImplementedError:
        return f"In {cell.place}: not started yet."
    except BaseException as problem:
        if isinstance(problem, KeyboardInterrupt) and not alone:
            raise  # a person wants to stop the check itself
        error = error_of(problem)
        line, said = error["line"], " ".join(error["message"].split())
        what = said if said == NO_PERSON else f"{error['type']}: {said}" if said else error["type"]
        place = f"{cell.place}, line {line}" if error["place"] == cell.place else cell.place
        return f"In {place}: {what.rstrip('.')}: {_code(cell, line)}"
    if printed.chars >= LARGE_OUTPUT_BYTES:
        return f"{_capital(cell.place)} printed {printed.chars / 1_000_000:,.0f} MB, which are not shown."
    return ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _event_loop(cells: Sequence[Cell]) -> "EventLoop | None":
    if not any(MAY_AWAIT.search(cell.source) for cell in cells):
        return None
    from agentlib.course.running.event_loop import EventLoop  # noqa: PLC0415  few need it; it loads slowly

    return EventLoop()


def _code(cell: Cell, line: int) -> str:
    lines = cell.source.split("\n")
    return f"`{short(lines[line - 1].strip(), 80)}`" if 0 < line <= len(lines) else "``"


def _exit_words(source: str) -> str:
    """Say what ended a cell, and where if it can be seen: `, line 2: sys.exit()`."""
    for number, line in enumerate(source.split("\n"), start=1):
        found = re.search(r"(?:\bsys\.)?\b(?:exit|quit)\s*\(|\bSystemExit\b", line)
        if found:
            return f", line {number}: {found[0].rstrip('( ')}{'()' if found[0].endswith('(') else ''}"
    return ": SystemExit"
