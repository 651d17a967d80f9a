"""F12: a request that was not read whole does not run, and the model is told why.

Which reply was cut off only the provider's adapter can see; it says so in the request's "problem".
"""

import pytest

from agentlib import Trace, answer, ask, compare, replay, run_agent, tool
from agentlib.models import RecordingModel, ScriptedModel
from tests.invariants import assert_sound

CUT_OFF = "the reply was cut off by the output limit"


def counting_tool():
    ran = []

    @tool
    def write(text: str) -> str:
        """Write a text."""
        ran.append(text)
        return "ok"

    return write, ran


def single(given):
    return {**ask("write", text="half"), **given}


def batch(given):
    whole = {"id": "a", "tool": "write", "input": {"text": "whole"}}
    return {
        "type": "tools",
        "calls": [whole, {"id": "b", "tool": "write", "input": {"text": "half"}, **given}],
    }


@pytest.mark.parametrize(("reply", "runs"), [(single, []), (batch, ["whole"])])
def test_a_request_with_a_problem_does_not_run_and_the_model_reads_why(reply, runs):
    write, ran = counting_tool()
    model = RecordingModel(ScriptedModel([reply({"problem": CUT_OFF}), answer("I shall write less.")]))
    run = run_agent(model, [write], "Write.")
    assert_sound(run)
    assert ran == runs
    assert (run.stopped, run.errors, run.tool_runs) == ("answered", 1, len(runs))
    last = model.histories[1][-1]
    assert last["result"] == {"error": "invalid_input", "message": f"The request cannot be run: {CUT_OFF}."}


@pytest.mark.parametrize("reply", [single, batch])
@pytest.mark.parametrize("odd", ["", "  ", None, 3, ["cut off"], {}, "half a sign: \ud800"])
def test_only_words_are_a_problem(reply, odd):
    write, ran = counting_tool()
    run = run_agent(ScriptedModel([reply({"problem": odd}), answer("Done.")]), [write], "Write.")
    assert_sound(run)
    refused = isinstance(odd, str) and bool(odd.strip())
    assert run.errors == refused
    assert ("half" in ran) is not refused


@pytest.mark.parametrize("reply", [single, batch])
def test_it_is_the_same_after_a_way_through_a_file(reply, tmp_path):
    write, _ = counting_tool()
    run = run_agent(ScriptedModel([reply({"problem": CUT_OFF}), answer("Done.")]), [write], "Write.")
    run.trace.save(tmp_path / "run.jsonl")
    trace = Trace.load(tmp_path / "run.jsonl")
    assert compare(replay(trace).trace, trace) == []
