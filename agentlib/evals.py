"""Graded cases over many runs: how often an agent passes, how sure that is, what it costs.

One run says little about an agent whose path varies. Each case is run many times, each time with another
seed; the pass rate comes with an interval, and two versions are compared on the same seeds.
"""

import json
import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from itertools import repeat
from pathlib import Path
from statistics import NormalDist, median
from typing import Any, ClassVar, NamedTuple, TextIO

from pydantic import ConfigDict, TypeAdapter, ValidationError
from tqdm import tqdm

from agentlib._json import read_lines, whole_number
from agentlib._run import Run
from agentlib.costs import Price
from agentlib.errors import ResultsFileError
from agentlib.loop import run_agent
from agentlib.messages import ModelFunction, describe, whole
from agentlib.stops import CANCELLED, MODEL_ERROR
from agentlib.tools import read_tools, words_of

__all__ = [
    "Case",
    "Comparison",
    "Report",
    "Result",
    "Spread",
    "compare",
    "compare_reports",
    "evaluate",
    "wilson_interval",
]


@dataclass(frozen=True)
class Case:
    """One task with a check of its outcome.

    name: what it is called in reports. goal, tools: as for `run_agent`.
    check(run) -> bool or list: True, or an empty list, is a pass; False, or a list of problems in words, is
    none. It looks at what came out (the answer, the limits kept, a tool never used), not at the path.
    Raises TypeError if the name or the goal is no text, if the tools cannot be used, or if there is no check;
    ValueError for a blank name.
    """

    name: str
    goal: str
    tools: Any
    check: Callable[[Run], Any]

    def __post_init__(self) -> None:
        for what in ("name", "goal"):
            if not isinstance(getattr(self, what), str):
                raise TypeError(f"The {what} of a case is text, but was {describe(getattr(self, what))}.")
        if not self.name.strip():
            raise ValueError("A case needs a name that is not blank.")
        read_tools(self.tools)
        if not callable(self.check):
            raise TypeError(
                f'The case "{self.name}" has no check: a function of the run that says whether it passed, '
                f"but {describe(self.check)} came."
            )


MakeCase = Callable[[], Case]
MakeModel = Callable[[random.Random], ModelFunction]


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
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    p, n = passed / runs, runs
    middle = p + z * z / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    bottom = 1 + z * z / n
    # At both ends the exact value is 0 or 1, which binary fractions miss by a hair.
    low = 0.0 if passed == 0 else (middle - half) / bottom
    high = 1.0 if passed == runs else (middle + half) / bottom
    return low, high


# --- running ----------------------------------------------------------------------------------------


def evaluate(
    cases: Iterable[Case | MakeCase],
    make_model: MakeModel,
    *,
    runs: int = 20,
    seed: int = 0,
    version: str = "agent",
    file: str | Path | None = None,
    progress: bool = False,
    **options: Any,
) -> Report:
    """Run each case so many times, each time with another seed; give a report, finished or not.

    cases: `Case`s, or functions that make a fresh one for each run (for tools that remember, and a check
    that looks at what they have done). make_model(rng): makes a fresh model; whatever varies in it is drawn
    from `rng`, a `random.Random` made from the case's name and the seed: other versions get the same.
    runs: how many of each case. seed: the first seed; run number i has `seed + i`.
    version: the name of what is tried. options: for `run_agent`, such as max_steps and stops.
    file: a file for the results, one JSON line each, written as soon as there is one. Called again, only
    what is missing, or could not be graded, is run; so give another version another name.
    progress: show a bar.

    An interrupt (or a run stopped as "cancelled") ends the evaluation with the runs done so far. A model, a
    model maker or a check that raises makes one run that could not be graded; the others go on.
    Raises TypeError or ValueError before any run for what is wrong with the arguments, ResultsFileError if
    the file holds something else, OSError if it cannot be written.
    """
    whole_number("runs", runs)
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ValueError(f"seed is a whole number, but was {describe(seed)}.")
    if not isinstance(version, str) or not version.strip():
        raise ValueError(f"version is a name, but was {describe(version)}.")
    if not callable(make_model):
        raise TypeError(f"make_model is a function of a random.Random, but was {describe(make_model)}.")
    read = _read_cases(cases)
    known = {} if file is None else _read_results(Path(file), version, read)
    wanted = [(name, number) for name in read for number in range(seed, seed + runs)]
    done = {key: known[key] for key in wanted if key in known and not known[key].failure}
    missing = [key for key in wanted if key not in done]
    interrupted = False
    with nullcontext() if file is None else Path(file).open("a", encoding="utf-8") as out:
        try:
            bar = tqdm(missing, version, len(wanted), initial=len(done), unit="run", disable=not progress)
            for name, number in bar:
                result = _one_run(read[name], make_model, version, number, options)
                if result.stopped == CANCELLED:
                    interrupted = True
                    break
                done[name, number] = result
                _write(out, result)
        except KeyboardInterrupt:  # between two runs, or in a check
            interrupted = True
    return Report(version, tuple(done[key] for key in wanted if key in done), len(wanted), interrupted)


class _ReadCase(NamedTuple):
    """A case under its name, and the function that makes it for each run."""

    name: str
    goal: str
    make: MakeCase


def _read_cases(cases: Any) -> dict[str, _ReadCase]:
    """Make a table of the cases by name; what is wrong with one is raised here."""
    read: dict[str, _ReadCase] = {}
    if isinstance(cases, Case) or callable(cases):
        cases = [cases]
    if not isinstance(cases, Iterable):
        raise TypeError(f"cases is a list of Cases, but was {describe(cases)}.")
    for given in cases:
        case = given() if callable(given) else given
        if not isinstance(case, Case):
            raise TypeError(f"A case is a Case, or a function that makes one, but {describe(case)} came.")
        if case.name in read:
            raise ValueError(f'Two cases are called "{case.name}". Give one another name.')
        make = given if callable(given) else repeat(case).__next__  # the same one for each run
        read[case.name] = _ReadCase(case.name, case.goal, make)
    if not read:
        raise ValueError("There is no case to run.")
    return read


def _one_run(
    read: _ReadCase, make_model: MakeModel, version: str, seed: int, options: dict[str, Any]
) -> Result:
    # Text is a seed too. With the number alone, the same seed would draw the same in all cases, and runs
    # that go together are fewer than they seem.
    rng = random.Random(f"{read.name}/{seed}")
    not_run = Result(version, read.name, read.goal, seed, passed=False)
    try:
        case, model = read.make(), make_model(rng)
        if not isinstance(case, Case):
            raise TypeError(f"a maker of cases gives a Case, but gave {describe(case)}")
        if not callable(model):
            raise TypeError(f"make_model gives a function of the history, but gave {describe(model)}")
    except Exception as problem:
        return replace(not_run, failure=f"the case or the model could not be made: {words_of(problem)}")
    run = run_agent(model, case.tools, case.goal, **options)
    result = replace(
        not_run,
        stopped=str(run.stopped),
        answer=run.answer,
        steps=run.steps,
        tool_runs=run.tool_runs,
        errors=run.errors,
        coins=run.coins,
        input_tokens=run.usage.input_tokens,
        output_tokens=run.usage.output_tokens,
        cached_tokens=run.usage.cached_tokens,
        cache_write_tokens=run.usage.cache_write_tokens,
    )
    if run.stopped == CANCELLED:
        return result
    if run.stopped == MODEL_ERROR:
        return replace(result, failure=f"the model raised: {run.stopped.detail}")
    try:
        passed, problems = _verdict(case.check(run))
    except Exception as problem:
        return replace(result, failure=f"the check raised: {words_of(problem)}")
    return replace(result, passed=passed, problems=problems)


def _verdict(said: object) -> tuple[bool, tuple[str, ...]]:
    if isinstance(said, bool):
        return said, ()
    if isinstance(said, (list, tuple)) and all(isinstance(problem, str) for problem in said):
        return not said, tuple(whole(problem) for problem in said)
    raise TypeError(f"A check gives True, False or a list of problems in words, but gave {describe(said)}.")


# --- the results file -------------------------------------------------------------------------------


def _write(out: TextIO | None, result: Result) -> None:
    if out is not None:
        out.write(json.dumps(asdict(result)) + "\n")
        out.flush()


def _read_results(path: Path, version: str, cases: dict[str, _ReadCase]) -> dict[tuple[str, int], Result]:
    """Read what is known of this version, and take away a last line that was cut off in the middle."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return {}
    known: dict[tuple[str, int], Result] = {}
    lines = read_lines(content)
    for number, line in enumerate(lines, start=1):
        if not line.strip() and len(lines) > 1:
            continue  # an editor has added a line break, and then more results came
        try:
            result = _LINE.validate_json(line)
        except ValidationError as problem:
            error = problem.errors()[0]
            if number == len(lines) and error["type"] == "json_invalid" and _is_cut_off(content, line):
                with path.open("r+b") as file:
                    file.truncate(len(content) - len(line))
                return known
            what = error["msg"]
            raise ResultsFileError(
                str(path), number, f"expected a result of an evaluation as JSON, but it is none ({what})."
            ) from None
        if result.version != version or result.case not in cases:
            continue
        if result.goal != cases[result.case].goal:
            raise ResultsFileError(
                str(path), number, f'the case "{result.case}" had another goal when this was written. '
                "Give the version another name, or take another file."
            )  # fmt: skip
        known[result.case, result.seed] = result
    if lines and not content.endswith(b"\n"):  # an editor has left out the last line break
        with path.open("ab") as file:
            file.write(b"\n")
    return known


def _is_cut_off(content: bytes, last_line: bytes) -> bool:
    """True if the program was ended while it wrote this line; else the file holds something else."""
    return not content.endswith(b"\n") and last_line[: len(_BEGINNING)] == _BEGINNING[: len(last_line)]


_LINE = TypeAdapter(Result)
_BEGINNING = b'{"version": '


# --- two versions -----------------------------------------------------------------------------------


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


compare = compare_reports  # as lesson 11 calls it: `evals.compare(many, yours)`
