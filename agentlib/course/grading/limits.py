"""What a submission may use up while it is graded."""

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """Limits for one submission; every one can be set.

    memory_mb: of one process and, except for a small rest, of all together (megabytes of 1,000,000 bytes).
    processes: processes and threads. cpu_seconds: computing time of one process.
    wall_seconds: time for everything. cell_seconds: time for one cell.
    call_seconds: the most for one call of the learner's function, whatever its scenario allows.
    grace_seconds: code that was told to end gets so long before its process is ended.
    output_bytes: printed text is kept up to here, the rest is counted and dropped.
    message_bytes: the longest message over the channel, either way.
    messages: the most messages that one call of the learner's function may send.
    log_mb: about the memory that all messages together may take in the grader, which keeps them to the end.
    file_mb: the largest file. disk_mb: all files together, where the backend can bound that.
    open_files: files open at a time. restarts: how often a child that ended is started anew.
    notebook_mb: larger notebooks are not read.
    """

    memory_mb: int = 512
    processes: int = 16
    cpu_seconds: int = 30
    wall_seconds: float = 90.0
    cell_seconds: float = 10.0
    call_seconds: float = 5.0
    grace_seconds: float = 1.0
    output_bytes: int = 1_000_000
    message_bytes: int = 1_000_000
    messages: int = 10_000
    log_mb: int = 128
    file_mb: int = 16
    disk_mb: int = 64
    open_files: int = 64
    restarts: int = 5
    notebook_mb: int = 50
