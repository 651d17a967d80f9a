"""Plots that move: sliders, the sentence that follows them, and no drawing of what stays the same."""

import asyncio
import importlib
import io
import time

import pytest
from PIL import Image

from agentlib.views import moving

moving_module = importlib.import_module("agentlib.views.moving")


def curves(steps, tokens):
    read = [tokens * call for call in range(1, steps + 1)]
    return {"per call": read, "in all": [sum(read[: call + 1]) for call in range(steps)]}


def say(steps, tokens):
    return f"{steps} calls read {tokens * steps * (steps + 1) // 2:,} tokens in all."


def plot(**limits):
    return moving(curves, say, title="Tokens read", up="tokens read", **limits)


def growth():
    return plot(steps=(1, 50, 20), tokens=(100, 1_000, 500))


def test_the_sentence_follows_the_sliders():
    shown = growth()
    assert shown.sentence == "Tokens read: 20 calls read 105,000 tokens in all."
    shown.box.children[0].value = 5
    assert shown.values == {"steps": 5, "tokens": 500}
    assert "5 calls read 7,500 tokens in all." in shown.box.children[2].value


@pytest.mark.parametrize(
    ("most", "step"), [(2, 1), (1_000, 1), (1_001, 10), (10_000, 10), (10_001, 100), (20_001, 100)]
)
def test_an_arrow_key_crosses_a_wide_range_in_at_most_a_thousand_steps(most, step):
    slider = plot(steps=(1, 3, 2), tokens=(1, most, 2)).box.children[1]
    assert (slider.step, slider.value, slider.max) == (step, 2, most)


def test_the_lines_are_drawn_anew_and_the_axes_stay():
    shown = growth()
    before = shown.png()
    shown.move(steps=50)
    after = shown.png()
    assert before != after
    assert list(shown.lines["per call"].get_ydata()) == [500 * call for call in range(1, 51)]
    shown.move(steps=20)
    shown.settle()
    assert shown.png() == before
    shown.move(steps=19)
    assert shown.png() != before
    shown.move(steps=20)
    assert shown.png() == before


def test_the_axis_of_calls_reaches_as_far_as_the_sliders_and_the_upright_one_as_the_data():
    shown = growth()
    assert shown.axes.get_xlim()[1] >= 50
    assert shown.axes.get_ylim() == (0, pytest.approx(1.05 * 105_000))


def test_while_a_slider_moves_the_upright_axis_stays_and_makes_room_where_a_line_would_leave_it():
    shown = growth()
    shown.png()
    top = shown.axes.get_ylim()[1]
    shown.move(steps=5)
    shown.png()
    assert shown.axes.get_ylim()[1] == top
    shown.move(steps=50)
    shown.png()
    assert shown.axes.get_ylim()[1] >= 500 * 50 * 51 / 2
    shown.move(steps=5)
    shown.settle()
    shown.png()
    assert shown.axes.get_ylim()[1] == pytest.approx(1.05 * 7_500)


def test_the_upright_axis_follows_when_a_slider_has_come_to_rest(monkeypatch):
    monkeypatch.setattr(moving_module, "REST_SECONDS", 0.01)

    async def moved():
        shown = growth()
        page = shown.box.children[2]
        for steps in (7, 6, 5):
            shown.box.children[0].value = steps
        while_it_moved = shown.top, page.value
        await asyncio.sleep(0.1)
        return shown, while_it_moved, page.value

    shown, (top, picture), rested = asyncio.run(moved())
    assert top == pytest.approx(1.05 * 105_000)
    assert shown.top == pytest.approx(1.05 * 7_500)
    assert rested != picture


def test_data_that_are_all_zero_are_drawn_too():
    shown = moving(lambda n: {"nothing": [0] * n}, lambda n: "none.", title="Zero", up="zeros", n=(1, 3, 2))
    assert shown.png()
    assert shown.axes.get_ylim()[1] > 0


def test_each_line_has_its_name_at_its_end_and_none_lies_on_another():
    shown = growth()
    for steps in (50, 20, 1):
        shown.move(steps=steps)
        shown.png()
        one, other = (
            shown.names[name].get_window_extent(shown.canvas.get_renderer()) for name in shown.names
        )
        assert not one.overlaps(other)
        assert max(one.x1, other.x1) <= shown.figure.bbox.x1
    assert shown.axes.get_legend() is None


def test_the_ground_is_transparent():
    picture = Image.open(io.BytesIO(growth().png()))
    assert picture.mode == "RGBA"
    assert picture.getpixel((0, 0))[3] == 0


def test_a_slider_says_its_unit_where_one_is_given():
    shown = plot(labels={"tokens": "t, tokens per step"}, steps=(1, 50, 20), tokens=(100, 1_000, 500))
    assert [one.description for one in shown.box.children[:2]] == ["steps", "t, tokens per step"]
    shown.box.children[1].value = 200
    assert shown.values["tokens"] == 200


def test_from_slider_to_picture_it_takes_at_most_50_ms_of_the_computers_time():
    shown = growth()
    shown.page()
    took = []
    for steps in range(10, 40):
        started = time.process_time()
        shown.move(steps=steps)
        shown.page()
        took.append(time.process_time() - started)
    assert sorted(took)[len(took) // 2] < 0.050


def test_the_still_form_shows_the_start_wherever_the_sliders_stand():
    shown = growth()
    first = shown._repr_mimebundle_()
    shown.move(steps=3)
    assert shown._repr_mimebundle_() == first
    assert str(shown) == "Tokens read: 20 calls read 105,000 tokens in all."
    assert first["text/html"].startswith('<details open class="agentlib-static">')
    assert 'class="agentlib-plot" aria-label="Tokens read: 20 calls' in first["text/html"]
    assert shown.values["steps"] == 3


def test_the_sliders_have_names_and_limits():
    sliders = growth().box.children[:2]
    assert [(one.description, one.min, one.max, one.value) for one in sliders] == [
        ("steps", 1, 50, 20), ("tokens", 100, 1_000, 500),
    ]  # fmt: skip


def luminance(colour):
    """The relative luminance of "#rrggbb", as WCAG 2.2 defines it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("page", ["#ffffff", "#111111"])  # JupyterLab's light and dark theme
def test_the_handle_of_each_slider_stands_out_from_the_page(page):
    for slider in growth().box.children[:2]:
        darker, lighter = sorted((luminance(slider.style.handle_color or "#ffffff"), luminance(page)))
        assert (lighter + 0.05) / (darker + 0.05) >= 3


@pytest.mark.parametrize("limits", [(1, 5), 3, (5, 1, 3), (1, 5, 9), (1, 5, 2.5), ("1", 5, 3)])
def test_limits_that_do_not_fit_are_refused_in_words(limits):
    with pytest.raises(ValueError, match="steps"):
        plot(steps=limits, tokens=(1, 2, 1))


def test_a_slider_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="no slider named speed"):
        growth().move(speed=3)
