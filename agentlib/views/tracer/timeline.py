"""A trace as the player gets it: plain data, sent to the browser once."""

import json
from typing import Any

from agentlib.costs import entry_tokens, text_tokens
from agentlib.errors import AgentLibError
from agentlib.messages import calls_in, json_ready, short
from agentlib.trace import Trace
from agentlib.views.building import has_no_frames
from agentlib.views.describe import call_words, entry_error, entry_words, role_of, value_words, visible
from agentlib.views.frames import Frame, Version, frames, notice, source_of, tokens_per_call
from agentlib.views.lanes import lanes_data
from agentlib.views.shown import SHORT_CHARS, WHOLE_CHARS
from agentlib.views.tracer.predict import choices, open_frames, verdict
from agentlib.views.tracer.static import summary

__all__ = ["timeline"]

EDIT_CHARS = 20_000
"""A reply or result longer than this cannot be changed in a fork: a text field is the wrong place for it."""


def timeline(trace: Trace, label: str = "", predict: bool = False, tools: Any = None) -> dict[str, Any]:
    """Turn a trace into what the player plays.

    label: the name of the run, where several stand side by side. predict: hide the end until it is guessed.
    tools: what the loop was given, for the requests as a provider sees them; None = as the trace knows them.
    """
    all_frames = frames(trace)
    source = source_of(trace)
    places = all_frames[-1].history.versions if all_frames else []
    data: dict[str, Any] = {
        "label": visible(label),
        "lines": [visible(line) for line in source.lines],
        "first_line": source.first_line,
        "max_steps": all_frames[-1].max_steps if all_frames else None,
        "frames": [
            _frame(frame, before) for before, frame in zip([None, *all_frames], all_frames, strict=False)
        ],
        "places": [[_version(version) for version in stood] for stood in places],
        "calls": tokens_per_call(trace),
        "summary": summary(trace),
        "predict": _question(trace, all_frames) if predict else None,
        "changes": _changeable(trace),
        "difference": None,
    }
    for name, words in (("notice", notice(trace)), ("remark", str(trace.about.get("remarks") or ""))):
        if words:
            data[name] = visible(words)
    if requests := _requests(trace, tools):
        data["wire"] = requests
    return data


def _requests(trace: Trace, tools: Any) -> list[dict[str, Any]]:
    """Give the requests of a short run as providers get them; none where one would refuse its tools."""
    from agentlib.views.tracer.wire import MAX_WIRE_STEPS, wire  # needs the providers, and is rarely needed

    if not 0 < sum(event.kind == "ask" for event in trace.events) <= MAX_WIRE_STEPS:
        return []
    try:
        return wire(trace, tools)
    except (AgentLibError, TypeError, ValueError):
        return []


def _frame(frame: Frame, before: Frame | None) -> dict[str, Any]:
    """Turn a frame into data; of what lasts from frame to frame only what is new since the one before."""
    data: dict[str, Any] = {
        "line": frame.line,
        "move": frame.move,
        "step": frame.step,
        "tokens": frame.tokens_read,
        "entries": frame.entries,
        "caption": frame.caption,
    }
    if frame.new:
        data["new"] = list(frame.new)
    if frame.stopped is not None:
        data["stopped"] = frame.stopped
    if frame.error:
        data["error"] = True
    if frame.vars:
        data["vars"] = {
            visible(name): text if text is None else visible(text) for name, text in frame.vars.items()
        }
    if frame.values:
        data["values"] = [{"line": line, "text": visible(text)} for line, text in frame.values]
    if frame.coming is not (before.coming if before is not None else None):
        data["coming"] = frame.coming
    if frame.mark:
        data["mark"] = frame.mark
    if frame.meter != (before.meter if before is not None else ()):
        data["meter"] = list(frame.meter)
    if frame.lanes != (before.lanes if before is not None else ()):
        data["lanes"] = lanes_data(frame.lanes) if frame.lanes else None
    return data


def _version(version: Version) -> dict[str, Any]:
    words = entry_words(version.entry)
    data: dict[str, Any] = {
        "frame": version.frame,
        "who": role_of(version.entry),
        "text": short(words, SHORT_CHARS),
        "tokens": _tokens(version.entry),
    }
    if len(words) > SHORT_CHARS:
        data["whole"] = words[:WHOLE_CHARS]
        data["chars"] = len(words)
    marks = ["repeat"] if version.repeat else []
    if entry_error(version.entry) is not None:
        marks.append("error")
    if marks:
        data["marks"] = marks
    return data


def _tokens(entry: Any) -> int:
    """Estimate what a model reads of an entry; one in a shape of its own counts by its words."""
    try:
        return entry_tokens(entry)
    except (TypeError, AttributeError):
        return text_tokens(value_words(entry))


def _question(trace: Trace, all_frames: list[Frame]) -> dict[str, Any]:
    offered = choices(trace)
    return {
        "open": open_frames(all_frames),
        "choices": offered,
        "verdicts": {choice: verdict(trace, choice) for choice in offered},
    }


def _changeable(trace: Trace) -> list[dict[str, Any]]:
    """List the replies and results that a fork may change, with what they were."""
    found: list[dict[str, Any]] = []
    results, steps, all_steps = 0, 0, trace.steps
    for number, event in enumerate(trace.events):
        if event.kind == "ask":
            results, steps = 0, steps + 1
        if has_no_frames(steps, all_steps):
            continue
        if event.kind == "reply" and event.entry is not None:
            reply = {key: value for key, value in event.entry.items() if key not in ("role", "usage")}
            calls = calls_in(reply)
            words = "asked for " + ", ".join(call_words(call, 40) for call in calls) if calls else "answered"
            found.append(_change(event.step, "reply", 0, f"Step {event.step}: the model {words}", reply))
        elif event.kind == "result" and event.entry is not None and event.text != "not run":
            call = call_words(trace.request(number), 40)
            label = f"Step {event.step}: what {call} gave"
            found.append(_change(event.step, "result", results, label, event.entry.get("result")))
            results += 1
    return [change for change in found if len(change["json"]) <= EDIT_CHARS]


def _change(step: int, kind: str, call: int, label: str, value: object) -> dict[str, Any]:
    text = json.dumps(json_ready(value)[0], indent=1, ensure_ascii=False)
    return {"step": step, "kind": kind, "call": call, "label": short(label, 100), "json": visible(text)}
