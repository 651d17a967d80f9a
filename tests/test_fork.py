"""What if: a run is run again with one reply or one result changed."""

import pytest

from agentlib import answer, ask, compare, run_agent
from agentlib.labs import blue_mugs
from agentlib.models import RecordingModel, RuleModel, ScriptedModel
from agentlib.watch import ForkError, fork, watch
from agentlib.watch.what_if import read_change
from tests.handwritten import run_agent as loop


def mugs():
    return watch(loop, blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL, max_steps=10)


def forked(trace, at_step, **change):
    return fork(loop, blue_mugs.model, blue_mugs.TOOLS, blue_mugs.GOAL, trace, at_step, **change)


def reading():
    """A model that adds up what it has read, so that a changed result changes what it says."""

    def more(history):
        results = [entry["result"] for entry in history if entry.get("role") == "tool"]
        if len(results) < 2:
            return ask("draw", number=len(results))
        return answer(f"{sum(results)}")

    return RuleModel(more)


def test_the_run_is_the_same_up_to_the_change_and_differs_from_there():
    trace = mugs()
    other = forked(trace, 3, result={"warehouse": "south", "blue_mugs": 999})
    assert compare(trace, other)[0].step == 3
    assert other.history_after(len(other))[:6] == trace.history_after(len(trace))[:6]
    assert other.history_after(len(other))[6]["result"]["blue_mugs"] == 999


def test_the_model_goes_on_from_what_it_reads_now():
    trace = watch(loop, reading(), {"draw": lambda number: 10}, "goal", max_steps=5)
    assert trace.answer == "20"
    other = fork(loop, reading, {"draw": lambda number: 10}, "goal", trace, 1, result=5)
    assert other.answer == "15"


def test_an_error_that_a_tool_returned_is_returned_again_and_not_raised():
    closed = {"error": "closed", "opens": "9:00"}
    tools = {"draw": lambda number: 10 if number else closed}
    script = [ask("draw", number=0), ask("draw", number=1), answer("done")]
    trace = watch(loop, ScriptedModel(script), tools, "goal", max_steps=5)
    other = fork(loop, lambda: ScriptedModel(script), tools, "goal", trace, 2, result=5)
    results = [event.entry["result"] for event in other if event.kind == "result"]
    assert (results, other.stopped) == ([closed, 5], "answered")


def test_a_changed_reply_is_given_in_its_step():
    other = forked(mugs(), 2, reply=answer("I give up."))
    assert (other.steps, other.answer, other.stopped) == (2, "I give up.", "answered")


def test_a_fork_that_changes_nothing_gives_the_same_run_errors_included():
    trace = mugs()
    (first, *_) = trace.replies()
    assert compare(trace, forked(trace, 1, reply=first)) == []


def test_before_the_change_no_tool_runs_again():
    runs = []

    def draw(number):
        runs.append(number)
        return 10

    trace = watch(loop, reading(), {"draw": draw}, "goal", max_steps=5)
    runs.clear()
    fork(loop, reading, {"draw": draw}, "goal", trace, 2, result=1)
    assert runs == []
    fork(loop, reading, {"draw": draw}, "goal", trace, 1, result=1)
    assert runs == [1]


def test_a_changed_reply_that_asks_for_a_tool_runs_that_tool():
    runs = []

    def draw(number):
        runs.append(number)
        return 10

    trace = watch(loop, reading(), {"draw": draw}, "goal", max_steps=5)
    runs.clear()
    other = fork(loop, reading, {"draw": draw}, "goal", trace, 2, reply=ask("draw", number=77))
    assert runs == [77]
    assert other.answer == "20"


def test_the_fresh_model_is_asked_along_so_that_it_knows_where_it_is():
    made = []

    def make_model():
        made.append(RecordingModel(blue_mugs.model()))
        return made[-1]

    fork(loop, make_model, blue_mugs.TOOLS, blue_mugs.GOAL, mugs(), 3, result=0)
    assert len(made[0].histories) == 4


def test_a_run_of_agentlibs_own_loop_is_forked_with_it():
    trace = run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL).trace
    other = fork(run_agent, blue_mugs.model, blue_mugs.TOOLS, blue_mugs.GOAL, trace, 2, result=7)
    assert not other.watched
    assert compare(trace, other)[0].step == 2
    with pytest.raises(ForkError, match="forked with agentlib's run_agent"):
        fork(loop, blue_mugs.model, blue_mugs.TOOLS, blue_mugs.GOAL, trace, 2, result=7)


def test_a_tool_that_gave_none_can_be_the_change():
    other = forked(mugs(), 2, result=None)
    assert other.history_after(len(other))[4]["result"] is None


def test_max_steps_stays_as_it_was_unless_it_is_given():
    trace = watch(loop, blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL, max_steps=2)
    assert forked(trace, 1, result=1).stopped == "step limit"
    assert forked(trace, 1, result=1, max_steps=4).stopped == "answered"


@pytest.mark.parametrize("change", [{}, {"reply": answer("x"), "result": 1}])
def test_exactly_one_thing_is_changed(change):
    with pytest.raises(ForkError, match="A fork changes one thing"):
        forked(mugs(), 1, **change)


def test_a_step_or_a_result_that_is_not_there_is_refused_in_words():
    with pytest.raises(ForkError, match="The run has 4 steps with a reply, so there is no step 5"):
        forked(mugs(), 5, reply=answer("x"))
    with pytest.raises(ForkError, match="Step 4 has 0 tool results"):
        forked(mugs(), 4, result=1)
    with pytest.raises(ForkError, match="so there is no result 1"):
        forked(mugs(), 1, result=1, call=1)
    with pytest.raises(ValueError, match="at_step is a whole number from 1 up"):
        forked(mugs(), 0, result=1)


def test_the_tools_stay_what_they_were_a_dict_a_list_or_a_tuple():
    def stock_level(warehouse: str) -> int:
        return 1

    trace = run_agent(
        ScriptedModel([ask("stock_level", warehouse="a"), answer("x")]), [stock_level], "g"
    ).trace

    def make_model():
        return ScriptedModel([ask("stock_level", warehouse="a"), answer("x")])

    for tools in ([stock_level], (stock_level,), {"stock_level": stock_level}):
        assert fork(run_agent, make_model, tools, "g", trace, 1, result=5).stopped == "answered"


def test_what_is_typed_into_the_form_is_read_or_refused_in_words():
    assert read_change("result", '{"a": [1, null]}') == {"a": [1, None]}
    assert read_change("reply", '{"type": "answer", "text": "x"}') == answer("x")
    with pytest.raises(ForkError, match=r"This is no JSON: .* line 1 column 2"):
        read_change("result", "{a: 1}")
    with pytest.raises(ForkError, match=r'This is no reply\. "type" must be "answer", "tool" or "tools"'):
        read_change("reply", '{"type": "dance"}')
    with pytest.raises(ForkError, match='a "reply" or a "result"'):
        read_change("tool", "1")
