"""Looks at processes and ends them, also those that a learner's code has started beside its own."""

import contextlib
import time
from pathlib import Path

import psutil

__all__ = ["is_running", "kill_below", "kill_user", "longest_wait_seconds", "memory_bytes"]

ENDED = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
"""Ended, but nobody has asked for its end: not all systems do soon."""

END_SECONDS = 1.0
"""A process that was killed is waited for so long before it is looked for again."""

TIMES = 100
"""What goes on starting processes is looked for so often."""


def is_running(pid: int) -> bool:
    """Whether a process of this number has not ended."""
    try:
        return psutil.Process(pid).status() not in ENDED
    except psutil.NoSuchProcess:
        return False


def below(pid: int) -> list[psutil.Process]:
    """List the processes below another that have not ended, those of children too; the deepest come first."""
    try:
        found = psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    return [process for process in reversed(found) if is_running(process.pid)]


def kill_below(pid: int) -> float:
    """End every process below another, also those that have left its group, until none is left.

    Gives the seconds of computing time that all of them had used, with those that ended before.
    """
    used = cpu_seconds(pid)
    for _ in range(TIMES):
        found = below(pid)
        if not found:
            break
        used += sum(cpu_seconds(process.pid) for process in found)
        _kill(found)
    return used


def cpu_seconds(pid: int) -> float:
    """Give the computing time of a process and of its children that have ended."""
    try:
        return sum(psutil.Process(pid).cpu_times()[:4])
    except psutil.Error:
        return 0.0


def kill_user(user: int) -> None:
    """End every process of a user who exists for one child only, until none is left."""
    for _ in range(TIMES):
        found = [
            process
            for process in psutil.process_iter(["uids", "status"])
            if user in (process.info["uids"] or ()) and process.info["status"] not in ENDED
        ]
        if not found:
            return
        _kill(found)


def _kill(processes: list[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.kill()
    until = time.monotonic() + END_SECONDS
    while any(is_running(process.pid) for process in processes) and time.monotonic() < until:
        time.sleep(0.001)


def longest_wait_seconds(pid: int) -> float:
    """Give how long a process, or one below it, was ready to run while others had the processor; the longest.

    0.0 where the system does not count it.
    """
    waited = 0.0
    with contextlib.suppress(psutil.Error, OSError, ValueError, IndexError):  # it has ended meanwhile
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            waited = max(waited, int(Path(f"/proc/{one.pid}/schedstat").read_bytes().split()[1]) / 1e9)
    return waited


def memory_bytes(pid: int) -> int:
    """Add up the memory of a process and of all below it; what they share counts for each."""
    used = 0
    with contextlib.suppress(psutil.Error):  # it has ended meanwhile
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            used += one.memory_info().rss
    return used
