"""The live tracer: a max_steps slider that runs the loop again and draws it anew."""

from collections.abc import Callable
from typing import Any

import ipywidgets

from agentlib.trace import Trace
from agentlib.views.frames import frames
from agentlib.views.tracer.static import static_form

__all__ = ["Live"]


class Live:
    """A slider and what it shows. run: gives the trace of a run with so many steps allowed."""

    def __init__(self, run: Callable[[int], Trace], trace: Trace, max_steps: int, most: int) -> None:
        self.run = run
        self.slider = ipywidgets.IntSlider(
            value=max_steps, min=1, max=most, description="max_steps", continuous_update=False,
            description_tooltip="The most model calls. Moving this runs your loop again.",
        )  # fmt: skip
        self.page = ipywidgets.HTML()
        self.box = ipywidgets.VBox([self.slider, self.page])
        self.draw(trace)
        self.slider.observe(self._moved, names="value")

    def draw(self, trace: Trace) -> None:
        """Show a trace."""
        self.page.value = static_form(trace, frames(trace)).html

    def _moved(self, change: Any) -> None:
        self.draw(self.run(change["new"]))
