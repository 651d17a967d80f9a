"""What a view gives back: HTML for notebooks and plain text for everything else, both made once."""

import html
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agentlib.messages import short

__all__ = ["Cell", "Shown", "caption_html", "html_table", "text_table"]

SHORT_CHARS = 160
"""A value longer than this is shortened in a table; the whole is folded beneath it."""

WHOLE_CHARS = 10_000
"""A folded value is itself cut here: a notebook is no place for megabytes."""

TEXT_CHARS = 88
"""The longest value in a table of plain text."""


@dataclass(frozen=True)
class Shown:
    """Something to look at, in two forms that say the same.

    html: for notebooks. text: for terminals, exports and readers of the file.
    """

    html: str
    text: str

    def _repr_html_(self) -> str:
        return self.html

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"text/html": self.html, "text/plain": self.text}

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


@dataclass(frozen=True)
class Cell:
    """One cell of a table. marks: words such as "repeat", set apart from the value. number: set to the right.
    code: a caption, which is short already; what stands in it between backticks is code.
    """

    value: str
    marks: tuple[str, ...] = ()
    number: bool = False
    code: bool = False

    def text(self) -> str:
        """Give the cell as one short line."""
        line = " ".join(self.value.split("\n"))
        return (line if self.code else short(line, TEXT_CHARS)) + "".join(f" ({mark})" for mark in self.marks)

    def html(self) -> str:
        """Give the inside of the cell; what stands in a value is text and never markup."""
        marks = "".join(f" <strong>({html.escape(mark)})</strong>" for mark in self.marks)
        if self.code:
            return caption_html(self.value) + marks
        if len(self.value) <= SHORT_CHARS:
            return f"{_as_text(self.value)}{marks}"
        whole = self.value[:WHOLE_CHARS]
        size = f"{len(self.value):,} characters"
        rest = f"\n... (cut; {size} in all)" if len(self.value) > WHOLE_CHARS else ""
        return (
            f"{_as_text(short(self.value, SHORT_CHARS))}{marks}"
            f"<details><summary>all of it ({size})</summary>{_as_text(whole + rest)}</details>"
        )


def _as_text(value: str) -> str:
    inside = html.escape(value)
    if "\n" in value or "  " in value:
        inside = f'<span style="white-space:pre-wrap">{inside}</span>'
    if any(len(word) > 40 for word in value.split()):
        inside = f'<span style="overflow-wrap:anywhere">{inside}</span>'
    # bdi keeps text that runs from right to left from turning its neighbours round.
    return inside if value.isascii() else f"<bdi>{inside}</bdi>"


def caption_html(caption: str) -> str:
    """Turn a caption into HTML: what stands between backticks becomes code."""
    pieces = html.escape(caption).split("`")
    inside = (f"<code>{piece}</code>" if number % 2 else piece for number, piece in enumerate(pieces))
    return "".join(inside)


def html_table(title: str, heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Make a table whose first cell in each row is the row's header.

    Colours are left to the page, so that it reads in a light and in a dark theme.
    """
    head = "".join(f'<th scope="col" style="text-align:left">{html.escape(name)}</th>' for name in heads)
    body = []
    for first, *others in rows:
        cells = [f'<th scope="row" style="text-align:left">{first.html()}</th>']
        for cell in others:
            side = "right" if cell.number else "left"
            cells.append(f'<td style="text-align:{side}">{cell.html()}</td>')
        body.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f'<table><caption style="text-align:left;caption-side:top">{caption_html(title)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    )


def text_table(title: str, heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Make the same table as plain text, columns in line."""
    table = [[cell.text() for cell in row] for row in rows]
    numbers = [bool(column) and all(cell.number for cell in column) for column in _columns(rows)]
    widths = [max(_width(line[i]) for line in [list(heads), *table]) for i in range(len(heads))]

    def line(cells: Sequence[str]) -> str:
        padded = []
        for i, cell in enumerate(cells):
            space = " " * (widths[i] - _width(cell))
            padded.append(space + cell if i < len(numbers) and numbers[i] else cell + space)
        return "  ".join(padded).rstrip()

    ruler = "  ".join("-" * width for width in widths)
    return "\n".join([title, line(heads), ruler, *map(line, table)])


def _columns(rows: Sequence[Sequence[Cell]]) -> list[tuple[Cell, ...]]:
    return list(zip(*rows, strict=True))


def _width(text: str) -> int:
    """Count the columns that a text takes on a terminal: wide signs take two, joining marks none."""
    return sum(
        0 if unicodedata.combining(sign) or unicodedata.category(sign) in ("Mn", "Me", "Cf")
        else 2 if unicodedata.east_asian_width(sign) in "WF"
        else 1
        for sign in text
    )  # fmt: skip
