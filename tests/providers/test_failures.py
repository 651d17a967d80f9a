"""What goes wrong at the provider ends as a run with a reason, soon, and nowhere with the key in it."""

import json
import pickle
import socket
import threading
import time
import traceback

import pytest

from agentlib import Trace, run_agent
from agentlib.errors import ProviderError
from agentlib.labs import blue_mugs
from agentlib.messages import user
from tests.invariants import assert_sound
from tests.providers.kits import FAKE_KEY

ECHO = f"What you sent: {FAKE_KEY}."
PAGE = f"<html><body><h1>Welcome to the hotel's network</h1>{ECHO}</body></html>"


# --- one way to fail each -----------------------------------------------------------------------------

HTML, JSON = {"content_type": "text/html"}, {"content_type": "application/json"}


def half_a_json(kit):
    text = json.dumps(kit.body(ECHO))
    return text[: text.index(FAKE_KEY) + len(FAKE_KEY) + 2]


# What a server sends (a text, or something as JSON), how, and what the run's reason then says.
FAILURES = {
    # It shows the whole key, which the providers' own servers do not.
    "wrong key": (
        lambda kit: kit.failure(f"Incorrect key: {FAKE_KEY}"),
        {"status": 401},
        ["401", "Incorrect key: [key]"],
    ),
    "wrong model name": (
        lambda kit: kit.failure(f"There is no model test-model. {ECHO}"),
        {"status": 404},
        ["404", "There is no model test-model."],
    ),
    "request refused": (lambda kit: kit.failure(ECHO * 500), {"status": 400}, ["400"]),
    "server error as a page": (lambda kit: PAGE, {"status": 502, **HTML}, ["502"]),
    "a page": (lambda kit: PAGE, HTML, ["no JSON object", "Welcome to the hotel", "base_url"]),
    "a page that says it is JSON": (lambda kit: PAGE, JSON, ["JSON that cannot be read"]),
    "half a JSON": (half_a_json, JSON, ["JSON that cannot be read"]),
    "nothing at all": (lambda kit: "", JSON, ["JSON that cannot be read"]),
    "another JSON": (lambda kit: {"message": ECHO}, {}, ["holds no reply"]),
    "a list": (lambda kit: [ECHO], {}, ["no JSON object"]),
    "half an answer": (lambda kit: kit.body(ECHO, ends="limit"), {}, ["cut off by the output limit"]),
}


def fail(kit, server, failure):
    """Let the server answer in this way, and give the words that have to be said."""
    make, options, expected = FAILURES[failure]
    body, request = make(kit), server.expect_request(kit.path)
    respond = request.respond_with_data if isinstance(body, str) else request.respond_with_json
    respond(body, **options)
    return expected


def assert_nowhere(secret, run, folder):
    """The secret stands neither in what a run shows nor in what it saves."""
    saved = run.trace.save(folder / "run.jsonl")
    shown = [repr(run), str(run), run.stopped.detail, repr(run.stopped), str(run.history), repr(run.trace)]
    for text in [*shown, str(run.trace.events), json.dumps(run.history), saved.read_text(encoding="utf-8")]:
        assert secret not in text
    assert secret not in str(Trace.load(saved).events)


def assert_fails_without_the_key(model, secret=FAKE_KEY):
    """Called by hand, the model raises an error that brings the key along in no way."""
    with pytest.raises(ProviderError) as caught:
        model([user("Goal")])
    problem = caught.value
    assert problem.__cause__ is problem.__context__ is None
    texts = [str(problem), repr(problem), repr(problem.args), repr(vars(problem))]
    texts += traceback.format_exception(problem)
    for text in texts:
        assert secret not in text
    assert secret not in repr(pickle.dumps(problem.args))
    return problem


@pytest.mark.parametrize("failure", FAILURES)
def test_whatever_the_server_does_the_run_ends_with_a_reason_and_without_the_key(
    kit, server, address, tmp_path, capfd, failure
):
    expected = fail(kit, server, failure)
    begun = time.monotonic()
    model = kit.model(address, blue_mugs.TOOLS)
    run = run_agent(model, blue_mugs.TOOLS, blue_mugs.GOAL)
    assert time.monotonic() - begun < 10
    assert_sound(run)
    assert (run.stopped, run.steps, run.answer) == ("model error", 1, None)
    for words in (kit.package, *expected):
        assert words in run.stopped.detail
    assert_nowhere(FAKE_KEY, run, tmp_path)
    assert_fails_without_the_key(model)
    assert FAKE_KEY not in "".join(capfd.readouterr())


def test_a_key_at_the_place_where_a_long_message_is_cut_is_not_shown_in_part(kit, server, address):
    for length in range(1_780, 1_960, 12):
        server.clear()
        body = kit.failure("x" * length + FAKE_KEY + "y" * 200)
        server.expect_request(kit.path).respond_with_json(body, status=400)
        assert_fails_without_the_key(kit.model(address, {}), FAKE_KEY[:12])


def test_the_status_of_the_response_is_kept(kit, server, address):
    fail(kit, server, "wrong key")
    assert assert_fails_without_the_key(kit.model(address, {})).status == 401


def test_what_was_done_before_a_failure_is_kept(kit, server, address, say, tmp_path):
    say(kit.body("I look.", [("id_1", "stock_level", kit.raw_input({"warehouse": "north"}))]))
    server.expect_ordered_request(kit.path).respond_with_json(kit.failure(ECHO), status=500)
    run = run_agent(kit.model(address, blue_mugs.TOOLS), blue_mugs.TOOLS, blue_mugs.GOAL)
    assert_sound(run)
    assert (run.stopped, run.steps, run.tool_runs) == ("model error", 2, 1)
    assert run.history[-1]["result"]["blue_mugs"] == 140
    assert_nowhere(FAKE_KEY, run, tmp_path)


# --- no server, or one that does not answer -------------------------------------------------------------


def test_a_server_that_is_down(kit, made_up_keys, tmp_path):
    with socket.socket() as closed:  # bound and not listening: nobody else takes this port meanwhile
        closed.bind(("127.0.0.1", 0))
        model = kit.model(f"http://127.0.0.1:{closed.getsockname()[1]}", {})
        run = run_agent(model, {}, "Goal")
        assert_fails_without_the_key(model)
    assert run.stopped == "model error"
    assert "Connection error" in run.stopped.detail
    assert "refused" in run.stopped.detail
    assert_nowhere(FAKE_KEY, run, tmp_path)


def test_a_slow_server_takes_no_longer_than_the_clients_time_out(kit, server, address, tmp_path):
    answer_now = threading.Event()

    def wait(request):
        answer_now.wait(20)
        return "too late"

    server.expect_request(kit.path).respond_with_handler(wait)
    begun = time.monotonic()
    try:
        run = run_agent(kit.model(address, {}, timeout=0.3), {}, "Goal")
        seconds = time.monotonic() - begun
    finally:
        answer_now.set()
    assert (run.stopped, run.steps) == ("model error", 1)
    assert "timed out" in run.stopped.detail
    assert 0.3 <= seconds < 5
    assert_nowhere(FAKE_KEY, run, tmp_path)


def test_a_connection_that_breaks_off_in_the_middle_of_the_answer(kit, made_up_keys, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer_half():
            connection, _ = listening.accept()
            with connection:
                connection.recv(65_536)
                head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n"
                connection.sendall(head + f'{{"text": "{FAKE_KEY}'.encode())

        answering = threading.Thread(target=answer_half, daemon=True)
        answering.start()
        run = run_agent(kit.model(f"http://127.0.0.1:{listening.getsockname()[1]}", {}), {}, "Goal")
        answering.join(10)
    assert_sound(run)
    assert run.stopped == "model error"
    assert_nowhere(FAKE_KEY, run, tmp_path)


# --- a server that sends the key back with a reply that is fine -----------------------------------------


def test_a_key_that_comes_back_in_a_reply_is_not_kept(kit, say, address, tmp_path):
    asked = ("id_1", FAKE_KEY, kit.raw_input({"warehouse": FAKE_KEY, FAKE_KEY: [FAKE_KEY]}))
    say(kit.body(ECHO, [asked]), kit.body(ECHO))
    run = run_agent(kit.model(address, blue_mugs.TOOLS), blue_mugs.TOOLS, "Goal")
    assert_sound(run)
    assert (run.stopped, run.errors) == ("answered", 1)
    assert run.answer == "What you sent: [key]."
    assert_nowhere(FAKE_KEY, run, tmp_path)


# --- keys that a header cannot hold, given to a client by hand ------------------------------------------


@pytest.mark.parametrize("odd", ["\n", " \r\n", "é", "\u2026", "\nx-other: 1", "\0", '"', "\\"])
def test_a_key_that_no_header_can_hold_is_not_shown_either(kit, server, address, tmp_path, odd):
    response = pytest.importorskip("werkzeug").Response

    def echo(request):
        return response(json.dumps(kit.failure(str(request.headers))), 401, content_type="application/json")

    server.expect_request(kit.path).respond_with_handler(echo)
    key = FAKE_KEY + odd
    made = kit.module.client(base_url=address + kit.base, max_retries=0)
    model = kit.module.model(made.with_options(api_key=key), "test-model", {})
    run = run_agent(model, {}, "Goal")
    assert run.stopped == "model error"
    assert "401" in run.stopped.detail or "header" in run.stopped.detail or "codec" in run.stopped.detail
    assert_nowhere(FAKE_KEY, run, tmp_path)
    assert_fails_without_the_key(model)


def test_a_secret_in_a_header_of_ones_own_is_not_shown_either(kit, server, address, tmp_path):
    secret = "wombat-behind-the-proxy-77"
    server.expect_request(kit.path).respond_with_json(kit.failure(f"You sent {secret}"), status=403)
    client = kit.module.client(
        base_url=address + kit.base, max_retries=0, default_headers={"X-Proxy-Token": f"Basic {secret}"}
    )
    model = kit.module.model(client, "test-model", {})
    assert_nowhere(secret, run_agent(model, {}, "Goal"), tmp_path)
    assert "You sent [key]" in str(assert_fails_without_the_key(model, secret))


def test_a_key_of_a_few_signs_is_no_secret_and_changes_no_reply(kit, say, address, monkeypatch):
    """Servers on one's own computer want no key, and get "x"."""
    monkeypatch.setenv(kit.module.KEY, "x")
    say(kit.body("The box has six mugs."))
    assert run_agent(kit.model(address, {}), {}, "Goal").answer == "The box has six mugs."


# --- a client for other code ----------------------------------------------------------------------------


def test_a_client_for_async_code_is_said_to_be_one(kit, made_up_keys, address):
    package = pytest.importorskip(kit.package)
    client = getattr(package, kit.async_client)(base_url=address + kit.base)
    run = run_agent(kit.module.model(client, "test-model", {}), {}, "Goal")
    assert run.stopped == "model error"
    assert "async" in run.stopped.detail


def test_a_setting_that_the_client_does_not_know_is_named(kit, address):
    run = run_agent(kit.model(address, {}, temprature=0), {}, "Goal")
    assert run.stopped == "model error"
    assert "temprature" in run.stopped.detail
