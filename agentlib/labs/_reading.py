"""How the rule-following models of the labs read a history, whichever loop wrote it."""

from typing import Any, NamedTuple

from agentlib.messages import Entry, calls_in, error_text

__all__ = ["Exchange", "exchanges", "last_note", "result_words"]


class Exchange(NamedTuple):
    """One request and the result that answers it."""

    tool: str
    input: Entry
    result: Any


def exchanges(history: list[Entry]) -> list[Exchange]:
    """Pair each request in the history with its result, in order.

    Results follow their requests in the same order, so no ids are needed: a hand-written loop may leave
    them out. A request without a result, and a result without a request, are passed over.
    """
    done: list[Exchange] = []
    waiting: list[Entry] = []
    for entry in history:
        if "result" in entry:
            if waiting:
                call = waiting.pop(0)
                done.append(Exchange(call["tool"], call["input"], entry["result"]))
        else:
            waiting = calls_in(entry)
    return done


def last_note(history: list[Entry]) -> str:
    """Give the note that the loop has put at the end for the model to read, or "" if there is none."""
    last = history[-1]
    return str(last.get("text", "")) if len(history) > 1 and last.get("role") == "user" else ""


def result_words(result: object) -> str:
    """Give a result as words: a failure's message, whatever shape the loop gave it, or the result itself."""
    problem = error_text(result)
    return str(result) if problem is None else problem
