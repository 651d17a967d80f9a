"""The exceptions of the course; those of the library are in `agentlib.errors`."""

__all__ = ["NotebookError"]


class NotebookError(Exception):
    """What is wrong with a notebook, in one sentence for the learner."""
