"""What a run costs: tokens counted and estimated, coins, money, and the closed forms."""

import math

import pytest

from agentlib import answer, ask, ask_together, run_agent, stops
from agentlib.costs import (
    Price,
    Usage,
    coins_after,
    entry_tokens,
    estimate_tokens,
    tokens_for,
    tokens_read_at,
    tokens_read_total,
)
from agentlib.messages import user
from agentlib.models import LoopingModel, ScriptedModel


def look(n: int = 0) -> str:
    """Look."""
    return "x" * n


# --- the estimate -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("chars", "tokens"), [(0, 1), (1, 1), (4, 1), (5, 2), (8, 2), (9, 3), (400, 100)])
def test_a_token_is_about_four_characters_rounded_up_and_an_entry_has_at_least_one(chars, tokens):
    assert tokens_for(chars) == tokens
    assert entry_tokens(user("x" * chars)) == tokens


def test_texts_entries_and_whole_histories_can_be_estimated():
    assert estimate_tokens("") == 0
    assert estimate_tokens("x" * 5) == 2
    assert estimate_tokens(user("x" * 5)) == 2
    assert estimate_tokens([user("x" * 5), user("")]) == 3
    assert estimate_tokens([]) == 0


def test_a_request_is_estimated_by_its_tool_and_input_and_a_result_by_its_json_text():
    assert entry_tokens(ask("look", n=1)) == tokens_for(len('look{"n":1}'))
    both = ask_together(ask("look"), ask("see"), text="Hm.")
    assert entry_tokens(both) == tokens_for(len("look{}" + "see{}" + "Hm."))
    assert entry_tokens({"role": "tool", "result": ["é"]}) == tokens_for(len('["é"]'))
    assert entry_tokens({"role": "tool", "result": None}) == tokens_for(len("null"))


@pytest.mark.parametrize("entry", [{}, {"text": None}, {"type": "tool"}, {"type": "tools"}])
def test_a_bare_entry_of_a_hand_written_loop_can_be_estimated_too(entry):
    assert entry_tokens(entry) >= 1


def test_the_loop_counts_each_entry_as_entry_tokens_does():
    script = [
        ask("look", n=9),
        ask_together(ask("look"), ask("look", n="no")),
        ask("nobody"),
        {},
        answer("done"),
    ]
    run = run_agent(ScriptedModel(script), [look], "Goal")
    read = [event.tokens for event in run.trace if event.kind == "ask"]
    assert read == [estimate_tokens(history) for history in run.trace.histories()]
    assert run.usage.input_tokens == sum(read)
    written = [entry for entry in run.history if entry["role"] == "model"]
    assert run.usage.output_tokens == sum(entry_tokens(entry) for entry in written)
    assert run.usage.estimated


def test_the_replies_own_usage_replaces_the_estimate():
    usage = {"input_tokens": 1_000, "output_tokens": 7}
    script = [{**ask("look"), "usage": usage}, {**answer("done"), "usage": usage}]
    run = run_agent(ScriptedModel(script), [look], "Goal")
    assert run.usage == Usage(2_000, 14, estimated=False)
    assert run.usage.total_tokens == 2_014
    mixed = run_agent(ScriptedModel([script[0], answer("done")]), [look], "Goal")
    assert mixed.usage.estimated
    assert mixed.usage.input_tokens == 1_000 + sum(entry_tokens(entry) for entry in mixed.history[:3])


def test_a_call_that_failed_was_read_but_not_counted_as_tokens():
    run = run_agent(ScriptedModel([]), [look], "Goal")
    assert (run.stopped, run.steps, run.coins, run.usage) == ("model error", 1, 1, Usage())


# --- the closed forms -------------------------------------------------------------------------------


@pytest.mark.parametrize(("call", "tokens"), [(1, 500), (20, 10_000)])
def test_call_n_reads_n_steps(call, tokens):
    assert tokens_read_at(call, 500) == tokens


@pytest.mark.parametrize(
    ("steps", "per_step", "total"),
    [(20, 500, 105_000), (5, 50_000, 750_000), (200, 500, 10_050_000), (1, 500, 500), (0, 500, 0)],
)
def test_all_calls_together_read_the_square(steps, per_step, total):
    assert tokens_read_total(steps, per_step) == total
    assert sum(tokens_read_at(call, per_step) for call in range(1, steps + 1)) == total


def test_five_large_steps_and_200_small_ones_read_alike_at_about_37_tokens_a_step():
    assert round(tokens_read_total(5, 50_000) / tokens_read_total(200, 1)) == 37


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 8, 30])
def test_a_measured_run_costs_as_many_coins_as_the_formula_says(steps):
    run = run_agent(LoopingModel("look", n=1), [look], "Goal", steps)
    assert run.coins == coins_after(steps) == sum(range(1, 2 * steps, 2))


# --- money ------------------------------------------------------------------------------------------


def test_a_price_is_in_usd_per_million_tokens():
    price = Price(3.0, 15.0, source="made up", date="2025-11-03")
    assert price.usd(1_000_000) == 3.0
    assert price.usd(0, 1_000_000) == 15.0
    assert price.usd(16_700) == pytest.approx(0.0501)
    assert Price(0, 0, "local", "2025-11-03").usd(10**9, 10**9) == 0


@pytest.mark.parametrize("wrong", [-1, math.nan, math.inf, "3", None, True])
def test_a_price_that_is_no_number_from_0_up_is_refused(wrong):
    with pytest.raises(ValueError, match="input_usd is a number of USD from 0 up"):
        Price(wrong, 1, "made up", "2025-11-03")
    with pytest.raises(ValueError, match="output_usd is a number of USD from 0 up"):
        Price(1, wrong, "made up", "2025-11-03")


def test_a_cost_budget_stops_at_the_call_that_would_go_over_and_not_at_the_one_that_just_fits():
    usage = {"input_tokens": 100, "output_tokens": 10}
    model = LoopingModel("look", n=1)
    model.reply["usage"] = usage
    price = Price(10.0, 100.0, "made up", "2025-11-03")
    once = price.usd(100, 10)
    free = run_agent(model, [look], "Goal", 2)
    next_call = price.usd(
        100 + estimate_tokens(free.history[1:3])
    )  # what the first call read, and what is new
    fits = run_agent(model, [look], "Goal", 9, stops=stops.CostBudget(once + next_call, price))
    over = run_agent(model, [look], "Goal", 9, stops=stops.CostBudget(once + next_call - 1e-5, price))
    assert (fits.stopped, fits.steps) == ("cost budget", 2)
    assert (over.stopped, over.steps) == ("cost budget", 1)
