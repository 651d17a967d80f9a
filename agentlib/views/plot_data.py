"""A plot's data as a table, where matplotlib cannot be had: a browser that does not get it."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from agentlib.views.shown import Html, Shown, TableCell, folded, joined_html, table, tag

__all__ = ["AxesData", "FigureData", "LineData"]

MAX_ROWS = 12
"""A longer line is shown at so many places, the first and the last among them."""

WHY = "as a table: the picture needs matplotlib, which could not be loaded here"


class LineData:
    """The points of one line."""

    def __init__(self, xs: Iterable[float], ys: Iterable[float], label: str) -> None:
        self.label = label
        self.set_data(xs, ys)

    def set_data(self, xs: Iterable[float], ys: Iterable[float]) -> None:
        """Put other points in their place."""
        self.points = dict(zip(xs, ys, strict=True))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return _no_looks(name)


class AxesData:
    """Stands in for matplotlib's axes: keeps what is drawn, passes over how it looks."""

    def __init__(self) -> None:
        self.lines: list[LineData] = []
        self.limits: list[str] = []
        self.bars: list[tuple[str, str]] = []
        self.across = self.up = ""

    def plot(self, xs: Iterable[float], ys: Iterable[float], label: str = "", **look: Any) -> list[LineData]:
        """Keep a line."""
        self.lines.append(LineData(xs, ys, label))
        return self.lines[-1:]

    def barh(self, name: str, value: float, **look: Any) -> None:
        """Keep a bar."""
        self.bars.append((name, _number(value)))

    def errorbar(self, x: float, name: str, xerr: Sequence[Sequence[float]], **look: Any) -> None:
        """Keep a value with its interval."""
        (below,), (above,) = xerr
        interval = f"{_number(x)} ({_number(x - below)} to {_number(x + above)})"
        self.bars.append((name, interval))

    def axhline(self, y: float, label: str = "", **look: Any) -> None:
        """Keep a limit; its label says how high it is."""
        self.limits.append(label)

    axvline = axhline

    def set_xlabel(self, text: str) -> None:
        """Keep what the values across are."""
        self.across = text

    def set_ylabel(self, text: str) -> None:
        """Keep what the values upwards are."""
        self.up = text

    def get_legend_handles_labels(self) -> tuple[list[Any], list[str]]:
        """Give no line that wants a name at its end: the table's heads are that."""
        return [], []

    def get_ylim(self) -> tuple[float, float]:
        """Give limits for what is laid out by them."""
        return 0.0, 1.0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return _no_looks(name)

    def table(self, title: str) -> Shown:
        """Show the data as a table."""
        title = "; ".join([f"{title}, {WHY}", *filter(None, self.limits)])
        if self.bars:
            return table(title, ("", self.across), [[name, _cell(value)] for name, value in self.bars])
        heads = [line.label or self.up for line in self.lines]
        if len(heads) > 1 and self.up:
            title = f"{title} ({self.up})"
        places = _some(sorted({x for line in self.lines for x in line.points}))
        rows: list[list[TableCell | str]] = []
        for x in places:
            values = [_cell(_number(line.points[x]) if x in line.points else "") for line in self.lines]
            rows.append([_number(x), *values])
        return table(title, (self.across, *heads), rows)


class FigureData:
    """Stands in for matplotlib's figure where there is none. title: what stands above it."""

    def __init__(self, parts: int, title: str) -> None:
        self.title = title
        self.axes = [AxesData() for _ in range(parts)]

    def page(self, sentence: str, figures: str = "") -> Html:
        """Show the tables, with the sentence that would stand below the picture, and its figures."""
        tables = joined_html(*(one.table(self.title).html for one in self.axes))
        more = [folded("The figures", tag("p", figures))] if figures else []
        return tag("figure", tables, tag("figcaption", sentence), *more, style="margin:0")

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return _no_looks(name)


class _Passed:
    """What can be called, looked into and set, and does nothing."""

    def __call__(self, *args: Any, **kwargs: Any) -> "_Passed":
        return self

    def __getitem__(self, key: Any) -> "_Passed":
        return self

    def __getattr__(self, name: str) -> "_Passed":
        return _no_looks(name)


def _no_looks(name: str) -> _Passed:
    if name.startswith("__"):  # what Python, and not a plot, asks for
        raise AttributeError(name)
    return _Passed()


def _cell(value: str) -> TableCell:
    return TableCell(value, number=True)


def _number(value: float) -> str:
    return f"{round(value, 1):,g}" if abs(value) < 1_000 else f"{value:,.0f}"


def _some(places: Sequence[float]) -> Sequence[float]:
    last = len(places) - 1
    if last < MAX_ROWS:
        return places
    chosen = {round(last * number / (MAX_ROWS - 1)) for number in range(MAX_ROWS)}
    return [places[number] for number in sorted(chosen)]
