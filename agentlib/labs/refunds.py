"""Refunds: three customers want their money back, and a person has to say yes before any is paid.

What must come out: the model looks all three orders up in one reply, asks for a refund of 2001 and of 2002,
and answers: 4 steps. 2003 is too old. Killed after any event and gone on with, the run ends the same, and
nothing is paid twice.
"""

import json
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import Any

from agentlib._platform import HERE, Platform
from agentlib._writer import TraceWriter
from agentlib.errors import ProviderError, ToolError
from agentlib.loop import run_agent
from agentlib.messages import Entry, Exchange, answer, ask, ask_together, error_text, exchanges
from agentlib.tools import Tool, tool
from agentlib.trace import Event

__all__ = [
    "GOAL", "MAX_DAYS", "ORDERS", "SECONDS", "Desk", "PulledPlugError", "SlowDesk", "busy", "clerk",
    "killed_after", "quarters", "workers",
]  # fmt: skip

GOAL = "Orders 2001, 2002 and 2003 want their money back. Refund what the rules allow, and say what you did."

MAX_DAYS = 30
"""Older orders are not refunded."""

ORDERS: dict[str, Entry] = {
    "2001": {"item": "blue mug", "euros": 8.0, "days_ago": 3},
    "2002": {"item": "rain jacket", "euros": 120.0, "days_ago": 12},
    "2003": {"item": "wool scarf", "euros": 25.0, "days_ago": 61},
}


SECONDS = {"2001": 0.8, "2002": 0.3, "2003": 0.55}
"""How long a slow desk takes to look an order up: a little more than 3, 1 and 2 quarters of a second."""


class Desk:
    """The refund desk. What it has paid stands in a file, so it outlives the program.

    path: of that file; it is made at the first payment.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def paid(self) -> list[list[Any]]:
        """List what has been paid, in order: the number of the order and the euros."""
        if not self.path.exists():
            return []
        return [json.loads(line) for line in self.path.read_text().splitlines()]

    def look_up(self, order: str) -> Entry:
        """Look up one order: what it was, its price in euros, its age in days, and what was refunded."""
        if order not in ORDERS:
            raise ToolError(f"No order {order}. Use one of {', '.join(ORDERS)}.", code="not_found")
        refunded = sum(euros for number, euros in self.paid() if number == order)
        return {"order": order, **ORDERS[order], "refunded_euros": refunded}

    def refund(self, order: str, euros: float) -> str:
        """Pay the price of an order back to the customer."""
        with self.path.open("a") as file:
            file.write(json.dumps([order, euros]) + "\n")
        return f"{euros:.2f} euros paid back for {order}"

    def tools(self) -> list[Tool]:
        """The two tools: looking up may be repeated and run at once, and a refund needs a person's yes."""
        return [tool(self.look_up, repeatable=True, parallel=True), tool(self.refund, risky=True)]


class SlowDesk(Desk):
    """A desk whose look-ups take `SECONDS`. most: so many of them ran at a time, at the most."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.running = self.most = 0
        self.lock = Lock()

    def look_up(self, order: str) -> Entry:
        """Look up one order: what it was, its price in euros, its age in days, and what was refunded."""
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
        sleep(SECONDS.get(order, 0))
        with self.lock:
            self.running -= 1
        return super().look_up(order)


class _InTurn(Executor):
    """Runs what it is given at once, in the thread that gives it."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(*args, **kwargs))
        except Exception as problem:
            future.set_exception(problem)
        return future


def workers(count: int, platform: Platform = HERE) -> Executor:
    """Make a pool of so many threads; in a browser, which has none, one that runs one thing after another."""
    return ThreadPoolExecutor(count) if platform.threads else _InTurn()


def quarters() -> Callable[[], float]:
    """Make a clock that counts quarters of a second from now on: so coarse that each run shows the same."""
    begun = monotonic()
    return lambda: int(4 * (monotonic() - begun)) / 4


def clerk(history: list[Entry]) -> Entry:
    """Decide as the model of this desk, by what the history says: a run can go on in another program."""
    done = exchanges(history)
    if not done:
        return _asking(done, *(ask("look_up", order=order) for order in ORDERS))
    latest: dict[str, Exchange] = {str((one.input or {}).get("order")): one for one in done}
    said = []
    for order, one in latest.items():
        if one.tool == "refund" and error_text(one.result) is None:
            said.append(f"{order} was refunded")
        elif one.tool == "refund" and one.result.get("error") == "not_approved":
            said.append(f"{order} was not refunded: {error_text(one.result)}")
        elif one.tool == "refund":  # nobody knows whether it was paid, so look before asking again
            return _asking(done, ask("look_up", order=order))
        elif error_text(one.result) is not None:
            said.append(f"{order} could not be looked up: {error_text(one.result)}")
        elif one.result["refunded_euros"]:
            said.append(f"{order} was refunded")
        elif one.result["days_ago"] > MAX_DAYS:
            said.append(f"{order} is {one.result['days_ago']} days old, and {MAX_DAYS} is the most")
        else:
            return _asking(done, ask("refund", order=order, euros=one.result["euros"]))
    return answer(f"{'; '.join(said)}.")


def _asking(done: list[Exchange], *requests: Entry) -> Entry:
    """Give each request an id that no other of the run has."""
    first = len(done) + 1
    return ask_together(*({**one, "id": f"call_{number}"} for number, one in enumerate(requests, first)))


class PulledPlugError(Exception):
    """Ends a run at once, as if its program had been killed."""


class _Killed(TraceWriter):
    """Writes so many events; then the program is gone."""

    def __init__(self, path: Path, count: int) -> None:
        super().__init__(path)
        self.left = count
        self.last = ""

    def __call__(self, event: Event) -> None:
        if not self.left:
            self.close()
            raise PulledPlugError
        self.left -= 1
        self.last = event.kind
        super().__call__(event)


def killed_after(count: int, desk: Desk, path: Path) -> str:
    """Begin the job, with every refund allowed, and kill it when so many events are written to a file.

    Gives the kind of the last of them.
    """
    killed = _Killed(path, count)
    run_agent(clerk, desk.tools(), GOAL, approve=lambda call: True, on_event=killed)
    return killed.last


def busy(*statuses: int | None, retry_after_seconds: float | None = None) -> Callable[[list[Entry]], Entry]:
    """Make the lab's model behind a provider whose first calls fail.

    statuses: of the HTTP responses, one for each call that fails; None = no response came.
    retry_after_seconds: what each of them asks for.
    """
    coming = list(statuses)

    def call(history: list[Entry]) -> Entry:
        if not coming:
            return clerk(history)
        status = coming.pop(0)
        raise ProviderError(
            "the refund desk's provider",
            "no response" if status is None else f"HTTP status {status}",
            status,
            worth_retrying=status is None or status == 429 or status >= 500,
            retry_after_seconds=retry_after_seconds,
        )

    return call
