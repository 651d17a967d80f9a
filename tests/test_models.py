"""The stand-ins for a language model: free, offline, and the same at every run."""

import random
from collections import Counter

import pytest

from agentlib import answer, ask, run_agent
from agentlib.errors import ReplayError, ScriptExhausted
from agentlib.messages import user
from agentlib.models import LoopingModel, NoisyModel, RecordingModel, ReplayModel, RuleModel, ScriptedModel

GOAL = [user("Goal")]


def test_a_script_is_given_one_reply_a_call_and_then_raises_instead_of_ending_quietly():
    model = ScriptedModel([ask("look"), answer("done")])
    assert (model(GOAL), model([])) == (ask("look"), answer("done"))
    assert repr(model) == "ScriptedModel(2 of 2 replies given)"
    words = r"has 2 replies and was asked for number 3.*fresh model"
    with pytest.raises(ScriptExhausted, match=words) as raised:
        model(GOAL)
    assert raised.value.replies == 2


def test_a_script_that_runs_out_ends_a_run_as_a_model_error_with_the_work_so_far():
    run = run_agent(ScriptedModel([ask("look")]), {"look": lambda: 1}, "Goal")
    assert (run.stopped, run.steps, run.tool_runs, run.answer) == ("model error", 2, 1, None)
    assert "asked for number 2" in run.stopped.detail


@pytest.mark.parametrize(
    "make", [lambda: ScriptedModel([ask("look", at=[1])] * 2), lambda: LoopingModel("look", at=[1])]
)
def test_each_reply_is_a_fresh_copy(make):
    model = make()
    first = model(GOAL)
    first["input"]["at"].append(2)
    first["role"] = "model"
    assert model(GOAL) == ask("look", at=[1])


def test_a_looping_model_asks_the_same_for_ever():
    model = LoopingModel("look", tool="a", at=1)
    assert [model(GOAL) for _ in range(3)] == [
        {"type": "tool", "tool": "look", "input": {"tool": "a", "at": 1}}
    ] * 3


def test_the_first_rule_with_a_reply_decides():
    model = RuleModel(
        lambda history: answer("long") if len(history) > 3 else None,
        lambda history: ask("look"),
        lambda history: answer("never"),
    )
    assert model(GOAL) == ask("look")
    assert model(GOAL * 4) == answer("long")


def test_rules_that_have_no_reply_raise_and_say_how_many_there_were():
    with pytest.raises(ValueError, match="None of the 2 rules has a reply after 1 entries"):
        RuleModel(lambda history: None, lambda history: None)(GOAL)


def test_a_noisy_model_takes_several_paths_and_the_same_ones_with_the_same_seed():
    def path(seed):
        model = NoisyModel([lambda h: "a", lambda h: "b"], random.Random(seed))
        return "".join(model(GOAL) for _ in range(20))

    assert path(1) == path(1) != path(2)
    assert set(path(1)) == {"a", "b"}


def test_the_weights_of_a_noisy_model_are_relative():
    model = NoisyModel([lambda h: "often", lambda h: "never"], random.Random(3), weights=[5, 0])
    assert Counter(model(GOAL) for _ in range(20)) == {"often": 20}


def test_a_noisy_model_of_no_models_is_refused():
    with pytest.raises(ValueError, match="at least one model"):
        NoisyModel([], random.Random(3))


def test_a_recording_model_keeps_what_was_seen_and_said_even_if_both_are_changed_later():
    model = RecordingModel(ScriptedModel([ask("look", at=[1])]))
    history = [user("Goal")]
    reply = model(history)
    history.append("changed")
    reply["input"]["at"].append("changed")
    assert (model.histories, model.replies) == ([[user("Goal")]], [ask("look", at=[1])])


def test_a_replay_gives_the_recorded_replies_and_refuses_what_was_not_recorded():
    model = ReplayModel([ask("look"), answer("done")], [1, 3])
    assert model(GOAL) == ask("look")
    with pytest.raises(ReplayError, match="model call 2 read another history") as raised:
        model(GOAL * 2)
    assert (raised.value.expected, raised.value.got) == ("3 entries", "2 entries")
    assert model(GOAL * 3) == answer("done")
    with pytest.raises(ReplayError, match="one more model call came"):
        model(GOAL * 4)


def test_a_replay_of_a_run_that_ended_in_the_model_ends_there_again():
    with pytest.raises(TimeoutError, match="no line"):
        ReplayModel([], [], ended_with=TimeoutError("no line"))(GOAL)


def test_replies_and_lengths_that_do_not_pair_up_are_refused():
    with pytest.raises(ValueError, match="2 replies and 1 lengths"):
        ReplayModel([1, 2], [1])
