"""`python -m agentlib check` and `reset`: what they say and how they end, also with bad files."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import pytest

from agentlib.course.check_command import find_file
from agentlib.course.check_file import check_file
from agentlib.course.check_subprocess import check_in_subprocess
from agentlib.course.checking.magics import plain
from agentlib.course.checking.notebook import read_notebook
from agentlib.course.cli import main
from agentlib.course.errors import NotebookError
from agentlib.course.exercises import EXERCISES, FRESH_DIR, exercise_of
from agentlib.course.reset_command import reset_exercise, reset_quiz
from agentlib.course.running.cells import Cell, run_cells
from agentlib.views.quiz.answers import Answers
from agentlib.views.store import EXERCISES as EXERCISE_KIND
from agentlib.views.store import Store
from tests.hostile.submissions import HONEST

ROOT = Path(__file__).parents[2]
NAME = "ex01_write_the_loop"

GOOD = HONEST


def notebook(*cells, **more):
    """A notebook of code cells."""
    empty = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    code = [{**empty, "id": f"c{i}", "source": source} for i, source in enumerate(cells)]
    return {"cells": code, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more}


@pytest.fixture
def file(tmp_path):
    """Write a notebook for ex01, from cells or as it is given."""

    def write(*cells, text=None):
        path = tmp_path / f"{NAME}.ipynb"
        path.write_text(json.dumps(notebook(*cells)) if text is None else text, encoding="utf-8")
        return path

    return write


COMMAND = [sys.executable, "-m", "agentlib"]


def from_a_terminal(*words):
    options = {"capture_output": True, "text": True, "input": "", "timeout": 60, "cwd": ROOT}
    return subprocess.run([*COMMAND, *words], **options)


@pytest.fixture
def command(capfd, monkeypatch):
    """Run a command, and give how it ended and all that came out, as from a terminal, but sooner."""
    monkeypatch.chdir(ROOT)

    def run(*words):
        capfd.readouterr()
        code = main(list(words))
        return subprocess.CompletedProcess(words, code, *capfd.readouterr())

    return run


@pytest.fixture
def refused(command):
    """Run a command that ends with status 2 and one sentence."""

    def run(*words):
        done = command(*words)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert "Traceback" not in done.stderr
        return done

    return run


def started(*words):
    """A command that runs beside the test."""
    pipe = subprocess.PIPE
    return subprocess.Popen([*COMMAND, *words], stdout=pipe, stderr=pipe, text=True, cwd=ROOT)


# --- from the terminal


def test_exit_code_is_0_only_when_all_is_met(file):
    good = from_a_terminal("check", str(file(GOOD)), "--seed", "5")
    assert (good.returncode, good.stderr) == (0, "")
    assert "10 of 10 points" in good.stdout
    assert "seed 5" in good.stdout
    bad = from_a_terminal("check", str(file(GOOD.replace("max_steps + 1", "max_steps"))), "--more")
    assert bad.returncode == 1
    assert "not yet" in bad.stdout
    assert "more: " in bad.stdout


def test_json(file, command):
    done = command("check", str(file(GOOD)), "--json", "--seed", "5")
    assert done.returncode == 0
    data = json.loads(done.stdout)
    assert (data["exercise"], data["passed"], data["points"], data["seed"]) == (NAME, True, 10, 5)


def test_the_untouched_exercise_by_its_name(command):
    done = command("check", "ex02")
    assert done.returncode in (0, 1)
    assert done.stdout.startswith("ex02 three stops")


BAD_FILES = {
    "empty": ("", "the file is empty"),
    "blank": (" \n", "the file is empty"),
    "page": ("\n<!DOCTYPE html><title>Log in</title>", "is a web page and no notebook"),
    "half": ('{"cells": [', "its JSON breaks off at line 1"),
    "list": ("[1, 2]", "it holds JSON of another kind"),
    "old": (json.dumps({"nbformat": 3, "worksheets": []}), "has notebook format 3, and format 4 is needed"),
    "deep": ("[" * 100_000, "is no notebook"),
    "no cells": (
        json.dumps(notebook()),
        "no cell makes a function run_agent: there is no code cell in it",
    ),
    "no list": (json.dumps({"nbformat": 4}), "it has no list of cells"),
    "true": ('{"cells": [], "nbformat": true}', "it holds JSON of another kind"),
    "long number": ('{"cells": [], "nbformat": ' + "4" * 5_000 + "}", "a number in it is too long"),
    "magic": (
        json.dumps(notebook("%%writefile a.py\n" + GOOD)),
        "(the cell that begins `%%writefile a.py` was passed over: %%writefile is not run in a check)",
    ),
    "syntax": (json.dumps(notebook("x = (")), "(in the cell that begins `x = (`, line 1: "),
    "no function": (json.dumps(notebook("run_agent = 3")), "run_agent is 3, which is no function"),
}


@pytest.mark.parametrize(("text", "said"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_file_gets_one_sentence_and_no_traceback(file, text, said, refused):
    done = refused("check", str(file(text=text)))
    assert done.stdout == ""
    assert said in done.stderr


def test_a_problem_can_come_as_json_too(file, command):
    done = command("check", str(file(text="{")), "--json")
    assert done.returncode == 2
    assert "no notebook file" in json.loads(done.stdout)["problem"]


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("nowhere/ex01.ipynb", "there is no such file"),
        ("ex99", "There is no exercise"),
        ("README.md", "its name does not say which exercise"),
        ("agentlib", "its name does not say"),
    ],
)
def test_what_cannot_be_found_is_named(what, said, refused):
    assert said in refused("check", what).stderr


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / f"{NAME}.ipynb"
    path.write_bytes(b"\xff\xfe\x00\x01" * 10)
    with pytest.raises(NotebookError, match="no notebook file"):
        read_notebook(path)


# --- what the cells do


FAILING_CELLS = {
    "syntax": ("x = 1\ny = (", "x = 1`, line 2: '(' was never closed"),
    "tabs": ("if True:\n\tx = 1\n        y = 2", "if True:`, line 3: inconsistent use of tabs"),
    "input": ("print('a')\nname = input('name? ')", "print('a')`, line 2: input() waits for a person"),
    "exit": ("print('a')\nexit()", "print('a')`, line 2: exit() would end the notebook"),
    "sys.exit": ("import sys\nsys.exit(0)", "import sys`, line 2: sys.exit() would end the notebook"),
    "quit": ("quit(3)", "quit(3)`, line 1: quit() would end the notebook"),
    "SystemExit": ("x = 1\nraise SystemExit", "x = 1`, line 2: SystemExit would end"),
    "no message": ("class E(Exception): pass\nraise E", "class E`, line 2: E: `raise E`"),
    "two lines": ("y = 1\nraise ValueError('a\\n  b')", "y = 1`, line 2: ValueError: a b:"),
    "a zero byte in it": ("x = 1\0", "x = 1\0`: source code"),
    "error": ("1 / 0", "1 / 0`, line 1: ZeroDivisionError"),
    "import": ("import no_such_module", "import no_such_module`, line 1: ModuleNotFoundError"),
    "zero byte": ("x = 'a' + '\\0'\nraise ValueError(x)", "x = 'a'"),
}


@pytest.mark.parametrize(("cell", "said"), FAILING_CELLS.values(), ids=FAILING_CELLS)
def test_a_cell_that_fails_is_named_and_the_others_still_run(file, cell, said):
    report = check_file(file(cell, GOOD))
    assert report.passed
    (note,) = report.notes
    assert note.startswith(f"In the cell that begins `{said}")
    assert "\n" not in note


def test_a_failing_cell_is_named_where_the_function_is_missing(file):
    words = r"run_agent \(in the cell that begins `nothing_here`, line 1: NameError"
    with pytest.raises(NotebookError, match=words):
        check_file(file("nothing_here"))


def test_a_cell_that_does_not_end_is_ended(file):
    report = check_file(file("while True:\n    pass", GOOD), cell_seconds=0.3)
    assert report.passed
    assert report.notes == (
        "The cell that begins `while True:` did not end within 0.3 seconds: is there a way out of its loop?",
    )


def test_100_mb_of_printed_text_is_counted_and_dropped(file):
    report = check_file(file("for _ in range(1_000):\n    print('x' * 100_000)", GOOD))
    assert report.passed
    assert report.notes == (
        "The cell that begins `for _ in range(1_000):` printed 100 MB, which are not shown.",
    )


def test_100_mb_of_stored_output_is_passed_over(tmp_path):
    stored = notebook(GOOD)
    stored["cells"][0]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x" * 100_000_000}]
    path = tmp_path / f"{NAME}.ipynb"
    path.write_text(json.dumps(stored))
    assert check_file(path).passed


def test_what_only_a_notebook_can_do_does_no_harm(file):
    cells = [
        "%matplotlib inline\n!ls\nx = 1",
        "%%time\ny = 2",
        "%%bash\necho hello",
        "display(1)\nget_ipython()\nx?",
        "from agentlib.course import check",
    ]
    report = check_file(file(*cells, GOOD))
    assert report.passed
    assert report.notes == ()


def test_a_helper_in_another_cell_and_a_class_at_work(file):
    helper = "from dataclasses import dataclass\n\n@dataclass\nclass Step:\n    number: int"
    assert check_file(file(helper, GOOD.replace("history = [", "Step(1)\n    history = ["))).passed


def test_the_learners_line_is_shown_with_its_cell(file):
    report = check_file(file("import json", GOOD.replace("model(history)", "model(hist)")))
    assert "in the cell that begins `def run_agent(`, line 5: `reply = model(hist)`" in report.results[0].seen


@pytest.mark.parametrize(
    ("source", "begins"),
    [
        ("\n\n  x = 1", "the cell that begins `x = 1`"),
        ("def f(a,\n      b):\n    pass", "the cell that begins `def f(`"),
        ("class Guard:\n    pass", "the cell that begins `class Guard`"),
        ("%%time\nx = 1", "the cell that begins `%%time`"),
        ("x = '" + "long " * 40 + "'", "the cell that begins `x = 'long long long long long long lo...`"),
        ("x = '`' + y", "the cell that begins `x = " + "'" * 3 + " + y`"),
        ("", "code cell 3, which is empty"),
    ],
)
def test_a_cell_is_named_by_its_first_line(source, begins):
    assert Cell(3, source).place.startswith(begins)


@pytest.mark.parametrize(
    ("line", "said"), [("exit()", "SystemExit"), ("input()", "input() waits for a person")]
)
def test_what_ends_or_waits_inside_the_function_is_told(file, line, said):
    report = check_file(file(GOOD.replace("history = [", f"{line}\n    history = [")))
    assert said in report.results[0].seen


def test_a_cell_with_a_check_of_its_own_is_passed_over():
    cells = read_notebook(ROOT / "solutions" / f"{NAME}.ipynb")
    assert any("check" in cell.tags for cell in cells)
    assert "report" not in run_cells(cells).names


def marked(*ids, cells=(GOOD,)):
    """A notebook in which nbgrader's names stand at the first cells."""
    made = notebook(*cells)
    for cell, name in zip(made["cells"], ids, strict=False):
        cell["metadata"] = {"nbgrader": {"grade_id": name}}
    return json.dumps(made)


@pytest.mark.parametrize(
    ("name", "exercise"),
    [
        ("ex02_three_stops", "ex02"),
        ("my ex02 (1)", "ex02"),
        ("EX02", "ex02"),
        ("ex06_every_call_answered__ex01_loop_as_is", "ex06"),
        ("ex06__from_ex01_write_the_loop", "ex06"),
        ("annex01_ex02", "ex02"),
        ("alex01-ex02_three_stops", "ex02"),
        ("janeex02", "ex02"),
        ("doejane_123_4567_ex04_repeat_guard-2", "ex04"),
    ],
)
def test_a_name_tells_the_exercise_by_the_first_one_that_it_names(name, exercise):
    assert exercise_of(Path(f"{name}.ipynb")).name.startswith(f"{exercise}_")


def test_the_notebooks_own_cells_have_the_last_word_on_the_exercise(tmp_path):
    path = tmp_path / "ex06_mine.ipynb"
    path.write_text(marked("ex01_setup", "ex01_solution", cells=("import json", GOOD)))
    report = check_file(path)
    assert report.exercise == NAME
    assert report.notes == ("Its name says ex06, its cells say ex01; it was checked as ex01.",)
    path = tmp_path / "homework.ipynb"
    path.write_text(json.dumps(notebook(GOOD, f'report = check("{NAME}", run_agent)\nreport')))
    assert check_file(path).exercise == NAME


@pytest.mark.parametrize(
    ("names", "cells"),
    [
        (["ex01_solution", "ex02_setup", "ex02_check"], [GOOD, "import json", "2"]),
        (["ex01_solution", "ex02_solution"], [GOOD, GOOD]),
    ],
    ids=["one cell", "as many as of its own"],
)
def test_cells_from_another_exercise_that_are_not_the_most_change_nothing(tmp_path, names, cells):
    path = tmp_path / "ex02_three_stops.ipynb"
    path.write_text(marked(*names, cells=cells))
    assert check_file(path).exercise == "ex02_three_stops"


@pytest.mark.skipif(sys.platform == "win32", reason="pipes break in another way there")
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_reader_that_goes_away_leaves_no_traceback(file, more):
    with started("check", str(file(GOOD)), *more) as child:
        child.stdout.close()  # as `| head -0` does
        assert child.stderr.read() == ""
    assert child.returncode == 0


# --- code that does more than it should: the command's own process has the last word


INSIDE = GOOD.replace("history = [", "MORE\n    history = [", 1)
SHORT = GOOD.replace("max_steps + 1", "max_steps")  # it asks once too little


@pytest.mark.parametrize(
    ("cells", "where"),
    [
        (["import os", "os._exit(0)", GOOD], " in the cell that begins `os._exit(0)`"),
        (["import os", INSIDE.replace("MORE", "os._exit(0)")], " in run_agent"),
        (["import builtins; builtins.__dict__.clear()", GOOD], ""),
    ],
    ids=["in a cell", "in the function", "no builtins"],
)
@pytest.mark.parametrize("more", [[], ["--json"]], ids=["text", "json"])
def test_code_that_ends_python_is_no_pass(file, cells, where, more, refused):
    done = refused("check", str(file(*cells)), *more)
    assert f"the notebook's code ended the program{where}" in done.stderr
    if more:
        assert json.loads(done.stdout)["problem"] in done.stderr
    else:
        assert done.stdout == ""


def test_code_that_ends_python_later_does_not_change_how_the_check_ends(file, command):
    bad = command("check", str(file("import atexit, os\natexit.register(os._exit, 0)", SHORT)))
    assert bad.returncode == 1
    assert "not yet" in bad.stdout


@pytest.mark.parametrize(
    "cell",
    [
        "import threading, time\nthreading.Thread(target=time.sleep, args=(1_000,)).start()",
        "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1_000)'])",
    ],
    ids=["thread", "process"],
)
def test_what_the_code_has_started_does_not_hold_up_the_command(file, cell):
    began = time.monotonic()
    done = from_a_terminal("check", str(file(cell, GOOD)))
    assert (done.returncode, done.stderr) == (0, "")
    assert time.monotonic() - began < 30


@pytest.mark.skipif(sys.platform == "win32", reason="a process is looked for in another way there")
def test_what_the_code_has_started_is_ended_with_the_check(file, tmp_path):
    note = tmp_path / "pid"
    cell = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1_000)'])\n"
        f"open({str(note)!r}, 'w').write(str(child.pid))"
    )
    assert check_in_subprocess(file(cell, GOOD)).passed
    for _ in range(100):  # an ended process is there until somebody has asked for its end
        if not is_running(int(note.read_text())):
            return
        time.sleep(0.1)
    pytest.fail("it still runs")


def is_running(pid):
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return done.stdout.strip()[:1] not in ("", "Z")


IGNORES = "import signal\nif hasattr(signal, 'SIGALRM'):\n    signal.signal(signal.SIGALRM, signal.SIG_IGN)\n"
NO_TIMER = "import signal; hasattr(signal, 'setitimer') and signal.setitimer(signal.ITIMER_REAL, 0)"


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["any(iter(int, 1))", GOOD], "cell that begins `any(iter(int, 1))` did not end within 0.2 seconds"),
        ([IGNORES + "while True: pass", GOOD], "the cell that begins `import signal` did not end within 0.2"),
        ([INSIDE.replace("MORE", NO_TIMER + "\n    any(iter(int, 1))")], "run_agent did not end within "),
    ],
    ids=["loop in C", "no signals", "no timer"],
)
def test_what_python_cannot_interrupt_is_ended_from_outside(file, cells, said):
    began = time.monotonic()
    with pytest.raises(NotebookError) as problem:
        check_in_subprocess(file(*cells), cell_seconds=0.2, grace_seconds=0.3)
    assert said in str(problem.value)
    assert time.monotonic() - began < 30


def test_the_time_for_a_cell_can_be_given(file, command):
    done = command("check", str(file("while True: pass", GOOD)), "--seconds", "0.2")
    assert "within 0.2 seconds: is there a way out of its loop?" in done.stdout


@pytest.mark.parametrize("wrong", ["0", "-1", "a", "nan", "inf"])
def test_a_time_that_is_none_is_refused(wrong, capsys):
    with pytest.raises(SystemExit):
        main(["check", "ex01", "--seconds", wrong])
    assert "a time is a number of seconds above 0" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such pipes")
def test_what_is_no_regular_file_is_not_read(tmp_path, refused):
    path = tmp_path / f"{NAME}.ipynb"
    os.mkfifo(path)
    assert "is no file that can be read" in refused("check", str(path)).stderr


def test_nothing_that_the_code_writes_gets_into_the_report(file, command):
    cell = "import os, sys\nos.system('echo one')\nos.write(1, b'two')\nsys.__stdout__.write('three')\n"
    cell += """os.write(1, b'\\n{"problem": "four"}\\n')"""  # as the messages of the check itself look
    done = command("check", str(file(cell, GOOD)), "--json")
    assert json.loads(done.stdout)["passed"]
    assert done.stderr == ""


def test_words_that_get_into_the_pipe_spoil_no_message_behind_them(file):
    cell = "import os\nfor number in range(3, 20):\n    try: os.write(number, b'x')\n    except OSError: pass"
    inside = INSIDE.replace("MORE", cell.replace("\n", "\n    "))
    assert check_in_subprocess(file(inside)).passed


@pytest.mark.parametrize(
    "cell",
    [
        "import os\nos.close(1)",
        "import sys\nsys.__stdout__.close()",
        "raise KeyboardInterrupt",
        "class M(type):\n    @property\n    def __name__(cls): raise ValueError\n"
        "class E(Exception, metaclass=M): pass\nraise E",
    ],
    ids=["close", "sys close", "interrupt", "no name"],
)
def test_no_cell_gets_a_traceback_of_ours(file, cell, command):
    done = command("check", str(file(cell, GOOD)))
    assert (done.returncode, done.stderr) == (0, "")
    assert "10 of 10 points" in done.stdout


def test_an_interrupt_that_the_function_raises_is_an_error_like_others(file, command):
    done = command("check", str(file(INSIDE.replace("MORE", "raise KeyboardInterrupt"))))
    assert (done.returncode, done.stderr) == (1, "")
    said = " ".join(done.stdout.split())
    assert "KeyboardInterrupt, in the cell that begins `def run_agent(`, line 3" in said


def test_python_without_its_own_functions_gets_one_sentence(file, refused):
    done = refused("check", str(file("import builtins\ndel builtins.len", GOOD)))
    assert "name 'len' is not defined" in done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_a_process_that_is_forked_off_makes_no_second_report(file, command):
    done = command("check", str(file("import os\nos.fork()", GOOD)))
    assert done.returncode == 0
    assert done.stdout.count("10 of 10 points") == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_a_process_that_is_forked_off_gives_no_report_in_the_place_of_the_other(file):
    late = "\nimport os, time\nif os.fork():\n    time.sleep(2)\n    del run_agent"
    with pytest.raises(NotebookError, match="no cell makes a function run_agent"):
        check_in_subprocess(file(GOOD + late))


def test_a_report_that_calls_itself_passed_is_judged_by_its_results(file, command):
    cell = "from agentlib.course.checking.report import CheckReport\n"
    cell += "CheckReport.passed = property(lambda self: True)\n"
    cell += "CheckReport.points = property(lambda self: 10)"
    done = command("check", str(file(cell, SHORT)), "--json")
    assert done.returncode == 1
    data = json.loads(done.stdout)
    assert (data["passed"], data["points"] < 10) == (False, True)


@pytest.mark.parametrize("source", [GOOD, SHORT, GOOD + "print(1)", "raise NotImplementedError"])
def test_the_report_of_a_process_of_its_own_is_the_same(file, source):
    path = file("1 / 0", "def run_agent(*given, **named): raise NotImplementedError", source)
    assert check_in_subprocess(path, seed=5) == check_file(path, seed=5)


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent in another way there")
def test_ctrl_c_ends_the_check_and_says_so(file, tmp_path):
    begun = tmp_path / "begun"
    path = file(f"open({str(begun)!r}, 'w').close()\nimport time\ntime.sleep(1_000)", GOOD)
    with started("check", str(path)) as child:
        while not begun.exists() and child.poll() is None:
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        assert child.stderr.read() == "Interrupted; there is no report.\n"
    assert child.returncode == 130


@pytest.mark.parametrize("wrong", ["-1", "1.5", "a", "9" * 5_000])
def test_a_seed_that_is_no_whole_number_is_refused(wrong, capsys):
    with pytest.raises(SystemExit):
        main(["check", "ex01", f"--seed={wrong}"])
    assert "a seed is a whole number from 0 on" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (GOOD.replace("def run", "async def run"), "Take `async` away: `def run_agent(...)`"),
        (GOOD.replace("history.append(reply)", "yield reply"), "Take `yield` away: `def run_agent(...)`"),
        ("class run_agent: pass", "run_agent is a class"),
        ("run_agent = print", "run_agent is a built-in function"),
    ],
    ids=["async", "generator", "class", "built-in"],
)
def test_what_can_be_called_and_is_no_function_to_check_is_told(file, source, said):
    with pytest.raises(NotebookError) as problem:
        check_file(file(source))
    assert said in str(problem.value)


def test_no_name_at_all_and_a_name_of_two_lines(capsys):
    assert main(["check", ""]) == 2
    assert "Name a notebook" in capsys.readouterr().err
    assert main(["check", "ex01\nnone.ipynb"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_help_tells_the_exit_statuses(capsys):
    with pytest.raises(SystemExit):
        main(["check", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "0 if all is met, also where a cell that is not needed for it fails" in said


# --- what only a notebook understands


MAGICS = {
    "comment": ("%matplotlib inline\nx = [\n    1,  # what does it say?\n    2,\n]", [1, 2]),
    "continued": ("%matplotlib inline\nx = ('%s'\n    % 3)", "3"),
    "capture": ("%%capture\n%matplotlib inline\n!ls\nx = 1", 1),
    "two": ("%%time\n%%capture\nx = 1", 1),
    "prun": ("%%prun\nx = 1", 1),
    "shell": ("x = !ls", []),
    "sql": ("x = %sql select 1", None),
    "help": ("?len\nx = 1\nlen?", 1),
    "time": ("%time x = 1", 1),
    "await": ("import asyncio\nx = await asyncio.sleep(0, 5)", 5),
    "both": ("%matplotlib inline\nimport asyncio\nx = await asyncio.sleep(0, 5)", 5),
    "text": ("x = '''\n%not a magic\nwhy?\n'''\n%matplotlib inline", "\n%not a magic\nwhy?\n"),
    "indented": ("def f():\n    !ls\n    return 4\nx = f()", 4),
    "ipython": ("get_ipython().magic('matplotlib inline')\nx = 1", 1),
}


@pytest.mark.parametrize(("cell", "value"), MAGICS.values(), ids=MAGICS)
def test_magics_leave_the_code_around_them_as_it_is(cell, value):
    ran = run_cells(plain([Cell(1, cell)]))
    assert ran.problems == []
    assert ran.names["x"] == value


def test_an_error_below_a_magic_is_told_with_its_own_line():
    for cell in ("%%time\n\n1 / 0", "\n%matplotlib inline\n1 / 0"):
        (said,) = run_cells(plain([Cell(1, cell)])).problems
        assert "line 3: ZeroDivisionError: division by zero: `1 / 0`" in said


def test_very_many_magics_are_not_translated_since_that_could_take_for_ever():
    for cell in (Cell(1, "!ls\n" * 10_000), Cell(1, "%a\n" * 500)):
        assert plain([cell])[0].code == cell.source
    few = Cell(1, "!ls\n" * 100)
    made = plain([few] * 20)
    assert "get_ipython" in made[0].code
    assert made[-1].code == few.source


def test_a_long_cell_with_a_magic_is_translated():
    (made,) = plain([Cell(1, "%matplotlib inline\n" + "x = 1\n" * 10_000)])
    assert "get_ipython" in made.code


def test_a_cell_of_empty_lines_that_is_no_python_is_looked_through_at_once():
    began = time.monotonic()
    plain([Cell(1, "\n" * 100_000 + "(")])
    assert time.monotonic() - began < 5


def test_plain_python_needs_no_ipython():
    code = (
        "import sys\nfrom agentlib.course.checking.magics import plain\n"
        "from agentlib.course.running.cells import Cell\n"
        "plain([Cell(1, 'x = 1  # what?'), Cell(2, 'x = ('), Cell(3, '%%time\\nx = 1')])\n"
        "print('IPython' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == "False\n"


def test_files_are_found_by_name():
    assert find_file("ex02") == find_file("ex02_three_stops")
    assert find_file("ex02").name == "ex02_three_stops.ipynb"
    assert find_file("mine/ex02.ipynb") == Path("mine/ex02.ipynb")


# --- reset


NOW = datetime(2026, 1, 2, 3, 4, 5)


@pytest.fixture
def course(tmp_path):
    (tmp_path / "exercises").mkdir()
    return tmp_path


@pytest.fixture
def mine(course):
    return course / "exercises" / f"{NAME}.ipynb"


def fresh(name=NAME):
    return (FRESH_DIR / f"{name}.ipynb").read_text(encoding="utf-8")


def test_reset_keeps_the_old_file_beside_the_fresh_one(course, mine):
    mine.write_text("my work")
    said = reset_exercise("ex01", course, now=NOW)
    kept = course / "exercises" / f"{NAME}.before_2026-01-02_03-04-05.ipynb"
    assert kept.read_text() == "my work"
    assert kept.name in said
    assert mine.read_text(encoding="utf-8") == fresh()


def test_reset_twice_in_one_second_loses_nothing(course, mine):
    for work in ("first", "second", "third"):
        mine.write_text(work)
        reset_exercise("ex01", course, now=NOW)
    kept = {path.read_text() for path in (course / "exercises").glob("*.before_*")}
    assert kept == {"first", "second", "third"}


def test_reset_moves_aside_whatever_is_broken(course, mine):
    mine.write_bytes(b"\xff")
    reset_exercise("ex01", course, now=NOW)
    mine.unlink()
    mine.mkdir()
    reset_exercise("ex01", course, now=NOW)
    assert mine.read_text(encoding="utf-8") == fresh()
    kept = sorted((course / "exercises").glob("*.before_*"))
    assert [path.is_dir() for path in kept] == [False, True]
    assert kept[0].read_bytes() == b"\xff"


def test_a_name_that_is_too_long_for_a_file_is_told_like_any_other():
    with pytest.raises(NotebookError, match="There is no file"):
        find_file("a" * 5_000)


def test_reset_where_the_folder_of_the_exercises_is_a_file(tmp_path):
    (tmp_path / "exercises").write_text("")
    with pytest.raises(ValueError, match="exercises is a file, and the exercises need a folder there"):
        reset_exercise("ex01", tmp_path)


def test_reset_of_an_untouched_or_missing_exercise(course):
    assert "was missing" in reset_exercise("ex01", course)
    assert "as it was" in reset_exercise("ex01", course)
    assert list((course / "exercises").glob("*.before_*")) == []


def test_reset_wants_names_or_all(command, refused):
    for words in (["reset"], ["reset", "ex01", "--all"]):
        done = command(*words)
        assert done.returncode == 2
        assert "--all" in done.stderr
    assert "There is no exercise" in refused("reset", "ex99").stderr


def test_the_points_of_ones_own_exercise_are_kept_and_those_of_another_file_are_not(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTLIB_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "course_copy").mkdir()
    solution = ROOT / "solutions" / "ex01_write_the_loop.ipynb"
    for folder in ("exercises", "handed_in"):
        (tmp_path / folder).mkdir()
        shutil.copy(solution, tmp_path / folder)
    assert main(["check", str(tmp_path / "handed_in" / solution.name)]) == 0
    assert Store().all(EXERCISE_KIND) == {}
    assert main(["check", str(tmp_path / "exercises" / solution.name)]) == 0
    assert Store().read(EXERCISE_KIND, "ex01_write_the_loop")["best"] == 10


def test_reset_knows_every_exercise(course):
    for name in EXERCISES:
        reset_exercise(name, course)
        assert (course / "exercises" / f"{name}.ipynb").read_text(encoding="utf-8") == fresh(name)


def test_reset_of_the_quiz_forgets_every_answer_and_says_if_there_were_none(tmp_path):
    answers = Answers(tmp_path)
    answers.keep("01_the_loop", [0, 2], 1)
    assert reset_quiz(tmp_path) == "quiz: your answers are forgotten."
    assert answers.picked("01_the_loop", [3, 3]) == [-1, -1]
    assert reset_quiz(tmp_path) == "quiz: no answers were kept."


def test_reset_with_quiz_alone_leaves_the_exercises_as_they_are(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("AGENTLIB_DATA_DIR", str(tmp_path))
    Answers(tmp_path).keep("01_the_loop", [0], 0)
    assert main(["reset", "--quiz"]) == 0
    assert capsys.readouterr().out == "quiz: your answers are forgotten.\n"
    assert list(tmp_path.iterdir()) == []
