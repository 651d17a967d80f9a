"""What comes out of a batch: a table for a spreadsheet, plain data, and a page for each student."""

import csv
import hashlib
import html
import io
import json
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from agentlib.course.checking.report import NOT_YET, CheckReport, CriterionResult
from agentlib.course.exercises import EXERCISES
from agentlib.course.grading.grade import GRADED, Row

__all__ = [
    "canvas_text",
    "class_page",
    "csv_text",
    "feedback_name",
    "feedback_page",
    "moodle_texts",
    "without_number",
    "write_results",
]

COLUMNS = (
    "student",
    "number",
    "exercise",
    "points",
    "of",
    "status",
    "isolation",
    "seed",
    "seconds",
    "file",
    "notes",
)
# A page from which nothing is loaded and in which nothing runs, whatever a browser makes of its words.
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title>
<style>
:root {{ color-scheme: light dark; background: Canvas; color: CanvasText }}
body {{ font-family: system-ui, sans-serif; line-height: 1.5; overflow-wrap: anywhere }}
body {{ margin: 2em auto; max-width: 60em; padding: 0 1em }}
table {{ border-collapse: collapse; width: 100% }}
th, td {{ border-bottom: 1px solid #8888; padding: 0.3em 0.6em; text-align: left; vertical-align: top }}
th, strong {{ overflow-wrap: normal }}
tr:has(+ .note), tr:has(+ .note) td {{ border-bottom: 0 }}
/* On a phone a row is a block: its cells stand one below the other, and nothing runs out of the page. */
@media (max-width: 40em) {{
thead {{ display: none }}
tr, th, td {{ display: block }}
tr {{ border-bottom: 1px solid #8888; padding: 0.5em 0 }}
th, td {{ border: 0; padding: 0 }}
}}
</style></head><body><main>
{body}
</main></body></html>
"""


# Some spreadsheets part cells at a semicolon or a tab, whatever the quotes say, and some take the wide signs
# of East Asian keyboards, too.
FORMULA = re.compile(r"(^|[;\t\r\n])(?= *[=+@\uFF1D\uFF0B\uFF0D\uFF20-])")
"""The place before what would be taken for a formula."""


def plain_cell(value: object) -> object:
    """Give a value for a spreadsheet: what would be taken for a formula gets a quote before it."""
    if not isinstance(value, str):
        return value
    text = FORMULA.sub(r"\1'", value)
    return f"'{text}" if text.startswith(("\t", "\r", "\n")) else text


def csv_text(rows: Iterable[Row]) -> str:
    """Write rows as a table for a spreadsheet."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for row in rows:
        about = {**row.as_dict(), "notes": " ".join(row.notes)}
        writer.writerow([plain_cell(about[name]) for name in COLUMNS])
    return out.getvalue()


def best_points(rows: Iterable[Row]) -> dict[tuple[str, str], dict[str, int]]:
    """Give the points of each student, by name and number, for each exercise; the best file counts."""
    points: dict[tuple[str, str], dict[str, int]] = {}
    for row in rows:
        if row.exercise:
            of_student = points.setdefault((row.student, row.number), {})
            of_student[row.exercise] = max(row.points, of_student.get(row.exercise, 0))
    return points


def canvas_text(rows: Sequence[Row]) -> str:
    """Write points as Canvas imports them into its gradebook: a column an exercise, found by its name there.

    Canvas knows students by the number in the names of the files that it gave out, else by name.
    The columns are those that lib/gradebook_importer.rb of canvas-lms looks for.
    """
    points = best_points(rows)
    names = [name for name in EXERCISES if any(name in of_student for of_student in points.values())]
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(["Student", "ID", "Section", *names])
    writer.writerow(["    Points Possible", "", "", *(EXERCISES[name].max_points for name in names)])
    for (student, number), of_student in points.items():
        writer.writerow([plain_cell(student), number, "", *(of_student.get(name, "") for name in names)])
    return out.getvalue()


def moodle_texts(rows: Sequence[Row]) -> dict[str, str]:
    """Write points as Moodle's "Upload grading worksheet" takes them: a table for each exercise.

    Moodle knows students by the number in the names of the files that it gave out; others are left out.
    The columns are those that mod/assign/feedback/offline/importgradeslib.php looks for. When we graded is
    not when Moodle did, so its box for records that were modified more recently has to be ticked.
    """
    points = best_points(rows)
    texts = {}
    for name, exercise in EXERCISES.items():
        out = io.StringIO(newline="")
        writer = csv.writer(out)
        writer.writerow(["Identifier", "Full name", "Grade", "Maximum Grade", "Last modified (grade)"])
        count = 0
        for (student, number), of_student in points.items():
            if number and name in of_student:
                count += 1
                row = [
                    f"Participant {number}",
                    plain_cell(student),
                    of_student[name],
                    exercise.max_points,
                    "-",
                ]
                writer.writerow(row)
        if count:
            texts[name] = out.getvalue()
    return texts


def without_number(rows: Sequence[Row], format: str) -> str:
    """Say how many students an LMS cannot tell by a number; "" = none. format: "canvas" or "moodle"."""
    students = best_points(rows)
    count = sum(not number for _, number in students)
    if not count:
        return ""
    what = {
        "canvas": "The table for Canvas has no ID for them: see that it finds them by name.",
        "moodle": "They are not in the tables for Moodle.",
    }[format]
    return (
        f"{count} of {len(students)} students have no number: it comes from the file names of the LMS's own "
        f"download. {what}"
    )


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


def report_of(about: dict[str, Any], notes: Sequence[str]) -> CheckReport:
    """Make a report of its plain form."""
    results = tuple(
        CriterionResult(
            id=one["id"],
            status=one["status"],
            points=one["points"],
            max_points=one["max_points"],
            wanted=one["wanted"],
            seen=one["seen"],
            hints=tuple(one["hints"]) if one["hints"] else ("", ""),
        )
        for one in about["results"]
    )
    return CheckReport(
        about["exercise"], about["title"], about["seed"], about["started"], results, tuple(notes)
    )


def feedback_page(rows: Sequence[Row]) -> str:
    """Write the page of one student."""
    student = html.escape(rows[0].student)
    parts = [f"<h1>{student}</h1>"]
    for row in rows:
        exercise = EXERCISES.get(row.exercise)
        title = f"{row.exercise.replace('_', ' ')}" if exercise else row.file
        parts.append(f"<h2>{html.escape(title)}</h2>")
        parts.append(
            f"<p>{row.points} of {row.of} points; {html.escape(row.status)}; {html.escape(row.file)}</p>"
        )
        if row.report is not None:
            parts.append(report_of(row.report, row.notes)._repr_html_())
        if row.report is None or not row.report["started"]:
            parts += [f"<p>{html.escape(note)}</p>" for note in row.notes]
    return PAGE.format(title=student, body="\n".join(parts))


def bars(title: str, counts: Sequence[tuple[str, int]], most: int) -> str:
    """Draw a picture of bars, one a line, with its numbers in words beside them."""
    height = 26 * len(counts)
    lines = []
    for place, (name, count) in enumerate(counts):
        width = 220 * count / most if most else 0
        y = 26 * place
        lines.append(
            f'<text x="150" y="{y + 17}" text-anchor="end" fill="currentColor">{html.escape(name)}</text>'
            f'<rect x="160" y="{y + 4}" width="{width:.0f}" height="18" fill="#0072b2"/>'
            f'<text x="{166 + width:.0f}" y="{y + 17}" fill="currentColor">{count} of {most}</text>'
        )
    words = html.escape(f"{title}: " + ", ".join(f"{name} {count} of {most}" for name, count in counts))
    return (
        # As wide as a phone, so that its words can be read there, and not much wider elsewhere.
        f'<svg role="img" aria-label="{words}" viewBox="0 0 480 {height}" width="100%" font-size="14" '
        f'style="display: block; max-width: 36em">'
        f"<title>{words}</title>{''.join(lines)}</svg>"
    )


def class_line(row: Row) -> str:
    """Write one row of the page of the class; its notes stand in a row below it."""
    notes = "<br>".join(html.escape(note) for note in row.notes)
    return (
        f'<tr><td><a href="feedback/{html.escape(feedback_name(row.student, row.number))}">'
        f"{html.escape(row.student)}</a>{html.escape(row.number and f' ({row.number})')}</td>"
        f"<td>{html.escape(row.exercise)}</td>"
        f"<td>{row.points} of {row.of}</td><td>{html.escape(row.status)}</td>"
        f"<td>{html.escape(row.isolation)}</td></tr>"
    ) + (f'<tr class="note"><td colspan="5">{notes}</td></tr>' if notes else "")


def class_page(rows: Sequence[Row]) -> str:
    """Write the page of the class: who has what, how many met each criterion, and what failed first."""
    parts = ["<h1>The class</h1>"]
    counts = Counter(row.status for row in rows)
    parts.append(
        "<p>" + ", ".join(f"{count} {html.escape(status)}" for status, count in counts.items()) + "</p>"
    )
    for name, exercise in EXERCISES.items():
        graded = [row for row in rows if row.exercise == name and row.status == GRADED and row.report]
        if not graded:
            continue
        results = [row.report["results"] for row in graded if row.report]
        met = Counter(one["id"] for report in results for one in report if one["passed"])
        first = Counter(
            next((one["wanted"] for one in report if one["status"] == NOT_YET), "") for report in results
        )
        first.pop("", None)
        points = Counter(row.points for row in graded)
        parts.append(f"<h2>{html.escape(name.replace('_', ' '))}</h2><h3>Met each criterion</h3>")
        criteria = [(one.id.replace("_", " "), met[one.id]) for one in exercise.criteria]
        parts.append(bars("Met each criterion", criteria, len(graded)))
        parts.append("<h3>Points</h3>")
        spread = [(f"{n} points", points[n]) for n in sorted(points, reverse=True)]
        parts.append(bars("Points", spread, len(graded)))
        if first:
            ((wanted, count),) = first.most_common(1)
            parts.append(
                f"<p>Most common first failure ({count} of {len(graded)}): {html.escape(wanted)}.</p>"
            )
    lines = "".join(class_line(row) for row in rows)
    heads = "".join(
        f'<th scope="col">{head}</th>' for head in ("Student", "Exercise", "Points", "Status", "Isolation")
    )
    parts.append(f"<h2>All</h2><table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>")
    return PAGE.format(title="The class", body="\n".join(parts))


def json_parts(rows: Sequence[Row]) -> Iterator[str]:
    """Give a list of all rows as JSON text, in parts: as a whole it would be large for a large class."""
    for number, row in enumerate(rows):
        yield (",\n" if number else "[\n") + json.dumps(row.as_dict(), indent=1)
    yield "\n]\n" if rows else "[]\n"


def write_results(rows: Sequence[Row], out: Path, format: str = "") -> None:
    """Write `grades.csv`, `grades.json`, `class.html` and `feedback/`, each file whole or not at all.

    format: "canvas" or "moodle" writes the tables that one of them imports, too.
    """
    feedback = out / "feedback"
    feedback.mkdir(parents=True, exist_ok=True)
    _write(out / "grades.csv", "\ufeff" + csv_text(rows))  # the mark by which spreadsheets know UTF-8
    _write(out / "grades.json", json_parts(rows))
    _write(out / "class.html", class_page(rows))
    if format == "canvas":
        _write(out / "grades_canvas.csv", canvas_text(rows))
    if format == "moodle":
        for exercise, text in moodle_texts(rows).items():
            _write(out / f"grades_moodle_{exercise}.csv", text)
    pages: dict[str, list[Row]] = {}
    for row in rows:
        pages.setdefault(feedback_name(row.student, row.number), []).append(row)
    for name, theirs in pages.items():
        _write(feedback / name, feedback_page(theirs))
    for path in feedback.iterdir():
        if path.name not in pages and path.suffix in (".html", ".part") and path.is_file():
            path.unlink()


def _write(path: Path, text: str | Iterable[str]) -> None:
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf-8", errors="replace", newline="") as file:
        file.writelines([text] if isinstance(text, str) else text)
    os.replace(part, path)
