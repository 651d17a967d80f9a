"""A batch on a Dask cluster: a real scheduler and two workers, of which one is killed half-way."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from agentlib.__main__ import main
from agentlib.grading.batch import Task, home_here
from agentlib.grading.folder import Submission
from agentlib.grading.home import Home, course_version
from agentlib.grading.limits import Limits
from tests.hostile.submissions import CONSTANT, HONEST, notebook

pytest.importorskip("distributed", reason='distributed is missing: pip install -e ".[cluster]"')

ROOT = Path(__file__).parent.parent
COUNT = 40
STARTUP_SECONDS = 60


@pytest.fixture
def cluster(tmp_path):
    """The address of a scheduler, and its two workers' processes."""
    place = tmp_path / "scheduler.json"
    common = ["--scheduler-file", str(place), "--host", "127.0.0.1", "--no-dashboard"]
    programs = [["dask_scheduler", "--port", "0"]]
    programs += [["dask_worker", "--no-nanny", "--nthreads", "1", "--name", name] for name in ("a", "b")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    processes = []
    with open(tmp_path / "said", "wb") as said:
        try:
            for program, *more in programs:
                command = [sys.executable, "-m", f"distributed.cli.{program}", *common, *more]
                process = subprocess.Popen(command, stdout=said, stderr=said, cwd=tmp_path, env=environment)
                processes.append(process)
                until = time.monotonic() + STARTUP_SECONDS
                while not place.exists() and time.monotonic() < until:
                    time.sleep(0.05)
            yield json.loads(place.read_text())["address"], processes[1:]
        finally:
            for process in reversed(processes):
                process.kill()
                process.wait()


def test_a_batch_survives_the_end_of_a_worker(tmp_path, cluster):
    address, workers = cluster
    folder, out = tmp_path / "in", tmp_path / "out"
    for number in range(COUNT):
        path = folder / f"student{number:02}" / "ex01_write_the_loop.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(notebook((HONEST, CONSTANT)[number % 2] + f"\n# {number}"))

    def kill_half_way():
        until = time.monotonic() + STARTUP_SECONDS
        while len(list((out / "results").glob("*.json"))) < COUNT // 2 and time.monotonic() < until:
            time.sleep(0.01)
        workers[0].kill()

    killer = threading.Thread(target=kill_half_way)
    killer.start()
    arguments = ["grade", str(folder), "--out", str(out), "--quiet", "--dask", address]
    assert main([*arguments, "--isolation", "time limit"]) == 0
    killer.join()
    assert workers[0].wait() != 0
    rows = json.loads((out / "grades.json").read_text())
    assert [(row["student"], row["status"], row["points"]) for row in rows] == [
        (f"student{number:02}", "graded", (10, 0)[number % 2]) for number in range(COUNT)
    ]


def task(version: str, folder: Path) -> Task:
    submission = Submission("ann", "", "ex01_write_the_loop", "x.ipynb", folder / "x.ipynb")
    return Task(submission, b"", "", 0, "time limit", Home(folder, ()), Limits(), version)


def test_a_machine_without_the_home_makes_one(tmp_path):
    with home_here(task(course_version(), tmp_path / "none")) as home:
        assert (home.folder / "start.py").exists()
    assert not home.folder.exists()


def test_a_machine_with_another_course_grades_nothing(tmp_path):
    with pytest.raises(RuntimeError, match="another version"), home_here(task("old", tmp_path / "none")):
        pass


def test_a_cluster_that_is_not_there_is_said(tmp_path, capsys):
    (tmp_path / "in").mkdir()
    arguments = ["grade", str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--dask", "tcp://127.0.0.1:1"]
    assert main([*arguments, "--isolation", "time limit"]) == 2
    assert "127.0.0.1:1" in capsys.readouterr().err
