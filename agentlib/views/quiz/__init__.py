"""The quiz: questions with an explanation for every choice, marked at once, kept from one day to the next."""

import html
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

from agentlib.messages import describe
from agentlib.views.quiz.answers import Answers, are_picks
from agentlib.views.quiz.questions import (
    Question,
    QuestionError,
    draw,
    final_pool,
    load_questions,
    read_questions,
)
from agentlib.views.shown import Shown, caption_html

__all__ = ["PASS_MARK", "QuestionError", "Quiz", "final_test", "quiz", "score_words"]

PASS_MARK = 0.6
"""A quiz is passed with this share of its questions right."""

WIDGET_WORDS = "The quiz stands here where widgets run. The same questions as text:"


def score_words(right: int, questions: int) -> str:
    """Say how a quiz went: "2 of 3 right (67%): passed."."""
    passed = right >= PASS_MARK * questions
    outcome = "passed" if passed else f"not passed yet, it takes {PASS_MARK:.0%}"
    return f"{right} of {questions} right ({right / questions:.0%}): {outcome}."


class Quiz:
    """A quiz to look at and to answer.

    name: under which its answers are kept; "" = they are not. questions: what is asked.
    picked: the picked choice of each question, from 0; -1 = none yet.
    """

    def __init__(self, name: str, questions: Sequence[Question], answers: Answers) -> None:
        self.name = name
        self.questions = tuple(questions)
        self.answers = answers
        self.sizes = [len(question.choices) for question in questions]
        self.picked = answers.picked(name, self.sizes) if name else [-1] * len(questions)
        self.static = static_form(self.questions)
        self._widget: Any = None

    @property
    def score(self) -> int:
        """Questions answered right."""
        pairs = zip(self.questions, self.picked, strict=True)
        return sum(question.right == pick for question, pick in pairs)

    @property
    def passed(self) -> bool:
        """True if every question is answered and enough of them right."""
        return -1 not in self.picked and self.score >= PASS_MARK * len(self.questions)

    def pick(self, picked: Sequence[int]) -> None:
        """Set the picks of all questions and keep them. Raises ValueError if one is no choice."""
        picks = list(picked)
        if not are_picks(picks, self.sizes):
            count = len(self.sizes)
            raise ValueError(f"Picks of {count} questions are numbers of their choices, but were {picks}.")
        self.picked = picks
        if self.name:
            self.answers.keep(self.name, picks, self.score)

    @property
    def widget(self) -> Any:
        """The quiz to answer with keys or mouse; None where widgets are not installed."""
        if self._widget is None and find_spec("anywidget") is not None:
            from agentlib.views.quiz.widget import QuizWidget

            self._widget = QuizWidget(self)
        return self._widget

    def _ipython_display_(self) -> None:
        from IPython.display import display

        if self.widget is not None:
            view: Any = self.widget._repr_mimebundle_() or {}
            data = view[0] if isinstance(view, tuple) else view  # anywidget gives data and metadata
            display({**data, "text/plain": WIDGET_WORDS}, raw=True)  # type: ignore[no-untyped-call]
        display(self.static)  # type: ignore[no-untyped-call]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return self.static._repr_mimebundle_()

    def __str__(self) -> str:
        return self.static.text

    __repr__ = __str__


def quiz(questions: str | Sequence[Any], *, folder: str | Path | None = None) -> Quiz:
    """Show a quiz: `quiz("02_blue_mugs")`, or `quiz([...])` with questions of your own, which are not kept.

    folder: where answers are kept; None = the user's data folder, or $AGENTLIB_DATA_DIR.
    Raises QuestionError if there is no such quiz, or if a question is not as it should be.
    """
    answers = Answers(None if folder is None else Path(folder))
    if isinstance(questions, str):
        return Quiz(questions, load_questions(questions), answers)
    return Quiz("", read_questions(questions), answers)


FINAL_NAME = "final_test_"
"""How the name begins under which the answers to a final test are kept; its seed comes behind it."""


def final_test(seed: int, questions: int = 20, *, folder: str | Path | None = None) -> Quiz:
    """Show a test over the whole course: the same seed draws the same questions, another seed other ones.

    seed: a whole number. questions: how many, spread evenly over the lessons. folder: as for `quiz`.
    Raises ValueError if the seed is no whole number, or if there are not so many questions.
    """
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ValueError(f"seed is a whole number, but was {describe(seed)}.")
    drawn = draw(final_pool(), questions, Random(seed))
    return Quiz(f"{FINAL_NAME}{seed}", drawn, Answers(None if folder is None else Path(folder)))


def static_form(questions: Sequence[Question]) -> Shown:
    """Show questions as text, with the answers folded beneath each (in plain text, at the end)."""
    page, lines, ends = [], [], ["Answers"]
    for number, question in enumerate(questions, start=1):
        letters = [chr(ord("a") + place) for place in range(len(question.choices))]
        items = "".join(f"<li>{caption_html(choice.text)}</li>" for choice in question.choices)
        whys = "".join(
            f"<li><strong>{'Right.' if choice.right else 'No.'}</strong> {caption_html(choice.why)}</li>"
            for choice in question.choices
        )
        page.append(
            f"<p><strong>{number}. {caption_html(question.text)}</strong></p>"
            f'<ol type="a">{items}</ol>'
            f'<details><summary>Answer to question {number}</summary><ol type="a">{whys}</ol></details>'
        )
        pairs = list(zip(letters, question.choices, strict=True))
        lines += [
            f"{number}. {question.text}",
            *(f"   {letter}) {choice.text}" for letter, choice in pairs),
            "",
        ]
        ends += [
            f"{number}{letter}) {'Right.' if choice.right else 'No.'} {choice.why}"
            for letter, choice in pairs
        ]
    what = html.escape("The questions as text")
    folded = f'<details open class="agentlib-static"><summary>{what}</summary>{"".join(page)}</details>'
    return Shown(folded, "\n".join([*lines, *ends]))


def __getattr__(name: str) -> Any:
    """Give what the first form of the course had here; saved notebooks still import it from here."""
    if name == "progress":
        from agentlib.course import progress

        return progress
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
