"""A batch on a Dask cluster: a real scheduler and two workers, of which one is killed half-way."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from agentlib.course.cli import main
from agentlib.course.errors import SandboxError
from agentlib.course.grading import BACKENDS, Limits
from agentlib.course.grading.cluster import connect, prepare
from agentlib.course.grading.sandbox_root import course_version
from tests.hostile.submissions import CONSTANT, HONEST, notebook

distributed = pytest.importorskip("distributed", reason='distributed is missing: pip install -e ".[cluster]"')

ROOT = Path(__file__).parent.parent
COUNT = 40
STARTUP_SECONDS = 60


@pytest.fixture
def cluster(tmp_path):
    """The address of a scheduler, and its two workers' processes; the second finds no bubblewrap."""
    place = tmp_path / "scheduler.json"
    common = ["--scheduler-file", str(place), "--host", "127.0.0.1", "--no-dashboard"]
    programs = [["dask_scheduler", "--port", "0"]]
    programs += [["dask_worker", "--no-nanny", "--nthreads", "1", "--name", name] for name in ("a", "b")]
    with_it = {**os.environ, "PYTHONPATH": str(ROOT)}
    without = {**with_it, "PATH": str(tmp_path)}  # programs of the system are not found
    processes = []
    with open(tmp_path / "said", "wb") as said:
        try:
            for program, *more in programs:
                command = [sys.executable, "-m", f"distributed.cli.{program}", *common, *more]
                environment = without if "b" in more else with_it
                process = subprocess.Popen(command, stdout=said, stderr=said, cwd=tmp_path, env=environment)
                processes.append(process)
                until = time.monotonic() + STARTUP_SECONDS
                while not place.exists() and time.monotonic() < until:
                    time.sleep(0.05)
            address = json.loads(place.read_text())["address"]
            with distributed.Client(address) as client:
                client.wait_for_workers(2, timeout=STARTUP_SECONDS)
            yield address, processes[1:]
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


def test_a_worker_that_comes_later_is_used_and_one_that_its_submission_ends_costs_that_alone_its_grade(
    tmp_path, cluster
):
    address, _ = cluster
    folder, out = hand_in(tmp_path / "in", 24), tmp_path / "out"
    killer = folder / "student03" / "ex01_write_the_loop.ipynb"
    killer.write_bytes(notebook(after=["import os\nos.kill(os.getppid(), 9)"]))
    added = []

    def add():
        until = time.monotonic() + STARTUP_SECONDS
        while len(list((out / "results").glob("*.json"))) < 4 and time.monotonic() < until:
            time.sleep(0.01)
        command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--host", "127.0.0.1"]
        command += ["--no-nanny", "--no-dashboard", "--nthreads", "1"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        with open(os.devnull, "wb") as nothing:
            added.append(
                subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=nothing, stderr=nothing)
            )

    adder = threading.Thread(target=add)
    adder.start()
    words = ["grade", str(folder), "--out", str(out), "--quiet", "--dask", address]
    try:
        assert main([*words, "--isolation", "time limit"]) == 0
    finally:
        adder.join()
        added[0].kill()
        added[0].wait()
    rows = {row["student"]: row for row in json.loads((out / "grades.json").read_text())}
    crashed = rows.pop("student03")
    assert (crashed["status"], crashed["points"]) == ("crashed", 0)
    assert crashed["notes"] == ["The worker that graded it was lost. So was another one before it."]
    assert [(row["status"], row["points"]) for row in rows.values()] == [("graded", 10)] * 23


def test_a_batch_whose_workers_are_all_gone_ends_and_says_so(tmp_path, cluster, capsys, monkeypatch):
    monkeypatch.setattr("agentlib.course.grading.cluster.COME_BACK_SECONDS", 1.0)
    address, workers = cluster
    out = tmp_path / "out"

    def kill_all():
        until = time.monotonic() + STARTUP_SECONDS
        while not list((out / "results").glob("*.json")) and time.monotonic() < until:
            time.sleep(0.01)
        for worker in workers:
            worker.kill()

    killer = threading.Thread(target=kill_all)
    killer.start()
    words = ["grade", str(hand_in(tmp_path / "in", COUNT)), "--out", str(out), "--quiet", "--dask", address]
    assert main([*words, "--isolation", "time limit"]) == 2
    killer.join()
    assert "No worker of the cluster is left" in capsys.readouterr().err
    assert 0 < len(list((out / "results").glob("*.json"))) < COUNT


def hand_in(folder: Path, count: int) -> Path:
    for number in range(count):
        path = folder / f"student{number:02}" / "ex01_write_the_loop.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(notebook(HONEST + f"\n# {number}"))
    return folder


def isolations(out: Path) -> set[str]:
    rows = json.loads((out / "grades.json").read_text())
    assert {row["points"] for row in rows} == {10}
    return {row["isolation"] for row in rows}


@pytest.mark.skipif(bool(BACKENDS[0].available()), reason=f"bubblewrap {BACKENDS[0].available()}")
def test_each_worker_names_its_own_isolation_and_one_below_what_is_required_gets_nothing(
    tmp_path, cluster, capsys
):
    address, workers = cluster
    words = ["grade", str(hand_in(tmp_path / "in", 12)), "--quiet", "--dask", address, "--out"]
    assert main([*words, str(tmp_path / "any")]) == 0
    found = isolations(tmp_path / "any")
    assert len(found) == 2
    assert "bubblewrap" in found
    capsys.readouterr()
    assert main([*words, str(tmp_path / "safe"), "--require-isolation", "bubblewrap"]) == 0
    assert isolations(tmp_path / "safe") == {"bubblewrap"}
    assert "is not used. No isolation that is safe enough" in capsys.readouterr().err
    workers[0].kill()
    workers[0].wait()
    assert main([*words, str(tmp_path / "none"), "--require-isolation", "bubblewrap"]) == 2
    assert "No worker of the cluster can grade" in capsys.readouterr().err
    assert not (tmp_path / "none" / "grades.json").exists()


def test_a_worker_makes_a_home_of_its_own(tmp_path):
    place = prepare(course_version(), Limits(), None, "time limit")
    assert (place.backend, (place.root.folder / "start.py").exists()) == ("time limit", True)
    shutil.rmtree(place.root.folder)


def test_a_worker_with_another_course_grades_nothing(tmp_path):
    with pytest.raises(SandboxError, match="another version"):
        prepare("old", Limits(), None, "time limit")


def test_a_cluster_that_is_not_there_is_said():
    not_there = connect("tcp://127.0.0.1:1", Limits(), None, "time limit", seconds=0.3)
    with pytest.raises(OSError, match=r"127\.0\.0\.1:1"), not_there:
        pass
