"""The command `lab` of `python -m agentlib`: opens the course in JupyterLab."""

import argparse
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from agentlib.course.originals import COURSE_DIR, course_folder

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

__all__ = ["add_lab"]

# JupyterLab reads settings from the folder "labconfig" of each folder named in JUPYTER_CONFIG_PATH.
# Ours turn off the question about news and show Markdown as a page; what a person has set still wins.
CONFIG_DIR = Path(__file__).resolve().parent / "jupyter_config"
FIRST_NOTEBOOK = "notebooks/00_start_here.ipynb"
HOST = "127.0.0.1"
# JupyterLab's short names for settings that we make ourselves.
SHORT_NAMES = {
    "--allow-root": "--ServerApp.allow_root",
    "--ip": "--ServerApp.ip",
    "--no-browser": "--ServerApp.open_browser",
    "--notebook-dir": "--ServerApp.root_dir",
    "--port": "--ServerApp.port",
    "--port-retries": "--ServerApp.port_retries",
    "-y": "--ServerApp.answer_yes",
}


def port_number(text: str) -> int:
    """A port to listen on, 1 to 65535; anything else raises `argparse.ArgumentTypeError`."""
    try:
        port = int(text)
    except ValueError:
        port = 0
    if not 1 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"a port is a whole number from 1 to 65535, not {text!r}")
    return port


def port_is_free(port: int) -> bool:
    """Whether a server could listen on this port of this computer now."""
    with socket.socket() as probe:
        if os.name == "posix":  # as JupyterLab's own server does: a port that was just left counts as free
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def browser_is_here(platform: str, environment: Mapping[str, str]) -> bool:
    """Whether a page can be shown: Windows and macOS always can, other systems need a screen or $BROWSER.

    Without a screen Python may still find a browser for the terminal, which would take the terminal over.
    """
    if platform in ("win32", "cygwin", "darwin"):
        return True
    return any(environment.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))


def lab_problem(
    course_dir: Path, port: int | None, *, jupyterlab_is_here: bool, port_free: bool
) -> str | None:
    """What keeps JupyterLab from starting, with what to do about it; None if nothing does."""
    if not (course_dir / FIRST_NOTEBOOK).is_file():
        return (
            f"There is no {FIRST_NOTEBOOK} in {course_dir}.\n"
            "The notebooks are not part of the installed package. Take a copy of the course's repository\n"
            "and in it run: python -m pip install -r requirements.txt"
        )
    if not jupyterlab_is_here:
        return (
            f"JupyterLab is not installed for {sys.executable}.\n"
            f"In {course_dir} run: {sys.executable} -m pip install -r requirements.txt"
        )
    if port is not None and not port_free:
        return f"Port {port} is in use. Choose another, or leave out --port and a free one is found."
    return None


def lab_command(
    course_dir: Path, port: int | None, extra: Sequence[str], *, is_root: bool, has_browser: bool
) -> list[str]:
    """The command line that starts JupyterLab on the course with the first notebook open.

    port: None lets JupyterLab find a free one. extra: passed on; what it sets is left out of our own
    settings, since JupyterLab takes each setting once.
    """
    settings = {
        "--ServerApp.root_dir": str(course_dir),
        "--LabApp.default_url": f"/lab/tree/{FIRST_NOTEBOOK}",
        "--ServerApp.answer_yes": "True",  # one Ctrl-C is enough
    }
    if port is not None:
        settings |= {"--ServerApp.port": str(port), "--ServerApp.port_retries": "0"}
    if is_root:
        settings |= {"--ServerApp.allow_root": "True", "--ServerApp.ip": HOST}
    if not has_browser:
        settings |= {"--ServerApp.open_browser": "False"}
    named = {SHORT_NAMES.get(name, name) for name in (word.split("=")[0] for word in extra)}
    ours = [f"{name}={value}" for name, value in settings.items() if name not in named]
    return [sys.executable, "-m", "jupyterlab", *ours, *extra]


def lab_notes(command: Sequence[str]) -> list[str]:
    """What a person should know before JupyterLab's own lines, read off the command line that starts it."""
    notes = []
    if "--ServerApp.allow_root=True" in command:
        where = f" and listens on {HOST} alone" if f"--ServerApp.ip={HOST}" in command else ""
        notes.append(f"You are root: JupyterLab is allowed to run as root{where}.")
    if "--ServerApp.open_browser=False" in command:
        notes.append("No browser found here: open the address that JupyterLab prints below.")
    return [*notes, "Ctrl-C in this window ends JupyterLab."]


def lab_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for JupyterLab: the given one, with the course's few settings put first."""
    path = [str(CONFIG_DIR), environment.get("JUPYTER_CONFIG_PATH", "")]
    return {**environment, "JUPYTER_CONFIG_PATH": os.pathsep.join(filter(None, path))}


def become(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the command in this process's place, so that signals and the exit code are its own.

    Windows cannot replace a process: there it runs beside this one, which waits for it.
    """
    if os.name == "posix":
        sys.stdout.flush()
        os.execve(command[0], list(command), dict(environment))
    with subprocess.Popen(command, env=dict(environment)) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:  # JupyterLab got the same Ctrl-C and is ending
                continue


def lab(arguments: argparse.Namespace) -> int:
    """Start JupyterLab on the course. Returns 1 if it cannot be started, else JupyterLab's own exit code."""
    folder = course_folder() or COURSE_DIR
    problem = lab_problem(
        folder,
        arguments.port,
        jupyterlab_is_here=find_spec("jupyterlab") is not None,
        port_free=arguments.port is None or port_is_free(arguments.port),
    )
    if problem:
        print(problem, file=sys.stderr)
        return 1
    command = lab_command(
        folder,
        arguments.port,
        arguments.extra,
        is_root=hasattr(os, "geteuid") and os.geteuid() == 0,
        has_browser=browser_is_here(sys.platform, os.environ),
    )
    print(*lab_notes(command), sep="\n")
    return become(command, lab_environment(os.environ))


def add_lab(commands: "Commands") -> None:
    """Add `lab` to the command line."""
    parser = commands.add_parser(
        "lab",
        help="open the course in JupyterLab",
        description="Open the course at its first notebook, in the JupyterLab that belongs to this Python.",
        epilog="Everything after -- is passed on to JupyterLab, for example: lab -- --no-browser",
    )
    parser.add_argument(
        "--port", type=port_number, help="the port to listen on (default: the first free one from 8888 on)"
    )
    parser.set_defaults(run=lab)
