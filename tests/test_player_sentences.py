"""What the player says of loops in many styles: the sentence, the line, the row, the values."""

import itertools
import re

import pytest

from agentlib.messages import json_ready
from agentlib.watch import watch
from tests.player_said import ANY, NAMES, SAID, loop_of, outcome, shown, watched


def value_at(frame):
    """What stands at the end of the lit line from this frame on."""
    return dict(frame.values).get(frame.line)


@pytest.mark.parametrize(
    ("name", "code", "nth", "move", "caption", "value", "new"),
    SAID,
    ids=[f"{said[0]}-{said[1][:20]}-{said[2]}" for said in SAID],
)
def test_what_is_said_of_a_line(name, code, nth, move, caption, value, new):
    frame = shown(name, code, nth)
    assert frame.move == move
    assert caption is ANY or re.sub(r"\b([Ll]ine) \d+", r"\1 N", frame.caption) == caption
    assert value is ANY or value_at(frame) == value
    assert frame.new == new


def test_there_are_loops_of_many_styles():
    assert len(NAMES) == len(set(NAMES)) >= 45
    assert {said[0] for said in SAID} | {"from_exec"} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_line_that_is_said_to_come_next_comes_next(name):
    _, told, source = watched(name)
    for frame, after in itertools.pairwise(told):
        for line in re.findall(r"line (\d+) (?:comes next|runs)\b", frame.caption, re.IGNORECASE):
            if not source.lines:
                continue
            is_plan = "runs at the end" in frame.caption  # what a `try` promises
            if not is_plan and "`lambda`" not in frame.caption:
                assert after.line == source.head(int(line)), (frame.caption, after.caption)


@pytest.mark.parametrize("name", NAMES)
def test_the_run_is_said_to_end_only_where_it_ends(name):
    _, told, _ = watched(name)
    said = [
        frame.number
        for frame in told
        if re.search("run ends|no further step|no further round", frame.caption)
    ]
    assert all(number >= len(told) - 3 for number in said)
    assert told[-1].stopped is not None


@pytest.mark.parametrize("name", NAMES)
def test_a_row_is_recorded_at_the_line_that_put_it_there(name):
    _, told, source = watched(name)
    for frame in told:
        if frame.new and frame.line and source.lines and "is what the model is given" not in frame.caption:
            statement = " ".join(source.text(line) for line in range(frame.line, frame.line + 4))
            assert re.search(
                r"history(\.append|\.extend| \+?= |, \w+ = |=)|recursive\(|\[\"warehouse\"\] =", statement
            )


@pytest.mark.parametrize("name", NAMES)
def test_the_history_is_no_variable_and_each_variable_has_a_short_form(name):
    _, told, _ = watched(name)
    for frame in told:
        assert not frame.vars.keys() & {"self", "tools", "model", "act", "handlers"}
        assert name == "keeps_a_window" or "history" not in frame.vars
        assert all(text is None or len(text) < 200 for text in frame.vars.values())
        assert all(len(text) < 130 for _, text in frame.values)


@pytest.mark.parametrize("name", NAMES)
def test_what_comes_is_shown_until_it_is_recorded(name):
    _, told, _ = watched(name)
    for frame, after in itertools.pairwise(told):
        if frame.coming is not None and frame.coming is not after.coming and after.coming is None:
            assert after.new or after.stopped or after.error or frame.coming["recorded"] is False
        if frame.stopped or frame.error:
            assert frame.coming is None


@pytest.mark.parametrize("name", NAMES)
def test_a_watched_loop_does_what_it_does_unwatched(name):
    traces = []

    def watch_it(model, tools, goal):
        traces.append(watch(loop_of(name), model, tools, goal))

    unwatched, seen = outcome(loop_of(name), name)
    _, seen_watched = outcome(watch_it, name)
    assert seen_watched == seen
    said = traces[0].events[-1].entry
    if traces[0].stopped == "crashed":
        assert str(said["detail"]).split(":")[0] in unwatched
    else:
        assert said["returned"] == json_ready(unwatched)[0]
