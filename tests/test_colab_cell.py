"""The cell of lesson 00 that installs the course on Google Colab: there alone, from the one address."""

import json
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from agentlib.course.make import made_by_spec

ROOT = Path(__file__).parent.parent
START = ROOT / "notebooks" / "00_start_here.ipynb"


def source():
    cells = json.loads(START.read_text(encoding="utf-8"))["cells"]
    (cell,) = [cell for cell in cells if cell["id"] == "colab"]
    return "".join(cell["source"]), cell["outputs"]


class Shell:
    """What the cell asks IPython to do."""

    def __init__(self):
        self.asked = []

    def system(self, line):
        self.asked.append(f"!{line}")

    def run_line_magic(self, name, line):
        self.asked.append(f"%{name} {line}")


def run(address=""):
    shell = Shell()
    text = re.sub('REPOSITORY = "[^"]*"', f'REPOSITORY = "{address}"', source()[0])
    exec(text, {"get_ipython": lambda: shell})
    return shell.asked


@pytest.fixture
def colab(monkeypatch):
    """A stand-in for what Colab has loaded."""
    module = ModuleType("google.colab")
    module.output = ModuleType("output")
    module.widgets = []
    module.output.enable_custom_widget_manager = lambda: module.widgets.append(True)
    monkeypatch.setitem(sys.modules, "google.colab", module)
    return module


def test_elsewhere_it_does_and_says_nothing(capsys):
    assert source()[1] == []
    assert run("https://example.org/course.git") == []
    assert capsys.readouterr().out == ""


def test_on_colab_it_gets_the_files_installs_the_course_and_turns_widgets_on(colab):
    assert run("https://example.org/course.git") == [
        "!git clone -q --depth 1 https://example.org/course.git /content/course",
        "%cd -q /content/course/notebooks",
        "%pip install -q $(ls ../*.whl 2> /dev/null || echo ..)",
    ]
    assert colab.widgets == [True]


def test_on_colab_without_an_address_it_says_what_to_put_there(colab, capsys):
    assert run() == []
    assert "Write the address of the course's git repository" in capsys.readouterr().out


def test_the_address_comes_from_pyproject_alone(tmp_path):
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    known = tomllib.loads(text)["project"]["urls"].get("Repository", "")
    assert f'REPOSITORY = "{known}"' in source()[0]
    for name in ("README.md", "notebooks", "solutions"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "pyproject.toml").write_text(
        re.sub(
            r"\[project.urls\](\nRepository.*)?",
            '[project.urls]\nRepository = "https://example.org/c.git"',
            text,
        ),
        "utf-8",
    )
    made = {path.name: content for path, content in made_by_spec(tmp_path)}
    cells = json.loads(made[START.name])["cells"]
    (cell,) = [cell for cell in cells if cell["id"] == "colab"]
    assert 'REPOSITORY = "https://example.org/c.git"  # where' in "".join(cell["source"])
