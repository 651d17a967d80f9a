"""The quiz and the plots that move, in a real JupyterLab and by keyboard alone."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.browser.lab import Lab
from tests.browser.test_player import LOWEST_CONTRAST

QUIZ = ".agentlib-quiz"


def start_anew(lab: Lab) -> Any:
    """The quiz, with no question answered."""
    quiz = lab.page.locator(QUIZ)
    quiz.scroll_into_view_if_needed()
    again = quiz.get_by_role("button", name="Try again")
    if again.is_visible():
        again.click()
    return quiz


def tab_to(lab: Lab, place: Any) -> None:
    """Press Tab until the focus is inside a place."""
    for _ in range(12):
        if place.evaluate("e => e.contains(document.activeElement)"):
            return
        lab.page.keyboard.press("Tab")
    raise AssertionError("the Tab key does not get there")


def test_the_quiz_is_answered_and_tried_again_by_keyboard_alone(lab: Lab) -> None:
    quiz = start_anew(lab)
    questions, score = quiz.locator("fieldset"), quiz.locator(".agentlib-score")
    questions.nth(0).locator("button").first.focus()
    lab.page.keyboard.press("Enter")
    verdict = questions.nth(0).locator(".agentlib-verdict").inner_text()
    assert verdict.startswith("Not this one. Then your loop guesses what was meant.")
    assert "Right is c. The message names what is allowed" in verdict
    assert score.inner_text() == "1 of 3 answered, 0 right so far."
    tab_to(lab, questions.nth(1))
    lab.page.keyboard.press("Tab")
    lab.page.keyboard.press("Space")
    assert score.inner_text() == "2 of 3 answered, 1 right so far."
    tab_to(lab, questions.nth(2))
    lab.page.keyboard.press("Enter")
    assert score.inner_text() == "2 of 3 right (67%): passed."
    tab_to(lab, quiz.get_by_role("button", name="Try again"))
    lab.page.keyboard.press("Enter")
    assert score.inner_text() == "0 of 3 answered, 0 right so far."
    assert questions.nth(0).evaluate("e => e.contains(document.activeElement)")


def test_an_answered_question_keeps_its_answer(lab: Lab) -> None:
    question = start_anew(lab).locator("fieldset").nth(1)
    question.get_by_role("button").nth(1).click()
    assert question.locator(".agentlib-verdict").inner_text().startswith("Right. ")
    question.get_by_role("button").nth(0).click(force=True)
    assert question.locator(".agentlib-verdict").inner_text().startswith("Right. ")


def test_no_key_pressed_in_the_quiz_or_on_a_plots_slider_reaches_the_notebook(lab: Lab) -> None:
    cells = lab.cells()
    for content in (QUIZ, "figure[role=img]"):
        places = lab.reachable(lab.output(content))
        assert places.count() > 0
        for place in range(places.count()):
            if not places.nth(place).is_visible():
                continue
            places.nth(place).focus()
            for key in ("d", "d", "b"):
                lab.page.keyboard.press(key)
            assert lab.cells() == cells, places.nth(place).evaluate("e => e.outerHTML.slice(0, 100)")


def test_a_plot_follows_its_slider_and_says_what_it_shows(lab: Lab) -> None:
    output = lab.output("figure[role=img]")
    slider = output.get_by_role("slider", name="steps")
    slider.focus()
    lab.page.keyboard.press("ArrowRight")
    output.locator("figure[aria-label='Coins: 5 calls cost 25 coins.']").wait_for()
    assert output.locator("figcaption").first.inner_text() == "Coins: 5 calls cost 25 coins."
    lab.page.keyboard.press("ArrowLeft")
    output.locator("figure[aria-label='Coins: 4 calls cost 16 coins.']").wait_for()


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_the_quiz_has_a_contrast_of_4_5_to_1_in_both_themes(lab: Lab, theme: str) -> None:
    lab.theme(theme)
    try:
        contrast, where = lab.page.locator(QUIZ).evaluate(LOWEST_CONTRAST)
        assert contrast >= 4.5, f"{contrast:.2f} at {where}"
        if os.environ.get("SCREENSHOTS"):
            picture = f"quiz-{theme.split()[-1].lower()}.png"
            lab.page.locator(QUIZ).screenshot(path=Path(os.environ["SCREENSHOTS"]) / picture)
    finally:
        lab.theme("JupyterLab Light")


def test_axe_finds_nothing_serious_in_the_quiz(lab: Lab) -> None:
    script = os.environ.get("AXE")
    if not script:
        pytest.skip("no axe-core here: npm install axe-core, then AXE=node_modules/axe-core/axe.min.js")
    lab.page.evaluate(Path(script).read_text(encoding="utf-8"))
    found = lab.page.evaluate("root => axe.run(root)", lab.page.locator(QUIZ).element_handle())["violations"]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    assert [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in serious] == []
