"""The live tracer without a browser: what is sent, what comes back through the widget's own message door."""

import json

import pytest

from agentlib import answer, ask, run_agent
from agentlib.labs import blue_mugs
from agentlib.messages import user
from agentlib.models import LoopingModel, ScriptedModel
from agentlib.trace import Trace
from agentlib.views import tracer
from agentlib.views.frames import frames
from agentlib.views.guard import HANDLE
from agentlib.views.tracer.predict import choices, open_frames, verdict
from agentlib.views.tracer.timeline import EDIT_CHARS, timeline
from agentlib.watch import watch
from tests.handwritten import run_agent as loop


def mugs(max_steps=10):
    return run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL, max_steps=max_steps)


def live(**options):
    return tracer(loop, blue_mugs.model, blue_mugs.TOOLS, blue_mugs.GOAL, **options).live


def arrives(player, content):
    """Let a message arrive as it would from the browser."""
    player._handle_custom_msg(content, [])


# --- what is sent -----------------------------------------------------------------------------------


def test_a_timeline_is_plain_json_with_every_entry_once():
    shown = timeline(mugs().trace)
    assert json.loads(json.dumps(shown)) == shown
    assert len(shown["frames"]) == 16
    assert [len(versions) for versions in shown["places"]] == [1] * 8
    assert shown["calls"] == [9, 40, 58, 75]


def test_a_long_run_is_sent_in_a_size_that_grows_with_its_frames():
    def size(steps):
        run = run_agent(LoopingModel("stock_level", warehouse="north"), blue_mugs.TOOLS, "g", max_steps=steps)
        return len(json.dumps(timeline(run.trace)["frames"])) + len(json.dumps(timeline(run.trace)["places"]))

    assert size(200) < 2.5 * size(100)


def test_long_values_are_sent_short_with_the_whole_beside_them_and_a_megabyte_is_cut():
    big = "x" * 1_000_000
    run = run_agent(ScriptedModel([ask("t", x="y" * 500), answer(big)]), {"t": lambda x: x}, "goal")
    shown = timeline(run.trace)
    (request,), (said,) = shown["places"][1], shown["places"][3]
    assert len(request["text"]) == 160
    assert request["whole"].count("y") == 500
    assert len(said["whole"]) == 10_000
    assert said["chars"] > 1_000_000
    assert all(len(change["json"]) <= EDIT_CHARS for change in shown["changes"])


def test_each_entry_has_its_tokens_and_one_of_an_odd_shape_too():
    run = mugs()
    sizes = [versions[0]["tokens"] for versions in timeline(run.trace)["places"]]
    assert sum(sizes[:3]) == timeline(run.trace)["calls"][1]

    def odd(model, tools, goal, max_steps=10):
        history = [{"role": "user", "text": 5}, {"type": "tool", "tool": 3, "input": "x"}, "text", user(goal)]
        history.append(model(history))

    shown = timeline(watch(odd, blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL))
    assert all(versions[-1]["tokens"] >= 1 for versions in shown["places"])
    assert len(shown["places"]) == 5


def test_the_cell_shows_the_player_and_beneath_it_the_static_form(monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda value, **options: shown.append(value))
    tracer(mugs())._ipython_display_()
    view, static = shown
    before = '<p class="agentlib-before">Run this cell to get the player.</p>'
    assert set(view) == {"application/vnd.jupyter.widget-view+json", "text/plain"}
    assert view["text/plain"] == ""  # else the line would stand there twice
    whole = tracer(mugs())._repr_mimebundle_()
    assert static == {**whole, "text/html": before + whole["text/html"]}


# --- the slider -------------------------------------------------------------------------------------


def test_moving_max_steps_runs_the_loop_again_and_shows_its_end():
    shown = live()
    shown.slider.value = 2
    assert shown.traces[""].stopped == "step limit"
    assert shown.player.frame == len(shown.player.timelines[0]["frames"])
    assert shown.player.timelines[0]["frames"][-1]["stopped"] == "step limit"
    shown.slider.value = 4
    assert shown.traces[""].stopped == "answered"


def test_the_slider_reaches_as_far_as_the_run_that_it_starts_with():
    assert (live().slider.value, live().slider.max) == (10, 20)
    assert live(max_steps=30).slider.max == 30


def test_the_handle_of_the_slider_has_a_colour_that_is_seen_in_both_themes():
    assert live().slider.style.handle_color == HANDLE


def test_a_run_that_is_over_has_no_slider_and_no_form():
    shown = tracer(mugs()).live
    assert shown.slider is None
    assert not shown.player.can_fork


@pytest.mark.parametrize(("asked", "given"), [(0, 1), (-5, 1), (5, 5), (99, 16)])
def test_the_frame_stays_inside_the_timeline(asked, given):
    player = tracer(mugs()).live.player
    player.frame = asked
    assert player.frame == given


def test_several_runs_are_played_side_by_side_as_far_as_the_longest():
    player = tracer({"A": mugs(), "B": mugs(2).trace}).live.player
    assert [shown["label"] for shown in player.timelines] == ["A", "B"]
    assert player.last == 17  # the frame that ends B belongs to step 2, where A has one frame less


@pytest.mark.parametrize("broken", [lambda m, t, g, max_steps: 1 / 0, lambda m, t, g, max_steps: None])
def test_a_loop_that_raises_at_once_or_returns_nothing_gives_a_player_all_the_same(broken):
    shown = tracer(broken, blue_mugs.model, blue_mugs.TOOLS, blue_mugs.GOAL)
    assert shown.live.player.timelines[0]["frames"][-1]["stopped"] in ("crashed", "returned")


def test_a_loop_that_asks_for_ever_is_ended_and_shown():
    def forever(model, tools, goal, max_steps=10):
        history = [{"role": "user", "text": goal}]
        while True:
            history.append(model(history))

    shown = tracer(forever, lambda: LoopingModel("t"), {}, "goal")
    assert shown.trace.stopped == "asked too often"
    captions = [frame["caption"] for frame in shown.live.player.timelines[0]["frames"]]
    assert any(caption.startswith("Step 11, though at most 10 were allowed") for caption in captions)


def test_the_table_beneath_says_which_run_it_shows_since_the_slider_does_not_change_it():
    shown = tracer(loop, blue_mugs.model, blue_mugs.TOOLS, blue_mugs.GOAL, max_steps=4)
    assert "<summary>All frames of the run with max_steps=4</summary>" in shown.static.html
    shown.live.slider.value = 2
    assert "<summary>All frames of the run with max_steps=4</summary>" in shown.static.html
    assert "<summary>All frames as a table</summary>" in tracer(shown.trace).static.html


# --- predict ----------------------------------------------------------------------------------------


def test_only_the_frames_before_the_last_call_may_be_seen_before_the_guess():
    told = frames(mugs(2).trace)
    assert told[open_frames(told) - 1].step == 1
    assert told[open_frames(told)].step == 2
    one = frames(mugs(1).trace)
    assert open_frames(one) == 1


def test_the_right_reason_is_always_among_the_choices_and_gives_nothing_away():
    offered = ["answered", "step limit", "repeated call", "crashed"]
    assert choices(mugs().trace) == choices(mugs(2).trace) == offered
    stuck = watch(lambda m, t, g, max_steps=1: None, blue_mugs.model(), {}, "goal")
    assert choices(stuck)[-1] == "returned"


def test_the_verdict_says_right_or_not_and_why():
    trace = mugs(2).trace
    assert verdict(trace, "step limit") == (
        "Right: `step limit`. All allowed steps were used, and the model had not answered. "
        "Exactly: 2 of 2 steps used."
    )
    assert verdict(trace, "answered").startswith(
        "Not this time: you chose `answered`, and it ended with `step limit`."
    )


def test_the_static_form_folds_the_end_behind_the_question():
    page = tracer(mugs(2), predict=True)._repr_html_()
    before, after = page.split("<summary>Show how it ends</summary>")
    assert "How will this run end?" in before
    assert "Stopped: step limit" in after
    assert "2 of 2 steps used" not in before


# --- what if ----------------------------------------------------------------------------------------


def test_a_change_from_the_form_stands_beside_the_run_with_the_first_difference_marked():
    shown = live()
    arrives(
        shown.player, {"do": "fork", "step": 3, "kind": "result", "call": 0, "text": '{"blue_mugs": 999}'}
    )
    assert shown.player.problem == ""
    assert list(shown.traces) == ["as it was", "what if"]
    marked = shown.player.timelines[1]["difference"]
    assert marked["words"] == f"First difference: frame {marked['frame']}, in step 3."
    assert shown.player.frame == marked["frame"]
    changed = shown.player.timelines[1]["frames"][marked["frame"] - 1]["caption"]
    assert "999" in changed


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"step": 1, "kind": "result", "text": "{"}, "This is no JSON"),
        ({"step": 1, "kind": "reply", "text": "3"}, "This is no reply"),
        ({"step": 9, "kind": "reply", "text": '{"type": "answer", "text": "x"}'}, "there is no step 9"),
        ({"step": "1", "kind": "result", "text": "1"}, "at_step is a whole number"),
        ({"step": 1, "kind": "result", "call": 7, "text": "1"}, "there is no result 7"),
        ({}, "This is no JSON"),
    ],
)
def test_a_form_that_is_filled_in_wrongly_says_what_is_wrong_and_changes_nothing(message, words):
    shown = live()
    arrives(shown.player, {"do": "fork", **message})
    assert words in shown.player.problem
    assert len(shown.player.timelines) == 1


@pytest.mark.parametrize("content", [None, "fork", {}, {"do": "dance"}, {"do": ["fork"]}])
def test_other_messages_are_left_alone(content):
    shown = live()
    arrives(shown.player, content)
    assert shown.player.problem == ""
    assert len(shown.player.timelines) == 1


def test_back_to_one_run_shows_the_first_run_alone_at_the_same_frame():
    shown = live()
    first = shown.player.timelines
    arrives(
        shown.player, {"do": "fork", "step": 1, "kind": "reply", "text": '{"type": "answer", "text": "x"}'}
    )
    assert [timeline["label"] for timeline in shown.player.timelines] == ["as it was", "what if"]
    frame = shown.player.frame
    arrives(shown.player, {"do": "one run"})
    assert shown.player.timelines == first
    assert shown.player.frame == frame
    assert list(shown.traces) == [""]


def test_the_form_offers_each_reply_and_each_result_as_it_was():
    offered = live().player.timelines[0]["changes"]
    assert [(one["step"], one["kind"]) for one in offered] == [
        (1, "reply"), (1, "result"), (2, "reply"), (2, "result"), (3, "reply"), (3, "result"), (4, "reply"),
    ]  # fmt: skip
    assert json.loads(offered[2]["json"]) == ask("stock_level", warehouse="north")
    assert json.loads(offered[3]["json"]) == {"warehouse": "north", "blue_mugs": 140}


def test_an_empty_trace_is_shown_without_a_crash():
    shown = tracer(Trace(()))
    assert shown.live.player.last == 1
    assert "0 frames" in str(shown)


# --- loops of every kind ----------------------------------------------------------------------------


def rewriting(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for _ in range(max_steps):
        reply = model(history)
        history[0] = {"role": "user", "text": "changed"}
        history.append(reply)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "stopped": "answered"}
        history.append({"role": "tool", "tool": reply["tool"], "result": 1})


class Agent:
    def run(self, model, tools, goal, max_steps=10):
        return loop(model, tools, goal, max_steps)


def typed_in():
    names = {}
    exec(
        "def run(model, tools, goal, max_steps=10):\n    model([goal])\n    return {'stopped': 'done'}", names
    )
    return names["run"]


def raises_at_once(model, tools, goal, max_steps=10):
    raise RuntimeError("no <b>power</b>")


def never_asks(model, tools, goal, max_steps=10):
    return {"answer": "guessed", "stopped": "answered"}


@pytest.mark.parametrize(
    ("strange", "words"),
    [
        (rewriting, "Entry 1 of the history is changed:"),
        (Agent().run, "stopped: answered"),
        (typed_in(), "Stopped: done."),
        (raises_at_once, "RuntimeError: no <b>power</b>"),
        (never_asks, "0 steps of at most 10"),
        (lambda model, tools, goal, max_steps=10: model([user(goal)]), "Stopped: returned."),
    ],
    ids=["changes old entries", "a method", "typed in", "raises at once", "never asks", "a lambda"],
)
def test_a_loop_of_any_kind_gives_a_trace_that_can_be_looked_at(strange, words):
    shown = tracer(strange, blue_mugs.model, blue_mugs.TOOLS, blue_mugs.GOAL)
    assert words.lower() in str(shown).lower()
    assert "<b>power" not in shown._repr_html_()
    assert shown.live.player.last > 1


def test_a_coroutine_is_refused_in_one_clear_sentence():
    async def waiting(model, tools, goal, max_steps=10):
        return None

    with pytest.raises(TypeError, match="waiting is written with `async def`"):
        tracer(waiting, blue_mugs.model, blue_mugs.TOOLS, blue_mugs.GOAL)


def test_a_loop_without_max_steps_is_refused_in_one_clear_sentence():
    def endless(model, tools, goal):
        return None

    with pytest.raises(TypeError, match=r"is called as endless\(model, tools, goal, max_steps=\.\.\.\)"):
        tracer(endless, blue_mugs.model, blue_mugs.TOOLS, blue_mugs.GOAL)


@pytest.mark.parametrize("model", [blue_mugs.model(), LoopingModel("t"), lambda history: answer("x")])
def test_a_model_instead_of_its_maker_is_refused_in_one_clear_sentence(model):
    with pytest.raises(TypeError, match=r"pass the function that makes a model, without brackets") as raised:
        tracer(loop, model, blue_mugs.TOOLS, blue_mugs.GOAL)
    assert raised.value.__suppress_context__
    assert "\n" not in str(raised.value)


def test_a_maker_that_could_take_more_than_nothing_is_taken():
    def maker(warehouse="north"):
        return blue_mugs.model()

    assert tracer(loop, maker, blue_mugs.TOOLS, blue_mugs.GOAL).trace.stopped == "answered"
