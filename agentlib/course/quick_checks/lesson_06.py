"""The tasks of lesson 06: what a night costs, when a call is made in vain, and when nothing new comes."""

from collections.abc import Sequence
from typing import Any

from agentlib.course.quick_checks.task import SmallTask, Wrong, call


def night_usd(hours: float, seconds_per_call: float, tokens: int, usd_per_million: float) -> float:
    """Price a night of calls that all read as much."""
    return hours * 3600 / seconds_per_call * tokens * usd_per_million / 1_000_000


def in_vain(outcomes: Sequence[tuple[Any, Any]], request: Any) -> int:
    """Count how often in a row a call has given what it gave last."""
    results = [result for made, result in outcomes if made == request]
    count = 0
    for result in reversed(results):
        if result != results[-1]:
            break
        count += 1
    return count


def steps_without_news(steps: Sequence[Sequence[Any]]) -> int:
    """Count the last steps in which nothing new came."""
    seen: list[Any] = []
    dry = 0
    for results in steps:
        dry = dry + 1 if all(result in seen for result in results) else 0
        seen.extend(results)
    return dry


def _cents(usd: float) -> float:
    return round(usd, 2)


STOP = "if result != results[-1]:\n            break\n        "
RESTART = "if new:\n            dry = 0\n        else:\n            dry += 1"
NOTHING = ("find 4", "nothing")

TASKS = (
    SmallTask(
        name="06 night",
        ours=night_usd,
        cases=(
            call(
                1,
                60,
                1_000_000,
                2,
                look=_cents,
                hint="60 calls of a million tokens each, at 2 dollars a million",
                said="for an hour of 60 calls",
            ),
            call(10, 5, 8_000, 3, look=_cents, said="for 10 hours, a call every 5 s"),
            call(0.5, 2, 500, 15, look=_cents, said="for half an hour, a call every 2 s"),
            call(3, 90, 40_000, 3, look=_cents, said="for 3 hours, a call every 90 s"),
        ),
        wrong=(
            Wrong("3600", "60", "for an hour of 60 calls"),
            Wrong("/ seconds_per_call", "* seconds_per_call", "for an hour of 60 calls"),
            Wrong("/ 1_000_000", "", "120000000"),
            Wrong("* usd_per_million ", "* 3 ", "for an hour of 60 calls, it gave"),
            Wrong("hours * 3600 / seconds_per_call", "hours * 60 * (60 // seconds_per_call)", "every 90 s"),
        ),
    ),
    SmallTask(
        name="06 in vain",
        ours=in_vain,
        cases=(
            call([NOTHING, NOTHING], "find 5", hint="It was never made", said="for a call that was not made"),
            call([NOTHING, NOTHING, NOTHING], "find 4", said="for three times nothing"),
            call(
                [("status", "10%"), ("status", "40%"), ("status", "40%")],
                "status",
                hint="A new result starts the count anew",
                said="for 10%, 40%, 40%",
            ),
            call(
                [("status", "40%"), ("status", "10%"), ("status", "40%")],
                "status",
                hint="In a row: 40% came again, but not at once",
                said="for 40%, 10%, 40%",
            ),
            call(
                [NOTHING, ("find 5", "paid"), NOTHING],
                "find 4",
                hint="Other calls in between change nothing",
                said="for another call in between",
            ),
            call(
                [("find 7", None), ("find 7", None)],
                "find 7",
                hint="`None` is a result like any other",
                said="for two results that are None",
            ),
            call([], "find 4", said="for a run that has not begun"),
        ),
        wrong=(
            Wrong(STOP, "", "for 10%, 40%, 40%, it gave 3, not 2"),
            Wrong("break", "continue", "for 40%, 10%, 40%, it gave 2, not 1"),
            Wrong(" if made == request", "", "for a call that was not made, it gave 2, not 0"),
            Wrong(" if made == request", " if made == request and result", "two results that are None"),
            Wrong("return count", "return count + 1", "for a call that was not made, it gave 1, not 0"),
        ),
    ),
    SmallTask(
        name="06 no news",
        ours=steps_without_news,
        cases=(
            call([["a"], ["b"]], said="for two new results"),
            call(
                [["a"], ["a"], ["a"]], hint="Keep every result in `seen`", said="for one result three times"
            ),
            call([["a"], ["b"], ["a"], ["b"]], hint="Seen in any step before", said="for a, b, a, b"),
            call([["a"], ["a"], ["b"]], hint="One new result starts the count anew", said="for a, a, b"),
            call(
                [["a"], ["a", "c"], ["c"]],
                hint="In step 2 `c` is news, in step 3 it is none",
                said="for a step of two results",
            ),
            call(
                [["a", "b"], ["a", "b"]],
                hint="Steps are counted, not results",
                said="for two results that came before, in one step",
            ),
            call(
                [[{"paid": 5}], [{"paid": 5}]],
                hint="A result may be a dict, which a list takes and a set does not",
                said="for the same dict twice",
            ),
            call([["a"], []], hint="No result is no news", said="for a step without a result"),
            call([], said="for no step"),
        ),
        wrong=(
            Wrong(RESTART, "if not new:\n            dry += 1", "for a, a, b"),
            Wrong("seen += results", "seen = results", "for a, b, a, b"),
            Wrong(RESTART, RESTART.replace("+= 1", "+= len(results)"), "that came before, in one step"),
            Wrong("seen += results", "seen += map(str, results)", "for the same dict twice, it gave 0"),
            Wrong("if new:", "if new or not results:", "No result is no news"),
        ),
    ),
)
