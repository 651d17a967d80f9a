"""The built site in a real browser: the start page, and the lab with all lessons and solutions.

The site is built before: `python -m agentlib site OUT --without-plots`, and SITE=OUT. Nothing else is asked.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentlib.course.exercises import find_exercise
from tests.browser.site import AXE, FILES, NO_AXE, Watched, needs_site, violations
from tests.browser.twelve import TWELVE, cells_of, notebook_of, specimen_of

ROOT = Path(__file__).parent.parent.parent
LESSONS = sorted(path.name for path in (ROOT / "notebooks").glob("[0-9]*.ipynb"))
SOLUTIONS = sorted(path.stem for path in (ROOT / "solutions").glob("ex*.ipynb"))
MEANT_TO_FAIL = "raises-exception"

pytestmark = needs_site


# --- the start page -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def start(browser: Any, address: str) -> Iterator[Watched]:
    watched = Watched(browser, address)
    began = time.monotonic()
    watched.page.goto(f"{address}/index.html")
    watched.page.wait_for_selector("body[data-python=ready]", timeout=90_000)
    print(f"start page ready after {time.monotonic() - began:.1f} s with {watched.megabytes:.1f} MB")
    yield watched
    assert watched.elsewhere == []
    assert watched.errors == []
    watched.page.context.close()


def write(page: Any, text: str) -> None:
    """Put a text into the editor, in place of what is there, as somebody who pastes it."""
    page.locator(".cm-content").fill(text)
    assert written(page) == text


def written(page: Any) -> str:
    return str(page.evaluate("document.getElementById('text').value"))


def run_text(page: Any, text: str) -> str:
    """Run a text on the start page; give what the page then says."""
    write(page, text)
    page.click("#run")
    page.wait_for_function(
        "!document.getElementById('status').textContent.startsWith('Running')", timeout=30_000
    )
    return str(page.inner_text("#status"))


def test_the_start_page_is_ready_within_10_megabytes(start):
    assert 5 < start.megabytes < 10


def test_the_player_plays_at_once(start):
    start.page.wait_for_function(
        "Number(document.querySelector('.agentlib-player').dataset.frame) > 1", timeout=10_000
    )


def test_a_changed_loop_plays_a_broken_one_says_why_and_an_endless_one_ends(start):
    page = start.page
    original = written(page)
    said = run_text(page, original.replace('"answered"', '"all done"'))
    assert said.startswith("Your loop has run: ")
    assert "all done" in page.inner_text(".agentlib-code")
    said = run_text(page, original.replace("return {", "retrun {", 1))
    assert "is no Python" in said
    assert "retrun" in page.inner_text(".cm-marked")
    assert "all done" in page.inner_text(".agentlib-code")  # what was there still plays
    said = run_text(page, "def run_agent(model, tools, goal, max_steps=10):\n    while True:\n        pass\n")
    assert "ran too long" in said
    stuck = "def run_agent(model, tools, goal, max_steps=10):\n    return sum(iter(int, 1))\n"
    assert "longer than 10 seconds" in run_text(page, stuck)  # in C: the worker itself is ended
    page.wait_for_selector("body[data-python=ready]", timeout=90_000)
    assert run_text(page, original).startswith("Your loop has run: ")


def test_what_if_runs_on_the_start_page(start):
    page = start.page
    run_text(page, written(page))
    player = page.locator(".agentlib-player")
    player.locator("summary", has_text="What if").first.click()
    form = player.locator("textarea").first
    form.fill('{"type": "answer", "text": "I guess."}')
    player.get_by_role("button", name="Run on").first.click()
    page.wait_for_function("document.querySelectorAll('.agentlib-run').length === 2", timeout=20_000)
    assert "First difference" in player.inner_text()


def test_what_was_written_is_there_after_a_reload_and_gone_after_begin_again(start):
    page = start.page
    write(page, "# mine\n" + written(page))
    page.reload()
    page.wait_for_selector(".cm-content")
    assert written(page).startswith("# mine\n")
    page.click("#again")
    page.reload()
    assert written(page).startswith("def run_agent")
    page.wait_for_selector("body[data-python=ready]", timeout=90_000)


def test_the_editor_indents_undoes_and_is_left_by_escape_and_tab(start):
    page = start.page
    editor = page.get_by_role("textbox", name="Your loop, in Python")
    original = written(page)
    write(page, "def run_agent(model):")
    page.keyboard.press("Control+End")
    page.keyboard.type("\nif model:\npass")
    assert written(page) == "def run_agent(model):\n    if model:\n        pass"
    assert page.locator(".cm-line span").first.evaluate("span => getComputedStyle(span).fontWeight") == "600"
    page.keyboard.press("Shift+Tab")
    assert written(page).endswith("\n    pass")
    page.keyboard.press("Tab")
    assert written(page).endswith("\n        pass")
    assert editor.evaluate("field => field === document.activeElement")
    described = editor.get_attribute("aria-describedby")
    assert "press Escape, then Tab" in page.inner_text(f"#{described}")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "steps"
    page.keyboard.press("Shift+Tab")
    assert editor.evaluate("field => field === document.activeElement")
    for _ in range(20):
        page.keyboard.press("Control+z")
    assert written(page) == original


def test_where_the_editor_does_not_come_the_plain_field_runs_loops(browser, address):
    watched = Watched(browser, address)
    page = watched.page
    page.context.route("**/editor.js", lambda route: route.abort())
    page.goto(f"{address}/index.html")
    page.wait_for_selector("body[data-python=ready]", timeout=90_000)
    page.fill("#text", written(page).replace('"answered"', '"all done"'))
    page.click("#run")
    page.wait_for_function(
        "document.getElementById('status').textContent.startsWith('Your loop has run')", timeout=30_000
    )
    assert "all done" in page.inner_text(".agentlib-code")
    page.context.close()


@pytest.mark.skipif(AXE is None, reason=NO_AXE)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1200])
def test_the_start_page_is_accessible_and_fits(start, scheme, width):
    page = start.page
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": 900})
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_without_a_part_of_python_the_page_says_what_works_and_tries_again(browser, address):
    watched = Watched(browser, address)
    page = watched.page
    page.context.route("**/python_stdlib.zip", lambda route: route.abort())
    page.goto(f"{address}/index.html")
    page.wait_for_selector("body[data-python=missing]", timeout=90_000)
    assert "The player and the map work" in page.inner_text("#status")
    page.context.unroute("**/python_stdlib.zip")
    page.click("#run")
    page.wait_for_function(
        "document.getElementById('status').textContent.startsWith('Your loop has run')", timeout=90_000
    )
    page.context.close()


# --- the lab ------------------------------------------------------------------------------------------

KERNEL = "window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel"
EXECUTE = f"""async (code) => {{
  const kernel = {KERNEL};
  const errors = [];
  let printed = "";
  const future = kernel.requestExecute({{ code, stop_on_error: false }});
  future.onIOPub = (message) => {{
    const type = message.header.msg_type;
    if (type === "error") errors.push(message.content.ename + ": " + message.content.evalue);
    if (type === "stream") printed += message.content.text;
  }};
  await future.done;
  return {{ errors, printed }};
}}"""


@pytest.fixture(scope="module")
def lab_page(browser: Any, address: str) -> Iterator[Watched]:
    watched = Watched(browser, address)
    open_lab(watched.page, address, "notebooks/00_start_here.ipynb")
    size = watched.megabytes
    print(f"lab ready with {size:.1f} MB")
    assert 10 < size < 20
    yield watched
    assert watched.elsewhere == []
    watched.page.context.close()


def open_lab(page: Any, address: str, notebook: str) -> None:
    page.goto(f"{address}/lab/index.html?path={notebook}")
    page.wait_for_function(KERNEL, timeout=120_000)
    assert execute(page, "print(1)") == "1\n"


def execute(page: Any, code: str) -> str:
    """Run code in the lab's kernel; give what it prints."""
    outcome = page.evaluate(EXECUTE, code)
    assert outcome["errors"] == [], outcome["printed"][-2000:]
    return str(outcome["printed"])


@pytest.mark.parametrize("lesson", LESSONS)
def test_every_lesson_runs_from_top_to_bottom(lab_page, lesson):
    page = lab_page.page
    execute(page, "%reset -f\nimport os\nos.chdir('/drive/notebooks')")
    notebook = json.loads((FILES / "notebooks" / lesson).read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        outcome = page.evaluate(EXECUTE, "".join(cell["source"]))
        if MEANT_TO_FAIL not in cell["metadata"].get("tags", []):
            assert outcome["errors"] == [], "".join(cell["source"])


@pytest.mark.parametrize("name", SOLUTIONS)
def test_every_solution_has_full_points(lab_page, name):
    page = lab_page.page
    execute(page, "%reset -f")
    notebook = json.loads((FILES / "solutions" / f"{name}.ipynb").read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            execute(page, "".join(cell["source"]))
    functions = ", ".join(find_exercise(name).functions)
    points = execute(page, f"from agentlib.course import check\nprint(check({name!r}, {functions}).points)")
    assert points == "10\n"


@pytest.mark.parametrize(("number", "wrong"), TWELVE)
def test_a_wrong_one_gets_its_hint(lab_page, number, wrong):
    page, exercise = lab_page.page, find_exercise(number)
    execute(page, "%reset -f")
    for cell in notebook_of(number, cells_of(number, wrong))["cells"]:
        metadata = cell["metadata"]
        if "nbgrader" in metadata and "check" not in metadata.get("tags", []):
            execute(page, "".join(cell["source"]))
    functions = ", ".join(exercise.functions)
    said = execute(page, f"from agentlib.course import check\nprint(check({number!r}, {functions}).text())")
    specimen = specimen_of(number, wrong)
    said = " ".join(said.split())
    part = [criterion.id for criterion in exercise.criteria].index(specimen.criterion) + 1
    assert f"Next, part {part}: {exercise.criteria[part - 1].wanted}" in said
    assert specimen.named in said
    assert "hint: " in said


ENDLESS = {
    "while True": "while True: pass",
    "a bare except": "while True:\n        try:\n            while True: pass\n        except: pass",
    "a huge max_steps": "for step in range(10**12): model([])",
}


@pytest.mark.parametrize("body", ENDLESS.values(), ids=ENDLESS.keys())
def test_a_loop_that_does_not_end_is_ended_in_a_check_in_try_it_and_in_the_player(lab_page, body):
    said = execute(
        lab_page.page,
        f"""
def run_agent(model, tools, goal, max_steps=10**12):
    {body}
import sys
from agentlib.course import check, try_it
from agentlib.models import LoopingModel
from agentlib.watch import watch
model, tools = LoopingModel("stock_level", warehouse="north"), {{"stock_level": lambda warehouse: 3}}
report = check("ex01", run_agent)
print("passed:", report.passed)
print("tried:", try_it(run_agent, model, tools, "goal", max_seconds=1))
print("watched:", watch(run_agent, model, tools, "goal", max_steps=10**12).stopped)
print("places:", [sys.monitoring.get_tool(number) for number in range(6)])
""",
    )
    assert "passed: False" in said
    assert "then stopped" in said or "did not end" in said
    assert "watched: ran too long" in said or "watched: asked too often" in said
    assert f"places: {[None] * 6}" in said


def test_a_tool_that_waits_does_not_hold_the_page_up(lab_page):
    said = execute(
        lab_page.page,
        """
import time
from agentlib import answer, ask, run_agent, tool
from agentlib.models import ScriptedModel
def waits() -> str:
    time.sleep(60)
    return "late"
started = time.monotonic()
run = run_agent(ScriptedModel([ask("waits"), answer("no")]), [tool(waits, timeout_seconds=0.2)], "Wait.")
print(time.monotonic() - started < 5, run.history[2]["result"]["message"])
""",
    )
    assert said == (
        "True waits gave no result within 0.2 s. "
        "It could not be ended and ran to its end; its result is dropped.\n"
    )


def test_a_plot_is_a_picture_where_the_site_has_matplotlib_and_else_a_table(lab_page):
    said = execute(
        lab_page.page,
        "from agentlib.views import plots\nprint(plots.tokens_read([10, 20])._repr_html_())",
    )
    has_matplotlib = any((FILES.parent / "static" / "pyodide-lock").glob("matplotlib-*.whl"))
    assert ("<img" if has_matplotlib else "could not be loaded here") in said
    assert "2 calls read 30 tokens in all" in said


def test_the_self_check_says_what_is_so_in_a_browser(lab_page):
    said = execute(lab_page.page, "from agentlib.course import self_check\nprint(self_check())")
    assert "Everything is here. You can start." in said
    assert "cannot be interrupted" in said
    assert "keeps no files" not in said


QUIZ = """from agentlib.views.quiz import quiz
from agentlib.views.store import data_folder
q = quiz("02_blue_mugs")
"""


@pytest.fixture(scope="module")
def opened_again(lab_page: Watched, address: str) -> Any:
    """The lab, left after a quiz was answered and a notebook edited, and opened at another lesson."""
    page = lab_page.page
    execute(page, f"{QUIZ}q.pick([one.right for one in q.questions])")
    page.evaluate(EDIT_AND_SAVE)
    page.wait_for_timeout(2_000)  # the browser writes a moment later
    open_lab(lab_page.page, address, "notebooks/02_blue_mugs.ipynb")
    return lab_page.page


def test_what_was_answered_is_there_when_the_lab_is_opened_again(opened_again):
    assert execute(opened_again, f"{QUIZ}print(q.passed, data_folder())") == "True /drive/.agentlib\n"


EDIT_AND_SAVE = """async () => {
  const notebook = jupyterapp.shell.currentWidget;
  notebook.content.widgets[0].model.sharedModel.setSource("# mine");
  await notebook.context.save();
}"""
READ_00 = """import json
path = "/drive/notebooks/00_start_here.ipynb"
notebook = json.load(open(path, encoding="utf-8"))
"""


def test_an_edited_notebook_is_there_and_a_newer_one_of_the_site_is_spoken_of(opened_again, address):
    page = opened_again
    assert execute(page, f"{READ_00}print(''.join(notebook['cells'][0]['source']))") == "# mine\n"
    look = "from agentlib.course import self_check\nprint(self_check())"
    assert "the site has a newer one" not in execute(page, look)
    page.context.route("**/stamps.json", lambda route: route.fulfill(json=OTHER_STAMPS))
    assert "notebooks/00_start_here.ipynb: the site has a newer one than your copy" in execute(page, look)
    page.context.unroute("**/stamps.json")
    assert execute(page, f"{READ_00}print(''.join(notebook['cells'][0]['source']))") == "# mine\n"
    # As the sentence says: when it has another name, the site's own is there under the old one.
    page.evaluate(
        "jupyterapp.serviceManager.contents.rename('notebooks/00_start_here.ipynb', 'notebooks/mine.ipynb')"
    )
    assert execute(page, f"{READ_00}print(''.join(notebook['cells'][0]['source'])[:3])") != "# m\n"
    assert execute(page, READ_00.replace("00_start_here", "mine") + "print(notebook['cells'][0]['source'])")


OTHER_STAMPS = {
    "notebooks/00_start_here.ipynb": ["another", 1],
    "notebooks/01_the_loop.ipynb": ["another", 1],
}


def test_the_player_of_a_lesson_steps_runs_again_and_forks(opened_again):
    page = opened_again
    page.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')")
    player = page.locator(".agentlib-player").first
    player.wait_for(timeout=90_000)
    player.scroll_into_view_if_needed()
    player.focus()
    before = int(player.get_attribute("data-frame"))
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "before => Number(document.querySelector('.agentlib-player').dataset.frame) === before + 2",
        arg=before,
    )
    slider = page.get_by_role("slider", name="max_steps").first
    slider.focus()
    slider.press("ArrowLeft")
    player.locator("summary", has_text="What if").first.click()
    player.locator("textarea").first.fill('{"type": "answer", "text": "I guess."}')
    player.get_by_role("button", name="Run on").first.click()
    page.wait_for_function(
        "document.querySelector('.agentlib-player').querySelectorAll('.agentlib-run').length === 2",
        timeout=30_000,
    )
