"""What a check found, in three forms: HTML for a notebook, text for a terminal, plain data for JSON."""

import json
from dataclasses import asdict, dataclass, field
from functools import partial
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Protocol

from agentlib.course.checking.saw import Saw
from agentlib.views.on_press import on_press
from agentlib.views.shown import Html, Shown, bold, caption_html, display_both, folded, joined_html, tag

if TYPE_CHECKING:
    from agentlib.views.tracer import Tracer

__all__ = ["NOT_REACHED", "NOT_YET", "OK", "CheckReport", "CriterionResult"]

OK, NOT_YET, NOT_REACHED = "ok", "not yet", "not reached"
WIDTH = 96
"""Columns of the text form."""


@dataclass(frozen=True)
class CriterionResult:
    """What became of one criterion.

    status: "ok", "not yet", or "not reached" (it could not be judged before another one is met).
    part: its number among the parts of the task, from 1; 0 = it has none.
    wanted: what it asks for. seen: what was seen instead; "" unless "not yet".
    hints: a nudge, then more; shown only where they are needed.
    scenario: the run in which that was seen. seen_at: the model call at which it can be seen; seen_after: the
    one after which; 0 = at the end. saw: what the model and the tools saw in that run.
    """

    id: str
    status: str
    points: int
    max_points: int
    wanted: str
    seen: str
    hints: tuple[str, str]
    part: int = 0
    scenario: str = ""
    seen_at: int = 0
    seen_after: int = 0
    saw: tuple[Saw, ...] = ()

    @property
    def title(self) -> str:
        """What is wanted, with the number of its part before it."""
        return f"Part {self.part}: {self.wanted}" if self.part else self.wanted

    @property
    def passed(self) -> bool:
        """True if the criterion is met."""
        return self.status == OK


class Watcher(Protocol):
    """Makes the runs of a check anew."""

    def tracer(self, result: CriterionResult) -> "Tracer":
        """Show the run in which a part was not met."""


@dataclass(frozen=True)
class CheckReport:
    """The result of one check.

    exercise, title: which exercise. seed: the seed of the data; the same seed gives the same data again.
    started: False = the untouched stub. results: one a criterion, in order. notes: what else should be known.
    call: what a learner writes to get this check again. watcher: makes its runs anew, to be looked at; None
    where the learner's functions are not here.
    """

    exercise: str
    title: str
    seed: int
    started: bool
    results: tuple[CriterionResult, ...]
    notes: tuple[str, ...] = ()
    call: str = ""
    watcher: "Watcher | None" = field(default=None, compare=False, repr=False)

    @property
    def points(self) -> int:
        """Points earned: those of the criteria that are met."""
        return sum(result.points for result in self.results)

    @property
    def max_points(self) -> int:
        """Points that can be earned."""
        return sum(result.max_points for result in self.results)

    @property
    def passed(self) -> bool:
        """True if there is something to judge and every criterion is met."""
        return self.started and all(result.passed for result in self.results)

    def as_dict(self) -> dict[str, Any]:
        """Give everything as plain data, ready for JSON."""
        return {
            "exercise": self.exercise,
            "title": self.title,
            "seed": self.seed,
            "started": self.started,
            "passed": self.passed,
            "points": self.points,
            "max_points": self.max_points,
            "results": [
                {
                    "id": result.id,
                    "part": result.part,
                    "status": result.status,
                    "passed": result.passed,
                    "points": result.points,
                    "max_points": result.max_points,
                    "wanted": result.wanted,
                    "seen": result.seen,
                    "hints": list(result.hints) if result.status == NOT_YET else [],
                    "saw": [asdict(row) for row in result.saw],
                }
                for result in self.results
            ],
            "notes": list(self.notes),
        }

    def as_json(self) -> str:
        """Give everything as JSON text."""
        return json.dumps(self.as_dict(), ensure_ascii=False, indent=2)

    @property
    def verdict(self) -> str:
        """The last line: what to do now."""
        if not self.started:
            todo = "Write your code in place of `raise NotImplementedError()`, then run this again."
            return f"{self.short_name}: not started yet. {todo}"
        if self.passed:
            return "All met. Well done."
        missing = next(result for result in self.results if result.status == NOT_YET)
        return f"Next, {missing.title[:1].lower()}{missing.title[1:]}."

    @property
    def short_name(self) -> str:
        """The name as a reader says it: "ex01 write the loop"."""
        return self.exercise.replace("_", " ")

    def text(self, more: bool = False) -> str:
        """Give the text for a terminal. more: with the second hints."""
        if not self.started:
            return self.verdict
        score = f"{self.points} of {self.max_points} points"
        lines = [f"{self.short_name:<{WIDTH - len(score)}}{score}"]
        for result in self.results:
            lines.extend(_lines(result, more))
        lines.append(self.verdict)
        lines.extend(self.notes)
        if self.watchable and self.call:
            lines.append(f"To watch this run, line by line, in your notebook: {self.call}.watch()")
        lines.append(f"The data of this check: seed {self.seed}. With seed={self.seed} it comes again.")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    @property
    def watchable(self) -> list[CriterionResult]:
        """The results whose run can be watched: those that are not yet met."""
        return [result for result in self.results if self.started and result.status == NOT_YET]

    def watch(self, criterion: str = "") -> "Tracer":
        """Show the run in which a part was not met, line by line, where that can be seen.

        criterion: the id of the part, "" = the first one that is not yet met.
        Raises ValueError if no such part is "not yet", or the learner's functions are not here.
        """
        found = [result for result in self.watchable if criterion in ("", result.id)]
        if not found:
            ids = ", ".join(result.id for result in self.watchable) or "none"
            raise ValueError(f"Only a part that is not yet met can be watched; here: {ids}.")
        if self.watcher is None:
            raise ValueError(f"This report came from another process. In your notebook: {self.call}.watch()")
        return self.watcher.tracer(found[0])

    def _ipython_display_(self) -> None:
        if self.watcher is None or not self.watchable:
            raise NotImplementedError  # IPython then shows the HTML, as of any other value
        buttons = {
            f"watch this run: {result.title}": partial(self.watcher.tracer, result)
            for result in self.watchable
        }
        display_both(
            on_press(buttons), "buttons that show these runs", Shown(Html(self._repr_html_()), self.text())
        )

    def _repr_html_(self) -> str:
        if not self.started:
            return tag("p", self.verdict)
        heads = ("What is wanted", "State", "Points", "What was seen, and a hint")
        caption = f"{self.short_name}: {self.points} of {self.max_points} points"
        again = f"The data of this check: seed {self.seed}. With `seed={self.seed}` it comes again."
        return joined_html(
            tag(
                "table",
                tag("caption", bold(caption), style="text-align:left;caption-side:top"),
                tag("thead", tag("tr", *(tag("th", head, scope="col", style=LEFT) for head in heads))),
                tag("tbody", *map(_row, self.results)),
            ),
            *(tag("p", caption_html(line)) for line in (self.verdict, *self.notes, again)),
        )


MARKS = {OK: "ok", NOT_YET: "not yet", NOT_REACHED: "-"}


def _lines(result: CriterionResult, more: bool) -> list[str]:
    right = {OK: "", NOT_YET: _points(result), NOT_REACHED: "not reached"}[result.status]
    first, *rest = _wrapped(result.title, WIDTH - 11 - 13)
    lines = [f"  {MARKS[result.status]:<9}{first:<{WIDTH - 11 - len(right)}}{right}".rstrip()]
    lines += [f"{'':11}{line}" for line in rest]
    if result.status == NOT_YET:
        parts = [("seen: ", result.seen), ("hint: ", result.hints[0])]
        if more:
            parts.append(("more: ", result.hints[1]))
        for label, words in parts:
            for number, line in enumerate(_wrapped(words, WIDTH - 17)):
                lines.append(f"{'':11}{label if number == 0 else '      '}{line}")
    return lines


def _points(result: CriterionResult) -> str:
    return f"{result.points} of {result.max_points}" if result.max_points else "no points"


def _wrapped(text: str, width: int) -> list[str]:
    return wrap(" ".join(text.split()), width, break_long_words=False, break_on_hyphens=False) or [""]


# Colours that colour-blind people can tell apart, on a light and on a dark page; the words say the same.
COLOURS = {OK: "#0072b2", NOT_YET: "#d55e00", NOT_REACHED: "#888888"}


LEFT = "text-align:left"


def _row(result: CriterionResult) -> Html:
    seen = []
    if result.status == NOT_YET:
        seen = [
            tag("div", "Seen: ", caption_html(result.seen)),
            tag("div", "Hint: ", caption_html(result.hints[0])),
            folded("A second hint", caption_html(result.hints[1])),
        ]
    bar = f"border-left:0.4em solid {COLOURS[result.status]};padding-left:0.4em;white-space:nowrap"
    return tag(
        "tr",
        tag("th", caption_html(result.title), scope="row", style=f"{LEFT};font-weight:normal"),
        tag("td", tag("strong", result.status, style=bar), style=LEFT),
        tag("td", _points(result), style=LEFT),
        tag("td", *seen, style=LEFT),
    )
