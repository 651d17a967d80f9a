"""A new exercise takes a spec, a solution and a zoo file: one command and the tests do the rest."""

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from agentlib.course.exercises import EXERCISES
from agentlib.course.make import made_solution

ROOT = Path(__file__).parent.parent
PARTS = ("agentlib", "exercises", "notebooks", "solutions", "tests/zoo")
TESTS = ("test_exercises.py", "test_zoo.py", "test_checks.py", "test_grading_points.py")
FILES = ("README.md", "pyproject.toml", "tests/__init__.py", *(f"tests/{name}" for name in TESTS))

SPEC = """
from random import Random

from agentlib.course.checking.cases import CallCase, by_cases, scenarios_of
from agentlib.course.checking.fake_data import World
from agentlib.course.checking.spec import Criterion, Exercise, Scenario

__all__ = ["EXERCISE"]


def cases(rng: Random) -> dict[str, list[CallCase]]:
    '''The cases of one check, by criterion.'''
    world = World(rng)

    def case(name: str, value: object, expected: object, say: str | None = None) -> CallCase:
        return CallCase(name, Scenario("twice", (value,)), expected, say)

    number, place = world.number(), world.place()
    return {
        "number": [case("a number", number, 2 * number), case("nothing", 0, 0, "Twice nothing is nothing.")],
        "negative": [case("a debt", -number, -2 * number)],
        "text": [case("a text", place, place + place)],
        "list": [case("a list", [number, place], [number, place, number, place])],
        "fraction": [case("a fraction", number + 0.5, 2 * number + 1.0)],
    }


EXERCISE = Exercise(
    name="ex99_twice",
    title="Twice",
    lesson="12_when_not_to_loop",
    difficulty=1,
    minutes=10,
    task="give back twice what you are given",
    functions=("twice",),
    scenarios=lambda rng: scenarios_of(cases(rng), rng),
    criteria=(
        Criterion(
            "number", 2, "doubles a number",
            nudge="What is the sum of a number and itself?",
            hint="Return `value + value`, whatever it is.",
            judge=by_cases("number"),
        ),
        Criterion(
            "negative", 2, "doubles a number below zero",
            nudge="Does yours ask whether it is positive?",
            hint="Leave the sign of the number as it is.",
            judge=by_cases("negative"),
        ),
        Criterion(
            "text", 2, "repeats a text",
            nudge="What does `+` do with two texts?",
            hint="Two texts with `+` between them are one text.",
            judge=by_cases("text"),
        ),
        Criterion(
            "list", 2, "repeats a list",
            nudge="What does `+` do with two lists?",
            hint="Two lists with `+` between them are one list.",
            judge=by_cases("list"),
        ),
        Criterion(
            "fraction", 2, "doubles a fraction",
            nudge="What does `int` do with 2.5?",
            hint="Leave the number as it is; make no whole number of it.",
            judge=by_cases("fraction"),
            details="2.5 gives 5.0.",
        ),
    ),
)  # fmt: skip
"""

ZOO = """
from tests.zoo import right, wrong


@right
def adds(value):
    return value + value


@right
def multiplies(value):
    return value * 2


@wrong("number", "gave 0")
def forgets_numbers(value):
    return 0 if isinstance(value, int) and value > 0 else value + value


@wrong("negative", "a debt: twice(-")
def never_below_zero(value):
    return 0 if isinstance(value, int) and value < 0 else value + value


@wrong("text", "a text")
def upper(value):
    return value.upper() if isinstance(value, str) else value + value


@wrong("list", "a list")
def one_list(value):
    return value if isinstance(value, list) else value + value


@wrong("fraction", "a fraction")
def whole_numbers(value):
    return 2 * int(value) if isinstance(value, float) else value + value
"""

TITLE = """# Ten

One more.

- **You will be able to** double whatever you get.
- **Difficulty:** ? of 5: one line.
- **Minutes:** ?
- **Read before:** [When not to loop](../notebooks/12_when_not_to_loop.ipynb), lesson 12.""".replace("?", "0")

SOLVED = '''def twice(value):
    """Give twice what is given."""
    ### BEGIN SOLUTION
    return value + value
    ### END SOLUTION'''

TRIED = """try:
    print(try_it(twice, 2))
except NotImplementedError:
    print("not started yet")"""


def cell(part, source, **kind):
    kind = kind or {"cell_type": "code", "execution_count": None, "outputs": []}
    return {**kind, "id": f"ex99-{part}", "metadata": {}, "source": source}


RAN = {"output_type": "execute_result", "data": {"text/plain": "1"}, "metadata": {}, "execution_count": 3}

SOLUTION = {
    "cells": [
        cell("title", TITLE, cell_type="markdown"),
        cell("setup", "from agentlib.course import check, try_it"),
        cell("solution", SOLVED),
        cell("try", TRIED),
        {**cell("", "1"), "id": "5f1c9d2e", "outputs": [RAN], "execution_count": 3},  # as JupyterLab makes it
        {**cell("", "2"), "id": "77ab01cd"},
    ],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A copy of the course with the three files of one more exercise, and what is made of them."""
    if find_spec("nbgrader") is None:
        pytest.skip('nbgrader is not installed: run .venv/bin/pip install -e ".[teach]"')
    folder = tmp_path_factory.mktemp("course")
    for part in PARTS:
        ignore = shutil.ignore_patterns("__pycache__", "recordings")
        shutil.copytree(ROOT / part, folder / part, ignore=ignore)
    for name in FILES:
        shutil.copy(ROOT / name, folder / name)
    (folder / "agentlib/course/exercises/ex99_twice.py").write_text(SPEC)
    (folder / "solutions/ex99_twice.ipynb").write_text(json.dumps(SOLUTION))
    (folder / "tests/zoo/ex99.py").write_text(ZOO)
    run(folder, "agentlib.course.make")
    return folder


def run(folder, *words, expected=0):
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == expected, done.stdout + done.stderr
    return done.stdout


def test_its_solution_gets_all_points_and_the_exercise_is_not_started(course):
    solved = json.loads(run(course, "agentlib", "check", "solutions/ex99_twice.ipynb", "--json"))
    assert (solved["exercise"], solved["points"], solved["passed"]) == ("ex99_twice", 10, True)
    assert "not started yet" in run(course, "agentlib", "check", "ex99", expected=1)
    assert "as it was at the beginning" in run(course, "agentlib", "reset", "ex99")


def test_cells_of_ones_own_stay_where_they_are_and_lose_their_outputs(course):
    cells = json.loads((course / "exercises/ex99_twice.ipynb").read_text(encoding="utf-8"))["cells"]
    parts = " ".join(cell["id"].removeprefix("ex99-") for cell in cells)
    assert parts == "title task setup solution try 5f1c9d2e 77ab01cd check-words check points next"
    assert all(cell["outputs"] == [] for cell in cells if cell["cell_type"] == "code")
    path = course / "solutions/ex99_twice.ipynb"
    solution = path.read_text(encoding="utf-8")
    assert [cell["source"] for cell in json.loads(solution)["cells"][5:7]] == ["1", "2"]
    assert made_solution(EXERCISES["ex09_rescue_the_night"], solution.replace("ex99-", "ex09-"))
    with pytest.raises(ValueError, match="no cell of the solution has the id ex09-title"):
        made_solution(EXERCISES["ex09_rescue_the_night"], solution)


def test_it_stands_in_the_table_and_behind_the_one_before_it(course):
    row = (
        "| [ex99 twice](exercises/ex99_twice.ipynb) | give back twice what you are given "
        "| 1 of 5, very easy | 10 | 12 |"
    )
    assert row in (course / "README.md").read_text(encoding="utf-8")
    assert "`ex01` to `ex99`" in (course / "notebooks/00_start_here.ipynb").read_text(encoding="utf-8")
    before = [path.read_text(encoding="utf-8") for path in (course / "exercises").glob("ex*.ipynb")]
    assert ["[ex99: twice](ex99_twice.ipynb)" in text for text in before].count(True) == 1


def test_the_tests_of_exercises_and_zoo_take_it_as_they_are(course):
    own = "ex99 or stale or names or table or large"
    said = run(course, "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", "-k", own, "tests")
    assert "skipped" not in said
