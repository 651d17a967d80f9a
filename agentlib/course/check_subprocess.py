"""A notebook checked in a process of its own.

Whatever the notebook's code does, also `os._exit(0)` or a loop that nothing in Python can end: only a report
that has come out of that process, the child, counts as one. When it has come, or the time is over, the child
and what it started is ended.

This is for accidents. It is no sandbox: the code may do all that you may do on this computer, and code that
wants to can write a report of its own. Work of people whom you do not know is for `python -m agentlib grade`.
"""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import IO, Any

from agentlib.course.check_file import check_file
from agentlib.course.checking.engine import call_of, result_of
from agentlib.course.checking.report import NOT_REACHED, NOT_YET, OK, CheckReport, CriterionResult
from agentlib.course.checking.saw import Saw
from agentlib.course.checking.spec import Criterion, Fault
from agentlib.course.errors import NotebookError
from agentlib.course.exercises import find_exercise
from agentlib.messages import Entry

__all__ = ["check_in_subprocess"]

COURSE_DIR = str(Path(__file__).resolve().parents[2])
BEGIN = (
    "import sys; sys.path.append(sys.argv.pop(1)); from agentlib.course.check_subprocess import main; main()"
)
"""What the child does. This package is found there also where it is not installed, from any folder."""

START_SECONDS = 60.0
"""Time in which Python must have started and read the notebook."""


@dataclass
class _Doing:
    """What the child is about to do, and how long it may be silent meanwhile."""

    what: str = ""
    seconds: float = START_SECONDS


def check_in_subprocess(
    path: Path, seed: int | None = None, cell_seconds: float = 30.0, grace_seconds: float = 5.0
) -> CheckReport:
    """Run the code of one notebook in a child, check it there, and give the report that comes.

    cell_seconds: time for each cell. grace_seconds: so much longer than a cell or a function may run, the
    child may be silent; then it is ended.
    Raises NotebookError if the notebook cannot be checked, or if no report comes.
    """
    child = _start([str(path), json.dumps(seed), json.dumps(cell_seconds)])
    try:
        return _report(path, child, grace_seconds)
    finally:
        _end(child)


def _report(path: Path, child: "subprocess.Popen[bytes]", grace_seconds: float) -> CheckReport:
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    assert child.stdout is not None
    threading.Thread(target=_read, args=(child.stdout, lines), daemon=True).start()
    doing = _Doing()
    while True:
        try:
            line = lines.get(timeout=doing.seconds + grace_seconds)
        except queue.Empty:
            raise NotebookError(
                f"{path}: {doing.what or 'the check'} did not end within {doing.seconds:g} seconds, "
                "and could not be interrupted; so there is no report."
            ) from None
        if not line:
            where = f" in {doing.what}" if doing.what else ""
            raise NotebookError(
                f"{path}: the notebook's code ended the program{where}; so there is no report."
            )
        message = _message(line)
        if "problem" in message:
            raise NotebookError(str(message["problem"]))
        if "report" in message:
            return _made_again(path, message["report"])
        if "doing" in message:
            doing = _Doing(str(message["doing"]), float(message["seconds"]))


def _read(stream: IO[bytes], lines: "queue.SimpleQueue[bytes]") -> None:
    with stream:
        for line in stream:
            lines.put(line)
    lines.put(b"")


def _message(line: bytes) -> Entry:
    try:
        message = json.loads(line)
    except ValueError:  # something of the notebook's code has found the pipe
        return {}
    return message if isinstance(message, dict) else {}


def _made_again(path: Path, raw: Any) -> CheckReport:
    """Make a report of the child's bare results: names, points and what counts as passed are our own."""
    try:
        exercise = find_exercise(raw["exercise"])
        results = tuple(
            _result(part, criterion, *given)
            for part, (criterion, given) in enumerate(
                zip(exercise.criteria, raw["results"], strict=True), start=1
            )
        )
        notes = tuple(map(str, raw["notes"]))
        seed = int(raw["seed"])
        call = call_of(exercise, seed)
        return CheckReport(exercise.name, exercise.title, seed, raw["started"] is True, results, notes, call)
    except (KeyError, TypeError, ValueError):
        raise NotebookError(f"{path}: what came from the check is no report.") from None


def _result(
    part: int, criterion: Criterion, status: object, seen: Any, hint: Any, where: Any, saw: list[Any]
) -> CriterionResult:
    scenario, call, step = where
    fault = Fault(str(seen), str(hint), str(scenario), int(call), int(step))
    return result_of(criterion, _status(status), fault, part, tuple(Saw(*map(str, row)) for row in saw))


def _status(status: object) -> str:
    if status not in (OK, NOT_YET, NOT_REACHED):
        raise ValueError(status)
    return str(status)


# --- to start and to end a process and what it starts


def _start(words: list[str]) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", BEGIN, COURSE_DIR, *words]
    nothing = subprocess.DEVNULL
    # In a group of its own: Ctrl-C comes to us alone, and the whole group can be ended.
    if sys.platform == "win32":
        group = subprocess.CREATE_NEW_PROCESS_GROUP
        return subprocess.Popen(
            command, stdin=nothing, stdout=subprocess.PIPE, stderr=nothing, creationflags=group
        )
    return subprocess.Popen(
        command, stdin=nothing, stdout=subprocess.PIPE, stderr=nothing, start_new_session=True
    )


def _end(child: "subprocess.Popen[bytes]") -> None:
    if sys.platform == "win32":
        subprocess.run(["taskkill", "/T", "/F", "/PID", str(child.pid)], capture_output=True, check=False)
    else:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    child.kill()
    child.wait()


# --- in the child


class _Pipe:
    """The child's way to tell its parent something: JSON, one message a line, at what was standard output.

    What the notebook's code prints goes elsewhere. A process that it forks off has the pipe too; it ends
    where it would use it.
    """

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.number = os.dup(1)
        os.dup2(2, 1)

    def send(self, message: Entry) -> None:
        if os.getpid() != self.pid:
            os._exit(0)
        # The line break before it ends whatever else may have got into the pipe.
        data = b"\n" + json.dumps(message).encode() + b"\n"
        while data:
            data = data[os.write(self.number, data) :]


def _raw(report: CheckReport) -> Entry:
    return {
        "exercise": report.exercise,
        "seed": report.seed,
        "started": report.started,
        "results": [
            (
                result.status,
                result.seen,
                result.hints[0],
                (result.scenario, result.seen_at, result.seen_after),
                [astuple(row) for row in result.saw],
            )
            for result in report.results
        ],
        "notes": report.notes,
    }


def main() -> None:
    """Check one notebook, and tell the parent what is done now and, at the end, the report."""
    pipe = _Pipe()
    path, seed, cell_seconds = Path(sys.argv[1]), json.loads(sys.argv[2]), json.loads(sys.argv[3])
    try:
        report = check_file(
            path, seed, cell_seconds, now=lambda what, seconds: pipe.send({"doing": what, "seconds": seconds})
        )
        pipe.send({"report": _raw(report)})
    except NotebookError as problem:
        pipe.send({"problem": str(problem)})
    except BaseException as problem:  # in our own code, perhaps since the notebook's has changed Python's
        said = f"{problem!r}"[:200]  # needs no function that may be missing by now
        pipe.send({"problem": f"{path}: the check broke off at an error: {said}."})
    os._exit(0)  # threads that still run, and what was to be done at the end, hold nothing up
