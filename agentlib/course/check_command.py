"""The command `check` of `python -m agentlib`."""

import argparse
import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agentlib.course._progress import keep_check
from agentlib.course.check_subprocess import check_in_subprocess
from agentlib.course.errors import NotebookError
from agentlib.course.exercises import find_exercise
from agentlib.course.originals import course_folder, needs_folder, with_change
from agentlib.messages import short

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

__all__ = ["Commands", "add_check", "find_file", "say"]


def find_file(name: str) -> Path:
    """Find the notebook of what was given: a file, or the name of an exercise in the learner's folder."""
    if not name.strip():
        raise NotebookError("Name a notebook file, or an exercise such as ex02.")
    path = Path(name)
    # os.path.exists, unlike Path.exists, takes a name that is too long for one that is not there.
    if path.suffix == ".ipynb" or os.path.exists(path):
        return path
    try:
        exercise = find_exercise(name)
    except ValueError as problem:
        raise NotebookError(f"There is no file {short(name, 60)}. {problem}") from None
    beside = Path(f"{exercise.name}.ipynb")
    if beside.is_file():
        return beside
    try:
        return needs_folder() / "exercises" / beside
    except ValueError as problem:
        raise NotebookError(str(problem)) from None


def say(text: str) -> None:
    """Print a text. That nobody reads it to its end, as behind `| head`, is no error."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except BrokenPipeError:
        # What is left in the buffer would be written, and fail, once more when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run_check(arguments: argparse.Namespace) -> int:
    """Check one exercise. Returns 0 if all is met, 1 if not, 2 if it could not be checked, 130 at Ctrl-C."""
    try:
        path = find_file(arguments.what)
        report = check_in_subprocess(path, arguments.seed, arguments.seconds)
        folder = course_folder()
        # one's own, nobody else's
        if folder and path.resolve() == folder / "exercises" / f"{report.exercise}.ipynb":
            report = with_change(keep_check(report), folder)
    except NotebookError as problem:
        said = re.sub(r"\s*[\r\n]\s*", " ", str(problem))  # a file's name may hold a line break
        if arguments.json:
            say(json.dumps({"problem": said}, ensure_ascii=False))
        print(said, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Interrupted; there is no report.", file=sys.stderr)
        return 130
    say(report.as_json() if arguments.json else report.text(more=arguments.more))
    return 0 if report.passed else 1


def _seed(text: str) -> int:
    """A whole number from 0 on; anything else raises `argparse.ArgumentTypeError`."""
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise argparse.ArgumentTypeError(f"a seed is a whole number from 0 on, not {short(text, 60)!r}")
    return int(text)


def _seconds(text: str) -> float:
    """A time above 0; anything else raises `argparse.ArgumentTypeError`."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 86_400:
        raise argparse.ArgumentTypeError(f"a time is a number of seconds above 0, not {text!r}")
    return seconds


def add_check(commands: "Commands") -> None:
    """Add `check` to the command line."""
    parser = commands.add_parser(
        "check",
        help="check an exercise",
        description="Run the code of an exercise's notebook and report what works and what does not yet. "
        "The code runs in a process of its own, with all your rights: this is no sandbox.",
        epilog="Exit status: 0 if all is met, also where a cell that is not needed for it fails (a line "
        "below the report says so); 1 if something is missing; 2 if the notebook could not be checked.",
    )
    parser.add_argument("what", help="a notebook file, or the name of an exercise such as ex02")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--more", action="store_true", help="show the second hints too")
    parser.add_argument("--seed", type=_seed, help="the seed of the data, to repeat a check exactly")
    parser.add_argument(
        "--seconds", type=_seconds, default=30.0, help="time for each cell, in seconds (default: 30)"
    )
    parser.set_defaults(run=run_check)
