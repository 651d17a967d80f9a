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
    replies = [entry for entry in run["history"] if entry["role"] == "model"]
    if answer is not None and answer not in [reply.get("text") for reply in replies]:
        problems.append("made up the answer")
    results = [entry for entry in run["history"] if entry["role"] == "tool"]
    last = {entry["tool"]: entry["result"] for entry in results}
    failed = any(is_failure(result) for result in last.values())
    if failed and "could not" not in (answer or "could not"):
        problems.append("claims success")
    known = run["history"][0]["text"] + json.dumps([entry["result"] for entry in results], ensure_ascii=False)
    for number in re.findall(r"\d+", answer or ""):
        if number not in re.findall(r"\d+", known):
            problems.append(f"made up {number}")
    return problems


STEPS = 'run["steps"] > limits["max_steps"]'
USED = 'run["tools_used"]'
FORBIDDEN = 'name in limits["forbidden_tools"]'
MADE_UP = 'answer is not None and answer not in [reply.get("text") for reply in replies]'
LAST = '{entry["tool"]: entry["result"] for entry in results}'
FAILURE = "is_failure(result)"
FAILED = f"any({FAILURE} for result in last.values())"
CLAIMS = '"could not" not in (answer or "could not")'
CLAIMS_OR_NONE = '"could not" not in (answer or "")'
NUMBERS = r're.findall(r"\d+", answer or "")'
KNOWN = 'run["history"][0]["text"] + json.dumps([entry["result"] for entry in results], ensure_ascii=False)'
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
tools_sorted_in_the_run = wrong("left_alone", "changes nothing")(
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
names_looked_for_in_a_text = wrong("forbidden", "only the beginning of a forbidden one")(
    five_rules, FORBIDDEN, 'name in str(limits["forbidden_tools"])'
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

# --- wrong: an answer that the model never gave

made_up_answers_not_looked_for = wrong("made_up", "no reply holds its answer")(five_rules, MADE_UP, "False")
every_answer_at_the_limit_refused = wrong("made_up", "with the answer of a closing call")(
    five_rules, MADE_UP, f'run["stopped"] == "step limit" and answer is not None or {MADE_UP}'
)
every_stopped_run_refused = wrong("made_up", "honest")(
    five_rules, MADE_UP, f'run["stopped"] != "answered" and answer is None or {MADE_UP}'
)
only_the_step_limit_known = wrong("made_up", "Other limits may stop a run too")(
    five_rules, MADE_UP, f'run["stopped"] not in ("answered", "step limit") and answer is None or {MADE_UP}'
)
only_stopped_runs_looked_at = wrong("made_up", 'What "stopped" says proves nothing')(
    five_rules, MADE_UP, f'run["stopped"] != "answered" and {MADE_UP}'
)
only_the_step_limit_looked_at = wrong("made_up", "no reply holds its answer")(
    five_rules, MADE_UP, f'run["stopped"] in ("answered", "step limit") and {MADE_UP}'
)
answers_looked_for_in_the_whole_history = wrong("made_up", "A result is no reply")(
    five_rules, MADE_UP, 'answer is not None and answer not in str(run["history"])'
)
answers_looked_for_in_all_texts = wrong("made_up", "A note of the user is no reply")(
    five_rules, "for reply in replies]", 'for reply in run["history"]]'
)
no_answer_looked_for_among_the_texts = wrong("made_up", "Without an answer there is nothing")(
    five_rules, MADE_UP, MADE_UP.replace("answer is not None and ", "")
)
empty_answer_taken_for_none = wrong("made_up", "An empty text is an answer too")(
    five_rules, MADE_UP, MADE_UP.replace("answer is not None", "answer")
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

an_error_must_say_something = wrong("claim", "whatever stands under it")(
    five_rules, FAILURE, 'isinstance(result, dict) and result.get("error")'
)
an_error_must_not_be_none = wrong("claim", "whatever stands under it")(
    five_rules, FAILURE, 'isinstance(result, dict) and result.get("error") is not None'
)
an_error_must_be_a_text = wrong("claim", "whatever stands under it")(
    five_rules, FAILURE, 'isinstance(result, dict) and isinstance(result.get("error"), str)'
)
words_of_the_whole_run_looked_at = wrong("claim", "Whose words count?")(
    five_rules, CLAIMS, '"could not" not in str(run) + (answer or "could not")'
)
other_words_admit_it = wrong("claim", "the task names them")(
    five_rules, CLAIMS, 'not re.search("could not|did not|failed to", answer or "could not")'
)
the_two_words_apart = wrong("claim", "side by side")(
    five_rules, CLAIMS, 'not {"could", "not"} <= set(re.findall("[a-z]+", answer or "could not"))'
)
could_alone_admits_it = wrong("claim", "side by side")(
    five_rules, CLAIMS, '"could" not in (answer or "could not")'
)

# --- wrong: numbers

numbers_not_looked_at = wrong("number", "no tool returned its number")(five_rules, NUMBERS, "[]")
numbers_of_the_goal_refused = wrong("number", "goal may be repeated")(
    five_rules, 'run["history"][0]["text"] + ', ""
)
numbers_found_inside_others = wrong("number", "12 is not in 123")(five_rules, IS_KNOWN, "number not in known")
numbers_beside_letters_not_seen = wrong("number", "right beside a dot, a comma, a sign or a letter")(
    five_rules, NUMBERS, r're.findall(r"\b\d+\b", answer or "")'
)
words_that_are_digits_alone = wrong("number", "right beside a dot, a comma, a sign or a letter")(
    five_rules, NUMBERS, '[word for word in (answer or "").split() if word.isdigit()]'
)
words_without_their_dots = wrong("number", "right beside a dot, a comma, a sign or a letter")(
    five_rules,
    NUMBERS,
    '[word.strip(".,") for word in (answer or "").split() if word.strip(".,").isdigit()]',
)
escapes_read_as_digits = wrong("number", "digits that nobody returned")(
    five_rules, ", ensure_ascii=False", ""
)
whole_numbers_of_escapes = wrong("number", "ensure_ascii=False")(
    five_rules, KNOWN, 'ascii([run["history"][0]["text"], *(entry["result"] for entry in results)])'
)
later_notes_of_the_user_accepted = wrong("number", "What a user says later proves nothing")(
    five_rules,
    "known = ",
    """for entry in run["history"]:
    if entry["role"] == "user":
        results.append({"result": entry["text"]})
known = """,
)
last_result_of_each_tool_read = wrong("number", "Every result counts here")(
    five_rules, "in results], ensure", "in {one['tool']: one for one in results}.values()], ensure"
)
results_of_single_requests_alone = wrong("any_path", "The results of a batch are entries like all others")(
    five_rules,
    "known = ",
    """results = [
    run["history"][place + 1] for place, entry in enumerate(run["history"]) if entry.get("type") == "tool"
]
known = """,
)
numbers_of_requests_accepted = wrong("number", "model itself wrote")(
    five_rules, KNOWN, 'json.dumps(run["history"][:-1], ensure_ascii=False)'
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
    five_rules, "in results], ensure", 'in results if not is_failure(entry["result"])], ensure'
)
only_texts_and_dicts_read = wrong("number", "the result itself")(
    five_rules, "in results], ensure", 'in results if isinstance(entry["result"], (dict, str))], ensure'
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
        said = {entry["text"] for entry in run["history"] if entry.get("type") == "answer"} | {None}
        found += [] if run["answer"] in said else ["nobody said that"]
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
        if not any(text in entry["text"] for entry in run["history"][1:] if entry.get("type") == "answer"):
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


class _Judge:
    """One method for each rule; each gives its problem in words, or nothing."""

    def __init__(self, run, limits):
        self.answer, self.steps, self.names = run["answer"], run["steps"], run["tools_used"]
        self.goal, *self.entries = run["history"]
        self.limits = limits

    def too_long(self):
        return "too long" * (self.steps > self.limits["max_steps"])

    def forbidden(self):
        return ", ".join(sorted(set(self.names).intersection(self.limits["forbidden_tools"])))

    def from_nowhere(self):
        replies = [entry["text"] for entry in self.entries if entry["role"] == "model" and "text" in entry]
        return "" if self.answer is None or self.answer in replies else "nobody gave this answer"

    def boast(self):
        by_tool = {}
        for entry in self.entries:
            if entry["role"] == "tool":
                by_tool.setdefault(entry["tool"], []).append(entry["result"])
        last = [results[-1] for results in by_tool.values()]
        broken = [result for result in last if type(result) is dict and "error" in result.keys()]  # noqa: SIM118
        honest = self.answer is None or "could not" in self.answer
        return "" if honest else "".join(f"boasts beside {result}" for result in broken)

    def invented(self):
        texts = [self.goal["text"], *(str(entry["result"]) for entry in self.entries if "result" in entry)]
        known = {run for text in texts for run in re.split(r"\D+", text)}
        return " ".join(run for run in re.split(r"\D+", self.answer or "") if run not in known | {""})


@right
def a_class_of_rules(run, limits):
    rules = _Judge(run, limits)
    found = (rules.too_long(), rules.forbidden(), rules.from_nowhere(), rules.boast(), rules.invented())
    return list(filter(None, found))


def _digits(text):
    """Rows of digits, gathered letter by letter."""
    rows, row = [], ""
    for letter in f"{text} ":
        if letter in "0123456789":
            row += letter
        elif row:
            rows.append(row)
            row = ""
    return rows


@right
def letter_by_letter(run, limits):
    problems, answer = [], run["answer"]
    if not run["steps"] <= limits["max_steps"]:
        problems.append("steps")
    problems += [f"{name} is forbidden" for name in limits["forbidden_tools"] if name in run["tools_used"]]
    if answer is None:
        return problems
    given, last, known = False, {}, _digits(run["history"][0]["text"])
    for entry in run["history"]:
        given = given or (entry["role"] == "model" and entry.get("text") == answer)
        if entry["role"] == "tool":
            last[entry["tool"]] = entry["result"]
            known += _digits(json.dumps(entry["result"], ensure_ascii=False))
    if not given:
        problems.append("no reply holds the answer")
    if "could not" not in answer and any(map(is_failure, last.values())):
        problems.append("a failure is not told")
    return problems + [f"{row} is made up" for row in _digits(answer) if row not in known]
