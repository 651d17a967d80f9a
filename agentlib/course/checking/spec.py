"""What an exercise is: scenarios to play, and criteria that judge only what was seen meanwhile."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

__all__ = [
    "FRESH_DIR", "Called", "Criterion", "Exercise", "Fault", "Judge", "Log", "Logs", "Scenario", "each",
    "first_fault", "in_turn",
]  # fmt: skip

FRESH_DIR = Path(__file__).resolve().parents[1] / "exercises" / "fresh"
"""The exercises as they are handed out; `agentlib.course.make` writes them."""


@dataclass(frozen=True)
class Scenario:
    """One call of the learner's function, with what plays the model and the tools.

    function: its name. args, kwargs: what it is called with; functions in them (also inside a dict) are
    played on our side, everything else must be ready for JSON.
    max_calls: how often each played function may be called, by name ("model", "tools" for each tool);
    one call more ends the run.
    seconds: time for the whole call. keep: False = what the functions were given is not kept in the log.
    facts: what the criteria need to know about it.
    """

    function: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    max_calls: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 5.0
    keep: bool = True
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Called:
    """One call of a played function by the learner's code; everything in it is ready for JSON.

    name: "model", or "tools.NAME" for a tool. args, kwargs: what it was given, as it was at that moment.
    answer: {"gave": value}, {"raises": {"type", "message"}}, {"interrupt": True} or {"end": why}.
    """

    name: str
    args: list[Any]
    kwargs: dict[str, Any]
    answer: dict[str, Any]

    @property
    def tool(self) -> str:
        """The name of the tool, or "" if it was no tool."""
        return self.name.removeprefix("tools.") if self.name.startswith("tools.") else ""


@dataclass
class Log:
    """Everything that was seen while one scenario was played.

    calls: the played functions, in order. outcome: how the learner's function ended:
    {"returned": value, "type": name, "changed": [...]} (numbers of the arguments that it changed),
    {"raised": {"type", "message", "line", "code", "place"}}, {"interrupted": True} or
    {"ended": "asked too often" | "ran too long"}, with "seconds" if it had another time than its scenario's.
    "raised" may have a "hint" in it, where the grader knows the cause; none ever comes out of a child.
    """

    scenario: Scenario
    calls: list[Called] = field(default_factory=list)
    outcome: dict[str, Any] = field(default_factory=dict)

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the scenario holds ready for the criteria."""
        return self.scenario.facts

    @property
    def asks(self) -> list[Called]:
        """The calls of the model."""
        return [call for call in self.calls if call.name == "model"]

    @property
    def histories(self) -> list[list[Any]]:
        """What the model was asked with, call by call; [] for a call that got no list."""
        return [call.args[0] if call.args and isinstance(call.args[0], list) else [] for call in self.asks]

    def step_at(self, place: int) -> int:
        """Count the calls of the model up to a place in `calls`, that one included."""
        return sum(call.name == "model" for call in self.calls[: place + 1])

    @property
    def tool_runs(self) -> list[tuple[str, dict[str, Any]]]:
        """The tools that ran, with their input, in order."""
        return [(call.tool, call.kwargs) for call in self.calls if call.tool]

    @property
    def returned(self) -> dict[str, Any]:
        """The dict that came back; {} if none did."""
        value = self.outcome.get("returned")
        return value if isinstance(value, dict) else {}


@dataclass(frozen=True)
class Fault:
    """Why a criterion is not met.

    seen: what was seen, short and concrete. hint: names this very fault; None = the criterion's own hints do.
    scenario: the run in which it was seen; "" = the one that was looked at last. call: the model call at
    which it can be seen, step: the one after which it can be seen; 0 = the words name it ("call 2 read ..."),
    or it can be seen at the end.
    own: it cannot have come of another fault, so it is shown beside one.
    """

    seen: str
    hint: str | None = None
    scenario: str = ""
    call: int = 0
    step: int = 0
    own: bool = False

    @property
    def seen_at(self) -> int:
        """The model call at which it can be seen; 0 = not at one."""
        return self.call or (0 if self.step else _number(AT_CALL, self.seen))

    @property
    def seen_after(self) -> int:
        """The model call after which it can be seen; 0 = at the end."""
        return self.step or _number(AFTER_REPLY, self.seen)


AT_CALL = re.compile(r"\bcall (\d+) (?:read|got|began|was made)\b|\bin call (\d+);")
AFTER_REPLY = re.compile(r"\breply (\d+) made\b")


def _number(words: re.Pattern[str], text: str) -> int:
    found = words.search(text)
    return int(found[found.lastindex or 0]) if found else 0


def first_fault(faults: Iterable[Fault | None]) -> Fault | None:
    """Give the first of several faults that is one; what comes after it is not looked at."""
    return next(filter(None, faults), None)


class Logs(Mapping[str, Log]):
    """The logs of an exercise by scenario; a scenario is played when its log is first asked for."""

    def __init__(self, scenarios: Mapping[str, Scenario], play: Callable[[Scenario], Log]) -> None:
        self._scenarios = scenarios
        self._play = play
        self._logs: dict[str, Log] = {}
        self.last_name = ""
        """The scenario that was looked at last."""

    def __getitem__(self, name: str) -> Log:
        self.last_name = name
        if name not in self._logs:
            self._logs[name] = self._play(self._scenarios[name])
        return self._logs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._scenarios)

    def __len__(self) -> int:
        return len(self._scenarios)

    def scenario(self, name: str) -> Scenario:
        """Give a scenario, played or not."""
        return self._scenarios[name]

    @property
    def played(self) -> list[Log]:
        """The logs of the scenarios that were played so far, in order."""
        return list(self._logs.values())


Judge = Callable[[Logs], Fault | None]
"""Looks at the logs and gives a fault, or None if all is well."""


def each(
    judge: Callable[[Log], Fault | None],
    *scenarios: str,
    before: str = "",
    hint: str | None = None,
    spare_hint: str | None = None,
) -> Judge:
    """Make a judge of one log look at several scenarios, in order.

    before: words to be put before what was seen. hint: in the place of the fault's own; spare_hint: where it
    has none.
    """

    def judge_each(logs: Logs) -> Fault | None:
        for name in scenarios:
            if fault := judge(logs[name]):
                words = hint or fault.hint or spare_hint
                return replace(fault, seen=f"{before}{fault.seen}", hint=words, scenario=name)
        return None

    return judge_each


def in_turn(*judges: Judge) -> Judge:
    """Make one judge of several: the first fault counts."""
    return lambda logs: first_fault(judge(logs) for judge in judges)


@dataclass(frozen=True)
class Criterion:
    """One thing that the learner's function must do, and one part of the exercise's task.

    id: a short name. wanted: one sentence.
    points: earned if it is met; 0 where only the learner's own process can say whether it is.
    nudge, hint: what to think about, then more, nearly the line.
    judge: looks at the logs and gives a Fault, or None if all is well.
    needs: ids of the criteria that must be met before this one can be judged.
    after: ids of those without which a fault found here may have come of theirs, and is not shown unless it
    is surely its own; what is met counts all the same.
    details: more about it for the task, "" = what is wanted says it all.
    """

    id: str
    points: int
    wanted: str
    nudge: str
    hint: str
    judge: Judge
    needs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    details: str = ""

    @property
    def hints(self) -> tuple[str, str]:
        """The nudge, then more."""
        return self.nudge, self.hint


@dataclass(frozen=True)
class Exercise:
    """One exercise: everything but the notebook's own prose and its solution.

    name: as in `exercises/NAME.ipynb`. title: in words. functions: what the learner writes.
    scenarios: makes the scenarios, by name, from a seeded random source.
    lesson: after which it comes, as in `notebooks/LESSON.ipynb`; it sets its place among the exercises.
    given_by: the lessons that send a learner to it. difficulty: 1 to 5. minutes: how long it takes.
    task: what a learner does in it, in a line for the table of all exercises.
    lead_in: what the exercise before it says of it at its end, with {lesson} and {exercise} for the links.
    """

    name: str
    title: str
    criteria: tuple[Criterion, ...]
    scenarios: Callable[[Random], dict[str, Scenario]]
    functions: tuple[str, ...] = ("run_agent",)
    lesson: str = ""
    given_by: tuple[str, ...] = ()
    difficulty: int = 0
    minutes: int = 0
    task: str = ""
    lead_in: str = "{lesson}, and {exercise}."

    @property
    def number(self) -> str:
        """The beginning of its name: "ex02"."""
        return self.name.split("_")[0]

    @property
    def fresh(self) -> Path:
        """The file of the exercise as it is handed out."""
        return FRESH_DIR / f"{self.name}.ipynb"

    @property
    def max_points(self) -> int:
        """All points together."""
        return sum(criterion.points for criterion in self.criteria)
