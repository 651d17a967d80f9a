"""What one learner has done, kept from one day to the next: one small file for each thing.

A file is written under a temporary name of its own and then renamed, so that two kernels never write into
one another's file, and a crash leaves the file from before intact.
"""

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import platformdirs

from agentlib._platform import HERE, Platform

__all__ = ["EXERCISES", "PREDICTIONS", "QUIZZES", "Store", "data_folder"]

QUIZZES, EXERCISES, PREDICTIONS = "quizzes", "exercises", "predictions"
"""The kinds of things that are kept; each has a folder of its own."""

VERSION = 2


def data_folder(environment: Mapping[str, str] = os.environ, platform: Platform = HERE) -> Path:
    """The folder for what is kept from one day to the next: $AGENTLIB_DATA_DIR, or the user's data folder.

    In a browser it stands beside the notebooks that the browser keeps.
    """
    given = environment.get("AGENTLIB_DATA_DIR")
    if given:
        return Path(os.path.expanduser(given))
    if platform.drive is not None:
        return platform.drive / ".agentlib"
    return platformdirs.user_data_path("agentlib", appauthor=False)


class Store:
    """Small things by kind and name, each in a file of its own.

    folder: where they are kept; None = `data_folder()`.
    problem: why something could not be read or kept, in one sentence; "" = all is well. Nothing here raises.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = data_folder() if folder is None else Path(folder)
        self.problem = ""

    def path(self, kind: str, name: str) -> Path:
        """The file of one thing. A name that is no plain file name is told apart by a few more letters."""
        plain = re.sub(r"[^a-z0-9_.-]+", "_", name.lower())[:60].strip(".") or "_"
        if plain != name:
            plain += "-" + sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
        return self.folder / kind / f"{plain}.json"

    def read(self, kind: str, name: str) -> dict[str, Any]:
        """Read one thing. One that is missing, broken or of another thing counts as empty."""
        value = self._read(self.path(kind, name))
        return value if value.get("name") == name else {}

    def all(self, kind: str) -> dict[str, dict[str, Any]]:
        """Read everything of a kind, by name."""
        folder = self.folder / kind
        try:
            paths = sorted(path for path in folder.iterdir() if path.suffix == ".json")
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, ValueError) as problem:
            self.problem = _sentence(f"{folder} cannot be read", problem)
            return {}
        values = map(self._read, paths)
        return {value["name"]: value for value in values if isinstance(value.get("name"), str)}

    def keep(self, kind: str, name: str, value: Mapping[str, Any]) -> bool:
        """Keep one thing in place of what was kept of it. Returns False if it cannot; `problem` says why."""
        path = self.path(kind, name)
        text = json.dumps({"version": VERSION, "name": name, **value}, indent=1)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(prefix=f"{path.stem}-", suffix=".part", dir=path.parent)
            try:
                with open(handle, "w", encoding="utf-8") as file:
                    file.write(text)
                self._set_aside(path)
                os.replace(temporary, path)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
                raise
        except (OSError, ValueError) as problem:
            self.problem = _sentence(f"Your answers cannot be kept in {self.folder}", problem)
            return False
        self.problem = ""
        return True

    def forget(self, kind: str) -> bool:
        """Forget everything of a kind. Returns False if nothing was kept. Raises OSError if it cannot."""
        folder = self.folder / kind
        if not folder.is_dir():
            return False
        paths = [path for path in folder.iterdir() if path.is_file()]
        for path in paths:
            path.unlink(missing_ok=True)  # another kernel may have moved it away
        with contextlib.suppress(OSError):  # what else lies in it is not ours
            folder.rmdir()
        return bool(paths)

    def _read(self, path: Path) -> dict[str, Any]:
        try:
            value = json.loads(path.read_text(encoding="utf-8-sig"))
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, ValueError, RecursionError) as problem:
            self.problem = _sentence(f"{path} cannot be read", problem)
            return {}
        if not isinstance(value, dict) or value.get("version") != VERSION:
            self.problem = f"{path} is not a file that this version can read."
            return {}
        return value

    def _set_aside(self, path: Path) -> None:
        """Move a file that cannot be read out of the way, so that nothing in it is lost."""
        before, self.problem = self.problem, ""
        if path.is_file() and not self._read(path) and self.problem:
            os.replace(path, path.with_suffix(".unreadable"))
        self.problem = before


def _sentence(what: str, problem: Exception) -> str:
    words = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
    return f"{what}: {' '.join(words.split()).rstrip('.')}."
