"""Stop reasons and stop rules: each at its exact boundary, and which decides when several would stop."""

import copy
import json
import pickle
import threading

import pytest

from agentlib import answer, ask, ask_together, run_agent, stops, tool
from agentlib.costs import Price, estimate_tokens
from agentlib.models import LoopingModel, ScriptedModel
from agentlib.stops import (
    Cancelled,
    CoinBudget,
    CostBudget,
    Deadline,
    NoProgress,
    RepeatedCall,
    StepLimit,
    StopReason,
    StopRule,
    TokenBudget,
    ToolCalled,
    TooManyErrors,
    Verdict,
)
from tests.clock import Clock
from tests.invariants import KNOWN_REASONS, assert_sound

PRICE = Price(1.0, 2.0, "made up", "2025-11-03")


def counter():
    """Make a tool that gives another number at each call."""
    numbers = iter(range(1_000))

    @tool(name="count")
    def count(**given) -> int:
        """Count on."""
        return next(numbers)

    return count


def same(**given) -> str:
    """Say the same each time."""
    return "the same"


def looped(rules, max_steps=50, **options):
    """A run whose model asks for the same tool again and again."""
    return run_agent(LoopingModel("same"), [same], "Goal", max_steps, stops=rules, **options)


def scripted(rules, *script, tools=(same,), **options):
    return run_agent(ScriptedModel(script), tools, "Goal", stops=rules, **options)


def results(run):
    return [entry["result"] for entry in run.history if entry["role"] == "tool"]


def codes(run):
    return [result["error"] if isinstance(result, dict) else "ran" for result in results(run)]


# --- reasons ----------------------------------------------------------------------------------------


def test_a_reason_is_equal_to_its_text_whatever_its_detail():
    reason = StopReason("step limit", "4 of 4 steps used")
    assert reason == "step limit" == stops.STEP_LIMIT
    assert reason in {"step limit": 1}
    assert (str(reason), reason.detail, f"{reason}") == ("step limit", "4 of 4 steps used", "step limit")
    assert json.dumps({"stopped": reason}) == '{"stopped": "step limit"}'


@pytest.mark.parametrize(
    "take", [copy.copy, copy.deepcopy, lambda reason: pickle.loads(pickle.dumps(reason))]
)
def test_a_copied_reason_keeps_its_detail(take):
    taken = take(StopReason("deadline", "60 s are over"))
    assert (taken, taken.detail, type(taken)) == ("deadline", "60 s are over", StopReason)


def test_the_reasons_are_the_documented_ones():
    own = {value for name, value in vars(stops).items() if isinstance(value, StopReason)}
    assert own == KNOWN_REASONS


# --- arguments of rules -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [StepLimit, TokenBudget, CoinBudget, TooManyErrors, NoProgress, RepeatedCall]
)
@pytest.mark.parametrize("wrong", [0, -1, 2.5, "3", True, None])
def test_a_limit_is_a_whole_number(make, wrong):
    with pytest.raises(ValueError, match=r"is a whole number from [12] up, but was"):
        make(wrong)


def test_a_call_is_a_repeat_from_the_second_time_on():
    assert RepeatedCall(2).times == 2
    with pytest.raises(ValueError, match="times is a whole number from 2 up, but was 1"):
        RepeatedCall(1)
    with pytest.raises(ValueError, match='then is "stop" or "note", but was "go on"'):
        RepeatedCall(3, then="go on")


@pytest.mark.parametrize("wrong", [0, -1, "3", True, None, float("nan"), float("inf")])
def test_seconds_and_money_are_numbers_above_0(wrong):
    with pytest.raises(ValueError, match="seconds is a number above 0"):
        Deadline(wrong)
    with pytest.raises(ValueError, match="usd is a number above 0"):
        CostBudget(wrong, PRICE)


def test_a_cost_budget_needs_a_price_and_a_cancel_something_that_can_be_set():
    with pytest.raises(TypeError, match=r"price is an agentlib\.costs\.Price, but was 3"):
        CostBudget(1.0, 3)
    with pytest.raises(TypeError, match=r"event is something with is_set\(\)"):
        Cancelled("now")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (None, "stops is a list of stop rules, but was None"),
        (5, "stops is a list of stop rules"),
        ("step limit", "stops is a list of stop rules"),
        ([5], "A stop rule is a StopRule or a function of the run so far, but was 5"),
        ([RepeatedCall], r"RepeatedCall is a class; a rule is made with its limits: RepeatedCall\(...\)"),
        (RepeatedCall, "."),
    ],
)
def test_what_is_no_rule_is_refused_before_any_call(wrong, words):
    model = ScriptedModel([answer("done")])
    with pytest.raises(TypeError, match=words):
        run_agent(model, {}, "Goal", stops=wrong)
    assert model.calls == 0


@pytest.mark.parametrize("rules", [CoinBudget(3), (CoinBudget(3),), [CoinBudget(3)], iter([CoinBudget(3)])])
def test_one_rule_or_any_collection_of_rules_will_do(rules):
    assert looped(rules).stopped == "coin budget"


# --- limits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("budget", "steps"), [(1, 1), (3, 1), (4, 2), (8, 2), (9, 3), (15, 3), (16, 4)])
def test_a_coin_budget_allows_the_call_that_just_fits(budget, steps):
    run = looped(CoinBudget(budget))
    assert (run.stopped, run.steps, run.coins) == ("coin budget", steps, steps**2)


def test_a_token_budget_counts_what_the_next_call_would_read():
    free = run_agent(LoopingModel("same"), [same], "Goal", 3)
    used, would_read = free.usage.total_tokens, estimate_tokens(free.history)
    fits = looped(TokenBudget(used + would_read))
    over = looped(TokenBudget(used + would_read - 1))
    assert (fits.stopped, fits.steps) == ("token budget", 4)
    assert (over.stopped, over.steps) == ("token budget", 3)
    assert f"the next call would read {would_read}" in over.stopped.detail


def test_a_reply_s_own_usage_counts_towards_the_token_budget():
    model = LoopingModel("same")
    model.reply["usage"] = {"input_tokens": 900, "output_tokens": 90}
    run = run_agent(model, [same], "Goal", 50, stops=TokenBudget(990))
    assert (run.stopped, run.steps, run.usage.total_tokens) == ("token budget", 1, 990)


@pytest.mark.parametrize(("seconds", "steps"), [(9, 0), (10, 0), (10.5, 1)])
def test_a_deadline_is_over_at_its_very_second(seconds, steps):
    clock = Clock(step=10)
    run = looped(Deadline(seconds), clock=clock)
    assert (run.stopped, run.steps) == ("deadline", steps)


def test_the_earliest_of_several_deadlines_counts():
    clock = Clock(step=1)
    run = looped([Deadline(99), Deadline(1)], clock=clock)
    assert (run.stopped, run.steps, run.stopped.detail) == ("deadline", 0, "1 s are over")


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_too_many_errors_are_counted_whatever_came_between_them(limit):
    script = [ask("nobody"), ask("same"), {"type": "odd"}, ask("same", n=1), ask("nobody", n=2)] * 2
    run = scripted(TooManyErrors(limit), *script, max_steps=50)
    assert (run.stopped, run.errors, run.steps) == ("too many errors", limit, {1: 1, 2: 3, 5: 8}[limit])


def test_tool_called_stops_after_the_batch_in_which_the_tool_ran():
    script = [ask_together(ask("same"), ask("count"), ask("same")), answer("never")]
    run = scripted(ToolCalled("count"), *script, tools=[same, counter()])
    assert (run.stopped, run.steps, run.tool_runs) == ("tool called", 1, 3)
    assert run.stopped.detail == "count has worked"


@pytest.mark.parametrize("request_", [ask("nobody"), {"type": "tool", "tool": "count", "input": 5}])
def test_a_tool_that_was_asked_for_and_did_not_run_was_not_called(request_):
    rules = [ToolCalled("count"), ToolCalled("nobody")]
    assert scripted(rules, request_, answer("done"), tools=[counter()]).stopped == "answered"


def test_a_refused_risky_tool_was_not_called():
    run = scripted(ToolCalled("same"), ask("same"), answer("done"), tools=[tool(same, risky=True)])
    assert run.stopped == "answered"


# --- ties -------------------------------------------------------------------------------------------

LIMITS = ["cancelled", "token budget", "coin budget", "cost budget", "deadline", "own reason"]


def tied_run(names, max_steps=50):
    """A run in which each of the named limits would stop before the second call, and none before that."""
    event = threading.Event()

    def look() -> str:
        """Look; after that the time is up, and a cancel is asked for."""
        event.set()
        return "seen"

    def model(history):
        return {**ask("look"), "usage": {"input_tokens": 10, "output_tokens": 10}}

    rules = {
        "cancelled": Cancelled(event),
        "token budget": TokenBudget(20),
        "coin budget": CoinBudget(3),
        "cost budget": CostBudget(30e-6, PRICE),
        "deadline": Deadline(0.5),
        "own reason": lambda run: "own reason" if run.steps else None,
    }
    stops = [rules[name] for name in names]
    return run_agent(model, [look], "Goal", max_steps, stops=stops, clock=lambda: float(event.is_set()))


@pytest.mark.parametrize("name", LIMITS)
def test_each_limit_of_the_next_tests_stops_before_the_second_call(name):
    run = tied_run([name])
    assert (run.stopped, run.steps, run.tool_runs) == (name, 1, 1)


@pytest.mark.parametrize("first", range(len(LIMITS)))
def test_if_several_limits_would_break_at_once_the_documented_order_decides(first):
    names = LIMITS[first:]
    assert tied_run(names).stopped == names[0]
    assert tied_run(names[::-1]).stopped == names[0]


def test_the_step_limit_comes_before_all_limits_but_a_cancel():
    assert tied_run(LIMITS[1:], max_steps=1).stopped == "step limit"
    assert tied_run(LIMITS, max_steps=1).stopped == "cancelled"


def test_of_several_functions_the_first_that_was_given_decides():
    rules = [lambda run: None, lambda run: "first", lambda run: "second"]
    assert looped(rules).stopped == "first"


# --- functions of the run so far --------------------------------------------------------------------


def test_a_function_sees_the_run_so_far_before_each_call():
    seen = []

    def look(run):
        seen.append((run.steps, run.tool_runs, run.errors, run.coins, run.next_entries, len(run.history)))
        assert run.goal == "Goal"
        assert run.next_tokens == estimate_tokens(run.history)
        return "enough tools" if run.tools_ran["same"] == 2 else None

    script = [ask("same"), ask("nobody"), ask("same", n=1), answer("never")]
    run = scripted(look, *script)
    assert seen == [(0, 0, 0, 0, 1, 1), (1, 1, 0, 1, 3, 3), (2, 1, 1, 4, 5, 5), (3, 2, 1, 9, 7, 7)]
    assert (run.stopped, run.steps) == ("enough tools", 3)


def test_a_function_may_look_at_the_seconds():
    assert looped(lambda run: "slow" if run.seconds > 5 else None, clock=Clock(1)).stopped == "slow"


@pytest.mark.parametrize("reason", [True, 5, "", "  ", ["enough"], False, 0])
def test_a_rule_that_gives_no_reason_as_text_ends_the_run_as_a_fatal_error(reason):
    run = looped(lambda run: reason)
    assert (run.stopped, run.steps) == ("fatal error", 0)
    assert "A stop rule gives a reason as text, or None to go on, but gave" in run.stopped.detail
    assert_sound(run)


def test_a_rule_that_raises_ends_the_run_with_its_words_and_the_work_so_far():
    def rule(run):
        if run.steps == 2:
            raise KeyError("price")

    run = looped(rule)
    assert (run.stopped, run.stopped.detail) == ("fatal error", "KeyError: 'price'")
    assert (run.steps, run.tool_runs) == (2, 2)
    assert_sound(run)


def test_a_rule_class_of_ones_own_can_look_at_all_four_moments():
    moments = []

    class Own(StopRule):
        def before_call(self, run):
            moments.append("before call")
            return "own" if run.steps == 2 else None

        def on_request(self, calls):
            moments.append([call.tool for call in calls])

        def before_tool(self, run):
            moments.append("before tool")

        def on_result(self, call, result_text, repeatable):
            moments.append((call.tool, result_text, repeatable))

    run = looped(Own())
    step = ["before call", ["same"], "before tool", ("same", '"the same"', False)]
    assert (moments, run.stopped) == ([*step, *step, "before call"], "own")


def test_a_rule_of_ones_own_may_forbid_a_tool_run():
    class NotTwice(StopRule):
        def before_tool(self, run):
            return "one is enough" if run.tool_runs else None

    run = run_agent(ScriptedModel([ask_together(ask("same"), ask("same"))]), [same], "Goal", stops=NotTwice())
    assert (run.stopped, run.tool_runs, codes(run)) == ("one is enough", 1, ["ran", "not_run"])
    assert_sound(run, ["one is enough"])


def test_a_verdict_of_ones_own_refuses_a_whole_reply():
    class NoWriting(StopRule):
        def on_request(self, calls):
            if any(call.tool == "write" for call in calls):
                return Verdict(frozenset(), stop="writing")
            return None

    script = [ask_together(ask("same"), ask("write"))]
    run = scripted(NoWriting(), *script)
    assert (run.stopped, type(run.stopped), run.tool_runs) == ("writing", StopReason, 0)
    assert_sound(run, ["writing"])


# --- repeated calls ---------------------------------------------------------------------------------


@pytest.mark.parametrize("times", [2, 3, 4])
def test_the_request_number_times_is_not_run(times):
    run = run_agent(LoopingModel("same", n=1), [same], "Goal", 50, stops=RepeatedCall(times))
    assert (run.stopped, run.steps, run.tool_runs) == ("repeated call", times, times - 1)
    assert codes(run) == ["ran"] * (times - 1) + ["not_run"]
    assert "same" in run.stopped.detail
    assert_sound(run)


def test_the_order_of_keys_makes_no_other_call():
    script = [ask("same", a=1, b={"c": 2, "d": 3}), ask("same", b={"d": 3, "c": 2}, a=1), ask("same", a=1)]
    run = run_agent(ScriptedModel([*script, script[0]]), [same], "Goal", stops=RepeatedCall(3))
    assert (run.stopped, run.steps, run.tool_runs) == ("repeated call", 4, 3)


def test_other_calls_in_between_reset_nothing():
    script = [ask("same"), ask("same", n=1), ask("nobody"), ask("same"), answer(""), ask("same")]
    run = scripted(RepeatedCall(3), *script)
    assert (run.stopped, run.steps) == ("repeated call", 6)


def test_a_different_result_starts_the_count_of_that_call_anew_and_of_no_other():
    state = iter(["old", "old", "new", "new", "new", "never"])
    script = [ask("state"), ask("same"), ask("state"), ask("state"), ask("same"), ask("state"), ask("state")]
    tools = {"state": lambda: next(state), "same": same}
    run = scripted(RepeatedCall(3), *script[:2], *script[5:], tools=tools)
    assert (run.stopped, run.steps, run.tool_runs) == ("repeated call", 4, 3)
    state = iter(["old", "new", "new", "new"])
    run = run_agent(LoopingModel("state"), {"state": lambda: next(state)}, "Goal", stops=RepeatedCall(3))
    assert (run.stopped, run.steps, results(run)[:3]) == ("repeated call", 4, ["old", "new", "new"])


def test_healthy_polling_is_left_alone_since_each_result_differs():
    run = run_agent(LoopingModel("count"), [counter()], "Goal", 30, stops=RepeatedCall(3))
    assert (run.stopped, run.tool_runs) == ("step limit", 30)


def test_a_tool_declared_repeatable_is_left_alone():
    again = tool(same, repeatable=True)
    run = run_agent(LoopingModel("same"), [again], "Goal", 10, stops=RepeatedCall(2))
    assert (run.stopped, run.tool_runs) == ("step limit", 10)


@pytest.mark.parametrize("looping", [LoopingModel("nobody"), LoopingModel("same", n={1})])
def test_the_same_error_is_the_same_result(looping):
    run = run_agent(looping, [same], "Goal", stops=RepeatedCall(3))
    assert (run.stopped, run.steps, run.errors) == ("repeated call", 3, 2)


def test_in_a_batch_with_a_repeat_nothing_is_run_and_every_call_gets_a_result():
    script = [ask("same"), ask("same"), ask_together(ask("count"), ask("same"), ask("count", n=2))]
    run = scripted(RepeatedCall(3), *script, tools=[same, counter()])
    assert (run.stopped, run.tool_runs) == ("repeated call", 2)
    assert codes(run) == ["ran", "ran", "not_run", "not_run", "not_run"]
    messages = [result["message"] for result in results(run)[2:]]
    assert "another request in the same reply was a repeat" in messages[0]
    assert "Not run again" in messages[1]
    assert messages[2] == messages[0]
    assert_sound(run)


def test_with_a_note_the_run_goes_on_and_a_model_that_heeds_it_answers():
    def model(history):
        if history[-1]["role"] == "user" and len(history) > 1:
            return answer("It cannot be found.")
        return ask("same")

    run = run_agent(model, [same], "Goal", stops=RepeatedCall(3, then="note"))
    assert (run.stopped, run.steps, run.tool_runs, run.errors) == ("answered", 4, 2, 0)
    assert codes(run) == ["ran", "ran", "not_run"]
    assert "Not run again" in run.history[-3]["result"]["message"]
    assert "You have asked same the very same thing before" in run.history[-2]["text"]


@pytest.mark.parametrize("times", [2, 3])
def test_after_the_note_the_call_is_refused_without_another_and_at_times_more_the_run_stops(times):
    run = looped(RepeatedCall(times, then="note"))
    assert (run.stopped, run.steps, run.tool_runs) == ("repeated call", 2 * times, times - 1)
    assert codes(run) == ["ran"] * (times - 1) + ["not_run"] * (times + 1)
    notes = [number for number, entry in enumerate(run.history) if entry["role"] == "user"]
    assert notes == [0, 2 * times + 1]
    assert f"the same request came {2 * times} times" in run.stopped.detail
    assert_sound(run)


def test_each_call_has_its_own_note():
    one, two = ask("same", n=1), ask("same", n=2)
    script = [one, one, one, two, two, ask_together(one, two), answer("done")]
    run = scripted(RepeatedCall(3, then="note"), *script)
    notes = [entry["text"] for entry in run.history if entry["role"] == "user"]
    assert (run.stopped, len(notes), run.tool_runs) == ("answered", 3, 4)


def test_the_step_limit_stands_behind_the_note():
    run = looped(RepeatedCall(3, then="note"), 4)
    assert (run.stopped, run.steps, run.tool_runs) == ("step limit", 4, 2)


def test_a_rule_used_for_a_second_run_begins_anew():
    for rule in (RepeatedCall(3), NoProgress(2)):
        first = looped(rule)
        second = looped(rule)
        assert (first.stopped, first.steps) == (second.stopped, second.steps) != ("step limit", 50)


# --- no progress ------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [1, 2, 3, 5])
def test_no_progress_stops_after_so_many_steps_with_nothing_new(steps):
    run = looped(NoProgress(steps))
    assert (run.stopped, run.steps) == ("no progress", 1 + steps)
    assert run.stopped.detail == f"nothing new in the last {steps} steps"
    assert_sound(run)


def test_one_new_result_makes_a_step_new():
    script = [ask_together(ask("same"), ask("count"))] * 20
    run = run_agent(ScriptedModel(script), [same, counter()], "Goal", 20, stops=NoProgress(1))
    assert run.stopped == "step limit"


def test_the_count_begins_anew_after_a_new_result():
    states = iter(["a", "a", "a", "b", "a", "b", "a", "never"])
    run = run_agent(LoopingModel("state"), {"state": lambda: next(states)}, "Goal", 50, stops=NoProgress(3))
    assert (run.stopped, run.steps) == ("no progress", 7)


def test_errors_are_results_too_and_new_ones_are_new():
    script = [ask("nobody", n=n) for n in range(9)]
    run = scripted(NoProgress(2), *script)
    assert (run.stopped, run.steps) == ("no progress", 3)
    script = [ask(f"nobody {n}") for n in range(9)]
    run = scripted(NoProgress(2), *script, max_steps=9)
    assert run.stopped == "step limit"


def test_a_step_whose_reply_cannot_be_read_brings_nothing_new():
    run = run_agent(lambda history: "no dict", [same], "Goal", 50, stops=NoProgress(3))
    assert (run.stopped, run.steps, run.errors) == ("no progress", 3, 3)


def test_a_repeatable_tool_counts_as_progress():
    again = tool(same, repeatable=True)
    run = run_agent(LoopingModel("same"), [again], "Goal", 10, stops=NoProgress(1))
    assert (run.stopped, run.tool_runs) == ("step limit", 10)
