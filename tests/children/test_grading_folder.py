"""A folder of submissions: who handed in what, batches that are killed and go on, and what comes out."""

import contextlib
import csv
import io
import json
import multiprocessing
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import fields, replace
from pathlib import Path

import pytest

from agentlib.course.cli import main, parse
from agentlib.course.errors import NotebookError
from agentlib.course.exercises import EXERCISES
from agentlib.course.grading import BACKENDS, Batch, Limits, Row, grade_folder
from agentlib.course.grading.batch import EarlyPool
from agentlib.course.grading.collect import find_submissions, printable, read_submission, whose
from agentlib.course.grading.commands import ProgressBar, folder_problem, limit
from agentlib.course.grading.export import canvas_text, csv_text, moodle_texts, without_number, write_results
from agentlib.course.grading.pages import class_page, feedback_name, feedback_page
from agentlib.course.grading.processes import is_running
from agentlib.course.grading.sandbox_root import course_version, remove_leftovers
from agentlib.course.grading.settings import Settings, refused, remember, write_settings
from agentlib.views.shown import caption_html
from tests.hostile.submissions import CONSTANT, HONEST, notebook

LAST = BACKENDS[-1]
RIGHT, WRONG = notebook(HONEST), notebook(CONSTANT)
NAME = "ex01_write_the_loop.ipynb"

pytestmark = pytest.mark.skipif(os.name != "posix", reason="grading is tried on Linux and macOS")


def hand_in(folder: Path, **students: bytes) -> Path:
    for student, data in students.items():
        path = folder / student / "ex01_write_the_loop" / NAME
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def batch(folder: Path, out: Path, root, **more) -> Batch:
    return Batch(folder, out, LAST, root, Limits(), **more)


def threads(workers: int) -> Executor:
    return ThreadPoolExecutor(workers)


# --- who


@pytest.mark.parametrize(
    ("path", "student", "number"),
    [
        (f"ann/ex01/{NAME}", "ann", ""),
        (f"submitted/ann/ex01/{NAME}", "ann", ""),
        (f"course/submitted/ann/ex01/{NAME}", "ann", ""),
        ("submitted/ann/ex01/ben_12_345_ex01.ipynb", "ann", ""),
        ("submitted/ann/ex01/Ben_12_assignsubmission_file/ex01.ipynb", "ann", ""),
        (f"submitted/Ann Lee_1234_assignsubmission_file/{NAME}", "Ann Lee", "1234"),
        (f"Ann Lee_1234_assignsubmission_file/{NAME}", "Ann Lee", "1234"),
        (f"Ann Lee_1234_assignsubmission_file_/{NAME}", "Ann Lee", "1234"),
        (f"Ann Lee_1234_assignsubmission_file_{NAME}", "Ann Lee", "1234"),
        (f"leeann_5678_91011_{NAME}", "leeann", "5678"),
        (f"leeann_LATE_5678_91011_{NAME}", "leeann", "5678"),
        ("Ann Lee_1234_assignsubmission_onlinetext/onlinetext.html", "Ann Lee", "1234"),
        ("leeann_LATE_5678_text.html", "leeann", "5678"),
        ("leeann_5678_link.html", "leeann", "5678"),
        (f"ann_{NAME}", "ann", ""),
        ("ex01_write_the_loop_ann.ipynb", "ann", ""),
        ("ann - ex01.ipynb", "ann", ""),
        (NAME, "ex01_write_the_loop", ""),
    ],
)
def test_the_student_is_told_from_the_path(path, student, number):
    assert whose(tuple(path.split("/")), "ex01_write_the_loop")[:2] == (student, number)


def test_names_are_fit_to_be_shown():
    assert printable("a\nb\x1b[2J\udcff") == "a\\x0ab\\x1b[2J\\xdcff"
    assert printable("Zoë 🙂 =1+1") == "Zoë 🙂 =1+1"


def test_odd_names_are_only_names(tmp_path):
    folder = tmp_path / "in"
    for student in ("a,b", "=1+1", "two\nlines", "🙂", "é" * 100, '"quoted"', "..."):
        hand_in(folder, **{student: WRONG})
    found = find_submissions(folder)
    assert [one.problem for one in found] == [""] * 7
    assert {one.exercise for one in found} == {"ex01_write_the_loop"}
    assert {one.student for one in found} >= {"two\\x0alines", "🙂", "=1+1"}


def test_links_are_not_followed(tmp_path):
    secret = tmp_path / "secret.ipynb"
    secret.write_bytes(RIGHT)
    folder = hand_in(tmp_path / "in", ann=WRONG)
    (folder / "ann" / "ex01.ipynb").symlink_to(secret)
    (folder / "ben").symlink_to(tmp_path)
    os.mkfifo(folder / "ann" / "ex02.ipynb")
    os.mkfifo(folder / "cid.zip")
    problems = {one.file: one.problem for one in find_submissions(folder)}
    assert "link" in problems["ann/ex01.ipynb"]
    assert "link" in problems["ben"]
    assert "no file" in problems["ann/ex02.ipynb"]
    assert "no file" in problems["cid.zip"]
    assert len(problems) == 5


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "nothing"])
def test_a_file_that_has_become_something_else_is_not_read(tmp_path, kind):
    (tmp_path / "secret").write_bytes(RIGHT)
    folder = hand_in(tmp_path / "in", ann=WRONG)
    (found,) = find_submissions(folder)
    found.path.unlink()
    make = {"link": lambda: found.path.symlink_to(tmp_path / "secret"), "pipe": lambda: os.mkfifo(found.path)}
    make |= {"folder": found.path.mkdir, "nothing": lambda: None}
    make[kind]()
    with pytest.raises(NotebookError, match="cannot be read"):
        read_submission(found, Limits())


def test_an_archive_of_very_many_files_is_not_gone_through(tmp_path, monkeypatch):
    monkeypatch.setattr("agentlib.course.grading.collect.MAX_MEMBERS", 3)
    zipped(tmp_path / "class.zip", *(f"{name}/{NAME}" for name in "abc"))
    assert [one.problem for one in find_submissions(tmp_path)] == ["", "", ""]
    zipped(tmp_path / "class.zip", *(f"{name}/{NAME}" for name in "abcd"))
    (found,) = find_submissions(tmp_path)
    assert "more than 3 files" in found.problem


def test_a_folder_without_a_notebook_has_its_row_and_hidden_copies_have_none(tmp_path):
    folder = hand_in(tmp_path / "in", ann=RIGHT)
    (folder / "ben").mkdir()
    (folder / "ann" / ".ipynb_checkpoints").mkdir()
    (folder / "ann" / ".ipynb_checkpoints" / NAME).write_bytes(RIGHT)
    assert [(one.student, bool(one.problem)) for one in find_submissions(folder)] == [
        ("ann", False),
        ("ben", True),
    ]


def test_an_empty_folder_of_nbgrader_and_folders_without_end_have_their_rows(tmp_path):
    (tmp_path / "submitted" / "ann").mkdir(parents=True)
    (tmp_path / "ben" / "/".join(["a"] * 30)).mkdir(parents=True)
    found = find_submissions(tmp_path)
    assert [one.student for one in found] == ["ann", "ben"]
    assert "too deep" in found[1].problem


def zipped(path: Path, *names: str) -> None:
    """Make an archive that holds, under each of these names, a solution."""
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, RIGHT)


def test_who_handed_in_no_notebook_has_a_row_in_a_class_download_too(tmp_path):
    zipped(
        tmp_path / "moodle.zip",
        f"Ann A_11_assignsubmission_file/{NAME}",
        "Ann A_11_assignsubmission_file/notes.pdf",
        "Ben B_12_assignsubmission_file/notes.pdf",
        "Ben B_12_assignsubmission_file/work.zip",
        "Cid C_13_assignsubmission_file/ex01.py",
        "Dee D_14_assignsubmission_onlinetext/onlinetext.html",
        "readme.txt",
    )
    zipped(tmp_path / "canvas.zip", f"aann_21_91_{NAME}", "bben_22_92_work.zip", "ccid_LATE_23_text.html")
    (tmp_path / "ddee_24_94_ex01.py").write_bytes(b"")
    found = {one.number: one.problem for one in find_submissions(tmp_path)}
    assert len(found) == len(find_submissions(tmp_path)) == 8
    assert sorted(number for number, problem in found.items() if not problem) == ["11", "21"]
    assert all("no notebook" in problem for number, problem in found.items() if number not in ("11", "21"))
    assert [number for number, problem in found.items() if "unpack the outer one" in problem] == ["12", "22"]


def test_no_name_in_a_students_archive_makes_another_student_of_one(tmp_path):
    names = ("Bob B_9_assignsubmission_file_ex01.ipynb", f"bob_125_4569_{NAME}", f"submitted/bob/{NAME}")
    zipped(tmp_path / "evil_124_4568_work.zip", *names)
    zipped(tmp_path / "Evil E_77_assignsubmission_file_work.zip", *names)
    for folder in ("Cid C_13_assignsubmission_file", "submitted/dee/ex01"):
        (tmp_path / folder).mkdir(parents=True)
        zipped(tmp_path / folder / "bob_125_4569_work.zip", *names)
    found = find_submissions(tmp_path)
    assert {(one.student, one.number) for one in found} == {
        ("evil", "124"),
        ("Evil E", "77"),
        ("Cid C", "13"),
        ("dee", ""),
    }
    assert len(found) == 12


def test_the_archive_of_a_class_may_have_a_date_in_its_name(tmp_path):
    zipped(tmp_path / "course_2026_11_submissions.zip", f"ann_125_4569_{NAME}", f"ben_126_4570_{NAME}")
    assert [one.student for one in find_submissions(tmp_path)] == ["ann", "ben"]


def test_each_download_is_looked_at_by_itself(tmp_path):
    zipped(tmp_path / "first.zip", f"aann_21_91_{NAME}")
    zipped(tmp_path / "second.zip", "aann_21_92_ex02.py")
    found = find_submissions(tmp_path)
    assert [(one.exercise, bool(one.problem)) for one in found] == [
        ("ex01_write_the_loop", False),
        ("ex02_three_stops", True),
    ]


def test_an_archive_of_one_student_tells_whose_it_is(tmp_path):
    zipped(tmp_path / "ann.zip", NAME)
    zipped(tmp_path / "bendoe_12_345_work.zip", f"stuff/{NAME}")
    zipped(tmp_path / "class.zip", f"cid_{NAME}", f"dee/{NAME}", "eve.ipynb")
    assert [(one.student, one.number) for one in find_submissions(tmp_path)] == [
        ("ann", ""),
        ("bendoe", "12"),
        ("cid", ""),
        ("dee", ""),
        ("eve", ""),
    ]


def test_archives_are_read_and_never_unpacked(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    with zipfile.ZipFile(folder / "class.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"Ann Lee_12_assignsubmission_file/{NAME}", RIGHT)
        archive.writestr(f"../../../ben/{NAME}", WRONG)
        archive.writestr(f"/root/{NAME}", WRONG)
        archive.writestr(f"bomb/{NAME}", b" " * 3_000_000)
    (folder / "broken.zip").write_bytes(b"PK\x03\x04 and no more")
    found = find_submissions(folder)
    assert [one.student for one in found] == ["Ann Lee", "ben", "bomb", "broken", "root"]
    assert read_submission(found[0], Limits()) == RIGHT
    assert "archive" in found[3].problem
    with pytest.raises(Exception, match="more than 1 MB"):
        read_submission(found[2], Limits(notebook_mb=1))
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["broken.zip", "class.zip", "in"]


# --- batches


def test_every_submission_has_its_row(tmp_path, root):
    folder = hand_in(tmp_path / "in", ann=RIGHT, ben=WRONG, cid=b"{", dan=notebook("x = 1"))
    (folder / "eve").mkdir()
    (folder / "fay").mkdir()
    (folder / "fay" / "Untitled.ipynb").write_bytes(RIGHT)
    (folder / "fay" / "other.ipynb").write_bytes(b'{"nbformat": 4, "cells": []}')
    with open(folder / "large ex01.ipynb", "wb") as file:
        file.truncate(100_000_000)
    rows = grade_folder(batch(folder, tmp_path / "out", root, workers=2), threads)
    assert [(row.student, row.status, row.points) for row in rows] == [
        ("ann", "graded", 10),
        ("ben", "graded", 0),
        ("cid", "unreadable", 0),
        ("dan", "graded", 0),
        ("eve", "unreadable", 0),
        ("fay", "graded", 10),
        ("fay", "unreadable", 0),
        ("large", "unreadable", 0),
    ]
    assert {row.isolation for row in rows if row.status == "graded"} == {LAST.name}


def test_two_files_of_one_student_are_both_graded_and_said(tmp_path, root):
    folder = hand_in(tmp_path / "in", ann=RIGHT)
    (folder / "ann" / "ex01 (1).ipynb").write_bytes(WRONG)
    rows = grade_folder(batch(folder, tmp_path / "out", root), threads)
    assert sorted(row.points for row in rows) == [0, 10]
    assert all("2 files" in row.notes[-1] for row in rows)


class Counting(ThreadPoolExecutor):
    """A pool that notes what it was given."""

    given: list[str]

    def submit(self, function, task, /, *args, **kwargs):
        self.given.append(task.submission.student)
        return super().submit(function, task, *args, **kwargs)


def counting(given: list[str]):
    def make(workers: int) -> Executor:
        executor = Counting(workers)
        executor.given = given
        return executor

    return make


def test_a_batch_goes_on_with_what_is_new_or_changed(tmp_path, root):
    folder, out = hand_in(tmp_path / "in", ann=RIGHT, ben=WRONG), tmp_path / "out"
    first = grade_folder(batch(folder, out, root), threads)
    given: list[str] = []
    again = grade_folder(batch(folder, out, root, resume=True), counting(given))
    assert (given, again) == ([], first)
    hand_in(folder, ben=RIGHT, cid=RIGHT)
    shutil.rmtree(folder / "ann")
    rows = grade_folder(batch(folder, out, root, resume=True), counting(given))
    assert sorted(given) == ["ben", "cid"]
    assert [(row.student, row.points) for row in rows] == [("ben", 10), ("cid", 10)]
    assert len(list((out / "results").iterdir())) == 2


CHANGES = [
    {"seed": 1},
    {"limits": Limits(cell_seconds=9.0)},
    {"backend": BACKENDS[-2]},
    {"course": course_version()[:-1]},
    {"course": ""},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: "".join(change))
def test_another_seed_limit_isolation_or_version_of_the_course_grades_anew(tmp_path, root, change):
    folder, out = hand_in(tmp_path / "in", ann=RIGHT), tmp_path / "out"
    old = batch(folder, out, root, resume=True, course=course_version())
    grade_folder(old, threads)
    given: list[str] = []
    grade_folder(replace(old, **change), counting(given))
    assert given == ["ann"]
    grade_folder(replace(old, **change), counting(given))
    assert given == ["ann"]  # what was graded anew holds for the new version
    grade_folder(old, counting(given))
    assert given == ["ann", "ann"]  # and no more for the old one


def test_after_a_change_in_the_middle_of_a_class_every_row_comes_from_the_new_course(tmp_path, root):
    folder, out = hand_in(tmp_path / "in", ann=RIGHT, ben=WRONG), tmp_path / "out"
    grade_folder(batch(folder, out, root, course="old"), threads)
    hand_in(folder, cid=RIGHT, ben=RIGHT)
    given: list[str] = []
    rows = grade_folder(batch(folder, out, root, course="new", resume=True), counting(given))
    assert sorted(given) == ["ann", "ben", "cid"]
    assert [(row.student, row.points) for row in rows] == [("ann", 10), ("ben", 10), ("cid", 10)]


def test_a_later_archive_of_the_class_costs_only_what_is_new_in_it(tmp_path, root):
    folder, out = tmp_path / "in", tmp_path / "out"
    given: list[str] = []
    folder.mkdir()
    zipped(folder / "class.zip", f"ben/{NAME}", f"cid/{NAME}")
    grade_folder(batch(folder, out, root), counting(given))
    assert len(given) == 2
    zipped(folder / "class.zip", f"ann/{NAME}", f"ben/{NAME}", f"cid/{NAME}")
    rows = grade_folder(batch(folder, out, root, resume=True), counting(given))
    assert [row.student for row in rows] == ["ann", "ben", "cid"]
    assert given[2:] == ["ann"]


def test_an_exercise_is_told_by_its_cells_before_a_name_that_only_looks_like_one(tmp_path, root):
    folder = tmp_path / "in"
    solution = (Path(__file__).parents[2] / "solutions" / "ex05_budget.ipynb").read_bytes()
    for name in ("alex01/Untitled.ipynb", "ben/ex05.ipynb", "rex02_123_4567_homework.ipynb"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(solution)
    rows = grade_folder(batch(folder, tmp_path / "out", root), threads)
    assert {row.student: (row.exercise, row.points) for row in rows} == {
        "alex01": ("ex05_budget", 10),
        "ben": ("ex05_budget", 10),
        "rex02": ("ex05_budget", 10),
    }
    said = {row.student: " ".join(row.notes) for row in rows}
    assert "Its name says ex01_write_the_loop, its cells say ex05_budget" in said["alex01"]
    assert said["ben"] == ""


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"digest": 1}', b"\xff", b"[" * 100_000])
def test_a_damaged_result_is_made_anew(tmp_path, root, damage):
    folder, out = hand_in(tmp_path / "in", ann=RIGHT), tmp_path / "out"
    rows = grade_folder(batch(folder, out, root), threads)
    (result,) = (out / "results").iterdir()
    result.write_bytes(damage)
    again = grade_folder(batch(folder, out, root, resume=True), threads)
    assert [(row.points, row.seed) for row in again] == [(row.points, row.seed) for row in rows]


@pytest.mark.parametrize(
    ("name", "value"),
    [("points", 9), ("points", "9"), ("points", None), ("notes", [{}]), ("report", {"a": 1}), ("student", 3)],
)
def test_a_result_with_one_value_changed_is_made_anew(tmp_path, root, name, value):
    folder, out = hand_in(tmp_path / "in", ann=RIGHT), tmp_path / "out"
    rows = grade_folder(batch(folder, out, root), threads)
    (result,) = (out / "results").iterdir()
    kept = json.loads(result.read_text())
    result.write_text(json.dumps({**kept, "row": {**kept["row"], name: value}}))
    again = grade_folder(batch(folder, out, root, resume=True), threads)
    assert [(row.student, row.points, row.notes, row.report) for row in again] == [
        (row.student, row.points, row.notes, row.report) for row in rows
    ]


class Breaking(Executor):
    """Runs one task at a time, and breaks at a certain student's, as a pool does whose process was killed."""

    def __init__(self) -> None:
        self.broken = False

    def submit(self, function, task, /, *args, **kwargs):
        if self.broken:
            raise BrokenProcessPool("broken")
        future: Future[Row] = Future()
        if task.submission.student == "ben":
            self.broken = True
            future.set_exception(BrokenProcessPool("a process was ended"))
        else:
            future.set_result(function(task))
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        pass


def test_one_that_ends_its_grader_costs_nobody_else_a_row(tmp_path, root):
    folder = hand_in(tmp_path / "in", ann=RIGHT, ben=RIGHT, cid=RIGHT, dan=RIGHT)
    rows = grade_folder(batch(folder, tmp_path / "out", root, workers=2), lambda workers: Breaking())
    assert [(row.student, row.status, row.points) for row in rows] == [
        ("ann", "graded", 10),
        ("ben", "crashed", 0),
        ("cid", "graded", 10),
        ("dan", "graded", 10),
    ]


def test_one_that_kills_its_grader_is_found_in_a_real_pool(tmp_path, root):
    killer = notebook(after=["import os\nos.kill(os.getppid(), 9)"])
    folder = hand_in(tmp_path / "in", ann=RIGHT, ben=killer, cid=RIGHT)
    with contextlib.closing(EarlyPool(2, now=2)) as pools:
        rows = grade_folder(batch(folder, tmp_path / "out", root, workers=2), pools)
    assert [(row.student, row.status, row.points) for row in rows] == [
        ("ann", "graded", 10),
        ("ben", "crashed", 0),
        ("cid", "graded", 10),
    ]


def test_the_first_pool_has_begun_before_it_is_asked_for_and_the_next_are_new():
    before = set(multiprocessing.active_children())
    with contextlib.closing(EarlyPool(3, now=2)):
        assert len(set(multiprocessing.active_children()) - before) == 2
    # As many as it may have: else one more could start for the question below, while these two still load.
    with contextlib.closing(EarlyPool(2, now=2)) as pools:
        begun = set(multiprocessing.active_children()) - before
        assert len(begun) == 2
        with pools(2) as first, pools(1) as second:
            assert first.submit(os.getpid).result() in {process.pid for process in begun}
            assert second.submit(os.getpid).result() not in {process.pid for process in begun}
    assert not set(multiprocessing.active_children()) - before


def test_a_pool_that_nobody_asks_for_is_ended():
    before = set(multiprocessing.active_children())
    EarlyPool(2, now=2).close()
    assert not set(multiprocessing.active_children()) - before


def test_a_batch_that_is_killed_twice_loses_nothing_and_doubles_nothing(tmp_path):
    folder, out = tmp_path / "in", tmp_path / "out"
    students = {f"student{n:02}": notebook(HONEST + f"\n# {n}") for n in range(24)}
    hand_in(folder, **students)
    command = [sys.executable, "-m", "agentlib", "grade", str(folder), "--out", str(out), "--resume"]
    command += ["--isolation", "time limit", "--workers", "1", "--quiet"]
    temporary = Path(tempfile.mkdtemp(dir="/tmp"))  # a short name: a socket is in it
    environment = {**os.environ, "TMPDIR": str(temporary)}
    for wanted in (2, 6):
        process = subprocess.Popen(
            command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environment
        )
        until = time.monotonic() + 60
        while len(list((out / "results").glob("*.json"))) < wanted and time.monotonic() < until:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
    kept = {path: path.stat().st_mtime_ns for path in (out / "results").glob("*.json")}
    assert 6 <= len(kept) < 24
    assert not (out / "grades.csv").exists()
    subprocess.run(command, check=True, capture_output=True, env=environment)
    until = time.monotonic() + 30  # a worker that is told to end has its time for that
    while any(is_running(int(path.name.split("_")[2])) for path in temporary.iterdir()):
        assert time.monotonic() < until
        time.sleep(0.05)
    remove_leftovers(temporary)
    assert list(temporary.iterdir()) == []
    temporary.rmdir()
    assert {path: path.stat().st_mtime_ns for path in kept} == kept  # taken over, not graded anew
    rows = json.loads((out / "grades.json").read_text())
    assert [(row["student"], row["points"]) for row in rows] == [(name, 10) for name in students]


# --- what comes out


def row(student="ann", **more) -> Row:
    about = {"points": 0, "of": 10, "status": "graded", "isolation": "time limit", "seed": 1, "seconds": 0.1}
    return Row(student, "ex01_write_the_loop", "file.ipynb", **{**about, **more})


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", " =1+1", "\uff1d1+1"])
def test_no_name_is_a_formula(name):
    (line,) = csv.DictReader(io.StringIO(csv_text([row(name)])))
    assert line["student"] == f"'{name}"


@pytest.mark.parametrize("name", ["x;=1+1", 'x";=1+1', "x\t=1+1"])
def test_no_part_of_a_name_is_a_formula_where_a_semicolon_or_a_tab_parts_cells(name):
    rows = [replace(row(name, number="12"), notes=(f"{name} was changed.",))]
    for text in (csv_text(rows), canvas_text(rows), *moodle_texts(rows).values()):
        for delimiter in ";\t":
            cells = [cell for line in csv.reader(io.StringIO(text), delimiter=delimiter) for cell in line]
            assert [cell for cell in cells if cell.startswith("=")] == []


def test_the_table_holds_names_with_commas_quotes_and_lines():
    names = ["a,b", 'say "x"', "two\nlines", "🙂"]
    lines = list(csv.DictReader(io.StringIO(csv_text([row(name) for name in names]))))
    assert [line["student"] for line in lines] == names
    assert lines[0]["points"] == "0"


def test_no_two_students_share_a_page_and_no_name_leads_elsewhere():
    names = ["ann", "Ann", "a/b", "a_b", "../../x", "..", "", "é" * 200, "é" * 201, "a\0b", "🙂", "-"]
    pages = [feedback_name(name) for name in names]
    assert len({page.lower() for page in pages}) == len(names)
    assert all("/" not in page and len(page.encode()) < 120 and not page.startswith(".") for page in pages)
    assert feedback_name("ann", "1") != feedback_name("ann", "2")
    assert feedback_name("ann", "1") != feedback_name("ann 1")
    page = feedback_name("ann", "1")
    assert feedback_name(page.removesuffix(".html")) != page
    assert all(feedback_name(name) != f"{name}.html" for name in ("con", "aux", "com1"))


def test_the_name_of_a_page_can_be_read_and_is_no_option_of_a_command():
    assert feedback_name("José Núñez", "12").startswith("Jose_Nunez_12_")
    assert feedback_name("-rf").startswith("rf_")


def test_nothing_of_a_student_runs_in_a_page(tmp_path, root):
    attack = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    data = notebook(f"def run_agent(*a, **k):\n    raise ValueError({attack!r})")
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "ex01 <b>.ipynb").write_bytes(data)
    rows = grade_folder(batch(folder, tmp_path / "out", root), threads)
    for page in (feedback_page(rows), class_page([*rows, row(attack)])):
        assert "<script" not in page
        assert "<img" not in page
        assert "<b>" not in page
        assert "default-src 'none'" in page
    assert "&lt;script&gt;" in feedback_page(rows)


def test_a_page_says_what_was_wanted_seen_and_hinted(tmp_path, root):
    data = notebook(HONEST.replace("history.append(reply)", "pass"))
    rows = grade_folder(batch(hand_in(tmp_path / "in", ann=data), tmp_path / "out", root), threads)
    page = feedback_page(rows)
    failed = next(result for result in rows[0].report["results"] if result["status"] == "not yet")
    assert failed["id"] == "request_kept"
    for words in (
        "keeps every request of the model in the history",
        "Seen:",
        "Hint:",
        f"seed {rows[0].seed}",
    ):
        assert words in page


def test_canvas_gets_a_column_an_exercise_and_the_best_file_counts():
    rows = [row("ann", number="12", points=3), row("ann", number="12", points=7), row("=ben")]
    rows += [
        replace(row("ann", number="12", points=9), exercise="ex02_three_stops"),
        replace(row(), exercise=""),
    ]
    lines = list(csv.reader(io.StringIO(canvas_text(rows))))
    assert lines == [
        ["Student", "ID", "Section", "ex01_write_the_loop", "ex02_three_stops"],
        ["    Points Possible", "", "", "10", "10"],
        ["ann", "12", "", "7", "9"],
        ["'=ben", "", "", "0", ""],
    ]


def test_moodle_gets_a_table_an_exercise_with_those_whom_it_knows():
    (text,) = moodle_texts([row("Ann Lee", number="12", points=7), row("ben")]).values()
    lines = list(csv.DictReader(io.StringIO(text)))
    assert lines == [
        {
            "Identifier": "Participant 12",
            "Full name": "Ann Lee",
            "Grade": "7",
            "Maximum Grade": "10",
            "Last modified (grade)": "-",
        }
    ]


def test_all_results_are_written_and_old_pages_removed(tmp_path, root):
    out = tmp_path / "out"
    write_results([row("ann"), row("ben")], out)
    (out / "feedback" / "my own").mkdir()
    (out / "feedback" / "my own notes.txt").write_text("of the instructor")
    write_results([row("ben", report=None)], out)
    (out / "feedback" / "my own notes.txt").unlink()
    assert sorted(path.name for path in out.rglob("*") if path.is_file()) == [
        "ben.html",
        "class.html",
        "grades.csv",
        "grades.json",
    ]
    assert (out / "grades.csv").read_bytes().startswith("\ufeff".encode())
    assert json.loads((out / "grades.json").read_text())[0]["student"] == "ben"


def test_the_class_page_counts_and_names_the_most_common_first_failure(tmp_path, root):
    folder = hand_in(tmp_path / "in", ann=RIGHT, ben=WRONG, cid=WRONG)
    page = class_page(grade_folder(batch(folder, tmp_path / "out", root), threads))
    assert "Most common first failure (2 of 3)" in page
    assert "answered 1 of 3" in page
    assert 'role="img"' in page


def test_the_class_page_tells_namesakes_apart_and_says_why_a_row_needs_a_look():
    rows = [row("Ann Lee", number="11"), row("Ann Lee", number="12", notes=("It ran <too> long.",)), row()]
    page = class_page(rows)
    assert "Ann Lee</a> (11)</td>" in page
    assert "Ann Lee</a> (12)</td>" in page
    assert "ann</a></td>" in page
    assert page.count('<tr class="note">') == page.count("It ran &lt;too&gt; long.</td></tr>") == 1


def test_code_in_a_note_is_shown_as_code_on_both_pages():
    rows = [row(notes=("In cell 2: `x = <b>`.",))]
    for page in (class_page(rows), feedback_page(rows)):
        assert "In cell 2: <code>x = &lt;b&gt;</code>." in page
        assert "`" not in page


def test_the_class_page_says_what_its_short_names_mean_and_counts_one_point(tmp_path, root):
    rows = grade_folder(batch(hand_in(tmp_path / "in", ann=RIGHT), tmp_path / "out", root), threads)
    page = class_page([replace(rows[0], points=1), rows[0]])
    assert "1 point 1 of 2" in page
    assert "10 points 1 of 2" in page
    for one in EXERCISES["ex01_write_the_loop"].criteria:
        assert f"<dt>{one.id.replace('_', ' ')}</dt>" in page
        assert f"<dd>{caption_html(one.wanted)}</dd>" in page


# --- the command


def test_the_command_grades_a_folder(tmp_path, capsys):
    folder = hand_in(tmp_path / "in", ann=RIGHT, ben=WRONG)
    arguments = ["grade", str(folder), "--out", str(tmp_path / "out"), "--quiet", "--workers", "1"]
    arguments += ["--isolation", "time limit", "--limit", "cell_seconds=5"]
    assert main(arguments) == 0
    said = capsys.readouterr()
    assert "2 submissions: 2 graded" in said.out
    assert "NOT ensured on this machine" in said.err
    assert (tmp_path / "out" / "feedback" / "ann.html").exists()
    assert main(arguments) == 2
    assert "--resume" in capsys.readouterr().err
    assert main([*arguments, "--resume", "--format", "canvas"]) == 0
    assert "ann,,,10" in (tmp_path / "out" / "grades_canvas.csv").read_text()
    assert "2 of 2 students have no number" in capsys.readouterr().err
    assert main([*arguments, "--resume", "--format", "moodle"]) == 0
    assert "They are not in the tables for Moodle" in capsys.readouterr().err


def test_the_help_gives_each_limit_one_line_and_the_default_of_the_seed(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit):
        main(["grade", "--help"])
    said = capsys.readouterr().out
    for one in fields(Limits):
        assert re.search(rf"^  {one.name} +[\d,-]+  [a-z].{{,58}}$", said, re.MULTILINE)
    assert re.search(r"^  wall_seconds +90  time for everything$", said, re.MULTILINE)
    assert re.search(r"^  message_bytes +1,000,000  ", said, re.MULTILINE)
    assert "default: 0, which everybody knows" in " ".join(said.split())


def test_a_limit_in_seconds_may_have_a_fraction():
    assert limit("call_seconds=20.5") == ("call_seconds", 20.5)


def test_the_progress_parts_the_number_from_its_unit(capsys):
    ProgressBar().bar.close()
    assert "0 submissions [" in capsys.readouterr().err


@pytest.mark.parametrize(("numbers", "count"), [(("", ""), 2), (("12", ""), 1), (("12", "13"), 0)])
def test_it_is_said_how_many_students_an_lms_cannot_tell_by_a_number(numbers, count):
    rows = [row(f"student {place}", number=number) for place, number in enumerate(numbers)]
    for lms in ("canvas", "moodle"):
        said = without_number(rows, lms)
        assert said.startswith(f"{count} of 2 students have no number") if count else said == ""


def refusal(capsys, *words: str | Path) -> str:
    """What `grade` says when it grades nothing."""
    assert main(["grade", *map(str, words), "--quiet", "--isolation", "time limit"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    return said.err


def test_a_folder_that_is_none_of_submissions_is_said_in_one_line(tmp_path, capsys):
    empty, out = tmp_path / "empty", tmp_path / "out"
    empty.mkdir()
    (empty / "notes.txt").write_text("no notebook")
    for folder, wanted in (
        (tmp_path / "none", "There is no folder"),
        (empty, "no notebook (.ipynb) and no archive (.zip)"),
        (empty / "notes.txt", "is a file. Put it into a folder"),
        (Path(__file__).parents[2], "is the course itself"),
    ):
        said = refusal(capsys, folder, "--out", out)
        assert wanted in said
        assert len(said.splitlines()) == 1
    assert not out.exists()


def test_an_out_that_would_mix_results_with_other_things_is_refused(tmp_path, capsys):
    folder, other = hand_in(tmp_path / "in", ann=RIGHT), tmp_path / "other"
    (other / "results").mkdir(parents=True)
    (other / "results" / "precious.csv").write_text("1")
    for resume in ([], ["--resume"]):
        assert "holds other things" in refusal(capsys, folder, "--out", other, *resume)
        assert "is a file" in refusal(capsys, folder, "--out", folder.parent / "other/results/precious.csv")
    assert (other / "results" / "precious.csv").exists()
    assert "holds other things" in refusal(capsys, folder, "--out", tmp_path)


@pytest.mark.parametrize("name", ["results/1.json", "grades.csv", "class.html"])
def test_a_folder_in_the_place_of_a_file_is_other_things(tmp_path, name):
    folder, out = hand_in(tmp_path / "in", ann=RIGHT), tmp_path / "out"
    (out / name).mkdir(parents=True)
    assert "holds other things" in folder_problem(folder, out, resume=True)


def test_a_file_in_the_place_of_a_folder_is_other_things(tmp_path):
    folder, out = hand_in(tmp_path / "in", ann=RIGHT), tmp_path / "out"
    out.mkdir()
    (out / "feedback").write_text("1")
    assert "holds other things" in folder_problem(folder, out, resume=True)


def test_a_batch_that_ended_before_its_first_result_can_go_on(tmp_path):
    (tmp_path / "out" / "results").mkdir(parents=True)
    for resume in ([], ["--resume"]):
        assert (
            folder_problem(hand_in(tmp_path / "in", ann=RIGHT), tmp_path / "out", resume=bool(resume)) == ""
        )


def grade_words(folder: Path, out: Path, *more: str) -> list[str]:
    return ["grade", str(folder), "--out", str(out), "--quiet", "--workers", "1", *more]


@pytest.fixture
def graded(tmp_path, capsys):
    """A folder that was graded with a seed, a limit and an isolation of its own: it, and the results."""
    folder, out = hand_in(tmp_path / "in", ann=RIGHT, ben=WRONG), tmp_path / "out"
    first = ["--isolation", "time limit", "--seed", "20417", "--limit", "call_seconds=20"]
    assert main(grade_words(folder, out, *first)) == 0
    assert "earlier" not in capsys.readouterr().out
    return folder, out


def kept(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (out / "results").iterdir()}


@pytest.mark.parametrize(
    "given", ["", "--seed 20417", "--limit call_seconds=20.0", "--isolation 'time limit' --format canvas"]
)
def test_what_is_not_given_is_taken_from_the_results(graded, capsys, given):
    folder, out = graded
    before = kept(out)
    assert main(grade_words(folder, out, "--resume", *shlex.split(given))) == 0
    assert "2 of 2 earlier results still hold." in capsys.readouterr().out
    assert kept(out) == before


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("--seed 5", "--seed: 20417 then, 5 now"),
        ("--seed 0", "--seed: 20417 then, 0 now"),
        ("--limit call_seconds=5", "--limit call_seconds: 20.0 then, 5.0 now"),
        ("--limit cell_seconds=5", "--limit cell_seconds: 10.0 then, 5.0 now"),
        ("--isolation bubblewrap", "--isolation: time limit then, bubblewrap now"),
        ("--dask 127.0.0.1:1", "--isolation: time limit on this machine then, a cluster (127.0.0.1:1) now"),
        ("--seed 5 --limit file_mb=1", "(--seed: 20417 then, 5 now; --limit file_mb: 16 then, 1 now)"),
    ],
)
def test_other_settings_than_those_of_the_results_are_refused_with_both_named(graded, capsys, given, said):
    folder, out = graded
    before = kept(out)
    assert main(grade_words(folder, out, "--resume", *shlex.split(given))) == 2
    told = capsys.readouterr()
    assert said in told.err
    assert len(told.err.splitlines()) == 1
    assert kept(out) == before


def test_a_weaker_isolation_than_is_required_now_is_refused_with_both_named(graded, capsys):
    folder, out = graded
    assert main(grade_words(folder, out, "--resume", "--require-isolation", "sandlock")) == 2
    assert '"time limit" is weaker than "sandlock"' in capsys.readouterr().err


def test_what_was_handed_in_anew_is_graded_anew_and_named(graded, capsys):
    folder, out = graded
    hand_in(folder, ben=RIGHT, cid=RIGHT)
    assert main(grade_words(folder, out, "--resume")) == 0
    said = capsys.readouterr().out
    assert "1 of 2 earlier results still hold. What was handed in has changed, and was graded anew:" in said
    assert f"graded anew: ben (ben/ex01_write_the_loop/{NAME})." in said
    assert {row["student"]: row["points"] for row in json.loads((out / "grades.json").read_text())} == {
        "ann": 10,
        "ben": 10,
        "cid": 10,
    }


def test_after_a_change_of_the_course_everything_is_graded_anew_with_the_same_seed(
    graded, capsys, monkeypatch
):
    folder, out = graded
    seeds = [row["seed"] for row in json.loads((out / "grades.json").read_text())]
    monkeypatch.setattr("agentlib.course.grading.commands.course_version", lambda: "new")
    assert main(grade_words(folder, out, "--resume")) == 0
    said = capsys.readouterr().out
    assert "0 of 2 earlier results still hold. The course has changed since 2 of them" in said
    assert [row["seed"] for row in json.loads((out / "grades.json").read_text())] == seeds


@pytest.mark.parametrize("damage", [None, b"", b"[]", b"{}", b'{"limits": []}', b"[" * 100_000])
def test_results_that_do_not_say_how_they_were_graded_need_the_seed(graded, capsys, damage):
    folder, out = graded
    before = kept(out)
    (out / "settings.json").unlink()
    if damage is not None:
        (out / "settings.json").write_bytes(damage)
    assert main(grade_words(folder, out, "--resume")) == 2
    assert "does not say how it was graded" in capsys.readouterr().err
    assert kept(out) == before
    then = ["--seed", "20417", "--limit", "call_seconds=20", "--isolation", "time limit"]
    assert main(grade_words(folder, out, "--resume", *then)) == 0
    assert "2 of 2 earlier results still hold." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", ""),
        ("--dask 10.0.0.2:8786 --require-isolation sandlock", ""),  # the same cluster may have moved
        ("--require-isolation docker", "--require-isolation: sandlock then, docker now"),
        ("--isolation bubblewrap", "--isolation: each worker's own then, bubblewrap now"),
    ],
)
def test_a_cluster_is_remembered_with_what_was_required_of_it(tmp_path, given, said):
    write_settings(tmp_path, Settings(7, Limits(), require="sandlock", dask="10.0.0.1:8786"))
    arguments = parse(["grade", "in", "--out", str(tmp_path), "--resume", *shlex.split(given)])
    told = refused(tmp_path, arguments, has_results=True)
    assert said in told if said else told == ""
    assert remember(tmp_path, arguments) == Limits()
    assert arguments.seed == 7
    assert arguments.dask == ("10.0.0.2:8786" if "--dask" in given else "10.0.0.1:8786")


@pytest.mark.parametrize("name", ["settings.json", "grades.csv", "class.html", "grades_canvas.csv"])
def test_a_file_that_was_being_written_is_no_hindrance(graded, name):
    folder, out = graded
    (out / f"{name}.part").write_text("half")
    assert folder_problem(folder, out, resume=True) == ""


def test_a_folder_without_an_exercise_of_the_course_is_said(tmp_path, capsys):
    (tmp_path / "in" / "ann").mkdir(parents=True)
    (tmp_path / "in" / "ann" / "thesis.ipynb").write_bytes(b'{"nbformat": 4, "cells": []}')
    words = ["grade", str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--quiet"]
    assert main([*words, "--isolation", "time limit"]) == 2
    assert "Is it the right folder?" in capsys.readouterr().err


def test_the_command_refuses_what_it_cannot_do(tmp_path, capsys):
    folder = hand_in(tmp_path / "in", ann=RIGHT)
    assert main(["grade", str(tmp_path / "none"), "--out", str(tmp_path / "out")]) == 2
    assert main(["grade", str(folder), "--out", str(folder / "out")]) == 2
    assert "choose another" in capsys.readouterr().err
    wrong_limits = [
        "cell_seconds",
        "cell_seconds=0",
        "cell_seconds=x",
        "cell_seconds=nan",
        "call_seconds=inf",
    ]
    for wrong in [*wrong_limits, "processes=1.5", "colour=1"]:
        with pytest.raises(SystemExit):
            main(["grade", str(folder), "--out", str(tmp_path / "out"), "--limit", wrong])
    for wrong in ("0", "-1", "many", "1.5"):
        with pytest.raises(SystemExit):
            main(["grade", str(folder), "--out", str(tmp_path / "out"), "--workers", wrong])
        assert f"1 or more, is wanted, not '{wrong}'" in capsys.readouterr().err
    for wrong in ("", "10.0.0.1", "tcp://10.0.0.1", "tcp://:8786", "gopher://10.0.0.1:8786", "a b:1"):
        with pytest.raises(SystemExit):
            main(["grade", str(folder), "--out", str(tmp_path / "out"), "--dask", wrong])
        assert f"not an address such as tcp://10.0.0.1:8786: '{wrong}'" in capsys.readouterr().err
