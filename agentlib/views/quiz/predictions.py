"""Predictions: what a learner expects before a cell runs, by a click, and how often that came true."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentlib.views.quiz import Quiz
from agentlib.views.quiz.answers import Answers
from agentlib.views.quiz.questions import Choice, Question, QuestionError
from agentlib.views.shown import Shown, caption_html, static_html, tag
from agentlib.views.store import PREDICTIONS, Store

__all__ = ["Prediction", "counted_predictions", "keep_prediction", "predict", "predicted", "predicted_in"]


class Prediction(Quiz):
    """One question to answer before a cell is run. The guess at which the outcome is first known counts.

    name: under which it is kept. question: its choices, of which none is right yet.
    """

    def __init__(self, name: str, question: Question, folder: str | Path | None = None) -> None:
        super().__init__("", [question], Answers(folder), tries=1)
        self.prediction = name
        texts = [choice.text for choice in question.choices]
        guess = self.answers.store.read(PREDICTIONS, name).get("guess")
        self.picked = [texts.index(guess) if guess in texts else -1]
        asked = tag("p", tag("strong", "Predict: "), caption_html(question.text))
        listed = tag("ul", *(tag("li", caption_html(text)) for text in texts))
        html = static_html("The question as text", asked, listed)
        self.static = Shown(html, f"Predict: {question.text} {' / '.join(texts)}")

    def pick(self, picked: list[int], first: list[int] | None = None) -> None:  # type: ignore[override]
        """Set the guess, from 0, and keep it. Raises ValueError if it is not a choice."""
        super().pick(picked, first)
        store = self.answers.store
        kept = store.read(PREDICTIONS, self.prediction)
        if self.picked[0] >= 0 and not isinstance(kept.get("right"), bool):
            guess = self.questions[0].choices[self.picked[0]].text
            store.keep(PREDICTIONS, self.prediction, {"guess": guess})


def predict(name: str, question: str, *choices: object, folder: str | Path | None = None) -> Prediction:
    """Ask what will come out: `predict("05 last call", "What does call 20 read?", 500, 10_000)`.

    name: begins with the number of the lesson. choices: texts or values. folder: as for `quiz`.
    Raises QuestionError if there are fewer than two choices, or the same one twice.
    """
    texts = [_words(choice) for choice in choices]
    if len(texts) < 2 or len(set(texts)) < len(texts):
        raise QuestionError(f"A prediction needs two or more different choices, but {name!r} has {texts}.")
    return Prediction(name, Question(question, tuple(Choice(text, "") for text in texts)), folder)


def predicted(name: str, actual: object, *, folder: str | Path | None = None) -> Shown:
    """Say what came out and whether it was predicted, in the cell that shows it.

    name: as for `predict`. actual: what came out; it is right if it is the choice that was picked.
    """
    store = Store(folder)
    kept = store.read(PREDICTIONS, name)
    guess, came = kept.get("guess"), _words(actual)
    if not isinstance(guess, str):
        return _line(f"It is {came}. You made no prediction.")
    keep_prediction(name, guess == came, store=store, guess=guess)
    start = f"It is {came}, as you predicted." if guess == came else f"It is {came}; you predicted {guess}."
    note = f" ({store.problem})" if store.problem else ""
    return _line(f"{start} {predicted_in(name[:2], store)}{note}")


def keep_prediction(name: str, right: bool, *, store: Store | None = None, **more: Any) -> None:
    """Keep whether a prediction came true, unless that is known already: the first time counts."""
    store = Store() if store is None else store
    if not isinstance(store.read(PREDICTIONS, name).get("right"), bool):
        store.keep(PREDICTIONS, name, {**more, "right": right})


def predicted_in(lesson: str, store: Store) -> str:
    """Say how many predictions of a lesson came true: "In lesson 05 you predicted 3 of 5."."""
    right, known = counted_predictions(lesson, store.all(PREDICTIONS))
    return f"In lesson {lesson} you predicted {right} of {known}."


def counted_predictions(lesson: str, kept: Mapping[str, Mapping[str, Any]]) -> tuple[int, int]:
    """Count a lesson's predictions: those that came true, and those whose outcome is known."""
    known = [value["right"] for name, value in kept.items() if name[:2] == lesson[:2] and "right" in value]
    known = [right for right in known if isinstance(right, bool)]
    return sum(known), len(known)


def _line(text: str) -> Shown:
    return Shown(tag("p", text), text)


def _words(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)
