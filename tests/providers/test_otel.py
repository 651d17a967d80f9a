"""A trace as spans of OpenTelemetry: what belongs together, when it was, and what is not told unasked."""

import json
import threading
from datetime import UTC, datetime, timedelta

import pytest

pytest.importorskip("opentelemetry.sdk", reason='needs `pip install -e ".[otel]"`')

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv.schemas import Schemas
from opentelemetry.trace import SpanKind, StatusCode

from agentlib import LATER, answer, ask, ask_together, resume, run_agent, stops, tool
from agentlib.errors import ProviderError
from agentlib.labs import blue_mugs
from agentlib.models import ScriptedModel
from agentlib.providers import retrying
from agentlib.providers.otel import CONVENTIONS_VERSION, NAMES, SCHEMA_URL, to_opentelemetry
from agentlib.trace import Event, Trace
from agentlib.watch import watch
from tests.clock import Clock

STARTED = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
SECRET = "the code of the safe is 4711"


@pytest.fixture
def export():
    """export(trace, ...) gives the spans that a team's tool would get, the first one begun first."""

    def spans(trace, started=STARTED, **options):
        exporter, provider = InMemorySpanExporter(), TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        to_opentelemetry(trace, provider, started=started, **options)
        return sorted(
            exporter.get_finished_spans(),
            key=lambda span: (span.start_time, -span.end_time, span.parent is not None),
        )

    return spans


def seconds(span):
    """When a span began and ended, in seconds since the run began."""
    began = STARTED.timestamp() * 1e9
    return round((span.start_time - began) / 1e9, 3), round((span.end_time - began) / 1e9, 3)


def table(spans):
    """Each span with the name of the one that it stands in, and its times."""
    names = {span.context.span_id: span.name for span in spans}
    return [(span.name, names.get(span.parent and span.parent.span_id), seconds(span)) for span in spans]


def named(spans, name):
    return [span for span in spans if span.name.split()[0] == name]


def asked_for_mugs(clock, usage=None):
    """A run of two calls of 2 s each, and two tools of 0.5 s."""
    replies = iter(
        [ask_together(*[ask("stock", place=place) for place in ("north", SECRET)]), answer(SECRET)]
    )

    def model(history):
        clock.passes(2)
        return {**next(replies), "usage": usage} if usage else next(replies)

    def stock(place: str) -> str:
        """Count the mugs."""
        clock.passes(0.5)
        return f"140 in {place}"

    return run_agent(model, [stock], SECRET, clock=clock)


def test_a_run_is_a_tree_of_spans_with_its_times(export):
    spans = export(asked_for_mugs(Clock()).trace, model="small-1", agent="mugs")
    run = "invoke_agent mugs"
    assert table(spans) == [
        (run, None, (0, 5)),
        ("chat small-1", run, (0, 2)),
        ("execute_tool stock", run, (2, 2.5)),
        ("execute_tool stock", run, (2.5, 3)),
        ("chat small-1", run, (3, 5)),
    ]
    assert [span.kind for span in spans[:3]] == [SpanKind.INTERNAL, SpanKind.CLIENT, SpanKind.INTERNAL]
    assert all(span.status.status_code is StatusCode.UNSET for span in spans)
    assert {span.instrumentation_scope.schema_url for span in spans} == {SCHEMA_URL}


def test_names_are_those_of_the_conventions_and_their_schema_is_published():
    known = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}
    assert {name for name in NAMES.values() if name.startswith("gen_ai.")} <= known
    operations = {one.value for one in gen_ai_attributes.GenAiOperationNameValues}
    assert {NAMES["run"], NAMES["call"], NAMES["tool"]} <= operations
    assert SCHEMA_URL in {schema.value for schema in Schemas}
    assert SCHEMA_URL.endswith(CONVENTIONS_VERSION)
    assert len(set(NAMES.values())) == len(NAMES)


def test_tokens_and_reasons_stand_at_the_run_and_at_each_call(export):
    usage = {"input_tokens": 30, "output_tokens": 7, "cached_tokens": 10, "cache_write_tokens": 2}
    run, first, *_, last = export(asked_for_mugs(Clock(), usage).trace, provider="openai")
    facts = {
        "gen_ai.usage.input_tokens": 30,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.usage.cache_read.input_tokens": 10,
        "gen_ai.usage.cache_creation.input_tokens": 2,
    }
    for span in (first, last):
        assert facts.items() <= dict(span.attributes).items()
        assert NAMES["estimated_tokens"] not in span.attributes
    assert {name: 2 * tokens for name, tokens in facts.items()}.items() <= dict(run.attributes).items()
    assert (run.attributes["agentlib.stop_reason"], run.attributes["agentlib.steps"]) == ("answered", 2)
    assert [span.attributes["gen_ai.response.finish_reasons"] for span in (first, last)] == [
        ("tool_call",),
        ("stop",),
    ]
    assert {span.attributes["gen_ai.provider.name"] for span in (run, first, last)} == {"openai"}


def test_an_estimate_is_not_given_as_what_a_provider_has_counted(export):
    run, first, *_ = export(asked_for_mugs(Clock()).trace)
    assert first.attributes["agentlib.estimated_input_tokens"] > 0
    assert "gen_ai.usage.input_tokens" not in first.attributes
    assert "gen_ai.usage.input_tokens" not in run.attributes


def test_content_is_written_only_if_it_is_asked_for(export):
    trace = asked_for_mugs(Clock()).trace
    assert SECRET not in "".join(span.to_json() for span in export(trace))
    run, first, one, other, last = export(trace, content=True)
    assert json.loads(run.attributes["gen_ai.input.messages"]) == [
        {"role": "user", "parts": [{"type": "text", "content": SECRET}]}
    ]
    assert json.loads(other.attributes["gen_ai.tool.call.arguments"]) == {"place": SECRET}
    assert json.loads(one.attributes["gen_ai.tool.call.result"]) == "140 in north"
    roles = [message["role"] for message in json.loads(last.attributes["gen_ai.input.messages"])]
    assert roles == ["user", "assistant", "tool", "tool"]
    (said,) = json.loads(first.attributes["gen_ai.output.messages"])
    assert [part["name"] for part in said["parts"]] == ["stock", "stock"]


@pytest.mark.parametrize("content", [False, True])
def test_words_of_errors_are_content_and_their_kinds_are_not(export, content):
    clock = Clock()

    def safe():
        clock.passes(1)
        raise ValueError(SECRET)

    def model(history):
        clock.passes(1)
        if len(history) > 1:
            raise ProviderError("shop", SECRET)
        return ask_together(ask("safe"), ask("nothing"))

    trace = run_agent(model, [safe], "Go.", clock=clock).trace
    spans = export(trace, content=content)
    run, first, last, one, other = (*spans[:1], *named(spans, "chat"), *named(spans, "execute_tool"))
    failed = [run, one, other, last]
    assert [span.status.status_code is StatusCode.ERROR for span in (*failed, first)] == [True] * 4 + [False]
    kinds = [span.attributes["error.type"] for span in failed]
    assert kinds == ["model error", "tool_failed", "unknown_tool", "model error"]
    assert [SECRET in (span.status.description or "") for span in (run, one, last)] == [content] * 3


def test_attempts_stand_in_their_call_with_the_waits_between_them(export):
    clock = Clock()
    words = f"{SECRET} (HTTP status 429)"
    busy = ProviderError(
        "shop", words, 429, worth_retrying=True, usage={"input_tokens": 5, "output_tokens": 0}
    )
    outcomes = iter([busy, ConnectionError(SECRET), answer("North.")])

    def model(history):
        clock.passes(1)
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    model = retrying(model, first_wait_seconds=4, random=_Highest(), clock=clock, sleep=clock.passes)
    spans = export(run_agent(model, {}, "Go.", clock=clock).trace, model="m")
    assert table(spans) == [
        ("invoke_agent", None, (0, 15)),
        ("chat m", "invoke_agent", (0, 15)),
        ("attempt", "chat m", (0, 1)),
        ("attempt", "chat m", (5, 6)),
        ("attempt", "chat m", (14, 15)),
    ]
    first, second, third = named(spans, "attempt")
    assert (first.attributes["error.type"], second.attributes["error.type"]) == ("429", "_OTHER")
    assert [span.attributes["agentlib.attempt"] for span in (first, second, third)] == [1, 2, 3]
    assert third.status.status_code is StatusCode.UNSET
    assert spans[0].attributes["gen_ai.usage.input_tokens"] == 5
    assert SECRET not in "".join(span.to_json() for span in spans)


class _Highest:
    def uniform(self, low, high):
        return high


def test_tools_that_run_side_by_side_are_siblings_that_overlap(export):
    calls = ask_together(ask("slow"), ask("quick"))["calls"]
    reply = {"role": "model", "type": "tools", "calls": [{**one, "id": one["tool"]} for one in calls]}
    results = [{"role": "tool", "id": name, "tool": name, "result": 1} for name in ("slow", "quick")]
    step = [
        Event("start", 0),
        Event("ask", 1),
        Event("reply", 1, reply, seconds=1.0),
        Event("act", 1, id="slow", text="slow", seconds=1.0),
        Event("act", 1, id="quick", text="quick", seconds=1.1),
        Event("result", 1, results[0], ran=True, seconds=4.0),
        Event("result", 1, results[1], ran=True, seconds=2.0),
        Event("stop", 1, {"answer": None, "detail": ""}, text="step limit", seconds=4.0),
    ]
    spans = export(Trace(tuple(step)))
    run, _, slow, _ = spans
    assert table(spans)[2:] == [
        ("execute_tool slow", "invoke_agent", (1, 4)),
        ("execute_tool quick", "invoke_agent", (1.1, 2)),
    ]
    assert slow.attributes["gen_ai.tool.call.id"] == "slow"
    assert (run.attributes["agentlib.stop_reason"], run.status.status_code) == (
        "step limit",
        StatusCode.UNSET,
    )
    assert seconds(run) == (0, 4)


def test_a_run_whose_requests_ran_at_once_shows_them_side_by_side(export):
    meet = threading.Barrier(2)

    def shelf(number: int) -> int:
        """Wait for the other one, so that both run at the same time for sure."""
        meet.wait(10)
        return number

    script = [ask_together(ask("shelf", number=1), ask("shelf", number=2)), answer("Done.")]
    run = run_agent(ScriptedModel(script), [tool(shelf, parallel=True)], "Count.", at_once=2)
    one, other = named(export(run.trace), "execute_tool")
    assert max(one.start_time, other.start_time) <= min(one.end_time, other.end_time)
    assert [span.status.status_code for span in (one, other)] == [StatusCode.UNSET] * 2


def test_a_request_that_did_not_run_is_an_event_and_a_persons_no_is_no_failure(export):
    @tool(risky=True)
    def delete() -> str:
        return "gone"

    model = ScriptedModel([ask("delete"), ask("look"), ask("look"), answer("Done.")])
    run = run_agent(
        model, [delete, tool(lambda: "a", name="look")], "Go.", stops=[stops.RepeatedCall(2, then="note")],
        approve=lambda call: False,
    )  # fmt: skip
    spans = export(run.trace)
    no, look = named(spans, "execute_tool")
    assert (no.attributes["error.type"], no.status.status_code) == ("not_approved", StatusCode.UNSET)
    assert look.attributes["gen_ai.tool.name"] == "look"
    (event,) = spans[0].events
    assert (event.name, event.attributes["error.type"]) == ("agentlib.request_not_run", "not_run")


def test_a_trace_that_was_cut_off_says_what_was_not_finished(export):
    events = asked_for_mugs(Clock()).trace.events
    _, _, tool_span = export(Trace(events[:4]))
    assert (tool_span.status.status_code, tool_span.attributes["error.type"]) == (
        StatusCode.ERROR,
        "not finished",
    )
    _, call = export(Trace(events[:2]))
    assert call.attributes["error.type"] == "not finished"


def test_a_run_that_waited_and_went_on_is_one_tree_without_the_days_between(export):
    clock = Clock()

    @tool(risky=True)
    def pay() -> str:
        clock.passes(2)
        return "paid"

    def model(history):
        clock.passes(1)
        return answer("Done.") if len(history) > 2 else ask("pay")

    waiting = run_agent(model, [pay], "Go.", clock=clock, approve=lambda call: LATER)
    clock.passes(86_400)
    spans = export(resume(waiting.trace, model, [pay], clock=clock, approve=lambda call: True).trace)
    run = "invoke_agent"
    assert sorted(table(spans), key=lambda row: row[2]) == [
        ("chat", run, (0, 1)),
        (run, None, (0, 4)),
        ("execute_tool pay", run, (1, 1)),
        ("execute_tool pay", run, (1, 3)),
        ("chat", run, (3, 4)),
    ]
    assert all(span.status.status_code is StatusCode.UNSET for span in spans)
    assert spans[0].attributes["agentlib.stop_reason"] == "answered"


@pytest.mark.parametrize("made", ["older", "watched"])
def test_where_no_event_has_a_time_they_are_made_up_in_order_and_the_run_says_so(export, made):
    if made == "older":
        events = asked_for_mugs(Clock()).trace.events
        trace = Trace(tuple(event._replace(seconds=0.0) for event in events))
    else:
        trace = watch(run_agent, blue_mugs.model(), blue_mugs.TOOLS, blue_mugs.GOAL)
    spans = export(trace)
    run = spans[0]
    assert run.attributes["agentlib.times"] == "made up"
    assert len(named(spans, "chat")) == trace.steps
    assert len(named(spans, "execute_tool")) == 2 + (made == "watched")
    assert all(run.start_time <= span.start_time < span.end_time <= run.end_time for span in spans)


def test_a_hand_written_loop_can_be_written_too(export):
    def loop(model, tools, goal, max_steps=9):
        history = [{"role": "user", "text": goal}]
        for _ in range(max_steps):
            reply = model(history)
            history.append(reply)
            if reply["type"] == "answer":
                raise RuntimeError(SECRET)
            history.append(
                {"role": "tool", "tool": reply["tool"], "result": tools[reply["tool"]](**reply["input"])}
            )

    model = ScriptedModel(blue_mugs.SCRIPT[1:])
    spans = export(watch(loop, model, blue_mugs.TOOLS, blue_mugs.GOAL))
    assert len(named(spans, "execute_tool")) == 2
    assert (spans[0].attributes["error.type"], spans[0].status.description) == ("crash", None)
    assert SECRET not in spans[0].to_json()


def test_what_a_hand_written_loop_writes_where_the_kind_stands_is_words(export):
    def loop(model, tools, goal, max_steps=9):
        history = [{"role": "user", "text": goal}]
        for _ in range(max_steps):
            reply = model(history)
            history.append(reply)
            if reply["type"] == "answer":
                return reply["text"]
            history.append({"role": "tool", "tool": reply["tool"], "result": tools[reply["tool"]]()})

    model = ScriptedModel([ask("look"), answer("Done.")])
    (look,) = named(export(watch(loop, model, {"look": lambda: {"error": SECRET}}, "Go.")), "execute_tool")
    assert (look.attributes["error.type"], look.status.status_code) == ("_OTHER", StatusCode.ERROR)
    assert SECRET not in look.to_json()


def test_a_run_ends_now_unless_somebody_says_when_it_began(export):
    before = datetime.now(UTC)
    run = export(asked_for_mugs(Clock()).trace, started=None)[0]
    assert before.timestamp() <= run.end_time / 1e9 <= datetime.now(UTC).timestamp()
    assert (run.end_time - run.start_time) / 1e9 == pytest.approx(5)


def test_the_run_is_a_child_of_the_span_that_is_open():
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("shop").start_as_current_span("refund") as outer:
        to_opentelemetry(asked_for_mugs(Clock()).trace, provider)
    run = next(span for span in exporter.get_finished_spans() if span.name == "invoke_agent")
    assert run.parent.span_id == outer.context.span_id


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"trace": []}, TypeError),
        ({"trace": Trace(())}, ValueError),
        ({"tracer_provider": None}, TypeError),
        ({"started": datetime(2026, 12, 1)}, ValueError),
        ({"started": "today"}, TypeError),
    ],
)
def test_what_is_wrong_with_the_arguments_is_said_before_any_span(wrong, error):
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    given = {"trace": asked_for_mugs(Clock()).trace, "tracer_provider": provider, "started": STARTED, **wrong}
    with pytest.raises(error):
        to_opentelemetry(**given)
    assert exporter.get_finished_spans() == ()


def test_a_recording_says_by_itself_which_model_it_was(export):
    trace = asked_for_mugs(Clock()).trace
    recorded = Trace(trace.events, {**trace.about, "recorded": {"provider": "local", "model": "SmolLM2"}})
    run, call, *_ = export(recorded)
    assert (call.name, run.attributes["gen_ai.provider.name"]) == ("chat SmolLM2", "local")
    assert seconds(run) == (0, 5)
    assert timedelta(seconds=5) == timedelta(seconds=trace.events[-1].seconds)
