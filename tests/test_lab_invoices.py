"""The lab of the 80 invoices: what is in the batch, how its model gets stuck, and what brings it home."""

from random import Random

import pytest

from agentlib import ask, run_agent, stops
from agentlib.labs import invoices
from agentlib.models import RecordingModel

B19 = invoices.B19
# Whatever the seed: what makes a batch of this kind.
seeds = pytest.mark.parametrize("seed", range(20))


def run_batch(batch=B19, max_steps=invoices.MAX_STEPS, **options):
    return run_agent(invoices.model(), batch.tools(), batch.goal, max_steps, **options)


def said(run):
    return [entry["result"] for entry in run.history if isinstance(entry.get("result"), str)]


def wanted(batch):
    """What the tools say when each invoice has found its payment, and the last one a person."""
    lines = [f"{number} matched with {payment}" for number, payment in batch.right.items()]
    return {*lines, f"{batch.unmatched} flagged: no payment found"}


# --- the batch


def test_batch_b_19_has_80_invoices_and_number_9_has_no_payment():
    assert (len(B19.invoices), len(B19.right), B19.unmatched) == (80, 79, "B-19/009")
    assert invoices.GOAL == B19.goal == (
        "Match every invoice of batch B-19, from B-19/001 to B-19/080, with its payment. "
        "Flag one that has none."
    )  # fmt: skip


@seeds
def test_one_of_the_first_ten_has_no_payment_and_each_other_has_two_of_the_same_amount(seed):
    batch = invoices.make_batch("B-1", Random(seed), count=20)
    assert batch.unmatched in list(batch.invoices)[:10]
    for number, found in batch.payments.items():
        amounts = [payment["amount"] for payment in found]
        assert amounts == ([] if number == batch.unmatched else [batch.invoices[number]["amount"]] * 2)


def test_a_seed_brings_a_batch_back():
    one, same, other = (invoices.make_batch("B-1", Random(seed)) for seed in (1, 1, 2))
    assert one == same != other


@pytest.mark.parametrize("count", [9, 0, -1])
def test_a_batch_has_at_least_10_invoices(count):
    with pytest.raises(ValueError, match="at least 10 invoices"):
        invoices.make_batch("B-1", Random(1), count=count)
    assert len(invoices.make_batch("B-1", Random(1), count=10).invoices) == 10


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (ask("fetch_invoice", invoice="B-19/081"), "not_found"),
        (ask("find_payment", invoice="B-20/001"), "not_found"),
        (ask("flag_invoice", invoice="9", reason="none"), "not_found"),
        (ask("record_match", invoice="B-19/001", payment="P-00000"), "wrong_payment"),
    ],
)
def test_the_tools_refuse_what_they_do_not_know(request_, code):
    run = run_agent(lambda history: request_, invoices.TOOLS, "?", 1)
    assert run.history[2]["result"]["error"] == code


# --- the model


def test_without_a_guard_it_finishes_8_invoices_and_asks_for_the_ninth_payment_375_times():
    run = run_batch(max_steps=400)
    assert (run.stopped, run.steps, run.answer) == ("step limit", 400, None)
    assert len(said(run)) == 8
    asked = [
        entry["input"] for entry in run.history if entry.get("tool") == "find_payment" and "input" in entry
    ]
    assert asked.count({"invoice": "B-19/009"}) == 375
    assert all(number not in str(run.history[1:]) for number in list(B19.invoices)[9:])


def test_a_rule_that_stops_at_the_third_request_leaves_71_invoices_untouched():
    run = run_batch(stops=stops.RepeatedCall(3))
    assert (run.stopped, run.tool_runs, len(said(run))) == ("repeated call", 27, 8)
    assert len(B19.invoices) - 9 == 71


@pytest.mark.parametrize(("times", "steps"), [(2, 242), (3, 243)])
def test_told_by_a_note_it_brings_the_whole_batch_home(times, steps):
    run = run_batch(stops=stops.RepeatedCall(times, then="note"))
    assert (run.stopped, run.steps, run.tool_runs) == ("answered", steps, steps - 2)
    assert len(said(run)) == 80
    assert set(said(run)) == wanted(B19)


@seeds
def test_so_it_does_with_any_batch(seed):
    batch = invoices.make_batch("B-1", Random(seed), count=12)
    run = run_batch(batch, stops=stops.RepeatedCall(2, then="note"))
    assert (run.stopped, run.steps, set(said(run))) == ("answered", 11 * 3 + 4 + 1, wanted(batch))


def test_a_result_that_says_flag_tells_it_too():
    batch = invoices.make_batch("B-1", Random(1), count=10)
    tools = batch.tools()

    def find_payment(invoice: str):
        """List the payments that might be for one invoice."""
        return tools["find_payment"](invoice) if batch.payments[invoice] else "None. Flag it and go on."

    run = run_agent(invoices.model(), {**tools, "find_payment": find_payment}, batch.goal, 50)
    assert (run.stopped, run.steps) == ("answered", 10 * 3 + 1)
    assert wanted(batch) <= set(said(run))


def test_it_reads_which_invoice_is_next_from_the_end_of_the_history():
    def goal_and_the_last_8(history):
        return [history[0], *history[1:][-8:]]

    seen = RecordingModel(invoices.model())
    guard = stops.RepeatedCall(2, then="note")
    run = run_agent(
        seen, invoices.TOOLS, invoices.GOAL, invoices.MAX_STEPS, stops=guard, memory=goal_and_the_last_8
    )
    assert set(said(run)) == wanted(B19)
    assert max(map(len, seen.histories)) == 9


def test_a_goal_without_numbers_is_answered_with_a_question():
    run = run_agent(invoices.model(), invoices.TOOLS, "Match the invoices.")
    assert (run.answer, run.steps) == ("Which invoices are meant?", 1)


# --- the limits of the task


def test_the_limits_of_the_task_are_400_steps_200_thousand_tokens_and_one_dollar():
    assert (invoices.MAX_STEPS, invoices.MAX_TOKENS, invoices.MAX_USD) == (400, 200_000, 1.0)
    assert (invoices.PRICE.input_usd, invoices.PRICE.output_usd) == (3.0, 0.0)


def test_a_note_alone_does_not_keep_the_batch_within_them():
    run = run_batch(stops=stops.RepeatedCall(2, then="note"))
    assert run.usage.input_tokens == 1_076_866 > invoices.MAX_TOKENS
    assert invoices.PRICE.usd(run.usage.input_tokens) > invoices.MAX_USD
