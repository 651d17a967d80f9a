"""`ToolCalled` ends the run only when that tool worked."""

import threading

import pytest

from agentlib import answer, ask, ask_together, run_agent, stops, tool
from agentlib.errors import FatalToolError, ToolError, UnrunError
from agentlib.models import ScriptedModel


def returned_error():
    return {"error": "closed"}


def raising(problem):
    def submit():
        raise problem

    return submit


FAILED = {
    "raised": raising(ValueError("give a number")),
    "raised a code": raising(ToolError("not there", "not_found")),
    "refused before it began": raising(UnrunError("not now")),
    "put off": raising(UnrunError("not now", failed=False)),
    "returned an error": returned_error,
}


def run_with(functions):
    """Ask for `submit` until there is no function left, one function a call."""
    left = list(functions)

    def submit():
        """Submit."""
        return left.pop(0)()

    model = ScriptedModel([*[ask("submit") for _ in functions], answer("never")])
    return run_agent(model, [submit], "Goal", stops=[stops.ToolCalled("submit")])


@pytest.mark.parametrize("name", FAILED)
def test_a_run_that_failed_does_not_end_it(name):
    run = run_with([FAILED[name], lambda: "taken"])
    assert (run.stopped, run.steps) == ("tool called", 2)
    assert run.history[-1]["result"] == "taken"
    assert "submit has worked" in run.stopped.detail
    assert run_with([FAILED[name]]).stopped == "answered"


@pytest.mark.parametrize("result", [None, 0, "", [], {"error": None}, {"ok": False}])
def test_whatever_is_no_error_ends_it(result):
    assert run_with([lambda: result, pytest.fail]).steps == 1


def test_arguments_that_were_refused_do_not_end_it():
    def submit(n: int):
        """Submit."""
        return n

    model = ScriptedModel([ask("submit", n="seven"), ask("submit", n=7), answer("never")])
    run = run_agent(model, [submit], "Goal", stops=[stops.ToolCalled("submit")])
    assert (run.stopped, run.steps, run.history[-1]["result"]) == ("tool called", 2, 7)


def test_a_tool_that_nobody_approved_does_not_end_it():
    replies = [ask("submit"), answer("done")]
    run = run_agent(ScriptedModel(replies), [tool(lambda: 1, name="submit", risky=True)], "Goal",
                    stops=[stops.ToolCalled("submit")], approve=lambda call: False)  # fmt: skip
    assert run.stopped == "answered"


def test_a_tool_that_came_too_late_does_not_end_it():
    gate = threading.Event()
    slow = tool(lambda: gate.wait(20), name="submit", timeout_seconds=0.02)
    run = run_agent(
        ScriptedModel([ask("submit"), answer("done")]), [slow], "Goal", stops=[stops.ToolCalled("submit")]
    )
    gate.set()
    assert run.stopped == "answered"


def test_one_that_worked_among_several_ends_it():
    left = [lambda: returned_error(), lambda: "taken"]
    model = ScriptedModel([ask_together(ask("submit"), ask("submit")), answer("never")])
    tools = {"submit": lambda: left.pop(0)()}
    run = run_agent(model, tools, "Goal", stops=[stops.ToolCalled("submit")])
    assert (run.stopped, run.steps) == ("tool called", 1)


def test_a_fatal_error_is_a_fatal_error():
    run = run_with([raising(FatalToolError("gone"))])
    assert run.stopped == "fatal error"
