"""The tasks of lesson 04: when are two requests the same call, and how often is too often?"""

from agentlib.course.quick_checks.task import SmallTask, Wrong, call
from agentlib.labs.trains import too_often

TASKS = (
    SmallTask(
        name="04 too often",
        ours=too_often,
        cases=(
            call(1, times=4),
            call(3, times=4, hint="The fourth request is the first that has come too often"),
            call(4, times=4, hint="The fourth of four is one too many, not the fifth"),
            call(7, times=4, hint="Beyond the number it is too often as well"),
            call(2, times=2, hint="`times` is not always the same"),
        ),
        wrong=(
            Wrong("count >= times", "count > times", "for (4, times=4), it gave False, not True"),
            Wrong("count >= times", "count == times", "for (7, times=4), it gave False, not True"),
            Wrong("count >= times", "count >= 3", "for (3, times=4), it gave True, not False"),
        ),
    ),
)
