"""As the provider sees it: the switch of the player, in a page of its own in a real browser."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentlib import run_agent
from agentlib.labs import blue_mugs
from agentlib.views import save_page
from tests.browser.test_player import LOWEST_CONTRAST


@pytest.fixture(scope="module")
def page(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("wire")
    run = run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL)
    path = save_page(run, folder / "run.html")
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    opened.goto(path.as_uri())
    yield opened
    opened.close()


def step(page: Any, number: int) -> None:
    """Go to the first frame of a step, by the keyboard alone."""
    page.locator(".agentlib-player").focus()
    page.keyboard.press("Home")
    for _ in range(number):
        page.get_by_role("button", name="Next step").click()


def test_the_request_of_the_step_is_shown_with_what_is_new_and_what_a_cache_reads(page: Any) -> None:
    wire = page.get_by_role("region", name="As the provider sees it")
    switch = wire.get_by_label("as the provider sees it")
    assert wire.locator("ol").count() == 0
    switch.select_option("OpenAI Chat Completions")
    step(page, 0)
    assert wire.inner_text().endswith("No request has been made yet.")
    step(page, 2)
    assert "request 2: 3 messages (1 cached, 2 new)" in wire.inner_text()
    assert [one.split()[0] for one in wire.locator("li summary").all_inner_texts()] == [
        "cached",
        "new",
        "new",
    ]
    assert '"tool_calls"' in wire.locator("li").nth(1).inner_text()
    assert not wire.locator("li pre").first.is_visible()
    step(page, 3)
    assert "request 3: 5 messages (3 cached, 2 new)" in wire.inner_text()


def test_the_other_interface_has_its_own_shape(page: Any) -> None:
    wire = page.get_by_role("region", name="As the provider sees it")
    wire.get_by_label("as the provider sees it").select_option("Anthropic Messages")
    step(page, 2)
    assert '"tool_use"' in wire.locator("li").nth(1).inner_text()
    wire.locator("summary", has_text="model, tools, settings").click()
    assert '"input_schema"' in wire.inner_text()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_can_be_read_in_both_themes_and_axe_finds_nothing(page: Any, theme: str) -> None:
    page.emulate_media(color_scheme=theme)
    page.locator(".agentlib-wire select").select_option("OpenAI Chat Completions")
    step(page, 3)
    lowest = page.evaluate(f"() => ({LOWEST_CONTRAST})(document.querySelector('.agentlib-wire'))")
    assert lowest[0] >= 4.5, lowest
    if os.environ.get("SHOTS"):
        page.screenshot(path=f"{os.environ['SHOTS']}/wire_{theme}.png", full_page=True)
    script = os.environ.get("AXE")
    if not script:
        pytest.skip("no axe-core here: npm install axe-core, then AXE=node_modules/axe-core/axe.min.js")
    page.evaluate(Path(script).read_text("utf-8"))
    found = page.evaluate("async () => (await axe.run('.agentlib-wire')).violations.map(one => one.id)")
    assert found == []


def test_a_phone_shows_it_without_running_over(page: Any) -> None:
    page.set_viewport_size({"width": 380, "height": 800})
    page.locator(".agentlib-wire select").select_option("Anthropic Messages")
    step(page, 3)
    wide = page.evaluate("() => document.documentElement.scrollWidth")
    assert wide <= 380
    page.set_viewport_size({"width": 1280, "height": 900})
