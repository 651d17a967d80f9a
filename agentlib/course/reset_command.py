"""The command `reset` of `python -m agentlib`: an exercise back to its beginning."""

import argparse
import os
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from agentlib.course.check_command import COURSE_DIR, say
from agentlib.course.exercises import EXERCISES, find_exercise

if TYPE_CHECKING:
    from agentlib.course.check_command import Commands

__all__ = ["add_reset", "reset_exercise", "reset_quiz"]


def reset_exercise(name: str, course_dir: Path = COURSE_DIR, now: datetime | None = None) -> str:
    """Put one exercise back to its beginning; the file that is there is kept beside it. Says what it did.

    now: the time for the old file's name; None = the clock's.
    Raises ValueError if there is no such exercise, or no folder to put it into.
    """
    exercise = find_exercise(name)
    target = course_dir / "exercises" / f"{exercise.name}.ipynb"
    if not target.parent.is_dir() and os.path.lexists(target.parent):
        raise ValueError(f"{target.parent} is a file, and the exercises need a folder there; move it away.")
    fresh = exercise.fresh.read_bytes()
    if target.exists() or target.is_symlink():  # whatever is there, a broken file or a folder, is moved aside
        if target.is_file() and target.read_bytes() == fresh:
            return f"{exercise.name}: is as it was at the beginning."
        stamp = (now or datetime.now()).strftime("%Y-%m-%d_%H-%M-%S")
        kept = target.with_name(f"{target.stem}.before_{stamp}.ipynb")
        number = 2
        while kept.exists():
            kept = target.with_name(f"{target.stem}.before_{stamp}_{number}.ipynb")
            number += 1
        target.rename(kept)
        said = f"{exercise.name}: put back to its beginning; your work is kept in {kept.name}."
    else:
        said = f"{exercise.name}: was missing, and is there again."
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(fresh)
    return said


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
        for name in EXERCISES if arguments.all else arguments.names:
            say(reset_exercise(name))
    except (ValueError, OSError) as problem:
        print(problem, file=sys.stderr)
        return 2
    return 0


def add_reset(commands: "Commands") -> None:
    """Add `reset` to the command line."""
    parser = commands.add_parser(
        "reset",
        help="put an exercise back to its beginning, or forget the quiz answers",
        description="Put exercises back to their beginning. What you wrote is kept in a file beside it. "
        "With --quiz, forget your quiz answers; of these nothing is kept.",
    )
    parser.add_argument("names", nargs="*", metavar="EXERCISE", help="the name of an exercise, such as ex02")
    parser.add_argument("--all", action="store_true", help="reset all exercises")
    parser.add_argument("--quiz", action="store_true", help="forget the answers of all quizzes")
    parser.set_defaults(run=run_reset)
