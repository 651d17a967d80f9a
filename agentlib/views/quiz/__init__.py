"""The quiz: questions with an explanation for every choice, marked at once, kept from one day to the next."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agentlib.views.quiz.answers import Answers, are_picks
from agentlib.views.quiz.questions import (
    Choice,
    Question,
    QuestionError,
    asked_mark,
    known_name,
    load_questions,
    read_questions,
)
from agentlib.views.shown import Html, Shown, bold, caption_html, display_both, folded, static_html, tag

__all__ = ["FINAL_NAME", "PASS_MARK", "QuestionError", "Quiz", "quiz", "score_words"]

PASS_MARK = 0.6
"""A quiz is passed with this share of its questions right."""


def score_words(right: int, questions: int) -> str:
    """Say how a quiz went: "2 of 3 right (67%): passed."."""
    passed = right >= PASS_MARK * questions
    outcome = "passed" if passed else f"not passed yet, it takes {PASS_MARK:.0%}"
    return f"{right} of {questions} right ({right / questions:.0%}): {outcome}."


TRIES = 2
"""A question of a quiz can be answered twice before its explanation is shown."""

REPAIR_TRIES = 3
"""So often a repair may be checked before a right one is shown."""


class Quiz:
    """A quiz to look at and to answer.

    name: under which its answers are kept; "" = they are not. questions: what is asked.
    tries: how often a question with three or more choices can be answered before the explanation is shown.
    closing: what is said when all is answered.
    picked: the picked choice of each question, from 0; -1 = none yet. Of a repair 1 = right, 0 = given up.
    first: the choice that was picked before, and was wrong; -1 = none. Where it is the picked one, the second
    try is still to come.
    repairs: how often each repair was checked, the line and its text, and what was said to it.
    """

    def __init__(
        self,
        name: str,
        questions: Sequence[Question],
        answers: Answers,
        tries: int = TRIES,
        closing: str = "",
    ) -> None:
        self.name = name
        self.questions = tuple(questions)
        self.answers = answers
        self.tries = tries
        self.closing = closing
        self.sizes = [question.size for question in questions]
        self._asked = asked_mark(self.questions)
        none = [-1] * len(questions)
        self.picked = answers.picked(name, self.sizes, self._asked) if name else list(none)
        kept = answers.read().get(name, {}) if name and self.picked != none else {}
        first = kept.get("first")
        self.first = list(first) if isinstance(first, list) and are_picks(first, self.sizes) else none
        self.repairs: list[dict[str, Any]] = [{} for _ in questions]
        self.static = static_quiz(self.questions, tries)
        self._widget: Any = None

    @property
    def score(self) -> int:
        """Questions answered right, at the first try or the second."""
        pairs = zip(self.questions, self.picked, strict=True)
        return sum(question.right == pick for question, pick in pairs)

    @property
    def passed(self) -> bool:
        """True if every question is answered and enough of them right."""
        return -1 not in self.picked and self.score >= PASS_MARK * len(self.questions)

    def pick(self, picked: Sequence[int], first: Sequence[int] | None = None) -> None:
        """Set the picks of all questions and keep them. Raises ValueError if one is not a choice.

        first: the wrong picks that were made before; None = none.
        """
        picks = list(picked)
        before = [-1] * len(self.sizes) if first is None else list(first)
        for given in (picks, before):
            if not are_picks(given, self.sizes):
                count = len(self.sizes)
                raise ValueError(
                    f"Picks of {count} questions are numbers of their choices, but were {given}."
                )
        self.picked, self.first = picks, before
        if all(pick == -1 for pick in picks):
            self.repairs = [{} for _ in self.questions]
        if self.name:
            self.answers.keep(self.name, picks, self.score, first=before, asked=self._asked)

    def mend(self, question: int, line: int, text: str) -> str:
        """Put a line into the code of a repair and check it. Gives "" if it is right now, else what is wrong.

        question: which one, from 0. line: its number, from 1. Raises ValueError if that is no repair.
        """
        repair = self.questions[question].repair if 0 <= question < len(self.questions) else None
        if repair is None:
            raise ValueError(f"Question {question + 1} is no repair.")
        said = repair.judge(line, text)
        tried = self.repairs[question].get("tried", 0) + 1
        self.repairs[question] = {"tried": tried, "line": line, "text": text, "said": said}
        if not said or tried >= REPAIR_TRIES:
            picks = list(self.picked)
            picks[question] = 0 if said else 1
            self.pick(picks, self.first)
        return said

    @property
    def widget(self) -> Any:
        """The quiz to answer with keys or mouse; None where widgets are not installed."""
        if self._widget is None and find_spec("anywidget") is not None:
            from agentlib.views.quiz.widget import QuizWidget

            self._widget = QuizWidget(self)
        return self._widget

    @property
    def box(self) -> Any:
        """The quiz in a box that shows when its kernel has gone; None where widgets are not installed."""
        if self.widget is None:
            return None
        from agentlib.views.guard import guarded

        return guarded(self.widget)

    def _ipython_display_(self) -> None:
        display_both(self.box, "the quiz", self.static)

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
    answers = Answers(folder)
    if isinstance(questions, str):
        return Quiz(known_name(questions), load_questions(questions), answers)
    return Quiz("", read_questions(questions), answers)


FINAL_NAME = "final_test_"
"""The beginning of the name under which the answers to a final test are kept; its seed follows."""


def static_quiz(questions: Sequence[Question], tries: int = TRIES) -> Shown:
    """Show questions as text, with the answers folded beneath each (in plain text, at the end).

    tries: 2 = before the answer it can be seen, choice by choice, whether it is worth a second try.
    """
    page: list[Html] = []
    lines, ends, seconds = [], ["Answers"], []
    for number, question in enumerate(questions, start=1):
        page += _question_html(number, question, tries)
        lines.append(f"{number}. {question.text}")
        if question.shown:
            lines += [f"   | {line}".rstrip() for line in question.shown.split("\n")]
        for place, choice in enumerate(question.choices):
            letter = chr(ord("a") + place)
            lines.append(f"   {letter}) {choice.text}")
            ends.append(f"{number}{letter}) {_verdict(choice)} {choice.why}")
        if question.repair:
            lines.append("   Which line do you change, and how must it read?")
            ends.append(
                f"{number}) Line {question.repair.line}: `{question.repair.text}` {question.repair.why}"
            )
        elif tries > 1 and len(question.choices) > 2:
            wrong = [chr(ord("a") + place) for place, one in enumerate(question.choices) if not one.right]
            seconds.append(f"{number}: {' or '.join(wrong)}?")
        if question.look_again:
            ends.append(f"{number}) {question.look_again}")
        lines.append("")
    if seconds:
        lines += [f"Before you read the answers, choose once more if you have {', '.join(seconds)}", ""]
    return Shown(static_html("The questions as text", *page), "\n".join([*lines, *ends]))


def _question_html(number: int, question: Question, tries: int) -> list[Html]:
    shown = (
        [tag("pre", question.shown, style="white-space:pre-wrap;word-break:normal")] if question.shown else []
    )
    asked = tag("p", tag("strong", f"{number}. ", caption_html(question.text)))
    again = [tag("p", question.look_again)] if question.look_again else []
    if question.repair:
        line = f"Line {question.repair.line}: `{question.repair.text}`"
        right = [tag("p", caption_html(line)), tag("p", caption_html(question.repair.why)), *again]
        which = tag("p", "Which line do you change, and how must it read?")
        return [asked, *shown, which, folded(f"Answer to question {number}", *right)]
    second = tries > 1 and len(question.choices) > 2
    texts = [
        tag("li", caption_html(one.text), *([_first_look(one)] if second else [])) for one in question.choices
    ]
    whys = [tag("li", bold(_verdict(choice)), " ", caption_html(choice.why)) for choice in question.choices]
    answer = folded(f"Answer to question {number}", tag("ol", *whys, type="a"), *again)
    return [asked, *shown, tag("ol", *texts, type="a"), answer]


def _first_look(choice: Choice) -> Html:
    words = (
        "Yes. Now open the answer."
        if choice.right
        else "Not this one. Choose once more, then open the answer."
    )
    return folded("Is it this one?", words)


def _verdict(choice: Choice) -> str:
    return "Right." if choice.right else "No."


MOVED = ("final_test", "progress")
"""What the first form of the course had here, and is in `agentlib.course` now; saved notebooks import it."""


def __getattr__(name: str) -> Any:
    if name in MOVED:
        from agentlib import course

        return getattr(course, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
