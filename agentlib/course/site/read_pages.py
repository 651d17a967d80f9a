"""Pages to read: lessons, exercises, solutions, glossary, the package's files; HTML without a kernel."""

import json
import re
import shutil
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from agentlib.course.site.edited import edit_request, repair_request
from agentlib.course.site.links import Links, page_of
from agentlib.course.site.run_notebooks import run_notebooks
from agentlib.course.site.widgets import STATE, VIEW, PagePart, WidgetParts, widget_parts
from agentlib.views.describe import joined
from agentlib.views.shown import Html, caption_html, joined_html, tag

__all__ = [
    "PAGES", "Neighbour", "ReadPage", "filled", "json_in_page", "read_page", "rendered", "write_read_pages",
]  # fmt: skip

PAGES = Path(__file__).with_name("pages")
VIEWS = Path(__file__).parents[2] / "views"
COPIED = (
    PAGES / "read.css", PAGES / "read.js", VIEWS / "quiz" / "quiz.css", VIEWS / "quiz" / "quiz.js",
)  # fmt: skip
PREDICTED = re.compile(r'^\s*(predict|predicted)\("([^"]+)"', re.MULTILINE)
OF_THE_PAGE = ("text", "parts")
"""Ids that the template has."""

GLOSSARY = "notebooks/glossary.md"
VIEWS_USED = "agentlib.views"
"""An exercise that uses none of the views shows nothing that its text does not: it need not be run."""


class Neighbour(NamedTuple):
    """The page before or after another. link: from that one to it."""

    title: str
    link: str


@dataclass(frozen=True)
class ReadPage:
    """What stands on a page.

    source: the file it is made from, such as "notebooks/01_the_loop.ipynb". title: its first heading.
    text: the body as HTML. contents: the ids and words of its second headings. parts: what plays.
    """

    source: str
    title: str
    text: Html
    contents: tuple[tuple[str, str], ...] = ()
    parts: tuple[PagePart, ...] = ()


# --- from a notebook to a page --------------------------------------------------------------------------


def rendered(notebook: Any, source: str, links: Links) -> ReadPage:
    """Render a notebook. source: where it stands in the course. links: where links lead to on the site."""
    states = notebook.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
    lab = links.lab(source)
    parts: list[PagePart] = []
    widgets: dict[str, Html] = {}
    predicted: dict[str, str] = {}
    sources: list[str] = []
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        sources.append(cell.source)
        names = dict(PREDICTED.findall(cell.source))
        if "predicted" in names:
            predicted[cell.id] = names["predicted"]
        for output in cell.outputs:
            model_id = output.get("data", {}).get(VIEW, {}).get("model_id")
            if model_id is not None:
                shown = widget_parts(states, model_id)
                widgets[model_id] = _places(shown, len(parts), cell.id, names.get("predict", ""), lab)
                parts += [_asking(part, sources) for part in shown.parts]
    resources = {"widgets": widgets, "predicted": predicted}
    return _page(source, _cells_html(notebook, resources), links, parts)


def _asking(part: PagePart, sources: Sequence[str]) -> PagePart:
    """Add what the page has to ask Python for when something of the part is changed."""
    if part.kind == "player":
        return replace(part, ask=edit_request(sources, part.values["timelines"]))
    return replace(part, ask=repair_request(sources, part.values["questions"]))


def _places(shown: WidgetParts, first: int, cell: str, prediction: str, lab: str) -> Html:
    """Make the places in which the parts of an output will play, and say what plays in the lab alone."""
    places = [
        tag(
            "div", class_=f"part {part.kind}", data_part=str(number), data_cell=cell,
            **({"data_predict": prediction} if prediction else {}),
        )
        for number, part in enumerate(shown.parts, start=first)
    ]  # fmt: skip
    if words := lab_words(shown):
        link = tag("a", "in the lab", href=lab)
        places.append(tag("p", caption_html(words), " ", link, ", where Python runs.", class_="in-lab"))
    return joined_html(*places)


def lab_words(shown: WidgetParts) -> str:
    """Begin the sentence on what of a widget needs Python; "" = nothing does."""
    verbs = []
    if shown.chooses:
        verbs.append(f"choose {joined([f'`{name}`' for name in shown.chooses])}")
    if shown.moves:
        verbs.append(f"move {joined([f'`{name}`' for name in shown.moves])}")
    if shown.asks_what_if:
        verbs.append("change a reply or a result (What if?)")
    return f"You can {joined(verbs)}" if verbs else ""


def _cells_html(notebook: Any, resources: dict[str, Any]) -> str:
    from nbconvert import HTMLExporter  # noqa: PLC0415  comes with the extra `site`

    exporter = HTMLExporter(  # type: ignore[no-untyped-call]
        template_file=str(PAGES / "cells.html.j2"), exclude_anchor_links=True
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an empty output is one, before those that are hidden
        html, _ = exporter.from_notebook_node(notebook, resources=resources)
    return str(html)


def _code_page(text: str, source: str) -> ReadPage:
    from nbconvert.filters import Highlight2HTML  # noqa: PLC0415

    code = Highlight2HTML(pygments_lexer="python")(text)  # type: ignore[no-untyped-call]
    shown = tag("div", tag("div", Html(code), class_="scroll"), class_="source")
    return ReadPage(source, source, joined_html(tag("h1", source), shown))


def _page(source: str, html: str, links: Links, parts: Sequence[PagePart] = ()) -> ReadPage:
    """Give headings their ids, links their pages, and what is wide a box of its own to scroll in."""
    from bs4 import BeautifulSoup  # noqa: PLC0415  nbconvert needs it, too

    soup = BeautifulSoup(html, "html.parser")
    links.lead(soup, source)
    contents, taken = [], {*OF_THE_PAGE, *(element["id"] for element in soup.find_all(id=True))}
    for heading in soup.find_all(["h1", "h2", "h3", "h4"]):
        words = heading.get_text().strip()
        slug = base = slug_of(words)
        number = 1
        while slug in taken:
            number += 1
            slug = f"{base}-{number}"
        taken.add(slug)
        heading["id"] = slug
        about = {"class": "anchor", "aria-label": f"Link to {words}"}
        anchor = soup.new_tag("a", string="#", href=f"#{slug}", attrs=about)
        if heading.name != "h1":
            heading.extend([" ", anchor])
        if heading.name == "h2":
            contents.append((slug, words))
    for line in soup.find_all("p", class_="agentlib-before"):  # "Run this cell": there is none
        line.decompose()
    for head in soup.find_all("th"):
        if not head.get_text(strip=True):  # the corner of a table is no header
            head.name = "td"
            del head["scope"]
    for wide in soup.find_all(["table", "pre"]):
        wide.wrap(soup.new_tag("div", attrs={"class": "scroll"}))
    first = soup.find("h1")
    title = first.get_text().strip() if first else source
    return ReadPage(source, title, Html(soup), tuple(contents), tuple(parts))


def slug_of(words: str) -> str:
    """Give a heading the id that code hosts give it, so that links into a page lead there as well."""
    kept = re.sub(r"[^\w\- ]", "", words.strip().lower())
    return kept.replace(" ", "-") or "part"


# --- from a page to a file ------------------------------------------------------------------------------


def read_page(
    page: ReadPage, links: Links, before: Neighbour | None = None, after: Neighbour | None = None
) -> str:
    """Write a page as HTML. before, after: the pages that it leads to."""
    return filled(
        "read.html",
        title=page.title,
        name=Path(page.source).stem,
        root=links.root(page.source),
        run=page.source if page.source.endswith(".ipynb") else "",
        contents=page.contents,
        text=Markup(page.text),
        parts=json_in_page([asdict(part) for part in page.parts]) if page.parts else "",
        before=before,
        after=after,
    )


def filled(template: str, **values: Any) -> str:
    """Write a page from a template of ours; values are escaped, but for `Markup`."""
    templates = Environment(
        loader=FileSystemLoader(PAGES), autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True
    )
    return templates.get_template(template).render(values)


def json_in_page(value: Any) -> Markup:
    """Write plain data as JSON that may stand in a page's script, whatever texts are in it."""
    # A script ends at the first "</script", whatever stands around it; JSON may write "<" as its code.
    return Markup(json.dumps(value).replace("<", "\\u003c"))


def write_read_pages(site: Path, course_dir: Path) -> list[str]:
    """Write all pages to read into a site that has its files already; give what went wrong, in sentences.

    Raises SiteError if a notebook does not run.
    """
    for path in COPIED:
        shutil.copyfile(path, site / path.name)
    files = site / "files"
    lessons = _names(files, "notebooks/*.ipynb")
    exercises = _in_order(_names(files, "exercises/*.ipynb"), course_dir)
    solutions = _names(files, "solutions/*.ipynb")
    links = Links([*lessons, *exercises, *solutions, GLOSSARY], lambda name: (files / name).is_file())
    shows = [name for name in exercises if VIEWS_USED in (files / name).read_text(encoding="utf-8")]
    run = run_notebooks(course_dir, [*lessons, *shows])
    pages = [_read(files, name, links, run) for name in (*lessons, *exercises, *solutions, GLOSSARY)]
    written: set[str] = set()
    while new := [name for name in links.code if name not in written]:  # a file of the package may lead on
        pages += [_read(files, name, links, run) for name in new]
        written.update(new)
    titles = {page.source: page.title for page in pages}
    for page in pages:
        series = next((one for one in (lessons, exercises) if page.source in one), [])
        around = [_neighbour(series, page.source, by, titles) for by in (-1, 1)]
        target = site / page_of(page.source)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(read_page(page, links, *around), encoding="utf-8")
    return links.lost


def _names(folder: Path, pattern: str) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.glob(pattern))


def _in_order(exercises: list[str], course_dir: Path) -> list[str]:
    """Put exercises in the order of README, in which they come in the course."""
    readme = (course_dir / "README.md").read_text(encoding="utf-8")
    return sorted(exercises, key=lambda name: readme.find(f"({name})") % len(readme))


def _read(files: Path, name: str, links: Links, run: Mapping[str, Any]) -> ReadPage:
    from nbformat import v4  # noqa: PLC0415

    text = (files / name).read_text(encoding="utf-8")
    if name.endswith(".py"):
        return _code_page(text, name)
    if name.endswith(".md"):
        cell = v4.new_markdown_cell(text)  # type: ignore[no-untyped-call]
        return rendered(v4.new_notebook(cells=[cell]), name, links)  # type: ignore[no-untyped-call]
    return rendered(run.get(name) or v4.reads(text), name, links)  # type: ignore[no-untyped-call]


def _neighbour(series: list[str], name: str, by: int, titles: Mapping[str, str]) -> Neighbour | None:
    place = series.index(name) + by if name in series else -1
    if not 0 <= place < len(series):
        return None
    return Neighbour(titles[series[place]], page_of(series[place]).rpartition("/")[2])
