"""Twelve situations, each with every kind of model: what came goes back as it came, and nothing half is run.

A situation tells the model what to say first; then comes an answer. A scripted model has no provider, so that
for an unknown reason it raises what a provider's module would.
"""

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from agentlib import answer, replay, run_agent
from agentlib.errors import ProviderError
from agentlib.messages import calls_in
from agentlib.models import ScriptedModel
from agentlib.providers import local
from tests.invariants import assert_sound
from tests.providers.conftest import need
from tests.providers.kits import KITS

SIGNED = "c2lnbmF0dXJl" * 20


# --- the models -----------------------------------------------------------------------------------------


class Server:
    """A model over HTTP: the provider's official client, and a server that says what a test has prepared."""

    def __init__(self, kit, request):
        need(kit.package)
        self.kit, self.server = kit, request.getfixturevalue("server")
        self.address = self.server.url_for("")

    def body(self, text, calls=(), ends="", **how):
        made = [(id, tool, self.kit.raw_input(given)) for id, tool, given in calls]
        return self.kit.body(text, made, ends, **how)

    def model(self, tools, *bodies):
        for body in bodies:
            status = 500 if body is FAILURE else 200
            sent = self.kit.failure("no room") if body is FAILURE else body
            self.server.expect_ordered_request(self.kit.path).respond_with_json(sent, status=status)
        return self.kit.model(self.address, tools)

    def sent(self):
        return [request.get_json() for request, _ in self.server.log]

    def came(self, body):
        """What of a body goes back, as the request holds it."""
        return self.kit.items(body)

    def went_back(self, request, count):
        """The model's first turn in a request."""
        history = self.kit.history(request)
        if self.kit.name == "anthropic":
            return history[1]["content"]
        return history[1 : 1 + count]

    def offers_tools(self, request):
        none = request.get("tool_choice") in ("none", {"type": "none"})
        return bool(request.get("tools")) and not none


class Local:
    """The local model's module, with a client that says what a test has prepared."""

    def __init__(self, request):
        self.requests = []

    def body(self, text, calls=(), ends="", read=100, written=7):
        if calls:
            reply = {"type": "tool", "tool": calls[0][1], "input": calls[0][2]}
        else:
            reply = {"type": "answer", "text": text or ""}
        content = json.dumps(reply)
        finish = "length" if ends == "limit" else ends or "stop"
        message = {"role": "assistant", "content": content[:-3] if ends == "limit" else content}
        usage = {"prompt_tokens": read, "completion_tokens": written}
        return {"choices": [{"finish_reason": finish, "message": message}], "usage": usage}

    def model(self, tools, *bodies):
        bodies = list(bodies)

        def handle_chat_completions(request):
            self.requests.append(json.loads(json.dumps(request)))
            body = bodies.pop(0)
            if body is FAILURE:
                raise RuntimeError("no room")
            return copy.deepcopy(body)

        client = SimpleNamespace(handle_chat_completions=handle_chat_completions)
        return local.model(client, local.MODEL, tools)

    def sent(self):
        return self.requests

    def came(self, body):
        return [body["choices"][0]["message"]]

    def went_back(self, request, count):
        return request["messages"][2 : 2 + count]

    def offers_tools(self, request):
        return '"const": "tool"' in json.dumps(request["response_format"])


class Scripted:
    """A model of a script: what goes back is the entry of the history, with whatever stood beside it."""

    def __init__(self, request):
        self.histories = []

    def body(self, text, calls=(), ends="", **how):
        made = [{"id": id, "tool": tool, "input": given} for id, tool, given in calls]
        usage = {"usage": {"input_tokens": 100, "output_tokens": 7}}
        if made and ends:
            made = [{**call, "problem": "the reply was cut off by the output limit"} for call in made]
        if len(made) == 1:
            return {"type": "tool", **made[0], "text": text or "", **usage}
        return (
            {"type": "tools", "calls": made, "text": text or "", **usage}
            if made
            else {**answer(text), **usage}
        )

    def model(self, tools, *bodies):
        script = ScriptedModel([body for body in bodies if body is not FAILURE])

        def model(history):
            self.histories.append(copy.deepcopy(history))
            body = bodies[len(self.histories) - 1]
            if body is FAILURE:
                raise ProviderError("scripted", "no room", 500)
            if "reason" in body:
                raise ProviderError("scripted", body["reason"], usage=body["usage"])
            return script(history)

        return model

    def sent(self):
        return self.histories

    def came(self, body):
        return [{"role": "model", **body}]

    def went_back(self, request, count):
        return request[1:2]

    def offers_tools(self, request):
        return "No more tools can be used" not in json.dumps(request)


FAILURE = "the call fails"
"""Stands for a call that fails."""

MODELS: dict[str, Callable[[pytest.FixtureRequest], Any]] = {
    "chat": lambda request: Server(KITS["openai"], request),
    "responses": lambda request: Server(KITS["responses"], request),
    "anthropic": lambda request: Server(KITS["anthropic"], request),
    "local": Local,
    "scripted": Scripted,
}


# --- the situations -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Expected:
    """What has to come of a situation: the run's reason, and how many tools ran. detail: words of the reason.

    back: the reply goes back with the next call. options: of the run.
    """

    stopped: str = "answered"
    tool_runs: int = 1
    detail: str = ""
    back: bool = True
    closing: bool = False


NORTH = ("id_1", "look", {"key": "north"})
SOUTH = ("id_2", "look", {"key": "south"})


def thinking(name, make):
    body = make.body("I look.", [NORTH])
    if name == "chat":
        body["choices"][0]["message"] |= {"reasoning_content": "Which one?", "reasoning_signature": SIGNED}
    elif name == "responses":
        first, second = (
            {"type": "reasoning", "id": f"rs_{n}", "summary": [], "encrypted_content": SIGNED} for n in "12"
        )
        body["output"] = [first, body["output"][0], second, body["output"][1]]
    elif name == "anthropic":
        first, second = (
            {"type": "thinking", "thinking": words, "signature": SIGNED + words} for words in ("a", "b")
        )
        body["content"] = [
            first,
            body["content"][0],
            second,
            {"type": "redacted_thinking", "data": "eA=="},
            body["content"][1],
        ]
    elif name == "local":
        body["choices"][0]["message"]["reasoning_content"] = "Which one?"
    else:
        body["thinking"] = [{"thinking": "Which one?", "signature": SIGNED}]
    return body


def several(name, make):
    return make.body("Both.", [NORTH] if name == "local" else [NORTH, SOUTH])


def unknown_field(name, make):
    """Fields that nobody knows, wherever they can stand: on the message, on a request, on a part of it."""
    body = make.body("I look.", [NORTH])
    new = {"provider_notes": {"deep": [1, {"x": None}]}, "also": None}
    if name == "chat":
        message = body["choices"][0]["message"]
        message |= new
        message["content"] = [{"type": "text", "text": "I look.", **new}]
        message["tool_calls"][0] |= {"index": 0, "extra_content": {"google": {"thought_signature": SIGNED}}}
        message["tool_calls"][0]["function"]["strange"] = True
    elif name == "responses":
        for item in body["output"]:
            item |= new
        body["output"][0]["content"][0] |= {"logprobs": [], **new}
        body["output"].insert(0, {"type": "a_future_item", "id": "x", **new})
    elif name == "anthropic":
        for block in body["content"]:
            block |= new
        body["content"].insert(1, {"type": "a_future_block", **new})
    elif name == "local":
        body["choices"][0]["message"] |= new
    else:
        body |= new
    return body


def huge(name, make):
    return make.body("x" * 300_000, [("id_1", "look", {"key": "north", "more": ["y" * 1_000] * 100})])


def null_arguments(name, make):
    body = make.body(None, [("id_1", "look", {})])
    if name == "chat":
        body["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = None
    elif name == "responses":
        body["output"][0]["arguments"] = "null"
    elif name == "anthropic":
        body["content"][0]["input"] = {}  # its client and its API know nothing else
    return body


def unknown_reason(name, make):
    body = make.body("I look.", [NORTH])
    if name == "chat":
        body["choices"][0]["finish_reason"] = "a_future_word"
    elif name == "responses":
        body["status"] = "a_future_word"
    elif name == "anthropic":
        body["stop_reason"] = "a_future_word"
    elif name == "local":
        body["choices"][0]["finish_reason"] = "a_future_word"
    else:
        body["reason"] = "a_future_word"
    return body


def refusal(name, make):
    words = "I will not look."
    if name in ("chat", "responses"):
        return make.body(None, refusal=words)
    return make.body(words, ends="filter" if name == "anthropic" else "")


SITUATIONS: dict[str, tuple[Callable[[str, Any], Any], Expected]] = {
    "thinking": (thinking, Expected()),
    "several calls": (several, Expected(tool_runs=2)),
    "empty": (lambda name, make: make.body(""), Expected(tool_runs=0, back=False)),
    "cut off": (lambda name, make: make.body("I", [NORTH], "limit"), Expected(tool_runs=0)),
    "refusal": (refusal, Expected(tool_runs=0, back=False)),
    "unknown reason": (unknown_reason, Expected("model error", 0, "a_future_word", back=False)),
    "unknown field": (unknown_field, Expected()),
    "huge": (huge, Expected()),
    "null arguments": (null_arguments, Expected()),
    "numbers with a point": (lambda name, make: make.body(None, [("id_1", "look", {"n": 3.0})]), Expected()),
    "closing call": (lambda name, make: make.body(None, [NORTH]), Expected("step limit", closing=True)),
    "error": (lambda name, make: FAILURE, Expected("model error", 0, "no room", back=False)),
}


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("name", MODELS)
def test_what_came_goes_back_as_it_came_and_nothing_half_is_run(name, situation, request):
    make, (say, expected) = MODELS[name](request), SITUATIONS[situation]
    ran = []

    def look(key: str = "", n: int = 0, more: list[str] | None = None) -> str:
        """Look something up."""
        ran.append((key, n))
        return f"seen {key}"

    body = say(name, make)
    model = make.model([look], copy.deepcopy(body), make.body("Done."))
    run = run_agent(model, [look], "Goal", 1 if expected.closing else 5, closing_call=expected.closing)
    assert_sound(run)
    sent = make.sent()

    filtered = situation == "refusal" and name == "anthropic"
    assert run.stopped == ("model error" if filtered else expected.stopped), run.stopped.detail
    wanted = 1 if (name, situation) == ("local", "several calls") else expected.tool_runs
    assert len(ran) == run.tool_runs == wanted
    assert expected.detail in run.stopped.detail
    if situation == "error":
        assert run.usage.input_tokens == 0
        return
    assert (run.usage.input_tokens, run.usage.output_tokens) == (100 * len(sent), 7 * len(sent))
    assert not run.usage.estimated
    if situation == "numbers with a point":
        assert ran == [("", 3)]
    if expected.back:
        came = make.came(body)
        if (name, situation) == ("chat", "null arguments"):
            came[0]["tool_calls"][0]["function"]["arguments"] = "{}"  # None is refused on the way back
        if (name, situation) == ("responses", "null arguments"):
            came[0]["arguments"] = "{}"
        if (name, situation) == ("chat", "cut off"):
            assert json.loads(came[0]["tool_calls"][0]["function"]["arguments"]) == {"key": "north"}
        assert make.went_back(sent[1], len(came)) == came
    if situation == "empty":
        assert len(sent) == 2
        assert "Your reply was empty" in json.dumps(sent[1])
    assert [make.offers_tools(one) for one in sent] == [True] * (len(sent) - expected.closing) + [
        False
    ] * expected.closing
    if name in KITS or name == "chat":
        kit = make.kit
        for history in run.trace.histories():
            kit.takes(kit.module.messages_from(history))
    assert not expected.back or calls_in(run.history[1])
    if situation == "unknown reason":
        assert replay(run.trace).usage == run.usage
        assert name in ("scripted", "local") or "I look." in run.stopped.detail
