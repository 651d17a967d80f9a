"""ex01: the loop."""

import copy  # noqa: F401  in a patch
import itertools
import json  # noqa: F401  in a patch

from tests.zoo import patch, right, wrong


def loop(model, tools, goal, max_steps=10):
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


START = '[{"role": "user", "text": goal}]'
STEPS = "for step in range(1, max_steps + 1):"
ANSWERED = '{"stopped": "answered", "answer": reply["text"], "steps": step}'
REQUEST = "history.append(reply)"
TRY = "try:\n    result = "
RUN = 'result = tools[reply["tool"]](**reply["input"])'
CATCH = "except Exception as problem:"
FAILED = "result = f\"{reply['tool']}: {problem}\""
BLOCK = f"try:\n    {RUN}\n{CATCH}\n    {FAILED}"
RESULT = 'history.append({"role": "tool", "result": result})'
END = 'return {"stopped": "step limit", "answer": None, "steps": max_steps}'

# --- wrong: where the history begins

starts_with_an_empty_history = wrong("goal_first", "read 0 entries")(loop, START, "[]")


@wrong("goal_first", "no list")
def asks_with_the_bare_goal(model, tools, goal, max_steps=10):
    reply = model(goal)
    return {"answer": reply.get("text"), "steps": 1, "stopped": "answered"}


goal_has_another_role = wrong("goal_first", '"user"')(loop, '"user"', '"system"')
history_shared_between_runs = wrong("goal_first", "left over from the run before")(
    loop, ("max_steps=10", "max_steps=10, history=[]"), ("history = [", "history += [")
)


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


# --- wrong: how the tool is run

tool_runs_twice = wrong("tool_run", "once more though nobody had asked")(
    loop, "result = tools", 'tools[reply["tool"]](**reply["input"])\nresult = tools'
)
input_handed_over_as_one_dict = wrong("tool_run", "in one piece")(loop, "**reply", "reply")
input_changed_on_the_way = wrong("tool_run", "unchanged")(
    loop, '**reply["input"]', '**{name: str(value).lower() for name, value in reply["input"].items()}'
)
always_the_first_tool = wrong("tool_run", "ran")(loop, 'tools[reply["tool"]]', "[*tools.values()][0]")
crashes_on_a_request = wrong("tool_run", "KeyError: 'tekst'")(
    loop, 'if reply["type"] == "answer":\n    return', 'print(reply["tekst"])\nreturn'
)


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


request_without_an_input_not_run = wrong("tool_run", "no tool ran")(
    loop, RUN, f'{RUN} if reply["input"] else "no input was given"'
)
reply_taken_apart_by_its_order = wrong("tool_run", "no tool ran")(
    loop, RUN, "_, tool, input = reply.values()\nresult = tools[tool](**input)"
)

# --- wrong: what becomes of the request

only_the_result_recorded = wrong("request_kept", "its own request")(loop, REQUEST, "")
history_begun_in_the_loop = wrong("request_kept", "made anew in each round")(
    loop, "reply = model(history)", "history = [{'role': 'user', 'text': goal}]\nreply = model(history)"
)
history_made_anew_each_step = wrong("request_kept", "earlier request")(
    loop, (REQUEST, ""), (RESULT, f'history = [*{START}, reply, {{"role": "tool", "result": result}}]')
)
goal_lost_after_the_first_call = wrong("request_kept", "goal was no longer at the start")(
    loop, REQUEST, f"if step == 1:\n    history = []\n{REQUEST}"
)
request_recorded_twice = wrong("request_kept", "stands there twice")(
    loop, "model(history)", f"model(history)\n{REQUEST}"
)
only_the_last_entry_handed_over = wrong("request_kept", "What do you hand to the model?")(
    loop, "model(history)", "model(history[-1:])"
)
text_about_the_request_recorded = wrong("request_kept", "The reply itself")(
    loop, "append(reply)", """append({"role": "model", "text": f"asks for {reply['tool']}"})"""
)
request_recorded_without_its_input = wrong("request_kept", "was missing")(
    loop, (REQUEST, f'{REQUEST}\ninput = reply.pop("input")'), ('**reply["input"]', "**input")
)
only_the_goal_and_the_last_steps = wrong("request_kept", "was gone")(
    loop, "model(history)", "model([history[0], *history[1:][-8:]])"
)


@wrong("request_kept failures", "not asked again")
def ends_after_the_first_result(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    reply = model(history)
    result = tools[reply["tool"]](**reply["input"])
    return {"answer": str(result), "steps": 1, "stopped": "answered"}


# --- wrong: what becomes of the result

result_before_its_request = wrong("result_kept", "before its request")(
    loop, (REQUEST, ""), (RESULT, f"{RESULT}\nhistory.append(reply)")
)
only_the_request_recorded = wrong("result_kept", "missing")(loop, RESULT, "")
zero_taken_for_no_result = wrong("result_kept", "Even 0")(
    loop, '"result": result', '"result": result or "no result"'
)
result_recorded_as_a_user = wrong("result_kept", 'role "tool"')(
    loop, '{"role": "tool", "result": result}', '{"role": "user", "text": str(result)}'
)
result_under_another_key = wrong("result_kept", 'no "result"')(loop, '"result"', '"output"')
empty_result_not_recorded = wrong("result_kept", "was not recorded")(
    loop, RESULT, f"if result:\n    {RESULT}"
)
result_none_not_recorded = wrong("result_kept", "None, was not recorded")(
    loop, RESULT, f"if result is not None:\n    {RESULT}"
)
one_entry_for_all_results = wrong("result_kept", "one and the same dict")(
    loop,
    (START, f'{START}\nsame = {{"role": "tool"}}'),
    (RESULT, 'same["result"] = result\nhistory.append(same)'),
)
earlier_results_blanked = wrong("result_kept", "than the calls before")(
    loop,
    RESULT,
    f"""for old in history:
    if old.get("role") == "tool":
        old["result"] = "(old)"
{RESULT}""",
)
one_list_of_all_results = wrong("result_kept", "than the calls before")(
    loop,
    (START, f"{START}\nresults = []"),
    (RESULT, 'results.append(result)\nhistory.append({"role": "tool", "result": results})'),
)
note_between_request_and_result = wrong("result_kept", "Nothing stands between")(
    loop, RESULT, f'history.append({{"role": "user", "text": "The tool found:"}})\n{RESULT}'
)
long_result_cut = wrong("result_kept", "the history holds")(
    loop, '"result": result', '"result": str(result)[:200]'
)

# --- wrong: what comes back

steps_from_zero = wrong("answered", '"steps" was 3')(loop, "range(1, max_steps + 1)", "range(max_steps)")
goes_on_after_the_answer = wrong("answered", "asked once more")(
    loop,
    (START, f"{START}\nanswer = None"),
    (f"return {ANSWERED}", f'answer = reply["text"]\n{REQUEST}\ncontinue'),
    (END, 'return {"answer": answer, "steps": max_steps, "stopped": "answered"}'),
)
returns_only_the_text = wrong("answered", "one dict with three keys")(
    loop, (ANSWERED, 'reply["text"]'), (END, "return None")
)
prints_instead_of_returning = wrong("answered", "it returned nothing")(
    loop, (f"return {ANSWERED}", f"print({ANSWERED})\nbreak"), (END, "")
)
another_word_for_answered = wrong("answered", "letter by letter")(loop, '"answered"', '"done"')
whole_reply_as_the_answer = wrong("answered", "not the text")(loop, 'reply["text"]', "reply")
answer_without_its_spaces = wrong("answered", "alone and unchanged")(
    loop, 'reply["text"]', 'reply["text"].strip()'
)
first_line_of_the_answer = wrong("answered", "not the text")(
    loop, 'reply["text"]', 'reply["text"].splitlines()[0]'
)
steps_with_a_point = wrong("answered", '"steps" was 4.0')(loop, '"steps": step}', '"steps": float(step)}')

answer_to_the_first_call_ignored = wrong("answered", "in its very first call")(
    loop, 'if reply["type"] == "answer":', 'if reply["type"] == "answer" and step > 1:'
)
a_tool_demanded_before_an_answer = wrong("answered", "may know the answer without a tool")(
    loop, 'if reply["type"] == "answer":', 'if reply["type"] == "answer" and len(history) > 1:'
)

# --- wrong: where it ends

counted = patch(
    loop, (STEPS, "step = 0\nwhile step < max_steps:\n    step += 1"), ('"steps": max_steps', '"steps": step')
)

one_call_too_many = wrong("step_limit", "a call too many")(counted, "<", "<=")
one_call_too_few = wrong("step_limit", "All the steps")(
    loop, ("range(1, max_steps + 1)", "range(1, max_steps)"), ('"steps": max_steps', '"steps": max_steps - 1')
)
no_limit_at_all = wrong("step_limit", "a call too many")(counted, "step < max_steps", "True")
limit_looked_at_after_the_call = wrong("step_limit", "in it is an answer")(
    loop,
    (END, ""),
    (STEPS, "for step in itertools.count(1):"),
    ("model(history)", f"model(history)\nif step >= max_steps:\n    {END}"),
)
made_up_answer_at_the_limit = wrong("step_limit", "Nothing may be made up")(
    loop, '"answer": None', '"answer": f"Probably {result}"'
)
another_word_for_the_limit = wrong("step_limit", "letter by letter")(loop, "step limit", "step_limit")
nothing_comes_back_at_the_limit = wrong("step_limit", "returned nothing")(loop, END, "")
limit_raises = wrong("step_limit", "RuntimeError")(loop, END, 'raise RuntimeError("too many steps")')
another_default = wrong("step_limit", "behind `max_steps=` in your first line")(
    loop, "max_steps=10", "max_steps=20"
)
never_more_than_ten = wrong("step_limit", "All the steps")(
    loop, STEPS, f"max_steps = min(max_steps, 10)\n{STEPS}"
)

# --- wrong: tools that fail

failing_tool_crashes = wrong("failures", "left your function")(
    loop, BLOCK, f"""{RUN} if reply["tool"] in tools else f"no {{reply['tool']}}\""""
)
catches_one_kind_of_error = wrong("failures", "left your function")(
    loop, CATCH, "except (ValueError, KeyError) as problem:"
)
catches_many_kinds_of_error = wrong("failures", "left your function")(
    loop, CATCH, "except (ValueError, LookupError, OSError, RuntimeError) as problem:"
)
error_text_replaced = wrong("failures", "own message")(loop, FAILED, 'result = "the tool failed"')
only_the_name_of_the_error_kept = wrong("failures", "own message")(
    loop, FAILED, "result = type(problem).__name__"
)
message_of_the_failure_cut = wrong("failures", "own message")(
    loop, FAILED, f'{FAILED}[: 90 + len(reply["tool"])]'
)
failure_leaves_no_result = wrong("failures", "with no result for it")(loop, FAILED, "continue")
failure_ends_the_run = wrong("failures", "not asked again")(
    loop, FAILED, 'return {"answer": None, "steps": step, "stopped": f"error: {problem}"}'
)
failed_tool_tried_again_by_the_loop = wrong("failures", "model's decision")(
    loop,
    FAILED,
    f"""{FAILED}
if reply["tool"] in tools:
    try:
        {RUN}
    except Exception as again:
        result = f"{{result}}, {{again}}\"""",
)
unknown_tool_raises_key_error = wrong("failures", "KeyError")(
    loop, TRY + 'tools[reply["tool"]]', 'tool = tools[reply["tool"]]\ntry:\n    result = tool'
)
unknown_tool_found_in_other_letters = wrong("failures", "ran instead")(
    loop,
    RUN,
    'result = {name.lower(): tool for name, tool in tools.items()}[reply["tool"].lower()](**reply["input"])',
)
failed_tool_taken_out = wrong("failures", "Is it still in `tools`?")(
    loop, (START, f"{START}\ntools = dict(tools)"), (FAILED, f'{FAILED}\ntools.pop(reply["tool"], None)')
)
result_with_an_error_ends_the_run = wrong("failures", "whatever stands in it")(
    loop,
    RESULT,
    f'{RESULT}\nif isinstance(result, dict) and "error" in result:\n'
    '    return {"answer": None, "steps": step, "stopped": "step limit"}',
)
unknown_tool_not_named = wrong("failures", "which name was unknown")(
    loop, RUN, f'{RUN} if reply["tool"] in tools else "unknown tool"'
)
unknown_tool_replaced_by_another = wrong("failures", "ran instead")(
    loop, 'tools[reply["tool"]]', 'tools.get(reply["tool"], next(iter(tools.values())))'
)

failure_under_another_key = wrong("failures", 'no "result"')(
    loop,
    (FAILED, 'history.append({"role": "tool", "error": str(problem)})\ncontinue'),
)
failure_told_by_the_user = wrong("failures", "with no result for it")(
    loop, FAILED, 'history.append({"role": "user", "text": str(problem)})\ncontinue'
)
# The model's own failure is recorded as if a tool had failed.
try_around_all_of_a_step = wrong("failures", "the model itself failed")(
    loop,
    (TRY, "result = "),
    (f"{CATCH}\n    {FAILED}\n", ""),
    (
        "reply = model(history)",
        """try:
    reply = model(history)
    if reply["type"] == "tool":
        history.append(reply)
        history.append({"role": "tool", "result": tools[reply["tool"]](**reply["input"])})
        continue
except Exception as problem:
    history.append({"role": "tool", "result": str(problem)})
    continue""",
    ),
)
failing_model_asked_again = wrong("failures", "was called again all the same")(
    loop, "reply = model(history)", "try:\n    reply = model(history)\nexcept Exception:\n    continue"
)

# --- wrong: what has to leave the function

failing_model_ends_the_run_in_silence = wrong("leaves", "cannot mend a model that fails")(
    loop,
    "reply = model(history)",
    """try:
    reply = model(history)
except Exception as problem:
    return {"answer": None, "steps": step, "stopped": f"error: {problem}"}""",
)

bare_except_swallows_an_interrupt = wrong("leaves", "a tool was at work")(
    loop, CATCH, "except BaseException as problem:"
)
interrupt_in_the_model_swallowed = wrong("leaves", "the model was at work")(
    loop,
    "reply = model(history)",
    """try:
    reply = model(history)
except KeyboardInterrupt:
    return {"answer": None, "steps": step, "stopped": "interrupted"}""",
)
only_the_second_interrupt_leaves = wrong("leaves", "it went on")(
    loop,
    (START, f"{START}\npressed = []"),
    (
        CATCH,
        f"""except KeyboardInterrupt:
    pressed.append(reply)
    if len(pressed) > 1:
        raise
    result = "press again to stop"
{CATCH}""",
    ),
)

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


gives_the_model_a_copy = right(
    loop,
    ("model(history)", "model(copy.deepcopy(history))"),
    (REQUEST, "history.append(copy.deepcopy(reply))"),
    ('**reply["input"]', '**copy.deepcopy(reply)["input"]'),
)
results_as_text = right(loop, '"result": result', '"result": json.dumps(result)')
results_by_str = right(loop, '"result": result', """"result": f"{reply['tool']} gave: {result}\"""")


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


prints_all_the_time = right(
    loop, "reply = model(history)", 'print("step", step)\nreply = model(history)\nprint(reply)'
)


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


class _Done(Exception):
    pass


@right
def ends_by_an_exception_of_its_own(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    asked = 0

    def ask_once():
        nonlocal asked
        if asked == max_steps:
            raise _Done({"answer": None, "stopped": "step limit"})
        asked += 1
        reply = model(history)
        if reply["type"] == "answer":
            raise _Done({"answer": reply["text"], "stopped": "answered"})
        history.append(reply)
        return reply

    try:
        while True:
            history.append({"role": "tool", "result": _run(tools, ask_once())})
    except _Done as end:
        return {**end.args[0], "steps": asked}


@right
def replies_from_iter(model, tools, goal, max_steps=10):
    history, run = [{"role": "user", "text": goal}], {"answer": None, "steps": 0, "stopped": "step limit"}
    replies = iter(lambda: model([dict(entry) for entry in history]), None)
    for reply in itertools.islice(replies, max_steps):
        run["steps"] += 1
        if reply.get("text") is not None and reply["type"] == "answer":
            return run | {"answer": reply["text"], "stopped": "answered"}
        history.extend((reply, {"role": "tool", "tool": reply["tool"], "result": _run(tools, reply)}))
    return run


@right
def unknown_tools_first_of_all(model, tools, goal, max_steps=10):
    def unknown(name):
        return lambda **_: {"error": "unknown_tool", "message": f"no {name}; there are {sorted(tools)}"}

    history = [{"role": "user", "text": goal}]
    for step in itertools.count(1):
        if step > max_steps:
            return {"answer": None, "steps": step - 1, "stopped": "step limit"}
        reply = model(history)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "steps": step, "stopped": "answered"}
        history.append(reply)
        act = tools.get(reply["tool"]) or unknown(reply["tool"])
        entry = {"role": "tool", "result": None}
        try:
            entry["result"] = act(**reply["input"])
        except Exception as problem:
            entry["result"] = [type(problem).__name__, *map(str, problem.args)]
        history.append(entry)
