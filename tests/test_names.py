"""One word for each thing: no public class or function is defined in two modules of agentlib."""

import ast
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# Each lab, each exercise and each lesson's tasks have names of their own.
APART = ("agentlib/labs/", "agentlib/course/exercises/", "agentlib/course/quick_checks/lesson_")
SHARED = {"main", "model"}


def public_names(source: str) -> set[str]:
    """The classes and functions that a module defines for others; one that is overloaded counts once."""
    kinds = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    return {node.name for node in ast.parse(source).body if isinstance(node, kinds) and node.name[0] != "_"}


def names_of_two(sources: dict[str, str]) -> dict[str, list[str]]:
    """Each name that more than one module defines, with these modules."""
    names = {path: public_names(source) - SHARED for path, source in sources.items()}
    counts = Counter(name for found in names.values() for name in found)
    return {
        name: [path for path in names if name in names[path]] for name, count in counts.items() if count > 1
    }


def test_no_public_name_is_defined_in_two_modules():
    files = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "agentlib").rglob("*.py"))]
    sources = {
        path: (ROOT / path).read_text(encoding="utf-8") for path in files if not path.startswith(APART)
    }
    assert names_of_two(sources) == {}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("class Run: pass\ndef ask(): pass\nasync def wait(): pass", {"Run", "ask", "wait"}),
        ("def _inner(): pass\nclass _Inner: pass\nNAME = 1\nfrom x import y", set()),
        ("class Run:\n    def end(self): pass", {"Run"}),
        ("@overload\ndef tool(): pass\ndef tool(): pass", {"tool"}),
    ],
)
def test_public_names(source, names):
    assert public_names(source) == names


def test_a_name_of_two_modules_is_found_with_both():
    sources = {"a.py": "def main(): pass\ndef ask(): pass", "b.py": "def main(): pass\nclass ask: pass"}
    assert names_of_two(sources) == {"ask": ["a.py", "b.py"]}
