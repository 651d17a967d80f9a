"""Cases, and how they are run: many times each, with seeds, into a file that loses nothing."""

import json
import random
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from pydantic import TypeAdapter, ValidationError
from tqdm import tqdm

from agentlib._json import read_lines, whole_number
from agentlib._run import Run
from agentlib.errors import ResultsFileError
from agentlib.evals.report import Report, Result
from agentlib.loop import run_agent
from agentlib.messages import ModelFunction, describe, whole
from agentlib.stops import CANCELLED, MODEL_ERROR
from agentlib.tools import read_tools, words_of

__all__ = ["Case", "evaluate", "load_report"]


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
            raise _no_result(path, number, problem) from None
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


def _no_result(path: Path, number: int, problem: ValidationError) -> ResultsFileError:
    what = problem.errors()[0]["msg"]
    return ResultsFileError(
        str(path), number, f"expected a result of an evaluation as JSON, but it is none ({what})."
    )


def _is_cut_off(content: bytes, last_line: bytes) -> bool:
    """True if the program was ended while it wrote this line; else the file holds something else."""
    return not content.endswith(b"\n") and last_line[: len(_BEGINNING)] == _BEGINNING[: len(last_line)]


_LINE = TypeAdapter(Result)
_BEGINNING = b'{"version": '


def load_report(file: str | Path, version: str) -> Report:
    """Read what `evaluate(..., file=...)` has written of one version: the one that a new one is held against.

    Raises ResultsFileError if the file holds something else; ValueError, with the versions that are there, if
    none of its results is of this version; FileNotFoundError.
    """
    path, known, versions = Path(file), dict[tuple[str, int], Result](), set[str]()
    for number, line in enumerate(read_lines(path.read_bytes()), start=1):
        if line.strip():
            try:
                result = _LINE.validate_json(line)
            except ValidationError as problem:
                raise _no_result(path, number, problem) from None
            versions.add(result.version)
            if result.version == version:
                known[result.case, result.seed] = result
    if not known:
        there = ", ".join(sorted(versions)) or "none"
        raise ValueError(f"{path} holds no results of {version!r}. There are those of: {there}.")
    return Report(version, tuple(known.values()), len(known))
