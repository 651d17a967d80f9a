"""A plot that follows its sliders: it is drawn once, and then only its lines are redrawn.

Axes and their labels are kept as pixels, so that from slider to picture it takes a few milliseconds; drawing
everything with pyplot takes a hundred. The upright axis reaches as far as the data that are shown. While a
slider moves it stays, or makes room where a line would leave it, so that a line that grows is seen to grow.
"""

import asyncio
import io
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from agentlib._json import whole_number
from agentlib.messages import describe
from agentlib.views.plot_data import FigureData
from agentlib.views.plots import INK, Plot, line_style, name_axes, new_figure, picture_html, spread
from agentlib.views.shown import Html, display_both, static_html

__all__ = ["Moving", "moving"]

Curves = Callable[..., Mapping[str, Sequence[float]]]
REST_SECONDS = 0.6
"""A slider that has stood still for so long has come to rest."""


def step_of(minimum: int, maximum: int) -> int:
    """How far an arrow key moves a slider: 1, or 10 or 100 where its range has more than three digits."""
    return int(10 ** max(0, len(str(maximum - minimum)) - 3))


class Moving:
    """A plot with sliders.

    values: what the sliders stand at. sentence: what the plot shows now. png(): the picture now.
    box: sliders and picture as one widget, made when it is first asked for.
    """

    def __init__(
        self, curves: Curves, say: Callable[..., str], sliders: Mapping[str, tuple[int, int, int]],
        *, title: str, across: str, up: str, labels: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.labels = {name: (labels or {}).get(name, name.replace("_", " ")) for name in sliders}
        self.curves, self.say = curves, say
        self.sliders = {name: _limits(name, limits) for name, limits in sliders.items()}
        self.values = {name: start for name, (_, _, start) in self.sliders.items()}
        self.start = self.values.copy()
        self.title = title
        widest = curves(**{name: maximum for name, (_, maximum, _) in self.sliders.items()})
        self.figure, (self.axes,) = new_figure(1, title)
        self.lines = {
            name: self.axes.plot([], [], label=name, **line_style(number, 1))[0]
            for number, name in enumerate(widest)
        }
        self.axes.set_xlim(0, 1.02 * max((len(ys) for ys in widest.values()), default=1))
        name_axes(self.axes, across, up)
        self.names = {
            name: self.axes.text(0, 0, name, color=INK, fontsize="small", va="center", in_layout=False)
            for name in widest
        }
        room = min(0.35, 0.03 + 0.011 * max(map(len, widest), default=0))  # for a name at the right edge
        self.figure.get_layout_engine().set(rect=(0, 0, 1 - room, 1))
        self.top = 0.0
        self._background: Any = None
        self._rest: Any = None
        self.settle()
        self._box: Any = None

    @property
    def sentence(self) -> str:
        """What the plot shows at the present values."""
        return f"{self.title}: {self.say(**self.values)}"

    def move(self, **values: int) -> None:
        """Set some of the values. Raises ValueError for a name that has no slider."""
        unknown = values.keys() - self.values.keys()
        if unknown:
            raise ValueError(f"There is no slider named {sorted(unknown)[0]}; there are {list(self.values)}.")
        self.values |= values

    def settle(self) -> None:
        """Let the upright axis reach as far as the data that are shown now."""
        self._reach(1.05 * self._highest())

    def _highest(self) -> float:
        return max((max(ys, default=0) for ys in self.curves(**self.values).values()), default=0) or 1.0

    def _reach(self, top: float) -> None:
        if top != self.top:
            self.top = top
            self.axes.set_ylim(0, top)
            self._background = None

    def png(self) -> bytes:
        """Draw the lines at the present values over the kept axes."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from PIL import Image

        if self._highest() > self.top:
            self._reach(1.5 * self._highest())
        if self._background is None:
            self.canvas = FigureCanvasAgg(self.figure)
            for artist in (*self.lines.values(), *self.names.values()):
                artist.set_animated(True)  # left out of the kept picture
            self.canvas.draw()  # type: ignore[no-untyped-call]
            kept = self.canvas.copy_from_bbox(self.figure.bbox)  # type: ignore[no-untyped-call]
            self._background = kept
        self.canvas.restore_region(self._background)  # type: ignore[no-untyped-call]
        for name, ys in self.curves(**self.values).items():
            line = self.lines[name]
            line.set_data(range(1, len(ys) + 1), ys)
            line.set_markevery(max(1, len(ys) // 12))
            self.axes.draw_artist(line)
        self._draw_names()
        drawn = io.BytesIO()
        pixels = self.canvas.buffer_rgba()  # type: ignore[no-untyped-call]
        picture = Image.frombuffer("RGBA", self.canvas.get_width_height(), pixels)
        picture.save(drawn, format="png", compress_level=1)
        return drawn.getvalue()

    def _draw_names(self) -> None:
        """Write each line's name beside its end, none over another one."""
        ends = sorted(
            (ys[-1] / self.top, len(ys), name) for name, ys in self.curves(**self.values).items() if len(ys)
        )
        # The lowest name keeps off the axis.
        for place, (_, x, name) in zip(spread([max(end[0], 0.03) for end in ends]), ends, strict=True):
            self.names[name].set_position((x + 0.015 * self.axes.get_xlim()[1], place * self.top))
            self.axes.draw_artist(self.names[name])

    def page(self) -> Html:
        """The picture and its sentence as HTML."""
        if not isinstance(self.figure, FigureData):
            return picture_html(self.png(), self.sentence)
        for name, ys in self.curves(**self.values).items():
            self.lines[name].set_data(range(1, len(ys) + 1), ys)
        return self.figure.page(self.sentence)

    def still(self) -> Plot:
        """The plot as it starts, for places without widgets."""
        now, self.values, top = self.values, self.start.copy(), self.top
        self.settle()
        still = Still(self.page(), self.sentence)
        self.values = now
        self._reach(top)
        return still

    @property
    def box(self) -> Any:
        """Sliders and picture as one widget."""
        if self._box is None:
            import ipywidgets

            from agentlib.views.guard import guarded

            page = ipywidgets.HTML(self.page())

            def rested() -> None:
                self.settle()
                page.value = self.page()

            def moved(name: str, change: Any) -> None:
                self.move(**{name: change["new"]})
                page.value = self.page()
                self._after_rest(rested)

            made = []
            for name, (minimum, maximum, start) in self.sliders.items():
                slider = ipywidgets.IntSlider(
                    value=start, min=minimum, max=maximum, step=step_of(minimum, maximum),
                    description=self.labels[name],
                )  # fmt: skip
                slider.style.description_width = "initial"
                slider.observe(partial(moved, name), names="value")
                made.append(slider)
            self._box = guarded(*made, page)
        return self._box

    def _after_rest(self, do: Callable[[], None]) -> None:
        """Do something when no slider has moved for a while; a kernel has the loop that it takes."""
        if self._rest is not None:
            self._rest.cancel()
        try:
            self._rest = asyncio.get_running_loop().call_later(REST_SECONDS, do)
        except RuntimeError:  # nobody waits here
            self._rest = None

    def _ipython_display_(self) -> None:
        display_both(self.box, "the sliders", self.still())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return self.still()._repr_mimebundle_()

    def __str__(self) -> str:
        return str(self.still())

    __repr__ = __str__


class Still(Plot):
    """A picture that has been drawn already; folded where the live one stands above it."""

    def __init__(self, page: Html, sentence: str) -> None:
        self._page = page
        self.sentence, self.figures = sentence, ""

    def _repr_html_(self) -> str:
        return static_html("The plot as it starts", self._page)


def moving(
    curves: Curves, say: Callable[..., str], *, title: str, across: str = "model call", up: str,
    labels: Mapping[str, str] | None = None, **sliders: tuple[int, int, int],
) -> Moving:  # fmt: skip
    """Make a plot with sliders: `moving(curves, say, title="Tokens read", up="tokens", steps=(1, 50, 20))`.

    curves: gives names and values for the calls 1, 2, 3, ..., for the values of the sliders, given by name.
    say: gives, for the same values, a sentence on what is seen. across, up: the axes, with units.
    labels: what stands at a slider, with its unit: {"t": "t, tokens per step"}; None = its name.
    sliders: names and (minimum, maximum, start), whole numbers. Raises ValueError for limits that do not fit.
    """
    return Moving(curves, say, sliders, title=title, across=across, up=up, labels=labels)


def _limits(name: str, limits: object) -> tuple[int, int, int]:
    if not isinstance(limits, tuple) or len(limits) != 3:
        raise ValueError(f"The slider {name} is (minimum, maximum, start), but was {describe(limits)}.")
    minimum, maximum, start = (whole_number(f"{name}: {part}", value, minimum=0) for part, value in
                          zip(("minimum", "maximum", "start"), limits, strict=True))  # fmt: skip
    if not minimum <= start <= maximum:
        raise ValueError(
            f"The slider {name} starts at {start}, which is not between {minimum} and {maximum}."
        )
    return minimum, maximum, start
