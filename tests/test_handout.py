"""The learners' folder: what is in it and what is not, its links, and updates on top of what is there."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import nbformat
import pytest

from agentlib.course.cli import main
from agentlib.course.errors import HandoutError
from agentlib.course.exercises import EXERCISES
from agentlib.course.hub import handout
from agentlib.course.hub.handout import make_handout
from agentlib.course.originals import sources_of
from tests.notebook_checks import (
    html_links,
    joined,
    link_problem,
    links_lead_somewhere,
    markdown_links,
    without_code,
)

ROOT = Path(__file__).parent.parent
LESSON = "notebooks/02_blue_mugs.ipynb"
WHEEL = "agentlib_course-0.2.0-py3-none-any.whl"

if shutil.which("git") is None:
    pytest.skip("the handout is a git repository: install git", allow_module_level=True)


def wheel(course_dir, folder):
    """In place of the real one, which takes seconds and a network."""
    path = folder / WHEEL
    path.write_bytes(b"a wheel")
    return path


def git(folder, *words):
    command = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The handout of the course as it is, to look at."""
    out = tmp_path_factory.mktemp("made") / "handout"
    make_handout(out, build=wheel)
    return out


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course with one lesson, to be changed by the tests; each begins with it as it was."""
    folder = tmp_path_factory.mktemp("course")
    (folder / "notebooks").mkdir()
    for name in ("README.md", "LICENSE", "pyproject.toml", "requirements.txt"):
        shutil.copy(ROOT / name, folder / name)
    for name in (LESSON, "notebooks/glossary.md"):
        shutil.copy(ROOT / name, folder / name)
    (folder / "agentlib").symlink_to(ROOT / "agentlib", target_is_directory=True)
    return folder


@pytest.fixture
def update(course, tmp_path):
    """Make or update a handout of that course in a folder of this test's own."""
    shutil.copy(ROOT / LESSON, course / LESSON)
    (course / "notebooks" / "99_new.ipynb").unlink(missing_ok=True)
    out = tmp_path / "handout"

    def run(*take):
        return make_handout(out, take, course_dir=course, build=wheel)

    run()
    return run


def change(path, number, source):
    """Change the text of one cell, as JupyterLab saves it. Gives the cell's id."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[number].source = source
    nbformat.write(notebook, path)
    return notebook.cells[number].id


def test_it_holds_lessons_exercises_and_no_inside_of_the_course(made):
    names = {path.name for path in made.iterdir()}
    assert names == {
        "notebooks", "exercises", "course_copy", "agentlib_source", "README.md", "LICENSE",
        "requirements.txt", WHEEL, ".git", ".gitignore", ".gitattributes",
    }  # fmt: skip
    lessons = {path.name for path in (ROOT / "notebooks").glob("[0-9]*.ipynb")}
    assert {path.name for path in (made / "notebooks").glob("*.ipynb")} == lessons
    assert {path.stem for path in (made / "exercises").iterdir()} == set(EXERCISES)
    every = [path.relative_to(made).as_posix() for path in made.rglob("*") if ".git" not in path.parts]
    assert [name for name in every if re.search(r"solutions|/test_|/tests/|quick_checks|grading", name)] == []
    assert "BEGIN SOLUTION" not in "".join(path.read_text("utf-8") for path in made.rglob("*.ipynb"))
    assert git(made, "status", "--porcelain") == ""
    assert all(name.isascii() for name in every)  # a hub's pull does not find other names


def test_every_link_of_every_page_leads_somewhere(made):
    problems = []
    for path in made.rglob("*.ipynb"):
        problems += [f"{path}: {one}" for one in links_lead_somewhere(json.loads(path.read_bytes()), path)]
    pages = [path for path in made.rglob("*.md") if ".git" not in path.parts]
    for path in pages:
        text = without_code(path.read_text("utf-8"))
        links = [*markdown_links(text), *html_links(text)]
        problems += [f"{path}: {link}" for link in links if link_problem(link, path)]
    assert len(pages) > 5
    assert problems == []


def test_no_link_leads_out_of_the_handout(made):
    for path in (made / "notebooks").glob("*.ipynb"):
        cells = json.loads(path.read_bytes())["cells"]
        for link in markdown_links("\n".join(without_code(joined(cell["source"])) for cell in cells)):
            if "://" not in link and not link.startswith("#"):
                assert (path.parent / link.split("#")[0]).resolve().is_relative_to(made.resolve()), link


def test_a_notebook_is_written_as_jupyterlab_saves_it(made):
    """Else the first save changes every line, and each later pull meets a conflict there."""
    for path in made.rglob("*.ipynb"):
        text = path.read_text("utf-8")
        assert nbformat.writes(nbformat.reads(text, as_version=4)) + "\n" == text, path


def test_an_exercise_says_how_to_begin_anew_where_no_environment_is_called_venv(made):
    for path in (made / "exercises").iterdir():
        text = path.read_text("utf-8")
        assert f"`%run -m agentlib reset {path.name[:4]}`" in text
        assert ".venv" not in text


def test_the_requirements_install_the_course_from_the_handout_and_nothing_for_tests(made):
    lines = (made / "requirements.txt").read_text().splitlines()
    assert lines[-1] == f"./{WHEEL}"
    assert {line.split("==")[0] for line in lines[:-1]} == {
        "jupyterlab", "ipywidgets", "anywidget", "matplotlib", "pydantic", "platformdirs", "tqdm", "psutil",
        "Jinja2",
    }  # fmt: skip


def test_the_readme_has_every_lesson_and_exercise(made):
    text = (made / "README.md").read_text("utf-8")
    for path in [*(made / "notebooks").glob("*.ipynb"), *(made / "exercises").iterdir()]:
        assert f"]({path.relative_to(made).as_posix()})" in text
    assert "LESSONS" not in text
    assert "EXERCISES" not in text


def test_the_copy_holds_every_notebook_as_it_was_handed_out(made):
    for path in [*(made / "notebooks").rglob("*.*"), *(made / "exercises").iterdir()]:
        assert (made / "course_copy" / path.relative_to(made)).read_bytes() == path.read_bytes()


def test_a_teachers_own_solution_in_the_folder_of_exercises_is_not_handed_out(course, update, tmp_path):
    (course / "exercises").mkdir(exist_ok=True)
    shutil.copy(ROOT / "solutions" / "ex01_write_the_loop.ipynb", course / "exercises")
    update()
    handed_out = sources_of(tmp_path / "handout/exercises/ex01_write_the_loop.ipynb")
    assert "NotImplementedError" in handed_out["ex01-solution"]


# --- updates


def test_nothing_new_makes_no_commit(update, tmp_path):
    assert update().commit == ""
    assert git(tmp_path / "handout", "rev-list", "--count", "HEAD") == "1\n"


def test_an_update_is_one_commit_on_top_and_remembers_the_earlier_texts(course, update, tmp_path):
    out = tmp_path / "handout"
    first, was = git(out, "rev-parse", "HEAD"), sources_of(out / LESSON)
    cell = change(course / LESSON, 1, "A mended text.")
    done = update()
    assert done.changed == (LESSON,)
    assert git(out, "rev-parse", "HEAD~1") == first
    assert json.loads((out / "course_copy/handout.json").read_bytes())["earlier"] == {
        LESSON: {cell: [was[cell]]}
    }
    change(course / LESSON, 1, "Mended again.")
    update()
    assert json.loads((out / "course_copy/handout.json").read_bytes())["earlier"] == {
        LESSON: {cell: [was[cell], "A mended text."]}
    }


def test_a_new_cell_is_remembered_as_not_there_before(course, update, tmp_path):
    notebook = nbformat.read(course / LESSON, as_version=4)
    notebook.cells.insert(2, nbformat.v4.new_markdown_cell("New.", id="brand-new"))
    nbformat.write(notebook, course / LESSON)
    update()
    state = json.loads((tmp_path / "handout/course_copy/handout.json").read_bytes())
    assert state["earlier"] == {LESSON: {"brand-new": [""]}}


def test_a_lesson_comes_and_goes(course, update, tmp_path):
    out = tmp_path / "handout"
    shutil.copy(ROOT / LESSON, course / "notebooks" / "99_new.ipynb")
    assert update().changed == ("notebooks/99_new.ipynb",)
    (course / "notebooks" / "99_new.ipynb").unlink()
    assert update().changed == ("notebooks/99_new.ipynb",)
    assert not (out / "notebooks/99_new.ipynb").exists()
    assert not (out / "course_copy/notebooks/99_new.ipynb").exists()


def test_what_the_teacher_has_changed_added_or_deleted_stays_and_is_named(course, update, tmp_path):
    out = tmp_path / "handout"
    (out / "README.md").write_text("Our class meets on Monday.")
    (out / "dates.md").write_text("Monday")
    (out / "exercises/ex09_rescue_the_night.ipynb").unlink()
    cell = change(out / LESSON, 1, "The teacher's words.")
    git(out, "add", "-A")
    git(out, "commit", "-qm", "ours")
    change(course / LESSON, 1, "The course's words.")
    done = update()
    assert set(done.kept) == {"README.md", "exercises/ex09_rescue_the_night.ipynb", LESSON}
    assert (out / "README.md").read_text() == "Our class meets on Monday."
    assert (out / "dates.md").exists()
    assert not (out / "exercises/ex09_rescue_the_night.ipynb").exists()
    assert not (out / "course_copy/exercises/ex09_rescue_the_night.ipynb").exists()
    # Learners are told of the teacher's text, too.
    assert sources_of(out / "course_copy" / LESSON)[cell] == "The teacher's words."
    assert set(update().kept) == set(done.kept)
    assert update(LESSON, "README.md").kept == ("exercises/ex09_rescue_the_night.ipynb",)
    assert sources_of(out / LESSON)[cell] == "The course's words."


def test_a_file_of_the_teachers_with_a_name_that_the_course_brings_stays(course, update, tmp_path):
    out = tmp_path / "handout"
    (out / "notebooks/99_new.ipynb").write_text("mine")
    git(out, "add", "-A")
    git(out, "commit", "-qm", "mine")
    shutil.copy(ROOT / LESSON, course / "notebooks" / "99_new.ipynb")
    assert update().kept == ("notebooks/99_new.ipynb",)
    assert (out / "notebooks/99_new.ipynb").read_text() == "mine"


def test_an_empty_clone_is_filled(course, tmp_path):
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "up.git")
    git(tmp_path, "clone", "-q", "up.git", "handout")
    done = make_handout(tmp_path / "handout", course_dir=course, build=wheel)
    assert done.remote
    git(tmp_path / "handout", "push", "-q")


def test_what_the_teachers_git_ignores_everywhere_is_handed_out_all_the_same(course, update, tmp_path):
    out, ignored = tmp_path / "handout", tmp_path / "ignored"
    ignored.write_text("*.whl\n")
    git(out, "config", "core.excludesFile", str(ignored))

    def newer(course_dir, folder):
        return wheel(course_dir, folder).rename(folder / "agentlib_course-9-py3-none-any.whl")

    make_handout(out, course_dir=course, build=newer)
    assert git(out, "ls-files", "*.whl") == "agentlib_course-9-py3-none-any.whl\n"


# --- refusals


def other_things(out):
    out.mkdir()
    (out / "letter.txt").write_text("dear")


def a_file(out):
    out.write_text("")


def no_repository(out):
    shutil.rmtree(out / ".git")


def uncommitted(out):
    (out / "README.md").write_text("half a thought")


def broken_state(out):
    (out / "course_copy/handout.json").write_text("{")
    git(out, "commit", "-qam", "oh")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (other_things, "holds other things. Name a new folder"),
        (a_file, "is a file. Name a folder"),
        (no_repository, "clone the repository that you pushed"),
        (uncommitted, "changes that are not committed, such as README.md"),
        (broken_state, "cannot be read: .* Take it from an earlier commit"),
    ],
)
def test_a_folder_that_cannot_be_updated_gets_a_sentence_and_stays(course, update, tmp_path, spoil, said):
    out = tmp_path / "handout"
    if spoil in (other_things, a_file):
        out = tmp_path / "other"
    spoil(out)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.raises(HandoutError, match=said):
        make_handout(out, course_dir=course, build=wheel)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_where_there_are_no_notebooks_it_says_where_to_run_it(tmp_path):
    with pytest.raises(HandoutError, match="make the handout from a copy of the repository"):
        make_handout(tmp_path / "out", course_dir=tmp_path, build=wheel)


def test_the_command_says_how_to_push_and_never_by_force(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(handout, "build_wheel", wheel)
    out = tmp_path / "out"
    assert main(["handout", str(out)]) == 0
    said = capsys.readouterr().out
    assert f"git -C {out} push --set-upstream origin main" in said
    assert "Never push with --force" in said
    (out / "README.md").write_text("mine")
    git(out, "commit", "-qam", "mine")
    assert main(["handout", str(out)]) == 0
    said = capsys.readouterr().out
    assert said.splitlines()[1].endswith("To take the course's, add  --take README.md")
    assert main(["handout", str(tmp_path)]) == 2
    assert "holds other things" in capsys.readouterr().err


def test_without_git_it_says_so(tmp_path, monkeypatch, course):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HandoutError, match="git is not installed"):
        make_handout(tmp_path / "out", course_dir=course, build=wheel)
