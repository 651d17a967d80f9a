"""A watch inside a watch under a tracer, and values that raise when they are looked at."""

import sys
from collections.abc import Mapping

import pytest

from agentlib import answer
from agentlib.watch import watch


def inner(model, tools, goal):
    return model([])


def outer(model, tools, goal):
    watch(inner, model, tools, goal)
    return model([])


def outermost(model, tools, goal):
    watch(outer, model, tools, goal)
    return model([])


def calls_a_tool(model, tools, goal):
    tools["watching"]()
    return model([])


def model(history):
    return answer("k")


def watching():
    return len(watch(outer, model, {}, "g").events)


def plain(frame, event, arg):
    return None


def every_line(frame, event, arg):
    return every_line


def under(tracer, run_agent, tools):
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        trace = watch(run_agent, model, tools, "g")
        left = sys.gettrace()
    finally:
        sys.settrace(before)
    return trace, left


@pytest.mark.parametrize("tracer", [plain, every_line])
@pytest.mark.parametrize("run_agent", [inner, outer, outermost, calls_a_tool])
def test_watch_inside_watch_puts_the_trace_function_back_and_gives_the_same_trace(run_agent, tracer):
    tools = {"watching": watching}
    trace, left = under(tracer, run_agent, tools)
    assert left is tracer
    assert trace.stopped == "returned"
    assert trace == watch(run_agent, model, tools, "g")


@pytest.mark.parametrize("run_agent", [outer, outermost, calls_a_tool])
def test_a_debugger_goes_on_through_watch_inside_watch(run_agent):
    seen = []

    def debugger(frame, event, arg):
        if frame.f_code is inner.__code__:
            seen.append(event)
        return debugger

    under(debugger, run_agent, {"watching": watching})
    assert seen == ["call", "line", "return"]


def test_coverage_goes_on_through_watch_inside_watch():
    coverage = pytest.importorskip("coverage")
    if coverage.Coverage.current() is not None:
        pytest.skip("coverage is measuring already")
    for timid in (False, True):
        measured = coverage.Coverage(data_file=None, include=[__file__], config_file=False)
        measured.set_option("run:timid", timid)
        before = sys.gettrace()
        measured.start()
        during = sys.gettrace()
        trace = watch(outermost, model, {}, "g")
        after = sys.gettrace()
        measured.stop()
        sys.settrace(before)
        assert trace.stopped == "returned"
        assert after == during
        lines = measured.get_data().lines(__file__)
        for function in (inner, outer, outermost):
            assert function.__code__.co_firstlineno + 1 in lines


class Stops:
    def __init__(self, error):
        self.error = error

    @property
    def stopped(self):
        raise self.error


class Gets(Mapping):
    def __init__(self, error):
        self.error = error

    def __getitem__(self, key):
        raise self.error

    def get(self, key, default=None):
        raise self.error

    def __iter__(self):
        raise self.error

    def __len__(self):
        raise self.error


class Words(str):
    def __bool__(self):
        raise self.error

    def __len__(self):
        raise self.error


def words(error):
    text = Words("done")
    text.error = error
    return {"stopped": text, "answer": "k"}


class Claims:
    def __init__(self, error):
        self.error = error

    @property
    def __class__(self):
        raise self.error


MAKERS = [Stops, Gets, words, Claims]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("error", [SystemExit, GeneratorExit, BaseException, ValueError])
def test_a_returned_value_that_raises_when_looked_at_still_gives_a_trace(make, error):
    trace = watch(lambda model, tools, goal: make(error()), model, {}, "g")
    wanted = {words: {"done"}, Claims: {"returned", "crashed"}}.get(make, {"returned"})
    assert trace.stopped in wanted


@pytest.mark.parametrize("make", [Stops, Gets])
def test_an_interrupt_while_the_returned_value_is_read_ends_as_a_trace(make):
    trace = watch(lambda model, tools, goal: make(KeyboardInterrupt()), model, {}, "g")
    assert trace.stopped == "interrupted"
    assert [event.kind for event in trace.events].count("stop") == 1
