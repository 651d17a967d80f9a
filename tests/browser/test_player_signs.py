"""The colours and signs of the moves, in the player and in the tables beneath it, as they are painted."""

# ruff: noqa: E501

import io
import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentlib import answer, ask
from agentlib.models import ScriptedModel
from agentlib.views import save_page
from agentlib.watch import watch
from tests.browser.loop import run_agent as loop
from tests.browser.test_player import LOWEST_CONTRAST
from tests.test_player_colours import NAMES, linear
from tests.test_player_colours import lab as lightness_and_hue

SIGNS = (*NAMES, "stop")


def stock_level(warehouse: str) -> int:
    return {"north": 140}[warehouse]


@pytest.fixture(scope="module")
def page(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A run with every move and every sign, its tables unfolded."""
    north, nowhere = ask("stock_level", warehouse="north"), ask("stock_level", warehouse="nowhere")
    model = ScriptedModel([nowhere, north, north, answer("140")])
    trace = watch(loop, model, {"stock_level": stock_level}, "How many mugs?")
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    opened.goto(save_page(trace, tmp_path_factory.mktemp("signs") / "run.html").as_uri())
    opened.locator("details.agentlib-static").evaluate("one => { one.open = true; }")
    yield opened
    opened.close()


def test_a_table_names_the_move_of_each_frame_with_the_players_colour_and_sign(page: Any) -> None:
    flags = page.locator(".agentlib-static .agentlib-flag")
    assert {words.strip("()") for words in flags.all_inner_texts()} == {*SIGNS}
    same = """one => {
      const name = [...one.classList].find((name) => name !== "agentlib-flag");
      const other = document.createElement("span");
      other.className = `agentlib-sign ${name}`;
      document.querySelector(".agentlib-player").append(other);
      const before = getComputedStyle(one, "::before");
      const found = [getComputedStyle(one).color === getComputedStyle(other).color, before.width !== "0px", before.maskImage];
      other.remove();
      return found;
    }"""
    found = [flags.nth(number).evaluate(same) for number in range(flags.count())]
    assert all(colour and wide and "path" in shape for colour, wide, shape in found)
    assert len({shape for _, _, shape in found}) == len(SIGNS)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_signs_of_a_table_can_be_read_in_both_themes(page: Any, theme: str) -> None:
    page.emulate_media(color_scheme=theme)
    lowest = page.evaluate(f"() => ({LOWEST_CONTRAST})(document.querySelector('.agentlib-static'))")
    assert lowest[0] >= 4.5, lowest


@pytest.mark.parametrize("eyes", ["protanopia", "deuteranopia", "tritanopia"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colour_blind_eyes_tell_any_two_apart_on_the_screen(page: Any, theme: str, eyes: str) -> None:
    """Chromium's own simulation. A distance of 10 in L*a*b* is seen at a glance."""
    images = pytest.importorskip("PIL.Image", reason="no Pillow here: pip install matplotlib")
    page.emulate_media(color_scheme=theme)
    page.evaluate(
        """names => document.querySelector(".agentlib-player").append(...names.map((name, place) => {
          const patch = document.createElement("i");
          patch.className = `agentlib-${name} patch`;
          patch.style = `position: fixed; z-index: 9; top: 0; left: ${20 * place}px; width: 20px; height: 20px; background: var(--agentlib-move)`;
          return patch;
        }))""",
        list(NAMES),
    )
    devtools = page.context.new_cdp_session(page)
    try:
        devtools.send("Emulation.setEmulatedVisionDeficiency", {"type": eyes})
        size = {"x": 0, "y": 0, "width": 20 * len(NAMES), "height": 20}
        picture = images.open(io.BytesIO(page.screenshot(clip=size))).convert("RGB")
    finally:
        devtools.detach()
        page.evaluate("() => document.querySelectorAll('.patch').forEach((one) => one.remove())")
    seen = {
        name: lightness_and_hue(
            linear("#{:02x}{:02x}{:02x}".format(*picture.getpixel((20 * place + 10, 10))))
        )
        for place, name in enumerate(NAMES)
    }
    for one, other in itertools.combinations(NAMES, 2):
        apart = sum((a - b) ** 2 for a, b in zip(seen[one], seen[other], strict=True)) ** 0.5
        assert apart >= 10, (one, other)


def test_axe_finds_nothing_in_the_tables(page: Any) -> None:

    script = os.environ.get("AXE")
    if not script:
        pytest.skip("no axe-core here: npm install axe-core, then AXE=node_modules/axe-core/axe.min.js")
    page.evaluate(Path(script).read_text("utf-8"))
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        found = page.evaluate("async () => (await axe.run('.agentlib-static')).violations.map(one => one.id)")
        assert found == []
