"""What a test needs to know of each provider: its module, its client, and how its server writes a reply."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from agentlib.messages import calls_in
from agentlib.providers import anthropic, openai

FAKE_KEY = "sk-wombat-7f3a91c4-not-a-real-key"
HOW_TO_GET_IT = 'pip install -e ".[openai,anthropic,dev]"'


@dataclass(frozen=True)
class Kit:
    """One provider.

    path: where its server is asked. base: what stands behind the server's address in the client's base_url.
    body(text, calls, ends, **usage): a response. calls: (id, tool, input as the server writes it).
    ends: "" = as it should; "limit" = cut off; "filter" = stopped by a filter.
    failure(message): the body of a failing response. raw_input(input): an input as the server writes it.
    """

    name: str
    module: ModuleType
    path: str
    base: str
    body: Callable[..., dict[str, Any]]
    failure: Callable[[str], dict[str, Any]]
    raw_input: Callable[[dict[str, Any]], Any]

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
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "test-model",
        "choices": [{"index": 0, "finish_reason": finish, "message": message}],
        "usage": {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
            "prompt_tokens_details": {"cached_tokens": cached},
        },
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


OPENAI = Kit(
    "openai",
    openai,
    "/v1/chat/completions",
    "/v1",
    openai_body,
    lambda message: {"error": {"message": message, "type": "invalid_request_error", "code": None}},
    json.dumps,
)
ANTHROPIC = Kit(
    "anthropic",
    anthropic,
    "/v1/messages",
    "",
    anthropic_body,
    lambda message: {"type": "error", "error": {"type": "invalid_request_error", "message": message}},
    dict,
)
KITS = {kit.name: kit for kit in (OPENAI, ANTHROPIC)}
