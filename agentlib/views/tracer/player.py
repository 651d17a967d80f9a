"""The player: a widget that plays the frames of one or several runs in the browser."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import traitlets

__all__ = ["Player"]

HERE = Path(__file__).parent


class Player(anywidget.AnyWidget):
    """Plays timelines (see `timeline`), all by the same controls. Stepping happens in the browser alone.

    timelines: what is played. frame: the number of the frame that is shown, from 1; may be linked to other
    widgets. guess: the stop reason that the learner picked; "" = none yet.
    label: its name for screen readers.
    can_fork: the form for changing a reply or a result is shown. problem: what was wrong with that form.
    """

    _esm = HERE / "player.js"
    _css = HERE / "player.css"

    timelines: Any = traitlets.List().tag(sync=True)
    frame = traitlets.Int(1).tag(sync=True)
    guess = traitlets.Unicode("").tag(sync=True)
    label = traitlets.Unicode("Tracer").tag(sync=True)
    can_fork = traitlets.Bool(False).tag(sync=True)
    problem = traitlets.Unicode("").tag(sync=True)

    def __init__(self, timelines: list[dict[str, Any]], **options: Any) -> None:
        super().__init__(timelines=timelines, **options)
        self._change: Callable[[dict[str, Any]], None] | None = None
        self._one_run: Callable[[], None] | None = None
        self.on_msg(self._message)

    @traitlets.validate("frame")
    def _inside(self, proposal: Any) -> int:
        return max(1, min(int(proposal["value"]), self.last))

    @property
    def last(self) -> int:
        """The number of the last frame of the longest timeline."""
        return max(1, *(len(timeline["frames"]) for timeline in self.timelines))

    def on_change(self, handler: Callable[[dict[str, Any]], None]) -> None:
        """Call `handler` with what the form asks to change: step, kind, call, text."""
        self._change = handler

    def on_one_run(self, handler: Callable[[], None]) -> None:
        """Call `handler` when the learner wants to see one run alone again."""
        self._one_run = handler

    def _message(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if isinstance(content, dict) and content.get("do") == "fork" and self._change is not None:
            self._change(content)
        elif isinstance(content, dict) and content.get("do") == "one run" and self._one_run is not None:
            self._one_run()
