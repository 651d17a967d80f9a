"""The sandbox root: a folder with a copy of agentlib that holds what exercises import.

No checks, no grading, no solutions and no tests are in it, though the project may be installed in a form that
leads Python straight to its own folder.
"""

import compileall
import contextlib
import hashlib
import os
import re
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from agentlib.course.grading.cgroup import remove_old_cgroups
from agentlib.course.grading.processes import is_running

__all__ = ["SandboxRoot", "course_version", "make_sandbox_root", "package_folders", "temporary_sandbox_root"]

PACKAGE_DIR = Path(__file__).resolve().parents[2]
STAND_IN = "course/grading/stand_in.py"
LEFTOVER = re.compile(r"agentlib_(?:grading|child)_(\d+)_\w+")
NEEDED = ("pydantic_core", "pydantic", "numpy", "matplotlib")

START = '''"""Starts the child: finds the packages, and serves."""

import gc
import sys

gc.disable()  # what is loaded here stays
root, *packages = sys.argv[1:]
sys.path[:0] = [root]
sys.path += packages

from agentlib.course.running.worker import main

gc.enable()
main()
'''


@dataclass(frozen=True)
class SandboxRoot:
    """A folder to start children from. packages: the folders of what is installed beside agentlib."""

    folder: Path
    packages: tuple[Path, ...]


def make_sandbox_root(folder: Path) -> SandboxRoot:
    """Fill an empty folder with what a child needs. Other users may read it, since a child may be one."""
    copy = folder / "agentlib"
    if not sys.dont_write_bytecode:  # compiled where it stands, it is compiled for the next sandbox root, too
        compileall.compile_dir(PACKAGE_DIR, quiet=2)
    shutil.copytree(PACKAGE_DIR, copy, ignore=lambda directory, names: {"course"} & set(names))
    shutil.copytree(PACKAGE_DIR / "course" / "running", copy / "course" / "running")
    shutil.copy2(PACKAGE_DIR / STAND_IN, copy / "course" / "__init__.py")
    (folder / "start.py").write_text(START, encoding="utf-8")
    # A copy keeps its file's time, by which Python knows that what is compiled is current.
    compileall.compile_dir(folder, quiet=2)
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    return SandboxRoot(folder, package_folders())


def package_folders() -> tuple[Path, ...]:
    """Find the folders of installed packages; those of the packages that a child needs come first."""
    specs = [find_spec(name) for name in NEEDED]
    found = [Path(spec.origin).parent.parent for spec in specs if spec is not None and spec.origin]
    found += [Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")]
    return tuple(path for path in dict.fromkeys(path.resolve() for path in found) if path.is_dir())


@contextlib.contextmanager
def temporary_sandbox_root() -> Iterator[SandboxRoot]:
    """Make a sandbox root for as long as it is needed, and remove what earlier ones left that were killed."""
    temporary = Path(tempfile.gettempdir())
    remove_leftovers(temporary)
    remove_old_cgroups()
    try:
        with tempfile.TemporaryDirectory(prefix=f"agentlib_grading_{os.getpid()}_") as folder:
            yield make_sandbox_root(Path(folder))
    finally:
        remove_leftovers(temporary)  # a worker outlives a batch that is killed by a moment


def remove_leftovers(folder: Path) -> None:
    """Remove our temporary folders in a folder whose process has ended; other users' stay."""
    for path in folder.glob("agentlib_[gc]*_*_*"):
        named = LEFTOVER.fullmatch(path.name)
        with contextlib.suppress(OSError):
            is_ours = named and os.name == "posix" and path.lstat().st_uid == os.geteuid()
            if named and is_ours and not is_running(int(named[1])):
                shutil.rmtree(path)


def course_version(package: Path = PACKAGE_DIR) -> str:
    """A short text that changes when anything changes that a grade may depend on.

    package: the folder of agentlib. The checks, the labs and our copy of each exercise are all in it.
    Recordings (`.jsonl`) and what pages show (`.js`, `.css`) do not count: no check reads them.
    """
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*")):
        if path.is_file() and path.suffix in (".py", ".ipynb", ".json"):
            name, content = path.relative_to(package).as_posix().encode(), path.read_bytes()
            digest.update(b"%d %d " % (len(name), len(content)) + name + content)
    return digest.hexdigest()[:16]
