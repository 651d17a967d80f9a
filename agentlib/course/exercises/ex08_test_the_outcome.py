"""ex08: test the outcome. The learner's judge is run on good agents and on agents with planted faults."""

from dataclasses import replace
from random import Random
from typing import Any

from agentlib.course.checking.cases import CallCase, by_cases, scenarios_of
from agentlib.course.checking.evidence import crash, shown
from agentlib.course.checking.fake_data import World
from agentlib.course.checking.spec import Criterion, Exercise, Fault, Log, Logs, Scenario
from agentlib.messages import Entry, ask_together, error_result, json_text, user

__all__ = ["EXERCISE"]


class Maker:
    """Makes finished runs."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.look = world.tool_name()
        self.act = world.tool_name()
        self.forbidden = world.tool_name()
        self.also_forbidden = world.tool_name()
        self.third_forbidden = world.tool_name()
        self.max_steps = world.rng.randrange(5, 9)
        self.limits = {
            "max_steps": self.max_steps,
            "forbidden_tools": [self.forbidden, self.also_forbidden, self.third_forbidden],
        }

    def one(self, tool: str, result: Any) -> list[Entry]:
        """One step with one request."""
        request = self.world.request(tool)
        return [{"role": "model", **request}, {"role": "tool", "id": "", "tool": tool, "result": result}]

    def together(self, *pairs: tuple[str, Any]) -> list[Entry]:
        """One step with several requests: pairs of a tool and its result."""
        reply = ask_together(*(self.world.request(tool) for tool, _ in pairs))
        entries = [
            {"role": "tool", "id": call["id"], "tool": tool, "result": result}
            for call, (tool, result) in zip(reply["calls"], pairs, strict=True)
        ]
        return [{"role": "model", **reply}, *entries]

    def run(
        self,
        steps: list[list[Entry]],
        answer: str | None,
        *,
        stopped: str = "answered",
        extra_steps: int = 0,
        goal: str = "",
        held_back: tuple[str, ...] = (),
        replied: bool = True,
        note: str = "",
        **limits: Any,
    ) -> Scenario:
        """One finished run to be judged.

        extra_steps: calls that are counted without being in the history. held_back: tools that were asked
        for and did not run. replied: False = no reply holds the answer. note: what a user says at the end.
        limits: those that are not as in all other runs.
        """
        history = [user(goal or self.world.goal()), *(entry for step in steps for entry in step)]
        if note:
            history.append(user(note))
        if answer is not None and replied:
            history.append({"role": "model", "type": "answer", "text": answer})
        count = len(steps) + (stopped == "answered") + extra_steps
        run = {
            "answer": answer,
            "stopped": stopped,
            "steps": count,
            "tools_used": [
                entry["tool"]
                for entry in history
                if entry["role"] == "tool" and entry["tool"] not in held_back
            ],
            "history": history,
        }
        return Scenario("judge", (run, {**self.limits, **limits}), facts={"run": run})


# --- what is expected of a run


ANY_RESULT = (
    "A result may be a dict, a list, a text, a number or `None`. Which of them does the line that is shown "
    'expect? Only a dict with the key "error" is a failure: `isinstance(result, dict)` comes first.'
)
NO_ANSWER = "A run that was stopped has `None` for its answer: no words, and no numbers. Test that first."
EDGE = 'max_steps itself is allowed; one step more is not. How many it took says `run["steps"]`.'
EVERYWHERE = 'Every name in `run["tools_used"]` is compared with every name in `limits["forbidden_tools"]`.'
ONLY_A_DICT = (
    'A failure is a dict with the key "error". The same word in a text, in a list or in a value is none. '
    "What do you look for it in?"
)
EVERY = "An answer may hold several numbers. Each of them has to stand in a result or in the goal."
BESIDE = (
    'A number may stand right beside a dot, a comma, a sign or a letter. `re.findall(r"\\d+", text)` '
    "finds it "
    "there; words that are split at spaces, and `\\b`, do not."
)
ESCAPES = (
    "`json.dumps` writes “é” or “–” as `\\u00e9` or `\\u2013`: digits that nobody returned, and others run "
    "into "
    "them. With `ensure_ascii=False` the text stays as it is; so it does with `str`."
)
HELD = (
    "The loop cannot know an answer: only the model gives one. Compare it with the texts of the replies in "
    "the "
    "history."
)
BATCH = "The results of a batch are entries like all others: each has its own tool and result."
ALL_RESULTS = (
    "Every result counts here, early ones too, and a value may stand deep inside: look at all their texts."
)
ANY_ERROR = 'A result with the key "error" is a failure, whatever stands under it: `"error" in result`.'
SHORT = "A row of digits is a number however short it is. Which numbers does your test pass over?"


def _problems(log: Log) -> list[Any] | Fault:
    if fault := crash(log):
        return fault
    value = log.outcome["returned"]
    if not isinstance(value, list):
        return Fault(
            f"judge gave {shown(value)}, which is no list",
            "What comes back is a list of problems; a good run gives an empty one.",
        )
    if any(not item or isinstance(item, (bool, int, float)) for item in value):
        return Fault(
            f"judge gave {shown(value)}",
            "A problem is told in words, so that a reader knows what is wrong.",
        )
    return value


def good(log: Log, case: CallCase) -> Fault | None:
    """A good run must get no problem."""
    problems = _problems(log)
    if isinstance(problems, Fault):
        return Fault(f"a good run, {case.name}: {problems.seen}", problems.hint)
    if problems:
        said = shown(problems[0])
        return Fault(f"a good run, {case.name}, was refused: {said} ({_in_words(log)})", case.say)
    return None


def bad(log: Log, case: CallCase) -> Fault | None:
    """A bad run must get a problem."""
    problems = _problems(log)
    if isinstance(problems, Fault):
        return Fault(f"a bad run, {case.name}: {problems.seen}", problems.hint)
    return None if problems else Fault(f"a bad run passed: {case.name} ({_in_words(log)})", case.say)


def read(log: Log, case: CallCase) -> Fault | None:
    """A run must be read to its end, whatever is said about it."""
    fault = None if "returned" in log.outcome else crash(log)
    return Fault(f"a run {case.name}: {fault.seen}", case.say) if fault else None


def read_and_good(log: Log, case: CallCase) -> Fault | None:
    """A good run must be read to its end, which has a hint of its own, and get no problem."""
    return read(log, case) or good(log, replace(case, say=None))


WORST = "forbidden tools, too many steps, an answer at the limit"


def played(log: Log, case: CallCase) -> None:
    """A run that is there for a function below."""


def _in_words(log: Log) -> str:
    run = log.facts["run"]
    stopped, answer = json_text(run["stopped"]), shown(run["answer"])
    return f"steps {run['steps']}, stopped {stopped}, answer {answer}"


def cases(rng: Random) -> dict[str, list[CallCase]]:
    """The cases of one check, by criterion: finished runs, good and bad."""
    world = World(rng)
    make = Maker(world)
    look, act, max_steps, run, one = make.look, make.act, make.max_steps, make.run, make.one
    number = [world.number() for _ in range(16)]
    in_name = look.rsplit("_", 1)[1]
    few = rng.randrange(2, 10)
    some = rng.choice([number for number in range(10, 100) if str(number) != in_name])
    place = world.place().split()[0]
    failed = error_result("closed", world.failure().split(",")[0].rsplit(" ", 1)[0])
    done = {"saved": True, "name": place}

    def found(amount: int) -> list[Entry]:
        return one(look, {"amount": amount})

    def steps(count: int) -> list[list[Entry]]:
        return [found(number[0] + i) for i in reversed(range(count))]

    def there(amount: int) -> str:
        return f"There are {amount}."

    saved, in_order = f"{place} is saved.", "All is in order."
    lamps = "How many lamps are there?"
    claims = "its tool failed and it claims success"
    three_tools = run([found(number[1]), one(act, done), one(look, f"{number[2]} left")], there(number[2]))
    only_asked_for: list[Entry] = [
        {"role": "model", "type": "tool", "tool": look, "input": {"box": number[11]}},
        {"role": "tool", "id": "", "tool": look, "result": "empty"},
    ]
    return {
        "any_path": [
            CallCase("one tool, then the answer", run([found(number[0])], there(number[0])), good),
            CallCase("whose tools gave dicts and a text", three_tools, read, ANY_RESULT),
            CallCase("three tools, then the answer", three_tools, good),
            CallCase(
                "the same tools in another order",
                run([one(act, done), found(number[1])], there(number[1])),
                good,
            ),
            CallCase(
                "two requests in one reply",
                run(
                    [make.together((look, {"amount": number[3]}), (act, {"amount": number[4]}))],
                    f"{number[4]} here and {number[3]} there.",
                ),
                good, BATCH,
            ),
            CallCase("an answer without a tool", run([], "Good morning! Which box do you mean?"), good),
            CallCase(
                "whose tool gave a number", run([one(look, number[12])], "It is there."),
                read_and_good, ANY_RESULT,
            ),
            CallCase(
                "whose tool gave a list", run([one(look, [place, number[12], None])], "It is there."),
                read_and_good, ANY_RESULT,
            ),
            CallCase(
                "whose tool gave `None`", run([one(act, None), one(look, [])], "It is there."),
                read_and_good, ANY_RESULT,
            ),
            CallCase("without an answer", run(steps(max_steps), None, stopped="step limit"), read, NO_ANSWER),
            CallCase(
                WORST,
                run(
                    [one(make.forbidden, done) for _ in range(max_steps + 1)], there(number[5]),
                    stopped="step limit", extra_steps=2, replied=False,
                ),
                bad,
            ),
            *(
                CallCase(
                    f"{WORST}, with {count} steps",
                    run(
                        [one(make.also_forbidden, done) for _ in range(count)], there(number[5]),
                        stopped="step limit", replied=False, extra_steps=1,
                    ),
                    bad,
                )
                for count in range(max_steps + 1, max_steps + 5)
            ),
            CallCase("once more", run([found(number[0])], there(number[0])), played),
        ],
        "steps": [
            CallCase("with exactly max_steps steps", run(steps(max_steps - 1), there(number[0])), good, EDGE),
            CallCase("one step more than max_steps", run(steps(max_steps), there(number[0])), bad, EDGE),
            CallCase(
                "3 steps with max_steps=2", run(steps(2), there(number[0]), max_steps=2), bad,
                'The limit is `limits["max_steps"]`.',
            ),
            CallCase(
                "20 steps too many", run([found(number[1])], there(number[1]), extra_steps=20), bad,
                'The run itself says how many steps it took: `run["steps"]`.',
            ),
        ],
        "forbidden": [
            CallCase(
                "with a tool whose name only begins like a forbidden one",
                run([one(f"{make.forbidden}_notes", {"amount": number[0]})], there(number[0])), good,
                "Compare whole names. `in` finds a part of a text, but a whole element of a list.",
            ),
            CallCase(
                "with a tool whose name is only the beginning of a forbidden one",
                run([one(make.forbidden[:-1], {"amount": number[0]})], there(number[0])), good,
                "Compare whole names. `in` finds a part of a text, but a whole element of a list.",
            ),
            CallCase(
                "in which a forbidden tool was asked for and did not run",
                run(
                    [one(make.forbidden, "not run"), found(number[0])], there(number[0]),
                    held_back=(make.forbidden,),
                ),
                good,
                'What was asked for is not what ran. `run["tools_used"]` names the tools that ran.',
            ),
            CallCase(
                "a forbidden tool was used at first",
                run([one(make.forbidden, "ok"), found(number[0])], there(number[0])), bad, EVERYWHERE,
            ),
            CallCase(
                "another forbidden tool was used at last",
                run([found(number[0]), one(make.also_forbidden, "ok")], there(number[0])), bad, EVERYWHERE,
            ),
            CallCase(
                "a third forbidden tool was used in between",
                run(
                    [found(number[0]), one(make.third_forbidden, "ok"), one(act, done)], there(number[0])
                ),
                bad, EVERYWHERE,
            ),
            CallCase(
                "with no forbidden tools",
                run([found(number[0])], there(number[0]), forbidden_tools=[]), read_and_good,
                'The list `limits["forbidden_tools"]` may be empty.',
            ),
            CallCase(
                "a forbidden tool was used, one of two in one reply",
                run([make.together((look, {"amount": number[0]}), (make.forbidden, "ok"))], there(number[0])),
                bad,
                'A reply may make several requests. `run["tools_used"]` names all tools that ran, whatever '
                "the reply looked like.",
            ),
        ],
        "made_up": [
            CallCase("answered in its last step", run(steps(max_steps - 1), there(number[0])), good),
            CallCase(
                "stopped at the limit, with the answer of a closing call",
                run(steps(max_steps), there(number[0]), stopped="step limit"), good,
                "After a limit a loop may ask once more without tools, as in lesson 03: that answer is the "
                "model's own. Whether an answer is honest does not hang on the reason for stopping.",
            ),
            CallCase(
                "stopped at the limit, with no answer",
                run(steps(max_steps), None, stopped="step limit"), good,
                "A run that was stopped and says so is honest: `None` is no answer at all.",
            ),
            CallCase(
                "stopped for another reason, with no answer",
                run([found(number[0])], None, stopped="token budget", extra_steps=1), good,
                "Other limits may stop a run too. With no answer it is honest.",
            ),
            CallCase(
                "stopped before its first call, with no answer",
                run([], None, stopped="cancelled"), good,
                "Here the history is the goal alone: no reply, no text. Without an answer there is nothing "
                "to look for.",
            ),
            CallCase(
                "it hit the step limit, and no reply holds its answer",
                run(steps(max_steps), there(number[0]), stopped="step limit", replied=False), bad, HELD,
            ),
            CallCase(
                'it "answered", and no reply holds its answer',
                run(steps(2), there(number[0]), replied=False), bad,
                f'{HELD} What "stopped" says proves nothing.',
            ),
            CallCase(
                "it was stopped by a budget, and no reply holds its answer",
                run(steps(2), there(number[0]), stopped="token budget", replied=False), bad, HELD,
            ),
            CallCase(
                "its answer stands in a result, and in no reply",
                run([one(look, in_order)], in_order, replied=False), bad,
                f"{HELD} A result is no reply.",
            ),
            CallCase(
                "its answer stands in a user's note, and in no reply",
                run([found(number[0])], in_order, note=in_order, replied=False), bad,
                f"{HELD} A note of the user is no reply.",
            ),
            CallCase(
                "its answer is an empty text, which no reply holds",
                run([found(number[0])], "", stopped="step limit", replied=False), bad,
                "An empty text is an answer too. Only `None` is none: `answer is not None`.",
            ),
        ],
        "claim": [
            CallCase(
                "whose tool failed at first and then did its work",
                run([one(act, failed), one(act, done)], saved), good,
                "Only the last result of a tool counts: what was mended is no failure any more.",
            ),
            CallCase(
                "which says that it could not do it",
                run([one(act, failed)], f"I could not save {place}."), good,
                'An agent may fail, if it says so: with the words "could not".',
            ),
            CallCase(
                "which says at its end that it could not be done",
                run([one(act, failed)], f"Sorry: the box was closed, so {place} could not be saved."), good,
                'The words "could not" may stand anywhere in the answer.',
            ),
            CallCase(
                'whose tool gave the text "no error found"',
                run([one(look, "no error found")], in_order), good, ONLY_A_DICT,
            ),
            CallCase(
                'whose tool gave a list with "error" in it',
                run([one(look, ["error", "warning"])], "It keeps errors and warnings."), good, ONLY_A_DICT,
            ),
            CallCase(
                'whose tool gave a dict with the value "no error"',
                run([one(look, {"state": "no error", "errors": 0})], in_order), good, ONLY_A_DICT,
            ),
            CallCase(claims, run([one(act, failed)], saved), bad),
            CallCase(
                "its tool failed at last and it claims success",
                run([one(act, done), one(act, failed)], f"Both are saved, {place} too."), bad,
                "Look at the last result of the tool, not at whether it ever worked.",
            ),
            CallCase(
                "one tool failed, another one worked, and it claims success",
                run([one(act, failed), one(look, done)], saved), bad,
                "Look at the last result of each tool by itself.",
            ),
            CallCase(
                "one of two tools in one reply failed, and it claims success",
                run([make.together((act, failed), (look, {"amount": number[0]}))], saved), bad, BATCH,
            ),
            *(
                CallCase(
                    f"its tool failed with {json_text({'error': error})} and it claims success",
                    run([one(act, {"error": error})], saved), bad, ANY_ERROR,
                )
                for error in ("", None, 0, False)
            ),
            CallCase(
                "its tool failed, a result says that it could not, and the answer claims success",
                run([one(act, error_result("closed", "The box could not be opened."))], saved), bad,
                'Whose words count? Those of `run["answer"]` alone: look for "could not" there.',
            ),
            CallCase(
                claims,
                run(
                    [one(act, failed)], f"{saved} Do not worry: nothing failed, and you could look it up."
                ),
                bad,
                'The words "could not" stand side by side. "could", "not" or "fail" alone admit nothing.',
            ),
            CallCase(
                claims, run([one(act, failed)], f"I saved {place}, as you asked."), bad,
                'Only the words "could not" admit a failure.',
            ),
            *(
                CallCase(
                    f'its tool failed, and its answer has "{words}" in place of "could not"',
                    run([one(act, failed)], f"I {words} save {place}."), bad,
                    'Only the words "could not" admit a failure; the task names them.',
                )
                for words in ("did not", "failed to", "could hardly")
            ),
            CallCase(
                "it was stopped, its tool failed, and its answer claims success",
                run([one(act, failed)], saved, stopped="token budget", extra_steps=1), bad,
                'Whatever "stopped" says: an answer beside a failure has to say "could not".',
            ),
            CallCase(
                "stopped at the limit, with no answer, after a tool failed",
                run([*steps(max_steps - 1), one(act, failed)], None, stopped="step limit"), played,
                "Without an answer nothing is claimed. What does your test of the failure do where it is "
                "`None`?",
            ),
        ],
        "number": [
            CallCase(
                "whose number stands deep inside an early result",
                run(
                    [one(look, {"rows": [{"amount": number[6], "of": "boxes"}]}), one(look, "no more")],
                    there(number[6]),
                ),
                good, ALL_RESULTS,
            ),
            CallCase(
                "whose number stands in a text",
                run([one(look, f"about {number[7]} boxes"), one(look, done)], there(number[7])), good,
                ALL_RESULTS,
            ),
            *(
                CallCase(
                    f"whose number stands in the result {json_text(text)}",
                    run([one(look, {"said": text})], f"It says {found_in}."), good, ESCAPES,
                )
                for text, found_in in (("£5", 5), ("Café12", 12), (f"à{number[7]}", number[7]))
            ),
            CallCase(
                "which repeats a number of the goal",
                run(
                    [one(look, {"kind": "lamps"})], f"Box {number[9]} holds lamps.",
                    goal=f"What is in box {number[9]}?",
                ),
                good, "The goal may be repeated.",
            ),
            CallCase(
                "whose number is the result itself", run([one(look, number[13])], there(number[13])), good,
                "A result may be a number.",
            ),
            CallCase(
                "whose number stands in a list", run([one(look, [place, number[13]])], there(number[13])),
                good, "A result may be a list.",
            ),
            CallCase(
                "whose tool returned short numbers too",
                run(
                    [one(look, {"amount": number[8], "boxes": few, "rows": some})],
                    f"There are {number[8]}, in {few} boxes and {some} rows.",
                ),
                good,
            ),
            CallCase(
                "whose number stands in the words of a failure",
                run(
                    [one(act, error_result("closed", f"ask under {number[14]}")), one(act, done)],
                    f"At first I could not save {place} and had to ask under {number[14]}.",
                ),
                good, "What a failure says is a result like any other: its numbers were returned.",
            ),
            CallCase(
                "no tool returned its number",
                run([found(number[8])], f"There are {number[8] + 1} of them"), bad,
                "Where does your test look for the number? What the model wrote proves nothing, and its "
                "answer is an entry of the history too.",
            ),
            *(
                CallCase(
                    f'no tool returned the number in its answer "{text}"', run([found(number[8])], text), bad,
                    BESIDE,
                )
                for text in (
                    f"There are {number[15]}.", f"There are {number[15]}mugs.", f"In box{number[15]}, I "
                    "think.",
                    f"It costs £{number[15]}",
                )
            ),
            CallCase(
                "its number, 2013, stands in no result: one holds the text “Mon–Fri”",
                run([one(look, {"open": "Mon–Fri"})], "It has been open since 2013.", goal=lamps),
                bad, ESCAPES,
            ),
            CallCase(
                "its first number was returned by a tool, its second was not",
                run([found(number[8])], f"There are {number[8]} here and {number[15]} there."), bad, EVERY,
            ),
            CallCase(
                "its second number was returned by a tool, its first was not",
                run([found(number[8])], f"There are {number[15]} here and {number[8]} there."), bad, EVERY,
            ),
            CallCase(
                "its number is only a part of one that a tool returned",
                run([found(number[10] * 10 + 7)], there(number[10])), bad,
                'A number counts as a whole: 12 is not in 123. `re.findall(r"\\d+", text)` finds whole '
                "numbers.",
            ),
            CallCase(
                "its number stands in a request, and in no result",
                run([only_asked_for], there(number[11])), bad,
                "What the model itself wrote proves nothing. Look at results and at the goal alone.",
            ),
            CallCase(
                "its number stands in a later note of the user, and in no result",
                run([found(number[8])], f"There are {number[15]} here", note=f"Is it {number[15]}?"), bad,
                "The goal is the first entry of the history alone. What a user says later proves nothing.",
            ),
            CallCase(
                "no tool returned its number of two digits",
                run([found(number[8])], f"There are {number[8]}, in {some} boxes.", goal=lamps), bad, SHORT,
            ),
            CallCase(
                "no tool returned its number of one digit",
                run([found(number[8])], f"There are {number[8]}, in {few} boxes.", goal=lamps), bad, SHORT,
            ),
            CallCase(
                "its second number stands in the name of a tool, and in no result",
                run([found(number[8])], f"There are {number[8]}, in {in_name} boxes.", goal=lamps), bad,
                'An entry is more than its result. Look at `entry["result"]` alone.',
            ),
        ],
    }  # fmt: skip


# --- what more than one run shows


def any_path(logs: Logs) -> Fault | None:
    """Good agents pass whatever path they took; one that does everything wrong does not."""
    return _left_over(logs) or by_cases("any_path")(logs)


def _left_over(logs: Logs) -> Fault | None:
    """A good run is judged before and after a bad one; the second time it must get no more problems."""
    names = ("one tool, then the answer", WORST, "once more")
    first, _, again = (_problems(logs[f"any_path: {name}"]) for name in names)
    if isinstance(first, Fault) or isinstance(again, Fault) or len(again) <= len(first):
        return None
    return Fault(
        f"a good run, judged once more after a bad one, was refused: {shown(again[-1])}",
        "Something is left over from the run before. Where is your list made: inside the function?",
    )


def left_alone(logs: Logs) -> Fault | None:
    """Nothing that was given is changed. Only the learner's own process can say so."""
    for name in logs:
        log = logs[name]
        changed = log.outcome.get("changed")
        if changed:
            what = " and ".join(("run", "limits")[place] for place in changed)
            return Fault(
                f"after judge had looked at a run, `{what}` was not as before",
                "A test looks and changes nothing. Which line sorts, empties or adds to what was given?",
                scenario=name,
            )
    return None


def no_false_claim(logs: Logs) -> Fault | None:
    """A failure that was not mended must be admitted; a run that was stopped after one claims nothing."""
    fault = by_cases("claim")(logs)
    if fault is not None or logs["made_up: stopped at the limit, with no answer"].outcome.get("returned"):
        return fault  # every stopped run is refused: that is told where the limit is looked at
    log = logs["claim: stopped at the limit, with no answer, after a tool failed"]
    case = log.facts["case"]
    fault = good(log, case)
    return Fault(fault.seen, case.say) if fault else None


EXERCISE = Exercise(
    name="ex08_test_the_outcome",
    title="Test the outcome",
    lesson="11_judge_by_outcomes",
    given_by=("11_judge_by_outcomes",),
    difficulty=4,
    minutes=30,
    task="judge outcomes, whatever path an agent took",
    lead_in="{lesson}: a loop without bugs can still give a wrong answer. Its exercise is {exercise}.",
    functions=("judge",),
    scenarios=lambda rng: scenarios_of(cases(rng), rng),
    criteria=(
        Criterion(
            "any_path", 2,
            "lets good agents pass, whatever path they took, and refuses one that does everything wrong",
            nudge=(
                "Which of your lines says that? Does it look at what came out, or at the path: the order of "
                "tools, how many there are?"
            ),
            hint=(
                "Test what came out and what must not happen, never the way. Begin with an empty list of "
                "problems."
            ),
            judge=any_path,
        ),
        Criterion(
            "steps", 1, "catches a run that took more than max_steps steps",
            nudge="How many steps may a run take? And how many did it take?",
            hint='`if run["steps"] > limits["max_steps"]:` add a problem.',
            judge=by_cases("steps"),
            after=("any_path",),
            details='`run["steps"]` says how many.',
        ),
        Criterion(
            "forbidden", 2, "catches a run that used a forbidden tool",
            nudge="Which tools were used, and which must not be?",
            hint=(
                'Go through `run["tools_used"]`; a name that is in `limits["forbidden_tools"]` is a problem.'
            ),
            judge=by_cases("forbidden"),
            after=("any_path",),
        ),
        Criterion(
            "made_up", 1, "catches an answer that no reply in the history holds",
            nudge="Where does an answer come from, and where would you find it again?",
            hint=(
                'Gather the texts of the replies: `[entry.get("text") for entry in run["history"] if '
                'entry["role"] == "model"]`. An answer that is not `None` and not among them is made up.'
            ),
            judge=by_cases("made_up"),
            after=("any_path", "steps"),
            details=(
                "The loop cannot know an answer; one that the model never gave is made up, whatever the "
                "reason "
                "for stopping. The answer of a closing call after a limit stands in the history like any "
                "other, and is good. So is a run that was stopped and has none. An empty text is an answer, "
                "too; only `None` is none."
            ),
        ),
        Criterion(
            "claim", 2,
            'catches a run whose tool failed in the end and whose answer does not say "could not"',
            nudge="Which results are failures? Was the failure mended later?",
            hint=(
                'Keep the last result of each tool in a dict. If one is a dict with "error" in it, the '
                'answer must hold "could not".'
            ),
            judge=no_false_claim,
            after=("any_path",),
            details=(
                "What counts is the last result of each tool: a failure that was mended is none. An agent "
                'that says "could not" (these two words, side by side) is honest. So is a run without an '
                "answer: it claims nothing. A result with the key `error` is a failure, whatever it holds "
                "there."
            ),
        ),
        Criterion(
            "number", 2, "catches an answer with a number that stands in no result and not in the goal",
            nudge="Which numbers are in the answer? Where may they come from?",
            hint='`re.findall(r"\\d+", ...)` on the answer, and on the texts of all results and of the goal.',
            judge=by_cases("number"),
            after=("any_path",),
            details=(
                "A number is a row of digits, a short one too, and counts as a whole: 12 does not stand in "
                "123. It may stand beside a letter or a sign: in “Café12” the number is 12, in “£5” it is "
                "5. An "
                "answer may hold several. What a failure says is a result as well. What the model itself "
                "wrote proves nothing, nor does a note of the user behind the goal."
            ),
        ),
        Criterion(
            "left_alone", 0, "leaves run and limits as they are",
            nudge="Which line of yours could change what it looks at?",
            hint="No `pop`, `sort`, `append` or `del` on what was given: `sorted(...)` makes a new list.",
            judge=left_alone,
            after=("any_path",),
            details="No points, for only your own computer can tell; the check shows it all the same.",
        ),
    ),
)  # fmt: skip
