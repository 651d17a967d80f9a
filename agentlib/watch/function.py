"""The function that is watched: what code it consists of, where its source stands, how it is called."""

import dis
import functools
import gc
import inspect
import linecache
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from agentlib.messages import Entry

__all__ = ["WatchedFunction"]


class WatchedFunction:
    """A loop with what has to be known of it before it runs.

    function: what is called. options: what it is called with beside model, tools and goal.
    bodies: the code of the loop itself. codes: the same with all that is written inside it.
    namespace: the global names that it sees.
    source, first_line: its text as it runs; "" = it has none. changed_on_disk: its text is no longer in its
    file, which was written anew and has not been loaded since.
    max_steps: as given, or else the function's own default; None = neither.
    Raises TypeError if it cannot be called as a loop is.
    """

    def __init__(self, function: Any, options: Entry) -> None:
        self.function = function
        self.options = options
        parts = _functions_of(function)
        self.name = _name_of(function, parts)
        self.bodies = frozenset(part.__code__ for part in parts)
        self.codes = frozenset(code for body in self.bodies for code in _with_inner_codes(body))
        self.namespace = parts[0].__globals__ if parts else None
        self._parts = parts
        self.source, self.first_line = _source_of(parts)
        self.changed_on_disk = bool(parts) and not self.source and _has_changed(parts[0])
        main = parts[0] if parts else function
        if inspect.iscoroutinefunction(main) or inspect.isasyncgenfunction(main):
            raise TypeError(f"{self.name} is written with `async def`; watch runs plain functions.")
        self._check_call()
        self.max_steps = options["max_steps"] if "max_steps" in options else _default_max_steps(function)

    def __call__(self, model: Any, tools: Any, goal: Any) -> Any:
        return self.function(model, tools, goal, **self.options)

    @functools.cached_property
    def shared_names(self) -> set[str]:
        """The variables of the loop that another function may set: one that says `nonlocal`."""
        names = {name for code in self.codes for name in _set_from_inside(code)}
        cells = {id(cell) for part in self._parts for cell in part.__closure__ or ()}
        others = gc.get_objects() if cells else ()
        for other in others:
            if type(other) is FunctionType and any(id(cell) in cells for cell in other.__closure__ or ()):
                names.update(
                    name for code in _with_inner_codes(other.__code__) for name in _set_from_inside(code)
                )
        return names

    def _check_call(self) -> None:
        try:
            # A decorator may add arguments of its own, so its parameters count, not those behind it.
            signature = inspect.signature(self.function, follow_wrapped=False)
        except (TypeError, ValueError):
            return  # some functions written in C show no parameters
        try:
            signature.bind(None, None, None, **self.options)
        except TypeError as problem:
            given = "".join(f", {name}=..." for name in self.options)
            raise TypeError(
                f"A loop is called as {self.name}(model, tools, goal{given}), which does not fit "
                f"{self.name}{signature}: {problem}."
            ) from None


def _functions_of(loop: Any) -> list[FunctionType]:
    """Find the functions whose lines are the loop's: one, or all methods of the class that it belongs to.

    Looks behind `functools.partial` and decorators that use `functools.wraps`. Empty for C code.
    """
    loop = _unwrapped(loop)
    if isinstance(loop, FunctionType):
        return [loop]
    owner: type = loop if inspect.isclass(loop) else type(loop)
    main: Any = owner.__init__ if inspect.isclass(loop) else owner.__call__  # type: ignore[misc]
    if inspect.ismethod(loop):
        owner = loop.__self__ if inspect.isclass(loop.__self__) else type(loop.__self__)
        main = loop.__func__
    main = _unwrapped(main)
    if not isinstance(main, FunctionType):
        return []
    members = [_unwrapped(member) for base in owner.__mro__ for member in vars(base).values()]
    file = main.__code__.co_filename
    return [main] + [
        member
        for member in members
        if isinstance(member, FunctionType) and member.__code__.co_filename == file
    ]


def _unwrapped(function: Any) -> Any:
    for _ in range(100):  # an object may claim to wrap itself
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, (staticmethod, classmethod)):
            function = function.__func__
        elif "__wrapped__" in getattr(function, "__dict__", {}):
            function = function.__wrapped__
        else:
            break
    return function


def _name_of(loop: Any, parts: list[FunctionType]) -> str:
    if isinstance(loop, functools.partial) and parts:
        return parts[0].__name__
    name = getattr(loop, "__name__", None)
    return name if isinstance(name, str) else type(loop).__name__


def _with_inner_codes(code: CodeType) -> Iterator[CodeType]:
    """Give the code of a function, and of the functions and comprehensions written inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner_codes(constant)


def _set_from_inside(code: CodeType) -> Iterator[str]:
    """Give the variables of functions around it that a function sets; a comprehension runs at once."""
    if not code.co_name.endswith("comp>"):
        for step in dis.get_instructions(code):
            if step.opname in ("STORE_DEREF", "DELETE_DEREF") and step.argval in code.co_freevars:
                yield step.argval


def _source_of(functions: list[FunctionType]) -> tuple[str, int]:
    """Give the text of the functions as it stands in their file, and the number of its first line."""
    lines: dict[int, str] = {}
    for function in functions:
        if function.__code__.co_filename == "<string>":
            continue  # made by `exec`: since 3.13 Python may hold the text of `python -c` under the same name
        seen_before = linecache.cache.get(
            function.__code__.co_filename
        )  # inspect drops it if the file is newer
        try:
            text, first = inspect.getsourcelines(function)
            if _has_changed(function):
                text, first = _as_loaded(function, seen_before)
        except (OSError, TypeError, SyntaxError, IndexError):
            continue  # typed in without a file: there is no source to show
        lines.update(enumerate(text, start=first))
    if not lines:
        return "", functions[0].__code__.co_firstlineno if functions else 0
    whole = "".join(lines.get(number, "\n") for number in range(min(lines), max(lines) + 1))
    return textwrap.dedent(whole), min(lines)


def _as_loaded(function: FunctionType, seen_before: Any) -> tuple[list[str], int]:
    """Give the lines of a function as they were when it was loaded, if Python has read them before."""
    lines = seen_before[2] if seen_before is not None and len(seen_before) > 2 else []
    if not _is_in("".join(lines), function):
        raise OSError("the file has changed since")
    first = function.__code__.co_firstlineno
    return inspect.getblock(lines[first - 1 :]), first


def _has_changed(function: FunctionType) -> bool:
    """True if the function's file, as it is now, holds other code than the function runs."""
    file = function.__code__.co_filename
    return Path(file).is_file() and not _is_in("".join(linecache.getlines(file)), function)


def _is_in(text: str, function: FunctionType) -> bool:
    code = function.__code__
    if any(name.startswith("@py") for part in _with_inner_codes(code) for name in part.co_names):
        return True  # pytest has rewritten its assertions
    try:
        return (code.co_qualname, code.co_firstlineno, code) in _codes_of(text)
    except (SyntaxError, ValueError):
        return False


@functools.lru_cache(20)
def _codes_of(text: str) -> list[tuple[str, int, CodeType]]:
    whole = compile(text, "", "exec", dont_inherit=True)
    return [(code.co_qualname, code.co_firstlineno, code) for code in _with_inner_codes(whole)]


def _default_max_steps(loop: Any) -> Any:
    try:
        default = inspect.signature(loop).parameters["max_steps"].default
    except (KeyError, TypeError, ValueError):
        return None
    return None if default is inspect.Parameter.empty else default
