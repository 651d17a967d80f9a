"""The figures of the lessons; in 01 to 06 agentlib's loop and hand-written ones bring them out alike."""

import inspect
import json

import pytest

from agentlib import ask, compare, memory, replay, run_agent, stops
from agentlib.costs import Price, coins_after, tokens_read_total
from agentlib.course.quick_checks.lesson_08 import may_open, may_run
from agentlib.course.quick_checks.lesson_09 import sturdy_loop
from agentlib.course.quick_checks.lesson_10 import count_passages, note_is_right
from agentlib.course.quick_checks.lesson_11 import good_outcome, judge_errors
from agentlib.course.quick_checks.lesson_12 import chosen, known_before, pipeline
from agentlib.evals import evaluate
from agentlib.labs import (
    blue_mugs,
    by_hand,
    capitals,
    choosing,
    garden,
    invoices,
    long_runs,
    note_taking,
    pipelines,
    poisoned,
    research,
    shop,
    stuck,
    trains,
    weather,
)
from agentlib.models import RecordingModel, ScriptedModel
from agentlib.watch import watch
from tests import handwritten
from tests.lesson_tasks import NOTEBOOKS


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


def test_06_a_slow_job_is_taken_for_a_repeat_unless_its_tool_is_repeatable():
    ends = []
    for repeatable in (False, True):
        job = stuck.print_job("10%", "40%", "40%", "40%", "ready", repeatable=repeatable)
        run = run_agent(stuck.patient, job, "Print it.", 20, stops=stops.RepeatedCall(3))
        ends.append((run.stopped, run.steps))
    assert ends == [("repeated call", 4), ("answered", 6)]


def test_06_which_guard_ends_which_stuck_run_in_which_step():
    guards = [stuck.three_alike, stuck.errors_in_a_row, stops.RepeatedCall(3), stops.NoProgress(3)]
    caught = [list(stuck.caught_in_step(guard).values()) for guard in [*guards, stops.TooManyErrors(5)]]
    assert caught == [
        [3, None, None, None, None],
        [None, None, None, None, 3],
        [3, 5, None, 5, None],
        [4, 5, 4, None, None],
        [None, None, None, 9, 5],
    ]


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


# --- 09 find the bugs ---------------------------------------------------------------------------------


def fragile_loop(model, tools, goal, max_steps=10):
    """The loop of lesson 09, with its four bugs."""
    history = [{"role": "user", "text": goal}]
    reply = model(history)
    while reply["type"] != "answer":
        result = tools[reply["tool"]](**reply["input"])
        history.append({"role": "tool", "result": result})
        reply = model(history)
    return reply["text"]


def test_09_the_fragile_loop_passes_its_demo_and_ends_four_scenarios_wrongly():
    assert fragile_loop(garden.demo(), garden.TOOLS, "?") == "The beans are at 31%: water them."
    ends = {
        name: watch(fragile_loop, make_model(), garden.TOOLS, garden.COMPARE, max_steps=4, max_calls=6)
        for name, make_model in garden.MODELS.items()
    }
    assert {name: run.stopped for name, run in ends.items()} == {
        "endless": "asked too often", "stumbling": "crashed", "comparing": "returned", "giving up": "returned"
    }  # fmt: skip
    assert ends["comparing"].replies()[-1]["text"] == "The roses are drier: 31%."  # it is the beans
    assert [entry["role"] for entry in ends["comparing"].histories()[-1]] == ["user", "tool", "tool"]


def test_09_the_mended_loop_ends_them_as_agentlib_does():
    ends = {}
    for name, make_model in garden.MODELS.items():
        mine = sturdy_loop(make_model(), garden.TOOLS, garden.COMPARE, max_steps=4)
        its = run_agent(make_model(), garden.TOOLS, garden.COMPARE, max_steps=4)
        assert (mine["answer"], mine["stopped"]) == (its.answer, its.stopped)
        ends[name] = mine["stopped"], mine["answer"]
    assert ends == {
        "endless": ("step limit", None),
        "stumbling": ("answered", "The beans are at 31%; the ferns have no sensor."),
        "comparing": ("answered", "The beans are drier: 31%."),
        "giving up": ("answered", "I could not find out."),
    }


def test_09_a_first_mend_that_returns_a_text_cannot_be_told_from_an_answer():
    told = [garden.with_limit(make(), garden.TOOLS, "?") for make in (garden.giving_up, garden.endless)]
    assert told == ["I could not find out."] * 2


@pytest.mark.parametrize(("loop", "percent"), [(fragile_loop, 64), (sturdy_loop, 100)])
def test_09_how_many_of_100_runs_get_through_if_one_call_in_ten_fails(loop, percent):
    assert garden.percent_answered(loop, 10) == percent


def test_09_by_formula_59_of_100_runs_of_five_calls_get_through():
    assert round(100 * 0.9**5) == 59


# --- 10 answered is not verified ------------------------------------------------------------------------


def research_loop(model, search, goal, max_steps=4):
    """The loop of lesson 10 in one piece, without the look at its limit."""
    history = [{"role": "user", "text": goal}]
    for _ in range(max_steps):
        history.append(model(history))
        if history[-1]["type"] == "answer":
            return {"stopped": "answered", "answer": history[-1]["text"], "history": history}
        history.append({"role": "tool", "result": search(**history[-1]["input"]), "id": history[-1]["id"]})
    return {"stopped": "step limit", "answer": None, "history": history}


def test_10_the_four_cases_bring_0_1_and_4_results_and_an_error_for_the_caller():
    ends = research.try_cases(research_loop)
    assert [(end.stopped.partition(":")[0], len(end.results)) for end in ends.values()] == [
        ("answered", 0), ("answered", 1), ("step limit", 4), ("ConnectionError", 0)
    ]  # fmt: skip
    assert ends["immediate answer"].answer == "At most three times, I believe."
    assert count_passages(ends["endless search"].results) == 3


def test_10_five_runs_say_answered_and_climb_1_2_2_3_and_4_rungs(tmp_path):
    tried = research.try_ladder(tmp_path)
    assert {one.run.stopped for one in tried.values()} == {"answered"}
    assert [one.rungs for one in tried.values()] == [1, 2, 2, 3, 4]
    assert [note_is_right(one.note) for one in tried.values()] == [False, False, False, True, True]
    lied, good = list(tried.values())[1].run, list(tried.values())[4].run
    assert compare(lied.trace, good.trace) == []  # nothing that a model reads tells them apart
    assert (good.steps, good.tool_runs) == (5, 4)


def test_10_a_replay_with_shorter_results_differs_from_step_1_on_in_11_events(tmp_path):
    trace = list(research.try_ladder(tmp_path).values())[4].run.trace
    assert compare(replay(trace).trace, trace) == []
    different = compare(trace, replay(trace, max_result_chars=100).trace)
    assert (len(different), different[0].step) == (11, 1)


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


# --- 12 when not to loop ------------------------------------------------------------------------------

B19, GUARD = invoices.B19, stops.RepeatedCall(times=2, then="note")


def test_12_the_pipeline_and_one_call_for_each_match_79_and_flag_1():
    lines = pipeline(B19.invoices, invoices.TOOLS)
    right = {f"{number} matched with {payment}" for number, payment in B19.right.items()}
    assert (len(lines), len(right), set(lines) - right) == (80, 79, {"B-19/009 flagged: no payment found"})
    judge = RecordingModel(invoices.model())
    assert pipelines.ask_once(judge, B19.invoices, invoices.TOOLS, chosen) == lines
    assert pipelines.used_by(judge)[:2] == (80, 8_112)
    assert judge.replies[8]["tool"] == "find_payment"  # for invoice 9 the model wants to look again


@pytest.fixture(scope="module")
def agents():
    def run(**options):
        return run_agent(invoices.model(), invoices.TOOLS, invoices.GOAL, max_steps=400, **options)

    return {"bare": run(), "guarded": run(stops=GUARD)}


def test_12_the_bare_agent_finishes_8_invoices_in_400_calls_and_the_guarded_one_all_in_242(agents):
    bare, guarded = agents["bare"], agents["guarded"]
    assert (bare.stopped, bare.answer, pipelines.used_by(bare)[:2]) == ("step limit", None, (400, 1_624_933))
    assert sum("matched with" in str(entry.get("result")) for entry in bare.history) == 8
    asked = [
        entry["input"] for entry in bare.history if entry.get("tool") == "find_payment" and "input" in entry
    ]
    assert asked.count({"invoice": "B-19/009"}) == 375
    assert (guarded.stopped, pipelines.used_by(guarded)[:2]) == ("answered", (242, 1_076_866))


def test_12_the_bill_is_4_cents_3_27_and_4_93_dollars_80_times_as_much(agents):
    price = Price(**json.loads((NOTEBOOKS / "example_price.json").read_text(encoding="utf-8")))
    judge = RecordingModel(invoices.model())
    pipelines.ask_once(judge, B19.invoices, invoices.TOOLS, chosen)
    usd = [price.usd(*pipelines.used_by(one)[1:]) for one in (judge, agents["guarded"], agents["bare"])]
    assert [round(one, 2) for one in usd] == [0.04, 3.27, 4.93]
    assert round(usd[1] / usd[0]) == 80


def test_12_of_the_invoices_99_percent_take_one_path_and_of_the_customers_40(agents):
    helped = [run_agent(shop.model(), shop.HINTED_TOOLS, goal, 4) for goal in shop.GOALS.values()]
    paths = [pipelines.paths_by_invoice(agents["guarded"]), [pipelines.path(run) for run in helped]]
    assert (len(paths[0]), len(set(paths[1]))) == (80, 4)
    shares = [known_before(one) for one in paths]
    assert [round(100 * share) for share in shares] == [99, 40]


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
