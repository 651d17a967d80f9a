"""What a live tracer runs: a loop with what it needs, and whether it was defined anew since."""

import inspect
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

from agentlib.trace import Trace
from agentlib.views.describe import code, joined
from agentlib.watch import watch
from agentlib.watch.what_if import fork

__all__ = ["Rerun", "newest"]


class Rerun:
    """A loop and what it runs with, to run it once more.

    make_model: gives a fresh model for each run. options: passed on to the loop.
    """

    def __init__(
        self, loop: Callable[..., Any], make_model: Callable[..., Any], tools: Any, goal: str, **options: Any
    ) -> None:
        self.loop, self.make_model = loop, make_model
        self.tools, self.goal, self.options = tools, goal, options

    def run(self, max_steps: int) -> Trace:
        """Run the loop with at most so many steps, and watch it."""
        return watch(self.loop, self.make_model(), self.tools, self.goal, max_steps=max_steps, **self.options)

    def fork(self, trace: Trace, at_step: int, **change: Any) -> Trace:
        """Run the loop with one reply or result changed. Raises ForkError as `fork` does."""
        return fork(
            self.loop, self.make_model, self.tools, self.goal, trace, at_step, **change, **self.options
        )

    def changed(self) -> str:
        """Say what was defined anew since it ran; "" = nothing."""
        pairs = [(self.loop, newest(self.loop)), (self.make_model, newest(self.make_model))]
        names = [code(getattr(old, "__name__", "the loop")) for old, new in pairs if new is not None]
        if not names:
            return ""
        verb = "was" if len(names) == 1 else "were"
        return f"{joined(names)} {verb} changed since. You see a run from before."

    def renew(self) -> None:
        """From now on run what stands under the same names now."""
        self.loop = newest(self.loop) or self.loop
        self.make_model = newest(self.make_model) or self.make_model


def newest(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """Give what was defined under a function's name since; None = nothing that does anything else.

    A function or method that stands in a module or notebook is found by its name; another one never changes.
    """
    owner = getattr(function, "__self__", None)
    now: Any = sys.modules.get(str(getattr(function, "__module__", None)))
    for name in str(getattr(function, "__qualname__", "?")).split("."):
        now = getattr(now, name, None)
    if not callable(now) or now is function or _does(now) == _does(function):
        return None
    if owner is None:
        return now  # type: ignore[no-any-return]
    bound: Callable[..., Any] | None = now.__get__(owner) if hasattr(now, "__get__") else None
    return bound


def _does(function: Any) -> object:
    """Give what two definitions have in common when the same cell has only been run again."""
    plain = inspect.unwrap(getattr(function, "__func__", function))
    if not inspect.isfunction(plain):
        return plain
    return _without_lines(plain.__code__), plain.__defaults__, plain.__kwdefaults__


def _without_lines(code: CodeType) -> CodeType:
    inside = tuple(_without_lines(one) if isinstance(one, CodeType) else one for one in code.co_consts)
    return code.replace(co_firstlineno=1, co_linetable=b"", co_exceptiontable=b"", co_consts=inside)
