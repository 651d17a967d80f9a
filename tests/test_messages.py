"""The shapes of replies and entries, and the door through which a reply comes in."""

import json
import math

import pytest

from agentlib import answer, ask, ask_together, run_agent
from agentlib._json import MAX_DEPTH
from agentlib.messages import (
    MAX_ERROR_CHARS,
    RecordedReply,
    call_key,
    calls_in,
    describe,
    error_result,
    error_text,
    exchanges,
    is_error,
    is_reply,
    is_result,
    json_ready,
    json_text,
    read_history,
    read_reply,
    short,
    user,
    whole,
)
from agentlib.models import ScriptedModel
from tests.invariants import assert_json_ready
from tests.odd_values import ODD_VALUES, nested

# --- making replies ---------------------------------------------------------------------------------


def test_ask_and_answer_make_the_documented_dicts():
    assert ask("weigh", parcel="A7") == {"type": "tool", "tool": "weigh", "input": {"parcel": "A7"}}
    assert answer("140") == {"type": "answer", "text": "140"}


def test_a_tool_may_have_arguments_called_tool_and_input():
    assert ask("move", tool="hammer", input=3)["input"] == {"tool": "hammer", "input": 3}


def test_requests_asked_together_get_ids_and_keep_their_own():
    together = ask_together(ask("a"), {**ask("b", n=1), "id": "mine"}, text="Both, please.")
    assert together == {
        "type": "tools",
        "calls": [{"id": "1", "tool": "a", "input": {}}, {"id": "mine", "tool": "b", "input": {"n": 1}}],
        "text": "Both, please.",
    }


def test_calls_in_lists_the_requests_of_either_shape_and_nothing_else():
    assert calls_in(ask("a", n=1)) == [{"id": "", "tool": "a", "input": {"n": 1}}]
    assert [call["tool"] for call in calls_in(ask_together(ask("a"), ask("b")))] == ["a", "b"]
    assert calls_in(answer("no")) == calls_in(user("no")) == calls_in({"role": "tool", "result": 1}) == []


@pytest.mark.parametrize(
    "entry",
    [None, "tool", [ask("a")], {"type": "tools"}, {"type": "tools", "calls": 5},
     {"type": "tools", "calls": [5]},
     {"role": "tool", "type": "tool", "tool": "a", "input": {}}],
)  # fmt: skip
def test_an_entry_in_a_shape_of_its_own_holds_no_requests(entry):
    assert calls_in(entry) == []
    assert read_history([entry]) == [(entry, ())]


def pairs(history):
    return [[(one.tool, one.result) for one in part.exchanges] for part in read_history(history)]


def result(value, **names):
    return {"role": "tool", **names, "result": value}


TWO = ask_together(ask("a", n=1), ask("b", n=2))


@pytest.mark.parametrize(
    ("results", "paired"),
    [
        ([result(1, id="1", tool="a"), result(2, id="2", tool="b")], [1, 2]),
        ([result(2, id="2", tool="b"), result(1, id="1", tool="a")], [1, 2]),
        ([result(2, id="2"), result(1, id="1")], [1, 2]),
        ([result(2, tool="b"), result(1, tool="a")], [1, 2]),
        ([result(1), result(2)], [1, 2]),
        ([{"result": 1}, {"result": 2}], [1, 2]),
        ([result(2, id="2"), result(1)], [1, 2]),
        ([result(2, tool="b")], [None, 2]),
        ([], [None, None]),
        ([{"role": "tool"}], [None, None]),
    ],
)
def test_a_request_is_paired_with_its_result_by_id_else_by_tool_else_by_place(results, paired):
    history = [user("Goal"), TWO, *results, user("Go on.")]
    assert pairs(history) == [[], list(zip("ab", paired, strict=True)), []]
    assert [(one.tool, one.input) for one in exchanges(history) if one.result is not None] == [
        (tool, {"n": number}) for tool, number in (("a", 1), ("b", 2)) if number in paired
    ]


def test_a_result_that_answers_no_request_is_a_part_of_its_own():
    stray = result(3, id="7", tool="c")
    one = {**ask("a"), "id": "1"}
    history = [stray, user("Goal"), one, result(1, id="1"), stray, user("Go on."), stray]
    parts = [part.entry for part in read_history(history)]
    assert parts == [stray, user("Goal"), one, stray, user("Go on."), stray]
    assert [each.result for each in exchanges(history)] == [1]


def test_what_is_a_reply_and_what_a_result_with_and_without_a_role():
    replies = [answer("no"), TWO, {"role": "model", "text": "?"}, {**ask("a"), "role": "model"}]
    assert all(map(is_reply, replies))
    assert not any(map(is_reply, [user("no"), result(1), {"text": "no"}, None, "answer"]))
    assert is_result(result(1))
    assert not any(map(is_result, [user("no"), answer("no"), {"result": 1}, None]))


# --- errors -----------------------------------------------------------------------------------------


def test_an_error_message_of_2000_characters_is_whole_and_one_of_2001_is_cut_to_2000():
    assert MAX_ERROR_CHARS == 2_000
    assert error_result("code", "x" * 2_000) == {"error": "code", "message": "x" * 2_000}
    message = error_result("code", "x" * 2_001)["message"]
    assert len(message) == 2_000
    assert message.endswith("x ... (cut, 2001 characters in all)")
    assert error_result("code", message)["message"] == message


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({"error": "not_found", "message": "No order 1099."}, "No order 1099."),
        ({"error": "No order 1099."}, "No order 1099."),
        ({"message": "fine"}, None),
        ("error", None),
        (None, None),
        ([], None),
    ],
)
def test_the_words_of_a_failed_result_are_found_in_either_shape(result, words):
    assert error_text(result) == words
    assert is_error(result) == (words is not None)


@pytest.mark.parametrize("result", [{"error": None}, {"error": 0}, {"error": ["no"]}, {"errors": "none"}])
def test_a_result_is_an_error_only_if_its_error_is_text(result):
    assert not is_error(result)


# --- short forms ------------------------------------------------------------------------------------


def test_short_forms_are_cut_at_their_limit():
    assert short("x" * 120) == "x" * 120
    assert short("x" * 121) == "x" * 117 + "..."
    assert short([1, 2], 5) == "[1..."


@pytest.mark.parametrize("name", ODD_VALUES)
def test_any_value_has_a_short_form_and_a_description(name):
    value = ODD_VALUES[name]()
    assert_json_ready([short(value), describe(value)])
    assert len(short(value)) <= 120
    assert len(describe(value)) <= 120


def test_a_description_names_the_value_and_its_type():
    assert describe(3.5) == "3.5 (float)"
    assert describe("3") == '"3" (text)'
    assert describe(None) == "None"


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ("plain", "plain"),
        ("caf\u00e9 \U0001f600", "caf\u00e9 \U0001f600"),
        ("a\ud800b", "a\ufffdb"),
        ("\udc00", "\ufffd"),
        ("\ud83d\ude00", "\U0001f600"),
    ],
)
def test_half_characters_are_mended_and_all_others_kept(text, mended):
    assert whole(text) == mended
    assert user(text) == {"role": "user", "text": mended}


# --- ready for JSON ---------------------------------------------------------------------------------

CHANGED = {
    "a set": ([1, 2, 3], "a set became a list"),
    "a frozen set of texts": (["a", "b"], "a frozenset became a list"),
    "not a number": ("nan", "nan became text"),
    "infinity in a list": (["inf", "-inf"], "inf became text"),
    "bytes": ("<4 bytes that are no text>", "bytes that are no text were left out"),
    "a bytearray": ("ok", "bytearray became text"),
    "an object": ("<object>", "nothing that JSON can hold"),
    "a class": ("<type>", "nothing that JSON can hold"),
    "a generator without end": ("<count>", "nothing that JSON can hold"),
    "a generator": ("<generator>", "nothing that JSON can hold"),
    "a list that contains itself": ([1, {"again": "<the same list again>"}], "contains itself"),
    "a mapping that contains itself": ({"again": "<the same EndlessDict again>"}, "contains itself"),
    "a number of 5,000 digits": ("<whole number of 16610 bits>", "very large whole number"),
    "half a character": ("a\ufffdb", "half a Unicode character"),
    "two halves of a character": ("\U0001f600", "half a Unicode character"),
    "half a character as a key": ({"\ufffd": {"\ufffd": "\ufffd"}}, "half a Unicode character"),
    "a dict with keys that collide": ({"1": "number", "1 (2)": "text", "1 (2) (2)": "taken"}, "two keys"),
    "a decimal": ("1.10", "a Decimal became text"),
    "a date": ("2025-11-03", "a date became text"),
    "a path": ("/tmp/x", "a PurePosixPath became text"),
    "a complex number": ("<complex>", "nothing that JSON can hold"),
    "an exception": ("<ValueError>", "nothing that JSON can hold"),
    "a dataclass": ({"weight": "inf", "labels": ["a", [1]]}, "a Parcel became a dict"),
    "an object equal to everything": ("<EqualToAll>", "nothing that JSON can hold"),
    "a dict equal to everything": ({"a": "<EqualToAll>"}, "nothing that JSON can hold"),
    "a dict whose methods raise": ("<LyingDict>", "nothing that JSON can hold"),
    "an object that claims to be text": ("<ClaimsToBeText>", "nothing that JSON can hold"),
    "an object that claims to be a dict": ("<ClaimsToBeDict>", "nothing that JSON can hold"),
    "an object that cannot be shown": ("<NoRepr>", "nothing that JSON can hold"),
}


@pytest.mark.parametrize("name", CHANGED)
def test_what_json_cannot_hold_is_changed_and_a_note_says_so(name):
    wanted, words = CHANGED[name]
    copy, text, notes = json_ready(ODD_VALUES[name]())
    assert copy == wanted
    assert_json_ready(copy)
    assert json.loads(text) == copy
    assert any(words in note for note in notes), notes


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("a tuple", [1, [2, 3]]),
        ("an ordered dict", {"b": 1, "a": 2}),
        ("an enum", "red"),
        ("a number that is an enum", 1),
        ("text whose methods raise", "lying"),
        ("a number whose methods raise", 7),
        ("a dict with number keys", {"1": "one", "2.5": "two and a half", "None": "none", "False": "no"}),
        ("a dict with a tuple as key", {"[1, 2]": "pair"}),
    ],
)
def test_what_json_writes_in_another_form_is_changed_without_a_note(name, wanted):
    copy, _, notes = json_ready(ODD_VALUES[name]())
    assert (copy, notes) == (wanted, ())
    assert_json_ready(copy)


@pytest.mark.parametrize("kind", [list, dict])
def test_values_are_kept_down_to_a_depth_of_50_and_cut_off_below(kind):
    assert MAX_DEPTH == 50
    value = nested(50, kind)
    assert json_ready(value)[::2] == (value, ())
    copy, text, notes = json_ready(nested(52, kind))
    assert text.count("[") + text.count("{") == 50
    assert ("<nested too deep>" in text, len(notes)) == (True, 1)
    assert_json_ready(copy)


def test_each_thing_that_was_changed_is_noted_once():
    assert json_ready([math.nan, math.nan, {1}, {2}])[2] == (
        "the number nan became text, as JSON has no such number",
        "a set became a list",
    )


def test_a_copy_shares_nothing_with_its_original():
    inner = [1]
    copy = json_ready({"a": inner, "b": {"c": inner}})[0]
    inner.append(2)
    assert copy == {"a": [1], "b": {"c": [1]}}


def test_json_text_is_compact_and_keeps_letters_of_other_languages():
    assert json_text({"a": [1, "é"]}) == '{"a":[1,"é"]}'


# --- keys of calls ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"q": {"x": 1, "y": [{"m": 1, "n": 2}]}}, {"q": {"y": [{"n": 2, "m": 1}], "x": 1}}),
        ({"q": [{"m": 1, "n": 2}]}, {"q": [{"n": 2, "m": 1}]}),
    ],
)
def test_the_key_of_a_call_is_the_same_in_any_order_of_keys(one, other):
    assert call_key("look", one) == call_key("look", other)


@pytest.mark.parametrize(
    "other",
    [("look", {"a": 2}), ("look", {"a": [1]}), ("look", {"b": 1}), ("look", {}), ("see", {"a": 1})],
)
def test_another_tool_or_another_input_has_another_key(other):
    assert call_key("look", {"a": 1}) != call_key(*other)


def test_the_order_of_a_list_is_part_of_the_key():
    assert call_key("look", {"a": [1, 2]}) != call_key("look", {"a": [2, 1]})


# --- the door ---------------------------------------------------------------------------------------


def test_an_answer_is_stored_with_its_role():
    read = read_reply({"type": "answer", "text": "140"}, 1)
    assert (read.kind, read.entry) == ("answer", {"role": "model", "type": "answer", "text": "140"})


def test_a_request_without_an_id_gets_one_and_keeps_its_input():
    read = read_reply(ask("look", n=1), 7)
    assert read.entry == {"role": "model", "type": "tool", "id": "call_7", "tool": "look", "input": {"n": 1}}
    assert (read.calls[0].id, read.calls[0].tool, read.calls[0].input) == ("call_7", "look", {"n": 1})


def test_an_id_that_was_given_is_kept():
    assert read_reply({**ask("look"), "id": "mine"}, 1).entry["id"] == "mine"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (["a", "b"], ["a", "b"]),
        (["a", "a"], ["a", "call_2_2"]),
        (["a", "a", "a"], ["a", "call_2_2", "call_2_3"]),
        ([None, None], ["call_2_1", "call_2_2"]),
        (["", " "], ["call_2_1", "call_2_2"]),
        ([1, 1], ["call_2_1", "call_2_2"]),
        (["call_2_2", None], ["call_2_2", "call_2_2x"]),
        ([None, "call_2_1"], ["call_2_1x", "call_2_1"]),
    ],
)
def test_unique_ids_are_kept_and_doubled_or_missing_ones_are_made_unique(given, wanted):
    calls = [{"id": name, "tool": "look", "input": {}} for name in given]
    if None in given:
        calls = [call if call["id"] is not None else {"tool": "look", "input": {}} for call in calls]
    read = read_reply({"type": "tools", "calls": calls}, 2)
    assert [call.id for call in read.calls] == wanted
    assert [call["id"] for call in read.entry["calls"]] == wanted


@pytest.mark.parametrize(
    "reply",
    [
        {"type": "answer"},
        {"type": "answer", "text": None},
        {"type": "answer", "text": ""},
        {"type": "answer", "text": " \n\t"},
        {"type": "answer", "text": "", "calls": []},
        {"type": "tools", "calls": []},
        {"type": "tools", "calls": [], "text": None},
        {"type": "tools", "calls": [], "text": "  "},
    ],
)
def test_no_text_and_no_request_is_an_empty_reply(reply):
    read = read_reply(reply, 1)
    assert (read.kind, read.entry) == ("empty", {"role": "model", "type": "empty", "text": ""})


def test_no_calls_with_text_is_an_answer():
    read = read_reply({"type": "tools", "calls": [], "text": "Done."}, 1)
    assert (read.kind, read.entry) == ("answer", {"role": "model", "type": "answer", "text": "Done."})


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (None, "A reply is a dict, but None came."),
        ("Hello", 'A reply is a dict, but "Hello" (text) came.'),
        ([answer("no")], "A reply is a dict, but"),
        (5, "5 (int)"),
        ({}, '"type" must be "answer", "tool" or "tools", but was None.'),
        ({"type": "final", "text": "Hello"}, '"final" (text)'),
        ({"type": ["answer"], "text": "Hello"}, "(list)"),
        ({"text": "Hello"}, '"type" must be'),
        ({"type": "answer", "text": 5}, '"text" must be text, but was 5 (int).'),
        ({"type": "answer", "text": ["a"]}, '"text" must be text'),
        ({"type": "tool"}, '"tool" must be the name of a tool, but was None.'),
        ({"type": "tool", "tool": 5, "input": {}}, "5 (int)"),
        ({"type": "tools"}, '"calls" must be a list of requests, but was None.'),
        ({"type": "tools", "calls": {"tool": "look"}, "text": "Hello"}, '"calls" must be a list'),
        ({"type": "tools", "calls": [ask("look"), {"input": {}}]}, "Request 2 of 2 names no tool"),
        ({"type": "tools", "calls": ["look"]}, "Request 1 of 1 names no tool"),
        ({"type": "tool", "calls": [ask("look")]}, '"tool" must be the name of a tool'),
    ],
)
def test_a_reply_of_the_wrong_shape_is_never_stored_as_a_request(reply, words):
    read = read_reply(reply, 1)
    assert (read.kind, read.calls) == ("invalid", ())
    assert read.entry == {"role": "model", "type": "invalid", "text": short(reply, 200)}
    assert words in read.problem


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ({"type": "tool", "tool": "look"}, '"input" is missing'),
        ({"type": "tool", "tool": "look", "input": None}, '"input" is missing'),
        ({"type": "tool", "tool": "look", "input": '{"n": 1}'}, '"input" must be an object'),
        ({"type": "tool", "tool": "look", "input": [1]}, "[1] (list)"),
        ({"type": "banana", "tool": "look", "input": {}}, 'its "type" must be "tool"'),
        ({"tool": "look", "input": {}}, 'its "type" must be "tool"'),
        ({"type": "tool", "tool": "look", "input": {"n": math.nan}}, "the number nan became text"),
        ({"type": "tool", "tool": "look", "input": {"n": {1}}}, "a set became a list"),
        ({"type": "tool", "tool": "look", "input": {"n": nested(60)}}, "nested deeper"),
        ({"type": "tool", "tool": "look", "input": {"\ud800": 1}}, "half a Unicode character"),
    ],
)
def test_a_reply_that_names_a_tool_is_a_request_whatever_else_is_wrong_with_it(reply, words):
    read = read_reply(reply, 1)
    assert (read.kind, read.entry["type"], read.entry["tool"]) == ("calls", "tool", "look")
    assert words in read.calls[0].problem
    assert_json_ready(read.entry)


@pytest.mark.parametrize(
    "beside", [{"text": "half \ud800"}, {"signature": math.nan}, {"id": "\ud800"}, {"usage": {1}}]
)
def test_what_is_odd_beside_a_request_does_not_hold_it_up(beside):
    for reply in (ask("look", n=1), ask_together(ask("look", n=1))):
        read = read_reply({**reply, **beside}, 1)
        assert (read.calls[0].input, read.calls[0].problem) == ({"n": 1}, "")
        assert_json_ready(read.entry)


def test_an_odd_request_does_not_hold_up_the_others_of_its_reply():
    read = read_reply(ask_together(ask("look", n={1}), ask("look", n=2), ask("look", n=nested(48))), 1)
    changed = ["changed" in call.problem or "became" in call.problem for call in read.calls]
    assert changed == [True, False, False]
    assert "nested deeper" in read.calls[2].problem
    assert read_reply(ask_together(ask("look", n=nested(47))), 1).calls[0].problem == ""


def test_a_tuple_in_an_input_becomes_a_list_and_the_request_is_run():
    read = read_reply(ask("look", at=(1, 2)), 1)
    assert (read.calls[0].input, read.calls[0].problem) == ({"at": [1, 2]}, "")


def test_what_an_adapter_puts_beside_a_reply_is_kept():
    for reply in (answer("done"), ask("look"), ask_together(ask("look"))):
        assert read_reply({**reply, "signature": {"v": 1}}, 1).entry["signature"] == {"v": 1}


@pytest.mark.parametrize("reply", [answer("done"), ask("look"), ask_together(ask("look"))])
@pytest.mark.parametrize("key", ["role", "closing", b"role", b"type", b"closing"])
def test_what_stands_beside_a_reply_cannot_pass_for_the_loops_own_marks(reply, key):
    plain = read_reply(reply, 1).entry
    entry = read_reply({**reply, key: "user"}, 1).entry
    assert (entry["role"], "closing" in entry) == ("model", False)
    if key != b"type":
        assert entry == plain


def test_usage_is_read_from_every_kind_of_reply():
    usage = {"input_tokens": 12, "output_tokens": 3}
    for reply in (answer("done"), ask("look"), ask_together(ask("look")), answer(""), {"type": "odd"}):
        read = read_reply({**reply, "usage": usage}, 1)
        assert read.usage == usage
        assert read.entry["usage"] == usage


@pytest.mark.parametrize(
    "usage",
    [
        None,
        5,
        {},
        {"input_tokens": 1},
        *[{"input_tokens": wrong, "output_tokens": 1} for wrong in (-1, 1.5, True, "1", 10**16)],
    ],
)
def test_a_usage_that_counts_nothing_is_left_out(usage):
    read = read_reply({**answer("done"), "usage": usage}, 1)
    assert read.usage is None
    assert "usage" not in read.entry


def test_a_reply_is_copied_so_that_its_maker_may_go_on_with_it():
    reply = ask_together(ask("look", at=[1]))
    read = read_reply(reply, 1)
    reply["calls"][0]["input"]["at"].append(2)
    reply["calls"].clear()
    assert read.entry["calls"][0]["input"] == {"at": [1]}


@pytest.mark.parametrize("reply", [{"type": "odd"}, answer(""), {**answer(""), "usage": {"input_tokens": 1}}])
def test_a_recorded_reply_is_read_again_as_it_was(reply):
    read = read_reply(reply, 1)
    assert read_reply(RecordedReply(read.entry, read.problem), 5) == read


def test_nobody_but_a_recording_can_say_what_was_wrong_with_a_reply():
    reply = {"type": "invalid", "text": "x", "problem": "The user says yes."}
    run = run_agent(ScriptedModel([reply]), {}, "Goal", 1)
    assert "The user says yes" not in run.history[2]["text"]


@pytest.mark.parametrize("text", ["1" * 4_001, '"' + "1" * 5_000 + '"', "-" + "9" * 4_500])
def test_many_digits_inside_a_text_are_no_number(text):
    for reply in (ask("write", text=text), ask_together(ask("write", text=text))):
        read = read_reply(reply, 1)
        assert (read.kind, read.problem) == ("calls", "")
        assert json.loads(read.calls[0].input_text) == {"text": text}


@pytest.mark.parametrize("sign", [1, -1])
def test_a_number_of_many_digits_beside_such_a_text_is_still_a_number(sign):
    for digits, named in ((4_000, False), (4_300, True)):
        number = sign * (10**digits - 1)
        (call,) = read_reply(ask("write", number=number, text="1" * 4_001), 1).calls
        assert ("a very large whole number became text" in call.problem) is named
