"""The requests of a run as providers get them: in OpenAI's shape and in Anthropic's."""

import json
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from agentlib.messages import Entry, describe, json_text
from agentlib.providers import anthropic, openai
from agentlib.tools import Tool
from agentlib.trace import Trace
from agentlib.views.describe import counted, visible
from agentlib.views.shown import Shown, TableCell, joined_html, table

__all__ = ["MAX_WIRE_STEPS", "wire", "wire_table"]

MAX_WIRE_STEPS = 50
"""The player shows the requests of a run of at most so many: each is made from its whole history."""

ITEM_CHARS = 4_000
"""A longer message is cut where it is shown."""

MODEL = "(the name of the model)"
NOT_KEPT = "(this trace keeps the tool's name alone; its description and its arguments go here)"

CACHED, NEW, READ_ANEW = "cached", "new", "read anew"


def wire(trace: Trace, tools: Any = None) -> list[dict[str, Any]]:
    """Give the request of each step as OpenAI's Chat Completions and Anthropic's Messages would get it.

    tools: as for `run_agent`; None = as far as the trace knows them.
    Each distinct message stands there once; a step says which of them it sends, how many at the beginning are
    those of the request before, which a cache would read, and which are new.
    Raises ValueError for a tool that a provider does not take.
    """
    offered = _tools_of(trace) if tools is None else tools
    shapes = (("OpenAI Chat Completions", openai), ("Anthropic Messages", anthropic))
    return [_Shape(name, module.model(None, MODEL, offered)).of(trace) for name, module in shapes]


def _tools_of(trace: Trace) -> list[Tool]:
    """Make the tools of a run anew, as far as a model sees them."""
    known: Entry = trace.about.get("offered") or {}
    unknown = {"description": NOT_KEPT, "schema": {"type": "object", "properties": {}}}
    return [Tool(name, _runs_nowhere, **known.get(name, unknown)) for name in trace.about.get("tools", ())]


def _runs_nowhere(**_: Any) -> None:
    """Stand in for a function of which only the description is needed."""


class _Shape:
    """The requests of one run in the shape of one API. model: a model function of its adapter."""

    def __init__(self, name: str, model: Any) -> None:
        self.name, self.model = name, model
        self.items: list[str] = []
        self.chars: list[int] = []
        self.known: dict[str, int] = {}

    def of(self, trace: Trace) -> dict[str, Any]:
        """Go through the calls of a run; keep each distinct message once."""
        asks = [event for event in trace.events if event.kind == "ask"]
        steps: list[dict[str, Any]] = []
        messages: list[Entry] = []
        before: list[int] = []
        closing_before = False
        for event, history in zip(asks, trace.histories(), strict=True):
            closing = event.text == "closing"
            odd = next((place for place, entry in enumerate(history, 1) if not isinstance(entry, dict)), 0)
            if odd:
                problem = f"No provider takes this history: entry {odd} is {describe(history[odd - 1])}."
                steps.append({"parts": [], "cached": 0, "new": [], "problem": problem})
                continue
            last, messages = messages, self.model.body(history, offer_tools=not closing)["messages"]
            same = _same_start(last, messages)
            sent = [*before[:same], *map(self.number, messages[same:])]
            held = set(before)
            new = [place for place, number in enumerate(sent[same:], start=same) if number not in held]
            # Tools stand before the messages; where they change, no cache fits any more.
            cached = same if closing == closing_before else 0
            steps.append({"parts": _parts(sent), "cached": cached, "new": new})
            if closing:
                steps[-1]["no_tools"] = True
            before, closing_before = sent, closing
        head = self.model.body([])
        del head["messages"]
        return {
            "name": self.name,
            "head": _indented(head),
            "field": "messages",
            "items": self.items,
            "chars": self.chars,
            "steps": steps,
        }

    def number(self, message: Entry) -> int:
        """Give the number of a message among the distinct ones, from 0."""
        whole = json_text(message)
        if whole not in self.known:
            self.known[whole] = len(self.items)
            self.items.append(_indented(message))
            self.chars.append(len(whole))
        return self.known[whole]


def _same_start(before: Sequence[Entry], sent: Sequence[Entry]) -> int:
    pairs = zip(before, sent, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _parts(numbers: Sequence[int]) -> list[list[int]]:
    """Write numbers as runs, each from a number up to one that is not in it."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][1] == number:
            parts[-1][1] += 1
        else:
            parts.append([number, number + 1])
    return parts


def _indented(value: Entry) -> str:
    text = visible(json.dumps(value, indent=1, ensure_ascii=False))
    if len(text) <= ITEM_CHARS:
        return text
    return f"{text[:ITEM_CHARS]}\n... (cut; {len(text):,} characters in all)"


def request_places(step: dict[str, Any]) -> list[int]:
    """List the numbers of the messages that a step sends, in order."""
    return [number for start, end in step["parts"] for number in range(start, end)]


def wire_table(trace: Trace, tools: Any = None) -> Shown:
    """Show the requests of a run as tables, one for each API: every message, and whether it is new."""
    shown = [_table(shape) for shape in wire(trace, tools)]
    return Shown(joined_html(*(one.html for one in shown)), "\n\n".join(one.text for one in shown))


def _table(shape: dict[str, Any]) -> Shown:
    rows: list[list[TableCell | str]] = []
    for number, step in enumerate(shape["steps"], start=1):
        new = set(step["new"])
        if "problem" in step:
            rows.append([TableCell(str(number), number=True), "-", "-", step["problem"]])
        for place, item in enumerate(request_places(step)):
            state = CACHED if place < step["cached"] else NEW if place in new else READ_ANEW
            message = " ".join(line.strip() for line in shape["items"][item].splitlines())
            rows.append([TableCell(str(number), number=True), str(place + 1), state, message])
    title = (
        f"As {shape['name']} gets it: {counted(len(shape['steps']), 'request')}. "
        f'Beside "{shape["field"]}" each holds: '
        + " ".join(line.strip() for line in shape["head"].splitlines())
    )
    return table(title, ("step", "message", "for a cache", "as it is sent"), rows)
