"""What every loop of the course must do: scenarios and criteria that several exercises share."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from agentlib.course.checking.evidence import (
    REASONS,
    crash,
    holds,
    is_result,
    position,
    request_words,
    requests_in,
    results_in,
    shown,
    what_came_back,
    wrong_end,
)
from agentlib.course.checking.fake_data import FAILURES, Tool, World, interrupt, tools_of
from agentlib.course.checking.simulator import TOO_OFTEN
from agentlib.course.checking.spec import Criterion, Fault, Judge, Log, Logs, Scenario, each, in_turn
from agentlib.messages import Entry, answer, ask, json_text, short
from agentlib.views.describe import counted, full_call, sketch, times

__all__ = [
    "agent", "answers_at_the_end", "at_the_limit", "begins_with_the_goal", "endless", "ends_with_the_answer",
    "errand", "failures_as_in_ex01", "failures_become_results", "interrupt_leaves", "keeps_requests",
    "keeps_results", "leaves", "lets_through", "loop_scenarios", "not_asked_after_its_failure",
    "not_run_and_told", "runs_the_tool", "script", "still_a_loop", "stops_at_the_limit",
    "where_failures_pass",
]  # fmt: skip

Model = Callable[[list[Entry]], Any]


def script(replies: list[Entry], then: Callable[[int], Entry] | None = None) -> Model:
    """A model that gives these replies in turn. then: makes the further ones from their number, from 0."""
    count = 0

    def model(history: list[Entry]) -> Any:
        nonlocal count
        count += 1
        if count <= len(replies):
            return replies[count - 1]
        if then is None:
            raise AssertionError("the limit of calls comes first")
        return then(count - len(replies) - 1)

    return model


def agent(
    goal: str,
    model: Model,
    tools: Mapping[str, Tool],
    max_calls: int,
    facts: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> Scenario:
    """One call of `run_agent`. max_calls: the model may be asked so often; one call more ends the run."""
    return Scenario(
        "run_agent",
        (model, dict(tools), goal),
        kwargs,
        max_calls={"model": max_calls, "tools": 20 * max_calls},
        facts={"goal": goal, **(facts or {})},
    )


def errand(world: World, spare: int = 0, *, own_tools: bool = False, **more: Any) -> Scenario:
    """Three requests of two tools, then the answer. The third result is 0.

    spare: steps that are left over at the end. own_tools: each request is for a tool of its own.
    """
    first, second = world.tool_name(), world.tool_name()
    tools = [first, second, world.tool_name() if own_tools else first]
    done = [
        (world.request(tool), result)
        for tool, result in zip(tools, [world.result(), world.result(), 0], strict=True)
    ]
    return _errand(world, done, world.answer(), spare, more)


def long_errand(world: World, spare: int = 0, **more: Any) -> Scenario:
    """Seven requests, each for a tool of its own: one has no input, and the results are of many kinds.

    The answer has two lines and spaces around them, and the keys of a reply come in another order.
    """
    report = "; ".join(f"{world.number()} in {world.place()}" for _ in range(20))
    results = [world.result(), "", None, report, world.result(), world.result()]
    done = [(world.request(world.tool_name()), result) for result in results]
    done.insert(world.rng.randrange(1, 4), (ask(world.tool_name()), world.result()))
    turned = [(dict(reversed(list(request.items()))), result) for request, result in done]
    return _errand(world, turned, f" {world.answer()}\n{world.answer()}\n", spare, more)


def _errand(world: World, done: list[tuple[Entry, Any]], text: str, spare: int, more: Entry) -> Scenario:
    requests, results = [request for request, _ in done], [result for _, result in done]
    by_tool: dict[str, list[Any]] = {}
    for request, result in done:
        by_tool.setdefault(request["tool"], []).append(result)
    facts = {"requests": requests, "results": results, "answer": text}
    model = script([*requests, answer(text)])
    steps = len(requests) + 1
    return agent(world.goal(), model, tools_of(by_tool), steps, facts, max_steps=steps + spare, **more)


def endless(world: World, limit: int, default: bool = False, **more: Any) -> Scenario:
    """A model that asks another tool for something new at every call. default: the limit is not given."""
    requests = [world.request(world.tool_name()) for _ in range(limit + 2)]
    model = script(requests)
    kwargs = more if default else {"max_steps": limit, **more}
    facts = {"limit": limit, "given": not default}
    tools = tools_of({request["tool"]: [world.result()] for request in requests})
    return agent(world.goal(), model, tools, limit + 1, facts, **kwargs)


def failing(world: World, **more: Any) -> Scenario:
    """Tools that fail, each in a way of its own, one after the other, then an answer. One message is long."""
    kinds = [*world.rng.sample(FAILURES[2:], 1), *FAILURES[:2], TypeError, Exception]
    world.rng.shuffle(kinds)
    messages = [world.failure() for _ in kinds]
    messages[-1] = "; ".join([messages[-1], *(world.failure() for _ in range(4))])
    requests = [world.request(world.tool_name()) for _ in kinds]
    text = world.answer()
    errors = {
        request["tool"]: [kind(message)]
        for request, kind, message in zip(requests, kinds, messages, strict=True)
    }
    facts = {
        "requests": requests,
        "messages": messages,
        "kinds": [kind.__name__ for kind in kinds],
        "answer": text,
    }
    model = script([*requests, answer(text)])
    steps = len(requests) + 1
    return agent(world.goal(), model, tools_of(errors), steps, facts, max_steps=steps + 2, **more)


def unknown_tool(world: World, *, in_capitals: bool = False) -> Scenario:
    """A request for a tool that is not there, then one for a tool that is, then an answer.

    in_capitals: the first name is the second one in capitals.
    """
    tool = world.tool_name()
    missing = tool.upper() if in_capitals else world.tool_name()
    requests = [world.request(missing), world.request(tool)]
    result, text = world.result(), world.answer()
    facts = {"requests": requests, "missing": missing, "result": result, "answer": text}
    model = script([*requests, answer(text)])
    return agent(world.goal(), model, tools_of({tool: [result]}), 3, facts, max_steps=6)


def works_again(world: World) -> Scenario:
    """A tool that fails and is asked again, with other input: it gives a dict that has the key "error"."""
    tool = world.tool_name()
    requests = [world.request(tool), world.request(tool)]
    text = world.answer()
    facts = {"requests": requests, "answer": text}
    gives: list[Any] = [RuntimeError(world.failure()), {"error": world.number(), "in": world.place()}]
    model = script([*requests, answer(text)])
    return agent(world.goal(), model, tools_of({tool: gives}), 3, facts, max_steps=5)


def failing_model(world: World) -> Scenario:
    """A model that asks for a tool and then fails itself, as one does that cannot be reached."""
    request = world.request(world.tool_name())
    message = world.failure()

    def fail(number: int) -> Entry:
        raise world.rng.choice((ConnectionError, TimeoutError, ValueError))(message)

    model, tools = script([request], fail), tools_of({request["tool"]: [world.result()]})
    return agent(world.goal(), model, tools, 5, {"message": message}, max_steps=5)


def loop_scenarios(world: World, default_steps: int = 10, *, own_tools: bool = False) -> dict[str, Scenario]:
    """The scenarios for what every loop must do.

    default_steps: the limit where none is given. own_tools: the first errand asks no tool twice.
    """
    rng = world.rng
    tool = world.tool_name()
    return {
        "errand": errand(world, spare=rng.randrange(1, 4), own_tools=own_tools),
        "second errand": long_errand(world, spare=rng.randrange(1, 4)),
        "answer at the last step": errand(world),
        "answer at once": _errand(world, [], world.answer(), rng.randrange(2, 5), {}),
        "endless": endless(world, rng.randrange(3, 6)),
        "one step": endless(world, 1),
        "many steps": endless(world, rng.randrange(15, 19)),
        "default limit": endless(world, default_steps, default=True),
        "failing": failing(world),
        "unknown tool": unknown_tool(world),
        "unknown tool, in capitals": unknown_tool(world, in_capitals=True),
        "works again": works_again(world),
        "failing model": failing_model(world),
        "interrupt in a tool": agent(
            world.goal(), script([], lambda number: world.request(tool)), {tool: interrupt}, 3, max_steps=3
        ),
        "interrupt in the model": agent(world.goal(), interrupt, tools_of({tool: []}), 3, max_steps=3),
    }


# --- criteria


def on_both_errands(judge: Callable[[Log], Fault | None]) -> Judge:
    """Make a judge of one log judge both errands."""
    return each(judge, "errand", "second errand")


@on_both_errands
def begins_with_the_goal(log: Log) -> Fault | None:
    """The first call of each run reads the goal and nothing else."""
    goal = log.facts["goal"]
    if not log.asks:
        if fault := crash(log):
            return fault
        return Fault(
            f"the model was never asked; the function returned {what_came_back(log)}",
            "The model is a function. How do you call it, and with what?",
        )
    asked = log.asks[0]
    if len(asked.args) + len(asked.kwargs) != 1 or not asked.args:
        return Fault(
            f"the model was called with {len(asked.args)} positional and "
            f"{counted(len(asked.kwargs), 'named value')}",
            "The model takes one thing: the history.",
            call=1,
        )
    history = asked.args[0]
    if not isinstance(history, list):
        return Fault(
            f"the first call got {shown(history)}, which is no list",
            "The history is a list of dicts. What is its first entry?",
            call=1,
        )
    if len(history) > 1 and isinstance(history[-1], dict) and history[-1].get("text") == goal:
        return Fault(
            f"a new run began with {counted(len(history), 'entry', 'entries')}: {sketch(history)}",
            "Something is left over from the run before. Where is the list made: inside the function, or "
            "once when it is defined?",
            call=1,
        )
    if len(history) != 1:
        return Fault(f"the first call read {len(history)} entries, not one: {sketch(history)}", call=1)
    entry = history[0]
    text = entry.get("text") if isinstance(entry, dict) else None
    if not isinstance(text, str) or goal not in text:
        return Fault(f'the first entry was {shown(entry)}; the goal is not its "text"', call=1)
    if entry.get("role") != "user":
        return Fault(
            f'the first entry has the role {json_text(entry.get("role"))}, not "user"',
            "Who speaks in the first entry? Its `role` says so.",
            call=1,
        )
    return None


@on_both_errands
def runs_the_tool(log: Log) -> Fault | None:
    """Each tool that was asked for runs once, with its input, before the model is asked again."""
    requests = log.facts["requests"]
    known = set(log.scenario.args[1])
    number = 0  # of the request that waits for its tool
    step = 0
    waiting = False
    for call in log.calls:
        if call.name == "model":
            if waiting:
                request = requests[number]
                return Fault(
                    f"the model asked for {request_words(request)}; no tool ran before it was asked again",
                    "Which line calls the tool? Is it reached for every request?",
                    step=step,
                )
            step += 1
            reply = call.answer.get("gave")
            waiting = isinstance(reply, dict) and reply.get("type") == "tool" and reply["tool"] in known
            continue
        request = requests[min(number, len(requests) - 1)]
        asked = request_words(request)
        if not waiting:
            return Fault(
                f"{call.tool} ran once more though nobody had asked: {full_call(call.tool, call.kwargs)}",
                "One request, one run. Is the tool called in two places?",
                step=step,
            )
        if call.args:
            return Fault(
                f"{call.tool} was called with {shown(call.args)} in one piece",
                "The input is a dict of named arguments. How do you hand a dict to a function as named "
                "arguments?",
                step=step,
            )
        same = json_text(call.kwargs) == json_text(request["input"]) or call.kwargs == request["input"]
        if call.tool != request["tool"] or not same:
            return Fault(
                f"the model asked for {asked}, but {full_call(call.tool, call.kwargs)} ran",
                "The tool's name and its input both come from the reply, unchanged.",
                step=step,
            )
        waiting = False
        number += 1
    if waiting:
        fault = crash(log)
        request = requests[number]
        asked = request_words(request)
        if fault is not None:
            return Fault(f"the model asked for {asked}; then: {fault.seen}", fault.hint)
        stopped = log.returned.get("stopped")
        return Fault(
            f"the model asked for {asked}; no tool ran, and the function returned {what_came_back(log)}",
            f'It ended as "{stopped}" before this request ran. Which line says so, and what had it counted?'
            if stopped in REASONS and stopped != "answered"
            else 'A reply whose "type" is "tool" is a request. What does your loop do with it?',
        )
    if not log.asks:
        return crash(log) or Fault(f"nothing was asked and nothing ran; {what_came_back(log)} came back")
    return None


def _next_history(log: Log, number: int) -> list[Any] | None:
    """The history that the call after request `number` (from 0) read; None if there was no such call."""
    histories = log.histories
    return histories[number + 1] if number + 1 < len(histories) else None


def _not_asked_again(log: Log, after: str) -> Fault:
    if fault := crash(log):
        return Fault(f"after {after}: {fault.seen}", fault.hint)
    seen = f"after {after} the model was not asked again; the function returned {what_came_back(log)}"
    budget = log.scenario.kwargs.get("budget_coins")
    if budget is not None and log.returned.get("stopped") == "budget limit":
        return Fault(
            f"{seen}; its budget was {counted(budget, 'coin')}",
            "Does your code compare with `budget_coins`, or with a number of its own?",
        )
    return Fault(
        seen,
        "A result is no end. What has to happen after it, so that the model can read it?",
    )


@on_both_errands
def keeps_requests(log: Log) -> Fault | None:
    """Every later call reads the requests that the model made before, as they were."""
    requests = log.facts["requests"]
    for number in range(len(requests)):
        history = _next_history(log, number)
        if history is None:
            return _not_asked_again(log, f"the result of request {number + 1}")
        read = f"call {number + 2} read {sketch(history)}"
        for earlier, request in enumerate(requests[: number + 1]):
            if position(history, request["tool"], request["input"]) < 0:
                return _request_missing(log, history, number, earlier)
            copies = sum(position([entry], request["tool"], request["input"]) == 0 for entry in history)
            if copies > 1:
                return Fault(
                    f"{read}; one request stands there {times(copies)}",
                    "Each reply goes into the history once. How many lines put it in?",
                )
        if not _is_the_goal(history[0], log):
            return Fault(
                f"{read}; the goal was no longer at the start",
                "The model remembers nothing. What does it need in every call, besides the latest news?",
            )
    return None


def _request_missing(log: Log, history: list[Any], number: int, earlier: int) -> Fault:
    """Tell that the history after request `number` lacks the request `earlier`; both from 0."""
    requests = log.facts["requests"]
    asked = request_words(requests[earlier])
    read = f"call {number + 2} read {sketch(history)}"
    if not any(_is_the_goal(entry, log) for entry in history):
        size = counted(len(history), "entry", "entries")
        return Fault(
            f"call {number + 2} read {size}: {sketch(history)}; its own request for {asked} was missing, and "
            "the goal too",
            "What do you hand to the model? Every call reads the whole history, from the goal on.",
        )
    if earlier < number:
        return Fault(
            f"{read}; the earlier request for {asked} was gone",
            "The history has to grow. Which line makes it anew, or throws older entries away?",
        )
    if history == log.histories[number]:
        return Fault(
            f"{read}, as the call before did; its own request for {asked} was missing",
            "Is the history made anew in each round, or does nothing go into it?",
        )
    odd = any(_is_odd(entry, requests) for entry in history)
    return Fault(
        f"{read}; its own request for {asked} was missing",
        "The reply itself goes into the history, whole and unchanged. What stands there in its place?"
        if odd
        else None,
    )


def _is_the_goal(entry: Any, log: Log) -> bool:
    return isinstance(entry, dict) and log.facts["goal"] in str(entry.get("text"))


def _is_odd(entry: Any, requests: list[Entry]) -> bool:
    """Whether an entry is none of the requests that were made, no result and nothing that a user says."""
    known = any(position([entry], request["tool"], request["input"]) == 0 for request in requests)
    user = isinstance(entry, dict) and entry.get("role") == "user"
    return not (known or user or is_result(entry))


@on_both_errands
def keeps_results(log: Log) -> Fault | None:
    """Every later call reads each result behind its request."""
    requests, results = log.facts["requests"], log.facts["results"]
    first_read: list[Any] = []
    for number in range(len(requests)):
        history = _next_history(log, number) or []
        if fault := _result_behind(history, number + 2, requests[number], results[number]):
            return fault
        kept = results_in(history)
        results_read = f"{counted(len(kept), 'result')} for {counted(number + 1, 'request')}"
        read = f"call {number + 2} read {sketch(history)}: {results_read}"
        if len(kept) < number + 1:
            return Fault(read, "Earlier results must stay. Which line throws them away?")
        if len(kept) > number + 1:
            return Fault(read, "One request, one result. How many lines put a result into the history?")
        for earlier, (before, now) in enumerate(zip(first_read, kept, strict=False)):
            if json_text(before) != json_text(now):
                request = requests[earlier]
                asked = request_words(request)
                return Fault(
                    f"call {number + 2} read another result for {asked} than the calls before: {shown(now)}, "
                    f"not {shown(before)}",
                    "What is in the history stays as it is. Is one and the same dict or list put in again "
                    "and again? Make a new one for each result.",
                )
        first_read = kept
    return None


def _result_behind(history: list[Any], call: int, request: Entry, result: Any) -> Fault | None:
    asked = request_words(request)
    place = position(history, request["tool"], request["input"])
    behind = history[place + 1 :]
    kept = results_in(behind)
    read = f"call {call} read {sketch(history)}"
    gave = shown(result)
    if not kept:
        before = history[:place]
        if is_result(history[place - 1]) and len(results_in(before)) > len(requests_in(before)):
            return Fault(
                f"{read}: the result stands before its request",
                "First the request, then its result. Which of your two `append` lines runs first?",
            )
        odd = [entry for entry in behind if isinstance(entry, dict)]
        if odd:
            return Fault(
                f"{read}; what stands behind the request is {shown(odd[-1])}",
                'A result is an entry with the role "tool". Compare yours with the task.',
            )
        if not result:
            return Fault(
                f"{read}; the result of {asked}, {in_python(result)}, was not recorded",
                "Nothing, 0 and an empty text are results too. Under which condition does yours go into the "
                "history?",
            )
        return Fault(f"{read}; the result of {asked} was missing")
    said_nothing = result is None or result == ""  # any words for it will do
    if not is_result(behind[0]):
        return Fault(
            f"{read}; the result does not follow its request",
            "Nothing stands between a request and its result. What did you put there?",
        )
    entries = [entry for entry in behind if is_result(entry)]
    if "result" not in entries[-1]:
        return Fault(
            f'the tool entry has the keys {", ".join(map(repr, entries[-1]))}, and no "result"',
            'The tool\'s result stands under the key "result".',
            call=call,
        )
    if not said_nothing and not any(holds(value, result) for value in kept):
        return Fault(
            f"the tool gave {gave}; the history holds {shown(kept[-1])}",
            "What the tool gave goes into the history. Even 0 is a result."
            if result == 0
            else "What the tool gave goes into the history. What stands there in its place?",
            call=call,
        )
    return None


def in_python(value: Any) -> str:
    """Write a value as it stands in the learner's code, in a few words."""
    return shown(value) if isinstance(value, (str, dict, list)) else str(value)


def answers_at_the_end(log: Log) -> Fault | None:
    """One run must end with the model's answer, in the call after the last request."""
    steps = len(log.facts["requests"]) + 1
    if log.outcome.get("ended") == TOO_OFTEN and len(log.asks) > steps:
        return Fault(
            f"call {steps} gave an answer; the model was asked once more all the same",
            "An answer ends the run at once. Which line leaves the loop, and under which condition?",
            call=steps + 1,
        )
    return wrong_end(log, log.facts["answer"], steps, "answered")


def _answers_at_once(log: Log) -> Fault | None:
    fault = answers_at_the_end(log)
    return fault and Fault(
        f"a model gave an answer in its very first call; {fault.seen}",
        "A model may know the answer without a tool. What does your loop ask of an answer in call 1?",
    )


ends_with_the_answer = in_turn(on_both_errands(answers_at_the_end), each(_answers_at_once, "answer at once"))
"""The answer ends the run, at once, with the dict that the task asks for."""


def _answer_at_the_last_step(log: Log) -> Fault | None:
    steps = len(log.facts["requests"]) + 1
    if log.returned.get("stopped") == "step limit" or len(log.asks) < steps:
        return Fault(
            f"with max_steps={steps} the answer comes in call {steps}, the last one that is allowed; the "
            f"model was asked {times(len(log.asks))} and the run ended as "
            f"{json_text(log.returned.get('stopped'))}",
            "The last allowed call counts in full: an answer in it is an answer. When do you look at the "
            "limit?",
        )
    return answers_at_the_end(log)


def at_the_limit(log: Log) -> Fault | None:
    """One run must end at the step limit, with no answer."""
    limit = log.facts["limit"]
    is_given = log.facts.get("given", True)
    given = f"max_steps={limit}" if is_given else f"no max_steps given (so {limit})"
    # It comes after the runs in which a limit is given, so these are in order.
    default = (
        None
        if is_given
        else f"Your count is right where max_steps is given. Which number stands behind `max_steps=` in your "
        f"first line? The task wants {limit}."
    )
    asked = len([call for call in log.asks if "end" not in call.answer])
    if asked > limit:
        return Fault(
            f"with {given} the model was asked a call too many: call {limit + 1} was made",
            default
            or "Count with max_steps=1 on paper: how often is the model asked? The limit is looked at "
            "before a call.",
            own=True,
        )
    if "returned" not in log.outcome:
        fault = crash(log)
        after = counted(asked, "call")
        return Fault(f"with {given}, after {after}: {fault.seen}", fault.hint) if fault else None
    if asked < limit:
        return Fault(
            f"with {given} the model was asked {times(asked)}",
            default
            or "All the steps that are allowed may be used. From which number does your count start, and "
            "where does it end?",
        )
    return wrong_end(log, None, limit, "step limit")


def _tool_failures(log: Log) -> Fault | None:
    facts = log.facts
    in_a_row = step = 0
    for call in log.calls:
        in_a_row = in_a_row + 1 if call.tool else 0
        step += call.name == "model"
        if in_a_row > 1:
            return Fault(
                f"{call.tool} failed, and ran again before the model was asked again",
                "Your loop runs a failed tool again by itself. Whether to try again is the model's decision.",
                step=step,
            )
    for number, (request, message, kind) in enumerate(
        zip(facts["requests"], facts["messages"], facts["kinds"], strict=True)
    ):
        what = f'{request["tool"]} raised {kind}("{short(message, 60)}")'
        history = _next_history(log, number)
        if history is None:
            return _end_after_failure(log, what, message)
        kept = results_in(history)
        if len(kept) <= number or (not is_result(history[-1]) and not is_result(history[-2])):
            return Fault(
                f"{what}; call {number + 2} read {sketch(history)}, with no result for it",
                "A request without a result leaves the model in the dark. What do you append when the tool "
                "fails?",
            )
        entry = next(entry for entry in reversed(history) if is_result(entry))
        if "result" not in entry:
            return Fault(
                f'{what}; its entry has the keys {", ".join(map(repr, entry))}, and no "result"',
                'A failure is a result too: its words stand under the key "result".',
            )
        if message not in str(kept[-1]) and message not in json_text(kept[-1]):
            return Fault(
                f"{what}; the result that the model reads is {shown(kept[-1])}",
                "The tool's own message says what went wrong; the model needs these very words. Where do "
                "they get lost?",
                call=number + 2,
            )
    return answers_at_the_end(log)


def _end_after_failure(log: Log, what: str, message: str) -> Fault:
    if fault := crash(log):
        return Fault(
            f"{what}; it left your function as {fault.seen}",
            "A failing tool must not end the run. Which line can raise, and what stands around it?",
            own=message in str(log.outcome.get("raised", {}).get("message")),
        )
    return Fault(
        f"{what}; after that the model was not asked again, and the function returned {what_came_back(log)}",
        "A failure is a result like any other: record it and let the model read it.",
    )


def _unknown(log: Log) -> Fault | None:
    facts = log.facts
    what = f'the model asked for "{facts["missing"]}", which is not in `tools`'
    history = _next_history(log, 0)
    if history is None:
        if fault := crash(log):
            return Fault(
                f"{what}; then: {fault.seen}",
                "The model may misspell a name. What does `tools[...]` do with a key that is not there?",
            )
        return _not_asked_again(log, "a request for an unknown tool")
    if log.tool_runs and len(log.asks) > 1 and log.calls[1].tool:
        return Fault(
            f"{what}; {log.calls[1].tool} ran instead", "Only the tool that was asked for may run, or none."
        )
    kept = results_in(history)
    if not kept:
        return Fault(
            f"{what}; call 2 read {sketch(history)}, with no result for it",
            "An unknown tool gets a result too, so that the model can mend its request.",
        )
    if facts["missing"] not in json_text(kept[-1]):
        return Fault(
            f"{what}; the result that the model reads is {shown(kept[-1])}",
            "Say in the result which name was unknown.",
            call=2,
        )
    second = _next_history(log, 1)
    if second is None:
        return _not_asked_again(log, "a request for an unknown tool and one for a known tool")
    return answers_at_the_end(log)


def _works_again(log: Log) -> Fault | None:
    """A tool that has failed runs when it is asked for again; what it gives is a result like any other."""
    request = log.facts["requests"][1]
    what = f"{request['tool']} failed once and was asked for again, with other input"
    if len(log.asks) > 1 and len(log.tool_runs) < 2:
        told = results_in(log.histories[-1])
        if told and request["tool"] not in json_text(told[-1]):
            return None  # held back by a guard of its own; another criterion names it
        return crash(log) or Fault(
            f"{what}; it did not run", "A failed tool may work the next time. Is it still in `tools`?"
        )
    if len(log.asks) == 2 and len(log.tool_runs) == 2:
        return Fault(
            f'{what}; it gave a dict with the key "error", and the model was not asked again',
            "What a tool gives is a result, whatever stands in it. Only an answer or a limit ends the run.",
        )
    return answers_at_the_end(log)


def not_asked_after_its_failure(log: Log) -> Fault | None:
    """When the model itself fails, nothing more is called."""
    failed = next((place for place, call in enumerate(log.calls) if "raises" in call.answer), None)
    if failed is None or failed == len(log.calls) - 1:
        return None
    return Fault(
        f"{_model_failed(log)}; {log.calls[failed + 1].tool or 'it'} was called again all the same",
        "That was no failing tool: only a tool's failure is a result. Which line may raise inside your "
        "`try`, "
        "besides the tool call?",
    )


def _model_failed(log: Log) -> str:
    return f'the model itself failed with "{short(log.facts["message"], 60)}"'


def _failing_model_leaves(log: Log) -> Fault | None:
    if "returned" not in log.outcome or not_asked_after_its_failure(log):
        return None
    return Fault(
        f"{_model_failed(log)}; the function returned {what_came_back(log)}",
        "Your loop cannot mend a model that fails. Let its exception leave the function: `try` stands around "
        "the tool call alone.",
    )


def _interrupt_leaves(log: Log, where: str) -> Fault | None:
    pressed = [place for place, call in enumerate(log.calls) if "interrupt" in call.answer]
    if "interrupted" in log.outcome and pressed[:1] == [len(log.calls) - 1]:
        return None
    if "interrupted" in log.outcome:
        then = "it went on, and only a later one ended it"
    elif "returned" in log.outcome:
        then = f"the function returned {what_came_back(log)}"
    else:
        fault = crash(log)
        then = fault.seen if fault else "it went on"
    return Fault(
        f"a person pressed Ctrl-C while {where} was at work; then: {then}",
        f"Ctrl-C raises KeyboardInterrupt. Which `except` of yours catches it when it comes in {where}?",
        step=log.step_at(pressed[0]) if pressed else 0,
    )


def not_run_and_told(
    history: list[Any], request: Entry, earlier: Any, which: str, where: str
) -> Fault | None:
    """A request that was not run has a result that says so. earlier: what it gave when it was run.

    which: the request, in words. where: the history, in words: "call 3 read".
    """
    asked = request_words(request)
    read = f"{where} {sketch(history)}"
    place = position(history, request["tool"], request["input"])
    if not results_in(history[place + 1 :]):
        return Fault(
            f"{read}; the {which} for {asked} has no result",
            "Every request gets a result, also one that is not run. What does the model read in its place?",
        )
    entry = next(entry for entry in history[place + 1 :] if is_result(entry))
    if "result" not in entry:
        keys = ", ".join(map(repr, entry))
        return Fault(
            f'the entry for the {which} for {asked} has the keys {keys}, and no "result"',
            'Its words stand under the key "result", as those of every result do.',
        )
    result = entry["result"]
    silent = result is None or not any(letter.isalpha() for letter in json_text(result))
    if silent or holds(result, earlier):
        return Fault(
            f"the result of the {which} for {asked} is {shown(result)}, as if it had been run",
            "The result has to say that the request was not run again, and not to repeat what came before: "
            "the model can read that above.",
        )
    return None


stops_at_the_limit = in_turn(
    each(at_the_limit, "endless", "one step", "many steps", "default limit"),
    each(_answer_at_the_last_step, "answer at the last step"),
)
"""Never more than max_steps calls, never fewer, and an honest end."""

failures_become_results = in_turn(
    each(_tool_failures, "failing"),
    each(_unknown, "unknown tool", "unknown tool, in capitals"),
    each(_works_again, "works again"),
    each(not_asked_after_its_failure, "failing model"),
)
"""A tool's failure and an unknown tool come back as results, and the run goes on. A model's own ends it."""

interrupt_leaves = in_turn(
    each(partial(_interrupt_leaves, where="a tool"), "interrupt in a tool"),
    each(partial(_interrupt_leaves, where="the model"), "interrupt in the model"),
)
"""Ctrl-C leaves the function, whether it comes in a tool or in the model."""

lets_through = in_turn(interrupt_leaves, each(_failing_model_leaves, "failing model"))
"""Ctrl-C and a model's failure leave the function. Only the learner's own process can say so."""

still_a_loop = in_turn(
    begins_with_the_goal, runs_the_tool, keeps_requests, keeps_results, ends_with_the_answer
)
"""All that ex01 asks for, up to the answer."""


def where_failures_pass(judge: Judge) -> Judge:
    """Hear a judge only where failures become results; else the criterion for failures names the cause."""

    def judge_where(logs: Logs) -> Fault | None:
        fault = judge(logs)
        return fault if fault and failures_become_results(logs) is None else None

    return judge_where


def leaves(after: tuple[str, ...] = (), judge: Judge = lets_through) -> Criterion:
    """Make the criterion for what must leave the function. It earns nothing, since nobody else can see it."""
    return Criterion(
        "leaves",
        0,
        "lets Ctrl-C and a failing model through: they leave the function",
        nudge="A person must be able to stop the loop. What catches the interrupt?",
        hint=(
            "`except Exception` around the tool call alone: KeyboardInterrupt passes it, and the model is "
            "not "
            "in it. A bare `except:` and `except BaseException` catch Ctrl-C too."
        ),
        judge=judge,
        after=after,
        details=(
            "No points, for only your own computer can tell what leaves a function; the check shows it all "
            "the same."
        ),
    )


def failures_as_in_ex01(points: int, after: tuple[str, ...]) -> tuple[Criterion, Criterion]:
    """Make the criteria of every loop built on ex01's: what held there must still hold."""
    failures = Criterion(
        "failures",
        points,
        "turns a failing tool and an unknown tool into results, and goes on, as in ex01",
        nudge="Is the `try` around the tool call still there?",
        hint="`except Exception as problem` around the tool call alone, with `str(problem)` in the result.",
        judge=failures_become_results,
        after=after,
        details="A model that fails is no failing tool: it is not asked again.",
    )
    return failures, leaves(after)
