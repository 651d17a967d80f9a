"""`trim` loses no field of an error unsaid and keeps to its limit; `clear_results` never grows."""

import copy
import functools
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentlib.costs import estimate_tokens
from agentlib.course import check
from agentlib.errors import SummaryError, WindowError
from agentlib.memory import CompactWhenFull, clear_results, compact, split_steps, trim
from agentlib.messages import is_error, json_text, user
from tests.invariants import assert_every_request_answered

ROOT = Path(__file__).parent.parent.parent
NOTE_FITS = 60
"""From so many characters on an error has room for a note, whatever its length."""

quick = settings(max_examples=60, derandomize=True, database=None, deadline=None)

# --- any history ------------------------------------------------------------------------------------

words = st.text(st.characters(codec="utf-8"), max_size=40)
texts = words | st.sampled_from(["x", "\u8bfb", "\0", '"', "\U0001f600"]).flatmap(
    lambda sign: st.integers(0, 5_000).map(lambda size: sign * size)
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | texts,
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(words, inside, max_size=4),
    max_leaves=6,
)
errors = st.builds(
    lambda code, rest: {"error": code, **rest},
    texts,
    st.dictionaries(st.sampled_from(["message", "code", "opens", "details"]) | words, values, max_size=4),
)
results = values | errors | st.integers(1, 99_999).map(lambda chars: f"[{chars} characters left out]")


@st.composite
def histories(draw):
    """A goal and steps of one or several requests, with notes and empty replies between, all pairs whole."""
    history = [user(draw(texts))]
    if draw(st.booleans()):
        history.append(user("Summary of earlier steps: " + draw(words)))
    for step in range(draw(st.integers(0, 6))):
        number = draw(st.integers(1, 3))
        calls = [{"id": f"call_{n}", "tool": draw(words), "input": {"n": draw(texts)}} for n in range(number)]
        reply = (
            {"type": "tools", "calls": calls, "text": draw(words)}
            if number > 1
            else {"type": "tool", **calls[0]}
        )
        history.append({"role": "model", **reply})
        history += [
            {"role": "tool", "id": c["id"], "tool": c["tool"], "result": draw(results)} for c in calls
        ]
        if draw(st.booleans()):
            history.append(user(draw(words)))
        if draw(st.booleans()) and step % 2:
            history += [{"role": "model", "type": "empty", "text": ""}, user("Your reply was empty.")]
    return history


# --- clear_results ----------------------------------------------------------------------------------


@quick
@given(history=histories(), keep=st.integers(0, 4))
def test_cleared_results_take_no_more_room_and_clearing_twice_changes_nothing(history, keep):
    before = copy.deepcopy(history)
    cleared = clear_results(history, keep)
    assert history == before
    assert len(cleared) == len(history)
    for old, new in zip(history, cleared, strict=True):
        assert len(json_text(new)) <= len(json_text(old))
        assert {name: value for name, value in new.items() if name != "result"} == {
            name: value for name, value in old.items() if name != "result"
        }
    assert estimate_tokens(cleared) <= estimate_tokens(history)
    assert clear_results(cleared, keep) == cleared
    assert_every_request_answered(cleared)
    assert cleared[0] == history[0]
    kept = sum(len(step) for step in split_steps(history)[1][-keep:]) if keep else 0
    assert cleared[len(cleared) - kept :] == history[len(history) - kept :]


@quick
@given(history=histories(), more=histories(), keep=st.integers(0, 3))
def test_clearing_as_the_history_grows_is_clearing_at_the_end(history, more, keep):
    steps = [entry for step in split_steps(more)[1] for entry in step]
    assert clear_results([*clear_results(history, keep), *steps], keep) == clear_results(
        [*history, *steps], keep
    )


@pytest.mark.parametrize("chars", range(15, 45))
def test_the_note_is_never_longer_than_what_it_replaces(chars):
    for result in ("x" * chars, ["x" * chars], {"error": "x" * chars}):
        history = [user("Read."), {"role": "model", "type": "tool", "id": "1", "tool": "look", "input": {}}]
        history.append({"role": "tool", "id": "1", "tool": "look", "result": result})
        once = clear_results(history, 0)
        assert len(json_text(once)) <= len(json_text(history))
        assert clear_results(once, 0) == once


# --- trim -------------------------------------------------------------------------------------------


def size(result):
    return len(result if isinstance(result, str) else json_text(result))


@quick
@given(result=results, limit=st.integers(40, 300))
def test_a_trimmed_result_keeps_to_its_limit_and_trimming_twice_changes_nothing(result, limit):
    before = copy.deepcopy(result)
    short = trim(result, limit)
    assert result == before
    if size(short) > limit:
        assert is_error(short)
        assert limit < NOTE_FITS  # where only its words count
        assert len("".join(short.values())) <= limit
    assert is_error(short) == is_error(result)
    assert trim(short, limit) == short
    if size(result) <= limit:
        assert short == result
    elif limit >= NOTE_FITS or not is_error(result):
        assert "characters left out]" in json_text(short)


@quick
@given(error=errors, limit=st.integers(NOTE_FITS, 300))
def test_no_field_of_an_error_is_lost_unsaid(error, limit):
    short = trim(error, limit)
    if "characters left out]" not in json_text(short):
        assert short == error


def test_the_other_fields_of_an_error_are_kept_as_far_as_they_fit():
    error = {"error": "closed", "message": "m" * 40, "opens": "9:00", "details": "d" * 5_000}
    short = trim(error, 200)
    assert short["error"] == "closed"
    assert "m" * 40 in short["message"]
    assert '"opens":"9:00"' in short["message"]
    assert "characters left out]" in short["message"]
    assert size(short) <= 200
    bare = trim({"error": "closed", "opens": "9:00", "details": "d" * 5_000}, 200)
    assert bare["error"] == "closed"
    assert "9:00" in bare["message"]


def test_an_error_is_cut_no_more_than_needed():
    for letter, least in (("m", 195), ('"', 195), ("\0", 190), ("\u8bfb", 195)):
        short = trim({"error": "not_found", "message": letter * 5_000}, 200)
        assert short["error"] == "not_found"
        assert least <= size(short) <= 200


def test_the_limit_of_an_error_is_exact():
    error = {"error": "e", "message": "m" * 174}
    assert size(error) == 200
    assert trim(error, 200) is error
    assert "left out" in trim(error, 199)["message"]
    assert size(trim(error, 199)) <= 199


@pytest.mark.parametrize("message", [None, 7, ["a"], {"deep": "x" * 500}])
def test_a_message_that_is_no_text_is_kept_in_words(message):
    short = trim({"error": "e", "message": message, "more": "x" * 500}, 200)
    assert is_error(short)
    assert size(short) <= 200
    assert "left out" in json_text(short)


# --- the exercise and the library -------------------------------------------------------------------


@functools.cache
def solution():
    """The functions of the solution of ex07."""
    cells = json.loads((ROOT / "solutions" / "ex07_keep_it_short.ipynb").read_text(encoding="utf-8"))["cells"]
    names = {"json": json}
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and source.startswith("def "):
            exec(source, names)
    return names


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_exercise_accepts_the_librarys_trim(seed):
    report = check("ex07_keep_it_short", trim, solution()["compact"], seed=seed)
    assert report.points == 10, str(report)


@quick
@given(text=texts, limit=st.integers(40, 300))
def test_both_cut_the_same_texts_and_keep_both_ends(text, limit):
    ours, theirs = trim(text, limit), solution()["trim"](text, limit)
    assert (ours == text) == (theirs == text) == (len(text) <= limit)
    if len(text) > limit:
        room = (limit - 40) // 2
        assert ours[:room] == theirs[:room]
        assert ours[len(ours) - room :] == theirs[len(theirs) - room :]


@quick
@given(row=st.dictionaries(words, st.integers() | words, max_size=5), keep=st.lists(words, max_size=3))
def test_both_pick_the_same_fields(row, keep):
    assert trim(row, 10_000, keep) == solution()["trim"](row, 10_000, keep)


# --- compact, and the compactor ---------------------------------------------------------------------


@quick
@given(history=histories(), keep=st.integers(0, 4), summary=words)
def test_compact_keeps_the_goal_the_pairs_and_the_last_steps(history, keep, summary):
    before = copy.deepcopy(history)
    try:
        short = compact(history, keep, lambda old: summary)
    except SummaryError:
        return
    assert history == before
    assert short[0] == history[0]
    assert_every_request_answered(short)
    kept = sum(len(step) for step in split_steps(history)[1][-keep:]) if keep else 0
    assert short[len(short) - kept :] == history[len(history) - kept :]
    assert len(json_text(short)) <= len(json_text(history))


@quick
@given(history=histories(), keep=st.integers(0, 2), window=st.integers(30, 3_000), summary=words)
def test_what_the_compactor_lets_through_fits_the_window(history, keep, window, summary):
    memory = CompactWhenFull(window, keep, lambda old: summary)
    before, steps = split_steps(history)
    grown = list(before)
    for step in [*steps, []]:
        try:
            read = memory(copy.deepcopy(grown))
        except WindowError:
            return
        assert read[0] == history[0]
        assert estimate_tokens(read) <= window
        assert_every_request_answered(read)
        assert memory(copy.deepcopy(grown)) == read
        grown += step
