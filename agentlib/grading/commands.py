"""The command `grade` of `python -m agentlib`."""

import argparse
import contextlib
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from agentlib.grading.batch import Batch, dask_pool, grade_folder, local_pool
from agentlib.grading.home import temporary_home
from agentlib.grading.ladder import NoRung, banner, choose_rung
from agentlib.grading.limits import Limits
from agentlib.grading.results import write_results
from agentlib.grading.rungs import RUNGS

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

__all__ = ["add_grade"]


def limit(text: str) -> tuple[str, float]:
    """Read a limit such as "memory_mb=256"; anything else raises `argparse.ArgumentTypeError`."""
    name, _, value = text.partition("=")
    known = {field.name: field.type for field in fields(Limits)}
    try:
        number = float(value) if known[name] is float else int(value)
    except (KeyError, ValueError):
        number = 0
    if number <= 0:
        raise argparse.ArgumentTypeError(f"not NAME=NUMBER with a NAME of {', '.join(known)}: {text!r}")
    return name, number


def default_workers() -> int:
    """One process for each core that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextlib.contextmanager
def executors(arguments: argparse.Namespace) -> Iterator[tuple[Callable[[int], Executor], int]]:
    """Give what makes executors, and how many tasks run at a time: on a cluster, or on this machine."""
    if arguments.dask:
        with dask_pool(arguments.dask) as (make_executor, workers):
            yield make_executor, arguments.workers or workers
    else:
        yield local_pool, arguments.workers or default_workers()


def run_grade(arguments: argparse.Namespace) -> int:
    """Grade a folder. Returns 0, or 2 if that cannot be done."""
    folder, out = Path(arguments.folder), Path(arguments.out)
    if not folder.is_dir():
        print(f"There is no folder {folder}.", file=sys.stderr)
        return 2
    if out.resolve().is_relative_to(folder.resolve()):
        print("The results cannot stand in the folder that is graded; choose another --out.", file=sys.stderr)
        return 2
    if not arguments.resume and (out / "results").is_dir() and any((out / "results").iterdir()):
        print(f"{out} holds results. Go on with --resume, or choose another --out.", file=sys.stderr)
        return 2
    limits = replace(Limits(), **dict(arguments.limit))
    with temporary_home() as home:
        try:
            choice = choose_rung(home, limits, arguments.require_isolation, arguments.isolation)
        except NoRung as problem:
            print(problem, file=sys.stderr)
            return 2
        print(banner(choice), file=sys.stderr)
        try:
            with executors(arguments) as (make_executor, workers):
                batch = Batch(
                    folder, out, choice.rung, home, limits, arguments.seed, workers, arguments.resume
                )
                rows = grade_folder(batch, make_executor, progress_bar(arguments.quiet))
        except ImportError as problem:
            print(f'{problem}. Run: {sys.executable} -m pip install -e ".[cluster]"', file=sys.stderr)
            return 2
        except OSError as problem:
            print(problem, file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            print("\nStopped. What was graded is kept; go on with --resume.", file=sys.stderr)
            return 130
    write_results(rows, out, arguments.format)
    counts = Counter(row.status for row in rows)
    said = ", ".join(f"{count} {status}" for status, count in counts.items()) or "nothing was handed in"
    print(f"{len(rows)} submissions: {said}. Results: {out / 'grades.csv'}, {out / 'class.html'}")
    return 0


def progress_bar(quiet: bool) -> "Progress | None":
    """Make a progress bar with the time left; None if there is to be none."""
    return None if quiet else Progress()


class Progress:
    """Shows how many rows are there, and how long the rest will take."""

    def __init__(self) -> None:
        from tqdm import tqdm  # noqa: PLC0415  loaded when it is shown

        self.bar = tqdm(unit="submission", leave=False)

    def __call__(self, done: int, total: int) -> None:
        """Show this many of so many."""
        self.bar.total = total
        self.bar.update(done - self.bar.n)
        if done == total:
            self.bar.close()


def add_grade(commands: "Commands") -> None:
    """Add `grade` to the command line."""
    parser = commands.add_parser(
        "grade",
        help="grade a folder of submitted notebooks",
        description="Grade every submitted exercise in a folder; the learners' code runs isolated.",
        epilog="Names of students come from folders and files as nbgrader, Moodle and Canvas lay them out.",
    )
    names = [rung.name for rung in RUNGS]
    parser.add_argument("folder", help="the folder with the submissions")
    parser.add_argument("--out", required=True, help="the folder for results")
    parser.add_argument("--resume", action="store_true", help="take over results in --out that still hold")
    parser.add_argument("--seed", type=int, default=0, help="of the batch; each student's own comes from it")
    parser.add_argument("--workers", type=int, help="how many are graded at a time (default: one a core)")
    parser.add_argument("--dask", metavar="ADDRESS", help="grade on the Dask cluster with this scheduler")
    parser.add_argument("--isolation", choices=names, help="take this isolation, even if a safer one works")
    parser.add_argument(
        "--require-isolation", choices=names, help="grade nothing if only weaker isolation than this works"
    )
    parser.add_argument(
        "--limit",
        type=limit,
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help=f"set a limit; they are {', '.join(field.name for field in fields(Limits))}",
    )
    parser.add_argument(
        "--format",
        choices=("canvas", "moodle"),
        default="",
        help="write tables that Canvas or Moodle imports, too",
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.set_defaults(run=run_grade)
