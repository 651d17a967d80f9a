"""What the player gets beside captions: variables, what is to be recorded, meters, notices, limits."""

import importlib.util
import json
import sys

import pytest

from agentlib import answer, ask, run_agent
from agentlib.labs import blue_mugs
from agentlib.models import LoopingModel, ScriptedModel
from agentlib.trace import Trace
from agentlib.views.building import FIRST_STEPS, LAST_STEPS
from agentlib.views.frames import frames
from agentlib.views.tracer.static import static_tracer
from agentlib.views.tracer.timeline import timeline
from agentlib.watch import watch
from tests import player_loops

GOAL = "How many mugs?"


def stock_level(warehouse):
    return {"north": 140}[warehouse]


def played(loop, *replies, **options):
    model = ScriptedModel([*replies, answer("140.")])
    return timeline(watch(loop, model, {"stock_level": stock_level}, GOAL, **options))


def at(data, code, nth=1):
    """The nth frame of a timeline that lights the line with this code."""
    lit = [
        frame
        for frame in data["frames"]
        if frame["line"] and data["lines"][frame["line"] - data["first_line"]].strip().startswith(code)
    ]
    return lit[nth - 1]


NORTH = ask("stock_level", warehouse="north")
SOUTH = ask("stock_level", warehouse="South")


# --- variables --------------------------------------------------------------------------------------


def test_a_frame_names_the_variables_that_it_has_changed_and_the_first_one_those_it_was_called_with():
    data = played(player_loops.plain_for, NORTH)
    assert data["frames"][0]["vars"] == {"goal": '"How many mugs?"', "max_steps": "4"}
    assert at(data, "for step")["vars"] == {"step": "0"}
    assert at(data, "reply = model")["vars"] == {"reply": 'stock_level("north")'}
    assert at(data, "reply = model", 2)["vars"] == {"reply": 'answer "140."'}
    assert "vars" not in at(data, "if reply")


def test_a_variable_that_is_gone_is_null():
    data = played(player_loops.plain_for, SOUTH)
    assert at(data, "except")["vars"] == {"problem": 'KeyError("South")'}
    assert at(data, "result = {")["vars"]["problem"] is None


def test_a_function_inside_shows_its_variables_beside_those_of_the_loop():
    def loop(model, tools, goal):
        def act(reply):
            result = tools["stock_level"](**reply["input"])
            return result

        history = [{"role": "user", "text": goal}]
        reply = model(history)
        result = {"warehouse": act(reply)}
        history += [reply, result]
        return result

    data = played(loop, NORTH)
    assert "vars" not in at(data, "result = {")  # the same reply, so that there is nothing new to show
    inside = at(data, "result = tools")
    assert inside["vars"] == {"result": "140"}
    back = at(data, "return result")
    assert back["vars"] == {"result": '{"warehouse": 140}'}
    assert {"line": at(data, "result = {")["line"], "text": 'result = {"warehouse": 140}'} in back["values"]


def test_a_name_that_two_functions_use_is_shown_with_the_function_it_is_in():
    def loop(model, tools, goal):
        def doubled(number):
            number = number * 2
            return number

        number = 4
        other = doubled(number)
        model([{"role": "user", "text": goal}])
        return other + number

    data = played(loop)
    assert at(data, "number = number")["vars"] == {"number in doubled": "8"}
    assert at(data, "return number")["vars"] == {"number in doubled": None, "other": "8"}


def test_the_last_line_of_a_run_shows_what_it_has_set():
    data = played(player_loops.try_finally)
    assert at(data, "asked += 1")["vars"] == {"asked": "1"}


# --- what is to be recorded -------------------------------------------------------------------------


def test_a_reply_and_a_result_are_shown_until_they_stand_in_the_history():
    data = played(player_loops.plain_for, NORTH)
    reply = {"who": "model", "text": 'requests stock_level("north")', "recorded": True}
    assert at(data, "reply = model")["coming"] == reply
    assert at(data, "history.append(reply)")["coming"] is None
    assert at(data, "history.append(reply)")["new"] == [1]
    assert at(data, "result = tools")["coming"]["text"] == "stock_level gave 140"
    assert at(data, "history.append({")["coming"] is None


def test_a_reply_that_never_comes_into_the_history_is_not_said_to_come():
    data = played(player_loops.record_both_at_the_end)
    assert at(data, "reply = model")["coming"]["recorded"] is False
    assert data["frames"][-1]["coming"] is None


def set_anew(model, tools, goal):
    number = 0
    for text in ["1", "x"]:
        model([goal])
        try:
            number = int(text)
        except ValueError:
            return number


def gives_none(model, tools, goal):
    model([goal])
    return None


def counts_for_ever(model, tools, goal):
    n = 0
    while True:
        n = n + 1


def test_a_line_that_raises_does_not_show_the_value_that_it_would_have_set_anew():
    data = timeline(watch(set_anew, ScriptedModel([NORTH, NORTH]), {}, GOAL))
    first, second = (at(data, "number = int", nth)["values"][0]["text"] for nth in (1, 2))
    assert (first, second) == ("number = 1", "raises an error")


def test_a_line_whose_tool_raises_again_shows_that_and_not_the_result_of_before():
    data = played(player_loops.plain_for, SOUTH, SOUTH)
    texts = [at(data, "result = tools", nth)["values"][0]["text"] for nth in (1, 2)]
    assert [text.startswith("raises ") for text in texts] == [True, True]


def test_a_loop_that_returns_none_by_a_return_is_not_said_to_lack_one():
    data = timeline(watch(gives_none, ScriptedModel([NORTH]), {}, GOAL))
    line = at(data, "return None")["line"]
    assert f"Your loop returned None in line {line}." in data["frames"][-1]["caption"]


def test_very_many_lines_in_a_row_are_said_to_be_left_out_and_no_line_is_said_to_have_set_what_others_did():
    data = timeline(watch(counts_for_ever, ScriptedModel([]), {}, GOAL))
    assert "more than 200 lines" in data["notice"]
    assert data["frames"][-2]["caption"].endswith(
        "runs, and after it lines that are not shown. In the end `n` is `9999`."
    )


def test_a_single_backtick_in_a_goal_leaves_the_code_of_a_caption_code():
    data = timeline(watch(player_loops.plain_for, ScriptedModel([answer("it`s")]), {}, "a ` b"))
    assert all(frame["caption"].count("`") % 2 == 0 for frame in data["frames"])


def test_a_result_that_is_an_error_and_a_request_that_comes_again_are_marked():
    data = played(player_loops.plain_for, SOUTH, SOUTH)
    act = at(data, "result = tools")
    assert (act["mark"], act["coming"]["marks"]) == ("error", ["error"])
    again = at(data, "reply = model", 2)
    assert (again["mark"], again["coming"]["marks"]) == ("repeat", ["repeat"])
    assert data["frames"][-1]["mark"] == "stop"


def test_a_run_of_the_library_has_the_same_signs():
    run = run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL)
    marks = [frame["mark"] for frame in timeline(run.trace)["frames"] if "mark" in frame]
    assert marks == ["error", "stop"]


# --- meters -----------------------------------------------------------------------------------------


def meters(data):
    return [frame["meter"] for frame in data["frames"] if "meter" in frame]


def test_coins_that_a_loop_counts_are_shown_as_soon_as_they_are_spent():
    data = played(player_loops.counting_coins, NORTH)
    used = [[(one["name"], one["used"], one["limit"]) for one in meter] for meter in meters(data)]
    assert used == [[("coins", 0, 12)], [("coins", 1, 12)], [("coins", 4, 12)]]
    assert "meter" in at(data, "costs.append")


def test_several_budgets_stand_side_by_side():
    data = played(player_loops.spending, NORTH)
    names = {one["name"]: (one["used"], one["limit"]) for one in meters(data)[-1]}
    assert names["spent"] == (10, 20)


def test_an_object_that_counts_has_a_meter_too():
    data = timeline(watch(player_loops.Agent().run, ScriptedModel([answer("x")]), {}, GOAL))
    assert meters(data)[-1] == [{"name": "budget", "used": 1, "limit": 10}]


@pytest.mark.parametrize(
    "name", ["plain_for", "while_condition", "long_condition", "global_state", "with_state"]
)
def test_the_steps_themselves_have_no_second_meter(name):
    assert meters(played(getattr(player_loops, name), NORTH)) == []


# --- limits and notices -----------------------------------------------------------------------------


def long_run(steps):
    def run_agent(model, tools, goal, max_steps):
        history = [{"role": "user", "text": goal}]
        while len(history) <= max_steps:
            reply = model(history)
            history.append(reply)

    return watch(run_agent, LoopingModel("look"), {"look": len}, GOAL, max_steps=steps)


@pytest.mark.parametrize(
    ("steps", "cut"), [(FIRST_STEPS + LAST_STEPS, False), (FIRST_STEPS + LAST_STEPS + 1, True)]
)
def test_of_a_long_run_the_first_and_the_last_steps_have_frames(steps, cut):
    trace = long_run(steps)
    told, data = frames(trace), timeline(trace)
    shown = sorted({frame.step for frame in told})
    missing = [FIRST_STEPS + 1] if cut else []
    assert shown == [step for step in range(steps + 1) if step not in missing]
    assert told[-1].step == steps
    assert list(told[-1].history) == trace.history_after(len(trace))
    words = f"The run has {steps} steps: the first 500 and the last 50 are kept."
    assert data.get("notice", "") == (words if cut else "")
    assert (words in static_tracer({"": trace}).text) is cut
    assert len(data["calls"]) == steps


def test_a_run_of_the_library_is_cut_too():
    run = run_agent(LoopingModel("look"), {"look": lambda: 1}, GOAL, max_steps=600)
    told = frames(run.trace)
    assert {frame.step for frame in told} == {*range(501), *range(551, 601)}
    assert list(told[-1].history) == run.history


def test_a_person_who_stops_a_run_that_never_ends_sees_at_once_where_it_was():
    seen = 0

    def run_agent(model, tools, goal, max_steps):
        history = [{"role": "user", "text": goal}]
        while True:
            history.append(model(history))

    def model(history):
        nonlocal seen
        seen += 1
        if seen == 700:
            raise KeyboardInterrupt
        return ask("look")

    trace = watch(run_agent, model, {"look": len}, GOAL, max_steps=100_000)
    data = timeline(trace)
    assert trace.stopped == "interrupted"
    assert data["notice"].startswith("The run has 700 steps")
    assert {frame["step"] for frame in data["frames"]} == {*range(501), *range(651, 701)}


def test_a_run_that_is_whole_has_no_notice():
    assert "notice" not in played(player_loops.plain_for, NORTH)
    assert "remark" not in played(player_loops.plain_for, NORTH)


def test_none_returned_is_said_plainly():
    data = played(player_loops.returns_nothing)
    assert "Your loop returned None: is a `return` missing?" in data["frames"][-1]["caption"]


# --- a file that was written anew -------------------------------------------------------------------

LOOP = """\
def loop(model, tools, goal):
    history = [{"role": "user", "text": goal}]
    reply = model(history)
    return reply["text"]
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    file = tmp_path / "my_loop.py"
    file.write_text(LOOP, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("my_loop", file)
    made = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "my_loop", made)
    spec.loader.exec_module(made)
    return made, file


def test_a_file_that_was_written_anew_is_not_taken_for_what_ran(module):
    made, file = module
    file.write_text("# a line more\n" + LOOP.replace('reply["text"]', "42"), encoding="utf-8")
    data = played(made.loop)
    assert data["lines"] == []
    assert "was changed after it was loaded" in data["notice"]
    assert not any("42" in frame["caption"] for frame in data["frames"])


def test_a_file_that_was_read_before_it_was_written_anew_is_shown_as_it_ran(module):
    made, file = module
    before = played(made.loop)
    file.write_text("# a line more\n\n" + LOOP, encoding="utf-8")
    data = played(made.loop)
    assert data["lines"] == before["lines"] == LOOP.rstrip().split("\n")
    assert "notice" not in data


def test_a_file_in_which_only_other_things_have_changed_is_shown(module):
    made, file = module
    file.write_text(LOOP + "\n\ndef other():\n    return 1\n", encoding="utf-8")
    assert played(made.loop)["lines"] == LOOP.rstrip().split("\n")


# --- saved and old traces ---------------------------------------------------------------------------


def test_a_saved_trace_plays_the_same(tmp_path):
    trace = watch(
        player_loops.helper_inside, ScriptedModel([NORTH, answer("x")]), {"stock_level": stock_level}, GOAL
    )
    again = Trace.load(trace.save(tmp_path / "trace.jsonl"))
    assert json.dumps(timeline(again)) == json.dumps(timeline(trace))


def test_a_trace_of_the_first_form_still_plays():
    trace = watch(player_loops.plain_for, ScriptedModel([answer("x")]), {}, GOAL)
    first_form = [
        event._replace(call=0, caller=0, compared="", budgets=None, made_at=0) for event in trace.events
    ]
    old = timeline(Trace(tuple(first_form), trace.about))
    new = timeline(trace)
    assert [frame["line"] for frame in old["frames"]] == [frame["line"] for frame in new["frames"]]
    assert at(old, "if reply")["values"] == [{"line": at(old, "if reply")["line"], "text": "yes"}]


class _NoName(type):
    """The class of a class that raises whenever it is asked anything."""

    @property
    def __name__(cls):
        raise RuntimeError

    @property
    def __module__(cls):
        raise RuntimeError

    def __getattr__(cls, name):
        raise RuntimeError


class _Nameless(metaclass=_NoName):
    pass


def test_a_value_whose_very_class_raises_has_a_short_form_and_ends_no_run():
    def holds(model, tools, goal):
        odd = _Nameless()
        history = [{"role": "user", "text": goal}]
        reply = model(history)
        history.append({"role": "tool", "result": tools["odd"](odd)})
        return reply["text"]

    trace = watch(holds, ScriptedModel([answer("140")]), {"odd": lambda value: value}, GOAL)
    assert trace.stopped == "returned"
    shown = [frame["vars"]["odd"] for frame in timeline(trace)["frames"] if "odd" in frame.get("vars", {})]
    assert shown == ["<_Nameless>"]
