"""Tasks of lesson 10: what a run proves, and what it only says."""

from random import Random
from typing import Any

from agentlib.course.final.task import FinalTask, choose, mend, told
from agentlib.messages import Entry, ask

TOPICS = ("tides", "bees", "bridges", "glaciers", "owls")
RUNGS = (
    "the model says that it is done",
    "a tool says that it is done",
    "the note is in the folder",
    "its source supports the note",
)


def shown_which_rung(rng: Random) -> FinalTask:
    """Show a run and what lies in the folder, and ask how far the evidence goes."""
    topic, number = rng.choice(TOPICS), rng.randint(11, 99)
    rung = rng.randrange(4)
    found, noted = (
        f"{topic}: {number} kinds are known [p{number}]",
        number if rung == 3 else number + rng.randint(1, 9),
    )
    note = f"{noted} kinds are known [p{number}]"
    history: list[Entry] = [{"role": "user", "text": f"Write a note on {topic}, with its source."}]
    history += [ask("search", words=topic), {"role": "tool", "tool": "search", "result": found}]
    if rung:
        history += [ask("save_note", text=note), {"role": "tool", "tool": "save_note", "result": "saved"}]
    history.append({"type": "answer", "text": "Done. The note is saved."})
    folder = f"note.txt: {note}" if rung > 1 else "(empty)"
    evidence = _rung(history, folder, found)
    assert evidence == rung
    whys = (
        "The tool that saves was never asked, and the folder is empty. The sentence is all there is.",
        "The tool said `saved`, and the folder is empty.",
        f"There is a note, but it says {noted}, and the source says {number}.",
        "There is a note, and the source that it names says the same.",
    )
    hints = (
        "There is more: look at what the tools said.",
        "Compare what the tool said with what lies in the folder."
        if rung > 1
        else "Was the tool that saves asked at all?",
        "Look into the folder, and compare the note with what the search has found.",
        "Look into the folder, and compare each figure with its source.",
    )
    wrong = [(RUNGS[place], hints[place]) for place in range(4) if place != rung]
    text = "How far does the evidence go?"
    return choose(
        rng, text, f"{told(history)}\nfolder: {folder}", (RUNGS[rung], whys[rung]), wrong, "ladder-words"
    )


def _rung(history: list[Entry], folder: str, found: str) -> int:
    if folder == "(empty)":
        return int(any(entry.get("result") == "saved" for entry in history))
    return 3 if found.split(": ", 1)[1] in folder else 2


def shown_which_rounds_count(rng: Random) -> FinalTask:
    """Show a row of searches, and ask how many of them have added evidence."""
    topic, pages = rng.choice(TOPICS), [f"p{n}" for n in rng.sample(range(1, 30), 5)]
    rounds: list[list[str]] = []
    known: set[str] = set()
    added = 0
    for _ in range(6):
        found = rng.sample(pages[: rng.choice([1, 3, 4, 5])], 1) if rng.random() < 0.8 else []
        added += not set(found) <= known
        known |= set(found)
        rounds.append(found)
    if added in (0, 6):
        return shown_which_rounds_count(rng)
    rows = [
        f"{n}  search({topic} {n})  {', '.join(found) or 'nothing found'}"
        for n, found in enumerate(rounds, 1)
    ]
    hits = sum(map(bool, rounds))
    wrong = [
        (str(hits), "A page that was found before adds nothing."),
        ("6", "A round counts by the evidence that it adds, not because it was made."),
        (str(added - 1), "The first page that is found is new, too."),
        (str(added + 1), "Strike out each page that stood there before."),
        (str(added + 2), "Count the pages that come for the first time."),
    ]
    why = f"{added} rounds brought a page that was not known before. More rounds are not more quality."
    return choose(
        rng,
        "In how many of these rounds has the evidence grown?",
        "\n".join(rows),
        (str(added), why),
        wrong,
        "rounds-words",
    )


def repair_the_proof(rng: Random) -> FinalTask:
    """Show a check that believes the model."""
    poor = rng.choice(['return "saved" in answer', "return bool(answer)", 'return answer.startswith("Done")'])
    topic, number = rng.choice(TOPICS), rng.randint(11, 99)
    code = f"""
def note_is_right(answer, files, wanted):
    # answer: what the model said. files: names and texts in the folder.
    {poor}
"""

    def judge(names: dict[str, Any]) -> str:
        wanted = f"{topic}: {number}"
        cases = [
            ("Done. The note is saved.", {}, False, "an empty folder"),
            (
                "Done. The note is saved.",
                {"note.txt": f"{topic}: {number + 1}"},
                False,
                "a note with another figure",
            ),
            ("Done. The note is saved.", {"note.txt": f"I looked: {wanted} kinds."}, True, "the right note"),
            (
                "I could not do it, sorry.",
                {"note.txt": f"{wanted} kinds."},
                True,
                "the right note, whatever the model says of it",
            ),
            ("Done. The note is saved.", {"other.txt": wanted}, False, "a file of another name"),
        ]
        for said, files, expected, words in cases:
            came = names["note_is_right"](said, dict(files), wanted)
            if bool(came) is not expected:
                return f"With {words} it said {came}, and should say {expected}."
        return ""

    return mend(
        "`note_is_right` should be true if the file `note.txt` is in the folder and holds the text `wanted`. Mend one line.",
        code, (3, 'return wanted in files.get("note.txt", "")'),
        "What the model says is the lowest rung. The file itself is what the user wanted.", judge, "ladder-words",
    )  # fmt: skip
