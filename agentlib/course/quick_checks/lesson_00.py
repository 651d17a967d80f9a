"""The task of lesson 00: a first line, to see how the others work."""

from agentlib.course.quick_checks.task import SmallTask, Wrong, call


def twice(number: float) -> float:
    """Give back twice a number."""
    return 2 * number


TASKS = (
    SmallTask(
        name="00 twice",
        ours=twice,
        cases=(call(0), call(3), call(-4)),
        wrong=(
            Wrong("2 * number", "number + 2", "for (0), it gave 2, not 0"),
            Wrong("return 2 * number", "print(2 * number)", "for (0), it gave None, not 0"),
        ),
    ),
)
