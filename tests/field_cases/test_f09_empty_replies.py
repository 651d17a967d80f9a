"""F9: a reply without text and without a request is asked for once more, then it ends the run."""

import pytest

from agentlib import answer, ask, run_agent
from agentlib.models import RecordingModel, ScriptedModel
from tests.invariants import assert_sound

TOOLS = {"look": lambda: 1}
BLANKS = [
    {"type": "answer", "text": ""},
    {"type": "answer", "text": " \n\t "},
    {"type": "answer", "text": None},
    {"type": "answer"},
    {"type": "tools", "calls": []},
    {"type": "tools", "calls": [], "text": "\u3000"},
    {"type": "answer", "text": "", "calls": []},
]
blanks = pytest.mark.parametrize("blank", BLANKS)


@blanks
def test_one_blank_is_asked_again_with_a_note(blank):
    model = RecordingModel(ScriptedModel([blank, answer("done")]))
    run = run_agent(model, TOOLS, "Goal")
    assert (run.stopped, run.answer, run.steps, run.errors) == ("answered", "done", 2, 0)
    assert run.history[1] == {"role": "model", "type": "empty", "text": ""}
    assert model.histories[1][2] == {
        "role": "user",
        "text": "Your reply was empty. Ask for a tool, or answer in words.",
    }
    assert_sound(run)


@blanks
def test_a_second_blank_in_a_row_ends_the_run(blank):
    run = run_agent(ScriptedModel([ask("look"), blank, answer(""), answer("too late")]), TOOLS, "Goal")
    assert (run.stopped, run.answer, run.steps, run.tool_runs) == ("empty reply", None, 3, 1)
    assert run.stopped.detail == "two replies in a row had neither text nor a request"
    assert_sound(run)


@pytest.mark.parametrize("between", [ask("look"), ask("nobody"), {"type": "odd"}, "no dict"])
def test_blanks_that_are_not_in_a_row_are_each_asked_again(between):
    script = [answer(""), between, answer(""), between, answer(""), answer("done")]
    run = run_agent(ScriptedModel(script), TOOLS, "Goal")
    assert (run.stopped, run.steps) == ("answered", 6)
    assert_sound(run)


@blanks
def test_with_no_step_left_to_ask_again_it_is_the_step_limit(blank):
    run = run_agent(ScriptedModel([ask("look"), blank, answer("never")]), TOOLS, "Goal", 2)
    assert (run.stopped, run.answer, run.steps) == ("step limit", None, 2)


def test_a_second_blank_at_the_very_last_step_is_an_empty_reply():
    assert run_agent(ScriptedModel([answer(""), answer("")]), TOOLS, "Goal", 2).stopped == "empty reply"


def test_no_calls_with_text_is_an_answer():
    run = run_agent(ScriptedModel([{"type": "tools", "calls": [], "text": "Done."}]), TOOLS, "Goal")
    assert (run.stopped, run.answer) == ("answered", "Done.")


def test_a_single_dot_is_an_answer():
    assert run_agent(ScriptedModel([answer(".")]), TOOLS, "Goal").answer == "."
