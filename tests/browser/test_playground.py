"""The playground in JupyterLab: its line follows the slider at each key, and axe has nothing to say."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.conftest import notebook_of
from tests.browser.lab import CELL, Lab

CELLS = 'from agentlib.views import playground\nplayground("capitals", max_steps=10)'


@pytest.fixture(scope="module")
def ground(browser: object, lab_address: str) -> Iterator[Lab]:
    page = Lab(browser, lab_address)
    page.write("playground.ipynb", notebook_of([CELLS]))
    page.open("playground.ipynb")
    page.page.locator(CELL).nth(1).click()
    page.page.keyboard.press("Shift+Enter")
    page.page.wait_for_selector("p[role=status]", timeout=60_000)
    yield page
    page.page.context.close()


def line(ground: Lab) -> str:
    return ground.page.locator("p[role=status]").first.inner_text()


def test_the_line_follows_the_slider_at_each_key(ground: Lab) -> None:
    assert "New Delhi" in line(ground)
    slider = ground.page.get_by_role("slider").first
    slider.focus()
    for steps in range(9, 3, -1):
        ground.page.keyboard.press("ArrowLeft")
        words = f"after {min(steps, 7)} steps"
        ground.page.locator("p[role=status]", has_text=words).wait_for(timeout=10_000)
    assert "step limit" in line(ground)
    assert "3 of 4 populations known" in line(ground)


def test_another_lab_is_chosen_by_its_name(ground: Lab) -> None:
    ground.page.get_by_label("lab", exact=True).select_option("weather")
    ground.page.locator("p[role=status]", has_text="carry water").wait_for(timeout=10_000)
    ground.page.get_by_label("lab", exact=True).select_option("capitals")


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_axe_finds_nothing_serious_in_the_playground(ground: Lab, theme: str) -> None:
    axe = Path(os.environ.get("AXE", "node_modules/axe-core/axe.min.js"))
    if not axe.is_file():
        pytest.skip("no axe-core here: npm install axe-core, then AXE=node_modules/axe-core/axe.min.js")
    ground.theme(theme)
    ground.page.evaluate(axe.read_text(encoding="utf-8"))
    output = ground.output("p[role=status]").element_handle()
    found = ground.page.evaluate("output => axe.run(output)", output)["violations"]
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
