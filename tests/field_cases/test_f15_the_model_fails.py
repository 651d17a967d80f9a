"""F15: a failing provider call ends the run as a model error; history and partial work are kept."""

import asyncio

import pytest

from agentlib import answer, ask, run_agent
from agentlib.models import ScriptedModel
from tests.invariants import assert_sound


class Provider(Exception):
    """Stands for an error of a provider's client, with more in it than words."""

    def __init__(self, status):
        super().__init__(f"status {status}")
        self.status = status


class Wordless(Exception):
    def __str__(self):
        raise RuntimeError("no words")


PROBLEMS = {
    "of a client": (Provider(529), "Provider: status 529"),
    "a connection": (ConnectionError("no route"), "ConnectionError: no route"),
    "a time limit": (TimeoutError(), "TimeoutError with no message"),
    "a key": (ValueError("wrong key"), "wrong key"),
    "an exit": (SystemExit(3), "SystemExit: 3"),
    "a cancelled task": (asyncio.CancelledError(), "CancelledError with no message"),
    "a generator that ended": (StopIteration("end"), "StopIteration: end"),
    "a generator that was closed": (GeneratorExit(), "GeneratorExit with no message"),
    "one without words": (Wordless(), "Wordless with no message"),
}


def failing_at(step, problem):
    def model(history):
        if len(history) // 2 + 1 >= step:
            raise problem
        return ask("look", n=len(history))

    return model


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("step", [1, 3])
def test_the_run_stops_with_the_words_and_all_work_so_far(name, step):
    problem, words = PROBLEMS[name]
    run = run_agent(failing_at(step, problem), {"look": lambda n: n}, "Goal")
    assert (run.stopped, run.stopped.detail, run.answer) == ("model error", words, None)
    assert (run.steps, run.tool_runs, len(run.history)) == (step, step - 1, 2 * step - 1)
    assert_sound(run)


def test_the_failed_call_counts_as_a_step_and_as_coins_and_is_not_made_again():
    calls = []

    def model(history):
        calls.append(len(history))
        raise ConnectionError("no route")

    run = run_agent(model, {}, "Goal", 5)
    assert (calls, run.steps, run.coins) == ([1], 1, 1)


@pytest.mark.parametrize(("length", "cut"), [(1_900, False), (100_000, True)])
def test_very_long_words_are_cut_to_2000_characters(length, cut):
    run = run_agent(failing_at(1, ValueError("x" * length)), {}, "Goal")
    assert len(run.stopped.detail) <= 2_000
    assert run.stopped.detail.endswith("characters in all)") == cut


def test_a_failure_at_the_last_step_is_a_model_error_too():
    run = run_agent(failing_at(2, Provider(500)), {"look": lambda n: n}, "Goal", 2)
    assert (run.stopped, run.steps) == ("model error", 2)


def test_a_failing_closing_call_takes_nothing_away():
    run = run_agent(failing_at(2, Provider(500)), {"look": lambda n: n}, "Goal", 1, closing_call=True)
    assert (run.stopped, run.steps, run.answer, run.closing) == ("step limit", 2, None, False)
    assert run.history[-1]["text"] == "The closing call failed: Provider: status 500"
    assert_sound(run)


def test_an_error_does_not_make_the_next_run_fail():
    tools = {"look": lambda n: n}
    assert run_agent(failing_at(1, Provider(500)), tools, "Goal").stopped == "model error"
    assert run_agent(ScriptedModel([answer("done")]), tools, "Goal").stopped == "answered"
