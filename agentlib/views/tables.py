"""Tables of a history, and of several runs side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from agentlib._run import Run
from agentlib.costs import entry_tokens
from agentlib.messages import calls_in, describe, error_text, is_error
from agentlib.trace import Event, Trace
from agentlib.views.describe import counted, entry_error, entry_words, role_of, visible
from agentlib.views.frames import request_key, tokens_per_call
from agentlib.views.shown import Shown, TableCell, table

__all__ = ["RunFigures", "figures", "history_cells", "history_of", "history_table", "repeats_in", "run_table"]


def history_table(history: object, title: str | None = None, *, first: int = 1) -> Shown:
    """Show a history as a table: who wrote each entry, and what it holds; repeats and errors are marked.

    history: a list of entries, a `Run`, a `Trace`, or a dict with "history" that your own loop returned.
    title: None = the number of entries. first: the number of the first entry, if it is a part of a history.
    Raises TypeError for anything else.
    """
    entries = history_of(history)
    title = f"History: {counted(len(entries), 'entry', 'entries')}" if title is None else visible(title)
    heads = ("#", "who", "content")
    return table(title, heads, history_cells(entries, repeats_in(entries), first=first))


def history_cells(
    entries: Sequence[Any], repeats: Sequence[int], new: Sequence[int] = (), first: int = 1
) -> list[list[TableCell | str]]:
    """Make the rows of a history table. repeats, new: places (from 0) that are marked so."""
    rows: list[list[TableCell | str]] = []
    marked = (("repeat", frozenset(repeats)), ("new", frozenset(new)))
    for place, entry in enumerate(entries):
        marks = [word for word, places in marked if place in places]
        if entry_error(entry) is not None:
            marks.append("error")
        number = TableCell(str(first + place), number=True)
        rows.append([number, role_of(entry), TableCell(entry_words(entry), tuple(marks))])
    return rows


def history_of(source: object) -> list[Any]:
    """Find the history in a list of entries, a Run, a Trace, or a dict with "history"."""
    if isinstance(source, Run):
        return source.history
    if isinstance(source, Trace):
        return source.history_after(len(source.events))
    if isinstance(source, Mapping) and isinstance(source.get("history"), (list, tuple)):
        source = source["history"]
    if isinstance(source, (list, tuple)):
        return list(source)
    raise TypeError(f"A history is a list of entries, a Run or a Trace, but was {describe(source)}.")


def repeats_in(entries: Sequence[Any]) -> list[int]:
    """List the places of requests that were made before: the same tool with the same input."""
    seen: set[str] = set()
    places = []
    for place, entry in enumerate(entries):
        keys = {request_key(call) for call in calls_in(entry)}
        if keys & seen:
            places.append(place)
        seen |= keys
    return places


@dataclass(frozen=True)
class RunFigures:
    """What a run came to, as far as it is known; None = not known.

    coins: entries read, summed over the calls. tokens_read: the same in (estimated) tokens.
    """

    answer: object
    stopped: str | None
    steps: int | None
    entries: int
    tool_runs: int | None
    errors: int | None
    repeats: int
    coins: int | None
    tokens_read: int | None


def figures(source: object) -> RunFigures:
    """Read the figures of a Run, a Trace, or the dict that your own loop returned.

    A dict should have "history"; what it does not say is worked out from that where this is possible.
    Raises TypeError for anything else.
    """
    if isinstance(source, Run):
        return RunFigures(
            source.answer, str(source.stopped), source.steps, len(source.history), source.tool_runs,
            source.errors, len(repeats_in(source.history)), source.coins, source.usage.input_tokens,
        )  # fmt: skip
    if isinstance(source, Trace):
        return _trace_figures(source)
    if isinstance(source, Mapping):
        return _dict_figures(source)
    raise TypeError(
        f"A run is a Run, a Trace or what your loop returned as a dict, but was {describe(source)}."
    )


def _trace_figures(trace: Trace) -> RunFigures:
    history = history_of(trace)
    results = [event for event in trace.events if event.kind == "result"]
    errors = _errors_watched(trace) if trace.watched else sum(map(_failed, results))
    errors += sum(
        event.kind == "reply" and (event.entry or {}).get("type") == "invalid" for event in trace.events
    )
    return RunFigures(
        trace.answer, trace.stopped, trace.steps, len(history), sum(event.ran for event in results), errors,
        len(repeats_in(history)), sum(event.entries for event in trace.events if event.kind == "ask"),
        sum(tokens_per_call(trace)),
    )  # fmt: skip


def _failed(result: Event) -> bool:
    return is_error((result.entry or {}).get("result")) and result.text != "not run"


def _errors_watched(trace: Trace) -> int:
    """Count the errors of a watched loop, step by step: those of its tools, or those in its history if more.

    An error that the loop writes itself, for a tool that is not there, stands in its history alone; one that
    it writes down as plain text, or not at all, is known from the tool alone.
    """
    errors = raised = before = 0
    marked: list[bool] = []
    now = 0  # so many of these are True
    for event in trace.events:
        if event.kind == "history":
            added = [entry_error(entry) is not None for entry in event.read or []]
            now += sum(added) - sum(marked[event.entries :])
            marked[event.entries :] = added
        elif event.kind == "result":
            raised += _failed(event)
        elif event.kind == "reply":
            errors += max(raised, now - before)
            raised, before = 0, now
    return errors + max(raised, now - before)


def _dict_figures(returned: Mapping[str, Any]) -> RunFigures:
    history = history_of(returned) if "history" in returned else []
    results = [entry["result"] for entry in history if role_of(entry) == "tool" and "result" in entry]
    failed = sum(error_text(result) is not None for result in results)
    steps = _number(returned.get("steps"))
    read = _lengths_read(history, steps)
    sizes = [entry_tokens(entry) if isinstance(entry, dict) else 1 for entry in history]
    upto = list(accumulate(sizes, initial=0))
    stopped = returned.get("stopped")
    return RunFigures(
        returned.get("answer"),
        None if stopped is None else str(stopped),
        steps,
        len(history),
        _number(returned.get("tool_runs"), len(results) if history else None),
        _number(returned.get("errors"), failed if history else None),
        len(repeats_in(history)),
        _number(returned.get("coins"), None if read is None else sum(read)),
        _number(returned.get("tokens_read"), None if read is None else sum(upto[length] for length in read)),
    )


def _lengths_read(history: Sequence[Any], steps: int | None) -> list[int] | None:
    """Work out how many entries each call read: all that stood before its reply. None = it is not known."""
    read = [place for place, entry in enumerate(history) if role_of(entry) == "model"]
    if steps == len(read) + 1:
        read.append(len(history))  # the last reply, the answer, was not recorded
    return read if steps == len(read) else None


def _number(value: object, otherwise: int | None = None) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


def run_table(runs: Mapping[str, object], title: str = "Runs side by side") -> Shown:
    """Show runs side by side: answer, stop reason, steps, entries, tools run, errors, coins, tokens read.

    runs: names and Runs, Traces, or the dicts that your own loops returned, with "answer", "stopped",
    "steps" and "history" in them.
    Raises TypeError if it is not such a mapping, ValueError if it is empty.
    """
    if not isinstance(runs, Mapping):
        raise TypeError(f'runs are names and runs, such as {{"A": run}}, but was {describe(runs)}.')
    if not runs:
        raise ValueError("run_table needs at least one run, but got none.")
    read = {visible(str(name)): figures(run) for name, run in runs.items()}
    rows: list[list[TableCell | str]] = [
        ["answer", *(_words(one.answer, "no answer") for one in read.values())],
        ["stopped", *(_words(one.stopped, "not said") for one in read.values())],
    ]
    for name, label in _NUMBERS.items():
        rows.append([label, *(_figure(getattr(one, name)) for one in read.values())])
    return table(title, ("", *read), rows)


_NUMBERS = {
    "steps": "steps (model calls)", "entries": "entries in the history", "tool_runs": "tools run",
    "errors": "errors", "repeats": "repeated requests", "coins": "coins (entries read)",
    "tokens_read": "tokens read",
}  # fmt: skip


def _words(value: object, otherwise: str) -> str:
    return otherwise if value is None else visible(str(value))


def _figure(value: int | None) -> TableCell:
    return TableCell("not known" if value is None else f"{value:,}", number=True)
