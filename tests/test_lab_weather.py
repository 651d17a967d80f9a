"""The weather lab: what its docstring says must come out, with agentlib's loop and a hand-written one."""

import pytest

from agentlib import run_agent
from agentlib.labs import weather
from tests.handwritten import FAILURES, bare_loop


def test_the_question_is_answered_in_2_steps_under_a_limit_of_5():
    run = run_agent(weather.model(), weather.TOOLS, weather.GOAL, max_steps=5)
    assert run.answer == "Yes, carry water. It is 34 C and humid in Chennai."
    assert (run.stopped, run.steps, run.tool_runs, run.errors) == ("answered", 2, 1, 0)
    assert len(run.history) == 4


def test_a_hand_written_loop_gets_the_same_answer():
    by_hand = bare_loop(weather.model(), weather.TOOLS, weather.GOAL, max_steps=5)
    assert by_hand["answer"] == "Yes, carry water. It is 34 C and humid in Chennai."
    assert (by_hand["stopped"], by_hand["steps"], len(by_hand["history"])) == ("answered", 2, 4)


def test_2_steps_are_just_enough_and_1_is_too_few():
    assert run_agent(weather.model(), weather.TOOLS, weather.GOAL, max_steps=2).stopped == "answered"
    cut_off = run_agent(weather.model(), weather.TOOLS, weather.GOAL, max_steps=1)
    assert (cut_off.stopped, cut_off.answer, len(cut_off.history)) == ("step limit", None, 3)


def test_another_city_gets_another_answer():
    run = run_agent(weather.model(), weather.TOOLS, "Do I need to carry water in Shimla today?")
    assert run.answer == "No, you can do without. It is 12 C and clear in Shimla."


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_an_unknown_city_comes_back_as_words_and_the_model_says_that_it_does_not_know(failure):
    goal = "Do I need to carry water in Mumbai today?"
    by_hand = bare_loop(weather.model(), weather.TOOLS, goal, failure=failure)
    for answer in (by_hand["answer"], run_agent(weather.model(), weather.TOOLS, goal).answer):
        assert answer.startswith("I do not know the weather. ")
        assert 'Unknown city "Mumbai". Known: Shimla, Chennai.' in answer


def test_without_a_city_the_model_asks_for_one_instead_of_making_one_up():
    run = run_agent(weather.model(), weather.TOOLS, "Do I need to carry water?")
    assert (run.answer, run.tool_runs) == ("Please name a city: in which city is it?", 0)


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_the_looping_model_is_ended_by_the_limit_alone(limit):
    run = run_agent(weather.looping_model(), weather.TOOLS, weather.GOAL, max_steps=limit)
    by_hand = bare_loop(weather.looping_model(), weather.TOOLS, weather.GOAL, max_steps=limit)
    assert (run.stopped, run.steps, run.errors, run.answer) == ("step limit", limit, limit, None)
    assert (by_hand["stopped"], by_hand["steps"], by_hand["answer"]) == ("step limit", limit, None)
    assert len(run.history) == len(by_hand["history"]) == 1 + 2 * limit


def test_the_model_remembers_nothing_between_calls():
    model = weather.model()
    goal_alone = [{"role": "user", "text": weather.GOAL}]
    first = model(goal_alone)
    answered = model([*goal_alone, first, {"role": "tool", "result": "34 C and humid"}])
    assert answered["type"] == "answer"
    assert model(goal_alone) == first
