"""Stand-ins for a language model: free, offline, and the same at every run.

A model is any function `model(history) -> reply`. Make a fresh one for each run: some of these count
their calls. One that asks another passes on what the loop says beside the history too (`ModelRequest`).
"""

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from agentlib.errors import ReplayError, ScriptExhausted
from agentlib.messages import Entry, InformedModel, ModelFunction, ModelRequest, ask, call_model

if TYPE_CHECKING:
    import random

__all__ = ["LoopingModel", "NoisyModel", "RecordingModel", "ReplayModel", "RuleModel", "ScriptedModel"]


class ScriptedModel(InformedModel):
    """Gives the replies of a script, one a call, whatever the history says.

    replies: in order. A fresh model that a run goes on with (see `agentlib.resume`) begins behind the replies
    that the run has had.
    Raises ScriptExhausted when it is asked once more than it has replies.
    """

    def __init__(self, replies: Iterable[Any]) -> None:
        self.replies = list(replies)
        self.calls = 0

    def call(self, history: list[Entry], request: ModelRequest) -> Any:
        if not self.calls and request.replies:
            self.calls = request.replies
        if self.calls >= len(self.replies):
            raise ScriptExhausted(len(self.replies))
        self.calls += 1
        # A copy, as a real model's reply is new each time: a loop may add keys to what it gets.
        return copy.deepcopy(self.replies[self.calls - 1])

    def __repr__(self) -> str:
        return f"ScriptedModel({self.calls} of {len(self.replies)} replies given)"


Rule = Callable[[list[Entry]], Any]


class RuleModel:
    """Follows rules: each rule gets the history and gives a reply, or None to pass on to the next rule.

    rules: tried in order at each call. Raises ValueError if no rule has a reply.
    """

    def __init__(self, *rules: Rule) -> None:
        self.rules = rules

    def __call__(self, history: list[Entry]) -> Any:
        for rule in self.rules:
            reply = rule(history)
            if reply is not None:
                return reply
        raise ValueError(f"None of the {len(self.rules)} rules has a reply after {len(history)} entries.")


class LoopingModel:
    """Asks for the same tool with the same input at every call, and never answers."""

    def __init__(self, tool: str, /, **input: Any) -> None:
        self.reply = ask(tool, **input)

    def __call__(self, history: list[Entry]) -> Any:
        return copy.deepcopy(self.reply)


class NoisyModel(InformedModel):
    """Takes a different path from run to run, as a real model does: each call goes to one of several models.

    models: the ones to choose from. rng: a seeded `random.Random`, so that a run can be repeated.
    weights: how often each is chosen, relative to each other; None = all alike.
    """

    def __init__(
        self, models: Sequence[ModelFunction], rng: "random.Random", weights: Sequence[float] | None = None
    ) -> None:
        if not models:
            raise ValueError("A noisy model needs at least one model to choose from, but got none.")
        self.models = list(models)
        self.rng = rng
        self.weights = weights

    def call(self, history: list[Entry], request: ModelRequest) -> Any:
        (model,) = self.rng.choices(self.models, weights=self.weights)
        return call_model(model, history, request)


class RecordingModel(InformedModel):
    """Passes each call on to another model and keeps what it saw and said.

    histories: a copy of the history at each call. replies: a copy of each reply.
    """

    def __init__(self, model: ModelFunction) -> None:
        self.model = model
        self.histories: list[list[Entry]] = []
        self.replies: list[Any] = []

    def call(self, history: list[Entry], request: ModelRequest) -> Any:
        self.histories.append(copy.deepcopy(history))
        reply = call_model(self.model, history, request)
        self.replies.append(copy.deepcopy(reply))
        return reply


class ReplayModel(InformedModel):
    """Gives the replies of a recorded run again, and makes sure that the new run is the same so far.

    replies: the recorded replies, in order; an exception among them is raised.
    lengths: how many entries each call read. attempts: what each call told of attempts that failed.
    ended_with: raised by the call after the last reply, if the recorded one gave none; None = there was none.
    Raises ReplayError as soon as a call reads another number of entries, or comes after the last one.
    """

    def __init__(
        self, replies: Sequence[Any], lengths: Sequence[int], ended_with: BaseException | None = None,
        attempts: Sequence[Sequence[Any]] = (),
    ) -> None:  # fmt: skip
        if len(replies) != len(lengths):
            raise ValueError(f"{len(replies)} replies and {len(lengths)} lengths do not pair up.")
        self.ended_with = ended_with
        self.replies = list(replies)
        self.lengths = list(lengths)
        self.attempts = list(attempts)
        self.calls = 0

    def call(self, history: list[Entry], request: ModelRequest) -> Any:
        """Give the next reply, and tell the run of the attempts that failed before it."""
        self.calls = self.calls or request.replies or 0
        for event in self.attempts[self.calls] if self.calls < len(self.attempts) else ():
            request.note(event)
        if self.calls == len(self.replies):
            if self.ended_with is not None:
                raise self.ended_with
            raise ReplayError("one more model call came", f"{len(self.replies)} calls", "another call")
        if len(history) != self.lengths[self.calls]:
            what = f"model call {self.calls + 1} read another history"
            raise ReplayError(what, f"{self.lengths[self.calls]} entries", f"{len(history)} entries")
        self.calls += 1
        reply = self.replies[self.calls - 1]
        if isinstance(reply, BaseException):
            raise reply
        return copy.deepcopy(reply)
