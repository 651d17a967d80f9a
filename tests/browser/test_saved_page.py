"""The player in pages of `save_page`: what a frame shows, jumps, several runs, long runs, widths, no network.

The same JavaScript as in the notebook, without a JupyterLab around it: quick to open, so most is shown here.
"""

import os
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from agentlib import answer, run_agent
from agentlib.labs import blue_mugs
from agentlib.models import LoopingModel, ScriptedModel
from agentlib.trace import Trace
from agentlib.views import save_page
from agentlib.watch import watch
from tests.browser.lab import PlayerPart
from tests.browser.loop import run_agent as loop
from tests.browser.test_player import LOWEST_CONTRAST
from tests.test_lanes import shelf_run

SIZES = {380: 780, 900: 800, 1280: 800, 1920: 1080}


def mugs(max_steps: int = 10) -> Trace:
    return watch(loop, blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL, max_steps=max_steps)


def spinning(calls: int) -> Trace:
    model = LoopingModel("stock_level", warehouse="north")
    return run_agent(model, blue_mugs.TOOLS, "goal", max_steps=calls).trace


class Pages:
    """Opens what `save_page` writes. requests: what a page asked the network for. errors: what it said."""

    def __init__(self, browser: Any, folder: Path) -> None:
        self.browser, self.folder = browser, folder
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.contexts: list[Any] = []

    def open(self, what: Any, width: int = 1280, scheme: str = "light") -> PlayerPart:
        path = what if isinstance(what, Path) else save_page(what, self.folder / f"{len(self.contexts)}.html")
        size = {"width": width, "height": SIZES[width]}
        context = self.browser.new_context(viewport=size, color_scheme=scheme)
        self.contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda line: self.errors.append(line.text) if line.type == "error" else None)
        page.on("pageerror", lambda problem: self.errors.append(str(problem)))
        page.goto(path.resolve().as_uri())
        return PlayerPart(page, page.locator(".agentlib-player"))


@pytest.fixture
def pages(browser: object, tmp_path: Path) -> Iterator[Pages]:
    opened = Pages(browser, tmp_path)
    yield opened
    for context in opened.contexts:
        context.close()
    assert opened.errors == []
    assert [url for url in opened.requests if not url.startswith(("file:", "data:"))] == []


def words(part: Any) -> list[str]:
    return [" ".join(one.split()) for one in part.all_inner_texts()]


def at(player: PlayerPart, frame: int) -> PlayerPart:
    player.root.get_by_role("slider", name="Frame").fill(str(frame))
    return player


# --- what is seen at a frame ------------------------------------------------------------------------


def test_at_the_frame_of_a_tool_its_value_stands_at_the_line_in_the_strip_and_in_a_dashed_row(
    pages: Pages,
) -> None:
    player = at(pages.open(mugs()), 24)
    given = '{"warehouse": "south", "blue_mugs": 95}'
    assert given in player.caption
    assert player.line.strip() == 'result = tools[reply["tool"]](**reply["input"])'
    assert player.root.locator(".agentlib-ring [aria-current]").inner_text() == "act"
    lit = player.root.locator(".agentlib-code li[aria-current]")
    assert words(lit.locator(".agentlib-value")) == [f"just now: result = {given}"]
    assert words(player.root.locator(".agentlib-var.agentlib-fresh:visible")) == [
        f"just changed: result {given}"
    ]
    assert words(player.root.locator(".agentlib-coming"))[0].startswith(
        f"+ tool stock_level gave {given} next: record"
    )
    assert len(player.rows()) == 6


def answers_unrecorded(model: Any, tools: Any, goal: str) -> str:
    reply = model([{"role": "user", "text": goal}])
    return str(reply["text"])


def test_a_reply_that_no_history_keeps_is_not_said_to_be_recorded_next(pages: Pages) -> None:
    trace = watch(answers_unrecorded, ScriptedModel([answer("140")]), {}, "goal")
    coming = words(at(pages.open(trace), 2).root.locator(".agentlib-coming"))
    assert coming == ["+ model answers: 140 never recorded"]


def test_very_many_variables_scroll_and_the_one_that_changed_is_in_view(pages: Pages) -> None:
    lines = "".join(f"    v{number} = {number}\n" for number in range(120))
    made: dict[str, Any] = {}
    source = f"def wide(model, tools, goal):\n    reply = model([goal])\n{lines}    return reply\n"
    path = pages.folder / "wide_loop.py"
    path.write_text(source)
    exec(compile(source, str(path), "exec"), made)
    player = at(pages.open(watch(made["wide"], ScriptedModel([answer("x")]), {}, "goal")), 110)
    strip = player.root.locator(".agentlib-vars").bounding_box()
    fresh = player.root.locator(".agentlib-var.agentlib-fresh").bounding_box()
    assert strip["height"] <= 180
    assert strip["y"] <= fresh["y"]
    assert fresh["y"] + fresh["height"] <= strip["y"] + strip["height"]


def test_at_the_record_the_dashed_row_has_become_the_new_row(pages: Pages) -> None:
    player = at(pages.open(mugs()), 25)
    assert player.root.locator(".agentlib-coming").count() == 0
    assert player.rows()[6].split()[-2:] == ["new", "9"]
    assert words(player.root.locator("tr.agentlib-added"))[0].startswith("7 tool stock_level gave")
    assert player.root.locator(".agentlib-ring [aria-current]").inner_text() == "record"


def test_a_value_of_an_earlier_step_is_dim_and_one_that_was_compared_tells_how_it_came_out(
    pages: Pages,
) -> None:
    player = at(pages.open(mugs()), 21)
    values = player.root.locator(".agentlib-value")
    assert "agentlib-now" in (values.filter(has_text="step = 3").get_attribute("class") or "")
    assert "agentlib-old" in (values.filter(has_text="problem =").get_attribute("class") or "")
    assert "agentlib-now" in (values.filter(has_text="reply =").get_attribute("class") or "")
    assert words(at(player, 22).root.locator("li[aria-current] .agentlib-value")) == [
        'just now: "tool" == "answer": no'
    ]


def test_back_at_the_first_frame_nothing_of_later_is_left(pages: Pages) -> None:
    player = pages.open(mugs())
    player.press("End", "Home")
    assert player.root.locator(".agentlib-value").count() == 0
    assert player.rows() == []
    assert "result" not in words(player.root.locator(".agentlib-vars"))[0]


def test_an_error_and_the_end_have_a_sign_in_the_caption_the_track_and_the_history(pages: Pages) -> None:
    player = at(pages.open(mugs()), 8)
    assert player.root.locator(".agentlib-head > span .agentlib-error").inner_text() == "error"
    assert player.root.locator(".agentlib-mark.agentlib-error").count() == 1
    player.press("End")
    assert player.root.locator(".agentlib-head > span .agentlib-stop").inner_text() == "stop: answered"
    assert player.root.locator(".agentlib-mark.agentlib-stop").count() == 1
    assert player.root.locator("td .agentlib-error").count() == 1


# --- moving -----------------------------------------------------------------------------------------


def test_page_keys_go_by_step_and_play_can_do_so_too(pages: Pages) -> None:
    player = pages.open(mugs())
    seen = []
    for key in ("PageDown", "PageDown", "PageDown", "PageUp", "PageUp", "PageUp"):
        player.press(key)
        seen.append(player.figure("step"))
    assert seen == ["1 / 10", "2 / 10", "3 / 10", "2 / 10", "1 / 10", "0 / 10"]
    player.root.get_by_role("combobox", name="Play and arrow keys go").select_option("step")
    player.press("ArrowRight", "ArrowRight")
    assert player.figure("step") == "2 / 10"


def test_a_row_a_bar_and_a_move_lead_to_their_frame_by_mouse_and_by_enter(pages: Pages) -> None:
    player = pages.open(mugs())
    press = player.page.keyboard.press
    player.press("End")
    player.root.locator("tbody tr").nth(4).locator("td").nth(2).click()
    assert player.caption.startswith("The result goes into the history as entry 5.")
    player.press("End")
    player.root.locator("tbody tr").nth(2).get_by_role("button", name="3", exact=True).focus()
    press("Enter")
    assert "It is entry 3 of the history." in player.caption
    bar = player.root.get_by_role("button", name="Call 4: 69 tokens")
    bar.focus()
    press("Enter")
    assert player.figure("step") == "4 / 10"
    assert player.root.locator(".agentlib-ring [aria-current]").inner_text() == "ask"
    assert player.root.get_by_role("button", name="act").get_attribute("aria-disabled") == "true"
    player.press("PageUp")
    player.root.get_by_role("button", name="act").focus()
    press("Enter")
    assert player.caption.startswith('stock_level("south") runs and gives')


def test_the_tab_key_stops_once_in_the_rows_and_once_in_the_bars_and_up_and_down_go_on(pages: Pages) -> None:
    player = pages.open(mugs())
    player.press("End")
    for group, name in (("tbody", "8"), (".agentlib-bars", "Call 4: 69 tokens")):
        stops = player.root.locator(f"{group} button[tabindex='0']")
        assert stops.count() == 1
        stops.focus()
        player.page.keyboard.press("ArrowUp")
        there = player.page.evaluate(
            "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"
        )
        assert there == name.replace("8", "7").replace("Call 4: 69", "Call 3: 52")
        assert player.frame == 31


def test_a_key_press_lays_the_page_out_once(pages: Pages) -> None:
    player = pages.open(mugs())
    devtools = player.page.context.new_cdp_session(player.page)
    devtools.send("Performance.enable")

    def layouts() -> float:
        found = devtools.send("Performance.getMetrics")["metrics"]
        return next(one["value"] for one in found if one["name"] == "LayoutCount")

    player.press("End")
    before = layouts()
    for _ in range(20):
        player.page.keyboard.press("ArrowLeft")
        player.page.evaluate("new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))")
    assert layouts() - before <= 24


# --- several runs -----------------------------------------------------------------------------------


def test_two_runs_of_the_same_code_have_one_pane_with_a_letter_for_each(pages: Pages) -> None:
    player = pages.open({"as it was": mugs(), "what if": mugs(2)})
    player.press("End")
    assert player.root.locator(".agentlib-code").count() == 1
    assert words(player.root.locator(".agentlib-code li[aria-current] .agentlib-at")) == [
        "here is A",
        "here is B",
    ]
    assert words(player.root.locator(".agentlib-say .agentlib-sign")) == [
        "stop: answered",
        "stop: step limit",
    ]


def test_compared_runs_go_on_by_step_and_who_has_ended_waits(pages: Pages) -> None:
    player = pages.open({"A": mugs(), "B": mugs(2)})
    seen = []
    for _ in range(5):
        player.press("ArrowRight")
        seen.append((player.figure("step", 0), player.figure("step", 1)))
    assert seen == [
        ("1 / 10", "1 / 2"),
        ("2 / 10", "2 / 2"),
        ("3 / 10", "2 / 2"),
        ("4 / 10", "2 / 2"),
        ("4 / 10", "2 / 2"),
    ]
    player.root.locator(".agentlib-run").nth(1).locator("tbody button").nth(2).click()
    assert [len(player.rows(run)) for run in range(2)] == [3, 3]


HEIGHTS = """root => [...root.querySelectorAll(".agentlib-bars")].map((bars) =>
  [...bars.children].map((bar) => Math.round(parseFloat(getComputedStyle(bar, "::before").height))))"""


def test_bars_of_compared_runs_have_one_scale_with_its_figure_at_the_tallest(pages: Pages) -> None:
    player = pages.open({"A": mugs(), "B": mugs(2)})
    first, second = player.root.evaluate(HEIGHTS)
    assert first[:2] == second
    assert words(player.root.locator(".agentlib-scale")) == [
        "a bar: tokens of a call; tallest: 69 (call 4)",
        "a bar: tokens of a call",
    ]


def test_runs_of_different_code_keep_a_pane_each(pages: Pages) -> None:
    def other(model: Any, tools: Any, goal: str, max_steps: int = 10) -> Any:
        return model([{"role": "user", "text": goal}])

    player = pages.open({"A": mugs(), "B": watch(other, blue_mugs.model(), blue_mugs.TOOLS, "goal")})
    player.press("ArrowRight")
    assert player.root.locator(".agentlib-run .agentlib-code").count() == 2
    assert player.root.locator(".agentlib-code li[aria-current]").count() == 2


# --- long runs --------------------------------------------------------------------------------------

OUTSIDE = """root => {
  const frame = root.querySelector(".agentlib-bars").getBoundingClientRect();
  const bars = [...root.querySelectorAll(".agentlib-bars button")].map((bar) => bar.getBoundingClientRect());
  return [bars.length, bars.filter((bar) => bar.left < frame.left - 1 || bar.right > frame.right + 1).length,
    Math.min(...bars.map((bar) => bar.width))];
}"""


@pytest.mark.parametrize("calls", [200, 2_000])
@pytest.mark.parametrize("width", [380, 1280])
def test_bars_thin_out_and_never_leave_their_frame(pages: Pages, calls: int, width: int) -> None:
    player = pages.open(spinning(calls), width)
    bars, outside, thinnest = player.root.evaluate(OUTSIDE)
    assert bars == 100
    assert outside == 0
    assert thinnest > 1
    assert player.cut_off() == []


def test_a_long_history_shows_its_last_rows_and_the_rest_when_asked(pages: Pages) -> None:
    player = pages.open(spinning(400))
    player.press("End")
    assert len(player.rows()) < 300
    assert player.rows()[-1].startswith("801\ttool")
    player.root.get_by_role("button", name="Show entries 1 to").click()
    assert len(player.rows()) == 801
    player.press("Home", "End")
    assert len(player.rows()) == 801


# --- the look ---------------------------------------------------------------------------------------

IN_VIEW = """root => [".agentlib-caption", "li[aria-current] .agentlib-source", ".agentlib-added",
  ".agentlib-bars"].flatMap((part) => [...root.querySelectorAll(part)])
  .filter((element) => {
    const box = element.getBoundingClientRect();
    const pane = (element.closest(".agentlib-scroll") ?? document.documentElement).getBoundingClientRect();
    return box.top < Math.max(0, pane.top) - 1 || box.bottom > Math.min(innerHeight, pane.bottom) + 1;
  }).map((element) => element.className || element.tagName)"""


@pytest.mark.parametrize("runs", [1, 2])
@pytest.mark.parametrize("width", [900, 1280, 1920])
def test_caption_current_line_current_row_and_bars_are_in_view_at_once(
    pages: Pages, runs: int, width: int
) -> None:
    player = pages.open(mugs() if runs == 1 else {"A": mugs(), "B": mugs(3)}, width)
    player.root.get_by_role("combobox", name="Play and arrow keys go").select_option("line")
    for frame in range(1, 32):
        assert player.root.evaluate(IN_VIEW) == [], frame
        player.press("ArrowRight")


def test_on_a_phone_the_panes_stand_below_one_another_and_the_caption_stays_in_view(pages: Pages) -> None:
    player = at(pages.open(mugs(), 380), 24)
    parts = [".agentlib-say", ".agentlib-scroll", ".agentlib-history", ".agentlib-vars"]
    boxes = [player.root.locator(part).first.bounding_box() for part in parts]
    assert all(above["y"] + above["height"] <= below["y"] + 1 for above, below in pairwise(boxes))
    player.page.mouse.wheel(0, 2_000)
    player.page.wait_for_timeout(300)
    assert player.page.evaluate("scrollY") > 100
    assert 0 <= player.root.locator(".agentlib-caption").bounding_box()["y"] < 60


@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("several", [False, True])
def test_nothing_is_cut_at_any_width(pages: Pages, width: int, several: bool) -> None:
    player = pages.open({"a name of some length": mugs(), "B": mugs(2)} if several else mugs(), width)
    for frame in (1, 8, 24, 31):
        assert at(player, frame).cut_off() == []
    assert player.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("runs", [1, 2])
def test_there_is_no_inner_scrollbar_where_there_is_room(pages: Pages, runs: int) -> None:
    player = pages.open(mugs() if runs == 1 else {"A": mugs(), "B": mugs(2)}, 1920)
    for frame in (24, 31):
        panes = at(player, frame).root.locator(".agentlib-scroll")
        assert panes.evaluate_all("all => all.map((e) => e.scrollHeight - e.clientHeight)") == [0] * (
            1 + runs
        )


def test_no_word_of_a_static_table_is_torn(pages: Pages) -> None:
    player = pages.open(mugs(), 900)
    player.page.locator("details.agentlib-static").evaluate("e => { e.open = true; }")
    torn = """all => all.filter((e) => {
      const range = document.createRange();
      range.selectNodeContents(e);
      const lines = new Set([...range.getClientRects()].map((box) => box.top)).size;
      return !e.textContent.includes(" ") && lines > 1;
    }).map((e) => e.textContent)"""
    assert player.page.locator(".agentlib-static :is(th, td)").evaluate_all(torn) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("jupyter", [None, "true", "false"])
def test_text_and_signs_have_a_contrast_of_4_5_to_1_at_every_frame(
    pages: Pages, scheme: str, jupyter: str | None
) -> None:
    player = pages.open(mugs(), scheme=scheme)
    ground = {"true": "#fff", "false": "#111", None: ""}[jupyter]
    player.page.evaluate(
        """([light, ground]) => {
          if (light !== null) document.body.dataset.jpThemeLight = light;
          if (ground) document.body.style.background = ground;
        }""",
        [jupyter, ground],
    )
    for frame in (1, 3, 4, 5, 7, 8, 9, 10, 11, 24, 25, 31):
        contrast, where = at(player, frame).root.evaluate(LOWEST_CONTRAST)
        assert contrast >= 4.5, f"frame {frame}: {contrast:.2f} at {where}"


@pytest.mark.parametrize("width", [380, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "make",
    [
        mugs,
        lambda: {"A": mugs(), "B": mugs(2)},
        lambda: spinning(30),
        lambda: {"A": mugs(), "B": shelf_run()},
    ],
)
def test_axe_finds_nothing(pages: Pages, scheme: str, make: Callable[[], Any], width: int) -> None:
    script = os.environ.get("AXE")
    if not script:
        pytest.skip("no axe-core here: npm install axe-core, then AXE=node_modules/axe-core/axe.min.js")
    player = pages.open(make(), width, scheme)
    player.page.evaluate(Path(script).read_text(encoding="utf-8"))
    for frame in (1, 8, 24):
        found = at(player, frame).page.evaluate("axe.run()")["violations"]
        assert [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found] == []


def test_a_page_works_where_scripts_do_not_run_and_prints_its_tables(pages: Pages, browser: Any) -> None:
    player = pages.open(mugs())
    tables = player.page.locator("details.agentlib-static")
    assert tables.evaluate("e => e.open") is False
    player.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert tables.evaluate("e => e.open") is True
    context = browser.new_context(java_script_enabled=False)
    pages.contexts.append(context)
    page = context.new_page()
    page.goto(player.page.url)
    assert page.locator("details.agentlib-static table").first.is_visible()


def test_a_comment_stands_apart_and_never_tears_its_line(pages: Pages) -> None:
    def commented(model: Any, tools: Any, goal: str, max_steps: int = 10) -> Any:
        history = [{"role": "user", "text": goal}]  # a comment too long for this line, by far
        text = "# no comment"
        return model(history), text

    player = pages.open(watch(commented, blue_mugs.model(), blue_mugs.TOOLS, "goal"))
    line = player.root.locator(".agentlib-code li").nth(1)
    assert line.locator(".agentlib-source").inner_text().rstrip().endswith("}]")
    assert line.locator(".agentlib-source").evaluate("e => e.getClientRects().length") == 1
    assert line.locator("code.agentlib-comment").inner_text().startswith("# a comment")
    assert player.root.locator("code.agentlib-comment").count() == 1


# --- requests at once -------------------------------------------------------------------------------


def test_requests_at_once_stand_side_by_side_over_one_scale_of_time(pages: Pages) -> None:
    late = {"error": "timed_out", "message": "shelf gave no result within 1 s."}
    player = pages.open(shelf_run(results=({"pieces": 3}, late, {"pieces": 5})))
    lanes = player.root.locator(".agentlib-lanes")
    assert not at(player, 6).root.locator(".agentlib-lanes").is_visible()
    at(player, 7)
    assert words(lanes.locator("li")) == [
        "shelf(1) 1.6 s, worked", "shelf(2) 0.4 s, out of time", "shelf(3) 1 s, worked",
    ]  # fmt: skip
    assert lanes.locator("p").inner_text().startswith("3 requests at once: 1.6 s in all")
    assert lanes.get_by_role("list", name="Requests at once").is_visible()
    first, second, third = [one.bounding_box() for one in lanes.locator(".agentlib-time > span").all()]
    assert first["x"] < second["x"] == pytest.approx(third["x"], abs=1)
    assert first["width"] > third["width"] > second["width"]
    assert at(player, 9).root.locator(".agentlib-lanes").is_visible()
    assert not at(player, 10).root.locator(".agentlib-lanes").is_visible()


@pytest.mark.parametrize("width", [380, 1280])
def test_lanes_stay_in_their_frame_and_can_be_read_in_both_themes(pages: Pages, width: int) -> None:
    for scheme in ("light", "dark"):
        player = at(pages.open({"A": shelf_run(), "B": shelf_run()}, width, scheme), 7)
        for lanes in player.root.locator(".agentlib-lanes").all():
            assert lanes.evaluate("one => one.scrollWidth <= one.clientWidth")
        contrast, where = player.root.evaluate(LOWEST_CONTRAST)
        assert contrast >= 4.5, f"{contrast:.2f} at {where}"


def names(player: PlayerPart) -> list[str]:
    buttons = player.root.locator(".agentlib-controls button:not(.agentlib-play)")
    found = buttons.evaluate_all("all => all.map((e) => e.getAttribute('aria-label'))")
    return [*found, player.root.locator("select option").first.inner_text()]


def test_the_controls_of_a_run_without_code_step_over_frames_and_say_so(pages: Pages) -> None:
    controls = [
        "First frame",
        "Previous step",
        "Previous {}",
        "Next {}",
        "Next step",
        "Last frame",
        "go by {}",
    ]
    for what, one in ((mugs(), "line"), (spinning(2), "frame"), ({"A": mugs(), "B": spinning(2)}, "frame")):
        assert names(pages.open(what)) == [name.format(one) for name in controls]


@pytest.mark.parametrize("width", [380, 1280])
def test_what_has_the_focus_has_a_ring_of_3_pixels_that_nothing_cuts_off(pages: Pages, width: int) -> None:
    player = pages.open({"": run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL)}, width)
    player.press("End")
    page, seen = player.page, []
    for _ in range(40):
        page.keyboard.press("Tab")
        name, wide, cut = page.evaluate(RING)
        if name == "BODY":
            break
        seen.append(name)
        assert (wide, cut) == (3, []), name
    assert {"Call 4: 75 tokens", "8", "All frames as a table"} <= set(seen)


RING = """() => {
  const at = document.activeElement;
  const style = getComputedStyle(at);
  const out = parseFloat(style.outlineWidth) + parseFloat(style.outlineOffset);
  const box = at.getBoundingClientRect();
  const cut = [];
  for (let above = at.parentElement; above && at.matches(".agentlib-player *"); above = above.parentElement) {
    if (getComputedStyle(above).overflow === "visible" || above === document.documentElement) continue;
    const pane = above.getBoundingClientRect();
    if (box.left - out < pane.left || box.right + out > pane.right || box.top - out < pane.top
      || box.bottom + out > pane.bottom) cut.push(above.className);
  }
  return [at.getAttribute("aria-label") || at.innerText || at.tagName, parseFloat(style.outlineWidth), cut];
}"""


@pytest.mark.parametrize("width", [380, 1280])
def test_the_heads_of_a_long_history_stay_in_view_and_the_newest_row_is_not_under_them(
    pages: Pages, width: int
) -> None:
    player = pages.open(spinning(30), width)
    player.press("End")
    tops = """pane => [pane.scrollTop, ...["caption", "thead th"].map((part) => pane.querySelector(part)
      .getBoundingClientRect().top - pane.getBoundingClientRect().top - pane.clientTop)]"""
    pane = player.root.locator(".agentlib-history")
    heads = pane.locator("caption").bounding_box(), pane.locator("thead").bounding_box()
    for frame in (120, 60):
        at(player, frame)
        scrolled, caption, head = pane.evaluate(tops)
        assert scrolled > 100
        assert (round(caption), round(head - heads[0]["height"])) == (0, -3)
        row = player.root.locator(".agentlib-added, tbody tr:last-child").last.bounding_box()
        assert row["y"] >= pane.locator("thead").bounding_box()["y"] + heads[1]["height"] - 1


def test_a_pane_with_more_behind_its_edge_has_a_shadow_there_and_one_without_has_none(pages: Pages) -> None:
    def grounds(player: PlayerPart, part: str) -> list[list[int]]:
        """The colour 2 pixels above the pane's end, and 30."""
        box = player.root.locator(part).bounding_box()
        clip = {"x": box["x"] + 3, "y": box["y"], "width": 1, "height": box["height"]}
        shot = player.page.screenshot(clip=clip)
        return player.page.evaluate(PIXELS, list(shot))

    player = pages.open(mugs(), 380)
    edge, middle = grounds(at(player, 3), ".agentlib-body > .agentlib-scroll")
    assert sum(middle) - sum(edge) > 60
    edge, middle = grounds(at(pages.open(mugs(), 1920), 3), ".agentlib-history")
    assert abs(sum(middle) - sum(edge)) < 10


PIXELS = """async (bytes) => {
  const picture = await createImageBitmap(new Blob([new Uint8Array(bytes)], { type: "image/png" }));
  const canvas = new OffscreenCanvas(picture.width, picture.height).getContext("2d");
  canvas.drawImage(picture, 0, 0);
  return [2, 30].map((up) => [...canvas.getImageData(0, picture.height - up, 1, 1).data]);
}"""


def test_on_a_phone_the_figures_stand_between_the_sentence_and_the_code(pages: Pages) -> None:
    for frame in (1, 24, 34):
        player = at(pages.open(mugs(), 380), frame)
        figures, code = (
            player.root.locator(part).bounding_box() for part in ("dl", ".agentlib-scroll >> nth=0")
        )
        say = player.root.locator(".agentlib-say").bounding_box()
        assert say["y"] + say["height"] <= figures["y"] + 1
        assert figures["y"] + figures["height"] <= code["y"] + 1 < 450


def test_arrow_keys_and_space_work_at_once_in_a_page_and_leave_its_own_keys_alone(pages: Pages) -> None:
    player = pages.open(mugs())
    frame = lambda: player.root.get_attribute("data-frame")  # noqa: E731
    player.page.keyboard.press("Alt+ArrowRight")
    player.page.keyboard.press("ArrowDown")
    assert frame() == "1"
    player.page.keyboard.press("ArrowRight")
    player.page.keyboard.press("ArrowDown")  # the player has the focus now
    assert frame() == "3"
    player = pages.open(mugs())
    player.page.keyboard.press(" ")
    assert player.root.locator(".agentlib-play").inner_text() == "Pause"


def test_keys_dashed_moves_and_the_colours_of_the_track_are_explained_in_sight(pages: Pages) -> None:
    for width in (900, 1280, 1920):
        legend = pages.open(mugs(), width).root.locator(".agentlib-legend")
        box = legend.bounding_box()
        assert box["y"] + box["height"] <= SIZES[width], width
        assert all(word in legend.inner_text() for word in ("Page Down", "Space", "Dashed", "Track"))


def test_a_value_of_an_earlier_step_says_of_which(pages: Pages) -> None:
    player = at(pages.open(mugs()), 21)
    old = words(player.root.locator(".agentlib-old"))
    assert "start: entry 1" in old
    assert next(one for one in old if "problem =" in one).startswith("step 1: problem = ValueError(")


def test_before_the_first_step_the_controls_do_not_count_a_step_0(pages: Pages) -> None:
    player = pages.open(mugs())
    count = player.root.locator(".agentlib-count")
    assert count.inner_text() == "before step 1 of at most 10, frame 1 of 31"
    at(player, 31)
    assert count.inner_text() == "step 4 of at most 10, frame 31 of 31"


@pytest.mark.parametrize("width", SIZES)
def test_no_type_is_smaller_than_12_pixels(pages: Pages, width: int) -> None:
    small = """root => [...root.querySelectorAll("*")].filter((e) => e.getClientRects().length
      && [...e.childNodes].some((node) => node.nodeType === 3 && node.data.trim())
      && parseFloat(getComputedStyle(e).fontSize) < 12 && e.clientWidth !== 1).map((e) => e.className)"""
    for what in (mugs(), {"A": mugs(), "B": shelf_run()}, shelf_run()):
        assert at(pages.open(what, width), 8).root.evaluate(small) == []
