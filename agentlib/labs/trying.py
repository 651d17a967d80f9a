"""Where the first form of the course had `try_it`; saved notebooks still import it from here."""

from agentlib.course import try_it

__all__ = ["try_it"]
