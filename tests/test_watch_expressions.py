"""What a test of a loop gives, worked out beside it; no code of the learner runs for these words."""

import ast
import sys

import pytest

from agentlib.watch.expressions import Expressions, NotKnown, Scope, evaluator, value_of
from agentlib.watch.source import Source

LIMIT = 20


class Odd:
    """Counts whoever asks it anything."""

    asked = 0
    plain = 5

    def __init__(self):
        self.held = 7

    def count(self, *_):
        Odd.asked += 1
        return 1

    __eq__ = __lt__ = __gt__ = __bool__ = __len__ = __getitem__ = __contains__ = __hash__ = __call__ = count

    @property
    def worked_out(self):
        return self.count()


class OddDict(dict):
    def __getitem__(self, key):
        Odd.asked += 1
        return 1

    def get(self, key, default=None):
        Odd.asked += 1
        return 1


class Slotted:
    __slots__ = ("spent",)

    def __init__(self):
        self.spent = 3


class Secretive:
    def __getattribute__(self, name):
        Odd.asked += 1
        return object.__getattribute__(self, name)


def words(test, **variables):
    """What is said of `if test:` where these variables are known."""
    source = Source(f"if {test}:\n    pass\n", 1)
    return Expressions(source).at(1, Scope(variables, sys._getframe()))


@pytest.mark.parametrize(
    ("test", "variables", "said"),
    [
        ("sum(costs) + cost > budget", {"costs": [9, 7], "cost": 9, "budget": 20}, "16 + 9 = 25 > 20: yes"),
        ("budget >= sum(costs) + cost", {"costs": [9], "cost": 2, "budget": 20}, "20 >= 11 (9 + 2): yes"),
        ("(a + b) * c > 9", {"a": 1, "b": 2, "c": 3}, "(1 + 2) * 3 = 9 > 9: no"),
        ("a - (b - c) == 2", {"a": 1, "b": 0, "c": 1}, "1 - (0 - 1) = 2 == 2: yes"),
        ("0 < step <= 3", {"step": 4}, "0 < 4 <= 3: no"),
        ("done", {"done": False}, "done = False: no"),
        ("not done", {"done": False}, "not False: yes"),
        ("a and b", {"a": 0, "b": 1}, "0: no"),
        ("a or b", {"a": 0, "b": 1}, "0 or 1: yes"),
        ("reply['type'] == 'answer'", {"reply": {"type": "tool"}}, "'tool' == 'answer': no"),
        ("reply.get('calls')", {"reply": {}}, "reply.get('calls') = None: no"),
        ("len(history) > 3", {"history": [1, 2, 3, 4]}, "4 > 3: yes"),
        ("history[-1]['role'] == 'tool'", {"history": [{"role": "tool"}]}, "'tool' == 'tool': yes"),
        ("name in ('a', 'b')", {"name": "a"}, "'a' in ('a', 'b'): yes"),
        ("'error' not in result", {"result": {"error": 1}}, "'error' not in {'error': 1}: no"),
        ("max(a, b) >= 2", {"a": 1, "b": 2}, "2 >= 2: yes"),
        ("isinstance(reply, dict)", {"reply": {}}, "isinstance(reply, dict) = True: yes"),
        ("isinstance(reply, (str, dict))", {"reply": 1}, "isinstance(reply, (str, dict)) = False: no"),
        ("answer is None", {"answer": None}, "None is None: yes"),
        ("odd is not None", {"odd": Odd()}, "Odd(held=7) is not None: yes"),
        ("text.strip().lower() == 'x'", {"text": " X"}, "'x' == 'x': yes"),
        ("spent > LIMIT", {"spent": 21}, "21 > 20: yes"),
        ("state.spent > 2", {"state": Slotted()}, "3 > 2: yes"),
        ("odd.held > 2", {"odd": Odd()}, "7 > 2: yes"),
        ("self.held > 2", {"self": Odd(), "self.held": 7}, "7 > 2: yes"),
    ],
)
def test_what_was_compared_is_said_with_its_values(test, variables, said):
    assert words(test, **variables) == said


@pytest.mark.parametrize(
    ("test", "variables"),
    [
        ("odd == 1", {"odd": Odd()}),
        ("odd > 1", {"odd": Odd()}),
        ("odd", {"odd": Odd()}),
        ("not odd", {"odd": Odd()}),
        ("odd and True", {"odd": Odd()}),
        ("odd[0]", {"odd": Odd()}),
        ("odd() == 1", {"odd": Odd()}),
        ("odd.count()", {"odd": Odd()}),
        ("odd.worked_out == 1", {"odd": Odd()}),
        ("self.worked_out == 1", {"self": Odd()}),
        ("len(odd) == 1", {"odd": Odd()}),
        ("1 in odd", {"odd": Odd()}),
        ("1 in items", {"items": [Odd()]}),
        ("odd in items", {"odd": Odd(), "items": [1]}),
        ("odd in {1, 2}", {"odd": Odd()}),
        ("1 in {odd}", {"odd": Odd()}),
        ("items == [1]", {"items": [Odd()]}),
        ("sum(items) > 1", {"items": [Odd()]}),
        ("max(odd, 1) > 1", {"odd": Odd()}),
        ("isinstance(odd, str)", {"odd": Odd()}),
        ("isinstance(1, Odd)", {"Odd": Odd}),
        ("reply['type'] == 1", {"reply": OddDict(type=1)}),
        ("reply.get('type') == 1", {"reply": OddDict(type=1)}),
        ("secret.held == 1", {"secret": Secretive()}),
    ],
)
def test_no_code_of_the_learner_runs_and_nothing_is_said(test, variables):
    Odd.asked = 0
    assert words(test, **variables) == ""
    assert Odd.asked == 0


@pytest.mark.parametrize(
    ("test", "variables"),
    [
        ("unknown > 1", {}),
        ("model(history)['type'] == 'x'", {"history": []}),
        ("(reply := 1) == 1", {}),
        ("next(items) > 1", {"items": iter([1])}),
        ("items.pop() > 1", {"items": [1]}),
        ("len(items) > 1", {"items": [1], "len": lambda _: 99}),
        ("reply['missing'] == 1", {"reply": {}}),
        ("items[9] == 1", {"items": []}),
        ("1 / zero > 1", {"zero": 0}),
        ("big ** big > 1", {"big": 10**9}),
        ("big * big > 1", {"big": 10**60}),
        ("'a' < 1", {}),
        ("sum(items) > 1", {"items": [1] * 1_001}),
        ("1 in items", {"items": list(range(201))}),
        ("[x for x in items] == []", {"items": []}),
        ("f'{odd}' == 'x'", {"odd": Odd()}),
        ("text * 9 == 'x'", {"text": "x"}),
        ("sys._getframe() is None", {}),
    ],
)
def test_what_is_not_known_for_certain_is_not_said(test, variables):
    before = {name: list(value) for name, value in variables.items() if type(value) is list}
    assert words(test, **variables) == ""
    assert {name: list(variables[name]) for name in before} == before


def test_an_iterator_is_not_used_up():
    items = iter([1, 2])
    assert words("next(items) == 1", items=items) == ""
    assert next(items) == 1


def test_a_local_name_without_a_value_is_not_looked_up_as_a_global_one():
    LIMIT = 1
    del LIMIT
    with pytest.raises(NotKnown):
        value_of(evaluator(ast.parse("LIMIT", mode="eval").body), Scope({}, sys._getframe()))


def test_long_values_are_cut_and_the_words_stay_short():
    said = words("a == b", a="x" * 10_000_000, b="y" * 500)
    assert said.endswith(": no")
    assert len(said) < 140


def test_the_value_of_a_return_and_of_a_match_is_said():
    source = Source("def f():\n    return a + b\n\n\nmatch a:\n    case 1:\n        pass\n", 1)
    scope = Scope({"a": 1, "b": 2}, sys._getframe())
    assert Expressions(source).at(2, scope) == "1 + 2 = 3"
    assert Expressions(source).at(5, scope) == "1"


def test_the_end_of_a_line_belongs_to_the_test_not_to_what_follows_it_there():
    source = Source("if a > 1: b = 2\n", 1)
    assert Expressions(source).at(1, Scope({"a": 3}, sys._getframe())) == "3 > 1: yes"
