"""A model that is asked again when a call fails in a way that another try may mend."""

import random as random_module
import time
from collections.abc import Callable
from typing import Any

from agentlib._json import whole_number
from agentlib.errors import ProviderError
from agentlib.messages import Entry, ModelFunction, ModelRequest, call_model
from agentlib.tools import words_of
from agentlib.trace import Event

__all__ = ["retrying"]


def retrying(
    model: ModelFunction,
    attempts: int = 4,
    *,
    first_wait_seconds: float = 1.0,
    max_wait_seconds: float = 60.0,
    random: random_module.Random | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> ModelFunction:
    """Make a model that asks `model` up to so many times, with longer and longer waits in between.

    Worth another try: too many requests (429), a server that fails (5xx) or gave no answer in time, a
    connection that dropped. Nothing else is: what was refused once is refused again.
    A wait doubles each time, up to max_wait_seconds, and is drawn between half of it and all of it, so that
    many programs that failed together do not come back together. What the provider asks for in `Retry-After`
    is kept to; if that is longer than max_wait_seconds, or a wait is longer than the time that is left until
    the run's deadline, it is not begun.
    Each attempt that failed is an event in the run's trace; what it cost counts, so a budget may end the run.
    random: draws the waits; give one with a seed to get the same ones again. clock, sleep: in seconds.
    Raises ValueError if `attempts` is not a whole number from 1 up, or if the model's own client tries again
    by itself: make it with max_retries=0.
    """
    whole_number("attempts", attempts)
    retries = getattr(getattr(model, "client", None), "max_retries", 0)
    if retries:
        raise ValueError(
            f"The client tries again by itself ({retries} times), out of sight. Make it with max_retries=0."
        )
    draw = (random or random_module.Random()).uniform

    def call(history: list[Entry], request: ModelRequest) -> Any:
        began, longest = clock(), first_wait_seconds
        for attempt in range(1, attempts + 1):
            try:
                return call_model(model, history, request)
            except (ProviderError, ConnectionError, TimeoutError) as problem:
                wait = min(longest, max_wait_seconds) * draw(0.5, 1.0)
                longest *= 2
                wait = max(wait, getattr(problem, "retry_after_seconds", None) or 0.0)
                left = max_wait_seconds
                if request.seconds_left is not None:
                    left = min(left, request.seconds_left - (clock() - began))
                if attempt == attempts or not getattr(problem, "worth_retrying", True) or wait > left:
                    raise
                request.note(_failed(problem, attempt, wait))
            sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    return _Retrying(call)


class _Retrying:
    """What `retrying` gives: a model with a method `call`."""

    def __init__(self, call: Callable[[list[Entry], ModelRequest], Any]) -> None:
        self.call = call

    def __call__(self, history: list[Entry]) -> Any:
        return self.call(history, ModelRequest())


def _failed(problem: Exception, attempt: int, wait: float) -> Event:
    entry: Entry = {"attempt": attempt, "wait_seconds": round(wait, 3)}
    usage = getattr(problem, "usage", None)
    if usage is not None:
        entry["usage"] = usage
    return Event("attempt", 0, entry, text=words_of(problem))
