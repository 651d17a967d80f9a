"""ex03: the fragile loop with all its bugs, with three of the four mended, and mended in a wrong way."""

from tests.zoo import ex01, right, wrong


def loop(model, tools, goal, max_steps, *, limit=True, safe=True, record=True, tell=True):
    """The fragile loop; each flag mends one of its bugs."""
    history = [{"role": "user", "text": goal}]
    step = 0
    while step < max_steps or not limit:
        step += 1
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step} if tell else reply["text"]
        if record:
            history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            if not safe:
                raise
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": step} if tell else None


@wrong("request_kept", "its own request")
def nothing_mended(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps, limit=False, safe=False, record=False, tell=False)


@wrong("works", "never asked")
def emptied(model, tools, goal, max_steps=10):
    return {"answer": None, "steps": 0, "stopped": "step limit"}


@wrong("request_kept", "its own request")
def request_forgotten(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps, record=False)


@wrong("tells_the_end", "three keys")
def end_not_told(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps, tell=False)


@wrong("step_limit", "a call too many")
def limit_forgotten(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps, limit=False)


@wrong("failures", "left your function")
def crash_left(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps, safe=False)


@wrong("failures", "KeyError")
def only_the_failing_tool_mended(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        function = tools[reply["tool"]]
        try:
            result = function(**reply["input"])
        except Exception as problem:
            result = str(problem)
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("interrupt", "Ctrl-C")
def mended_with_a_bare_except(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        try:
            result = tools[reply["tool"]](**reply["input"])
        except BaseException as problem:
            result = f"{reply['tool']}: {problem}"
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@right
def all_mended(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps)


right_as_in_ex01 = right(ex01.match_statement.functions[0])
