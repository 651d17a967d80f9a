"""Loops as a learner writes them after notebook 01: about twenty lines over plain dicts, without agentlib."""


def run_agent(model, tools, goal, max_steps=10):
    """Ask, check, act, record, until there is an answer or the steps are used up."""
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        history.append(reply)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "stopped": "answered", "steps": step, "history": history}
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = {"error": type(problem).__name__, "message": str(problem)}
        history.append({"role": "tool", "tool": reply["tool"], "result": result})
    return {"answer": None, "stopped": "step limit", "steps": max_steps, "history": history}


def bare_loop(model, tools, goal, max_steps=10, failure=lambda problem: {"error": str(problem)}):
    """A loop as a learner writes it: replies without "role", results without "id" and "tool"."""
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        history.append(reply)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "steps": step, "stopped": "answered", "history": history}
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = failure(problem)
        history.append({"role": "tool", "result": result})
    return {"answer": None, "steps": max_steps, "stopped": "step limit", "history": history}


FAILURES = {
    "words alone": lambda problem: {"error": str(problem)},
    "code and message": lambda problem: {"error": "tool_failed", "message": str(problem)},
    "plain text": lambda problem: f"error: {problem}",
    "type before the words": lambda problem: {"error": f"{type(problem).__name__}: {problem}"},
    "list": lambda problem: ["failed", str(problem)],
}
