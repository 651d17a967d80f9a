"""The tracer: step through a run, or through a loop of your own, line by line."""

from collections.abc import Callable, Mapping
from typing import Any

from agentlib.messages import describe
from agentlib.run import Run
from agentlib.stops import whole_number
from agentlib.trace import Trace
from agentlib.views.frames import frames
from agentlib.views.shown import Shown
from agentlib.views.tracer.static import static_form

__all__ = ["Tracer", "tracer"]

MOST_STEPS = 20
"""The right end of the max_steps slider, unless a larger max_steps is asked for."""


class Tracer:
    """A trace to look at.

    trace: the trace that is shown. static: its form without widgets.
    widget: the live form; None = there is none.
    """

    def __init__(self, trace: Trace, widget: Any = None) -> None:
        self.trace = trace
        self.static: Shown = static_form(trace, frames(trace))
        self.widget = widget

    def _repr_html_(self) -> str:
        return self.static.html

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle = {"text/html": self.static.html, "text/plain": self.static.text}
        if self.widget is not None:
            live = self.widget._repr_mimebundle_()
            live = live[0] if isinstance(live, tuple) else live
            return {**live, **bundle}
        return bundle

    def __str__(self) -> str:
        return self.static.text

    __repr__ = __str__


def tracer(
    what: Run | Trace | Callable[..., Any],
    make_model: Callable[[], Any] | None = None,
    tools: Mapping[str, Callable[..., Any]] | None = None,
    goal: str | None = None,
    max_steps: int = 10,
    **options: Any,
) -> Tracer:
    """Show a run frame by frame: `tracer(run)`, or `tracer(loop, make_model, tools, goal)` with a slider.

    what: a Run, a Trace, or a loop with the shape `run_agent(model, tools, goal, max_steps)`.
    make_model: gives a fresh model for each run, such as `blue_mugs.model`.
    max_steps: where the slider starts. options: passed on to the loop.
    Raises TypeError if something is missing, ValueError for a wrong max_steps.
    """
    if isinstance(what, (Run, Trace)):
        return Tracer(what.trace if isinstance(what, Run) else what)
    if not callable(what):
        raise TypeError(f"tracer shows a Run, a Trace or a loop (a function), but got {describe(what)}.")
    if not callable(make_model):
        raise TypeError(f"make_model is a function that gives a fresh model, but was {describe(make_model)}.")
    if tools is None or goal is None:
        raise TypeError("tracer(loop, make_model, tools, goal) also needs the tools and the goal.")
    whole_number("max_steps", max_steps)
    loop, model_maker = what, make_model
    from agentlib.watch import watch

    def run(steps: int) -> Trace:
        return watch(loop, model_maker(), tools, goal, max_steps=steps, **options)

    from agentlib.views.tracer.live import Live

    trace = run(max_steps)
    return Tracer(trace, Live(run, trace, max_steps, max(MOST_STEPS, max_steps)).box)
