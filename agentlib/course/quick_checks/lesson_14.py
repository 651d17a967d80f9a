"""The tasks of lesson 14: failed calls, what is open, several at once, a sub-agent."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from agentlib.course.quick_checks.task import Made, Seen, SmallTask, Words, Wrong, call
from agentlib.loop import run_agent
from agentlib.messages import Entry, answer, ask, ask_together, user
from agentlib.models import ScriptedModel
from agentlib.views.describe import counted


def is_worth_another_try(status: int | None) -> bool:
    """Tell whether the same call may go well later. None: no response came."""
    return status is None or status == 429 or status >= 500


def ask_again(
    model: Callable[[list[Entry]], Any],
    history: list[Entry],
    attempts: int,
    sleep: Callable[[float], None],
) -> Any:
    """Ask up to so many times, and wait 1, 2, 4 ... seconds in between."""
    for attempt in range(attempts):
        try:
            return model(history)
        except ConnectionError:
            if attempt == attempts - 1:
                raise
            sleep(2**attempt)
    raise ValueError("attempts is a whole number from 1 up")


def open_requests(history: Sequence[Entry]) -> list[Entry]:
    """List the requests of a history that have no result."""
    done = [entry["id"] for entry in history if entry["role"] == "tool"]
    calls = [one for entry in history for one in entry.get("calls", [])]
    return [one for one in calls if one["id"] not in done]


def in_order(calls: Sequence[Entry], finished: Sequence[Entry]) -> list[Any]:
    """Put results into the order of the requests; None where one is missing."""
    by_id = {entry["id"]: entry["result"] for entry in finished}
    return [by_id.get(one["id"]) for one in calls]


def tool_seconds(events: Sequence[Entry]) -> dict[str, float]:
    """Give the seconds between the begin and the end of each tool call, by its id."""
    begun = {event["id"]: event["seconds"] for event in events if event["kind"] == "act"}
    return {
        event["id"]: event["seconds"] - begun[event["id"]] for event in events if event["kind"] == "result"
    }


def sub_agent(model: Callable[[list[Entry]], Any], tools: Any, question: str, spent: dict[str, int]) -> Any:
    """Let another loop answer a question, with a history of its own; an error says why there is no answer."""
    run = run_agent(model, tools, question, max_steps=3)
    spent["steps"] += run.steps
    if run.answer is None:
        return {"error": "no_answer", "message": str(run.stopped)}
    return run.answer


@dataclass(frozen=True)
class FailingCalls:
    """A model whose first calls fail: how often it is asked, how long is waited, and what comes of it."""

    failures: int
    attempts: int
    hint: str = ""
    error: type[Exception] = ConnectionError

    def __str__(self) -> str:
        failing = counted(self.failures, "call fails", "calls fail")
        return f"where {failing} ({self.error.__name__}), with attempts={self.attempts}"

    def play(self, mine: Any) -> Seen:
        """Ask again and again, with a clock that nobody waits for."""
        done: list[Any] = []

        def model(history: list[Entry]) -> Entry:
            done.append("ask")
            if done.count("ask") <= self.failures:
                raise self.error("busy")
            return answer(f"read {len(history)} entries")

        try:
            gave = mine(
                model,
                [user("goal"), user("note")],
                self.attempts,
                lambda seconds: done.append(f"wait {seconds:g} s"),
            )
        except NotImplementedError:
            raise
        except (ConnectionError, ValueError, RuntimeError) as problem:
            gave = Words(f"nothing: {type(problem).__name__} went on")
        return {"what was done:": done, "what came of it:": gave}


def _result(name: str, value: Any) -> Entry:
    return {"role": "tool", "id": name, "tool": "look_up", "result": {"days": value}}


def _asking(*names: str) -> Entry:
    calls = ask_together(*({**ask("look_up", order=f"31{name}"), "id": name} for name in names))
    return {"role": "model", **calls}


def _ids(value: Any) -> Any:
    return [Words(f"the call {one['id']}") for one in value]


def _event(kind: str, name: str, seconds: float) -> Entry:
    return {"kind": kind, "id": name, "seconds": seconds}


def _model(*replies: Entry) -> Made:
    return Made(lambda: ScriptedModel(replies))


def _names_the_reason(value: Any) -> Any:
    """Of an error what counts: that it is one, and the reason in its message."""
    if not isinstance(value, dict) or "error" not in value:
        return value
    said = str(value.get("message", value["error"]))
    return Words("an error that says: step limit" if "step limit" in said else f"an error that says: {said}")


REFUSED = "A request that was refused once is refused again."

TASKS = (
    SmallTask(
        name="14 worth another try",
        ours=is_worth_another_try,
        cases=(
            call(503, look=bool, hint="The server failed; it may be up again in a moment."),
            call(429, look=bool, hint="There were too many calls; later there are fewer."),
            call(400, look=bool, hint=REFUSED),
            call(401, look=bool, hint=REFUSED),
            call(500, look=bool, hint="500 itself is a failure of the server too."),
            call(529, look=bool, hint="All from 500 up say that the server failed."),
            call(404, look=bool, hint=REFUSED),
            call(499, look=bool, hint=REFUSED),
            call(None, look=bool, hint="No response came: nothing says that it was refused."),
        ),
        wrong=(
            Wrong("status is None or ", "", "for (None), it raised TypeError"),
            Wrong("status >= 500", "status > 500", "for (500), it gave False, not True"),
            Wrong("status == 429 or status >= 500", "status >= 400", "for (400), it gave True"),
        ),
    ),
    SmallTask(
        name="14 ask again",
        ours=ask_again,
        cases=(
            FailingCalls(
                3, 3, "After the last attempt nothing is waited for: the error goes on, by `raise`."
            ),
            FailingCalls(2, 3, "After a wait of 1 second, then 2, then 4, it is asked again."),
            FailingCalls(0, 3),
            FailingCalls(4, 5),
            FailingCalls(1, 1),
            FailingCalls(1, 3, "Only a ConnectionError is worth another try.", ValueError),
        ),
        wrong=(
            Wrong("            sleep(2 ** attempt)", "            sleep(attempt)", "wait 0 s"),
            Wrong(
                "            if attempt == attempts - 1:\n                raise\n",
                "            pass\n",
                "wait 4 s",
            ),
            Wrong("except ConnectionError", "except Exception", "(ValueError)"),
            Wrong("attempts - 1", "attempts", "wait 4 s"),
            Wrong(
                "                raise\n",
                '                return {"error": "busy"}\n',
                "the error goes on, by `raise`",
            ),
        ),
    ),
    SmallTask(
        name="14 open requests",
        ours=open_requests,
        cases=(
            call([user("goal"), _asking("21", "22")], look=_ids, said="where nothing was run"),
            call(
                [user("goal"), _asking("21", "22"), _result("22", 3)],
                look=_ids,
                said="where the second was run",
                hint="Which ids have a result?",
            ),
            call([user("goal"), _asking("21"), _result("21", None)], look=_ids, said="where all was run"),
            call(
                [user("goal"), _asking("21"), _result("21", 1), user("note"), _asking("22", "23")],
                look=_ids,
                said="where a later reply is open",
            ),
            call([user("goal")], look=_ids, said="where nothing was asked for"),
        ),
        wrong=(
            Wrong(
                "not in done",
                "in done",
                "where nothing was run, it gave nothing, not the call 21, the call 22",
            ),
            Wrong('entry.get("calls", [])', 'entry["calls"]', "it raised KeyError"),
            Wrong(
                "[call for call in calls if",
                '[call["id"] for call in calls if',
                "not the call 21, the call 22",
            ),
        ),
    ),
    SmallTask(
        name="14 in order",
        ours=in_order,
        cases=(
            call(
                _asking("a", "b")["calls"], [_result("b", 2), _result("a", 1)], said="where b is done first"
            ),
            call(
                _asking("a", "b")["calls"],
                [_result("b", 2)],
                said="where a is not finished",
                hint="Each request gets one result, here None.",
            ),
            call(
                _asking("b", "a")["calls"],
                [_result("a", 1), _result("b", 2)],
                said="where b was asked for first",
            ),
            call(
                _asking("a")["calls"],
                [{"role": "tool", "id": "a", "tool": "count", "result": 0}],
                said="where the result is 0",
                hint="0 is a result too; None stands for what is not finished.",
            ),
        ),
        wrong=(
            Wrong("for call in calls", "for call in finished", "where b is done first"),
            Wrong(
                'by_id.get(call["id"])', 'by_id[call["id"]]', "where a is not finished, it raised KeyError"
            ),
            Wrong('by_id.get(call["id"])', 'by_id.get(call["id"]) or None', "where the result is 0"),
        ),
    ),
    SmallTask(
        name="14 tool seconds",
        ours=tool_seconds,
        cases=(
            call([_event("act", "a", 1.0), _event("result", "a", 1.5)], said="for one call"),
            call(
                [
                    _event("act", "a", 1.0),
                    _event("act", "b", 1.5),
                    _event("reply", "", 1.75),
                    _event("result", "b", 2.0),
                    _event("result", "a", 4.0),
                ],
                said="for two at once",
                hint="Which end belongs to which begin? The id says it.",
            ),
            call([_event("act", "a", 1.0)], said="for a call that was not finished"),
        ),
        wrong=(
            Wrong(' - begun[event["id"]]', "", "for one call"),
            Wrong('begun[event["id"]]', "max(begun.values())", "for two at once"),
            Wrong('if event["kind"] == "result"', 'if event["kind"] != "act"', "it raised KeyError"),
        ),
    ),
    SmallTask(
        name="14 sub agent",
        ours=sub_agent,
        cases=(
            call(
                _model(ask("count"), answer("7 boxes")),
                {"count": lambda: 7},
                "How many?",
                {"steps": 4},
                said="where it answers",
            ),
            call(
                _model(ask("count"), ask("count"), ask("count"), answer("7")),
                {"count": lambda: 7},
                "How many?",
                {"steps": 4},
                look=_names_the_reason,
                said="where it does not answer in 3 steps",
                hint="What does the model that asked read, when there is no answer?",
            ),
            call(
                _model(ask("count"), answer("7 boxes")),
                {"count": lambda: 7},
                "How many?",
                {"steps": 4},
                changed=3,
                said="of spent, where 4 steps were spent before",
                hint="Its steps come on top.",
            ),
            call(
                _model(ask("count"), ask("count"), ask("count"), answer("7")),
                {"count": lambda: 7},
                "How many?",
                {"steps": 4},
                changed=3,
                said="of spent, where it does not answer",
                hint="Steps without an answer are spent, too.",
            ),
        ),
        wrong=(
            Wrong(
                "if run.answer is None",
                "if run.steps > 3",
                "it gave None, not an error that says: step limit",
            ),
            Wrong(
                '    spent["steps"] += run.steps\n    if',
                '    spent["steps"] += run.steps if run.answer else 0\n    if',
                "of spent, where it does not answer",
            ),
            Wrong("+= run.steps", "= run.steps", "of spent, where 4 steps were spent before"),
            Wrong("str(run.stopped)", '"failed"', "an error that says: failed"),
        ),
    ),
)
