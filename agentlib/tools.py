"""Tools: plain functions that a model may ask for, the check of their arguments, and how they fail.

A model writes the name and the arguments, so both are checked like anything that comes from outside.
Whatever goes wrong becomes a result that the model can read.
"""

import contextvars
import functools
import inspect
import json
import queue
import threading
import time
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from types import CoroutineType, FrameType, SimpleNamespace
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    NamedTuple,
    NotRequired,
    Optional,
    Required,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from typing_extensions import TypedDict, Unpack  # pydantic needs this TypedDict before Python 3.12

from agentlib._json import is_number
from agentlib._platform import HERE, ClockGuard, Platform
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
    from pydantic.fields import FieldInfo
    from pydantic_core import ValidationError

__all__ = [
    "Tool",
    "ToolOutcome",
    "Worker",
    "failure",
    "name_of",
    "read_tools",
    "run_tool",
    "tool",
    "words_of",
]


@dataclass(frozen=True)
class Tool:
    """A function with what the loop has to know about it.

    name: what the model calls it by.
    function: called with the checked arguments by name.
    description: the first paragraph of the function's docstring.
    schema: JSON Schema of the arguments, for a provider's API. arguments: their check; None = none.
    risky: a person is asked before it runs.
    repeatable: the same call with the same result is normal work (polling, writes that answer "ok").
    parallel: it may run side by side with other requests of the same reply, in a thread of its own, if the
    run allows it (`run_agent(..., at_once=4)`). Only for a tool that changes nothing which others read or
    change: two threads that add to one number, write one file or use one connection may lose what the other
    did, now and then, and no test shows it. Such a tool stays as it is, or takes a `threading.Lock`.
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
    parallel: bool = False

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
    parallel: bool = False,
    timeout_seconds: float | None = None,
) -> Tool: ...
@overload
def tool(
    function: None = None,
    *,
    name: str | None = None,
    risky: bool = False,
    repeatable: bool = False,
    parallel: bool = False,
    timeout_seconds: float | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    risky: bool = False,
    repeatable: bool = False,
    parallel: bool = False,
    timeout_seconds: float | None = None,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a `Tool` out of a function; works as a decorator with and without options.

    A bound method, an object that can be called and a partial are functions too; what is bound in a partial
    is not offered to the model and cannot be given by it. `*args` are offered as a list.
    name: what the model calls it by; None = the function's own name.
    risky, repeatable, parallel, timeout_seconds: see `Tool`.
    Raises TypeError if it is no function, is a coroutine function, has a parameter that cannot be
    given by name, or a type that cannot be checked; ValueError if `timeout_seconds` is not above 0.
    """
    if timeout_seconds is not None and not (is_number(timeout_seconds) and timeout_seconds > 0):
        raise ValueError(
            f"timeout_seconds is a number above 0, or None, but was {describe(timeout_seconds)}."
        )

    def make(function: Callable[..., Any]) -> Tool:
        return _make_tool(
            function, name,
            risky=risky, repeatable=repeatable, timeout_seconds=timeout_seconds, parallel=parallel,
        )  # fmt: skip

    return make if function is None else make(function)


def _make_tool(
    function: Any, name: str | None = None, *,
    risky: bool = False, repeatable: bool = False, timeout_seconds: float | None = None,
    parallel: bool = False,
) -> Tool:  # fmt: skip
    if isinstance(function, functools.partial) and isinstance(function.func, Tool):
        inner = function.func
        bound = functools.partial(inner.function, *function.args, **function.keywords)
        function = _make_tool(
            bound, inner.name,
            risky=inner.risky, repeatable=inner.repeatable, timeout_seconds=inner.timeout_seconds,
            parallel=inner.parallel,
        )  # fmt: skip
    if isinstance(function, Tool):
        return replace(
            function,
            name=name or function.name,
            risky=risky or function.risky,
            repeatable=repeatable or function.repeatable,
            timeout_seconds=timeout_seconds or function.timeout_seconds,
            parallel=parallel or function.parallel,
        )
    if not callable(function):
        raise TypeError(f"A tool is a function, but {describe(function)} came.")
    of_an_object = inspect.iscoroutinefunction(type(function).__call__)
    if of_an_object or inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{describe(function)} is written with `async def`; a tool is a plain function.")
    own_name = name or name_of(function)
    if not isinstance(own_name, str) or not own_name or own_name == "<lambda>":
        raise TypeError(
            "A lambda has no name to call it by: write tool(..., name=...) or pass a dict of tools."
        )
    called, arguments = _with_check(function, own_name)
    return Tool(
        name=own_name,
        function=called,
        description=" ".join(_docstring(function).split("\n\n")[0].split()),
        schema=_schema(arguments, own_name),
        risky=bool(risky),
        repeatable=bool(repeatable),
        timeout_seconds=timeout_seconds,
        arguments=arguments,
        parallel=bool(parallel),
    )


def name_of(function: Any) -> Any:
    """Give a function's own name, that of the function behind a partial, or the name of an object's class."""
    if isinstance(function, functools.partial):
        return vars(function).get("__name__") or name_of(function.func)
    behind = getattr(function, "__wrapped__", None)
    if behind is not None and not hasattr(behind, "__name__"):  # functools.wraps had no name to copy
        return name_of(behind)
    return getattr(function, "__name__", type(function).__name__)


def _docstring(function: Any) -> str:
    """Give a function's own words, or those of the function behind a partial or a wrapper."""
    for layer in _layers(function):
        if isinstance(layer, functools.partial) and "__doc__" not in vars(layer):
            continue  # it says what a partial is
        if hasattr(layer, "__wrapped__") and layer.__doc__ == layer.__wrapped__.__doc__:
            continue  # functools.wraps has copied it
        call = type(layer).__call__  # an object says more with its call than with its class
        words = inspect.getdoc(call if inspect.isfunction(call) and call.__doc__ else layer)
        if words:
            return words
    return ""


def _layers(function: Any) -> Iterator[Any]:
    """Give a function, then what stands behind it as long as that is a partial or a wrapper."""
    while function is not None:
        yield function
        function = getattr(function, "func", None) or getattr(function, "__wrapped__", None)


# --- the check of the arguments ---------------------------------------------------------------------


def _with_check(function: Any, name: str) -> tuple[Callable[..., Any], "TypeAdapter[Entry] | None"]:
    """Build the check of the arguments from the signature; None if the function shows no signature.

    Gives the function too, in a form that can be called by name alone.
    """
    # Loaded when the first tool is made: to load it takes as long as all the rest of this package.
    from pydantic import BeforeValidator, ConfigDict, PydanticUserError, TypeAdapter  # noqa: PLC0415
    from pydantic.json_schema import SkipJsonSchema  # noqa: PLC0415

    bound = _bound_names(function)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions written in C show none: they check their arguments
        if not bound:
            return function, None
        signature = inspect.signature(lambda **arguments: arguments)
    parameters = [parameter for key, parameter in signature.parameters.items() if key not in bound]
    try:
        hints = _hints(function, [parameter.name for parameter in parameters])
    except Exception as problem:
        raise TypeError(f"The types of tool {name} cannot be read: {problem}") from problem
    expected: dict[str, Any] = {}
    fields: dict[str, FieldInfo | None] = {}
    options: dict[str, Any] = {}
    for parameter in parameters:
        key, hint = parameter.name, hints.get(parameter.name, Any)
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise TypeError(
                f'Tool {name}: its parameter "{key}" cannot be given by name, '
                "and tools are called by name. Take the / out of its signature."
            )
        if parameter.kind is parameter.VAR_POSITIONAL:
            expected[key], fields[key] = NotRequired[list[hint]], None  # type: ignore[valid-type]
        elif parameter.kind is not parameter.VAR_KEYWORD:
            expected[key], field = _expected(hint, parameter.default)
            if field is not None:
                fields[key] = field
        elif get_origin(hint) in (Unpack, typing.Unpack):  # one and the same from Python 3.12 on
            expected |= _keys_of(*get_args(hint))
        else:
            options["extra_items"] = hint
            refused = SkipJsonSchema[Annotated[Any, BeforeValidator(_refuse)]]
            expected |= dict.fromkeys(bound, NotRequired[refused])
    make: Any = TypedDict
    shape = make(name, expected, **options)
    # Strict: "140" is not taken for 140. The model is told instead, and learns what is wanted.
    extra: Any = "allow" if options else "forbid"
    shape.__pydantic_config__ = ConfigDict(extra=extra, strict=True, arbitrary_types_allowed=False)
    try:
        check: TypeAdapter[Entry] = TypeAdapter(shape)
    except PydanticUserError as problem:
        first_line = str(problem).splitlines()[0]
        raise TypeError(
            f"The arguments of tool {name} have a type that cannot be checked: {first_line}"
        ) from problem
    return _called_by_name(function, signature, fields) if fields else function, check


def _bound_names(function: Any) -> set[str]:
    """List the parameters that are set already: in a partial, and the `self` of a method or an object."""
    bound: set[str] = set()
    for one in _layers(function):
        call = type(one).__call__
        behind = one.__func__ if inspect.ismethod(one) else call if inspect.isfunction(call) else None
        if isinstance(one, functools.partial):
            behind = one.func
            bound |= one.keywords.keys()
        if behind is not None:
            with suppress(TypeError, ValueError):
                bound |= (
                    inspect.signature(behind).parameters.keys() - inspect.signature(one).parameters.keys()
                )
        with suppress(TypeError, ValueError):
            bound |= _given_by_wrapper(one)
    return bound


def _given_by_wrapper(function: Any) -> set[str]:
    """List the parameters that a wrapper does not take, and so gives itself; none if it takes any."""
    if not hasattr(function, "__wrapped__") or hasattr(function, "__signature__"):
        return set()
    own = inspect.signature(function, follow_wrapped=False).parameters
    if any(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in own.values()):
        return set()
    return set(inspect.signature(function).parameters) - own.keys()


def _expected(hint: Any, default: Any) -> tuple[Any, "FieldInfo | None"]:
    """Give the type that is expected for a parameter, and the field of pydantic that holds its default."""
    from pydantic.fields import FieldInfo  # noqa: PLC0415  see above

    field = None
    if isinstance(default, FieldInfo) or any(isinstance(one, FieldInfo) for one in get_args(hint)[1:]):
        if default is inspect.Parameter.empty:
            field = FieldInfo.from_annotation(hint)
        else:
            field = FieldInfo.from_annotated_attribute(hint, default)
        default = inspect.Parameter.empty if field.is_required() else field.default
    if default is None:  # a model that gives null says the same
        hint = Optional[hint]  # noqa: UP045  the types of a union written with | cannot be texts
    if field is not None:
        hint = Annotated[hint, field]
    return hint if default is inspect.Parameter.empty else NotRequired[hint], field


def _keys_of(shape: Any) -> dict[str, Any]:
    """List what is expected for the keys of a TypedDict."""
    keys = {}
    for key, hint in get_type_hints(shape, include_extras=True).items():
        if get_origin(hint) in (NotRequired, Required):
            (hint,) = get_args(hint)
        keys[key] = hint if key in shape.__required_keys__ else NotRequired[hint]
    return keys


def _refuse(value: object) -> object:
    from pydantic_core import PydanticKnownError  # noqa: PLC0415  see `_with_check`

    raise PydanticKnownError("extra_forbidden")


def _called_by_name(
    function: Callable[..., Any], signature: inspect.Signature, fields: Mapping[str, "FieldInfo | None"]
) -> Callable[..., Any]:
    """Make a function take its `*args` as a list, and the defaults that pydantic's fields hold.

    fields: the field of each parameter that has one; None for `*args`.
    """
    place = next((key for key, one in signature.parameters.items() if one.kind is one.VAR_POSITIONAL), None)
    named = {key for key, one in signature.parameters.items() if one.kind is not one.VAR_KEYWORD}

    @functools.wraps(function)
    def called(*args: Any, **given: Any) -> Any:
        bound = signature.bind_partial(*args)  # none, unless it is called by hand
        bound.arguments |= {key: value for key, value in given.items() if key in named}
        for key, field in fields.items():
            if field is not None and not field.is_required() and key not in bound.arguments:
                bound.arguments[key] = field.get_default(call_default_factory=True)
        if place in given:
            bound.apply_defaults()  # of what stands before it
        extra = {key: value for key, value in given.items() if key not in named}
        return function(*bound.args, **bound.kwargs, **extra)

    return called


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


def _hints(function: Any, names: Iterable[str]) -> dict[str, Any]:
    """Read the types of these parameters; others, such as the type of the result, may be unreadable."""
    owner = _hint_owner(function)
    written = getattr(owner, "__annotations__", {})
    needed = SimpleNamespace(
        __annotations__={name: written[name] for name in names if name in written},
        __type_params__=getattr(owner, "__type_params__", ()),
    )
    return get_type_hints(needed, getattr(owner, "__globals__", {}), include_extras=True)


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
        return {name: _make_tool(function, name) for name, function in tools.items()}
    if isinstance(tools, (str, bytes)) or not isinstance(tools, Iterable):
        raise TypeError(
            f"tools is a dict of names and functions, or a list of functions, but was {describe(tools)}."
        )
    table: dict[str, Tool] = {}
    given = list(tools)
    for function in given:
        made = _make_tool(function)
        if made.name in table:
            other = list(table).index(made.name)
            raise ValueError(
                f'Two tools are called "{made.name}": number {other + 1}, {describe(given[other])}, and '
                f"number {len(table) + 1}, {describe(function)}. Give one another name: tool(..., name=...)."
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
        arguments = _read_arguments(found, input_text)
    except _validation_error() as problem:
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
    except ToolTimeoutError as problem:
        message = f"{name} gave no result within {wait_seconds:g} s. {problem}"
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


def _validation_error() -> "type[ValidationError]":
    """Give the class of a failed check; whoever has no tool to check does without pydantic."""
    from pydantic_core import ValidationError  # noqa: PLC0415  see `_with_check`

    return ValidationError


def _read_arguments(found: Tool, text: str) -> Any:
    """Read arguments from their JSON text, so that the tool gets a copy that it may change."""
    if found.arguments is None:
        return json.loads(text)
    check = found.arguments.validator.validate_json
    try:
        return check(text)
    except _validation_error() as problem:
        if problem.errors(include_url=False, include_context=False)[0]["type"] == "json_invalid":
            raise
    # Some servers write 3 as 3.0, which is a whole number in the schema that they were given.
    return check(json.dumps(json.loads(text, parse_float=_without_point)))


def _without_point(digits: str) -> float:
    number = float(digits)
    exact = Decimal(digits)  # a float holds 15 digits, and some ids have more
    return int(exact) if number.is_integer() and exact == int(exact) else number


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


def _what_is_wrong(problem: "ValidationError", found: Tool) -> str:
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


# What has become of a tool's work when its time was over.
STILL_RUNNING = "The work may still be running."  # a thread cannot be ended from outside
WAS_ENDED = "It was ended."
RAN_ON = "It could not be ended and ran to its end; its result is dropped."
GRACE_SECONDS = 0.1
"""Where a tool has no thread of its own, it may go on for so long after its time, and what waits in it does
not wait any more: what it has begun is done, as it would be in a thread."""


class _ToolEnded(BaseException):
    """Ends a tool that has no thread of its own. No Exception, so that `except Exception` lets it pass."""


class Worker:
    """One thread that runs tools with a time limit, made when first needed and used again.

    Starting a thread for each call takes several times as long. A thread whose tool hangs is left
    behind (Python cannot end it) and replaced; it does not keep the program from ending.
    Where there are no threads, a tool runs in the caller's own, and is ended when it is late.
    """

    def __init__(self, platform: Platform = HERE) -> None:
        self._threads = platform.threads
        self._jobs: queue.SimpleQueue[Any] | None = None
        self._thread: threading.Thread | None = None

    def run(self, function: Callable[..., Any], arguments: Entry, seconds: float) -> Any:
        """Call the function in the thread, in a copy of the caller's context.

        Gives what it returns, raises what it raises. Raises ToolTimeoutError when it has given nothing after
        `seconds`, with what has become of it, and UnrunError if no thread can be started.
        """
        if not self._threads:
            return _run_in_time(function, arguments, seconds)
        jobs = self._running_jobs()
        done: queue.SimpleQueue[tuple[bool, Any]] = queue.SimpleQueue()
        jobs.put((contextvars.copy_context(), function, arguments, done))
        try:
            # threading.TIMEOUT_MAX is about 292 years; a longer wait would raise.
            worked, value = done.get(timeout=min(seconds, threading.TIMEOUT_MAX))
        except queue.Empty:
            self._leave()
            raise ToolTimeoutError(STILL_RUNNING) from None
        except KeyboardInterrupt:
            self._leave()
            raise
        if worked:
            return value
        raise value

    def _running_jobs(self) -> "queue.SimpleQueue[Any]":
        # In a process that was forked off, the thread has stayed behind.
        if self._jobs is None or self._thread is None or not self._thread.is_alive():
            jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
            thread = threading.Thread(target=_work, args=(jobs,), name="agentlib tools", daemon=True)
            try:
                thread.start()
            except RuntimeError as problem:
                raise UnrunError(f"It was not run: {problem}.", "not_run") from problem
            self._jobs, self._thread = jobs, thread
        return self._jobs

    def _leave(self) -> None:
        """Let the thread end after its present job; the next job gets a new one."""
        if self._jobs is not None:
            self._jobs.put(None)
            self._jobs = None

    close = _leave


def _run_in_time(function: Callable[..., Any], arguments: Entry, seconds: float) -> Any:
    """Call a function in this thread, for at most `seconds` and the grace after them."""

    def late(frame: FrameType) -> None:
        if time.monotonic() >= clock.until + GRACE_SECONDS:
            raise _ToolEnded

    clock = ClockGuard(seconds, late)
    try:
        value = clock.run(functools.partial(contextvars.copy_context().run, function, **arguments))
    except KeyboardInterrupt:
        raise
    except _ToolEnded:
        raise ToolTimeoutError(WAS_ENDED) from None
    except BaseException:
        if clock.is_late:
            raise ToolTimeoutError(RAN_ON) from None
        raise
    if clock.is_late:
        raise ToolTimeoutError(RAN_ON)
    return value


def _work(jobs: "queue.SimpleQueue[Any]") -> None:
    while (job := jobs.get()) is not None:
        context, function, arguments, done = job
        try:
            done.put((True, context.run(function, **arguments)))
        except BaseException as problem:
            done.put((False, problem))
