"""What the loop tells a model beside the history: whether tools are on offer, how much time is left."""

import random

import pytest

from agentlib import answer, ask, run_agent, stops
from agentlib.memory import WindowedModel
from agentlib.messages import ModelRequest
from agentlib.models import NoisyModel, RecordingModel
from agentlib.trace import Event
from agentlib.watch import watch


class Asked:
    """A model that keeps what it is told, and asks for a tool as long as one is on offer."""

    def __init__(self):
        self.requests = []

    def __call__(self, history):
        raise AssertionError("the loop uses the method `call` where there is one")

    def call(self, history, request):
        self.requests.append(request)
        return ask("look", n=len(history)) if request.offer_tools else answer("Done.")


TOOLS = {"look": lambda n: n}


def test_a_model_with_a_method_call_is_told_that_a_closing_call_offers_no_tools():
    model = Asked()
    run = run_agent(model, TOOLS, "Goal", 2, closing_call=True)
    assert [request.offer_tools for request in model.requests] == [True, True, False]
    assert (run.answer, run.closing, run.stopped) == ("Done.", True, "step limit")


def test_a_model_without_one_is_called_with_the_history_alone():
    assert run_agent(lambda history: answer(str(len(history))), {}, "Goal").answer == "1"


def test_a_model_is_told_how_much_time_is_left_until_the_deadline():
    model, now = Asked(), iter(range(100))
    run_agent(
        model, TOOLS, "Goal", 2, stops=[stops.Deadline(60), stops.Deadline(90)], clock=lambda: next(now)
    )
    first, second = (request.seconds_left for request in model.requests)
    assert first > second > 0
    assert first < 60


def test_without_a_deadline_no_time_is_named():
    model = Asked()
    run_agent(model, TOOLS, "Goal", 1)
    assert model.requests[0].seconds_left is None


def test_what_a_model_notes_stands_in_the_trace_and_is_shown():
    class Noting:
        def __call__(self, history):
            return answer("Done.")

        def call(self, history, request):
            request.note(Event("note", 1, {"role": "user", "text": "The first attempt was refused."}))
            return self(history)

    shown = []
    run = run_agent(Noting(), {}, "Goal", on_event=shown.append)
    assert [event.kind for event in run.trace] == ["start", "ask", "note", "reply", "stop"]
    assert shown == list(run.trace.events)


def test_a_watched_model_is_told_the_same():
    model = Asked()
    trace = watch(run_agent, model, TOOLS, "Goal", max_steps=1, closing_call=True)
    assert [request.offer_tools for request in model.requests] == [True, False]
    assert (trace.steps, trace.answer) == (2, "Done.")


WRAPPERS = {
    "recording": RecordingModel,
    "noisy": lambda model: NoisyModel([model], random.Random(1)),
    "windowed": lambda model: WindowedModel(model, 1_000),
    "two of them": lambda model: RecordingModel(WindowedModel(model, 1_000)),
}


@pytest.mark.parametrize("name", WRAPPERS)
def test_a_model_that_asks_another_passes_on_what_it_is_told(name):
    model = Asked()
    wrapped = WRAPPERS[name](model)
    assert run_agent(wrapped, TOOLS, "Goal", 1, closing_call=True).answer == "Done."
    assert [request.offer_tools for request in model.requests] == [True, False]
    assert wrapped([])["type"] == "tool"  # called by hand, with the history alone
    assert model.requests[-1] == ModelRequest()
