"""Loops in many styles, as learners write them. What the player has to say of them stands in player_said.

Each takes `model, tools, goal` and perhaps `max_steps`; the tool is `stock_level(warehouse)`, which raises
for "North". Some are odd on purpose, also in how their lines are set.
"""

# ruff: noqa: B007, C408, E501, E701, E702, F841, SIM, TRY, UP
# fmt: off
import asyncio
import contextlib
import functools
from collections import deque
from dataclasses import dataclass, field


def plain_for(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]
    for step in range(max_steps):
        reply = model(history)
        history.append(reply)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "stopped": "answered"}
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = {"error": str(problem)}
        history.append({"role": "tool", "tool": reply["tool"], "result": result})
    return {"stopped": "step limit", "answer": None}


def one_line_return(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]
    for step in range(max_steps):
        reply = model(history)
        if reply["type"] == "answer": return {"answer": reply["text"], "stopped": "answered"}
        history.append(reply)
        try: result = tools[reply["tool"]](**reply["input"])
        except Exception as problem: result = {"error": str(problem)}
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None}


def one_line_break(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]
    answer = None
    steps = 0
    while True:
        if steps >= max_steps: break
        steps += 1
        reply = model(history)
        history.append(reply)
        if reply["type"] == "answer": answer = reply["text"]; break
        if reply["input"] == {"warehouse": "North"}: history.append({"role": "user", "text": "No."}); continue
        history.append({"role": "tool", "result": tools["stock_level"](**reply["input"])})
    return {"answer": answer, "stopped": "answered" if answer else "step limit"}


def one_line_raise(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]
    for step in range(max_steps):
        reply = model(history)
        history.append(reply)
        try:
            if reply["type"] == "answer": raise StopIteration(reply["text"])
            history.append({"role": "tool", "result": tools["stock_level"](**reply["input"])})
        except StopIteration as end:
            return {"answer": end.value, "stopped": "answered"}
        except ValueError as problem:
            history.append({"role": "tool", "result": {"error": str(problem)}})


def while_flag(model, tools, goal, max_steps=99):
    history = [{"role": "user", "text": goal}]
    running = True
    answer = None
    while running:
        reply = model(history)
        history.append(reply)
        if reply["type"] == "answer":
            answer = reply["text"]
            running = False
        else:
            warehouse = reply["input"]["warehouse"].lower()
            history.append({"role": "tool", "result": tools["stock_level"](warehouse)})
    return answer


def for_flag(model, tools, goal, max_steps=99):
    history = [{"role": "user", "text": goal}]
    done = False
    for step in range(max_steps):
        if done:
            break
        reply = model(history)
        history.append(reply)
        done = reply["type"] == "answer"
        if not done:
            history.append(
                {"role": "tool", "result": tools["stock_level"](reply["input"]["warehouse"].lower())}
            )
    return {"answer": reply["text"], "stopped": "answered"}


def while_condition(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]
    step = 0
    reply = {"type": None}
    while step < max_steps and reply["type"] != "answer":
        reply = model(history)
        history.append(reply)
        step += 1
        if reply["type"] == "tool":
            history.append(
                {"role": "tool", "result": tools["stock_level"](reply["input"]["warehouse"].lower())}
            )
    return reply.get("text")


def recursive(model, tools, goal, max_steps=4, history=None):
    history = history or [{"role": "user", "text": goal}]
    if max_steps == 0:
        return {"stopped": "step limit", "answer": None}
    reply = model(history)
    if reply["type"] == "answer":
        return {"answer": reply["text"], "stopped": "answered"}
    result = tools["stock_level"](reply["input"]["warehouse"].lower())
    found = recursive(
        model, tools, goal, max_steps - 1, [*history, reply, {"role": "tool", "result": result}]
    )
    return found


class Agent:
    def __init__(self, budget=10):
        self.history = []
        self.budget = budget
        self.spent = 0

    def act(self, request):
        try:
            return self.tools[request["tool"]](**request["input"])
        except ValueError as problem:
            return {"error": str(problem)}

    def entry(self, result):
        return {"role": "tool", "result": result}

    def run(self, model, tools, goal, max_steps=4):
        self.tools = tools
        self.history.append({"role": "user", "text": goal})
        for step in range(max_steps):
            if self.spent + 1 > self.budget:
                return {"answer": None, "stopped": "budget limit"}
            reply = model(self.history)
            self.spent += 1
            self.history.append(reply)
            if reply["type"] == "answer":
                return {"answer": reply["text"], "stopped": "answered"}
            self.history.append(self.entry(self.act(reply)))
        return {"stopped": "step limit", "answer": None}


def generator(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]

    def steps():
        while True:
            reply = model(history)
            history.append(reply)
            yield reply
            if reply["type"] == "answer":
                return

    for reply in steps():
        if reply["type"] == "tool":
            history.append(
                {"role": "tool", "result": tools["stock_level"](reply["input"]["warehouse"].lower())}
            )
    return {"answer": reply["text"], "stopped": "answered"}


def generator_loop(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]
    for step in range(max_steps):
        reply = model(history)
        history.append(reply)
        yield reply
        if reply["type"] == "answer":
            return {"answer": reply["text"], "stopped": "answered"}
        history.append({"role": "tool", "result": tools["stock_level"](reply["input"]["warehouse"].lower())})


def matching(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]
    for step in range(max_steps):
        reply = model(history)
        history.append(reply)
        match reply["type"]:
            case "answer":
                return {"answer": reply["text"], "stopped": "answered"}
            case "tool":
                result = tools["stock_level"](reply["input"]["warehouse"].lower())
                history.append({"role": "tool", "result": result})
            case _:
                raise ValueError("an odd reply")
    return {"stopped": "step limit", "answer": None}


def matching_shapes(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]
    while True:
        reply = model(history)
        history.append(reply)
        match reply:
            case {"type": "answer", "text": text}: return {"answer": text, "stopped": "answered"}
            case {"type": "tool", "input": {"warehouse": str(name)}} if name.islower():
                history.append({"role": "tool", "result": tools["stock_level"](name)})
            case _:
                history.append({"role": "user", "text": "In small letters, please."})


def head_over_two_lines(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]
    for step in range(
        1, max_steps + 1
    ):
        reply = model(
            history
        )
        history.append(
            reply
        )
        if (
            reply["type"]
            == "answer"
        ):
            return {
                "answer": reply["text"],
                "stopped": "answered",
            }
        history.append(
            {"role": "tool", "result": tools["stock_level"](reply["input"]["warehouse"].lower())}
        )
    return None


def long_condition(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]
    tries = 0
    while (
        tries < max_steps
        and len(history) < 50
    ):
        tries += 1
        reply = model(history)
        history.append(reply)
        if (
            isinstance(reply, dict)
            and reply.get("type") == "answer"
            and reply.get("text")
        ):
            return {"answer": reply["text"], "stopped": "answered"}
        history.append({"role": "tool", "result": tools["stock_level"](reply["input"]["warehouse"].lower())})


def try_finally(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]
    asked = 0
    for step in range(max_steps):
        try:
            reply = model(history)
            history.append(reply)
            if reply["type"] == "answer":
                return {"answer": reply["text"], "stopped": "answered"}
        finally:
            asked += 1
        history.append({"role": "tool", "result": tools["stock_level"](reply["input"]["warehouse"].lower())})


def one_line_in_finally(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]
    log = []
    while True:
        try:
            reply = model(history)
            if reply["type"] == "answer": return {"answer": reply["text"], "stopped": "answered"}
            history.append(reply)
            history.append({"role": "tool", "result": tools["stock_level"](reply["input"]["warehouse"].lower())})
        finally:
            log.append(len(history))


def helper_inside(model, tools, goal, max_steps=4):
    def act(reply):
        name = reply["input"]["warehouse"]
        try:
            return tools["stock_level"](name)
        except ValueError as problem:
            return {"error": str(problem)}

    def is_answer(reply):
        return reply["type"] == "answer"

    history = [{"role": "user", "text": goal}]
    for step in range(max_steps):
        reply = model(history)
        history.append(reply)
        if is_answer(reply):
            return {"answer": reply["text"], "stopped": "answered"}
        result = act(reply)
        history.append({"role": "tool", "result": result})
    return {"stopped": "step limit", "answer": None}


def outside_helper(reply, tools):
    return {"role": "tool", "result": tools["stock_level"](reply["input"]["warehouse"].lower())}


def helper_outside(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]
    for step in range(max_steps):
        reply = model(history)
        history += [reply]
        if reply["type"] == "answer":
            break
        history += [outside_helper(reply, tools)]
    else:
        return {"stopped": "step limit", "answer": None}
    return {"answer": history[-1]["text"], "stopped": "answered"}


def nested_entry(model, tools, goal, max_steps=4):
    def entry(result):
        shaped = {"role": "tool", "result": result}
        return shaped

    history = [{"role": "user", "text": goal}]
    for step in range(max_steps):
        reply = model(history)
        history.append(dict(reply))
        if reply["type"] == "answer":
            return {"answer": reply["text"], "stopped": "answered"}
        history.append(entry(tools["stock_level"](reply["input"]["warehouse"].lower())))


def nested_model(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]

    def ask():
        reply = model(history)
        history.append(reply)
        return reply

    reply = ask()
    while reply["type"] != "answer":
        history.append({"role": "tool", "result": tools["stock_level"](reply["input"]["warehouse"].lower())})
        reply = ask()
    return {"answer": reply["text"], "stopped": "answered"}


def with_lambdas(model, tools, goal, max_steps=4):
    entry = lambda result: {"role": "tool", "result": result}  # noqa: E731
    is_answer = lambda reply: reply["type"] == "answer"  # noqa: E731
    history = [{"role": "user", "text": goal}]
    for step in range(max_steps):
        reply = model(history)
        history.append(reply)
        if is_answer(reply):
            return {"answer": reply["text"], "stopped": "answered"}
        history.append(entry(tools["stock_level"](reply["input"]["warehouse"].lower())))


def with_asyncio(model, tools, goal, max_steps=4):
    async def act(reply):
        await asyncio.sleep(0)
        return tools["stock_level"](reply["input"]["warehouse"].lower())

    async def main():
        history = [{"role": "user", "text": goal}]
        for step in range(max_steps):
            reply = model(history)
            history.append(reply)
            if reply["type"] == "answer":
                return {"answer": reply["text"], "stopped": "answered"}
            result = await act(reply)
            history.append({"role": "tool", "result": result})
        return {"stopped": "step limit", "answer": None}

    return asyncio.run(main())


def _counted(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        wrapped.calls = getattr(wrapped, "calls", 0) + 1
        return function(*args, **kwargs)

    return wrapped


@_counted
def decorated(model, tools, goal, max_steps=4):
    """A docstring."""
    history = [{"role": "user", "text": goal}]
    for step in range(max_steps):
        reply = model(history)
        history.append(reply)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "stopped": "answered"}
        history.append({"role": "tool", "result": tools["stock_level"](reply["input"]["warehouse"].lower())})


_made: dict = {}
exec(
    """
def from_exec(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]
    for step in range(max_steps):
        reply = model(history)
        history.append(reply)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "stopped": "answered"}
        history.append({"role": "tool", "result": tools["stock_level"](reply["input"]["warehouse"].lower())})
""",
    _made,
)
from_exec = _made["from_exec"]


def dict_dispatch(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]

    def on_answer(reply):
        return {"answer": reply["text"], "stopped": "answered"}

    def on_tool(reply):
        result = tools["stock_level"](reply["input"]["warehouse"].lower())
        history.append({"role": "tool", "result": result})

    handlers = {"answer": on_answer, "tool": on_tool}
    for step in range(max_steps):
        reply = model(history)
        history.append(reply)
        end = handlers[reply["type"]](reply)
        if end:
            return end


def dispatch_of_lambdas(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]
    handlers = {
        "answer": lambda reply: {"answer": reply["text"], "stopped": "answered"},
        "tool": lambda reply: history.append(
            {"role": "tool", "result": tools["stock_level"](reply["input"]["warehouse"].lower())}
        ),
    }
    while True:
        reply = model(history)
        history.append(reply)
        end = handlers[reply["type"]](reply)
        if end is not None:
            return end


def walrus(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]
    while (reply := model(history))["type"] != "answer":
        history.append(reply)
        history.append({"role": "tool", "result": tools["stock_level"](reply["input"]["warehouse"].lower())})
    return {"answer": reply["text"], "stopped": "answered"}


def comprehension(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]
    for step in range(max_steps):
        reply = model(history)
        history.append(reply)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "stopped": "answered"}
        names = [name.lower() for name in reply["input"].values()]
        results = [
            tools["stock_level"](name)
            for name in names
        ]
        history.extend([{"role": "tool", "result": result} for result in results])


def break_else(model, tools, goal, max_steps=2):
    history = [{"role": "user", "text": goal}]
    for step in range(max_steps):
        reply = model(history)
        history.append(reply)
        if reply["type"] == "answer":
            answer = reply["text"]
            break
        history.append({"role": "tool", "result": tools["stock_level"](reply["input"]["warehouse"].lower())})
    else:
        answer = None
    return {"answer": answer, "stopped": "answered" if answer else "step limit"}


def early_continue(model, tools, goal, max_steps=6):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        history.append(reply)
        if reply["type"] != "tool":
            return {"answer": reply["text"], "stopped": "answered"}
        if reply["input"]["warehouse"] not in ("north", "south"):
            history.append({"role": "tool", "result": {"error": "unknown"}})
            continue
        history.append({"role": "tool", "result": tools["stock_level"](**reply["input"])})


def nested_loops(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]
    for step in range(max_steps):
        reply = model(history)
        history.append(reply)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "stopped": "answered"}
        for tries in range(3):
            try:
                result = tools["stock_level"](reply["input"]["warehouse"])
                break
            except ValueError:
                reply["input"]["warehouse"] = reply["input"]["warehouse"].lower()
        history.append({"role": "tool", "result": result})


TOTAL = 0


def global_state(model, tools, goal, max_steps=4):
    global TOTAL
    TOTAL = 0
    history = [{"role": "user", "text": goal}]
    while TOTAL < max_steps:  # noqa: SIM300
        TOTAL += 1
        reply = model(history)
        history.append(reply)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "stopped": "answered"}
        history.append({"role": "tool", "result": tools["stock_level"](reply["input"]["warehouse"].lower())})


def counting_coins(model, tools, goal, max_steps=9, budget_coins=12):
    history, costs = [{"role": "user", "text": goal}], []
    for step in range(max_steps):
        cost = len(history)
        if sum(costs) + cost > budget_coins:
            return {"answer": None, "stopped": "budget limit"}
        costs.append(cost)
        reply = model(history)
        history.append(reply)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "stopped": "answered"}
        elif reply["input"]["warehouse"] == "North":
            result = {"error": "unknown"}
        else:
            result = tools["stock_level"](**reply["input"])
        history.append({"role": "tool", "result": result})


def spending(model, tools, goal, max_steps=9, max_errors=2):
    history = [{"role": "user", "text": goal}]
    spent = errors = 0
    while spent <= 20 and errors < max_errors:
        reply = model(history)
        spent += 5
        history.append(reply)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "stopped": "answered"}
        try:
            result = tools["stock_level"](**reply["input"])
        except ValueError as problem:
            result = {"error": str(problem)}
            errors += 1
        history.append({"role": "tool", "result": result})
    return {"stopped": "too many errors" if errors else "budget limit", "answer": None}


def several_calls(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]
    for step in range(max_steps):
        reply = model(history)
        history.append(reply)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "stopped": "answered"}
        calls = reply["calls"] if reply["type"] == "tools" else [reply]
        for call in calls:
            result = tools[call["tool"]](call["input"]["warehouse"].lower())
            history.append({"role": "tool", "id": call.get("id"), "result": result})


def record_both_at_the_end(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]
    for _ in range(max_steps):
        reply = model(history)
        if reply["type"] == "answer":
            break
        result = tools["stock_level"](reply["input"]["warehouse"].lower())
        history = [*history, reply, {"role": "tool", "result": result}]
    return reply["text"]


def returns_nothing(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]
    for step in range(max_steps):
        reply = model(history)
        history.append(reply)
        if reply["type"] == "answer":
            print(reply["text"], end="")
            break
        history.append({"role": "tool", "result": tools["stock_level"](reply["input"]["warehouse"].lower())})


def crashes(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]
    while True:
        reply = model(history)
        history.append(reply)
        history.append({"role": "tool", "result": tools["stock_level"](**reply["input"])})


def error_from_a_helper(model, tools, goal, max_steps=4):
    def act(reply):
        name = reply["input"]["warehouse"]
        return tools["stock_level"](name)

    history = [{"role": "user", "text": goal}]
    for step in range(max_steps):
        reply = model(history)
        history.append(reply)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "stopped": "answered"}
        try:
            result = act(reply)
        except ValueError as problem:
            result = {"error": str(problem)}
        history.append({"role": "tool", "result": result})


def condition_that_raises(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]
    for step in range(max_steps):
        reply = model(history)
        history.append(reply)
        try:
            if reply["text"] and reply["type"] == "answer":
                return {"answer": reply["text"], "stopped": "answered"}
        except TypeError:
            pass
        except KeyError:
            history.append(
                {"role": "tool", "result": tools["stock_level"](reply["input"]["warehouse"].lower())}
            )


class Notes:
    def __enter__(self):
        self.kept = []
        return self.kept

    def __exit__(self, *problem):
        return None


def with_block(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]
    with Notes() as notes:
        for step in range(max_steps):
            reply = model(history)
            history.append(reply)
            if reply["type"] == "answer":
                return {"answer": reply["text"], "stopped": "answered"}
            notes.append(reply["input"]["warehouse"])
            history.append({"role": "tool", "result": tools["stock_level"](notes[-1].lower())})


@dataclass
class State:
    history: list = field(default_factory=list)
    steps: int = 0
    done: bool = False


def with_state(model, tools, goal, max_steps=4):
    state = State([{"role": "user", "text": goal}])
    while not state.done and state.steps < max_steps:
        state.steps += 1
        reply = model(state.history)
        state.history.append(reply)
        if reply["type"] == "answer":
            state.done = True
            continue
        state.history.append(
            {"role": "tool", "result": tools["stock_level"](reply["input"]["warehouse"].lower())}
        )
    return {"answer": state.history[-1].get("text"), "stopped": "answered"}


def guard_repeats(model, tools, goal, max_steps=6):
    history, seen = [{"role": "user", "text": goal}], set()
    for step in range(max_steps):
        reply = model(history)
        history.append(reply)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "stopped": "answered"}
        key = (reply["tool"], tuple(reply["input"].items()))
        if key in seen:
            return {"answer": None, "stopped": "repeated call"}
        seen.add(key)
        history.append({"role": "tool", "result": tools["stock_level"](reply["input"]["warehouse"].lower())})


def asserting(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]
    for step in range(max_steps):
        reply = model(history)
        assert isinstance(reply, dict)
        history.append(reply)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "stopped": "answered"}
        result = tools["stock_level"](reply["input"]["warehouse"].lower())
        assert result > 100, "too few"
        history.append({"role": "tool", "result": result})


def keeps_a_window(model, tools, goal, max_steps=4):
    history = deque([{"role": "user", "text": goal}], maxlen=3)
    for step in range(max_steps):
        reply = model(list(history))
        history.append(reply)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "stopped": "answered"}
        history.append({"role": "tool", "result": tools["stock_level"](reply["input"]["warehouse"].lower())})


def all_on_few_lines(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]; step = 0
    while step < max_steps: step += 1; reply = model(history); history.append(reply); result = tools["stock_level"]("north") if reply["type"] == "tool" else None; history.append({"role": "tool", "result": result})
    return reply.get("text")


def inner_class(model, tools, goal, max_steps=4):
    class Desk:
        def __init__(self):
            self.count = 0

        def look(self, name):
            self.count += 1
            return tools["stock_level"](name.lower())

    desk = Desk()
    history = [{"role": "user", "text": goal}]
    while desk.count < max_steps:
        reply = model(history)
        history.append(reply)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "stopped": "answered"}
        history.append({"role": "tool", "result": desk.look(reply["input"]["warehouse"])})


class Unprintable:
    def __init__(self):
        self.asked = 0

    def __repr__(self):
        self.asked += 1
        raise RuntimeError("no words")


def values_that_cannot_be_shown(model, tools, goal, max_steps=4):
    odd = Unprintable()
    big = "x" * 10_000_000
    ring = []
    ring.append(ring)
    history = [{"role": "user", "text": goal}]
    for step in range(max_steps):
        reply = model(history)
        history.append(reply)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "stopped": "answered", "asked": odd.asked}
        if ring == odd or len(big) < 5:
            break
        history.append({"role": "tool", "result": tools["stock_level"](reply["input"]["warehouse"].lower())})


def mutual_help(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]

    def thinks(steps_left):
        if steps_left == 0: return "step limit", None
        reply = model(history)
        history.append(reply)
        return acts(reply, steps_left) if reply["type"] == "tool" else ("answered", reply["text"])

    def acts(reply, steps_left):
        history.append({"role": "tool", "result": tools["stock_level"](reply["input"]["warehouse"].lower())})
        return thinks(steps_left - 1)

    stopped, answer = thinks(max_steps)
    return {"answer": answer, "stopped": stopped}


def ask_behind_a_helper(model, tools, goal, max_steps=4):
    def window(history):
        newest = history[-3:]
        return newest

    history = [{"role": "user", "text": goal}]
    for step in range(max_steps):
        reply = model(window(history))
        history.append(reply)
        if reply["type"] == "answer":
            return reply["text"]
        for tries in range(2):
            if tries == 1: continue
            result = tools["stock_level"](reply["input"]["warehouse"].lower())
        history.append({"role": "tool", "result": result})


def _safe(tool, name):
    try:
        return tool(name)
    except ValueError as problem:
        return {"error": str(problem)}


def caught_out_of_sight(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]
    reply = model(history)
    history.append(reply)
    result = _safe(tools["stock_level"], reply["input"]["warehouse"])
    history.append({"role": "tool", "result": result})
    while (not result or reply["type"] != "answer"):
        reply = model(history)
        history.append(reply)
        if reply["type"] == "tool":
            history.append({"role": "tool", "result": _safe(tools["stock_level"], "North")})
    return dict(answer=reply["text"], stopped="answered")


def raises_another(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]
    for step in range(max_steps):
        reply = model(history)
        history.append(reply)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "stopped": "answered"}
        try:
            try:
                result = tools["stock_level"](**reply["input"])
            except ValueError as problem:
                raise LookupError("no such warehouse") from problem
        except LookupError as problem:
            result = {"error": str(problem)}
        history.append({"role": "tool", "result": result})


def kept_by_a_with(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]
    for step in range(max_steps):
        reply = model(history)
        history.append(reply)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "stopped": "answered"}
        result = None
        with contextlib.suppress(ValueError) as keeper:
            result = tools["stock_level"](**reply["input"])
        history.append({"role": "tool", "tool": "stock_level", "result": result})


def decorated_inside(model, tools, goal, max_steps=4):
    @contextlib.contextmanager
    def noted(what):
        log.append(f"begin {what}")
        yield log
        log.append(f"end {what}")

    log = []
    history = [{"role": "user", "text": goal}]
    for step in range(max_steps):
        with noted("ask") as lines:
            reply = model(history)
        history.append(reply)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "stopped": "answered"}
        history.append({"role": "tool", "result": tools["stock_level"](reply["input"]["warehouse"].lower())})


def one_line_while(model, tools, goal, max_steps=3):
    history = [{"role": "user", "text": goal}]; n = 0
    while n < max_steps: n += 1; reply = model(history); history.append(reply)
    return {"answer": reply.get("text"), "stopped": "answered"}


def raises_its_own(model, tools, goal, max_steps=4):
    class Done(Exception):
        def __init__(self, answer):
            self.answer = answer

    history = [{"role": "user", "text": goal}]

    def step():
        reply = model(history)
        history.append(reply)
        if reply["type"] == "answer":
            raise Done(reply["text"])
        history.append({"role": "tool", "result": tools["stock_level"](reply["input"]["warehouse"].lower())})

    try:
        while True:
            step()
    except Done as done:
        return {"answer": done.answer, "stopped": "answered"}


def generator_that_ends(model, tools, goal, max_steps=4):
    history = [{"role": "user", "text": goal}]

    def steps():
        while True:
            reply = model(history)
            history.append(reply)
            if reply["type"] == "answer":
                return reply["text"]
            history.append({"role": "tool", "result": tools["stock_level"](reply["input"]["warehouse"].lower())})
            yield

    going = steps()
    try:
        while True:
            next(going)
    except StopIteration as end:
        return {"answer": end.value, "stopped": "answered"}


def never_asks(model, tools, goal, max_steps=4):
    spare = {"left": None, "done": True}
    return {"answer": "I know.", "stopped": "answered"}
