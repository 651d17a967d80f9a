"""A run as spans of OpenTelemetry, which the tools of a team can read.

Installed with the extra `otel`, the official SDK. The names are those of the GenAI semantic conventions, and
stand in one table, `NAMES`. They are of version 1.41.0, the last one with a published schema; the conventions
are still in development, and have gone on in a repository of their own:
https://github.com/open-telemetry/semantic-conventions-genai
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from agentlib.messages import Entry, calls_in, describe, error_text, is_reply, is_result, json_text
from agentlib.stops import EMPTY_REPLY, FATAL_ERROR, MODEL_ERROR, TOO_MANY_ERRORS
from agentlib.trace import Event, Trace

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer, TracerProvider

__all__ = ["CONVENTIONS_VERSION", "NAMES", "SCHEMA_URL", "to_opentelemetry"]

CONVENTIONS_VERSION = "1.41.0"
"""The version of the semantic conventions that the names are taken from:
https://github.com/open-telemetry/semantic-conventions/tree/v1.41.0/docs/gen-ai"""

SCHEMA_URL = f"https://opentelemetry.io/schemas/{CONVENTIONS_VERSION}"
"""The address of its schema, which each span names."""

NAMES: Mapping[str, str] = {
    # what is done: the value of "operation", and how the name of the span begins
    "run": "invoke_agent",
    "call": "chat",
    "tool": "execute_tool",
    # of every span
    "operation": "gen_ai.operation.name",
    "error": "error.type",
    # of the run and the model calls
    "agent": "gen_ai.agent.name",
    "provider": "gen_ai.provider.name",
    "model": "gen_ai.request.model",
    "finish": "gen_ai.response.finish_reasons",
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cached_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_write_tokens": "gen_ai.usage.cache_creation.input_tokens",
    # of a tool
    "tool_name": "gen_ai.tool.name",
    "tool_type": "gen_ai.tool.type",
    "tool_description": "gen_ai.tool.description",
    "call_id": "gen_ai.tool.call.id",
    # content, which is written only if it is asked for
    "input": "gen_ai.input.messages",
    "output": "gen_ai.output.messages",
    "arguments": "gen_ai.tool.call.arguments",
    "result": "gen_ai.tool.call.result",
    # what the conventions have no name for
    "stop_reason": "agentlib.stop_reason",
    "steps": "agentlib.steps",
    "step": "agentlib.step",
    "estimated_tokens": "agentlib.estimated_input_tokens",
    "attempt": "agentlib.attempt",
    "wait": "agentlib.wait_seconds",
    "times": "agentlib.times",
    "not_run": "agentlib.request_not_run",
}
"""Our words, and what they are called in a span. Those from "stop_reason" on are our own."""

_FAILED = (MODEL_ERROR, FATAL_ERROR, TOO_MANY_ERRORS, EMPTY_REPLY)
"""The reasons to stop that are errors of the run. A limit is none: it did what it is for."""

_TOKENS = ("input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens")


def to_opentelemetry(
    trace: Trace,
    tracer_provider: "TracerProvider",
    *,
    model: str = "",
    provider: str = "",
    agent: str = "",
    started: datetime | None = None,
    content: bool = False,
) -> None:
    """Write a trace as spans: one for the run, and in it one for each model call, each tool, each attempt.

    tracer_provider: where they go, such as the SDK's `TracerProvider`. The run becomes a child of the span
    that is open, if one is. model, provider, agent: names, where a recording does not say them.
    started: when the run began, with its time zone; None = it has ended just now.
    content: write what was said, too: goals, replies, inputs, results and the words of errors. Without it
    spans hold names, numbers and kinds of errors.
    Tokens are those that the provider has counted; an estimate stands under a name of its own.
    Where no event has a time (an older trace, a watched loop, a run of less than a millisecond), each event
    is put one millisecond after the one before, and the run's "agentlib.times" says "made up".
    Raises TypeError or ValueError for a wrong argument, before any span.
    """
    if not isinstance(trace, Trace):
        raise TypeError(f"trace is a Trace, but was {describe(trace)}.")
    if not hasattr(tracer_provider, "get_tracer"):
        raise TypeError(f"tracer_provider is a TracerProvider, but was {describe(tracer_provider)}.")
    if not trace.events:
        raise ValueError("The trace holds no event.")
    timed = any(event.seconds for event in trace)
    last = trace.events[-1].seconds if timed else len(trace) / 1_000
    if started is None:
        started = datetime.now(UTC) - timedelta(seconds=last)
    elif not isinstance(started, datetime):
        raise TypeError(f"started is a datetime, but was {describe(started)}.")
    elif started.tzinfo is None:
        raise ValueError("started is a time with a time zone, such as datetime.now(UTC).")
    recorded = trace.about.get("recorded", {})
    who = {
        "provider": provider or str(recorded.get("provider", "")) or "_OTHER",
        "model": model or str(recorded.get("model", "")),
    }
    tracer = tracer_provider.get_tracer("agentlib", schema_url=SCHEMA_URL)
    _Writer(trace, tracer, int(started.timestamp() * 1e9), timed, who, content).write(agent)


class _Part(NamedTuple):
    """A model call or a tool's run: the places of its first and its last event. None = it has no end."""

    begin: int
    end: int | None


class _Writer:
    """Writes the spans of one trace. start_ns: when the run began. who: provider and model."""

    def __init__(
        self, trace: Trace, tracer: "Tracer", start_ns: int, timed: bool, who: Entry, content: bool
    ) -> None:
        from opentelemetry import trace as api

        self.api, self.trace, self.events, self.tracer = api, trace, trace.events, tracer
        self.start_ns, self.timed, self.who, self.content = start_ns, timed, who, content
        self.histories = trace.histories() if content else []
        stop = self.last("stop")
        self.stopped, self.said = (stop.text, stop.entry or {}) if stop else ("", {})

    def write(self, agent: str) -> None:
        run = self.open("run", agent, 0, self.api.SpanKind.INTERNAL, None, {**self.who, "agent": agent})
        inside = self.api.set_span_in_context(run)
        for call, attempts in self.calls():
            self.write_call(call, attempts, inside)
        for part in self.tools():
            self.write_tool(part, inside)
        for number, event in enumerate(self.events):
            if event.kind == "result" and event.text == "not run" and not self.act_of(number):
                result = (event.entry or {}).get("result")
                facts = {"call_id": (event.entry or {}).get("id"), "error": _code(result)}
                run.add_event(NAMES["not_run"], _named(facts), timestamp=self.at(number))
        said = (event.entry or {} for event in self.events if event.kind in ("reply", "attempt", "stop"))
        usages = [usage for usage in map(_usage, said) if usage]
        sums = {name: sum(usage.get(name, 0) for usage in usages) for name in _TOKENS if usages}
        facts = {
            "stop_reason": self.stopped, "steps": self.trace.steps,
            "times": None if self.timed else "made up", **sums,
        }  # fmt: skip
        if self.content:
            facts["input"] = json_text([_message({"role": "user", "text": self.trace.goal})])
            if self.trace.answer is not None:
                facts["output"] = json_text([_message({"type": "answer", "text": self.trace.answer})])
        run.set_attributes(_named(facts))
        crash = self.last("crash")
        if crash is not None:
            self.fail(run, "crash", crash.text)
        elif self.stopped in _FAILED:
            self.fail(run, self.stopped, self.trace.detail)
        run.end(self.at(len(self.events) - 1))

    # -- what belongs together

    def calls(self) -> Iterator[tuple[_Part, list[int]]]:
        """Give each model call with the places of its attempts that failed."""
        begin, attempts = -1, list[int]()
        for number, event in enumerate(self.events):
            if event.kind == "attempt":
                attempts.append(number)
            elif begin >= 0 and event.kind in ("reply", "ask", "stop", "crash"):
                yield _Part(begin, number if event.kind == "reply" else None), attempts
                begin = -1
            if event.kind == "ask":
                begin, attempts = number, []
        if begin >= 0:
            yield _Part(begin, None), attempts

    def act_of(self, number: int) -> int | None:
        """Find where the tool was begun whose result is event `number`; None = it was not begun."""
        event = self.events[number]
        entry = event.entry or {}
        if self.trace.watched and event.id:
            return int(event.id)
        for place in range(number - 1, -1, -1):
            earlier = self.events[place]
            if earlier.kind == "act" and (
                earlier.text == entry.get("tool") if self.trace.watched else earlier.id == entry.get("id")
            ):
                return place
            if earlier.kind == "reply":
                break
        return None

    def tools(self) -> Iterator[_Part]:
        """Give each run of a tool, in the order in which they were begun."""
        ends: dict[int, int] = {}
        for number, event in enumerate(self.events):
            if event.kind == "result" and (act := self.act_of(number)) is not None:
                ends.setdefault(act, number)
        for number, event in enumerate(self.events):
            if event.kind == "act":
                yield _Part(number, ends.get(number))

    # -- the spans

    def write_call(self, call: _Part, attempts: list[int], inside: Any) -> None:
        asked = self.events[call.begin]
        span = self.open("call", self.who["model"], call.begin, self.api.SpanKind.CLIENT, inside, self.who)
        end = call.end if call.end is not None else self.last_of(call.begin)
        reply = self.events[call.end] if call.end is not None else None
        gave = reply is not None and reply.text != "raised"
        closes = asked is self.last("ask")  # what the stop event says is of the last call
        entry: Entry = (reply.entry if reply else self.said if closes else None) or {}
        facts = {"step": asked.step, **_usage(entry)}
        if not _usage(entry):
            facts["estimated_tokens"] = asked.tokens
        if gave:
            facts["finish"] = [_finish(entry)]
        if self.content:
            read = self.histories[asked.step - 1] if 0 < asked.step <= len(self.histories) else []
            facts["input"] = json_text([_message(one) for one in read])
            facts["output"] = json_text([_message(entry)]) if gave else None
        span.set_attributes(_named(facts))
        if not gave:
            self.fail(span, *self.why_no_reply(asked, reply))
        elif reply is not None and entry.get("type") == "invalid":
            self.fail(span, "invalid reply", reply.text)
        begin = self.at(call.begin)
        for place in attempts:
            begin = self.write_attempt(place, begin, self.api.set_span_in_context(span))
        if attempts:
            facts = {"attempt": len(attempts) + 1}
            last = self.tracer.start_span(
                "attempt",
                self.api.set_span_in_context(span),
                self.api.SpanKind.CLIENT,
                _named(facts),
                start_time=begin,
            )
            if not gave:
                self.fail(last, *self.why_no_reply(asked, reply))
            last.end(max(begin, self.at(end)))
        span.end(self.at(end))

    def why_no_reply(self, asked: Event, reply: Event | None) -> tuple[str, str]:
        if reply is not None:  # a watched model raised
            entry = reply.entry or {}
            return str(entry.get("error")), error_text(entry) or ""
        if asked.text == "closing":
            return MODEL_ERROR, ""
        if asked is self.last("ask") and self.stopped:
            return _status(self.trace.detail) or self.stopped, self.trace.detail
        return "not finished", "The trace holds no reply to this call."

    def write_attempt(self, place: int, begin: int, inside: Any) -> int:
        """Write one attempt that failed; give when the next one began."""
        event = self.events[place]
        entry = event.entry or {}
        wait = entry.get("wait_seconds", 0)
        facts = {"attempt": entry.get("attempt"), "wait": wait, **_usage(entry)}
        span = self.tracer.start_span(
            "attempt", inside, self.api.SpanKind.CLIENT, _named(facts), start_time=min(begin, self.at(place))
        )
        self.fail(span, _status(event.text) or "_OTHER", event.text)
        span.end(self.at(place))
        return self.at(place) + (int(wait * 1e9) if self.timed else 0)

    def write_tool(self, part: _Part, inside: Any) -> None:
        act = self.events[part.begin]
        request = self.trace.request(part.begin)
        offered = self.trace.about.get("offered", {}).get(act.text, {})
        facts = {
            "tool_name": act.text, "tool_type": "function", "call_id": request.get("id") or act.id,
            "tool_description": offered.get("description"), "step": act.step,
        }  # fmt: skip
        span = self.open("tool", act.text, part.begin, self.api.SpanKind.INTERNAL, inside, facts)
        end = part.end if part.end is not None else self.last_of(part.begin)
        result = (self.events[end].entry or {}).get("result") if part.end is not None else None
        if self.content:
            facts = {"arguments": json_text(request.get("input"))}
            if part.end is not None:
                facts["result"] = json_text(result)
            span.set_attributes(_named(facts))
        words = error_text(result)
        if part.end is None:
            self.fail(span, "not finished", "The trace ends before the tool does.")
        elif words is not None and self.events[end].text == "not run":
            span.set_attribute(NAMES["error"], _code(result))  # a person said no: that is no failure
        elif words is not None:
            self.fail(span, _code(result), words)
        span.end(self.at(end))

    # -- what they have in common

    def open(self, what: str, name: str, place: int, kind: Any, inside: Any, facts: Entry) -> "Span":
        return self.tracer.start_span(
            f"{NAMES[what]} {name}".strip(),
            inside,
            kind,
            _named({"operation": NAMES[what], **facts}),
            start_time=self.at(place),
        )

    def fail(self, span: "Span", kind: str, words: str) -> None:
        span.set_attribute(NAMES["error"], kind)
        span.set_status(self.api.Status(self.api.StatusCode.ERROR, words if self.content else None))

    def last(self, kind: str) -> Event | None:
        return next((event for event in reversed(self.events) if event.kind == kind), None)

    def at(self, place: int) -> int:
        """Give when an event happened, in nanoseconds since 1970."""
        seconds = self.events[place].seconds if self.timed else place / 1_000
        return self.start_ns + round(seconds * 1e9)

    def last_of(self, place: int) -> int:
        """Give the last event of the step that event `place` belongs to."""
        step = self.events[place].step
        return max(number for number, event in enumerate(self.events) if event.step == step)


def _status(words: str) -> str:
    """Give the HTTP status that a provider's error names, which is the kind of the error; "" = none."""
    found = re.search(r"(?:HTTP status|Error code:) (\d{3})\b", words)
    return found[1] if found else ""


def _finish(reply: Entry) -> str:
    """Give the conventions' word for how a reply ended."""
    if calls_in(reply):
        return "tool_call"
    return "stop" if reply.get("type") in ("answer", "empty") else "error"


def _named(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Give what is known under the names of the conventions."""
    return {NAMES[name]: value for name, value in facts.items() if value not in (None, "")}


def _usage(entry: Entry) -> Entry:
    """Give what a provider has counted for one call; an empty dict if it has not."""
    usage = entry.get("usage") or {}
    return {name: usage[name] for name in _TOKENS if name in usage}


def _code(result: Any) -> str:
    """Give the kind of a failed result. A hand-written loop may have put the words where the kind stands."""
    code = result.get("error") if isinstance(result, dict) and "message" in result else None
    return code if isinstance(code, str) and code else "_OTHER"


def _message(entry: Entry) -> Entry:
    """Write one entry of a history in the shape of the conventions: a role and parts."""
    if is_result(entry):
        part = {"type": "tool_call_response", "id": entry.get("id"), "response": entry.get("result")}
        return {"role": "tool", "parts": [part]}
    parts: list[Entry] = [{"type": "text", "content": entry["text"]}] if entry.get("text") else []
    if not is_reply(entry):
        return {"role": "user", "parts": parts}
    parts += [
        {"type": "tool_call", "id": call.get("id"), "name": call.get("tool"), "arguments": call.get("input")}
        for call in calls_in(entry)
    ]
    return {"role": "assistant", "parts": parts, "finish_reason": _finish(entry)}
