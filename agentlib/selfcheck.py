"""Where the first form of the course had `self_check`; saved notebooks still import it from here."""

from agentlib.course import self_check

__all__ = ["self_check"]
