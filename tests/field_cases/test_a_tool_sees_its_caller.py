"""A tool with a time limit runs in a copy of its caller's context; a thread that cannot start is no end."""

import contextvars
import decimal
import os
import threading
import time

import numpy
import pytest

from agentlib import answer, ask, ask_together, run_agent, stops, tool
from agentlib.models import ScriptedModel
from agentlib.tools import Worker

who = contextvars.ContextVar("who", default="nobody")


def result_of(function, **options):
    stop_rules = options.pop("stops", ())
    run = run_agent(
        ScriptedModel([ask("it"), answer("done")]),
        [tool(function, name="it", **options)],
        "Goal",
        stops=stop_rules,
    )
    return run.history[2]["result"]


LIMITS = [{}, {"timeout_seconds": 10}, {"stops": [stops.Deadline(10)]}]


@pytest.mark.parametrize("options", LIMITS)
def test_it_sees_the_callers_context_variables(options):
    token = who.set("ann")
    try:
        assert result_of(who.get, **options) == "ann"
    finally:
        who.reset(token)


@pytest.mark.parametrize("options", LIMITS)
def test_it_counts_as_its_caller_does(options):
    with decimal.localcontext() as context:
        context.prec = 5
        assert result_of(lambda: str(decimal.Decimal(1) / 3), **options) == "0.33333"


@pytest.mark.parametrize("options", LIMITS)
def test_it_has_the_error_state_of_numpy(options):
    def divide():
        return float(numpy.float64(1) / numpy.float64(0))

    with numpy.errstate(divide="raise"):
        assert "divide by zero" in result_of(divide, **options)["message"]


def test_each_call_sees_the_context_of_its_own_moment():
    seen = []

    def look():
        """Look."""
        seen.append(who.get())
        who.set("changed by the tool")

    def model(history):
        who.set(f"call {len(history)}")
        return answer("done") if len(history) > 3 else ask_together(ask("look"), ask("look"))

    def run():
        run_agent(model, [tool(look, timeout_seconds=10)], "Goal")
        return who.get()

    assert contextvars.copy_context().run(run) == "call 4"  # what the tool sets stays in its copy
    assert seen == ["call 1", "call 1"]


# --- the thread -------------------------------------------------------------------------------------


@pytest.fixture
def no_thread(monkeypatch):
    """The first thread of the tools cannot be started."""
    start, refused = threading.Thread.start, []

    def refusing(thread):
        if thread.name == "agentlib tools" and not refused:
            refused.append(thread)
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refusing)
    return refused


def test_a_thread_that_cannot_start_is_said_and_the_next_call_does_not_wait_for_it(no_thread):
    worker = Worker()
    with pytest.raises(Exception, match="can't start new thread"):
        worker.run(lambda: "first", {}, 5)
    began = time.monotonic()
    assert worker.run(lambda: "second", {}, 5) == "second"
    assert time.monotonic() - began < 2
    worker.close()


def test_a_tool_whose_thread_cannot_start_has_not_run(no_thread):
    ran = []
    made = tool(lambda: ran.append(1) or "fine", name="it", timeout_seconds=5)
    model = ScriptedModel([ask("it"), ask("it"), answer("done")])
    run = run_agent(model, [made], "Goal")
    first, second = [entry["result"] for entry in run.history if entry["role"] == "tool"]
    assert "can't start new thread" in first["message"]
    assert second == "fine"
    assert (run.stopped, run.tool_runs, run.errors, ran) == ("answered", 1, 1, [1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_worker_whose_thread_is_gone_gets_another():
    worker = Worker()
    assert worker.run(lambda: "before", {}, 5) == "before"
    child = os.fork()
    if not child:  # a process of its own, without the threads of the first
        try:
            os._exit(0 if worker.run(lambda: "behind", {}, 5) == "behind" else 1)
        except BaseException:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    worker.close()
