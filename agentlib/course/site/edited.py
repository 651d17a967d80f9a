"""What a page to read asks Python for: a player with the reader's own loop, and the check of a repair.

The builder picks the cells of a lesson that a player or a quiz needs. In the page's worker they run, with the
reader's loop in the place of the lesson's. Everything goes in and out as JSON, and nothing is kept.
"""

import ast
import contextlib
import inspect
import json
import linecache
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from traceback import walk_tb
from typing import Any

from agentlib.course.running.runner import Counter, RunEnded, TimeLimit
from agentlib.course.site.live import PLACE, LoopTextError, loop_of
from agentlib.messages import short
from agentlib.views.describe import visible
from agentlib.views.quiz import REPAIR_TRIES
from agentlib.views.tracer import Tracer
from agentlib.views.tracer.page import page_values
from agentlib.watch.source import Source

__all__ = ["CELL_SECONDS", "answer_edited", "edit_request", "repair_request"]

CELL_SECONDS = 15.0
"""Each cell has so long. A watched loop that does not end is ended before."""

HEAD = re.compile(r"def (\w+)\(.*")


# --- when the site is built -----------------------------------------------------------------------------


def edit_request(cells: Sequence[str], timelines: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Give what it takes to run a player's loop as a reader writes it; None = it has no text to be changed.

    cells: the code of a lesson up to the cell that shows the player. timelines: what the player plays.
    """
    lines: list[str] = next((one["lines"] for one in timelines if one["lines"]), [])
    if not any(HEAD.match(line) for line in lines):
        return None
    try:
        return {"cells": needed_cells(cells), "lines": lines}
    except SyntaxError:  # a cell that only a notebook understands
        return None


def repair_request(cells: Sequence[str], questions: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Give what it takes to check the repairs of a quiz; None = it asks for none."""
    return {"cells": needed_cells(cells)} if any(one["repair"] for one in questions) else None


def needed_cells(cells: Sequence[str]) -> list[str]:
    """Pick the cells that the last one needs: those that make a name that it uses, and what these need.

    Raises SyntaxError.
    """
    trees = [ast.parse(cell) for cell in cells]
    kept = [len(cells) - 1]
    wanted = _used(trees[-1])
    for place in range(len(cells) - 2, -1, -1):
        if wanted.intersection(_made(trees[place].body)):
            kept.append(place)
            wanted |= _used(trees[place])
    return [cells[place] for place in reversed(kept)]


def _used(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _made(statements: Sequence[ast.stmt]) -> Iterator[str]:
    """List the names that statements bind or change, functions' own names aside."""
    for statement in statements:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield statement.name
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            yield from (one.asname or one.name.split(".")[0] for one in statement.names)
        else:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id
                elif isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
                    yield from (inner.id for inner in ast.walk(node.value) if isinstance(inner, ast.Name))


# --- in the page's worker -------------------------------------------------------------------------------


def answer_edited(wanted: str, now: Callable[[float], None] | None = None) -> str:
    """Do what the page asks for; JSON both ways, and "problem" says what is wrong.

    now: told before each cell how many seconds it may take.
    """
    request: dict[str, Any] = json.loads(wanted)
    does = _mended if "question" in request else _with_the_readers_loop
    try:
        return json.dumps(does(request, now or (lambda seconds: None)))
    except LoopTextError as problem:
        return json.dumps({"problem": str(problem), "line": problem.line})


def _with_the_readers_loop(request: Mapping[str, Any], now: Callable[[float], None]) -> dict[str, Any]:
    exchange = _Exchange(request["lines"], request["text"])
    shown = _run_cells(request["cells"], now, exchange.look)
    if exchange.own is None or not isinstance(shown, Tracer):
        raise LoopTextError("This loop cannot be changed here. It can in the lab.")
    return page_values(shown.traces, label="Your loop")


def _mended(request: Mapping[str, Any], now: Callable[[float], None]) -> dict[str, Any]:
    """Check a line of a repair. tried: how often it was checked before."""
    quiz = _run_cells(request["cells"], now)
    now(CELL_SECONDS)
    said = quiz.mend(request["question"], request["line"], request["text"])
    return {"said": said, "done": not said or request["tried"] + 1 >= REPAIR_TRIES}


def _run_cells(
    cells: Sequence[str],
    now: Callable[[float], None],
    look: Callable[[dict[str, Any]], None] = lambda names: None,
) -> Any:
    """Run cells in one memory, and give the last value. look: called with the names after each statement."""
    names: dict[str, Any] = {"__name__": "__main__"}
    shown: Any = None
    for number, cell in enumerate(cells, start=1):
        now(CELL_SECONDS)
        shown = _run_cell(cell, f"<cell {number}>", names, look)
    return shown


def _run_cell(cell: str, place: str, names: dict[str, Any], look: Callable[[dict[str, Any]], None]) -> Any:
    linecache.cache[place] = (len(cell), None, cell.splitlines(keepends=True), place)
    shown: list[Any] = []

    def run() -> None:
        for statement in ast.parse(cell).body:
            if isinstance(statement, ast.Expr):
                shown[:] = [eval(compile(ast.Expression(statement.value), place, "eval"), names)]
            else:
                exec(compile(ast.Module([statement], []), place, "exec"), names)
                look(names)

    try:
        with contextlib.redirect_stdout(Counter()):
            TimeLimit(CELL_SECONDS).run(run)
    except LoopTextError:
        raise
    except RunEnded:
        raise LoopTextError(
            f"The lesson calls your loop, and it did not end within {CELL_SECONDS:g} seconds. "
            "Is there a way out of each loop?"
        ) from None
    except BaseException as problem:
        lines = [line for frame, line in walk_tb(problem.__traceback__) if frame.f_code.co_filename == PLACE]
        where = f"Line {lines[-1]} of your loop" if lines else "With your loop a cell of the lesson"
        words = f"{where} raised {type(problem).__name__}: {short(str(problem), 200)}"
        raise LoopTextError(words, lines[-1] if lines else 0) from None
    return shown[0] if shown else None


class _Exchange:
    """Puts the reader's loop in the place of the lesson's, wherever that one has a name.

    own: the reader's; None = the lesson's was not met yet.
    """

    def __init__(self, lines: Sequence[str], text: str) -> None:
        self.lines, self.text = list(lines), text
        head = next(found for line in lines if (found := HEAD.match(line)))
        self.name, self.first_line = head[1], head[0]
        self.own: Callable[..., Any] | None = None
        self.others: set[Callable[..., Any]] = set()

    def look(self, names: dict[str, Any]) -> None:
        """Put it in the place of what has been named so far."""
        for name, value in list(names.items()):
            if not inspect.isfunction(value) or value is self.own or value in self.others:
                continue
            if self._is_the_lessons(value):
                names[name] = self._made_like(value, names)
            else:
                self.others.add(value)

    def _is_the_lessons(self, function: Callable[..., Any]) -> bool:
        try:
            text = inspect.getsource(function)
        except (OSError, TypeError):
            return False
        return [visible(line) for line in Source(text, 1).lines] == self.lines

    def _made_like(self, function: Any, names: Mapping[str, Any]) -> Callable[..., Any]:
        if self.own is None:
            # Names in the lesson's loop mean the same in the reader's.
            around = {**names, **function.__globals__}
            around.pop(self.name, None)
            self.own = loop_of(self.text, self.name, self.first_line, around)
        return self.own
