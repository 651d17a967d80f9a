"""Each task of a lesson: as handed out it says so, the folded solution is right, typical wrong ones are told.

That a lesson runs as it is handed out, nbval shows.
"""

import json
import sys
from functools import cache
from importlib import import_module
from typing import NamedTuple

import pytest

from agentlib.course.quick_checks import find_task, lessons_with_tasks
from agentlib.course.quick_checks.task import Judged
from agentlib.course.running.cells import run_cells
from tests.lesson_tasks import NOTEBOOKS, code_cells, tasks_in
from tests.notebook_checks import joined

LESSONS = {path.stem[:2]: path for path in sorted(NOTEBOOKS.glob("*.ipynb"))}
WITH_TASKS = lessons_with_tasks()


def tasks_of(number):
    return import_module(f"agentlib.course.quick_checks.lesson_{number}").TASKS


class Played(NamedTuple):
    """A lesson that was run with its folded solutions in place of the stubs.

    right: the line of each quick_check. wrong: for each typical wrong solution, what was judged and what has
    to be said. problems: what went wrong in the cells.
    """

    right: dict[str, str]
    wrong: list[tuple[str, Judged, str]]
    problems: list[str]


@cache
def played(number):
    """Run a lesson once; each typical wrong solution is tried at the place of the right one."""
    tasks = {one.task: one for one in tasks_in(LESSONS[number])}
    right, wrong = {}, []

    def quick_check(name, mine):
        task, one = find_task(name), tasks[name]
        right[name] = task.judge(mine).line
        for old, new, says in task.wrong:
            assert one.solution.count(old) == 1, f"{name}: {old!r} does not stand once in the solution"
            names = dict(sys._getframe(1).f_globals)
            exec(one.solution.replace(old, new), names)
            wrong.append((name, task.judge(names[one.variable]), says))
        return mine

    solved = {one.stub: one.solution for one in tasks.values()}
    cells = [
        cell._replace(source=solved.get(cell.number, cell.source)) for cell in code_cells(LESSONS[number])
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agentlib.course.quick_check", quick_check)
        patch.chdir(LESSONS[number].parent)  # as a kernel does
        problems = run_cells(cells, skip_tags=("raises-exception",)).problems
    return Played(right, wrong, problems)


@pytest.mark.parametrize("number", WITH_TASKS)
def test_a_lesson_asks_for_exactly_the_tasks_of_its_module(number):
    assert [one.task for one in tasks_in(LESSONS[number])] == [task.name for task in tasks_of(number)]


def test_every_quick_check_of_a_lesson_has_its_task():
    asked = {path.stem[:2] for path in LESSONS.values() if tasks_in(path)}
    assert asked == set(WITH_TASKS)


@pytest.mark.parametrize("number", sorted(set(LESSONS) - {"00", "15"}))
def test_the_learner_writes_in_at_least_three_cells_of_a_lesson(number):
    assert len(tasks_in(LESSONS[number])) >= 3


@pytest.mark.parametrize("number", WITH_TASKS)
def test_a_stub_as_handed_out_is_not_started_and_the_lesson_goes_on(number):
    for cell in json.loads(LESSONS[number].read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code" and "= quick_check(" in joined(cell["source"]):
            (output, *_) = cell["outputs"]
            assert "not started yet: the course's own is used here." in joined(output["text"])


@pytest.mark.parametrize("number", WITH_TASKS)
def test_with_every_folded_solution_each_line_says_right_and_the_lesson_runs(number):
    run = played(number)
    assert {name: line.split(",")[0] for name, line in run.right.items()} == {
        task.name: "right" for task in tasks_of(number)
    }
    assert run.problems == []


@pytest.mark.parametrize("number", WITH_TASKS)
def test_a_typical_wrong_solution_gets_the_line_that_names_its_fault(number):
    run = played(number)
    assert {name for name, _, _ in run.wrong} == {task.name for task in tasks_of(number)}
    for name, judged, says in run.wrong:
        assert (name, judged.right) == (name, False)
        assert says in judged.line


@pytest.mark.parametrize("number", ["01", "02"])  # the others take the same way as with their stubs
def test_a_lesson_runs_to_its_end_also_for_somebody_whose_every_solution_is_wrong(number, monkeypatch):
    edits = {task.name: task.wrong[0] for task in tasks_of(number)}
    wrong = {
        one.stub: one.solution.replace(edits[one.task].old, edits[one.task].new)
        for one in tasks_in(LESSONS[number])
    }
    monkeypatch.chdir(LESSONS[number].parent)
    cells = [
        cell._replace(source=wrong.get(cell.number, cell.source)) for cell in code_cells(LESSONS[number])
    ]
    assert run_cells(cells, skip_tags=("raises-exception",)).problems == []
