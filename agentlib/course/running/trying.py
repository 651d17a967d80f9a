"""Tries a loop on a lab, or any function, also one that does not end by itself."""

from collections.abc import Callable
from typing import Any

from agentlib.course.running.runner import RunEnded, TimeLimit
from agentlib.errors import ScriptExhausted

__all__ = ["try_it"]


class _TooOften(BaseException):
    """Ends a loop that goes on asking. No Exception, so that `except Exception` lets it pass."""


def try_it(
    function: Callable[..., Any],
    *args: Any,
    max_calls: int = 100,
    max_seconds: float = 10.0,
    **options: Any,
) -> Any:
    """Call a function once: `try_it(run_agent, model, tools, goal)`. Gives back what it returns.

    args, options: what it is called with. A function in the first place is the model.
    max_calls: a loop that asks the model more often, or asks a script for more than is in it after the
    answer, is ended, and a sentence comes back that says so. max_seconds: so is one that takes longer.
    What the function raises is raised here too.
    """
    model: Any = args[0] if args and callable(args[0]) else None
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

    limit = TimeLimit(max_seconds)
    given = (counted, *args[1:]) if model else args
    try:
        value = limit.run(lambda: function(*given, **options))
    except _TooOften:
        if answered:
            why = f"The answer came in call {answered}, and the loop went on"
        else:
            why = "No answer came, and the loop has no other way out"
        return f"Your loop did not end: it asked the model {calls} times and was then stopped. {why}."
    except RunEnded:
        limit.over = True
    if limit.over:
        asked = f" Calls of the model by then: {calls}." if model else ""
        return f"Your function was still running after {max_seconds:g} seconds and was then stopped.{asked}"
    return value
