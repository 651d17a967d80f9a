"""The quiz: its questions, how it is marked, where answers are kept, and its form without widgets."""

import json
from collections import Counter
from pathlib import Path

import pytest

from agentlib.course import progress
from agentlib.views import quiz
from agentlib.views.quiz import PASS_MARK, QuestionError, Quiz, score_words
from agentlib.views.quiz.answers import Answers, data_folder
from agentlib.views.quiz.questions import (
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


@pytest.mark.parametrize("name", known_quizzes())
def test_the_right_answer_is_the_longest_in_at_most_a_third_of_a_quizs_questions(name):
    questions = load_questions(name)
    assert sum(map(longest_is_right, questions)) <= len(questions) / 3


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


FORMER_NAMES = [
    ("08_find_the_bugs", "09_find_the_bugs"),
    ("09_answered_is_not_verified", "10_answered_is_not_verified"),
    ("10_when_not_to_loop", "12_when_not_to_loop"),
    ("10_pipeline_or_agent", "12_pipeline_or_agent"),
    ("11_a_real_model", "13_a_real_model"),
]


@pytest.mark.parametrize(("former", "name"), FORMER_NAMES)
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


def test_a_wrong_first_pick_is_kept_beside_the_second_and_a_right_second_counts(mugs, tmp_path):
    right = right_picks(mugs)
    wrong = [(place + 1) % 3 for place in right]
    mugs.pick(wrong, wrong)  # each has its second try still to come
    assert (mugs.score, quiz(QUIZ, folder=tmp_path).first) == (0, wrong)
    mugs.pick([right[0], right[1], (right[2] + 2) % 3], wrong)
    again = quiz(QUIZ, folder=tmp_path)
    assert (again.score, again.passed, again.first) == (2, True, wrong)
    again.pick([-1, -1, -1])
    assert quiz(QUIZ, folder=tmp_path).first == [-1, -1, -1]


@pytest.mark.parametrize("first", [[0], [0, 0, 9], "x", [None, 0, 0]])
def test_first_picks_that_are_no_choices_are_refused_and_change_nothing(mugs, first):
    with pytest.raises(ValueError, match="numbers of their choices"):
        mugs.pick([0, 0, 0], first)
    assert (mugs.picked, mugs.first) == ([-1, -1, -1], [-1, -1, -1])


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
    assert line.split() == [QUIZ, "0", "of", "3", "3", "passed", "-"]


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


def test_a_question_that_has_changed_since_is_asked_anew_and_the_best_score_stays(tmp_path):
    one, other = read_questions([question(True, False)]), read_questions([question(False, True)])
    Quiz("own", one, Answers(tmp_path)).pick([0])
    assert Quiz("own", one, Answers(tmp_path)).picked == [0]
    assert Quiz("own", other, Answers(tmp_path)).picked == [-1]
    assert Answers(tmp_path).read()["own"]["best"] == 1


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


def test_the_page_gives_back_the_first_try_and_the_second(mugs, tmp_path):
    mugs.widget.set_state({"first": [0, -1, -1], "picked": [0, -1, -1]})
    assert (mugs.picked, mugs.first) == ([0, -1, -1], [0, -1, -1])
    mugs.widget.set_state({"first": [0, -1, -1], "picked": [2, -1, -1]})
    again = quiz(QUIZ, folder=tmp_path)
    assert (again.picked, again.first, again.score) == ([2, -1, -1], [0, -1, -1], 1)
    assert again.widget.first == [0, -1, -1]
    mugs.widget.set_state({"first": ["x"]})
    assert mugs.widget.first == mugs.first == [0, -1, -1]


def test_the_page_is_told_that_it_was_heard(mugs):
    mugs.widget.set_state({"first": [-1, -1, -1], "picked": [2, -1, -1], "turn": 1})
    assert mugs.widget.heard == 1


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


def test_without_widgets_there_is_a_second_try_too(mugs):
    page = mugs._repr_mimebundle_()["text/html"]
    assert page.count("<summary>Is it this one?</summary>Not this one. Choose once more") == 6
    assert page.count("<summary>Is it this one?</summary>Yes. Now open the answer.") == 3
    assert page.index("Is it this one?") < page.index("Answer to question 1")
    text = str(mugs)
    again = "Before you read the answers, choose once more if you have 1: a or b?, 2: a or c?, 3: b or c?"
    assert text.index("3. ") < text.index(again) < text.index("Answers")


def test_a_question_with_two_choices_has_no_second_try():
    shown = quiz([question(True, False)])
    assert "Is it this one?" not in shown._repr_mimebundle_()["text/html"]
    assert "choose once more" not in str(shown)


def test_the_form_is_the_same_whatever_was_picked(mugs, tmp_path):
    before = mugs._repr_mimebundle_()
    mugs.pick([0, 1, 2])
    assert quiz(QUIZ, folder=tmp_path)._repr_mimebundle_() == before


def test_markup_in_a_question_is_shown_as_text():
    shown = quiz([question(True, False, text="<script>alert(1)</script>")])
    assert "<script" not in shown._repr_mimebundle_()["text/html"]
