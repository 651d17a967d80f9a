"""ex08: test the outcome."""

import json
import re

from tests.zoo import right, wrong


def steps(run, limits):
    return ["too many steps"] if run["steps"] > limits["max_steps"] else []


def forbidden(run, limits):
    return [f"used {name}" for name in run["tools_used"] if name in limits["forbidden_tools"]]


def limit_answer(run, limits):
    return ["answered at the limit"] if run["stopped"] == "step limit" and run["answer"] is not None else []


def claim(run, limits):
    last = {entry["tool"]: entry["result"] for entry in run["history"] if entry["role"] == "tool"}
    failed = any(isinstance(result, dict) and "error" in result for result in last.values())
    return ["claims success"] if failed and "could not" not in (run["answer"] or "could not") else []


def number(run, limits):
    known = set(re.findall(r"\d+", run["history"][0]["text"]))
    for entry in run["history"]:
        if entry["role"] == "tool":
            known.update(re.findall(r"\d+", json.dumps(entry["result"])))
    return [f"made up {n}" for n in re.findall(r"\d+", run["answer"] or "") if n not in known]


ALL = (steps, forbidden, limit_answer, claim, number)


def judge_with(run, limits, **others):
    problems = []
    for rule in ALL:
        problems += others.get(rule.__name__, rule)(run, limits)
    return problems


def without(run, limits, rule):
    return judge_with(run, limits, **{rule.__name__: lambda run, limits: []})


@wrong("any_path", "a bad run passed")
def finds_everything_good(run, limits):
    return []


@wrong("any_path", "was refused")
def finds_everything_bad(run, limits):
    return ["bad"]


@wrong("any_path", "no list")
def says_true_or_false(run, limits):
    return not judge_with(run, limits)


@wrong("any_path", "no list")
def nothing_comes_back(run, limits):
    judge_with(run, limits)


@wrong("any_path", "another order")
def demands_one_path(run, limits):
    problems = judge_with(run, limits)
    kinds = [entry["role"] for entry in run["history"]][1:3]
    first = run["history"][2]["result"] if kinds == ["model", "tool"] and len(run["history"]) > 2 else {}
    return problems + (["began with another tool"] if isinstance(first, dict) and first.get("saved") else [])


@wrong("any_path", "without a tool")
def demands_a_tool(run, limits):
    return judge_with(run, limits) + ([] if run["tools_used"] else ["no tool was used"])


@wrong("any_path", "three tools")
def demands_few_steps(run, limits):
    return judge_with(run, limits) + (["too long"] if run["steps"] == 4 else [])


@wrong("any_path", "KeyError")
def knows_single_requests_alone(run, limits):
    for entry in run["history"]:
        if entry["role"] == "model" and entry["type"] != "answer":
            entry["input"]["x"] = 1
    return judge_with(run, limits)


@wrong("steps", "one step more than max_steps")
def steps_off_by_one(run, limits):
    return judge_with(run, limits, steps=lambda r, li: ["x"] if r["steps"] > li["max_steps"] + 1 else [])


@wrong("steps", "with exactly max_steps steps")
def last_step_taken_for_too_many(run, limits):
    def rule(run, limits):
        return (
            ["x"]
            if run["stopped"] == "answered" and run["steps"] >= limits["max_steps"]
            else steps(run, limits)
        )

    return judge_with(run, limits, steps=rule)


@wrong("steps", "The run itself says")
def steps_counted_from_the_history(run, limits):
    def rule(run, limits):
        made = sum(entry["role"] == "model" for entry in run["history"])
        return ["x"] if made > limits["max_steps"] else []

    problems = judge_with(run, limits, steps=rule)
    return problems


@wrong("forbidden", "a forbidden tool was used at first")
def forbidden_tools_not_looked_at(run, limits):
    return without(run, limits, forbidden)


@wrong("forbidden", "another forbidden tool")
def only_one_forbidden_tool_known(run, limits):
    return judge_with(
        run, limits, forbidden=lambda r, li: ["x"] if li["forbidden_tools"][0] in r["tools_used"] else []
    )


@wrong("forbidden", "Compare whole names")
def names_compared_as_texts(run, limits):
    return judge_with(
        run,
        limits,
        forbidden=lambda r, li: [n for n in li["forbidden_tools"] if n in " ".join(r["tools_used"])],
    )


@wrong("forbidden", "at first")
def only_the_last_tool_looked_at(run, limits):
    return judge_with(
        run, limits, forbidden=lambda r, li: [n for n in r["tools_used"][-1:] if n in li["forbidden_tools"]]
    )


@wrong("limit_answer", "answered all the same")
def limit_not_looked_at(run, limits):
    return without(run, limits, limit_answer)


@wrong("limit_answer", "honest")
def every_stopped_run_refused(run, limits):
    return judge_with(run, limits, limit_answer=lambda r, li: ["x"] if r["stopped"] != "answered" else [])


@wrong("claim", "claims success")
def failures_not_looked_at(run, limits):
    return without(run, limits, claim)


@wrong("claim", "what was mended is no failure")
def every_failure_counts(run, limits):
    def rule(run, limits):
        failed = any(isinstance(e.get("result"), dict) and "error" in e["result"] for e in run["history"])
        return ["x"] if failed and "could not" not in (run["answer"] or "") else []

    return judge_with(run, limits, claim=rule)


@wrong("claim", "may fail, if it says so")
def honest_failure_refused(run, limits):
    def rule(run, limits):
        last = {entry["tool"]: entry["result"] for entry in run["history"] if entry["role"] == "tool"}
        return ["x" for result in last.values() if isinstance(result, dict) and "error" in result]

    return judge_with(run, limits, claim=rule)


@wrong("claim", "each tool by itself")
def only_the_last_result_counts(run, limits):
    def rule(run, limits):
        results = [entry["result"] for entry in run["history"] if entry["role"] == "tool"]
        failed = bool(results) and isinstance(results[-1], dict) and "error" in results[-1]
        return ["x"] if failed and "could not" not in (run["answer"] or "") else []

    return judge_with(run, limits, claim=rule)


@wrong("claim", "not at whether it ever worked")
def one_success_is_enough(run, limits):
    def rule(run, limits):
        by_tool = {}
        for entry in run["history"]:
            if entry["role"] == "tool":
                by_tool.setdefault(entry["tool"], []).append(entry["result"])
        failed = any(
            all(isinstance(r, dict) and "error" in r for r in results) for results in by_tool.values()
        )
        return ["x"] if failed and "could not" not in (run["answer"] or "") else []

    return judge_with(run, limits, claim=rule)


@wrong("number", "no tool returned its number")
def numbers_not_looked_at(run, limits):
    return without(run, limits, number)


@wrong("number", "goal may be repeated")
def numbers_of_the_goal_refused(run, limits):
    def rule(run, limits):
        return number({**run, "history": [{"role": "user", "text": ""}, *run["history"][1:]]}, limits)

    return judge_with(run, limits, number=rule)


@wrong("number", "12 is not in 123")
def numbers_found_inside_others(run, limits):
    def rule(run, limits):
        text = (
            json.dumps([e["result"] for e in run["history"] if e["role"] == "tool"])
            + run["history"][0]["text"]
        )
        return ["x" for n in re.findall(r"\d+", run["answer"] or "") if n not in text]

    return judge_with(run, limits, number=rule)


@wrong("number", "model itself wrote")
def numbers_of_requests_accepted(run, limits):
    def rule(run, limits):
        text = json.dumps(run["history"][:-1])
        return ["x" for n in re.findall(r"\d+", run["answer"] or "") if n not in re.findall(r"\d+", text)]

    return judge_with(run, limits, number=rule)


@wrong("number", "stands deep inside")
def only_the_last_result_read(run, limits):
    def rule(run, limits):
        tools = [entry for entry in run["history"] if entry["role"] == "tool"]
        several = len(tools) > 1 and tools[-1]["result"] == "no more"
        return (
            number({**run, "history": [run["history"][0], *tools[-1:]]}, limits)
            if several
            else number(run, limits)
        )

    return judge_with(run, limits, number=rule)


@right
def five_rules(run, limits):
    return judge_with(run, limits)


@right
def problems_as_dicts(run, limits):
    return tuple({"problem": text} for text in judge_with(run, limits))


@right
def a_generator_made_a_list(run, limits):
    def find():
        if set(run["tools_used"]) & set(limits["forbidden_tools"]):
            yield "forbidden tool"
        if limits["max_steps"] < run["steps"]:
            yield "over the limit"
        text = run["answer"]
        if text is None:
            return
        if run["stopped"] != "answered":
            yield "an answer out of nowhere"
        outcomes = {}
        sources = [run["history"][0]["text"]]
        for entry in run["history"]:
            if "result" in entry:
                outcomes[entry["tool"]] = (
                    "error" in entry["result"] if isinstance(entry["result"], dict) else False
                )
                sources.append(str(entry["result"]))
        if any(outcomes.values()) and "could not" not in text:
            yield "claims success"
        proved = {digits for source in sources for digits in re.findall(r"\d+", source)}
        yield from (f"{digits} is made up" for digits in set(re.findall(r"\d+", text)) - proved)

    return list(find())
