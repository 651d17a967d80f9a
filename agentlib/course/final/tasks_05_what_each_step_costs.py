"""Tasks of lesson 05: what is read, and what may be cut."""

from random import Random
from typing import Any

from agentlib.costs import tokens_read_total
from agentlib.course.final.task import FinalTask, choose, mend, told
from agentlib.messages import Entry


def shown_the_bill(rng: Random) -> FinalTask:
    """Show the first rows of a bill, and ask for the sum."""
    tokens, calls = rng.choice([100, 200, 300, 400, 500, 800]), rng.choice([10, 20, 30, 40])
    total = round(tokens_read_total(calls, tokens))
    rows = [
        "call   tokens read",
        *(f"{call:>4}   {call * tokens:>11,}" for call in (1, 2, 3)),
        "   ...",
        f"{calls:>4}   {calls * tokens:>11,}",
    ]
    wrong = [
        (f"{calls * tokens:,}", "That is what the last call reads, and about the length of the history."),
        (f"{calls * calls * tokens:,}", "So much it would be if every call read as much as the last one."),
        (f"{2 * calls * tokens:,}", "Add up the rows: the middle one alone is half of the last."),
        (f"{total - calls * tokens:,}", "The last call is missing."),
    ]
    why = f"{tokens} × (1 + 2 + ... + {calls}) = {tokens} × {calls * (calls + 1) // 2}: it grows like n × n."
    text = f"Each step adds {tokens} tokens. How many tokens do the {calls} calls read in all?"
    return choose(rng, text, "\n".join(rows), (f"{total:,}", why), wrong, "by-hand-words")


def shown_what_may_be_cut(rng: Random) -> FinalTask:
    """Show a history with several requests in one reply, and ask which part can be sent."""
    two_at = rng.choice([0, 1, 2])
    history: list[Entry] = [{"role": "user", "text": "Compare the prices."}]
    for place in range(3):
        ids = [f"c{place}a", f"c{place}b"] if place == two_at else [f"c{place}a"]
        calls = [{"id": id, "tool": "price", "input": {"item": f"{id}"}} for id in ids]
        history.append({"role": "model", "type": "tools", "text": "", "calls": calls})
        history += [{"role": "tool", "id": id, "tool": "price", "result": rng.randint(10, 99)} for id in ids]
    size = len(history)
    parts = [[1, *range(first, size + 1)] for first in range(3, size)] + [
        list(range(2, size + 1)),
        list(range(1, size)),
    ]
    good = [part for part in parts if not _fault(part, history)]
    bad = [part for part in parts if part not in good]
    rng.shuffle(bad)
    right = (
        _numbers(rng.choice(good)),
        "It begins with the goal, and each request stands with all of its results.",
    )
    wrong = [(_numbers(part), f"{_numbers(part)}: {_fault(part, history)}") for part in bad]
    text = "The window is full. Which entries can be sent, so that no provider refuses them and the goal is known?"
    return choose(rng, text, told(history), right, wrong, "compact-words")


def _fault(part: list[int], history: list[Entry]) -> str:
    """Say why these entries, numbered from 1, cannot be sent; "" = they can."""
    if part[0] != 1:
        return "The goal is missing, so the model does not know what it is to do."
    entries = {number: history[number - 1] for number in part}
    asked = {call["id"]: number for number, entry in entries.items() for call in entry.get("calls", ())}
    answered = {entry["id"]: number for number, entry in entries.items() if entry["role"] == "tool"}
    if lone := [number for id, number in answered.items() if id not in asked]:
        return f"Entry {lone[0]} would be a result without its request."
    if lone := [number for id, number in asked.items() if id not in answered]:
        return f"Entry {lone[0]} would be a request without its result."
    return ""


def _numbers(part: list[int]) -> str:
    rest = part[1:] if part[0] == 1 and part[1] != 2 else part
    start = "1, " if rest is not part else ""
    return f"{start}{rest[0]} to {rest[-1]}" if len(rest) > 1 else f"{start}{rest[0]}"


def repair_the_trim(rng: Random) -> FinalTask:
    """Show a trim that makes texts longer than allowed."""
    mark = rng.choice([" ... (cut)", " [more left out]", " (shortened)"])
    code = f"""
MARK = "{mark}"

def trim(text, max_chars):
    if len(text) <= max_chars:
        return text
    return text[:max_chars] + MARK
"""

    def judge(names: dict[str, Any]) -> str:
        for size, max_chars in ((500, 60), (61, 60), (60, 60), (12, 60), (300, 25)):
            text = ("abcdefghij" * 50)[:size]
            short = names["trim"](text, max_chars)
            if size <= max_chars and short != text:
                return f"A text of {size} characters fits into {max_chars} and came back changed."
            if len(short) > max_chars:
                return f"{size} characters with max_chars={max_chars} became {len(short)}."
            if size > max_chars and not (
                short.endswith(mark) and text.startswith(short.removesuffix(mark)) and len(short) > len(mark)
            ):
                return f"{size} characters became {short!r}: its beginning and the mark should be there."
        return ""

    return mend(
        "A result of 61 characters comes out longer than it went in, with `max_chars=60`. What is cut has to fit, mark and all. "
        "Mend one line.",
        code, (6, "return text[:max_chars - len(MARK)] + MARK"),
        "The mark takes room as well. A trim that makes longer what it should shorten is paid for at every call.", judge, "trim-words",
    )  # fmt: skip
