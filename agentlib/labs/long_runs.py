"""Long runs: a log of 500 tokens a step, an order of 100 fields, a clerk who needs an early detail.

What must come out: the log's 20 calls read 105,000 tokens; three orders read 3,600 tokens with all fields and
126 with three; the clerk names invoice 3 unless a summary has lost it.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from agentlib import memory
from agentlib._run import Run
from agentlib.costs import tokens_read_total, tokens_read_windowed
from agentlib.loop import run_agent
from agentlib.messages import Entry, answer, ask, ask_together, user
from agentlib.models import ScriptedModel

__all__ = [
    "GOAL", "careful_clerk", "clerk", "curves", "find_payment", "look_up_three", "much_noise", "order",
    "page", "read_log", "read_two_at_once", "reader", "same_log_three_ways", "summarised", "with_clock",
]  # fmt: skip

GOAL = "Read the log and tell me what went wrong.".ljust(2_000, ".")
"""500 tokens long, like each step of the log."""


def page(number: int) -> str:
    """Read one page of the log."""
    return f"page {number} ".ljust(1_978, ".")


def reader() -> ScriptedModel:
    """Make a model that reads 19 pages in 20 calls; a request and its page together have 500 tokens."""
    return ScriptedModel([*(ask("page", number=number) for number in range(10, 29)), answer("A full disk.")])


def read_log(tool: Any = page, **options: Any) -> Run:
    """Read the log."""
    return run_agent(reader(), [tool], GOAL, max_steps=20, **options)


def read_two_at_once() -> Run:
    """Read a page, then two in one reply."""
    both = ask_together(ask("page", number=10), ask("page", number=11))
    return run_agent(ScriptedModel([ask("page", number=9), both, answer("Done.")]), [page], "Read.")


def with_clock(histories: list[list[Entry]]) -> list[list[Entry]]:
    """Put the time of day before each history, a minute later each time."""
    return [[user(f"It is 12:{minute}."), *history] for minute, history in enumerate(histories, 10)]


def much_noise() -> str:
    """Give the end of a long history: 40 results, one of which holds what is looked for."""
    notes = [
        f"step {step:2}: train {10_000 + 37 * step} is on time, gate {step % 9 + 1} is open"
        for step in range(40)
    ]
    notes[1] = "step  1: train 10037 is late and leaves from gate 12 today"
    return "\n".join(["Which gate does train 10037 leave from?", *notes])


def curves(steps: int, tokens: int) -> dict[str, list[float]]:
    """What is read in all after each call, by formula, in four ways. tokens: added by each step."""
    calls = range(1, steps + 1)
    return {
        "everything": [tokens_read_total(call, tokens) for call in calls],
        "old steps summarised": [tokens_read_windowed(call, tokens, 3_000) for call in calls],
        "results trimmed": [tokens_read_total(call, tokens / 5) for call in calls],
        "read anew, with a cache": [float(tokens * call) for call in calls],
    }


def same_log_three_ways() -> dict[str, Run]:
    """Read the log as it is, with pages cut to 400 characters, and with a window of 3,000 tokens."""
    shrink = memory.CompactWhenFull(3_000, keep_steps=2, summarise=lambda old: "Nothing odd so far.")
    return {
        "everything": read_log(),
        "trimmed": read_log(memory.trimmed(page, 400)),
        "summarised": read_log(memory=shrink),
    }


def order(number: int) -> dict[str, object]:
    """Look up an order: 100 fields, of which three say whether it is late."""
    known: dict[str, object] = {"number": number, "status": "late", "due": "3 Nov"}
    return known | {f"field_{field}": "x" * 10 for field in range(97)}


def look_up_three(tool: Any) -> Run:
    """Look up three orders with this tool."""
    script = [ask("order", number=number) for number in (1042, 1043, 1044)]
    return run_agent(ScriptedModel([*script, answer("All are late.")]), [tool], "Which orders are late?")


# --- the clerk ----------------------------------------------------------------------------------------


def find_payment(invoice: int) -> str:
    """Find the payment of one invoice."""
    return f"invoice {invoice}: {'no payment' if invoice == 3 else 'paid'} ".ljust(200, ".")


def clerk(history: list[Entry]) -> Entry:
    """Check the invoices 1 to 8, then name the one without a payment, if it can still be read."""
    text = json.dumps(history)
    done = max(map(int, re.findall(r"invoice (\d+)", text)), default=0)
    if done < 8:
        return ask("find_payment", invoice=done + 1)
    missing = re.search(r"invoice (\d+): no payment", text)
    return answer(f"Invoice {missing[1]} is not paid." if missing else "One is not paid. Which?")


def careful_clerk(history: list[Entry]) -> Entry:
    """Do the same, write down what is open as soon as it is known, and read the notes before the answer."""
    last, reply = history[-1], clerk(history)
    if last.get("tool") == "find_payment" and "no payment" in last["result"]:
        return ask("write_note", title="open", text=last["result"][:21])
    if reply["type"] == "answer" and last.get("tool") != "read_notes":
        return ask("read_notes")
    return reply


def summarised(window_tokens: int) -> Callable[[list[Entry]], list[Entry]]:
    """Make a memory that puts one line in the place of old steps when the window is full."""
    return memory.CompactWhenFull(window_tokens, keep_steps=2, summarise=lambda old: "All but one are paid.")
