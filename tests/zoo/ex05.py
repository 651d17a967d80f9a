"""ex05: a budget of coins."""

from tests.zoo import right, wrong
from tests.zoo.ex02 import run_one, run_one_whatever_happens  # noqa: F401  in a patch

SORRY = "I could not finish this. Please ask again with more details."


@right
def both_limits_before_each_call(model, tools, goal, max_steps=4, budget_coins=20):
    history = [{"role": "user", "text": goal}]
    coins = steps = 0

    def end(answer, stopped):
        result = {"answer": answer, "steps": steps, "stopped": stopped, "coins": coins}
        if answer is None:
            result["message"] = f"{SORRY} ({stopped})"
        return result

    while True:
        cost = len(history)
        if steps >= max_steps:
            return end(None, "step limit")
        if coins + cost > budget_coins:
            return end(None, "budget limit")
        steps += 1
        reply = model(history)
        coins += cost
        if reply["type"] == "answer":
            return end(reply["text"], "answered")
        history += [reply, {"role": "tool", "result": run_one(tools, reply)}]


RIGHT = both_limits_before_each_call.functions[0]
MESSAGE = 'f"{SORRY} ({stopped})"'
STEPS = "if steps >= max_steps:"
OVER = "coins + cost > budget_coins"
BUDGET = f'if {OVER}:\n    return end(None, "budget limit")'
AT_STEPS = 'return end(None, "step limit")'
AT_BUDGET = 'return end(None, "budget limit")'
PAY = "coins += cost"
RUN = "run_one(tools, reply)"
BACK = "return result"


# --- wrong: what comes back

another_word_for_answered = wrong("loop", "letter by letter")(RIGHT, '"answered"', '"ok"')
coins_not_given_back = wrong("coins", 'no "coins"')(RIGHT, ', "coins": coins', "")
coins_missing_beside_an_answer = wrong("coins", "also the one with the answer")(
    RIGHT, BACK, f'if answer is not None:\n    del result["coins"]\n{BACK}'
)
coins_missing_at_the_step_limit = wrong("coins", "also the one at the step limit")(
    RIGHT, BACK, f'if stopped == "step limit":\n    del result["coins"]\n{BACK}'
)
coins_missing_at_the_budget_limit = wrong("budget", "also the one at the budget limit")(
    RIGHT, BACK, f'if stopped == "budget limit":\n    del result["coins"]\n{BACK}'
)
coins_with_a_point = wrong("coins", "costs what it reads")(RIGHT, ": coins}", ": float(coins)}")

# --- wrong: what is counted

refused_call_counted = wrong("budget", "A call that is not made costs nothing")(
    RIGHT, AT_BUDGET, f"{PAY}\n{AT_BUDGET}"
)
call_refused_by_both_limits_counted = wrong("step_limit", "A call that is not made costs nothing")(
    RIGHT, AT_STEPS, f"if {OVER}:\n    {PAY}\n{AT_STEPS}"
)
one_coin_a_call = wrong("coins", "costs what it reads")(RIGHT, PAY, "coins += 1")
counted_after_the_reply_was_recorded = wrong("coins", "costs what it reads")(RIGHT, PAY, "coins += cost + 2")
only_the_last_call_counted = wrong("coins", "costs what it reads")(
    RIGHT, '"coins": coins', '"coins": 2 * steps - 1'
)
failed_steps_cost_nothing = wrong("coins", "with a tool that fails")(
    RIGHT,
    ("steps = 0", "free = steps = 0"),
    ('"coins": coins', '"coins": coins - free'),
    ("history += ", f'result = {RUN}\nfree += isinstance(result, dict) and "error" in result\nhistory += '),
    (f'"result": {RUN}', '"result": result'),
)
whole_budget_told_as_used = wrong("budget", "costs what it reads")(
    RIGHT, AT_BUDGET, f"coins = budget_coins\n{AT_BUDGET}"
)

# --- wrong: the limits

budget_looked_at_first = wrong("step_limit", "first")(RIGHT, (BUDGET, ""), (STEPS, f"{BUDGET}\n{STEPS}"))
default_of_ex01_left = wrong("step_limit", "behind `max_steps=` in your first line")(
    RIGHT, "max_steps=4", "max_steps=10"
)
one_step_too_many = wrong("step_limit", "a call too many")(RIGHT, "steps >= max", "steps > max")
budget_named_where_no_coin_is_left = wrong("step_limit", "first")(
    RIGHT, AT_STEPS, f"if coins == budget_coins:\n    {AT_BUDGET}\n{AT_STEPS}"
)
budget_looked_at_after_paying = wrong("budget", "would go over the budget is not made")(
    RIGHT, OVER, "coins > budget_coins"
)
last_coin_left_unused = wrong("budget", "up to its last coin")(RIGHT, OVER, "coins + cost >= budget_coins")
no_budget = wrong("budget", "would go over the budget is not made")(RIGHT, BUDGET, "")
next_call_taken_for_one_coin = wrong("budget", "is not made")(RIGHT, OVER, "coins + 1 > budget_coins")
another_word_for_the_budget = wrong("budget", "letter by letter")(RIGHT, '"budget limit"', '"coin budget"')
made_up_answer_at_the_budget = wrong("budget", "made up")(
    RIGHT, AT_BUDGET, 'return end("Your parcel is on its way.", "budget limit")'
)
budget_of_its_own = wrong("loop", "with a number of its own")(RIGHT, OVER, "coins + cost > 20")
another_default_budget = wrong("budget", "behind `budget_coins=` in your first line")(
    RIGHT, "budget_coins=20", "budget_coins=50"
)

# --- wrong: the message

message_of_the_other_limit = wrong("message", "names the step limit")(
    RIGHT, MESSAGE, '"I stopped at the step limit."'
)
message_of_the_budget_at_the_step_limit = wrong("message", "names the budget limit")(
    RIGHT, MESSAGE, '"Budget limit. No answer."'
)
message_with_a_wrong_number = wrong("message", "says 12 steps")(
    RIGHT, MESSAGE, 'f"I stopped after {max_steps} steps without an answer."'
)
coins_blamed_for_every_end = wrong("message", "coins were used up")(RIGHT, MESSAGE, '"My coins are used up."')
message_claims_an_outcome = wrong("message", "claims an outcome")(
    RIGHT, MESSAGE, '"Your order has been shipped, all done!"'
)
message_claims_an_outcome_and_names_the_limit = wrong("message", "claims an outcome")(
    RIGHT, MESSAGE, 'f"Your parcel is on its way. ({stopped})"'
)
message_denies_an_order = wrong("message", "claims an outcome")(
    RIGHT, MESSAGE, 'f"Order not found, {stopped}."'
)
message_says_that_nothing_is_there = wrong("message", "claims an outcome")(
    RIGHT, MESSAGE, 'f"This parcel does not exist ({stopped})."'
)
message_could_not_be_found = wrong("message", "claims an outcome")(
    RIGHT, MESSAGE, 'f"I am sorry: your booking could not be found. ({stopped})"'
)
message_cancels_an_order = wrong("message", "claims an outcome")(
    RIGHT, MESSAGE, 'f"{stopped}: your order has been cancelled."'
)
message_promises_a_parcel = wrong("message", "claims an outcome")(
    RIGHT, MESSAGE, 'f"The parcel will arrive on Monday ({stopped})."'
)
message_has_handled_it = wrong("message", 'the words "was handled"')(
    RIGHT, MESSAGE, 'f"Your request was handled, then came the {stopped}."'
)
message_has_taken_care = wrong("message", "claims an outcome")(
    RIGHT, MESSAGE, 'f"{stopped}. The matter has been taken care of."'
)
message_says_that_all_is_well = wrong("message", "claims an outcome")(
    RIGHT, MESSAGE, 'f"{stopped}, but everything is fine."'
)
message_with_the_steps_allowed = wrong("message", "says 12 steps")(
    RIGHT, MESSAGE, 'f"After {max_steps} steps I have no answer ({stopped})."'
)
message_with_the_coins_allowed = wrong("message", "not those that were allowed")(
    RIGHT, MESSAGE, 'f"I have used {budget_coins} coins and have no answer ({stopped})."'
)
message_names_no_reason = wrong("message", "does not say so")(RIGHT, MESSAGE, "SORRY")
same_message_for_both_limits = wrong("message", "does not say so")(
    RIGHT, MESSAGE, 'f"I have no answer after {steps} calls; try with a larger limit or less steps."'
)
message_without_a_word = wrong("message", "whatever the reason was")(RIGHT, MESSAGE, '"..."')
message_empty = wrong("message", "whatever the reason was")(RIGHT, MESSAGE, '""')
no_message_without_a_call = wrong("message", 'no "message"')(
    RIGHT, "if answer is None:", "if answer is None and steps:"
)
message_only_for_the_budget = wrong("message", 'no "message"')(
    RIGHT, "if answer is None:", 'if stopped == "budget limit":'
)

# --- wrong: tools that fail

interrupt_swallowed = wrong("leaves", "Ctrl-C")(
    RIGHT, "run_one(tools, reply)", "run_one_whatever_happens(tools, reply)"
)
try_left_out = wrong("failures", "left your function")(RIGHT, RUN, 'tools[reply["tool"]](**reply["input"])')

# --- right

message_names_both_limits = right(
    RIGHT,
    MESSAGE,
    'f"Of {max_steps} steps and {budget_coins} coins one is used up: step limit or budget limit."',
)
message_of_what_was_used = right(
    RIGHT, MESSAGE, 'f"I used {steps} of {max_steps} steps and {coins} of {budget_coins} coins: {stopped}."'
)
message_has_not_found_an_answer = right(
    RIGHT, MESSAGE, 'f"I have not found an answer, and the {stopped} came. A result was not found either."'
)
message_of_an_order_left_open = right(
    RIGHT, MESSAGE, 'f"I could not find out what became of your order: {stopped} after {steps} steps."'
)
message_is_the_reason = right(RIGHT, MESSAGE, "stopped")
message_of_what_was_left_undone = right(
    RIGHT,
    MESSAGE,
    'f"Nothing was changed and nothing was sent: the {stopped} came first. Please call 555."',
)
message_has_handled_nothing = right(
    RIGHT, MESSAGE, 'f"Your request could not be handled and was not processed: {stopped}."'
)
message_in_another_language_too = right(RIGHT, MESSAGE, 'f"Ich habe keine Antwort ({stopped})."')


@right
def for_loop_with_a_break(model, tools, goal, max_steps=4, budget_coins=20):
    history, left, asked, stopped, answer = (
        [{"role": "user", "text": goal}],
        budget_coins,
        0,
        "step limit",
        None,
    )
    for _ in range(max_steps):
        if len(history) > left:
            stopped = "budget limit"
            break
        left -= len(history)
        asked += 1
        reply = model(history)
        if reply["type"] == "answer":
            stopped, answer = "answered", reply["text"]
            break
        history += [reply, {"role": "tool", "result": run_one(tools, reply)}]
    message = answer or f"No answer ({stopped}). Please check the number and try again."
    coins = budget_coins - left
    return {"answer": answer, "steps": asked, "stopped": stopped, "coins": coins, "message": message}


@right
def no_message_key_beside_an_answer(model, tools, goal, max_steps=4, budget_coins=20):
    history, coins = [{"role": "user", "text": goal}], 0
    step = 0
    while step < max_steps and coins + len(history) <= budget_coins:
        step, coins = step + 1, coins + len(history)
        reply = model(history)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "steps": step, "stopped": "answered", "coins": coins}
        history.extend([reply, {"role": "tool", "result": run_one(tools, reply)}])
    stopped = "step limit" if step == max_steps else "budget limit"
    return {"answer": None, "steps": step, "stopped": stopped, "coins": coins, "message": stopped}


class _Purse:
    def __init__(self, coins):
        self.left = self.given = coins

    def pay(self, cost):
        if cost > self.left:
            raise LookupError
        self.left -= cost


@right
def a_purse_that_refuses(model, tools, goal, max_steps=4, budget_coins=20):
    purse, history, steps = _Purse(budget_coins), [{"role": "user", "text": goal}], 0

    def over(stopped, answer=None):
        spent = purse.given - purse.left
        words = f"Of {max_steps} steps I used {steps}, of {budget_coins} coins {spent}. I found no answer."
        return {"answer": answer, "steps": steps, "stopped": stopped, "coins": spent, "message": words}

    while steps != max_steps:
        try:
            purse.pay(len(history))
        except LookupError:
            return over("budget limit")
        steps += 1
        reply = model(history)
        if reply["type"] == "answer":
            return over("answered", reply["text"])
        history += [reply, {"role": "tool", "result": run_one(tools, reply)}]
    return over("step limit")


@right
def recursion(model, tools, goal, max_steps=4, budget_coins=20):
    def go(history, steps, coins):
        end = {"answer": None, "steps": steps, "coins": coins}
        if steps == max_steps:
            return {**end, "stopped": "step limit", "message": "My steps are used up; I do not know."}
        if coins + len(history) > budget_coins:
            return {**end, "stopped": "budget limit", "message": "I ran out of budget and cannot tell."}
        reply = model(history)
        steps, coins = steps + 1, coins + len(history)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "steps": steps, "coins": coins, "stopped": "answered"}
        return go([*history, reply, {"role": "tool", "result": run_one(tools, reply)}], steps, coins)

    return go([{"role": "user", "text": goal}], 0, 0)
