"""The exercises' pages of the site: what their worker answers, tried here without a browser."""

import json
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from agentlib.course.check_file import check_file
from agentlib.course.exercises import EXERCISES
from agentlib.course.site.exercise import SHOWN_CHARS, Outputs, answer_exercise
from agentlib.course.site.exercise_page import exercise_page, write_exercise_pages

ROOT = Path(__file__).parent.parent
STUB_LINE = "raise NotImplementedError()"


def code_of(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def fresh(name, **sources):
    """An exercise as it is handed out, with these texts in its cells, by the end of the cell's id."""
    notebook = json.loads(EXERCISES[name].fresh.read_text(encoding="utf-8"))
    for cell in code_of(notebook):
        part = cell["id"].split("-", 1)[1].replace("-", "_")
        cell["source"] = sources.get(part, cell["source"])
    return notebook


def ask(name, notebook, do="check", **more):
    wanted = {"exercise": name, "notebook": notebook, "do": do, "seed": 7, **more}
    return json.loads(answer_exercise(json.dumps(wanted)))


def place_of(notebook, part):
    return [cell["id"].split("-", 1)[1] for cell in code_of(notebook)].index(part)


EX01 = "ex01_write_the_loop"
HEAD = "def run_agent(model, tools, goal, max_steps=10):\n"
ASKS_ONCE = f"{HEAD}    reply = model([{{'role': 'user', 'text': goal}}])\n    return {{'answer': None}}"


@pytest.mark.parametrize("name", EXERCISES)
def test_a_solution_has_on_its_page_what_a_check_of_its_file_gives(name):
    path = ROOT / "solutions" / f"{name}.ipynb"
    answer = ask(name, json.loads(path.read_text(encoding="utf-8")))
    report = check_file(path, 7)
    assert (answer["points"], answer["verdict"]) == (10, "All met. Well done.")
    assert answer["html"] == report._repr_html_()


@pytest.mark.parametrize("name", EXERCISES)
def test_the_untouched_exercise_is_not_started_and_what_tries_it_runs(name):
    notebook = fresh(name)
    answer = ask(name, notebook)
    assert (answer["started"], answer["points"]) == (False, 0)
    ran = ask(name, notebook, "run", cell=place_of(notebook, "try"))
    assert ran == {"outputs": [{"text": "not started yet\n"}], "problems": []}


def test_a_fault_has_its_hint_and_its_run_opens_where_it_can_be_seen():
    notebook = fresh(EX01, solution=ASKS_ONCE)
    answer = ask(EX01, notebook)
    ids = [part and part["id"] for part in answer["watchable"]]
    assert [one for one in ids if one] == ["tool_run"]
    assert "Hint: " in answer["html"]
    run = ask(EX01, notebook, "watch", part=answer["watchable"][ids.index("tool_run")])
    assert run["title"].startswith("Part 2: ")
    (timeline,) = run["player"]["timelines"]
    assert timeline["lines"] == ASKS_ONCE.split("\n")
    assert timeline["wanted"].startswith("runs the tool")
    assert 1 < run["player"]["frame"] == timeline["start"] <= len(timeline["frames"])


@pytest.mark.parametrize(
    ("name", "cell", "text", "line", "words"),
    [
        (EX01, "solution", f"{HEAD}    retrun 1", 2, "Line 2 of the cell that begins `def run_agent(` is no"),
        (EX01, "solution", "%time x = 1", 1, "is for Jupyter, `%time x = 1`, and a page runs Python alone"),
        (EX01, "solution", "x = '\0'", 0, "null bytes"),
        (EX01, "solution", "(" * 300, 1, "too many nested parentheses"),
        ("ex07_keep_it_short", "solution_2", "def compact(:", 1, "begins `def compact(` is no Python"),
        (
            EX01,
            "try",
            "print(",
            1,
            "Line 1 of the cell that begins `print(` is no Python: '(' was never closed",
        ),
    ],
)
def test_what_python_cannot_read_is_said_with_its_line_and_nothing_runs(name, cell, text, line, words):
    notebook = fresh(name, **{cell: text})
    answer = ask(name, notebook)
    assert words in answer["problem"]
    assert "Nothing was run." in answer["problem"]
    if line:
        assert (answer["cell"], answer["line"]) == (place_of(notebook, cell.replace("_", "-")), line)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1", "No cell makes a function run_agent"),
        ("x = 1 / 0", "line 1: ZeroDivisionError: division by zero: `x = 1 / 0`"),
        ("run_agent = 3", "run_agent is 3, which is no function"),
        ("async " + ASKS_ONCE, "Take `async` away"),
    ],
)
def test_without_a_function_to_check_it_is_said_why(text, words):
    assert words in ask(EX01, fresh(EX01, solution=text))["problem"]


def test_what_was_printed_outside_of_functions_is_shown_beside_the_report():
    assert ask(EX01, fresh(EX01, solution=f"print('hello')\n{ASKS_ONCE}"))["outputs"] == [{"text": "hello\n"}]


def test_what_a_loop_prints_is_shown_where_it_is_tried_and_its_error_with_its_own_line():
    notebook = fresh(EX01, solution=f"{HEAD}    print('asked')\n    return goal.nothing")
    ran = ask(EX01, notebook, "run", cell=place_of(notebook, "try"))
    assert ran["outputs"] == [{"text": "asked\n"}]
    assert ran["problems"] == [
        "In the cell that begins `def run_agent(`, line 3: AttributeError: 'str' object has no attribute "
        "'nothing': `return goal.nothing`"
    ]


FAKE = """class Fake:
    def _repr_html_(self): return '<script>'
    def __repr__(self): return 'a fake'
"""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x = 1\nx + 1", [{"text": "2\n"}]),
        ("None", []),
        ("display(3)\nprint(4)", [{"text": "3\n4\n"}]),
        (f"{FAKE}Fake()", [{"text": "a fake\n"}]),
    ],
)
def test_the_last_value_of_a_cell_is_shown_and_no_markup_but_our_own(text, shown):
    notebook = fresh(EX01, **{"try": text})
    assert ask(EX01, notebook, "run", cell=place_of(notebook, "try")) == {"outputs": shown, "problems": []}


def test_a_tracer_is_shown_as_a_player():
    name = "ex03_find_the_bugs"
    notebook = fresh(name)
    (player,) = ask(name, notebook, "run", cell=place_of(notebook, "scenarios"))["outputs"]
    assert player["player"]["timelines"][0]["lines"][0].startswith("def fragile_agent(")


@pytest.mark.parametrize(
    ("chars", "said"), [(SHOWN_CHARS, ""), (SHOWN_CHARS + 1, "Not shown: 1 character more")]
)
def test_so_much_of_what_is_printed_is_shown_and_no_more(chars, said):
    outputs = Outputs()
    for _ in range(chars):
        outputs.print("x")
    first, *rest = outputs.as_list()
    assert first == {"text": "x" * SHOWN_CHARS}
    assert [said in one["html"] for one in rest] == ([True] if said else [])


# --- the pages ------------------------------------------------------------------------------------------


def read_page(notebook):
    """The page to read that an exercise's page is made of; here it has the cells' places alone."""
    cells = "".join(
        f'<div class="{"code" if cell["cell_type"] == "code" else "text"}" id="cell-{cell["id"]}">'
        f'<div class="source"></div><p>{"".join(cell["source"]).split(chr(10))[-1]}</p></div>'
        for cell in notebook["cells"]
    )
    return f"<html><head></head><body><main>{cells}</main></body></html>"


@pytest.mark.parametrize("name", EXERCISES)
def test_a_page_has_an_editor_for_each_cell_that_a_learner_may_change(name):
    exercise, notebook = EXERCISES[name], fresh(name)
    soup = BeautifulSoup(exercise_page(read_page(notebook), exercise, notebook), "html.parser")
    editors = {box["data-place"]: box["data-kind"] for box in soup.find_all(attrs={"data-place": True})}
    free = [
        (str(place), "solution" if cell["metadata"].get("nbgrader") else "try")
        for place, cell in enumerate(code_of(notebook))
        if not cell["metadata"].get("nbgrader", {}).get("locked")
    ]
    assert list(editors.items()) == free
    for place, cell in enumerate(code_of(notebook)):
        if str(place) in editors:
            (area,) = soup.find(id=f"cell-{cell['id']}").find_all("textarea")
            assert area.text == "\n" + "".join(cell["source"])  # a browser drops the first line break
            assert soup.find("label", attrs={"for": area["id"]}).text
    assert json.loads(soup.find(id="exercise").text)["notebook"] == notebook
    what = "loop" if exercise.functions == ("run_agent",) else "code"
    assert soup.find(id="check-now").text == f"Check my {what}"
    text = soup.find("main").text
    assert "type in a terminal" not in text
    assert "run your cell again" not in text


def test_a_new_exercise_gets_its_page_without_an_edit(tmp_path):
    spec = EXERCISES[EX01]
    text = spec.fresh.read_text(encoding="utf-8").replace("ex01", "ex10")

    class New(type(spec)):
        fresh = tmp_path / "ex10_a_new_one.ipynb"

    new = New(**{**vars(spec), "name": "ex10_a_new_one"})
    New.fresh.write_text(text, encoding="utf-8")
    page = tmp_path / "exercises" / "ex10_a_new_one.html"
    page.parent.mkdir()
    page.write_text(read_page(json.loads(text)), encoding="utf-8")
    write_exercise_pages(tmp_path, {new.name: new})
    made = page.read_text(encoding="utf-8")
    assert 'id="text-ex10-solution"' in made
    assert '"name": "ex10_a_new_one"' in made
    assert (tmp_path / "exercise.js").is_file()
