"""A loop as a learner writes it after notebook 01: about twenty lines over plain dicts, without agentlib."""


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
