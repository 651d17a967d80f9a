"""agentlib: the agent loop on one screen, and what it takes to watch it, check it and use it.

An agent is a loop: ask the model, check the reply, act, record; and stop for the right reason.
Start with `agentlib/loop.py`, or with notebooks/00_start_here.ipynb.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentlib import errors, stops
    from agentlib._approval import LATER
    from agentlib._run import Run
    from agentlib._writer import trace_writer
    from agentlib.loop import replay, resume, run_agent
    from agentlib.messages import answer, ask, ask_together
    from agentlib.models import ScriptedModel
    from agentlib.tools import Tool, tool
    from agentlib.trace import Event, Trace, compare

__all__ = [
    "LATER",
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
    "resume",
    "run_agent",
    "stops",
    "tool",
    "trace_writer",
]

# Each name is loaded when it is first asked for: every graded submission is a Python of its own that needs
# few of them, and to load them all takes longer than to run most notebooks.
_MODULE_OF = {
    "LATER": "_approval",
    "Event": "trace",
    "Run": "_run",
    "ScriptedModel": "models",
    "Tool": "tools",
    "Trace": "trace",
    "answer": "messages",
    "ask": "messages",
    "ask_together": "messages",
    "compare": "trace",
    "replay": "loop",
    "resume": "loop",
    "run_agent": "loop",
    "tool": "tools",
    "trace_writer": "_writer",
}


def __getattr__(name: str) -> Any:
    if name in ("errors", "stops"):
        return import_module(f"agentlib.{name}")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'agentlib' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"agentlib.{_MODULE_OF[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
