"""Finds submissions that are much alike. That is a reason to read them side by side, and never a verdict."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from agentlib.course.grading.grade import GRADED, Row
from agentlib.course.grading.sketches import PART_CHARS

__all__ = ["alike_notes", "with_alike_notes"]

MIN_ALIKE = 0.85
"""The part of both sketches that is the same."""
MAX_NAMED = 5


def alike_notes(rows: Sequence[Row]) -> dict[int, str]:
    """Name, for each row that is much like others of its exercise, whose they are; by its place."""
    of_exercises: dict[str, dict[str, list[int]]] = {}
    for place, row in enumerate(rows):
        if row.fingerprint and row.status == GRADED and row.points:
            of_exercises.setdefault(row.exercise, {}).setdefault(row.fingerprint, []).append(place)
    notes = {}
    for groups in of_exercises.values():
        near = {one: [one] for one in groups}
        for one, other in _near(list(groups)):
            near[one].append(other)
            near[other].append(one)
        for one, places in groups.items():
            students = sorted({rows[place].student for other in near[one] for place in groups[other]})
            for place in places if len(students) > 1 else ():
                names = [name for name in students[: MAX_NAMED + 1] if name != rows[place].student]
                rest = len(students) - 1 - len(names[:MAX_NAMED])
                more = f" and {rest} more" if rest else ""
                notes[place] = (
                    f"The code is much like that of {', '.join(names[:MAX_NAMED])}{more}. The exercise is "
                    "short: that alone says little."
                )
    return notes


def _near(sketches: Sequence[str]) -> list[tuple[str, str]]:
    """Find the pairs of sketches that are nearly the same. What many share is no reason to compare two."""
    parts = {one: {one[at : at + PART_CHARS] for at in range(0, len(one), PART_CHARS)} for one in sketches}
    holders: dict[str, list[str]] = {}
    for one, theirs in parts.items():
        for part in theirs:
            holders.setdefault(part, []).append(one)
    many = max(10, len(sketches) // 100)
    shared = Counter(pair for ones in holders.values() if len(ones) <= many for pair in combinations(ones, 2))
    return [
        (one, other)
        for one, other in shared
        if len(parts[one] & parts[other]) >= MIN_ALIKE * len(parts[one] | parts[other])
    ]


def with_alike_notes(rows: Sequence[Row]) -> list[Row]:
    """Add these notes to rows. They are for the instructor alone."""
    notes = alike_notes(rows)
    return [
        replace(row, notes=(*row.notes, notes[place])) if place in notes else row
        for place, row in enumerate(rows)
    ]
