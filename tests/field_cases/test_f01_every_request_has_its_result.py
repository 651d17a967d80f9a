"""F1: however and whenever a run ends, every request has exactly one result, at once after it."""

import threading

import pytest

from agentlib import answer, ask, ask_together, errors, run_agent, stops, tool
from agentlib.models import ScriptedModel
from tests.handwritten import run_agent as by_hand
from tests.invariants import assert_every_request_answered, assert_sound

THREE = ask_together(ask("look", n=1), ask("mid"), ask("look", n=3), text="All three.")


def look(n: int) -> int:
    """Look."""
    return n


def raising(problem):
    def mid():
        raise problem

    return mid


def by_clock(*seconds):
    """A clock that shows these times one after the other, and the last of them for ever."""
    left = list(seconds)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


EVENT = threading.Event()


def cancelling():
    EVENT.set()
    return 2


def start(**made):
    EVENT.clear()
    options = {"mid": lambda: 2, "model": ScriptedModel([THREE, answer("done")]), **made}
    tools = {"look": look, "mid": options.pop("mid")}
    return run_agent(options.pop("model"), tools, "Goal", **options)


def third_look(history):
    raise KeyboardInterrupt


# Each ends a run after the reply with three requests: name, how, reason, and how far it came.
ENDS = {
    "step limit": (lambda: start(max_steps=1), "step limit", ["ran", "ran", "ran"]),
    "an interrupt in a tool": (
        lambda: start(mid=raising(KeyboardInterrupt())),
        "cancelled",
        ["ran", "not_finished", "not_run"],
    ),
    "a cancel by another tool": (
        lambda: start(mid=cancelling, stops=stops.Cancelled(EVENT)),
        "cancelled",
        ["ran", "ran", "not_run"],
    ),
    "a deadline between two tools": (
        # Start, call, its time left, reply, before tool 1, its time left, result, before tool 2.
        lambda: start(stops=stops.Deadline(5), clock=by_clock(0, 1, 1, 1, 2, 3, 4, 5)),
        "deadline",
        ["ran", "not_run", "not_run"],
    ),
    "an error that no model can mend": (
        lambda: start(mid=raising(errors.FatalToolError("no key"))),
        "fatal error",
        ["ran", "fatal", "not_run"],
    ),
    "a crash in a tool": (
        lambda: start(mid=raising(SystemExit(3)), max_steps=1),
        "step limit",
        ["ran", "tool_failed", "ran"],
    ),
    "a denied approval": (
        lambda: start(mid=tool(lambda: 2, name="mid", risky=True), approve=lambda call: False, max_steps=1),
        "step limit",
        ["ran", "not_approved", "ran"],
    ),
    "an interrupt while a person is asked": (
        lambda: start(mid=tool(lambda: 2, name="mid", risky=True), approve=third_look),
        "cancelled",
        ["ran", "not_run", "not_run"],
    ),
    "a repeated call in the batch": (
        lambda: start(
            model=ScriptedModel([ask("mid"), ask("mid"), THREE]), stops=stops.RepeatedCall(3), max_steps=9
        ),
        "repeated call",
        ["ran", "ran", "not_run", "not_run", "not_run"],
    ),
    "a stop rule that cannot read the requests": (
        lambda: start(stops=Unreadable()),
        "fatal error",
        ["not_run", "not_run", "not_run"],
    ),
    "a stop rule that cannot read a result": (
        lambda: start(stops=Unreadable(results=True)),
        "fatal error",
        ["ran", "not_run", "not_run"],
    ),
    "a watcher that raises at the second act": (
        lambda: start(on_event=raise_at("act", 2)),
        "fatal error",
        ["ran", "not_run", "not_run"],
    ),
    "a watcher that raises at the second result": (
        lambda: start(on_event=raise_at("result", 2)),
        "fatal error",
        ["ran", "ran", "not_run"],
    ),
    "a model that fails at its second call": (
        lambda: start(model=ScriptedModel([THREE])),
        "model error",
        ["ran", "ran", "ran"],
    ),
    "a closing call that asks for more": (
        lambda: start(model=ScriptedModel([ask("mid"), THREE]), max_steps=1, closing_call=True),
        "step limit",
        ["ran", "not_run", "not_run", "not_run"],
    ),
}


class Unreadable(stops.StopRule):
    def __init__(self, results=False):
        self.results = results

    def on_request(self, calls):
        if not self.results:
            raise ValueError("cannot read")

    def on_result(self, call, result_text, repeatable):
        raise ValueError("cannot read")


def raise_at(kind, count):
    seen = []

    def on_event(event):
        seen.extend([1] * (event.kind == kind))
        if event.kind == kind and len(seen) == count:
            raise ValueError("no screen")

    return on_event


def how_far(run):
    results = [entry["result"] for entry in run.history if entry["role"] == "tool"]
    return [result["error"] if isinstance(result, dict) else "ran" for result in results]


@pytest.mark.parametrize("name", ENDS)
def test_every_request_has_one_result_at_once_after_it(name):
    begin, reason, results = ENDS[name]
    run = begin()
    assert (run.stopped, how_far(run)) == (reason, results)
    assert_sound(run)


@pytest.mark.parametrize("name", ENDS)
def test_a_request_that_never_ran_says_so_and_does_not_say_that_a_person_stopped_it(name):
    run = ENDS[name][0]()
    for entry in run.history:
        if entry["role"] == "tool" and isinstance(entry["result"], dict):
            words = entry["result"]["message"].lower()
            if entry["result"]["error"] == "not_run":
                assert words.startswith("not run")
                assert not {"user", "you", "person", "cancel"} & set(words.replace(".", " ").split())
            if entry["result"]["error"] == "not_finished":
                assert "begun and not finished" in words
    assert run.tool_runs == sum(event.ran for event in run.trace)


@pytest.mark.parametrize("name", ENDS)
def test_the_history_can_be_continued_by_any_loop(name):
    run = ENDS[name][0]()
    history = [*run.history, {"role": "user", "text": "Go on, please."}]
    seen = []

    def model(view):
        seen.append(len(view))
        return ask("look", n=4) if len(seen) == 1 else answer("done")

    # As memory: what the model reads is the old history with what is new behind it.
    again = run_agent(model, {"look": look}, "Go on, please.", memory=lambda new: [*run.history, *new])
    assert again.stopped == "answered"
    for read in again.trace.histories():
        assert_every_request_answered(read)
    seen.clear()
    assert (
        by_hand(lambda view: model([*history, *view]), {"look": look}, "Go on.", 5)["stopped"] == "answered"
    )


def test_a_request_that_was_refused_because_another_one_was_a_repeat_says_what_to_do():
    run = ENDS["a repeated call in the batch"][0]()
    messages = [entry["result"]["message"] for entry in run.history[-3:]]
    assert "Ask again without it." in messages[0]
    assert messages[1].startswith("Not run again: the same request gave the same result")
