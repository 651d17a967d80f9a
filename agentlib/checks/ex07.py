"""ex07: keep it short. `trim` makes one result shorter, `compact` replaces old steps by a summary."""

import json
import re
from random import Random
from typing import Any

from agentlib.checks.exercise import Criterion, Exercise, Fault, Log, Logs, Scenario
from agentlib.checks.player import shortened
from agentlib.checks.reading import crash, is_request, is_result, sketch
from agentlib.checks.worlds import THINGS, World
from agentlib.messages import Entry, ask_together, json_text, user

__all__ = ["EXERCISE"]

NOTE_CHARS = 80
"""The note about what is left out may stand inside max_chars or beside it; it has at most so many signs."""


def words(world: World, chars: int) -> str:
    """A text without digits of so many characters; its ends are no spaces."""
    text = " ".join(world.rng.choice(THINGS) for _ in range(chars // 4))
    return text[: chars - 1].replace(" ", "_") + "x"


def a_step(world: World, calls: int = 1, note: bool = False) -> list[Entry]:
    """One step of a history: a reply and its results."""
    requests = [world.request(world.tool_name()) for _ in range(calls)]
    reply = requests[0] if calls == 1 else ask_together(*requests)
    given = reply["calls"] if calls > 1 else [{"id": "", **reply}]
    results = [
        {"role": "tool", "id": call["id"], "tool": call["tool"], "result": world.result()} for call in given
    ]
    notes = [user(f"Note: {world.answer()}")] if note else []
    return [{"role": "model", **reply}, *results, *notes]


def compacting(world: World, old: list[list[Entry]], kept: list[list[Entry]]) -> Scenario:
    """A history of old steps and of the steps that are to be kept."""
    goal = user(world.goal())
    summary = f"Seen so far: {world.answer()}"
    history = [goal, *(entry for step in old + kept for entry in step)]
    facts = {
        "goal": goal,
        "old": [entry for step in old for entry in step],
        "kept": [entry for step in kept for entry in step],
        "summary": summary,
        "steps": (len(old), len(kept)),
        "history": history,
    }
    return Scenario(
        "compact",
        (history, len(kept), lambda entries: summary),
        max_calls={"argument 3": 20},
        facts=facts,
    )


def scenarios(rng: Random) -> dict[str, Scenario]:
    """The scenarios of one check."""
    world = World(rng)
    limit = rng.randrange(120, 200)
    long = words(world, limit * 3 + rng.randrange(50))
    exact, one_more = words(world, limit), words(world, limit + 1)
    fields: Entry = {
        f"{key}_{world.number()}": world.number() for key in ("row", "bay", "size", "kind", "site")
    }
    names = list(fields)
    picked = [names[3], names[1]]
    wide = {**fields, "text": long}
    k = rng.randrange(2, 4)

    def trim(result: Any, max_chars: int, **kwargs: Any) -> Scenario:
        return Scenario(
            "trim", (result, max_chars), kwargs, facts={"result": result, "limit": max_chars, **kwargs}
        )

    def steps(count: int) -> list[list[Entry]]:
        return [a_step(world) for _ in range(count)]

    return {
        "short text": trim(words(world, limit // 2), limit),
        "short dict": trim({"a": world.number(), "b": [1, 2]}, limit),
        "exactly as long": trim(exact, limit),
        "one too long": trim(one_more, limit),
        "long text": trim(long, limit),
        "fields": trim(fields, 10_000, keep=picked),
        "no fields named": trim(fields, 10_000),
        "a field that is not there": trim(fields, 10_000, keep=[*picked, "no_such_field"]),
        "text with fields named": trim(exact, limit, keep=picked),
        "wide dict": trim(wide, limit),
        "wide dict with fields named": trim(wide, 10_000, keep=picked),
        "nothing old": compacting(world, [], steps(k)),
        "only the goal": compacting(world, [], []),
        "old steps": compacting(world, steps(rng.randrange(3, 5)), steps(k)),
        "one old step": compacting(world, steps(1), steps(k)),
        "old batches": compacting(
            world, [a_step(world, 3), a_step(world)], [a_step(world, 3), a_step(world), a_step(world, 2)]
        ),
        "a note inside": compacting(
            world, [a_step(world), a_step(world, 2, note=True)], [a_step(world, 2), *steps(1)]
        ),
    }


# --- trim


def _value(log: Log) -> Any:
    return log.outcome.get("returned")


def _as_texts(value: Any) -> list[str]:
    """The texts that a value may be written as."""
    if isinstance(value, str):
        return [value]
    return [json_text(value), json.dumps(value), str(value), json.dumps(value, indent=2)]


def _came_back_whole(log: Log) -> Fault | None:
    fault = crash(log)
    if fault is not None:
        return fault
    result, value = log.facts["result"], _value(log)
    if value != result and value not in _as_texts(result):
        size = len(_as_texts(result)[0])
        return Fault(
            f"a result of {size} characters came back as {shortened(json_text(value))}, with max_chars="
            f"{log.facts['limit']}",
            "A result that fits is not touched. Exactly max_chars characters still fit.",
        )
    return None


def leaves_what_fits(logs: Logs) -> Fault | None:
    """What fits comes back as it is; what does not fit comes back shorter."""
    for name in ("short text", "short dict", "exactly as long"):
        fault = _came_back_whole(logs[name])
        if fault is not None:
            return fault
    for name in ("long text", "one too long"):
        log = logs[name]
        fault = crash(log)
        if fault is not None:
            return fault
        if _value(log) == log.facts["result"]:
            size = len(log.facts["result"])
            return Fault(
                f"a text of {size} characters came back as it was, with max_chars={log.facts['limit']}",
                "From max_chars + 1 characters on a result is too long.",
            )
    return None


def picks_fields(logs: Logs) -> Fault | None:
    """`keep` picks fields of a dict, and only of a dict."""
    for name in ("fields", "a field that is not there", "wide dict with fields named"):
        log = logs[name]
        what = f"keep={json_text(log.facts['keep'])}"
        fault = crash(log)
        if fault is not None:
            return Fault(
                f"{what}: {fault.seen}", "A name in `keep` that the dict does not have is passed over."
            )
        wanted = {key: log.facts["result"][key] for key in log.facts["keep"] if key in log.facts["result"]}
        value = _value(log)
        if value != wanted and value not in _as_texts(wanted):
            turned = {key: item for key, item in log.facts["result"].items() if key in wanted}
            if value not in _as_texts(turned):
                return Fault(f"{what} gave {shortened(json_text(value))}")
    log = logs["no fields named"]
    fault = _came_back_whole(log)
    if fault is not None:
        return Fault(f"without keep, {fault.seen}", "Without `keep` every field stays.")
    fault = _came_back_whole(logs["text with fields named"])
    if fault is not None:
        return Fault(
            f"keep was given and the result is a text: {fault.seen}", "Only a dict has fields to pick from."
        )
    return None


def _ends(text: str, cut: str) -> tuple[int, int]:
    """How many characters of the start and of the end are kept."""
    start = next(
        (i for i, (a, b) in enumerate(zip(text, cut, strict=False)) if a != b), min(len(text), len(cut))
    )
    back = zip(reversed(text), reversed(cut), strict=False)
    end = next((i for i, (a, b) in enumerate(back) if a != b), min(len(text), len(cut)))
    return start, min(end, len(cut) - start)


def _cut_text(log: Log) -> tuple[str, str] | Fault:
    """The text as it was and as it came back."""
    fault = crash(log)
    if fault is not None:
        return fault
    value = _value(log)
    if not isinstance(value, str):
        return Fault(
            f"a result that is too long came back as {shortened(json_text(value))}, which is no text",
            "What is cut comes back as text; a dict is written as text first, with `json.dumps` for example.",
        )
    texts = _as_texts(log.facts["result"])
    return max(texts, key=lambda text: _ends(text, value)), value


def keeps_both_ends(logs: Logs) -> Fault | None:
    """A result that is too long keeps its start and its end."""
    for name in ("long text", "wide dict"):
        log = logs[name]
        limit = log.facts["limit"]
        found = _cut_text(log)
        if isinstance(found, Fault):
            return found
        text, cut = found
        start, end = _ends(text, cut)
        if len(cut) > limit + NOTE_CHARS:
            return Fault(f"{len(text)} characters became {len(cut)}, with max_chars={limit}")
        if start < limit // 5 or end < limit // 5:
            lost = "start" if start < limit // 5 else "end"
            return Fault(
                f"of {len(text)} characters the first {start} and the last {end} are kept, with "
                f"max_chars={limit}",
                f"The {lost} is nearly gone. Half of the room for each end: `text[:half]` and "
                "`text[-half:]`.",
            )
    return None


def says_how_much(logs: Logs) -> Fault | None:
    """The note in the middle says how many characters are left out."""
    for name in ("long text", "one too long"):
        log = logs[name]
        found = _cut_text(log)
        if isinstance(found, Fault):
            return found
        text, cut = found
        start, end = _ends(text, cut)
        left_out = len(text) - start - end
        numbers = [int(digits.replace(",", "")) for digits in re.findall(r"\d[\d,]*", cut)]
        if not numbers:
            return Fault(
                f"{left_out} characters are left out; between the two ends stands "
                f"{shortened(json_text(cut[start : len(cut) - end]))}"
            )
        # A sign of the note may be the same as the one that stood there.
        if all(abs(number - left_out) > 3 for number in numbers):
            return Fault(
                f"{left_out} characters are left out; the note says {numbers[0]}",
                "Left out is what is neither in the first nor in the last part: the whole length less both.",
            )
    return None


# --- compact


def _compacted(log: Log) -> list[Any] | Fault:
    fault = crash(log)
    if fault is not None:
        return fault
    value = _value(log)
    if not isinstance(value, list):
        return Fault(f"compact gave {shortened(json_text(value))}, which is no list")
    return value


def leaves_short_histories(logs: Logs) -> Fault | None:
    """With no old steps nothing changes; with one there is something to summarise."""
    for name in ("nothing old", "only the goal"):
        log = logs[name]
        value = _compacted(log)
        if isinstance(value, Fault):
            return value
        steps = log.facts["steps"][1]
        if log.calls:
            return Fault(
                f"the history has {steps} steps and keep_steps={steps}; summarise was called all the same",
                "With no old steps there is nothing to summarise. Which condition says so?",
            )
        if value != log.facts["history"]:
            return Fault(
                f"the history has {steps} steps and keep_steps={steps}; it came back as {sketch(value)}"
            )
    log = logs["one old step"]
    value = _compacted(log)
    if isinstance(value, Fault):
        return value
    if not log.calls:
        steps = sum(log.facts["steps"])
        return Fault(
            f"the history has {steps} steps and keep_steps={steps - 1}; summarise was not called",
            "One step more than keep_steps is one old step.",
        )
    return None


def _kept_right(log: Log) -> Fault | None:
    value = _compacted(log)
    if isinstance(value, Fault):
        return value
    old_steps, kept_steps = log.facts["steps"]
    what = f"{old_steps + kept_steps} steps, keep_steps={kept_steps}"
    goal, kept = log.facts["goal"], log.facts["kept"]
    if not value or value[0] != goal:
        return Fault(
            f"{what}: the first entry is {shortened(json_text(value[0] if value else None))}",
            "The goal stays first, word for word.",
        )
    if value[-len(kept) :] != kept:
        return Fault(
            f"{what}: what came back is {sketch(value)}; its end is not the last {kept_steps} steps as "
            "they were",
            "The last steps stay word for word. A step is a reply with all of its results.",
        )
    middle = value[1 : len(value) - len(kept)]
    if any(is_request(entry) or is_result(entry) for entry in middle):
        return Fault(
            f"{what}: what came back is {sketch(value)}; old entries are still there",
            "The summary stands in place of all old entries. A step is a reply with all of its results.",
        )
    return None


def keeps_the_last_steps(logs: Logs) -> Fault | None:
    """Goal, summary, last steps; nothing else, and the history that was given stays as it was."""
    log = logs["old steps"]
    fault = _kept_right(log)
    if fault is not None:
        return fault
    if log.outcome.get("changed"):
        return Fault(
            "the history that was given is not as it was before",
            "The loop still needs its full history. Make a new list.",
        )
    return None


def _summarised(log: Log) -> Fault | None:
    value = _compacted(log)
    if isinstance(value, Fault):
        return value
    if len(log.calls) != 1:
        return Fault(f"summarise was called {len(log.calls)} times; once, with all old entries, is enough")
    given = log.calls[0].args[0] if log.calls[0].args else None
    if not isinstance(given, list) or any(entry not in given for entry in log.facts["old"]):
        shown = sketch(given) if isinstance(given, list) else shortened(json_text(given))
        return Fault(
            f"summarise got {shown}; the old entries are {sketch(log.facts['old'])}",
            "What is taken out has to be in what summarise reads, or it is lost.",
        )
    if any(entry in given for entry in log.facts["kept"]):
        return Fault(f"summarise got {sketch(given)}, which holds entries that are kept word for word")
    middle = value[1 : len(value) - len(log.facts["kept"])]
    if not any(log.facts["summary"] in json.dumps(entry, ensure_ascii=False) for entry in middle):
        return Fault(
            f"what came back is {sketch(value)}; the words of the summary are not in it",
            "What summarise gives back goes into one entry behind the goal.",
        )
    entry = next(one for one in middle if log.facts["summary"] in json.dumps(one, ensure_ascii=False))
    if not isinstance(entry, dict) or not isinstance(entry.get("text"), str) or "role" not in entry:
        return Fault(
            f"the summary stands in {shortened(json_text(entry))}",
            'A summary is an entry like a note: `{"role": "user", "text": ...}`.',
        )
    return None


def puts_the_summary_in(logs: Logs) -> Fault | None:
    """The summary of all old entries, and of them alone, stands behind the goal."""
    return _summarised(logs["old steps"]) or _summarised(logs["one old step"])


def never_parts_a_step(logs: Logs) -> Fault | None:
    """A reply and all of its results are kept or summarised together."""
    for name in ("old batches", "a note inside"):
        log = logs[name]
        fault = _kept_right(log) or _summarised(log)
        if fault is not None:
            return Fault(
                f"with several requests in one reply: {fault.seen}",
                "Do not count entries. Find where each step begins: at an entry that is a reply.",
            )
    return None


EXERCISE = Exercise(
    name="ex07_keep_it_short",
    title="Keep it short",
    functions=("trim", "compact"),
    scenarios=scenarios,
    criteria=(
        Criterion(
            "fits",
            1,
            "trim leaves a result that fits as it is, and makes one that is too long shorter",
            (
                "How long is a result? And which one is too long: with `>`, or with `>=`?",
                "`text = result if isinstance(result, str) else json.dumps(result)`, then compare "
                "`len(text)`.",
            ),
            leaves_what_fits,
        ),
        Criterion(
            "fields",
            2,
            "trim picks the fields named in keep out of a dict",
            (
                "Which fields of a dict of a hundred does the next decision need?",
                "`{name: result[name] for name in keep if name in result}`, if the result is a dict and "
                "keep is given.",
            ),
            picks_fields,
            ("fits",),
        ),
        Criterion(
            "both_ends",
            2,
            "trim keeps both ends of what is too long, within max_chars (a short note beside them is free)",
            (
                "Errors often stand at the end of a text, headings at its start. Which part can go?",
                "`half = max_chars // 2`; then the first half, a note, and the last half.",
            ),
            keeps_both_ends,
            ("fits",),
        ),
        Criterion(
            "says_how_much",
            1,
            "trim says between the two ends how many characters are left out",
            (
                "How does the model know that something is missing, and how much?",
                'f"... {len(text) - 2 * half} characters left out ..." between the two ends.',
            ),
            says_how_much,
            ("fits", "both_ends"),
        ),
        Criterion(
            "nothing_old",
            1,
            "compact leaves a history of at most keep_steps steps as it is, without calling summarise",
            (
                "How many steps does a history have? What is one step?",
                "Note the places of all entries that are replies; if there are at most keep_steps, "
                "return the history.",
            ),
            leaves_short_histories,
        ),
        Criterion(
            "last_steps",
            1,
            "compact keeps the goal and the last keep_steps steps word for word, and no older entries",
            (
                "Where do the last steps begin?",
                "`begin = places[-keep_steps]`; `history[begin:]` is what stays, `history[1:begin]` is old.",
            ),
            keeps_the_last_steps,
            ("nothing_old",),
        ),
        Criterion(
            "summary",
            1,
            "compact puts one summary of all old entries behind the goal",
            (
                "What does summarise need, and where does its text go?",
                '`{"role": "user", "text": summarise(old)}` between the goal and the steps that stay.',
            ),
            puts_the_summary_in,
            ("nothing_old", "last_steps"),
        ),
        Criterion(
            "whole_steps",
            1,
            "compact never parts a request from its results, also when a reply makes several requests",
            (
                "Is every step two entries long?",
                "A step begins at a reply (its type is `tool` or `tools`) and ends before the next one.",
            ),
            never_parts_a_step,
            ("nothing_old", "last_steps", "summary"),
        ),
    ),
)
