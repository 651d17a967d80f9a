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


# --- results that are no dict, and answers that are none


def last_results(run):
    return {entry["tool"]: entry["result"] for entry in run["history"] if entry["role"] == "tool"}


def claim_with(failed, admitted=lambda answer: "could not" in (answer or "could not")):
    def rule(run, limits):
        return ["x"] if any(map(failed, last_results(run).values())) and not admitted(run["answer"]) else []

    return rule


def is_failure(result):
    return isinstance(result, dict) and "error" in result


@wrong("any_path", "isinstance(result, dict)")
def error_looked_for_in_a_number(run, limits):
    return judge_with(run, limits, claim=claim_with(lambda result: "error" in result))


@wrong("any_path", "a dict, a list, a text, a number")
def every_result_taken_for_a_dict(run, limits):
    return judge_with(run, limits, claim=claim_with(lambda result: result.get("error")))


@wrong("any_path", "`None` for its answer")
def numbers_of_no_answer(run, limits):
    return judge_with(
        run, limits, number=lambda r, li: [] if re.findall(r"\d+", r["answer"]) == [] else number(r, li)
    )


@wrong("claim", "in a text, in a list")
def error_in_the_words_of_a_result(run, limits):
    return judge_with(run, limits, claim=claim_with(lambda result: "error" in str(result)))


@wrong("claim", "in a text, in a list")
def error_in_anything_but_numbers(run, limits):
    return judge_with(
        run, limits, claim=claim_with(lambda r: isinstance(r, (dict, list, str)) and "error" in r)
    )


@wrong("claim", "in a text, in a list")
def error_in_the_json_of_a_dict(run, limits):
    return judge_with(
        run, limits, claim=claim_with(lambda r: isinstance(r, dict) and "error" in json.dumps(r))
    )


@wrong("claim", "where it is `None`")
def words_looked_for_in_none(run, limits):
    return judge_with(run, limits, claim=claim_with(is_failure, lambda answer: "could not" in answer))


@wrong("claim", "where it is `None`")
def no_answer_taken_for_a_claim(run, limits):
    return judge_with(run, limits, claim=claim_with(is_failure, lambda answer: "could not" in (answer or "")))


@wrong("claim", "side by side")
def a_not_admits_it(run, limits):
    return judge_with(run, limits, claim=claim_with(is_failure, lambda a: a is None or "not" in a))


@wrong("claim", "side by side")
def could_or_fail_admits_it(run, limits):
    return judge_with(
        run, limits, claim=claim_with(is_failure, lambda a: a is None or re.search("could|fail|not", a))
    )


@wrong("claim", "entries like all others")
def failures_of_single_requests_alone(run, limits):
    def rule(run, limits):
        last = {}
        for place, entry in enumerate(run["history"]):
            if entry.get("type") == "tool":
                last[entry["tool"]] = run["history"][place + 1]["result"]
        failed = any(map(is_failure, last.values()))
        return ["x"] if failed and "could not" not in (run["answer"] or "could not") else []

    return judge_with(run, limits, claim=rule)


@wrong("forbidden", "What was asked for is not what ran")
def forbidden_looked_up_in_single_requests(run, limits):
    asked = [entry["tool"] for entry in run["history"] if entry.get("type") == "tool"]
    return judge_with(run, limits, forbidden=lambda r, li: [n for n in asked if n in li["forbidden_tools"]])


@wrong("forbidden", "What was asked for is not what ran")
def forbidden_looked_up_in_all_results(run, limits):
    return judge_with(
        run, limits, forbidden=lambda r, li: [n for n in last_results(r) if n in li["forbidden_tools"]]
    )


@wrong("forbidden", "may make several requests")
def forbidden_in_a_batch_not_seen(run, limits):
    used = [
        entry["tool"]
        for entry in run["history"]
        if entry.get("type") == "tool" and entry["tool"] in run["tools_used"]
    ]
    return judge_with(run, limits, forbidden=lambda r, li: [n for n in used if n in li["forbidden_tools"]])


def number_with(numbers, results=lambda run: [e["result"] for e in run["history"] if e["role"] == "tool"]):
    def rule(run, limits):
        known = run["history"][0]["text"] + json.dumps(results(run))
        return ["x" for n in numbers(run["answer"] or "") if n not in re.findall(r"\d+", known)]

    return rule


@wrong("number", "Each of them has to stand")
def only_the_first_number(run, limits):
    return judge_with(run, limits, number=number_with(lambda text: re.findall(r"\d+", text)[:1]))


@wrong("number", "Each of them has to stand")
def only_the_last_number(run, limits):
    return judge_with(run, limits, number=number_with(lambda text: re.findall(r"\d+", text)[-1:]))


@wrong("number", "Each of them has to stand")
def one_true_number_is_enough(run, limits):
    def rule(run, limits):
        found = re.findall(r"\d+", run["answer"] or "")
        return ["x"] if found and len(number(run, limits)) == len(found) else []

    return judge_with(run, limits, number=rule)


@wrong("number", "however short it is")
def short_numbers_passed_over(run, limits):
    return judge_with(run, limits, number=number_with(lambda text: re.findall(r"\d\d\d+", text)))


@wrong("number", "however short it is")
def single_digits_passed_over(run, limits):
    return judge_with(run, limits, number=number_with(lambda text: re.findall(r"\d\d+", text)))


@wrong("number", "a result like any other")
def numbers_of_failures_do_not_count(run, limits):
    results = [e["result"] for e in run["history"] if e["role"] == "tool" and not is_failure(e["result"])]
    return judge_with(
        run, limits, number=number_with(lambda text: re.findall(r"\d+", text), lambda run: results)
    )


@wrong("number", "the result itself")
def only_texts_and_dicts_read(run, limits):
    results = [e["result"] for e in run["history"] if isinstance(e.get("result"), (dict, str))]
    return judge_with(
        run, limits, number=number_with(lambda text: re.findall(r"\d+", text), lambda run: results)
    )


@wrong("number", "more than its result")
def whole_entries_read_for_numbers(run, limits):
    entries = [entry for entry in run["history"] if entry["role"] == "tool"]
    return judge_with(
        run, limits, number=number_with(lambda text: re.findall(r"\d+", text), lambda run: entries)
    )


@wrong("any_path", "left over from the run before")
def one_list_for_all_runs(run, limits, problems=[]):  # noqa: B006  the fault that is meant
    problems += judge_with(run, limits)
    return problems


@wrong("any_path", "changes nothing")
def tools_sorted_in_the_run(run, limits):
    problems = judge_with(run, limits)
    run["history"].pop()
    return problems


@wrong("any_path", "in words")
def problems_as_numbers(run, limits):
    return [0 for _ in judge_with(run, limits)]


@wrong("any_path", "in words")
def problems_as_truths(run, limits):
    return [True for _ in judge_with(run, limits)]


@wrong("steps", 'limits["max_steps"]')
def a_limit_of_its_own(run, limits):
    return judge_with(run, {**limits, "max_steps": max(4, limits["max_steps"])})


@wrong("forbidden", "in between")
def only_first_and_last_tool_looked_at(run, limits):
    used = run["tools_used"][:1] + run["tools_used"][-1:]
    return judge_with(
        run, limits, forbidden=lambda r, li: [name for name in used if name in li["forbidden_tools"]]
    )


@wrong("forbidden", "in between")
def only_two_forbidden_tools_known(run, limits):
    return judge_with(run, {**limits, "forbidden_tools": limits["forbidden_tools"][:2]})


@wrong("forbidden", "may be empty")
def something_must_be_forbidden(run, limits):
    first = limits["forbidden_tools"][0]
    return judge_with(run, limits) + ([f"used {first}"] if first in run["tools_used"] else [])


@wrong("limit_answer", "Other limits may stop a run too")
def only_the_step_limit_known(run, limits):
    return judge_with(run, limits) + (
        [] if run["stopped"] in ("answered", "step limit") else ["unknown stop"]
    )


@wrong("claim", "anywhere in the answer")
def could_not_only_at_the_start(run, limits):
    return judge_with(
        run, limits, claim=claim_with(is_failure, lambda a: a is None or a.startswith("I could not"))
    )


@wrong("claim", 'Only the words "could not"')
def an_i_or_a_sorry_admits_it(run, limits):
    return judge_with(
        run, limits, claim=claim_with(is_failure, lambda a: a is None or a.startswith(("I ", "Sorry")))
    )


@wrong("claim", 'Whatever "stopped" says')
def claims_of_answered_runs_alone(run, limits):
    return judge_with(run, limits, claim=lambda r, li: claim(r, li) if r["stopped"] == "answered" else [])


@right
class Rules:
    @staticmethod
    def judge(run, limits):
        def failure(run):
            done = set()
            for entry in reversed(run["history"]):
                match entry:
                    case {"role": "tool", "tool": tool, "result": result} if tool not in done:
                        done.add(tool)
                        if is_failure(result) and run["answer"] and "could not" not in run["answer"].lower():
                            return "hides a failure"
            return None

        def made_up(run):
            known = " ".join(repr(entry.get("result", "")) for entry in run["history"])
            known += " " + run["history"][0]["text"]
            bad = [
                n
                for n in re.findall("[0-9]+", run["answer"] or "")
                if not re.search(rf"(?<!\d){n}(?!\d)", known)
            ]
            return f"made up {bad}" if bad else None

        found = [failure(run), made_up(run)]
        found += steps(run, limits) + forbidden(run, limits) + limit_answer(run, limits)
        return [problem for problem in found if problem]


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
