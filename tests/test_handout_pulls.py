"""A hub's pull (nbgitpuller) of a handout that both sides have changed: what a learner wrote is never lost.

Needs the extra `hub`: `pip install -e ".[hub]"`.
"""

import json
import random
import shutil
import subprocess
from pathlib import Path

import nbformat
import pytest

from agentlib.course.hub.handout import make_handout
from agentlib.course.originals import change_in, changes_in_folder, sources_of
from agentlib.course.reset_command import reset_notebook

puller = pytest.importorskip("nbgitpuller.pull", reason='no nbgitpuller here: pip install -e ".[hub]"')

ROOT = Path(__file__).parent.parent
LESSON = "notebooks/02_blue_mugs.ipynb"
EXERCISE = "exercises/ex01_write_the_loop.ipynb"
MINE = "def run_agent(model, tools, goal, max_steps=10):\n    return 'mine'"


def git(folder, *words):
    command = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def handed_out(tmp_path_factory):
    """A handout of one lesson, and the bare repository that it was pushed to."""
    folder = tmp_path_factory.mktemp("handed_out")
    course = folder / "course"
    (course / "notebooks").mkdir(parents=True)
    for name in (
        "README.md",
        "LICENSE",
        "pyproject.toml",
        "requirements.txt",
        LESSON,
        "notebooks/glossary.md",
    ):
        shutil.copy(ROOT / name, course / name)
    (course / "agentlib").symlink_to(ROOT / "agentlib", target_is_directory=True)
    make_handout(folder / "handout", course_dir=course, build=lambda *_: _wheel(folder))
    git(folder, "clone", "-q", "--bare", "handout", "up.git")
    git(folder / "handout", "remote", "add", "origin", "../up.git")
    return folder


def _wheel(folder):
    path = folder / "agentlib_course-0-py3-none-any.whl"
    path.write_bytes(b"a wheel")
    return path


class Class:
    """A teacher with a handout, and a learner who has pulled it."""

    def __init__(self, folder):
        self.up, self.teacher, self.home = folder / "up.git", folder / "handout", folder / "home"

    def pull(self):
        made = puller.GitPuller(f"file://{self.up}", str(self.home), branch="main")
        return [line.strip() for line in made.pull()]

    def mend(self, name, cell, source, *, rename=None):
        """The course changes one cell of a notebook; the teacher updates the handout and pushes."""
        set_source(self.teacher / name, cell, source)
        if rename:
            (self.teacher / name).rename(self.teacher / rename)
        self.push()

    def push(self):
        """As the command does it: what was changed by hand is handed out, with the earlier texts."""
        git(self.teacher, "add", "-A")
        git(self.teacher, "commit", "-qm", "mended")
        course = self.teacher.parent / "course"
        make_handout(self.teacher, course_dir=course, build=lambda *_: _wheel(self.teacher.parent))
        git(self.teacher, "push", "-q", "origin", "HEAD:main")


@pytest.fixture
def both(handed_out, tmp_path):
    shutil.copytree(handed_out, tmp_path / "class", symlinks=True)
    found = Class(tmp_path / "class")
    found.pull()
    return found


def set_source(path, cell, source):
    """Change one cell of a notebook, and save it as JupyterLab does."""
    notebook = nbformat.read(path, as_version=4)
    (found,) = [one for one in notebook.cells if one.id == cell]
    found.source = source
    nbformat.write(notebook, path)


def run_all(path, rng):
    """Outputs as a learner's own run leaves them."""
    notebook = nbformat.read(path, as_version=4)
    for number, cell in enumerate(one for one in notebook.cells if one.cell_type == "code"):
        cell.execution_count = number + 20
        cell.outputs = [nbformat.v4.new_output("stream", text=f"{rng.random()}\n")]
    nbformat.write(notebook, path)


def test_both_changed_other_cells_and_both_stay(both):
    set_source(both.home / EXERCISE, "ex01-solution", MINE)
    both.mend(EXERCISE, "ex01-title", "# A mended title")
    both.pull()
    sources = sources_of(both.home / EXERCISE)
    assert (sources["ex01-solution"], sources["ex01-title"]) == (MINE, "# A mended title")
    assert changes_in_folder(both.home) == []


def test_both_changed_the_same_cell_the_learners_stays_and_the_change_is_said(both):
    set_source(both.home / EXERCISE, "ex01-solution", MINE)
    stub = sources_of(both.teacher / EXERCISE)["ex01-solution"]
    both.mend(EXERCISE, "ex01-solution", stub.replace("max_steps=10", "max_steps=12"))
    both.pull()
    assert sources_of(both.home / EXERCISE)["ex01-solution"] == MINE
    change = change_in(both.home / EXERCISE, both.home)
    assert change
    assert change.known
    reset_notebook("ex01", both.home)
    assert "max_steps=12" in sources_of(both.home / EXERCISE)["ex01-solution"]
    (kept,) = (both.home / "exercises").glob("*.before_*")
    assert sources_of(kept)["ex01-solution"] == MINE
    both.pull()
    assert sources_of(kept)["ex01-solution"] == MINE
    assert changes_in_folder(both.home) == []


def test_a_text_that_both_have_changed_is_said_not_lost_in_silence(both):
    first = next(iter(sources_of(both.home / LESSON)))
    set_source(both.home / LESSON, first, "# My title\n\nMy notes.")
    both.mend(LESSON, first, "# The mended title\n\nMended words.")
    both.pull()
    assert sources_of(both.home / LESSON)[first] == "# My title\n\nMy notes."
    (change,) = changes_in_folder(both.home)
    assert change.file.name == Path(LESSON).name
    assert sources_of(both.home / "course_copy" / LESSON)[first] == "# The mended title\n\nMended words."


def test_a_lesson_that_was_only_run_takes_the_mended_text(both):
    run_all(both.home / LESSON, random.Random(1))
    cell = list(sources_of(both.home / LESSON))[2]
    both.mend(LESSON, cell, "A mended text.")
    both.pull()
    assert sources_of(both.home / LESSON)[cell] == "A mended text."
    assert changes_in_folder(both.home) == []


def test_what_the_learner_deleted_comes_back(both):
    (both.home / EXERCISE).unlink()
    shutil.rmtree(both.home / "course_copy")
    both.mend(LESSON, list(sources_of(both.teacher / LESSON))[2], "A mended text.")
    both.pull()
    assert (both.home / EXERCISE).read_bytes() == (both.teacher / EXERCISE).read_bytes()
    assert (both.home / "course_copy" / EXERCISE).is_file()


def test_a_learners_file_with_a_name_that_the_course_brings_gets_a_date(both):
    (both.home / "notebooks" / "99_new.ipynb").write_text("my own")
    shutil.copy(both.teacher / LESSON, both.teacher / "notebooks" / "99_new.ipynb")
    both.push()
    both.pull()
    mine = [path for path in (both.home / "notebooks").glob("99_new*") if path.read_text() == "my own"]
    assert [path.name[:8] for path in mine] == ["99_new__"]
    assert (both.home / "notebooks" / "99_new.ipynb").read_bytes() == (both.teacher / LESSON).read_bytes()


def test_what_the_course_takes_away_stays_if_the_learner_has_written_in_it(both):
    set_source(both.home / EXERCISE, "ex01-solution", MINE)
    (both.teacher / EXERCISE).unlink()
    both.push()
    both.pull()
    assert sources_of(both.home / EXERCISE)["ex01-solution"] == MINE


def test_what_the_course_renames_carries_the_learners_lines_along(both):
    set_source(both.home / LESSON, list(sources_of(both.home / LESSON))[3], "MINE = 1")
    both.mend(LESSON, list(sources_of(both.teacher / LESSON))[5], "Mended.", rename="notebooks/03_mugs.ipynb")
    both.pull()
    assert "MINE = 1" in "".join(path.read_text() for path in (both.home / "notebooks").glob("0*.ipynb"))


def test_a_rename_onto_a_learners_own_file_stops_the_pull_and_loses_nothing(both):
    """nbgitpuller moves aside what stands in the way of a new file, not of a renamed one."""
    (both.home / "notebooks" / "03_mugs.ipynb").write_text("my own")
    both.mend(LESSON, list(sources_of(both.teacher / LESSON))[5], "Mended.", rename="notebooks/03_mugs.ipynb")
    with pytest.raises(subprocess.CalledProcessError):
        both.pull()
    assert (both.home / "notebooks" / "03_mugs.ipynb").read_text() == "my own"
    assert (both.home / LESSON).is_file()


def test_a_forced_push_breaks_the_next_pull_of_a_learner_and_loses_nothing(both):
    """Why TEACHING.md and the command say never."""
    set_source(both.home / EXERCISE, "ex01-solution", MINE)
    set_source(both.teacher / LESSON, list(sources_of(both.teacher / LESSON))[2], "Mended.")
    git(both.teacher, "checkout", "-q", "--orphan", "anew")
    git(both.teacher, "commit", "-qam", "anew")
    git(both.teacher, "push", "-qf", "origin", "HEAD:main")
    with pytest.raises(subprocess.CalledProcessError):
        both.pull()
    assert sources_of(both.home / EXERCISE)["ex01-solution"] == MINE


def test_any_mix_of_changes_leaves_notebooks_that_open_and_all_that_the_learner_wrote(both):
    rng = random.Random(17)
    for round_number in range(4):
        notebook = nbformat.read(both.home / LESSON, as_version=4)
        place = rng.randrange(len(notebook.cells))
        notebook.cells[place].source = f"mine {round_number}"
        notebook.cells.insert(
            rng.randrange(len(notebook.cells)), nbformat.v4.new_code_cell(f"own = {round_number}")
        )
        nbformat.write(notebook, both.home / LESSON)
        run_all(both.home / LESSON, rng)
        theirs = nbformat.read(both.teacher / LESSON, as_version=4)
        theirs.cells[rng.randrange(len(theirs.cells))].source = f"theirs {round_number}"
        theirs.cells.insert(
            rng.randrange(len(theirs.cells)), nbformat.v4.new_markdown_cell(f"new {round_number}")
        )
        nbformat.write(theirs, both.teacher / LESSON)
        both.push()
        both.pull()
        merged = json.loads((both.home / LESSON).read_bytes())
        texts = ["".join(cell["source"]) for cell in merged["cells"]]
        wanted = [cell.source for cell in notebook.cells if cell.source.startswith(("mine", "own"))]
        assert [text for text in wanted if text not in texts] == []
        nbformat.validate(merged)
