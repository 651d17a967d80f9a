"""Chooses how children are isolated: the first rung of the ladder that keeps its promises when tried."""

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

from agentlib.course.grading.channel import Child, ChildEndedError, ProtocolError
from agentlib.course.grading.limits import Limits
from agentlib.course.grading.sandbox import PROMISES, RUNGS, Rung
from agentlib.course.grading.sandbox_root import Home

__all__ = ["Choice", "SandboxError", "banner", "choose_rung", "try_rung"]

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

def probe(model, secret, users, port, pid, most_processes, most_memory, most_file, most_space):
    import agentlib
    from agentlib import run_agent
    return {
        "files": can_read(secret) or is_same("/etc/passwd", users),
        "network": can_connect(port),
        "processes": can_signal(pid),
        "forks": most_processes and forks(most_processes + 4),
        "memory": can_hold(most_memory),
        "disk": can_write(most_file),
        "space": most_space and can_fill(most_file // 2, most_space),
        "time": False,
        "asked": model([os.getcwd()]),
    }
"""

LEAST_FORKS = 3
"""An honest submission may start so many processes; a rung on which it cannot is of no use."""


class SandboxError(Exception):
    """No rung keeps what it promises, or none that is safe enough."""


@dataclass(frozen=True)
class Choice:
    """The rung that was chosen. passed_over: for each safer one, its name and why it was not taken."""

    rung: Rung
    passed_over: tuple[tuple[str, str], ...]


def try_rung(rung: Rung, home: Home, limits: Limits) -> str:
    """Try a rung with a program that reaches for what it must not. Gives what is wrong, "" if nothing is."""
    missing = rung.available()
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
            "most_processes": limits.processes if "forks" in rung.keeps else 0,
            "most_memory": limits.memory_mb * 1_000_000,
            "most_file": limits.file_mb * 1_000_000 + 1,
            "most_space": limits.disk_mb * 1_000_000 if "space" in rung.keeps else 0,
        }
        try:
            did = _probe(rung, home, limits, arguments)
        except (ChildEndedError, ProtocolError, OSError) as problem:
            return f"did not run here ({problem})"
    if isinstance(did, str):
        return did
    forks = did.pop("forks")
    if "forks" in rung.keeps and not LEAST_FORKS <= forks <= limits.processes:
        return f"does not keep its promise: {forks} processes could be started"
    broken = [PROMISES[name] for name in PROMISES if name in rung.keeps and did.get(name)]
    return f"does not keep its promise: {', '.join(broken)}" if broken else ""


def _digest(path: Path) -> str:
    """Name the content of a file that every user may read; "" where there is none."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _probe(rung: Rung, home: Home, limits: Limits, arguments: dict[str, Any]) -> dict[str, Any] | str:
    child = Child(rung, home, limits, time.monotonic() + limits.wall_seconds)
    try:
        ran = child.ask(
            {
                "do": "cells",
                "cells": [{"number": 1, "source": PROBE}],
                "functions": ["probe"],
                "seconds": limits.cell_seconds,
            },
            limits.cell_seconds + limits.grace_seconds,
        )
        if ran["problems"]:
            return f"did not run here ({ran['problems'][0]})"
        request = {"function": "probe", "args": [{"$call": "model"}], "kwargs": arguments}
        outcome = child.ask(
            {"do": "call", "request": request, "seconds": limits.cell_seconds},
            limits.cell_seconds + limits.grace_seconds,
            lambda name, args, kwargs: {"gave": "answer"},
        )
    finally:
        child.end()
    did = outcome.get("returned")
    if not isinstance(did, dict) or did.pop("asked", None) != "answer":
        return f"did not run here ({outcome.get('raised', outcome)})"
    return did


def choose_rung(
    home: Home,
    limits: Limits,
    require: str | None = None,
    only: str | None = None,
    rungs: Sequence[Rung] = RUNGS,
    trial: Callable[[Rung, Home, Limits], str] = try_rung,
) -> Choice:
    """Choose the safest rung that works here.

    require: the name of a rung; none below it is taken. only: the name of the one rung to take.
    Raises SandboxError if there is none, ValueError if a name is not known.
    """
    names = [rung.name for rung in rungs]
    for name in (require, only):
        if name is not None and name not in names:
            raise ValueError(f'There is no isolation "{name}". There are: {", ".join(names)}.')
    if only and require and names.index(only) > names.index(require):
        raise SandboxError(f'"{only}" is weaker than "{require}", and at least that is required.')
    passed_over: list[tuple[str, str]] = []
    for rung in rungs:
        if only is None or rung.name == only:
            wrong = trial(rung, home, limits)
            if not wrong:
                return Choice(rung, tuple(passed_over))
            passed_over.append((rung.name, wrong))
        if rung.name == require:
            break
    reasons = "".join(f"\n  {name}: {why}" for name, why in passed_over)
    raise SandboxError(f"No isolation that is safe enough works here:{reasons}")


def banner(choice: Choice) -> str:
    """Say what protects this machine from what is graded, and what does not."""
    rung = choice.rung
    kept = [words for name, words in PROMISES.items() if name in rung.keeps]
    open_ = [words for name, words in PROMISES.items() if name not in rung.keeps]
    lines = [f"Isolation: {rung.name}: {', '.join(kept)}."]
    if open_:
        lines.append(f"NOT ensured on this machine: {', '.join(open_)}. Grade only people you trust.")
    lines += [f"  passed over: {name}, {why}" for name, why in choice.passed_over]
    return "\n".join(lines)
