"""The commands `grade` and `gradebook` of `python -m agentlib`."""

import argparse
import contextlib
import hashlib
import json
import math
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from agentlib.course.errors import GradebookError, SandboxError
from agentlib.course.grading.batch import Batch, EarlyPool, Task, grade_folder, grade_task
from agentlib.course.grading.cluster import connect
from agentlib.course.grading.collect import find_submissions
from agentlib.course.grading.export import (
    import_grades,
    open_gradebook,
    read_rows,
    without_number,
    write_results,
)
from agentlib.course.grading.grade import Row
from agentlib.course.grading.limits import Limits
from agentlib.course.grading.sandbox import BACKENDS, Backend
from agentlib.course.grading.sandbox_root import SandboxRoot, course_version, temporary_sandbox_root
from agentlib.course.grading.selection import banner, choose_backend
from agentlib.course.grading.settings import (
    SETTINGS_FILE,
    Settings,
    read_settings,
    refused,
    remember,
    write_settings,
)

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

__all__ = ["add_grade", "add_gradebook"]


def limit(text: str) -> tuple[str, float]:
    """Read a limit such as "memory_mb=256"; anything else raises `argparse.ArgumentTypeError`."""
    name, _, value = text.partition("=")
    known = {field.name: field.type for field in fields(Limits)}
    try:
        number = int(value) if known[name] is int else float(value)
    except (KeyError, ValueError):
        number = 0
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"not NAME=NUMBER with a NAME of {', '.join(known)}: {text!r}")
    return name, number


def number_of_workers(text: str) -> int:
    """Read a number of workers; what is not one raises `argparse.ArgumentTypeError`."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"a whole number, 1 or more, is wanted, not {text!r}")
    return number


def address(text: str) -> str:
    """Read a scheduler's address such as "tcp://10.0.0.1:8786"; else raises `argparse.ArgumentTypeError`."""
    if not re.fullmatch(r"(?:(?:tcp|tls|wss?|ucxx?)://)?[^\s/]+:[0-9]{1,5}", text):
        raise argparse.ArgumentTypeError(f"not an address such as tcp://10.0.0.1:8786: {text!r}")
    return text


def cores() -> int:
    """How many processors this process may use; as many are graded at a time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Graders:
    """Who grades: processes on this machine, in the sandbox root that is given, or a cluster.

    workers: how many tasks at a time; 0 = as many as the cluster can. work: grades one task.
    backend, root: where; None = each worker of the cluster has its own.
    banners: what protects each machine.
    still_there: raises OSError if nobody is left who grades; None = that cannot be.
    """

    make_executor: Callable[[int], Executor]
    workers: int
    work: Callable[[Task], Row] = grade_task
    backend: Backend | None = None
    root: SandboxRoot | None = None
    banners: tuple[str, ...] = ()
    still_there: Callable[[], None] | None = None


@contextlib.contextmanager
def graders(arguments: argparse.Namespace, limits: Limits) -> Iterator[Graders]:
    """Prepare who grades, on a cluster or on this machine. Raises SandboxError, OSError and ImportError."""
    require, only = arguments.require_isolation, arguments.isolation
    if arguments.dask:
        with connect(arguments.dask, limits, require, only) as cluster:
            yield Graders(
                lambda workers: cluster,
                0,
                cluster.work,
                banners=tuple(cluster.banners.values()),
                still_there=cluster.still_there,
            )
    else:
        workers = arguments.workers or cores()
        early = EarlyPool(workers, now=cores())
        with contextlib.closing(early), temporary_sandbox_root() as root:
            selection = choose_backend(root, limits, require, only)
            yield Graders(early, workers, backend=selection.backend, root=root, banners=(banner(selection),))


OURS = {"results", "feedback", "grades.csv", "grades.json", "class.html", SETTINGS_FILE}
COURSE_DIR = Path(__file__).resolve().parents[3]


def folder_problem(folder: Path, out: Path, *, resume: bool) -> str:
    """Say in one line why a folder cannot be graded into another, "" if it can.

    resume: results that are there are no hindrance.
    """
    if folder.is_file():
        return f"{folder} is a file. Put it into a folder, and grade that."
    if not folder.is_dir():
        return f"There is no folder {folder}."
    if folder.resolve() == COURSE_DIR and (COURSE_DIR / "solutions").is_dir():
        return f"{folder} is the course itself; choose the folder with the submissions."
    if out.resolve().is_relative_to(folder.resolve()):
        return "The results cannot stand in the folder that is graded; choose another --out."
    if out.exists() and not out.is_dir():
        return f"{out} is a file; choose another --out."
    if other_things(out):
        return f"{out} holds other things ({other_things(out)[0]}); choose another --out."
    if not resume and kept_results(out):
        return f"{out} holds results. Go on with --resume, or choose another --out."
    if not find_submissions(folder):
        return f"In {folder} is no notebook (.ipynb) and no archive (.zip)."
    return ""


def other_things(out: Path) -> list[str]:
    """List what is in a folder for results and does not come from grading."""

    def is_ours(path: Path) -> bool:
        name = path.name.removesuffix(".part")  # a file that was being written when the batch was killed
        known = name in OURS or name.startswith(("grades_", "feedback_"))
        return known and path.is_dir() == (path.name in ("results", "feedback"))

    theirs = [path.name for path in out.iterdir() if not is_ours(path)] if out.is_dir() else []
    results = (out / "results").iterdir() if (out / "results").is_dir() else ()
    return sorted(
        theirs + [path.name for path in results if path.is_dir() or path.suffix not in (".json", ".part")]
    )


def kept_results(out: Path) -> dict[str, tuple[str, object]]:
    """List the results in a folder: for the name of each file, a hash of it and the course that graded it."""
    found = {}
    for path in (out / "results").glob("*.json"):
        data = path.read_bytes()
        found[path.name] = (hashlib.sha256(data).hexdigest(), course_of(data))
    return found


def taken_over(
    before: dict[str, tuple[str, object]], after: dict[str, tuple[str, object]], out: Path, course: str
) -> str:
    """Say how many of the results that were there before still hold, and name what was graded anew.

    out: where those are that are there now. course: the version that grades now.
    """
    same = sum(after.get(name) == content for name, content in before.items())
    said = [f"{same} of {len(before)} earlier results still hold."]
    anew = [name for name, content in before.items() if after.get(name, content) != content]
    of_others = [name for name in anew if before[name][1] != course]
    if of_others:
        said.append(f"The course has changed since {len(of_others)} of them; they were graded anew.")
    files = [out / "results" / name for name in anew if name not in of_others]
    rows = [json.loads(path.read_bytes())["row"] for path in files]
    if rows:
        names = ", ".join(f"{row['student']} ({row['file']})" for row in rows)
        said.append(f"What was handed in has changed, and was graded anew: {names}.")
    return " ".join(said)


def course_of(result: bytes) -> object:
    """Give the version of the course that graded a kept result; None if it cannot be read."""
    try:
        return json.loads(result)["course"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def run_grade(arguments: argparse.Namespace) -> int:
    """Grade a folder. Returns 0; 2 if that cannot be done; 130 if it was stopped."""
    folder, out = Path(arguments.folder), Path(arguments.out)
    try:
        problem_here = folder_problem(folder, out, resume=arguments.resume) or refused(
            out, arguments, has_results=bool(kept_results(out))
        )
        if problem_here:
            print(problem_here, file=sys.stderr)
            return 2
        return grade_and_write(folder, out, arguments)
    except ImportError as problem:
        print(f'{problem}. Run: {sys.executable} -m pip install -e ".[cluster]"', file=sys.stderr)
    except SandboxError as problem:
        print(problem, file=sys.stderr)
        earlier = read_settings(out)
        if kept_results(out) and earlier:
            print(f"{out} was graded with {earlier.isolation or 'a cluster'}.", file=sys.stderr)
    except OSError as problem:
        print(os_problem(problem, out), file=sys.stderr)
    except KeyboardInterrupt:
        print("\nStopped. What was graded is kept; go on with --resume.", file=sys.stderr)
        return 130
    return 2


def os_problem(problem: OSError, out: Path) -> str:
    """Say in a sentence what the system has refused. out: what it is about, if it does not name that."""
    name, why = problem.filename or out, problem.strerror
    if isinstance(problem, shutil.Error):  # of many files that were copied; the first one says it
        _, name, why = problem.args[0][0]
    elif why is None:  # a cluster's, in words of its own
        return str(problem)
    return f"{name}: {why}. What was graded is kept. When that is mended, go on with --resume."


def grade_and_write(folder: Path, out: Path, arguments: argparse.Namespace) -> int:
    """Grade a folder and write the results. Raises what stands in the way."""
    before, course = kept_results(out), course_version()
    limits = remember(out, arguments)
    with graders(arguments, limits) as who:
        print("\n".join(who.banners), file=sys.stderr)
        settings = Settings(
            arguments.seed,
            limits,
            who.backend.name if who.backend else arguments.isolation,
            arguments.require_isolation if arguments.dask else None,
            arguments.dask,
        )
        write_settings(out, settings)
        batch = Batch(
            folder,
            out,
            who.backend,
            who.root,
            limits,
            arguments.seed,
            arguments.workers or who.workers,
            arguments.resume,
            f"{arguments.require_isolation} {arguments.isolation}",
            course,
        )
        rows = grade_folder(
            batch, who.make_executor, None if arguments.quiet else ProgressBar(), who.work, who.still_there
        )
    write_results(rows, out, arguments.format)
    counts = Counter(row.status for row in rows)
    by_status = ", ".join(f"{count} {status}" for status, count in counts.items())
    if before:
        print(taken_over(before, kept_results(out), out, course))
    if arguments.format in ("canvas", "moodle"):
        print(without_number(rows, arguments.format) or "Every student has a number.", file=sys.stderr)
    handed_in = f"{len(rows)} submission{'' if len(rows) == 1 else 's'}"
    print(f"{handed_in}: {by_status}. Results: {out / 'grades.csv'}, {out / 'class.html'}")
    if not any(row.exercise for row in rows):
        print(f"Nothing in {folder} is an exercise of this course. Is it the right folder?", file=sys.stderr)
        return 2
    return 0


class ProgressBar:
    """Shows how many rows are there, and how long the rest will take."""

    def __init__(self) -> None:
        from tqdm import tqdm  # noqa: PLC0415  loaded when it is shown

        self.bar = tqdm(unit=" submissions", leave=False)

    def __call__(self, done: int, total: int) -> None:
        """Show this many of so many."""
        self.bar.total = total
        self.bar.update(done - self.bar.n)
        if done == total:
            self.bar.close()


def limits_help() -> str:
    """Say what each limit is, with its default."""
    defaults = asdict(Limits())
    lines = []
    for one in fields(Limits):
        default = "-" if defaults[one.name] is None else f"{defaults[one.name]:,.0f}"
        lines.append(f"  {one.name:<14}{default:>10}  {one.metadata['meaning']}")
    return "\n".join(lines)


def add_grade(commands: "Commands") -> None:
    """Add `grade` to the command line."""
    parser = commands.add_parser(
        "grade",
        help="grade a folder of submitted notebooks",
        description="Grade every submitted exercise in a folder; the learners' code runs isolated.",
        epilog="Names of students come from folders and files as nbgrader, Moodle and Canvas lay them out."
        f"\n\nlimits for one submission, with their defaults:\n{limits_help()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [backend.name for backend in BACKENDS]
    parser.add_argument("folder", help="the folder with the submissions")
    parser.add_argument("--out", required=True, help="the folder for the results")
    parser.add_argument(
        "--resume", action="store_true", help="go on in --out, with its seed, limits and isolation"
    )
    parser.add_argument(
        "--seed",
        type=int,
        help="the number from which each student's own seed is drawn (default: 0, which everybody knows)",
    )
    parser.add_argument(
        "--workers", type=number_of_workers, help="how many to grade at a time (default: one per core)"
    )
    parser.add_argument(
        "--dask", type=address, metavar="ADDRESS", help="grade on the Dask cluster with this scheduler"
    )
    parser.add_argument("--isolation", choices=names, help="use this isolation, even if a safer one works")
    parser.add_argument(
        "--require-isolation", choices=names, help="refuse to grade if only weaker isolation than this works"
    )
    parser.add_argument(
        "--limit",
        type=limit,
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="set one of the limits below, such as call_seconds=20; may be given more than once",
    )
    parser.add_argument(
        "--format",
        choices=("canvas", "moodle", "excel"),
        default="",
        help="also write tables and feedback for Canvas or Moodle, or a table with semicolons",
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.set_defaults(run=run_grade)


def run_gradebook(arguments: argparse.Namespace) -> int:
    """Import grades. Returns 0; 1 if some could not be put in; 2 if none could be."""
    try:
        rows = read_rows(Path(arguments.results))
        with open_gradebook(arguments.db) as gradebook:
            count, problems = import_grades(
                rows, gradebook, arguments.assignment, add_students=arguments.add_students
            )
    except ImportError as problem:
        print(f'{problem}. Run: {sys.executable} -m pip install -e ".[teach]"', file=sys.stderr)
        return 2
    except GradebookError as problem:
        print(problem, file=sys.stderr)
        return 2
    if problems:
        print("\n".join(problems), file=sys.stderr)
    print(f"{count} grades are in {arguments.db}; {len(problems)} problems.")
    return 1 if problems else 0


def add_gradebook(commands: "Commands") -> None:
    """Add `gradebook` to the command line."""
    parser = commands.add_parser(
        "gradebook",
        help="put grades into nbgrader's gradebook",
        description="Put the grades that `grade` wrote into nbgrader's gradebook; twice changes nothing.",
        epilog="A student is found by the name, or else by the number, that grades.csv shows.",
    )
    parser.add_argument("results", help="the folder that `grade` was given as --out")
    parser.add_argument(
        "--db", default="sqlite:///gradebook.db", help="the gradebook's address (default: %(default)s)"
    )
    parser.add_argument(
        "--assignment", help="nbgrader's name for the assignment, if an exercise is in several"
    )
    parser.add_argument("--add-students", action="store_true", help="add students missing from the gradebook")
    parser.set_defaults(run=run_gradebook)
