"""ex06: every call answered."""

import copy
from concurrent.futures import ThreadPoolExecutor

from tests.zoo import right, wrong
from tests.zoo.ex02 import run_one, sorted_key


def loop(model, tools, goal, max_steps, work=None, **how):
    """The loop around the faults. work(tools, calls) gives the entries for one batch."""
    history = [{"role": "user", "text": goal}]
    step = 0
    while step < max_steps:
        step += 1
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        calls = [reply] if reply["type"] == "tool" else reply["calls"]
        if how.get("record", True) or reply["type"] == "tool":
            history.append(reply)
        if reply["type"] == "tool":
            history.append({"role": "tool", "id": "", "tool": reply["tool"], "result": run_one(tools, reply)})
        else:
            history.extend((work or one_by_one)(tools, calls))
            step += len(calls) - 1 if how.get("count_calls") else 0
    return {"stopped": "step limit", "answer": None, "steps": step}


def entry(call, result, id=None):
    return {
        "role": "tool",
        "id": call.get("id", "") if id is None else id,
        "tool": call["tool"],
        "result": result,
    }


def one_by_one(tools, calls):
    return [entry(call, run_one(tools, call)) for call in calls]


# --- wrong


@wrong("single", "KeyError: 'calls'")
def only_batches_known(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        history.extend(one_by_one(tools, reply["calls"]))
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("all_run", "KeyError")
def batches_not_known(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        history.append(reply)
        name, input = reply["tool"], reply["input"]
        history.append({"role": "tool", "result": run_one(tools, {"tool": name, "input": input})})
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("all_run", "goes round over it")
def only_the_first_call(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps, lambda tools, calls: one_by_one(tools, calls[:1]))


@wrong("all_run", "runs once")
def each_call_run_twice(model, tools, goal, max_steps=10):
    def work(tools, calls):
        one_by_one(tools, calls)
        return one_by_one(tools, calls)

    return loop(model, tools, goal, max_steps, work)


@wrong("all_run", "goes round over it")
def last_call_left_out(model, tools, goal, max_steps=10):
    return loop(
        model, tools, goal, max_steps, lambda tools, calls: one_by_one(tools, calls[: len(calls) - 1])
    )


@wrong("each_answered", "as many results as requests")
def all_results_in_one_entry(model, tools, goal, max_steps=10):
    def work(tools, calls):
        return [entry(calls[0], [run_one(tools, call) for call in calls])]

    return loop(model, tools, goal, max_steps, work)


@wrong("each_answered", "Where does the order change?")
def results_in_reverse_order(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps, lambda tools, calls: one_by_one(tools, calls)[::-1])


@wrong("each_answered", "got a result with the id")
def ids_mixed_up(model, tools, goal, max_steps=10):
    def work(tools, calls):
        results = [run_one(tools, call) for call in calls]
        return [
            entry(call, result, id)
            for call, result, id in zip(calls, results, [call["id"] for call in reversed(calls)], strict=True)
        ]

    return loop(model, tools, goal, max_steps, work)


@wrong("each_answered", "got a result with the id")
def ids_left_out(model, tools, goal, max_steps=10):
    def work(tools, calls):
        return [{"role": "tool", "result": run_one(tools, call)} for call in calls]

    return loop(model, tools, goal, max_steps, work)


@wrong("each_answered", "got a result with the id")
def ids_numbered_anew(model, tools, goal, max_steps=10):
    def work(tools, calls):
        return [entry(call, run_one(tools, call), str(number)) for number, call in enumerate(calls)]

    return loop(model, tools, goal, max_steps, work)


@wrong("each_answered", "requests themselves")
def batch_not_recorded(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps, record=False)


@wrong("each_answered", "only within their own reply")
def result_left_out_where_an_id_comes_again(model, tools, goal, max_steps=10):
    answered = set()

    def work(tools, calls):
        new = [(call, run_one(tools, call)) for call in calls]
        kept = [entry(call, result) for call, result in new if call.get("id") not in answered]
        answered.update(call["id"] for call in calls)
        return kept

    return loop(model, tools, goal, max_steps, work)


@wrong("all_run", "only within their own reply")
def request_not_run_where_an_id_comes_again(model, tools, goal, max_steps=10):
    answered = set()

    def work(tools, calls):
        new = [call for call in calls if not call.get("id") or call["id"] not in answered]
        answered.update(call.get("id") for call in calls)
        return one_by_one(tools, new)

    return loop(model, tools, goal, max_steps, work)


@wrong("all_run", "a request of its own")
def equal_requests_run_once_in_a_batch(model, tools, goal, max_steps=10):
    def work(tools, calls):
        cache, entries = {}, []
        for call in calls:
            if sorted_key(call) not in cache:
                cache[sorted_key(call)] = run_one(tools, call)
            entries.append(entry(call, cache[sorted_key(call)]))
        return entries

    return loop(model, tools, goal, max_steps, work)


@wrong("all_run", "a request of its own")
def equal_requests_run_once_in_the_whole_run(model, tools, goal, max_steps=10):
    cache = {}

    def work(tools, calls):
        # Only what an earlier reply asked for is taken from the cache.
        done = [
            cache[sorted_key(call)] if sorted_key(call) in cache else run_one(tools, call) for call in calls
        ]
        cache.update((sorted_key(call), result) for call, result in zip(calls, done, strict=True))
        return [entry(call, result) for call, result in zip(calls, done, strict=True)]

    return loop(model, tools, goal, max_steps, work)


@wrong("all_run", "inside the loop over the calls")
def model_asked_after_each_request(model, tools, goal, max_steps=10):
    def work(tools, calls):
        entries = []
        for call in calls:
            entries.append(entry(call, run_one(tools, call)))
            if len(calls) > 1:
                model([{"role": "user", "text": goal}, *entries])
        return entries

    return loop(model, tools, goal, max_steps, work)


@wrong("each_answered", "in 3 pieces")
def each_request_an_entry_of_its_own(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(copy.deepcopy(history))
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        for call in reply.get("calls", [reply]):
            history.append({"role": "model", "type": "tool", "tool": call["tool"], "input": call["input"]})
            history.append(entry(call, run_one(tools, call)))
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("each_answered", "in 3 pieces")
def a_reply_of_one_request_for_each_call(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        if reply["type"] == "answer":
            return {"stopped": "answered", "answer": reply["text"], "steps": step}
        for call in reply.get("calls", [reply]):
            history.append({**reply, "calls": [call]} if "calls" in reply else reply)
            history.append(entry(call, run_one(tools, call)))
    return {"stopped": "step limit", "answer": None, "steps": max_steps}


@wrong("each_answered", "How many lines put it")
def the_reply_and_each_call_too(model, tools, goal, max_steps=10):
    def work(tools, calls):
        return [
            one
            for call in calls
            for one in ({"role": "model", "type": "tool", **call}, *one_by_one(tools, [call]))
        ]

    return loop(model, tools, goal, max_steps, work)


@wrong("each_answered", "Where does the order change?")
def calls_gone_through_backwards(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps, lambda tools, calls: one_by_one(tools, calls[::-1]))


@wrong("each_answered", "Where do they part?")
def results_under_the_ids_of_others(model, tools, goal, max_steps=10):
    def work(tools, calls):
        results = [run_one(tools, call) for call in calls]
        return [entry(call, result) for call, result in zip(calls, results[::-1], strict=True)]

    return loop(model, tools, goal, max_steps, work)


@wrong("each_answered", 'no key "tool"')
def tool_left_out(model, tools, goal, max_steps=10):
    def work(tools, calls):
        return [{"role": "tool", "id": c.get("id", ""), "result": run_one(tools, c)} for c in calls]

    return loop(model, tools, goal, max_steps, work)


@wrong("each_answered", "for its tool")
def tool_of_the_first_request_for_all(model, tools, goal, max_steps=10):
    def work(tools, calls):
        return [{**entry(call, run_one(tools, call)), "tool": calls[0]["tool"]} for call in calls]

    return loop(model, tools, goal, max_steps, work)


@wrong("each_answered", "not as a text")
def results_as_texts(model, tools, goal, max_steps=10):
    return loop(
        model, tools, goal, max_steps, lambda tools, calls: [entry(c, str(run_one(tools, c))) for c in calls]
    )


@wrong("each_answered", "as it is")
def empty_results_replaced(model, tools, goal, max_steps=10):
    return loop(
        model,
        tools,
        goal,
        max_steps,
        lambda tools, calls: [entry(c, run_one(tools, c) or "ok") for c in calls],
    )


@wrong("each_answered", "ids and all")
def ids_replaced_in_the_reply(model, tools, goal, max_steps=10):
    def changed(reply):
        calls = [{**call, "id": str(number)} for number, call in enumerate(reply.get("calls", []))]
        return {**reply, "calls": calls} if calls else reply

    def renamed(history):
        return model([changed(one) for one in history])

    return loop(renamed, tools, goal, max_steps)


@wrong("each_answered", "only grows")
def results_of_an_earlier_reply_thrown_away(model, tools, goal, max_steps=10):
    def forgetful(history):
        batches = [place for place, one in enumerate(history) if one.get("type") == "tools"]
        last = batches[-1] if batches else 0
        return model(
            [one for place, one in enumerate(history) if place >= last or "id" not in one or not one["id"]]
        )

    return loop(forgetful, tools, goal, max_steps)


@wrong("each_answered", "First the reply")
def results_before_the_reply(model, tools, goal, max_steps=10):
    def turned(history):
        last = max((place for place, one in enumerate(history) if one.get("type") == "tools"), default=None)
        if last is None or any(one.get("type") == "tool" for one in history[last:]):
            return model(history)
        return model([*history[:last], *history[last + 1 :], history[last]])

    return loop(turned, tools, goal, max_steps)


@wrong("good_kept", "inside the loop over the calls")
def one_failure_fails_the_batch(model, tools, goal, max_steps=10):
    def work(tools, calls):
        try:
            return [entry(call, tools[call["tool"]](**call["input"])) for call in calls]
        except Exception as problem:
            return [entry(call, {"error": f"{call['tool']}: {problem}"}) for call in calls]

    return loop(model, tools, goal, max_steps, work)


@wrong("good_kept", "inside the loop over the calls")
def nothing_runs_after_a_failure(model, tools, goal, max_steps=10):
    def work(tools, calls):
        entries = []
        for call in calls:
            entries.append(entry(call, run_one(tools, call)))
            if isinstance(entries[-1]["result"], dict) and "error" in entries[-1]["result"]:
                break
        return entries

    return loop(model, tools, goal, max_steps, work)


@wrong("good_kept", "unknown tool")
def unknown_tool_crashes_a_batch(model, tools, goal, max_steps=10):
    def work(tools, calls):
        functions = [tools[call["tool"]] for call in calls]
        return [entry(call, run_one(tools, call)) for call, _ in zip(calls, functions, strict=True)]

    return loop(model, tools, goal, max_steps, work)


@wrong("odd_ids", "results stand behind")
def results_in_a_dict_by_id(model, tools, goal, max_steps=10):
    def work(tools, calls):
        by_id = {call.get("id"): (call, run_one(tools, call)) for call in calls}
        return [entry(call, result) for call, result in by_id.values()]

    return loop(model, tools, goal, max_steps, work)


@wrong("odd_ids", "KeyError: 'id'")
def missing_id_crashes(model, tools, goal, max_steps=10):
    def work(tools, calls):
        return [entry(call, run_one(tools, call), call["id"]) for call in calls]

    return loop(model, tools, goal, max_steps, work)


@wrong("ends", "however many requests")
def requests_counted_as_steps(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps, count_calls=True)


@wrong("ends", "Where do you count?")
def requests_counted_in_what_is_told(model, tools, goal, max_steps=10):
    told = []

    def work(tools, calls):
        told.extend(calls[1:])
        return one_by_one(tools, calls)

    end = loop(model, tools, goal, max_steps, work)
    return end if end["stopped"] == "step limit" else {**end, "steps": end["steps"] + len(told)}


@wrong("ends", "in the middle of a batch")
def interrupt_swallowed_in_a_batch(model, tools, goal, max_steps=10):
    def work(tools, calls):
        entries = []
        for call in calls:
            try:
                entries.append(entry(call, run_one(tools, call)))
            except BaseException as problem:
                entries.append(entry(call, str(problem)))
        return entries

    return loop(model, tools, goal, max_steps, work)


@wrong("all_run", "goes round over it")
def at_most_three_calls(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps, lambda tools, calls: one_by_one(tools, calls[:3]))


@wrong("each_answered", "got a result with the id")
def ids_cut_short(model, tools, goal, max_steps=10):
    return loop(
        model,
        tools,
        goal,
        max_steps,
        lambda tools, calls: [entry(c, run_one(tools, c), str(c.get("id", ""))[:16]) for c in calls],
    )


@wrong("each_answered", "follow their reply directly")
def a_note_behind_each_result(model, tools, goal, max_steps=10):
    def work(tools, calls):
        return [one for c in calls for one in (*one_by_one(tools, [c]), {"role": "user", "text": "Next:"})]

    return loop(model, tools, goal, max_steps, work)


@wrong("each_answered", "only grows")
def entries_used_again_in_the_next_step(model, tools, goal, max_steps=10):
    pool = [{} for _ in range(9)]

    def work(tools, calls):
        for one, call in zip(pool, calls, strict=False):
            one.update(entry(call, run_one(tools, call)))
        return pool[: len(calls)]

    return loop(model, tools, goal, max_steps, work)


def failed(one):
    return isinstance(one["result"], dict) and "error" in one["result"]


@wrong("good_kept", "and two others")
def the_first_failure_told_for_all(model, tools, goal, max_steps=10):
    def work(tools, calls):
        entries = one_by_one(tools, calls)
        first = next((one["result"] for one in entries if failed(one)), None)
        return [{**one, "result": first} if failed(one) else one for one in entries]

    return loop(model, tools, goal, max_steps, work)


@wrong("good_kept", "and two others")
def gives_up_after_the_second_failure(model, tools, goal, max_steps=10):
    def work(tools, calls):
        entries = []
        for call in calls:
            if sum(map(failed, entries)) < 2:
                entries += one_by_one(tools, [call])
        return entries

    return loop(model, tools, goal, max_steps, work)


@wrong("good_kept", "and two others")
def failure_of_the_first_ends_the_batch(model, tools, goal, max_steps=10):
    def work(tools, calls):
        first = one_by_one(tools, calls[:1])
        return first if failed(first[0]) else first + one_by_one(tools, calls[1:])

    return loop(model, tools, goal, max_steps, work)


@wrong("odd_ids", "is kept")
def all_ids_made_anew_where_one_is_odd(model, tools, goal, max_steps=10):
    def work(tools, calls):
        ids = [call.get("id") for call in calls]
        if None not in ids and len(set(ids)) == len(ids):
            return one_by_one(tools, calls)
        return [entry(call, run_one(tools, call), f"new_{n}") for n, call in enumerate(calls)]

    return loop(model, tools, goal, max_steps, work)


@wrong("ends", "was called all the same")
def first_interrupt_of_a_batch_swallowed(model, tools, goal, max_steps=10):
    pressed = []

    def work(tools, calls):
        entries = []
        for call in calls:
            try:
                entries.append(entry(call, run_one(tools, call)))
            except KeyboardInterrupt:
                if pressed:
                    raise
                pressed.append(call)
                entries.append(entry(call, "interrupted"))
        return entries

    return loop(model, tools, goal, max_steps, work)


# --- right


@right
def calls_one_by_one(model, tools, goal, max_steps=10):
    return loop(model, tools, goal, max_steps)


@right
def ids_made_unique(model, tools, goal, max_steps=10):
    def work(tools, calls):
        taken, entries = set(), []
        for number, call in enumerate(calls):
            name = call.get("id") or f"made_{number}"
            while name in taken:
                name += "x"
            taken.add(name)
            entries.append(entry(call, run_one(tools, call), name))
        return entries

    return loop(model, tools, goal, max_steps, work)


@right
def in_threads(model, tools, goal, max_steps=10):
    def work(tools, calls):
        # Tools of one name keep their order, as their results depend on it here.
        names = list(dict.fromkeys(call["tool"] for call in calls))
        with ThreadPoolExecutor() as pool:
            groups = {
                name: pool.submit(lambda n: [run_one(tools, c) for c in calls if c["tool"] == n], name)
                for name in names
            }
        results = {name: iter(group.result()) for name, group in groups.items()}
        return [entry(call, next(results[call["tool"]])) for call in calls]

    return loop(model, tools, goal, max_steps, work)


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
