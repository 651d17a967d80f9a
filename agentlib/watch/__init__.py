"""Watches any agent loop, a learner's own included: which line ran, what the model read, what the tools did.

The loop needs no change. It gets a model and tools that note each call and pass it on, and Python itself
says which line of it is about to run.
"""

from collections.abc import Callable
from typing import Any

from agentlib.messages import describe, json_ready
from agentlib.plain import whole_number
from agentlib.trace import Trace
from agentlib.watch.function import WatchedFunction
from agentlib.watch.lines import LoopEnded
from agentlib.watch.recorder import Recorder

__all__ = ["LoopEnded", "watch"]


def watch(
    run_agent: Callable[..., Any],
    model: Callable[..., Any],
    tools: Any,
    goal: Any,
    *,
    most_calls: int | None = None,
    most_lines: int = 20_000,
    **options: Any,
) -> Trace:
    """Run `run_agent(model, tools, goal, **options)`, whoever wrote it, and give back what happened.

    tools: a mapping or a list of functions or `Tool`s; the loop gets the same kind.
    options: what else the loop takes, such as max_steps; passed on as they are.
    most_calls: a loop that asks the model more often is ended. None = 200, or one more than max_steps if
    that is more, so that a loop which keeps its own limit never meets this one; 10,000 at most.
    most_lines: a loop that runs more lines and does not ask the model in between is ended; the functions
    that it calls may run 50 times as many. Lines are counted, not timed, so that the same loop gives the
    same trace. One call into C code that never comes back, such as `sum(itertools.count())`, has no lines
    and cannot be ended.

    However the loop ends, there is a trace. An interrupt by a person (KeyboardInterrupt) ends it too and
    is not raised again: whoever interrupts a loop wants to see where it was.
    Raises TypeError or ValueError, before anything runs, for what cannot be watched.
    """
    for name, given in (("run_agent", run_agent), ("model", model)):
        if not callable(given):
            raise TypeError(f"{name} is a function, but was {describe(given)}.")
    loop = WatchedFunction(run_agent, options)
    if most_calls is None:
        needed = loop.max_steps + 1 if type(loop.max_steps) is int else 0
        most_calls = min(max(200, needed), 10_000)
    recorder = Recorder(
        loop, goal, whole_number("most_calls", most_calls), whole_number("most_lines", most_lines)
    )
    recorder.run(recorder.watched_model(model), recorder.watched_tools(tools))
    about = {
        "made_by": "watch", "goal": goal, "max_steps": loop.max_steps, "tools": recorder.tool_names,
        "function": loop.name, "source": loop.source, "first_line": loop.first_line,
    }  # fmt: skip
    return Trace(tuple(recorder.events), json_ready(about)[0])
