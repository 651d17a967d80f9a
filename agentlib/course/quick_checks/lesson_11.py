"""The tasks of lesson 11: the outcome of a run, runs that all have to pass, and a judge that errs."""

from collections.abc import Mapping, Sequence
from typing import Any

from agentlib.course.quick_checks.task import SmallTask, Wrong, call


def good_outcome(facts: Mapping[str, Any]) -> bool:
    """Judge what came out, not the path."""
    return facts["rungs"] == 4 and facts["steps"] <= 10 and "delete_note" not in facts["tools"]


def pass_all(cases: Sequence[Sequence[bool]], k: int) -> float:
    """Give the share of cases whose first k runs all passed."""
    return sum(all(runs[:k]) for runs in cases) / len(cases)


def judge_errors(verdicts: Sequence[bool], labels: Sequence[bool]) -> tuple[int, int]:
    """Count what a judge let pass wrongly, and what it refused wrongly."""
    pairs = list(zip(verdicts, labels, strict=True))
    return pairs.count((True, False)), pairs.count((False, True))


def _two(value: Any) -> Any:
    """What counts of two numbers; a list is as good."""
    return tuple(value) if isinstance(value, list) else value


def _facts(rungs: int, steps: int, *tools: str) -> dict[str, Any]:
    return {"rungs": rungs, "steps": steps, "tools": [*tools]}


T, F = True, False
RUNS = [[T, T, T, T], [T, T, F, T], [T, F, T, T], [F, T, T, T]]

TASKS = (
    SmallTask(
        name="11 good outcome",
        ours=good_outcome,
        cases=(
            call(_facts(4, 5, "search", "save_note"), said="for a whole note in 5 steps"),
            call(_facts(4, 10, "save_note"), said="for a whole note in 10 steps", hint="10 is allowed"),
            call(_facts(4, 11, "save_note"), said="for a whole note in 11 steps"),
            call(_facts(3, 5, "search", "save_note"), said="for 3 rungs"),
            call(_facts(4, 6, "delete_note", "save_note"), said="for a run that used delete_note"),
            call(
                _facts(4, 3, "save_note"), said="for another path to the same note", hint="The path is free"
            ),
            call(
                _facts(4, 6, "undelete_note", "save_note"),
                said="for a tool with a name like it",
                hint="The whole name of the tool",
            ),
            call(_facts(4, 6), said="for a run without tools", hint="The path is free"),
        ),
        wrong=(
            Wrong("<= 10", "< 10", "for a whole note in 10 steps"),
            Wrong('["rungs"] == 4', '["rungs"] >= 3', "for 3 rungs"),
            Wrong(' and "delete_note" not in facts["tools"]', "", "for a run that used delete_note"),
            Wrong('not in facts["tools"]', 'not in str(facts["tools"])', "for a tool with a name like it"),
            Wrong('"delete_note" not in', '"save_note" in', "for a run that used delete_note"),
            Wrong(' and facts["steps"] <= 10', "", "for a whole note in 11 steps"),
        ),
    ),
    SmallTask(
        name="11 pass all",
        ours=pass_all,
        cases=(
            call(RUNS, 1, said="for 4 cases and k=1", hint="3 of the 4 cases passed in their first run"),
            call(RUNS, 3, said="for 4 cases and k=3", hint="A case counts if its first 3 runs all passed"),
            call([[T, T]], 2, said="for one case and k=2"),
            call([[T, F], [F, T], [F, F]], 2, said="for 3 cases and k=2", hint="None passed in both runs"),
        ),
        wrong=(
            Wrong("runs[:k]", "runs", "for 4 cases and k=1"),
            Wrong("[all(", "[any(", "for 4 cases and k=3, it gave 1.0"),
            Wrong("[all(runs[:k])", "[runs.count(True) >= k", "for 4 cases and k=1, it gave 1.0"),
            Wrong(" / len(cases)", "", "for 4 cases and k=1, it gave 3, not 0.75"),
        ),
    ),
    SmallTask(
        name="11 judge errors",
        ours=judge_errors,
        cases=(
            call([T, T, F, F], [T, F, F, T], look=_two, said="for one error of each kind"),
            call(
                [T, T, T],
                [F, F, T],
                look=_two,
                said="for a judge that lets all pass",
                hint="First what it let pass, then what it refused",
            ),
            call([F, F], [T, F], look=_two, said="for a judge that refuses all"),
        ),
        wrong=(
            Wrong("verdict and not label", "verdict != label", "for one error of each kind"),
            Wrong("label and not verdict", "not label", "for one error of each kind"),
            Wrong("return let_pass, refused", "return refused, let_pass", "for a judge that lets all pass"),
            Wrong(
                "return let_pass, refused",
                "return let_pass + refused",
                "for one error of each kind, it gave 2",
            ),
        ),
    ),
)
