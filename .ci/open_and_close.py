"""Run the command line that opens the course, look whether the course can be opened, and end it with Ctrl-C.

`python3 .ci/open_and_close.py "COMMAND LINE"`, in the folder of the course. Ends with code 1 and a reason if
JupyterLab does not answer, notebook 00 cannot be opened or run, or anything is left running afterwards.
"""

import json
import os
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path

NOTEBOOK = "notebooks/00_start_here.ipynb"
ADDRESS = re.compile(rf"(http://[\w.\[\]:-]+:(\d+)\S*?)/lab/tree/{re.escape(NOTEBOOK)}\?token=(\w+)")
MARK = "AGENTLIB_CI_MARK"  # every process that the command line starts inherits this variable
START_SECONDS = 900  # the line installs everything first
ANSWER_SECONDS = 60
END_SECONDS = 60


class Failure(Exception):
    """What was wanted and did not happen."""


class Server:
    """A JupyterLab at an address, asked with its token."""

    def __init__(self, address: str, port: int, token: str) -> None:
        self.address, self.port, self.token = address, port, token
        # The server is on this computer: no proxy of the environment is asked.
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def ask(self, path: str, data: Mapping[str, object] | None = None) -> bytes:
        """The body of the answer; raises `OSError` if there is none or its status is an error."""
        headers = {"Authorization": f"token {self.token}", "Content-Type": "application/json"}
        body = None if data is None else json.dumps(data).encode()
        request = urllib.request.Request(self.address + path, body, headers)
        with self.opener.open(request, timeout=ANSWER_SECONDS) as answer:
            content: bytes = answer.read()
        return content

    def wait(self) -> None:
        """Wait until the server answers: the address is printed a moment before."""
        end = time.monotonic() + ANSWER_SECONDS
        while True:
            try:
                self.ask("/api/status")
                return
            except OSError as error:
                if isinstance(error, urllib.error.HTTPError) or time.monotonic() > end:
                    raise Failure(f"JupyterLab does not answer at {self.address}: {error}") from error
                time.sleep(0.1)


def find_address(line: str) -> Server | None:
    """The server whose address with notebook 00 stands in a line of output, if one does."""
    found = ADDRESS.search(line)
    return Server(found[1], int(found[2]), found[3]) if found else None


def marked_processes(mark: str, proc: Path = Path("/proc")) -> list[int]:
    """The processes that inherited the mark, by number. Empty where there is no /proc."""
    found = []
    for environment in proc.glob("[0-9]*/environ"):
        try:
            words = environment.read_bytes().split(b"\0")
            zombie = ") Z " in (environment.parent / "stat").read_text()
        except OSError:  # ended meanwhile
            continue
        if f"{MARK}={mark}".encode() in words and not zombie:
            found.append(int(environment.parent.name))
    return found


def port_is_free(port: int) -> bool:
    """Whether nothing listens on this port of this computer."""
    with socket.socket() as probe:
        probe.settimeout(5)
        return probe.connect_ex(("127.0.0.1", port)) != 0


def pass_on(output: Iterable[str], lines: "queue.Queue[str | None]") -> None:
    """Print what the command line prints, and put it in the queue; None at its end."""
    for line in output:
        print("   ", line, end="", flush=True)
        lines.put(line)
    lines.put(None)


def wait_for_address(process: "subprocess.Popen[str]", lines: "queue.Queue[str | None]") -> Server:
    """The server whose address comes out of the command line."""
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            line = lines.get(timeout=max(0.0, end - time.monotonic()))
        except queue.Empty:
            raise Failure(f"no address came within {START_SECONDS} seconds") from None
        if line is None:
            raise Failure(f"the command line ended with code {process.wait()} before it printed an address")
        if server := find_address(line):
            return server


def look(server: Server) -> None:
    """Open the page of notebook 00, read the notebook, and start its kernel, as a browser would."""
    server.wait()
    page = server.ask(f"/lab/tree/{NOTEBOOK}").decode()
    if "jupyter-config-data" not in page:
        raise Failure("the page of notebook 00 is not JupyterLab's")
    notebook = json.loads(server.ask(f"/api/contents/{NOTEBOOK}"))
    if notebook["type"] != "notebook" or not notebook["content"]["cells"]:
        raise Failure("notebook 00 is empty or not a notebook")
    session = {"path": NOTEBOOK, "type": "notebook", "name": "", "kernel": {"name": "python3"}}
    server.ask("/api/sessions", session)
    settings = json.loads(server.ask("/lab/api/settings/@jupyterlab/apputils-extension:notification"))
    if settings["schema"]["properties"]["fetchNews"]["default"] != "false":
        raise Failure("JupyterLab would ask about news")
    print(f"notebook 00 opens at {server.address}, and its kernel starts")


def close(process: "subprocess.Popen[str]", server: Server, mark: str, end_seconds: float) -> None:
    """Press Ctrl-C: a terminal sends it to the whole group of the command line. Then nothing may be left."""
    os.killpg(process.pid, signal.SIGINT)
    try:
        code = process.wait(end_seconds)
    except subprocess.TimeoutExpired:
        raise Failure(f"JupyterLab did not end within {end_seconds} seconds of Ctrl-C") from None
    if code != 0:
        raise Failure(f"after Ctrl-C the command line ended with code {code}, not 0")
    end = time.monotonic() + end_seconds
    while left := marked_processes(mark):  # a kernel may take a moment longer
        if time.monotonic() > end:
            raise Failure(f"still running after the end: processes {left}")
        time.sleep(0.2)
    if not port_is_free(server.port):
        raise Failure(f"port {server.port} is still in use")
    print(f"Ctrl-C ended it with code 0; port {server.port} is free; no process is left")


def open_and_close(line: str, end_seconds: float = END_SECONDS) -> None:
    """Run the command line through its whole life. Raises `Failure` if a part of it goes wrong.

    end_seconds: how long it may take to end after Ctrl-C, and then what it started.
    """
    mark = uuid.uuid4().hex
    # No browser, so that none opens and the address is printed.
    hidden = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    process = subprocess.Popen(
        ["bash", "-c", line],
        env={**environment, MARK: mark},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # a group of its own, as a terminal gives it
    )
    assert process.stdout is not None
    lines: queue.Queue[str | None] = queue.Queue()
    reader = threading.Thread(target=pass_on, args=(process.stdout, lines), daemon=True)
    reader.start()
    try:
        server = wait_for_address(process, lines)
        look(server)
        close(process, server, mark, end_seconds)
    finally:
        for number in marked_processes(mark):  # only after a failure is anything left here
            os.kill(number, signal.SIGKILL)
        if process.poll() is None:
            process.kill()
            process.wait()
        reader.join(end_seconds)
        if not reader.is_alive():
            process.stdout.close()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit('usage: open_and_close.py "COMMAND LINE"')
    try:
        open_and_close(sys.argv[1])
    except (Failure, OSError) as error:
        sys.exit(f"open_and_close: {error}")
