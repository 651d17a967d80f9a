"""The final test: tasks over all lessons, made anew from a seed, marked at once.

A module here whose name is `tasks_` and a lesson's name holds that lesson's tasks. Each is a function that
gets a `random.Random` and makes one task: `shown_...` shows a run, a history, a bill or code and asks about
it, `repair_...` asks for a repair of one line.
"""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from random import Random
from typing import NamedTuple

from agentlib.course.final.task import FinalTask
from agentlib.messages import describe
from agentlib.views.quiz import FINAL_NAME, Quiz
from agentlib.views.quiz.answers import Answers
from agentlib.views.quiz.questions import Question

__all__ = ["TaskSource", "all_tasks", "draw_tasks", "final_test", "look_again"]

NOTEBOOKS = Path(__file__).resolve().parents[3] / "notebooks"


class TaskSource(NamedTuple):
    """Where a task comes from. lesson: such as "03_stop_rules". make: the function that makes it."""

    lesson: str
    make: Callable[[Random], FinalTask]

    @property
    def is_repair(self) -> bool:
        """True if it asks for a repair."""
        return self.make.__name__.startswith("repair_")


def all_tasks() -> list[TaskSource]:
    """List all tasks, by lesson."""
    found = []
    for name in sorted(module.name for module in iter_modules(__path__) if module.name.startswith("tasks_")):
        module = import_module(f"{__name__}.{name}")
        made = [value for key, value in vars(module).items() if re.match("(shown|repair)_", key)]
        found += [TaskSource(name.removeprefix("tasks_"), make) for make in made]
    return found


def final_test(seed: int, questions: int = 15, *, folder: str | Path | None = None) -> Quiz:
    """Show a test over the whole course: the same seed makes the same tasks, another seed makes others.

    seed: a whole number. questions: how many; a third are repairs, and each lesson has one as far as they
    reach. folder: where answers are kept; None = the user's data folder, or $AGENTLIB_DATA_DIR.
    Raises ValueError if the seed is not a whole number, or if there are fewer tasks.
    """
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ValueError(f"seed is a whole number, but was {describe(seed)}.")
    rng = Random(f"final test {seed}")
    drawn = draw_tasks(all_tasks(), questions, rng)
    asked = [_question(source, rng) for source in drawn]
    closing = "For a test with other data take another seed."
    return Quiz(f"{FINAL_NAME}{seed}", asked, Answers(folder), tries=1, closing=closing)


def _question(source: TaskSource, rng: Random) -> Question:
    task = source.make(rng)
    return replace(task.question, look_again=look_again(source.lesson, task.cell))


def draw_tasks(tasks: list[TaskSource], count: int, rng: Random) -> list[TaskSource]:
    """Draw tasks in mixed order: one of each lesson first, a third of all of them repairs.

    Raises ValueError if there are fewer than `count`.
    """
    if not 1 <= count <= len(tasks):
        raise ValueError(
            f"From {len(tasks)} questions 1 to {len(tasks)} can be drawn, but {describe(count)} was wanted."
        )
    mixed = rng.sample(tasks, len(tasks))
    lessons = list(dict.fromkeys(task.lesson for task in mixed))[:count]
    drawn: list[TaskSource] = []
    for lesson in (*lessons, *[""] * (count - len(lessons))):  # "" = any
        left = [task for task in mixed if task not in drawn and lesson in ("", task.lesson)]
        wants_repair = sum(task.is_repair for task in drawn) < count // 3
        drawn.append(next((task for task in left if task.is_repair == wants_repair), left[0]))
    return rng.sample(drawn, count)


def look_again(lesson: str, cell: str) -> str:
    """Say where a lesson can be looked at again: its heading, and how the cell begins.

    cell: the cell's id. Where the notebook is not at hand, its name and the id say it.
    """
    number = lesson[:2]
    try:
        notebook = json.loads((NOTEBOOKS / f"{lesson}.ipynb").read_text(encoding="utf-8"))
        heading, lines = _place(notebook["cells"], cell)
    except (OSError, ValueError, KeyError, TypeError):  # not there, or changed by the learner
        return f"Look again at lesson {lesson}, cell {cell}."
    place = f'Look again at lesson {number}, "{heading}"'
    begins = next(filter(None, map(_plain, lines)), heading)
    return f"{place}." if begins == heading else f"{place}, the cell that begins: {begins[:60]}"


def _place(cells: list[dict[str, list[str] | str]], wanted: str) -> tuple[str, list[str]]:
    heading = ""
    for cell in cells:
        lines = "".join(cell["source"]).split("\n")
        headings = (
            [line for line in lines if re.match("#+ ", line)] if cell["cell_type"] == "markdown" else []
        )
        heading = _plain(headings[0]) if headings else heading
        if cell["id"] == wanted:
            return heading, lines
    raise KeyError(wanted)


def _plain(markdown: str) -> str:
    """A line of Markdown without its signs and tags."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", markdown)
    return re.sub(r"[*`]|^#+ |<[^>]*>", "", text).strip()
