"""Submissions that cheat, break things or are only unlucky, each with its true grade.

All are for ex01. What a case needs of a backend stands with it: a weaker one, which cannot bound it, never
gets it, so that nothing here can harm the machine that runs it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentlib.course.exercises import EXERCISES, FRESH_DIR

__all__ = ["CASES", "HONEST", "PARTIAL", "Case", "code_cell", "notebook"]

FRESH = json.loads((FRESH_DIR / "ex01_write_the_loop.ipynb").read_text(encoding="utf-8"))
SOLUTION_ID = "ex01_solution"
FULL = 10
PARTIAL = FULL - sum(one.points for one in EXERCISES["ex01_write_the_loop"].criteria if one.id == "failures")
"""What a solution is worth that is right but for a tool that fails."""

HONEST = """
def run_agent(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "steps": step, "stopped": "answered"}
        history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})
    return {"answer": None, "steps": max_steps, "stopped": "step limit"}
"""

# What somebody without a solution can return, and what it is worth: nothing.
CONSTANT = """
def run_agent(model, tools, goal, max_steps=10):
    return {"answer": "There are 140 in North.", "steps": 4, "stopped": "answered"}
"""


@dataclass(frozen=True)
class Case:
    """One submission. data: its file. points, status: the true grade. needs: promises of the backend.

    said: words that must stand in the notes. quiet: there must be no note at all.
    """

    name: str
    data: bytes
    points: int = FULL
    status: str = "graded"
    needs: frozenset[str] = frozenset()
    said: str = ""
    quiet: bool = False


def code_cell(source: str, **metadata: Any) -> dict[str, Any]:
    """Make a code cell that a learner added."""
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": f"added-{abs(hash(source)) % 10**8}",
        "metadata": metadata,
        "outputs": [],
        "source": source,
    }


def notebook(
    solution: str = HONEST, before: Sequence[str] = (), after: Sequence[str] = (), drop: Sequence[str] = ()
) -> bytes:
    """Make a submission. before, after: cells around the solution. drop: grade ids to leave out."""
    made = json.loads(json.dumps(FRESH))
    cells = []
    for cell in made["cells"]:
        grade_id = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
        if grade_id == SOLUTION_ID:
            cells += [code_cell(source) for source in before]
            cells.append({**cell, "source": solution})
            cells += [code_cell(source) for source in after]
        elif grade_id not in drop:
            cells.append(cell)
    made["cells"] = cells
    return json.dumps(made).encode()


def before_asking(code: str) -> bytes:
    """A right solution that does something else before each call of the model."""
    return notebook(HONEST.replace("reply = model", f"{code}\n        reply = model"))


def honest(name: str, *after: str, needs: Sequence[str] = (), said: str = "", **more: Any) -> Case:
    """A right solution with something odd behind it."""
    return Case(name, notebook(after=after), needs=frozenset(needs), said=said, **more)


def cheat(name: str, source: str, needs: Sequence[str] = (), status: str = "graded", **more: Any) -> Case:
    """One that has no solution and tries to get points without."""
    return Case(name, notebook(source), 0, status, needs=frozenset(needs), **more)


def if_it_can(reach: str) -> str:
    """A function that is right if some code is able to do what it must not, and worth nothing if not."""
    indented = "\n".join(f"        {line}" for line in reach.strip().splitlines())
    return (
        f"{HONEST.replace('def run_agent', 'def right')}\n"
        f"def reached():\n    import os\n    try:\n{indented}\n    except Exception:\n        return False\n"
        "found = reached()\n"
        f"{CONSTANT.replace('def run_agent', 'def constant')}\n"
        "run_agent = right if found else constant\n"
    )


def in_the_failing_tool(code: str) -> str:
    """A right solution but for what it does when a tool fails, which costs that criterion's points."""
    return HONEST.replace("result = f\"{reply['tool']}: {problem}\"", code)


CHANNEL = (
    "import gc, json, os\n"
    "channel = next(o for o in gc.get_objects() if type(o).__name__ == 'Channel')\n"
    "write = lambda data: (channel.replies.write(data), channel.replies.flush())\n"
)


def forged(name: str, code: str) -> Case:
    """One that finds the child's own pipe and writes to it."""
    source = (
        CHANNEL + "def run_agent(model, tools, goal, max_steps=10):\n" + f"    {code}\n" + "    return 1\n"
    )
    return cheat(name, source, status="tampered")


HERE = (
    CHANNEL
    + """
def here():
    import sys
    frame = sys._getframe()
    while not frame.f_locals.get("request", {}).get("id"):
        frame = frame.f_back
    return frame.f_locals["request"]
"""
)


def in_turn(name: str, message: str, **more: Any) -> Case:
    """One that knows the number of the call, answers in its place, and ends before anything else is sent."""
    source = (
        f"{HERE}def run_agent(model, tools, goal, max_steps=10):\n"
        f"    if here()['do'] != 'call': return\n"
        f"    write(b'{{\"id\": %d, {message}}}\\n' % here()['id'])\n"
        f"    os._exit(0)\n"
    )
    return cheat(name, source, **more)


def split(solution: str) -> bytes:
    """A solution of which one half stands in a cell of its own."""
    helper = "def make(goal):\n    return [{'role': 'user', 'text': goal}]"
    return notebook(solution.replace('[{"role": "user", "text": goal}]', "make(goal)"), before=[helper])


def edited(change: Any) -> bytes:
    """A right submission after a change of its plain form."""
    made = json.loads(notebook())
    change(made)
    return json.dumps(made).encode()


def solution_cell(made: dict[str, Any]) -> dict[str, Any]:
    """Find the cell with the solution."""
    return next(
        cell for cell in made["cells"] if cell["metadata"].get("nbgrader", {}).get("grade_id") == SOLUTION_ID
    )


def without_ids(made: dict[str, Any]) -> None:
    for cell in made["cells"]:
        cell["metadata"] = {}


def solution_first(made: dict[str, Any]) -> None:
    cell = solution_cell(made)
    made["cells"].remove(cell)
    made["cells"].insert(0, cell)


def solution_twice(made: dict[str, Any]) -> None:
    made["cells"].append(solution_cell(made))


def setup_that_ends(made: dict[str, Any]) -> None:
    for cell in made["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "ex01_setup":
            cell["source"] = "import os; os._exit(0)"


def in_the_setup_cell(made: dict[str, Any]) -> None:
    made["cells"].remove(solution_cell(made))
    for cell in made["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "ex01_setup":
            cell["source"] += HONEST


def very_many_cells(made: dict[str, Any]) -> None:
    made["cells"] += [code_cell("")] * 100_000


def format_3() -> bytes:
    cells = [{"cell_type": "code", "input": HONEST, "language": "python", "metadata": {}, "outputs": []}]
    return json.dumps(
        {
            "metadata": {"name": ""},
            "nbformat": 3,
            "nbformat_minor": 0,
            "worksheets": [{"cells": cells, "metadata": {}}],
        }
    ).encode()


SPIN_AND_SWALLOW = """
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
"""

TIME = (
    honest("endless loop in a cell", "while True:\n    pass", said="did not end within"),
    honest("endless loop that swallows everything", SPIN_AND_SWALLOW),
    honest("endless loop in C", "sum(iter(int, 1))", said="ran too long"),
    honest(
        "endless loop that ignores signals",
        "import signal\nfor n in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):\n"
        "    signal.signal(n, signal.SIG_IGN)\nwhile True:\n    pass",
        said="ran too long",
    ),
    honest("sleeps for an hour", "import time\ntime.sleep(3600)", said="did not end within"),
    Case(
        "endless loop at import", notebook("while True:\n    pass\n" + HONEST), 0, said="did not end within"
    ),
    Case("endless loop in one test only", notebook(in_the_failing_tool("while True: pass")), PARTIAL),
    Case(
        "endless loop in one test only, signals blocked",
        notebook(
            in_the_failing_tool(
                "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))\n"
                "            while True: pass"
            )
        ),
        PARTIAL,
        said="started anew",
    ),
    Case(
        "never ends and never asks",
        notebook("def run_agent(model, tools, goal, max_steps=10):\n    while True: pass"),
        0,
    ),
    Case(
        "asks for ever",
        notebook("def run_agent(model, tools, goal, max_steps=10):\n    while True: model([])"),
        0,
    ),
)

ENDS = (
    honest("sys.exit in a cell", "import sys\nsys.exit(1)", said="exit()"),
    honest("exit in a cell", "exit()"),
    honest("os._exit in a cell", "import os\nos._exit(0)", said="ended its own process"),
    honest("ends itself with a signal", "import os\nos.kill(os.getpid(), 9)", said="ended its own process"),
    honest("ends its group", "import os\nos.killpg(0, 9)", needs=["processes"]),
    honest("kills its parent", "import os\nos.kill(os.getppid(), 9)", needs=["processes", "files"]),
    honest("crashes the interpreter", "import ctypes\nctypes.string_at(0)", said="ended its own process"),
    honest("endless recursion", "def f(): return f()\nf()", said="RecursionError"),
    Case("os._exit in one test only", notebook(in_the_failing_tool("import os; os._exit(0)")), PARTIAL),
    Case(
        "sys.exit in the function",
        notebook(HONEST.replace("history =", "import sys; sys.exit()\n    h =")),
        0,
    ),
    Case(
        "os._exit in the function",
        notebook(HONEST.replace("history =", "import os; os._exit(0)\n    h =")),
        0,
    ),
)

BOMBS = (
    honest("memory in a cell", "x = [bytearray(10**8) for _ in range(1000)]", needs=["memory"]),
    honest("memory bit by bit", "x = []\nwhile True:\n    x.append('a' * 10**6)", needs=["memory"]),
    Case(
        "memory in one test only",
        notebook(in_the_failing_tool("result = [bytearray(10**8) for _ in range(1000)]")),
        PARTIAL,
        needs=frozenset({"memory"}),
    ),
    honest("forks", "import os\nwhile True:\n    os.fork()", needs=["forks"]),
    honest(
        "forks that sleep",
        "import os, time\nfor _ in range(1000):\n    try:\n        if not os.fork():\n"
        "            time.sleep(3600)\n"
        "    except OSError:\n        break",
        needs=["forks"],
    ),
    honest(
        "forks that leave the session",
        "import os, time\nif not os.fork():\n    os.setsid()\n    if not os.fork():\n"
        "        time.sleep(3600)",
        needs=["forks"],
    ),
    honest(
        "threads",
        "import threading, time\nfor _ in range(100000):\n"
        "    threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()",
        needs=["forks"],
    ),
    honest("files held open", "x = []\nwhile True:\n    x.append(open('/dev/null'))", needs=["disk"]),
    honest(
        "one large file",
        "with open('large', 'wb') as f:\n    while True:\n        f.write(bytes(10**6))",
        needs=["disk"],
    ),
    honest(
        "many files",
        "for n in range(10**6):\n    with open(f'{n}', 'wb') as f:\n        f.write(bytes(10**6))",
        needs=["space"],
        said="OSError",
    ),
    honest(
        "memory that is no process's",
        "import os\nfor n in range(1000):\n    fd = os.memfd_create('x')\n    os.write(fd, bytes(10**7))",
        needs=["space"],
        said="PermissionError",
    ),
)

SHARED = """
import mmap, os
def hold(flags):
    kept = []
    for _ in range(4):
        if not os.fork():
            try:
                shared = mmap.mmap(-1, 4 * 10**8, flags)
                for at in range(0, len(shared), 4096):
                    shared[at] = 1
                shared.madvise(mmap.MADV_DONTNEED)
            finally:
                os._exit(0)
"""

REACHES = (
    honest(
        "shared memory that no look shows",
        f"{SHARED}hold(mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)\nmmap.mmap(-1, 4096)",
        needs=["space"],
        said="PermissionError",
    ),
    honest(
        "memory mapped of a device",
        "import mmap\nwith open('/dev/zero', 'r+b') as f:\n    mmap.mmap(f.fileno(), 4096)",
        needs=["space"],
    ),
    honest(
        "busy in many processes",
        "import os\nfor _ in range(8):\n    if not os.fork():\n        while True:\n            pass",
        needs=["forks"],
    ),
    cheat(
        "a socket to the machine's host",
        if_it_can("import socket\nreturn bool(socket.socket(40, socket.SOCK_STREAM))"),
        needs=["network", "space"],
    ),
    cheat(
        "goes to the other processors",
        if_it_can("os.sched_setaffinity(0, range(os.cpu_count()))\nreturn True"),
        needs=["network", "space"],
    ),
    honest("calls that IPython alone understands", ",f a\n" * 15_000, said="invalid syntax"),
)

OUTPUT = (
    honest("200 MB of output", "for _ in range(200):\n    print('a' * 999_999)", said="200 MB"),
    honest(
        "200 MB past the notebook",
        "import os\nfor _ in range(200):\n    os.write(1, b'a' * 999_999 + b'\\n')",
        said="past the notebook's own output",
    ),
    honest("a line without an end", "import os\nfor _ in range(3000):\n    os.write(2, b'a' * 1000)"),
    honest("bytes that are no text", "import os\nos.write(1, bytes(range(256)) * 1000)"),
    honest("escape codes", "print('\\033[2J\\033]0;title\\007' * 1000)"),
    honest("looks like a message", 'print(\'{"id": 3, "outcome": {"returned": 1}}\')'),
    honest("closes its output", "import sys, os\nsys.stdout.close()\nos.close(1)\nos.close(2)"),
    Case(
        "prints in every step",
        before_asking("print('a' * 10**5)"),
    ),
)

CELLS = (
    Case("tests deleted", notebook(drop=["ex01_check", "ex01_points"])),
    Case("set-up deleted", notebook(drop=["ex01_setup"]), said="missing"),
    Case("set-up that ends the process", edited(setup_that_ends), said="was changed"),
    Case("solution in the set-up cell", edited(in_the_setup_cell), said="was found in"),
    Case("solution moved to the front", edited(solution_first), said="another order"),
    Case("solution twice", edited(solution_twice), said="2 times"),
    Case("solution split over two cells", split(HONEST)),
    Case("marks lost", edited(without_ids), said="was found in"),
    Case("two functions, the last one wrong", notebook(after=[CONSTANT]), 0, said="more than one cell"),
    Case("two functions, the last one right", notebook(CONSTANT, after=[HONEST]), said="more than one cell"),
    Case("no function", notebook("x = 1"), 0),
    Case("a value instead of a function", notebook("run_agent = 42"), 0),
    Case("not started", json.dumps(FRESH).encode(), 0, "not started"),
    Case("syntax error in the solution", notebook("def run_agent(model:"), 0),
    Case("syntax error in another cell", notebook(after=["def f(:"])),
    Case("tabs and spaces mixed", notebook(HONEST + "\nif 1:\n\tx = 1\n        y = 2"), 0),
    Case(
        "half a character in the code",
        notebook().replace(b"step limit", b"\\udfff"),
        0,
        said="surrogates not allowed",
    ),
    Case("a zero byte", notebook(HONEST + "\0"), 0),
    Case("old format", format_3(), said="old format 3"),
    Case("empty file", b"", 0, "unreadable"),
    Case("broken JSON", notebook()[:500], 0, "unreadable"),
    Case("no notebook", b"[1, 2]", 0, "unreadable"),
    Case("bytes", bytes(range(256)), 0, "unreadable"),
    Case("nested too deep", b"[" * 100_000, 0, "unreadable"),
    Case("very many magics", notebook(after=["%a\n" * 6_600]), said="invalid syntax"),
    Case("empty lines that are no Python", notebook(after=["\n" * 200_000 + "("]), said="never closed"),
    Case("very much code", notebook(after=["a\n" * 1_000_000]), 0, "unreadable", said="characters of code"),
    Case("very many cells", edited(very_many_cells), 0, "unreadable", said="code cells"),
    Case("very many lists", notebook()[:-1] + b', "x": [' + b"[]," * 9_000_000 + b"0]}", 0, "unreadable"),
    Case("a format of the future", b'{"nbformat": 9, "cells": []}', 0, "unreadable"),
    Case("old format without content", b'{"nbformat": 3}', 0, "unreadable"),
)

SECRET = "AGENTLIB_TEST_SECRET"
"""A variable of the grader's environment."""

CHEATS = (
    cheat("a constant", CONSTANT),
    cheat(
        "reads the solution",
        if_it_can(
            f"import json\nreturn bool(json.load(open({str(Path(__file__).parents[2] / 'solutions')!r}"
            " + '/ex01_write_the_loop.ipynb')))"
        ),
        needs=["files"],
    ),
    cheat("imports the checks", if_it_can("import agentlib.course.exercises\nreturn True")),
    cheat("imports the grader", if_it_can("import agentlib.course.grading\nreturn True")),
    cheat("imports the tests", if_it_can("import tests.hostile\nreturn True")),
    cheat(
        "looks for its folder's neighbours",
        if_it_can(
            "import agentlib, pathlib\nhome = pathlib.Path(agentlib.__file__).parent\n"
            "return any((home / name).exists() for name in ('checks', 'grading', '../tests', '../solutions'))"
        ),
    ),
    cheat("reads the environment", if_it_can(f"return {SECRET!r} in os.environ")),
    cheat(
        "looks for other submissions",
        if_it_can(
            "return any(f.endswith('.ipynb') for top in ('/tmp', '/work', '/home', '/root', '/course')\n"
            "    for _, _, fs in os.walk(top) for f in fs)"
        ),
        needs=["files"],
    ),
    cheat(
        "looks at other processes",
        if_it_can(
            "pids = [p for p in os.listdir('/proc') if p.isdigit()]\n"
            "return any('pytest' in open(f'/proc/{p}/cmdline').read() for p in pids)"
        ),
        needs=["processes", "files"],
    ),
    cheat(
        "writes into its home",
        if_it_can("import agentlib\nreturn bool(open(agentlib.__file__, 'a'))"),
        ["files"],
    ),
    cheat(
        "patches the built-ins",
        "import builtins\nbuiltins.len = lambda x: 4\nbuiltins.isinstance = lambda *a: True\n"
        "builtins.AssertionError = Exception\n" + CONSTANT,
        status="crashed",
    ),
    cheat(
        "patches json",
        "import json\nold = json.dumps\n"
        "json.dumps = lambda x, **k: old(x, **k).replace('There are', 'There were')\n" + CONSTANT,
    ),
    cheat(
        "patches the check",
        "import agentlib.checks\nagentlib.checks.check = lambda *a: type('R', (), {'points': 10})()\n"
        + CONSTANT,
    ),
    cheat(
        "an import hook", "import sys\nsys.meta_path.insert(0, type('H', (), {'find_spec': 1}))\n" + CONSTANT
    ),
    cheat("an audit hook", "import sys\nsys.addaudithook(lambda *a: None)\n" + CONSTANT),
    cheat(
        "transformers of input and syntax",
        "ip = get_ipython()\nip.input_transformers_post.append(lambda lines: ['pass'])\n" + CONSTANT,
    ),
    cheat(
        "equal to everything",
        "class Any(dict):\n    __eq__ = lambda s, o: True\n    __hash__ = lambda s: 0\n"
        "    __getitem__ = lambda s, k: Any()\n    get = lambda s, *k: Any()\n"
        "def run_agent(model, tools, goal, max_steps=10):\n    return Any()",
    ),
    cheat(
        "lying text",
        "class Text(str):\n    __eq__ = lambda s, o: True\n    __hash__ = lambda s: 0\n"
        "    __contains__ = lambda s, o: True\n"
        "def run_agent(model, tools, goal, max_steps=10):\n"
        "    return {Text('answer'): Text('x'), 'steps': 4, 'stopped': Text('answered')}",
    ),
    cheat(
        "a network",
        if_it_can("import socket\nsocket.create_connection(('127.0.0.1', int(PORT)), 1)\nreturn 1"),
        ["network"],
    ),
    cheat(
        "names of hosts",
        if_it_can("import socket\nreturn bool(socket.gethostbyname('example.org'))"),
        ["network"],
    ),
    cheat(
        "a socket in a file",
        if_it_can("import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect(SOCKET)\nreturn True"),
        needs=["files"],
    ),
    cheat(
        "more rights in a namespace",
        if_it_can("import ctypes\nreturn ctypes.CDLL(None).unshare(0x10000000) == 0"),
        needs=["files"],
    ),
    cheat(
        "root again",
        if_it_can("os.setuid(0)\nreturn os.geteuid() == 0 and os.listdir('/root') != []"),
        ["files"],
    ),
)

BORDERS = (
    forged(
        "a forged outcome",
        "write(json.dumps({'id': 3, 'outcome': {'returned': {'answer': None, 'steps': 1, 'stopped': 'x'},"
        " 'type': 'dict'}}).encode() + b'\\n')",
    ),
    forged("a message out of turn", '[write(b\'{"id": 3, "n": 7, "call": "model"}\\n\') for _ in range(3)]'),
    forged("half a message", 'write(b\'{"id": 3, "outc\'); os._exit(0)'),
    forged("a huge message", "[write(b'a' * 10**6) for _ in range(10)]"),
    forged("deep JSON", "write(b'[' * 100_000 + b'\\n')"),
    forged("no JSON", "write(b'\\xff\\x00 hello\\n')"),
    forged("a message that is no dict", "write(b'[1, 2, 3]\\n')"),
    forged("an outcome that is no dict", 'write(b\'{"id": 3, "outcome": [1]}\\n\')'),
    forged("an outcome of another form", 'write(b\'{"id": 3, "outcome": {"points": 10}}\\n\')'),
    forged("a number with too many digits", "write(b'{\"id\": 3, \"n\": 1' + b'0' * 10_000 + b'}\\n')"),
    forged("an interrupt that nobody played", 'write(b\'{"id": 3, "outcome": {"interrupted": true}}\\n\')'),
    in_turn("a deep outcome in turn", f'"outcome": {{"returned": {"[" * 900 + "]" * 900}, "type": "list"}}'),
    in_turn(
        "a deep call in turn", f'"n": 1, "call": "model", "kwargs": {{}}, "args": [{"[" * 900 + "]" * 900}]'
    ),
    in_turn("a call of what is not played", '"n": 1, "call": "__import__", "kwargs": {}, "args": ["os"]'),
    in_turn(
        "no numbers in turn", '"outcome": {"returned": {"answer": NaN, "steps": Infinity, "stopped": 1e999}}'
    ),
    in_turn(
        "signs that turn a line around",
        '"outcome": {"raised": {"type": "\\\\ud800", "message": "\\\\u202e"}}',
    ),
    forged("many messages", "[write(b'{\"id\": 1}\\n') for _ in range(100_000)]"),
)

HONEST_ONES = (
    Case("honest", notebook(), quiet=True),
    honest(
        "warns",
        "import warnings, sys\nwarnings.warn('careful')\nprint('careful', file=sys.stderr)",
        quiet=True,
    ),
    Case("warns in the function", before_asking("import warnings; warnings.warn('careful')"), quiet=True),
    Case("slow but right", before_asking("import time; time.sleep(0.05)"), quiet=True),
    Case("helpers in other cells", split(HONEST), quiet=True),
    Case(
        "uses numpy",
        notebook(
            "import numpy as np\n"
            + HONEST.replace("range(1, max_steps + 1)", "range(1, np.int64(max_steps) + 1)")
        ),
        quiet=True,
    ),
    honest(
        "plots",
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nassert len(plt.gca().lines) == 1",
        quiet=True,
    ),
    honest(
        "uses the labs",
        "import agentlib\nfrom agentlib.labs import blue_mugs as lab\n"
        "assert agentlib.run_agent(lab.model(), lab.TOOLS, lab.GOAL).stopped == 'answered'",
        quiet=True,
    ),
    honest(
        "starts a process",
        "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'print(1)'], check=True)",
        needs=["forks"],
        quiet=True,
    ),
    honest(
        "writes a file",
        "with open('notes.txt', 'w') as f:\n    f.write('x')\nassert open('notes.txt').read() == 'x'",
        quiet=True,
    ),
    honest("checks itself", "from agentlib.checks import check\ncheck('ex01', run_agent)", quiet=True),
    honest(
        "magics", "%matplotlib inline", "!ls", "%%bash\necho hello", "%%time\nx = 1", "run_agent?", quiet=True
    ),
    honest("shows things", "display(1)", quiet=True),
    Case(
        "a cell with a later Python's annotations",
        notebook(
            HONEST.replace("model, tools, goal", "model: Model, tools: Tools, goal"),
            before=["from __future__ import annotations"],
        ),
        quiet=True,
    ),
    Case(
        "a later Python's annotations below other lines",
        notebook(
            "%matplotlib inline\nimport json\nfrom __future__ import annotations"
            + HONEST.replace("model, tools, goal", "model: Model, tools: Tools, goal")
        ),
        quiet=True,
    ),
    Case(
        "a helper module from a cell",
        notebook(
            "import my_helper\n"
            + HONEST.replace('[{"role": "user", "text": goal}]', "my_helper.begin(goal)").replace(
                'reply["type"] == "answer"', "my_helper.is_answer(reply)"
            ),
            before=[
                "import os",
                "%%writefile my_helper.py\ndef begin(goal):\n    return [{'role': 'user', 'text': goal}]",
                "%%writefile -a 'my_helper.py'\ndef is_answer(r):\n    return r['type'] == 'answer'\n",
            ],
        ),
        quiet=True,
    ),
    Case(
        "pickles objects of its own, and asks for their annotations",
        notebook(
            "from __future__ import annotations\nimport pickle, typing\nfrom dataclasses import dataclass\n"
            "@dataclass\nclass A:\n    x: int\n@dataclass\nclass B:\n    a: A\n"
            "assert pickle.loads(pickle.dumps(A(1))) == A(1)\n"
            "assert typing.get_type_hints(B) == {'a': A}\n" + HONEST
        ),
        quiet=True,
    ),
    Case(
        "runs its tools in a thread",
        notebook(
            "from concurrent.futures import ThreadPoolExecutor\n"
            + HONEST.replace(
                'tools[reply["tool"]](**reply["input"])',
                'ThreadPoolExecutor(1).submit(tools[reply["tool"]], **reply["input"]).result(3)',
            )
        ),
        needs=frozenset({"forks"}),
        quiet=True,
    ),
    Case("lines as Windows ends them", notebook().replace(b"\\n", b"\\r\\n"), quiet=True),
    Case("a mark of the byte order", b"\xef\xbb\xbf" + notebook(), quiet=True),
    Case("in UTF-16", notebook().decode().encode("utf-16"), quiet=True),
    honest("asks a person", "name = input('Your name?')", said="input()"),
)

CASES = (*HONEST_ONES, *TIME, *ENDS, *BOMBS, *REACHES, *OUTPUT, *CELLS, *CHEATS, *BORDERS)
