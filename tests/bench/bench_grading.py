"""What grading a class costs, beside a kernel for each submission (nbclient) and nbgrader as a library.

All grade the same 30 submissions of ex01 in one run: half of them right, half wrong in one part. A class of
500 has all exercises, right ones, wrong ones and some that are not started; nbgrader grades its first 25. Run
it on a machine that does nothing else. The time of the processors is the whole machine's (on Linux; elsewhere
it is not measured), since a sandbox that is ended takes the count of its own time with it.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import pytest

from agentlib.course.exercises import EXERCISES, FRESH_DIR
from agentlib.course.grading import BACKENDS, Limits, temporary_sandbox_root
from agentlib.course.grading.selection import try_backend
from tests.hostile.submissions import HONEST, PARTIAL, code_cell, notebook

MAX_SECONDS = 0.07
"""One submission of a class of 30 takes at most so long on two cores, with the sandbox on. Reported."""

TIMES_FASTER = 15
"""At least so many times as fast as nbgrader. Asserted."""

MIXED, OF_MIXED, TIMES_FASTER_MIXED = 500, 25, 12
"""A mixed class takes at most a twelfth, for each submission, of what 25 of it take in nbgrader. Asserted."""

MAX_GROWTH = 1.5
"""A class of 3,000 needs at most so many times the memory of one of 30. Asserted."""

MANY_SECONDS = 300
"""A class of 3,000 takes at most so long. Reported."""

COUNT, MANY = 30, 3_000
TIMES = 7
"""A class of 30 takes two seconds, too few to measure once: it is graded so many times."""

EXERCISE = "ex01_write_the_loop"
SOLUTIONS = FRESH_DIR.parents[3] / "solutions"
HERE = [backend for backend in BACKENDS if not backend.available()]
SAFEST = HERE[0]
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
    "PATH": os.pathsep.join(
        [str(Path(sys.executable).parent), os.environ["PATH"]]
    ),  # nbgrader starts programs
}
"""As most people have it: Python compiles a module once and keeps that."""

# A process is said to have used what its parent held when it was started, so a small one starts the others.
MEASURE = """
import resource, subprocess, sys, time
began = time.perf_counter()
subprocess.run(sys.argv[1:], check=True)
print(time.perf_counter() - began)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""

NBCLIENT = """
import sys
from pathlib import Path
import nbclient, nbformat
for path in sorted(Path(sys.argv[1]).rglob("*.ipynb")):
    made = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(made, timeout=60, kernel_name="python3", allow_errors=True).execute()
"""

NBGRADER = """
import sys
from nbgrader.apps import NbGraderAPI
from traitlets.config import Config
root, exercise, *students = sys.argv[1:]
config = Config()
config.CourseDirectory.root = root
api = NbGraderAPI(config=config)
if students:
    pairs = [student.split(":") if ":" in student else (exercise, student) for student in students]
    done = [api.autograde(exercise, student) for exercise, student in pairs]
else:
    done = [api.generate_assignment(exercise)]
assert all(one["success"] for one in done), done
"""


@dataclass(frozen=True)
class Cost:
    """What it took. seconds, cpu: of one submission; cpu: of all processors, 0.0 where it is not measured.

    megabytes: the most that any one process held.
    """

    seconds: float
    cpu: float
    megabytes: float

    def __str__(self) -> str:
        return f"{self.cpu:.3f} s of CPU, {self.megabytes:.0f} MB"


def busy_seconds() -> float:
    """The time that the machine's processors were busy since its start, all together."""
    if sys.platform != "linux":
        return 0.0
    first = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0]
    user, nice, system, _, _, irq, softirq = map(int, first.split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def cost(count: int, *command: str) -> Cost:
    """Run a command that grades so many."""
    busy = busy_seconds()
    measured = [sys.executable, "-S", "-c", MEASURE, sys.executable, *command]
    done = subprocess.run(measured, check=True, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
    used = busy_seconds() - busy
    *_, seconds, kilobytes = done.stdout.splitlines()
    return Cost(float(seconds) / count, used / count, int(kilobytes) / 1_000)


def hand_in(folder: Path, count: int) -> Path:
    wrong = HONEST.replace("f\"{reply['tool']}: {problem}\"", '"failed"')
    for number in range(count):
        path = folder / f"student{number:04}" / EXERCISE / f"{EXERCISE}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(notebook((HONEST, wrong)[number % 2] + f"\n# {number}"))
    return folder


def mixed(number: int) -> tuple[str, bytes, bool]:
    """Make one submission of a mixed class: its exercise, its file, and whether it is right."""
    exercise = list(EXERCISES)[number % len(EXERCISES)]
    kind = number // len(EXERCISES) % 4
    if kind == 3:
        return exercise, (FRESH_DIR / f"{exercise}.ipynb").read_bytes(), False
    made = json.loads((SOLUTIONS / f"{exercise}.ipynb").read_text(encoding="utf-8"))
    added = {1: "import not_there", 2: f"{EXERCISES[exercise].functions[0]} = lambda *given, **named: None"}
    here = next(at for at, cell in enumerate(made["cells"]) if "check" in cell["metadata"].get("tags", ()))
    made["cells"].insert(here, code_cell(added.get(kind, f"# {number}")))
    return exercise, json.dumps(made).encode(), kind < 2


def hand_in_mixed(folder: Path, count: int) -> Path:
    for number in range(count):
        exercise, data, _ = mixed(number)
        path = folder / f"student{number:04}" / exercise / f"{exercise}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
    return folder


def ours(folder: Path, out: Path, count: int, isolation: str, times: int = TIMES) -> Cost:
    """Grade a folder so many times; the medians count."""
    took = []
    for number in range(times):
        place = out / str(number)
        words = ["grade", str(folder), "--out", str(place), "--quiet", "--isolation", isolation]
        took.append(cost(count, "-m", "agentlib", *words))
        rows = json.loads((place / "grades.json").read_text(encoding="utf-8"))
        assert [row["points"] for row in rows] == [10, PARTIAL] * (count // 2)
    return Cost(
        median(one.seconds for one in took),
        median(one.cpu for one in took),
        max(one.megabytes for one in took),
    )


@pytest.fixture(scope="module")
def submitted(tmp_path_factory):
    """A course folder as nbgrader wants it, with the submissions of a class."""
    root = tmp_path_factory.mktemp("course")
    hand_in(root / "submitted", COUNT)
    return root / "submitted"


@pytest.fixture(scope="module")
def beside_nbclient(submitted):
    return cost(COUNT, "-c", NBCLIENT, str(submitted))


@pytest.fixture(scope="module")
def beside_nbgrader(submitted):
    if find_spec("nbgrader") is None:
        pytest.skip('nbgrader is missing: pip install -e ".[teach]"')
    root = submitted.parent
    (root / "source" / EXERCISE).mkdir(parents=True)
    shutil.copy(SOLUTIONS / f"{EXERCISE}.ipynb", root / "source" / EXERCISE)
    subprocess.run(
        [sys.executable, "-c", NBGRADER, str(root), EXERCISE],
        check=True,
        env=ENVIRONMENT,
        capture_output=True,
    )
    students = [path.name for path in sorted(submitted.iterdir())]
    return cost(COUNT, "-c", NBGRADER, str(root), EXERCISE, *students)


def met(is_met: bool) -> str:
    return "met" if is_met else "NOT MET"


def row(what: str, here: Cost, other: str, beside: Cost, goal: str) -> list[str]:
    return [
        f"{what} ({here}); beside {other} ({beside})",
        f"{here.seconds:.3f} s",
        f"{beside.seconds:.3f} s",
        f"{here.seconds / beside.seconds:.3f}",
        goal,
    ]


@pytest.mark.parametrize("backend", HERE, ids=lambda backend: backend.name)
def test_a_submission_takes_less_than_a_kernel_does(
    backend, submitted, tmp_path, beside_nbclient, record_property
):
    with temporary_sandbox_root() as root:
        problem = try_backend(backend, root, Limits())
    if problem:
        pytest.skip(f"{backend.name}: {problem}")
    took = ours(submitted, tmp_path / "out", COUNT, backend.name)
    goal = f"at most {MAX_SECONDS:g} s: {met(took.seconds <= MAX_SECONDS)}"
    what = f"a submission of {COUNT}, {backend.name}"
    record_property("row", row(what, took, "nbclient", beside_nbclient, goal))
    assert took.seconds < beside_nbclient.seconds


def test_a_submission_takes_a_small_part_of_what_it_takes_in_nbgrader(
    submitted, tmp_path, beside_nbgrader, record_property
):
    took = ours(submitted, tmp_path / "out", COUNT, SAFEST.name)
    is_met = took.seconds * TIMES_FASTER <= beside_nbgrader.seconds
    goal = f"{TIMES_FASTER} times as fast: {met(is_met)}"
    what = f"a submission of {COUNT}, {SAFEST.name}"
    record_property("row", row(what, took, "nbgrader", beside_nbgrader, goal))
    assert is_met


def test_a_submission_of_a_mixed_class_takes_a_small_part_of_what_it_takes_in_nbgrader(
    tmp_path, record_property
):
    if find_spec("nbgrader") is None:
        pytest.skip('nbgrader is missing: pip install -e ".[teach]"')
    folder, out = hand_in_mixed(tmp_path / "submitted", MIXED), tmp_path / "out"
    words = ["grade", str(folder), "--out", str(out), "--quiet", "--isolation", SAFEST.name]
    took = cost(MIXED, "-m", "agentlib", *words)
    rows = json.loads((out / "grades.json").read_text(encoding="utf-8"))
    assert [row["points"] == row["of"] for row in rows] == [mixed(number)[2] for number in range(MIXED)]
    for exercise in EXERCISES:
        (tmp_path / "source" / exercise).mkdir(parents=True)
        shutil.copy(SOLUTIONS / f"{exercise}.ipynb", tmp_path / "source" / exercise)
        command = [sys.executable, "-c", NBGRADER, str(tmp_path), exercise]
        subprocess.run(command, check=True, env=ENVIRONMENT, capture_output=True)
    pairs = [f"{mixed(number)[0]}:student{number:04}" for number in range(OF_MIXED)]
    beside = cost(OF_MIXED, "-c", NBGRADER, str(tmp_path), "", *pairs)
    is_met = took.seconds * TIMES_FASTER_MIXED <= beside.seconds
    goal = f"{TIMES_FASTER_MIXED} times as fast: {met(is_met)}"
    what = f"a submission of a mixed class of {MIXED}, {SAFEST.name}"
    record_property("row", row(what, took, f"nbgrader, {OF_MIXED} of them", beside, goal))
    assert is_met


def test_a_hundred_times_as_many_need_no_more_time_each_and_little_more_memory(
    submitted, tmp_path, record_property
):
    few = ours(submitted, tmp_path / "few", COUNT, SAFEST.name)
    many = ours(hand_in(tmp_path / "in", MANY), tmp_path / "many", MANY, SAFEST.name, times=1)
    total = many.seconds * MANY
    goal = f"{MANY:,} in {total:.0f} s, at most {MANY_SECONDS}: {met(total <= MANY_SECONDS)}"
    what = f"a submission of {MANY:,}, {SAFEST.name}"
    record_property("row", row(what, many, f"one of {COUNT}", few, goal))
    assert many.seconds <= few.seconds
    assert many.megabytes <= MAX_GROWTH * few.megabytes
