"""ex01: write the loop."""

from random import Random

from agentlib.course.checking.fake_data import World
from agentlib.course.checking.spec import Criterion, Exercise, Scenario
from agentlib.course.exercises import loops

__all__ = ["EXERCISE"]


def scenarios(rng: Random) -> dict[str, Scenario]:
    """The scenarios of one check."""
    return loops.loop_scenarios(World(rng))


CHAIN = ("goal_first", "tool_run", "request_kept", "result_kept", "answered")

EXERCISE = Exercise(
    name="ex01_write_the_loop",
    title="Write the loop",
    lesson="02_blue_mugs",
    given_by=("02_blue_mugs",),
    difficulty=2,
    minutes=15,
    task="write the loop: four moves, a limit, a reason",
    scenarios=scenarios,
    criteria=(
        Criterion(
            "goal_first", 1, "asks the model, and its first call reads the goal alone",
            nudge="What is in the history before anything has happened?",
            hint=(
                'Start with `history = [{"role": "user", "text": goal}]`, inside the function, and call '
                "`model(history)`."
            ),
            judge=loops.begins_with_the_goal,
        ),
        Criterion(
            "tool_run", 1, "runs the tool that was asked for, once, with its input",
            nudge="The reply names a tool and has an input. What do you do with the two?",
            hint='`tools[reply["tool"]]` is a function; `**reply["input"]` hands it the named arguments.',
            judge=loops.runs_the_tool,
            after=CHAIN[:1],
        ),
        Criterion(
            "request_kept", 2, "keeps every request of the model in the history",
            nudge="What happens to `reply` between asking and acting?",
            hint=(
                "The model remembers nothing. Append the reply itself to the history before you run the tool."
            ),
            judge=loops.keeps_requests,
            after=CHAIN[:2],
        ),
        Criterion(
            "result_kept", 1, "keeps every result in the history, behind its request",
            nudge="How does the model get to know what the tool found?",
            hint='Append `{"role": "tool", "result": ...}` after the request, with what the tool gave.',
            judge=loops.keeps_results,
            needs=CHAIN[2:3],
            after=CHAIN[:2],
            details=(
                "The value may stand there as it is, as text, or inside a dict. 0, an empty text and `None` "
                "are results too. What stands there once is never changed."
            ),
        ),
        Criterion(
            "answered", 1, 'ends at the answer: the answer, the number of steps, "answered"',
            nudge="How do you know that a reply is an answer, and what do you give back then?",
            hint='Return `{"answer": reply["text"], "steps": step, "stopped": "answered"}` at once.',
            judge=loops.ends_with_the_answer,
            after=CHAIN[:4],
            details=(
                "`steps` counts how often the model was asked. An answer counts whenever it comes, in the "
                "very "
                "first call too."
            ),
        ),
        Criterion(
            "step_limit", 2, 'asks at most max_steps times, then ends with no answer and "step limit"',
            nudge="Which part of your loop counts, and what is returned when the count is over?",
            hint=(
                "`for step in range(1, max_steps + 1)` asks exactly max_steps times; the return for the "
                "limit stands behind the loop, with `None` for the answer."
            ),
            judge=loops.stops_at_the_limit,
            after=CHAIN,
            details='Without an answer `"answer"` is `None`: nothing is made up.',
        ),
        Criterion(
            "failures", 2, "turns a failing tool and an unknown tool into results, and goes on",
            nudge="Which line can raise, and what should the model read then?",
            hint=(
                "Put `try` around the tool call alone, `except Exception as problem`, and record "
                "`str(problem)` as the result. A name that is not in `tools` gets a result that says so."
            ),
            judge=loops.failures_become_results,
            after=CHAIN,
            details=(
                "A result for a failure may be a text or a dict. It holds the failure's own message, or the "
                "name of the unknown tool. A model that fails is no failing tool: it is not asked again."
            ),
        ),
        loops.leaves(CHAIN),
    ),
)  # fmt: skip
