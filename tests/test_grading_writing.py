"""Results are written whole or not at all; whatever comes between is said, and a batch can go on."""

import errno
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentlib.course.cli import main
from agentlib.course.grading.export import read_rows, write_results
from agentlib.course.grading.files import write_whole
from tests.hostile.submissions import CONSTANT, HONEST, notebook

pytestmark = pytest.mark.skipif(os.name != "posix", reason="grading is tried on Linux and macOS")

FILES = ("settings.json", "grades.csv", "grades.json", "class.html", "ann.html", "ben.html")
"""All that is written after the results of each submission, in that order."""


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A folder that was graded to the end: it, and the results."""
    top = tmp_path_factory.mktemp("graded")
    for student, source in (("ann", HONEST), ("ben", CONSTANT)):
        (top / "in" / student).mkdir(parents=True)
        (top / "in" / student / "ex01.ipynb").write_bytes(notebook(source))
    assert main([*words(top / "in", top / "out"), "--isolation", "time limit"]) == 0
    return top / "in", top / "out"


def words(folder: Path, out: Path) -> list[str]:
    return ["grade", str(folder), "--out", str(out), "--quiet", "--workers", "1"]


def content(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def refusing(monkeypatch, name: str, number: int) -> None:
    """Have the system refuse to write one file."""
    replace = os.replace

    def refuse(source, target):
        if Path(target).name == name:
            raise OSError(number, os.strerror(number))
        replace(source, target)

    monkeypatch.setattr(os, "replace", refuse)


@pytest.mark.parametrize("name", FILES[1:])
def test_tables_that_could_not_be_written_to_their_end_are_written_anew(graded, tmp_path, monkeypatch, name):
    _, whole = graded
    rows = read_rows(whole)
    with monkeypatch.context() as patch:
        refusing(patch, name, errno.ENOSPC)
        with pytest.raises(OSError, match="No space left") as caught:
            write_results(rows, tmp_path)
    assert Path(caught.value.filename).name == name
    assert not list(tmp_path.rglob("*.part"))
    write_results(rows, tmp_path)
    theirs = {file: text for file, text in content(whole).items() if not file.startswith(("results", "set"))}
    assert content(tmp_path) == theirs


@pytest.mark.parametrize(("name", "number"), [("settings.json", errno.EROFS), ("class.html", errno.ENOSPC)])
def test_where_a_file_cannot_be_written_a_sentence_says_so_and_the_batch_goes_on(
    graded, tmp_path, capsys, monkeypatch, name, number
):
    folder, whole = graded
    out = shutil.copytree(whole, tmp_path / "out")
    with monkeypatch.context() as patch:
        refusing(patch, name, number)
        assert main([*words(folder, out), "--resume"]) == 2
    said = capsys.readouterr().err
    assert f"{name}: {os.strerror(number)}. What was graded is kept." in said
    assert "--resume" in said
    assert main([*words(folder, out), "--resume"]) == 0
    assert content(out) == content(whole)


def test_a_result_that_cannot_be_written_is_said_and_so_is_a_full_folder_for_temporary_files(
    graded, tmp_path, capsys, monkeypatch
):
    resource = pytest.importorskip("resource")
    folder, whole = graded
    (name,) = (path.name for path in (whole / "results").iterdir() if b'"ben"' in path.read_bytes())
    with monkeypatch.context() as patch:
        refusing(patch, name, errno.EDQUOT)
        assert main([*words(folder, tmp_path / "out"), "--isolation", "time limit"]) == 2
    assert f"{name}: {os.strerror(errno.EDQUOT)}. What was graded is kept." in capsys.readouterr().err
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))  # as a disk on which there is little room
    try:
        assert main([*words(folder, tmp_path / "out"), "--resume"]) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    (said,) = capsys.readouterr().err.splitlines()
    assert "File too large" in said
    assert "--resume" in said
    assert main([*words(folder, tmp_path / "out"), "--resume"]) == 0
    assert set(content(tmp_path / "out")) == set(content(whole))


KILLED = """
import os, signal, sys
replace = os.replace
def kill(source, target):
    if os.path.basename(target) == sys.argv[1]:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(source, target)
os.replace = kill
from agentlib.course.cli import main
main(sys.argv[2:])
"""


@pytest.mark.parametrize("name", ["class.html"])
def test_a_batch_that_is_killed_while_it_writes_goes_on_to_the_same_tables(graded, tmp_path, name):
    folder, whole = graded
    out = shutil.copytree(whole, tmp_path / "out")
    command = [sys.executable, "-c", KILLED, name, *words(folder, out), "--resume"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == -signal.SIGKILL
    assert [path.name for path in out.rglob("*.part")] == [f"{name}.part"]
    assert main([*words(folder, out), "--resume"]) == 0
    assert content(out) == content(whole)


def test_ctrl_c_while_the_tables_are_written_is_no_error(graded, tmp_path, capsys, monkeypatch):
    folder, whole = graded
    out = shutil.copytree(whole, tmp_path / "out")

    def stop(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("agentlib.course.grading.export.class_page", stop)
    assert main([*words(folder, out), "--resume"]) == 130
    assert "go on with --resume" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_stays_as_it_was(tmp_path):
    write_whole(tmp_path / "a", "old")

    def parts():
        yield "new"
        raise OSError(errno.ENOSPC, "no room")

    with pytest.raises(OSError, match="no room") as caught:
        write_whole(tmp_path / "a", parts())
    assert caught.value.filename == str(tmp_path / "a")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a", "old")]
