"""Form feeds, U+2028 and their like end no line; "\n", "\r\n" and "\r" do."""

import pytest

from agentlib.course.checking.notebook import read_cells
from agentlib.course.exercises import EXERCISES
from agentlib.course.grading import BACKENDS, grade_notebook
from agentlib.course.running.cells import Cell, run_cells
from agentlib.course.running.runner import Runner
from tests.hostile.submissions import HONEST, notebook

NO_ENDS = {"page": "\x0c", "tab": "\x0b", "fs": "\x1c", "gs": "\x1d", "rs": "\x1e", "nel": "\x85"}
NO_ENDS |= {"line": "\u2028", "paragraph": "\u2029"}
ENDS = {"unix": "\n", "windows": "\r\n", "old mac": "\r"}

in_a_text = pytest.mark.parametrize("letter", NO_ENDS.values(), ids=NO_ENDS)


def problem_of(source):
    (problem,) = run_cells([Cell(1, source)]).problems
    return problem


@in_a_text
def test_an_error_names_the_line_behind_it(letter):
    source = f"# a {letter} b\ntext = '''one{letter}two\nthree'''\nx = 1 / 0"
    assert problem_of(source).endswith("line 4: ZeroDivisionError: division by zero: `x = 1 / 0`")


@in_a_text
def test_a_syntax_error_names_the_line_behind_it(letter):
    assert "line 2: " in (said := problem_of(f"# a {letter} b\nx = = 1"))
    assert said.endswith("`x = = 1`")


@in_a_text
def test_what_ends_the_notebook_is_named_with_its_line(letter):
    assert "line 2: sys.exit()" in problem_of(f"text = 'one{letter}two'\nimport sys; sys.exit()")


@in_a_text
def test_a_cell_is_named_by_its_whole_first_line(letter):
    assert Cell(1, f"x = 'a{letter}b'").place == f"the cell that begins `x = 'a{letter}b'`"


@in_a_text
def test_an_error_in_a_function_shows_its_own_line(letter):
    ran = run_cells([Cell(1, f"# a {letter} b\ndef f():\n    return 1 / 0")])
    outcome = Runner({"f": ran.names["f"]}).run({"function": "f", "args": [], "kwargs": {}}, None, 5)
    raised = outcome["raised"]
    assert (raised["line"], raised["code"]) == (3, "return 1 / 0")


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_lines_of_every_system_are_counted_and_run(end, root, tmp_path):
    ex01 = EXERCISES["ex01_write_the_loop"]
    bad = end.join(["text = '''one", "two'''", "x = 1 / 0"])
    data = notebook(HONEST.replace("\n", end), before=[bad])
    cells = read_cells(data, tmp_path)
    ran = run_cells(cells)
    assert ran.names["text"] == "one\ntwo"
    assert ran.problems[0].endswith("line 3: ZeroDivisionError: division by zero: `x = 1 / 0`")
    row = grade_notebook(data, ex01, BACKENDS[-1], root, seed=5)
    assert row.points == 10
    assert "`x = 1 / 0`" in " ".join(row.notes)
