"""Watching any loop: what is recorded, what ends a loop that never ends, and what watching leaves alone."""

# The loops stand here as learners write them.
# ruff: noqa: E722, SIM105, RUF005, C416

import contextlib
import functools
import gc
import inspect
import itertools
import linecache
import sys
import threading
import time
import warnings
import weakref
from collections import OrderedDict, deque  # noqa: F401  in a patch
from concurrent.futures import ThreadPoolExecutor

import pytest

import agentlib
from agentlib import Trace, answer, ask, ask_together, compare, stops, tool
from agentlib.errors import ReplayError, ToolError
from agentlib.labs import blue_mugs
from agentlib.messages import user
from agentlib.models import LoopingModel, RecordingModel, RuleModel, ScriptedModel
from agentlib.watch import LoopEnded, watch
from tests.odd_values import nested
from tests.zoo import patch

GOAL = "How many?"


def loop(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        history.append({"role": "model", **reply})
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = {"error": str(problem)}
        history.append({"role": "tool", "result": result})
    return {"answer": None, "steps": max_steps, "stopped": "step limit"}


def mugs(run_agent=loop, **options):
    return watch(run_agent, blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL, **options)


def look():
    return 140


def breaks(*_):
    return 1 / 0


def helper_spins():
    while True:
        pass


def once(run_agent, *replies, tools=None, **options):
    """Watch a loop with a script that looks once and then answers."""
    model = ScriptedModel(replies or [ask("look"), answer("140")])
    return watch(run_agent, model, tools or {"look": look}, GOAL, **options)


def kinds(trace):
    return [event.kind for event in trace]


def of_kind(trace, kind):
    return [event for event in trace if event.kind == kind]


def text_of(trace, line):
    """The text of a line of the watched loop."""
    return trace.about["source"].splitlines()[line - trace.about["first_line"]].strip()


def lines(trace):
    return [text_of(trace, event.line) for event in of_kind(trace, "line")]


def final(trace):
    return trace.history_after(len(trace))


@pytest.fixture(autouse=True)
def nothing_is_left_behind():
    before = sys.gettrace(), threading.gettrace(), threading.active_count()
    yield
    assert (sys.gettrace(), threading.gettrace(), threading.active_count()) == before


# --- what is recorded -------------------------------------------------------------------------------


def test_the_figures_of_the_blue_mugs_come_out_of_a_hand_written_loop():
    trace = mugs()
    results = of_kind(trace, "result")
    assert (trace.steps, len(results), sum(event.text == "raised" for event in results)) == (4, 3, 1)
    assert (len(final(trace)), trace.stopped) == (8, "answered")
    assert trace.answer == "North has more blue mugs: 140 against 95."
    assert [len(history) for history in trace.histories()] == [1, 3, 5, 7]


def test_lines_calls_and_history_stand_in_the_order_in_which_they_happened():
    trace = once(loop)
    told = [
        text_of(trace, event.line) if event.kind == "line"
        else f"{event.kind} {event.entries}" if event.kind in ("history", "ask")
        else event.kind
        for event in trace
    ]  # fmt: skip
    assert told == [
        "start",
        'history = [{"role": "user", "text": goal}]',
        "history 0",
        "for step in range(1, max_steps + 1):",
        "reply = model(history)",
        "ask 1",
        "reply",
        'history.append({"role": "model", **reply})',
        "history 1",
        'if reply["type"] == "answer":',
        "try:",
        'result = tools[reply["tool"]](**reply["input"])',
        "act",
        "result",
        'history.append({"role": "tool", "result": result})',
        "history 2",
        "for step in range(1, max_steps + 1):",
        "reply = model(history)",
        "ask 3",
        "reply",
        'history.append({"role": "model", **reply})',
        "history 3",
        'if reply["type"] == "answer":',
        'return {"stopped": "answered", "answer": reply["text"], "steps": step}',
        "stop",
    ]
    assert [event.step for event in trace if event.kind in ("ask", "act", "stop")] == [1, 1, 2, 2]


def test_calls_results_and_exceptions_are_recorded_as_they_were():
    trace = mugs()
    act, result = of_kind(trace, "act")[0], of_kind(trace, "result")[0]
    assert act.text == "stock_level"
    assert act.entry == {"tool": "stock_level", "input": {"warehouse": "North"}}
    assert (result.ran, result.text) == (True, "raised")
    words = 'Unknown warehouse "North". Use "north" or "south".'
    assert result.entry["result"] == {"error": "ValueError", "message": words}
    good = of_kind(trace, "result")[1]
    assert (good.ran, good.text) == (True, "")
    assert good.entry == {
        "role": "tool", "id": "", "tool": "stock_level", "result": {"warehouse": "north", "blue_mugs": 140},
    }  # fmt: skip
    assert trace.replies() == list(blue_mugs.SCRIPT)


def test_the_input_that_a_loop_really_gave_is_recorded_not_what_was_asked_for():
    def careless(model, tools, goal):
        model([{"role": "user", "text": goal}])
        tools["add"](1, b=2)

    trace = once(careless, ask("add", a=5, b=5), tools={"add": lambda a, b: a + b})
    number = kinds(trace).index("result")
    assert trace.request(number) == {"id": "", "tool": "add", "input": {"argument 1": 1, "b": 2}}
    assert trace.events[number].entry["result"] == 3


def test_about_says_what_was_watched():
    about = mugs(max_steps=5).about
    assert {key: about[key] for key in ("made_by", "goal", "max_steps", "tools", "function")} == {
        "made_by": "watch", "goal": blue_mugs.GOAL, "max_steps": 5, "tools": ["stock_level"],
        "function": "loop",
    }  # fmt: skip
    assert about["source"] == inspect.getsource(loop)
    assert about["first_line"] == loop.__code__.co_firstlineno


@pytest.mark.parametrize("options", [{}, {"max_steps": 3}, {"max_steps": "3"}, {"max_steps": None}])
def test_max_steps_is_what_was_given_or_the_loops_own_default(options):
    def any_loop(model, tools, goal, max_steps=7):
        return max_steps

    trace = once(any_loop, **options)
    assert trace.about["max_steps"] == options.get("max_steps", 7)
    assert of_kind(trace, "stop")[0].entry["returned"] == options.get("max_steps", 7)


def test_a_loop_without_max_steps_has_none():
    assert once(lambda model, tools, goal: 1).about["max_steps"] is None


def test_further_options_reach_the_loop_as_they_are():
    budget = {"coins": 20}

    def with_budget(model, tools, goal, max_steps, *, budget_coins):
        return budget_coins is budget and max_steps == 4

    trace = once(with_budget, max_steps=4, budget_coins=budget)
    assert of_kind(trace, "stop")[0].entry["returned"] is True


def test_the_same_loop_gives_the_same_trace_and_the_same_file(tmp_path):
    def odd(model, tools, goal):
        history = [{"role": "user", "text": goal, "odd": object()}]
        for _ in range(3):
            history.append({"result": tools["odd"](), "reply": model(history)})
        raise ValueError(f"an address: {object()}")

    files = [
        once(odd, *[ask("odd")] * 3, tools={"odd": lambda: {object(), len}}).save(tmp_path / name)
        for name in "ab"
    ]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert b"0x." in files[0].read_bytes()


def test_an_estimate_of_the_tokens_read_is_noted_and_the_replys_own_count_replaces_it():
    counted = {**answer("140"), "usage": {"input_tokens": 77, "output_tokens": 1}}
    trace = once(loop, ask("look"), counted)
    run = agentlib.run_agent(ScriptedModel([ask("look"), counted]), {"look": look}, GOAL)
    assert of_kind(trace, "ask")[0].tokens == of_kind(run.trace, "ask")[0].tokens == 3
    assert [event.tokens for event in of_kind(trace, "reply")] == [3, 77]


def test_agentlibs_own_loop_is_watched_too():
    trace = mugs(agentlib.run_agent, max_steps=10)
    assert (trace.stopped, trace.answer) == ("answered", blue_mugs.SCRIPT[-1]["text"])
    assert final(trace) == agentlib.run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL).history
    stopped = mugs(agentlib.run_agent, max_steps=2)
    assert (stopped.stopped, stopped.answer, len(final(stopped))) == ("step limit", None, 5)
    assert stopped.detail == "2 of 2 steps used"
    said = of_kind(stopped, "stop")[0].entry
    assert said["returned"] == {"answer": None, "steps": 2, "stopped": "step limit"}


def test_a_returned_history_does_not_take_the_place_of_the_one_that_was_followed():
    def returns_the_end(model, tools, goal):
        history = [{"role": "user", "text": goal}]
        history.append(model(history))
        return {"history": history[-1:]}

    assert len(final(once(returns_the_end))) == 2


def test_a_watched_trace_is_saved_and_loaded(tmp_path):
    trace = mugs()
    loaded = Trace.load(trace.save(tmp_path / "run.jsonl"))
    assert (loaded, loaded.about, loaded.problem) == (trace, trace.about, "")
    assert final(loaded) == final(trace)


def test_a_saved_trace_grows_with_the_steps_and_not_with_their_square(tmp_path):
    def size(steps):
        trace = watch(loop, LoopingModel("look"), {"look": look}, GOAL, max_steps=steps)
        return trace.save(tmp_path / "run.jsonl").stat().st_size

    assert size(100) < 11 * size(10)


def test_a_run_of_a_thousand_steps_is_watched_in_seconds():
    started = time.process_time()
    trace = watch(loop, LoopingModel("look"), {"look": look}, GOAL, max_steps=1_000)
    assert (trace.steps, len(final(trace)), trace.stopped) == (1_000, 2_001, "step limit")
    assert time.process_time() - started < 20  # about one second on a quiet machine


# --- replay and compare -----------------------------------------------------------------------------


def replayed(run_agent, trace):
    return watch(run_agent, trace.model(), trace.tools(), trace.goal, max_steps=trace.about["max_steps"])


def test_a_watched_run_is_replayed_without_its_model_and_tools():
    trace = mugs()
    again = replayed(loop, trace)
    assert again == trace
    assert compare(trace, again) == []


def test_a_replay_raises_what_was_raised_so_that_the_same_except_catches_it():
    def picky(model, tools, goal, max_steps=9):
        told = []
        for number in range(max_steps):
            try:
                model([{"role": "user", "text": goal}])
            except ConnectionError as problem:
                told.append(str(problem))
            try:
                tools["look"](number)
            except (KeyError, UnicodeDecodeError, ToolError) as problem:
                told.append((type(problem).__name__, str(problem), getattr(problem, "code", "")))
        return told

    def model(history):
        raise ConnectionError("the line is dead")

    def broken(number):
        if number == 0:
            raise KeyError("north")
        if number == 1:
            raise ToolError("no such shelf", code="not_found")
        return b"\xff".decode()

    trace = watch(picky, model, {"look": broken}, GOAL, max_steps=3)
    assert [event.text for event in of_kind(trace, "reply")] == ["raised"] * 3
    assert replayed(picky, trace) == trace


def test_a_replay_with_another_loop_is_noticed():
    def without_requests(model, tools, goal, max_steps):
        history = [{"role": "user", "text": goal}]
        for _ in range(max_steps):
            reply = model(history)
            history.append({"role": "tool", "result": tools[reply["tool"]](**reply["input"])})

    trace = replayed(without_requests, once(loop))
    assert trace.stopped == "crashed"
    assert "ReplayError" in trace.detail
    with pytest.raises(ReplayError):
        once(loop).tools()["look"](1)


def test_comparing_two_loops_shows_what_the_model_read_differently():
    def forgetful(model, tools, goal, max_steps=10):
        history = [{"role": "user", "text": goal}]
        for _ in range(max_steps):
            reply = model(history)
            if reply["type"] == "answer":
                history.append(reply)
                return {"answer": reply["text"], "stopped": "answered", "steps": 2}
            history.append({"role": "tool", "result": tools[reply["tool"]](**reply["input"])})

    differences = compare(once(loop), once(forgetful))
    assert [(d.step, d.left.kind) for d in differences][:2] == [(2, "history"), (2, "ask")]
    assert [len(d.read) for d in (differences[0].left, differences[0].right)] == [2, 1]


def test_comparing_two_loops_does_not_mind_how_the_history_came_to_be():
    def all_at_once(model, tools, goal, max_steps=10):
        history = [{"role": "user", "text": "draft"}]
        history[0]["text"] = goal
        while True:
            reply = model(history)
            entry = {"role": "model", **reply}
            if reply["type"] == "answer":
                history = [*history, entry]
                return {"answer": reply["text"], "steps": 2, "stopped": "answered"}
            result = tools[reply["tool"]](**reply["input"])
            history = [*history, entry, {"role": "tool", "result": result}]

    assert compare(once(loop), once(all_at_once)) == []


# --- the model and the tools that the loop gets -----------------------------------------------------


def test_the_tools_come_in_the_same_kind_of_container():
    def show(model, tools, goal):
        return [type(tools).__name__, list(tools) if hasattr(tools, "keys") else len(tools)]

    for tools, kind in (
        ({"look": look}, ["dict", ["look"]]),
        (OrderedDict(look=look), ["OrderedDict", ["look"]]),
        ([look, look], ["list", 2]),
        ((look,), ["tuple", 1]),
        ({}, ["dict", []]),
    ):
        trace = watch(show, ScriptedModel([]), tools, GOAL)
        assert of_kind(trace, "stop")[0].entry["returned"] == kind


@pytest.mark.parametrize("get", [dict.__getitem__, dict.get])
def test_a_tool_is_looked_up_and_called_as_ever(get):
    def simple(model, tools, goal):
        return [name for name in tools] + [get(tools, "look")()]

    trace = once(simple)
    assert of_kind(trace, "stop")[0].entry["returned"] == ["look", 140]
    assert kinds(trace).count("result") == 1


def test_functions_in_a_list_keep_their_names_and_tools_stay_tools():
    def by_name(model, tools, goal):
        table = {getattr(one, "name", None) or one.__name__: one for one in tools}
        return [table["look"](), table["seen"](), isinstance(table["seen"], agentlib.Tool)]

    trace = once(by_name, tools=[look, tool(look, name="seen")])
    assert trace.about["tools"] == ["look", "seen"]
    assert [event.text for event in of_kind(trace, "act")] == ["look", "seen"]
    assert of_kind(trace, "stop")[0].entry["returned"] == [140, 140, True]


def test_model_and_tools_keep_signature_name_and_doc():
    def model(history: list, /, *, heat: float = 0.5) -> dict:
        """Answers."""
        return answer("x")

    def shelf(name: str, row: int = 1) -> int:
        """Counts what is on a shelf."""
        return 1

    def check(watched_model, tools, goal):
        for ours, theirs in ((model, watched_model), (shelf, tools["shelf"])):
            assert inspect.signature(ours) == inspect.signature(theirs)
            assert (ours.__name__, ours.__doc__) == (theirs.__name__, theirs.__doc__)
        return {"answer": watched_model([], heat=1.0)["text"], "stopped": "answered"}

    assert watch(check, model, {"shelf": shelf}, GOAL).stopped == "answered"


class Shelf:
    def __call__(self, row: int) -> int:
        return row


def keyword_shelf(row: int, side: str) -> int:
    return row


@pytest.mark.parametrize("shelf", [Shelf(), Shelf().__call__, functools.partial(keyword_shelf, side="left")])
def test_agentlibs_check_of_arguments_is_the_same_when_it_is_watched(shelf):
    script = [ask("shelf", row="5"), answer("x")]
    run = agentlib.run_agent(ScriptedModel(script), {"shelf": shelf}, GOAL)
    assert run.history[2]["result"]["error"] == "invalid_input"
    assert final(once(agentlib.run_agent, *script, tools={"shelf": shelf})) == run.history


def test_the_model_gets_the_very_list_of_the_loop_as_it_would_without_watching():
    def model(history):
        history.append({"role": "note", "text": "from the model"})
        return answer("x")

    trace = watch(loop, model, {}, GOAL)
    assert [entry["role"] for entry in final(trace)] == ["user", "note", "model"]
    assert [len(history) for history in trace.histories()] == [1]


def test_what_the_model_saw_stays_as_it_was_when_the_loop_changes_it_later():
    def rewriting(model, tools, goal):
        history = [{"role": "user", "text": goal, "tags": ["new"]}]
        model(history)
        history[0]["tags"].append("old")
        history[0]["text"] = "something else"
        model(history)

    first, second = once(rewriting).histories()
    assert first == [{"role": "user", "text": GOAL, "tags": ["new"]}]
    assert second == [{"role": "user", "text": "something else", "tags": ["new", "old"]}]


@pytest.mark.parametrize("change", [set.add, lambda value, new: value.discard(1)])
def test_a_set_that_changes_in_place_is_seen(change):
    def with_set(model, tools, goal):
        history = [{"role": "user", "text": goal, "set": {1}}]
        model(history)
        change(history[0]["set"], 2)
        model(history)

    first, second = once(with_set).histories()
    assert first[0]["set"] == [1] != second[0]["set"]


def test_a_reply_that_is_no_dict_is_recorded_as_one_that_cannot_be_read():
    trace = once(lambda model, tools, goal: model([]), "just text")
    assert of_kind(trace, "reply")[0].entry == {"type": "invalid", "text": "just text"}


def test_a_tool_that_is_a_watched_agent_itself_keeps_to_its_own_trace():
    inner = []

    def ask_agent():
        inner.append(mugs())
        return inner[0].answer

    outer = once(loop, tools={"look": ask_agent})
    alone = once(loop, tools={"look": lambda: blue_mugs.SCRIPT[-1]["text"]})
    assert inner == [mugs()]
    assert outer == alone


def test_tools_that_run_in_threads_are_recorded_and_the_lines_go_on():
    def in_threads(model, tools, goal):
        reply = model([{"role": "user", "text": goal}])
        with ThreadPoolExecutor(2) as pool:
            waiting = [pool.submit(tools[call["tool"]], **call["input"]) for call in reply["calls"]]
            results = [one.result() for one in waiting]
        return sum(results)

    both = ask_together(ask("wait", seconds=0.01), ask("wait", seconds=0.02))
    trace = once(in_threads, both, tools={"wait": lambda seconds: time.sleep(seconds) or 1})
    assert sorted(kinds(trace)).count("result") == 2
    assert lines(trace)[-1] == "return sum(results)"
    assert of_kind(trace, "stop")[0].entry["returned"] == 2


def test_the_lines_of_a_loop_go_on_while_a_tool_runs_in_a_thread():
    begun, go_on = threading.Event(), threading.Event()

    def waits_for_it(model, tools, goal):
        def meanwhile():
            return go_on.set()

        thread = threading.Thread(target=tools["wait"])
        thread.start()
        begun.wait(10)
        meanwhile()
        thread.join()

    trace = once(waits_for_it, tools={"wait": lambda: begun.set() or go_on.wait(10)})
    assert lines(trace)[-3:] == ["meanwhile()", "return go_on.set()", "thread.join()"]


# --- where the history is found ---------------------------------------------------------------------


def test_the_goal_is_seen_before_the_model_is_asked():
    def slow_start(model, tools, goal):
        messages = [{"role": "system", "text": "Be brief."}, {"role": "user", "text": f"Goal: {goal}"}]
        other = [1, 2, 3]
        return model(messages) and other

    trace = once(slow_start)
    assert kinds(trace)[:5] == ["start", "line", "history", "line", "line"]
    assert len(trace.history_after(3)) == 2


def history_in_a_list(model, tools, goal):
    history = [{"role": "user", "text": goal}]
    while (reply := model(history))["type"] != "answer":
        history.append(reply)
        history.append({"role": "tool", "result": tools["look"]()})


START, SHOWN = '[{"role": "user", "text": goal}]', "model(history)"
RESULT = '{"role": "tool", "result": tools["look"]()}'
ADD_REPLY, ADD_RESULT = "history.append(reply)", f"history.append({RESULT})"


def history_of_a_helper(model, tools, goal):
    history = [{"role": "user", "text": goal}]

    def turn():
        reply = model(history)
        if reply["type"] == "answer":
            return False
        history.append(reply)
        history.append({"role": "tool", "result": tools["look"]()})
        return True

    while turn():
        pass


def history_under_two_names(model, tools, goal):
    def think(messages):
        reply = model(messages)
        return None if reply["type"] == "answer" else reply

    history = [{"role": "user", "text": goal}]
    while reply := think(history):
        history = [*history, reply]
        history = [*history, {"role": "tool", "result": tools["look"]()}]


def history_further_out(model, tools, goal):
    history = [{"role": "user", "text": goal}]

    def one(model):
        def two(add):
            def three():
                add(ask("look"))
                add({"role": "tool", "result": tools["look"]()})

            if model(history)["type"] != "answer":
                three()
                two(add)

        two(history.append)

    one(model)


class Agent:
    def __init__(self):
        self.history = []

    def run(self, model, tools, goal):
        self.model, self.tools = model, tools
        self.history = [*self.history, {"role": "user", "text": goal}]
        while self.turn():
            pass

    def turn(self):
        reply = self.model(self.history)
        if reply["type"] == "answer":
            return False
        self.history = [*self.history, reply]
        self.history = [*self.history, {"role": "tool", "result": self.tools["look"]()}]
        return True


PLACES = {
    "made anew": patch(
        history_in_a_list,
        (ADD_REPLY, "history = history + [reply]"),
        (ADD_RESULT, f"history = [*history, {RESULT}]"),
    ),
    "in a tuple": patch(
        history_in_a_list,
        (START, '({"role": "user", "text": goal},)'),
        (ADD_REPLY, "history += (reply,)"),
        (ADD_RESULT, f"history += ({RESULT},)"),
    ),
    "in a deque": patch(history_in_a_list, START, f"deque({START})"),
    "as a copy": patch(history_in_a_list, SHOWN, "model([dict(entry) for entry in history])"),
    "by name": patch(history_in_a_list, SHOWN, "model(history=history)"),
    "in a dict": patch(
        history_in_a_list,
        (f"history = {START}", f'state = {{"history": {START}}}'),
        (SHOWN, 'model(state["history"])'),
        (ADD_REPLY, 'state["history"].append(reply)'),
        (ADD_RESULT, f'state["history"].append({RESULT})'),
    ),
    "of a helper": history_of_a_helper,
    "under two names": history_under_two_names,
    "further out": history_further_out,
    "of an object": Agent().run,
}


@pytest.mark.parametrize("run_agent", PLACES.values(), ids=PLACES)
def test_the_history_is_followed_wherever_the_loop_keeps_it(run_agent):
    trace = once(run_agent)
    grown = [(event.entries, len(event.read)) for event in of_kind(trace, "history")]
    assert grown == [(0, 1), (1, 1), (2, 1)]
    assert final(trace) == [user(GOAL), ask("look"), {"role": "tool", "result": 140}]
    assert all(event.read is None for event in of_kind(trace, "ask"))


def test_entries_before_the_loops_own_list_are_part_of_what_the_model_reads():
    def with_system(model, tools, goal):
        history = [{"role": "user", "text": goal}]
        while (reply := model([{"role": "system", "text": "Be brief."}] + history))["type"] != "answer":
            history.append(reply)
            history.append({"role": "tool", "result": tools["look"]()})

    trace = once(with_system, *[ask("look")] * 5, answer("x"))
    assert [len(history) for history in trace.histories()] == [2, 4, 6, 8, 10, 12]
    assert trace.histories()[1][0]["role"] == "system"
    assert [len(event.read) for event in of_kind(trace, "history")] == [1, 2] + [1] * 10


def test_a_note_after_the_loops_own_list_costs_no_copy_of_all_at_each_step():
    def with_note(model, tools, goal):
        history = [{"role": "user", "text": goal}]
        for left in range(20, 0, -1):
            history.append(model([*history, {"role": "user", "text": f"{left} left"}]))

    trace = once(with_note, *[ask("look")] * 20)
    assert [len(history) for history in trace.histories()] == list(range(2, 22))
    assert all(len(event.read) <= 2 for event in of_kind(trace, "history"))


def test_a_shortened_history_is_told_apart_from_the_history():
    def with_window(model, tools, goal):
        history = [{"role": "user", "text": goal}]
        while True:
            reply = model(history[:1] + history[-2:] if len(history) > 3 else history)
            if reply["type"] == "answer":
                return
            history.append(reply)
            history.append({"role": "tool", "result": tools["look"]()})

    trace = once(with_window, *[ask("look")] * 3, answer("x"))
    assert [len(history) for history in trace.histories()] == [1, 3, 3, 3]
    assert [event.entries for event in of_kind(trace, "ask")] == [1, 3, 3, 3]
    assert [event.read is None for event in of_kind(trace, "ask")] == [True, True, False, False]
    assert len(final(trace)) == 7


def test_entries_that_are_taken_away_or_changed_in_place_are_seen_at_their_line():
    def tidy(model, tools, goal):
        history = [{"role": "user", "text": goal}, {"role": "user", "text": "a", "deep": [{"x": 1}]}]
        model(history)
        history[1]["deep"][0]["x"] = 2
        history.pop()
        history.insert(0, {"role": "system", "text": "s"})
        history.clear()
        return history

    trace = once(tidy)
    seen = {}
    for before, event in itertools.pairwise(trace):
        if event.kind == "history" and before.kind == "line":
            seen[text_of(trace, before.line)] = (event.entries, len(event.read))
    assert list(seen.values())[1:] == [(1, 1), (1, 0), (0, 2), (0, 0)]
    assert list(seen)[1].startswith("history[1]")


@pytest.mark.parametrize("crash", [False, True])
def test_what_the_last_line_adds_is_seen_too(crash):
    def last_line(model, tools, goal):
        history = [{"role": "user", "text": goal}]
        history.append(model(history)) or (crash and breaks())

    assert len(final(once(last_line))) == 2


def test_no_event_comes_when_nothing_has_changed():
    def idle(model, tools, goal):
        history = [{"role": "user", "text": goal, "odd": {1, 2}, "nan": float("nan")}]
        for _ in range(3):
            history = list(history)
            history[0] = {**history[0], "rude": Rude(), "object": object()}
            model(history)

    trace = once(idle, *[ask("look")] * 3)
    assert (trace.stopped, kinds(trace).count("history")) == ("returned", 2)


def test_a_list_that_happens_to_be_the_end_of_the_history_is_not_taken_for_it():
    def elsewhere(model, tools, goal):
        state = {"history": [{"role": "user", "text": goal}]}
        latest = []
        for _ in range(5):
            latest = [model(list(state["history"]))]
            state["history"] += latest

    script = [ask("look", shelf=number) for number in range(5)]
    changes = of_kind(once(elsewhere, *script), "history")
    assert [(event.entries, len(event.read)) for event in changes] == [(n, 1) for n in range(5)]


def test_a_loop_may_move_its_history_to_another_place():
    def moves(model, tools, goal):
        history = [{"role": "user", "text": goal}]
        model(history)
        state = {"history": [*history, {"role": "user", "text": "more"}]}
        model(state["history"])
        state["history"].append({"role": "user", "text": "and more"})
        return state

    trace = once(moves)
    assert of_kind(trace, "stop")[0].entry["returned"] == {"history": final(trace)}
    assert [event.read for event in of_kind(trace, "ask")] == [None, None]
    assert len(final(trace)) == 3


def test_a_copy_that_is_the_same_for_the_reader_is_the_same_history():
    def copies(model, tools, goal):
        history = [{"role": "user", "text": goal, "pair": (1, 2)}]
        model(history)
        model([{**entry, "pair": list(entry["pair"])} for entry in history])

    assert [event.read for event in of_kind(once(copies), "ask")] == [None, None]


@pytest.mark.parametrize(("entries", "at_its_line"), [(100, True), (101, False)])
@pytest.mark.parametrize("call", ["model", "tool"])
def test_a_change_far_up_in_a_long_history_is_seen_at_the_next_call_at_the_latest(entries, at_its_line, call):
    def long(model, tools, goal):
        history = [{"role": "user", "text": goal}] + [{"role": "user", "text": "."}] * (entries - 1)
        model(history)
        history[0] = {"role": "user", "text": "changed"}
        history[0]["more"] = 1
        model(history) if call == "model" else tools["look"]()

    trace = once(long)
    changes = [number for number, event in enumerate(trace) if event.kind == "history"][1:]
    assert len(changes) == (2 if at_its_line else 1)
    assert changes[-1] < kinds(trace).index("ask" if call == "model" else "act", 8)
    assert final(trace)[0] == {"role": "user", "text": "changed", "more": 1}


def test_a_recursive_loop_is_followed_inwards_and_does_not_shrink_on_its_way_back():
    def deeper(model, tools, goal, max_steps=10, history=None):
        history = history or [{"role": "user", "text": goal}]
        reply = model(history)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "stopped": "answered"}
        result = {"role": "tool", "result": tools["look"]()}
        return deeper(model, tools, goal, max_steps - 1, [*history, reply, result])

    trace = once(deeper, *[ask("look")] * 3, answer("x"))
    assert [len(history) for history in trace.histories()] == [1, 3, 5, 7]
    assert len(final(trace)) == 7


class Secretive:
    @property
    def stopped(self):
        raise RuntimeError("no")


class Rude:
    """Raises at every turn."""

    __hash__ = None

    def __eq__(self, other):
        raise RuntimeError("no")

    def __repr__(self):
        raise RuntimeError("no")


def cyclic():
    value = {"list": []}
    value["list"] += [value] * 9
    return value


ODD_VALUES = {
    "a set": lambda: {1, "a"},
    "an object": object,
    "raises at every turn": Rude,
    "one inside a list": lambda: [Rude()],
    "contains itself": cyclic,
    "nested": lambda: nested(5_000),
    "1 MB": lambda: "x" * 1_000_000,
    "NaN": lambda: float("nan"),
    "bytes": lambda: b"\xff",
    "a very large number": lambda: 10**5000,
    "half a character": lambda: "\ud800",
    "a key that is no text": lambda: {("a", 1): 2},
    "a generator": lambda: (number for number in itertools.count()),
    "a module": lambda: sys,
    "text that is a number": lambda: {"role": "user", "text": 5},
    "a request without a name": lambda: {"type": "tool", "tool": 5},
}


@pytest.mark.parametrize("make", ODD_VALUES.values(), ids=ODD_VALUES)
def test_no_value_in_a_history_stops_the_recording(make, tmp_path):
    def keep(model, tools, goal):
        history = [{"role": "user", "text": goal}]
        for _ in range(3):
            model(history)
            history.append({"role": "tool", "result": tools["odd"]()})
            history.append(make())
        return [make()]

    trace = once(keep, *[ask("odd")] * 3, tools={"odd": make})
    assert (trace.stopped, trace.steps, len(final(trace))) == ("returned", 3, 7)
    assert Trace.load(trace.save(tmp_path / "run.jsonl")) == trace


@pytest.mark.parametrize("given", [None, "text", 5, {"role": "user"}, object()])
def test_a_history_that_is_no_list_is_recorded_as_one_entry(given):
    trace = once(lambda model, tools, goal: model(given))
    assert (trace.stopped, len(trace.histories()[0])) == ("returned", 0 if given is None else 1)


def test_a_model_that_is_given_nothing_reads_nothing():
    trace = watch(lambda model, tools, goal: model(), lambda: answer("x"), {}, GOAL)
    assert (trace.histories(), trace.stopped) == ([[]], "returned")


class Thing:
    """Something that can be told to be gone."""


@pytest.mark.parametrize("run_ends", [lambda: 1, breaks, helper_spins])
def test_what_a_loop_held_is_let_go_at_once(run_ends):
    things = []

    def holding(model, tools, goal):
        thing = Thing()
        things.append(weakref.ref(thing))
        run_ends()
        return thing

    gc.disable()
    try:
        once(holding, max_lines=20)
        assert [thing() for thing in things] == [None]
    finally:
        gc.enable()


# --- what can be watched ----------------------------------------------------------------------------


def given_a_log(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, log=[], **kwargs)

    return inner


@given_a_log
def with_log(model, tools, goal, max_steps=10, *, log):
    log.append(goal)
    return loop(model, tools, goal, max_steps)


def decorated(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)

    return inner


def generator(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for _ in range(max_steps):
        reply = model(history)
        yield reply
        history.append(reply)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "stopped": "answered"}
        history.append({"role": "tool", "result": tools[reply["tool"]](**reply["input"])})


class CallableLoop:
    def __call__(self, model, tools, goal, max_steps=10):
        return loop(model, tools, goal, max_steps)

    @classmethod
    def of_class(cls, model, tools, goal, max_steps=10):
        return loop(model, tools, goal, max_steps)

    @staticmethod
    def static(model, tools, goal, max_steps=10):
        return loop(model, tools, goal, max_steps)

    @decorated
    def wrapped(self, model, tools, goal, max_steps=10):
        return loop(model, tools, goal, max_steps)


@pytest.mark.parametrize(
    ("run_agent", "name"),
    [
        (loop, "loop"),
        (decorated(loop), "loop"),
        (decorated(decorated(loop)), "loop"),
        (with_log, "with_log"),
        (functools.partial(loop, max_steps=5), "loop"),
        (functools.partial(decorated(loop)), "loop"),
        (lambda model, tools, goal, max_steps=5: loop(model, tools, goal, max_steps), "<lambda>"),
        (lambda *given: loop(*given), "<lambda>"),
        (generator, "generator"),
        (CallableLoop(), "CallableLoop"),
        (CallableLoop().__call__, "__call__"),
        (CallableLoop.of_class, "of_class"),
        (CallableLoop.static, "static"),
        (CallableLoop().wrapped, "wrapped"),
        (agentlib.run_agent, "run_agent"),
    ],
)
def test_all_kinds_of_functions_are_watched(run_agent, name):
    trace = once(run_agent)
    assert (trace.stopped, trace.answer, trace.about["function"]) == ("answered", "140", name)
    assert all(text_of(trace, event.line) for event in of_kind(trace, "line"))
    assert of_kind(trace, "line")


def test_a_class_shows_the_lines_of_all_its_methods():
    trace = once(Agent().run)
    assert {"while self.turn():", "reply = self.model(self.history)", "return False"} <= set(lines(trace))
    assert lines(trace)[0] == "self.model, self.tools = model, tools"
    assert trace.about["source"].startswith("def __init__(self):\n    self.history = []\n\ndef run(")


class StackedLoop(contextlib.ExitStack):
    @staticmethod
    def turn(model):
        return model([])

    def run(self, model, tools, goal):
        return self.turn(model)


def test_what_a_class_inherits_from_another_file_is_not_shown():
    trace = once(StackedLoop().run)
    assert lines(trace) == ["return self.turn(model)", "return model([])"]
    assert trace.about["source"].count("def ") == 2


def test_the_default_max_steps_of_a_partial_is_the_one_it_holds():
    assert once(functools.partial(loop, max_steps=5)).about["max_steps"] == 5


def test_a_generator_that_is_not_the_loops_own_is_not_run():
    module = {"__name__": "somewhere_else"}
    exec("def count():\n    while True:\n        yield 1", module)
    assert once(lambda model, tools, goal: module["count"]()).detail == 'the loop returned "<generator>"'


def test_a_generator_of_a_function_of_the_loop_is_run():
    assert once(lambda model, tools, goal: generator(model, tools, goal)).stopped == "answered"


def test_a_function_without_a_source_is_watched_without_showing_one(monkeypatch):
    other = (0, None, ["print('another program')\n"] * 3, "<string>")
    monkeypatch.setitem(linecache.cache, "<string>", other)  # as Python 3.13 does with `python -c`
    namespace = {}
    exec("def typed(model, tools, goal):\n    reply = model([])\n    return reply", namespace)
    trace = once(namespace["typed"])
    assert (trace.about["source"], trace.about["first_line"]) == ("", 1)
    assert [event.line for event in of_kind(trace, "line")] == [2, 3]
    assert trace.stopped == "returned"


def test_a_function_written_in_c_is_watched_without_lines():
    trace = once(max)
    assert (trace.stopped, of_kind(trace, "line"), trace.about["first_line"]) == ("crashed", [], 0)
    assert of_kind(trace, "crash")[0].line == 0
    assert of_kind(trace, "crash")[0].text.startswith("TypeError: ")


def test_a_coroutine_function_is_refused_in_one_sentence():
    async def waiting(model, tools, goal):
        return 1

    async def stream(model, tools, goal):
        yield 1

    for one in (waiting, stream):
        with pytest.raises(TypeError, match="is written with `async def`; watch runs plain functions"):
            once(one)
    with warnings.catch_warnings(record=True) as warned:
        hidden = once(lambda model, tools, goal: waiting(model, tools, goal))
    assert (hidden.stopped, warned) == ("crashed", [])
    assert hidden.detail.startswith("TypeError: the loop gave back a coroutine")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"run_agent": 3}, "run_agent is a function, but was 3"),
        ({"run_agent": None}, "run_agent is a function, but was None"),
        ({"model": "gpt"}, 'model is a function, but was "gpt"'),
        ({"tools": None}, "tools is a dict or a list of functions, but was None"),
        ({"tools": "look"}, "tools is a dict or a list of functions"),
        ({"tools": {"look": 5}}, "The tool look is a function, but was 5"),
        ({"tools": [5]}, "is a function, but was 5"),
        ({"run_agent": lambda model: 1}, "is called as <lambda>(model, tools, goal), which does not fit"),
        ({"run_agent": lambda: 1}, "<lambda>(): too many positional arguments."),
        (
            {"limit": 5},
            "loop(model, tools, goal, limit=...), which does not fit loop(model, tools, goal, max_",
        ),
        ({"model": ScriptedModel, "run_agent": CallableLoop}, "does not fit CallableLoop()"),
    ],
)
def test_what_cannot_be_watched_is_refused_before_anything_runs(given, words):
    asked = []
    standard = {"run_agent": loop, "model": asked.append, "tools": {}, "goal": GOAL}
    with pytest.raises(TypeError) as caught:
        watch(**{**standard, **given})
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert asked == []


@pytest.mark.parametrize("name", ["max_calls", "max_lines"])
@pytest.mark.parametrize("limit", [0, -1, 2.5, "3", True])
def test_limits_are_whole_numbers_from_one_up(name, limit):
    with pytest.raises(ValueError, match=f"{name} is a whole number from 1 up"):
        once(loop, **{name: limit})


# --- how it ends ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("returned", "reason", "said", "detail"),
    [
        (None, "returned", None, "the loop returned nothing"),
        (3, "returned", None, "the loop returned 3"),
        ("done", "returned", None, 'the loop returned "done"'),
        ((1, {2}), "returned", None, "the loop returned [1,[2]]"),
        (object(), "returned", None, 'the loop returned "<object>"'),
        (Secretive(), "returned", None, 'the loop returned "<Secretive>"'),
        (Rude(), "returned", None, 'the loop returned "<Rude>"'),
        ({"answer": "x"}, "returned", "x", 'the loop returned {"answer":"x"}'),
        ({"answer": "x", "stopped": 5}, "returned", "x", 'the loop returned {"answer":"x","stopped":5}'),
        ({"answer": None, "stopped": "step limit"}, "step limit", None, ""),
        ({"answer": {1}, "stopped": "answered"}, "answered", [1], ""),
        ({"stopped": stops.StopReason("deadline", "5 s are over")}, "deadline", None, "5 s are over"),
    ],
)
def test_what_the_loop_returned_is_described(returned, reason, said, detail):
    trace = once(lambda model, tools, goal: returned)
    assert (trace.stopped, trace.answer, trace.detail) == (reason, said, detail)
    assert kinds(trace).count("stop") == 1


def test_the_returned_value_itself_is_kept_ready_for_json():
    returned = {"answer": "x", "steps": 2, "stopped": "answered", "coins": 4, "message": "Done."}
    trace = once(lambda model, tools, goal: returned)
    assert of_kind(trace, "stop")[0].entry["returned"] == returned


def test_a_crash_shows_the_loops_own_line_and_the_error():
    def fragile(model, tools, goal):
        reply = model([{"role": "user", "text": goal}])
        return tools[reply["tool"]](**reply["input"])

    trace = once(fragile, ask("looks"))
    crash = of_kind(trace, "crash")[0]
    assert text_of(trace, crash.line) == 'return tools[reply["tool"]](**reply["input"])'
    assert (crash.text, trace.stopped, trace.detail) == ("KeyError: 'looks'", "crashed", "KeyError: 'looks'")
    assert kinds(trace)[-2:] == ["crash", "stop"]


@pytest.mark.parametrize("where", ["a helper", "a tool", "the model", "a comprehension", "a library"])
def test_a_crash_further_inside_shows_the_line_of_the_loop(where):
    def calls_out(model, tools, goal):
        if where == "a helper":
            breaks()  # here: a helper
        if where == "a tool":
            tools["breaks"]()  # here: a tool
        if where == "the model":
            model([])  # here: the model
        if where == "a comprehension":
            [breaks() for _ in range(2)]  # here: a comprehension
        sorted([2, 1], key=breaks)  # here: a library

    trace = watch(calls_out, breaks, {"breaks": breaks}, GOAL)
    crash = of_kind(trace, "crash")[0]
    assert text_of(trace, crash.line).endswith(f"# here: {where}")
    assert crash.text == "ZeroDivisionError: division by zero"


def test_a_crash_without_a_message_and_a_call_of_exit_are_told_by_their_kind():
    def leaving(model, tools, goal):
        sys.exit(3)

    def bare(model, tools, goal):
        raise ValueError

    assert once(leaving).detail == "SystemExit: 3"
    assert once(bare).detail == "ValueError with no message"


def test_each_call_of_a_recursive_loop_shows_its_line():
    def down(model, tools, goal, n=3):
        return down(model, tools, goal, n - 1) if n else "end"

    assert len(lines(once(down))) == 4


def test_a_loop_that_calls_itself_for_ever_crashes():
    def forever(model, tools, goal):
        return forever(model, tools, goal)

    trace = once(forever)
    assert trace.stopped == "crashed"
    assert trace.detail.startswith("RecursionError")


# --- a loop that never ends -------------------------------------------------------------------------


def endless(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    while True:
        history.append(model(history))


def looping(run_agent, **options):
    return watch(run_agent, LoopingModel("look"), {"look": look}, GOAL, **options)


@pytest.mark.parametrize(("limit", "reason"), [(7, "asked too often"), (8, "step limit")])
def test_the_model_is_asked_as_often_as_allowed_and_not_once_more(limit, reason):
    model = RecordingModel(LoopingModel("look"))
    trace = watch(loop, model, {"look": look}, GOAL, max_steps=8, max_calls=limit)
    assert (trace.stopped, trace.steps, len(model.replies)) == (reason, limit, limit)


@pytest.mark.parametrize(
    ("options", "calls"),
    [({}, 200), ({"max_steps": 199}, 200), ({"max_steps": 200}, 201), ({"max_steps": 300}, 301)],
)
def test_a_loop_without_a_limit_is_ended_after_200_calls_or_one_more_than_max_steps(options, calls):
    trace = looping(endless, **options)
    assert (trace.stopped, trace.steps) == ("asked too often", calls)
    assert trace.detail.startswith(f"the model was asked more than {calls} times, in line ")
    assert lines(trace)[-1] == "history.append(model(history))"


@pytest.mark.parametrize("max_steps", ["3", None, 2.5, True, -5])
def test_an_odd_max_steps_changes_nothing_about_the_limit(max_steps):
    assert looping(endless, max_steps=max_steps).steps == 200


def test_a_huge_max_steps_does_not_lift_the_limit():
    def short(model, tools, goal, max_steps):
        for _ in range(max_steps):
            model(None)

    assert watch(short, lambda _: None, {}, GOAL, max_steps=10**9).steps == 10_000


def test_a_loop_that_catches_exceptions_is_ended_all_the_same():
    def stubborn(model, tools, goal):
        while True:
            try:
                model([])
            except Exception:
                pass

    assert looping(stubborn).stopped == "asked too often"
    assert not issubclass(LoopEnded, Exception)


def test_a_loop_that_catches_everything_is_ended_all_the_same():
    rounds = []

    def stubborn(model, tools, goal):
        while True:
            try:
                rounds.append(1)
                model([])
            except:
                pass

    trace = looping(stubborn)
    assert (trace.stopped, trace.steps) == ("asked too often", 200)
    # After the last reply it has a hundred lines to return in, and no more.
    assert 200 < len(rounds) < 230


def test_a_loop_that_takes_the_end_for_a_failure_may_return_but_the_reason_stays():
    def careful(model, tools, goal):
        try:
            while True:
                model([])
        except BaseException as problem:
            return {"answer": None, "stopped": "model error", "message": str(problem)}

    assert looping(careful).stopped == "asked too often"
    assert looping(agentlib.run_agent, max_steps=20, max_calls=5).stopped == "asked too often"


def spin(model, tools, goal):
    pass


SPINS = {
    "in the open": "while True:\n    pass",
    "on one line": "while True: pass",
    "in c": "for _ in itertools.count(): pass",
    "in a comprehension": "return [0 for _ in itertools.count()]",
    "in a generator expression": "return any(number < 0 for number in itertools.count())",
    "in a lambda": "return max(itertools.count(), key=lambda number: -number)",
    "that swallows": """while True:
    try:
        pass
    except:
        pass""",
    "inside of try": """while True:
    try:
        while True:
            pass
    except:
        continue""",
    "that keeps the error": """kept = []
while True:
    try:
        try:
            kept.append(0)
        except BaseException as problem:
            kept.append(problem)
    except:
        try:
            kept.append(1)
        except:
            kept.append(2)""",
    "with finally": """while True:
    try:
        goal = goal
    finally:
        continue""",
    "with suppress": """while True:
    with contextlib.suppress(BaseException):
        goal = goal""",
    "in a generator": "while True:\n    yield 1",
    "in a generator without lines": "yield from itertools.count()",
    "over a generator in c": """def numbers():
    yield from itertools.count()

return sum(numbers())""",
    "over a tool": 'while tools["look"]():\n    pass',
}
SPINS = {name: patch(spin, "pass", body) for name, body in SPINS.items()}


@pytest.mark.parametrize("run_agent", SPINS.values(), ids=SPINS)
def test_a_loop_that_spins_without_asking_is_ended(run_agent):
    trace = looping(run_agent, max_lines=2_000)
    assert trace.stopped == "ran too long"
    assert trace.detail.startswith("2,000 lines ran and the model was not asked again, in line ")
    assert of_kind(trace, "line")
    assert len(trace) < 5_000


def helper_spins_on_one_line():
    while True: pass  # noqa: E701 # fmt: skip


def test_a_module_with_the_name_of_one_of_pythons_own_is_looked_after_too():
    module = {"__name__": "queue"}
    exec("def spin():\n    while True:\n        pass\ndef run(*given):\n    spin()", module)
    assert looping(module["run"], max_lines=100).stopped == "ran too long"


@pytest.mark.parametrize("helper", [helper_spins, helper_spins_on_one_line])
def test_a_function_of_the_loop_that_spins_is_ended_too_even_if_the_loop_swallows_it(helper):
    def calls_helper(model, tools, goal):
        while True:
            try:
                helper()
            except:
                pass

    trace = looping(calls_helper, max_lines=100)
    assert trace.stopped == "ran too long"
    assert trace.detail.startswith("5,000 lines of the functions that it calls ran")
    assert "helper()" in lines(trace)


def test_a_loop_of_another_module_that_swallows_everything_is_ended():
    module = {"__name__": "somewhere_else", "rounds": []}
    body = "try:\n            rounds.append(1)\n            model([goal])\n        except:\n            pass"
    exec(f"def run(model, tools, goal):\n    while True:\n        {body}", module)
    assert looping(lambda *given: module["run"](*given)).stopped == "asked too often"
    assert 200 < len(module["rounds"]) < 230


def five_lines(model, tools, goal):
    goal = 2
    goal = 3
    goal = 4
    goal = 5
    return goal


@pytest.mark.parametrize(("limit", "reason"), [(5, "returned"), (4, "ran too long")])
def test_as_many_lines_run_as_allowed_and_not_one_more(limit, reason):
    assert looping(five_lines, max_lines=limit).stopped == reason


def hundred_lines():
    for _ in range(49):
        pass
    return 1


@pytest.mark.parametrize(("limit", "reason"), [(2, "returned"), (1, "ran too long")])
def test_the_functions_of_a_loop_may_run_fifty_times_as_many(limit, reason):
    # 49 rounds of two lines, the last look at the range, and the return: 100 lines.
    assert looping(lambda model, tools, goal: hundred_lines(), max_lines=limit).stopped == reason


def test_the_lines_are_counted_anew_from_each_call_of_the_model():
    trace = watch(loop, LoopingModel("look"), {"look": look}, GOAL, max_steps=150, max_lines=10)
    assert (trace.stopped, trace.steps) == ("step limit", 150)
    assert len(lines(trace)) == 1 + 150 * 7 + 2


def test_lines_of_the_model_and_of_tools_do_not_count():
    def busy(*_):
        return sum(number for number in range(5_000)) and answer("x")

    def rule(history):
        return busy()

    trace = watch(loop, RuleModel(rule), {"look": busy}, GOAL, max_lines=20)
    assert trace.stopped == "answered"
    assert "sum" not in " ".join(lines(trace))


def test_long_stretches_of_lines_are_not_written_down_in_full():
    def counting(model, tools, goal):
        history = [{"role": "user", "text": goal}]
        for number in range(1_000):
            goal = number
        history.append({"role": "user", "text": "done"})
        return goal

    trace = looping(counting)
    assert len(of_kind(trace, "line")) < 210
    place = kinds(trace).index("history", 4)
    assert trace.events[place - 1].kind == "line"
    assert text_of(trace, trace.events[place - 1].line).startswith("history.append")


def test_a_line_that_comes_by_again_and_again_is_told_once():
    def one_line(model, tools, goal):
        return [number for number in range(100)]

    assert lines(looping(one_line)) == ["return [number for number in range(100)]"]


# --- a person's interrupt ---------------------------------------------------------------------------


def interrupt(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("where", ["model", "tool", "loop"])
def test_an_interrupt_gives_the_trace_so_far(where):
    def interrupted(model, tools, goal):
        history = [{"role": "user", "text": goal}]
        if where == "loop":
            interrupt()
        reply = model(history)
        return tools[reply["tool"]]()

    model = interrupt if where == "model" else LoopingModel("look")
    trace = watch(interrupted, model, {"look": interrupt}, GOAL)
    assert (trace.stopped, trace.answer) == ("interrupted", None)
    assert trace.detail.startswith("a person interrupted the loop, in line ")
    assert (len(final(trace)), kinds(trace).count("crash")) == (1, 0)


def test_a_loop_that_swallows_an_interrupt_of_the_model_shows_it():
    def deaf(model, tools, goal):
        history = [{"role": "user", "text": goal}]
        try:
            model(history)
        except:
            history.append({"role": "user", "text": "on we go"})
        return {"answer": None, "stopped": "step limit"}

    trace = watch(deaf, interrupt, {}, GOAL)
    reply = of_kind(trace, "reply")[0]
    assert (reply.text, reply.entry["error"]) == ("raised", "KeyboardInterrupt")
    assert trace.stopped == "step limit"
    assert lines(trace)[-1].startswith("return")


def test_a_loop_that_swallows_an_interrupt_of_a_tool_shows_it():
    def deaf(model, tools, goal):
        try:
            tools["look"]()
        except BaseException:
            return {"answer": "made up", "stopped": "answered"}

    trace = once(deaf, tools={"look": interrupt})
    result = of_kind(trace, "result")[0]
    assert (result.text, result.entry["result"]["error"]) == ("raised", "KeyboardInterrupt")
    assert trace.stopped == "answered"


# --- a trace function that was there before ---------------------------------------------------------


class traced_by:
    """Sets a trace function for a while, as a debugger does; it has to be in place at the end, too.

    No generator: coverage would be told of its end and not of its going on.
    """

    def __init__(self, function):
        self.function = function

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self.function)

    def __exit__(self, kind, *_):
        still_there = sys.gettrace() == self.function
        sys.settrace(self.before)
        assert kind or still_there


class Tracer:
    """A trace function as a debugger's or coverage's: keeps what it is told of the functions it knows."""

    def __init__(self, wanted):
        self.wanted = {function.__code__ for function in wanted}
        self.seen = []
        self.ours = self.start

    def start(self, frame, event, arg):
        if frame.f_code not in self.wanted:
            return None
        self.seen.append((frame.f_code.co_name, event, frame.f_lineno))
        return self.first

    def first(self, frame, event, arg):
        self.seen.append((frame.f_code.co_name, event, frame.f_lineno))
        return self.further  # another function for the rest of the frame

    def further(self, frame, event, arg):
        self.seen.append((frame.f_code.co_name, f"{event} again", frame.f_lineno))
        return None  # as Python does it: the function stays

    def events_of(self, run):
        """What it sees while something runs."""
        self.seen = []
        with traced_by(self.ours):
            run()
        return self.seen


def counted_look():
    found = 140
    return found


def helped(model, tools, goal, max_steps=10):
    hundred_lines()
    result = loop(model, tools, goal, max_steps)
    return [part for part in result.items()]


@pytest.mark.parametrize("run_agent", [loop, helped, generator, decorated(loop)])
def test_a_debuggers_trace_function_gets_the_same_events_as_without_watching(run_agent):
    def arguments():
        return ScriptedModel([ask("look"), ask("look"), answer("x")]), {"look": counted_look}, GOAL

    def bare():
        result = run_agent(*arguments())
        if inspect.isgenerator(result):
            list(result)

    tracer = Tracer([loop, helped, generator, hundred_lines, counted_look, ScriptedModel.__call__])
    alone = tracer.events_of(bare)
    assert len(alone) > 30
    watched = tracer.events_of(lambda: watch(run_agent, *arguments()))
    assert watched == alone
    trace = watch(run_agent, *arguments())
    traces = []
    tracer.events_of(lambda: traces.append(watch(run_agent, *arguments())))
    assert traces == [trace]


def test_a_tracer_that_wants_no_lines_gets_none_and_hides_none():
    seen = []

    def without_lines(frame, event, arg):
        if frame.f_code is loop.__code__:
            frame.f_trace_lines = False
            seen.append(event)
        return without_lines

    with traced_by(without_lines):
        trace = once(loop)
    assert trace == once(loop)
    assert seen == ["call", "return"]


def test_the_trace_function_is_there_again_after_each_kind_of_end():
    def crashes(model, tools, goal):
        raise ValueError

    tracer = Tracer([loop])
    for run_agent in (loop, crashes, interrupt, SPINS["that swallows"], endless, five_lines):
        tracer.events_of(functools.partial(looping, run_agent, max_lines=100, max_calls=5))


def test_a_loop_that_is_ended_again_and_again_does_not_hide_lines_from_the_tracer():
    tracer = Tracer([SPINS["inside of try"]])
    seen = tracer.events_of(lambda: looping(SPINS["inside of try"], max_lines=50))
    assert len([event for event in seen if "line" in event[1]]) == 52


def test_a_tracer_that_did_not_ask_for_opcodes_gets_none():
    seen = Tracer([SPINS["on one line"]]).events_of(lambda: looping(SPINS["on one line"], max_lines=50))
    assert {event.removesuffix(" again") for _, event, _ in seen} <= {"call", "line", "exception", "return"}


def test_a_trace_function_that_puts_itself_in_place_is_watched_alongside():
    # Coverage's tracer does so at the first event that it gets through another one.
    seen = []

    def jealous(frame, event, arg):
        if event == "call":
            sys.settrace(jealous)
        if frame.f_code is loop.__code__:
            seen.append(event)
        return jealous

    with traced_by(jealous):
        trace = once(loop)
    assert trace == once(loop)
    assert seen.count("line") == kinds(trace).count("line")


def test_a_watch_inside_a_watch_shares_the_trace_function_that_was_there():
    def calm(frame, event, arg):
        return calm

    def jealous(frame, event, arg):
        if event == "call":
            sys.settrace(jealous)
        return jealous

    def ask_agent():
        return mugs().answer

    alone = once(loop, tools={"look": ask_agent})
    for tracer in (calm, jealous):
        with traced_by(tracer):
            assert once(loop, tools={"look": ask_agent}) == alone


def test_a_trace_function_that_takes_itself_away_stays_away():
    calls = []

    def shy(frame, event, arg):
        if frame.f_code is look.__code__:
            calls.append(event)
            sys.settrace(None)

    before = sys.gettrace()
    sys.settrace(shy)
    trace = once(loop, ask("look"), ask("look"), answer("140"))
    left = sys.gettrace()
    sys.settrace(before)
    assert (left, calls) == (None, ["call"])
    assert trace == once(loop, ask("look"), ask("look"), answer("140"))


def test_lines_after_watching_are_traced_in_the_same_function():
    def around():
        once(loop)
        one = 1
        return one

    seen = Tracer([around]).events_of(around)
    assert [line - around.__code__.co_firstlineno for _, event, line in seen if "line" in event] == [1, 2, 3]


def test_a_trace_function_that_raises_ends_the_loop_with_its_error():
    def angry(frame, event, arg):
        if frame.f_code is loop.__code__:
            raise OSError("the debugger was closed")
        return angry

    with traced_by(angry):
        trace = once(loop)
    assert (trace.stopped, trace.detail) == ("crashed", "OSError: the debugger was closed")


def test_watching_in_a_thread_leaves_other_threads_alone():
    elsewhere = []
    other = Tracer([hundred_lines])

    def in_another_thread():
        elsewhere.append(sys.gettrace())
        hundred_lines()
        return 140

    def starts_a_thread():
        thread = threading.Thread(target=in_another_thread)
        thread.start()
        thread.join()
        return 140

    results = []
    before = threading.gettrace()
    threading.settrace(other.ours)
    try:
        thread = threading.Thread(
            target=lambda: results.append((once(loop, tools={"look": starts_a_thread}), sys.gettrace()))
        )
        thread.start()
        thread.join()
    finally:
        threading.settrace(before)
    assert results == [(once(loop), other.ours)]
    assert elsewhere == [other.ours]
    assert [event for _, event, _ in other.seen][:2] == ["call", "line"]
    assert len(other.seen) == 102


def test_the_trace_function_of_a_watch_that_is_over_does_nothing_any_more():
    kept = []
    once(lambda model, tools, goal: kept.append(sys.gettrace()), max_lines=1)
    before = sys.gettrace()
    sys.settrace(kept[0])
    result = hundred_lines()
    sys.settrace(before)
    assert result == 1


def test_a_loop_left_half_way_is_no_longer_watched():
    kept = []

    def leaves(model, tools, goal):
        def inner():
            while True:
                yield 1

        kept.append(inner())
        return next(kept[0])

    assert once(leaves, max_lines=10).stopped == "returned"
    rest = itertools.islice(kept[0], 50)
    # A debugger that does not look into the generator leaves in place what watching had put there.
    Tracer([]).events_of(lambda: list(rest))
    assert next(kept[0]) == 1
