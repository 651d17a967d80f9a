"""Every exercise is complete and unsolved, every solution earns all points, and both come from one source."""

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest

from agentlib.course.check_file import check_file
from agentlib.course.checking.notebook import read_notebook
from agentlib.course.exercises import EXERCISES, FRESH_DIR
from agentlib.course.make import DIFFICULTY, in_order, made_by_spec, made_exercise
from agentlib.course.running.cells import run_cells
from agentlib.labs import bugs
from agentlib.models import ScriptedModel
from agentlib.views import tracer

ONLY_THE_LEARNER_SEES = {"leaves", "left_alone"}
ROOT = Path(__file__).parent.parent
NO_NBGRADER = 'nbgrader is not installed: run .venv/bin/pip install -e ".[teach]"'
needs_nbgrader = pytest.mark.skipif(find_spec("nbgrader") is None, reason=NO_NBGRADER)
each = pytest.mark.parametrize("exercise", EXERCISES.values(), ids=lambda exercise: exercise.name)


def load(folder, exercise):
    return json.loads((ROOT / folder / f"{exercise.name}.ipynb").read_text(encoding="utf-8"))


def source(cell):
    return "".join(cell["source"])


def prose(notebook):
    return "\n\n".join(source(cell) for cell in notebook["cells"] if cell["cell_type"] == "markdown")


def about(cell):
    return cell["metadata"].get("nbgrader", {})


def test_there_is_an_exercise_and_a_solution_for_each_name_and_no_other():
    names = sorted(f"{name}.ipynb" for name in EXERCISES)
    for folder in (ROOT / "solutions", FRESH_DIR):
        assert sorted(path.name for path in folder.glob("*.ipynb")) == names
    numbers = [exercise.number for exercise in EXERCISES.values()]
    assert numbers == [f"ex{n:02}" for n in range(1, len(EXERCISES) + 1)]


@each
def test_criteria_are_complete(exercise):
    ids = [criterion.id for criterion in exercise.criteria]
    assert 5 <= len(ids) <= 10
    assert len(set(ids)) == len(ids)
    assert exercise.max_points == 10
    for place, criterion in enumerate(exercise.criteria):
        assert {*criterion.needs, *criterion.after} <= set(ids[:place]), "what is needed is judged before"
        assert (criterion.points == 0) == (criterion.id in ONLY_THE_LEARNER_SEES), "all else earns points"
        assert criterion.wanted
        assert len(criterion.hints) == 2
        assert all(len(hint) > 20 for hint in criterion.hints)
        assert criterion.hints[0] != criterion.hints[1]


@each
def test_an_exercise_says_what_it_is(exercise):
    text = prose(load("exercises", exercise))
    assert text.startswith(f"# {exercise.number}: ")
    assert "**You will be able to**" in text
    assert exercise.difficulty in DIFFICULTY
    assert re.search(rf"\*\*Difficulty:\*\* {exercise.difficulty} of 5: \w+", text)
    assert f"**Minutes:** {exercise.minutes}\n" in text
    assert 10 <= exercise.minutes <= 45
    assert "**Read before:**" in text
    assert "## Next" in text
    assert f"(../solutions/{exercise.name}.ipynb)" in text


def test_the_first_exercise_takes_a_quarter_of_an_hour():
    assert in_order()[0].minutes == 15


@each
def test_its_parts_are_the_criteria_and_each_has_two_folded_hints(exercise):
    text = prose(load("exercises", exercise))
    parts = re.split(r"\*\*Part \d+\*\* ", text)[1:]
    assert len(parts) == len(exercise.criteria)
    for part, criterion in zip(parts, exercise.criteria, strict=True):
        points = f"({criterion.points} {'point' if criterion.points == 1 else 'points'})"
        assert part.lower().startswith(f"{points}. {criterion.wanted}".lower())
        hints = re.findall(r"<details><summary>[^<]*hint</summary>\n\n(.*?)\n\n</details>", part, re.DOTALL)
        assert hints == list(criterion.hints)


@each
def test_links_lead_to_files_of_the_course(exercise):
    for target in re.findall(r"\]\(([^)#:]+)\)", prose(load("exercises", exercise))):
        assert (ROOT / "exercises" / target).resolve().is_file(), target


@each
def test_an_exercise_is_unsolved_and_its_stub_raises_in_the_function_alone(exercise):
    notebook = load("exercises", exercise)
    text = json.dumps(notebook)
    assert "BEGIN SOLUTION" not in text
    stubs = [source(cell) for cell in notebook["cells"] if about(cell).get("solution")]
    assert len(stubs) == len(exercise.functions)
    for name, stub in zip(exercise.functions, stubs, strict=True):
        assert stub.startswith(f"def {name}(")
        assert stub.endswith("    # YOUR CODE HERE\n    raise NotImplementedError()")
        assert len(stub.splitlines()) == 4, "only the first line, what it does, and the stub"
    others = [source(cell) for cell in notebook["cells"] if not about(cell).get("solution")]
    assert not any("raise NotImplementedError" in cell for cell in others)


@each
def test_an_exercise_has_no_outputs_and_its_check_cells_are_locked(exercise):
    for folder in ("exercises", "solutions"):
        notebook = load(folder, exercise)
        code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
        assert "widgets" not in notebook["metadata"]
        ids = [cell["id"] for cell in notebook["cells"]]
        assert len(set(ids)) == len(ids)
        names = [about(cell)["grade_id"] for cell in notebook["cells"] if about(cell)]
        assert len(set(names)) == len(names)
        graded = [cell for cell in code if about(cell).get("grade")]
        assert [about(cell)["points"] for cell in graded] == [exercise.max_points]
        assert source(graded[0]) == "report.points"
        assert all(about(cell)["locked"] for cell in graded)
        checked = [source(cell) for cell in code if "check(" in source(cell)]
        assert checked == [f'report = check("{exercise.name}", {", ".join(exercise.functions)})\nreport']


@each
def test_the_untouched_exercise_runs_to_its_end_and_is_not_started_yet(exercise):
    path = ROOT / "exercises" / f"{exercise.name}.ipynb"
    ran = run_cells(read_notebook(path), skip_tags=())
    assert ran.problems == []
    assert ran.names["report"].started is False
    assert str(check_file(path)).startswith(f"{exercise.name[:4]} ")


@each
def test_the_cell_that_tries_it_says_that_nothing_is_there_yet(exercise, capsys):
    cells = [c for c in read_notebook(ROOT / "exercises" / f"{exercise.name}.ipynb") if "check" not in c.tags]
    names = {}
    for cell in cells:
        if "tracer(" not in cell.source:
            exec(compile(cell.source, cell.name, "exec"), names)
    assert capsys.readouterr().out == "not started yet\n"


@each
def test_a_solution_earns_all_points(exercise):
    report = check_file(ROOT / "solutions" / f"{exercise.name}.ipynb")
    assert report.passed, report.text()
    assert report.points == report.max_points == 10
    assert report.notes == ()


# --- the four scenarios of ex03


def fragile_agent():
    cells = {cell["id"]: source(cell) for cell in load("exercises", EXERCISES["ex03_find_the_bugs"])["cells"]}
    names = {}
    exec(cells["ex03-fragile"], names)
    return names["fragile_agent"]


def test_each_scenario_brings_out_one_bug_of_the_fragile_loop():
    scenarios = bugs.SCENARIOS
    fragile = fragile_agent()

    def run(name):
        scenario = scenarios[name]
        return fragile(scenario.model(), scenario.tools, scenario.goal, max_steps=4)

    assert set(scenarios) == {"endless", "broken_tool", "forgotten", "untold"}
    with pytest.raises(ValueError, match="closed today"):
        run("broken_tool")
    misspelt = ScriptedModel(scenarios["broken_tool"].model().replies[1:])
    with pytest.raises(TypeError, match="not callable"):
        fragile(misspelt, scenarios["broken_tool"].tools, "How many?")
    assert run("forgotten") == "I read 140 and 95, but not what I had asked for."
    assert run("untold") == "I cannot tell."
    asked = []

    def counted(history):
        asked.append(len(history))
        if len(asked) > 50:
            raise InterruptedError
        return scenarios["endless"].model()(history)

    with pytest.raises(InterruptedError):
        fragile(counted, scenarios["endless"].tools, scenarios["endless"].goal, max_steps=4)


def test_the_solution_runs_through_all_four_scenarios():
    ran = run_cells(read_notebook(ROOT / "solutions" / "ex03_find_the_bugs.ipynb"), skip_tags=("check",))
    ends = {}
    for name, scenario in bugs.SCENARIOS.items():
        ends[name] = ran.names["run_agent"](scenario.model(), scenario.tools, scenario.goal, max_steps=4)
    assert {name: (end["steps"], end["stopped"]) for name, end in ends.items()} == {
        "endless": (4, "step limit"),
        "broken_tool": (4, "answered"),
        "forgotten": (3, "answered"),
        "untold": (2, "answered"),
    }
    assert ends["forgotten"]["answer"] == "North has more: 140 against 95."


@pytest.mark.parametrize("name", bugs.SCENARIOS)
def test_each_scenario_can_be_walked_through_in_the_tracer(name):
    scenario = bugs.SCENARIOS[name]
    shown = str(tracer(fragile_agent(), scenario.model, scenario.tools, scenario.goal, max_steps=4))
    assert "count_mug" in shown


def named_scenarios(text):
    """The names in `...` behind the word scenario."""
    lists = re.findall(r"\bscenarios? ((?:`\w+`(?:, | and )?)+)", text)
    return {name for names in lists for name in re.findall(r"`(\w+)`", names)}


def test_every_scenario_that_is_named_is_there_and_each_is_named_in_a_hint():
    exercise = EXERCISES["ex03_find_the_bugs"]
    hints = " ".join(hint for criterion in exercise.criteria for hint in criterion.hints)
    assert named_scenarios(hints) == set(bugs.SCENARIOS)
    assert named_scenarios(prose(load("exercises", exercise))) <= set(bugs.SCENARIOS)
    assert named_scenarios("scenarios `a`, `b` and `c`, the scenario `d`") == {"a", "b", "c", "d"}


# --- the cells that try it


ENDLESS = """
def run_agent(model, tools, goal, max_steps=10, **more):
    history = [{"role": "user", "text": goal}]
    while True:
        reply = model(history)
        history.append({"role": "tool", "result": "none"})
"""


TRIED = [
    name
    for name, exercise in EXERCISES.items()
    if exercise.functions == ("run_agent",) and "try_it(" in exercise.fresh.read_text(encoding="utf-8")
]


@each
def test_no_function_of_the_learner_is_called_without_a_limit(exercise):
    """`check` and `try_it` end what does not end by itself."""
    for cell in load("exercises", exercise)["cells"]:
        if cell["cell_type"] == "code" and not about(cell).get("solution"):
            calls = [name for name in exercise.functions if re.search(rf"\b{name}\(", source(cell))]
            assert calls == [], source(cell)


def test_the_first_five_exercises_try_a_loop_that_may_not_end():
    assert [name[:4] for name in TRIED][:5] == ["ex01", "ex02", "ex03", "ex04", "ex05"]


@pytest.mark.parametrize("name", TRIED)
def test_a_loop_that_never_ends_is_told_so_where_it_is_tried(name, capsys):
    cells = read_notebook(ROOT / "exercises" / f"{name}.ipynb")
    names = {}
    for cell in cells:
        code = ENDLESS if cell.source.startswith("def run_agent(") else cell.source
        if "check" not in cell.tags and "tracer(" not in code:
            exec(compile(code, cell.name, "exec"), names)
    assert "Your loop did not end: it asked the model" in capsys.readouterr().out


# --- the way through the course


def notebook(lesson):
    return ROOT / "notebooks" / f"{lesson}.ipynb"


@each
def test_the_lesson_that_an_exercise_comes_after_is_read_before_it(exercise):
    before = re.search(r"\*\*Read before:\*\* (.*)", prose(load("exercises", exercise)))[1]
    assert f"(../notebooks/{exercise.lesson}.ipynb)" in before
    assert notebook(exercise.lesson).is_file()
    assert exercise.given_by == () or exercise.given_by[0] == exercise.lesson
    for lesson in exercise.given_by:
        assert f"exercises/{exercise.name}.ipynb" in notebook(lesson).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("exercise", "after"), list(pairwise(in_order())), ids=lambda exercise: exercise.number
)
def test_next_leads_to_the_next_lesson_and_its_exercise(exercise, after):
    following = prose(load("exercises", exercise)).split("## Next")[1]
    lessons = [*exercise.given_by[1:], after.lesson]
    links = [*(f"../notebooks/{lesson}.ipynb" for lesson in lessons), f"{after.name}.ipynb"]
    places = [following.find(f"({link})") for link in links]
    assert places == sorted(places)
    assert -1 not in places


def test_the_table_of_the_readme_names_the_lesson_of_each_exercise():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| \[(ex\d+) .*?\| (\d\d) \|$", text, re.MULTILINE))
    assert rows == {exercise.number: exercise.lesson[:2] for exercise in EXERCISES.values()}


# --- one source


def test_what_is_made_from_the_specs_is_not_stale():
    stale = [path.name for path, text in made_by_spec() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run: python -m agentlib.course.make"


@each
def test_the_fresh_copy_in_the_package_is_the_exercise(exercise):
    ours = (FRESH_DIR / f"{exercise.name}.ipynb").read_bytes()
    assert (ROOT / "exercises" / f"{exercise.name}.ipynb").read_bytes() == ours


@each
def test_exercise_and_solution_differ_in_the_solution_alone(exercise):
    made, solved = (load(folder, exercise)["cells"] for folder in ("exercises", "solutions"))
    assert [cell["id"] for cell in made] == [cell["id"] for cell in solved]
    for one, other in zip(made, solved, strict=True):
        if not about(one).get("solution"):
            assert source(one) == source(other)


@each
@needs_nbgrader
def test_the_exercise_is_what_nbgrader_makes_of_the_solution(exercise):
    made = made_exercise(ROOT / "solutions" / f"{exercise.name}.ipynb")
    assert (ROOT / "exercises" / f"{exercise.name}.ipynb").read_text(encoding="utf-8") == made, (
        "run: python -m agentlib.course.make"
    )


CONFIG = """
c = get_config()
c.CourseDirectory.course_id = "course"
c.CourseDirectory.root = {root!r}
c.CourseDirectory.db_assignments = []
c.ExecutePreprocessor.timeout = 60
"""


@needs_nbgrader
def test_nbgrader_itself_gives_the_solution_all_points_and_the_stub_none(tmp_path):
    """A course folder of its own: the solution is the source, and both are handed in."""
    name = "ex01_write_the_loop"
    (tmp_path / "nbgrader_config.py").write_text(CONFIG.format(root=str(tmp_path)))
    solution = (ROOT / "solutions" / f"{name}.ipynb").read_text(encoding="utf-8")
    stub = (ROOT / "exercises" / f"{name}.ipynb").read_text(encoding="utf-8")
    for path, text in (
        (f"source/{name}/{name}.ipynb", solution),
        (f"submitted/solver/{name}/{name}.ipynb", solution),
        (f"submitted/beginner/{name}/{name}.ipynb", stub),
    ):
        target = tmp_path / path
        target.parent.mkdir(parents=True)
        target.write_text(text, encoding="utf-8")
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "JUPYTER_CONFIG_DIR": str(tmp_path / "jupyter"),
        "PATH": programs,  # nbgrader calls a program of one of its packages by its bare name
    }

    def nbgrader(*words):
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", *words],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    nbgrader("generate_assignment", name)
    nbgrader("autograde", name)
    nbgrader("export", "--to", str(tmp_path / "grades.csv"))
    head, *rows = (tmp_path / "grades.csv").read_text().splitlines()
    columns = head.split(",")
    grades = [dict(zip(columns, row.split(","), strict=True)) for row in rows]
    scores = {grade["student_id"]: float(grade["score"]) for grade in grades}
    assert scores == {"solver": 10.0, "beginner": 0.0}
    assert {grade["max_score"] for grade in grades} == {"10.0"}
