"""Tables: what stands in them, in HTML and in plain text, and that no value can break out of its cell."""

import html
import re
from contextlib import suppress

import pytest

from agentlib import answer, ask, run_agent
from agentlib.labs import blue_mugs
from agentlib.messages import user
from agentlib.models import LoopingModel, ScriptedModel
from agentlib.views import history_table, run_table
from agentlib.views.shown import TableCell, html_table, text_table
from agentlib.watch import watch


def mugs(max_steps=10):
    return run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL, max_steps=max_steps)


def stuck(max_steps=3):
    model = LoopingModel("stock_level", warehouse="North")
    return run_agent(model, blue_mugs.TOOLS, blue_mugs.GOAL, max_steps=max_steps)


def row(table, name):
    """The cells of one row of a text table."""
    (line,) = [line for line in str(table).splitlines() if line.startswith(name)]
    return re.split(r"\s{2,}", line)[1:]


# --- the history ------------------------------------------------------------------------------------


def test_the_history_table_says_who_wrote_each_entry_and_what_it_holds():
    assert str(history_table(mugs(max_steps=1))) == (
        "History: 3 entries\n"
        "#  who    content\n"
        "-  -----  ----------------------------------------------------------------------------------\n"
        "1  user   Which warehouse has more blue mugs?\n"
        '2  model  requests stock_level("North")\n'
        '3  tool   error from stock_level: Unknown warehouse "North". Use "north" or "south". (error)'
    )


def test_a_run_its_trace_and_its_history_give_the_same_table():
    run = mugs()
    sources = run, run.trace, run.history, {"history": run.history}
    assert len({str(history_table(source)) for source in sources}) == 1


def test_repeated_requests_are_marked_in_words():
    text = str(history_table(stuck(3)))
    assert text.count("(repeat)") == 2
    assert history_table(stuck(3)).html.count('agentlib-repeat">(repeat)</strong>') == 2


def test_the_same_tool_with_another_input_is_no_repeat():
    assert "(repeat)" not in str(history_table(mugs()))


def test_the_html_table_has_a_caption_and_header_cells_for_columns_and_rows():
    page = history_table(mugs(), title="What it read").html
    assert "<caption" in page
    assert "What it read</caption>" in page
    assert page.count('<th scope="col"') == 3
    assert page.count('<th scope="row"') == 8


def test_no_colour_is_set_so_that_both_themes_can_be_read():
    page = history_table(stuck()).html
    assert "color" not in page
    assert "background" not in page


def test_the_mimebundle_holds_both_forms():
    table = history_table(mugs())
    assert table._repr_mimebundle_() == {"text/html": table._repr_html_(), "text/plain": str(table)}
    assert repr(table) == str(table)


@pytest.mark.parametrize(
    "entry", ["text", None, 3, {}, {"role": "tool"}, {"role": 7}, ["a"], {"content": "x"}]
)
def test_entries_of_any_shape_get_a_row(entry):
    assert "History: 1 entry" in str(history_table([entry]))


def test_an_entry_of_a_loop_of_ones_own_without_a_role_is_the_models():
    assert "model  requests a()" in str(history_table([ask("a")]))


def test_an_error_in_a_hand_written_loops_shape_is_marked():
    entry = {"role": "tool", "tool": "t", "result": {"error": "No such order."}}
    assert "error from t: No such order. (error)" in str(history_table([entry]))


@pytest.mark.parametrize("source", [None, 3, "text", {"answer": 1}, print])
def test_what_is_no_history_is_refused_in_words(source):
    with pytest.raises(TypeError, match="A history is a list of entries, a Run or a Trace, but was"):
        history_table(source)


def test_an_empty_history_has_a_table_too():
    assert "History: 0 entries" in str(history_table([]))


# --- runs side by side ------------------------------------------------------------------------------


def test_runs_stand_side_by_side_with_all_their_figures():
    table = run_table({"A": mugs(), "B": mugs(max_steps=2)})
    assert row(table, "answer") == ["North has more blue mugs: 140 against 95.", "no answer"]
    assert row(table, "stopped") == ["answered", "step limit"]
    assert row(table, "steps") == ["4", "2"]
    assert row(table, "entries") == ["8", "5"]
    assert row(table, "tools run") == ["3", "2"]
    assert row(table, "errors") == ["1", "1"]
    assert row(table, "coins") == ["16", "4"]
    assert row(table, "tokens read") == [f"{mugs().usage.input_tokens}", f"{mugs(2).usage.input_tokens}"]


def test_repeated_requests_are_counted():
    assert row(run_table({"A": mugs(), "C": stuck(4)}), "repeated") == ["0", "3"]


def test_a_trace_and_a_hand_written_loops_dict_give_the_same_figures_as_the_run():
    run = mugs()
    by_hand = {"answer": run.answer, "stopped": "answered", "steps": 4, "history": run.history}
    table = run_table({"run": run, "trace": run.trace, "dict": by_hand})
    for name in ("answer", "stopped", "steps", "entries", "tools run", "errors", "coins", "tokens read"):
        first, *others = row(table, name)
        assert others == [first, first], name


def test_an_error_that_a_loop_writes_itself_counts_as_the_one_that_a_tool_raised():
    def loop(model, tools, goal):
        history = [user(goal)]
        while (reply := model(history))["type"] != "answer":
            if reply["tool"] not in tools:
                result = {"error": f"There is no tool {reply['tool']}."}
            else:
                try:
                    result = tools[reply["tool"]](**reply["input"])
                except ValueError as problem:
                    result = {"error": str(problem)}
            history += [reply, {"role": "tool", "result": result}]
        return {"answer": reply["text"], "stopped": "answered", "steps": 4}

    names = [("stock_level", "North"), ("stock_levle", "north"), ("stock_level", "north")]
    script = [*(ask(tool, warehouse=place) for tool, place in names), answer("140")]
    trace = watch(loop, ScriptedModel(script), blue_mugs.TOOLS, blue_mugs.GOAL)
    table = run_table({"watched": trace, "agentlib": run_agent(ScriptedModel(script), blue_mugs.TOOLS, "?")})
    assert str(history_table(trace)).count("(error)") == 2
    assert row(table, "errors") == ["2", "2"]
    assert row(table, "tools run") == ["2", "2"]


def test_an_error_counts_once_although_an_old_entry_is_left_out_or_its_result_is_never_recorded():
    def forgetful(model, tools, goal):
        history = [user(goal)]
        for _ in range(3):
            reply = model(history)
            try:
                tools[reply["tool"]](**reply["input"])
            except ValueError as problem:
                history = [*history[:1], reply, {"role": "tool", "result": {"error": str(problem)}}]

    def silent(model, tools, goal):
        for _ in range(3):
            reply = model([user(goal)])
            with suppress(ValueError):
                tools[reply["tool"]](**reply["input"])

    for loop in (forgetful, silent):
        model = LoopingModel("stock_level", warehouse="North")
        assert row(run_table({"one": watch(loop, model, blue_mugs.TOOLS, "?")}), "errors") == ["3"]


def test_a_dict_whose_last_answer_was_not_recorded_counts_the_last_call_all_the_same():
    run = mugs()
    by_hand = {"answer": run.answer, "steps": 4, "history": run.history[:-1]}
    table = run_table({"A": by_hand})
    assert row(table, "coins") == ["16"]
    assert row(table, "stopped") == ["not said"]


def test_what_a_dict_does_not_say_is_not_made_up():
    table = run_table({"A": {"answer": None}})
    assert row(table, "steps") == ["not known"]
    assert row(table, "coins") == ["not known"]


def test_figures_that_a_dict_gives_itself_are_taken():
    said = {"answer": "x", "stopped": "budget limit", "steps": 3, "coins": 9, "history": [user("x")]}
    assert row(run_table({"A": said}), "coins") == ["9"]


def test_something_that_is_no_run_is_refused_in_words():
    with pytest.raises(TypeError, match="A run is a Run, a Trace or what your loop returned"):
        run_table({"A": 3})
    with pytest.raises(TypeError, match="names and runs"):
        run_table([mugs()])
    with pytest.raises(ValueError, match="at least one run"):
        run_table({})


# --- values that could do harm ----------------------------------------------------------------------

HARMFUL = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</td></table><b>", '"quoted" & <b>',
    "[link](javascript:alert(1))",
]  # fmt: skip


@pytest.mark.parametrize("value", HARMFUL)
def test_html_in_a_value_is_shown_as_text_and_never_run(value):
    run = run_agent(ScriptedModel([ask("t", x=value), answer(value)]), {"t": lambda x: x}, value)
    for page in (history_table(run, title=value).html, run_table({value: run}, title=value).html):
        tags = set(re.findall(r"</?([a-zA-Z]+)", page))
        plain = {"table", "caption", "thead", "tbody", "tr", "th", "td", "strong", "bdi", "span", "code"}
        assert tags <= plain
        assert html.escape(value) in page


def test_a_title_between_backticks_cannot_bring_markup_in():
    assert "<b>" not in history_table([], title="`<b>`").html


def test_line_breaks_stay_inside_their_row_of_text_and_inside_their_cell():
    table = history_table([user("one\ntwo\nthree")])
    assert len(str(table).splitlines()) == 4
    assert "one\ntwo\nthree" in table.html
    assert "pre-wrap" in table.html


def test_characters_that_turn_the_direction_of_text_are_written_out():
    table = history_table([user("abc\u202edef\u2066")])
    assert "\\u202e" in str(table)
    assert "\u202e" not in table.html


def test_text_from_right_to_left_is_kept_apart_from_its_neighbours():
    word = "\u0645\u0631\u062d\u0628\u0627"
    assert f"<bdi>{word}</bdi>" in history_table([user(word)]).html


def test_emoji_and_wide_signs_keep_the_columns_in_line():
    text = text_table("t", ("a", "b"), [["🫖", "x"], ["日本", "x"], ["abcd", "x"]])
    assert text.splitlines()[3:] == ["🫖    x", "日本  x", "abcd  x"]


def test_half_a_surrogate_pair_can_be_written_to_a_file():
    table = history_table([user("\ud800")])
    table.html.encode("utf-8")
    str(table).encode("utf-8")


def test_a_long_value_is_shortened_and_the_whole_is_folded_beneath_it():
    page = history_table([user("word " * 100)]).html
    assert "<details><summary>all of it (500 characters)</summary>" in page
    assert page.count("word") == 100 + 31  # the short form holds 157 characters of it


def test_a_megabyte_is_cut_and_says_how_long_it_was():
    table = history_table([user("x" * 1_000_000)])
    assert len(table.html) < 12_000
    assert len(str(table)) < 400
    assert "cut; 1,000,000 characters in all" in table.html


def test_numbers_stand_to_the_right_in_both_forms():
    rows = [["a", TableCell("7", number=True)], ["b", TableCell("1,234", number=True)]]
    assert text_table("t", ("", "n"), rows).splitlines()[3:] == ["a      7", "b  1,234"]
    assert html_table("t", ("", "n"), rows).count("text-align:right") == 2


def test_a_part_of_a_history_keeps_its_numbers():
    entries = [{"role": "user", "text": f"Entry {number}."} for number in range(52, 55)]
    shown = history_table(entries, first=52).text
    assert re.findall(r"^ *(\d+)  user", shown, re.MULTILINE) == ["52", "53", "54"]


def test_an_entry_without_a_role_is_said_to_have_none():
    rows = history_table([{"type": "goal", "text": "Go."}, "Go.", answer("Done.")]).text.splitlines()[-3:]
    assert [row.split("  ")[1].strip() for row in rows] == ["no role", "no role", "model"]
