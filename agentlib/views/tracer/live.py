"""The live tracer: the player, a max_steps slider that runs the loop again, and what-if forks."""

import weakref
from collections.abc import Mapping
from itertools import zip_longest
from time import perf_counter
from typing import Any

import ipywidgets

from agentlib.errors import AgentLibError
from agentlib.messages import short
from agentlib.trace import Event, Trace
from agentlib.views.describe import call_words, code, counted, entry_error, value_words, visible
from agentlib.views.guard import guarded
from agentlib.views.shown import caption_html
from agentlib.views.tables import figures
from agentlib.views.tracer.player import Player
from agentlib.views.tracer.rerun import Rerun
from agentlib.views.tracer.timeline import timeline
from agentlib.watch.what_if import read_change

__all__ = ["Live", "outlook"]

SLIDER_MAX_STEPS = 20
"""The right end of the max_steps slider, unless the run starts with a larger max_steps."""

QUICK_SECONDS = 0.3
"""A run that takes no longer is made anew while the slider moves; a longer one when it is let go."""

SHOWN_RESULTS = 3
"""So many results stand beside the slider, the latest ones."""


class Live:
    """The player and its slider.

    traces: names and traces that stand side by side; one trace has the name "".
    opens: "start", the number of the frame that is shown first, and "wanted", what had to come.
    rerun: the loop to run again for the slider and the what-if form; None = there are none.
    seconds: how long the run took that is shown first.
    """

    def __init__(
        self,
        traces: Mapping[str, Trace],
        *,
        predict: bool = False,
        opens: Mapping[str, Any] | None = None,
        max_steps: int = 10,
        rerun: Rerun | None = None,
        seconds: float = 0.0,
    ) -> None:
        self.traces = dict(traces)
        self.predict = predict
        self.opens = opens or {}
        self.rerun = rerun
        self.player = Player(self.timelines(), can_fork=rerun is not None)
        self.player.on_wish("fork", self.fork)
        self.player.on_wish("one run", self.one_run)
        self.player.on_wish("run the new one", self.renew)
        self.slider: Any = None
        self.words: Any = None
        if rerun is not None:
            self.slider = ipywidgets.IntSlider(
                value=max_steps, min=1, max=max(SLIDER_MAX_STEPS, max_steps), description="max_steps",
                tooltip="The most model calls. Moving this runs your loop again.",
                continuous_update=seconds <= QUICK_SECONDS,
            )  # fmt: skip
            self.slider.observe(self.moved, names="value")
            self.words = ipywidgets.HTML()
            self.tell()
            _after_each_cell(self)
        beside = (
            []
            if self.slider is None
            else [ipywidgets.HBox([self.slider, self.words], layout={"flex_flow": "wrap"})]
        )
        self.box = guarded(*beside, self.player)

    def timelines(self) -> list[dict[str, Any]]:
        """Make what the player plays."""
        tools = None if self.rerun is None else self.rerun.tools
        return [
            {**timeline(trace, label, self.predict, tools), **self.opens}
            for label, trace in self.traces.items()
        ]

    def moved(self, change: Any) -> None:
        """Run the loop again with another max_steps, and show how the run ends now."""
        self.run(change["new"], at_the_end=not self.predict)

    def run(self, max_steps: int, *, at_the_end: bool) -> None:
        """Run the loop again. Messages of the slider wait for it, so no two runs are made at once."""
        if self.rerun is None:
            return
        start = perf_counter()
        self.traces = {"": self.rerun.run(max_steps)}
        self.slider.continuous_update = perf_counter() - start <= QUICK_SECONDS
        self.tell()
        self.show(at_the_end=at_the_end)

    def tell(self) -> None:
        """Say beside the slider how the run ends; a question about just that is not answered there."""
        words = "" if self.predict else outlook(next(iter(self.traces.values())))
        self.words.value = f'<span role="status">{caption_html(words)}</span>'

    def show(self, *, at_the_end: bool) -> None:
        """Send all timelines again."""
        with self.player.hold_sync():
            self.player.problem = ""
            self.player.guess = ""
            self.player.timelines = self.timelines()
            self.player.frame = self.player.last if at_the_end else 1

    def look(self) -> None:
        """See whether the loop was defined anew since it ran, and let the player say so."""
        if self.rerun is not None:
            self.player.stale = self.rerun.changed()

    def renew(self, _wanted: Mapping[str, Any]) -> None:
        """Run the loop as it is defined now."""
        if self.rerun is None:
            return
        old = self.rerun.loop, self.rerun.make_model
        self.rerun.renew()
        try:
            self.run(self.slider.value, at_the_end=False)
        except (AgentLibError, TypeError, ValueError) as problem:  # it no longer has the shape of a loop
            self.rerun.loop, self.rerun.make_model = old
            self.player.stale = f"The new one cannot be run here: {problem}"
            return
        self.player.stale = ""

    def fork(self, wanted: Mapping[str, Any]) -> None:
        """Change one reply or result as the form asks, run on, and stand both runs side by side."""
        if self.rerun is None:
            return
        original = next(iter(self.traces.values()))
        kind, step = wanted.get("kind"), wanted.get("step")
        try:
            value = read_change(str(kind), str(wanted.get("text", "")))
            given = {"reply": value} if kind == "reply" else {"result": value, "call": wanted.get("call", 0)}
            forked = self.rerun.fork(original, step, **given)  # type: ignore[arg-type]  # fork says what is wrong with it
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

    def one_run(self, _wanted: Mapping[str, Any]) -> None:
        """Show the original run alone again, at the same frame if it has that many."""
        self.traces = {"": next(iter(self.traces.values()))}
        with self.player.hold_sync():
            self.player.problem = ""
            self.player.timelines = self.timelines()
            self.player.frame = min(self.player.frame, self.player.last)


def difference(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any] | None:
    """Say at which frame two timelines first differ, as data and in words; None = nowhere.

    Up to there they are alike, so it is the same frame in both and in the player that shows them together.
    """
    pairs = zip_longest(left["frames"], right["frames"])
    for number, (one, other) in enumerate(pairs, start=1):
        if one is None or other is None or one["caption"] != other["caption"]:
            step = (other or one)["step"]
            return {"frame": number, "words": f"First difference: frame {number}, in step {step}."}
    return None


def outlook(trace: Trace) -> str:
    """Say in a line how a run ended and what was known by then: the answer, or the latest results."""
    run = figures(trace)
    ended = f"{code(run.stopped or 'no stop reason')} after {counted(run.steps or 0, 'step')}."
    if run.answer is not None:
        return f"{ended} Answer: {visible(short(str(run.answer), 100))}"
    results = [_gave(trace, number) for number, event in enumerate(trace.events) if _found_out(event)]
    known = list(dict.fromkeys(results))
    if not known:
        return f"{ended} Known so far: nothing."
    more = f" (and {len(known) - SHOWN_RESULTS} before)" if len(known) > SHOWN_RESULTS else ""
    return f"{ended} Known so far: {'; '.join(known[-SHOWN_RESULTS:])}{more}."


def _found_out(event: Event) -> bool:
    """True for a result that says something of the world: no error, and of a tool that has run."""
    return event.kind == "result" and event.text not in ("not run", "raised") and not entry_error(event.entry)


def _gave(trace: Trace, number: int) -> str:
    result = value_words((trace.events[number].entry or {}).get("result"))
    return f"{code(call_words(trace.request(number), 40))} gave {code(short(result, 60))}"


def _after_each_cell(live: Live) -> None:
    """Let a live tracer look for changes whenever a cell of its notebook has run."""
    from IPython import get_ipython

    shell = get_ipython()
    if shell is None:
        return
    alive = weakref.ref(live)

    def look(*_result: Any) -> None:
        tracer = alive()
        if tracer is None or tracer.player.comm is None:
            shell.events.unregister("post_run_cell", look)
        else:
            tracer.look()

    shell.events.register("post_run_cell", look)
