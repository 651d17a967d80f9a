"""Requests of one reply that run side by side: results in order, nothing lost, nothing run twice."""

import _thread
import functools
import itertools
import threading
import time
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentlib import (
    LATER,
    ScriptedModel,
    Trace,
    answer,
    ask,
    ask_together,
    replay,
    resume,
    run_agent,
    stops,
    tool,
    trace_writer,
)
from agentlib._at_once import InTurn, SideBySide
from agentlib._platform import BROWSER, Platform
from agentlib.errors import FatalToolError
from agentlib.watch import fork
from tests.invariants import assert_sound
from tests.test_resume import STORY_CASES, KilledAt, counted

WAIT_SECONDS = 10  # at most, for what is to happen at once; a test that hangs fails


class Gates:
    """A parallel tool whose runs end in the order in which the test opens their gates."""

    def __init__(self, count):
        self.gates = [threading.Event() for _ in range(count)]
        self.order = []
        self.running = 0
        self.most = 0
        self.lock = threading.Lock()
        self.tools = [tool(self.pick, parallel=True), tool(self.alone)]

    def pick(self, shelf: int) -> str:
        """Pick what lies on a shelf."""
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
        assert self.gates[shelf].wait(WAIT_SECONDS)
        with self.lock:
            self.running -= 1
            self.order.append(shelf)
        if shelf == 1:
            raise ValueError("Shelf 1 is being moved.")
        return f"from shelf {shelf}"

    def alone(self, shelf: int) -> str:
        """Run alone."""
        assert self.running == 0
        return f"alone {shelf}"

    def open(self, *shelves):
        """Open the gates one after the other, each when the one before has ended."""

        def opening():
            for number, shelf in enumerate(shelves, start=1):
                self.gates[shelf].set()
                wait_for(lambda number=number: len(self.order) >= number)

        thread = threading.Thread(target=opening, daemon=True)
        thread.start()
        return thread


def picks(*shelves):
    return ask_together(*(ask("pick", shelf=shelf) for shelf in shelves))


def results_of(run):
    return [entry["result"] for entry in run.history if entry["role"] == "tool"]


DONE = answer("done")
IN_ORDER = [
    "from shelf 0",
    {"error": "tool_failed", "message": "Shelf 1 is being moved."},
    "from shelf 2",
    "from shelf 3",
]


def run_with(tools, script, **options):
    """Run it, and see that the run is sound and that its replay is the same."""
    run = run_agent(ScriptedModel(script), tools, "Pick.", **options)
    assert_sound(run)
    assert replay(run.trace) == run
    return run


def without_seconds(trace):
    return [event._replace(seconds=0) for event in trace]


@st.composite
def orders(draw):
    """Requests of a reply, how many may run at once, and an order in which they can then end."""
    names = draw(st.lists(st.sampled_from(["pick", "pick", "alone"]), min_size=1, max_size=6))
    at_once = draw(st.integers(2, 4))
    order = []
    for name, group in itertools.groupby(range(len(names)), lambda shelf: names[shelf]):
        waiting = list(group)
        while name == "pick" and waiting:
            order.append(waiting.pop(draw(st.integers(0, min(at_once, len(waiting)) - 1))))
    return names, at_once, order


@settings(max_examples=60, deadline=None)
@given(orders())
def test_any_order_of_ending_gives_the_same_history_and_the_same_trace(drawn):
    names, at_once, order = drawn
    script = [ask_together(*(ask(name, shelf=shelf) for shelf, name in enumerate(names))), DONE]
    runs = []
    for asked, ends in ((1, sorted(order)), (at_once, order), (InTurn(at_once), sorted(order))):
        gates = Gates(len(names))
        opening = gates.open(*ends)
        run = run_with(gates.tools, script, at_once=asked)
        opening.join()
        assert gates.order == ends
        runs.append(run)
    plain, beside, in_turn = runs
    assert beside.history == plain.history
    assert [result["id"] for result in beside.history[2:-1]] == [str(n + 1) for n in range(len(names))]
    counts = [(one.steps, one.tool_runs, one.errors, one.coins, one.usage) for one in runs]
    assert counts[0] == counts[1]
    assert without_seconds(beside.trace) == without_seconds(in_turn.trace)


def test_four_run_side_by_side():
    gates = Gates(4)
    opening = gates.open(3, 2, 1, 0)
    run = run_with(gates.tools, [picks(0, 1, 2, 3), DONE], at_once=4)
    opening.join()
    assert (gates.most, results_of(run)) == (4, IN_ORDER)


@pytest.mark.parametrize("at_once", [1, 2, 3, 4])
def test_no_more_run_at_a_time_than_are_allowed(at_once):
    gates = Gates(4)
    opening = gates.open(*range(4))
    run = run_with(gates.tools, [picks(0, 1, 2, 3), DONE], at_once=at_once)
    opening.join()
    assert gates.most <= at_once
    assert results_of(run) == IN_ORDER


@pytest.mark.parametrize("at_once", [0, -1, 2.5, "4", None, True])
def test_a_number_that_is_none_is_refused(at_once):
    with pytest.raises(ValueError, match="at_once"):
        run_agent(ScriptedModel([DONE]), [], "Pick.", at_once=at_once)


def test_what_is_not_declared_parallel_runs_alone_and_in_its_turn():
    gates = Gates(5)
    opening = gates.open(0, 2, 4, 3)
    calls = [ask("pick", shelf=0), ask("alone", shelf=1), *(ask("pick", shelf=shelf) for shelf in (2, 3, 4))]
    run = run_with(gates.tools, [ask_together(*calls), DONE], at_once=4)
    opening.join()
    assert results_of(run) == ["from shelf 0", "alone 1", "from shelf 2", "from shelf 3", "from shelf 4"]
    kinds = [(event.kind, event.id or event.entry["id"]) for event in run.trace.events[3:-3]]
    begun = [("act", "3"), ("act", "4"), ("act", "5"), ("result", "3"), ("result", "4"), ("result", "5")]
    assert kinds == [("act", "1"), ("result", "1"), ("act", "2"), ("result", "2"), *begun]


def test_it_is_off_unless_asked_for_and_then_leaves_no_word_in_the_trace():
    gates = Gates(2)
    opening = gates.open(0, 1)
    run = run_with(gates.tools, [picks(0, 1), DONE])
    opening.join()
    assert gates.most == 1
    assert "at_once" not in run.trace.about


def test_a_fatal_error_loses_nothing_of_the_others():
    def fails():
        raise FatalToolError("The key is wrong.")

    gates = Gates(3)
    opening = gates.open(0, 2)
    calls = ask_together(ask("pick", shelf=0), ask("fails"), ask("pick", shelf=2))
    tools = [*gates.tools, tool(fails, parallel=True)]
    run = run_with(tools, [calls], at_once=3)
    opening.join()
    assert (run.stopped, run.tool_runs) == ("fatal error", 3)
    assert [results_of(run)[place] for place in (0, 2)] == ["from shelf 0", "from shelf 2"]


def test_risky_ones_are_asked_about_one_after_another_before_any_runs():
    gates = Gates(4)
    asked = []

    def approve(call):
        asked.append((call["input"]["shelf"], gates.running, len(gates.order)))
        return {0: True, 1: "no", 2: LATER, 3: True}[call["input"]["shelf"]]

    tools = [tool(gates.pick, risky=True, parallel=True)]
    script = [picks(0, 1, 2, 3), DONE]
    opening = gates.open(3, 0)
    run = run_with(tools, script, approve=approve, at_once=4)
    opening.join()
    assert asked == [(shelf, 0, 0) for shelf in range(4)]
    assert (run.stopped, run.trace.waiting()[0]["input"]) == ("waiting", {"shelf": 2})
    assert [results_of(run)[place] for place in (0, 3)] == ["from shelf 0", "from shelf 3"]
    gates.open(2)
    more = resume(run.trace, ScriptedModel(script), tools, approve=lambda call: True)
    assert (more.answer, results_of(more)[2]) == ("done", "from shelf 2")
    assert sorted(gates.order) == [0, 2, 3]
    for one in (run, more):
        assert_sound(one)
        assert replay(one.trace) == one


def test_a_cancel_ends_the_waiting_and_says_which_had_not_ended():
    gates, pressed = Gates(4), threading.Event()

    def press(event):
        if event.kind == "act" and event.id == "2":
            gates.gates[0].set()
            threading.Thread(target=lambda: (wait_for(lambda: gates.order == [0]), pressed.set())).start()

    run = run_with(gates.tools, [picks(0, 2, 3, 1)],
        stops=stops.Cancelled(pressed), on_event=press, at_once=2,
    )  # fmt: skip
    for gate in gates.gates:
        gate.set()
    assert run.stopped == "cancelled"
    given = results_of(run)
    assert given[0] == "from shelf 0"
    assert given[1]["error"] == "not_finished"
    assert given[1]["message"].startswith("It was begun and not finished;")
    assert given[1]["message"].endswith("The work may still be running.")
    assert given[3] == {
        "error": "not_run",
        "message": "Not run: the run ended before it was this request's turn.",
    }


def wait_for(happened):
    until = time.monotonic() + WAIT_SECONDS
    while not happened():
        assert time.monotonic() < until
        time.sleep(0.0005)


def test_a_deadline_ends_the_waiting():
    gates = Gates(3)
    gates.gates[0].set()
    started = time.monotonic()
    run = run_with(gates.tools, [picks(0, 1, 2)], stops=stops.Deadline(0.1), at_once=3)
    assert time.monotonic() - started < WAIT_SECONDS / 2
    for gate in gates.gates:
        gate.set()
    assert run.stopped == "deadline"
    given = results_of(run)
    assert (given[0], [result["error"] for result in given[1:]]) == ("from shelf 0", ["not_finished"] * 2)


def test_each_keeps_to_its_own_time_limit():
    gates = Gates(3)
    tools = [tool(gates.pick, parallel=True, timeout_seconds=0.05)]
    gates.gates[0].set()
    run = run_with(tools, [picks(0, 2), DONE], at_once=2)
    gates.gates[2].set()
    assert results_of(run) == [
        "from shelf 0",
        {
            "error": "timed_out",
            "message": "pick gave no result within 0.05 s. The work may still be running.",
        },
    ]
    assert run.answer == "done"


def raise_interrupt():
    raise KeyboardInterrupt


@pytest.mark.parametrize("interrupt", [raise_interrupt, _thread.interrupt_main])
def test_an_interrupt_ends_the_run_and_keeps_what_has_ended(interrupt):
    gates = Gates(2)

    def stop():
        wait_for(lambda: gates.order == [0] and gates.running == 1)
        interrupt()
        gates.gates[1].wait(WAIT_SECONDS)

    gates.gates[0].set()
    tools = [*gates.tools, tool(stop, parallel=True)]
    calls = ask_together(ask("pick", shelf=0), ask("stop"), ask("pick", shelf=1))
    run = run_with(tools, [calls], at_once=3)
    gates.gates[1].set()
    assert run.stopped == "cancelled"
    assert results_of(run)[0] == "from shelf 0"
    assert [result["error"] for result in results_of(run)[1:]] == ["not_finished"] * 2


def test_where_there_are_no_threads_they_run_one_after_another_with_the_same_trace():
    runs = []
    for at_once in (4, InTurn(4)):
        gates = Gates(4)
        for gate in gates.gates:
            gate.set()
        runs.append(run_with(gates.tools, [picks(0, 1, 2, 3), DONE], at_once=at_once))
    assert (results_of(runs[1]), gates.order, gates.most) == (IN_ORDER, [0, 1, 2, 3], 1)
    assert runs[0] == runs[1]
    assert (SideBySide(4, BROWSER).in_turn, SideBySide(4, Platform()).in_turn) == (True, False)


def test_where_no_more_threads_can_be_had_they_run_one_after_another(monkeypatch):
    def start(self):
        raise RuntimeError("can't start new thread")

    gates = Gates(4)
    for gate in gates.gates:
        gate.set()
    monkeypatch.setattr(threading.Thread, "start", start)
    run = run_with(gates.tools, [picks(0, 1, 2, 3), DONE], at_once=4)
    assert (results_of(run), gates.order) == (IN_ORDER, [0, 1, 2, 3])


def test_without_threads_a_deadline_is_kept_too():
    gates = Gates(3)
    gates.gates[0].set()
    rule = stops.Deadline(0.1)
    run = run_with(gates.tools, [picks(0, 1, 2)], stops=rule, at_once=InTurn(3))
    for gate in gates.gates:
        gate.set()
    codes = [isinstance(result, dict) and result["error"] for result in results_of(run)]
    assert (run.stopped, codes) == ("deadline", [False, "timed_out", "not_run"])


@pytest.mark.parametrize("at_once", [2, InTurn(2)])
@pytest.mark.parametrize("repeatable", [True, False])
@pytest.mark.parametrize(
    ("make_model", "functions", "goal", "options"), [case for case in STORY_CASES if "several" in case.id]
)
def test_a_run_that_was_killed_at_any_event_goes_on(
    make_model, functions, goal, options, repeatable, at_once, tmp_path
):
    def parallel():
        tools, done = counted(functions, repeatable)
        return [replace(one, parallel=True) for one in tools], done

    tools, wanted = parallel()
    whole = run_agent(make_model(), tools, goal, **options, at_once=at_once)
    for number in range(1, len(whole.trace) + 1):
        path = tmp_path / f"{number}.jsonl"
        tools, done = parallel()
        run_agent(make_model(), tools, goal, on_event=KilledAt(path, number), at_once=at_once)
        wait_for(lambda: not any(thread.name == "agentlib tool" for thread in threading.enumerate()))
        run = resume(Trace.load(path), make_model(), tools, on_event=trace_writer(path))
        assert_sound(run)
        assert Trace.load(path) == run.trace
        assert replay(run.trace) == run
        assert run.trace.latest_about()["at_once"] == 2  # it goes on as it began
        if repeatable:
            assert (run.answer, run.history) == (whole.answer, whole.history)
        else:
            assert Counter(done) <= Counter(wanted)  # nothing runs twice


@pytest.mark.parametrize("options", [{}, {"at_once": 4}])
def test_a_fork_runs_them_in_turn_and_gives_each_its_own_result(options):
    gates = Gates(4)
    opening = gates.open(3, 2, 1, 0)
    script = [picks(0, 1, 2, 3), picks(0), DONE]
    run = run_agent(ScriptedModel(script[:1] + script[2:]), gates.tools, "Pick.", at_once=4)
    opening.join()
    make_model = functools.partial(ScriptedModel, script)
    forked = fork(run_agent, make_model, gates.tools, "Pick.", run.trace, 1, result="new", call=2, **options)
    given = [event.entry["result"] for event in forked if event.kind == "result"]
    assert given == [*IN_ORDER[:2], "new", IN_ORDER[3], "from shelf 0"]
    kinds = [event.kind for event in run.trace]
    assert [event.kind for event in forked][: len(kinds) - 3] == kinds[:-3]


def test_the_trace_says_when_each_began_and_ended():
    seconds = itertools.count(1)
    gates = Gates(2)
    opening = gates.open(1, 0)
    script = [picks(0, 1), DONE]
    run = run_with(gates.tools, script, clock=lambda: float(next(seconds)), at_once=2)
    opening.join()
    begun = [event.seconds for event in run.trace if event.kind == "act"]
    ended = [event.seconds for event in run.trace if event.kind == "result"]
    assert begun[0] < begun[1] < ended[1] < ended[0]
    so_far = Trace(run.trace.events[:-3], run.trace.about)
    more = resume(so_far, ScriptedModel(script), gates.tools, clock=lambda: 0.0)
    assert [event.seconds for event in more.trace if event.kind == "resume"] == [ended[0]]


def test_beside_one_that_runs_again_after_a_kill_one_that_must_not_is_left_alone(tmp_path):
    done = []
    tools = [
        tool(lambda: done.append("peek"), name="peek", parallel=True, repeatable=True),
        tool(lambda: done.append("pay"), name="pay", parallel=True),
    ]
    script = [ask_together(ask("peek"), ask("pay")), DONE]
    path = tmp_path / "run.jsonl"
    run_agent(ScriptedModel(script), tools, "Pay.", on_event=KilledAt(path, 6), at_once=InTurn(2))
    trace = Trace(Trace.load(path).events[:-1], Trace.load(path).about)  # the first result is lost, too
    assert ([event.kind for event in trace][-2:], done) == (["act", "act"], ["peek", "pay"])
    run = resume(trace, ScriptedModel(script), tools)
    assert done == ["peek", "pay", "peek"]
    assert results_of(run)[1]["error"] == "not_finished"
    assert replay(run.trace) == run
