"""ex03: find the bugs. The loop ends as ex01 does; each of the four bugs has a criterion of its own."""

from random import Random

from agentlib.course.checking.fake_data import World
from agentlib.course.checking.spec import Criterion, Exercise, Scenario, in_turn
from agentlib.course.exercises import loops

__all__ = ["EXERCISE"]


def scenarios(rng: Random) -> dict[str, Scenario]:
    """The scenarios of one check."""
    return loops.loop_scenarios(World(rng))


WORKS, ENDS = ("works",), ("works", "tells_the_end")

EXERCISE = Exercise(
    name="ex03_find_the_bugs",
    title="Find the bugs",
    lesson="09_find_the_bugs",
    given_by=("09_find_the_bugs",),
    difficulty=3,
    minutes=20,
    task="find and mend four bugs",
    lead_in="{lesson}, and {exercise}: mend a loop that does none of this.",
    scenarios=scenarios,
    criteria=(
        Criterion(
            "works", 2, "still asks with the goal and runs the tools that were asked for",
            nudge="What did the fragile loop do here that yours no longer does?",
            hint=(
                "Copy the fragile loop, then mend one bug at a time, beginning with the loop that has no "
                "end. "
                'What the model reads is one list: `[{"role": "user", "text": goal}]`, and what comes after.'
            ),
            judge=in_turn(loops.begins_with_the_goal, loops.runs_the_tool),
            details="You may copy the fragile loop and begin from there; *Try it* stops what does not end.",
        ),
        Criterion(
            "request_kept", 2, "keeps the model's own request in the history, with its result behind it",
            nudge="Step through the scenario `forgotten`. Which entry would you expect in the second call?",
            hint="`reply` itself goes into the list before its result: two entries for each request.",
            judge=in_turn(loops.keeps_requests, loops.keeps_results),
            after=WORKS,
        ),
        Criterion(
            "tells_the_end", 2, 'gives back the answer, the number of steps and "answered"',
            nudge=(
                "Step through the scenario `untold`. What comes back to the caller, and how can it tell an "
                "answer from a run that was stopped?"
            ),
            hint='Return `{"answer": reply["text"], "steps": step, "stopped": "answered"}`.',
            judge=loops.ends_with_the_answer,
            after=WORKS,
        ),
        Criterion(
            "step_limit", 2, 'ends after max_steps calls with no answer and "step limit"',
            nudge="Step through the scenario `endless`. What could end it?",
            hint=(
                "`max_steps` is handed in and never used. A `for` loop over the steps uses it; behind it "
                'stands `return {"answer": None, "steps": max_steps, "stopped": "step limit"}`.'
            ),
            judge=loops.stops_at_the_limit,
            after=ENDS,
        ),
        Criterion(
            "failures", 2, "turns a failing tool and a misspelt tool name into results, and goes on",
            nudge=(
                "Step through the scenario `broken_tool`. Which line was the last one? When that is mended, "
                "what does the second request ask for?"
            ),
            hint=(
                "`try` around the tool call, `except Exception as problem`, and a result that holds the "
                "message; a name that is not in `tools` gets a result that names it."
            ),
            judge=loops.failures_become_results,
            after=ENDS,
        ),
        loops.leaves(ENDS),
    ),
)  # fmt: skip
