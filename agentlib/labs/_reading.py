"""How the rule-following models of the labs read a history, whichever loop wrote it."""

from agentlib.messages import Entry, error_text

__all__ = ["last_note", "result_words"]


def last_note(history: list[Entry]) -> str:
    """Give the note that the loop has put at the end for the model to read, or "" if there is none."""
    last = history[-1]
    return str(last.get("text", "")) if len(history) > 1 and last.get("role") == "user" else ""


def result_words(result: object) -> str:
    """Give a result as words: a failure's message, whatever shape the loop gave it, or the result itself."""
    problem = error_text(result)
    return str(result) if problem is None else problem
