def run_agent(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        history.append({"role": "model", **reply})
        if reply["type"] == "answer":
            return {"answer": reply["text"], "stopped": "answered", "steps": step, "history": history}
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = {"error": str(problem)}
        history.append({"role": "tool", "tool": reply["tool"], "result": result})
    return {"answer": None, "stopped": "step limit", "steps": step, "history": history}
