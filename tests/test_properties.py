"""Whatever models, tools, rules and watchers do: a run ends, with a reason and a history in order.

`PROPERTY_EXAMPLES=2000 pytest tests/test_properties.py` looks further than the usual examples, and
at other ones each time.
"""

import os
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentlib import Trace, answer, ask, ask_together, compare, errors, run_agent, stops, tool
from agentlib.costs import Price
from agentlib.loop import replay as run_again
from agentlib.messages import is_error, json_ready, read_reply
from tests.invariants import assert_json_ready, assert_sound
from tests.odd_values import ODD_VALUES

MORE = os.environ.get("PROPERTY_EXAMPLES")


def examples(number: int) -> settings:
    return settings(
        max_examples=int(MORE or number),
        derandomize=MORE is None,  # the same examples at every run, so that a red test stays red
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


# --- what models give -------------------------------------------------------------------------------

TOOL_NAMES = ("look", "write", "wait")
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
json_values = st.recursive(
    scalars,
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(texts, inside, max_size=3),
    max_leaves=6,
)
# Two runs are compared below, so what is not the same at the second look is left to the last test.
odd_names = sorted(set(ODD_VALUES) - {"a dict that changes at each look"})
odd_values = st.sampled_from(odd_names).map(lambda name: ODD_VALUES[name]())
anything = st.one_of(json_values, odd_values)

names = st.sampled_from([*TOOL_NAMES, *TOOL_NAMES, "nobody", ""])
inputs = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"key": st.sampled_from(["a", "b", 1])}),
    st.dictionaries(texts, json_values, max_size=2),
)
usages = st.fixed_dictionaries({"input_tokens": st.integers(0, 500), "output_tokens": st.integers(0, 50)})


def with_extras(replies):
    extras = st.fixed_dictionaries(
        {}, optional={"usage": usages | anything, "text": texts, "id": texts, "closing": st.just(True)}
    )
    return st.builds(lambda reply, extra: {**reply, **extra}, replies, extras)


single = st.builds(lambda name, given: {"type": "tool", "tool": name, "input": given}, names, inputs)
batch = st.builds(
    lambda calls: {"type": "tools", "calls": calls},
    st.lists(
        st.fixed_dictionaries(
            {"tool": names, "input": inputs}, optional={"id": st.sampled_from(["1", "2", "", " ", 3])}
        ),
        max_size=4,
    ),
)
well_formed = with_extras(st.one_of(st.builds(answer, texts), single, batch))
KEYS = ["type", "tool", "calls", "text", "id", "input", "usage", "role", "closing", "result", "error"]
malformed = st.one_of(
    anything,
    st.dictionaries(st.sampled_from(KEYS), anything, max_size=5),
    st.dictionaries(
        st.sampled_from(KEYS),
        st.sampled_from(["answer", "tool", "tools", "look", "empty", "invalid", [], [{}], {"a": 1}, None]),
        max_size=5,
    ),
)
replies = st.one_of(single, single, batch, well_formed, malformed)


class Odd(BaseException):
    """An exception outside of `Exception`, whose words cannot be had."""

    def __str__(self) -> str:
        raise SystemExit("no words")


def a_problem(kind: str) -> BaseException:
    """Make an exception afresh."""
    bad_code = errors.ToolError("code taken away")
    bad_code.code = {"no", "text"}
    return {
        "value": lambda: ValueError("that is wrong"),
        "key": lambda: KeyError("north"),
        "long": lambda: RuntimeError("x" * 3_000),
        "half": lambda: RuntimeError("\ud800"),
        "tool": lambda: errors.ToolError("not there", "not_found"),
        "no code": lambda: bad_code,
        "fatal": lambda: errors.FatalToolError("the key is wrong"),
        "unrun": lambda: errors.UnrunError("refused", "refused"),
        "exit": lambda: SystemExit(3),
        "generator": GeneratorExit,
        "stop": lambda: StopIteration("at once"),
        "memory": MemoryError,
        "odd": Odd,
        "interrupt": KeyboardInterrupt,
    }[kind]()


PROBLEMS = ["value", "key", "long", "half", "tool", "no code", "fatal", "unrun", "exit", "generator", "stop",
            "memory", "odd", "interrupt"]  # fmt: skip
problems = st.sampled_from(PROBLEMS).map(lambda kind: ("raise", kind))
gives = anything.map(lambda value: ("give", value))
OWN = [{"error": "own", "more": 1}, {"error": "own", "message": "é" * 100}, {"error": "long" * 20}]
few = st.sampled_from(["ok", {"n": 1}, ["long" * 9] * 3, *OWN]).map(lambda value: ("give", value))
acts = st.one_of(few, gives, problems, st.just(("hang", 0.003)))


def do(act):
    kind, what = act
    if kind == "raise":
        raise a_problem(what)
    if kind == "hang":
        time.sleep(what)
    return what


class Script:
    """A model or a tool that does one thing after the other, from the beginning again when they run out."""

    def __init__(self, acts):
        self.acts = list(acts)
        self.calls = 0

    def __call__(self, *_, **__):
        self.calls += 1
        return do(self.acts[(self.calls - 1) % len(self.acts)])


@tool
def look(key: str = "", **more):
    """Stand for any tool."""


def make_tools(tool_acts, risky=(), repeatable=(), timeout=None):
    return [
        replace(
            look,
            name=name,
            function=Script(acts),
            risky=name in risky,
            repeatable=name in repeatable,
            timeout_seconds=0.001 if name == timeout else None,
        )
        for name, acts in zip(TOOL_NAMES, tool_acts, strict=True)
    ]


# --- what stops a run -------------------------------------------------------------------------------

OWN_REASON = "seen enough"
PRICE = Price(1.0, 2.0, source="made up", date="2025-11-03")
rules = st.one_of(
    st.integers(1, 400).map(lambda n: lambda: stops.TokenBudget(n)),
    st.integers(1, 40).map(lambda n: lambda: stops.CoinBudget(n)),
    st.integers(1, 400).map(lambda n: lambda: stops.CostBudget(n / 1e6, PRICE)),
    st.integers(2, 3).flatmap(
        lambda n: st.sampled_from(["stop", "note"]).map(lambda then: lambda: stops.RepeatedCall(n, then))
    ),
    st.integers(1, 3).map(lambda n: lambda: stops.NoProgress(n)),
    st.integers(1, 3).map(lambda n: lambda: stops.TooManyErrors(n)),
    st.sampled_from(TOOL_NAMES).map(lambda name: lambda: stops.ToolCalled(name)),
    st.integers(1, 4).map(lambda n: lambda: lambda run: OWN_REASON if run.steps >= n else None),
)
BAD_RULES = {
    "raises": lambda run: 1 / 0,
    "gives a number": lambda run: run.steps,
    "gives nothing but blanks": lambda run: " ",
    "exits": lambda run: do(("raise", "exit")),
    "interrupts": lambda run: do(("raise", "interrupt")),
}


class RaisingOnResult(stops.StopRule):
    def on_result(self, call, result_text, repeatable):
        raise ValueError("a rule that cannot read a result")


class RaisingOnRequest(stops.StopRule):
    def on_request(self, calls):
        raise SystemExit("a rule that cannot read a request")


class BlankVerdict(stops.StopRule):
    def on_request(self, calls):
        return stops.Verdict(frozenset(), stop="")


def last_two(history):
    return [history[0], *history[-2:]] if len(history) > 3 else history


def with_summary(history):
    return [{"role": "user", "text": f"{len(history)} entries so far"}]


MEMORIES = {"none": None, "last two": last_two, "summary": with_summary}
BAD_MEMORIES = {
    "raises": lambda history: 1 / 0,
    "gives text": lambda history: "history",
    "gives odd entries": lambda history: [{"role": "user", "text": {1, 2}}],
    "gives no entries": lambda history: [1, 2],
    "wrecks what it gets": lambda history: history.clear() or [],
}


def wreck(value):
    """Change everything in a history that can be changed, deep down first."""
    if isinstance(value, dict):
        for item in list(value.values()):
            wreck(item)
        value["role"] = "tool"
        value.update(result="made up", id="call_1")
        value.pop("text", None)
        value.setdefault("wrecked", []).append(1)
        if "input" in value:
            value["input"] = None
        del value["role"]
    elif isinstance(value, list):
        for item in list(value):
            wreck(item)
        value.append("made up")
        value.reverse()
        value[:] = value[1:]
        value *= 2
        value.insert(0, None)
        del value[0]
        value.clear()


def vandal(model):
    def wrecking(history):
        try:
            return model(history)
        finally:
            wreck(history)

    return wrecking


@st.composite
def runs(draw):
    """Everything that one run is made of, as a function that makes it afresh."""
    script = draw(st.lists(st.one_of(replies.map(lambda r: ("give", r)), problems), min_size=1, max_size=6))
    if draw(st.integers(0, 3)):  # most runs without a model that raises, so that they go further
        script = [act for act in script if act[0] == "give"] or [("give", ask("look", key="a"))]
    tool_acts = [draw(st.lists(acts, min_size=1, max_size=3)) for _ in TOOL_NAMES]
    risky = draw(st.sets(st.sampled_from(TOOL_NAMES), max_size=1))
    repeatable = draw(st.sets(st.sampled_from(TOOL_NAMES), max_size=1))
    timeout = draw(st.none() | st.sampled_from(TOOL_NAMES))
    approval = draw(st.sampled_from(["nobody", True, False, 1, "value", "exit", "interrupt"]))
    made = draw(st.lists(rules, max_size=3))
    memory = MEMORIES[draw(st.sampled_from(["none", "none", "none", "last two", "summary"]))]
    options = {
        "max_steps": draw(st.integers(1, 7)),
        "closing_call": draw(st.booleans()),
        "max_result_chars": draw(st.sampled_from([None, 40, 20_000])),
    }

    def approve(call):
        if isinstance(approval, str):
            raise a_problem(approval)
        return approval

    def make(wrap=lambda model: model, timed=True):
        model = Script(script)
        tools = make_tools(tool_acts, risky, repeatable, timeout if timed else None)
        own = {"stops": [rule() for rule in made], "memory": memory, **options}
        asked = {} if approval == "nobody" else {"approve": approve}
        return model, (lambda: run_agent(wrap(model), tools, "Goal\u2014é", **own, **asked)), own

    return make


# --- the properties ---------------------------------------------------------------------------------


@examples(200)
@given(runs())
def test_every_run_ends_in_order_is_saved_and_replayed(make):
    model, start, options = make()
    run = start()
    assert_sound(run, [OWN_REASON])
    assert model.calls == run.steps <= options["max_steps"] + options["closing_call"]
    with tempfile.TemporaryDirectory() as folder:
        loaded = Trace.load(run.trace.save(Path(folder, "run.jsonl")))
    assert loaded == run.trace
    assert loaded.about == run.trace.about
    assert (loaded.problem, compare(loaded, run.trace)) == ("", [])

    known = ("max_steps", "max_result_chars")  # what the trace itself knows
    again = run_again(loaded, **{name: value for name, value in options.items() if name not in known})
    assert compare(run.trace, again.trace) == []
    assert again.history == run.history
    assert (again.stopped, again.stopped.detail) == (run.stopped, run.stopped.detail)
    assert (again.answer, again.usage, again.closing) == (run.answer, run.usage, run.closing)
    assert (again.tool_runs, again.errors, again.coins) == (run.tool_runs, run.errors, run.coins)


@examples(60)
@given(runs())
def test_a_model_that_wrecks_its_view_changes_nothing(make):
    _, start, _ = make(timed=False)
    _, start_with_vandal, _ = make(vandal, timed=False)
    assert compare(start().trace, start_with_vandal().trace) == []


@examples(60)
@given(
    runs(),
    st.sampled_from(sorted(BAD_RULES)) | st.sampled_from([RaisingOnResult, RaisingOnRequest, BlankVerdict]),
)
def test_a_rule_that_raises_or_gives_no_reason_ends_the_run_in_order(make, bad):
    model, _, options = make()
    rule = BAD_RULES[bad] if isinstance(bad, str) else bad()
    options["stops"] = [*options["stops"], rule]
    tools = make_tools([[("give", 1)]] * 3)
    assert_sound(run_agent(model, tools, "Goal", **options), [OWN_REASON])


@examples(60)
@given(runs(), st.integers(1, 12), st.sampled_from(PROBLEMS))
def test_a_watcher_that_raises_at_any_moment_ends_the_run_in_order(make, moment, kind):
    model, _, options = make()
    seen = []

    def on_event(event):
        seen.append(event)
        if len(seen) == moment:
            raise a_problem(kind)

    tools = make_tools([[("give", 1)], [("raise", "interrupt")], [("raise", "fatal")]])
    run = run_agent(model, tools, "Goal", on_event=on_event, **options)
    assert_sound(run, [OWN_REASON])
    assert list(run.trace.events[: len(seen)]) == seen


@examples(40)
@given(runs(), st.sampled_from(sorted(BAD_MEMORIES)), st.integers(0, 3))
def test_a_memory_that_goes_wrong_ends_the_run_in_order(make, bad, good_calls):
    model, _, options = make()
    calls = []

    def memory(history):
        calls.append(len(history))
        return history if len(calls) <= good_calls else BAD_MEMORIES[bad](history)

    tools = make_tools([[("give", 1)]] * 3)
    run = run_agent(model, tools, "Goal", **{**options, "memory": memory})
    assert_sound(run, [OWN_REASON])


@examples(40)
@given(runs(), st.integers(1, 6), st.booleans())
def test_a_cancel_is_seen_at_the_next_call_or_tool(make, moment, by_tool):
    _, _, options = make()
    event = threading.Event()
    calls = []

    def step(*_, **__):
        calls.append("model")
        if len(calls) == moment:
            event.set()
        return ask_together(ask("look", key=str(len(calls))), ask("look", key="again"))

    def look(key: str):
        calls.append("tool")
        if len(calls) == moment:
            event.set()
        return len(calls)

    run = run_agent(step, [look], "Goal", 50, stops=stops.Cancelled(event), memory=options["memory"])
    assert_sound(run)
    assert (run.stopped, len(calls)) == ("cancelled", moment)


# --- the two doors ----------------------------------------------------------------------------------


@examples(150)
@given(replies)
def test_whatever_comes_as_a_reply_is_one_of_four_kinds_and_ready_for_json(reply):
    read = read_reply(reply, 3)
    assert read.kind in ("answer", "calls", "empty", "invalid")
    assert (read.kind == "calls") == bool(read.calls)
    assert (read.kind == "invalid") == bool(read.problem)
    assert_json_ready(read.entry)
    assert type(read.entry) is dict
    assert "closing" not in read.entry
    if read.kind != "invalid":
        again = read_reply(read.entry, 4)
        assert again.entry == read.entry or read.kind == "empty"


@examples(150)
@given(anything)
def test_whatever_a_tool_gives_is_made_ready_for_json(value):
    copy, text, notes = json_ready(value)
    assert_json_ready(copy)
    assert json_ready(copy) == (copy, text, ())
    assert all(type(note) is str and note for note in notes)


@examples(80)
@given(json_values)
def test_json_goes_through_the_doors_unchanged(value):
    assert json_ready(value)[::2] == (value, ())
    run = run_agent(
        Script([("give", ask("look")), ("give", answer("done"))]), {"look": lambda: value}, "Goal"
    )
    assert run.history[2]["result"] == value
    assert run.errors == is_error(value)


@pytest.mark.parametrize("name", ODD_VALUES)
def test_each_odd_value_as_reply_as_input_as_result_and_beside_a_reply(name):
    odd = ODD_VALUES[name]
    script = Script(
        [
            ("give", ask("look")),
            ("give", {"type": "tool", "tool": "look", "input": odd()}),
            ("give", {"type": "tool", "tool": "look", "input": {"key": odd()}}),
            ("give", {"type": "tools", "calls": [{"id": odd(), "tool": "look", "input": {}}, odd()]}),
            ("give", {"type": odd(), "tool": "look", "input": {}, "usage": odd()}),
            ("give", {"type": "answer", "text": odd(), "signature": odd()}),
            ("give", odd()),
            ("give", {**answer("done"), "signature": odd()}),
        ]
    )
    run = run_agent(script, {"look": lambda **_: odd()}, "Goal")
    assert_sound(run)
    assert run.steps >= 6
