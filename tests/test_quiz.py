"""The quiz: its questions, how it is marked, where answers are kept, and its form without widgets."""

import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from agentlib.views import final_test, quiz
from agentlib.views.quiz import PASS_MARK, QuestionError, progress, score_words
from agentlib.views.quiz.answers import Answers, data_folder
from agentlib.views.quiz.questions import (
    FORMER_NAMES,
    Question,
    draw,
    final_pool,
    known_quizzes,
    load_questions,
    read_questions,
)

QUIZ = "02_blue_mugs"


def question(*rights, text="What?"):
    return {"question": text, "choices": [choice(f"{n}", right=right) for n, right in enumerate(rights)]}


def choice(text, why="because", **right):
    return {"text": text, "why": why, **right}


@pytest.fixture
def mugs(tmp_path):
    return quiz(QUIZ, folder=tmp_path)


def right_picks(shown):
    return [one.right for one in shown.questions]


# --- the course's questions -------------------------------------------------------------------------


@pytest.mark.parametrize("name", known_quizzes())
def test_each_quiz_has_at_least_three_questions_with_an_explanation_for_each_choice(name):
    questions = load_questions(name)
    assert len(questions) >= 3
    for one in questions:
        assert all(choice.why.strip() for choice in one.choices)
        assert len({choice.why for choice in one.choices}) == len(one.choices)


@pytest.mark.parametrize("name", known_quizzes())
def test_the_right_answers_of_a_quiz_stand_at_more_than_one_position(name):
    assert len({one.right for one in load_questions(name)}) > 1


def test_the_right_answers_of_the_course_are_spread_over_the_positions():
    places = Counter(one.right for name in known_quizzes() for one in load_questions(name))
    assert max(places.values()) <= 0.5 * places.total()


def longest_is_right(one):
    return max(range(len(one.choices)), key=lambda place: len(one.choices[place].text)) == one.right


def test_the_right_answer_is_not_given_away_by_its_length():
    questions = [one for name in known_quizzes() for one in load_questions(name)]
    assert sum(map(longest_is_right, questions)) <= 0.6 * len(questions)


# --- questions that are not as they should be -------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "at least one question"),
        ("text", "at least one question"),
        ([3], "Question 1 is a dict"),
        ([{"choices": []}], 'Question 1 needs "question" as text'),
        ([question(True)], "at least 2 choices"),
        ([question(False, False)], "exactly one right choice, but has 0"),
        ([question(True, False), question(True, True)], "Question 2 needs exactly one right choice"),
        ([{"question": "?", "choices": [{"text": "a", "right": True}, choice("b")]}], 'choice 1 needs "why"'),
        ([{"question": "?", "choices": [choice("a", why=" ", right=True), choice("b")]}], 'needs "why"'),
        ([{"question": "?", "choices": [choice("a", right=1), choice("b")]}], '"right" is true or false'),
        ([{"question": "?", "choices": [choice("a", right=True), choice("a")]}], "the same choice twice"),
    ],
)
def test_questions_that_are_not_as_they_should_be_are_refused_in_words(data, words):
    with pytest.raises(QuestionError, match=words):
        read_questions(data)


def test_a_quiz_that_is_not_there_is_refused_with_the_names_of_those_that_are():
    with pytest.raises(QuestionError, match=r"There is no quiz '\.\./secret'; there are 01_the_loop"):
        quiz("../secret")


@pytest.mark.parametrize(("former", "name"), FORMER_NAMES.items())
def test_a_saved_notebook_asks_a_quiz_by_its_former_number(former, name, tmp_path):
    assert quiz(former, folder=tmp_path).name == quiz(name, folder=tmp_path).name == name


# --- marking ----------------------------------------------------------------------------------------


def test_the_score_counts_right_answers_and_passing_takes_all_questions_answered(mugs):
    right = right_picks(mugs)
    assert (mugs.score, mugs.passed) == (0, False)
    mugs.pick([right[0], right[1], -1])
    assert (mugs.score, mugs.passed) == (2, False)
    wrong = (right[2] + 1) % 3
    mugs.pick([right[0], right[1], wrong])
    assert (mugs.score, mugs.passed) == (2, True)


@pytest.mark.parametrize(
    ("right", "questions", "passed"), [(3, 5, True), (2, 5, False), (6, 10, True), (5, 9, False)]
)
def test_the_pass_mark_is_sixty_percent_at_its_very_boundary(right, questions, passed):
    assert PASS_MARK == 0.6
    assert ("passed." in score_words(right, questions)) is passed
    assert ("not passed yet" in score_words(right, questions)) is not passed


@pytest.mark.parametrize("picked", [[0], [0, 0, 9], [0, 0, -2], [0, 0, "1"], [True, 0, 0], []])
def test_picks_that_are_no_choices_are_refused_and_change_nothing(mugs, picked):
    with pytest.raises(ValueError, match="numbers of their choices"):
        mugs.pick(picked)
    assert mugs.picked == [-1, -1, -1]


# --- what is kept -----------------------------------------------------------------------------------


def test_answers_are_there_again_the_next_day(mugs, tmp_path):
    mugs.pick([1, 0, -1])
    assert quiz(QUIZ, folder=tmp_path).picked == [1, 0, -1]


def test_the_best_score_stays_after_trying_again(mugs, tmp_path):
    mugs.pick(right_picks(mugs))
    mugs.pick([-1, -1, -1])
    (line,) = [line for line in str(progress(tmp_path)).splitlines() if line.startswith(QUIZ)]
    assert line.split() == [QUIZ, "0", "of", "3", "3", "passed"]


def test_a_score_counts_as_the_best_only_once_every_question_is_answered(mugs, tmp_path):
    mugs.pick([*right_picks(mugs)[:2], -1])
    assert Answers(tmp_path).read()[QUIZ]["best"] == 0


def test_quizzes_are_kept_beside_each_other(mugs, tmp_path):
    mugs.pick([0, 0, 0])
    quiz("01_the_loop", folder=tmp_path).pick([1, 1, 1, 1])
    assert quiz(QUIZ, folder=tmp_path).picked == [0, 0, 0]


def test_reset_forgets_everything(mugs, tmp_path):
    mugs.pick([0, 0, 0])
    assert Answers(tmp_path).reset()
    assert not Answers(tmp_path).reset()
    assert quiz(QUIZ, folder=tmp_path).picked == [-1, -1, -1]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"version": 99, "quizzes": {}}', '{"version": 1, "quizzes": 3}']
)
def test_a_broken_file_counts_as_empty_and_is_named(tmp_path, text):
    (tmp_path / "answers.json").write_text(text)
    answers = Answers(tmp_path)
    assert answers.read() == {}
    assert "answers.json" in answers.problem
    assert quiz(QUIZ, folder=tmp_path).picked == [-1, -1, -1]


@pytest.mark.parametrize("picked", [[0], [0, 0, "x"], None, [0, 0, 7]])
def test_kept_answers_that_do_not_fit_the_questions_any_more_are_left_aside(tmp_path, picked):
    kept = {"version": 1, "quizzes": {QUIZ: {"picked": picked}}}
    (tmp_path / "answers.json").write_text(json.dumps(kept))
    assert quiz(QUIZ, folder=tmp_path).picked == [-1, -1, -1]


def test_a_folder_that_cannot_be_written_is_said_and_the_quiz_goes_on(tmp_path):
    (tmp_path / "file").write_text("in the way")
    shown = quiz(QUIZ, folder=tmp_path / "file")
    shown.widget.picked = [0, 0, 0]
    assert shown.picked == [0, 0, 0]
    assert "cannot be kept" in shown.widget.problem


def test_the_folder_is_the_users_unless_the_environment_names_one(tmp_path):
    assert data_folder({"AGENTLIB_DATA_DIR": str(tmp_path)}) == tmp_path
    assert data_folder({}).name == "agentlib"
    assert Path.home() in data_folder({}).parents


def test_questions_of_ones_own_are_not_kept(tmp_path):
    shown = quiz([question(True, False)], folder=tmp_path)
    shown.pick([1])
    assert list(tmp_path.iterdir()) == []


# --- how it is shown --------------------------------------------------------------------------------


def test_the_widget_gets_the_questions_and_gives_back_what_was_picked(mugs, tmp_path):
    widget = mugs.widget
    assert len(widget.questions) == 3
    widget.set_state({"picked": [2, 1, 0]})
    assert mugs.picked == [2, 1, 0]
    assert quiz(QUIZ, folder=tmp_path).picked == [2, 1, 0]


def test_a_pick_that_the_page_cannot_make_is_taken_back(mugs):
    mugs.widget.set_state({"picked": [0, 0, 99]})
    assert mugs.widget.picked == mugs.picked == [-1, -1, -1]


def test_without_widgets_each_answer_is_folded_beneath_its_question(mugs):
    page = mugs._repr_mimebundle_()["text/html"]
    assert page.count("<summary>Answer to question") == 3
    assert page.count("<strong>Right.</strong>") == 3
    assert page.count("<strong>No.</strong>") == 6
    text = str(mugs)
    assert text.index("3. ") < text.index("Answers")
    assert "2b) Right." in text


def test_the_form_is_the_same_whatever_was_picked(mugs, tmp_path):
    before = mugs._repr_mimebundle_()
    mugs.pick([0, 1, 2])
    assert quiz(QUIZ, folder=tmp_path)._repr_mimebundle_() == before


def test_markup_in_a_question_is_shown_as_text():
    shown = quiz([question(True, False, text="<script>alert(1)</script>")])
    assert "<script" not in shown._repr_mimebundle_()["text/html"]


def test_progress_lists_every_quiz_of_the_course(tmp_path):
    table = str(progress(tmp_path))
    assert all(name in table for name in known_quizzes())
    assert table.count("not yet") == len(known_quizzes())


# --- the final test ---------------------------------------------------------------------------------


def texts(shown):
    return [one.text for one in shown.questions]


def test_the_final_test_draws_twenty_questions_from_each_of_twelve_lessons(tmp_path):
    pool = final_pool()
    lesson_of = {one: name for name, questions in pool.items() for one in questions}
    for seed in range(20):
        drawn = final_test(seed, folder=tmp_path).questions
        assert len(set(drawn)) == 20
        assert {lesson_of[one] for one in drawn} == set(pool)
        assert len(pool) == 12


def test_the_pool_of_the_final_test_is_larger_than_the_test_and_asks_nothing_twice():
    questions = [one for part in final_pool().values() for one in part]
    assert len(questions) >= 60
    assert len({one.text for one in questions}) == len(questions)


def test_the_pool_of_the_final_test_keeps_to_what_the_lessons_quizzes_keep_to():
    questions = [one for part in final_pool().values() for one in part]
    places = Counter(one.right for one in questions)
    assert max(places.values()) <= 0.5 * len(questions)
    assert sum(map(longest_is_right, questions)) <= 0.6 * len(questions)
    assert all(len({choice.why for choice in one.choices}) == len(one.choices) for one in questions)


def test_a_seed_brings_the_same_final_test_back_and_another_seed_another_one(tmp_path):
    assert texts(final_test(7, folder=tmp_path)) == texts(final_test(7, folder=tmp_path))
    assert texts(final_test(7, folder=tmp_path)) != texts(final_test(8, folder=tmp_path))


def test_the_final_test_is_passed_with_twelve_of_twenty_and_its_answers_are_kept_by_seed(tmp_path):
    test = final_test(7, folder=tmp_path)
    right = right_picks(test)
    test.pick([*right[:12], *((pick + 1) % 3 for pick in right[12:])])
    assert (test.score, test.passed) == (12, True)
    test.pick([*right[:11], *((pick + 1) % 3 for pick in right[11:])])
    assert (test.score, test.passed) == (11, False)
    assert final_test(7, folder=tmp_path).picked == test.picked
    assert set(final_test(8, folder=tmp_path).picked) == {-1}
    (line,) = [line for line in str(progress(tmp_path)).splitlines() if line.startswith("final_test_7")]
    assert line.split() == ["final_test_7", "20", "of", "20", "12", "passed"]


@pytest.mark.parametrize("kept", [{}, {"picked": "x", "best": "y", "of": None}, {"best": 3, "of": True}])
def test_progress_can_be_shown_though_what_was_kept_of_a_final_test_is_broken(kept, tmp_path):
    (tmp_path / "answers.json").write_text(json.dumps({"version": 1, "quizzes": {"final_test_1": kept}}))
    assert "not yet" in str(progress(tmp_path)).splitlines()[-1]


@pytest.mark.parametrize(
    ("seed", "questions"), [("7", 20), (True, 20), (None, 20), (7, 0), (7, 1000), (7, -1)]
)
def test_a_final_test_that_cannot_be_drawn_is_refused(seed, questions, tmp_path):
    with pytest.raises(ValueError, match=r"whole number|can be drawn"):
        final_test(seed, questions, folder=tmp_path)


def test_questions_are_spread_as_evenly_as_their_number_allows():
    pool = {name: [Question(f"{name}{n}", ()) for n in range(4)] for name in "ab"}
    drawn = draw(pool, 5, Random(1))
    assert sorted(Counter(one.text[0] for one in drawn).values()) == [2, 3]
