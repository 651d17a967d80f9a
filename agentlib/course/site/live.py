"""What the start page asks Python for, inside its worker: a visitor's loop is run, watched and played.

Everything goes in and out as JSON. Nothing is kept from one call to the next: the same text runs the same
way.
"""

import contextlib
import json
import linecache
from collections.abc import Callable, Mapping
from typing import Any

from agentlib.course.running.runner import Counter, RunEnded, TimeLimit
from agentlib.errors import AgentLibError
from agentlib.labs import blue_mugs
from agentlib.messages import short
from agentlib.trace import Trace
from agentlib.views.tracer.page import page_values
from agentlib.watch import fork, watch
from agentlib.watch.what_if import read_change

__all__ = ["FUNCTION", "PLACE", "LoopTextError", "answer_page", "first_values", "loop_of"]

FUNCTION = "run_agent"
FIRST_LINE = f"def {FUNCTION}(model, tools, goal, max_steps=10):"
PLACE = "<your loop>"
"""What stands for the file of a visitor's text."""

TEXT_SECONDS = 3.0
"""What stands outside of the function has so long to run."""


class LoopTextError(Exception):
    """What is wrong with the text of a loop, in a sentence for its writer. line: where; 0 = nowhere in it."""

    def __init__(self, words: str, line: int = 0) -> None:
        super().__init__(words)
        self.line = line


def loop_of(
    text: str,
    name: str = FUNCTION,
    first_line: str = FIRST_LINE,
    around: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """Make a function of the text of a loop. Raises LoopTextError.

    name, first_line: of the function, and how it begins. around: the names that the text finds there already.
    """
    lines = text.splitlines(keepends=True)
    linecache.cache[PLACE] = (len(text), None, lines, PLACE)  # so that the player can show its lines
    names: dict[str, Any] = {**(around or {}), "__name__": "your_loop"}
    limit = TimeLimit(TEXT_SECONDS)
    try:
        code = compile(text, PLACE, "exec")
        with contextlib.redirect_stdout(Counter()):
            limit.run(lambda: exec(code, names))
    except SyntaxError as problem:
        line = (problem.text or "").strip()
        where = f"Line {problem.lineno}" if problem.lineno else "Your text"
        shown = f": `{short(line, 60)}`" if line else ""
        words = f"{where} is no Python: {problem.msg}{shown}. Nothing was run."
        raise LoopTextError(words, problem.lineno or 0) from None
    except RunEnded:
        raise LoopTextError(
            f"What stands outside of {name} did not end within {TEXT_SECONDS:g} seconds."
        ) from None
    except BaseException as problem:
        kind = type(problem).__name__
        raise LoopTextError(f"Outside of {name} your text raised {kind}: {problem}.") from None
    function = names.get(name)
    if not callable(function):
        raise LoopTextError(f"There is no function {name}: begin it with `{first_line}`.")
    return function  # type: ignore[no-any-return]


def first_values(text: str, max_steps: int) -> dict[str, Any]:
    """Give what the player shows of the loop: the values that a widget would have."""
    return _values({"": _watched(loop_of(text), max_steps)})


def answer_page(wanted: str, now: Callable[[float], None] | None = None) -> str:
    """Do what the page asks for: "run", "fork" or "one run". JSON both ways.

    now: a page's module is told by it how many seconds what runs next may take; a run needs none of it.
    "problem" in the answer says what is wrong, "line" where in the text; 0 = at no line of it.
    """
    request: dict[str, Any] = json.loads(wanted)
    try:
        with contextlib.redirect_stdout(Counter()):
            return json.dumps(_answer(request))
    except (AgentLibError, LoopTextError, TypeError, ValueError) as problem:
        return json.dumps({"problem": str(problem), "line": getattr(problem, "line", 0)})


def _answer(request: Mapping[str, Any]) -> dict[str, Any]:
    loop = loop_of(request["text"])
    original = _watched(loop, request["max_steps"])
    if request["do"] != "fork":
        return _values({"": original})
    kind, step = str(request.get("kind")), request.get("step")
    value = read_change(kind, str(request.get("value", "")))
    change = {"reply": value} if kind == "reply" else {"result": value, "call": request.get("call", 0)}
    forked = fork(
        loop, blue_mugs.model, blue_mugs.TOOLS, blue_mugs.GOAL, original, step, **change  # type: ignore[arg-type]
    )  # fmt: skip
    values = _values({"as it was": original, "what if": forked})
    place = _first_difference(*(one["frames"] for one in values["timelines"]))
    if place:
        step_there = values["timelines"][1]["frames"][min(place, len(values["timelines"][1]["frames"])) - 1][
            "step"
        ]
        words = f"First difference: frame {place}, in step {step_there}."
        values["timelines"][1]["difference"] = {"frame": place, "words": words}
        values["frame"] = place
    return values


def _first_difference(left: list[dict[str, Any]], right: list[dict[str, Any]]) -> int:
    """Give the number of the first frame that differs; 0 = none does."""
    for number in range(max(len(left), len(right))):
        ends = number >= min(len(left), len(right))
        if ends or left[number]["caption"] != right[number]["caption"]:
            return number + 1
    return 0


def _watched(loop: Callable[..., Any], max_steps: int) -> Trace:
    return watch(loop, blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL, max_steps=max_steps)


def _values(traces: Mapping[str, Trace]) -> dict[str, Any]:
    return page_values(traces, label="Your loop", can_fork=True)
