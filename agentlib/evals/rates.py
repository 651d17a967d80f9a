"""How sure a rate is: the Wilson interval, and the chance of passing every time."""

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean
from typing import NamedTuple

from agentlib._json import whole_number
from agentlib.messages import describe

__all__ = ["Rate", "pass_hat", "rate_of", "wilson_interval"]


class Rate(NamedTuple):
    """A rate from 0 to 1 with the ends of its interval. None = nothing was counted."""

    rate: float | None
    low: float
    high: float

    def __str__(self) -> str:
        rate = "nothing to count" if self.rate is None else f"{self.rate:.0%}"
        return f"{rate} ({self.low:.0%} to {self.high:.0%})"


def wilson_interval(passed: int, runs: int, confidence: float = 0.95) -> tuple[float, float]:
    """Give the Wilson score interval of a pass rate: the rates with which this outcome is no surprise.

    With p = passed / runs, n = runs and z from the normal distribution (1.96 for 95%):
    (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n). It stays between 0 and 1, and is of use for few runs.
    No run at all says nothing: (0, 1).
    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal of
    the American Statistical Association 22 (1927), pages 209-212.
    Raises ValueError if `passed` is not from 0 to `runs`, or `confidence` not between 0 and 1.
    """
    whole_number("runs", runs, minimum=0)
    whole_number("passed", passed, minimum=0)
    if passed > runs:
        raise ValueError(f"passed is at most the number of runs, {runs}, but was {passed}.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is a number between 0 and 1, but was {describe(confidence)}.")
    if runs == 0:
        return 0.0, 1.0
    return _wilson(passed / runs, runs, confidence)


def _wilson(p: float, n: int, confidence: float) -> tuple[float, float]:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is a number between 0 and 1, but was {describe(confidence)}.")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    middle = p + z * z / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    bottom = 1 + z * z / n
    # At both ends the exact value is 0 or 1, which binary fractions miss by a hair.
    low = 0.0 if p == 0 else (middle - half) / bottom
    high = 1.0 if p == 1 else (middle + half) / bottom
    return low, high


def rate_of(passed: int, runs: int, confidence: float = 0.95) -> Rate:
    """Give a pass rate with its Wilson interval. Raises ValueError as `wilson_interval` does."""
    return Rate(passed / runs if runs else None, *wilson_interval(passed, runs, confidence))


def pass_hat(counts: Sequence[tuple[int, int]], k: int, confidence: float = 0.95) -> Rate:
    """Estimate pass^k: the chance that k runs of the same task all pass. pass^1 is pass@1.

    counts: for each case, how many of its runs passed, and how many there were.
    For a case with c of n runs passed, C(c, k) / C(n, k) is the share of all choices of k runs in which all
    passed; no other k of them are left out, so that it errs to neither side. The cases' mean is the estimate.
    Source: S. Yao et al., "tau-bench: A Benchmark for Tool-Agent-User Interaction in Real-World Domains"
    (2024), https://arxiv.org/abs/2406.12045.
    The interval of one case is Wilson's, each end to the power of k: it speaks of this case alone, and takes
    its runs for independent. With more cases it speaks of tasks like these, and each case counts once,
    however often it was run: it is Wilson's for so many yes or no, which is rather too wide, since a share
    between 0 and 1 varies at most as much as a yes or no with the same mean.
    Raises ValueError if k is not a whole number from 1 to the number of runs of each case, or there is none.
    """
    whole_number("k", k)
    if not counts:
        raise ValueError("There is no case to look at.")
    fewest = min(runs for _, runs in counts)
    if k > fewest:
        raise ValueError(f"k is at most the number of runs of each case, {fewest}, but was {k}.")
    mean = fmean(math.comb(passed, k) / math.comb(runs, k) for passed, runs in counts)
    if len(counts) == 1:
        low, high = wilson_interval(*counts[0], confidence)
        return Rate(mean, low**k, high**k)
    return Rate(mean, *_wilson(mean, len(counts), confidence))
