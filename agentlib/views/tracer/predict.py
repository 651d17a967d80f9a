"""Predict: the end of a run stays hidden until the learner has said how it will end."""

from collections.abc import Sequence

from agentlib.trace import Trace
from agentlib.views.describe import code, of_reason, sentence
from agentlib.views.frames import Frame

__all__ = ["choices", "open_frames", "verdict"]

OFFERED = ("answered", "step limit", "repeated call", "crashed")


def choices(trace: Trace) -> list[str]:
    """List the stop reasons to choose from: always the same four, and the right one if it is none of them."""
    right = trace.stopped or "returned"
    return [*OFFERED, *([] if right in OFFERED else [right])]


def open_frames(frames: Sequence[Frame]) -> int:
    """Say how many frames may be seen before the guess: those before the last model call."""
    steps = frames[-1].step if frames else 0
    return max(1, sum(frame.step < steps for frame in frames))


def verdict(trace: Trace, guess: str) -> str:
    """Say whether a guess is right, and why the run ended as it did. Captions' backticks mark code."""
    right = trace.stopped or "returned"
    detail = f" Exactly: {sentence(trace.detail)}" if trace.detail else ""
    why = f"{of_reason(right)}{detail}".strip()
    if guess == right:
        return f"Right: {code(right)}. {why}".strip()
    return f"Not this time: you chose {code(guess)}, and it ended with {code(right)}. {why}".strip()
