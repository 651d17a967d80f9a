"""The pages that an instructor gives back, in a real browser: light and dark, on a screen and on a phone."""

import os
from pathlib import Path

import pytest

from agentlib.course.checking.report import NOT_REACHED, NOT_YET, OK
from agentlib.course.grading import Row
from agentlib.course.grading.export import write_results

HARM = '<img src=x onerror="document.title=1"><script>document.title=1</script>'
STATES = (OK, NOT_YET, NOT_REACHED)
PAGES = ("class.html", "feedback/ann.html")


def row(student: str) -> Row:
    """A row with a part of every state, and with HTML in everything that a student can write."""
    results = [
        {
            "id": f"part_{number}", "status": state, "passed": state == OK, "points": int(state == OK),
            "max_points": 1, "wanted": "asks the model", "seen": HARM, "hints": ["look", "look again"],
        }
        for number, state in enumerate(STATES)
    ]  # fmt: skip
    report = {"exercise": "ex01_write_the_loop", "title": "write the loop", "seed": 5, "started": True}
    file = f"{'long' * 40}/{HARM}.ipynb"
    about = {**report, "results": results}
    return Row(student, "ex01_write_the_loop", file, 1, 3, "graded", "bubblewrap", 5, 0.1, (HARM,), about)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    write_results([row("ann"), row(HARM)], out)
    return out


@pytest.fixture(params=["light", "dark"])
def scheme(request):
    return request.param


@pytest.fixture(params=[1000, 360], ids=["screen", "phone"])
def page(request, browser, scheme):
    # Without its own rules axe could not be put into the page; the next test leaves them on.
    size = {"width": request.param, "height": 900}
    context = browser.new_context(color_scheme=scheme, viewport=size, bypass_csp=True)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_and_nothing_runs_out_of_the_page(page, folder, name):
    script = os.environ.get("AXE")
    if not script:
        pytest.skip("no axe-core here: npm install axe-core, then AXE=node_modules/axe-core/axe.min.js")
    page.goto((folder / name).as_uri())
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.evaluate(Path(script).read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")["violations"]
    assert [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found] == []


@pytest.mark.parametrize("name", PAGES)
def test_nothing_that_a_student_wrote_runs_or_is_loaded(browser, folder, name):
    page = browser.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((folder / name).as_uri())
    assert page.title() in ("ann", "The class")
    assert page.locator("img, script").count() == 0
    assert asked == [(folder / name).as_uri()]
    page.close()


def tab_to(page, name):
    """Press Tab until what has the focus is called so; give the names of all that had it on the way."""
    reached = []
    while len(reached) < 60:
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.textContent").strip())
        if reached[-1] == name:
            return reached
    raise AssertionError(f"Tab does not reach {name}: {reached}")


def test_the_keyboard_reaches_each_link_and_opens_the_second_hint(browser, folder):
    page = browser.new_page()
    page.goto((folder / "class.html").as_uri())
    reached = tab_to(page, "ann")
    assert "What the short names mean" in reached
    page.keyboard.press("Enter")
    page.wait_for_url("**/feedback/ann.html")
    tab_to(page, "A second hint")
    page.keyboard.press("Enter")
    assert page.get_by_text("look again").is_visible()
    page.close()
