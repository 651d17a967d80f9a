"""ex06: every call answered."""

from concurrent.futures import ThreadPoolExecutor

from tests.zoo import patch, right, wrong
from tests.zoo.ex02 import run_one, sorted_key  # noqa: F401  in a patch


@right
def calls_one_by_one(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        if reply["type"] == "tool":
            history.append({"role": "tool", "id": "", "tool": reply["tool"], "result": run_one(tools, reply)})
            continue
        for call in reply["calls"]:
            result = run_one(tools, call)
            history.append({"role": "tool", "id": call.get("id", ""), "tool": call["tool"], "result": result})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


def entry(call, result, id=None):
    return {
        "role": "tool",
        "id": call.get("id", "") if id is None else id,
        "tool": call["tool"],
        "result": result,
    }


def one_by_one(tools, calls):
    return [entry(call, run_one(tools, call)) for call in calls]


def failed(one):
    return isinstance(one["result"], dict) and "error" in one["result"]


RIGHT = calls_one_by_one.functions[0]
START = 'history = [{"role": "user", "text": goal}]'
IS_SINGLE = 'if reply["type"] == "tool":'
SINGLE = f"""{IS_SINGLE}
    history.append({{"role": "tool", "id": "", "tool": reply["tool"], "result": run_one(tools, reply)}})
    continue
"""
EACH = 'for call in reply["calls"]:'
ID = 'call.get("id", "")'
RUN = "result = run_one(tools, call)"
RECORD = 'history.append({"role": "tool", "id": call.get("id", ""), "tool": call["tool"], "result": result})'
BATCH = f"{EACH}\n    {RUN}\n    {RECORD}"


# --- wrong: which requests are run

only_batches_known = wrong("single", "KeyError: 'calls'")(RIGHT, SINGLE, "")
batches_not_known = wrong("all_run", "KeyError")(
    RIGHT, IS_SINGLE, 'name, input = reply["tool"], reply["input"]\nif True:'
)
fewer_calls_near_the_limit = wrong("all_run", "with max_steps=3, reply 2 made 2 requests")(
    RIGHT, '["calls"]', '["calls"][:max_steps - step]'
)
only_the_first_call = wrong("all_run", "goes round over it")(RIGHT, '["calls"]', '["calls"][:1]')
at_most_three_calls = wrong("all_run", "goes round over it")(RIGHT, '["calls"]', '["calls"][:3]')
last_call_left_out = wrong("all_run", "goes round over it")(RIGHT, '["calls"]', '["calls"][:-1]')
each_call_run_twice = wrong("all_run", "runs once")(RIGHT, EACH, f'one_by_one(tools, reply["calls"])\n{EACH}')
request_not_run_where_an_id_comes_again = wrong("all_run", "only within their own reply")(
    RIGHT,
    (
        BATCH,
        """calls = [call for call in reply["calls"] if not call.get("id") or call["id"] not in answered]
answered.update(call.get("id") for call in reply["calls"])
history += one_by_one(tools, calls)""",
    ),
    (START, f"{START}\nanswered = set()"),
)
equal_requests_run_once_in_a_batch = wrong("all_run", "a request of its own")(
    RIGHT,
    (EACH, f"cache = {{}}\n{EACH}"),
    (
        RUN,
        "if sorted_key(call) not in cache:\n    cache[sorted_key(call)] = run_one(tools, call)\n"
        "result = cache[sorted_key(call)]",
    ),
)
# Only what an earlier reply asked for is taken from the cache.
equal_requests_run_once_in_the_whole_run = wrong("all_run", "a request of its own")(
    RIGHT,
    (START, f"{START}\ncache, new = {{}}, {{}}"),
    (EACH, f"cache.update(new)\n{EACH}"),
    (RUN, "key = sorted_key(call)\nresult = new[key] = cache[key] if key in cache else run_one(tools, call)"),
)
model_asked_after_each_request = wrong("all_run ends", "inside the loop over the calls")(
    RIGHT,
    BATCH,
    """entries = []
for call in reply["calls"]:
    entries += one_by_one(tools, [call])
    if len(reply["calls"]) > 1:
        model([{"role": "user", "text": goal}, *entries])
history += entries""",
)

# --- wrong: what stands in the history

all_results_in_one_entry = wrong("each_answered", "as many results as requests")(
    RIGHT,
    BATCH,
    'calls = reply["calls"]\nhistory.append(entry(calls[0], [run_one(tools, call) for call in calls]))',
)
results_in_reverse_order = wrong("each_answered", "Where does the order change?")(
    RIGHT, BATCH, 'history += one_by_one(tools, reply["calls"])[::-1]'
)
calls_gone_through_backwards = wrong("each_answered", "Where does the order change?")(
    RIGHT, '["calls"]', '["calls"][::-1]'
)
ids_mixed_up = wrong("each_answered", "got a result with the id")(
    RIGHT, (EACH, 'for call, other in zip(reply["calls"], reply["calls"][::-1]):'), (ID, 'other["id"]')
)
ids_left_out = wrong("each_answered", "got a result with the id")(
    RIGHT, '"id": call.get("id", ""), "tool": call["tool"], ', ""
)
ids_numbered_anew = wrong("each_answered", "got a result with the id")(
    RIGHT, (EACH, 'for number, call in enumerate(reply["calls"]):'), (ID, "str(number)")
)
ids_cut_short = wrong("each_answered", "got a result with the id")(RIGHT, ID, f"str({ID})[:16]")
batch_not_recorded = wrong("each_answered", "requests themselves")(
    RIGHT, "history.append(reply)", 'if reply["type"] == "tool":\n    history.append(reply)'
)
result_left_out_where_an_id_comes_again = wrong("each_answered", "only within their own reply")(
    RIGHT,
    (
        BATCH,
        """entries = one_by_one(tools, reply["calls"])
history += [one for one in entries if one["id"] not in answered]
answered.update(call["id"] for call in reply["calls"])""",
    ),
    (START, f"{START}\nanswered = set()"),
)
each_call = patch(
    RIGHT, ("history.append(reply)\n", ""), (SINGLE, ""), ('reply["calls"]', 'reply.get("calls", [reply])')
)
each_request_an_entry_of_its_own = wrong("each_answered", "in 3 pieces")(
    each_call,
    RUN,
    f"""request = {{"role": "model", "type": "tool", "tool": call["tool"], "input": call["input"]}}
history.append(request)
{RUN}""",
)
a_reply_of_one_request_for_each_call = wrong("each_answered", "in 3 pieces")(
    each_call, RUN, f'history.append({{**reply, "calls": [call]}} if "calls" in reply else reply)\n{RUN}'
)
the_reply_and_each_call_too = wrong("each_answered", "How many lines put it")(
    RIGHT, RUN, f'history.append({{"role": "model", "type": "tool", **call}})\n{RUN}'
)
results_under_the_ids_of_others = wrong("each_answered", "Where do they part?")(
    RIGHT,
    BATCH,
    """results = [run_one(tools, call) for call in reply["calls"]]
history += map(entry, reply["calls"], results[::-1])""",
)
tool_left_out = wrong("each_answered", 'no key "tool"')(RIGHT, '"tool": call["tool"], ', "")
tool_of_the_first_request_for_all = wrong("each_answered", "for its tool")(
    RIGHT, 'call["tool"]', 'reply["calls"][0]["tool"]'
)
results_as_texts = wrong("each_answered", "not as a text")(RIGHT, '"result": result', '"result": str(result)')
empty_results_replaced = wrong("each_answered", "as it is")(
    RIGHT, '"result": result', '"result": result or "ok"'
)
a_note_behind_each_result = wrong("each_answered", "follow their reply directly")(
    RIGHT, RECORD, f'{RECORD}\nhistory.append({{"role": "user", "text": "Next:"}})'
)
entries_used_again_in_the_next_step = wrong("each_answered", "only grows")(
    RIGHT,
    (
        BATCH,
        """for one, call in zip(pool, reply["calls"]):
    one.update(entry(call, run_one(tools, call)))
    history.append(one)""",
    ),
    (START, f"{START}\npool = [{{}} for _ in range(9)]"),
)

# --- wrong: what the model is shown


def renumbered(history):
    def changed(reply):
        calls = [{**call, "id": str(number)} for number, call in enumerate(reply.get("calls", []))]
        return {**reply, "calls": calls} if calls else reply

    return [changed(one) for one in history]


def forgotten(history):
    batches = [place for place, one in enumerate(history) if one.get("type") == "tools"]
    last = batches[-1] if batches else 0
    return [one for place, one in enumerate(history) if place >= last or "id" not in one or not one["id"]]


def turned(history):
    last = max((place for place, one in enumerate(history) if one.get("type") == "tools"), default=None)
    if last is None or any(one.get("type") == "tool" for one in history[last:]):
        return history
    return [*history[:last], *history[last + 1 :], history[last]]


ids_replaced_in_the_reply = wrong("each_answered", "ids and all")(
    RIGHT, "model(history)", "model(renumbered(history))"
)
results_of_an_earlier_reply_thrown_away = wrong("each_answered", "only grows")(
    RIGHT, "model(history)", "model(forgotten(history))"
)
results_before_the_reply = wrong("each_answered", "First the reply")(
    RIGHT, "model(history)", "model(turned(history))"
)

# --- wrong: what fails

failed_request_of_a_batch_run_again = wrong("good_kept", "Each request runs once")(
    RIGHT, RUN, f'{RUN}\nif failed({{"result": result}}):\n    {RUN}'
)
words_beside_requests_taken_for_an_answer = wrong("all_run", "beside its requests")(
    RIGHT, 'if reply["type"] == "answer":', 'if reply["type"] == "answer" or reply.get("text"):'
)
one_failure_fails_the_batch = wrong("good_kept", "inside the loop over the calls")(
    RIGHT,
    BATCH,
    """try:
    entries = [entry(call, tools[call["tool"]](**call["input"])) for call in reply["calls"]]
except Exception as problem:
    entries = [entry(call, {"error": f"{call['tool']}: {problem}"}) for call in reply["calls"]]
history += entries""",
)
nothing_runs_after_a_failure = wrong("good_kept", "inside the loop over the calls")(
    RIGHT, RECORD, f"{RECORD}\nif failed(history[-1]):\n    break"
)
unknown_tool_crashes_a_batch = wrong("good_kept", "unknown tool")(
    RIGHT, EACH, f'calls = reply["calls"]\nfunctions = [tools[call["tool"]] for call in calls]\n{EACH}'
)
the_first_failure_told_for_all = wrong("good_kept", "and two others")(
    RIGHT,
    BATCH,
    """entries = one_by_one(tools, reply["calls"])
first = next((one["result"] for one in entries if failed(one)), None)
history += [{**one, "result": first} if failed(one) else one for one in entries]""",
)
gives_up_after_the_second_failure = wrong("good_kept", "and two others")(
    RIGHT,
    BATCH,
    """entries = []
for call in reply["calls"]:
    if sum(map(failed, entries)) < 2:
        entries += one_by_one(tools, [call])
history += entries""",
)
failure_of_the_first_ends_the_batch = wrong("good_kept", "and two others")(
    RIGHT, RECORD, f'{RECORD}\nif call is reply["calls"][0] and failed(history[-1]):\n    break'
)

failures_sorted_behind_the_good_ones = wrong("good_kept", "Where does the order change?")(
    RIGHT, BATCH, 'history += sorted(one_by_one(tools, reply["calls"]), key=failed)'
)
failures_sorted_before_the_good_ones = wrong("good_kept", "Where does the order change?")(
    RIGHT, BATCH, 'history += sorted(one_by_one(tools, reply["calls"]), key=failed, reverse=True)'
)
failures_of_a_batch_under_another_key = wrong("good_kept", 'no "result"')(
    RIGHT,
    RECORD,
    f"""{RECORD}
if failed(history[-1]):
    history[-1]["error"] = history[-1].pop("result")["error"]""",
)
failures_told_in_one_note = wrong("good_kept", "inside the loop over the calls")(
    RIGHT,
    BATCH,
    """entries = one_by_one(tools, reply["calls"])
history += [one for one in entries if not failed(one)]
if any(map(failed, entries)):
    history.append({"role": "user", "text": f"Failed: {list(filter(failed, entries))}"})""",
)

# --- wrong: ids that come twice or not at all

results_in_a_dict_by_id = wrong("odd_ids", "results stand behind")(
    RIGHT,
    BATCH,
    """by_id = {call.get("id"): entry(call, run_one(tools, call)) for call in reply["calls"]}
history += by_id.values()""",
)
missing_id_crashes = wrong("odd_ids", "KeyError: 'id'")(RIGHT, ID, 'call["id"]')
all_ids_made_anew_where_one_is_odd = wrong("odd_ids", "is kept")(
    RIGHT,
    BATCH,
    """calls = reply["calls"]
ids = [call.get("id") for call in calls]
if None not in ids and len(set(ids)) == len(ids):
    history += one_by_one(tools, calls)
else:
    history += [entry(call, run_one(tools, call), f"new_{n}") for n, call in enumerate(calls)]""",
)

# --- wrong: how it ends

requests_counted_as_steps = wrong("ends", "however many requests")(
    RIGHT,
    ("for step in range(1, max_steps + 1):", "step = 0\nwhile step < max_steps:\n    step += 1"),
    (BATCH, f'{BATCH}\nstep += len(reply["calls"]) - 1'),
    ('"steps": max_steps', '"steps": step'),
)
requests_counted_in_what_is_told = wrong("ends", "Where do you count?")(
    RIGHT,
    (START, f"{START}\ntold = 0"),
    (BATCH, f'{BATCH}\ntold += len(reply["calls"][1:])'),
    ('"steps": step}', '"steps": step + told}'),
)
interrupt_swallowed_in_a_batch = wrong("leaves", "in the middle of a batch")(
    RIGHT, RUN, f"try:\n    {RUN}\nexcept BaseException as problem:\n    result = str(problem)"
)
first_interrupt_of_a_batch_swallowed = wrong("leaves", "was called all the same")(
    RIGHT,
    (START, f"{START}\npressed = []"),
    (
        RUN,
        f"""try:
    {RUN}
except KeyboardInterrupt:
    if pressed:
        raise
    pressed.append(call)
    result = "interrupted\"""",
    ),
)

# --- right

ids_made_unique = right(
    RIGHT,
    (EACH, 'taken = set()\nfor number, call in enumerate(reply["calls"]):'),
    (
        RUN,
        f"""name = call.get("id") or f"made_{{number}}"
while name in taken:
    name += "x"
taken.add(name)
{RUN}""",
    ),
    (ID, "name"),
)


def at_once(tools, calls):
    # Tools of one name keep their order, as their results depend on it here.
    names = list(dict.fromkeys(call["tool"] for call in calls))
    with ThreadPoolExecutor() as pool:
        groups = {
            name: pool.submit(lambda n: [run_one(tools, c) for c in calls if c["tool"] == n], name)
            for name in names
        }
    results = {name: iter(group.result()) for name, group in groups.items()}
    return [entry(call, next(results[call["tool"]])) for call in calls]


in_threads = right(RIGHT, BATCH, 'history += at_once(tools, reply["calls"])')


@right
def single_requests_as_in_ex01(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history = [*history, dict(reply)]
        if reply["type"] == "tool":
            history += [{"role": "tool", "result": run_one(tools, reply)}]
        else:
            history += one_by_one(tools, reply["calls"])
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@right
class Recursion:
    @staticmethod
    def run_agent(model, tools, goal, max_steps=10):
        def go(history, steps):
            if steps == max_steps:
                return {"answer": None, "steps": steps, "stopped": "step limit"}
            reply = model(history)
            match reply:
                case {"type": "answer", "text": text}:
                    return {"answer": text, "steps": steps + 1, "stopped": "answered"}
                case {"type": "tools", "calls": calls}:
                    pass
                case _:
                    calls = [reply]
            new = [
                entry(call, run_one(tools, call), call.get("id") or f"made_{n}")
                for n, call in enumerate(calls)
            ]
            return go([*history, {"role": "model", **reply}, *new], steps + 1)

        return go([{"role": "user", "text": goal}], 0)


def _calls_of(reply):
    """Every reply as one that makes several requests."""
    return reply.get("calls") or [reply]


@right
def a_list_of_one(model, tools, goal, max_steps=10):
    history, steps = [{"role": "user", "text": goal}], 0
    while steps < max_steps:
        reply = model(history)
        steps += 1
        if "text" in reply and reply["type"] == "answer":
            return {"answer": reply["text"], "steps": steps, "stopped": "answered"}
        history.append(reply)
        history.extend(entry(call, run_one(tools, call)) for call in _calls_of(reply))
    return {"answer": None, "steps": steps, "stopped": "step limit"}


class _Batch:
    def __init__(self, reply):
        self.reply, self.calls = reply, _calls_of(reply)

    def __iter__(self):
        return iter(self.calls)

    def entries(self, tools):
        results = []
        for number, call in enumerate(self):
            name, given = call["tool"], call["input"]
            try:
                outcome = tools[name](**given)
            except Exception as problem:
                outcome = f"{name} failed: {problem.args[0] if problem.args else problem}"
            results.append(entry(call, outcome, call.get("id", f"n{number}")))
        return [{"role": "assistant", **self.reply}, *results]


@right
def a_class_for_batches(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(max_steps):
        reply = model([dict(one) for one in history])
        if reply["type"] == "answer":
            return {"answer": reply["text"], "steps": step + 1, "stopped": "answered"}
        history += _Batch(reply).entries(tools)
    return {"answer": None, "steps": max_steps, "stopped": "step limit"}


@right
def results_first_and_recorded_together(model, tools, goal, max_steps=10):
    def results():
        for call in _calls_of(reply):
            yield run_one(tools, call) if call["tool"] in tools else {"no such tool": call["tool"]}

    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):  # noqa: B007
        reply = model(history)
        if reply["type"] == "answer":
            break
        pairs = zip(_calls_of(reply), list(results()), strict=True)
        history += [reply, *(entry(call, result) for call, result in pairs)]
    else:
        return {"answer": None, "steps": max_steps, "stopped": "step limit"}
    return {"answer": reply["text"], "steps": step, "stopped": "answered"}
