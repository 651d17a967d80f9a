"""The lab of the four guards: what each bad run needs, and which guard ends which run."""

import pytest

from agentlib import stops
from agentlib.costs import Price
from agentlib.labs import guards

PRICE = Price(input_usd=3, output_usd=15, source="an example", date="2026-01-01")


def four(steps=20, tokens=20_000, seconds=60, usd=0.20):
    return {
        "steps": stops.StepLimit(steps),
        "tokens": stops.TokenBudget(tokens),
        "time": stops.Deadline(seconds),
        "money": stops.CostBudget(usd, PRICE),
    }


CAUGHT = {
    ("25 small steps", "steps"): "step limit",
    ("3 long pages", "tokens"): "token budget",
    ("3 slow pages", "time"): "deadline",
    ("3 long thoughts", "money"): "cost budget",
}


def test_each_bad_run_is_stopped_by_one_guard_and_answered_under_the_others():
    ends = guards.each_alone(four())
    assert list(ends) == list(guards.BAD_RUNS)
    for name, reasons in ends.items():
        for guard, reason in reasons.items():
            assert reason == CAUGHT.get((name, guard), "answered")
    assert guards.stopped(ends) == 4


def test_the_small_steps_are_25_and_one_for_the_answer():
    assert guards.bad_run("25 small steps", stops.StepLimit(25)).stopped == "step limit"
    assert guards.bad_run("25 small steps", stops.StepLimit(26)).stopped == "answered"


def test_the_slow_pages_are_over_after_75_seconds_of_a_clock_that_nobody_waits_for():
    assert guards.bad_run("3 slow pages", stops.Deadline(75)).stopped == "deadline"
    assert guards.bad_run("3 slow pages", stops.Deadline(76)).stopped == "answered"


def test_three_thoughts_cost_22_and_a_half_cents_for_what_is_written():
    run = guards.bad_run("3 long thoughts", stops.CostBudget(0.20, PRICE))
    assert (run.steps, run.usage.output_tokens) == (3, 3 * guards.THOUGHT_TOKENS)
    assert PRICE.usd(0, run.usage.output_tokens) == pytest.approx(0.225)
    assert run.usage.total_tokens < 20_000


def test_runs_do_not_share_a_clock_or_a_script():
    first, second = (guards.bad_run("3 slow pages", stops.Deadline(60)) for _ in range(2))
    assert first == second


def test_a_bad_run_that_is_not_there_is_refused():
    with pytest.raises(KeyError, match="4 fast pages"):
        guards.bad_run("4 fast pages", stops.StepLimit(3))


def test_the_table_has_a_row_for_each_run_and_a_column_for_each_guard():
    shown = guards.table(
        {"run A": {"steps": "step limit", "time": "answered"}, "B": {"steps": "answered", "time": "deadline"}}
    )
    assert shown == ("       steps       time\nrun A  step limit  answered\nB      answered    deadline")
