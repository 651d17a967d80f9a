"""`try_it`: what a function returns, and a sentence for one that does not end by itself."""

import pytest

from agentlib import answer, ask
from agentlib.course.running.trying import try_it
from agentlib.errors import ScriptExhausted
from agentlib.labs import bugs, trains
from agentlib.models import LoopingModel, ScriptedModel


def endless(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    while True:
        try:
            reply = model(history)
            if reply["type"] == "answer":
                return reply["text"]
            history.append({"role": "tool", "result": tools[reply["tool"]](**reply["input"])})
        except Exception as problem:  # a loop that catches what it can
            history.append({"role": "tool", "result": str(problem)})


def asks(times):
    """A loop that asks so often, then returns its options."""

    def run(model, tools, goal, **options):
        for _ in range(times):
            model([])
        return options

    return run


def test_what_the_loop_returns_comes_back():
    run = try_it(endless, ScriptedModel([answer("It is late.")]), trains.TOOLS, trains.GOAL)
    assert run == "It is late."


def test_options_are_handed_on():
    assert try_it(asks(0), LoopingModel("x"), {}, "goal", max_steps=4) == {"max_steps": 4}


def test_a_loop_without_a_way_out_gets_a_sentence():
    scenario = bugs.SCENARIOS["endless"]
    said = try_it(endless, scenario.model(), scenario.tools, scenario.goal, max_steps=4)
    assert said == (
        "Your loop did not end: it asked the model 100 times and was then stopped. No answer came, and the "
        "loop has no other way out."
    )


def test_a_loop_that_goes_on_after_the_answer_is_told_so():
    replies = [ask("x"), answer("done"), *[ask("x")] * 5]
    said = try_it(asks(7), ScriptedModel(replies), {}, "goal", max_calls=4)
    assert "asked the model 4 times" in said
    assert said.endswith("The answer came in call 2, and the loop went on.")


def test_a_script_that_ends_with_the_answer_is_not_blamed():
    said = try_it(asks(3), ScriptedModel([ask("x"), answer("done")]), {}, "goal")
    assert said.endswith(
        "it asked the model 3 times and was then stopped. The answer came in call 2, and the loop went on."
    )


def test_a_script_without_an_answer_is_told_as_it_is():
    with pytest.raises(ScriptExhausted):
        try_it(asks(2), ScriptedModel([ask("x")]), {}, "goal")


def test_the_limit_is_met_by_the_call_behind_it():
    assert try_it(asks(4), LoopingModel("x"), {}, "goal", max_calls=4) == {}
    assert "did not end" in try_it(asks(5), LoopingModel("x"), {}, "goal", max_calls=4)


@pytest.mark.parametrize("problem", [NotImplementedError, KeyboardInterrupt, ValueError("own")])
def test_what_the_loop_raises_is_raised(problem):
    def run(model, tools, goal):
        raise problem

    with pytest.raises((Exception, KeyboardInterrupt)) as caught:
        try_it(run, LoopingModel("x"), {}, "goal")
    assert caught.type is (problem if isinstance(problem, type) else ValueError)


def spins(*args):
    while args:
        pass


def spins_and_swallows(model, tools, goal):
    model([])
    while True:
        try:
            len(goal)
        except:  # noqa: E722
            goal = str(goal)


def test_a_function_that_spins_is_stopped_by_the_clock():
    said = try_it(spins, "a text", 60, max_seconds=0.2)
    assert said == "Your function was still running after 0.2 seconds and was then stopped."
    said = try_it(spins_and_swallows, LoopingModel("x"), {}, "goal", max_seconds=0.2)
    assert said.endswith("was then stopped. Calls of the model by then: 1.")


def test_any_function_can_be_tried():
    assert try_it(len, "four") == 4
    assert try_it(sorted, [2, 1], reverse=True) == [2, 1]
