"""ex08: test the outcome. The learner's judge is run on good agents and on agents with planted faults."""

from random import Random
from typing import Any

from agentlib.course.checking.evidence import crash
from agentlib.course.checking.fake_data import World
from agentlib.course.checking.simulator import shortened
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
        self.most = world.rng.randrange(5, 9)
        self.limits = {
            "max_steps": self.most,
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


def scenarios(rng: Random) -> dict[str, Scenario]:
    """The scenarios of one check: finished runs, good and bad."""
    world = World(rng)
    make = Maker(world)
    look, act, most = make.look, make.act, make.most
    number = [world.number() for _ in range(16)]
    in_name = look.rsplit("_", 1)[1]
    few = rng.randrange(2, 10)
    some = rng.choice([number for number in range(10, 100) if str(number) != in_name])
    lamps = "How many lamps are there?"
    place = world.place().split()[0]
    failed = error_result("closed", world.failure().split(",")[0].rsplit(" ", 1)[0])
    done = {"saved": True, "name": place}
    like_forbidden = f"{make.forbidden}_notes"
    order = f"What is in box {number[9]}?"
    return {
        # good agents, each on a path of its own
        "short path": make.run([make.one(look, {"amount": number[0]})], f"There are {number[0]}."),
        "long path": make.run(
            [make.one(look, {"amount": number[1]}), make.one(act, done), make.one(look, f"{number[2]} left")],
            f"There are {number[2]}.",
        ),
        "other order": make.run(
            [make.one(act, done), make.one(look, {"amount": number[1]})], f"There are {number[1]}."
        ),
        "short path again": make.run([make.one(look, {"amount": number[0]})], f"There are {number[0]}."),
        "together": make.run(
            [make.together((look, {"amount": number[3]}), (look, {"amount": number[4]}))],
            f"{number[4]} here and {number[3]} there.",
        ),
        "no tool needed": make.run([], "Good morning! Which box do you mean?"),
        "a number for a result": make.run([make.one(look, number[12])], "It is there."),
        "a list for a result": make.run([make.one(look, [place, number[12], None])], "It is there."),
        "nothing for a result": make.run([make.one(act, None), make.one(look, [])], "It is there."),
        "everything wrong": make.run(
            [make.one(make.forbidden, done) for _ in range(most + 1)],
            f"There are {number[5]}.",
            stopped="step limit",
            extra_steps=2,
        ),
        # a limit of steps
        "at the limit": make.run(
            [make.one(look, {"amount": number[0] + i}) for i in range(most - 1)], f"There are {number[0]}."
        ),
        "over the limit": make.run(
            [make.one(look, {"amount": number[0] + i}) for i in range(most)], f"There are {number[0]}."
        ),
        "far over the limit": make.run(
            [make.one(look, {"amount": number[1]})], f"There are {number[1]}.", extra_steps=20
        ),
        "over a small limit": make.run(
            [make.one(look, {"amount": number[0] + i}) for i in range(2)],
            f"There are {number[0]}.",
            max_steps=2,
        ),
        # forbidden tools
        "nothing forbidden": make.run(
            [make.one(look, {"amount": number[0]})], f"There are {number[0]}.", forbidden_tools=[]
        ),
        "forbidden in between": make.run(
            [
                make.one(look, {"amount": number[0]}),
                make.one(make.third_forbidden, "ok"),
                make.one(act, done),
            ],
            f"There are {number[0]}.",
        ),
        "nearly forbidden": make.run(
            [make.one(like_forbidden, {"amount": number[0]})], f"There are {number[0]}."
        ),
        "forbidden and held back": make.run(
            [make.one(make.forbidden, "not run"), make.one(look, {"amount": number[0]})],
            f"There are {number[0]}.",
            held_back=(make.forbidden,),
        ),
        "forbidden in a batch": make.run(
            [make.together((look, {"amount": number[0]}), (make.forbidden, "ok"))], f"There are {number[0]}."
        ),
        "forbidden first": make.run(
            [make.one(make.forbidden, "ok"), make.one(look, {"amount": number[0]})], f"There are {number[0]}."
        ),
        "forbidden last": make.run(
            [make.one(look, {"amount": number[0]}), make.one(make.also_forbidden, "ok")],
            f"There are {number[0]}.",
        ),
        # an answer at the limit
        "limit and no answer": make.run(
            [make.one(look, {"amount": number[0] + i}) for i in range(most)], None, stopped="step limit"
        ),
        "limit and an answer": make.run(
            [make.one(look, {"amount": number[0] + i}) for i in range(most)],
            f"There are {number[0]}.",
            stopped="step limit",
        ),
        "other stop and no answer": make.run(
            [make.one(look, {"amount": number[0]})], None, stopped="token budget", extra_steps=1
        ),
        # success that was claimed
        "failed and mended": make.run([make.one(act, failed), make.one(act, done)], f"{place} is saved."),
        "failed and said so": make.run([make.one(act, failed)], f"I could not save {place}."),
        "one tool failed, another did not": make.run(
            [make.one(act, failed), make.one(look, done)], f"{place} is saved."
        ),
        "failed and claimed": make.run([make.one(act, failed)], f"{place} is saved."),
        "mended and failed again": make.run(
            [make.one(act, done), make.one(act, failed)], f"Both are saved, {place} too."
        ),
        "failed and said so late": make.run(
            [make.one(act, failed)], f"Sorry: the box was closed, so {place} could not be saved."
        ),
        "failed and speaks of itself": make.run([make.one(act, failed)], f"I saved {place}, as you asked."),
        "failed and claimed, stopped otherwise": make.run(
            [make.one(act, failed)], f"{place} is saved.", stopped="token budget", extra_steps=1
        ),
        "failed in a batch": make.run(
            [make.together((act, failed), (look, {"amount": number[0]}))], f"{place} is saved."
        ),
        "failed and used other words": make.run(
            [make.one(act, failed)],
            f"{place} is saved. Do not worry: nothing failed, and you could look it up.",
        ),
        "failed, and stopped": make.run(
            [make.one(look, {"amount": number[0] + i}) for i in range(most - 1)] + [make.one(act, failed)],
            None,
            stopped="step limit",
        ),
        "error in a text": make.run([make.one(look, "no error found")], "All is in order."),
        "error in a list": make.run([make.one(look, ["error", "warning"])], "It keeps errors and warnings."),
        "error in a field": make.run(
            [make.one(look, {"state": "no error", "errors": 0})], "All is in order."
        ),
        # numbers that nobody returned
        "number deep inside": make.run(
            [make.one(look, {"rows": [{"amount": number[6], "of": "boxes"}]}), make.one(look, "no more")],
            f"There are {number[6]}.",
        ),
        "number in a text": make.run(
            [make.one(look, f"about {number[7]} boxes"), make.one(look, done)], f"There are {number[7]}."
        ),
        "number of the goal": make.run(
            [make.one(look, {"kind": "lamps"})], f"Box {number[9]} holds lamps.", goal=order
        ),
        "number for a result": make.run([make.one(look, number[13])], f"There are {number[13]}."),
        "number in a list": make.run([make.one(look, [place, number[13]])], f"There are {number[13]}."),
        "short number": make.run(
            [make.one(look, {"amount": number[8], "boxes": few, "rows": some})],
            f"There are {number[8]}, in {few} boxes and {some} rows.",
        ),
        "number of a failure": make.run(
            [make.one(act, error_result("closed", f"ask under {number[14]}")), make.one(act, done)],
            f"At first I could not save {place} and had to ask under {number[14]}.",
        ),
        "number made up": make.run([make.one(look, {"amount": number[8]})], f"There are {number[8] + 1}."),
        "made up behind a true one": make.run(
            [make.one(look, {"amount": number[8]})], f"There are {number[8]} here and {number[15]} there."
        ),
        "made up before a true one": make.run(
            [make.one(look, {"amount": number[8]})], f"There are {number[15]} here and {number[8]} there."
        ),
        "one digit made up": make.run(
            [make.one(look, {"amount": number[8]})], f"There are {number[8]}, in {few} boxes.", goal=lamps
        ),
        "two digits made up": make.run(
            [make.one(look, {"amount": number[8]})], f"There are {number[8]}, in {some} boxes.", goal=lamps
        ),
        "part of a number": make.run(
            [make.one(look, {"amount": number[10] * 10 + 7})], f"There are {number[10]}."
        ),
        "number of a name": make.run(
            [make.one(look, {"amount": number[8]})],
            f"There are {number[8]}, in {in_name} boxes.",
            goal=lamps,
        ),
        "number only asked for": make.run(
            [
                [
                    {"role": "model", "type": "tool", "tool": look, "input": {"box": number[11]}},
                    {"role": "tool", "id": "", "tool": look, "result": "empty"},
                ]
            ],
            f"There are {number[11]}.",
        ),
    }


def _problems(log: Log) -> list[Any] | Fault:
    fault = crash(log)
    if fault is not None:
        return fault
    value = log.outcome["returned"]
    if not isinstance(value, list):
        return Fault(
            f"judge gave {shortened(json_text(value))}, which is no list",
            "What comes back is a list of problems; a good run gives an empty one.",
        )
    if any(not item or isinstance(item, (bool, int, float)) for item in value):
        return Fault(
            f"judge gave {shortened(json_text(value))}",
            "A problem is told in words, so that a reader knows what is wrong.",
        )
    return value


def passes(log: Log, what: str, hint: str | None = None) -> Fault | None:
    """A good run must get no problem."""
    problems = _problems(log)
    if isinstance(problems, Fault):
        return Fault(f"a good run, {what}: {problems.seen}", problems.hint)
    if problems:
        run = log.facts["run"]
        return Fault(
            f"a good run, {what}, was refused: {shortened(json_text(problems[0]))} (steps {run['steps']}, "
            "stopped "
            f"{json_text(run['stopped'])}, answer {shortened(json_text(run['answer']))})",
            hint,
        )
    return None


def is_caught(log: Log, what: str, hint: str | None = None) -> Fault | None:
    """A bad run must get a problem."""
    problems = _problems(log)
    if isinstance(problems, Fault):
        return Fault(f"a bad run, {what}: {problems.seen}", problems.hint)
    if not problems:
        run = log.facts["run"]
        return Fault(
            f"a bad run passed: {what} (steps {run['steps']}, stopped {json_text(run['stopped'])}, answer "
            f"{shortened(json_text(run['answer']))})",
            hint,
        )
    return None


def reads(log: Log, what: str, hint: str) -> Fault | None:
    """A run must be read to its end, whatever is said about it."""
    problems = _problems(log)
    if isinstance(problems, Fault) and "returned" not in log.outcome:
        return Fault(f"a run {what}: {problems.seen}", hint)
    return None


ANY_RESULT = (
    "A result may be a dict, a list, a text, a number or `None`. Which of them does the line that is shown "
    'expect? Only a dict with the key "error" is a failure: `isinstance(result, dict)` comes first.'
)
NO_ANSWER = "A run that was stopped has `None` for its answer: no words, and no numbers. Test that first."


def any_path(logs: Logs) -> Fault | None:
    """Good agents pass whatever path they took; one that does everything wrong does not."""
    return (
        _left_over(logs)
        or passes(logs["short path"], "one tool, then the answer")
        or reads(logs["long path"], "whose tools gave dicts and a text", ANY_RESULT)
        or passes(logs["long path"], "three tools, then the answer")
        or passes(logs["other order"], "the same tools in another order")
        or passes(logs["together"], "two requests in one reply")
        or passes(logs["no tool needed"], "an answer without a tool")
        or reads(logs["a number for a result"], "whose tool gave a number", ANY_RESULT)
        or reads(logs["a list for a result"], "whose tool gave a list", ANY_RESULT)
        or reads(logs["nothing for a result"], "whose tool gave `None`", ANY_RESULT)
        or passes(logs["a number for a result"], "whose tool gave a number")
        or passes(logs["a list for a result"], "whose tool gave a list")
        or passes(logs["nothing for a result"], "whose tool gave `None`")
        or reads(logs["limit and no answer"], "without an answer", NO_ANSWER)
        or is_caught(logs["everything wrong"], "forbidden tools, too many steps, an answer at the limit")
        or _changed(logs)
    )


def _left_over(logs: Logs) -> Fault | None:
    """A good run is judged before and after a bad one; the second time it must get no more problems."""
    first, _, again = (
        _problems(logs[name]) for name in ("short path", "everything wrong", "short path again")
    )
    if isinstance(first, Fault) or isinstance(again, Fault) or len(again) <= len(first):
        return None
    return Fault(
        f"a good run, judged once more after a bad one, was refused: {shortened(json_text(again[-1]))}",
        "Something is left over from the run before. Where is your list made: inside the function?",
    )


def _changed(logs: Logs) -> Fault | None:
    for name in ("short path", "long path", "together", "everything wrong"):
        changed = logs[name].outcome.get("changed")
        if changed:
            what = " and ".join(("run", "limits")[place] for place in changed)
            return Fault(
                f"after judge had looked at a run, `{what}` was not as before",
                "A test looks and changes nothing. Which line sorts, empties or adds to what was given?",
            )
    return None


def within_the_limit(logs: Logs) -> Fault | None:
    """max_steps steps are good, one more is not."""
    edge = "max_steps itself is allowed; one step more is not."
    return (
        passes(logs["at the limit"], "with exactly max_steps steps", edge)
        or is_caught(logs["over the limit"], "one step more than max_steps", edge)
        or is_caught(
            logs["over a small limit"], "3 steps with max_steps=2", 'The limit is `limits["max_steps"]`.'
        )
        or is_caught(
            logs["far over the limit"],
            "20 steps too many",
            'The run itself says how many steps it took: `run["steps"]`.',
        )
    )


def no_forbidden_tool(logs: Logs) -> Fault | None:
    """A forbidden tool is caught wherever it was used; another tool with a similar name is not."""
    everywhere = (
        'Every name in `run["tools_used"]` is compared with every name in `limits["forbidden_tools"]`.'
    )
    return (
        passes(
            logs["nearly forbidden"],
            "with a tool whose name only begins like a forbidden one",
            "Compare whole names. `in` finds a part of a text, but a whole element of a list.",
        )
        or passes(
            logs["forbidden and held back"],
            "in which a forbidden tool was asked for and did not run",
            'What was asked for is not what ran. `run["tools_used"]` names the tools that ran.',
        )
        or is_caught(logs["forbidden first"], "a forbidden tool was used at first", everywhere)
        or is_caught(logs["forbidden last"], "another forbidden tool was used at last", everywhere)
        or is_caught(logs["forbidden in between"], "a third forbidden tool was used in between", everywhere)
        or reads(
            logs["nothing forbidden"],
            "with no forbidden tools",
            'The list `limits["forbidden_tools"]` may be empty.',
        )
        or passes(logs["nothing forbidden"], "with no forbidden tools")
        or is_caught(
            logs["forbidden in a batch"],
            "a forbidden tool was used, one of two in one reply",
            'A reply may make several requests. `run["tools_used"]` names all tools that ran, whatever the '
            "reply looked like.",
        )
    )


def no_answer_at_the_limit(logs: Logs) -> Fault | None:
    """A run that hit the limit has no answer; one that answered in its last step is fine."""
    return (
        passes(logs["at the limit"], "answered in its last step")
        or passes(
            logs["limit and no answer"],
            "stopped at the limit, with no answer",
            "A run that was stopped and says so is honest. Only an answer beside that reason is a problem.",
        )
        or passes(
            logs["other stop and no answer"],
            "stopped for another reason, with no answer",
            "Other limits may stop a run too. With no answer it is honest.",
        )
        or is_caught(logs["limit and an answer"], "it hit the step limit and answered all the same")
    )


ONLY_A_DICT = (
    'A failure is a dict with the key "error". The same word in a text, in a list or in a value is none. '
    "What do you look for it in?"
)


def no_false_claim(logs: Logs) -> Fault | None:
    """A failure that was not mended must be admitted."""
    return (
        passes(
            logs["failed and mended"],
            "whose tool failed at first and then did its work",
            "Only the last result of a tool counts: what was mended is no failure any more.",
        )
        or passes(
            logs["failed and said so"],
            "which says that it could not do it",
            'An agent may fail, if it says so: with the words "could not".',
        )
        or passes(
            logs["failed and said so late"],
            "which says at its end that it could not be done",
            'The words "could not" may stand anywhere in the answer.',
        )
        or passes(logs["error in a text"], 'whose tool gave the text "no error found"', ONLY_A_DICT)
        or passes(logs["error in a list"], 'whose tool gave a list with "error" in it', ONLY_A_DICT)
        or passes(logs["error in a field"], 'whose tool gave a dict with the value "no error"', ONLY_A_DICT)
        or is_caught(logs["failed and claimed"], "its tool failed and it claims success")
        or is_caught(
            logs["mended and failed again"],
            "its tool failed at last and it claims success",
            "Look at the last result of the tool, not at whether it ever worked.",
        )
        or is_caught(
            logs["one tool failed, another did not"],
            "one tool failed, another one worked, and it claims success",
            "Look at the last result of each tool by itself.",
        )
        or is_caught(
            logs["failed in a batch"],
            "one of two tools in one reply failed, and it claims success",
            "The results of a batch are entries like all others: each has its own tool and result.",
        )
        or is_caught(
            logs["failed and used other words"],
            "its tool failed and it claims success",
            'The words "could not" stand side by side. "could", "not" or "fail" alone admit nothing.',
        )
        or is_caught(
            logs["failed and speaks of itself"],
            "its tool failed and it claims success",
            'Only the words "could not" admit a failure.',
        )
        or is_caught(
            logs["failed and claimed, stopped otherwise"],
            "it was stopped, its tool failed, and its answer claims success",
            'Whatever "stopped" says: an answer beside a failure has to say "could not".',
        )
        or _honest_when_stopped(logs)
    )


def _honest_when_stopped(logs: Logs) -> Fault | None:
    """A run that was stopped right after a failure has no answer, so it claims nothing."""
    if logs["limit and no answer"].outcome.get("returned"):
        return None  # every stopped run is refused: that is told where the limit is looked at
    fault = passes(logs["failed, and stopped"], "stopped at the limit, with no answer, after a tool failed")
    if fault is None:
        return None
    return Fault(
        fault.seen,
        "Without an answer nothing is claimed. What does your test of the failure do where it is `None`?",
    )


def no_made_up_number(logs: Logs) -> Fault | None:
    """Every number in the answer stands in a result or in the goal."""
    whole = 'A number counts as a whole: 12 is not in 123. `re.findall(r"\\d+", text)` finds whole numbers.'
    every = "An answer may hold several numbers. Each of them has to stand in a result or in the goal."
    short = "A row of digits is a number however short it is. Which numbers does your test pass over?"
    return (
        passes(logs["number deep inside"], "whose number stands deep inside an early result")
        or passes(logs["number in a text"], "whose number stands in a text")
        or passes(
            logs["number of the goal"], "which repeats a number of the goal", "The goal may be repeated."
        )
        or passes(
            logs["number for a result"], "whose number is the result itself", "A result may be a number."
        )
        or passes(logs["number in a list"], "whose number stands in a list", "A result may be a list.")
        or passes(logs["short number"], "whose tool returned short numbers too")
        or passes(
            logs["number of a failure"],
            "whose number stands in the words of a failure",
            "What a failure says is a result like any other: its numbers were returned.",
        )
        or is_caught(
            logs["number made up"],
            "no tool returned its number",
            "Where does your test look for the number? What the model wrote proves nothing, and its answer "
            "is an entry of the history too.",
        )
        or is_caught(
            logs["made up behind a true one"],
            "its first number was returned by a tool, its second was not",
            every,
        )
        or is_caught(
            logs["made up before a true one"],
            "its second number was returned by a tool, its first was not",
            every,
        )
        or is_caught(logs["part of a number"], "its number is only a part of one that a tool returned", whole)
        or is_caught(
            logs["number only asked for"],
            "its number stands in a request, and in no result",
            "What the model itself wrote proves nothing. Look at results and at the goal alone.",
        )
        or is_caught(logs["two digits made up"], "no tool returned its number of two digits", short)
        or is_caught(logs["one digit made up"], "no tool returned its number of one digit", short)
        or is_caught(
            logs["number of a name"],
            "its second number stands in the name of a tool, and in no result",
            'An entry is more than its result. Look at `entry["result"]` alone.',
        )
    )


EXERCISE = Exercise(
    name="ex08_test_the_outcome",
    title="Test the outcome",
    lesson="09_answered_is_not_verified",
    given_by=("09_answered_is_not_verified",),
    difficulty=4,
    minutes=30,
    task="judge outcomes, whatever path an agent took",
    lead_in="{lesson}: a loop without bugs can still give a wrong answer. Its exercise is {exercise}.",
    functions=("judge",),
    scenarios=scenarios,
    criteria=(
        Criterion(
            "any_path", 2,
            "lets good agents pass, whatever path they took, and refuses one that does everything wrong",
            (
                "Which of your tests looks at the path: at the order of tools, or at how many there are?",
                "Test what came out and what must not happen, never the way. Begin with an empty list of "
                "problems.",
            ),
            any_path,
        ),
        Criterion(
            "steps", 1, "catches a run that took more than max_steps steps",
            (
                "How many steps may a run take? And how many did it take?",
                '`if run["steps"] > limits["max_steps"]:` add a problem.',
            ),
            within_the_limit,
            ("any_path",),
            details='`run["steps"]` says how many.',
        ),
        Criterion(
            "forbidden", 2, "catches a run that used a forbidden tool",
            (
                "Which tools were used, and which must not be?",
                'Go through `run["tools_used"]`; a name that is in `limits["forbidden_tools"]` is a problem.',
            ),
            no_forbidden_tool,
            ("any_path",),
        ),
        Criterion(
            "limit_answer", 1, "catches a run that hit the step limit and answered all the same",
            (
                "A run was stopped at its limit. Where can its answer come from?",
                '`run["stopped"] == "step limit"` together with an answer that is not `None` is a problem.',
            ),
            no_answer_at_the_limit,
            ("any_path", "steps"),
            details="A run that was stopped and has no answer is honest, and good.",
        ),
        Criterion(
            "claim", 2,
            'catches a run whose tool failed in the end and whose answer does not say "could not"',
            (
                "Which results are failures? Was the failure mended later?",
                'Keep the last result of each tool in a dict. If one is a dict with "error" in it, the '
                'answer must hold "could not".',
            ),
            no_false_claim,
            ("any_path",),
            details=(
                "What counts is the last result of each tool: a failure that was mended is none. An agent "
                'that says "could not" (these two words, side by side) is honest. So is a run without an '
                "answer: it claims nothing."
            ),
        ),
        Criterion(
            "number", 2, "catches an answer with a number that stands in no result and not in the goal",
            (
                "Which numbers are in the answer? Where may they come from?",
                '`re.findall(r"\\d+", ...)` on the answer, and on the texts of all results and of the goal.',
            ),
            no_made_up_number,
            ("any_path",),
            details=(
                "A number is a row of digits, a short one too, and counts as a whole: 12 does not stand in "
                "123. An answer may hold several. What a failure says is a result as well. What the model "
                "itself wrote proves nothing."
            ),
        ),
    ),
)  # fmt: skip
