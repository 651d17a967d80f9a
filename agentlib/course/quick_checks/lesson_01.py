"""The tasks of lesson 01: the loop in four bites."""

from collections.abc import Callable
from typing import Any

from agentlib.course.quick_checks.task import Made, SmallTask, Wrong, call, run
from agentlib.labs import by_hand
from agentlib.messages import Entry, answer, ask, ask_together

DEPTHS = {"Baikal": 1642, "Ohrid": 288, "Puddle": 0}


def depth_of(lake: str) -> int:
    """Tell how deep one lake is, in metres."""
    if lake not in DEPTHS:
        raise LookupError(f'No lake "{lake}" on this map.')
    return DEPTHS[lake]


def way(start: str, end: str) -> str:
    """Tell the way from one lake to another."""
    return f"from {start} to {end}"


TOOLS: dict[str, Callable[..., Any]] = {"depth_of": depth_of, "way": way}
LOST = ask("depth_of", lake="Atlantis")


class Counting:
    """A tool that counts how often it ran."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self, lake: str) -> int:
        self.runs += 1
        return depth_of(lake)


def _words(result: Any) -> Any:
    """Whether an error result holds the failure's own words; anything else as it is."""
    if not isinstance(result, dict) or "error" not in result:
        return result
    told = any(
        isinstance(text, str) and 'No lake "Atlantis" on this map.' in text for text in result.values()
    )
    return "an error result with the error's own words" if told else result


def last_result(history: list[Any]) -> Any:
    """What the model reads last, if that is a result."""
    return history[-1].get("result") if isinstance(history[-1], dict) else None


def _depth(history: list[Any]) -> Entry:
    """Answer with what the model reads: the goal, and the last result."""
    goal = history[0].get("text") if isinstance(history[0], dict) else None
    return answer(f"{goal} {last_result(history)} metres")


def _way(history: list[Any]) -> Entry:
    """Answer with the last result that the model reads."""
    return answer(f"Go {last_result(history)}.")


def _kinds(history: Any) -> Any:
    """What was added, without what may be said in other ways."""
    if not isinstance(history, list):
        return history
    return [_kind(entry) for entry in history]


def _kind(entry: Any) -> Any:
    """Of a result what came, of a request its tool; what is neither as it is."""
    if not isinstance(entry, dict):
        return entry
    if entry.get("role") == "user":
        return "the goal"
    if entry.get("role") == "tool" and "result" in entry:
        return f"result {entry['result']!r}"
    return entry["tool"] if "tool" in entry and "input" in entry else entry


TASKS = (
    SmallTask(
        name="01 check",
        ours=by_hand.is_answer,
        cases=(
            call(answer("1642 metres"), said="for an answer"),
            call(ask("depth_of", lake="Ohrid"), said="for a request"),
            call(ask_together(LOST, LOST, text="Both, please."), said="for a request with words beside it"),
        ),
        wrong=(
            Wrong('== "answer"', '== "tool"', "for an answer, it gave False, not True"),
            Wrong(
                'reply["type"] == "answer"',
                '"text" in reply',
                "with words beside it, it gave True, not False",
            ),
        ),
    ),
    SmallTask(
        name="01 act",
        ours=by_hand.act,
        cases=(
            call(
                TOOLS,
                ask("depth_of", lake="Ohrid"),
                said="for a tool that works",
                hint="Hand the input over with `**`, and give back what comes",
            ),
            call(
                TOOLS,
                ask("way", end="Baikal", start="Ohrid"),
                said="for another tool, with two inputs",
                hint="`**` hands each over by its name, in whatever order",
            ),
            call(TOOLS, ask("depth_of", lake="Puddle"), said="for a tool that gives 0", hint="0 is a result"),
            call(
                TOOLS,
                LOST,
                look=_words,
                said="for a tool that raises",
                hint='Catch it, and give back a dict with the key "error" and `str(problem)` in it',
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
            Wrong("(**reply", "(reply", "for a tool that works, it gave {"),
            Wrong(
                '{"error": str(problem)}',
                '{"error": "failed"}',
                "it gave {'error': 'failed'}, not \"an error result with the error's own words\"",
            ),
            Wrong("except Exception", "except ValueError", "it raised LookupError"),
            Wrong('{"error": str(problem)}', "str(problem)", 'not "an error result with the error'),
            Wrong('{"error": str(problem)}', '{"message": str(problem)}', 'not "an error result'),
            Wrong(
                "    try:\n", "    try:\n        tools[reply['tool']](**reply['input'])\n", "it left 2, not 1"
            ),
            Wrong('(**reply["input"])', "(*reply['input'].values())", '"from Baikal to Ohrid", not'),
            Wrong('(**reply["input"])', "(**reply['input']) or None", "that gives 0, it gave None"),
            Wrong('tools[reply["tool"]]', 'tools["depth_of"]', "for another tool"),
        ),
    ),
    SmallTask(
        name="01 record",
        ours=by_hand.record,
        cases=(
            call(
                [{"role": "user", "text": "How deep?"}],
                ask("depth_of", lake="Ohrid"),
                288,
                look=_kinds,
                changed=0,
                said="for one request",
            ),
            call([], LOST, {"error": "No lake."}, look=_kinds, changed=0, said="for an error"),
        ),
        wrong=(
            Wrong(
                "    history.append(reply)\n",
                "",
                "it left the goal, result 288, not the goal, depth_of, result 288",
            ),
            Wrong('"result": result', '"result": "done"', "it left the goal, depth_of, result 'done', not"),
            Wrong(
                '{"role": "tool", "result": result}', "result", "it left ['the goal', 'depth_of', 288], not"
            ),
            Wrong("history.append(reply)", 'history.append({"text": reply})', "it left ['the goal', {'text'"),
            Wrong('"role": "tool", ', "", "it left ['the goal', 'depth_of', {'result': 288}], not"),
            Wrong(
                "append(reply)",
                "append({'tool': reply['tool']})",
                "it left ['the goal', {'tool': 'depth_of'}",
            ),
            Wrong(
                "    history.append(reply)\n", "    history = [*history, reply]\n", "it left the goal, not"
            ),
        ),
    ),
    SmallTask(
        name="01 loop",
        ours=by_hand.simple_loop,
        cases=(
            run(
                "How deep is Lake Ohrid?",
                TOOLS,
                [ask("depth_of", lake="Ohrid"), _depth],
                max_steps=4,
                hint="The model answers with what it reads: the goal and the last result",
            ),
            run("Hello!", TOOLS, [answer("Hello.")], max_steps=1, hint="An answer to the first call counts"),
            run(
                "From Ohrid to Baikal?",
                TOOLS,
                [LOST, ask("way", start="Ohrid", end="Baikal"), _way],
                max_steps=3,
                hint="A step for each reply, whichever tool it asks for",
            ),
            run("How deep is Atlantis?", TOOLS, [LOST], for_ever=True, max_steps=3),
            run("How deep is it?", TOOLS, [LOST], for_ever=True, hint="Without a number the limit is 10"),
        ),
        wrong=(
            Wrong("max_steps + 1", "max_steps", "model calls: 0, not 1"),
            Wrong(
                "            history.append(reply)\n",
                "",
                '"history" is user, request, result, not user, request, result, answer',
            ),
            Wrong('"answer": None', '"answer": reply', '"answer" is {'),
            Wrong(
                "record(history, reply, act(tools, reply))",
                "history.append(act(tools, reply))",
                "call 2 of the model read",
            ),
            Wrong(
                "record(history, reply, act(tools, reply))",
                "record(history, reply, act(tools, reply) and None)",
                "None metres",
            ),
            Wrong('"text": goal', '"text": ""', '"answer" is " 288 metres", not'),
            Wrong('"steps": step,', '"steps": len(history),', '"steps" is 4, not 2'),
            Wrong("act(tools, reply)", 'tools["depth_of"](**reply["input"])', "for 'From Ohrid to Baikal?'"),
        ),
    ),
)
