"""The tasks of lesson 09: the four lines that are wrong, and the loop without them."""

from collections.abc import Callable, Mapping
from typing import Any

from agentlib.course.quick_checks.task import SmallTask, Words, Wrong, itself, run
from agentlib.messages import Entry, answer, ask


def sturdy_loop(
    model: Callable[[list[Entry]], Any],
    tools: Mapping[str, Callable[..., Any]],
    goal: str,
    max_steps: int = 10,
) -> Entry:
    """Run the loop of lesson 09 without its bugs."""
    history: list[Entry] = [{"role": "user", "text": goal}]
    for calls_before in range(max_steps):
        reply = model(history)
        history.append(reply)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": calls_before + 1}
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = {"error": str(problem) or repr(problem)}
        history.append({"role": "tool", "result": result})
    return {"answer": None, "steps": max_steps, "stopped": "step limit"}


def _line(name: str, right: int, *also: int, hint: str) -> SmallTask:
    """Make the task to find a line of the fragile loop."""

    def look(value: object) -> str:
        if type(value) is not int:
            return Words(f"{value!r}, and no line number")
        return Words("the faulty line" if value in (right, *also) else f"line {value}")

    wrong = Wrong(f"line = {right}", "line = 2", "it is line 2, not the faulty line")
    return SmallTask(
        name=name, ours=right, cases=(itself(look, hint=hint, said="your line"),), wrong=(wrong,)
    )


def flood(gate: str) -> str:
    """Look at a gate."""
    if gate == "west":
        raise OSError("The west gate does not respond.")
    return f"{gate} is shut"


def last_words(history: list[Any]) -> Entry:
    """Answer with what the last two results tell of: the gate that fails, the name that is not there."""
    results = [str(entry["result"]) for entry in history if isinstance(entry, dict) and "result" in entry]
    told = [word for word in ("west gate does not respond", "flod", "east is shut") if word in str(results)]
    return answer(f"I have read: {', '.join(told) or 'nothing'}.")


GATES = {"flood": flood}
OUTCOME = ("answer", "steps", "stopped")
ENDLESS = "a model that never answers"
FAILING = "a failing tool and a misspelt name"
ASKS = [ask("flood", gate="west"), ask("flod", gate="east"), ask("flood", gate="east")]

TASKS = (
    _line("09 all night", 4, hint="Which line decides whether there is one more round?"),
    _line("09 crash", 5, hint="Which line ran last, with nothing around it that catches?"),
    _line("09 wrong bed", 3, 7, hint="Behind which line is the entry missing?"),
    _line("09 two ends", 8, hint="Which line makes what the caller gets?"),
    SmallTask(
        name="09 sturdy loop",
        ours=sturdy_loop,
        cases=(
            run(
                "Is it shut?",
                GATES,
                ASKS[2:],
                for_ever=True,
                max_steps=3,
                said=f"for {ENDLESS}",
                keys=OUTCOME,
            ),
            run(
                "Both?",
                GATES,
                [*ASKS, last_words],
                max_steps=5,
                said=f"for {FAILING}",
                hint="Every reply is a step, and the model answers with what it read: each error's message",
                keys=OUTCOME,
            ),
            run("Say yes.", GATES, [answer("Yes.")], said="for an answer at once", keys=OUTCOME),
            run(
                "Is it shut?",
                GATES,
                [*ASKS[2:], answer("Yes.")],
                max_steps=2,
                said="for an answer in the last step",
                keys=OUTCOME,
            ),
        ),
        wrong=(
            Wrong("in range(max_steps)", "in range(99)", ENDLESS),
            Wrong(
                "        history.append(reply)\n",
                "",
                "call 2 of the model read user, result, not user, request",
            ),
            Wrong('"answer": None', '"answer": "I could not find out."', ENDLESS),
            Wrong("except Exception", "except LookupError", FAILING),
            Wrong("str(problem)", '""', '"answer" is "I have read: east is shut.", not'),
            Wrong('{"error": str(problem)}', "None", '"answer" is "I have read: east is shut.", not'),
            Wrong("calls_before + 1", "calls_before", '"steps" is 3, not 4'),
            Wrong('"stopped": "step limit"', '"stopped": "answered"', ENDLESS),
            Wrong("in range(max_steps)", "in range(max_steps - 1)", ENDLESS),
            Wrong(
                "        history.append(reply)\n        if",
                "        history = [history[0], reply]\n        if",
                "call 3 of the model read user, request, result, not",
            ),
        ),
    ),
)
