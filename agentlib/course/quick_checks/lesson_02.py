"""The tasks of lesson 02: an act for wrong names, a model that reads, the smallest limit."""

# mypy: allow-untyped-calls

import re
from typing import Any

from agentlib.course.quick_checks.task import Made, SmallTask, Wrong, call
from agentlib.labs import by_hand
from agentlib.messages import Entry, answer, ask

HEIGHTS = {"Elbrus": 5642}


def height_of(mountain: str) -> int:
    """Tell how high one mountain is, in metres."""
    if mountain not in HEIGHTS:
        raise LookupError(f'No mountain "{mountain}" on this map.')
    return HEIGHTS[mountain]


def width_of(river: str) -> int:
    """Tell how wide one river is, in metres."""
    return len(river)


TOOLS = {"height_of": height_of, "width_of": width_of}


def _named(result: Any) -> Any:
    """What an error names: tools, or a tool's own words. Another result as it is."""
    text = result.get("error") if isinstance(result, dict) else result
    if not isinstance(text, str):
        return result
    named = [name for name in (*TOOLS, "No mountain") if name in text]
    return f"an error that names {', '.join(named) or 'nothing'}"


def reading_model(history: list[Entry]) -> Entry:
    """Ask for North, mend the name after an error, ask for south, answer."""
    results = [entry["result"] for entry in history if "result" in entry]
    mugs = {one["warehouse"]: one["blue_mugs"] for one in results if "error" not in one}
    if not results:
        return ask("stock_level", warehouse="North")
    if "error" in results[-1]:
        return ask("stock_level", warehouse=history[-2]["input"]["warehouse"].lower())
    if "south" not in mugs:
        return ask("stock_level", warehouse="south")
    return answer(f"{max(mugs, key=lambda name: mugs[name])} has more blue mugs.")


def _after(*steps: tuple[str, Any]) -> list[Entry]:
    """A history in which these warehouses were asked for, with what came: a number, or an error's words."""
    history: list[Entry] = [{"role": "user", "text": "Which warehouse has more blue mugs?"}]
    for name, got in steps:
        found = {"error": got} if isinstance(got, str) else {"warehouse": name, "blue_mugs": got}
        by_hand.record(history, ask("stock_level", warehouse=name), found)
    return history


def _kind(reply: Any) -> Any:
    """Of a request the warehouse, of an answer the warehouses that it names."""
    if not isinstance(reply, dict):
        return reply
    if "input" in reply:
        return f"a request for {reply['input'].get('warehouse')}"
    names = re.findall("north|south", str(reply.get("text")).lower())
    return f"an answer that begins with {names[0]}" if names else "an answer that names no warehouse"


class _Runs:
    """Plays runs of a loop that needs so many steps; notes with which limits it was run."""

    __name__ = "run"

    def __init__(self, needed: int) -> None:
        self.needed = needed

    def __call__(self, max_steps: int) -> Entry:
        if max_steps >= self.needed:
            return {"answer": "done", "steps": self.needed, "stopped": "answered"}
        return {"answer": None, "steps": max_steps, "stopped": "step limit"}


def smallest_limit(run: Any) -> int:
    """Find the smallest max_steps with which a run is answered."""
    limit = 1
    while run(limit)["stopped"] != "answered":
        limit += 1
    return limit


def _job(steps: int) -> Any:
    return call(Made(lambda: _Runs(steps)), said=f"for a job of {steps} {'step' if steps == 1 else 'steps'}")


ERROR = 'Unknown warehouse. Use "north" or "south".'

TASKS = (
    SmallTask(
        name="02 act",
        ours=by_hand.act,
        cases=(
            call(TOOLS, ask("height_of", mountain="Elbrus"), said="for a tool that works"),
            call(
                TOOLS,
                ask("hight_of", mountain="Elbrus"),
                look=_named,
                said="for the unknown hight_of",
                hint="The model needs the names that it may use",
            ),
            call(
                TOOLS,
                ask("height_of", mountain="Olympus"),
                look=_named,
                said="for a tool that raises",
            ),
        ),
        wrong=(
            Wrong(
                " There are: {', '.join(tools)}.",
                "",
                'it gave "an error that names nothing", not "an error that names height_of, width_of"',
            ),
            Wrong(
                "if name not in tools:",
                "if False:",
                'it gave "an error that names nothing", not "an error that names height_of, width_of"',
            ),
            Wrong("str(problem)", '"failed"', 'names nothing", not "an error that names No mountain"'),
        ),
    ),
    SmallTask(
        name="02 model",
        ours=reading_model,
        cases=(
            call(_after(), look=_kind, said="with no result"),
            call(_after(("North", ERROR)), look=_kind, said="after an error for North"),
            call(_after(("North", ERROR), ("north", 12)), look=_kind, said="after 12 mugs in north"),
            call(
                _after(("north", 12), ("SOUTH", ERROR)),
                look=_kind,
                said="after an error for SOUTH",
                hint="The name to mend is the one asked for last",
            ),
            call(
                _after(("north", 12), ("south", 31)),
                look=_kind,
                said="after 12 in north and 31 in south",
            ),
            call(
                _after(("north", 31), ("south", 12)),
                look=_kind,
                said="after 31 in north and 12 in south",
                hint="The larger number counts, not the larger name",
            ),
        ),
        wrong=(
            Wrong("wrong.lower()", '"north"', "after an error for SOUTH, it gave"),
            Wrong('if "error" in results[-1]:', "if False:", 'for south", not "a request for north"'),
            Wrong("max(mugs", "min(mugs", 'begins with north", not'),
            Wrong("max(mugs, key=mugs.get)", "max(mugs)", "after 31 in north and 12 in south, it gave"),
        ),
    ),
    SmallTask(
        name="02 limit",
        ours=smallest_limit,
        cases=(_job(3), _job(1), _job(12)),
        wrong=(
            Wrong("limit = 1", "limit = 4", "for a job of 3 steps, it gave 4, not 3"),
            Wrong("return limit", "return limit - 1", "for a job of 3 steps, it gave 2, not 3"),
            Wrong(
                'while run(limit)["stopped"] != "answered":', "while limit < run(10)['steps']:", "12 steps"
            ),
        ),
    ),
)
