"""Guards: four runs that run away, each in its own way, to be caught by four guards.

Each bad run would answer in the end. Before that it takes too many steps, reads too much, waits too long or
thinks too much. Time is a clock that only the tool moves on, so that nobody waits.
What must come out: with at most 20 steps, 20,000 tokens, 60 seconds and 0.20 USD at 15 USD per million tokens
written, each bad run is stopped by one of the four guards and answered under the other three.
"""

from collections.abc import Callable, Mapping

from agentlib._run import Run
from agentlib.costs import Price
from agentlib.loop import run_agent
from agentlib.messages import Entry, answer, ask
from agentlib.models import ScriptedModel
from agentlib.stops import StopRule

__all__ = [
    "BAD_RUNS",
    "GOAL",
    "MAX_STEPS",
    "PRICE",
    "THOUGHT_TOKENS",
    "bad_run",
    "each_alone",
    "stopped",
    "table",
]

GOAL = "Read the pages."

MAX_STEPS = 99
"""Steps that every run may take: enough that only the guard can end it."""

THOUGHT_TOKENS = 5_000
"""Tokens of one long thought: written and paid for, but not shown."""

PRICE = Price(input_usd=3, output_usd=15, source="an example, USD per million", date="2026-01-01")
"""What the lesson counts with; no real price."""

_THOUGHT = {"input_tokens": 100, "output_tokens": THOUGHT_TOKENS}

BAD_RUNS: dict[str, list[Entry]] = {
    "25 small steps": [ask("read_page", page=page) for page in range(25)],
    "3 long pages": [ask("read_page", page=page, characters=20_000) for page in range(3)],
    "3 slow pages": [ask("read_page", page=page, seconds=25) for page in range(3)],
    "3 long thoughts": [{**ask("read_page", page=page), "usage": _THOUGHT} for page in range(3)],
}
"""What the model requests in each bad run before it answers."""


class _Clock:
    """A clock that stands still until it is moved on."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def _reader(clock: _Clock) -> Callable[..., str]:
    def read_page(page: int, characters: int = 40, seconds: int = 1) -> str:
        """Read one page of so many characters, which takes so many seconds."""
        clock.seconds += seconds
        return f"page {page} ".ljust(characters, ".")

    return read_page


def bad_run(name: str, guard: StopRule) -> Run:
    """Run one of `BAD_RUNS` with nothing but `guard` to end it. Raises KeyError for any other name."""
    clock = _Clock()
    model = ScriptedModel([*BAD_RUNS[name], answer("done")])
    tools = {"read_page": _reader(clock)}
    return run_agent(model, tools, GOAL, MAX_STEPS, stops=guard, clock=clock)


def each_alone(guards: Mapping[str, StopRule]) -> dict[str, dict[str, str]]:
    """Run each bad run under each guard alone: the stop reasons, by the name of the run and of the guard."""
    return {name: {guard: bad_run(name, rule).stopped for guard, rule in guards.items()} for name in BAD_RUNS}


def stopped(ends: Mapping[str, Mapping[str, str]]) -> int:
    """Count the runs of `each_alone` that a guard has stopped."""
    return sum(reason != "answered" for reasons in ends.values() for reason in reasons.values())


def table(ends: Mapping[str, Mapping[str, str]]) -> str:
    """Write what `each_alone` gives as a table in plain text: a row for each run, a column for each guard."""
    guards = list(next(iter(ends.values()), {}))
    rows = [["", *guards], *([name, *reasons.values()] for name, reasons in ends.items())]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join(lines)
