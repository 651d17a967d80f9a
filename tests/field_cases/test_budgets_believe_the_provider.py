"""Budgets and the compactor take the provider's figure for the last call, and estimate only what is new."""

import json

import pytest

from agentlib import answer, ask, run_agent, stops
from agentlib.costs import Usage, estimate_tokens
from agentlib.memory import CompactWhenFull
from agentlib.messages import user
from agentlib.models import ScriptedModel

CHINESE = "\u8bfb\u53d6\u5e93\u5b58"


def reading(read, steps=3, out=0):
    """A model whose provider counts so many tokens for each call."""
    usage = {"input_tokens": read, "output_tokens": out}
    return ScriptedModel(
        [*[{**ask("look", n=n), "usage": usage} for n in range(steps)], {**answer("done"), "usage": usage}]
    )


def look(n):
    """Look."""
    return n


# --- budgets ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("limit", "calls"), [(120_000, 2), (99_000, 1), (151_000, 3), (1_000_000, 4)])
def test_a_token_budget_believes_the_provider(limit, calls):
    run = run_agent(reading(50_000), [look], "Goal", stops=[stops.TokenBudget(limit)])
    assert run.usage.total_tokens <= limit
    assert run.steps == calls


def test_what_is_new_is_estimated_on_top():
    usage = {"input_tokens": 1_000, "output_tokens": 10}
    script = [{**ask("read"), "usage": usage}, {**answer("done"), "usage": usage}]
    tools = {"read": lambda: "x" * 4_000}

    def stopped(limit):
        return run_agent(ScriptedModel(script), tools, "Goal", stops=[stops.TokenBudget(limit)]).stopped

    new = estimate_tokens([ask("read"), {"role": "tool", "result": "x" * 4_000}])
    assert stopped(1_010 + 1_000 + new) == "answered"
    assert stopped(1_010 + 1_000 + new - 1) == "token budget"


def test_a_function_of_ones_own_sees_the_same_figure():
    seen = []
    run_agent(reading(50_000, 1), [look], "Goal", stops=[lambda run: seen.append(run.next_tokens)])
    assert seen[0] == estimate_tokens("Goal")
    assert 50_000 < seen[1] < 50_100


def test_what_a_call_is_said_to_read_stays_the_courses_own_estimate():
    run = run_agent(reading(50_000, 1), [look], "Goal")
    read = [event.tokens for event in run.trace if event.kind == "ask"]
    assert read == [estimate_tokens(history) for history in run.trace.histories()]


def test_a_history_that_memory_made_short_is_not_thought_long():
    usage = {"input_tokens": 30_000, "output_tokens": 0}
    replies = [{**ask("read", n=n), "usage": usage} for n in range(2)]
    replies.append({**ask("read", n=2), "usage": {"input_tokens": 100, "output_tokens": 0}})
    replies.append({**answer("done"), "usage": {"input_tokens": 100, "output_tokens": 0}})

    def memory(history):
        return history if len(history) < 5 else history[:1]

    run = run_agent(ScriptedModel(replies), {"read": lambda n: "x" * 60_000}, "Goal", memory=memory,
                    max_result_chars=None, stops=[stops.TokenBudget(90_000)])  # fmt: skip
    assert run.stopped == "answered"


# --- a usage of nothing -----------------------------------------------------------------------------


@pytest.mark.parametrize("more", [{}, {"output_tokens": 9}, {"cached_tokens": 0}, {"cached_tokens": 500}])
def test_a_usage_of_0_is_no_usage(more):
    usage = {"input_tokens": 0, "output_tokens": 0, **more}
    replies = [{**ask("read", n=n), "usage": usage} for n in range(30)]
    tools = {"read": lambda n: f"{n} " + "word " * 200}
    run = run_agent(ScriptedModel(replies), tools, "Goal", 30, stops=[stops.TokenBudget(5_000)])
    read = sum(event.tokens for event in run.trace if event.kind == "ask")
    assert run.stopped == "token budget"
    assert read == run.usage.input_tokens <= 5_000
    assert run.usage.estimated
    assert run.usage.output_tokens > 0


def test_a_written_0_is_the_providers_word_where_something_was_read():
    run = run_agent(reading(50_000, 1), [look], "Goal")
    assert run.usage == Usage(100_000, 0)


# --- text that is not English -----------------------------------------------------------------------


def test_chinese_is_not_four_characters_a_token():
    for text in (CHINESE * 100, "\u304b\u306a" * 200, "\ud55c\uad6d" * 200):
        assert 0.5 * len(text) <= estimate_tokens(text) <= 2 * len(text)
        assert estimate_tokens(user(text)) == estimate_tokens(text)
        assert estimate_tokens({"role": "tool", "result": text}) >= 0.5 * len(text)
        assert estimate_tokens(ask("look", words=text)) >= 0.5 * len(text)
    assert 0.3 * 400 <= estimate_tokens("\u0421\u043a\u043b\u0430" * 100) <= 400
    assert estimate_tokens("\U0001f600" * 100) >= 100
    assert estimate_tokens("a\ud800b") >= 1


def test_english_is_counted_as_before():
    assert estimate_tokens("x" * 400) == 100
    assert estimate_tokens("caf\u00e9") in (1, 2)


def test_the_loop_counts_chinese_as_the_estimate_does():
    model = ScriptedModel([ask("read", words=CHINESE), answer(CHINESE)])
    run = run_agent(model, {"read": lambda words: words * 50}, CHINESE)
    read = [event.tokens for event in run.trace if event.kind == "ask"]
    assert read == [estimate_tokens(history) for history in run.trace.histories()]
    assert read[1] > 100


def test_a_token_budget_in_chinese_holds_without_a_word_of_the_provider():
    replies = [ask("read", n=n) for n in range(30)]
    run = run_agent(ScriptedModel(replies), {"read": lambda n: CHINESE * 100 + str(n)}, "Goal", 30,
                    stops=[stops.TokenBudget(4_000)])  # fmt: skip
    characters = sum(sum(len(str(entry)) for entry in history) for history in run.trace.histories())
    assert characters < 3 * 4_000


# --- the compactor ----------------------------------------------------------------------------------


class Window:
    """A model with a window: it counts a token for each `chars` characters, and `more` on top."""

    def __init__(self, window, chars=1.0, more=0, says=True, steps=9):
        self.window, self.chars, self.more, self.says, self.steps = window, chars, more, says, steps
        self.largest = self.calls = 0

    def __call__(self, history):
        text = sum(len(json.dumps(entry, ensure_ascii=False)) for entry in history)
        count = int(text / self.chars) + self.more
        self.largest = max(self.largest, count)
        if count > self.window:
            raise RuntimeError("the window is full")
        self.calls += 1
        reply = answer("done") if self.calls > self.steps else ask("read", page=self.calls)
        return {**reply, "usage": {"input_tokens": count, "output_tokens": 5}} if self.says else reply


WINDOWS = {
    "Chinese, a token a character": (Window(4_000), CHINESE * 125),
    "English, more tokens than we think": (Window(4_000, chars=2.0), "word " * 200),
    "a long system message that we do not see": (Window(4_000, chars=4.0, more=2_000), "word " * 200),
    "Chinese, without a word of the provider": (Window(5_000, chars=1.3, says=False), CHINESE * 200),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_the_window_is_never_full(name):
    model, text = WINDOWS[name]
    memory = CompactWhenFull(model.window, 1, lambda entries: "read")
    run = run_agent(model, {"read": lambda page: f"{page} {text}"}, "Goal", 20, memory=memory)
    assert run.stopped == "answered", (run.stopped.detail, memory.summaries)
    assert 1 <= memory.summaries < 9
    assert memory.problems == []


def test_it_is_not_compacted_too_early_either():
    model = Window(100_000, chars=8.0)  # a tokenizer that needs half of what we think
    memory = CompactWhenFull(10_000, 1, lambda entries: "read")
    run = run_agent(model, {"read": lambda page: f"{page} " + "word " * 1_200}, "Goal", 20, memory=memory)
    assert run.stopped == "answered"
    assert model.largest > 5_000


def test_one_compactor_can_serve_one_run_after_the_other():
    memory = CompactWhenFull(4_000, 1, lambda entries: "read")
    for _ in range(2):
        run = run_agent(
            Window(4_000), {"read": lambda page: f"{page} " + CHINESE * 125}, "Goal", 20, memory=memory
        )
        assert run.stopped == "answered"


def test_a_history_that_is_asked_for_twice_is_the_same():
    memory = CompactWhenFull(4_000, 1, lambda entries: "read")
    history = [user("Goal")]
    for page in range(6):
        history += [
            {
                "role": "model",
                **ask("read", page=page),
                "usage": {"input_tokens": 600 * (page + 1), "output_tokens": 5},
            },
            {"role": "tool", "tool": "read", "result": CHINESE * 125},
        ]
        assert memory(list(history)) == memory(list(history))
