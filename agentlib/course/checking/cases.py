"""A table of cases: for functions that are called once and judged by what they give back."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agentlib.course.checking.evidence import crash, shortened, shown, what_came_back
from agentlib.course.checking.spec import Fault, Judge, Log, Logs, Scenario, first_fault
from agentlib.messages import json_text

__all__ = ["CallCase", "by_cases", "scenarios_of"]


@dataclass(frozen=True)
class CallCase:
    """One row: what is called with what, what is expected, and what to say where it does not come.

    name: in words that a report can show. call: the scenario.
    expected: the value that has to come back, or a function that gets the log and this case, and gives a
    Fault or None. say: a hint for this very case; None = those of the criterion.
    """

    name: str
    call: Scenario
    expected: Any
    say: str | None = None


def scenarios_of(table: Mapping[str, Iterable[CallCase]]) -> dict[str, Scenario]:
    """Make the scenarios of a table: "ID: NAME" for each case of the criterion ID.

    A case whose name comes again within its criterion gets a number behind it.
    """
    made: dict[str, Scenario] = {}
    for criterion, cases in table.items():
        for case in cases:
            name, number = f"{criterion}: {case.name}", 1
            while name in made:
                number += 1
                name = f"{criterion}: {case.name} ({number})"
            made[name] = replace(case.call, facts={**case.call.facts, "case": case})
    return made


def by_cases(criterion: str) -> Judge:
    """Make the judge of a criterion: its cases in the order of the table, up to the first that is not met."""

    def judge(logs: Logs) -> Fault | None:
        return first_fault(_fault(logs[name]) for name in logs if name.startswith(f"{criterion}: "))

    return judge


def _fault(log: Log) -> Fault | None:
    case: CallCase = log.facts["case"]
    if callable(case.expected):
        fault: Fault | None = case.expected(log, case)
        return fault
    if fault := crash(log):
        return Fault(f"{case.name}: {fault.seen}", case.say or fault.hint)
    value = log.outcome["returned"]
    if value == case.expected and isinstance(value, bool) == isinstance(case.expected, bool):
        return None
    args = ", ".join(json_text(argument) for argument in case.call.args)
    return Fault(
        f"{case.name}: {shortened(f'{case.call.function}({args})')} gave {what_came_back(log)}, not "
        f"{shown(case.expected)}",
        case.say,
    )
