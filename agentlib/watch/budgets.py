"""What a loop counts by itself against a limit of its own: coins, errors, minutes."""

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from agentlib.watch.expressions import Scope, evaluator, value_of
from agentlib.watch.source import Function, Source

__all__ = ["Budgets"]

_NO_NAMES = {"max", "min", "limit", "budget", "allowed", "total", "of", "the", "per", "left", "most"}
"""Parts of a limit's name that say that it is one, not what it limits."""

MAX_STEPS = "max_steps"
"""This limit has a meter of its own in the player."""


class _Meter(NamedTuple):
    """function: where its names mean what they mean. names: the variables that it hangs on."""

    name: str
    function: Function | None
    names: frozenset[str]
    used: Any
    limit: Any


class Budgets:
    """The budgets of a loop: comparisons of what it adds up with what it never sets itself.

    meters: those that were found in its source.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self.meters: list[_Meter] = []
        self._last: dict[str, list[float]] = {}
        for node in source.nodes:
            if isinstance(node, (ast.If, ast.While)):
                for part in ast.walk(node.test):
                    if isinstance(part, ast.Compare) and len(part.ops) == 1:
                        self._take(part, node.lineno)

    def _take(self, compare: ast.Compare, line: int) -> None:
        function = self._source.function(line)
        inside = list(ast.walk(function)) if function is not None else self._source.nodes
        if not isinstance(compare.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
            return
        sides = [compare.left, compare.comparators[0]]
        used = next((part for side in sides for part in _parts(side) if _grows(part, inside)), None)
        limit = next((side for side in sides if _is_limit(side, inside)), None)
        if used is None or limit is None:
            return
        name = _name_of(limit, used)
        if name and all(meter.name != name for meter in self.meters):
            names = frozenset(map(ast.unparse, [*_variables(used), *_variables(limit)]))
            self.meters.append(_Meter(name, function, names, evaluator(used), evaluator(limit)))

    def now(self, line: int, changed: Any, scope: Scope) -> dict[str, list[float]] | None:
        """Give the budgets that are new: used and limit, by name. changed: the names of new variables."""
        news = {}
        for meter in self.meters:
            if meter.names.isdisjoint(changed) or self._source.function(line) is not meter.function:
                continue
            try:
                found = [value_of(meter.used, scope), value_of(meter.limit, scope)]
            except Exception:  # not there yet, or no plain numbers
                continue
            if all(type(value) in (int, float) for value in found) and self._last.get(meter.name) != found:
                self._last[meter.name] = news[meter.name] = found
        return news or None


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """Give the parts of a sum: `sum(costs)` and `cost` of `sum(costs) + cost`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from _parts(node.left)
        yield from _parts(node.right)
    else:
        yield node


def _variables(node: ast.expr) -> Iterator[ast.expr]:
    """Give the variables in an expression: `costs`, `self.spent`."""
    called = {id(part.func) for part in ast.walk(node) if isinstance(part, ast.Call)}
    for part in ast.walk(node):
        is_own = isinstance(part, ast.Attribute) and ast.unparse(part.value) == "self"
        if is_own or (isinstance(part, ast.Name) and id(part) not in called and part.id != "self"):
            yield part  # type: ignore[misc]


def _grows(node: ast.expr, inside: list[Any]) -> bool:
    """True for what the loop adds up: a number by `+=`, or `sum(costs)` of a list that it appends to."""
    if isinstance(node, ast.Call) and len(node.args) == 1 and ast.unparse(node.func) == "sum":
        appended = f"{ast.unparse(node.args[0])}.append"
        return any(isinstance(part, ast.Call) and ast.unparse(part.func) == appended for part in inside)
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return False
    name = ast.unparse(node)
    return any(
        (
            isinstance(part, ast.AugAssign)
            and isinstance(part.op, ast.Add)
            and ast.unparse(part.target) == name
        )
        or _adds_to(part, name)
        for part in inside
    )


def _adds_to(part: Any, name: str) -> bool:
    """True for `spent = spent + cost`."""
    if not isinstance(part, ast.Assign) or not isinstance(part.value, ast.BinOp):
        return False
    sides = [ast.unparse(part.value.left), ast.unparse(part.value.right)]
    return isinstance(part.value.op, ast.Add) and ast.unparse(part.targets[0]) == name and name in sides


def _is_limit(node: ast.expr, inside: list[Any]) -> bool:
    """True for a number, or for a name that the function does not set."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float)) and node.value > 1  # `if errors > 0` is no limit
    if not isinstance(node, (ast.Name, ast.Attribute)) or ast.unparse(node).split(".")[-1] == MAX_STEPS:
        return False
    name = ast.unparse(node)
    return not any(
        isinstance(part, (ast.Name, ast.Attribute))
        and isinstance(part.ctx, ast.Store)
        and ast.unparse(part) == name
        for part in inside
    )


def _name_of(limit: ast.expr, used: ast.expr) -> str:
    """Name a budget by its limit, `budget_coins`: "coins"; else by what is counted, `errors`."""
    if isinstance(limit, ast.Constant):
        return ast.unparse(next(_variables(used))).split(".")[-1].strip("_").replace("_", " ")
    name = ast.unparse(limit).split(".")[-1].strip("_").lower()
    parts = [part for part in name.split("_") if part and part not in _NO_NAMES]
    return " ".join(parts) or name
