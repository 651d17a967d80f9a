"""A batch that is stopped ends soon, with all that it has started."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

from agentlib.course.grading import BACKENDS, Batch, Limits, grade_folder
from agentlib.course.grading.batch import local_pool
from tests.hostile.submissions import notebook

ROOT = Path(__file__).parent.parent.parent
MARK = f"3598.{os.getpid()}"
"""Seconds that what a submission starts would sleep: by them this run of the tests finds its own."""
ENDLESS = (
    f"import subprocess\nsubprocess.Popen(['sleep', '{MARK}'], start_new_session=True)\n"
    "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")


def sleepers() -> list[bytes]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes()
        except OSError:
            continue
        if MARK.encode() in line and b"python" not in line:
            found.append(line)
    return found


def wait_until(holds) -> bool:
    until = time.monotonic() + 30
    while not holds() and time.monotonic() < until:
        time.sleep(0.05)
    return holds()


def interrupt(process) -> None:
    process.send_signal(signal.SIGINT)


def interrupt_twice(process) -> None:
    interrupt(process)
    time.sleep(0.3)
    interrupt(process)


@pytest.mark.parametrize(
    ("stop", "code"), [(interrupt, 130), (interrupt_twice, 130), (subprocess.Popen.kill, -9)]
)
@pytest.mark.parametrize("backend", ["bubblewrap", "time limit"])
def test_a_stopped_batch_ends_soon_and_leaves_nothing_that_runs(tmp_path, backend, stop, code):
    if next(one for one in BACKENDS if one.name == backend).available():
        pytest.skip(f"{backend} does not work here")
    for student in "abcd":
        path = tmp_path / "in" / student / "ex01.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(notebook(before=[ENDLESS]))
    command = [
        sys.executable,
        "-m",
        "agentlib",
        "grade",
        str(tmp_path / "in"),
        "--out",
        str(tmp_path / "out"),
    ]
    command += ["--isolation", backend, "--workers", "2", "--quiet", "--limit", "cell_seconds=60"]
    temporary = Path(tempfile.mkdtemp(dir="/tmp"))  # a short name: a socket is in it
    environment = {**os.environ, "TMPDIR": str(temporary)}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)
    try:
        assert wait_until(lambda: len(sleepers()) == 2)
        began = time.monotonic()
        stop(process)
        assert process.wait(30) == code
        assert time.monotonic() - began < 20
    finally:
        process.kill()
    assert wait_until(lambda: not sleepers())
    assert wait_until(lambda: not list(temporary.glob("agentlib_child_*")))
    if code == 130:  # who is killed cannot tidy up; the next batch does
        assert list(temporary.iterdir()) == []
    shutil.rmtree(temporary)


class Far(ThreadPoolExecutor):
    """An executor as Dask's: its workers are not ours, and its `shutdown` knows `wait` alone."""

    def shutdown(self, wait=True):
        super().shutdown(wait)


def test_whoever_wants_the_rows_may_stop_with_any_executor(root, tmp_path):
    path = tmp_path / "in" / "ann" / "ex01.ipynb"
    path.parent.mkdir(parents=True)
    path.write_bytes(notebook())

    def stop(done, total):
        raise KeyboardInterrupt

    batch = Batch(tmp_path / "in", tmp_path / "out", BACKENDS[-1], root, Limits())
    with pytest.raises(KeyboardInterrupt):
        grade_folder(batch, Far, stop)
    assert len(list((tmp_path / "out" / "results").iterdir())) == 1  # what was graded is kept


def swallow_the_stop() -> int:
    with contextlib.suppress(BaseException):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(10)
    time.sleep(60)
    return 0


def test_a_worker_that_is_told_to_end_ends_though_the_exception_is_lost():
    began = time.monotonic()
    with local_pool(1) as pool, pytest.raises(BrokenExecutor):
        pool.submit(swallow_the_stop).result()
    assert time.monotonic() - began < 30
