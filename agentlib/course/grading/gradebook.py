"""The command `gradebook` of `python -m agentlib`: puts grades into nbgrader's gradebook, by its own API."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentlib.course.errors import GradebookError
from agentlib.course.exercises import EXERCISES
from agentlib.course.grading.grade import Row
from agentlib.course.grading.results import best_points

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

__all__ = ["add_gradebook", "import_grades", "open_gradebook", "read_rows"]

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
        wanted = {name: value for name, value in theirs.items() if name in places}
        shared = student in namesakes  # then the name alone does not tell whose the points are
        names = (number,) if shared else (student, number)
        found = next((name for name in names if name in known), None)
        if found is None and wanted and shared:
            problems.append(
                f"Several students are named {student}; the points of the one with number {number or 'none'} "
                "are not in the gradebook. Add a student of that number there, or enter them by hand."
            )
        elif found is None and wanted and not add_students:
            problems.append(f"The gradebook has no student {student}. Add them there, or use --add-students.")
        if found is None and (shared or not add_students):
            continue
        found = found or student
        if found not in known:
            gradebook.add_student(found)
            known.add(found)  # Moodle numbers a student anew in each assignment: the name comes again
        for exercise, value in wanted.items():
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


def run_gradebook(arguments: argparse.Namespace) -> int:
    """Import grades. Returns 0; 1 if some could not be put in; 2 if none could be."""
    try:
        rows = read_rows(Path(arguments.results))
        with open_gradebook(arguments.db) as gradebook:
            count, problems = import_grades(
                rows, gradebook, arguments.assignment, add_students=arguments.add_students
            )
    except ImportError as problem:
        print(f'{problem}. Run: {sys.executable} -m pip install -e ".[teach]"', file=sys.stderr)
        return 2
    except GradebookError as problem:
        print(problem, file=sys.stderr)
        return 2
    for said in problems:
        print(said, file=sys.stderr)
    print(f"{count} grades are in {arguments.db}; {len(problems)} problems.")
    return 1 if problems else 0


def add_gradebook(commands: "Commands") -> None:
    """Add `gradebook` to the command line."""
    parser = commands.add_parser(
        "gradebook",
        help="put grades into nbgrader's gradebook",
        description="Put the grades that `grade` wrote into nbgrader's gradebook; twice is as good as once.",
        epilog="A student is found by the name, or else by the number, that grades.csv shows.",
    )
    parser.add_argument("results", help="the folder that `grade` had as --out")
    parser.add_argument(
        "--db", default="sqlite:///gradebook.db", help="the gradebook's address (default: %(default)s)"
    )
    parser.add_argument(
        "--assignment", help="nbgrader's name for the assignment, if an exercise is in several"
    )
    parser.add_argument("--add-students", action="store_true", help="add students whom the gradebook lacks")
    parser.set_defaults(run=run_gradebook)
