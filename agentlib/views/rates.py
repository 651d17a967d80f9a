"""A plot of pass rates, each with its interval: a few lucky runs do not make a better agent.

It stands apart from the other plots, since `agentlib.evals` takes long to load and few lessons need it.
"""

from collections.abc import Mapping

from agentlib.evals import Report
from agentlib.messages import describe
from agentlib.views.describe import joined, visible
from agentlib.views.plots import COLOURS, GRID, MARKERS, Plot, new_figure

__all__ = ["pass_rates"]


def pass_rates(reports: object, *, confidence: float = 0.95, title: str = "Runs that passed") -> Plot:
    """Plot the pass rate of each report as a point, and its Wilson interval as a bar.

    reports: a `Report`, several in a list, or names and reports, such as `report.by_case()`.
    confidence: how often such an interval holds the true rate, between 0 and 1.
    Raises TypeError for anything else, ValueError if a report holds no run.
    """
    named = _named(reports)
    figure, (axes,) = new_figure(1, title, height=1.4 + 0.45 * len(named))
    sentences = []
    for number, (name, report) in enumerate(named.items()):
        rate = report.pass_rate
        if rate is None:
            raise ValueError(f"There is nothing to plot: {name} has no run.")
        low, high = report.interval(confidence)
        look = number % len(COLOURS)
        axes.errorbar(
            100 * rate, name, xerr=[[100 * (rate - low)], [100 * (high - rate)]], color=COLOURS[look],
            marker=MARKERS[look], markersize=9, linewidth=2.5, capsize=6,
        )  # fmt: skip
        sentences.append(f"{name}: {report.passed} of {len(report)} = {rate:.0%} ({low:.0%} to {high:.0%}).")
    axes.invert_yaxis()
    axes.margins(y=0.3)
    axes.set_xlim(-2, 102)
    axes.set_xlabel(f"runs that passed, in % (bar: {confidence:.0%} interval)")
    axes.grid(visible=True, axis="x", color=GRID)
    axes.set_axisbelow(True)
    rates = joined([f"{name} {report.pass_rate or 0:.0%}" for name, report in named.items()])
    intervals = f"ith the {confidence:.0%} interval: {' '.join(sentences)}"
    if len(sentences) == 1:
        return Plot(figure, f"{title}, w{intervals}")
    return Plot(figure, f"{title}: {rates}.", f"W{intervals}")


def _named(reports: object) -> dict[str, Report]:
    if isinstance(reports, Report):
        reports = [reports]
    if isinstance(reports, (list, tuple)) and all(isinstance(one, Report) for one in reports):
        if len({one.version for one in reports}) < len(reports):
            raise ValueError("Two reports have one name; give names and reports in a dict.")
        reports = {one.version: one for one in reports}
    if not isinstance(reports, Mapping) or not all(isinstance(one, Report) for one in reports.values()):
        raise TypeError(f"reports are Reports, or names and Reports, but were {describe(reports)}.")
    if not reports:
        raise ValueError("There is nothing to plot: no report was given.")
    return {visible(str(name)): report for name, report in reports.items()}
