"""The tracer's static form: all frames at once, the same at every run, in HTML and in plain text."""

import re

import pytest

from agentlib import answer, ask, run_agent
from agentlib.labs import blue_mugs
from agentlib.messages import user
from agentlib.models import LoopingModel, ScriptedModel
from agentlib.trace import Event, Trace
from agentlib.views import tracer
from agentlib.views.tracer.static import FIRST_ROWS, LAST_ROWS

SOURCE = """\
def run_agent(model, tools, goal, max_steps=10):
    reply = model([{"role": "user", "text": goal}])
    return {"answer": reply["text"], "stopped": "answered"}  # <b>bold</b>
"""


def mugs(max_steps=10):
    return run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL, max_steps=max_steps)


def watched():
    about = {
        "made_by": "watch", "goal": "goal", "max_steps": 10, "tools": [], "function": "run_agent",
        "source": SOURCE, "first_line": 9,
    }  # fmt: skip
    events = (
        Event("start", 0, user("goal")), Event("line", 0, line=10), Event("history", 0, read=[user("goal")]),
        Event("ask", 1, entries=1, tokens=1), Event("reply", 1, answer("done"), tokens=1),
        Event("line", 1, line=11), Event("stop", 1, {"answer": "done", "detail": ""}, text="answered"),
    )  # fmt: skip
    return Trace(events, about)


def test_every_frame_stands_in_the_table_with_its_counts_and_its_caption():
    text = str(tracer(mugs(max_steps=2)))
    assert "What happens, 10 frames" in text
    assert re.search(
        r"^ +5   1/2 +3 +9  record \(error\)  `stock_level\(\"North\"\)` raised\.", text, re.MULTILINE
    )
    assert "History at the end: 5 entries" in text
    assert (
        "Stopped: step limit. 2 steps of at most 2, 5 entries, 2 tool runs, 1 error, 49 tokens read." in text
    )
    assert "No answer." in text


def test_a_run_and_its_trace_give_the_same():
    run = mugs()
    assert str(tracer(run)) == str(tracer(run.trace))


def test_the_form_is_the_same_from_run_to_run_and_holds_no_address():
    first, second = tracer(mugs()), tracer(mugs())
    assert first._repr_mimebundle_() == second._repr_mimebundle_()
    assert "0x" not in first._repr_html_()
    assert " id=" not in first._repr_html_()


def test_the_code_of_a_watched_loop_stands_with_its_own_line_numbers():
    shown = tracer(watched())
    lines = str(shown).splitlines()
    assert lines[0] == "Trace of your loop run_agent"
    assert lines[1] == " 9  def run_agent(model, tools, goal, max_steps=10):"
    assert lines[3].startswith("11      return")
    assert re.search(r"^ +2    10 +1/10 ", str(shown), re.MULTILINE)
    assert '<pre tabindex="0" aria-label="The code of the loop">' in shown._repr_html_()
    assert "&lt;b&gt;bold&lt;/b&gt;" in shown._repr_html_()


def test_the_html_form_has_captions_header_cells_and_a_fold_that_is_open():
    page = tracer(mugs())._repr_html_()
    assert page.count("<caption") == 2
    assert page.startswith('<details open class="agentlib-static"><summary>')
    assert '<th scope="col"' in page
    assert '<th scope="row"' in page
    assert "<script" not in page


def test_values_in_captions_are_set_as_code():
    assert "<code>stock_level(&quot;North&quot;)</code>" in tracer(mugs())._repr_html_()


def test_a_long_run_shows_its_first_and_last_frames_and_counts_the_others():
    run = run_agent(LoopingModel("stock_level", warehouse="north"), blue_mugs.TOOLS, "goal", max_steps=30)
    text = str(tracer(run))
    left_out = len(run.trace) - FIRST_ROWS - LAST_ROWS
    assert f"({left_out} in the middle are left out)" in text
    assert re.search(rf"^ +{FIRST_ROWS}  ", text, re.MULTILINE)
    assert not re.search(rf"^ +{FIRST_ROWS + 1}  ", text, re.MULTILINE)
    assert re.search(rf"^ +{len(run.trace)}  ", text, re.MULTILINE)


@pytest.mark.parametrize("value", ["<script>alert(1)</script>", "</pre></div><img src=x onerror=alert(1)>"])
def test_html_in_a_value_is_shown_as_text(value):
    run = run_agent(ScriptedModel([ask("t", x=value), answer(value)]), {"t": lambda x: x}, value)
    page = tracer(run)._repr_html_()
    assert "<script" not in page
    assert "<img" not in page


def test_a_megabyte_is_shortened():
    big = "x" * 1_000_000
    run = run_agent(ScriptedModel([ask("t", x=big), answer(big)]), {"t": lambda x: x}, big)
    assert len(tracer(run)._repr_html_()) < 100_000
    assert len(str(tracer(run))) < 10_000


def test_what_is_neither_run_nor_loop_is_refused_in_words():
    with pytest.raises(TypeError, match="tracer shows a Run, a Trace or a loop"):
        tracer(3)
    with pytest.raises(TypeError, match="make_model is a function that gives a fresh model"):
        tracer(run_agent)
    with pytest.raises(TypeError, match="also needs the tools and the goal"):
        tracer(run_agent, blue_mugs.model)
    with pytest.raises(ValueError, match="max_steps is a whole number from 1 up"):
        tracer(run_agent, blue_mugs.model, blue_mugs.TOOLS, blue_mugs.GOAL, max_steps=0)


def test_of_a_long_history_the_first_and_the_last_entries_are_shown():
    run = run_agent(LoopingModel("stock_level", warehouse="north"), blue_mugs.TOOLS, "goal", max_steps=31)
    page = tracer(run)
    assert "History at the end: 63 entries (3 in the middle are left out)" in str(page)
    assert "\n45  " in str(page)
    assert "\n46  " not in str(page).split("History at the end")[1]
    assert "\n49  " in str(page).split("History at the end")[1]
