"""What a submission may use up while it is graded."""

from dataclasses import dataclass, field
from typing import Any

__all__ = ["SPARE_MB", "Limits"]

SPARE_MB = 64
"""Memory of all processes together may be so much over the limit of one: a sandbox has its own, too."""


def _limit(default: float | None, meaning: str) -> Any:
    return field(default=default, metadata={"meaning": meaning})


@dataclass(frozen=True)
class Limits:
    """Limits for one submission; every one can be set. `grade --help` shows their meanings.

    The unit is in the name; a megabyte has 1,000,000 bytes. call_seconds: None = what the exercise gives.
    """

    memory_mb: int = _limit(512, "of one process and, but for a small rest, of all")
    processes: int = _limit(16, "processes and threads")
    cpu_seconds: int = _limit(30, "computing time of one process")
    wall_seconds: float = _limit(90.0, "time for everything")
    read_seconds: float = _limit(10.0, "time to read the notebook, before anything of it runs")
    cell_seconds: float = _limit(10.0, "time for one cell")
    call_seconds: float | None = _limit(None, "one call (- = what the exercise gives: 5, in ex09 30)")
    grace_seconds: float = _limit(1.0, "time to end after being told to")
    output_bytes: int = _limit(1_000_000, "printed text that is kept; the rest is dropped")
    message_bytes: int = _limit(1_000_000, "the longest message between grader and code")
    messages: int = _limit(10_000, "the most messages that one call may send")
    log_mb: int = _limit(128, "the grader's memory for all messages together")
    file_mb: int = _limit(16, "the largest file")
    disk_mb: int = _limit(64, "all files together, where the isolation bounds them")
    open_files: int = _limit(64, "files open at a time")
    restarts: int = _limit(5, "how often a process that ended is started anew")
    notebook_mb: int = _limit(50, "larger notebooks are not read")
