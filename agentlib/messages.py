"""The shapes of history entries and replies, and the one door through which a reply comes in.

Entries and replies are plain dicts that are ready for JSON, so that they can be printed, saved as a
line of text and passed through a pipe.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict, TypeGuard

from agentlib._json import (
    copy_plain,
    describe,
    json_ready,
    json_text,
    make_plain,
    short,
    text_of,
    utf8_length,
    whole,
)

__all__ = [
    "MAX_ERROR_CHARS",
    "AnswerReply",
    "Call",
    "Entry",
    "Exchange",
    "InformedModel",
    "ModelFunction",
    "ModelRequest",
    "Part",
    "Reply",
    "ReplyUsage",
    "ToolEntry",
    "ToolReply",
    "ToolsReply",
    "UserEntry",
    "answer",
    "ask",
    "ask_together",
    "call_key",
    "call_model",
    "calls_in",
    "describe",
    "error_result",
    "error_text",
    "exchanges",
    "is_error",
    "is_reply",
    "is_result",
    "json_ready",
    "json_text",
    "read_history",
    "read_reply",
    "read_usage",
    "short",
    "user",
    "whole",
]

MAX_ERROR_CHARS = 2_000
"""An error message longer than this many characters is cut."""

MAPPING = (dict, Mapping)
"""A dict is asked for first: an abstract class takes ten times as long, and long histories are read often."""

MAX_TOKENS = 10**15
"""A reply's usage with more tokens than this is taken for a mistake."""


# --- shapes -----------------------------------------------------------------------------------------


class ReplyUsage(TypedDict):
    """Tokens that the provider counted for one call: `input_tokens` read, `output_tokens` written.

    cached_tokens, cache_write_tokens: the parts of the input tokens that were read from a cache, and written
    to one, if the provider says so.
    """

    input_tokens: int
    output_tokens: int
    cached_tokens: NotRequired[int]
    cache_write_tokens: NotRequired[int]


class UserEntry(TypedDict):
    """The goal, or a note that the loop adds for the model to read."""

    role: Literal["user"]
    text: str


class ToolEntry(TypedDict):
    """One tool result. `id` and `tool` say which request it answers."""

    role: Literal["tool"]
    id: str
    tool: str
    result: Any


class Call(TypedDict):
    """One tool request inside a reply that makes several.

    problem: why it cannot be run, from a model function that could not read it whole (broken JSON, cut off
    by the output limit). The loop then does not run it, and the model reads why.
    """

    id: str
    tool: str
    input: dict[str, Any]
    problem: NotRequired[str]


class AnswerReply(TypedDict):
    """A reply that ends the run."""

    type: Literal["answer"]
    text: str
    usage: NotRequired[ReplyUsage]


class ToolReply(TypedDict):
    """A reply that asks for one tool. `text` is what the model wrote beside it; `problem` as in `Call`."""

    type: Literal["tool"]
    tool: str
    input: dict[str, Any]
    id: NotRequired[str]
    problem: NotRequired[str]
    text: NotRequired[str]
    usage: NotRequired[ReplyUsage]


class ToolsReply(TypedDict):
    """A reply that asks for several tools at once."""

    type: Literal["tools"]
    calls: list[Call]
    text: NotRequired[str]
    usage: NotRequired[ReplyUsage]


Reply = AnswerReply | ToolReply | ToolsReply
Entry = dict[str, Any]
"""Any history entry: a `UserEntry`, a reply with `"role": "model"`, or a `ToolEntry`."""

ModelFunction = Callable[[list[Entry]], Any]
"""A model is any function from the history to a reply.

It may also have a method `call(history, request)`, which the loop then uses; see `ModelRequest`.
"""


class ModelRequest(NamedTuple):
    """What a model has to know beside the history.

    offer_tools: False in a closing call, whose reply must be an answer. seconds_left: until the run's
    deadline; None = there is none. note(event): adds an event to the trace of the run.
    replies: how many the run has had so far; None = not said.
    """

    offer_tools: bool = True
    seconds_left: float | None = None
    note: Callable[[Any], None] = lambda event: None
    replies: int | None = None


def call_model(model: ModelFunction, history: list[Entry], request: ModelRequest) -> Any:
    """Ask a model for a reply: by its method `call`, if it has one, with the request."""
    call = getattr(model, "call", None)
    return model(history) if call is None else call(history, request)


class InformedModel:
    """A model with a method `call`. Called as a function, it is told nothing but the history."""

    def __call__(self, history: list[Entry]) -> Any:
        return self.call(history, ModelRequest())

    def call(self, history: list[Entry], request: ModelRequest) -> Any:
        """Give a reply to the history; request: what is to be known beside it."""
        raise NotImplementedError


def user(text: str) -> Entry:
    """Make a user entry."""
    return {"role": "user", "text": whole(str.__str__(text))}


def ask(tool: str, /, **input: Any) -> Entry:
    """Make a reply that requests `tool` with `input`: `ask("stock_level", warehouse="north")`."""
    return {"type": "tool", "tool": tool, "input": input}


def answer(text: str) -> Entry:
    """Make a reply that ends the run with `text`."""
    return {"type": "answer", "text": text}


def ask_together(*requests: Mapping[str, Any], text: str = "") -> Entry:
    """Make one reply out of several `ask(...)` requests; each gets an id ("1", "2", ...) if it has none."""
    calls = [
        {"id": request.get("id", str(number)), "tool": request["tool"], "input": request["input"]}
        for number, request in enumerate(requests, start=1)
    ]
    return {"type": "tools", "calls": calls, "text": text}


# --- reading a history ------------------------------------------------------------------------------


class Exchange(NamedTuple):
    """One tool request and what came of it. answer: the entry with its result; None = there is none."""

    id: Any
    tool: Any
    input: Any
    answer: Entry | None

    @property
    def result(self) -> Any:
        """What the tool gave; None = nothing, or there is no result."""
        return None if self.answer is None else self.answer.get("result")


class Part(NamedTuple):
    """One entry of a history, and the requests that it makes, each with its result."""

    entry: Any
    exchanges: tuple[Exchange, ...] = ()


def read_history(history: Sequence[Any]) -> list[Part]:
    """Read a history, whichever loop wrote it: each request is paired with its result, if it has one.

    A result belongs to a request of the reply it stands behind: by its id, else by its tool, else by its
    place, since a hand-written loop may give neither. Such results are no parts of their own; a result that
    answers no request is one.
    """
    parts: list[Part] = []
    place = 0
    while place < len(history):
        entry = history[place]
        calls = calls_in(entry)
        place += 1
        results: list[Entry] = []
        while calls and place < len(history) and _holds_result(history[place]):
            results.append(history[place])
            place += 1
        exchanges = [
            Exchange(call.get("id"), call.get("tool"), call.get("input"), answer)
            for call, answer in zip(calls, _answers_to(calls, results), strict=True)
        ]
        parts.append(Part(entry, tuple(exchanges)))
        parts += map(Part, results)  # those that are left
    return parts


def _holds_result(entry: object) -> bool:
    # A hand-written loop may leave the role out.
    return is_result(entry) or (isinstance(entry, MAPPING) and "result" in entry and "role" not in entry)


def _answers_to(calls: list[Entry], results: list[Entry]) -> list[Entry | None]:
    """Take the answer to each call out of `results`."""
    answers: list[Entry | None] = [None] * len(calls)
    for field in ("id", "tool", ""):
        for number, call in enumerate(calls):
            if answers[number] is None:
                for place, result in enumerate(results):
                    if not field or (call.get(field) and result.get(field) == call.get(field)):
                        answers[number] = results.pop(place)
                        break
    return answers


def exchanges(history: Sequence[Any]) -> list[Exchange]:
    """List the requests in a history that have a result, in order."""
    return [one for part in read_history(history) for one in part.exchanges if one.answer is not None]


def calls_in(entry: object) -> list[Entry]:
    """List the tool requests in a reply or in a model's history entry; empty for anything else."""
    if not isinstance(entry, MAPPING) or is_result(entry):
        return []
    if entry.get("type") == "tool":
        return [{"id": entry.get("id", ""), "tool": entry.get("tool"), "input": entry.get("input")}]
    calls = entry.get("calls") if entry.get("type") == "tools" else None
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, (list, tuple)) else []


def is_reply(entry: object) -> bool:
    """True for a reply of the model; a hand-written loop may have stored it without a role."""
    if not isinstance(entry, MAPPING):
        return False
    return entry.get("role") == "model" or (entry.get("role") not in ("user", "tool") and "type" in entry)


def is_result(entry: object) -> bool:
    """True for an entry that holds what came of a tool request."""
    return isinstance(entry, MAPPING) and entry.get("role") == "tool"


# --- failures as results ----------------------------------------------------------------------------


def error_result(code: str, message: str) -> Entry:
    """Make the result of a tool that failed; a message over 2,000 characters is cut and says so."""
    return {"error": code, "message": short(message, MAX_ERROR_CHARS, say_length=True)}


def is_error(result: object) -> bool:
    """True if a tool result says that the tool failed: a dict whose "error" is text."""
    return isinstance(result, dict) and isinstance(result.get("error"), str)


def error_text(result: object) -> str | None:
    """Give the words of a failed result in any loop's shape, or None if the result is no failure.

    `agentlib` writes `{"error": code, "message": words}`; a hand-written loop may write `{"error": words}`.
    """
    if isinstance(result, dict) and "error" in result:
        return str(result.get("message", result["error"]))
    return None


def call_key(tool: str, input: object, text: str | None = None) -> str:
    """Write a request so that the same tool with the same input gives the same text, in any order of keys.

    text: the input as JSON text, if it is at hand.
    """
    value, text = (input, text) if text is not None else json_ready(input)[:2]
    if type(value) is dict:
        if "{" in text[1:]:  # there may be dicts inside, whose keys are in some order too
            text = text_of(_with_sorted_keys(value))
        elif len(value) > 1 and (keys := list(value)) != (in_order := sorted(keys)):
            text = text_of({key: value[key] for key in in_order})
    return f"{tool} {text}"


# --- the door ---------------------------------------------------------------------------------------


class ReadCall(NamedTuple):
    """One request as the loop handles it.

    key: the same text for the same tool and input, whatever the order of the input's keys.
    input_text: the input as JSON text. problem: why it cannot be run, or "".
    """

    id: str
    tool: str
    input: Any
    input_text: str
    key: str
    problem: str

    def public(self) -> Entry:
        """Give the request as a plain dict with a fresh copy of its input."""
        return {"id": self.id, "tool": self.tool, "input": json.loads(self.input_text)}


class ReadReply(NamedTuple):
    """A reply after the check.

    kind: "answer", "calls", "empty" or "invalid".
    entry: what goes into the history. size: its length in UTF-8, for the count of tokens.
    calls: the requests. usage: tokens as the provider counted them (see `ReplyUsage`), or None.
    problem: what is wrong with a reply of the wrong shape, in words for the model.
    """

    kind: str
    entry: Entry
    size: int
    calls: tuple[ReadCall, ...] = ()
    usage: ReplyUsage | None = None
    problem: str = ""


class RecordedReply(dict[str, Any]):
    """A reply of a recorded run that was neither an answer nor a request, to be read again as it was.

    entry: as it stands in the recorded history. problem: what was wrong with it, in words.
    """

    def __init__(self, entry: Entry, problem: str) -> None:
        super().__init__(entry)
        self.problem = problem

    def __deepcopy__(self, memo: object) -> "RecordedReply":
        return RecordedReply(copy_plain(dict(self)), self.problem)

    def again(self) -> ReadReply:
        """Give what `read_reply` gave for it."""
        entry = json_ready(dict(self))[0]
        usage = _take_usage(entry) if "usage" in entry else None
        size = utf8_length(str(entry.get("text", "")))
        return ReadReply(entry["type"], entry, size, usage=usage, problem=self.problem)


SHAPES = (
    'Reply with {"type": "answer", "text": ...}, with {"type": "tool", "tool": ..., "input": {...}}, '
    'or with {"type": "tools", "calls": [...]}.'
)


def read_reply(reply: object, step: int) -> ReadReply:
    """Check one reply of a model and say what it is; never raises, whatever came.

    step: the number of the model call, used to name requests that came without an id.
    """
    try:
        return _read(copy_plain(reply), reply, step, plain=True)
    except Exception:
        pass  # not plain JSON: the slow way finds out what has to be changed
    if type(reply) is RecordedReply:
        return reply.again()
    try:
        return _read(make_plain(reply, [], depth=0, parents=()), reply, step, plain=False)
    except KeyboardInterrupt:
        raise
    except BaseException:  # a dict whose own methods raise
        return _invalid(f"A reply is a dict, but {describe(reply)} came.", reply)


def _read(copy: Any, reply: Any, step: int, plain: bool) -> ReadReply:
    """Say what a reply is, from its copy that is ready for JSON. plain: nothing was changed for that."""
    if not isinstance(copy, dict) or not isinstance(reply, dict):
        return _invalid(f"A reply is a dict, but {describe(reply)} came.", reply)
    usage = _take_usage(copy) if "usage" in copy else None
    kind, tool, calls, text = copy.get("type"), copy.get("tool"), copy.get("calls"), copy.get("text")
    # A reply that names a tool is a request, whatever else is odd about it: text beside a request
    # does not make it an answer (FIELD_CASES F10).
    if isinstance(tool, str) and not (kind == "tools" and calls):
        changes = () if plain else _changes(reply)
        return _read_single(copy, kind, usage, step, changes)
    if isinstance(calls, list) and calls and kind in ("tools", "answer"):
        # An input stands two levels deeper here than in a single request.
        each = [() if plain else _changes(call, -2) for call in reply["calls"]]
        return _read_batch(copy, calls, usage, step, each)
    if kind == "tool":
        return _invalid(f'"tool" must be the name of a tool, but was {describe(tool)}.', reply, usage)
    if kind == "tools" and not isinstance(calls, list):
        return _invalid(f'"calls" must be a list of requests, but was {describe(calls)}.', reply, usage)
    if kind not in ("answer", "tools"):
        return _invalid(
            f'"type" must be "answer", "tool" or "tools", but was {describe(kind)}.', reply, usage
        )
    if text is None or (isinstance(text, str) and not text.strip()):
        entry = _with_usage({"role": "model", "type": "empty", "text": ""}, usage)
        return ReadReply("empty", entry, 0, usage=usage)
    if not isinstance(text, str) or "text" not in reply or not isinstance(reply["text"], str):
        return _invalid(f'"text" must be text, but was {describe(reply.get("text"))}.', reply, usage)
    entry = {**copy, "role": "model", "type": "answer"}
    return ReadReply("answer", entry, _tidy(entry, ("calls", "tool", "input")), usage=usage)


def _read_single(
    copy: Entry, kind: object, usage: ReplyUsage | None, step: int, changes: tuple[str, ...]
) -> ReadReply:
    problem = "" if kind in ("tool", "answer") else f'its "type" must be "tool", but was {describe(kind)}'
    name = copy.get("id")
    if not isinstance(name, str) or not name.strip():
        name = f"call_{step}"
    call = _read_call(name, copy, problem, changes)
    # Whatever an adapter put beside the request (a signature, say) is kept.
    entry = {**copy, "role": "model", "type": "tool", "id": name, "input": call.input}
    size = utf8_length(call.tool + call.input_text) + _tidy(entry, ("calls",))
    return ReadReply("calls", entry, size, (call,), usage)


def _read_batch(
    copy: Entry, calls: list[Any], usage: ReplyUsage | None, step: int, changes: list[tuple[str, ...]]
) -> ReadReply:
    for number, call in enumerate(calls, start=1):
        if not isinstance(call, dict) or not isinstance(call.get("tool"), str):
            problem = f"Request {number} of {len(calls)} names no tool: {describe(call)}."
            return _invalid(problem, copy, usage)
    names = _unique_ids([call.get("id") for call in calls], step)
    each = zip(names, calls, changes, strict=True)
    read = [_read_call(name, call, "", changed) for name, call, changed in each]
    stored = [
        {
            "id": call.id,
            "tool": call.tool,
            "input": call.input,
            **(_own_problem(given) if "problem" in given else {}),
        }
        for call, given in zip(read, calls, strict=True)
    ]
    entry = {**copy, "role": "model", "type": "tools", "calls": stored}
    size = _tidy(entry, ("tool", "input", "id"))
    for call in read:
        size += utf8_length(call.tool + call.input_text)
    return ReadReply("calls", entry, size, tuple(read), usage)


def _tidy(entry: Entry, out_of_place: tuple[str, ...]) -> int:
    """Take out what does not belong into this kind of entry; give the length of its text in UTF-8.

    Raises an exception if the rest cannot be written as JSON text.
    """
    for key in out_of_place:
        if key in entry:
            del entry[key]
    if not _KNOWN_KEYS.issuperset(entry):
        entry.pop("closing", None)  # the loop's own mark
        text_of(entry)  # raises
    text = entry.get("text", "")
    if isinstance(text, str):
        return len(text) if text.isascii() else len(text.encode())
    del entry["text"]
    return 0


_KNOWN_KEYS = frozenset({"role", "type", "tool", "input", "id", "text", "calls", "usage"})


def _unique_ids(given: list[object], step: int) -> list[str]:
    """Keep the ids that are given and unique within this one reply; make up the others.

    Only within the reply: models use "call_1" again in every reply (FIELD_CASES F2).
    """
    taken = {name for name in given if isinstance(name, str)}
    if len(taken) == len(given) and all(map(str.strip, taken)):
        return given  # type: ignore[return-value]
    names: list[str] = []
    for number, name in enumerate(given, start=1):
        if not isinstance(name, str) or not name.strip() or name in names:
            name = f"call_{step}_{number}"
            while name in taken:
                name += "x"
            taken.add(name)
        names.append(name)
    return names


def _changes(request: Any, more_depth: int = 0) -> tuple[str, ...]:
    """Say what of a request, as the model gave it, has to be changed to be ready for JSON."""
    if not isinstance(request, dict):
        return ()
    return json_ready([request.get("tool"), request.get("input")], more_depth)[2]


def _read_call(name: str, request: Entry, problem: str, changes: tuple[str, ...]) -> ReadCall:
    """Read one request out of a reply that is ready for JSON; `changes` says what was changed for that."""
    tool, given = request["tool"], request.get("input")
    text = text_of(given)
    own = _own_problem(request) if "problem" in request else {}
    if not (tool.isascii() and name.isascii()) or own:
        text_of([tool, name, own])  # raises, say for half a character
    # The history holds `None` for an input that is missing, so both get the same words.
    if own:
        problem = own["problem"]
    elif given is None:
        problem = '"input" is missing; it is an object with the arguments'
    elif not isinstance(given, dict):
        problem = f'"input" must be an object with the arguments, but was {describe(given)}'
    elif changes and not problem:
        problem = f"the request must hold plain JSON values: {'; '.join(changes)}"
    return ReadCall(name, tool, given, text, call_key(tool, given, text), problem)


def _own_problem(request: Entry) -> Entry:
    """Give what the model function itself says against a request, as the part of the request that says it."""
    problem = request.get("problem")
    return {"problem": problem} if isinstance(problem, str) and problem.strip() else {}


def _with_sorted_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_sorted_keys(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_with_sorted_keys(item) for item in value]
    return value


def _take_usage(copy: Entry) -> ReplyUsage | None:
    """Take the token counts out of a reply; what counts nothing is dropped.

    Raises an exception if the rest of it cannot be written as JSON text.
    """
    usage = read_usage(copy["usage"])
    if usage is None:
        del copy["usage"]
    else:
        text_of(copy["usage"])  # raises
    return usage


def read_usage(usage: object) -> ReplyUsage | None:
    """Read what a provider has counted for a call; None if it cannot be true: each call reads something."""
    if not isinstance(usage, dict):
        return None
    read, written = usage.get("input_tokens"), usage.get("output_tokens")
    if not (_is_count(read) and _is_count(written) and read):
        return None
    counted: ReplyUsage = {"input_tokens": read, "output_tokens": written}
    if _is_count(cached := usage.get("cached_tokens")):
        counted["cached_tokens"] = min(cached, read)
    if _is_count(kept := usage.get("cache_write_tokens")):
        counted["cache_write_tokens"] = min(kept, read - counted.get("cached_tokens", 0))
    return counted


def _is_count(tokens: object) -> TypeGuard[int]:
    return type(tokens) is int and 0 <= tokens <= MAX_TOKENS


def _invalid(problem: str, reply: object, usage: ReplyUsage | None = None) -> ReadReply:
    text = short(reply, 200)
    entry = _with_usage({"role": "model", "type": "invalid", "text": text}, usage)
    return ReadReply("invalid", entry, utf8_length(text), usage=usage, problem=problem)


def _with_usage(entry: Entry, usage: ReplyUsage | None) -> Entry:
    return entry if usage is None else {**entry, "usage": usage}
