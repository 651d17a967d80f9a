"""The exceptions of the course; those of the library are in `agentlib.errors`."""

__all__ = [
    "ChildEndedError",
    "GradebookError",
    "HandoutError",
    "NotebookError",
    "ProtocolError",
    "SandboxError",
    "SiteError",
    "WorkerLostError",
]


class NotebookError(Exception):
    """What is wrong with a notebook, in one sentence for the learner."""


class GradebookError(Exception):
    """What keeps grades from being put into a gradebook, in a sentence for the instructor."""


class SandboxError(Exception):
    """No way of isolating works here, or none that is safe enough."""


class ProtocolError(Exception):
    """A message came that the child's own code never sends."""


class ChildEndedError(Exception):
    """The child is gone.

    why: in a few words, such as "ran too long". output: its last line, where it did not even start.
    """

    def __init__(self, why: str, output: str = "") -> None:
        super().__init__(f"{why}: {output}" if output else why)
        self.why = why


class SiteError(Exception):
    """What keeps the site from being built, in one sentence."""


class HandoutError(Exception):
    """What keeps the learners' folder from being made, in one sentence."""


class WorkerLostError(Exception):
    """A worker of a cluster was lost while it graded a submission."""
