"""A class on a hub on this computer: what a learner waits for and takes, and whether a crash loses anything.

Everybody logs in at once, pulls the handout, runs lesson 02, solves ex01, checks it and stops; in the middle
the hub is killed and started again. Needs the extra `hub` and npm's proxy, and talks to 127.0.0.1 alone:

    npm install --prefix FOLDER configurable-http-proxy@5.3.0
    CHP=FOLDER/node_modules/.bin/configurable-http-proxy LEARNERS=20 pytest -n 0 tests/bench/bench_hub.py
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import psutil
import pytest
import requests

from agentlib.course.hub.handout import make_handout

LEARNERS = int(os.environ.get("LEARNERS", "20"))
CHP = os.environ.get("CHP") or shutil.which("configurable-http-proxy")
ROOT = Path(__file__).parents[2]
HOST = "127.0.0.1"
TOKEN = uuid.uuid4().hex
LESSON = "course/notebooks/02_blue_mugs.ipynb"
EXERCISE = "course/exercises/ex01_write_the_loop.ipynb"
WAIT_SECONDS = 400
GOAL_SECONDS = 60
"""The middle one of the learners runs a first cell after so long; reported."""

CONFIG = """
c = get_config()
c.JupyterHub.bind_url = "http://{host}:{port}"
c.JupyterHub.hub_bind_url = "http://{host}:{hub_port}"
c.ConfigurableHTTPProxy.api_url = "http://{host}:{api_port}"
c.ConfigurableHTTPProxy.should_start = False
c.JupyterHub.db_url = "sqlite:///{folder}/hub.sqlite"
c.JupyterHub.cookie_secret_file = "{folder}/cookie_secret"
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = "{folder}/home/{{username}}"
c.Spawner.cmd = [{python!r}, "-m", "jupyterhub.singleuser"]
c.Spawner.args = ["--allow-root"]
c.Spawner.environment = {{"PYTHONPATH": {root!r}}}
c.Spawner.start_timeout = 300
c.Spawner.http_timeout = 300
c.JupyterHub.concurrent_spawn_limit = 64
c.JupyterHub.services = [{{"name": "test", "api_token": {token!r}}}]
scopes = ["admin:users", "admin:servers", "tokens", "access:servers"]
c.JupyterHub.load_roles = [{{"name": "test", "services": ["test"], "scopes": scopes}}]
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


class Hub:
    """A hub and its proxy, which goes on while the hub is away, as it does on z2jh and TLJH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port, hub_port, api_port = (free_port() for _ in range(3))
        self.address = f"http://{HOST}:{self.port}"
        values = {
            "host": HOST, "port": self.port, "hub_port": hub_port, "api_port": api_port, "folder": folder,
            "python": sys.executable, "root": str(ROOT), "token": TOKEN,
        }  # fmt: skip
        (folder / "config.py").write_text(CONFIG.format(**values))
        (folder / "home").mkdir()
        self.environment = {
            **os.environ,
            "CONFIGPROXY_AUTH_TOKEN": uuid.uuid4().hex,
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        }
        self.log = (folder / "hub.log").open("w")
        ports = [
            f"--port={self.port}",
            f"--api-port={api_port}",
            f"--default-target=http://{HOST}:{hub_port}",
        ]
        self.proxy = self._start([CHP, f"--ip={HOST}", f"--api-ip={HOST}", *ports])
        self.process = self.start()

    def _start(self, command: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment,
            stdout=self.log,
            stderr=self.log,
            start_new_session=True,
        )

    def start(self) -> subprocess.Popen[bytes]:
        self.process = self._start([sys.executable, "-m", "jupyterhub", "-f", "config.py"])
        wait_until(lambda: self.ask("GET", "").ok, 120)
        return self.process

    def ask(self, method: str, path: str, **more: object) -> requests.Response:
        headers = {"Authorization": f"token {TOKEN}"}
        return requests.request(method, f"{self.address}/hub/api/{path}", headers=headers, timeout=60, **more)

    def processes(self) -> list[psutil.Process]:
        """The servers and kernels of all learners; they outlive a hub that is killed."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("HOME", "").startswith(f"{self.folder}/home/"):
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=60)
        self.proxy.terminate()
        self.proxy.wait(timeout=60)
        for process in self.processes():
            process.kill()
        self.log.close()


def wait_until(ready: Callable[[], object], seconds: float = WAIT_SECONDS) -> None:
    """Wait for something that may also fail while the hub is away."""
    end = time.monotonic() + seconds
    while True:
        try:
            if ready():
                return
        except requests.RequestException:
            pass
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.5)


@dataclass
class Learner:
    """One learner, as their browser would act. times: seconds since they logged in."""

    hub: Hub
    name: str
    times: dict[str, float] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    def run(self, first_cells: threading.Semaphore, measured: threading.Event) -> None:
        self.began = time.monotonic()
        wait_until(self.log_in)
        wait_until(self.is_started)
        self.told("server")
        made = self.hub.ask("POST", f"users/{self.name}/tokens", json={})
        self.headers = {"Authorization": f"token {made.json()['token']}"}
        pulled = self.ask("GET", "git-pull/api", params=self.repository())
        assert '"phase": "finished"' in pulled.text, pulled.text[-500:]
        self.told("pulled")
        self.run_notebook(LESSON, lambda: (self.told("first cell"), first_cells.release()))
        self.told("lesson")
        self.write_solution()
        said = self.run_notebook(EXERCISE)
        assert "10 of 10" in said, said[-500:]
        self.told("checked")
        measured.wait(WAIT_SECONDS)
        wait_until(lambda: self.hub.ask("DELETE", f"users/{self.name}/server").status_code in (202, 204))

    def told(self, what: str) -> None:
        self.times[what] = time.monotonic() - self.began

    def log_in(self) -> bool:
        """By the form of the page, as everybody does; then the server starts."""
        browser = requests.Session()
        browser.get(f"{self.hub.address}/hub/login", timeout=60)
        form = {"username": self.name, "password": "", "_xsrf": browser.cookies.get("_xsrf", "")}
        page = browser.post(
            f"{self.hub.address}/hub/login", data=form, timeout=60, params={"next": "/hub/spawn"}
        )
        return page.ok and "login" not in page.url

    def is_started(self) -> bool:
        user = self.hub.ask("GET", f"users/{self.name}").json()
        server = user["servers"].get("", {})
        if not server.get("ready") and not server.get("pending"):  # its start went down with the hub
            self.hub.ask("POST", f"users/{self.name}/server")
        return bool(server.get("ready"))

    def repository(self) -> dict[str, str]:
        return {"repo": f"file://{self.hub.folder}/up.git", "branch": "main", "targetpath": "course"}

    def ask(self, method: str, path: str, **more: object) -> requests.Response:
        address = f"{self.hub.address}/user/{self.name}/{path}"
        done = requests.request(method, address, headers=self.headers, timeout=WAIT_SECONDS, **more)
        assert done.ok, f"{method} {path}: {done.status_code} {done.text[:300]}"
        return done

    def write_solution(self) -> None:
        notebook = self.ask("GET", f"api/contents/{EXERCISE}").json()["content"]
        solution = json.loads((ROOT / "solutions" / Path(EXERCISE).name).read_bytes())
        (code,) = ("".join(one["source"]) for one in solution["cells"] if one["id"] == "ex01-solution")
        for cell in notebook["cells"]:
            if cell["id"] == "ex01-solution":
                cell["source"] = f"# by {self.name}\n{code}"
        self.ask("PUT", f"api/contents/{EXERCISE}", json={"type": "notebook", "content": notebook})

    def run_notebook(self, path: str, after_first: Callable[[], object] = lambda: None) -> str:
        """Run all cells in a kernel of the notebook's own, and save it. Gives all that was said."""
        import websocket  # noqa: PLC0415  comes with JupyterLab

        body = {"path": path, "type": "notebook", "name": "", "kernel": {"name": "python3"}}
        kernel = self.ask("POST", "api/sessions", json=body).json()["kernel"]["id"]
        address = f"ws://{HOST}:{self.hub.port}/user/{self.name}/api/kernels/{kernel}/channels"
        channel = websocket.create_connection(address, header=self.headers, timeout=WAIT_SECONDS)
        notebook = self.ask("GET", f"api/contents/{path}").json()["content"]
        said = []
        for number, cell in enumerate(one for one in notebook["cells"] if one["cell_type"] == "code"):
            said += self.run_cell(channel, cell["source"])
            cell["metadata"]["run_by"] = self.name
            if number == 0:
                after_first()
        channel.close()
        self.ask("PUT", f"api/contents/{path}", json={"type": "notebook", "content": notebook})
        return "\n".join(said)

    def run_cell(self, channel: object, code: str) -> list[str]:
        name = uuid.uuid4().hex
        header = {
            "msg_id": name,
            "msg_type": "execute_request",
            "username": self.name,
            "session": "s",
            "version": "5.3",
        }
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "allow_stdin": False,
            "stop_on_error": False,
        }
        message = {"header": {**header, "date": ""}, "parent_header": {}, "metadata": {}, "content": content}
        channel.send(json.dumps({**message, "channel": "shell", "buffers": []}))
        said, waiting = [], {"execute_reply", "idle"}
        while waiting:
            came = channel.recv()
            if isinstance(came, bytes):  # a widget's own data
                continue
            reply = json.loads(came)
            if reply["parent_header"].get("msg_id") != name:
                continue
            content = reply["content"]
            waiting -= {reply["msg_type"], content.get("execution_state", "")}
            said.append(content.get("data", {}).get("text/plain", ""))
            if reply["msg_type"] == "error":
                self.errors.append(f"{content['ename']}: {content['evalue']}")
        return said


@pytest.fixture
def hub(tmp_path):
    if find_spec("jupyterhub") is None or find_spec("nbgitpuller") is None:
        pytest.skip('no JupyterHub with nbgitpuller here: pip install -e ".[hub]"')
    if CHP is None:
        pytest.skip(
            "no configurable-http-proxy here: npm install configurable-http-proxy, and CHP=/path/to/it"
        )
    if not Path("/proc/self/smaps_rollup").exists():
        pytest.skip("what memory processes share is told by Linux alone")
    (tmp_path / "a.whl").write_bytes(b"")  # the course is installed on a hub
    make_handout(tmp_path / "handout", build=lambda *_: tmp_path / "a.whl")
    command = ["git", "clone", "-q", "--bare", str(tmp_path / "handout"), str(tmp_path / "up.git")]
    subprocess.run(command, check=True)
    running = Hub(tmp_path)
    yield running
    running.end()


def proportional_mb(process: psutil.Process) -> float:
    """Memory in MB, what several share counted in equal parts."""
    lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def is_kernel(process: psutil.Process) -> bool:
    return "ipykernel_launcher" in process.cmdline()


def spread(numbers: list[float]) -> str:
    return f"{min(numbers):.0f} / {median(numbers):.0f} / {max(numbers):.0f}"


def test_a_class_logs_in_works_and_loses_nothing_when_the_hub_is_killed(hub, record_property):
    learners = [Learner(hub, f"learner{number:02}") for number in range(LEARNERS)]
    first_cells, measured = threading.Semaphore(0), threading.Event()
    with ThreadPoolExecutor(LEARNERS) as class_room:
        work = [class_room.submit(learner.run, first_cells, measured) for learner in learners]
        try:
            for _ in range((LEARNERS + 1) // 2):
                wait_until(lambda: first_cells.acquire(blocking=False) or any(done.done() for done in work))
            hub.process.kill()
            hub.process.wait()
            killed = time.monotonic()
            hub.start()
            away = time.monotonic() - killed
            wait_until(
                lambda: all(
                    "checked" in one.times or done.done() for one, done in zip(learners, work, strict=True)
                )
            )
            processes = hub.processes()
            memory = {is_kernel(one): [] for one in processes}
            for one in processes:
                memory[is_kernel(one)].append(proportional_mb(one))
            seconds = sum(sum(one.cpu_times()[:2]) for one in processes) / LEARNERS
        finally:
            measured.set()
    for done in work:
        done.result()
    assert [
        error for learner in learners for error in learner.errors if "NotImplementedError" not in error
    ] == []
    for learner in learners:  # on the disk, as the next lesson finds it
        home = hub.folder / "home" / learner.name
        assert f"# by {learner.name}" in (home / EXERCISE).read_text(encoding="utf-8")
        assert f'"run_by": "{learner.name}"' in (home / LESSON).read_text(encoding="utf-8")
        kept = "".join(path.read_text() for path in (home / ".local/share/agentlib").rglob("*.json"))
        assert '"best": 10' in kept
    each = sum(map(sum, memory.values())) / LEARNERS
    sizes = f"{median(memory[False]):.0f} / {median(memory[True]):.0f} / {each:.0f}"
    rows = [
        ("seconds to the server, least / middle / most", spread([one.times["server"] for one in learners])),
        ("seconds to the handout", spread([one.times["pulled"] for one in learners])),
        ("seconds to the first cell", spread([one.times["first cell"] for one in learners])),
        ("seconds to the end of lesson 02", spread([one.times["lesson"] for one in learners])),
        ("seconds to the report of ex01", spread([one.times["checked"] for one in learners])),
        ("MB a server / a kernel / a learner, two notebooks open", sizes),
        ("CPU seconds a learner in all", f"{seconds:.1f}"),
        ("seconds without a hub", f"{away:.1f}"),
    ]  # fmt: skip
    for what, figure in rows:
        print(what, figure)
        goal = f"middle at most {GOAL_SECONDS}" if "first" in what else ""
        record_property("row", [f"{LEARNERS} learners: {what}", figure, "", "", goal])
