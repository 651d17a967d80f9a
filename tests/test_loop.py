"""The loop: arguments, the four moves, what is recorded and counted, and how a run ends."""

import inspect
import itertools
import json
import sys

import pytest

import agentlib
from agentlib import Run, Trace, answer, ask, ask_together, replay, resume, run_agent, stops, tool
from agentlib.costs import entry_tokens
from agentlib.errors import FatalToolError
from agentlib.messages import read_reply
from agentlib.models import LoopingModel, RecordingModel, RuleModel, ScriptedModel
from agentlib.stops import CoinBudget, Deadline, NoProgress, RepeatedCall, StopReason, TokenBudget, Verdict
from agentlib.watch import watch
from tests.invariants import assert_every_request_answered, assert_json_ready, assert_sound
from tests.odd_values import NoRepr


def look(n: int = 0) -> int:
    """Look."""
    return n


TOOLS = {"look": look}


def interrupt(*_):
    raise KeyboardInterrupt


def stuck():
    """Be interrupted."""
    interrupt()


def scripted(*script, tools=TOOLS, **options):
    """A run with a script in place of a model."""
    return run_agent(ScriptedModel(script), tools, "Goal", **options)


def notes(run):
    return [entry["text"] for entry in run.history[1:] if entry["role"] == "user"]


def results(run):
    return [entry["result"] for entry in run.history if entry["role"] == "tool"]


# --- arguments --------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [0, -1, 2.5, "3", True, None, [3], 3.0, float("nan"), NoRepr()])
def test_max_steps_that_is_no_whole_number_from_1_up_is_refused_before_any_call(wrong):
    model = ScriptedModel([answer("done")])
    with pytest.raises(ValueError, match=r"max_steps is a whole number from 1 up, but was "):
        run_agent(model, TOOLS, "Goal", max_steps=wrong)
    assert model.calls == 0


def test_the_refusal_says_what_came():
    with pytest.raises(ValueError, match=r'but was "3" \(text\)'):
        run_agent(ScriptedModel([]), TOOLS, "Goal", "3")
    with pytest.raises(ValueError, match=r"but was 2\.5 \(float\)"):
        run_agent(ScriptedModel([]), TOOLS, "Goal", 2.5)


@pytest.mark.parametrize("name", ["model", "approve", "memory", "on_event"])
@pytest.mark.parametrize("wrong", ["model", 5, answer("done"), [look]])
def test_what_should_be_a_function_and_is_none_is_refused_before_any_call(name, wrong):
    model = ScriptedModel([answer("done")])
    options = {"model": model, "tools": TOOLS, "goal": "Goal", name: wrong}
    with pytest.raises(TypeError, match=f"{name} is a function, but was"):
        run_agent(**options)
    assert model.calls == 0


def test_a_model_that_is_none_or_async_is_refused():
    async def model(history):
        return answer("done")

    with pytest.raises(TypeError, match="model is a function, but was None"):
        run_agent(None, TOOLS, "Goal")
    with pytest.raises(TypeError, match=r"model is a plain function, but .* is written with `async def`"):
        run_agent(model, TOOLS, "Goal")


@pytest.mark.parametrize("wrong", [None, 5, ["Goal"], b"Goal", {"role": "user", "text": "Goal"}])
def test_a_goal_is_text(wrong):
    with pytest.raises(TypeError, match="goal is text, but was"):
        run_agent(ScriptedModel([answer("done")]), TOOLS, wrong)


def test_an_option_that_does_not_exist_is_refused():
    with pytest.raises(TypeError, match="max_tokens"):
        scripted(answer("done"), max_tokens=5)


def test_the_documented_names_and_defaults_stay():
    parameters = inspect.signature(run_agent).parameters
    assert list(parameters)[:4] == ["model", "tools", "goal", "max_steps"]
    wanted = {"max_steps": 10, "stops": (), "closing_call": False}
    wanted |= {"approve": None, "memory": None, "on_event": None}
    assert {name: parameters[name].default for name in wanted} == wanted
    fields = {"answer", "stopped", "steps", "history", "trace", "usage", "tool_runs", "errors", "coins"}
    assert fields <= set(Run.__dataclass_fields__)


@pytest.mark.parametrize("name", ["run_agent", "ask", "answer", "Run", "stops", "tool", "Trace", "errors"])
def test_the_imports_of_the_course_stay(name):
    assert name in agentlib.__all__
    assert hasattr(agentlib, name)


def test_no_tools_at_all_are_fine():
    for tools in ({}, [], ()):
        assert run_agent(ScriptedModel([answer("done")]), tools, "Goal").answer == "done"


# --- the four moves ---------------------------------------------------------------------------------


def test_a_run_asks_checks_acts_and_records_until_there_is_an_answer():
    run = scripted(ask("look", n=1), ask("look", n=2), answer("3 in all"))
    assert run.history == [
        {"role": "user", "text": "Goal"},
        {"role": "model", "type": "tool", "id": "call_1", "tool": "look", "input": {"n": 1}},
        {"role": "tool", "id": "call_1", "tool": "look", "result": 1},
        {"role": "model", "type": "tool", "id": "call_2", "tool": "look", "input": {"n": 2}},
        {"role": "tool", "id": "call_2", "tool": "look", "result": 2},
        {"role": "model", "type": "answer", "text": "3 in all"},
    ]
    assert (run.answer, run.stopped, run.coins) == ("3 in all", "answered", 1 + 3 + 5)
    assert (run.steps, run.tool_runs, run.errors) == (3, 2, 0)
    assert_sound(run)


def test_several_requests_are_run_in_order_and_each_is_answered_by_its_id():
    several = ask("look", n=1), ask("nobody"), ask("look", n="x"), ask("look", n=2)
    both = ask_together(*several, text="All of it.")
    model = RecordingModel(ScriptedModel([both, answer("done")]))
    run = run_agent(model, TOOLS, "Goal")
    answered = [(entry["id"], entry["tool"]) for entry in run.history[2:6]]
    assert answered == [("1", "look"), ("2", "nobody"), ("3", "look"), ("4", "look")]
    assert [results(run)[0], results(run)[3]] == [1, 2]
    assert [result["error"] for result in results(run)[1:3]] == ["unknown_tool", "invalid_input"]
    assert (run.steps, run.tool_runs, run.errors) == (2, 2, 2)
    assert model.histories[1] == run.history[:6]
    assert run.history[1]["text"] == "All of it."


def test_only_tools_in_the_table_run():
    def secret():
        pytest.fail("this must not run")

    run = scripted(ask("secret"), ask("__import__", name="os"), answer("no"))
    assert [result["error"] for result in results(run)] == ["unknown_tool", "unknown_tool"]
    assert "Tools: look." in results(run)[0]["message"]
    assert (run.tool_runs, run.errors) == (0, 2)


def test_a_run_is_a_record_that_shows_itself_in_a_line():
    run = scripted(answer("done"))
    assert repr(run) == ("Run(answer='done', stopped='answered', steps=1, tool_runs=0, errors=0, entries=2)")
    assert isinstance(run.stopped, StopReason)
    with pytest.raises(AttributeError):
        run.answer = "other"


def test_the_events_of_a_run_come_in_the_order_of_the_loop():
    run = scripted(ask("look"), answer("done"))
    kinds = ["start", "ask", "reply", "act", "result", "ask", "reply", "stop"]
    assert [event.kind for event in run.trace] == kinds


def test_a_watcher_that_leaves_early_leaves_no_request_open():
    for moment in range(1, 12):
        seen = []

        def on_event(event, seen=seen, moment=moment):
            seen.append(event)
            if len(seen) == moment:
                raise GeneratorExit

        run = scripted(*[ask_together(ask("look"), ask("look"))] * 3, on_event=on_event)
        assert_sound(run)
        assert list(run.trace.events[:moment]) == seen


def test_one_model_call_after_the_other_and_not_one_too_many():
    for limit in (1, 2, 3, 10):
        model = RecordingModel(LoopingModel("look"))
        run = run_agent(model, TOOLS, "Goal", limit)
        assert run.stopped == "step limit"
        assert (run.steps, len(model.replies), run.tool_runs) == (limit, limit, limit)


def test_the_default_limit_is_10_steps():
    assert run_agent(LoopingModel("look"), TOOLS, "Goal").steps == 10


def test_an_answer_at_the_very_last_step_is_an_answer():
    script = [ask("look"), ask("look"), answer("done")]
    assert run_agent(ScriptedModel(script), TOOLS, "Goal", 3).stopped == "answered"
    assert run_agent(ScriptedModel(script), TOOLS, "Goal", 2).stopped == "step limit"


# --- replies of the wrong shape ---------------------------------------------------------------------

INVALID = [None, "Hello", 5, [], {}, {"type": "final", "text": "x"}, {"type": "tool", "tool": 5}, object()]


@pytest.mark.parametrize("reply", INVALID)
def test_a_reply_of_the_wrong_shape_is_told_to_the_model_and_counts_as_an_error(reply):
    model = RecordingModel(lambda history: reply if len(history) == 1 else answer("done"))
    run = run_agent(model, TOOLS, "Goal")
    assert run.history[1] == read_reply(reply, 1).entry
    assert run.history[1]["type"] == "invalid"
    assert run.history[2]["role"] == "user"
    assert run.history[2]["text"].startswith("Your reply could not be read. ")
    assert '{"type": "answer", "text": ...}' in run.history[2]["text"]
    assert (run.stopped, run.steps, run.errors, run.tool_runs) == ("answered", 2, 1, 0)
    assert model.histories[1] == run.history[:3]
    assert_sound(run)


def test_a_model_that_never_gives_a_proper_reply_runs_into_the_step_limit():
    run = run_agent(lambda history: "Hello", TOOLS, "Goal", 4)
    assert (run.stopped, run.steps, run.errors, run.answer) == ("step limit", 4, 4, None)
    assert_sound(run)


def test_invalid_replies_count_for_the_limit_of_errors():
    run = run_agent(lambda history: "Hello", TOOLS, "Goal", stops=stops.TooManyErrors(2))
    assert (run.stopped, run.steps) == ("too many errors", 2)


# --- risky tools ------------------------------------------------------------------------------------


def write(text: str) -> str:
    """Write."""
    return f"wrote {text}"


RISKY = [tool(write, risky=True), look]
SCRIPT = [ask_together(ask("write", text="x"), ask("look")), answer("done")]


def test_a_risky_tool_runs_after_a_yes_and_the_person_sees_the_request():
    asked = []

    def approve(call):
        asked.append(json.loads(json.dumps(call)))
        call["input"]["text"] = "changed by the one who was asked"
        return True

    run = scripted(*SCRIPT, tools=RISKY, approve=approve)
    assert asked == [{"id": "1", "tool": "write", "input": {"text": "x"}}]
    assert results(run) == ["wrote x", 0]
    assert run.history[1]["calls"][0]["input"] == {"text": "x"}
    assert (run.tool_runs, run.errors) == (2, 0)


@pytest.mark.parametrize(
    ("approve", "words"),
    [
        (lambda call: False, "said no"),
        (lambda call: None, "said no"),
        (lambda call: 1, "said no"),
        (lambda call: " ", "said no. It was not run."),
        (lambda call: "yes", 'said no, with these words: "yes". It was not run.'),
        (lambda call: "Not before Monday.", 'said no, with these words: "Not before Monday."'),
        (None, "nobody can be asked in this run"),
        (lambda call: 1 / 0, "asking for it failed: ZeroDivisionError: division by zero"),
        (lambda call: exit(3), "asking for it failed: SystemExit: 3"),
    ],
)
def test_only_true_is_a_yes_and_a_no_goes_back_to_the_model(approve, words):
    run = scripted(*SCRIPT, tools=RISKY, approve=approve)
    assert results(run)[0]["error"] == "not_approved"
    assert words in results(run)[0]["message"]
    assert "It was not run." in results(run)[0]["message"]
    assert results(run)[1] == 0
    assert (run.stopped, run.tool_runs, run.errors) == ("answered", 1, 0)
    assert_sound(run)


def test_an_interrupt_while_a_person_is_asked_ends_the_run_and_the_tool_did_not_run():
    run = scripted(*SCRIPT, tools=RISKY, approve=interrupt)
    assert (run.stopped, run.tool_runs, run.errors) == ("cancelled", 0, 0)
    assert [result["error"] for result in results(run)] == ["not_run", "not_run"]
    assert_sound(run)


def test_a_tool_that_is_not_risky_is_not_asked_about():
    run = scripted(ask("look"), answer("done"), tools=RISKY, approve=pytest.fail)
    assert results(run) == [0]


def test_the_same_refusal_again_and_again_is_a_repeated_call():
    run = run_agent(LoopingModel("write", text="x"), RISKY, "Goal", stops=RepeatedCall(3))
    assert (run.stopped, run.steps, run.tool_runs) == ("repeated call", 3, 0)


# --- errors that no model can mend ------------------------------------------------------------------


def test_a_fatal_error_ends_the_run_at_once_with_its_words():
    def pay():
        """Pay."""
        raise FatalToolError("The key is wrong.")

    script = [ask_together(ask("look"), ask("pay"), ask("look")), answer("never")]
    run = scripted(*script, tools=[look, pay])
    assert (run.stopped, run.stopped.detail) == ("fatal error", "The key is wrong.")
    assert (run.steps, run.tool_runs, run.errors) == (1, 2, 1)
    assert results(run)[1] == {"error": "fatal", "message": "The key is wrong."}
    assert results(run)[2]["error"] == "not_run"
    assert_sound(run)


# --- interrupts -------------------------------------------------------------------------------------


def test_an_interrupt_in_a_tool_ends_the_run_and_every_request_still_gets_a_result():
    run = scripted(ask_together(ask("look"), ask("stuck"), ask("look")), tools=[look, stuck])
    assert (run.stopped, run.steps, run.answer) == ("cancelled", 1, None)
    assert [r if r == 0 else r["error"] for r in results(run)] == [0, "not_finished", "not_run"]
    assert "begun and not finished" in results(run)[1]["message"]
    assert (run.tool_runs, run.errors) == (2, 1)
    assert_sound(run)


def test_an_interrupt_in_the_model_ends_the_run_with_the_work_so_far():
    def model(history):
        return ask("look") if len(history) == 1 else interrupt()

    run = run_agent(model, TOOLS, "Goal")
    assert (run.stopped, run.steps, run.tool_runs) == ("cancelled", 2, 1)
    assert run.stopped.detail == "the program was interrupted"
    assert_sound(run)


@pytest.mark.parametrize("kind", ["start", "ask", "reply", "act", "result", "note"])
def test_an_interrupt_in_a_watcher_ends_the_run_in_order(kind):
    def on_event(event):
        if event.kind == kind:
            raise KeyboardInterrupt

    script = [answer(""), ask_together(ask("look"), ask("look")), answer("done")]
    run = run_agent(ScriptedModel(script), TOOLS, "Goal", on_event=on_event)
    assert run.stopped == "cancelled"
    assert_sound(run)


@pytest.mark.parametrize("late", [SystemExit(), KeyboardInterrupt()])
def test_what_no_end_in_order_can_be_made_of_is_raised_and_not_tried_for_ever(late):
    raised = []

    def clock():
        if clock.breaks and len(raised) < 50:
            raised.append(late)
            raise late
        return 0.0

    def model(history):
        clock.breaks = True
        return answer("Seen.")

    clock.breaks = False
    if isinstance(late, KeyboardInterrupt):  # somebody who presses Ctrl-C again and again
        assert run_agent(model, TOOLS, "Goal", clock=clock).stopped == "cancelled"
        assert len(raised) == 50
    else:
        with pytest.raises(SystemExit):
            run_agent(model, TOOLS, "Goal", clock=clock)
        assert len(raised) == 2


def test_an_interrupt_at_the_closing_call_ends_the_run_as_cancelled():
    def model(history):
        if history[-1]["role"] == "user" and len(history) > 1:
            raise KeyboardInterrupt
        return ask("look")

    run = run_agent(model, TOOLS, "Goal", 2, closing_call=True)
    assert (run.stopped, run.steps, run.answer, run.closing) == ("cancelled", 3, None, False)
    assert_sound(run)


LAST_LINES = {"_finish", "_record_not_run", "_unanswered", "_record", "_happened"}


def test_an_interrupt_in_the_very_last_lines_ends_the_run_in_order():
    def run_interrupted_at(number):
        """Run with an interrupt at one of the last lines; the run, or None if there are fewer lines."""
        seen = 0

        def trace(frame, event, arg):
            nonlocal seen
            if event == "call":
                return trace if frame.f_code.co_name in LAST_LINES else None
            if event == "line":
                seen += 1
                if seen == number:
                    raise KeyboardInterrupt
            return trace

        model = ScriptedModel([ask_together(ask("look"), ask("look"))])
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            run = run_agent(model, TOOLS, "Goal", on_event=lambda event: event.kind == "act" and 1 / 0)
        finally:
            sys.settrace(before)
        return run if seen >= number else None

    for number in itertools.count(1):
        run = run_interrupted_at(number)
        if run is None:
            break
        assert_every_request_answered(run.history)
        assert run.stopped == run.trace.stopped
        assert run.stopped in ("cancelled", "fatal error")
    assert number > 50


# --- watchers ---------------------------------------------------------------------------------------


def test_a_watcher_sees_every_event_in_order():
    seen = []
    run = scripted(ask("look"), answer("done"), on_event=seen.append)
    assert tuple(seen) == run.trace.events


@pytest.mark.parametrize("problem", [ValueError("no screen"), SystemExit("no screen")])
def test_a_watcher_that_raises_ends_the_run_with_its_words_and_is_not_asked_again(problem):
    seen = []

    def on_event(event):
        seen.append(event)
        if event.kind == "reply":
            raise problem

    script = [ask_together(ask("look"), ask("look")), answer("done")]
    run = run_agent(ScriptedModel(script), TOOLS, "Goal", on_event=on_event)
    assert (run.stopped, run.tool_runs, len(seen)) == ("fatal error", 0, 3)
    assert run.stopped.detail.endswith("no screen")
    assert [result["error"] for result in results(run)] == ["not_run", "not_run"]
    assert_sound(run)


def test_a_watcher_that_raises_at_the_very_end_takes_no_answer_away():
    def on_event(event):
        if event.kind == "stop":
            raise ValueError("no screen")

    run = scripted(answer("done"), on_event=on_event)
    assert (run.answer, run.stopped) == ("done", "answered")
    assert run.stopped.detail == "on_event raised at the very end: no screen"
    assert_sound(run)


def test_a_watcher_that_raises_while_a_run_is_being_interrupted_does_not_stop_it_from_ending():
    def on_event(event):
        if event.kind == "result":
            raise KeyboardInterrupt

    run = scripted(ask("stuck"), tools=[stuck], on_event=on_event)
    assert (run.stopped, results(run)[0]["error"]) == ("cancelled", "not_finished")
    assert_sound(run)


# --- memory -----------------------------------------------------------------------------------------


def test_the_model_reads_what_memory_gives_and_the_whole_history_is_kept():
    model = RecordingModel(ScriptedModel([ask("look", n=1), ask("look", n=2), answer("done")]))
    run = run_agent(model, TOOLS, "Goal", memory=lambda history: [history[0], *history[1:][-2:]])
    assert [len(seen) for seen in model.histories] == [1, 3, 3]
    assert len(run.history) == 6
    assert model.histories[2] == [run.history[0], *run.history[3:5]]
    assert run.trace.histories() == model.histories
    assert run.coins == sum(len(seen) for seen in model.histories)


def test_memory_can_change_neither_the_record_nor_be_changed_by_the_model():
    summary = {"role": "user", "text": "Summary", "facts": ["one"]}

    def memory(history):
        history[0]["text"] = "changed by memory"
        history.clear()
        return [summary]

    def model(history):
        history[0]["facts"].append("changed by the model")
        history.append("changed by the model")
        return ask("look") if summary["facts"] == ["one"] else answer("done")

    run = run_agent(model, TOOLS, "Goal", 3, memory=memory)
    assert (run.stopped, summary["facts"]) == ("step limit", ["one"])
    assert run.history[0] == {"role": "user", "text": "Goal"}
    assert run.trace.histories() == [[summary]] * 3


@pytest.mark.parametrize(
    ("memory", "words"),
    [
        (lambda history: None, "memory gives a list of history entries, but gave None"),
        (lambda history: "all of it", "memory gives a list of history entries"),
        (lambda history: [1], "memory gives a list of history entries"),
        (lambda history: tuple(history), "memory gives a list of history entries"),
        (lambda history: [{"role": "user", "text": {1}}], "ready for JSON, but a set became a list"),
        (lambda history: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda history: exit(3), "SystemExit: 3"),
    ],
)
def test_memory_that_goes_wrong_ends_the_run_with_its_words(memory, words):
    model = ScriptedModel([answer("done")])
    run = run_agent(model, TOOLS, "Goal", memory=memory)
    assert (run.stopped, run.steps, model.calls) == ("fatal error", 0, 0)
    assert words in run.stopped.detail
    assert_sound(run)


def test_budgets_count_what_memory_leaves_to_read():
    def forget(history):
        return history[:1]

    run = run_agent(LoopingModel("look"), TOOLS, "Goal", 50, memory=forget, stops=CoinBudget(7))
    assert (run.stopped, run.steps, run.coins) == ("coin budget", 7, 7)


# --- the closing call -------------------------------------------------------------------------------


def closes_when_told(history):
    told = history[-1]["role"] == "user" and len(history) > 1
    return answer(f"Known: {len(history)} entries.") if told else ask("look")


def test_a_closing_call_gives_an_answer_after_the_step_limit_and_the_reason_stays():
    model = RecordingModel(closes_when_told)
    run = run_agent(model, TOOLS, "Goal", 2, closing_call=True)
    assert (run.answer, run.stopped, run.closing) == ("Known: 6 entries.", "step limit", True)
    assert (run.steps, len(model.replies), run.coins) == (3, 3, 1 + 3 + 6)
    assert "No more tools can be used" in run.history[-2]["text"]
    assert run.history[-1] == {**answer("Known: 6 entries."), "role": "model", "closing": True}
    assert_sound(run)


@pytest.mark.parametrize(
    "rule", [NoProgress(1), RepeatedCall(2), stops.TooManyErrors(1), RepeatedCall(2, then="note")]
)
def test_a_closing_call_follows_every_stop_that_leaves_room_for_it(rule):
    def model(history):
        return answer("closed") if "No more tools" in history[-1].get("text", "") else ask("nobody")

    run = run_agent(model, TOOLS, "Goal", stops=rule, closing_call=True)
    assert (run.answer, run.closing, run.stopped != "answered") == ("closed", True, True)
    assert_sound(run)


class OwnLimit(stops.StopRule):
    """Ends a run after one step, at the moment that is named."""

    def __init__(self, moment, allows_closing):
        self.moment, self.allows_closing = moment, allows_closing

    def before_call(self, run):
        return "own" if self.moment == "before_call" and run.steps else None

    def on_request(self, calls):
        return Verdict(frozenset(), StopReason("own")) if self.moment == "on_request" else None

    def before_tool(self, run):
        return "own" if self.moment == "before_tool" else None


@pytest.mark.parametrize("made", [True, False])
@pytest.mark.parametrize("moment", ["before_call", "on_request", "before_tool"])
def test_a_rule_of_ones_own_says_itself_whether_a_closing_call_follows(moment, made):
    run = run_agent(closes_when_told, TOOLS, "Goal", stops=OwnLimit(moment, made), closing_call=True)
    assert (run.stopped, run.closing, run.steps) == ("own", made, 1 + made)
    again = replay(run.trace, stops=OwnLimit(moment, made), closing_call=True)
    assert (again.trace, again.closing) == (run.trace, made)
    assert resume(run.trace, closes_when_told, TOOLS).closing == made
    assert_sound(run, ["own"])


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"stops": CoinBudget(4)}, "coin budget"),
        ({"stops": TokenBudget(10)}, "token budget"),
        ({"stops": Deadline(1), "clock": iter(range(99)).__next__}, "deadline"),
        ({"stops": stops.ToolCalled("look")}, "tool called"),
        ({"stops": lambda run: "own" if run.steps else None}, "own"),
    ],
)
def test_a_budget_a_deadline_and_a_rule_of_ones_own_leave_no_room_for_a_closing_call(options, reason):
    run = run_agent(closes_when_told, TOOLS, "Goal", closing_call=True, **options)
    assert (run.stopped, run.answer, run.closing) == (reason, None, False)


@pytest.mark.parametrize(
    ("rule", "made"),
    [(CoinBudget(10), True), (CoinBudget(9), False), (TokenBudget(37), True), (TokenBudget(36), False)],
)
def test_a_closing_call_that_would_break_a_budget_is_not_made_and_its_note_counts(rule, made):
    free = run_agent(closes_when_told, TOOLS, "Goal", 2, closing_call=True)
    assert free.coins == 1 + 3 + 6
    written_last = entry_tokens(free.history[-1])
    assert free.usage.total_tokens - written_last == 37
    run = run_agent(closes_when_told, TOOLS, "Goal", 2, closing_call=True, stops=rule)
    assert (run.stopped, run.closing) == ("step limit", made)
    assert (run.steps, len(run.history)) == ((3, 7) if made else (2, 5))


@pytest.mark.parametrize(
    "last",
    [ask("look"), ask_together(ask("look"), ask("look")), answer(""), "Hello", None],
    ids=["a request", "two requests", "a blank", "text", "nothing"],
)
def test_a_closing_call_that_brings_no_answer_leaves_none_and_runs_no_tool(last):
    model = ScriptedModel([ask("look"), last, "never asked for"])
    run = run_agent(model, TOOLS, "Goal", 1, closing_call=True)
    assert (run.stopped, run.answer, run.closing) == ("step limit", None, False)
    assert (run.steps, run.tool_runs) == (2, 1)
    assert run.trace.replies()[1]["closing"]
    assert_sound(run)


def test_a_closing_call_that_fails_leaves_the_reason_and_a_note():
    run = scripted(ask("look"), max_steps=1, closing_call=True)
    assert (run.stopped, run.answer, run.steps) == ("step limit", None, 2)
    assert run.history[-1]["text"].startswith("The closing call failed: ")
    assert_sound(run)


def test_an_answered_run_needs_no_closing_call():
    run = scripted(answer("done"), closing_call=True)
    assert (run.steps, run.closing) == (1, False)


# --- saved, loaded, replayed ------------------------------------------------------------------------

RUNS = {
    "answered": lambda: scripted(ask("look"), answer("done")),
    "invalid replies": lambda: scripted(None, {"type": "x"}, answer("done")),
    "blank replies": lambda: scripted(answer(""), ask("look"), answer(""), answer(" ")),
    "wrong requests": lambda: scripted(
        {"tool": "look"}, ask("look", n="x"), {"type": "x", "tool": "no"}, ask("look", n=3)
    ),
    "a step limit": lambda: run_agent(LoopingModel("look"), TOOLS, "Goal", 3),
    "a refusal": lambda: scripted(*SCRIPT, tools=RISKY, approve=lambda call: False),
    "a yes": lambda: scripted(*SCRIPT, tools=RISKY, approve=lambda call: True),
    "an error of the tool's own": lambda: scripted(
        ask("own"), answer("done"), tools={"own": lambda: {"error": "no", "hint": "yes"}}
    ),
    "an odd result": lambda: scripted(ask("odd"), answer("done"), tools={"odd": lambda: {1, 2}}),
    "a long result": lambda: scripted(ask("long"), answer("done"), tools={"long": lambda: "x" * 50_000}),
    "an interrupt in the model": lambda: run_agent(
        RuleModel(lambda history: ask("look") if len(history) == 1 else interrupt()), TOOLS, "Goal"
    ),
    "an interrupt in a tool": lambda: scripted(
        ask_together(ask("look"), ask("stuck"), ask("look")), tools={**TOOLS, "stuck": interrupt}
    ),
    "a function of ones own": lambda: run_agent(
        LoopingModel("look"), TOOLS, "Goal", stops=lambda run: "enough" if run.steps == 3 else None
    ),
    "a deadline between two tools": lambda: scripted(
        ask_together(ask("look"), ask("look")), stops=Deadline(6), clock=iter(range(99)).__next__
    ),
    "a model error": lambda: scripted(ask("look")),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_can_be_saved_loaded_and_replayed_without_model_tools_and_people(name, tmp_path):
    run = RUNS[name]()
    assert_sound(run, ["enough"])
    loaded = Trace.load(run.trace.save(tmp_path / "run.jsonl"))
    again = replay(loaded)
    assert again.trace == loaded == run.trace
    assert (again.history, again.stopped) == (run.history, run.stopped)
    assert (again.steps, again.tool_runs, again.errors) == (run.steps, run.tool_runs, run.errors)


def test_a_run_of_200_steps_ends_and_its_history_is_ready_for_json():
    run = run_agent(LoopingModel("look", n=1), TOOLS, "Goal", 200)
    assert (run.steps, len(run.history)) == (200, 401)
    assert_json_ready(run.history)


@pytest.mark.parametrize("where", ["stops", "memory", "on_event"])
def test_a_generator_exit_of_a_rule_or_a_watcher_ends_the_run_in_order(where):
    def leaves(*_):
        raise GeneratorExit("gone")

    options = {where: leaves if where != "stops" else [leaves]}
    run = run_agent(ScriptedModel([answer("42")]), {}, "Goal", **options)
    assert (run.stopped, run.stopped.detail) == ("fatal error", "GeneratorExit: gone")
    assert run.trace.stopped == "fatal error"


def test_a_replay_of_a_watched_loop_without_a_limit_runs():
    def loop(model, tools, goal):
        return model([{"role": "user", "text": goal}])

    trace = watch(loop, ScriptedModel([answer("42")]), {}, "Goal")
    assert replay(trace).answer == "42"
