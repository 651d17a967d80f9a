"""F10: a reply with both text and a request is a request; its text stays in the history."""

import pytest

from agentlib import answer, ask, ask_together, run_agent
from agentlib.models import RecordingModel, ScriptedModel
from tests.invariants import assert_sound

TEXT = "I have a first idea, but let me look."
LOOK = {"tool": "look", "input": {"n": 1}}
BOTH = {
    "a request with text": {**ask("look", n=1), "text": TEXT},
    "a batch with text": ask_together(ask("look", n=1), text=TEXT),
    "an answer that names a tool": {**answer(TEXT), **LOOK},
    "an answer with calls": {**answer(TEXT), "calls": [{"id": "a", **LOOK}]},
    "an answer with calls without ids": {**answer(TEXT), "calls": [LOOK]},
}


@pytest.mark.parametrize("name", BOTH)
def test_the_request_runs_and_the_text_stays(name):
    model = RecordingModel(ScriptedModel([BOTH[name], answer("done")]))
    run = run_agent(model, {"look": lambda n: n}, "Goal")
    assert (run.stopped, run.answer, run.steps, run.tool_runs) == ("answered", "done", 2, 1)
    assert run.history[1]["text"] == TEXT
    assert run.history[1]["type"] in ("tool", "tools")
    assert run.history[2]["result"] == 1
    assert model.histories[1][1]["text"] == TEXT
    assert_sound(run)


@pytest.mark.parametrize("name", BOTH)
def test_at_the_last_step_it_is_no_answer(name):
    run = run_agent(ScriptedModel([BOTH[name]]), {"look": lambda n: n}, "Goal", 1)
    assert (run.stopped, run.answer) == ("step limit", None)


@pytest.mark.parametrize("text", ["", None, 5, ["a"]])
def test_text_that_is_none_does_not_stop_the_request(text):
    script = [
        {**ask("look", n=1), "text": text},
        {**ask_together(ask("look", n=2)), "text": text},
        answer("done"),
    ]
    run = run_agent(ScriptedModel(script), {"look": lambda n: n}, "Goal")
    assert (run.stopped, run.tool_runs, run.errors) == ("answered", 2, 0)
    assert_sound(run)
