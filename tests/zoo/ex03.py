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

nothing_mended = wrong("request_kept", "its own request")(
    all_mended, NO_LIMIT, NO_RECORD, NO_TRY, ONLY_TEXT, NO_END
)


@wrong("works", "never asked")
def emptied(model, tools, goal, max_steps=10):
    return {"answer": None, "steps": 0, "stopped": "step limit"}


request_forgotten = wrong("request_kept", "its own request")(all_mended, NO_RECORD)
end_not_told = wrong("tells_the_end", "three keys")(all_mended, ONLY_TEXT, NO_END)
limit_forgotten = wrong("step_limit", "a call too many")(all_mended, NO_LIMIT)
crash_left = wrong("failures", "left your function")(all_mended, NO_TRY)
only_the_failing_tool_mended = wrong("failures", "KeyError")(
    all_mended,
    'try:\n    result = tools[reply["tool"]]',
    'function = tools[reply["tool"]]\ntry:\n    result = function',
)
mended_with_a_bare_except = wrong("interrupt", "Ctrl-C")(all_mended, "Exception", "BaseException")
match_statement = right(ex01.match_statement.functions[0])
