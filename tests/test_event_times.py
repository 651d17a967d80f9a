"""Events tell when they happened, by the run's own clock."""

import time

import pytest

from agentlib import answer, ask, ask_together, replay, run_agent, stops
from agentlib.models import LoopingModel, ScriptedModel
from agentlib.stops import Deadline, StopRule
from agentlib.trace import Event, Trace, compare
from tests.clock import Clock


def timed(clock=None, **options):
    """A run in which a reply takes 2 s, the tool `look` 0.25 s, and its memory and a person's yes nothing."""
    clock = clock or Clock()
    script = iter([ask_together(ask("look"), ask("look")), answer("Seen.")])

    def model(history):
        clock.passes(2)
        return next(script)

    def look() -> str:
        clock.passes(0.25)
        return "a mug"

    return run_agent(model, [look], "Look.", clock=clock, **options)


def times(trace):
    return [(event.kind, event.seconds) for event in trace]


def test_each_event_has_the_running_time_of_the_runs_own_clock():
    assert times(timed().trace) == [
        ("start", 0), ("ask", 0), ("reply", 2), ("act", 2), ("result", 2.25), ("act", 2.25), ("result", 2.5),
        ("ask", 2.5), ("reply", 4.5), ("stop", 4.5),
    ]  # fmt: skip


def test_what_memory_takes_comes_before_the_call():
    clock = Clock()
    run = timed(clock, memory=lambda history: clock.passes(1) or history)
    asked = [event.seconds for event in run.trace if event.kind == "ask"]
    assert asked == [1, 4.5]


def test_a_call_that_fails_and_an_attempt_have_their_time_too():
    clock = Clock()

    class Failing:
        def call(self, history, request):
            clock.passes(3)
            request.note(Event("attempt", 0, text="busy"))
            clock.passes(4)
            raise ConnectionError("gone")

        __call__ = call

    trace = run_agent(Failing(), {}, "Go.", clock=clock).trace
    assert times(trace) == [("start", 0), ("ask", 0), ("attempt", 3), ("stop", 7)]


def test_times_count_neither_in_comparison_nor_in_replay():
    run, slower = timed(), timed(memory=lambda history: time.sleep(0.002) or history)
    assert times(run.trace) != times(replay(run.trace).trace)
    assert replay(run.trace).trace == run.trace
    assert slower.trace == run.trace
    assert compare(run.trace, replay(run.trace).trace) == []
    left, right = Event("act", 1, text="a", seconds=1.0), Event("act", 1, text="b", seconds=2.0)
    (difference,) = compare(Trace((left,)), Trace((right,)))
    assert str(difference) == "step 1: act {'text': 'a'} against act {'text': 'b'}"


def test_times_are_saved_and_an_older_trace_loads_without(tmp_path):
    run = timed()
    path = run.trace.save(tmp_path / "run.jsonl")
    assert times(Trace.load(path)) == times(run.trace)
    lines = [line.replace(', "seconds": 2.25', "") for line in path.read_text().splitlines()]
    path.write_text("\n".join(lines) + "\n")
    assert Trace.load(path).events[4].seconds == 0
    assert Trace.load(path) == run.trace


@pytest.mark.parametrize(
    ("rules", "reads"), [([], 6), ([Deadline(99)], 12), ([Deadline(99), lambda run: None], 12)]
)
def test_the_clock_is_read_for_an_event_that_took_time_and_for_each_look_of_a_limit(rules, reads):
    """6: the start, 2 replies, 2 results, the stop. A limit: 2 calls, 2 tools and what is left for each."""
    clock = Clock()
    timed(clock, stops=rules)
    assert clock.reads == reads


@pytest.mark.parametrize(("moment", "asked"), [("before_call", 0), ("on_request", 1), ("on_result", 1)])
def test_a_rule_that_takes_long_is_seen_by_the_deadline(moment, asked):
    clock = Clock()
    slow = type("Slow", (StopRule,), {"order": 1, moment: lambda self, *args: clock.passes(6)})()
    model = LoopingModel("look")
    run = run_agent(model, {"look": lambda: 1}, "Look.", clock=clock, stops=[slow, Deadline(5)])
    assert (run.stopped, run.steps) == ("deadline", asked)


def test_a_person_or_a_watcher_who_takes_long_is_seen_by_the_deadline():
    clock, ran = Clock(), []

    def watch(event):
        clock.passes(6 if event.kind == "reply" else 0)

    script = ScriptedModel([ask("look"), answer("Seen.")])
    run = run_agent(
        script, {"look": lambda: ran.append(1)}, "Look.", clock=clock, stops=Deadline(5), on_event=watch
    )
    assert (run.stopped, ran) == ("deadline", [])


def test_a_clock_that_fails_later_ends_no_run():
    times_left = iter([0.0, 1.0])
    run = run_agent(
        ScriptedModel([ask("look"), answer("Seen.")]), {"look": dict}, "Go.", clock=lambda: next(times_left)
    )
    assert (run.stopped, run.answer) == ("answered", "Seen.")
    assert {event.seconds for event in run.trace} == {0, 1}


def test_what_happens_within_a_millisecond_shares_one_number():
    trace = run_agent(ScriptedModel([ask("look")] * 50 + [answer("Seen.")]), {"look": int}, "Go.", 99).trace
    assert len({id(event.seconds) for event in trace}) < 60
    assert all(event.seconds == round(event.seconds, 3) for event in trace)
    assert sorted(event.seconds for event in trace) == [event.seconds for event in trace]


def test_the_reasons_stay_as_they_were():
    assert timed(stops=stops.Deadline(2)).stopped == "deadline"
