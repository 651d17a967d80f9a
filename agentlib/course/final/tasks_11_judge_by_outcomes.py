"""Tasks of lesson 11: many runs, an interval, and tests of what came out."""

from random import Random
from typing import Any

from agentlib.course.final.task import FinalTask, choose, mend
from agentlib.evals import wilson_interval


def shown_in_all_runs(rng: Random) -> FinalTask:
    """Show a table of cases and runs, and ask for pass^k."""
    cases = ("refund", "late", "address", "unknown", "two orders")
    table = {case: [rng.random() < 0.78 for _ in range(4)] for case in cases}
    runs = [ok for row in table.values() for ok in row]
    all_four, any_run = sum(map(all, table.values())), sum(map(any, table.values()))
    share = f"{100 * sum(runs) / len(runs):.0f}%"
    if all_four in (0, 5) or f"{20 * all_four}%" == share:
        return shown_in_all_runs(rng)
    rows = [f"{case:<11} " + "  ".join("pass" if ok else "FAIL" for ok in row) for case, row in table.items()]
    wrong = [
        (share, "That is the share of runs, pass@1. The question is about cases that pass every time."),
        (f"{20 * any_run}%", "In these cases at least one run passed."),
        (f"{100 - 20 * all_four}%", "These are the cases in which a run failed."),
        (f"{20 * all_four - 20}%", "Count the rows without a FAIL once more."),
        (f"{20 * all_four + 20}%", "In one of these rows stands a FAIL."),
    ]
    why = f"Rows without a FAIL: {all_four} of 5. A user who comes four times meets the worst of four runs."
    text = "Five cases, four runs each. What is pass^4: the share of cases that pass in all four runs?"
    return choose(rng, text, "\n".join(rows), (f"{20 * all_four}%", why), wrong, "power-words")


def shown_is_it_better(rng: Random) -> FinalTask:
    """Show two versions with their passes, and ask what can be said."""
    runs = rng.choice([10, 20, 200, 400])
    old, new = round(runs * rng.uniform(0.55, 0.65)), round(runs * rng.uniform(0.78, 0.9))
    if rng.random() < 0.5:
        old, new = new, old
    (a, b), (c, d) = wilson_interval(old, runs), wilson_interval(new, runs)
    rows = [
        "version   passed      95% interval",
        f"old       {old:>3} of {runs}  {a:.0%} to {b:.0%}",
        f"new       {new:>3} of {runs}  {c:.0%} to {d:.0%}",
    ]
    apart, shared = b < c or d < a, min(b, d) - max(a, c)
    if not apart and shared < 0.1:  # too close for a question with one right answer
        return shown_is_it_better(rng)
    verdict = (
        ("the new one is better" if new > old else "the new one is worse")
        if apart
        else "too few runs to tell"
    )
    other = "the new one is worse" if new > old else "the new one is better"
    seen = "the new one is better" if new > old else "the new one is worse"
    why = (
        "The two intervals lie apart."
        if apart
        else "The two intervals overlap widely: the next runs may turn it round."
    )
    wrong = [
        (seen, "So it looked in these runs. But the intervals overlap: make more of them."),
        (other, "Look which of the two has passed more often."),
        ("too few runs to tell", "The intervals lie apart, so chance is no good explanation."),
        ("both are equally good", "That two figures may come from chance does not make them equal."),
    ]
    return choose(rng, "What do these runs say?", "\n".join(rows), (verdict, why), wrong, "interval-words")


def repair_the_test(rng: Random) -> FinalTask:
    """Show a test that asks for one path."""
    poor = rng.choice([
        'return tools_used == ["search", "search", "save_note"]',
        'return len(tools_used) == 3 and tools_used[-1] == "save_note"',
        'return tools_used[:2] == ["search", "search"]',
    ])  # fmt: skip
    word = rng.choice(["tides", "bees", "owls"])
    code = f"""
def passes(tools_used, note):
    {poor}
"""

    def judge(names: dict[str, Any]) -> str:
        good = f"All about {word}."
        cases = [
            (["search", "search", "save_note"], good, True, "two searches and the right note"),
            (["search", "save_note"], good, True, "one search and the right note"),
            (["save_note", "search", "read", "save_note"], good, True, "another path and the right note"),
            (["search", "search", "save_note"], "", False, "an empty note"),
            (["search", "search", "save_note"], "All about cars.", False, "a note on something else"),
            (["search", "delete_note", "save_note"], good, False, "`delete_note` used"),
        ]
        for tools, note, expected, words in cases:
            came = names["passes"](list(tools), note)
            if bool(came) is not expected:
                return f"A run with {words}: it said {came}, and should say {expected}."
        return ""

    return mend(
        f'This test fails good runs that take another path. A run is good if the word "{word}" stands in its note and it has never '
        "used `delete_note`. Mend one line.",
        code, (2, f'return "{word}" in note and "delete_note" not in tools_used'),
        "A test of the outcome says what must come out and what must not happen, not which way to go.", judge, "case-words",
    )  # fmt: skip
