"""What comes out of a batch, in the forms that others take: spreadsheets, Canvas, Moodle, nbgrader."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentlib.course.errors import GradebookError
from agentlib.course.exercises import EXERCISES
from agentlib.course.grading.alike import with_alike_notes
from agentlib.course.grading.files import show_hidden, write_whole
from agentlib.course.grading.give_back import feedback_archives
from agentlib.course.grading.grade import Row
from agentlib.course.grading.pages import class_page, feedback_name, feedback_page

__all__ = [
    "canvas_text",
    "csv_text",
    "import_grades",
    "moodle_texts",
    "open_gradebook",
    "read_rows",
    "without_number",
    "write_results",
]

BOM = "\ufeff"
"""The mark by which spreadsheets know UTF-8."""

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
    "late",
    "file",
    "notes",
)


MOODLE_COLUMNS = ("Identifier", "Full name", "Grade", "Maximum Grade", "Last modified (grade)")


# --- the files of a batch


def json_parts(rows: Sequence[Row]) -> Iterator[str]:
    """Give a list of all rows as JSON text, in parts: as a whole it would be large for a large class."""
    for number, row in enumerate(rows):
        yield (",\n" if number else "[\n") + json.dumps(row.as_dict(), indent=1)
    yield "\n]\n" if rows else "[]\n"


def write_results(rows: Sequence[Row], out: Path, format: str = "") -> None:
    """Write `grades.csv`, `grades.json`, `class.html` and `feedback/`, each file whole or not at all.

    format: "canvas" or "moodle" writes the tables that one of them imports, too, and an archive with the
    feedback of each exercise; "excel" a table for spreadsheets that part cells with semicolons.
    """
    feedback = out / "feedback"
    feedback.mkdir(parents=True, exist_ok=True)
    counting = rows_that_count(rows)
    table = with_alike_notes(counting)
    write_whole(out / "grades.csv", BOM + csv_text(table))
    write_whole(out / "grades.json", json_parts(rows))
    write_whole(out / "class.html", class_page(counting))
    if format == "excel":
        write_whole(out / "grades_excel.csv", BOM + csv_text(table, delimiter=";"))
    if format == "canvas":
        write_whole(out / "grades_canvas.csv", canvas_text(rows))
    if format == "moodle":
        for exercise, text in moodle_texts(rows).items():
            write_whole(out / f"grades_moodle_{exercise}.csv", text)
    for name, archive in feedback_archives(counting, format):
        write_whole(out / name, archive)
    pages: dict[str, list[Row]] = {}
    for row in rows:
        pages.setdefault(feedback_name(row.student, row.number), []).append(row)
    for name, theirs in pages.items():
        write_whole(feedback / name, feedback_page(theirs))
    for path in feedback.iterdir():
        if path.name not in pages and path.suffix in (".html", ".part") and path.is_file():
            path.unlink()


# --- tables

# Some spreadsheets split cells at a semicolon or a tab, whatever the quotes say, and some take the wide
# characters of East Asian keyboards for formulas, too.
FORMULA = re.compile(r"(^|[;\t\r\n])(?= *[=+@\uFF1D\uFF0B\uFF0D\uFF20-])")
"""The place before what would be taken for a formula."""


def plain_cell(value: object) -> object:
    """Give a value for a spreadsheet: what would be taken for a formula gets a quote before it."""
    if not isinstance(value, str):
        return value
    text = FORMULA.sub(r"\1'", show_hidden(value))
    return f"'{text}" if text.startswith(("\t", "\r", "\n")) else text


def _table(lines: Iterable[Sequence[object]], delimiter: str = ",") -> str:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter).writerows(lines)
    return out.getvalue()


def csv_text(rows: Iterable[Row], delimiter: str = ",") -> str:
    """Write rows as a table for a spreadsheet. delimiter: with ";" numbers have a comma and no point."""
    lines: list[Sequence[object]] = [COLUMNS]
    for row in rows:
        about = {**row.as_dict(), "notes": " ".join(row.notes), "late": "late" if row.late else ""}
        if delimiter == ";":
            about["seconds"] = str(row.seconds).replace(".", ",")
        lines.append([plain_cell(about[name]) for name in COLUMNS])
    return _table(lines, delimiter)


def rows_that_count(rows: Sequence[Row]) -> list[Row]:
    """Leave out a student's other files for an exercise: the one with the most points counts."""
    best: dict[tuple[str, str, str], Row] = {}
    for row in rows:
        key = (row.student, row.number, row.exercise)
        if key not in best or row.points > best[key].points:
            best[key] = row
    return [row for row in rows if not row.exercise or best[row.student, row.number, row.exercise] is row]


def best_points(rows: Sequence[Row]) -> dict[tuple[str, str], dict[str, int]]:
    """Give the points of each student, by name and number, for each exercise; the best file counts."""
    points: dict[tuple[str, str], dict[str, int]] = {}
    for row in rows_that_count(rows):
        if row.exercise:
            points.setdefault((row.student, row.number), {})[row.exercise] = row.points
    return points


def canvas_text(rows: Sequence[Row]) -> str:
    """Write points as Canvas imports them into its gradebook: a column an exercise, found by its name there.

    Canvas knows students by the number in the names of the files that it gave out, else by name.
    The columns are those that lib/gradebook_importer.rb of canvas-lms looks for.
    """
    points = best_points(rows)
    names = [name for name in EXERCISES if any(name in of_student for of_student in points.values())]
    lines: list[list[object]] = [
        ["Student", "ID", "Section", *names],
        ["    Points Possible", "", "", *(EXERCISES[name].max_points for name in names)],
    ]
    for (student, number), of_student in points.items():
        lines.append([plain_cell(student), number, "", *(of_student.get(name, "") for name in names)])
    return _table(lines)


def moodle_texts(rows: Sequence[Row]) -> dict[str, str]:
    """Write points as Moodle's "Upload grading worksheet" takes them: a table for each exercise.

    Moodle knows students by the number in the names of the files that it gave out; others are left out.
    The columns are those that mod/assign/feedback/offline/importgradeslib.php looks for. When we graded is
    not when Moodle did, so its box for records that were modified more recently has to be ticked.
    """
    points = best_points(rows)
    texts = {}
    for name, exercise in EXERCISES.items():
        lines = [
            [f"Participant {number}", plain_cell(student), of_student[name], exercise.max_points, "-"]
            for (student, number), of_student in points.items()
            if number and name in of_student
        ]
        if lines:
            texts[name] = _table([MOODLE_COLUMNS, *lines])
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


# --- nbgrader's gradebook

SQLITE = "sqlite:///"


def read_rows(folder: Path) -> list[Row]:
    """Read the grades that `grade` wrote. Raises GradebookError if there are none to be read."""
    path = folder / "grades.json"
    try:
        return [
            Row(**{**about, "notes": tuple(about["notes"])})
            for about in json.loads(path.read_text(encoding="utf-8"))
        ]
    except FileNotFoundError:
        raise GradebookError(
            f"There is no {path}. Give the folder that `python -m agentlib grade` had as --out."
        ) from None
    except OSError as problem:
        raise GradebookError(f"{path} cannot be read ({problem.strerror}).") from None
    except (ValueError, TypeError, KeyError):
        raise GradebookError(
            f"{path} was not written by this version of the course. Grade the folder again."
        ) from None


def open_gradebook(address: str) -> Any:
    """Open a gradebook and give it.

    address: of the database, such as "sqlite:///gradebook.db", or the path of its file.
    Raises GradebookError if there is none, and ImportError without nbgrader.
    """
    from nbgrader.api import Gradebook  # noqa: PLC0415  an extra, and it loads nbgrader's whole server

    if "://" not in address:
        address = SQLITE + address
    file = Path(address.removeprefix(SQLITE))
    if address.startswith(SQLITE) and not file.is_file():  # it would be made, empty
        raise GradebookError(
            f"There is no gradebook {file}. nbgrader makes it in the folder of your course: "
            "nbgrader generate_assignment ASSIGNMENT"
        )
    try:
        return Gradebook(address)
    except Exception as problem:  # of its database, of which each kind has errors of its own
        raise GradebookError(
            f"{address} cannot be opened as a gradebook ({str(problem).splitlines()[0]})."
        ) from None


def find_assignment(gradebook: Any, exercise: str, only: str | None) -> str:
    """Find the assignment that has an exercise's notebook. Raises GradebookError if that is not one.

    only: the name of the one assignment to look at; None = all.
    """
    names = [
        assignment.name
        for assignment in gradebook.assignments
        if only in (None, assignment.name)
        and any(notebook.name == exercise for notebook in assignment.notebooks)
    ]
    if len(names) == 1:
        return str(names[0])
    if names:
        raise GradebookError(
            f"{exercise} is in the assignments {', '.join(sorted(names))}; choose one with --assignment."
        )
    where = f"the assignment {only}" if only else "the gradebook"
    raise GradebookError(
        f"{exercise} is not in {where}. Put solutions/{exercise}.ipynb into source/{only or exercise}/ "
        f"and run: nbgrader generate_assignment {only or exercise}"
    )


def graded_cell(gradebook: Any, exercise: str, assignment: str) -> str:
    """Find the cell with the points of an exercise. Raises GradebookError if it is not as in the course."""
    cells = {cell.name: cell.max_score for cell in gradebook.find_notebook(exercise, assignment).grade_cells}
    name, points = f"{exercise.split('_')[0]}_points", EXERCISES[exercise].max_points
    if cells != {name: points}:
        found = ", ".join(f"{cell} ({most:g} points)" for cell, most in sorted(cells.items())) or "none"
        raise GradebookError(
            f"{exercise} in {assignment} should have one graded cell, {name} ({points} points), and has "
            f"{found}. Run again: nbgrader generate_assignment {assignment} --force"
        )
    return name


def shared_names(points: Mapping[tuple[str, str], Mapping[str, int]]) -> set[str]:
    """Find the names that several students have: two numbers with one name handed in the same exercise.

    points: by name and number, for each exercise. One student may have several numbers: Moodle gives another
    in each assignment.
    """
    counts = Counter((student, exercise) for (student, _), theirs in points.items() for exercise in theirs)
    return {student for (student, _), count in counts.items() if count > 1}


def import_grades(
    rows: Sequence[Row], gradebook: Any, assignment: str | None = None, *, add_students: bool = False
) -> tuple[int, list[str]]:
    """Put points into a gradebook. Gives the number of grades that were put in, and what could not be.

    rows: as `grade` gives them; of several files for one exercise the best counts. assignment: the only one
    to look at; None = that which has the exercise. add_students: True = add those that it does not know.
    A grade that an instructor gave by hand in nbgrader stays above ours, as it does above nbgrader's own.
    """
    from nbgrader.api import MissingEntry  # noqa: PLC0415  an extra

    count, problems = 0, []
    places: dict[str, tuple[str, str]] = {}
    points = best_points(rows)
    for exercise in [name for name in EXERCISES if any(name in theirs for theirs in points.values())]:
        try:
            place = find_assignment(gradebook, exercise, assignment)
            places[exercise] = (place, graded_cell(gradebook, exercise, place))
        except GradebookError as problem:
            problems.append(str(problem))
    problems += [
        f"{row.file} ({row.student}) is no known exercise; it has no grade."
        for row in rows
        if not row.exercise
    ]
    known = {str(student.id) for student in gradebook.students}
    namesakes = shared_names(points)
    for (student, number), theirs in points.items():
        placed = {name: value for name, value in theirs.items() if name in places}
        shared = student in namesakes  # then the name alone does not tell whose the points are
        names = (number,) if shared else (student, number)
        found = next((name for name in names if name in known), None)
        if found is None and placed and shared:
            problems.append(
                f"Several students are named {student}; the points of the one with number {number or 'none'} "
                "are not in the gradebook. Add a student of that number there, or enter them by hand."
            )
        elif found is None and placed and not add_students:
            problems.append(f"The gradebook has no student {student}. Add them there, or use --add-students.")
        if found is None and (shared or not add_students):
            continue
        found = found or student
        if found not in known:
            gradebook.add_student(found)
            known.add(found)  # Moodle numbers a student anew in each assignment: the name comes again
        for exercise, value in placed.items():
            place, cell = places[exercise]
            with gradebook.db.no_autoflush:  # else its database warns of half a submission
                gradebook.update_or_create_submission(place, found)
            try:
                grade = gradebook.find_grade(cell, exercise, place, found)
            except MissingEntry:
                problems.append(f"The gradebook has no cell for {exercise} of {found} in {place}.")
                continue
            grade.auto_score = value
            grade.needs_manual_grade = grade.manual_score is not None
            count += 1
    gradebook.db.commit()
    return count, problems
