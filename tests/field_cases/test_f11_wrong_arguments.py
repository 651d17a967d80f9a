"""F11: wrong arguments get an error that names the argument and what was expected; the tool does not run."""

from typing import Literal

import pytest

from agentlib import answer, ask, ask_together, run_agent
from agentlib.models import RecordingModel, RuleModel, ScriptedModel
from tests.invariants import assert_sound

RAN = []


def order(mugs: int, colour: Literal["blue", "red"] = "blue") -> str:
    """Order mugs."""
    RAN.append(mugs)
    return f"{mugs} {colour}"


WRONG = {
    "a missing name": ({}, ['"mugs" is missing', "Its arguments: mugs, colour"]),
    "an unknown name": ({"mugs": 1, "color": "red"}, ['no argument "color"', "Its arguments: mugs, colour"]),
    "a wrong type": ({"mugs": "three"}, ['"mugs"', "valid integer", '"three" (text)']),
    "a number as text": ({"mugs": "3"}, ['"mugs"', "valid integer", '"3" (text)']),
    "a fraction": ({"mugs": 2.5}, ['"mugs"', "valid integer", "2.5 (float)"]),
    "no number at all": ({"mugs": None}, ['"mugs"', "valid integer", "None"]),
    "a value that is not allowed": (
        {"mugs": 1, "colour": "green"},
        ['"colour"', "'blue' or 'red'", '"green"'],
    ),
    "broken JSON": ('{"mugs": 1', ['"input" must be an object', '"{"mugs": 1" (text)']),
    "JSON as text": ('{"mugs": 1}', ['"input" must be an object', "(text)"]),
    "a list": ([1], ['"input" must be an object', "[1] (list)"]),
    "nothing": (None, ['"input" is missing']),
    "what JSON cannot hold": ({"mugs": {1}}, ["plain JSON values", "a set became a list"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_error_names_the_argument_and_what_was_expected_and_the_tool_does_not_run(name):
    RAN.clear()
    given, words = WRONG[name]
    request = {"type": "tool", "tool": "order", "input": given}
    model = RecordingModel(ScriptedModel([request, answer("I see.")]))
    run = run_agent(model, [order], "Goal")
    result = model.histories[1][2]["result"]
    assert result["error"] == "invalid_input"
    assert [word for word in words if word not in result["message"]] == []
    assert (RAN, run.tool_runs, run.errors, run.stopped) == ([], 0, 1, "answered")
    assert_sound(run)


def test_a_request_without_an_input_is_told_so_too():
    run = run_agent(ScriptedModel([{"type": "tool", "tool": "order"}, answer("I see.")]), [order], "Goal")
    assert '"input" is missing' in run.history[2]["result"]["message"]


@pytest.mark.parametrize("name", WRONG)
def test_one_wrong_request_in_a_batch_does_not_hold_up_the_others(name):
    RAN.clear()
    wrong = {"id": "w", "tool": "order", "input": WRONG[name][0]}
    right = {"id": "r", "tool": "order", "input": {"mugs": 2}}
    run = run_agent(
        ScriptedModel([{"type": "tools", "calls": [wrong, right]}, answer("done")]), [order], "Goal"
    )
    first, second = run.history[2]["result"], run.history[3]["result"]
    assert (first["error"], second, RAN) == ("invalid_input", "2 blue", [2])
    assert_sound(run)


def test_a_model_that_reads_the_error_can_mend_its_request():
    model = RuleModel(
        lambda history: answer(history[-1]["result"]) if history[-1].get("result") == "3 blue" else None,
        lambda history: ask("order", mugs=3) if "valid integer" in str(history[-1].get("result")) else None,
        lambda history: ask("order", mugs="3"),
    )
    run = run_agent(model, [order], "Three mugs")
    assert (run.answer, run.steps, run.errors, run.tool_runs) == ("3 blue", 3, 1, 1)


def test_all_that_is_wrong_is_named_at_once():
    run = run_agent(
        ScriptedModel([ask("order", mugs="x", colour="green", size=1), answer("oh")]), [order], "Goal"
    )
    message = run.history[2]["result"]["message"]
    assert all(f'"{name}"' in message for name in ("mugs", "colour", "size"))


def test_an_unknown_tool_is_an_error_that_names_the_tools_there_are():
    script = [ask_together(ask("orders", mugs=1), ask("", mugs=1), ask("order", mugs=1)), answer("done")]
    run = run_agent(ScriptedModel(script), [order], "Goal")
    results = [entry["result"] for entry in run.history[2:5]]
    assert [r if isinstance(r, str) else r["error"] for r in results] == [
        "unknown_tool",
        "unknown_tool",
        "1 blue",
    ]
    assert all("Tools: order." in result["message"] for result in results[:2])
