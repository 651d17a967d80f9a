"""A fork gives each outcome again as it came, matched by its request, and runs nothing that has been run."""

import functools
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from agentlib import answer, ask, ask_together, run_agent, stops, tool
from agentlib.errors import FatalToolError, ToolError, UnrunError
from agentlib.models import RecordingModel, ScriptedModel
from agentlib.trace import Trace
from agentlib.watch import watch
from agentlib.watch.what_if import fork


def results(trace):
    return [event.entry["result"] for event in trace.events if event.kind == "result"]


def marks(trace):
    """What is recorded of each outcome beside its result."""
    return [(event.text, event.ran) for event in trace.events if event.kind == "result"]


class OwnError(Exception):
    """An error that a learner has written."""


def hand_written(model, tools, goal, max_steps=10):
    """A hand-written loop that makes a result of what its tools raise."""
    history = [{"role": "user", "text": goal}]
    for step in range(max_steps):
        reply = model(history)
        history.append({"role": "model", **reply})
        if reply["type"] == "answer":
            return {"answer": reply["text"], "steps": step + 1, "stopped": "answered"}
        for call in reply.get("calls") or [reply]:
            try:
                result = tools[call["tool"]](**call["input"])
            except KeyError as problem:
                result = {"error": "no key", "message": f"{problem} {problem.args[0]}"}
            except OwnError as problem:
                result = {"error": "own", "message": f"{problem} {problem.args[0]}"}
            except ToolError as problem:
                result = {"error": problem.code, "message": str(problem)}
            history.append({"role": "tool", "tool": call["tool"], "result": result})
    return {"answer": None, "steps": max_steps, "stopped": "step limit"}


OUTCOMES = {
    "a result": lambda: {"open": "9:00"},
    "an error that is returned": lambda: {"error": "closed", "opens": "9:00"},
    "an error in the loop's own shape": lambda: {"error": "tool_failed", "message": "boom"},
    "an error of another shape": lambda: {"error": {"code": 7}},
    "nothing": lambda: None,
    "text": lambda: "error",
    "what is not ready for JSON": lambda: {1, 2},
}

RAISED = {
    "a value error": ValueError("boom"),
    "a key error": KeyError("north"),
    "an error with a code": ToolError("not there", "not_found"),
    "refused before it began": UnrunError("seat 1 is taken", "taken"),
    "put off": UnrunError("not now", "later", failed=False),
    "no words": RuntimeError(),
    "an error of one's own": OwnError("own words"),
    "many arguments": UnicodeDecodeError("utf-8", b"x", 0, 1, "boom"),
    "SystemExit": SystemExit(3),
}


def raising(problem):
    def function():
        raise problem

    return function


ALL = {**OUTCOMES, **{name: raising(problem) for name, problem in RAISED.items()}}


def counted(function, ran):
    def look(key: str):
        """Look."""
        ran.append(key)
        return function() if key == "a" else f"seen {key}"

    return look


def script():
    return ScriptedModel([ask("look", key="a"), ask("look", key="b"), ask("look", key="c"), answer("end")])


@pytest.mark.parametrize("name", ALL)
def test_a_run_of_the_loop_gives_each_outcome_again(name):
    ran = []
    tools = [counted(ALL[name], ran)]
    trace = run_agent(script(), tools, "Goal").trace
    ran.clear()
    forked = fork(run_agent, script, tools, "Goal", trace, 2, result="changed")
    assert results(forked)[0] == results(trace)[0]
    assert marks(forked)[0] == marks(trace)[0]
    assert results(forked)[1:] == ["changed", "seen c"]
    assert ran == ["c"]


CAUGHT = set(OUTCOMES) | {
    "a key error",
    "an error with a code",
    "refused before it began",
    "an error of one's own",
}


@pytest.mark.parametrize("name", sorted(CAUGHT))
def test_a_watched_loop_gives_each_outcome_again(name):
    ran = []
    tools = {"look": counted(ALL[name], ran)}
    trace = watch(hand_written, script(), tools, "Goal", max_steps=5)
    assert trace.stopped == "answered"
    ran.clear()
    forked = fork(hand_written, script, tools, "Goal", trace, 2, result="changed")
    assert results(forked)[0] == results(trace)[0]
    assert marks(forked)[0] == marks(trace)[0]
    assert forked.histories()[1] == trace.histories()[1]
    assert results(forked)[1:] == ["changed", "seen c"]
    assert ran == ["c"]


@pytest.mark.parametrize("name", [name for name in ALL if name != "what is not ready for JSON"])
def test_the_loop_watched_gives_each_outcome_again(name):
    ran = []
    tools = {"look": counted(ALL[name], ran)}
    trace = watch(run_agent, script(), tools, "Goal")
    ran.clear()
    forked = fork(run_agent, script, tools, "Goal", trace, 2, result="changed")
    assert forked.histories()[1] == trace.histories()[1]
    assert marks(forked)[0] == marks(trace)[0]
    assert ran == ["c"]


# --- batches ----------------------------------------------------------------------------------------


def booking(ran):
    def book(seat: int) -> str:
        """Book."""
        ran.append(seat)
        if seat == 1:
            raise UnrunError("seat 1 is taken", "taken")
        return f"booked {seat}"

    return book


BATCH = [
    ask("book", seat="one"),  # refused by the check of its arguments
    ask("book", seat=1),  # refused by the tool itself
    ask("nobody"),
    ask("book", seat=2),
    ask("book", seat=2),
    {**ask("book", seat=3), "id": "own id"},
]


def test_results_that_were_never_run_do_not_shift_the_others():
    ran = []

    def make():
        return ScriptedModel([ask_together(*BATCH), ask("book", seat=4), ask("book", seat=5), answer("end")])

    tools = [booking(ran)]
    trace = run_agent(make(), tools, "Goal").trace
    assert ran == [1, 2, 2, 3, 4, 5]
    ran.clear()
    forked = fork(run_agent, make, tools, "Goal", trace, 2, result="changed")
    assert results(forked)[:6] == results(trace)[:6]
    assert marks(forked)[:6] == marks(trace)[:6]
    assert results(forked)[6:] == ["changed", "booked 5"]
    assert ran == [5]


@pytest.mark.parametrize("call", [0, 1, 2])
def test_one_of_several_results_is_changed_and_the_others_come_again(call):
    ran = []

    def make():
        return ScriptedModel([ask_together(*(ask("book", seat=seat) for seat in (2, 3, 4))), answer("end")])

    tools = [booking(ran)]
    trace = run_agent(make(), tools, "Goal").trace
    ran.clear()
    forked = fork(run_agent, make, tools, "Goal", trace, 1, result="changed", call=call)
    wanted = ["booked 2", "booked 3", "booked 4"]
    wanted[call] = "changed"
    assert (results(forked), ran) == (wanted, [])


def test_a_watched_loop_that_asks_in_another_order_gets_each_its_own():
    """A loop with threads may run the tools of one reply in any order."""
    turn = [False, True]

    def any_order(model, tools, goal):
        history = [{"role": "user", "text": goal}]
        backwards = turn.pop(0)
        while True:
            reply = model(history)
            if reply["type"] == "answer":
                return {"answer": reply["text"], "stopped": "answered"}
            calls = reply.get("calls") or [reply]
            for call in reversed(calls) if backwards else calls:
                history.append({"role": "tool", "result": tools[call["tool"]](**call["input"])})

    ran = []

    def make():
        return ScriptedModel(
            [ask_together(ask("book", seat=2), ask("book", seat=3)), ask("book", seat=4), answer("end")]
        )

    tools = {"book": booking(ran)}
    trace = watch(any_order, make(), tools, "Goal")
    ran.clear()
    forked = fork(any_order, make, tools, "Goal", trace, 2, result="changed")
    assert results(forked) == ["booked 3", "booked 2", "changed"]
    assert ran == []


# --- what a person said, rules, ends ----------------------------------------------------------------


def test_a_person_is_not_asked_again_and_what_was_refused_stays_refused():
    asked, ran = [], []

    def approve(call):
        asked.append(call["input"]["seat"])
        return call["input"]["seat"] != 2

    def make():
        return ScriptedModel([ask("book", seat=seat) for seat in (2, 3, 4, 5)] + [answer("end")])

    tools = [tool(booking(ran), risky=True)]
    trace = run_agent(make(), tools, "Goal", approve=approve).trace
    asked.clear()
    ran.clear()
    forked = fork(run_agent, make, tools, "Goal", trace, 3, result="changed", approve=approve)
    assert results(forked)[:2] == results(trace)[:2]
    assert marks(forked)[:2] == marks(trace)[:2]
    assert results(forked)[2:] == ["changed", "booked 5"]
    assert (asked, ran) == ([5], [5])


def test_where_nobody_can_be_asked_nothing_risky_runs_behind_the_change():
    ran = []

    def make():
        return ScriptedModel([ask("book", seat=2), ask("book", seat=3), answer("end")])

    tools = [tool(booking(ran), risky=True)]
    trace = run_agent(make(), tools, "Goal", approve=lambda call: True).trace
    ran.clear()
    forked = fork(run_agent, make, tools, "Goal", trace, 1, result="changed")
    assert results(forked)[0] == "changed"
    assert results(forked)[1]["error"] == "not_approved"
    assert ran == []


def test_a_request_that_a_rule_did_not_run_does_not_run_in_the_fork():
    ran = []

    def make():
        return ScriptedModel([ask("look", key="a")] * 4 + [ask("look", key="b"), answer("end")])

    tools = [counted(lambda: "same", ran)]
    rule = stops.RepeatedCall(3, then="note")
    trace = run_agent(make(), tools, "Goal", stops=[rule]).trace
    ran.clear()
    forked = fork(run_agent, make, tools, "Goal", trace, 5, result="changed", stops=[rule])
    assert results(forked)[:4] == results(trace)[:4]
    assert marks(forked)[:4] == marks(trace)[:4]
    assert ran == []
    without = fork(run_agent, make, tools, "Goal", trace, 5, result="changed")
    assert results(without)[:4] == results(trace)[:4]
    assert ran == []


def test_a_fatal_error_is_fatal_again():
    def make():
        return ScriptedModel([ask_together(ask("look", key="b"), ask("look", key="a")), answer("end")])

    tools = [counted(raising(FatalToolError("the key is wrong")), [])]
    trace = run_agent(make(), tools, "Goal").trace
    assert trace.stopped == "fatal error"
    forked = fork(run_agent, make, tools, "Goal", trace, 1, result="changed", call=0)
    assert (forked.stopped, forked.detail) == ("fatal error", "the key is wrong")
    assert results(forked)[1] == results(trace)[1]
    assert marks(forked) == marks(trace)
    mended = fork(run_agent, make, tools, "Goal", trace, 1, result="fine", call=1)
    assert mended.stopped == "answered"


def test_a_long_result_that_was_kept_whole_is_kept_whole():
    tools = {"look": lambda key: "x" * 50_000}
    trace = run_agent(script(), tools, "Goal", max_result_chars=None).trace
    forked = fork(run_agent, script, tools, "Goal", trace, 2, result="changed")
    assert results(forked)[0] == results(trace)[0]


def test_replies_that_could_not_be_read_come_again_as_they_were():
    def make():
        return ScriptedModel(
            [{"type": "dance"}, answer(""), ask("look", key="a"), ask("look", key="b"), answer("end")]
        )

    ran = []
    tools = [counted(lambda: "seen", ran)]
    trace = run_agent(make(), tools, "Goal").trace
    ran.clear()
    forked = fork(run_agent, make, tools, "Goal", trace, 4, result="changed")
    known = [event for event in trace if event.step < 4]
    assert [event for event in forked if event.step < 4] == known
    assert ran == []


def test_a_model_that_raised_raises_again():
    class Down(Exception):
        pass

    def patient(model, tools, goal):
        history = [{"role": "user", "text": goal}]
        while True:
            try:
                reply = model(history)
            except Down as problem:
                history.append({"role": "user", "text": f"again: {problem}"})
                continue
            history.append(reply)
            if reply["type"] == "answer":
                return {"answer": reply["text"], "stopped": "answered"}
            history.append({"role": "tool", "result": tools[reply["tool"]](**reply["input"])})

    def make():
        replies = iter([Down("no line"), ask("look", key="a"), ask("look", key="b"), answer("end")])

        def model(history):
            reply = next(replies)
            if isinstance(reply, Exception):
                raise reply
            return reply

        return model

    ran = []
    tools = {"look": counted(lambda: "seen", ran)}
    trace = watch(patient, make(), tools, "Goal")
    ran.clear()
    forked = fork(patient, make, tools, "Goal", trace, 3, result="changed")
    assert forked.stopped == "answered"
    assert forked.histories()[:3] == trace.histories()[:3]
    assert ran == []


def test_partials_and_objects_can_be_forked():
    class Looking:
        def __call__(self, key: str) -> str:
            """Look."""
            return f"object {key}"

    def look(prefix: str, key: str) -> str:
        """Look."""
        return f"{prefix} {key}"

    tools = [functools.partial(look, "partial"), Looking()]

    def make():
        return ScriptedModel(
            [ask("look", key="a"), ask("Looking", key="b"), ask("look", key="c"), answer("end")]
        )

    trace = run_agent(make(), tools, "Goal").trace
    forked = fork(run_agent, make, tools, "Goal", trace, 2, result="changed")
    assert results(forked) == ["partial a", "changed", "partial c"]


def test_somebody_who_listens_still_hears_all():
    heard = []
    tools = [counted(lambda: "seen", [])]
    trace = run_agent(script(), tools, "Goal").trace
    forked = fork(run_agent, script, tools, "Goal", trace, 2, result="changed", on_event=heard.append)
    assert heard == list(forked)


def test_the_fresh_model_is_asked_along():
    made = []

    def make():
        made.append(RecordingModel(script()))
        return made[-1]

    tools = [counted(lambda: "seen", [])]
    trace = run_agent(script(), tools, "Goal").trace
    fork(run_agent, make, tools, "Goal", trace, 2, result="changed")
    assert len(made[0].histories) == 4


def test_a_model_that_wants_to_know_more_than_the_history_is_told():
    told = []

    class Model:
        def __init__(self):
            self.script = script()

        def __call__(self, history):
            raise AssertionError("asked without the request")

        def call(self, history, request):
            told.append(request.offer_tools)
            return self.script(history)

    tools = [counted(lambda: "seen", [])]
    trace = run_agent(Model(), tools, "Goal").trace
    told.clear()
    forked = fork(run_agent, Model, tools, "Goal", trace, 2, result="changed", max_steps=2, closing_call=True)
    assert told == [True, True, False]
    assert results(forked)[:2] == ["seen", "changed"]


def in_threads(model, tools, goal):
    """A loop that runs the requests of a reply at the same time; they end in the other order."""
    history = [{"role": "user", "text": goal}]
    while True:
        reply = model(history)
        history.append({"role": "model", **reply})
        if reply["type"] == "answer":
            return {"answer": reply["text"], "stopped": "answered"}
        with ThreadPoolExecutor(3) as pool:
            done = [pool.submit(tools[call["tool"]], **call["input"]) for call in reply["calls"]]
        history += [{"role": "tool", "tool": "book", "result": one.result()} for one in done]


@pytest.mark.parametrize("seat_that_is_taken", [0, 1, 2])
def test_tools_that_ran_at_the_same_time_get_their_own_outcomes_again(seat_that_is_taken):
    ran = []
    gone = [threading.Event() for _ in range(4)]
    gone[3].set()

    def book(seat):
        gone[seat + 1].wait(5)
        ran.append(seat)
        gone[seat].set()
        return {"error": "taken"} if seat == seat_that_is_taken else {"booked": seat}

    together = ask_together(*(ask("book", seat=seat) for seat in range(3)))
    make = lambda: ScriptedModel([together, answer("end")])  # noqa: E731
    trace = watch(in_threads, make(), {"book": book}, "Goal")
    ran.clear()
    forked = fork(in_threads, make, {"book": book}, "Goal", trace, 2, reply=answer("other"))
    assert forked.history_after(len(forked))[:5] == trace.history_after(len(trace))[:5]
    assert (forked.answer, ran) == ("other", [])


def test_a_tool_that_was_run_inside_another_run_of_it_gets_its_own_outcome_again(tmp_path):
    ran = []

    def nested(model, tools, goal):
        history = [{"role": "user", "text": goal}]

        def count(depth):
            return 1 if depth == 0 else 1 + tools["look"](depth - 1)

        calls["look"] = count
        history += [model(history), {"role": "tool", "result": tools["look"](2)}]
        return {"answer": model(history)["text"], "stopped": "answered"}

    calls = {}

    def look(depth):
        ran.append(depth)
        return calls["look"](depth)

    make = lambda: ScriptedModel([ask("look", depth=2), answer("end")])  # noqa: E731
    trace = Trace.load(watch(nested, make(), {"look": look}, "Goal").save(tmp_path / "trace.jsonl"))
    ran.clear()
    forked = fork(nested, make, {"look": look}, "Goal", trace, 2, reply=answer("other"))
    assert (results(forked), ran) == ([3], [])
