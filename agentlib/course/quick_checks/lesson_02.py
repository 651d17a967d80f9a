"""The tasks of lesson 02: an act for wrong names, a history in order, a model that reads, a limit."""

# mypy: allow-untyped-calls

import re
from typing import Any

from agentlib.course.quick_checks.lesson_01 import Counting
from agentlib.course.quick_checks.task import Made, SmallTask, Words, Wrong, call, itself
from agentlib.labs import by_hand
from agentlib.messages import Entry, answer, ask

HEIGHTS = {"Elbrus": 5642}


def height_of(mountain: str) -> int:
    """Tell how high one mountain is, in metres."""
    if mountain not in HEIGHTS:
        raise LookupError(f'No mountain "{mountain}" on this map.')
    return HEIGHTS[mountain]


def width_of(river: str) -> int:
    """Tell how wide one river is, in metres; raises the kind of error that a wrong tool name raises too."""
    raise KeyError(f"No river {river} on this map.")


TOOLS = {"height_of": height_of, "width_of": width_of}


def _named(result: Any) -> Any:
    """What an error result names: tools, or a tool's own words. Another result as it is."""
    if not isinstance(result, dict) or "error" not in result:
        return result
    text = " ".join(one for one in result.values() if isinstance(one, str))
    named = [name for name in (*TOOLS, "No mountain", "No river") if name in text]
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
    if reply.get("tool") == "stock_level" and isinstance(reply.get("input"), dict):
        return f"a request for {reply['input'].get('warehouse')}"
    if reply.get("type") != "answer":
        return reply
    names = re.findall("north|south", str(reply.get("text")).lower())
    return f"an answer that begins with {names[0]}" if names else "an answer that names no warehouse"


def _in_order(value: Any) -> str:
    """Say what is wrong with an order of the six entries, if anything is."""
    letters = re.findall("[A-Z]", str(value).upper()) if isinstance(value, (str, list, tuple)) else []
    if sorted(letters) != list("ABCDEF"):
        return Words("no order of six letters, each of them once")
    place = letters.index
    faults = [
        ("the goal does not stand first", place("D") > 0),
        ("A stands before its own request", place("A") < place("E")),
        ("F stands before its own request", place("F") < place("B")),
        ("B stands before a result that it speaks of", place("B") < place("A")),
        ("C stands before a result that it speaks of", place("C") < max(place("A"), place("F"))),
    ]
    wrong = next((what for what, is_so in faults if is_so), "")
    return Words(f"an order in which {wrong}" if wrong else "the order in which a loop records them")


class _Runs:
    """Plays runs of a loop that needs so many steps; notes with which limits it was run."""

    __name__ = "run"

    def __init__(self, needed: int, so_far: str | None = None) -> None:
        self.needed, self.so_far = needed, so_far

    def __call__(self, max_steps: int) -> Entry:
        if max_steps >= self.needed:
            return {"answer": "done", "steps": self.needed, "stopped": "answered"}
        return {"answer": self.so_far, "steps": max_steps, "stopped": "step limit"}


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
                hint='The tool\'s own words, in a dict with the key "error"',
            ),
            call(
                TOOLS,
                ask("width_of", river="Lethe"),
                look=_named,
                said="for a tool that raises KeyError itself",
                hint="Its name is in the table: only a look into `tools` tells an unknown name",
            ),
            call(
                Made(lambda: {"depth_of": Counting()}),
                ask("depth_of", lake="Ohrid"),
                changed=0,
                look=lambda tools: tools["depth_of"].runs,
                said="in the count of the tool's runs",
                hint="One request, one run: keep what came in a variable",
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
            Wrong('{"error": str(problem)}', "str(problem)", 'not "an error that names No mountain"'),
            Wrong(
                'return {"error": f"There is no tool {name}. There are: {\', \'.join(tools)}."}',
                "return f\"There are: {', '.join(tools)}.\"",
                'it gave "There are: height_of, width_of.", not',
            ),
            Wrong(
                "    except Exception as problem",
                "    except KeyError:\n        return act\n    except Exception as problem",
                "for a tool that raises KeyError itself",
            ),
            Wrong("    try:\n", "    try:\n        tools[name](**reply['input'])\n", "it left 2, not 1"),
        ),
    ),
    SmallTask(
        name="02 order",
        ours="DEABFC",
        cases=(
            itself(
                _in_order,
                said="your order",
                hint="First the goal; behind each request its own result; a request may rest on a result "
                "that was read before; at the end the answer",
            ),
        ),
        wrong=(
            Wrong("DEABFC", "DAEBFC", "it is an order in which A stands before its own request"),
            Wrong("DEABFC", "DEBAFC", "in which B stands before a result that it speaks of"),
            Wrong("DEABFC", "EADBFC", "in which the goal does not stand first"),
            Wrong("DEABFC", "DEABCF", "in which C stands before a result that it speaks of"),
            Wrong("DEABFC", "DEABF", "it is no order of six letters"),
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
            call(
                _after(("north", 12), ("south", 0)),
                look=_kind,
                said="after 12 in north and 0 in south",
                hint="0 mugs are a result, too",
            ),
        ),
        wrong=(
            Wrong("wrong.lower()", '"north"', "after an error for SOUTH, it gave"),
            Wrong('if "error" in results[-1]:', "if False:", 'for south", not "a request for north"'),
            Wrong("max(mugs", "min(mugs", 'begins with north", not'),
            Wrong("max(mugs, key=mugs.get)", "max(mugs)", "after 31 in north and 12 in south, it gave"),
            Wrong('"south" not in mugs', 'not mugs.get("south")', "0 mugs are a result, too"),
            Wrong(
                'ask("stock_level", warehouse="North")', 'ask("count", warehouse="North")', "with no result"
            ),
            Wrong('if "error" in results[-1]', 'if "error" in results[0]', "after 12 mugs in north"),
        ),
    ),
    SmallTask(
        name="02 limit",
        ours=smallest_limit,
        cases=(
            _job(3),
            _job(1),
            _job(12),
            call(
                Made(lambda: _Runs(4, "Not finished.")),
                said="for a job of 4 steps that tells something when it is cut off",
                hint="`stopped` says how it ended, the answer does not",
            ),
        ),
        wrong=(
            Wrong("limit = 1", "limit = 4", "for a job of 3 steps, it gave 4, not 3"),
            Wrong("return limit", "return limit - 1", "for a job of 3 steps, it gave 2, not 3"),
            Wrong(
                'while run(limit)["stopped"] != "answered":', "while limit < run(10)['steps']:", "12 steps"
            ),
            Wrong(
                'run(limit)["stopped"] != "answered"', 'run(limit)["answer"] is None', "`stopped` says how"
            ),
            Wrong("limit += 1", "limit *= 2", "for a job of 3 steps, it gave 4, not 3"),
        ),
    ),
)
