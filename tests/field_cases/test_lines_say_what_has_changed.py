"""Each line of a record says in short forms which variables have changed since the line before."""

# The loops stand here as learners write them.
# ruff: noqa: B007, F841

import dataclasses
import datetime
import decimal
import enum
import json
import sys
import time
from collections import OrderedDict, deque
from pathlib import PurePosixPath

import pytest

from agentlib import Trace, answer, ask
from agentlib.models import LoopingModel, ScriptedModel
from agentlib.trace import Event, compare
from agentlib.watch import watch
from agentlib.watch.values import short_form
from tests.odd_values import nested

GOAL = "How many?"
SHOWS_ALL = sys.version_info >= (3, 12)


def loop(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        history.append({"role": "model", **reply})
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        result = tools[reply["tool"]](**reply["input"])
        history.append({"role": "tool", "result": result})


def watched(run_agent, *replies, **tools):
    script = ScriptedModel(replies or [ask("look"), answer("140")])
    return watch(run_agent, script, {"look": lambda: 140, **tools}, GOAL)


def told(trace):
    """What each line says is new, with its text."""
    source, first = trace.about["source"].splitlines(), trace.about["first_line"]
    return [
        (source[event.line - first].strip().split(" ")[0], event.variables)
        for event in trace
        if event.kind == "line"
    ]


def shown_at_the_end(trace):
    """What a reader has put together by the last line."""
    shown = {}
    for event in trace:
        shown.update(event.variables or {})
    return {name: text for name, text in shown.items() if text is not None}


def test_each_line_says_what_the_line_before_has_changed_and_nothing_else():
    assert told(watched(loop)) == [
        ("history", {"goal": "'How many?'", "max_steps": "10"}),
        ("for", None),
        ("reply", {"step": "1"}),
        ("history.append({\"role\":", {"reply": "{'type': 'tool', 'tool': 'look', 'input': {}}"}),
        ("if", None),
        ("result", None),
        ("history.append({\"role\":", {"result": "140"}),
        ("for", None),
        ("reply", {"step": "2"}),
        ("history.append({\"role\":", {"reply": "{'type': 'answer', 'text': '140'}"}),
        ("if", None),
        ("return", None),
    ]  # fmt: skip


def test_the_history_and_what_is_no_data_are_left_out():
    def many(model, tools, goal):
        math = sys

        def helper():
            return 1

        messages = [{"role": "system", "text": "Be brief."}, {"role": "user", "text": goal}]
        kind, both, made = dict, [helper, len], helper
        small = len(math.path[:0])
        model(messages)
        return small

    assert shown_at_the_end(watched(many)) == {"goal": "'How many?'", "small": "0"}


def test_a_change_inside_a_value_is_told_and_a_variable_that_goes_too():
    def changes(model, tools, goal):
        state = {"seen": [], "more": {"coins": 1}}
        state["seen"].append("north")
        state["more"]["coins"] += 4
        copied = state
        del state
        return copied

    changed = [variables for _, variables in told(watched(changes))]
    assert changed[1:] == [
        {"state": "{'seen': [], 'more': {'coins': 1}}"},
        {"state": "{'seen': ['north'], 'more': {'coins': 1}}"},
        {"state": "{'seen': ['north'], 'more': {'coins': 5}}"},
        {"copied": "{'seen': ['north'], 'more': {'coins': 5}}"},
        {"state": None},
    ]


def test_an_inner_call_shows_its_own_variables_and_the_outer_ones_come_back():
    def outer(model, tools, goal):
        def doubled(number):
            twice = number * 2
            return twice

        count = doubled(4)
        return count

    changed = [variables for _, variables in told(watched(outer))]
    if SHOWS_ALL:
        assert changed == [
            {"goal": "'How many?'"},
            None,
            {"number": "4", "goal": None},
            {"twice": "8"},
            {"goal": "'How many?'", "count": "8", "number": None, "twice": None},
        ]
    else:
        assert changed[2]["number"] == "4"


def test_each_call_of_a_recursion_shows_its_own():
    def down(model, tools, goal, depth=2):
        found = depth * 10
        return down(model, tools, goal, depth - 1) if depth else found

    changed = [variables for _, variables in told(watched(down))]
    assert [one.get("depth") for one in changed if one and "depth" in one] == ["2", "1", "0"]
    assert [one["found"] for one in changed if one and "found" in one] == ["20", None, "10", None, "0"]


def test_an_object_shows_its_attributes_as_self():
    class Agent:
        def __init__(self):
            self.coins = 0

        def run(self, model, tools, goal):
            self.history = [{"role": "user", "text": goal}]
            self.coins += len(self.history)
            model(self.history)
            self.coins += len(self.history)
            return self.coins

    assert shown_at_the_end(watched(Agent().run)) == {"goal": "'How many?'", "self.coins": "2"}


def test_variables_that_cannot_be_looked_at_are_said_to_be_missing():
    def counts(model, tools, goal):
        count = 0

        def add():
            nonlocal count
            count += 1

        add()
        model([{"role": "user", "text": goal}])
        return count

    trace = watched(counts)
    if SHOWS_ALL:
        assert shown_at_the_end(trace)["count"] == "1"
        assert "remarks" not in trace.about
    else:
        assert shown_at_the_end(trace) == {}
        assert "The variables of counts are not shown: " in trace.about["remarks"]


def test_variables_do_not_count_when_records_are_compared(tmp_path):
    trace = watched(loop)
    loaded = Trace.load(trace.save(tmp_path / "run.jsonl"))
    assert [event.variables for event in loaded] == [event.variables for event in trace]
    bare = Trace(tuple(event._replace(variables=None) for event in trace), trace.about)
    assert (bare == trace, compare(bare, trace)) == (True, [])
    assert Event("line", 1, line=3, variables={"a": "1"}) == Event("line", 1, line=3)
    assert Event("line", 1, line=3) != Event("line", 1, line=4)
    assert "variables" not in Event("line", 1, line=3).as_dict()
    before = tmp_path / "before.jsonl"  # as it was saved before there were variables
    lines = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    before.write_text(
        "".join(json.dumps({k: v for k, v in one.items() if k != "variables"}) + "\n" for one in lines)
    )
    assert Trace.load(before) == trace


def test_after_many_lines_in_a_row_the_last_one_says_what_is_new():
    def counting(model, tools, goal):
        history = [{"role": "user", "text": goal}]
        for number in range(1_000):
            last = number
        history.append({"role": "user", "text": "done"})
        return last

    trace = watched(counting)
    assert shown_at_the_end(trace) == {"goal": "'How many?'", "number": "999", "last": "999"}
    assert len([event for event in trace if event.kind == "line"]) < 210


# --- short forms --------------------------------------------------------------------------------------


class Raises:
    def __repr__(self):
        raise RuntimeError("no")

    __str__ = __len__ = __iter__ = __bool__ = __repr__

    def __getattr__(self, name):
        raise RuntimeError("no")


class Color(enum.Enum):
    RED = 1


@dataclasses.dataclass
class Point:
    x: int
    y: object = None

    def __repr__(self):
        raise RuntimeError("no")


class Words(str):
    __slots__ = ()

    def __len__(self):
        raise RuntimeError("no")


def cycle():
    value = {"name": "a"}
    value["self"] = [value]
    return value


def object_cycle():
    point = Point(1)
    point.y = point
    return point


SHORT_FORMS = {
    "None": (lambda: None, "None"),
    "a number": (lambda: 16.5, "16.5"),
    "a text": (lambda: "it's", '"it\'s"'),
    "10 MB of text": (lambda: "x" * 10_000_000, f"'{'x' * 40}...' (10,000,000 characters)"),
    "10 MB in a dict": (
        lambda: {"text": "y" * 10_000_000},
        f"{{'text': '{'y' * 30}...' (10,000,000 characters)}}",
    ),
    "bytes": (lambda: b"z" * 1_000, f"b'{'z' * 40}...' (1,000 bytes)"),
    "a long list": (lambda: list(range(1_000_000)), " ...] (1,000,000 items)"),
    "a large dict": (lambda: {n: n for n in range(100_000)}, " ...} (100,000 items)"),
    "a large set": (lambda: set(range(100_000)), "<set, 100,000 items>"),
    "a set": (lambda: {"b", "a"}, "{'a', 'b'}"),
    "no set": (set, "set()"),
    "a pair": (lambda: (1, "a"), "(1, 'a')"),
    "one in a tuple": (lambda: (1,), "(1,)"),
    "a deque": (lambda: deque([1, 2]), "deque([1, 2])"),
    "an ordered dict": (lambda: OrderedDict(a=1), "{'a': 1}"),
    "a very large number": (lambda: 10**5000, "<whole number of 16,610 bits>"),
    "an enum": (lambda: Color.RED, "Color.RED"),
    "a date": (lambda: datetime.date(2026, 1, 2), "datetime.date(2026, 1, 2)"),
    "a decimal": (lambda: decimal.Decimal("1.50"), "Decimal('1.50')"),
    "a path": (lambda: PurePosixPath("/a/b"), "PurePosixPath('/a/b')"),
    "an error": (lambda: ValueError("north", 3), "ValueError('north', 3)"),
    "a dataclass": (lambda: Point(1, "a"), "Point(x=1, y='a')"),
    "what raises": (Raises, "<Raises>"),
    "one in a list": (lambda: [Raises(), 1], "[<Raises>, 1]"),
    "text that raises": (lambda: Words("abc"), "'abc'"),
    "a cycle": (cycle, "{'name': 'a', 'self': [<the same dict again>]}"),
    "an object in itself": (object_cycle, "Point(x=1, y=<the same Point again>)"),
    "very deep": (lambda: nested(5_000), "[[[[[[<list>]]]]]]"),
    "a generator": (lambda: (n for n in iter(int, 1)), "<generator>"),
    "a view of a dict": (lambda: {1: Raises()}.values(), "<dict_values, 1 items>"),
    "half a character": (lambda: "\ud800", "'\\ud800'"),
}


@pytest.mark.parametrize(("make", "expected"), SHORT_FORMS.values(), ids=SHORT_FORMS)
def test_any_value_has_a_short_form_with_its_size(make, expected):
    text = short_form(make())
    assert text.endswith(expected) if expected.startswith(" ...") else text == expected
    assert len(text) <= 170
    json.dumps(text, ensure_ascii=False).encode()


@pytest.mark.parametrize("make", [make for make, _ in SHORT_FORMS.values()], ids=SHORT_FORMS)
def test_no_value_in_a_variable_stops_or_slows_the_recording(make, tmp_path):
    value = make()

    def holds(model, tools, goal):
        held = value
        number = 0
        for number in range(50):
            other = [held]
        model([{"role": "user", "text": goal}])
        return number

    started = time.process_time()
    trace = watched(holds)
    assert time.process_time() - started < 2  # some milliseconds on a quiet machine
    assert trace.stopped == "returned"
    assert {"held", "other"} <= shown_at_the_end(trace).keys()
    assert Trace.load(trace.save(tmp_path / "run.jsonl")) == trace


def test_a_record_with_variables_grows_with_the_steps_and_not_with_their_square(tmp_path):
    def size(steps):
        trace = watch(loop, LoopingModel("look"), {"look": lambda: 140}, GOAL, max_steps=steps)
        return trace.save(tmp_path / "run.jsonl").stat().st_size

    assert size(400) < 4.2 * size(100)
