"""The player in a real JupyterLab: keys, names, themes, narrow windows, and no cell lost on the way."""

import os
from pathlib import Path

import pytest

from tests.browser.conftest import CELLS, notebook_of
from tests.browser.lab import Lab

LIVE, THREE, PREDICT, HARM, SLOW = range(5)

# Contrast as defined in WCAG 2.2, "contrast ratio": 4.5 to 1 for text. The colours that the browser has
# worked out are blended over each other from the page upwards; a canvas turns any notation into RGB.
LOWEST_CONTRAST = """root => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], under) => [...[r, g, b].map((v, i) => v * a + under[i] * (1 - a)), 1];
  const light = ([r, g, b]) => {
    const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [R, G, B] = [r, g, b].map((v) => linear(v / 255));
    return 0.2126 * R + 0.7152 * G + 0.0722 * B;
  };
  const behind = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.unshift(rgba(getComputedStyle(e).backgroundColor));
    return layers.reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
  };
  let lowest = [99, ""];
  for (const element of [root, ...root.querySelectorAll("*")]) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.getClientRects().length) continue;
    const back = behind(element);
    const front = over(rgba(getComputedStyle(element).color), back);
    const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < lowest[0]) lowest = [contrast, element.outerHTML.slice(0, 120)];
  }
  return lowest;
}"""


def test_arrow_keys_home_and_end_walk_through_the_frames(lab: Lab) -> None:
    player = lab.player(LIVE)
    player.press("Home")
    assert player.frame == 1
    player.press("ArrowRight", "ArrowRight", "ArrowRight")
    assert player.frame == 4
    assert player.line.strip() == "reply = model(history)"
    player.press("ArrowLeft")
    assert player.frame == 3
    player.press("End")
    assert player.figure("stopped") == "answered"
    assert player.figure("step") == "4 / 10"
    assert player.figure("entries") == "8"
    assert len(player.rows()) == 8
    player.press("Home")
    assert player.rows() == []


def test_a_late_word_from_the_kernel_about_an_older_step_does_not_move_the_player_back(lab: Lab) -> None:
    player = lab.player(SLOW)
    player.press("Home", "ArrowRight")
    lab.page.wait_for_timeout(400)  # the kernel has this step and is now busy for a second
    player.press("End")
    lab.page.wait_for_timeout(300)  # this step waits for the kernel; its echo will come late
    player.press("Home")
    seen = set()
    for _ in range(30):
        player.press("ArrowRight", "ArrowLeft")
        seen.add(player.frame)
        lab.page.wait_for_timeout(40)
    assert seen == {1}


def test_the_caption_names_the_values_and_new_entries_are_marked_in_words(lab: Lab) -> None:
    player = lab.player(LIVE)
    player.press("Home", *["ArrowRight"] * 10)
    assert player.caption == (
        'stock_level("North") raised. The except turned it into a result, '
        "so the model will read it in step 2. It is entry 3 of the history."
    )
    assert player.rows()[2].split()[-3:] == ["error", "new", "17"]


def test_space_plays_and_pauses_and_the_play_button_says_which(lab: Lab) -> None:
    player = lab.player(LIVE)
    player.root.get_by_role("combobox", name="Speed").select_option(label="speed: fast")
    player.press("Home", " ")
    assert player.root.get_by_role("button", name="Pause").count() == 1
    lab.page.wait_for_function("e => Number(e.dataset.frame) > 3", arg=player.root.element_handle())
    player.press(" ")
    stopped_at = player.frame
    lab.page.wait_for_timeout(700)
    assert player.frame == stopped_at
    assert player.root.get_by_role("button", name="Play").count() == 1


def test_down_and_right_go_on_and_up_and_left_go_back_also_on_the_slider(lab: Lab) -> None:
    player = lab.player(LIVE)
    for control in (player.root, player.root.get_by_role("slider", name="Frame")):
        player.press("Home")
        control.focus()
        seen = []
        for key in ("ArrowDown", "ArrowRight", "ArrowUp", "ArrowLeft"):
            lab.page.keyboard.press(key)
            seen.append(player.frame)
        assert seen == [2, 3, 2, 1]


def test_the_right_arrow_after_a_click_on_the_code_steps_and_scrolls_nothing_sideways(lab: Lab) -> None:
    player = lab.player(LIVE)
    player.press("Home")
    code = player.root.locator(".agentlib-scroll", has=lab.page.locator(".agentlib-code"))
    code.evaluate("e => { e.style.width = '150px'; e.querySelector('ol').style.width = '600px'; }")
    try:
        code.locator("li").nth(3).click(position={"x": 60, "y": 5})
        for _ in range(5):
            lab.page.keyboard.press("ArrowRight")
        assert player.frame == 6
        assert code.evaluate("e => [e.scrollWidth > e.clientWidth, e.scrollLeft]") == [True, 0]
    finally:
        code.evaluate("e => { e.style.width = ''; e.querySelector('ol').style.width = ''; }")


NEWEST_SEEN = """root => {
  const row = [...root.querySelectorAll("tbody tr")].at(-1).getBoundingClientRect();
  const part = root.querySelector("table").closest(".agentlib-scroll").getBoundingClientRect();
  return row.bottom <= part.bottom + 1 && row.top >= part.top - 1;
}"""


def test_the_newest_entry_is_seen_after_end_and_after_the_slider(lab: Lab) -> None:
    player = lab.player(LIVE)
    history = player.root.locator(".agentlib-scroll", has=lab.page.locator("table"))
    lab.window(1400, 420)  # low, so that the history does not fit its part
    try:
        player.press("Home", "End")
        assert history.evaluate("e => e.scrollHeight > e.clientHeight")
        assert player.root.evaluate(NEWEST_SEEN)
        player.press("Home")
        player.root.get_by_role("slider", name="Frame").fill("30")
        assert player.root.evaluate(NEWEST_SEEN)
        player.slider.focus()
        lab.page.keyboard.press("ArrowLeft")
        lab.page.wait_for_function(
            "e => e.querySelector('dl').textContent.includes('/ 9')", arg=player.root.element_handle()
        )
        assert player.root.evaluate(NEWEST_SEEN)
        player.slider.focus()
        lab.page.keyboard.press("ArrowRight")
        lab.page.wait_for_function(
            "e => e.querySelector('dl').textContent.includes('/ 10')", arg=player.root.element_handle()
        )
    finally:
        lab.window(1400, 1100)


@pytest.mark.parametrize(("width", "height", "zoom"), [(1280, 800, 1), (1440, 900, 1), (1400, 1100, 2)])
def test_nothing_is_cut_off_on_a_laptop_or_at_a_zoom_of_200_percent(
    lab: Lab, width: int, height: int, zoom: int
) -> None:
    player = lab.player(LIVE)
    lab.window(width, height, zoom)
    try:
        player.press("End")
        assert player.cut_off() == []
        right = "e => e.getBoundingClientRect().right"
        area = player.root.locator("xpath=ancestor::*[contains(@class, 'jp-OutputArea ')][1]")
        assert player.root.evaluate(right) <= area.evaluate(right)
        if os.environ.get("SCREENSHOTS"):
            lab.picture(Path(os.environ["SCREENSHOTS"]) / f"window-{width}-{zoom}.png")
    finally:
        lab.window(1400, 1100)


# Of each line of code: its rows, how far it is indented, and where the rows behind the first begin.
LEFT_ENDS = """lines => lines.map((line) => {
  const words = document.createRange();
  words.selectNodeContents(line);
  const rows = new Map();
  for (const part of words.getClientRects()) {
    const row = Math.round(part.top / 8);
    if (part.width > 0) rows.set(row, Math.min(part.left, rows.get(row) ?? Infinity));
  }
  const [left, indent] = [line.getBoundingClientRect().left, line.textContent.search(/\\S/)];
  return [rows.size, indent, ...[...rows.values()].slice(1).map((part) => Math.round(part - left))];
})"""


def test_a_long_line_of_code_goes_on_beneath_its_own_beginning(lab: Lab) -> None:
    lab.window(1280, 800)
    try:
        ends = lab.player(LIVE).root.locator(".agentlib-source").evaluate_all(LEFT_ENDS)
        long = [one for one in ends if one[0] > 1]
        assert long, "no line was long enough to be wrapped"
        for _, indent, *lefts in long:
            assert min(lefts) > 7 * indent  # a character is between 7 and 8 pixels wide
    finally:
        lab.window(1400, 1100)


def test_the_four_moves_fit_a_laptop_together_with_the_controls_and_the_running_line(lab: Lab) -> None:
    player = lab.player(LIVE)
    lab.window(1280, 800)
    try:
        player.press("Home", "End")  # the history is at its longest
        height = lab.page.locator(".jp-Notebook").first.bounding_box()["height"]
        # The moves in the upper half, so that they stay in view with the slider that stands above.
        for part, share in ((".agentlib-ring", 0.5), ("dl", 1), (".agentlib-code li[aria-current]", 1)):
            # From the top of the player, measured at once: JupyterLab may scroll by itself after a new size.
            bottom = player.root.evaluate(
                """(root, part) => {
                  const end = root.querySelector(part).getBoundingClientRect().bottom;
                  return end - root.getBoundingClientRect().top;
                }""",
                part,
            )
            assert 0 < bottom <= share * min(height, 690), part
    finally:
        lab.window(1400, 1100)


def test_nothing_moves_that_nobody_moves(lab: Lab) -> None:
    moving = """() => [...document.querySelectorAll(".agentlib-player *, .agentlib-quiz *")].filter((e) => {
      const style = getComputedStyle(e);
      return parseFloat(style.transitionDuration) > 0 || style.animationName !== "none";
    }).length"""
    assert lab.page.evaluate(moving) == 0


def test_every_button_does_what_its_name_says(lab: Lab) -> None:
    player = lab.player(LIVE)
    for name, frame in (
        ("Last frame", 31),
        ("Previous line", 30),
        ("Previous step", 20),
        ("Next step", 27),
        ("Next step", 31),
        ("First frame", 1),
        ("Next line", 2),
        ("Next step", 4),
    ):
        player.root.get_by_role("button", name=name, exact=True).click()
        assert player.frame == frame, name


def test_max_steps_of_2_runs_the_loop_again_and_ends_with_the_step_limit(lab: Lab) -> None:
    player = lab.player(LIVE)
    handle, track = player.slider, player.slider.locator("xpath=ancestor::*[contains(@class, 'noUi-base')]")
    handle.scroll_into_view_if_needed()
    at, whole = handle.bounding_box(), track.bounding_box()
    lab.page.mouse.move(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)
    lab.page.mouse.down()
    lab.page.mouse.move(whole["x"] + whole["width"] / 19, at["y"] + at["height"] / 2, steps=8)  # from 1 to 20
    lab.page.mouse.up()
    # On its way the handle passes 3, with which the loop may run too.
    lab.page.wait_for_function(
        "e => /2 \\/ 2/.test(e.querySelector('dl').textContent)", arg=player.root.element_handle()
    )
    stopped = "e => /step limit/.test(e.querySelector('dd.agentlib-over')?.textContent)"
    lab.page.wait_for_function(stopped, arg=player.root.element_handle())
    assert player.figure("step") == "2 / 2"
    assert player.figure("entries") == "5"
    assert "There is no answer." in player.caption
    handle.focus()
    for _ in range(8):
        lab.page.keyboard.press("ArrowRight")
    lab.page.wait_for_function(stopped.replace("step limit", "answered"), arg=player.root.element_handle())


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_whoever_tabs_to_the_slider_sees_that_it_has_the_focus(lab: Lab, theme: str) -> None:
    lab.theme(theme)
    lab.player(LIVE).press("Shift+Tab", "Shift+Tab")
    handle = lab.page.locator(".noUi-handle").first
    assert handle.evaluate("e => e === document.activeElement")
    assert handle.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
    assert handle.evaluate("e => parseFloat(getComputedStyle(e).outlineWidth)") >= 2


def test_no_key_pressed_on_any_control_reaches_the_notebook(lab: Lab) -> None:
    cells = lab.cells()
    for number in (LIVE, THREE, PREDICT):
        places = lab.player(number).focusable()
        for place in range(places.count()):
            control = places.nth(place)
            if not control.is_visible() or control.is_disabled():
                continue
            control.focus()
            for key in ("d", "d", "b", "a", "m"):
                lab.page.keyboard.press(key)
            words = control.evaluate("e => e.outerHTML.slice(0, 100)")
            assert lab.cells() == cells, f"a key went through at {words}"
            assert control.get_attribute("data-lm-suppress-shortcuts") == "true", words
    assert lab.page.locator(".jp-MarkdownCell").count() == 1


def test_every_control_has_a_name_and_the_slider_says_where_it_is(lab: Lab) -> None:
    player = lab.player(LIVE)
    player.press("Home")
    slider = player.root.get_by_role("slider", name="Frame")
    assert slider.get_attribute("aria-valuetext").startswith(
        "Frame 1 of 31: Your loop is called with the goal"
    )
    assert player.slider.count() == 1
    assert player.root.get_attribute("role") == "group"
    assert player.root.locator(".agentlib-captions [role=status]").inner_text() == player.caption
    assert player.root.locator("table caption").inner_text() == "History: 0 entries"
    assert player.root.locator("thead th[scope=col]").count() == 4


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_text_has_a_contrast_of_4_5_to_1_in_both_themes(lab: Lab, theme: str) -> None:
    lab.theme(theme)
    try:
        player = lab.player(LIVE)
        player.press("Home", *["ArrowRight"] * 10)
        for number in (LIVE, THREE, PREDICT):
            contrast, where = lab.player(number).root.evaluate(LOWEST_CONTRAST)
            assert contrast >= 4.5, f"{contrast:.2f} at {where}"
        if os.environ.get("SCREENSHOTS"):
            player.root.screenshot(path=Path(os.environ["SCREENSHOTS"]) / f"{theme.split()[-1].lower()}.png")
    finally:
        lab.theme("JupyterLab Light")


@pytest.mark.parametrize("width", [375, 700])
def test_a_narrow_window_shows_everything_without_scrolling_the_page_sideways(lab: Lab, width: int) -> None:
    """700 pixels are what is left of 1,400 at a zoom of 200%."""
    player = lab.player(LIVE)
    player.press("End")
    # The width of the output itself, since JupyterLab's own side bars take more than 375 pixels.
    overflow = player.root.evaluate(
        """(root, width) => {
          const place = root.parentElement;
          const before = place.style.width;
          place.style.width = `${width}px`;
          const wide = [...root.querySelectorAll("*")].filter((e) => !e.closest(".agentlib-scroll > *"));
          const right = root.getBoundingClientRect().left + width;
          const out = wide.filter((e) => e.getBoundingClientRect().right > right + 1);
          place.style.width = before;
          return out.map((e) => e.outerHTML.slice(0, 80));
        }""",
        width,
    )
    assert overflow == []


def test_three_runs_are_driven_together_and_show_why_each_ended(lab: Lab) -> None:
    player = lab.player(THREE)
    player.press("End")
    assert [player.figure("stopped", run) for run in range(3)] == ["answered", "step limit", "step limit"]
    assert [len(player.rows(run)) for run in range(3)] == [8, 5, 13]
    assert sum("repeat" in row for row in player.rows(2)) == 5
    player.press("Home")
    assert [len(player.rows(run)) for run in range(3)] == [1, 1, 1]


def test_predict_hides_the_end_until_a_guess_and_then_says_why(lab: Lab) -> None:
    player = lab.player(PREDICT)
    player.press("End")
    assert player.figure("stopped") == "not yet"
    player.root.get_by_role("button", name="answered").focus()
    lab.page.keyboard.press("Enter")
    verdict = player.root.locator(".agentlib-verdict")
    assert verdict.inner_text().startswith("Not this time: you chose answered, and it ended with step limit.")
    player.root.get_by_role("button", name="step limit").click()
    assert verdict.inner_text().startswith("Right: step limit.")
    player.press("End")
    assert player.figure("stopped") == "step limit"


def test_a_changed_result_runs_on_and_stands_beside_the_first_run(lab: Lab) -> None:
    player = lab.player(LIVE)
    fork = player.root.locator(".agentlib-fork")
    fork.locator("summary").click()
    text = fork.locator("textarea")
    fork.locator("select").select_option(label='Step 2: what stock_level("north") gave')
    text.fill('{"warehouse": "north", "blue_mugs": }')
    fork.get_by_role("button", name="Run on from here").click()
    lab.page.wait_for_function("e => /This is no JSON/.test(e.textContent)", arg=fork.element_handle())
    text.fill('{"warehouse": "north", "blue_mugs": 3}')
    fork.get_by_role("button", name="Run on from here").click()
    player.root.get_by_text("First difference: frame 17, in step 2.").wait_for()
    assert player.root.locator(".agentlib-run").count() == 2
    assert player.frame == 17
    assert fork.locator("textarea").input_value() == '{"warehouse": "north", "blue_mugs": 3}'
    assert fork.get_by_role("button", name="Run on from here").evaluate("e => e === document.activeElement")
    fork.get_by_role("button", name="Back to one run").focus()
    lab.page.keyboard.press("Enter")
    lab.page.wait_for_function(
        "e => e.querySelectorAll('.agentlib-run').length === 1", arg=player.root.element_handle()
    )
    assert fork.get_by_role("button", name="Back to one run").count() == 0
    assert fork.locator("textarea").input_value() == '{"warehouse": "north", "blue_mugs": 3}'
    cells = lab.cells()
    for key in ("d", "d"):
        lab.page.keyboard.press(key)  # the button that had the focus is gone
    assert lab.cells() == cells
    fork.locator("summary").click()


def test_markup_in_values_is_text_and_never_runs(lab: Lab) -> None:
    player = lab.player(HARM)
    player.press("End")
    assert player.root.locator("img, script").count() == 0
    assert lab.page.title() != "1"
    player.root.locator("summary").first.click()
    assert "<script>document.title=1</script>" in player.root.locator("td details bdi").first.inner_text()


def test_the_static_form_stands_beneath_and_is_folded_where_the_player_runs(lab: Lab) -> None:
    tables = lab.page.locator("details.agentlib-static")
    assert tables.count() == 8
    assert [tables.nth(place).evaluate("e => e.open") for place in range(8)] == [False] * 8


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_axe_finds_nothing_serious_in_the_player_and_its_slider(lab: Lab, theme: str) -> None:
    script = os.environ.get("AXE")
    if not script:
        pytest.skip("no axe-core here: npm install axe-core, then AXE=node_modules/axe-core/axe.min.js")
    lab.theme(theme)
    try:
        lab.page.evaluate(Path(script).read_text(encoding="utf-8"))
        assert lab.player(LIVE).slider.count() == 1
        for number in (LIVE, THREE, PREDICT, HARM):
            output = lab.player(number).output.element_handle()
            found = lab.page.evaluate("output => axe.run(output)", output)["violations"]
            serious = [one for one in found if one["impact"] in ("serious", "critical")]
            assert [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in serious] == []
    finally:
        lab.theme("JupyterLab Light")


def test_a_saved_notebook_shows_the_static_form_where_no_kernel_holds_the_player(
    lab: Lab, browser: object
) -> None:
    lab.menu("File", "Save Notebook")
    lab.copy("tracer.ipynb", "saved.ipynb")  # its widgets belong to another notebook's kernel
    reader = Lab(browser, lab.address)
    reader.page.goto(f"{lab.address}/lab/workspaces/reader/tree/saved.ipynb?reset")
    table = reader.page.locator("details.agentlib-static").first
    table.wait_for(timeout=90_000)
    reader.page.wait_for_timeout(1_500)
    assert reader.page.locator(".agentlib-player").count() == 0
    assert table.evaluate("e => e.open")
    assert "Your loop is called with the goal" in table.inner_text()
    reader.page.context.close()


def test_a_notebook_saved_and_opened_again_without_its_kernel_shows_the_static_table(
    lab: Lab, browser: object
) -> None:
    writer = Lab(browser, lab.address)
    writer.write("again.ipynb", notebook_of([CELLS["setup"], CELLS["live"]]))
    writer.open("again.ipynb")
    writer.run_all()
    writer.menu("File", "Save Notebook")
    writer.page.wait_for_timeout(1_000)
    writer.shut_down("again.ipynb")
    writer.page.context.close()
    reader = Lab(browser, lab.address)
    reader.open("again.ipynb")
    table = reader.page.locator("details.agentlib-static").first
    table.wait_for(timeout=90_000)
    assert reader.page.locator(".agentlib-player").count() == 0
    assert table.evaluate("e => e.open")
    assert table.locator("summary").first.inner_text() == "All frames of the run with max_steps=10"
    assert "Your loop is called with the goal" in table.inner_text()
    reader.page.context.close()
