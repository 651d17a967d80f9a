"""What a learner has done is kept: one file for each thing, whatever else runs at the same time."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import agentlib
from agentlib.course import check, progress
from agentlib.course._progress import keep_check
from agentlib.course.exercises import EXERCISES, find_exercise
from agentlib.labs import blue_mugs
from agentlib.views import predict, predicted, quiz, tracer
from agentlib.views.quiz.answers import Answers
from agentlib.views.quiz.questions import QuestionError, known_quizzes
from agentlib.views.store import EXERCISES as EXERCISE_KIND
from agentlib.views.store import PREDICTIONS, QUIZZES, Store
from tests.handwritten import run_agent

ROOT = Path(__file__).parent.parent

KERNEL = """
import sys
from pathlib import Path
from agentlib.views.quiz.answers import Answers
folder, own = Path(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
print(sum(not Answers(folder).keep(f"final_test_{own}{n}", [n], n) for n in range(20)))
"""


def test_two_kernels_at_once_keep_all_their_answers_and_no_write_fails(tmp_path):
    command = [sys.executable, "-c", KERNEL, str(tmp_path)]
    kernels = [
        subprocess.Popen(
            [*command, own],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        for own in "12"
    ]
    for kernel in kernels:
        assert kernel.stdout.readline() == "ready\n"
    for kernel in kernels:
        kernel.stdin.write("go\n")
        kernel.stdin.flush()
    failed = [int(kernel.communicate()[0]) for kernel in kernels]
    kept = Answers(tmp_path).read()
    assert (failed, len(kept)) == ([0, 0], 40)
    assert all(kept[f"final_test_{own}{n}"]["picked"] == [n] for own in "12" for n in range(20))


# --- one file for each thing ------------------------------------------------------------------------


def test_each_thing_has_a_file_of_its_own_and_no_temporary_one_is_left(tmp_path):
    store = Store(tmp_path)
    assert store.keep(QUIZZES, "02_blue_mugs", {"best": 1})
    assert store.keep(QUIZZES, "02_blue_mugs", {"best": 2})
    assert store.keep(EXERCISE_KIND, "ex01_write_the_loop", {"best": 3})
    files = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert files == ["exercises/ex01_write_the_loop.json", "quizzes/02_blue_mugs.json"]
    assert store.read(QUIZZES, "02_blue_mugs")["best"] == 2
    assert list(store.all(QUIZZES)) == ["02_blue_mugs"]


@pytest.mark.parametrize(
    "name", ["../../out", "A b", "a b", "a/b", "", ".", "é" * 300, "con\0", "\ud800", "x" * 500]
)
def test_any_name_can_be_kept_inside_the_folder(name, tmp_path):
    store = Store(tmp_path / "kept")
    assert store.keep(PREDICTIONS, name, {"right": True}), store.problem
    assert store.read(PREDICTIONS, name)["right"] is True
    assert [path.parent for path in tmp_path.rglob("*.json")] == [tmp_path / "kept" / PREDICTIONS]


def test_names_that_differ_in_case_alone_are_kept_apart(tmp_path):
    store = Store(tmp_path)
    store.keep(PREDICTIONS, "a", {"n": 1})
    store.keep(PREDICTIONS, "A", {"n": 2})
    assert [store.read(PREDICTIONS, name)["n"] for name in "aA"] == [1, 2]


def test_a_file_that_cannot_be_read_is_set_aside_and_not_lost(tmp_path):
    store = Store(tmp_path)
    path = store.path(QUIZZES, "q")
    path.parent.mkdir()
    path.write_text('{"version": 99, "name": "q", "best": 4}')
    assert store.read(QUIZZES, "q") == {}
    assert store.problem == f"{path} is not a file that this version can read."
    assert store.keep(QUIZZES, "q", {"best": 1})
    assert "99" in path.with_suffix(".unreadable").read_text()
    assert store.read(QUIZZES, "q")["best"] == 1


# --- a folder that cannot be used -------------------------------------------------------------------


def unusable(kind, tmp_path):
    if kind == "a file is in the way":
        (tmp_path / "file").write_text("")
        return tmp_path / "file" / "data"
    if kind == "a folder is in the file's place":
        for inside in (f"{QUIZZES}/02_blue_mugs.json", f"{EXERCISE_KIND}/ex01_write_the_loop.json"):
            (tmp_path / inside / "x").mkdir(parents=True)
        return tmp_path
    return Path("/proc/no/such/place" if kind == "the system refuses" else "a\0b")


@pytest.mark.parametrize(
    "kind",
    ["a file is in the way", "a folder is in the file's place", "no such name", pytest.param(
        "the system refuses", marks=pytest.mark.skipif(not Path("/proc/self").exists(), reason="wants /proc")
    )],
)  # fmt: skip
def test_a_folder_that_cannot_be_used_is_said_in_one_sentence_and_all_goes_on(kind, tmp_path):
    folder = unusable(kind, tmp_path)
    shown = quiz("02_blue_mugs", folder=folder)
    shown.pick([2, 1, 0])
    assert shown.score == 3
    report = keep_check(check("ex01", run_agent, seed=1), folder)
    for problem in (shown.answers.problem, report.notes[-1]):
        assert problem.startswith("Your answers cannot be kept in ")
        assert problem.endswith(".")
        assert "\n" not in problem
    assert "Your progress: 0 of" in str(progress(folder))


def test_a_full_disk_leaves_what_was_kept_before(tmp_path):
    code = f"""
import resource, signal
from pathlib import Path
from agentlib.views.store import Store
store = Store(Path({str(tmp_path)!r}))
assert store.keep("quizzes", "q", {{"best": 1}})
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
assert not store.keep("quizzes", "q", {{"best": 2, "more": "x" * 1000}})
print(store.problem)
"""
    pytest.importorskip("resource")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-B", "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert done.stdout == f"Your answers cannot be kept in {tmp_path}: File too large.\n", done.stderr
    assert Store(tmp_path).read(QUIZZES, "q")["best"] == 1
    assert [path.name for path in (tmp_path / QUIZZES).iterdir()] == ["q.json"]


# --- the first form ---------------------------------------------------------------------------------


def test_what_the_first_form_kept_is_there_and_its_file_stays_as_it_is(tmp_path):
    old = {
        "02_blue_mugs": {"picked": [2, 0, 0], "best": 3, "of": 3},
        "08_find_the_bugs": {"picked": [2, 0, 0, 0], "best": 4},
    }
    text = json.dumps({"version": 1, "quizzes": old})
    (tmp_path / "answers.json").write_text(text)
    assert quiz("02_blue_mugs", folder=tmp_path).picked == [2, 0, 0]
    quiz("02_blue_mugs", folder=tmp_path).pick([0, 0, 0])
    kept = Answers(tmp_path).read()
    assert kept["02_blue_mugs"]["picked"] == [0, 0, 0]
    assert kept["02_blue_mugs"]["best"] == 3
    assert kept["09_find_the_bugs"]["best"] == 4, "the lesson has another number now"
    assert (tmp_path / "answers.json").read_text() == text


def test_a_best_score_stays_a_score_of_the_questions_that_it_was_won_with(tmp_path):
    old = {"02_blue_mugs": {"picked": [0] * 5, "best": 4, "of": 5}, "final_test_10": {"best": 13, "of": 20}}
    (tmp_path / "answers.json").write_text(json.dumps({"version": 1, "quizzes": old}))
    assert rows(tmp_path)["02_blue_mugs"][1:] == ["0", "of", "3", "4", "of", "5", "passed", "-"]
    quiz("02_blue_mugs", folder=tmp_path).pick([2, 0, 0])  # 1 of 3 is less than 4 of 5
    Answers(tmp_path).keep("final_test_10", [0] * 15, 9)
    assert rows(tmp_path)["02_blue_mugs"][1:] == ["3", "of", "3", "4", "of", "5", "passed", "-"]
    assert rows(tmp_path)["final_test_10"][1:] == ["15", "of", "15", "13", "of", "20", "passed"]
    quiz("02_blue_mugs", folder=tmp_path).pick([2, 1, 0])
    assert rows(tmp_path)["02_blue_mugs"][1:] == ["3", "of", "3", "3", "passed", "-"]


def test_reset_forgets_both_forms(tmp_path):
    (tmp_path / "answers.json").write_text(
        json.dumps({"version": 1, "quizzes": {"02_blue_mugs": {"best": 3}}})
    )
    quiz("01_the_loop", folder=tmp_path).pick([0, 0, 0, 0])
    assert Answers(tmp_path).reset()
    assert Answers(tmp_path).read() == {}
    assert not Answers(tmp_path).reset()


# --- progress ---------------------------------------------------------------------------------------


def rows(folder):
    return {line.split("  ")[0]: line.split() for line in str(progress(folder)).splitlines()}


def test_progress_shows_lessons_exercises_and_the_test_on_one_page(tmp_path):
    text, page = str(progress(tmp_path)), progress(tmp_path)._repr_html_()
    for name in (*known_quizzes(), *EXERCISES, "final test"):
        assert name in text
        assert f">{name}</th>" in page
    assert page.count("<caption") == 3
    assert text.count("not begun") == len(known_quizzes()) + len(EXERCISES) + 1
    assert "color" not in page, "nothing is said by colour"
    numbers = f"0 of {len(known_quizzes())} quizzes passed, 0 of {len(EXERCISES)} exercises with all points"
    assert text.startswith(f"Your progress: {numbers}, the final test not passed yet.")


def test_the_best_points_of_a_check_stay(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTLIB_DATA_DIR", str(tmp_path))

    def stub(model, tools, goal, max_steps):
        raise NotImplementedError

    check("ex01", stub)
    assert rows(None)["ex01_write_the_loop"][1:] == ["-", "not", "begun"]
    best = check("ex01", run_agent, seed=1)
    assert best.points > 0
    check("ex01", lambda model, tools, goal, max_steps=10: None, seed=1)
    name = find_exercise("ex01").name
    assert Store().read(EXERCISE_KIND, name)["best"] == best.points
    assert rows(None)["ex01_write_the_loop"][1:4] == [str(best.points), "of", str(best.max_points)]


def test_a_solution_that_is_open_does_not_count_as_the_learners_own(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTLIB_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("JPY_SESSION_NAME", "/course/solutions/ex01_write_the_loop.ipynb")
    check("ex01", run_agent)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kept", [{}, {"picked": "x", "best": "y", "of": None}, {"best": 3, "of": True}])
def test_progress_can_be_shown_though_what_was_kept_is_broken(kept, tmp_path):
    (tmp_path / "answers.json").write_text(json.dumps({"version": 1, "quizzes": {"final_test_1": kept}}))
    Store(tmp_path).keep(EXERCISE_KIND, "ex01_write_the_loop", kept)
    Store(tmp_path).keep(PREDICTIONS, "01 x", kept)
    assert rows(tmp_path)["ex01_write_the_loop"]
    assert "passed" not in str(progress(tmp_path)).splitlines()[-1]


def test_final_tests_stand_in_the_order_of_their_seeds(tmp_path):
    for seed in (10, 9, -1):
        Answers(tmp_path).keep(f"final_test_{seed}", [0], 1)
    names = [
        line.split()[0] for line in str(progress(tmp_path)).splitlines() if line.startswith("final_test_")
    ]
    assert names == ["final_test_-1", "final_test_9", "final_test_10"]


# --- predictions ------------------------------------------------------------------------------------


def test_a_prediction_is_kept_and_said_once_the_outcome_is_known(tmp_path):
    asked = predict("05 last call", "What does call 20 read?", 500, 10_000, folder=tmp_path)
    assert [choice.text for choice in asked.questions[0].choices] == ["500", "10,000"]
    assert str(predicted("05 last call", 10_000, folder=tmp_path)) == "It is 10,000. You made no prediction."
    asked.widget.set_state({"picked": [0]})
    asked.widget.set_state({"picked": [1]})  # thought again before looking
    assert predict("05 last call", "?", 500, 10_000, folder=tmp_path).picked == [1]
    line = str(predicted("05 last call", 10_000, folder=tmp_path))
    assert line == "It is 10,000, as you predicted. In lesson 05 you predicted 1 of 1."


def test_the_first_outcome_counts_and_lessons_are_counted_apart(tmp_path):
    for name, guess in (("05 a", 0), ("05 b", 1), ("06 a", 1)):
        predict(name, "?", "yes", "no", folder=tmp_path).pick([guess])
        predicted(name, "yes", folder=tmp_path)
    predict("05 b", "?", "yes", "no", folder=tmp_path).pick([0])  # after it was seen
    line = str(predicted("05 b", "yes", folder=tmp_path))
    assert line == "It is yes; you predicted no. In lesson 05 you predicted 1 of 2."
    lines = str(progress(tmp_path)).splitlines()
    assert [line.endswith("1 of 2") for line in lines if line.startswith("05_")] == [True]
    assert [line.endswith("0 of 1") for line in lines if line.startswith("06_")] == [True]


def test_predictions_of_a_lesson_are_counted_once_and_those_without_a_quiz_have_a_row(tmp_path):
    for name in ("00 three steps", "12 bill"):
        predict(name, "?", "yes", "no", folder=tmp_path).pick([0])
        predicted(name, "yes", folder=tmp_path)
    predict("01 not looked at yet", "?", "yes", "no", folder=tmp_path).pick([0])
    lines = [line.split() for line in str(progress(tmp_path)).splitlines() if line.endswith("1 of 1")]
    assert [line[0] for line in lines] == ["12_pipeline_or_agent", "lesson"]
    assert lines[1] == ["lesson", "00", "-", "-", "-", "1", "of", "1"]
    assert f"0 of {len(known_quizzes())} quizzes passed" in str(progress(tmp_path))


def test_a_prediction_tells_nothing_before_the_outcome(tmp_path):
    asked = predict("05 a", "What comes `out`?", "yes", "no", folder=tmp_path)
    assert str(asked) == "Predict: What comes `out`? yes / no"
    page = asked._repr_mimebundle_()["text/html"]
    assert "Right" not in page
    assert "Answer" not in page
    assert not any(choice["right"] for choice in asked.widget.questions[0]["choices"])


@pytest.mark.parametrize("choices", [(), ("a",), ("a", "a"), (1, "1")])
def test_a_prediction_needs_two_different_choices(choices):
    with pytest.raises(QuestionError, match="two or more different choices"):
        predict("05 a", "?", *choices)


def test_a_players_prediction_is_counted_under_its_name(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTLIB_DATA_DIR", str(tmp_path))
    run = agentlib.run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL, max_steps=2)
    shown = tracer(run, predict="02 two steps")
    shown.live.player.guess = "step limit"
    assert Store().read(PREDICTIONS, "02 two steps")["right"] is True
    shown.live.player.guess = "answered"  # the end has been seen
    assert Store().read(PREDICTIONS, "02 two steps")["right"] is True
    tracer(run, predict=True).live.player.guess = "answered"
    assert list(Store().all(PREDICTIONS)) == ["02 two steps"]
