"""F16: a cancel is seen before every model call and tool run; an interrupt ends a run, not the program."""

import signal
import threading
import time

import pytest

from agentlib import answer, ask, ask_together, run_agent, tool
from agentlib.models import ScriptedModel
from agentlib.stops import Cancelled
from tests.invariants import assert_sound

BATCH = ask_together(ask("look", n=1), ask("look", n=2), ask("look", n=3))


class SeenAt:
    """An event that is set at the so-manieth look."""

    def __init__(self, look):
        self.looks = 0
        self.look = look

    def is_set(self):
        self.looks += 1
        return self.looks >= self.look


# The looks of a run of two steps with three tools each: before call 1, three tools, call 2, three tools.
@pytest.mark.parametrize(
    ("look", "steps", "tool_runs"),
    [(1, 0, 0), (2, 1, 0), (3, 1, 1), (4, 1, 2), (5, 1, 3), (6, 2, 3), (7, 2, 4), (8, 2, 5), (9, 2, 6)],
)
def test_a_cancel_takes_effect_at_the_very_next_call_or_tool(look, steps, tool_runs):
    event = SeenAt(look)
    model = ScriptedModel([BATCH, BATCH, answer("never")])
    run = run_agent(model, {"look": lambda n: n}, "Goal", stops=Cancelled(event))
    assert (run.stopped, run.steps, run.tool_runs) == ("cancelled", steps, tool_runs)
    assert (model.calls, run.answer) == (steps, None)
    assert_sound(run)


def test_a_cancel_set_by_another_thread_while_a_tool_runs_is_seen_before_the_next_tool():
    event, started, go_on = threading.Event(), threading.Event(), threading.Event()

    def look(n: int) -> int:
        """Look, and wait until the other thread has cancelled."""
        started.set()
        assert go_on.wait(20)
        return n

    def other():
        assert started.wait(20)
        event.set()
        go_on.set()

    thread = threading.Thread(target=other)
    thread.start()
    run = run_agent(ScriptedModel([BATCH]), [look], "Goal", stops=Cancelled(event))
    thread.join()
    assert (run.stopped, run.tool_runs) == ("cancelled", 1)
    assert [event.ran for event in run.trace if event.kind == "result"] == [True, False, False]
    assert_sound(run)


def test_a_cancel_while_a_person_is_asked_is_seen_before_the_tool_runs():
    event, ran = threading.Event(), []

    def approve(call):
        event.set()
        return True

    pay = tool(lambda: ran.append(1), name="pay", risky=True)
    run = run_agent(ScriptedModel([ask("pay")]), [pay], "Goal", stops=Cancelled(event), approve=approve)
    assert (run.stopped, ran, run.tool_runs) == ("cancelled", [], 0)
    assert run.history[-1]["result"]["error"] == "not_run"
    assert_sound(run)


def test_a_cancel_that_came_with_the_answer_takes_no_answer_away():
    event = threading.Event()

    def model(history):
        event.set()
        return answer("done")

    assert run_agent(model, {}, "Goal", stops=Cancelled(event)).answer == "done"


def interrupt(*_, **__):
    raise KeyboardInterrupt


PLACES = {
    "the model": (interrupt, {"look": lambda n: n}, {}),
    "a tool": (ScriptedModel([BATCH]), {"look": interrupt}, {}),
    "a tool with a time limit": (
        ScriptedModel([BATCH]),
        {"look": tool(interrupt, name="look", timeout_seconds=30)},
        {},
    ),
    "a person's answer": (
        ScriptedModel([BATCH]),
        {"look": tool(lambda n: n, name="look", risky=True)},
        {"approve": interrupt},
    ),
    "a stop rule": (ScriptedModel([BATCH]), {"look": lambda n: n}, {"stops": interrupt}),
    "the memory": (ScriptedModel([BATCH]), {"look": lambda n: n}, {"memory": interrupt}),
    "a watcher": (ScriptedModel([BATCH]), {"look": lambda n: n}, {"on_event": interrupt}),
}


@pytest.mark.parametrize("place", PLACES)
def test_an_interrupt_anywhere_ends_the_run_as_cancelled_and_never_as_a_traceback(place):
    model, tools, options = PLACES[place]
    run = run_agent(model, tools, "Goal", **options)
    assert (run.stopped, run.stopped.detail) == ("cancelled", "the program was interrupted")
    assert_sound(run)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer that interrupts")
@pytest.mark.parametrize("limit", [None, 30])
def test_a_real_interrupt_while_a_tool_sleeps_ends_the_run_at_once(limit):
    def sleep(n: int) -> int:
        """Sleep for a long time at shelf 2."""
        time.sleep(20 if n == 2 else 0)
        return n

    old = signal.signal(signal.SIGALRM, interrupt)
    began = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        run = run_agent(ScriptedModel([BATCH]), [tool(sleep, name="look", timeout_seconds=limit)], "Goal")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert time.monotonic() - began < 5
    results = [entry["result"] for entry in run.history if entry["role"] == "tool"]
    assert (run.stopped, run.tool_runs, run.errors) == ("cancelled", 2, 1)
    assert [r if isinstance(r, int) else r["error"] for r in results] == [1, "not_finished", "not_run"]
    assert_sound(run)
