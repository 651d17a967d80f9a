"""A history from our loop is one that both providers take, however the run went and wherever it stopped.

Neither a client nor a network is needed for this.
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlib import answer, ask, ask_together, run_agent, stops, tool
from agentlib.errors import SummaryError
from agentlib.labs import blue_mugs
from agentlib.memory import CompactWhenFull, clear_results, compact
from agentlib.messages import user
from agentlib.models import LoopingModel, ScriptedModel
from tests.providers.kits import ANTHROPIC, KITS, OPENAI
from tests.test_properties import examples, runs

each = pytest.mark.parametrize("kit", KITS.values(), ids=KITS)


def assert_taken(history):
    """Both providers take it, and it is the same each time."""
    for kit in KITS.values():
        messages = kit.module.messages_from(history)
        kit.takes(messages)
        assert messages == kit.module.messages_from(history)


def assert_can_be_asked(history):
    """As above, and it is the model's turn."""
    assert_taken(history)
    for kit in KITS.values():
        last = kit.module.messages_from(history)[-1]
        assert last.get("type") == "function_call_output" or last["role"] in ("user", "tool")


def ran(*script):
    return run_agent(ScriptedModel(script), blue_mugs.TOOLS, "Goal")


def shortened(history, keep_steps):
    """The history with its old steps summarised; as it is where that would make it longer."""
    try:
        return compact(history, keep_steps, lambda entries: "s")
    except SummaryError:
        return history


# --- any run ----------------------------------------------------------------------------------------


@examples(150)
@given(runs(), st.integers(0, 3), st.sampled_from([None, "compact", "clear", "when full"]))
def test_whatever_a_run_was_both_providers_take_what_the_model_read_and_what_is_left(make, keep, shorten):
    model, _, options = make()
    memory = {
        None: options["memory"],
        "compact": lambda history: shortened(history, keep),
        "clear": lambda history: clear_results(history, keep),
        "when full": CompactWhenFull(4_000, keep, lambda entries: "s", full_at=0.02),
    }[shorten]
    _, start, _ = make()
    for run in (start(), run_agent(model, [look_up], "Goal", **{**options, "memory": memory})):
        for history in run.trace.histories():
            assert_can_be_asked(history)
        if run.history:
            assert_can_be_asked([*run.history, user("Go on.")])
            assert_taken(shortened(run.history, keep))


@tool(name="look")
def look_up(key: str = "", **more):
    """Look something up."""
    return {"key": key, "more": "x" * 50}


@examples(100)
@given(runs(), st.integers(0, 20), st.integers(0, 20))
def test_a_history_that_was_cut_anywhere_is_mended(make, first, last):
    _, start, _ = make()
    history = start().history
    part = history[first:last] or history[:1]
    assert_taken([*part, user("Go on.")])


@examples(60)
@given(runs())
def test_a_history_that_only_grows_is_sent_with_the_same_beginning(make):
    _, start, _ = make()
    history = start().history
    for kit in KITS.values():
        before = []
        for length in range(1, len(history) + 1):
            if length < len(history) and history[length]["role"] == "tool":
                continue  # between a request and its results nothing is sent
            messages = kit.module.messages_from(history[:length])
            if kit.joins_texts:
                assert messages[: len(before) - 1] == before[:-1]
                last = len(before) - 1
                assert (
                    not before
                    or before[-1]["content"] == messages[last]["content"][: len(before[-1]["content"])]
                )
            else:
                assert messages[: len(before)] == before
            before = messages


# --- each way to stop in the middle -----------------------------------------------------------------

two = ask_together(ask("stock_level", warehouse="north"), ask("stock_level", warehouse="south"), text="Both.")


def crash(**_):
    raise KeyboardInterrupt


def hang(warehouse):
    raise TimeoutError("no answer from the warehouse")


STOPS = {
    "the step limit": (blue_mugs.TOOLS, {"max_steps": 1}),
    "a tool that was called": (blue_mugs.TOOLS, {"stops": stops.ToolCalled("stock_level")}),
    "an interrupt in a tool": ({"stock_level": crash}, {}),
    "a tool that timed out": ({"stock_level": hang}, {"max_steps": 1}),
    "a person's no": (
        [tool(blue_mugs.stock_level, risky=True)],
        {"approve": lambda call: False, "max_steps": 1},
    ),
    "a repeated call": (blue_mugs.TOOLS, {"stops": stops.RepeatedCall(2)}),
}


@pytest.mark.parametrize("why", STOPS)
def test_a_run_that_stopped_in_the_middle_can_be_continued_with_either_provider(why):
    tools, options = STOPS[why]
    run = run_agent(lambda history: two, tools, "Which has more?", **options)
    assert run.stopped != "answered"
    assert [entry["role"] for entry in run.history[:4]] == ["user", "model", "tool", "tool"]
    assert_can_be_asked(run.history)
    assert_can_be_asked([*run.history, user("Go on.")])


# --- what exactly is sent ---------------------------------------------------------------------------


def test_openai_a_step_of_two_requests_is_one_message_and_two_results():
    run = ran(two, answer("North."))
    _, asking, *results, last = OPENAI.module.messages_from(run.history)
    assert asking["content"] == "Both."
    inputs = [json.loads(call["function"]["arguments"]) for call in asking["tool_calls"]]
    assert inputs == [{"warehouse": "north"}, {"warehouse": "south"}]
    assert [(one["tool_call_id"], one["content"]) for one in results] == [
        ("1", '{"warehouse":"north","blue_mugs":140}'),
        ("2", '{"warehouse":"south","blue_mugs":95}'),
    ]
    assert last == {"role": "assistant", "content": "North."}


def test_anthropic_all_results_and_the_note_behind_them_are_one_user_message():
    looping = LoopingModel("stock_level", warehouse="east")
    run = run_agent(looping, blue_mugs.TOOLS, "Goal", 1, closing_call=True)
    goal, asking, results, *_ = ANTHROPIC.module.messages_from(run.history)
    assert goal == {"role": "user", "content": [{"type": "text", "text": "Goal"}]}
    assert [block["type"] for block in asking["content"]] == ["tool_use"]
    assert [block["type"] for block in results["content"]] == ["tool_result", "text"]
    assert results["content"][0]["is_error"] is True


@each
def test_ids_that_come_again_in_another_reply_are_told_apart(kit):
    run = ran(*({**ask("stock_level", warehouse=name), "id": "call_1"} for name in ("north", "south")))
    assert [entry["id"] for entry in run.history if entry["role"] == "tool"] == ["call_1", "call_1"]
    text = json.dumps(kit.module.messages_from(run.history))
    assert text.count('"call_1"') == text.count('"call_2"') == 2


@each
@pytest.mark.parametrize("odd", ["functions.stock level", "größe", "x" * 65, "", "call\n"])
def test_names_and_ids_that_a_provider_does_not_take_are_changed_on_the_way_out_only(kit, odd):
    reply = {"type": "tool", "tool": odd, "input": {}, "id": odd or "a b"}
    run = ran(reply, answer("No."))
    assert run.history[1]["tool"] == odd
    kit.takes(kit.module.messages_from(run.history))


@each
def test_an_input_that_is_no_object_is_shown_to_the_model_in_one(kit):
    run = ran({"type": "tool", "tool": "stock_level", "input": '{"ware'}, answer("No."))
    messages = kit.module.messages_from(run.history)
    kit.takes(messages)
    assert "not_an_object" in json.dumps(messages)


@each
def test_a_history_of_a_hand_written_loop_without_roles_and_ids_is_taken_too(kit):
    history = [
        user("Goal"),
        ask_together(ask("a"), ask("b")),
        {"role": "tool", "tool": "b", "result": "of b"},
        {"role": "tool", "tool": "a", "result": "of a"},
        answer("Done."),
        user("And now?"),
    ]
    messages = kit.module.messages_from(history)
    kit.takes(messages)
    asked = kit.module.messages_from([*history[:2], {"role": "tool", "tool": "a", "result": "of a"}])
    assert "not_run" in str(asked)
    assert "not_run" not in str(messages)


@each
def test_a_result_that_nobody_asked_for_is_told_in_words(kit):
    stray = {"role": "tool", "id": "7", "tool": "b", "result": "of b"}
    answered = {"role": "tool", "id": "1", "tool": "a", "result": "of a"}
    for history in ([user("Goal"), {**ask("a"), "id": "1"}, answered, stray], [user("Goal"), stray]):
        messages = kit.module.messages_from(history)
        kit.takes(messages)
        assert "Result of b: of b" in str(messages[-1])


@each
def test_blank_texts_are_never_sent(kit):
    history = [user(" "), answer(""), user("\n"), {**ask("a"), "text": " "}]
    messages = kit.module.messages_from(history)
    kit.takes(messages)
    assert "(no text)" in str(messages)


def test_thinking_goes_back_as_it_came_before_the_request_that_it_led_to():
    thinking = [{"type": "thinking", "thinking": "Hm.", "signature": "abc"}]
    body = ANTHROPIC.body("I look.", [("a", "stock_level", {"warehouse": "north"})], thinking=thinking)
    run = ran(ANTHROPIC.module.reply_from(body), answer("140."))
    kinds = [block["type"] for block in ANTHROPIC.module.messages_from(run.history)[1]["content"]]
    assert kinds == ["thinking", "text", "tool_use"]
    assert ANTHROPIC.module.messages_from(run.history)[1]["content"][:1] == thinking
    assert "signature" not in str(OPENAI.module.messages_from(run.history))
