"""The built site for tests in a real browser: where it is, and a page that is watched.

It is built before: `python -m agentlib site OUT --without-plots`, and SITE=OUT.
"""

import os
from pathlib import Path
from typing import Any

import pytest

SITE = os.environ.get("SITE")
FILES = Path(SITE or "") / "files"  # the notebooks that the site has, which its Python was built with
AXE = os.environ.get("AXE")
NO_AXE = "no axe here: npm install axe-core, then AXE=.../axe.min.js"
needs_site = pytest.mark.skipif(
    SITE is None, reason="no site here: python -m agentlib site OUT --without-plots, then SITE=OUT"
)


class Watched:
    """A page, with what it asked for elsewhere, what has come, and its errors."""

    def __init__(self, browser: Any, address: str) -> None:
        self.page = browser.new_context(viewport={"width": 1200, "height": 1000}).new_page()
        self.elsewhere: list[str] = []
        self.errors: list[str] = []
        self.finished: list[Any] = []
        self.here = (address, "data:", "blob:")
        self.page.context.route("**/*", self._let_pass)
        # Those of workers too.
        self.page.context.on("requestfinished", lambda request: self.finished.append(request))
        self.page.on("pageerror", lambda problem: self.errors.append(str(problem)))

    def _let_pass(self, route: Any) -> None:
        if route.request.url.startswith(self.here):
            route.continue_()
        else:
            self.elsewhere.append(route.request.url)
            route.abort()

    @property
    def megabytes(self) -> float:
        """What has come so far, as it came: packed."""
        return sum(request.sizes()["responseBodySize"] for request in list(self.finished)) / 1e6


def violations(page: Any) -> list[str]:
    """What axe finds wrong with a page."""
    # As a script of the browser's own, which a page's policy does not hold back.
    page.evaluate(Path(str(AXE)).read_text(encoding="utf-8"))
    found = page.evaluate(
        "async () => (await axe.run()).violations.map(one => one.id + ' ' + one.nodes[0].html)"
    )
    return list(found)
