"""What widgets say when they are out of date: a new loop, a number not taken, a kernel that has gone.

The tests walk through one notebook from top to bottom; the last one restarts its kernel.
"""

from collections.abc import Iterator

import pytest

from tests.browser.conftest import CELLS, notebook_of
from tests.browser.lab import Lab

NEW = (
    "def run_agent(model, tools, goal, max_steps=10):\n"
    "    for step in range(min(max_steps, 4)):\n"
    "        reply = model([{'role': 'user', 'text': goal}])\n"
    "    return {'answer': 'a new one', 'stopped': 'answered'}"
)
NAMES = ("setup", "live", "moving", "quiz")


@pytest.fixture(scope="module")
def out_of_date(browser: object, lab_address: str) -> Iterator[Lab]:
    page = Lab(browser, lab_address)
    guess = "tracer(ours(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL, max_steps=2), predict=True)"
    cells = [*(CELLS[name] for name in NAMES), f"from agentlib import run_agent as ours\n{guess}", NEW]
    page.write("changes.ipynb", notebook_of(cells))
    page.open("changes.ipynb")
    page.run_all()
    yield page
    page.page.wait_for_timeout(1_000)
    page.wait_until_idle("changes.ipynb")  # a server does not end while a kernel of its restarts
    page.page.context.close()


def test_a_loop_that_was_defined_anew_is_told_and_the_new_one_runs_at_a_press(out_of_date: Lab) -> None:
    player = out_of_date.player(0)
    note = player.root.locator(".agentlib-note")
    note.get_by_text("run_agent was changed since. You see a run from before.").wait_for()
    assert "history" in player.root.locator(".agentlib-code").inner_text()
    note.get_by_role("button", name="Run the new one").click()
    player.root.locator(".agentlib-code", has_text="a new one").wait_for()
    assert note.count() == 0
    assert out_of_date.player(1).root.locator(".agentlib-note").count() == 0


def test_the_slider_says_beside_it_how_the_run_ends_while_it_moves(out_of_date: Lab) -> None:
    player = out_of_date.player(0)
    said = player.output.locator(".widget-html [role=status]")
    player.slider.focus()
    for key, steps in (("Home", 1), ("ArrowRight", 2), ("ArrowRight", 3)):
        out_of_date.page.keyboard.press(key)
        said.get_by_text(f"answered after {steps} step").wait_for()
    assert "Answer: a new one" in said.inner_text()


@pytest.mark.parametrize("typed", ["55", "-3", "four"])
def test_a_typed_number_that_is_not_taken_is_told_with_the_limits(out_of_date: Lab, typed: str) -> None:
    player = out_of_date.player(0)
    readout = player.output.locator(".widget-readout")
    for wanted, told in ((typed, 1), ("6", 0)):
        readout.click()
        out_of_date.page.keyboard.press("ControlOrMeta+A")
        out_of_date.page.keyboard.type(wanted)
        out_of_date.page.keyboard.press("Enter")
        out_of_date.page.wait_for_timeout(300)
        notes = player.output.locator(".agentlib-guard-note").all_inner_texts()
        assert notes == [f"{typed} is not taken: max_steps is a whole number from 1 to 20."] * told


def test_before_the_guess_neither_track_nor_bars_tell_how_long_the_run_is(out_of_date: Lab) -> None:
    player = out_of_date.player(1)
    seen = "all => all.filter((one) => getComputedStyle(one).visibility === 'visible').length"
    player.press("End")
    assert player.root.locator(".agentlib-bars button").evaluate_all(seen) == 1
    assert player.root.locator(".agentlib-mark.agentlib-stop").count() == 0
    assert player.root.get_by_role("slider", name="Frame").get_attribute("max") == str(player.frame)


def test_play_waits_at_the_question_and_goes_on_after_the_guess(out_of_date: Lab) -> None:
    player = out_of_date.player(1)
    player.root.get_by_role("combobox", name="Speed").select_option(label="speed: fast")
    player.press("End")
    asked_at = player.frame
    player.root.get_by_role("button", name="Play", exact=True).click()
    player.root.get_by_text("Play waits here for your guess").wait_for()
    assert player.frame == asked_at
    player.root.get_by_role("button", name="step limit").click()
    out_of_date.page.wait_for_function(
        "([root, at]) => Number(root.dataset.frame) > at", arg=[player.root.element_handle(), asked_at]
    )
    assert player.root.locator(".agentlib-verdict").inner_text().startswith("Right: step limit.")


def test_a_line_how_to_get_the_player_stands_there_until_its_cell_has_run(out_of_date: Lab) -> None:
    assert out_of_date.page.locator(".agentlib-before").count() == 0
    out_of_date.menu("File", "Save Notebook")
    out_of_date.page.wait_for_timeout(1_000)
    saved = out_of_date.page.request.get(f"{out_of_date.address}/api/contents/changes.ipynb").json()
    lines = [
        "".join(output["data"]["text/html"]).split("</p>")[0]
        for cell in saved["content"]["cells"]
        for output in cell.get("outputs", [])
        if "text/html" in output.get("data", {})
    ]
    ready = [
        f'<p class="agentlib-before">Run this cell to get the {what}.'
        for what in ("player", "sliders", "quiz")
    ]
    assert lines == [*ready, ready[0]]


def test_after_a_restart_every_control_that_needs_the_kernel_says_run_this_cell_again(
    out_of_date: Lab,
) -> None:
    player = out_of_date.player(0)
    player.root.locator(".agentlib-fork summary").click()
    out_of_date.menu("Kernel", "Restart Kernel…")
    out_of_date.page.locator(".jp-Dialog button.jp-mod-accept").click()
    player.root.locator(".agentlib-dead").wait_for()
    assert "Run this cell again." in player.root.locator(".agentlib-problem").inner_text()
    assert player.root.get_by_role("button", name="Run on from here").get_attribute("aria-disabled") == "true"
    for place, count in ((player.output, 1), (out_of_date.output(".widget-slider:nth-child(1)"), 1)):
        assert place.locator(".agentlib-guard-note", has_text="run this cell again").count() >= count
    quiz = out_of_date.page.locator(".agentlib-quiz [role=alert]").first
    assert "Run this cell again." in quiz.evaluate("e => e.textContent")
    player.press("Home", "ArrowRight")
    assert player.frame == 2
    assert out_of_date.console == []
