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
        **limits: Any,
    ) -> Scenario:
        """One finished run to be judged.

        extra_steps: calls that are counted without being in the history. held_back: tools that were asked
        for and did not run. limits: those that are not as in all other runs.
        """
        history = [user(goal or self.world.goal()), *(entry for step in steps for entry in step)]
        if answer is not None:
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
EDGE = "max_steps itself is allowed; one step more is not."
EVERYWHERE = 'Every name in `run["tools_used"]` is compared with every name in `limits["forbidden_tools"]`.'
ONLY_A_DICT = (
    'A failure is a dict with the key "error". The same word in a text, in a list or in a value is none. '
    "What do you look for it in?"
)
EVERY = "An answer may hold several numbers. Each of them has to stand in a result or in the goal."
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
        return [found(number[0] + i) for i in range(count)]

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
                    [make.together((look, {"amount": number[3]}), (look, {"amount": number[4]}))],
                    f"{number[4]} here and {number[3]} there.",
                ),
                good,
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
                "forbidden tools, too many steps, an answer at the limit",
                run(
                    [one(make.forbidden, done) for _ in range(max_steps + 1)], there(number[5]),
                    stopped="step limit", extra_steps=2,
                ),
                bad,
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
        "limit_answer": [
            CallCase("answered in its last step", run(steps(max_steps - 1), there(number[0])), good),
            CallCase(
                "stopped at the limit, with no answer",
                run(steps(max_steps), None, stopped="step limit"), good,
                "A run that was stopped and says so is honest. Only an answer beside that reason is a "
                "problem.",
            ),
            CallCase(
                "stopped for another reason, with no answer",
                run([found(number[0])], None, stopped="token budget", extra_steps=1), good,
                "Other limits may stop a run too. With no answer it is honest.",
            ),
            CallCase(
                "it hit the step limit and answered all the same",
                run(steps(max_steps), there(number[0]), stopped="step limit"), bad,
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
                run([make.together((act, failed), (look, {"amount": number[0]}))], saved), bad,
                "The results of a batch are entries like all others: each has its own tool and result.",
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
                good,
            ),
            CallCase(
                "whose number stands in a text",
                run([one(look, f"about {number[7]} boxes"), one(look, done)], there(number[7])), good,
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
                "no tool returned its number", run([found(number[8])], there(number[8] + 1)), bad,
                "Where does your test look for the number? What the model wrote proves nothing, and its "
                "answer is an entry of the history too.",
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
    return _left_over(logs) or by_cases("any_path")(logs) or _changed(logs)


def _left_over(logs: Logs) -> Fault | None:
    """A good run is judged before and after a bad one; the second time it must get no more problems."""
    names = (
        "one tool, then the answer",
        "forbidden tools, too many steps, an answer at the limit",
        "once more",
    )
    first, _, again = (_problems(logs[f"any_path: {name}"]) for name in names)
    if isinstance(first, Fault) or isinstance(again, Fault) or len(again) <= len(first):
        return None
    return Fault(
        f"a good run, judged once more after a bad one, was refused: {shown(again[-1])}",
        "Something is left over from the run before. Where is your list made: inside the function?",
    )


def _changed(logs: Logs) -> Fault | None:
    for log in logs.played:
        changed = log.outcome.get("changed")
        if changed:
            what = " and ".join(("run", "limits")[place] for place in changed)
            return Fault(
                f"after judge had looked at a run, `{what}` was not as before",
                "A test looks and changes nothing. Which line sorts, empties or adds to what was given?",
            )
    return None


def no_false_claim(logs: Logs) -> Fault | None:
    """A failure that was not mended must be admitted; a run that was stopped after one claims nothing."""
    fault = by_cases("claim")(logs)
    if fault is not None or logs["limit_answer: stopped at the limit, with no answer"].outcome.get(
        "returned"
    ):
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
    scenarios=lambda rng: scenarios_of(cases(rng)),
    criteria=(
        Criterion(
            "any_path", 2,
            "lets good agents pass, whatever path they took, and refuses one that does everything wrong",
            nudge="Which of your tests looks at the path: at the order of tools, or at how many there are?",
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
            needs=("any_path",),
            details='`run["steps"]` says how many.',
        ),
        Criterion(
            "forbidden", 2, "catches a run that used a forbidden tool",
            nudge="Which tools were used, and which must not be?",
            hint=(
                'Go through `run["tools_used"]`; a name that is in `limits["forbidden_tools"]` is a problem.'
            ),
            judge=by_cases("forbidden"),
            needs=("any_path",),
        ),
        Criterion(
            "limit_answer", 1, "catches a run that hit the step limit and answered all the same",
            nudge="A run was stopped at its limit. Where can its answer come from?",
            hint='`run["stopped"] == "step limit"` together with an answer that is not `None` is a problem.',
            judge=by_cases("limit_answer"),
            needs=("any_path", "steps"),
            details="A run that was stopped and has no answer is honest, and good.",
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
            needs=("any_path",),
            details=(
                "What counts is the last result of each tool: a failure that was mended is none. An agent "
                'that says "could not" (these two words, side by side) is honest. So is a run without an '
                "answer: it claims nothing."
            ),
        ),
        Criterion(
            "number", 2, "catches an answer with a number that stands in no result and not in the goal",
            nudge="Which numbers are in the answer? Where may they come from?",
            hint='`re.findall(r"\\d+", ...)` on the answer, and on the texts of all results and of the goal.',
            judge=by_cases("number"),
            needs=("any_path",),
            details=(
                "A number is a row of digits, a short one too, and counts as a whole: 12 does not stand in "
                "123. An answer may hold several. What a failure says is a result as well. What the model "
                "itself wrote proves nothing."
            ),
        ),
    ),
)  # fmt: skip
