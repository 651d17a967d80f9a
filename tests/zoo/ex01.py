"""ex01: the loop."""

import copy
import itertools
import json

from tests.zoo import right, wrong

# --- wrong


@wrong("goal_first", "read 0 entries")
def starts_with_an_empty_history(model, tools, goal, max_steps=10):
    history = []
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        history.append({"role": "tool", "result": tools[reply["tool"]](**reply["input"])})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("goal_first", "no list")
def asks_with_the_bare_goal(model, tools, goal, max_steps=10):
    reply = model(goal)
    return {"answer": reply.get("text"), "steps": 1, "stopped": "answered"}


@wrong("goal_first", '"user"')
def goal_has_another_role(model, tools, goal, max_steps=10):
    history = [{"role": "system", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = str(problem)
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("goal_first", "left over from the run before")
def history_shared_between_runs(model, tools, goal, max_steps=10, history=[]):  # noqa: B006
    history.append({"role": "user", "text": goal})
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("goal_first", "never asked")
def made_up_constant(model, tools, goal, max_steps=10):
    return {"answer": "North has more blue mugs.", "steps": 4, "stopped": "answered"}


@wrong("goal_first", "seconds the function was still running")
def spins_without_asking(model, tools, goal, max_steps=10):
    step = 0
    while step < max_steps:
        try:
            len(goal)
        except:  # noqa: E722
            step = 0


@wrong("tool_run", "once more though nobody had asked")
def tool_runs_twice(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        try:
            tools[reply["tool"]](**reply["input"])
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("tool_run", "in one piece")
def input_handed_over_as_one_dict(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        try:
            result = tools[reply["tool"]](reply["input"])
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("tool_run", "unchanged")
def input_changed_on_the_way(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        try:
            tidy = {name: str(value).lower() for name, value in reply["input"].items()}
            result = tools[reply["tool"]](**tidy)
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("tool_run", "ran")
def always_the_first_tool(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    only = next(iter(tools.values()))
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        try:
            result = only(**reply["input"])
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("tool_run", "KeyError: 'tekst'")
def crashes_on_a_request(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        print(reply["tekst"])
        return {"stopped": "answered", "answer": reply["text"], "steps": step}


@wrong("tool_run", "request")
def takes_a_request_for_an_answer(model, tools, goal, max_steps=10):
    reply = model([{"role": "user", "text": goal}])
    return {"answer": str(reply), "steps": 1, "stopped": "answered"}


@wrong("tool_run", "KeyError")
def limit_of_tools_by_position(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    reply = model(history)
    result = tools[0](**reply["input"])
    return {"answer": result, "steps": 1, "stopped": "answered"}


@wrong("request_kept", "its own request")
def only_the_result_recorded(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("request_kept", "earlier request")
def history_made_anew_each_step(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history = [{"role": "user", "text": goal}, reply, {"role": "tool", "result": result}]
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("request_kept", "goal was no longer at the start")
def goal_lost_after_the_first_call(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        if step == 1:
            history = []
        history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("request_kept", "stands there twice")
def request_recorded_twice(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        history.append(reply)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("request_kept", "What do you hand to the model?")
def only_the_last_entry_handed_over(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history[-1:])
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history += [reply, {"role": "tool", "result": _run(tools, reply)}]
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("request_kept", "The reply itself")
def text_about_the_request_recorded(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append({"role": "model", "text": f"asks for {reply['tool']}"})
        history.append({"role": "tool", "result": _run(tools, reply)})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("request_kept", "was missing")
def request_recorded_without_its_input(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        input = reply.pop("input")
        try:
            result = tools[reply["tool"]](**input)
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("request_kept", "not asked again")
def ends_after_the_first_result(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    reply = model(history)
    result = tools[reply["tool"]](**reply["input"])
    return {"answer": str(result), "steps": 1, "stopped": "answered"}


@wrong("result_kept", "before its request")
def result_before_its_request(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})
        history.append(reply)
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("result_kept", "missing")
def only_the_request_recorded(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        tools[reply["tool"]](**reply["input"])
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("result_kept", "Even 0")
def zero_taken_for_no_result(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result or "no result"})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("result_kept", 'role "tool"')
def result_recorded_as_a_user(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "user", "text": str(result)})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("result_kept", 'no "result"')
def result_under_another_key(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "output": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("result_kept", "was not recorded")
def empty_result_not_recorded(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        result = _run(tools, reply)
        if result:
            history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("result_kept", "None, was not recorded")
def result_none_not_recorded(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        result = _run(tools, reply)
        if result is not None:
            history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("answered", '"steps" was 3')
def steps_from_zero(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(max_steps):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("answered", "asked once more")
def goes_on_after_the_answer(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    answer = None
    for _step in range(1, max_steps + 1):
        reply = model(history)
        history.append(reply)
        if reply["type"] == "answer":
            answer = reply["text"]
            continue
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})
    return {"answer": answer, "steps": max_steps, "stopped": "answered"}


@wrong("answered", "one dict with three keys")
def returns_only_the_text(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for _step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return reply["text"]
        history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})
    return None


@wrong("answered", "it returned nothing")
def prints_instead_of_returning(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            print({"stopped": "answered", "answer": reply["text"], "steps": step})
            break
        history.append(reply)
        history.append({"role": "tool", "result": tools[reply["tool"]](**reply["input"])})


@wrong("answered", "letter by letter")
def another_word_for_answered(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "steps": step, "stopped": "done"}
        history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("answered", "not the text")
def whole_reply_as_the_answer(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"answer": reply, "steps": step, "stopped": "answered"}
        history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("step_limit", "a call too many")
def one_call_too_many(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    step = 0
    while step <= max_steps:
        step += 1
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": step}


@wrong("step_limit", "All the steps")
def one_call_too_few(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps - 1}


@wrong("step_limit", "a call too many")
def no_limit_at_all(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    step = 0
    while True:
        step += 1
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})


@wrong("step_limit", "in it is an answer")
def limit_looked_at_after_the_call(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in itertools.count(1):
        reply = model(history)
        if step >= max_steps:
            return {"stopped": "step limit", "answer": None, "steps": step}
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})


@wrong("step_limit", "Nothing may be made up")
def made_up_answer_at_the_limit(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    result = ""
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})
    return {"answer": f"Probably {result}", "steps": max_steps, "stopped": "step limit"}


@wrong("step_limit", "letter by letter")
def another_word_for_the_limit(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})
    return {"stopped": "step_limit", "answer": None, "steps": max_steps}


@wrong("step_limit", "returned nothing")
def nothing_comes_back_at_the_limit(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})


@wrong("step_limit", "RuntimeError")
def limit_raises(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})
    raise RuntimeError("too many steps")


@wrong("step_limit", "behind `max_steps=` in your first line")
def another_default(model, tools, goal, max_steps=20):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("failures", "left your function")
def failing_tool_crashes(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        result = tools[reply["tool"]](**reply["input"]) if reply["tool"] in tools else f"no {reply['tool']}"
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("failures", "left your function")
def catches_one_kind_of_error(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except (ValueError, KeyError) as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("failures", "own message")
def error_text_replaced(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception:
            result = "the tool failed"
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("failures", "own message")
def only_the_name_of_the_error_kept(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = type(problem).__name__
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("failures", "with no result for it")
def failure_leaves_no_result(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception:
            continue
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("failures", "not asked again")
def failure_ends_the_run(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            return {"answer": None, "steps": step, "stopped": f"error: {problem}"}
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("failures", "model's decision")
def failed_tool_tried_again_by_the_loop(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        result = f"no tool {reply['tool']}"
        if reply["tool"] in tools:
            for _ in range(2):
                try:
                    result = tools[reply["tool"]](**reply["input"])
                    break
                except Exception as problem:
                    result = f"{result if 'failed' in str(result) else ''} failed: {problem}"
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("failures", "KeyError")
def unknown_tool_raises_key_error(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        tool = tools[reply["tool"]]
        try:
            result = tool(**reply["input"])
        except Exception as problem:
            result = str(problem)
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("failures", "which name was unknown")
def unknown_tool_not_named(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"]) if reply["tool"] in tools else "unknown tool"
        except Exception as problem:
            result = str(problem)
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("failures", "ran instead")
def unknown_tool_replaced_by_another(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        try:
            result = tools.get(reply["tool"], next(iter(tools.values())))(**reply["input"])
        except Exception as problem:
            result = str(problem)
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("interrupt", "a tool was at work")
def bare_except_swallows_an_interrupt(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        result = f"no tool {reply['tool']}"
        if reply["tool"] in tools:
            try:
                result = tools[reply["tool"]](**reply["input"])
            except BaseException as problem:
                result = str(problem)
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("interrupt", "the model was at work")
def interrupt_in_the_model_swallowed(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        try:
            reply = model(history)
        except KeyboardInterrupt:
            return {"answer": None, "steps": step, "stopped": "interrupted"}
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


def loop(model, tools, goal, max_steps, *, run=None, show=list, entry=None, end=None):
    """The loop around the faults that follow: how a tool is run, what the model reads, what is recorded."""
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(show(history))
        if reply["type"] == "answer":
            given = {"answer": reply["text"], "steps": step, "stopped": "answered"}
            return {**given, **(end(reply, step) if end else {})}
        history.append(reply)
        result = (run or _run)(tools, reply)
        history.append(entry(history, result) if entry else {"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("result_kept", "one and the same dict")
def one_entry_for_all_results(model, tools, goal, max_steps=10):
    same = {"role": "tool"}

    def entry(history, result):
        same["result"] = result
        return same

    return loop(model, tools, goal, max_steps, entry=entry)


@wrong("result_kept", "than the calls before")
def earlier_results_blanked(model, tools, goal, max_steps=10):
    def entry(history, result):
        for old in history:
            if old.get("role") == "tool":
                old["result"] = "(old)"
        return {"role": "tool", "result": result}

    return loop(model, tools, goal, max_steps, entry=entry)


@wrong("result_kept", "than the calls before")
def one_list_of_all_results(model, tools, goal, max_steps=10):
    results = []

    def entry(history, result):
        results.append(result)
        return {"role": "tool", "result": results}

    return loop(model, tools, goal, max_steps, entry=entry)


@wrong("result_kept", "Nothing stands between")
def note_between_request_and_result(model, tools, goal, max_steps=10):
    def entry(history, result):
        history.append({"role": "user", "text": "The tool found:"})
        return {"role": "tool", "result": result}

    return loop(model, tools, goal, max_steps, entry=entry)


@wrong("request_kept", "was gone")
def only_the_goal_and_the_last_steps(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps, show=lambda history: [history[0], *history[1:][-8:]])


@wrong("result_kept", "the history holds")
def long_result_cut(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps, run=lambda tools, reply: str(_run(tools, reply))[:200])


@wrong("tool_run", "no tool ran")
def request_without_an_input_not_run(model, tools, goal, max_steps=10):
    def run(tools, reply):
        return _run(tools, reply) if reply["input"] else "no input was given"

    return loop(model, tools, goal, max_steps, run=run)


@wrong("tool_run", "no tool ran")
def reply_taken_apart_by_its_order(model, tools, goal, max_steps=10):
    def run(tools, reply):
        _, tool, input = reply.values()
        return _run(tools, {"tool": tool, "input": input})

    return loop(model, tools, goal, max_steps, run=run)


@wrong("step_limit", "All the steps")
def never_more_than_ten(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, min(max_steps, 10))


@wrong("failures", "own message")
def message_of_the_failure_cut(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps, run=lambda tools, reply: _run_and_cut(tools, reply, 90))


def _run_and_cut(tools, reply, chars):
    try:
        return tools[reply["tool"]](**reply["input"])
    except Exception as problem:
        return f"{reply['tool']}: {problem}"[: chars + len(reply["tool"])]


@wrong("failures", "left your function")
def catches_many_kinds_of_error(model, tools, goal, max_steps=10):
    def run(tools, reply):
        try:
            return tools[reply["tool"]](**reply["input"])
        except (ValueError, LookupError, OSError, RuntimeError) as problem:
            return f"{reply['tool']}: {problem}"

    return loop(model, tools, goal, max_steps, run=run)


@wrong("interrupt", "it went on")
def only_the_second_interrupt_leaves(model, tools, goal, max_steps=10):
    pressed = []

    def run(tools, reply):
        try:
            return _run(tools, reply)
        except KeyboardInterrupt:
            pressed.append(reply)
            if len(pressed) > 1:
                raise
            return "press again to stop"

    return loop(model, tools, goal, max_steps, run=run)


@wrong("answered", "not the text")
def first_line_of_the_answer(model, tools, goal, max_steps=10):
    def end(reply, step):
        return {"answer": reply["text"].splitlines()[0]}

    return loop(model, tools, goal, max_steps, end=end)


@wrong("answered", '"steps" was 4.0')
def steps_with_a_point(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps, end=lambda reply, step: {"steps": float(step)})


# --- right, in many ways


@right
def while_loop(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    step = 0
    while step < max_steps:
        step += 1
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history += [reply, {"role": "tool", "result": _run(tools, reply)}]
    return {"stopped": "step limit", "answer": None, "steps": step}


def _run(tools, reply):
    try:
        return tools[reply["tool"]](**reply["input"])
    except Exception as problem:
        return f"{reply['tool']} did not work: {problem!s}"


@right
def recursion(model, tools, goal, max_steps=10):
    def go(history, step):
        if step > max_steps:
            return {"stopped": "step limit", "answer": None, "steps": max_steps}
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        return go([*history, reply, {"role": "tool", "result": _run(tools, reply)}], step + 1)

    return go([{"role": "user", "text": goal}], 1)


class _Agent:
    def __init__(self, model, tools, goal):
        self.model, self.tools, self.steps = model, tools, 0
        self.history = [{"role": "user", "text": goal}]

    def step(self):
        self.steps += 1
        reply = self.model(self.history)
        self.history.append({"role": "model", **reply})
        if reply["type"] == "answer":
            return reply["text"]
        self.history.append(
            {"role": "tool", "tool": reply["tool"], "id": "", "result": _run(self.tools, reply)}
        )
        return None


@right
def a_class(model, tools, goal, max_steps=10):
    agent = _Agent(model, tools, goal)
    while agent.steps < max_steps:
        text = agent.step()
        if text is not None:
            return {"answer": text, "steps": agent.steps, "stopped": "answered", "history": agent.history}
    return {"answer": None, "steps": agent.steps, "stopped": "step limit", "history": agent.history}


@right
def a_generator(model, tools, goal, max_steps=10):
    def steps():
        history = [{"role": "user", "text": goal}]
        while True:
            reply = model(history)
            yield reply
            history.extend([reply, {"role": "tool", "result": _run(tools, reply)}])

    count = 0
    for reply in itertools.islice(steps(), max_steps):
        count += 1
        if reply["type"] == "answer":
            return dict(answer=reply["text"], steps=count, stopped="answered")  # noqa: C408
    return dict(answer=None, steps=count, stopped="step limit")  # noqa: C408


@right
def match_statement(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(max_steps):
        match model(history):
            case {"type": "answer", "text": text}:
                return {"answer": text, "steps": step + 1, "stopped": "answered"}
            case {"type": "tool", "tool": name, "input": input} as reply:
                history.append(reply)
                if name not in tools:
                    history.append({"role": "tool", "result": {"error": "unknown_tool", "message": name}})
                    continue
                try:
                    history.append({"role": "tool", "result": tools[name](**input)})
                except Exception as problem:
                    history.append({"role": "tool", "result": {"error": "failed", "message": str(problem)}})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@right
def gives_the_model_a_copy(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(copy.deepcopy(history))
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(copy.deepcopy(reply))
        history.append({"role": "tool", "result": _run(tools, copy.deepcopy(reply))})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@right
def results_as_text(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        history.append({"role": "tool", "result": json.dumps(_run(tools, reply))})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@right
def results_by_str(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        history.append({"role": "tool", "result": f"{reply['tool']} gave: {_run(tools, reply)}"})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@right
def results_in_an_envelope(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append({**reply, "role": "assistant", "step": step})
        function = tools.get(reply["tool"])
        if function is None:
            envelope = {"ok": False, "why": f"there is no {reply['tool']}, only {list(tools)}"}
        else:
            try:
                envelope = {"ok": True, "value": function(**reply["input"])}
            except KeyboardInterrupt:
                raise
            except BaseException as problem:
                envelope = {"ok": False, "why": repr(problem)}
        history.append({"role": "tool", "result": envelope})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@right
def last_tool_not_run_at_the_limit(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    step = 1
    while True:
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        if step == max_steps:  # nobody would read the result any more
            return {"stopped": "step limit", "answer": None, "steps": step}
        history += [reply, {"role": "tool", "result": _run(tools, reply)}]
        step += 1


@right
def prints_all_the_time(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        print("step", step)
        reply = model(history)
        print(reply)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history += [reply, {"role": "tool", "result": _run(tools, reply)}]
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@right
def interrupt_tidied_up_and_raised_again(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    try:
        for step in range(1, max_steps + 1):
            reply = model(history)
            if reply["type"] == "answer":
                return {"stopped": "answered", "answer": reply["text"], "steps": step}
            history += [reply, {"role": "tool", "result": _run(tools, reply)}]
    except KeyboardInterrupt:
        history.append({"role": "user", "text": "stopped by a person"})
        raise
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@right
def loop_with_else(model, tools, goal, max_steps=10):
    stopped, answer, history = "step limit", None, [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):  # noqa: B007
        if (reply := model(history))["type"] != "tool":
            stopped, answer = "answered", reply["text"]
            break
        history += [reply, {"role": "tool", "result": _run(tools, reply)}]
    return {"answer": answer, "steps": step, "stopped": stopped}
