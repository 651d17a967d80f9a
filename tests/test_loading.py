"""`import agentlib` loads little; every package that it imports is declared. import-linter has the order."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import agentlib

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "agentlib"

# What a function may import when it is called, since it is large or need not be installed.
LAZY = {
    "agentlib.views",
    "anthropic",
    "anywidget",
    "asyncio",
    "ctypes",
    "distributed",
    "IPython",
    "ipywidgets",
    "matplotlib",
    "nbformat",
    "nbgrader",
    "openai",
    "PIL",
    "pydantic",
    "sandlock",
    "tqdm",
    "xllamacpp",
}
# What `import agentlib` must not load.
HEAVY = LAZY | {"agentlib.course", "agentlib.providers", "jinja2", "jupyterlab", "numpy", "psutil"}


def imports(tree: ast.AST, package: str) -> Iterator[tuple[int, str, bool]]:
    """Each import as (line, dotted name, whether it is inside a function); relative ones in full."""

    def walk(node: ast.AST, inside: bool) -> Iterator[tuple[int, str, bool]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for name in child.names:
                    yield child.lineno, name.name, inside
            elif isinstance(child, ast.ImportFrom):
                parents = package.split(".")[: len(package.split(".")) - child.level + 1]
                base = ".".join([*(parents if child.level else []), *filter(None, [child.module])])
                for name in child.names:
                    yield child.lineno, f"{base}.{name.name}", inside
            is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from walk(child, inside or is_function)

    yield from walk(tree, False)


def sources() -> dict[str, str]:
    files = sorted(PACKAGE.rglob("*.py"))
    return {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in files}


def loaded_by(statement: str) -> set[str]:
    """The modules that a fresh Python holds after a statement."""
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("statement", ["from agentlib import *", "import agentlib; agentlib.run_agent"])
def test_import_agentlib_loads_nothing_large(statement):
    loaded = loaded_by(statement)
    assert "agentlib.loop" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_each_name_of_agentlib_is_loaded_when_it_is_asked_for():
    assert {name for name in loaded_by("import agentlib") if name.startswith("agentlib.")} == set()
    assert "agentlib.tools" not in loaded_by("from agentlib import ask, answer, ask_together, errors")
    assert set(agentlib.__all__) <= set(dir(agentlib))
    assert [name for name in agentlib.__all__ if getattr(agentlib, name, None) is None] == []
    with pytest.raises(AttributeError, match="module 'agentlib' has no attribute 'runagent'"):
        agentlib.runagent  # noqa: B018


def test_a_learner_s_kernel_loads_nothing_of_grading_nor_of_what_a_browser_s_python_lacks():
    loaded = loaded_by("from agentlib.course import check, progress, self_check, try_it")
    assert "agentlib.course.exercises" in loaded
    assert loaded.isdisjoint({"agentlib.course.grading", "agentlib.course.cli", "jinja2", "psutil"})


def test_something_large_would_be_seen():
    assert "nbformat" in loaded_by("import agentlib, nbformat")


def test_every_folder_of_modules_is_a_package_since_import_linter_sees_no_other():
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def declared(pyproject: dict) -> set[str]:
    """The packages that agentlib says it needs, always or as an extra, with the names that Python imports."""
    project = pyproject["project"]
    needs = [
        *project["dependencies"],
        *(need for extra in project["optional-dependencies"].values() for need in extra),
    ]
    return {re.match(r"[\w.-]+", need)[0].lower().replace("-", "_") for need in needs}


def test_every_package_that_agentlib_imports_is_declared():
    known = declared(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8")))
    # These come with ipywidgets, nbgrader, matplotlib, nbconvert, Jinja2, JupyterLab and opentelemetry-sdk,
    # and with Python in a browser.
    known |= {"bs4", "ipython", "markupsafe", "nbformat", "opentelemetry", "packaging", "pil", "pyodide"}
    known |= {"js", "pyodide_js", "traitlets"}
    used = {
        name.split(".")[0]
        for path, source in sources().items()
        for _, name, _ in imports(ast.parse(source), ".".join(["agentlib", *Path(path).parts[:-1]]))
    }
    outside = {name for name in used if name not in sys.stdlib_module_names and name != "agentlib"}
    assert {name for name in outside if name.lower() not in known} == set()
    assert "pydantic" in outside
