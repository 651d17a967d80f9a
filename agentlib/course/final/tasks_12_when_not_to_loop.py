"""Tasks of lesson 12: what a loop costs where none is needed, and how one sees that."""

from random import Random

from agentlib.costs import tokens_read_total
from agentlib.course.final.task import FinalTask, choose, numbered, run_code


def shown_two_bills(rng: Random) -> FinalTask:
    """Show two ways to do a batch, and ask what they read."""
    items, tokens = rng.choice([9, 19, 39, 79]), rng.choice([100, 200, 500])
    single, agent = items * tokens, round(tokens_read_total(items, tokens))
    factor = agent / single
    assert factor == (items + 1) / 2
    shown = f"""{items} letters, about {tokens} tokens each, one model call for each

way 1: for letter in letters: one call that reads this letter
way 2: an agent; each call reads the whole history, in which the letters before stand

way 1 reads {single:,} tokens"""
    right = (
        f"{factor:.0f} times as much",
        f"{agent:,} tokens: 1 + 2 + ... + {items} letters, which is (n + 1) / 2 times as many.",
    )
    wrong = [
        ("as much: the letters are the same", "Each letter is read again at every call that comes after it."),
        (
            f"{items} times as much",
            "So much it would be if every call read all the letters. Call 1 reads one.",
        ),
        ("twice as much", f"The last call alone reads all {items} letters."),
        (f"{factor / 2:.0f} times as much", "Add up 1 + 2 + ... + n and divide by n."),
    ]
    return choose(rng, "How much does way 2 read?", shown, right, wrong, "bill-words")


def shown_three_logs(rng: Random) -> FinalTask:
    """Show which tools were used in three runs of some jobs, and ask which job wants an agent."""
    paths = [
        ["list", "read", "add", "send"],
        ["read", "choose", "file"],
        ["open", "translate", "upload"],
        ["fetch", "check", "store"],
    ]
    rng.shuffle(paths)
    jobs = [[path] * 3 for path in paths[:3]]
    free = [
        ["read", "look_up"],
        ["read", "look_up", "ask", "refund"],
        ["ask", "read", "search", "look_up", "answer"],
    ]
    jobs.append(rng.sample(free, 3))
    rng.shuffle(jobs)
    names = [f"job {letter}" for letter in "ABCD"]
    rows = [
        f"{name}, run {run}: {' > '.join(path)}"
        for name, runs in zip(names, jobs, strict=True)
        for run, path in enumerate(runs, 1)
    ]
    varied = [len({tuple(path) for path in runs}) > 1 for runs in jobs]
    assert sum(varied) == 1
    right = (
        names[varied.index(True)],
        "No two of its runs needed the same tools in the same order: the path is found on the way.",
    )
    wrong = [
        (
            name,
            f"Its three runs went {' > '.join(runs[0])}, each time: write it down as it is, with a model in the step that needs one.",
        )
        for name, runs, differs in zip(names, jobs, varied, strict=True)
        if not differs
    ]
    return choose(rng, "Which job is worth an agent?", "\n".join(rows), right, wrong, "path-words")


def shown_can_it_hang(rng: Random) -> FinalTask:
    """Show a pipeline with a model in one step, and ask for its model calls."""
    items, clear = rng.randint(20, 90), rng.randint(5, 15)
    stuck = rng.choice([2, 3, 4])
    code = f"""
def pick(model, invoice, choices):
    reply = model(invoice)
    return reply if reply in choices else "flag for a person"

calls = 0
for number in range({items}):
    if number < {clear}:
        continue
    calls += 1
    pick(lambda invoice: "look again", number, ["A", "B"])
"""
    calls = run_code(code)["calls"]
    wrong = [
        ("for ever: it is stuck", "`for` goes to the next invoice, whatever the model has said."),
        (str(items), f"For {clear} of the invoices no model is asked."),
        (str(calls * stuck), "A reply that is of no use costs its one call. Nobody asks again."),
        ("1", "A useless reply ends nothing but its own invoice."),
    ]
    why = (
        f"One for each invoice that wants a judgement: {items} - {clear}. That is why a pipeline cannot hang."
    )
    text = 'The model is stuck and replies "look again" each time. How often is it asked in all?'
    return choose(rng, text, numbered(code), (str(calls), why), wrong, "your-chosen")
