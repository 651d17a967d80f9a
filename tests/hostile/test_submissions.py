"""Every hostile submission gets its true grade, on every rung of the ladder that this machine has."""

import os
import platform
import shutil
import socket
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from agentlib.checks import EXERCISES
from agentlib.grading import RUNGS, Limits, grade_notebook, make_home
from agentlib.grading.ladder import try_rung
from tests.hostile.submissions import CASES, SECRET, Case

EX01 = EXERCISES["ex01_write_the_loop"]
LIMITS = Limits(
    cell_seconds=1.0,
    call_seconds=1.0,
    grace_seconds=0.5,
    wall_seconds=30.0,
    processes=12,
    file_mb=4,
    disk_mb=16,
)
BUBBLEWRAP = RUNGS[0]
NO_BUBBLEWRAP = "bubblewrap does not work here; on Debian and Ubuntu: apt-get install bubblewrap"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    # Not below pytest's own folder, which is for one user alone: a child may be another.
    folder = Path(tempfile.mkdtemp(prefix="agentlib_grading_"))
    yield make_home(folder)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def working(home):
    """For each rung, "" if it works here, or why not."""
    return {rung.name: try_rung(rung, home, LIMITS) for rung in RUNGS}


@pytest.fixture
def files(monkeypatch):
    """The folder for temporary files of one test, which must be empty again in the end."""
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o755)
    monkeypatch.setattr(tempfile, "tempdir", folder)
    yield Path(folder)
    shutil.rmtree(folder)


@pytest.fixture
def traps(monkeypatch):
    """What a submission must not reach: a server, a socket in a file, a variable of the environment."""
    monkeypatch.setenv(SECRET, "secret")
    folder = tempfile.mkdtemp()
    place = f"{folder}/socket"
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        local.bind(place)
        local.listen()
        os.chmod(folder, 0o755)
        os.chmod(place, 0o777)
        yield {
            b"int(PORT)": str(server.getsockname()[1]).encode(),
            b"connect(SOCKET)": f"connect('{place}')".encode(),
        }
    shutil.rmtree(folder)


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


def pairs():
    """Each rung that this machine can have, with the cases that it can bound; bubblewrap is asked for."""
    return [
        pytest.param(rung, case, id=f"{rung.name}-{case.name}".replace(" ", "_"))
        for rung in RUNGS
        if rung is BUBBLEWRAP or not rung.available()
        for case in CASES
        if case.needs <= rung.keeps
    ]


@pytest.mark.skipif(os.name != "posix", reason="the lower rungs are tried on Linux and macOS")
@pytest.mark.parametrize(("rung", "case"), pairs())
def test_a_submission_gets_its_true_grade_and_leaves_nothing(rung, case: Case, home, working, traps, files):
    if working[rung.name]:
        pytest.skip(NO_BUBBLEWRAP if rung is BUBBLEWRAP else f"{rung.name}: {working[rung.name]}")
    data = case.data
    for name, value in traps.items():
        data = data.replace(name, value)
    # Nobody waits in vain for an honest one, so it gets more time: this machine may be busy.
    limits = replace(LIMITS, cell_seconds=20.0) if case.quiet else LIMITS
    row = grade_notebook(data, EX01, rung, home, limits, student="ann", seed=7)
    told = f"{row.status} {row.points} {row.notes} {row.report and row.report['results']}"
    assert (row.status, row.points) == (case.status, case.points), told
    assert case.said in " ".join(row.notes), told
    assert not (case.quiet and row.notes), told
    assert row.seconds < LIMITS.wall_seconds + 5
    assert row.isolation == rung.name
    assert processes_of(home) == []
    assert list(files.iterdir()) == []


def test_there_are_enough_of_them():
    assert len(CASES) >= 40
    assert len({case.name for case in CASES}) == len(CASES)
