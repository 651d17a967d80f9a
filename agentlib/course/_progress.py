"""What a learner has done so far, as a table."""

from pathlib import Path

from agentlib.views.quiz import FINAL_NAME, PASS_MARK
from agentlib.views.quiz.answers import Answers
from agentlib.views.quiz.questions import known_quizzes, load_questions
from agentlib.views.shown import Shown, TableCell, table

__all__ = ["progress"]


def progress(folder: str | Path | None = None) -> Shown:
    """Show which quizzes of the course are answered and passed, as a table. folder: as for `quiz`."""
    answers = Answers(None if folder is None else Path(folder))
    kept = answers.read()
    rows = []
    for name in known_quizzes():
        sizes = [len(question.choices) for question in load_questions(name)]
        rows.append(_row(name, answers.picked(name, sizes), kept.get(name, {}).get("best"), len(sizes)))
    for name in sorted(name for name in kept if name.startswith(FINAL_NAME)):
        # Its questions are not drawn anew: what was kept says enough.
        test = kept[name]
        rows.append(_row(name, test.get("picked"), test.get("best"), test.get("of")))
    heads = ("quiz", "answered now", "best score", "passed")
    note = f" ({answers.problem})" if answers.problem else ""
    return table(f"Your progress{note}", heads, rows)


def _row(name: str, picked: object, best: object, questions: object) -> list[TableCell | str]:
    """Make the row of a quiz out of what stands in the file, which may be anything."""
    score, of = (number if type(number) is int else 0 for number in (best, questions))
    answered = sum(pick != -1 for pick in picked) if isinstance(picked, list) else 0
    passed = "passed" if of and score >= PASS_MARK * of else "not yet"
    return [name, f"{answered} of {of}", TableCell(f"{score}", number=True), passed]
