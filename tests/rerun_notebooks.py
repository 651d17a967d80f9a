"""Runs lessons from top to bottom in a fresh kernel and keeps their outputs, for whoever changes a lesson.

    .venv/bin/python -m tests.rerun_notebooks notebooks/01_the_loop.ipynb ...     (no name: all lessons)

What only a running kernel can show is left out of the file: the state of widgets and their views, whose
static form stands in the same output, and the times of execution. The minutes that a lesson takes are written
into its first cell, into the map in lesson 00 and into README.
"""

import json
import os
import re
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from tests.notebook_checks import joined, minutes, tells_first_line

ROOT = Path(__file__).parent.parent
VIEW = "application/vnd.jupyter.widget-view+json"


def keep_secret(cell: nbformat.NotebookNode) -> None:
    """Put an empty output first where they are hidden: JupyterLab shows the first line of the first one."""
    if tells_first_line(cell):
        cell.outputs.insert(0, nbformat.v4.new_output("display_data"))


def rerun(path: Path) -> None:
    """Run one notebook and write it back; an error in a cell that is not tagged for it raises."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=120,
        store_widget_state=False,
        record_timing=False,
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(VIEW, None)
        keep_secret(cell)
    notebook.metadata.pop("widgets", None)
    notebook.metadata.get("language_info", {}).pop("version", None)  # differs from one Python to the next
    nbformat.write(notebook, path)


def minutes_said(name: str, text: str) -> list[str]:
    """The minutes of a lesson in README's table or in the map of lesson 00. name: of its file."""
    return re.findall(rf"^\| \[[^|]*\({re.escape(name)}\) \|[^|]*\| (\d+) \|$", text, re.MULTILINE)


def with_minutes(name: str, text: str, number: int) -> str:
    """The same table with this number in the row of the lesson."""
    row = rf"^(\| \[[^|]*\({re.escape(name)}\) \|[^|]*\| )[^|]*( \|)$"
    return re.sub(row, rf"\g<1>{number}\2", text, flags=re.MULTILINE)


def keep_minutes(path: Path, root: Path = ROOT) -> None:
    """Write what a lesson takes into its first cell, README and the map."""
    notebook = nbformat.read(path, as_version=4)
    number = minutes(json.loads(path.read_text(encoding="utf-8")))
    title = notebook.cells[0]
    title.source = re.sub(r"(?<=[Aa])bout \d+ minutes", f"bout {number} minutes", joined(title.source))
    nbformat.write(notebook, path)
    readme, start = root / "README.md", root / "notebooks" / "00_start_here.ipynb"
    text = readme.read_text(encoding="utf-8")
    readme.write_text(with_minutes(f"notebooks/{path.name}", text, number), encoding="utf-8")
    notebook = nbformat.read(start, as_version=4)
    for cell in notebook.cells:
        if cell.id == "map":
            cell.source = with_minutes(path.name, joined(cell.source), number)
            cell.source = re.sub(
                r"^(\| 00 .*\| )\d+( \|)$", rf"\g<1>{minutes(notebook)}\2", cell.source, flags=re.M
            )
    nbformat.write(notebook, start)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["AGENTLIB_DATA_DIR"] = folder  # no answers yet: nobody's own progress goes into a lesson
        for path in map(Path, sys.argv[1:] or sorted((ROOT / "notebooks").glob("*.ipynb"))):
            print(path, flush=True)
            rerun(path)
            keep_minutes(path)
