"""From an exercise and a learner to a report."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from agentlib.checks.exercise import Criterion, Exercise, Fault, Log, Logs
from agentlib.checks.here import Counter, LearnerHere
from agentlib.checks.player import Learner, play
from agentlib.checks.reading import counted
from agentlib.checks.report import NOT_REACHED, NOT_YET, OK, Report, Result
from agentlib.messages import describe

__all__ = ["check_functions", "check_with", "named_functions", "result_of", "with_print_note"]


def check_with(exercise: Exercise, learner: Learner, seed: int | None = None) -> Report:
    """Check an exercise with a learner's functions, wherever they live.

    seed: of the data; None draws a new one. The same seed gives the same data.
    """
    if seed is None:
        seed = secrets.randbelow(100_000)
    scenarios = exercise.scenarios(Random(f"{exercise.name} {seed}"))
    logs = Logs(scenarios, lambda scenario: play(scenario, learner))
    results: list[Result] = []
    met: set[str] = set()
    for criterion in exercise.criteria:
        if not met.issuperset(criterion.needs):
            results.append(result_of(criterion, NOT_REACHED))
            continue
        fault = _judge(criterion, logs)
        if fault is None:
            met.add(criterion.id)
            results.append(result_of(criterion, OK))
        else:
            results.append(result_of(criterion, NOT_YET, fault))
    return Report(exercise.name, exercise.title, seed, _started(logs.played), tuple(results))


def _judge(criterion: Criterion, logs: Logs) -> Fault | None:
    fault = criterion.judge(logs)
    if fault is not None and not fault.seen:
        raise ValueError(f"The criterion {criterion.id} gave a fault that does not say what was seen.")
    return fault


def result_of(criterion: Criterion, status: str, fault: Fault | None = None) -> Result:
    """Say what became of a criterion. status: see `Result`. fault: what was seen, where it is not met."""
    first = (fault.hint if fault else None) or criterion.hints[0]
    return Result(
        id=criterion.id,
        status=status,
        points=criterion.points if status == OK else 0,
        max_points=criterion.points,
        wanted=criterion.wanted,
        seen=fault.seen if fault else "",
        hints=(first, criterion.hints[1]),
    )


def not_started(log: Log) -> bool:
    """Whether the function is the untouched stub: it raised NotImplementedError before it did anything."""
    return not log.calls and log.outcome.get("raised", {}).get("type") == "NotImplementedError"


def _started(logs: list[Log]) -> bool:
    return not all(not_started(log) for log in logs)


def named_functions(exercise: Exercise, given: tuple[Any, ...]) -> dict[str, Callable[..., Any]]:
    """Pair what was given to `check` with the functions of the exercise.

    given: the functions in the exercise's order, or one dict from names to functions.
    Raises TypeError if something is missing or is no function.
    """
    names = exercise.functions
    call = f'check("{exercise.name}", {", ".join(names)})'
    if len(given) == 1 and isinstance(given[0], Mapping):
        functions = {name: given[0][name] for name in names if name in given[0]}
    else:
        functions = dict(zip(names, given, strict=False))
    if len(functions) != len(names) or len(given) > len(names):
        raise TypeError(
            f"This exercise needs {len(names)} {'function' if len(names) == 1 else 'functions'}: {call}."
        )
    for name, function in functions.items():
        if not callable(function):
            raise TypeError(
                f"{name} is {describe(function)}, not a function. Write it without brackets: {call}."
            )
    return functions


def check_functions(
    exercise: Exercise, functions: Mapping[str, Callable[..., Any]], seed: int | None = None
) -> Report:
    """Check an exercise with functions of this process."""
    learner = LearnerHere(functions)
    return with_print_note(check_with(exercise, learner, seed), learner.printed)


def with_print_note(report: Report, printed: Counter) -> Report:
    """Give a report with a note if something was printed meanwhile."""
    if not (printed.chars and report.started):
        return report
    note = f"Your code printed during the check ({counted(printed.lines, 'line')}); it is not shown."
    return replace(report, notes=(*report.notes, note))
