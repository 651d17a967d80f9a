"""The lines of a watched loop, as Python tells them, and the end of a loop that would never end by itself.

Python calls a trace function (`sys.settrace`) at the start of every function; what that returns is called
at each line of this one function.
"""

import dis
import inspect
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from agentlib.watch.function import WatchedFunction

__all__ = ["LineTracer", "LoopEnded"]

HELPER_LINES = 50
"""The functions that a loop calls may run this many times as many lines as the loop itself."""


class LoopEnded(BaseException):
    """Raised inside a watched loop to end it. No `Exception`, so that `except Exception` lets it through."""


class LineTracer:
    """Follows one loop line by line while it runs.

    new_line(number): called before a line of the loop runs. look(): called wherever the line before may
    have changed something. end(reason, detail): called when too many lines ran; raises LoopEnded.
    frames: the calls of the loop that are going on, the innermost last.
    """

    def __init__(
        self,
        loop: WatchedFunction,
        max_lines: int,
        new_line: Callable[[int], None],
        look: Callable[[], None],
        end: Callable[[str, str], None],
    ) -> None:
        self.loop, self.max_lines = loop, max_lines
        self.new_line, self.look, self.end = new_line, look, end
        self.frames: list[FrameType] = []
        self.running = False
        self.paused = 0  # above 0 while a model or a tool runs: their lines are not the loop's
        self._line = 0
        self.lines_left = self.helper_lines_left = 0
        self.start_counting()
        self.theirs: Any = None  # the trace function that was there before, a debugger's or coverage's
        self.ours = self.trace  # kept, since each look at `self.trace` makes a new object
        self._last_frame: FrameType | None = None
        self._endless: dict[CodeType, bool] = {}

    def start_counting(self) -> None:
        """Count the lines from here on: the loop has just asked its model."""
        self.lines_left = self.max_lines
        self.helper_lines_left = self.max_lines * HELPER_LINES

    def let_it_finish(self) -> None:
        """Leave a loop that has to end a hundred lines more, enough to return and not to go on."""
        self.lines_left = min(self.lines_left, 100)
        self.helper_lines_left = min(self.helper_lines_left, 100)

    def run(self, function: Callable[[], Any]) -> Any:
        """Call the function with the trace function set; afterwards the one that was there is back."""
        self.theirs = sys.gettrace()
        self.running = True
        try:
            sys.settrace(self.ours)
            return function()
        finally:
            self.running = False
            sys.settrace(self.theirs)
            self.frames.clear()
            self._last_frame = None

    # -- called by Python

    def trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        """At the start of a function: choose what is called at each of its lines."""
        theirs = self.pass_on(self.theirs, frame, event, arg)
        if not self.running or self.paused:
            return theirs
        if frame.f_code in self.loop.codes:
            # A comprehension or a lambda inside the loop is part of its line.
            if frame.f_code in self.loop.bodies or not frame.f_code.co_name.startswith("<"):
                self.frames.append(frame)
                self._line = 0
            return self.follow(frame, self.loop_event, theirs)
        if self.is_counted(frame):
            return self.follow(frame, self.helper_event, theirs)
        return theirs

    def pass_on(self, theirs: Any, frame: FrameType, event: str, arg: Any) -> Any:
        """Give an event to the trace function that was there before, and stay in place ourselves."""
        if theirs is None:
            return None
        in_place = sys.gettrace()  # ours, or that of another watch inside this one
        answer = theirs(frame, event, arg)
        found = sys.gettrace()
        if self.running and found != in_place:
            # Coverage puts itself in place when it is called; a debugger may have taken itself away.
            self.theirs = found
            sys.settrace(in_place)
        return answer

    def follow(self, frame: FrameType, ours: Callable[[FrameType, str], None], theirs: Any) -> "_Call":
        """Make what is called with the further events of one call of a function."""
        # Whoever was there before may have said that it wants no lines of this frame, as coverage does.
        unwanted = {"line": not frame.f_trace_lines, "opcode": not frame.f_trace_opcodes}
        call = _Call(self, ours, theirs, unwanted)
        frame.f_trace_lines = True
        if self.jumps_to_itself(frame.f_code):
            frame.f_trace_opcodes = True
        call.tell(frame, "call")
        return call

    def loop_event(self, frame: FrameType, event: str) -> None:
        """Tell of the line of the loop that is about to run, and count it."""
        innermost = bool(self.frames) and self.frames[-1] is frame
        if event == "line":
            if innermost:
                self._last_frame = frame
            # A comprehension, or a loop on one line, comes by again and again: telling it once is enough.
            if frame.f_lineno != self._line:
                self.look()
                self._line = frame.f_lineno or 0
                self.new_line(self._line)
        if _counts(frame, event):
            self.lines_left -= 1
            if self.lines_left < 0:
                self.end("ran too long", f"{self.max_lines:,} lines ran and the model was not asked again")
        elif event == "return" and innermost:
            # A recursive loop that only comes back from its inner calls changes nothing any more.
            if frame is self._last_frame:
                self.look()
            self.frames.pop()

    def helper_event(self, frame: FrameType, event: str) -> None:
        """Count the lines of a function that the loop calls."""
        if _counts(frame, event):
            self.helper_lines_left -= 1
            if self.helper_lines_left < 0:
                lines = f"{self.max_lines * HELPER_LINES:,} lines of the functions that it calls"
                self.end("ran too long", f"{lines} ran and the model was not asked again")

    def is_counted(self, frame: FrameType) -> bool:
        """True for a function that may be the one that never ends: any but Python's own and ours."""
        if frame.f_globals is self.loop.namespace:
            return True
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        return package != "agentlib" and package not in sys.stdlib_module_names

    def jumps_to_itself(self, code: CodeType) -> bool:
        """True for code with `while True: pass` on one line: Python 3.11 tells its first line event alone."""
        if sys.version_info >= (3, 12):
            return False
        if code not in self._endless:
            self._endless[code] = any(
                step.opcode in dis.hasjrel and step.argval == step.offset
                for step in dis.get_instructions(code)
            )
        return self._endless[code]


def _counts(frame: FrameType, event: str) -> bool:
    """True for what counts as a line: a generator may be asked for ever and run no line of its own."""
    return event in ("line", "opcode") or (
        event == "call" and bool(frame.f_code.co_flags & inspect.CO_GENERATOR)
    )


class _Call:
    """The trace function of one call: whoever was there before gets each event first, then we.

    unwanted: True for the events that they are not told of.
    """

    def __init__(
        self,
        tracer: LineTracer,
        ours: Callable[[FrameType, str], None],
        theirs: Any,
        unwanted: dict[str, bool],
    ) -> None:
        self.tracer, self.ours = tracer, ours
        self.theirs, self.unwanted = theirs, unwanted

    def __call__(self, frame: FrameType, event: str, arg: Any) -> "_Call":
        if not self.unwanted.get(event):
            self.theirs = self.tracer.pass_on(self.theirs, frame, event, arg) or self.theirs
        self.tell(frame, event)
        return self

    def tell(self, frame: FrameType, event: str) -> None:
        if self.tracer.running:
            try:
                self.ours(frame, event)
            except BaseException:
                frame.f_trace = _SetAgain(self.tracer, frame, self)
                raise


class _SetAgain:
    """Sets the trace function again after it has raised.

    Python takes a trace function away that raises. A loop with a bare `except:` in a `while True` would
    then swallow the one `LoopEnded` and run on for ever, unseen. But Python also drops what stood in
    `frame.f_trace`; if that is one of these, `__del__` runs at that very moment. So each further line
    raises too, until one does outside of any `try`.
    """

    def __init__(self, tracer: LineTracer, frame: FrameType, call: _Call) -> None:
        self.tracer, self.frame, self.call = tracer, frame, call

    def __call__(self, frame: FrameType, event: str, arg: Any) -> _Call:
        return self.call  # never reached: Python drops this object first

    def __del__(self) -> None:
        if self.tracer.running:
            sys.settrace(self.tracer.ours)
            self.frame.f_trace = self.call
