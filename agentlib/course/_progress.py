"""What a learner has done so far: lessons, exercises and the final test on one page."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentlib.course.checking.report import CheckReport
from agentlib.course.exercises import EXERCISES
from agentlib.views import store
from agentlib.views.describe import counted
from agentlib.views.quiz import FINAL_NAME, PASS_MARK
from agentlib.views.quiz.answers import Answers, best_of
from agentlib.views.quiz.predictions import counted_predictions
from agentlib.views.quiz.questions import asked_mark, known_quizzes, load_questions
from agentlib.views.shown import Html, Row, Shown, TableCell, joined_html, table, tag

__all__ = ["keep_check", "progress"]

NOT_BEGUN = "not begun"


def progress(folder: str | Path | None = None) -> Shown:
    """Show lessons, exercises and the final test on one page: what is done, and how well.

    folder: where it is kept; None = the user's data folder, or $AGENTLIB_DATA_DIR.
    """
    answers = Answers(folder)
    kept = answers.read()
    lessons = _lesson_rows(answers, kept)
    checked = answers.store.all(store.EXERCISES)
    exercises = [_exercise_row(name, checked.get(name, {})) for name in EXERCISES]
    # Its questions are not made anew: what was kept says enough.
    seeds = sorted((name for name in kept if name.startswith(FINAL_NAME)), key=_by_seed)
    tests: list[Row] = [_quiz_row(name, kept[name], kept[name].get("of")) for name in seeds]
    passed = any("passed" in row for row in tests)
    done = [
        _of(lessons[: len(known_quizzes())], "quiz", "quizzes", "passed"),
        _of(exercises, "exercise", "exercises", "all points", "with all points"),
        "the final test passed" if passed else "the final test not passed yet",
    ]
    tests = tests or [["final test", "-", "-", NOT_BEGUN]]
    words = f"Your progress: {', '.join(done)}." + (f" ({answers.problem})" if answers.problem else "")
    tables = [
        table("Lessons", ("quiz", "answered now", "best score", "state", "predicted right"), lessons),
        table("Exercises", ("exercise", "best points", "state"), exercises),
        table("Final test", ("test", "answered now", "best score", "state"), tests),
    ]
    html = joined_html(tag("p", words), *(_in_a_frame(each) for each in tables))
    return Shown(html, "\n\n".join([words, *(each.text for each in tables)]))


def keep_check(report: CheckReport, folder: str | Path | None = None) -> CheckReport:
    """Keep the best points of an exercise. Gives the report, with a note if they cannot be kept.

    A solution of the course that is open in JupyterLab does not count, nor does an untouched stub.
    """
    if not report.started or Path(os.environ.get("JPY_SESSION_NAME", "")).parent.name == "solutions":
        return report
    kept = store.Store(folder)
    best = max(report.points, _number(kept.read(store.EXERCISES, report.exercise).get("best")))
    if kept.keep(store.EXERCISES, report.exercise, {"best": best, "of": report.max_points}):
        return report
    return replace(report, notes=(*report.notes, kept.problem))


def _lesson_rows(answers: Answers, kept: Mapping[str, Mapping[str, Any]]) -> list[Row]:
    """Make a row for each quiz, and one for each lesson that has predictions and no quiz."""
    predictions = answers.store.all(store.PREDICTIONS)
    numbers = dict.fromkeys(name[:2] for name in sorted(predictions))
    counts = {number: counted_predictions(number, predictions) for number in numbers}
    told = {number: f"{right} of {known}" for number, (right, known) in counts.items() if known}
    rows: list[Row] = []
    for name in known_quizzes():
        questions = load_questions(name)
        sizes = [question.size for question in questions]
        value = {**kept.get(name, {}), "picked": answers.picked(name, sizes, asked_mark(questions))}
        # A lesson with two quizzes has its predictions counted once.
        rows.append([*_quiz_row(name, value, len(sizes)), told.pop(name[:2], "-")])
    return [*rows, *([f"lesson {number}", "-", "-", "-", words] for number, words in told.items())]


def _in_a_frame(one: Shown) -> Html:
    """Put a table where it can be moved sideways, by keys too, on a narrow page."""
    title = one.text.partition("\n")[0]
    name = {"role": "region", "aria_label": title, "tabindex": "0", "data_lm_suppress_shortcuts": "true"}
    return tag("div", one.html, style="overflow-x:auto", **name)


def _quiz_row(name: str, kept: Mapping[str, Any], questions: object) -> list[TableCell | str]:
    """Make the row of a quiz out of what stands in the file, which may be anything."""
    picked, of = kept.get("picked"), _number(questions)
    best, best_questions = best_of(dict(kept))
    best_questions = best_questions or of  # the first form did not always say
    answered = sum(pick != -1 for pick in picked) if isinstance(picked, list) else 0
    passed = best_questions and best >= PASS_MARK * best_questions
    state = "passed" if passed else "not yet" if answered or best else NOT_BEGUN
    score = f"{best}" if best_questions == of else f"{best} of {best_questions}"
    return [name, f"{answered} of {of}", TableCell(score, number=True), state]


def _exercise_row(name: str, kept: Mapping[str, Any]) -> list[TableCell | str]:
    best, of = _number(kept.get("best")), _number(kept.get("of"))
    if not of:
        return [name, "-", NOT_BEGUN]
    return [name, f"{best} of {of}", "all points" if best >= of else "not yet"]


def _of(rows: Sequence[Row], one: str, many: str, state: str, words: str = "") -> str:
    return f"{sum(state in row for row in rows)} of {counted(len(rows), one, many)} {words or state}"


def _by_seed(name: str) -> tuple[int, str]:
    seed = name.removeprefix(FINAL_NAME)
    return (int(seed) if seed.lstrip("-").isdecimal() else 0, name)


def _number(value: object) -> int:
    return value if type(value) is int else 0
