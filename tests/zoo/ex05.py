"""ex05: a budget of coins."""

from tests.zoo import right, wrong
from tests.zoo.ex02 import run_one

SORRY = "I could not finish this. Please ask again with more details."


def loop(model, tools, goal, max_steps, budget_coins, **how):
    """The loop around the faults."""
    run = how.get("run", run_one)
    history = [{"role": "user", "text": goal}]
    coins = steps = 0

    def end(answer, stopped):
        result = {"answer": answer, "steps": steps, "stopped": stopped, "coins": coins}
        if answer is None:
            result["message"] = how.get("message", SORRY)
        return result

    while True:
        over_steps = steps >= max_steps + how.get("more_steps", 0)
        cost = how.get("cost", len)(history)
        over_budget = coins + cost >= budget_coins if how.get("early") else coins + cost > budget_coins
        if how.get("late"):
            over_budget = coins > budget_coins
        if over_budget and how.get("budget_first"):
            return end(None, "budget limit")
        if over_steps:
            return end(None, "step limit")
        if over_budget and not how.get("no_budget"):
            return end(how.get("made_up"), how.get("word", "budget limit"))
        steps += 1
        reply = model(history)
        coins += how.get("price", len)(history)
        if reply["type"] == "answer":
            return end(reply["text"], "answered")
        history += [reply, {"role": "tool", "result": run(tools, reply)}]


@wrong("loop", "letter by letter")
def another_word_for_answered(model, tools, goal, max_steps=4, budget_coins=20):
    end = loop(model, tools, goal, max_steps, budget_coins)
    return {**end, "stopped": "ok"} if end["answer"] else end


@wrong("coins", 'no "coins"')
def coins_not_given_back(model, tools, goal, max_steps=4, budget_coins=20):
    end = loop(model, tools, goal, max_steps, budget_coins)
    del end["coins"]
    return end


@wrong("coins", "also the one with the answer")
def coins_missing_beside_an_answer(model, tools, goal, max_steps=4, budget_coins=20):
    end = loop(model, tools, goal, max_steps, budget_coins)
    if end["answer"] is not None:
        del end["coins"]
    return end


@wrong("coins", "also the one at the step limit")
def coins_missing_at_the_step_limit(model, tools, goal, max_steps=4, budget_coins=20):
    end = loop(model, tools, goal, max_steps, budget_coins)
    if end["stopped"] == "step limit":
        del end["coins"]
    return end


@wrong("budget", "also the one at the budget limit")
def coins_missing_at_the_budget_limit(model, tools, goal, max_steps=4, budget_coins=20):
    end = loop(model, tools, goal, max_steps, budget_coins)
    if end["stopped"] == "budget limit":
        del end["coins"]
    return end


@wrong("budget", "A call that is not made costs nothing")
def refused_call_counted(model, tools, goal, max_steps=4, budget_coins=20):
    end = loop(model, tools, goal, max_steps, budget_coins)
    return {**end, "coins": (end["steps"] + 1) ** 2} if end["stopped"] == "budget limit" else end


@wrong("step_limit", "A call that is not made costs nothing")
def call_refused_by_both_limits_counted(model, tools, goal, max_steps=4, budget_coins=20):
    end = loop(model, tools, goal, max_steps, budget_coins)
    after = (end["steps"] + 1) ** 2
    return {**end, "coins": after} if end["stopped"] == "step limit" and after > budget_coins else end


@wrong("message", "names the step limit")
def message_of_the_other_limit(model, tools, goal, max_steps=4, budget_coins=20):
    return loop(model, tools, goal, max_steps, budget_coins, message="I stopped at the step limit.")


@wrong("message", "names the budget limit")
def message_of_the_budget_at_the_step_limit(model, tools, goal, max_steps=4, budget_coins=20):
    return loop(model, tools, goal, max_steps, budget_coins, message="Budget limit. No answer.")


@wrong("message", "says 12 steps")
def message_with_a_wrong_number(model, tools, goal, max_steps=4, budget_coins=20):
    words = f"I stopped after {max_steps} steps without an answer."
    return loop(model, tools, goal, max_steps, budget_coins, message=words)


@wrong("coins", "costs what it reads")
def one_coin_a_call(model, tools, goal, max_steps=4, budget_coins=20):
    return loop(model, tools, goal, max_steps, budget_coins, price=lambda history: 1)


@wrong("coins", "costs what it reads")
def counted_after_the_reply_was_recorded(model, tools, goal, max_steps=4, budget_coins=20):
    return loop(model, tools, goal, max_steps, budget_coins, price=lambda history: len(history) + 2)


@wrong("coins", "costs what it reads")
def only_the_last_call_counted(model, tools, goal, max_steps=4, budget_coins=20):
    end = loop(model, tools, goal, max_steps, budget_coins)
    return {**end, "coins": 2 * end["steps"] - 1}


@wrong("step_limit", "first")
def budget_looked_at_first(model, tools, goal, max_steps=4, budget_coins=20):
    return loop(model, tools, goal, max_steps, budget_coins, budget_first=True)


@wrong("step_limit", "behind `max_steps=` in your first line")
def default_of_ex01_left(model, tools, goal, max_steps=10, budget_coins=100):
    return loop(model, tools, goal, max_steps, 20 if budget_coins == 100 and max_steps == 9 else budget_coins)


@wrong("step_limit", "a call too many")
def one_step_too_many(model, tools, goal, max_steps=4, budget_coins=20):
    return loop(model, tools, goal, max_steps, budget_coins, more_steps=1)


@wrong("budget", "would go over the budget is not made")
def budget_looked_at_after_paying(model, tools, goal, max_steps=4, budget_coins=20):
    return loop(model, tools, goal, max_steps, budget_coins, late=True)


@wrong("budget", "up to its last coin")
def last_coin_left_unused(model, tools, goal, max_steps=4, budget_coins=20):
    return loop(model, tools, goal, max_steps, budget_coins, early=True)


@wrong("budget", "would go over the budget is not made")
def no_budget(model, tools, goal, max_steps=4, budget_coins=20):
    return loop(model, tools, goal, max_steps, budget_coins, no_budget=True)


@wrong("budget", "is not made")
def next_call_taken_for_one_coin(model, tools, goal, max_steps=4, budget_coins=20):
    return loop(model, tools, goal, max_steps, budget_coins, cost=lambda history: 1)


@wrong("budget", "letter by letter")
def another_word_for_the_budget(model, tools, goal, max_steps=4, budget_coins=20):
    return loop(model, tools, goal, max_steps, budget_coins, word="coin budget")


@wrong("budget", "made up")
def made_up_answer_at_the_budget(model, tools, goal, max_steps=4, budget_coins=20):
    return loop(model, tools, goal, max_steps, budget_coins, made_up="Your parcel is on its way.")


@wrong("coins", "with a tool that fails")
def failed_steps_cost_nothing(model, tools, goal, max_steps=4, budget_coins=20):
    free = [0]

    def run(tools, reply):
        result = run_one(tools, reply)
        free[0] += isinstance(result, dict) and "error" in result
        return result

    end = loop(model, tools, goal, max_steps, budget_coins, run=run)
    return {**end, "coins": end["coins"] - free[0]}


@wrong("coins", "costs what it reads")
def coins_with_a_point(model, tools, goal, max_steps=4, budget_coins=20):
    end = loop(model, tools, goal, max_steps, budget_coins)
    return {**end, "coins": float(end["coins"])}


@wrong("budget", "costs what it reads")
def whole_budget_told_as_used(model, tools, goal, max_steps=4, budget_coins=20):
    end = loop(model, tools, goal, max_steps, budget_coins)
    return {**end, "coins": budget_coins} if end["stopped"] == "budget limit" else end


@wrong("step_limit", "first")
def budget_named_where_no_coin_is_left(model, tools, goal, max_steps=4, budget_coins=20):
    end = loop(model, tools, goal, max_steps, budget_coins)
    if end["stopped"] == "step limit" and end["coins"] == budget_coins:
        return {**end, "stopped": "budget limit"}
    return end


@wrong("message", "coins were used up")
def coins_blamed_for_every_end(model, tools, goal, max_steps=4, budget_coins=20):
    return loop(model, tools, goal, max_steps, budget_coins, message="My coins are used up.")


@wrong("message", "whatever the reason was")
def message_without_a_word(model, tools, goal, max_steps=4, budget_coins=20):
    return loop(model, tools, goal, max_steps, budget_coins, message="...")


@wrong("message", 'no "message"')
def no_message_without_a_call(model, tools, goal, max_steps=4, budget_coins=20):
    end = loop(model, tools, goal, max_steps, budget_coins)
    if end["steps"] == 0:
        del end["message"]
    return end


@wrong("budget", "behind `budget_coins=` in your first line")
def another_default_budget(model, tools, goal, max_steps=4, budget_coins=50):
    return loop(model, tools, goal, max_steps, budget_coins)


@wrong("message", "whatever the reason was")
def message_empty(model, tools, goal, max_steps=4, budget_coins=20):
    return loop(model, tools, goal, max_steps, budget_coins, message="")


@wrong("message", 'no "message"')
def message_only_for_the_budget(model, tools, goal, max_steps=4, budget_coins=20):
    end = loop(model, tools, goal, max_steps, budget_coins)
    if end["stopped"] == "step limit":
        del end["message"]
    return end


@wrong("failures", "left your function")
def try_left_out(model, tools, goal, max_steps=4, budget_coins=20):
    return loop(model, tools, goal, max_steps, budget_coins, run=lambda t, r: t[r["tool"]](**r["input"]))


@right
def both_limits_before_each_call(model, tools, goal, max_steps=4, budget_coins=20):
    return loop(model, tools, goal, max_steps, budget_coins)


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
    return {"answer": None, "steps": step, "stopped": stopped, "coins": coins, "message": SORRY}


@right
def message_names_both_limits(model, tools, goal, max_steps=4, budget_coins=20):
    words = f"Of {max_steps} steps and {budget_coins} coins one is used up: step limit or budget limit."
    return loop(model, tools, goal, max_steps, budget_coins, message=words)


@right
def message_in_another_language(model, tools, goal, max_steps=4, budget_coins=20):
    return loop(model, tools, goal, max_steps, budget_coins, message="Ich habe keine Antwort gefunden.")
