"""A control group for each child, where the grader may make one: Linux then holds its memory, all together.

A look at each process from time to time, which is all there is elsewhere, comes too late for many that take
memory at once.
"""

import contextlib
import os
import re
import secrets
import time
from pathlib import Path

from agentlib.course.grading.processes import is_running

__all__ = ["enclose", "remove_cgroup", "remove_old_cgroups"]

ROOT = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")
NAME = re.compile(r"agentlib_(\d+)_\w+")
TIMES = 50
"""A group goes when its last process has been cleared away, and is tried to be removed so often."""


def places(root: Path = ROOT, own: Path = OWN) -> list[tuple[Path, str]]:
    """List where a group may be made, each with the name of the file that takes its limit.

    root: where groups are. own: the file that says which ones this process is in.
    Version 1: in our own one. Version 2: beside it, since one that has processes has no groups with limits.
    """
    try:
        lines = [line.split(":", 2) for line in own.read_text(encoding="utf-8").splitlines()]
    except OSError:
        return []
    found = []
    for _, kinds, path in lines:
        if kinds == "memory":
            found.append((root / "memory" / path.lstrip("/"), "memory.limit_in_bytes"))
        elif not kinds:
            found.append(((root / path.lstrip("/")).parent if path != "/" else root, "memory.max"))
    return found


def enclose(pid: int, memory_bytes: int, root: Path = ROOT, own: Path = OWN) -> Path | None:
    """Put a process, and all that it will start, into a group of its own; None where that cannot be done."""
    for place, limit in places(root, own):
        folder = place / f"agentlib_{os.getpid()}_{secrets.token_hex(4)}"
        try:
            folder.mkdir()
            (folder / limit).write_text(str(memory_bytes))
            (folder / "cgroup.procs").write_text(str(pid))
            return folder
        except OSError:
            with contextlib.suppress(OSError):
                folder.rmdir()
    return None


def remove_cgroup(folder: Path) -> None:
    """Remove a group whose processes have ended."""
    for _ in range(TIMES):
        try:
            folder.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.002)


def remove_old_cgroups(root: Path = ROOT, own: Path = OWN) -> None:
    """Remove the groups of graders that have ended."""
    for place, _ in places(root, own):
        for path in place.glob("agentlib_*"):
            named = NAME.fullmatch(path.name)
            if named and not is_running(int(named[1])):
                with contextlib.suppress(OSError):
                    path.rmdir()
