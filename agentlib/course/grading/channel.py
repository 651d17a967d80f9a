"""The grader's end of the channel: one child, its messages, its time and its memory."""

import contextlib
import json
import os
import queue
import select
import shutil
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import IO

from agentlib.course.errors import ChildEndedError, ProtocolError
from agentlib.course.grading.cgroup import remove_cgroup
from agentlib.course.grading.limits import SPARE_MB, Limits
from agentlib.course.grading.processes import kill_below, kill_user, longest_wait_seconds, memory_bytes
from agentlib.course.grading.sandbox import Backend
from agentlib.course.grading.sandbox_root import SandboxRoot
from agentlib.messages import Entry, short

__all__ = ["SENT_TOO_MUCH", "Child"]

LOOK_SECONDS = 0.05
"""Time between two looks at the clock while a message is waited for."""

WEIGH_SECONDS = 0.2
"""Time between two looks at the memory, for which all processes of the machine have to be looked through."""

START_SECONDS = 10.0
"""A child that has not reported by then does not start."""

SENT_TOO_MUCH = "sent too much"


class Child:
    """One child, from its start to its end. Raises ChildEndedError where it does not start.

    deadline: a moment of `time.monotonic()` at which it is ended, whatever it does.
    log_bytes: what earlier children of the same submission have sent, as it is counted here.
    """

    def __init__(
        self, backend: Backend, root: SandboxRoot, limits: Limits, deadline: float, log_bytes: int = 0
    ) -> None:
        self.limits = limits
        self.deadline = deadline
        self.log_bytes = log_bytes
        self.printed_bytes = 0
        self.cpu_seconds = 0.0
        self.kept = bytearray()
        self._ended = ""
        self._last_id = 0
        self._looked = self._weighed = time.monotonic()
        self._lines: deque[bytes] = deque()
        self._rest = b""
        self._chunks: queue.Queue[bytes] | None = None
        self._started = backend.start(root, limits)
        self._process = self._started.process
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None
        self._stdin, self._stdout = stdin, stdout
        try:
            if os.name == "posix":
                os.set_blocking(stdin.fileno(), False)
                # Unlike `select`, it takes pipes of any number, where a thousand files are open.
                self._readable, self._writable = select.poll(), select.poll()
                self._readable.register(stdout, select.POLLIN)
                self._writable.register(stdin, select.POLLOUT)
            else:  # Windows cannot wait for a pipe and for a clock at the same time
                self._chunks = queue.Queue(maxsize=8)
                threading.Thread(target=self._read_chunks, args=(stdout, self._chunks), daemon=True).start()
            threading.Thread(target=self._read_output, args=(stderr,), daemon=True).start()
            started = self._started
            first = {"limits": asdict(limits), "user": started.user, "guarded": started.guarded}
            self.held = self.ask(first, START_SECONDS).get("held", [])
        except ChildEndedError as end:
            self.end()
            lines = self.kept.decode(errors="replace").split("\n")
            raise ChildEndedError(end.why, short(next(filter(None, reversed(lines)), ""), 200)) from None
        except BaseException:
            self.end()
            raise

    # --- messages

    def ask(
        self,
        request: Entry,
        seconds: float,
        called: Callable[[str, list[object], Entry], Entry] | None = None,
    ) -> Entry:
        """Send one request and wait for its outcome.

        seconds: time for it. called: answers the calls that come meanwhile.
        Raises ChildEndedError if the child ends, or has to be ended; ProtocolError at a message that
        is not in order.
        """
        self._last_id += 1
        until = time.monotonic() + seconds
        self._send({**request, "id": self._last_id}, until)
        calls = 0
        while True:
            message = self._receive(until)
            if message.get("id") != self._last_id:
                raise self._forged(f"a message with the id {short(message.get('id'), 30)}")
            if "outcome" in message:
                outcome = message["outcome"]
                if not isinstance(outcome, dict):
                    raise self._forged("an outcome that is no dict")
                return outcome
            if "cell" in message and called is None:
                until = time.monotonic() + seconds  # the next cell has its own time
                calls += 1
                if calls > self.limits.messages:
                    raise self._forged("more cells than there are")
                continue
            calls += 1
            name, args, kwargs = message.get("call"), message.get("args"), message.get("kwargs")
            if called is None or message.get("n") != calls:
                raise self._forged("a call out of turn")
            if not (isinstance(name, str) and isinstance(args, list) and isinstance(kwargs, dict)):
                raise self._forged("a call of the wrong form")
            if calls > self.limits.messages:
                self.end("called too often")
                raise ChildEndedError(self._ended)
            self._send({"id": self._last_id, "n": calls, "answer": called(name, args, kwargs)}, until)

    def run_cells(self, cells: Sequence[Entry], functions: Sequence[str]) -> Entry:
        """Have cells run, and functions of these names made ready to be called. Raises as `ask` does."""
        seconds = self.limits.cell_seconds
        request = {"do": "cells", "cells": cells, "functions": functions, "seconds": seconds}
        return self.ask(request, seconds + self.limits.grace_seconds)

    def call(
        self, request: Entry, called: Callable[[str, list[object], Entry], Entry], seconds: float
    ) -> Entry:
        """Have a function called; see `Learner.run` in the simulator. Raises as `ask` does."""
        wanted = {"do": "call", "request": request, "seconds": seconds}
        return self.ask(wanted, seconds + self.limits.grace_seconds, called)

    def _forged(self, what: str) -> ProtocolError:
        self.end("forged a message")
        return ProtocolError(what)

    def _send(self, message: Entry, until: float) -> None:
        data = memoryview(json.dumps(message).encode() + b"\n")
        while data:
            try:
                data = data[os.write(self._stdin.fileno(), data) :]
            except BlockingIOError:  # the pipe is full
                self._writable.poll(LOOK_SECONDS * 1_000)
                self._look(until)
            except OSError:
                raise self._gone() from None

    def _receive(self, until: float) -> Entry:
        while True:
            if time.monotonic() - self._looked >= LOOK_SECONDS:
                self._look(until)
            if self._lines:
                line = self._lines.popleft()
                break
            self._take(self._next_chunk())
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            raise self._forged("a message that is no JSON") from None
        if not isinstance(message, dict):
            raise self._forged("a message that is no dict")
        return message

    def _gone(self) -> ChildEndedError:
        """The pipes are closed: the child has ended, or has closed them."""
        self.end("ended its own process")
        return ChildEndedError(self._ended)

    def _look(self, until: float) -> None:
        """End the child if its time is over or its memory too large."""
        self._looked = time.monotonic()
        late = self._looked > until and self._looked > until + longest_wait_seconds(self.pid)
        if late or self._looked > self.deadline:
            self.end("ran too long")
        elif self._looked - self._weighed > WEIGH_SECONDS:
            self._weighed = self._looked
            if memory_bytes(self.pid) > (self.limits.memory_mb + SPARE_MB) * 1_000_000:
                self.end("used too much memory")
        if self._ended:
            raise ChildEndedError(self._ended)

    # --- what comes out of the pipes

    def _take(self, chunk: bytes | None) -> None:
        """Cut what has come into lines, none too long. None: nothing has come; b"": nothing will any more."""
        if chunk is None:
            return
        if not chunk:
            raise self._forged("half a message") if self._rest else self._gone()
        self.log_bytes += in_memory(chunk)
        if self.log_bytes > self.limits.log_mb * 1_000_000:
            self.end(SENT_TOO_MUCH)
            raise ChildEndedError(self._ended)
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        self._lines.extend(lines)
        if not lines and len(self._rest) > self.limits.message_bytes:
            raise self._forged(f"a message of more than {self.limits.message_bytes:,} bytes")

    def _next_chunk(self) -> bytes | None:
        """Wait a moment for what the child sends. Reading it here, not in a thread, halves its cost."""
        if self._chunks is not None:
            with contextlib.suppress(queue.Empty):
                return self._chunks.get(timeout=LOOK_SECONDS)
            return None
        return self._read(self._stdout) if self._readable.poll(LOOK_SECONDS * 1_000) else None

    def _read(self, pipe: IO[bytes]) -> bytes:
        """Read what is there; b"" at the end."""
        try:
            return os.read(pipe.fileno(), 65536)
        except OSError:
            return b""

    def _read_chunks(self, pipe: IO[bytes], chunks: "queue.Queue[bytes]") -> None:
        """Pass on what arrives, and wait while nobody takes it. Runs in a thread, which closes the pipe."""
        with pipe:
            chunk = b"begin"
            while chunk and not self._ended:
                chunk = self._read(pipe)
                while not self._ended:
                    with contextlib.suppress(queue.Full):
                        chunks.put(chunk, timeout=LOOK_SECONDS)
                        break

    def _read_output(self, pipe: IO[bytes]) -> None:
        """Keep the beginning of what is printed, and count all of it."""
        with pipe, contextlib.suppress(OSError):
            while chunk := os.read(pipe.fileno(), 65536):
                self.printed_bytes += len(chunk)
                self.kept += chunk[: max(0, self.limits.output_bytes - len(self.kept))]

    # --- the end

    @property
    def pid(self) -> int:
        """The number of the process that was started."""
        return self._process.pid

    def end(self, why: str = "was ended") -> None:
        """End the child with all that it has started, and remove its folder. May be called more than once."""
        if self._ended:
            return
        self._ended = why
        if self._started.stop is not None:
            self._started.stop()
        self.cpu_seconds = kill_below(self.pid)
        if os.name == "posix":
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        if self._started.user is not None and self._started.folder is not None:
            kill_user(self._started.user)
        with contextlib.suppress(OSError):
            self._stdin.close()  # a thread that reads closes its own pipe
            if self._chunks is None:
                self._stdout.close()
        if self._started.folder is not None:
            shutil.rmtree(self._started.folder, ignore_errors=True)
        if self._started.cgroup is not None:
            remove_cgroup(self._started.cgroup)


def in_memory(message: bytes) -> int:
    """Estimate the bytes that a message takes once it is read: an empty list is larger than its "[]"."""
    return len(message) + 64 * (message.count(b"[") + message.count(b"{")) + 32 * message.count(b",")
