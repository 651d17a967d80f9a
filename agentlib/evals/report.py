"""What came of an evaluation: each run's result, and a report of all of them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import ClassVar, NamedTuple

from pydantic import ConfigDict

from agentlib.costs import Price
from agentlib.evals.rates import Rate, pass_hat, wilson_interval
from agentlib.messages import describe

__all__ = ["Report", "Result", "Spread"]


@dataclass(frozen=True)
class Result:
    """What came of one run of one case; one line of a results file.

    version, case, goal, seed: what was run. passed: the check was passed. problems: what it found wrong.
    stopped, answer, steps, tool_runs, errors, coins: as in `Run`; input_tokens, output_tokens,
    cached_tokens, cache_write_tokens: as in its usage.
    failure: "" or why the run could not be graded (the model, its maker or the check raised).
    """

    version: str
    case: str
    goal: str
    seed: int
    passed: bool
    problems: tuple[str, ...] = ()
    stopped: str = ""
    answer: str | None = None
    steps: int = 0
    tool_runs: int = 0
    errors: int = 0
    coins: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    failure: str = ""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(strict=True, extra="forbid")

    def usd(self, price: Price) -> float:
        """What the run cost, in USD."""
        return price.usd(self.input_tokens, self.output_tokens, self.cached_tokens, self.cache_write_tokens)


class Spread(NamedTuple):
    """How a number varied over the runs."""

    min: float
    median: float
    max: float
    mean: float


@dataclass(frozen=True)
class Report:
    """What came of all runs of one version.

    version: its name. results: the runs that were done, in order. wanted: how many were asked for.
    interrupted: a person, or a cancel, ended the evaluation before it was done.
    """

    version: str
    results: tuple[Result, ...]
    wanted: int
    interrupted: bool = False

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    @property
    def passed(self) -> int:
        """Runs that passed. One that could not be graded has not."""
        return sum(result.passed for result in self.results)

    @property
    def pass_rate(self) -> float | None:
        """The part of the runs that passed, from 0 to 1; None = there was no run."""
        return self.passed / len(self.results) if self.results else None

    @property
    def failures(self) -> list[Result]:
        """List the runs that could not be graded."""
        return [result for result in self.results if result.failure]

    @property
    def stopped(self) -> Counter[str]:
        """Count the stop reasons; a run that never began has none."""
        return Counter(result.stopped for result in self.results if result.stopped)

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Give the interval in which the true pass rate lies, see `wilson_interval`.

        It holds for these cases alone, and takes all runs for alike: look at `by_case` too.
        """
        return wilson_interval(self.passed, len(self.results), confidence)

    def pass_hat(self, k: int = 1, confidence: float = 0.95) -> Rate:
        """Estimate pass^k, the chance that k runs of the same task all pass, with an interval; 1 = pass@1.

        See `agentlib.evals.pass_hat` for the method. Raises ValueError if a case has fewer than k runs.
        """
        return pass_hat([(part.passed, len(part)) for part in self.by_case().values()], k, confidence)

    def by_case(self) -> dict[str, "Report"]:
        """Split the report by case."""
        names = dict.fromkeys(result.case for result in self.results)
        parts = {name: tuple(result for result in self.results if result.case == name) for name in names}
        return {name: Report(self.version, part, len(part)) for name, part in parts.items()}

    def spread(self, what: str = "steps") -> Spread:
        """Tell how a field of the results varied: "steps", "coins", "input_tokens", "errors", ...

        Raises ValueError if there is no such number, or no run.
        """
        if what not in _NUMBERS:
            raise ValueError(f"what is one of {', '.join(_NUMBERS)}, but was {describe(what)}.")
        return _spread([getattr(result, what) for result in self.results])

    def spread_usd(self, price: Price) -> Spread:
        """Tell how the cost of a run varied, in USD. Raises ValueError if there is no run."""
        return _spread([result.usd(price) for result in self.results])

    def __str__(self) -> str:
        if not self.results:
            return f"{self.version}: no run of {self.wanted} was made"
        low, high = self.interval()
        steps, tokens = self.spread("steps"), self.spread("input_tokens")
        reasons = ", ".join(f"{reason} {number}" for reason, number in self.stopped.most_common())
        lines = [
            f"{self.version}: {self.passed} of {len(self)} runs passed = {self.pass_rate:.0%} "
            f"(95% interval {low:.0%} to {high:.0%})",
            f"  steps: {steps.min:g} to {steps.max:g}, median {steps.median:g}",
            f"  tokens read: {tokens.min:,.0f} to {tokens.max:,.0f}, median {tokens.median:,.0f}",
            f"  stopped: {reasons or 'no run began'}",
        ]
        if len(self) < self.wanted:
            lines.append(f"  not finished: {len(self)} of {self.wanted} runs were made")
        if self.failures:
            first = self.failures[0]
            lines.append(
                f"  could not be graded: {len(self.failures)}, "
                f"the first: {first.case}, seed {first.seed}: {first.failure}"
            )
        return "\n".join(lines)


_NUMBERS = (
    "steps", "tool_runs", "errors", "coins",
    "input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens",
)  # fmt: skip


def _spread(values: Sequence[float]) -> Spread:
    if not values:
        raise ValueError("There is no run to look at.")
    return Spread(min(values), median(values), max(values), sum(values) / len(values))
