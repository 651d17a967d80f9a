"""The errors that `agentlib` raises, in one tree, each saying what was wanted, what came and what to do.

A model's mistake is never one of these: it becomes a message that the model can read.
"""

__all__ = [
    "AgentLibError",
    "FatalToolError",
    "FileLineError",
    "ForkError",
    "JudgeError",
    "ProviderError",
    "ReplayError",
    "ResultsFileError",
    "ResumeError",
    "ScriptExhausted",
    "SummaryError",
    "ToolError",
    "ToolTimeoutError",
    "TraceFileError",
    "UnrunError",
    "WindowError",
]


class AgentLibError(Exception):
    """The root of all errors of this package."""


class ToolError(AgentLibError):
    """Raised inside a tool to give the model an error with a code of its own.

    message: what went wrong and what to do next, written for the model.
    code: a short word such as "not_found"; it becomes the result's "error".
    Raises TypeError if the code is no text.
    """

    code: str = "tool_failed"

    def __init__(self, message: str, code: str = "tool_failed") -> None:
        if not isinstance(code, str):
            raise TypeError(f"The code of an error is text, but was {code!r}.")
        super().__init__(message)
        self.code = code


class FatalToolError(ToolError):
    """Raised inside a tool for what no model can mend (a wrong key, a tool that is gone): it ends the run."""

    def __init__(self, message: str, code: str = "fatal") -> None:
        super().__init__(message, code)


class UnrunError(ToolError):
    """Raised inside a tool that refuses its arguments before it has done anything: it counts as not run.

    failed: False = it counts as no error either.
    """

    failed: bool = True

    def __init__(self, message: str, code: str = "tool_failed", *, failed: bool = True) -> None:
        super().__init__(message, code)
        self.failed = failed


class ToolTimeoutError(AgentLibError):
    """Raised when a tool has given nothing within its time limit; says what has become of its work."""


class ScriptExhausted(AgentLibError):
    """Raised when a scripted model is asked more often than it has replies.

    replies: how many replies the script had.
    """

    def __init__(self, replies: int) -> None:
        super().__init__(
            f"The script has {replies} replies and was asked for number {replies + 1}. "
            "Make a fresh model for each run, or add replies to the script."
        )
        self.replies = replies


class ReplayError(AgentLibError):
    """Raised when a replayed run leaves the path that was recorded.

    expected: what the recording holds at this point; got: what the new run did instead.
    """

    def __init__(self, what: str, expected: object, got: object) -> None:
        super().__init__(f"The replay left the recording: {what}. Recorded: {expected!r}. Now: {got!r}.")
        self.expected = expected
        self.got = got


class ResumeError(AgentLibError):
    """Raised when a run cannot go on from its trace; says what is missing and what to do."""


class ForkError(AgentLibError):
    """Raised when a run cannot be forked as asked; says what was expected and what came."""


class ProviderError(AgentLibError):
    """Raised when a real model cannot be asked, or its reply cannot be read. No key ever stands in its words.

    provider: which one, such as "openai". status: the number of the HTTP response; None = there was none.
    text: what there is of the reply. usage: the tokens that the failed call was counted; None = not said.
    worth_retrying: the same call may go well later. retry_after_seconds: not before then; None = not said.
    """

    def __init__(
        self,
        provider: str,
        problem: str,
        status: int | None = None,
        *,
        text: str = "",
        usage: dict[str, int] | None = None,
        worth_retrying: bool = False,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(f"{provider}: {problem}")
        self.provider = provider
        self.status = status
        self.text = text
        self.usage = usage
        self.worth_retrying = worth_retrying
        self.retry_after_seconds = retry_after_seconds


class FileLineError(AgentLibError):
    """Raised when a line of a file is not what it should be.

    path: the file; line: the number of the line in it, counted from 1.
    """

    def __init__(self, path: str, line: int, problem: str) -> None:
        super().__init__(f"{path}, line {line}: {problem}")
        self.path = path
        self.line = line


class TraceFileError(FileLineError):
    """Raised when a file is no trace, or a trace of a version that this package cannot read."""


class ResultsFileError(FileLineError):
    """Raised when a file does not hold the results of an evaluation, or those of another one."""


class JudgeError(AgentLibError):
    """Raised when a judge that is a model gives no verdict; says what came instead."""


class SummaryError(AgentLibError):
    """Raised when a summary of old steps cannot stand in for them: no text, blank, or longer than they are.

    got: what the summariser gave.
    """

    def __init__(self, problem: str, got: object) -> None:
        super().__init__(f"A summary is text that is shorter than what it replaces, but {problem}.")
        self.got = got


class WindowError(AgentLibError):
    """Raised when what a model would read does not fit into its window.

    tokens: how much that is, estimated. window_tokens: how much the window holds.
    """

    def __init__(self, what: str, tokens: int, window_tokens: int, advice: str) -> None:
        super().__init__(f"{what} {tokens:,} tokens, and the window holds {window_tokens:,}. {advice}")
        self.tokens = tokens
        self.window_tokens = window_tokens
