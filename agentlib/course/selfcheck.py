"""Is everything here that the course needs? Says in plain words what is missing, and what to do about it."""

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from agentlib._platform import HERE, Platform
from agentlib.course.newer import newer_on_site, site_file
from agentlib.course.originals import Change, changes_in_folder, course_folder
from agentlib.labs import blue_mugs
from agentlib.loop import run_agent

__all__ = ["Finding", "SelfCheckReport", "self_check"]

OLDEST_PYTHON = (3, 11)
NEWEST_PYTHON = (3, 14)

PACKAGES = {
    "matplotlib": "draws the plots",
    "ipywidgets": "shows sliders",
    "anywidget": "shows the player",
    "platformdirs": "finds the folder for your progress",
    "tqdm": "shows how far a long cell is",
}
"""What the lessons load, by the name that pip knows, and what for.

What `import agentlib` itself needs is not here: without it no line of this module would run.
"""

IN_A_BROWSER = (
    "Python runs in this page. A cell that does not end cannot be interrupted: choose Kernel, Restart "
    "Kernel. A model of your own, grading a class and the command line need Python on a computer."
)
NOT_KEPT = "This page keeps no files: what you write and answer here is lost when you close it."
REPAIR_PAGE = "Load this page anew. If that does not help, try another browser."
REPAIR = (
    "Run these two lines in a cell of their own, then restart the kernel:  %cd ..  and  "
    "%pip install -r requirements.txt"
)


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    what: its name and version. purpose: what the course needs it for.
    problem: what is wrong, in words; "" = nothing.
    """

    what: str
    purpose: str
    problem: str = ""


@dataclass(frozen=True)
class SelfCheckReport:
    """All findings; printed, it is a list with one line a finding and one sentence at the end.

    repair: what to do where something is missing. notes: what is so on this platform, and what the course has
    changed in the learner's notebooks.
    """

    findings: tuple[Finding, ...]
    repair: str = REPAIR
    notes: tuple[str, ...] = ()

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, in words; empty = nothing."""
        return tuple(finding.problem for finding in self.findings if finding.problem)

    @property
    def ready(self) -> bool:
        """True if nothing is wrong."""
        return not self.problems

    def __str__(self) -> str:
        width = max((len(finding.what) for finding in self.findings), default=0)
        lines = []
        for finding in self.findings:
            mark = "look here" if finding.problem else "ok"
            lines.append(f"{mark:<9}  {finding.what:<{width}}  {finding.problem or finding.purpose}")
        count = len(self.problems)
        if self.ready:
            lines.append("Everything is here. You can start.")
        else:
            lines.append(f"{count} {'thing needs' if count == 1 else 'things need'} a look. {self.repair}")
        lines.extend(self.notes)
        return "\n".join(lines)

    __repr__ = __str__


def self_check(
    python: tuple[int, int] = sys.version_info[:2],
    version_of: Callable[[str], str] = metadata.version,
    platform: Platform = HERE,
    folder: Path | None = None,
) -> SelfCheckReport:
    """Look at Python, the packages, one run of the loop and what the course has changed; never raises.

    python: the two numbers of the version. version_of: gives the version of an installed package, and
    raises importlib.metadata.PackageNotFoundError for one that is not installed.
    folder: the learner's folder of the course; None = it is found from the working folder.
    """
    packages = [_package(name, purpose, version_of, platform) for name, purpose in PACKAGES.items()]
    findings = (_python(python), *packages, _one_run())
    if not platform.browser:
        folder = folder or course_folder()
        changes: list[Change] = []
        with suppress(OSError):  # a folder that cannot be read says nothing about what is missing here
            changes = changes_in_folder(folder) if folder else []
        return SelfCheckReport(findings, notes=tuple(str(change) for change in changes))
    notes = newer_on_site(platform.drive, site_file) if platform.drive else [NOT_KEPT]
    return SelfCheckReport(findings, REPAIR_PAGE, (IN_A_BROWSER, *notes))


def _python(python: tuple[int, int]) -> Finding:
    what = f"Python {python[0]}.{python[1]}"
    problem = ""
    if not OLDEST_PYTHON <= python <= NEWEST_PYTHON:
        oldest, newest = (f"{major}.{minor}" for major, minor in (OLDEST_PYTHON, NEWEST_PYTHON))
        problem = f"the course is made for Python {oldest} to {newest}: make its environment with one of them"
    return Finding(what, "runs the notebooks", problem)


def _package(name: str, purpose: str, version_of: Callable[[str], str], platform: Platform) -> Finding:
    try:
        version = version_of(name)
    except metadata.PackageNotFoundError:
        if platform.browser and name == "matplotlib":
            return Finding(name, "comes with the first plot; where it cannot, a table stands in its place")
        return Finding(name, purpose, f"is not installed: it {purpose}")
    # https://github.com/microsoft/vscode-jupyter/issues/17504
    if (name, version) == ("ipywidgets", "8.1.9"):
        return Finding(f"{name} {version}", purpose, "shows no sliders in VS Code; version 8.1.8 does")
    return Finding(f"{name} {version}", purpose)


def _one_run() -> Finding:
    what, purpose = "agentlib's loop", "answers the question of notebook 02 in 4 steps"
    run = run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL)
    if (run.stopped, run.steps) == ("answered", 4):
        return Finding(what, purpose)
    return Finding(what, purpose, f"ended with {run.stopped!r} after {run.steps} steps, not answered after 4")
