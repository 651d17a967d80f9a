"""Train status: one tool, a model that answers, and a model that asks for a missing train for ever.

What must come out: 12345 is answered in 2 steps. 99999 is answered too: the error reaches the model as words.
`looping_model()` asks for 99999 at every call; the repeated-call rule stops it at the third identical
request, which is not run: 3 steps and 2 tool runs, before a limit of 6 steps.
"""

import re
from collections.abc import Callable, Sequence
from itertools import accumulate

from agentlib._run import Run
from agentlib.errors import ToolError
from agentlib.labs._reading import result_words
from agentlib.loop import run_agent
from agentlib.messages import Entry, answer, ask, exchanges
from agentlib.models import LoopingModel, RuleModel, ScriptedModel

__all__ = [
    "GOAL",
    "GOALS",
    "MAX_STEPS",
    "TOOLS",
    "TRAINS",
    "looping_model",
    "model",
    "platform_clock",
    "read_in_six_steps",
    "stopped_by_a_person",
    "train_status",
    "waiting_model",
]

GOALS = {
    "known": "Is train 12345 running late?",
    "unknown": "Is train 99999 running late?",
    "three": "Which of the trains 12345, 22222 and 54321 run late?",
}

GOAL = GOALS["known"]

MAX_STEPS = 6
"""Steps for one question."""

TRAINS = {"12345": "running 20 minutes late", "22222": "on time"}

_UNKNOWN = "no train with number {}. Check the 5 digits."


def train_status(number: str) -> str:
    """Tell whether one train is late, by its number of 5 digits."""
    if number not in TRAINS:
        raise ToolError(_UNKNOWN.format(number), code="not_found")
    return TRAINS[number]


TOOLS = {"train_status": train_status}


def too_often(count: int, times: int) -> bool:
    """Tell whether a request that has come `count` times has come too often (lesson 04 leaves this open)."""
    return count >= times


def model() -> RuleModel:
    """Make a fresh model for one run: it asks once for each number in the goal, then answers."""
    return RuleModel(_ask_for_the_next_train, _answer)


def looping_model() -> LoopingModel:
    """Make a model that asks for train 99999 at every call and never answers."""
    return LoopingModel("train_status", number="99999")


def _ask_for_the_next_train(history: list[Entry]) -> Entry | None:
    asked = {done.input.get("number") for done in exchanges(history)}
    for number in re.findall(r"\b\d{5}\b", str(history[0]["text"])):
        if number not in asked:
            return ask("train_status", number=number)
    return None


def _answer(history: list[Entry]) -> Entry:
    lines = [f"Train {done.input['number']}: {result_words(done.result)}" for done in exchanges(history)]
    return answer(" ".join(line.rstrip(".") + "." for line in lines) or "Which train is it, please?")


# --- what else lesson 04 runs -----------------------------------------------------------------------

WAIT = "Tell me when 12345 is here."


def platform_clock(minutes: Sequence[int]) -> dict[str, Callable[..., int]]:
    """Make tools that tell how many minutes a train still needs: the next number at each look."""
    left = iter(minutes)

    def minutes_until(number: str) -> int:
        """Tell in how many minutes one train is here."""
        return next(left)

    return {"minutes_until": minutes_until}


def waiting_model(looks: int) -> ScriptedModel:
    """Make a model that looks so often, and then says that the train is here."""
    return ScriptedModel([ask("minutes_until", number="12345")] * looks + [answer("It is here.")])


def read_in_six_steps(characters: int) -> list[int]:
    """Run five requests and an answer; give the tokens read after each call. characters: of each result."""

    def timetable(page: int) -> str:
        """Read one page of the timetable."""
        return "." * characters

    script = [ask("timetable", page=page) for page in range(5)] + [answer("done")]
    run = run_agent(ScriptedModel(script), {"timetable": timetable}, "Read it.", 6)
    return list(accumulate(event.tokens or 0 for event in run.trace if event.kind == "reply"))


def stopped_by_a_person() -> Run:
    """Ask for three trains; the stop button is pressed during the third model call."""

    def interrupted(history: list[Entry]) -> Entry:
        if len(history) == 5:
            raise KeyboardInterrupt
        reply: Entry = model()(history)
        return reply

    return run_agent(interrupted, TOOLS, GOALS["three"])
