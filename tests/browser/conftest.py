"""A real JupyterLab and a real browser for the tests in this folder: one of each for all of them.

They need Playwright for Python and Debian's Chromium: `pip install playwright`, `apt-get install chromium`.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest

from agentlib.course.site.serve import make_server
from tests.browser.lab import Lab
from tests.browser.site import SITE

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
# Headless, without a sandbox (containers have none), and without the browser's own calls to the network.
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
HOW_TO_GET_IT = "pip install playwright, apt-get install chromium (or CHROMIUM=/path/to/it)"

LOOP = Path(__file__).with_name("loop.py").read_text(encoding="utf-8")
CELLS = {
    "setup": f"from agentlib.labs import blue_mugs\nfrom agentlib.views import tracer\n\n{LOOP}",
    "live": "tracer(run_agent, blue_mugs.model, blue_mugs.TOOLS, blue_mugs.GOAL)",
    "three": (
        "from agentlib import run_agent as ours\nfrom agentlib.models import LoopingModel\n"
        "A = ours(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL)\n"
        "B = ours(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL, max_steps=2)\n"
        'C = ours(LoopingModel("stock_level", warehouse="north"), blue_mugs.TOOLS, "goal", max_steps=6)\n'
        'tracer({"A": A, "B": B, "C": C})'
    ),
    "predict": "tracer(B, predict=True)",
    "moving": (
        "from agentlib.views import moving\n"
        "moving(lambda steps: {'in all': [n * n for n in range(1, steps + 1)]},\n"
        "       lambda steps: f'{steps} calls cost {steps * steps} coins.',\n"
        "       title='Coins', up='coins', steps=(1, 20, 4))"
    ),
    "quiz": 'from agentlib.views import quiz\nquiz("02_blue_mugs")',
    "final": "from agentlib.course import final_test\nfinal_test(7)",
    "harm": (
        "from agentlib import answer, ask\nfrom agentlib.models import ScriptedModel\n"
        'harm = "<img src=x onerror=\\"document.title=1\\"><script>document.title=1</script>"\n'
        "model = ScriptedModel([ask('t', x=harm * 20), answer(harm)])\n"
        "tracer(ours(model, {'t': lambda x: x}, harm))"
    ),
    "slow": (
        'import time\nslow = tracer(A)\nslow.live.player.observe(lambda change: time.sleep(1), "frame")\nslow'
    ),
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def notebook_of(cells: Iterable[str]) -> nbformat.NotebookNode:
    """A notebook with a title and these cells of code."""
    code = [nbformat.v4.new_code_cell(source) for source in cells]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Tracer"), *code])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return notebook


@contextmanager
def served(program: str, home: Path) -> Iterator[str]:
    """The address of a JupyterLab or Notebook on home's folder `notebooks`, with settings of its own."""
    settings = home / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text(json.dumps({"fetchNews": "false"}))
    port = free_port()
    environment = {
        **os.environ,
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "AGENTLIB_DATA_DIR": str(home / "answers"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
    }
    command = [
        sys.executable, "-m", program, "--no-browser", "--allow-root", "--ip=127.0.0.1",
        f"--port={port}", "--ServerApp.port_retries=0", "--IdentityProvider.token=",
        f"--ServerApp.root_dir={home / 'notebooks'}",
    ]  # fmt: skip
    log = home / "lab.log"
    with log.open("w") as output:
        server = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            if server.poll() is not None:
                break
            try:
                urllib.request.urlopen(f"{address}/api/status", timeout=5).close()
            except OSError:
                time.sleep(0.25)
            else:
                break
        assert server.poll() is None, f"{program} did not start:\n{log.read_text()[-3000:]}"
        yield address
    finally:
        server.terminate()
        server.wait(timeout=30)


@pytest.fixture(scope="session")
def lab_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a JupyterLab on a folder with one notebook."""
    home = tmp_path_factory.mktemp("lab")
    (home / "notebooks").mkdir()
    nbformat.write(notebook_of(CELLS.values()), home / "notebooks" / "tracer.ipynb")
    with served("jupyterlab", home) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    """One Chromium for all tests."""
    playwright = pytest.importorskip("playwright.sync_api", reason=f"no Playwright here: {HOW_TO_GET_IT}")
    if CHROMIUM is None:
        pytest.skip(f"no Chromium here: {HOW_TO_GET_IT}")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield running
        running.close()


@pytest.fixture(scope="session")
def lab(browser: object, lab_address: str) -> Lab:
    """JupyterLab with the notebook of the tracer open and run."""
    page = Lab(browser, lab_address)
    page.open("tracer.ipynb")
    try:
        page.run_all()
    except Exception:
        if os.environ.get("SCREENSHOTS"):
            page.page.screenshot(path=Path(os.environ["SCREENSHOTS"]) / "not-run.png")
        raise
    return page


@pytest.fixture(autouse=True)
def quiet_console(request: pytest.FixtureRequest) -> Iterator[None]:
    """No test leaves an error on the browser's console."""
    yield
    if "lab" in request.fixturenames:
        page = request.getfixturevalue("lab")
        ours = [line for line in page.console if not re.search("favicon|404", line)]
        page.console.clear()
        assert ours == []


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """The address of the built site, shown on loopback."""
    server = make_server(Path(str(SITE)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
