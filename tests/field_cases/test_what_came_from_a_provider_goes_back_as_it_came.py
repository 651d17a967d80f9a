"""Blocks in their order, signatures, unknown fields and ids go back as they came; nothing half is run.

After litellm 23047, hermes-agent 35975 (order), pi 3636, opencode 24083 (fields), copilot-api 81,
nanobot 1555 (choices), claudexor 144, railtracks 1430 (endings).
"""

import copy
import json

import pytest

from agentlib import answer, run_agent
from agentlib.errors import ProviderError
from agentlib.messages import calls_in, user
from agentlib.models import ScriptedModel
from agentlib.providers import anthropic, local, openai
from tests.invariants import assert_sound
from tests.providers.kits import KITS
from tests.providers.rules import assert_openai_takes

each = pytest.mark.parametrize("kit", KITS.values(), ids=KITS)


def look(key: str = "") -> str:
    """Look."""
    return f"seen {key}"


def ran(*replies, **options):
    run = run_agent(ScriptedModel([*replies, answer("Done.")]), [look], "Goal", **options)
    assert_sound(run)
    return run


def chat_body(*messages, finish="tool_calls", usage=None):
    ends = finish if isinstance(finish, tuple) else (finish,) * len(messages)
    choices = [{"finish_reason": end, "message": one} for end, one in zip(ends, messages, strict=True)]
    return {"choices": choices, "usage": usage or {"prompt_tokens": 50, "completion_tokens": 5}}


def call(id="c1", arguments="{}", **beside):
    return {"id": id, "type": "function", "function": {"name": "look", "arguments": arguments}, **beside}


def sent_back(body, api=openai):
    return api.messages_from(ran(api.reply_from(body)).history)[1]


# --- where fields and blocks may stand -----------------------------------------------------------------


@pytest.mark.parametrize(
    "message",
    [
        {"content": None, "reasoning_content": "Hm.", "tool_calls": [call()]},
        {"content": "", "reasoning": "Hm.", "reasoning_details": [{"a": 1}], "tool_calls": [call()]},
        {"content": "I look.", "tool_calls": [call(extra_content={"google": {"thought_signature": "c2ln"}})]},
        {"content": [{"type": "text", "text": "I look.", "signature": "c2ln"}], "tool_calls": [call()]},
        {"content": [{"type": "thinking"}, {"type": "text", "text": "I"}], "tool_calls": [call()]},
        {"content": None, "tool_calls": [call(), call("c2", '{"key":  "a"}', index=1)], "annotations": []},
        {"content": None, "tool_calls": [call("call_1__thought__" + "c2ln" * 100)]},
        {"content": "a", "audio": None, "cache_control": {"type": "x"}, "tool_calls": [call()]},
    ],
)  # fmt: skip
def test_fields_that_we_do_not_know_go_back_wherever_they_stood(message):
    message = {"role": "assistant", **message}
    assert sent_back(chat_body(copy.deepcopy(message))) == message


@pytest.mark.parametrize(
    "kinds",
    ["thinking text thinking tool_use", "text tool_use text tool_use", "redacted_thinking tool_use",
     "tool_use text", "thinking server_tool_use web_search_tool_result text tool_use"],
)  # fmt: skip
def test_blocks_go_back_in_their_order_with_what_they_hold(kinds):
    made = {
        "thinking": {"thinking": "Hm.", "signature": "c2ln"}, "redacted_thinking": {"data": "eA=="},
        "text": {"text": "I look.", "citations": None},
        "tool_use": {"name": "look", "input": {}, "caller": {"type": "direct"}},
        "server_tool_use": {"id": "srv_1", "name": "web_search", "input": {"q": "mugs"}},
        "web_search_tool_result": {"tool_use_id": "srv_1", "content": [{"encrypted_content": "x"}]},
    }  # fmt: skip
    content = [{"type": kind, **made[kind]} for kind in kinds.split()]
    for number, block in enumerate(content):
        if block["type"] == "tool_use":
            block["id"] = f"toolu_{number}"
    body = {"content": copy.deepcopy(content), "stop_reason": "tool_use"}
    assert sent_back(body, anthropic)["content"] == content


def test_a_blank_text_between_the_blocks_is_not_sent_since_it_is_refused():
    tool_use = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    body = {"content": [{"type": "text", "text": "\n\n"}, tool_use], "stop_reason": "tool_use"}
    assert sent_back(body, anthropic)["content"] == [tool_use]


def test_half_a_character_is_mended_and_all_that_stands_beside_it_goes_back():
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    text = {"type": "text", "text": "half \ud83d"}
    request = {"type": "tool_use", "id": "t1", "name": "look", "input": {"key": "\ud83d"}}
    reply = anthropic.reply_from({"content": [thinking, text, request], "stop_reason": "tool_use"})
    # A hand-written loop keeps what its model gives.
    sent = anthropic.messages_from([user("Goal"), {**reply, "role": "model"}])[1]["content"]
    assert sent == [thinking, {**text, "text": "half \ufffd"}, {**request, "input": {"key": "\ufffd"}}]


def test_reasoning_and_calls_of_the_responses_interface_go_back_in_their_order():
    api = openai.Responses()
    output = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "y"},
        {"type": "function_call", "id": "fc_2", "call_id": "c2", "name": "look", "arguments": '{"key": "a"}'},
    ]
    run = ran(api.reply_from({"status": "completed", "output": copy.deepcopy(output)}))
    sent = api.messages_from(run.history)
    assert sent[1:5] == output
    assert [(one["type"], one["call_id"]) for one in sent[5:7]] == [
        ("function_call_output", "c1"),
        ("function_call_output", "c2"),
    ]


@pytest.mark.parametrize("store", [False, True, None])
def test_without_a_store_the_reasoning_is_asked_for_so_that_it_can_go_back(store):
    made = openai.model(None, "m", [], api="responses", **({} if store is None else {"store": store}))
    assert made.settings.get("include") == (["reasoning.encrypted_content"] if store is False else None)
    own = openai.model(None, "m", [], api="responses", store=False, include=[])
    assert own.settings["include"] == []


# --- where the history says something else by now ------------------------------------------------------


@each
def test_ids_that_come_again_are_told_apart_and_all_else_stays(kit):
    body = kit.body("I look.", [("same", "look", kit.raw_input({"key": "a"}))])
    kit.items(body)[-1]["kept"] = "yes"
    run = ran(kit.module.reply_from(body), kit.module.reply_from(body))
    messages = kit.module.messages_from(run.history)
    kit.takes(messages)
    text = json.dumps(messages)
    assert text.count('"kept"') == 2
    assert text.count('"same"') == 2  # one request and its result


@each
def test_a_request_that_was_changed_goes_out_as_the_history_has_it(kit):
    body = kit.body("I look.", [("c1", "look", kit.raw_input({"key": "a"}))])
    kit.items(body)[-1]["kept"] = "yes"
    run = ran(kit.module.reply_from(body))
    changed = copy.deepcopy(run.history)
    changed[1]["input"] = {"key": "b"}
    for history in (changed, [run.history[0], {**run.history[1], "text": "Other words."}, *run.history[2:]]):
        text = json.dumps(kit.module.messages_from(history))
        assert "kept" not in text
    assert "kept" in json.dumps(kit.module.messages_from(run.history))


@each
def test_a_result_that_was_changed_changes_nothing_of_what_came(kit):
    body = kit.body("I look.", [("c1", "look", kit.raw_input({"key": "a"}))])
    kit.items(body)[-1]["kept"] = "yes"
    history = ran(kit.module.reply_from(body)).history
    shorter = [{**entry, "result": "[cleared]"} if entry["role"] == "tool" else entry for entry in history]
    assert "kept" in json.dumps(kit.module.messages_from(shorter))


@each
def test_what_came_from_one_provider_goes_to_another_in_our_words(kit):
    body = kit.body("I look.", [("c1", "look", kit.raw_input({"key": "a"}))])
    kit.items(body)[-1]["kept"] = "yes"
    history = ran(kit.module.reply_from(body)).history
    for other in KITS.values():
        messages = other.module.messages_from(history)
        other.takes(messages)
        assert ("kept" in json.dumps(messages)) == (other is kit)


def test_what_stands_in_place_of_what_came_is_never_sent():
    body = chat_body({"content": None, "tool_calls": [call()]})
    for junk in (None, "text", {"api": "openai chat"}, {"api": "openai chat", "items": [3]}, {"items": "x"}):
        reply = {**openai.reply_from(body), "raw": junk}
        assert_openai_takes(openai.messages_from(ran(reply).history))


# --- all choices ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "messages",
    [
        [{"content": "I look."}, {"content": None, "tool_calls": [call()]}],
        [{"content": None, "tool_calls": [call()]}, {"content": "I look."}],
        [{"content": "I look.", "tool_calls": []}, {"content": "", "tool_calls": [call()]}],
        [
            {"content": "I look."},
            {"content": None, "tool_calls": None},
            {"content": None, "tool_calls": [call()]},
        ],
    ],
)
def test_what_all_choices_hold_is_one_reply(messages):
    reply = openai.reply_from(chat_body(*messages))
    assert (reply["tool"], reply["text"]) == ("look", "I look.")
    assert_openai_takes(openai.messages_from(ran(reply).history))


def test_the_requests_and_unknown_fields_of_all_choices_are_kept():
    first = {"content": "I look.", "reasoning_content": "Hm.", "tool_calls": [call("c1")]}
    body = chat_body(
        first, {"content": None, "tool_calls": [call("c2")], "new": 1}, finish=("stop", "tool_calls")
    )
    reply = openai.reply_from(body)
    assert [one["id"] for one in reply["calls"]] == ["c1", "c2"]
    message = sent_back(body)
    assert (message["reasoning_content"], message["new"]) == ("Hm.", 1)


def test_one_choice_that_is_not_whole_makes_the_reply_not_whole():
    good, bad = {"content": None, "tool_calls": [call()]}, {"content": "I lo"}
    with pytest.raises(ProviderError, match='not known, "error"'):
        openai.reply_from(chat_body(good, bad, finish=("tool_calls", "error")))
    with pytest.raises(ProviderError, match="filter"):
        openai.reply_from(chat_body(good, bad, finish=("length", "content_filter")))


# --- endings --------------------------------------------------------------------------------------------

FUTURE = [
    "error",
    "a_future_word",
    "abort",
    "",
    None,
    3,
    ["stop"],
    {"a": 1},
    "STOP",
    "insufficient_system_resource",
]


@pytest.mark.parametrize("reason", FUTURE, ids=str)
@pytest.mark.parametrize("asks", [True, False])
@pytest.mark.parametrize("name", [*KITS, "local"])
def test_an_ending_that_is_not_known_is_a_model_error_with_text_and_usage_and_runs_nothing(
    name, asks, reason
):
    if name == "local":
        said = (
            {"type": "tool", "tool": "look", "input": {}} if asks else {"type": "answer", "text": "The stock"}
        )
        body = chat_body({"content": json.dumps(said)}, finish=reason)
        module, expected = local, {"input_tokens": 50, "output_tokens": 5}
    else:
        kit = KITS[name]
        body = kit.body("The stock", [("c1", "look", kit.raw_input({}))] if asks else [], read=50, written=5)
        module, expected = kit.module, {"input_tokens": 50, "output_tokens": 5}
        if name == "openai":
            body["choices"][0]["finish_reason"] = reason
        elif name == "anthropic":
            body["stop_reason"] = reason
        else:
            body["status"] = reason
    with pytest.raises(ProviderError) as caught:
        module.reply_from(body)
    assert "The stock" in caught.value.text or (name == "local" and asks)
    assert caught.value.usage.items() >= expected.items()

    def model(history):
        raise caught.value

    run = run_agent(model, [look], "Goal")
    assert_sound(run)
    assert (run.stopped, run.tool_runs) == ("model error", 0)
    assert (run.usage.input_tokens, run.usage.output_tokens) == (50, 5)


@each
def test_a_filter_runs_nothing_even_beside_a_whole_request(kit):
    body = kit.body("I look.", [("c1", "look", kit.raw_input({}))], "filter")
    with pytest.raises(ProviderError, match="filter"):
        kit.module.reply_from(body)


@pytest.mark.parametrize("name", ["openai", "anthropic"])  # the third API has no such word
def test_a_reply_that_says_it_asks_and_holds_no_request_is_not_the_answer(name):
    kit = KITS[name]
    body = kit.body("I look it up.")
    body.update({"stop_reason": "tool_use"})
    body.get("choices", [{}])[0]["finish_reason"] = "tool_calls"
    with pytest.raises(ProviderError, match="holds no request"):
        kit.module.reply_from(body)


@pytest.mark.parametrize("status", ["failed", "cancelled", "in_progress", "queued", "incomplete"])
def test_a_response_that_is_not_completed_says_why(status):
    body = KITS["responses"].body("The stock", read=50) | {
        "status": status,
        "error": {"code": "server_error", "message": "no room"},
        "incomplete_details": {"reason": "steered"} if status == "incomplete" else None,
    }
    with pytest.raises(ProviderError, match="no room") as caught:
        openai.Responses().reply_from(body)
    assert ("steered" if status == "incomplete" else status) in str(caught.value)
    assert caught.value.usage["input_tokens"] == 50


def test_an_error_beside_whole_choices_of_usage_is_quoted_and_counted():
    """As OpenRouter sends it: status 200, an error, and no choices."""
    body = {
        "error": {"message": "upstream is busy"},
        "choices": None,
        "usage": {"prompt_tokens": 9, "completion_tokens": 0},
    }
    with pytest.raises(ProviderError, match="upstream is busy") as caught:
        openai.reply_from(body)
    assert caught.value.usage == {"input_tokens": 9, "output_tokens": 0}


@each
@pytest.mark.parametrize(
    "body", [{"a": "x" * 5_000}, {"choices": [3]}, {"output": "x"}, {"content": {}}, {"message": {}}]
)
def test_a_body_that_nobody_has_seen_is_quoted_shortly(kit, body):
    with pytest.raises(ProviderError, match="holds no reply") as caught:
        kit.module.reply_from(body)
    assert len(str(caught.value)) < 500


# --- what has been refused in a request, and what has not -------------------------------------------------


@pytest.mark.parametrize("arguments", ["", None, "null", '{"key": NaN}', "{half", '["a"]', "3"])
@pytest.mark.parametrize("name", ["openai", "responses"])
def test_arguments_that_no_provider_takes_are_mended_and_the_fields_beside_them_stay(name, arguments):
    kit = KITS[name]
    body = kit.body(None, [("c1", "look", arguments)])
    kit.items(body)[-1]["kept"] = "yes"
    history = ran(kit.module.reply_from(body)).history
    messages = kit.module.messages_from([*history, user("Go on.")])
    kit.takes(messages)
    assert "kept" in json.dumps(messages)


@each
def test_numbers_stay_as_they_were_written(kit):
    given = {"a": 3.0, "b": 1e300, "c": 10**30, "d": -0.0}
    body = kit.body(None, [("c1", "look", kit.raw_input(given))])
    reply = kit.module.reply_from(body)
    assert json.dumps(calls_in(reply)[0]["input"]) == json.dumps(given)
    sent = json.dumps(kit.module.messages_from(ran(reply).history))
    assert "3.0" in sent and str(10**30) in sent  # noqa: PT018


def test_tokens_that_went_into_a_cache_are_counted_by_all():
    details, read = {"cached_tokens": 20, "cache_write_tokens": 30}, {"input_tokens": 90, "output_tokens": 1}
    bodies = {
        "openai": {"prompt_tokens": 90, "completion_tokens": 1, "prompt_tokens_details": details},
        "responses": {**read, "input_tokens_details": details},
        "anthropic": {
            "input_tokens": 40, "output_tokens": 1, "cache_read_input_tokens": 20,
            "cache_creation_input_tokens": 30,
        },
    }  # fmt: skip
    for name, usage in bodies.items():
        reply = KITS[name].module.reply_from(KITS[name].body("Hm.") | {"usage": usage})
        assert reply["usage"] == {**read, **details}
    hit = {
        "prompt_tokens": 90,
        "completion_tokens": 1,
        "prompt_cache_hit_tokens": 64,
        "prompt_cache_miss_tokens": 26,
    }
    body = chat_body({"content": "Hm."}, finish="stop", usage=hit)
    assert openai.reply_from(body)["usage"]["cached_tokens"] == 64
    body["usage"]["prompt_tokens_details"] = {"cached_tokens": None}
    assert openai.reply_from(body)["usage"]["cached_tokens"] == 64
