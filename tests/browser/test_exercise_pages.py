"""The exercises' pages of the site in a real browser: written in, checked, watched, kept, downloaded."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentlib.course.check_subprocess import check_in_subprocess
from agentlib.course.exercises import EXERCISES
from agentlib.course.site.exercise import SHOWN_CHARS
from tests.browser.site import AXE, FILES, NO_AXE, Watched, needs_site, violations
from tests.browser.twelve import TWELVE, cells_of, specimen_of

pytestmark = needs_site

EX01 = "ex01_write_the_loop"
HEAD = "def run_agent(model, tools, goal, max_steps=10):\n"
START_SECONDS = 120
RUN_SECONDS = 60


def opened(browser: Any, address: str, name: str, *, python: bool = True, script: str = "") -> Watched:
    """A page of an exercise with its editors, and with Python, or without it, which is sooner there.

    script: runs in the page before all else, to take something away.
    """
    watched = Watched(browser, address)
    if script:
        watched.page.add_init_script(script)
    if not python:
        watched.page.context.route("**/python_worker.js", lambda route: route.abort())
    open_page(watched.page, address, name, python=python)
    return watched


def open_page(page: Any, address: str, name: str, *, python: bool = True) -> None:
    page.goto(f"{address}/exercises/{name}.html")
    page.wait_for_selector(".cm-content")
    if python:
        page.wait_for_selector("body[data-python=ready]", timeout=START_SECONDS * 1000)


def write(page: Any, cell: str, text: str) -> None:
    page.locator(f"#cell-{cell} .cm-content").fill(text)
    assert written(page, cell) == text


def written(page: Any, cell: str) -> str:
    return str(page.locator(f"#text-{cell}").input_value())


def status(page: Any) -> str:
    """What the page says when what runs has ended."""
    page.wait_for_selector("#stop", state="hidden", timeout=RUN_SECONDS * 1000)
    return str(page.inner_text("#status"))


def checked(page: Any) -> str:
    page.click("#check-now")
    return status(page)


def downloaded(page: Any, folder: Path) -> Path:
    with page.expect_download() as download:
        page.click("#download")
    path = folder / str(download.value.suggested_filename)
    download.value.save_as(path)
    return path


def solution_of(name: str) -> dict[str, str]:
    notebook = json.loads((FILES / "solutions" / f"{name}.ipynb").read_text(encoding="utf-8"))
    return {
        cell["id"]: "".join(cell["source"])
        for cell in notebook["cells"]
        if cell["metadata"].get("nbgrader", {}).get("solution")
    }


@pytest.fixture(scope="module")
def first(browser: Any, address: str) -> Iterator[Watched]:
    """The page of ex01, for many tests."""
    watched = opened(browser, address, EX01)
    print(f"exercise page ready with {watched.megabytes:.1f} MB")
    yield watched
    assert watched.elsewhere == []
    assert watched.errors == []
    watched.page.context.close()


@pytest.fixture
def ex01(first: Watched, address: str) -> Any:
    """The same page, at ex01 again."""
    if not first.page.url.endswith(f"{EX01}.html"):
        open_page(first.page, address, EX01)
    return first.page


# --- checked, hinted at, watched, downloaded ---------------------------------------------------------------


@pytest.mark.parametrize("name", EXERCISES)
def test_a_solution_has_full_points_its_download_too_and_wrong_ones_their_hint(
    first, address, name, tmp_path
):
    page, exercise = first.page, EXERCISES[name]
    if name != EX01:
        open_page(page, address, name)
    for cell, text in solution_of(name).items():
        write(page, cell, text)
    assert checked(page) == "10 of 10 points. All met. Well done."
    assert "10 of 10 points" in page.inner_text("#best")
    path = downloaded(page, tmp_path)
    assert path.name == f"{name}.ipynb"
    report = check_in_subprocess(path)
    assert (report.exercise, report.points, report.passed) == (name, 10, True)
    handed_out = json.loads(exercise.fresh.read_text(encoding="utf-8"))["cells"]
    kept = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert [(cell["id"], cell["metadata"]) for cell in kept] == [
        (cell["id"], cell["metadata"]) for cell in handed_out
    ]
    for wrong in [wrong for number, wrong in TWELVE if number == exercise.number]:
        for cell, text in cells_of(exercise.number, wrong).items():
            write(page, cell, text)
        said = checked(page)
        specimen = specimen_of(exercise.number, wrong)
        places = [criterion.id for criterion in exercise.criteria]
        part = places.index(specimen.criterion) + 1
        assert f"Next, part {part}: " in said
        row = page.locator("#report tbody tr").nth(part - 1)
        assert row.locator("td").first.inner_text() == "not yet"
        words = row.locator("td").last.inner_text()
        assert specimen.named in words
        assert "Hint: " in words
        row.get_by_role("button", name=f"Watch this run: Part {part}: ").click()
        assert status(page).startswith("The run is beneath the report")
        assert f"Part {part}: " in page.inner_text("#watched h3")
        assert "Wanted:" in page.inner_text("#watched .agentlib-player")


# --- what does not end, and what is no Python --------------------------------------------------------------

ENDINGS = {
    "endless": ("    while True: pass", "after 5 seconds the function was still running"),
    "a bare except": (
        "    while True:\n        try:\n            while True: pass\n        except: pass",
        "after 5 seconds the function was still running",
    ),
    "a huge max_steps": (
        "    for step in range(10**12): model([{'role': 'user', 'text': goal}])",
        "asked",
    ),
    "it calls itself": ("    return run_agent(model, tools, goal, max_steps)", "RecursionError"),
    "a tool that sleeps": (
        "    import time\n    time.sleep(1000)",
        "after 5 seconds the function was still running",
    ),
}


@pytest.mark.parametrize(("body", "words"), ENDINGS.values(), ids=ENDINGS.keys())
def test_a_loop_that_does_not_end_is_ended_and_the_report_says_so(ex01, body, words):
    page = ex01
    write(page, "ex01-solution", HEAD + body)
    said = checked(page)
    assert "of 10 points. Next, part " in said
    assert words in page.inner_text("#report")
    assert page.get_attribute("body", "data-python") == "ready"


def test_what_python_cannot_end_is_ended_with_its_worker_and_nothing_is_lost(ex01):
    page = ex01
    text = f"{HEAD}    return sum(iter(int, 1))"
    write(page, "ex01-solution", text)
    said = checked(page)
    assert said.startswith(
        "After 10 seconds your code was still running, in a call that cannot be interrupted."
    )
    assert written(page, "ex01-solution") == text
    page.click("#check-now")  # while Python is being loaded anew
    page.wait_for_selector("body[data-python=ready]", timeout=START_SECONDS * 1000)
    page.click("#stop")
    assert status(page).startswith("You stopped it.")
    page.wait_for_selector("body[data-python=ready]", timeout=START_SECONDS * 1000)


def test_what_is_no_python_is_said_at_once_with_its_line(ex01):
    page = ex01
    write(page, "ex01-solution", f"{HEAD}    history = []\n    retrun history\n")
    said = checked(page)
    assert said.startswith("Line 3 of the cell that begins `def run_agent(` is no Python: invalid syntax")
    assert page.inner_text("#cell-ex01-solution .cm-marked") == "    retrun history"
    page.get_by_role("button", name="Go to line 3").click()
    page.keyboard.press("Backspace")
    assert written(page, "ex01-solution") == f"{HEAD}    history = []\n    retrun histor\n"
    assert page.locator(".cm-marked").count() == 0


def test_what_is_printed_is_shown_and_bounded(ex01):
    page = ex01
    write(page, "ex01-solution", f"{HEAD}    print('asked', goal)\n    while True: print('x' * 999)")
    page.click("#cell-ex01-try .run-cell")
    assert status(page) == "The cell has run."
    came = page.inner_text("#cell-ex01-try .came")
    assert came.startswith("asked Which warehouse")
    assert "Not shown: " in came
    assert "after 10 seconds" in came or len(came) < SHOWN_CHARS + 200


def test_an_error_where_it_is_tried_names_the_learners_own_line(ex01):
    page = ex01
    write(page, "ex01-solution", f"{HEAD}    return goal.nothing")
    page.click("#cell-ex01-try .run-cell")
    assert status(page).startswith("The cell has run, and something went wrong")
    assert "line 2: AttributeError" in page.inner_text("#cell-ex01-try .came")


# --- by keyboard, for everybody ----------------------------------------------------------------------------


def test_an_exercise_is_written_checked_and_watched_by_keyboard_alone(ex01):
    page = ex01
    editor = page.get_by_role("textbox", name="Your code: run_agent")
    editor.focus()
    page.keyboard.press("Control+a")
    page.keyboard.type(f"{HEAD}return {{}}")
    assert written(page, "ex01-solution") == f"{HEAD}    return {{}}"
    page.keyboard.press("Shift+Enter")
    assert "of 10 points. Next, part 1" in status(page)
    page.keyboard.press("Escape")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.locator(":focus").inner_text() == "Check my loop":
            break
        if "cm-content" in (page.locator(":focus").get_attribute("class") or ""):
            page.keyboard.press("Escape")  # the editor of the cell that tries it
    page.keyboard.press("Enter")
    assert "of 10 points. Next, part 1" in status(page)
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.locator(":focus").inner_text() == "Watch this run":
            break
    page.keyboard.press("Enter")
    assert status(page).startswith("The run is beneath the report")
    assert page.locator(":focus").inner_text().startswith("Part 1: ")


@pytest.mark.skipif(AXE is None, reason=NO_AXE)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1200])
def test_the_page_with_its_report_is_accessible_and_fits(ex01, scheme, width):
    page = ex01
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": 900})
    assert page.locator("#watched .agentlib-player").is_visible()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


# --- what is kept ------------------------------------------------------------------------------------------


def test_text_and_progress_are_there_after_a_reload_and_reset_asks_first(ex01, address, tmp_path):
    page = ex01
    page.set_viewport_size({"width": 1200, "height": 1000})
    write(page, "ex01-solution", solution_of(EX01)["ex01-solution"])
    assert checked(page).startswith("10 of 10 points.")
    write(page, "ex01-solution", "# mine\n")
    write(page, "ex01-try", "print('mine, too')")
    open_page(page, address, EX01)
    assert (written(page, "ex01-solution"), written(page, "ex01-try")) == ("# mine\n", "print('mine, too')")
    assert page.inner_text("#best") == "Your best so far, kept in this browser: 10 of 10 points."
    mine = downloaded(page, tmp_path)
    asked = []
    page.once("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    page.click("#reset")
    assert asked[0].startswith("Put this exercise back to its beginning?")
    assert written(page, "ex01-solution") == "# mine\n"
    page.once("dialog", lambda dialog: dialog.accept())
    page.click("#reset")
    assert "raise NotImplementedError()" in written(page, "ex01-solution")
    page.reload()
    page.wait_for_selector(".cm-content")
    assert "raise NotImplementedError()" in written(page, "ex01-solution")
    assert "10 of 10" in page.inner_text("#best")
    page.set_input_files("#take", mine)
    page.get_by_text("Taken in: 2 cells").wait_for()
    assert written(page, "ex01-solution") == "# mine\n"
    page.set_input_files("#take", Path(__file__))
    page.get_by_text("is no notebook of this exercise. Nothing was changed.").wait_for()
    page.evaluate(
        "localStorage.removeItem('agentlib-best-ex02_three_stops')"
    )  # another test may have kept it
    page.goto(address)
    of_ex01, of_ex02 = (
        page.locator("tr", has=page.locator(f"a[href*='/{name}_']")) for name in ("ex01", "ex02")
    )
    of_ex01.get_by_text("(your best: 10 of 10 points)").wait_for()
    assert "your best" not in of_ex02.inner_text()


@pytest.fixture(scope="module")
def quiet(browser: Any, address: str) -> Iterator[Any]:
    """A page of ex01 without Python: `quiet(script)`, where the script takes something away."""
    made = []

    def make(script: str = "") -> Any:
        made.append(opened(browser, address, EX01, python=False, script=script))
        return made[-1].page

    yield make
    for watched in made:
        watched.page.context.close()


def test_two_tabs_on_one_exercise_are_told_which_text_counts(quiet, address):
    one = quiet()
    other = one.context.new_page()
    open_page(other, address, EX01, python=False)
    write(other, "ex01-solution", "# theirs")
    one.get_by_text("This exercise is open in another tab, too").wait_for()
    assert "raise NotImplementedError()" in written(one, "ex01-solution")
    write(one, "ex01-solution", "# theirs")
    other.get_by_text("It is kept in this browser").wait_for()


NOTHING_KEPT = "This browser keeps nothing for this page"
TAKEN_AWAY = {
    "storage refused": (
        "Object.defineProperty(window, 'localStorage',"
        " {get() { throw new DOMException('no', 'SecurityError') }})",
        NOTHING_KEPT,
    ),
    "storage full": (
        "localStorage.setItem('other', 'x');"
        "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError') }",
        "There is no room left in this browser",
    ),
    "no storage at all": ("Object.defineProperty(window, 'localStorage', {value: null})", NOTHING_KEPT),
}


@pytest.mark.parametrize(("script", "words"), TAKEN_AWAY.values(), ids=TAKEN_AWAY.keys())
def test_a_browser_that_keeps_nothing_says_what_is_lost_and_what_to_do(quiet, script, words, tmp_path):
    page = quiet(script)
    write(page, "ex01-solution", "# mine")
    assert page.inner_text("#keeping").startswith(words)
    assert "Download the notebook" in page.inner_text("#keeping")
    assert "# mine" in downloaded(page, tmp_path).read_text(encoding="utf-8")


# --- an old browser, and a network that breaks off ---------------------------------------------------------


def test_without_webassembly_the_page_says_so_and_can_be_written_in(quiet):
    page = quiet("delete window.WebAssembly")
    assert "it has no WebAssembly" in page.inner_text("#status")
    write(page, "ex01-solution", "# mine")


def broken(browser: Any, address: str, pattern: str, answer: Any, script: str = "") -> Any:
    watched = Watched(browser, address)
    watched.page.add_init_script(script)
    watched.page.context.route("**/python_worker.js", lambda route: route.abort())
    watched.page.context.route(pattern, answer)
    watched.page.goto(f"{address}/exercises/{EX01}.html")
    return watched.page


def not_run(route: Any) -> None:
    route.fulfill(body="", content_type="text/javascript")


def test_a_browser_that_is_too_old_for_modules_says_so(browser, address):
    # It runs no script of type "module", and knows no `noModule`.
    old = "delete HTMLScriptElement.prototype.noModule"
    page = broken(browser, address, "**/exercise.js", not_run, old)
    page.get_by_text("This browser is too old to run Python in a page").wait_for()
    assert page.locator("#text-ex01-solution").is_visible()
    page.context.close()


@pytest.mark.parametrize("part", ["exercise.js", "player.js"])
def test_where_a_part_of_the_page_does_not_come_it_says_so(browser, address, part):
    page = broken(browser, address, f"**/{part}", lambda route: route.abort())
    page.get_by_text("A part of this page did not come").wait_for()
    page.context.close()


def test_where_the_editor_does_not_come_the_plain_field_is_kept(browser, address):
    page = broken(browser, address, "**/editor.js", lambda route: route.abort())
    page.fill("#text-ex01-solution", "# mine")
    page.reload()
    assert written(page, "ex01-solution") == "# mine"
    page.context.close()


def test_where_a_part_of_python_does_not_come_the_button_tries_again(browser, address):
    watched = Watched(browser, address)
    page = watched.page
    page.context.route("**/pyodide.asm.wasm", lambda route: route.abort())  # in the middle of it
    open_page(page, address, EX01, python=False)
    page.wait_for_selector("body[data-python=missing]", timeout=START_SECONDS * 1000)
    assert page.inner_text("#status").startswith(
        "Nothing can be checked here now. It could not be loaded: a file of it did not come. Check the"
    )
    page.context.unroute("**/pyodide.asm.wasm")
    assert "not started yet" in checked(page)
    page.context.close()
