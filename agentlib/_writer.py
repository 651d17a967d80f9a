"""A trace that is written line by line as the run goes, so that it can go on from there after a kill."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from agentlib._json import json_ready
from agentlib.messages import Entry
from agentlib.trace import TRACE_VERSION, Event, Trace

__all__ = ["TraceWriter", "trace_writer"]


def trace_writer(path: str | Path) -> "TraceWriter":
    """Make an `on_event` that writes each event into a file as it happens: `on_event=trace_writer(path)`.

    The file is what `Trace.save` writes. Each line is handed to the system at once, so that it is still there
    when the program is ended at any moment (a computer that loses its power may lose the last lines). That a
    tool is about to run is written before it runs; so `agentlib.resume` knows what has run.
    The run raises FileExistsError before its first model call if the file holds another run: nothing is
    written over. `resume` goes on in the file that holds the trace which it was given.
    """
    return TraceWriter(path)


class TraceWriter:
    """What `trace_writer` makes. path: the file."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._file: BinaryIO | None = None

    def begin_trace(self, about: Entry, events: Sequence[Event]) -> None:
        """Write the first line, or make sure that the file holds these events of a run that goes on."""
        there = Trace.load(self.path) if self.path.exists() and self.path.stat().st_size else None
        if there is not None and there.events:
            self._go_on(there, events)
            self._file = self.path.open("ab")
            return
        self._file = self.path.open("wb")
        self._write({"agentlib_trace": TRACE_VERSION, **json_ready(about)[0]})
        for event in events:
            self._write(event.as_dict())

    def __call__(self, event: Event) -> None:
        """Write one event. After the last one the file is closed."""
        if self._file is None:  # a loop that does not tell what is known of the run as a whole
            self.begin_trace({}, ())
        self._write(event.as_dict())
        if event.kind == "stop":
            self.close()

    def close(self) -> None:
        """Close the file; when the run goes on, it is opened again."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _go_on(self, there: Trace, events: Sequence[Event]) -> None:
        if there.events != tuple(events):
            raise FileExistsError(
                f"{self.path} holds the trace of another run, and is not written over. Go on with that run "
                "by resume(Trace.load(path), model, tools, on_event=trace_writer(path)), or name a new file."
            )
        data = self.path.read_bytes()
        if not data.endswith(b"\n"):  # the program was ended while it wrote this line, or just behind it
            self.path.write_bytes(data[: data.rindex(b"\n") + 1] if there.lost else data + b"\n")

    def _write(self, line: Entry) -> None:
        assert self._file is not None
        self._file.write(json.dumps(line).encode() + b"\n")
        self._file.flush()
