"""What grading a class costs, beside a kernel for each submission (nbclient) and nbgrader as a library.

All grade the same submissions of ex01 in one run: half of them right, half wrong in one point.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import nbclient
import nbformat
import pytest

from agentlib.checks.commands import FRESH_DIR
from agentlib.grading import RUNGS
from tests.hostile.submissions import HONEST, notebook

MAX_SECONDS = 0.07
"""One submission of a batch takes at most so long, with the sandbox on. Reported, not asserted."""

TIMES_FASTER = 15
"""At least so many times as fast as nbgrader. Reported."""

MAX_GROWTH = 1.5
"""A batch of ten times as many submissions needs at most so many times the memory. Asserted."""

COUNT = 30
BESIDE = 3
"""So many submissions are graded by the others: each takes about a second."""

EXERCISE = "ex01_write_the_loop"
RUNG = next(rung for rung in RUNGS if not rung.available())


# A process is said to have used what its parent held when it was started, so a small one starts the batch.
MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def submissions(folder: Path, count: int) -> None:
    for number in range(count):
        wrong = HONEST.replace("f\"{reply['tool']}: {problem}\"", '"failed"')
        path = folder / f"student{number:04}" / EXERCISE / f"{EXERCISE}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(notebook((HONEST, wrong)[number % 2] + f"\n# {number}"))


def batch(folder: Path, count: int, isolation: str) -> tuple[float, float]:
    """Grade so many with the command; gives seconds of one submission and the peak memory in MB."""
    submissions(folder / "in", count)
    out = folder / "out"
    command = [sys.executable, "-m", "agentlib", "grade", str(folder / "in"), "--out", str(out), "--quiet"]
    began = time.perf_counter()
    measured = [sys.executable, "-S", "-c", MEASURE, *command, "--isolation", isolation]
    done = subprocess.run(measured, check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - began
    rows = json.loads((out / "grades.json").read_text(encoding="utf-8"))
    assert [row["points"] for row in rows] == [10, 9] * (count // 2)
    return seconds / count, int(done.stdout.splitlines()[-1]) / 1_000


def by_nbclient() -> float:
    """Seconds for one submission with a kernel of its own."""
    began = time.perf_counter()
    for _ in range(BESIDE):
        made = nbformat.reads(notebook().decode(), as_version=4)
        nbclient.NotebookClient(made, timeout=60, kernel_name="python3").execute()
    return (time.perf_counter() - began) / BESIDE


def by_nbgrader(folder: Path) -> float:
    """Seconds for one submission with nbgrader's own interface for programs."""
    api_module = pytest.importorskip("nbgrader.apps", reason='nbgrader is missing: pip install -e ".[teach]"')
    config_module = pytest.importorskip("traitlets.config")
    source = folder / "source" / EXERCISE
    source.mkdir(parents=True)
    shutil.copy(Path(FRESH_DIR).parents[2] / "solutions" / f"{EXERCISE}.ipynb", source)
    config = config_module.Config()
    config.CourseDirectory.root = str(folder)
    api = api_module.NbGraderAPI(config=config)
    assert api.generate_assignment(EXERCISE)["success"]
    submissions(folder / "submitted", BESIDE)
    began = time.perf_counter()
    for number in range(BESIDE):
        done = api.autograde(EXERCISE, f"student{number:04}")
        assert done["success"], done
    return (time.perf_counter() - began) / BESIDE


@pytest.mark.parametrize("rung", [rung for rung in RUNGS if not rung.available()], ids=lambda rung: rung.name)
def test_one_submission_in_a_batch(rung, tmp_path, record_property):
    seconds, peak = batch(tmp_path, COUNT, rung.name)
    beside = by_nbclient()
    met = "met" if seconds <= MAX_SECONDS else "NOT MET"
    row = [
        f"a submission of {COUNT}, {rung.name}, {peak:.0f} MB; beside nbclient",
        f"{seconds:.3f} s",
        f"{beside:.3f} s",
        f"{seconds / beside:.2f}",
        f"at most {MAX_SECONDS:g} s: {met}",
    ]
    record_property("row", row)


def test_beside_nbgrader(tmp_path, record_property, monkeypatch):
    # nbgrader starts a program that stands beside Python.
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    beside = by_nbgrader(tmp_path / "nbgrader")
    seconds, _ = batch(tmp_path / "ours", COUNT, RUNG.name)
    met = "met" if seconds * TIMES_FASTER <= beside else "NOT MET"
    row = [
        f"a submission of {COUNT}, {RUNG.name}; beside nbgrader",
        f"{seconds:.3f} s",
        f"{beside:.3f} s",
        f"{seconds / beside:.3f}",
        f"{TIMES_FASTER} times as fast: {met}",
    ]
    record_property("row", row)


def test_ten_times_as_many_need_no_more_memory(tmp_path, record_property):
    few, few_mb = batch(tmp_path / "few", COUNT, RUNG.name)
    many, many_mb = batch(tmp_path / "many", 10 * COUNT, RUNG.name)
    row = [
        f"a submission of {10 * COUNT} ({many_mb:.0f} MB), beside one of {COUNT} ({few_mb:.0f} MB)",
        f"{many:.3f} s",
        f"{few:.3f} s",
        f"{many / few:.2f}",
        f"at most {MAX_GROWTH:g} times the memory",
    ]
    record_property("row", row)
    assert many_mb <= MAX_GROWTH * few_mb
