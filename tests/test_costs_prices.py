"""Money and caches: prices as data, what a changed line does to a cached prefix, the 240-dollar night."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentlib import run_agent
from agentlib.costs import (
    Price,
    Reading,
    calls_made,
    calls_read,
    entry_tokens,
    equal_tokens_per_step,
    estimate_tokens,
    read_append_only,
    read_changed_top,
    read_replaced_results,
    read_uncached,
    tokens_read_at,
    tokens_read_total,
    tokens_read_windowed,
    total_reading,
)
from agentlib.memory import clear_results
from agentlib.messages import user
from agentlib.models import LoopingModel

PRICE = Price(3.0, 15.0, source="made up", date="2025-11-03", cached_input_usd=0.3)
quick = settings(max_examples=200, derandomize=True, database=None, deadline=None)


# --- prices -----------------------------------------------------------------------------------------


def test_cached_tokens_are_a_part_of_the_input_tokens_and_have_their_own_price():
    assert PRICE.usd(1_000_000) == 3.0
    assert PRICE.usd(1_000_000, cached_tokens=1_000_000) == pytest.approx(0.3)
    assert PRICE.usd(1_000_000, 100_000, 600_000) == pytest.approx(0.4 * 3 + 0.6 * 0.3 + 0.1 * 15)


def test_without_a_price_of_their_own_cached_tokens_cost_what_all_cost():
    plain = Price(3.0, 15.0, source="made up", date="2025-11-03")
    assert plain.usd(1_000, 10, 900) == plain.usd(1_000, 10)
    free = Price(3.0, 15.0, source="made up", date="2025-11-03", cached_input_usd=0)
    assert free.usd(1_000, 0, 1_000) == 0


@pytest.mark.parametrize("cached", [-1, 1_001])
def test_more_tokens_from_the_cache_than_were_sent_are_an_error(cached):
    with pytest.raises(ValueError, match="a part of the 1,000 input tokens"):
        PRICE.usd(1_000, cached_tokens=cached)


@pytest.mark.parametrize("wrong", [-1, math.nan])
def test_tokens_below_0_or_no_number_are_an_error(wrong):
    with pytest.raises(ValueError, match="input_tokens is a number from 0 up, but was"):
        PRICE.usd(wrong)
    with pytest.raises(ValueError, match="output_tokens is a number from 0 up, but was"):
        PRICE.usd(1_000, wrong)
    assert PRICE.usd(0, 0) == 0


@pytest.mark.parametrize("wrong", [-0.01, math.nan, math.inf, "0.3", True])
def test_a_cached_price_that_is_no_number_from_0_up_is_refused(wrong):
    with pytest.raises(ValueError, match="cached_input_usd is a number of USD from 0 up"):
        Price(3, 15, "made up", "2025-11-03", cached_input_usd=wrong)


@pytest.mark.parametrize("wrong", ["", "  ", None, 2025])
def test_a_price_without_its_source_or_date_is_refused(wrong):
    with pytest.raises(ValueError, match="source says where or when"):
        Price(3, 15, wrong, "2025-11-03")
    with pytest.raises(ValueError, match="date says where or when"):
        Price(3, 15, "made up", wrong)


def test_a_missing_price_is_an_error():
    with pytest.raises(TypeError):
        Price(3)


# --- the figures of the course ----------------------------------------------------------------------


def test_the_night_that_cost_240_dollars():
    calls = calls_made(8 * 3_600, seconds_per_call=6)
    assert calls == 4_800
    assert round(100 * PRICE.usd(16_700), 1) == 5.0  # cents a call
    assert round(calls * PRICE.usd(16_700)) == 240
    # The same night with a history that grows by 100 tokens a step and no window that bounds it.
    assert round(PRICE.usd(tokens_read_total(calls, 100))) == 3_457
    # A window that has to fill up first makes it a little cheaper.
    assert round(PRICE.usd(tokens_read_windowed(calls, 100, 16_700))) == 236


def test_five_large_steps_read_as_much_as_200_small_ones():
    large = tokens_read_total(5, 50_000)
    assert large == 750_000
    assert round(equal_tokens_per_step(200, large), 1) == 37.3
    assert tokens_read_total(200, equal_tokens_per_step(200, large)) == pytest.approx(large)
    assert tokens_read_total(200, 500) == 10_050_000


def test_500_tokens_a_step():
    assert [tokens_read_at(call, 500) for call in (1, 20)] == [500, 10_000]
    assert tokens_read_total(20, 500) == 105_000


def test_a_measurement_with_a_real_model_is_near_the_closed_forms():
    # A small model on one CPU thread, 16 steps of about 170 tokens: tokens sent, and tokens read anew with
    # an append-only history, with no cache, and with one changing line at the top.
    assert read_uncached(16, 170).fresh == pytest.approx(23_436, rel=0.02)
    assert read_append_only(16, 170).sent == pytest.approx(23_436, rel=0.02)
    assert read_append_only(16, 170).fresh == pytest.approx(2_626, rel=0.04)
    assert read_changed_top(16, 170, 5).sent == pytest.approx(23_506, rel=0.02)
    assert read_changed_top(16, 170, 5).fresh == pytest.approx(23_426, rel=0.02)


# --- closed forms against counting one by one -------------------------------------------------------


@quick
@given(steps=st.integers(0, 80), per_step=st.integers(1, 50), window=st.integers(1, 500))
def test_a_windowed_run_counted_call_by_call(steps, per_step, window):
    counted = sum(min(call * per_step, window) for call in range(1, steps + 1))
    assert tokens_read_windowed(steps, per_step, window) == counted


def test_calls_are_whole_calls():
    assert calls_made(59.9, 6) == 9
    assert calls_made(60, 6) == 10
    assert calls_made(0, 6) == 0


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: calls_made(60, 0),
        lambda: equal_tokens_per_step(0, 100),
        lambda: tokens_read_windowed(5, 0, 100),
        lambda: tokens_read_windowed(5, 100, 0),
        lambda: read_replaced_results(
            5, goal_tokens=1, request_tokens=1, result_tokens=1, note_tokens=1, keep_steps=0
        ),
    ],
)
def test_numbers_that_make_no_sense_are_an_error(wrong):
    with pytest.raises(ValueError, match=r"above 0|from 1 up"):
        wrong()


def counted_token_by_token(histories):
    """Count in another way: lay all tokens in a row, and compare the rows token by token."""
    readings, before = [], []
    for history in histories:
        row = [(repr(entry), place) for entry in history for place in range(entry_tokens(entry))]
        same = 0
        for old, new in zip(before, row, strict=False):
            if old != new:
                break
            same += 1
        readings.append(Reading(len(row), same))
        before = row
    return readings


entries = st.sampled_from([user(letter * size) for letter in "ab" for size in (1, 9, 30)])


@quick
@given(histories=st.lists(st.lists(entries, max_size=5), max_size=6))
def test_a_cached_prefix_counted_token_by_token(histories):
    assert calls_read(histories) == counted_token_by_token(histories)
    assert calls_read(histories, cache=False) == [Reading(estimate_tokens(one)) for one in histories]


def test_tokens_can_be_counted_by_a_tokenizer_of_ones_own():
    histories = [[user("a b")], [user("a b"), user("c d e")]]
    readings = calls_read(histories, count=lambda entry: len(entry["text"].split()))
    assert readings == [Reading(2, 0), Reading(5, 2)]


# --- closed forms against measured runs -------------------------------------------------------------

GOAL_TOKENS = STEP_TOKENS = 100
REQUEST_TOKENS, RESULT_TOKENS = 3, 97  # look{"n":1} is 11 characters, the result 388 with its quotes


def look(n: int) -> str:
    """Give a result of 97 tokens."""
    return "x" * (4 * RESULT_TOKENS - 2)


def histories_of(steps, memory=None):
    run = run_agent(LoopingModel("look", n=1), [look], "g" * (4 * GOAL_TOKENS), steps, memory=memory)
    assert run.steps == steps
    histories = run.trace.histories()
    assert total_reading(calls_read(histories)).sent == run.usage.input_tokens
    return histories


STEPS = pytest.mark.parametrize("steps", [1, 2, 3, 7, 20])


@STEPS
def test_a_history_that_only_grows_is_read_once(steps):
    histories = histories_of(steps)
    measured = total_reading(calls_read(histories))
    assert measured == read_append_only(steps, STEP_TOKENS)
    assert measured.fresh == estimate_tokens(histories[-1]) == steps * STEP_TOKENS


@STEPS
def test_without_a_cache_all_is_read_at_each_call(steps):
    measured = total_reading(calls_read(histories_of(steps), cache=False))
    assert measured == read_uncached(steps, STEP_TOKENS)
    assert measured.fresh == tokens_read_total(steps, STEP_TOKENS)


@STEPS
def test_one_changed_line_at_the_top_makes_the_cache_useless(steps):
    histories = histories_of(steps, lambda history: [user(f"It is call {len(history):>28}."), *history])
    assert entry_tokens(histories[0][0]) == 10
    assert total_reading(calls_read(histories)) == read_changed_top(steps, STEP_TOKENS, 10)
    at_the_end = histories_of(steps, lambda history: [*history, user(f"It is call {len(history):>28}.")])
    assert total_reading(calls_read(at_the_end)).fresh == steps * (STEP_TOKENS + 10)


@STEPS
@pytest.mark.parametrize("keep_steps", [1, 2, 5, 30])
def test_replaced_results_are_fewer_tokens_sent_and_more_read_anew(steps, keep_steps):
    histories = histories_of(steps, lambda history: clear_results(history, keep_steps))
    closed = read_replaced_results(
        steps,
        goal_tokens=GOAL_TOKENS,
        request_tokens=REQUEST_TOKENS,
        result_tokens=RESULT_TOKENS,
        note_tokens=7,
        keep_steps=keep_steps,
    )
    assert total_reading(calls_read(histories)) == closed
    grown = read_append_only(steps, STEP_TOKENS)
    if steps - 1 > keep_steps:
        assert closed.sent < grown.sent
        assert closed.fresh > grown.fresh
    else:
        assert closed == grown


def test_no_step_reads_nothing():
    nothing = {"goal_tokens": 9, "request_tokens": 9, "result_tokens": 9, "note_tokens": 9, "keep_steps": 1}
    assert read_replaced_results(0, **nothing) == read_append_only(0, 9) == read_uncached(0, 9) == Reading()
    assert total_reading([]) == Reading()
    assert calls_read([]) == []


def test_fewer_tokens_sent_can_cost_more_money():
    grown = total_reading(calls_read(histories_of(20)))
    cleared = total_reading(calls_read(histories_of(20, lambda history: clear_results(history, 5))))
    assert cleared.sent < grown.sent
    assert PRICE.usd(cleared.sent, 0, cleared.cached) > PRICE.usd(grown.sent, 0, grown.cached)
    assert PRICE.usd(cleared.sent) < PRICE.usd(grown.sent)  # with no cache it is the other way round
