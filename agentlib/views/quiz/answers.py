"""Where answers are kept: one small file in the user's data folder."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import platformdirs

__all__ = ["Answers", "are_picks", "data_folder"]

VERSION = 1


def data_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """The folder for what is kept from one day to the next: $AGENTLIB_DATA_DIR, or the user's data folder."""
    given = environment.get("AGENTLIB_DATA_DIR")
    if given:
        return Path(given)
    return platformdirs.user_data_path("agentlib", appauthor=False)


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

    def __init__(self, folder: Path | None = None) -> None:
        self.path = (data_folder() if folder is None else folder) / "answers.json"
        self.problem = ""

    def read(self) -> dict[str, dict[str, Any]]:
        """Read all that is kept. A file that is broken or missing counts as empty."""
        try:
            kept = json.loads(self.path.read_text(encoding="utf-8-sig"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as problem:
            self.problem = f"{self.path} cannot be read: {problem}"
            return {}
        quizzes = kept.get("quizzes") if isinstance(kept, dict) and kept.get("version") == VERSION else None
        if not isinstance(quizzes, dict):
            self.problem = f"{self.path} is not a file of answers that this version can read."
            return {}
        return {name: value for name, value in quizzes.items() if isinstance(value, dict)}

    def picked(self, quiz: str, sizes: Sequence[int]) -> list[int]:
        """Give the picked choice of each question, from 0; -1 = none yet.

        sizes: how many choices each question has. What was kept for other questions is left aside.
        """
        kept = self.read().get(quiz, {}).get("picked")
        return list(kept) if isinstance(kept, list) and are_picks(kept, sizes) else [-1] * len(sizes)

    def keep(self, quiz: str, picked: Sequence[int], score: int) -> bool:
        """Keep the picks of a quiz; its best score stays. Returns False if it cannot; `problem` says why."""
        quizzes = self.read()
        best = quizzes.get(quiz, {}).get("best", 0)
        whole = all(pick >= 0 for pick in picked)
        best = max(best if type(best) is int else 0, score if whole else 0)
        quizzes[quiz] = {"picked": list(picked), "best": best, "of": len(picked)}
        text = json.dumps({"version": VERSION, "quizzes": quizzes}, indent=1)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Written beside it and moved into place, so that a crash in between leaves the old file intact.
            beside = self.path.with_suffix(".new")
            beside.write_text(text, encoding="utf-8")
            os.replace(beside, self.path)
        except OSError as problem:
            self.problem = f"Your answers cannot be kept in {self.path}: {problem}"
            return False
        self.problem = ""
        return True

    def reset(self) -> bool:
        """Forget everything. Returns False if nothing was kept."""
        try:
            self.path.unlink()
        except FileNotFoundError:
            return False
        return True
