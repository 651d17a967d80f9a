"""From key press to screen in the player, at 10 to 5,000 frames, in a real JupyterLab.

Needs what the tests in tests/browser need; skipped without it. Times are those of the browser's own clock,
from the key press to the change of the page, and to the picture that shows it; the frames that came up are
counted, so that none is dropped.
"""

from statistics import median

import pytest

from tests.browser.conftest import browser, lab_address, notebook_of  # noqa: F401
from tests.browser.lab import Lab

SIZES = (10, 100, 1_000, 5_000)
GOAL_MS = 16.0
"""A screen shows a picture every 16 ms; a step that takes no longer is not felt."""

PAINT_MS = 50.0
"""The same up to the moment when the browser has drawn it."""

PRESSES = 40

CELL = """from agentlib.trace import Event, Trace
from agentlib.views import tracer

def trace(frames):
    about = {"made_by": "run_agent", "goal": "goal", "max_steps": frames, "tools": ["t"]}
    events = [Event("start", 0, {"role": "user", "text": "goal"})]
    while len(events) < frames:
        step = len(events)
        events.append(Event("note", step, {"role": "user", "text": f"note {step}"}))
    return Trace(tuple(events), about)

from IPython.display import display
for frames in (10, 100, 1_000, 5_000):
    display(tracer(trace(frames)))
"""

MEASURE = """root => {
  window.waits = [];
  window.paints = [];
  window.seen = new Set();
  let pressed = 0;
  root.addEventListener("keydown", () => { pressed = performance.now(); }, { capture: true });
  new MutationObserver(() => {
    window.seen.add(root.dataset.frame);
    window.waits.push(performance.now() - pressed);
    const from = pressed;
    requestAnimationFrame(() => setTimeout(() => window.paints.push(performance.now() - from)));
  }).observe(root, { attributes: true, attributeFilter: ["data-frame"] });
}"""


@pytest.mark.parametrize("frames", SIZES)
def test_a_key_press_is_on_the_screen_within_one_picture(
    browser: object,  # noqa: F811
    lab_address: str,  # noqa: F811
    frames: int,
) -> None:
    lab = Lab(browser, lab_address)
    lab.write("bench.ipynb", notebook_of([CELL]))
    lab.open("bench.ipynb")
    lab.run_all()
    player = lab.player(SIZES.index(frames))
    presses = min(PRESSES, frames - 1)
    player.press("End")
    lab.page.wait_for_timeout(500)
    player.root.evaluate(MEASURE)
    for _ in range(presses):
        lab.page.keyboard.press("ArrowLeft")
        lab.page.wait_for_timeout(33)  # as fast as a key that is held down repeats
    lab.page.wait_for_timeout(500)
    waits, paints, seen = lab.page.evaluate("[window.waits, window.paints, window.seen.size]")
    lab.page.context.close()
    page, picture = median(waits), median(paints)
    print(f"\n{frames:>5} frames: {page:.1f} ms from key to page, {picture:.1f} ms to its picture")
    print(f"      at best {min(paints):.1f} ms, {seen} of {presses} frames shown")
    assert seen == presses
    assert page <= GOAL_MS
    assert picture <= PAINT_MS
