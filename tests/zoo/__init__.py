"""The bug zoo: wrong and right solutions of every exercise, as learners write them.

Each wrong one is named after its fault and tied to the criterion that has to find it first. Most are a right
one with one edit. The right ones are written in many ways; none may be refused.
"""

import inspect
import itertools
import linecache
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

__all__ = ["Specimen", "patch", "right", "specimens", "wrong"]


@dataclass(frozen=True)
class Specimen:
    """One solution. criterion: the id that must be red; several, with spaces, for several faults; "" = right.

    named: words that the report of a wrong one must hold in what it has seen or in its hint, for the first.
    """

    name: str
    functions: Any
    criterion: str
    named: str = ""


def wrong(criterion: str, named: str) -> Callable[..., Specimen]:
    """Mark a solution (a function, a class of several, or a dict of them) as wrong; edits patch it first.

    criterion, named: as in `Specimen`; neither is empty.
    """
    return lambda solution, *edits: Specimen("", _functions(solution, edits), criterion, named)


def right(solution: Any, *edits: Any) -> Specimen:
    """Mark a solution as right; edits patch it first."""
    return Specimen("", _functions(solution, edits), "")


def _functions(solution: Any, edits: tuple[Any, ...]) -> Any:
    """A class stands for several functions: its static methods."""
    if edits:
        return (patch(solution, *edits),)
    if isinstance(solution, type):
        static = [name for name, value in vars(solution).items() if isinstance(value, staticmethod)]
        return {name: getattr(solution, name) for name in static}
    return solution if isinstance(solution, dict) else (solution,)


def specimens(module: ModuleType) -> list[Specimen]:
    """All specimens of a module, in order, each named as it is there."""
    found = [(name, value) for name, value in vars(module).items() if isinstance(value, Specimen)]
    return [replace(value, name=name) for name, value in found]


_numbers = itertools.count(1)


def patch(original: Any, *edits: Any) -> Any:
    """Make a function from the source of another (or of a specimen) with one edit or several.

    edits: old text, new text; or several such pairs. Within a text, indentation counts from the line in which
    the old text begins. A report can quote the new lines, as it does a learner's.

    Raises ValueError if an old text does not stand in the source exactly once.
    """
    function = original.functions[0] if isinstance(original, Specimen) else original
    source = textwrap.dedent(inspect.getsource(function))
    source = source[source.index("def ") :]  # without decorators
    for old, new in [edits] if isinstance(edits[0], str) else edits:
        source = _edited(source, old, new)
    filename = f"<{function.__module__} patched {next(_numbers)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    names: dict[str, Any] = {}
    exec(compile(source, filename, "exec"), function.__globals__, names)
    return names[function.__name__]


def _edited(source: str, old: str, new: str) -> str:
    found = []
    for first_line in re.finditer(re.escape(old.partition("\n")[0]), source):
        before, rest = source[: first_line.start()], source[first_line.start() :]
        line = before.rpartition("\n")[2]
        indent = "\n" + line[: len(line) - len(line.lstrip())]
        if rest.startswith(old.replace("\n", indent)):
            found.append(before + new.replace("\n", indent) + rest[len(old.replace("\n", indent)) :])
    if len(found) != 1:
        raise ValueError(
            f"{old!r} stands {len(found)} times, not once (indents count from its first line), in\n{source}"
        )
    return found[0]
