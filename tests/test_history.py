"""The record of a run, and the view of it that a model may keep and change."""

import copy
import json
import pickle
import random

import pytest

from agentlib import answer, ask, ask_together, run_agent
from agentlib._history import History
from agentlib.messages import user
from agentlib.models import RecordingModel, ScriptedModel

ENTRIES = [
    user("Goal"),
    {**ask_together({**ask("look", at=[1, {"n": 2}]), "id": "1"}), "role": "model"},
    {"role": "tool", "id": "1", "tool": "look", "result": [{"deep": [1, 2, 3]}, "text"]},
]


def filled() -> History:
    history = History()
    for entry in copy.deepcopy(ENTRIES):
        history.add(entry, 1)
    return history


def test_the_view_equals_the_record_and_is_another_object_at_every_level():
    history = filled()
    view = history.view()
    assert view == history.entries == ENTRIES
    assert view is not history.entries
    assert view[2]["result"][0]["deep"] is not history.entries[2]["result"][0]["deep"]


def test_the_tokens_of_the_entries_add_up():
    assert filled().tokens == 3


def test_an_entry_looks_like_a_plain_dict_to_everything_that_reads_it():
    view = filled().view()
    assert isinstance(view, list)
    assert isinstance(view[1], dict)
    assert repr(view) == repr(ENTRIES)
    assert json.dumps(view) == json.dumps(ENTRIES)
    assert pickle.loads(pickle.dumps(view)) == ENTRIES
    assert {**view[0], "more": 1} == {"role": "user", "text": "Goal", "more": 1}
    match view[2]:
        case {"role": "tool", "result": [{"deep": [1, *_]}, str(text)]}:
            assert text == "text"
        case _:
            pytest.fail("an entry does not match the pattern that it should")


@pytest.mark.parametrize("take", [copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v)), list])
def test_a_copy_of_the_view_may_be_changed_without_a_trace_in_the_next_view(take):
    history = filled()
    taken = take(history.view())
    taken[2]["result"][0]["deep"].append("changed")
    taken.append("changed")
    assert history.view() == history.entries == ENTRIES


DICT_CHANGES = {
    "set": lambda d: d.__setitem__("new", 1),
    "delete": lambda d: d.__delitem__(next(iter(d))),
    "or": lambda d: d.__ior__({"new": 1}),
    "clear": lambda d: d.clear(),
    "pop": lambda d: d.pop(next(iter(d))),
    "popitem": lambda d: d.popitem(),
    "setdefault": lambda d: d.setdefault("new", 1),
    "update": lambda d: d.update(new=1),
}
LIST_CHANGES = {
    "set": lambda v: v.__setitem__(0, "new"),
    "set slice": lambda v: v.__setitem__(slice(0, 1), []),
    "delete": lambda v: v.__delitem__(0),
    "add": lambda v: v.__iadd__([1]),
    "times": lambda v: v.__imul__(2),
    "append": lambda v: v.append(1),
    "clear": lambda v: v.clear(),
    "extend": lambda v: v.extend([1]),
    "insert": lambda v: v.insert(0, 1),
    "pop": lambda v: v.pop(),
    "remove": lambda v: v.remove(v[0]),
    "reverse": lambda v: v.reverse(),
    "sort": lambda v: v.sort(key=lambda item: -1 if item == 3 else 0),
    "shuffle": lambda v: random.Random(3).shuffle(v),
}
DICTS = {
    "an entry": lambda view: view[1],
    "a call": lambda view: view[1]["calls"][0],
    "an input": lambda view: view[1]["calls"][0]["input"],
    "a dict in a list of an input": lambda view: view[1]["calls"][0]["input"]["at"][1],
    "a dict in a result": lambda view: view[2]["result"][0],
}
LISTS = {
    "the history": lambda view: view,
    "the calls": lambda view: view[1]["calls"],
    "a list in an input": lambda view: view[1]["calls"][0]["input"]["at"],
    "a list in a result": lambda view: view[2]["result"][0]["deep"],
}


@pytest.mark.parametrize(
    ("where", "change"),
    [
        *[pytest.param(w, c, id=f"{wn}, {cn}") for wn, w in DICTS.items() for cn, c in DICT_CHANGES.items()],
        *[pytest.param(w, c, id=f"{wn}, {cn}") for wn, w in LISTS.items() for cn, c in LIST_CHANGES.items()],
    ],
)
def test_no_change_of_a_view_reaches_the_record_or_the_next_view(where, change):
    history = filled()
    view = history.view()
    change(where(view))
    assert history.entries == ENTRIES
    assert history.view() == ENTRIES
    history.add(user("more"), 1)
    assert history.view() == [*ENTRIES, user("more")]


def test_a_view_that_was_kept_does_not_grow_with_the_history():
    history = filled()
    kept = history.view()
    history.add(user("more"), 1)
    assert history.view() == [*ENTRIES, user("more")]
    assert kept == ENTRIES


def test_a_view_that_was_wrecked_after_it_was_kept_stays_as_its_owner_left_it():
    history = filled()
    kept = history.view()
    kept[2]["result"].clear()
    history.add(user("more"), 1)
    assert history.view() == [*ENTRIES, user("more")]
    assert kept[2]["result"] == []
    assert len(kept) == 3


def test_an_old_entry_that_was_kept_and_is_changed_later_changes_no_later_view():
    history = filled()
    entry = history.view()[2]
    history.add(user("more"), 1)
    assert len(history.view()) == 4
    entry["result"][0]["deep"].clear()
    assert history.view()[2] == ENTRIES[2]


# --- in the loop ------------------------------------------------------------------------------------

SCRIPT = [ask("look", at=[1]), ask_together(ask("look", at=[]), ask("look", at=[2])), answer("done")]


def look(at: list):
    """Look somewhere."""
    at.append("changed by the tool")
    return {"seen": at}


def test_a_tool_gets_a_copy_of_its_input():
    run = run_agent(ScriptedModel(SCRIPT), [look], "Goal")
    assert run.history[1]["input"] == {"at": [1]}
    assert run.history[2]["result"] == {"seen": [1, "changed by the tool"]}


def test_a_result_is_copied_when_it_is_recorded():
    shelf = []

    def count() -> list:
        shelf.append(len(shelf))
        return shelf

    run = run_agent(ScriptedModel([ask("count"), ask("count"), answer("done")]), [count], "Goal")
    assert [entry["result"] for entry in run.history if entry["role"] == "tool"] == [[0], [0, 1]]


def test_a_reply_is_copied_so_that_a_model_may_give_the_same_dict_again():
    reply = ask("look", at=[1])

    def model(history):
        if len(history) > 3:
            return answer("done")
        reply["input"]["at"].append(len(history))
        return reply

    run = run_agent(model, [look], "Goal")
    inputs = [entry["input"] for entry in run.history if entry.get("type") == "tool"]
    assert inputs == [{"at": [1, 1]}, {"at": [1, 1, 3]}]


def test_the_model_reads_the_whole_history_at_each_call():
    model = RecordingModel(ScriptedModel(SCRIPT))
    run = run_agent(model, [look], "Goal")
    assert [len(seen) for seen in model.histories] == [1, 3, 6]
    assert all(seen == run.history[: len(seen)] for seen in model.histories)


def test_a_model_that_keeps_its_views_finds_each_as_it_was():
    views = []

    def model(history):
        views.append(history)
        return SCRIPT[len(views) - 1]

    run = run_agent(model, [look], "Goal")
    assert [view == run.history[: len(view)] for view in views] == [True, True, True]
    assert [len(view) for view in views] == [1, 3, 6]
