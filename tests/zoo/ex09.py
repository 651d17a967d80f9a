"""ex09: rescue the night."""

from agentlib import memory
from agentlib.costs import estimate_tokens
from agentlib.labs.invoices import PRICE
from tests.zoo import right, wrong
from tests.zoo.ex02 import run_one, sorted_key


def last_steps(history, keep):
    begins = [place for place, entry in enumerate(history) if entry.get("type") == "tool"]
    return history if len(begins) <= keep else [history[0], *history[begins[-keep] :]]


def loop(model, tools, goal, max_steps, max_tokens, max_usd, **how):
    """The loop around the faults."""
    history, tokens, steps = [{"role": "user", "text": goal}], 0, 0
    seen = how.get("seen", set())

    def end(stopped, answer=None):
        return {"answer": answer, "steps": steps, "stopped": stopped}

    run = how.get("run", run_one)
    while True:
        reading = how.get("view", last_steps)(history, how.get("keep", 6))
        cost = estimate_tokens(history if how.get("all_measured") else reading)
        if steps == max_steps - how.get("short", 0) and "steps" not in how.get("blind", ()):
            return end("step limit", how.get("made_up"))
        late = 0 if how.get("late") else cost
        if tokens + late > max_tokens and "tokens" not in how.get("blind", ()):
            return end("token budget")
        if PRICE.usd(tokens + late) > max_usd and "usd" not in how.get("blind", ()):
            return end("cost budget")
        steps, tokens = steps + 1, tokens + cost
        reply = model(reading)
        if reply["type"] == "answer":
            return end("answered", reply["text"])
        history.append(reply)
        if sorted_key(reply) in seen and how.get("guard", True):
            if how.get("stop_at_repeat"):
                return end("repeated call")
            history.append({"role": "tool", "result": "not run again"})
            if how.get("note", True):
                history.append({"role": "user", "text": "Flag this invoice and go on."})
            continue
        seen.add(sorted_key(reply))
        history.append({"role": "tool", "result": run(tools, reply)})


LIMITS = {"max_steps": 400, "max_tokens": 200_000, "max_usd": 1.0}


@wrong("begins", "was not matched")
def results_cut_too_short(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    return loop(model, tools, goal, max_steps, max_tokens, max_usd, run=lambda t, r: str(run_one(t, r))[:20])


@wrong("begins", "the goal is no longer there")
def goal_cut_off(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    return loop(model, tools, goal, max_steps, max_tokens, max_usd, view=lambda history, keep: history[-6:])


@wrong("begins", "the goal is no longer there")
def goal_taken_for_an_old_entry(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    def view(history, keep):
        return history if len(history) < 5 else [{"role": "user", "text": "Go on."}, *history[-4:]]

    return loop(model, tools, goal, max_steps, max_tokens, max_usd, view=view)


@wrong("begins", "out of sight")
def steps_cut_in_two(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    def view(history, keep):
        return history if len(history) < 4 else [history[0], *history[-3:]]

    return loop(model, tools, goal, max_steps, max_tokens, max_usd, view=view)


@wrong("past_the_stuck", "out of sight")
def two_steps_shown(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    return loop(model, tools, goal, max_steps, max_tokens, max_usd, keep=2)


@wrong("past_the_stuck", "the goal is no longer there")
def goal_cut_off_later(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    return loop(model, tools, goal, max_steps, max_tokens, max_usd, view=lambda history, keep: history[-24:])


@wrong("begins", "Only the same tool with the same input is a repeat")
def guard_by_the_name_of_the_tool(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    seen = set()

    def run(tools, reply):
        if reply["tool"] in seen:
            return "not run again"
        seen.add(reply["tool"])
        return run_one(tools, reply)

    return loop(model, tools, goal, max_steps, max_tokens, max_usd, keep=10**6, guard=False, run=run)


@wrong("once", "It flags through the model")
def the_loop_flags_too(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    def run(tools, reply):
        if reply["tool"] == "flag_invoice":
            tools["flag_invoice"](**reply["input"])
        return run_one(tools, reply)

    return loop(model, tools, goal, max_steps, max_tokens, max_usd, run=run)


@wrong("past_the_stuck", "not flagged")
def no_guard_and_three_steps_shown(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    return loop(model, tools, goal, max_steps, max_tokens, max_usd, guard=False, keep=3)


@wrong("all_done", "What do you hand to `estimate_tokens`")
def whole_history_measured(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    return loop(model, tools, goal, max_steps, max_tokens, max_usd, all_measured=True)


@wrong("within", "Where do you count?")
def steps_one_short(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    end = loop(model, tools, goal, max_steps, max_tokens, max_usd)
    return {**end, "steps": end["steps"] - 1}


@wrong("within", 'no "steps"')
def steps_not_told(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    end = loop(model, tools, goal, max_steps, max_tokens, max_usd)
    return {key: value for key, value in end.items() if key != "steps"}


@wrong("limits", "Where do you count?")
def steps_wrong_where_a_limit_is_hit(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    end = loop(model, tools, goal, max_steps, max_tokens, max_usd)
    return end if end["stopped"] == "answered" else {**end, "steps": end["steps"] + 1}


@wrong("limits", "more would have been allowed")
def last_step_never_made(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    return loop(model, tools, goal, max_steps, max_tokens, max_usd, short=1)


LEFT_OVER = set()


@wrong("begins", "left over from the run before")
def requests_known_over_all_runs(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    return loop(model, tools, goal, max_steps, max_tokens, max_usd, seen=LEFT_OVER)


@wrong("begins", "the model's decision")
def everything_done_without_the_model(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    if (max_steps, max_tokens, max_usd) != (400, 200_000, 1.0):
        return loop(model, tools, goal, max_steps, max_tokens, max_usd)
    prefix = goal.split(", from ")[1].split("/")[0]
    model([{"role": "user", "text": goal}])
    for number in (f"{prefix}/{place:03}" for place in range(1, 81)):
        who = tools["fetch_invoice"](invoice=number)["supplier"].split()[0].upper()
        found = tools["find_payment"](invoice=number)["payments"]
        mine = [one["payment"] for one in found if one["payer"].startswith(who)]
        if mine:
            tools["record_match"](invoice=number, payment=mine[0])
        else:
            tools["flag_invoice"](invoice=number, reason="no payment")
    return {"answer": "All done.", "steps": 1, "stopped": "answered"}


@wrong("once", "twice")
def record_runs_twice_under_a_limit(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    def run(tools, reply):
        if reply["tool"] == "record_match" and max_tokens != 200_000:
            run_one(tools, reply)
        return run_one(tools, reply)

    return loop(model, tools, goal, max_steps, max_tokens, max_usd, run=run)


@wrong("limits", '"stopped"')
def stopped_without_a_reason(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    end = loop(model, tools, goal, max_steps, max_tokens, max_usd)
    return end if end["answer"] else {**end, "stopped": ""}


@wrong("limits", '"answer" is None')
def no_answer_key_where_it_is_stopped(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    end = loop(model, tools, goal, max_steps, max_tokens, max_usd)
    return end if end["answer"] else {"steps": end["steps"], "stopped": end["stopped"]}


@wrong("limits", "with no max_steps given")
def no_end_where_steps_are_not_given(model, tools, goal, max_steps=10**6, max_tokens=200_000, max_usd=1.0):
    return loop(model, tools, goal, max_steps, max_tokens, max_usd)


@wrong("limits", "with no max_tokens given")
def no_end_where_tokens_are_not_given(model, tools, goal, max_steps=400, max_tokens=10**9, max_usd=1.0):
    return loop(model, tools, goal, max_steps, max_tokens, max_usd)


@wrong("limits", "with no max_usd given")
def no_end_where_money_is_not_given(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1e6):
    return loop(model, tools, goal, max_steps, max_tokens, max_usd)


@wrong("limits", "pressed Ctrl-C while a tool")
def interrupt_swallowed(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    def run(tools, reply):
        try:
            return tools[reply["tool"]](**reply["input"])
        except BaseException as problem:
            return {"error": str(problem)}

    return loop(model, tools, goal, max_steps, max_tokens, max_usd, run=run)


@wrong("begins", "out of sight")
def only_the_last_step_shown(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    return loop(model, tools, goal, max_steps, max_tokens, max_usd, keep=1)


@wrong("begins", "asked 0 times")
def does_nothing(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    return {"answer": "All done.", "steps": 240, "stopped": "answered"}


@wrong("past_the_stuck", "not flagged")
def no_guard(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    return loop(model, tools, goal, max_steps, max_tokens, max_usd, guard=False)


@wrong("past_the_stuck", "not flagged")
def guard_without_a_note(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    return loop(model, tools, goal, max_steps, max_tokens, max_usd, note=False)


@wrong("past_the_stuck", "not flagged")
def third_request_ends_the_night(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    return loop(model, tools, goal, max_steps, max_tokens, max_usd, stop_at_repeat=True)


@wrong("past_the_stuck", "no reason to end")
def ends_after_the_flag(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    flagged = []

    def tired(history):
        if flagged:
            return {"type": "answer", "text": "I flagged one and stopped."}
        return model(history)

    def flag(**input):
        flagged.append(1)
        return tools["flag_invoice"](**input)

    return loop(tired, {**tools, "flag_invoice": flag}, goal, max_steps, max_tokens, max_usd)


@wrong("once", "matched or flagged twice")
def record_runs_twice(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    def run(tools, reply):
        if reply["tool"] == "record_match":
            run_one(tools, reply)
        return run_one(tools, reply)

    return loop(model, tools, goal, max_steps, max_tokens, max_usd, run=run)


@wrong("once", "was flagged though it has a payment")
def flags_to_be_safe(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    def run(tools, reply):
        if reply["tool"] == "record_match" and reply["input"]["invoice"].endswith("/020"):
            tools["flag_invoice"](invoice=reply["input"]["invoice"], reason="to be looked at")
        return run_one(tools, reply)

    return loop(model, tools, goal, max_steps, max_tokens, max_usd, run=run)


@wrong("all_done", "How much does each call read")
def whole_history_until_the_budget_ends(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    return loop(model, tools, goal, max_steps, max_tokens, max_usd, keep=10**6)


@wrong("all_done", "step limit")
def step_limit_of_ex01(model, tools, goal, max_steps=100, max_tokens=200_000, max_usd=1.0):
    return loop(model, tools, goal, max_steps, max_tokens, max_usd)


@wrong("all_done", '"stopped" is "answered"')
def end_not_told(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    end = loop(model, tools, goal, max_steps, max_tokens, max_usd)
    return {**end, "stopped": "done"} if end["stopped"] == "answered" else end


@wrong("within", "Every call reads the whole history again")
def whole_history_and_no_budget(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    blind = ("tokens", "usd")
    return loop(model, tools, goal, max_steps, max_tokens, max_usd, keep=10**6, blind=blind)


@wrong("limits", "max_steps before each call")
def steps_not_limited(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    return loop(model, tools, goal, max_steps, max_tokens, max_usd, blind=("steps",))


@wrong("limits", "max_tokens before each call")
def tokens_not_limited(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    return loop(model, tools, goal, max_steps, max_tokens, max_usd, blind=("tokens",))


@wrong("limits", "max_usd before each call")
def money_not_limited(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    return loop(model, tools, goal, max_steps, max_tokens, max_usd, blind=("usd",))


@wrong("limits", "max_tokens before each call")
def budget_looked_at_after_paying(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    return loop(model, tools, goal, max_steps, max_tokens, max_usd, late=True)


@wrong("limits", '"answer" is None')
def made_up_answer_at_the_limit(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    return loop(model, tools, goal, max_steps, max_tokens, max_usd, made_up="All done.")


@right
def guard_and_last_steps(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    return loop(model, tools, goal, max_steps, max_tokens, max_usd)


@right
def three_steps_are_enough(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    return loop(model, tools, goal, max_steps, max_tokens, max_usd, keep=3)


@right
def summaries_and_a_flag_in_the_result(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    history, counts, tokens = [{"role": "user", "text": goal}], {}, 0
    for step in range(1, max_steps + 1):
        if len(history) > 16:
            history = memory.compact(history, 3, lambda old: f"{len(old)} older entries were left out.")
        cost = estimate_tokens(history)
        if tokens + cost > max_tokens or PRICE.usd(tokens + cost) > max_usd:
            return {"answer": None, "steps": step - 1, "stopped": "budget"}
        tokens += cost
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        key = sorted_key(reply)
        counts[key] = counts.get(key, 0) + 1
        result = run_one(tools, reply) if counts[key] < 3 else "Asked twice already: flag this invoice."
        history += [
            {"role": "model", **reply},
            {"role": "tool", "id": "", "tool": reply["tool"], "result": result},
        ]
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@right
def one_small_run_for_each_invoice(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    prefix = goal.split(", from ")[1].split("/")[0]
    used = {"steps": 0, "tokens": 0}
    for number in range(1, 81):
        history, looked = [{"role": "user", "text": f"Match invoice {prefix}/{number:03} or flag it."}], 0
        while True:
            cost = estimate_tokens(history)
            over = used["tokens"] + cost > max_tokens or PRICE.usd(used["tokens"] + cost) > max_usd
            if over or used["steps"] == max_steps:
                return {"answer": None, "steps": used["steps"], "stopped": "limit"}
            used["steps"], used["tokens"] = used["steps"] + 1, used["tokens"] + cost
            reply = model(history)
            if reply["type"] == "answer":
                break
            history += [reply, {"role": "tool", "result": run_one(tools, reply)}]
            looked += reply["tool"] == "find_payment"
            if looked > 1:
                history.append({"role": "user", "text": "There is no payment. Flag it."})
    return {"answer": "All 80 are done.", "steps": used["steps"], "stopped": "answered"}
