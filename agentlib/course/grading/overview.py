"""What an instructor looks at first: rows that need a look, and where a class is stuck."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from agentlib.course.checking.report import NOT_YET
from agentlib.course.exercises import EXERCISES
from agentlib.course.grading.grade import GRADED, NOT_STARTED, Row

__all__ = ["needs_look", "stuck_at"]

OWN_DATA = re.compile(r"`[^`]*`|\"[^\"]*\"|'[^']*'|\d+(?:\.\d+)?")
"""What differs in a fault from student to student, since each has data of their own."""


def needs_look(row: Row) -> bool:
    """Whether an instructor should look at a row: it is no plain grade, has no point, or there is a note."""
    return (
        row.status not in (GRADED, NOT_STARTED)
        or (row.status == GRADED and not row.points)
        or bool(row.notes)
    )


def stuck_at(exercise: str, rows: Sequence[Row]) -> dict[str, Any] | None:
    """Give the part of an exercise that most have missed, with its two most common faults; None = none was.

    A part that could not be judged is not counted: what comes before it is.
    """
    reports = [row.report["results"] for row in rows if row.exercise == exercise and row.report]
    missed = Counter(one["id"] for report in reports for one in report if one["status"] == NOT_YET)
    if not missed:
        return None
    most, count = missed.most_common(1)[0]
    results = [one for report in reports for one in report if one["id"] == most]
    seen = [one["seen"] for one in results if one["status"] == NOT_YET]
    kinds = Counter(OWN_DATA.sub("…", fault) for fault in seen)
    faults = [
        (next(fault for fault in seen if OWN_DATA.sub("…", fault) == kind), times)
        for kind, times in kinds.most_common(2)
    ]
    # A report of another version of the course may name a part that is no longer there.
    wanted = next((one.wanted for one in EXERCISES[exercise].criteria if one.id == most), most)
    return {"wanted": wanted, "missed": count, "of": len(reports), "faults": faults}
