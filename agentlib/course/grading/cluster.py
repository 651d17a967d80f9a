"""Grades on a Dask cluster: each worker chooses its own isolation, and rows name what was used there."""

import contextlib
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from agentlib.course.errors import SandboxError, WorkerLostError
from agentlib.course.grading.batch import Task, grade_task
from agentlib.course.grading.grade import Row
from agentlib.course.grading.limits import Limits
from agentlib.course.grading.sandbox_root import (
    SandboxRoot,
    course_version,
    make_sandbox_root,
    remove_leftovers,
)
from agentlib.course.grading.selection import banner, choose_backend

__all__ = ["Cluster", "Place", "connect", "prepare"]

CONNECT_SECONDS = 5
"""A scheduler that has not answered by then is not there."""

COME_BACK_SECONDS = 10.0
"""Where all workers are lost, so long is waited for others, or for those that are started anew."""

LOST = ("KilledWorker", "CancelledError", "FutureCancelledError", "SandboxError")
"""What a task ends with whose worker is no more, or can grade nothing; distributed loads slowly."""

LOCK = threading.Lock()
"""Of one worker's threads, one makes its place."""


@dataclass(frozen=True)
class Place:
    """Where a worker grades.

    backend: the name of its isolation. banner: what protects its machine. root: on its machine.
    """

    backend: str
    banner: str
    root: SandboxRoot


def prepare(version: str, limits: Limits, require: str | None, only: str | None) -> Place:
    """Make a worker's place for a batch; runs in the worker.

    version: of the course, as the batch has it. require, only: as in `choose_backend`.
    Raises SandboxError if no isolation that is safe enough works there, or if it has another version
    of the course.
    """
    if course_version() != version:
        raise SandboxError("This worker has another version of the course than the batch.")
    remove_leftovers(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=f"agentlib_grading_{os.getpid()}_"))
    try:
        root = make_sandbox_root(folder)
        selection = choose_backend(root, limits, require, only)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Place(selection.backend.name, banner(selection), root)


Wanted = tuple[str, Limits, str | None, str | None]
"""What `prepare` is called with."""


def prepare_here(wanted: Wanted) -> str:
    """Make a worker's place, once, and give its banner; runs in the worker, and raises as `prepare` does."""
    from distributed import get_worker  # noqa: PLC0415  large, and an extra

    places: dict[Wanted, Place] = vars(get_worker()).setdefault("agentlib_places", {})
    with LOCK:
        if wanted not in places:
            places[wanted] = prepare(*wanted)
        return places[wanted].banner


def grade_there(wanted: Wanted, task: Task) -> Row:
    """Grade one task in a worker's own place; runs in the worker, which may be newer than the batch."""
    from distributed import get_worker  # noqa: PLC0415  large, and an extra

    prepare_here(wanted)
    place = get_worker().agentlib_places[wanted]
    return grade_task(replace(task, backend=place.backend, root=place.root))


def remove_here(wanted: Wanted) -> None:
    """Remove what `prepare` made; runs in the worker."""
    from distributed import get_worker  # noqa: PLC0415  large, and an extra

    place = vars(get_worker()).get("agentlib_places", {}).pop(wanted, None)
    if place is not None:
        shutil.rmtree(place.root.folder, ignore_errors=True)


class Cluster(Executor):
    """A cluster that grades. Workers that are added or started anew are used, those that are lost are not.

    banners: for each worker, its banner or what is wrong with it.
    A submission whose worker is lost ends with WorkerLostError; a worker on which nothing safe enough works
    gets none.
    """

    def __init__(self, client: Any, wanted: Wanted) -> None:
        self.client = client
        self.wanted = wanted
        self.banners: dict[str, str] = {}
        self.work = partial(grade_there, wanted)
        self._threads: dict[str, int] = {}
        self._asked: dict[str, Any] = {}
        self._usable: set[str] = set()
        self._running: dict[Any, tuple[Future[Row], set[str]]] = {}
        self._looked = 0.0

    @property
    def workers(self) -> int:
        """How many submissions it can grade at a time, now."""
        return sum(max(1, self._threads[worker]) for worker in self._usable) or 1

    def look(self) -> None:
        """See which workers there are: new ones are asked to make their place."""
        self._looked = time.monotonic()
        self._threads = self.client.nthreads()
        alive = set(self._threads)
        for worker in alive - set(self._asked):
            self._asked[worker] = self.client.submit(
                prepare_here, self.wanted, workers=[worker], pure=False, retries=0
            )
        for worker in set(self._asked) - alive:
            del self._asked[worker]  # one that comes again at this address is asked again
        for worker, future in self._asked.items():
            if (worker in self.banners and worker in self._usable) or not future.done():
                continue
            try:
                self.banners[worker] = f"{worker}: {future.result()}"
                self._usable.add(worker)
            except Exception as problem:  # whatever goes wrong there: nothing is graded there
                self.banners[worker] = f"{worker} is not used. {problem}"
        self._usable &= alive
        for theirs, (_, places) in list(self._running.items()):
            if not places & alive:
                theirs.cancel()  # it would wait for them for ever

    def still_there(self) -> None:
        """Raise OSError if no worker that can grade is there, nor comes within a moment."""
        until = time.monotonic() + COME_BACK_SECONDS
        self.look()
        while not self._usable:
            if time.monotonic() > until:
                raise OSError(
                    "No worker of the cluster is left that can grade. What was graded is kept; start workers "
                    "and go on with --resume."
                )
            time.sleep(0.1)
            self.look()

    def submit(self, function: Callable[..., Row], task: Task, /) -> "Future[Row]":  # type: ignore[override]
        """Have a task graded by one of the workers that can."""
        if not self._usable or time.monotonic() - self._looked > 1:
            self.still_there()
        places = set(self._usable)
        mine: Future[Row] = Future()
        mine.set_running_or_notify_cancel()
        theirs = self.client.submit(
            function, task, workers=list(places), allow_other_workers=False, pure=False, retries=0
        )
        self._running[theirs] = (mine, places)
        theirs.add_done_callback(self._pass_on)
        return mine

    def _pass_on(self, theirs: Any) -> None:
        mine, _ = self._running.pop(theirs)
        try:
            mine.set_result(theirs.result())
        except Exception as problem:
            if type(problem).__name__ in LOST:
                problem = WorkerLostError("The worker that graded it was lost.")
            mine.set_exception(problem)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Cancel what runs."""
        for theirs in list(self._running):
            theirs.cancel()


@contextlib.contextmanager
def connect(
    address: str,
    limits: Limits,
    require: str | None,
    only: str | None,
    seconds: float = CONNECT_SECONDS,
) -> Iterator[Cluster]:
    """Connect to a cluster, and have each of its workers choose its isolation.

    address: of the scheduler, such as "tcp://127.0.0.1:8786". require, only: as in `choose_backend`.
    seconds: who has not answered by then is not there.
    Raises OSError if nothing answers there, SandboxError if no worker is safe enough or there is none, and
    ImportError without the package distributed.
    """
    import distributed  # noqa: PLC0415  large, and an extra

    def allow_failures(number: int, dask_scheduler: Any = None) -> int:
        """Set how many workers a task may cost before it fails; runs in the scheduler. Gives what it was."""
        before: int = dask_scheduler.allowed_failures
        dask_scheduler.allowed_failures = number
        return before

    with distributed.Client(address, timeout=seconds) as client:
        with contextlib.suppress(TimeoutError):  # what that means is said below
            client.wait_for_workers(1, timeout=seconds)
        cluster = Cluster(client, (course_version(), limits, require, only))
        allowed = client.run_on_scheduler(allow_failures, 0)
        try:
            cluster.look()
            distributed.wait(list(cluster._asked.values()))
            cluster.look()
            if not cluster._usable:
                banners = cluster.banners.values()
                raise SandboxError("\n".join(["No worker of the cluster can grade.", *banners]))
            yield cluster
        finally:
            cluster.look()
            ended = [
                client.submit(remove_here, cluster.wanted, workers=[worker], pure=False)
                for worker in cluster._usable
            ]
            if ended:
                distributed.wait(ended, timeout=seconds)
            client.run_on_scheduler(allow_failures, allowed)
