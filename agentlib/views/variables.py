"""The variables of a watched loop, frame by frame, as the player's strip shows them."""

import ast
import functools
from collections.abc import Sequence

from agentlib.trace import Event
from agentlib.views.describe import double_quoted
from agentlib.watch.source import Function, Source, Statement

__all__ = ["Strip", "targets"]


class Strip:
    """Brings the variables up to date from line to line.

    A function inside the loop shows its own variables beside those of the loop that has called it.
    left_out: names of variables that hold the history, which is shown by itself.
    """

    def __init__(self, source: Source, left_out: Sequence[str] = ()) -> None:
        self.source = source
        self.left_out = frozenset(left_out)
        self.shown: dict[str, str] = {}
        self._aliases: dict[str, str] = {}
        self._cut: list[str] = []  # short forms of the newest reply that other replies may have too
        self._told: dict[str, str] = {}  # the variables of the call that the last line belongs to
        self._of_call: dict[int, dict[str, str]] = {}
        self._caller: dict[int, int] = {}
        self._function: dict[int, str] = {}
        self._own: dict[int, frozenset[str]] = {}  # by call: the names that are its function's own
        self._call = 0

    def words(self, text: str) -> str:
        """Write a short form as the lessons do."""
        return self._aliases.get(text) or double_quoted(text)

    def call_it(self, forms: Sequence[str], words: str) -> None:
        """Give the newest reply, known by its short forms, friendlier words: `stock_level("north")`."""
        for form in self._cut:
            self._aliases.pop(form, None)
        self._cut = [form for form in forms if "..." in form] if words else []
        if words:
            self._aliases.update(dict.fromkeys(forms, words))

    def is_known(self, call: int) -> bool:
        """True for a call that has begun."""
        return call in self._of_call

    def caller(self, call: int) -> int:
        """Give the call that a call was made from; 0 = none."""
        return self._caller.get(call, 0)

    def variables(self, call: int) -> dict[str, str]:
        """Give what a call's variables hold."""
        return self._of_call.get(call, {})

    def update(self, event: Event) -> dict[str, str | None]:
        """Take in what a line event says of the variables; give those that have changed, or went, or came."""
        if event.call not in self._of_call:
            function = self.source.function(event.line)
            self._of_call[event.call] = {}
            self._caller[event.call] = event.caller
            self._function[event.call] = function.name if function is not None else ""
            self._own[event.call] = own_names(function)
        for name, text in (event.variables or {}).items():
            if name in self.left_out:
                continue
            if text is None:
                self._told.pop(name, None)
            else:
                self._told[name] = self.words(text)
        own = self._of_call[event.call] = dict(self._told)
        if event.call == self._call and not self._caller[event.call]:
            now = own  # the usual case: one function
        else:
            self._call = event.call
            now = self._together(event.call)
        news: dict[str, str | None] = {
            name: text for name, text in now.items() if self.shown.get(name) != text
        }
        news.update((name, None) for name in self.shown if name not in now)
        self.shown = dict(now) if news else self.shown
        return news

    def _together(self, call: int) -> dict[str, str]:
        """Put the variables of a call beside those of its callers; the same name gets the function's name."""
        chain = [call]
        while self._caller[chain[-1]] and len(chain) < 20:
            chain.append(self._caller[chain[-1]])
        together: dict[str, str] = {}
        function = ""
        for one in reversed(chain):
            same_function = self._function[one] == function
            function = self._function[one]
            for name, text in self._of_call[one].items():
                is_shared = same_function or name.startswith("self.") or name not in self._own[one]
                if is_shared or name not in together:
                    together[name] = text
                elif together[name] != text:
                    together[f"{name} in {function}"] = text
        return together


@functools.lru_cache(1_000)
def own_names(function: Function | None) -> frozenset[str]:
    """List the parameters of a function and what it sets itself; other names belong to those around it."""
    if function is None:
        return frozenset()
    inside = list(ast.walk(function))
    shared = {name for node in inside if isinstance(node, (ast.Nonlocal, ast.Global)) for name in node.names}
    set_here = {node.id for node in inside if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    caught = {node.name for node in inside if isinstance(node, ast.ExceptHandler) and node.name}
    return frozenset(set_here | caught | {node.arg for node in inside if isinstance(node, ast.arg)}) - shared


@functools.lru_cache(1_000)
def targets(node: Statement | None) -> list[str]:
    """List the variables that a statement sets: `reply` of `reply = model(history)`, `step` of a `for`."""
    if node is None:
        return []
    parts: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        parts = list(node.targets)
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.For, ast.AsyncFor)):
        parts = [node.target]
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        parts = [item.optional_vars for item in node.items if item.optional_vars is not None]
    elif isinstance(node, ast.ExceptHandler):
        return [node.name] if node.name else []
    inner: ast.AST | None = getattr(node, "test", getattr(node, "subject", getattr(node, "value", None)))
    found = [name for part in parts for name in _names(part)]
    if inner is not None:
        found += [
            part.target.id
            for part in ast.walk(inner)
            if isinstance(part, ast.NamedExpr) and part.target.id not in found
        ]
    return found


def _names(target: ast.expr) -> list[str]:
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self":
        return [f"self.{target.attr}"]
    if isinstance(target, (ast.Tuple, ast.List)):
        return [name for part in target.elts for name in _names(part)]
    if isinstance(target, ast.Starred):
        return _names(target.value)
    if isinstance(target, ast.Subscript):
        return _names(target.value)
    return []
