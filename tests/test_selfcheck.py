"""The self-check says in plain words what is missing, and does not complain when nothing is."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from agentlib.course import selfcheck
from agentlib.course.selfcheck import SelfCheckReport, self_check

PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8"))["project"]


def everything(name: str) -> str:
    return "1.0"


def everything_but(*missing: str):
    def version_of(name: str) -> str:
        if name in missing:
            raise PackageNotFoundError(name)
        return "1.0"

    return version_of


def test_here_nothing_is_missing():
    report = self_check()
    assert report.ready, str(report)
    assert str(report).endswith("Everything is here. You can start.")


def test_it_looks_at_every_package_that_the_lessons_load():
    names = {re.split(r"[<>=! ]", line)[0] for line in PROJECT["dependencies"]}
    without_these_nothing_runs = {"pydantic", "pydantic-core", "typing-extensions"}
    only_for_grading = {"Jinja2", "psutil"}
    assert set(selfcheck.PACKAGES) == names - without_these_nothing_runs - only_for_grading


def test_it_wants_the_versions_of_python_that_the_package_wants():
    oldest, newest = selfcheck.OLDEST_PYTHON, selfcheck.NEWEST_PYTHON
    wanted = f">={oldest[0]}.{oldest[1]},<{newest[0]}.{newest[1] + 1}"
    assert PROJECT["requires-python"] == wanted


@pytest.mark.parametrize(
    ("python", "ready"), [((3, 10), False), ((3, 11), True), ((3, 14), True), ((3, 15), False)]
)
def test_a_python_outside_the_range_is_named_with_the_range(python, ready):
    report = self_check(python=python, version_of=everything)
    assert report.ready is ready
    assert f"Python {python[0]}.{python[1]}" in str(report)
    assert ("Python 3.11 to 3.14" in str(report)) is not ready


def test_a_missing_package_is_named_with_what_it_is_for_and_what_to_do():
    report = self_check(python=(3, 12), version_of=everything_but("ipywidgets"))
    assert report.problems == ("is not installed: it shows sliders",)
    line = next(line for line in str(report).splitlines() if "ipywidgets" in line)
    assert re.fullmatch("look here +ipywidgets +is not installed: it shows sliders", line)
    assert "1 thing needs a look." in str(report)
    # from `notebooks` itself pip does not find what requirements.txt names by a path, such as the course
    assert "%cd ..  and  %pip install -r requirements.txt" in str(report)


def test_several_missing_packages_are_all_named():
    report = self_check(python=(3, 12), version_of=everything_but("ipywidgets", "matplotlib"))
    assert len(report.problems) == 2
    assert "2 things need a look." in str(report)


@pytest.mark.parametrize(("version", "ready"), [("8.1.8", True), ("8.1.9", False), ("8.1.10", True)])
def test_the_one_release_of_ipywidgets_that_shows_nothing_in_vs_code_is_named(version, ready):
    report = self_check(python=(3, 12), version_of=lambda name: version)
    assert report.ready is ready
    assert ("VS Code" in str(report)) is not ready


def test_a_loop_that_does_not_work_is_reported(monkeypatch):
    # The learner's copy of agentlib may have been changed; here the lab's script is one reply short.
    monkeypatch.setattr(selfcheck.blue_mugs, "SCRIPT", selfcheck.blue_mugs.SCRIPT[:3])
    report = self_check(python=(3, 12), version_of=everything)
    assert len(report.problems) == 1
    assert "ended with 'model error'" in str(report)


def test_shown_in_a_cell_it_reads_as_when_printed():
    report = self_check(python=(3, 12), version_of=everything)
    assert repr(report) == str(report)
    assert str(SelfCheckReport(())) == "Everything is here. You can start."
