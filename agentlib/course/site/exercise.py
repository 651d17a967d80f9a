"""What an exercise's page asks for, inside its worker: a notebook is checked, watched, or one cell of it run.

Everything goes in and out as JSON, and nothing is kept: the cells are run anew each time, as a fresh kernel
runs them.
"""

import ast
import contextlib
import json
import linecache
import re
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentlib.course.check_file import Followed
from agentlib.course.checking.engine import check_with, with_print_note
from agentlib.course.checking.notebook import functions_in, read_cells
from agentlib.course.checking.report import NOT_YET, CriterionResult
from agentlib.course.checking.spec import Exercise
from agentlib.course.checking.watching import RunWatcher
from agentlib.course.errors import NotebookError
from agentlib.course.exercises import find_exercise
from agentlib.course.running.cells import Cell, Ran, run_cells
from agentlib.course.running.runner import Counter, RunEnded, Runner, TimeLimit, error_of, why_not
from agentlib.messages import short
from agentlib.views.describe import counted
from agentlib.views.shown import Html, tag
from agentlib.views.tracer import Tracer
from agentlib.views.tracer.page import page_values

__all__ = ["CELL_SECONDS", "Outputs", "answer_exercise"]

CELL_SECONDS = 15.0
"""Each cell has so long; `try_it` ends by itself before."""

SHOWN_CHARS = 20_000
"""So much of what was printed is shown."""

WATCH_SECONDS = 20.0
"""A watched run may take so long; it is ended by itself, at the limit that it had in the check."""

SEEN = ("id", "part", "wanted", "seen", "scenario", "seen_at", "seen_after")
"""What is to be known of a part that is not met, to watch its run."""

CHECK_TAG = "check"
Now = Callable[[float], None]


class _TextError(Exception):
    """What is wrong with a cell's text, in a sentence. cell: its place among the code cells; line: in it."""

    def __init__(self, words: str, cell: int = -1, line: int = 0) -> None:
        super().__init__(words)
        self.about = {"problem": words, "cell": cell, "line": line}


class Outputs:
    """What cells print and show, in order. The first `SHOWN_CHARS` characters that are printed are kept."""

    def __init__(self) -> None:
        self.items: list[dict[str, Any]] = []
        self.left = SHOWN_CHARS
        self.cut = 0

    def print(self, text: str) -> None:
        """Keep a printed text, or as much of it as there is room for."""
        kept = text[: self.left]
        self.left -= len(kept)
        self.cut += len(text) - len(kept)
        if not kept:
            return
        if not (self.items and "text" in self.items[-1]):
            self.items.append({"text": ""})
        self.items[-1]["text"] += kept

    def show(self, value: Any) -> None:
        """Show a value as a notebook shows the last line of a cell."""
        if value is None:
            return
        if isinstance(value, Tracer):
            self.items.append({"player": page_values(value.traces, value.opens)})
            return
        html = getattr(value, "_repr_html_", None)
        markup = html() if callable(html) and not isinstance(value, type) else None
        if isinstance(markup, Html):  # no markup but our own
            self.items.append({"html": markup})
        else:
            self.print(f"{value!r}\n")

    def as_list(self) -> list[dict[str, Any]]:
        """Give everything, with a line on what was left out."""
        if not self.cut:
            return self.items
        left_out = f"Not shown: {counted(self.cut, 'character')} more that your code printed."
        return [*self.items, {"html": tag("p", left_out)}]


class _Screen(Counter):
    """Takes the place of the screen and keeps what there is room for."""

    def __init__(self, outputs: Outputs) -> None:
        super().__init__()
        self.outputs = outputs

    def write(self, text: str) -> int:
        """Count a text and keep it."""
        self.outputs.print(text)
        return super().write(text)


def answer_exercise(wanted: str, now: Now = lambda seconds: None) -> str:
    """Do what the page asks for: "check", "watch" or "run". JSON both ways.

    now: is told how many seconds what runs next may take.
    The request has "exercise", its name, and "notebook", as it stands in the page; for "check" and "watch"
    "seed", None for new data; for "watch" "part", one of those that a check called watchable; for "run"
    "cell", the place of the code cell.
    "problem" in the answer says what is wrong; "cell" and "line" where, -1 and 0 = at no place in the text.
    """
    request: dict[str, Any] = json.loads(wanted)
    try:
        exercise = find_exercise(request["exercise"])
        cells = _cells(request["notebook"], exercise)
        if request["do"] == "run":
            answer = _run(cells, request["cell"], now)
        elif request["do"] == "watch":
            answer = _watch(exercise, cells, request["seed"], request["part"], now)
        else:
            answer = _check(exercise, cells, request["seed"], now)
        return json.dumps(answer)
    except _TextError as problem:
        return json.dumps(problem.about)


def _check(exercise: Exercise, cells: list[Cell], seed: int | None, now: Now) -> dict[str, Any]:
    """Check as `check` does in a notebook; notes say what went wrong in other cells."""
    outputs = Outputs()
    ran, functions = _made(exercise, cells, outputs, now)
    learner = Runner(functions, alone=True)
    report = check_with(exercise, Followed(learner, lambda what, seconds: now(seconds)), seed)
    report = with_print_note(report, learner.printed)
    problems = tuple(problem for problem in ran.problems if report.started or "not started" not in problem)
    report = replace(report, notes=(*report.notes, *problems))
    return {
        "html": report._repr_html_(),
        "verdict": report.verdict,
        "started": report.started,
        "points": report.points,
        "max_points": report.max_points,
        "seed": report.seed,
        "watchable": [
            {name: getattr(result, name) for name in SEEN} if result in report.watchable else None
            for result in report.results
        ],
        "outputs": outputs.as_list(),
    }


def _watch(
    exercise: Exercise, cells: list[Cell], seed: int, part: dict[str, Any], now: Now
) -> dict[str, Any]:
    """Show the run of a check in which a part was not met, on the learner's own function."""
    functions = _made(exercise, cells, Outputs(), now)[1]
    now(WATCH_SECONDS)
    result = CriterionResult(status=NOT_YET, points=0, max_points=0, hints=("", ""), **part)
    tracer = RunWatcher(exercise, functions, seed).tracer(result)
    return {"title": result.title, "player": page_values(tracer.traces, tracer.opens)}


# --- cells ----------------------------------------------------------------------------------------------


def _cells(notebook: dict[str, Any], exercise: Exercise) -> list[Cell]:
    """Read the code cells. Raises _TextError at the first that Python cannot read."""
    cells = read_cells(json.dumps(notebook).encode(), Path(exercise.name))
    for place, cell in enumerate(cells):
        try:
            ast.parse(cell.source, cell.name)
        except SyntaxError as problem:
            raise _TextError(_syntax_words(problem, cell), place, problem.lineno or 0) from None
        except (ValueError, RecursionError, MemoryError) as problem:  # a zero byte; brackets in brackets
            words = f"In {cell.place}: {str(problem) or 'it is nested too deep'}. Nothing was run."
            raise _TextError(words, place) from None
    return cells


def _syntax_words(problem: SyntaxError, cell: Cell) -> str:
    lines = cell.source.split("\n")
    line = lines[problem.lineno - 1].strip() if problem.lineno and problem.lineno <= len(lines) else ""
    where = f"Line {problem.lineno} of {cell.place}" if problem.lineno else cell.place
    if line[:1] in ("%", "!"):
        return f"{where} is for Jupyter, `{short(line, 60)}`, and a page runs Python alone. Nothing was run."
    shown = f": `{short(line, 60)}`" if line else ""
    return f"{where} is no Python: {problem.msg}{shown}. Nothing was run."


def _run_all(cells: Sequence[Cell], outputs: Outputs, now: Now) -> Ran:
    return run_cells(
        cells, CELL_SECONDS, before=lambda _: now(CELL_SECONDS), alone=True, screen=lambda: _Screen(outputs)
    )


def _made(
    exercise: Exercise, cells: list[Cell], outputs: Outputs, now: Now
) -> tuple[Ran, dict[str, Callable[..., Any]]]:
    """Run the cells that a check needs, and pick the functions that it is about. Raises _TextError."""
    ran = _run_all([cell for cell in cells if _is_needed(cell)], outputs, now)
    try:
        functions = functions_in(ran, exercise.functions, Path(exercise.name))
    except NotebookError as problem:
        words = str(problem).removeprefix(f"{exercise.name}: ").removesuffix(".")
        raise _TextError(f"{re.sub('^no cell', 'No cell', words)}.") from None
    for name, function in functions.items():
        if why := why_not(function):
            raise _TextError(f"{name} is {why} `def {name}(...)`.")
    return ran, functions


def _is_needed(cell: Cell) -> bool:
    """Whether a check needs a cell: set-up, given code, the learner's own; not what only tries them."""
    return bool(cell.grade_id) and CHECK_TAG not in cell.tags


def _run(cells: list[Cell], place: int, now: Now) -> dict[str, Any]:
    """Run one cell after those before it that a check needs, and show what comes of it."""
    outputs = Outputs()
    needed = [cell for cell in cells if _is_needed(cell) and cell is not cells[place]]
    ran = _run_all(needed, Outputs(), now)
    now(CELL_SECONDS)
    problem = _run_shown(cells[place], ran, outputs)
    problems = [*ran.problems, *([problem] if problem else [])]
    return {"outputs": outputs.as_list(), "problems": problems}


def _run_shown(cell: Cell, ran: Ran, outputs: Outputs) -> str:
    """Run a cell and show its last value; give a sentence if something is wrong, else ""."""
    tree = ast.parse(cell.source, cell.name)
    value = None
    if tree.body and isinstance(last := tree.body[-1], ast.Expr):
        value = compile(ast.Expression(last.value), cell.name, "eval")
        del tree.body[-1]
    body = compile(tree, cell.name, "exec")
    lines = [f"{line}\n" for line in cell.source.split("\n")]
    linecache.cache[cell.name] = (len(cell.source), None, lines, cell.name)
    ran.names["display"] = outputs.show

    def whole() -> None:
        exec(body, ran.names)
        if value is not None:
            outputs.show(eval(value, ran.names))

    screen = _Screen(outputs)
    try:
        with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen):
            TimeLimit(CELL_SECONDS).run(whole)
    except RunEnded:
        return f"After {CELL_SECONDS:g} seconds it was still running and was ended."
    except NotImplementedError:
        return "not started yet"
    except BaseException as problem:
        return _error_words(problem)
    return ""


def _error_words(problem: BaseException) -> str:
    """Say what was raised, with the innermost line that stands in a cell."""
    error = error_of(problem)
    places = [
        frame for frame in traceback.extract_tb(problem.__traceback__) if frame.filename.startswith("cell ")
    ]
    said = " ".join(str(error["message"]).split()).rstrip(".")
    words = f"{error['type']}: {said}" if said else str(error["type"])
    if not places:
        return f"{words}."
    line = linecache.getline(places[-1].filename, places[-1].lineno or 0).strip()
    source = "".join(linecache.getlines(places[-1].filename))
    place = Cell(0, source).place
    return f"In {place}, line {places[-1].lineno}: {words}: `{short(line, 80)}`"
