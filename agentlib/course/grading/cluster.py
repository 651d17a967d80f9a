"""Grades on a Dask cluster: each worker chooses its own isolation, and rows name what was used there."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from agentlib.course.errors import SandboxError
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

__all__ = ["Cluster", "Place", "connect", "grade_there", "prepare"]

CONNECT_SECONDS = 5
"""A scheduler that has not answered by then is not there."""


@dataclass(frozen=True)
class Place:
    """Where a worker grades.

    backend: the name of its isolation. banner: what protects its machine. root: on its machine.
    """

    backend: str
    banner: str
    root: SandboxRoot


@dataclass(frozen=True)
class Cluster:
    """A cluster that is ready to grade.

    make_executor: makes an executor of it. workers: how many tasks it runs at a time.
    work: grades one task on whichever worker it comes to.
    banners: for each worker, its banner or what is wrong.
    still_there: raises OSError if none of the workers that can grade is left.
    """

    make_executor: Callable[[int], Executor]
    workers: int
    work: Callable[[Task], Row]
    banners: tuple[str, ...]
    still_there: Callable[[], None]


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


def grade_there(places: Mapping[str, Place], task: Task) -> Row:
    """Grade one task in a worker's own place; runs in the worker. places: by the workers' addresses."""
    from distributed import get_worker  # noqa: PLC0415  large, and an extra

    place = places[get_worker().address]
    return grade_task(replace(task, backend=place.backend, root=place.root))


def remove(place: Place) -> None:
    """Remove what `prepare` made; runs in the worker."""
    shutil.rmtree(place.root.folder, ignore_errors=True)


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
    A worker on which nothing safe enough works gets no submission, nor does one that comes later. Raises
    OSError if nothing answers there, SandboxError if no worker is safe enough or there is none, and
    ImportError without the package distributed.
    """
    import distributed  # noqa: PLC0415  large, and an extra

    with distributed.Client(address, timeout=seconds) as client:
        with contextlib.suppress(TimeoutError):  # what that means is said below
            client.wait_for_workers(1, timeout=seconds)
        threads: dict[str, int] = client.nthreads()
        begun = {
            worker: client.submit(
                prepare, course_version(), limits, require, only, workers=[worker], pure=False, retries=0
            )
            for worker in threads
        }
        places: dict[str, Place] = {}
        banners = []
        try:
            for worker, future in begun.items():
                try:
                    places[worker] = future.result()
                    banners.append(f"{worker}: {places[worker].banner}")
                except Exception as problem:  # whatever goes wrong there: nothing is graded there
                    banners.append(f"{worker} is not used. {problem}")
            if not places:
                raise SandboxError("\n".join(["No worker of the cluster can grade.", *banners]))
            usable = list(places)

            def still_there() -> None:
                if not set(usable) & set(client.scheduler_info(n_workers=-1)["workers"]):
                    raise OSError(
                        "No worker of the cluster is left that can grade. What was graded is kept; start "
                        "workers and go on with --resume."
                    )

            yield Cluster(
                lambda workers: client.get_executor(pure=False, workers=usable, allow_other_workers=False),
                sum(max(1, threads[worker]) for worker in usable),
                partial(grade_there, places),
                tuple(banners),
                still_there,
            )
        finally:
            alive = client.scheduler_info(n_workers=-1)["workers"]
            ended = [
                client.submit(remove, place, workers=[worker], pure=False)
                for worker, place in places.items()
                if worker in alive
            ]
            if ended:
                distributed.wait(ended, timeout=seconds)
