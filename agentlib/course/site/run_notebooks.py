"""Runs notebooks from top to bottom in kernels of their own, some side by side, in a copy of the course."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from agentlib.course.errors import SiteError

__all__ = ["run_notebooks"]

AT_ONCE = 2
CELL_SECONDS = 120


def run_notebooks(course_dir: Path, names: Sequence[str]) -> dict[str, Any]:
    """Run notebooks in a scratch copy; give them by name, with outputs and the state of their widgets.

    names: such as "notebooks/01_the_loop.ipynb". Nobody's own progress goes into them.
    Raises SiteError if a cell fails that is not meant to.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        scratch = Path(folder)
        for kind in {Path(name).parent for name in names}:
            shutil.copytree(course_dir / kind, scratch / "course" / kind)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            done = list(pool.map(lambda name: _run(scratch, course_dir, name), names))
        return dict(zip(names, done, strict=True))


def _run(scratch: Path, course_dir: Path, name: str) -> Any:
    import nbformat  # noqa: PLC0415  these come with the extra `site`
    from nbclient import NotebookClient  # noqa: PLC0415
    from nbclient.exceptions import CellExecutionError  # noqa: PLC0415

    path = scratch / "course" / name
    own = scratch / path.stem
    own.mkdir()
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, [str(course_dir), os.environ.get("PYTHONPATH")])),
        "AGENTLIB_DATA_DIR": str(own / "answers"),
        "IPYTHONDIR": str(own / "ipython"),
    }
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=CELL_SECONDS,
        store_widget_state=True,
        record_timing=False,
        resources={"metadata": {"path": str(path.parent)}},
    )
    try:
        client.execute(env=environment, stderr=subprocess.DEVNULL)
    except CellExecutionError as problem:
        raise SiteError(f"{name} does not run: {str(problem).strip()[-500:]}") from problem
    except Exception as problem:
        raise SiteError(
            f"{name} could not be run with {sys.executable}: {type(problem).__name__}: {problem}"
        ) from problem
    return notebook
