"""Two versions held against each other, run by run; a build that fails if the new one is worse."""

import math
from collections import Counter
from dataclasses import dataclass

from agentlib.evals.report import Report
from agentlib.messages import describe

__all__ = ["Comparison", "compare_reports", "got_worse"]


@dataclass(frozen=True)
class Comparison:
    """Two versions, run by run on the same cases and seeds.

    left, right: their names. both, only_left, only_right, neither: how many pairs of runs were passed by
    whom. unpaired: runs that the other version has not made.
    """

    left: str
    right: str
    both: int
    only_left: int
    only_right: int
    neither: int
    unpaired: int = 0

    @property
    def pairs(self) -> int:
        """Pairs of runs."""
        return self.both + self.only_left + self.only_right + self.neither

    @property
    def chance(self) -> float:
        """How likely a split at least as uneven is if both versions are equally good.

        Only the pairs that differ tell the two apart; with n of them, it is the chance that n throws of a
        coin fall as unevenly: twice the sum of C(n, i) / 2^n for i up to the smaller number, at most 1.
        Source: Q. McNemar, "Note on the sampling error of the difference between correlated proportions or
        percentages", Psychometrika 12 (1947), pages 153-157; this is the exact (binomial) form of his test.
        """
        n, fewer = self.only_left + self.only_right, min(self.only_left, self.only_right)
        as_uneven = sum(math.comb(n, i) for i in range(fewer + 1))
        return min(1.0, 2 * as_uneven / (1 << n))

    def __str__(self) -> str:
        lines = [
            f"{self.pairs} pairs of runs: {self.left} passed {self.both + self.only_left}, "
            f"{self.right} passed {self.both + self.only_right}",
            f"  only {self.left}: {self.only_left}, only {self.right}: {self.only_right}; "
            f"as uneven by chance: {self.chance:.1%}",
        ]
        if self.unpaired:
            lines.append(f"  without a partner: {self.unpaired}")
        return "\n".join(lines)


def compare_reports(left: Report, right: Report) -> Comparison:
    """Compare two versions on the cases and seeds that both have run; one that failed has not passed.

    Raises ValueError if there are none.
    """
    ours = {(one.case, one.seed): one.passed for one in left}
    theirs = {(one.case, one.seed): one.passed for one in right}
    shared = [key for key in ours if key in theirs]
    if not shared:
        raise ValueError(f"{left.version} and {right.version} have no case and seed in common.")
    pairs = Counter((ours[key], theirs[key]) for key in shared)
    return Comparison(
        left=left.version,
        right=right.version,
        both=pairs[True, True],
        only_left=pairs[True, False],
        only_right=pairs[False, True],
        neither=pairs[False, False],
        unpaired=len(left) + len(right) - 2 * len(shared),
    )


def got_worse(before: Report, after: Report, chance: float = 0.05) -> list[str]:
    """Say what is worse in a new version, beyond what chance does; an empty list = nothing that can be seen.

    Write `assert got_worse(before, after) == []` into a test, and a change that makes the agent worse fails
    the build. All runs together and each case by itself are held against each other on the same seeds, by
    McNemar's exact test (`Comparison.chance`). chance: how often the verdict may be wrong where nothing has
    changed; it is shared out among all that is looked at (Bonferroni), so that many cases cry wolf no more
    often than one. What was run before and is not run now is worse, too: it cannot be seen.
    Few runs see only great harm: with 5 runs a case, none is ever found worse by itself.
    Raises ValueError if the versions have no run in common, or chance is not between 0 and 1.
    """
    if not 0 < chance < 1:
        raise ValueError(f"chance is a number between 0 and 1, but was {describe(chance)}.")
    old, new = before.by_case(), after.by_case()
    everything = compare_reports(before, after)  # raises if there is nothing to compare
    pairs = {"all runs": everything}
    if len(old) > 1:
        pairs |= {name: compare_reports(old[name], new[name]) for name in old if name in new}
    shared = chance / len(pairs)
    worse = [
        f"{name}: {pair}" for name, pair in pairs.items()
        if pair.only_left > pair.only_right and pair.chance <= shared
    ]  # fmt: skip
    now = {(one.case, one.seed) for one in after}
    missing = Counter(one.case for one in before if (one.case, one.seed) not in now)
    return worse + [
        f"{name}: {count} runs of {before.version} were not made" for name, count in missing.items()
    ]
