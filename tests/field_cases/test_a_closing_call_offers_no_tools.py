"""A closing call offers no tools, whoever the provider is (haystack 10001, prism 385, thane-ai-agent 74)."""

from types import SimpleNamespace

import pytest

from agentlib import run_agent
from agentlib.models import RecordingModel
from agentlib.providers import anthropic, openai
from agentlib.watch import watch
from tests.providers.kits import KITS


def look(n: int = 0) -> int:
    """Look."""
    return n


def client_of(kit):
    """A client of any of the three APIs that always asks for the tool, and the list of what was sent."""
    sent = []

    def create(**request):
        sent.append(request)
        return kit.body(None, [(f"c{len(sent)}", "look", kit.raw_input({"n": len(sent)}))])

    api = SimpleNamespace(create=create)
    return SimpleNamespace(chat=SimpleNamespace(completions=api), responses=api, messages=api), sent


def offers(request):
    return bool(request.get("tools")) and request.get("tool_choice") != {"type": "none"}


WAYS = {
    "the loop": lambda model: run_agent(model, [look], "Goal", 2, closing_call=True),
    "a recording": lambda model: run_agent(RecordingModel(model), [look], "Goal", 2, closing_call=True),
    "watched": lambda model: watch(run_agent, model, [look], "Goal", max_steps=2, closing_call=True),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", KITS)
def test_two_calls_offer_the_tool_and_the_closing_call_none(name, way):
    client, sent = client_of(KITS[name])
    WAYS[way](KITS[name].module.model(client, "m", [look]))
    assert [offers(request) for request in sent] == [True, True, False]


@pytest.mark.parametrize("name", ["openai", "responses"])
def test_what_speaks_of_tools_goes_with_them(name):
    """The provider refuses a word about tools where there are none."""
    client, sent = client_of(KITS[name])
    words = {"tool_choice": "required", "parallel_tool_calls": False, "temperature": 0}
    WAYS["the loop"](KITS[name].module.model(client, "m", [look], **words))
    assert {**sent[0], **words} == sent[0]
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & set(sent[2])
    assert sent[2]["temperature"] == 0


def test_where_the_history_holds_requests_the_tools_are_named_and_forbidden():
    """Anthropic's API refuses a history with requests in a call without tools."""
    client, sent = client_of(KITS["anthropic"])
    WAYS["the loop"](anthropic.model(client, "m", [look], tool_choice={"type": "any"}))
    assert sent[0]["tool_choice"] == {"type": "any"}
    assert (sent[2]["tools"], sent[2]["tool_choice"]) == (sent[0]["tools"], {"type": "none"})


@pytest.mark.parametrize("name", KITS)
def test_a_model_without_tools_says_nothing_of_them_in_a_closing_call(name):
    client, sent = client_of(KITS[name])
    run_agent(KITS[name].module.model(client, "m", []), [look], "Goal", 1, closing_call=True)
    assert not any({"tools", "tool_choice"} & set(request) for request in sent)


def test_a_request_in_a_closing_call_is_not_run():
    client, _ = client_of(KITS["openai"])
    run = run_agent(openai.model(client, "m", [look]), [look], "Goal", 2, closing_call=True)
    assert (run.stopped, run.answer, run.tool_runs) == ("step limit", None, 2)
    assert run.history[-1]["result"]["error"] == "not_run"
