"""The figures of the lessons; in 01 to 06 agentlib's loop and hand-written ones bring them out alike."""

import inspect

import pytest

from agentlib import ask, memory, run_agent, stops
from agentlib.costs import coins_after, tokens_read_total
from agentlib.course.quick_checks.lesson_08 import may_open, may_run
from agentlib.course.quick_checks.lesson_11 import good_outcome, judge_errors
from agentlib.evals import evaluate
from agentlib.labs import (
    blue_mugs,
    by_hand,
    capitals,
    choosing,
    long_runs,
    note_taking,
    poisoned,
    shop,
    trains,
    weather,
)
from agentlib.models import RecordingModel, ScriptedModel
from tests import handwritten


def by_agentlib(model, tools, goal, max_steps=10, **options):
    run = run_agent(model, tools, goal, max_steps, **options)
    return {"answer": run.answer, "stopped": run.stopped, "steps": run.steps, "history": run.history}


LOOPS = {"agentlib": by_agentlib, "by hand": handwritten.run_agent}
both_loops = pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)


def results(history):
    return [entry["result"] for entry in history if "result" in entry]


def failed(history):
    return [result for result in results(history) if isinstance(result, dict) and "error" in result]


def coins(loop, lab_model, tools, goal, max_steps):
    """Coins after each call: one for each entry that a call reads."""
    seen = RecordingModel(lab_model)
    loop(seen, tools, goal, max_steps)
    sums = [0]
    for history in seen.histories:
        sums.append(sums[-1] + len(history))
    return sums[1:]


def test_the_hand_written_loop_has_about_20_lines_and_nothing_of_agentlib():
    lines = inspect.getsource(handwritten.run_agent).splitlines()
    assert len(lines) <= 20
    assert "import" not in inspect.getsource(handwritten)


# --- 01 weather -------------------------------------------------------------------------------------


@both_loops
def test_01_the_weather_question_is_answered_in_2_steps_under_a_limit_of_5(loop):
    end = loop(weather.model(), weather.TOOLS, weather.GOAL, 5)
    assert weather.GOAL == "Do I need to carry water in Chennai today?"
    assert (end["stopped"], end["steps"], results(end["history"])) == ("answered", 2, ["34 C and humid"])
    assert "34 C and humid" in end["answer"]


def test_01_what_the_weather_tool_knows():
    assert weather.weather_in("Chennai") == "34 C and humid"
    assert weather.weather_in("Shimla") == "12 C and clear"
    with pytest.raises(Exception, match="Mumbai"):
        weather.weather_in("Mumbai")


@both_loops
@pytest.mark.parametrize("limit", [1, 5])
def test_01_only_the_step_limit_stops_a_model_that_asks_for_mumbai_for_ever(loop, limit):
    end = loop(weather.looping_model(), weather.TOOLS, weather.GOAL, limit)
    assert (end["stopped"], end["steps"], end["answer"]) == ("step limit", limit, None)
    assert len(failed(end["history"])) == limit


# --- 02 blue mugs -----------------------------------------------------------------------------------


@both_loops
def test_02_blue_mugs_take_4_calls_3_tool_runs_1_error_and_8_entries(loop):
    model = RecordingModel(blue_mugs.model())
    end = loop(model, blue_mugs.TOOLS, blue_mugs.GOAL)
    assert blue_mugs.GOAL == "Which warehouse has more blue mugs?"
    assert (end["stopped"], end["steps"], len(model.replies)) == ("answered", 4, 4)
    assert (len(results(end["history"])), len(failed(end["history"])), len(end["history"])) == (3, 1, 8)
    assert results(end["history"])[0]["message"] == 'Unknown warehouse "North". Use "north" or "south".'
    counts = [result["blue_mugs"] for result in results(end["history"])[1:]]
    assert counts == [140, 95]
    assert [reply["input"]["warehouse"] for reply in model.replies[:3]] == ["North", "north", "south"]


def test_02_agentlib_counts_them_so_too():
    run = run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL)
    assert (run.steps, run.tool_runs, run.errors, len(run.history)) == (4, 3, 1, 8)


@both_loops
def test_02_with_2_steps_there_is_no_answer_and_5_entries(loop):
    end = loop(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL, 2)
    assert (end["stopped"], end["steps"], end["answer"], len(end["history"])) == ("step limit", 2, None, 5)


@both_loops
@pytest.mark.parametrize(("limit", "stopped"), [(3, "step limit"), (4, "answered"), (5, "answered")])
def test_02_4_steps_are_just_enough(loop, limit, stopped):
    assert loop(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL, limit)["stopped"] == stopped


def test_02_without_the_try_the_same_run_crashes():
    source = inspect.getsource(handwritten.run_agent)
    fragile = source.replace("        try:\n            result", "        result").replace(
        "        except Exception as problem:\n"
        '            result = {"error": type(problem).__name__, "message": str(problem)}\n',
        "",
    )
    assert "try" not in fragile
    names = {}
    exec(fragile, names)
    with pytest.raises(ValueError, match='Unknown warehouse "North"'):
        names["run_agent"](blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL)


# --- 03 stop rules ----------------------------------------------------------------------------------


def test_03_the_limits_are_4_steps_and_20_coins():
    assert (shop.MAX_STEPS, shop.BUDGET_COINS) == (4, 20)


@both_loops
@pytest.mark.parametrize(("order", "steps", "spent"), [("1042", 2, 4), ("1043", 3, 9), ("1044", 3, 9)])
def test_03_orders_that_are_there_are_answered_within_both_limits(loop, order, steps, spent):
    end = loop(shop.model(), shop.TOOLS, shop.GOALS[order], shop.MAX_STEPS)
    assert (end["stopped"], end["steps"]) == ("answered", steps)
    assert coins(loop, shop.model(), shop.TOOLS, shop.GOALS[order], shop.MAX_STEPS)[-1] == spent


@both_loops
def test_03_order_1099_costs_1_4_9_16_coins_and_ends_at_the_step_limit(loop):
    goal = shop.GOALS["1099"]
    end = loop(shop.model(), shop.TOOLS, goal, shop.MAX_STEPS)
    assert (end["stopped"], end["steps"], end["answer"]) == ("step limit", 4, None)
    assert coins(loop, shop.model(), shop.TOOLS, goal, shop.MAX_STEPS) == [1, 4, 9, 16]
    assert "1099 was not found. Please check the number." in shop.honest_message(end["history"])


@both_loops
@pytest.mark.parametrize(("limit", "spent"), [(3, 9), (8, 64)])
def test_03_order_1099_with_other_limits(loop, limit, spent):
    assert coins(loop, shop.model(), shop.TOOLS, shop.GOALS["1099"], limit)[-1] == spent == coins_after(limit)


def test_03_both_limits_would_break_before_call_5_and_the_step_limit_is_looked_at_first():
    run = run_agent(shop.model(), shop.TOOLS, shop.GOALS["1099"], 4, stops=stops.CoinBudget(20))
    assert (run.stopped, run.steps, run.coins, len(run.history)) == ("step limit", 4, 16, 9)
    assert run.coins + len(run.history) > 20
    run = run_agent(shop.model(), shop.TOOLS, shop.GOALS["1099"], 5, stops=stops.CoinBudget(20))
    assert run.stopped == "coin budget"


def test_03_runs_a_b_and_c():
    a = run_agent(shop.model(), shop.TOOLS, shop.GOALS["1044"], 3, stops=stops.CoinBudget(20))
    b = run_agent(shop.model(), shop.TOOLS, shop.GOALS["1099"], 3, stops=stops.CoinBudget(20))
    c = run_agent(shop.model(), shop.TOOLS, shop.GOALS["1099"], 1_000, stops=stops.CoinBudget(20))
    ends = [(run.stopped, run.steps, run.coins) for run in (a, b, c)]
    assert ends == [("answered", 3, 9), ("step limit", 3, 9), ("coin budget", 4, 16)]


def test_03_the_hardest_good_job_needs_3_calls_and_one_is_spare():
    steps = [
        run_agent(shop.model(), shop.TOOLS, shop.GOALS[order]).steps for order in ("1042", "1043", "1044")
    ]
    assert max(steps) + 1 == shop.MAX_STEPS


@both_loops
@pytest.mark.parametrize(
    ("limit", "stopped", "steps", "known"), [(10, "answered", 7, 4), (4, "step limit", 4, 3)]
)
def test_03_capitals(loop, limit, stopped, steps, known):
    end = loop(capitals.model(), capitals.TOOLS, capitals.GOAL, limit)
    assert (end["stopped"], end["steps"]) == (stopped, steps)
    assert len(capitals.known_populations(end["history"])) == known
    assert len(capitals.POPULATIONS) == 4
    assert (end["answer"] or "None").startswith("New Delhi" if stopped == "answered" else "None")


def test_03_the_loop_of_the_lesson_says_the_same_of_each_order_and_of_runs_a_b_and_c():
    def ends(order, max_steps=4):
        run = by_hand.limited_loop(shop.model(), shop.TOOLS, shop.GOALS[order], max_steps, 20)
        return run["stopped"], run["steps"], run["coins"]

    assert [ends(order) for order in ("1042", "1043", "1044", "1099")] == [
        ("answered", 2, 4), ("answered", 3, 9), ("answered", 3, 9), ("step limit", 4, 16)
    ]  # fmt: skip
    assert [ends("1099", 3), ends("1099", 99)] == [("step limit", 3, 9), ("budget limit", 4, 16)]


def test_03_a_stuck_run_burns_16_81_and_144_coins_with_limits_of_4_9_and_12():
    runs = [run_agent(shop.model(), shop.TOOLS, shop.GOALS["1099"], limit) for limit in (4, 9, 12)]
    assert [run.coins for run in runs] == [16, 81, 144]


def test_03_of_200_messages_47_are_stopped_and_with_hints_none():
    orders = shop.messages(200)
    plain = [run_agent(shop.model(), shop.TOOLS, shop.GOALS[order], 4).stopped for order in orders]
    hinted = [run_agent(shop.model(), shop.HINTED_TOOLS, shop.GOALS[order], 4).stopped for order in orders]
    assert (plain.count("step limit"), plain.count("answered"), set(hinted)) == (47, 153, {"answered"})


def test_03_a_person_stops_a_run_in_step_3_and_every_request_has_its_result():
    run = shop.cancelled_in_step_3()
    assert (run.stopped, run.tool_runs, len(run.history)) == ("cancelled", 2, 7)


# --- 04 train status --------------------------------------------------------------------------------


@both_loops
def test_04_a_known_train_is_answered(loop):
    assert trains.GOAL == "Is train 12345 running late?"
    end = loop(trains.model(), trains.TOOLS, trains.GOAL, trains.MAX_STEPS)
    assert (end["stopped"], end["steps"]) == ("answered", 2)
    assert "running 20 minutes late" in end["answer"]
    assert trains.train_status("22222") == "on time"


@both_loops
def test_04_the_error_about_an_unknown_train_reaches_the_model_as_words_and_nothing_crashes(loop):
    end = loop(trains.model(), trains.TOOLS, trains.GOALS["unknown"], trains.MAX_STEPS)
    assert end["stopped"] == "answered"
    assert "Check the 5 digits" in failed(end["history"])[0]["message"]
    assert "Check the 5 digits" in end["answer"]


def test_04_the_looping_model_is_stopped_at_its_third_identical_call_before_the_step_limit():
    assert trains.MAX_STEPS == 6
    rule = stops.RepeatedCall(times=3)
    run = run_agent(
        trains.looping_model(), trains.TOOLS, trains.GOALS["unknown"], trains.MAX_STEPS, stops=rule
    )
    assert (run.stopped, run.steps, run.tool_runs) == ("repeated call", 3, 2)
    assert run.history[-2]["input"] == {"number": "99999"}


@both_loops
def test_04_without_the_rule_it_goes_on_to_the_step_limit(loop):
    end = loop(trains.looping_model(), trains.TOOLS, trains.GOALS["unknown"], trains.MAX_STEPS)
    assert (end["stopped"], end["steps"]) == ("step limit", 6)


@both_loops
def test_04_three_trains_are_normal_work(loop):
    options = {"stops": stops.RepeatedCall(3)} if loop is by_agentlib else {}
    end = loop(trains.model(), trains.TOOLS, trains.GOALS["three"], trains.MAX_STEPS, **options)
    assert (end["stopped"], end["steps"]) == ("answered", 4)


def test_04_the_loop_of_the_lesson_has_three_stops():
    def ends(model, goal="unknown", **more):
        run = by_hand.three_stops(model, trains.TOOLS, trains.GOALS[goal], **more)
        return run["stopped"], run["steps"]

    assert ends(trains.model(), "known") == ends(trains.model()) == ("answered", 2)
    assert ends(trains.model(), "three") == ("answered", 4)
    assert ends(trains.looping_model()) == ("repeated call", 3)
    assert ends(trains.looping_model(), max_steps=2) == ("step limit", 2)


def test_04_polling_ends_too_early_where_requests_alone_are_looked_at():
    looks = [9, 6, 3, 0]
    mine = by_hand.three_stops(trains.waiting_model(4), trains.platform_clock(looks), trains.WAIT)
    rule = stops.RepeatedCall(times=3)
    its = run_agent(trains.waiting_model(4), trains.platform_clock(looks), trains.WAIT, stops=rule)
    assert (mine["stopped"], mine["steps"]) == ("repeated call", 3)
    assert (its.stopped, its.steps) == ("answered", 5)


def test_04_six_steps_read_252_tokens_or_75_102_and_a_stopped_run_keeps_its_work():
    assert [trains.read_in_six_steps(size)[-1] for size in (40, 20_000)] == [252, 75_102]
    stopped = trains.stopped_by_a_person()
    assert (stopped.stopped, stopped.tool_runs, len(stopped.history)) == ("cancelled", 2, 5)


# --- 05 what each step costs ------------------------------------------------------------------------


def test_05_the_closed_forms():
    read = [tokens_read_total(*of) for of in ((20, 500), (5, 50_000), (200, 500))]
    assert read == [105_000, 750_000, 10_050_000]


def test_05_twice_the_calls_read_3_9_times_as_much():
    assert tokens_read_total(40, 500) == 410_000
    assert round(410_000 / 105_000, 1) == 3.9


def test_05_three_fields_of_a_hundred_and_the_log_in_three_ways():
    three = memory.trimmed(long_runs.order, 200, keep=["number", "status", "due"])
    read = [long_runs.look_up_three(one).usage.input_tokens for one in (long_runs.order, three)]
    assert read == [3_600, 126]
    runs = long_runs.same_log_three_ways()
    assert [run.usage.input_tokens for run in runs.values()] == [105_000, 30_140, 33_192]


# --- 06 stuck loops ---------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [2, 3, 4])
@pytest.mark.parametrize("times", [2, 3])
def test_06_a_cycle_of_calls_is_a_loop_too_and_both_rules_see_it(length, times):
    def cycle():
        return ScriptedModel([ask("find_payment", invoice=number) for number in range(length)] * 10)

    tools = {"find_payment": lambda invoice: f"Nothing for {invoice}."}
    by_result = run_agent(cycle(), tools, "?", 30, stops=stops.NoProgress(times))
    assert (by_result.stopped, by_result.steps) == ("no progress", length + times)
    by_call = run_agent(cycle(), tools, "?", 30, stops=stops.RepeatedCall(times))
    assert (by_call.stopped, by_call.steps) == ("repeated call", length * (times - 1) + 1)


# --- 07 and 08: what a description does, what gets out ------------------------------------------------


@pytest.mark.parametrize(
    ("hours", "system", "told"),
    [
        (choosing.vague_hours, "", False),
        (choosing.opening_hours, "", True),
        (choosing.vague_hours, "Do not use search_web.", True),
    ],
)
def test_07_one_model_goes_by_the_description_and_by_the_system_message(hours, system, told):
    tools = {"opening_hours": hours, "search_web": choosing.search_web}
    run = run_agent(choosing.chooser(tools, system), tools, choosing.GOAL)
    assert (choosing.HOURS in run.answer) is told


def test_08_what_gets_out_with_no_wall_with_each_and_with_both():
    tools = list(poisoned.kinds)
    walls = {"approve": may_run}, {"allowed": may_open}, {"approve": may_run, "allowed": may_open}
    taken = tools, tools[1:], [tools[0], *tools[2:]], [*tools[:2], tools[3]], tools[:2]
    assert [poisoned.measure(names) for names in taken] == [(28, 100), (0, 100), (0, 0), (15, 0), (0, 0)]
    assert [poisoned.measure(**wall) for wall in walls] == [(15, 100), (13, 100), (0, 100)]


# --- 11 judge by outcomes -----------------------------------------------------------------------------


def test_11_24_of_40_runs_and_194_of_320_are_good_and_4_took_the_exact_path(tmp_path):
    paths = []
    case = note_taking.note_case(good_outcome, str(tmp_path), paths)
    report = evaluate(case, note_taking.noisy, runs=320, seed=900)
    passed = [result.passed for result in report.results]
    assert (sum(passed[:40]), sum(passed), paths[:40].count(note_taking.EXACT_PATH)) == (24, 194, 4)


def test_11_the_judge_counts_6_for_5_and_errs_in_5_of_10():
    texts, labels = zip(*note_taking.LABELLED, strict=True)
    verdicts = [note_taking.hasty_judge(text) for text in texts]
    assert (sum(verdicts), sum(labels), judge_errors(verdicts, labels)) == (6, 5, (3, 2))


# --- the two loops are the same idea ----------------------------------------------------------------

JOBS = [
    *[(lab, lab.model, lab.TOOLS, lab.GOAL) for lab in (weather, blue_mugs, shop, capitals, trains)],
    *[
        (shop, shop.model, tools, goal)
        for tools in (shop.TOOLS, shop.HINTED_TOOLS)
        for goal in shop.GOALS.values()
    ],
    *[(trains, trains.model, trains.TOOLS, goal) for goal in trains.GOALS.values()],
    (trains, trains.looping_model, trains.TOOLS, trains.GOAL),
    (weather, weather.looping_model, weather.TOOLS, weather.GOAL),
]


@pytest.mark.parametrize(("lab", "model", "tools", "goal"), JOBS)
@pytest.mark.parametrize("max_steps", [1, 3, 10])
def test_both_loops_end_in_the_same_way_with_the_same_answer_after_the_same_steps(
    lab, model, tools, goal, max_steps
):
    one, other = (loop(model(), tools, goal, max_steps) for loop in LOOPS.values())
    for key in ("answer", "stopped", "steps"):
        assert one[key] == other[key]
    assert len(one["history"]) == len(other["history"])
    good = [[r for r in results(end["history"]) if r not in failed(end["history"])] for end in (one, other)]
    assert good[0] == good[1]
