"""The lab of the refunds: what is paid, what a person decides, and that nothing is paid twice."""

import random

import pytest

from agentlib import LATER, Trace, resume, run_agent
from agentlib._platform import BROWSER, Platform
from agentlib.errors import ProviderError, ToolError
from agentlib.labs import refunds
from agentlib.providers import retrying
from agentlib.views.lanes import lanes_by_result

BOTH = [["2001", 8.0], ["2002", 120.0]]


def desk_in(folder):
    return refunds.Desk(folder / "book.txt")


def run_at(desk, approve=lambda call: True, **options):
    return run_agent(refunds.clerk, desk.tools(), refunds.GOAL, approve=approve, **options)


def test_two_orders_are_refunded_and_the_old_one_is_not_in_four_steps(tmp_path):
    desk = desk_in(tmp_path)
    run = run_at(desk)
    assert (run.stopped, run.steps, run.errors) == ("answered", 4, 0)
    assert desk.paid() == BOTH
    assert run.answer == ("2001 was refunded; 2002 was refunded; 2003 is 61 days old, and 30 is the most.")


def test_a_no_is_told_with_its_reason_and_the_rest_goes_on(tmp_path):
    desk = desk_in(tmp_path)
    run = run_at(desk, lambda call: call["input"]["order"] == "2001" or "ask the boss")
    assert desk.paid() == BOTH[:1]
    assert "2002 was not refunded" in run.answer
    assert "ask the boss" in run.answer


def test_what_waits_is_paid_once_a_person_has_said_yes(tmp_path):
    desk = desk_in(tmp_path)
    waiting = run_at(desk, lambda call: call["input"]["euros"] <= 50 or LATER)
    assert (waiting.stopped, desk.paid()) == ("waiting", BOTH[:1])
    run = resume(waiting.trace, refunds.clerk, desk_in(tmp_path).tools(), approve=lambda call: True)
    assert (run.stopped, run.steps, desk.paid()) == ("answered", 4, BOTH)


@pytest.mark.parametrize("last", range(1, 17))
def test_killed_after_any_event_and_gone_on_with_nothing_is_paid_twice(last, tmp_path):
    desk = desk_in(tmp_path)
    refunds.killed_after(last, desk, tmp_path / "run.jsonl")
    trace = Trace.load(tmp_path / "run.jsonl")
    assert len(trace.events) == last
    run = resume(trace, refunds.clerk, desk_in(tmp_path).tools(), approve=lambda call: True)
    assert run.stopped == "answered"
    assert desk.paid() == BOTH


def test_at_a_slow_desk_the_look_ups_run_at_once_and_come_to_the_same(tmp_path):
    desk = refunds.SlowDesk(tmp_path / "book.txt")
    run = run_at(desk, at_once=3, clock=refunds.quarters())
    assert (run.stopped, run.steps, desk.most, desk.paid()) == ("answered", 4, 3, BOTH)
    (tmp_path / "other").mkdir()
    assert run.history == run_at(desk_in(tmp_path / "other")).history
    (lanes,) = lanes_by_result(run.trace).values()
    assert [lane.took for lane in lanes] == ["0.75 s", "0.25 s", "0.5 s"]


@pytest.mark.parametrize("platform", [Platform(), BROWSER])
def test_workers_keep_the_order_and_pass_on_what_goes_wrong(platform):
    with refunds.workers(3, platform) as pool:
        assert list(pool.map(abs, [-3, 1, -2])) == [3, 1, 2]
        with pytest.raises(TypeError):
            list(pool.map(abs, ["text"]))


def test_an_order_that_is_not_there_is_refused_and_the_ones_that_are_are_named(tmp_path):
    with pytest.raises(ToolError, match=r"No order 2009\. Use one of 2001, 2002, 2003"):
        desk_in(tmp_path).look_up("2009")


def test_a_busy_provider_fails_as_often_as_it_is_told_and_says_what_may_go_well_later(tmp_path):
    history = [{"role": "user", "text": refunds.GOAL}]
    model = refunds.busy(429, 401, None, retry_after_seconds=3.0)
    for status, worth in ((429, True), (401, False), (None, True)):
        with pytest.raises(ProviderError) as failed:
            model(history)
        assert (failed.value.status, failed.value.worth_retrying) == (status, worth)
        assert failed.value.retry_after_seconds == 3.0
    assert model(history)["type"] == "tools"


def test_attempts_that_were_refused_are_no_steps(tmp_path):
    waits = []
    model = retrying(refunds.busy(503, 429), sleep=waits.append, random=random.Random(1))
    run = run_agent(model, desk_in(tmp_path).tools(), refunds.GOAL, 4, approve=lambda call: True)
    assert (run.stopped, run.steps, len(waits)) == ("answered", 4, 2)
