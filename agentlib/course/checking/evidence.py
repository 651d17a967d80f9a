"""What the criteria find in a log: which entry is what, what a result holds, how a run ended."""

import json
import re
from collections.abc import Sequence
from typing import Any

from agentlib.course.checking.simulator import TOO_LONG, TOO_OFTEN
from agentlib.course.checking.spec import Fault, Log
from agentlib.messages import Entry, call_key, calls_in, is_result, json_text, short
from agentlib.views.describe import full_call, times

__all__ = [
    "REASONS", "crash", "holds", "is_request", "is_result", "position", "request_words", "requests_in",
    "results_in", "same_call", "shortened", "shown", "what_came_back", "wrong_end",
]  # fmt: skip


def requests_in(history: Sequence[Any]) -> list[Entry]:
    """List the tool requests that a history holds, in order."""
    return [call for entry in history for call in calls_in(entry)]


def is_request(entry: Any) -> bool:
    """Whether a history entry is a reply that asks for tools."""
    return bool(calls_in(entry))


def results_in(history: Sequence[Any]) -> list[Any]:
    """List the results that a history holds, in order; None where an entry has none."""
    return [entry.get("result") for entry in history if is_result(entry)]


def same_call(call: Any, tool: str, input: Any) -> bool:
    """Whether a request asks for this tool with this input, in any order of keys."""
    return (
        isinstance(call, dict)
        and call.get("tool") == tool
        and call_key(tool, call.get("input")) == call_key(tool, input)
    )


def position(history: Sequence[Any], tool: str, input: Any) -> int:
    """Where in the history the last request for this tool with this input stands; -1 = nowhere."""
    for index in range(len(history) - 1, -1, -1):
        if any(same_call(call, tool, input) for call in calls_in(history[index])):
            return index
    return -1


def _as_text(value: Any) -> str:
    """Write a value as text in which its parts can be found."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def holds(result: Any, wanted: Any) -> bool:
    """Whether a recorded result is, or has in it, what the tool gave; as text or inside a dict counts too."""
    if result == wanted and isinstance(result, bool) == isinstance(wanted, bool):
        return True
    if wanted is None or isinstance(wanted, bool) or wanted == "":
        if isinstance(result, dict):
            return any(holds(value, wanted) for value in result.values())
        return result in (str(wanted), json_text(wanted))
    if isinstance(wanted, (dict, list)):
        text = _as_text(result)
        return result not in (None, "", [], {}) and all(
            piece in text
            for leaf in _leaves(wanted)
            for piece in [leaf if isinstance(leaf, str) else json_text(leaf)]
        )
    return _holds_scalar(_as_text(result), wanted)


def _holds_scalar(text: str, wanted: Any) -> bool:
    if isinstance(wanted, str):
        return wanted in text or json.dumps(wanted, ensure_ascii=False)[1:-1] in text
    return re.search(rf"(?<![\d.]){re.escape(json_text(wanted))}(?![\d.])", text) is not None


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in _leaves(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


REASONS = ("answered", "step limit", "repeated call", "budget limit")
"""The reasons to stop that exercises know."""


# --- in a report


def shortened(text: object) -> str:
    """Cut a text, or any value as Python prints it, to what fits into a report."""
    return short(text, 100)


def shown(value: Any) -> str:
    """Write a value as JSON, cut to what fits into a report."""
    return shortened(json_text(value))


def request_words(request: Entry) -> str:
    """Write a request as the call that it asks for: `stock_level(place="Nord")`."""
    return full_call(request["tool"], request["input"])


def what_came_back(log: Log) -> str:
    """Write what the learner's function returned; null if it returned nothing or did not return."""
    return shown(log.outcome.get("returned"))


# --- how a run ended, when it did not return


def crash(log: Log) -> Fault | None:
    """Give a fault if the function did not come back by itself."""
    outcome = log.outcome
    asked = len(log.asks)
    if "raised" in outcome:
        error = outcome["raised"]
        return Fault(_error_words(error), error.get("hint") or _error_hint(error))
    if outcome.get("ended") == TOO_OFTEN:
        if any(not call.tool for call in log.calls):
            return Fault(
                f"the model was asked {times(asked - 1)}, and then once more; the run was ended from outside",
                "Which line makes your loop stop? Under which condition is it reached?",
            )
        return Fault("a tool was called over and over; the run was ended from outside")
    if outcome.get("ended") == TOO_LONG:
        return Fault(
            f"after {outcome.get('seconds', log.scenario.seconds):g} seconds the function was still running; "
            f"by then it had asked the model {times(asked)}",
            "Something goes round without asking the model. Which loop of yours never gets to its end?",
        )
    if "interrupted" in outcome:
        return Fault("an interrupt left the function")
    return None


ERROR_HINTS = (
    (
        "unhashable type",
        "A dict or a list can be no key, and stands in no set. Make a text of it first, such as "
        "`json.dumps(value, sort_keys=True)`.",
    ),
    (
        "KeyError",
        "That dict has no such key. Which keys has it got at this line? `print(list(...))` shows them.",
    ),
    ("'NoneType'", "Something there is None. Which function gave it, and does each way out of it `return`?"),
    ("IndexError", "The list is shorter than that. How long is it at the first call, and at the last?"),
    ("UnboundLocalError", "No line had given that name a value. Is the line that does always reached?"),
)
"""Words of an error, and what to ask somebody who reads it for the first time."""


def _error_hint(error: Entry) -> str:
    words = f"{error['type']}: {error['message']}"
    hints = (hint for said, hint in ERROR_HINTS if said in words)
    return next(hints, "Read the line that is shown. Which value did you expect there?")


def _error_words(error: Entry) -> str:
    where = f", in {error['place']}" if error.get("place") else ""
    where += f", line {error['line']}" if error.get("line") else ""
    code = f": `{error['code']}`" if error.get("code") else ""
    message = f": {error['message']}" if error["message"] else ""
    return f"{error['type']}{message}{where}{code}"


def wrong_end(log: Log, answer: str | None, steps: int, stopped: str) -> Fault | None:
    """Give a fault if what came back is not a dict with this answer, this number of steps and this reason."""
    outcome = log.outcome
    if "returned" not in outcome:
        return crash(log)
    value = outcome["returned"]
    if not isinstance(value, dict):
        got = "nothing" if value is None else f"{shortened(value)} ({outcome['type']})"
        return Fault(
            f"it returned {got}",
            'What comes back is one dict with three keys: "answer", "steps", "stopped".'
            if value is not None
            else "Does every way out of your function pass a `return` with the dict?",
        )
    missing = [key for key in ("answer", "steps", "stopped") if key not in value]
    if missing:
        return Fault(
            f"the dict that came back has no {' and no '.join(map(repr, missing))}: {shortened(value)}"
        )
    if value["stopped"] != stopped:
        return Fault(
            f'"stopped" was {json_text(value["stopped"])}, not {json_text(stopped)}',
            f'"{value["stopped"]}" is the reason of another ending. Which line gave it, and when?'
            if value["stopped"] in REASONS
            else f'The reason is one of the words in the task, letter by letter: here "{stopped}".',
        )
    if value["answer"] != answer:
        if answer is None:
            return Fault(
                f'there was no answer from the model, but "answer" was {shown(value["answer"])}',
                'The model gave no answer. Which value says "there is none"? Nothing may be made up.',
            )
        return Fault(
            f'"answer" was {shown(value["answer"])}, not the text of the model\'s answer',
            'The answer is the text in `reply["text"]`, alone and unchanged.',
        )
    if value["steps"] != steps or type(value["steps"]) is not int:
        return Fault(
            f'the model was asked {times(steps)}, but "steps" was {json_text(value["steps"])}',
            "`steps` counts how often the model was asked, the last time included. Where do you count?",
        )
    return None
