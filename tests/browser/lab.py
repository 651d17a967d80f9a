"""The page object: what a learner does in JupyterLab, by the names that a learner would use."""

import base64
import re
from pathlib import Path
from typing import Any

CELL = ".jp-Notebook .jp-Cell"
REACHABLE = "button, input, select, textarea, summary, [tabindex='0'], [contenteditable='true']"

CUT_OFF = """root => {
  const drawn = (e) => e.getClientRects().length && !e.closest("svg, select");
  const shown = [...root.querySelectorAll("*")].filter(drawn);
  const edge = root.getBoundingClientRect().right + 1;
  // What is there for screen readers alone is a pixel wide.
  const block = (e) => getComputedStyle(e).display !== "inline" && e.clientWidth > 1;
  const cut = shown.filter((e) => block(e) && e.scrollWidth > e.clientWidth + 1);
  const out = shown.filter((e) => e.getBoundingClientRect().right > edge);
  return [...cut, ...out].map((e) => e.outerHTML.slice(0, 100));
}"""


class Lab:
    """One JupyterLab page in a browser. console: what the browser's console said, errors only."""

    def __init__(self, browser: Any, address: str) -> None:
        self.address = address
        self.devtools: Any = None
        self.page = browser.new_context(viewport={"width": 1400, "height": 1100}).new_page()
        self.console: list[str] = []
        self.page.on("console", lambda line: self.console.append(line.text) if line.type == "error" else None)
        self.page.on("pageerror", lambda problem: self.console.append(str(problem)))

    def open(self, notebook: str, place: str = "lab/tree") -> None:
        """Open a notebook and wait until its kernel is ready: JupyterLab runs nothing before that."""
        self.page.goto(f"{self.address}/{place}/{notebook}?reset")
        self.page.wait_for_selector(CELL, timeout=90_000)
        self.wait_until_idle(notebook)
        self.page.wait_for_timeout(1_000)  # the page hears of its kernel a moment after the server

    def wait_until_idle(self, notebook: str) -> None:
        """Wait until the kernel of a notebook is there and has nothing to do."""
        for _ in range(360):
            sessions = self.page.request.get(f"{self.address}/api/sessions").json()
            states = [one["kernel"]["execution_state"] for one in sessions if one["path"] == notebook]
            if states == ["idle"]:
                break
            self.page.wait_for_timeout(250)

    def menu(self, *names: str) -> None:
        """Choose from the menu bar: `menu("Run", "Run All Cells")`."""
        *way, last = names
        self.page.get_by_role("menuitem", name=way[0], exact=True).first.click()
        for name in way[1:]:
            self.page.locator(".lm-Menu-item", has_text=name).first.hover()
        whole = re.compile(f"^{re.escape(last)}$")
        self.page.locator(".lm-Menu-itemLabel", has_text=whole).last.click()

    def run_all(self) -> None:
        """Run all cells, and wait until the last one has run."""
        failed = self.page.locator("[data-mime-type='application/vnd.jupyter.stderr']")
        prompts = self.page.locator(".jp-CodeCell .jp-InputPrompt")
        for _ in range(6):
            self.page.locator(CELL).first.click()
            self.menu("Run", "Run All Cells")
            # A page that has not heard of its kernel yet runs the first cell or none, and may ask for one.
            self.page.wait_for_timeout(3_000)
            choose = self.page.get_by_role("button", name="Select Kernel")
            if choose.is_visible():
                choose.click()
            while any("*" in prompt for prompt in prompts.all_inner_texts()):
                self.page.wait_for_timeout(250)
            assert failed.count() == 0, failed.first.inner_text()
            if re.search("[0-9]", prompts.last.inner_text()):
                break
        self.page.wait_for_selector(".agentlib-player", timeout=90_000)
        self.page.wait_for_timeout(1_000)

    def theme(self, name: str) -> None:
        self.menu("Settings", "Theme", name)
        dark = "false" if "Dark" in name else "true"
        self.page.wait_for_selector(f"body[data-jp-theme-light='{dark}']", state="attached")

    def window(self, width: int, height: int, scale: int = 1) -> None:
        """Give the window a size. A zoom of 200% is half as many CSS pixels, each drawn as two."""
        if self.devtools is None:  # what a session sets lasts as long as the session
            self.devtools = self.page.context.new_cdp_session(self.page)
        size = {"width": width // scale, "height": height // scale, "deviceScaleFactor": scale}
        self.devtools.send("Emulation.setDeviceMetricsOverride", {**size, "mobile": False})
        self.page.wait_for_function("width => window.innerWidth === width", arg=size["width"])
        self.page.wait_for_timeout(700)  # the notebook lays itself out anew

    def picture(self, path: Path) -> None:
        """Take a picture of the window in the size that `window` gave it; Playwright's own undoes that."""
        path.write_bytes(base64.b64decode(self.devtools.send("Page.captureScreenshot")["data"]))

    def copy(self, old: str, new: str) -> None:
        """Copy a saved notebook inside JupyterLab's folder."""
        self.page.wait_for_timeout(1_000)
        saved = self.page.request.get(f"{self.address}/api/contents/{old}").json()
        self.write(new, saved["content"])

    def write(self, name: str, notebook: Any) -> None:
        """Write a notebook into JupyterLab's folder."""
        if not self.page.url.startswith(self.address):
            self.page.goto(f"{self.address}/lab?reset")
        done = self.page.evaluate(
            """async ([url, content]) => {
              const token = document.cookie.match(/_xsrf=([^;]*)/)?.[1] ?? "";
              const headers = { "Content-Type": "application/json", "X-XSRFToken": token };
              const body = JSON.stringify({ type: "notebook", content });
              return (await fetch(url, { method: "PUT", headers, body })).ok;
            }""",
            [f"{self.address}/api/contents/{name}", notebook],
        )
        assert done, f"{name} could not be written"

    def shut_down(self, notebook: str) -> None:
        """End the kernel of a notebook, as the menu does it, and see that it has gone."""
        self.menu("Kernel", "Shut Down Kernel")
        for _ in range(120):
            sessions = self.page.request.get(f"{self.address}/api/sessions").json()
            if notebook not in [one["path"] for one in sessions]:
                return
            self.page.wait_for_timeout(250)
        raise AssertionError(f"the kernel of {notebook} still runs")

    def cells(self) -> int:
        return int(self.page.locator(CELL).count())

    def player(self, number: int = 0) -> "PlayerPart":
        return PlayerPart(self.page, self.page.locator(".agentlib-player").nth(number))

    def output(self, content: str) -> Any:
        """The output of a cell, by something that stands in it."""
        return self.page.locator(".jp-OutputArea-output").filter(has=self.page.locator(content)).first

    def reachable(self, output: Any) -> Any:
        """Everything in an output that the Tab key reaches."""
        return output.locator(REACHABLE)


class PlayerPart:
    """One player in the page."""

    def __init__(self, page: Any, root: Any) -> None:
        self.page, self.root = page, root

    def press(self, *keys: str) -> None:
        """Press keys with the focus on the player itself."""
        self.root.scroll_into_view_if_needed()
        self.root.focus()
        for key in keys:
            self.page.keyboard.press(key)

    @property
    def frame(self) -> int:
        return int(self.root.get_attribute("data-frame"))

    @property
    def caption(self) -> str:
        return str(self.root.locator(".agentlib-caption").first.inner_text())

    def figure(self, name: str, run: int = 0) -> str:
        row = self.root.locator(".agentlib-run").nth(run).locator("dl > div")
        return str(row.filter(has=self.page.get_by_text(name, exact=True)).locator("dd").inner_text())

    @property
    def line(self) -> str:
        return str(self.root.locator(".agentlib-code li[aria-current] .agentlib-source").inner_text())

    def rows(self, run: int = 0) -> list[str]:
        return list(self.root.locator(".agentlib-run").nth(run).locator("tbody tr").all_inner_texts())

    @property
    def slider(self) -> Any:
        """The max_steps slider above the player."""
        return self.output.get_by_role("slider", name="max_steps")

    @property
    def output(self) -> Any:
        """The output that the player stands in, with its slider."""
        return self.root.locator("xpath=ancestor::*[contains(@class, 'jp-OutputArea-output')][1]")

    def cut_off(self) -> list[str]:
        """What is hidden at its right end, or stands outside the player."""
        return list(self.root.evaluate(CUT_OFF))

    def focusable(self) -> Any:
        """Everything in the same output that the Tab key reaches."""
        return self.output.locator(REACHABLE)
