"""Requests and histories in words, as reports and captions show them."""

import pytest

from agentlib import answer, ask, ask_together
from agentlib.messages import user
from agentlib.views.describe import call_words, counted, entry_kind, full_call, joined, sketch, times

MUGS = ask("stock_level", warehouse="north")
TWO = ask("send", to="Nord", count=2)


@pytest.mark.parametrize(
    ("call", "short_form", "full_form"),
    [
        (MUGS, 'stock_level("north")', 'stock_level(warehouse="north")'),
        (TWO, 'send(to="Nord", count=2)', 'send(to="Nord", count=2)'),
        (ask("now"), "now()", "now()"),
        ({"tool": "f", "input": [1, 2]}, "f([1, 2])", "f([1, 2])"),
        ({"tool": None, "input": None}, "None(None)", "None(None)"),
        (ask("f", x="a" * 99), f'f("{"a" * 76}...)', f'f(x="{"a" * 74}...)'),
        (ask("f", x="\u202e"), 'f("\\u202e")', 'f(x="\\u202e")'),
    ],
)
def test_a_request_reads_as_a_call_in_python(call, short_form, full_form):
    assert call_words(call) == short_form
    assert full_call(call["tool"], call["input"]) == full_form


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (user("Goal"), "user"),
        (MUGS, 'request stock_level(warehouse="north")'),
        (ask_together(ask("a"), ask("b", x=1)), "request a() + b(x=1)"),
        ({"role": "tool", "tool": "a", "result": 1}, "result of a"),
        ({"role": "tool", "result": 1}, "result"),
        ({"role": "tool"}, "tool entry without a result"),
        (answer("Yes."), "answer"),
        ({"type": "tools", "calls": 5}, "an entry (type, calls)"),
        ("text", "a str"),
        (None, "a NoneType"),
    ],
)
def test_an_entry_is_named_in_a_few_words(entry, words):
    assert entry_kind(entry) == words


def test_a_long_history_is_told_by_its_ends():
    assert sketch([user("?"), answer("!")]) == "[user, answer]"
    assert sketch([user("?")] * 8) == "[user, user, user, ... 2 more ..., user, user, user]"


@pytest.mark.parametrize(("count", "words"), [(0, "0 times"), (1, "once"), (2, "twice"), (3, "3 times")])
def test_how_often(count, words):
    assert times(count) == words


def test_numbers_and_lists_read_as_in_a_sentence():
    assert [counted(1, "entry", "entries"), counted(1_024, "entry", "entries")] == [
        "1 entry",
        "1,024 entries",
    ]
    assert [joined([]), joined(["a"]), joined(["a", "b", "c"])] == ["", "a", "a, b and c"]
