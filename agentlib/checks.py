"""Where the first form of the course had `check`; saved notebooks still import it from here."""

from agentlib.course import check

__all__ = ["check"]
