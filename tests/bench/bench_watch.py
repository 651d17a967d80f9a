"""What it costs to record a loop line by line, beside the loop unwatched and under a bare `sys.settrace`.

All three run the same script with the same tool, by turns, so that a busy machine slows all alike. The bare
`sys.settrace` only lists the numbers of the lines: nothing that looks at a loop can cost less on Python 3.11.
"""

import gc
import sys
import time
import tracemalloc
from statistics import median

import pytest

from agentlib.watch import watch

GOAL = "How many pallets do we hold in all?"
SIZES = (100, 1_000, 4_000)

MAX_US = 350
"""A recorded step takes at most so many microseconds of CPU time, on a quiet machine.

That is one on which a step of the unwatched loop takes `QUIET_US`; on a slower one it may take more.
"""

QUIET_US = 1.1

MAX_GROWTH = 1.5
"""A step of a run of 4,000 steps takes at most so many times a step of a run of 100."""

MAX_KEPT_BYTES = 6_000
"""A recorded step keeps at most so much memory, however many there are."""

ROUNDS = 5
TRIES = 3


def loop(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(1, max_steps + 1):
        reply = model(history)
        history.append({"role": "model", **reply})
        if reply["type"] == "answer":
            return {"answer": reply["text"], "stopped": "answered", "steps": step}
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = {"error": str(problem)}
        history.append({"role": "tool", "tool": reply["tool"], "result": result})
    return {"answer": None, "stopped": "step limit", "steps": max_steps}


def stock_level(warehouse):
    return len(warehouse) * 7


def scripted(steps):
    """A model that costs next to nothing: it asks so many times and then answers."""
    replies = [
        {"type": "tool", "tool": "stock_level", "input": {"warehouse": f"W{n:04d}"}} for n in range(steps - 1)
    ]
    left = iter([*replies, {"type": "answer", "text": "Done."}])
    return lambda history: next(left)


def unwatched(steps):
    return loop(scripted(steps), {"stock_level": stock_level}, GOAL, steps)


def traced(steps):
    lines = []

    def each_line(frame, event, arg):
        if event == "line":
            lines.append(frame.f_lineno)
        return each_line

    before = sys.gettrace()
    sys.settrace(lambda frame, event, arg: each_line if frame.f_code is loop.__code__ else None)
    try:
        unwatched(steps)
    finally:
        sys.settrace(before)
    return lines


def watched(steps):
    trace = watch(loop, scripted(steps), {"stock_level": stock_level}, GOAL, max_steps=steps)
    assert (trace.stopped, trace.steps) == ("answered", steps)
    return trace


def us_per_step(run, steps):
    gc.collect()
    repeats = max(1, 1_000 // steps) if run is watched else max(1, 20_000 // steps)
    started = time.process_time()
    for _ in range(repeats):
        run(steps)
    return (time.process_time() - started) / repeats / steps * 1e6


def side_by_side(steps):
    """The medians of the three, in microseconds a step."""
    rounds = [[us_per_step(run, steps) for run in (watched, unwatched, traced)] for _ in range(ROUNDS)]
    return [median(times) for times in zip(*rounds, strict=True)]


@pytest.mark.parametrize("steps", SIZES)
def test_a_recorded_step(steps, record_property):
    for _ in range(TRIES):
        took, bare, by_settrace = side_by_side(steps)
        most = MAX_US * max(1, bare / QUIET_US)
        if took <= most:
            break
    record_property(
        "row",
        [
            f"watched, {steps:,} steps", f"{took:.0f} us", f"{bare:.1f} us, settrace {by_settrace:.1f} us",
            f"{took / bare:.0f}", f"at most {most:.0f} us a step here ({MAX_US} on a quiet machine)",
        ],
    )  # fmt: skip
    assert took <= most


def test_a_step_of_a_long_run_costs_what_a_step_of_a_short_one_costs(record_property):
    for _ in range(TRIES):
        short, long = (
            median(us_per_step(watched, steps) for _ in range(3)) for steps in (SIZES[0], SIZES[-1])
        )
        if long / short <= MAX_GROWTH:
            break
    record_property(
        "row",
        [
            f"{SIZES[-1]:,} steps beside {SIZES[0]}", f"{long:.0f} us", f"{short:.0f} us",
            f"{long / short:.2f}", f"at most {MAX_GROWTH:.2f}",
        ],
    )  # fmt: skip
    assert long / short <= MAX_GROWTH


def test_memory_grows_with_the_steps_and_not_faster(record_property):
    kept = []
    for steps in SIZES[:2]:
        watched(5)
        gc.collect()
        tracemalloc.start()
        trace = watched(steps)
        gc.collect()
        kept.append(tracemalloc.get_traced_memory()[0] / steps)
        tracemalloc.stop()
        del trace
    record_property(
        "row",
        [
            "kept of a step", f"{kept[1]:,.0f} bytes", f"{kept[0]:,.0f} bytes at {SIZES[0]}",
            f"{kept[1] / kept[0]:.2f}", f"at most {MAX_KEPT_BYTES:,} bytes",
        ],
    )  # fmt: skip
    assert kept[1] <= MAX_KEPT_BYTES
    assert kept[1] <= 1.1 * kept[0]
