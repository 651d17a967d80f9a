"""Research: a small loop with a contract of its own, and a note that is answered for and yet not there.

`run_research` stands beside `run_agent`: one read-only search, no history of messages but a list of turns,
and a failing search that reaches the caller. What must come out of its four cases with `max_calls=4`:
an immediate answer makes 0 searches; a search then an answer makes 1; an endless search is stopped after 4
model calls as "limit_reached", with the evidence of 4 searches; a failed search raises in the caller.

The second half is for `agentlib.run_agent`: five runs that all end as "answered". `evidence` climbs the
ladder for each: the model says done, the tool said success, the note exists and is right, its sources
support it. They get as far as rung 1, 2, 2, 3 and 4.
"""

import copy
import re
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict

from agentlib._json import whole_number
from agentlib._run import Run
from agentlib.loop import run_agent
from agentlib.messages import Entry, ModelFunction, answer, ask, describe, exchanges
from agentlib.models import ScriptedModel
from agentlib.stops import ANSWERED

__all__ = [
    "CASES",
    "GOAL",
    "GOOD_NOTE",
    "LADDER",
    "NOTE_NAME",
    "PASSAGES",
    "RUNGS",
    "Attempt",
    "CaseEnd",
    "Decision",
    "Evidence",
    "Outcome",
    "Tried",
    "Turn",
    "answers_at_once",
    "broken_search",
    "evidence",
    "in_course_words",
    "note_tools",
    "run_research",
    "rungs_climbed",
    "search",
    "searches_for_ever",
    "searches_then_answers",
    "tries_other_words",
]

GOAL = "How should a failed tool call be tried again? Save a note of three sentences, each with its source."


# --- the loop ---------------------------------------------------------------------------------------


class Decision(TypedDict):
    """What the model decides: an answer with its text, or one search with the call's id and the query."""

    kind: Literal["answer", "search"]
    text: NotRequired[str]
    call_id: NotRequired[str]
    query: NotRequired[str]


class Turn(TypedDict):
    """One search: the decision that asked for it, and what was found."""

    decision: Decision
    observation: str


class Outcome(TypedDict):
    """What came of the research. text: the answer; "" when the limit was reached, never made up."""

    status: Literal["answered", "limit_reached"]
    text: str
    history: list[Turn]


ResearchModel = Callable[[Any], Any]
Search = Callable[[str], str]


def run_research(model: ResearchModel, search: Search, max_calls: int = 4) -> Outcome:
    """Let a model search until it answers, in at most `max_calls` model calls.

    model(turns) -> decision: knows its task already, so it gets the turns alone, none at the first call.
    search(query) -> what was found. What it raises reaches the caller; so does what the model raises.
    Raises ValueError before any call if `max_calls` is not a whole number from 1 up, and later for a
    search whose query or call id is blank, or a decision of another shape.
    """
    whole_number("max_calls", max_calls)
    history: list[Turn] = []
    for _ in range(max_calls):
        decision = _read_decision(model(copy.deepcopy(history)))
        if decision["kind"] == "answer":
            return {"status": "answered", "text": decision["text"], "history": history}
        observation = search(decision["query"])
        history.append({"decision": decision, "observation": observation})
    return {"status": "limit_reached", "text": "", "history": history}


def _read_decision(decision: Any) -> Decision:
    wanted = {"answer": ("text",), "search": ("query", "call_id")}
    kind = decision.get("kind") if isinstance(decision, dict) else None
    if kind not in wanted:
        raise ValueError(f'A decision has the kind "answer" or "search", but {describe(decision)} came.')
    for name in wanted[kind]:
        value = decision.get(name)
        if not isinstance(value, str):
            raise ValueError(f'"{name}" of a decision is text, but was {describe(value)}.')
        if kind == "search" and not value.strip():
            raise ValueError(f'A search needs a "{name}" that is not blank.')
    read: Decision = copy.deepcopy(decision)
    return read


# --- what can be found ------------------------------------------------------------------------------

PASSAGES = {
    "retry-limit": "Try a failed call again at most three times. A wrong key stays wrong: such a call is not "
    "tried again at all.",
    "retry-wait": "Wait one second before the second try, and double the wait before each new try. A random "
    "part keeps a hundred programs from coming back at one moment.",
    "retry-safe": "Only try again what may safely run twice. A payment carries a number of its own, so that "
    "two tries pay once.",
    "time-limit": "A call that takes longer than its limit is given up. The work that it began elsewhere may "
    "go on all the same.",
    "cups": "The blue cups stand on the left shelf in the kitchen.",
}
"""A handbook of five passages, written for this lab."""


def search(query: str) -> str:
    """Find the passage of the handbook that has most words in common with the query."""
    asked = _words(query)
    found = {name: len(asked & _words(f"{name} {text}")) for name, text in PASSAGES.items()}
    best = max(found, key=found.__getitem__)
    if found[best] == 0:
        return f'Nothing found for "{query}". Try other words.'
    return f"[{best}] {PASSAGES[best]}"


def broken_search(query: str) -> str:
    """Fail, as a search does whose service is down."""
    raise ConnectionError(f'The search for "{query}" failed: the service does not answer.')


def _words(text: str) -> set[str]:
    """Give the words that say something: four letters and more, and numbers."""
    return set(re.findall(r"[a-z]{4,}|\d+", text.lower()))


# --- models for run_research ------------------------------------------------------------------------


def answers_at_once() -> ScriptedModel:
    """Make a model that answers from what it knows already."""
    return ScriptedModel([{"kind": "answer", "text": "At most three times, I believe."}])


def searches_then_answers() -> ResearchModel:
    """Make a model that searches once and answers with what was found."""

    def model(history: list[Turn]) -> Decision:
        if not history:
            return {"kind": "search", "call_id": "call_1", "query": "how often is a failed call tried again"}
        return {"kind": "answer", "text": f"The handbook says: {history[-1]['observation']}"}

    return model


def tries_other_words() -> ResearchModel:
    """Make a model that searches with other words when nothing was found."""
    queries = ("idempotency", "safely run twice")

    def model(history: list[Turn]) -> Decision:
        if history and not history[-1]["observation"].startswith("Nothing found"):
            return {"kind": "answer", "text": f"The handbook says: {history[-1]['observation']}"}
        number = len(history)
        return {"kind": "search", "call_id": f"call_{number + 1}", "query": queries[number]}

    return model


def searches_for_ever() -> ResearchModel:
    """Make a model that always wants to read one passage more; its fourth search finds nothing new."""
    queries = ("failed call", "wait before each try", "safely twice", "limit of a call")

    def model(history: list[Turn]) -> Decision:
        number = len(history)
        query = queries[number % len(queries)]
        return {"kind": "search", "call_id": f"call_{number + 1}", "query": query}

    return model


CASES: dict[str, tuple[Callable[[], ResearchModel], Search]] = {
    "immediate answer": (answers_at_once, search),
    "search, then answer": (searches_then_answers, search),
    "endless search": (searches_for_ever, search),
    "failed search": (searches_then_answers, broken_search),
}
"""The four cases: a function that makes a fresh model, and the search."""


def in_course_words(model: ResearchModel) -> ModelFunction:
    """Let a research model drive a loop of the course, which has requests and results and no turns."""

    def asked(history: list[Entry]) -> Entry:
        turns = [
            {
                "decision": {"kind": "search", "call_id": one.id, "query": one.input["query"]},
                "observation": one.result,
            }
            for one in exchanges(history)
        ]
        decision = model(turns)
        if decision["kind"] == "answer":
            return answer(decision["text"])
        return {**ask("search", query=decision["query"]), "id": decision["call_id"]}

    return asked


class CaseEnd(NamedTuple):
    """How one of the four cases ended. stopped: the reason, or the error that reached the caller."""

    stopped: str
    answer: str | None
    results: list[Any]


def try_cases(loop: Callable[..., Entry]) -> dict[str, CaseEnd]:
    """Run the four cases with a loop of the course, `loop(model, search, goal)`, which gives a dict."""
    ends = {}
    for name, (make_model, look) in CASES.items():
        try:
            run = loop(in_course_words(make_model()), look, GOAL)
        except ConnectionError as problem:
            ends[name] = CaseEnd(f"{type(problem).__name__}: {problem}", None, [])
        else:
            results = [entry["result"] for entry in run["history"] if "result" in entry]
            ends[name] = CaseEnd(run["stopped"], run["answer"], results)
    return ends


# --- the note, for run_agent ------------------------------------------------------------------------

NOTE_NAME = "retries.txt"

GOOD_NOTE = (
    "Try a failed call again at most three times [retry-limit]. "
    "Double the wait before each new try [retry-wait]. "
    "Only try again what may safely run twice [retry-safe]."
)
BAD_NOTE = GOOD_NOTE.replace("three times", "twenty times")
SHORT_NOTE = GOOD_NOTE[:59]


def note_tools(folder: str | Path, *, honest: bool = True) -> dict[str, Callable[..., str]]:
    """Make the tools `search` and `save_note`.

    folder: where notes are saved. honest: False = `save_note` says "Saved" and saves nothing, as a tool does
    that hands its text to a queue which nobody empties.
    """
    place = Path(folder)

    def save_note(name: str, text: str) -> str:
        """Save a note under a name."""
        if honest:
            (place / Path(name).name).write_text(text, encoding="utf-8")
        return f"Saved {name} with {len(text)} characters."

    return {"search": search, "save_note": save_note}


_SEARCHES = (
    ask("search", query="how often is a failed call tried again"),
    ask("search", query="wait before each new try"),
    ask("search", query="safely run twice"),
)
_DONE = answer("Done. The note is saved.")


class Attempt(NamedTuple):
    """A run to judge: a function that makes its model, and whether its tool is honest."""

    model: Callable[[], ScriptedModel]
    honest: bool


def _saving(text: str) -> Callable[[], ScriptedModel]:
    return lambda: ScriptedModel([*_SEARCHES, ask("save_note", name=NOTE_NAME, text=text), _DONE])


LADDER = {
    "the model says done and has saved nothing": Attempt(
        lambda: ScriptedModel([*_SEARCHES, _DONE]), honest=True
    ),
    "the tool says saved and has saved nothing": Attempt(_saving(GOOD_NOTE), honest=False),
    "the note is there and ends after one sentence": Attempt(_saving(SHORT_NOTE), honest=True),
    "the note is whole and says what no source says": Attempt(_saving(BAD_NOTE), honest=True),
    "the note is whole and its sources support it": Attempt(_saving(GOOD_NOTE), honest=True),
}
"""Five runs that end as "answered", each one rung (or one fault) further up the ladder."""

RUNGS = (
    "the model says done",
    "the tool said success",
    "the note exists and is right",
    "the sources support it",
)


class Evidence(NamedTuple):
    """One rung. holds: there is this evidence. seen: what was looked at and found."""

    rung: str
    holds: bool
    seen: str


def rungs_climbed(ladder: list[Evidence]) -> int:
    """Count the rungs from the first up to the one that does not hold."""
    return next((number for number, rung in enumerate(ladder) if not rung.holds), len(ladder))


def evidence(run: Run, note: str | Path) -> list[Evidence]:
    """Climb the evidence ladder for a finished run; note: the file that should be there.

    A sentence counts as supported if each of its words of four letters and more, and each number, stands in
    the passage that it names, and the run has really found that passage. That is a rule of thumb: it finds
    a changed number, not a changed meaning. Whether a source is right, no rung can tell.
    """
    done = exchanges(run.history)
    saved = [str(one.result) for one in done if one.tool == "save_note"]
    found = " ".join(str(one.result) for one in done if one.tool == "search")
    path = Path(note)
    text = path.read_text(encoding="utf-8-sig") if path.is_file() else None
    return [
        Evidence(RUNGS[0], run.stopped == ANSWERED, f"answer: {run.answer}"),
        Evidence(RUNGS[1], any(one.startswith("Saved") for one in saved), "; ".join(saved) or "never asked"),
        Evidence(RUNGS[2], *_is_right(text)),
        Evidence(RUNGS[3], *_is_supported(text, found)),
    ]


_SENTENCE = re.compile(r"\s*([^.\[\]]+) \[([\w-]+)\]\.")


def _is_right(text: str | None) -> tuple[bool, str]:
    if text is None:
        return False, "there is no such file"
    sentences = _SENTENCE.findall(text)
    whole = _SENTENCE.sub("", text).strip() == ""
    return len(sentences) == 3 and whole, f"{len(sentences)} of 3 sentences with a source"


def _is_supported(text: str | None, found: str) -> tuple[bool, str]:
    if text is None:
        return False, "there is nothing to support"
    sentences = _SENTENCE.findall(text)
    for sentence, source in sentences:
        if f"[{source}]" not in found:
            return False, f"[{source}] was never read"
        missing = sorted(_words(sentence) - _words(PASSAGES.get(source, "")))
        if missing:
            return False, f"[{source}] does not say: {', '.join(missing)}"
    return bool(sentences), f"{len(sentences)} sentences looked up"


class Tried(NamedTuple):
    """One run of the ladder. note: what stands in its file, None without one. rungs: how many it climbed."""

    run: Run
    note: str | None
    rungs: int


def try_ladder(folder: str | Path) -> dict[str, Tried]:
    """Run all of `LADDER`, each with a folder of its own in `folder`."""
    tried = {}
    for name, one in LADDER.items():
        place = Path(mkdtemp(dir=folder))
        run = run_agent(one.model(), note_tools(place, honest=one.honest), GOAL)
        file = place / NOTE_NAME
        note = file.read_text(encoding="utf-8") if file.is_file() else None
        tried[name] = Tried(run, note, rungs_climbed(evidence(run, file)))
    return tried
