"""The quiz as a widget: marked at once, in the browser; what was picked is kept by Python."""

from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

if TYPE_CHECKING:
    from agentlib.views.quiz import Quiz
    from agentlib.views.quiz.questions import Question

__all__ = ["QuizWidget"]

HERE = Path(__file__).parent


class QuizWidget(anywidget.AnyWidget):
    """Shows the questions of a quiz.

    questions: as plain data. picked: the picked choice of each question, from 0; -1 = none yet.
    first: the wrong choice that was picked before; -1 = none. tries: 2 = there is a second try.
    attempt: a line that the page wants to have checked. repairs: what came of it, for each question.
    pass_mark: the share of right answers that passes. closing: what is said at the end.
    problem: why answers cannot be kept; "" = they can. turn: counts what the page has sent. heard: the last
    turn that Python has answered; where none is, no kernel runs.
    """

    _esm = HERE / "quiz.js"
    _css = HERE / "quiz.css"

    questions: Any = traitlets.List().tag(sync=True)
    picked: Any = traitlets.List().tag(sync=True)
    first: Any = traitlets.List().tag(sync=True)
    tries = traitlets.Int(2).tag(sync=True)
    attempt: Any = traitlets.Dict().tag(sync=True)
    repairs: Any = traitlets.List().tag(sync=True)
    pass_mark = traitlets.Float(0.6).tag(sync=True)
    closing = traitlets.Unicode("").tag(sync=True)
    problem = traitlets.Unicode("").tag(sync=True)
    turn = traitlets.Int(0).tag(sync=True)
    heard = traitlets.Int(0).tag(sync=True)

    def __init__(self, quiz: "Quiz") -> None:
        super().__init__(
            questions=[_data(question) for question in quiz.questions],
            picked=list(quiz.picked),  # its own lists: a change of the quiz's must be seen as one
            first=list(quiz.first),
            repairs=list(quiz.repairs),
            tries=quiz.tries,
            closing=quiz.closing,
            problem=quiz.answers.problem,
        )
        self._quiz = quiz
        self.observe(self._keep, names=["picked", "first", "repairs"])
        self.observe(self._mend, names="attempt")
        self.observe(self._hear, names="turn")

    def _keep(self, change: Any) -> None:
        if not any(self.repairs):  # the page has begun anew
            self._quiz.repairs = [{} for _ in self._quiz.questions]
        if (self.picked, self.first) == (self._quiz.picked, self._quiz.first):
            return
        with suppress(ValueError):  # not a pick that the page can make is taken back
            self._quiz.pick(self.picked, self.first)
        self._show()

    def _mend(self, change: Any) -> None:
        wanted = change["new"]
        try:
            self._quiz.mend(wanted["question"], wanted["line"], wanted["text"])
        except (KeyError, TypeError, ValueError):
            return  # not what the page can send
        self._show()

    def _hear(self, change: Any) -> None:
        self.heard = change["new"]

    def _show(self) -> None:
        with self.hold_sync():
            self.picked, self.first = list(self._quiz.picked), list(self._quiz.first)
            self.repairs = [dict(each) for each in self._quiz.repairs]
            self.problem = self._quiz.answers.problem


def _data(question: "Question") -> dict[str, Any]:
    repair = question.repair
    right = {"line": repair.line, "text": repair.text, "why": repair.why} if repair else None
    return {
        "text": question.text,
        "choices": [asdict(choice) for choice in question.choices],
        "shown": question.shown,
        "look_again": question.look_again,
        "repair": right,
    }
