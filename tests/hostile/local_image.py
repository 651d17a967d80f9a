"""Make the image for containers out of this machine's own Python, where no registry can be asked for one.

`python -m tests.hostile.local_image podman` copies the running Python, the packages of a child, and the
libraries of both into a new image. It is for tests on Linux; a class is graded in the image that
`agentlib/course/grading/Dockerfile` makes.
"""

import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path

from agentlib.course.grading.containers import IMAGE

NEEDED = ("pydantic", "numpy", "matplotlib")
PROGRAMS = ("env", "timeout", "sleep", "sh")


def with_what_they_need(names: Iterable[str]) -> set[str]:
    """Names of packages, and of all that those need and that is installed."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            try:
                needs = requires(name) or []
            except PackageNotFoundError:
                continue
            found.add(name)
            waiting += [re.split(r"[^\w.-]", need)[0] for need in needs if "extra ==" not in need]
    return found


def copy_packages(folder: Path) -> None:
    """Copy what a child needs beside agentlib."""
    for name in with_what_they_need(NEEDED):
        for file in distribution(name).files or []:
            source, target = Path(str(file.locate())), folder / file
            if ".." not in file.parts and source.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)


def copy_python(folder: Path) -> None:
    """Copy the Python behind this one, as it would stand in /usr/local, and a few programs."""
    version = f"python{sysconfig.get_python_version()}"
    binary = Path(sys.executable).resolve()
    standard = Path(sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix}))
    (folder / "usr/local/bin").mkdir(parents=True)
    (folder / "bin").mkdir()
    shutil.copy2(binary, folder / "usr/local/bin/python3")
    ignored = shutil.ignore_patterns("site-packages", "dist-packages", "test", "__pycache__", "config-*")
    shutil.copytree(standard, folder / "usr/local/lib" / version, ignore=ignored)
    for name in PROGRAMS:
        shutil.copy2(Path(shutil.which(name) or name).resolve(), folder / "bin" / name)


def copy_libraries(folder: Path) -> None:
    """Copy the system's libraries that programs and libraries in a folder ask for, to where they are here."""
    files = [path for path in folder.rglob("*") if ".so" in path.name or path.parent.name == "bin"]
    said = subprocess.run(["ldd", *map(str, files)], capture_output=True, text=True, check=False).stdout
    for name in set(re.findall(r"^\s+(?:\S+ => )?(/\S+) \(0x", said, re.MULTILINE)):
        source, target = Path(name), folder / name.lstrip("/")
        if not source.is_relative_to(folder) and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source.resolve(), target)


def make_image(program: str) -> None:
    """Make the image with docker or podman. Raises CalledProcessError if that fails."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "root")
        folder.mkdir()
        copy_python(folder)
        copy_packages(folder / "packages")
        copy_libraries(folder)
        for place in ("course", "dev", "etc", "proc", "sys", "tmp"):
            (folder / place).mkdir(exist_ok=True)
        (folder / "tmp").chmod(0o1777)
        subprocess.run(["tar", "-C", folder, "-cf", f"{name}/image.tar", "."], check=True)
        subprocess.run([program, "import", f"{name}/image.tar", IMAGE], check=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tests.hostile.local_image docker|podman")
    make_image(sys.argv[1])
