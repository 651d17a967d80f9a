"""README names the two commands; it and the pages behind it name nothing that is not there."""

import re
import shlex
import tomllib
from dataclasses import asdict
from pathlib import Path

import pytest
from readme_commands import readme_commands, windows_form

from agentlib.course.cli import build_parser, parse
from agentlib.course.grading import BACKENDS, Limits
from agentlib.course.grading.grade import CRASHED, GRADED, NOT_STARTED, TAMPERED, TIMED_OUT, UNREADABLE
from tests.notebook_checks import link_problem, markdown_links, without_code

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
TEACHING = ROOT / "TEACHING.md"
TEACHING_TEXT = TEACHING.read_text(encoding="utf-8")
CONTRIBUTING = ROOT / ".github" / "CONTRIBUTING.md"
CHANGELOG = ROOT / ".github" / "CHANGELOG.md"
# What an instructor makes by following the page, and what somebody adds whose NAME nobody knows.
MADE = re.compile(r"submitted|results|feedback/|class/|sqlite:|tcp:|ann_|.*NAME|tests/zoo/ex10")
pages = pytest.mark.parametrize("page", [README, TEACHING, CONTRIBUTING], ids=lambda page: page.name)

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
    assert windows_form(START) == (
        "py -m venv .venv; "
        ".venv\\Scripts\\pip install -q -r requirements.txt; "
        ".venv\\Scripts\\python -m agentlib lab"
    )
    assert windows_form(TEST) == ".venv\\Scripts\\pytest"
    for command in (START, TEST):
        assert f"```\n{windows_form(command)}\n```" in TEXT


@pages
def test_every_link_leads_somewhere(page):
    found = markdown_links(without_code(page.read_text(encoding="utf-8")))
    assert found
    assert [f"{link} {problem}" for link in found if (problem := link_problem(link, page))] == []


@pages
def test_every_path_is_there(page):
    paths = [path for path in named_paths(page.read_text(encoding="utf-8")) if not MADE.match(path)]
    assert "solutions/" in paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


def commands(text: str) -> list[list[str]]:
    """The words behind `python -m agentlib` in each command line of a page."""
    lines = [
        line
        for block in re.findall(r"^```\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        for line in block.splitlines()
    ]
    return [shlex.split(line.split(" -m agentlib ")[1]) for line in lines if " -m agentlib " in line]


@pages
def test_every_command_is_one_that_the_course_has(page):
    found = commands(page.read_text(encoding="utf-8"))
    assert found
    for words in found:
        assert callable(parse(words).run)


def test_every_flag_of_the_page_on_teaching_is_in_the_help_of_grade_or_gradebook_or_check():
    (choices,) = (action.choices for action in build_parser()._actions if isinstance(action.choices, dict))
    known = {
        flag
        for name in ("grade", "gradebook", "check", "record")
        for action in choices[name]._actions
        for flag in action.option_strings
    }
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", TEACHING_TEXT))
    assert {"--require-isolation", "--resume", "--workers", "--seed", "--dask", "--format", "--db"} <= named
    assert named - known == set()
    for flags in re.findall(r"\| `(--[^`]+)` \|", TEACHING_TEXT):
        parse(["grade", "in", "--out", "out", *flags.split()])


def test_the_page_on_teaching_has_every_way_of_isolation_in_order_and_every_status():
    table = TEACHING_TEXT.split("## What is isolated")[1].split("\n\nWith")[0]
    ways = [
        name
        for row in re.findall(r"^\| (`.+?) \|", table, re.MULTILINE)
        for name in re.findall("`(.+?)`", row)
    ]
    assert ways == [backend.name for backend in BACKENDS]
    for status in (GRADED, NOT_STARTED, TIMED_OUT, CRASHED, UNREADABLE, TAMPERED):
        assert f"`{status}`" in TEACHING_TEXT


def test_the_page_on_teaching_names_the_defaults_of_limits_and_seed():
    table = TEACHING_TEXT.split("| limit | default |")[1].split("\n\n")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", table, re.MULTILINE))
    assert rows.pop("call_seconds") == "as the exercise says: 5, in exercise 9 up to 30"
    assert {name: float(default) for name, default in rows.items()} == {
        name: asdict(Limits())[name]
        for name in ("cell_seconds", "wall_seconds", "cpu_seconds", "memory_mb", "processes")
    }
    assert "Without it the number is 0, which everybody knows" in TEACHING_TEXT


def test_the_extras_that_a_page_names_are_there():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    every_text = "".join(page.read_text(encoding="utf-8") for page in (README, TEACHING, CONTRIBUTING))
    named = set(",".join(re.findall(r'-e "\.\[([\w,]+)\]"', every_text)).split(",")) - {"NAME"}
    assert {"sandbox", "cluster", "teach", "browser", "dev"} <= named
    assert named <= set(project["optional-dependencies"])


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
