"""Every wrong solution is refused by the criterion it is tied to; every right one is accepted."""

import importlib
import json
import re
import traceback
from pathlib import Path
from random import Random

import pytest

from agentlib.course.checking.engine import check_with
from agentlib.course.exercises import EXERCISES
from agentlib.course.running.runner import Runner
from tests.zoo import patch, specimens

SEEDS = (1, 2)
ONE_AND_PLURAL = re.compile(r"\b1 (calls|coins|entries|lines|requests|results|runs|steps|values)\b")


class Impatient(Runner):
    """A learner's place with a short time limit, so that loops that spin cost a moment."""

    def run(self, request, called, seconds):
        return super().run(request, called, 1.5 if seconds == 5 else seconds)


def short_name(exercise):
    return exercise.name.split("_")[0]


ZOO = {
    path.stem: specimens(importlib.import_module(f"tests.zoo.{path.stem}"))
    for path in sorted(Path(__file__).with_name("zoo").glob("ex*.py"))
}
IN_ZOO = [exercise for exercise in EXERCISES.values() if short_name(exercise) in ZOO]
ALL = [(exercise, specimen) for exercise in IN_ZOO for specimen in ZOO[short_name(exercise)]]
WRONG = [(exercise, specimen) for exercise, specimen in ALL if specimen.criterion]
RIGHT = [(exercise, specimen) for exercise, specimen in ALL if not specimen.criterion]


def named(pairs):
    return [pytest.param(*pair, id=f"{short_name(pair[0])}-{pair[1].name}") for pair in pairs]


def report_on(exercise, specimen, seed):
    functions = specimen.functions
    if isinstance(functions, tuple):
        functions = dict(zip(exercise.functions, functions, strict=True))
    return check_with(exercise, Impatient(functions), seed)


@pytest.mark.parametrize(("exercise", "specimen"), named(WRONG))
def test_a_wrong_one_is_refused_by_the_criterion_it_is_tied_to(exercise, specimen):
    for seed in SEEDS:
        report = report_on(exercise, specimen, seed)
        red = [result for result in report.results if result.status == "not yet"]
        assert [result.id for result in red] == specimen.criterion.split(), report.text()
        assert specimen.named in f"{red[0].seen} {red[0].hints[0]}", report.text()
        assert not ONE_AND_PLURAL.search(" ".join(report.text().split())), report.text()
        assert not report.passed
        assert report.points == sum(result.max_points for result in report.results if result.passed)


@pytest.mark.parametrize(
    ("name", "points"),
    [
        ("ex02-tuple_of_sorted_items", 9),
        ("ex04-guards_the_tool_alone", 2),
        ("ex03-nothing_mended", 2),
        ("ex03-request_forgotten", 8),
        ("ex01-only_the_result_recorded", 7),
    ],
)
def test_a_fault_costs_its_part_and_not_those_that_can_be_judged_without_it(name, points):
    number, _, specimen = name.partition("-")
    exercise = next(one for one in IN_ZOO if one.number == number)
    wrong = next(one for one in ZOO[number] if one.name == specimen)
    assert report_on(exercise, wrong, 1).points == points


@pytest.mark.parametrize(("exercise", "specimen"), named(RIGHT))
def test_a_right_one_is_accepted(exercise, specimen):
    for seed in SEEDS:
        report = report_on(exercise, specimen, seed)
        assert report.passed, report.text()


def test_every_exercise_has_a_file_in_the_zoo():
    assert set(ZOO) == {short_name(exercise) for exercise in EXERCISES.values()}


def test_the_zoo_is_large_enough():
    assert len(WRONG) >= 470
    assert len(RIGHT) >= 65
    assert [specimen.name for _, specimen in WRONG if not specimen.named] == []  # its second argument


@pytest.mark.parametrize("exercise", IN_ZOO, ids=lambda exercise: exercise.name)
def test_every_criterion_is_tied_to_a_wrong_solution(exercise):
    tied = {name for specimen in ZOO[short_name(exercise)] for name in specimen.criterion.split()}
    assert tied == {criterion.id for criterion in exercise.criteria}


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=lambda exercise: exercise.name)
def test_scenarios_have_other_data_with_another_seed_and_the_same_with_the_same(exercise):
    def data(seed):
        scenarios = exercise.scenarios(Random(seed))
        names = {name: [dict(scenario.facts), scenario.args] for name, scenario in scenarios.items()}
        return json.dumps(names, default=lambda thing: type(thing).__name__)

    assert data(1) == data(1)
    assert data(1) != data(2)


def test_a_patch_is_made_at_one_place_and_shows_its_own_lines():
    def steps(limit):
        return range(limit)

    shorter = patch(steps, "range(limit)", "range(limit - None)")
    with pytest.raises(TypeError) as raised:
        shorter(3)
    assert traceback.extract_tb(raised.tb)[-1].line == "return range(limit - None)"
    with pytest.raises(ValueError, match="'limit' stands 2 times, not once"):
        patch(steps, "limit", "max_steps")
    with pytest.raises(ValueError, match="'while' stands 0 times"):
        patch(steps, "while", "for")
