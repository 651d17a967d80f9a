"""Tasks of lesson 01: the four moves, and a model that remembers nothing."""

from random import Random
from typing import Any

from agentlib.course.final.task import FinalTask, Played, choose, mend, numbered, run_code
from agentlib.messages import answer, ask

CITIES = ("Chennai", "Shimla", "Pune", "Kochi", "Jaipur", "Nagpur")

LOOP = """
def run_agent(model, tools, goal, max_steps):
    history = [goal]
    for step in range(1, max_steps + 1):
        reply = model(history)
        history.append(reply)
        if reply["type"] == "answer":
            return "answered", step, len(history)
        result = tools[reply["tool"]](**reply["input"])
        history.append(result)
    return "step limit", max_steps, len(history)
"""


def shown_how_it_ends(rng: Random) -> FinalTask:
    """Show the loop, and ask how a run ends."""
    cities, max_steps = rng.randint(2, 4), rng.randint(2, 5)
    model = Played(*(ask("weather", city=city) for city in CITIES[:cities]), answer("Pack a coat."))
    run_agent = run_code(LOOP)["run_agent"]
    reason, steps, entries = run_agent(model, {"weather": lambda city: "12 C"}, {"goal": ""}, max_steps)

    def words(reason: str, steps: int, entries: int) -> str:
        return f"`{reason}`, {steps} calls, {entries} entries"

    other = "step limit" if reason == "answered" else "answered"
    why = (
        f"{cities} requests and the answer would take {cities + 1} calls, and {max_steps} are allowed. Each request "
        "leaves two entries, the answer one, and the goal is the first."
    )
    wrong = [
        (
            words(other, steps, entries),
            f"Count the calls: it takes {cities + 1}, and {max_steps} are allowed.",
        ),
        (words(reason, steps, steps + 1), "A request that is run leaves two entries: itself and its result."),
        (
            words(other, steps + 1, entries + 1),
            f"More than {max_steps} calls are never made, nor more than are needed.",
        ),
        (words(reason, max(1, steps - 1), entries), "The call that brings the last reply counts, too."),
    ]
    text = (
        f"The model asks for the weather of {cities} cities, one at each call, and then it answers. "
        f"`max_steps` is {max_steps}. What does the loop return?"
    )
    return choose(rng, text, numbered(LOOP), (words(reason, steps, entries), why), wrong, "loop-words")


def shown_what_it_knows(rng: Random) -> FinalTask:
    """Show a model and a history, and ask what comes of a part of it."""
    city, degrees, part = (
        rng.choice(CITIES),
        rng.randint(8, 39),
        rng.choice(["[:1]", "[:2]", "[1:]", "[-1:]"]),
    )
    code = f"""
def model(history):
    results = [entry["result"] for entry in history if "result" in entry]
    if not results:
        return {{"type": "tool", "tool": "weather", "input": {{"city": "{city}"}}}}
    return {{"type": "answer", "text": "It is " + results[-1]}}

history = [{{"role": "user", "text": "Is it warm in {city}?"}},
           {{"type": "tool", "tool": "weather", "input": {{"city": "{city}"}}}},
           {{"role": "tool", "result": "{degrees} C"}}]
reply = model(history{part})
"""
    asks = f"the request for the weather of {city}"
    says = f'the answer "It is {degrees} C"'
    is_answer = run_code(code)["reply"]["type"] == "answer"
    right = (
        (says, "The part that is sent holds the result, and that is all this model looks at.")
        if is_answer
        else (
            asks,
            "The part that is sent holds no result. The model remembers nothing, so it asks as if for the first time.",
        )
    )
    wrong = [
        (asks, f"It asks only where it is sent no result, and `history{part}` holds one."),
        (says, f"It would have to remember the {degrees} C: they do not stand in `history{part}`."),
        (
            "an error, since entries are missing",
            "A model reads what it gets. It cannot know that there was more.",
        ),
        ("nothing, as it has been asked before", "It does not know that it has been asked before."),
    ]
    return choose(
        rng, f"What does `model(history{part})` give?", numbered(code), right, wrong, "forgets-words"
    )


def repair_what_is_sent(rng: Random) -> FinalTask:
    """Show a loop that sends too little."""
    part = rng.choice(["history[-1:]", "history[:1]", "[goal]", "history[-2:]"])
    code = f"""
def run_agent(model, tools, goal, max_steps):
    history = [goal]
    for step in range(max_steps):
        reply = model({part})
        history.append(reply)
        if reply["type"] == "answer":
            return reply["text"]
        result = tools[reply["tool"]](**reply["input"])
        history.append(result)
    return None
"""

    def judge(names: dict[str, Any]) -> str:
        city, other = rng.sample(CITIES, 2)
        model = Played(ask("weather", city=city), ask("weather", city=other), answer("Pack a coat."))
        goal = {"role": "user", "text": "Where is it colder?"}
        said = names["run_agent"](model, {"weather": lambda city: f"12 C in {city}"}, goal, 5)
        sizes = [len(history) for history in model.seen]
        if sizes != [1, 3, 5]:
            return f"The calls were sent {', '.join(map(str, sizes))} entries, and should be sent 1, 3, 5."
        whole = [goal, ask("weather", city=city), f"12 C in {city}"]
        if model.seen[1] != whole:
            return "Call 2 was not sent the goal, the request and its result, in this order."
        return "" if said == "Pack a coat." else f"It returned {said!r} in place of the answer."

    return mend(
        "With this loop a model asks for the same city again and again, though every result is recorded. Mend one line.",
        code, (4, "reply = model(history)"),
        "The model remembers nothing between calls. All that it may know has to be sent each time.", judge, "forgets-words",
    )  # fmt: skip
