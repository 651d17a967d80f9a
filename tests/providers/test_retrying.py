"""A model call that failed is tried again where that may help, in sight and no longer than a run may take."""

import random
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from agentlib import Trace, answer, ask, replay, run_agent, stops
from agentlib.errors import ProviderError
from agentlib.labs import blue_mugs
from agentlib.providers import retrying
from tests.clock import Clock
from tests.invariants import assert_sound

BUSY = ProviderError("shop", "busy", 429, worth_retrying=True)
TOOLS = {"look": lambda: "north"}


class Highest(random.Random):
    """Draws the longest wait there may be."""

    def uniform(self, low, high):
        return high


@pytest.fixture
def time():
    return Clock()


@pytest.fixture
def retried(time):
    """retried(outcome, ...) makes a model that gives these replies, or raises them, one at each attempt."""

    def make(*outcomes, **options):
        coming = iter(outcomes)

        def model(history):
            outcome = next(coming)
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

        return retrying(model, random=Highest(), clock=time, sleep=time.sleep, **options)

    return make


def attempts(run):
    return [(event.step, event.entry["attempt"]) for event in run.trace if event.kind == "attempt"]


# --- what is tried again ------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", [BUSY, ConnectionResetError("dropped"), TimeoutError("too slow")])
def test_what_another_try_may_mend_is_tried_again_and_is_one_step(retried, time, problem):
    run = run_agent(retried(ask("look"), problem, problem, answer("North.")), TOOLS, "Goal", 2)
    assert_sound(run)
    assert (run.answer, run.steps, run.tool_runs) == ("North.", 2, 1)
    assert attempts(run) == [(2, 1), (2, 2)]
    assert time.slept == [1.0, 2.0]


@pytest.mark.parametrize(
    "problem", [ProviderError("shop", "no such key", 401), ValueError("a mistake in an adapter")]
)
def test_what_was_refused_is_not_tried_again(retried, time, problem):
    run = run_agent(retried(problem, answer("North.")), TOOLS, "Goal")
    assert (run.stopped, run.steps, time.slept, attempts(run)) == ("model error", 1, [], [])


def test_an_interrupt_is_not_tried_again(retried):
    assert run_agent(retried(KeyboardInterrupt(), answer("North.")), TOOLS, "Goal").stopped == "cancelled"


@pytest.mark.parametrize(("failures", "stopped"), [(3, "answered"), (4, "model error")])
def test_the_last_attempt_is_the_fourth_unless_another_number_is_given(retried, time, failures, stopped):
    run = run_agent(retried(*[BUSY] * failures, answer("North.")), TOOLS, "Goal")
    assert (run.stopped, len(attempts(run)), time.slept) == (stopped, 3, [1.0, 2.0, 4.0])


def test_one_attempt_is_no_retry(retried):
    assert run_agent(retried(BUSY, answer("North."), attempts=1), TOOLS, "Goal").stopped == "model error"


def test_a_hand_written_loop_asks_it_like_any_model(retried):
    assert retried(BUSY, answer("North."))([{"role": "user", "text": "Goal"}])["text"] == "North."


# --- how long it waits --------------------------------------------------------------------------------


def busy_until(seconds):
    return ProviderError("shop", "busy", 429, worth_retrying=True, retry_after_seconds=seconds)


@pytest.mark.parametrize(("asked", "slept"), [(7.5, [7.5]), (0.0, [1.0]), (None, [1.0]), (60.0, [60.0])])
def test_the_wait_that_the_provider_asks_for_is_kept_to(retried, time, asked, slept):
    run = run_agent(retried(busy_until(asked), answer("North.")), TOOLS, "Goal")
    assert (run.answer, time.slept) == ("North.", slept)


@pytest.mark.parametrize("asked", [60.1, 9_999_999.0])
def test_a_wait_that_is_too_long_is_not_begun(retried, time, asked):
    run = run_agent(retried(busy_until(asked), answer("North.")), TOOLS, "Goal")
    assert (run.stopped, time.slept) == ("model error", [])


@pytest.mark.parametrize(
    ("seconds", "stopped", "slept"), [(3.1, "answered", [1, 2]), (2.9, "model error", [1])]
)
def test_a_wait_that_would_pass_the_deadline_is_not_begun(retried, time, seconds, stopped, slept):
    model = retried(BUSY, BUSY, answer("North."))
    run = run_agent(model, TOOLS, "Goal", stops=[stops.Deadline(seconds)], clock=time)
    assert (run.stopped, time.slept) == (stopped, slept)


def test_waits_lie_between_half_and_all_of_what_doubles_and_come_again_with_the_seed(time):
    def waits(seed):
        model = retrying(_always(BUSY), random=random.Random(seed), clock=time, sleep=time.sleep)
        time.slept.clear()
        run_agent(model, TOOLS, "Goal")
        return list(time.slept)

    assert waits(7) == waits(7) != waits(8)
    for seed in range(50):
        assert all(full / 2 <= wait <= full for wait, full in zip(waits(seed), (1, 2, 4), strict=True))


@pytest.mark.parametrize("attempts", [8, 1_100])
def test_waits_grow_to_the_longest_and_all_attempts_are_made(retried, time, attempts):
    model = retried(*[BUSY] * (attempts - 1), answer("North."), attempts=attempts, max_wait_seconds=20)
    assert run_agent(model, TOOLS, "Goal").answer == "North."
    assert time.slept == [1, 2, 4, 8, 16] + [20] * (attempts - 6)


def _always(problem):
    def model(history):
        raise problem

    return model


# --- what it costs, and who may end it ----------------------------------------------------------------


def cut_off(tokens):
    usage = {"input_tokens": tokens, "output_tokens": 0}
    return ProviderError("shop", "the connection dropped", usage=usage, worth_retrying=True)


def test_what_a_failed_attempt_cost_counts(retried):
    reply = {**answer("North."), "usage": {"input_tokens": 30, "output_tokens": 2}}
    run = run_agent(retried(cut_off(30), reply), TOOLS, "Goal")
    assert (run.usage.input_tokens, run.usage.output_tokens, run.usage.estimated) == (60, 2, False)


@pytest.mark.parametrize(("tokens", "stopped"), [(61, "answered"), (60, "token budget")])
def test_a_budget_ends_the_waiting(retried, time, tokens, stopped):
    # The goal is estimated as one token, so that the third attempt is within 61 and beyond 60.
    model = retried(
        cut_off(30), cut_off(30), {**answer("North."), "usage": {"input_tokens": 1, "output_tokens": 0}}
    )
    run = run_agent(model, TOOLS, "Goal", stops=[stops.TokenBudget(tokens)])
    assert_sound(run)
    assert (run.stopped, run.steps, len(attempts(run))) == (stopped, 1, 2)
    assert time.slept == ([1, 2] if stopped == "answered" else [1])


def test_a_cancel_ends_the_waiting(retried, time):
    class After:
        def is_set(self):
            return bool(time.slept)

    run = run_agent(retried(BUSY, BUSY, answer("North.")), TOOLS, "Goal", stops=[stops.Cancelled(After())])
    assert (run.stopped, time.slept) == ("cancelled", [1])


# --- in the trace -------------------------------------------------------------------------------------


@pytest.mark.parametrize("tokens", [1_000, 60])
def test_a_run_with_attempts_is_saved_and_replayed_event_for_event(retried, tmp_path, tokens):
    rules = [stops.TokenBudget(tokens)]
    run = run_agent(
        retried(ask("look"), cut_off(30), cut_off(30), answer("North.")), TOOLS, "Goal", stops=rules
    )
    saved = Trace.load(run.trace.save(tmp_path / "run.jsonl"))
    for again in (replay(saved), replay(saved, stops=rules)):
        assert again.trace == run.trace
        assert again.usage == run.usage


def test_each_attempt_says_why_it_failed_and_how_long_the_wait_was(retried):
    shown = []
    run = run_agent(retried(BUSY, answer("North.")), TOOLS, "Goal", on_event=shown.append)
    (event,) = (event for event in run.trace if event.kind == "attempt")
    assert (event.text, event.entry) == ("ProviderError: shop: busy", {"attempt": 1, "wait_seconds": 1.0})
    assert event in shown


# --- with the real clients ----------------------------------------------------------------------------


@pytest.mark.parametrize("status", [408, 429, 500, 503, 529])
def test_a_busy_server_is_asked_again_by_the_run_and_not_by_the_client(kit, server, address, time, status):
    ordered = server.expect_ordered_request
    ordered(kit.path).respond_with_json(kit.failure("busy"), status=status, headers={"Retry-After": "3"})
    ordered(kit.path).respond_with_json(kit.body("North."))
    model = retrying(kit.model(address, blue_mugs.TOOLS), clock=time, sleep=time.sleep)
    run = run_agent(model, blue_mugs.TOOLS, blue_mugs.GOAL)
    assert (run.answer, run.steps, time.slept) == ("North.", 1, [3.0])


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_server_that_refuses_is_asked_once(kit, server, address, time, status):
    server.expect_request(kit.path).respond_with_json(kit.failure("no"), status=status)
    run = run_agent(retrying(kit.model(address, {}), clock=time, sleep=time.sleep), {}, "Goal")
    assert (run.stopped, len(server.log), time.slept) == ("model error", 1, [])


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7.5", 7.5), ("0", 0.0), ("-1", None), ("nan", None), ("inf", None), ("soon", None), ("", None),
        ("Tue, 01 Dec 2020 12:00:00 GMT", None),
    ],
)  # fmt: skip
def test_the_header_retry_after_is_seconds_or_a_date(kit, server, address, header, seconds):
    headers = {"Retry-After": header}
    server.expect_request(kit.path).respond_with_json(kit.failure("busy"), status=429, headers=headers)
    with pytest.raises(ProviderError) as caught:
        kit.model(address, {})([{"role": "user", "text": "Goal"}])
    assert (caught.value.worth_retrying, caught.value.retry_after_seconds) == (True, seconds)


def test_a_date_is_measured_by_the_clock_of_the_server(kit, server, address):
    then = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    body = kit.failure("busy")
    server.expect_request(kit.path).respond_with_json(body, status=429, headers={"Retry-After": then})
    with pytest.raises(ProviderError) as caught:
        kit.model(address, {})([{"role": "user", "text": "Goal"}])
    assert 90 < caught.value.retry_after_seconds <= 101


def test_a_server_that_is_not_there_is_asked_again(kit, made_up_keys, time):
    model = retrying(kit.model("http://127.0.0.1:9", {}), 2, clock=time, sleep=time.sleep)
    run = run_agent(model, {}, "Goal")
    assert (run.stopped, len(time.slept)) == ("model error", 1)


@pytest.mark.parametrize("kit", ["openai"], indirect=True)
def test_an_account_with_nothing_left_is_not_asked_again(kit, server, address):
    body = {"error": {"message": "You have no credit left.", "code": "insufficient_quota", "type": "quota"}}
    server.expect_request(kit.path).respond_with_json(body, status=429)
    with pytest.raises(ProviderError) as caught:
        kit.model(address, {})([{"role": "user", "text": "Goal"}])
    assert not caught.value.worth_retrying


def test_a_client_that_tries_again_by_itself_is_refused(kit, address):
    client = kit.module.client(base_url=address + kit.base)
    with pytest.raises(ValueError, match=r"The client tries again by itself \(2 times\).*max_retries=0"):
        retrying(kit.module.model(client, "test-model", {}))


@pytest.mark.parametrize("number", [0, True, 2.0, "4"])
def test_a_wrong_number_of_attempts_is_refused(number):
    with pytest.raises(ValueError, match="attempts is a whole number from 1 up"):
        retrying(lambda history: answer("x"), number)
