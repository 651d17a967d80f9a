"""Grades one submission."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from agentlib.course.checking.engine import check_with
from agentlib.course.checking.report import CheckReport
from agentlib.course.checking.spec import Exercise
from agentlib.course.errors import NotebookError, ProtocolError
from agentlib.course.exercises import EXERCISES
from agentlib.course.grading.limits import Limits
from agentlib.course.grading.sandbox import Backend
from agentlib.course.grading.sandbox_root import SandboxRoot
from agentlib.course.grading.sandboxed import SandboxedLearner
from agentlib.course.grading.submission import Plan, plan
from agentlib.course.running.runner import RunEnded, TimeLimit
from agentlib.messages import short

__all__ = [
    "CRASHED",
    "GRADED",
    "NOT_STARTED",
    "TAMPERED",
    "TIMED_OUT",
    "UNREADABLE",
    "Row",
    "grade_notebook",
    "in_time",
    "seed_for",
    "unreadable",
]

GRADED, TIMED_OUT, CRASHED = "graded", "timed out", "crashed"
UNREADABLE, TAMPERED, NOT_STARTED = "unreadable", "tampered", "not started"

STUB_SECONDS = 2.0
"""An exercise as it was handed out takes a small part of that."""

T = TypeVar("T")


@dataclass(frozen=True)
class Row:
    """What came of one submission.

    student, exercise: whose and which; exercise is "" if the file does not tell. file: inside the folder.
    points, of: earned, and to be had. status: one of the words above. isolation: the backend's name.
    seed: of the data; with it the grade comes again. seconds: of time that grading took.
    notes: sentences for the instructor and the student.
    report: as `CheckReport.as_dict` gives it; None = it was not checked.
    number: the learning system's own for the student, "" if there is none. late: whether it says so.
    fingerprint: of the solution, to find others that are much alike; "" = none.
    """

    student: str
    exercise: str
    file: str
    points: int
    of: int
    status: str
    isolation: str
    seed: int
    seconds: float
    notes: tuple[str, ...] = ()
    report: dict[str, Any] | None = None
    number: str = ""
    late: bool = False
    fingerprint: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Give everything as plain data, ready for JSON."""
        return {**asdict(self), "notes": list(self.notes)}


def seed_for(student: str, exercise: str, batch_seed: int = 0) -> int:
    """Draw the seed of one student's data: the same for the same names and the same seed of the batch."""
    text = f"{batch_seed}\0{exercise}\0{student}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(text).digest()[:4], "big") % 100_000


def unreadable(student: str, exercise: str, file: str, why: str) -> Row:
    """Make the row of a file that cannot be graded."""
    known = EXERCISES.get(exercise)
    return Row(student, exercise, file, 0, known.max_points if known else 0, UNREADABLE, "", 0, 0.0, (why,))


def grade_notebook(
    data: bytes,
    exercise: Exercise,
    backend: Backend,
    root: SandboxRoot,
    limits: Limits | None = None,
    *,
    student: str = "",
    file: str = "notebook.ipynb",
    seed: int = 0,
) -> Row:
    """Grade one notebook. Whatever is in it, a row comes back.

    data: the content of its file. exercise: what it is to be graded as. backend, root: where its code runs.
    limits: None = those of `Limits`. student, file: for the row. seed: of the data.
    """
    limits = limits or Limits()
    began = time.monotonic()

    def row(status: str, points: int, notes: tuple[str, ...], report: CheckReport | None = None) -> Row:
        seconds = round(time.monotonic() - began, 3)
        about = report.as_dict() if report else None
        of = exercise.max_points
        return Row(
            student, exercise.name, file, points, of, status, backend.name, seed, seconds, notes, about
        )

    if len(data) > limits.notebook_mb * 1_000_000:
        return row(UNREADABLE, 0, (f"The file has more than {limits.notebook_mb} MB.",))
    try:
        plan_ = in_time(partial(plan, exercise, data, Path(Path(file).name)), limits)
    except NotebookError as problem:
        return row(UNREADABLE, 0, (str(problem),))
    learner = SandboxedLearner(plan_, exercise.functions, backend, root, limits, began + limits.wall_seconds)
    try:
        report = check_with(exercise, learner, seed)
    except ProtocolError as forged:
        note = f"The code interfered with grading: it sent {short(str(forged), 200)}."
        return row(TAMPERED, 0, (note, *_notes(plan_, learner)))
    except Exception as problem:
        note = f"The check itself failed: {type(problem).__name__}: {short(str(problem), 200)}"
        return row(CRASHED, 0, (note, *_notes(plan_, learner)))
    finally:
        learner.close()
    made = row(_status(report, learner), report.points, _notes(plan_, learner), report)
    if made.status == NOT_STARTED and learner.cpu_seconds > STUB_SECONDS:
        note = f"It is not started, and yet it used {learner.cpu_seconds:.0f} seconds of computing time."
        made = replace(made, notes=(*made.notes, note))
    return replace(made, fingerprint=plan_.fingerprint)


def in_time(read: Callable[[], T], limits: Limits) -> T:
    """Read a notebook, which happens outside the sandbox. Raises NotebookError if that takes too long."""
    seconds = min(limits.read_seconds, limits.wall_seconds)
    try:
        value: T = TimeLimit(seconds).run(read)
    except RunEnded:
        raise NotebookError(f"It could not be read within {seconds:g} seconds.") from None
    return value


def _status(report: CheckReport, learner: SandboxedLearner) -> str:
    if not report.started:
        return NOT_STARTED
    if learner.failed:
        return TIMED_OUT if learner.failed == "ran too long" else CRASHED
    return GRADED


def _notes(plan_: Plan, learner: SandboxedLearner) -> tuple[str, ...]:
    notes = [*plan_.notes, *learner.problems]
    if learner.failed:
        notes.append(f"No more of it was run: it {learner.failed}.")
    elif learner.ends:
        notes.append(f"The process had to be started anew: it {'; it '.join(dict.fromkeys(learner.ends))}.")
    if learner.printed_bytes > 1_000_000:
        notes.append(f"It wrote {learner.printed_bytes / 1_000_000:,.0f} MB past the notebook's own output.")
    return tuple(notes)
