"""Note taking: a model that takes another path each time, a case for its note, and a judge that errs.

What must come out: of 40 runs from seed 900 on, 24 save a note with all four rungs, and 4 take one exact
path; of 320 runs 194 pass. The judge, a rule that reads the answer alone, errs in 5 of 10 answers.
"""

from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import Any

from agentlib._run import Run
from agentlib.evals import Case
from agentlib.labs import research
from agentlib.messages import Entry, ModelFunction, answer, ask
from agentlib.models import NoisyModel

__all__ = ["EXACT_PATH", "LABELLED", "facts_of", "hasty_judge", "noisy", "note_case", "path_of"]

PASSAGES = {
    "retry-limit": "failed call tried again",
    "retry-wait": "wait before each new try",
    "retry-safe": "safely run twice",
}

EXACT_PATH = [*PASSAGES.values(), None]
"""The queries of one right path; saving the note has none."""


def _reads(place: int) -> ModelFunction:
    """Make a model that searches for the first (0) or the last (-1) passage that is missing, then saves."""

    def model(history: list[Entry]) -> Entry:
        missing = [query for name, query in PASSAGES.items() if f"[{name}] " not in str(history[1:])]
        if missing:
            return ask("search", query=missing[place])
        if "Saved" not in str(history[1:]):
            return ask("save_note", name=research.NOTE_NAME, text=research.GOOD_NOTE)
        return answer("Done. The note is saved.")

    return model


def noisy(rng: Random, hasty: float = 1) -> NoisyModel:
    """Make a model that reads on in two ways; in `hasty` of 9 + `hasty` calls it says "done" at once."""
    return NoisyModel([_reads(0), _reads(-1), lambda history: answer("Done.")], rng, [5, 4, hasty])


def path_of(run: Run) -> list[Any]:
    """List the queries of a run, in order; None where it saved a note."""
    return [entry["input"].get("query") for entry in run.history if entry.get("type") == "tool"]


def facts_of(run: Run, folder: Path) -> dict[str, Any]:
    """Give what a check may look at: rungs climbed, steps, the tools that were used."""
    used = [entry["tool"] for entry in run.history if entry.get("type") == "tool"]
    rungs = research.rungs_climbed(research.evidence(run, folder / research.NOTE_NAME))
    return {"rungs": rungs, "steps": run.steps, "tools": used}


def note_case(is_good: Callable[[dict[str, Any]], bool], top: str, paths: list[Any]) -> Callable[[], Case]:
    """Make what gives a fresh case for each run. top: a folder for notes. paths: each run's is added."""

    def fresh() -> Case:
        folder = Path(mkdtemp(dir=top))

        def check(run: Run) -> bool:
            paths.append(path_of(run))
            return is_good(facts_of(run, folder))

        tools = {**research.note_tools(folder), "delete_note": lambda name: "Deleted."}
        return Case("save a note", research.GOAL, tools, check)

    return fresh


def hasty_judge(text: str) -> bool:
    """Play a judge that is a model: it likes what sounds finished."""
    return any(word in text.lower() for word in ("done", "saved", "certainly"))


LABELLED = [
    ("Done. The note is saved.", True), ("Done.", False), ("The note is saved with three sources.", True),
    ("Certainly! Here is your note.", False), ("Three sentences, each with its source.", True),
    ("I could not save the note.", False), ("The disk was full, so nothing was written.", False),
    ("Saved, with one sentence of three.", False), ("All three sources agree; see notes.md.", True),
    ("Done, with all three sources named.", True),
]  # fmt: skip
"""Ten answers, and whether a person who opened the file found a good note."""
