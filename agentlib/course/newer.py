"""In a browser: whether the site has a newer notebook than the copy that a learner has edited.

A browser keeps an edited notebook for good, and a site that is built anew never takes its place. So each
notebook of a site carries a stamp of its text, which stays in the copy; the site says which is the newest.
"""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

__all__ = ["STAMPS_FILE", "newer_on_site", "site_file", "stamp_notebooks"]

STAMPS_FILE = "stamps.json"
"""At the top of the site: for each notebook its stamp, and how many bytes it has."""

FOLDERS = ("notebooks", "exercises")
KEY = "agentlib"


def stamp_notebooks(files: Path) -> dict[str, list[Any]]:
    """Write into each notebook the stamp of its text; give what `STAMPS_FILE` holds.

    files: the folder of the files that the lab shows.
    """
    stamps = {}
    for path in sorted(path for folder in FOLDERS for path in (files / folder).glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        texts = [[cell.get("id"), "".join(cell["source"])] for cell in notebook["cells"]]
        stamp = sha256(json.dumps(texts).encode()).hexdigest()[:16]
        notebook["metadata"][KEY] = {"stamp": stamp}
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        stamps[path.relative_to(files).as_posix()] = [stamp, path.stat().st_size]
    return stamps


def newer_on_site(drive: Path, read: Callable[[str], str]) -> list[str]:
    """Say of which notebooks the site has a newer one, and how to take it.

    drive: the folder that the browser keeps. read: gives the text of one of the site's files, or raises
    OSError.
    """
    try:
        stamps = dict(json.loads(read(STAMPS_FILE)))
    except (OSError, ValueError):
        return []  # a site without stamps, or no network
    copies = [drive / name for name, newest in stamps.items() if _older(drive / name, *newest)]
    return [_words(copy) for copy in copies]


def _older(copy: Path, stamp: str, size_bytes: int) -> bool:
    """Whether a notebook that the browser has is a copy of an older one."""
    try:
        if copy.stat().st_size == size_bytes:
            return False  # it was not edited: what the browser has is the site's
        mine = json.loads(copy.read_text(encoding="utf-8"))["metadata"][KEY]["stamp"]
    except (OSError, ValueError, KeyError, TypeError):
        return False  # it is not there, or was never the course's
    return bool(mine != stamp)


def _words(copy: Path) -> str:
    return (
        f"{copy.parent.name}/{copy.name}: the site has a newer one than your copy, which stays as it is. To "
        "take the new one, rename yours in the list of files on the left: the new one then stands there "
        "under the old name."
    )


def site_file(name: str) -> str:
    """Read one of the site's files, in the lab's kernel. Raises OSError if it cannot be had."""
    try:
        import js  # noqa: PLC0415  there in a browser alone
        from pyodide.http import open_url  # noqa: PLC0415

        top = str(js.location.href).split("/extensions/")[0]
        text: str = open_url(f"{top}/{name}").read()
    except Exception as problem:
        raise OSError(f"{name} cannot be had: {problem}") from None
    return text
