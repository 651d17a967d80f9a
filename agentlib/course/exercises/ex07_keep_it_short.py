"""ex07: keep it short. `trim` makes one result shorter, `compact` replaces old steps by a summary."""

import json
import re
from dataclasses import dataclass, replace
from itertools import takewhile
from random import Random
from typing import Any

from agentlib.course.checking.evidence import crash, is_request, is_result, shortened, shown, what_came_back
from agentlib.course.checking.fake_data import THINGS, World
from agentlib.course.checking.spec import Criterion, Exercise, Fault, Log, Logs, Scenario, each, in_turn
from agentlib.messages import Entry, answer, ask_together, json_text, user
from agentlib.views.describe import sketch

__all__ = ["EXERCISE"]

NOTE_CHARS = 80
"""A note about what is left out has at most so many characters; with less room it may be missing."""

LITTLE = (2, 3, 11, *range(25, 46), 60)
"""Limits about as large as a note is: at one of them exactly nothing is left for the ends."""


def words(world: World, chars: int) -> str:
    """A text without digits of so many characters; its ends are no spaces."""
    text = " ".join(world.rng.choice(THINGS) for _ in range(chars // 4))
    return text[: chars - 1].replace(" ", "_") + "x"


LETTERS = "ÆÐØÞŒŁ"
"""No note is written with these, so that each letter is either the text's or the note's."""


def odd_letters(world: World, chars: int) -> str:
    """A text of so many characters, each of which can be told from a note's, and one half from the other."""
    letters = (LETTERS if place < chars // 2 else LETTERS.lower() for place in range(chars))
    return "".join(world.rng.choice(some) for some in letters)


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


def an_answer(world: World, then: bool = False) -> list[Entry]:
    """An answer; then: with the user's next question behind it."""
    return [{"role": "model", **answer(world.answer())}, *([user(world.goal())] if then else [])]


def compacting(
    world: World, old: list[list[Entry]], kept: list[list[Entry]], keep_steps: int | None = None
) -> Scenario:
    """A history of old steps and of the steps that are to be kept. keep_steps: None = just those."""
    goal = user(world.goal())
    summary = f"Seen so far: {' '.join(world.answer() for _ in range(12))}"
    history = [goal, *(entry for step in old + kept for entry in step)]
    facts = {
        "goal": goal,
        "old": [entry for step in old for entry in step],
        "kept": [entry for step in kept for entry in step],
        "summary": summary,
        "steps": (len(old), len(kept)),
        "history": history,
        "keep_steps": len(kept) if keep_steps is None else keep_steps,
    }
    return Scenario(
        "compact",
        (history, facts["keep_steps"], lambda entries: summary),
        max_calls={"argument 3": 20},
        facts=facts,
    )


FITS_WHEN_PICKED = "wide dict, picked fits"


def scenarios(rng: Random) -> dict[str, Scenario]:
    """The scenarios of one check."""
    world = World(rng)
    limit = 2 * rng.randrange(60, 100)
    odd_limit = limit - 1
    quotes = 15
    in_quotes = {"said": '"' * quotes}  # its JSON text has that many characters more than its Python text
    in_quotes["by"] = words(world, limit - len(str({**in_quotes, "by": ""})) - rng.randrange(3))
    long = words(world, limit * 3 + rng.randrange(50))
    exact, one_more = words(world, limit), words(world, limit + 1)
    fields: Entry = {
        f"{key}_{world.number()}": world.number() for key in ("row", "bay", "size", "kind", "site")
    }
    fields[f"spare_{world.number()}"] = 0
    names = list(fields)
    picked = [names[3], names[-1], names[1]]
    wide = {**fields, "text": long}
    k = rng.randrange(3, 5)  # with 2, the last 2 entries would be the last step

    def trim(result: Any, max_chars: int, **kwargs: Any) -> Scenario:
        return Scenario(
            "trim", (result, max_chars), kwargs, facts={"result": result, "limit": max_chars, **kwargs}
        )

    def steps(count: int) -> list[list[Entry]]:
        return [a_step(world) for _ in range(count)]

    return {
        "short text": trim(f" {words(world, limit // 3)}  {words(world, limit // 8)}\n\n\tx ", limit),
        "short dict": trim({"a": world.number(), "b": [1, 2]}, limit),
        "short list": trim([world.number(), "b", None, False, 0, 1.5], limit),
        "exactly as long, other letters": trim(odd_letters(world, limit), limit),
        "short number": trim(world.number(), limit),
        "exactly as long": trim(exact, limit),
        "one too long": trim(one_more, limit),
        "long text": trim(odd_letters(world, limit * 3 + rng.randrange(50)), limit),
        "long text, odd limit": trim(odd_letters(world, limit * 3 + rng.randrange(50)), odd_limit),
        "one too long, odd limit": trim(odd_letters(world, limit), odd_limit),
        "fields": trim(fields, 10_000, keep=picked),
        "no fields named": trim(fields, 10_000),
        "a field that is not there": trim(fields, 10_000, keep=[*picked, "no_such_field"]),
        "only fields that are not there": trim(fields, 10_000, keep=["no_such_field"]),
        "text with fields named": trim(json.dumps(fields), 10_000, keep=picked),
        "list with fields named": trim([fields, {**fields, "b": 1}], 10_000, keep=picked),
        "dict with quotes": trim(in_quotes, limit),
        **{f"max_chars={few}": trim(odd_letters(world, limit * 3), few) for few in LITTLE},
        "dict, max_chars=20": trim(wide, 20),
        "wide dict": trim(wide, limit),
        "long list": trim([world.things() for _ in range(limit)], limit),
        "dict of one long field": trim({"text": long}, limit),
        "picked and too long": trim(wide, limit, keep=["text", names[0]]),
        FITS_WHEN_PICKED: trim(wide, limit, keep=picked),
        "wide dict with fields named": trim(wide, 10_000, keep=picked),
        "nothing old": compacting(world, [], steps(k)),
        "only the goal": compacting(world, [], [], k),
        "one step to spare": compacting(world, [], steps(k), k + 1),
        "an answer at the end": compacting(world, [], [*steps(k - 1), [*a_step(world), *an_answer(world)]]),
        "answers inside": compacting(
            world,
            [*steps(1), [*a_step(world), *an_answer(world, then=True)]],
            [[*a_step(world), *an_answer(world, then=True)], [*a_step(world), *an_answer(world)]],
        ),
        "old steps": compacting(world, steps(rng.randrange(3, 5)), steps(k)),
        "one old step": compacting(world, steps(1), steps(k)),
        "one step kept of two": compacting(world, steps(1), steps(1)),
        # As after a first `compact`: what stands before the first step is old, and goes with it.
        "an earlier summary": compacting(world, [[user(f"Summary: {world.answer()}")], *steps(2)], steps(k)),
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
    ways: list[dict[str, Any]] = [{}, {"indent": 2}, {"separators": (",", ":")}, {"sort_keys": True}]
    return [json.dumps(value, ensure_ascii=plain, **way) for way in ways for plain in (True, False)]


AS_IT_IS = (
    "What fits comes back as it is: a dict stays a dict. Which value do you return, `result` or its text?"
)


def _came_back_whole(log: Log) -> Fault | None:
    result, value = log.facts["result"], _value(log)
    fault = crash(log)
    if fault is not None and "raised" in log.outcome:
        return Fault(
            f"given the result {shown(result)}: {fault.seen}",
            "A result may be a text, a number, a list or a dict. Which of them can your line work with?",
        )
    if fault is not None:
        return fault
    if value == result:
        return None
    size = len(_as_texts(result)[0])
    seen = f"a result of {size} characters came back as "
    if value in [*_as_texts(result), str(result)]:
        return Fault(f"{seen}the text {shown(value)}; it was {shown(result)}", AS_IT_IS)
    return Fault(
        f"{seen}{shown(value)}, with max_chars={log.facts['limit']}",
        "A result that fits is not touched. Exactly max_chars characters still fit.",
    )


def _came_back_shorter(log: Log) -> Fault | None:
    if fault := crash(log):
        return fault
    if _value(log) != log.facts["result"]:
        return None
    size, limit = len(log.facts["result"]), log.facts["limit"]
    return Fault(
        f"a text of {size} characters came back as it was, with max_chars={limit}",
        "From max_chars + 1 characters on a result is too long.",
    )


def _picks_fields(logs: Logs) -> Fault | None:
    fits = "a field that is not there", "only fields that are not there", "wide dict with fields named"
    for name in ("fields", *fits, FITS_WHEN_PICKED):
        log = logs[name]
        what = f"keep={json_text(log.facts['keep'])}"
        if fault := crash(log):
            return Fault(
                f"{what}: {fault.seen}", "A name in `keep` that the dict does not have is passed over."
            )
        if fault := _picked(log, logs[FITS_WHEN_PICKED]):
            return Fault(f"{what} {fault.seen}", fault.hint, name)
    return None


def _cut_when_picked(logs: Logs) -> Fault | None:
    log = logs["picked and too long"]
    never_cut = not isinstance(_value(logs["wide dict"]), str)  # that is told where both ends are looked at
    if crash(log) is not None or isinstance(_value(log), str) or never_cut:
        return None
    size = len(json.dumps(_picked_fields(log)))
    return Fault(
        f"what keep={json_text(log.facts['keep'])} names is {size} characters long, with "
        f"max_chars={log.facts['limit']}; it came back as {what_came_back(log)}",
        "What was picked may still be too long. First pick, then look at the length.",
    )


def _picked_fields(log: Log) -> Entry:
    return {key: log.facts["result"][key] for key in log.facts["keep"] if key in log.facts["result"]}


def _picked(log: Log, too_long: Log) -> Fault | None:
    """The fields that `keep` names must come back, in a new dict. too_long: a dict that has to be shorter."""
    expected, value = _picked_fields(log), _value(log)
    gave = f"gave {shown(value)}"
    if value == expected:
        return None
    if isinstance(value, str) and value in [*_as_texts(expected), str(expected)]:
        return Fault(f"gave the text {shown(value)}, not a dict", AS_IT_IS)
    if value == log.facts["result"] and _value(too_long) in (
        _picked_fields(too_long),
        *_as_texts(_picked_fields(too_long)),
    ):
        return Fault(
            f"{gave}, the whole dict, which fits",
            "`keep` picks also where the whole dict would fit. First pick, then look at the length.",
        )
    return Fault(gave)


def _ends(text: str, cut: str) -> tuple[int, int]:
    """How many characters of the start and of the end are kept."""
    start = next(
        (i for i, (a, b) in enumerate(zip(text, cut, strict=False)) if a != b), min(len(text), len(cut))
    )
    back = zip(reversed(text), reversed(cut), strict=False)
    end = next((i for i, (a, b) in enumerate(back) if a != b), min(len(text), len(cut)))
    return start, min(end, len(cut) - start)


@dataclass(frozen=True)
class Cut:
    """What was kept of a text.

    start, end: characters of the text's start and end. between: what stands between them.
    outside: what stands before both, or behind both.
    """

    text: str
    got: str
    start: int
    end: int
    between: str
    outside: tuple[str, str]


def _cut(log: Log) -> Cut | Fault:
    """The text as it was, and what came back of it."""
    if fault := crash(log):
        return fault
    result, got = log.facts["result"], _value(log)
    if not isinstance(got, str):
        return Fault(
            f"a result that is too long came back as {shown(got)}, which is no text",
            "What is cut comes back as text; a dict is written as text first, with `json.dumps`.",
        )
    text = max(_as_texts(result), key=lambda text: sum(_ends(text, got)))
    if sum(_ends(str(result), got)) > sum(_ends(text, got)):
        return Fault(
            f"a dict came back as {shortened(got)}, which is not the start of its JSON text",
            "`str` writes a dict as Python does, with single quotes. Which function writes JSON?",
        )
    limit = log.facts["limit"]
    probe = 1 if limit <= NOTE_CHARS else limit // 8
    first, last = got.find(text[:probe]), got.rfind(text[-probe:])
    before = first if 0 < first <= NOTE_CHARS else 0
    behind = len(got) - last - probe if last >= 0 else 0
    behind = behind if behind <= NOTE_CHARS else 0
    body = got[before : len(got) - behind]
    start, end = _ends(text, body)
    return Cut(text, got, start, end, body[start : len(body) - end], (got[:before], got[len(got) - behind :]))


ONE_ROOM = (
    "max_chars is the room for all that comes back: both ends and the note between them. Take the note's "
    "length "
    "off first, then halve what is left."
)
NO_ROOM = (
    "In so little room the note does not fit, and then both ends stand alone. What are `half` and "
    "`text[-half:]` where the room for them is 0 or less?"
)


def _keeps_both_ends(log: Log) -> Fault | None:
    limit = log.facts["limit"]
    cut = _cut(log)
    if isinstance(cut, Fault):
        return cut
    size, start, end = len(cut.text), cut.start, cut.end
    little = limit <= NOTE_CHARS
    if len(cut.got) > limit:
        return Fault(
            f"{size} characters became {len(cut.got)}, with max_chars={limit}",
            NO_ROOM if little else ONE_ROOM,
        )
    kept = f"of {size} characters the first {start} and the last {end} are kept, with max_chars={limit}"
    least = max(1, (limit - NOTE_CHARS) // 5)
    if start < least or end < least:
        lost = "start" if start < least else "end"
        return Fault(
            kept,
            NO_ROOM
            if little
            else f"The {lost} is nearly gone. Half of the room for each end: `text[:half]`, `text[-half:]`.",
        )
    if little and not cut.between and not any(cut.outside) and start + end < limit - 1:
        return Fault(f"{kept}, and nothing else", NO_ROOM)
    return None


def _measured_as_json(logs: Logs) -> Fault | None:
    log = logs["dict with quotes"]
    never_cut = not isinstance(_value(logs["dict of one long field"]), str)
    if "raised" in log.outcome or isinstance(_value(log), str) or never_cut:
        return None
    result, limit = log.facts["result"], log.facts["limit"]
    return Fault(
        f"a dict came back as it was, with max_chars={limit}; its JSON text has {len(json.dumps(result))} "
        f"characters, and str of it {len(str(result))}",
        "How long is a dict? As long as its JSON text, `json.dumps(result)`: that is what the model reads.",
    )


def _says_how_much(log: Log) -> Fault | None:
    cut = _cut(log)
    if isinstance(cut, Fault):
        return cut
    left_out = len(cut.text) - cut.start - cut.end
    numbers = _numbers(cut.between)
    for side, place in zip(cut.outside, ("before", "behind"), strict=True):
        if _numbers(side) and not numbers:
            return Fault(
                f"the note {shown(side)} stands {place} both ends, not between them",
                "The note stands where the gap is: the first half, the note, the last half.",
            )
    seen = f"{left_out} characters are left out, with max_chars={log.facts['limit']}"
    if not numbers:
        return Fault(f"{seen}; between the two ends stands {shown(cut.between)}")
    # A character of the note may be the same as the one that stood there, but not where the letters are odd.
    slack = 0 if isinstance(log.facts["result"], str) else 3
    if any(abs(number - left_out) <= slack for number in numbers):
        return None
    odd = " What is that where max_chars is odd?" if abs(numbers[0] - left_out) == 1 else ""
    return Fault(
        f"{seen}; the note says {numbers[0]}",
        "Left out is what is neither in the first nor in the last part: the whole length less both." + odd,
    )


def _numbers(text: str) -> list[int]:
    return [int(re.sub(r"\D", "", digits)) for digits in re.findall(r"\d[\d,_]*", text)]


ONLY_A_DICT = "Only a dict has fields to pick from."

# --- compact


def _compacted(log: Log) -> list[Any] | Fault:
    if fault := crash(log):
        if log.outcome.get("raised", {}).get("type") == "KeyError":
            return replace(
                fault,
                hint='Not every entry has a "type" or a "tool": a result and a note have other keys. '
                '`entry.get("type")` gives None where there is none.',
            )
        return fault
    value = _value(log)
    if not isinstance(value, list):
        return Fault(f"compact gave {shown(value)}, which is no list")
    return value


def leaves_short_histories(logs: Logs) -> Fault | None:
    """With no old steps nothing changes; with one there is something to summarise."""
    for name in ("nothing old", "only the goal", "one step to spare"):
        log = logs[name]
        value = _compacted(log)
        if isinstance(value, Fault):
            return value
        steps, keep = log.facts["steps"][1], log.facts["keep_steps"]
        what = f"the history has {steps} steps, in {len(log.facts['history'])} entries, and keep_steps={keep}"
        if log.calls:
            return Fault(f"{what}; summarise was called all the same", _why_called(name, logs), name)
        if value != log.facts["history"]:
            return Fault(f"{what}; it came back as {sketch(value)}")
    for name in ("one old step", "one step kept of two"):
        log = logs[name]
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


def _why_called(name: str, logs: Logs) -> str:
    if _value(logs[name]) == logs[name].facts["history"]:
        return "What came back was right. Is `summarise` called before you know whether anything is old?"
    spare = logs["one step to spare"]
    if name == "nothing old" and not spare.calls and _value(spare) == spare.facts["history"]:
        return "Exactly keep_steps steps are not too many. With `<`, or with `<=`?"
    if name == "nothing old" and not logs["only the goal"].calls:
        return "Do you count entries? A step is more than one entry: a reply with all of its results."
    return "With no old steps there is nothing to summarise. Which condition says so?"


def _kept_right(log: Log) -> Fault | None:
    value = _compacted(log)
    if isinstance(value, Fault):
        return value
    old_steps, kept_steps = log.facts["steps"]
    what = f"{old_steps + kept_steps} steps, keep_steps={kept_steps}"
    goal, kept = log.facts["goal"], log.facts["kept"]
    if not value or value[0] != goal:
        return Fault(
            f"{what}: the first entry is {shown(value[0] if value else None)}",
            "The goal stays first, word for word.",
        )
    if value[-len(kept) :] != kept:
        same = _same_at_the_end(log.facts["history"], value)
        if same == kept_steps < len(kept):
            return Fault(
                f"{what}: what came back is {sketch(value)}; its end is the last {kept_steps} entries",
                "Do you count entries? A step is more than one entry: a reply with all of its results.",
            )
        return Fault(
            f"{what}: what came back is {sketch(value)}; its end is not the last {kept_steps} steps as they "
            "were",
            "The last steps stay word for word. A step is a reply with all of its results.",
        )
    middle = value[1 : len(value) - len(kept)]
    if any(is_request(entry) or is_result(entry) for entry in middle):
        return Fault(
            f"{what}: what came back is {sketch(value)}; old entries are still there",
            "The summary stands in place of all old entries. A step is a reply with all of its results.",
        )
    return None


def _same_at_the_end(history: list[Any], value: list[Any]) -> int:
    """How many entries at the end of the two are the same."""
    pairs = zip(reversed(history), reversed(value), strict=False)
    return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))


def _summarised(log: Log) -> Fault | None:
    value = _compacted(log)
    if isinstance(value, Fault):
        return value
    if len(log.calls) != 1:
        return Fault(f"summarise was called {len(log.calls)} times; once, with all old entries, is enough")
    given = log.calls[0].args[0] if log.calls[0].args else None
    if not isinstance(given, list) or any(entry not in given for entry in log.facts["old"]):
        got = sketch(given) if isinstance(given, list) else shown(given)
        return Fault(
            f"summarise got {got}; the old entries are {sketch(log.facts['old'])}",
            "What is taken out has to be in what summarise reads, or it is lost.",
        )
    if any(entry in given for entry in log.facts["kept"]):
        return Fault(f"summarise got {sketch(given)}, which holds entries that are kept word for word")
    if log.facts["goal"] in given:
        return Fault(
            f"summarise got {sketch(given)}, with the goal in it",
            "The goal stays in the history word for word. Summarised is only what is taken out; it begins at "
            "`history[1]`.",
        )
    if given != log.facts["old"]:
        return Fault(
            f"summarise got {sketch(given)}; the old entries are {sketch(log.facts['old'])}",
            "Summarise gets the old entries as they are, each once and in order.",
        )
    middle = value[1 : len(value) - len(log.facts["kept"])]
    if not any(log.facts["summary"] in json.dumps(entry, ensure_ascii=False) for entry in middle):
        return Fault(
            f"what came back is {sketch(value)}; the words of the summary are not in it",
            "What summarise gives back goes into one entry behind the goal.",
        )
    entry = next(one for one in middle if log.facts["summary"] in json.dumps(one, ensure_ascii=False))
    if not isinstance(entry, dict) or not isinstance(entry.get("text"), str) or "role" not in entry:
        return Fault(
            f"the summary stands in {shown(entry)}",
            'A summary is an entry like a note: `{"role": "user", "text": ...}`.',
        )
    if entry["role"] != "user":
        return Fault(
            f"the summary has the role {json_text(entry['role'])}: {shown(entry)}",
            'The model did not say this; the loop did. Its own notes have the role "user", as the goal has.',
        )
    if len(middle) > 1:
        return Fault(
            f"between the goal and the steps that stay are {len(middle)} entries: {sketch(middle)}",
            "One entry stands in place of all that is taken out: the summary.",
        )
    return None


def _kept_and_summarised(log: Log) -> Fault | None:
    return _kept_right(log) or _summarised(log)


def _whole_batch(log: Log) -> Fault | None:
    fault = _kept_and_summarised(log)
    if fault is None:
        return None
    for kind, other in (("tool", "tools"), ("tools", "tool")):
        begins = [place for place, entry in enumerate(log.facts["history"]) if entry.get("type") == kind]
        kept, value = _kept_from(begins, log), _value(log)
        if isinstance(value, list) and kept == value[-len(kept) :]:
            return replace(
                fault,
                hint=f"It looks as if only replies of the type `{kind}` begin a step for your code. One of "
                f"the type `{other}` begins one too.",
            )
    return replace(
        fault, hint="Do not count entries. Find where each step begins: at an entry that is a reply."
    )


def _kept_from(begins: list[int], log: Log) -> list[Any]:
    """What would be kept if steps began at these places."""
    history: list[Any] = log.facts["history"]
    keep = log.facts["keep_steps"]
    return history[begins[-keep] :] if len(begins) >= keep else history


CHANGED = {
    ("fields", "wide dict with fields named"): (
        "the dict that was given",
        "That dict belongs to the caller. Put the fields that are named into a new one.",
    ),
    ("old steps", "old batches"): (
        "the history that was given",
        "The loop still needs its full history. Make a new list.",
    ),
}
"""Runs after which what was given must be as before: what it is, and a hint."""


def left_alone(logs: Logs) -> Fault | None:
    """What is given stays as it was. Only the learner's own process can say so."""
    for names, (what, hint) in CHANGED.items():
        for name in names:
            if logs[name].outcome.get("changed"):
                return Fault(f"{what} is not as it was before", hint, scenario=name)
    return None


NO_STEP = "An entry of the type `answer` is no step. A step begins at a reply of the type `tool` or `tools`."


def _answer_is_no_step(log: Log) -> Fault | None:
    steps = log.facts["keep_steps"]
    seen = f"the history has {steps} steps and then an answer, and keep_steps={steps}; summarise was called"
    return Fault(seen, NO_STEP) if log.calls else None


EXERCISE = Exercise(
    name="ex07_keep_it_short",
    title="Keep it short",
    lesson="05_what_each_step_costs",
    given_by=("05_what_each_step_costs",),
    difficulty=4,
    minutes=40,
    task="shorten results and old steps, and part nothing",
    lead_in="{lesson}: every step reads the whole history again. Its exercise is {exercise}.",
    functions=("trim", "compact"),
    scenarios=scenarios,
    criteria=(
        Criterion(
            "fits", 1, "trim leaves a result that fits as it is, and makes one that is too long shorter",
            nudge="How long is a result? And which one is too long: with `>`, or with `>=`?",
            hint=(
                "`text = result if isinstance(result, str) else json.dumps(result)`, then compare "
                "`len(text)`."
            ),
            judge=in_turn(
                each(
                    _came_back_whole,
                    "short text", "short dict", "short list", "short number", "exactly as long",
                    "exactly as long, other letters",
                ),
                each(_came_back_shorter, "long text", "one too long"),
                _measured_as_json,
            ),
            details=(
                "Exactly `max_chars` characters still fit. Where `keep` is given, it is what was picked that "
                "has to fit (Part 2). What is no text is as long as its JSON text."
            ),
        ),
        Criterion(
            "fields", 2, "trim picks the fields named in keep out of a dict",
            nudge="Which fields of a dict of a hundred does the next decision need?",
            hint=(
                "`{name: result[name] for name in keep if name in result}`, if the result is a dict and keep "
                "is given."
            ),
            judge=in_turn(
                _picks_fields,
                _cut_when_picked,
                each(
                    _came_back_whole, "no fields named",
                    before="without keep, ", hint="Without `keep` every field stays.",
                ),
                each(
                    _came_back_whole, "text with fields named",
                    before="keep was given and the result is a text: ", hint=ONLY_A_DICT,
                ),
                each(
                    _came_back_whole, "list with fields named",
                    before="keep was given and the result is a list: ", hint=ONLY_A_DICT,
                ),
            ),
            after=("fits",),
            details=(
                "A name that the dict does not have is passed over. A result that is no dict has no fields "
                "to pick: a list of dicts and a text stay whole. (`agentlib.memory.trim` picks from each "
                "dict of "
                "a list, too.)"
            ),
        ),
        Criterion(
            "both_ends", 2,
            "trim keeps both ends of what is too long, in max_chars characters at most, the note included",
            nudge="Errors often stand at the end of a text, headings at its start. Which part can go?",
            hint=(
                'With `note = f" ... {len(text)} characters left out ... "`, which is as long as it can get, '
                "`half = (max_chars - len(note)) // 2`. Where that is below 1, no note: "
                "`text[: max_chars // 2] + text[-(max_chars // 2) :]`."
            ),
            judge=each(
                _keeps_both_ends,
                "long text", "long text, odd limit", "wide dict", "long list", "dict of one long field",
                *(f"max_chars={few}" for few in reversed(LITTLE)),
                "dict, max_chars=20",
            ),
            after=("fits",),
            details=(
                "`max_chars` is any whole number from 2 up. Where it is too small for the note, both ends "
                "stand "
                "alone, about half of the room each."
            ),
        ),
        Criterion(
            "says_how_much", 1, "trim says between the two ends how many characters are left out",
            nudge="How does the model know that something is missing, and how much?",
            hint='`f" ... {len(text) - 2 * half} characters left out ... "` between the two ends.',
            judge=each(
                _says_how_much, "long text", "long text, odd limit", "one too long, odd limit", "wide dict"
            ),
            needs=("both_ends",),
            after=("fits",),
        ),
        Criterion(
            "nothing_old", 1,
            "compact leaves a history of at most keep_steps steps as it is, without calling summarise",
            nudge="How many steps does a history have? What is one step?",
            hint=(
                "Note the places of all entries with the type `tool` or `tools`; if there are at most "
                "keep_steps, return the history."
            ),
            judge=leaves_short_histories,
        ),
        Criterion(
            "last_steps", 1,
            "compact keeps the goal and the last keep_steps steps word for word, and no older entries",
            nudge="Where do the last steps begin?",
            hint="`begin = places[-keep_steps]`; `history[begin:]` is what stays, `history[1:begin]` is old.",
            judge=each(_kept_right, "old steps", "one step kept of two"),
            after=("nothing_old",),
        ),
        Criterion(
            "summary", 1, "compact puts one summary of all old entries behind the goal",
            nudge="What does summarise need, and where does its text go?",
            hint='`{"role": "user", "text": summarise(old)}` between the goal and the steps that stay.',
            judge=in_turn(
                each(_summarised, "old steps", "one old step"),
                each(
                    _kept_and_summarised,
                    "an earlier summary",
                    before="with an earlier summary behind the goal: ",
                    hint=(
                        "What stands between the goal and the steps that stay is old, an earlier summary "
                        "too."
                    ),
                ),
            ),
            after=("nothing_old", "last_steps"),
            details=(
                "`summarise` is called once, with a list of all old entries, without the goal; it gives back "
                "a text. What stands between the goal and the first step is old too: a summary from before, "
                "for example."
            ),
        ),
        Criterion(
            "whole_steps", 1, "compact parts no step: a reply and all of its results stay together",
            nudge="Is every step two entries long?",
            hint="A step begins at a reply whose type is `tool` or `tools`, and ends before the next one.",
            judge=in_turn(
                each(
                    _whole_batch, "old batches", "a note inside",
                    before="with several requests in one reply: ",
                ),
                each(_answer_is_no_step, "an answer at the end"),
                each(_kept_right, "answers inside", before="with answers in the history: ", hint=NO_STEP),
            ),
            after=("nothing_old", "last_steps", "summary"),
            details=(
                "A reply may have made several requests, and there may be a note or an answer between two "
                "steps."
            ),
        ),
        Criterion(
            "left_alone", 0, "both leave what they are given as it was, and make something new",
            nudge="Who else holds the dict, or the list, that you were given?",
            hint="No `del`, no `pop`, no `history[:] = ...`: build a new dict and a new list.",
            judge=left_alone,
            after=("fits", "nothing_old"),
            details=(
                "No points, for only your own computer can tell; the check shows it all the same."
            ),
        ),
    ),
)  # fmt: skip
