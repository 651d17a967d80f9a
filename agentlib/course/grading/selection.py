"""Chooses how children are isolated: the safest backend that keeps its promises when tried."""

import hashlib
import os
import secrets
import socket
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentlib.course.errors import ChildEndedError, ProtocolError, SandboxError
from agentlib.course.grading.channel import Child
from agentlib.course.grading.limits import Limits
from agentlib.course.grading.sandbox import BACKENDS, PROMISES, Backend
from agentlib.course.grading.sandbox_root import SandboxRoot

__all__ = ["Selection", "banner", "choose_backend", "try_backend"]

# Runs in the child. Each line of the answer is something that the learner's code was able to do.
PROBE = """
import base64, csv, decimal, difflib, sqlite3  # loaded after the limits are taken on
import hashlib, os, socket, sys

def can_read(path):
    try:
        with open(path) as file:
            return bool(file.read(1))
    except OSError:
        return False

def is_same(path, digest):
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest() == digest
    except OSError:
        return False

def can_connect(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False

def can_signal(pid):
    try:
        os.kill(pid, 0)
        return True
    except OSError:
        return False

def forks(most):
    children = []
    reader, writer = os.pipe()
    try:
        while len(children) < most:
            pid = os.fork()
            if not pid:
                os.close(writer)
                os.read(reader, 1)  # waits for the end of the line, so that all are there at the same time
                os._exit(0)
            children.append(pid)
    except OSError:
        pass
    os.close(writer)
    for pid in children:
        os.waitpid(pid, 0)
    os.close(reader)
    return len(children)

def can_hold(size):
    try:
        return len(bytearray(size)) == size
    except MemoryError:
        return False

def can_write(size):
    import signal
    if hasattr(signal, "SIGXFSZ"):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with open("large", "wb") as file:
            file.truncate(size)
        return True
    except OSError:
        return False
    finally:
        if os.path.exists("large"):
            os.remove("large")

def can_fill(size, most):
    count = most // size + 1
    try:
        for number in range(count):
            with open(f"part{number}", "wb") as file:
                file.write(bytes(size))
        return True
    except OSError:
        return False
    finally:
        for number in range(count):
            if os.path.exists(f"part{number}"):
                os.remove(f"part{number}")

def probe(model, secret, users, port, pid, max_processes, max_memory, max_file, max_space):
    import agentlib
    from agentlib import run_agent
    return {
        "files": can_read(secret) or is_same("/etc/passwd", users),
        "network": can_connect(port),
        "processes": can_signal(pid),
        "forks": max_processes and forks(max_processes + 4),
        "memory": can_hold(max_memory),
        "disk": can_write(max_file),
        "space": max_space and can_fill(max_file // 2, max_space),
        "time": False,
        "asked": model([os.getcwd()]),
    }
"""

MIN_FORKS = 3
"""An honest submission may start so many processes; a backend on which it cannot is of no use."""


@dataclass(frozen=True)
class Selection:
    """The backend that was chosen. passed_over: for each safer one, its name and why it was not taken."""

    backend: Backend
    passed_over: tuple[tuple[str, str], ...]


def try_backend(backend: Backend, root: SandboxRoot, limits: Limits) -> str:
    """Try a backend with a program that reaches for what it must not. Gives what is wrong; "" = nothing."""
    missing = backend.available()
    if missing:
        return missing
    # A limit that holds at a low value holds at a high one too, and is sooner reached.
    limits = replace(
        limits,
        memory_mb=min(limits.memory_mb, 256),
        file_mb=min(limits.file_mb, 2),
        disk_mb=min(limits.disk_mb, 4),
    )
    secret = secrets.token_hex(8)
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as server:
        Path(folder, "secret").write_text(secret, encoding="ascii")
        arguments = {
            "secret": str(Path(folder, "secret")),
            "users": _digest(Path("/etc/passwd")),  # a container has one of its own
            "port": server.getsockname()[1],
            "pid": os.getpid(),
            "max_processes": limits.processes if "forks" in backend.keeps else 0,
            "max_memory": limits.memory_mb * 1_000_000,
            "max_file": limits.file_mb * 1_000_000 + 1,
            "max_space": limits.disk_mb * 1_000_000 if "space" in backend.keeps else 0,
        }
        try:
            did = _run_probe(backend, root, limits, arguments)
        except (ChildEndedError, ProtocolError, OSError) as problem:
            return f"did not run here ({problem})"
    if isinstance(did, str):
        return did
    forks = did.pop("forks")
    if "forks" in backend.keeps and not MIN_FORKS <= forks <= limits.processes:
        return f"does not keep its promise: {forks} processes could be started"
    broken = [PROMISES[name] for name in PROMISES if name in backend.keeps and did.get(name)]
    return f"does not keep its promise: {', '.join(broken)}" if broken else ""


def _digest(path: Path) -> str:
    """Name the content of a file that every user may read; "" where there is none."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _run_probe(
    backend: Backend, root: SandboxRoot, limits: Limits, arguments: dict[str, Any]
) -> dict[str, Any] | str:
    child = Child(backend, root, limits, time.monotonic() + limits.wall_seconds)
    try:
        ran = child.run_cells([{"number": 1, "source": PROBE}], ["probe"])
        if ran["problems"]:
            return f"did not run here ({ran['problems'][0]})"
        request = {"function": "probe", "args": [{"$call": "model"}], "kwargs": arguments}
        outcome = child.call(request, lambda name, args, kwargs: {"gave": "answer"}, limits.cell_seconds)
    finally:
        child.end()
    did = outcome.get("returned")
    if not isinstance(did, dict) or did.pop("asked", None) != "answer":
        return f"did not run here ({outcome.get('raised', outcome)})"
    return did


def choose_backend(
    root: SandboxRoot,
    limits: Limits,
    require: str | None = None,
    only: str | None = None,
    backends: Sequence[Backend] = BACKENDS,
    trial: Callable[[Backend, SandboxRoot, Limits], str] = try_backend,
) -> Selection:
    """Choose the safest backend that works here.

    require: the name of a backend; none below it is taken. only: the name of the one backend to take.
    Raises SandboxError if there is none, ValueError if a name is not known.
    """
    names = [backend.name for backend in backends]
    for name in (require, only):
        if name is not None and name not in names:
            raise ValueError(f'There is no isolation "{name}". There are: {", ".join(names)}.')
    if only and require and names.index(only) > names.index(require):
        raise SandboxError(f'"{only}" is weaker than "{require}", and at least that is required.')
    passed_over: list[tuple[str, str]] = []
    for backend in backends:
        if only is None or backend.name == only:
            wrong = (backend.by_name_alone() if only is None else "") or trial(backend, root, limits)
            if not wrong:
                return Selection(backend, tuple(passed_over))
            passed_over.append((backend.name, wrong))
        if backend.name == require:
            break
    reasons = "".join(f"\n  {name}: {why}" for name, why in passed_over)
    raise SandboxError(f"No isolation that is safe enough works here:{reasons}")


def banner(selection: Selection) -> str:
    """Say what protects this machine from what is graded, and what does not."""
    backend = selection.backend
    kept = [words for name, words in PROMISES.items() if name in backend.keeps]
    open_ = [words for name, words in PROMISES.items() if name not in backend.keeps]
    lines = [f"Isolation: {backend.name}: {', '.join(kept)}."]
    if open_:
        lines.append(f"NOT ensured on this machine: {', '.join(open_)}. Grade only people you trust.")
    lines += [f"  passed over: {name}, {why}" for name, why in selection.passed_over]
    return "\n".join(lines)
