"""Pages to read in a real browser: players play, quizzes answer, links lead somewhere on the site.

They are those of the built site: `python -m agentlib site OUT --without-plots`, and SITE=OUT.
"""

import json
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup

from agentlib.course.site.edited import answer_edited
from agentlib.course.site.links import page_of
from agentlib.course.site.serve import make_server

ROOT = Path(__file__).parent.parent.parent
SITE = Path(os.environ.get("SITE", ""))
AXE = os.environ.get("AXE")
LESSONS = sorted(path.stem for path in (ROOT / "notebooks").glob("[0-9]*.ipynb"))
EXERCISES = sorted(path.stem for path in (ROOT / "exercises").glob("ex*.ipynb"))
PAGES = [
    *(f"lessons/{name}.html" for name in [*LESSONS, "glossary"]),
    *(f"exercises/{name}.html" for name in EXERCISES),
]
SOME = ["lessons/02_blue_mugs.html", "exercises/ex03_find_the_bugs.html", "lessons/glossary.html"]
FRAMES = re.compile(r"What happens(?: at first)?, ([\d,]+) frames?")

pytestmark = pytest.mark.skipif(
    "SITE" not in os.environ,
    reason="no site here: python -m agentlib site OUT --without-plots, then SITE=OUT",
)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = make_server(SITE)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


class Opened:
    """A page of its own context, with its errors and what it asked for elsewhere."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.address = address
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.page = self.context.new_page()
        self.errors: list[str] = []
        self.elsewhere: list[str] = []
        self.page.on("pageerror", lambda problem: self.errors.append(str(problem)))
        self.page.on("console", self._heard)
        self.context.on("request", self._asked)

    def _heard(self, message: Any) -> None:
        if message.type == "error":
            self.errors.append(message.text)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith((self.address, "data:", "blob:")):
            self.elsewhere.append(request.url)

    def go(self, name: str) -> Any:
        self.page.goto(f"{self.address}/{name}")
        return self.page


@pytest.fixture
def opened(browser: Any, address: str) -> Iterator[Opened]:
    one = Opened(browser, address)
    yield one
    assert one.errors == []
    assert one.elsewhere == []
    one.context.close()


@pytest.fixture(scope="module")
def reader(browser: Any, address: str) -> Iterator[Opened]:
    """One for all that only look."""
    one = Opened(browser, address)
    yield one
    assert one.errors == []
    assert one.elsewhere == []
    one.context.close()


def soup_of(name: str) -> BeautifulSoup:
    return BeautifulSoup((SITE / name).read_text(encoding="utf-8"), "html.parser")


# --- what stands in the files -------------------------------------------------------------------------


def frames_in(notebook: dict[str, Any]) -> list[int]:
    """The frames of each player of a notebook, as the tables of its outputs count them."""
    texts = [
        "".join(output["data"]["text/plain"])
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
        if "agentlib-static" in "".join(output.get("data", {}).get("text/html", ""))
    ]
    counts = [[int(one.replace(",", "")) for one in FRAMES.findall(text)] for text in texts]
    return [sum(count) for count in counts if count]


@pytest.mark.parametrize("name", LESSONS)
def test_every_player_of_a_lesson_is_on_its_page_with_all_its_frames(name):
    notebook = json.loads((SITE / "files" / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))
    parts = soup_of(f"lessons/{name}.html").find(id="parts")
    players = [one["values"] for one in json.loads(str(parts.string)) if one["kind"] == "player"]
    assert [sum(len(one["frames"]) for one in player["timelines"]) for player in players] == frames_in(
        notebook
    )


def test_all_links_of_all_pages_lead_somewhere_on_the_site_or_are_links_to_the_web():
    """Nothing is loaded from elsewhere; a link to the web is only followed by a click."""
    todo, seen, wrong = ["index.html"], {}, []
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        soup = seen[name] = soup_of(name)
        for element in soup.find_all(href=True) + soup.find_all(src=True):
            link = urlsplit(element.get("href") or element.get("src"))
            if link.scheme:
                if not (element.name == "a" and link.scheme == "https") and link.scheme != "data":
                    wrong.append((name, link.geturl()))
                continue
            target = os.path.normpath(os.path.join(os.path.dirname(name), unquote(link.path or name)))
            target = name if not link.path else target
            if not (SITE / target).is_file():
                wrong.append((name, link.geturl()))
            elif target.endswith(".html") and target.split("/")[0] in (
                "lessons",
                "exercises",
                "solutions",
                "code",
            ):
                todo.append(target)
        if name.startswith("lab"):
            continue
    for name, soup in seen.items():
        for element in soup.find_all("a", href=True):
            link = urlsplit(element["href"])
            target = (
                os.path.normpath(os.path.join(os.path.dirname(name), unquote(link.path)))
                if link.path
                else name
            )
            if link.fragment and target in seen and not seen[target].find(id=link.fragment):
                wrong.append((name, element["href"]))
            opened_in_lab = re.search(r"lab/index\.html$", link.path) and link.query
            if opened_in_lab and not (SITE / "files" / unquote(link.query.removeprefix("path="))).is_file():
                wrong.append((name, element["href"]))
    assert wrong == []
    assert set(PAGES) <= set(seen)
    assert len([name for name in seen if name.startswith("code/")]) > 10


def test_every_lesson_and_exercise_leads_on_back_and_to_the_lab():
    for name in [*LESSONS, *EXERCISES]:
        folder = "notebooks" if name in LESSONS else "exercises"
        soup = soup_of(page_of(f"{folder}/{name}.ipynb"))
        assert soup.select(f'a.run[href="../lab/index.html?path={folder}/{name}.ipynb"]')
        assert soup.find(rel="prev") or name in (LESSONS[0], "ex01_write_the_loop")
        assert soup.find(rel="next") or name in (LESSONS[-1], "ex09_rescue_the_night")


# --- what plays ---------------------------------------------------------------------------------------


def test_a_player_plays_with_the_network_off(opened):
    page = opened.go("lessons/02_blue_mugs.html")
    opened.context.set_offline(True)
    player = page.locator(".agentlib-player").first
    player.scroll_into_view_if_needed()
    player.get_by_role("button", name="Play").click()
    page.locator('.agentlib-player[data-frame="3"]').wait_for(timeout=10_000)
    player.get_by_role("button", name="Pause").click()
    player.get_by_role("button", name="Last frame").click()
    assert "answered" in player.inner_text()
    assert page.locator(".agentlib-fork").count() == 0  # no form that needs Python
    opened.context.set_offline(False)


def test_a_player_that_hides_its_end_shows_it_after_the_guess(opened):
    page = opened.go("lessons/02_blue_mugs.html")
    player = page.locator(".agentlib-player", has_text="How will this run end?")
    player.get_by_role("button", name="step limit").click()
    assert "Right" in player.locator(".agentlib-verdict").inner_text()


def test_a_quiz_answers_and_keeps_what_was_picked_in_this_browser(opened):
    page = opened.go("lessons/02_blue_mugs.html")
    question = page.locator(".agentlib-quiz fieldset", has_text="the tool raises")
    question.get_by_role("button", name="Record the error").click()
    assert question.locator(".agentlib-verdict").inner_text().startswith("Right.")
    page.wait_for_timeout(8_500)  # in a notebook, Python would have answered by now
    assert "kernel" not in page.locator(".agentlib-quiz").last.inner_text()
    page.reload()
    assert question.locator(".agentlib-verdict").inner_text().startswith("Right.")


def test_a_prediction_opens_what_came_out_and_its_first_choice_counts(opened):
    page = opened.go("lessons/02_blue_mugs.html")
    asked = page.locator('[data-predict="02 entries"]')
    came = page.locator('[data-predicted="02 entries"]')
    assert came.evaluate("element => element.matches('details:not([open])')")
    asked.get_by_role("button", name="7").click()
    assert came.evaluate("element => element.open")
    assert came.locator("p").first.inner_text() == "It is 8; you predicted 7."
    assert asked.locator(".agentlib-verdict").inner_text().startswith("Noted. What came out is shown")
    asked.get_by_role("button", name="8").click()
    assert came.locator("p").first.inner_text() == "It is 8; you predicted 7."
    page.reload()
    assert came.locator("p").first.inner_text() == "It is 8; you predicted 7."
    other = page.locator('[data-predict="02 smallest limit"]')
    other.get_by_role("button", name="3").click()
    assert page.locator('[data-predicted="02 smallest limit"] p').inner_text() == "It is 3, as you predicted."


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_plays_all_its_parts_without_an_error(reader, name):
    page = reader.go(f"lessons/{name}.html")
    parts = json.loads(soup_of(f"lessons/{name}.html").find(id="parts").string)
    players = page.locator(".part.player .agentlib-player")
    assert players.count() == sum(one["kind"] == "player" for one in parts)
    assert page.locator(".part.quiz .agentlib-quiz").count() == sum(one["kind"] == "quiz" for one in parts)
    page.evaluate("for (const one of document.querySelectorAll('details.outcome')) one.open = true")
    for number in range(players.count()):
        players.nth(number).evaluate("one => one.focus()")
        page.keyboard.press("ArrowRight")
        assert int(str(players.nth(number).get_attribute("data-frame"))) > 1  # several runs go by step


def test_a_repair_is_checked_by_running_the_line(opened):
    page = opened.go("lessons/15_final_test.html")
    parts = json.loads(str(soup_of("lessons/15_final_test.html").find(id="parts").string))
    questions = parts[0]["values"]["questions"]
    place = next(number for number, one in enumerate(questions) if one["repair"])
    repair = page.locator(".agentlib-quiz fieldset").nth(place)

    def check(text: str) -> None:
        repair.get_by_role("combobox").select_option(str(questions[place]["repair"]["line"]))
        repair.get_by_role("textbox").fill(text)
        repair.get_by_role("button", name="Check the line").click()

    check("this is no Python")
    repair.locator(".agentlib-verdict", has_text="Not yet.").wait_for(timeout=90_000)
    check(questions[place]["repair"]["text"])
    repair.locator(".agentlib-verdict", has_text="Right.").wait_for(timeout=30_000)
    page.get_by_text("1 of 15 answered, 1 right so far").wait_for()


NO_STORAGE = "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); };"


def test_where_nothing_can_be_kept_it_is_said_and_all_goes_on(opened):
    opened.context.add_init_script(NO_STORAGE)
    page = opened.go("lessons/02_blue_mugs.html")
    asked = page.locator('[data-predict="02 entries"]')
    asked.get_by_role("button", name="7").click()
    assert "lost when you leave it" in asked.locator("[role=alert]").inner_text()
    assert page.locator('[data-predicted="02 entries"] p').first.inner_text() == "It is 8; you predicted 7."
    page.get_by_role("button", name="Dark theme").click()
    assert page.get_by_role("button", name="Light theme").is_visible()


# --- a loop that a reader changes ---------------------------------------------------------------------


def steps_of(timelines: list[dict[str, Any]]) -> list[list[tuple[int, str, int | None]]]:
    """What players play: the step, the move and the line of each frame; lines are counted from 0."""
    return [
        [
            (one["step"], one["move"], one["line"] and one["line"] - timeline["first_line"])
            for one in timeline["frames"]
        ]
        for timeline in timelines
    ]


@pytest.mark.parametrize("name", LESSONS)
def test_the_loop_of_each_player_runs_alone_as_it_did_in_its_lesson(name):
    parts = json.loads(str(soup_of(f"lessons/{name}.html").find(id="parts").string))
    for part in parts:
        if part["kind"] == "player" and part["ask"]:
            text = "\n".join(part["ask"]["lines"])
            came = json.loads(answer_edited(json.dumps({**part["ask"], "text": text})))
            assert came.get("problem", "") == ""
            assert steps_of(came["timelines"]) == steps_of(part["values"]["timelines"])


def test_the_page_s_python_has_what_the_cells_of_each_player_and_quiz_import(opened):
    """All of them in one worker; natively there is more to import."""
    asked = [
        {**part["ask"], "text": "\n".join(part["ask"]["lines"])}
        if part["kind"] == "player"
        else {**part["ask"], "question": number, "line": 1, "text": "", "tried": 0}
        for name in LESSONS
        for part in json.loads(str(soup_of(f"lessons/{name}.html").find(id="parts").string))
        if part["ask"]
        for number in [
            next((at for at, one in enumerate(part["values"].get("questions", [])) if one["repair"]), 0)
        ]
    ]
    page = opened.go("lessons/02_blue_mugs.html")
    problems = page.evaluate(
        """async (asked) => {
          const { Python } = await import("/python.js");
          const python = new Python("agentlib.course.site.edited.answer_edited", () => {});
          const found = [];
          for (const request of asked) {
            found.push((await python.ask(request, 60, () => "late")).problem ?? "");
          }
          return found;
        }""",
        asked,
    )
    assert problems == [""] * len(asked)
    assert len(asked) > 10


def test_a_changed_loop_plays_a_broken_one_says_why_and_an_endless_one_ends(opened):
    page = opened.go("lessons/02_blue_mugs.html")
    part = page.locator(".part.player").first
    part.locator("summary", has_text="Edit this loop").click()
    part.get_by_text("Python is ready").wait_for(timeout=90_000)
    editor = part.get_by_role("textbox", name="The loop, in Python")
    original = str(part.locator("textarea").input_value())

    def run(text: str) -> str:
        editor.fill(text)
        part.get_by_role("button", name="Run my loop").click()
        said = part.locator(".said:not(:has-text('Running'))")
        said.wait_for(timeout=60_000)
        return str(said.inner_text())

    assert run(original.replace('"answered"', '"all done"')).startswith("Your loop has run: 23 frames.")
    part.locator(".agentlib-player").get_by_role("button", name="Last frame").click()
    assert "all done" in part.locator(".agentlib-player").inner_text()
    assert "is no Python" in run(original.replace("return {", "retrun {", 1))
    head = original.split("\n")[0]
    said = run(f"{head}\n    while True:\n        pass\n")
    assert said.startswith("Your loop has run")
    assert "ran too long" in said
    page.reload()
    part.locator("summary", has_text="Edit this loop").click()
    assert "while True" in part.locator("textarea").input_value()
    part.get_by_role("button", name="Begin again").click()
    assert part.locator("textarea").input_value() == original
    part.get_by_text("The loop is as it was").wait_for()


# --- who reads it, and how ----------------------------------------------------------------------------


@pytest.mark.skipif(AXE is None, reason="no axe here: npm install axe-core, then AXE=.../axe.min.js")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1280])
@pytest.mark.parametrize("name", SOME)
def test_pages_are_accessible(reader, name, width, scheme):
    page = reader.page
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    reader.go(name)
    page.evaluate("for (const one of document.querySelectorAll('main details')) one.open = true")
    page.evaluate(Path(str(AXE)).read_text(encoding="utf-8"))
    found = page.evaluate(
        "async () => (await axe.run()).violations"
        ".flatMap(one => one.nodes.map(node => one.id + ' ' + node.html.slice(0, 200)))"
    )
    assert found == []


@pytest.mark.parametrize("name", PAGES)
def test_no_page_scrolls_sideways_on_a_phone_nor_on_a_wide_screen(reader, name):
    page = reader.page
    page.set_viewport_size({"width": 380, "height": 800})
    reader.go(name)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    for width in (380, 768, 1920):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), width


def test_the_switch_turns_page_and_player_to_the_other_theme_and_is_remembered(opened):
    page = opened.go("lessons/02_blue_mugs.html")
    ground = "getComputedStyle(document.body).backgroundColor"
    code = "getComputedStyle(document.querySelector('.agentlib-player')).backgroundColor"
    light = page.evaluate(f"[{ground}, {code}]")
    page.get_by_role("button", name="Dark theme").click()
    dark = page.evaluate(f"[{ground}, {code}]")
    assert all(one != other for one, other in zip(light, dark, strict=True))
    page.reload()
    assert page.evaluate(f"[{ground}, {code}]") == dark
    opened.go("index.html")
    assert page.evaluate(ground) == dark[0]
    page.get_by_role("button", name="Light theme").click()
    assert page.evaluate(ground) == light[0]


def test_by_the_keyboard_alone(opened):
    page = opened.go("lessons/02_blue_mugs.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the text"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#text"
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.agentlib-quiz button')"):
            break
    page.keyboard.press("Enter")
    assert page.evaluate("document.querySelector('details.outcome[data-predicted]').open")
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.agentlib-player')"):
            break
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.frame") == "2"


def test_without_javascript_all_of_it_can_be_read(browser, address):
    one = Opened(browser, address, java_script_enabled=False)
    page = one.go("lessons/02_blue_mugs.html")
    assert page.locator("details.agentlib-static[open]").count() >= 4
    assert page.get_by_text("What happens, 23 frames").first.is_visible()
    assert page.get_by_text("Run this cell to get").count() == 0
    page.locator("summary", has_text="Show what comes out").first.click()
    assert page.locator("details.outcome[open]").count() == 1
    one.context.close()


def test_on_paper_there_is_the_text_without_what_only_a_screen_needs(opened):
    page = opened.go("lessons/02_blue_mugs.html")
    page.emulate_media(media="print")
    for hidden in ("header", ".contents", ".around", ".in-lab"):
        assert not page.locator(hidden).first.is_visible()
    assert page.get_by_role("heading", name="The idea").is_visible()
