"""The tasks of lesson 01: the loop in four bites."""

from typing import Any

from agentlib.course.quick_checks.task import SmallTask, Wrong, call, run
from agentlib.labs import by_hand
from agentlib.messages import answer, ask, ask_together

DEPTHS = {"Baikal": 1642, "Ohrid": 288}


def depth_of(lake: str) -> int:
    """Tell how deep one lake is, in metres."""
    if lake not in DEPTHS:
        raise LookupError(f'No lake "{lake}" on this map.')
    return DEPTHS[lake]


TOOLS = {"depth_of": depth_of}
LOST = ask("depth_of", lake="Atlantis")


def _words(result: Any) -> Any:
    """Whether a result, a text or a dict of texts, holds the failure's own words; any other as it is."""
    texts = result.values() if isinstance(result, dict) else [result]
    told = any(isinstance(text, str) and 'No lake "Atlantis" on this map.' in text for text in texts)
    return "a result with the error's own words" if told else result


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
    return f"result {entry['result']!r}" if "result" in entry else entry.get("tool", entry)


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
                LOST,
                look=_words,
                said="for a tool that raises",
                hint="Catch the exception, and put `str(problem)` into what you give back",
            ),
        ),
        wrong=(
            Wrong("(**reply", "(reply", "for a tool that works, it gave {"),
            Wrong(
                '{"error": str(problem)}',
                '{"error": "failed"}',
                "it gave {'error': 'failed'}, not \"a result with the error's own words\"",
            ),
            Wrong("except Exception", "except ValueError", "it raised LookupError"),
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
        ),
    ),
    SmallTask(
        name="01 loop",
        ours=by_hand.simple_loop,
        cases=(
            run(
                "How deep is Lake Ohrid?",
                TOOLS,
                [ask("depth_of", lake="Ohrid"), answer("288 metres")],
                max_steps=4,
            ),
            run("Hello!", TOOLS, [answer("Hello.")], max_steps=1, hint="An answer to the first call counts"),
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
        ),
    ),
)
