"""Traces: what happened in a run, saved as JSON lines, loaded, replayed and compared."""

import json

import pytest

from agentlib import Event, Trace, answer, ask, ask_together, compare, replay, run_agent, tool
from agentlib.errors import ReplayError, TraceFileError
from agentlib.labs import blue_mugs
from agentlib.messages import user
from agentlib.models import LoopingModel, RecordingModel, ScriptedModel
from agentlib.stops import RepeatedCall, StopReason
from agentlib.watch import watch


def mugs(max_steps=10) -> Trace:
    return run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL, max_steps).trace


# --- what is in it ----------------------------------------------------------------------------------


def test_a_trace_says_what_the_run_was():
    trace = mugs()
    assert (trace.goal, trace.steps, trace.stopped) == (blue_mugs.GOAL, 4, "answered")
    assert trace.answer == blue_mugs.SCRIPT[-1]["text"]
    assert (len(trace), trace.detail, trace.watched, trace.problem) == (len(trace.events), "", False, "")
    assert trace.about["max_steps"] == 10
    assert trace.about["tools"] == ["stock_level"]
    assert repr(trace) == f"Trace(4 steps, {len(trace)} events, stopped: answered)"


def test_the_events_of_each_step_come_in_the_order_of_the_four_moves():
    kinds = [event.kind for event in mugs(2)]
    assert kinds == ["start", *["ask", "reply", "act", "result"] * 2, "stop"]


def test_histories_are_what_the_model_read_at_each_call():
    model = RecordingModel(blue_mugs.model())
    trace = run_agent(model, blue_mugs.TOOLS, blue_mugs.GOAL).trace
    assert trace.histories() == model.histories
    assert trace.replies() == [entry for entry in trace.history_after(len(trace)) if entry["role"] == "model"]


def test_the_history_after_each_event_grows_by_what_was_recorded():
    trace = mugs(1)
    assert [len(trace.history_after(number)) for number in range(len(trace) + 1)] == [0, 1, 1, 2, 2, 3, 3]


def test_the_request_of_an_act_and_of_a_result_is_found_in_its_own_reply():
    script = [ask_together({**ask("look", n=1), "id": "a"}), ask_together({**ask("look", n=2), "id": "a"})]
    trace = run_agent(ScriptedModel(script), {"look": lambda n: n}, "Goal", 2).trace
    found = [trace.request(number) for number, event in enumerate(trace) if event.kind in ("act", "result")]
    assert [call["input"]["n"] for call in found] == [1, 1, 2, 2]


def test_a_trace_without_an_end_knows_no_reason():
    trace = Trace(mugs().events[:5])
    assert (trace.stopped, trace.answer, trace.detail, trace.goal) == (None, None, "", "")
    assert replay(Trace(trace.events, {"goal": "g"})).stopped == "end of the recording"


def test_traces_are_equal_by_their_events_alone():
    assert mugs() == mugs()
    assert mugs() == Trace(mugs().events, {"goal": "other"}, problem="cut off")
    assert mugs() != mugs(3)


def test_an_event_leaves_out_what_is_not_set():
    named = {"id": "call_1", "text": "look"}
    assert Event("act", 1, **named).as_dict() == {"kind": "act", "step": 1, **named}
    assert Event("ask", 0, read=[]).as_dict() == {"kind": "ask", "step": 0, "read": []}


# --- files ------------------------------------------------------------------------------------------


def test_a_trace_is_saved_as_json_lines_with_a_version_in_the_first(tmp_path):
    trace = mugs()
    path = trace.save(tmp_path / "run.jsonl")
    lines = [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]
    assert lines[0]["agentlib_trace"] == 1
    assert lines[0]["goal"] == blue_mugs.GOAL
    assert len(lines) == 1 + len(trace)
    loaded = Trace.load(str(path))
    assert (loaded, loaded.about, loaded.problem) == (trace, trace.about, "")


def test_line_ends_of_another_system_make_no_difference(tmp_path):
    path = mugs().save(tmp_path / "run.jsonl")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert (Trace.load(path), Trace.load(path).problem) == (mugs(), "")


def test_a_file_that_was_cut_off_anywhere_loads_up_to_its_last_whole_line_and_says_so(tmp_path):
    trace = mugs(2)
    whole = trace.save(tmp_path / "whole.jsonl").read_bytes()
    path = tmp_path / "cut.jsonl"
    first = whole.index(b"\n") + 1
    for length in range(first, len(whole)):
        path.write_bytes(whole[:length])
        loaded = Trace.load(path)
        line_is_whole = whole[length - 1 : length] != b"\n" and whole[length : length + 1] == b"\n"
        events = whole[:length].count(b"\n") - 1 + line_is_whole
        assert loaded.events == trace.events[:events]
        if length < len(whole) - 1:
            assert loaded.problem == f"{path} is cut off: {events} whole events of {len(trace)} were read."
        else:  # only the last line break is missing
            assert (loaded, loaded.problem) == (trace, "")


NO_TRACES = [b"", b"\n", b"hello\n", b"{}\n", b"[1]\n", b"\xff\xfe\n", b'{"kind": "start"}\n']


@pytest.mark.parametrize("content", [*NO_TRACES, b'{"agentlib_trace": 1', b"[" * 5000])
def test_a_file_that_is_no_trace_is_refused_with_its_name_and_line(tmp_path, content):
    path = tmp_path / "other.txt"
    path.write_bytes(content)
    with pytest.raises(TraceFileError, match=r"other\.txt, line 1: expected a saved trace") as raised:
        Trace.load(path)
    assert (raised.value.path, raised.value.line) == (str(path), 1)


@pytest.mark.parametrize("version", [2, 99, 0, "1", None, True, 1.0])
def test_a_trace_of_another_version_is_refused(tmp_path, version):
    path = tmp_path / "later.jsonl"
    path.write_text(json.dumps({"agentlib_trace": version}) + "\n")
    with pytest.raises(TraceFileError, match=rf"later\.jsonl, line 1: the trace is of version {version!r}"):
        Trace.load(path)


def saved_with(trace, folder, **changes):
    """The file of a trace with something else in its first line."""
    path = trace.save(folder / "run.jsonl")
    first, *others = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps({**json.loads(first), **changes}), *others]) + "\n")
    return path


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("tools", 5, "'tools' should be a valid list, but was '5'"),
        ("tools", None, "'tools' should be a valid list, but was 'None'"),
        ("repeatable", "stock_level", "'repeatable' should be a valid list"),
        ("events", "12", "'events' should be a valid integer"),
        ("events", True, "'events' should be a valid integer"),
        ("made_by", [], "'made_by' should be a valid string"),
        ("max_result_chars", "many", "'max_result_chars' should be a valid integer"),
        ("source", 1, "'source' should be a valid string"),
        ("first_line", {}, "'first_line' should be a valid integer"),
    ],
)
def test_a_first_line_that_cannot_be_replayed_is_refused_when_it_is_loaded(tmp_path, name, value, words):
    path = saved_with(mugs(1), tmp_path, **{name: value})
    with pytest.raises(TraceFileError, match=r"run\.jsonl, line 1: ") as raised:
        Trace.load(path)
    assert words in str(raised.value)


@pytest.mark.parametrize("max_steps", ["3", None, [], 0, 2.5])
def test_a_replay_whose_limit_is_no_number_of_steps_has_the_steps_that_were_recorded(tmp_path, max_steps):
    assert replay(Trace.load(saved_with(mugs(), tmp_path, max_steps=max_steps))).stopped == "answered"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("no json", "expected an event as JSON, but it is none"),
        ("", "expected an event as JSON"),
        ("[" * 5000, "expected an event as JSON"),
        ("[1]", '"kind" and "step"'),
        ('["ask", 1]', '"kind" and "step"'),
        ('{"kind": "ask"}', '"kind" and "step"'),
        ('{"kind": "ask", "step": 1, "colour": 2}', "an event has no field 'colour'"),
        ('{"kind": "ask", "step": "1"}', "'step' should be a valid integer, but was '1'"),
        ('{"kind": "ask", "step": true}', "'step' should be a valid integer"),
        ('{"kind": "ask", "step": 1, "entry": []}', "'entry' should be an object"),
        ('{"kind": 5, "step": 1}', "'kind' should be a valid string"),
        ('{"kind": "ask", "step": 1, "read": {}}', "'read' should be a valid array"),
    ],
)
def test_a_line_that_is_no_event_is_refused_with_its_number(tmp_path, line, words):
    path = mugs(1).save(tmp_path / "run.jsonl")
    lines = path.read_text().splitlines()
    lines[3] = line
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(TraceFileError, match=r"run\.jsonl, line 4: ") as raised:
        Trace.load(path)
    assert words in str(raised.value)
    assert raised.value.line == 4


def test_a_watched_history_of_anything_loads_again(tmp_path):
    def loop(model, tools, goal):
        history = [goal]
        history += [5, None, model(history)]

    trace = watch(loop, lambda history: "done", {}, "Goal")
    assert any("Goal" in (event.read or ()) for event in trace)
    assert Trace.load(trace.save(tmp_path / "run.jsonl")) == trace


def test_a_file_that_is_not_there_is_not_found(tmp_path):
    with pytest.raises(FileNotFoundError):
        Trace.load(tmp_path / "none.jsonl")


# --- replay -----------------------------------------------------------------------------------------


def test_a_replay_needs_neither_the_model_nor_the_tools_and_gives_the_same_run():
    run = run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL)
    again = replay(run.trace)
    assert again.trace == run.trace
    assert (again.answer, again.history, again.usage) == (run.answer, run.history, run.usage)


def test_a_replay_with_its_stop_rules_proves_that_they_still_stop_there():
    run = run_agent(LoopingModel("look"), {"look": lambda: 1}, "Goal", stops=RepeatedCall(3))
    assert replay(run.trace, stops=RepeatedCall(3)).trace == run.trace
    assert replay(run.trace, stops=RepeatedCall(2)).trace != run.trace


def test_a_replay_keeps_what_was_declared_repeatable():
    look = tool(lambda: 1, name="look", repeatable=True)
    run = run_agent(LoopingModel("look"), [look], "Goal", 5, stops=RepeatedCall(3))
    assert replay(run.trace, stops=RepeatedCall(3)).trace == run.trace


def test_a_replay_passes_over_the_results_of_requests_that_were_refused():
    same, other = ask("look", n=1), ask("look", n=2)
    script = [same, same, same, ask_together(same, other), other, ask("look", n=3), answer("done")]
    rule = RepeatedCall(3, then="note")
    run = run_agent(ScriptedModel(script), {"look": lambda n: n}, "Goal", stops=rule)
    assert (run.stopped, run.tool_runs) == ("answered", 4)
    assert replay(run.trace, stops=rule).trace == run.trace


def test_a_tool_that_gets_another_input_than_was_recorded_is_noticed():
    look = mugs().tools()["stock_level"]
    with pytest.raises(ReplayError, match="stock_level got another input"):
        look(warehouse="east")


def test_a_tool_that_is_asked_once_more_than_was_recorded_is_noticed():
    look = mugs(1).tools()["stock_level"]
    assert look(warehouse="North")["error"] == "tool_failed"
    with pytest.raises(ReplayError, match="stock_level was asked once more"):
        look(warehouse="North")


def test_a_tool_of_a_watched_loop_raises_again_where_it_raised():
    error = {"role": "tool", "id": "", "tool": "look", "result": {"error": "KeyError", "message": "no shelf"}}
    asked = Event("ask", 1), Event("reply", 1, ask("look")), Event("act", 1, text="look")
    events = (*asked, Event("result", 1, error, ran=True, text="raised"))
    look = Trace(events, {"made_by": "watch"}).tools()["look"]
    with pytest.raises(KeyError, match=r"^no shelf$"):
        look()


def test_a_history_of_another_length_is_noticed_by_the_replaying_model():
    model = mugs().model()
    with pytest.raises(ReplayError, match="model call 1 read another history"):
        model([user("Goal"), user("more")])


def test_a_recorded_model_drives_a_hand_written_loop_too():
    model = mugs().model()
    history = [user(blue_mugs.GOAL)]
    while (reply := model(history))["type"] != "answer":
        history += [reply, {"role": "tool", "result": 1}]
    assert reply["text"] == mugs().answer


# --- comparing --------------------------------------------------------------------------------------


def test_equal_traces_have_no_differences():
    assert compare(mugs(), mugs()) == []


def test_a_different_result_is_shown_at_its_step_and_the_steps_after_it_are_compared_on_their_own():
    def run(north):
        script = [ask("north"), ask("south"), answer("done")]
        return run_agent(ScriptedModel(script), {"north": lambda: north, "south": lambda: 95}, "Goal").trace

    (difference,) = compare(run(140), run(141))
    assert (difference.step, difference.left.kind) == (1, "result")
    assert (difference.left.entry["result"], difference.right.entry["result"]) == (140, 141)
    assert str(difference).startswith("step 1: result ")
    assert " against result " in str(difference)


def test_a_longer_trace_shows_what_the_other_does_not_have():
    differences = compare(mugs(2), mugs(3))
    more = [(3, None, kind) for kind in ("ask", "reply", "act", "result", "stop")]
    found = [(d.step, d.left and d.left.kind, d.right and d.right.kind) for d in differences]
    assert found == [(2, "stop", None), *more]
    assert "against nothing" in str(differences[0])


def test_lines_of_a_watched_loop_are_not_compared():
    one = Trace((Event("line", 1, line=5), Event("ask", 1)))
    other = Trace((Event("ask", 1), Event("history", 1, entries=1)))
    assert compare(one, other) == []


def test_the_reason_of_a_trace_is_plain_text_and_equals_the_runs():
    run = run_agent(LoopingModel("look"), {"look": lambda: 1}, "Goal", 1)
    assert type(run.stopped) is StopReason
    assert (type(run.trace.stopped), run.trace.stopped) == (str, run.stopped)
