"""The pages of the exercises: pages to read, in which the learner's cells can be written, run and checked."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

from agentlib.course.checking.spec import Exercise
from agentlib.course.exercises import EXERCISES
from agentlib.course.site.links import page_of
from agentlib.course.site.read_pages import PAGES, json_in_page

__all__ = ["exercise_page", "write_exercise_pages"]

FILES = ("exercise.css", "exercise.js", "exercise_guard.js")
CHECK_WORDS = (
    "The check draws its own data: names and numbers change from run to run, so nothing can be learned "
    "by heart. Mend the first line that says <em>not yet</em>, then check again."
)
BEGIN_ANEW = re.compile(r"\s*To begin anew, type in a terminal.*", re.DOTALL)


def exercise_page(page: str, exercise: Exercise, notebook: dict[str, Any]) -> str:
    """Make the page of an exercise out of its page to read: editors, buttons, and a place for the report.

    notebook: the exercise as it is handed out, whose cells the page shows; without JavaScript it is a page to
    read as before.
    """
    from bs4 import BeautifulSoup  # noqa: PLC0415  comes with the extra `site`

    soup: Any = BeautifulSoup(page, "html.parser")
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    kinds = [_kind(cell) for cell in code]
    for place, (cell, kind) in enumerate(zip(code, kinds, strict=True)):
        box = soup.find(id=f"cell-{cell['id']}")
        if kind in ("solution", "try"):
            _make_editor(soup, box, cell, place, kind)
        elif kind == "check":
            box.replace_with(_fragment(soup, _panel(exercise)))
        elif kind == "points":
            box.decompose()
    _mend_words(soup, exercise)
    about = {
        "name": exercise.name,
        "file": f"{exercise.name}.ipynb",
        "kinds": kinds,
        "max_points": exercise.max_points,
        "notebook": notebook,
    }
    root = "../" * page_of(f"exercises/{exercise.name}.ipynb").count("/")
    soup.head.append(_fragment(soup, f'<link rel="stylesheet" href="{root}exercise.css">'))
    soup.body.append(
        _fragment(
            soup,
            f'<script type="application/json" id="exercise">{json_in_page(about)}</script>\n'
            f'<script src="{root}exercise_guard.js"></script>\n'
            f'<script type="module" src="{root}exercise.js" id="exercise-script"></script>\n',
        )
    )
    return str(soup)


def write_exercise_pages(site: Path, exercises: dict[str, Exercise] = EXERCISES) -> None:
    """Put what the exercises' pages need into the site, whose pages to read are there already."""
    for name in FILES:
        shutil.copyfile(PAGES / name, site / name)
    for exercise in exercises.values():
        path = site / page_of(f"exercises/{exercise.name}.ipynb")
        notebook = json.loads(exercise.fresh.read_text(encoding="utf-8"))
        path.write_text(exercise_page(path.read_text(encoding="utf-8"), exercise, notebook), encoding="utf-8")


def _kind(cell: dict[str, Any]) -> str:
    """Tell what a code cell is for: "solution", "check", "points", "try", or "given" (not to be changed)."""
    mark = cell["metadata"].get("nbgrader", {})
    if mark.get("solution"):
        return "solution"
    if mark.get("grade"):
        return "points"
    if "check" in cell["metadata"].get("tags", []):
        return "check"
    return "given" if mark.get("locked") else "try"


def _make_editor(soup: Any, box: Any, cell: dict[str, Any], place: int, kind: str) -> None:
    """Put a field with a cell's text in the place of its code, and what it shows beneath."""
    source = "".join(cell["source"])
    names = ", ".join(re.findall(r"^def (\w+)", source, re.MULTILINE))
    label = f"Your code: {names}" if kind == "solution" else "To try it: change it, and run it"
    field = f"text-{cell['id']}"
    lines = source.count("\n") + (4 if kind == "solution" else 1)
    box["data-place"], box["data-kind"] = str(place), kind
    area = soup.new_tag(
        "textarea", id=field, rows=str(lines), spellcheck="false", autocapitalize="off", autocomplete="off"
    )
    area.string = f"\n{source}"  # HTML drops one line break at the beginning
    code = box.find(class_="source")
    code.replace_with(_fragment(soup, f'<label for="{field}">{label}</label>'), area)
    shown = box.find(class_="outputs")
    if shown is not None and (kind == "solution" or shown.find(class_="part") is None):
        shown.decompose()
        shown = None
    if kind == "try":
        run = '<p class="row"><button type="button" class="run-cell">Run this cell</button></p>'
        outputs = '<div class="came" role="group" aria-label="What came out"></div>'
        area.insert_after(_fragment(soup, run + outputs))
        if shown is not None:
            box.find(class_="came").append(shown.extract())


def _panel(exercise: Exercise) -> str:
    what = "loop" if exercise.functions == ("run_agent",) else "code"
    return f"""<div id="check">
<p class="row">
<button type="button" id="check-now">Check my {what}</button>
<label id="same-row" hidden><input type="checkbox" id="same"> with the same data again</label>
<button type="button" id="stop" hidden>Stop</button>
</p>
<p id="status" role="status">Python is being loaded; you can read and write meanwhile.</p>
<p id="to-line" class="row" hidden><button type="button"></button></p>
<div id="report" role="region" aria-label="Report" hidden></div>
<section id="watched" hidden><h3 tabindex="-1"></h3><div></div></section>
<p id="best"></p>
<h3 id="yours">What you wrote</h3>
<p id="keeping" role="status">It is kept in this browser, on this computer alone. To keep it for good, to hand
it in, or to go on elsewhere, download the notebook.</p>
<p class="row">
<button type="button" id="download">Download the notebook</button>
<label class="file">Take in a notebook <input type="file" id="take" accept=".ipynb"></label>
<button type="button" id="reset">Reset to the beginning</button>
</p>
</div>"""


def _mend_words(soup: Any, exercise: Exercise) -> None:
    """Say what is so on a page where the notebook speaks of its cells and of a terminal."""
    words = soup.find(id=f"cell-{exercise.number}-check-words")
    words.find("p").replace_with(_fragment(soup, f"<p>{CHECK_WORDS}</p>"))
    for paragraph in soup.find(id=f"cell-{exercise.number}-next").find_all("p"):
        for text in paragraph.find_all(string=BEGIN_ANEW):
            for later in list(text.next_siblings):
                later.extract()
            text.replace_with(BEGIN_ANEW.sub("", text))


def _fragment(soup: Any, markup: str) -> Any:
    from bs4 import BeautifulSoup  # noqa: PLC0415

    return BeautifulSoup(markup, "html.parser")
