"""Tasks of lesson 02: a tool that says no, and a limit that comes too soon."""

from random import Random
from typing import Any

from agentlib import run_agent
from agentlib.course.final.task import FinalTask, Played, choose, mend, numbered, run_code, told
from agentlib.messages import answer, ask, json_text

PLACES = ("north", "south", "harbour", "airport", "station")

NO_TRY = """
        result = tools[reply["tool"]](**reply["input"])
"""
TRY = """
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = {"error": str(problem)}
"""


def shown_what_a_failure_does(rng: Random) -> FinalTask:
    """Show a loop with or without `try`, and ask what a misspelt name does."""
    place, other = rng.sample(PLACES, 2)
    has_try, max_steps = rng.random() < 0.5, rng.choice([3, 5, 6])
    code = f"""
def stock_level(warehouse):
    return {{"{place}": 140, "{other}": 95}}[warehouse]

def run_agent(model, tools, goal, max_steps):
    history = [goal]
    for step in range(1, max_steps + 1):
        reply = model(history)
        history.append(reply)
        if reply["type"] == "answer":
            return "answered", step
{(TRY if has_try else NO_TRY).strip(chr(10))}
        history.append(result)
    return "step limit", max_steps
"""
    names = run_code(code)
    model = Played(
        *(ask("stock_level", warehouse=name) for name in (place, other.title(), other)),
        answer(f"{place} has more."),
    )
    try:
        reason, steps = names["run_agent"](model, {"stock_level": names["stock_level"]}, "goal", max_steps)
        came = f"`{reason}` after {steps} calls"
        why = (
            f"The failure became a result that the model read. It took 4 calls, and {max_steps} were allowed."
        )
    except KeyError:
        came, why = (
            "`KeyError` in step 2",
            "Nothing catches what the tool raises, so the run is over and its work lost.",
        )
    wrong = [
        ("`KeyError` in step 2", "The `except` catches it and makes a result of it."),
        ("`answered` after 4 calls", "That takes 4 calls that are allowed, and a failure that is caught."),
        ("`answered` after 3 calls", "The call whose request failed counts like every other one."),
        (f"`step limit` after {max_steps} calls", "Count its calls: three requests and the answer, if nothing ends it before."),
    ]  # fmt: skip
    text = (
        f'The model asks for "{place}", then "{other.title()}", then "{other}", and answers in its fourth reply. '
        f"`max_steps` is {max_steps}. How does the run end?"
    )
    return choose(rng, text, numbered(code), (came, why), wrong, "no-try-words")


def shown_what_was_never_read(rng: Random) -> FinalTask:
    """Show a whole history, and ask which results no call has read."""
    places, max_steps = rng.sample(PLACES, 3), rng.choice([2, 3, 4, 6])
    stock = {place: rng.randint(20, 190) for place in places}
    model = Played(
        *(ask("stock_level", warehouse=place) for place in places),
        answer(f"{max(stock, key=stock.__getitem__)}"),
    )
    run = run_agent(
        model, {"stock_level": lambda warehouse: stock[warehouse]}, "Which warehouse has most?", max_steps
    )
    results = [number for number, entry in enumerate(run.history, 1) if entry.get("role") == "tool"]
    unread = [number for number in results if number > len(model.seen[-1])]
    assert len(unread) <= 1
    last = f"the one in entry {results[-1]}"
    right = (
        (
            last,
            f"The last call read {len(model.seen[-1])} entries. Then the limit was reached, and nobody read what came after.",
        )
        if unread
        else (
            "none: each was read",
            f"The last call read {len(model.seen[-1])} entries, all results among them.",
        )
    )
    wrong = [
        (last, "The call that brought the answer read it."),
        ("none: each was read", "Which call would have read the last one? None came after it."),
        (f"the one in entry {results[0]}", "Each call reads the whole history, the oldest result, too."),
        ("all but the last one", "Each call reads the whole history, not only what is new."),
    ]
    text = f"A run with `max_steps={max_steps}` left this history. It ended with `{run.stopped}`. Which result has the model never read?"
    return choose(rng, text, told(run.history), right, wrong, "limit-words")


def repair_the_error(rng: Random) -> FinalTask:
    """Show an `except` that tells the model nothing."""
    poor = rng.choice(
        [
            'return {"error": "failed"}',
            'return {"error": True}',
            "return None",
            'return {"error": type(problem)}',
        ]
    )
    code = f"""
def act(tools, call):
    try:
        return tools[call["tool"]](**call["input"])
    except Exception as problem:
        {poor}
"""
    first, second = rng.sample(PLACES, 2)

    def judge(names: dict[str, Any]) -> str:
        for words in (f'Use "{first}" or "{second}".', "Write the date as 2026-03-01."):

            def fails(words: str = words) -> None:
                raise ValueError(words)

            came = names["act"]({"t": fails}, {"tool": "t", "input": {}})
            read = [came] if isinstance(came, str) else list(came.values()) if isinstance(came, dict) else []
            if not any(isinstance(text, str) and words in text for text in read):
                return f"The tool said `{words}`, and the model reads {json_text(came)[:80]}."
        came = names["act"]({"t": lambda n: n + 1}, {"tool": "t", "input": {"n": 4}})
        return "" if came == 5 else f"A tool that gives 5 without failing came back as {came!r}."

    return mend(
        "A model writes the same wrong name at every call, although the tool's error says which names there are. Mend one line.",
        code, (5, 'return {"error": str(problem)}'),
        "The model can mend only what it gets to read: the tool's own words.", judge, "act-words",
    )  # fmt: skip
