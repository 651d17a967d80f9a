"""The player: a widget that plays the frames of one or several runs in the browser."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anywidget
import traitlets

__all__ = ["Player"]

HERE = Path(__file__).parent


class Player(anywidget.AnyWidget):
    """Plays timelines (see `timeline`), all by the same controls. Stepping happens in the browser alone.

    timelines: what is played. frame: the number of the frame that is shown, from 1; may be linked to other
    widgets. Several runs go on together step by step, and a frame is then one for each of them.
    guess: the stop reason that the learner picked; "" = none yet. label: its name for screen readers.
    can_fork: the form for changing a reply or a result is shown. problem: what was wrong with that form.
    stale: what was defined anew since the run; "" = nothing.
    """

    _esm = HERE / "player.js"
    _css = HERE / "player.css"

    timelines: Any = traitlets.List().tag(sync=True)
    frame = traitlets.Int(1).tag(sync=True)
    guess = traitlets.Unicode("").tag(sync=True)
    label = traitlets.Unicode("Tracer").tag(sync=True)
    can_fork = traitlets.Bool(False).tag(sync=True)
    problem = traitlets.Unicode("").tag(sync=True)
    stale = traitlets.Unicode("").tag(sync=True)

    def __init__(self, timelines: list[dict[str, Any]], **options: Any) -> None:
        start = timelines[0].get("start", 1) if timelines else 1
        super().__init__(**{"timelines": timelines, "frame": start, **options})
        self._wishes: dict[str, Callable[[Mapping[str, Any]], None]] = {}
        self.on_msg(self._message)

    @traitlets.validate("frame")
    def _inside(self, proposal: Any) -> int:
        return max(1, min(int(proposal["value"]), self.last))

    @property
    def last(self) -> int:
        """The number of the last frame."""
        return last_frame(self.timelines)

    def on_wish(self, name: str, handler: Callable[[Mapping[str, Any]], None]) -> None:
        """Call `handler` with what the browser sends when the learner asks for `name`, such as "fork"."""
        self._wishes[name] = handler

    def _message(self, _widget: Any, content: Any, _buffers: Any) -> None:
        name = content.get("do") if isinstance(content, dict) else None
        handler = self._wishes.get(name) if isinstance(name, str) else None
        if handler is None:
            return
        try:
            handler(content)
        finally:
            self.send({"done": name})


def last_frame(timelines: Sequence[Mapping[str, Any]]) -> int:
    """Count the frames of timelines that go on together: in each step as many as the run with most has."""
    counts = [Counter(frame["step"] for frame in timeline["frames"]) for timeline in timelines]
    steps = {step for count in counts for step in count}
    return max(1, sum(max(count[step] for count in counts) for step in steps))
