"""Notebook 02 as a learner meets it: run all, walk through the tracer, and find out what max_steps=2 does."""

from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from tests.browser.lab import Lab
from tests.rerun_notebooks import keep_secret

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "02_blue_mugs.ipynb"


@pytest.fixture(scope="module")
def lesson(browser: object, lab_address: str) -> Iterator[Lab]:
    page = Lab(browser, lab_address)
    page.write(NOTEBOOK.name, nbformat.read(NOTEBOOK, as_version=4))
    page.open(NOTEBOOK.name)
    page.run_all()
    yield page
    page.page.context.close()


def test_the_tracer_of_notebook_02_is_walked_by_keys_and_shows_the_step_limit(lesson: Lab) -> None:
    player = lesson.player(0)
    player.press("Home", "ArrowRight", "ArrowRight")
    assert player.frame == 3
    player.press("End")
    assert player.figure("stopped") == "answered"
    player.slider.focus()
    lesson.page.keyboard.press("Home")
    lesson.page.keyboard.press("ArrowRight")
    ended = "e => ['step limit', '2 / 2'].every((words) => e.querySelector('dl').textContent.includes(words))"
    lesson.page.wait_for_function(ended, arg=player.root.element_handle())
    assert player.figure("entries") == "5"
    assert "There is no answer." in player.caption


def test_no_key_on_any_player_of_notebook_02_changes_the_notebook(lesson: Lab) -> None:
    cells = lesson.cells()
    for number in range(lesson.page.locator(".agentlib-player").count()):
        places = lesson.player(number).focusable()
        for place in range(places.count()):
            if places.nth(place).is_visible():
                places.nth(place).focus()
                lesson.page.keyboard.press("d")
                lesson.page.keyboard.press("d")
    assert lesson.cells() == cells


def test_notebook_02_leaves_no_error_on_the_console(lesson: Lab) -> None:
    assert [line for line in lesson.console if "favicon" not in line] == []


def test_an_output_below_a_prediction_is_hidden_until_its_cell_runs(
    browser: object, lab_address: str
) -> None:
    page = Lab(browser, lab_address)
    cell = nbformat.v4.new_code_cell(
        "6 * 7",
        metadata={"jupyter": {"outputs_hidden": True}},
        outputs=[nbformat.v4.new_output("execute_result", {"text/plain": "42"}, execution_count=1)],
    )
    keep_secret(cell)  # as a rerun of a lesson does; else the first line of the output stands there
    metadata = nbformat.read(NOTEBOOK, as_version=4).metadata
    page.write("predict.ipynb", nbformat.v4.new_notebook(cells=[cell], metadata=metadata))
    page.open("predict.ipynb")
    shown = page.page.locator(".jp-OutputArea-output", has_text="42")
    page.page.wait_for_selector(".jp-OutputPlaceholder")
    assert "42" not in page.page.locator(".jp-OutputPlaceholder").inner_text()
    assert not shown.is_visible()
    page.page.locator(".jp-Notebook .jp-Cell").first.click()
    page.page.keyboard.press("Shift+Enter")
    shown.wait_for(state="visible", timeout=30_000)
    page.page.context.close()
