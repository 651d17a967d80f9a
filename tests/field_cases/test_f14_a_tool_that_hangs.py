"""F14: a tool that hangs is left behind at its own time limit or at the run's deadline; the loop goes on."""

import threading
import time

import pytest

from agentlib import answer, ask, ask_together, run_agent, tool
from agentlib.models import LoopingModel, ScriptedModel
from agentlib.stops import Deadline
from tests.invariants import assert_sound

LIMIT = 0.05
"""Seconds: short, so that the tests are quick."""

LATE = 5.0
"""Seconds: far more than a busy computer adds; a loop that waited for the tool would wait ten times that."""


@pytest.fixture
def gate():
    """Something to hang on; it is opened when the test is over, so that no thread stays behind."""
    gate = threading.Event()
    yield gate
    gate.set()


@pytest.fixture
def quick():
    """The test has to be over long before a hanging tool would be."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < LATE


def hanging(gate, **options):
    def hang(n: int = 0) -> str:
        """Hang until the gate is opened, at most 50 s."""
        gate.wait(50)
        return "late"

    return tool(hang, **options)


def look() -> str:
    """Look."""
    return "seen"


def results(run):
    return [entry["result"] for entry in run.history if entry["role"] == "tool"]


@pytest.mark.usefixtures("quick")
def test_at_its_own_time_limit_the_loop_goes_on_and_the_result_says_that_the_work_may_still_be_running(gate):
    script = [ask_together(ask("look"), ask("hang"), ask("look")), answer("done")]
    run = run_agent(ScriptedModel(script), [look, hanging(gate, timeout_seconds=LIMIT)], "Goal")
    assert (run.stopped, run.steps, run.tool_runs, run.errors) == ("answered", 2, 3, 1)
    assert [results(run)[0], results(run)[2]] == ["seen", "seen"]
    assert results(run)[1]["error"] == "timed_out"
    assert results(run)[1]["message"] == ("hang gave no result within 0.05 s. The work may still be running.")
    assert_sound(run)


@pytest.mark.usefixtures("quick")
def test_a_tool_may_hang_several_times_in_one_run(gate):
    model = LoopingModel("hang")
    run = run_agent(model, [hanging(gate, timeout_seconds=LIMIT)], "Goal", 3)
    assert (run.stopped, run.tool_runs, run.errors) == ("step limit", 3, 3)
    assert_sound(run)


@pytest.mark.usefixtures("quick")
def test_what_a_tool_gives_after_its_time_is_never_recorded(gate):
    script = [ask("hang"), ask("look"), ask("look"), answer("done")]

    def open_gate():
        gate.set()
        time.sleep(0.02)
        return "opened"

    tools = {"hang": hanging(gate, timeout_seconds=LIMIT), "look": open_gate}
    run = run_agent(ScriptedModel(script), tools, "Goal")
    assert [r if isinstance(r, str) else r["error"] for r in results(run)] == [
        "timed_out",
        "opened",
        "opened",
    ]


@pytest.mark.usefixtures("quick")
def test_the_runs_deadline_bounds_a_tool_that_is_running(gate):
    script = [ask_together(ask("hang"), ask("look")), answer("never")]
    run = run_agent(ScriptedModel(script), [look, hanging(gate)], "Goal", stops=Deadline(LIMIT))
    assert (run.stopped, run.steps, run.answer, run.tool_runs) == ("deadline", 1, None, 1)
    assert [result["error"] for result in results(run)] == ["timed_out", "not_run"]
    assert "may still be running" in results(run)[0]["message"]
    assert_sound(run)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("own", "deadline", "reason"), [(LIMIT, 40, "answered"), (40, LIMIT, "deadline")])
def test_of_the_two_limits_the_shorter_one_counts(gate, own, deadline, reason):
    hang = hanging(gate, timeout_seconds=own)
    run = run_agent(ScriptedModel([ask("hang"), answer("done")]), [hang], "Goal", stops=Deadline(deadline))
    assert (run.stopped, results(run)[0]["error"]) == (reason, "timed_out")


def test_what_is_left_of_the_deadline_is_what_a_tool_gets(gate):
    # the start, the call, its time left, the reply, before the tool, its time left, the result, the end
    times = iter([0.0, 10.0, 10.0, 10.0, 10.0, 59.95, 60.0, 60.0])
    run = run_agent(
        ScriptedModel([ask("hang")]), [hanging(gate)], "Goal", stops=Deadline(60), clock=lambda: next(times)
    )
    assert run.stopped == "deadline"
    assert results(run)[0]["message"].startswith("hang gave no result within 0.05 s.")


@pytest.mark.parametrize("options", [{"timeout_seconds": 30}, {}])
def test_a_tool_within_its_limits_gives_its_result(options):
    quick_tool = tool(look, **options)
    run = run_agent(ScriptedModel([ask("look"), answer("done")]), [quick_tool], "Goal", stops=Deadline(60))
    assert (run.stopped, results(run), run.errors) == ("answered", ["seen"], 0)


@pytest.mark.parametrize("problem", [ValueError("no shelf"), SystemExit("no shelf")])
def test_a_tool_that_raises_within_its_limit_fails_as_it_would_without_one(problem):
    def fall():
        """Fall."""
        raise problem

    with_limit, without = (
        run_agent(ScriptedModel([ask("fall"), answer("done")]), [made], "Goal")
        for made in (tool(fall, timeout_seconds=30), tool(fall))
    )
    assert results(with_limit) == results(without)
    assert with_limit.trace == without.trace


def test_a_person_who_takes_too_long_to_say_yes_starts_no_tool_after_the_deadline():
    ran = []
    times = iter([0.0, 1.0, 2.0, 61.0, 62.0, 63.0])  # start, call, before the tool, after the yes, ...
    risky = tool(lambda: ran.append(1), name="pay", risky=True)
    run = run_agent(
        ScriptedModel([ask("pay")]),
        [risky],
        "Goal",
        stops=Deadline(60),
        approve=lambda call: True,
        clock=lambda: next(times),
    )
    assert (run.stopped, ran, run.tool_runs) == ("deadline", [], 0)
    assert results(run)[0]["error"] == "not_run"
    assert_sound(run)


def test_no_thread_is_left_when_the_run_is_over_and_the_tool_has_ended(gate):
    before = set(threading.enumerate())
    run_agent(ScriptedModel([ask("hang")]), [hanging(gate, timeout_seconds=LIMIT)], "Goal", 1)
    gate.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(LATE)
        assert not thread.is_alive()
