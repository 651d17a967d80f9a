"""Tools, models and debuggers may set a trace function: lines and limits go on, and theirs stays theirs.

Known bugs of this kind: lineapy 674, wraptor 1, pyarmor 175, PySnooper 232, hypothesis 985,
coveragepy 123 and 789.
"""

# The loops stand here as learners write them.
# ruff: noqa: E722, SIM105

import bdb
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agentlib import answer, ask
from agentlib.models import LoopingModel, ScriptedModel
from agentlib.watch import lines as watch_lines
from agentlib.watch import watch

COURSE = Path(__file__).resolve().parents[2]
GOAL = "How many?"
MONITORS = hasattr(sys, "monitoring")


@pytest.fixture(autouse=True)
def nothing_is_left_behind():
    before = sys.gettrace(), places_taken()
    yield
    assert (sys.gettrace(), places_taken()) == before


def places_taken():
    return [sys.monitoring.get_tool(number) for number in range(6)] if MONITORS else []


@pytest.fixture
def and_back():
    """Puts back the trace function that a test replaces."""
    before = sys.gettrace()
    yield
    sys.settrace(before)


@pytest.fixture(params=["as this Python does", "by settrace"])
def both_ways(request, monkeypatch):
    """The lines come in the way of this Python, and in that of 3.11."""
    if request.param == "by settrace":
        monkeypatch.setattr(watch_lines, "monitoring", None)


def theirs(frame, event, arg):
    return theirs


def two_calls(model, tools, goal):
    history = [{"role": "user", "text": goal}]
    history.append(model(history))
    result = tools["look"]()
    history.append({"role": "tool", "result": result})
    later = 1
    later += 1
    return model(history)["text"]


def helped(model, tools, goal):
    def add(entry):
        history.append(entry)
        return entry

    history = [{"role": "user", "text": goal}]
    add(model(history))
    add({"role": "tool", "result": tools["look"]()})
    return add(model(history))["text"]


def lines_of(trace):
    return [event.line for event in trace if event.kind == "line"]


def watched(run_agent, look=lambda: 1, model=None, **options):
    return watch(
        run_agent, model or ScriptedModel([ask("look"), answer("end")]), {"look": look}, GOAL, **options
    )


def goes_on(debugger):
    """What one does who looks at a tool with a debugger and lets it go on."""
    debugger.reset()
    debugger.set_trace()
    debugger.set_continue()


SETTERS = {
    "takes it away": lambda: sys.settrace(None),
    "sets its own": lambda: sys.settrace(theirs),
    "sets one for threads": lambda: (threading.settrace(theirs), threading.settrace(None)),
    "a debugger that goes on": lambda: goes_on(bdb.Bdb()),
    "sets one and takes it away": lambda: (sys.settrace(theirs), sys.settrace(None)),
}


@pytest.mark.usefixtures("both_ways", "and_back")
@pytest.mark.parametrize("setter", SETTERS.values(), ids=SETTERS)
@pytest.mark.parametrize("who", ["tool", "model"])
@pytest.mark.parametrize("run_agent", [two_calls, helped])
def test_the_record_is_the_same_whatever_a_tool_or_model_sets(setter, who, run_agent):
    script = ScriptedModel([ask("look"), answer("end")])

    def model(history):
        if who == "model":
            setter()
        return script(history)

    def look():
        if who == "tool":
            setter()
        return 1

    plain = watched(run_agent)
    trace = watched(run_agent, look, model)
    assert lines_of(trace) == lines_of(plain)
    assert trace == plain


@pytest.mark.usefixtures("both_ways", "and_back")
@pytest.mark.parametrize("setter", SETTERS.values(), ids=SETTERS)
@pytest.mark.parametrize("before", [None, theirs])
def test_the_trace_function_afterwards_is_what_it_is_unwatched(setter, before):
    left = []
    for run in (two_calls, lambda *given: watch(two_calls, *given)):
        sys.settrace(before)
        run(ScriptedModel([ask("look"), answer("end")]), {"look": setter}, GOAL)
        left.append(sys.gettrace())
        sys.settrace(None)
    assert left[0] == left[1]


@pytest.mark.usefixtures("both_ways", "and_back")
@pytest.mark.parametrize("before", [None, theirs])
def test_a_tool_finds_the_trace_function_that_it_finds_unwatched(before):
    found = []
    for run in (two_calls, lambda *given: watch(two_calls, *given)):
        sys.settrace(before)
        run(
            lambda history: found.append(sys.gettrace()) or answer("end"),
            {"look": lambda: found.append(sys.gettrace())},
            GOAL,
        )
        sys.settrace(None)
    assert found == [before] * 6


def spins(model, tools, goal):
    model([{"role": "user", "text": goal}])
    tools["look"]()
    while True:
        try:
            goal = len(goal) * "x"
        except:
            pass


def spins_in_a_function(model, tools, goal):
    def helper():
        while True:
            pass

    tools["look"]()
    helper()


def spins_elsewhere(model, tools, goal):
    tools["look"]()
    elsewhere()


def elsewhere():
    while True:
        pass


@pytest.mark.usefixtures("both_ways", "and_back")
@pytest.mark.parametrize("setter", SETTERS.values(), ids=SETTERS)
@pytest.mark.parametrize("run_agent", [spins, spins_in_a_function, spins_elsewhere])
def test_a_loop_without_end_is_ended_whatever_a_tool_sets(setter, run_agent):
    trace = watched(run_agent, setter, LoopingModel("look"), max_lines=300)
    assert trace.stopped == "ran too long"


@pytest.mark.usefixtures("both_ways", "and_back")
def test_a_loop_that_takes_the_trace_function_away_is_recorded_or_its_end_is_said():
    def takes_it(model, tools, goal):
        history = [{"role": "user", "text": goal}]
        sys.settrace(None)
        later = 1
        later += 1
        history.append(model(history))
        later += 1
        return later

    plain = takes_it.__code__.co_firstlineno
    trace = watched(takes_it)
    assert trace.stopped == "returned"
    assert lines_of(trace)[-2:] == [plain + 6, plain + 7]  # from the next call on at the latest
    missing = {plain + 3, plain + 4, plain + 5} - set(lines_of(trace))
    assert bool(missing) == (
        "are not shown: the loop itself has called sys.settrace" in trace.about.get("remarks", "")
    )


@pytest.mark.usefixtures("both_ways", "and_back")
def test_a_loop_that_takes_it_away_at_its_end_says_that_its_last_lines_are_missing():
    def takes_it(model, tools, goal):
        model([{"role": "user", "text": goal}])
        sys.settrace(None)
        later = 1
        return later

    trace = watched(takes_it)
    missing = 4 - len(lines_of(trace))
    assert bool(missing) == ("are not shown" in trace.about.get("remarks", ""))


# --- debuggers ----------------------------------------------------------------------------------------


class Steps(bdb.Bdb):
    """Stops at each line, as somebody does who steps through a loop."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def user_line(self, frame):
        if frame.f_code is two_calls.__code__:
            self.seen.append((frame.f_lineno, sorted(frame.f_locals)))
        self.set_step()


@pytest.mark.usefixtures("both_ways", "and_back")
def test_who_steps_through_a_loop_sees_the_same_and_so_does_the_record():
    seen, traces = [], []
    for run in (two_calls, lambda *given: traces.append(watch(two_calls, *given))):
        debugger = Steps()
        sys.settrace(None)
        debugger.runcall(run, ScriptedModel([ask("look"), answer("end")]), {"look": lambda: 1}, GOAL)
        seen.append(debugger.seen)
    assert seen[0] == seen[1]
    assert len(seen[0]) == 7
    plain = watched(two_calls)
    assert traces == [plain]
    assert [event.variables for event in traces[0]] == [event.variables for event in plain]


BESIDE_A_DEBUGGER = """
import sys
import debugpy._vendored.force_pydevd
import pydevd_tracing
pydevd_tracing.replace_sys_set_trace_func()
theirs = lambda frame, event, arg: theirs
pydevd_tracing.SetTrace(theirs)
from agentlib import answer, ask
from agentlib.models import ScriptedModel
from agentlib.watch import lines, watch
if sys.argv[1] == "by settrace":
    lines.monitoring = None
def loop(model, tools, goal):
    history = [{"role": "user", "text": goal}]
    model(history)
    tools["look"]()
    return model(history)["text"]
trace = watch(loop, ScriptedModel([ask("look"), answer("x")]), {"look": lambda: 1}, "Goal")
lines = sum(event.kind == "line" for event in trace.events)
print(trace.stopped, lines, sys.gettrace() is theirs)
pydevd_tracing.SetTrace(None)
"""


@pytest.mark.parametrize("way", ["as this Python does", "by settrace"])
def test_a_debugger_that_is_loaded_does_not_warn_of_watching(way):
    pytest.importorskip("debugpy")
    done = subprocess.run(
        [sys.executable, "-X", "frozen_modules=off", "-c", BESIDE_A_DEBUGGER, way],
        capture_output=True, text=True, cwd=COURSE, timeout=120, check=False,
        env={**os.environ, "PYDEVD_USE_SYS_MONITORING": "False"},
    )  # fmt: skip
    assert done.stdout.split() == ["returned", "4", "True"], done.stdout + done.stderr
    assert "PYDEV DEBUGGER WARNING" not in done.stderr


# --- coverage -----------------------------------------------------------------------------------------

MEASURED = """
import coverage, sys
measured = coverage.Coverage(data_file=None, config_file=False, include=["*/%s"])
measured.start()
sys.path.insert(0, %r)
import measured_loop
measured_loop.run()
measured.stop()
print(sorted(measured.get_data().lines(measured_loop.__file__)))
"""

MEASURED_LOOP = """
from agentlib import answer, ask
from agentlib.models import ScriptedModel
from agentlib.watch import watch
def loop(model, tools, goal):
    history = [{"role": "user", "text": goal}]
    history.append(model(history))
    if len(history) > 5:
        never = 1
    tools["look"]()
    return model(history)["text"]
def look():
    found = 1
    return found
def run():
    trace = watch(loop, ScriptedModel([ask("look"), answer("x")]), {"look": look}, "Goal")
    print(sum(event.kind == "line" for event in trace))
"""


@pytest.mark.parametrize("core", ["ctrace", "pytrace", *(["sysmon"] if MONITORS else [])])
def test_coverage_measures_a_watched_loop_and_is_no_hindrance(core, tmp_path):
    pytest.importorskip("coverage")
    (tmp_path / "measured_loop.py").write_text(MEASURED_LOOP)
    done = subprocess.run(
        [sys.executable, "-c", MEASURED % ("measured_loop.py", str(tmp_path))],
        capture_output=True, text=True, cwd=COURSE, timeout=120, check=False,
        env={"COVERAGE_CORE": core, "PATH": "", "PYTHONPATH": str(COURSE)},
    )  # fmt: skip
    count, measured = done.stdout.splitlines()[-2:]
    assert count == "5", done.stdout + done.stderr
    lines = MEASURED_LOOP.splitlines()
    missed = {line for number, line in enumerate(lines, 1) if line and number not in eval(measured)}
    assert missed == {"        never = 1"}, done.stderr


# --- places in sys.monitoring -------------------------------------------------------------------------


if MONITORS:  # from Python 3.12 on

    @pytest.mark.parametrize("taken", [(), (4,), (3, 4), (0, 1, 2), (0, 1, 2, 3, 4, 5), (3, 4, 5)])
    def test_a_free_place_is_found_or_said_to_be_missing(taken):
        plain = watched(two_calls)
        for number in taken:
            sys.monitoring.use_tool_id(number, f"tool {number}")
        try:
            trace = watched(two_calls)
            assert [sys.monitoring.get_tool(number) for number in taken] == [
                f"tool {number}" for number in taken
            ]
        finally:
            for number in taken:
                sys.monitoring.free_tool_id(number)
        assert trace == plain
        assert [event.variables for event in trace] == [event.variables for event in plain]
        assert ("sys.monitoring are taken" in trace.about.get("remarks", "")) == {3, 4, 5}.issubset(taken)

    def test_a_tool_may_monitor_what_it_likes():
        events = sys.monitoring.events
        told = []

        def look():
            sys.monitoring.use_tool_id(sys.monitoring.PROFILER_ID, "a tool")
            sys.monitoring.register_callback(
                sys.monitoring.PROFILER_ID, events.LINE, lambda code, line: told.append(line)
            )
            sys.monitoring.set_local_events(sys.monitoring.PROFILER_ID, two_calls.__code__, events.LINE)
            return 1

        try:
            trace = watched(two_calls, look)
        finally:
            sys.monitoring.set_local_events(sys.monitoring.PROFILER_ID, two_calls.__code__, 0)
            sys.monitoring.free_tool_id(sys.monitoring.PROFILER_ID)
        assert trace == watched(two_calls)
        assert told == lines_of(trace)[-4:]


def test_watches_inside_watches_of_any_depth_give_the_same_record():
    def deeper(depth):
        def look():
            if depth:
                inner = deeper(depth - 1)
                assert lines_of(inner) == plain
            return 1

        return watched(two_calls, look)

    plain = lines_of(watched(two_calls))
    assert lines_of(deeper(8)) == plain


def test_two_threads_watch_their_loops_at_the_same_time():
    plain = watched(two_calls)
    traces = []
    start = threading.Barrier(3)

    def run():
        start.wait(10)
        traces.extend(watched(two_calls) for _ in range(5))

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert traces == [plain] * 15


@pytest.mark.usefixtures("both_ways")
def test_a_function_of_the_loop_that_also_runs_in_a_thread_is_recorded_once():
    def spreads(model, tools, goal):
        def work(number):
            found = number + 1
            return found

        threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        model([{"role": "user", "text": goal}])
        return work(1)

    first = spreads.__code__.co_firstlineno
    assert lines_of(watched(spreads)).count(first + 2) == 1
