"""Frames: what the tracer shows at each moment of a run, for runs of agentlib's loop and for watched ones."""

import pytest

from agentlib import LATER, answer, ask, ask_together, resume, run_agent, tool
from agentlib.errors import FatalToolError
from agentlib.labs import blue_mugs
from agentlib.messages import user
from agentlib.models import LoopingModel, ScriptedModel
from agentlib.trace import Event, Trace
from agentlib.views.frames import frames, tokens_per_call

LOOP = """\
def run_agent(model, tools, goal, max_steps=10):
    history = [{"role": "user", "text": goal}]
    for step in range(max_steps):
        reply = model(history)
        history.append(reply)
        if reply["type"] == "answer":
            return {"answer": reply["text"], "stopped": "answered"}
        try:
            result = tools[reply["tool"]](**reply["input"])
        except Exception as problem:
            result = {"error": str(problem)}
        history.append({"role": "tool", "tool": reply["tool"], "result": result})
    return {"answer": None, "stopped": "step limit"}
"""
FIRST_LINE = 21


class Tape:
    """Writes the events of a watched run of LOOP by hand, so that frames can be tested on their own."""

    def __init__(self, goal="How many mugs?", max_steps=3, source=LOOP):
        self.about = {
            "made_by": "watch", "goal": goal, "max_steps": max_steps, "tools": ["stock_level"],
            "function": "run_agent", "source": source, "first_line": FIRST_LINE,
        }  # fmt: skip
        self.events = [Event("start", 0, user(goal))]
        self.step = 0
        self.length = 0

    def line(self, number):
        self.events.append(Event("line", self.step, line=FIRST_LINE + number - 1))
        return self

    def history(self, kept, *entries):
        self.events.append(Event("history", self.step, entries=kept, read=list(entries)))
        self.length = kept + len(entries)
        return self

    def record(self, entry):
        return self.history(self.length, entry)

    def asked(self, reply, tokens=10):
        self.step += 1
        self.events.append(Event("ask", self.step, entries=self.length, tokens=tokens))
        if reply is not None:
            self.events.append(Event("reply", self.step, reply, tokens=tokens))
        return self

    def ran(self, tool, result, raised=False, **given):
        entry = {"role": "tool", "id": "", "tool": tool, "result": result}
        self.events.append(Event("act", self.step, {"tool": tool, "input": given}, text=tool))
        self.events.append(Event("result", self.step, entry, text="raised" if raised else "", ran=True))
        return self

    def stop(self, reason, said=None, detail=""):
        self.events.append(Event("stop", self.step, {"answer": said, "detail": detail}, text=reason))
        return Trace(tuple(self.events), self.about)

    def crash(self, number, error):
        self.events.append(Event("crash", self.step, line=FIRST_LINE + number - 1, text=error))
        return self


def tool_entry(result):
    return {"role": "tool", "tool": "stock_level", "result": result}


def mended_run():
    """The model misspells a warehouse, reads the error, asks again and answers."""
    tape = Tape().line(2).record(user("How many mugs?")).line(3)
    wrong, right, said = (
        ask("stock_level", warehouse="North"),
        ask("stock_level", warehouse="north"),
        answer("140."),
    )
    problem = {"error": 'Use "north" or "south".'}
    tape.line(4).asked(wrong).line(5).record(wrong).line(6).line(8)
    tape.line(9).ran("stock_level", problem, raised=True, warehouse="North").line(10).line(11)
    tape.line(12).record(tool_entry(problem)).line(3)
    tape.line(4).asked(right, 30).line(5).record(right).line(6).line(8)
    tape.line(9).ran("stock_level", {"blue_mugs": 140}, warehouse="north").line(12).record(
        tool_entry({"blue_mugs": 140})
    )
    tape.line(3).line(4).asked(said, 50).line(5).record(said).line(6).line(7)
    return tape.stop("answered", "140.")


def captions(trace):
    return [frame.caption for frame in frames(trace)]


def caption_of(trace, line, nth=1):
    """The caption of the nth frame that lights this line of LOOP."""
    lit = [frame.caption for frame in frames(trace) if frame.line == FIRST_LINE + line - 1]
    return lit[nth - 1]


# --- runs of agentlib's own loop --------------------------------------------------------------------


def test_each_event_of_a_run_gives_a_frame_and_the_last_one_says_how_it_ended():
    run = run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL)
    told = frames(run.trace)
    assert [frame.number for frame in told] == list(range(1, len(run.trace) + 1))
    assert {frame.line for frame in told} == {None}
    assert told[-1].stopped == "answered"
    assert [frame.stopped for frame in told[:-1]] == [None] * (len(told) - 1)
    assert "North has more blue mugs: 140 against 95." in told[-1].caption
    assert (told[-1].step, told[-1].max_steps, told[-1].entries) == (4, 10, 8)


def test_tokens_read_add_up_to_what_the_run_counted():
    run = run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL)
    assert frames(run.trace)[-1].tokens_read == run.usage.input_tokens == sum(tokens_per_call(run.trace))


def test_a_providers_own_count_replaces_the_estimate():
    reply = {**answer("Done."), "usage": {"input_tokens": 1_234, "output_tokens": 5}}
    run = run_agent(ScriptedModel([reply]), {}, "goal")
    told = frames(run.trace)
    assert told[-1].tokens_read == 1_234
    assert tokens_per_call(run.trace) == [1_234]


def test_the_four_moves_come_in_their_order():
    run = run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL, max_steps=1)
    assert [frame.move for frame in frames(run.trace)] == ["", "ask", "check", "act", "record", ""]


def test_the_history_of_each_frame_is_the_one_that_stood_then():
    run = run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL)
    for number, frame in enumerate(frames(run.trace), start=1):
        assert frame.history == run.trace.history_after(number)
        assert len(frame.history) == frame.entries


def test_only_the_entry_that_was_just_added_is_new():
    run = run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL, max_steps=1)
    assert [frame.new for frame in frames(run.trace)] == [(0,), (), (1,), (), (2,), ()]


def test_a_tool_that_raised_is_named_with_its_values_and_with_the_step_that_will_read_it():
    told = captions(run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL).trace)
    assert told[4] == (
        '`stock_level("North")` raised. The loop turned it into a result: '
        'Unknown warehouse "North". Use "north" or "south". It is now entry 3. '
        "The model will read it in step 2."
    )


def test_a_result_that_no_call_will_read_is_said_to_be_unread():
    told = captions(run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL, max_steps=2).trace)
    assert told[-2].endswith("No further call is made, so the model never reads it.")
    assert told[-1].endswith("There is no answer.")
    assert "`step limit`" in told[-1]
    assert "2 of 2 steps used" in told[-1]


def test_a_repeated_request_is_marked_and_the_caption_says_when_it_was_made_before():
    run = run_agent(LoopingModel("stock_level", warehouse="north"), blue_mugs.TOOLS, "goal", max_steps=3)
    told = frames(run.trace)
    assert told[-1].repeats == (3, 5)
    assert told[2].repeats == ()
    replies = [frame.caption for frame in told if frame.move == "check"]
    assert "the same" not in replies[0]
    assert "It asked the same in step 1." in replies[1]


def test_the_order_of_an_inputs_keys_makes_no_new_request():
    model = ScriptedModel([ask("move", a=1, b=2), ask("move", b=2, a=1), answer("done")])
    run = run_agent(model, {"move": lambda a, b: a + b}, "goal")
    assert frames(run.trace)[-1].repeats == (3,)


def test_several_requests_in_one_reply_are_all_named():
    model = ScriptedModel([ask_together(ask("a"), ask("b"), ask("a"), ask("c")), answer("x")])
    tools = {name: (lambda: 1) for name in "abc"}
    told = captions(run_agent(model, tools, "goal").trace)
    assert told[2].startswith("The model requests `a()`, `b()` and `a()` and 1 more.")


def test_a_tool_that_is_not_there_was_not_run():
    told = captions(run_agent(ScriptedModel([ask("fly"), answer("x")]), {}, "goal").trace)
    assert told[4].startswith("`fly()` could not be run. The loop says so in a result: ")


@pytest.mark.parametrize("request_", [ask("nobody", page=1), ask("pay", pages=1)])
def test_a_request_that_cannot_be_run_is_not_said_to_run(request_):
    def pay(page: int) -> str:
        return f"page {page}"

    run = run_agent(ScriptedModel([request_, ask("pay", page=1), answer("done")]), [pay], "Pay.")
    first, second = (frame.caption for frame in frames(run.trace) if frame.move == "act")
    assert (first, second) == (f"`{request_['tool']}(1)` has its turn and cannot be run.", "`pay(1)` runs.")


def test_a_fatal_error_is_said_to_be_beyond_the_model():
    def locked():
        raise FatalToolError("The key is wrong.")

    told = captions(run_agent(ScriptedModel([ask("locked")]), {"locked": locked}, "goal").trace)
    assert told[-2].startswith("`locked()` failed: The key is wrong. No model can mend that.")
    assert "`fatal error`" in told[-1]


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("hello", "The model's reply cannot be read"),
        ({"type": "answer", "text": " "}, "The model's reply is empty."),
        (answer("a" * 500), 'The model answers "aaa'),
    ],
)
def test_odd_replies_are_told_in_words(reply, words):
    told = captions(run_agent(ScriptedModel([reply, answer("x")]), {}, "goal").trace)
    assert told[2].startswith(words)
    assert len(told[2]) < 300


def test_a_memory_that_picks_entries_is_told_with_both_numbers():
    run = run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL, memory=lambda entries: entries[-2:])
    asks = [frame.caption for frame in frames(run.trace) if frame.move == "ask"]
    assert "reads 2 entries that were picked out of 7" in asks[-1]


def test_a_trace_that_was_cut_off_still_gives_frames():
    run = run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL)
    told = frames(Trace(run.trace.events[:5], run.trace.about))
    assert len(told) == 5
    assert told[-1].stopped is None


def test_a_run_that_waited_is_told_as_one_and_the_result_takes_the_place_that_was_kept():
    def look(page: int) -> str:
        return f"page {page}"

    tools = [tool(look, name="pay", risky=True), tool(look)]
    script = [ask_together(ask("pay", page=1), ask("look", page=2)), answer("done")]
    waits = run_agent(ScriptedModel(script), tools, "Pay.", approve=lambda call: LATER)
    run = resume(waits.trace, ScriptedModel(script), tools, approve=lambda call: True)
    told = frames(run.trace)
    assert list(told[-1].history) == run.history
    assert [told[place].caption for place in (3, 4, 7, 8, 9)] == [
        "A person is asked whether `pay(1)` may run.",
        "`pay(1)` waits until a person has decided: entry 3 says so until then.",
        "The run is over: `waiting`. A person has to decide on a request. The run can go on from its trace "
        "afterwards. Exactly: a person has to decide on: pay. There is no answer.",
        "The run goes on here, where it waited or its program was ended.",
        "A person was asked and said yes: `pay(1)` runs.",
    ]
    assert (
        told[10].caption == '`pay(1)` gave `"page 1"`. It is now entry 3. The model will read it in step 2.'
    )
    assert (told[10].new, told[8].history[2]["result"]["error"]) == ((2,), "waiting")
    assert [frame.mark for frame in told if frame.mark] == ["stop", "stop"]


@pytest.mark.parametrize("at_once", [1, 3])
@pytest.mark.parametrize(
    ("said", "caption"),
    [
        (True, "A person was asked and said yes: `pay(1)` runs."),
        (False, "`pay(1)` needs a person's yes and does not get it."),
        (None, "`pay(1)` needs a person's yes and does not get it."),
    ],
)
def test_a_persons_yes_and_no_are_told_and_kept_in_a_saved_trace(tmp_path, said, caption, at_once):
    def pay(page: int) -> str:
        return f"page {page}"

    tools = [tool(pay, risky=True, parallel=at_once > 1)]
    approve = None if said is None else lambda call: said
    script = ScriptedModel([ask("pay", page=1), answer("done")])
    run = run_agent(script, tools, "Pay.", approve=approve, at_once=at_once)
    run.trace.save(tmp_path / "run.jsonl")
    for trace in (run.trace, Trace.load(tmp_path / "run.jsonl")):
        assert [frame.caption for frame in frames(trace) if frame.move == "act"] == [caption]


def test_no_events_give_no_frames():
    assert frames(Trace(())) == []
    assert frames(Trace((), {"made_by": "watch"})) == []


def test_a_long_run_keeps_each_entry_once():
    run = run_agent(LoopingModel("stock_level", warehouse="north"), blue_mugs.TOOLS, "goal", max_steps=300)
    told = frames(run.trace)
    kept = sum(len(versions) for versions in told[-1].history.versions)
    assert kept == len(run.history) == 601
    assert told[0].history.versions is told[-1].history.versions


# --- watched loops ----------------------------------------------------------------------------------


def test_a_watched_loop_gives_a_frame_for_each_line_with_that_line_lit():
    told = frames(mended_run())
    first_step = [frame.line - FIRST_LINE + 1 for frame in told if frame.step <= 1]
    assert first_step == [1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 3]


def test_an_error_that_the_except_caught_is_followed_from_the_tool_into_the_history():
    trace = mended_run()
    assert caption_of(trace, 9) == '`stock_level("North")` raises an error: Use "north" or "south".'
    caught = 'The `except` catches the error of `stock_level("North")`. The run goes on.'
    assert caption_of(trace, 10) == caught
    assert caption_of(trace, 12) == (
        '`stock_level("North")` raised. The `except` turned it into a result, '
        "so the model will read it in step 2. It is entry 3 of the history."
    )


def test_a_tool_that_worked_is_named_with_what_it_gave():
    assert caption_of(mended_run(), 9, nth=2) == '`stock_level("north")` runs and gives `{"blue_mugs": 140}`.'
    assert caption_of(mended_run(), 12, nth=2) == (
        "The result goes into the history as entry 5. The model will read it in step 3."
    )


def test_the_check_of_the_reply_says_what_was_found():
    trace = mended_run()
    assert caption_of(trace, 6) == (
        'Is the reply an answer? No, it requests `stock_level("North")`, so the loop goes on.'
    )
    assert caption_of(trace, 6, nth=3) == f"Is the reply an answer? Yes: line {FIRST_LINE + 6} comes next."


def test_the_head_of_the_loop_counts_the_steps():
    trace = mended_run()
    assert caption_of(trace, 3) == "A new round of the loop begins. 0 of 3 steps are used."
    assert caption_of(trace, 3, nth=2) == "A new round of the loop begins. 1 of 3 steps are used."


LATE_LIMIT = """\
def run_agent(model, tools, goal, max_steps):
    history, steps = [{"role": "user", "text": goal}], 0
    while True:
        if steps >= max_steps:
            return {"answer": None, "stopped": "step limit"}
        reply = model(history)
        steps += 1
        history += [reply, {"role": "tool", "result": tools[reply["tool"]](**reply["input"])}]
"""


def watched_source(source, first_model_line, rounds, max_steps):
    """The trace of a loop that goes to its head and to the model's line `rounds` times, then to its head."""
    tape = Tape(max_steps=max_steps, source=source).line(2).record(user("How many mugs?"))
    for _ in range(rounds):
        tape.line(3).line(first_model_line - 2).line(first_model_line)
        tape.asked(ask("stock_level", warehouse="north"))
    return tape.line(3).line(4).line(5).stop("step limit")


def test_a_loop_that_checks_its_limit_inside_while_is_not_said_to_begin_a_step_beyond_it():
    told = captions(watched_source(LATE_LIMIT, 6, 2, max_steps=2))
    assert not any("though at most" in caption or "it begins here" in caption for caption in told)
    heads = [caption for caption in told if caption.startswith("A new round")]
    assert heads == [f"A new round of the loop begins. {used} of 2 steps are used." for used in (0, 1, 2)]


def test_the_condition_of_a_while_is_what_the_loop_looks_at():
    source = LATE_LIMIT.replace("while True:", "while steps <= max_steps:")
    told = captions(watched_source(source, 6, 2, max_steps=2))
    heads = [caption for caption in told if "go round once more" in caption]
    looked = "The loop looks whether to go round once more: `steps <= max_steps`. Yes: line 24 comes next."
    assert heads == [looked] * 3


def test_a_for_that_goes_beyond_the_limit_only_begins_a_round_at_its_head():
    source = LATE_LIMIT.replace("while True:", "for step in range(99):")
    told = captions(watched_source(source, 6, 2, max_steps=2))
    heads = [caption for caption in told if caption.startswith("A new round")]
    assert heads == [f"A new round of the loop begins. {used} of 2 steps are used." for used in (0, 1, 2)]
    assert told[-4] == "A new round of the loop begins. 2 of 2 steps are used."


def repeated_run(second, runs_again):
    """A watched run that ends with `repeated call` after a second request."""
    tape = Tape().line(2).record(user("goal")).line(3)
    request = ask("stock_level", warehouse="north")
    tape.line(4).asked(request).line(9).ran("stock_level", 140, warehouse="north").line(3)
    tape.line(4).asked(second)
    if runs_again:
        tape.line(9).ran("stock_level", 150, warehouse="north")
    return frames(tape.stop("repeated call"))[-1].caption


@pytest.mark.parametrize(
    ("warehouse", "runs_again", "said"),
    [
        ("north", False, "The same request came again and was not run."),
        ("north", True, "The same request came again."),
        ("south", False, "The loop saw the same request again."),
    ],
)
def test_a_repeated_call_is_told_as_far_as_it_was_seen(warehouse, runs_again, said):
    caption = repeated_run(ask("stock_level", warehouse=warehouse), runs_again)
    assert caption == f"The run is over: `repeated call`. {said} There is no answer."


def test_the_moves_of_a_watched_step():
    told = frames(mended_run())
    moves = {frame.line - FIRST_LINE + 1: frame.move for frame in told if frame.step == 1}
    assert (moves[4], moves[5], moves[6], moves[9], moves[12]) == ("ask", "record", "check", "act", "record")


def test_a_loop_that_runs_out_of_steps_says_so_at_its_head():
    tape = Tape(max_steps=1).line(2).record(user("How many mugs?")).line(3)
    request = ask("stock_level", warehouse="north")
    tape.line(4).asked(request).line(5).record(request).line(6).line(8).line(9).ran("stock_level", 140)
    tape.line(12).record(tool_entry(140)).line(3).line(13)
    trace = tape.stop("step limit")
    assert caption_of(trace, 3, nth=2) == "There is no further step: 1 of 1 are used."
    assert caption_of(trace, 12).endswith("No further call is made, so the model never reads it.")
    assert frames(trace)[-1].stopped == "step limit"


def test_a_crash_is_shown_on_its_line_with_the_error():
    request = ask("stock_level", warehouse="North")
    tape = Tape().line(2).record(user("goal")).line(3).line(4).asked(request).line(5)
    tape.crash(5, "AttributeError: 'tuple' object has no attribute 'append'")
    trace = tape.stop("crashed")
    crash = frames(trace)[-2]
    assert crash.line == FIRST_LINE + 4
    assert crash.error == "AttributeError: 'tuple' object has no attribute 'append'"
    assert f"Line {FIRST_LINE + 4} raised" in crash.caption
    assert "Nothing caught it" in crash.caption
    assert frames(trace)[-1].line == FIRST_LINE + 4


def test_a_model_that_raised_leaves_a_frame_without_a_reply():
    trace = Tape().line(4).asked(None).crash(4, "OSError: no line").stop("crashed")
    assert [frame.move for frame in frames(trace)] == ["", "ask", "", ""]


def test_an_old_entry_that_was_changed_is_told_and_marked():
    tape = Tape().line(2).history(0, user("a"), user("b")).line(3).history(1, user("c"))
    told = frames(tape.stop("returned"))
    changed = told[2]
    assert changed.new == (1,)
    assert changed.caption == 'Entry 2 of the history is changed: "c".'
    assert list(told[1].history) == [user("a"), user("b")]
    assert list(changed.history) == [user("a"), user("c")]


def test_a_history_that_was_cut_is_told():
    tape = Tape().line(2).history(0, user("a"), user("b"), user("c")).line(3).history(1)
    told = frames(tape.stop("returned"))
    assert told[2].caption == "The history is cut: 2 of 3 entries are gone."
    assert (told[1].entries, told[2].entries) == (3, 1)
    assert list(told[1].history) == [user("a"), user("b"), user("c")]


def test_a_history_that_shrinks_and_grows_again_shows_at_each_frame_what_stood_then():
    tape = Tape().line(2).history(0, user("a"), user("b")).line(3).history(0)
    tape.line(4).history(0, user("x"), user("y"))
    told = frames(tape.stop("returned"))
    assert [list(frame.history) for frame in told[1:4]] == [
        [user("a"), user("b")], [], [user("x"), user("y")],
    ]  # fmt: skip


def test_two_calls_of_tools_on_one_line_give_two_frames():
    both = ask_together(ask("a"), ask("b"))
    tape = Tape().line(4).asked(both).line(9).ran("a", 1).ran("b", 2)
    told = frames(tape.stop("returned"))
    assert [frame.caption for frame in told if frame.move == "act"] == [
        "`a()` runs and gives `1`.", "`b()` runs and gives `2`.",
    ]  # fmt: skip


def test_a_statement_over_several_lines_is_one_frame():
    source = "def run_agent(model, tools, goal, max_steps=10):\n    return {\n        'answer': 1,\n    }\n"
    tape = Tape(source=source).line(2).line(3).line(2)
    lines = [frame.line - FIRST_LINE for frame in frames(tape.stop("returned"))]
    assert lines == [0, 1, 1]


@pytest.mark.parametrize("source", ["", "run = lambda model, tools,", "def broken(:\n  pass"])
def test_a_loop_whose_source_is_not_known_or_not_whole_still_gives_frames(source):
    tape = Tape(source=source).line(2).record(user("goal")).line(3).line(4).asked(answer("x")).line(7)
    told = frames(tape.stop("answered", "x"))
    assert told[-1].stopped == "answered"
    assert any(frame.move == "ask" for frame in told)


# --- values that could do harm ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    ["a`b`c", "<script>alert(1)</script>", "line\nline", "\u202eright to left", "🫖", "\x1b[31m", "\ud800"],
)
def test_any_value_leaves_the_caption_on_one_line_and_its_code_marks_in_pairs(value):
    run = run_agent(ScriptedModel([ask("t", x=value), answer(value)]), {"t": lambda x: x}, value)
    for caption in captions(run.trace):
        assert "\n" not in caption
        assert "\u202e" not in caption
        assert "\x1b" not in caption
        caption.encode("utf-8")
    assert captions(run.trace)[3].count("`") == 2


def test_a_megabyte_is_shortened_in_every_caption():
    big = "x" * 1_000_000
    run = run_agent(ScriptedModel([ask("t", x=big), answer(big)]), {"t": lambda x: x}, big)
    assert max(map(len, captions(run.trace))) < 400


def test_a_result_is_told_whole_where_there_is_room_for_it():
    order = {"order": "2003", "item": "wool scarf", "euros": 25.0, "days_ago": 61, "refunded_euros": 0}
    script = ScriptedModel([ask("look_up"), answer("done")])
    told = frames(run_agent(script, {"look_up": lambda: order}, "Look.").trace)
    assert '"refunded_euros": 0}`. It is now entry 3.' in told[4].caption
