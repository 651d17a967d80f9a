"""Finds submissions in a folder, and who handed them in, as nbgrader, Moodle and Canvas lay them out."""

import os
import re
import stat
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agentlib.course.errors import NotebookError
from agentlib.course.exercises import exercise_of
from agentlib.course.grading.limits import Limits

__all__ = ["Submission", "find_submissions", "printable", "read_submission", "who"]

SKIPPED = re.compile(r"\.ipynb_checkpoints|\.git|\.venv|__MACOSX|__pycache__|\._.*", re.DOTALL)
"""What computers put beside a student's files."""
MAX_FOLDER_DEPTH = 20
"""Folders inside each other."""
MAX_MEMBERS = 10_000
"""Files in one archive: its list is read anew for each of them."""

NO_NOTEBOOK = "There is no notebook in what was handed in."
NESTED = " It is an archive in an archive: unpack the outer one, and grade again."

# "Name_123_assignsubmission_file" (a folder) or "Name_123_assignsubmission_file_ex01.ipynb"; a text that was
# written in Moodle has "onlinetext" there
MOODLE = re.compile(
    r"(?P<name>.+?)_(?P<number>\d+)_assignsubmission_(?:file|onlinetext)(?:_|$)(?P<rest>.*)", re.DOTALL
)
# "doejane_123_4567_ex01.ipynb", or with "LATE_" before the numbers; a text or an address that was written in
# Canvas is "doejane_123_text.html" or "doejane_123_link.html"
CANVAS = re.compile(
    r"(?P<name>.+?)_(?:LATE_)?(?P<number>\d+)_(?:\d+_(?P<rest>.+)|(?:text|link)\.html)", re.DOTALL
)
DATED = re.compile(r"_(?:19|20)\d\d_\d{1,4}_")


@dataclass(frozen=True)
class Submission:
    """One file that was handed in.

    student: a name, fit to be shown. number: the learning system's own for that student, "" if there is none.
    exercise: its name, "" if the file's name does not tell. file: inside the folder, fit to be shown.
    path: of the file, or of the archive that it is in. member: its number there; None = no archive.
    problem: why it cannot be graded; "" if nothing is known to be wrong.
    """

    student: str
    number: str
    exercise: str
    file: str
    path: Path
    member: int | None = None
    problem: str = ""


def printable(name: str) -> str:
    """Make a file's name fit to be shown: what is no text, or would move the cursor, becomes its number."""
    return "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in name)


def find_submissions(folder: Path) -> list[Submission]:
    """List what was handed in, by student, exercise and file. Raises OSError if there is no folder."""
    found = _with_one_row_each(_walk(folder, ()))
    return sorted(found, key=lambda submission: (submission.student, submission.exercise, submission.file))


def _with_one_row_each(all_found: Iterable[Submission]) -> list[Submission]:
    """Leave out a student's other files where there is a notebook, and all but one where there is none.

    Each download of a learning system is looked at by itself: it is one assignment.
    """
    rows: list[Submission] = []
    others: dict[tuple[str, str, Path | None], Submission] = {}
    for found in all_found:
        if found.problem.startswith(NO_NOTEBOOK):
            if found.problem != NO_NOTEBOOK or _whose(found) not in others:  # the row that says more
                others[_whose(found)] = found
        else:
            rows.append(found)
    have = {_whose(found) for found in rows}
    return rows + [found for whose, found in others.items() if whose not in have]


def _whose(found: Submission) -> tuple[str, str, Path | None]:
    """Tell the student, and the download that it comes from."""
    return found.student, found.number, None if found.member is None else found.path


def _walk(folder: Path, parts: tuple[str, ...]) -> Iterator[Submission]:
    """Go through a folder, following no link."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if not SKIPPED.fullmatch(entry.name):
            yield from _look_at(entry, (*parts, entry.name))


def _look_at(entry: os.DirEntry[str], parts: tuple[str, ...]) -> Iterator[Submission]:
    path = Path(entry.path)
    is_notebook = entry.name.lower().endswith(".ipynb")
    is_archive = entry.name.lower().endswith(".zip")
    if entry.is_symlink():
        if is_notebook or is_archive or entry.is_dir():
            yield _submission(parts, path, problem="This is a link; links are not followed.")
    elif entry.is_dir():
        yield from _in_folder(path, parts)
    elif is_notebook:
        regular = entry.is_file()
        yield _submission(parts, path, problem="" if regular else "This is no file.")
    elif is_archive and entry.is_file():
        yield from _members(path, parts)
    elif is_archive:
        yield _submission(parts, path, problem="This is no file.")
    elif len(parts) == 1 and who(parts)[1]:
        yield _submission(parts, path, problem=NO_NOTEBOOK)


def _in_folder(path: Path, parts: tuple[str, ...]) -> Iterator[Submission]:
    """Look into a folder; a student's folder has a row even if nothing is in it."""
    problem = NO_NOTEBOOK
    inside: list[Submission] = []
    if len(parts) > MAX_FOLDER_DEPTH:
        problem = "The folders are nested too deep."
    else:
        try:
            inside = list(_walk(path, parts))
        except OSError as error:
            problem = f"The folder cannot be read ({error.strerror})."
    is_students = (len(parts) == 1 and parts[0] != "submitted") or parts[-2:-1] == ("submitted",)
    if not inside and (is_students or problem != NO_NOTEBOOK):
        yield _submission((*parts, ""), path, problem=problem)
    yield from inside


def _members(path: Path, parts: tuple[str, ...]) -> Iterator[Submission]:
    """List the notebooks in an archive. Nothing is unpacked, so that no name in it can lead anywhere."""
    try:
        with zipfile.ZipFile(path) as archive:
            if len(archive.infolist()) > MAX_MEMBERS:
                raise ValueError(f"more than {MAX_MEMBERS:,} files are in it")
            for number, member in enumerate(archive.infolist()):
                inside = [part for part in PurePosixPath(member.filename).parts if part not in ("/", "..")]
                if not inside or any(SKIPPED.fullmatch(part) for part in inside):
                    continue
                # An archive at the top is a whole class; one in a student's folder is that student's.
                where, at_top = (*parts[:-1], *inside), len(parts) == 1
                if inside[-1].lower().endswith(".ipynb") and not member.is_dir():
                    yield _submission(where, path, number, archive_name=parts[-1], at_top=at_top)
                elif at_top and who(where)[1]:
                    nested = inside[-1].lower().endswith(".zip")
                    problem = NO_NOTEBOOK + NESTED * nested
                    yield _submission(where, path, number, problem, archive_name=parts[-1], at_top=at_top)
    except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError) as error:
        yield _submission(parts, path, problem=f"The archive cannot be read ({error}).")


def _submission(
    parts: tuple[str, ...],
    path: Path,
    member: int | None = None,
    problem: str = "",
    archive_name: str = "",
    *,
    at_top: bool = False,
) -> Submission:
    exercise = _exercise(parts)
    student, number = who(parts, exercise)
    if archive_name and at_top and (not number or _is_one_students(archive_name)):
        of_archive = who((archive_name,), exercise)
        # "bendoe_123_4567_work.zip" is one student's, and so is "ben.zip" if what is in it bears no name.
        if of_archive[1] or (len(parts) == 1 and exercise and student == Path(parts[0]).stem):
            student, number = of_archive
    file = "/".join(filter(None, (archive_name and f"{archive_name}:", *parts)))
    return Submission(printable(student), number, exercise, printable(file), path, member, problem)


def _is_one_students(archive_name: str) -> bool:
    """Whether a learning system has named an archive: then what is inside has its names from the student.

    "course_2026_11_submissions.zip" looks like Canvas's names, and is a class.
    """
    if MOODLE.fullmatch(archive_name):
        return True
    return CANVAS.fullmatch(archive_name) is not None and not DATED.search(archive_name)


def _exercise(parts: tuple[str, ...]) -> str:
    """Tell the exercise from the file's name, or else from a folder's."""
    for part in reversed(parts):
        try:
            return exercise_of(Path(part)).name
        except NotebookError:
            continue
    return ""


def who(parts: tuple[str, ...], exercise: str = "") -> tuple[str, str]:
    """Tell the student, and the learning system's number for them, from a path inside the folder.

    nbgrader: [submitted/]STUDENT/ASSIGNMENT/FILE. Moodle: NAME_NUMBER_assignsubmission_file, as a folder or
    at the beginning of a file's name. Canvas: name_NUMBER_NUMBER_FILE. Otherwise the first folder is the
    student, or, with no folder, what the file's name says besides the exercise. A text that was written in
    Moodle or Canvas tells its student, too.
    """
    # The outermost name that tells counts: what is inside has its names from the student.
    moodles = next((place for place, part in enumerate(parts) if MOODLE.fullmatch(part)), len(parts))
    if "submitted" in parts[: min(moodles, len(parts) - 1)]:
        parts = parts[parts.index("submitted") + 1 :]
        if len(parts) > 1 and not MOODLE.fullmatch(parts[0]):
            return parts[0], ""
    for part in parts:
        moodle = MOODLE.fullmatch(part)
        if moodle:
            return moodle["name"], moodle["number"]
    *folders, file = parts
    canvas = CANVAS.fullmatch(file)
    if canvas:
        return canvas["name"], canvas["number"]
    if folders:
        return folders[0], ""
    stem = Path(file).stem
    rest = stem.replace(exercise, "") if exercise else stem
    if exercise and rest == stem:
        rest = re.sub(exercise.split("_")[0], "", stem, flags=re.IGNORECASE)
    return rest.strip(" _-.") or stem, ""


def _open_file(path: str, flags: int) -> int:
    """Open a regular file and nothing else: what stands there may have changed since the folder was read.

    Raises OSError for a link, and for a pipe or a device, which might never end.
    """
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    opened = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise OSError("this is no file")
    return opened


def read_submission(submission: Submission, limits: Limits) -> bytes:
    """Read the content of one. Raises NotebookError if that cannot be done, or if it is too large."""
    most = limits.notebook_mb * 1_000_000
    try:
        if submission.member is None:
            with open(submission.path, "rb", opener=_open_file) as file:
                data = file.read(most + 1)
        else:
            with (
                zipfile.ZipFile(submission.path) as archive,
                archive.open(archive.infolist()[submission.member]) as file,
            ):
                data = file.read(most + 1)
    except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError, ValueError, EOFError) as problem:
        raise NotebookError(f"It cannot be read ({printable(str(problem))}).") from None
    except Exception as problem:  # a damaged archive: each way of packing has errors of its own
        raise NotebookError(f"It cannot be read ({type(problem).__name__}).") from None
    if len(data) > most:
        raise NotebookError(f"The file has more than {limits.notebook_mb} MB.")
    return data
