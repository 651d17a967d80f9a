"""What the providers' modules share: a history in turns, errors that hold no key, replies read with care."""

import inspect
import json
import math
import os
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeGuard

from agentlib._json import exact_number
from agentlib._platform import HERE, NO_REAL_MODEL
from agentlib.errors import ProviderError
from agentlib.messages import (
    MAX_ERROR_CHARS,
    Entry,
    Exchange,
    InformedModel,
    ModelFunction,
    ModelRequest,
    calls_in,
    describe,
    error_result,
    is_error,
    is_reply,
    is_result,
    json_ready,
    json_text,
    read_history,
    short,
)
from agentlib.tools import Tool, read_tools

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What both providers take for the name of a tool.

Source: the error messages of their APIs, as in the bug reports UnifAI 266 (the characters) and fastapi_mcp
161 (the length).
"""

ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""What both take for the id of a request: the characters are one's rule (opencode 1279), the length the
other's (autogen 6377)."""

NO_TEXT = "(no text)"
"""Stands where a user's text is blank: one provider refuses blank text (claude-code 23440)."""

NO_REQUEST = "the reply says that it asks for a tool, and holds no request"

MIN_SECRET_CHARS = 8
"""A shorter key, such as the "x" that satisfies a server on this computer, is not a secret."""


# --- the way out: a history -------------------------------------------------------------------------


class Request(NamedTuple):
    """One request with its result, ready for a provider.

    id: unlike all others in the history. input: the arguments. result: as text. failed: it is an error.
    """

    id: str
    tool: str
    input: Entry
    result: str
    failed: bool


class Turn(NamedTuple):
    """What one side says: the user a text, the model a text, requests, or both.

    entry: where it stands in the history, with whatever an adapter has put beside it.
    """

    role: str
    text: str
    requests: tuple[Request, ...]
    entry: Entry


def turns(history: list[Entry], api: str = "", own_id: re.Pattern[str] = ID) -> Iterator[Turn]:
    """Split a history into turns in which every request has exactly one result.

    Ids are used again from reply to reply (FIELD_CASES F2), and providers refuse that, so a second one gets
    a name of its own. What a turn is made of depends only on what stands before it and on its results: a
    history that only grows is sent with the same beginning each time, which a provider can read from its
    cache.
    api: whose ids go back as they came, in the form own_id: some servers keep a signature in them.
    """
    taken: set[str] = set()
    for entry, exchanges in read_history(history):
        text = text_in(entry)
        if is_result(entry):  # no request stands before it: it was cut off from its reply
            words = f"Result of {entry.get('tool') or 'a tool'}: {_result_text(entry)}"
            yield Turn("user", words, (), entry)
        elif not is_reply(entry):
            yield Turn("user", text or NO_TEXT, (), entry)
        elif text or exchanges:  # a blank reply is left out: the note behind it says that it was blank
            form = own_id if raw_items(entry, api) else ID
            yield Turn("model", text, tuple(_request(one, taken, form) for one in exchanges), entry)


def text_in(entry: Mapping[str, Any]) -> str:
    """Give the text of an entry; "" for a blank one."""
    text = entry.get("text")
    return text if isinstance(text, str) and text.strip() else ""


def _request(exchange: Exchange, taken: set[str], form: re.Pattern[str]) -> Request:
    given = exchange.input
    # What a model wrote instead of an object has to be shown to it in one: both take nothing else.
    arguments = dict(given) if isinstance(given, dict) else {"not_an_object": given}
    result = exchange.answer
    if result is None:
        result = {"result": error_result("not_run", "Not run: the history holds no result.")}
    name = re.sub(r"[^A-Za-z0-9_-]", "_", str(exchange.tool or "unknown"))[:64]
    failed = is_error(result.get("result"))
    return Request(_free_id(exchange.id, taken, form), name, arguments, _result_text(result), failed)


def _free_id(given: object, taken: set[str], form: re.Pattern[str]) -> str:
    """Keep an id that providers take and that is not there yet; make up another one otherwise."""
    name = given if isinstance(given, str) and form.fullmatch(given) else ""
    number = len(taken) + 1
    while not name or name in taken:
        name = f"call_{number}"
        number += 1
    taken.add(name)
    return name


def _result_text(entry: Entry) -> str:
    result = entry.get("result")
    return result if isinstance(result, str) and result.strip() else json_text(result)


# --- the way out: tools and settings ----------------------------------------------------------------


def offered(tools: Any) -> list[Tool]:
    """Read the tools that a model is offered; raises ValueError for a name that no provider takes."""
    read = read_tools(tools)
    for name in read:
        if not NAME.fullmatch(name):
            raise ValueError(
                f"A provider takes names of 1 to 64 letters (a to z), digits, _ and -, but a tool is called "
                f"{describe(name)}. Give it another one: tool(..., name=...)."
            )
    return list(read.values())


def check_arguments(name: object, system: object, settings: Mapping[str, Any], own: frozenset[str]) -> None:
    """Check what a programmer gives to `model`; raises TypeError or ValueError.

    own: the settings that the module makes itself.
    """
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"name is the provider's name of a model, but was {describe(name)}.")
    if not isinstance(system, str):
        raise TypeError(f"system is text, but was {describe(system)}.")
    for setting in settings:
        if setting in own:
            raise TypeError(f"{setting} is not a setting: it is made from other arguments, or switched off.")


# --- the call ---------------------------------------------------------------------------------------


class Response(NamedTuple):
    """The body of a response, as far as all providers are alike.

    items: what the model has said, in the provider's shape; it goes back so.
    problem: why that is not all that the model wanted to say; "" = it is.
    cut_off: only the end is missing, so that the model may be told and go on.
    """

    items: list[Entry]
    problem: str
    cut_off: bool
    usage: Entry | None


class Said(NamedTuple):
    """What a model has said: a text and requests in our shape. refused: the text is its refusal."""

    text: str
    requests: list[Entry]
    refused: bool = False


class Adapter(ABC):
    """One API of a provider: how it is asked, and how its shapes and ours become each other.

    api: its name, which stands beside what came from it. provider: the package of its client.
    client_class: the client in it. key: the environment variable that holds the key. own: the settings that
    the adapter makes itself. own_id: the form of an id that it takes back if it has made it.
    """

    api: str
    provider: str
    client_class: str
    key: str
    own: frozenset[str]
    own_id: re.Pattern[str] = re.compile(r"(?s).*\S.*")

    @abstractmethod
    def tools_from(self, tools: Any) -> list[Entry]:
        """Describe the tools to the provider. Raises ValueError for one that it does not take."""

    @abstractmethod
    def messages_from(self, history: list[Entry]) -> list[Entry]:
        """Write a history as messages."""

    @abstractmethod
    def read_body(self, body: Entry) -> Response | None:
        """Read the body of a response; None = there is no reply in it."""

    @abstractmethod
    def read_items(self, items: list[Entry]) -> Said:
        """Read what the model has said."""

    @abstractmethod
    def with_requests(self, items: list[Entry], requests: Iterator[Request]) -> list[Entry]:
        """Give what the model has said as it came, but for what the provider would refuse in a request."""

    @abstractmethod
    def body(self, messages: list[Entry], system: str, settings: Entry) -> Entry:
        """Put a request together. system: "" = there is none."""

    @abstractmethod
    def send(self, client: Any, body: Entry) -> Any:
        """Make one call with the provider's own client."""

    def without_tools(self, settings: Entry) -> Entry:
        """Give the settings for a call that offers no tools; what speaks of tools goes with them."""
        of_tools = {"tools", "tool_choice", "parallel_tool_calls"}
        return {name: value for name, value in settings.items() if name not in of_tools}

    def reply_from(self, body: Entry) -> Entry:
        """Read the body of a response, a dict, as a reply; what came stands beside it ("raw").

        A refusal is an answer, in the model's own words, with "refused": True beside it.
        Raises ProviderError, with the text and the usage, if there is no reply in it, only a part of an
        answer, or an ending that is not known.
        """
        response = self.read_body(body)
        if response is None:
            usage = self.usage_from(dict_in(body, "usage"))
            raise ProviderError(
                self.provider, f"the response holds no reply: {short(body, 300)}", usage=usage
            )
        kept = raw(self.api, response.items)
        text, requests, refused = self.read_items(kept["items"])
        if response.problem and not (response.cut_off and requests):
            words = f"{response.problem}. It began: {short(text, 1_000)!r}"
            raise ProviderError(self.provider, words, text=text, usage=response.usage)
        if response.problem:
            requests = [not_whole(request, response.problem) for request in requests]
        reply = make_reply(text, requests, response.usage)
        if refused:
            reply["refused"] = True
        return {**reply, "raw": kept}

    @abstractmethod
    def usage_from(self, given: Entry) -> Entry | None:
        """Read what the provider has counted; None if it does not say."""

    def turns(self, history: list[Entry]) -> Iterator[tuple[Turn, list[Entry] | None]]:
        """Split a history into turns, each with what came from this API for it.

        None = nothing came, or the history says something else by now.
        """
        for turn in turns(history, self.api, self.own_id):
            items = raw_items(turn.entry, self.api)
            if items and says(turn, *self.read_items(items)[:2]):
                yield turn, self.with_requests(items, iter(turn.requests))
            else:
                yield turn, None

    def client(self, **options: Any) -> Any:
        """Make the official client, with the key from the environment.

        options: the client's own, such as base_url, timeout (seconds) and max_retries, but no key.
        Raises ProviderError, with what to do, if the package or the key is missing or the key cannot be one;
        TypeError if `options` holds a key.
        """
        if "api_key" in options:
            raise TypeError(f"A key is not an argument: code is shown and saved. It is read from {self.key}.")
        if HERE.browser:
            raise ProviderError(self.provider, NO_REAL_MODEL)
        if find_spec(self.provider) is None:
            command = f'{sys.executable} -m pip install -e ".[{self.provider}]"'
            raise ProviderError(self.provider, f"its client is not installed. Run: {command}")
        key = os.environ.get(self.key, "").strip()
        if not key:
            problem = f"there is no key: the environment variable {self.key} is not set."
            raise ProviderError(self.provider, problem)
        if not (key.isascii() and key.isprintable() and " " not in key):
            problem = f"{self.key} holds a character that no key has. Copy the key anew."
            raise ProviderError(self.provider, problem)
        return getattr(import_module(self.provider), self.client_class)(api_key=key, **options)

    def model(
        self, client: Any, name: str, tools: Any, *, system: str = "", **settings: Any
    ) -> ModelFunction:
        """Make a model function for `run_agent`. See `agentlib.providers` for what it takes and raises."""
        check_arguments(name, system, settings, self.own)
        settings["model"] = name
        if offer := self.tools_from(tools):
            settings["tools"] = offer  # an empty list is refused
        return _ProviderModel(self, client, system if system.strip() else "", settings)

    def ask(self, client: Any, request: Entry) -> Entry:
        """Make one call and give the body of the response as a plain dict.

        The provider's own client takes care of time-outs, and of retries unless its max_retries is 0.
        Raises ProviderError for whatever goes wrong. It never carries the client's own exception with it:
        that one holds the request with its headers, and so the key.
        """
        status, again, wait = None, False, None
        try:
            got = self.send(client, request)
            if inspect.iscoroutine(got):
                got.close()
                raise TypeError("the client is one for `async` code; this needs the plain one.")
            body = got.to_dict(mode="json", warnings=False) if hasattr(got, "to_dict") else got
            if isinstance(body, dict):
                plain: Entry = _hidden(body, _secrets(client))
                return plain
            sent = short(body, 300)
            words = f"the server sent no JSON object. Is the client's base_url right? It sent: {sent}"
        except json.JSONDecodeError as problem:
            words = f"the server sent JSON that cannot be read: {problem}"
        except Exception as problem:
            words, again, wait = _words(problem), _is_worth_retrying(problem), _retry_after_seconds(problem)
            status = getattr(problem, "status_code", None)
        # Out here no other exception is being handled, so none becomes the context of this one.
        words = _hidden(f"model {request['model']}: {words}", _secrets(client))
        words = short(words, MAX_ERROR_CHARS, say_length=True)
        status = status if isinstance(status, int) else None
        raise ProviderError(self.provider, words, status, worth_retrying=again, retry_after_seconds=wait)


class _ProviderModel(InformedModel):
    """What an adapter's `model` gives; see there."""

    def __init__(self, adapter: Adapter, client: Any, system: str, settings: Entry) -> None:
        self.adapter, self.client, self.system, self.settings = adapter, client, system, settings

    def call(self, history: list[Entry], request: ModelRequest) -> Entry:
        body = self.body(history, request.offer_tools)
        return self.adapter.reply_from(self.adapter.ask(self.client, body))

    def body(self, history: list[Entry], offer_tools: bool = True) -> Entry:
        """Give the request, as the provider gets it, for one history."""
        settings = self.settings
        if not offer_tools and "tools" in settings:
            settings = self.adapter.without_tools(settings)
        return self.adapter.body(self.adapter.messages_from(history), self.system, settings)


def _words(problem: Exception) -> str:
    """Name an exception of a client with its words and its cause's: "Connection error." alone says little."""
    words = f"{type(problem).__name__}: {problem}"
    status = getattr(problem, "status_code", None)
    if status is not None and str(status) not in words:
        words += f" (HTTP status {status})"
    cause = problem.__cause__
    return words if cause is None else f"{words} ({type(cause).__name__}: {cause})"


def _is_worth_retrying(problem: Exception) -> bool:
    """Tell whether the same call may go well later: the server is busy or failed, or was not reached."""
    status = getattr(problem, "status_code", None)
    if status is None:  # both clients have a class of this name; a time-out is one of its kinds
        return any(kind.__name__ == "APIConnectionError" for kind in type(problem).__mro__)
    # A 429 that says that the account has nothing left is none that waiting mends.
    return getattr(problem, "code", None) != "insufficient_quota" and (status in (408, 429) or status >= 500)


def _retry_after_seconds(problem: Exception) -> float | None:
    """Read the header Retry-After, seconds or a date; None for one that is missing or cannot be.

    Source: RFC 9110, section 10.2.3. A date is measured from the response's own Date, by the server's clock.
    """
    headers = getattr(getattr(problem, "response", None), "headers", {})
    given = headers.get("retry-after") or ""
    try:
        seconds = float(given)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(given) - parsedate_to_datetime(headers["date"])).total_seconds()
        except (ValueError, TypeError, KeyError):
            return None
    return seconds if 0 <= seconds < math.inf else None


def _secrets(client: Any) -> list[str]:
    """List what must not be shown, the longest first."""
    held = [getattr(client, name, None) for name in ("api_key", "auth_token", "admin_api_key")]
    headers = getattr(client, "default_headers", None)
    if isinstance(headers, Mapping):
        held += [value for name, value in headers.items() if _SECRET_HEADER.search(name)]
    keys = [key for key in held if isinstance(key, str)]
    parts = [part for key in keys for part in (key, *_WRITTEN_ALIKE.findall(key))]
    return sorted({part for part in parts if len(part) >= MIN_SECRET_CHARS}, key=len, reverse=True)


_WRITTEN_ALIKE = re.compile(r"[!#-&(-\[\]-~]+")
"""What looks the same wherever it is quoted: ASCII without blanks, quotation marks and backslashes."""

_SECRET_HEADER = re.compile("auth|key|token|secret|cookie", re.IGNORECASE)


def _hidden(value: Any, secrets: list[str]) -> Any:
    """Copy a value with the secrets in its texts replaced: a server may send back what it was sent."""
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, "[key]")
        return value
    if isinstance(value, dict):
        return {_hidden(key, secrets): _hidden(item, secrets) for key, item in value.items()}
    if isinstance(value, list):
        return [_hidden(item, secrets) for item in value]
    return value


# --- the way back: a reply --------------------------------------------------------------------------


def read_request(id: object, tool: object, arguments: object) -> Entry:
    """Make a request in our shape.

    arguments: an object or its JSON text. What cannot be read is kept as it came, and the request gets a
    "problem", so that the loop does not run it and the model reads why.
    """
    request = {"id": id, "tool": tool if isinstance(tool, str) else "", "input": arguments}
    if isinstance(arguments, str) or arguments is None:
        text = arguments or ""
        try:
            read = json.loads(text, parse_float=exact_number) if text.strip() else None
            request["input"] = {} if read is None else read  # a tool without arguments
        except (ValueError, RecursionError) as wrong:
            request["problem"] = f"its arguments are no JSON that can be read ({wrong})"
    return request


def not_whole(request: Entry, why: str) -> Entry:
    """Give a request that may not be all that the model wanted to write, so that the loop does not run it."""
    return {**request, "problem": f"{why}, so it may not be whole; ask again, with less in one reply"}


def arguments_text(given: object, request: Request) -> str:
    """Give the arguments of a request as JSON text: as they came, unless no provider would take them so."""
    try:
        if isinstance(given, str):
            read = json.loads(given, parse_float=exact_number, parse_constant=float)
            if read == request.input:
                return given
    except (ValueError, RecursionError):
        pass
    return json_text(request.input)


def make_reply(text: str, requests: list[Entry], usage: Entry | None) -> Entry:
    """Put a reply together."""
    if len(requests) > 1:
        reply: Entry = {"type": "tools", "calls": requests, "text": text}
    elif requests:
        reply = {"type": "tool", **requests[0], "text": text}
    else:
        reply = {"type": "answer", "text": text}
    if requests and not text.strip():
        del reply["text"]
    if usage is not None:
        reply["usage"] = usage
    return reply


def raw(api: str, items: list[Entry]) -> Entry:
    """Make what stands beside a reply: all that the model has said, as it came, so that it can go back so."""
    kept: Entry = json_ready({"api": api, "items": items}, more_depth=5)[0]
    return kept


def raw_items(entry: Entry, api: str) -> list[Entry]:
    """Give what came from this API for an entry, if anything did."""
    kept = dict_in(entry, "raw")
    return dicts_in(kept.get("items")) if kept.get("api") == api else []


def says(turn: Turn, text: str, requests: list[Entry]) -> bool:
    """Tell whether a turn still says what came: this text, these requests. Memory or a fork may change it."""
    return text_in({"text": text}) == turn.text and _asked(requests) == _asked(calls_in(turn.entry))


def _asked(calls: list[Entry]) -> str:
    return json_text([[call.get("tool"), call.get("input")] for call in calls])


def make_usage(read: object, cached: object, written: object, kept: object = None) -> Entry | None:
    """Give the usage of one call; None if the provider does not say what was read and what was written.

    read: all input tokens, those from a cache included. cached, kept: the parts from a cache, and put into
    one; None = not said.
    """
    if not (_is_count(read) and _is_count(written)):
        return None
    usage = {"input_tokens": read, "output_tokens": written}
    if _is_count(cached):
        usage["cached_tokens"] = min(cached, read)
    if _is_count(kept) and kept:
        usage["cache_write_tokens"] = min(kept, read)
    return usage


def _is_count(tokens: object) -> TypeGuard[int]:
    return type(tokens) is int and tokens >= 0


def dicts_in(value: object) -> list[Entry]:
    """Give the dicts in a list; nothing for whatever else a server has sent there."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def dict_in(body: Mapping[str, Any], name: str) -> Entry:
    """Give the dict that stands under a name; an empty one for whatever else a server has sent there."""
    value = body.get(name)
    return value if isinstance(value, dict) else {}


def message_text(value: object) -> str:
    """Give the text of a message: plain, or in parts of a list that have a "text"."""
    if isinstance(value, str):
        return value
    return "".join(part["text"] for part in dicts_in(value) if isinstance(part.get("text"), str))
