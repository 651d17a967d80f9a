"""Names as Windows, macOS and Linux write them are one name; whoever handed in anything has a row."""

import struct
import unicodedata
import zipfile

import pytest

from agentlib.course.grading.collect import find_submissions, read_submission
from agentlib.course.grading.limits import Limits
from tests.hostile.submissions import HONEST, notebook

EX01, EX02 = "ex01_write_the_loop.ipynb", "ex02_three_stops.ipynb"
RIGHT = notebook(HONEST)
JUERGEN = "J\u00fcrgen"


def zipped(path, *names, raw=None):
    """Make an archive of these names. raw: how a name's bytes are written, with no word of how."""
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            info = zipfile.ZipInfo("x")
            info.filename = name if raw is None else "#" * len(raw(name))
            archive.writestr(info, b"" if name.endswith(("/", "\\")) else RIGHT)
    if raw is not None:
        data = path.read_bytes()
        for name in names:
            data = data.replace(b"#" * len(raw(name)), raw(name))
        path.write_bytes(data)


def students(folder):
    return [row.student for row in find_submissions(folder)]


# --- names of folders


@pytest.mark.parametrize("archive", ["class.zip", "ann/work.zip"])
@pytest.mark.parametrize(
    "name",
    [
        f"ann\\{EX01}",
        f"ann/{EX01}",
        f".\\ann\\{EX01}",
        f"C:\\ann\\{EX01}",
        f"..\\..\\ann\\{EX01}",
        f"ann\\x/{EX01}",
    ],
)
def test_backslashes_part_folders_as_slashes_do(name, archive, tmp_path):
    (tmp_path / archive).parent.mkdir(exist_ok=True)
    zipped(tmp_path / archive, name)
    assert students(tmp_path) == ["ann"]
    (row,) = find_submissions(tmp_path)
    assert (row.exercise, row.problem) == ("ex01_write_the_loop", "")
    assert read_submission(row, Limits()) == RIGHT


def test_learning_systems_names_are_told_behind_backslashes(tmp_path):
    zipped(
        tmp_path / "moodle.zip", f"Ann A_11_assignsubmission_file\\{EX01}", f"submitted\\ben\\ex01\\{EX01}"
    )
    assert [(row.student, row.number) for row in find_submissions(tmp_path)] == [("Ann A", "11"), ("ben", "")]


def test_what_computers_put_there_is_passed_over_behind_backslashes(tmp_path):
    zipped(
        tmp_path / "class.zip", f"__MACOSX\\ann\\{EX01}", f"ann\\.ipynb_checkpoints\\{EX01}", f"ann\\{EX01}"
    )
    assert students(tmp_path) == ["ann"]


# --- letters


@pytest.mark.parametrize(
    "raw",
    [
        lambda name: name.encode(),
        lambda name: unicodedata.normalize("NFD", name).encode(),
        lambda name: name.encode("cp437"),
        lambda name: name.encode("cp850"),
    ],
    ids=["utf-8", "macos", "cp437", "cp850"],
)
def test_letters_are_read_where_an_archive_does_not_say_how_it_wrote_them(raw, tmp_path):
    zipped(tmp_path / "class.zip", f"{JUERGEN}/{EX01}", raw=raw)
    (row,) = find_submissions(tmp_path)
    assert (row.student, row.problem) == (JUERGEN, "")
    assert read_submission(row, Limits()) == RIGHT


@pytest.mark.parametrize(
    "name", ["\u8bfb\u4e66", "\u0418\u0432\u0430\u043d", "Zo\u00eb \U0001f642", "Na\u00efve"]
)
def test_names_in_every_script_are_read(name, tmp_path):
    zipped(tmp_path / "flag.zip", f"{name}/{EX01}")
    zipped(tmp_path / "no_flag.zip", f"{name}/{EX02}", raw=lambda text: text.encode())
    assert students(tmp_path) == [name, name]


def test_a_name_composed_and_decomposed_is_one_student(tmp_path):
    decomposed = unicodedata.normalize("NFD", JUERGEN)
    for form, name in ((JUERGEN, EX01), (decomposed, EX02)):
        (tmp_path / form).mkdir()
        (tmp_path / form / name).write_bytes(RIGHT)
    zipped(tmp_path / "class.zip", f"{decomposed}/{EX01}", f"submitted/{decomposed}/ex02/{EX02}")
    (tmp_path / f"{decomposed}_ex03.ipynb").write_bytes(RIGHT)
    found = find_submissions(tmp_path)
    assert {row.student for row in found} == {JUERGEN}
    assert len(found) == 5
    assert all(read_submission(row, Limits()) == RIGHT for row in found)


# --- what is no notebook


def said(folder):
    return {row.student: row.problem for row in find_submissions(folder)}


@pytest.mark.parametrize(
    "ending",
    ["ipynb.txt", "ipynb.json", "ipynb.html", "py", "html", "pdf", "docx", "txt", "ipynb.gz", "md", "7z", ""],
)
def test_another_ending_has_a_row_that_says_what_came(ending, tmp_path):
    name = f"eve_ex01.{ending}".rstrip(".")
    (tmp_path / name).write_bytes(b"x")
    (tmp_path / "fay").mkdir()
    (tmp_path / "fay" / name).write_bytes(b"x")
    zipped(tmp_path / "class.zip", f"gil_ex01.{ending}".rstrip("."), f"hal/{name}", f"ida/{EX01}")
    found = said(tmp_path)
    assert list(found) == ["eve", "fay", "gil", "hal", "ida"]
    assert found.pop("ida") == ""
    assert found.pop("gil").endswith(name.replace("eve", "gil") + ".")
    assert set(found.values()) == {f"There is no notebook in what was handed in. What came: {name}."}


def test_all_that_came_is_named_in_one_row(tmp_path):
    (tmp_path / "ann" / "deep").mkdir(parents=True)
    for name in ("notes.pdf", "loop.py", "deep/picture.png"):
        (tmp_path / "ann" / name).write_bytes(b"x")
    zipped(tmp_path / "ben.zip", "report.pdf", "notes.txt")
    (tmp_path / "cid").mkdir()
    zipped(tmp_path / "cid" / "work.zip", *(f"{number}.pdf" for number in range(1, 8)))
    assert said(tmp_path) == {
        "ann": "There is no notebook in what was handed in. What came: loop.py, notes.pdf, picture.png.",
        "ben": "There is no notebook in what was handed in. What came: notes.txt, report.pdf.",
        "cid": "There is no notebook in what was handed in. What came: "
        "1.pdf, 2.pdf, 3.pdf, 4.pdf, 5.pdf and 2 more.",
    }


def test_nothing_at_all_is_said(tmp_path):
    (tmp_path / "ann").mkdir()
    (tmp_path / "submitted" / "ben" / "ex01").mkdir(parents=True)
    (tmp_path / "submitted" / "ben" / "ex01" / "timestamp.txt").write_text("2026")
    zipped(
        tmp_path / "class.zip",
        "course/",
        "course/submitted/",
        "course/submitted/cid/",
        "dee\\",
        f"eve/{EX01}",
    )
    zipped(tmp_path / "fay.zip")
    found = said(tmp_path)
    assert list(found) == ["ann", "ben", "cid", "dee", "eve", "fay"]
    assert [name for name, problem in found.items() if problem.endswith("The folder is empty.")] == [
        "ann", "ben", "cid", "dee",
    ]  # fmt: skip
    assert found["fay"].endswith("What came: fay.zip.")


def test_another_file_beside_a_notebook_is_no_row_unless_it_is_another_exercise(tmp_path):
    (tmp_path / "ann").mkdir()
    for name in (EX01, "notes.pdf", "ex01_helper.py", "ex02.pdf"):
        (tmp_path / "ann" / name).write_bytes(RIGHT)
    assert [(row.exercise, bool(row.problem)) for row in find_submissions(tmp_path)] == [
        ("ex01_write_the_loop", False),
        ("ex02_three_stops", True),
    ]


def test_lists_that_lie_in_the_folder_are_nobodys(tmp_path):
    for name in ("README.md", "grades.csv", "roster.xlsx", ".DS_Store", "readme.txt"):
        (tmp_path / name).write_bytes(b"x")
    zipped(tmp_path / "class.zip", "readme.txt", ".DS_Store", f"ann/{EX01}", "ann/Thumbs.db")
    assert said(tmp_path) == {"ann": ""}


def test_a_name_beside_the_name_does_not_stop_a_row(tmp_path):
    """Info-ZIP writes the UTF-8 name into an extra field too."""
    name = f"{JUERGEN}/{EX01}"
    info = zipfile.ZipInfo(name)
    text = name.encode()
    info.extra = struct.pack("<HHBL", 0x7075, len(text) + 5, 1, 0) + text
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        archive.writestr(info, RIGHT)
    assert students(tmp_path) == [JUERGEN]
