"""Makes and updates the folder that learners are handed, a git repository with the course to read and do."""

import hashlib
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from agentlib.course.errors import HandoutError
from agentlib.course.exercises import EXERCISES
from agentlib.course.originals import COPY, COURSE_DIR, HANDOUT_FILE, sources_of

__all__ = ["Handout", "build_wheel", "make_handout"]

TO_READ = "agentlib_source"
"""The folder with the package's files that lessons lead to; Python would import one called `agentlib`."""

STATE = f"{COPY}/{HANDOUT_FILE}"
PAGE = Path(__file__).with_name("learners.md")
NOT_COPIED = {"requirements.txt", ".gitignore", ".gitattributes"}
GIT_FILES = {
    # A learner's environment and what is kept for them; nobody's program may change the ends of lines.
    ".gitignore": ".venv/\n.ipynb_checkpoints/\n__pycache__/\n*.before_*.ipynb\nnotebooks/my_runs/\n",
    ".gitattributes": "* -text\n",
}
PACKAGE_LINK = re.compile(r"\]\(\.\./agentlib/([^)#\s]+)")
SOLUTION_LINK = re.compile(r"\[([^\]]*)\]\(\.\./solutions/[^)]*\)")
# How an exercise says to begin anew; a hub has no folder .venv, and this runs anywhere.
RESET = re.compile(
    r"type in a terminal, in the folder of the course: `\.venv/bin/python -m agentlib reset (ex\d+)` "
    r"\(on Windows `[^`]*`\)"
)
RESET_IN_A_CELL = r"close this notebook, and run a cell `%run -m agentlib reset \1` in another one"
Files = dict[str, bytes]


@dataclass(frozen=True)
class Handout:
    """What was made. changed: files that are new, other or gone. kept: files that the teacher has changed.

    commit: "" if nothing has changed. remote: whether the repository knows where to push.
    """

    folder: Path
    changed: tuple[str, ...]
    kept: tuple[str, ...]
    commit: str
    remote: bool


def make_handout(
    out: Path,
    take: Collection[str] = (),
    *,
    course_dir: Path = COURSE_DIR,
    build: Callable[[Path, Path], Path] | None = None,
) -> Handout:
    """Make the learners' folder, a git repository with one commit; one that is there gets another commit.

    A file that was changed or deleted there by hand stays so, and is named; take: of these files the course's
    are taken all the same. build: makes the course's wheel from (course_dir, an empty folder); None =
    `build_wheel`.
    Raises HandoutError if the folder holds other things or uncommitted changes, or something is missing.
    """
    if not (course_dir / "notebooks").is_dir():
        raise HandoutError(
            f"There are no notebooks in {course_dir}: make the handout from a copy of the repository."
        )
    is_new = _is_new(out)
    with tempfile.TemporaryDirectory() as work:
        wheel = (build or build_wheel)(course_dir, Path(work))
        files = _files(course_dir, wheel)
    out.mkdir(parents=True, exist_ok=True)
    if is_new and not (out / ".git").exists():
        _git(out, "init", "--quiet", "--initial-branch=main")
    kept = _write(out, files, {} if is_new else _state(out), take)
    return _commit(out, course_dir, kept, is_new)


def build_wheel(course_dir: Path, folder: Path) -> Path:
    """Build the wheel of the course; pip fetches what it builds with. Raises HandoutError."""
    command = [
        sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "wheel", "--quiet",
        "--no-deps", f"--wheel-dir={folder}", str(course_dir),
    ]  # fmt: skip
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "ERROR" in line] or [done.stderr[-300:]]
        raise HandoutError(f"The course's package could not be built: {lines[0].strip()}")
    return next(folder.glob("*.whl"))


def _is_new(out: Path) -> bool:
    """Whether the folder is to be made; it may be there, empty or an empty clone."""
    if not out.exists():
        return True
    if not out.is_dir():
        raise HandoutError(f"{out} is a file. Name a folder.")
    if {path.name for path in out.iterdir()} <= {".git"}:
        return True
    if not (out / STATE).is_file():
        raise HandoutError(f"{out} holds other things. Name a new folder, or one that `handout` made before.")
    if not (out / ".git").exists():
        raise HandoutError(
            f"{out} is a handout without its git repository. A new one would break every learner's next "
            "pull: clone the repository that you pushed, and name the clone."
        )
    if changes := _git(out, "status", "--porcelain"):
        raise HandoutError(
            f"{out} has changes that are not committed, such as {changes.splitlines()[0][3:]}. Commit them "
            "(they stay yours) or undo them, then run this again."
        )
    return False


# --- what is handed out


def _files(course_dir: Path, wheel: Path) -> Files:
    """Collect all files, by their names in the handout."""
    version = tomllib.loads((course_dir / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    own = [f"{exercise.name}.ipynb" for exercise in EXERCISES.values()]
    files = {f"notebooks/{name}": path.read_bytes() for name, path in _lesson_files(course_dir / "notebooks")}
    # An exercise comes from what the package keeps: the teacher may have solved the one in `exercises`.
    files |= {f"exercises/{name}": EXERCISES[name[:-6]].fresh.read_bytes() for name in own}
    files["README.md"] = _page(course_dir).encode()
    linked: set[str] = {"loop.py"}
    for name in [name for name in files if name.endswith((".ipynb", ".md"))]:
        files[name] = _relinked(files[name], name, linked)
    files |= {f"{TO_READ}/{name}": (course_dir / "agentlib" / name).read_bytes() for name in sorted(linked)}
    files["LICENSE"] = (course_dir / "LICENSE").read_bytes()
    copies = {f"{COPY}/{name}": content for name, content in files.items()}
    files["requirements.txt"] = _requirements(course_dir, version, wheel.name).encode()
    files[wheel.name] = wheel.read_bytes()
    return {**files, **{name: text.encode() for name, text in GIT_FILES.items()}, **copies}


def _lesson_files(folder: Path) -> Iterable[tuple[str, Path]]:
    """Find the lessons and what they show; not what a learner has made there."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        hidden = any(part.startswith((".", "__")) or part == "my_runs" for part in parts)
        lesson = path.suffix != ".ipynb" or re.fullmatch(r"\d\d_\w+\.ipynb", path.name)
        if path.is_file() and not hidden and lesson:
            yield "/".join(parts), path


def _relinked(content: bytes, name: str, linked: set[str]) -> bytes:
    """Lead a page's links to what is handed out; `linked` gets the package's files that are wanted for it."""
    if name.endswith(".md"):
        return _relinked_text(content.decode(), linked).encode()
    notebook = json.loads(content)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
            cell["source"] = _relinked_text(source, linked).splitlines(keepends=True)
    # As JupyterLab saves it: otherwise the first save would change every line, and each merge be a conflict.
    return (json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode()


def _relinked_text(text: str, linked: set[str]) -> str:
    linked |= set(PACKAGE_LINK.findall(text))
    text = PACKAGE_LINK.sub(rf"](../{TO_READ}/\1", text)
    text = RESET.sub(RESET_IN_A_CELL, text)
    return SOLUTION_LINK.sub(r"\1 (your teacher has it)", text)


def _page(course_dir: Path) -> str:
    """Write the learners' README, with the tables of the course's own."""
    whole = (course_dir / "README.md").read_text(encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    for word in ("lesson", "exercise"):
        found = re.search(rf"^\| {word} \|.*?(?=\n\n)", whole, re.MULTILINE | re.DOTALL)
        if not found:
            raise HandoutError(f"README.md has no table of {word}s.")
        page = page.replace(f"{word.upper()}S", found[0])
    return page


def _requirements(course_dir: Path, project: dict[str, Any], wheel: str) -> str:
    """Keep of the course's requirements what a learner needs; the wheel stands for the course."""
    needed = {re.split(r"[<>=!; ]", line)[0] for line in project["dependencies"]} | {"jupyterlab"}
    lines = (course_dir / "requirements.txt").read_text(encoding="utf-8").splitlines()
    kept = [line.split("#")[0].rstrip() for line in lines if line.split("==")[0] in needed]
    return "\n".join([*kept, f"./{wheel}", ""])


# --- into the folder


def _state(out: Path) -> dict[str, Any]:
    try:
        return dict(json.loads((out / STATE).read_bytes()))
    except ValueError as problem:
        raise HandoutError(
            f"{out / STATE} cannot be read: {problem}. Take it from an earlier commit."
        ) from None


def _write(out: Path, files: Files, state: dict[str, Any], take: Collection[str]) -> tuple[str, ...]:
    """Write what is new; give the names of the files that the teacher has changed, which stay as they are."""
    before: dict[str, str] = state.get("files", {})
    earlier: dict[str, dict[str, list[str]]] = state.get("earlier", {})
    main = {name: content for name, content in files.items() if not name.startswith(f"{COPY}/")}
    untaken = sorted({*main, *before} - {*take})
    kept = [name for name in untaken if _by_hand(out / name, before.get(name))]
    for name in {*before} - {*main, *kept}:
        (out / name).unlink(missing_ok=True)
        (out / COPY / name).unlink(missing_ok=True)
    for name, content in main.items():
        if name not in kept:
            _put(out / name, content)
    for name in [name.removeprefix(f"{COPY}/") for name in files if name.startswith(f"{COPY}/")]:
        if (out / name).is_file():
            _copy(out, name, earlier)
        else:  # the teacher hands this out no more
            (out / COPY / name).unlink(missing_ok=True)
    hashes = {name: _hash(content) for name, content in main.items() if name not in kept}
    hashes |= {name: before[name] for name in kept if name in before}
    whole = {"files": hashes, "earlier": {name: cells for name, cells in sorted(earlier.items()) if cells}}
    text = json.dumps(whole, indent=1, ensure_ascii=False, sort_keys=True)
    _put(out / STATE, f"{text}\n".encode())
    return tuple(kept)


def _by_hand(path: Path, before: str | None) -> bool:
    """Whether a file is not as it was written last time: changed, deleted, or another one's."""
    if not path.exists():
        return before is not None
    return before is None or not path.is_file() or _hash(path.read_bytes()) != before


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _copy(out: Path, name: str, earlier: dict[str, dict[str, list[str]]]) -> None:
    """Copy a file beside the earlier copies; of a notebook the texts that change are remembered."""
    copy = out / COPY / name
    old = sources_of(copy) if name.endswith(".ipynb") and copy.is_file() else {}
    _put(copy, (out / name).read_bytes())
    new = sources_of(copy) if old else {}
    for cell, text in new.items():
        was = old.get(cell, "")
        if was != text:
            texts = earlier.setdefault(name, {}).setdefault(cell, [])
            earlier[name][cell] = [*(one for one in texts if one != was), was]


def _commit(out: Path, course_dir: Path, kept: tuple[str, ...], is_new: bool) -> Handout:
    version = tomllib.loads((course_dir / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    _git(out, "add", "--all")
    # Also what the teacher's git ignores everywhere, such as all wheels.
    names = [name for name in [*_state(out)["files"], COPY] if (out / name).exists()]
    _git(out, "add", "--force", *names)
    lines = _git(out, "diff", "--cached", "--name-only", "--no-renames").splitlines()
    changed = tuple(name for name in lines if not PurePosixPath(name).is_relative_to(COPY))
    commit = ""
    if lines:
        who = () if _has_name(out) else ("-c", "user.name=handout", "-c", "user.email=handout@localhost")
        words = "handed out" if is_new else "mended"
        _git(out, *who, "commit", "--quiet", f"--message=The course, {words}: version {version}")
        commit = _git(out, "rev-parse", "--short", "HEAD").strip()
    return Handout(out, changed, kept, commit, remote=bool(_git(out, "remote")))


def _has_name(out: Path) -> bool:
    """Whether git knows in whose name to commit."""
    command = ["git", "-C", str(out), "config", "user.email"]
    return subprocess.run(command, capture_output=True).returncode == 0


def _git(out: Path, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(out), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
    except FileNotFoundError:
        raise HandoutError(
            "git is not installed, and the handout is a git repository. Install git."
        ) from None
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise HandoutError(f"git {words[0]} failed in {out}: {said[0] if said else done.returncode}")
    return done.stdout
