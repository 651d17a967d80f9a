"""Requests of one reply that run side by side, each in a thread of its own."""

import contextvars
import queue
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress

from agentlib._platform import HERE, Platform
from agentlib.tools import ToolOutcome

__all__ = ["InTurn", "Job", "SideBySide"]

LOOK_EVERY_SECONDS = 0.02
"""How often a cancel and the deadline are looked at while tools run."""

Job = Callable[[], ToolOutcome]


class InTurn(int):
    """An `at_once` without threads: all begin in order, and each has ended when the next one begins.

    For what has to go the same way each time, such as a replay.
    """


class SideBySide:
    """Runs the requests of a reply, at most `at_once` of them at a time.

    outcomes: what came of them, by id, and ended: the running time when they ended, until it is recorded.
    running: the ids of those that were begun and not seen to end.
    in_turn: without threads, because there are none here or it was asked for (`InTurn`).
    """

    def __init__(self, at_once: int, platform: Platform = HERE) -> None:
        self.at_once = at_once
        self.in_turn = isinstance(at_once, InTurn) or not platform.threads
        self.outcomes: dict[str, ToolOutcome] = {}
        self.ended: dict[str, float] = {}
        self.running: set[str] = set()
        self._news: queue.SimpleQueue[str | BaseException] = queue.SimpleQueue()

    def run(
        self, jobs: Iterable[tuple[str, Job]], look: Callable[[], None], now: Callable[[], float]
    ) -> None:
        """Run jobs, each with the id of its request, and wait until all have ended.

        jobs: one is taken from them when there is room for it. look(): looked at again and again meanwhile;
        what it raises ends the waiting. now(): the running time in seconds.
        Python cannot end a thread: what still runs then is left behind, and keeps no program from ending.
        """
        for name, job in jobs:
            self.running.add(name)
            self._begin(name, job)
            self._wait(self.at_once - 1, look, now)
        self._wait(0, look, now)

    def _begin(self, name: str, job: Job) -> None:
        context = contextvars.copy_context()

        def work() -> None:
            try:
                self.outcomes[name] = context.run(job)
                self._news.put(name)
            except BaseException as problem:  # an interrupt: it belongs to the thread that waits
                self._news.put(problem)

        if self.in_turn:
            return work()
        try:
            return threading.Thread(target=work, name="agentlib tool", daemon=True).start()
        except RuntimeError:  # no more threads can be had
            return work()

    def _wait(self, most: int, look: Callable[[], None], now: Callable[[], float]) -> None:
        """Wait until no more than `most` are running."""
        while len(self.running) > most or not self._news.empty():
            with suppress(queue.Empty):
                news = self._news.get(timeout=LOOK_EVERY_SECONDS)
                if isinstance(news, BaseException):
                    raise news
                self.running.remove(news)
                self.ended[news] = now()
            if self.running:
                look()
