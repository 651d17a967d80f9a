"""Chat: what a provider sends for the blue mugs, in the shape of OpenAI's Chat Completions.

What must come out: the first message asks for both warehouses at once, the second answers; a loop that
answers every request by its id takes 2 steps.
"""

from collections.abc import Callable
from typing import Any

from agentlib.messages import Entry

__all__ = ["MESSAGES", "sends"]


def _call(name: str, arguments: str) -> Entry:
    return {"id": name, "type": "function", "function": {"name": "stock_level", "arguments": arguments}}


MESSAGES: list[Entry] = [
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [_call("call_a", '{"warehouse": "north"}'), _call("call_b", '{"warehouse": "south"}')],
    },
    {"role": "assistant", "content": "North has more blue mugs: 140 against 95."},
]
"""Two messages of a model, as they come."""


def sends() -> Callable[[Any], Entry]:
    """Make a function that stands for the call over the network: it gives one message after the other."""
    coming = iter(MESSAGES)
    return lambda history: next(coming)
