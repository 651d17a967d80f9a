"""Runs lessons from top to bottom in a fresh kernel and keeps their outputs, for whoever changes a lesson.

    .venv/bin/python -m tests.rerun_notebooks notebooks/01_the_loop.ipynb ...     (no name: all lessons)

What only a running kernel can show is left out of the file: the state of widgets and their views, whose
static form stands in the same output, and the times of execution.
"""

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent
VIEW = "application/vnd.jupyter.widget-view+json"


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
    notebook.metadata.pop("widgets", None)
    notebook.metadata.get("language_info", {}).pop("version", None)  # differs from one Python to the next
    nbformat.write(notebook, path)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["AGENTLIB_DATA_DIR"] = folder  # no answers yet: nobody's own progress goes into a lesson
        for path in map(Path, sys.argv[1:] or sorted((ROOT / "notebooks").glob("*.ipynb"))):
            print(path, flush=True)
            rerun(path)
