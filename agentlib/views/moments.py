"""What belongs together in a watched run: a statement with what it brought about, and what ran after it."""

from collections.abc import Iterator, Sequence

from agentlib.trace import Event
from agentlib.watch.recorder import MAX_LINES_IN_A_ROW
from agentlib.watch.source import Source

__all__ = ["asking_lines", "grouped", "next_lines", "rows_of_lines"]


def grouped(source: Source, events: Sequence[Event]) -> Iterator[tuple[int, int]]:
    """Group the events: a statement and what it brings about; a second call in it starts a new group."""
    start, seen, line, call = 0, set[str](), 0, 0
    for number, event in enumerate(events):
        at = event.line if event.kind == "line" else event.made_at or line
        elsewhere = not source.same_statement(line, at)
        if event.kind == "line" and at == line:
            elsewhere = (event.call != call or not source.lines) and source.kind(at) != "class"
        begins = (
            elsewhere
            or event.kind in ("crash", "stop")
            or (event.kind in ("ask", "act") and event.kind in seen)
            or events[start].kind in ("crash", "stop")
        )
        if number > start and begins:
            yield start, number
            start, seen = number, set()
        if event.kind == "line":
            call = event.call
        line = at
        seen.add(event.kind)
    if events:
        yield start, len(events)


def rows_of_lines(events: Sequence[Event]) -> set[int]:
    """List the events behind which lines may be missing: more ran in a row than are noted."""
    found, row = set[int](), 0
    for number, event in enumerate(events):
        goes_on = event.kind in ("line", "stop", "crash")
        if row == MAX_LINES_IN_A_ROW and goes_on:
            found.add(number - 1)
        row = row + 1 if event.kind == "line" else 0
    return found


def next_lines(events: Sequence[Event]) -> dict[int, int]:
    """Give for the number of each line event that of the next one of the same call, if there is one."""
    latest: dict[int, int] = {}
    following: dict[int, int] = {}
    for number in range(len(events) - 1, -1, -1):
        event = events[number]
        if event.kind == "line":
            if event.call in latest:
                following[number] = latest[event.call]
            latest[event.call] = number
    return following


def asking_lines(events: Sequence[Event]) -> set[int]:
    """List the lines at which the model was asked, and those of the calls around these."""
    found: set[int] = set()
    line = 0
    last: dict[int, int] = {}
    callers: dict[int, int] = {}
    for event in events:
        if event.kind == "line":
            line = last[event.call] = event.line
            callers.setdefault(event.call, event.caller)
        elif event.kind == "ask":
            found.add(event.made_at or line)
            call = event.call
            while call in last and last[call] not in found:
                found.add(last[call])
                call = callers[call]
    return found
