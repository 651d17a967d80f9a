"""An exception that a fork or a replay raises again has what the first one carried: a loop may look at it."""

import subprocess
from pathlib import Path
from urllib.error import HTTPError

import pytest

from agentlib import ScriptedModel, Trace, answer, ask
from agentlib.watch import fork, watch


class RateLimitError(Exception):
    def __init__(self, words, retry_after):
        super().__init__(words)
        self.retry_after = retry_after


class TwoArgumentsError(Exception):
    def __init__(self, field, value):
        super().__init__(f"{field} is {value}")
        self.field, self.value = field, value


def missing_file():
    try:
        Path("/there/is/no/such/file").read_bytes()
    except OSError as problem:
        return problem


CASES = {
    "a missing file": (missing_file(), ("errno", "strerror", "filename", "args")),
    "a status of HTTP": (HTTPError("http://shop", 429, "Too many", {}, None), ("code", "reason", "url")),
    "a program that failed": (subprocess.CalledProcessError(3, ["ls"]), ("returncode", "cmd", "args")),
    "a class of one's own": (RateLimitError("slow down", 30), ("retry_after", "args")),
    "a class with two arguments": (TwoArgumentsError("day", 31), ("field", "value", "args")),
    "two arguments": (KeyError("north", 2), ("args",)),
    "no arguments": (ValueError(), ("args",)),
    "text that cannot be read": (UnicodeDecodeError("utf-8", b"x", 0, 1, "bad"), ("start", "end", "reason")),
    "an import": (ImportError("no such module", name="x"), ("name", "msg")),
    "an exit": (SystemExit(3), ("code",)),
    "a group": (ExceptionGroup("two", [ValueError("a"), KeyError("b")]), ("message", "args")),
}


def loop_that_notes(fields, seen):
    def loop(model, tools, goal, max_steps=3):
        history = [{"role": "user", "text": goal}]
        while len(history) < 2 * max_steps:
            history.append(reply := model(history))
            if reply["type"] == "answer":
                return {"stopped": "answered", "answer": reply["text"], "steps": len(history) // 2}
            try:
                tools["visit"]()
            except (Exception, SystemExit) as problem:
                seen.append([str(problem), *(repr(getattr(problem, field)) for field in fields)])
                history.append({"role": "tool", "result": {"error": str(problem)}})
        return {"stopped": "step limit", "answer": None, "steps": max_steps}

    return loop


def model():
    return ScriptedModel([ask("visit"), answer("done")])


@pytest.mark.parametrize("case", CASES)
def test_what_a_tool_raised_comes_again_from_a_saved_trace(case, tmp_path):
    problem, fields = CASES[case]
    seen = []
    loop = loop_that_notes(fields, seen)

    def visit():
        raise problem

    trace = watch(loop, model(), {"visit": visit}, "Visit them.")
    saved = Trace.load(trace.save(tmp_path / "run.jsonl"))
    fork(loop, model, {"visit": visit}, "Visit them.", saved, 2, reply=answer("changed"))
    first, again = seen
    assert again == first


def test_a_class_of_the_same_name_from_elsewhere_is_not_taken_for_it():
    case = CASES["a class of one's own"][0]
    stranger = type("RateLimitError", (Exception,), {"__module__": "elsewhere"})
    caught = []

    def loop(model, tools, goal):
        model([{"role": "user", "text": goal}])
        try:
            tools["visit"]()
        except RateLimitError as problem:
            caught.append(isinstance(problem, stranger))
        model([{"role": "user", "text": goal}])

    def visit():
        raise case

    trace = watch(loop, model(), {"visit": visit}, "Visit them.")
    fork(loop, model, {"visit": visit}, "Visit them.", trace, 2, reply=answer("changed"))
    assert caught == [False, False]


def test_each_part_of_a_group_is_caught_by_its_kind_again():
    group = ExceptionGroup("two", [ValueError("a"), RateLimitError("slow down", 30)])
    waits = []

    def loop(model, tools, goal):
        model([{"role": "user", "text": goal}])
        try:
            tools["visit"]()
        except* RateLimitError as found:
            waits.extend(problem.retry_after for problem in found.exceptions)
        except* ValueError:
            waits.append("a value")
        model([{"role": "user", "text": goal}])

    def visit():
        raise group

    trace = watch(loop, model(), {"visit": visit}, "Visit them.")
    fork(loop, model, {"visit": visit}, "Visit them.", trace, 2, reply=answer("changed"))
    assert waits == [30, "a value"] * 2


def test_what_has_no_form_in_a_trace_is_left_out_and_the_rest_comes_again():
    problem = RateLimitError("slow down", object())
    problem.region = "north"
    seen = []
    loop = loop_that_notes(("region",), seen)

    def visit():
        raise problem

    trace = watch(loop, model(), {"visit": visit}, "Visit them.")
    fork(loop, model, {"visit": visit}, "Visit them.", trace, 2, reply=answer("changed"))
    assert seen[0] == seen[1]
