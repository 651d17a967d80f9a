"""What the tests need to know of each provider: its module, its client, how its server asks and is asked."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

from agentlib.messages import calls_in
from agentlib.providers import anthropic, openai
from tests.providers.rules import assert_anthropic_takes, assert_openai_takes, assert_responses_takes

FAKE_KEY = "sk-wombat-7f3a91c4-not-a-real-key"
HOW_TO_GET_IT = 'pip install -e ".[openai,anthropic,dev]"'


@dataclass(frozen=True)
class Kit:
    """One API of a provider.

    package: of its client. api: its name beside what came from it. items(body): what of a body goes back.
    history(request): the part of a request that holds the history.
    path: where its server is asked. base: what stands behind the server's address in the client's base_url.
    body(text, calls, ends, **usage): a response. calls: (id, tool, input as the server writes it).
    ends: "" = as it should; "limit" = cut off; "filter" = stopped by a filter.
    failure(message): the body of a failing response. raw_input(input): an input as the server writes it.
    half_input: one that was cut off. takes(messages): fails where the API would refuse them.
    joins_texts: a user's text is added to the user's message before it, so that this one may grow.
    async_client: the client's other class. settings: for a model; settings_sent: what is sent of them.
    sent(body): of a request that was sent, the system's text, the first tool, and where its schema stands.
    """

    name: str
    package: str
    api: str
    module: Any
    items: Callable[[dict[str, Any]], list[dict[str, Any]]]
    history: Callable[[dict[str, Any]], list[dict[str, Any]]]
    path: str
    base: str
    body: Callable[..., dict[str, Any]]
    failure: Callable[[str], dict[str, Any]]
    raw_input: Callable[[dict[str, Any]], Any]
    half_input: Any
    takes: Callable[[list[dict[str, Any]]], None]
    joins_texts: bool
    async_client: str
    settings: dict[str, Any]
    settings_sent: dict[str, Any]
    sent: Callable[[dict[str, Any]], tuple[str, dict[str, Any], str]]

    def model(
        self, address: str, tools: Any, name: str = "test-model", *, timeout: float = 20, **settings: Any
    ):
        """A model function whose client asks the server at that address, once for each call."""
        client = self.module.client(base_url=address + self.base, timeout=timeout, max_retries=0)
        return self.module.model(client, name, tools, **settings)

    def body_of(self, reply: dict[str, Any], **usage: int) -> dict[str, Any]:
        """The response that stands for a reply in our own shape; requests without an id get one."""
        calls = [
            (call["id"] or f"{self.name}_{number}", call["tool"], self.raw_input(call["input"]))
            for number, call in enumerate(calls_in(reply))
        ]
        return self.body(reply.get("text"), calls, **usage)


def openai_body(text=None, calls=(), ends="", *, read=100, cached=0, written=7, refusal=None):
    finish = {"limit": "length", "filter": "content_filter"}.get(ends) or ("tool_calls" if calls else "stop")
    message = {"role": "assistant", "content": text, "refusal": refusal}
    if calls:
        message["tool_calls"] = [
            {"id": name, "type": "function", "function": {"name": tool, "arguments": arguments}}
            for name, tool, arguments in calls
        ]
    usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "test-model",
        "choices": [{"index": 0, "finish_reason": finish, "message": message}],
        "usage": {**usage, "prompt_tokens_details": {"cached_tokens": cached}},
    }


def anthropic_body(text=None, calls=(), ends="", *, read=100, cached=0, kept=0, written=7, thinking=()):
    stopped = {"limit": "max_tokens", "filter": "refusal"}.get(ends) or ("tool_use" if calls else "end_turn")
    content = [*thinking]
    content += [{"type": "text", "text": text}] if text else []
    content += [{"type": "tool_use", "id": name, "name": tool, "input": given} for name, tool, given in calls]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "test-model",
        "content": content,
        "stop_reason": stopped,
        "stop_sequence": None,
        "usage": {
            "input_tokens": read - cached - kept,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": kept,
            "output_tokens": written,
        },
    }


def responses_body(text=None, calls=(), ends="", *, read=100, cached=0, written=7, refusal=None):
    reason = {"limit": "max_output_tokens", "filter": "content_filter"}.get(ends)
    parts = [{"type": "refusal", "refusal": refusal}] if refusal else []
    if text is not None:
        parts.append({"type": "output_text", "text": text, "annotations": []})
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": parts}
    output = [message] if parts else []
    output += [
        {"type": "function_call", "id": f"fc_{name}", "call_id": name, "name": tool, "arguments": arguments}
        for name, tool, arguments in calls
    ]
    usage = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "test-model",
        "status": "incomplete" if reason else "completed",
        "incomplete_details": {"reason": reason} if reason else None,
        "error": None,
        "output": output,
        "usage": {**usage, "input_tokens_details": {"cached_tokens": cached}},
    }


def responses_sent(body):
    return body["instructions"], body["tools"][0], "parameters"


def openai_sent(body):
    system = body["messages"][0]
    assert system == {"role": "system", "content": system["content"]}
    return system["content"], body["tools"][0]["function"], "parameters"


_responses = openai.Responses()
RESPONSES = SimpleNamespace(
    KEY=openai.KEY,
    client=openai.client,
    model=partial(openai.model, api="responses"),
    tools_from=_responses.tools_from,
    messages_from=_responses.messages_from,
    reply_from=_responses.reply_from,
)
"""The same four functions for OpenAI's other API, which is a switch of the module's model."""

INVALID = {"type": "invalid_request_error"}
KITS = {
    kit.name: kit
    for kit in (
        Kit(
            name="openai",
            package="openai",
            api="openai chat",
            module=openai,
            items=lambda body: [body["choices"][0]["message"]],
            history=lambda request: request["messages"],
            path="/v1/chat/completions",
            base="/v1",
            body=openai_body,
            failure=lambda message: {"error": {**INVALID, "message": message, "code": None}},
            raw_input=json.dumps,
            half_input='{"warehouse": "no',
            takes=assert_openai_takes,
            joins_texts=False,
            async_client="AsyncOpenAI",
            settings={"seed": 3},
            settings_sent={"seed": 3},
            sent=openai_sent,
        ),
        Kit(
            name="responses",
            package="openai",
            api="openai responses",
            module=RESPONSES,
            items=lambda body: body["output"],
            history=lambda request: request["input"],
            path="/v1/responses",
            base="/v1",
            body=responses_body,
            failure=lambda message: {"error": {**INVALID, "message": message, "code": None}},
            raw_input=json.dumps,
            half_input='{"warehouse": "no',
            takes=assert_responses_takes,
            joins_texts=False,
            async_client="AsyncOpenAI",
            settings={"max_output_tokens": 50},
            settings_sent={"max_output_tokens": 50},
            sent=responses_sent,
        ),
        Kit(
            name="anthropic",
            package="anthropic",
            api="anthropic messages",
            module=anthropic,
            items=lambda body: body["content"],
            history=lambda request: request["messages"],
            path="/v1/messages",
            base="",
            body=anthropic_body,
            failure=lambda message: {"type": "error", "error": {**INVALID, "message": message}},
            raw_input=dict,
            half_input={},
            takes=assert_anthropic_takes,
            joins_texts=True,
            async_client="AsyncAnthropic",
            settings={"max_tokens": 50, "extra_body": {"temperature": 0.5}},
            settings_sent={"max_tokens": 50, "temperature": 0.5},
            sent=lambda body: (body["system"], body["tools"][0], "input_schema"),
        ),
    )
}
OPENAI, ANTHROPIC = KITS["openai"], KITS["anthropic"]
