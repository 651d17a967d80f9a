"""Where the first form of the course had `fork`; saved notebooks still import it from here."""

from agentlib.watch import fork

__all__ = ["fork"]
