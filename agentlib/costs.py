"""What a run costs: tokens, coins and money, and the formulas that say how they grow."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agentlib._json import is_number, utf8_length
from agentlib.messages import Entry, calls_in, describe, json_text

__all__ = [
    "CHARS_PER_TOKEN",
    "Price",
    "Reading",
    "Usage",
    "calls_made",
    "calls_read",
    "coins_after",
    "entry_tokens",
    "equal_tokens_per_step",
    "estimate_tokens",
    "next_reading",
    "read_append_only",
    "read_changed_top",
    "read_replaced_results",
    "read_uncached",
    "text_tokens",
    "tokens_for",
    "tokens_read_at",
    "tokens_read_total",
    "tokens_read_windowed",
    "total_reading",
]

CHARS_PER_TOKEN = 4
"""Rule of thumb for English text: one token is about four characters.

Source: OpenAI Help Center, "What are tokens and how to count them?". Other languages and code differ. Here
a character counts as often as it has bytes in UTF-8, so that one of Chinese, with three, is 0.75 tokens.
"""


@dataclass(frozen=True)
class Usage:
    """Tokens of a run so far.

    input_tokens: tokens read, summed over all model calls. output_tokens: tokens written.
    estimated: True if at least one call was estimated, because its reply carried no usage.
    cached_tokens, cache_write_tokens: the parts of the input tokens that the provider read from its cache,
    and wrote to it; they have prices of their own.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    estimated: bool = False
    cached_tokens: int = 0
    cache_write_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.estimated or other.estimated,
            self.cached_tokens + other.cached_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
        )

    def __repr__(self) -> str:
        shown = [f"{name}={value}" for name, value in vars(self).items() if value or "cache" not in name]
        return f"Usage({', '.join(shown)})"

    @property
    def total_tokens(self) -> int:
        """Tokens read and written."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True)
class Price:
    """What a provider asks for, in USD per million tokens; given by the caller, since prices change.

    input_usd: for tokens read. output_usd: for tokens written.
    source, date: where and when the price was looked up.
    cached_input_usd, cache_write_usd: for tokens read from the provider's cache, and for tokens read and
    written to it; None = no other price than `input_usd`.
    Raises ValueError if a price is not a number from 0 up, or if source or date is no text or blank.
    """

    input_usd: float
    output_usd: float
    source: str
    date: str
    cached_input_usd: float | None = None
    cache_write_usd: float | None = None

    def __post_init__(self) -> None:
        for name in ("input_usd", "output_usd", "cached_input_usd", "cache_write_usd"):
            value = getattr(self, name)
            if value is None and "cache" in name:
                continue
            if not is_number(value) or not 0 <= value < math.inf:
                raise ValueError(f"{name} is a number of USD from 0 up, but was {describe(value)}.")
        for name in ("source", "date"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value.strip():
                raise ValueError(
                    f"{name} says where or when the price was looked up, but was {describe(value)}."
                )

    def usd(
        self,
        input_tokens: float,
        output_tokens: float = 0,
        cached_tokens: float = 0,
        cache_write_tokens: float = 0,
    ) -> float:
        """Price of so many tokens, in USD.

        cached_tokens, cache_write_tokens: how many of the input tokens were read from a cache, and written to
        it. Raises ValueError if a number is below 0, or if there are more of these than input tokens.
        """
        for name, tokens in (("input_tokens", input_tokens), ("output_tokens", output_tokens)):
            if not tokens >= 0:  # so that no number at all (nan) is refused as well
                raise ValueError(f"{name} is a number from 0 up, but was {describe(tokens)}.")
        fresh_tokens = input_tokens - cached_tokens - cache_write_tokens
        if not (cached_tokens >= 0 and cache_write_tokens >= 0 and fresh_tokens >= 0):
            raise ValueError(
                f"What a cache gives and keeps is a part of the {input_tokens:,} input tokens, "
                f"but was {cached_tokens:,} and {cache_write_tokens:,}."
            )
        cached_usd = self.input_usd if self.cached_input_usd is None else self.cached_input_usd
        write_usd = self.input_usd if self.cache_write_usd is None else self.cache_write_usd
        return (
            fresh_tokens * self.input_usd
            + cached_tokens * cached_usd
            + cache_write_tokens * write_usd
            + output_tokens * self.output_usd
        ) / 1_000_000

    def cost(self, usage: Usage) -> float:
        """Price of what a run, or a call, has read and written, in USD."""
        return self.usd(
            usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.cache_write_tokens
        )


def next_reading(last: Usage | None, then: int, now: int) -> Usage:
    """Say what the next call will read: what the provider has counted for the last one, and what is new.

    last: the provider's figures; None = it has not said. then, now: our own estimates of what the last call
    has read, and of what the next one will.
    A cache gives and keeps as much as in the last call, and keeps what is new too; in a history that has
    become shorter it finds nothing.
    """
    if last is None:
        return Usage(now, estimated=True)
    tokens = max(last.input_tokens + now - then, 1)
    cached = min(last.cached_tokens, tokens) if now >= then else 0
    written = (
        min(last.cache_write_tokens + max(now - then, 0), tokens - cached) if last.cache_write_tokens else 0
    )
    return Usage(tokens, 0, True, cached, written)


def tokens_for(chars: int) -> int:
    """Estimate tokens from a count of characters, or of bytes in UTF-8: a quarter, rounded up, at least 1."""
    return (chars + CHARS_PER_TOKEN - 1) // CHARS_PER_TOKEN or 1


def text_tokens(text: str) -> int:
    """Estimate the tokens of a text that stands in a history entry; at least 1."""
    length = len(text) if text.isascii() else utf8_length(text)  # plain, as this is done for every result
    return (length + CHARS_PER_TOKEN - 1) // CHARS_PER_TOKEN or 1


def estimate_tokens(value: str | Mapping[str, Any] | Iterable[Entry]) -> int:
    """Estimate the tokens of a text, of one history entry, or of a whole history.

    A rule of thumb (see CHARS_PER_TOKEN): the words of an entry, the tool's name with its input, or the
    result as JSON text; at least 1 token an entry. A provider's own `usage` is exact and replaces it.
    """
    if isinstance(value, str):
        return text_tokens(value) if value else 0
    if isinstance(value, Mapping):
        return entry_tokens(dict(value))
    return sum(entry_tokens(dict(entry)) for entry in value)


def entry_tokens(entry: Entry) -> int:
    """Estimate the tokens of one history entry."""
    texts = [entry.get("text") or ""]
    for call in calls_in(entry):
        texts += [call["tool"] or "", json_text(call["input"])]
    if "result" in entry:
        texts.append(json_text(entry["result"]))
    return tokens_for(sum(map(utf8_length, texts)))


def tokens_read_at(call: int, tokens_per_step: float) -> float:
    """Tokens that one model call reads when each step adds the same amount: call i reads i steps."""
    return call * tokens_per_step


def tokens_read_total(steps: int, tokens_per_step: float) -> float:
    """Tokens read in n model calls: t * (1 + 2 + ... + n) = t * n(n+1)/2."""
    return tokens_per_step * steps * (steps + 1) / 2


def coins_after(steps: int) -> int:
    """Coins after n model calls with one tool request each: 1 + 3 + 5 + ... = n squared."""
    return steps * steps


def equal_tokens_per_step(steps: int, tokens_read: float) -> float:
    """Tokens per step with which `steps` model calls read `tokens_read` in all.

    `tokens_read_total` solved for t: 2 * tokens_read / (n(n+1)). Raises ValueError if `steps` is below 1.
    """
    if steps < 1:
        raise ValueError(f"steps is a whole number from 1 up, but was {describe(steps)}.")
    return 2 * tokens_read / (steps * (steps + 1))


def tokens_read_windowed(steps: int, tokens_per_step: float, window_tokens: float) -> float:
    """Tokens read in n model calls when the history grows by t a step and is then kept at a window w.

    Call i reads min(i * t, w). With k = floor(w / t) calls before the window is full, that is
    t * k(k+1)/2 + (n - k) * w for n above k. Raises ValueError if t or w is not above 0.
    """
    if tokens_per_step <= 0 or window_tokens <= 0:
        raise ValueError("tokens_per_step and window_tokens are numbers above 0.")
    growing = min(steps, int(window_tokens // tokens_per_step))
    return tokens_read_total(growing, tokens_per_step) + (steps - growing) * window_tokens


def calls_made(seconds: float, seconds_per_call: float) -> int:
    """How many calls, one every `seconds_per_call`, are begun and ended within `seconds`: the whole part of
    their quotient. Raises ValueError if `seconds_per_call` is not above 0.
    """
    if seconds_per_call <= 0:
        raise ValueError(f"seconds_per_call is a number above 0, but was {describe(seconds_per_call)}.")
    return int(seconds / seconds_per_call)


# --- what a cached prefix saves -----------------------------------------------------------------------


@dataclass(frozen=True)
class Reading:
    """What model calls read, in tokens.

    sent: all that was sent to be read. cached: the part of it that was read from a cache.
    """

    sent: float = 0
    cached: float = 0

    @property
    def fresh(self) -> float:
        """Tokens that had to be read anew."""
        return self.sent - self.cached


def total_reading(readings: Iterable[Reading]) -> Reading:
    """Add up what several calls read."""
    readings = list(readings)
    return Reading(sum(one.sent for one in readings), sum(one.cached for one in readings))


def calls_read(
    histories: Iterable[list[Entry]], *, cache: bool = True, count: Callable[[Entry], int] = entry_tokens
) -> list[Reading]:
    """Count for each call of a run what was sent, and what of it a cache could give.

    histories: what each call read, such as `run.trace.histories()`. cache: False = there is none.
    count: gives the tokens of one entry; the default is the estimate.
    The cache holds what the call before has read, and helps as far as the new history begins with the very
    same entries: the first change ends it, whatever stands behind. Real caches also ask for a least length
    and forget after minutes (see the provider's page on prompt caching); that is left out here.
    """
    readings = []
    before: list[Entry] = []
    tokens: list[int] = []
    for history in histories:
        shared = 0
        while shared < min(len(before), len(history)) and before[shared] == history[shared]:
            shared += 1
        tokens = tokens[:shared] + [count(entry) for entry in history[shared:]]
        readings.append(Reading(sum(tokens), sum(tokens[:shared]) if cache else 0))
        before = history
    return readings


def read_uncached(steps: int, tokens_per_step: float) -> Reading:
    """What n calls read with no cache: t * n(n+1)/2, all of it anew; the history grows by t a step."""
    return Reading(tokens_read_total(steps, tokens_per_step), 0)


def read_append_only(steps: int, tokens_per_step: float) -> Reading:
    """What n calls read of a history that only grows, by t a step, with a cache.

    Call i sends i * t and finds (i - 1) * t in the cache, so t * n(n-1)/2 comes from the cache in all and
    n * t is read anew: each token once.
    """
    sent = tokens_read_total(steps, tokens_per_step)
    return Reading(sent, sent - steps * tokens_per_step)


def read_changed_top(steps: int, tokens_per_step: float, top_tokens: float) -> Reading:
    """What n calls read when the first line is another one at each call (the time of day, say).

    Call i sends that line and i * t behind it. Nothing comes from the cache, as the beginning is never the
    same: t * n(n+1)/2 + n * top, all of it anew.
    """
    return Reading(tokens_read_total(steps, tokens_per_step) + steps * top_tokens, 0)


def read_replaced_results(
    steps: int,
    *,
    goal_tokens: float,
    request_tokens: float,
    result_tokens: float,
    note_tokens: float,
    keep_steps: int,
) -> Reading:
    """What n calls read when all results but those of the last k steps are replaced by a short note.

    With goal g, request a, result r and note s, call i finds i - 1 steps and sends
    g + (i-1) * a + min(i-1, k) * r + max(0, i-1-k) * s. Up to call k + 1 nothing is replaced, and a + r is
    read anew (g in call 1). From then on each call replaces one more result, and everything behind it is
    read anew: s + k * (a + r). In all that is
    g + min(n-1, k) * (a + r) + max(0, n-1-k) * (s + k * (a + r)).
    Raises ValueError if k is below 1: with 0 a result is never read at all, and the history only grows.
    """
    if keep_steps < 1:
        raise ValueError(f"keep_steps is a whole number from 1 up, but was {describe(keep_steps)}.")
    if steps < 1:
        return Reading()
    done = range(steps)  # the steps that stand in the history at call 1, 2, ...
    sent = sum(
        goal_tokens
        + number * request_tokens
        + min(number, keep_steps) * result_tokens
        + max(0, number - keep_steps) * note_tokens
        for number in done
    )
    step_tokens = request_tokens + result_tokens
    growing = min(steps - 1, keep_steps)
    replacing = max(0, steps - 1 - keep_steps)
    fresh = goal_tokens + growing * step_tokens + replacing * (note_tokens + keep_steps * step_tokens)
    return Reading(sent, sent - fresh)
