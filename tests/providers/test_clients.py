"""Before the first call: the key, the package, and what a programmer got wrong."""

import subprocess
import sys
from pathlib import Path

import pytest

from agentlib import tool
from agentlib.errors import ProviderError
from agentlib.labs import blue_mugs
from tests.providers.kits import FAKE_KEY, KITS

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("key", [None, "", "  ", "\n"])
def test_without_a_key_there_is_a_clear_error_before_the_first_call(kit, monkeypatch, key):
    if key is None:
        monkeypatch.delenv(kit.module.KEY, raising=False)
    else:
        monkeypatch.setenv(kit.module.KEY, key)
    with pytest.raises(ProviderError, match=f"environment variable {kit.module.KEY} is not set") as caught:
        kit.module.client()
    assert (caught.value.provider, caught.value.status) == (kit.package, None)


@pytest.mark.parametrize("odd", [" and more", "\u2026", "é", "\t1", "\nX-Other: 1"])
def test_a_key_that_can_be_none_is_refused_and_not_shown(kit, monkeypatch, odd):
    monkeypatch.setenv(kit.module.KEY, FAKE_KEY + odd)
    with pytest.raises(ProviderError, match="a character that no key has") as caught:
        kit.module.client()
    assert FAKE_KEY not in str(caught.value)


def test_a_line_end_behind_the_key_does_no_harm(kit, monkeypatch):
    monkeypatch.setenv(kit.module.KEY, FAKE_KEY + "\r\n")
    assert kit.module.client().api_key == FAKE_KEY


def test_a_key_in_the_code_is_refused_and_not_shown(kit, made_up_keys):
    with pytest.raises(TypeError, match=f"read from {kit.module.KEY}") as caught:
        kit.module.client(api_key="sk-in-the-code")
    assert "sk-in-the-code" not in str(caught.value)


def test_neither_the_client_nor_the_model_function_shows_the_key(kit, made_up_keys):
    client = kit.module.client()
    model = kit.module.model(client, "test-model", blue_mugs.TOOLS)
    for thing in (client, model):
        assert FAKE_KEY not in repr(thing) + str(thing)


def test_options_are_the_clients_own(kit, made_up_keys):
    client = kit.module.client(base_url="http://127.0.0.1:9/v1/", timeout=3, max_retries=5)
    assert (client.timeout, client.max_retries) == (3, 5)
    assert str(client.base_url).startswith("http://127.0.0.1:9/")


each = pytest.mark.parametrize("module", [kit.module for kit in KITS.values()], ids=list(KITS))


@each
@pytest.mark.parametrize("name", ["", " ", None, 3])
def test_a_model_without_a_name_is_an_error_at_once(module, name):
    with pytest.raises(ValueError, match="name is the provider's name of a model"):
        module.model(None, name, {})


@each
@pytest.mark.parametrize("setting", ["stream", "messages"])
def test_what_the_module_makes_itself_is_no_setting(module, setting):
    with pytest.raises(TypeError, match=f"{setting} is not a setting"):
        module.model(None, "m", {}, **{setting: True})


@each
def test_a_system_text_that_is_none_is_an_error_at_once(module):
    with pytest.raises(TypeError, match="system is text"):
        module.model(None, "m", {}, system=["Be brief."])


@each
@pytest.mark.parametrize("odd", ["stock level", "größe", "x" * 65, "stock.level", ""])
def test_a_tool_whose_name_no_provider_takes_is_an_error_at_once(module, odd):
    with pytest.raises(ValueError, match="1 to 64 letters"):
        module.model(None, "m", {odd: blue_mugs.stock_level})
    longest = tool(blue_mugs.stock_level, name="x" * 64)
    assert module.model(None, "m", [longest])


@each
def test_the_package_that_is_missing_is_named_with_the_command(module, made_up_keys, monkeypatch):
    monkeypatch.setattr("agentlib.providers._shared.find_spec", lambda name: None)
    with pytest.raises(ProviderError, match=r"not installed. Run: .*pip install -e"):
        module.client()


def test_importing_a_provider_loads_no_client():
    code = (
        "import sys, agentlib.providers.openai, agentlib.providers.anthropic\n"
        "print(*sorted({'openai', 'anthropic', 'httpx2', 'httpx'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == ""
