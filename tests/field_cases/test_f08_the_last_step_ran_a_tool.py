"""F8: a last step that ran a tool is "step limit", never "answered"; a closing call is made on request."""

import pytest

from agentlib import answer, ask, ask_together, run_agent
from agentlib.labs import capitals
from agentlib.models import LoopingModel, RecordingModel, ScriptedModel
from tests.invariants import assert_sound

TOOLS = {"look": lambda n=0: f"shelf {n}"}


def closing(history):
    """Look at one shelf after the other, and close when told to."""
    told = history[-1]["role"] == "user" and len(history) > 1
    return answer(f"I saw {len(history) // 2 - 1} shelves.") if told else ask("look", n=len(history))


@pytest.mark.parametrize("limit", [1, 2, 5])
@pytest.mark.parametrize("last", [ask("look", n=9), ask_together(ask("look", n=8), ask("look", n=9))])
def test_a_tool_at_the_last_step_is_no_answer_though_it_worked(limit, last):
    script = [ask("look", n=n) for n in range(limit - 1)] + [last, answer("never asked for")]
    model = ScriptedModel(script)
    run = run_agent(model, TOOLS, "Goal", limit)
    assert (run.stopped, run.answer, run.closing, model.calls) == ("step limit", None, False, limit)
    assert run.history[-1]["result"] == "shelf 9"
    assert_sound(run)


def test_text_beside_the_last_request_is_no_answer_either():
    run = run_agent(ScriptedModel([{**ask("look"), "text": "Nearly done!"}]), TOOLS, "Goal", 1)
    assert (run.stopped, run.answer, run.history[1]["text"]) == ("step limit", None, "Nearly done!")


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_a_closing_call_is_one_call_more_is_marked_and_leaves_the_reason(limit):
    model = RecordingModel(closing)
    run = run_agent(model, TOOLS, "Goal", limit, closing_call=True)
    assert (run.stopped, run.closing, run.answer) == ("step limit", True, f"I saw {limit} shelves.")
    assert run.steps == len(model.replies) == limit + 1
    assert run.coins == sum(len(seen) for seen in model.histories)
    assert (run.tool_runs, run.history[-1]["closing"]) == (limit, True)
    assert model.histories[-1][-1]["text"].startswith("No more tools can be used.")
    assert_sound(run)


def test_a_closing_call_sees_the_last_tool_result():
    model = RecordingModel(closing)
    run_agent(model, TOOLS, "Goal", 1, closing_call=True)
    assert model.histories[-1][-2]["result"] == "shelf 1"


def test_a_model_that_asks_again_at_its_closing_call_runs_no_tool_and_has_no_answer():
    run = run_agent(LoopingModel("look", n=1), TOOLS, "Goal", 3, closing_call=True)
    assert (run.stopped, run.answer, run.closing, run.steps, run.tool_runs) == (
        "step limit",
        None,
        False,
        4,
        3,
    )
    assert run.history[-1]["result"]["error"] == "not_run"
    assert_sound(run)


def test_the_closing_answer_says_what_is_missing():
    run = run_agent(capitals.model(), capitals.TOOLS, capitals.GOAL, 4, closing_call=True)
    assert (run.stopped, run.closing) == ("step limit", True)
    assert "3 of 4" in run.answer
