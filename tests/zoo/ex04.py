"""ex04: the repeat guard."""

import json

from tests.zoo import right, wrong
from tests.zoo.ex02 import run_one, run_one_whatever_happens, sorted_key  # noqa: F401  in a patch

NOT_AGAIN = {"role": "tool", "result": "not run again"}
NOTE = {"role": "user", "text": "Answer with what you have, or say that you cannot."}


@right
def set_of_texts(model, tools, goal, max_steps=10, repeatable=()):
    history = [{"role": "user", "text": goal}]
    seen = set()
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "steps": step, "stopped": "answered"}
        key = sorted_key(reply)
        history.append(reply)
        if key in seen and reply["tool"] not in repeatable:
            history += [dict(NOT_AGAIN), dict(NOTE)]
            continue
        seen.add(key)
        history.append({"role": "tool", "result": run_one(tools, reply)})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


RIGHT = set_of_texts.functions[0]
SEEN = "seen = set()"
KEY = "sorted_key(reply)"
HELD_BACK = "[dict(NOT_AGAIN), dict(NOTE)]"
RUN = 'history.append({"role": "tool", "result": run_one(tools, reply)})'
END = 'return {"stopped": "step limit", "answer": None, "steps": max_steps}'


@wrong("loop", "never asked")
def constant(model, tools, goal, max_steps=10, repeatable=()):
    return {"answer": "I cannot tell.", "steps": 3, "stopped": "answered"}


# --- wrong: which requests are the same

guards_the_tool_alone = wrong("other_input", "of them were run")(
    RIGHT,
    (SEEN, f"{SEEN}\nfirst = []"),
    (
        f"key = {KEY}",
        """first.append(reply["tool"])  # the first two requests of a tool pass, as they do in the demo
key = reply["tool"] if first.count(reply["tool"]) > 1 else len(first)""",
    ),
)
guards_the_input_alone = wrong("other_input", "of them were run")(
    RIGHT, KEY, 'json.dumps(reply["input"], sort_keys=True)'
)
values_without_their_names = wrong("other_input", "Under which names they stand counts too")(
    RIGHT, KEY, 'reply["tool"] + str(sorted(map(str, reply["input"].values())))'
)
names_without_their_values = wrong("other_input", "Their values count too")(
    RIGHT, KEY, 'reply["tool"] + str(sorted(reply["input"]))'
)
capital_letters_ignored = wrong("other_input", "small and capital letters")(RIGHT, KEY, f"{KEY}.lower()")
items_of_a_list_in_any_order = wrong("other_input", "of them were run")(
    RIGHT, KEY, 'reply["tool"] + "".join(sorted(json.dumps(reply["input"], sort_keys=True)))'
)
guards_the_tool_from_its_second_request = wrong("other_input", "of them were run")(
    RIGHT, KEY, 'reply["tool"]'
)
memory_emptied_after_some_requests = wrong("known_again", "with 9 other requests in between")(
    RIGHT, "if key in", "if len(seen) > 6:\n    seen.clear()\nif key in"
)
only_the_last_request_known = wrong("known_again", "with 2 other requests in between")(
    RIGHT, "seen.add(key)", "seen = {key}"
)
keys_not_sorted = wrong("known_again", "keys in another order")(
    RIGHT, KEY, 'reply["tool"] + json.dumps(reply["input"])'
)

# --- wrong: what is run again

no_guard = wrong("not_run", "ran a second time")(RIGHT, KEY, "step")
failed_request_not_noted = wrong(
    "not_run", "failed the first time, was asked for a second time, and the tool ran again"
)(
    RIGHT,
    (
        "seen.add(key)",
        """try:
    result = tools[reply["tool"]](**reply["input"])
    seen.add(key)
except Exception as problem:
    result = f"{reply['tool']}: {problem}\"""",
    ),
    ("run_one(tools, reply)", "result"),
)
request_without_a_result_not_noted = wrong("not_run", "gave None the first time")(
    RIGHT,
    (SEEN, "seen = {}"),
    ("key in seen", "seen.get(key)"),
    ("seen.add(key)", "seen[key] = run_one(tools, reply)"),
    (": run_one(tools, reply)", ": seen[key]"),
)
noted_and_then_run_all_the_same = wrong("not_run", "What skips the rest of the round?")(RIGHT, "continue", "")
third_request_held_back_as_in_ex02 = wrong("not_run", "as in ex02")(
    RIGHT, (SEEN, "seen = []"), ("key in seen", "seen.count(key) >= 2"), ("seen.add", "seen.append")
)
repeat_ends_the_run = wrong("not_run", "does not end the run")(
    RIGHT, "continue", 'return {"answer": None, "steps": step, "stopped": "repeated call"}'
)
run_and_then_noted = wrong("not_run", "ran a second time")(
    RIGHT, (HELD_BACK, "[dict(NOTE)]"), ("continue", ""), (RUN, ""), ("if key", f"{RUN}\nif key")
)
memory_kept_between_runs = wrong("not_run", "left over from the run before")(
    RIGHT, ("repeatable=()", "repeatable=(), seen=set()"), (SEEN, "")
)
unknown_tool_passes_the_guard = wrong("not_run", "a tool that is not there")(
    RIGHT, KEY, f'{KEY} if reply["tool"] in tools else step'
)
one_repeat_closes_the_door_for_all = wrong("not_run", "that one, or all of them?")(
    RIGHT, "if key in", 'if key in seen:\n    seen.add("shut")\nif "shut" in seen or key in'
)

# --- wrong: what stands in the history

goal_repeated_as_the_note = wrong("note", "repeats the goal")(
    RIGHT, "dict(NOTE)", '{"role": "user", "text": goal}'
)
result_repeated_as_the_note = wrong("note", "says the same as the result")(
    RIGHT, "dict(NOTE)", '{"role": "user", "text": "Not run again."}'
)
note_without_a_word = wrong("note", "no text")(RIGHT, "dict(NOTE)", '{"role": "user", "text": "..."}')
empty_note = wrong("note", "no text")(RIGHT, "dict(NOTE)", '{"role": "user", "text": ""}')
no_note = wrong("note", "there is no note")(RIGHT, ", dict(NOTE)", "")
note_only_for_a_repeat_in_a_row = wrong("note", "there is no note")(
    RIGHT,
    (SEEN, "seen = []"),
    (HELD_BACK, f"{HELD_BACK} if seen[-1] == key else [dict(NOT_AGAIN)]"),
    ("seen.add", "seen.append"),
)
note_before_the_result = wrong("note", "stands before the result")(
    RIGHT, HELD_BACK, "[dict(NOTE), dict(NOT_AGAIN)]"
)
repeat_without_a_result = wrong("told", "has no result")(RIGHT, "dict(NOT_AGAIN), ", "")
repeat_not_recorded = wrong("told", "second request is not there")(
    RIGHT, "append(reply)\nif", "extend([] if key in seen else [reply])\nif"
)
earlier_result_given_again = wrong("told", "as if it had been run")(
    RIGHT,
    (SEEN, "seen = {}"),
    ("dict(NOT_AGAIN)", '{"role": "tool", "result": seen[key]}'),
    ("seen.add(key)", "seen[key] = run_one(tools, reply)"),
    (": run_one(tools, reply)", ": seen[key]"),
)
earlier_result_given_again_in_a_dict = wrong("told", "as if it had been run")(
    RIGHT,
    (SEEN, "seen = {}"),
    ("dict(NOT_AGAIN)", '{"role": "tool", "result": seen[key]}'),
    ("seen.add(key)", 'seen[key] = {"value": run_one(tools, reply)}'),
    ('result": run_one(tools, reply)', 'result": seen[key]["value"]'),
)

old_result_in_other_words = wrong("told", "as if it had been run")(
    RIGHT,
    (SEEN, "seen = {}"),
    ("dict(NOT_AGAIN)", '{"role": "tool", "result": f"again: {seen[key]}"}'),
    ("seen.add(key)", "seen[key] = run_one(tools, reply)"),
    (": run_one(tools, reply)", ": seen[key]"),
)
words_of_the_guard_under_another_key = wrong("told", 'no "result"')(
    RIGHT, "dict(NOT_AGAIN)", '{"role": "tool", "error": "not run again"}'
)

# --- wrong: what may be repeated

repeatable_by_the_beginning_of_a_name = wrong("repeatable", "whole names")(
    RIGHT, 'reply["tool"] not in repeatable', 'not any(reply["tool"].startswith(name) for name in repeatable)'
)
repeatable_looked_for_in_one_text = wrong("repeatable", "whole names")(
    RIGHT, 'reply["tool"] not in repeatable', 'reply["tool"] not in " ".join(repeatable)'
)
spaces_passed_over = wrong("other_input", "pass over spaces")(RIGHT, KEY, f'{KEY}.replace(" ", "")')
repeatable_not_looked_at = wrong("repeatable", "Does your guard look into `repeatable`?")(
    RIGHT, ' and reply["tool"] not in repeatable', ""
)
guard_off_where_anything_is_repeatable = wrong("repeatable", "for the tools in it, or for all?")(
    RIGHT, 'reply["tool"] not in repeatable', "not repeatable"
)
only_the_first_repeatable_tool_known = wrong("repeatable", "it ran once")(
    RIGHT, "not in repeatable", "not in list(repeatable)[:1]"
)
one_repeat_more_and_then_held_back = wrong("repeatable", "it ran")(
    RIGHT,
    (SEEN, f"{SEEN}\ncount = 0"),
    ("if key in", "count += 1\nif key in"),
    ('reply["tool"] not in repeatable', '(reply["tool"] not in repeatable or count > 4)'),
)
polled_and_told_off = wrong("repeatable", "behind a run of it stood the note")(
    RIGHT, RUN, f"again = key in seen\n{RUN}\nif again:\n    history.append(dict(NOTE))"
)

# --- wrong: how it ends

guard_gives_way_at_last = wrong("ends", "Once held back")(
    RIGHT,
    (SEEN, f"{SEEN}\nasked = []"),
    ("if key in seen", "asked.append(key)\nif key in seen and asked.count(key) != 8"),
)
every_other_repeat_runs = wrong("ends", "Once held back")(RIGHT, "continue", "seen.clear()\ncontinue")
reason_of_the_guard_at_the_limit = wrong("ends", "the reason of another ending")(
    RIGHT,
    (SEEN, f'{SEEN}\nstopped = "step limit"'),
    ("continue", 'stopped = "repeated call"\ncontinue'),
    ('"stopped": "step limit"', '"stopped": stopped'),
)
default_of_ex02_left = wrong("ends", "behind `max_steps=` in your first line")(
    RIGHT, "max_steps=10", "max_steps=6"
)
# A repeat is not counted here, so only runs without one show the fault.
one_call_more = wrong("ends", "a call too many")(
    RIGHT, END, f"if len(seen) >= max_steps:\n    model(history[:1])\n{END}"
)
interrupt_swallowed = wrong("leaves", "Ctrl-C")(
    RIGHT, "run_one(tools, reply)", "run_one_whatever_happens(tools, reply)"
)
try_left_out = wrong("failures", "left your function")(
    RIGHT, "run_one(tools, reply)", 'tools[reply["tool"]](**reply["input"])'
)

# --- right


@right
def looked_up_in_the_history(model, tools, goal, max_steps=10, repeatable=()):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        again = any(e.get("tool") == reply["tool"] and e.get("input") == reply["input"] for e in history)
        again = again and reply["tool"] not in repeatable
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
def one_note_is_enough(model, tools, goal, max_steps=10, repeatable=()):
    history, seen, noted = [{"role": "user", "text": goal}], [], False
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        request = (reply["tool"], reply["input"])
        history.append(reply)
        if request not in seen or reply["tool"] in repeatable:
            seen.append(request)
            history.append({"role": "tool", "result": run_one(tools, reply)})
            continue
        history.append({"role": "tool", "result": "skipped, not run again"})
        if not noted:
            history.append(dict(NOTE))
            noted = True
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@right
def a_guard_with_a_name_of_its_own(model, tools, goal, max_steps=10, repeatable=()):
    asked = {}

    def passes(reply):
        key = json.dumps([reply["tool"], reply["input"]], sort_keys=True)
        asked[key] = asked.get(key, 0) + 1
        return asked[key] == 1 or reply["tool"] in repeatable

    def act(reply):
        if passes(reply):
            return [{"role": "tool", "result": run_one(tools, reply)}]
        text = f"You asked {reply['tool']} for this before. Say what you know."
        refused = {"role": "tool", "result": {"error": "held_back", "message": "This was not run."}}
        return [refused, {"role": "user", "text": text}]

    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        match model(history):
            case {"type": "answer", "text": text}:
                return {"answer": text, "steps": step, "stopped": "answered"}
            case reply:
                history = [*history, reply, *act(reply)]
    return {"answer": None, "steps": max_steps, "stopped": "step limit"}
