"""As the provider sees it: the exact request of each step, what is new in it, what a cache would read."""

import json
from types import SimpleNamespace

import pytest

from agentlib import ScriptedModel, Trace, answer, ask, run_agent
from agentlib.labs import blue_mugs
from agentlib.providers import anthropic, openai
from agentlib.views import tracer
from agentlib.views.tracer.timeline import timeline
from agentlib.views.tracer.wire import MAX_WIRE_STEPS, request_places, wire, wire_table
from agentlib.watch import watch


def sent(shape, step):
    """The messages of one request, put together again."""
    return [json.loads(shape["items"][number]) for number in request_places(shape["steps"][step - 1])]


class Recorder:
    """A client of both providers that keeps what it is sent and gives the bodies of a script."""

    def __init__(self, bodies):
        self.bodies = list(bodies)
        self.requests = []
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=self.create))
        self.messages = SimpleNamespace(create=self.create)

    def create(self, **request):
        self.requests.append(json.loads(json.dumps(request)))
        return self.bodies[len(self.requests) - 1]


def openai_body(text=None, **call):
    calls = [{"id": "a1", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
             for name, given in call.items()]  # fmt: skip
    message = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
    return {"choices": [{"message": message, "finish_reason": "tool_calls" if calls else "stop"}]}


def anthropic_body(text=None, **call):
    blocks = [{"type": "text", "text": text}] if text else []
    blocks += [{"type": "tool_use", "id": "a1", "name": name, "input": given} for name, given in call.items()]
    return {"content": blocks, "stop_reason": "tool_use" if call else "end_turn"}


@pytest.mark.parametrize(
    ("module", "body", "place"), [(openai, openai_body, 0), (anthropic, anthropic_body, 1)]
)
def test_each_request_is_the_one_that_the_client_got(module, body, place):
    north, south = ({"stock_level": {"warehouse": name}} for name in ("north", "south"))
    client = Recorder([body(**north), body("Now the other.", **south), body("North.")])
    model = module.model(client, "some-model", blue_mugs.TOOLS)
    run = run_agent(model, blue_mugs.TOOLS, blue_mugs.GOAL)
    assert run.answer == "North."
    shape = wire(run.trace)[place]
    for step, request in enumerate(client.requests, start=1):
        head = {**json.loads(shape["head"]), "model": "some-model"}
        assert {**head, shape["field"]: sent(shape, step)} == request


def test_a_growing_history_is_cached_up_to_what_is_new():
    shape = wire(run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL).trace)[0]
    assert [step["cached"] for step in shape["steps"]] == [0, 1, 3, 5]
    assert [step["new"] for step in shape["steps"]] == [[0], [1, 2], [3, 4], [5, 6]]
    assert [step["parts"] for step in shape["steps"]] == [[[0, 1]], [[0, 3]], [[0, 5]], [[0, 7]]]


def growing(steps):
    number = iter(range(steps + 1))
    return lambda history: ask("look", place=next(number))


def look(place: int) -> str:
    """Look at a place."""
    return f"nothing at {place}"


def test_what_memory_rewrites_is_read_anew_and_never_called_cached():
    memory = lambda history: [history[0], *history[-4:]] if len(history) > 4 else history  # noqa: E731
    run = run_agent(growing(6), {"look": look}, "Goal", 6, memory=memory)
    for shape in wire(run.trace):
        for step, history in enumerate(run.trace.histories(), start=1):
            module = openai if shape["name"].startswith("OpenAI") else anthropic
            assert sent(shape, step) == json.loads(json.dumps(module.messages_from(history)))
        last = shape["steps"][-1]
        before = sent(shape, 5)
        for place, message in enumerate(sent(shape, 6)):
            assert (place in last["new"]) == (message not in before)
            if place < last["cached"]:
                assert message == before[place]
        assert last["cached"] < len(sent(shape, 6)) - len(last["new"])  # some were sent before, elsewhere


def test_a_closing_call_says_that_no_tools_are_offered_and_reads_no_cache():
    run = run_agent(growing(3), {"look": look}, "Goal", 2, closing_call=True)
    for shape in wire(run.trace):
        assert [step.get("no_tools", False) for step in shape["steps"]] == [False, False, True]
        assert shape["steps"][2]["cached"] == 0
        # The loop's note is a message of its own for one, and stands behind the result for the other.
        assert len(shape["steps"][2]["new"]) == (3 if shape["name"].startswith("OpenAI") else 2)


def test_a_trace_of_run_agent_knows_its_tools_also_when_loaded(tmp_path):
    run = run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL)
    loaded = Trace.load(run.trace.save(tmp_path / "run.jsonl"))
    assert wire(loaded) == wire(run.trace)
    assert json.loads(wire(loaded)[0]["head"])["tools"] == openai.tools_from(blue_mugs.TOOLS)


def hand_written(model, tools, goal, max_steps=5):
    history = [{"role": "user", "text": goal}]
    for _ in range(max_steps):
        reply = model(history)
        if reply["type"] == "answer":
            return reply["text"]
        history.append(reply)
        history.append({"role": "tool", "result": tools[reply["tool"]](**reply["input"])})


def test_a_watched_loop_says_what_its_trace_does_not_know_until_it_is_given_the_tools():
    trace = watch(hand_written, ScriptedModel([ask("look", place=1), answer("no")]), {"look": look}, "Goal")
    unknown, known = wire(trace)[0], wire(trace, {"look": look})[0]
    assert "keeps the tool's name alone" in unknown["head"]
    assert "Look at a place." in known["head"]
    assert unknown["items"] == known["items"]


def test_the_live_player_knows_the_tools_of_its_loop():
    shown = tracer(hand_written, lambda: ScriptedModel([answer("no")]), {"look": look}, "Goal", 3)
    assert "Look at a place." in shown.live.player.timelines[0]["wire"][1]["head"]


@pytest.mark.parametrize("entry", ["text", None, ["a list"], 7])
def test_a_history_that_no_provider_takes_is_said_and_the_rest_is_shown(entry):
    def odd(model, tools, goal):
        model([{"role": "user", "text": goal}])
        model([{"role": "user", "text": goal}, entry])
        model([{"role": "user", "text": goal}])

    trace = watch(odd, lambda history: answer("x"), {}, "Goal")
    for shape in wire(trace):
        assert "entry 2 is" in shape["steps"][1]["problem"]
        assert len(sent(shape, 3)) == 1
    assert "No provider takes this history" in wire_table(trace).text


def test_each_distinct_message_stands_there_once_so_that_it_grows_with_the_run():
    def chars(steps):
        return len(json.dumps(wire(run_agent(growing(steps), {"look": look}, "Goal", steps).trace)))

    small, large = chars(10), chars(40)
    assert large < 4.6 * small


def test_a_run_has_its_requests_in_the_timeline_up_to_a_bound():
    for steps, there in ((MAX_WIRE_STEPS, True), (MAX_WIRE_STEPS + 1, False)):
        trace = run_agent(growing(steps), {"look": look}, "Goal", steps).trace
        assert ("wire" in timeline(trace)) is there
    assert "wire" not in timeline(watch(lambda model, tools, goal: None, look, {}, "Goal"))


def test_tools_that_a_provider_refuses_leave_the_switch_out():
    trace = run_agent(ScriptedModel([answer("x")]), {"ein Name": look}, "Goal").trace
    assert "wire" not in timeline(trace)
    with pytest.raises(ValueError, match="ein Name"):
        wire(trace)


def test_a_very_long_message_is_cut_and_its_size_is_said():
    trace = run_agent(ScriptedModel([answer("x")]), {}, "word " * 2_000).trace
    shape = wire(trace)[0]
    assert shape["items"][0].endswith("characters in all)")
    assert shape["chars"][0] > 10_000


def test_the_static_form_says_the_same_in_words():
    text = wire_table(run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL).trace).text
    assert text.count("As OpenAI Chat Completions gets it: 4 requests") == 1
    assert text.count("As Anthropic Messages gets it: 4 requests") == 1
    assert text.count(" cached ") == 2 * (1 + 3 + 5)
    assert text.count(" new ") == 2 * 7
