"""The quiz as a widget: marked at once, in the browser; what was picked is kept by Python."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

if TYPE_CHECKING:
    from agentlib.views.quiz import Quiz

__all__ = ["QuizWidget"]

HERE = Path(__file__).parent


class QuizWidget(anywidget.AnyWidget):
    """Shows the questions of a quiz.

    questions: as plain data. picked: the picked choice of each question, from 0; -1 = none yet.
    pass_mark: the share of right answers that passes. problem: why answers cannot be kept; "" = they can.
    """

    _esm = HERE / "quiz.js"
    _css = HERE / "quiz.css"

    questions: Any = traitlets.List().tag(sync=True)
    picked: Any = traitlets.List().tag(sync=True)
    pass_mark = traitlets.Float(0.6).tag(sync=True)
    problem = traitlets.Unicode("").tag(sync=True)

    def __init__(self, quiz: "Quiz") -> None:
        data = [
            {"text": question.text, "choices": [asdict(choice) for choice in question.choices]}
            for question in quiz.questions
        ]
        super().__init__(questions=data, picked=quiz.picked)
        self._quiz = quiz
        self.observe(self._keep, names="picked")

    def _keep(self, change: Any) -> None:
        try:
            self._quiz.pick(change["new"])
        except ValueError:
            self.picked = self._quiz.picked  # not a pick that the page can make
            return
        self.problem = self._quiz.answers.problem
