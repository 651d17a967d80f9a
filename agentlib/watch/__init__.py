"""Watches any agent loop, a learner's own included: which line ran, what the model read, what the tools did.

The loop needs no change. It gets a model and tools that note each call and pass it on, and Python itself
says which line of it is about to run.
"""

from agentlib.errors import ForkError
from agentlib.watch.lines import LoopEnded
from agentlib.watch.recorder import watch
from agentlib.watch.what_if import fork

__all__ = ["ForkError", "LoopEnded", "fork", "watch"]
