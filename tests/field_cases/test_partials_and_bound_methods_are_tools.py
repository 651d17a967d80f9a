"""Partials, bound methods, callable objects: the function's own name and words; what is bound stays bound."""

import functools

import pytest

from agentlib import answer, ask, run_agent, tool
from agentlib.models import ScriptedModel
from agentlib.tools import read_tools
from agentlib.watch import watch


def weather(key: str, city: str, unit: str = "C") -> str:
    """Give the weather of a city.

    More about it.
    """
    return f"{key} {city} {unit}"


class Client:
    """A client that nobody may put into JSON."""


def query(client: Client, words: str) -> str:
    """Search for words."""
    return f"{type(client).__name__} {words}"


def anything(**given) -> dict:
    """Take anything."""
    return given


class Shop:
    """A shop."""

    def __init__(self, name="north"):
        self.name = name

    def count(self, shelf: int) -> str:
        """Count a shelf."""
        return f"{self.name} {shelf}"

    def __call__(self, shelf: int) -> str:
        """Look at a shelf."""
        return f"{self.name} {shelf}"

    only_first = functools.partialmethod(count, 1)


class Quiet:
    """A shop without words about its call."""

    def __call__(self, shelf: int) -> str:
        return "quiet"


def run_with(function, **given):
    """The result of one request for one tool."""
    (made,) = read_tools([function]).values()
    run = run_agent(ScriptedModel([ask(made.name, **given), answer("done")]), [function], "Goal")
    return run.history[2]["result"]


def copied(function):
    """A wrapper as learners write them, with `functools.wraps`."""

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


PARTIALS = {
    "by place": functools.partial(weather, "k"),
    "by name": functools.partial(weather, key="k"),
    "twice": functools.partial(functools.partial(weather, "k"), unit="C"),
    "wrapped": copied(functools.partial(weather, key="k")),
    "a partial of a wrapper": functools.partial(copied(weather), "k"),
    "a partial of a tool": functools.partial(tool(weather), "k"),
}


@pytest.mark.parametrize("name", PARTIALS)
def test_a_partial_has_the_name_and_the_words_of_its_function(name):
    (made,) = read_tools([PARTIALS[name]]).values()
    assert (made.name, made.description) == ("weather", "Give the weather of a city.")


@pytest.mark.parametrize("name", PARTIALS)
def test_what_is_bound_is_not_offered_and_cannot_be_overwritten(name):
    made = tool(PARTIALS[name])
    assert "key" not in made.schema["properties"]
    assert made.schema["required"] == ["city"]
    assert run_with(PARTIALS[name], city="Bonn") == "k Bonn C"
    refused = run_with(PARTIALS[name], city="Bonn", key="another")
    assert refused["error"] == "invalid_input"
    assert 'there is no argument "key"' in refused["message"]


def test_what_is_bound_in_free_keywords_cannot_be_overwritten_either():
    bound = functools.partial(anything, account="mine")
    assert "account" not in tool(bound).schema["properties"]
    assert run_with(bound, amount=3) == {"account": "mine", "amount": 3}
    refused = run_with(bound, account="yours")
    assert 'there is no argument "account"' in refused["message"]


def with_key(key: str, **more: str) -> dict:
    """Take a key and more."""
    return {"key": key, **more}


class Free:
    def method(self, **more: str) -> dict:
        """Take anything."""
        return more

    @classmethod
    def of_class(cls, **more: str) -> dict:
        """Take anything."""
        return more

    def __call__(self, **more: str) -> dict:
        """Take anything."""
        return more


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (functools.partial(with_key, "mine"), "key"),
        (functools.partial(with_key, key="mine"), "key"),
        (functools.partial(Free().method), "self"),
        (Free().method, "self"),
        (Free.of_class, "cls"),
        (Free(), "self"),
        (functools.partial(Free.method, Free()), "self"),
    ],
)
def test_what_is_bound_by_place_cannot_be_given_among_free_keywords(function, name):
    assert name not in tool(function).schema["properties"]
    assert run_with(function, other="x")["other"] == "x"
    refused = run_with(function, **{name: "yours"})
    assert (refused["error"], f'no argument "{name}"' in refused["message"]) == ("invalid_input", True)


def test_what_is_bound_in_a_function_without_a_signature_cannot_be_overwritten():
    (made,) = read_tools({"smallest": functools.partial(min, default=3)}).values()
    run = run_agent(ScriptedModel([ask("smallest", default=5), answer("done")]), [made], "Goal")
    assert 'there is no argument "default"' in run.history[2]["result"]["message"]


def test_what_is_bound_may_be_of_any_type_also_of_one_that_cannot_be_read():
    def with_types_of_a_checker(client: "NotThere", words: str):  # noqa: F821
        """Search."""
        return words

    assert run_with(functools.partial(query, Client()), words="mugs") == "Client mugs"
    assert run_with(functools.partial(query, client=Client()), words="mugs") == "Client mugs"
    assert run_with(functools.partial(with_types_of_a_checker, None), words="mugs") == "mugs"


def test_a_partial_may_have_words_and_a_name_of_its_own():
    own = functools.partial(weather, "k")
    own.__name__, own.__doc__ = "bonn", "Weather in Bonn."
    (made,) = read_tools([own]).values()
    assert (made.name, made.description) == ("bonn", "Weather in Bonn.")
    assert tool(own, name="third").name == "third"


def test_two_partials_of_one_function_are_told_apart_or_both_named():
    two = [functools.partial(weather, "k", "Bonn"), functools.partial(weather, "k", "Ulm")]
    with pytest.raises(ValueError, match=r'Two tools are called "weather".*Bonn.*Ulm'):
        read_tools(two)
    named = read_tools({"bonn": two[0], "ulm": two[1]})
    assert list(named) == ["bonn", "ulm"]
    north, south = Shop("north"), Shop("south")
    with pytest.raises(ValueError, match=r'Two tools are called "count".*number 1.*number 3'):
        read_tools([north.count, weather, south.count])


@pytest.mark.parametrize(
    ("function", "name", "words"),
    [
        (Shop().count, "count", "Count a shelf."),
        (functools.partial(Shop().count), "count", "Count a shelf."),
        (functools.partial(Shop.count, Shop()), "count", "Count a shelf."),
        (Shop(), "Shop", "Look at a shelf."),
        (functools.partial(Shop()), "Shop", "Look at a shelf."),
        (Quiet(), "Quiet", "A shop without words about its call."),
        (copied(Shop()), "Shop", "Look at a shelf."),
    ],
)
def test_methods_and_callable_objects_have_their_own_name_and_words(function, name, words):
    (made,) = read_tools([function]).values()
    assert (made.name, made.description) == (name, words)
    assert list(made.schema["properties"]) == ["shelf"]
    assert run_with(function, shelf=2) in ("north 2", "quiet")


def test_a_wrapper_may_have_words_of_its_own_or_none():
    def plain(city: str) -> str:
        return weather("k", city)

    plain.__wrapped__ = functools.partial(weather, "k")
    assert tool(plain).description == "Give the weather of a city."
    renamed = copied(weather)
    renamed.__doc__ = "Weather, told anew."
    assert (
        tool(renamed).description
        == tool(functools.partial(renamed, "k")).description
        == "Weather, told anew."
    )


def test_what_a_wrapper_gives_itself_is_not_offered_and_cannot_be_overwritten():
    @functools.wraps(weather)
    def with_key(city: str) -> str:
        return weather("k", city)

    for function in (with_key, copied(with_key), functools.partial(with_key)):
        made = tool(function)
        assert list(made.schema["properties"]) == ["city"]
        assert run_with(function, city="Bonn") == weather("k", "Bonn")
        assert run_with(function, city="Bonn", key="mine")["error"] == "invalid_input"


def test_a_partial_method_is_a_tool_too():
    (made,) = read_tools([Shop().only_first]).values()
    assert (made.description, made.schema["properties"]) == ("Count a shelf.", {})
    assert run_with(Shop().only_first) == "north 1"


def test_a_partial_of_a_risky_tool_stays_risky():
    risky = tool(weather, risky=True, repeatable=True, timeout_seconds=2)
    made = tool(functools.partial(risky, "k"))
    assert (made.risky, made.repeatable, made.timeout_seconds) == (True, True, 2)
    assert "needs a person's yes" in run_with(functools.partial(risky, "k"), city="Bonn")["message"]


def test_a_watched_run_gives_partials_the_same_names():
    tools = [functools.partial(weather, "k"), Shop()]
    model = ScriptedModel([ask("weather", city="Bonn"), ask("Shop", shelf=2), answer("done")])
    trace = watch(run_agent, model, tools, "Goal")
    assert trace.about["tools"] == ["weather", "Shop"]
    assert [event.entry["result"] for event in trace if event.kind == "result"] == ["k Bonn C", "north 2"]
