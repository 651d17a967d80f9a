"""The answers to quizzes, as they are kept; what the first form of the course has kept is read, too."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentlib.views.quiz.questions import known_name
from agentlib.views.store import QUIZZES, Store, data_folder

__all__ = ["Answers", "are_picks", "best_of", "data_folder"]

VERSION = 1
"""Of the first form: one file, `answers.json`, for all quizzes. It is read and never written."""


def are_picks(picked: Sequence[object], sizes: Sequence[int]) -> bool:
    """True if each pick is the number of a choice of its question, from 0, or -1."""
    return len(picked) == len(sizes) and all(
        type(pick) is int and -1 <= pick < size for pick, size in zip(picked, sizes, strict=True)
    )


class Answers:
    """The answers of one learner, by the names of the quizzes.

    folder: where they are kept; None = `data_folder()`.
    problem: why they cannot be read or kept; "" = they can.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.store = Store(folder)
        self.path = self.store.folder / "answers.json"

    @property
    def problem(self) -> str:
        """Why answers cannot be read or kept, in one sentence; "" = they can."""
        return self.store.problem

    def read(self) -> dict[str, dict[str, Any]]:
        """Read all that is kept, by quiz. A file that is broken or missing counts as empty."""
        found: dict[str, dict[str, Any]] = {}
        for kept in (self._first_form(), self.store.all(QUIZZES)):
            for name, value in kept.items():
                name = known_name(name)  # a lesson may have another number now
                before = found.get(name)
                found[name] = (
                    value if before is None else {**value, **_better(best_of(before), best_of(value))}
                )
        return found

    def picked(self, quiz: str, sizes: Sequence[int], asked: str = "") -> list[int]:
        """Give the picked choice of each question, from 0; -1 = none yet.

        sizes: how many choices each question has. asked: a mark of the questions' words.
        What was kept for other questions is left aside.
        """
        kept = self.read().get(quiz, {})
        picked = kept.get("picked")
        if isinstance(picked, list) and are_picks(picked, sizes) and kept.get("asked", asked) == asked:
            return list(picked)
        return [-1] * len(sizes)

    def keep(self, quiz: str, picked: Sequence[int], score: int, **more: Any) -> bool:
        """Keep the picks of a quiz; its best score stays. Returns False if it cannot; `problem` says why.

        more: what else is kept beside them, ready for JSON.
        """
        kept = self.read().get(quiz, {})
        best = best_of(kept)
        if all(pick >= 0 for pick in picked):
            best = max(best, (score, len(picked)), key=_share)
        value = {"picked": list(picked), "of": len(picked), "best": best[0], "best_of": best[1], **more}
        return self.store.keep(QUIZZES, quiz, value)

    def reset(self) -> bool:
        """Forget everything. Returns False if nothing was kept. Raises OSError if it cannot."""
        forgotten = self.store.forget(QUIZZES)
        try:
            self.path.unlink()
        except (FileNotFoundError, NotADirectoryError):
            return forgotten
        return True

    def _first_form(self) -> dict[str, dict[str, Any]]:
        try:
            kept = json.loads(self.path.read_text(encoding="utf-8-sig"))
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, ValueError, RecursionError) as problem:
            self.store.problem = f"{self.path} cannot be read: {problem}"
            return {}
        quizzes = kept.get("quizzes") if isinstance(kept, dict) and kept.get("version") == VERSION else None
        if not isinstance(quizzes, dict):
            self.store.problem = f"{self.path} is not a file of answers that this version can read."
            return {}
        return {name: value for name, value in quizzes.items() if isinstance(value, dict)}


def best_of(kept: dict[str, Any]) -> tuple[int, int]:
    """Give the best score of a quiz, and of how many questions; they may have been others then."""
    best, of = kept.get("best"), kept.get("best_of", kept.get("of"))
    return (best if type(best) is int else 0, of if type(of) is int else 0)


def _share(score: tuple[int, int]) -> float:
    return score[0] / score[1] if score[1] else 0.0


def _better(one: tuple[int, int], other: tuple[int, int]) -> dict[str, int]:
    best, of = max(other, one, key=_share)
    return {"best": best, "best_of": of}
