"""Watches the run in which a part of a check was not met: the same function, model, tools and data again."""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial, wraps
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import agentlib.errors
from agentlib.course.checking.report import CriterionResult
from agentlib.course.checking.simulator import MAX_CALLS, Simulator
from agentlib.course.checking.spec import Exercise, Scenario
from agentlib.course.running.runner import TOO_LONG, TOO_OFTEN, Counter, PlayedFunctions, RunEnded, TimeLimit
from agentlib.messages import json_text, short
from agentlib.trace import Trace
from agentlib.views.tracer import Tracer
from agentlib.views.tracer.timeline import timeline
from agentlib.watch import watch

__all__ = ["RunWatcher"]

PACKAGE_DIR = str(Path(agentlib.errors.__file__).parent)
PYTHON_DIR = str(Path(contextlib.__file__).parent)


@dataclass(frozen=True)
class RunWatcher:
    """Makes the runs of one check anew. functions: the learner's, by name. seed: of the data."""

    exercise: Exercise
    functions: Mapping[str, Callable[..., Any]]
    seed: int

    def trace(self, scenario: str) -> Trace:
        """Watch one scenario of this check, under the limits that it had there."""
        made = self.exercise.scenarios(Random(f"{self.exercise.name} {self.seed}"))[scenario]
        return _watched(made, self.functions[made.function])

    def tracer(self, result: CriterionResult) -> Tracer:
        """Show the run in which a part was not met, at the frame where that can be seen."""
        trace = self.trace(result.scenario)
        wanted = f"{result.wanted}. Seen: {result.seen}"
        return Tracer({"": trace}, start=_start(timeline(trace), result), wanted=wanted)


def _start(played: dict[str, Any], result: CriterionResult) -> int:
    """Give the number of the frame where the fault can be seen."""
    shown = list(enumerate(played["frames"], start=1))
    read = [number for number, frame in shown if frame["step"] == result.seen_at > 0]
    after = [number for number, frame in shown if frame["step"] == result.seen_after > 0]
    crashed = [number for number, frame in shown if frame.get("error")]
    return (read[:1] or after[-1:] or crashed[:1] or [len(shown)])[0]


class _WatchLimit(TimeLimit):
    """Ends the learner's code and never the recorder's, nor what that calls: it has the record to finish."""

    def may_raise_at(self, frame: FrameType | None) -> bool:
        """Whether the innermost code on the stack that is not Python's own is the learner's."""
        if not super().may_raise_at(frame):
            return False
        while frame is not None and not frame.f_code.co_filename.startswith(PACKAGE_DIR):
            if not frame.f_code.co_filename.startswith(PYTHON_DIR):
                return True
            frame = frame.f_back
        return False


def _watched(scenario: Scenario, function: Callable[..., Any]) -> Trace:
    """Watch one call of the learner's function. What it prints is not shown, as in a check."""
    simulator, limit = Simulator(scenario), _WatchLimit(scenario.seconds)
    played = PlayedFunctions(simulator.called, limit)
    request = simulator.request()
    args = [played.inside(value) for value in request["args"]]
    kwargs = {name: played.inside(value) for name, value in request["kwargs"].items()}
    if is_loop(scenario):
        loop, (model, tools, goal) = function, args
    else:
        loop, model, tools, goal = _called_alone(function, args, kwargs), _no_model, {}, ""
        kwargs = {}
    # One more than the simulator allows, so that it is the one that ends the run, at the same call.
    max_calls = scenario.max_calls.get("model", MAX_CALLS) + 2
    with contextlib.redirect_stdout(Counter()):
        try:
            trace: Trace = limit.run(partial(watch, loop, model, tools, goal, max_calls=max_calls, **kwargs))
        except RunEnded:  # in a thread, it may come a moment too late
            raise TimeoutError(f"after {scenario.seconds:g} seconds there was no record of the run") from None
    if not is_loop(scenario):
        trace = replace(trace, about={**trace.about, "call": _call_words(scenario)})
    return _in_words(trace, played.ended or TOO_LONG, scenario.seconds)


def is_loop(scenario: Scenario) -> bool:
    """Whether a scenario calls an agent loop: with a model, tools and a goal."""
    args = scenario.args
    return len(args) == 3 and callable(args[0]) and isinstance(args[1], dict)


def _call_words(scenario: Scenario) -> str:
    """Write the call of a function that is no loop, as a learner would."""
    given = ["..." if callable(value) else short(json_text(value), 60) for value in scenario.args]
    given += [f"{name}={short(json_text(value), 60)}" for name, value in scenario.kwargs.items()]
    return f"{scenario.function}({', '.join(given)})"


def _called_alone(
    function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]
) -> Callable[..., Any]:
    """Give a function that is no loop the shape of one, so that its lines can be watched."""

    @wraps(function)
    def alone(model: Any, tools: Any, goal: Any) -> Any:
        return function(*args, **kwargs)

    return alone


def _no_model(history: Any) -> Any:
    raise AssertionError("a function that is no loop gets no model")


def _in_words(trace: Trace, reason: str, seconds: float) -> Trace:
    """Say of a run that was ended from outside why, in the place of the exception that ended it."""
    if not trace.detail.startswith(RunEnded.__name__):
        return trace
    words = {
        TOO_LONG: f"after {seconds:g} seconds it was still running",
        TOO_OFTEN: "the model, or a tool, was called more often than this run needs",
    }
    end = trace.events[-1]._replace(
        text=reason, entry={"answer": None, "detail": words[reason], "returned": None}
    )
    kept = tuple(event for event in trace.events[:-1] if event.kind != "crash")
    return replace(trace, events=(*kept, end))
