"""What a platform cannot do, and what is done in its place.

Python in a browser (WebAssembly) has no threads, no processes, no timer signals and no sockets, and nobody
can interrupt it. Windows has no timer signals.
"""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "BROWSER",
    "GUARD_FILE",
    "HERE",
    "NO_COMMANDS",
    "NO_REAL_MODEL",
    "ClockGuard",
    "Platform",
    "load_matplotlib",
]


class Platform(NamedTuple):  # no dataclass: to load those takes longer than most cells run
    """What a platform can do.

    threads: a second thread can be started. processes: so can another program.
    timer_signals: a timer can interrupt the main thread.
    browser: Python runs in a page. drive: the folder that the browser keeps; None = there is none.
    """

    threads: bool = True
    processes: bool = True
    timer_signals: bool = True
    browser: bool = False
    drive: "Path | None" = None

    @property
    def can_interrupt(self) -> bool:
        """Whether a person can interrupt what runs: a browser's Python hears nothing while it runs."""
        return not self.browser


BROWSER = Platform(threads=False, processes=False, timer_signals=False, browser=True)


def _platform_here() -> Platform:
    if sys.platform == "emscripten":
        from pathlib import Path  # noqa: PLC0415  what runs beside a learner's code loads little

        # JupyterLite shows the files that it keeps to a kernel as this folder.
        drive = Path("/drive")
        return Platform(False, False, False, browser=True, drive=drive if drive.is_dir() else None)
    return Platform(timer_signals=hasattr(signal, "setitimer"))


HERE = _platform_here()
GUARD_FILE = __file__
"""Where a `ClockGuard` runs: nothing must be raised in its own lines."""


NO_COMMANDS = (
    "A browser has no command line. Write check(...) in a cell; to grade a class, to record runs or to build "
    "the site, use Python on a computer."
)
NO_REAL_MODEL = (
    "a browser can neither run a model file nor keep a key. Use Python on a computer, or the recorded runs "
    "of lesson 13."
)


class ClockGuard:
    """Keeps a time limit where neither a second thread nor a signal can: by looking at the clock.

    seconds: the limit. late(frame): called from then on at each call of a function and each round of a loop,
    with the frame that runs; what it raises is raised there, so also inside a `try`, again and again.
    Waiting takes no longer than the limit: `time.sleep` and what waits as `Event.wait` does return early, as
    if their time had passed. Other waiting, such as a call into C code, goes on until it ends by itself.
    It needs `sys.monitoring`, which Python has from 3.12 on, as a browser's always has.
    """

    def __init__(self, seconds: float, late: Callable[[FrameType], None]) -> None:
        self.seconds = seconds
        self.late = late
        self.until = float("inf")
        self.thread = 0

    @property
    def is_late(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() >= self.until

    def hurry(self, seconds: float) -> None:
        """Let the time be over after so many seconds more, if it would last longer."""
        self.until = min(self.until, time.monotonic() + seconds)

    def run(self, function: Callable[[], Any]) -> Any:
        """Call a function without arguments under this limit."""
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
        events = monitoring.events
        watched = (events.PY_START, events.PY_RESUME, events.JUMP)
        place = _free_place(monitoring)
        self.thread = threading.get_ident()
        self.until = time.monotonic() + self.seconds
        with _waiting_shortened(self):
            try:
                for event in watched:
                    monitoring.register_callback(place, event, self._look)
                monitoring.set_events(place, sum(watched))
                return function()
            finally:
                monitoring.set_events(place, 0)
                for event in watched:
                    monitoring.register_callback(place, event, None)
                monitoring.free_tool_id(place)

    def _look(self, *_: object) -> None:
        if time.monotonic() < self.until or threading.get_ident() != self.thread:
            return
        frame = sys._getframe(1)
        if frame.f_code.co_filename != GUARD_FILE:
            self.late(frame)

    def remaining(self, seconds: float | None) -> float | None:
        """How long a wait for so many seconds may last; None = for ever."""
        if threading.get_ident() != self.thread or (seconds is not None and seconds <= 0):
            return seconds
        left = max(0.0, self.until - time.monotonic())
        return left if seconds is None else min(seconds, left)


def _free_place(monitoring: Any) -> int:
    """Take a place in `sys.monitoring`. A limit may stand in a limit, and a watched loop around both."""
    for number in (5, 4, 3, 2, 1, 0):
        with suppress(ValueError):
            monitoring.use_tool_id(number, "agentlib.clock")
            return number
    raise RuntimeError("There are more time limits inside each other than Python can keep here.")


@contextmanager
def _waiting_shortened(guard: ClockGuard) -> Iterator[None]:
    sleep, wait = time.sleep, threading.Condition.wait

    def short_sleep(seconds: float) -> None:
        sleep(guard.remaining(seconds))  # type: ignore[arg-type]

    def short_wait(self: threading.Condition, timeout: float | None = None) -> bool:
        return wait(self, guard.remaining(timeout))

    time.sleep, threading.Condition.wait = short_sleep, short_wait  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        time.sleep, threading.Condition.wait = sleep, wait  # type: ignore[method-assign]


def load_matplotlib(platform: Platform = HERE) -> bool:
    """Whether matplotlib can be used. In a browser it is fetched when the first plot asks for it.

    That takes a browser that lets Python wait for something (JSPI: Chromium does). Elsewhere it is there as
    soon as a cell has the line `import matplotlib`, which the kernel reads before it runs the cell.
    """
    here = _can_import("matplotlib.figure")
    if here or not platform.browser:
        return here
    _fetch_matplotlib()
    return _can_import("matplotlib.figure")


@cache  # where it could not be had once, no further plot waits for it
def _fetch_matplotlib() -> None:
    try:
        import pyodide_js  # noqa: PLC0415  there in a browser alone
        from pyodide.ffi import can_run_sync, run_sync  # noqa: PLC0415
    except ImportError:
        return

    async def fetched() -> None:
        with suppress(Exception):  # no network, or no such package in this site
            await pyodide_js.loadPackage("matplotlib")

    if can_run_sync():
        run_sync(fetched())


def _can_import(name: str) -> bool:
    try:
        __import__(name)
    except ImportError:
        return False
    return True
