"""Every hostile submission gets its true grade, on every backend that this machine has."""

import os
import platform
import queue
import shutil
import socket
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from agentlib.course.exercises import EXERCISES
from agentlib.course.grading import BACKENDS, Limits, Row, SandboxRoot, grade_notebook, make_sandbox_root
from agentlib.course.grading.selection import try_backend
from tests.hostile.submissions import CASES, SECRET, TIME, Case

EX01 = EXERCISES["ex01_write_the_loop"]
LIMITS = Limits(wall_seconds=30.0, processes=12, file_mb=4, disk_mb=16)
"""Nobody waits in vain for these, so they have their time: this machine may be busy."""

SHORT = replace(LIMITS, cell_seconds=0.5, call_seconds=0.5, grace_seconds=0.5)
"""For those that do not end by themselves."""

WORKERS = 2
BUBBLEWRAP = BACKENDS[0]
NO_BUBBLEWRAP = "bubblewrap does not work here; on Debian and Ubuntu: apt-get install bubblewrap"


@pytest.fixture(scope="module")
def roots(tmp_path_factory):
    """A sandbox root for each worker: what is left of a submission is told by the one that it came from."""
    # Not below pytest's own folder, which is for one user alone: a child may be another.
    folders = [Path(tempfile.mkdtemp(prefix="agentlib_grading_")) for _ in range(WORKERS)]
    yield [make_sandbox_root(folder) for folder in folders]
    for folder in folders:
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def traps():
    """What a submission must not reach: a server, a socket in a file, a variable of the environment."""
    folder = tempfile.mkdtemp()
    place = f"{folder}/socket"
    with (
        pytest.MonkeyPatch.context() as patch,
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as local,
    ):
        patch.setenv(SECRET, "secret")
        local.bind(place)
        local.listen()
        os.chmod(folder, 0o755)
        os.chmod(place, 0o777)
        yield {
            b"int(PORT)": str(server.getsockname()[1]).encode(),
            b"connect(SOCKET)": f"connect('{place}')".encode(),
        }
    shutil.rmtree(folder)


@dataclass(frozen=True)
class Done:
    """A graded case. left: processes that were there when it had been graded."""

    row: Row
    left: list[str]


@dataclass(frozen=True)
class Class:
    """All cases of one backend, graded. problem: why it does not work here. files: those that were left."""

    problem: str = ""
    done: dict[str, Done] | None = None
    files: tuple[Path, ...] = ()


@pytest.fixture(scope="module")
def graded(request, roots, traps):
    """Give the graded class of a backend: the cases that are to be tried on it, two at a time."""
    wanted = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    wanted = [params for params in wanted if {"backend", "case"} <= set(params)]
    made: dict[str, Class] = {}

    def of_rung(backend):
        if backend.name not in made:
            problem = try_backend(backend, roots[0], SHORT)
            cases = [params["case"] for params in wanted if params["backend"] is backend]
            made[backend.name] = Class(problem) if problem else grade_class(backend, cases, roots, traps)
        return made[backend.name]

    return of_rung


def grade_class(backend, cases: list[Case], roots: list[SandboxRoot], traps: dict[bytes, bytes]) -> Class:
    free: queue.SimpleQueue[SandboxRoot] = queue.SimpleQueue()
    for root in roots:
        free.put(root)

    def grade(case: Case) -> Done:
        data = case.data
        for name, value in traps.items():
            data = data.replace(name, value)
        root = free.get()
        try:
            limits = SHORT if case in TIME else LIMITS
            return Done(
                grade_notebook(data, EX01, backend, root, limits, student="ann", seed=7), processes_of(root)
            )
        finally:
            free.put(root)

    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(len(roots)) as pool:
        patch.setattr(tempfile, "tempdir", str(folder))
        done = dict(zip([case.name for case in cases], pool.map(grade, cases), strict=True))
    files = tuple(folder.iterdir())
    shutil.rmtree(folder)
    return Class(done=done, files=files)


def processes_of(root) -> list[str]:
    """The processes whose command line names the sandbox root, of which none may be left."""
    if platform.system() != "Linux":
        return []
    found = []
    for path in Path("/proc").iterdir():
        try:
            line = (path / "cmdline").read_bytes() if path.name.isdigit() else b""
        except OSError:
            continue
        if str(root.folder).encode() in line:
            found.append(f"{path.name}: {line.decode(errors='replace')}")
    return found


def backends():
    """The backends that this machine can have; bubblewrap is asked for."""
    return [backend for backend in BACKENDS if backend is BUBBLEWRAP or not backend.available()]


def pairs():
    """Each backend with the cases that it can bound."""
    return [
        pytest.param(backend, case, id=f"{backend.name}-{case.name}".replace(" ", "_"))
        for backend in backends()
        for case in CASES
        if case.needs <= backend.keeps
    ]


POSIX = pytest.mark.skipif(os.name != "posix", reason="the lower backends are tried on Linux and macOS")


def class_of(backend, graded) -> Class:
    found = graded(backend)
    if found.problem:
        pytest.skip(NO_BUBBLEWRAP if backend is BUBBLEWRAP else f"{backend.name}: {found.problem}")
    return found


@POSIX
@pytest.mark.parametrize(("backend", "case"), pairs())
def test_a_submission_gets_its_true_grade_and_leaves_no_process(backend, case: Case, graded):
    done = class_of(backend, graded).done[case.name]
    row = done.row
    told = f"{row.status} {row.points} {row.notes} {row.report and row.report['results']}"
    assert (row.status, row.points) == (case.status, case.points), told
    assert case.said in " ".join(row.notes), told
    assert not (case.quiet and row.notes), told
    assert row.seconds < LIMITS.wall_seconds + 5
    assert row.isolation == backend.name
    assert done.left == []


@POSIX
@pytest.mark.parametrize("backend", backends(), ids=lambda backend: backend.name)
def test_a_class_leaves_no_file_and_no_process(backend, graded, roots):
    assert class_of(backend, graded).files == ()
    assert [line for root in roots for line in processes_of(root)] == []


def test_there_are_enough_of_them():
    assert len(CASES) >= 40
    assert len({case.name for case in CASES}) == len(CASES)
