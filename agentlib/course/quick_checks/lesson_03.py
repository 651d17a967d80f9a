"""The tasks of lesson 03: the two limits, how to choose one, and a rule of one's own."""

from collections.abc import Sequence
from typing import Any

from agentlib._history import History
from agentlib.course.quick_checks.task import Made, SmallTask, Wrong, call
from agentlib.labs import by_hand
from agentlib.stops import Progress
from agentlib.views.describe import counted


def choose_limit(good_runs: Sequence[int]) -> int:
    """The steps of the hardest job that went well, and one spare."""
    return max(good_runs) + 1


def long_history(run: Any) -> str | None:
    """Stop before a call that would read more than 5 entries."""
    return "history too long" if run.next_entries > 5 else None


def _so_far(next_entries: int) -> Progress:
    """A run as `run_agent` shows it to a rule: with a history of so many entries."""
    record, calls = History(), min(next_entries - 1, 1)  # of several requests in one step
    for number in range(next_entries):
        record.add({"role": "tool" if number else "user", "text": "Where is order 1043?"}, 6)
    return Progress("Where is order 1043?", record, float, 0.0, steps=calls, next_entries=next_entries)


def _run(next_entries: int) -> Any:
    made = Made(lambda: _so_far(next_entries))
    return call(made, said=f"for a next call that reads {counted(next_entries, 'entry', 'entries')}")


TASKS = (
    SmallTask(
        name="03 step limit",
        ours=by_hand.step_limit,
        cases=(
            call(0, 1, said="for 0 steps of 1"),
            call(6, 7, said="for 6 steps of 7"),
            call(
                7,
                7,
                said="for 7 steps of 7",
                hint='Call 8 would break a limit of 7, so it is not made; the reason is "step limit"',
            ),
            call(9, 7, said="for 9 steps of 7", hint="A limit that is passed already stops a run, too"),
        ),
        wrong=(
            Wrong(
                "steps >= max_steps", "steps > max_steps", 'for 7 steps of 7, it gave None, not "step limit"'
            ),
            Wrong("steps >= max_steps", "steps >= max_steps - 1", "for 0 steps of 1, it gave"),
            Wrong("steps >= max_steps", "steps == max_steps", "for 9 steps of 7, it gave None"),
            Wrong(
                '"step limit" if steps >= max_steps else None',
                "steps >= max_steps",
                "it gave False, not None",
            ),
        ),
    ),
    SmallTask(
        name="03 budget",
        ours=by_hand.budget,
        cases=(
            call(0, 1, 5, said="for 0 coins used, a call of 1, a budget of 5"),
            call(
                9, 7, 16, said="for 9 coins used, a call of 7, a budget of 16", hint="16 of 16 breaks nothing"
            ),
            call(
                9,
                7,
                15,
                said="for 9 coins used, a call of 7, a budget of 15",
                hint='Add the next call; the reason is "budget limit"',
            ),
            call(
                0,
                7,
                5,
                said="for 0 coins used, a call of 7, a budget of 5",
                hint="The first call counts, too",
            ),
        ),
        wrong=(
            Wrong("coins + next_cost >", "coins >", "a budget of 15, it gave None"),
            Wrong(">", ">=", "a budget of 16, it gave"),
            Wrong("coins + next_cost", "next_cost", "a budget of 15, it gave None"),
            Wrong("if coins", "if coins and coins", "The first call counts, too"),
            Wrong('"budget limit"', '"step limit"', 'it gave "step limit", not "budget limit"'),
        ),
    ),
    SmallTask(
        name="03 choose",
        ours=choose_limit,
        cases=(
            call([2, 5, 3], said="for good runs of 2, 5 and 3 steps"),
            call([1], said="for one good run of 1 step"),
            call([4, 4, 2], said="for good runs of 4, 4 and 2 steps", hint="One spare call, and no more"),
        ),
        wrong=(
            Wrong("max(good_runs) + 1", "max(good_runs)", "it gave 5, not 6"),
            Wrong("max(good_runs) + 1", "good_runs[-1] + 1", "it gave 4, not 6"),
            Wrong("max(good_runs) + 1", "3 * min(good_runs)", "for one good run of 1 step, it gave 3, not 2"),
            Wrong("max(good_runs)", "len(good_runs)", "it gave 4, not 6"),
        ),
    ),
    SmallTask(
        name="03 own rule",
        ours=long_history,
        cases=(_run(1), _run(5), _run(6), _run(9)),
        wrong=(
            Wrong("run.next_entries > 5", "run.next_entries >= 5", "reads 5 entries, it gave"),
            Wrong("run.next_entries", "next_entries", "it raised NameError"),
            Wrong("run.next_entries > 5", "run.next_entries >= 7", "reads 6 entries, it gave None"),
            Wrong("run.next_entries > 5", "run.steps > 2", "reads 6 entries, it gave None"),
            Wrong("run.next_entries > 5", "run.next_entries == 6", "reads 9 entries, it gave None"),
            Wrong('"history too long"', "True", 'reads 6 entries, it gave True, not "history too long"'),
        ),
    ),
)
