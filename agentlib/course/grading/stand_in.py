"""What stands in for `agentlib.course` in the sandbox: a notebook's cells run; nothing is checked there."""

from typing import Any

from agentlib.course.running.trying import try_it

__all__ = ["check", "progress", "self_check", "try_it"]


def _nothing(*given: Any, **named: Any) -> None:
    """Do nothing: the grader checks, from outside."""


check = progress = self_check = _nothing
