"""The lines of a watched loop, as Python tells them, and the end of a loop that would never end by itself.

From Python 3.12 on `sys.monitoring` tells them, which neither the loop nor a debugger notices. On 3.11 it is
`sys.settrace`: what it is given is called at the start of every function; what that returns is called at
each line of this one function.
"""

import dis
import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import CodeType, FrameType
from typing import Any

from agentlib.watch.function import WatchedFunction

__all__ = ["LineWatcher", "LoopEnded", "MonitoredLines", "TracedLines", "line_watcher"]

HELPER_LINES = 50
"""The functions that a loop calls may run this many times as many lines as the loop itself."""

TOOL_IDS = (4, 3, 5)
"""Places in `sys.monitoring` that are nobody's by name; 0 is a debugger's, 1 coverage's, 2 a profiler's."""

monitoring: Any = getattr(sys, "monitoring", None)


class LoopEnded(BaseException):
    """Raised inside a watched loop to end it. No `Exception`, so that `except Exception` lets it through."""


class LineWatcher:
    """Follows one loop line by line while it runs. How Python tells the lines is up to the classes below.

    new_line(frame, line, call): called before a line of the loop runs, with the number of the call that it
    belongs to. left(frame, call, was_last): called when one of its calls is over (or waits, as a generator
    does: then call is 0); was_last: the last line that was told is one of that call.
    end(reason, detail): called when too many lines ran; raises LoopEnded.
    remarks: what the record cannot show, and why, in words.
    """

    def __init__(
        self,
        loop: WatchedFunction,
        max_lines: int,
        new_line: Callable[[FrameType, int, int], None],
        left: Callable[[FrameType, int, bool], None],
        end: Callable[[str, str], None],
    ) -> None:
        self.loop, self.max_lines = loop, max_lines
        self.new_line, self.left, self.end = new_line, left, end
        self.remarks: set[str] = set()
        self.running = False
        self.paused = 0  # above 0 while a model or a tool runs: their lines are not the loop's
        self.outside = _Outside(self)
        self.thread = threading.get_ident()
        self.lines_left = self.helper_lines_left = 0
        self.start_counting()
        # By their ids, since two code objects with the same content are equal, and comparing them takes long.
        self._own = {id(code) for code in loop.codes}
        # A comprehension or a lambda inside the loop is part of its line.
        self._calls = {id(code) for code in loop.codes if code in loop.bodies or code.co_name[0] != "<"}
        self._line = self._place = 0
        self._numbers: dict[int, int] = {}  # of the calls that are going on, by the ids of their frames
        self._numbered = 0
        self._last_frame: FrameType | None = None
        self._bottom: FrameType | None = None

    def start(self) -> None:
        """Have Python tell the lines from here on."""
        raise NotImplementedError

    def stop(self) -> None:
        """Leave everything as it would be without watching."""
        raise NotImplementedError

    def start_counting(self) -> None:
        """Count the lines from here on: the loop has just asked its model."""
        self.lines_left = self.max_lines
        self.helper_lines_left = self.max_lines * HELPER_LINES

    def let_it_finish(self) -> None:
        """Leave a loop that has to end a hundred lines more, enough to return and not to go on."""
        self.lines_left = min(self.lines_left, 100)
        self.helper_lines_left = min(self.helper_lines_left, 100)

    def run(self, function: Callable[[], Any]) -> Any:
        """Call the function and follow the loop's lines until it ends."""
        self.thread = threading.get_ident()
        self._bottom = sys._getframe()
        self.running = True
        theirs = sys.gettrace()
        try:
            self.start()
            return function()
        except BaseException:
            if sys.gettrace() is None:  # Python takes a trace function away that has raised
                _set_trace(theirs)
            raise
        finally:
            self.running = False
            self.stop()
            self._bottom = self._last_frame = None

    def pause(self) -> None:
        """Take no line for the loop's from here on."""
        self.paused += 1

    def resume(self) -> None:
        self.paused -= 1

    # -- what can be looked at

    def calls(self, frame: FrameType | None = None) -> Iterator[FrameType]:
        """Go through the calls of the loop that are going on, the innermost first. frame: where to begin."""
        if frame is None:
            here = threading.get_ident() == self.thread
            frame = sys._getframe(1) if here else sys._current_frames().get(self.thread)
        while self.running and frame is not None and frame is not self._bottom:
            if id(frame.f_code) in self._calls:
                yield frame
            frame = frame.f_back

    def variables(self, frame: FrameType) -> dict[str, Any]:
        """Give the variables of a call of the loop; none where looking at them would change them.

        Up to Python 3.12 all looks at a frame share one dict, which `locals()` gives too, and after a trace
        function Python writes it back over the variables, whatever a thread has made of them meanwhile.
        """
        if sys.version_info < (3, 13) and (why := self._why_not_to_look(frame)):
            self.remarks.add(f"The variables of {frame.f_code.co_name} are not shown: {why}.")
            return {}
        return dict(frame.f_locals)

    def _why_not_to_look(self, frame: FrameType) -> str:
        code = frame.f_code
        if not _LOOKING.isdisjoint(code.co_names):
            return "it looks at them itself, such as by locals()"
        if self.writes_back(frame):
            shared = self.loop.shared_names
            if shared and not shared.isdisjoint(code.co_cellvars + code.co_freevars):
                return "another function may set them, also in a thread"
        return ""

    def writes_back(self, frame: FrameType) -> bool:
        """True if Python will write the variables back that have been looked at."""
        return True

    # -- what Python tells

    def at_line(self, frame: FrameType, number: int) -> None:
        """Tell of the line of the loop that is about to run, and count it."""
        is_call = id(frame.f_code) in self._calls
        if is_call:
            self._last_frame = frame
        # A comprehension, or a loop on one line, comes by again and again: telling it once is enough.
        if number != self._line or (is_call and id(frame) != self._place):
            self._line, self._place = number, id(frame)
            if is_call:
                self.new_line(frame, number, self._numbers.get(id(frame)) or self.number_of(frame))
            else:
                self._last_frame = frame
                call = next(self.calls(frame), frame)
                # What these hold runs when it is asked for, which may be at another line.
                self.new_line(call, number, self.number_of(frame if frame.f_code.co_name in _LATER else call))
        self.count_line()

    def number_of(self, frame: FrameType) -> int:
        """Give the number of a call of the loop that is going on, from 1."""
        number = self._numbers.get(id(frame))
        if number is None:
            self._numbered += 1
            number = self._numbers[id(frame)] = self._numbered
        return number

    def at_return(self, frame: FrameType, *, is_over: bool = True) -> None:
        """See what the last line of a call has changed."""
        # A recursive loop that only comes back from its inner calls changes nothing any more.
        was_last = frame is self._last_frame
        if was_last:
            self._last_frame = None
        call = self._numbers.pop(id(frame), 0) if is_over else 0
        if was_last or call:
            self.left(frame, call, was_last)

    def count_line(self) -> None:
        self.lines_left -= 1
        if self.lines_left < 0:
            self.end("ran too long", f"{self.max_lines:,} lines ran and the model was not asked again")

    def count_helper_line(self) -> None:
        """Count a line of a function that the loop calls."""
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


class _Outside:
    """`with lines.outside:` a model or a tool is called. A loop may call them in threads of their own too."""

    def __init__(self, lines: LineWatcher) -> None:
        self.lines = lines

    def __enter__(self) -> None:
        if threading.get_ident() == self.lines.thread:
            self.lines.pause()

    def __exit__(self, *_: object) -> None:
        if threading.get_ident() == self.lines.thread:
            self.lines.resume()


_LATER = {"<lambda>", "<genexpr>"}

_LOOKING = {"locals", "vars", "dir", "eval", "exec"}


def line_watcher(*given: Any) -> LineWatcher:
    """Make the watcher for this Python; where all places are taken, `sys.settrace` tells the lines."""
    if monitoring is not None and any(monitoring.get_tool(number) is None for number in TOOL_IDS):
        return MonitoredLines(*given)
    return TracedLines(*given)


def _is_generator(code: CodeType) -> bool:
    """True for a generator: it counts as a line, as it may be asked for ever and run no line of its own."""
    return bool(code.co_flags & inspect.CO_GENERATOR)


# --- Python 3.12 and later --------------------------------------------------------------------------


class MonitoredLines(LineWatcher):
    """Follows a loop by `sys.monitoring`. Its events come from all threads, and one of them is watched."""

    def start(self) -> None:
        self.tool = _taken_place()
        self._told: dict[int, CodeType] = {}
        self._spins: dict[int, set[int]] = {}
        events = monitoring.events
        self._callbacks = {
            events.PY_START: self._on_start, events.PY_RESUME: self._on_start, events.LINE: self._on_line,
            events.JUMP: self._on_jump, events.PY_RETURN: self._on_leave, events.PY_YIELD: self._on_yield,
            events.PY_UNWIND: self._on_leave,
        }  # fmt: skip
        for event, callback in self._callbacks.items():
            monitoring.register_callback(self.tool, event, callback)
        for code in self.loop.codes:
            self._tell_lines(code, events.PY_RETURN | events.PY_YIELD)
        monitoring.set_events(self.tool, events.PY_START | events.PY_RESUME | events.PY_UNWIND)

    def stop(self) -> None:
        monitoring.set_events(self.tool, 0)
        for code in self._told.values():
            monitoring.set_local_events(self.tool, code, 0)
        for event in self._callbacks:
            monitoring.register_callback(self.tool, event, None)
        monitoring.free_tool_id(self.tool)

    def writes_back(self, frame: FrameType) -> bool:
        return frame.f_trace is not None  # a debugger follows this frame too

    def _tell_lines(self, code: CodeType, more: int = 0) -> None:
        self._told[id(code)] = code
        self._spins[id(code)] = _jumps_within_a_line(code)
        events = monitoring.events.LINE | more | (monitoring.events.JUMP if self._spins[id(code)] else 0)
        monitoring.set_local_events(self.tool, code, events)

    def _is_elsewhere(self) -> bool:
        return bool(self.paused) or threading.get_ident() != self.thread

    def _on_start(self, code: CodeType, offset: int) -> None:
        if self._is_elsewhere():
            return
        if id(code) in self._own:
            if id(code) in self._calls:
                self._line = 0
            if _is_generator(code):
                self.count_line()
        elif id(code) in self._told or self.is_counted(sys._getframe(1)):
            if id(code) not in self._told:
                self._tell_lines(code)
            if _is_generator(code):
                self.count_helper_line()

    def _on_line(self, code: CodeType, number: int) -> None:
        if self._is_elsewhere():
            return
        if id(code) in self._own:
            self.at_line(sys._getframe(1), number)
        else:
            self.count_helper_line()

    def _on_jump(self, code: CodeType, offset: int, destination: int) -> None:
        if not self._is_elsewhere() and offset in self._spins[id(code)]:
            self.count_line() if id(code) in self._own else self.count_helper_line()

    def _on_leave(self, code: CodeType, offset: int, value: Any) -> None:
        if id(code) in self._own and not self._is_elsewhere():
            self.at_return(sys._getframe(1))

    def _on_yield(self, code: CodeType, offset: int, value: Any) -> None:
        if id(code) in self._own and not self._is_elsewhere():
            self.at_return(sys._getframe(1), is_over=False)


def _taken_place() -> int:
    """Take a free place; another thread may look for one at the same moment."""
    for number in TOOL_IDS:
        with suppress(ValueError):
            monitoring.use_tool_id(number, "agentlib.watch")
            return number
    raise RuntimeError("All places in sys.monitoring were taken a moment ago; watch once more.")


def _jumps_within_a_line(code: CodeType) -> set[int]:
    """Find the jumps back to the same line, as in `while True: pass`: each round is a line and tells none."""
    lines = [place[0] for place in code.co_positions()]
    return {
        step.offset
        for step in dis.get_instructions(code)
        if step.opname.startswith("JUMP_BACKWARD") and lines[step.offset // 2] == lines[step.argval // 2]
    }


# --- Python 3.11 ------------------------------------------------------------------------------------


class TracedLines(LineWatcher):
    """Follows a loop by `sys.settrace`. Whoever has set a trace function gets all events as ever."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.theirs: Any = None  # the trace function that would be there, a debugger's or coverage's
        self.ours = self.trace  # kept, since each look at `self.trace` makes a new object
        self._endless: dict[CodeType, bool] = {}

    def start(self) -> None:
        self.theirs = sys.gettrace()
        _set_trace(self.ours)
        if monitoring is not None:
            self.remarks.add("The lines come from sys.settrace: all places in sys.monitoring are taken.")

    def stop(self) -> None:
        found = sys.gettrace()
        if found is None or found == self.ours:
            _set_trace(self.theirs)
        if found != self.ours and (found is not None or self.theirs is None):
            self._say_what_is_lost("The lines")

    def _say_what_is_lost(self, lines: str) -> None:
        self.remarks.add(
            f"{lines} after line {self._line} are not shown: the loop itself has called sys.settrace."
        )

    def pause(self) -> None:
        super().pause()
        if self.running and self.paused == 1:
            found = sys.gettrace()
            if found != self.ours:
                self.theirs = found
                self._say_what_is_lost("Some lines")
            _set_trace(self.theirs)

    def resume(self) -> None:
        if self.running and self.paused == 1:
            self.theirs = sys.gettrace()  # a tool may have set another one, or none
            _set_trace(self.ours)
            for frame in self.calls():
                if type(frame.f_trace) is not _Call:
                    frame.f_trace = _Call(self, self.loop_event, frame.f_trace, {})
        super().resume()

    def trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        """At the start of a function: choose what is called at each of its lines."""
        theirs = self.pass_on(self.theirs, frame, event, arg) if self.theirs else None
        if not self.running or self.paused:
            return theirs
        if id(frame.f_code) in self._own:
            if id(frame.f_code) in self._calls:
                self._line = 0
            return self.follow(frame, self.loop_event, theirs)
        if self.is_counted(frame):
            return self.follow(frame, self.helper_event, theirs)
        return theirs

    def pass_on(self, theirs: Any, frame: FrameType, event: str, arg: Any) -> Any:
        """Give an event to the trace function that was there before, and stay in place ourselves."""
        in_place = sys.gettrace()  # ours, or that of another watch inside this one
        answer = theirs(frame, event, arg)
        found = sys.gettrace()
        if self.running and found != in_place:
            # Coverage puts itself in place when it is called; a debugger may have taken itself away.
            self.theirs = found
            _set_trace(in_place)
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
        if event == "line":
            self.at_line(frame, frame.f_lineno or 0)
        elif event == "return":
            self.at_return(frame, is_over=not _waits(frame))
        elif event == "opcode" or (event == "call" and _is_generator(frame.f_code)):
            self.count_line()

    def helper_event(self, frame: FrameType, event: str) -> None:
        if event in ("line", "opcode") or (event == "call" and _is_generator(frame.f_code)):
            self.count_helper_line()

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


def _waits(frame: FrameType) -> bool:
    """True if a generator or a coroutine has only handed something over, and will go on."""
    code = frame.f_code
    can_wait = code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR)
    return bool(can_wait) and code.co_code[frame.f_lasti] == dis.opmap["YIELD_VALUE"]


def _set_trace(function: Any) -> None:
    """Call `sys.settrace`, also where a debugger has put one in its place that warns whoever calls it."""
    debugger = getattr(sys.modules.get("pydevd_tracing"), "TracingFunctionHolder", None)
    (getattr(debugger, "_original_tracing", None) or sys.settrace)(function)


class _Call:
    """The trace function of one call: first we get each event, then whoever was there before.

    A debugger may set variables in the frame, which a look of ours after it would undo.
    unwanted: True for the events that they are not told of.
    """

    def __init__(
        self,
        watcher: TracedLines,
        ours: Callable[[FrameType, str], None],
        theirs: Any,
        unwanted: dict[str, bool],
    ) -> None:
        self.watcher, self.ours = watcher, ours
        self.theirs, self.unwanted = theirs, unwanted

    def __call__(self, frame: FrameType, event: str, arg: Any) -> "_Call":
        try:
            self.tell(frame, event)
        finally:
            if self.theirs is not None and not self.unwanted.get(event):
                self.theirs = self.watcher.pass_on(self.theirs, frame, event, arg) or self.theirs
        return self

    def tell(self, frame: FrameType, event: str) -> None:
        if self.watcher.running and not self.watcher.paused:
            try:
                self.ours(frame, event)
            except BaseException:
                frame.f_trace = _SetAgain(self.watcher, frame, self)
                raise


class _SetAgain:
    """Sets the trace function again after it has raised.

    Python takes a trace function away that raises. A loop with a bare `except:` in a `while True` would
    then swallow the one `LoopEnded` and run on for ever, unseen. But Python also drops what stood in
    `frame.f_trace`; if that is one of these, `__del__` runs at that very moment. So each further line
    raises too, until one does outside of any `try`.
    """

    def __init__(self, watcher: TracedLines, frame: FrameType, call: _Call) -> None:
        self.watcher, self.frame, self.call = watcher, frame, call

    def __call__(self, frame: FrameType, event: str, arg: Any) -> _Call:
        return self.call  # never reached: Python drops this object first

    def __del__(self) -> None:
        if self.watcher.running:
            _set_trace(self.watcher.ours)
            self.frame.f_trace = self.call
