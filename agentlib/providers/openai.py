"""Models behind OpenAI's two APIs, and behind every server that speaks one of them (`base_url`).

api="chat": Chat Completions, which nearly every server speaks. api="responses": Responses, which OpenAI
recommends for new work.

Installed with the extra `openai`. The APIs: https://platform.openai.com/docs/api-reference
"""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

from agentlib.messages import Entry, ModelFunction, describe, short
from agentlib.providers._schemas import description_of, parameters_of
from agentlib.providers._shared import (
    NO_REQUEST,
    Adapter,
    Request,
    Response,
    Said,
    arguments_text,
    dict_in,
    dicts_in,
    make_usage,
    message_text,
    offered,
    read_request,
)

__all__ = [
    "KEY",
    "ChatCompletions",
    "Responses",
    "client",
    "messages_from",
    "model",
    "reply_from",
    "tools_from",
]

KEY = "OPENAI_API_KEY"
"""The environment variable that holds the key. A server that needs none accepts any text."""

CUT_OFF = "the reply was cut off by the output limit"

NOT_WHOLE = {
    "length": CUT_OFF,
    "max_output_tokens": CUT_OFF,
    "content_filter": "the provider's filter has taken a part out of the reply",
}
"""The `finish_reason`s, and reasons for a status "incomplete", of a reply that is not all of it."""

WHOLE = ("stop", "tool_calls")
"""The `finish_reason`s of a whole reply."""


class _OpenAI(Adapter):
    """What the two APIs share. strict: the provider holds the model to the schemas of the tools."""

    provider, client_class, key = "openai", "OpenAI", KEY

    def __init__(self, strict: bool = False) -> None:
        self.strict = strict

    def tools_from(self, tools: Any) -> list[Entry]:
        """Describe the tools. Raises ValueError, with tool, parameter and reason, for one that is refused."""
        return [
            self.offer(
                {
                    "name": tool.name,
                    "description": description_of(tool),
                    "parameters": parameters_of(tool, strict=self.strict),
                }
            )
            for tool in offered(tools)
        ]

    @abstractmethod
    def offer(self, function: Entry) -> Entry:
        """Put the description of a tool into the shape of this API."""

    def read_request(self, id: object, function: Entry) -> Entry:
        return read_request(id, function.get("name"), function.get("arguments"))


def _problem(reason: object) -> str:
    known = NOT_WHOLE.get(reason) if isinstance(reason, str) else None
    return known or f"the reply ended for a reason that is not known, {describe(reason)}"


class ChatCompletions(_OpenAI):
    """OpenAI's Chat Completions API.

    The settings of a model, such as max_completion_tokens, temperature or seed, go to
    `client.chat.completions.create`.
    """

    api = "openai chat"
    own = frozenset({"messages", "model", "n", "stream", "tools"})

    def offer(self, function: Entry) -> Entry:
        return {"type": "function", "function": {**function, "strict": True} if self.strict else function}

    def messages_from(self, history: list[Entry]) -> list[Entry]:
        """Write a history as messages: behind each assistant's message stands one result for each call."""
        messages: list[Entry] = []
        for turn, items in self.turns(history):
            if turn.role == "user":
                messages.append({"role": "user", "content": turn.text})
                continue
            if items is None:
                message: Entry = {"role": "assistant", "content": turn.text or None}
                if turn.requests:
                    message["tool_calls"] = [_tool_call({}, request) for request in turn.requests]
                items = [message]
            messages += items
            messages += [
                {"role": "tool", "tool_call_id": request.id, "content": request.result}
                for request in turn.requests
            ]
        return messages

    def with_requests(self, items: list[Entry], requests: Iterator[Request]) -> list[Entry]:
        message = {**items[0], "role": "assistant"}
        calls = [_tool_call(call, next(requests)) for call in dicts_in(message.pop("tool_calls", None))]
        if not (isinstance(message.get("content"), str) or dicts_in(message.get("content"))):
            message["content"] = None
        return [{**message, "tool_calls": calls} if calls else message]  # an empty list is refused

    def read_body(self, body: Entry) -> Response | None:
        choices = dicts_in(body.get("choices"))
        messages = [choice["message"] for choice in choices if isinstance(choice.get("message"), dict)]
        if not messages:
            return None
        endings = [choice.get("finish_reason") for choice in choices]
        problems = [_problem(ending) for ending in endings if ending not in WHOLE]
        # What is merely cut off can be mended, so it is said last.
        problem = min(problems, key=CUT_OFF.__eq__, default="")
        message = _joined(messages)
        if not problem and "tool_calls" in endings and not dicts_in(message.get("tool_calls")):
            problem = NO_REQUEST
        usage = self.usage_from(dict_in(body, "usage"))
        return Response([message], problem, problem == CUT_OFF, usage)

    def read_items(self, items: list[Entry]) -> Said:
        message = items[0]
        requests = [
            self.read_request(call.get("id"), dict_in(call, "function"))
            for call in dicts_in(message.get("tool_calls"))
        ]
        text, refusal = message_text(message.get("content")), message.get("refusal")
        if isinstance(refusal, str) and refusal.strip() and not requests:
            return Said(text if text.strip() else refusal, [], refused=True)
        return Said(text, requests)

    def usage_from(self, given: Entry) -> Entry | None:
        # The prompt's tokens are all of them, the cached ones too.
        details = dict_in(given, "prompt_tokens_details")
        # The first is OpenAI's; servers that speak its API have places of their own, DeepSeek the third.
        places = (
            details.get("cached_tokens"),
            given.get("cached_tokens"),
            given.get("prompt_cache_hit_tokens"),
        )
        cached = next((place for place in places if place is not None), None)
        kept = details.get("cache_write_tokens")
        return make_usage(given.get("prompt_tokens"), cached, given.get("completion_tokens"), kept)

    def body(self, messages: list[Entry], system: str, settings: Entry) -> Entry:
        first = [{"role": "system", "content": system}] if system else []
        return {**settings, "messages": first + messages}

    def send(self, client: Any, body: Entry) -> Any:
        return client.chat.completions.create(**body)


def _tool_call(call: Entry, request: Request) -> Entry:
    function = dict_in(call, "function")
    arguments = arguments_text(function.get("arguments"), request)
    function = {**function, "name": request.tool, "arguments": arguments}
    return {**call, "id": request.id, "type": "function", "function": function}


def _joined(messages: list[Entry]) -> Entry:
    """Make one message of those that a server has put into several choices: text here, requests there."""
    joined: Entry = {}
    for message in messages:
        for name, value in message.items():
            before = joined.get(name)
            if not before or name == "role":
                joined[name] = value
            elif isinstance(before, list) and isinstance(value, list):
                joined[name] = before + value
            elif isinstance(before, str) and isinstance(value, str) and value:
                joined[name] = f"{before}\n{value}"
            elif value:
                joined[name] = value
    return joined


class Responses(_OpenAI):
    """OpenAI's Responses API, with the whole history in each call.

    The settings of a model, such as max_output_tokens, reasoning or store, go to `client.responses.create`.
    With store=False the provider keeps nothing, so the model's reasoning comes along, encrypted, unless
    `include` says what comes.
    """

    api = "openai responses"
    own = ChatCompletions.own | {
        "background", "conversation", "input", "instructions", "previous_response_id",
    }  # fmt: skip

    def model(
        self, client: Any, name: str, tools: Any, *, system: str = "", **settings: Any
    ) -> ModelFunction:
        if settings.get("store") is False:
            settings.setdefault("include", ["reasoning.encrypted_content"])
        return super().model(client, name, tools, system=system, **settings)

    def offer(self, function: Entry) -> Entry:
        return {"type": "function", **function, "strict": self.strict}  # if nothing is said, it is strict

    def messages_from(self, history: list[Entry]) -> list[Entry]:
        """Write a history as items: messages, requests, and behind a reply one output for each request."""
        written: list[Entry] = []
        for turn, items in self.turns(history):
            if turn.role == "user":
                written.append({"role": "user", "content": turn.text})
                continue
            if items is None:
                items = [{"role": "assistant", "content": turn.text}] if turn.text else []
                items += [_function_call({}, request) for request in turn.requests]
            written += items
            written += [
                {"type": "function_call_output", "call_id": request.id, "output": request.result}
                for request in turn.requests
            ]
        return written

    def with_requests(self, items: list[Entry], requests: Iterator[Request]) -> list[Entry]:
        return [
            _function_call(item, next(requests)) if item.get("type") == "function_call" else item
            for item in items
        ]

    def read_body(self, body: Entry) -> Response | None:
        if not isinstance(body.get("output"), list):
            return None
        items = [item for item in dicts_in(body["output"]) if isinstance(item.get("type"), str)]
        status, error = body.get("status"), dict_in(body, "error").get("message")
        problem = ""
        if status == "incomplete":
            problem = _problem(dict_in(body, "incomplete_details").get("reason"))
        elif status != "completed":
            problem = f"the response is not completed, its status is {describe(status)}"
        elif any(item["type"] == "message" and item.get("status") == "incomplete" for item in items):
            problem = CUT_OFF
        if error:
            problem = f"{problem or 'the provider tells of an error'}: {short(error, 500)}"
        return Response(items, problem, problem == CUT_OFF, self.usage_from(dict_in(body, "usage")))

    def read_items(self, items: list[Entry]) -> Said:
        texts, refusals, requests = [], [], []
        for item in items:
            if item.get("type") == "function_call":
                request = self.read_request(item.get("call_id"), item)
                if item.get("status") == "incomplete":
                    request["problem"] = "the request is not whole"
                requests.append(request)
            elif item.get("type") == "message":
                parts = dicts_in(item.get("content"))
                texts.append(message_text([part for part in parts if part.get("type") == "output_text"]))
                refusals += [part["refusal"] for part in parts if isinstance(part.get("refusal"), str)]
        text, refusal = "\n".join(filter(None, texts)), "\n".join(refusals)
        if refusal.strip() and not requests:
            return Said(text if text.strip() else refusal, [], refused=True)
        return Said(text, requests)

    def usage_from(self, given: Entry) -> Entry | None:
        details = dict_in(given, "input_tokens_details")
        cached, kept = details.get("cached_tokens"), details.get("cache_write_tokens")
        return make_usage(given.get("input_tokens"), cached, given.get("output_tokens"), kept)

    def body(self, messages: list[Entry], system: str, settings: Entry) -> Entry:
        first = {"instructions": system} if system else {}
        return {**settings, **first, "input": messages}

    def send(self, client: Any, body: Entry) -> Any:
        return client.responses.create(**body)


def _function_call(item: Entry, request: Request) -> Entry:
    arguments = arguments_text(item.get("arguments"), request)
    call = {"type": "function_call", "call_id": request.id, "name": request.tool, "arguments": arguments}
    return {**item, **call}


_APIS = {"chat": ChatCompletions, "responses": Responses}


def model(
    client: Any, name: str, tools: Any, *, api: str = "chat", strict: bool = False, **settings: Any
) -> ModelFunction:
    """Make a model function for `run_agent`. See `agentlib.providers` for what it takes and raises.

    api: "chat" or "responses". strict: the provider holds the model to the schemas of the tools; then every
    parameter has to be given, and one that takes any names cannot be offered.
    """
    if api not in _APIS:
        raise ValueError(f"api is one of {', '.join(_APIS)}, but was {describe(api)}.")
    return _APIS[api](strict).model(client, name, tools, **settings)


# What the module itself speaks, as the functions of `random` draw from one `Random`.
_chat = ChatCompletions()
client = _chat.client
tools_from, messages_from, reply_from = _chat.tools_from, _chat.messages_from, _chat.reply_from
