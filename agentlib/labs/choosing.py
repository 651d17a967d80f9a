"""Choosing: one question, two tools, and a model that goes by their descriptions and by the system message.

What must come out: with the description "Look things up." the model asks the web; with one that says what the
tool is for, it asks the tool. With a system message that forbids the web it asks the tool too.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from agentlib.messages import Entry, ModelFunction, answer, ask
from agentlib.tools import read_tools

__all__ = ["GOAL", "HOURS", "argument_types", "chooser", "opening_hours", "search_web", "vague_hours"]

GOAL = "When are the opening hours of the museum?"

HOURS = "10 to 18, Thursdays to 21"


def opening_hours(place: str) -> str:
    """Tell when a place is open: its opening hours."""
    return f"The {place} is open from {HOURS}."


def vague_hours(place: str) -> str:
    """Look things up."""
    return opening_hours(place)


def search_web(query: str) -> str:
    """Search the web for a question: when, where, who."""
    return "1,250,000 pages found."


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))


def chooser(tools: Any, system: str = "") -> ModelFunction:
    """Make a model that is shown these tools and this system message, as a provider shows them.

    It asks the tool whose description shares the most words with the goal, but none that the system message
    forbids with the words "Do not use NAME", and then answers with what it was given.
    """
    shown = read_tools(tools)
    allowed = {name: one for name, one in shown.items() if f"Do not use {name}" not in system}

    def choose(history: list[Entry]) -> Entry:
        result = history[-1].get("result")
        if result is not None:
            return answer(str(result))
        goal = _words(str(history[0]["text"]))
        name = max(allowed, key=lambda one: len(goal & _words(allowed[one].description)))
        inputs: Mapping[str, str] = {"opening_hours": "place", "search_web": "query"}
        return ask(name, **{inputs[name]: "museum"})

    return choose


def argument_types(tool: Callable[..., Any]) -> dict[str, Any]:
    """List the arguments of a tool with the types that stand in its first line."""
    types = inspect.get_annotations(tool)
    return {name: kind for name, kind in types.items() if name != "return"}
