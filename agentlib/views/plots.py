"""Plots of what runs cost and of how they end, each with a sentence that says what it shows.

matplotlib is loaded when a plot is drawn; where it cannot be had, the data come as a table. Each plot has a
figure of its own: nothing is shared, nothing is shown by itself. Colours are those of Okabe and Ito, which
colour-blind people can tell apart; markers, dashes and hatches tell them apart once more. The ground is
transparent, and every colour can be read on a light and on a dark page.
"""

import base64
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from agentlib._platform import load_matplotlib
from agentlib._run import Run
from agentlib.messages import describe, json_text
from agentlib.trace import Trace
from agentlib.views.describe import counted, joined, visible
from agentlib.views.frames import tokens_per_call
from agentlib.views.plot_data import FigureData
from agentlib.views.shown import Html, folded, tag
from agentlib.views.tables import figures

__all__ = ["Plot", "coins", "new_results", "stop_reasons", "tokens_read"]

# Okabe and Ito, "Color Universal Design" (2008), without the yellow; the orange and the sky blue are darker
# and the black is grey, so that each has 3 to 1 against a white and against a dark page (WCAG 2.2, 1.4.11).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B07D00", "#3A8FC4", "#7A7A7A")
INK = "#767676"
"""Text and axes: a grey in the middle. The rules below bring it to the theme's side, to more than 7 to 1."""

STYLE = Html(
    "<style>"
    ".agentlib-plot img{max-width:100%;height:auto}"
    "[data-jp-theme-light=true] .agentlib-plot img{filter:brightness(.75)}"
    "[data-jp-theme-light=false] .agentlib-plot img{filter:brightness(1.5)}"
    "</style>"
)
"""JupyterLab says which theme it has. Where nobody does, or style is taken out, it stays as it is drawn."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
HATCHES = ("", "//", "..", "xx", "\\\\", "--", "++")
DPI = 90


class Plot:
    """A picture, one sentence that says what it shows, and the figures behind it.

    figure: the matplotlib Figure; draw on it further if you like. Where there is no matplotlib, its data.
    sentence: also read out by screen readers. figures: more sentences, folded beneath it; "" = none.
    """

    def __init__(self, figure: Any, sentence: str, figures: str = "") -> None:
        self.figure = figure
        self.sentence = sentence
        self.figures = figures
        # The layout is worked out once: at each new drawing it would move by a hair, and the bytes differ.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")

    def png(self) -> bytes:
        """Draw the picture as PNG, the same bytes for the same picture. It takes matplotlib."""
        from PIL import Image

        drawn, small = io.BytesIO(), io.BytesIO()
        self.figure.savefig(drawn, format="png", dpi=DPI, transparent=True, metadata={"Software": None})
        # So many colours are plenty for lines and bars, and a notebook that holds the picture stays small.
        Image.open(drawn).quantize(128).save(small, format="png", optimize=True)
        return small.getvalue()

    def _repr_html_(self) -> str:
        if isinstance(self.figure, FigureData):
            return self.figure.page(self.sentence, self.figures)
        return picture_html(self.png(), self.sentence, self.figures)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        # No image/png beside it: JupyterLab prefers the HTML, and the picture would be stored twice.
        return {"text/html": self._repr_html_(), "text/plain": str(self)}

    def __str__(self) -> str:
        return f"{self.sentence} {self.figures}".strip()

    __repr__ = __str__


def picture_html(png: bytes, sentence: str, figures: str = "") -> Html:
    """Show a picture with its sentence beneath it, and its figures in a fold."""
    source = f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"
    picture = tag("img", alt=sentence, style="max-width:100%;height:auto", src=source)
    beneath = [tag("figcaption", sentence)]
    if figures:
        beneath.append(folded("The figures", tag("p", figures)))
    return tag(
        "figure", STYLE, picture, *beneath, class_="agentlib-plot", aria_label=sentence, style="margin:0"
    )


def tokens_read(
    runs: object, *, tokens_per_step: float | None = None, title: str = "Tokens read", what: str = "read"
) -> Plot:
    """Plot the tokens read by each model call, and in all, against the number of the call.

    runs: a Run, a Trace, a list of tokens per call, or names and any of these. tokens_per_step: t in the two
    dashed lines t * n (read by call n) and t * n(n+1)/2 (read in all); None = the mean over the first run.
    what: what was done with the tokens that are counted, such as "read anew" where a cache gave the others.
    Raises TypeError for anything else, ValueError if no call was made.
    """
    named = {name: _tokens(run) for name, run in _named(runs).items()}
    longest = max(len(read) for read in named.values())
    if longest == 0:
        raise ValueError("There is nothing to plot: no model call was made.")
    first = next(read for read in named.values() if read)
    per_step = tokens_per_step or sum(first) / (len(first) * (len(first) + 1) / 2)
    figure, (each, total) = new_figure(2, title)
    for number, (name, read) in enumerate(named.items()):
        calls = range(1, len(read) + 1)
        style = line_style(number, len(read))
        each.plot(calls, read, label=name or "measured", **style)
        total.plot(calls, list(accumulate(read)), label=name or "measured", **style)
    calls = range(1, longest + 1)
    grey = {"color": INK, "linestyle": "--", "linewidth": 1.5}
    words = f"{per_step:,.0f}"
    each.plot(calls, [per_step * n for n in calls], label=f"{words} × n", **grey)
    total.plot(calls, [per_step * n * (n + 1) / 2 for n in calls], label=f"{words} × n(n+1)/2", **grey)
    name_axes(each, "model call n", f"tokens {what} by this call")
    name_axes(total, "model call n", f"tokens {what} in all")
    sentences = [
        f"{_prefix(name)}{counted(len(read), 'call')} {what} {counted(sum(read), 'token')} in all; "
        f"call 1 {what} {read[0]:,}, call {len(read)} {what} {read[-1]:,}."
        for name, read in named.items()
        if read
    ]
    dashed = f"Dashed: {words} tokens more at each call, which adds up to {words} × n(n+1)/2."
    sums = [f"{name} {sum(read):,}".strip() for name, read in named.items() if read]
    return Plot(figure, f"{title}: {joined(sums)} in all.", f"{' '.join(sentences)} {dashed}")


def coins(
    runs: object, *, coin_limit: int | None = None, step_limit: int | None = None, title: str = "Coins used"
) -> Plot:
    """Plot the coins used after each model call; a call costs one coin for each entry that it reads.

    runs: a Run, a Trace, a list of coins per call, or names and any of these.
    coin_limit, step_limit: drawn as lines; None = no limit. Raises as `tokens_read` does.
    """
    named = {name: list(accumulate(_coins(run))) for name, run in _named(runs).items()}
    if not any(named.values()):
        raise ValueError("There is nothing to plot: no model call was made.")
    figure, (axes,) = new_figure(1, title)
    for number, (name, used) in enumerate(named.items()):
        axes.plot(range(1, len(used) + 1), used, label=name or "used", **line_style(number, len(used)))
    limits = []
    if coin_limit is not None:
        axes.axhline(coin_limit, color=INK, linestyle="--", label=f"limit: {coin_limit} coins")
        limits.append(f"{coin_limit} coins")
    if step_limit is not None:
        axes.axvline(step_limit, color=INK, linestyle=":", label=f"limit: {step_limit} steps")
        limits.append(f"{step_limit} steps")
    name_axes(axes, "model call", "coins used so far (entries read)")
    sentences = [
        f"{_prefix(name)}{', '.join(f'{used:,}' for used in total[:12])}{' ...' if len(total) > 12 else ''} "
        f"coins after {'call 1' if len(total) == 1 else f'calls 1 to {len(total)}'}"
        f"{_ending(_named(runs)[name])}."
        for name, total in named.items()
        if total
    ]
    bounds = f" Limits: {joined(limits)}." if limits else ""
    sums = [f"{name} {used[-1]:,}".strip() for name, used in named.items() if used]
    return Plot(figure, f"{title}: {joined(sums)} in all.", f"{' '.join(sentences)}{bounds}")


def stop_reasons(counts: object, *, title: str = "How the runs ended") -> Plot:
    """Plot how often each stop reason occurred, most frequent first.

    counts: reasons and numbers, or a list of reasons, Runs or Traces. Raises TypeError for anything else,
    ValueError if there is nothing to count.
    """
    if isinstance(counts, Mapping):
        counted_reasons = {str(reason): number for reason, number in counts.items()}
        if not all(isinstance(number, int) and number >= 0 for number in counted_reasons.values()):
            raise TypeError(f"counts are reasons and whole numbers from 0 up, but were {describe(counts)}.")
    elif isinstance(counts, Iterable) and not isinstance(counts, (str, bytes)):
        counted_reasons = dict(Counter(_reason(item) for item in counts))
    else:
        raise TypeError(f"counts are reasons and numbers, or a list of runs, but were {describe(counts)}.")
    if not counted_reasons:
        raise ValueError("There is nothing to plot: no run was given.")
    ranked = sorted(counted_reasons.items(), key=lambda item: (-item[1], item[0]))
    figure, (axes,) = new_figure(1, title, height=1.2 + 0.4 * len(ranked))
    for number, (reason, times) in enumerate(ranked):
        look = number % len(COLOURS)
        axes.barh(reason, times, color=COLOURS[look], hatch=HATCHES[look], edgecolor="white")
        axes.annotate(f" {times:,}", (times, number), va="center", color=INK)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set_xlabel("runs")
    axes.xaxis.get_major_locator().set_params(integer=True)
    total = sum(counted_reasons.values())
    reasons = joined([f"{reason} {times:,}" for reason, times in ranked])
    return Plot(figure, f"{title}: of {counted(total, 'run')}, {reasons}.")


def new_results(runs: object, *, title: str = "Results that were new") -> Plot:
    """Plot how many different results a run has brought in after each step; a stuck run goes flat.

    runs: a Run, a Trace, or names and any of these. A result counts the first time it comes, word for word;
    one that says "not run" does not count. Raises as `tokens_read` does.
    """
    named = {name: _new_results(run) for name, run in _named(runs).items()}
    if not any(named.values()):
        raise ValueError("There is nothing to plot: no model call was made.")
    figure, (axes,) = new_figure(1, title)
    for number, (name, seen) in enumerate(named.items()):
        axes.plot(range(1, len(seen) + 1), seen, label=name or "new so far", **line_style(number, len(seen)))
    name_axes(axes, "step", "different results so far")
    axes.yaxis.get_major_locator().set_params(integer=True)
    sentences = [
        f"{_prefix(name)}{counted(seen[-1], 'different result')} in {counted(len(seen), 'step')}, "
        f"the last new one in step {seen.index(seen[-1]) + 1}{_ending(_named(runs)[name])}."
        for name, seen in named.items()
        if seen
    ]
    ends = [f"{name} {seen[-1]:,}".strip() for name, seen in named.items() if seen]
    return Plot(figure, f"{title}: {joined(ends)} in all.", " ".join(sentences))


# --- reading what was given -------------------------------------------------------------------------


def _named(runs: object) -> dict[str, Any]:
    """Give names and runs; a run without a name has the name ""."""
    if isinstance(runs, Mapping) and "history" not in runs:
        if not runs:
            raise ValueError("There is nothing to plot: no run was given.")
        return {visible(str(name)): run for name, run in runs.items()}
    return {"": runs}


def _trace_of(run: object) -> Trace | None:
    return run.trace if isinstance(run, Run) else run if isinstance(run, Trace) else None


def _tokens(run: object) -> list[int]:
    trace = _trace_of(run)
    return _numbers(run) if trace is None else tokens_per_call(trace)


def _coins(run: object) -> list[int]:
    trace = _trace_of(run)
    if trace is None:
        return _numbers(run)
    return [event.entries for event in trace.events if event.kind == "ask"]


def _new_results(run: object) -> list[int]:
    trace = _trace_of(run)
    if trace is None:
        raise TypeError(f"A run to plot is a Run or a Trace, but was {describe(run)}.")
    seen: set[str] = set()
    after_step: list[int] = []
    for event in trace.events:
        if event.kind == "ask":
            after_step.append(len(seen))
        elif event.kind == "result" and event.text != "not run":
            seen.add(json_text((event.entry or {}).get("result")))
            after_step[-1] = len(seen)
    return after_step


def _numbers(given: object) -> list[int]:
    if isinstance(given, (list, tuple)) and all(type(number) in (int, float) for number in given):
        return list(given)
    raise TypeError(f"A run to plot is a Run, a Trace or a list of numbers, but was {describe(given)}.")


def _reason(item: object) -> str:
    if isinstance(item, (Run, Trace)):
        return figures(item).stopped or "not ended"
    if isinstance(item, str):
        return str(item)
    raise TypeError(f"A stop reason is text, a Run or a Trace, but was {describe(item)}.")


def _ending(run: object) -> str:
    return f", {figures(run).stopped}" if isinstance(run, (Run, Trace)) else ""


def _prefix(name: str) -> str:
    return f"{name}: " if name else ""


# --- drawing ----------------------------------------------------------------------------------------


def new_figure(parts: int, title: str, height: float = 3.4) -> tuple[Any, Sequence[Any]]:
    """Make a figure with `parts` axes side by side, outside pyplot, which would keep it for ever.

    Where matplotlib cannot be had, the figure keeps the data alone.
    """
    if not load_matplotlib():
        data = FigureData(parts, title)
        return data, data.axes
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.6, height), dpi=DPI, layout="constrained")
    figure.patch.set_alpha(0)
    figure.suptitle(title, color=INK)
    axes = [figure.add_subplot(1, parts, place + 1) for place in range(parts)]
    for one in axes:
        one.patch.set_alpha(0)
        one.spines[["top", "right"]].set_visible(False)
        one.spines[["left", "bottom"]].set_color(INK)
        one.tick_params(colors=INK)
        one.xaxis.label.set_color(INK)
        one.yaxis.label.set_color(INK)
    return figure, axes


def line_style(number: int, points: int) -> dict[str, Any]:
    look = number % len(COLOURS)
    often = max(1, points // 12)  # on a long line, a marker at every call would hide it
    # Where lines lie on top of each other, the lower one is wider and shows at both sides.
    size = {"linewidth": max(4.5 - 1.5 * number, 1.2), "markersize": max(10 - 2 * number, 5)}
    return {"color": COLOURS[look], "marker": MARKERS[look], "markevery": often, **size}


def name_axes(axes: Any, across: str, up: str) -> None:
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.set_ylim(bottom=0)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(visible=True, color=GRID)
    axes.set_axisbelow(True)
    label_lines(axes)


GRID = "#88888840"
LINE_HEIGHT = 0.085
"""The height of a label, as a part of the axes' height."""
EARLY = 0.8
"""A line that ends before this part of the width has its name beside its end."""


def label_lines(axes: Any) -> None:
    """Write each line's name at its end, in the order of the ends, none over another one."""
    low, high = axes.get_ylim()
    right = axes.get_xlim()[1]
    small: dict[str, Any] = {"color": INK, "fontsize": "small", "annotation_clip": False}
    ends: list[tuple[float, Any, Any, str]] = []
    for line, label in zip(*axes.get_legend_handles_labels(), strict=True):
        xs, ys, frame = line.get_xdata(), line.get_ydata(), line.get_transform()
        if frame == axes.get_xaxis_transform():  # a limit that stands upright
            axes.annotate(label, (xs[0], 1), xycoords=frame, ha="center", va="bottom", **small)
        elif frame == axes.get_yaxis_transform():  # a limit right across
            ends.append(((ys[-1] - low) / ((high - low) or 1), frame, (1, ys[-1]), label))
        elif len(xs) and xs[-1] < EARLY * right:  # a thread from here to the edge would look like more of it
            axes.annotate(label, (xs[-1], ys[-1]), (8, -4), textcoords="offset points", va="top", **small)
        elif len(xs):
            ends.append(((ys[-1] - low) / ((high - low) or 1), axes.transData, (xs[-1], ys[-1]), label))
    ends.sort(key=_end)
    for place, (_, frame, point, label) in zip(spread([end[0] for end in ends]), ends, strict=True):
        axes.annotate(
            label, point, (1.03, place), xycoords=frame, textcoords="axes fraction", va="center",
            arrowprops={"arrowstyle": "-", "color": INK, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 2},
            **small,
        )  # fmt: skip


def _end(end: tuple[float, Any, Any, str]) -> float:
    return end[0]


def spread(places: Sequence[float]) -> list[float]:
    """Move places (from the lowest on, as parts of a height) apart, so that a line of text fits between."""
    spread_out: list[float] = []
    for place in places:
        spread_out.append(max(place, spread_out[-1] + LINE_HEIGHT) if spread_out else place)
    over = max(0.0, spread_out[-1] - 1) if spread_out else 0.0
    if over:  # too far up: the rest goes down together
        top = 1.0
        for number in range(len(spread_out) - 1, -1, -1):
            spread_out[number] = min(spread_out[number], top)
            top = spread_out[number] - LINE_HEIGHT
    return spread_out
