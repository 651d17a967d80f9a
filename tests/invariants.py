"""What holds for every run, however it went and whatever ended it."""

import json
from collections.abc import Iterable

from agentlib import Run, stops
from agentlib.messages import calls_in, is_error

LIMITS = {"step limit", "token budget", "coin budget", "cost budget", "deadline"}
RULES = {"repeated call", "no progress", "too many errors", "tool called"}
KNOWN_REASONS = {
    "answered",
    "empty reply",
    "model error",
    "fatal error",
    "cancelled",
    "waiting",
    *LIMITS,
    *RULES,
}


def assert_every_request_answered(history: list[dict]) -> None:
    """Each request has exactly one result, at once after its reply, in order, and no result is left over."""
    waiting: list[dict] = []
    for number, entry in enumerate(history):
        if entry["role"] == "tool":
            assert waiting, f"entry {number} is a result that nobody asked for: {entry}"
            call = waiting.pop(0)
            assert (entry["id"], entry["tool"]) == (call["id"], call["tool"]), f"entry {number}"
            assert "result" in entry
            continue
        assert not waiting, f"entry {number} comes before the results of {waiting}"
        waiting = calls_in(entry) if entry["role"] == "model" else []
        ids = [call["id"] for call in waiting]
        assert all(type(name) is str and name.strip() for name in ids), f"entry {number}: ids {ids}"
        assert len(set(ids)) == len(ids), f"entry {number} uses an id twice: {ids}"
    assert not waiting, f"the history ends before the results of {waiting}"


def assert_json_ready(value: object) -> None:
    """The value is the same after a way through JSON text, in any of the ways in which JSON is written."""
    text = json.dumps(value, allow_nan=False)
    assert json.loads(text) == value
    assert json.loads(json.dumps(value, allow_nan=False, ensure_ascii=False).encode()) == value


def assert_sound(run: Run, own_reasons: Iterable[str] = ()) -> None:
    """All that a caller may rely on, whatever the model and the tools did."""
    assert isinstance(run, Run)
    assert type(run.stopped) is stops.StopReason
    assert run.stopped in KNOWN_REASONS | set(own_reasons), run.stopped
    assert type(run.stopped.detail) is str
    assert len(run.stopped.detail) <= 2_000
    assert_every_request_answered(run.history)
    assert_json_ready(run.history)
    assert [entry["role"] for entry in run.history[:1]] in (["user"], [])
    if run.stopped == "answered":
        assert run.answer.strip()
        assert run.history[-1]["text"] == run.answer
    elif not run.closing:
        assert run.answer is None
    counts = (run.steps, run.tool_runs, run.errors, run.coins, run.usage.input_tokens)
    assert all(type(count) is int and count >= 0 for count in counts)

    events = run.trace.events
    assert events[-1].kind == "stop"
    assert (run.trace.stopped, run.trace.answer) == (run.stopped, run.answer)
    assert run.trace.detail == run.stopped.detail
    assert run.trace.steps == run.steps
    assert run.trace.history_after(len(events)) == run.history
    assert sum(event.ran for event in events) == run.tool_runs
    invalid = sum(event.kind == "reply" and event.entry["type"] == "invalid" for event in events)
    failed = [event for event in events if event.kind == "result" and is_error(event.entry["result"])]
    assert invalid + sum(event.text != "not run" for event in failed) == run.errors
    assert sum(event.entries for event in events if event.kind == "ask") == run.coins
    read = sum(event.tokens for event in events if event.kind == "reply")
    read_for_nothing = (
        events[-1].entry.get("usage", {}).get("input_tokens", 0)
    )  # by a call that gave no reply
    failed = [event.entry.get("usage", {}) for event in events if event.kind == "attempt"]
    read_for_nothing += sum(usage.get("input_tokens", 0) for usage in failed)
    assert read + read_for_nothing == run.usage.input_tokens
