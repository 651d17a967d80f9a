"""Plays the model and the tools of one scenario for a learner's function, and keeps the log.

The function may live in this process or behind a pipe: all that crosses is ready for JSON.
"""

from collections.abc import Callable
from typing import Any, Protocol

from agentlib.course.checking.spec import Called, Log, Scenario
from agentlib.course.running.runner import CALL, TOO_LONG, TOO_OFTEN
from agentlib.messages import Entry, json_ready

__all__ = ["CALL", "TOO_LONG", "TOO_OFTEN", "Learner", "Simulator", "play"]

MAX_CALLS = 1_000
"""A played function that has no limit of its own may be called so often."""


class Learner(Protocol):
    """Where the learner's functions live."""

    def run(self, request: Entry, called: Callable[[str, list[Any], Entry], Entry], seconds: float) -> Entry:
        """Call one function and give its outcome.

        request: {"function", "args", "kwargs"}, with {"$call": NAME} for each played function.
        called: to be called with (NAME, args, kwargs) when the learner's code calls it; its answer is
        {"gave": value}, {"raises": {"type", "message"}}: raise that built-in error in the learner's code,
        {"interrupt": True}: raise KeyboardInterrupt there, or {"end": why}: end the learner's function.
        seconds: after so long the function is to be ended.
        The outcome: see `Log`.
        """


class Simulator:
    """Plays the model and the tools of one scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self.log = Log(scenario)
        self.ended = ""
        self._functions: dict[str, Callable[..., Any]] = {}
        self._counts: dict[str, int] = {}

    def request(self) -> Entry:
        """Say what is to be called, with a placeholder for each function that is played here."""
        scenario = self.log.scenario
        names = ["model", "tools"]  # the first two arguments of every agent loop
        return {
            "function": scenario.function,
            "args": [
                self._outside(value, names[i] if i < len(names) else f"argument {i + 1}")
                for i, value in enumerate(scenario.args)
            ],
            "kwargs": {name: self._outside(value, name) for name, value in scenario.kwargs.items()},
        }

    def _outside(self, value: Any, name: str) -> Any:
        if callable(value):
            self._functions[name] = value
            return {CALL: name}
        if isinstance(value, dict) and any(callable(item) for item in value.values()):
            return {key: self._outside(item, f"{name}.{key}") for key, item in value.items()}
        return json_ready(value)[0]

    def called(self, name: str, args: list[Any], kwargs: Entry) -> Entry:
        """Answer one call by the learner's code, and write it down."""
        if self.ended:
            return {"end": self.ended}
        answer = self._answer(name, args, kwargs)
        if not self.log.scenario.keep:
            args, kwargs = [], {}
        self.log.calls.append(Called(name, args, kwargs, answer))
        return answer

    def _answer(self, name: str, args: list[Any], kwargs: Entry) -> Entry:
        limits = self.log.scenario.max_calls
        group = name.split(".")[0]
        self._counts[group] = self._counts.get(group, 0) + 1
        if self._counts[group] > limits.get(group, MAX_CALLS):
            self.ended = TOO_OFTEN
            return {"end": self.ended}
        try:
            return {"gave": json_ready(self._functions[name](*args, **kwargs))[0]}
        except KeyboardInterrupt as interrupt:
            if interrupt.args != PLAYED:
                raise
            return {"interrupt": True}
        except Exception as problem:
            words = str(problem.args[0]) if len(problem.args) == 1 else str(problem)
            return {"raises": {"type": type(problem).__name__, "message": words}}


PLAYED = ("played",)
"""Marks an interrupt that a scenario plays, so that a person's own is never taken for it."""


def play(scenario: Scenario, learner: Learner) -> Log:
    """Play one scenario to its end and give the log."""
    simulator = Simulator(scenario)
    outcome = learner.run(simulator.request(), simulator.called, scenario.seconds)
    if simulator.ended:  # whatever the learner's code made of it
        outcome = {"ended": simulator.ended}
    simulator.log.outcome = outcome
    return simulator.log
