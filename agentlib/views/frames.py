"""A trace as frames: a picture for each thing that a loop did, with a caption in plain words.

The frames of a watched loop follow its lines. A run of `run_agent` has one frame for each event.
"""

from agentlib.trace import Trace
from agentlib.views.building import (
    FIRST_STEPS,
    LAST_STEPS,
    Builder,
    Frame,
    Frames,
    HistoryAt,
    Version,
    has_no_frames,
    request_key,
)
from agentlib.views.moments import rows_of_lines
from agentlib.views.watched import WatchedBuilder
from agentlib.watch.recorder import MAX_LINES_IN_A_ROW
from agentlib.watch.source import Source

__all__ = [
    "Frame", "Frames", "HistoryAt", "Version", "frames", "notice", "request_key", "source_of",
    "tokens_per_call",
]  # fmt: skip


def frames(trace: Trace) -> Frames:
    """Turn a trace into frames, in order; the last one says why the run ended."""
    return (WatchedBuilder(trace, source_of(trace)) if trace.watched else Builder(trace)).build()


def notice(trace: Trace) -> str:
    """Say what the frames do not show: steps that have none, lines that are not known; "" if all is there."""
    steps, said = trace.steps, []
    if has_no_frames(FIRST_STEPS + 1, steps):
        said.append(
            f"The run has {steps:,} steps: the first {FIRST_STEPS} and the last {LAST_STEPS} are kept."
        )
    if rows_of_lines(trace.events):
        said.append(
            f"Where more than {MAX_LINES_IN_A_ROW} lines run and neither the model nor a tool is called, "
            f"the first {MAX_LINES_IN_A_ROW} and the last one are shown."
        )
    if trace.about.get("changed_on_disk"):
        name = trace.about.get("function")
        said.append(
            f"The file of {name} was changed after it was loaded, so its lines are not shown. "
            "Load it again, and watch it once more."
        )
    return " ".join(said)


def tokens_per_call(trace: Trace) -> list[int]:
    """List the tokens read by each model call, in order."""
    read: list[int] = []
    for event in trace.events:
        if event.kind == "ask":
            read.append(event.tokens)
        elif event.kind == "reply" and read and event.tokens:
            read[-1] = event.tokens  # a provider's own count replaces the estimate
    return read


def source_of(trace: Trace) -> Source:
    """Give the source of a watched loop; it has no lines if there is none."""
    return Source(str(trace.about.get("source") or ""), int(trace.about.get("first_line") or 1))
