"""The commands `check` and `reset` of `python -m agentlib`."""

import argparse
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from agentlib.checks import EXERCISES, find_exercise
from agentlib.checks.checking import check_functions
from agentlib.checks.exercise import Exercise
from agentlib.checks.notebook import Cell, NotebookProblem, functions_in, read_notebook, run_cells
from agentlib.checks.report import Report

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

__all__ = [
    "add_check",
    "add_reset",
    "check_file",
    "exercise_of",
    "exercise_of_cells",
    "reset_exercise",
    "reset_quiz",
]

COURSE_DIR = Path(__file__).resolve().parents[2]
FRESH_DIR = Path(__file__).resolve().parent / "fresh"
"""The exercises as they are handed out; `agentlib.checks.make` writes them."""


def exercise_of(path: Path) -> Exercise:
    """Tell from a file's name which exercise it is: "ex02_three_stops.ipynb", "my ex02 (1).ipynb".

    Of several that it names the first one counts. Raises NotebookProblem if there is none.
    """
    stem = path.stem.lower()
    for before in (r"(?<![^\W_])", ""):  # better where a word begins: "alex01_ex02" is ex02
        found = [
            (match.start(), exercise.name)
            for exercise in EXERCISES.values()
            if (match := re.search(before + short_name(exercise), stem))
        ]
        if found:
            return EXERCISES[min(found)[1]]
    raise NotebookProblem(
        f"{path}: its name does not say which exercise it is; it should begin with one of "
        f"{', '.join(short_name(exercise) for exercise in EXERCISES.values())}."
    )


def short_name(exercise: Exercise) -> str:
    """Give the begin of an exercise's name: "ex02"."""
    return exercise.name.split("_")[0]


def exercise_of_cells(cells: Sequence[Cell]) -> Exercise | None:
    """Tell by a notebook's own cells which exercise it is: by nbgrader's names for them, and by `check(...)`.

    None if they do not tell, or name two exercises alike: a learner may have copied a cell.
    """
    short_names = {short_name(exercise): exercise for exercise in EXERCISES.values()}
    named = [cell.grade_id.split("_")[0] for cell in cells]
    for cell in cells:
        named += re.findall(r"""\bcheck\(\s*["'](ex\d\d)""", cell.source)
    counts = Counter(name for name in named if name in short_names).most_common(2)
    if not counts or (len(counts) == 2 and counts[0][1] == counts[1][1]):
        return None
    return short_names[counts[0][0]]


def find_file(name: str, course_dir: Path = COURSE_DIR) -> Path:
    """Find the notebook of what was given: a file, or the name of an exercise."""
    path = Path(name)
    # os.path.exists, unlike Path.exists, takes a name that is too long for one that is not there.
    if path.suffix == ".ipynb" or os.path.exists(path):
        return path
    try:
        return course_dir / "exercises" / f"{find_exercise(name).name}.ipynb"
    except ValueError as problem:
        raise NotebookProblem(f"There is no file {name}. {problem}") from None


def check_file(path: Path, seed: int | None = None, cell_seconds: float = 30.0) -> Report:
    """Run the code of one notebook and check it. Raises NotebookProblem if that cannot be done."""
    if path.suffix != ".ipynb":
        exercise_of(path)  # before it is read: the name of another file than a notebook may be a slip
    cells = read_notebook(path)
    exercise = exercise_of_cells(cells) or exercise_of(path)
    ran = run_cells(cells, cell_seconds)
    functions = functions_in(ran, exercise.functions, path)
    report = check_functions(exercise, functions, seed)
    problems = tuple(problem for problem in ran.problems if report.started or "not started" not in problem)
    notes = (*report.notes, *problems, *_other_name(path, exercise))
    return Report(report.exercise, report.title, report.seed, report.started, report.results, notes)


def _other_name(path: Path, exercise: Exercise) -> tuple[str, ...]:
    """Give a note if a file's name says that it is another exercise than its cells do."""
    try:
        named = short_name(exercise_of(path))
    except NotebookProblem:
        return ()
    real = short_name(exercise)
    return (
        () if named == real else (f"Its name says {named}, its cells say {real}; it was checked as {real}.",)
    )


def say(text: str) -> None:
    """Print a text. That nobody reads it to its end, as behind `| head`, is no error."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # What is left in the buffer would be written, and fail, once more when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run_check(arguments: argparse.Namespace) -> int:
    """Check one exercise. Returns 0 if all is met, 1 if not, 2 if it could not be checked."""
    try:
        report = check_file(find_file(arguments.what), arguments.seed)
    except NotebookProblem as problem:
        if arguments.json:
            say(json.dumps({"problem": str(problem)}, ensure_ascii=False))
        print(problem, file=sys.stderr)
        return 2
    say(report.as_json() if arguments.json else report.text(more=arguments.more))
    return 0 if report.passed else 1


def add_check(commands: "Commands") -> None:
    """Add `check` to the command line."""
    parser = commands.add_parser(
        "check",
        help="check an exercise",
        description="Run the code of an exercise's notebook and say what it does and what not yet.",
    )
    parser.add_argument("what", help="a notebook file, or the name of an exercise such as ex02")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--more", action="store_true", help="show the second hints too")
    parser.add_argument("--seed", type=int, help="the seed of the data, to repeat a check exactly")
    parser.set_defaults(run=run_check)


def reset_exercise(name: str, course_dir: Path = COURSE_DIR, now: datetime | None = None) -> str:
    """Put one exercise back to its beginning; the file that is there is kept beside it. Says what it did.

    now: the time for the old file's name; None = the clock's.
    Raises ValueError if there is no such exercise.
    """
    exercise = find_exercise(name)
    target = course_dir / "exercises" / f"{exercise.name}.ipynb"
    fresh = (FRESH_DIR / target.name).read_bytes()
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
    parser.add_argument("names", nargs="*", metavar="EXERCISE", help="such as ex02")
    parser.add_argument("--all", action="store_true", help="all of them")
    parser.add_argument("--quiz", action="store_true", help="forget the answers of all quizzes")
    parser.set_defaults(run=run_reset)
