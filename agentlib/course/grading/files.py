"""Writes files of results so that each is there whole or not at all."""

import contextlib
import os
import re
from collections.abc import Iterable
from pathlib import Path

__all__ = ["show_hidden", "write_whole"]

UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What gives orders to a terminal, and what turns the rest of a line around."""


def show_hidden(text: str) -> str:
    """Show a text's hidden signs as their numbers; line ends and tabs stay."""
    return UNSEEN.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


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
