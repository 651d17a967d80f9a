"""The playground: menus and a slider, the run beneath them, and its form without widgets."""

import pytest

from agentlib.views import playground
from agentlib.views.playground import GUARDS, LABS, MAX_STEPS, Playground


def parts(ground):
    return {part.description: part for part in ground.box.children if hasattr(part, "description")}


def page(ground):
    return next(part.value for part in ground.box.children if "status" in str(getattr(part, "value", "")))


def test_the_slider_says_at_each_place_why_it_ended_and_how_much_is_known():
    ground = playground("capitals")
    assert "New Delhi" in page(ground)
    parts(ground)["max_steps"].value = 4
    for words in ("step limit", "after 4 steps", "3 of 4 populations known", "no answer"):
        assert words in page(ground)
    assert parts(ground)["max_steps"].continuous_update


def test_another_lab_brings_its_questions_and_models():
    ground = playground("capitals")
    parts(ground)["lab"].value = "trains"
    assert ground.question == parts(ground)["question"].options[0] == "Is train 12345 running late?"
    parts(ground)["model"].value = "looping_model"
    assert "step limit" in page(ground)
    parts(ground)["guard"].value = "the same call and result 3 times"
    assert "repeated call" in page(ground)


@pytest.mark.parametrize("lab", LABS)
def test_every_question_of_every_lab_runs_under_every_guard(lab):
    for question in Playground(lab).questions:
        for model in Playground(lab).models:
            for guard in GUARDS:
                assert Playground(lab, question, model, guard).page()


def test_without_widgets_a_table_has_a_row_for_each_place_of_the_slider():
    lines = str(playground("capitals")).splitlines()
    assert len(lines) == MAX_STEPS + 3
    assert "answered after 7 steps, 49 coins; 4 of 4 populations known; New Delhi" in lines[-1]


@pytest.mark.parametrize("wrong", [{"lab": "maps"}, {"guard": "luck"}, {"max_steps": 0}, {"max_steps": 13}])
def test_what_is_not_there_is_refused_in_words(wrong):
    with pytest.raises(ValueError, match=r"in the playground|goes from 1 to 12"):
        playground(**wrong)
