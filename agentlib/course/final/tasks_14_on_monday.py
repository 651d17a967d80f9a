"""Tasks of lesson 14: which calls are made again, how a run goes on, and the order of results."""

from random import Random
from typing import Any

from agentlib.course.final.task import FinalTask, choose, mend
from agentlib.errors import ProviderError
from agentlib.labs import refunds
from agentlib.providers import retrying

WORTH_IT = (429, 500, 502, 503, 529)
REFUSED = (400, 401, 403, 404)


def shown_failing_calls(rng: Random) -> FinalTask:
    """Show what the provider sends, call by call, and ask what comes of it."""
    attempts = 4
    statuses = rng.sample(WORTH_IT, rng.randint(1, 2))
    if rng.random() < 0.6:
        statuses.append(rng.choice(REFUSED))
    asked, ended = _asked(statuses, attempts)
    answers = f"{asked} calls, then a reply" if ended else f"{asked} calls, then the error goes on"
    why = (
        "Busy or failed servers are asked again, each time after a longer wait, until one replies."
        if ended
        else f"{statuses[-1]} says that the request itself is wrong. It would be as wrong the next time."
    )
    wrong = [
        (
            "1 call, then the error goes on",
            f"{statuses[0]} is worth another try: the server was busy or failed.",
        ),
        (
            f"{attempts} calls, then the error goes on",
            "Attempts are a bound. One refusal, or one reply, ends it before.",
        ),
        (f"{len(statuses) + 1} calls, then a reply", f"{statuses[-1]} is a refusal. Nobody asks once more."),
        (
            f"{len(statuses)} calls, then a reply",
            "Each of these is a call that failed. The reply takes one more.",
        ),
        (
            f"{len(statuses)} calls, then the error goes on",
            "Each of these may go well later, and attempts are left.",
        ),
    ]
    right = (answers, why)
    lines = [f"call {number}: status {status}" for number, status in enumerate(statuses, 1)]
    shown = "\n".join(
        [f"model = retrying(provider, attempts={attempts})", "", *lines, "any further call: a reply"]
    )
    text = "The provider sends this, in order, if it is asked so often. How often is it asked, and what comes of it?"
    return choose(rng, text, shown, right, wrong, "again-words")


def _asked(statuses: list[int], attempts: int) -> tuple[int, bool]:
    """Ask the lab's model behind such a provider: how often it was asked, and whether it replied."""
    waits: list[float] = []
    model = retrying(refunds.busy(*statuses), attempts, sleep=waits.append, random=Random(0))
    try:
        model([{"role": "user", "text": refunds.GOAL}])
        return len(waits) + 1, True
    except ProviderError:
        return len(waits) + 1, False


KILLED = {
    "ask": "the model is asked",
    "reply": "the tool is run, for the first time",
    "act": "the model reads that it may have been run",
    "result": "the model is asked, and reads the result",
}
"""What comes next, by the last event that the file holds."""

BECAUSE = {
    "ask": "The reply never came, so it is asked for again. Nothing else was under way.",
    "reply": "The request is there, and nothing says that its tool was begun.",
    "act": "It was begun, and nothing says that it ended. Only looking can tell, so it is not run again.",
    "result": "The result is there, so the tool is not run. The next thing is the next call.",
}


def shown_a_killed_run(rng: Random) -> FinalTask:
    """Show the last lines of a trace that breaks off, and ask how the run goes on."""
    order, euros = rng.randint(2100, 2999), rng.randint(5, 50)
    lines = {
        "ask": "ask      step 3",
        "reply": f"reply    step 3: refund(order={order}, euros={euros})",
        "act": "act      step 3: refund",
        "result": f"result   step 3: {euros} euros paid back",
    }
    last = rng.choice(list(lines))
    kinds = list(lines)[: list(lines).index(last) + 1]
    shown = "\n".join(["...", *(lines[kind] for kind in kinds), "(here the program was killed)"])
    wrong = [
        (words, f"That is so where the last line is {kind!r}.")
        for kind, words in KILLED.items()
        if kind != last
    ]
    return choose(
        rng,
        "This is the end of the file that trace_writer wrote. What does resume do first?",
        shown,
        (KILLED[last], BECAUSE[last]),
        wrong,
        "kill-seen",
    )


def repair_the_order_of_results(rng: Random) -> FinalTask:
    """Show results that are recorded as they finish."""
    names = rng.sample(["north", "south", "east", "west", "harbour"], 3)
    poor = rng.choice(
        [
            "[entry for entry in finished]",
            "sorted(finished, key=lambda entry: entry['seconds'])",
            "finished[::-1]",
        ]
    )
    code = f"""
def record(history, calls, finished):
    by_id = {{entry["id"]: entry for entry in finished}}
    results = {poor}
    history.extend(results)
    return history
"""

    def judge(given: dict[str, Any]) -> str:
        calls = [{"id": name} for name in names]
        for order in ([2, 0, 1], [1, 2, 0], [2, 1, 0], [0, 1, 2]):
            finished = [
                {"id": names[place], "seconds": second, "result": names[place]}
                for second, place in enumerate(order)
            ]
            got = [entry["result"] for entry in given["record"]([], calls, finished)]
            if got != names:
                ends = ", ".join(names[place] for place in order)
                return f"They were asked for as {', '.join(names)} and ended as {ends}; recorded was {', '.join(got)}."
        return ""

    return mend(
        "Tools ran side by side. Which line makes the history depend on which of them was quickest, and how should it read?",
        code,
        (3, 'results = [by_id[call["id"]] for call in calls]'),
        "The history has the order of the requests, whatever the order in which they ended: the same run reads the same.",
        judge,
        "order-words",
    )
