"""The live tracer: the player, a max_steps slider that runs the loop again, and what-if forks."""

from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import Any

import ipywidgets

from agentlib.errors import AgentLibError
from agentlib.trace import Trace
from agentlib.views.guard import guarded
from agentlib.views.tracer.player import Player
from agentlib.views.tracer.timeline import timeline
from agentlib.watch.what_if import read_change

__all__ = ["Live"]

SLIDER_MAX_STEPS = 20
"""The right end of the max_steps slider, unless the run starts with a larger max_steps."""

Fork = Callable[..., Trace]


class Live:
    """The player and its slider.

    traces: names and traces that stand side by side; one trace has the name "".
    rerun: gives the trace of a run with so many steps allowed; None = there is no slider.
    fork: gives the trace of a run that was changed at one place; None = no form for that.
    """

    def __init__(
        self,
        traces: Mapping[str, Trace],
        *,
        predict: bool = False,
        max_steps: int = 10,
        rerun: Callable[[int], Trace] | None = None,
        fork: Fork | None = None,
    ) -> None:
        self.traces = dict(traces)
        self.predict = predict
        self.rerun = rerun
        self.fork = fork
        self.player = Player(self.timelines(), can_fork=fork is not None)
        self.player.on_change(self.changed)
        self.player.on_one_run(self.one_run)
        self.slider: Any = None
        if rerun is not None:
            self.slider = ipywidgets.IntSlider(
                value=max_steps, min=1, max=max(SLIDER_MAX_STEPS, max_steps), description="max_steps",
                continuous_update=False, tooltip="The most model calls. Moving this runs your loop again.",
            )  # fmt: skip
            self.slider.observe(self.moved, names="value")
        self.box = guarded(*([self.slider] if self.slider is not None else []), self.player)

    def timelines(self) -> list[dict[str, Any]]:
        """Make what the player plays."""
        return [timeline(trace, label, self.predict) for label, trace in self.traces.items()]

    def moved(self, change: Any) -> None:
        """Run the loop again with another max_steps, and show how the run ends now."""
        if self.rerun is None:
            return
        self.traces = {"": self.rerun(change["new"])}
        self.show(at_the_end=not self.predict)

    def show(self, *, at_the_end: bool) -> None:
        """Send all timelines again."""
        with self.player.hold_sync():
            self.player.problem = ""
            self.player.guess = ""
            self.player.timelines = self.timelines()
            self.player.frame = self.player.last if at_the_end else 1

    def changed(self, wanted: Mapping[str, Any]) -> None:
        """Change one reply or result as the form asks, run on, and stand both runs side by side."""
        if self.fork is None:
            return
        original = next(iter(self.traces.values()))
        kind, step = wanted.get("kind"), wanted.get("step")
        try:
            value = read_change(str(kind), str(wanted.get("text", "")))
            given = {"reply": value} if kind == "reply" else {"result": value, "call": wanted.get("call", 0)}
            forked = self.fork(original, step, **given)
        except (AgentLibError, ValueError) as problem:
            self.player.problem = str(problem)
            return
        self.traces = {"as it was": original, "what if": forked}
        timelines = self.timelines()
        timelines[1]["difference"] = difference(timelines[0], timelines[1])
        with self.player.hold_sync():
            self.player.problem = ""
            self.player.timelines = timelines
            if timelines[1]["difference"] is not None:
                self.player.frame = timelines[1]["difference"]["frame"]

    def one_run(self) -> None:
        """Show the original run alone again, at the same frame if it has that many."""
        self.traces = {"": next(iter(self.traces.values()))}
        with self.player.hold_sync():
            self.player.problem = ""
            self.player.timelines = self.timelines()
            self.player.frame = min(self.player.frame, self.player.last)


def difference(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any] | None:
    """Say at which frame two timelines first differ, as data and in words; None = nowhere."""
    pairs = zip_longest(left["frames"], right["frames"])
    for number, (one, other) in enumerate(pairs, start=1):
        if one is None or other is None or one["caption"] != other["caption"]:
            step = (other or one)["step"]
            return {"frame": number, "words": f"First difference: frame {number}, in step {step}."}
    return None
