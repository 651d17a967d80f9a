"""Tasks of lesson 06: runs that are stuck, runs that only look so, and the rules that tell them apart."""

from itertools import cycle, islice
from random import Random
from typing import Any

from agentlib import run_agent, stops
from agentlib.course.final.task import FinalTask, Played, choose, mend, numbered, run_code
from agentlib.errors import ToolError
from agentlib.messages import Entry, ask

RULES = {
    "RepeatedCall(3)": stops.RepeatedCall(3),
    "NoProgress(3)": stops.NoProgress(3),
    "TooManyErrors(4)": stops.TooManyErrors(4),
}
CALLS = 7


def shown_which_rule(rng: Random) -> FinalTask:
    """Show a run, and ask which of three rules ends it first."""
    job = rng.randint(100, 999)
    words = rng.sample(
        [
            "auth error",
            "login failure",
            "cannot sign in",
            "password refused",
            "no access",
            "bad session",
            "401",
        ],
        CALLS,
    )
    percent = sorted(rng.sample(range(3, 98), CALLS))
    kinds: dict[str, list[tuple[Entry, str]]] = {
        "repeated": [(ask("find_payment", invoice=job), "nothing found")] * CALLS,
        "worded anew": [(ask("search", words=each), "nothing found") for each in words],
        "polling": [(ask("job_status", job=job), f"{each}% done") for each in percent],
        "failing": [
            (ask("open_page", number=job + n), f"error: page {job + n} is gone") for n in range(CALLS)
        ],
    }
    kind = rng.choice(list(kinds))
    rows = kinds[kind]
    ends = {}
    for name, rule in RULES.items():
        results = iter([result for _, result in rows])
        run = run_agent(
            Played(*(request for request, _ in rows)), _tools(results), "goal", CALLS, stops=[rule]
        )
        if run.stopped != "step limit":
            ends[name] = run.steps
    first = min(ends, key=ends.__getitem__) if ends else "none of the three"
    told = {
        "RepeatedCall(3)": "The third call with the same input, after two equal results, is not run.",
        "NoProgress(3)": "The calls differ to the letter, but their results bring nothing new.",
        "TooManyErrors(4)": "Each error is another one, so the results are new. But four of them are too many.",
        "none of the three": "The same call brings a new result each time: that is waiting, not being stuck.",
    }
    other = {
        "RepeatedCall(3)": "It wants calls that are equal in input and in result, and these are not: look at both columns.",
        "NoProgress(3)": "It wants three steps in a row whose results were all seen before. Here that comes later, or never.",
        "TooManyErrors(4)": "It counts errors; a search that finds nothing, or a job that is not done, is none.",
        "none of the three": "One of them does: look at what is the same in each line.",
    }
    wrong = [(name, other[name]) for name in other if name != first]
    shown = "\n".join(f"{n}  {_call(request):<32} {result}" for n, (request, result) in enumerate(rows, 1))
    return choose(
        rng, "Which rule ends this run first?", shown, (first, told[first]), wrong, "disguise-words"
    )


def _call(request: Entry) -> str:
    (value,) = request["input"].values()
    return f"{request['tool']}({value!r})".replace("'", '"')


def _tools(results: Any) -> dict[str, Any]:
    def give() -> str:
        result: str = next(results)
        if result.startswith("error: "):
            raise ToolError(result.removeprefix("error: "))
        return result

    return {
        "find_payment": lambda invoice: give(),
        "search": lambda words: give(),
        "job_status": lambda job: give(),
        "open_page": lambda number: give(),
    }


def shown_a_cycle(rng: Random) -> FinalTask:
    """Show a rule that compares calls in a row, and ask when it notices a cycle."""
    length = rng.choice([1, 1, 2, 3])
    before = rng.randint(0, 2)
    calls = [*"XYZ"[:before], *islice(cycle("ABC"[:length]), 9)]
    code = f"""
calls = {list(calls)!r}

def stuck_at(calls):
    for n in range(3, len(calls) + 1):
        if calls[n - 1] == calls[n - 2] == calls[n - 3]:
            return n
    return None
"""
    at = run_code(code)["stuck_at"](calls)
    right = (
        (f"at call {at}", f"Calls {at - 2}, {at - 1} and {at} are the first three in a row that are equal.")
        if at
        else (
            "never",
            f"The run goes round {length} calls, so no call is like the one before it. Look at what comes back, or count over the whole run.",
        )
    )
    wrong = [
        ("never", "Three equal calls in a row are there."),
        (
            f"at call {before + 2 * length + 1}",
            "There the first call of the round comes for the third time, but not three times in a row.",
        ),
        (f"at call {before + length + 1}", "There a call comes for the second time."),
        (
            f"at call {before + 4}",
            f"Are calls {before + 2}, {before + 3} and {before + 4} the first three that are equal?",
        ),
        (
            f"at call {before + 6}",
            f"Are calls {before + 4}, {before + 5} and {before + 6} the first three that are equal?",
        ),
    ]
    return choose(
        rng,
        "A to Z stand for calls. When does this rule say that the run is stuck?",
        numbered(code),
        right,
        wrong,
        "table-seen",
    )


def repair_the_guard(rng: Random) -> FinalTask:
    """Show a guard that ends runs that wait."""
    code = """
def stuck(done):
    call, result = done[-1]
    same = 0
    for earlier in done:
        if earlier[0] == call:
            same += 1
    return same >= 3
"""
    job, percent = rng.randint(100, 999), sorted(rng.sample(range(3, 98), 3))

    def judge(names: dict[str, Any]) -> str:
        waits = [(f"status {job}", f"{each}%") for each in percent]
        same = [(f"find {job}", "nothing")] * 3
        cases = [
            (waits, False, f"a job that goes on: {', '.join(f'{each}%' for each in percent)}"),
            (same, True, "one call that brought the same three times"),
            (same[:2], False, "one call that brought the same twice"),
            ([(f"find {n}", "nothing") for n in range(3)], False, "three calls that each found nothing"),
            ([same[0], ("other", "1"), same[1], ("other", "2"), same[2]], True, "three equal calls with others in between"),
        ]  # fmt: skip
        for done, wanted, words in cases:
            said = names["stuck"](list(done))
            if bool(said) is not wanted:
                return f"For {words} it said {said}, and should say {wanted}."
        return ""

    return mend(
        "`done` holds pairs of a call and its result. This guard ends a run that waits for a job: 10%, 40%, 60%. Stuck is a run "
        "whose last call has brought the same result three times. Mend one line.",
        code, (5, "if earlier == (call, result):"),
        "Same call and same result: polling brings something new each time.", judge, "polling-seen",
    )  # fmt: skip
