"""Models behind OpenAI's Chat Completions API, and behind every server that speaks it (`base_url`).

Installed with the extra `openai`. The API: https://platform.openai.com/docs/api-reference/chat
"""

from typing import Any

from agentlib.errors import ProviderError
from agentlib.messages import Entry, json_text, short
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

__all__ = ["KEY", "ChatCompletions", "client", "messages_from", "model", "reply_from", "tools_from"]

KEY = "OPENAI_API_KEY"
"""The environment variable that holds the key. A server that needs none accepts any text."""

NOT_WHOLE = {
    "length": "the reply was cut off by the output limit",
    "content_filter": "the provider's filter has taken a part out of the reply",
}
"""The `finish_reason`s of a reply that is not all that the model wanted to write."""


class ChatCompletions(Adapter):
    """OpenAI's Chat Completions API.

    The settings of a model, such as max_completion_tokens, temperature or seed, go to
    `client.chat.completions.create`.
    """

    provider, client_class, key = "openai", "OpenAI", KEY
    own = frozenset({"messages", "model", "n", "stream", "tools"})

    def tools_from(self, tools: Any) -> list[Entry]:
        return [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": parameters_of(tool),
                },
            }
            for tool in offered(tools)
        ]

    def messages_from(self, history: list[Entry]) -> list[Entry]:
        """Write a history as messages: behind each assistant's message stands one result for each call."""
        messages: list[Entry] = []
        for turn in turns(history):
            if turn.role == "user":
                messages.append({"role": "user", "content": turn.text})
                continue
            message: Entry = {"role": "assistant", "content": turn.text or None}
            if turn.requests:
                message["tool_calls"] = [
                    {
                        "id": request.id,
                        "type": "function",
                        "function": {"name": request.tool, "arguments": json_text(request.input)},
                    }
                    for request in turn.requests
                ]
            messages.append(message)
            messages += [
                {"role": "tool", "tool_call_id": request.id, "content": request.result}
                for request in turn.requests
            ]
        return messages

    def reply_from(self, body: Entry) -> Entry:
        """Read the body of a response, a dict, as a reply.

        A refusal is an answer, in the model's own words, with "refused": True beside it.
        Raises ProviderError if there is no reply in it, or only a part of an answer.
        """
        choice = next(iter(dicts_in(body.get("choices"))), {})
        message = choice.get("message")
        if not isinstance(message, dict):
            raise ProviderError("openai", f"the response holds no reply: {short(body, 300)}")
        finish = choice.get("finish_reason")
        not_whole = NOT_WHOLE.get(finish, "") if isinstance(finish, str) else ""
        text, refusal = message_text(message.get("content")), message.get("refusal")
        requests = []
        for call in dicts_in(message.get("tool_calls")):
            function = dict_in(call, "function")
            requests.append(
                read_request(call.get("id"), function.get("name"), function.get("arguments"), not_whole)
            )
        usage = _usage(dict_in(body, "usage"))
        if not_whole and not requests:
            raise ProviderError("openai", f"{not_whole}. It began: {short(text, 1_000)!r}")
        if isinstance(refusal, str) and refusal.strip() and not requests:
            return make_reply(text if text.strip() else refusal, [], usage, refused=True)
        return make_reply(text, requests, usage)

    def send(self, client: Any, messages: list[Entry], system: str, settings: Entry) -> Any:
        first = [{"role": "system", "content": system}] if system else []
        return client.chat.completions.create(messages=first + messages, **settings)


def _usage(given: Entry) -> Entry | None:
    # The prompt's tokens are all of them, the cached ones too.
    cached = dict_in(given, "prompt_tokens_details").get("cached_tokens")
    return make_usage(given.get("prompt_tokens"), cached, given.get("completion_tokens"))


# What the module itself speaks, as the functions of `random` draw from one `Random`.
_chat = ChatCompletions()
client, model = _chat.client, _chat.model
tools_from, messages_from, reply_from = _chat.tools_from, _chat.messages_from, _chat.reply_from
