"""ex03: the fragile loop with all its bugs, with three of the four mended, and mended in a wrong way."""

from tests.zoo import ex01, right, wrong


@right
def all_mended(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    step = 0
    while step < max_steps:
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


# Each takes one mend back.
NO_LIMIT = ("step < max_steps", "True")
NO_RECORD = ("history.append(reply)", "")
NO_TRY = ("result = f\"{reply['tool']}: {problem}\"", "raise")
ONLY_TEXT = ('{"stopped": "answered", "answer": reply["text"], "steps": step}', 'reply["text"]')
NO_END = ('{"stopped": "step limit", "answer": None, "steps": step}', "None")

nothing_mended = wrong("request_kept tells_the_end step_limit failures", "its own request")(
    all_mended, NO_LIMIT, NO_RECORD, NO_TRY, ONLY_TEXT, NO_END
)


@wrong("works", "never asked")
def emptied(model, tools, goal, max_steps=10):
    return {"answer": None, "steps": 0, "stopped": "step limit"}


request_forgotten = wrong("request_kept", "its own request")(all_mended, NO_RECORD)
end_not_told = wrong("tells_the_end", "three keys")(all_mended, ONLY_TEXT, NO_END)
limit_forgotten = wrong("step_limit", "a call too many")(all_mended, NO_LIMIT)
limit_and_crash_left = wrong("step_limit failures", "a call too many")(all_mended, NO_LIMIT, NO_TRY)
request_and_crash_left = wrong("request_kept failures", "its own request")(all_mended, NO_RECORD, NO_TRY)
crash_left = wrong("failures", "left your function")(all_mended, NO_TRY)
only_the_failing_tool_mended = wrong("failures", "KeyError")(
    all_mended,
    'try:\n    result = tools[reply["tool"]]',
    'function = tools[reply["tool"]]\ntry:\n    result = function',
)
mended_with_a_bare_except = wrong("leaves", "Ctrl-C")(all_mended, "Exception", "BaseException")
one_more_try_than_allowed = wrong("step_limit", "a call too many")(
    all_mended, "step < max_steps", "step <= max_steps"
)
words_at_the_limit = wrong("step_limit", "Nothing may be made up")(
    all_mended, '"answer": None', '"answer": "I could not find out."'
)
only_the_misspelt_name_mended = wrong("failures", "left your function")(
    all_mended,
    """try:
    result = tools[reply["tool"]](**reply["input"])
except Exception as problem:
    result = f"{reply['tool']}: {problem}\"""",
    """tool = tools.get(reply["tool"])
result = tool(**reply["input"]) if tool else f"There is no {reply['tool']}.\"""",
)


@wrong("request_kept", "its own request")
def requests_noted_where_no_model_looks(model, tools, goal, max_steps=10):
    found, asked = [], []
    for step in range(1, max_steps + 1):
        reply = model([{"role": "user", "text": goal}, *found])
        if "text" in reply:
            return {"answer": reply["text"], "steps": step, "stopped": "answered", "asked": asked}
        asked.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = f"{reply['tool']}: {problem}"
        found.append({"role": "tool", "result": result})
    return {"answer": None, "steps": max_steps, "stopped": "step limit", "asked": asked}


@right
def mended_where_it_stands(model, tools, goal, max_steps=10):
    found, steps, done = [], 0, False
    while not done and steps < max_steps:
        reply = model([{"role": "user", "text": goal}, *found])
        steps += 1
        done = "text" in reply
        if not done:
            tool = tools.get(reply["tool"])
            try:
                result = tool(**reply["input"]) if tool else f"unknown: {reply['tool']}"
            except Exception as problem:
                result = f"failed: {problem}"
            found += [reply, {"role": "tool", "result": result}]
    stopped = "answered" if done else "step limit"
    return {"answer": reply["text"] if done else None, "steps": steps, "stopped": stopped}


match_statement = right(ex01.match_statement.functions[0])
recursion = right(ex01.recursion.functions[0])
