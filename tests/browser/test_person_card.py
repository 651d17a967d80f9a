"""The card in JupyterLab: a run waits, its cell has ended, and a press on a button goes on with it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.conftest import notebook_of
from tests.browser.lab import CELL, Lab

CELLS = """\
from agentlib import ScriptedModel, answer, ask, resume, run_agent, tool
from agentlib.views import ask_person

paid = []

@tool(risky=True)
def pay(order: str) -> str:
    paid.append(order)
    return "paid"

def go_on(approve):
    global run
    run = resume(run.trace, ScriptedModel(script), [pay], approve=approve)
    return f"{run.stopped}: {paid}"

script = [ask("pay", order="<b>2001</b>"), ask("pay", order="2002"), answer("Done.")]
run = run_agent(ScriptedModel(script), [pay], "Pay.", approve=ask_person(go_on))
"""


@pytest.fixture(scope="module")
def card(browser: object, lab_address: str) -> Iterator[Lab]:
    page = Lab(browser, lab_address)
    page.write("card.ipynb", notebook_of([CELLS]))
    page.open("card.ipynb")
    page.page.locator(CELL).nth(1).click()
    page.page.keyboard.press("Shift+Enter")
    page.page.get_by_role("button", name="yes", exact=True).first.wait_for(timeout=60_000)
    yield page
    page.page.context.close()


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_axe_finds_nothing_serious_in_the_card(card: Lab, theme: str) -> None:
    axe = Path(os.environ.get("AXE", "node_modules/axe-core/axe.min.js"))
    if not axe.is_file():
        pytest.skip("no axe-core here: npm install axe-core, then AXE=node_modules/axe-core/axe.min.js")
    card.theme(theme)
    card.page.evaluate(axe.read_text(encoding="utf-8"))
    output = card.page.locator(".jp-OutputArea-output", has=card.page.get_by_role("button", name="yes")).first
    found = card.page.evaluate("output => axe.run(output)", output.element_handle())["violations"]
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []


def test_a_yes_by_keyboard_and_then_a_no_with_a_reason_go_on_with_the_run(card: Lab) -> None:
    page = card.page
    assert page.get_by_text("<b>2001</b>").first.is_visible()
    page.get_by_role("button", name="yes", exact=True).first.focus()
    page.keyboard.press("Enter")
    page.get_by_text("You said yes.").wait_for(timeout=10_000)
    page.get_by_text("waiting: ['<b>2001</b>']").wait_for(timeout=10_000)
    page.get_by_text("May pay run?").nth(1).wait_for(timeout=10_000)
    page.get_by_label("because").last.fill("dd too much")
    page.get_by_role("button", name="no", exact=True).last.click()
    page.get_by_text("You said no.").wait_for(timeout=10_000)
    page.get_by_text("answered: ['<b>2001</b>']").wait_for(timeout=10_000)


def test_after_a_restart_the_card_says_that_its_buttons_reach_nobody(card: Lab) -> None:
    card.menu("Kernel", "Restart Kernel…")
    card.page.locator(".jp-Dialog button.jp-mod-accept").click()
    gone = card.page.get_by_text("these buttons reach nobody")
    gone.first.wait_for(timeout=20_000)
    assert gone.count() == 2
    card.wait_until_idle("card.ipynb")
