"""Tries a loop on a lab, also one that does not end by itself."""

from collections.abc import Callable
from typing import Any

from agentlib.errors import ScriptExhausted
from agentlib.messages import Entry

__all__ = ["try_it"]


class _TooOften(BaseException):
    """Ends a loop that goes on asking. No Exception, so that `except Exception` lets it pass."""


def try_it(
    run_agent: Callable[..., Any],
    model: Callable[[list[Entry]], Any],
    tools: Any,
    goal: str,
    *,
    max_calls: int = 100,
    **options: Any,
) -> Any:
    """Run a loop once: `run_agent(model, tools, goal, **options)`. Gives back what it returns.

    max_calls: a loop that asks the model more often, or asks a script for more than is in it after the
    answer, is ended, and a sentence comes back that says so.
    options: what else the loop takes, such as max_steps. What the loop raises is raised here too.
    """
    max_calls = options.pop("most_calls", max_calls)  # as saved notebooks of the first form call it
    calls = answered = 0

    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls, answered
        if calls == max_calls:
            raise _TooOften
        calls += 1
        try:
            reply = model(*args, **kwargs)
        except ScriptExhausted:
            if answered:
                raise _TooOften from None
            raise
        if not answered and isinstance(reply, dict) and reply.get("type") == "answer":
            answered = calls
        return reply

    try:
        return run_agent(counted, tools, goal, **options)
    except _TooOften:
        if answered:
            why = f"The answer came in call {answered}, and the loop went on"
        else:
            why = "No answer came, and the loop has no other way out"
        return f"Your loop did not end: it asked the model {calls} times and was then stopped. {why}."
