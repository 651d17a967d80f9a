"""Blue mugs: two warehouses, one tool, and a model that misspells a name at first and mends it.

What must come out: 4 model calls, 3 tool runs, 1 error, 8 history entries, answered.
"""

import re

from agentlib.messages import Entry, answer, ask
from agentlib.models import ScriptedModel

__all__ = ["GOAL", "SCRIPT", "STOCK", "TOOLS", "model", "names_north_first", "stock_level"]

GOAL = "Which warehouse has more blue mugs?"
STOCK = {"north": 140, "south": 95}


def stock_level(warehouse: str) -> Entry:
    """Count the blue mugs in one warehouse, "north" or "south"."""
    if warehouse in STOCK:
        return {"warehouse": warehouse, "blue_mugs": STOCK[warehouse]}
    problem = f'Unknown warehouse "{warehouse}". Use "north" or "south".'
    raise ValueError(problem)


TOOLS = {"stock_level": stock_level}

SCRIPT = (
    ask("stock_level", warehouse="North"),
    ask("stock_level", warehouse="north"),
    ask("stock_level", warehouse="south"),
    answer("North has more blue mugs: 140 against 95."),
)


def names_north_first(text: str) -> bool:
    """Tell whether the first warehouse that an answer names is the right one."""
    return re.findall("north|south", text.lower())[:1] == ["north"]


def model() -> ScriptedModel:
    """Make a fresh model for one run."""
    return ScriptedModel(SCRIPT)
