"""What an instructor of a class gets: a page that begins with what needs a look, and what to give back."""

import csv
import io
import json
import re
import zipfile
from dataclasses import replace

import pytest

from agentlib.course.exercises import EXERCISES
from agentlib.course.grading import BACKENDS, Row, grade_notebook
from agentlib.course.grading.alike import alike_notes, with_alike_notes
from agentlib.course.grading.commands import folder_problem
from agentlib.course.grading.export import csv_text, write_results
from agentlib.course.grading.overview import needs_look, stuck_at
from agentlib.course.grading.pages import class_page, feedback_page
from agentlib.course.grading.sketches import fingerprint
from tests.hostile.submissions import CONSTANT, FRESH, HONEST, code_cell, notebook

EX01 = EXERCISES["ex01_write_the_loop"]
HALF = HONEST.replace("f\"{reply['tool']}: {problem}\"", '"failed"')

pytestmark = pytest.mark.skipif(bool(BACKENDS[-1].available()), reason="no backend works here")


@pytest.fixture(scope="module")
def rows(root):
    """Graded rows, by name."""
    return {
        name: replace(grade_notebook(notebook(source), EX01, BACKENDS[-1], root), student=name, file=file)
        for name, source, file in (
            ("right", HONEST, "right.ipynb"),
            ("half", HALF, "half.ipynb"),
            ("constant", CONSTANT, "constant.ipynb"),
        )
    }


def many(row: Row, *students: str, **changes) -> list[Row]:
    return [replace(row, student=student, **changes) for student in students]


def part(page: str, anchor: str) -> str:
    """The part of a page below the heading with this anchor."""
    return page.partition(f'<h2 id="{anchor}">')[2].partition("<h2")[0]


def test_the_page_of_a_class_begins_with_what_needs_a_look(rows):
    odd = [replace(rows["half"], status="crashed", student="ann", notes=("It ended `f()`.",))]
    odd += many(rows["right"], "ben", notes=("Cell 2 was changed.",))
    page = class_page([*odd, rows["right"], replace(rows["half"], status="not started", notes=())])
    headings = re.findall(r"<h2[^>]*>([^<]*)", page)
    assert headings[:2] == ["Needs your look (2)", "Where the class is stuck"]
    look = part(page, "look")
    assert '<a href="#row-1">ann, ex01_write_the_loop</a>: crashed: It ended <code>f()</code>.' in look
    assert '<a href="#row-2">ben, ex01_write_the_loop</a>: graded: Cell 2 was changed.' in look
    assert look.count("<li>") == 2


def test_every_link_on_the_page_of_a_class_leads_somewhere(rows):
    page = class_page([*rows.values(), *many(rows["right"], "dee", status="tampered")])
    targets = set(re.findall(r'href="#([^"]+)"', page))
    assert targets >= {"look", "stuck", "all", EX01.name, "row-4"}
    assert targets <= set(re.findall(r'id="([^"]+)"', page))
    assert "<td>right.ipynb</td>" in page


def test_where_nothing_needs_a_look_it_says_so(rows):
    page = class_page([rows["right"]])
    assert "Needs your look (0)" in page
    assert "Nothing is odd." in part(page, "look")
    assert "Every part is met" in part(page, "stuck")


def test_where_the_class_is_stuck_is_the_part_most_missed_with_its_two_most_common_faults(rows):
    missed = next(one for one in rows["half"].report["results"] if one["status"] == "not yet")
    crashes = [
        replace(rows["half"], report={"results": [{**missed, "seen": f'ValueError: no "{name}" in 3'}]})
        for name in ("a", "b", "c")
    ]
    others = [replace(rows["half"], report={"results": [{**missed, "seen": "an interrupt left it"}]})]
    found = stuck_at(EX01.name, [*crashes, *others, *many(rows["half"], "x", "y"), rows["right"]])
    assert (found["wanted"], found["missed"], found["of"]) == (missed["wanted"], 6, 7)
    assert found["faults"] == [('ValueError: no "a" in 3', 3), (missed["seen"], 2)]
    page = class_page([*crashes, rows["right"]])
    assert "3 of 4 do not meet this yet" in part(page, "stuck")


def test_what_was_not_judged_is_not_where_a_class_is_stuck(rows):
    results = [{"id": one.id, "status": "not reached", "seen": ""} for one in EX01.criteria]
    assert stuck_at(EX01.name, [replace(rows["half"], report={"results": results})]) is None


@pytest.mark.parametrize("status", ["graded", "not started"])
def test_a_plain_grade_without_a_note_needs_no_look(rows, status):
    assert not needs_look(replace(rows["right"], status=status, notes=()))
    assert needs_look(replace(rows["right"], status=status, notes=("odd",)))
    assert needs_look(replace(rows["right"], status="timed out", notes=()))
    assert needs_look(replace(rows["right"], status="graded", points=0, notes=()))


def test_no_sign_that_gives_orders_to_a_screen_or_turns_a_line_around_is_written_as_it_is(rows, tmp_path):
    odd, shown = "a\x1b[2Jb\u202ec\x9b\u2066\0", "a\\x1b[2Jb\\x202ec\\x9b\\x2066\\x00"
    results = [{**one, "seen": odd} for one in rows["half"].report["results"]]
    row = replace(rows["half"], notes=(odd,), report={**rows["half"].report, "results": results})
    write_results([row, replace(rows["right"], notes=("two\nlines, שלום",))], tmp_path, "excel")
    for name in ("class.html", "feedback/half.html", "grades.csv", "grades_excel.csv"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert shown in text
        assert not set(odd) - set("a[2Jbc") & set(text)
    assert "two\nlines, שלום" in (tmp_path / "grades.csv").read_text(encoding="utf-8")


def test_three_thousand_rows_make_a_page_of_a_few_megabytes(rows):
    class_ = [replace(rows["half"], student=f"student {number}", notes=("odd",)) for number in range(3_000)]
    page = class_page(class_)
    assert len(page) < 3_000_000
    assert page.count('class="noted"') == 3_000
    assert ":has(" not in page  # with it a browser looks through all rows for each one that comes: 12 seconds


def test_what_is_not_started_and_used_time_says_so(root, monkeypatch):
    monkeypatch.setattr("agentlib.course.grading.grade.STUB_SECONDS", 0.6)
    busy = code_cell("import time\nwhile time.process_time() < 0.8: pass")
    data = json.dumps({**FRESH, "cells": [busy, *FRESH["cells"]]}).encode()
    row = grade_notebook(data, EX01, BACKENDS[-1], root)
    assert row.status == "not started"
    assert re.search(r"not started, and yet it used \d seconds of computing time", row.notes[-1])
    assert needs_look(row)


# --- much alike

RENAMED = (
    HONEST.replace("history", "talk").replace("reply", "move").replace("problem", "error_")
    + "\n\n# my own work\n"
).replace("max_steps + 1):", "max_steps  +  1):  # each step\n")
OTHER = """
def run_agent(model, tools, goal, max_steps=10):
    '''Mine.'''
    seen = [dict(role="user", text=goal)]
    asked = 0
    while asked < max_steps:
        asked += 1
        said = model(list(seen))
        if said.get("type") == "answer":
            return dict(answer=said["text"], steps=asked, stopped="answered")
        seen += [said]
        outcome = None
        try:
            tool = tools[said["tool"]]
            outcome = tool(**said["input"])
        except Exception as error:
            outcome = "the tool " + said["tool"] + " failed: " + str(error)
        finally:
            seen += [dict(role="tool", result=outcome)]
    return dict(answer=None, steps=asked, stopped="step limit")
"""


def sketched(row: Row, **sources: str) -> list[Row]:
    return [replace(row, student=name, fingerprint=fingerprint([text])) for name, text in sources.items()]


def test_code_that_differs_in_names_comments_and_spacing_is_named_and_other_code_is_not(rows):
    found = alike_notes(sketched(rows["right"], ann=HONEST, ben=RENAMED, cid=OTHER))
    assert sorted(found) == [0, 1]
    assert found[0].startswith("The code is much like that of ben.")
    assert "alone says little" in found[1]


def test_of_very_many_that_are_the_same_some_are_named_and_the_rest_counted(rows):
    class_ = sketched(rows["right"], **dict.fromkeys("abcdefghi", HONEST))
    found = alike_notes(class_)
    assert found[0].startswith("The code is much like that of b, c, d, e, f and 3 more.")
    assert found[8].startswith("The code is much like that of a, b, c, d, e and 3 more.")
    assert alike_notes(class_[:6])[5].startswith("The code is much like that of a, b, c, d, e. ")


def test_code_with_one_other_line_is_named(rows):
    assert sorted(alike_notes(sketched(rows["right"], ann=HONEST, ben=HALF))) == [0, 1]


def test_two_files_of_one_student_and_what_is_not_started_are_not_alike(rows):
    two = sketched(rows["right"], ann=HONEST) * 2
    assert alike_notes(two) == {}
    stubs = [replace(one, status="not started") for one in sketched(rows["right"], a=HONEST, b=HONEST)]
    assert alike_notes(stubs) == {}
    assert fingerprint(["def f():\n    return 1"]) == ""
    assert fingerprint(["def f(:\n" + "x = ('\n" * 200]) is not None


def test_only_the_instructor_reads_that_two_are_alike(rows):
    class_ = sketched(rows["right"], ann=HONEST, ben=RENAMED)
    assert "much like that of ben" in class_page(class_)
    assert "much like that of ben" in csv_text(with_alike_notes(class_))
    assert "much like" not in feedback_page(class_)
    assert "Needs your look (0)" in class_page(class_)


def test_a_graded_row_can_be_compared(rows):
    assert rows["right"].fingerprint == fingerprint([HONEST])


# --- to give back


def in_class(rows) -> list[Row]:
    folder = "moodle.zip:Ann_Lee_12_assignsubmission_file"
    moodle = many(rows["half"], "Ann_Lee", number="12", file=f"{folder}/x.ipynb")
    canvas = many(rows["half"], "leeann", number="56", file="canvas.zip:leeann_LATE_56_91_my ex01.ipynb")
    nobody = many(rows["half"], "cid", file="cid/ex01.ipynb")
    anonymous = many(rows["right"], "anon_ab12", file="anon_ab12_93_work.zip:ex01.ipynb")
    return [*moodle, *canvas, *nobody, *anonymous]


def names_in(path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        assert all(b"<h1>" in archive.read(name) for name in archive.namelist())
        return archive.namelist()


@pytest.mark.parametrize(
    ("format", "names"),
    [
        ("moodle", ["Ann Lee_12_assignfeedback_file_/ex01_write_the_loop.html"]),
        ("canvas", ["leeann_LATE_56_91_my ex01.html", "anon_ab12_93_work.html"]),
    ],
)
def test_there_is_one_archive_of_feedback_for_each_exercise_named_as_the_platform_takes_it(
    rows, tmp_path, format, names
):
    out = tmp_path / "out"
    write_results(in_class(rows), out, format)
    archive = out / f"feedback_{format}_{EX01.name}.zip"
    assert names_in(archive) == names
    before = archive.read_bytes()
    write_results(in_class(rows), out, format)
    assert archive.read_bytes() == before
    (tmp_path / "in" / "ann").mkdir(parents=True)
    assert folder_problem(tmp_path / "in", out, resume=True) == ""


def test_a_table_for_spreadsheets_has_semicolons_and_commas_in_its_numbers(rows, tmp_path):
    write_results([replace(rows["half"], seconds=0.125, student="=a;b")], tmp_path, "excel")
    text = (tmp_path / "grades_excel.csv").read_text(encoding="utf-8-sig")
    (line,) = csv.DictReader(io.StringIO(text), delimiter=";")
    assert (line["student"], line["points"], line["seconds"]) == ("'=a;b", str(rows["half"].points), "0,125")
