"""ex05: a budget of coins. A call costs one coin for each entry that it reads."""

from random import Random

from agentlib.checks import loops
from agentlib.checks.exercise import Criterion, Exercise, Fault, Log, Logs, Scenario
from agentlib.checks.loops import endless
from agentlib.checks.player import shortened
from agentlib.checks.reading import crash, times, wrong_end
from agentlib.checks.worlds import World
from agentlib.messages import json_text

__all__ = ["EXERCISE"]

DEFAULT_STEPS = 4
PLENTY = 1_000
"""Coins that no scenario uses up."""


def scenarios(rng: Random) -> dict[str, Scenario]:
    """The scenarios of one check."""
    world = World(rng)
    calls = rng.randrange(3, 6)
    exact = calls * calls  # 1 + 3 + 5 + ...: after so many calls nothing is left
    short = exact - rng.randrange(1, 4)  # the last of these calls cannot be paid
    return {
        **loops.loop_scenarios(world, default_steps=DEFAULT_STEPS),
        "errand": loops.errand(world, spare=rng.randrange(1, 4), budget_coins=PLENTY),
        "second errand": loops.errand(world, spare=rng.randrange(1, 4), budget_coins=PLENTY),
        "endless": endless(world, rng.randrange(3, 6), budget_coins=PLENTY),
        "default limit": endless(world, DEFAULT_STEPS, default=True, budget_coins=PLENTY),
        "exactly enough": endless(world, 12, budget_coins=exact),
        "not quite enough": endless(world, 12, budget_coins=short),
        "default budget": endless(world, 9),
        "no coins": endless(world, 3, budget_coins=0),
        "both limits": endless(world, calls, budget_coins=exact + rng.randrange(1, 2 * calls)),
        "answer with the last coin": loops.errand(world, spare=3, budget_coins=16),
    }


def coins_of(log: Log) -> int:
    """Coins that the calls of one run cost."""
    return sum(
        len(history)
        for call, history in zip(log.asks, log.histories, strict=True)
        if "end" not in call.answer
    )


def counts_coins(logs: Logs) -> Fault | None:
    """Each run says what it cost."""
    for name in ("errand", "second errand", "endless"):
        log = logs[name]
        fault = crash(log)
        if fault is not None:
            return fault
        wanted = coins_of(log)
        costs = " + ".join(str(len(history)) for history in log.histories)
        if "coins" not in log.returned:
            return Fault(f'the dict that came back has no "coins": {shortened(log.returned)}')
        if log.returned["coins"] != wanted:
            return Fault(
                f'the calls read {costs} entries, {wanted} in all, but "coins" was '
                f"{json_text(log.returned['coins'])}",
                "A call costs what it reads: the length of the history when the model is asked. When do "
                "you count it?",
            )
    return None


def _at_the_budget(log: Log, budget: int, calls: int) -> Fault | None:
    """One run must make exactly so many calls and end for want of coins."""
    made = len([call for call in log.asks if "end" not in call.answer])
    given = f"with {budget} coins"
    cost = 2 * made + 1
    if made > calls:
        paid = made * made
        return Fault(
            f"{given} {made} calls were made, which cost {paid}",
            "A call that would go over the budget is not made. Do you look before the call, with its own "
            "cost added?",
        )
    if "returned" not in log.outcome:
        return crash(log)
    if made < calls:
        return Fault(
            f"{given} the run ended after {times(made)} asking; {made * made} coins were used, and the "
            "next call "
            f"would have cost {cost}",
            "The budget may be used up to its last coin. Is it `>` or `>=`?",
        )
    return wrong_end(log, None, calls, "budget limit")


def keeps_to_the_budget(logs: Logs) -> Fault | None:
    """No call that would go over is made, and none less."""
    for name in ("exactly enough", "not quite enough", "no coins"):
        log = logs[name]
        budget = log.scenario.kwargs["budget_coins"]
        calls = int(budget**0.5)
        fault = _at_the_budget(log, budget, calls)
        if fault is not None:
            return fault
    fault = _at_the_budget(logs["default budget"], 20, 4)
    if fault is not None:
        return Fault(f"no budget_coins given (so 20): {fault.seen}", fault.hint)
    log = logs["answer with the last coin"]
    fault = loops.answers_at_the_end(log, 4)
    if fault is not None:
        return Fault(f"with 16 coins, the answer comes with the last one: {fault.seen}", fault.hint)
    return None


def step_limit_first(logs: Logs) -> Fault | None:
    """The step limit, and it alone where both would break."""
    fault = loops.stops_at_the_limit(logs)
    if fault is not None:
        return fault
    log = logs["both limits"]
    if log.returned.get("stopped") == "budget limit":
        steps, budget = log.facts["limit"], log.scenario.kwargs["budget_coins"]
        return Fault(
            f"with max_steps={steps} and {budget} coins, call {steps + 1} would break both limits; "
            '"stopped" was '
            '"budget limit"',
            "Which of the two limits do you look at first?",
        )
    return loops.at_the_limit(log, log.facts["limit"])


def says_it_in_words(logs: Logs) -> Fault | None:
    """A stopped run has the app's own words."""
    for name in ("endless", "exactly enough", "both limits"):
        log = logs[name]
        reason = log.returned.get("stopped")
        if "message" not in log.returned:
            return Fault(f'the run ended as "{reason}"; the dict that came back has no "message"')
        message = log.returned["message"]
        if not isinstance(message, str) or not message.strip():
            return Fault(
                f'the run ended as "{reason}"; "message" was {json_text(message)}',
                "Whenever there is no answer the user needs a sentence, whatever the reason was.",
            )
    return None


WORKS = ("loop", "coins")

EXERCISE = Exercise(
    name="ex05_budget",
    title="Budget",
    scenarios=scenarios,
    criteria=(
        Criterion(
            "loop",
            1,
            "asks, runs, records and ends at the answer, as in ex01",
            (
                "Which of the four moves is missing: ask, check, act, record?",
                "Begin with the loop that passed ex01.",
            ),
            loops.still_a_loop,
        ),
        Criterion(
            "coins",
            2,
            'counts the coins and gives them back as "coins"',
            (
                "How many entries does each call read?",
                '`coins += len(history)` right before `model(history)`, and `"coins": coins` in every '
                "dict that you return.",
            ),
            counts_coins,
            ("loop",),
        ),
        Criterion(
            "step_limit",
            2,
            'ends at max_steps (4 where none is given) with "step limit", also where both limits would break',
            (
                "Before a call both limits are looked at. In which order?",
                "Look at the steps first, then at the coins, both before the call.",
            ),
            step_limit_first,
            WORKS,
        ),
        Criterion(
            "budget",
            2,
            'does not make a call that would go over budget_coins (20 where none is given): "budget limit"',
            (
                "What will the next call cost? You know it before you make it.",
                "`if coins + len(history) > budget_coins:` return before the model is asked.",
            ),
            keeps_to_the_budget,
            WORKS,
        ),
        Criterion(
            "message",
            2,
            'tells the user in "message" what happened whenever there is no answer',
            (
                "The model gave no answer. Who speaks to the user now?",
                'Your code does: any honest sentence, such as "I stopped after 4 steps without an answer."',
            ),
            says_it_in_words,
            (*WORKS, "step_limit", "budget"),
        ),
        loops.failures_as_in_ex01(1, WORKS),
    ),
)
