"""Whose a file is, and that no student's folder, archive or notebook can stall the others."""

import csv
import io
import os
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from agentlib.course.exercises import EXERCISES
from agentlib.course.grading import (
    BACKENDS,
    Batch,
    Limits,
    Row,
    grade_folder,
    grade_notebook,
)
from agentlib.course.grading.collect import MAX_NOTEBOOKS, Archives, find_submissions, read_submission, whose
from agentlib.course.grading.export import csv_text, rows_that_count
from tests.hostile.submissions import CONSTANT, HONEST, notebook

LAST = BACKENDS[-1]
EX01 = EXERCISES["ex01_write_the_loop"]
NAME = "ex01_write_the_loop.ipynb"
RIGHT, WRONG = notebook(HONEST), notebook(CONSTANT)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="grading is tried on Linux and macOS")


def put(folder: Path, *names: str, data: bytes = RIGHT) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def zipped(path: Path, *names: str, data: bytes = RIGHT) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, data)


def students(folder: Path) -> set[tuple[str, str]]:
    return {(one.student, one.number) for one in find_submissions(folder)}


# --- whose


@pytest.mark.parametrize(
    "path",
    [
        f"ann/submitted/ben/ex01/{NAME}",
        f"ann/submitted/Ben Q_102_assignsubmission_file/{NAME}",
        f"ann/Ben Q_102_assignsubmission_file/{NAME}",
        f"ann/work/Ben Q_102_assignsubmission_file_{NAME}",
        f"ann/benq_503_1_{NAME}",
        f"ann/benq_LATE_503_1_{NAME}",
        f"ann/anon_a1B2c_1_{NAME}",
        f"ann/course/submitted/ben/{NAME}",
        f"submitted/ann/submitted/ben/{NAME}",
        f"submitted/ann/ben_503_1_{NAME}",
    ],
)
def test_what_lies_in_a_students_folder_or_archive_is_theirs(tmp_path, path):
    parts = tuple(path.split("/"))
    assert whose(parts, EX01.name)[:2] == ("ann", "")
    put(tmp_path / "folders", path)
    head = 2 if parts[0] == "submitted" else 1
    zipped(tmp_path / "archives" / "/".join(parts[:head]) / "work.zip", "/".join(parts[head:]))
    assert students(tmp_path / "folders") == students(tmp_path / "archives") == {("ann", "")}


@pytest.mark.parametrize(
    ("path", "student", "number"),
    [
        (f"Group A_17_assignsubmission_file/{NAME}", "Group A", ""),
        (f"Default group_18_assignsubmission_file_{NAME}", "Default group", ""),
        (f"Group A-Ann Lee_17_assignsubmission_file/{NAME}", "Group A-Ann Lee", "17"),
        (f"Ann Group_17_assignsubmission_file/{NAME}", "Ann Group", "17"),
        (f"anon_a1B2c_4567_{NAME}", "anon_a1B2c", ""),
        (f"LATE_anon_a1B2c_4567_{NAME}", "anon_a1B2c", ""),
        ("anon_a1B2c_text.html", "anon_a1B2c", ""),
        (f"class_101/submitted/ann/{NAME}", "ann", ""),
    ],
)
def test_groups_and_those_without_a_name_have_no_participants_number(path, student, number):
    assert whose(tuple(path.split("/")), EX01.name)[:2] == (student, number)


def test_a_group_and_late_work_are_said_in_their_rows(tmp_path, root):
    names = (
        f"Group A_17_assignsubmission_file/{NAME}",
        f"benq_LATE_503_1_{NAME}",
        f"LATE_anon_ab12_2_{NAME}",
    )
    zipped(tmp_path / "in" / "class.zip", *names, f"cid_504_3_{NAME}", data=b"{")
    rows = {row.student: row for row in graded(tmp_path, root)}
    assert [name for name, row in rows.items() if row.late] == ["anon_ab12", "benq"]
    assert "work of a group" in rows["Group A"].notes[-1]
    lines = {
        line["student"]: line["late"] for line in csv.DictReader(io.StringIO(csv_text(list(rows.values()))))
    }
    assert lines == {"Group A": "", "anon_ab12": "late", "benq": "late", "cid": ""}


def test_a_download_of_a_class_inside_a_folder_is_one_students_and_that_is_said(tmp_path, root):
    put(tmp_path / "in", f"unpacked/ann_501_1_{NAME}", f"unpacked/ben_502_2_{NAME}", f"cid/{NAME}", data=b"{")
    rows = graded(tmp_path, root)
    assert [(row.student, "download of a class" in " ".join(row.notes)) for row in rows] == [
        ("cid", False),
        ("unpacked", True),
        ("unpacked", True),
    ]


def graded(tmp_path: Path, root, **more) -> list[Row]:
    made = Batch(tmp_path / "in", tmp_path / "out", LAST, root, Limits(), **more)
    return grade_folder(made, ThreadPoolExecutor)


def test_names_with_backslashes_and_other_endings_have_rows_that_say_what_came(tmp_path):
    names = (
        "ann\\ex01\\" + NAME,
        "ben\\ex01.ipynb.txt",
        "cid\\ex01.py",
        "dee\\ex01.IPYNB",
        "C:\\eve\\ex01.ipynb",
    )
    zipped(tmp_path / "class.zip", *names)
    put(tmp_path, "fay/ex01.ipynb.txt", "gus_ex01.ipynb.json")
    found = {one.student: one.problem for one in find_submissions(tmp_path)}
    assert {name for name, problem in found.items() if not problem} == {"ann", "dee", "eve"}
    for name, came in (("ben", "ex01.ipynb.txt"), ("cid", "ex01.py"), ("fay", "ex01.ipynb.txt")):
        assert found[name].endswith(f"What came: {came}.")
    assert found["gus"].endswith("What came: gus_ex01.ipynb.json.")


def test_of_two_files_of_one_student_the_best_is_the_row_and_names_the_other(tmp_path, root):
    put(tmp_path / "in", f"ann/{NAME}", f"ben/{NAME}")
    put(tmp_path / "in", "ann/ex01 (1).ipynb", data=WRONG)
    rows = rows_that_count(graded(tmp_path, root))
    assert [(row.student, row.points) for row in rows] == [("ann", 10), ("ben", 10)]
    assert "This one counts; the other: ann/ex01 (1).ipynb (0)." in rows[0].notes[-1]
    lines = list(csv.DictReader(io.StringIO(csv_text(rows))))
    assert [line["points"] for line in lines] == ["10", "10"]


def test_the_rows_that_count_are_one_a_student_and_exercise():
    one = Row("ann", EX01.name, "a", 3, 10, "graded", "", 0, 0.0)
    better, other = replace(one, points=7, file="b"), replace(one, number="12", file="c")
    unknown = [replace(one, exercise="", file=name) for name in "de"]
    assert rows_that_count([one, better, other, *unknown]) == [better, other, *unknown]
    assert rows_that_count([one, replace(one, file="b")]) == [one]


# --- bounds


@pytest.mark.parametrize("name", ["/".join(["a"] * 29_000), "a" * 60_000, "/".join(["b"] * 22)])
def test_a_name_in_an_archive_that_is_too_long_or_deep_is_said_and_not_gone_through(tmp_path, name):
    zipped(tmp_path / "ann" / "work.zip", *(f"{name}/{number}.ipynb" for number in range(12)), NAME)
    began = time.process_time()
    found = find_submissions(tmp_path)
    assert time.process_time() - began < 2
    assert [one.problem for one in found if not one.problem] == [""]
    assert {one.student for one in found} == {"ann"}
    assert sum("too long" in one.problem for one in found) == 12
    assert max(len(one.file) for one in found) < 400


def test_a_name_of_just_the_longest_size_is_taken(tmp_path):
    longest = "/".join(["a"] * 20)
    zipped(tmp_path / "ann" / "work.zip", f"{longest}/{NAME}", f"{longest}/b/{NAME}")
    assert [bool(one.problem) for one in find_submissions(tmp_path)] == [True, False]


def test_of_very_many_notebooks_of_one_student_some_of_each_exercise_are_graded_and_one_row_says_so(tmp_path):
    put(tmp_path, *(f"ann/ex01 ({number}).ipynb" for number in range(300)), "ann/ex02.ipynb", f"ben/{NAME}")
    found = find_submissions(tmp_path)
    ok = [one for one in found if not one.problem]
    assert [one.student for one in ok] == ["ann"] * MAX_NOTEBOOKS + ["ben"]
    assert "ex02_three_stops" in {one.exercise for one in ok}
    (rest,) = [one for one in found if one.problem]
    assert rest.problem.startswith(f"{301 - MAX_NOTEBOOKS} more files of this student")


def test_just_so_many_notebooks_are_all_graded(tmp_path):
    put(tmp_path, *(f"ann/ex01 ({number}).ipynb" for number in range(MAX_NOTEBOOKS)))
    assert [one.problem for one in find_submissions(tmp_path)] == [""] * MAX_NOTEBOOKS


def test_a_folder_with_very_many_files_is_not_gone_through_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr("agentlib.course.grading.collect.MAX_FILES", 5)
    put(tmp_path, *(f"ann/{number}.ipynb" for number in range(5)), f"ben/{NAME}", data=b"")
    assert not [one for one in find_submissions(tmp_path) if one.problem]
    put(tmp_path, "ann/5.ipynb", data=b"")
    assert [one.student for one in find_submissions(tmp_path) if "too many files" in one.problem] == ["ann"]


def test_an_archive_is_opened_once_for_all_that_is_in_it(tmp_path, monkeypatch):
    zipped(tmp_path / "class.zip", *(f"student{number}/{NAME}" for number in range(20)))
    found = find_submissions(tmp_path)
    opened = []
    plain = zipfile.ZipFile.__init__

    def counted(self, *args, **kwargs):
        opened.append(args)
        plain(self, *args, **kwargs)

    monkeypatch.setattr(zipfile.ZipFile, "__init__", counted)
    with Archives() as archives:
        assert {read_submission(one, Limits(), archives) for one in found} == {RIGHT}
    assert len(opened) == 1


def test_only_some_archives_are_open_at_a_time(tmp_path):
    for number in range(20):
        zipped(tmp_path / f"student{number:02}.zip", NAME)
    with Archives() as archives:
        for one in find_submissions(tmp_path):
            assert read_submission(one, Limits(), archives) == RIGHT
        assert len(archives._open) == 16


@pytest.mark.parametrize("escape", [",f a", ";f a", "/f a", "f a?", "%f a", "x = !f"])
def test_a_cell_of_60_kb_that_only_ipython_understands_costs_little(root, escape):
    cell = f"{escape}\n" * (60_000 // len(escape))
    began = time.process_time()
    row = grade_notebook(notebook(after=[cell]), EX01, LAST, root)
    assert time.process_time() - began < 5
    assert (row.status, row.points) == ("graded", 10)
    assert "invalid syntax" in row.notes[0]


def test_a_notebook_that_takes_too_long_to_read_has_a_row_that_says_so(root):
    magics = notebook(after=["%a\n" * 400])  # about a second
    row = grade_notebook(magics, EX01, LAST, root, Limits(read_seconds=0.05))
    assert (row.status, row.notes) == ("unreadable", ("It could not be read within 0.05 seconds.",))
    row = grade_notebook(magics, EX01, LAST, root, Limits(wall_seconds=0.05))
    assert row.notes == ("It could not be read within 0.05 seconds.",)
    assert row.seconds < 5
