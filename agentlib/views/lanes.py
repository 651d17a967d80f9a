"""The requests of one reply that ran at once, as lanes over one scale of time."""

from itertools import takewhile
from typing import Any, NamedTuple

from agentlib.trace import Event, Trace, is_waiting
from agentlib.views.describe import call_words, code, counted, entry_error
from agentlib.views.shown import Shown, TableCell, table

__all__ = ["Lane", "Lanes", "lanes_by_result", "lanes_data", "lanes_table", "lanes_words"]

_ENDINGS = {"not_finished": "not finished", "timed_out": "out of time"}
"""How a request ended, by the code of its error; any other one failed."""


class Lane(NamedTuple):
    """One request of several that ran at once.

    request: as Python writes it. outcome: how it ended, in words; failed: that is an error.
    began, ended: in seconds since the run began; None = the trace does not say.
    """

    request: str
    outcome: str
    failed: bool
    began: float | None
    ended: float | None

    @property
    def took(self) -> str:
        """How long it took, in words; "" if that is not known."""
        if self.began is None or self.ended is None:
            return ""
        return seconds_words(self.ended - self.began)


Lanes = tuple[Lane, ...]


def lanes_by_result(trace: Trace) -> dict[int, Lanes]:
    """Find the requests that ran at once, by the number of the event that is the first of their results.

    Where each waits for the one before, a result stands between the beginnings of any two.
    """
    found: dict[int, Lanes] = {}
    begun: list[int] = []
    for number, event in enumerate(() if trace.watched else trace.events):
        if event.kind == "act":
            begun.append(number)
            continue
        if event.kind == "result" and len(begun) > 1:
            found[number] = _lanes(trace, begun, number)
        begun = []
    return found


def _lanes(trace: Trace, begun: list[int], first_result: int) -> Lanes:
    came = takewhile(lambda event: event.kind == "result", trace.events[first_result:])
    results = {(event.entry or {})["id"]: event for event in came}
    known = any(event.seconds for event in trace.events)
    lanes = []
    for number in begun:
        act = trace.events[number]
        result = results.get(act.id)
        began, ended = (act.seconds, result.seconds) if known and result else (None, None)
        lanes.append(Lane(call_words(trace.request(number), 40), *_outcome(result), began, ended))
    return tuple(lanes)


def _outcome(result: Event | None) -> tuple[str, bool]:
    """Say how a request ended, and whether that is an error."""
    if result is None:
        return "no result", False
    if is_waiting(result):
        return "waits for a person", False
    if result.text == "not run":
        return "not run", False
    if entry_error(result.entry) is None:
        return "worked", False
    return _ENDINGS.get(str((result.entry or {})["result"]["error"]), "failed"), True


def seconds_words(seconds: float) -> str:
    """Write a time as words; an event's time is known to the millisecond."""
    return "under 0.001 s" if seconds < 0.001 else f"{seconds:.3f}".rstrip("0").rstrip(".") + " s"


def lanes_words(lanes: Lanes) -> str:
    """Say what the lanes show: how many requests, how long together, and how long one after another."""
    words = f"{counted(len(lanes), 'request')} at once"
    times = [(lane.began, lane.ended) for lane in lanes if lane.began is not None and lane.ended is not None]
    if len(times) < len(lanes):
        return f"{words}; how long each took is not known"
    whole = max(ended for _, ended in times) - min(began for began, _ in times)
    each = sum(ended - began for began, ended in times)
    return (
        f"{words}: {seconds_words(whole)} in all, {seconds_words(each)} if each had waited for the one before"
    )


def lanes_data(lanes: Lanes) -> dict[str, Any]:
    """Turn lanes into what the player draws: for each where it begins and how wide it is, in percent."""
    first = min((lane.began for lane in lanes if lane.began is not None), default=0.0)
    whole = max((lane.ended for lane in lanes if lane.ended is not None), default=first) - first
    rows = []
    for lane in lanes:
        row: dict[str, Any] = {"request": lane.request, "outcome": lane.outcome}
        if lane.failed:
            row["failed"] = True
        if lane.began is not None and lane.ended is not None:
            row["took"] = lane.took
            if whole > 0:
                row["from"] = round(100 * (lane.began - first) / whole, 1)
                row["wide"] = round(100 * (lane.ended - lane.began) / whole, 1)
        rows.append(row)
    return {"words": lanes_words(lanes), "rows": rows}


def lanes_table(step: int, lanes: Lanes) -> Shown:
    """Show the same as a table."""
    first = min((lane.began for lane in lanes if lane.began is not None), default=0.0)
    rows = []
    for lane in lanes:
        began = "" if lane.began is None else f"{lane.began - first:.3f}"
        ended = "" if lane.ended is None else f"{lane.ended - first:.3f}"
        outcome = TableCell(lane.outcome, ("error",) if lane.failed else ())
        cells = [TableCell(text, number=True) for text in (began, ended)]
        rows.append([TableCell(code(lane.request), code=True), *cells, outcome])
    heads = ("request", "begins (s)", "ends (s)", "how it ended")
    return table(f"Step {step}, {lanes_words(lanes)}", heads, rows)
