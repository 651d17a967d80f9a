"""ex08: test the outcome."""

import json
import re

from tests.zoo import patch, right, wrong


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


def judge(criterion, named, *edits):
    return wrong(criterion, named)(patch(five_rules, *edits))


def at_the_end(criterion, named, end):
    return judge(criterion, named, "return problems", end)


# --- wrong: any path


@wrong("any_path", "a bad run passed")
def finds_everything_good(run, limits):
    return []


@wrong("any_path", "was refused")
def finds_everything_bad(run, limits):
    return ["bad"]


says_true_or_false = at_the_end("any_path", "no list", "return not problems")
nothing_comes_back = at_the_end("any_path", "no list", "")
demands_one_path = at_the_end(
    "any_path",
    "another order",
    """kinds = [entry["role"] for entry in run["history"]][1:3]
first = run["history"][2]["result"] if kinds == ["model", "tool"] else {}
return problems + (["began with another tool"] if isinstance(first, dict) and first.get("saved") else [])""",
)
demands_a_tool = at_the_end(
    "any_path", "without a tool", 'return problems + ([] if run["tools_used"] else ["no tool was used"])'
)
demands_few_steps = at_the_end(
    "any_path", "three tools", 'return problems + (["too long"] if run["steps"] == 4 else [])'
)
knows_single_requests_alone = judge(
    "any_path",
    "KeyError",
    "problems = []",
    """problems = []
for entry in run["history"]:
    if entry["role"] == "model" and entry["type"] != "answer":
        entry["input"]["x"] = 1""",
)
error_looked_for_in_a_number = judge("any_path", "isinstance(result, dict)", FAILURE, '"error" in result')
every_result_taken_for_a_dict = judge(
    "any_path", "a dict, a list, a text, a number", FAILURE, 'result.get("error")'
)
numbers_of_no_answer = judge("any_path", "`None` for its answer", 'answer or ""', "answer")
one_list_for_all_runs = judge(
    "any_path", "left over from the run before", "limits)", "limits, problems=[])", "problems = []", ""
)
tools_sorted_in_the_run = at_the_end("any_path", "changes nothing", 'run["history"].pop()\nreturn problems')
problems_as_numbers = at_the_end("any_path", "in words", "return [0 for _ in problems]")
problems_as_truths = at_the_end("any_path", "in words", "return [True for _ in problems]")

# --- wrong: steps

steps_off_by_one = judge("steps", "one step more than max_steps", STEPS, f"{STEPS} + 1")
last_step_taken_for_too_many = judge(
    "steps",
    "with exactly max_steps steps",
    STEPS,
    f'{STEPS} - (run["stopped"] == "answered")',
)
steps_counted_from_the_history = judge(
    "steps",
    "The run itself says",
    'run["steps"]',
    'sum(entry["role"] == "model" for entry in run["history"])',
)
a_limit_of_its_own = judge(
    "steps", 'limits["max_steps"]', 'limits["max_steps"]', 'max(4, limits["max_steps"])'
)

# --- wrong: forbidden tools

forbidden_tools_not_looked_at = judge("forbidden", "a forbidden tool was used at first", FORBIDDEN, "False")
only_one_forbidden_tool_known = judge(
    "forbidden", "another forbidden tool", FORBIDDEN, 'name == limits["forbidden_tools"][0]'
)
only_two_forbidden_tools_known = judge("forbidden", "in between", FORBIDDEN, f"{FORBIDDEN}[:2]")
names_compared_as_texts = judge(
    "forbidden",
    "Compare whole names",
    FORBIDDEN,
    'name in " ".join(run["tools_used"])',
    f"for name in {USED}",
    'for name in limits["forbidden_tools"]',
)
only_the_last_tool_looked_at = judge("forbidden", "at first", USED, f"{USED}[-1:]")
only_first_and_last_tool_looked_at = judge("forbidden", "in between", USED, f"{USED}[:1] + {USED}[-1:]")
forbidden_looked_up_in_single_requests = judge(
    "forbidden",
    "What was asked for is not what ran",
    USED,
    '[entry["tool"] for entry in run["history"] if entry.get("type") == "tool"]',
)
forbidden_looked_up_in_all_results = judge(
    "forbidden",
    "What was asked for is not what ran",
    USED,
    '[entry["tool"] for entry in run["history"] if entry["role"] == "tool"]',
)
forbidden_in_a_batch_not_seen = judge(
    "forbidden",
    "may make several requests",
    USED,
    f'[e["tool"] for e in run["history"] if e.get("type") == "tool" and e["tool"] in {USED}]',
)
something_must_be_forbidden = judge(
    "forbidden", "may be empty", "problems = []", 'problems = []\nfirst = limits["forbidden_tools"][0]'
)

# --- wrong: an answer at the limit

limit_not_looked_at = judge("limit_answer", "answered all the same", AT_LIMIT, "False")
every_stopped_run_refused = judge("limit_answer", "honest", AT_LIMIT, 'run["stopped"] != "answered"')
only_the_step_limit_known = judge(
    "limit_answer",
    "Other limits may stop a run too",
    AT_LIMIT,
    f'run["stopped"] not in ("answered", "step limit") or {AT_LIMIT}',
)

# --- wrong: claims

failures_not_looked_at = judge("claim", "claims success", FAILED, "False")
every_failure_counts = judge(
    "claim",
    "what was mended is no failure",
    "last.values()",
    '[entry["result"] for entry in results]',
    CLAIMS,
    CLAIMS_OR_NONE,
)
honest_failure_refused = judge("claim", "may fail, if it says so", f" and {CLAIMS}", "")
only_the_last_result_counts = judge(
    "claim",
    "each tool by itself",
    FAILED,
    'bool(results) and is_failure(results[-1]["result"])',
    CLAIMS,
    CLAIMS_OR_NONE,
)
one_success_is_enough = judge(
    "claim",
    "not at whether it ever worked",
    FAILED,
    'any(all(is_failure(e["result"]) for e in results if e["tool"] == tool) for tool in last)',
    CLAIMS,
    CLAIMS_OR_NONE,
)
error_in_the_words_of_a_result = judge("claim", "in a text, in a list", FAILURE, '"error" in str(result)')
error_in_anything_but_numbers = judge(
    "claim", "in a text, in a list", FAILURE, 'isinstance(result, (dict, list, str)) and "error" in result'
)
error_in_the_json_of_a_dict = judge(
    "claim", "in a text, in a list", FAILURE, 'isinstance(result, dict) and "error" in json.dumps(result)'
)
words_looked_for_in_none = judge("claim", "where it is `None`", CLAIMS, '"could not" not in answer')
no_answer_taken_for_a_claim = judge("claim", "where it is `None`", CLAIMS, CLAIMS_OR_NONE)
a_not_admits_it = judge("claim", "side by side", CLAIMS, '"not" not in (answer or "not")')
could_or_fail_admits_it = judge(
    "claim", "side by side", CLAIMS, 'not re.search("could|fail|not", answer or "not")'
)
could_not_only_at_the_start = judge(
    "claim", "anywhere in the answer", CLAIMS, 'answer and not answer.startswith("I could not")'
)
an_i_or_a_sorry_admits_it = judge(
    "claim", 'Only the words "could not"', CLAIMS, 'answer and not answer.startswith(("I ", "Sorry"))'
)
failures_of_single_requests_alone = judge(
    "claim",
    "entries like all others",
    LAST,
    """{}
for place, entry in enumerate(run["history"]):
    if entry.get("type") == "tool":
        last[entry["tool"]] = run["history"][place + 1]["result"]""",
)
claims_of_answered_runs_alone = judge(
    "claim", 'Whatever "stopped" says', "if failed", 'if run["stopped"] == "answered" and failed'
)

# --- wrong: numbers

numbers_not_looked_at = judge("number", "no tool returned its number", NUMBERS, "[]")
numbers_of_the_goal_refused = judge("number", "goal may be repeated", 'run["history"][0]["text"] + ', "")
numbers_found_inside_others = judge("number", "12 is not in 123", IS_KNOWN, "number not in known")
numbers_of_requests_accepted = judge("number", "model itself wrote", KNOWN, 'json.dumps(run["history"][:-1])')
only_the_last_result_read = judge(
    "number",
    "stands deep inside",
    "known = ",
    'if len(results) > 1 and results[-1]["result"] == "no more":\n    results = results[-1:]\nknown = ',
)
only_the_first_number = judge("number", "Each of them has to stand", NUMBERS, f"{NUMBERS}[:1]")
only_the_last_number = judge("number", "Each of them has to stand", NUMBERS, f"{NUMBERS}[-1:]")
one_true_number_is_enough = judge(
    "number",
    "Each of them has to stand",
    IS_KNOWN,
    f"not set({NUMBERS}) & set(re.findall(r'\\d+', known))",
)
short_numbers_passed_over = judge("number", "however short it is", r'\d+", answer', r'\d\d\d+", answer')
single_digits_passed_over = judge("number", "however short it is", r'\d+", answer', r'\d\d+", answer')
numbers_of_failures_do_not_count = judge(
    "number", "a result like any other", "in results])", 'in results if not is_failure(entry["result"])])'
)
only_texts_and_dicts_read = judge(
    "number", "the result itself", "in results])", 'in results if isinstance(entry["result"], (dict, str))])'
)
whole_entries_read_for_numbers = judge(
    "number", "more than its result", '[entry["result"] for entry in results]', "results"
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
    patch(five_rules, "return problems", 'return tuple({"problem": text} for text in problems)')
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
