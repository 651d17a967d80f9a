"""F6: a different call in between resets nothing that it should not."""

import itertools

import pytest

from agentlib import answer, ask, run_agent
from agentlib.models import RuleModel, ScriptedModel
from agentlib.stops import RepeatedCall, TooManyErrors


def lookup(invoice: int) -> str:
    """Look up an invoice."""
    if invoice == 7:
        raise LookupError("nothing found")
    return f"invoice {invoice}"


def stuck_with_others_between(others):
    """Ask for invoice 7 again and again, with other invoices between, each of them asked once."""
    numbers = itertools.count(100)

    def next_request(history):
        if (len(history) // 2) % (others + 1) == 0:
            return ask("lookup", invoice=7)
        return ask("lookup", invoice=next(numbers))

    return RuleModel(next_request)


@pytest.mark.parametrize("others", [0, 1, 2, 5, 40])
@pytest.mark.parametrize("times", [2, 3])
def test_the_stuck_call_is_stopped_at_its_own_count_however_many_others_come_between(others, times):
    run = run_agent(stuck_with_others_between(others), [lookup], "Match", 500, stops=RepeatedCall(times))
    assert (run.stopped, run.steps) == ("repeated call", (times - 1) * (others + 1) + 1)
    assert run.errors == times - 1


@pytest.mark.parametrize(
    "between", [answer(""), {"type": "odd"}, ask("nobody"), ask("lookup", invoice="seven"), "no dict"]
)
def test_nor_do_blank_replies_unreadable_ones_and_other_errors_reset_it(between):
    script = [ask("lookup", invoice=7), between, ask("lookup", invoice=7), between, ask("lookup", invoice=7)]
    run = run_agent(ScriptedModel(script), [lookup], "Match", stops=RepeatedCall(3))
    assert (run.stopped, run.steps, run.tool_runs) == ("repeated call", 5, 2)


def test_after_a_note_the_refused_call_stays_refused_whatever_comes_between():
    script = [ask("lookup", invoice=7 if n % 2 == 0 else 100 + n) for n in range(40)]
    run = run_agent(ScriptedModel(script), [lookup], "Match", 40, stops=RepeatedCall(3, then="note"))
    # Runs 1 and 2, a note at the third, two refusals, and the end at the sixth: with others between, step 11.
    assert (run.stopped, run.steps, run.errors) == ("repeated call", 11, 2)


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_errors_are_counted_over_the_whole_run(limit):
    run = run_agent(stuck_with_others_between(3), [lookup], "Match", 500, stops=TooManyErrors(limit))
    assert (run.stopped, run.errors, run.steps) == ("too many errors", limit, (limit - 1) * 4 + 1)
