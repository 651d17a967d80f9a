"""ex09: rescue the night."""

from agentlib import memory
from agentlib.costs import estimate_tokens
from agentlib.labs.invoices import PRICE
from tests.zoo import right, wrong
from tests.zoo.ex02 import run_one, sorted_key


def last_steps(history, keep):
    begins = [place for place, entry in enumerate(history) if entry.get("type") == "tool"]
    return history if len(begins) <= keep else [history[0], *history[begins[-keep] :]]


@right
def guard_and_last_steps(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    history, tokens, steps = [{"role": "user", "text": goal}], 0, 0
    seen = set()

    def end(stopped, answer=None):
        return {"answer": answer, "steps": steps, "stopped": stopped}

    while True:
        reading = last_steps(history, 6)
        cost = estimate_tokens(reading)
        if steps == max_steps:
            return end("step limit")
        if tokens + cost > max_tokens:
            return end("token budget")
        if PRICE.usd(tokens + cost) > max_usd:
            return end("cost budget")
        steps, tokens = steps + 1, tokens + cost
        reply = model(reading)
        if reply["type"] == "answer":
            return end("answered", reply["text"])
        history.append(reply)
        if sorted_key(reply) in seen:
            history.append({"role": "tool", "result": "not run again"})
            history.append({"role": "user", "text": "Flag this invoice and go on."})
            continue
        seen.add(sorted_key(reply))
        result = run_one(tools, reply)
        history.append({"role": "tool", "result": result})


RIGHT = guard_and_last_steps.functions[0]
READING = "last_steps(history, 6)"
GUARD = "if sorted_key(reply) in seen:"
NOTE = 'history.append({"role": "user", "text": "Flag this invoice and go on."})'
RUN = "result = run_one(tools, reply)"
END = 'return {"answer": answer, "steps": steps, "stopped": stopped}'
STEPS = "if steps == max_steps:"
TOKENS = "if tokens + cost > max_tokens:"
USD = "if PRICE.usd(tokens + cost) > max_usd:"


# --- wrong: the first calls


@wrong("begins", "asked 0 times")
def does_nothing(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    return {"answer": "All done.", "steps": 240, "stopped": "answered"}


def all_done_without_the_model(model, tools, goal):
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


everything_done_without_the_model = wrong("begins", "the model's decision")(
    RIGHT,
    "seen = set()",
    """seen = set()
if (max_steps, max_tokens, max_usd) == (400, 200_000, 1.0):
    return all_done_without_the_model(model, tools, goal)""",
)
LEFT_OVER = set()
requests_known_over_all_runs = wrong("begins", "left over from the run before")(
    RIGHT, "seen = set()", "seen = LEFT_OVER"
)
results_cut_too_short = wrong("begins", "was not matched")(
    RIGHT, RUN, "result = str(run_one(tools, reply))[:20]"
)
goal_cut_off = wrong("begins", "the goal is no longer there")(RIGHT, READING, "history[-6:]")
goal_taken_for_an_old_entry = wrong("begins", "the goal is no longer there")(
    RIGHT, READING, 'history if len(history) < 5 else [{"role": "user", "text": "Go on."}, *history[-4:]]'
)
steps_cut_in_two = wrong("begins", "out of sight")(
    RIGHT, READING, "history if len(history) < 4 else [history[0], *history[-3:]]"
)
only_the_last_step_shown = wrong("begins", "out of sight")(RIGHT, READING, "last_steps(history, 1)")
tokens_taken_for_money = wrong("begins", "gives what so many tokens cost")(
    RIGHT, USD, "if tokens + cost > max_usd:"
)
guard_by_the_name_of_the_tool = wrong("begins", "Only the same tool with the same input is a repeat")(
    RIGHT,
    (READING, "history"),
    (GUARD, 'if reply["tool"] in seen:'),
    (NOTE, ""),
    ("seen.add(sorted_key(reply))", 'seen.add(reply["tool"])'),
)

# --- wrong: past the stuck invoice

goal_cut_off_later = wrong("past_the_stuck", "the goal is no longer there")(RIGHT, READING, "history[-24:]")
two_steps_shown = wrong("past_the_stuck", "out of sight")(RIGHT, READING, "last_steps(history, 2)")
no_guard = wrong("past_the_stuck", "not flagged")(RIGHT, GUARD, "if False:")
no_guard_and_three_steps_shown = wrong("past_the_stuck", "not flagged")(
    RIGHT, (READING, "last_steps(history, 3)"), (GUARD, "if False:")
)
guard_without_a_note = wrong("past_the_stuck", "nothing tells the model what to do now")(RIGHT, NOTE, "")
steps_of_ex01_as_default = wrong("past_the_stuck", "is 400 if it is not")(
    RIGHT, "max_steps=400", "max_steps=10"
)
third_request_ends_the_night = wrong("past_the_stuck", "A repeat is no reason to end the night")(
    RIGHT, GUARD, f'{GUARD}\n    return end("repeated call")'
)
ends_after_the_flag = wrong("past_the_stuck", "no reason to end")(
    RIGHT,
    "reply = model(reading)",
    """if any(entry.get("tool") == "flag_invoice" for entry in history):
    return {"answer": "I flagged one and stopped.", "steps": steps, "stopped": "answered"}
reply = model(reading)""",
)

# --- wrong: each once

flagged_in_the_models_name = wrong("past_the_stuck", "The model flags, your loop does not")(
    RIGHT,
    NOTE,
    """input = {"invoice": reply["input"]["invoice"], "reason": "no payment"}
flag = {"role": "model", "type": "tool", "tool": "flag_invoice", "input": input}
history += [flag, {"role": "tool", "result": run_one(tools, flag)}]""",
)
flagged_by_the_loop = wrong("once", "It flags through the model")(
    RIGHT,
    NOTE,
    """tools["flag_invoice"](invoice=reply["input"]["invoice"], reason="no payment")
history.append({"role": "user", "text": f"{reply['input']['invoice']} is flagged, go on."})""",
)
the_loop_flags_too = wrong("once", "It flags through the model")(
    RIGHT, RUN, f'if reply["tool"] == "flag_invoice":\n    tools["flag_invoice"](**reply["input"])\n{RUN}'
)
record_runs_twice = wrong("once", "One request, one run")(
    RIGHT, RUN, f'if reply["tool"] == "record_match":\n    run_one(tools, reply)\n{RUN}'
)
record_runs_twice_under_a_limit = wrong("once", "One request, one run")(
    RIGHT,
    RUN,
    f'if reply["tool"] == "record_match" and max_tokens != 200_000:\n    run_one(tools, reply)\n{RUN}',
)
flags_to_be_safe = wrong("once", "the model had not asked for it")(
    RIGHT,
    RUN,
    f"""if reply["tool"] == "record_match" and reply["input"]["invoice"].endswith("/020"):
    tools["flag_invoice"](invoice=reply["input"]["invoice"], reason="to be looked at")
{RUN}""",
)

# --- wrong: steps that are parted

a_result_without_its_request = wrong("whole_steps", "do you cut in front of one?")(
    RIGHT, READING, "[history[0], *history[1:][-11:]]"
)
last_entries_of_an_odd_number = wrong("whole_steps", "is not there")(
    RIGHT, READING, "history if len(history) < 13 else [history[0], *history[-9:]]"
)
held_back_without_a_result = wrong("whole_steps", "has no result")(
    RIGHT, 'history.append({"role": "tool", "result": "not run again"})', ""
)
held_back_request_with_a_note_between = wrong("whole_steps", "has no result")(
    RIGHT,
    'history.append({"role": "tool", "result": "not run again"})',
    'history.append({"role": "user", "text": "not run again"})',
)

# --- wrong: all done, within the limits

answer_of_its_own = wrong("all_done", "which the model never said")(
    RIGHT, 'end("answered", reply["text"])', 'end("answered", f"All {steps} steps are done.")'
)
money_as_if_for_a_thousand = wrong("begins", "3 USD are for a million")(
    RIGHT, USD, "if (tokens + cost) * 3 / 1_000 > max_usd:"
)

whole_history_measured = wrong("all_done", "What do you hand to `estimate_tokens`")(
    RIGHT, "estimate_tokens(reading)", "estimate_tokens(history)"
)
whole_history_until_the_budget_ends = wrong("all_done", "How much does each call read")(
    RIGHT, READING, "history"
)
step_limit_of_ex01 = wrong("all_done", "step limit")(RIGHT, "max_steps=400", "max_steps=100")
end_not_told = wrong("all_done", '"stopped" is "answered"')(RIGHT, '"answered"', '"done"')
whole_history_and_no_budget = wrong("within", "Every call reads the whole history again")(
    RIGHT, (READING, "history"), (TOKENS, "if False:"), (USD, "if False:")
)
steps_one_short = wrong("within", "Where do you count?")(RIGHT, '"steps": steps', '"steps": steps - 1')
steps_not_told = wrong("within", 'no "steps"')(RIGHT, '"steps": steps, ', "")

# --- wrong: the limits

steps_not_limited = wrong("limits", "max_steps before each call")(RIGHT, STEPS, "if False:")
tokens_not_limited = wrong("limits", "max_tokens before each call")(RIGHT, TOKENS, "if False:")
money_not_limited = wrong("limits", "max_usd before each call")(RIGHT, USD, "if False:")
budget_looked_at_after_paying = wrong("limits", "max_tokens before each call")(
    RIGHT, (TOKENS, "if tokens > max_tokens:"), (USD, "if PRICE.usd(tokens) > max_usd:")
)
last_step_never_made = wrong("limits", "more would have been allowed")(
    RIGHT, STEPS, "if steps == max_steps - 1:"
)
no_end_where_steps_are_not_given = wrong("limits", "with no max_steps given")(RIGHT, "=400", "=10**6")
no_end_where_tokens_are_not_given = wrong("limits", "with no max_tokens given")(RIGHT, "=200_000", "=10**9")
no_end_where_money_is_not_given = wrong("limits", "with no max_usd given")(RIGHT, "=1.0", "=1e6")
tokens_of_one_call_alone = wrong("limits", "what the earlier ones have read is added up")(
    RIGHT, TOKENS, "if cost > max_tokens:"
)
money_of_one_call_alone = wrong("limits", "it holds for all calls together")(
    RIGHT, USD, "if PRICE.usd(cost) > max_usd:"
)
money_a_thousand_times_too_small = wrong("limits", "3 USD are for a million tokens")(
    RIGHT, USD, "if PRICE.usd(tokens + cost) / 1_000 > max_usd:"
)
made_up_answer_at_the_limit = wrong("limits", '"answer" is None')(
    RIGHT, 'end("step limit")', 'end("step limit", "All done.")'
)
steps_wrong_where_a_limit_is_hit = wrong("limits", "Where do you count?")(
    RIGHT, '"steps": steps', '"steps": steps + (answer is None)'
)
stopped_without_a_reason = wrong("limits", '"stopped"')(
    RIGHT, '"stopped": stopped', '"stopped": stopped if answer else ""'
)
no_answer_key_where_it_is_stopped = wrong("limits", '"answer" is None')(
    RIGHT, END, f'if answer is None:\n    return {{"steps": steps, "stopped": stopped}}\n{END}'
)
failing_model_asked_again = wrong("leaves", "was called again all the same")(
    RIGHT,
    "reply = model(reading)",
    "try:\n    reply = model(reading)\nexcept ConnectionError:\n    continue",
)
interrupt_swallowed = wrong("leaves", "pressed Ctrl-C while a tool")(
    RIGHT, RUN, f'try:\n    {RUN}\nexcept BaseException as problem:\n    result = {{"error": str(problem)}}'
)

# --- right

three_steps_are_enough = right(RIGHT, READING, "last_steps(history, 3)")


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
                said = reply["text"]
                break
            history += [reply, {"role": "tool", "result": run_one(tools, reply)}]
            looked += reply["tool"] == "find_payment"
            if looked > 1:
                history.append({"role": "user", "text": "There is no payment. Flag it."})
    return {"answer": said, "steps": used["steps"], "stopped": "answered"}


class _Night:
    """Keeps whole steps: a request, its result, and a note if there is one."""

    def __init__(self, goal, **limits):
        self.goal, self.steps, self.known = {"role": "user", "text": goal}, [], {}
        self.asked = self.tokens = 0
        self.limits = limits

    def reading(self):
        return [self.goal, *(entry for step in self.steps[-5:] for entry in step)]

    def over(self):
        tokens = self.tokens + estimate_tokens(self.reading())
        used = {"steps": self.asked + 1, "tokens": tokens, "usd": PRICE.usd(tokens)}
        return next((name for name, value in used.items() if value > self.limits[name]), None)

    def act(self, tools, reply):
        key = sorted_key(reply)
        if key in self.known:
            note = {"role": "user", "text": "You know this already. Nothing was found, so flag it."}
            self.steps.append([reply, {"role": "tool", "result": {"error": "not run again"}}, note])
            return
        self.known[key] = run_one(tools, reply)
        self.steps.append([reply, {"role": "tool", "tool": reply["tool"], "result": self.known[key]}])


@right
def a_class_of_whole_steps(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    night = _Night(goal, steps=max_steps, tokens=max_tokens, usd=max_usd)
    while not (reason := night.over()):
        night.tokens += estimate_tokens(night.reading())
        night.asked += 1
        reply = model(night.reading())
        if reply["type"] == "answer":
            return {"answer": reply["text"], "steps": night.asked, "stopped": "answered"}
        night.act(tools, reply)
    return {"answer": None, "steps": night.asked, "stopped": f"out of {reason}"}


@right
def only_the_invoice_in_hand(model, tools, goal, max_steps=400, max_tokens=200_000, max_usd=1.0):
    start = [{"role": "user", "text": goal}]
    history, finished, tokens, steps = list(start), [], 0, 0
    while steps < max_steps:
        tokens += estimate_tokens([*start, *finished, *history[1:]])
        if tokens > max_tokens or PRICE.usd(tokens) > max_usd:
            return {"answer": None, "steps": steps, "stopped": "budget"}
        reply, steps = model([*start, *finished, *history[1:]]), steps + 1
        if reply["type"] == "answer":
            return {"answer": reply["text"], "steps": steps, "stopped": "answered"}
        again = any(one.get("input") == reply["input"] and one["tool"] == reply["tool"] for one in history)
        result = "the same as before: please flag it" if again else run_one(tools, reply)
        history += [reply, {"role": "tool", "id": "", "tool": reply["tool"], "result": result}]
        if reply["tool"] in ("record_match", "flag_invoice"):
            finished, history = history[-2:], list(start)
    return {"answer": None, "steps": steps, "stopped": "step limit"}
