"""Grades a folder: many submissions at a time, each with its row, and able to go on after a kill."""

import contextlib
import hashlib
import json
import multiprocessing
import multiprocessing.connection
import multiprocessing.util
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from agentlib.course.errors import NotebookError, WorkerLostError
from agentlib.course.exercises import EXERCISES
from agentlib.course.grading.collect import Archives, Submission, find_submissions, read_submission
from agentlib.course.grading.files import write_whole
from agentlib.course.grading.grade import CRASHED, Row, grade_notebook, in_time, seed_for, unreadable
from agentlib.course.grading.limits import Limits
from agentlib.course.grading.sandbox import BACKENDS, Backend
from agentlib.course.grading.sandbox_root import SandboxRoot, course_version
from agentlib.course.grading.submission import exercise_in

__all__ = ["Batch", "EarlyPool", "Task", "grade_folder", "grade_task", "local_pool"]


LOOK_SECONDS = 2.0
"""When no row has come for so long, it is asked whether anybody is left who grades."""


TIDY_SECONDS = 3.0
"""A worker that is told to end has so long to end what it runs, and to remove its files."""

MAX_FOLDER_BYTES = 70
"""The name of a socket has at most about a hundred bytes, and multiprocessing adds thirty."""


@dataclass(frozen=True)
class Task:
    """One submission on its way to a worker, with its content.

    digest: of everything that the grade depends on. backend, root: where its code runs; on the way
    to a worker of a cluster, which has its own, "" and None.
    """

    submission: Submission
    data: bytes
    digest: str
    seed: int
    backend: str
    root: SandboxRoot | None
    limits: Limits


@dataclass(frozen=True)
class Batch:
    """How a folder is to be graded.

    folder: with the submissions. out: for results. backend, root: where the code runs; None = each
    worker of a cluster has its own. limits: for each one.
    seed: of the batch; each student's own comes from it. workers: how many are graded at a time; 0 = as many
    as the executor says.
    resume: True = take over results that are there and still hold.
    asked: which isolation the workers of a cluster were asked for, in words.
    course: the version of what grades; None = `course_version()`.
    """

    folder: Path
    out: Path
    backend: Backend | None
    root: SandboxRoot | None
    limits: Limits
    seed: int = 0
    workers: int = 1
    resume: bool = False
    asked: str = ""
    course: str | None = None

    @property
    def results(self) -> Path:
        """The folder with one file a submission."""
        return self.out / "results"


def keys_of(submissions: Iterable[Submission], folder: Path) -> dict[Submission, str]:
    """Make a file name of each submission's place in the folder; two never have the same.

    In an archive its name counts, not its number, which others change who hand in later.
    """
    keys: dict[Submission, str] = {}
    seen: Counter[str] = Counter()
    for found in submissions:
        place = str(found.path.relative_to(folder))
        if found.member is not None:
            place += f"\0{found.file}"
        seen[place] += 1
        text = f"{place}\0{seen[place]}".encode("utf-8", "surrogateescape")
        keys[found] = hashlib.sha256(text).hexdigest()[:24]
    return keys


class _Stopped(SystemExit):
    """Ends a worker; what it runs is ended and removed on the way out."""


def grade_task(task: Task) -> Row:
    """Grade one submission; runs in a worker."""
    try:
        return _grade(task)
    except _Stopped:
        os._exit(1)  # the pool would give it the next task


def _grade(task: Task) -> Row:
    backend = next(backend for backend in BACKENDS if backend.name == task.backend)
    found = task.submission
    named = EXERCISES.get(found.exercise)
    # The cells first, as `check` does: a folder or a file may have its name from "alex01".
    look = partial(exercise_in, task.data, tuple(EXERCISES.values()))
    try:
        exercise = in_time(look, task.limits) or named
    except NotebookError as problem:
        return unreadable(found.student, found.exercise, found.file, str(problem))
    if exercise is None:
        return unreadable(
            found.student, "", found.file, "Neither its name nor its cells say which exercise it is."
        )
    assert task.root is not None
    row = grade_notebook(
        task.data,
        exercise,
        backend,
        task.root,
        task.limits,
        student=found.student,
        file=found.file,
        seed=seed_for(f"{found.student} {found.number}".strip(), exercise.name, task.seed),
    )
    if named not in (None, exercise):
        note = f"Its name says {found.exercise}, its cells say {exercise.name}; it was graded as that."
        row = replace(row, notes=(*row.notes, note))
    return row


def end_with_parent() -> None:
    """Prepare a worker: it ends when the batch ends, however that was, and leaves Ctrl-C to the batch."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _stop)
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        if sys.platform != "win32":
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(TIDY_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _stop(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # nothing comes between while it tidies up
    if sys.platform != "win32":
        # Whoever waits for its end waits no longer than that, whatever becomes of the exception: between two
        # tasks the code of the pool takes it for the outcome of one, and goes on.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, TIDY_SECONDS)
    raise _Stopped


def _end_workers(executor: Executor) -> None:
    """End the processes of a pool with what they run, without waiting for that. Ctrl-C waits meanwhile."""
    processes = list((getattr(executor, "_processes", None) or {}).values())
    if not processes:  # threads, or a cluster, whose workers are not ours to end
        return
    in_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if in_main else None
    try:
        for process in processes:
            process.terminate()
        until = time.monotonic() + TIDY_SECONDS
        for process in processes:
            process.join(max(0.0, until - time.monotonic()))
            process.kill()
        executor.shutdown(wait=True)
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


def local_pool(workers: int) -> Executor:
    """Make a pool of processes on this machine; on Windows, which has no more for one pool, at most 61."""
    if sys.platform == "win32":
        workers = min(workers, 61)
    has_server = "forkserver" in multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if has_server else "spawn")
    if has_server:
        _place_server(Path(tempfile.gettempdir()))
        context.set_forkserver_preload([__name__])  # what grades is loaded once, and each worker is a copy
    processors = context.SimpleQueue()
    ours = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") and workers > 1 else [None]
    for number in range(workers):
        processors.put(ours[number % len(ours)])
    return ProcessPoolExecutor(workers, mp_context=context, initializer=start_worker, initargs=(processors,))


def start_worker(processors: "multiprocessing.queues.SimpleQueue[int | None]") -> None:
    """Begin a worker: it ends with its parent, and it keeps to a processor, with all that it starts.

    So one submission that is busy in many processes takes no time from those of the other workers.
    processors: the number of each worker's own; None = all are free to it.
    """
    end_with_parent()
    processor = processors.get()
    if processor is not None:
        os.sched_setaffinity(0, {processor})


def _place_server(folder: Path) -> None:
    """Have the fork server's socket in a folder of our own, in which it is found when a batch was killed.

    folder: for temporary files. multiprocessing makes a folder for the socket once, before its first server.
    """
    ours = tempfile.mkdtemp(prefix=f"agentlib_grading_{os.getpid()}_", dir=folder)
    before, tempfile.tempdir = tempfile.tempdir, ours
    try:
        used = len(ours) < MAX_FOLDER_BYTES and Path(multiprocessing.util.get_temp_dir()).is_relative_to(ours)
    finally:
        tempfile.tempdir = before
    if used:  # removed at the end, after what is in it
        remove = partial(shutil.rmtree, ours, ignore_errors=True)
        multiprocessing.util.Finalize(None, remove, exitpriority=-101)
    else:  # there was one already, or the name of the socket would be too long
        os.rmdir(ours)


class EarlyPool:
    """Makes pools of processes on this machine; those of the first one start at once.

    A process needs a moment to load what grades, and has it while the isolation is tried.
    workers: how many. now: how many of them start at once.
    """

    def __init__(self, workers: int, now: int) -> None:
        self._early: Executor | None = local_pool(workers)
        for _ in range(min(workers, now)):
            self._early.submit(os.getpid)  # any small task: a process starts when there is one for it

    def __call__(self, workers: int) -> Executor:
        """Give the pool that was begun; after that, make one of so many workers."""
        early, self._early = self._early, None
        return local_pool(workers) if early is None else early

    def close(self) -> None:
        """End the processes if nobody has asked for the pool."""
        if self._early is not None:
            self._early.shutdown()


def grade_folder(
    batch: Batch,
    make_executor: Callable[[int], Executor] = local_pool,
    progress: Callable[[int, int], None] | None = None,
    work: Callable[[Task], Row] = grade_task,
    still_there: Callable[[], None] | None = None,
) -> list[Row]:
    """Grade everything in a folder and give the rows, one for each submission.

    make_executor: makes an executor from a number of workers; called again if one breaks.
    progress: called with the number of rows that are there and of all that there will be.
    work: grades one, in a worker.
    still_there: called every two seconds while no row comes; raises OSError if nobody is left who grades.
    Each row is written to a file of its own as soon as it is there; a batch that was killed goes on with
    `resume`. Raises OSError if there is no such folder, and what `still_there` raises.
    """
    submissions = find_submissions(batch.folder)
    keys = keys_of(submissions, batch.folder)
    batch.results.mkdir(parents=True, exist_ok=True)
    course = course_version() if batch.course is None else batch.course
    version = _version(batch, course)
    rows: dict[str, Row] = {}
    known: dict[str | bytes, Any] = {}

    def keep(found: Submission, row: Row, digest: str = "") -> None:
        key, more = keys[found], (found.note,) if found.note else ()
        row = replace(row, number=found.number, late=found.late, notes=(*row.notes, *more))
        rows[key] = replace(row, report=_with_shared(row.report, known))
        if digest:
            about = replace(row, notes=row.notes[: len(row.notes) - len(more)]).as_dict()
            content = {"digest": digest, "course": course, "row": about, "sum": _sum(about)}
            write_whole(batch.results / f"{key}.json", json.dumps(content))
        if progress is not None:
            progress(len(rows), len(submissions))

    def tasks(archives: Archives) -> Iterator[Task]:
        for found in submissions:
            try:
                if found.problem:
                    raise NotebookError(found.problem)
                data = read_submission(found, batch.limits, archives)
            except NotebookError as problem:
                keep(found, unreadable(found.student, found.exercise, found.file, str(problem)))
                continue
            about = f"{version} {found.student} {found.number} {found.exercise} ".encode("utf-8", "replace")
            digest = hashlib.sha256(about + data).hexdigest()
            old = _read(batch.results / f"{keys[found]}.json", digest) if batch.resume else None
            if old is not None:
                keep(found, old)
                continue
            backend = batch.backend.name if batch.backend else ""
            yield Task(found, data, digest, batch.seed, backend, batch.root, batch.limits)

    with (
        Archives() as archives,
        contextlib.closing(_run(tasks(archives), make_executor, batch.workers, work, still_there)) as graded,
    ):
        for task, row in graded:
            keep(task.submission, row, task.digest)
    _remove_others(batch.results, rows)
    return _with_doubles([rows[keys[found]] for found in submissions])


def _run(
    tasks: Iterable[Task],
    make_executor: Callable[[int], Executor],
    workers: int,
    work: Callable[[Task], Row],
    still_there: Callable[[], None] | None = None,
) -> Generator[tuple[Task, Row], None, None]:
    """Run tasks, a few at a time. If a worker dies, those that were running are run again one by one."""
    suspects: list[Task] = []
    tasks = iter(tasks)
    more = True
    while more or suspects:
        alone = bool(suspects)
        executor: Any = make_executor(1 if alone else workers)
        running: dict[Future[Row], Task] = {}
        source = iter([suspects.pop()]) if alone else tasks
        try:
            broken = False
            while not broken:
                while len(running) < 2 * (workers or executor.workers):
                    task = next(source, None)
                    if task is None:
                        more = more and alone
                        break
                    try:
                        running[executor.submit(work, task)] = task
                    except BrokenExecutor:
                        suspects.append(task)
                        broken = True
                        break
                if not running:
                    break
                done, _ = wait(running, LOOK_SECONDS, return_when=FIRST_COMPLETED)
                if not done and still_there is not None:
                    still_there()
                for future in done:
                    task = running.pop(future)
                    try:
                        yield task, future.result()
                    except BrokenExecutor:
                        broken = True
                        if alone:
                            yield task, _crashed(task, "The process that graded it was ended.")
                        else:
                            suspects.append(task)
                    except WorkerLostError as problem:
                        if alone:
                            yield task, _crashed(task, f"{problem} So was another one before it.")
                        else:
                            suspects.append(task)
                    except Exception as problem:
                        yield task, _crashed(task, f"Grading failed: {type(problem).__name__}: {problem}")
            suspects += running.values()
        except BaseException:  # Ctrl-C, or whoever wants the rows has failed: what runs is not waited for
            _end_workers(executor)
            raise
        finally:
            for future in running:
                future.cancel()
            executor.shutdown(wait=True)


def _with_shared(value: Any, known: dict[str | bytes, Any]) -> Any:
    """Copy plain data so that equal parts are one object: the reports of a class say the same many times."""
    if isinstance(value, str):
        return known.setdefault(value, value)
    if isinstance(value, dict):
        value = {_with_shared(key, known): _with_shared(item, known) for key, item in value.items()}
    elif isinstance(value, list):
        value = [_with_shared(item, known) for item in value]
    else:
        return value
    return known.setdefault(hashlib.sha256(json.dumps(value).encode()).digest(), value)


def _crashed(task: Task, why: str) -> Row:
    found = task.submission
    row = unreadable(found.student, found.exercise, found.file, why)
    return replace(row, status=CRASHED, isolation=task.backend)


def _version(batch: Batch, course: str) -> str:
    """Name everything that a grade depends on besides the submission itself."""
    isolation = batch.backend.name if batch.backend else f"cluster {batch.asked}"
    return json.dumps([course, batch.seed, isolation, asdict(batch.limits)], sort_keys=True)


def _read(path: Path, digest: str) -> Row | None:
    """Read a row that was kept; None if there is none, or if it does not hold any more."""
    try:
        content = json.loads(path.read_text(encoding="ascii"))
        if content["digest"] != digest or content["sum"] != _sum(content["row"]):
            return None
        return Row(**{**content["row"], "notes": tuple(content["row"]["notes"])})
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _sum(about: dict[str, Any]) -> str:
    """Give a short text that changes with anything in a row: by it a damaged file is known."""
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]


def _remove_others(folder: Path, rows: dict[str, Row]) -> None:
    """Remove results of submissions that are not there any more."""
    for path in folder.iterdir():
        if path.stem not in rows:
            with contextlib.suppress(OSError):
                path.unlink()


def _with_doubles(rows: list[Row]) -> list[Row]:
    """Say so where a student has handed in an exercise more than once, and which file counts."""
    marked = list(rows)
    of_students: dict[tuple[str, str, str], list[int]] = {}
    for place, row in enumerate(rows):
        if row.exercise:
            of_students.setdefault((row.student, row.number, row.exercise), []).append(place)
    for places in of_students.values():
        if len(places) == 1:
            continue
        best = max(places, key=lambda place: rows[place].points)
        others = ", ".join(f"{rows[place].file} ({rows[place].points})" for place in places if place != best)
        said = f"There are {len(places)} files of this student for this exercise. "
        for place in places:
            which = (
                f"This one counts; the other: {others}." if place == best else f"{rows[best].file} counts."
            )
            marked[place] = replace(rows[place], notes=(*rows[place].notes, said + which))
    return marked
