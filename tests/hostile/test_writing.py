"""Results are written whole or not at all; whatever comes between is said, and a batch can go on."""

import errno
import json
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


EVERYWHERE = """
import contextlib, json, os, shutil, signal, sys
from concurrent.futures import ThreadPoolExecutor
from agentlib.course.cli import main
from agentlib.course.grading import BACKENDS, commands
from agentlib.course.grading.export import read_rows
folder, whole, out = sys.argv[1:]
rows = {row.student: row for row in read_rows(commands.Path(whole))}

@contextlib.contextmanager
def graders(arguments, limits):
    def work(task):
        return rows[task.submission.student]
    yield commands.Graders(ThreadPoolExecutor, 1, work, BACKENDS[-1])

def grade(kill_at=0, *more):
    if pid := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    def count(event, about):
        nonlocal kill_at
        changes = event in ("os.rename", "os.remove", "os.mkdir") or event == "open" and about[2] & os.O_CREAT
        if changes and out in str(about[0]):
            kill_at -= 1
            if kill_at == 0:
                if event == "os.rename":  # what was written last may not have come to the disk
                    os.truncate(about[0], os.path.getsize(about[0]) // 2)
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(count)
    os._exit(main(["grade", folder, "--out", out, "--quiet", "--workers", "1", *more]))

def content():
    paths = [path for path in commands.Path(out).rglob("*") if path.is_file()]
    return {str(path.relative_to(out)): path.read_bytes().decode() for path in paths}

commands.graders, version = graders, commands.course_version()
commands.course_version = lambda: version  # it reads the whole course
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
found = []
for begun in ([], ["--resume"]):
    for kill_at in range(1, 100):
        shutil.rmtree(out, ignore_errors=True)
        if begun:
            shutil.copytree(whole, out)
        code = grade(kill_at, *begun)
        if code == 0:
            break
        again = grade(0, "--resume")
        found.append((kill_at, *begun, code, again, content()))
json.dump(found, sys.stderr)
"""


def test_a_batch_that_is_killed_before_any_change_of_a_file_goes_on_to_the_same_tables(graded, tmp_path):
    folder, whole = graded
    command = [sys.executable, "-c", EVERYWHERE, *map(str, (folder, whole, tmp_path / "out"))]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stderr)
    wanted = {name: data.decode() for name, data in content(whole).items()}
    assert len(found) > 3 * len(wanted)
    assert [steps[:-1] for steps in found if steps[-3:] != [-signal.SIGKILL, 0, wanted]] == []


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
