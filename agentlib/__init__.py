"""agentlib: the agent loop on one screen, and what it takes to watch it, check it and use it.

An agent is a loop: ask the model, check the reply, act, record; and stop for the right reason.
Start with `agentlib/loop.py`, or with notebooks/00_start_here.ipynb.
"""

from agentlib import errors, stops
from agentlib._run import Run
from agentlib.loop import replay, run_agent
from agentlib.messages import answer, ask, ask_together
from agentlib.models import ScriptedModel
from agentlib.tools import Tool, tool
from agentlib.trace import Event, Trace, compare

__all__ = [
    "Event",
    "Run",
    "ScriptedModel",
    "Tool",
    "Trace",
    "answer",
    "ask",
    "ask_together",
    "compare",
    "errors",
    "replay",
    "run_agent",
    "stops",
    "tool",
]
