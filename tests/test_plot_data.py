"""Plots where matplotlib cannot be had: their data as a table, with the same sentence, and nothing raises."""

import sys

import pytest

from agentlib import run_agent
from agentlib.evals import Case, evaluate
from agentlib.labs import blue_mugs
from agentlib.models import LoopingModel
from agentlib.views import moving, plots
from agentlib.views.plot_data import MAX_ROWS, FigureData
from agentlib.views.rates import pass_rates


@pytest.fixture
def no_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)  # an import of it then fails


def runs():
    ours = run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL)
    model = LoopingModel("stock_level", warehouse="North")
    return {"ours": ours, "stuck": run_agent(model, blue_mugs.TOOLS, "goal", max_steps=30)}


PLOTS = {
    "tokens_read": lambda: plots.tokens_read(runs()),
    "coins": lambda: plots.coins(runs(), coin_limit=20, step_limit=5),
    "stop_reasons": lambda: plots.stop_reasons({"answered": 3, "step limit": 12}),
    "new_results": lambda: plots.new_results(runs()),
    "moving": lambda: moving(
        lambda steps: {"in all": [n * n for n in range(1, steps + 1)]},
        lambda steps: f"{steps} calls cost {steps * steps} coins.",
        title="Coins", up="coins", steps=(1, 20, 4),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLOTS)
def test_the_sentence_is_the_same_and_the_data_stand_in_a_table(name, no_matplotlib, monkeypatch):
    shown = PLOTS[name]()
    html = shown._repr_mimebundle_()["text/html"]
    assert "<table>" in html
    assert "could not be loaded here" in html
    assert "<img" not in html
    monkeypatch.undo()
    drawn = PLOTS[name]()
    assert str(drawn) == str(shown)
    assert "<img" in drawn._repr_mimebundle_()["text/html"]


def test_each_line_is_a_column_and_limits_stand_above(no_matplotlib):
    (axes,) = plots.coins({"A": [1, 3], "B": [5]}, coin_limit=4).figure.axes
    lines = axes.table("Coins used").text.split("\n")
    assert lines[0].endswith("limit: 4 coins (coins used so far (entries read))")
    assert [line.split() for line in lines[1:]] == [
        ["model", "call", "A", "B"], ["----------", "-", "-"], ["1", "1", "5"], ["2", "4"],
    ]  # fmt: skip


def test_a_bar_is_a_row(no_matplotlib):
    (axes,) = plots.stop_reasons({"answered": 3, "step limit": 1_200}).figure.axes
    assert "1,200" in axes.table("Ends").text
    assert "answered" in axes.table("Ends").text


def test_an_interval_is_told_with_its_value(no_matplotlib):
    case = Case("mugs", blue_mugs.GOAL, blue_mugs.TOOLS, lambda run: run.answer is not None)
    report = evaluate([case], lambda rng: blue_mugs.model(), runs=4)
    (axes,) = pass_rates(report).figure.axes
    assert "100 (51 to 100)" in axes.table("Rates").text


def test_a_long_line_is_shown_at_some_places_with_both_ends(no_matplotlib):
    (axes,) = plots.coins(list(range(1, 201))).figure.axes
    rows = axes.table("Coins").text.split("\n")[3:]
    assert len(rows) == MAX_ROWS
    assert rows[0].split()[0] == "1"
    assert rows[-1].split() == ["200", "20,100"]


def test_sliders_move_the_table(no_matplotlib):
    shown = PLOTS["moving"]()
    assert "16" in shown.page()
    shown.move(steps=9)
    assert "81" in shown.page()
    assert "9 calls cost 81 coins." in shown.page()


def test_a_plot_drawn_by_hand_becomes_a_table_too(no_matplotlib):
    figure, (axes,) = plots.new_figure(1, "Mine")
    axes.plot([10, 20], [1.25, 2], label="one", **plots.line_style(0, 2))
    axes.annotate("here", (10, 1))
    axes.spines[["top"]].set_visible(False)
    plots.name_axes(axes, "size", "seconds")
    assert isinstance(figure, FigureData)
    html = plots.Plot(figure, "It grows.")._repr_html_()
    assert "It grows." in html
    assert "1.2" in html


def test_what_is_no_part_of_a_plot_is_no_attribute():
    with pytest.raises(AttributeError):
        FigureData(1, "x").__array__  # noqa: B018
