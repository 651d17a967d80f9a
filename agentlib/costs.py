"""What a run costs: tokens, coins and money, and the formulas that say how they grow."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agentlib.messages import Entry, calls_in, describe, json_text

__all__ = [
    "CHARS_PER_TOKEN",
    "Price",
    "Usage",
    "coins_after",
    "entry_tokens",
    "estimate_tokens",
    "tokens_for",
    "tokens_read_at",
    "tokens_read_total",
]

CHARS_PER_TOKEN = 4
"""Rule of thumb for English text: one token is about four characters.

Source: OpenAI Help Center, "What are tokens and how to count them?". Other languages and code differ.
"""


@dataclass(frozen=True)
class Usage:
    """Tokens of a run so far.

    input_tokens: tokens read, summed over all model calls. output_tokens: tokens written.
    estimated: True if at least one call was estimated, because its reply carried no usage.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    estimated: bool = False

    @property
    def total_tokens(self) -> int:
        """Tokens read and written."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True)
class Price:
    """What a provider asks for, in USD per million tokens; given by the caller, since prices change.

    input_usd: for tokens read. output_usd: for tokens written.
    source, date: where and when the price was looked up.
    Raises ValueError if a price is not a number from 0 up.
    """

    input_usd: float
    output_usd: float
    source: str
    date: str

    def __post_init__(self) -> None:
        for name in ("input_usd", "output_usd"):
            value = getattr(self, name)
            if (
                isinstance(value, bool)
                or not isinstance(value, (int, float))
                or not 0 <= value < float("inf")
            ):
                raise ValueError(f"{name} is a number of USD from 0 up, but was {describe(value)}.")

    def usd(self, input_tokens: float, output_tokens: float = 0) -> float:
        """Price of so many tokens, in USD."""
        return (input_tokens * self.input_usd + output_tokens * self.output_usd) / 1_000_000


def tokens_for(chars: int) -> int:
    """Estimate tokens from a count of characters: a quarter, rounded up, at least 1."""
    return (chars + CHARS_PER_TOKEN - 1) // CHARS_PER_TOKEN or 1


def estimate_tokens(value: str | Mapping[str, Any] | Iterable[Entry]) -> int:
    """Estimate the tokens of a text, of one history entry, or of a whole history.

    A rule of thumb (see CHARS_PER_TOKEN): the words of an entry, the tool's name with its input, or the
    result as JSON text; at least 1 token an entry. A provider's own `usage` is exact and replaces it.
    """
    if isinstance(value, str):
        return tokens_for(len(value)) if value else 0
    if isinstance(value, Mapping):
        return entry_tokens(dict(value))
    return sum(entry_tokens(dict(entry)) for entry in value)


def entry_tokens(entry: Entry) -> int:
    """Estimate the tokens of one history entry."""
    chars = len(entry.get("text") or "")
    for call in calls_in(entry):
        chars += len(call["tool"] or "") + len(json_text(call["input"]))
    if "result" in entry:
        chars += len(json_text(entry["result"]))
    return tokens_for(chars)


def tokens_read_at(call: int, tokens_per_step: float) -> float:
    """Tokens that one model call reads when each step adds the same amount: call i reads i steps."""
    return call * tokens_per_step


def tokens_read_total(steps: int, tokens_per_step: float) -> float:
    """Tokens read in n model calls: t * (1 + 2 + ... + n) = t * n(n+1)/2."""
    return tokens_per_step * steps * (steps + 1) / 2


def coins_after(steps: int) -> int:
    """Coins after n model calls with one tool request each: 1 + 3 + 5 + ... = n squared."""
    return steps * steps
