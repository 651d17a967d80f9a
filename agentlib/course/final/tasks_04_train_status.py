"""Tasks of lesson 04: what is a repeat, and what is not."""

import json
from collections import Counter
from random import Random
from typing import Any

from agentlib import run_agent, stops
from agentlib.course.final.task import FinalTask, Played, choose, mend, numbered, run_code
from agentlib.messages import answer, ask


def shown_which_request_is_refused(rng: Random) -> FinalTask:
    """Show requests, and ask at which one the rule stops the run."""
    trains = [str(rng.randint(10_000, 99_999)) for _ in range(3)]
    order = [0, 1, 2, *rng.choices(range(3), k=4)]
    rng.shuffle(order)
    minutes = iter(range(3, 90, 3))
    moving = rng.random() < 0.4  # then each look at the first train brings something new
    requests = [trains[place] for place in order]

    def train_status(number: str) -> str:
        return f"{next(minutes)} minutes late" if moving and number == trains[0] else "on time"

    model = Played(*(ask("train_status", number=number) for number in requests), answer("That is all."))
    run = run_agent(
        model, {"train_status": train_status}, "Which are late?", 20, stops=[stops.RepeatedCall(3)]
    )
    stopped = run.steps if run.stopped == "repeated call" else 0
    # What would come if all were run: where it ends must not be seen.
    minutes = iter(range(3, 90, 3))
    results = list(map(train_status, requests))
    shown = [
        f'{n}  train_status("{number}")  {result}'
        for n, (number, result) in enumerate(zip(requests, results, strict=True), 1)
    ]
    word = f"request {stopped}" if stopped else "none of them"
    third = next(n for n, number in enumerate(requests, 1) if requests[:n].count(number) == 3)
    in_a_row = next((n for n in range(3, 8) if len(set(requests[n - 3 : n])) == 1), 3)
    why = (
        f"It is the third request for {requests[stopped - 1]}, and the two before brought the same."
        if stopped
        else "No request has come three times with the same result each time."
    )

    def why_not(number: int) -> str:
        if stopped and number > stopped:
            return f"Request {number} is never made: request {stopped} is refused before."
        if number == third:
            return "It is the third of its kind, but its results differed: each look brought something new."
        return f"Request {number} has not come twice before and brought the same both times."

    wrong = [(f"request {n}", why_not(n)) for n in (third, in_a_row, 5, 3, 6, 7, 4)]
    wrong.insert(
        2, ("none of them", "Look for one that has come twice before and brought the same both times.")
    )
    text = (
        "The rule does not run a request that would be the third of the same tool with the same input, if the two "
        "before brought the same result. Beside each request stands what it brings if it is run. Which one is refused first?"
    )
    return choose(rng, text, "\n".join(shown), (word, why), wrong, "same-tool")


def shown_equal_inputs(rng: Random) -> FinalTask:
    """Show how calls are counted as text, and ask what comes out."""
    number, day = rng.randint(10_000, 99_999), rng.choice(["Monday", "Friday", "Sunday"])
    one, other = {"number": number, "day": day}, {"day": day, "number": number}
    calls = [one] * rng.randint(2, 3) + [other] * rng.choice([1, 2, 4]) + [{"number": number + 1, "day": day}]
    rng.shuffle(calls)
    is_sorted = rng.random() < 0.4
    code = "calls = [{}]\n{}{}".format(
        ",\n         ".join(json.dumps(call) for call in calls),
        f"keys = [json.dumps(call{', sort_keys=True' if is_sorted else ''}) for call in calls]\n",
        "most = max(keys.count(key) for key in keys)",
    )
    most = run_code(code, json=json)["most"]
    meant = max(Counter(json.dumps(call, sort_keys=True) for call in calls).values())
    text = Counter(json.dumps(call) for call in calls).most_common(1)[0][1]
    why = (
        "With sorted keys one and the same input is one and the same text."
        if is_sorted
        else "Without sorted keys one input is two texts, and each is counted for itself."
    )
    wrong = [
        (str(meant), "So many mean the same, but their texts differ: the keys are not sorted."),
        (str(text), "The keys are sorted before they are compared, so both orders count together."),
        (str(len(calls)), "One of them asks for another train."),
        ("1", "Some are equal to the letter."),
        (str(len(calls) + 1), "There are not so many calls."),
    ]
    return choose(rng, "What is `most` at the end?", numbered(code), (str(most), why), wrong, "same-call")


def repair_the_key(rng: Random) -> FinalTask:
    """Show a rule that counts the tool alone."""
    code = """
import json

def too_often(calls):
    seen = []
    for call in calls:
        key = call["tool"]
        seen.append(key)
        if seen.count(key) == 3:
            return True
    return False
"""
    a, b, c = (str(rng.randint(10_000, 99_999)) + end for end in "abc")

    def judge(names: dict[str, Any]) -> str:
        cases = [
            ([("status", {"n": a}), ("status", {"n": b}), ("status", {"n": c})], False, "three trains, looked up once each"),
            ([("status", {"n": a})] * 3, True, "one train, looked up three times"),
            ([("status", {"n": a}), ("price", {"n": a})] * 2, False, "two tools with one input, twice each"),
            ([("status", {"n": a}), ("status", {"n": b})] * 3, True, "two trains in turn, three times each"),
            ([("s", {"n": a, "d": b}), ("s", {"d": b, "n": a}), ("s", {"n": a, "d": b})], True, "one input, its keys in another order"),
        ]  # fmt: skip
        for calls, wanted, words in cases:
            said = names["too_often"]([{"tool": tool, "input": dict(given)} for tool, given in calls])
            if bool(said) is not wanted:
                return f"For {words} it said {said}, and should say {wanted}."
        return ""

    return mend(
        "This rule ends a run that looks up three different trains. Only the same tool with the same input, whatever the order "
        "of its keys, is a repeat. Mend one line.",
        code, (6, "key = json.dumps(call, sort_keys=True)"),
        "The same tool is normal work. The same tool with the same input asks for what is known.", judge, "same-call",
    )  # fmt: skip
