"""A garden: one tool that gives a bare number, and four models, each of which brings out one bug of a loop.

What must come out of a loop without bugs, with max_steps=4: endless: "step limit"; stumbling: answered in
4 steps, though a tool fails and a name is misspelt; comparing: "The beans are drier: 31%."; giving up:
answered.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from agentlib.messages import Entry, ModelFunction, answer, ask, calls_in
from agentlib.models import LoopingModel, ScriptedModel
from agentlib.watch import watch

__all__ = [
    "BEDS", "COMPARE", "MODELS", "TOOLS", "comparing", "demo", "endless", "giving_up", "moisture",
    "percent_answered", "stumbling", "with_limit",
]  # fmt: skip

BEDS = {"beans": 31, "roses": 58}
COMPARE = "Which bed is drier, beans or roses?"


def moisture(bed: str) -> int:
    """Measure how moist a bed is, in %. Only the request says which bed the bare number is about."""
    if bed not in BEDS:
        raise LookupError(f"No sensor in {bed}. There are: {', '.join(BEDS)}.")
    return BEDS[bed]


TOOLS = {"moisture": moisture}


def demo() -> ScriptedModel:
    """Make a model that asks once and answers."""
    return ScriptedModel([ask("moisture", bed="beans"), answer("The beans are at 31%: water them.")])


def endless() -> LoopingModel:
    """Make a model that never answers."""
    return LoopingModel("moisture", bed="beans")


def stumbling() -> ScriptedModel:
    """Make a model that asks for a bed without a sensor, then misspells the tool, then answers."""
    asks = [ask("moisture", bed="ferns"), ask("moistrue", bed="beans"), ask("moisture", bed="beans")]
    return ScriptedModel([*asks, answer("The beans are at 31%; the ferns have no sensor.")])


def comparing() -> Callable[[list[Entry]], Entry]:
    """Make a model that knows what a number means only if it can read its own request beside it."""

    def compare(history: list[Entry]) -> Entry:
        asked = [call["input"]["bed"] for entry in history for call in calls_in(entry)]
        found = [entry["result"] for entry in history if entry.get("role") == "tool"]
        if len(found) < 2:
            return ask("moisture", bed=["roses", "beans"][len(found)])
        beds = asked if len(asked) == len(found) else ["beans", "roses"]  # else a guess
        percent, bed = min(zip(found, beds, strict=True))
        return answer(f"The {bed} are drier: {percent}%.")

    return compare


def giving_up() -> ScriptedModel:
    """Make a model that asks once and then says that it cannot answer."""
    return ScriptedModel([ask("moisture", bed="beans"), answer("I could not find out.")])


MODELS: dict[str, Callable[[], Any]] = {
    "endless": endless, "stumbling": stumbling, "comparing": comparing, "giving up": giving_up,
}  # fmt: skip


def with_limit(model: ModelFunction, tools: Mapping[str, Callable[..., Any]], goal: str) -> str:
    """Run a loop with a first mend: a limit of 4 steps, and behind it a text that looks like an answer."""
    history: list[Entry] = [{"role": "user", "text": goal}]
    for _ in range(4):
        reply = model(history)
        if reply["type"] == "answer":
            return str(reply["text"])
        history.append({"role": "tool", "result": tools[reply["tool"]](**reply["input"])})
    return "I could not find out."


def percent_answered(loop: Callable[..., Any], percent: float, runs: int = 100) -> float:
    """Give the share of runs that come to an answer if each tool call fails with this chance, both in %.

    A run needs five good readings; after a failure this model asks again.
    """
    rng = Random(8)

    def five_readings(history: list[Entry]) -> Entry:
        good = sum(type(entry.get("result")) is int for entry in history)
        return ask("moisture", bed="beans") if good < 5 else answer("Five readings taken.")

    def shaky(bed: str) -> int:
        """Measure how moist a bed is."""
        if rng.random() < percent / 100:
            raise TimeoutError("The sensor did not answer.")
        return moisture(bed)

    ends = [watch(loop, five_readings, {"moisture": shaky}, "Take five.").stopped for _ in range(runs)]
    return 100 * sum(end in ("answered", "returned") for end in ends) / runs
