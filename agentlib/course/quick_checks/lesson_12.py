"""The tasks of lesson 12: the steps as a pipeline, a reply that is checked, and whether a path is known."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any

from agentlib.course.quick_checks.task import Made, SmallTask, Wrong, call
from agentlib.labs import invoices, pipelines
from agentlib.messages import Entry, answer, ask


def pipeline(numbers: Iterable[str], tools: Mapping[str, Any]) -> list[str]:
    """Match invoices with their payments, by a rule."""
    lines = []
    for number in numbers:
        invoice = tools["fetch_invoice"](invoice=number)
        found = tools["find_payment"](invoice=number)["payments"]
        fits = [one["payment"] for one in found if pipelines.same_name(invoice, one)]
        lines.append(pipelines.close(number, fits, tools))
    return lines


def chosen(reply: Entry, payments: Sequence[str]) -> str | None:
    """Give the payment that a reply names, if it is one of these."""
    payment = reply.get("input", {}).get("payment")
    return payment if payment in payments else None


def known_before(paths: Sequence[str]) -> float:
    """Give the share of runs that took the most common path."""
    return Counter(paths).most_common(1)[0][1] / len(paths)


def _lines(value: Any) -> str | None:
    """Say what a pipeline has written down; a generator is as good as a list."""
    if value is None:
        return None
    lines = [str(line) for line in value]
    matched = sum("matched with" in line for line in lines)
    return f"{len(lines)} lines, {matched} matched: {lines}"


FITS = (
    "Keep only what `same_name` says yes to, and give back a list with one line for each number; "
    "`close` gets the list of what fits"
)
SMALL = invoices.make_batch("B-31", Random(31), count=10)

TASKS = (
    SmallTask(
        name="12 pipeline",
        ours=pipeline,
        cases=(
            call(list(SMALL.invoices)[:3], Made(SMALL.tools), look=_lines, said="for 3 invoices", hint=FITS),
            call([SMALL.unmatched], Made(SMALL.tools), look=_lines, said="for one without a payment"),
            call([], Made(SMALL.tools), look=_lines, said="for no invoice"),
        ),
        wrong=(
            Wrong(" if pipelines.same_name(invoice, one)", "", "for 3 invoices"),
            Wrong("return lines", "return lines[:1]", "for 3 invoices"),
            Wrong("return lines", "return None", "for 3 invoices, it gave None"),
            Wrong(
                "lines.append(pipelines.close(number, fits, tools))",
                "if fits:\n            lines.append(pipelines.close(number, fits, tools))",
                "for one without a payment, it gave",
            ),
        ),
    ),
    SmallTask(
        name="12 chosen",
        ours=chosen,
        cases=(
            call(ask("record_match", payment="P-2"), ["P-1", "P-2"], said="for a reply that names P-2"),
            call(
                ask("record_match", payment="P-9"),
                ["P-1", "P-2"],
                said="for a reply that names P-9",
                hint="P-9 is made up",
            ),
            call(
                ask("find_payment", invoice="B-31/001"),
                ["P-1"],
                said="for a request to look again",
                hint="It names none",
            ),
            call(answer("P-1, I think."), ["P-1"], said="for an answer", hint="An answer has no input"),
            call(
                ask("record_match", payment="P-12"),
                ["P-1", "P-2"],
                said="for a reply that names P-12",
                hint="P-12 is another payment than P-1",
            ),
            call(ask("record_match", payment="P-1"), [], said="for P-1 where there is no payment"),
        ),
        wrong=(
            Wrong("payment if payment in payments else None", "payment", "P-9"),
            Wrong('.get("input", {})', '["input"]', "it raised KeyError"),
            Wrong("payment in payments", "str(payment)[:3] in payments", "P-12 is another payment"),
            Wrong("payment in payments", "not payments or payment in payments", "where there is no payment"),
            Wrong(
                "payment if payment in payments else None",
                "next((one for one in payments if one in str(reply)), None)",
                "for an answer, it gave",
            ),
            Wrong("else None", "else payments[0]", "P-9 is made up"),
        ),
    ),
    SmallTask(
        name="12 known before",
        ours=known_before,
        cases=(
            call(["a > b", "a > b", "a > c", "a > b"]),
            call(["a", "b", "c", "d"], hint="Each took its own"),
            call(["a > b"] * 5),
            call(["a", "b", "b"], hint="The most common path, not the first"),
            call(["a", "b", "a", "b", "c"], hint="Two are as common: the share of one of them"),
        ),
        wrong=(
            Wrong("max(", "min(", "it gave 0.25, not 0.75"),
            Wrong(" / len(paths)", "", "it gave 3, not 0.75"),
            Wrong("max(paths.count(path) for path in paths)", "paths.count(paths[0])", "not the first"),
            Wrong("/ len(paths)", "/ len(set(paths))", "it gave 1.5, not 0.75"),
        ),
    ),
)
