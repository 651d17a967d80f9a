"""Questions as data: what is asked, the choices, which one is right, and why or why not for each."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from agentlib.errors import AgentLibError
from agentlib.messages import describe

__all__ = [
    "Choice", "Question", "QuestionError", "Repair", "asked_mark", "known_name", "known_quizzes",
    "load_questions", "read_questions",
]  # fmt: skip

FOLDER = Path(__file__).parent / "questions"


class QuestionError(AgentLibError):
    """Raised when questions are not as they should be; says which one, and what is wrong with it."""


@dataclass(frozen=True)
class Choice:
    """One choice. why: the explanation that is shown once it has been picked, right or not."""

    text: str
    why: str
    right: bool = False


@dataclass(frozen=True)
class Question:
    """A question with its choices, of which exactly one is right. What stands between backticks is code.

    shown: what is asked about, line by line: a run, a history, a bill or code. repair: instead of choices.
    look_again: where to look again after a wrong answer; "" = nowhere.
    """

    text: str
    choices: tuple[Choice, ...] = ()
    shown: str = ""
    look_again: str = ""
    repair: "Repair | None" = None

    @property
    def size(self) -> int:
        """The number of choices; a repair counts as two, 0 = not right and 1 = right."""
        return 2 if self.repair else len(self.choices)

    @property
    def right(self) -> int:
        """The place of the right choice, from 0."""
        return next((place for place, choice in enumerate(self.choices) if choice.right), 1)


@dataclass(frozen=True)
class Repair:
    """A repair of one line of the code that a question shows.

    judge: gets a line's number, from 1, and its new text; gives "" if the code is right now, else a sentence
    that says what is still wrong. line, text: one repair that is right. why: its explanation.
    """

    judge: Callable[[int, str], str]
    line: int
    text: str
    why: str


def asked_mark(questions: Sequence[Question]) -> str:
    """Give a mark of what questions ask, so that one that has changed since is asked anew."""
    words = repr([(one.text, one.shown, one.choices) for one in questions])
    return sha256(words.encode()).hexdigest()[:16]


def known_quizzes() -> list[str]:
    """List the names of the quizzes that come with the course."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def known_name(name: str) -> str:
    """Give the name that a quiz has now: its lesson may have had another number. Other names stay."""
    known = known_quizzes()
    if name in known:
        return name
    return next((each for each in known if each.partition("_")[2] == name.partition("_")[2]), name)


def load_questions(name: str) -> tuple[Question, ...]:
    """Load the questions of one of the course's quizzes, such as "02_blue_mugs".

    Raises QuestionError if there is no such quiz.
    """
    name = known_name(name)
    if name not in known_quizzes():
        raise QuestionError(f"There is no quiz {name!r}; there are {', '.join(known_quizzes())}.")
    return read_questions(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8-sig")))


def read_questions(data: object) -> tuple[Question, ...]:
    """Read questions from plain data: a list of `{"question": ..., "choices": [...]}`.

    Each choice is `{"text": ..., "why": ...}`, and the right one has `"right": true` as well.

    Raises QuestionError if one has fewer than 2 choices, not exactly one right one, the same choice twice, or
    a choice without an explanation.
    """
    if not isinstance(data, Sequence) or isinstance(data, (str, bytes)) or not data:
        raise QuestionError(f"Questions are a list with at least one question, but were {describe(data)}.")
    return tuple(_read_question(number, one) for number, one in enumerate(data, start=1))


def _read_question(number: int, data: object) -> Question:
    where = f"Question {number}"
    if not isinstance(data, Mapping):
        raise QuestionError(f'{where} is a dict with "question" and "choices", but was {describe(data)}.')
    text = _text(where, "question", data)
    given = data.get("choices")
    if not isinstance(given, list) or len(given) < 2:
        raise QuestionError(f"{where} needs a list of at least 2 choices, but has {describe(given)}.")
    choices = tuple(_read_choice(f"{where}, choice {place}", one) for place, one in enumerate(given, start=1))
    right = sum(choice.right for choice in choices)
    if right != 1:
        raise QuestionError(f"{where} needs exactly one right choice, but has {right}.")
    if len({choice.text for choice in choices}) < len(choices):
        raise QuestionError(f"{where} has the same choice twice.")
    return Question(text, choices)


def _read_choice(where: str, data: object) -> Choice:
    if not isinstance(data, Mapping):
        raise QuestionError(f'{where} is a dict with "text" and "why", but was {describe(data)}.')
    right = data.get("right", False)
    if not isinstance(right, bool):
        raise QuestionError(f'{where}: "right" is true or false, but was {describe(right)}.')
    return Choice(_text(where, "text", data), _text(where, "why", data), right)


def _text(where: str, name: str, data: Mapping[str, Any]) -> str:
    value = data.get(name)
    if not isinstance(value, str) or not value.strip():
        raise QuestionError(f'{where} needs "{name}" as text, but has {describe(value)}.')
    return value
