"""The checks as a whole: reports, time limits, errors with the learner's own line, the channel between."""

import html.parser
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from importlib import import_module
from random import Random

import pytest

from agentlib.course import check
from agentlib.course.checking.engine import check_functions, check_with
from agentlib.course.checking.report import CheckReport
from agentlib.course.checking.simulator import play
from agentlib.course.checking.spec import Criterion, Exercise, Fault, Scenario
from agentlib.course.exercises import EXERCISES, find_exercise
from agentlib.course.grading.processes import longest_wait_seconds
from agentlib.course.running.runner import RunEnded, Runner, TimeLimit, waited_seconds
from tests.zoo import ex01, ex07, specimens


def good(model, tools, goal, max_steps=10):
    return ex01.while_loop.functions[0](model, tools, goal, max_steps)


def bad(model, tools, goal, max_steps=10):
    return ex01.only_the_result_recorded.functions[0](model, tools, goal, max_steps)


def stub(model, tools, goal, max_steps=10):
    raise NotImplementedError


def broken(model, tools, goal, max_steps=10):
    reply = model([{"role": "user", "text": goal}])
    return reply["tekst"]  # the learner's own line


def red_of(report):
    return next(result for result in report.results if result.status == "not yet")


# --- a report in its three forms


def test_a_good_loop_gets_all_points():
    report = check("ex01_write_the_loop", good)
    assert isinstance(report, CheckReport)
    assert report.passed
    assert (report.points, report.max_points) == (10, 10)
    assert {result.status for result in report.results} == {"ok"}


def test_one_fault_is_one_red_line_and_only_what_hangs_on_it_is_not_reached():
    report = check("ex01", bad, seed=7)
    states = [result.status for result in report.results]
    assert states == ["ok", "ok", "not yet", "not reached", *["ok"] * 4]
    assert (report.passed, report.points, report.max_points) == (False, 7, 10)
    red = report.results[2]
    assert red.id == "request_kept"
    assert not red.passed
    assert "its own request" in red.seen
    assert len(red.hints) == 2


def test_the_text_form_says_state_points_and_one_hint():
    text = str(check("ex01", bad, seed=7))
    lines = text.splitlines()
    assert lines[0].startswith("ex01 write the loop")
    assert lines[0].endswith("7 of 10 points")
    assert sum(line.startswith("  ok       ") for line in lines) == 6
    assert sum(line.startswith("  not yet  ") for line in lines) == 1
    assert sum(line.endswith("not reached") for line in lines) == 1
    assert [f"Part {number}: " in text for number in range(10)] == [False, *[True] * 8, False]
    assert text.count("hint: ") == 1
    assert "more: " not in text
    assert "seed 7" in text
    assert max(map(len, lines)) <= 110


def test_the_second_hint_is_shown_on_request():
    report = check("ex01", bad, seed=7)
    assert f"more: {report.results[2].hints[1][:30]}" in report.text(more=True)


class Table(html.parser.HTMLParser):
    """Reads tags and text, and sees that every tag is closed."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.text = [], [], ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_the_html_form_is_a_named_table_with_marks_in_words():
    table = Table(check("ex01", bad, seed=7)._repr_html_())
    tags = [tag for tag, _ in table.tags]
    assert tags.count("caption") == 1
    assert [attrs["scope"] for tag, attrs in table.tags if tag == "th"] == ["col"] * 4 + ["row"] * 8
    assert "details" in tags
    assert "7 of 10 points" in table.text
    assert table.text.count("not reached") == 1
    assert "no points" in table.text
    assert "not yet" in table.text
    styles = " ".join(str(attrs.get("style", "")) for _, attrs in table.tags)
    assert not re.search(r"(?<!-)\b(color|background)\b", styles), "the page's theme has the say"


def test_html_of_the_learner_is_text_in_the_report():
    def shouting(model, tools, goal, max_steps=10):
        raise ValueError("<script>alert(1)</script>")

    assert "<script>" not in check("ex01", shouting)._repr_html_()


def test_the_json_form_holds_everything():
    report = check("ex01", bad, seed=7)
    data = json.loads(report.as_json())
    assert data == report.as_dict()
    assert (data["exercise"], data["seed"]) == ("ex01_write_the_loop", 7)
    assert (data["points"], data["passed"]) == (7, False)
    assert [result["part"] for result in data["results"]] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert [result["status"] for result in data["results"]] == [result.status for result in report.results]
    open_ones = [result.status == "not yet" for result in report.results]
    assert [bool(result["hints"]) for result in data["results"]] == open_ones


def test_the_same_seed_gives_the_same_report():
    assert check("ex01", bad, seed=11) == check("ex01", bad, seed=11)
    assert check("ex01", bad, seed=11).results[2].seen != check("ex01", bad, seed=12).results[2].seen


def test_without_a_seed_each_check_draws_one():
    assert len({check("ex01", stub).seed for _ in range(5)}) > 1


# --- the stub


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=lambda exercise: exercise.name)
def test_the_untouched_stub_gets_one_kind_line_and_no_points(exercise):
    def untouched(*args, **kwargs):
        raise NotImplementedError

    report = check(exercise.name, *[untouched] * len(exercise.functions))
    assert not report.started
    assert report.points == 0
    assert str(report).count("\n") == 0
    assert "not started yet" in str(report)
    assert "<table" not in report._repr_html_()
    assert report.as_dict()["started"] is False


def test_one_function_of_two_may_be_unwritten():
    def untouched(*args, **kwargs):
        raise NotImplementedError

    report = check("ex07", ex07.trim, untouched)
    assert report.started
    assert report.points == 6
    assert "NotImplementedError" in red_of(report).seen
    assert report.notes == ("compact is not started yet.",)


# --- what goes wrong in the learner's code


def test_an_error_is_shown_with_the_learners_own_line():
    report = check("ex01", broken)
    red = red_of(report)
    assert "KeyError: 'tekst'" in red.seen
    assert 'return reply["tekst"]' in red.seen
    assert f"line {broken.__code__.co_firstlineno + 2}" in red.seen


HINTS = {
    "a dict as a key": (lambda: {{}: 1}, "can be no key"),
    "a key that is not there": (lambda: {}["tool"], "has no such key"),
    "what a line without return gave": (lambda: [].append(1).x, "Something there is None"),
    "beyond the end": (lambda: [][0], "How long is it"),
    "anything else": (lambda: len(3), "Which value did you expect there?"),
}


@pytest.mark.parametrize(("fail", "hint"), HINTS.values(), ids=HINTS)
def test_an_error_of_a_common_kind_gets_a_question_of_its_own(fail, hint):
    def fails(model, tools, goal, max_steps=10):
        fail()

    assert hint in check("ex01", fails).results[0].hints[0]


def test_an_error_deep_in_a_library_is_shown_with_the_learners_line_too():
    def deep(model, tools, goal, max_steps=10):
        return json.loads("{")

    red = check("ex01", deep).results[0]
    assert 'return json.loads("{")' in red.seen


def test_system_exit_does_not_end_the_check():
    def leaves(model, tools, goal, max_steps=10):
        sys.exit(3)

    report = check("ex01", leaves)
    assert "SystemExit" in report.results[0].seen


def test_a_persons_own_interrupt_ends_the_check():
    def interrupted(model, tools, goal, max_steps=10):
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        check("ex01", interrupted)


def test_what_the_function_prints_is_counted_and_not_shown(capsys):
    report = check("ex01", ex01.prints_all_the_time.functions[0])
    assert report.passed
    assert capsys.readouterr().out == ""
    assert re.search(r"printed during the check \(\d+ lines\)", report.notes[0])


@pytest.mark.parametrize(
    "given",
    [(), (42,), (good, good), ({"run_agent": 3},), ({"another": good},)],
    ids=lambda given: str(len(given)),
)
def test_what_is_no_function_is_refused_with_the_right_call(given):
    with pytest.raises(TypeError, match=re.escape('check("ex01_write_the_loop", run_agent)')):
        check("ex01", *given)


def test_functions_may_come_as_a_dict():
    assert check("ex01", {"run_agent": good}).passed


def test_an_unknown_exercise_is_refused_with_the_names_that_there_are():
    with pytest.raises(ValueError, match="ex01_write_the_loop"):
        check("ex00", good)
    with pytest.raises(ValueError, match="no exercise"):
        find_exercise("")
    with pytest.raises(ValueError, match="no exercise") as problem:
        check("x" * 10**6, good)
    assert len(str(problem.value)) < 500


@pytest.mark.parametrize("name", ["EX01", " ex01 ", "ex01_write_the_loop.ipynb", "Ex01_write_the_loop"])
def test_a_name_may_be_written_in_several_ways(name):
    assert find_exercise(name) is EXERCISES["ex01_write_the_loop"]


@pytest.mark.parametrize("given", [(), (good,), (good, "ex01"), (None, good), ({"run_agent": good},)])
def test_what_begins_with_no_name_is_told_that_the_name_comes_first(given):
    with pytest.raises(TypeError, match=re.escape('name comes first, then the function: check("ex01", run')):
        check(*given)


class Agent:
    """A class where a function is wanted."""


async def waits(model, tools, goal, max_steps=10):
    return {}


async def waits_and_yields(model, tools, goal, max_steps=10):
    yield {}


def yields(model, tools, goal, max_steps=10):
    yield {}


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (Agent, "is a class; check wants the function that you wrote"),
        (print, "is a built-in function; check wants the function that you wrote"),
        (waits, "Take `async` away"),
        (waits_and_yields, "Take `async` away"),
        (yields, "Take `yield` away"),
    ],
)
def test_what_can_be_called_and_is_no_function_to_check_is_refused(function, said):
    with pytest.raises(TypeError, match=said):
        check("ex01", function)


def test_a_dict_without_the_function_is_told_so():
    with pytest.raises(TypeError, match='The dict has no "compact"'):
        check("ex07", {"trim": ex07.trim})


@pytest.mark.parametrize("seed", ["a", 1.5, -1, True, "1"])
def test_a_seed_that_is_no_whole_number_is_refused(seed):
    with pytest.raises(ValueError, match="must be a whole number from 0 on"):
        check("ex01", good, seed=seed)


def needs_more(model, tools, goal, max_steps, budget):
    return {}


def another_name(model, tools, goal, steps=10):
    return {}


def fails_inside(model, tools, goal, max_steps=10):
    return len(3)


@pytest.mark.parametrize("function", [needs_more, another_name])
def test_a_function_that_cannot_be_called_as_wanted_is_told_how(function):
    (note,) = check("ex02", function).notes
    assert "`def run_agent(model, tools, goal, max_steps=6):`" in note


def test_an_error_inside_the_function_is_no_matter_of_its_first_line():
    assert check("ex02", fails_inside).notes == ()


def test_a_report_of_something_not_started_is_never_passed():
    made = check("ex01", good)
    assert made.passed
    assert not replace(made, started=False).passed


ODD_RESULTS = [None, 3, "text", [], {}, {"answer": 1}, object(), {"steps": float("nan")}, {1: 2}]
ODD_RESULTS += [lambda: 1, {"stopped": []}]


@pytest.mark.parametrize("value", ODD_RESULTS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=lambda exercise: exercise.name.split("_")[0])
def test_whatever_comes_back_is_judged(exercise, value):
    """A function that always returns the same earns nothing."""
    functions = {name: lambda *args, **kwargs: value for name in exercise.functions}
    report = check_functions(exercise, functions, seed=1)
    assert report.points == 0, report.text()


BY_CASES = [
    exercise
    for exercise in EXERCISES.values()
    if any("case" in scenario.facts for scenario in exercise.scenarios(Random(1)).values())
]


@pytest.mark.parametrize("exercise", BY_CASES, ids=lambda exercise: exercise.number)
def test_what_was_right_for_another_seed_earns_nothing(exercise):
    """A function that never looks at its input, and gives back in turn what another check wanted."""
    zoo = import_module(f"tests.zoo.{exercise.number}")
    right = next(one.functions for one in specimens(zoo) if not one.criterion)
    right = right if isinstance(right, dict) else dict(zip(exercise.functions, right, strict=True))
    known = {function: [] for function in right}

    def learnt(function):
        def learn(*args, **kwargs):
            known[function].append(right[function](*args, **kwargs))
            return known[function][-1]

        return learn

    assert check_functions(exercise, {function: learnt(function) for function in right}, seed=1).passed
    for seed in range(2, 8):
        answers = {function: iter(values) for function, values in known.items()}
        by_heart = {
            function: lambda *args, values=answers[function], **kwargs: next(values, []) for function in right
        }
        report = check_functions(exercise, by_heart, seed)
        assert report.points == 0, report.text()


ODD_HISTORIES = [None, "text", [], [None], [[]], [{}]]
ODD_HISTORIES += [[{"role": "tool"}], [{"type": "tools"}], [{"type": "tool"}]]


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=lambda exercise: exercise.name.split("_")[0])
def test_whatever_the_model_is_asked_with_is_judged(exercise):
    for odd in ODD_HISTORIES:

        def run(model, tools, goal, odd=odd, **kwargs):
            reply = model([{"role": "user", "text": goal}])
            for _ in range(4):
                for call in reply.get("calls", [reply]):
                    if call.get("tool") in tools:
                        tools[call["tool"]](**call["input"])
                reply = model(odd)
            return {"answer": "", "steps": 1, "stopped": "answered"}

        if exercise.functions == ("run_agent",):
            assert not check_functions(exercise, {"run_agent": run}, seed=1).passed


# --- time


def spins(*args):
    while True:
        pass


def spins_and_swallows(*args):
    while True:
        try:
            len(args)
        except:  # noqa: E722
            pass


def spins_within(*args):
    while True:
        try:
            while True:
                len(args)
        except:  # noqa: E722
            continue


def sleeps(*args):
    time.sleep(60)


def finally_goes_on(*args):
    while True:
        try:
            len(args)
        finally:
            continue  # noqa: B012


def calls_itself(*args):
    try:
        spins()
    except:  # noqa: E722
        calls_itself()


STUCK = [spins, spins_and_swallows, spins_within, sleeps, finally_goes_on, calls_itself]


def seconds_for(function, seconds=0.2):
    limit = TimeLimit(seconds)
    began = time.monotonic()
    with pytest.raises(RunEnded):
        limit.run(function)
    return time.monotonic() - began


@pytest.mark.parametrize("function", STUCK)
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer signal, which Windows has not")
def test_a_function_that_does_not_end_is_ended(function):
    before = signal.getsignal(signal.SIGALRM)
    assert 0.15 < seconds_for(function) < 5
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert "TimeLimit" not in repr(sys.gettrace())


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer signal, which Windows has not")
def test_an_end_that_comes_inside_a_destructor_comes_again_and_only_other_faults_are_told(monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda problem: told.append(problem.exc_type))

    class SpinsAtItsEnd:
        def __del__(self):
            spins()

    class FailsAtItsEnd:
        def __del__(self):
            raise ValueError("too late")

    def drops_them():
        FailsAtItsEnd()
        SpinsAtItsEnd()
        spins()

    hook = sys.unraisablehook
    assert 0.15 < seconds_for(drops_them) < 5
    assert told == [ValueError]
    assert sys.unraisablehook is hook


@pytest.mark.parametrize("function", [spins, spins_and_swallows, finally_goes_on])
def test_a_function_in_another_thread_is_ended_too(function):
    took = []
    thread = threading.Thread(target=lambda: took.append(seconds_for(function)), daemon=True)
    thread.start()
    thread.join(20)
    assert took, "it is still running"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer signal, which Windows has not")
def test_while_others_have_the_processor_the_time_of_a_function_does_not_go_by(monkeypatch):
    waited = iter([1.0, 1.3, 1.3, 1.3, 1.3, 1.3])
    monkeypatch.setattr("agentlib.course.running.runner.waited_seconds", lambda: next(waited, 1.3))
    assert 0.45 < seconds_for(spins) < 5


@pytest.mark.skipif(sys.platform != "linux", reason="Linux counts it")
def test_what_a_thread_waits_for_a_processor_is_counted():
    processors = os.sched_getaffinity(0)
    before = waited_seconds()
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        for process in (0, busy.pid):
            os.sched_setaffinity(process, {min(processors)})
        until = time.monotonic() + 10
        while waited_seconds() < before + 0.1 and time.monotonic() < until:
            pass
        assert waited_seconds() >= before + 0.1
        time.sleep(0.1)
        assert 0.1 <= longest_wait_seconds(os.getpid()) < waited_seconds() + 5
    finally:
        os.sched_setaffinity(0, processors)
        busy.kill()
        busy.wait()


def test_a_limit_inside_another_one_leaves_it_in_force():
    def inside():
        with pytest.raises(RunEnded):
            TimeLimit(0.1).run(spins)
        spins()

    assert 0.2 < seconds_for(inside, 0.4) < 5


@pytest.mark.parametrize("swallow", [True, False])
def test_a_model_asked_for_ever_ends_the_run(swallow):
    def never_ends(model, tools, goal, max_steps=10):
        while True:
            try:
                model([{"role": "user", "text": goal}])
            except BaseException:
                if not swallow:
                    raise

    began = time.monotonic()
    report = check("ex01", never_ends)
    assert time.monotonic() - began < 4
    assert not report.passed


def test_nested_calls_that_swallow_the_end_are_ended():
    def never_ends(model, tools, goal, max_steps=10):
        def helper():
            while True:
                try:
                    model([{"role": "user", "text": goal}])
                except BaseException:
                    pass

        while True:
            try:
                helper()
            except:  # noqa: E722
                pass

    began = time.monotonic()
    assert not check("ex01", never_ends).passed
    assert time.monotonic() - began < 8


# --- the channel between simulator and learner


class Channel:
    """A learner behind a channel that lets nothing but JSON text through, as a pipe would."""

    def __init__(self, functions):
        self.learner = Runner(functions)
        self.letters = 0

    def through(self, value):
        self.letters += 1
        return json.loads(json.dumps(value, allow_nan=False))

    def run(self, request, called, seconds):
        def ask(name, args, kwargs):
            return self.through(called(*self.through([name, args, kwargs])))

        return self.through(self.learner.run(self.through(request), ask, seconds))


@pytest.mark.parametrize("function", [good, bad, broken, stub])
def test_all_that_crosses_is_json_and_the_report_is_the_same(function):
    exercise = EXERCISES["ex01_write_the_loop"]
    channel = Channel({"run_agent": function})
    assert check_with(exercise, channel, 3) == check_with(exercise, Runner({"run_agent": function}), 3)
    assert channel.letters > 0


@pytest.mark.parametrize("exercise", BY_CASES, ids=lambda exercise: exercise.number)
def test_exercises_without_a_model_cross_too(exercise):
    zoo = import_module(f"tests.zoo.{exercise.number}")
    functions = next(one.functions for one in specimens(zoo) if not one.criterion)
    if isinstance(functions, tuple):
        functions = dict(zip(exercise.functions, functions, strict=True))
    channel = Channel(functions)
    assert check_with(exercise, channel, 3).passed
    assert channel.letters > 0


def test_the_learner_cannot_reach_the_log():
    def vandal(model, tools, goal, max_steps=10):
        history = [{"role": "user", "text": goal}]
        reply = model(history)
        reply["tool"] = "another"
        history[0]["text"] = "another goal"
        return {}

    exercise = EXERCISES["ex01_write_the_loop"]
    scenario = exercise.scenarios(random.Random(1))["errand"]
    log = play(scenario, Runner({"run_agent": vandal}))
    assert log.histories[0][0]["text"] == scenario.facts["goal"]
    assert log.asks[0].answer["gave"] == scenario.facts["requests"][0]


def of_one_criterion(find, **scenarios):
    return Exercise("x", "x", (Criterion("a", 1, "a", "b", "c", find),), lambda rng: scenarios, ("f",))


def test_a_fault_that_may_come_of_another_is_not_shown_and_what_is_met_counts():
    fault, own = Fault("seen"), Fault("seen", own=True)
    judges = {"a": fault, "b": fault, "c": own, "d": None, "e": None}
    criteria = [
        Criterion(name, 2, name, "b", "c", lambda logs, found=found: logs["s"] and found, after=("a",))
        for name, found in judges.items()
    ]
    criteria[0], criteria[-1] = replace(criteria[0], after=()), replace(criteria[-1], needs=("a",))
    exercise = Exercise("x", "x", tuple(criteria), lambda rng: {"s": Scenario("f", ([],))}, ("f",))
    report = check_functions(exercise, {"f": len})
    states = [result.status for result in report.results]
    assert states == ["not yet", "not reached", "not yet", "ok", "not reached"]
    assert report.points == 2
    assert report.results[1].seen == ""


def test_a_fault_without_words_is_our_own_mistake():
    with pytest.raises(ValueError, match="does not say"):
        check_functions(of_one_criterion(lambda logs: Fault("")), {"f": good})


def test_a_bug_in_a_scenario_is_not_taken_for_the_learners():
    def model(history):
        raise KeyboardInterrupt

    exercise = of_one_criterion(lambda logs: logs["s"] and None, s=Scenario("f", (model,)))
    with pytest.raises(KeyboardInterrupt):
        check_functions(exercise, {"f": lambda model: model([])})


# --- light


def test_importing_the_checks_loads_nothing_large():
    code = "import agentlib.course, sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    large = {
        "IPython",
        "matplotlib",
        "ipywidgets",
        "nbformat",
        "nbgrader",
        "numpy",
        "agentlib.course.grading",
    }
    assert large.isdisjoint(done.stdout.split())
