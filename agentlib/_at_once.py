"""Requests of one reply that run side by side, in threads; results stand in the order of the requests."""

import contextvars
import queue
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from agentlib._json import whole_number
from agentlib._platform import HERE, Platform
from agentlib.messages import ReadCall
from agentlib.tools import STILL_RUNNING, ToolOutcome, Worker, failure

__all__ = ["Job", "SideBySide"]

LOOK_EVERY_SECONDS = 0.02
"""How often a cancel is looked for while tools run."""


class Job(NamedTuple):
    """One request of a group.

    call: the request. run: runs its tool, as `run_tool` does. wait_seconds: how long it
    is waited for; None = no limit. refusal: it is not run, for this reason.
    """

    call: ReadCall
    run: Callable[..., ToolOutcome]
    wait_seconds: float | None
    refusal: ToolOutcome | None = None


class SideBySide:
    """Runs a group of requests, up to `at_once` at a time.

    The thread that calls `run` begins each of them in order and waits; the others do nothing but run tools.
    Python cannot end a thread: one whose tool hangs is left behind, and keeps no program from ending.
    Where there are no threads, and with `in_turn`, they run one after another.
    Raises ValueError if at_once is not a whole number from 1 up.
    """

    def __init__(self, at_once: int, platform: Platform = HERE, *, in_turn: bool = False) -> None:
        whole_number("at_once", at_once)
        self.at_once = at_once
        self.in_turn = in_turn or not platform.threads
        self.worker = Worker(platform)
        if at_once > 1 and not platform.threads:
            warnings.warn("There are no threads here: the tools run one after another.", stacklevel=2)
        self.outcomes: dict[str, ToolOutcome] = {}  # by the id of the request, until they are recorded
        self.begun: dict[str, tuple[Job, float]] = {}  # running now, and until when each is waited for
        self._done: queue.SimpleQueue[tuple[str, ToolOutcome | BaseException]] = queue.SimpleQueue()

    def run(
        self, jobs: Sequence[Job], begins: Callable[[ReadCall], None], now: Callable[[], float],
        is_over: Callable[[], bool],
    ) -> None:  # fmt: skip
        """Run a group and wait until all have ended, or the run is over; outcomes come into `outcomes`.

        begins(call): told before each begins. now(): the running time, in seconds.
        is_over(): looked at once before each begins, and again and again while tools run.
        """
        self._done = queue.SimpleQueue()  # what was left behind by a group before has nothing to say here
        left = list(jobs)
        over = False
        while (left or self.begun) and not over:
            while left and len(self.begun) < self.at_once and not (over := is_over()):
                job = left.pop(0)
                begins(job.call)
                self._begin(job, now)
            if self.begun and not over:
                self._wait(now)
                over = is_over()
                self._give_up(now, None if over else time.monotonic())
        self._give_up(now, None)

    def _begin(self, job: Job, now: Callable[[], float]) -> None:
        name = job.call.id
        if job.refusal is not None:
            self.outcomes[name] = job.refusal._replace(ended=now())
            return
        until = float("inf") if job.wait_seconds is None else time.monotonic() + job.wait_seconds
        self.begun[name] = job, until
        if self.in_turn:
            self._take(name, job.run(worker=self.worker, wait_seconds=job.wait_seconds), now)
            return
        thread = threading.Thread(
            target=_work, args=(name, contextvars.copy_context(), job.run, self._done),
            name="agentlib tools", daemon=True,
        )  # fmt: skip
        try:
            thread.start()
        except RuntimeError as problem:
            self._take(name, failure("not_run", f"It was not run: {problem}.", ran=False), now)

    def _wait(self, now: Callable[[], float]) -> None:
        """Wait for one to end, or for the time of one to be over; not long, as somebody may cancel."""
        next_end = min(until for _, until in self.begun.values()) - time.monotonic()
        with suppress(queue.Empty):
            self._take(*self._done.get(timeout=max(0.0, min(next_end, LOOK_EVERY_SECONDS))), now)

    def _take(self, name: str, came: ToolOutcome | BaseException, now: Callable[[], float]) -> None:
        if isinstance(came, BaseException):
            raise came
        if self.begun.pop(name, None) is not None:
            self.outcomes[name] = came._replace(ended=now())

    def _give_up(self, now: Callable[[], float], at: float | None) -> None:
        """Wait no longer for those that are late at this time; None = for any: the run is over."""
        self.drain(now)  # what has ended in the meantime counts
        for name, (job, until) in list(self.begun.items()):
            if at is None or at >= until:
                del self.begun[name]
                self.outcomes[name] = _not_finished(job, at is not None)._replace(ended=now())

    def drain(self, now: Callable[[], float]) -> None:
        """Take what has ended and was not taken yet."""
        while not self._done.empty():
            name, came = self._done.get()
            if isinstance(came, ToolOutcome):
                self._take(name, came, now)


def _not_finished(job: Job, is_late: bool) -> ToolOutcome:
    tool = job.call.tool
    if is_late:
        words = f"{tool} gave no result within {job.wait_seconds:g} s. {STILL_RUNNING}"
        return failure("timed_out", words, ran=True)
    words = f"{tool} was begun and had not finished when the run ended. {STILL_RUNNING}"
    return failure("not_finished", words, ran=True)


def _work(
    name: str, context: contextvars.Context, run: Callable[..., ToolOutcome],
    done: "queue.SimpleQueue[tuple[str, ToolOutcome | BaseException]]",
) -> None:  # fmt: skip
    try:
        done.put((name, context.run(run)))
    except BaseException as problem:
        done.put((name, problem))
