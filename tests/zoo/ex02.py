"""ex02: three stops."""

import collections
import json

from tests.zoo import right, wrong


def run_one(tools, reply):
    if reply["tool"] not in tools:
        return f"there is no {reply['tool']}"
    try:
        return tools[reply["tool"]](**reply["input"])
    except Exception as problem:
        return {"error": str(problem)}


def run_one_whatever_happens(tools, reply):
    try:
        return run_one(tools, reply)
    except BaseException:
        return "it failed"


def sorted_key(reply):
    return reply["tool"] + json.dumps(reply["input"], sort_keys=True)


@right
def counter_of_json_texts(model, tools, goal, max_steps=6):
    history = [{"role": "user", "text": goal}]
    counts = collections.Counter()
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step, "history": history}
        key = sorted_key(reply)
        counts[key] += 1
        if counts[key] >= 3:
            history += [reply, {"role": "tool", "result": "not run: asked for the third time"}]
            return {"answer": None, "steps": step, "stopped": "repeated call", "history": history}
        history.append(reply)
        result = run_one(tools, reply)
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps, "history": history}


RIGHT = counter_of_json_texts.functions[0]
KEY = "sorted_key(reply)"
COUNT = "counts[key] += 1"
REPEATED = '{"answer": None, "steps": step, "stopped": "repeated call", "history": history}'
TOLD = 'history += [reply, {"role": "tool", "result": "not run: asked for the third time"}]'
RUN = "run_one(tools, reply)"

# --- wrong: the loop itself

request_not_recorded = wrong("loop", "its own request")(RIGHT, "history.append(reply)", "")
any_third_call_stops = wrong("loop", "repeated call")(RIGHT, KEY, '"call"')
default_of_ex01_left = wrong("step_limit", "behind `max_steps=` in your first line")(
    RIGHT, "max_steps=6", "max_steps=10"
)
only_the_repeat_stops = wrong("step_limit", "a call too many")(RIGHT, "max_steps + 1", "1_001")

# --- wrong: the third call

no_repeat_rule = wrong("third_call", "third time")(RIGHT, "counts[key] >= 3", "False")
stops_at_the_second = wrong("third_call", "not the one before it")(RIGHT, ">= 3", ">= 2")
stops_at_the_fourth = wrong("third_call", "ends the run, but too late")(RIGHT, ">= 3", ">= 4")
counted_after_the_look = wrong("third_call", "Is the request that has just come in it?")(
    RIGHT, (COUNT, ""), (f"result = {RUN}", f"{COUNT}\nresult = {RUN}"), (">= 3", "> 2")
)
third_request_run_all_the_same = wrong("third_call", "was run, and only then")(
    RIGHT, "counts[key] >= 3:", f"counts[key] >= 3:\n    {RUN}"
)
another_word_for_the_repeat = wrong("third_call", "letter by letter")(RIGHT, "repeated call", "loop detected")
last_result_as_the_answer = wrong("third_call", "Nothing may be made up")(
    RIGHT, REPEATED, REPEATED.replace("None", '"no idea"')
)
third_step_not_counted = wrong("third_call", '"steps" was 2')(
    RIGHT, REPEATED, REPEATED.replace("step,", "step - 1,")
)
second_request_answered_from_a_cache = wrong("third_call", "the tool ran once")(
    RIGHT,
    ("counts = ", "cache = {}\ncounts = "),
    (f"result = {RUN}", f"if key not in cache:\n    cache[key] = {RUN}\nresult = cache[key]"),
)
break_leads_to_the_step_limit = wrong("third_call", "Where does your `break` lead?")(
    RIGHT, (f"{TOLD}\nreturn {REPEATED}", "break")
)
COUNTS = collections.Counter()
counts_kept_between_runs = wrong("third_call", "left over from the run before")(
    RIGHT, "collections.Counter()", "COUNTS"
)
step_limit_before_the_repeat = wrong("third_call", "a repeat in it is a repeat")(
    RIGHT, ">= 3", ">= 3 and step < max_steps"
)

# --- wrong: a repeat anywhere in the run

results_must_be_equal_too = wrong("whole_run", "another result each time")(
    RIGHT,
    (COUNT, ""),
    ("counts[key] >= 3", "any(old == key and count >= 2 for (old, _), count in counts.items())"),
    (f"result = {RUN}", f"result = {RUN}\ncounts[key, str(result)] += 1"),
)
failures_not_counted = wrong("whole_run", "failed each time")(
    RIGHT,
    (COUNT, ""),
    (">= 3", ">= 2"),
    (
        f"result = {RUN}",
        f'result = {RUN}\ncounts[key] += not isinstance(result, dict) or "error" not in result',
    ),
)
count_forgotten_after_many_others = wrong("whole_run", "other requests in between")(
    RIGHT, COUNT, f"if len(counts) > 5:\n    counts.clear()\n{COUNT}"
)
only_in_a_row = wrong("whole_run", "asked for a third time")(
    RIGHT, COUNT, "counts = collections.Counter({key: counts[key] + 1})"
)
only_the_last_three_looked_at = wrong("whole_run", "asked for a third time")(
    RIGHT,
    ("collections.Counter()", "collections.deque(maxlen=4)"),
    (COUNT, "counts.append(key)"),
    ("counts[key] >=", "counts.count(key) >="),
)
unknown_tools_not_counted = wrong("whole_run", "a tool that is not there")(
    RIGHT, COUNT, 'counts[key] += reply["tool"] in tools'
)

# --- wrong: keys in another order, and requests that are not the same

keys_not_sorted = wrong("key_order", "in another order")(
    RIGHT, KEY, 'reply["tool"] + json.dumps(reply["input"])'
)
only_the_outer_keys_sorted = wrong("key_order", "in another order")(
    RIGHT, KEY, 'reply["tool"] + str(sorted(reply["input"].items()))'
)


def dicts_sorted(value):
    return {key: dicts_sorted(value[key]) for key in sorted(value)} if isinstance(value, dict) else value


keys_of_dicts_in_a_list_not_sorted = wrong("key_order", "in another order")(
    RIGHT, KEY, 'reply["tool"] + json.dumps(dicts_sorted(reply["input"]))'
)


def all_sorted(value):
    if isinstance(value, dict):
        return sorted((key, str(all_sorted(item))) for key, item in value.items())
    return sorted(map(str, value)) if isinstance(value, list) else value


OTHER = wrong("other_input", "no request had been made three times")

sorts_the_letters = wrong("key_order", "the order of a list")(
    RIGHT, KEY, 'reply["tool"] + "".join(sorted(json.dumps(reply["input"])))'
)
counts_the_tool_alone = wrong("other_input", "the tool's name alone")(RIGHT, KEY, 'reply["tool"]')
counts_the_input_alone = wrong("other_input", "the input alone")(
    RIGHT, KEY, 'json.dumps(reply["input"], sort_keys=True)'
)
lists_sorted_as_well = wrong("key_order", "no request had been made three times")(
    RIGHT, KEY, 'reply["tool"] + str(all_sorted(reply["input"]))'
)
small_and_large_letters_alike = OTHER(RIGHT, KEY, f"{KEY}.lower()")
long_inputs_cut = OTHER(RIGHT, KEY, f"{KEY}[:80]")
only_one_value_of_the_input_counts = OTHER(
    RIGHT, KEY, 'reply["tool"] + json.dumps(sorted(reply["input"].items())[:1])'
)
only_the_values_of_the_input_count = wrong("other_input", "Under which names they stand")(
    RIGHT, KEY, 'reply["tool"] + str(sorted(json.dumps(value) for value in reply["input"].values()))'
)
counts_equal_results = OTHER(
    RIGHT,
    (f"result = {RUN}", f"result = {RUN}\ncounts[str(result)] += 1"),
    ("result})", f"result}})\nif counts[str(result)] >= 3:\n    return {REPEATED}"),
)

# The two that follow lose one point of ten: the parts that do not hang on it are judged.
tuple_of_sorted_items = wrong("key_order", "A list cannot be part of a dict's key")(
    RIGHT, KEY, '(reply["tool"], tuple(sorted(reply["input"].items())))'
)
frozenset_of_items = wrong("key_order", "A list cannot be part of a dict's key")(
    RIGHT, KEY, '(reply["tool"], frozenset(reply["input"].items()))'
)

# --- wrong: what becomes of the third request

third_request_without_a_result = wrong("told", "has no result")(RIGHT, TOLD, "history.append(reply)")
third_request_not_recorded = wrong("told", "stands there twice")(RIGHT, TOLD, "")
third_result_under_another_key = wrong("told", 'no "result"')(
    RIGHT, '"result": "not run: asked for the third time"', '"error": "not run: asked for the third time"'
)
third_result_is_the_second = wrong("told", "as if it had been run")(
    RIGHT, '"not run: asked for the third time"', 'history[-1]["result"]'
)
third_result_says_nothing = wrong("told", "as if it had been run")(
    RIGHT, '"not run: asked for the third time"', "None"
)
no_history_beside_the_repeat = wrong("told", 'no "history"')(
    RIGHT, REPEATED, REPEATED.replace(', "history": history', "")
)
history_cut_at_the_step_limit = wrong("told", "comes back whole")(
    RIGHT, '"steps": max_steps, "history": history', '"steps": max_steps, "history": history[:3]'
)
history_cut_beside_an_answer = wrong("told", "comes back whole")(
    RIGHT,
    '"answer": reply["text"], "steps": step, "history": history',
    '"answer": reply["text"], "steps": step, "history": history[:1]',
)
spaces_passed_over = wrong("other_input", "to")(RIGHT, KEY, f'{KEY}.replace(" ", "")')
no_history_beside_an_answer = wrong("told", 'a run that ended as "answered"')(
    RIGHT, 'reply["text"], "steps": step, "history": history', 'reply["text"], "steps": step'
)

# --- wrong: tools that fail

try_left_out = wrong("failures", "left your function")(RIGHT, RUN, 'tools[reply["tool"]](**reply["input"])')
interrupt_swallowed = wrong("leaves", "Ctrl-C")(
    RIGHT, f"result = {RUN}", f'try:\n    result = {RUN}\nexcept:\n    result = "it failed"'
)

# --- right

list_of_earlier_requests = right(
    RIGHT,
    ("collections.Counter()", "[]"),
    (f"key = {KEY}\n{COUNT}", 'counts.append((reply["tool"], reply["input"]))'),
    ("counts[key] >= 3", "counts.count(counts[-1]) == 3"),
)


@right
def counted_from_the_history(model, tools, goal, max_steps=6):
    history, steps = [{"role": "user", "text": goal}], 0
    while steps < max_steps:
        reply, steps = model(list(history)), steps + 1
        if reply["type"] == "answer":
            return {"answer": reply["text"], "steps": steps, "stopped": "answered", "history": history}
        history.append(reply)
        same = [e for e in history if e.get("tool") == reply["tool"] and e.get("input") == reply["input"]]
        if len(same) > 2:
            history.append({"role": "tool", "result": {"error": "repeated", "why": "I did not run it."}})
            return {"answer": None, "steps": steps, "stopped": "repeated call", "history": history}
        history.append({"role": "tool", "result": run_one(tools, reply)})
    return {"answer": None, "steps": steps, "stopped": "step limit", "history": history}


@right
def repeat_answered_in_the_history(model, tools, goal, max_steps=6):
    counts = {}
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "steps": step, "stopped": "answered", "history": history}
        history.append({**reply, "role": "model"})
        key = (reply["tool"], json.dumps(reply["input"], sort_keys=True))
        counts[key] = counts.get(key, 0) + 1
        repeated = counts[key] == 3
        history.append({"role": "tool", "result": "not run again" if repeated else run_one(tools, reply)})
        if repeated:
            return {"answer": None, "steps": step, "stopped": "repeated call", "history": history}
    return {"answer": None, "steps": max_steps, "stopped": "step limit", "history": history}


class _Enough(Exception):
    pass


@right
def the_way_out_is_an_exception(model, tools, goal, max_steps=6):
    history, keys = [{"role": "user", "text": goal}], []

    def step():
        reply = model(history)
        if reply["type"] == "answer":
            raise _Enough("answered", reply["text"])
        history.append(reply)
        keys.append(sorted_key(reply))
        again = keys.count(keys[-1]) == 3
        result = "held back: this is the third time" if again else run_one(tools, reply)
        history.append({"role": "tool", "id": "", "tool": reply["tool"], "result": result})
        if again:
            raise _Enough("repeated call", None)

    steps = 0
    try:
        while steps < max_steps:
            steps += 1
            step()
        raise _Enough("step limit", None)
    except _Enough as end:
        stopped, text = end.args
        return {"stopped": stopped, "answer": text, "steps": steps, "history": history}


@right
def inputs_compared_one_by_one(model, tools, goal, max_steps=6):
    asked, history, end = [], [{"role": "user", "text": goal}], ("step limit", None)
    while len(asked) < max_steps:
        reply = model(history)
        if reply["type"] != "tool":
            end = ("answered", reply["text"])
            break
        earlier = [one for one in asked if one["tool"] == reply["tool"] and one["input"] == reply["input"]]
        asked.append(reply)
        if len(earlier) == 2:
            history += [reply, {"role": "tool", "result": ["not run a third time"]}]
            end = ("repeated call", None)
            break
        history += [reply, {"role": "tool", "result": run_one(tools, reply)}]
    steps = len(asked) + (end[0] == "answered")
    return {"answer": end[1], "steps": steps, "stopped": end[0], "history": history}
