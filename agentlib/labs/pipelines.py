"""Pipelines for the invoices: the steps written down, by a rule or with one model call for each invoice.

What must come out for batch B-19: 79 matched and 1 flagged either way; with a model 80 calls that read 8,112
tokens.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from agentlib import costs
from agentlib._run import Run
from agentlib.messages import Entry, ModelFunction, ask
from agentlib.models import RecordingModel

__all__ = [
    "ask_once",
    "close",
    "first_history",
    "path",
    "paths_by_invoice",
    "same_name",
    "tokens_read",
    "used_by",
]

Tools = Mapping[str, Callable[..., Any]]


def same_name(invoice: Entry, payment: Entry) -> bool:
    """Tell whether supplier and payer are the same, as far as capitals and "LTD" go."""
    return bool(invoice["supplier"].upper().replace("LIMITED", "LTD") == payment["payer"])


def close(number: str, fits: Sequence[str], tools: Tools) -> str:
    """Record the one payment that fits, or flag the invoice."""
    if len(fits) == 1:
        return str(tools["record_match"](invoice=number, payment=fits[0]))
    return str(tools["flag_invoice"](invoice=number, reason="no payment found"))


def first_history(number: str, tools: Tools) -> list[Entry]:
    """Write down the two steps that are always the same, as a history that a model can read."""
    history = [{"role": "user", "text": f"Match {number} with its payment. Flag it if it has none."}]
    for name in ("fetch_invoice", "find_payment"):
        result = tools[name](invoice=number)
        history += [ask(name, invoice=number), {"role": "tool", "tool": name, "result": result}]
    return history


def ask_once(
    model: ModelFunction,
    numbers: Iterable[str],
    tools: Tools,
    chosen: Callable[[Entry, list[str]], str | None],
) -> list[str]:
    """Match invoices with one call for each. chosen(reply, payments) gives the payment that a reply names."""
    lines = []
    for number in numbers:
        history = first_history(number, tools)
        listed = [one["payment"] for one in history[-1]["result"]["payments"]]
        payment = chosen(model(history), listed)
        lines.append(close(number, [payment] if payment else [], tools))
    return lines


def path(run: Run) -> str:
    """Write the tools that a run asked for, in order: "find_payment > record_match"."""
    return " > ".join(entry["tool"] for entry in run.history if "input" in entry)


def paths_by_invoice(run: Run) -> list[str]:
    """Write the tools that a run asked for, in order, for each invoice alone."""
    tools: dict[str, list[str]] = {}
    for entry in run.history:
        if "input" in entry:
            tools.setdefault(entry["input"]["invoice"], []).append(entry["tool"])
    return [" > ".join(names) for names in tools.values()]


def used_by(work: Run | RecordingModel) -> tuple[int, int, int]:
    """Count the calls of a run, or of a recorded model, the tokens that they read and those they wrote."""
    if isinstance(work, Run):
        return work.steps, work.usage.input_tokens, work.usage.output_tokens
    read = sum(map(costs.estimate_tokens, work.histories))
    return len(work.replies), read, costs.estimate_tokens(work.replies)


def tokens_read(invoices: int, tokens_per_call: int) -> dict[str, list[float]]:
    """What is read in all for 1, 2, ... invoices, by formula.

    One call for each reads so many tokens. The agent makes 3 calls for each and reads the whole history,
    which grows by 37 tokens a step, as measured.
    """
    counts = range(1, invoices + 1)
    return {
        "one call each": [float(count * tokens_per_call) for count in counts],
        "agent": [costs.tokens_read_total(3 * count, 37) for count in counts],
    }
