"""A run goes on from its trace: after a wait for a person, and after its program was ended at any moment."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from agentlib import (
    LATER,
    ScriptedModel,
    Trace,
    answer,
    ask,
    ask_together,
    replay,
    resume,
    run_agent,
    stops,
    tool,
    trace_writer,
)
from agentlib.errors import FatalToolError, ResumeError, TraceFileError
from agentlib.messages import ModelRequest
from agentlib.trace import Event
from tests.clock import Clock
from tests.invariants import assert_sound
from tests.test_labs import GOALS

ROOT = Path(__file__).parent.parent


class Killed(BaseException):
    """Stands for the end of the program."""


class KilledAt:
    """Writes a trace, and ends the program when so many events are in the file."""

    def __init__(self, path, events):
        self.writer = trace_writer(path)
        self.begin_trace = self.writer.begin_trace
        self.left = events

    def __call__(self, event):
        self.writer(event)
        self.left -= 1
        if self.left == 0:
            self.writer.close()
            raise Killed


def counted(tools, repeatable):
    """Give the tools, and the list of what they were called with."""
    done = []

    def counting(made):
        def function(**given):
            done.append((made.name, json.dumps(given, sort_keys=True)))
            return made.function(**given)

        return replace(made, function=function, repeatable=repeatable or made.repeatable)

    named = tools.items() if isinstance(tools, dict) else ((None, each) for each in tools)
    return [counting(tool(each, name=name)) for name, each in named], done


def without_resuming(trace):
    """The events without those that tell of the end of the program, and without what was begun twice."""
    events = []
    for event in trace:
        again = events and event.kind == "act" and event == events[-1]
        if event.kind != "resume" and not again:
            events.append(event)
    return events


# --- killed at any moment ---------------------------------------------------------------------------


def fails():
    raise FatalToolError("The key is wrong.")


def look(shelf):
    if shelf == 13:
        raise ValueError("There is no shelf 13.")
    return {"shelf": shelf, "pieces": shelf * 7}


def dear(replies):
    """A model whose provider counts its tokens."""
    script = ScriptedModel(replies)

    class Model:
        def __call__(self, history):
            raise AssertionError

        def call(self, history, request):
            usage = {"input_tokens": 100 * len(history), "output_tokens": 7, "cached_tokens": 20}
            return {**script.call(history, request), "usage": usage}

    return Model()


SHELVES = [ask("look", shelf=number) for number in range(4)]
SAME = [ask("look", shelf=1)] * 6
TOGETHER = ask_together(*SHELVES[:3], ask("nothing"), ask("look", shelf=13), ask("look"))
STORIES = {
    "answer at once": ([answer("yes")], {}),
    "three shelves": ([*SHELVES[:3], answer("done")], {}),
    "several at once": ([TOGETHER, SHELVES[3], answer("done")], {}),
    "several with equal ids": (
        [{**TOGETHER, "calls": [{**one, "id": "x"} for one in TOGETHER["calls"]]}],
        {},
    ),
    "bad replies": ([None, {"type": "answer", "text": " "}, SHELVES[0], {"type": 3}, answer("done")], {}),
    "two empty replies": ([answer(""), answer(""), answer("never")], {}),
    "step limit": (SHELVES, {"max_steps": 3}),
    "closing call": ([*SHELVES[:3], answer("what I know")], {"max_steps": 3, "closing_call": True}),
    "token budget": (SHELVES, {"stops": stops.TokenBudget(70)}),
    "coin budget": (SHELVES, {"stops": stops.CoinBudget(8)}),
    "a call that repeats": (SAME, {"stops": stops.RepeatedCall(3)}),
    "a call that repeats, with a note": (SAME, {"stops": stops.RepeatedCall(2, "note")}),
    "no progress": (SAME, {"stops": stops.NoProgress(2)}),
    "too many errors": ([ask("nothing")] * 4, {"stops": stops.TooManyErrors(2)}),
    "tool called": (SHELVES, {"stops": stops.ToolCalled("look")}),
    "fatal": ([ask_together(SHELVES[0], ask("fails"), SHELVES[1])], {}),
    "the script is over": ([SHELVES[0]], {}),
    "a short memory": (SHELVES, {"memory": lambda history: history[-2:], "stops": stops.TokenBudget(90)}),
    "long results": (SHELVES, {"max_result_chars": 20, "max_steps": 3}),
    "a dear model": ([*SHELVES, answer("done")], {"model": dear, "stops": stops.TokenBudget(1_000)}),
    "a rule of one's own": (SHELVES, {"stops": lambda run: "enough" if run.tool_runs == 2 else None}),
}
STORY_CASES = [
    pytest.param(
        partial(options.pop("model", ScriptedModel), script), [look, fails], "Count.", options, id=story
    )
    for story, (script, options) in STORIES.items()
]
LAB_CASES = [
    pytest.param(lab.model, tools, goal, {}, id=f"{lab.__name__.rpartition('.')[2]}-{number}")
    for number, (lab, tools, goal) in enumerate(GOALS)
]
cases = pytest.mark.parametrize(("model", "tools", "goal", "options"), [*STORY_CASES, *LAB_CASES])


@cases
def test_a_run_that_was_killed_at_any_event_comes_to_the_same_end_and_runs_nothing_twice(
    model, tools, goal, options, tmp_path
):
    counting, expected = counted(tools, repeatable=True)
    whole = run_agent(model(), counting, goal, **options)
    for events in range(1, len(whole.trace) + 1):
        path = tmp_path / f"{events}.jsonl"
        counting, done = counted(tools, repeatable=True)
        run_agent(model(), counting, goal, **options, on_event=KilledAt(path, events))
        trace = Trace.load(path)
        assert len(trace) == events
        again = resume(trace, model(), counting, **options, on_event=trace_writer(path))
        assert (replace(again, trace=whole.trace), again.history) == (whole, whole.history)
        assert (done, without_resuming(again.trace)) == (expected, list(whole.trace))
        assert_sound(again, own_reasons=["enough"])
        assert Trace.load(path) == again.trace
        assert resume(Trace.load(path), model(), counting) == again
        rules = {name: value for name, value in options.items() if name != "max_steps"}
        assert replay(Trace.load(path), **rules) == again
        assert done == expected


@pytest.mark.parametrize("repeatable", [True, False])
def test_a_tool_that_was_begun_runs_again_only_if_it_is_repeatable(repeatable, tmp_path):
    path = tmp_path / "run.jsonl"
    script = [SHELVES[0], SHELVES[1], answer("done")]
    tools, done = counted([look], repeatable)
    run_agent(ScriptedModel(script), tools, "Count.", on_event=KilledAt(path, 4))
    assert Trace.load(path).events[-1].kind == "act"
    assert done == []
    run = resume(Trace.load(path), ScriptedModel(script), tools, on_event=trace_writer(path))
    assert len(done) == 1 + repeatable
    assert (run.answer, run.tool_runs, run.errors) == ("done", 2, int(not repeatable))
    if not repeatable:
        assert run.history[2]["result"] == {
            "error": "not_finished",
            "message": "look was begun, and the program was ended before there was a result: it is not known "
            "whether it finished. Find out what it has done before you ask for it again.",
        }
    assert_sound(run)
    assert replay(run.trace) == run


@pytest.mark.parametrize("cut", [1, 8])
def test_a_trace_cut_off_in_the_middle_of_a_line_goes_on_and_says_what_was_lost(cut, tmp_path):
    path = tmp_path / "run.jsonl"
    script = [*SHELVES[:3], answer("done")]
    tools, done = counted([look], repeatable=False)
    whole = run_agent(ScriptedModel(script), tools, "Count.", on_event=KilledAt(path, 7))
    path.write_bytes(path.read_bytes()[: -1 - cut])
    with pytest.warns(UserWarning, match=r"run\.jsonl is cut off: 6 whole events of 7 were read\."):
        run = resume(Trace.load(path), ScriptedModel(script), tools, on_event=trace_writer(path))
    assert run.stopped == "answered"
    assert [shelf for _, shelf in done] == [json.dumps({"shelf": number}) for number in range(3)]
    (event,) = [event for event in run.trace if event.kind == "resume"]
    assert "6 whole events of 7" in event.text
    assert Trace.load(path) == run.trace
    assert Trace.load(path).problem == ""
    assert whole.stopped == "fatal error"


def test_a_trace_that_has_lost_more_than_its_last_line_does_not_go_on(tmp_path):
    path = run_agent(ScriptedModel(SHELVES), [look], "Count.").trace.save(tmp_path / "run.jsonl")
    path.write_bytes(path.read_bytes()[:-900])
    with pytest.raises(ResumeError, match=r"cannot go on: .* is cut off.* would run again"):
        resume(Trace.load(path), ScriptedModel(SHELVES), [look])


@pytest.mark.parametrize("kind", ["ask", "reply", "act", "result", "in the tool"])
def test_a_process_that_was_killed_goes_on_where_it_was_and_runs_nothing_twice(kind, tmp_path):
    program = (
        "import os, signal, sys\n"
        "from agentlib import ScriptedModel, Trace, answer, ask, resume, run_agent, tool, trace_writer\n"
        "path, done, kind = sys.argv[1:]\n"
        "def end(): os.kill(os.getpid(), signal.SIGKILL)\n"
        "@tool\n"
        "def pay(order: int) -> str:\n"
        "    with open(done, 'a') as file: file.write(f'{order} ')\n"
        "    if kind == 'in the tool' and order == 2: end()\n"
        "    return f'paid {order}'\n"
        "write = trace_writer(path)\n"
        "def watch(event):\n"
        "    write(event)\n"
        "    if event.kind == kind and event.step == 2: end()\n"
        "watch.begin_trace = write.begin_trace\n"
        "model = ScriptedModel([ask('pay', order=n) for n in (1, 2, 3)] + [answer('all paid')])\n"
        "if os.path.exists(path):\n"
        "    run = resume(Trace.load(path), model, [pay], on_event=write)\n"
        "    print(run.stopped, run.answer, run.steps, len(run.history), run.errors)\n"
        "else:\n"
        "    run_agent(model, [pay], 'Pay.', on_event=watch)\n"
    )
    command = [sys.executable, "-c", program, tmp_path / "run.jsonl", tmp_path / "done", kind]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    first = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (first.returncode, first.stdout) == (-signal.SIGKILL, "")
    kind = command[-1] = "never"
    second = subprocess.run(command, capture_output=True, text=True, env=environment)
    begun = {"act": 1, "in the tool": 1}.get(first.args[-1] if kind == "never" else kind, 0)
    assert second.stderr == ""
    assert second.stdout.startswith("answered all paid 4 8"), begun
    paid = (tmp_path / "done").read_text().split()
    assert len(paid) == len(set(paid))


# --- a run that waits -------------------------------------------------------------------------------


class Shop:
    """A tool that must be approved, one that need not be, and what they did."""

    def __init__(self):
        self.done = []
        self.asked = []
        self.tools = [tool(self.refund, risky=True), tool(self.look_up)]

    def refund(self, order: int) -> str:
        """Pay back an order."""
        self.done.append(f"refund {order}")
        return f"{order} is paid back"

    def look_up(self, order: int) -> str:
        """Look up an order."""
        self.done.append(f"look up {order}")
        return f"{order} was sent"

    def run(self, *script, said=LATER, **options):
        return run_agent(ScriptedModel(script), self.tools, "Help.", approve=self.says(said), **options)

    def resume(self, trace, *script, said=True, **options):
        return resume(trace, ScriptedModel(script), self.tools, approve=self.says(said), **options)

    def says(self, said):
        def approve(call):
            self.asked.append(call)
            return said[call["input"]["order"]] if isinstance(said, dict) else said

        return approve


REFUND = ask("refund", order=1)
BOTH = ask_together(ask("look_up", order=1), ask("refund", order=2), ask("look_up", order=3))
DONE = answer("done")


def results_of(run):
    return [entry["result"] for entry in run.history if entry["role"] == "tool"]


def test_a_run_that_waits_says_so_and_the_request_has_a_result_that_says_so():
    shop = Shop()
    run = shop.run(REFUND, DONE)
    assert (run.stopped, run.answer, run.steps, run.tool_runs, run.errors) == ("waiting", None, 1, 0, 0)
    assert run.stopped is not stops.WAITING
    assert run.stopped.detail == "a person has to decide on: refund"
    assert results_of(run) == [
        {
            "error": "waiting",
            "message": "refund waits for a person's yes. It was not run yet; its result will stand here.",
        }
    ]
    assert run.trace.waiting() == [{"id": "call_1", "tool": "refund", "input": {"order": 1}}] == shop.asked
    assert shop.done == []
    assert_sound(run)
    assert replay(run.trace) == run


NO = "A person was asked whether refund may run and said no"
DECISIONS = [
    (True, "1 is paid back"),
    (False, f"{NO}. It was not run."),
    ("not today", f'{NO}, with these words: "not today". It was not run.'),
    (1, f"{NO}. It was not run."),
    (None, f"{NO}. It was not run."),
    ("later", f'{NO}, with these words: "later". It was not run.'),
]


@pytest.mark.parametrize(("said", "result"), DECISIONS)
def test_what_comes_of_a_request_stands_where_it_waited(said, result, tmp_path):
    shop = Shop()
    path = tmp_path / "run.jsonl"
    waits = shop.run(REFUND, DONE, on_event=trace_writer(path))
    assert Trace.load(path) == waits.trace
    run = shop.resume(Trace.load(path), REFUND, DONE, said=said, on_event=trace_writer(path))
    at_once = Shop().run(REFUND, DONE, said=said)
    assert (replace(run, trace=at_once.trace), run.history) == (at_once, at_once.history)
    assert result in str(results_of(run)[0])
    assert (run.stopped, shop.done) == ("answered", ["refund 1"] if said is True else [])
    assert_sound(run)
    assert run.trace.waiting() == []
    assert replay(Trace.load(path)) == run
    assert shop.resume(Trace.load(path)) == run
    assert len(shop.asked) == 2


def test_the_other_requests_of_the_reply_have_their_turn_and_all_results_stand_in_order():
    shop = Shop()
    waits = shop.run(BOTH, DONE)
    assert shop.done == ["look up 1", "look up 3"]
    assert [str(result)[:9] for result in results_of(waits)] == ["1 was sen", "{'error':", "3 was sen"]
    run = shop.resume(waits.trace, BOTH, DONE)
    assert shop.done == ["look up 1", "look up 3", "refund 2"]
    assert results_of(run) == ["1 was sent", "2 is paid back", "3 was sent"]
    assert_sound(run)
    assert replay(run.trace) == run


def test_some_of_several_may_wait_on_while_others_were_decided():
    three = ask_together(*(ask("refund", order=number) for number in (1, 2, 3)))
    shop = Shop()
    first = shop.run(three, DONE, said={1: True, 2: LATER, 3: LATER})
    assert [call["input"]["order"] for call in first.trace.waiting()] == [2, 3]
    second = shop.resume(first.trace, three, DONE, said={2: LATER, 3: False})
    assert (second.stopped, [call["input"]["order"] for call in second.trace.waiting()]) == ("waiting", [2])
    third = shop.resume(second.trace, three, DONE)
    assert (third.stopped, shop.done) == ("answered", ["refund 1", "refund 2"])
    assert ["paid back" in str(result) for result in results_of(third)] == [True, True, False]
    assert [call["input"]["order"] for call in shop.asked] == [1, 2, 3, 2, 3, 2]
    for run in (second, third):
        assert_sound(run)
        assert replay(run.trace) == run


def test_a_run_that_waits_and_was_killed_at_any_event_comes_to_the_same_end(tmp_path):
    script = [BOTH, ask_together(REFUND, ask("refund", order=4)), DONE]
    shop = Shop()
    whole = shop.run(*script)
    while whole.stopped == "waiting":
        whole = shop.resume(whole.trace, *script)
    for number in range(1, 40):
        path = tmp_path / f"{number}.jsonl"
        killed = Shop()
        killed.run(*script, on_event=KilledAt(path, number))
        run = None
        for kill in range(2):  # once more, early in the second half
            run = killed.resume(Trace.load(path), *script, on_event=KilledAt(path, 3 + kill))
        while run is None or run.trace != Trace.load(path) or run.stopped == "waiting":
            run = killed.resume(Trace.load(path), *script, on_event=trace_writer(path))
        assert run.answer == "done"
        assert len(killed.done) == len(set(killed.done))
        unknown = sum("not_finished" in str(result) for result in results_of(run))
        assert len(killed.done) + unknown == len(shop.done)
        assert_sound(run)


def test_a_kill_while_the_person_is_asked_leaves_nothing_begun(tmp_path):
    shop, path = Shop(), tmp_path / "run.jsonl"
    kinds = []

    def approve(call):
        kinds.extend(event.kind for event in Trace.load(path))
        return True

    model = ScriptedModel([REFUND, DONE])
    run = run_agent(model, shop.tools, "Help.", approve=approve, on_event=trace_writer(path))
    assert kinds == ["start", "ask", "reply"]
    assert run.stopped == "answered"


def test_nobody_waits_for_a_run_that_has_no_time_left():
    now = [0.0]

    def approve(call):
        now[0] += 10
        return LATER

    shop = Shop()
    run = run_agent(
        ScriptedModel([ask_together(REFUND, ask("look_up", order=1))]), shop.tools, "Help.",
        approve=approve, stops=stops.Deadline(5), clock=lambda: now[0],
    )  # fmt: skip
    assert (run.stopped, shop.done) == ("deadline", [])
    assert_sound(run)
    assert run.trace.waiting() == []
    assert shop.resume(run.trace) == replay(run.trace, stops=stops.Deadline(5)) == run
    assert shop.done == shop.asked == []


# --- limits -----------------------------------------------------------------------------------------


def test_a_deadline_counts_running_time_alone():
    clock = Clock()

    def slow(seconds: int) -> str:
        clock.now += seconds
        return f"{clock.now:g}"

    refund = tool(slow, name="refund", risky=True)
    script = [
        ask("slow", seconds=3),
        ask("refund", seconds=4),
        ask("slow", seconds=2),
        ask("slow", seconds=1),
        answer("never"),
    ]
    rules = {"stops": stops.Deadline(10), "clock": clock}
    waits = run_agent(ScriptedModel(script), [slow, refund], "Wait.", approve=lambda call: LATER, **rules)
    clock.now = 5.0  # another program, whose clock begins anew
    run = resume(waits.trace, ScriptedModel(script), [slow, refund], approve=lambda call: True, **rules)
    assert (run.stopped, run.tool_runs) == ("deadline", 4)
    assert run.history[-1]["result"] == "12"


def test_more_steps_may_be_given_to_a_run_that_waits_and_stay_given(tmp_path):
    shop, path = Shop(), tmp_path / "run.jsonl"
    waits = shop.run(REFUND, DONE, max_steps=1, on_event=trace_writer(path))
    assert shop.resume(waits.trace, REFUND, DONE, said=LATER).stopped == "waiting"
    assert shop.resume(waits.trace, REFUND, DONE, said=False).stopped == "step limit"
    again = shop.resume(waits.trace, REFUND, DONE, said=LATER, max_steps=2, on_event=trace_writer(path))
    assert again.stopped == "waiting"
    run = shop.resume(Trace.load(path), REFUND, DONE, on_event=trace_writer(path))
    assert (run.stopped, run.steps) == ("answered", 2)
    assert replay(Trace.load(path)) == run


@pytest.mark.parametrize("max_steps", [0, "3", 1.5])
def test_a_limit_that_is_none_is_refused_before_anything_happens(max_steps):
    waits = Shop().run(REFUND)
    with pytest.raises(ValueError, match="max_steps"):
        Shop().resume(waits.trace, REFUND, max_steps=max_steps)


def test_what_attempts_have_cost_counts_on():
    usage = {"input_tokens": 50, "output_tokens": 0}

    class Model:
        def __call__(self, history):
            raise AssertionError

        def call(self, history, request):
            for number in range(3):
                request.note(Event("attempt", 0, {"attempt": number + 1, "usage": usage}, text="too busy"))
            return {**DONE, "usage": usage}

    whole = run_agent(Model(), [], "Go.", stops=stops.TokenBudget(200))
    assert [event.kind for event in whole.trace] == ["start", "ask", *["attempt"] * 3, "reply", "stop"]
    killed = Trace(whole.trace.events[:4], whole.trace.about)
    run = resume(killed, Model(), [], stops=stops.TokenBudget(200))
    assert (run.stopped, run.usage.input_tokens) == ("token budget", 200)
    assert [event.kind for event in run.trace].count("attempt") == 4
    assert replay(run.trace, stops=stops.TokenBudget(200)) == run
    assert resume(run.trace, Model(), []) == run


# --- other tools, other traces ----------------------------------------------------------------------


def test_tools_that_are_new_or_gone_or_have_changed_are_named_and_the_run_goes_on():
    shop = Shop()
    waits = shop.run(REFUND, DONE)

    def refund(order: int, why: str = "") -> str:
        return f"{order} is paid back"

    def send(order: int) -> str:
        return "sent"

    with pytest.warns(UserWarning, match="Tools that are new: send") as warned:
        run = resume(
            waits.trace,
            ScriptedModel([REFUND, DONE]),
            [tool(refund, risky=True), send],
            approve=lambda _: True,
        )
    words = (
        "Tools that are new: send. Tools that are gone: look_up. Tools whose arguments have changed: refund."
    )
    assert [str(one.message) for one in warned] == [words]
    assert warned[0].filename == __file__
    assert [event.text for event in run.trace if event.kind == "resume"] == [words]
    assert (run.answer, results_of(run)) == ("done", ["1 is paid back"])
    assert replay(run.trace) == run


def test_a_run_whose_next_tool_is_gone_does_not_go_on():
    shop = Shop()
    waits = shop.run(REFUND, DONE)
    with pytest.raises(
        ResumeError, match=r"has to run refund next, which is not among the tools \(look_up\)"
    ):
        resume(waits.trace, ScriptedModel([REFUND, DONE]), shop.tools[1:])


def test_a_request_that_waits_is_not_run_unasked_though_its_tool_is_not_risky_any_more():
    shop = Shop()
    waits = shop.run(REFUND, DONE)
    shop.tools = [tool(shop.refund), shop.tools[1]]
    with pytest.raises(ResumeError, match=r"decide on refund.* Declare it risky"):
        shop.resume(waits.trace, REFUND, DONE)
    assert shop.done == []


@pytest.mark.parametrize("given", ["run.jsonl", None, [], {"agentlib_trace": 1}])
def test_what_is_no_trace_is_refused(given):
    with pytest.raises(TypeError, match=r"resume takes a trace, such as Trace\.load\(path\)"):
        resume(given, ScriptedModel([]), [])


def test_the_trace_of_a_watched_loop_is_refused():
    trace = Trace((), {"made_by": "watch", "goal": "?"})
    with pytest.raises(ValueError, match="made by watching"):
        resume(trace, ScriptedModel([]), [])


def test_a_trace_of_a_later_version_is_refused_when_it_is_loaded(tmp_path):
    path = tmp_path / "later.jsonl"
    path.write_text('{"agentlib_trace": 2}\n')
    with pytest.raises(TraceFileError, match="is of version 2"):
        resume(Trace.load(path), ScriptedModel([]), [])


def test_a_rule_that_raises_while_the_trace_is_read_leaves_it_as_it_was(tmp_path):
    shop, path = Shop(), tmp_path / "run.jsonl"
    shop.run(REFUND, DONE, on_event=trace_writer(path))
    before = path.read_bytes()
    with pytest.raises(ZeroDivisionError):
        shop.resume(Trace.load(path), REFUND, DONE, stops=lambda run: 1 / 0, on_event=trace_writer(path))
    assert path.read_bytes() == before
    assert shop.done == []


def test_stricter_rules_hold_from_where_the_run_goes_on():
    script = [*SHELVES, answer("done")]
    whole = run_agent(ScriptedModel(script), [look], "Count.")
    cut = Trace(whole.trace.events[:9], whole.trace.about)
    run = resume(cut, ScriptedModel(script), [look], stops=stops.CoinBudget(3))
    assert (run.stopped, run.steps, run.coins) == ("coin budget", 2, 4)
    assert run.history == whole.history[:5]


# --- the file ---------------------------------------------------------------------------------------


def test_the_file_is_what_save_writes_and_grows_line_by_line(tmp_path):
    path, lengths = tmp_path / "run.jsonl", []
    model = ScriptedModel([*SHELVES, answer("done")])

    def watching(history):
        lengths.append(len(path.read_text().splitlines()))
        return model(history)

    run = run_agent(watching, [look], "Count.", on_event=trace_writer(path))
    assert lengths == [3, 7, 11, 15, 19]
    saved = run.trace.save(tmp_path / "saved.jsonl").read_text()
    first, rest = saved.split("\n", 1)
    there = path.read_text().split("\n", 1)
    assert there[1] == rest
    assert json.loads(there[0]) == {key: value for key, value in json.loads(first).items() if key != "events"}
    assert (Trace.load(path), Trace.load(path).problem) == (run.trace, "")


def test_the_trace_of_another_run_is_not_written_over(tmp_path):
    shop, path = Shop(), tmp_path / "run.jsonl"
    waits = shop.run(REFUND, on_event=trace_writer(path))
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match=r"holds the trace of another run.* resume\(Trace\.load"):
        shop.run(REFUND, on_event=trace_writer(path))
    other = shop.run(ask("refund", order=2))
    with pytest.raises(FileExistsError, match="holds the trace of another run"):
        shop.resume(other.trace, REFUND, on_event=trace_writer(path))
    assert path.read_bytes() == before
    elsewhere = tmp_path / "elsewhere.jsonl"
    run = shop.resume(waits.trace, REFUND, DONE, on_event=trace_writer(elsewhere))
    assert Trace.load(elsewhere) == run.trace


def test_a_file_whose_last_line_break_is_missing_is_whole(tmp_path):
    shop, path = Shop(), tmp_path / "run.jsonl"
    shop.run(REFUND, DONE, on_event=trace_writer(path))
    path.write_bytes(path.read_bytes()[:-1])
    run = shop.resume(Trace.load(path), REFUND, DONE, on_event=trace_writer(path))
    assert Trace.load(path) == run.trace


def test_a_program_that_was_killed_before_the_first_event_begins(tmp_path):
    path = tmp_path / "run.jsonl"
    whole = run_agent(ScriptedModel([DONE]), [], "Go.", max_steps=3, on_event=trace_writer(path))
    path.write_text(path.read_text().splitlines()[0] + "\n")
    run = resume(Trace.load(path), ScriptedModel([DONE]), [], on_event=trace_writer(path))
    assert (run, Trace.load(path)) == (whole, whole.trace)


# --- models -----------------------------------------------------------------------------------------


def test_a_fresh_scripted_model_goes_on_behind_the_replies_that_the_run_has_had():
    model = ScriptedModel([*SHELVES[:2], DONE])
    asked = [model.call([], ModelRequest(replies=replies)) for replies in (1, 2)]
    assert asked == [SHELVES[1], DONE]


def test_a_scripted_model_that_is_asked_by_a_loop_of_ones_own_begins_at_the_first_reply():
    earlier = [{"role": "user", "text": "?"}, {"role": "model", **SHELVES[0]}, {"role": "tool", "result": 1}]
    assert ScriptedModel(SHELVES)(earlier) == SHELVES[0]


def test_a_scripted_model_goes_on_though_the_memory_shows_it_little_of_the_history():
    script = [*SHELVES, DONE]
    whole = run_agent(ScriptedModel(script), [look], "Count.", memory=lambda history: history[:1])
    cut = Trace(whole.trace.events[:13], whole.trace.about)
    assert resume(cut, ScriptedModel(script), [look], memory=lambda history: history[:1]).answer == "done"
