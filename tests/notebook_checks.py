"""Checks on a lesson as a file: what every lesson keeps to, whatever it teaches.

Each check takes a parsed notebook and its path, and returns what is wrong, one line each.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

Notebook = dict[str, Any]
Check = Callable[[Notebook, Path], list[str]]

MIN_CODE_CELLS = 12  # of a lesson; what teaches no loop, notebook 00 and the final test, may have fewer
MAX_CODE_CELLS = 22
MAX_MEDIAN_LINES = 6
MAX_LINES = 20
MAX_WORDS = 1500
MAX_MINUTES = 30
PICTURES = {"img", "figure", "svg", "canvas"}


# --- reading a notebook


def joined(value: str | list[str]) -> str:
    """A text of the notebook format, which may be stored as a list of lines."""
    return value if isinstance(value, str) else "".join(value)


def cells(notebook: Notebook, kind: str) -> list[tuple[str, dict[str, Any]]]:
    """The cells of one kind, each with a name for messages, counted from 1 over all cells."""
    return [(f"cell {i}", cell) for i, cell in enumerate(notebook["cells"], 1) if cell["cell_type"] == kind]


def without_code(markdown: str) -> str:
    """Markdown without its code blocks, code words and comments, which are shown as they stand."""
    text = re.sub(r"^(```|~~~).*?^\1", "", markdown, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"(`+)[^`].*?\1|<(pre|code)\b.*?</\2>|<!--.*?-->", " ", text, flags=re.DOTALL)


class Shown(NamedTuple):
    """A piece of text that a reader sees formatted."""

    where: str
    markdown: str  # empty if the piece is HTML
    html: str  # the tags in it: Markdown may hold HTML as well
    attachments: dict[str, Any]


def shown(notebook: Notebook) -> Iterator[Shown]:
    """All Markdown and HTML that a reader sees, in cells and in outputs."""
    for where, cell in cells(notebook, "markdown"):
        text = without_code(joined(cell["source"]))
        yield Shown(where, text, text, cell.get("attachments", {}))
    for where, cell in cells(notebook, "code"):
        for output in cell["outputs"]:
            data = output.get("data", {})
            markdown = without_code(joined(data.get("text/markdown", "")))
            yield Shown(where, markdown, markdown, {})
            yield Shown(where, "", joined(data.get("text/html", "")), {})


class Tags(HTMLParser):
    """All tags of a text with their attributes, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))


def unnamed(text: str) -> list[str]:
    """The tags of pictures that do not say in words what they show."""
    tags = Tags(text).found
    present = {tag for tag, _ in tags}
    found = []
    for tag, attributes in tags:
        words = attributes.get("alt", "") + attributes.get("aria-label", "")
        if tag not in PICTURES or words.strip():
            continue
        if tag == "figure" and "figcaption" in present:
            continue
        if tag == "svg" and ("title" in present or attributes.get("aria-hidden") == "true"):
            continue
        found.append(tag)
    return found


# --- the checks


def widget_state(notebook: Notebook, path: Path) -> list[str]:
    """Stored state of widgets is large, changes with every run and cannot be read."""
    return ["metadata.widgets is stored"] if "widgets" in notebook["metadata"] else []


def no_views_without_state(notebook: Notebook, path: Path) -> list[str]:
    """A stored view of a widget whose state is not stored shows as an error, in place of the static form."""
    return [
        f"{where} stores the view of a widget"
        for where, cell in cells(notebook, "code")
        for output in cell["outputs"]
        if "application/vnd.jupyter.widget-view+json" in output.get("data", {})
    ]


def errors_are_meant(notebook: Notebook, path: Path) -> list[str]:
    """An error stands only where the lesson shows one, in a cell tagged raises-exception."""
    problems = []
    for where, cell in cells(notebook, "code"):
        failed = any(output["output_type"] == "error" for output in cell["outputs"])
        meant = "raises-exception" in cell["metadata"].get("tags", [])
        if failed and not meant:
            problems.append(f"{where} ends with an error and is not tagged raises-exception")
        if meant and not failed:
            problems.append(f"{where} is tagged raises-exception and ends without an error")
    return problems


def one_clean_run(notebook: Notebook, path: Path) -> list[str]:
    """Every code cell was run once, from top to bottom, in a fresh kernel."""
    counts = [cell["execution_count"] for _, cell in cells(notebook, "code")]
    wanted = list(range(1, len(counts) + 1))
    return [] if counts == wanted else [f"the code cells were run as {counts}, not as {wanted}"]


def nothing_is_held_back(notebook: Notebook, path: Path) -> list[str]:
    """No cell is left out of the strict run, hidden, or finds the package by a hack."""
    problems = []
    for where, cell in cells(notebook, "code"):
        source, tags = joined(cell["source"]), cell["metadata"].get("tags", [])
        if "nbval-skip" in tags or "NBVAL_SKIP" in source:
            problems.append(f"{where} is left out of the run by nbval")
        if cell["metadata"].get("jupyter", {}).get("source_hidden"):
            problems.append(f"{where} is hidden")
        if "sys.path" in source:
            problems.append(f"{where} changes sys.path")
    return problems


def predictions_are_not_spoiled(notebook: Notebook, path: Path) -> list[str]:
    """The first output below a **Predict** or a predict(...) is hidden until its cell is run.

    A player may ask by itself. What stands above a hidden output is read first: no assert tells what comes.
    """
    problems, waiting = [], ""
    for name, cell in cells(notebook, "code"):
        hidden = cell["metadata"].get("jupyter", {}).get("outputs_hidden")
        if hidden and re.search(r"^assert ", joined(cell["source"]), re.MULTILINE):
            problems.append(f"{name} hides its output, and an assert tells it")
        if tells_first_line(cell):
            problems.append(f"{name} hides its output, and JupyterLab shows the first line of it")
    for where, cell in enumerate(notebook["cells"], 1):
        if cell["cell_type"] == "code" and joined(cell["source"]).startswith("predict("):
            waiting = f"cell {where}"
            continue
        if cell["cell_type"] == "markdown":
            waiting = waiting or (f"cell {where}" if "**Predict" in joined(cell["source"]) else "")
        elif waiting and cell["outputs"] and "= quick_check(" not in joined(cell["source"]):
            hidden = cell["metadata"].get("jupyter", {}).get("outputs_hidden")
            if not hidden and not re.search(r"\bpredict=(True|\")", joined(cell["source"])):
                problems.append(f"cell {where} shows its output below the prediction of {waiting}")
            waiting = ""
    return problems


def tells_first_line(cell: dict[str, Any]) -> bool:
    """Whether JupyterLab tells what is hidden: in its place it shows the first line of the first output."""
    if not cell["metadata"].get("jupyter", {}).get("outputs_hidden") or not cell["outputs"]:
        return False
    return cell["outputs"][0].get("data") not in ({}, {"text/plain": ""}, {"text/plain": []})


def cell_ids(notebook: Notebook, path: Path) -> list[str]:
    """Every cell has an id of its own, so that a change to one cell is a change to one cell."""
    ids = [cell.get("id") for cell in notebook["cells"]]
    problems = [f"cell {i} has no id" for i, name in enumerate(ids, 1) if not name]
    return problems + [
        f"the id {name} stands {n} times" for name, n in Counter(ids).items() if name and n > 1
    ]


def pictures_in_words(notebook: Notebook, path: Path) -> list[str]:
    """Every picture says in words what it shows."""
    problems = []
    for piece in shown(notebook):
        silent = [alt for alt in re.findall(r"!\[(.*?)\]", piece.markdown) if not alt.strip()]
        problems += [f"{piece.where}: an image without alt text" for _ in silent]
        problems += [f"{piece.where}: <{tag}> without alt or aria-label" for tag in unnamed(piece.html)]
    for where, cell in cells(notebook, "code"):
        html = "".join(joined(output.get("data", {}).get("text/html", "")) for output in cell["outputs"])
        described = PICTURES & {tag for tag, _ in Tags(html).found} and not unnamed(html)
        for output in cell["outputs"]:
            if is_drawn(output) and not has_words(output) and not described:
                problems.append(f"{where}: a picture without text beside it")
    return problems


def is_drawn(output: dict[str, Any]) -> bool:
    """Whether an output is a bare picture. A picture inside HTML has its own words."""
    data = output.get("data", {})
    return any(kind.startswith("image/") for kind in data) and "text/html" not in data


def has_words(output: dict[str, Any]) -> bool:
    """Whether the plain form of an output is more than Python's name for the object."""
    words = joined(output["data"].get("text/plain", "")).strip()
    return bool(words) and not re.fullmatch(r"<.*>", words, re.DOTALL)


def links_lead_somewhere(notebook: Notebook, path: Path) -> list[str]:
    """A link leads to a file, and to the heading that it names. Web addresses are not tried."""
    problems = []
    for piece in shown(notebook):
        for link in [*markdown_links(piece.markdown), *html_links(piece.html)]:
            if link.startswith("attachment:"):
                problem = None if unquote(link[11:]) in piece.attachments else "is not attached"
            else:
                problem = link_problem(link, path)
            if problem:
                problems.append(f"{piece.where}: {link} {problem}")
    return problems


def markdown_links(text: str) -> list[str]:
    """The targets of all links and pictures written in Markdown."""
    inline = re.findall(r"\]\(\s*<?([^\s)>]+)", text)
    return inline + re.findall(r"^\s{0,3}\[[^\]^]+\]:\s*<?([^\s>]+)", text, flags=re.MULTILINE)


def html_links(text: str) -> list[str]:
    """The targets of all links and pictures written in HTML."""
    tags = [attributes for _, attributes in Tags(text).found]
    return [attributes[name] for attributes in tags for name in ("href", "src") if attributes.get(name)]


def link_problem(link: str, source: Path) -> str | None:
    """What is wrong with a link that stands in the file `source`; None if nothing is."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    if parts.path.startswith("/"):
        return "does not start from the file's own folder"
    target = (source.parent / unquote(parts.path)) if parts.path else source
    if not target.exists():
        return "leads to no file"
    if not parts.fragment:
        return None
    if line := re.fullmatch(r"L(\d+)", parts.fragment):
        return (
            None
            if int(line[1]) <= len(target.read_text(encoding="utf-8").splitlines())
            else "has no such line"
        )
    return None if unquote(parts.fragment) in anchors(target) else "leads to no heading"


def anchors(target: Path) -> set[str]:
    """The names of all headings of a file, as JupyterLab and as code hosts write them."""
    text = target.read_text(encoding="utf-8")
    if target.suffix == ".ipynb":
        text = "\n\n".join(joined(cell["source"]) for _, cell in cells(json.loads(text), "markdown"))
    names = set(re.findall(r"""<[^>]+\b(?:id|name)=["']([^"']+)""", text))
    for heading in re.findall(r"^#{1,6}\s+(.+?)\s*#*\s*$", text, flags=re.MULTILINE):
        plain = re.sub(r"[`*]", "", heading)
        names |= {plain.replace(" ", "-"), re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")}
    return names


def size(notebook: Notebook, path: Path) -> list[str]:
    """A lesson, or a sitting of it, is short: how many cells, how long, how many words outside its folds."""
    code = [
        len([line for line in joined(cell["source"]).splitlines() if line.strip()])
        for _, cell in cells(notebook, "code")
    ]
    prose = [joined(cell["source"]) for _, cell in cells(notebook, "markdown")]
    words = sum(count_words(unfolded(text)) for text in prose)
    fewest = 0 if path.name.startswith(("00_", "15_")) else MIN_CODE_CELLS
    problems = []
    sittings = count_sittings(prose)
    if not fewest <= len(code) <= MAX_CODE_CELLS * sittings:
        problems.append(f"{len(code)} code cells, not {fewest} to {MAX_CODE_CELLS * sittings}")
    if code and median(code) > MAX_MEDIAN_LINES:
        problems.append(
            f"half of the code cells have {median(code)} lines or more, not at most {MAX_MEDIAN_LINES}"
        )
    if code and max(code) > MAX_LINES:
        problems.append(f"a code cell has {max(code)} lines, not at most {MAX_LINES}")
    if len(prose) < len(code):
        problems.append(f"{len(prose)} cells of prose for {len(code)} of code")
    if words > MAX_WORDS:
        problems.append(f"{words} words of prose, not at most {MAX_WORDS}")
    if minutes(notebook) > MAX_MINUTES * sittings:
        problems.append(f"it takes {minutes(notebook)} minutes, not at most {MAX_MINUTES * sittings}")
    return problems


def count_sittings(prose: list[str]) -> int:
    """In how many sittings a lesson is read: one, or as many as have a heading such as "First sitting"."""
    return max(1, sum(bool(re.search(r"^## \w+ sitting\b", text, re.MULTILINE)) for text in prose))


def minutes(notebook: Notebook) -> int:
    """How long a lesson takes, in steps of 5 minutes.

    A minute for 100 words or for 6 lines of code, 2 for each task, 20 for the final test.
    """
    words = sum(count_words(unfolded(joined(cell["source"]))) for _, cell in cells(notebook, "markdown"))
    code = [joined(cell["source"]) for _, cell in cells(notebook, "code")]
    lines = sum(bool(line.strip()) for source in code for line in source.splitlines())
    tasks = sum("= quick_check(" in source for source in code)
    tests = sum(bool(re.search(r"^final_test\(", source, re.MULTILINE)) for source in code)
    return 5 * max(1, round((words / 100 + lines / 6 + 2 * tasks + 20 * tests) / 5))


def unfolded(markdown: str) -> str:
    """The part of a text that stands open; of a fold, what one clicks on."""
    return re.sub(r"(<details>\s*<summary>.*?</summary>).*?</details>", r"\1", markdown, flags=re.DOTALL)


def count_words(markdown: str) -> int:
    """The words of prose: code blocks, tags and link targets do not count, words in `code` do."""
    text = re.sub(r"^(```|~~~).*?^\1", "", markdown, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"<[^>]+>|\]\([^)]*\)", " ", text)
    return len([word for word in text.split() if re.search(r"\w", word)])


CHECKS: list[Check] = [
    widget_state,
    no_views_without_state,
    errors_are_meant,
    one_clean_run,
    nothing_is_held_back,
    predictions_are_not_spoiled,
    cell_ids,
    pictures_in_words,
    links_lead_somewhere,
    size,
]
