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


def loop(model, tools, goal, max_steps, is_repeat, run=run_one, after=lambda reply, result: False):
    """The loop around the faults: `is_repeat` looks at a request before it runs, `after` at what came."""
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        if is_repeat(reply):
            return {"answer": None, "steps": step, "stopped": "repeated call"}
        history.append(reply)
        result = run(tools, reply)
        history.append({"role": "tool", "result": result})
        if after(reply, result):
            return {"answer": None, "steps": step, "stopped": "repeated call"}
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


def counting(key, limit=3):
    counts = collections.Counter()

    def is_repeat(reply):
        counts[key(reply)] += 1
        return counts[key(reply)] >= limit

    return is_repeat


def sorted_key(reply):
    return reply["tool"] + json.dumps(reply["input"], sort_keys=True)


# --- wrong


@wrong("loop", "its own request")
def request_not_recorded(model, tools, goal, max_steps=6):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append({"role": "tool", "result": run_one(tools, reply)})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("step_limit", "behind `max_steps=` in your first line")
def default_of_ex01_left(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps, counting(sorted_key))


@wrong("step_limit", "a call too many")
def only_the_repeat_stops(model, tools, goal, max_steps=6):
    return loop(model, tools, goal, 1_000, counting(sorted_key))


@wrong("third_call", "third time")
def no_repeat_rule(model, tools, goal, max_steps=6):
    return loop(model, tools, goal, max_steps, lambda reply: False)


@wrong("third_call", "not the one before it")
def stops_at_the_second(model, tools, goal, max_steps=6):
    return loop(model, tools, goal, max_steps, counting(sorted_key, limit=2))


@wrong("third_call", "third time")
def stops_at_the_fourth(model, tools, goal, max_steps=6):
    return loop(model, tools, goal, max_steps, counting(sorted_key, limit=4))


@wrong("third_call", "was run, and only then")
def third_request_run_all_the_same(model, tools, goal, max_steps=6):
    count = counting(sorted_key)
    return loop(model, tools, goal, max_steps, lambda reply: False, after=lambda reply, result: count(reply))


@wrong("third_call", "letter by letter")
def another_word_for_the_repeat(model, tools, goal, max_steps=6):
    end = loop(model, tools, goal, max_steps, counting(sorted_key))
    return {**end, "stopped": end["stopped"].replace("repeated call", "loop detected")}


@wrong("third_call", "Nothing may be made up")
def last_result_as_the_answer(model, tools, goal, max_steps=6):
    end = loop(model, tools, goal, max_steps, counting(sorted_key))
    return {**end, "answer": "no idea"} if end["stopped"] == "repeated call" else end


@wrong("third_call", '"steps" was 2')
def third_step_not_counted(model, tools, goal, max_steps=6):
    end = loop(model, tools, goal, max_steps, counting(sorted_key))
    return {**end, "steps": end["steps"] - 1} if end["stopped"] == "repeated call" else end


@wrong("whole_run", "another result each time")
def results_must_be_equal_too(model, tools, goal, max_steps=6):
    seen = collections.Counter()

    def after(reply, result):
        seen[sorted_key(reply) + str(result)] += 1
        return False

    def is_repeat(reply):
        return any(key.startswith(sorted_key(reply)) and count >= 2 for key, count in seen.items())

    return loop(model, tools, goal, max_steps, is_repeat, after=after)


@wrong("whole_run", "failed each time")
def failures_not_counted(model, tools, goal, max_steps=6):
    worked = collections.Counter()

    def run(tools, reply):
        result = run_one(tools, reply)
        worked[sorted_key(reply)] += not isinstance(result, dict) or "error" not in result
        return result

    return loop(model, tools, goal, max_steps, lambda reply: worked[sorted_key(reply)] >= 2, run=run)


@wrong("third_call", "the tool ran once")
def second_request_answered_from_a_cache(model, tools, goal, max_steps=6):
    cache = {}

    def run(tools, reply):
        if sorted_key(reply) not in cache:
            cache[sorted_key(reply)] = run_one(tools, reply)
        return cache[sorted_key(reply)]

    return loop(model, tools, goal, max_steps, counting(sorted_key), run=run)


@wrong("third_call", "Where does your `break` lead?")
def break_leads_to_the_step_limit(model, tools, goal, max_steps=6):
    end = loop(model, tools, goal, max_steps, counting(sorted_key))
    if end["stopped"] == "repeated call":
        return {"answer": None, "steps": max_steps, "stopped": "step limit"}
    return end


@wrong("whole_run", "other requests in between")
def count_forgotten_after_many_others(model, tools, goal, max_steps=6):
    counts = collections.Counter()

    def is_repeat(reply):
        if len(counts) > 5:
            counts.clear()
        counts[sorted_key(reply)] += 1
        return counts[sorted_key(reply)] >= 3

    return loop(model, tools, goal, max_steps, is_repeat)


@wrong("key_order", "in another order")
def keys_not_sorted(model, tools, goal, max_steps=6):
    return loop(model, tools, goal, max_steps, counting(lambda r: r["tool"] + json.dumps(r["input"])))


@wrong("key_order", "in another order")
def keys_of_dicts_in_a_list_not_sorted(model, tools, goal, max_steps=6):
    def plain(value):
        return {key: plain(value[key]) for key in sorted(value)} if isinstance(value, dict) else value

    return loop(model, tools, goal, max_steps, counting(lambda r: r["tool"] + json.dumps(plain(r["input"]))))


@wrong("key_order", "in another order")
def only_the_outer_keys_sorted(model, tools, goal, max_steps=6):
    return loop(
        model, tools, goal, max_steps, counting(lambda r: r["tool"] + str(sorted(r["input"].items())))
    )


@wrong("whole_run", "asked for a third time")
def only_in_a_row(model, tools, goal, max_steps=6):
    last, count = None, 0

    def is_repeat(reply):
        nonlocal last, count
        count = count + 1 if sorted_key(reply) == last else 1
        last = sorted_key(reply)
        return count >= 3

    return loop(model, tools, goal, max_steps, is_repeat)


@wrong("whole_run", "asked for a third time")
def only_the_last_three_looked_at(model, tools, goal, max_steps=6):
    recent = collections.deque(maxlen=4)

    def is_repeat(reply):
        recent.append(sorted_key(reply))
        return recent.count(sorted_key(reply)) >= 3

    return loop(model, tools, goal, max_steps, is_repeat)


@wrong("loop", "repeated call")
def any_third_call_stops(model, tools, goal, max_steps=6):
    return loop(model, tools, goal, max_steps, counting(lambda reply: "call"))


@wrong("other_input", "no request had been made three times")
def counts_the_tool_alone(model, tools, goal, max_steps=6):
    return loop(model, tools, goal, max_steps, counting(lambda reply: reply["tool"]))


@wrong("other_input", "no request had been made three times")
def counts_the_input_alone(model, tools, goal, max_steps=6):
    return loop(model, tools, goal, max_steps, counting(lambda r: json.dumps(r["input"], sort_keys=True)))


@wrong("other_input", "no request had been made three times")
def lists_sorted_as_well(model, tools, goal, max_steps=6):
    def plain(value):
        if isinstance(value, dict):
            return sorted((key, str(plain(item))) for key, item in value.items())
        return sorted(map(str, value)) if isinstance(value, list) else value

    return loop(model, tools, goal, max_steps, counting(lambda r: r["tool"] + str(plain(r["input"]))))


@wrong("other_input", "no request had been made three times")
def small_and_large_letters_alike(model, tools, goal, max_steps=6):
    return loop(model, tools, goal, max_steps, counting(lambda reply: sorted_key(reply).lower()))


@wrong("other_input", "no request had been made three times")
def long_inputs_cut(model, tools, goal, max_steps=6):
    return loop(model, tools, goal, max_steps, counting(lambda reply: sorted_key(reply)[:80]))


@wrong("other_input", "no request had been made three times")
def only_one_value_of_the_input_counts(model, tools, goal, max_steps=6):
    def key(reply):
        return reply["tool"] + json.dumps(sorted(reply["input"].items())[:1])

    return loop(model, tools, goal, max_steps, counting(key))


@wrong("other_input", "no request had been made three times")
def only_the_values_of_the_input_count(model, tools, goal, max_steps=6):
    def key(reply):
        return reply["tool"] + str(sorted(json.dumps(value) for value in reply["input"].values()))

    return loop(model, tools, goal, max_steps, counting(key))


COUNTS = collections.Counter()


@wrong("third_call", "left over from the run before")
def counts_kept_between_runs(model, tools, goal, max_steps=6):
    def is_repeat(reply):
        COUNTS[sorted_key(reply)] += 1
        return COUNTS[sorted_key(reply)] >= 3

    return loop(model, tools, goal, max_steps, is_repeat)


@wrong("third_call", "a repeat in it is a repeat")
def step_limit_before_the_repeat(model, tools, goal, max_steps=6):
    counts, steps = counting(sorted_key), [0]

    def is_repeat(reply):
        steps[0] += 1
        return counts(reply) and steps[0] < max_steps

    return loop(model, tools, goal, max_steps, is_repeat)


@wrong("whole_run", "a tool that is not there")
def unknown_tools_not_counted(model, tools, goal, max_steps=6):
    counts = counting(sorted_key)
    return loop(model, tools, goal, max_steps, lambda reply: reply["tool"] in tools and counts(reply))


@wrong("other_input", "no request had been made three times")
def counts_equal_results(model, tools, goal, max_steps=6):
    results, requests = collections.Counter(), counting(sorted_key)

    def after(reply, result):
        results[str(result)] += 1
        return results[str(result)] >= 3

    return loop(model, tools, goal, max_steps, requests, after=after)


@wrong("failures", "left your function")
def try_left_out(model, tools, goal, max_steps=6):
    return loop(
        model, tools, goal, max_steps, counting(sorted_key), run=lambda t, r: t[r["tool"]](**r["input"])
    )


@wrong("failures", "Ctrl-C")
def interrupt_swallowed(model, tools, goal, max_steps=6):
    def run(tools, reply):
        try:
            return run_one(tools, reply)
        except:  # noqa: E722
            return "it failed"

    return loop(model, tools, goal, max_steps, counting(sorted_key), run=run)


# --- right


@right
def counter_of_json_texts(model, tools, goal, max_steps=6):
    return loop(model, tools, goal, max_steps, counting(sorted_key))


@right
def list_of_earlier_requests(model, tools, goal, max_steps=6):
    earlier = []

    def is_repeat(reply):
        same = [old for old in earlier if old["tool"] == reply["tool"] and old["input"] == reply["input"]]
        earlier.append(reply)
        return len(same) == 2

    return loop(model, tools, goal, max_steps, is_repeat)


@right
def counted_from_the_history(model, tools, goal, max_steps=6):
    history, steps = [{"role": "user", "text": goal}], 0
    while steps < max_steps:
        reply, steps = model(list(history)), steps + 1
        if reply["type"] == "answer":
            return {"answer": reply["text"], "steps": steps, "stopped": "answered"}
        history.append(reply)
        same = [e for e in history if e.get("tool") == reply["tool"] and e.get("input") == reply["input"]]
        if len(same) > 2:
            return {"answer": None, "steps": steps, "stopped": "repeated call"}
        history.append({"role": "tool", "result": run_one(tools, reply)})
    return {"answer": None, "steps": steps, "stopped": "step limit"}


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
