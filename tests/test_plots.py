"""Plots: what is drawn, what the sentence beside it says, and how it reaches a notebook."""

import base64
import io
import itertools
import re
import subprocess
import sys

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from agentlib import run_agent
from agentlib.labs import blue_mugs
from agentlib.models import LoopingModel
from agentlib.stops import RepeatedCall
from agentlib.views import plots


def mugs(max_steps=10):
    return run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL, max_steps=max_steps)


def stuck(max_steps):
    model = LoopingModel("stock_level", warehouse="North")
    return run_agent(model, blue_mugs.TOOLS, "goal", max_steps=max_steps)


def lines(axes):
    """The drawn lines, by their names."""
    return {line.get_label(): list(line.get_ydata()) for line in axes.get_lines()}


def test_tokens_read_are_drawn_per_call_and_in_all_beside_the_two_formulas():
    steps = [500 * number for number in range(1, 21)]
    each, total = plots.tokens_read(steps).figure.axes
    assert lines(each) == {"measured": steps, "500 × n": steps}
    assert lines(total)["measured"][-1] == 105_000
    assert lines(total)["500 × n(n+1)/2"][-1] == 105_000


def test_the_sentence_names_the_figures_of_the_plot():
    said = str(plots.tokens_read([500, 1_000, 1_500]))
    assert "3 calls read 3,000 tokens in all; call 1 read 500, call 3 read 1,500." in said


def test_the_dashed_lines_follow_a_given_number_of_tokens_per_step():
    each, _ = plots.tokens_read([10, 10], tokens_per_step=7).figure.axes
    assert lines(each)["7 × n"] == [7, 14]


def test_what_is_counted_is_said_on_the_axes_and_in_the_sentence():
    plot = plots.tokens_read([500, 20], title="Tokens read anew", what="read anew")
    labels = [axes.get_ylabel() for axes in plot.figure.axes]
    assert labels == ["tokens read anew by this call", "tokens read anew in all"]
    assert "2 calls read anew 520 tokens in all; call 1 read anew 500, call 2 read anew 20." in str(plot)


def test_runs_and_traces_are_read_alike():
    run = mugs()
    assert str(plots.tokens_read(run)) == str(plots.tokens_read(run.trace))
    each, _ = plots.tokens_read({"A": run, "B": stuck(3)}).figure.axes
    assert {"A", "B"} <= lines(each).keys()


def test_coins_add_up_and_the_limits_are_drawn():
    plot = plots.coins({"A": mugs(), "C": stuck(8)}, coin_limit=20, step_limit=4)
    drawn = lines(plot.figure.axes[0])
    assert drawn["A"] == [1, 4, 9, 16]
    assert drawn["C"][-1] == 64
    assert {"limit: 20 coins", "limit: 4 steps"} <= drawn.keys()
    assert "A: 1, 4, 9, 16 coins after calls 1 to 4, answered." in str(plot)
    assert "Limits: 20 coins and 4 steps." in str(plot)


def test_stop_reasons_are_counted_most_frequent_first():
    plot = plots.stop_reasons([mugs(), mugs(2), mugs(1), "deadline"])
    assert str(plot) == "How the runs ended: of 4 runs, step limit 2, answered 1 and deadline 1."
    bars = plot.figure.axes[0].patches
    assert [bar.get_width() for bar in bars] == [2, 1, 1]
    assert len({bar.get_hatch() for bar in bars}) == 3
    assert str(plots.stop_reasons({"answered": 7})) == "How the runs ended: of 7 runs, answered 7."


def test_new_results_rise_while_a_run_learns_and_stay_flat_while_it_is_stuck():
    plot = plots.new_results({"mugs": mugs(), "stuck": stuck(5)})
    drawn = lines(plot.figure.axes[0])
    assert drawn["mugs"] == [1, 2, 3, 3]
    assert drawn["stuck"] == [1, 1, 1, 1, 1]
    assert "mugs: 3 different results in 4 steps, the last new one in step 3, answered." in str(plot)
    assert "stuck: 1 different result in 5 steps, the last new one in step 1, step limit." in str(plot)


def test_a_result_that_says_it_was_not_run_is_no_new_result():
    model = LoopingModel("stock_level", warehouse="North")
    run = run_agent(model, blue_mugs.TOOLS, "goal", stops=RepeatedCall(3))
    assert lines(plots.new_results(run).figure.axes[0])["new so far"] == [1, 1, 1]


def test_new_results_of_what_is_no_run_are_refused_in_words():
    with pytest.raises(TypeError, match="Run or a Trace"):
        plots.new_results([1, 2, 3])


def test_every_axis_says_what_it_counts():
    for plot in (plots.tokens_read(mugs()), plots.coins(mugs()), plots.new_results(mugs())):
        for axes in plot.figure.axes:
            assert axes.get_xlabel()
            assert axes.get_ylabel()
    assert plots.stop_reasons({"answered": 1}).figure.axes[0].get_xlabel() == "runs"


def test_runs_differ_by_marker_and_colour():
    each, _ = plots.tokens_read({"A": mugs(), "B": stuck(3), "C": stuck(4)}).figure.axes
    looks = {(line.get_marker(), line.get_color()) for line in each.get_lines()[:3]}
    assert len({marker for marker, _ in looks}) == len({colour for _, colour in looks}) == 3


def test_the_picture_is_stored_once_with_its_sentence_for_the_eye_and_for_a_screen_reader():
    plot = plots.coins(mugs())
    bundle = plot._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}
    page = bundle["text/html"]
    assert page.startswith('<figure class="agentlib-plot" aria-label="Coins used: ')
    assert f'<img alt="{plot.sentence}"' in page
    assert page.count("base64,") == 1
    assert f"<figcaption>{plot.sentence}</figcaption>" in page
    assert bundle["text/plain"] == str(plot) == f"{plot.sentence} {plot.figures}"
    (picture,) = re.findall(r"base64,([^\"]*)", page)
    assert base64.b64decode(picture).startswith(b"\x89PNG")


def test_the_same_plot_gives_the_same_bytes_and_is_small():
    first, second = plots.tokens_read(mugs()), plots.tokens_read(mugs())
    assert first.png() == second.png() == first.png()
    assert len(first.png()) < 25_000


def test_a_name_with_html_in_it_stays_text():
    page = plots.coins({'<b>"x"</b>': mugs()})._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;&quot;x&quot;&lt;/b&gt;" in page


@pytest.mark.parametrize("draw", [plots.tokens_read, plots.coins, plots.stop_reasons])
@pytest.mark.parametrize("given", [3, None, "text", [object()], {"A": object()}])
def test_what_cannot_be_plotted_is_refused_in_words(draw, given):
    with pytest.raises(TypeError, match="but w"):
        draw(given)


@pytest.mark.parametrize("draw", [plots.tokens_read, plots.coins, plots.stop_reasons])
@pytest.mark.parametrize("given", [[], {}])
def test_nothing_to_plot_is_said(draw, given):
    with pytest.raises(ValueError, match="nothing to plot"):
        draw(given)


def test_matplotlib_is_loaded_only_when_a_plot_is_drawn():
    program = (
        "import sys, agentlib.views\n"
        "print('matplotlib' in sys.modules, 'ipywidgets' in sys.modules)\n"
        "agentlib.views.plots.coins([1, 3])\n"
        "print('matplotlib' in sys.modules, 'matplotlib.pyplot' in sys.modules)\n"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["False", "False", "True", "False"]


# --- in both themes


def luminance(colour, brightness=1.0):
    """The relative luminance of "#rrggbb", as WCAG 2.2 defines it, under a CSS filter `brightness`."""
    parts = [min(1.0, int(colour[place : place + 2], 16) / 255 * brightness) for place in (1, 3, 5)]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(colour, page, brightness=1.0):
    darker, lighter = sorted((luminance(colour, brightness), luminance(page)))
    return (lighter + 0.05) / (darker + 0.05)


THEMES = {"true": "#ffffff", "false": "#111111"}  # JupyterLab's data-jp-theme-light, and its page


def brightness_in(theme):
    rule = rf"data-jp-theme-light={theme}\] .agentlib-plot img{{filter:brightness\((.*?)\)"
    (found,) = re.findall(rule, plots.STYLE)
    return float(found)


@pytest.mark.parametrize("theme", THEMES)
def test_text_and_lines_can_be_read_in_the_light_and_in_the_dark_theme(theme):
    page, brightness = THEMES[theme], brightness_in(theme)
    assert contrast(plots.INK, page, brightness) >= 4.5
    for colour in plots.COLOURS:
        assert contrast(colour, page, brightness) >= 3
        assert contrast(colour, page) >= 3  # where the style is taken out
    assert contrast(plots.INK, page) >= 4


DRAWN = {
    "tokens": lambda: plots.tokens_read({"mugs": mugs(), "stuck": stuck(8), "same": stuck(8)}),
    "coins": lambda: plots.coins({"A": mugs(), "C": stuck(8)}, coin_limit=20, step_limit=4),
    "stops": lambda: plots.stop_reasons({"answered": 7, "step limit": 2}),
    "new": lambda: plots.new_results({"mugs": mugs(), "stuck": stuck(5)}),
}


@pytest.mark.parametrize("name", DRAWN)
def test_the_ground_is_transparent_and_no_text_is_black_or_white(name):
    plot = DRAWN[name]()
    picture = Image.open(io.BytesIO(plot.png())).convert("RGBA")
    assert {picture.getpixel(place)[3] for place in ((0, 0), (picture.width - 1, picture.height - 1))} == {0}
    texts = [plot.figure._suptitle, *(text for axes in plot.figure.axes for text in axes.texts)]
    for axes in plot.figure.axes:
        texts += [axes.xaxis.label, axes.yaxis.label, *axes.get_xticklabels(), *axes.get_yticklabels()]
    assert {text.get_color() for text in texts} == {plots.INK}


@pytest.mark.parametrize("name", ["tokens", "coins", "new"])
def test_each_line_has_its_name_at_its_end_and_no_name_lies_on_another(name):
    plot = DRAWN[name]()
    renderer = FigureCanvasAgg(plot.figure).get_renderer()
    for axes in plot.figure.axes:
        assert axes.get_legend() is None
        names = {line.get_label() for line in axes.get_lines()}
        assert {text.get_text() for text in axes.texts} == names
        boxes = [text.get_window_extent(renderer) for text in axes.texts]
        for number, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[:number])
            assert plot.figure.bbox.x0 <= box.x0 < box.x1 <= plot.figure.bbox.x1


def test_many_lines_that_end_alike_have_names_apart_and_inside():
    places = plots.spread([0.9] * 8)
    assert min(after - before for before, after in itertools.pairwise(places)) > 0.08
    assert max(places) <= 1
    assert plots.spread([0.1, 0.5]) == [0.1, 0.5]
    assert plots.spread([]) == []


@pytest.mark.parametrize("name", DRAWN)
def test_the_caption_is_one_sentence_and_the_figures_are_folded(name):
    plot = DRAWN[name]()
    assert plot.sentence.endswith(".")
    assert ". " not in plot.sentence
    page = plot._repr_html_()
    assert f"<figcaption>{plot.sentence}</figcaption>" in page
    assert page.count("<details>") == (1 if plot.figures else 0)
    if plot.figures:
        assert f"<details><summary>The figures</summary><p>{plot.figures}</p></details>" in page
