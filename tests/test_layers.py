"""Imports inside agentlib run one way, none is hidden in a function, and `import agentlib` loads little."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "agentlib"

# Each module imports only from modules that stand before it.
ORDER = (
    "errors",
    "plain",
    "messages",
    "history",
    "tools",
    "costs",
    "models",
    "stops",
    "memory",
    "trace",
    "run",
    "loop",
    "watch",
    "fork",
    "evals",
    "labs",
    "views",
    "checks",
    "grading",
    "providers",
    "selfcheck",
    "__main__",
)
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
HEAVY = sorted(LAZY - {"agentlib.views"} | {"agentlib.providers", "agentlib.views", "jupyterlab", "numpy"})


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


def is_lazy(name: str) -> bool:
    return any(name == lazy or name.startswith(lazy + ".") for lazy in LAZY)


def layer_problems(path: str, source: str) -> list[str]:
    """What is wrong with the imports of one file; path: relative to the package, such as "labs/shop.py"."""
    parts = Path(path).with_suffix("").parts
    if parts == ("__init__",):  # the package itself stands above all of them but the command line
        own, place = "__init__", len(ORDER) - 1
    elif parts[0] in ORDER:
        own, place = parts[0], ORDER.index(parts[0])
    else:
        return [f"{path}: {parts[0]} has no place in ORDER"]
    problems = []
    for line, name, inside in imports(ast.parse(source), ".".join(["agentlib", *parts[:-1]])):
        where = f"{path}:{line}: {name}"
        if inside:
            if not is_lazy(name):
                problems.append(f"{where} is imported inside a function")
            continue
        if name.split(".")[0] != "agentlib":
            continue
        module = name.split(".")[1] if "." in name else ""
        if module not in ORDER:
            problems.append(f"{where} is taken from the package, not from the module that it lives in")
        elif module != own and ORDER.index(module) >= place:
            problems.append(f"{where} stands after {own} in the order")
    return problems


def sources() -> dict[str, str]:
    files = sorted(PACKAGE.rglob("*.py"))
    return {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in files}


def test_each_module_imports_only_from_those_before_it():
    assert [problem for path, source in sources().items() for problem in layer_problems(path, source)] == []


@pytest.mark.parametrize(
    ("path", "source", "problem"),
    [
        ("errors.py", "from agentlib.loop import steps", "stands after errors"),
        ("errors.py", "import agentlib.loop", "stands after errors"),
        ("errors.py", "from agentlib import loop", "stands after errors"),
        ("errors.py", "from . import loop", "stands after errors"),
        ("errors.py", "from .loop import steps", "stands after errors"),
        ("labs/shop.py", "from ..views import text", "stands after labs"),
        ("labs/shop.py", "try:\n    import agentlib.views\nexcept ImportError: pass", "stands after labs"),
        ("loop.py", "from agentlib import Run", "from the package"),
        ("loop.py", "import agentlib", "from the package"),
        ("loop.py", "def f():\n    import json", "inside a function"),
        (
            "loop.py",
            "class A:\n    async def f(self):\n        from agentlib import errors",
            "inside a function",
        ),
        ("loop.py", "def f():\n    import matplotlibrary", "inside a function"),
        ("__init__.py", "from agentlib.__main__ import main", "stands after __init__"),
        ("helpers.py", "", "no place in ORDER"),
    ],
)
def test_a_wrong_import_is_found(path, source, problem):
    (found,) = layer_problems(path, source)
    assert problem in found


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("loop.py", "import json\nfrom agentlib.errors import ToolError\nfrom agentlib import messages"),
        ("loop.py", "from . import messages\nfrom .errors import ToolError"),
        (
            "labs/shop.py",
            "from agentlib.labs import weather\nfrom .weather import GOAL\nfrom ..loop import steps",
        ),
        (
            "run.py",
            "def show():\n    from agentlib.views.text import table\n    import matplotlib.pyplot as plt",
        ),
        ("__init__.py", "from agentlib.loop import steps"),
        ("__main__.py", "from agentlib.grading import batch"),
    ],
)
def test_a_right_import_is_let_through(path, source):
    assert layer_problems(path, source) == []


def loaded_by(statement: str) -> set[str]:
    """The modules that a fresh Python holds after a statement."""
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    return set(done.stdout.split())


def test_import_agentlib_loads_nothing_large():
    loaded = loaded_by("import agentlib")
    assert "agentlib.loop" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_something_large_would_be_seen():
    assert "nbformat" in loaded_by("import agentlib, nbformat")


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
    # These come with ipywidgets, nbgrader and matplotlib.
    known |= {"ipython", "nbformat", "pil", "traitlets"}
    used = {
        name.split(".")[0]
        for path, source in sources().items()
        for _, name, _ in imports(ast.parse(source), ".".join(["agentlib", *Path(path).parts[:-1]]))
    }
    outside = {name for name in used if name not in sys.stdlib_module_names and name != "agentlib"}
    assert {name for name in outside if name.lower() not in known} == set()
    assert "pydantic" in outside
