"""A learner's functions that live in a child, at the other end of the channel."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from agentlib.course.checking.simulator import TOO_LONG, TOO_OFTEN
from agentlib.course.errors import ChildEndedError, ProtocolError
from agentlib.course.grading.channel import SENT_TOO_MUCH, Child
from agentlib.course.grading.limits import Limits
from agentlib.course.grading.sandbox import Backend
from agentlib.course.grading.sandbox_root import SandboxRoot
from agentlib.course.grading.submission import Plan
from agentlib.course.running.cells import Cell
from agentlib.messages import Entry, short

__all__ = ["SandboxedLearner"]

RUN_ALL = "Run your notebook anew from top to bottom. Which cell is the first that does not run?"
WAITS = "Run your notebook anew from top to bottom. Which line of yours waits, or goes round, for so long?"


class SandboxedLearner:
    """A `Learner` (see `agentlib.course.checking.simulator`) whose functions live in a child.

    A child that ends is started anew for the next call; one that ends, or hangs, while it runs the cells is
    started once more with the solution's cells alone. Raises ProtocolError where a message is not in order.
    functions: the names that are needed. deadline: a moment of `time.monotonic()`; None = by `limits`.
    """

    def __init__(
        self,
        plan: Plan,
        functions: Sequence[str],
        backend: Backend,
        root: SandboxRoot,
        limits: Limits,
        deadline: float | None = None,
    ) -> None:
        self.plan = plan
        self.functions = tuple(functions)
        self.backend = backend
        self.root = root
        self.limits = limits
        self.deadline = time.monotonic() + limits.wall_seconds if deadline is None else deadline
        self.problems: list[str] = []
        self.ends: list[str] = []
        """Why children ended, one a child."""
        self.failed = ""
        """Why there will be no child any more; "" while there may be one."""
        self.printed_bytes = 0
        self.log_bytes = 0
        self.cpu_seconds = 0.0
        self._names: dict[str, str] = {}
        self._child: Child | None = None
        self._cells: Sequence[Cell] = plan.cells

    def run(self, request: Entry, called: Callable[[str, list[Any], Entry], Entry], seconds: float) -> Entry:
        """Call one function and give its outcome."""
        child = self._ready()
        if child is None:
            return self._not_called()
        name = request["function"]
        if self._names.get(name) != "":
            return {"raised": {**_error("NameError", self._missing(name)), "hint": RUN_ALL}}
        if self.limits.call_seconds is not None:
            seconds = self.limits.call_seconds
        allowed = {"seconds": round(min(seconds, max(0.0, self.deadline - time.monotonic())), 1)}
        interrupted = False

        def noted(name: str, args: list[Any], kwargs: Entry) -> Entry:
            nonlocal interrupted
            answer = called(name, args, kwargs)
            interrupted = interrupted or "interrupt" in answer
            return answer

        try:
            outcome = child.call(request, noted, seconds)
        except ChildEndedError as end:
            self._drop(end.why)
            return _outcome(end.why, allowed)
        except ProtocolError:
            self._drop("forged a message")
            raise
        outcome = checked(outcome, interrupted)
        return {**outcome, **allowed} if "ended" in outcome else outcome

    def close(self) -> None:
        """End the child, if there is one."""
        if self._child is not None:
            self._child.end()
            self.printed_bytes += self._child.printed_bytes
            self.log_bytes = self._child.log_bytes
            self.cpu_seconds += self._child.cpu_seconds
            self._child = None

    def _drop(self, why: str) -> None:
        self.ends.append(why)
        self.close()

    def _not_called(self) -> Entry:
        """Give the outcome of a call for which there is no child any more."""
        if self.failed != TOO_LONG:
            return _outcome(self.failed, {})
        return {
            "raised": {**_error("Your code", f"{TOO_LONG} before this call could be made"), "hint": WAITS}
        }

    def _missing(self, name: str) -> str:
        if self._names.get(name, "nothing") != "nothing":
            return f"{name} is {self._names[name]}"
        why = f" ({self.problems[0]})" if self.problems else ""
        return f"no cell makes a function {name}{why}"

    def _ready(self) -> Child | None:
        """Give a child that has run the cells; None if there is none to be had."""
        while self._child is None and not self.failed:
            if time.monotonic() >= self.deadline:
                self.failed = TOO_LONG
            elif SENT_TOO_MUCH in self.ends:
                self.failed = SENT_TOO_MUCH
            elif len(self.ends) > self.limits.restarts:
                self.failed = f"ended {len(self.ends)} times; the last time it {self.ends[-1]}"
            else:
                self._start()
        return self._child

    def _start(self) -> None:
        place = "at the start"
        try:
            self._child = Child(self.backend, self.root, self.limits, self.deadline, self.log_bytes)
            place = "in a cell"
            cells = [
                {"number": cell.number, "source": cell.source, "code": cell.code} for cell in self._cells
            ]
            outcome = self._child.run_cells(cells, self.functions)
        except ChildEndedError as end:
            self._drop(f"{end.why} ({place})")
            if self._cells is self.plan.only:
                self.failed = end.why
            else:
                self.problems = [f"The notebook {end.why}; the solution's cells were then run alone."]
                self._cells = self.plan.only
            return
        except ProtocolError:
            self._drop("forged a message")
            raise
        earlier = self.problems if self._cells is self.plan.only else []
        self.problems = [*earlier, *_texts(outcome.get("problems"))]
        names = outcome.get("names")
        self._names = {str(k): str(v) for k, v in names.items()} if isinstance(names, dict) else {}


def _texts(value: object) -> list[str]:
    texts = value[:20] if isinstance(value, list) else []
    return [short(text, 300) for text in texts if isinstance(text, str)]


def _error(kind: str, message: str) -> Entry:
    return {"type": kind, "message": short(message, 300), "line": 0, "code": "", "place": ""}


def _outcome(why: str, allowed: Entry) -> Entry:
    """Say in the player's words how a function ended whose child did not outlive it. allowed: its time."""
    if why == TOO_LONG:
        return {"ended": TOO_LONG, **allowed}
    if why == "called too often":
        return {"ended": TOO_OFTEN}
    return {"raised": _error("Your code", why)}


def checked(outcome: Entry, interrupted: bool) -> Entry:
    """Give an outcome in exactly the form that criteria know. Raises ProtocolError if it has another.

    interrupted: whether an interrupt was played, without which none can come back.
    """
    if "returned" in outcome:
        changed = outcome.get("changed", [])
        if not isinstance(changed, list) or not all(type(number) is int for number in changed):
            raise ProtocolError("an outcome of the wrong form")
        kind = str(outcome.get("type", ""))[:100]
        return {"returned": outcome["returned"], "type": kind, "changed": changed}
    raised = outcome.get("raised")
    if isinstance(raised, dict):
        words = {name: str(raised.get(name, ""))[:300] for name in ("type", "message", "code", "place")}
        line = raised.get("line")
        return {"raised": {**words, "line": line if type(line) is int else 0}}
    if outcome.get("ended") == TOO_LONG:
        return {"ended": TOO_LONG}
    if outcome.get("interrupted") is True and interrupted:
        return {"interrupted": True}
    raise ProtocolError("an outcome of the wrong form")
