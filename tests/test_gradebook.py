"""nbgrader takes all exercises as they are, and our grades go into its gradebook and come out again."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from agentlib.course.cli import main
from agentlib.course.errors import GradebookError
from agentlib.course.exercises import EXERCISES
from agentlib.course.grading import BACKENDS, Batch, Limits, Row, grade_folder
from agentlib.course.grading.export import read_rows, write_results

pytest.importorskip(
    "nbgrader",
    reason='nbgrader is not installed: run .venv/bin/pip install -e ".[teach]"',
    exc_type=ImportError,
)

from nbgrader.api import Gradebook

ROOT = Path(__file__).parent.parent
CLASS = "loops"
EX01, EX02 = "ex01_write_the_loop", "ex02_three_stops"
FULL = dict.fromkeys(EXERCISES, 10.0)
CONFIG = """
c = get_config()
c.CourseDirectory.course_id = "course"
c.CourseDirectory.root = {root!r}
c.ExecutePreprocessor.timeout = 60
"""


class Course:
    """A folder of nbgrader's, with one assignment that holds all exercises, and two who handed them in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "nbgrader_config.py").write_text(CONFIG.format(root=str(folder)))
        for place, source in (
            (f"source/{CLASS}", "solutions"),
            (f"submitted/solver/{CLASS}", "solutions"),
            (f"submitted/beginner/{CLASS}", "exercises"),
        ):
            target = folder / place
            target.mkdir(parents=True)
            for name in EXERCISES:
                shutil.copy(ROOT / source / f"{name}.ipynb", target)
        self.run("generate_assignment", CLASS)
        shutil.copy(folder / "gradebook.db", folder / "fresh.db")

    def run(self, *words: str) -> None:
        environment = {
            **os.environ,
            "HOME": str(self.folder),
            "JUPYTER_CONFIG_DIR": str(self.folder / "jupyter"),
            # nbgrader calls a program of one of its packages by its bare name.
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
        }
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", *words],
            cwd=self.folder, env=environment, capture_output=True, text=True, timeout=600,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return Course(tmp_path_factory.mktemp("course"))


@pytest.fixture(scope="module")
def graded(course, root):
    """The folder with our grades of what was handed in."""
    out = course.folder / "results"
    batch = Batch(course.folder / "submitted", out, BACKENDS[-1], root, Limits(), workers=2)
    write_results(grade_folder(batch, ThreadPoolExecutor), out)
    return out


@pytest.fixture
def fresh(course, tmp_path):
    """A gradebook that knows the exercises, and nobody yet."""
    return Path(shutil.copy(course.folder / "fresh.db", tmp_path / "gradebook.db"))


def scores(database: Path) -> dict[str, dict[str, float]]:
    """The points in a gradebook by student and notebook, but for what waits to be graded by hand."""
    found: dict[str, dict[str, float]] = {}
    with Gradebook(f"sqlite:///{database}") as gradebook:
        for assignment in gradebook.assignments:
            for submission in assignment.submissions:
                for notebook in submission.notebooks:
                    if not notebook.needs_manual_grade:
                        found.setdefault(submission.student.id, {})[notebook.name] = notebook.score
    return found


def row(student: str, exercise: str = EX01, points: int = 7, **more: str) -> Row:
    return Row(student, exercise, "x.ipynb", points, 10, "graded", "time limit", 5, 0.1, **more)


def put(tmp_path: Path, database: Path, *rows: Row, words: tuple[str, ...] = ()) -> int:
    """Write rows as a batch does, and import them."""
    write_results(list(rows), tmp_path / "out")
    return main(["gradebook", str(tmp_path / "out"), "--db", f"sqlite:///{database}", *words])


def test_nbgrader_gives_each_solution_all_points_and_each_stub_none(course):
    course.run("autograde", CLASS)
    assert scores(course.folder / "gradebook.db") == {
        "solver": FULL,
        "beginner": dict.fromkeys(EXERCISES, 0.0),
    }


def test_our_grades_of_all_exercises_are_put_in_and_read_back(course, graded, fresh, capsys):
    words = ["gradebook", str(graded), "--db", f"sqlite:///{fresh}"]
    assert main([*words, "--add-students"]) == 0
    assert f"{2 * len(EXERCISES)} grades" in capsys.readouterr().out
    assert scores(fresh) == {"solver": FULL, "beginner": dict.fromkeys(EXERCISES, 0.0)}
    assert main(words) == 0, "the second time it knows the students"
    assert scores(fresh) == {"solver": FULL, "beginner": dict.fromkeys(EXERCISES, 0.0)}


def test_a_path_is_as_good_as_an_address_and_new_points_replace_old_ones(tmp_path, fresh):
    assert put(tmp_path, fresh, row("ann", points=3), words=("--add-students",)) == 0
    assert scores(fresh) == {"ann": {EX01: 3.0}}
    write_results([row("ann", points=9)], tmp_path / "out")
    assert main(["gradebook", str(tmp_path / "out"), "--db", str(fresh)]) == 0
    assert scores(fresh) == {"ann": {EX01: 9.0}}


def test_the_best_file_counts_and_a_student_is_known_by_number_too(tmp_path, fresh):
    with Gradebook(f"sqlite:///{fresh}") as gradebook:
        gradebook.add_student("1234")
    both = [row("Ann Lee", points=points, number="1234") for points in (3, 8, 5)]
    assert put(tmp_path, fresh, *both) == 0
    assert scores(fresh) == {"1234": {EX01: 8.0}}


def test_a_student_whom_moodle_numbers_anew_in_each_assignment_is_added_once(tmp_path, fresh):
    rows = [row("Ann Lee", number="11"), row("Ann Lee", EX02, 4, number="22")]
    assert put(tmp_path, fresh, *rows, words=("--add-students",)) == 0
    assert scores(fresh) == {"Ann Lee": {EX01: 7.0, EX02: 4.0}}


def test_two_students_of_one_name_are_not_mixed_up(tmp_path, fresh, capsys):
    rows = [row("Ann Lee", number="11", points=3), row("Ann Lee", number="12", points=9), row("ben")]
    assert put(tmp_path, fresh, *rows, words=("--add-students",)) == 1
    said = capsys.readouterr().err
    assert "Several students are named Ann Lee" in said
    assert "number 11" in said
    assert "number 12" in said
    assert scores(fresh) == {"ben": {EX01: 7.0}}
    with Gradebook(f"sqlite:///{fresh}") as gradebook:
        gradebook.add_student("12")
    assert put(tmp_path, fresh, *rows) == 1
    assert scores(fresh) == {"12": {EX01: 9.0}, "ben": {EX01: 7.0}}


def test_what_is_not_known_is_said_and_the_rest_is_put_in(tmp_path, fresh, capsys):
    with Gradebook(f"sqlite:///{fresh}") as gradebook:
        gradebook.add_student("ann")
        gradebook.remove_notebook(EX02, CLASS)
    rows = [row("ann"), row("=ben"), row("ann", EX02), row("ann", "")]
    assert put(tmp_path, fresh, *rows) == 1
    said = capsys.readouterr()
    assert said.out.startswith("1 grades are in")
    lines = said.err.splitlines()
    assert len(lines) == 3
    assert f"nbgrader generate_assignment {EX02}" in lines[0]
    assert "x.ipynb (ann) is no known exercise" in lines[1]
    assert "no student =ben" in lines[2]
    assert scores(fresh) == {"ann": {EX01: 7.0}}


@pytest.mark.parametrize(("cell", "points"), [("other", 10), ("ex01_points", 5)])
def test_another_graded_cell_than_the_courses_is_said(tmp_path, fresh, cell, points, capsys):
    with Gradebook(f"sqlite:///{fresh}") as gradebook:
        (old,) = gradebook.find_notebook(EX01, CLASS).grade_cells
        old.name, old.max_score = cell, points
        gradebook.db.commit()
    assert put(tmp_path, fresh, row("ann"), words=("--add-students",)) == 1
    said = capsys.readouterr().err
    assert f"has {cell} ({points} points)" in said
    assert "generate_assignment loops --force" in said
    assert scores(fresh) == {}


def test_an_exercise_in_two_assignments_asks_which(tmp_path, fresh, capsys):
    with Gradebook(f"sqlite:///{fresh}") as gradebook:
        gradebook.add_assignment("again")
        gradebook.add_notebook(EX01, "again")
        gradebook.add_grade_cell("ex01_points", EX01, "again", max_score=10, cell_type="code")
    assert put(tmp_path, fresh, row("ann"), words=("--add-students",)) == 1
    assert "again, loops; choose one with --assignment" in capsys.readouterr().err
    assert put(tmp_path, fresh, row("ann"), words=("--add-students", "--assignment", "again")) == 0
    assert scores(fresh) == {"ann": {EX01: 7.0}}
    assert put(tmp_path, fresh, row("ann"), words=("--assignment", "none")) == 1
    assert "not in the assignment none" in capsys.readouterr().err


def test_a_grade_that_was_given_by_hand_stays_above_ours_and_asks_for_a_look(tmp_path, fresh):
    put(tmp_path, fresh, row("ann"), words=("--add-students",))
    with Gradebook(f"sqlite:///{fresh}") as gradebook:
        gradebook.find_grade("ex01_points", EX01, CLASS, "ann").manual_score = 10
        gradebook.db.commit()
    put(tmp_path, fresh, row("ann", points=2))
    with Gradebook(f"sqlite:///{fresh}") as gradebook:
        grade = gradebook.find_grade("ex01_points", EX01, CLASS, "ann")
        assert (grade.score, grade.auto_score, grade.needs_manual_grade) == (10.0, 2.0, True)


def test_a_gradebook_that_is_not_there_is_not_made(tmp_path, capsys):
    assert put(tmp_path, tmp_path / "none.db", row("ann")) == 2
    assert "There is no gradebook" in capsys.readouterr().err
    assert not (tmp_path / "none.db").exists()
    (tmp_path / "text.db").write_text("no database" * 100)
    assert put(tmp_path, tmp_path / "text.db", row("ann")) == 2
    assert "cannot be opened as a gradebook" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "[1]", "{}x", '[{"student": "ann"}]', '[{"notes": []}]'])
def test_results_of_another_kind_are_said(tmp_path, content):
    with pytest.raises(GradebookError, match="--out"):
        read_rows(tmp_path)
    (tmp_path / "grades.json").write_text(content)
    with pytest.raises(GradebookError, match="not written by this version"):
        read_rows(tmp_path)


def test_rows_come_back_as_they_were_written(tmp_path):
    rows = [replace(row("ann"), notes=("a", "b")), row("=ben", number="3")]
    write_results(rows, tmp_path)
    assert read_rows(tmp_path) == rows
