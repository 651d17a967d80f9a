"""Tools: plain functions that a model may ask for, the check of their arguments, and how they fail.

A model writes the name and the arguments, so both are checked like anything that comes from outside.
Whatever goes wrong becomes a result that the model can read.
"""

import inspect
import json
import queue
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import CoroutineType
from typing import TYPE_CHECKING, Any, NamedTuple, NotRequired, get_type_hints, overload

from pydantic_core import ValidationError
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from agentlib._json import is_number
from agentlib.errors import FatalToolError, ToolError, ToolTimeoutError, UnrunError
from agentlib.messages import (
    MAX_ERROR_CHARS,
    Entry,
    describe,
    error_result,
    is_error,
    json_ready,
    json_text,
    short,
    whole,
)

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["Tool", "ToolOutcome", "Worker", "failure", "read_tools", "run_tool", "tool", "words_of"]


@dataclass(frozen=True)
class Tool:
    """A function with what the loop has to know about it.

    name: what the model calls it by.
    function: called with the checked arguments by name.
    description: the first paragraph of the function's docstring.
    schema: JSON Schema of the arguments, for a provider's API.
    risky: a person is asked before it runs.
    repeatable: the same call with the same result is normal work (polling, writes that answer "ok").
    timeout_seconds: how long the loop waits for it; None = no limit.
    """

    name: str
    function: Callable[..., Any]
    description: str
    schema: Entry
    risky: bool = False
    repeatable: bool = False
    timeout_seconds: float | None = None
    arguments: "TypeAdapter[Entry] | None" = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, with no check, so that a hand-written loop can use a `Tool` too."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Tool({self.name})"


@overload
def tool(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    risky: bool = False,
    repeatable: bool = False,
    timeout_seconds: float | None = None,
) -> Tool: ...
@overload
def tool(
    function: None = None,
    *,
    name: str | None = None,
    risky: bool = False,
    repeatable: bool = False,
    timeout_seconds: float | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    risky: bool = False,
    repeatable: bool = False,
    timeout_seconds: float | None = None,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a `Tool` out of a function; works as a decorator with and without options.

    name: what the model calls it by; None = the function's own name.
    risky, repeatable, timeout_seconds: see `Tool`.
    Raises TypeError if it is no function, is a coroutine function, has a parameter that cannot be
    given by name, or a type that cannot be checked; ValueError if `timeout_seconds` is not above 0.
    """
    if timeout_seconds is not None and not (is_number(timeout_seconds) and timeout_seconds > 0):
        raise ValueError(
            f"timeout_seconds is a number above 0, or None, but was {describe(timeout_seconds)}."
        )

    def make(function: Callable[..., Any]) -> Tool:
        return _make_tool(function, name, risky, repeatable, timeout_seconds)

    return make if function is None else make(function)


def _make_tool(
    function: Any, name: str | None, risky: bool, repeatable: bool, timeout_seconds: float | None
) -> Tool:
    if isinstance(function, Tool):
        return replace(
            function,
            name=name or function.name,
            risky=risky or function.risky,
            repeatable=repeatable or function.repeatable,
            timeout_seconds=timeout_seconds or function.timeout_seconds,
        )
    if not callable(function):
        raise TypeError(f"A tool is a function, but {describe(function)} came.")
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{describe(function)} is written with `async def`; a tool is a plain function.")
    own_name = name or getattr(function, "__name__", type(function).__name__)
    if not isinstance(own_name, str) or not own_name or own_name == "<lambda>":
        raise TypeError(
            "A lambda has no name to call it by: write tool(..., name=...) or pass a dict of tools."
        )
    doc = inspect.getdoc(function) or ""
    arguments = _argument_check(function, own_name)
    schema = _schema(arguments, own_name)
    return Tool(
        name=own_name,
        function=function,
        description=" ".join(doc.split("\n\n")[0].split()),
        schema=schema,
        risky=bool(risky),
        repeatable=bool(repeatable),
        timeout_seconds=timeout_seconds,
        arguments=arguments,
    )


def _argument_check(function: Callable[..., Any], name: str) -> "TypeAdapter[Entry] | None":
    """Build the check of the arguments from the signature; None if the function shows no signature."""
    # Loaded when the first tool is made: to load it takes as long as all the rest of this package.
    from pydantic import ConfigDict, PydanticUserError, TypeAdapter  # noqa: PLC0415

    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None  # some functions written in C show none: they check their arguments themselves
    try:
        hints = get_type_hints(_hint_owner(function), include_extras=True)
    except Exception as problem:
        raise TypeError(f"The types of tool {name} cannot be read: {problem}") from problem
    expected: dict[str, Any] = {}
    extra: Any = "forbid"
    for parameter in parameters.values():
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise TypeError(
                f'Tool {name}: its parameter "{parameter.name}" cannot be given by name, '
                "and tools are called by name. Take the / out of its signature."
            )
        if parameter.kind is parameter.VAR_KEYWORD:
            extra = "allow"
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            hint = hints.get(parameter.name, Any)
            expected[parameter.name] = hint if parameter.default is parameter.empty else NotRequired[hint]
    make: Any = TypedDict
    shape = make(name, expected)
    # Strict: "140" is not taken for 140. The model is told instead, and learns what is wanted.
    shape.__pydantic_config__ = ConfigDict(extra=extra, strict=True, arbitrary_types_allowed=False)
    try:
        return TypeAdapter(shape)
    except PydanticUserError as problem:
        first_line = str(problem).splitlines()[0]
        raise TypeError(
            f"The arguments of tool {name} have a type that cannot be checked: {first_line}"
        ) from problem


def _schema(arguments: "TypeAdapter[Entry] | None", name: str) -> Entry:
    from pydantic import PydanticUserError  # noqa: PLC0415  see above

    if arguments is None:
        return {"type": "object", "additionalProperties": True}
    try:
        schema = arguments.json_schema()
    except PydanticUserError as problem:
        raise TypeError(
            f"The arguments of tool {name} have a type that JSON cannot hold: {problem}"
        ) from problem
    schema.pop("title", None)
    return schema


def _hint_owner(function: Any) -> Any:
    """Find where the annotations stand: on a function, behind a partial or a wrapper, or on `__call__`."""
    inner = function
    while inner is not None:
        # As inspect.signature does it, so that the types belong to the parameters.
        function = inspect.unwrap(inner, stop=lambda wrapper: hasattr(wrapper, "__signature__"))
        inner = getattr(function, "func", None)
    if inspect.isclass(function):
        return function.__init__
    if inspect.isroutine(function):
        return function
    return type(function).__call__


def read_tools(tools: object) -> dict[str, Tool]:
    """Read the tools given to a loop into a table from name to `Tool`.

    tools: a mapping of names to functions or `Tool`s, or a list of either.
    Raises TypeError if one is no function, and ValueError if two in a list have one name.
    """
    if isinstance(tools, Mapping):
        for name in tools:
            if not isinstance(name, str):
                raise TypeError(f"The name of a tool is text, but was {describe(name)}.")
        return {name: _make_tool(function, name, False, False, None) for name, function in tools.items()}
    if isinstance(tools, (str, bytes)) or not isinstance(tools, Iterable):
        raise TypeError(
            f"tools is a dict of names and functions, or a list of functions, but was {describe(tools)}."
        )
    table: dict[str, Tool] = {}
    for function in tools:
        made = _make_tool(function, None, False, False, None)
        if made.name in table:
            raise ValueError(
                f'Two tools are called "{made.name}". Give one another name: tool(..., name=...).'
            )
        table[made.name] = made
    return table


class ToolOutcome(NamedTuple):
    """What came of one request.

    result: JSON-ready. text: the result as JSON text. ran: the tool's function was called.
    failed: the result is an error. fatal: no model can mend it.
    """

    result: Any
    text: str
    ran: bool
    failed: bool
    fatal: bool = False


def run_tool(
    tools: Mapping[str, Tool],
    name: str,
    input_text: str,
    *,
    worker: "Worker | None" = None,
    wait_seconds: float | None = None,
) -> ToolOutcome:
    """Check the arguments, run the tool and turn whatever happens into a result.

    tools: the table of `read_tools`. name: the tool that was asked for.
    input_text: its arguments as JSON text.
    worker: runs the tool when there is a time limit. wait_seconds: the time limit; None = no limit.
    Raises only KeyboardInterrupt: a person's interrupt is not a failure of the tool.
    """
    found = tools.get(name)
    if found is None:
        there = ", ".join(sorted(tools)) or "none"
        return failure(
            "unknown_tool", f'There is no tool called "{short(name, 80)}". Tools: {there}.', ran=False
        )
    try:
        # Parsed anew from its text, so the tool gets a copy that it may change.
        arguments = (
            found.arguments.validator.validate_json(input_text) if found.arguments else json.loads(input_text)
        )
    except ValidationError as problem:
        return failure("invalid_input", _what_is_wrong(problem, found), ran=False)
    except KeyboardInterrupt:
        raise
    except BaseException as problem:  # a check of the tool's own may raise anything
        message = f"{name}: the arguments cannot be read: {words_of(problem)}"
        return failure("invalid_input", message, ran=False)
    try:
        if wait_seconds is None:
            returned = found.function(**arguments)
        else:
            returned = (worker or Worker()).run(found.function, arguments, wait_seconds)
    except KeyboardInterrupt:
        raise
    except ToolTimeoutError:
        # A thread cannot be ended from outside, so the honest message says that it may go on.
        message = f"{name} gave no result within {wait_seconds:g} s. The work may still be running."
        return failure("timed_out", message, ran=True)
    except UnrunError as problem:
        return failure(_code_of(problem), words_of(problem), ran=False, failed=problem.failed)
    except BaseException as problem:  # SystemExit too: a tool must not end the program
        fatal = isinstance(problem, FatalToolError)
        return failure(_code_of(problem), words_of(problem), ran=True, fatal=fatal)
    if type(returned) is CoroutineType:
        returned.close()
        return failure("tool_failed", f"{name} returned a coroutine; a tool is a plain function.", ran=True)
    value, text, notes = json_ready(returned)
    if notes:
        value = {"value": value, "note": f"Changed to fit JSON: {'; '.join(notes)}."}
        text = json_text(value)
    return ToolOutcome(value, text, ran=True, failed=is_error(value))


def failure(code: str, message: str, *, ran: bool, failed: bool = True, fatal: bool = False) -> ToolOutcome:
    """Make the outcome of a request that failed or was not run, with words for the model."""
    result = error_result(code, message)
    return ToolOutcome(result, json_text(result), ran=ran, failed=failed, fatal=fatal)


def words_of(problem: BaseException) -> str:
    """Give an exception's own message, at most 2,000 characters of it.

    Where that alone says too little, the exception's type stands before it.
    """
    kind = type(problem).__name__
    try:
        words = str.__str__(str(problem))
    except KeyboardInterrupt:
        raise
    except BaseException:  # its own __str__ may raise anything
        words = ""
    if not words.strip():
        return f"{kind} with no message"
    # str(KeyError("north")) is "'north'": nobody could tell what is wrong with it.
    if not isinstance(problem, (ValueError, RuntimeError, ToolError)):
        words = f"{kind}: {words}"
    return short(words, MAX_ERROR_CHARS, say_length=True)


def _code_of(problem: BaseException) -> str:
    """Give the code of a `ToolError`, if it is text that JSON can hold; "tool_failed" for all else."""
    code = problem.code if isinstance(problem, ToolError) else ""
    return whole(code) if type(code) is str and code else ToolError.code


def _what_is_wrong(problem: ValidationError, found: Tool) -> str:
    """Name each wrong argument and what was expected of it."""
    wrongs = []
    for error in problem.errors(include_url=False, include_context=False):
        where = ".".join(str(part) for part in error["loc"])
        if error["type"] == "missing":
            wrongs.append(f'argument "{where}" is missing')
        elif error["type"] == "extra_forbidden":
            wrongs.append(f'there is no argument "{short(where, 80)}"')
        elif error["type"] == "json_invalid":
            wrongs.append(f"the arguments cannot be read ({error['msg']})")
        elif not where:
            wrongs.append("the arguments must be an object")
        else:
            expected = error["msg"].removeprefix("Input should be ")
            wrongs.append(f'argument "{where}": expected {expected}, got {describe(error["input"])}')
    names = ", ".join(found.schema.get("properties", {})) or "none"
    return f"{found.name}: {'; '.join(wrongs[:5])}. Its arguments: {names}."


class Worker:
    """One thread that runs tools with a time limit, made when first needed and used again.

    Starting a thread for each call takes several times as long. A thread whose tool hangs is left
    behind (Python cannot end it) and replaced; it does not keep the program from ending.
    """

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Any] | None = None

    def run(self, function: Callable[..., Any], arguments: Entry, seconds: float) -> Any:
        """Call the function in the thread; give what it returns, raise what it raises.

        Raises ToolTimeoutError when it has given nothing after `seconds`.
        """
        if self._jobs is None:
            self._jobs = queue.SimpleQueue()
            threading.Thread(target=_work, args=(self._jobs,), name="agentlib tools", daemon=True).start()
        done: queue.SimpleQueue[tuple[bool, Any]] = queue.SimpleQueue()
        self._jobs.put((function, arguments, done))
        try:
            # threading.TIMEOUT_MAX is about 292 years; a longer wait would raise.
            worked, value = done.get(timeout=min(seconds, threading.TIMEOUT_MAX))
        except queue.Empty:
            self._leave()
            raise ToolTimeoutError from None
        except KeyboardInterrupt:
            self._leave()
            raise
        if worked:
            return value
        raise value

    def _leave(self) -> None:
        """Let the thread end after its present job; the next job gets a new one."""
        if self._jobs is not None:
            self._jobs.put(None)
            self._jobs = None

    close = _leave


def _work(jobs: "queue.SimpleQueue[Any]") -> None:
    while (job := jobs.get()) is not None:
        function, arguments, done = job
        try:
            done.put((True, function(**arguments)))
        except BaseException as problem:
            done.put((False, problem))
