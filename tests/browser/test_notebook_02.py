"""Notebook 02 as a learner meets it: run all, walk through the tracer, and find out what max_steps=2 does."""

from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from tests.browser.lab import Lab

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
