"""What every lab keeps to; and what must come out of shop, capitals and trains, by two loops."""

import inspect
from importlib import import_module
from pkgutil import iter_modules

import pytest

from agentlib import ask, ask_together, labs, run_agent, stops
from agentlib.labs import capitals, shop, trains
from agentlib.messages import exchanges
from agentlib.models import RecordingModel, ScriptedModel
from tests.handwritten import FAILURES, bare_loop

# Every module with a model; research and guards have a contract of their own.
LABS = {
    name: lab
    for name in sorted(module.name for module in iter_modules(labs.__path__))
    for lab in [import_module(f"agentlib.labs.{name}")]
    if hasattr(lab, "model")
}
LIMITS = {"max_steps": shop.MAX_STEPS, "stops": [stops.CoinBudget(shop.BUDGET_COINS)]}


failures = pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)


def results(history):
    return [entry["result"] for entry in history if "result" in entry]


# --- all labs ---------------------------------------------------------------------------------------

GOALS = [
    *[
        (lab, lab.TOOLS, goal)
        for lab in LABS.values()
        for goal in getattr(lab, "GOALS", {"": lab.GOAL}).values()
    ],
    *[(shop, shop.HINTED_TOOLS, goal) for goal in shop.GOALS.values()],
]


@pytest.mark.parametrize(("lab", "tools", "goal"), GOALS)
@pytest.mark.parametrize("max_steps", [1, 2, 4, 10])
def test_a_hand_written_loop_goes_the_same_way_as_agentlibs(lab, tools, goal, max_steps):
    by_hand = bare_loop(lab.model(), tools, goal, max_steps)
    run = run_agent(lab.model(), tools, goal, max_steps)
    assert (by_hand["answer"], by_hand["steps"]) == (run.answer, run.steps)
    assert by_hand["stopped"] == run.stopped
    assert len(by_hand["history"]) == len(run.history)


@pytest.mark.parametrize(
    ("lab", "tools", "goal"), [each for each in GOALS if not isinstance(each[0].model(), ScriptedModel)]
)
def test_each_model_remembers_nothing_between_calls(lab, tools, goal):
    seen = RecordingModel(lab.model())
    run_agent(seen, tools, goal, max_steps=5)
    one_model = lab.model()
    backwards = [one_model(history) for history in reversed(seen.histories)]
    assert backwards == seen.replies[::-1]


@pytest.mark.parametrize("lab", LABS.values(), ids=LABS)
def test_each_lab_has_a_goal_tools_with_words_and_a_fresh_model(lab):
    assert isinstance(lab.GOAL, str)
    assert all(inspect.getdoc(function) for function in lab.TOOLS.values())
    assert lab.model() is not lab.model()
    assert "must come out" in lab.__doc__


def read(history):
    return [(done.tool, done.input, done.result) for done in exchanges(history)]


def test_requests_made_together_are_paired_with_their_results_in_order():
    together = ask_together(ask("capital_of", country="Japan"), ask("capital_of", country="India"))
    history = [{"role": "user", "text": "?"}, together, {"role": "tool", "result": "Tokyo"}]
    assert read(history) == [("capital_of", {"country": "Japan"}, "Tokyo")]
    history.append({"role": "tool", "result": "New Delhi"})
    assert read(history)[1:] == [("capital_of", {"country": "India"}, "New Delhi")]


def test_a_result_whose_request_was_never_recorded_is_passed_over():
    assert read([{"role": "user", "text": "?"}, {"role": "tool", "result": "Tokyo"}]) == []


# --- shop -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("order", "steps", "coins"), [("1042", 2, 4), ("1043", 3, 9), ("1044", 3, 9)])
def test_an_order_that_is_there_is_answered_within_both_limits(order, steps, coins):
    run = run_agent(shop.model(), shop.TOOLS, shop.GOALS[order], **LIMITS)
    assert (run.stopped, run.steps, run.coins, run.errors) == ("answered", steps, coins, 0)
    assert run.answer.startswith(f"Order {order}: ")


def test_order_1044_is_late_and_the_help_page_says_what_to_do():
    run = run_agent(shop.model(), shop.TOOLS, shop.GOAL, **LIMITS)
    assert results(run.history) == [
        "1044: Rain jacket, shipped, late, now due Monday 3 Nov",
        "Late parcels: a new one for free, or a full refund.",
    ]
    assert run.answer == f"Order {results(run.history)[0]}. {results(run.history)[1]}"


def test_order_1043_gets_its_new_address():
    run = run_agent(shop.model(), shop.TOOLS, shop.GOALS["1043"], **LIMITS)
    assert run.history[3]["tool"] == "change_address"
    assert run.history[3]["input"] == {"order_id": "1043", "address": "7 Mill Lane"}
    assert run.answer.endswith("Order 1043: goes to 7 Mill Lane.")


@pytest.mark.parametrize(("limit", "coins"), [(1, 1), (2, 4), (3, 9), (4, 16), (8, 64)])
def test_order_1099_is_asked_for_again_and_again_and_each_round_costs_more(limit, coins):
    run = run_agent(shop.model(), shop.TOOLS, shop.GOALS["1099"], max_steps=limit)
    assert (run.stopped, run.steps, run.coins, run.answer) == ("step limit", limit, coins, None)
    assert results(run.history) == [{"error": "not_found", "message": "No order 1099."}] * limit


def test_order_1099_is_stopped_before_call_5_by_the_step_limit_though_the_budget_would_break_too():
    run = run_agent(shop.model(), shop.TOOLS, shop.GOALS["1099"], **LIMITS)
    assert (run.stopped, run.steps, run.coins) == ("step limit", 4, 16)
    assert run.coins + len(run.history) > shop.BUDGET_COINS


def test_without_a_step_limit_the_budget_stops_order_1099_at_4_calls_and_16_coins():
    run = run_agent(shop.model(), shop.TOOLS, shop.GOALS["1099"], 100, stops=stops.CoinBudget(20))
    assert (run.stopped, run.steps, run.coins) == ("coin budget", 4, 16)


@failures
def test_an_error_without_a_hint_is_met_with_the_same_request_in_any_loop(failure):
    by_hand = bare_loop(shop.model(), shop.TOOLS, shop.GOALS["1099"], 6, failure)
    requests = by_hand["history"][1::2]
    assert (by_hand["stopped"], len(requests)) == ("step limit", 6)
    assert all(request["input"] == {"order_id": "1099"} for request in requests)


@failures
def test_a_hint_that_names_a_better_number_is_tried_and_the_question_is_answered(failure):
    goal = shop.GOALS["#1044"]
    assert bare_loop(shop.model(), shop.TOOLS, goal, 9, failure)["answer"] is None
    hinted = bare_loop(shop.model(), shop.HINTED_TOOLS, goal, 9, failure)
    assert (hinted["stopped"], hinted["steps"]) == ("answered", 4)
    assert hinted["answer"] == run_agent(shop.model(), shop.TOOLS, shop.GOAL).answer


@failures
def test_a_hint_to_tell_the_customer_ends_the_search_for_1099_at_once(failure):
    hinted = bare_loop(shop.model(), shop.HINTED_TOOLS, shop.GOALS["1099"], 9, failure)
    assert (hinted["steps"], hinted["answer"]) == (2, "I found no order 1099. Please check the number.")


def test_hinted_tools_change_nothing_for_orders_that_are_there():
    for order in shop.ORDERS:
        plain = run_agent(shop.model(), shop.TOOLS, shop.GOALS[order])
        hinted = run_agent(shop.model(), shop.HINTED_TOOLS, shop.GOALS[order])
        assert plain.trace == hinted.trace


@pytest.mark.parametrize("order", ["1099", "#1044"])
@failures
def test_the_honest_message_says_that_the_order_was_not_found_and_asks_to_check_the_number(order, failure):
    stuck = bare_loop(shop.model(), shop.TOOLS, shop.GOALS[order], 4, failure)
    assert shop.honest_message(stuck["history"]) == (
        f"Shop Helper: order {order} was not found. Please check the number."
    )


def test_the_honest_message_of_a_run_cut_off_on_its_way_gives_what_is_known_and_claims_no_more():
    cut_off = run_agent(shop.model(), shop.TOOLS, shop.GOAL, max_steps=1)
    message = shop.honest_message(cut_off.history)
    assert "not finished" in message
    assert "Rain jacket" in message
    assert "refund" not in message
    assert "nothing is known" in shop.honest_message(cut_off.history[:1])


def test_a_note_at_the_end_is_heeded_with_an_answer_from_what_is_known():
    stuck = run_agent(shop.model(), shop.TOOLS, shop.GOALS["1099"], 4, closing_call=True)
    assert (stuck.answer, stuck.closing) == ("I could not find that order.", True)
    assert stuck.stopped == "step limit"
    cut_off = run_agent(shop.model(), shop.TOOLS, shop.GOAL, 1, closing_call=True)
    assert cut_off.answer.startswith("What I know: Order 1044: Rain jacket")


def test_a_message_without_an_order_number_is_answered_with_a_question():
    run = run_agent(shop.model(), shop.TOOLS, "Hello?")
    assert (run.answer, run.tool_runs) == ("Which order is it, please?", 0)


def test_the_other_tools_refuse_what_they_do_not_know():
    with pytest.raises(Exception, match="No order 1099"):
        shop.change_address("1099", "7 Mill Lane")
    with pytest.raises(Exception, match="No help page"):
        shop.search_help_centre("opening hours")


# --- capitals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [7, 10])
def test_the_capital_is_found_in_7_steps(limit):
    run = run_agent(capitals.model(), capitals.TOOLS, capitals.GOAL, limit)
    assert (run.stopped, run.steps, run.tool_runs, run.errors) == ("answered", 7, 6, 0)
    assert (len(run.history), run.coins) == (14, 49)
    assert run.answer.startswith("New Delhi.")


def test_with_6_steps_everything_is_known_and_there_is_still_no_answer():
    run = run_agent(capitals.model(), capitals.TOOLS, capitals.GOAL, 6)
    assert (run.stopped, run.answer) == ("step limit", None)
    assert run.history[-1]["result"] == {"country": "India", "capital": "New Delhi"}


@pytest.mark.parametrize(("limit", "known"), [(1, 0), (2, 1), (4, 3), (5, 4), (7, 4)])
def test_partial_work_can_be_read_from_the_history(limit, known):
    for run in (
        run_agent(capitals.model(), capitals.TOOLS, capitals.GOAL, limit).history,
        bare_loop(capitals.model(), capitals.TOOLS, capitals.GOAL, limit)["history"],
    ):
        found = capitals.known_populations(run)
        assert len(found) == known
        assert found.items() <= capitals.POPULATIONS.items()


def test_a_closing_call_gives_what_is_known_and_names_what_is_missing():
    run = run_agent(capitals.model(), capitals.TOOLS, capitals.GOAL, 4, closing_call=True)
    assert (run.stopped, run.closing) == ("step limit", True)
    assert "3 of 4 populations" in run.answer
    assert run.answer.endswith("Missing: Nigeria, the capital.")


def test_an_unknown_country_is_an_error_that_says_where_the_names_are():
    for function in (capitals.population_of, capitals.capital_of):
        with pytest.raises(Exception, match=r'"india".*list_countries'):
            function("india")


# --- trains -----------------------------------------------------------------------------------------


def test_a_known_train_is_answered_in_2_steps():
    run = run_agent(trains.model(), trains.TOOLS, trains.GOAL, trains.MAX_STEPS)
    assert (run.answer, run.stopped, run.steps) == (
        "Train 12345: running 20 minutes late.", "answered", 2,
    )  # fmt: skip
    assert trains.train_status("22222") == "on time"


@failures
def test_the_error_about_an_unknown_train_reaches_the_model_as_words(failure):
    by_hand = bare_loop(trains.model(), trains.TOOLS, trains.GOALS["unknown"], 6, failure)
    assert (by_hand["stopped"], by_hand["steps"]) == ("answered", 2)
    assert "no train with number 99999. Check the 5 digits." in by_hand["answer"]


def test_the_looping_model_is_stopped_at_its_third_identical_call_before_the_step_limit():
    rule = stops.RepeatedCall(times=3)
    run = run_agent(trains.looping_model(), trains.TOOLS, trains.GOAL, trains.MAX_STEPS, stops=rule)
    assert (run.stopped, run.steps, run.tool_runs) == ("repeated call", 3, 2)
    assert run.steps < trains.MAX_STEPS


def test_a_request_comes_too_often_from_the_count_that_is_given():
    assert [trains.too_often(count, times=3) for count in (1, 2, 3, 4)] == [False, False, True, True]


def test_without_that_rule_only_the_step_limit_stops_the_looping_model():
    run = run_agent(trains.looping_model(), trains.TOOLS, trains.GOAL, trains.MAX_STEPS)
    assert (run.stopped, run.steps) == ("step limit", 6)


def test_three_different_trains_are_normal_work_for_the_repeated_call_rule():
    rule = stops.RepeatedCall(times=3)
    run = run_agent(trains.model(), trains.TOOLS, trains.GOALS["three"], trains.MAX_STEPS, stops=rule)
    assert (run.stopped, run.steps, run.tool_runs) == ("answered", 4, 3)
    assert "20 minutes late" in run.answer
    assert "on time" in run.answer
    assert "54321" in run.answer
