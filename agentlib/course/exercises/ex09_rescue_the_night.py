"""ex09: rescue the night. Only outcomes count: what became of the invoices, and what it cost."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import signature
from random import Random
from typing import Any

from agentlib.costs import estimate_tokens
from agentlib.course.checking.evidence import (
    crash,
    is_result,
    request_words,
    requests_in,
    same_call,
    shown,
    what_came_back,
)
from agentlib.course.checking.fake_data import interrupt
from agentlib.course.checking.simulator import TOO_OFTEN
from agentlib.course.checking.spec import Criterion, Exercise, Fault, Log, Logs, Scenario, each, in_turn
from agentlib.course.exercises.loops import leaves, lets_through, not_asked_after_its_failure
from agentlib.labs import invoices
from agentlib.labs.invoices import MAX_STEPS, MAX_TOKENS, MAX_USD, PRICE, Batch, make_batch
from agentlib.messages import Entry, ask, call_key, json_text
from agentlib.views.describe import counted, full_call, sketch, times

__all__ = ["EXERCISE"]


@dataclass(frozen=True)
class Forgotten:
    """A call in which the model asked once more for what it could not see any longer.

    number: of the call, from 1. before: in which call it had asked for it. told: a note stood last in the
    history, or its last result had the word "flag" in it, so that the model should have flagged the invoice.
    """

    number: int
    history: list[Entry]
    request: Entry
    before: int
    told: bool


class Meter:
    """A model with a meter: what each call read, in tokens, and what it missed there."""

    def __init__(self, model: Callable[[list[Entry]], Any] | None = None) -> None:
        self.model = model or invoices.model()
        self.read: list[int] = []
        self.without_goal = ""
        """The first call that read no goal, in words."""
        self.parted = ""
        """The first call that read a result or a request without the other, in words."""
        self.told = False
        """Whether a call read a note at its end, or a last result with the word "flag" in it."""
        self.open: list[Entry] = []
        """Requests of the last reply that were not run yet."""
        self.answers: list[str] = []
        self.forgotten: list[Forgotten] = []
        self._asked: dict[str, int] = {}

    def __call__(self, history: list[Entry]) -> Any:
        """Count what is read, and answer as the lab's model does."""
        self.read.append(estimate_tokens(history))
        number = len(self.read)
        if not self.without_goal and not _has_goal(history):
            self.without_goal = f"call {number} began with {sketch(history[:1])}"
        if not self.parted and (parted := _parted(history)):
            self.parted = f"call {number} read {sketch(history)}: {parted}"
        self.told = self.told or (number > 1 and _tells(history[-1:]))
        reply = self.model(history)
        self.open = [reply] if reply.get("type") == "tool" else []
        if reply.get("type") == "answer":
            self.answers.append(reply["text"])
        if reply.get("type") == "tool":
            key = call_key(reply["tool"], reply["input"])
            if key in self._asked and not any(
                same_call(call, reply["tool"], reply["input"]) for call in requests_in(history)
            ):
                told = _tells(history[-1:])
                self.forgotten.append(Forgotten(number, history, reply, self._asked[key], told))
            self._asked[key] = number
        return reply

    @property
    def different(self) -> int:
        """How many requests were made, each counted once however often it was made."""
        return len(self._asked)

    @property
    def tokens(self) -> int:
        """Tokens read by all calls."""
        return sum(self.read)

    @property
    def usd(self) -> float:
        """What the calls cost, in USD."""
        return PRICE.usd(self.tokens)


def _tells(last: list[Entry]) -> bool:
    """Whether the last entry is a note, or a result that has the word "flag" in it."""
    results = [json_text(entry.get("result")).lower() for entry in last]
    return any(entry.get("role") == "user" for entry in last) or any("flag" in result for result in results)


def _parted(history: list[Entry]) -> str:
    """Say which request and result are parted in a history; "" if none are."""
    waiting: list[Entry] = []
    for entry in history:
        if is_result(entry):
            if not waiting:
                return f"the request of the result {shown(entry.get('result'))} is not there"
            waiting.pop()
        elif waiting:
            break
        waiting += requests_in([entry])
    return f"{request_words(waiting[0])} has no result" if waiting else ""


def _has_goal(history: list[Entry]) -> bool:
    """Whether the first entry names an invoice, as every goal of this task does."""
    first = history[0] if history else None
    text = first.get("text") if isinstance(first, dict) and first.get("role") == "user" else None
    return isinstance(text, str) and re.search(r"/\d{3}\b", text) is not None


class Ledger:
    """The tools of a batch, with a note of what became of each invoice."""

    def __init__(self, batch: Batch, meter: Meter) -> None:
        self.batch = batch
        self.meter = meter
        self.unasked: list[str] = []
        """Runs that the model had not asked for in its last reply, in words."""
        self.matched: Counter[str] = Counter()
        self.flagged: Counter[str] = Counter()
        self.wrong: list[str] = []

    def tools(self) -> dict[str, Any]:
        """The four tools; two of them write."""
        tools = self.batch.tools()

        def record_match(invoice: str, payment: str) -> Any:
            said = tools["record_match"](invoice, payment)
            self.matched[invoice] += 1
            if self.batch.right.get(invoice) != payment:
                self.wrong.append(f"{invoice} was matched with {payment}")
            return said

        def flag_invoice(invoice: str, reason: str) -> Any:
            said = tools["flag_invoice"](invoice, reason)
            self.flagged[invoice] += 1
            if invoice in self.batch.right:
                self.wrong.append(f"{invoice} was flagged though it has a payment")
            return said

        noted = {**tools, "record_match": record_match, "flag_invoice": flag_invoice}
        return {name: self._asked_for(name, tool) for name, tool in noted.items()}

    def _asked_for(self, name: str, tool: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **input: Any) -> Any:
            given = signature(tool).bind(*args, **input).arguments
            asked = [call for call in self.meter.open if same_call(call, name, given)]
            if not asked:
                self.unasked.append(full_call(name, given))
            self.meter.open = []
            return tool(*args, **input)

        return run

    @property
    def done(self) -> set[str]:
        """The invoices that were matched or flagged."""
        return set(self.matched) | set(self.flagged)


def one_run(batch: Batch, tools: dict[str, Any], given: Entry, facts: Entry) -> Scenario:
    """One call of the function with one batch. given: the limits that it gets."""
    return Scenario(
        "run_agent",
        (facts["meter"], tools, batch.goal),
        given,
        max_calls={"model": MAX_STEPS + 1, "tools": 5 * MAX_STEPS},
        seconds=30.0,
        keep=False,
        facts=facts,
    )


def night(batch: Batch, **limits: Any) -> Scenario:
    """One night with one batch. limits: those that are given to the function."""
    meter = Meter()
    ledger = Ledger(batch, meter)
    facts = {"meter": meter, "ledger": ledger, "batch": batch.name, "limits": limits, "right": batch.right}
    scenario = one_run(batch, ledger.tools(), limits, facts)
    return replace(scenario, max_calls={**scenario.max_calls, "model": MAX_STEPS})


def endless(batch: Batch, limit: str, value: float, reason: str, **limits: Any) -> Scenario:
    """A model that flags without end, where a limit is not given. value: what the limit then is."""
    numbers = list(batch.invoices)
    count = 0

    def flag(history: list[Entry]) -> Entry:
        nonlocal count
        count += 1
        return ask("flag_invoice", invoice=numbers[count % len(numbers)], reason=f"{reason}{count}")

    facts = {"meter": Meter(flag), "batch": batch.name, "limits": {limit: value}, "given": False}
    return one_run(batch, batch.tools(), limits, facts)


def scenarios(rng: Random) -> dict[str, Scenario]:
    """The scenarios of one check. Each night has a batch of its own."""

    def batch() -> Batch:
        return make_batch(f"{rng.choice('CDEFGHJKL')}-{rng.randrange(20, 99)}", rng)

    whole = batch()
    long = "All of this has to be looked at by a person. " * 40
    return {
        "whole night": night(whole),
        "few steps": night(whole, max_steps=rng.randrange(12, 30)),
        "few tokens": night(batch(), max_tokens=rng.randrange(2_000, 4_000)),
        "little money": night(batch(), max_usd=rng.randrange(6, 12) / 1_000),
        "steps not given": endless(batch(), "max_steps", MAX_STEPS, "look "),
        "tokens not given": endless(batch(), "max_tokens", MAX_TOKENS, long),
        "money not given": endless(batch(), "max_usd", MAX_USD, long, max_tokens=10_000_000),
        "interrupt in a tool": Scenario(
            "run_agent",
            (invoices.model(), {**whole.tools(), "fetch_invoice": interrupt}, whole.goal),
            max_calls={"model": 20, "tools": 100},
        ),
        "interrupt in the model": Scenario(
            "run_agent", (interrupt, whole.tools(), whole.goal), max_calls={"model": 20, "tools": 100}
        ),
        "failing model": Scenario(
            "run_agent", (_cannot_be_reached, whole.tools(), whole.goal),
            max_calls={"model": 20, "tools": 100}, facts={"message": NOT_REACHED},
        ),
    }  # fmt: skip


NOT_REACHED = "the model cannot be reached"


def _cannot_be_reached(history: list[Entry]) -> Entry:
    raise ConnectionError(NOT_REACHED)


def _how_it_ended(log: Log) -> str:
    if fault := crash(log):
        return fault.seen
    return f"it returned {what_came_back(log)}"


def _out_of_sight(log: Log) -> Fault | None:
    """What the model had to read and could not, if that is why it got stuck."""
    meter: Meter = log.facts["meter"]
    if meter.without_goal:
        return Fault(
            f"{meter.without_goal}; the goal is no longer there",
            "The model reads nothing but what you give it. The goal comes first in every call: `[history[0], "
            "*last_steps]`.",
        )
    stuck = log.facts["ledger"].batch.unmatched
    for event in meter.forgotten:
        # The invoice without a payment is asked for until all else is out of sight, where nobody steps in.
        if event.told or event.request["input"].get("invoice") != stuck:
            asked = request_words(event.request)
            return Fault(
                f"call {event.number} read {sketch(event.history)}; {asked} of call {event.before} was out "
                "of sight, so the model asked for it again",
                "What you leave out, the model does not know. How many steps does the work on one invoice "
                "take, and how many can it see?",
            )
    return None


def _refused(log: Log) -> Fault | None:
    """Requests that were never run, though the model had not made them before."""
    different, run = log.facts["meter"].different, len(log.tool_runs)
    if run >= different or "raised" in log.outcome:
        return None
    return Fault(
        f"the model made {counted(different, 'different request')}, and {run} of them were run; "
        f"{_how_it_ended(log)}",
        "Which requests does your loop not run? Only the same tool with the same input is a repeat.",
    )


def begins(logs: Logs) -> Fault | None:
    """The first invoices, before the stuck one, are matched."""
    log = logs["whole night"]
    ledger: Ledger = log.facts["ledger"]
    numbers = list(ledger.batch.invoices)[:3]
    missing = [number for number in numbers if number not in ledger.matched]
    if missing:
        return (
            _too_early(log)
            or _out_of_sight(log)
            or _refused(log)
            or Fault(
                f"{missing[0]} was not matched; the model was asked {times(len(log.asks))}; "
                f"{_how_it_ended(log)}"
            )
        )
    asked = len(log.facts["meter"].read)
    if asked < len(ledger.done):
        return Fault(
            f"{len(ledger.done)} invoices were done, and the model was asked {times(asked)}",
            "What is to be done is the model's decision. Your loop runs what its replies ask for.",
        )
    again = logs["few steps"]
    asked = len(again.facts["meter"].read)
    if asked > len(numbers) * 3 and not again.facts["ledger"].matched:
        return Fault(
            f"the same batch, worked through a second time: nothing was matched in {asked} calls",
            "Something is left over from the run before. Where does your loop note what was asked: inside "
            "the function?",
        )
    return None


def _gets_past(log: Log) -> Fault | None:
    """The invoice without a payment is flagged, and the one behind it is matched."""
    ledger: Ledger = log.facts["ledger"]
    stuck = ledger.batch.unmatched
    if stuck not in ledger.flagged:
        meter: Meter = log.facts["meter"]
        looked = sum(call.name == "tools.find_payment" for call in log.calls)
        held_back = len(meter.read) > len(log.tool_runs) + 3
        hint = None
        if held_back and not meter.told:
            hint = (
                "Your guard runs no repeat, but nothing tells the model what to do now. What has to stand "
                "last in what it reads, so that it flags the invoice?"
            )
        elif len(meter.read) < MAX_STEPS and "repeat" in str(log.returned.get("stopped")).lower():
            hint = (
                "A repeat is no reason to end the night: give it a result without running it, tell the model "
                "in a note to flag the invoice, and go on."
            )
        return (
            _too_early(log)
            or _out_of_sight(log)
            or Fault(
                f"{stuck} has no payment; it was not flagged. find_payment ran {times(looked)}; "
                f"{_how_it_ended(log)}",
                hint,
            )
        )
    flags = [run for run in ledger.unasked if run.startswith("flag_invoice") and stuck in run]
    if len(flags) == ledger.flagged[stuck]:
        return Fault(
            f"{flags[0]} ran, and the model had not asked for it",
            "The model flags, your loop does not: a note tells it to, and its next request is the flag.",
        )
    numbers = list(ledger.batch.invoices)
    behind = numbers[numbers.index(stuck) + 1]
    if behind not in ledger.done:
        return _out_of_sight(log) or Fault(
            f"{stuck} was flagged, and {behind} behind it was not matched; {_how_it_ended(log)}",
            "One invoice out of 80 is no reason to end. How does the work go on?",
        )
    return None


def _once_and_right(log: Log) -> Fault | None:
    """None twice, none wrong."""
    ledger: Ledger = log.facts["ledger"]
    if ledger.unasked:
        return Fault(
            f"{ledger.unasked[0]} ran, and the model had not asked for it in its last reply",
            "One request, one run, and none besides. Does your loop run a tool by itself, or one twice? It "
            "flags "
            "through the model: a note tells it to.",
        )
    if ledger.wrong:
        return Fault(
            ledger.wrong[0],
            "What does the model have to read in order to decide, and does your loop still show it?",
        )
    twice = [number for number, count in (ledger.matched + ledger.flagged).items() if count > 1]
    if twice:
        count = (ledger.matched + ledger.flagged)[twice[0]]
        what = f"{twice[0]} was matched or flagged {times(count)}"
        return Fault(what, "Was the model shown that this invoice is done?")
    return None


def _all_done(log: Log) -> Fault | None:
    """Every invoice is matched or flagged, and the run ends answered."""
    ledger: Ledger = log.facts["ledger"]
    meter: Meter = log.facts["meter"]
    count = len(ledger.batch.invoices)
    if len(ledger.done) < count:
        steps = len(meter.read)
        return (
            _too_early(log)
            or _out_of_sight(log)
            or Fault(
                f"{len(ledger.done)} of {count} invoices were done; the model was asked {times(steps)} and "
                f"read {meter.tokens:,} tokens, {meter.read[-1]:,} of them in the last call; "
                f"{_how_it_ended(log)}",
                "How much does each call read, and how much of that does the next decision need?",
            )
        )
    if log.outcome.get("ended") == TOO_OFTEN or "returned" not in log.outcome:
        return crash(log)
    if log.returned.get("stopped") != "answered" or not log.returned.get("answer"):
        return Fault(
            f"all invoices were done; {_how_it_ended(log)}",
            'With the model\'s answer the run ends: "stopped" is "answered", and "answer" is its text.',
        )
    if log.returned["answer"] not in meter.answers:
        return Fault(
            f'"answer" was {shown(log.returned["answer"])}, which the model never said',
            'Nothing is made up: the answer is the text of the model\'s own last reply, `reply["text"]`.',
        )
    return None


def _nothing_parted(log: Log) -> Fault | None:
    """What the model reads holds each request with its result."""
    meter: Meter = log.facts["meter"]
    if not meter.parted:
        return None
    return Fault(
        meter.parted,
        "A provider refuses such a history. Where does a step begin, and do you cut in front of one? A "
        "request "
        "that is held back gets a result too.",
    )


LIMIT = re.compile("step|token|budget|limit|cost|usd|money|price|dollar")
"""What a reason for stopping says that speaks of a limit."""


def _too_early(log: Log) -> Fault | None:
    """The run ended by itself as stopped, though all of its limits left room for more."""
    meter: Meter = log.facts["meter"]
    stopped = log.returned.get("stopped")
    if not isinstance(stopped, str) or not LIMIT.search(stopped.lower()):
        return None
    next_tokens = meter.tokens + 2 * sum(meter.read[-1:])
    if len(meter.read) >= MAX_STEPS or next_tokens > MAX_TOKENS or PRICE.usd(next_tokens) > MAX_USD:
        return None
    hint = "What do you hand to `estimate_tokens`: what the model reads in this call, or more?"
    if re.search("cost|usd|money|price|dollar", stopped.lower()):
        hint = (
            "`PRICE.usd(tokens)` gives what so many tokens cost, in USD: 3 USD are for a million. What do "
            "you compare with max_usd?"
        )
    if "step" in stopped.lower():
        hint = (
            "max_steps is given with the call, and is 400 if it is not. What does your loop compare with it?"
        )
    return Fault(
        f"your run stopped as {json_text(stopped)} with {meter.tokens:,} of {MAX_TOKENS:,} tokens read, "
        f"{meter.usd:.2f} of {MAX_USD:.2f} USD and {len(meter.read)} of {MAX_STEPS} steps",
        hint,
    )


def _wrong_steps(log: Log) -> Fault | None:
    """The run must say how often the model was asked."""
    count = len(log.facts["meter"].read)
    hint = "`steps` counts how often the model was asked, the last time included. Where do you count?"
    if "steps" not in log.returned:
        return Fault('the dict that came back has no "steps"', hint)
    if log.returned["steps"] != count:
        return Fault(
            f'the model was asked {times(count)}, but "steps" was {json_text(log.returned["steps"])}', hint
        )
    return None


def _within_the_limits(log: Log) -> Fault | None:
    """The whole night keeps to its limits."""
    meter: Meter = log.facts["meter"]
    if meter.tokens > MAX_TOKENS or meter.usd > MAX_USD:
        return Fault(
            f"the night read {meter.tokens:,} tokens for {meter.usd:.2f} USD, {meter.read[-1]:,} tokens in "
            f"the last call; {MAX_TOKENS:,} tokens and {MAX_USD:.2f} USD are allowed",
            "Every call reads the whole history again. Which part of it does the next decision need?",
        )
    return _wrong_steps(log)


def _stops_at_the_limit(log: Log) -> Fault | None:
    """Given less, the run ends before it goes over, and says that there is no answer."""
    given = log.facts.get("given", True)
    meter: Meter = log.facts["meter"]
    ((limit, value),) = log.facts["limits"].items()
    used = {"max_steps": len(meter.read), "max_tokens": meter.tokens, "max_usd": meter.usd}[limit]
    unit = {"max_steps": "calls", "max_tokens": "tokens", "max_usd": "USD"}[limit]
    what = f"with {limit}={value}" if given else f"with no {limit} given (so {value:,})"
    if used > value:
        return Fault(
            f"{what} the run used {used:,.4g} {unit}"
            if limit == "max_usd"
            else f"{what} the run used {used:,} {unit}",
            _why_over(log, limit, value)
            or f"Look at {limit} before each call, with what that call will read added."
            if given
            else "Where no limit is given, those of the task hold. What stands in the first line of your "
            "function?",
        )
    if fault := crash(log):
        return Fault(f"{what}: {fault.seen}", fault.hint)
    stopped = log.returned.get("stopped")
    if (
        not isinstance(stopped, str)
        or stopped in ("", "answered")
        or log.returned.get("answer", "") is not None
    ):
        return Fault(
            f"{what} the work was not finished; {_how_it_ended(log)}",
            'A stopped run says why in "stopped", and its "answer" is None.',
        )
    if used < value if limit == "max_steps" and given else len(meter.read) < 4:
        return Fault(
            f"{what} the model was asked {times(len(meter.read))}; more would have been allowed",
            "A limit may be used up. What do you compare with it?",
        )
    fault = _wrong_steps(log)
    return Fault(f"{what} {fault.seen}", fault.hint) if fault else None


def _why_over(log: Log, limit: str, value: float) -> str | None:
    """Name the mistake by which a limit was gone over by more than its last call."""
    meter: Meter = log.facts["meter"]
    before: float = meter.tokens - meter.read[-1]
    largest: float = max(meter.read)
    if limit == "max_usd":
        before, largest = PRICE.usd(before), PRICE.usd(largest)
    if limit == "max_steps" or before <= value or largest > value:
        return None
    words = f"Look at {limit} before each call: it holds for all calls together"
    if limit == "max_usd":
        return f"{words}, with the next one: `PRICE.usd` of all tokens. 3 USD are for a million tokens."
    return f"{words}, so what the earlier ones have read is added up."


CHAIN = ("begins", "past_the_stuck", "once", "whole_steps", "all_done", "within")

EXERCISE = Exercise(
    name="ex09_rescue_the_night",
    title="Rescue the night",
    lesson="12_when_not_to_loop",
    given_by=("12_when_not_to_loop",),
    difficulty=5,
    minutes=45,
    task="bring 80 invoices home within steps, tokens and money",
    lead_in="{lesson}, and {exercise}: one agent, 80 invoices, and everything you have learned.",
    scenarios=scenarios,
    criteria=(
        Criterion(
            "begins", 1, "matches the first invoices of the batch",
            nudge="Does the plain loop of ex01 get through the first invoices?",
            hint="Begin with the loop of ex01 and the three new arguments.",
            judge=begins,
        ),
        Criterion(
            "past_the_stuck", 2,
            "gets past the invoice that has no payment: it is flagged, and the work goes on",
            nudge="The model asks for the same payment again and again. Which exercise was about that?",
            hint=(
                "The repeat guard of ex04: do not run the same request again, and add a note that tells the "
                "model to flag the invoice."
            ),
            judge=each(_gets_past, "whole night"),
            needs=CHAIN[:1],
            details=(
                "It is flagged with `flag_invoice`, by a request of the model's own; your loop runs no "
                "tool that "
                "the model did not ask for."
            ),
        ),
        Criterion(
            "once", 1, "handles no invoice twice and none wrongly",
            nudge="What can the model see of its last steps?",
            hint=(
                "The goal and the last few steps must stay in the history word for word: the invoice, its "
                "payments, and what was recorded last."
            ),
            judge=each(_once_and_right, "whole night", "few steps", "few tokens", "little money"),
            needs=CHAIN[:2],
            details="Only the invoice without a payment is flagged, and each request runs once at most.",
        ),
        Criterion(
            "whole_steps", 1, "lets the model read each result with its request, and each request with its "
            "result",
            nudge="Where do you cut the history: between two entries, or between two steps?",
            hint=(
                "Note where each step begins, at its request: `begins.append(len(history))`. What is shown "
                "is the "
                "goal and `history[begins[-6]:]`. A request that is held back gets a result, as in ex04."
            ),
            judge=each(_nothing_parted, "whole night", "few steps", "few tokens", "little money"),
            needs=CHAIN[:1],
        ),
        Criterion(
            "all_done", 2, "finishes all 80 invoices and ends with the model's answer",
            nudge="What ended the run before the work was done?",
            hint=(
                "With max_tokens=200,000 and about 240 calls a call may read some 800 tokens. Let the model "
                "read the goal and the last steps alone."
            ),
            judge=each(_all_done, "whole night"),
            needs=CHAIN[:2],
            after=CHAIN[:3],
            details="The answer is the text of a reply; nothing is made up.",
        ),
        Criterion(
            "within", 1, "stays within 400 steps, 200,000 tokens and 1 USD for the whole night",
            nudge="How many tokens does call 200 read?",
            hint=(
                "`compact` of ex07, or the goal with the last six steps, keeps each call below some 600 "
                "tokens."
            ),
            judge=each(_within_the_limits, "whole night"),
            needs=("begins", "past_the_stuck", "all_done"),
            after=CHAIN[:3],
            details="The work needs about 240 calls. Read in full, the history would cost a million tokens.",
        ),
        Criterion(
            "limits", 2,
            "stops before it goes over any limit (steps, tokens or money)",
            nudge="Which of your three limits is looked at, and when?",
            hint=(
                "Before each call: steps, then tokens with `estimate_tokens` of what will be read, then "
                "`PRICE.usd` of all tokens."
            ),
            judge=each(
                _stops_at_the_limit, "few steps", "few tokens", "little money", "steps not given",
                "tokens not given", "money not given",
            ),
            needs=CHAIN[:1],
            after=CHAIN,
            details=(
                'A stopped run has `None` for its answer and a reason of your choice in `"stopped"`. All '
                "steps that are allowed may be used. Each limit holds for all calls together."
            ),
        ),
        leaves(CHAIN[:1], in_turn(each(not_asked_after_its_failure, "failing model"), lets_through)),
    ),
)  # fmt: skip
