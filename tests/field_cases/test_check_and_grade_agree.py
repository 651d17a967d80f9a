"""What `check` accepts `grade` accepts, with the same points, and the other way round."""

import codecs
import inspect
import json
import re
import textwrap
from pathlib import Path

import nbformat
import pytest

from agentlib.course.check_file import check_file
from agentlib.course.check_subprocess import check_in_subprocess
from agentlib.course.errors import NotebookError
from agentlib.course.exercises import EXERCISES, FRESH_DIR
from agentlib.course.grading import BACKENDS, grade_notebook
from tests.hostile.submissions import HONEST, notebook
from tests.zoo import ex01, specimens

ROOT = Path(__file__).parents[2]
EX01 = EXERCISES["ex01_write_the_loop"]
NO_FUNCTION = re.compile(r"no cell makes a function|which is no function|`def run_agent\(\.\.\.\)`")
UNREADABLE, NOT_STARTED = "unreadable", "not started"


def checked(data, exercise, folder, run):
    """Status, points and criteria that are met, as `check` has them."""
    path = folder / f"{exercise.name}.ipynb"
    path.write_bytes(data)
    try:
        report = run(path, 5)
    except NotebookError as problem:
        return ("no function" if NO_FUNCTION.search(str(problem)) else UNREADABLE), 0
    return "graded" if report.started else NOT_STARTED, report.points


def graded(data, exercise, root):
    row = grade_notebook(data, exercise, BACKENDS[-1], root, seed=5)
    seen = " ".join(result["seen"] for result in (row.report or {"results": []})["results"])
    # What `check` cannot begin with is a report of nothing in grading: every row needs its criteria.
    return ("no function" if NO_FUNCTION.search(seen) else row.status), row.points


def agree(data, root, folder, exercise=EX01, run=check_in_subprocess):
    here, there = checked(data, exercise, folder, run), graded(data, exercise, root)
    assert here == there
    return here


# --- solutions and fresh copies


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=lambda exercise: exercise.number)
def test_solutions_and_fresh_copies(exercise, root, tmp_path):
    data = (ROOT / "solutions" / f"{exercise.name}.ipynb").read_bytes()
    assert agree(data, root, tmp_path, exercise) == ("graded", exercise.max_points)
    data = (FRESH_DIR / f"{exercise.name}.ipynb").read_bytes()
    assert agree(data, root, tmp_path, exercise, check_file) == (NOT_STARTED, 0)


# --- wrong ones: each has one fault of the zoo's kinds

FAULTS = {
    "one step too few": ("max_steps + 1", "max_steps"),
    "forgets the reply": ("history.append(reply)", "pass"),
    "forgets the result": ('history.append({"role": "tool", "result": result})', "pass"),
    "catches nothing": ("except Exception", "except ZeroDivisionError"),
    "counts from 0": ("range(1, max_steps + 1)", "range(max_steps)"),
    "another word": ('"step limit"', '"limit"'),
    "no return": ('return {"answer": None', '{"answer": None'),
    "never ends": ("for step in range(1, max_steps + 1):", "step = 0\n    while True:"),
    "asks no model": ("reply = model(history)", 'reply = {"type": "answer", "text": "140"}'),
    "raises": ("history = ", "1 / 0; history = "),
    "raises at the end": ('return {"answer": None', 'raise ValueError("no"); return {"answer": None'),
    "not started behind an if": ("history = ", "if max_steps: raise NotImplementedError\n    history = "),
    "wrong arguments": ("(model, tools, goal, max_steps=10)", "(model, tools)"),
    "tools by place": ('(**reply["input"])', '(*reply["input"].values())'),
    "prints": ("history = ", "print('hello'); history = "),
}


@pytest.mark.parametrize(("old", "new"), FAULTS.values(), ids=FAULTS)
def test_wrong_ones(old, new, root, tmp_path):
    assert HONEST.count(old) == 1
    agree(notebook(HONEST.replace(old, new)), root, tmp_path, run=check_file)


def source_of(specimen):
    """Give a specimen of the zoo as a learner writes it, without what marks it."""
    (function,) = specimen.functions
    source = textwrap.dedent(inspect.getsource(function))
    return f"{source[source.index('def ') :]}\nrun_agent = {function.__name__}\n"


@pytest.mark.parametrize("specimen", specimens(ex01)[::3], ids=lambda specimen: specimen.name)
def test_the_zoos(specimen, root, tmp_path):
    agree(notebook(source_of(specimen)), root, tmp_path, run=check_file)


# --- odd ones

NAMED = HONEST.replace("def run_agent(", "def solve(")
STUB = "def run_agent(model, tools, goal, max_steps=10):\n    raise NotImplementedError"
MODULE = "%%writefile my_loop.py\n" + HONEST

RIGHT = {
    "magics": notebook("%matplotlib inline\n" + HONEST, before=["!ls\n%time x = 1", "%%capture\ny = 2"]),
    "below a cell magic": notebook("%%time\n" + HONEST),
    "two definitions, the right one last": notebook(HONEST, before=[STUB]),
    "a module from a cell": notebook("from my_loop import run_agent", before=[MODULE]),
    "a module from a cell, told as a file": notebook(
        "from my_loop import run_agent", before=[MODULE.replace("%%writefile", "%%file")]
    ),
    "a module in two pieces": notebook(
        "from my_loop import solve\nrun_agent = solve",
        before=["%%writefile my_loop.py\n# my loop", "%%writefile -a my_loop.py\n" + NAMED],
    ),
    "a module with Windows line ends": notebook(
        "from my_loop import run_agent", before=[MODULE.replace("\n", "\r\n")]
    ),
    "a module in a cell that another cell reads": notebook(
        "import json\nlimit = json.load(open('data.json'))['limit']\n" + HONEST,
        before=['%%writefile data.json\n{"limit": 3}'],
    ),
    "an assignment": notebook(NAMED + "\nrun_agent = solve"),
    "a partial": notebook(NAMED + "\nimport functools\nrun_agent = functools.partial(solve)"),
    "a lambda": notebook(NAMED + "\nrun_agent = lambda *args, **kwargs: solve(*args, **kwargs)"),
    "an instance": notebook(
        NAMED
        + "\nclass Loop:\n    def __call__(self, *args, **kwargs):\n        return solve(*args, **kwargs)\n"
        "run_agent = Loop()"
    ),
    "a method": notebook(
        NAMED + "\nclass Loop:\n    def go(self, *args, **kwargs):\n        return solve(*args, **kwargs)\n"
        "run_agent = Loop().go"
    ),
    "decorated": notebook("import functools\n@functools.lru_cache\ndef x(): pass\n" + HONEST),
    "from another cell": notebook("", after=[HONEST]),
    "await": notebook(before=["import asyncio\nawait asyncio.sleep(0)"]),
    "a task over two cells": notebook(
        before=["import asyncio\nlate = asyncio.create_task(asyncio.sleep(0))", "await late"]
    ),
    "a cell that fails": notebook(before=["1 / 0"], after=["raise SystemExit"]),
    "a form feed": notebook("# \x0c\n" + HONEST + "# \u2028"),
    "Windows line ends": notebook(HONEST.replace("\n", "\r\n")),
    "old Mac line ends": notebook(HONEST.replace("\n", "\r")),
    "a UTF-8 mark": codecs.BOM_UTF8 + notebook(),
    "UTF-16": notebook().decode().encode("utf-16"),
    "Windows line ends in the file": json.dumps(json.loads(notebook()), indent=1)
    .replace("\n", "\r\n")
    .encode(),
    "from __future__": notebook("x = 1\nfrom __future__ import annotations\n" + HONEST),
}


@pytest.mark.parametrize("data", RIGHT.values(), ids=RIGHT)
def test_right_ones_that_are_odd(data, root, tmp_path):
    # A module stays in the process that imports it.
    run = check_in_subprocess if b"%%writefile" in data or b"%%file" in data else check_file
    assert agree(data, root, tmp_path, run=run) == ("graded", 10)


OTHERS = {
    "not started": notebook(STUB),
    "two definitions, the stub last": notebook(HONEST, after=[STUB]),
    "a class": notebook(
        "class run_agent(dict):\n    def __init__(self, model, tools, goal, max_steps=10): pass"
    ),
    "a class that would be right": notebook(
        NAMED + "\nclass run_agent(dict):\n    def __init__(self, *args, **kwargs):\n"
        "        super().__init__(solve(*args, **kwargs))"
    ),
    "async": notebook(HONEST.replace("def ", "async def ")),
    "a partial of an async function": notebook(
        "import functools\n" + NAMED.replace("def ", "async def ") + "\nrun_agent = functools.partial(solve)"
    ),
    "a generator": notebook(HONEST.replace("    history = ", "    yield 1\n    history = ")),
    "built in": notebook("run_agent = print"),
    "a number": notebook("run_agent = 3"),
    "nothing": notebook("run_agent = None"),
    "no definition": notebook("x = 1"),
    "a syntax error": notebook("def run_agent(model:"),
    "in a module that is never imported": notebook("", before=[MODULE]),
    "in a cell for a shell": notebook("%%bash\n" + HONEST),
    "a function that waits for a person": notebook(HONEST.replace("history = ", "input(); history = ")),
    "asyncio.run under a loop": notebook(
        "import asyncio\n" + HONEST.replace("history = ", "asyncio.run(asyncio.sleep(0)); history = ")
    ),
    "empty": b"",
    "half": b'{"cells": [',
    "no notebook": b"[1, 2]",
    "a web page": codecs.BOM_UTF8 + b"<html>",
}


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.parametrize("data", OTHERS.values(), ids=OTHERS)
def test_others_that_are_odd(data, root, tmp_path):
    assert agree(data, root, tmp_path, run=check_file)[1] == 0


@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8], ids=["plain", "mark"])
def test_an_old_format(mark, root, tmp_path):
    old = nbformat.convert(nbformat.reads(notebook().decode(), as_version=4), 3)
    assert agree(mark + json.dumps(old).encode(), root, tmp_path, run=check_file) == ("graded", 10)


def test_a_module_from_a_cell_is_written_beside_nothing_of_the_learners(root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_loop.py").write_text("mine")
    assert agree(RIGHT["a module from a cell"], root, tmp_path) == ("graded", 10)
    assert (tmp_path / "my_loop.py").read_text() == "mine"
