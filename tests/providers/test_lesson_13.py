"""The figures of lesson 13: they come from the recorded runs, and so does each number in its prose."""

import json
from collections import Counter
from pathlib import Path

import pytest

from agentlib import replay, stops
from agentlib.course import record
from agentlib.evals import wilson_interval
from agentlib.labs import blue_mugs
from agentlib.providers import anthropic, openai
from tests.notebook_checks import joined

TRACES = record.load_recordings("blue_mugs_local")
LESSON = Path(__file__).parents[2] / "notebooks" / "13_a_real_model.ipynb"
PROSE = " ".join(
    joined(cell["source"])
    for cell in json.loads(LESSON.read_text(encoding="utf-8"))["cells"]
    if cell["cell_type"] == "markdown"
)

# What a person reads in the 20 runs: the answers, by seed.
ANSWERS = {
    2: "south",
    **dict.fromkeys((3, 4, 5, 6, 7, 12, 20), "North"),
    9: "North, 140",
    11: "The north warehouse has more blue mugs.",
}
RIGHT = set(ANSWERS) - {2}


def seeds(traces):
    return {trace.about["recorded"]["seed"] for trace in traces}


def after(*rules):
    runs = [replay(trace, stops=rules) for trace in TRACES]
    read = sum(run.usage.input_tokens for run in runs)
    return sum(run.steps for run in runs), read, Counter(str(run.stopped) for run in runs)


def counts_seen(trace):
    results = [event.entry["result"] for event in trace if event.kind == "result"]
    return {result.get("blue_mugs") for result in results} & set(blue_mugs.STOCK.values())


def test_10_runs_answered_and_10_reached_the_step_limit_in_112_steps():
    assert after() == (112, 59_571, {"answered": 10, "step limit": 10})
    assert "112 steps" in PROSE
    assert "59,571" in PROSE


def test_the_repeated_call_rule_leaves_65_steps_and_ends_8_of_the_stuck_runs():
    assert after(stops.RepeatedCall(3)) == (
        65, 30_229, {"answered": 10, "repeated call": 8, "step limit": 2},
    )  # fmt: skip
    assert "65 steps in place of 112: the rule saves 47" in PROSE
    assert "30,229 in place of 59,571" in PROSE


def test_with_a_rule_on_errors_too_none_reaches_the_limit():
    steps, read, ends = after(stops.RepeatedCall(3), stops.TooManyErrors(5))
    assert (steps, read, ends["step limit"]) == (52, 14_145, 0)
    assert "52 steps and 14,145 tokens" in PROSE


def test_the_rule_at_two_leaves_53_steps():
    assert after(stops.RepeatedCall(2))[0] == 53
    assert "1: 53 steps" in PROSE


def test_the_two_that_get_past_the_rule_made_no_request_three_times():
    stuck = [trace for trace in TRACES if trace.stopped == "step limit"]
    past = [trace for trace in stuck if replay(trace, stops=stops.RepeatedCall(3)).stopped == "step limit"]
    assert seeds(past) == {10, 15}
    requests = [str(reply["input"]) for reply in past[0].replies() if reply["type"] == "tool"]
    assert (len(requests), max(Counter(requests).values()) < 3) == (10, True)


def test_of_10_answers_9_are_right_and_none_had_seen_both_counts():
    assert {trace.about["recorded"]["seed"]: trace.answer for trace in TRACES if trace.answer} == ANSWERS
    right = [trace for trace in TRACES if trace.about["recorded"]["seed"] in RIGHT]
    assert Counter(len(counts_seen(trace)) for trace in right) == {0: 7, 1: 2}
    assert Counter(trace.steps for trace in right) == {1: 7, 2: 2}


@pytest.mark.parametrize(("passed", "said"), [(9, "45% (26% to 66%)"), (0, "0% (0% to 16%)")])
def test_the_intervals(passed, said):
    low, high = wilson_interval(passed, 20)
    assert f"{passed / 20:.0%} ({low:.0%} to {high:.0%})" == said
    assert said in PROSE


def test_the_run_with_seed_17_is_told_ten_times_and_goes_on_with_capitals():
    trace = TRACES[16]
    results = [event.entry["result"]["message"] for event in trace if event.kind == "result"]
    assert (len(results), all('Use "north" or "south"' in words for words in results)) == (10, True)
    assert {reply["input"]["warehouse"] for reply in trace.replies()} == {"North", "South"}


def test_a_changing_first_line_costs_the_cache():
    read = json.loads((record.RECORDINGS / "blue_mugs_local" / "cache.json").read_text(encoding="utf-8"))
    assert read["made_with"] == TRACES[7].about["recorded"]["made_with"]
    grows, changing = read["usages"]["only grows"], read["usages"]["changing first line"]
    recorded = [reply["usage"]["input_tokens"] for reply in TRACES[7].replies()]
    assert [one["input_tokens"] for one in grows] == recorded
    assert [two["input_tokens"] - one["input_tokens"] for one, two in zip(grows, changing, strict=True)] == [
        13
    ] * 10
    anew = [sum(one["input_tokens"] - one["cached_tokens"] for one in each) for each in (grows, changing)]
    assert anew == [600, 4_995]
    assert sum(one["input_tokens"] for one in changing) == 5_115 == 4_995 + 120
    for words in ("600 tokens read anew", "4,995", "5,115", "13 tokens"):
        assert words in PROSE


def test_both_providers_say_the_same_in_one_shape():
    arguments = {"name": "stock_level", "arguments": '{"warehouse": "north"}'}
    call = {"id": "call_a", "type": "function", "function": arguments}
    chat = {
        "choices": [{"finish_reason": "tool_calls", "message": {"content": None, "tool_calls": [call]}}],
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 80},
        },
    }
    block = {"type": "tool_use", "id": "call_a", "name": "stock_level", "input": {"warehouse": "north"}}
    messages = {
        "stop_reason": "tool_use",
        "content": [block],
        "usage": {"input_tokens": 20, "cache_read_input_tokens": 80, "output_tokens": 7},
    }
    reply, other = openai.reply_from(chat), anthropic.reply_from(messages)
    assert other.pop("raw")["items"] == [block]
    assert reply.pop("raw")["items"] == [chat["choices"][0]["message"]]
    assert reply == other
    assert reply["usage"] == {"input_tokens": 100, "cached_tokens": 80, "output_tokens": 7}
