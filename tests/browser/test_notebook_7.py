"""Lesson 02 in Jupyter Notebook 7, a page with one notebook: player, slider and quiz work as in Lab."""

import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import nbformat
import pytest

from tests.browser.conftest import notebook_of, served
from tests.browser.lab import Lab

LESSON = Path(__file__).parents[2] / "notebooks" / "02_blue_mugs.ipynb"


@pytest.fixture(scope="module")
def lesson(browser: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    if find_spec("notebook") is None:
        pytest.skip('no Jupyter Notebook here: pip install -e ".[browser]"')
    home = tmp_path_factory.mktemp("notebook7")
    (home / "notebooks").mkdir()
    shutil.copy(LESSON, home / "notebooks")
    nbformat.write(notebook_of(["1 + 1"]), home / "notebooks" / "empty.ipynb")
    with served("notebook", home) as address:
        page = Lab(browser, address)
        page.open(LESSON.name, "notebooks")
        page.run_all()
        yield page
        page.page.context.close()


def test_the_player_is_walked_by_keys(lesson: Lab) -> None:
    player = lesson.player(0)
    player.press("Home", "ArrowRight", "ArrowRight")
    assert player.frame == 3
    player.press("End")
    assert player.figure("stopped") == "answered"


def test_the_slider_runs_the_loop_again(lesson: Lab) -> None:
    player = lesson.player(0)
    player.slider.focus()
    lesson.page.keyboard.press("Home")
    lesson.page.keyboard.press("ArrowRight")
    ended = "e => ['step limit', '2 / 2'].every((words) => e.querySelector('dl').textContent.includes(words))"
    lesson.page.wait_for_function(ended, arg=player.root.element_handle())
    assert player.figure("entries") == "5"


def test_a_click_answers_the_quiz(lesson: Lab) -> None:
    quiz = lesson.page.locator(".agentlib-quiz", has_text="of 3 answered").first
    quiz.scroll_into_view_if_needed()  # what is far below is not drawn yet
    question = quiz.locator("fieldset").first
    question.locator("ol button").first.click()
    verdict = question.locator(".agentlib-verdict").text_content()
    assert verdict.startswith("Not this one. There is a second try")


def test_the_lesson_leaves_no_error_on_the_console_that_an_empty_notebook_does_not(lesson: Lab) -> None:
    """Notebook 7 has one of its own: it asks for a setting that JupyterLab alone has."""
    empty = Lab(lesson.page.context.browser, lesson.address)
    empty.open("empty.ipynb", "notebooks")
    empty.page.context.close()
    assert set(lesson.console) - set(empty.console) == set()
