"""Why a run ends: the stop reasons, and the rules that end a run before the model does.

A rule is a small object that says what it wants to look at: the run before a model call, the requests
of a reply, one request before its tool runs, a result. A plain function of the run so far is a rule too.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from agentlib._history import History
from agentlib._json import is_number, whole_number
from agentlib.costs import Price, Usage, next_reading
from agentlib.messages import Entry, ReadCall, describe, whole

__all__ = [
    "ANSWERED",
    "CANCELLED",
    "COIN_BUDGET",
    "COST_BUDGET",
    "DEADLINE",
    "EMPTY_REPLY",
    "FATAL_ERROR",
    "MODEL_ERROR",
    "NO_PROGRESS",
    "REPEATED_CALL",
    "STEP_LIMIT",
    "TOKEN_BUDGET",
    "TOOL_CALLED",
    "TOO_MANY_ERRORS",
    "WAITING",
    "Cancelled",
    "CoinBudget",
    "CostBudget",
    "Deadline",
    "NoProgress",
    "Progress",
    "RepeatedCall",
    "StepLimit",
    "StopReason",
    "StopRule",
    "TokenBudget",
    "TooManyErrors",
    "ToolCalled",
    "Verdict",
    "read_reason",
    "read_stops",
]


class StopReason(str):
    """Why a run ended. It is text and equal to its text: `run.stopped == "step limit"`.

    detail: what happened in this very run, in words.
    """

    detail: str

    def __new__(cls, text: str, detail: str = "") -> "StopReason":
        """Make a reason; `detail` does not count when reasons are compared."""
        reason = super().__new__(cls, text)
        reason.detail = detail
        return reason

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        return str(self), self.detail


ANSWERED = StopReason("answered")
STEP_LIMIT = StopReason("step limit")
TOKEN_BUDGET = StopReason("token budget")
COIN_BUDGET = StopReason("coin budget")
COST_BUDGET = StopReason("cost budget")
DEADLINE = StopReason("deadline")
REPEATED_CALL = StopReason("repeated call")
NO_PROGRESS = StopReason("no progress")
TOO_MANY_ERRORS = StopReason("too many errors")
TOOL_CALLED = StopReason("tool called")
EMPTY_REPLY = StopReason("empty reply")
MODEL_ERROR = StopReason("model error")
FATAL_ERROR = StopReason("fatal error")
CANCELLED = StopReason("cancelled")
WAITING = StopReason("waiting")
"""A person has to decide on a request; `agentlib.resume` goes on from there."""


@dataclass
class Progress:
    """The run so far, as a stop rule sees it.

    goal: what the user wants. record: the history; `history` gives a copy that a rule may change.
    steps: model calls made. tool_runs: tools that really ran. errors: results that are errors.
    coins: entries read, summed over the calls. input_tokens, output_tokens, cached_tokens,
    cache_write_tokens, estimated: as in `Usage`, which `usage` gives.
    next_entries, next_estimate: what the next call would read, in entries and in tokens by our own estimate.
    last_usage, last_estimate: what the provider has last counted for a call (None = it has not), and our own
    estimate of what that call has read. From these comes `next_usage`.
    tools_ran, tools_failed: how often each tool ran, and ran and gave an error, by name.
    clock: gives seconds; started: the clock at the start.
    last_seconds: when the last event happened, to the millisecond.
    """

    goal: str
    record: History
    clock: Callable[[], float]
    started: float
    steps: int = 0
    tool_runs: int = 0
    errors: int = 0
    coins: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    estimated: bool = False
    next_entries: int = 0
    next_estimate: int = 0
    last_usage: Usage | None = None
    last_estimate: int = 0
    tools_ran: Counter[str] = field(default_factory=Counter)
    tools_failed: Counter[str] = field(default_factory=Counter)
    last_seconds: float = 0.0

    @property
    def history(self) -> list[Entry]:
        """The entries so far."""
        return self.record.view()

    @property
    def usage(self) -> Usage:
        """Tokens read and written so far."""
        return Usage(
            self.input_tokens, self.output_tokens, self.estimated, self.cached_tokens, self.cache_write_tokens
        )

    @property
    def next_usage(self) -> Usage:
        """What the next call would read: the provider's figures for the last call, and what is new."""
        return next_reading(self.last_usage, self.last_estimate, self.next_estimate)

    @property
    def next_tokens(self) -> int:
        """Tokens that the next call would read."""
        return self.next_usage.input_tokens

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return self.clock() - self.started

    def look_at_clock(self) -> float:
        """Give `seconds` to the millisecond, for an event. A clock that fails gives what it gave before.

        What happens within one millisecond shares one number, which takes no room of its own in the trace.
        """
        try:
            seconds = self.seconds
            if seconds - self.last_seconds >= 0.001:
                self.last_seconds = round(float(seconds), 3)
        except Exception:
            pass
        return self.last_seconds


@dataclass(frozen=True)
class Verdict:
    """What a rule says about the requests of one reply: none of them is run.

    stop: the reason to end the run; None = go on, with `note` added to the history for the model to read.
    repeated: the keys of the requests that the verdict is about.
    """

    repeated: frozenset[str]
    stop: StopReason | None = None
    note: str = ""


class StopRule:
    """What all stop rules have in common: they are asked at four moments, and most look at one only."""

    order: int = 9
    """If several rules would stop at once, the lowest order gives the reason."""

    allows_closing: bool = False
    """True if one more call may be affordable when this rule has stopped the run; a budget leaves none."""

    bounds_attempts: bool = False
    """True if it is looked at too when a model call has failed, before it is tried again."""

    def start(self) -> "StopRule":
        """Give the rule for one run: a rule that remembers gives a fresh one each time."""
        return self

    def before_call(self, run: Progress) -> str | None:
        """Look at the run before a model call; a reason means that the call is not made."""
        return None

    def on_request(self, calls: Sequence[ReadCall]) -> Verdict | None:
        """Look at the requests of a reply before any of them is run."""
        return None

    def before_tool(self, run: Progress) -> str | None:
        """Look at the run before a tool; a reason means that the tool is not run."""
        return None

    def on_result(self, call: ReadCall, result_text: str, repeatable: bool) -> None:
        """Look at one result, given as JSON text; `repeatable` is what its tool was declared to be."""


# --- limits: looked at before every model call ------------------------------------------------------


def _above_zero(name: str, value: object) -> None:
    if not is_number(value) or not 0 < value < math.inf:
        raise ValueError(f"{name} is a number above 0, but was {describe(value)}.")


@dataclass(frozen=True)
class StepLimit(StopRule):
    """At most `steps` model calls, retries and repairs included."""

    steps: int
    order = 1
    allows_closing = True

    def __post_init__(self) -> None:
        whole_number("steps", self.steps)

    def before_call(self, run: Progress) -> str | None:
        if run.steps >= self.steps:
            return StopReason(STEP_LIMIT, f"{run.steps} of {self.steps} steps used")
        return None


@dataclass(frozen=True)
class TokenBudget(StopRule):
    """At most `tokens` read and written, counting what the next call will read (`Progress.next_usage`)."""

    tokens: int
    order = 2
    bounds_attempts = True

    def __post_init__(self) -> None:
        whole_number("tokens", self.tokens)

    def before_call(self, run: Progress) -> str | None:
        used = run.usage.total_tokens
        if used + run.next_tokens > self.tokens:
            detail = f"{used} of {self.tokens} tokens used, and the next call would read {run.next_tokens}"
            return StopReason(TOKEN_BUDGET, detail)
        return None


@dataclass(frozen=True)
class CoinBudget(StopRule):
    """At most `coins`: a model call costs one coin for each history entry that it reads."""

    coins: int
    order = 3

    def __post_init__(self) -> None:
        whole_number("coins", self.coins)

    def before_call(self, run: Progress) -> str | None:
        if run.coins + run.next_entries > self.coins:
            detail = (
                f"{run.coins} of {self.coins} coins used, and the next call would cost {run.next_entries}"
            )
            return StopReason(COIN_BUDGET, detail)
        return None


@dataclass(frozen=True)
class CostBudget(StopRule):
    """At most `usd`, at `price`, counting what the next call will read (`Progress.next_usage`)."""

    usd: float
    price: Price
    order = 4
    bounds_attempts = True

    def __post_init__(self) -> None:
        _above_zero("usd", self.usd)
        if not isinstance(self.price, Price):
            raise TypeError(f"price is an agentlib.costs.Price, but was {describe(self.price)}.")

    def before_call(self, run: Progress) -> str | None:
        used = self.price.cost(run.usage)
        # The comparison leaves room for the rounding of binary fractions, a billionth of a dollar.
        if self.price.cost(run.usage + run.next_usage) > self.usd + 1e-9:
            return StopReason(
                COST_BUDGET, f"{used:.6f} of {self.usd} USD used, and the next call would go over"
            )
        return None


@dataclass(frozen=True)
class Deadline(StopRule):
    """At most `seconds` from the start; also bounds the tool that is running when the time is up."""

    seconds: float
    order = 5
    bounds_attempts = True

    def __post_init__(self) -> None:
        _above_zero("seconds", self.seconds)

    def before_call(self, run: Progress) -> str | None:
        if run.seconds >= self.seconds:
            return StopReason(DEADLINE, f"{self.seconds:g} s are over")
        return None

    before_tool = before_call


@dataclass(frozen=True)
class TooManyErrors(StopRule):
    """Stops once `errors` results in this run were errors, whatever came between them."""

    errors: int = 5
    allows_closing = True

    def __post_init__(self) -> None:
        whole_number("errors", self.errors)

    def before_call(self, run: Progress) -> str | None:
        if run.errors >= self.errors:
            return StopReason(TOO_MANY_ERRORS, f"{run.errors} errors")
        return None


@dataclass(frozen=True)
class ToolCalled(StopRule):
    """Stops once the tool called `name` has worked: a run that gave an error does not count."""

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f"name is the name of a tool, but was {describe(self.name)}.")

    def before_call(self, run: Progress) -> str | None:
        worked = run.tools_ran[self.name] > run.tools_failed[self.name]
        return StopReason(TOOL_CALLED, f"{self.name} has worked") if worked else None


class Flag(Protocol):
    """Anything with `is_set()`, such as `threading.Event`."""

    def is_set(self) -> bool:
        """True once it has been set."""


@dataclass(frozen=True)
class Cancelled(StopRule):
    """Stops once `event` is set, before the next model call or tool run. Set it from another thread."""

    event: Flag
    order = 0
    bounds_attempts = True

    def __post_init__(self) -> None:
        if not callable(getattr(self.event, "is_set", None)):
            raise TypeError(
                f"event is something with is_set(), like threading.Event(), but was {describe(self.event)}."
            )

    def before_call(self, run: Progress) -> str | None:
        return StopReason(CANCELLED, "a cancel was asked for") if self.event.is_set() else None

    before_tool = before_call


# --- stuck runs -------------------------------------------------------------------------------------


@dataclass
class RepeatedCall(StopRule):
    """Does not run a call for the `times`-th time if all its runs so far gave the same result.

    The same call is the same tool with the same input, in any order of keys. A different result starts
    that call's count anew; other calls in between do not. Tools declared `repeatable` are left alone.
    The rule looks before any request of a reply runs, so equal requests within one reply are one look.

    then: "stop" ends the run. "note" goes on: the request gets a result that says "not run again" and
    the history a note that closes the door; at `times` more requests of that call the run ends.
    """

    times: int = 3
    then: Literal["stop", "note"] = "stop"
    allows_closing = True
    _same: dict[str, tuple[int, str]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _refused: Counter[str] = field(default_factory=Counter, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        whole_number("times", self.times, minimum=2)
        if self.then not in ("stop", "note"):
            raise ValueError(f'then is "stop" or "note", but was {describe(self.then)}.')

    def start(self) -> "RepeatedCall":
        return replace(self)

    def on_request(self, calls: Sequence[ReadCall]) -> Verdict | None:
        repeats = {}
        for call in calls:
            if call.key in self._same and self._same[call.key][0] >= self.times - 1:
                repeats[call.key] = call
        if not repeats:
            return None
        keys = frozenset(repeats)
        earlier = max(self._refused[key] for key in keys)
        new = dict.fromkeys(call.tool for key, call in repeats.items() if not self._refused[key])
        for key in keys:
            self._refused[key] += 1
        if self.then == "stop" or earlier >= self.times:
            tools = ", ".join(dict.fromkeys(call.tool for call in repeats.values()))
            detail = f"{tools}: the same request came {self.times + earlier} times"
            return Verdict(keys, StopReason(REPEATED_CALL, detail))
        if not new:  # the door has been closed already
            return Verdict(keys)
        note = (
            f"You have asked {', '.join(new)} the very same thing before, and the result was the same "
            "each time. It was not run again. Answer with what you know now, or say that you cannot."
        )
        return Verdict(keys, note=note)

    def on_result(self, call: ReadCall, result_text: str, repeatable: bool) -> None:
        if not repeatable:
            count, last = self._same.get(call.key, (0, ""))
            self._same[call.key] = (count + 1 if last == result_text else 1, result_text)


@dataclass
class NoProgress(StopRule):
    """Stops after `steps` steps in a row whose results had all been seen before in this run, word for word.

    A step without any result, whose reply was empty or could not be read, brings nothing new either.
    It looks at results, not at calls, so it sees cycles of any length and calls that are only worded anew.
    A result of a tool declared `repeatable` counts as new.
    """

    steps: int = 3
    allows_closing = True
    _seen: set[str] = field(default_factory=set, init=False, repr=False, compare=False)
    _new: bool = field(default=True, init=False, repr=False, compare=False)
    _stale: int = field(default=0, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        whole_number("steps", self.steps)

    def start(self) -> "NoProgress":
        return replace(self)

    def before_call(self, run: Progress) -> str | None:
        self._stale = 0 if self._new else self._stale + 1
        self._new = False
        if self._stale >= self.steps:
            return StopReason(NO_PROGRESS, f"nothing new in the last {self._stale} steps")
        return None

    def on_result(self, call: ReadCall, result_text: str, repeatable: bool) -> None:
        if repeatable or result_text not in self._seen:
            self._new = True
        self._seen.add(result_text)


# --- rules of one's own -----------------------------------------------------------------------------


@dataclass(frozen=True)
class FunctionRule(StopRule):
    """A plain function of the run so far; the text that it returns is the reason."""

    function: Callable[[Progress], Any]

    def before_call(self, run: Progress) -> str | None:
        reason = self.function(run)
        return None if reason is None else read_reason(reason)


def read_reason(reason: object) -> StopReason:
    """Read the reason that a rule gave. Raises TypeError if it is not text or if it is blank."""
    if isinstance(reason, StopReason):
        return reason
    if isinstance(reason, str) and reason.strip():
        return StopReason(whole(reason))
    raise TypeError(f"A stop rule gives a reason as text, or None to go on, but gave {describe(reason)}.")


def read_stops(stops: object) -> list[StopRule]:
    """Read the rules given to a loop, `StopRule`s and functions, sorted so that the first decides a tie.

    Raises TypeError for anything else.
    """
    rules = [stops] if isinstance(stops, StopRule) or callable(stops) else stops
    if isinstance(rules, (str, bytes)) or not isinstance(rules, Iterable):
        raise TypeError(f"stops is a list of stop rules, but was {describe(stops)}.")
    read: list[StopRule] = []
    for rule in rules:
        if isinstance(rule, StopRule):
            read.append(rule.start())
        elif isinstance(rule, type):
            raise TypeError(
                f"{rule.__name__} is a class; a rule is made with its limits: {rule.__name__}(...)."
            )
        elif callable(rule):
            read.append(FunctionRule(rule))
        else:
            raise TypeError(
                f"A stop rule is a StopRule or a function of the run so far, but was {describe(rule)}."
            )
    return sorted(read, key=lambda rule: rule.order)
