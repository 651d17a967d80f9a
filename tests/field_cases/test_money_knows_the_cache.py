"""Read, cache-read, cache-write and written tokens are counted and priced apart wherever money is counted."""

import json

import pytest

from agentlib import answer, ask, run_agent, stops
from agentlib.costs import Price, Usage
from agentlib.evals import Case, evaluate
from agentlib.models import ScriptedModel

PRICE = Price(10, 50, "made up", "2026-01-01", cached_input_usd=1, cache_write_usd=12.5)


def with_usage(*usages):
    """A model whose provider counts so many tokens for each call; the last call answers."""
    requests = [{**ask("look", n=n), "usage": usage} for n, usage in enumerate(usages[:-1])]
    return ScriptedModel([*requests, {**answer("done"), "usage": usages[-1]}])


def counted(read, cached=None, written_to_cache=None, out=0):
    usage = {"input_tokens": read, "output_tokens": out}
    usage |= {} if cached is None else {"cached_tokens": cached}
    return usage | ({} if written_to_cache is None else {"cache_write_tokens": written_to_cache})


def go(*usages, **options):
    return run_agent(with_usage(*usages), {"look": lambda n: n}, "Goal", **options)


# --- prices -----------------------------------------------------------------------------------------


def test_each_kind_of_token_has_its_own_price():
    assert PRICE.usd(1_000_000, 0, 600_000, 300_000) == pytest.approx(0.1 * 10 + 0.6 * 1 + 0.3 * 12.5)
    usage = Usage(1_000_000, 100_000, cached_tokens=600_000, cache_write_tokens=300_000)
    assert PRICE.cost(usage) == pytest.approx(0.1 * 10 + 0.6 * 1 + 0.3 * 12.5 + 0.1 * 50)


def test_without_a_price_of_their_own_they_cost_what_all_cost():
    plain = Price(10, 50, "made up", "2026-01-01")
    usage = Usage(1_000, 100, cached_tokens=600, cache_write_tokens=300)
    assert plain.cost(usage) == plain.usd(1_000, 100)


@pytest.mark.parametrize(("cached", "written"), [(600, 401), (-1, 0), (0, -1), (1_001, 0), (0, 1_001)])
def test_both_are_parts_of_what_was_read(cached, written):
    with pytest.raises(ValueError, match="a part of the 1,000 input tokens"):
        PRICE.usd(1_000, 0, cached, written)


@pytest.mark.parametrize("wrong", [-0.01, float("nan"), float("inf"), "1", True])
def test_a_price_of_writing_that_is_no_number_from_0_up_is_refused(wrong):
    with pytest.raises(ValueError, match="cache_write_usd is a number of USD from 0 up"):
        Price(1, 1, "made up", "2026-01-01", cache_write_usd=wrong)


# --- usage ------------------------------------------------------------------------------------------


def test_a_run_counts_them_apart():
    run = go(counted(1_000, 0, 900, 10), counted(1_100, 900, 100, 20), counted(1_200, 1_000, 0, 30))
    assert run.usage == Usage(3_300, 60, cached_tokens=1_900, cache_write_tokens=1_000)
    assert run.usage.total_tokens == 3_360
    assert PRICE.cost(run.usage) == pytest.approx((400 * 10 + 1_900 * 1 + 1_000 * 12.5 + 60 * 50) / 1e6)


def test_what_only_some_calls_say_is_counted_for_these():
    run = go(counted(1_000, out=10), counted(1_100, 900, out=20))
    assert run.usage == Usage(2_100, 30, cached_tokens=900)


def test_usages_can_be_added_up():
    assert Usage(1, 2, False, 1, 0) + Usage(10, 20, True, 2, 3) == Usage(11, 22, True, 3, 3)
    assert sum([Usage(1, 2), Usage(3, 4)], Usage()) == Usage(4, 6)


@pytest.mark.parametrize("cached", [-5, 1.5, "many", None, True, 10**20, 5_000])
@pytest.mark.parametrize("name", ["cached_tokens", "cache_write_tokens"])
def test_a_part_that_cannot_be_true_does_no_harm(name, cached):
    usage = {"input_tokens": 1_000, "output_tokens": 10, name: cached}
    run = go(usage, usage, stops=stops.CostBudget(5, PRICE))
    assert (run.stopped, run.usage.input_tokens, run.usage.output_tokens) == ("answered", 2_000, 20)
    assert 0 <= run.usage.cached_tokens + run.usage.cache_write_tokens <= 2_000
    assert PRICE.cost(run.usage) > 0


def test_what_is_shown_of_a_usage_names_the_cache_only_where_there_was_one():
    assert repr(Usage(10, 2, True)) == "Usage(input_tokens=10, output_tokens=2, estimated=True)"
    assert "cached_tokens=5" in repr(Usage(10, 2, False, 5))
    assert "cache_write_tokens=3" in repr(Usage(10, 2, False, 0, 3))


# --- budgets ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("usd", [0.25, 0.09])
def test_a_budget_knows_the_price_of_reading_the_cache(usd):
    usages = [counted(10_000, 9_000)] * 4  # 0.019 USD a call
    run = go(*usages, stops=[stops.CostBudget(usd, PRICE)])
    assert (run.stopped, run.steps) == ("answered", 4)
    assert PRICE.cost(run.usage) == pytest.approx(0.076)


def test_a_budget_knows_the_price_of_writing_the_cache():
    usages = [counted(10_000, 0, 10_000)] * 4  # 0.125 USD a call, where 0.1 would be the price without
    run = go(*usages, stops=[stops.CostBudget(0.25, PRICE)])
    assert run.stopped == "cost budget"
    assert PRICE.cost(run.usage) <= 0.25
    dear = go(*[counted(1_000, 0, 1_000, 0)] * 4, stops=[stops.CostBudget(0.045, PRICE)])
    assert dear.stopped == "cost budget"
    assert PRICE.cost(dear.usage) <= 0.045


def test_a_budget_is_never_passed_when_the_next_call_reads_what_the_last_one_read():
    for usd in (0.02, 0.05, 0.1, 0.3):
        run = go(*[counted(10_000, 9_000, 500)] * 30, stops=[stops.CostBudget(usd, PRICE)], max_steps=40)
        assert PRICE.cost(run.usage) <= usd or run.steps == 1


def test_without_a_word_of_the_provider_the_estimate_is_priced_as_read_anew():
    model = ScriptedModel([ask("look", n=1), answer("done")])
    run = run_agent(model, {"look": lambda n: "x" * 40_000}, "Goal", max_result_chars=None,
                    stops=[stops.CostBudget(0.09, PRICE)])  # fmt: skip
    assert (run.stopped, run.steps) == ("cost budget", 1)


# --- evals ------------------------------------------------------------------------------------------


def test_evals_count_and_price_them_apart(tmp_path):
    usages = [counted(10_000, 0, 9_000, 100), counted(11_000, 9_000, 1_000, 100)]
    case = Case("case", "Goal", {"look": lambda n: n}, lambda run: True)
    path = tmp_path / "results.jsonl"
    report = evaluate([case], lambda rng: with_usage(*usages), runs=2, file=path)
    (first, _) = report.results
    usd = (2_000 * 10 + 9_000 * 1 + 10_000 * 12.5 + 200 * 50) / 1e6
    assert first.usd(PRICE) == pytest.approx(usd)
    assert report.spread_usd(PRICE).mean == pytest.approx(usd)
    assert report.spread("cached_tokens").mean == 9_000
    assert report.spread("cache_write_tokens").mean == 10_000
    assert json.loads(path.read_text().splitlines()[0])["cached_tokens"] == 9_000
    again = evaluate([case], lambda rng: pytest.fail("made again"), runs=2, file=path)
    assert again == report


def test_results_that_were_written_before_are_still_read(tmp_path):
    case = Case("case", "Goal", {"look": lambda n: n}, lambda run: True)
    path = tmp_path / "results.jsonl"
    evaluate([case], lambda rng: with_usage(counted(10, 0, 0, 1)), runs=1, file=path)
    old = json.loads(path.read_text())
    del old["cached_tokens"], old["cache_write_tokens"]
    path.write_text(json.dumps(old) + "\n")
    (result,) = evaluate([case], lambda rng: pytest.fail("made again"), runs=1, file=path).results
    assert result.usd(PRICE) == pytest.approx((10 * 10 + 50) / 1e6)
