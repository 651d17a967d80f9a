"""The channel, the sandbox root, the selection and what is run: the parts of grading, one by one."""

import contextlib
import dataclasses
import json
import os
import re
import struct
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import psutil
import pytest

from agentlib.course.errors import ChildEndedError, NotebookError, ProtocolError, SandboxError
from agentlib.course.exercises import EXERCISES, FRESH_DIR
from agentlib.course.grading import BACKENDS, Limits, banner, choose_backend, grade_notebook, sandbox
from agentlib.course.grading.channel import Child
from agentlib.course.grading.grade import seed_for
from agentlib.course.grading.processes import is_running, kill_user
from agentlib.course.grading.sandbox import PROMISES, bubblewrap_command, is_root
from agentlib.course.grading.sandbox_root import course_version, remove_leftovers
from agentlib.course.grading.sandboxed import SandboxedLearner, checked
from agentlib.course.grading.selection import try_backend
from agentlib.course.grading.submission import (
    MAX_CELLS,
    MAX_CODE_CHARS,
    MAX_PARTS,
    MAX_VALUES,
    defines,
    exercise_in,
    plan,
)
from agentlib.course.grading.syscalls import call_filter
from tests.hostile.submissions import HONEST, code_cell, notebook

ROOT = Path(__file__).parents[2]
EX01 = EXERCISES["ex01_write_the_loop"]
LAST = BACKENDS[-1]
SHORT = Limits(cell_seconds=2.0, call_seconds=1.0, grace_seconds=0.5, wall_seconds=20.0)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="grading is tried on Linux and macOS")


@contextlib.contextmanager
def started(root, backend=LAST, **limits):
    child = Child(backend, root, dataclasses.replace(SHORT, **limits), time.monotonic() + 20)
    try:
        yield child
    finally:
        child.end()


@pytest.fixture
def child(root):
    with started(root) as made:
        yield made


def run(child, source, *functions):
    cells = [{"number": 1, "source": source}]
    return child.ask({"do": "cells", "cells": cells, "functions": list(functions), "seconds": 2}, 3)


def one(*_):
    """Answer a call, whatever it is."""
    return {"gave": 1}


def call(child, function, *args, called=None, seconds=2):
    request = {"function": function, "args": list(args), "kwargs": {}}
    return child.ask({"do": "call", "request": request, "seconds": seconds}, seconds + 0.5, called)


# --- the channel


def test_a_function_behind_the_channel_is_called_and_calls_back(child):
    run(child, "def f(model, n):\n    return [model([n]), model([n + 1])]", "f")
    seen = []

    def called(name, args, kwargs):
        seen.append((name, args, kwargs))
        return {"gave": {"reply": len(seen)}}

    outcome = call(child, "f", {"$call": "model"}, 1, called=called)
    assert outcome["returned"] == [{"reply": 1}, {"reply": 2}]
    assert seen == [("model", [[1]], {}), ("model", [[2]], {})]


def test_an_error_that_the_player_raises_is_raised_in_the_child(child):
    source = "def f(model):\n    try:\n        model()\n    except KeyError as e:\n        return repr(e)"
    run(child, source, "f")
    raising = {"raises": {"type": "KeyError", "message": "no such place"}}
    outcome = call(child, "f", {"$call": "model"}, called=lambda *_: raising)
    assert outcome["returned"] == "KeyError('no such place')"


def test_a_message_of_just_the_longest_size_passes_and_one_byte_more_does_not(root):
    with started(root, message_bytes=2_000) as child:
        run(child, "def f(n):\n    return 'a' * n", "f")
        around = len(json.dumps({"id": 3, "outcome": {"returned": "", "type": "str", "changed": []}})) + 1
        assert call(child, "f", 2_000 - around)["returned"] == "a" * (2_000 - around)
        assert "too long" in call(child, "f", 2_000 - around + 1)["raised"]["message"]


THREADS = """
import threading
from concurrent.futures import ThreadPoolExecutor
def many(model, n):
    with ThreadPoolExecutor(6) as pool:
        return list(pool.map(model, range(n)))
def late(model):
    done = threading.Event()
    def go_on():
        done.wait(5)
        try:
            model("late")
        except RuntimeError as problem:
            said.append(str(problem))
    threading.Thread(target=go_on).start()
    said.append(done)
    return model("in time")
def end():
    import time
    said[0].set()
    while len(said) < 2:
        time.sleep(0.01)
    return said[1:]
said = []
"""


def test_calls_from_several_threads_get_each_its_own_answer(child):
    run(child, THREADS, "many")
    outcome = call(child, "many", {"$call": "model"}, 60, called=lambda name, args, _: {"gave": args})
    assert outcome["returned"] == [[number] for number in range(60)]


def test_a_thread_that_goes_on_after_its_function_gets_no_answer_and_disturbs_nothing(child):
    run(child, THREADS, "late", "end")
    assert call(child, "late", {"$call": "model"}, called=one)["returned"] == 1
    assert call(child, "end")["returned"] == ["the function has ended already"]


def test_what_is_too_long_to_be_asked_raises_in_the_learners_own_line(root):
    with started(root, message_bytes=2_000) as child:
        run(child, "def f(model):\n    return model(['a' * 5_000])", "f")
        raised = call(child, "f", {"$call": "model"}, called=one)["raised"]
        assert "too long" in raised["message"]
        assert raised["line"] == 2


def test_what_is_sent_is_counted_as_the_memory_that_it_takes(root):
    with started(root, log_mb=1) as child:
        run(child, "def f(model, n, part):\n    for _ in range(n):\n        model([part] * 1_000)", "f")
        call(child, "f", {"$call": "model"}, 9, [], called=one)  # 9,000 lists of nothing
        assert 800_000 < child.log_bytes < 1_000_000
        with pytest.raises(ChildEndedError, match="sent too much"):
            call(child, "f", {"$call": "model"}, 3, [], called=one)


def test_nothing_more_is_run_of_a_submission_that_has_sent_too_much(root):
    sends = HONEST.replace("model(history)", "model(history if len(history) < 20 else [[]] * 100_000)")
    row = grade_notebook(notebook(sends), EX01, LAST, root, dataclasses.replace(SHORT, log_mb=4))
    assert (row.status, row.points) == ("crashed", 6)
    assert "No more of it was run: it sent too much." in row.notes


def test_a_process_with_very_many_open_files_can_grade(root):
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2_000), hard))
    with contextlib.ExitStack() as stack:
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for _ in range(1_100):
            stack.enter_context(open(os.devnull))
        assert grade_notebook(notebook(), EX01, LAST, root, SHORT).points == 10


def test_more_calls_than_are_allowed_end_the_child(root):
    with started(root, messages=5) as child:
        run(child, "def f(model, n):\n    return [model() for _ in range(n)]", "f")
        assert len(call(child, "f", {"$call": "model"}, 5, called=one)["returned"]) == 5
        with pytest.raises(ChildEndedError, match="too often"):
            call(child, "f", {"$call": "model"}, 6, called=one)


def test_a_child_that_is_over_its_time_is_ended_with_what_it_started(child):
    mark = f"3599.{os.getpid()}"  # by it this run of the test finds its own
    source = "import signal, subprocess\ndef f():\n"
    source += f"    subprocess.Popen(['sleep', '{mark}'], start_new_session=True)\n"
    source += "    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])\n    while True: pass"
    run(child, source, "f")
    began = time.monotonic()
    with pytest.raises(ChildEndedError, match="ran too long"):
        call(child, "f", seconds=0.3)
    assert time.monotonic() - began < 5
    assert processes_of(mark) == []


def test_while_others_have_the_processor_the_time_of_a_child_does_not_go_by(root, monkeypatch):
    monkeypatch.setattr("agentlib.course.grading.channel.longest_wait_seconds", lambda pid: 0.5)
    spins = "import signal\ndef f():\n    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])\n"
    spins += "    while True: pass"
    for deadline, least, most in ((20, 1.0, 20), (0.5, 0.0, 1.0)):
        child = Child(LAST, root, SHORT, time.monotonic() + 20)
        run(child, spins, "f")
        began = time.monotonic()
        child.deadline = began + deadline  # the time for everything is not made longer
        with pytest.raises(ChildEndedError, match="ran too long"):
            call(child, "f", seconds=0.0)
        assert least <= time.monotonic() - began < most


def processes_of(mark: str) -> list[list[str]]:
    """The command lines of all processes that hold a text."""
    lines = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    return [line for line in lines if mark in " ".join(line)]


def test_a_child_over_its_memory_is_ended(root):
    source = "import subprocess, sys\nholds = 'x = bytearray(10**8); import time; time.sleep(60)'\ndef f():\n"
    source += "    them = [subprocess.Popen([sys.executable, '-c', holds]) for _ in range(4)]\n"
    source += "    while True: pass"
    with started(root, memory_mb=300) as child:
        run(child, source, "f")
        with pytest.raises(ChildEndedError, match="memory"):
            call(child, "f", seconds=10)


def test_what_it_prints_is_kept_up_to_the_limit_and_counted(root):
    with started(root, output_bytes=1_000) as child:
        run(child, "import os\nfor _ in range(100): os.write(1, b'a' * 100)")
        until = time.monotonic() + 5
        while child.printed_bytes < 10_000 and time.monotonic() < until:
            time.sleep(0.01)
    assert (child.printed_bytes, bytes(child.kept)) == (10_000, b"a" * 1_000)


CHANNEL = "import gc\nchannel = next(o for o in gc.get_objects() if type(o).__name__ == 'Channel')\n"


def test_a_call_when_none_is_wanted_is_forged(child):
    source = CHANNEL + "channel.send({'id': 2, 'n': 1, 'call': 'model', 'args': [], 'kwargs': {}})"
    with pytest.raises(ProtocolError, match="out of turn"):
        run(child, source)


@pytest.mark.parametrize("number", [0, 2, "1", None])
def test_a_call_with_another_number_than_the_next_is_forged(child, number):
    source = CHANNEL + "def f(model):\n    channel.send({'id': 3, 'call': 'model', 'args': [], 'kwargs': {}, "
    run(child, source + f"'n': {number!r}}})\n    return channel.read()", "f")
    with pytest.raises(ProtocolError, match="out of turn"):
        call(child, "f", {"$call": "model"}, called=one)


@pytest.mark.parametrize(
    "outcome",
    [
        {},
        {"raised": "text"},
        {"ended": "asked too often"},
        {"interrupted": True},
        {"interrupted": 1},
        {"returned": 1, "type": "int", "changed": "all"},
        {"returned": 1, "type": "int", "changed": [True]},
    ],
)
def test_an_outcome_of_another_form_is_forged(outcome):
    with pytest.raises(ProtocolError):
        checked(outcome, interrupted=False)


def test_an_outcome_is_brought_into_the_form_that_criteria_know():
    assert checked({"interrupted": True}, interrupted=True) == {"interrupted": True}
    assert checked({"returned": [1], "points": 10}, False) == {"returned": [1], "type": "", "changed": []}
    raised = checked({"raised": {"type": "A" * 1_000, "line": "x", "points": 10}}, False)["raised"]
    assert raised == {"type": "A" * 300, "message": "", "code": "", "place": "", "line": 0}


# --- the sandbox root


def test_the_sandbox_root_holds_no_checks_no_grader_no_solutions_and_no_tests(root):
    names = {path.relative_to(root.folder).as_posix() for path in root.folder.rglob("*")}
    assert "agentlib/labs/blue_mugs.py" in names
    for word in ("ex0", "checking", "grading", "solutions", "tests", "fake_data", "fresh"):
        assert [name for name in names if word in name] == []


def test_every_name_of_agentlib_can_be_imported_in_the_child(child):
    source = "import agentlib\nnames = [getattr(agentlib, n) for n in agentlib.__all__]\nf = print"
    assert run(child, source)["problems"] == []
    for name in __import__("agentlib").__all__:
        assert run(child, f"from agentlib import {name}")["problems"] == []


@pytest.mark.parametrize(
    "source",
    [
        "import pydantic\nclass A(pydantic.BaseModel):\n    x: int\nassert A(x='3').x == 3",
        "from pydantic_core import core_schema, SchemaValidator\nassert core_schema.int_schema()",
        "import pydantic_core.core_schema",
        "import pydantic_core\nassert pydantic_core.__version__\nassert not hasattr(pydantic_core, 'x')",
        "from agentlib import tool\n@tool\ndef f(x: int) -> int:\n    'Doubles.'\n    return 2 * x",
    ],
)
def test_what_is_loaded_late_is_there_when_it_is_asked_for(child, source):
    assert run(child, source)["problems"] == []


@pytest.mark.parametrize(
    ("setup", "core"),
    [
        ("", set()),
        ("from agentlib.labs import blue_mugs\n", set()),
        ("from agentlib.labs import trains\n", {"inspect", "dataclasses"}),
        (
            "from agentlib.labs import trains\nfrom agentlib.tools import read_tools\n"
            "read_tools(trains.TOOLS)\n",
            {"inspect", "dataclasses", "pydantic", "pydantic_core"},
        ),
    ],
)
def test_nothing_that_checks_arguments_or_draws_is_loaded_before_somebody_wants_it(child, setup, core):
    run(child, f"{setup}import sys\ndef f():\n    return sorted(sys.modules)", "f")
    loaded = set(call(child, "f")["returned"])
    assert "agentlib.messages" in loaded
    large = {"inspect", "dataclasses", "pydantic", "pydantic_core", "numpy", "matplotlib", "ipywidgets"}
    assert (large | {"agentlib.views"}) & loaded == core


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("from datetime import date\ndef f():\n    return [date(2026, 1, 2)]", ["2026-01-02"]),
        ("from pathlib import Path\ndef f():\n    return Path('a')", "a"),
        (
            "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\ndef f():\n    return A(1)",
            {"x": 1},
        ),
        ("def f():\n    return '\\ud800'", "\ufffd"),
        ("def f():\n    return [10**5000]", ["<whole number of 16610 bits>"]),
        ("def f():\n    return float('nan')", "nan"),
    ],
)
def test_a_value_that_is_not_plain_crosses_in_its_plain_form(child, source, shown):
    run(child, source, "f")
    assert call(child, "f")["returned"] == shown


def test_agentlib_comes_from_the_sandbox_root_though_the_project_is_installed(child, root):
    run(child, "import agentlib\ndef f():\n    return agentlib.__file__", "f")
    assert call(child, "f")["returned"] == str(root.folder / "agentlib" / "__init__.py")


def test_what_a_killed_batch_left_is_removed_and_nothing_else(tmp_path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for name in (f"{ended.pid}_abc", f"{os.getpid()}_abc", "no_number"):
        (tmp_path / f"agentlib_grading_{name}").mkdir()
    (tmp_path / f"agentlib_child_{ended.pid}_x_1").mkdir()
    (tmp_path / "target").mkdir()
    (tmp_path / f"agentlib_child_{ended.pid}_link").symlink_to(tmp_path / "target")
    remove_leftovers(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"agentlib_child_{ended.pid}_link",
        f"agentlib_grading_{os.getpid()}_abc",
        "agentlib_grading_no_number",
        "target",
    ]


def test_a_process_that_has_ended_does_not_run_though_nobody_has_asked_for_its_end():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert is_running(process.pid)
    process.stdin.close()
    until = time.monotonic() + 10
    while is_running(process.pid) and time.monotonic() < until:
        time.sleep(0.02)
    assert not is_running(process.pid)
    assert process.wait() != 0
    assert not is_running(process.pid)


@pytest.mark.skipif(not is_root(), reason="only root can start a process as another user")
def test_every_process_of_a_user_is_ended_and_no_other():
    with subprocess.Popen(["sleep", "60"], user=99_999) as theirs, subprocess.Popen(["sleep", "60"]) as ours:
        kill_user(99_999)
        assert theirs.wait(5) == -9
        assert is_running(ours.pid)
        ours.kill()


def a_course(folder: Path) -> Path:
    for name in GRADING_FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"# {name}")
    return folder


GRADING_FILES = ("checks/ex01.py", "checks/fresh/ex01.ipynb", "labs/shop.py", "labs/prices.json")


@pytest.mark.parametrize("name", GRADING_FILES)
def test_the_version_of_the_course_changes_with_one_letter_of_what_grades(tmp_path, name):
    before = course_version(a_course(tmp_path))
    (tmp_path / name).write_text(f"# {name}!")
    changed = course_version(tmp_path)
    (tmp_path / name).unlink()
    assert len({before, changed, course_version(tmp_path)}) == 3
    assert course_version(a_course(tmp_path)) == before


def test_the_version_of_the_course_changes_with_an_empty_file_and_with_its_name(tmp_path):
    before = course_version(a_course(tmp_path))
    (tmp_path / "labs" / "a.py").write_text("")
    one = course_version(tmp_path)
    (tmp_path / "labs" / "a.py").rename(tmp_path / "labs" / "b.py")
    assert len({before, one, course_version(tmp_path)}) == 3


def test_the_version_of_the_course_is_the_same_after_a_run_and_in_another_folder(tmp_path):
    before = course_version(a_course(tmp_path / "here"))
    (tmp_path / "here" / "__pycache__").mkdir()
    (tmp_path / "here" / "__pycache__" / "shop.cpython-311.pyc").write_bytes(b"compiled")
    os.utime(tmp_path / "here" / "labs" / "shop.py", (1, 1))
    assert course_version(tmp_path / "here") == before == course_version(a_course(tmp_path / "there"))
    assert len(course_version()) == 16


# --- what is run


def test_the_set_up_is_ours_and_the_checks_are_left_out():
    made = plan(EX01, (FRESH_DIR / "ex01_write_the_loop.ipynb").read_bytes(), Path("x"))
    assert [cell.grade_id for cell in made.cells] == ["ex01_setup", "ex01_solution", ""]
    assert [cell.grade_id for cell in made.only] == ["ex01_setup", "ex01_solution"]
    assert made.notes == ()


def test_the_solution_is_found_by_its_functions_name_when_its_mark_is_lost():
    data = json.loads(notebook())
    for cell in data["cells"]:
        cell["metadata"] = {}
    made = plan(EX01, json.dumps(data).encode(), Path("x"))
    assert [cell.source for cell in made.only][1:] == [HONEST]


@pytest.mark.parametrize(
    ("source", "does"),
    [
        ("def f(): pass", True),
        ("async def f(): pass", True),
        ("class f: pass", True),
        ("f = lambda: 1", True),
        ("%time\ndef f(): pass", True),
        ("def ff(): pass", False),
        ("def g():\n    def f(): pass", False),
        ("f()", False),
        ("(" * 10_000, False),
    ],
)
def test_what_a_cell_defines(source, does):
    assert defines(source, "f") is does


def of_cells(*sources: str, more: str = "") -> bytes:
    cells = json.dumps([code_cell(source) for source in sources])
    return f'{{"nbformat": 4, "cells": {cells}{more}}}'.encode()


def refused(data: bytes) -> str:
    try:
        plan(EX01, data, Path("x"))
    except NotebookError as problem:
        return str(problem)
    return ""


def test_as_much_as_is_read_outside_of_the_sandbox_is_read_and_one_more_is_not():
    assert refused(of_cells(*["x"] * MAX_CELLS)) == ""
    assert "1,001 code cells" in refused(of_cells(*["x"] * (MAX_CELLS + 1)))
    assert refused(of_cells("#" * (MAX_CODE_CHARS - 1), "x")) == ""
    assert "300,001 characters" in refused(of_cells("#" * MAX_CODE_CHARS, "x"))


def in_parts(piece: str, count: int) -> bytes:
    return of_cells(more=f', "more": [{", ".join([piece] * count)}]')


@pytest.fixture
def few_parts(monkeypatch):
    """Bounds that are sooner reached: how many parts, and how many values."""
    monkeypatch.setattr("agentlib.course.grading.submission.MAX_PARTS", 10_000)
    monkeypatch.setattr("agentlib.course.grading.submission.MAX_VALUES", 20_000)
    return 10_000, 20_000


@pytest.mark.parametrize("piece", ["[]", "{}", '{"a": []}'])
def test_a_notebook_of_more_parts_than_somebody_wrote_is_refused(piece, few_parts):
    each = piece.count("[") + piece.count("{")
    around = 3  # the notebook, its cells and the list
    assert refused(in_parts(piece, (few_parts[0] - around) // each)) == ""
    assert "more parts" in refused(in_parts(piece, (few_parts[0] - around) // each + 1))


def test_the_bounds_of_a_notebook_are_a_million_parts_and_two_million_values():
    assert (MAX_PARTS, MAX_VALUES) == (1_000_000, 2_000_000)
    assert "more parts" in refused(in_parts("[]", MAX_PARTS))
    assert "more parts" in refused(in_parts("1", MAX_VALUES + 10))


@pytest.mark.parametrize("piece", ["1", '"[{,"'])
def test_a_notebook_of_more_values_than_somebody_wrote_is_refused(piece, few_parts):
    assert refused(in_parts(piece, few_parts[1] - 10)) == ""
    assert "more parts" in refused(in_parts(piece, few_parts[1] + 10))


def test_what_stands_in_quotes_is_no_part():
    assert refused(of_cells(more=', "page": "' + r"{\"a\": [1,2]}, " * MAX_PARTS + '"')) == ""
    assert "JSON breaks off" in refused(b'{"a": "' + b'\\"' * 5_000_000)


def test_an_old_notebook_of_very_many_cells_is_not_converted():
    def old(count: int) -> bytes:
        cell = {"cell_type": "code", "input": "x", "language": "python", "metadata": {}, "outputs": []}
        sheets = [{"cells": [cell] * count, "metadata": {}}]
        return json.dumps(
            {"metadata": {"name": ""}, "nbformat": 3, "nbformat_minor": 0, "worksheets": sheets}
        ).encode()

    assert refused(old(50)) == ""
    assert "more parts" in refused(old(10_000))


@pytest.mark.parametrize("source", ["%%file", "%%file" + " " * 200_000, "%%writefile \n", "%%writefile a"])
def test_a_file_without_a_name_or_without_a_line_is_not_written(source):
    cells = plan(EX01, notebook(before=[source]), Path("x")).cells
    assert [cell.code for cell in cells if cell.source == source] == [""]


def test_an_exercise_is_told_by_the_marks_of_its_cells():
    exercises = tuple(EXERCISES.values())
    assert exercise_in(notebook(), exercises) is EX01
    assert exercise_in(b"[]", exercises) is None
    assert exercise_in(json.dumps({"nbformat": 4, "cells": [code_cell("x")]}).encode(), exercises) is None


@pytest.mark.parametrize(
    "path", sorted((ROOT / "solutions").glob("ex*.ipynb")), ids=lambda path: path.stem[:4]
)
def test_every_solution_gets_full_points_and_every_fresh_exercise_is_not_started(path, root):
    exercise = EXERCISES[path.stem]
    row = grade_notebook(path.read_bytes(), exercise, LAST, root, seed=5)
    assert (row.status, row.points, row.notes) == ("graded", exercise.max_points, ())
    row = grade_notebook((ROOT / "exercises" / path.name).read_bytes(), exercise, LAST, root, seed=5)
    assert (row.status, row.points) == ("not started", 0)


FIRST_FORM_IMPORTS = {
    "from agentlib.course import check, try_it\n": (
        "from agentlib.checks import check\nfrom agentlib.labs.trying import try_it\n"
    ),
    "from agentlib.course import check": "from agentlib.checks import check",
}


@pytest.mark.parametrize(
    "path", sorted((ROOT / "solutions").glob("ex*.ipynb")), ids=lambda path: path.stem[:4]
)
def test_a_notebook_that_was_handed_out_in_the_first_form_gets_full_points_and_no_note(path, root):
    saved = path.read_text(encoding="utf-8")
    for now, before in FIRST_FORM_IMPORTS.items():
        saved = saved.replace(json.dumps(now)[1:-1], json.dumps(before)[1:-1])
    assert "agentlib.checks" in saved
    assert "agentlib.course" not in saved
    exercise = EXERCISES[path.stem]
    row = grade_notebook(saved.encode(), exercise, LAST, root, seed=5)
    assert (row.status, row.points, row.notes) == ("graded", exercise.max_points, ())


def test_a_grade_can_be_repeated_with_its_seed(root):
    wrong = notebook(HONEST.replace("history.append(reply)", "pass"))
    rows = [grade_notebook(wrong, EX01, LAST, root, seed=seed) for seed in (1, 1, 2)]
    seen = [[result["seen"] for result in row.report["results"]] for row in rows]
    assert seen[0] == seen[1]
    assert seen[0] != seen[2]


def test_seeds_differ_by_student_by_exercise_and_by_batch():
    seeds = {
        seed_for("ann", "ex01"),
        seed_for("ben", "ex01"),
        seed_for("ann", "ex02"),
        seed_for("ann", "ex01", 1),
    }
    assert len(seeds) == 4
    assert seed_for("ann", "ex01") == seed_for("ann", "ex01")
    assert seed_for("\udcff", "ex01") >= 0


def test_nothing_more_is_run_when_the_time_for_everything_is_over(root):
    limits = dataclasses.replace(SHORT, wall_seconds=1.0, call_seconds=5.0)
    slow = notebook(HONEST.replace("reply = model", "import time; time.sleep(0.4)\n        reply = model"))
    row = grade_notebook(slow, EX01, LAST, root, limits)
    assert row.status == "timed out"
    assert row.seconds < 4


def with_seconds(seconds):
    """Exercise 1 with so much time for each of its calls."""

    def scenarios(random):
        return {
            name: dataclasses.replace(one, seconds=seconds) for name, one in EX01.scenarios(random).items()
        }

    return dataclasses.replace(EX01, scenarios=scenarios)


@pytest.mark.parametrize(
    ("exercise_seconds", "call_seconds", "allowed"), [(0.3, None, "0.3"), (5.0, 0.2, "0.2"), (0.3, 5.0, "")]
)
def test_a_call_has_the_time_of_its_exercise_unless_another_is_given(
    root, exercise_seconds, call_seconds, allowed
):
    limits = dataclasses.replace(Limits(), call_seconds=call_seconds)
    slow = notebook(HONEST.replace("history = [", "import time; time.sleep(0.5)\n    history = ["))
    row = grade_notebook(slow, with_seconds(exercise_seconds), LAST, root, limits)
    seen = {one["seen"] for one in row.report["results"] if one["status"] == "not yet"}
    said = f"after {allowed} seconds the function was still running; by then it had asked the model 0 times"
    assert (row.points, seen) == ((0, {said}) if allowed else (10, set()))


def test_by_default_every_exercise_gives_the_same_time_as_check():
    assert Limits().call_seconds is None
    for name, exercise in EXERCISES.items():
        given = {one.seconds for one in exercise.scenarios(Random(1)).values()}
        assert max(given) == (30.0 if name.startswith("ex09") else 5.0)


def test_what_the_end_of_the_time_for_everything_cut_off_says_so(root):
    limits = dataclasses.replace(SHORT, wall_seconds=4.0, call_seconds=9.0)
    slow = notebook(HONEST.replace("history = [", "import time; time.sleep(9)\n    history = ["))
    row = grade_notebook(slow, EX01, LAST, root, limits)
    first = next(one["seen"] for one in row.report["results"] if one["status"] == "not yet")
    assert 0 < float(re.match(r"after (\S+) seconds the function was still running", first)[1]) <= 4.0
    learner = SandboxedLearner(plan(EX01, slow, Path("ex01.ipynb")), EX01.functions, LAST, root, limits)
    learner.failed = "ran too long"
    raised = learner.run({"function": "run_agent", "args": [], "kwargs": {}}, one, 5.0)["raised"]
    assert raised["message"] == "ran too long before this call could be made"
    assert "waits" in raised["hint"]


def test_a_file_that_is_too_large_is_not_read(root):
    limits = dataclasses.replace(SHORT, notebook_mb=1)
    assert grade_notebook(b"x" * 1_000_001, EX01, LAST, root, limits).status == "unreadable"
    assert "more than" not in grade_notebook(b"x" * 1_000_000, EX01, LAST, root, limits).notes[0]


# --- the selection


@pytest.mark.parametrize("promise", ["files", "network", "processes"])
def test_a_promise_that_is_not_kept_is_found(root, promise):
    boast = dataclasses.replace(LAST, keeps=frozenset({promise}))
    assert PROMISES[promise] in try_backend(boast, root, SHORT)


def test_a_backend_that_does_not_start_is_passed_over(root, monkeypatch):
    monkeypatch.setattr(sandbox, "is_root", lambda: False)

    def start(root, limits):
        raise FileNotFoundError("no such program")

    broken = dataclasses.replace(BACKENDS[0], name="broken", available=lambda: "", start=start)
    selection = choose_backend(root, SHORT, backends=(broken, LAST))
    assert selection.backend is LAST
    assert selection.passed_over == (("broken", "did not run here (no such program)"),)


@pytest.mark.skipif(sys.platform != "linux", reason="sandlock is for Linux")
def test_where_sandlock_is_not_installed_the_command_for_it_is_the_one_on_the_page(monkeypatch):
    monkeypatch.setitem(sys.modules, "sandlock", None)
    (command,) = re.findall(r"\((.+)\)", sandbox.sandlock_missing())
    assert f"| `sandlock` | Linux 6.12 or newer | `{command}` |" in (ROOT / "TEACHING.md").read_text()


def test_where_a_cell_does_not_run_the_hint_leads_to_it(root):
    row = grade_notebook(notebook("def run_agent(model:"), EX01, LAST, root)
    (red,) = [one for one in row.report["results"] if one["status"] == "not yet"]
    assert "invalid syntax" in red["seen"] or "was never closed" in red["seen"]
    assert "Which cell is the first that does not run?" in red["hints"][0]


def test_as_root_nothing_is_graded_as_root_unless_that_is_asked_for(root, monkeypatch):
    monkeypatch.setattr(sandbox, "is_root", lambda: True)
    backends = tuple(backend for backend in BACKENDS if backend.name == "time limit")
    with pytest.raises(SandboxError, match="would run as root"):
        choose_backend(root, SHORT, backends=backends, trial=lambda *_: "")
    by_name = choose_backend(root, SHORT, only="time limit", backends=backends, trial=lambda *_: "")
    assert by_name.backend.name == "time limit"


@pytest.mark.skipif(not is_root(), reason="only root can start a process as another user")
def test_with_resource_limits_a_child_of_root_becomes_another_user(root):
    (limited,) = [backend for backend in BACKENDS if backend.name == "resource limits"]
    started = limited.start(root, SHORT)
    started.process.kill()
    started.process.communicate()
    assert 65_536 <= started.user < 100_000
    assert started.folder.stat().st_uid == started.user
    started.folder.rmdir()
    assert {"processes", "forks"} <= limited.keeps


def test_the_selection_goes_no_lower_than_is_required(root, monkeypatch):
    monkeypatch.setattr(sandbox, "is_root", lambda: False)
    works = dict.fromkeys((backend.name for backend in BACKENDS), "is not there")

    def trial(backend, root, limits):
        return works[backend.name]

    works["time limit"] = ""
    assert choose_backend(root, SHORT, trial=trial).backend.name == "time limit"
    with pytest.raises(SandboxError, match="bubblewrap: is not there"):
        choose_backend(root, SHORT, require="bubblewrap", trial=trial)
    with pytest.raises(SandboxError):
        choose_backend(root, SHORT, require="resource limits", trial=trial)
    works["resource limits"] = ""
    assert (
        choose_backend(root, SHORT, require="resource limits", trial=trial).backend.name == "resource limits"
    )
    works["bubblewrap"] = ""
    assert choose_backend(root, SHORT, require="resource limits", trial=trial).backend.name == "bubblewrap"
    assert choose_backend(root, SHORT, only="time limit", trial=trial).backend.name == "time limit"
    with pytest.raises(SandboxError, match='"time limit" is weaker than "resource limits"'):
        choose_backend(root, SHORT, require="resource limits", only="time limit", trial=trial)
    same = choose_backend(root, SHORT, require="resource limits", only="resource limits", trial=trial)
    assert same.backend.name == "resource limits"
    with pytest.raises(ValueError, match="magic"):
        choose_backend(root, SHORT, require="magic", trial=trial)


def test_the_banner_says_what_is_not_ensured(root):
    selection = choose_backend(root, SHORT, only="time limit", trial=lambda *_: "")
    said = banner(selection)
    assert "time limit" in said
    assert "NOT ensured" in said
    assert "no network" in said.split("NOT ensured")[1]
    assert "NOT ensured" not in banner(choose_backend(root, SHORT, only="bubblewrap", trial=lambda *_: ""))


def test_root_keeps_only_the_rights_to_become_another_user(root):
    words = bubblewrap_command(root, SHORT, as_root=True, filter_fd=None)
    assert "--unshare-user" not in words
    assert [words[n + 1] for n, word in enumerate(words) if word == "--cap-add"] == [
        "CAP_SETUID",
        "CAP_SETGID",
    ]
    words = bubblewrap_command(root, SHORT, as_root=False, filter_fd=None)
    assert "--unshare-user" in words
    assert "--cap-add" not in words


@pytest.mark.skipif(bool(BACKENDS[0].available()), reason=f"bubblewrap {BACKENDS[0].available()}")
def test_in_bubblewrap_the_code_is_nobody_and_sees_nothing(root):
    with started(root, BACKENDS[0]) as child:
        source = "import os, sys\ndef f():\n    return {'user': os.getuid(), 'top': sorted(os.listdir('/')), "
        source += "'names': sorted(os.environ), 'pids': [p for p in os.listdir('/proc') if p.isdigit()], "
        source += "'more': open('/proc/self/status').read().split('\\n'), 'ctypes': 'ctypes' in sys.modules}"
        run(child, source, "f")
        seen = call(child, "f")["returned"]
    assert seen["user"] not in (0, os.getuid()) or not is_root()
    assert len(seen["pids"]) <= 2
    assert "NoNewPrivs:\t1" in seen["more"]  # by bubblewrap itself; the child saves the time to ask for it
    assert not seen["ctypes"]
    assert not {"home", "etc", "work", "var"} & set(seen["top"])
    assert set(seen["names"]) <= {
        "HOME", "LANG", "LC_CTYPE", "MPLBACKEND", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PATH", "PWD",
        "PYTHONDONTWRITEBYTECODE",
    }  # fmt: skip


GRADER = """
import sys, time
from pathlib import Path
from agentlib.course.grading import BACKENDS, SandboxRoot, Limits
from agentlib.course.grading.channel import Child
root = SandboxRoot(Path(sys.argv[1]), tuple(map(Path, sys.argv[2:])))
child = Child(BACKENDS[0], root, Limits(cell_seconds=60), time.monotonic() + 60)
print(child.pid, flush=True)
source = "import signal\\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))\\nwhile True: pass"
child.ask({"do": "cells", "cells": [{"number": 1, "source": source}], "functions": [], "seconds": 60}, 60)
"""


@pytest.mark.skipif(bool(BACKENDS[0].available()), reason=f"bubblewrap {BACKENDS[0].available()}")
def test_what_is_in_bubblewrap_ends_when_the_grader_is_killed(root):
    command = [sys.executable, "-c", GRADER, str(root.folder), *map(str, root.packages)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as grader:
        assert int(grader.stdout.readline()) > 0
        time.sleep(0.3)  # it is in its loop now
        grader.kill()
    until = time.monotonic() + 10
    while processes_of(str(root.folder)) and time.monotonic() < until:
        time.sleep(0.05)
    assert processes_of(str(root.folder)) == []


# --- the filter for system calls


def run_filter(program, machine, number, argument=0, fourth=0):
    """Run a filter as the kernel does: a small machine with one register."""
    data = struct.pack("=iIQ6Q", number, machine, 0, argument, 0, 0, fourth, 0, 0)
    steps = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    at, register = 0, 0
    while True:
        code, yes, no, value = steps[at]
        at += 1
        if code == 0x20:
            (register,) = struct.unpack_from("=I", data, value)
        elif code == 0x06:
            return value
        else:
            test = {0x15: register == value, 0x35: register >= value, 0x45: bool(register & value)}[code]
            at += yes if test else no


X86 = 0xC000003E
ALLOW, EPERM, ENOSYS = 0x7FFF0000, 0x00050001, 0x00050026


@pytest.mark.parametrize(
    ("number", "argument", "answer"),
    [
        (0, 0, ALLOW),  # read
        (59, 0, ALLOW),  # execve
        (165, 0, EPERM),  # mount
        (319, 0, EPERM),  # memfd_create
        (435, 0, ENOSYS),  # clone3
        (56, 0x11, ALLOW),  # clone, as fork uses it
        (56, 0x003D0F00, ALLOW),  # clone, as threads use it
        (56, 0x10000011, EPERM),  # clone with a new user namespace
        (0x40000000, 0, EPERM),  # read by another ABI
    ],
)
def test_the_filter_lets_through_what_programs_need(number, argument, answer):
    assert run_filter(call_filter("x86_64"), X86, number, argument) == answer


@pytest.mark.parametrize(("machine", "audit", "column"), [("x86_64", X86, 0), ("aarch64", 0xC00000B7, 1)])
@pytest.mark.parametrize(
    ("numbers", "argument", "fourth", "answer"),
    [
        ((9, 222), 0, 0x22, ALLOW),  # mmap of memory of one's own
        ((9, 222), 0, 0x01, ALLOW),  # of a file, shared
        ((9, 222), 0, 0x21, EPERM),  # of memory that is shared
        ((9, 222), 0, 0x23, EPERM),  # the same in its newer form
        ((41, 198), 1, 0, ALLOW),  # a socket in a file
        ((41, 198), 2, 0, ALLOW),  # of the network
        ((41, 198), 40, 0, 0x00050061),  # AF_VSOCK: it reaches the machine's host
        ((41, 198), 38, 0, 0x00050061),  # AF_ALG
        ((53, 199), 1, 0, ALLOW),  # a pair
        ((53, 199), 30, 0, 0x00050061),
        ((203, 122), 0, 0, EPERM),  # to other processors
    ],
)
def test_the_filter_looks_at_what_a_call_is_asked_for(
    machine, audit, column, numbers, argument, fourth, answer
):
    assert run_filter(call_filter(machine), audit, numbers[column], argument, fourth) == answer


HOLDS = """
import ctypes, mmap, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def tried(reach):
    try:
        reach()
        return "done"
    except OSError as problem:
        return type(problem).__name__
def zero():
    with open("/dev/zero", "r+b") as file:
        return mmap.mmap(file.fileno(), 10_000)
def f():
    return {
        "shared": tried(lambda: mmap.mmap(-1, 10_000)),
        "zero": tried(zero),
        "own": tried(lambda: mmap.mmap(-1, 10_000, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)),
        "vsock": tried(lambda: socket.socket(40, socket.SOCK_STREAM)),
        "alg": tried(lambda: socket.socket(38, socket.SOCK_SEQPACKET)),
        "unix": tried(socket.socketpair),
        "inet": tried(lambda: socket.socket().close()),
        "processors": tried(lambda: os.sched_setaffinity(0, {0})),
    }
"""


@pytest.mark.skipif(bool(BACKENDS[0].available()), reason=f"bubblewrap {BACKENDS[0].available()}")
def test_no_memory_that_nobody_counts_and_no_socket_past_the_namespaces_in_bubblewrap(root):
    with started(root, BACKENDS[0]) as child:
        run(child, HOLDS, "f")
        assert call(child, "f")["returned"] == {
            "shared": "PermissionError",
            "zero": "PermissionError",
            "own": "done",
            "vsock": "OSError",
            "alg": "OSError",
            "unix": "done",
            "inet": "done",
            "processors": "PermissionError",
        }


def test_the_filter_refuses_calls_of_another_architecture_and_is_not_made_for_unknown_ones():
    assert run_filter(call_filter("x86_64"), 0x40000003, 0) == EPERM
    assert run_filter(call_filter("aarch64"), 0xC00000B7, 40) == EPERM
    assert run_filter(call_filter("aarch64"), 0xC00000B7, 63) == ALLOW
    assert call_filter("riscv64") is None
