"""The quiz and the plots that move, in a real JupyterLab and by keyboard alone."""

import os
from pathlib import Path
from typing import Any

import pytest

from agentlib.course import final_test
from tests.browser.lab import CUT_OFF, Lab
from tests.browser.test_player import LOWEST_CONTRAST

QUIZ = ".agentlib-quiz"


def start_anew(lab: Lab, number: int = 0) -> Any:
    """The quiz (1 = the final test), with no question answered."""
    quiz = lab.page.locator(QUIZ).nth(number)
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


def press_next(lab: Lab, place: Any) -> None:
    """Press Tab until the focus is on this element, then Enter."""
    tab_to(lab, place)
    lab.page.keyboard.press("Enter")


def test_the_quiz_is_answered_and_tried_again_by_keyboard_alone(lab: Lab) -> None:
    quiz = start_anew(lab)
    questions, score = quiz.locator("fieldset"), quiz.locator(".agentlib-score")
    verdict = questions.nth(0).locator(".agentlib-verdict")
    choices = questions.nth(0).locator("ol button")
    choices.first.focus()
    lab.page.keyboard.press("Enter")
    assert verdict.inner_text() == "Not this one. There is a second try: 2 choices are left."
    assert score.inner_text() == "0 of 3 answered, 0 right so far."
    lab.page.keyboard.press("Enter")  # the same once more changes nothing
    assert verdict.inner_text() == "Not this one. There is a second try: 2 choices are left."
    press_next(lab, choices.nth(1))
    assert verdict.inner_text().startswith("Not this one. The model can mend this by itself")
    assert "Right is c. The message names what is allowed" in verdict.inner_text()
    assert choices.nth(0).inner_text().endswith("(your first choice)")
    assert score.inner_text() == "1 of 3 answered, 0 right so far."
    choices = questions.nth(1).locator("ol button")
    press_next(lab, choices.nth(0))
    tab_to(lab, choices.nth(1))
    lab.page.keyboard.press("Space")
    assert questions.nth(1).locator(".agentlib-verdict").inner_text().startswith("Right, at the second try. ")
    assert score.inner_text() == "2 of 3 answered, 1 right so far, 1 at the second try."
    tab_to(lab, questions.nth(2))
    lab.page.keyboard.press("Enter")
    assert score.inner_text() == "2 of 3 right (67%), 1 at the second try: passed."
    tab_to(lab, quiz.get_by_role("button", name="Try again"))
    lab.page.keyboard.press("Enter")
    assert score.inner_text() == "0 of 3 answered, 0 right so far."
    assert questions.nth(0).evaluate("e => e.contains(document.activeElement)")


def test_a_line_is_mended_by_keyboard_alone_and_checked_by_the_kernel(lab: Lab) -> None:
    quiz = start_anew(lab, 1)
    task = quiz.locator("fieldset").filter(has=lab.page.locator("select")).first
    place = int(str(task.locator("legend").text_content()).split(".")[0]) - 1
    repair = final_test(7, folder="unused").questions[place].repair
    assert repair is not None
    verdict, check = task.locator(".agentlib-verdict"), task.get_by_role("button", name="Check the line")
    check.focus()
    lab.page.keyboard.press("Enter")
    assert verdict.inner_text() == "Choose a line first."
    task.get_by_label("Line to change").focus()
    lab.page.keyboard.type(f"{repair.line}:")
    assert task.get_by_label("How it must read").input_value() != ""
    tab_to(lab, task.get_by_label("How it must read"))
    lab.page.keyboard.press("Enter")
    verdict.get_by_text("Not yet.").wait_for()
    assert verdict.inner_text().endswith("(2 more tries)")
    lab.page.keyboard.press("ControlOrMeta+a")
    lab.page.keyboard.type(repair.text)
    lab.page.keyboard.press("Enter")
    verdict.get_by_text("Right.").wait_for()
    assert quiz.locator(".agentlib-score").inner_text() == "1 of 15 answered, 1 right so far."


def test_wrong_answers_in_the_final_test_say_where_to_look_again_and_have_no_second_try(lab: Lab) -> None:
    quiz = start_anew(lab, 1)
    missed = set()
    for place, one in enumerate(final_test(7, folder="unused").questions):
        question = quiz.locator("fieldset").nth(place)
        verdict = question.locator(".agentlib-verdict")
        if one.repair:
            question.get_by_label("Line to change").select_option(str(one.repair.line))
            question.get_by_label("How it must read").fill(one.repair.text)
            question.get_by_role("button", name="Check the line").click()
            verdict.get_by_text("Right.").wait_for()
            continue
        question.locator("ol button").nth((one.right + 1) % one.size).click()
        assert verdict.inner_text().startswith("Not this one. ")
        assert "Right is " in verdict.inner_text()
        assert one.look_again in verdict.inner_text()
        missed.add(one.look_again.split("lesson ")[1][:2])
    score = quiz.locator(".agentlib-score").inner_text()
    start = "5 of 15 right (33%): not passed yet, it takes 60%. Look again at lessons "
    assert score == f"{start}{', '.join(sorted(missed))}. For a test with other data take another seed."


def test_an_answered_question_keeps_its_answer(lab: Lab) -> None:
    question = start_anew(lab).locator("fieldset").nth(1)
    question.get_by_role("button").nth(1).click()
    assert question.locator(".agentlib-verdict").inner_text().startswith("Right. ")
    question.get_by_role("button").nth(0).click(force=True)
    assert question.locator(".agentlib-verdict").inner_text().startswith("Right. ")


def test_no_key_pressed_in_the_quiz_or_on_a_plots_slider_reaches_the_notebook(lab: Lab) -> None:
    cells = lab.cells()
    for content in (QUIZ, "figure.agentlib-plot"):
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
    output = lab.output("figure.agentlib-plot")
    slider = output.get_by_role("slider", name="steps")
    slider.focus()
    lab.page.keyboard.press("ArrowRight")
    output.locator("figure[aria-label='Coins: 5 calls cost 25 coins.']").wait_for()
    assert output.locator("figcaption").first.inner_text() == "Coins: 5 calls cost 25 coins."
    lab.page.keyboard.press("ArrowLeft")
    output.locator("figure[aria-label='Coins: 4 calls cost 16 coins.']").wait_for()


@pytest.mark.parametrize("number", [0, 1], ids=["quiz", "final"])
@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_the_quiz_has_a_contrast_of_4_5_to_1_in_both_themes(lab: Lab, theme: str, number: int) -> None:
    lab.theme(theme)
    try:
        contrast, where = lab.page.locator(QUIZ).nth(number).evaluate(LOWEST_CONTRAST)
        assert contrast >= 4.5, f"{contrast:.2f} at {where}"
        if os.environ.get("SCREENSHOTS"):
            picture = f"quiz-{number}-{theme.split()[-1].lower()}.png"
            lab.page.locator(QUIZ).nth(number).screenshot(path=Path(os.environ["SCREENSHOTS"]) / picture)
    finally:
        lab.theme("JupyterLab Light")


def test_without_a_kernel_the_quiz_says_that_nothing_is_kept(lab: Lab) -> None:
    quiz = start_anew(lab)
    assert quiz.get_by_role("alert").inner_text() == ""
    lab.menu("Kernel", "Restart Kernel…")
    lab.page.locator(".jp-Dialog .jp-mod-accept").click()
    lab.page.wait_for_timeout(3_000)
    quiz.locator("fieldset").nth(0).locator("ol button").nth(2).click()
    assert quiz.locator(".agentlib-verdict").first.inner_text().startswith("Right. ")
    quiz.get_by_role("alert").get_by_text("Run this cell again.").wait_for()
    lab.run_all()


@pytest.mark.parametrize("width", [380, 1280])
def test_nothing_of_the_quiz_or_the_final_test_is_cut_off(lab: Lab, width: int) -> None:
    if width < 500:
        lab.menu("View", "Appearance", "Show Left Sidebar")  # hides it: it would take all of a phone
    lab.window(width, 900)
    try:
        for quiz in lab.page.locator(QUIZ).all():
            assert quiz.evaluate(CUT_OFF) == []
            if os.environ.get("SCREENSHOTS"):
                quiz.scroll_into_view_if_needed()
                lab.picture(Path(os.environ["SCREENSHOTS"]) / f"quiz-{width}.png")
    finally:
        lab.window(1400, 1100)
        if width < 500:
            lab.menu("View", "Appearance", "Show Left Sidebar")


def test_axe_finds_nothing_serious_in_the_quiz(lab: Lab) -> None:
    script = os.environ.get("AXE")
    if not script:
        pytest.skip("no axe-core here: npm install axe-core, then AXE=node_modules/axe-core/axe.min.js")
    lab.page.evaluate(Path(script).read_text(encoding="utf-8"))
    quizzes = [quiz.element_handle() for quiz in lab.page.locator(QUIZ).all()]
    found = [
        one for each in quizzes for one in lab.page.evaluate("root => axe.run(root)", each)["violations"]
    ]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    assert [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in serious] == []
