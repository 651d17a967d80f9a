"""The child: runs a learner's cells, then calls their functions when the grader asks for it.

It holds no tests and no expected values; the model and the tools that the functions call are played by the
grader. Messages are JSON, one a line: the grader's come in at standard input, the child's go out at a copy of
standard output. What the learner's code prints goes elsewhere.

`agentlib.course.grading.sandbox_root` puts this folder into the child's. Nothing else of the grader is there.
"""

import json
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, BinaryIO

from agentlib.course.running.cells import Cell, Ran, run_cells
from agentlib.course.running.runner import Runner, error_of, why_not
from agentlib.messages import Entry, short

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

__all__ = ["main"]

MB = 1_000_000
PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, SIGKILL = 1, 38, 9


class Channel:
    """The child's end of the two pipes. message_bytes: longer messages are not sent.

    A process that a learner's code forks off has the pipes too; it ends where it would use them.
    """

    def __init__(self, requests: BinaryIO, replies: BinaryIO) -> None:
        self.requests = requests
        self.replies = replies
        self.message_bytes = MB
        self.pid = os.getpid()

    def read(self) -> Entry:
        """Wait for the grader's next message; without a grader there is nothing left to do."""
        self._only_here()
        line = self.requests.readline()
        if not line:
            os._exit(0)
        message: Entry = json.loads(line)
        return message

    def send(self, message: Entry) -> bool:
        """Send a message. Returns False, and sends nothing, if it is too long."""
        self._only_here()
        data = json.dumps(message).encode() + b"\n"
        if len(data) > self.message_bytes:
            return False
        try:
            self.replies.write(data)
            self.replies.flush()
        except OSError:
            os._exit(0)
        return True

    def _only_here(self) -> None:
        if os.getpid() != self.pid:
            os._exit(0)


def open_channel() -> Channel:
    """Take the two pipes, and give standard input and output to the learner's code."""
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return Channel(requests, replies)


def confine(limits: Entry, user: int | None, guarded: bool) -> list[str]:
    """Take the limits on, for good; then become another user, if one is given. Names the limits that hold.

    guarded: the sandbox ends this process with itself, and lets it get no new rights.

    A limit counts for each process; that on processes counts all of one user, those that run now included.
    Root is above some of them, so it has to become somebody else.
    """
    held = []
    if resource is not None:
        values = {
            "RLIMIT_AS": limits["memory_mb"] * MB,
            "RLIMIT_CPU": limits["cpu_seconds"],
            "RLIMIT_FSIZE": limits["file_mb"] * MB,
            "RLIMIT_NOFILE": limits["open_files"],
            "RLIMIT_NPROC": limits["processes"] + tasks_of(os.getuid() if user is None else user),
            "RLIMIT_CORE": 0,
        }
        for name, value in values.items():
            try:
                resource.setrlimit(getattr(resource, name), (value, value))
                held.append(name)
            except (AttributeError, ValueError, OSError):
                pass  # this system has no such limit, or a lower one holds
    if user is not None:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    if sys.platform == "linux" and not guarded:
        import ctypes  # noqa: PLC0415  takes time to load, and the safest backend does without

        libc = ctypes.CDLL(None)
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
    return held


def tasks_of(user: int) -> int:
    """Count the processes and threads of a user, as far as they can be seen, without this one."""
    count = 0
    for entry in os.scandir("/proc") if os.path.isdir("/proc") else ():
        try:
            if entry.name.isdigit() and entry.stat().st_uid == user:
                count += len(os.listdir(f"/proc/{entry.name}/task"))
        except OSError:
            pass  # it has ended meanwhile
    return max(0, count - 1)


class Service:
    """What the grader can ask for: `cells` once, then `call` as often as it likes."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.ran = Ran({})

    def serve(self) -> None:
        """Answer requests, one at a time, until there are no more."""
        while True:
            request = self.channel.read()
            outcome = self.cells(request) if request["do"] == "cells" else self.call(request)
            if not self.channel.send({"id": request["id"], "outcome": outcome}):
                error = {"type": "ValueError", "message": "what was returned is too long to be passed on"}
                self.channel.send(
                    {
                        "id": request["id"],
                        "outcome": {"raised": {**error, "line": 0, "code": "", "place": ""}},
                    }
                )

    def cells(self, request: Entry) -> Entry:
        """Run the cells, telling the grader which is next. Gives problems, and what became of each name."""

        def before(cell: Cell) -> None:
            self.channel.send({"id": request["id"], "cell": cell.name})

        cells = [Cell(cell["number"], cell["source"], code=cell.get("code")) for cell in request["cells"]]
        sys.path.insert(0, "")  # as in a notebook: its own folder comes first
        self.ran = run_cells(cells, request["seconds"], before=before, as_main=True)
        names = {}
        for name in request["functions"]:
            value = self.ran.names.get(name)
            if not callable(value):
                names[name] = "nothing" if value is None else f"{short(value, 60)}, which is no function"
            else:
                why = why_not(value)
                names[name] = f"{why} `def {name}(...)`" if why else ""
        return {"problems": [short(problem, 300) for problem in self.ran.problems[:20]], "names": names}

    def call(self, request: Entry) -> Entry:
        """Call one of the learner's functions and give its outcome."""
        count = 0
        is_over = False
        turn = threading.Lock()  # several threads may call, and each wants the answer to its own call

        def called(name: str, args: list[Any], kwargs: Entry) -> Entry:
            nonlocal count
            with turn:
                if is_over:
                    return {"raises": {"type": "RuntimeError", "message": "the function has ended already"}}
                count += 1
                message = {"id": request["id"], "n": count, "call": name, "args": args, "kwargs": kwargs}
                if not self.channel.send(message):
                    count -= 1
                    error = {"type": "ValueError", "message": "what was given is too long to be passed on"}
                    return {"raises": error}
                answer: Entry = self.channel.read()["answer"]
                return answer

        name = request["request"]["function"]
        learner = Runner({name: self.ran.names[name]}, loop=self.ran.loop)
        try:
            return learner.run(request["request"], _or_exit(called), request["seconds"])
        except KeyboardInterrupt as interrupt:  # raised by the learner's own code: there is no keyboard here
            return {"raised": error_of(interrupt)}
        finally:
            with turn:  # a thread that goes on must not get between this call and the next
                is_over = True


def _or_exit(called: Callable[[str, list[Any], Entry], Entry]) -> Callable[[str, list[Any], Entry], Entry]:
    """End the process where passing a call on fails: nothing that comes after it could be trusted."""

    def careful(name: str, args: list[Any], kwargs: Entry) -> Entry:
        try:
            return called(name, args, kwargs)
        except BaseException as problem:
            os.write(2, f"channel: {problem!r}\n".encode())
            os._exit(70)

    return careful


def main() -> None:
    """Take the limits on, say so, and serve."""
    channel = open_channel()
    first = channel.read()
    held = confine(first["limits"], first["user"], first["guarded"])
    channel.message_bytes = first["limits"]["message_bytes"]
    channel.send({"id": first["id"], "outcome": {"held": held}})
    Service(channel).serve()
