"""Tasks of lesson 03: limits, what they bound, and what their reasons tell."""

from random import Random
from typing import Any

from agentlib.course.final.task import FinalTask, choose, mend, numbered, run_code

CODE = """
def run_agent(max_steps, budget):
    entries, coins = 1, 0
    for step in range(1, max_steps + 1):
        if coins + entries > budget:
            return "budget limit", step - 1, coins
        coins += entries
        entries += 2
    return "step limit", max_steps, coins
"""


def shown_which_limit(rng: Random) -> FinalTask:
    """Show two limits, and ask which one ends a run that never answers."""
    max_steps, budget = rng.randint(3, 6), rng.choice([6, 9, 12, 16, 20, 25, 30])
    reason, calls, coins = run_code(CODE)["run_agent"](max_steps, budget)

    def words(reason: str, calls: int, coins: int) -> str:
        return f"`{reason}`: {calls} calls, {coins} coins"

    other = "step limit" if reason == "budget limit" else "budget limit"
    why = "Calls cost 1, 3, 5, ... coins, together 1, 4, 9, 16, 25, 36. A call that would break a limit is not made."
    wrong = [
        (words(other, calls, coins), f"Which limit is reached first? {max_steps} calls cost {max_steps**2} coins, and {budget} are there."),
        (words(reason, calls + 1, coins + 2 * calls + 1), "The check stands before the call, so the call that is too many is not made."),
        (words(reason, calls, calls), "A call costs a coin for each entry that it reads, not one coin."),
        (words("budget limit", calls, budget), "What is left over is not spent: the next call would cost more."),
    ]  # fmt: skip
    text = (
        f"A model never answers, and each step adds two entries. `max_steps` is {max_steps}, `budget` is {budget}. "
        "How does the run end?"
    )
    return choose(rng, text, numbered(CODE), (words(reason, calls, coins), why), wrong, "check-before")


MENDS = {
    "step limit": ("the tool's error", "the same error again and again", "The error has to say what to do next; then the model need not ask again."),
    "token budget": ("the tool's result", "one page of 60,000 tokens read", "The pages are to be trimmed before they are recorded."),
    "deadline": ("the waiting for a tool", "two calls, each waiting 40 s", "A time limit for the tool ends the waiting."),
}  # fmt: skip


def shown_what_to_mend(rng: Random) -> FinalTask:
    """Show how 200 runs ended, and ask what to mend first."""
    most = rng.choice(list(MENDS))
    counts = {reason: rng.randint(2, 9) for reason in MENDS} | {most: rng.randint(41, 63)}
    rows = [f"{200 - sum(counts.values()):>4}  answered"]
    rows += [f"{counts[reason]:>4}  {reason:<13} (looked into: {MENDS[reason][1]})" for reason in MENDS]
    assert most == max(counts, key=counts.__getitem__)
    right = (MENDS[most][0], f"{counts[most]} of the runs that failed ended there. {MENDS[most][2]}")
    wrong = [
        *(
            (MENDS[reason][0], f"Only {counts[reason]} runs ended with `{reason}`.")
            for reason in MENDS
            if reason != most
        ),
        ("the limits: raise all of them", "The runs that are stuck then cost more and end no better."),
    ]
    return choose(
        rng, "200 runs ended like this. What do you mend first?", "\n".join(rows), right, wrong, "reasons"
    )


def repair_the_check(rng: Random) -> FinalTask:
    """Show a budget that is looked at too late."""
    late = rng.choice(["if coins > budget:", "if coins == budget:", "if coins >= budget:"])
    code = f"""
def spend(costs, budget):
    coins = 0
    for cost in costs:
        {late}
            break
        coins += cost
    return coins
"""
    prices = [rng.randint(2, 9) for _ in range(6)]

    def judge(names: dict[str, Any]) -> str:
        for costs in ([1, 3, 5, 7, 9, 11], prices, [4]):
            for budget in (0, 4, 9, 10, 20, sum(prices), 100):
                wanted = 0
                for cost in costs:
                    if wanted + cost > budget:
                        break
                    wanted += cost
                spent = names["spend"](list(costs), budget)
                if spent != wanted:
                    return f"Calls that cost {costs} with a budget of {budget}: {spent} coins were spent, and it should be {wanted}."
        return ""

    return mend(
        "This loop spends more than its budget: by then the call has been paid for. A budget may be used up to the last coin. "
        "Mend one line.",
        code, (4, "if coins + cost > budget:"),
        "The check stands before the call and adds what the call will cost.", judge, "check-before",
    )  # fmt: skip
