"""What the model reads: trimmed results, old steps summarised whole, notes that outlive a run and a crash."""

import copy
import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentlib import Trace, answer, ask, ask_together, compare, replay, run_agent, stops, tool
from agentlib._run import MAX_RESULT_CHARS
from agentlib.costs import estimate_tokens
from agentlib.errors import SummaryError, ToolError, WindowError
from agentlib.memory import (
    MIN_CHARS,
    SUMMARY_WORDS,
    CompactWhenFull,
    Scratchpad,
    WindowedModel,
    clear_results,
    compact,
    split_steps,
    trim,
    trimmed,
)
from agentlib.messages import calls_in, is_error, json_text, user
from agentlib.models import LoopingModel, NoisyModel, RecordingModel, ScriptedModel
from tests.invariants import assert_every_request_answered, assert_sound

ROOT = Path(__file__).parent.parent
quick = settings(max_examples=100, derandomize=True, database=None, deadline=None)


@pytest.fixture
def pad(tmp_path):
    return Scratchpad(tmp_path / "notes.json")


# --- trim -------------------------------------------------------------------------------------------


def test_trim_picks_the_named_fields_of_a_dict_alone():
    row = {f"field_{number}": number for number in range(100)}
    assert trim(row, 1_000, keep=["field_3", "field_99", "missing"]) == {"field_3": 3, "field_99": 99}
    assert trim([{"a": 1}, {"b": 2}], 1_000, keep=("a",)) == [{"a": 1}, {"b": 2}]
    assert trim("plain words", 1_000, keep=["field_5"]) == "plain words"


def test_trim_keeps_both_ends_and_says_how_much_is_left_out():
    text = "START" + "x" * 990 + "FINAL"
    short = trim(text, 100)
    assert len(short) <= 100
    assert short.startswith("START")
    assert short.endswith("FINAL")
    note = short[short.index("[") : short.index("]") + 1]
    kept = len(short) - len(f" {note} ")
    assert note == f"[{1_000 - kept} characters left out]"


def test_trim_picks_first_and_cuts_then():
    row = {"needed": "N" * 100, "not_needed": "X" * 1_000}
    short = trim(row, 60, keep=["needed"])
    assert short.startswith('{"needed":"N')
    assert short.endswith('N"}')
    assert "X" not in short


def test_a_result_of_exactly_the_limit_is_left_alone_and_one_character_more_is_cut():
    assert trim("x" * 60, 60) == "x" * 60
    assert "characters left out" in trim("x" * 61, 60)
    fits = {"a": "x" * 52}
    assert len(json_text(fits)) == 60
    assert trim(fits, 60) is fits
    assert isinstance(trim({"a": "x" * 53}, 60), str)


def test_an_error_stays_an_error():
    error = {"error": "not_found", "message": "m" * 5_000, "more": "dropped"}
    assert trim(error, 5_000 * 2, keep=["something"]) == error
    short = trim(error, 100)
    assert is_error(short)
    assert short["error"] == "not_found"
    assert short["message"].startswith("mm")
    assert len(short["error"]) + len(short["message"]) <= 100
    assert trim({"error": "w" * 500}, 100) == {"error": f"{'w' * 31} [439 characters left out] {'w' * 30}"}


@quick
@given(
    result=st.recursive(
        st.none() | st.integers() | st.text(max_size=300),
        lambda inside: (
            st.lists(inside, max_size=5)
            | st.dictionaries(st.sampled_from(["error", "message", "a", "b"]), inside, max_size=4)
        ),
        max_leaves=8,
    ),
    limit=st.integers(MIN_CHARS, 200),
)
def test_trim_never_goes_over_its_limit_and_a_second_time_changes_nothing(result, limit):
    before = copy.deepcopy(result)
    short = trim(result, limit)
    assert result == before
    assert is_error(short) == is_error(result)
    text = short if isinstance(short, str) else json_text(short)
    assert len(text) <= limit
    assert trim(short, limit) == short


@pytest.mark.parametrize("limit", [MIN_CHARS - 1, 0, -1, True, 50.0, "50", None])
def test_a_limit_that_leaves_no_room_is_an_error(limit):
    with pytest.raises(ValueError, match="max_chars"):
        trim("words", limit)


@pytest.mark.parametrize("keep", ["price", [1], [None]])
def test_names_that_are_no_list_of_names_are_an_error(keep):
    with pytest.raises(TypeError, match="list of field names"):
        trim({"price": 1}, 100, keep)


def test_a_trimmed_tool_gives_short_results_and_keeps_its_name_its_check_and_its_words():
    @tool(risky=True)
    def invoice(number: int) -> dict:
        """Look up an invoice."""
        return {"number": number, "amount": 12, "terms": "t" * 10_000}

    short = trimmed(invoice, 200, keep=["number", "amount"])
    assert (short.name, short.description, short.risky) == ("invoice", "Look up an invoice.", True)
    assert short.schema == invoice.schema
    replies = [ask("invoice", number=7), ask("invoice", number="7"), answer("12")]
    run = run_agent(ScriptedModel(replies), [short], "How much?", approve=lambda call: True)
    first, second = [entry["result"] for entry in run.history if entry["role"] == "tool"]
    assert first == {"number": 7, "amount": 12}
    assert second["error"] == "invalid_input"


# --- the size limit in the loop (FIELD_CASES F13) ---------------------------------------------------


def book(chars: int) -> str:
    """Give a text of so many characters."""
    return "B" + "x" * (chars - 2) + "E"


def scripted(*script, tools=(book,), **options):
    return run_agent(ScriptedModel(script), tools, "Read it.", **options)


def run_with_book(chars, **options):
    return scripted(ask("book", chars=chars), answer("Read."), **options)


def test_a_result_of_159_thousand_characters_does_not_fill_the_window():
    run = run_with_book(159_000)
    result = run.history[2]["result"]
    assert len(result) <= MAX_RESULT_CHARS
    assert result.startswith("Bx")
    assert result.endswith("xE")
    assert f"[{159_000 - result.count('x') - 2} characters left out]" in result
    assert run.usage.input_tokens < 6_000
    assert_sound(run)


def test_the_limit_of_a_result_is_exact_and_can_be_set_or_lifted():
    assert run_with_book(100, max_result_chars=100).history[2]["result"] == book(100)
    assert "left out" in run_with_book(101, max_result_chars=100).history[2]["result"]
    assert run_with_book(159_000, max_result_chars=None).history[2]["result"] == book(159_000)
    for chars, kind in [(100, list), (101, str)]:  # what is no text counts as its JSON text
        row = ["x" * (chars - 4)]
        give = {"give": lambda row=row: row}
        run = scripted(ask("give"), answer(""), tools=give, max_steps=1, max_result_chars=100)
        assert type(run.history[2]["result"]) is kind


def test_a_large_error_of_a_tools_own_is_cut_and_still_counts_as_one():
    def broken() -> dict:
        return {"error": "not_found", "message": "m" * 100_000}

    run = run_agent(ScriptedModel([ask("broken"), answer("No.")]), [broken], "Try.", max_result_chars=1_000)
    assert run.errors == 1
    assert is_error(run.history[2]["result"])
    assert len(json_text(run.history[2]["result"])) < 1_100
    assert_sound(run)


def test_rules_see_what_the_model_sees_so_a_replay_goes_the_same_way(tmp_path):
    numbers = iter(range(100))

    def noise() -> str:
        return "a" * 1_000 + str(next(numbers) % 10) + "b" * 1_000  # they differ in the middle only

    def go():
        rules = [stops.NoProgress(2)]
        return run_agent(LoopingModel("noise"), [noise], "Look.", 20, stops=rules, max_result_chars=100)

    run = go()
    assert (run.stopped, run.steps) == ("no progress", 3)
    loaded = Trace.load(run.trace.save(tmp_path / "run.jsonl"))
    assert compare(replay(loaded, stops=[stops.NoProgress(2)]).trace, run.trace) == []


def test_a_recorded_result_that_was_not_cut_is_not_cut_by_the_replay():
    run = run_with_book(50_000, max_result_chars=None)
    assert compare(replay(run.trace).trace, run.trace) == []


@pytest.mark.parametrize("limit", [0, MIN_CHARS - 1, True, 1e6, "many"])
def test_a_wrong_limit_of_results_is_an_error_before_any_call(limit):
    model = RecordingModel(ScriptedModel([]))
    with pytest.raises(ValueError, match="max_result_chars"):
        run_agent(model, [], "Go.", max_result_chars=limit)
    assert model.histories == []


# --- compact ----------------------------------------------------------------------------------------


def steps_of(number, first=1):
    history = []
    for step in range(first, first + number):
        history += [
            {"role": "model", "type": "tool", "id": "call_1", "tool": "look", "input": {"page": step}},
            {"role": "tool", "id": "call_1", "tool": "look", "result": f"page {step}: {'word ' * 40}"},
        ]
    return history


def test_old_steps_become_one_note_and_the_rest_stays_word_for_word():
    history = [user("Read five pages."), *steps_of(5)]
    seen = []

    def summarise(old):
        seen.append(copy.deepcopy(old))
        return "  Pages 1 to 3 were read.  "

    short = compact(history, 2, summarise)
    note = user(SUMMARY_WORDS + "Pages 1 to 3 were read.")
    assert short == [user("Read five pages."), note, *steps_of(2, first=4)]
    assert seen == [steps_of(3)]
    assert history == [user("Read five pages."), *steps_of(5)]


def test_the_number_of_kept_steps_is_exact():
    history = [user("Read."), *steps_of(3)]
    assert compact(history, 3, pytest.fail) == history
    assert compact(history, 9, pytest.fail) == history
    assert compact([user("Read.")], 0, pytest.fail) == [user("Read.")]
    assert compact(history, 2, lambda old: "one")[2:] == steps_of(2, first=2)
    assert compact(history, 0, lambda old: "all") == [user("Read."), user(SUMMARY_WORDS + "all")]


def test_a_batch_is_kept_or_summarised_whole():
    batch = {**ask_together(ask("look", page=1), ask("look", page=2)), "role": "model"}
    results = [
        {"role": "tool", "id": name, "tool": "look", "result": f"page {name} {'word ' * 40}"} for name in "12"
    ]
    history = [user("Read."), *steps_of(1), batch, *results, user("A note of the loop."), *steps_of(1)]
    assert compact(history, 2, lambda old: "read")[2:] == history[3:]
    assert compact(history, 1, lambda old: "read")[2:] == history[7:]


def test_replies_of_a_hand_written_loop_need_no_role():
    history = [user("Read."), ask("look", page=1), {"role": "tool", "result": "w" * 200}, ask("look", page=2)]
    history += [{"role": "tool", "result": "v" * 200}]
    note = user(SUMMARY_WORDS + "page 1 read")
    assert compact(history, 1, lambda old: "page 1 read") == [history[0], note, *history[3:]]


def test_an_earlier_summary_is_folded_into_the_next_one():
    first = compact([user("Read."), *steps_of(4)], 2, lambda old: "pages 1 and 2")
    seen = []
    second = compact([*first, *steps_of(1, first=5)], 2, lambda old: seen.append(old) or "pages 1 to 3")
    assert seen == [[user(SUMMARY_WORDS + "pages 1 and 2"), *steps_of(1, first=3)]]
    assert second == [user("Read."), user(SUMMARY_WORDS + "pages 1 to 3"), *steps_of(2, first=4)]


@pytest.mark.parametrize("summary", [None, "", "  \n", 7, ["read"]])
def test_a_summary_that_is_no_words_is_an_error(summary):
    with pytest.raises(SummaryError, match="text that is shorter") as caught:
        compact([user("Read."), *steps_of(3)], 1, lambda old: summary)
    assert caught.value.got == summary


def test_a_summary_longer_than_what_it_replaces_is_an_error_and_one_as_long_is_none():
    history = [user("Read."), *steps_of(2)]
    room = len(json_text(steps_of(1))) - len(json_text([user(SUMMARY_WORDS)]))
    assert len(compact(history, 1, lambda old: "s" * room)) == 4
    with pytest.raises(SummaryError, match="characters came for"):
        compact(history, 1, lambda old: "s" * (room + 1))


def test_what_the_summariser_raises_reaches_the_caller_and_the_history_is_as_it_was():
    history = [user("Read."), *steps_of(3)]

    def broken(old):
        old.clear()
        raise ConnectionError("no answer")

    with pytest.raises(ConnectionError):
        compact(history, 1, broken)
    assert history == [user("Read."), *steps_of(3)]


@pytest.mark.parametrize("keep_steps", [-1, 1.5, True, None])
@pytest.mark.parametrize("function", [lambda h, k: compact(h, k, str), clear_results])
def test_a_wrong_number_of_steps_is_an_error(function, keep_steps):
    with pytest.raises(ValueError, match="keep_steps"):
        function([user("Read."), *steps_of(3)], keep_steps)


def test_old_results_are_cleared_and_their_requests_stay():
    history = [user("Read."), *steps_of(3)]
    short = clear_results(history, 1)
    assert [entry for entry in short if "result" not in entry] == [e for e in history if "result" not in e]
    assert [entry["result"] for entry in short if "result" in entry][:2] == ["[210 characters left out]"] * 2
    assert short[-1] == history[-1]
    assert clear_results(history, 3) == history
    tiny = [user("Read."), ask("look"), {"role": "tool", "result": "ok"}]
    assert clear_results(tiny, 0) == tiny


# --- random histories -------------------------------------------------------------------------------

calls = st.builds(
    lambda page, words: ask("look", page=page, words=words), st.integers(0, 5), st.text(max_size=5)
)
replies = st.one_of(
    calls,
    calls,
    st.lists(calls, min_size=1, max_size=4).map(lambda several: ask_together(*several, text="several")),
    # A model that uses one id again and again, within a reply too.
    st.lists(calls, min_size=1, max_size=3).map(
        lambda several: {"type": "tools", "calls": [{**call, "id": "call_1"} for call in several]}
    ),
    st.sampled_from([ask("nobody"), {"type": "answer", "text": " "}, "no dict", answer("Done.")]),
)


def look(page: int, words: str) -> str:
    """Give a page; page 4 fails, and page 5 ends the run in the middle of whatever is going on."""
    if page == 4:
        raise ValueError("There is no page 4.")
    if page == 5:
        raise KeyboardInterrupt
    return f"page {page} {words * 10}"


RULES = [stops.RepeatedCall(2), stops.RepeatedCall(2, then="note"), stops.NoProgress(2)]
RULES += [stops.TooManyErrors(2), stops.TokenBudget(150)]


@settings(quick, max_examples=150)
@given(
    script=st.lists(replies, max_size=12),
    rules=st.lists(st.sampled_from(RULES), max_size=2),
    max_steps=st.integers(1, 12),
    keep_steps=st.integers(0, 6),
    closing=st.booleans(),
)
def test_after_any_stop_compacting_parts_no_request_from_its_results(
    script, rules, max_steps, keep_steps, closing
):
    run = run_agent(ScriptedModel(script), [look], "Read.", max_steps, stops=rules, closing_call=closing)
    history = run.history
    before, steps = split_steps(history)
    assert [*before, *(entry for step in steps for entry in step)] == history
    try:
        short = compact(history, keep_steps, lambda old: f"{len(old)} entries")
    except SummaryError:  # a single tiny step is shorter than any summary
        return
    assert_every_request_answered(short)
    assert short[0] == history[0]
    assert len(split_steps(short)[1]) == min(keep_steps, len(steps))
    kept = sum(len(step) for step in steps[len(steps) - min(keep_steps, len(steps)) :])
    assert short[len(short) - kept :] == history[len(history) - kept :]
    assert_every_request_answered(clear_results(history, keep_steps))


@settings(quick, max_examples=80)
@given(script=st.lists(replies, max_size=15), keep_steps=st.integers(0, 4), window=st.integers(20, 200))
def test_whatever_a_model_does_all_that_it_reads_with_memory_is_in_order(script, keep_steps, window):
    memory = CompactWhenFull(window, keep_steps, lambda old: f"{len(old)} entries")
    run = run_agent(ScriptedModel([*script, answer("Done.")]), [look], "Read.", 20, memory=memory)
    assert_sound(run)
    for read in run.trace.histories():
        assert_every_request_answered(read)
        assert read[0] == user("Read.")
        assert estimate_tokens(read) <= window


# --- memory in a run --------------------------------------------------------------------------------


def page(number: int) -> str:
    """Give one page of 200 characters, 50 tokens."""
    return f"{number:<5}" + "w" * 195


def reader(pages):
    return ScriptedModel([*(ask("page", number=n) for n in range(1, pages + 1)), answer("All read.")])


def read_pages(pages, memory=None, max_steps=20):
    return run_agent(reader(pages), [page], "Read.", max_steps, memory=memory)


def test_a_run_with_a_full_window_goes_on_with_summaries_and_keeps_the_whole_history():
    memory = CompactWhenFull(300, 2, lambda old: f"{len(old)} entries were read.")
    model = RecordingModel(WindowedModel(reader(20), 300))
    run = run_agent(model, [page], "Read 20 pages.", 30, memory=memory)
    assert (run.stopped, run.steps) == ("answered", 21)
    assert len(run.history) == 1 + 2 * 20 + 1
    assert not any(SUMMARY_WORDS in entry.get("text", "") for entry in run.history)
    # A page takes 55 tokens, and 240 are the mark: with the fifth page, and then with every third.
    assert memory.summaries == 6
    assert memory.problems == []
    assert all(estimate_tokens(read) <= 300 for read in model.histories)
    assert run.trace.histories() == model.histories
    assert_sound(run)
    without = run_agent(WindowedModel(reader(20), 300), [page], "Read 20 pages.", 30)
    assert (without.stopped, without.steps) == ("model error", 7)


def test_nothing_is_summarised_while_there_is_room():
    tokens = estimate_tokens(run_agent(reader(5), [page], "Read.").history[:-1])
    for window, summaries in [(tokens, 0), (tokens - 1, 1)]:
        memory = CompactWhenFull(window, 2, lambda old: "some pages", full_at=1)
        run_agent(reader(5), [page], "Read.", memory=memory)
        assert memory.summaries == summaries


def test_a_summary_is_read_again_word_for_word_until_the_window_fills_again():
    made = iter(range(100))
    memory = CompactWhenFull(1_000, 2, lambda old: f"summary {next(made)}")
    run = run_agent(reader(30), [page], "Read.", 40, memory=memory)
    seconds = [read[1] for read in run.trace.histories() if len(read) > 1]
    notes = [entry["text"] for entry in seconds if entry["role"] == "user"]
    assert memory.summaries == len(set(notes)) == 2
    assert len(notes) == 31 - 15  # 800 tokens are the mark, and 15 pages of 55 go over it


def test_one_memory_serves_two_runs_and_nothing_of_the_first_is_read_in_the_second():
    memory = CompactWhenFull(300, 2, lambda old: "the secret of the first run")
    run_agent(reader(20), [page], "Read.", 30, memory=memory)
    assert memory.summaries > 0
    second = run_agent(reader(2), [page], "Read.", 30, memory=memory)
    assert second.trace.histories() == run_agent(reader(2), [page], "Read.", 30).trace.histories()


def test_a_summary_loses_details_and_the_scratchpad_keeps_them(pad):
    script = [
        ask("page", number=4711),
        ask("write_note", title="first page", text="4711"),
        *(ask("page", number=n) for n in range(8)),
        ask("read_notes"),
        answer("4711"),
    ]
    memory = CompactWhenFull(250, 2, lambda old: "Some pages were read.")
    run = run_agent(ScriptedModel(script), [page, *pad.tools], "Read.", 20, memory=memory)
    last_but_one, last = run.trace.histories()[-2:]
    assert "4711" not in json_text(last_but_one)
    assert "4711" in json_text(last)


@pytest.mark.parametrize(
    ("summarise", "problem"),
    [
        (lambda old: 1 / 0, "division"),
        (lambda old: None, "None came"),
        (lambda old: " ", "came"),
        (lambda old: "long " * 10_000, "characters came for"),
    ],
)
def test_a_summary_that_cannot_be_used_leaves_the_history_as_it_is_while_that_fits(summarise, problem):
    memory = CompactWhenFull(1_000, 2, summarise, full_at=0.5)
    run = run_agent(reader(12), [page], "Read.", 20, memory=memory)
    assert run.stopped == "answered"
    assert run.trace.histories() == run_agent(reader(12), [page], "Read.", 20).trace.histories()
    assert memory.summaries == 0
    assert problem in memory.problems[0]


def test_a_window_that_is_full_with_no_usable_summary_ends_the_run_and_keeps_its_work():
    def broken(old):
        raise ConnectionError("the provider is down")

    memory = CompactWhenFull(300, 2, broken)
    run = run_agent(reader(12), [page], "Read.", 20, memory=memory)
    assert (run.stopped, run.steps, run.tool_runs) == ("fatal error", 6, 6)
    assert "the window holds 300" in run.stopped.detail
    assert "the provider is down" in run.stopped.detail
    assert len(run.history) == 13
    assert_sound(run)


def test_a_window_smaller_than_the_goal_ends_the_run_before_any_call():
    goal = "g" * 400
    assert run_agent(reader(0), [page], goal, memory=CompactWhenFull(100, 2, str)).stopped == "answered"
    model = RecordingModel(reader(0))
    run = run_agent(model, [page], goal, memory=CompactWhenFull(99, 2, str))
    assert (run.stopped, run.steps, run.history) == ("fatal error", 0, [user(goal)])
    assert "The goal alone takes 100 tokens, and the window holds 99" in run.stopped.detail
    assert model.histories == []


def test_steps_that_are_to_be_kept_and_do_not_fit_are_named():
    memory = CompactWhenFull(300, 6, lambda old: "s")
    run = run_agent(reader(12), [page], "Read.", 20, memory=memory)
    assert run.stopped == "fatal error"
    assert "Keep fewer steps" in run.stopped.detail


def test_an_interrupt_while_a_summary_is_made_cancels_the_run():
    def interrupted(old):
        raise KeyboardInterrupt

    run = read_pages(12, CompactWhenFull(300, 2, interrupted))
    assert run.stopped == "cancelled"
    assert_sound(run)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"window_tokens": 0}, ValueError),
        ({"keep_steps": -1}, ValueError),
        ({"full_at": 0}, ValueError),
        ({"full_at": 1.01}, ValueError),
        ({"full_at": "0.8"}, ValueError),
        ({"summarise": "short"}, TypeError),
    ],
)
def test_wrong_settings_are_an_error_at_once(wrong, error):
    with pytest.raises(error):
        CompactWhenFull(**{"window_tokens": 100, "keep_steps": 2, "summarise": str, **wrong})


def test_the_edge_of_the_window_is_hard():
    model = WindowedModel(lambda history: answer("ok"), 10)
    assert model([user("x" * 40)])["text"] == "ok"
    with pytest.raises(WindowError) as caught:
        model([user("x" * 41)])
    assert (caught.value.tokens, caught.value.window_tokens) == (11, 10)
    with pytest.raises(ValueError, match="window_tokens"):
        WindowedModel(str, 0)


def test_memory_of_ones_own_can_be_a_plain_function():
    run = run_agent(reader(5), [page], "Read.", memory=lambda history: clear_results(history, 1))
    assert run.stopped == "answered"
    for read in run.trace.histories():
        assert_every_request_answered(read)
        assert sum("w" * 195 in str(entry.get("result")) for entry in read) <= 1


# --- the scratchpad ---------------------------------------------------------------------------------


def test_notes_outlive_a_run(tmp_path):
    path = tmp_path / "notes.json"
    note = ask("write_note", title="plan", text="half done")
    assert scripted(note, answer("Saved."), tools=Scratchpad(path).tools).errors == 0
    later = scripted(ask("read_notes"), answer("Read."), tools=Scratchpad(path).tools)
    assert later.history[2]["result"] == {"notes": {"plan": "half done"}}


def test_a_note_with_the_same_title_is_replaced_and_nothing_exists_before_the_first(pad, tmp_path):
    assert pad.notes() == {}
    assert list(tmp_path.iterdir()) == []
    assert pad.write_note("a", "one") == 'Saved "a". Notes kept: 1.'
    pad.write_note("error", "tab\t, line\n, é, \ud800")
    assert pad.write_note("a", "two") == 'Saved "a". Notes kept: 2.'
    assert pad.notes() == {"a": "two", "error": "tab\t, line\n, é, \ud800"}
    assert not is_error(pad.read_notes())
    assert [path.name for path in tmp_path.iterdir()] == ["notes.json"]


def test_a_half_written_file_beside_the_notes_does_no_harm(pad, tmp_path):
    pad.write_note("a", "one")
    (tmp_path / "notes.json.part").write_text('{"a": "tw')  # what a crash in the middle leaves behind
    assert pad.notes() == {"a": "one"}
    pad.write_note("b", "two")
    assert pad.notes() == {"a": "one", "b": "two"}


WRITER = """
import sys
from agentlib.memory import Scratchpad
pad = Scratchpad(sys.argv[1], max_chars=10**9)
number = 0
while True:
    number += 1
    pad.write_note("number", f"{number} " * 20_000)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no kill -9")
def test_notes_are_whole_after_the_program_was_killed_while_writing(tmp_path):
    path = tmp_path / "notes.json"
    rng = random.Random(5)
    for _ in range(2):
        before = path.stat().st_mtime_ns if path.exists() else 0
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], cwd=ROOT)
        try:
            for _ in range(1_000):  # wait until it has written at least once
                if path.exists() and path.stat().st_mtime_ns > before:
                    break
                time.sleep(0.01)
            time.sleep(rng.random() / 20)
        finally:
            writer.kill()
            writer.wait()
        words = Scratchpad(path).notes()["number"].split()
        assert len(words) == 20_000
        assert len(set(words)) == 1


@pytest.mark.parametrize("obstacle", ["no folder", "a folder of that name"])
def test_a_note_that_cannot_be_saved_says_so_and_the_run_goes_on(tmp_path, obstacle):
    path = tmp_path / ("missing" if obstacle == "no folder" else "") / "notes.json"
    if obstacle != "no folder":
        (tmp_path / "notes.json.part").mkdir()
    note = ask("write_note", title="a", text="b")
    run = scripted(note, answer("I could not save it: b"), tools=Scratchpad(path).tools)
    assert run.stopped == "answered"
    assert run.history[2]["result"]["error"] == "not_saved"
    assert run.history[2]["result"]["message"].startswith("Not saved: ")


def test_a_note_that_cannot_be_saved_leaves_the_old_ones(pad, tmp_path):
    pad.write_note("a", "one")
    (tmp_path / "notes.json.part").mkdir()
    with pytest.raises(ToolError, match="Not saved"):
        pad.write_note("a", "two")
    assert pad.notes() == {"a": "one"}


@pytest.mark.parametrize("content", ["", "{", "[]", '{"a": 1}', "\xff\xfe"])
def test_a_file_that_holds_something_else_is_never_written_over(tmp_path, content):
    path = tmp_path / "notes.json"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(ToolError) as caught:
        Scratchpad(path).write_note("a", "b")
    assert caught.value.code == "not_readable"
    assert path.read_bytes() == content.encode("latin-1")


def test_the_room_for_notes_is_limited_and_the_limit_is_exact(tmp_path):
    pad = Scratchpad(tmp_path / "notes.json", max_chars=10)
    pad.write_note("a", "123456789")
    with pytest.raises(ToolError, match="would hold 11 characters, and 10 fit") as caught:
        pad.write_note("a", "1234567890")
    assert caught.value.code == "full"
    assert json.loads(pad.path.read_text()) == {"a": "123456789"}


def test_writing_the_same_note_again_is_normal_work(pad):
    model = NoisyModel([LoopingModel("write_note", title="a", text="b")], random.Random(1))
    run = run_agent(model, pad.tools, "Note.", 5, stops=[stops.RepeatedCall(3), stops.NoProgress(2)])
    assert run.stopped == "step limit"
    assert all(calls_in(entry) or entry["role"] != "model" for entry in run.history)
