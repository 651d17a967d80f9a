"""What the model and the tools saw in one run, as rows of a table."""

from dataclasses import dataclass
from typing import Any

from agentlib.course.checking.evidence import shortened
from agentlib.course.checking.spec import Called, Log
from agentlib.messages import calls_in, is_reply, json_text
from agentlib.views.describe import call_words, counted, full_call, sketch

__all__ = ["HEADS", "Saw", "saw_in"]

HEADS = ("call of", "what it was given", "what it gave")
"""The heads of the table."""

FIRST_ROWS, LAST_ROWS = 8, 4
"""So many rows of a long run are kept."""


@dataclass(frozen=True)
class Saw:
    """One call of the model or of a tool by the learner's function.

    who: "model, call 2", or the tool. given, gave: in a few words.
    """

    who: str
    given: str
    gave: str


def saw_in(log: Log) -> tuple[Saw, ...]:
    """Tell what was seen in a run, call by call; the middle of a long one is left out."""
    rows, asked = [], 0
    for called in log.calls:
        asked += called.name == "model"
        rows.append((called, asked))
    left_out = len(rows) - FIRST_ROWS - LAST_ROWS
    if left_out <= 0:
        return tuple(_row(log, *row) for row in rows)
    middle = Saw("...", f"{counted(left_out, 'call')} more", "...")
    first, last = rows[:FIRST_ROWS], rows[-LAST_ROWS:]
    return (*(_row(log, *row) for row in first), middle, *(_row(log, *row) for row in last))


def _row(log: Log, called: Called, asked: int) -> Saw:
    who = f"model, call {asked}" if called.name == "model" else called.tool or called.name
    return Saw(
        who, _given(called) if log.scenario.keep else "(not kept: the run is long)", _gave(called.answer)
    )


def _given(called: Called) -> str:
    if called.name == "model" and len(called.args) == 1 and isinstance(called.args[0], list):
        history = called.args[0]
        return f"{counted(len(history), 'entry', 'entries')}: {sketch(history)}"
    if called.tool and not called.args:
        return shortened(full_call(called.tool, called.kwargs))
    return shortened(json_text([*called.args, *([called.kwargs] if called.kwargs else [])]))


def _gave(answer: dict[str, Any]) -> str:
    if "raises" in answer:
        error = answer["raises"]
        return shortened(f"raised {error['type']}: {error['message']}")
    if "interrupt" in answer:
        return "a person pressed Ctrl-C here"
    if "end" in answer:
        return "the run was ended here: it was called too often"
    gave = answer["gave"]
    if is_reply(gave):
        asked = [call_words(call) for call in calls_in(gave)]
        return (
            f"requests {shortened(', '.join(asked))}" if asked else f"answers {shortened(gave.get('text'))}"
        )
    return shortened(json_text(gave))
