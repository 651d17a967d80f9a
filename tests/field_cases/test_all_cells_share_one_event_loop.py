"""As in a kernel, one event loop runs while each cell runs, and while the functions of the cells do."""

import builtins
import gc
import warnings

import pytest

from agentlib.course.check_file import check_file
from agentlib.course.check_subprocess import check_in_subprocess
from agentlib.course.exercises import EXERCISES
from agentlib.course.grading import BACKENDS, grade_notebook
from agentlib.course.running.cells import Cell, run_cells
from tests.hostile.submissions import HONEST, notebook

EX01 = EXERCISES["ex01_write_the_loop"]

TASK = "asyncio.create_task(asyncio.sleep(0.01, 5))"

RIGHT = {
    "a task over two cells": (
        f"import asyncio\nlate = {TASK}",
        "x = await late",
    ),
    "a task over a cell without await": (
        f"import asyncio\nlate = {TASK}",
        "y = 1",
        "x = await late",
    ),
    "get_event_loop": (
        "import asyncio\nloop = asyncio.get_event_loop()",
        "x = 5 * (asyncio.get_event_loop() is loop is asyncio.get_running_loop())",
    ),
    "the same loop under await": (
        "import asyncio\nasync def which():\n    return asyncio.get_running_loop()",
        "first = await which()",
        "x = 5 * ((await which()) is first is asyncio.get_event_loop())",
    ),
    "a future": (
        "import asyncio\nbox = asyncio.get_event_loop().create_future()",
        "asyncio.get_running_loop().call_later(0.01, box.set_result, 5)",
        "x = await box",
    ),
    "a queue": (
        "import asyncio\nqueue = asyncio.Queue()\nreader = asyncio.ensure_future(queue.get())",
        "await queue.put(5)",
        "x = await reader",
    ),
    "an async generator": (
        "async def numbers():\n    yield 2\n    yield 3",
        "x = sum([n async for n in numbers()])",
    ),
    "an async helper": ("async def helper():\n    return 5", "x = await helper()"),
    "async with": (
        "import asyncio\nlock = asyncio.Lock()\nawait lock.acquire()",
        "lock.release()\nasync with lock:\n    x = 5",
    ),
    "the decimal context": (
        "import asyncio, decimal\ndecimal.getcontext().prec = 5",
        "await asyncio.sleep(0)\nx = decimal.getcontext().prec",
    ),
    "a context variable": (
        "import asyncio, contextvars\nv = contextvars.ContextVar('v')\nv.set(5)",
        "async def look():\n    return v.get()\nx = await look()",
    ),
    "imported as something else": (
        "from asyncio import create_task as go, sleep\ntask = go(sleep(0, 5))",
        "x = await task",
    ),
    "threads": ("import asyncio", "x = await asyncio.to_thread(lambda: 5)"),
}


def ran(*sources, seconds=5.0):
    return run_cells([Cell(number, source) for number, source in enumerate(sources, start=1)], seconds)


@pytest.mark.parametrize("cells", RIGHT.values(), ids=RIGHT)
def test_what_runs_in_a_kernel_runs(cells):
    out = ran(*cells)
    assert (out.problems, out.names["x"]) == ([], 5)
    out.loop.close()


def test_a_task_outlives_a_cell_that_fails():
    out = ran(
        f"import asyncio\nlate = {TASK}",
        "await asyncio.sleep(0)\n1 / 0",
        "x = await late",
    )
    (problem,) = out.problems
    assert "line 2: ZeroDivisionError: division by zero: `1 / 0`" in problem
    assert out.names["x"] == 5
    out.loop.close()


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            "import asyncio\nasync def main(): pass\nasyncio.run(main())",
            "cannot be called from a running event loop",
        ),
        (
            "import asyncio\nx = asyncio.get_event_loop()\nx.run_until_complete(x.create_future())",
            "already running",
        ),
        ("async def f():\n    return 1 / 0\nawait f()", "line 3: ZeroDivisionError"),
        ("import asyncio\nasyncio.current_task().cancel()\nawait asyncio.sleep(1)", "line 3: CancelledError"),
        ("import asyncio\nawait asyncio.sleep(0)\nraise SystemExit", "would end the notebook"),
        ("async def f():\n    raise NotImplementedError\nawait f()", "not started yet"),
    ],
)
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
def test_what_fails_in_a_kernel_fails_and_names_its_own_line(source, said):
    out = ran(source, "x = 5")
    (problem,) = out.problems
    assert said in problem
    assert out.names["x"] == 5
    out.loop.close()
    del out
    gc.collect()  # so that the warning is this test's


@pytest.mark.parametrize(
    "source",
    [
        "import asyncio\nawait asyncio.sleep(60)",
        "import asyncio\nwhile True:\n    await asyncio.sleep(0)",
        "import asyncio\nasync def spin():\n    while True:\n        pass\nawait spin()",
        "import asyncio\nwhile True:\n    pass",
        "import asyncio\nasync def spin():\n    while True: pass\nawait asyncio.create_task(spin())",
    ],
)
def test_a_cell_that_does_not_end_is_ended_and_the_next_one_runs(source):
    out = ran(source, "import asyncio\nx = await asyncio.sleep(0, 5)", seconds=0.5)
    (problem,) = out.problems
    assert "did not end within 0.5 seconds" in problem
    assert out.names["x"] == 5
    out.loop.close()


def test_a_notebook_that_awaits_nothing_has_no_loop():
    assert ran("x = 5").loop is None


def test_the_loop_is_closed_at_the_end_with_what_was_left_over(tmp_path):
    path = tmp_path / f"{EX01.name}.ipynb"
    kept = "import asyncio\nkept = __import__('builtins').kept_loop = asyncio.get_event_loop()\n"
    left = "async def late():\n    await asyncio.sleep(600)\ntask = asyncio.create_task(late())"
    path.write_bytes(notebook(HONEST, before=[kept + left]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check_file(path, 5).passed
    assert builtins.kept_loop.is_closed()
    del builtins.kept_loop


# --- in the functions that are checked

CALLED = {
    "a task of the cells": (
        "import asyncio\ntask = asyncio.create_task(asyncio.sleep(600))",
        "assert not task.done()",
    ),
    "the loop that runs": (
        "import asyncio\nloop = asyncio.get_event_loop()",
        "assert asyncio.get_running_loop() is loop",
    ),
    "a task of its own": (
        "import asyncio\nasync def helper():\n    pass",
        "asyncio.create_task(helper())",
    ),
}


@pytest.mark.parametrize(("cell", "line"), CALLED.values(), ids=CALLED)
def test_check_and_grade_call_functions_while_the_loop_runs(cell, line, root, tmp_path):
    begin = "def run_agent(model, tools, goal, max_steps=10):\n"
    data = notebook(HONEST.replace(begin, f"{begin}    {line}\n"), before=[cell])
    path = tmp_path / f"{EX01.name}.ipynb"
    path.write_bytes(data)
    assert (check_in_subprocess(path, 5).points, check_file(path, 5).points) == (10, 10)
    row = grade_notebook(data, EX01, BACKENDS[-1], root, seed=5)
    assert (row.status, row.points, row.notes) == ("graded", 10, ())
