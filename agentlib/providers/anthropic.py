"""Models behind Anthropic's Messages API.

Installed with the extra `anthropic`. The API: https://docs.claude.com/en/api/messages
"""

from typing import Any

from agentlib.errors import ProviderError
from agentlib.messages import Entry, ModelFunction, short
from agentlib.providers._shared import (
    Adapter,
    dict_in,
    dicts_in,
    make_reply,
    make_usage,
    message_text,
    offered,
    parameters_of,
    read_request,
    turns,
)

__all__ = ["KEY", "Messages", "client", "messages_from", "model", "reply_from", "tools_from"]

KEY = "ANTHROPIC_API_KEY"
"""The environment variable that holds the key."""

NOT_WHOLE = {
    "max_tokens": "the reply was cut off by the output limit",
    "model_context_window_exceeded": "the reply was cut off, as the model's window is full",
    "refusal": "the provider's filter has stopped the reply",
}
"""The `stop_reason`s of a reply that is not all that the model wanted to write."""

THINKING = ("thinking", "redacted_thinking")
"""Blocks that must be sent back as they came, before the requests that they led to."""


class Messages(Adapter):
    """Anthropic's Messages API.

    The settings of a model, such as thinking or cache_control, go to `client.messages.create`. What it has no
    argument for any more, such as temperature, goes into extra_body.
    """

    provider, client_class, key = "anthropic", "Anthropic", KEY
    own = frozenset({"messages", "model", "stream", "tools"})

    def model(
        self, client: Any, name: str, tools: Any, *, system: str = "", max_tokens: int = 4_096, **more: Any
    ) -> ModelFunction:
        """Make a model function. max_tokens: the most tokens that one reply may have; the API wants one."""
        return super().model(client, name, tools, system=system, max_tokens=max_tokens, **more)

    def tools_from(self, tools: Any) -> list[Entry]:
        return [
            {"name": tool.name, "description": tool.description, "input_schema": parameters_of(tool)}
            for tool in offered(tools)
        ]

    def messages_from(self, history: list[Entry]) -> list[Entry]:
        """Write a history as messages: user and assistant take turns, and the user begins.

        All results of a reply stand in the one user message behind it, before anything else.
        """
        messages: list[Entry] = []

        def say(role: str, blocks: list[Entry]) -> None:
            if not messages and role == "assistant":
                messages.append({"role": "user", "content": [_text("(earlier steps are left out)")]})
            if messages and messages[-1]["role"] == role:
                messages[-1]["content"] += blocks
            else:
                messages.append({"role": role, "content": blocks})

        for turn in turns(history):
            if turn.role == "user":
                say("user", [_text(turn.text)])
                continue
            blocks = _thinking_in(turn.entry.get("thinking"))
            blocks += [_text(turn.text)] if turn.text else []
            blocks += [
                {"type": "tool_use", "id": request.id, "name": request.tool, "input": request.input}
                for request in turn.requests
            ]
            say("assistant", blocks)
            if turn.requests:
                say("user", [_result(request) for request in turn.requests])
        return messages

    def reply_from(self, body: Entry) -> Entry:
        """Read the body of a response, a dict, as a reply. Thinking stands beside it, to be sent back.

        Raises ProviderError if there is no reply in it, or only a part of an answer. That is so too when the
        provider's filter has stopped the reply: what there is of it is not the model's last word.
        """
        if not isinstance(body.get("content"), list):
            raise ProviderError("anthropic", f"the response holds no reply: {short(body, 300)}")
        content = dicts_in(body["content"])
        stopped = body.get("stop_reason")
        not_whole = NOT_WHOLE.get(stopped, "") if isinstance(stopped, str) else ""
        text = message_text([block for block in content if block.get("type") == "text"])
        requests = [
            read_request(block.get("id"), block.get("name"), block.get("input"), not_whole)
            for block in content
            if block.get("type") == "tool_use"
        ]
        if not_whole and not requests:
            explanation = dict_in(body, "stop_details").get("explanation")
            why = f"{not_whole} ({short(explanation, 500)})" if explanation else not_whole
            raise ProviderError("anthropic", f"{why}. It began: {short(text, 1_000)!r}")
        thinking = _thinking_in(content)
        beside = {"thinking": thinking} if thinking else {}
        return make_reply(text, requests, _usage(dict_in(body, "usage")), **beside)

    def send(self, client: Any, messages: list[Entry], system: str, settings: Entry) -> Any:
        first = {"system": system} if system else {}
        return client.messages.create(messages=messages, **first, **settings)


def _text(text: str) -> Entry:
    return {"type": "text", "text": text}


def _result(request: Any) -> Entry:
    block = {"type": "tool_result", "tool_use_id": request.id, "content": request.result}
    return {**block, "is_error": True} if request.failed else block


def _thinking_in(blocks: object) -> list[Entry]:
    return [block for block in dicts_in(blocks) if block.get("type") in THINKING]


def _usage(given: Entry) -> Entry | None:
    # The input's tokens are only those that have nothing to do with the cache.
    cached = given.get("cache_read_input_tokens")
    parts = [given.get("input_tokens"), cached or 0, given.get("cache_creation_input_tokens") or 0]
    counts = [part for part in parts if type(part) is int]
    read = sum(counts) if len(counts) == len(parts) else None
    return make_usage(read, cached, given.get("output_tokens"))


# What the module itself speaks, as the functions of `random` draw from one `Random`.
_messages = Messages()
client, model = _messages.client, _messages.model
tools_from, messages_from, reply_from = _messages.tools_from, _messages.messages_from, _messages.reply_from
