"""Invoices: a batch of 80, four tools, and a model that gets stuck on the one that cannot be matched.

What must come out: batch B-19 has 80 invoices, 79 of them with a payment; the one without is among the first
ten. For each invoice the model fetches it, looks for payments, and records the match: 3 steps. It reads no
more of the history than the work in hand: the invoice after the last one that it can see finished is next.
Where no payment is found it asks again, and again, until it is told: by a note that stands last in the
history, or by a result with the word "flag" in it. Then it flags the invoice, and goes on.
With one repeat before it is told, the batch takes 79 * 3 + 4 + 1 = 242 model calls, the answer included.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from agentlib.costs import Price
from agentlib.errors import ToolError
from agentlib.labs._reading import last_note
from agentlib.messages import Entry, Exchange, answer, ask, error_text, exchanges, json_text
from agentlib.models import RuleModel

__all__ = [
    "B19",
    "GOAL",
    "MAX_STEPS",
    "MAX_TOKENS",
    "MAX_USD",
    "PRICE",
    "TOOLS",
    "Batch",
    "make_batch",
    "model",
]

MAX_STEPS = 400
"""Model calls for one batch: the work needs about 240."""

MAX_TOKENS = 200_000
"""Tokens that all calls together may read."""

MAX_USD = 1.0
"""Money for one batch, in USD."""

PRICE = Price(input_usd=3.0, output_usd=0.0, source="given with the task", date="2026-11")
"""The price of this task, in USD per million tokens; what the model writes is free here."""

FIRST = ("Amber", "Birch", "Cobalt", "Delta", "Ember", "Fjord", "Garnet", "Harbour", "Indigo", "Juniper")
SECOND = ("Foods", "Glass", "Metals", "Paper", "Print", "Seeds", "Stone", "Textiles", "Tiles", "Tools")


@dataclass(frozen=True)
class Batch:
    """A batch of invoices with the payments that came in.

    invoices: by number, in order. payments: for each invoice number those that might be for it.
    right: for each invoice number its payment; the one without a payment is missing.
    """

    name: str
    invoices: dict[str, Entry]
    payments: dict[str, list[Entry]]
    right: dict[str, str]

    @property
    def goal(self) -> str:
        """What the model is asked to do."""
        numbers = list(self.invoices)
        return (
            f"Match every invoice of batch {self.name}, from {numbers[0]} to {numbers[-1]}, "
            "with its payment. Flag one that has none."
        )

    @property
    def unmatched(self) -> str:
        """The number of the invoice without a payment."""
        return next(number for number in self.invoices if number not in self.right)

    def tools(self) -> dict[str, Callable[..., Any]]:
        """Make the four tools."""

        def known(invoice: str) -> str:
            if invoice not in self.invoices:
                raise ToolError(f"There is no invoice {invoice} in batch {self.name}.", code="not_found")
            return invoice

        def fetch_invoice(invoice: str) -> Entry:
            """Fetch one invoice by its number."""
            return dict(self.invoices[known(invoice)])

        def find_payment(invoice: str) -> Entry:
            """List the payments that might be for one invoice."""
            found = [dict(payment) for payment in self.payments[known(invoice)]]
            return {"invoice": invoice, "payments": found}

        def record_match(invoice: str, payment: str) -> str:
            """Record that a payment is for an invoice."""
            if payment not in {one["payment"] for one in self.payments[known(invoice)]}:
                raise ToolError(f"Payment {payment} does not fit invoice {invoice}.", code="wrong_payment")
            return f"{invoice} matched with {payment}"

        def flag_invoice(invoice: str, reason: str) -> str:
            """Flag an invoice for a person to look at."""
            return f"{known(invoice)} flagged: {reason}"

        return {tool.__name__: tool for tool in (fetch_invoice, find_payment, record_match, flag_invoice)}


def make_batch(name: str, rng: Random, count: int = 80) -> Batch:
    """Make a batch from a seeded random source. count: how many invoices, at least 10."""
    if count < 10:
        raise ValueError(f"A batch has at least 10 invoices, but {count} were wanted.")
    unmatched = rng.randrange(4, 11)
    invoices: dict[str, Entry] = {}
    payments: dict[str, list[Entry]] = {}
    right: dict[str, str] = {}
    for place in range(1, count + 1):
        number = f"{name}/{place:03}"
        one, other = rng.sample(FIRST, 2)
        branch = rng.choice(SECOND)
        cents = rng.randrange(10_000, 900_000)
        invoices[number] = {
            "invoice": number,
            "supplier": f"{one} {branch} Limited",
            "amount": f"{cents / 100:.2f} EUR",
            "terms": "30 days",
        }
        if place == unmatched:
            payments[number] = []
            continue
        names = [f"P-{code}" for code in rng.sample(range(10_000, 99_999), 2)]
        # The payer writes the name in a way of its own; another payer sent the same amount.
        found = [
            {"payment": name, "payer": f"{who} {branch} LTD".upper(), "amount": invoices[number]["amount"]}
            for name, who in zip(names, (one, other), strict=True)
        ]
        rng.shuffle(found)
        payments[number] = found
        right[number] = names[0]
    return Batch(name, invoices, payments, right)


B19 = make_batch("B-19", Random(19))
"""The batch of the course."""

GOAL = B19.goal
TOOLS = B19.tools()


def model() -> RuleModel:
    """Make a fresh model for one run. It remembers nothing: all it knows is in the history."""
    return RuleModel(_go_on, _begin_the_next)


def _invoice(exchange: Exchange) -> str:
    return str((exchange.input or {}).get("invoice", ""))


def _finished(exchange: Exchange) -> bool:
    ends = exchange.tool in ("record_match", "flag_invoice")
    return ends and error_text(exchange.result) is None


def _go_on(history: list[Entry]) -> Entry | None:
    """Go on with the invoice in hand; None if there is none."""
    done = exchanges(history)
    if not done or _finished(done[-1]):
        return None
    number = _invoice(done[-1])
    mine = [exchange for exchange in done if _invoice(exchange) == number]
    fetched = [one.result for one in mine if one.tool == "fetch_invoice" and isinstance(one.result, dict)]
    suppliers = [str(result["supplier"]) for result in fetched if "supplier" in result]
    found = [one.result for one in mine if one.tool == "find_payment"]
    if not suppliers:
        return ask("fetch_invoice", invoice=number)
    if not found:
        return ask("find_payment", invoice=number)
    lists = [result.get("payments", []) for result in found if isinstance(result, dict)]
    for payment in (payment for payments in lists for payment in payments):
        if payment["payer"].split()[0].lower() == suppliers[-1].split()[0].lower():
            return ask("record_match", invoice=number, payment=payment["payment"])
    told = last_note(history) or "flag" in json_text(found[-1]).lower()
    if told:
        return ask("flag_invoice", invoice=number, reason="no payment found")
    return ask("find_payment", invoice=number)


def _begin_the_next(history: list[Entry]) -> Entry:
    """Begin with the invoice after the last one in sight, or answer if that was the last of all."""
    text = str(history[0]["text"])
    numbers = re.findall(r"\S+/\d{3}\b", text)
    if not numbers:
        return answer("Which invoices are meant?")
    prefix = numbers[0].rsplit("/", 1)[0]
    first, last = (int(number.rsplit("/", 1)[1]) for number in (numbers[0], numbers[-1]))
    seen = [int(_invoice(one).rsplit("/", 1)[1]) for one in exchanges(history) if _finished(one)]
    if not seen:  # perhaps the work so far stands in a note
        notes = " ".join(str(entry.get("text", "")) for entry in history[1:] if entry.get("role") == "user")
        seen = [int(place) for place in re.findall(rf"{re.escape(prefix)}/(\d{{3}})\b", notes)]
    place = max(seen) + 1 if seen else first
    if place > last:
        return answer(f"All invoices up to {prefix}/{last:03} are matched or flagged.")
    return ask("fetch_invoice", invoice=f"{prefix}/{place:03}")
