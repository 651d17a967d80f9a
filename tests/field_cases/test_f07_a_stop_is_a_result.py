"""F7: a limit throws nothing away: reason, history, partial work and usage are in the run."""

import threading

import pytest

from agentlib import ask, run_agent, stops
from agentlib.costs import Price
from agentlib.labs import blue_mugs, capitals
from agentlib.models import LoopingModel, ScriptedModel
from tests.invariants import assert_sound

PRICE = Price(1.0, 1.0, "made up", "2025-11-03")


def count_up():
    numbers = iter(range(1_000))

    def count() -> int:
        """Count on."""
        return next(numbers)

    return count


def set_after_three():
    class Event:
        looked = 0

        def is_set(self):
            self.looked += 1
            return self.looked > 7  # before each of 4 calls and 3 tools, then at the fourth

    return Event()


LIMITS = {
    "step limit": {"max_steps": 4},
    "token budget": {"stops": stops.TokenBudget(35)},
    "coin budget": {"stops": stops.CoinBudget(16)},
    "cost budget": {"stops": stops.CostBudget(35e-6, PRICE)},
    "deadline": {"stops": stops.Deadline(50)},
    "too many errors": {"stops": stops.TooManyErrors(4)},
    "tool called": {"stops": stops.ToolCalled("count")},
    "own words": {"stops": lambda run: "own words" if run.steps == 4 else None},
    "repeated call": {"stops": stops.RepeatedCall(5)},
    "no progress": {"stops": stops.NoProgress(3)},
}


@pytest.mark.parametrize("name", LIMITS)
def test_each_limit_gives_back_a_run_with_its_reason_and_all_work_so_far(name):
    options = {"max_steps": 30, **LIMITS[name]}
    tools = {"count": count_up()}
    if name == "deadline":
        options["clock"] = iter(range(0, 1_000, 4)).__next__
    if name == "too many errors":
        tools = {}
    if name in ("repeated call", "no progress"):
        tools = {"count": lambda: "the same"}
    run = run_agent(LoopingModel("count"), tools, "Count", **options)
    assert (run.stopped, run.answer) == (name, None)
    assert run.steps >= 1
    assert run.stopped.detail or name == "own words"
    assert len(run.history) >= 2 * run.steps
    assert run.usage.total_tokens > 0
    assert_sound(run, ["own words"])


def test_the_caller_can_tell_out_of_budget_from_broken():
    budget = run_agent(LoopingModel("count"), {"count": count_up()}, "Count", stops=stops.CoinBudget(9))
    broken = run_agent(ScriptedModel([ask("count")]), {"count": count_up()}, "Count")
    cancelled = run_agent(
        LoopingModel("count"), {"count": count_up()}, "Count", stops=stops.Cancelled(set_after_three())
    )
    assert [budget.stopped, broken.stopped, cancelled.stopped] == ["coin budget", "model error", "cancelled"]
    assert [run.tool_runs for run in (budget, broken, cancelled)] == [3, 1, 3]


@pytest.mark.parametrize(("limit", "known"), [(1, 0), (2, 1), (4, 3), (5, 4), (6, 4)])
def test_partial_work_stands_in_the_history(limit, known):
    run = run_agent(capitals.model(), capitals.TOOLS, capitals.GOAL, limit)
    assert (run.stopped, run.answer) == ("step limit", None)
    assert len(capitals.known_populations(run.history)) == known


def test_a_stopped_run_can_be_taken_up_again_from_its_history():
    stopped = run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL, 2)
    rest = ScriptedModel(blue_mugs.SCRIPT[2:])
    resumed = run_agent(
        rest, blue_mugs.TOOLS, blue_mugs.GOAL, memory=lambda history: [*stopped.history, *history[1:]]
    )
    assert (stopped.stopped, resumed.stopped) == ("step limit", "answered")
    assert resumed.trace.histories()[0] == stopped.history


def test_no_limit_raises_even_if_it_is_reached_before_the_first_call():
    event = threading.Event()
    event.set()
    for rule in (stops.Cancelled(event), stops.TokenBudget(1), lambda run: "not today"):
        run = run_agent(LoopingModel("count"), {"count": count_up()}, "A goal of some length", stops=rule)
        assert (run.steps, run.answer, len(run.history)) == (0, None, 1)
        assert_sound(run, ["not today"])
