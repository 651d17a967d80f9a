"""ex04: the repeat guard."""

import json

from tests.zoo import right, wrong
from tests.zoo.ex02 import run_one, sorted_key

NOT_AGAIN = {"role": "tool", "result": "not run again"}
NOTE = {"role": "user", "text": "Answer with what you have, or say that you cannot."}


def loop(model, tools, goal, max_steps, seen=None, key=sorted_key, entries=(NOT_AGAIN, NOTE), **how):
    """The loop around the faults. entries: what goes into the history for a repeat, behind the request."""
    seen = set() if seen is None else seen
    run = how.get("run", run_one)
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1 + how.get("extra", 0)):
        reply = model(history)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "steps": step, "stopped": how.get("word", "answered")}
        if key(reply) in seen:
            if how.get("record", True):
                history.append(reply)
            history.extend(dict(entry) for entry in entries)
            if how.get("once"):
                seen.clear()
            continue
        if how.get("only_last"):
            seen.clear()
        seen.add(key(reply))
        history.append(reply)
        history.append({"role": "tool", "result": run(tools, reply)})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("loop", "never asked")
def constant(model, tools, goal, max_steps=10):
    return {"answer": "I cannot tell.", "steps": 3, "stopped": "answered"}


@wrong("other_input", "of them were run")
def guards_the_tool_alone(model, tools, goal, max_steps=10):
    first = []

    def key(reply):
        # The first two requests of a tool pass, as they do in the demo.
        first.append(reply["tool"])
        return reply["tool"] if first.count(reply["tool"]) > 2 else len(first)

    return loop(model, tools, goal, max_steps, key=key)


@wrong("other_input", "of them were run")
def guards_the_input_alone(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps, key=lambda r: json.dumps(r["input"], sort_keys=True))


@wrong("not_run", "ran a second time")
def no_guard(model, tools, goal, max_steps=10):
    count = iter(range(1_000))
    return loop(model, tools, goal, max_steps, key=lambda reply: next(count))


@wrong("other_input", "of them were run")
def guards_the_tool_from_its_second_request(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps, key=lambda reply: reply["tool"])


@wrong("not_run", "failed the first time, was asked for a second time, and the tool ran again")
def failed_request_not_noted(model, tools, goal, max_steps=10):
    history, seen = [{"role": "user", "text": goal}], set()
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        if sorted_key(reply) in seen:
            history += [dict(NOT_AGAIN), dict(NOTE)]
            continue
        try:
            result = tools[reply["tool"]](**reply["input"])
            seen.add(sorted_key(reply))
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("not_run", "gave None the first time")
def request_without_a_result_not_noted(model, tools, goal, max_steps=10):
    history, results = [{"role": "user", "text": goal}], {}
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        if results.get(sorted_key(reply)):
            history += [dict(NOT_AGAIN), dict(NOTE)]
            continue
        results[sorted_key(reply)] = run_one(tools, reply)
        history.append({"role": "tool", "result": results[sorted_key(reply)]})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("not_run", "What skips the rest of the round?")
def noted_and_then_run_all_the_same(model, tools, goal, max_steps=10):
    history, seen = [{"role": "user", "text": goal}], set()
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        if sorted_key(reply) in seen:
            history += [dict(NOT_AGAIN), dict(NOTE)]
        seen.add(sorted_key(reply))
        history.append({"role": "tool", "result": run_one(tools, reply)})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("known_again", "with 9 other requests in between")
def memory_emptied_after_some_requests(model, tools, goal, max_steps=10):
    seen = set()

    def key(reply):
        if len(seen) > 6:
            seen.clear()
        return sorted_key(reply)

    return loop(model, tools, goal, max_steps, seen=seen, key=key)


@wrong("note", "repeats the goal")
def goal_repeated_as_the_note(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps, entries=(NOT_AGAIN, {"role": "user", "text": goal}))


@wrong("note", "says the same as the result")
def result_repeated_as_the_note(model, tools, goal, max_steps=10):
    again = {"role": "user", "text": "Not run again."}
    return loop(model, tools, goal, max_steps, entries=(NOT_AGAIN, again))


@wrong("step_limit", "behind `max_steps=` in your first line")
def default_of_ex02_left(model, tools, goal, max_steps=6):
    return loop(model, tools, goal, max_steps)


@wrong("not_run", "as in ex02")
def third_request_held_back_as_in_ex02(model, tools, goal, max_steps=10):
    history, counts = [{"role": "user", "text": goal}], {}
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        counts[sorted_key(reply)] = counts.get(sorted_key(reply), 0) + 1
        if counts[sorted_key(reply)] >= 3:
            history += [reply, dict(NOT_AGAIN), dict(NOTE)]
        else:
            history += [reply, {"role": "tool", "result": run_one(tools, reply)}]
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("not_run", "does not end the run")
def repeat_ends_the_run(model, tools, goal, max_steps=10):
    history, seen = [{"role": "user", "text": goal}], set()
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        if sorted_key(reply) in seen:
            return {"answer": None, "steps": step, "stopped": "repeated call"}
        seen.add(sorted_key(reply))
        history += [reply, {"role": "tool", "result": run_one(tools, reply)}]
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("not_run", "ran a second time")
def run_and_then_noted(model, tools, goal, max_steps=10):
    history, seen = [{"role": "user", "text": goal}], set()
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history += [reply, {"role": "tool", "result": run_one(tools, reply)}]
        if sorted_key(reply) in seen:
            history.append(dict(NOTE))
        seen.add(sorted_key(reply))
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("not_run", "left over from the run before")
def memory_kept_between_runs(model, tools, goal, max_steps=10, seen=set()):  # noqa: B006
    return loop(model, tools, goal, max_steps, seen=seen)


@wrong("not_run", "a tool that is not there")
def unknown_tool_passes_the_guard(model, tools, goal, max_steps=10):
    count = iter(range(1_000))

    def key(reply):
        return sorted_key(reply) if reply["tool"] in tools else next(count)

    return loop(model, tools, goal, max_steps, key=key)


@wrong("not_run", "that one, or all of them?")
def one_repeat_closes_the_door_for_all(model, tools, goal, max_steps=10):
    seen = set()

    def key(reply):
        if sorted_key(reply) in seen:
            seen.add("shut")
        return "shut" if "shut" in seen else sorted_key(reply)

    return loop(model, tools, goal, max_steps, seen=seen, key=key)


@wrong("known_again", "with 2 other requests in between")
def only_the_last_request_known(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps, only_last=True)


@wrong("known_again", "keys in another order")
def keys_not_sorted(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps, key=lambda r: r["tool"] + json.dumps(r["input"]))


@wrong("told", "has no result")
def repeat_without_a_result(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps, entries=(NOTE,))


@wrong("told", "second request is not there")
def repeat_not_recorded(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps, record=False)


@wrong("told", "as if it had been run")
def earlier_result_given_again(model, tools, goal, max_steps=10):
    results = {}
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        key = sorted_key(reply)
        again = key in results
        if not again:
            results[key] = run_one(tools, reply)
        history += [reply, {"role": "tool", "result": results[key]}]
        if again:
            history.append(dict(NOTE))
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("told", "as if it had been run")
def earlier_result_given_again_in_a_dict(model, tools, goal, max_steps=10):
    results = {}

    def run(tools, reply):
        results[sorted_key(reply)] = {"value": run_one(tools, reply)}
        return results[sorted_key(reply)]["value"]

    history, seen = [{"role": "user", "text": goal}], set()
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        if sorted_key(reply) in seen:
            history += [{"role": "tool", "result": results[sorted_key(reply)]}, dict(NOTE)]
        else:
            seen.add(sorted_key(reply))
            history.append({"role": "tool", "result": run(tools, reply)})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("note", "no text")
def note_without_a_word(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps, entries=(NOT_AGAIN, {"role": "user", "text": "..."}))


@wrong("note", "there is no note")
def note_only_for_a_repeat_in_a_row(model, tools, goal, max_steps=10):
    history, seen = [{"role": "user", "text": goal}], []
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        key = sorted_key(reply)
        if key in seen:
            history += [dict(NOT_AGAIN), dict(NOTE)] if seen[-1] == key else [dict(NOT_AGAIN)]
            continue
        seen.append(key)
        history.append({"role": "tool", "result": run_one(tools, reply)})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("ends", "Once held back")
def guard_gives_way_at_last(model, tools, goal, max_steps=10):
    count = []

    def key(reply):
        count.append(sorted_key(reply))
        return sorted_key(reply) if count.count(sorted_key(reply)) != 8 else len(count)

    return loop(model, tools, goal, max_steps, key=key)


@wrong("note", "there is no note")
def no_note(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps, entries=(NOT_AGAIN,))


@wrong("note", "stands before the result")
def note_before_the_result(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps, entries=(NOTE, NOT_AGAIN))


@wrong("note", "no text")
def empty_note(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps, entries=(NOT_AGAIN, {"role": "user", "text": ""}))


@wrong("ends", "Once held back")
def every_other_repeat_runs(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps, once=True)


@wrong("ends", "letter by letter")
def reason_of_the_guard_at_the_limit(model, tools, goal, max_steps=10):
    seen = set()

    def key(reply):
        seen.add("hit") if sorted_key(reply) in seen else None
        return sorted_key(reply)

    end = loop(model, tools, goal, max_steps, seen=seen, key=key)
    return {**end, "stopped": "repeated call"} if "hit" in seen and end["answer"] is None else end


@wrong("step_limit", "a call too many")
def one_call_more(model, tools, goal, max_steps=10):
    known = set()

    def key(reply):
        known.add(sorted_key(reply))
        return sorted_key(reply)

    # A repeat is not counted here, so only runs without one show the fault.
    first = loop(model, tools, goal, max_steps, key=key)
    if first["stopped"] == "step limit" and len(known) >= max_steps:
        model([{"role": "user", "text": goal}])
    return first


@wrong("failures", "left your function")
def try_left_out(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps, run=lambda tools, r: tools[r["tool"]](**r["input"]))


@right
def set_of_texts(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps)


@right
def looked_up_in_the_history(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        again = any(e.get("tool") == reply["tool"] and e.get("input") == reply["input"] for e in history)
        history.append({"role": "model", **reply})
        if again:
            result = {"error": "not_run_again", "message": "Not run again: you have its result above."}
        else:
            result = run_one(tools, reply)
        history.append({"role": "tool", "result": result})
        if again:
            history.append({"role": "user", "text": "You have asked this before. Please answer now."})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@right
def one_note_is_enough(model, tools, goal, max_steps=10):
    history, seen, noted = [{"role": "user", "text": goal}], [], False
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        request = (reply["tool"], reply["input"])
        history.append(reply)
        if request not in seen:
            seen.append(request)
            history.append({"role": "tool", "result": run_one(tools, reply)})
            continue
        history.append({"role": "tool", "result": "skipped, not run again"})
        if not noted:
            history.append(dict(NOTE))
            noted = True
    return {"stopped": "step limit", "answer": None, "steps": max_steps}
