"""A server on this computer, a made-up key, and each provider's kit."""

import pytest

from tests.providers.kits import FAKE_KEY, HOW_TO_GET_IT, KITS


@pytest.fixture(scope="session")
def httpserver_listen_address():
    return "127.0.0.1", 0


@pytest.fixture
def made_up_keys(monkeypatch):
    """The environment of a learner who has keys and nothing else; a proxy must not come in between."""
    for kit in KITS.values():
        monkeypatch.setenv(kit.module.KEY, FAKE_KEY)
        monkeypatch.delenv(f"{kit.package.upper()}_BASE_URL", raising=False)
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def need(package, how=HOW_TO_GET_IT):
    """Skip the test if a package is not installed, and say how to get it."""
    pytest.importorskip(package, reason=f"{package} is missing: {how}")


@pytest.fixture
def server(request, made_up_keys):
    """A server on this computer that answers as it is told to; see pytest-httpserver."""
    need("pytest_httpserver")
    return request.getfixturevalue("httpserver")


@pytest.fixture(params=sorted(KITS))
def kit(request):
    """Each provider in turn, where its client is installed."""
    need(KITS[request.param].package)
    return KITS[request.param]


@pytest.fixture
def address(server):
    """The server's address, without a slash at the end."""
    return server.url_for("")


@pytest.fixture
def say(server, kit):
    """say(body, ...) makes the server give these responses, one after the other."""

    def give(*bodies, **how):
        for body in bodies:
            server.expect_ordered_request(kit.path, method="POST").respond_with_json(body, **how)

    return give


@pytest.fixture
def sent(server):
    """sent() gives the bodies of all requests that the server has got."""
    return lambda: [request.get_json() for request, _ in server.log]
