"""F5: no new information in the results for k steps is no progress, whatever the calls look like."""

import itertools

import pytest

from agentlib import ask, run_agent
from agentlib.models import RuleModel
from agentlib.stops import NoProgress, RepeatedCall


def cycle(*requests):
    """A model that makes these requests in turn, for ever."""
    turn = itertools.cycle(requests)
    return RuleModel(lambda history: next(turn))


def page(number: int) -> str:
    """Read a page."""
    return f"text of page {number}"


@pytest.mark.parametrize(("period", "steps"), [(1, 1), (1, 3), (2, 2), (2, 3), (3, 3), (5, 5)])
def test_a_cycle_of_up_to_k_calls_is_seen_after_its_first_round_and_k_stale_steps(period, steps):
    model = cycle(*(ask("page", number=number) for number in range(period)))
    run = run_agent(model, [page], "Read", 100, stops=NoProgress(steps))
    assert (run.stopped, run.steps) == ("no progress", period + steps)


@pytest.mark.parametrize("period", [2, 3])
def test_a_cycle_is_seen_before_any_single_call_has_come_three_times(period):
    model = cycle(*(ask("page", number=number) for number in range(period)))
    both = run_agent(model, [page], "Read", 100, stops=[RepeatedCall(3), NoProgress(period)])
    assert both.stopped == "no progress"


def test_arguments_reworded_each_time_with_the_same_outcome_are_seen():
    """As in the field: 200 calls, nearly all different to the letter, nothing new in them."""
    words = itertools.count()
    model = RuleModel(lambda history: ask("search", query=f"auth error, attempt {next(words)}"))
    run = run_agent(model, {"search": lambda query: "nothing found"}, "Find it", 200, stops=NoProgress(3))
    assert (run.stopped, run.steps) == ("no progress", 4)
    unseen = run_agent(
        model, {"search": lambda query: "nothing found"}, "Find it", 200, stops=RepeatedCall(3)
    )
    assert (unseen.stopped, unseen.steps) == ("step limit", 200)


def test_different_tools_with_the_same_outcome_are_seen():
    tools = {
        name: lambda **_: {"error": "sign_in", "message": "Please sign in."} for name in ("a", "b", "c", "d")
    }
    model = cycle(ask("a"), ask("b", x=1), ask("c"), ask("d"))
    run = run_agent(model, tools, "Sign in", 50, stops=NoProgress(3))
    assert (run.stopped, run.steps) == ("no progress", 4)


@pytest.mark.parametrize("every", [1, 2, 3])
def test_one_new_result_within_k_steps_keeps_the_run_going(every):
    seen = itertools.count()
    tools = {"look": lambda: f"news {number}" if (number := next(seen)) % every == 0 else "nothing"}
    run = run_agent(cycle(ask("look")), tools, "Look", 30, stops=NoProgress(3))
    assert (run.stopped, run.steps) == ("step limit", 30)


def test_a_new_result_one_step_too_late_comes_too_late():
    seen = itertools.count()
    tools = {"look": lambda: f"news {number}" if (number := next(seen)) % 5 == 0 else "nothing"}
    run = run_agent(cycle(ask("look")), tools, "Look", 30, stops=NoProgress(3))
    # Step 1 brings news, step 2 brings "nothing" for the first time, steps 3 to 5 bring it again.
    assert (run.stopped, run.steps) == ("no progress", 5)
