"""Requests that ran at once: as lanes in the player, as a table in its static form, as text for all."""

import re

import pytest

from agentlib import LATER, ScriptedModel, answer, ask, ask_together, resume, run_agent, tool
from agentlib.errors import FatalToolError
from agentlib.trace import Event, Trace
from agentlib.views import tracer
from agentlib.views.lanes import Lane, lanes_by_result, lanes_words
from agentlib.views.tracer.timeline import timeline

STARTED = [0.0, 0.1, 0.1]
ENDED = [1.6, 0.5, 1.1]
HEAD = "Step 1, 3 requests at once: 1.6 s in all, 3 s if each had waited for the one before"


def shelf_run(results=({"pieces": 3}, {"pieces": 4}, {"pieces": 5}), texts=("", "", ""), timed=True):
    """A trace of three requests at once, with the times and the ends that a test wants."""
    reply = {"role": "model", **ask_together(*(ask("shelf", number=number) for number in (1, 2, 3)))}
    for number, call in enumerate(reply["calls"]):
        call["id"] = str(number)
    acts = [
        Event("act", 1, id=str(number), text="shelf", seconds=STARTED[number] if timed else 0.0)
        for number in range(3)
    ]
    came = [
        Event(
            "result", 1, {"role": "tool", "id": str(number), "tool": "shelf", "result": result},
            text=texts[number], ran=not texts[number], seconds=ENDED[number] if timed else 0.0,
        )
        for number, result in enumerate(results)
    ]  # fmt: skip
    end = [
        Event("ask", 2, entries=5),
        Event("reply", 2, {"role": "model", **answer("12")}),
        Event("stop", 2, {"answer": "12", "detail": ""}, text="answered"),
    ]
    first = [Event("start", 0, {"role": "user", "text": "Count."}), Event("ask", 1, entries=1)]
    return Trace((*first, Event("reply", 1, reply), *acts, *came, *end), {"goal": "Count."})


def lanes(trace):
    (found,) = lanes_by_result(trace).values()
    return found


def test_each_request_has_its_name_its_time_and_how_it_ended():
    assert lanes(shelf_run()) == (
        Lane("shelf(1)", "worked", False, 0.0, 1.6),
        Lane("shelf(2)", "worked", False, 0.1, 0.5),
        Lane("shelf(3)", "worked", False, 0.1, 1.1),
    )
    assert [lane.took for lane in lanes(shelf_run())] == ["1.6 s", "0.4 s", "1 s"]


@pytest.mark.parametrize(
    ("result", "text", "outcome", "failed"),
    [
        (None, "", "worked", False),
        ({"error": "tool_failed", "message": "No."}, "", "failed", True),
        ({"error": ["odd"]}, "", "failed", True),
        ({"error": "Gone.", "message": "Gone."}, "fatal", "failed", True),
        ({"error": "timed_out", "message": "Late."}, "", "out of time", True),
        ({"error": "not_finished", "message": "Ended."}, "", "not finished", True),
        ({"error": "not_approved", "message": "No."}, "not run", "not run", False),
        ({"error": "waiting", "message": "Later."}, "not run", "waits for a person", False),
    ],
)
def test_how_a_request_ended_is_said_in_words(result, text, outcome, failed):
    lane = lanes(shelf_run((result, 1, 1), (text, "", "")))[0]
    assert (lane.outcome, lane.failed) == (outcome, failed)


def test_the_player_gets_lanes_from_the_first_result_to_the_next_call():
    data = timeline(shelf_run())
    told = {
        number: frame["lanes"] for number, frame in enumerate(data["frames"], start=1) if "lanes" in frame
    }
    assert list(told) == [7, 10]
    assert told[10] is None
    assert f"Step 1, {told[7]['words']}" == HEAD
    assert told[7]["rows"][1] == {
        "request": "shelf(2)", "outcome": "worked", "took": "0.4 s", "from": 6.2, "wide": 25.0,
    }  # fmt: skip


def test_the_static_form_has_a_table_that_says_the_same():
    shown = tracer(shelf_run())
    assert HEAD in str(shown)
    rows = [line.split() for line in str(shown).splitlines() if line.startswith("`shelf(")]
    assert rows == [
        ["`shelf(1)`", "0.000", "1.600", "worked"],
        ["`shelf(2)`", "0.100", "0.500", "worked"],
        ["`shelf(3)`", "0.100", "1.100", "worked"],
    ]
    assert f'<caption style="text-align:left;caption-side:top">{HEAD}</caption>' in shown._repr_html_()


def test_without_times_the_lanes_have_words_and_no_bars():
    trace = shelf_run(({"error": "timed_out", "message": "Late."}, 1, 1), timed=False)
    assert lanes_words(lanes(trace)) == "3 requests at once; how long each took is not known"
    row = timeline(trace)["frames"][6]["lanes"]["rows"][0]
    assert row == {"request": "shelf(1)", "outcome": "out of time", "failed": True}
    assert re.search(r"^`shelf\(1\)` +out of time \(error\)$", str(tracer(trace)), re.MULTILINE)


def test_what_takes_less_than_a_millisecond_has_no_bar_either():
    same = [event._replace(seconds=1.0) if event.step else event for event in shelf_run()]
    row = timeline(Trace(tuple(same), {"goal": "Count."}))["frames"][6]["lanes"]["rows"][0]
    assert row == {"request": "shelf(1)", "outcome": "worked", "took": "under 0.001 s"}


def shelf(number: int) -> int:
    """Count a shelf."""
    if number == 13:
        raise FatalToolError("There is no shelf 13.")
    return number


SHELVES = ask_together(*(ask("shelf", number=number) for number in (1, 2)))


def test_where_each_waits_for_the_one_before_there_are_no_lanes():
    run = run_agent(
        ScriptedModel([SHELVES, SHELVES, answer("Done.")]), [tool(shelf, parallel=True)], "Count."
    )
    assert lanes_by_result(run.trace) == {}
    assert "at once" not in str(tracer(run))


def test_each_reply_of_a_run_has_lanes_of_its_own():
    script = [SHELVES, ask("shelf", number=3), SHELVES, answer("Done.")]
    run = run_agent(ScriptedModel(script), [tool(shelf, parallel=True)], "Count.", at_once=2)
    data = timeline(run.trace)
    told = [frame["lanes"] is None for frame in data["frames"] if "lanes" in frame]
    assert told == [False, True, False, True]
    assert [f"Step {step}, 2 requests at once" in str(tracer(run)) for step in (1, 2, 3, 4)] == [
        True, False, True, False,
    ]  # fmt: skip


def test_a_request_that_waits_for_a_person_says_so_where_it_begins_and_in_its_lane():
    tools = [tool(shelf, risky=True, parallel=True)]
    run = run_agent(
        ScriptedModel([SHELVES, answer("Done.")]), tools, "Count.", at_once=2,
        approve=lambda call: LATER if call["input"]["number"] == 1 else True,
    )  # fmt: skip
    captions = [frame["caption"] for frame in timeline(run.trace)["frames"] if frame["move"] == "act"]
    assert captions == [
        "A person is asked whether `shelf(1)` may run.",
        "A person was asked and said yes: `shelf(2)` runs.",
    ]
    assert [lane.outcome for lane in lanes(run.trace)] == ["waits for a person", "worked"]
    more = resume(run.trace, ScriptedModel([SHELVES, answer("Done.")]), tools, approve=lambda call: True)
    assert [lane.outcome for lane in lanes(more.trace)] == ["waits for a person", "worked"]
