"""The pages that come out of a batch: one of the class, and one for each student."""

import functools
import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from agentlib.course.checking.report import NOT_YET, CheckReport, CriterionResult
from agentlib.course.checking.saw import HEADS, Saw
from agentlib.course.exercises import EXERCISES
from agentlib.course.grading.alike import alike_notes
from agentlib.course.grading.files import show_hidden
from agentlib.course.grading.grade import GRADED, Row
from agentlib.course.grading.overview import needs_look, stuck_at
from agentlib.views.shown import caption_html

__all__ = ["class_page", "feedback_name", "feedback_page"]

TAKEN = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?|.*_[0-9a-f]{8}")
"""Names that are devices on Windows, and those that may be made of another student's below."""


def feedback_name(student: str, number: str = "") -> str:
    """Make the name of a student's page: fit for every file system, and no two students share one."""
    whole = f"{student} {number}".strip()
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", whole) if not unicodedata.combining(sign))
    safe = re.sub(r"[^\w.-]+", "_", plain, flags=re.ASCII).strip("._-")[:80]
    if not safe or safe.lower() != whole or TAKEN.fullmatch(safe):  # some file systems do not tell A from a
        both = f"{student}\0{number}" if number else student  # "ann" with number 12 is not "ann 12"
        safe += "_" + hashlib.sha256(both.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{safe}.html"


def feedback_page(rows: Sequence[Row]) -> str:
    """Write the page of one student."""
    return _page("feedback.html", title=rows[0].student, rows=[_feedback(row) for row in rows])


def _feedback(row: Row) -> dict[str, Any]:
    """Give what the page of a student shows of a row."""
    about = {"points": row.points, "max_points": row.of, "status": row.status, "file": row.file}
    about["title"] = row.exercise.replace("_", " ") if row.exercise in EXERCISES else row.file
    report = row.report and _report(row.report, row.notes)
    about["report_html"] = report._repr_html_() if report else ""
    about["saw"] = [(one.wanted, HEADS, one.saw) for one in report.results if one.saw] if report else []
    # The report of one that was begun shows the notes itself.
    about["notes"] = () if report and report.started else row.notes
    return about


def _report(about: dict[str, Any], notes: Sequence[str]) -> CheckReport:
    """Make a report of its plain form."""
    results = tuple(
        CriterionResult(
            id=one["id"],
            status=one["status"],
            points=one["points"],
            max_points=one["max_points"],
            part=one.get("part", 0),  # results graded before parts had numbers
            wanted=one["wanted"],
            seen=one["seen"],
            hints=tuple(one["hints"]) if one["hints"] else ("", ""),
            saw=tuple(Saw(**row) for row in one.get("saw", ())),  # batches of before have none
        )
        for one in about["results"]
    )
    return CheckReport(
        about["exercise"], about["title"], about["seed"], about["started"], results, tuple(notes)
    )


def class_page(rows: Sequence[Row]) -> str:
    """Write the page of the class: what needs a look, where the class is stuck, and who has what."""
    exercises = [_statistics(name, rows) for name in EXERCISES if any(_has_report(name, row) for row in rows)]
    alike = alike_notes(rows)
    lines = [
        {
            **vars(row),
            "notes": (*row.notes, *filter(None, [alike.get(place)])),
            "page": feedback_name(row.student, row.number),
            "anchor": f"row-{place + 1}",
            "needs_look": needs_look(row),
            "alike": place in alike,
        }
        for place, row in enumerate(rows)
    ]
    return _page(
        "class.html",
        title="The class",
        statuses=Counter(row.status for row in rows).items(),
        exercises=exercises,
        rows=lines,
    )


def _has_report(exercise: str, row: Row) -> bool:
    return row.exercise == exercise and row.status == GRADED and row.report is not None


def _statistics(exercise: str, rows: Sequence[Row]) -> dict[str, Any]:
    """Give what the page of the class shows of an exercise; pairs hold a text and how many it is true of."""
    graded = [row for row in rows if _has_report(exercise, row)]
    reports = [row.report["results"] for row in graded if row.report]
    met = Counter(one["id"] for report in reports for one in report if one["passed"])
    failed = (next((one["wanted"] for one in report if one["status"] == NOT_YET), "") for report in reports)
    points = Counter(row.points for row in graded)
    return {
        "title": exercise.replace("_", " "),
        "anchor": exercise,
        "stuck": stuck_at(exercise, graded),
        "graded": len(graded),
        "criteria": [(one.id.replace("_", " "), met[one.id]) for one in EXERCISES[exercise].criteria],
        "meanings": [(one.id.replace("_", " "), one.wanted) for one in EXERCISES[exercise].criteria],
        "points": [
            (f"{number} point{'' if number == 1 else 's'}", points[number])
            for number in sorted(points, reverse=True)
        ],
        "first_failure": Counter(filter(None, failed)).most_common(1),
    }


def _page(template: str, **values: object) -> str:
    return show_hidden(_templates().get_template(template).render(values))


@functools.cache
def _templates() -> Environment:
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["code"] = lambda text: Markup(caption_html(text))
    return templates
