"""The wheels of the site: fetched by pip in exact versions, and told to Pyodide in its lock."""

import email
import hashlib
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agentlib.course.errors import SiteError

__all__ = ["canonical", "course_wheel", "fetch_wheels", "lock_entry"]

PINNED = Path(__file__).with_name("wheels.txt")
FOR_A_BROWSER = (
    "--platform=any", "--platform=pyemscripten_2026_0_wasm32", "--python-version=3.14", "--implementation=cp",
    "--abi=cp314", "--abi=none",
)  # fmt: skip
MARKERS = {
    "sys_platform": "emscripten", "platform_system": "Emscripten", "os_name": "posix", "extra": "",
    "python_version": "3.14", "python_full_version": "3.14.2", "implementation_name": "cpython",
    "platform_machine": "wasm32",
}  # fmt: skip
NOT_NEEDED = {"jupyterlab-widgets"}
"""Of what the packages ask for: a part of JupyterLab that the site has already."""


def _pip(*words: str) -> None:
    # No name of the network's other packages is looked at; without a terminal, pip asks nothing.
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", *words]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        last = [line for line in done.stderr.splitlines() if "ERROR" in line][-1:] or [done.stderr[-300:]]
        raise SiteError(f"pip {words[0]} failed: {last[0].strip()}")


def fetch_wheels(folder: Path) -> None:
    """Fetch the wheels that a browser needs; pip refuses one whose hash is another. Raises SiteError."""
    _pip(
        "download", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes", *FOR_A_BROWSER,
        f"--dest={folder}", f"--requirement={PINNED}",
    )  # fmt: skip


def course_wheel(course_dir: Path, folder: Path) -> None:
    """Build the wheel of the course itself. Raises SiteError."""
    _pip("wheel", "--quiet", "--no-deps", "--no-build-isolation", f"--wheel-dir={folder}", str(course_dir))


def canonical(name: str) -> str:
    """Give a package's name in the one form that all spellings share."""
    return re.sub(r"[-_.]+", "-", name).lower()


def lock_entry(wheel: Path) -> dict[str, Any]:
    """Describe a wheel as Pyodide's lock does."""
    from packaging.requirements import Requirement  # noqa: PLC0415  comes with JupyterLab

    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = email.message_from_bytes(archive.read(_one(names, ".dist-info/METADATA")))
    needs = [Requirement(line) for line in metadata.get_all("Requires-Dist", [])]
    depends = {canonical(need.name) for need in needs if need.marker is None or need.marker.evaluate(MARKERS)}
    return {
        "name": metadata["Name"],
        "version": metadata["Version"],
        "file_name": wheel.name,
        "install_dir": "site",
        "package_type": "package",
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "imports": sorted({found[1] for name in names if (found := IMPORTED.match(name))}),
        "depends": sorted(depends - NOT_NEEDED),
        "unvendored_tests": False,
    }


IMPORTED = re.compile(r"([A-Za-z_]\w*)(?:/(?!.*\.dist-info)|\.py$|\.[^/]*so$)")


def _one(names: Iterable[str], end: str) -> str:
    return next(name for name in names if name.endswith(end) and name.count("/") == 1)
