"""The start page: a run in the player, the text of its loop to change, and the map of the course."""

import re
import shutil
from pathlib import Path

from markupsafe import Markup

from agentlib.course.site.links import page_of
from agentlib.course.site.live import first_values
from agentlib.course.site.read_pages import PAGES, filled, json_in_page
from agentlib.labs import blue_mugs
from agentlib.views.shown import joined_html, tag

__all__ = ["course_map", "start_page", "write_start_page"]

PLAYER = Path(__file__).parents[2] / "views" / "tracer"
SHARED = (
    "editor.js", "editor.LICENSE.txt", "page_model.js", "python.js", "python_worker.js", "start.css",
    "start.js", "theme.js",
)  # fmt: skip
MAX_STEPS = 4
ROW = re.compile(
    r"^\| \[(?P<title>[^\]]+)\]\((?P<path>(?P<kind>notebooks|exercises)/\w+\.ipynb)\) "
    r"\| (?P<what>[^|]+) \|",
    re.MULTILINE,
)


def course_map(readme: str) -> str:
    """Make the map of lessons and exercises, by their pages to read, out of the tables of README."""
    tables = []
    for kind, caption in (("notebooks", "Lessons"), ("exercises", "Exercises")):
        rows = []
        for found in ROW.finditer(readme):
            if found["kind"] == kind:
                link = tag("a", found["title"], href=page_of(found["path"]))
                rows.append(tag("tr", tag("th", link, scope="row"), tag("td", found["what"])))
        tables.append(tag("table", tag("caption", caption), tag("tbody", *rows)))
    return joined_html(*tables)


def start_page(readme: str) -> str:
    """Make the start page. readme: the text of README, whose tables are the map."""
    loop = (PAGES / "loop.txt").read_text(encoding="utf-8")
    return filled(
        "index.html",
        goal=blue_mugs.GOAL,
        loop=loop,
        max_steps=MAX_STEPS,
        map=Markup(course_map(readme)),
        values=json_in_page(first_values(loop, MAX_STEPS)),
    )


def write_start_page(site: Path, course_dir: Path) -> None:
    """Write the start page and its files into the site."""
    for name in SHARED:
        shutil.copyfile(PAGES / name, site / name)
    for name in ("player.css", "player.js"):
        shutil.copyfile(PLAYER / name, site / name)
    readme = (course_dir / "README.md").read_text(encoding="utf-8")
    (site / "index.html").write_text(start_page(readme), encoding="utf-8")
