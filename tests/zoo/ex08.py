"""ex08: test the outcome."""

import json
import re

from tests.zoo import right, wrong


def is_failure(result):
    return isinstance(result, dict) and "error" in result


@right
def five_rules(run, limits):
    problems = []
    if run["steps"] > limits["max_steps"]:
        problems.append("too many steps")
    for name in run["tools_used"]:
        if name in limits["forbidden_tools"]:
            problems.append(f"used {name}")
    answer = run["answer"]
    if run["stopped"] == "step limit" and answer is not None:
        problems.append("answered at the limit")
    results = [entry for entry in run["history"] if entry["role"] == "tool"]
    last = {entry["tool"]: entry["result"] for entry in results}
    failed = any(is_failure(result) for result in last.values())
    if failed and "could not" not in (answer or "could not"):
        problems.append("claims success")
    known = run["history"][0]["text"] + json.dumps([entry["result"] for entry in results])
    for number in re.findall(r"\d+", answer or ""):
        if number not in re.findall(r"\d+", known):
            problems.append(f"made up {number}")
    return problems


STEPS = 'run["steps"] > limits["max_steps"]'
USED = 'run["tools_used"]'
FORBIDDEN = 'name in limits["forbidden_tools"]'
AT_LIMIT = 'run["stopped"] == "step limit" and answer is not None'
LAST = '{entry["tool"]: entry["result"] for entry in results}'
FAILURE = "is_failure(result)"
FAILED = f"any({FAILURE} for result in last.values())"
CLAIMS = '"could not" not in (answer or "could not")'
CLAIMS_OR_NONE = '"could not" not in (answer or "")'
NUMBERS = r're.findall(r"\d+", answer or "")'
KNOWN = 'run["history"][0]["text"] + json.dumps([entry["result"] for entry in results])'
IS_KNOWN = r'number not in re.findall(r"\d+", known)'


# --- wrong: any path


@wrong("any_path", "a bad run passed")
def finds_everything_good(run, limits):
    return []


@wrong("any_path", "was refused")
def finds_everything_bad(run, limits):
    return ["bad"]


says_true_or_false = wrong("any_path", "no list")(five_rules, "return problems", "return not problems")
nothing_comes_back = wrong("any_path", "no list")(five_rules, "return problems", "")
demands_one_path = wrong("any_path", "another order")(
    five_rules,
    "return problems",
    """kinds = [entry["role"] for entry in run["history"]][1:3]
first = run["history"][2]["result"] if kinds == ["model", "tool"] else {}
return problems + (["began with another tool"] if isinstance(first, dict) and first.get("saved") else [])""",
)
demands_a_tool = wrong("any_path", "without a tool")(
    five_rules, "return problems", 'return problems + ([] if run["tools_used"] else ["no tool was used"])'
)
demands_few_steps = wrong("any_path", "three tools")(
    five_rules, "return problems", 'return problems + (["too long"] if run["steps"] == 4 else [])'
)
knows_single_requests_alone = wrong("any_path", "KeyError")(
    five_rules,
    "problems = []",
    """problems = []
for entry in run["history"]:
    if entry["role"] == "model" and entry["type"] != "answer":
        entry["input"]["x"] = 1""",
)
error_looked_for_in_a_number = wrong("any_path", "isinstance(result, dict)")(
    five_rules, FAILURE, '"error" in result'
)
every_result_taken_for_a_dict = wrong("any_path", "a dict, a list, a text, a number")(
    five_rules, FAILURE, 'result.get("error")'
)
numbers_of_no_answer = wrong("any_path", "`None` for its answer")(five_rules, 'answer or ""', "answer")
one_list_for_all_runs = wrong("any_path", "left over from the run before")(
    five_rules, ("limits)", "limits, problems=[])"), ("problems = []", "")
)
tools_sorted_in_the_run = wrong("any_path", "changes nothing")(
    five_rules, "return problems", 'run["history"].pop()\nreturn problems'
)
problems_as_numbers = wrong("any_path", "in words")(
    five_rules, "return problems", "return [0 for _ in problems]"
)
problems_as_truths = wrong("any_path", "in words")(
    five_rules, "return problems", "return [True for _ in problems]"
)

# --- wrong: steps

steps_off_by_one = wrong("steps", "one step more than max_steps")(five_rules, STEPS, f"{STEPS} + 1")
last_step_taken_for_too_many = wrong("steps", "with exactly max_steps steps")(
    five_rules, STEPS, f'{STEPS} - (run["stopped"] == "answered")'
)
steps_counted_from_the_history = wrong("steps", "The run itself says")(
    five_rules, 'run["steps"]', 'sum(entry["role"] == "model" for entry in run["history"])'
)
a_limit_of_its_own = wrong("steps", 'limits["max_steps"]')(
    five_rules, 'limits["max_steps"]', 'max(4, limits["max_steps"])'
)

# --- wrong: forbidden tools

forbidden_tools_not_looked_at = wrong("forbidden", "a forbidden tool was used at first")(
    five_rules, FORBIDDEN, "False"
)
only_one_forbidden_tool_known = wrong("forbidden", "another forbidden tool")(
    five_rules, FORBIDDEN, 'name == limits["forbidden_tools"][0]'
)
only_two_forbidden_tools_known = wrong("forbidden", "in between")(five_rules, FORBIDDEN, f"{FORBIDDEN}[:2]")
names_compared_as_texts = wrong("forbidden", "Compare whole names")(
    five_rules,
    (FORBIDDEN, 'name in " ".join(run["tools_used"])'),
    (f"for name in {USED}", 'for name in limits["forbidden_tools"]'),
)
only_the_last_tool_looked_at = wrong("forbidden", "at first")(five_rules, USED, f"{USED}[-1:]")
only_first_and_last_tool_looked_at = wrong("forbidden", "in between")(
    five_rules, USED, f"{USED}[:1] + {USED}[-1:]"
)
forbidden_looked_up_in_single_requests = wrong("forbidden", "What was asked for is not what ran")(
    five_rules, USED, '[entry["tool"] for entry in run["history"] if entry.get("type") == "tool"]'
)
forbidden_looked_up_in_all_results = wrong("forbidden", "What was asked for is not what ran")(
    five_rules, USED, '[entry["tool"] for entry in run["history"] if entry["role"] == "tool"]'
)
forbidden_in_a_batch_not_seen = wrong("forbidden", "may make several requests")(
    five_rules,
    USED,
    f'[e["tool"] for e in run["history"] if e.get("type") == "tool" and e["tool"] in {USED}]',
)
something_must_be_forbidden = wrong("forbidden", "may be empty")(
    five_rules, "problems = []", 'problems = []\nfirst = limits["forbidden_tools"][0]'
)

# --- wrong: an answer at the limit

limit_not_looked_at = wrong("limit_answer", "answered all the same")(five_rules, AT_LIMIT, "False")
every_stopped_run_refused = wrong("limit_answer", "honest")(
    five_rules, AT_LIMIT, 'run["stopped"] != "answered"'
)
only_the_step_limit_known = wrong("limit_answer", "Other limits may stop a run too")(
    five_rules, AT_LIMIT, f'run["stopped"] not in ("answered", "step limit") or {AT_LIMIT}'
)

# --- wrong: claims

failures_not_looked_at = wrong("claim", "claims success")(five_rules, FAILED, "False")
every_failure_counts = wrong("claim", "what was mended is no failure")(
    five_rules, ("last.values()", '[entry["result"] for entry in results]'), (CLAIMS, CLAIMS_OR_NONE)
)
honest_failure_refused = wrong("claim", "may fail, if it says so")(five_rules, f" and {CLAIMS}", "")
only_the_last_result_counts = wrong("claim", "each tool by itself")(
    five_rules, (FAILED, 'bool(results) and is_failure(results[-1]["result"])'), (CLAIMS, CLAIMS_OR_NONE)
)
one_success_is_enough = wrong("claim", "not at whether it ever worked")(
    five_rules,
    (FAILED, 'any(all(is_failure(e["result"]) for e in results if e["tool"] == tool) for tool in last)'),
    (CLAIMS, CLAIMS_OR_NONE),
)
error_in_the_words_of_a_result = wrong("claim", "in a text, in a list")(
    five_rules, FAILURE, '"error" in str(result)'
)
error_in_anything_but_numbers = wrong("claim", "in a text, in a list")(
    five_rules, FAILURE, 'isinstance(result, (dict, list, str)) and "error" in result'
)
error_in_the_json_of_a_dict = wrong("claim", "in a text, in a list")(
    five_rules, FAILURE, 'isinstance(result, dict) and "error" in json.dumps(result)'
)
words_looked_for_in_none = wrong("claim", "where it is `None`")(
    five_rules, CLAIMS, '"could not" not in answer'
)
no_answer_taken_for_a_claim = wrong("claim", "where it is `None`")(five_rules, CLAIMS, CLAIMS_OR_NONE)
a_not_admits_it = wrong("claim", "side by side")(five_rules, CLAIMS, '"not" not in (answer or "not")')
could_or_fail_admits_it = wrong("claim", "side by side")(
    five_rules, CLAIMS, 'not re.search("could|fail|not", answer or "not")'
)
could_not_only_at_the_start = wrong("claim", "anywhere in the answer")(
    five_rules, CLAIMS, 'answer and not answer.startswith("I could not")'
)
an_i_or_a_sorry_admits_it = wrong("claim", 'Only the words "could not"')(
    five_rules, CLAIMS, 'answer and not answer.startswith(("I ", "Sorry"))'
)
failures_of_single_requests_alone = wrong("claim", "entries like all others")(
    five_rules,
    LAST,
    """{}
for place, entry in enumerate(run["history"]):
    if entry.get("type") == "tool":
        last[entry["tool"]] = run["history"][place + 1]["result"]""",
)
claims_of_answered_runs_alone = wrong("claim", 'Whatever "stopped" says')(
    five_rules, "if failed", 'if run["stopped"] == "answered" and failed'
)

# --- wrong: numbers

numbers_not_looked_at = wrong("number", "no tool returned its number")(five_rules, NUMBERS, "[]")
numbers_of_the_goal_refused = wrong("number", "goal may be repeated")(
    five_rules, 'run["history"][0]["text"] + ', ""
)
numbers_found_inside_others = wrong("number", "12 is not in 123")(five_rules, IS_KNOWN, "number not in known")
numbers_of_requests_accepted = wrong("number", "model itself wrote")(
    five_rules, KNOWN, 'json.dumps(run["history"][:-1])'
)
only_the_last_result_read = wrong("number", "stands deep inside")(
    five_rules,
    "known = ",
    'if len(results) > 1 and results[-1]["result"] == "no more":\n    results = results[-1:]\nknown = ',
)
only_the_first_number = wrong("number", "Each of them has to stand")(five_rules, NUMBERS, f"{NUMBERS}[:1]")
only_the_last_number = wrong("number", "Each of them has to stand")(five_rules, NUMBERS, f"{NUMBERS}[-1:]")
one_true_number_is_enough = wrong("number", "Each of them has to stand")(
    five_rules, IS_KNOWN, f"not set({NUMBERS}) & set(re.findall(r'\\d+', known))"
)
short_numbers_passed_over = wrong("number", "however short it is")(
    five_rules, r'\d+", answer', r'\d\d\d+", answer'
)
single_digits_passed_over = wrong("number", "however short it is")(
    five_rules, r'\d+", answer', r'\d\d+", answer'
)
numbers_of_failures_do_not_count = wrong("number", "a result like any other")(
    five_rules, "in results])", 'in results if not is_failure(entry["result"])])'
)
only_texts_and_dicts_read = wrong("number", "the result itself")(
    five_rules, "in results])", 'in results if isinstance(entry["result"], (dict, str))])'
)
whole_entries_read_for_numbers = wrong("number", "more than its result")(
    five_rules, '[entry["result"] for entry in results]', "results"
)

# --- right


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
            found = re.findall("[0-9]+", run["answer"] or "")
            bad = [n for n in found if not re.search(rf"(?<!\d){n}(?!\d)", known)]
            return f"made up {bad}" if bad else None

        found = [failure(run), made_up(run)]
        found += [f"used {name}" for name in run["tools_used"] if name in limits["forbidden_tools"]]
        found += ["too many steps"] if run["steps"] > limits["max_steps"] else []
        found += (
            ["answer at the limit"] if run["stopped"] == "step limit" and run["answer"] is not None else []
        )
        return [problem for problem in found if problem]


problems_as_dicts = right(
    five_rules, "return problems", 'return tuple({"problem": text} for text in problems)'
)


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
