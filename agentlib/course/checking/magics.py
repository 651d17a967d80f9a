"""From what a notebook understands to plain Python: `%matplotlib inline`, `!ls`, `%%time`, `x?`."""

import ast
import re
import warnings
from collections.abc import Sequence

from agentlib.course.running.cells import Cell

__all__ = ["plain"]

RUN_BODY = ("%%capture", "%%prun", "%%time", "%%timeit")
"""Cell magics that measure or keep quiet what is below them; it is run as if they were not there."""

WRITES_FILE = re.compile(
    r"\s*%%(?:write)?file[ \t]++(?P<append>-a[ \t]++|--append[ \t]++)?(?P<name>[^\n]*\S)[ \t]*\n(?P<text>.*)",
    re.DOTALL,
)
MAGIC = re.compile(r"^[^\S\n]*[%!?,;/]|=[^\S\n]*[%!]|\?[^\S\n]*$", re.MULTILINE)
"""What IPython translates: magics, shell lines, questions, and `,f a`, `;f a`, `/f a`, which are calls."""
MAX_READ_CHARS = 500_000
"""Characters that IPython may read for one notebook: it reads a cell anew for each of its magics."""


def plain(cells: Sequence[Cell]) -> list[Cell]:
    """Give the cells with plain Python as their `code` where what stands in them is something else.

    Where a notebook has so many magics that to translate them would take long, the rest is left as it is.
    """
    left = MAX_READ_CHARS
    made = []
    for cell in cells:
        if not is_python(cell.source):
            cell = with_file(_plain(cell, left))
            left -= reading(cell.source)
        made.append(cell)
    return made


def with_file(cell: Cell) -> Cell:
    """Give a cell that begins with `%%writefile NAME` the code that writes this file, for others to import.

    Whoever runs it does that in a folder of its own, in which nothing of the learner's is written over.
    """
    found = WRITES_FILE.fullmatch(cell.source) if cell.passed_over else None
    if found is None:
        return cell
    name, mode, text = found["name"].strip("\"'"), "a" if found["append"] else "w", found["text"]
    if not text.endswith("\n"):
        text += "\n"
    # A module that was written a moment ago is found only by those who look anew.
    write = f"open({name!r}, {mode!r}, encoding='utf-8').write({text!r})"
    return cell._replace(code=f"{write}; __import__('importlib').invalidate_caches()")


def reading(source: str) -> int:
    """Count the characters that IPython reads to translate a source."""
    return len(source) * (1 + len(MAGIC.findall(source)))


def is_python(source: str) -> bool:
    """Whether Python can read a source by itself."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd backslashes; it is not our place to tell
            ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _plain(cell: Cell, left: int) -> Cell:
    lines = cell.source.split("\n")
    for number, line in enumerate(lines):  # several may stand one below the other
        word = line.split()[0] if line.strip() else ""
        if word in RUN_BODY:
            lines[number] = ""  # an empty line in its place: the numbers of the others stay
        elif word.startswith("%%"):
            return cell._replace(code="", passed_over=word)
        elif word:
            break
    source = "\n".join(lines)
    if is_python(source) or reading(source) > left:
        return cell._replace(code=source)
    return cell._replace(code=translated(source))


def translated(source: str) -> str:
    """Translate magics as IPython does, which knows a comment that ends in "?" from a question.

    What IPython cannot translate comes back as it is, and Python will say what is wrong with it.
    """
    if not MAGIC.search(source):
        return source
    from IPython.core.inputtransformer2 import TransformerManager  # noqa: PLC0415  most cells need none of it

    body = source.lstrip("\n")
    try:
        code: str = TransformerManager().transform_cell(body)  # type: ignore[no-untyped-call]
    except Exception:
        return source
    return "\n" * (len(source) - len(body)) + code  # IPython drops empty lines at the top
