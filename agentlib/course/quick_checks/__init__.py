"""The small tasks inside the lessons: a learner writes a few lines, and one line says what they did.

A module here called lesson_NN holds the tasks of lesson NN, in `TASKS`. What a task is made of, and how it is
played: see `agentlib.course.quick_checks.task`. Solutions stand in the notebooks alone.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from agentlib.course.quick_checks.task import SmallTask
from agentlib.messages import short

__all__ = ["find_task", "lessons_with_tasks", "quick_check"]


def quick_check(name: str, mine: Any) -> Any:
    """Play what a learner wrote, print one line of what was seen, and give back what the lesson goes on with.

    name: of the task, such as "01 loop". mine: the learner's function, or a value where a task wants one.
    Gives back `mine` if it is right, else the course's own, so that what follows works; the line says which.
    Raises ValueError if there is no such task.
    """
    task = find_task(name)
    verdict = task.judge(mine)
    print(f"{task.name}: {verdict.line}")
    return mine if verdict.right else task.ours


def lessons_with_tasks() -> list[str]:
    """List the numbers of the lessons that have tasks: "01", "02", ..."""
    names = [module.name for module in iter_modules(__path__)]
    return sorted(name.removeprefix("lesson_") for name in names if name.startswith("lesson_"))


def find_task(name: str) -> SmallTask:
    """Find a task by its name. Raises ValueError if there is none, with the names of its lesson."""
    lesson = name[:2] if isinstance(name, str) else ""
    tasks: tuple[SmallTask, ...] = ()
    if lesson in lessons_with_tasks():
        tasks = import_module(f"{__name__}.lesson_{lesson}").TASKS
    for task in tasks:
        if task.name == name:
            return task
    known = ", ".join(f'"{task.name}"' for task in tasks) or "for lessons " + ", ".join(lessons_with_tasks())
    raise ValueError(f"There is no task {short(name, 60)}. There are: {known}.")
