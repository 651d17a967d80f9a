"""A UTF-8 mark, Windows line ends, no last line break or one too many: the file is read whole."""

import json
import sys

import pytest

from agentlib import Trace, answer, ask, compare, run_agent
from agentlib.errors import ResultsFileError, ToolError, TraceFileError
from agentlib.evals import Case, evaluate
from agentlib.memory import Scratchpad
from agentlib.models import ScriptedModel
from agentlib.views.quiz.answers import VERSION, Answers
from agentlib.views.quiz.questions import FOLDER, load_questions

MARK = b"\xef\xbb\xbf"

CHANGES = {
    "as it was": lambda data: data,
    "a mark": lambda data: MARK + data,
    "Windows line ends": lambda data: data.replace(b"\n", b"\r\n"),
    "no last line break": lambda data: data.rstrip(b"\n"),
    "one line break too many": lambda data: data + b"\n",
    "several too many": lambda data: data + b"\n\r\n \n",
    "Notepad": lambda data: MARK + data.replace(b"\n", b"\r\n").rstrip(b"\r\n"),
    "Notepad with one too many": lambda data: MARK + data.replace(b"\n", b"\r\n") + b"\r\n",
}

changed = pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)


# --- traces -----------------------------------------------------------------------------------------


def a_trace():
    script = [ask("look"), answer("Gr\u00f6\u00dfe \u8bfb")]
    return run_agent(ScriptedModel(script), {"look": lambda: "one\u2028two\x85three"}, "Goal").trace


@changed
def test_a_trace_is_read_whole(change, tmp_path):
    path = a_trace().save(tmp_path / "trace.jsonl")
    path.write_bytes(change(path.read_bytes()))
    loaded = Trace.load(path)
    assert (loaded, loaded.problem, loaded.about) == (a_trace(), "", a_trace().about)
    assert compare(loaded, a_trace()) == []


@changed
def test_a_trace_that_was_cut_off_loads_up_to_its_last_whole_line(change, tmp_path):
    path = a_trace().save(tmp_path / "trace.jsonl")
    path.write_bytes(change(path.read_bytes()).rstrip()[:-9])
    loaded = Trace.load(path)
    assert len(loaded) == len(a_trace()) - 1
    assert "cut off" in loaded.problem


@changed
def test_a_line_that_is_no_event_is_named_by_its_number(change, tmp_path):
    path = a_trace().save(tmp_path / "trace.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = b'{"kind": "dance", "step": "one"}\n'
    path.write_bytes(change(b"".join(lines)))
    with pytest.raises(TraceFileError, match="line 3:"):
        Trace.load(path)


def test_a_file_of_nothing_is_no_trace(tmp_path):
    for content in (b"", MARK, b"\n", MARK + b"\r\n"):
        (tmp_path / "empty.jsonl").write_bytes(content)
        with pytest.raises(TraceFileError, match="line 1: "):
            Trace.load(tmp_path / "empty.jsonl")


def test_a_trace_of_one_line_without_a_line_break_is_a_trace(tmp_path):
    path = tmp_path / "trace.jsonl"
    path.write_text('{"agentlib_trace": 1, "events": 0}')
    loaded = Trace.load(path)
    assert (len(loaded), loaded.problem) == (0, "")


# --- results of an evaluation -----------------------------------------------------------------------


def evaluated(path, runs, asked):
    def make_model(rng):
        def model(history):
            asked.append(1)
            return answer("x")

        return model

    return evaluate([Case("case", "Goal", {}, lambda run: True)], make_model, runs=runs, file=path)


@changed
def test_nothing_that_is_done_is_paid_for_again(change, tmp_path):
    path, asked = tmp_path / "results.jsonl", []
    first = evaluated(path, 3, asked)
    path.write_bytes(change(path.read_bytes()))
    asked.clear()
    assert evaluated(path, 3, asked) == first
    assert asked == []


@changed
def test_what_is_added_later_is_read_too(change, tmp_path):
    path, asked = tmp_path / "results.jsonl", []
    evaluated(path, 2, asked)
    path.write_bytes(change(path.read_bytes()))
    asked.clear()
    report = evaluated(path, 4, asked)
    assert len(asked) == 2
    asked.clear()
    assert evaluated(path, 4, asked) == report
    assert asked == []
    lines = [line for line in path.read_bytes().removeprefix(MARK).split(b"\n") if line.strip()]
    assert [json.loads(line)["seed"] for line in lines] == [0, 1, 2, 3]


@changed
def test_only_a_line_that_was_cut_off_is_made_again(change, tmp_path):
    path, asked = tmp_path / "results.jsonl", []
    evaluated(path, 3, asked)
    path.write_bytes(change(path.read_bytes()).rstrip()[:-9])
    asked.clear()
    assert len(evaluated(path, 3, asked)) == 3
    assert len(asked) == 1


def test_a_file_that_holds_something_else_is_never_written_over(tmp_path):
    path = tmp_path / "notes.txt"
    for content in (b"my notes", MARK + b"my notes\r\n", b'{"version": 3}\n', b'{"other": 1}'):
        path.write_bytes(content)
        with pytest.raises(ResultsFileError):
            evaluated(path, 1, [])
        assert path.read_bytes() == content


# --- notes ------------------------------------------------------------------------------------------


@changed
def test_notes_are_read(change, tmp_path):
    pad = Scratchpad(tmp_path / "notes.json")
    pad.write_note("a", "Gr\u00f6\u00dfe")
    pad.path.write_bytes(change(pad.path.read_bytes()))
    assert pad.notes() == {"a": "Gr\u00f6\u00dfe"}
    pad.write_note("b", "more")
    assert pad.notes() == {"a": "Gr\u00f6\u00dfe", "b": "more"}


def test_notes_that_somebody_typed_are_read(tmp_path):
    pad = Scratchpad(tmp_path / "notes.json")
    pad.path.write_bytes(MARK + '{\r\n "a": "Gr\u00f6\u00dfe"\r\n}'.encode())
    assert pad.notes() == {"a": "Gr\u00f6\u00dfe"}


def test_notes_that_are_none_are_an_error_as_before(tmp_path):
    pad = Scratchpad(tmp_path / "notes.json")
    for content in (b"", MARK, b"my notes", b"\xff\xfe{\x00}\x00"):
        pad.path.write_bytes(content)
        with pytest.raises(ToolError, match="cannot be read"):
            pad.notes()


# --- quizzes ----------------------------------------------------------------------------------------


@changed
def test_what_a_learner_has_answered_is_read(change, tmp_path):
    kept = {"version": VERSION, "quizzes": {"02_blue_mugs": {"picked": [1]}}}
    answers = Answers(tmp_path)
    answers.path.write_bytes(change(json.dumps(kept, indent=1).encode() + b"\n"))
    assert (answers.read(), answers.problem) == (kept["quizzes"], "")


@changed
def test_questions_that_a_teacher_has_edited_are_read(change, tmp_path, monkeypatch):
    asked = load_questions("02_blue_mugs")
    data = (FOLDER / "02_blue_mugs.json").read_bytes()
    (tmp_path / "02_blue_mugs.json").write_bytes(change(data))
    monkeypatch.setattr(sys.modules[load_questions.__module__], "FOLDER", tmp_path)
    assert load_questions("02_blue_mugs") == asked
