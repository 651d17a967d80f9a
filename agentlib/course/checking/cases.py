"""A table of cases: for functions that are called once and judged by what they give back."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from agentlib.course.checking.evidence import crash, shortened, shown, what_came_back
from agentlib.course.checking.spec import Fault, Judge, Log, Logs, Scenario
from agentlib.messages import json_text

__all__ = ["CallCase", "by_cases", "scenarios_of"]


MIN_PLAYED = 12
"""So many cases of a criterion are played where their order is drawn."""


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


def scenarios_of(table: Mapping[str, Iterable[CallCase]], rng: Random | None = None) -> dict[str, Scenario]:
    """Make the scenarios of a table: "ID: NAME" for each case of the criterion ID.

    A case whose name comes again within its criterion gets a number behind it.
    rng: they come in an order drawn from it, and some again, so that what was right in another check is of no
    use without a look at the input. None = in the table's order.
    """
    made: dict[str, Scenario] = {}
    for criterion, cases in table.items():
        rows = list(enumerate(cases))
        if rng is not None:
            rows += rng.choices(rows, k=max(2, MIN_PLAYED - len(rows)))
        for place, case in rows:
            name, number = f"{criterion}: {case.name}", 1
            while name in made:
                number += 1
                name = f"{criterion}: {case.name} ({number})"
            made[name] = replace(case.call, facts={**case.call.facts, "case": case, "place": place})
    names = list(made)
    if rng is not None:
        rng.shuffle(names)
    return {name: made[name] for name in names}


def by_cases(criterion: str) -> Judge:
    """Make the judge of a criterion: all its cases are played; the first of the table that fails counts."""

    def judge(logs: Logs) -> Fault | None:
        for name in logs:  # all of them, in their order, before any is judged
            if logs[name].outcome.get("ended"):
                break
        mine = (name for name in logs if name.startswith(f"{criterion}: "))
        for name in sorted(mine, key=lambda name: logs.scenario(name).facts["place"]):
            if fault := _fault(logs[name]):
                return replace(fault, scenario=fault.scenario or name)
        return None

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
