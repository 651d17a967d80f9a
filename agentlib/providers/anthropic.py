"""Models behind Anthropic's Messages API.

Installed with the extra `anthropic`. The API: https://docs.claude.com/en/api/messages
"""

import re
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
    dict_in,
    dicts_in,
    make_usage,
    message_text,
    offered,
    read_request,
)

__all__ = ["KEY", "Messages", "client", "messages_from", "model", "reply_from", "tools_from"]

KEY = "ANTHROPIC_API_KEY"
"""The environment variable that holds the key."""

WHOLE = ("end_turn", "tool_use", "stop_sequence")
"""The `stop_reason`s of a whole reply."""

CUT_OFF = {
    "max_tokens": "the reply was cut off by the output limit",
    "model_context_window_exceeded": "the reply was cut off, as the model's window is full",
}
"""The `stop_reason`s of a reply whose end is missing."""

REFUSED = "the provider's filter has stopped the reply"

PARAMETER = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""What the API takes for the name of a parameter, as its error message says."""


class Messages(Adapter):
    """Anthropic's Messages API.

    The settings of a model, such as thinking or cache_control, go to `client.messages.create`. What it has no
    argument for any more, such as temperature, goes into extra_body.
    """

    api, provider, client_class, key = "anthropic messages", "anthropic", "Anthropic", KEY
    own = frozenset({"messages", "model", "stream", "tools"})
    own_id = re.compile("[A-Za-z0-9_-]+")

    def model(
        self, client: Any, name: str, tools: Any, *, system: str = "", max_tokens: int = 4_096, **more: Any
    ) -> ModelFunction:
        """Make a model function. max_tokens: the most tokens that one reply may have; the API wants one."""
        return super().model(client, name, tools, system=system, max_tokens=max_tokens, **more)

    def tools_from(self, tools: Any) -> list[Entry]:
        return [
            {
                "name": tool.name,
                "description": description_of(tool),
                "input_schema": parameters_of(tool, names=PARAMETER),
            }
            for tool in offered(tools)
        ]

    def without_tools(self, settings: Entry) -> Entry:
        # With requests in the history the API wants to see the tools, so they are named and forbidden.
        return {**settings, "tool_choice": {"type": "none"}}

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

        for turn, blocks in self.turns(history):
            if turn.role == "user":
                say("user", [_text(turn.text)])
                continue
            if blocks is None:
                blocks = [_text(turn.text)] if turn.text else []
                blocks += [_tool_use({}, request) for request in turn.requests]
            say("assistant", blocks)
            if turn.requests:
                say("user", [_result(request) for request in turn.requests])
        return messages

    def with_requests(self, items: list[Entry], requests: Iterator[Request]) -> list[Entry]:
        blocks = []
        for block in items:
            if block.get("type") == "tool_use":
                blocks.append(_tool_use(block, next(requests)))
            elif block.get("type") != "text" or message_text([block]).strip():  # blank text is refused
                blocks.append(block)
        return blocks

    def read_body(self, body: Entry) -> Response | None:
        if not isinstance(body.get("content"), list):
            return None
        items = [block for block in dicts_in(body["content"]) if isinstance(block.get("type"), str)]
        stopped = body.get("stop_reason")
        cut_off = CUT_OFF.get(stopped, "") if isinstance(stopped, str) else ""
        problem = cut_off
        if stopped == "refusal":
            explanation = dict_in(body, "stop_details").get("explanation")
            problem = f"{REFUSED} ({short(explanation, 500)})" if explanation else REFUSED
        elif not cut_off and stopped not in WHOLE:
            problem = f"the reply ended for a reason that is not known, {describe(stopped)}"
        elif stopped == "tool_use" and not any(block["type"] == "tool_use" for block in items):
            problem = NO_REQUEST
        return Response(items, problem, bool(cut_off), self.usage_from(dict_in(body, "usage")))

    def read_items(self, items: list[Entry]) -> Said:
        text = message_text([block for block in items if block.get("type") == "text"])
        requests = [
            read_request(block.get("id"), block.get("name"), block.get("input"))
            for block in items
            if block.get("type") == "tool_use"
        ]
        return Said(text, requests)

    def usage_from(self, given: Entry) -> Entry | None:
        # The input's tokens are only those that have nothing to do with the cache.
        cached, kept = given.get("cache_read_input_tokens"), given.get("cache_creation_input_tokens")
        parts = [given.get("input_tokens"), cached or 0, kept or 0]
        counts = [part for part in parts if type(part) is int]
        read = sum(counts) if len(counts) == len(parts) else None
        return make_usage(read, cached, given.get("output_tokens"), kept)

    def body(self, messages: list[Entry], system: str, settings: Entry) -> Entry:
        first = {"system": system} if system else {}
        return {**settings, **first, "messages": messages}

    def send(self, client: Any, body: Entry) -> Any:
        return client.messages.create(**body)


def _text(text: str) -> Entry:
    return {"type": "text", "text": text}


def _tool_use(block: Entry, request: Request) -> Entry:
    return {**block, "type": "tool_use", "id": request.id, "name": request.tool, "input": request.input}


def _result(request: Request) -> Entry:
    block = {"type": "tool_result", "tool_use_id": request.id, "content": request.result}
    return {**block, "is_error": True} if request.failed else block


# What the module itself speaks, as the functions of `random` draw from one `Random`.
_messages = Messages()
client, model = _messages.client, _messages.model
tools_from, messages_from, reply_from = _messages.tools_from, _messages.messages_from, _messages.reply_from
