"""The exercises: what each must do, and hints that name what is wrong.

A module here whose name begins with "ex" and a number is an exercise; its `EXERCISE` says all about it.
"""

import re
from importlib import import_module
from pkgutil import iter_modules

from agentlib.course.checking.spec import Exercise
from agentlib.messages import short

__all__ = ["EXERCISES", "find_exercise"]

EXERCISES: dict[str, Exercise] = {
    exercise.name: exercise
    for name in sorted(module.name for module in iter_modules(__path__) if re.match(r"ex\d+_", module.name))
    for exercise in [import_module(f"{__name__}.{name}").EXERCISE]
}
"""All exercises, by name, in the order of their numbers."""


def find_exercise(name: str) -> Exercise:
    """Find an exercise by its name, by the beginning of it, "ex02", or by its file's name, in any case.

    Raises ValueError if there is none.
    """
    wanted = name.strip().lower().removesuffix(".ipynb")
    for known, exercise in EXERCISES.items():
        if wanted in (known, known.split("_")[0]):
            return exercise
    raise ValueError(f'There is no exercise "{short(name, 60)}". There are: {", ".join(EXERCISES)}.')
