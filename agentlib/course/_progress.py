"""What a learner has done so far, as a table."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentlib.views.quiz import FINAL_NAME, PASS_MARK
from agentlib.views.quiz.answers import Answers
from agentlib.views.quiz.questions import known_quizzes, load_questions
from agentlib.views.shown import Shown, TableCell, table

__all__ = ["progress"]


def progress(folder: str | Path | None = None) -> Shown:
    """Show which quizzes of the course are answered and passed, as a table. folder: as for `quiz`."""
    answers = Answers(None if folder is None else Path(folder))
    kept = answers.read()
    rows: list[list[TableCell | str]] = []
    for name in known_quizzes():
        questions = load_questions(name)
        picked = answers.picked(name, [len(question.choices) for question in questions])
        answered = sum(pick >= 0 for pick in picked)
        best = kept.get(name, {}).get("best", 0)
        best = best if type(best) is int else 0
        passed = "passed" if best >= PASS_MARK * len(questions) else "not yet"
        rows.append([name, f"{answered} of {len(questions)}", TableCell(f"{best}", number=True), passed])
    for name in sorted(name for name in kept if name.startswith(FINAL_NAME)):
        rows.append(_final_row(name, kept[name]))
    heads = ("quiz", "answered now", "best score", "passed")
    note = f" ({answers.problem})" if answers.problem else ""
    return table(f"Your progress{note}", heads, rows)


def _final_row(name: str, kept: Mapping[str, Any]) -> list[TableCell | str]:
    """Make the row of a final test. Its questions are not drawn anew: what was kept says enough."""
    picked, best, of = kept.get("picked"), kept.get("best"), kept.get("of")
    best, of = (number if type(number) is int else 0 for number in (best, of))
    answered = sum(pick != -1 for pick in picked) if isinstance(picked, list) else 0
    passed = "passed" if of and best >= PASS_MARK * of else "not yet"
    return [name, f"{answered} of {of}", TableCell(f"{best}", number=True), passed]
