"""From an exercise and a learner to a report."""

import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from agentlib.course.checking.notebook import read_notebook
from agentlib.course.checking.report import NOT_REACHED, NOT_YET, OK, CheckReport, CriterionResult
from agentlib.course.checking.saw import Saw, saw_in
from agentlib.course.checking.simulator import TOO_LONG, Learner, play
from agentlib.course.checking.spec import Criterion, Exercise, Fault, Log, Logs
from agentlib.course.checking.watching import RunWatcher
from agentlib.course.running.runner import Counter, Runner, why_not
from agentlib.messages import describe, json_text, short
from agentlib.views.describe import counted

__all__ = [
    "call_of", "check_functions", "check_with", "checked_seed", "named_functions", "result_of",
    "with_print_note",
]  # fmt: skip


def check_with(exercise: Exercise, learner: Learner, seed: int | None = None) -> CheckReport:
    """Check an exercise with a learner's functions, wherever they live.

    seed: of the data; None draws a new one. The same seed gives the same data.
    """
    if seed is None:
        seed = secrets.randbelow(100_000)
    scenarios = exercise.scenarios(Random(f"{exercise.name} {seed}"))
    logs = Logs(scenarios, lambda scenario: play(scenario, learner))
    results: list[CriterionResult] = []
    met: set[str] = set()
    for part, criterion in enumerate(exercise.criteria, start=1):
        status, fault = NOT_REACHED, None
        # One that ran too long is not played on for parts that may not be judged by themselves.
        stuck = any(log.outcome.get("ended") == TOO_LONG for log in logs.played)
        if met.issuperset({*criterion.needs, *(criterion.after if stuck else ())}):
            fault = _judge(criterion, logs)
            if fault is None:
                met.add(criterion.id)
                status = OK
            elif fault.own or met.issuperset(criterion.after):
                status = NOT_YET
        saw = saw_in(logs[fault.scenario]) if fault and status == NOT_YET else ()
        results.append(result_of(criterion, status, fault, part, saw))
    started = _started(logs.played)
    notes = _notes(exercise, logs.played) if started else ()
    call = call_of(exercise, seed)
    return CheckReport(exercise.name, exercise.title, seed, started, tuple(results), notes, call)


def call_of(exercise: Exercise, seed: int) -> str:
    """Write the call that gives the same check again."""
    return f'check("{exercise.number}", {", ".join(exercise.functions)}, seed={seed})'


def _judge(criterion: Criterion, logs: Logs) -> Fault | None:
    fault = criterion.judge(logs)
    if fault is not None and not fault.seen:
        raise ValueError(f"The criterion {criterion.id} gave a fault that does not say what was seen.")
    return fault and replace(fault, scenario=fault.scenario or logs.last_name)


def result_of(
    criterion: Criterion,
    status: str,
    fault: Fault | None = None,
    part: int = 0,
    saw: tuple[Saw, ...] = (),
) -> CriterionResult:
    """Say what became of a criterion.

    fault: what was seen, where it is not met. part: its number. saw: the calls of the model and the tools in
    that run.
    """
    shown = fault if fault and status == NOT_YET else Fault("")
    return CriterionResult(
        part=part,
        id=criterion.id,
        status=status,
        points=criterion.points if status == OK else 0,
        max_points=criterion.points,
        wanted=criterion.wanted,
        seen=shown.seen,
        hints=(shown.hint or criterion.nudge, criterion.hint),
        scenario=shown.scenario,
        seen_at=shown.seen_at,
        seen_after=shown.seen_after,
        saw=saw,
    )


def not_started(log: Log) -> bool:
    """Whether the function is the untouched stub: it raised NotImplementedError before it did anything."""
    return not log.calls and log.outcome.get("raised", {}).get("type") == "NotImplementedError"


def _started(logs: list[Log]) -> bool:
    return not all(not_started(log) for log in logs)


def _notes(exercise: Exercise, logs: list[Log]) -> tuple[str, ...]:
    """Tell of functions that are not started, or that cannot be called as the exercise calls them."""
    notes = []
    for name in exercise.functions:
        own = [log for log in logs if log.scenario.function == name]
        if own and all(not_started(log) for log in own):
            notes.append(f"{name} is not started yet.")
        elif any(_refused_its_arguments(log) for log in own) and (line := first_line(exercise, name)):
            notes.append(
                f"It must be possible to call {name} as the exercise does; its first line was `{line}`."
            )
    return tuple(notes)


def _refused_its_arguments(log: Log) -> bool:
    """Whether the call itself failed: a TypeError at no line of the function."""
    raised = log.outcome.get("raised", {})
    return not log.calls and raised.get("type") == "TypeError" and not raised.get("line")


def first_line(exercise: Exercise, function: str) -> str:
    """Give the line with which a function begins in the exercise as it is handed out; "" if there is none."""
    if not exercise.fresh.is_file():
        return ""
    for cell in read_notebook(exercise.fresh):
        found = re.search(rf"^def {function}\(.*\):$", cell.source, re.MULTILINE)
        if found:
            return found[0]
    return ""


def named_functions(exercise: Exercise, given: tuple[Any, ...]) -> dict[str, Callable[..., Any]]:
    """Pair what was given to `check` with the functions of the exercise.

    given: the functions in the exercise's order, or one dict from names to functions.
    Raises TypeError if something is missing or is no function that can be checked.
    """
    names = exercise.functions
    call = f'check("{exercise.name}", {", ".join(names)})'
    needed = f"This exercise needs {len(names)} {'function' if len(names) == 1 else 'functions'}: {call}."
    if len(given) == 1 and isinstance(given[0], Mapping):
        missing = [name for name in names if name not in given[0]]
        if missing:
            raise TypeError(f"The dict has no {json_text(missing[0])}. {needed}")
        functions = {name: given[0][name] for name in names}
    else:
        functions = dict(zip(names, given, strict=False))
    if len(functions) != len(names) or len(given) > len(names):
        raise TypeError(needed)
    for name, function in functions.items():
        if not callable(function):
            raise TypeError(
                f"{name} is {describe(function)}, not a function. Write it without brackets: {call}."
            )
        if why := why_not(function):
            raise TypeError(f"{name} is {why} {call}.")
    return functions


def checked_seed(seed: object) -> None:
    """Raise ValueError unless a seed is None or a whole number from 0 on."""
    if seed is not None and (type(seed) is not int or seed < 0):
        raise ValueError(f"seed is {short(seed, 60)}, and must be a whole number from 0 on.")


def check_functions(
    exercise: Exercise, functions: Mapping[str, Callable[..., Any]], seed: int | None = None
) -> CheckReport:
    """Check an exercise with functions of this process."""
    learner = Runner(functions)
    report = with_print_note(check_with(exercise, learner, seed), learner.printed)
    return replace(report, watcher=RunWatcher(exercise, functions, report.seed))


def with_print_note(report: CheckReport, printed: Counter) -> CheckReport:
    """Give a report with a note if something was printed meanwhile."""
    if not (printed.chars and report.started):
        return report
    note = f"Your code printed during the check ({counted(printed.lines, 'line')}); it is not shown."
    return replace(report, notes=(*report.notes, note))
