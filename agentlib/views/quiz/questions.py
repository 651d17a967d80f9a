"""Questions as data: what is asked, the choices, which one is right, and why or why not for each."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from agentlib.errors import AgentLibError
from agentlib.messages import describe

__all__ = [
    "Choice", "Question", "QuestionError", "draw", "final_pool", "known_quizzes", "load_questions",
    "read_questions",
]  # fmt: skip

FOLDER = Path(__file__).parent / "questions"
FINAL = FOLDER / "final"
FORMER_NAMES = {  # saved notebooks of the course's first form ask by them
    "08_find_the_bugs": "09_find_the_bugs",
    "09_answered_is_not_verified": "10_answered_is_not_verified",
    "10_when_not_to_loop": "12_when_not_to_loop",
    "10_pipeline_or_agent": "12_pipeline_or_agent",
    "11_a_real_model": "13_a_real_model",
}


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
    """A question with its choices, of which exactly one is right. What stands between backticks is code."""

    text: str
    choices: tuple[Choice, ...]

    @property
    def right(self) -> int:
        """The place of the right choice, from 0."""
        return next(place for place, choice in enumerate(self.choices) if choice.right)


def known_quizzes() -> list[str]:
    """List the names of the quizzes that come with the course."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def load_questions(name: str) -> tuple[Question, ...]:
    """Load the questions of one of the course's quizzes, such as "02_blue_mugs".

    Raises QuestionError if there is no such quiz.
    """
    name = FORMER_NAMES.get(name, name)
    if name not in known_quizzes():
        raise QuestionError(f"There is no quiz {name!r}; there are {', '.join(known_quizzes())}.")
    return read_questions(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8-sig")))


def final_pool() -> dict[str, tuple[Question, ...]]:
    """Give what the final test draws from, by lesson: the questions of its own, then those of the lesson."""
    pool = {}
    for path in sorted(FINAL.glob("*.json")):
        own = read_questions(json.loads(path.read_text(encoding="utf-8-sig")))
        lesson = load_questions(path.stem) if path.stem in known_quizzes() else ()
        pool[path.stem] = (*own, *lesson)
    return pool


def draw(pool: Mapping[str, Sequence[Question]], count: int, rng: Random) -> tuple[Question, ...]:
    """Draw questions: as many from each lesson as from the others, the rest from all, in mixed order.

    Raises ValueError if the pool holds fewer than `count`.
    """
    total = sum(map(len, pool.values()))
    if not 1 <= count <= total:
        raise ValueError(
            f"From {total} questions 1 to {total} can be drawn, but {describe(count)} was wanted."
        )
    drawn: list[Question] = []
    rest: list[Question] = []
    for questions in pool.values():
        mixed = rng.sample(list(questions), len(questions))
        share = count // len(pool)
        drawn += mixed[:share]
        rest += mixed[share:]
    drawn += rng.sample(rest, count - len(drawn))
    return tuple(rng.sample(drawn, count))


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
