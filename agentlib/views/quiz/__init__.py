"""The quiz: questions with an explanation for every choice, marked at once, kept from one day to the next."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

from agentlib.messages import describe
from agentlib.views.quiz.answers import Answers, are_picks
from agentlib.views.quiz.questions import (
    FORMER_NAMES,
    Choice,
    Question,
    QuestionError,
    draw,
    final_pool,
    load_questions,
    read_questions,
)
from agentlib.views.shown import Html, Shown, bold, caption_html, display_both, folded, static_html, tag

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
        self.static = static_quiz(self.questions)
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
        """Set the picks of all questions and keep them. Raises ValueError if one is not a choice."""
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
        display_both(self.widget, WIDGET_WORDS, self.static)

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
        return Quiz(FORMER_NAMES.get(questions, questions), load_questions(questions), answers)
    return Quiz("", read_questions(questions), answers)


FINAL_NAME = "final_test_"
"""The beginning of the name under which the answers to a final test are kept; its seed follows."""


def final_test(seed: int, questions: int = 20, *, folder: str | Path | None = None) -> Quiz:
    """Show a test over the whole course: the same seed draws the same questions, another seed draws others.

    seed: a whole number. questions: how many, spread evenly over the lessons. folder: as for `quiz`.
    Raises ValueError if the seed is not a whole number, or if there are fewer questions.
    """
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ValueError(f"seed is a whole number, but was {describe(seed)}.")
    drawn = draw(final_pool(), questions, Random(seed))
    return Quiz(f"{FINAL_NAME}{seed}", drawn, Answers(None if folder is None else Path(folder)))


def static_quiz(questions: Sequence[Question]) -> Shown:
    """Show questions as text, with the answers folded beneath each (in plain text, at the end)."""
    page: list[Html] = []
    lines, ends = [], ["Answers"]
    for number, question in enumerate(questions, start=1):
        page += _question_html(number, question)
        lines.append(f"{number}. {question.text}")
        for place, choice in enumerate(question.choices):
            letter = chr(ord("a") + place)
            lines.append(f"   {letter}) {choice.text}")
            ends.append(f"{number}{letter}) {_verdict(choice)} {choice.why}")
        lines.append("")
    return Shown(static_html("The questions as text", *page), "\n".join([*lines, *ends]))


def _question_html(number: int, question: Question) -> list[Html]:
    texts = [tag("li", caption_html(choice.text)) for choice in question.choices]
    whys = [tag("li", bold(_verdict(choice)), " ", caption_html(choice.why)) for choice in question.choices]
    return [
        tag("p", tag("strong", f"{number}. ", caption_html(question.text))),
        tag("ol", *texts, type="a"),
        folded(f"Answer to question {number}", tag("ol", *whys, type="a")),
    ]


def _verdict(choice: Choice) -> str:
    return "Right." if choice.right else "No."


def __getattr__(name: str) -> Any:
    """Give what the first form of the course had here; saved notebooks still import it from here."""
    if name == "progress":
        from agentlib.course import progress

        return progress
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
