"""Writes files of results so that each is there whole or not at all."""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: Path, text: str | Iterable[str] | bytes) -> None:
    """Write a file in the place of the one that is there. Raises an OSError that names it; then that stays.

    text: as a whole or in parts; what is no text in it is replaced.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        if isinstance(text, bytes):
            part.write_bytes(text)
        else:
            with part.open("w", encoding="utf-8", errors="replace", newline="") as file:
                file.writelines([text] if isinstance(text, str) else text)
        os.replace(part, path)
    except OSError as problem:
        with contextlib.suppress(OSError):
            part.unlink()  # on a full disk it takes up room
        raise OSError(problem.errno, problem.strerror, str(path)) from None
