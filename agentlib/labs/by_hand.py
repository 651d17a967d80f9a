"""Loops written by hand, as lessons 01 to 04 build them: plain functions over plain dicts.

`quick_check` gives them to a learner whose own lines are not right yet, and learners step through them: so
they are written as learners write.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, disable-error-code="var-annotated"

from agentlib.labs.trains import too_often

__all__ = [
    "act",
    "budget",
    "careless_loop",
    "first_reason",
    "is_answer",
    "limited_loop",
    "record",
    "same_call",
    "simple_loop",
    "step_limit",
    "three_stops",
    "times_asked",
    "too_often",
]


def is_answer(reply):
    """Tell whether a reply is an answer: no tool is asked for."""
    return reply["type"] == "answer"


def act(tools, reply):
    """Run the tool that a reply asks for. A failure, and a name that is not there, become a result."""
    name = reply["tool"]
    if name not in tools:
        return {"error": f"There is no tool {name}. There are: {', '.join(tools)}."}
    try:
        return tools[name](**reply["input"])
    except Exception as problem:
        return {"error": str(problem)}


def record(history, reply, result):
    """Write a request and its result into the history."""
    history.append(reply)
    history.append({"role": "tool", "result": result})


def simple_loop(model, tools, goal, max_steps=10):
    """Ask, check, act, record, at most max_steps times."""
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if is_answer(reply):
            history.append(reply)
            return {"answer": reply["text"], "steps": step, "stopped": "answered", "history": history}
        result = act(tools, reply)
        record(history, reply, result)
    return {"answer": None, "steps": max_steps, "stopped": "step limit", "history": history}


def careless_loop(model, tools, goal, max_steps=10):
    """Do the same, but let a tool's failure through: it ends the run and loses its work."""
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if is_answer(reply):
            history.append(reply)
            return {"answer": reply["text"], "steps": step, "stopped": "answered", "history": history}
        result = tools[reply["tool"]](**reply["input"])
        record(history, reply, result)
    return {"answer": None, "steps": max_steps, "stopped": "step limit", "history": history}


def step_limit(steps, max_steps):
    """Give the reason to stop when all steps are used, else None."""
    return "step limit" if steps >= max_steps else None


def budget(coins, next_cost, budget_coins):
    """Give the reason to stop when the next call would cost too much, else None."""
    return "budget limit" if coins + next_cost > budget_coins else None


def first_reason(used, limits, step_limit, budget):
    """Ask both rules: the step limit first. used: steps, coins, and what the next call would cost."""
    steps, coins, next_cost = used
    max_steps, budget_coins = limits
    return step_limit(steps, max_steps) or budget(coins, next_cost, budget_coins)


def limited_loop(model, tools, goal, max_steps=10, budget_coins=1_000, step_limit=step_limit, budget=budget):
    """Ask, check, act, record, until there is an answer or a rule says stop."""
    history, costs = [{"role": "user", "text": goal}], []
    limits, answer, stopped = (max_steps, budget_coins), None, None
    while stopped is None:
        cost = len(history)
        used = len(costs), sum(costs), cost
        stopped = first_reason(used, limits, step_limit, budget)
        if stopped is None:
            costs.append(cost)
            reply = model(history)
            if is_answer(reply):
                history.append(reply)
                answer, stopped = reply["text"], "answered"
            else:
                record(history, reply, act(tools, reply))
    return {"answer": answer, "stopped": stopped, "steps": len(costs), "coins": sum(costs),
            "costs": costs, "history": history}  # fmt: skip


def same_call(one, other):
    """Tell whether two requests ask for the same: the same tool with the same input."""
    return one["tool"] == other["tool"] and one["input"] == other["input"]


def times_asked(request, earlier, same=same_call):
    """Count how often a request has come, this time included."""
    return 1 + sum(same(request, before) for before in earlier)


def three_stops(model, tools, goal, max_steps=6, times=3, count=times_asked, enough=too_often):
    """Stop for an answer, for a step limit, or for a request that has come too often."""
    history, requests = [{"role": "user", "text": goal}], []
    for step in range(1, max_steps + 1):
        reply = model(history)
        if is_answer(reply):
            history.append(reply)
            return {"answer": reply["text"], "steps": step, "stopped": "answered", "history": history}
        if enough(count(reply, requests), times):
            return {"answer": None, "steps": step, "stopped": "repeated call", "history": history}
        requests.append(reply)
        record(history, reply, act(tools, reply))
    return {"answer": None, "steps": max_steps, "stopped": "step limit", "history": history}
