"""Stuck runs: five scripts that get nowhere, each in its own disguise, a print job, and what guards see.

What must come out: `RepeatedCall(3)`, `NoProgress(3)` and `TooManyErrors(5)` together see all five; each of
them alone misses some, and so do a rule that compares calls and one that counts errors in a row.
"""

from collections.abc import Callable, Mapping
from typing import Any

from agentlib import costs
from agentlib._run import Run
from agentlib.loop import run_agent
from agentlib.messages import Entry, answer, ask
from agentlib.models import ScriptedModel
from agentlib.stops import Progress
from agentlib.tools import Tool, tool

__all__ = [
    "SCRIPTS", "TOOLS", "caught_in_step", "dollars", "echo", "errors_in_a_row", "find_payment", "open_file",
    "patient", "print_job", "run_script", "search", "table", "three_alike",
]  # fmt: skip

WORDS = ["auth error", "login failure", "cannot sign in", "sign-in problem", "who am I?"]


def find_payment(invoice: int) -> str:
    """Find the payment of an invoice."""
    return "No payment found." if invoice == 9 else f"Invoice {invoice} is paid."


def search(query: str) -> str:
    """Search the help pages."""
    return "Nothing found."


def echo(query: str) -> str:
    """Search the help pages, and repeat the question in the result."""
    return f"Nothing found for {query}."


def open_file(name: str) -> str:
    """Open a file."""
    raise FileNotFoundError(f"No file {name}.")


TOOLS: dict[str, Callable[..., Any]] = {
    "find_payment": find_payment, "search": search, "open_file": open_file,
}  # fmt: skip

SCRIPTS: dict[str, list[Entry]] = {
    "one call": [ask("find_payment", invoice=9)] * 30,
    "two in turn": [ask("find_payment", invoice=9), ask("find_payment", invoice=1)] * 15,
    "new words": [ask("search", query=f"{text}, try {turn}") for turn in range(6) for text in WORDS],
    "good ones between": [
        ask("find_payment", invoice=number) if number % 2 else ask("open_file", name="log")
        for number in range(10, 40)
    ],
    "new failures": [ask("open_file", name=f"log_{number}") for number in range(30)],
}
"""What the model requests in each stuck run, 30 times."""


def run_script(
    script: list[Entry], max_steps: int = 30, tools: Mapping[str, Any] = TOOLS, **options: Any
) -> Run:
    """Run a script of requests with these tools."""
    return run_agent(ScriptedModel(script), tools, "?", max_steps, **options)


def caught_in_step(guard: Any) -> dict[str, int | None]:
    """Give for each stuck run the step in which this guard ended it; None = it saw nothing in 30 steps."""
    runs = {name: run_script(script, stops=guard) for name, script in SCRIPTS.items()}
    return {name: None if run.stopped == "step limit" else run.steps for name, run in runs.items()}


def table(guards: Mapping[str, Any]) -> str:
    """Write as plain text in which step each guard, alone, ended each stuck run: a row for each guard."""
    rows: dict[str, list[Any]] = {"": list(SCRIPTS)}
    rows |= {name: list(caught_in_step(one).values()) for name, one in guards.items()}
    return "\n".join(f"{name:16} " + " ".join(f"{cell!s:>17}" for cell in row) for name, row in rows.items())


# --- two rules that are often written, and miss much ----------------------------------------------------


def three_alike(run: Progress) -> str | None:
    """Stop at three equal calls in a row, whatever came of them."""
    asked = [(entry["tool"], entry["input"]) for entry in run.history if entry.get("type") == "tool"]
    return "3 calls alike" if len(asked) >= 3 and asked[-1] == asked[-2] == asked[-3] else None


def errors_in_a_row(run: Progress) -> str | None:
    """Stop at three errors in a row."""
    last = [entry["result"] for entry in run.history if "result" in entry][-3:]
    return "3 errors in a row" if len(last) == 3 and all("error" in result for result in last) else None


# --- a job that takes its time --------------------------------------------------------------------------


def print_job(*states: str, repeatable: bool = False) -> list[Tool]:
    """Make the tool `status` of a print job: it tells one state after the other."""
    left = iter(states)
    return [tool(lambda: next(left), name="status", repeatable=repeatable)]


def patient(history: list[Entry]) -> Entry:
    """Ask for the status until the job is ready."""
    return answer("Printed.") if history[-1].get("result") == "ready" else ask("status")


# --- the bill -------------------------------------------------------------------------------------------


def dollars(price: costs.Price) -> Callable[..., dict[str, list[float]]]:
    """Make the curves of a stuck night: what it has cost after each hour, with no guard and with 10 USD."""

    def curves(hours: int, calls_per_minute: int, window: int) -> dict[str, list[float]]:
        calls = [costs.calls_made(3600 * hour, 60 / calls_per_minute) for hour in range(1, hours + 1)]
        spent = [number * price.usd(window) for number in calls]
        return {"no guard": spent, "a budget of 10 dollars": [min(10.0, usd) for usd in spent]}

    return curves
