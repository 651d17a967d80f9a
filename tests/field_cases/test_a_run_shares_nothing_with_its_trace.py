"""What a caller changes in a run's history does not change its trace, and the other way round."""

import copy
import math

import pytest

from agentlib import answer, ask, ask_together, compare, replay, run_agent
from agentlib.models import ScriptedModel
from tests.invariants import assert_json_ready


def a_run(**options):
    script = [
        {**ask("look", at={"deep": [1]}), "usage": {"input_tokens": 10, "output_tokens": 2}},
        ask_together(ask("look", at=1), ask("nobody")),
        {"type": "dance"},
        {**answer("done"), "kept": {"beside": ["it"]}},
    ]
    return run_agent(ScriptedModel(script), {"look": lambda at: {"at": [at, {"b": 2}]}}, "Goal", **options)


def spoil(value):
    """Change everything that can be changed in a value of lists and dicts."""
    for part in list(value.values() if isinstance(value, dict) else value):
        if isinstance(part, (dict, list)):
            spoil(part)
    if isinstance(value, dict):
        value["spoiled"] = True
    else:
        value.append("spoiled")


def test_a_changed_history_leaves_the_trace_as_it_was():
    run = a_run()
    trace = copy.deepcopy(run.trace)
    spoil(run.history)
    assert run.trace == trace
    assert compare(replay(run.trace).trace, trace) == []


def test_a_changed_trace_leaves_the_history_as_it_was():
    run = a_run()
    history = copy.deepcopy(run.history)
    for event in run.trace:
        for part in (event.entry, event.read):
            if part is not None:
                spoil(part)
    spoil(run.trace.about)
    assert run.history == history


def test_a_trace_that_is_changed_first_leaves_the_history_as_it_was():
    run, other = a_run(), a_run()
    for event in run.trace:
        if event.entry is not None:
            spoil(event.entry)
    assert run.history == other.history


def test_a_goal_of_a_class_of_its_own_is_plain_text_in_the_history():
    class Goal(str):
        pass

    run = run_agent(ScriptedModel([answer("done")]), {}, Goal("Count."))
    assert [type(run.history[0]["text"]), type(run.trace.events[0].entry["text"])] == [str, str]


def test_what_a_trace_gives_is_not_the_runs_history_either():
    run = a_run()
    history = copy.deepcopy(run.history)
    for given in (*run.trace.histories(), run.trace.history_after(len(run.trace)), run.trace.replies()):
        spoil(given)
    assert run.history == history


def test_the_history_is_made_of_plain_dicts_and_lists():
    def kinds(value):
        yield type(value)
        for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from kinds(part)

    assert set(kinds(a_run().history)) <= {dict, list, str, int, float, bool, type(None)}


@pytest.mark.parametrize("odd", ["\ud800", 10**5_000, [math.nan], {"deep": ["\udc00"]}], ids="abcd")
@pytest.mark.parametrize("name", ["beside", "cached_tokens"])
def test_what_a_provider_puts_beside_its_counts_does_no_harm(odd, name):
    usage = {"input_tokens": 10, "output_tokens": 2, name: odd}
    for reply in (answer("done"), {"type": "dance"}, answer("")):
        run = run_agent(ScriptedModel([{**reply, "usage": usage}, answer("done")]), {}, "Goal")
        assert run.stopped == "answered"
        assert run.usage.input_tokens >= 10
        assert_json_ready(run.history)


def test_a_trace_that_was_changed_by_hand_is_replayed_to_its_end():
    trace = run_agent(ScriptedModel([{"type": "dance"}, answer("done")]), {}, "Goal").trace
    for event in trace:
        if event.kind == "reply":
            event.entry["text"] += "\ud800"
    run = replay(trace)
    assert run.stopped == "answered"
    assert_json_ready(run.history)


def test_deep_results_are_kept_whole():
    def deep():
        value = "bottom"
        for _ in range(49):
            value = [value]
        return value

    run = run_agent(ScriptedModel([ask("deep"), answer("done")]), {"deep": deep}, "Goal")
    assert run.history[2]["result"] == deep()
    assert run.trace.history_after(len(run.trace)) == run.history
