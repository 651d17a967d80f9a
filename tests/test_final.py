"""The final test: what its tasks are, how they are drawn, what a repair is checked by, where it sends one."""

import json
from collections import Counter
from random import Random

import pytest

from agentlib.course import final_test, progress
from agentlib.course.final import NOTEBOOKS, TaskSource, all_tasks, draw_tasks, look_again
from agentlib.course.final.task import judged
from agentlib.course.final.tasks_09_find_the_bugs import BUGS, LOOP, with_bug
from agentlib.course.final.tasks_09_find_the_bugs import judge as judge_loop
from agentlib.views.quiz import REPAIR_TRIES

SEEDS = range(12)
TASKS = all_tasks()
LESSONS = sorted({task.lesson for task in TASKS})
SHOWN = [task for task in TASKS if not task.is_repair]
REPAIRS = [task for task in TASKS if task.is_repair]


def name_of(task):
    return f"{task.lesson}-{task.make.__name__}"


def made(task, seed):
    return task.make(Random(seed)).question


def is_longest(question):
    sizes = sorted(len(choice.text) for choice in question.choices)
    return len(question.choices[question.right].text) == sizes[-1] > sizes[-2]


# --- the tasks --------------------------------------------------------------------------------------


def test_there_are_tasks_for_every_lesson_from_01_on_and_two_thirds_of_them_show_something():
    lessons = sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
    assert [lesson for lesson in lessons if lesson[:2] not in ("00", "15")] == LESSONS
    assert len(TASKS) >= 24
    assert 0.6 <= len(SHOWN) / len(TASKS) <= 0.7


@pytest.mark.parametrize("task", TASKS, ids=name_of)
def test_a_task_sends_one_back_to_a_cell_that_is_there(task):
    cell = task.make(Random(0)).cell
    notebook = json.loads((NOTEBOOKS / f"{task.lesson}.ipynb").read_text(encoding="utf-8"))
    assert cell in [each["id"] for each in notebook["cells"]], f"{task.lesson} has no cell {cell}"
    words = look_again(task.lesson, cell)
    assert words.startswith(f'Look again at lesson {task.lesson[:2]}, "')


def test_without_the_notebooks_the_lesson_and_the_cells_id_are_said():
    assert look_again("99_nowhere", "loop") == "Look again at lesson 99_nowhere, cell loop."
    assert look_again("01_the_loop", "no-such-cell") == "Look again at lesson 01_the_loop, cell no-such-cell."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "lesson 01_x, cell a."),
        ("[]", "lesson 01_x, cell a."),
        ('{"cells": [{"cell_type": "code", "source": []}]}', "lesson 01_x, cell a."),
        ('{"cells": [{"cell_type": "markdown", "id": "h", "source": "## One *b*"}, '
         '{"cell_type": "code", "id": "a", "source": ["\\n"]}]}', 'lesson 01, "One b".'),
        ('{"cells": [{"cell_type": "markdown", "id": "a", "source": ["We see.\\n", "## Two"]}]}',
         'lesson 01, "Two", the cell that begins: We see.'),
        ('{"cells": [{"cell_type": "markdown", "id": "a", '
         '"source": ["<details>\\n", "<summary>What we see</summary>\\n", "## Two"]}]}',
         'lesson 01, "Two", the cell that begins: What we see'),
    ],
)  # fmt: skip
def test_a_lesson_that_the_learner_has_changed_is_still_named(text, said, tmp_path, monkeypatch):
    monkeypatch.setattr("agentlib.course.final.NOTEBOOKS", tmp_path)
    (tmp_path / "01_x.ipynb").write_text(text)
    assert look_again("01_x", "a") == f"Look again at {said}"


@pytest.mark.parametrize("task", SHOWN, ids=name_of)
def test_a_question_shows_something_and_explains_every_choice_whatever_the_seed(task):
    keys = set()
    for seed in SEEDS:
        question = made(task, seed)
        assert question.shown.strip()
        assert 3 <= len(question.choices) <= 4
        assert sum(choice.right for choice in question.choices) == 1
        assert len({choice.text for choice in question.choices}) == len(question.choices)
        assert len({choice.why for choice in question.choices}) == len(question.choices)
        assert all(choice.text.strip() and choice.why.strip() for choice in question.choices)
        keys.add(question.choices[question.right].text)
    assert len(keys) > 1, "the right choice is the same with every seed"


def test_the_right_choice_is_the_longest_in_at_most_a_third_of_the_questions():
    questions = [made(task, seed) for task in SHOWN for seed in SEEDS]
    assert sum(map(is_longest, questions)) <= len(questions) / 3


def test_the_right_choices_are_spread_over_the_positions():
    places = Counter(made(task, seed).right for task in SHOWN for seed in SEEDS)
    assert max(places.values()) <= 0.4 * places.total()
    assert len(places) == 4


@pytest.mark.parametrize("task", SHOWN, ids=name_of)
def test_a_seed_makes_the_same_question_again(task):
    assert made(task, 5) == made(task, 5)


# --- repairs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", REPAIRS, ids=name_of)
def test_a_repair_is_not_right_as_it_stands_and_right_with_the_line_that_is_named(task):
    for seed in range(3):
        question = made(task, seed)
        repair = question.repair
        lines = [line[3:].strip() for line in question.shown.split("\n")]
        assert repair.judge(repair.line, lines[repair.line - 1]) != ""
        assert repair.judge(repair.line, repair.text) == ""
        assert repair.judge(repair.line, f"   {repair.text}  # mended ") == ""


@pytest.mark.parametrize("task", REPAIRS, ids=name_of)
@pytest.mark.parametrize("line", ["pass", "1 / 0", "return None", "((", "raise SystemExit", "x\ny", "", "\0"])
def test_a_line_that_is_no_repair_becomes_a_sentence(task, line):
    said = made(task, 0).repair.judge(made(task, 0).repair.line, line)
    assert said.strip()
    assert "\n" not in said.strip()


@pytest.mark.parametrize("number", [0, -1, 99])
def test_a_line_that_is_not_there_is_said(number):
    assert judged("x = 1", number, "x = 2", lambda names: "") == "There is no such line."


OTHER_FORMS = [
    ("repair_what_is_sent", 4, "reply = model([*history])"),
    ("repair_the_error", 5, 'return {"error": f"{type(problem).__name__}: {problem}"}'),
    ("repair_the_check", 4, "if budget - coins < cost:"),
    ("repair_the_key", 6, 'key = [call["tool"], dict(call["input"])]'),
    ("repair_the_key", 6, 'key = call["tool"], sorted(call["input"].items())'),
    ("repair_the_key", 7, "key = call; seen.append(call)"),
    ("repair_the_trim", 6, "return text[:max(0, max_chars - len(MARK))] + MARK"),
    ("repair_the_guard", 5, "if earlier[0] == call and earlier[1] == result:"),
    ("repair_the_unknown_tool", 3, 'words = "Use one of " + str(list(tools))'),
    ("repair_the_yes", 3, "if not (yes is True):"),
    ("repair_the_proof", 3, 'return "note.txt" in files and wanted in files["note.txt"]'),
    ("repair_the_adapter", 6, 'given = json.JSONDecoder().decode(call["function"]["arguments"])'),
]
WRONG_FORMS = [
    ("repair_what_is_sent", 4, "reply = model(history[:2])", "The calls were sent 1, 2, 2 entries"),
    ("repair_the_error", 5, 'return {"error": problem}', "The tool said"),
    ("repair_the_check", 4, "if coins + cost >= budget:", "should be"),
    ("repair_the_key", 6, "key = str(call)", "For one input, its keys in another order it said False"),
    ("repair_the_key", 6, 'key = str(call["input"])', "For two tools with one input"),
    ("repair_the_trim", 6, "return (text + MARK)[:max_chars]", "its beginning and the mark"),
    ("repair_the_guard", 5, "if earlier[1] == result:", "For three calls that each found nothing"),
    ("repair_the_unknown_tool", 4, "return words", "and the model reads"),
    ("repair_the_yes", 3, "if not yes:", "The reply was 'No, that is too much.', and the tool ran."),
    ("repair_the_proof", 3, "return wanted in str(files)", "With a file of another name"),
    ("repair_the_test", 2, 'return "delete_note" not in tools_used', "an empty note"),
    ("repair_the_adapter", 6, 'given = eval(call["function"]["arguments"])', "`NameError: "),
]


def judge_of(name):
    (task,) = [each for each in REPAIRS if each.make.__name__ == name]
    return made(task, 0).repair.judge


@pytest.mark.parametrize(("name", "number", "line"), OTHER_FORMS)
def test_a_repair_may_stand_in_another_form_or_another_line(name, number, line):
    assert judge_of(name)(number, line) == ""


@pytest.mark.parametrize(("name", "number", "line", "said"), WRONG_FORMS)
def test_half_a_repair_is_told_what_it_still_does(name, number, line, said):
    assert said in judge_of(name)(number, line)


def test_each_bug_of_lesson_09_is_mended_by_its_line_alone():
    for bug in BUGS:
        code = with_bug(bug)
        assert judged(code, bug.line, bug.text, judge_loop) != "", bug
        assert judged(code, bug.line, LOOP.split("\n")[bug.line - 1], judge_loop) == "", bug
        for other in BUGS:
            if other.line != bug.line:
                assert judged(code, other.line, other.text, judge_loop) != "", (bug, other)


@pytest.mark.parametrize("line", ["while True: pass", "while True: model(history)"])
def test_a_repair_that_never_ends_is_ended(line, monkeypatch):
    monkeypatch.setattr("agentlib.course.final.task.CASE_SECONDS", 0.2)
    (task,) = [each for each in REPAIRS if each.make.__name__ == "repair_what_is_sent"]
    said = made(task, 0).repair.judge(4, line)
    assert said in (
        "The code ran for 0.2 seconds and did not end.",
        "The model was asked 30 times, and the loop went on.",
    )


def test_one_repair_leaves_nothing_behind_for_the_next():
    code = "seen = globals().setdefault('seen', [])\nseen.append(1)\ncount = len(seen)"
    count = lambda names: f"{names['count']}"  # noqa: E731
    assert [judged(code, 3, "count = len(seen)", count) for _ in range(2)] == ["1", "1"]


# --- drawing ----------------------------------------------------------------------------------------


def test_a_test_draws_fifteen_tasks_with_every_lesson_among_them_and_a_third_repairs():
    for seed in range(30):
        drawn = draw_tasks(TASKS, 15, Random(seed))
        assert len(set(drawn)) == 15
        assert {task.lesson for task in drawn} == set(LESSONS)
        assert sum(task.is_repair for task in drawn) == 5


@pytest.mark.parametrize("count", [1, 3, 12, 14, 20, len(TASKS)])
def test_any_number_of_tasks_can_be_drawn(count):
    for seed in range(5):
        drawn = draw_tasks(TASKS, count, Random(seed))
        assert len(set(drawn)) == len(drawn) == count
        assert {task.lesson for task in drawn} == set(LESSONS) or count < len(LESSONS)


def test_the_tasks_of_a_later_lesson_are_drawn_like_the_others():
    def shown_new(rng):
        """Not made here."""

    tasks = [*TASKS, TaskSource("99_later", shown_new)]
    for seed in range(10):
        drawn = draw_tasks(tasks, 15, Random(seed))
        assert {task.lesson for task in drawn} == {*LESSONS, "99_later"}
        assert sum(task.is_repair for task in drawn) == 5


@pytest.mark.parametrize(
    ("seed", "questions"), [("7", 15), (True, 15), (None, 15), (7, 0), (7, 1000), (7, -1)]
)
def test_a_final_test_that_cannot_be_drawn_is_refused(seed, questions, tmp_path):
    with pytest.raises(ValueError, match=r"whole number|can be drawn"):
        final_test(seed, questions, folder=tmp_path)


# --- the test as a whole ----------------------------------------------------------------------------


def texts(shown):
    return [(one.text, one.shown, one.choices) for one in shown.questions]


def test_a_seed_brings_the_same_test_back_and_another_seed_another_one(tmp_path):
    assert texts(final_test(7, folder=tmp_path)) == texts(final_test(7, folder=tmp_path))
    assert texts(final_test(7, folder=tmp_path)) != texts(final_test(8, folder=tmp_path))


def test_the_test_is_passed_with_nine_of_fifteen_and_its_answers_are_kept_by_seed(tmp_path):
    test = final_test(7, folder=tmp_path)
    right = [one.right for one in test.questions]
    wrong = [(one.right + 1) % one.size for one in test.questions]
    test.pick([*right[:9], *wrong[9:]])
    assert (test.score, test.passed) == (9, True)
    test.pick([*right[:8], *wrong[8:]])
    assert (test.score, test.passed) == (8, False)
    assert final_test(7, folder=tmp_path).picked == test.picked
    assert set(final_test(8, folder=tmp_path).picked) == {-1}
    (line,) = [line for line in str(progress(tmp_path)).splitlines() if line.startswith("final_test_7")]
    assert line.split() == ["final_test_7", "15", "of", "15", "9", "passed"]


def repair_of(test):
    return next(place for place, one in enumerate(test.questions) if one.repair)


def test_a_repair_counts_once_a_line_is_right(tmp_path):
    test = final_test(7, folder=tmp_path)
    place = repair_of(test)
    repair = test.questions[place].repair
    assert test.mend(place, repair.line, "pass") != ""
    assert (test.picked[place], test.score) == (-1, 0)
    assert test.mend(place, repair.line, repair.text) == ""
    assert (test.picked[place], test.score) == (1, 1)
    assert final_test(7, folder=tmp_path).picked[place] == 1


def test_a_repair_is_given_up_after_the_last_try(tmp_path):
    test = final_test(7, folder=tmp_path)
    place = repair_of(test)
    line = test.questions[place].repair.line
    for _ in range(REPAIR_TRIES):
        assert test.picked[place] == -1
        test.mend(place, line, "pass")
    assert (test.picked[place], test.score) == (0, 0)


def test_what_is_no_repair_cannot_be_mended(tmp_path):
    test = final_test(7, folder=tmp_path)
    choice = next(place for place, one in enumerate(test.questions) if not one.repair)
    for place in (choice, -1, 99):
        with pytest.raises(ValueError, match="is no repair"):
            test.mend(place, 1, "x")


def test_the_page_sends_a_line_and_gets_back_what_was_said(tmp_path):
    test = final_test(7, folder=tmp_path)
    place = repair_of(test)
    repair = test.questions[place].repair
    sent = []
    test.widget.observe(lambda change: sent.append(change["new"][place]["tried"]), names="repairs")
    test.widget.set_state({"attempt": {"question": place, "line": repair.line, "text": "pass", "count": 1}})
    assert sent == [1]
    assert test.widget.repairs[place]["said"]
    assert test.widget.repairs[place]["tried"] == 1
    test.widget.set_state(
        {"attempt": {"question": place, "line": repair.line, "text": repair.text, "count": 2}}
    )
    assert test.widget.picked[place] == 1
    test.widget.set_state({"attempt": {"question": "x"}})  # nothing that the page can send
    assert test.widget.picked[place] == 1


def test_beginning_anew_gives_all_tries_back(tmp_path):
    test = final_test(7, folder=tmp_path)
    place, none = repair_of(test), [-1] * 15
    line = test.questions[place].repair.line
    test.widget.set_state({"attempt": {"question": place, "line": line, "text": "pass", "count": 1}})
    test.widget.set_state({"repairs": [{}] * 15, "first": none, "picked": none})
    test.widget.set_state({"attempt": {"question": place, "line": line, "text": "pass", "count": 2}})
    assert test.widget.repairs[place]["tried"] == 1


def test_without_widgets_each_task_shows_its_code_and_folds_its_answer(tmp_path):
    test = final_test(7, folder=tmp_path)
    page = test._repr_mimebundle_()["text/html"]
    assert page.count("<summary>Answer to question") == 15
    assert page.count("Look again at lesson") == 15
    assert page.count("<pre ") == 15
    assert "Is it this one?" not in page
    text = str(test)
    assert text.index("15. ") < text.index("Answers")
    assert text.count("Which line do you change") == 5
