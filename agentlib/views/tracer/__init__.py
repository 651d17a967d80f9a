"""The tracer: step through a run, or through a loop of your own, line by line."""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from inspect import signature
from time import perf_counter
from typing import Any

from agentlib._json import whole_number
from agentlib._run import Run
from agentlib.messages import describe
from agentlib.trace import Trace
from agentlib.views.quiz.predictions import keep_prediction
from agentlib.views.shown import display_both
from agentlib.views.tracer.page import save_page, traces_of
from agentlib.views.tracer.rerun import Rerun
from agentlib.views.tracer.static import static_tracer

__all__ = ["Tracer", "save_page", "tracer"]


class Tracer:
    """Runs to look at.

    traces: names and traces; one alone has the name "". live: the player with its slider; None where widgets
    are not installed. static: the same frames as tables, in HTML and in text, for places without widgets.
    predict: True, or a name such as "02 two steps" under which it is kept whether the guess was right.
    start: the number of the frame at which the player opens; 0 = at the first one. wanted: what had to come,
    shown beside the frames. opens: these two, where they are given.
    """

    def __init__(
        self,
        traces: Mapping[str, Trace],
        *,
        predict: bool | str = False,
        start: int = 0,
        wanted: str = "",
        **live: Any,
    ) -> None:
        self.traces = dict(traces)
        name, predict = (predict, True) if isinstance(predict, str) else ("", predict)
        opens = {**({"start": start} if start else {}), **({"wanted": wanted} if wanted else {})}
        self.opens = opens
        # The table keeps showing this run when the slider has run the loop again, so it says which run it is.
        title = {"title": f"All frames of the run with max_steps={live['max_steps']}"} if live else {}
        self.static = static_tracer(self.traces, predict=predict, start=start, wanted=wanted, **title)
        self.live: Any = None
        if find_spec("anywidget") is not None:
            from agentlib.views.tracer.live import Live

            self.live = Live(self.traces, predict=predict, opens=opens, **live)
            if name:
                self.live.player.observe(lambda change: self._guessed(name, change["new"]), names="guess")

    def _guessed(self, name: str, guess: str) -> None:
        if guess:  # "" = the question stands open again
            keep_prediction(name, guess == (next(iter(self.live.traces.values())).stopped or "returned"))

    @property
    def trace(self) -> Trace:
        """The first trace."""
        return next(iter(self.traces.values()))

    @property
    def widget(self) -> Any:
        """The player and its slider as one widget; None where widgets are not installed."""
        return None if self.live is None else self.live.box

    def _ipython_display_(self) -> None:
        display_both(self.widget, "the player", self.static)

    def _repr_html_(self) -> str:
        return self.static.html

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return self.static._repr_mimebundle_()

    def __str__(self) -> str:
        return self.static.text

    __repr__ = __str__


def tracer(
    what: Run | Trace | Mapping[str, Run | Trace] | Callable[..., Any],
    make_model: Callable[[], Any] | None = None,
    tools: Any = None,
    goal: str | None = None,
    max_steps: int = 10,
    *,
    predict: bool | str = False,
    **options: Any,
) -> Tracer:
    """Show a run frame by frame: `tracer(run)`, or `tracer(loop, make_model, tools, goal)` with a slider.

    what: a Run, a Trace, names and several of these (shown side by side), or a loop with the shape
    `run_agent(model, tools, goal, max_steps)`, which is watched.
    make_model: gives a fresh model for each run, such as `blue_mugs.model`.
    max_steps: where the slider starts. options: passed on to the loop.
    predict: how the run ends stays hidden until a guess is made.
    Raises TypeError if something is missing, ValueError for a wrong max_steps.
    """
    if isinstance(what, (Run, Trace, Mapping)):
        return Tracer(traces_of(what, "tracer shows"), predict=predict)
    if not callable(what):
        raise TypeError(f"tracer shows a Run, a Trace or a loop (a function), but got {describe(what)}.")
    if not callable(make_model):
        raise TypeError(f"make_model is a function that gives a fresh model, but was {describe(make_model)}.")
    _makes_models(make_model)
    if tools is None or goal is None:
        raise TypeError("tracer(loop, make_model, tools, goal) also needs the tools and the goal.")
    whole_number("max_steps", max_steps)
    rerun = Rerun(what, make_model, tools, goal, **options)
    start = perf_counter()
    trace = rerun.run(max_steps)
    seconds = perf_counter() - start
    return Tracer({"": trace}, predict=predict, max_steps=max_steps, rerun=rerun, seconds=seconds)


def _makes_models(make_model: Callable[..., Any]) -> None:
    """Refuse what cannot be called without arguments; usually it is a model, which takes a history."""
    try:
        shape = signature(make_model)
    except (TypeError, ValueError):
        return  # some functions written in C do not say what they take
    try:
        shape.bind()
    except TypeError:
        raise TypeError(
            "tracer makes a fresh model for each run: pass the function that makes a model, without brackets "
            f"(model, not model()), but make_model was {describe(make_model)}."
        ) from None
