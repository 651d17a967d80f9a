"""Every hostile submission gets its true grade, on every rung of the ladder that this machine has."""

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
from agentlib.course.grading import RUNGS, Home, Limits, Row, grade_notebook, make_home
from agentlib.course.grading.selection import try_rung
from tests.hostile.submissions import CASES, SECRET, TIME, Case

EX01 = EXERCISES["ex01_write_the_loop"]
LIMITS = Limits(wall_seconds=30.0, processes=12, file_mb=4, disk_mb=16)
"""Nobody waits in vain for these, so they have their time: this machine may be busy."""

SHORT = replace(LIMITS, cell_seconds=0.5, call_seconds=0.5, grace_seconds=0.5)
"""For those that do not end by themselves."""

WORKERS = 2
BUBBLEWRAP = RUNGS[0]
NO_BUBBLEWRAP = "bubblewrap does not work here; on Debian and Ubuntu: apt-get install bubblewrap"


@pytest.fixture(scope="module")
def homes(tmp_path_factory):
    """A home for each worker: what is left of a submission is told by the home that it came from."""
    # Not below pytest's own folder, which is for one user alone: a child may be another.
    folders = [Path(tempfile.mkdtemp(prefix="agentlib_grading_")) for _ in range(WORKERS)]
    yield [make_home(folder) for folder in folders]
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
    """All cases of one rung, graded. problem: why it does not work here. files: those that were left."""

    problem: str = ""
    done: dict[str, Done] | None = None
    files: tuple[Path, ...] = ()


@pytest.fixture(scope="module")
def graded(request, homes, traps):
    """Give the graded class of a rung: the cases that are to be tried on it, two at a time."""
    wanted = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    wanted = [params for params in wanted if {"rung", "case"} <= set(params)]
    made: dict[str, Class] = {}

    def of_rung(rung):
        if rung.name not in made:
            problem = try_rung(rung, homes[0], SHORT)
            cases = [params["case"] for params in wanted if params["rung"] is rung]
            made[rung.name] = Class(problem) if problem else grade_class(rung, cases, homes, traps)
        return made[rung.name]

    return of_rung


def grade_class(rung, cases: list[Case], homes: list[Home], traps: dict[bytes, bytes]) -> Class:
    free: queue.SimpleQueue[Home] = queue.SimpleQueue()
    for home in homes:
        free.put(home)

    def grade(case: Case) -> Done:
        data = case.data
        for name, value in traps.items():
            data = data.replace(name, value)
        home = free.get()
        try:
            limits = SHORT if case in TIME else LIMITS
            return Done(
                grade_notebook(data, EX01, rung, home, limits, student="ann", seed=7), processes_of(home)
            )
        finally:
            free.put(home)

    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(len(homes)) as pool:
        patch.setattr(tempfile, "tempdir", str(folder))
        done = dict(zip([case.name for case in cases], pool.map(grade, cases), strict=True))
    files = tuple(folder.iterdir())
    shutil.rmtree(folder)
    return Class(done=done, files=files)


def processes_of(home) -> list[str]:
    """The processes whose command line names the child's home, of which none may be left."""
    if platform.system() != "Linux":
        return []
    found = []
    for path in Path("/proc").iterdir():
        try:
            line = (path / "cmdline").read_bytes() if path.name.isdigit() else b""
        except OSError:
            continue
        if str(home.folder).encode() in line:
            found.append(f"{path.name}: {line.decode(errors='replace')}")
    return found


def rungs():
    """The rungs that this machine can have; bubblewrap is asked for."""
    return [rung for rung in RUNGS if rung is BUBBLEWRAP or not rung.available()]


def pairs():
    """Each rung with the cases that it can bound."""
    return [
        pytest.param(rung, case, id=f"{rung.name}-{case.name}".replace(" ", "_"))
        for rung in rungs()
        for case in CASES
        if case.needs <= rung.keeps
    ]


POSIX = pytest.mark.skipif(os.name != "posix", reason="the lower rungs are tried on Linux and macOS")


def class_of(rung, graded) -> Class:
    found = graded(rung)
    if found.problem:
        pytest.skip(NO_BUBBLEWRAP if rung is BUBBLEWRAP else f"{rung.name}: {found.problem}")
    return found


@POSIX
@pytest.mark.parametrize(("rung", "case"), pairs())
def test_a_submission_gets_its_true_grade_and_leaves_no_process(rung, case: Case, graded):
    done = class_of(rung, graded).done[case.name]
    row = done.row
    told = f"{row.status} {row.points} {row.notes} {row.report and row.report['results']}"
    assert (row.status, row.points) == (case.status, case.points), told
    assert case.said in " ".join(row.notes), told
    assert not (case.quiet and row.notes), told
    assert row.seconds < LIMITS.wall_seconds + 5
    assert row.isolation == rung.name
    assert done.left == []


@POSIX
@pytest.mark.parametrize("rung", rungs(), ids=lambda rung: rung.name)
def test_a_class_leaves_no_file_and_no_process(rung, graded, homes):
    assert class_of(rung, graded).files == ()
    assert [line for home in homes for line in processes_of(home)] == []


def test_there_are_enough_of_them():
    assert len(CASES) >= 40
    assert len({case.name for case in CASES}) == len(CASES)
