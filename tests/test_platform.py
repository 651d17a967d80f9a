"""Time limits without threads and signals, as in a browser: by looking at the clock while the code runs.

`sys.monitoring` is there from Python 3.12 on, and a browser's Python is newer; on 3.11 there is no such
limit.
"""

import itertools
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from agentlib import answer, ask
from agentlib._platform import BROWSER, HERE, ClockGuard, Platform, load_matplotlib
from agentlib.course import self_check
from agentlib.course.checking.engine import check_with
from agentlib.course.exercises import find_exercise
from agentlib.course.running.runner import RunEnded, Runner, TimeLimit
from agentlib.errors import ToolTimeoutError
from agentlib.models import ScriptedModel
from agentlib.tools import RAN_ON, WAS_ENDED, Worker, read_tools, run_tool
from agentlib.views.store import data_folder
from agentlib.watch.function import WatchedFunction
from agentlib.watch.recorder import Recorder


def spins():
    while True:
        pass


def swallows_all():
    while True:
        try:
            while True:
                try:
                    len("")
                except:  # noqa: E722
                    continue
        except:  # noqa: E722
            continue


def goes_on_in_finally():
    for number in itertools.count():
        try:
            number += 1
        finally:
            continue  # noqa: B012


def calls_itself():
    try:
        calls_itself()
    except:  # noqa: E722
        calls_itself()


def yields_for_ever():
    return sum(1 for _ in itertools.count())


def sleeps():
    time.sleep(60)


def sleeps_again_and_again():
    while True:
        try:
            time.sleep(60)
        except:  # noqa: E722
            continue


def waits_for_an_event():
    threading.Event().wait()


def waits_for_a_queue():
    queue.Queue().get(timeout=60)


ENDLESS = [spins, swallows_all, goes_on_in_finally, calls_itself, yields_for_ever]
WAITING = [sleeps, sleeps_again_and_again, waits_for_an_event, waits_for_a_queue]


def places():
    return [sys.monitoring.get_tool(number) for number in range(6)]


if sys.version_info >= (3, 12):

    @pytest.fixture(autouse=True)
    def nothing_stays():
        before = places(), time.sleep, threading.Condition.wait, sys.gettrace()
        yield
        assert (places(), time.sleep, threading.Condition.wait, sys.gettrace()) == before

    @pytest.mark.parametrize("function", ENDLESS + WAITING)
    def test_a_function_that_does_not_end_is_ended_without_threads_and_signals(function):
        limit = TimeLimit(0.1, BROWSER)
        began = time.monotonic()
        with pytest.raises(RunEnded):
            limit.run(function)
        assert limit.over
        assert 0.1 <= time.monotonic() - began < 5

    def test_a_function_that_ends_in_time_gives_what_it_returns_and_raises_what_it_raises():
        limit = TimeLimit(5, BROWSER)
        assert limit.run(lambda: sum(range(100))) == 4_950
        with pytest.raises(ZeroDivisionError):
            limit.run(lambda: 1 / 0)
        assert not limit.over

    def test_a_limit_inside_another_one_leaves_it_in_force():
        def inside():
            with pytest.raises(RunEnded):
                TimeLimit(0.05, BROWSER).run(spins)
            spins()

        outer = TimeLimit(0.15, BROWSER)
        with pytest.raises(RunEnded):
            outer.run(inside)
        assert outer.over

    def test_other_threads_are_left_alone():
        go, went_on = threading.Event(), []

        def beside():
            go.wait(10)
            end = time.monotonic() + 0.1
            while time.monotonic() < end:
                pass
            time.sleep(0.01)
            went_on.append(True)

        def here():
            go.set()
            spins()

        thread = threading.Thread(target=beside)
        thread.start()
        with pytest.raises(RunEnded):
            TimeLimit(0.02, BROWSER).run(here)
        thread.join(10)
        assert went_on == [True]

    @pytest.mark.parametrize("swallowed", [(), BaseException])
    def test_a_model_asked_for_ever_ends_the_check(swallowed):
        def run_agent(model, tools, goal, max_steps=10):
            while True:
                try:
                    model([{"role": "user", "text": goal}])
                except swallowed:
                    continue

        learner = Runner({"run_agent": run_agent}, platform=BROWSER)
        assert not check_with(find_exercise("ex01"), learner).passed

    # -- tools

    def outcome(function, seconds=0.05, platform=BROWSER):
        return run_tool(
            read_tools({"it": function}), "it", "{}", worker=Worker(platform), wait_seconds=seconds
        )

    def test_a_tool_within_its_time_runs_in_the_callers_own_thread():
        assert outcome(threading.get_ident, 5).result == threading.get_ident()

    @pytest.mark.parametrize("tool", ENDLESS)
    def test_a_tool_that_does_not_end_is_ended_and_the_model_is_told(tool):
        came = outcome(tool)
        assert (came.result["error"], came.ran, came.failed) == ("timed_out", True, True)
        assert came.result["message"] == f"it gave no result within 0.05 s. {WAS_ENDED}"

    def test_a_tool_that_waits_does_what_is_left_without_waiting_and_its_result_is_dropped():
        sent = []

        def send_mail():
            threading.Event().wait(timeout=30)
            time.sleep(30)
            sent.append("mail")
            return "sent"

        began = time.monotonic()
        message = outcome(send_mail).result["message"]
        assert time.monotonic() - began < 5
        assert message == f"it gave no result within 0.05 s. {RAN_ON}"
        assert sent == ["mail"]

    def test_what_nothing_can_end_is_said_in_words():
        def sleeps_in_c():
            lock = threading.Lock()
            lock.acquire()
            lock.acquire(timeout=0.2)

        assert outcome(sleeps_in_c).result["message"].endswith(RAN_ON)

    def test_an_error_after_the_time_is_a_timeout_too():
        def late():
            time.sleep(1)
            raise KeyError("too late")

        assert outcome(late).result["error"] == "timed_out"
        with pytest.raises(ToolTimeoutError):
            Worker(BROWSER).run(late, {}, 0.01)

    def test_an_interrupt_is_no_failure_of_the_tool():
        def interrupted():
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            outcome(interrupted)

    # -- what is run in a cell

    @pytest.mark.parametrize("tool", [spins, swallows_all])
    def test_a_watched_loop_whose_tool_does_not_end_gives_a_trace(tool):
        def loop(model, tools, goal, max_steps=3):
            reply = model([goal])
            return tools[reply["tool"]]()

        recorder = Recorder(WatchedFunction(loop, {}), "goal", 10, 1_000, max_seconds=0.1)
        model = recorder.watched_model(ScriptedModel([ask("it"), answer("done")]))
        recorder.run(model, {"it": recorder.watched_tool("it", tool)})
        assert recorder.events[-1].text == "ran too long"
        assert "0.1 seconds were over" in recorder.events[-1].entry["detail"]

    def test_there_are_at_most_six_limits_inside_each_other():
        def nested(depth):
            guard = ClockGuard(5, lambda frame: None)
            return guard.run(lambda: nested(depth - 1)) if depth else "inside"

        free = places().count(None)
        assert nested(free) == "inside"
        with pytest.raises(RuntimeError, match="time limits inside each other"):
            nested(free + 1)


# -- what is said and kept


def test_a_browser_is_no_computer():
    assert HERE.threads
    assert HERE.can_interrupt
    assert not BROWSER.can_interrupt
    assert (BROWSER.threads, BROWSER.processes, BROWSER.timer_signals) == (False, False, False)


def test_answers_live_where_the_browser_keeps_its_files():
    kept = Platform(False, False, False, browser=True, drive=Path("/drive"))
    assert data_folder({}, kept) == Path("/drive/.agentlib")
    assert data_folder({"AGENTLIB_DATA_DIR": "/else"}, kept) == Path("/else")
    assert data_folder({}, BROWSER) == data_folder({}, HERE)


def test_the_self_check_says_what_is_so_in_a_browser():
    kept = Platform(False, False, False, browser=True, drive=Path("/drive"))
    said = str(self_check(platform=kept))
    assert "cannot be interrupted" in said
    assert "grading a class" in said
    assert "keeps no files" not in said
    assert "keeps no files" in str(self_check(platform=BROWSER))
    assert "interrupted" not in str(self_check())


def test_what_a_browser_cannot_do_is_said_in_one_sentence_and_nothing_is_loaded():
    for code, says in [
        ("import runpy; runpy.run_module('agentlib', run_name='__main__')", "A browser has no command line."),
        (
            "from agentlib.providers import local; local.client()",
            "can neither run a model file nor keep a key",
        ),
        (
            "from agentlib.providers import openai; openai.client()",
            "can neither run a model file nor keep a key",
        ),
    ]:
        pretend = "import agentlib._platform as p; p.HERE = p.BROWSER; "
        ended = subprocess.run(
            [sys.executable, "-c", pretend + code], capture_output=True, text=True, timeout=60
        )
        assert ended.returncode == 1
        assert says in ended.stderr
        assert ended.stdout == ""


def test_matplotlib_is_here_and_in_a_page_that_has_it():
    assert load_matplotlib()
    assert load_matplotlib(BROWSER)
