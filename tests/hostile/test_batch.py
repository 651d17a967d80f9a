"""A class of 300, of which 15 are hostile, is killed twice and ends with 300 right rows."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from agentlib.course.grading import BACKENDS, Limits
from agentlib.course.grading.selection import try_backend
from tests.hostile.submissions import CASES, HONEST, PARTIAL, Case, notebook
from tests.hostile.test_submissions import NO_BUBBLEWRAP

COUNT = 300
HOSTILE = (
    "endless loop in a cell",
    "endless loop in C",
    "endless loop that ignores signals",
    "endless loop in one test only",
    "os._exit in a cell",
    "kills its parent",
    "ends its group",
    "memory in a cell",
    "forks that leave the session",
    "many files",
    "200 MB past the notebook",
    "a forged outcome",
    "a huge message",
    "reads the solution",
    "broken JSON",
)


def a_class() -> list[Case]:
    """One hostile one among each twenty."""
    hostile = {case.name: case for case in CASES}
    half = HONEST.replace("f\"{reply['tool']}: {problem}\"", '"failed"')
    made = []
    for number in range(COUNT):
        if number % 20 == 7:
            made.append(hostile[HOSTILE[number // 20]])
        else:
            right = number % 2 == 0
            source = (HONEST if right else half) + f"\n# {number}"
            made.append(Case("", notebook(source), 10 if right else PARTIAL))
    return made


@pytest.mark.skipif(os.name != "posix", reason="bubblewrap needs Linux")
def test_a_class_of_300_with_15_hostile_ones_is_killed_twice(root, tmp_path):
    if try_backend(BACKENDS[0], root, Limits()):
        pytest.skip(NO_BUBBLEWRAP)
    cases = a_class()
    folder, out = tmp_path / "in", tmp_path / "out"
    for number, case in enumerate(cases):
        path = folder / f"student{number:03}" / "ex01_write_the_loop.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(case.data)
    command = [
        sys.executable,
        "-m",
        "agentlib",
        "grade",
        str(folder),
        "--out",
        str(out),
        "--resume",
        "--quiet",
    ]
    for limit in ("cell_seconds=1", "call_seconds=1", "grace_seconds=0.5", "file_mb=4", "disk_mb=16"):
        command += ["--limit", limit]
    command += ["--require-isolation", BACKENDS[0].name]
    for wanted in (60, 160):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 240
        while len(list((out / "results").glob("*.json"))) < wanted and time.monotonic() < until:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
    kept = len(list((out / "results").glob("*.json")))
    assert 160 <= kept < COUNT
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"{COUNT} submissions" in done.stdout
    rows = json.loads((out / "grades.json").read_text(encoding="utf-8"))
    assert [row["student"] for row in rows] == [f"student{number:03}" for number in range(COUNT)]
    wrong = [
        (case.name, row["status"], row["points"], row["notes"])
        for case, row in zip(cases, rows, strict=True)
        if (row["status"], row["points"]) != (case.status, case.points)
    ]
    assert wrong == []
    assert {row["isolation"] for row in rows} == {BACKENDS[0].name}
