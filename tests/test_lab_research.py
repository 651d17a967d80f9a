"""The research lab: a loop with a contract of its own, its four cases, and the ladder from said to true."""

import copy

import pytest

from agentlib import ask, run_agent
from agentlib.labs import research
from agentlib.models import RecordingModel, ScriptedModel


class Recorded:
    """Passes searches on and keeps the queries."""

    def __init__(self, search=research.search):
        self.search, self.queries = search, []

    def __call__(self, query):
        self.queries.append(query)
        return self.search(query)


def search_for(query, call_id="call_1"):
    return {"kind": "search", "call_id": call_id, "query": query}


def conclude(text):
    return {"kind": "answer", "text": text}


# --- the four cases ---------------------------------------------------------------------------------


def go(name):
    make_model, search = research.CASES[name]
    model, recorded = RecordingModel(make_model()), Recorded(search)
    return research.run_research(model, recorded), model, recorded.queries


def test_an_immediate_answer_makes_no_search():
    outcome, model, queries = go("immediate answer")
    assert outcome == {"status": "answered", "text": "At most three times, I believe.", "history": []}
    assert (len(model.histories), queries) == (1, [])


def test_a_search_then_an_answer_makes_one():
    outcome, model, queries = go("search, then answer")
    (turn,) = outcome["history"]
    assert outcome["status"] == "answered"
    assert turn["decision"] == model.replies[0]
    assert turn["observation"] == research.search(queries[0]) == f"[retry-limit] {PASSAGE}"
    assert PASSAGE in outcome["text"]
    assert (len(model.histories), len(queries)) == (2, 1)


PASSAGE = research.PASSAGES["retry-limit"]


def test_an_endless_search_is_stopped_after_four_calls_and_its_evidence_is_kept():
    outcome, model, queries = go("endless search")
    assert (outcome["status"], outcome["text"]) == ("limit_reached", "")
    assert (len(model.histories), len(queries)) == (4, 4)
    assert [turn["decision"]["query"] for turn in outcome["history"]] == queries
    assert [turn["observation"] for turn in outcome["history"]] == [research.search(one) for one in queries]
    assert len({turn["observation"] for turn in outcome["history"]}) == 3  # more rounds, no more evidence


def test_a_failed_search_reaches_the_caller():
    make_model, search = research.CASES["failed search"]
    model = RecordingModel(make_model())
    with pytest.raises(ConnectionError, match="does not answer"):
        research.run_research(model, search)
    assert len(model.histories) == 1


def test_a_search_that_finds_nothing_is_followed_by_other_words():
    outcome = research.run_research(research.tries_other_words(), research.search)
    assert outcome["status"] == "answered"
    assert [turn["observation"][:13] for turn in outcome["history"]] == ["Nothing found", "[retry-safe] "]


# --- the contract -----------------------------------------------------------------------------------


@pytest.mark.parametrize("max_calls", [0, -1, 1.0, 2.5, "4", None, True, float("nan")])
def test_a_wrong_limit_is_an_error_before_any_call(max_calls):
    model = RecordingModel(research.answers_at_once())
    with pytest.raises(ValueError, match="max_calls is a whole number from 1 up"):
        research.run_research(model, research.search, max_calls)
    assert model.histories == []


@pytest.mark.parametrize("max_calls", [1, 2, 7])
def test_the_limit_is_one_of_model_calls_and_exact(max_calls):
    model, search = RecordingModel(research.searches_for_ever()), Recorded()
    outcome = research.run_research(model, search, max_calls)
    assert outcome["status"] == "limit_reached"
    assert len(model.histories) == len(search.queries) == len(outcome["history"]) == max_calls


def test_an_answer_in_the_last_call_is_an_answer():
    script = [search_for("wait"), conclude("Wait.")]
    assert research.run_research(ScriptedModel(script), research.search, 2)["status"] == "answered"
    assert research.run_research(ScriptedModel(script), research.search, 1)["status"] == "limit_reached"


@pytest.mark.parametrize(
    "wrong", [search_for(""), search_for(" \n"), search_for("wait", ""), search_for("wait", "\t")]
)
def test_a_blank_query_or_call_id_is_an_error_when_it_comes(wrong):
    search = Recorded()
    with pytest.raises(ValueError, match="not blank"):
        research.run_research(ScriptedModel([search_for("failed call"), wrong]), search)
    assert search.queries == ["failed call"]


ODD_DECISIONS = [
    None,
    "an answer",
    {},
    {"kind": "think"},
    {"kind": "answer"},
    {"kind": "answer", "text": None},
]
ODD_SEARCHES = [{"query": "wait"}, {"call_id": "call_1"}, {"call_id": 1, "query": "wait"}]


@pytest.mark.parametrize("wrong", [*ODD_DECISIONS, *({"kind": "search", **odd} for odd in ODD_SEARCHES)])
def test_a_decision_of_another_shape_is_an_error_when_it_comes(wrong):
    search = Recorded()
    with pytest.raises(ValueError, match="decision"):
        research.run_research(ScriptedModel([wrong]), search)
    assert search.queries == []


def test_the_first_call_gets_no_turns_and_each_later_one_all_so_far():
    model = RecordingModel(research.searches_for_ever())
    outcome = research.run_research(model, research.search)
    assert model.histories == [outcome["history"][:number] for number in range(4)]


def test_a_model_cannot_change_what_was_recorded():
    seen = []

    def meddler(history):
        seen.append(copy.deepcopy(history))
        for turn in history:
            turn["observation"] = "search succeeded"
            turn["decision"]["query"] = "changed"
        history.clear()
        return decisions.pop(0)

    decisions = [search_for("wait"), search_for("safely"), conclude("Done.")]
    kept = decisions[0]
    outcome = research.run_research(meddler, research.search)
    kept["query"] = "changed later"
    assert [turn["decision"]["query"] for turn in outcome["history"]] == ["wait", "safely"]
    assert seen[2] == outcome["history"]


def test_what_the_model_raises_reaches_the_caller():
    def broken(history):
        raise TimeoutError("no answer")

    with pytest.raises(TimeoutError):
        research.run_research(broken, research.search)


# --- the search -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", research.PASSAGES)
def test_each_passage_is_found_by_its_own_words(name):
    assert research.search(research.PASSAGES[name]) == f"[{name}] {research.PASSAGES[name]}"


@pytest.mark.parametrize("query", ["zebra", "a of to", "", "?!"])
def test_words_that_stand_nowhere_find_nothing(query):
    assert research.search(query).startswith("Nothing found for")


# --- the evidence ladder ----------------------------------------------------------------------------


def climb(name, folder):
    rung = research.LADDER[name]
    tools = research.note_tools(folder, honest=rung.honest)
    run = run_agent(rung.model(), tools, research.GOAL)
    return run, research.evidence(run, folder / research.NOTE_NAME)


HOLDS = [
    [True, False, False, False],
    [True, True, False, False],
    [True, True, False, True],
    [True, True, True, False],
    [True, True, True, True],
]


@pytest.mark.parametrize(("name", "holds"), [*zip(research.LADDER, HOLDS, strict=True)])
def test_each_run_is_answered_and_is_wrong_at_another_rung(tmp_path, name, holds):
    run, ladder = climb(name, tmp_path)
    assert (run.stopped, run.errors) == ("answered", 0)
    assert run.answer == "Done. The note is saved."
    assert [rung.rung for rung in ladder] == list(research.RUNGS)
    assert [rung.holds for rung in ladder] == holds
    assert research.rungs_climbed(ladder) == [*holds, False].index(False)


def test_the_rungs_that_are_reached(tmp_path):
    reached = []
    for number, name in enumerate(research.LADDER):
        folder = tmp_path / str(number)
        folder.mkdir()
        reached.append(research.rungs_climbed(climb(name, folder)[1]))
    assert reached == [1, 2, 2, 3, 4]


def test_what_was_seen_names_the_fault(tmp_path):
    names = list(research.LADDER)
    seen = [rung.seen for rung in climb(names[1], tmp_path)[1]]
    assert seen[1].startswith("Saved retries.txt")
    assert seen[2] == "there is no such file"
    assert climb(names[2], tmp_path)[1][2].seen == "1 of 3 sentences with a source"
    assert climb(names[3], tmp_path)[1][3].seen == "[retry-limit] does not say: twenty"


def test_a_source_that_was_never_read_supports_nothing(tmp_path):
    script = [
        ask("save_note", name=research.NOTE_NAME, text=research.GOOD_NOTE),
        {"type": "answer", "text": "Done."},
    ]
    run = run_agent(ScriptedModel(script), research.note_tools(tmp_path), research.GOAL)
    ladder = research.evidence(run, tmp_path / research.NOTE_NAME)
    assert [rung.holds for rung in ladder] == [True, True, True, False]
    assert ladder[3].seen == "[retry-limit] was never read"


def test_words_after_the_last_source_make_a_note_wrong(tmp_path):
    text = research.GOOD_NOTE + " And one thing more."
    script = [ask("save_note", name=research.NOTE_NAME, text=text), {"type": "answer", "text": "Done."}]
    run = run_agent(ScriptedModel(script), research.note_tools(tmp_path), research.GOAL)
    assert not research.evidence(run, tmp_path / research.NOTE_NAME)[2].holds


def test_a_run_that_was_stopped_says_nothing_of_being_done(tmp_path):
    rung = research.LADDER["the note is whole and its sources support it"]
    run = run_agent(rung.model(), research.note_tools(tmp_path), research.GOAL, max_steps=4)
    assert run.stopped == "step limit"
    ladder = research.evidence(run, tmp_path / research.NOTE_NAME)
    assert [one.holds for one in ladder] == [False, True, True, True]


def test_a_note_stays_in_its_folder(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    research.note_tools(folder)["save_note"]("../outside.txt", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]
    assert [path.name for path in folder.iterdir()] == ["outside.txt"]
