"""Archives of feedback, one for each exercise, named as a learning platform takes them back."""

import io
import re
import zipfile
from collections.abc import Iterator, Sequence

from agentlib.course.exercises import EXERCISES
from agentlib.course.grading.collect import CANVAS
from agentlib.course.grading.grade import Row
from agentlib.course.grading.pages import feedback_page

__all__ = ["feedback_archives"]


def feedback_archives(rows: Sequence[Row], format: str) -> Iterator[tuple[str, bytes]]:
    """Make the archives for a platform: the name of each, and its content.

    format: "canvas" or "moodle"; for others there are none. Students whom it does not know are left out.
    """
    place_of = {"moodle": moodle_place, "canvas": canvas_place}.get(format)
    for exercise in EXERCISES if place_of else ():
        pages = {
            place: feedback_page([row])
            for row in rows
            if row.exercise == exercise and place_of and (place := place_of(row))
        }
        if pages:
            yield f"feedback_{format}_{exercise}.zip", _zipped(pages)


def moodle_place(row: Row) -> str:
    """Give the place of a page in an archive for Moodle; "" where it knows no such participant.

    As mod/assign/feedback/file/importziplib.php reads it: parts with "_" between them, the second the number.
    """
    if not row.number or _canvas_name(row):
        return ""
    name = re.sub(r"[_/\\]", " ", row.student)
    return f"{name}_{row.number}_assignfeedback_file_/{row.exercise}.html"


def canvas_place(row: Row) -> str:
    """Give the place of a page in an archive for Canvas: its name for the file, but for the ending."""
    name = _canvas_name(row)
    return f"{name.rpartition('.')[0] or name}.html" if name else ""


def _canvas_name(row: Row) -> str:
    names = (name for name in re.split(r"[/:]+", row.file) if CANVAS.fullmatch(name))
    return next((name for name in names if not name.endswith(("_text.html", "_link.html"))), "")


def _zipped(pages: dict[str, str]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for place, page in pages.items():
            about = zipfile.ZipInfo(place)  # with no time of its own: made anew, it is the same
            about.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(about, page.encode("utf-8", "replace"))
    return made.getvalue()
