"""The learner's functions in this process: called with a time limit, errors told with their own line."""

import builtins
import contextlib
import io
import json
import linecache
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from agentlib._json import ready_copy
from agentlib._platform import GUARD_FILE, HERE, ClockGuard, Platform
from agentlib.messages import Entry, short

if TYPE_CHECKING:
    from agentlib.course.running.event_loop import EventLoop

__all__ = [
    "CALL",
    "TOO_LONG",
    "TOO_OFTEN",
    "Counter",
    "PlayedFunctions",
    "RunEnded",
    "Runner",
    "TimeLimit",
    "cell_words",
    "error_of",
    "waited_seconds",
    "why_not",
]

CALL = "$call"
"""In a request, {"$call": NAME} stands for a function that the simulator plays."""

TOO_OFTEN = "asked too often"
TOO_LONG = "ran too long"

OUR_DIR = os.path.dirname(os.path.abspath(__file__))
OUR_CODE = (OUR_DIR, GUARD_FILE)
LOOP_DIR = os.path.join(os.path.dirname(os.__file__), "asyncio")
CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR = 0x20, 0x80, 0x200
"""As in `inspect`, which loads slowly."""
KNOCK_SECONDS = 0.002
"""Time between two tries to end a function that is over its time."""

QUOTE = "'"
"""Takes the place of a backtick inside code, which stands in backticks itself."""

GRACE_SECONDS = 0.2
"""A function that was told to end gets so long to do it."""


class RunEnded(BaseException):
    """Ends a learner's function. No Exception, so that `except Exception` lets it pass."""


def waited_seconds() -> float:
    """Give how long this thread was ready to run while others had the processor; 0.0 = nobody counts it."""
    try:
        with open("/proc/thread-self/schedstat", "rb") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


class TimeLimit:
    """Ends a block of code after some seconds, whatever it is doing, by raising RunEnded in it.

    A bare `except:` can swallow that. So it is raised once more at the next line, which is then the one of
    the `except`, and from then on again and again: sooner or later one comes while no `try` is around.
    Nothing is raised inside this folder's own code, nor in the event loop's, nor while `paused`.
    In the main thread a timer signal does it, which ends a `time.sleep` too. In other threads, and on
    Windows, a second thread asks Python to raise it; Python does so when it next goes round a loop or calls a
    function. (There a loop in a loop that swallows everything and never asks the model can live on for long.)
    A browser has neither: there the clock is looked at while the function runs, see `ClockGuard`.
    By the timer signal, what it waits while others have the processor does not count (see `waited_seconds`).
    """

    def __init__(self, seconds: float, platform: Platform = HERE) -> None:
        self.seconds = seconds
        self.paused = False
        self.inside = False
        self.over = False
        self._until = self._waited = 0.0
        self._left = threading.Event()
        self._hurry = threading.Event()
        self._thread_id = threading.get_ident()
        self._by_signal = platform.timer_signals and (threading.current_thread() is threading.main_thread())
        self._clock = None if platform.threads else ClockGuard(seconds, self._at_late)

    def run(self, function: Callable[[], Any]) -> Any:
        """Call a function without arguments under this limit. Raises RunEnded if its time was over."""
        tracer = sys.gettrace()
        try:
            if self._clock is not None:
                return self._run_by_clock(function, self._clock)
            return self._run_by_signal(function) if self._by_signal else self._run_by_thread(function)
        finally:
            if sys.gettrace() is not tracer:
                sys.settrace(tracer)

    def _run_by_signal(self, function: Callable[[], Any]) -> Any:
        started = time.monotonic()
        self._until = started + self.seconds - KNOCK_SECONDS  # the two clocks need not agree to the last bit
        self._waited = waited_seconds()
        handler = signal.signal(signal.SIGALRM, self._on_signal)
        unraisable = sys.unraisablehook
        sys.unraisablehook = partial(self._on_unraisable, unraisable)
        left, _ = signal.setitimer(signal.ITIMER_REAL, self.seconds)
        self.inside = True
        try:
            return function()
        finally:
            self.inside = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            sys.unraisablehook = unraisable
            signal.signal(signal.SIGALRM, signal.SIG_DFL if handler is None else handler)
            if left:  # a time limit around this one goes on
                left = max(left - (time.monotonic() - started), KNOCK_SECONDS)
                signal.setitimer(signal.ITIMER_REAL, left)

    def _on_unraisable(self, tell: Callable[[Any], Any], problem: Any) -> None:
        """Python's word for an exception in a destructor, which goes nowhere: ours is raised again soon."""
        if problem.exc_type is RunEnded:
            return
        paused, self.paused = self.paused, True
        try:
            tell(problem)
        finally:
            self.paused = paused

    def _run_by_clock(self, function: Callable[[], Any], clock: ClockGuard) -> Any:
        self.inside = True
        try:
            value = clock.run(function)
        finally:
            self.inside = False
            self.over = self.over or clock.is_late
        if self.over:  # it was in a call that nothing can end, or went on after it was told to end
            raise RunEnded(TOO_LONG)
        return value

    def _at_late(self, frame: FrameType) -> None:
        if self.may_raise_at(frame):
            self.over = True
            raise RunEnded(TOO_LONG)

    def _run_by_thread(self, function: Callable[[], Any]) -> Any:
        watchdog = threading.Thread(target=self._watch, daemon=True)
        watchdog.start()
        self.inside = True
        try:
            return function()
        finally:
            while True:
                try:
                    self.inside = False
                    self._left.set()
                    watchdog.join()
                    for _ in range(10):
                        pass  # what was asked for and has not been raised yet is raised here
                    break
                except RunEnded:
                    continue

    def hurry(self) -> None:
        """Give the function only a moment more."""
        self._hurry.set()
        if self._clock is not None:
            self._clock.hurry(GRACE_SECONDS)
        elif self._by_signal:
            self._until = time.monotonic() + GRACE_SECONDS - KNOCK_SECONDS
            self._waited = waited_seconds()
            signal.setitimer(signal.ITIMER_REAL, GRACE_SECONDS)

    def may_raise_at(self, frame: FrameType | None) -> bool:
        """Whether RunEnded may be raised now, in this frame; never in our own, which must stay in order."""
        ours = frame is not None and frame.f_code.co_filename.startswith((*OUR_CODE, LOOP_DIR))
        return self.inside and not self.paused and not ours

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if not self.inside:
            return
        left = self._until + waited_seconds() - self._waited - time.monotonic()
        if left > 0:  # it had to wait for others, or this is a late signal of a limit inside this one
            signal.setitimer(signal.ITIMER_REAL, max(left, KNOCK_SECONDS))
            return
        # Set anew each time, not to repeat by itself: where signals are slow, nothing else would ever run.
        signal.setitimer(signal.ITIMER_REAL, KNOCK_SECONDS)
        if self.may_raise_at(frame):
            self.over = True
            self.end(frame, TOO_LONG)

    def end(self, frame: FrameType | None, why: str) -> NoReturn:
        """Raise RunEnded, and see to it that it is raised once more if this frame or one above it goes on."""
        self._trace_from(frame)
        sys.settrace(self._trace_nothing)
        raise RunEnded(why)

    def _trace_from(self, frame: FrameType | None) -> None:
        while frame is not None and not frame.f_code.co_filename.startswith(OUR_CODE):
            frame.f_trace = self._at_next_line
            frame = frame.f_back

    def _trace_nothing(self, frame: FrameType, event: str, value: Any) -> None:
        """Trace no new frame; those that are to be traced have a function of their own."""

    def _at_next_line(self, frame: FrameType, event: str, value: Any) -> Any:
        if event == "line" and self.may_raise_at(frame):
            raise RunEnded(TOO_LONG)  # Python then ends the tracing by itself
        return self._at_next_line

    def _watch(self) -> None:
        import ctypes  # noqa: PLC0415  takes time to load, and only a thread needs it

        waited = 0.0
        while waited < self.seconds and not self._left.is_set():
            if self._hurry.wait(0.02):
                self._left.wait(GRACE_SECONDS)
                break
            waited += 0.02
        while not self._left.is_set():
            frame = sys._current_frames().get(self._thread_id)
            if self.may_raise_at(frame):
                self.over = True
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(self._thread_id), ctypes.py_object(RunEnded)
                )
            self._left.wait(KNOCK_SECONDS)


class Counter(io.TextIOBase):
    """Takes the place of the screen: counts characters and lines and keeps none."""

    def __init__(self) -> None:
        self.chars = 0
        self.lines = 0

    def writable(self) -> bool:
        """Say that it can be written to."""
        return True

    def write(self, text: str) -> int:
        """Count a text and drop it."""
        self.chars += len(text)
        self.lines += text.count("\n")
        return len(text)


class Runner:
    """A `Learner` whose functions live in this process. functions: by name.

    alone: no person can press Ctrl-C here, so that a KeyboardInterrupt is an error like any other.
    loop: the event loop of the cells that made them; it runs while they do, as in a notebook.
    printed: counts what they print, which is not shown: each scenario would print it again.
    """

    def __init__(
        self,
        functions: Mapping[str, Callable[..., Any]],
        alone: bool = False,
        loop: "EventLoop | None" = None,
        platform: Platform = HERE,
    ) -> None:
        self.platform = platform
        self.functions = dict(functions)
        self.alone = alone
        self.loop = loop
        self.printed = Counter()

    def run(self, request: Entry, called: Callable[[str, list[Any], Entry], Entry], seconds: float) -> Entry:
        """Call one function and give its outcome; see `agentlib.course.checking.simulator.Learner`."""
        limit = TimeLimit(seconds, self.platform)
        channel = PlayedFunctions(called, limit)
        function = self.functions[request["function"]]
        args = [channel.inside(value) for value in request["args"]]
        kwargs = {name: channel.inside(value) for name, value in request["kwargs"].items()}
        try:
            with contextlib.redirect_stdout(self.printed):
                call = partial(function, *args, **kwargs)
                value = limit.run(call if self.loop is None else partial(self.loop.run, call))
        except RunEnded:
            outcome: Entry = {"ended": TOO_LONG}
        except BaseException as problem:
            if isinstance(problem, KeyboardInterrupt) and channel.interrupted:
                outcome = {"interrupted": True}
            elif isinstance(problem, KeyboardInterrupt) and not self.alone:
                raise  # a person wants to stop the check itself
            else:
                outcome = {"raised": error_of(problem, function)}
        else:
            outcome = {"returned": ready_copy(value), "type": type(value).__name__}
            given = [*request["args"], *request["kwargs"].values()]
            outcome["changed"] = [
                number
                for number, (before, after) in enumerate(zip(given, [*args, *kwargs.values()], strict=True))
                if isinstance(before, (list, dict)) and not _has_functions(before) and before != after
            ]
        if channel.bug is not None:
            raise channel.bug
        return {"ended": TOO_LONG} if limit.over else outcome


def _has_functions(value: Any) -> bool:
    return isinstance(value, dict) and (CALL in value or any(_has_functions(item) for item in value.values()))


def why_not(function: Any) -> str:
    """Say what something is, and what to do, that can be called and yet is no function to check; else ""."""
    if isinstance(function, type):
        return "a class; check wants the function that you wrote:"
    if isinstance(function, type(len)):
        return "a built-in function; check wants the function that you wrote:"
    while isinstance(function, partial):
        function = function.func
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
    if flags & (CO_COROUTINE | CO_ASYNC_GENERATOR):
        return "an `async` function, which only makes a promise when it is called. Take `async` away:"
    if flags & CO_GENERATOR:
        return "a generator: it has a `yield`, and so runs no line when it is called. Take `yield` away:"
    return ""


class PlayedFunctions:
    """Passes the learner's calls to the simulator, in the form of JSON, and does what it answers."""

    def __init__(self, called: Callable[[str, list[Any], Entry], Entry], limit: TimeLimit) -> None:
        self.called = called
        self.limit = limit
        self.interrupted = False
        self.ended = ""
        self.bug: BaseException | None = None

    def inside(self, value: Any) -> Any:
        """Give an argument as the learner's function gets it: a function in place of each placeholder."""
        if isinstance(value, dict):
            if CALL in value:
                return self.function(value[CALL])
            return {key: self.inside(item) for key, item in value.items()}
        return [self.inside(item) for item in value] if isinstance(value, list) else value

    def function(self, name: str) -> Callable[..., Any]:
        """Make a function that is played on the other side."""

        def played(*args: Any, **kwargs: Any) -> Any:
            if self.ended:
                self.limit.end(sys._getframe(1), self.ended)
            self.limit.paused = True
            try:
                answer = self.ask(name, args, kwargs)
            finally:
                self.limit.paused = False
            if "end" in answer:
                self.ended = answer["end"]
                self.limit.hurry()
                self.limit.end(sys._getframe(1), self.ended)
            if "interrupt" in answer:
                self.interrupted = True
                raise KeyboardInterrupt
            if "raises" in answer:
                raise error_like(answer["raises"])
            return answer["gave"]

        played.__name__ = played.__qualname__ = name.split(".")[-1]
        return played

    def ask(self, name: str, args: tuple[Any, ...], kwargs: Entry) -> Entry:
        """Ask the simulator; an error of our own is kept for after the run, and ends it."""
        try:
            answer = self.called(name, ready_copy(list(args)), ready_copy(kwargs))
        except BaseException as bug:
            self.bug = bug
            return {"end": "error"}
        copy: Entry = json.loads(json.dumps(answer))  # the log's own copy stays out of the learner's reach
        return copy


def error_like(error: Entry) -> Exception:
    """Make a built-in error by its name; RuntimeError if there is none of that name."""
    kind = getattr(builtins, error["type"], None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        kind = RuntimeError
    return kind(error["message"])


def cell_words(name: str, lines: Sequence[str]) -> str:
    """Say which cell of a notebook is meant, by its first line: JupyterLab shows no number that stays.

    name: "cell 3"; it stands for a cell that is empty.
    """
    first = next((line.strip() for line in lines if line.strip()), "")
    if not first:
        return f"code {name}, which is empty"
    start = re.match(r"(?:async )?(?:def \w+\(|class \w+)", first)
    begins = start[0] if start else short(first, 40)
    return f"the cell that begins `{begins.replace('`', QUOTE)}`"


def error_of(problem: BaseException, function: Callable[..., Any] | None = None) -> Entry:
    """Describe an error with the learner's own line: the deepest one in the file of their function."""
    own = getattr(getattr(function, "__code__", None), "co_filename", None)
    theirs = []
    step = problem.__traceback__
    while step is not None:
        if not step.tb_frame.f_code.co_filename.startswith(OUR_CODE):
            theirs.append((step.tb_frame, step.tb_lineno))
        step = step.tb_next
    in_file = [(frame, line) for frame, line in theirs if frame.f_code.co_filename == own]
    line, code, place = 0, "", ""
    for frame, number in (in_file or theirs[:1])[-1:]:
        filename = frame.f_code.co_filename
        line, code = number, linecache.getline(filename, number).strip()
        place = cell_words(filename, linecache.getlines(filename)) if filename.startswith("cell ") else ""
    return {
        "type": _name_of(type(problem)),
        "message": short(str_of(problem), 300),
        "line": line,
        "code": code,
        "place": place,
    }


def _name_of(kind: type) -> str:
    """Give a class's name as Python keeps it, whatever a class of the learner's says to `__name__`."""
    name: str = vars(type)["__name__"].__get__(kind)
    return name


def str_of(problem: BaseException) -> str:
    """Give an error's message, whatever its own methods do."""
    try:
        return str(problem)
    except (Exception, SystemExit, KeyboardInterrupt):
        return ""
