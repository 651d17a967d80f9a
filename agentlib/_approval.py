"""A person's yes: what `approve` may give, and what the model is told of a no."""

from collections.abc import Callable
from enum import Enum
from typing import Literal

from agentlib.messages import Entry, ReadCall, short
from agentlib.tools import words_of

__all__ = ["LATER", "Approve", "Later", "refusal_of"]


class Later(Enum):
    """What `approve` gives when a person has not decided yet: the run then waits."""

    LATER = "later"

    def __repr__(self) -> str:
        return "LATER"


LATER = Later.LATER
Approve = Callable[[Entry], bool | str | Later]
"""Asked before a risky tool runs. Only True is a yes; a text is a no, and the model reads it; see `LATER`."""


def refusal_of(approve: Approve | None, call: ReadCall) -> str | Literal[Later.LATER]:
    """Ask whether a risky tool may run; "" = yes. Only True is a yes; a text is a no with its reason."""
    if approve is None:
        return f"{call.tool} needs a person's yes, and nobody can be asked in this run. It was not run."
    try:
        yes = approve(call.public())
    except KeyboardInterrupt:
        raise
    except BaseException as problem:
        why = words_of(problem)
        return f"{call.tool} needs a person's yes, and asking for it failed: {why}. It was not run."
    if yes is True:
        return ""
    if yes is LATER:
        return LATER
    reason = (
        f', with these words: "{short(yes.strip(), 200)}"' if isinstance(yes, str) and yes.strip() else ""
    )
    return f"A person was asked whether {call.tool} may run and said no{reason}. It was not run."
