"""Whatever JSON a server sends: a reply that the loop can work with, or a clear error. Needs no client."""

import copy

from hypothesis import given
from hypothesis import strategies as st

from agentlib import run_agent
from agentlib.errors import ProviderError
from agentlib.labs import blue_mugs
from agentlib.messages import user
from agentlib.models import ScriptedModel
from tests.invariants import assert_sound
from tests.providers.kits import KITS
from tests.test_properties import examples

known_words = st.sampled_from(
    ["length", "refusal", "max_tokens", "tool_use", "text", "thinking", "stock_level"]
)
names = st.sampled_from(["text", "type", "id", "name", "function", "arguments", "content", "input", "usage"])
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | known_words,
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(names, inside, max_size=4),
    max_leaves=6,
)


def places_in(value, place=()):
    """Every place in a value, as the keys and numbers that lead to it."""
    yield place
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places_in(value[key], (*place, key))


def with_change(value, place, new):
    if not place:
        return value
    value = copy.deepcopy(value)
    inside = value
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = new
    return value


@st.composite
def bodies(draw):
    """A provider's kit and a response of its server in which up to three things are something else."""
    kit = KITS[draw(st.sampled_from(sorted(KITS)))]
    calls = [("a", "stock_level", kit.raw_input({"warehouse": "north"})), ("b", "nobody", kit.raw_input({}))]
    text, ends = draw(st.sampled_from([None, "Hm."])), draw(st.sampled_from(["", "limit", "filter"]))
    body = kit.body(text, calls[: draw(st.integers(0, 2))], ends)
    for _ in range(draw(st.integers(1, 3))):
        body = with_change(body, draw(st.sampled_from(list(places_in(body)))), draw(anything))
    return kit, body


@examples(400)
@given(bodies())
def test_any_body_is_read_as_a_reply_or_refused_with_a_clear_error(kit_and_body):
    kit, body = kit_and_body
    try:
        reply = kit.module.reply_from(body)
    except ProviderError:
        return
    run = run_agent(ScriptedModel([reply]), blue_mugs.TOOLS, "Goal", 1)
    assert_sound(run)
    for taker in KITS.values():
        taker.takes(taker.module.messages_from([*run.history, user("Go on.")]))
