"""What a view gives back: HTML for notebooks and plain text for everything else, both made once."""

import html
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agentlib.messages import short

__all__ = [
    "Html", "Shown", "TableCell", "bold", "caption_html", "display_both", "folded", "html_table",
    "joined_html", "static_html", "table", "tag", "text_table",
]  # fmt: skip

SHORT_CHARS = 160
"""A value longer than this is shortened in a table; the whole is folded beneath it."""

WHOLE_CHARS = 10_000
"""A folded value is itself cut here: megabytes do not belong in a notebook."""

TEXT_CHARS = 88
"""The longest value in a table of plain text."""


# --- markup: all of it is made here, so that no text can become a part of it --------------------------


class Html(str):
    """Markup. Any other text is escaped before it stands between tags."""

    __slots__ = ()


def tag(name: str, *inside: str, **attributes: str | bool) -> Html:
    """Make an element: `tag("td", "a < b", style="text-align:left")`; whatever is not `Html` is escaped.

    attributes: `_` stands for `-` in a name, and a trailing one is dropped (`class_`); True = no value.
    """
    given = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{html.escape(str(value))}"')
        for key, value in attributes.items()
    )
    if name == "img":  # an empty element has no end tag
        return Html(f"<{name}{given}>")
    return Html(f"<{name}{given}>{joined_html(*inside)}</{name}>")


def joined_html(*parts: str) -> Html:
    """Join parts; whatever is not `Html` is escaped."""
    return Html("".join(part if isinstance(part, Html) else html.escape(part) for part in parts))


def bold(text: str) -> Html:
    """Set text in bold type."""
    return tag("strong", text)


def folded(summary: str, *inside: str, **attributes: str | bool) -> Html:
    """Put something under a summary that folds it away and shows it again."""
    return tag("details", tag("summary", summary), *inside, **attributes)


def static_html(summary: str, *inside: str) -> Html:
    """Make the form for places without widgets; a widget above it folds it (guard.js, quiz.js)."""
    return folded(summary, *inside, open=True, class_="agentlib-static")


def caption_html(caption: str) -> Html:
    """Turn a caption into HTML: what stands between backticks becomes code."""
    pieces = caption.split("`")
    return joined_html(*(tag("code", piece) if number % 2 else piece for number, piece in enumerate(pieces)))


def _as_text(value: str) -> Html:
    inside = joined_html(value)
    if "\n" in value or "  " in value:
        inside = tag("span", inside, style="white-space:pre-wrap")
    if any(len(word) > 40 for word in value.split()):
        inside = tag("span", inside, style="overflow-wrap:anywhere")
    # bdi keeps text that runs from right to left from turning its neighbours round.
    return inside if value.isascii() else tag("bdi", inside)


# --- what a view gives back -------------------------------------------------------------------------


@dataclass(frozen=True)
class Shown:
    """Something to look at, in two forms that say the same.

    html: for notebooks. text: for terminals, exports and readers of the file.
    """

    html: Html
    text: str

    def _repr_html_(self) -> str:
        return self.html

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"text/html": self.html, "text/plain": self.text}

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


def display_both(widget: Any, what: str, static: Any) -> None:
    """Show a widget (None = widgets are not installed) and, beneath it, its static form.

    what: what the widget is, such as "the player"; until the cell has run, a line says how to get it.
    They are two outputs of one cell: where no kernel runs, JupyterLab shows an error in the widget's place
    and nothing else of the same output. guard.js takes the line away where the widget runs.
    """
    from IPython.display import display

    page = static._repr_mimebundle_()
    if widget is not None:
        words = f"Run this cell to get {what}."
        view: Any = widget._repr_mimebundle_() or {}
        data = view[0] if isinstance(view, tuple) else view  # anywidget gives data and metadata
        display({**data, "text/plain": ""}, raw=True)  # type: ignore[no-untyped-call]
        before = tag("p", words, class_="agentlib-before")
        page = {**page, "text/html": joined_html(before, Html(page["text/html"]))}
    display(page, raw=True)  # type: ignore[no-untyped-call]


@dataclass(frozen=True)
class TableCell:
    """One cell of a table.

    marks: words such as "repeat", set apart from the value. number: aligned to the right.
    code: a caption, which is short already; what stands in it between backticks is code.
    move: the value is a move of the loop, such as "ask". It gets the player's colour and sign, as marks do.
    """

    value: str
    marks: tuple[str, ...] = ()
    number: bool = False
    code: bool = False
    move: bool = False

    def text(self) -> str:
        """Give the cell as one short line."""
        line = " ".join(self.value.split("\n"))
        return (line if self.code else short(line, TEXT_CHARS)) + "".join(f" ({mark})" for mark in self.marks)

    def html(self) -> Html:
        """Give the inside of the cell; what stands in a value is text and never markup."""
        marks = [part for mark in self.marks for part in (" ", _signed(mark, f"({mark})"))]
        if self.move:
            return joined_html(_signed(self.value, self.value), *marks)
        if self.code:
            return joined_html(caption_html(self.value), *marks)
        if len(self.value) <= SHORT_CHARS:
            return joined_html(_as_text(self.value), *marks)
        whole = self.value[:WHOLE_CHARS]
        size = f"{len(self.value):,} characters"
        if len(self.value) > WHOLE_CHARS:
            whole += f"\n... (cut; {size} in all)"
        all_of_it = folded(f"all of it ({size})", _as_text(whole))
        return joined_html(_as_text(short(self.value, SHORT_CHARS)), *marks, all_of_it)


def _signed(name: str, words: str) -> Html:
    """Set a word apart that has a sign in the player; player.css draws it, where it is there."""
    return tag("strong", words, class_=f"agentlib-flag agentlib-{'record' if name == 'new' else name}")


Row = Sequence[TableCell | str]
"""A row of a table; text alone stands for a cell without marks."""


def table(title: str, heads: Sequence[str], rows: Sequence[Row]) -> Shown:
    """Show a table whose first cell in each row is the row's header."""
    return Shown(html_table(title, heads, rows), text_table(title, heads, rows))


def html_table(title: str, heads: Sequence[str], rows: Sequence[Row]) -> Html:
    """Make the table in HTML. It has no colours of its own, so that it reads in a light and a dark theme."""
    left = "text-align:left"
    head = tag("tr", *(tag("th", name, scope="col", style=left) for name in heads))
    body = []
    for first, *others in map(_cells, rows):
        sides = ["text-align:right" if cell.number else left for cell in others]
        data = [tag("td", cell.html(), style=side) for cell, side in zip(others, sides, strict=True)]
        body.append(tag("tr", tag("th", first.html(), scope="row", style=left), *data))
    caption = tag("caption", caption_html(title), style="text-align:left;caption-side:top")
    return tag("table", caption, tag("thead", head), tag("tbody", *body))


def text_table(title: str, heads: Sequence[str], rows: Sequence[Row]) -> str:
    """Make the same table as plain text, columns in line."""
    cells = [_cells(row) for row in rows]
    numbers = [bool(column) and all(cell.number for cell in column) for column in zip(*cells, strict=True)]
    lines = [list(heads), *([cell.text() for cell in row] for row in cells)]
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]

    def line(texts: Sequence[str]) -> str:
        padded = []
        for i, text in enumerate(texts):
            space = " " * (widths[i] - _width(text))
            padded.append(space + text if i < len(numbers) and numbers[i] else text + space)
        return "  ".join(padded).rstrip()

    ruler = "  ".join("-" * width for width in widths)
    return "\n".join([title, line(lines[0]), ruler, *map(line, lines[1:])])


def _cells(row: Row) -> list[TableCell]:
    return [cell if isinstance(cell, TableCell) else TableCell(cell) for cell in row]


def _width(text: str) -> int:
    """Count the columns that a text takes on a terminal: wide characters take two, joining marks none."""
    return sum(
        0 if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf")
        else 2 if unicodedata.east_asian_width(char) in "WF"
        else 1
        for char in text
    )  # fmt: skip
