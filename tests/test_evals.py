"""Graded cases over many runs: seeds, rates with their interval, files that lose nothing, two versions."""

import json
import random
import subprocess
import sys
from collections import Counter
from math import comb
from pathlib import Path
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentlib import answer, ask, stops
from agentlib.costs import Price
from agentlib.errors import ResultsFileError
from agentlib.evals import Case, Comparison, Report, Result, compare, evaluate, wilson_interval
from agentlib.labs import blue_mugs
from agentlib.models import LoopingModel, NoisyModel, RuleModel, ScriptedModel

ROOT = Path(__file__).parent.parent
quick = settings(max_examples=100, derandomize=True, database=None, deadline=None)


# --- an agent whose path varies ---------------------------------------------------------------------


def results(history):
    return [entry["result"] for entry in history if entry["role"] == "tool"]


def careful(history):
    """Ask for what is missing, then answer."""
    known = {one["warehouse"]: one["blue_mugs"] for one in results(history) if "warehouse" in one}
    missing = [name for name in blue_mugs.STOCK if name not in known]
    if missing:
        return ask("stock_level", warehouse=missing[0])
    return answer(f"{max(known, key=known.get)} has more")


def noisy(rng):
    """A model that misspells a name or answers too early now and then."""
    early = RuleModel(lambda history: answer("south has more"))
    return NoisyModel([careful, LoopingModel("stock_level", warehouse="North"), early], rng, [7, 2, 1])


def says_north(run):
    return (run.answer or "").lower().startswith("north")


MUGS = Case("mugs", blue_mugs.GOAL, blue_mugs.TOOLS, says_north)
AGAIN = Case("mugs again", "Which warehouse should send the mugs?", blue_mugs.TOOLS, says_north)


def steady(rng):
    return careful


def test_the_path_of_a_noisy_model_varies_and_a_seed_brings_it_back():
    report = evaluate([MUGS], noisy, runs=40)
    assert len(report) == 40
    assert 0 < report.passed < 40
    assert len({result.steps for result in report}) > 2
    assert evaluate([MUGS], noisy, runs=40) == report
    assert evaluate([MUGS], noisy, runs=40, seed=40) != report


def test_runs_have_the_seeds_that_were_asked_for_and_cases_do_not_share_their_draws():
    drawn = []
    evaluate([MUGS, AGAIN], lambda rng: drawn.append(rng.random()) or careful, runs=3, seed=5)
    assert len(set(drawn)) == 6
    report = evaluate([MUGS, AGAIN], steady, runs=3, seed=5)
    wanted = [(name, seed) for name in ("mugs", "mugs again") for seed in (5, 6, 7)]
    assert [(result.case, result.seed) for result in report] == wanted
    tail = []
    evaluate([MUGS, AGAIN], lambda rng: tail.append(rng.random()) or careful, runs=1, seed=7)
    assert tail == [drawn[2], drawn[5]]


def test_a_result_holds_what_the_run_held():
    (result,) = evaluate([MUGS], steady, runs=1, version="first")
    assert (result.version, result.case, result.goal, result.seed) == ("first", "mugs", blue_mugs.GOAL, 0)
    assert (result.passed, result.problems, result.failure) == (True, (), "")
    assert (result.stopped, result.answer) == ("answered", "north has more")
    assert (result.steps, result.tool_runs, result.errors, result.coins) == (3, 2, 0, 9)
    assert result.input_tokens > 0
    price = Price(1, 10, "made up", "2025-11-03")
    assert result.usd(price) == price.usd(result.input_tokens, result.output_tokens)


def test_options_reach_the_loop():
    stuck = lambda rng: LoopingModel("stock_level", warehouse="south")  # noqa: E731
    report = evaluate([MUGS], stuck, runs=2, max_steps=9, stops=[stops.RepeatedCall(3)])
    assert report.stopped == Counter({"repeated call": 2})
    assert report.spread("steps").max == 3


def test_a_case_made_anew_for_each_run_can_look_at_what_its_tools_have_done():
    def case():
        saved = {}

        def save(name: str, text: str) -> str:
            saved[name] = text
            return "saved"

        return Case("note", "Save a note.", [save], lambda run: [] if saved else ["there is no note"])

    def model(rng):
        saving = ScriptedModel([ask("save", name="a", text="b"), answer("Saved.")])
        return saving if rng.random() < 0.5 else ScriptedModel([answer("Saved.")])

    report = evaluate([case], model, runs=30)
    assert 0 < report.passed < 30
    assert {result.problems for result in report if not result.passed} == {("there is no note",)}
    assert {result.stopped for result in report} == {"answered"}


# --- what a report says -----------------------------------------------------------------------------


def report_of(*passed, version="a", case="c", first=0, **more):
    results = [
        Result(version, case, "goal", first + number, passed=one, stopped="answered", **more)
        for number, one in enumerate(passed)
    ]
    return Report(version, tuple(results), len(results))


def test_a_report_counts_and_splits_by_case():
    report = evaluate([MUGS, AGAIN], noisy, runs=20)
    parts = report.by_case()
    assert list(parts) == ["mugs", "mugs again"]
    assert sum(part.passed for part in parts.values()) == report.passed
    assert report.pass_rate == report.passed / 40
    assert report.interval() == wilson_interval(report.passed, 40)
    assert sum(report.stopped.values()) == 40


def test_steps_and_cost_spread():
    results = [Result("a", "c", "g", n, passed=True, steps=n, input_tokens=1_000 * n) for n in (1, 2, 9)]
    report = Report("a", tuple(results), 3)
    assert report.spread("steps") == (1, 2, 9, 4)
    assert report.spread_usd(Price(2, 0, "made up", "2025-11-03")) == (0.002, 0.004, 0.018, 0.008)
    with pytest.raises(ValueError, match="what is one of steps"):
        report.spread("answer")
    for empty in (lambda: Report("a", (), 3).spread(), lambda: Report("a", (), 3).spread_usd(Price)):
        with pytest.raises(ValueError, match="no run"):
            empty()


def test_a_report_reads_well():
    text = str(evaluate([MUGS], steady, runs=8, version="steady"))
    assert text.splitlines() == [
        "steady: 8 of 8 runs passed = 100% (95% interval 68% to 100%)",
        "  steps: 3 to 3, median 3",
        "  tokens read: 80 to 80, median 80",
        "  stopped: answered 8",
    ]
    assert str(Report("steady", (), 8)) == "steady: no run of 8 was made"
    assert Report("steady", (), 8).pass_rate is None
    assert Report("steady", (), 8).interval() == (0, 1)


# --- the interval -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("passed", "runs", "low", "high"),
    [(8, 10, 0.490, 0.943), (0, 10, 0.0, 0.278), (10, 10, 0.722, 1.0), (50, 100, 0.404, 0.596)],
)
def test_known_values_of_the_interval(passed, runs, low, high):
    assert wilson_interval(passed, runs) == pytest.approx((low, high), abs=5e-4)


@quick
@given(runs=st.integers(1, 300), part=st.floats(0, 1), confidence=st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_the_interval_ends_where_the_outcome_would_be_a_surprise(runs, part, confidence):
    """The definition, with no formula of the interval: at its ends the outcome is z standard errors away."""
    passed = round(part * runs)
    z = NormalDist().inv_cdf((1 + confidence) / 2)

    def surprise(rate):
        return abs(passed / runs - rate) - z * (rate * (1 - rate) / runs) ** 0.5

    low, high = wilson_interval(passed, runs, confidence)
    assert 0 <= low <= passed / runs <= high <= 1
    for end in (low, high):
        if 0 < end < 1:
            assert surprise(end) == pytest.approx(0, abs=1e-9)
    assert wilson_interval(runs - passed, runs, confidence) == pytest.approx((1 - high, 1 - low))


def test_no_run_says_nothing():
    assert wilson_interval(0, 0) == (0, 1)


def test_the_interval_holds_the_true_rate_about_as_often_as_it_says():
    rate, runs = 0.8, 20
    held = 0.0
    for passed in range(runs + 1):
        low, high = wilson_interval(passed, runs)
        if low <= rate <= high:
            held += comb(runs, passed) * rate**passed * (1 - rate) ** (runs - passed)
    assert 0.92 < held < 0.98


@pytest.mark.parametrize("wrong", [(-1, 5), (6, 5), (1.5, 5), (True, 5), (1, 5, 0), (1, 5, 1)])
def test_a_rate_that_cannot_be_is_an_error(wrong):
    with pytest.raises(ValueError, match=r"passed|confidence"):
        wilson_interval(*wrong)


# --- two versions -----------------------------------------------------------------------------------


def test_two_versions_are_compared_on_the_same_seeds():
    plain = evaluate([MUGS], noisy, runs=40, version="plain")
    checked = evaluate([MUGS], lambda rng: NoisyModel([careful], rng), runs=40, version="checked")
    pairs = compare(plain, checked)
    assert (pairs.pairs, pairs.unpaired) == (40, 0)
    assert pairs.both == plain.passed
    assert (pairs.only_left, pairs.only_right) == (0, 40 - plain.passed)
    assert pairs.chance < 0.05
    assert str(pairs).startswith(f"40 pairs of runs: plain passed {plain.passed}, checked passed 40")


def test_only_pairs_are_compared():
    left, right = report_of(True, False, True, first=0), report_of(False, False, True, version="b", first=1)
    pairs = compare(left, right)
    assert (pairs.both, pairs.only_left, pairs.only_right, pairs.neither) == (0, 1, 0, 1)
    assert (pairs.pairs, pairs.unpaired) == (2, 2)
    assert "without a partner: 2" in str(pairs)
    with pytest.raises(ValueError, match="no case and seed in common"):
        compare(left, report_of(True, case="other"))


@pytest.mark.parametrize(
    ("left", "right", "chance"), [(0, 0, 1), (1, 0, 1), (3, 3, 1), (0, 5, 2 / 32), (1, 9, 22 / 1024)]
)
def test_how_likely_an_uneven_split_is_by_chance(left, right, chance):
    assert Comparison("a", "b", 7, left, right, 7).chance == pytest.approx(chance)
    assert Comparison("a", "b", 7, right, left, 7).chance == pytest.approx(chance)


def test_the_chance_of_a_split_counted_over_all_throws():
    n, fewer = 9, 2
    throws = [bin(throw).count("1") for throw in range(2**n)]
    as_uneven = sum(min(heads, n - heads) <= fewer for heads in throws)
    assert Comparison("a", "b", 0, fewer, n - fewer, 0).chance == pytest.approx(as_uneven / 2**n)
    assert 0 <= Comparison("a", "b", 0, 900, 2_000, 0).chance < 1e-9


# --- what goes wrong --------------------------------------------------------------------------------


class Counting:
    """A model maker that counts, and lets run `at` go wrong."""

    def __init__(self, at=0, problem=None, make_model=noisy):
        self.made, self.at, self.make_model = 0, at, make_model
        self.problem = problem or ConnectionError("the provider is down")

    def __call__(self, rng):
        self.made += 1
        if self.made == self.at:

            def broken(history):
                raise self.problem

            return broken
        return self.make_model(rng)


def without_37(report):
    return [result for result in report if result.seed != 36]


def test_a_model_that_raises_in_run_37_of_100_spoils_that_run_alone(tmp_path):
    file = tmp_path / "results.jsonl"
    whole = evaluate([MUGS], noisy, runs=100)
    report = evaluate([MUGS], Counting(at=37), runs=100, file=file)
    assert (len(report), report.interrupted) == (100, False)
    assert without_37(report) == without_37(whole)
    (failed,) = report.failures
    assert (failed.seed, failed.passed, failed.stopped) == (36, False, "model error")
    assert failed.failure == "the model raised: ConnectionError: the provider is down"
    assert "could not be graded: 1, the first: mugs, seed 36: the model raised" in str(report)
    again = Counting()
    assert evaluate([MUGS], again, runs=100, file=file).results == whole.results
    assert again.made == 1  # what was graded is not run again


def test_a_maker_that_raises_spoils_its_run_alone():
    def maker(rng):
        if rng.random() < 0.5:
            raise RuntimeError("no licence")
        return careful

    report = evaluate([MUGS], maker, runs=20)
    assert len(report) == 20
    assert 0 < len(report.failures) < 20
    assert {one.failure for one in report.failures} == {"the case or the model could not be made: no licence"}
    assert report.passed == 20 - len(report.failures)


@pytest.mark.parametrize("gave", [None, "a model"])
def test_a_maker_that_gives_no_model_in_run_7_of_10_spoils_that_run_alone(gave):
    made = []

    def maker(rng):
        made.append(rng)
        return gave if len(made) == 7 else careful

    report = evaluate([MUGS], maker, runs=10)
    (failed,) = report.failures
    assert (len(report), failed.seed, failed.stopped) == (10, 6, "")
    assert "could not be made: TypeError: make_model gives a function of the history" in failed.failure


def test_a_maker_of_cases_that_gives_none_in_a_later_run_spoils_that_run_alone():
    made = []

    def maker():
        made.append(1)
        return None if len(made) == 4 else MUGS  # the first one is made before any run, to read its name

    report = evaluate(maker, lambda rng: careful, runs=5)
    (failed,) = report.failures
    assert (len(report), failed.seed) == (5, 2)
    assert failed.failure.endswith("a maker of cases gives a Case, but gave None")


@pytest.mark.parametrize("said", [None, 1, "passed", [1]])
def test_a_check_that_raises_or_says_neither_yes_nor_no_spoils_its_run_alone(said):
    def check(run):
        return True if run.steps == 3 else said if said is not None else 1 / 0

    case = Case("mugs", blue_mugs.GOAL, blue_mugs.TOOLS, check)
    report = evaluate([case], noisy, runs=20)
    assert len(report) == 20
    assert report.passed == sum(result.steps == 3 for result in report) > 0
    assert len(report.failures) == 20 - report.passed > 0
    assert all(one.failure.startswith("the check raised: ") for one in report.failures)
    assert all(one.answer or one.stopped == "step limit" for one in report.failures)


def test_an_interrupt_ends_the_evaluation_with_what_was_done_and_it_can_go_on(tmp_path):
    file = tmp_path / "results.jsonl"
    whole = evaluate([MUGS, AGAIN], noisy, runs=30)
    part = evaluate([MUGS, AGAIN], Counting(41, KeyboardInterrupt()), runs=30, file=file)
    assert part.interrupted
    assert part.results == whole.results[:40]
    assert "not finished: 40 of 60 runs were made" in str(part)
    rest = Counting()
    assert evaluate([MUGS, AGAIN], rest, runs=30, file=file) == whole
    assert rest.made == 20
    more = Counting()
    assert evaluate([MUGS, AGAIN], more, runs=32, file=file).results[:30] == whole.results[:30]
    assert more.made == 4


def test_an_interrupt_in_a_check_ends_it_too():
    asked = []

    def check(run):
        asked.append(run)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return True

    report = evaluate([Case("mugs", blue_mugs.GOAL, blue_mugs.TOOLS, check)], steady, runs=9)
    assert (len(report), report.interrupted) == (2, True)


def test_a_cancel_ends_it_too():
    class Event:
        def is_set(self):
            return True

    report = evaluate([MUGS], steady, runs=9, stops=[stops.Cancelled(Event())])
    assert (len(report), report.interrupted) == (0, True)


KILLED = """
import os, sys
from tests.test_evals import MUGS, Counting, evaluate

class Killed(Counting):
    def __call__(self, rng):
        if self.made == 12:
            os._exit(9)  # no finally, no flush
        return super().__call__(rng)

evaluate([MUGS], Killed(), runs=30, file=sys.argv[1])
"""


def test_a_program_that_is_killed_has_saved_every_run_that_was_done(tmp_path):
    file = tmp_path / "results.jsonl"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(file)], cwd=ROOT, check=False)
    assert killed.returncode == 9
    assert len(file.read_text().splitlines()) == 12
    rest = Counting()
    assert evaluate([MUGS], rest, runs=30, file=file) == evaluate([MUGS], noisy, runs=30)
    assert rest.made == 18


@pytest.mark.parametrize("kept", [1, 12, 13, 40, -1])
def test_a_line_that_was_cut_off_is_made_anew(tmp_path, kept):
    file = tmp_path / "results.jsonl"
    whole = evaluate([MUGS], noisy, runs=5, file=file)
    *lines, last = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines) + last[:kept])
    rest = Counting()
    assert evaluate([MUGS], rest, runs=5, file=file) == whole
    assert rest.made == (0 if kept == -1 else 1)  # without its last line break it is whole
    assert file.read_bytes() == b"".join([*lines, last])


@pytest.mark.parametrize("content", ["no results", "no results\n", '{"a": 1}\n', "[]\n", "\n"])
def test_a_file_that_holds_something_else_is_left_alone(tmp_path, content):
    file = tmp_path / "letter.txt"
    file.write_text(content)
    model = Counting()
    with pytest.raises(ResultsFileError, match=r"letter\.txt, line 1: expected a result") as caught:
        evaluate([MUGS], model, runs=5, file=file)
    assert caught.value.line == 1
    assert model.made == 0
    assert file.read_text() == content


def test_a_broken_line_in_the_middle_is_named(tmp_path):
    file = tmp_path / "results.jsonl"
    evaluate([MUGS], steady, runs=3, file=file)
    lines = file.read_text().splitlines()
    for wrong in ({"passed": "yes"}, {"seed": 1.5}, {"more": 1}):
        lines[1] = json.dumps({**json.loads(lines[0]), **wrong})
        file.write_text("\n".join(lines) + "\n")
        with pytest.raises(ResultsFileError, match="line 2"):
            evaluate([MUGS], steady, runs=3, file=file)


def test_results_of_another_goal_are_not_taken_for_this_one(tmp_path):
    file = tmp_path / "results.jsonl"
    evaluate([MUGS], steady, runs=3, file=file)
    other = Case("mugs", "Another goal", blue_mugs.TOOLS, says_north)
    with pytest.raises(ResultsFileError, match="another goal"):
        evaluate([other], steady, runs=3, file=file)
    assert len(evaluate([other], steady, runs=3, file=file, version="second")) == 3


def test_one_file_can_hold_several_versions(tmp_path):
    file = tmp_path / "results.jsonl"
    first = evaluate([MUGS], noisy, runs=5, file=file, version="first")
    second = Counting(make_model=steady)
    evaluate([MUGS], second, runs=5, file=file, version="second")
    assert second.made == 5
    assert evaluate([MUGS], pytest.fail, runs=5, file=file, version="first") == first


def test_a_file_that_cannot_be_written_is_an_error_before_any_run(tmp_path):
    model = Counting()
    with pytest.raises(OSError, match="missing"):
        evaluate([MUGS], model, runs=5, file=tmp_path / "missing" / "results.jsonl")
    assert model.made == 0


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ({"runs": 0}, ValueError, "runs"),
        ({"runs": 2.5}, ValueError, "runs"),
        ({"seed": "7"}, ValueError, "seed"),
        ({"version": " "}, ValueError, "version"),
        ({"cases": []}, ValueError, "no case"),
        ({"cases": None}, TypeError, "cases is a list of Cases, but was None"),
        ({"cases": [MUGS, MUGS]}, ValueError, 'Two cases are called "mugs"'),
        ({"cases": [MUGS, "mugs"]}, TypeError, "A case is a Case"),
        ({"cases": [MUGS, lambda: None]}, TypeError, "A case is a Case"),
        ({"max_steps": 0}, ValueError, "max_steps"),
        ({"maximum": 5}, TypeError, "maximum"),
    ],
)
def test_wrong_arguments_are_an_error_before_any_run(tmp_path, wrong, error, words):
    asked = []
    careless = lambda history: asked.append(history) or answer("x")  # noqa: E731
    arguments = {"cases": [MUGS], "make_model": lambda rng: careless, "file": tmp_path / "results.jsonl"}
    with pytest.raises(error, match=words):
        evaluate(**{**arguments, **wrong})
    assert asked == []
    with pytest.raises(TypeError, match="make_model"):
        evaluate([MUGS], "noisy")


def test_a_case_without_a_check_is_an_error_before_any_run():
    with pytest.raises(TypeError, match="check"):
        Case("mugs", blue_mugs.GOAL, blue_mugs.TOOLS)
    for check in (None, True, "north"):
        with pytest.raises(TypeError, match='The case "mugs" has no check'):
            Case("mugs", blue_mugs.GOAL, blue_mugs.TOOLS, check)
    model = Counting()
    with pytest.raises(TypeError, match="has no check"):
        evaluate([MUGS, lambda: Case("late", "Go.", [], None)], model, runs=2)
    assert model.made == 0


@pytest.mark.parametrize(
    ("name", "goal", "tools", "error"),
    [
        ("", "Go.", [], ValueError),
        (7, "Go.", [], TypeError),
        ("a", None, [], TypeError),
        ("a", "", 7, TypeError),
    ],
)
def test_a_case_that_cannot_be_run_is_an_error_at_once(name, goal, tools, error):
    with pytest.raises(error):
        Case(name, goal, tools, says_north)


# --- the bar ----------------------------------------------------------------------------------------


def test_the_bar_is_off_unless_it_is_asked_for(tmp_path, capsys):
    file = tmp_path / "results.jsonl"
    evaluate([MUGS], steady, runs=3, file=file)
    assert capsys.readouterr() == ("", "")
    evaluate([MUGS], steady, runs=6, file=file, progress=True, version="agent")
    out, err = capsys.readouterr()
    assert out == ""
    assert "agent" in err
    assert "6/6" in err
    assert "3/6" in err


def test_a_seeded_generator_is_what_a_maker_gets():
    given = []
    evaluate([MUGS], lambda rng: given.append(rng) or careful, runs=1, seed=3)
    assert type(given[0]) is random.Random
    assert given[0].random() == random.Random("mugs/3").random()
