"""What the providers demand of a conversation, as their APIs' error messages put it.

Written from these messages alone, without a look at how the adapters write a conversation.
"""

import json
import re


def text_in(content: object) -> str:
    """The text of a content: plain, or in parts, which an assistant's message may have too."""
    assert type(content) in (str, list, type(None)), content
    parts = content if type(content) is list else [{"text": content or ""}]
    return "".join(part.get("text") or "" for part in parts if type(part.get("text") or "") is str)


def assert_openai_takes(messages: list[dict]) -> None:
    """A message with calls is followed at once by one tool message for each of its ids, and no other."""
    assert messages, "at least one message"
    waiting: set[str] = set()
    for number, message in enumerate(messages):
        where = f"messages[{number}]: {message}"
        if message["role"] == "tool":
            assert set(message) == {"role", "tool_call_id", "content"}, where
            assert message["tool_call_id"] in waiting, f"{where} answers no call of the message before"
            waiting.remove(message["tool_call_id"])
            assert type(message["content"]) is str, where
            continue
        assert not waiting, f"{where} comes before the results of {waiting}"
        if message["role"] == "assistant":
            calls = message.get("tool_calls")
            assert calls or calls is None, f"{where}: an empty list of calls"
            said = text_in(message.get("content")) or message.get("refusal") or ""
            assert calls or said.strip(), f"{where} has neither content nor calls"
            for call in calls or []:
                assert call["type"] == "function", where
                assert 1 <= len(call["id"]) <= 40, where
                assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", call["function"]["name"]), where
                assert type(json.loads(call["function"]["arguments"])) is dict, where
            waiting = {call["id"] for call in calls or []}
            assert len(waiting) == len(calls or []), f"{where}: two calls of one id"
        else:
            assert message["role"] in ("user", "system"), where
            assert type(message["content"]) is str, where
            assert message["content"].strip(), where
    assert not waiting, f"the conversation ends before the results of {waiting}"
    json.dumps(messages, allow_nan=False).encode()


def assert_anthropic_takes(messages: list[dict]) -> None:
    """Roles take turns, the user begins; each tool_use has its tool_result at the top of the next message."""
    assert messages, "at least one message"
    waiting: list[str] = []
    ever: set[str] = set()
    for number, message in enumerate(messages):
        where = f"messages[{number}]: {message}"
        assert message["role"] == ("assistant" if number % 2 else "user"), where
        blocks = message["content"]
        assert blocks, f"{where}: no content"
        kinds = [block["type"] for block in blocks]
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        assert sorted(answered) == sorted(waiting), f"{where} answers {answered}, asked was {waiting}"
        assert "tool_result" not in kinds[len(answered) :], f"{where}: something stands before a result"
        waiting = []
        for block in blocks:
            if block["type"] == "text":
                assert block["text"].strip(), f"{where}: blank text"
            elif block["type"] == "tool_result":
                assert message["role"] == "user", where
                assert type(block["content"]) is str, where
                assert block["content"].strip() or not block.get("is_error"), where
            elif block["type"] == "tool_use":
                assert message["role"] == "assistant", where
                assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", block["id"]), where
                assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", block["name"]), where
                assert type(block["input"]) is dict, where
                assert block["id"] not in ever, f"{where}: the id {block['id']} was used before"
                ever.add(block["id"])
                waiting.append(block["id"])
            else:  # thinking, or whatever else the provider itself has made
                assert block["type"], where
                assert message["role"] == "assistant", where
    assert not waiting, f"the conversation ends before the results of {waiting}"
    json.dumps(messages, allow_nan=False).encode()


def assert_responses_takes(items: list[dict]) -> None:
    """Each function_call has one output behind it, and no other; reasoning stands before what it led to."""
    assert items, "at least one item"
    waiting: set[str] = set()
    ever: set[str] = set()
    thinks = False
    for number, item in enumerate(items):
        where = f"input[{number}]: {item}"
        kind = item.get("type", "message")
        assert not thinks or item.get("role") != "user", f"{where}: reasoning without what follows it"
        assert not thinks or kind != "function_call_output", f"{where}: reasoning without what follows it"
        thinks = kind == "reasoning"
        if kind == "function_call_output":
            assert item["call_id"] in waiting, f"{where} answers no call"
            waiting.remove(item["call_id"])
            assert type(item["output"]) is str, where
        elif kind == "function_call":
            assert item["call_id"] not in ever, f"{where}: the id was used before"
            assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", item["name"]), where
            assert type(json.loads(item["arguments"])) is dict, where
            ever.add(item["call_id"])
            waiting.add(item["call_id"])
        elif kind == "message" and "id" not in item:
            assert not waiting, f"{where} comes before the results of {waiting}"
            assert item["role"] in ("user", "assistant"), where
            assert item["content"].strip(), f"{where}: blank text"
        else:  # what the provider itself has made
            assert kind, where
    assert not waiting, f"the conversation ends before the results of {waiting}"
    json.dumps(items, allow_nan=False).encode()
