"""Importing does nothing, exports are explicit, and the names that the course uses stay."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from agentlib import answer, ask, run_agent
from agentlib.course import try_it
from agentlib.models import ScriptedModel
from agentlib.watch import watch

PACKAGE = Path(__file__).parent.parent / "agentlib"
CORE = [
    "errors",
    "messages",
    "_history",
    "tools",
    "costs",
    "models",
    "stops",
    "memory",
    "trace",
    "_run",
    "loop",
]
STAYING = [
    "from agentlib import run_agent, ask, answer, Run",
    "from agentlib import stops",
    "from agentlib import tool, Trace, errors",
    "from agentlib.stops import StepLimit, TokenBudget, CoinBudget, CostBudget, Deadline, RepeatedCall",
    "from agentlib.stops import NoProgress, TooManyErrors, ToolCalled, Cancelled",
    "from agentlib.errors import FatalToolError",
    "from agentlib.labs import weather, blue_mugs, shop, capitals, trains",
    "from agentlib.course import check, progress, self_check, try_it",
    "from agentlib.watch import fork, watch",
    "from agentlib.views import plots, quiz, tracer",
]
CHANGELOG = PACKAGE.parent / ".github" / "CHANGELOG.md"
# The table of what has moved: what one writes now, and what one wrote before.
MOVED = re.findall(
    r"^\| `(from .+?)` \| `(from .+?)` \|$", CHANGELOG.read_text(encoding="utf-8"), re.MULTILINE
)


@pytest.mark.parametrize(("now", "before"), MOVED)
def test_the_imports_of_the_version_before_still_give_the_same(now, before):
    assert len(MOVED) == 7
    found, same = {}, {}
    exec(now, found)
    exec(before, same)
    name = now.split()[-1]
    if name == "record":  # a module: its place is new, what it gives is not
        assert found[name].load_recordings is same[name].load_recordings
    else:
        assert found[name] is same[name]


@pytest.mark.parametrize("statement", STAYING)
def test_the_imports_that_the_course_uses_work(statement):
    exec(statement, {})


@pytest.mark.parametrize("name", CORE)
def test_each_module_of_the_core_says_what_it_exports_and_has_it(name):
    module = importlib.import_module(f"agentlib.{name}")
    assert module.__all__ == sorted(
        module.__all__, key=lambda each: (not each.isupper(), not each[0].isupper(), each)
    )
    assert [each for each in module.__all__ if not hasattr(module, each)] == []
    assert module.__doc__


def test_the_package_is_typed():
    assert (PACKAGE / "py.typed").exists()


def test_importing_prints_nothing_starts_no_thread_writes_no_file_and_draws_no_random_number(tmp_path):
    code = (
        "import os, random, sys, threading\n"
        "random.seed(3); state = random.getstate(); modules = set(sys.modules)\n"
        "import agentlib, agentlib.labs.shop, agentlib.labs.blue_mugs\n"
        "assert threading.active_count() == 1\n"
        "assert random.getstate() == state\n"
        "assert os.listdir('.') == []\n"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(PACKAGE.parent), "PATH": "", "SYSTEMROOT": ""},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("name", CORE)
def test_no_module_of_the_core_keeps_anything_that_a_run_changes(name):
    """Two runs share no list, dict or set of a module."""
    module = importlib.import_module(f"agentlib.{name}")
    kept = {key: repr(value) for key, value in vars(module).items() if isinstance(value, (list, dict, set))}
    kept.pop("__builtins__", None)
    run_agent(ScriptedModel([ask("look"), None, answer("done")]), {"look": lambda: {1}}, "Goal")
    assert {key: repr(vars(module)[key]) for key in kept} == kept


def test_the_bounds_of_watch_and_try_it_go_by_their_first_names_too():
    def loop(model, tools, goal, max_steps=10):
        while True:
            model([])

    asks = lambda history: ask("look")  # noqa: E731
    trace = watch(loop, asks, {}, "Goal", most_calls=3)
    assert [event.kind for event in trace.events].count("ask") == 3
    assert "asked the model 4 times" in try_it(loop, asks, {}, "Goal", most_calls=4)

    def spins(model, tools, goal, max_steps=10):
        while True:
            pass

    assert watch(spins, asks, {}, "Goal", most_lines=50).stopped == "ran too long"
