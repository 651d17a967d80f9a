"""Tasks of lesson 09: a loop with one bug, and what is seen of it."""

from random import Random
from typing import Any, NamedTuple

from agentlib.course.final.task import (
    MAX_CALLS,
    AskedTooOften,
    FinalTask,
    Played,
    choose,
    judged,
    mend,
    numbered,
    run_code,
)
from agentlib.messages import answer, ask

LOOP = """
def run_agent(model, tools, goal, max_steps):
    history = [goal]
    for step in range(max_steps):
        reply = model(history)
        history.append(reply)
        if reply["type"] == "answer":
            return "answered", reply["text"]
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = {"error": str(problem)}
        history.append(result)
    return "step limit", None
""".strip("\n")


class Bug(NamedTuple):
    """A line that was right, and what stands there now. seen: what is noticed. why: what the line does."""

    line: int
    text: str
    seen: str
    why: str


BUGS = (
    Bug(3, "while True:", "a model that never answers is asked for ever", "Nothing but an answer ends it, and the model decides whether one comes."),
    Bug(4, "reply = model(history[:1])", "the model asks the same at every call, though each result is recorded", "The model is sent the goal alone, so it cannot know what was found."),
    Bug(5, "last = reply", "the model asks for the same at every call: it sees results, and no request of its own", "The reply is never recorded. The model finds a result and cannot tell what it was the result of."),
    Bug(7, 'return "step limit", None', "the model answers, and the caller reads that the run was cut off", "An answer is given back as if the limit had been reached."),
    Bug(11, "result = None", "a tool fails, and the model never mends its request", "The model reads `None`, so it cannot learn what was wrong."),
    Bug(12, "result = history", "the model asks again for what it has asked for: its requests stand in the history one after the other", "The result of the tool is never recorded."),
    Bug(13, 'return "answered", None', "a run that was cut off looks like one that is done", "The caller cannot tell that the limit ended it."),
)  # fmt: skip


def with_bug(bug: Bug) -> str:
    """Give the loop with one line as it stands in a bug."""
    lines = LOOP.split("\n")
    old = lines[bug.line - 1]
    lines[bug.line - 1] = old[: len(old) - len(old.lstrip())] + bug.text
    return "\n".join(lines)


GOAL = {"role": "user", "text": "Which is warmer?"}


def judge(names: dict[str, Any]) -> str:
    """Say what a loop does wrong; "" = it does what the loop of the course does."""
    run_agent = names["run_agent"]

    def warm(city: str) -> str:
        if city == "Shimla":
            raise ValueError("Shimla is not known. Ask for Simla.")
        return f"30 C in {city}"

    first, second, last = ask("warm", city="Shimla"), ask("warm", city="Pune"), answer("Pune")
    model = Played(first, second, last)
    came = run_agent(model, {"warm": warm}, GOAL, 9)
    sent = model.seen[-1]
    whole = sent[:2] == [GOAL, first] and sent[3:] == [second, "30 C in Pune"] and len(sent) == 5
    if not whole or "Ask for Simla." not in str(sent[2]):
        read = ", ".join(map(_kind, sent))
        return f"Before its answer the model should read: goal, request, error, request, result. It read: {read}."
    if came != ("answered", "Pune"):
        return f"A run that was answered gave {came}."
    model = Played(second)
    came = run_agent(model, {"warm": warm}, GOAL, 4)
    if came != ("step limit", None) or len(model.seen) != 4:
        return f"A model that never answers was asked {len(model.seen)} times with `max_steps=4`, and the run gave {came}."
    return ""


def _kind(entry: Any) -> str:
    if not isinstance(entry, dict):
        return (
            "result" if isinstance(entry, str) else "None" if entry is None else f"a {type(entry).__name__}"
        )
    return next(
        (word for key, word in {"role": "goal", "type": "request", "error": "error"}.items() if key in entry),
        "?",
    )


def shown_which_line(rng: Random) -> FinalTask:
    """Show a loop with a bug and what was seen of it, and ask for the line."""
    bug = rng.choice(BUGS)
    code = with_bug(bug)
    assert judged(code, bug.line, bug.text, judge)
    others = [other for other in BUGS if other.line != bug.line]
    rng.shuffle(others)
    right = (f"line {bug.line}", bug.why)
    wrong = [
        (f"line {other.line}", f"Line {other.line} is as it should be: `{_right(other.line)}`.")
        for other in others
    ]
    text = f"What was seen: {bug.seen}. In which line is the fault?"
    return choose(rng, text, numbered(code), right, wrong, "your-loop")


def _right(line: int) -> str:
    return LOOP.split("\n")[line - 1].strip()


def shown_what_a_demo_hides(rng: Random) -> FinalTask:
    """Show a loop with a bug, and ask what a certain model makes of it."""
    bug = rng.choice([each for each in BUGS if each.line in (3, 7, 13)])
    code, max_steps, requests = with_bug(bug), rng.randint(2, 5), rng.choice([1, 3, 99])
    model = Played(*[ask("t")] * requests, answer("Done."))
    try:
        came = repr(run_code(code)["run_agent"](model, {"t": lambda: 1}, GOAL, max_steps))
    except AskedTooOften:
        came = "nothing: it goes on"
    asks = f"asks {requests} times and then answers" if requests < MAX_CALLS else "never answers"
    wrong = [
        (
            repr(("answered", "Done.")),
            "Follow the lines: is that what is returned where an answer comes, and does it come in time?",
        ),
        (
            repr(("step limit", None)),
            "Follow the lines: is there a limit, and what is returned where it is reached?",
        ),
        ("nothing: it goes on", "There is something that ends it: look at line 3 and line 7."),
        (repr(("answered", None)), "Which line returns that, and is it reached?"),
    ]
    text = f"A model {asks}. `max_steps` is {max_steps}. What does this loop return?"
    return choose(rng, text, numbered(code), (came, bug.why), wrong, "demo-seen")


def repair_the_bug(rng: Random) -> FinalTask:
    """Show a loop with a bug and what was seen of it, and ask for the mend."""
    bug = rng.choice(BUGS)
    text = f"What was seen: {bug.seen}. Mend one line."
    return mend(text, with_bug(bug), (bug.line, _right(bug.line)), bug.why, judge, "your-loop")
