"""Finds submissions in a folder, and who handed them in, as nbgrader, Moodle and Canvas lay them out."""

import contextlib
import os
import re
import stat
import time
import unicodedata
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from agentlib.course.errors import NotebookError
from agentlib.course.exercises import exercise_of
from agentlib.course.grading.limits import Limits

__all__ = ["Archives", "Submission", "find_submissions", "printable", "read_submission", "whose"]

SKIPPED = re.compile(
    r"\.ipynb_checkpoints|\.git|\.venv|__MACOSX|__pycache__|\._.*"
    r"|\.DS_Store|Thumbs\.db|desktop\.ini|timestamp\.txt|user_info\.json",
    re.DOTALL,
)
"""What computers, and nbgrader, put beside a student's files."""
PAPER = re.compile(r".*\.ipynb.*|.*\.(?:py|html?|pdf|docx?|odt|7z|rar|tar|gz|tgz)", re.DOTALL | re.IGNORECASE)
"""A file that lies in the folder itself is somebody's work if it is called so, or after an exercise."""
MAX_NAMED = 5
"""So many files are named of what came in a notebook's place."""
MAX_FOLDER_DEPTH = 20
"""Folders inside each other."""
MAX_MEMBERS = 10_000
"""Files in one archive."""
MAX_NAME_CHARS = 1_000
"""Of a name in an archive, with its folders; no file system has longer ones."""
MAX_NOTEBOOKS = 20
"""Files of one student that are graded; more than there are exercises."""
MAX_FILES, LOOK_SECONDS = 2_000, 5.0
"""So many files in the folder of one student are looked at, and for so long."""
MAX_OPEN_ARCHIVES = 16

NO_NOTEBOOK = "There is no notebook in what was handed in."
NOTHING = f"{NO_NOTEBOOK} The folder is empty."
NESTED = " It is an archive in an archive: unpack the outer one, and grade again."
OF_GROUP = (
    "This is the work of a group: the platform has no participant of this number. Enter its points by hand."
)
OF_MANY = (
    "The names in this folder are a learning platform's, and of several students. If it is the download of a "
    "class, grade that folder by itself."
)
UTF_8_NAME = 0x800
"""The flag of a name in an archive that is written in UTF-8."""

# "Name_123_assignsubmission_file" (a folder) or "Name_123_assignsubmission_file_ex01.ipynb"; a text that was
# written in Moodle has "onlinetext" there
MOODLE = re.compile(r"(?P<name>.+?)_(?P<number>\d+)_assignsubmission_(?:file|onlinetext)(?:_.*)?", re.DOTALL)
GROUP = re.compile(r"(?:default |standard)?(?:group|gruppe)\b[^-]*", re.IGNORECASE)
"""What Moodle calls a group; "Group A-Ann Lee" is one of its members."""
# "doejane_123_4567_ex01.ipynb", or with "LATE_" before the numbers; a text or an address that was written in
# Canvas is "doejane_123_text.html" or "doejane_123_link.html". Without names: "anon_a1B2c_4567_ex01.ipynb".
CANVAS = re.compile(
    r"(?:(?P<name>.+?)_(?P<late>LATE_)?(?P<number>\d+)|(?P<late_anon>LATE_)?(?P<anon>anon_[A-Za-z0-9]+))"
    r"_(?:\d+_.+|(?:text|link)\.html)",
    re.DOTALL,
)
DATED = re.compile(r"_(?:19|20)\d\d_\d{1,4}_")
COURSE = re.compile(r"(?:course|class)[\d _-]*", re.IGNORECASE)
"""A folder that nbgrader's own introduction makes, with "submitted" in it; else the name is a student's."""


@dataclass(frozen=True)
class Submission:
    """One file that was handed in.

    student: a name, fit to be shown. number: the learning system's own for that student, "" if there is none.
    exercise: its name, "" if the file's name does not tell. file: inside the folder, fit to be shown.
    path: of the file, or of the archive that it is in. member: its number there; None = no archive.
    problem: why it cannot be graded; "" if nothing is known to be wrong.
    late: whether the learning platform says so. note: for the instructor; "" = none.
    """

    student: str
    number: str
    exercise: str
    file: str
    path: Path
    member: int | None = None
    problem: str = ""
    late: bool = False
    note: str = ""


class Whose(NamedTuple):
    """Whose something is. by_platform: a learning platform has named it, and the rest is what it says."""

    student: str
    number: str = ""
    by_platform: bool = False
    late: bool = False
    note: str = ""


def printable(name: str) -> str:
    """Make a file's name fit to be shown: what is no text, or would move the cursor, becomes its number."""
    return "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in name)


def find_submissions(folder: Path) -> list[Submission]:
    """List what was handed in, by student, exercise and file. Raises OSError if there is no folder."""
    found = _with_one_row_each(_walk(folder, ()))
    found.sort(key=lambda submission: (submission.student, submission.exercise, submission.file))
    return _not_too_many(found)


def _not_too_many(all_found: list[Submission]) -> list[Submission]:
    """Keep some of each student's files, the first of every exercise, and say in one row what is left out."""
    of_students: dict[tuple[str, str], list[Submission]] = {}
    for found in all_found:
        of_students.setdefault((found.student, found.number), []).append(found)
    left_out: set[Submission] = set()
    rows = []
    for theirs in of_students.values():
        counts: dict[str, int] = {}
        in_turn = []
        for found in theirs:
            counts[found.exercise] = counts.get(found.exercise, 0) + 1
            in_turn.append((counts[found.exercise], found))
        in_turn.sort(key=lambda turn: turn[0])
        rest = [found for _, found in in_turn[MAX_NOTEBOOKS:]]
        left_out |= set(rest)
        if rest:
            problem = (
                f"{len(rest)} more files of this student, this one among them, are not looked at: "
                f"{MAX_NOTEBOOKS} are. If this is a class, grade its folder by itself."
            )
            rows.append(replace(rest[0], exercise="", problem=problem, note=""))
        rows += [found for found in theirs if found not in left_out]
    return rows


def _with_one_row_each(all_found: Iterable[Submission]) -> list[Submission]:
    """Leave out a student's other files where there is a notebook; name them in one row where there is none.

    Each download of a learning system is looked at by itself: it is one assignment.
    """
    rows: list[Submission] = []
    others: dict[tuple[object, ...], list[Submission]] = {}
    for found in all_found:
        if found.problem.startswith(NO_NOTEBOOK):
            others.setdefault((*_whose(found), found.exercise), []).append(found)
        else:
            rows.append(found)
    have: set[tuple[object, ...]] = {
        (*_whose(found), exercise) for found in rows for exercise in (found.exercise, "")
    }
    have |= {(*whose, "") for *whose, exercise in others if exercise}  # what bears no name belongs to that
    return rows + [_with_what_came(files) for whose, files in others.items() if whose not in have]


def _whose(found: Submission) -> tuple[str, str, Path | None]:
    """Tell the student, and the download that it comes from."""
    return found.student, found.number, None if found.member is None else found.path


def _with_what_came(files: list[Submission]) -> Submission:
    """Make one row of what a student handed in: the first file's, with the names of all."""
    names = sorted({re.split(r"[/:]", found.file)[-1] for found in files if found.problem != NOTHING})
    if not names:
        return files[0]
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    came = f"What came: {', '.join(names[:MAX_NAMED])}{more}."
    nested = NESTED if any(found.problem.endswith(NESTED) for found in files) else ""
    return replace(files[0], problem=f"{NO_NOTEBOOK} {came}{nested}")


def _walk(folder: Path, parts: tuple[str, ...]) -> Iterator[Submission]:
    """Go through a folder, following no link."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if not SKIPPED.fullmatch(entry.name):
            # One name may come composed from one system, and decomposed from another.
            yield from _look_at(entry, (*parts, unicodedata.normalize("NFC", entry.name)))


def _look_at(entry: os.DirEntry[str], parts: tuple[str, ...]) -> Iterator[Submission]:
    path = Path(entry.path)
    is_notebook = entry.name.lower().endswith(".ipynb")
    is_archive = entry.name.lower().endswith(".zip")
    if entry.is_symlink():
        if is_notebook or is_archive or entry.is_dir():
            yield _submission(parts, path, problem="This is a link; links are not followed.")
    elif entry.is_dir():
        yield from _in_folder(path, parts)
    elif (is_notebook or is_archive) and not entry.is_file():
        yield _submission(parts, path, problem="This is no file.")
    elif is_notebook:
        yield _submission(parts, path)
    elif is_archive:
        yield from _members(path, parts)
    elif entry.is_file() and _is_somebodys(parts):
        yield _submission(parts, path, problem=NO_NOTEBOOK)


def _is_somebodys(parts: tuple[str, ...]) -> bool:
    """Whether a file that is no notebook was handed in, and does not only lie there."""
    if len(_of_student(parts)) > 1 or whose(parts).by_platform:
        return True
    return bool(_exercise(parts[-1:])) or PAPER.fullmatch(parts[-1]) is not None


def _in_folder(path: Path, parts: tuple[str, ...]) -> Iterator[Submission]:
    """Look into a folder; a student's folder has a row even if nothing is in it."""
    if _of_student((*parts, "")) == ("",) or (len(parts) == 1 and COURSE.fullmatch(parts[0])):
        yield from _walk(path, parts)  # a platform's own folder
        return
    problem, note = NOTHING, ""
    inside: list[Submission] = []
    until = time.monotonic() + LOOK_SECONDS
    if len(parts) > MAX_FOLDER_DEPTH:
        problem = "The folders are nested too deep."
    else:
        try:
            if len(_of_student((*parts, ""))) == 2 and _is_of_many(path):
                note = OF_MANY
            for found in _walk(path, parts):
                if len(inside) == MAX_FILES or time.monotonic() > until:
                    problem = "There are too many files in this folder; not all of them were looked at."
                    break
                inside.append(replace(found, note=note or found.note))
        except OSError as error:
            problem = f"The folder cannot be read ({error.strerror})."
    is_students = len(_of_student((*parts, ""))) == 2
    if problem != NOTHING or (not inside and is_students):
        yield _submission((*parts, ""), path, problem=problem)
    yield from inside


def _is_of_many(path: Path) -> bool:
    """Whether a folder that no platform has named holds what a platform named, of more than one student."""
    if _named(path.name):
        return False
    named = (_named(entry.name) for entry in os.scandir(path))
    return len({(one.student, one.number) for one in named if one}) > 1


def _members(path: Path, parts: tuple[str, ...]) -> Iterator[Submission]:
    """List the files in an archive. Nothing is unpacked, so that no name in it can lead anywhere."""
    at_top, any_found = len(parts) == 1, False
    try:
        with zipfile.ZipFile(path) as archive:
            if len(archive.infolist()) > MAX_MEMBERS:
                raise ValueError(f"more than {MAX_MEMBERS:,} files are in it")
            names = [member_name(member) for member in archive.infolist()]
            behind = dict(pairwise(sorted(names)))
            whole = at_top and not any(_tells_by_itself(name) for name in names)
            for number, name in enumerate(names):
                inside, problem = _inside(name)
                if not inside or any(SKIPPED.fullmatch(part) for part in inside):
                    continue
                # An archive at the top is a whole class; one in a student's folder is that student's.
                where = (*parts[:-1], *inside)
                if name.endswith("/"):
                    if behind.get(name, "").startswith(name):  # there is something in it
                        continue
                    where, problem = (*where, ""), problem or NOTHING
                elif not problem and not inside[-1].lower().endswith(".ipynb"):
                    problem = NO_NOTEBOOK + NESTED * inside[-1].lower().endswith(".zip")
                if not problem or not at_top or whole or _is_somebodys(where):
                    any_found = True
                    found = _submission(where, path, number, problem, archive_name=parts[-1], at_top=at_top)
                    yield replace(found, student=_submission(parts, path).student) if whole else found
    except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError) as error:
        yield _submission(parts, path, problem=f"The archive cannot be read ({error}).")
    else:
        if not any_found:
            yield _submission(parts, path, problem=NO_NOTEBOOK)


def _inside(name: str) -> tuple[list[str], str]:
    """Give the folders and the file of a name in an archive, and what is wrong with it; "" = nothing."""
    if len(name) > MAX_NAME_CHARS or name.count("/") > MAX_FOLDER_DEPTH:
        first, _, rest = name.strip("/").partition("/")
        return [first[:200], f"...{rest[-100:]}".replace("/", " ")], "Its name in the archive is too long."
    return [part for part in name.split("/") if part not in ("", ".", "..")], ""


def _tells_by_itself(name: str) -> bool:
    """Whether a name in an archive is a notebook, or says whose it is; else the archive does."""
    if "/" in name or name.lower().endswith(".ipynb"):
        return True
    return _named(name) is not None or bool(_exercise((name,)))


def member_name(member: zipfile.ZipInfo) -> str:
    """Give a name in an archive as it was meant, with "/" between its parts, whichever system wrote it.

    Of one that is too long so much is left that this can be seen.
    """
    name = member.filename
    if len(name) > MAX_NAME_CHARS:
        return f"{name[:MAX_NAME_CHARS]}/...{name[-100:]}"
    if not member.flag_bits & UTF_8_NAME:  # read as cp437; many systems write UTF-8 all the same
        with contextlib.suppress(UnicodeError):
            name = name.encode("cp437").decode()
    name = re.sub(r"^[A-Za-z]:(?=[/\\])", "", name).replace("\\", "/")
    return unicodedata.normalize("NFC", name)


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
    theirs = whose(parts, exercise)
    if archive_name and at_top and (not theirs.by_platform or _is_one_students(archive_name)):
        of_archive = whose((archive_name,), exercise)
        # "bendoe_123_4567_work.zip" is one student's, and so is "ben.zip" if what is in it bears no name.
        bears_none = len(parts) == 1 and exercise and theirs.student == Path(parts[0]).stem
        if of_archive.by_platform or bears_none:
            theirs = of_archive
    file = "/".join(filter(None, (archive_name and f"{archive_name}:", *parts)))
    return Submission(
        printable(theirs.student),
        theirs.number,
        exercise,
        printable(file),
        path,
        member,
        problem,
        theirs.late,
        theirs.note,
    )


def _is_one_students(archive_name: str) -> bool:
    """Whether a learning platform has named an archive: then what is inside has its names from the student.

    "course_2026_11_submissions.zip" looks like Canvas's names, and is a class.
    """
    if MOODLE.fullmatch(archive_name):
        return True
    return _named(archive_name) is not None and not DATED.search(archive_name)


def _exercise(parts: tuple[str, ...]) -> str:
    """Tell the exercise from the file's name, or else from a folder's."""
    for part in reversed(parts):
        try:
            return exercise_of(Path(part)).name
        except NotebookError:
            continue
    return ""


def _of_student(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Leave off the outermost folders if they are a platform's: nbgrader's "submitted"."""
    if COURSE.fullmatch(parts[0]) and parts[1:2] == ("submitted",):
        parts = parts[1:]
    return parts[1:] if parts[0] == "submitted" and len(parts) > 1 else parts


def _named(name: str) -> Whose | None:
    """Read a name that a learning platform has given; None if it is none."""
    if moodle := MOODLE.fullmatch(name):
        if GROUP.fullmatch(moodle["name"]):  # its number is that of the member who handed in
            return Whose(moodle["name"], by_platform=True, note=OF_GROUP)
        return Whose(moodle["name"], moodle["number"], by_platform=True)
    canvas = CANVAS.fullmatch(name)
    if canvas is None:
        return None
    late = bool(canvas["late"] or canvas["late_anon"])
    return Whose(canvas["anon"] or canvas["name"], canvas["number"] or "", by_platform=True, late=late)


def whose(parts: tuple[str, ...], exercise: str = "") -> Whose:
    """Tell whose a file is, from a path inside the folder.

    nbgrader: [submitted/]STUDENT/ASSIGNMENT/FILE. Moodle: NAME_NUMBER_assignsubmission_file, as a folder or
    at the beginning of a file's name. Canvas: name_NUMBER_NUMBER_FILE. Otherwise the first folder is the
    student, or, with no folder, what the file's name says besides the exercise. A text that was written in
    Moodle or Canvas tells its student, too.
    The outermost name that tells counts: what is inside has its names from the student.
    """
    parts = _of_student(parts)
    if (len(parts) == 1 or MOODLE.fullmatch(parts[0])) and (named := _named(parts[0])):
        return named
    if len(parts) > 1:
        return Whose(parts[0])
    (file,) = parts
    stem = Path(re.sub(r"(?<=\.ipynb)\..*", "", file, flags=re.IGNORECASE | re.DOTALL)).stem
    rest = stem.replace(exercise, "") if exercise else stem
    if exercise and rest == stem:
        rest = re.sub(exercise.split("_")[0], "", stem, flags=re.IGNORECASE)
    return Whose(rest.strip(" _-.") or stem)


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


class Archives:
    """Archives that stay open while what is in them is read: to open one means to read its whole list."""

    def __init__(self) -> None:
        self._open: dict[Path, zipfile.ZipFile] = {}

    def __enter__(self) -> "Archives":
        return self

    def __exit__(self, *problem: object) -> None:
        for archive in self._open.values():
            archive.close()

    def __getitem__(self, path: Path) -> zipfile.ZipFile:
        archive = self._open.pop(path, None) or zipfile.ZipFile(path)
        self._open[path] = archive  # the one that was used last stands last
        if len(self._open) > MAX_OPEN_ARCHIVES:
            self._open.pop(next(iter(self._open))).close()
        return archive


def read_submission(submission: Submission, limits: Limits, archives: Archives | None = None) -> bytes:
    """Read the content of one. Raises NotebookError if that cannot be done, or if it is too large.

    archives: those that stay open; None = none does.
    """
    most = limits.notebook_mb * 1_000_000
    try:
        if submission.member is None:
            with open(submission.path, "rb", opener=_open_file) as file:
                data = file.read(most + 1)
        else:
            with Archives() as own:
                archive = (own if archives is None else archives)[submission.path]
                with archive.open(archive.infolist()[submission.member]) as member:
                    data = member.read(most + 1)
    except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError, ValueError, EOFError) as problem:
        raise NotebookError(f"It cannot be read ({printable(str(problem))}).") from None
    except Exception as problem:  # a damaged archive: each way of packing has errors of its own
        raise NotebookError(f"It cannot be read ({type(problem).__name__}).") from None
    if len(data) > most:
        raise NotebookError(f"The file has more than {limits.notebook_mb} MB.")
    return data
