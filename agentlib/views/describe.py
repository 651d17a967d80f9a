"""Values, requests and histories in words: short, safe to print, the same at every run."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from agentlib.messages import calls_in, error_text, json_ready, short

__all__ = [
    "call_words",
    "code",
    "counted",
    "double_quoted",
    "entry_error",
    "entry_kind",
    "entry_words",
    "full_call",
    "full_stop",
    "joined",
    "of_reason",
    "one_line",
    "quoted",
    "role_of",
    "sentence",
    "sketch",
    "times",
    "value_words",
    "visible",
]  # fmt: skip

# Characters that would move the cursor, turn the direction of the text that follows, or cannot be encoded:
# control characters but tab and line break, the marks that override direction, and lone surrogates.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


_NAMES = {"null": "None", "true": "True", "false": "False"}
"""What JSON calls by other names than Python."""

_NAMES_OR_TEXTS = re.compile(r'"(?:[^"\\]|\\.)*"|null|true|false')


def visible(text: str) -> str:
    """Write characters that act instead of being seen as their code, such as \\u202e."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def value_words(value: object) -> str:
    """Write a value on one line, whole, as Python writes it; what JSON cannot hold is named by its type."""
    return visible(_as_python(json.dumps(json_ready(value)[0], ensure_ascii=False)))


def _as_python(words: str) -> str:
    if not any(name in words for name in _NAMES):
        return words
    return _NAMES_OR_TEXTS.sub(lambda found: _NAMES.get(found.group(), found.group()), words)


def one_line(text: object, limit: int = 120) -> str:
    """Put text on one line, in at most `limit` characters; a line break is written as \\n."""
    line = visible(text if isinstance(text, str) else short(text, limit)[:limit])
    return short(line[: 2 * limit].replace("\n", "\\n"), limit)


def quoted(text: object, limit: int = 120) -> str:
    """Put text between double quotes on one line, in at most `limit` characters and the quotes."""
    return f'"{_whole_ticks(one_line(text, limit))}"'


def _whole_ticks(line: str) -> str:
    # A single backtick would turn all code behind it into words, and words into code.
    return line.replace("`", "'") if line.count("`") % 2 else line


_TEXTS = re.compile(r"'((?:[^'\\]|\\.)*)'" r'|"(?:[^"\\]|\\.)*"')


def double_quoted(words: str) -> str:
    """Write the texts in a value as the lessons do, between double quotes, where these fit."""

    def written(found: re.Match[str]) -> str:
        text = found.group(1)
        return found.group() if text is None or '"' in text else f'"{text}"'

    return _TEXTS.sub(written, words)


def sentence(text: object, limit: int = 120) -> str:
    """Put text on one line and make sure that it ends as a sentence does."""
    return full_stop(_whole_ticks(one_line(text, limit)))


def full_stop(words: str) -> str:
    """End a sentence with a full stop, unless a text at its end has brought its own: `It says "Yes."`."""
    return words if words.rstrip("\"'`").endswith((".", "!", "?")) else f"{words}."


def code(text: str) -> str:
    """Set text as code, between backticks; backticks inside it become plain quotes."""
    return f"`{text.replace('`', chr(39))}`"


def call_words(call: Mapping[str, Any], limit: int = 80) -> str:
    """Write a request as Python would: `stock_level("north")`; several arguments get their names."""
    given = call.get("input")
    if isinstance(given, Mapping) and len(given) == 1:
        (value,) = given.values()
        return f"{_tool_words(call.get('tool'))}({short(value_words(value), limit)})"
    return full_call(call.get("tool"), given, limit)


def full_call(tool: object, input: object, limit: int = 80) -> str:
    """Write a request with the names of all its arguments: `stock_level(place="Nord")`."""
    if isinstance(input, Mapping):
        inside = ", ".join(f"{visible(str(name))}={value_words(value)}" for name, value in input.items())
    else:
        inside = value_words(input)
    return f"{_tool_words(tool)}({short(inside, limit)})"


def _tool_words(tool: object) -> str:
    return visible(tool if isinstance(tool, str) else short(tool, 40))


def role_of(entry: object) -> str:
    """Say who an entry comes from: user, model, tool or "no role". A reply without one is the model's."""
    if isinstance(entry, Mapping):
        role = entry.get("role")
        if isinstance(role, str):
            return visible(short(role, 20))
        if entry.get("type") in ("answer", "tool", "tools"):
            return "model"
    return "no role"


def entry_error(entry: object) -> str | None:
    """Give the words of a failed tool result in an entry, or None."""
    if isinstance(entry, Mapping) and role_of(entry) == "tool":
        return error_text(entry.get("result"))
    return None


def entry_words(entry: object) -> str:
    """Say what an entry holds, whole, in words: text, requests, an answer, or what a tool gave."""
    if not isinstance(entry, Mapping):
        return value_words(entry)
    if role_of(entry) == "tool" and "result" in entry:
        tool = entry.get("tool")
        name = visible(tool) if isinstance(tool, str) else ""
        problem = error_text(entry["result"])
        if problem is not None:
            return f"error from {name}: {visible(problem)}" if name else f"error: {visible(problem)}"
        return f"{name} gave {value_words(entry['result'])}" if name else value_words(entry["result"])
    calls = calls_in(entry)
    text = entry.get("text")
    if calls:
        requests = " and ".join(call_words(call, limit=100_000) for call in calls)
        beside = f" (and says {value_words(text)})" if isinstance(text, str) and text else ""
        return f"requests {requests}{beside}"
    if entry.get("type") == "answer":
        return f"answers: {visible(text) if isinstance(text, str) else value_words(text)}"
    if entry.get("type") == "empty":
        return "an empty reply"
    if entry.get("type") == "invalid":
        return f"a reply that could not be read: {visible(str(text))}"
    if isinstance(text, str):
        return visible(text)
    return value_words({key: value for key, value in entry.items() if key != "role"})


def entry_kind(entry: object) -> str:
    """Name an entry in a few words, its requests in full: `request stock_level(place="Nord")`."""
    if not isinstance(entry, Mapping):
        return f"a {type(entry).__name__}"
    if entry.get("role") == "tool":
        kind = "result" if "result" in entry else "tool entry without a result"
        tool = entry.get("tool")
        return f"{kind} of {short(tool, 30)}" if isinstance(tool, str) and tool else kind
    calls = calls_in(entry)
    if calls:
        return "request " + " + ".join(full_call(call.get("tool"), call.get("input")) for call in calls)
    if entry.get("role") == "user":
        return "user"
    if entry.get("type") == "answer":
        return "answer"
    return f"an entry ({short(', '.join(map(str, entry)), 60)})"


def sketch(history: Sequence[object]) -> str:
    """Tell a history in a line: `[user, request stock_level(place="Nord"), result of stock_level]`."""
    kinds = [entry_kind(entry) for entry in history]
    if len(kinds) > 7:
        kinds = [*kinds[:3], f"... {len(kinds) - 6} more ...", *kinds[-3:]]
    return f"[{', '.join(kinds)}]"


def times(count: int) -> str:
    """Say how often: 0 times, once, twice, 3 times."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def counted(number: int, one: str, many: str = "") -> str:
    """Write a number with its noun: "1 entry", "1,024 entries"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def joined(parts: list[str]) -> str:
    """Join parts as a sentence does: "a, b and c"."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


_REASONS = {
    "answered": "The model answered.",
    "step limit": "All allowed steps were used, and the model had not answered.",
    "token budget": "The next call would have read more tokens than allowed, so it was not made.",
    "coin budget": "The next call would have cost more coins than allowed, so it was not made.",
    "budget limit": "The next call would have cost more than allowed, so it was not made.",
    "cost budget": "The next call would have cost more money than allowed, so it was not made.",
    "deadline": "The time was up.",
    "repeated call": "The loop saw the same request again.",
    "no progress": "Several steps in a row brought no result that was new.",
    "too many errors": "Too many results were errors.",
    "tool called": "The tool that ends the run has run.",
    "empty reply": "Two replies in a row were empty.",
    "model error": "The model itself failed.",
    "fatal error": "A tool failed in a way that no model can mend.",
    "cancelled": "Somebody cancelled the run.",
    "waiting": "A person has to decide on a request. The run can go on from its trace afterwards.",
    "returned": "The loop came to its end.",
    "crashed": "An error that nothing caught ended the run.",
    "asked too often": "The loop asked its model again and again, so watching ended it.",
    "ran too long": "The loop went on and on, so watching ended it.",
    "interrupted": "The run was interrupted.",
}


def of_reason(reason: str) -> str:
    """Say in one sentence what a stop reason means; "" for one that is not known here."""
    return _REASONS.get(reason, "")
