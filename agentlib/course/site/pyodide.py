"""Pyodide, which is Python for a browser: its core from npm, its lock with the course's wheels in it."""

import base64
import hashlib
import json
import shutil
import subprocess
import tarfile
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agentlib.course.errors import SiteError
from agentlib.course.site.wheels import canonical, lock_entry

__all__ = [
    "CORE",
    "HOST",
    "VERSION",
    "closure",
    "fetch_plots",
    "fetch_pyodide",
    "light_lock",
    "make_lock",
    "read_lock",
]

VERSION = "314.0.6"
INTEGRITY = "BKDTJyIqFxC4BExLqeRS3f5xvXZIjOt8C3zGLN/Cc7tFxSwvKVhVkchQQ2AGLOtR4YrVOIFxbV8poyDOOmWwxQ=="
"""SHA-512 of the archive on npm, as npm itself writes it."""

HOST = f"https://cdn.jsdelivr.net/pyodide/v{VERSION}/full/"
"""Where Pyodide's own wheels are, those of numpy and matplotlib among them."""

CORE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
PLOTS = "matplotlib"
COURSE = "agentlib-course"
NEEDED_TO_RUN = ("platformdirs", "pydantic", "pydantic-core", "tqdm", "typing-extensions")


def fetch_pyodide(folder: Path) -> None:
    """Fetch Pyodide's core into a folder by `npm pack`. Raises SiteError if it cannot, or is another file."""
    npm = shutil.which("npm")
    if npm is None:
        raise SiteError("npm is needed to fetch Pyodide: install Node.js, or give its folder by --pyodide.")
    folder.mkdir(parents=True, exist_ok=True)
    command = [npm, "pack", f"pyodide@{VERSION}", "--silent", f"--pack-destination={folder}"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    archive = folder / f"pyodide-{VERSION}.tgz"
    if done.returncode or not archive.is_file():
        raise SiteError(f"npm could not fetch Pyodide {VERSION}: {done.stderr.strip()[-300:]}")
    found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode("ascii")
    if found != INTEGRITY:
        raise SiteError(
            f"What npm gave for Pyodide {VERSION} is another file than it was: nothing was built."
        )
    with tarfile.open(archive) as packed:
        for name in CORE:
            member = packed.extractfile(f"package/{name}")
            assert member is not None
            (folder / name).write_bytes(member.read())
    archive.unlink()


def make_lock(base: dict[str, Any], wheels: Iterable[Path], *, plots: str) -> dict[str, Any]:
    """Make the site's lock out of Pyodide's: the site's own wheels, and what plots need.

    base: Pyodide's lock. wheels: those that stand beside the lock. plots: "site", "host" or "none"; whatever
    is neither in the site nor needed by a plot is left out, so that no cell loads it from elsewhere.
    """
    packages = {canonical(name): entry for name, entry in base["packages"].items()}
    wanted = closure(packages, [PLOTS]) if plots != "none" else []
    kept = {
        name: {**packages[name], "depends": list(map(canonical, packages[name]["depends"]))}
        for name in wanted
    }
    if plots == "host":
        for entry in kept.values():
            entry["file_name"] = HOST + entry["file_name"]
    for wheel in wheels:
        entry = lock_entry(wheel)
        kept[canonical(entry["name"])] = entry
    # The kernel's stand-in for ipykernel asks for the kernel, which asks for it.
    kept.get("ipykernel", {})["depends"] = []
    if "pyodide-kernel" in kept:
        kept["pyodide-kernel"]["depends"] = ["comm", "ipykernel", "ipython", "jedi"]
    for entry in kept.values():
        missing = [name for name in entry["depends"] if name not in kept]
        if missing:
            raise SiteError(f"{entry['name']} needs {missing[0]}, which is not among the site's wheels.")
    return {**base, "packages": dict(sorted(kept.items()))}


def light_lock(lock: dict[str, Any]) -> dict[str, Any]:
    """Make the start page's lock out of the lab's: what runs and watches a loop, no widgets, no IPython."""
    packages = lock["packages"]
    course = {**packages[COURSE], "depends": list(NEEDED_TO_RUN)}
    kept = {name: packages[name] for name in closure(packages, NEEDED_TO_RUN)}
    return {**lock, "packages": {COURSE: course, **kept}}


def closure(packages: dict[str, dict[str, Any]], names: Iterable[str]) -> list[str]:
    """List packages with all that they need, in turn."""
    found: list[str] = []
    todo = list(names)
    while todo:
        name = canonical(todo.pop())
        if name not in found:
            found.append(name)
            todo += packages[name]["depends"]
    return found


def fetch_plots(base: dict[str, Any], folder: Path, host: str = HOST) -> None:
    """Fetch Pyodide's own wheels of matplotlib and all it needs; each hash is that of Pyodide's lock.

    Raises SiteError if one cannot be had or is another file.
    """
    packages = {canonical(name): entry for name, entry in base["packages"].items()}
    for name in closure(packages, [PLOTS]):
        entry = packages[name]
        try:
            with urllib.request.urlopen(host + entry["file_name"], timeout=60) as answer:
                wheel: bytes = answer.read()
        except OSError as problem:
            raise SiteError(f"{entry['file_name']} cannot be had from {host}: {problem}") from problem
        if hashlib.sha256(wheel).hexdigest() != entry["sha256"]:
            raise SiteError(f"{entry['file_name']} from {host} is another file than Pyodide's lock says.")
        (folder / entry["file_name"]).write_bytes(wheel)


def read_lock(folder: Path) -> dict[str, Any]:
    """Read Pyodide's lock."""
    lock: dict[str, Any] = json.loads((folder / "pyodide-lock.json").read_text(encoding="utf-8"))
    return lock
