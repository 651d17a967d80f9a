"""F2: ids are matched within the reply they belong to; missing or doubled ones are made unique."""

import pytest

from agentlib import answer, ask, run_agent
from agentlib.models import LoopingModel, ScriptedModel
from tests.invariants import assert_sound


def look(n: int) -> str:
    """Look."""
    return f"shelf {n}"


def batch(*ids, first=1):
    calls = [{"id": name, "tool": "look", "input": {"n": n}} for n, name in enumerate(ids, start=first)]
    return {"type": "tools", "calls": calls}


def pairs(run):
    """Each reply's ids with the results that stand at once after it."""
    found = []
    for entry in run.history:
        if entry["role"] == "model" and entry["type"] in ("tool", "tools"):
            found.append([])
        elif entry["role"] == "tool":
            found[-1].append((entry["id"], entry["result"]))
    return found


def test_a_model_may_use_the_same_id_in_every_reply():
    script = [{**ask("look", n=n), "id": "call_1"} for n in (1, 2, 3)]
    run = run_agent(ScriptedModel([*script, answer("done")]), [look], "Goal")
    assert pairs(run) == [[("call_1", f"shelf {n}")] for n in (1, 2, 3)]
    assert_sound(run)


def test_a_batch_may_use_the_ids_of_the_batch_before_in_another_order():
    run = run_agent(
        ScriptedModel([batch("a", "b"), batch("b", "a", first=3), answer("done")]), [look], "Goal"
    )
    assert pairs(run) == [[("a", "shelf 1"), ("b", "shelf 2")], [("b", "shelf 3"), ("a", "shelf 4")]]
    assert_sound(run)


@pytest.mark.parametrize(
    "ids", [("a", "a"), ("a", "b", "a"), ("", ""), (None, None, None), (1, 1), ("call_1_2", "x", "call_1_2")]
)
def test_doubled_or_missing_ids_inside_one_reply_are_made_unique_and_nothing_is_left_unanswered(ids):
    run = run_agent(ScriptedModel([batch(*ids), answer("done")]), [look], "Goal")
    (found,) = pairs(run)
    assert [result for _, result in found] == [f"shelf {n}" for n in range(1, len(ids) + 1)]
    assert len({name for name, _ in found}) == len(ids)
    assert_sound(run)


def test_a_request_stopped_in_a_later_reply_is_not_taken_for_answered_because_an_earlier_one_had_its_id():
    def stuck(n: int):
        """Look, and be interrupted at shelf 4."""
        if n == 4:
            raise KeyboardInterrupt
        return look(n)

    script = [batch("a", "b"), batch("a", "b", "c", first=3)]
    run = run_agent(ScriptedModel(script), {"look": stuck}, "Goal")
    assert [name for name, _ in pairs(run)[1]] == ["a", "b", "c"]
    assert [result["error"] for _, result in pairs(run)[1][1:]] == ["not_finished", "not_run"]
    assert_sound(run)


def test_requests_without_ids_get_another_one_at_each_step():
    run = run_agent(LoopingModel("look", n=1), [look], "Goal", 3)
    assert [name for reply in pairs(run) for name, _ in reply] == ["call_1", "call_2", "call_3"]
