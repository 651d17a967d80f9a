"""F4: a repeat is the same call with the same result; polling whose results differ is healthy."""

import pytest

from agentlib import answer, ask, ask_together, run_agent, tool
from agentlib.models import LoopingModel, RuleModel, ScriptedModel
from agentlib.stops import NoProgress, RepeatedCall


def job(states):
    """A tool that tells how far a job is, one state after the other, and the last one for ever."""
    left = list(states)

    def status(name: str) -> str:
        """Tell how far the job is."""
        return left.pop(0) if len(left) > 1 else left[0]

    return status


def polling(until):
    """A model that asks for the status until it reads the last state."""
    return RuleModel(
        lambda history: answer("finished") if history[-1].get("result") == until else None,
        lambda history: ask("status", name="B-19"),
    )


@pytest.mark.parametrize("rules", [RepeatedCall(3), NoProgress(1), [RepeatedCall(3), NoProgress(3)]])
@pytest.mark.parametrize("states", [[f"{n}%" for n in range(0, 101, 5)], ["a", "a", "b", "b", "c"]][:1])
def test_the_same_call_with_another_result_each_time_goes_on_to_its_end(rules, states):
    run = run_agent(polling(states[-1]), {"status": job(states)}, "Wait for B-19", 50, stops=rules)
    assert (run.stopped, run.tool_runs) == ("answered", 21)


def test_a_result_that_changes_every_second_time_never_reaches_three_in_a_row():
    states = ["a", "a", "b", "b", "c", "c", "d"]
    run = run_agent(polling("d"), {"status": job(states)}, "Wait", 50, stops=RepeatedCall(4))
    assert (run.stopped, run.tool_runs) == ("answered", 7)


@pytest.mark.parametrize("times", [2, 3, 5])
def test_the_same_call_with_the_same_result_is_stopped_at_its_last_allowed_time_and_not_before(times):
    waiting = {"status": job(["waiting"])}
    model = LoopingModel("status", name="B-19")
    assert run_agent(model, waiting, "Wait", times - 1, stops=RepeatedCall(times)).stopped == "step limit"
    run = run_agent(model, waiting, "Wait", times, stops=RepeatedCall(times))
    assert (run.stopped, run.tool_runs) == ("repeated call", times - 1)


def test_polling_that_comes_to_a_standstill_is_a_repeat_from_then_on():
    states = ["10%", "20%", "30%"]
    run = run_agent(polling("100%"), {"status": job(states)}, "Wait", 50, stops=RepeatedCall(3))
    assert (run.stopped, run.tool_runs, run.steps) == ("repeated call", 4, 5)


@pytest.mark.parametrize("rule", [RepeatedCall(2), NoProgress(1)])
def test_a_tool_declared_repeatable_may_say_the_same_for_ever(rule):
    beat = tool(lambda: "ok", name="beat", repeatable=True)
    run = run_agent(LoopingModel("beat"), [beat], "Keep it alive", 30, stops=rule)
    assert (run.stopped, run.tool_runs) == ("step limit", 30)


def test_the_same_call_twice_in_one_reply_is_two_runs_of_it():
    twice = ask_together(ask("status", name="x"), ask("status", name="x"))
    run = run_agent(ScriptedModel([twice, twice]), {"status": job(["same"])}, "Wait", stops=RepeatedCall(3))
    assert (run.stopped, run.steps, run.tool_runs) == ("repeated call", 2, 2)
