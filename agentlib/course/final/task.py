"""What tasks of the final test are made of."""

import contextlib
import copy
import io
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any, NamedTuple

from agentlib.course.running.runner import RunEnded, TimeLimit
from agentlib.messages import Entry, Reply, short
from agentlib.views.describe import entry_words, role_of
from agentlib.views.quiz.questions import Choice, Question, Repair

__all__ = [
    "CASE_SECONDS",
    "FinalTask",
    "Played",
    "choose",
    "mend",
    "numbered",
    "run_code",
    "told",
]  # fmt: skip

CASE_SECONDS = 2.0
"""A repaired piece of code must pass all its cases in this time."""

MAX_CALLS = 30
"""A played model that is asked more often ends the run."""

Choiced = tuple[str, str]
"""A choice and its explanation."""


class FinalTask(NamedTuple):
    """One task. cell: the id of the cell of its lesson in which one can look again."""

    question: Question
    cell: str


class AskedTooOften(BaseException):
    """Ends a loop that goes on asking. No Exception, so that `except Exception` lets it pass."""


class Played:
    """A model that gives its replies in order and keeps what it was sent; after them the last one again."""

    def __init__(self, *replies: Reply | Entry) -> None:
        self.replies = replies
        self.seen: list[list[Entry]] = []

    def __call__(self, history: list[Entry]) -> Any:
        if len(self.seen) == MAX_CALLS:
            raise AskedTooOften
        self.seen.append(copy.deepcopy(list(history)))
        return copy.deepcopy(self.replies[min(len(self.seen), len(self.replies)) - 1])


def choose(
    rng: Random, text: str, shown: str, right: Choiced, wrong: Iterable[Choiced], cell: str
) -> FinalTask:
    """Make a task with choices, in an order drawn.

    right, wrong: choices with their explanations; a wrong one that is equal to another is left out, and of
    the others the first are taken, so that there are four choices in all.
    """
    taken = {right[0]: Choice(*right, right=True)}
    for words, why in wrong:
        if len(taken) < 4 and words not in taken:
            taken[words] = Choice(words, why)
    choices = rng.sample(list(taken.values()), len(taken))
    return FinalTask(Question(text, tuple(choices), shown), cell)


def mend(
    text: str,
    code: str,
    right: tuple[int, str],
    why: str,
    judge: Callable[[dict[str, Any]], str],
    cell: str,
) -> FinalTask:
    """Make a task that asks for a repair of one line.

    right: the number of a line, from 1, and how it may read. judge: gets the names that the code has made;
    gives "" if it does what it should, else what it does instead.
    """
    code = code.strip("\n")

    def check(number: int, line: str) -> str:
        return judged(code, number, line, judge)

    return FinalTask(Question(text, (), numbered(code), repair=Repair(check, *right, why)), cell)


def judged(code: str, number: int, line: str, judge: Callable[[dict[str, Any]], str]) -> str:
    """Put a line into code, run it in a namespace of its own and judge it. Gives "" if all is right."""
    lines = code.split("\n")
    if not 1 <= number <= len(lines):
        return "There is no such line."
    line = line.strip()
    if "\n" in line or "\r" in line:
        return "It has to be one line."
    before = lines[number - 1]
    lines[number - 1] = before[: len(before) - len(before.lstrip())] + line
    try:
        compiled = compile("\n".join(lines), "the code", "exec")
    except (SyntaxError, ValueError) as problem:
        return f"Python cannot read the code with this line: {getattr(problem, 'msg', problem)}."

    def run() -> str:
        namespace: dict[str, Any] = {"__name__": "repair"}
        exec(compiled, namespace)
        return judge(namespace)

    limit = TimeLimit(CASE_SECONDS)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return str(limit.run(run))
    except RunEnded:
        return f"The code ran for {CASE_SECONDS:g} seconds and did not end."
    except AskedTooOften:
        return f"The model was asked {MAX_CALLS} times, and the loop went on."
    except (Exception, SystemExit) as problem:
        return f"The code raised `{short(type(problem).__name__, 40)}: {short(str(problem), 120)}`."


def run_code(code: str, **names: Any) -> dict[str, Any]:
    """Run code that a task shows; gives its names."""
    namespace = {"__name__": "shown", **names}
    exec(compile(code, "the code", "exec"), namespace)
    return namespace


def numbered(code: str) -> str:
    """Write the number before each line of code."""
    lines = code.strip("\n").split("\n")
    return "\n".join(f"{number:>2} {line}".rstrip() for number, line in enumerate(lines, start=1))


def told(history: Sequence[Entry]) -> str:
    """Write a history, one numbered line an entry."""
    lines = []
    for number, entry in enumerate(history, start=1):
        lines.append(f"{number:>2} {role_of(entry):<5} {entry_words(entry)}")
    return "\n".join(lines)
