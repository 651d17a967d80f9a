"""What the course has changed is told in one line; what a learner wrote is never said to be that."""

import json
import os
import shutil
import tempfile
from datetime import datetime
from pathlib import Path

import pytest

from agentlib.course import originals
from agentlib.course.check_command import find_file
from agentlib.course.cli import main
from agentlib.course.errors import NotebookError
from agentlib.course.exercises import EXERCISES, FRESH_DIR
from agentlib.course.originals import change_in, changes_in_folder, course_folder
from agentlib.course.reset_command import reset_notebook
from agentlib.course.selfcheck import self_check

LESSON = "notebooks/02_blue_mugs.ipynb"
EXERCISE = "exercises/ex01_write_the_loop.ipynb"
STUB = "def loop(model):\n    # ask first\n    raise NotImplementedError"


def cell(name, source, kind="markdown"):
    more = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return {"cell_type": kind, "id": name, "metadata": {}, "source": source.splitlines(True), **more}


def write(path, *cells, **changed):
    path.parent.mkdir(parents=True, exist_ok=True)
    cells = [cell(name, source, "code" if name == "stub" else "markdown") for name, source in cells]
    path.write_text(
        json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **changed}), "utf-8"
    )


OLD = [("title", "# Blue mugs\n\nAbout it."), ("task", "## Your task\n\nTake 3.\n\nThen go."), ("stub", STUB)]
NEW = [
    ("title", "# Blue mugs\n\nAbout it."),
    ("task", "## Your task\n\nTake 4.\n\nThen go."),
    ("stub", STUB.replace("# ask first", "# ask first, then look")),
    ("added", "### A note\n\nRead it."),
]
EARLIER = {"task": [OLD[1][1]], "stub": [STUB], "added": [""]}


@pytest.fixture
def handed_out(tmp_path, monkeypatch):
    """A learner's folder where the course has changed a lesson since; the learner has it as it was."""
    folder = tmp_path / "course"
    write(folder / LESSON, *OLD)
    write(folder / "course_copy" / LESSON, *NEW)
    handout = {"version": 1, "files": {}, "earlier": {LESSON: EARLIER}}
    (folder / "course_copy" / "handout.json").write_text(json.dumps(handout), "utf-8")
    monkeypatch.chdir(folder)
    return folder


def with_cells(**sources):
    """The new cells with other texts; None = without it."""
    return [(name, sources.get(name, text)) for name, text in NEW if sources.get(name, text) is not None]


def headings(folder, *cells):
    write(folder / LESSON, *cells)
    change = change_in(folder / LESSON, folder)
    return change.headings if change else ()


def test_what_the_course_has_changed_is_named_by_its_headings(handed_out):
    assert headings(handed_out, *OLD) == ("Your task", "Your task", "A note")
    assert headings(handed_out, *NEW) == ()


@pytest.mark.parametrize(
    ("cells", "missed"),
    [
        (with_cells(task=OLD[1][1]), ("Your task",)),
        (with_cells(task="## Your task\n\nTake 3.\n\nI took 3!\n\nThen go."), ("Your task",)),
        (with_cells(task="## Your task\n\nTake 4.\n\nI did.\n\nThen go."), ()),
        (with_cells(task=None), ()),  # the learner has taken it out
        (with_cells(added=None), ("A note",)),
        (with_cells(title="# Mine"), ()),  # the course never changed it
        (with_cells(stub="def loop(model):\n    # ask first\n    return 1"), ("Your task",)),
        (with_cells(stub="def loop(model):\n    # ask first, then look\n    return 1"), ()),
        ([*NEW, ("mine", "# my own")], ()),
    ],
    ids=["old text", "old text, edited", "new text, edited", "deleted", "added", "never changed", "old stub",
         "new stub", "a cell of one's own"],
)  # fmt: skip
def test_only_what_is_missing_is_named(handed_out, cells, missed):
    assert headings(handed_out, *cells) == missed


def test_a_program_that_gives_cells_other_ids_hides_nothing(handed_out):
    assert headings(handed_out, *[(f"x{name}", text) for name, text in OLD]) == (
        "Your task", "Your task", "A note",
    )  # fmt: skip
    assert headings(handed_out, *[(f"x{name}", text) for name, text in NEW]) == ()


BROKEN = [
    '{"cells": [{"source": "a", "id": [1]}]}',
    "",
    "[]",
    '{"cells": 3}',
    '{"cells": [{"source": 4}]}',
    "\x00",
    "[" * 9999,
]


@pytest.mark.parametrize("content", BROKEN, ids=range(len(BROKEN)))
def test_a_broken_notebook_or_handout_file_is_no_crash(handed_out, content):
    (handed_out / LESSON).write_text(content, "utf-8")
    assert changes_in_folder(handed_out) == []
    write(handed_out / LESSON, *OLD)
    (handed_out / "course_copy" / "handout.json").write_text(content, "utf-8")
    assert changes_in_folder(handed_out) == []


def test_lesson_00_says_it_in_one_line_with_what_to_do_and_after_that_no_more(handed_out):
    (line,) = self_check(version_of=lambda name: "1.0").notes
    assert line == (
        "02_blue_mugs.ipynb: the course has changed 3 cells that you do not have "
        '("Your task", "A note"). To take the new notebook, run  %run -m agentlib reset 02  in a cell of '
        "another one (yours is kept beside it); or open course_copy/notebooks/02_blue_mugs.ipynb beside it."
    )
    mine = (handed_out / LESSON).read_text("utf-8")
    assert main(["reset", "02"]) == 0
    assert self_check(version_of=lambda name: "1.0").notes == ()
    (kept,) = (handed_out / "notebooks").glob("*.before_*.ipynb")
    assert kept.read_text("utf-8") == mine


def test_an_older_exercise_is_named_and_notes_of_ones_own_are_not(tmp_path, monkeypatch):
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "00_start_here.ipynb").write_text("{}")
    shutil.copytree(FRESH_DIR, tmp_path / "exercises")
    monkeypatch.chdir(tmp_path)
    assert changes_in_folder(course_folder()) == []
    notebook = json.loads((tmp_path / EXERCISE).read_text("utf-8"))
    by_id = {one["id"]: one for one in notebook["cells"]}
    by_id["ex01-solution"]["source"] = "def run_agent(): pass"
    by_id["ex01-title"]["source"] += ["\n", "\n", "My own note."]
    by_id["ex01-try"]["source"] = "1 + 1"
    (tmp_path / EXERCISE).write_text(json.dumps(notebook), "utf-8")
    assert changes_in_folder(tmp_path) == []
    by_id["ex01-check-words"]["source"] = "## Check it\n\nAn older text."
    (tmp_path / EXERCISE).write_text(json.dumps(notebook), "utf-8")
    (change,) = changes_in_folder(tmp_path)
    assert str(change).startswith(
        'ex01_write_the_loop.ipynb: 1 cell is not as the course has it now ("Check it").'
    )


def test_check_says_it_below_the_report_of_ones_own_exercise_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("AGENTLIB_DATA_DIR", str(tmp_path / "data"))
    exercise = EXERCISES["ex01_write_the_loop"]
    new = json.loads(exercise.fresh.read_text("utf-8"))
    old = json.loads(exercise.fresh.read_text("utf-8"))
    old["cells"][1]["source"] = ["## Your task\n", "\n", "An older task."]
    old["cells"][3]["source"] = "def run_agent(*_): return 1"
    for place, content in ((f"mine/{EXERCISE}", old), (f"mine/course_copy/{EXERCISE}", new)):
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).write_text(json.dumps(content), "utf-8")
    earlier = {EXERCISE: {"ex01-task": ["".join(old["cells"][1]["source"])]}}
    (tmp_path / "mine/course_copy/handout.json").write_text(json.dumps({"earlier": earlier}), "utf-8")
    shutil.copy(tmp_path / "mine" / EXERCISE, tmp_path / "ex01_of_ann.ipynb")
    monkeypatch.chdir(tmp_path / "mine")
    main(["check", "ex01"])
    assert "the course has changed 1 cell" in capsys.readouterr().out
    main(["check", "../ex01_of_ann.ipynb"])
    assert "the course has changed" not in capsys.readouterr().out
    assert main(["reset", "exercises/ex01_write_the_loop.ipynb"]) == 0
    main(["check", "ex01"])
    assert "the course has changed" not in capsys.readouterr().out


# --- which folder


@pytest.mark.parametrize("place", [".", "course", "course/notebooks", "course/exercises"])
def test_the_learners_folder_is_found_from_home_from_itself_and_from_inside(handed_out, monkeypatch, place):
    home = handed_out.parent
    (home / "holiday").mkdir()
    monkeypatch.chdir(handed_out)
    (handed_out / "exercises").mkdir()
    monkeypatch.chdir(home / place)
    assert course_folder() == handed_out


def test_the_untouched_copy_is_nobodys_working_folder(handed_out, monkeypatch):
    write(handed_out / "course_copy/notebooks/00_start_here.ipynb", *NEW)
    monkeypatch.chdir(handed_out / "course_copy" / "notebooks")
    assert course_folder() == handed_out


def test_installed_packages_are_never_written_into(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    packages = tmp_path / "site-packages"
    packages.mkdir()
    monkeypatch.setattr(originals, "COURSE_DIR", packages)
    assert course_folder() is None
    assert main(["reset", "ex01"]) == 2
    assert "Go to the folder that holds `notebooks` and `exercises`" in capsys.readouterr().err
    assert list(packages.iterdir()) == []
    with pytest.raises(NotebookError, match="Go to the folder"):
        find_file("ex01")


def test_a_single_file_is_checked_where_it_lies(tmp_path, monkeypatch):
    (tmp_path / "ex02_three_stops.ipynb").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert find_file("ex02") == Path("ex02_three_stops.ipynb")


# --- reset


@pytest.mark.parametrize(
    ("name", "problem"),
    [("99", "There is no lesson"), ("ex99", "There is no exercise"), ("nonsense", "There is no exercise")],
)
def test_a_name_of_nothing_is_a_sentence(handed_out, name, problem):
    with pytest.raises(ValueError, match=problem):
        reset_notebook(name, handed_out)


def test_a_lesson_without_a_handouts_copy_is_a_sentence(tmp_path):
    with pytest.raises(ValueError, match="no folder course_copy in"):
        reset_notebook("02", tmp_path)


def test_reset_takes_the_exercise_that_was_handed_out_not_the_packages(handed_out):
    write(handed_out / "course_copy" / EXERCISE, *NEW)
    reset_notebook("ex01", handed_out)
    assert (handed_out / EXERCISE).read_bytes() == (handed_out / "course_copy" / EXERCISE).read_bytes()


def test_reset_that_cannot_write_changes_nothing_and_says_where_to_work(monkeypatch, capsys):
    """As a user without rights: root may write everywhere."""
    if os.name != "posix":
        pytest.skip("folders without the right to write are made with POSIX modes")
    with tempfile.TemporaryDirectory(dir=tempfile.gettempdir()) as name:
        folder = Path(name).resolve()
        folder.chmod(0o755)
        write(folder / LESSON, *OLD)
        write(folder / "course_copy" / LESSON, *NEW)
        before = (folder / LESSON).read_bytes()
        (folder / "notebooks").chmod(0o555)
        monkeypatch.chdir(folder)
        was = os.geteuid()
        if was == 0:
            os.seteuid(65534)
        try:
            assert main(["reset", "02"]) == 2
        finally:
            os.seteuid(was)
        said = capsys.readouterr().err
        assert said.startswith("02: Nothing was changed: ")
        assert "Permission denied" in said
        assert f"Copy the folder {folder} to a place where you may write" in said
        assert [path.name for path in (folder / "notebooks").iterdir()] == [Path(LESSON).name]
        assert (folder / LESSON).read_bytes() == before
        (folder / "notebooks").chmod(0o755)


def test_a_disk_that_is_full_leaves_the_learners_file_where_it_is(handed_out, monkeypatch):
    def full(self, data):
        raise OSError(28, "No space left on device", str(self))

    before = (handed_out / LESSON).read_bytes()
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        reset_notebook("02", handed_out, datetime(2026, 1, 2))
    assert (handed_out / LESSON).read_bytes() == before
    assert len(list((handed_out / "notebooks").iterdir())) == 1
