"""A history may hold message objects: a record shows each as it was, not as it has become.

Known bugs of this kind: langsmith-sdk 706, flow-storm 192, pflow 413.
"""

import dataclasses
import enum
import types

import pydantic
import pytest

from agentlib import Trace, answer, ask
from agentlib.models import ScriptedModel
from agentlib.watch import watch


@dataclasses.dataclass
class Message:
    role: str
    text: str


@dataclasses.dataclass(slots=True)
class Slotted:
    role: str
    text: str


@dataclasses.dataclass(frozen=True)
class Frozen:
    role: str
    text: str


class Model(pydantic.BaseModel):
    role: str
    text: str


class OpenModel(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    role: str


class Plain:
    def __init__(self, role, text):
        self.role, self.text = role, text
        self._client = object()


def rewrites(change):
    """A loop whose first message is changed in place between two calls."""

    def run(model, tools, goal):
        history = [change.make(goal)]
        model(history)
        change(history)
        return model(history)["text"]

    return run


def read_by(run_agent):
    trace = watch(run_agent, ScriptedModel([ask("look"), answer("end")]), {"look": lambda: 1}, "Goal")
    assert trace.stopped == "returned", trace.detail
    return trace.histories()


MAKERS = {
    "a dataclass": lambda text: Message("user", text),
    "one with slots": lambda text: Slotted("user", text),
    "a pydantic model": lambda text: Model(role="user", text=text),
    "one with fields of its own": lambda text: OpenModel(role="user", text=text),
    "an object": lambda text: Plain("user", text),
    "a namespace": lambda text: types.SimpleNamespace(role="user", text=text),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("where", ["itself", "in a dict", "in a list in a dict", "in another object"])
@pytest.mark.parametrize("entries", [1, 150])
def test_what_the_model_read_stays_as_it_was(make, where, entries):
    around = {
        "itself": (lambda one: one, lambda entry: entry),
        "in a dict": (lambda one: {"message": one}, lambda entry: entry["message"]),
        "in a list in a dict": (lambda one: {"parts": [one]}, lambda entry: entry["parts"][0]),
        "in another object": (lambda one: Plain("outer", one), lambda entry: entry.text),
    }
    put, get = around[where]

    def run(model, tools, goal):
        history = [put(make(goal)) for _ in range(entries)]
        model(history)
        get(history[-1]).text = "changed"
        return model(history)["text"]

    def shown(entry):
        return {
            "itself": entry,
            "in another object": entry["text"] if where == "in another object" else None,
        }.get(where, entry["message"] if "message" in entry else entry.get("parts", [None])[0])

    first, second = read_by(run)
    assert [shown(history[-1]) for history in (first, second)] == [
        {"role": "user", "text": "Goal"},
        {"role": "user", "text": "changed"},
    ]
    assert first[:-1] == second[:-1]


def test_a_change_is_seen_at_its_line():
    def run(model, tools, goal):
        history = [Message("user", goal)]
        model(history)
        history[0].text = "changed"
        later = 1
        return later

    trace = watch(run, ScriptedModel([answer("x")]), {}, "Goal")
    lines = trace.about["source"].splitlines()
    changes = [number for number, event in enumerate(trace) if event.kind == "history"]
    line = trace.events[changes[-1] - 1].line
    assert "changed" in lines[line - trace.about["first_line"]]


def test_a_message_that_is_replaced_by_an_equal_one_is_no_change():
    def run(model, tools, goal):
        history = [Frozen("user", goal)]
        model(history)
        history[0] = Frozen("user", goal)
        model(history)

    trace = watch(run, ScriptedModel([ask("look"), answer("end")]), {}, "Goal")
    assert sum(event.kind == "history" for event in trace) == 1


def test_a_reply_that_is_an_object_is_recorded_as_what_it_holds():
    class Reply(pydantic.BaseModel):
        type: str = "answer"
        text: str = "140"

    def run(model, tools, goal):
        reply = model([{"role": "user", "text": goal}])
        reply.text = "changed"
        return reply.text

    trace = watch(run, lambda history: Reply(), {}, "Goal")
    assert trace.replies() == [{"type": "answer", "text": "140"}]


def test_objects_that_hold_one_another_are_recorded(tmp_path):
    def run(model, tools, goal):
        one, other = Plain("user", goal), Plain("model", "x")
        one.next, other.next = other, one
        history = [one, other]
        model(history)
        other.text = "changed"
        model(history)

    first, second = read_by(run)
    assert (first[1]["text"], second[1]["text"]) == ("x", "changed")
    assert first[0]["next"]["role"] == "model"


def test_a_message_that_knows_its_whole_talk_does_not_hold_it_again_and_again():
    class Talk:
        def __init__(self):
            self.messages = []

    class Part(Plain):
        def __init__(self, talk, text):
            super().__init__("user", text)
            self.talk = talk

    def run(model, tools, goal, max_steps):
        talk = Talk()
        for number in range(max_steps):
            talk.messages.append(Part(talk, f"{goal} {number}"))
            model(talk.messages)

    def size(steps):
        trace = watch(run, lambda history: answer("x"), {}, "Goal", max_steps=steps)
        assert [len(history) for history in trace.histories()] == list(range(1, steps + 1))
        return len(repr(trace.events))

    assert size(100) < 2.5 * size(50)


class Odd:
    """Its names are no names, and its dict is none of Python's."""

    def __init__(self):
        vars(self).update({1: 2, "": 3, "text": "x"})


class Hides:
    __slots__ = ("text",)

    @property
    def __dict__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize("make", [Odd, Hides, lambda: type("Late", (), {"__slots__": ("text", "more")})()])
def test_no_object_stops_the_recording(make):
    def run(model, tools, goal):
        one = make()
        history = [one]
        model(history)
        one.text = "changed"
        model(history)

    first, second = read_by(run)
    assert second[0]["text"] == "changed" != first[0]


class Kind(enum.Enum):
    USER = "user"


def test_what_has_a_plain_form_of_its_own_keeps_it(tmp_path):
    def run(model, tools, goal):
        model([{"role": Kind.USER, "text": goal, "kind": Message, "empty": object()}])

    trace = watch(run, ScriptedModel([answer("x")]), {}, "Goal")
    entry = trace.histories()[0][0]
    assert entry == {"role": "user", "text": "Goal", "kind": "<type>", "empty": "<object>"}
    assert Trace.load(trace.save(tmp_path / "run.jsonl")) == trace
