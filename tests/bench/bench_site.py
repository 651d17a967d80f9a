"""How soon the built site can be read and worked with in a real browser, and how much it loads.

Needs what tests/browser/test_site.py needs: a site, `python -m agentlib site OUT --without-plots`, in SITE.
Each page is opened once, in a browser that has nothing of it yet. Files come from this computer, packed as a
host packs them: the seconds are the browser's alone, and the megabytes are what a network would add to them.
"""

import time

import pytest

from tests.browser.conftest import address, browser  # noqa: F401
from tests.browser.site import Watched, needs_site
from tests.browser.test_site import KERNEL

pytestmark = needs_site

GOAL = "6 s, 10 MB"
PYTHON_IS_READY = "body[data-python=ready]"


def kernel_is_ready(page):
    page.wait_for_function(f"{KERNEL}?.status === 'idle'", timeout=180_000)


PAGES = {
    "the start page": ("index.html", "h1", lambda page: page.wait_for_selector(PYTHON_IS_READY), GOAL),
    "a page to read": (
        "lessons/02_blue_mugs.html",
        "h1",
        lambda page: page.wait_for_selector(".agentlib-player"),
        "no Python",
    ),
    "an exercise's page": (
        "exercises/ex01_write_the_loop.html",
        "h1",
        lambda page: page.wait_for_selector(PYTHON_IS_READY),
        GOAL,
    ),
    "the lab, at lesson 00": (
        "lab/index.html?path=notebooks/00_start_here.ipynb",
        ".jp-RenderedMarkdown h1",
        kernel_is_ready,
        "20 MB",
    ),
}


@pytest.mark.parametrize("name", PAGES)
def test_it_can_be_read_and_is_ready(name, browser, address, record_property):  # noqa: F811
    path, readable, ready, goal = PAGES[name]
    watched = Watched(browser, address)
    watched.page.set_default_timeout(180_000)
    began = time.monotonic()
    watched.page.goto(f"{address}/{path}", wait_until="commit")
    watched.page.wait_for_selector(readable)
    seconds_to_read = time.monotonic() - began
    ready(watched.page)
    seconds = time.monotonic() - began
    megabytes = watched.megabytes  # asked for while the page is there
    row = [
        name,
        f"read after {seconds_to_read:.1f} s",
        f"ready after {seconds:.1f} s",
        f"{megabytes:.1f} MB",
        goal,
    ]
    record_property("row", row)
    watched.page.context.close()
    assert megabytes < (20 if "lab" in name else 10)
