"""Four small scenarios, each of which brings out one bug that a loop may have.

What must come out of a loop without bugs, with max_steps=4:
- endless: no answer, "step limit" after 4 steps;
- broken_tool: the count fails once, the second tool name is misspelt, and the run is answered in 4 steps;
- forgotten: "North has more: 140 against 95." in 3 steps;
- untold: the model gives up in words, "answered" in 2 steps, so that a caller can tell it from a stopped run.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agentlib.messages import Entry, answer, ask, calls_in
from agentlib.models import LoopingModel, RuleModel, ScriptedModel

__all__ = ["GOAL", "SCENARIOS", "STOCK", "TOOLS", "Scenario", "model"]

STOCK = {"north": 140, "south": 95}


@dataclass(frozen=True)
class Scenario:
    """One run to try a loop with. bug: what it brings out. model: makes a fresh model for each run."""

    bug: str
    goal: str
    tools: Mapping[str, Callable[..., Any]]
    model: Callable[[], Callable[[list[Entry]], Any]]


def count_mugs(warehouse: str) -> int:
    """Count the mugs in one warehouse. A bare number comes back: only the request says what it is about."""
    if warehouse not in STOCK:
        raise ValueError(f"The warehouse {warehouse} is closed today. Open: {', '.join(STOCK)}.")
    return STOCK[warehouse]


TOOLS = {"count_mugs": count_mugs}
GOAL = "Which warehouse has more mugs, north or south?"


def model() -> RuleModel:
    """Make a fresh model that knows what a number means only if it can read its own request beside it."""
    return RuleModel(_count_the_next, _compare)


def _count_the_next(history: list[Entry]) -> Entry | None:
    results = sum("result" in entry for entry in history)
    return ask("count_mugs", warehouse=list(STOCK)[results]) if results < len(STOCK) else None


def _compare(history: list[Entry]) -> Entry:
    places = [call["input"]["warehouse"] for entry in history for call in calls_in(entry)]
    numbers = [entry["result"] for entry in history if "result" in entry]
    if len(places) < len(numbers):
        return answer(f"I read {' and '.join(map(str, numbers))}, but not what I had asked for.")
    (more, first), (_less, second) = sorted(zip(places, numbers, strict=False), key=lambda pair: -pair[1])
    return answer(f"{more.title()} has more: {first} against {second}.")


def endless_model() -> LoopingModel:
    """Make a model that never answers."""
    return LoopingModel("count_mugs", warehouse="north")


def stumbling_model() -> ScriptedModel:
    """Make a model that asks for a closed warehouse, then misspells the tool, then answers."""
    return ScriptedModel(
        [
            ask("count_mugs", warehouse="east"),
            ask("count_mug", warehouse="north"),
            ask("count_mugs", warehouse="north"),
            answer("There are 140 mugs in north; east is closed today."),
        ]
    )


def giving_up_model() -> ScriptedModel:
    """Make a model that asks once and then says that it cannot answer."""
    return ScriptedModel([ask("count_mugs", warehouse="north"), answer("I cannot tell.")])


SCENARIOS = {
    "endless": Scenario("nothing ends the loop but an answer", GOAL, TOOLS, endless_model),
    "broken_tool": Scenario(
        "a failing tool or a misspelt name ends everything",
        "How many mugs are in the east, and how many in the north?",
        TOOLS,
        stumbling_model,
    ),
    "forgotten": Scenario("the model cannot read what it asked for", GOAL, TOOLS, model),
    "untold": Scenario("the caller cannot tell how the run ended", GOAL, TOOLS, giving_up_model),
}
