"""Builds the site: pages to read and to start from, and the lab with Python and every wheel that it needs."""

import importlib.metadata
import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from agentlib.course.errors import SiteError
from agentlib.course.newer import STAMPS_FILE, stamp_notebooks
from agentlib.course.site.exercise_page import write_exercise_pages
from agentlib.course.site.pyodide import (
    CORE,
    HOST,
    fetch_plots,
    fetch_pyodide,
    light_lock,
    make_lock,
    read_lock,
)
from agentlib.course.site.read_pages import write_read_pages
from agentlib.course.site.start_page import write_start_page
from agentlib.course.site.wheels import course_wheel, fetch_wheels

__all__ = ["COURSE_DIR", "PLOT_WORDS", "Built", "build_site", "copy_files"]

COURSE_DIR = Path(__file__).resolve().parents[3]
# The kernel extension is made for one version of Pyodide; versions that stand in `pyproject.toml` too.
TOOLS = {
    "hatchling": "1.33.0",
    "ipykernel": "7.4.0",
    "jupyter-server": "2.21.1",
    "jupyterlite-core": "0.8.6",
    "jupyterlite-pyodide-kernel": "0.8.6",
    "nbclient": "0.11.0",
    "nbconvert": "7.17.2",
}
LOADED_AT_START = [
    "micropip",
    "piplite",
    "pyodide-kernel",
    "ipykernel",
    "comm",
    "ipython",
    "jedi",
    "agentlib-course",
]
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".*", "grading", "*.pyc")
KERNEL_WHEELS = "extensions/@jupyterlite/pyodide-kernel-extension/static/pypi"
KERNEL = "@jupyterlite/pyodide-kernel-extension:kernel"
EXTENSIONS = ("@jupyter-widgets/jupyterlab-manager", "@jupyterlite/pyodide-kernel-extension", "anywidget")

PLOT_WORDS = {
    "site": "Plots: pictures. matplotlib is in the site; no request leaves it.",
    "host": f"Plots: pictures. matplotlib comes with the first from {HOST}; nothing else leaves the site.",
    "none": "Plots: tables with the same sentence. There is no matplotlib, and no request leaves the site.",
}


@dataclass(frozen=True)
class Built:
    """What was built. plots: a key of `PLOT_WORDS`. size_bytes: all files together. notes: in sentences."""

    folder: Path
    plots: str
    size_bytes: int
    notes: tuple[str, ...] = ()


def build_site(
    out: Path,
    *,
    solutions: bool = True,
    plots: str = "host",
    pyodide: Path | None = None,
    course_dir: Path = COURSE_DIR,
) -> Built:
    """Build the site into a new folder, which is there only when all has worked.

    solutions: whether they are in it. plots: "site" tries to fetch matplotlib for the site and falls back to
    "host"; "none" leaves it out. pyodide: a folder with Pyodide's core; None = it is fetched by npm.
    Raises SiteError if the folder holds something already, or if something cannot be had.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise SiteError(
            f"{out} is there already. The site is always built into a new folder: name another one."
        )
    _tools_are_here()
    if not (course_dir / "notebooks").is_dir():
        raise SiteError(
            f"There are no notebooks in {course_dir}: build the site from a copy of the repository."
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as work:
        built = _build(Path(work), solutions, plots, pyodide, course_dir)
        site = Path(work) / "site"
        if out.exists():
            out.rmdir()
        site.rename(out)
        size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
        return Built(out, built[0], size, built[1])


def _tools_are_here() -> None:
    for name, wanted in TOOLS.items():
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found = ""
        if found != wanted:
            what = f"is here in version {found}" if found else "is not installed"
            raise SiteError(
                f"{name} {what}, and the site needs {wanted}. Run: "
                f'{sys.executable} -m pip install -e ".[site]"'
            )


def _build(
    work: Path, solutions: bool, plots: str, pyodide: Path | None, course_dir: Path
) -> tuple[str, tuple[str, ...]]:
    source, site, wheels = work / "source", work / "site", work / "wheels"
    wheels.mkdir()
    core = source / "static" / "pyodide"
    if pyodide is None:
        fetch_pyodide(core)
    else:
        core.mkdir(parents=True)
        for name in CORE:
            shutil.copyfile(pyodide / name, core / name)
    copy_files(course_dir, source / "files", solutions)
    stamps = stamp_notebooks(source / "files")
    _write_settings(source)
    _jupyterlite(source, site)
    _keep_extensions(site)
    notes: tuple[str, ...] = ()
    fetch_wheels(wheels)
    course_wheel(course_dir, wheels)
    for wheel in (site / KERNEL_WHEELS).glob("*.whl"):
        if not wheel.name.startswith("widgetsnbextension-3"):  # for ipywidgets 7
            shutil.copyfile(wheel, wheels / wheel.name)
    own = list(wheels.glob("*.whl"))
    base = read_lock(core)
    if plots == "site":
        with tempfile.TemporaryDirectory(dir=work) as fetched:
            try:
                fetch_plots(base, Path(fetched))
            except SiteError as problem:
                plots, notes = "host", (f"{problem} So plots do not come from the site.",)
            else:
                for wheel in Path(fetched).iterdir():
                    if not (wheels / wheel.name).exists():
                        shutil.copyfile(wheel, wheels / wheel.name)
    locked = site / "static" / "pyodide-lock"
    shutil.copytree(wheels, locked)
    lock = make_lock(base, own, plots=plots)
    (locked / "pyodide-lock.json").write_text(json.dumps(lock), encoding="utf-8")
    (locked / "start-lock.json").write_text(json.dumps(light_lock(lock)), encoding="utf-8")
    write_start_page(site, course_dir)
    (site / STAMPS_FILE).write_text(json.dumps(stamps), encoding="utf-8")
    lost = write_read_pages(site, course_dir)
    write_exercise_pages(site)
    return plots, (*notes, *lost)


def copy_files(course_dir: Path, files: Path, solutions: bool) -> None:
    """Copy what the lab shows: notebooks, exercises, the package to read, and the solutions if wanted."""
    folders = ["notebooks", "exercises", *(["solutions"] if solutions else [])]
    for folder in folders:
        shutil.copytree(course_dir / folder, files / folder, ignore=LEFT_OUT)
    # Lessons lead to the package's own files, to be read.
    shutil.copytree(course_dir / "agentlib", files / "agentlib", ignore=LEFT_OUT)
    shutil.copyfile(course_dir / "LICENSE", files / "LICENSE")


def _write_settings(source: Path) -> None:
    kernel = {
        "disablePyPIFallback": True,
        "loadPyodideOptions": {
            "lockFileURL": "./static/pyodide-lock/pyodide-lock.json",
            "packages": LOADED_AT_START,
        },
    }
    settings = {"appName": "Agent loops", "exposeAppInBrowser": True, "litePluginSettings": {KERNEL: kernel}}
    whole = {"jupyter-lite-schema-version": 0, "jupyter-config-data": settings}
    (source / "jupyter-lite.json").write_text(json.dumps(whole, indent=1), encoding="utf-8")


def _jupyterlite(source: Path, site: Path) -> None:
    command = [
        sys.executable, "-m", "jupyterlite_core", "build", f"--lite-dir={source}", f"--output-dir={site}",
        "--contents=files", "--apps=lab", "--no-sourcemaps",
    ]  # fmt: skip
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=source)
    if done.returncode:
        raise SiteError(f"JupyterLite could not be built: {(done.stdout + done.stderr).strip()[-1000:]}")


def _keep_extensions(site: Path) -> None:
    """Take out what else this environment has for JupyterLab: its servers are not there."""
    settings_file = site / "jupyter-lite.json"
    settings = json.loads(settings_file.read_text(encoding="utf-8"))
    found = settings["jupyter-config-data"]["federated_extensions"]
    kept = [one for one in found if one["name"] in EXTENSIONS]
    for one in found:
        if one not in kept:
            shutil.rmtree(site / "extensions" / one["name"])
    settings["jupyter-config-data"]["federated_extensions"] = kept
    settings_file.write_text(json.dumps(settings, indent=1), encoding="utf-8")
