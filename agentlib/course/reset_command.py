"""The command `reset` of `python -m agentlib`: an exercise or a lesson back to its beginning."""

import argparse
import os
import re
import sys
from datetime import datetime
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from agentlib.course.check_command import say
from agentlib.course.exercises import EXERCISES, find_exercise
from agentlib.course.originals import COPY, needs_folder, original_of, why_not_written
from agentlib.messages import short

if TYPE_CHECKING:
    from agentlib.course.check_command import Commands

__all__ = ["add_reset", "reset_exercise", "reset_notebook", "reset_quiz"]


def reset_exercise(name: str, course_dir: Path, now: datetime | None = None) -> str:
    """Put one exercise back to its beginning; the file that is there is kept beside it. Says what it did.

    course_dir: the learner's folder. now: the time for the old file's name; None = the clock's.
    Raises ValueError if there is no such exercise, or no folder to put it into; OSError if it cannot be
    written: then nothing was changed.
    """
    exercise = find_exercise(_last_part(name))
    target = course_dir / "exercises" / f"{exercise.name}.ipynb"
    return _put_back(target, original_of(target, course_dir) or exercise.fresh, now)


def reset_notebook(name: str, course_dir: Path, now: datetime | None = None) -> str:
    """Put an exercise back to its beginning, or a lesson to a handout's copy; see `reset_exercise`.

    name: such as "ex02", "02", "02_blue_mugs" or a file's name.
    """
    sought = _last_part(name).lower().removesuffix(".ipynb")
    if not re.match(r"\d", sought):
        return reset_exercise(name, course_dir, now)
    copies = course_dir / COPY / "notebooks"
    if not copies.is_dir():
        raise ValueError(
            "Lessons can be put back where your teacher has handed out the course: there is no folder "
            f"{COPY} in {course_dir}."
        )
    for copy in sorted(copies.glob("*.ipynb")):
        if sought in (copy.stem, copy.stem.split("_")[0]):
            return _put_back(course_dir / "notebooks" / copy.name, copy, now)
    raise ValueError(f'There is no lesson "{short(name, 60)}" in {copies}.')


def _last_part(name: str) -> str:
    return name.replace("\\", "/").rsplit("/", 1)[-1]


def _put_back(target: Path, original: Path, now: datetime | None) -> str:
    """Put a copy of the original in a file's place; in one folder, so that each step is whole or not done."""
    folder, stem = target.parent, target.stem
    if not folder.is_dir() and os.path.lexists(folder):
        raise ValueError(f"{folder} is a file, and the {folder.name} need a folder there; move it away.")
    fresh = original.read_bytes()
    if target.is_file() and target.read_bytes() == fresh:
        return f"{stem}: is as it was at the beginning."
    folder.mkdir(exist_ok=True)
    part = folder / f".{stem}.{os.getpid()}.part"  # first, since this may fail
    try:
        part.write_bytes(fresh)
        said = f"{stem}: was missing, and is there again."
        if os.path.lexists(target):  # whatever is there, a broken file, a link or a folder, is moved aside
            kept = _name_beside(target, now or datetime.now())
            target.rename(kept)
            said = (
                f"{stem}: put back to its beginning; your work is kept in {kept.name}. If it is open in "
                "JupyterLab, close it without saving, and open it again."
            )
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return said


def _name_beside(target: Path, now: datetime) -> Path:
    """Give a name for the old file that no file has yet."""
    stem = f"{target.stem}.before_{now:%Y-%m-%d_%H-%M-%S}"
    names = chain([stem], (f"{stem}_{number}" for number in count(2)))
    paths = (target.with_name(f"{name}.ipynb") for name in names)
    return next(path for path in paths if not os.path.lexists(path))


def reset_quiz(folder: Path | None = None) -> str:
    """Forget all quiz answers and scores. Says what it did.

    folder: where they are kept; None = the learner's own. Raises OSError if the file cannot be removed.
    """
    from agentlib.views.quiz.answers import Answers  # noqa: PLC0415  the views load slowly; `check` needs none

    return "quiz: your answers are forgotten." if Answers(folder).reset() else "quiz: no answers were kept."


def run_reset(arguments: argparse.Namespace) -> int:
    """Reset the exercises that were named and the quiz. Returns 0, or 2 if that cannot be done."""
    if (arguments.all and arguments.names) or not (arguments.all or arguments.names or arguments.quiz):
        print(
            "Name the exercises to put back, or say --all. --quiz forgets your quiz answers.", file=sys.stderr
        )
        return 2
    try:
        if arguments.quiz:
            say(reset_quiz())
        names = list(EXERCISES) if arguments.all else arguments.names
        if names:
            _reset_all(names, needs_folder())
    except (ValueError, OSError) as problem:
        print(problem, file=sys.stderr)
        return 2
    return 0


def _reset_all(names: list[str], folder: Path) -> None:
    for name in names:
        try:
            say(reset_notebook(name, folder))
        except OSError as problem:
            raise ValueError(f"{name}: {why_not_written(problem, folder)}") from None


def add_reset(commands: "Commands") -> None:
    """Add `reset` to the command line."""
    parser = commands.add_parser(
        "reset",
        help="put an exercise back to its beginning, or forget the quiz answers",
        description="Put exercises back to their beginning, and lessons where the course was handed out. "
        "What you wrote is kept in a file beside it. With --quiz, forget your quiz answers; of these nothing "
        "is kept.",
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="an exercise or a lesson, such as ex02 or 02"
    )
    parser.add_argument("--all", action="store_true", help="reset all exercises")
    parser.add_argument("--quiz", action="store_true", help="forget the answers of all quizzes")
    parser.set_defaults(run=run_reset)
