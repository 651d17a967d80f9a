"""What a provider sends comes out in our shape: requests, text, usage; what is half, refused or broken."""

import json

import pytest

from agentlib import ask, run_agent, tool
from agentlib.errors import ProviderError
from agentlib.labs import blue_mugs
from tests.invariants import assert_sound
from tests.providers.kits import KITS, OPENAI

openai_alone = pytest.mark.parametrize("kit", ["openai", "responses"], indirect=True)
chat_alone = pytest.mark.parametrize("kit", ["openai"], indirect=True)
anthropic_alone = pytest.mark.parametrize("kit", ["anthropic"], indirect=True)


@pytest.fixture
def run(kit, say, address):
    """run(*bodies) runs the blue mugs with these responses, whatever they are."""

    def start(*bodies, tools=blue_mugs.TOOLS, **settings):
        say(*bodies)
        run = run_agent(kit.model(address, tools, **settings), tools, blue_mugs.GOAL)
        assert_sound(run)
        for history in run.trace.histories():
            kit.takes(kit.module.messages_from(history))
        return run

    return start


NORTH_ASKED = {**ask("stock_level", warehouse="north"), "id": "id_1"}


def north(kit, id="id_1"):
    return id, "stock_level", kit.raw_input({"warehouse": "north"})


def south(kit, id="id_2"):
    return id, "stock_level", kit.raw_input({"warehouse": "south"})


def results(run):
    return [entry["result"] for entry in run.history if entry["role"] == "tool"]


# --- requests ---------------------------------------------------------------------------------------


def test_one_request_with_text_beside_it(kit, run):
    body = kit.body("I look at the north.", [north(kit)])
    came = run(body, kit.body("140."))
    usage = {"input_tokens": 100, "cached_tokens": 0, "output_tokens": 7}
    words = {"text": "I look at the north.", "usage": usage}
    raw = {"api": kit.api, "items": kit.items(body)}
    assert came.history[1] == {"role": "model", **NORTH_ASKED, **words, "raw": raw}
    assert (came.history[2]["id"], came.answer) == ("id_1", "140.")


@pytest.mark.parametrize("text", [None, ""])
def test_several_requests_in_one_reply_and_no_text(kit, run, text):
    came = run(kit.body(text, [north(kit), south(kit)]), kit.body("North."))
    asked = came.history[1]
    calls = [(call["id"], call["input"]["warehouse"]) for call in asked["calls"]]
    assert calls == [("id_1", "north"), ("id_2", "south")]
    assert "text" not in asked
    assert [result["blue_mugs"] for result in results(came)] == [140, 95]
    assert (came.stopped, came.steps, came.tool_runs) == ("answered", 2, 2)


def test_results_go_back_to_the_ids_that_asked_for_them(kit, run, sent):
    run(kit.body(None, [north(kit), south(kit)]), kit.body("North."))
    text = json.dumps(kit.history(sent()[1])[3 if kit.name == "responses" else 2 :])
    assert text.index("id_1") < text.index("140") < text.index("id_2") < text.index("95")


def test_two_requests_of_one_id_are_told_apart(kit, run):
    came = run(kit.body(None, [north(kit, "same"), south(kit, "same")]), kit.body("North."))
    assert [result["blue_mugs"] for result in results(came)] == [140, 95]
    assert (came.stopped, came.errors) == ("answered", 0)


def test_a_tool_that_does_not_exist_is_an_error_that_the_model_reads(kit, run):
    came = run(kit.body(None, [("id_1", "functions.stock", kit.raw_input({}))]), kit.body("I cannot."))
    assert results(came)[0]["error"] == "unknown_tool"
    assert (came.stopped, came.errors, came.tool_runs) == ("answered", 1, 0)


@pytest.mark.parametrize("name", [None, 3, "", {"a": 1}])
def test_a_request_that_names_no_tool_is_an_error_that_the_model_reads(kit, run, name):
    came = run(kit.body(None, [("id_1", name, kit.raw_input({}))]), kit.body("I cannot."))
    assert (came.stopped, came.errors, came.tool_runs) == ("answered", 1, 0)


@pytest.mark.parametrize("id", [None, "", 7])
def test_a_request_without_an_id_gets_one(kit, run, id):
    came = run(kit.body(None, [north(kit, id)]), kit.body("140."))
    assert (came.stopped, came.tool_runs) == ("answered", 1)
    assert came.history[2]["id"] == "call_1"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ('{"warehouse": "north"', "no JSON"),
        ("warehouse=north", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("1" * 5_000, "no JSON"),
        ('["north"]', "must be an object"),
        ('"north"', "must be an object"),
        ('{"warehouse": NaN}', "plain JSON values"),
        ('{"warehouse": "\\ud800"}', "plain JSON values"),
        ("{}", 'argument "warehouse" is missing'),
        ("", 'argument "warehouse" is missing'),
        (None, 'argument "warehouse" is missing'),
        ('{"warehouse": 3}', 'argument "warehouse": expected a valid string, got 3 (int)'),
    ],
)
@openai_alone  # the other sends arguments as an object
def test_arguments_that_cannot_be_used_are_an_error_that_the_model_reads(kit, run, arguments, words):
    came = run(kit.body(None, [("id_1", "stock_level", arguments)]), kit.body("I cannot."))
    assert (came.stopped, came.errors, came.tool_runs) == ("answered", 1, 0)
    assert results(came)[0]["error"] == "invalid_input"
    assert words in results(came)[0]["message"]


@anthropic_alone
@pytest.mark.parametrize("given", [None, "north", ["north"], 3])
def test_an_input_that_is_no_object_is_an_error_that_the_model_reads(kit, run, given):
    came = run(kit.body(None, [("id_1", "stock_level", given)]), kit.body("I cannot."))
    assert (came.stopped, came.errors, came.tool_runs) == ("answered", 1, 0)


@openai_alone
@pytest.mark.parametrize("arguments", ["", None, "{}", "null"])
def test_a_tool_that_needs_no_arguments_runs_with_none(kit, run, arguments):
    @tool
    def now() -> str:
        """Tell the time."""
        return "noon"

    came = run(kit.body(None, [("id_1", "now", arguments)]), kit.body("Noon."), tools=[now])
    assert results(came) == ["noon"]


# --- half a reply -----------------------------------------------------------------------------------


def test_f12_a_request_that_was_cut_off_does_not_run_and_the_model_is_told(kit, run, sent):
    half = ("id_2", "stock_level", kit.half_input)
    came = run(kit.body("I look.", [north(kit), half], "limit"), kit.body("Sorry."))
    assert (came.stopped, came.errors, came.tool_runs) == ("answered", 2, 0)
    for result in results(came):
        assert result["error"] == "invalid_input"
        assert "cut off by the output limit" in result["message"]
    assert "cut off by the output limit" in json.dumps(kit.history(sent()[1]))
    assert came.history[1]["text"] == "I look."


def test_half_an_answer_is_never_the_answer(kit, run):
    came = run(kit.body("North has more, as", ends="limit"))
    assert (came.stopped, came.answer) == ("model error", None)
    assert "cut off by the output limit" in came.stopped.detail
    assert "North has more, as" in came.stopped.detail


@pytest.mark.parametrize("kit", ["responses"], indirect=True)
def test_a_message_that_is_not_whole_is_half_an_answer_whatever_the_response_says(kit, run):
    body = kit.body("North has more, as")
    body["output"][0]["status"] = "incomplete"
    came = run(body)
    assert (came.stopped, came.answer) == ("model error", None)
    assert "cut off by the output limit" in came.stopped.detail


def test_nothing_but_thinking_up_to_the_limit_says_that_the_limit_was_it(kit, run):
    came = run(kit.body(None, ends="limit"))
    assert came.stopped == "model error"
    assert "cut off by the output limit" in came.stopped.detail


def test_what_a_filter_has_stopped_is_never_the_answer(kit, run):
    came = run(kit.body("First you", ends="filter"))
    assert (came.stopped, came.answer) == ("model error", None)
    assert "the provider's filter" in came.stopped.detail


@anthropic_alone
def test_why_a_filter_has_stopped_a_reply_is_said(kit, run):
    body = kit.body(None, ends="filter") | {
        "stop_details": {"type": "refusal", "explanation": "About wombats."}
    }
    assert "About wombats." in run(body).stopped.detail


@openai_alone
def test_a_refusal_in_the_models_own_words_is_its_answer_and_marked(kit, run):
    came = run(kit.body(None, refusal="I will not count mugs."))
    assert (came.stopped, came.answer) == ("answered", "I will not count mugs.")
    assert came.history[-1]["refused"] is True


def test_a_blank_reply_is_asked_for_once_more(kit, run):
    came = run(kit.body(None), kit.body("North."))
    assert (came.stopped, came.answer, came.steps) == ("answered", "North.", 2)
    assert run(kit.body(""), kit.body(" \n")).stopped == "empty reply"


# --- text in parts, thinking ------------------------------------------------------------------------


@anthropic_alone
def test_text_in_several_blocks_is_one_text_and_other_blocks_are_passed_over(kit, run):
    body = kit.body()
    body["content"] = [
        {"type": "text", "text": "North "},
        {"type": "new"},
        {"type": "text", "text": "has more."},
    ]
    assert run(body).answer == "North has more."


@chat_alone
def test_text_in_several_parts_as_some_servers_send_it_is_one_text(kit, run):
    parts = [{"type": "text", "text": "North "}, {"type": "text", "text": "has more."}]
    assert run(kit.body(parts)).answer == "North has more."


@anthropic_alone
def test_thinking_is_kept_beside_the_reply_and_sent_back_as_it_came(kit, run, sent):
    thinking = [
        {"type": "thinking", "thinking": "Which one?", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "eA=="},
    ]
    came = run(kit.body("I look.", [north(kit)], thinking=thinking), kit.body("140."))
    assert came.history[1]["raw"]["items"][:2] == thinking
    assert sent()[1]["messages"][1]["content"][:2] == thinking


# --- usage ------------------------------------------------------------------------------------------


def test_the_same_hundred_tokens_with_eighty_from_a_cache_are_the_same_for_all(kit, run):
    came = run(kit.body("North.", read=100, cached=80, written=7))
    assert came.history[-1]["usage"] == {"input_tokens": 100, "cached_tokens": 80, "output_tokens": 7}
    assert (came.usage.input_tokens, came.usage.output_tokens, came.usage.estimated) == (100, 7, False)


@anthropic_alone
def test_tokens_that_were_put_into_a_cache_were_read_too(kit, run):
    came = run(kit.body("North.", read=100, cached=30, kept=50))
    assert came.history[-1]["usage"] == {
        "input_tokens": 100,
        "cached_tokens": 30,
        "cache_write_tokens": 50,
        "output_tokens": 7,
    }


def test_usage_is_added_up_over_the_calls(kit, run):
    came = run(kit.body(None, [north(kit)], read=60, cached=0), kit.body("140.", read=90, cached=60))
    assert (came.usage.input_tokens, came.usage.output_tokens) == (150, 14)


@pytest.mark.parametrize("usage", [None, {}, [], "many", {"prompt_tokens": "9"}, {"input_tokens": -1}])
def test_without_a_usage_that_can_be_read_tokens_are_estimated(kit, run, usage):
    came = run(kit.body("North.") | {"usage": usage})
    assert (came.stopped, came.usage.estimated) == ("answered", True)
    assert "usage" not in came.history[-1]


@openai_alone
@pytest.mark.parametrize("details", [None, {}, {"cached_tokens": None}])
def test_a_server_that_says_nothing_of_a_cache_gives_no_cached_tokens(kit, run, details):
    body = kit.body("North.")
    name = "input_tokens_details" if kit.name == "responses" else "prompt_tokens_details"
    body["usage"][name] = details
    assert run(body).history[-1]["usage"] == {"input_tokens": 100, "output_tokens": 7}


@pytest.mark.parametrize("kit", KITS.values(), ids=KITS)
def test_counts_that_cannot_be_are_not_passed_on(kit):
    assert "usage" not in kit.module.reply_from(kit.body("North.", read=-100))
    assert "usage" not in kit.module.reply_from(kit.body("North.", written=-1))


def test_no_more_comes_from_a_cache_than_was_read():
    usage = OPENAI.module.reply_from(OPENAI.body("North.", read=100, cached=120))["usage"]
    assert (usage["input_tokens"], usage["cached_tokens"]) == (100, 100)


# --- what is sent -----------------------------------------------------------------------------------


def test_tools_system_text_and_settings_go_with_each_request_and_nothing_is_streamed(kit, run, sent):
    run(kit.body(None, [north(kit)]), kit.body("140."), system="Be brief.", **kit.settings)
    for body in sent():
        assert body["model"] == "test-model"
        assert not body.get("stream")
        system, described, parameters = kit.sent(body)
        assert system == "Be brief."
        assert {name: body[name] for name in kit.settings_sent} == kit.settings_sent
        assert described["name"] == "stock_level"
        assert described["description"] == 'Count the blue mugs in one warehouse, "north" or "south".'
        schema = described[parameters]
        assert (schema["type"], schema["required"]) == ("object", ["warehouse"])
        assert schema["properties"]["warehouse"]["type"] == "string"


def test_without_tools_none_are_offered(kit, run, sent):
    assert run(kit.body("Hello."), tools={}).answer == "Hello."
    assert "tools" not in sent()[0]


def test_a_tool_without_a_signature_is_offered_with_an_object_of_any_arguments(kit):
    (offer,) = kit.module.tools_from({"most": max})
    schema = offer.get("input_schema") or offer.get("parameters") or offer["function"]["parameters"]
    assert schema == {"type": "object", "properties": {}, "additionalProperties": True}


def test_retries_are_the_clients_own(kit, server, address, say):
    client = kit.module.client(base_url=address + kit.base, max_retries=1)
    server.expect_ordered_request(kit.path).respond_with_json({}, status=503, headers={"retry-after-ms": "1"})
    say(kit.body("North."))
    run = run_agent(kit.module.model(client, "test-model", {}), {}, "Goal")
    assert (run.answer, run.steps, len(server.log)) == ("North.", 1, 2)


def test_each_call_reads_the_whole_history_and_writes_nothing_into_it(kit, run, sent):
    came = run(kit.body(None, [north(kit)]), kit.body(None, [south(kit)]), kit.body("North."))
    first, second, third = map(kit.history, sent())
    assert [len(first), len(second), len(third)] == [1, 3, 5]
    assert third[:3] == second
    assert came.coins == 9


# --- without a client -------------------------------------------------------------------------------


@pytest.mark.parametrize("kit", KITS.values(), ids=KITS)
def test_a_recorded_body_is_read_with_no_client_at_hand(kit):
    body = kit.body("I look.", [north(kit)], read=100, cached=80)
    usage = {"input_tokens": 100, "cached_tokens": 80, "output_tokens": 7}
    raw = {"api": kit.api, "items": kit.items(body)}
    assert kit.module.reply_from(body) == {**NORTH_ASKED, "text": "I look.", "usage": usage, "raw": raw}
    with pytest.raises(ProviderError, match="holds no reply"):
        kit.module.reply_from({})
