"""ex05: a budget of coins. A call costs one coin for each entry that it reads."""

import re
from functools import partial
from random import Random

from agentlib.course.checking.evidence import crash, shortened, wrong_end
from agentlib.course.checking.fake_data import World
from agentlib.course.checking.spec import Criterion, Exercise, Fault, Log, Scenario, each, in_turn
from agentlib.course.exercises import loops
from agentlib.course.exercises.loops import endless
from agentlib.messages import json_text
from agentlib.views.describe import counted, times

__all__ = ["EXERCISE"]

DEFAULT_STEPS, DEFAULT_COINS = 4, 20
PLENTY = 1_000
"""Coins that no scenario uses up."""

OUT_OF = {
    "step limit": re.compile(r"\b(steps) (?:are|were) (?:all )?used up"),
    "budget limit": re.compile(r"\b(coins) (?:are|were) (?:all )?used up"),
}
"""What a message says that speaks of one limit, in plain words."""

NAMES = {"step limit": re.compile(r"step"), "budget limit": re.compile(r"budget|coin")}
"""How a message names the limit that ended the run."""

CLAIM = re.compile(
    r"\b(?:all|is|are|was|were|been|being) (?:\w+ )?(?:done|sent|ready|changed|fixed|booked|found"
    r"|handled|processed|settled|sorted|dealt with|looked after|taken care of)\b"
    r"|\b(?:shipped|delivered|solved|resolved|refunded|confirmed|approved|completed?|succe\w+)\b"
    r"|\bon (?:its|the|their) way\b|\b(?:all|everything is|everything was) (?:good|fine|well|right)\b"
    r"|\b(?:orders?|parcels?|bookings?|payments?|tickets?) (?:\w+ ){0,2}?"
    r"(?:cancell?ed|closed|processed|moved|updated|arrives?|arrived|comes?)\b"
)
"""Words that tell of an outcome, where no word beside them says that there is none."""

DENIED = re.compile(
    r"\b(?!(?:answers?|results?|reply|replies|solutions?|it|i|we|was|is|were|are|could|can|has|have|had|and|but)\b)"
    r"\w+ (?:(?:was|is|were|are|could|can|has|have) )?(?:not|cannot|wasn't|isn't|couldn't|can't) "
    r"(?:be |been )?found\b"
    r"|\bdo(?:es)?(?: not|n't) exist\b|\bno such\b"
)
"""Words that say of a matter that it is not there: an outcome as well, and nobody has looked it up."""

NUMBER = r"\b(?:after|used|made|took|spent|paid)(?: all| only| my| its)* (\d+) (?:of \d+ )?(?:model )?"
STEPS_SAID, COINS_SAID = re.compile(rf"{NUMBER}(?:steps?|calls?)\b"), re.compile(rf"{NUMBER}coins?\b")
"""How a message tells what was used."""

NO = re.compile(
    r"\b(?:no|not|never|nothing|none|nobody|without|unable|cannot|unfinished|unsolved|unknown|\w+n't)\b"
)


def scenarios(rng: Random) -> dict[str, Scenario]:
    """The scenarios of one check."""
    world = World(rng)
    calls = rng.randrange(3, 6)
    many = rng.randrange(11, 14)
    exact = calls * calls  # 1 + 3 + 5 + ...: after so many calls nothing is left
    short = exact - rng.randrange(1, 4)  # the last of these calls cannot be paid
    return {
        **loops.loop_scenarios(world, default_steps=DEFAULT_STEPS),
        "errand": loops.errand(world, spare=rng.randrange(1, 4), budget_coins=PLENTY),
        "second errand": loops.long_errand(world, spare=rng.randrange(1, 4), budget_coins=PLENTY),
        "failing": loops.failing(world, budget_coins=PLENTY),
        "many steps": endless(world, rng.randrange(15, 19), budget_coins=PLENTY),
        "endless": endless(world, rng.randrange(3, 6), budget_coins=PLENTY),
        "default limit": endless(world, DEFAULT_STEPS, default=True, budget_coins=PLENTY),
        "exactly enough": endless(world, 12, budget_coins=exact),
        "not quite enough": endless(world, 12, budget_coins=short),
        "large budget": endless(world, 20, budget_coins=many * many),
        "default budget": endless(world, 9),
        "no coins": endless(world, 3, budget_coins=0),
        "both limits": endless(world, calls, budget_coins=exact + rng.randrange(1, 2 * calls)),
        "both limits, no coin left": endless(world, calls, budget_coins=exact),
        "answer with the last coin": loops.errand(world, spare=3, budget_coins=16),
    }


def coins_of(log: Log) -> int:
    """Coins that the calls of one run cost."""
    return sum(
        len(history)
        for call, history in zip(log.asks, log.histories, strict=True)
        if "end" not in call.answer
    )


def _coins(log: Log, end: str) -> Fault | None:
    """One run must give back what its calls cost. end: how it ended, "answer" or the name of a limit."""
    expected = coins_of(log)
    if "coins" not in log.returned:
        where = "the one with the answer" if end == "answer" else f"the one at the {end}"
        return Fault(
            f'the dict that came back has no "coins": {shortened(log.returned)}',
            f'Every dict that you return needs "coins", also {where}.',
        )
    coins = log.returned["coins"]
    if coins == expected and type(coins) is int:
        return None
    read = [str(len(history)) for history in log.histories]
    costs = f"{' + '.join(read)} entries, {expected} in all" if len(read) > 1 else f"{expected} entry"
    seen = f'the {counted(len(read), "call")} read {costs}, but "coins" was {json_text(coins)}'
    if not read:
        seen = f'no call was made, but "coins" was {json_text(coins)}'
    if end != "answer" and coins == expected + 2 * len(read) + 1:
        return Fault(
            seen,
            "A call that is not made costs nothing. Do you add the cost before you know that the call is "
            "made?",
        )
    return Fault(
        seen,
        "A call costs what it reads: the length of the history when the model is asked. When do you count "
        "it?",
    )


def _at_the_budget(log: Log) -> Fault | None:
    """One run must make exactly the calls that can be paid, and end for want of coins."""
    budget = log.scenario.kwargs.get("budget_coins", DEFAULT_COINS)
    calls = int(budget**0.5)
    made = len([call for call in log.asks if "end" not in call.answer])
    given = f"with {counted(budget, 'coin')}"
    cost = 2 * made + 1
    if made > calls:
        paid = made * made
        return Fault(
            f"{given} {counted(made, 'call')} {'was' if made == 1 else 'were'} made, which cost {paid}",
            "A call that would go over the budget is not made. Do you look before the call, with its own "
            "cost added?",
            call=calls + 1,
        )
    if "returned" not in log.outcome:
        return crash(log)
    if made < calls:
        return Fault(
            f"{given} the model was asked {times(made)}, for {counted(made * made, 'coin')}; the next call "
            f"would have cost {cost}",
            "The budget may be used up to its last coin. Is it `>` or `>=`?",
        )
    return wrong_end(log, None, calls, "budget limit") or _coins(log, "budget limit")


def _at_the_default_budget(log: Log) -> Fault | None:
    fault = _at_the_budget(log)
    if fault is None or len([call for call in log.asks if "end" not in call.answer]) == DEFAULT_STEPS:
        return fault
    return Fault(
        fault.seen,
        "Your budget is kept where it is given. Which number stands behind `budget_coins=` in your first "
        f"line? The task wants {DEFAULT_COINS}.",
    )


def _both_limits(log: Log) -> Fault | None:
    if log.returned.get("stopped") == "budget limit" and len(log.asks) < log.facts["limit"]:
        return None  # a call that could be paid was refused: the criterion for the budget names it
    if log.returned.get("stopped") == "budget limit":
        steps, budget = log.facts["limit"], log.scenario.kwargs["budget_coins"]
        return Fault(
            f'with max_steps={steps} and {budget} coins, call {steps + 1} would break both limits; "stopped" '
            'was "budget limit"',
            "Which of the two limits do you look at first?",
        )
    return loops.at_the_limit(log) or _coins(log, "step limit")


def _says_it_in_words(log: Log) -> Fault | None:
    """A stopped run has the app's own words."""
    reason = log.returned.get("stopped")
    if not isinstance(reason, str) or reason not in NAMES:
        return Fault(f'"stopped" was {json_text(reason)}, so there is no limit to tell of')
    if "message" not in log.returned:
        return Fault(f'the run ended as "{reason}"; the dict that came back has no "message"')
    message = log.returned["message"]
    if not isinstance(message, str) or not any(letter.isalpha() for letter in message):
        return Fault(
            f'the run ended as "{reason}"; "message" was {json_text(message)}',
            "Whenever there is no answer the user needs a sentence, whatever the reason was.",
        )
    return _untrue(message, log)


def _untrue(message: str, log: Log) -> Fault | None:
    """A message must name the limit that ended the run, no wrong number of steps, and claim no outcome."""
    reason = log.returned["stopped"]
    steps = log.returned["steps"]
    words = message.lower().replace("_", " ")
    other = "step limit" if reason == "budget limit" else "budget limit"
    if other in words and reason.split()[0] not in words and "coin" not in words.replace(other, ""):
        return Fault(
            f'the run ended as "{reason}"; the message names the {other}: {shortened(message)}',
            "The user reads why there is no answer. Is it the reason of this run?",
        )
    gone = OUT_OF[other].search(words)
    if gone and reason.split()[0] not in words:
        return Fault(
            f'the run ended as "{reason}"; the message says that the {gone[1]} were used up: '
            f"{shortened(message)}",
            "The user reads why there is no answer. Is it the reason of this run?",
        )
    for unit, pattern, used in (("steps", STEPS_SAID, steps), ("coins", COINS_SAID, coins_of(log))):
        said = pattern.search(words)
        if said and int(said[1]) != used:
            return Fault(
                f'"{unit}" was {used}; the message says {said[1]} {unit}: {shortened(message)}',
                f"What is told to the user has to be true: the {unit} that were used, not those that were "
                "allowed.",
            )
    parts = [part for part in re.split(r"[.!?;:\n]", words) if not NO.search(part)]
    claim = next((found[0] for part in parts if (found := CLAIM.search(part))), None)
    denied = DENIED.search(words)
    if claim or denied:
        claim = claim or (denied[0] if denied else "")
        return Fault(
            f'the run ended as "{reason}", with no answer; the message claims an outcome: '
            f"{shortened(message)}",
            f'Nobody knows what became of the matter. What do the words "{claim}" tell the user?',
        )
    if not NAMES[reason].search(words):
        return Fault(
            f'the run ended as "{reason}"; the message does not say so: {shortened(message)}',
            'The user should read why there is no answer. Name the limit: with the word "step", or with '
            '"coin" '
            'or "budget".',
        )
    return None


WORKS = ("loop", "coins")

EXERCISE = Exercise(
    name="ex05_budget",
    title="Budget",
    lesson="03_stop_rules",
    given_by=("03_stop_rules",),
    difficulty=3,
    minutes=20,
    task="stop before the call that would break 4 steps or 20 coins",
    lead_in=(
        "{lesson}, and its exercise, {exercise}. The exercises are numbered by what they build on; the "
        "lessons "
        "say which one comes next."
    ),
    scenarios=scenarios,
    criteria=(
        Criterion(
            "loop", 1, "asks, runs, records and ends at the answer, as in ex01",
            nudge="Which of the four moves is missing: ask, check, act, record?",
            hint="Begin with the loop that passed ex01.",
            judge=loops.still_a_loop,
        ),
        Criterion(
            "coins", 2, 'counts the coins and gives them back as "coins"',
            nudge="How many entries does each call read, and which dicts do you return?",
            hint=(
                '`coins += len(history)` right before `model(history)`, and `"coins": coins` in every dict '
                "that you return."
            ),
            judge=in_turn(
                each(lambda log: crash(log) or _coins(log, "answer"), "errand", "second errand"),
                each(lambda log: crash(log) or _coins(log, "step limit"), "endless"),
                loops.where_failures_pass(
                    each(
                        partial(_coins, end="answer"), "failing",
                        before="with a tool that fails, ",
                        hint="A call is paid for, whatever the tool gave then.",
                    )
                ),
            ),
            after=("loop",),
            details=(
                "They are the sum of `len(history)` over all calls that were made, and stand in every dict "
                "that you return. A call that is not made costs nothing."
            ),
        ),
        Criterion(
            "step_limit", 2,
            'ends at max_steps (4 where none is given) with "step limit", also where both limits would break',
            nudge="Before a call both limits are looked at. In which order?",
            hint="Look at the steps first, then at the coins, both before the call.",
            judge=in_turn(
                loops.stops_at_the_limit,
                each(_both_limits, "both limits", "both limits, no coin left"),
                each(partial(_coins, end="step limit"), "one step"),
            ),
            after=WORKS,
            details='If the next call would break both limits, the reason is `"step limit"`.',
        ),
        Criterion(
            "budget", 2,
            'does not make a call that would go over budget_coins (20 where none is given): "budget limit"',
            nudge="What will the next call cost? You know it before you make it.",
            hint="`if coins + len(history) > budget_coins:` return before the model is asked.",
            judge=in_turn(
                each(_at_the_budget, "exactly enough", "not quite enough", "no coins", "large budget"),
                each(_at_the_default_budget, "default budget", before="no budget_coins given (so 20): "),
                each(
                    loops.answers_at_the_end, "answer with the last coin",
                    before="with 16 coins, the answer comes with the last one: ",
                ),
            ),
            after=WORKS,
            details="A call that costs exactly what is left is made. One coin more, and it is not.",
        ),
        Criterion(
            "message", 2, 'tells the user in "message" why there is no answer, and claims nothing else',
            nudge="The model gave no answer. Who speaks to the user now?",
            hint=(
                'Your code does, in an honest sentence for each limit, such as "I stopped after 4 steps '
                'without '
                'an answer." or "I have no answer: the next call would cost more coins than are left."'
            ),
            judge=each(_says_it_in_words, "endless", "exactly enough", "both limits", "no coins"),
            after=(*WORKS, "step_limit", "budget"),
            details=(
                "It names the limit that ended the run, with the word *step*, or with *coin* or *budget*, "
                "and "
                "says nothing that is not so: no outcome, good or bad (whether an order was found, your loop "
                "does not know), no wrong number of steps or coins, not the other limit. The "
                "rest of its words is yours. Beside an answer the message is free: you may leave it out."
            ),
        ),
        *loops.failures_as_in_ex01(1, ("loop",)),
    ),
)  # fmt: skip
