"""Shop Helper: customers ask about orders, and one of them asks about an order that is not there.

Limits: 4 steps and 20 coins for each customer message. A call costs one coin for each entry it reads.
What must come out: 1044 is answered in 3 steps for 9 coins, 1042 in 2 for 4, 1043 in 3 for 9. 1099 has cost
1, 4, 9, 16 coins after each step and is stopped before call 5; without a limit it has cost 64 after 8.
With `HINTED_TOOLS` the same model answers 1099 in 2 steps, and "#1044" in 4.
"""

import re
import threading
from random import Random

from agentlib._run import Run
from agentlib.errors import ToolError
from agentlib.labs._reading import last_note, result_words
from agentlib.loop import run_agent
from agentlib.messages import Entry, Exchange, answer, ask, exchanges
from agentlib.models import RuleModel
from agentlib.stops import Cancelled
from agentlib.trace import Event

__all__ = [
    "BUDGET_COINS",
    "GOAL",
    "GOALS",
    "HINTED_TOOLS",
    "MAX_STEPS",
    "ORDERS",
    "TOOLS",
    "cancelled_in_step_3",
    "change_address",
    "honest_message",
    "lookup_order",
    "lookup_order_with_hint",
    "messages",
    "model",
    "search_help_centre",
]

GOALS = {
    "1042": "Where is order 1042?",
    "1043": "Please send order 1043 to 7 Mill Lane.",
    "1044": "Where is order 1044?",
    "1099": "Where is order 1099?",
    "#1044": "Where is order #1044?",
}
"""What a customer writes, by the order number as it is written."""

GOAL = GOALS["1044"]

MAX_STEPS = 4
"""Steps for one customer message: the hardest good job needs 3, and one is spare."""

BUDGET_COINS = 20
"""Coins for one customer message."""

ORDERS = {
    "1042": "Desk lamp, delivered Thursday 30 Oct",
    "1043": "Tea set, packed, leaves the shop tomorrow",
    "1044": "Rain jacket, shipped, late, now due Monday 3 Nov",
}


# --- tools ------------------------------------------------------------------------------------------


def lookup_order(order_id: str) -> str:
    """Look up one order by its number."""
    if order_id not in ORDERS:
        raise ToolError(f"No order {order_id}.", code="not_found")
    return f"{order_id}: {ORDERS[order_id]}"


def search_help_centre(query: str) -> str:
    """Search the help pages of the shop."""
    if "late" not in query.lower():
        raise ToolError(f'No help page about "{query}".', code="not_found")
    return "Late parcels: a new one for free, or a full refund."


def change_address(order_id: str, address: str) -> str:
    """Send one order to another address."""
    if order_id not in ORDERS:
        raise ToolError(f"No order {order_id}.", code="not_found")
    return f"{order_id}: goes to {address}"


TOOLS = {
    "lookup_order": lookup_order,
    "search_help_centre": search_help_centre,
    "change_address": change_address,
}


def lookup_order_with_hint(order_id: str) -> str:
    """Look up one order by its number; an error also says what to do next."""
    digits = "".join(re.findall(r"\d", order_id))
    if order_id not in ORDERS and digits in ORDERS:
        raise ToolError(f'No order {order_id}. Use the digits alone: "{digits}".', code="not_found")
    if order_id not in ORDERS:
        raise ToolError(f"No order {order_id}. Tell the customer to check the number.", code="not_found")
    return f"{order_id}: {ORDERS[order_id]}"


HINTED_TOOLS = {**TOOLS, "lookup_order": lookup_order_with_hint}
"""The same tools, except that the error of `lookup_order` gives a hint."""


# --- the model --------------------------------------------------------------------------------------


def model() -> RuleModel:
    """Make a fresh model for one run.

    If a tool's error says how to mend the problem, it does that; if not, it makes the same request again.
    """
    return RuleModel(_heed_a_note, _begin, _react_to_an_error, _go_on)


def _heed_a_note(history: list[Entry]) -> Entry | None:
    """Answer with what is known when the loop has asked for that."""
    if not last_note(history):
        return None
    known = _known(history)
    return answer(f"What I know: {known}" if known else "I could not find that order.")


def _begin(history: list[Entry]) -> Entry | None:
    if exchanges(history):
        return None
    named = re.search(r"order (#?\w+)", str(history[0]["text"]))
    return ask("lookup_order", order_id=named[1]) if named else answer("Which order is it, please?")


def _react_to_an_error(history: list[Entry]) -> Entry | None:
    last = exchanges(history)[-1]
    if _worked(last):
        return None
    words = result_words(last.result)
    better = re.search(r'Use [^"]*"([^"]+)"', words)
    if better and "order_id" in last.input:
        return ask(last.tool, **{**last.input, "order_id": better[1]})
    advice = re.search(r"Tell the customer to (.+)\.", words)
    if advice and "order_id" in last.input:
        return answer(f"I found no order {last.input['order_id']}. Please {advice[1]}.")
    return ask(last.tool, **last.input)  # nothing says what else to do


def _go_on(history: list[Entry]) -> Entry:
    last = exchanges(history)[-1]
    address = re.search(r"\bto (\d.+?)\.?$", str(history[0]["text"]))
    if last.tool == "lookup_order" and address:
        return ask("change_address", order_id=last.input["order_id"], address=address[1])
    if last.tool == "lookup_order" and ", late," in result_words(last.result):
        return ask("search_help_centre", query="late parcel")
    return answer(_known(history))


def _worked(done: Exchange) -> bool:
    # Good results begin in a known way. What a failure looks like is up to each loop.
    begins = "Late parcels: " if done.tool == "search_help_centre" else f"{done.input.get('order_id')}: "
    return result_words(done.result).startswith(begins)


def _known(history: list[Entry]) -> str:
    """Put together what the tools have said that is of use to the customer."""
    good = [done for done in exchanges(history) if _worked(done)]
    lines = [("Order " if "order_id" in done.input else "") + result_words(done.result) for done in good]
    return " ".join(words.rstrip(".") + "." for words in dict.fromkeys(lines))


# --- the app ----------------------------------------------------------------------------------------


def honest_message(history: list[Entry]) -> str:
    """Write what the app itself tells the customer when there is no answer: what is true, and what to do."""
    done = exchanges(history)
    failed = [each for each in done if not _worked(each)]
    if failed and failed[-1] == done[-1] and failed[-1].tool == "lookup_order":
        number = failed[-1].input["order_id"]
        return f"Shop Helper: order {number} was not found. Please check the number."
    known = _known(history)
    if known:
        return f"Shop Helper: this is not finished. Known so far: {known} A person will write to you."
    return "Shop Helper: this is not finished, and nothing is known yet. Please write again."


# --- a day at the shop ------------------------------------------------------------------------------


def messages(count: int, seed: int = 3) -> list[str]:
    """Draw what customers write on one day, as keys of `GOALS`; the same seed draws the same."""
    return Random(seed).choices(list(GOALS), weights=[4, 2, 2, 1, 1], k=count)


def cancelled_in_step_3() -> Run:
    """Run order 1099 until somebody presses stop, when step 3 begins."""
    pressed = threading.Event()

    def press(event: Event) -> None:
        if event.step == 3:
            pressed.set()

    return run_agent(model(), TOOLS, GOALS["1099"], stops=Cancelled(pressed), on_event=press)
