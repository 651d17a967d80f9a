"""README names the two commands, and nothing that is not there."""

import re
from pathlib import Path

import pytest
from readme_commands import readme_commands

from tests.notebook_checks import link_problem, markdown_links, without_code

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

START = (
    "python3 -m venv .venv && "
    ".venv/bin/pip install -q -r requirements.txt && "
    ".venv/bin/python -m agentlib lab"
)
TEST = ".venv/bin/pytest"


def named_paths(text: str) -> list[str]:
    """The files and folders of the repository that stand in `code`: words with a slash or a known ending."""
    words = [word for code in re.findall(r"`([^`\n]+)`", text) for word in code.split()]
    return [
        word
        for word in words
        if not word.startswith((".venv", "-", "http")) and re.search(r"/|\.(py|md|txt|toml|ipynb)$", word)
    ]


def test_the_two_commands():
    assert readme_commands(TEXT) == {"start": START, "test": TEST}


def test_the_windows_form_is_the_same_line():
    windows = START.replace("python3", "py").replace(" && ", "; ").replace(".venv/bin/", ".venv\\Scripts\\")
    assert f"```\n{windows}\n```" in TEXT
    assert "```\n.venv\\Scripts\\pytest\n```" in TEXT


def test_every_link_leads_somewhere():
    found = markdown_links(without_code(TEXT))
    assert found
    assert [f"{link} {problem}" for link in found if (problem := link_problem(link, README))] == []


def test_every_path_is_there():
    paths = named_paths(TEXT)
    assert "agentlib/loop.py" in paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_map_has_every_lesson_once_and_in_order():
    row = r"^\| \[\d\d [^\]]+\]\(notebooks/(\w+)\.ipynb\) \| .+ \| \d+(?: \+ \d+)? \|$"
    mapped = re.findall(row, TEXT, re.MULTILINE)
    assert mapped == [path.stem for path in NOTEBOOKS]


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("see `agentlib/loop.py` and `tests/`", ["agentlib/loop.py", "tests/"]),
        ("`LICENSE` `GOAL` `model()` `--port`", []),
        ("`.venv/bin/pytest tests/bench`", ["tests/bench"]),
        ("`bash .ci/run`, `requirements.txt`", [".ci/run", "requirements.txt"]),
    ],
)
def test_named_paths(text, paths):
    assert named_paths(text) == paths


def test_the_commands_are_the_first_two_code_blocks():
    text = "# A\n\n```\none\n```\n\nwords\n\n```sh\ntwo && three\n```\n\n```\nfour\n```\n"
    assert readme_commands(text) == {"start": "one", "test": "two && three"}


@pytest.mark.parametrize(
    "text", ["", "```\none\n```\n", "```\none\n```\n```\ntwo\nthree\n```\n", "```\n\n```\n```\na\n```\n"]
)
def test_a_readme_without_two_command_lines_is_refused(text):
    with pytest.raises(ValueError, match="code block"):
        readme_commands(text)
