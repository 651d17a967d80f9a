"""What is noted while a loop runs: its lines, its history, its model and its tools, and how it ends."""

import copy
import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType, FunctionType, MemberDescriptorType, TracebackType
from typing import Any

from agentlib._json import copy_plain, whole_number
from agentlib._platform import HERE, ClockGuard
from agentlib.errors import ToolError, UnrunError
from agentlib.messages import Entry, describe, json_ready, json_text, read_usage, short, user
from agentlib.tools import Tool, name_of, words_of
from agentlib.trace import Event, Trace, input_of, raised_again
from agentlib.watch.budgets import Budgets
from agentlib.watch.expressions import Expressions, Scope
from agentlib.watch.following import FollowedHistory
from agentlib.watch.function import WatchedFunction
from agentlib.watch.lines import LoopEnded, line_watcher
from agentlib.watch.source import Source
from agentlib.watch.values import is_left_out, is_small, kept, plain_form, short_form

__all__ = ["NOTHING", "watch", "wrapped_tools"]

NOTHING = "the loop returned nothing"

WATCH_SECONDS = 20.0
"""Where nobody can interrupt a loop, it is ended after so long, whatever it or its tools do."""

OUR_DIR = str(Path(__file__).parents[1])

MAX_LINES_IN_A_ROW = 200
"""Where more lines run and nothing else happens, only these and the last one are noted."""


class Recorder:
    """Runs one loop and writes down what happens, in order.

    events: what has happened so far. tool_names: the tools, in the order in which they were given.
    max_calls, max_lines: see `watch`. max_seconds: ends a tool and a model too; None = no limit.
    """

    def __init__(
        self,
        loop: WatchedFunction,
        goal: Any,
        max_calls: int,
        max_lines: int,
        max_seconds: float | None = None if HERE.can_interrupt else WATCH_SECONDS,
    ) -> None:
        self.loop = loop
        self.goal = goal
        self.max_calls = max_calls
        self.max_seconds = max_seconds
        self.events: list[Event] = []
        self.tool_names: list[str] = []
        self.calls = 0
        self.line = 0
        self.call = self.caller = self.newest = 0
        self.lines_in_a_row = 0
        self.ended: tuple[str, str] | None = None  # reason and detail, if the loop had to be ended
        self.lines = line_watcher(loop, max_lines, self.new_line, self.left, self.end)
        self.history = FollowedHistory(goal, self.lines)
        self.history_names: list[str] = []
        self.shown: dict[str, _Shown] = {}
        self.at_the_end: dict[str, str | None] | None = None  # what the very last line has changed
        self.followed: tuple[Any, int, Any] = (None, 0, None)  # the code, the call and the history last seen
        source = Source(loop.source, loop.first_line)
        self.expressions, self.budgets = Expressions(source), Budgets(source)

    def note(self, kind: str, **values: Any) -> None:
        """Add an event that belongs to the present step."""
        if self.lines_in_a_row > MAX_LINES_IN_A_ROW:
            frame = next(self.lines.calls(), None)
            if frame is not None:
                self.note_line(frame, self.history.variables(frame))
        self.lines_in_a_row = 0
        self.events.append(Event(kind, self.calls, call=self.call, made_at=self.line, **values))

    def new_line(self, frame: FrameType, line: int, call: int) -> None:
        """Note the line of the loop that is about to run, and what the one before has changed."""
        variables = self.history.variables(frame)
        history = self.history.found_in(variables)
        history = self.history.now() if history is None else history
        if not self.comes_back(frame, call, history):
            self.note_change(history, quick=True)
        self.caller = self.call if call > self.newest else 0
        self.newest = max(self.newest, call)
        self.line, self.call = line, call
        self.lines_in_a_row += 1
        if self.lines_in_a_row <= MAX_LINES_IN_A_ROW:
            self.note_line(frame, variables)

    def comes_back(self, frame: FrameType, call: int, history: Any) -> bool:
        """True in a recursive loop that has come back from an inner call with a history of its own."""
        code, innermost, followed = self.followed
        if history is followed and call == innermost:
            return False
        if code is frame.f_code and call < innermost and history is not followed:
            return True
        self.followed = frame.f_code, call, history
        return False

    def note_line(self, frame: FrameType, variables: Entry) -> None:
        """Note the present line, with what is known at this moment of one call's variables."""
        changed = self.changed(variables)
        budgets, compared = None, ""
        if changed and self.budgets.meters:
            budgets = self.budgets.now(self.line, changed, Scope(variables, frame))
        if self.line in self.expressions.lines:
            compared = self.expressions.at(self.line, Scope(variables, frame))
        caller, self.caller = self.caller, 0
        self.events.append(  # by place, since that is quicker than by name
            Event("line", self.calls, None, 0, 0, "", "", False, self.line, None, 0.0,
                  changed, self.call, caller, compared, budgets)
        )  # fmt: skip

    def changed(self, variables: Entry) -> dict[str, str | None] | None:
        """Give short forms of the variables that are new since the last line that was noted."""
        changed: dict[str, str | None] = {}
        here = 0
        for name, value in variables.items():
            if name in self.history.names or type(value) is FunctionType:
                continue
            before = self.shown.get(name)
            if before is None or not before.still_holds(value):
                if not self.is_shown(name, value):
                    continue
                now = self.shown[name] = _Shown(value)
                if before is None or before.text != now.text:
                    changed[name] = now.text
            here += 1
        if here < len(self.shown):
            for name in list(self.shown):
                if name not in variables or not self.is_shown(name, variables[name]):
                    del self.shown[name]
                    changed[name] = None
        return changed or None

    def is_shown(self, name: str, value: Any) -> bool:
        """False for the history, which is recorded by itself, and for what is no data."""
        # A class body has names of Python's own, such as `__module__`.
        is_own = name != "self" and name[0] != "." and name[:2] != "__"
        if not is_own or name in self.history.names or is_left_out(value):
            return False
        return bool(self.history.names) or not self.history.begins_with_goal(value)

    def left(self, frame: FrameType, call: int, was_last: bool) -> None:
        """Note what the last line of a call has changed, and that its caller goes on."""
        history = self.history.now() if was_last else None
        if was_last and not self.comes_back(frame, self.call, history):
            self.note_change(history, quick=True)
        caller = next(self.lines.calls(frame.f_back), None) if frame.f_back is not None else None
        if caller is None and was_last:
            self.at_the_end = self.changed(self.history.variables(frame))
        elif caller is not None:
            self.line, self.call = caller.f_lineno or 0, self.lines.number_of(caller)

    def look(self) -> None:
        """Note how the history has changed, if it has."""
        self.note_change(self.history.now())

    def note_change(self, history: Sequence[Any] | None, quick: bool = False) -> None:
        change = self.history.change(history, quick)
        if change is not None:
            self.note("history", entries=change[0], read=change[1])

    # -- from the start to the end

    def run(self, model: Callable[..., Any], tools: Any) -> None:
        """Run the loop to its end, whatever that is, and note it."""
        self.note("start", entry=user(self.goal if isinstance(self.goal, str) else json_text(self.goal)))
        try:
            returned = self.in_time(
                lambda: self.lines.run(lambda: self.to_its_end(self.loop(model, tools, self.goal)))
            )
        except KeyboardInterrupt:
            self.stop("interrupted", f"a person interrupted the loop{self.where()}")
        except BaseException as problem:  # the SystemExit of exit() too
            if self.ended is None:
                kind, words = type(problem).__name__, _words(problem)
                words = words if words.startswith(kind) else f"{kind}: {words}"
                self.note("crash", line=self.line_of(problem.__traceback__), text=words)
                self.stop("crashed", words)
        else:
            try:
                self.note_returned(returned)
            except KeyboardInterrupt:
                self.stop("interrupted", "a person interrupted watch while it read what the loop returned")
            except BaseException as problem:  # a value may raise anything when it is looked at
                kind = type(problem).__name__
                self.stop("returned", f"the loop returned a value that cannot be read ({kind})")
        if self.ended is not None and self.events[-1].kind != "stop":
            reason, detail = self.ended
            self.stop(reason, detail + self.where())
        self.history_names = sorted(self.history.names)
        self.history = FollowedHistory(self.goal, self.lines)  # what the loop held is let go
        self.shown.clear()
        self.followed = (None, 0, None)

    def in_time(self, function: Callable[[], Any]) -> Any:
        """Call a function, for at most `max_seconds`."""
        if self.max_seconds is None:
            return function()

        def late(frame: FrameType) -> None:
            if not frame.f_code.co_filename.startswith(OUR_DIR):  # which must stay in order
                self.end("ran too long", f"{self.max_seconds:g} seconds were over")

        return ClockGuard(self.max_seconds, late).run(function)

    def note_returned(self, returned: Any) -> None:
        """Note the last of the history, and the end of a loop that came to it by itself."""
        kept = _part(returned, "history")
        self.note_change(kept if isinstance(kept, list) and not self.history.names else self.history.now())
        if self.ended is None:
            self.stop(*_in_words(returned))

    def to_its_end(self, returned: Any) -> Any:
        """Run a loop that is a generator to its end; give what it returns."""
        if inspect.iscoroutine(returned):
            returned.close()
            raise TypeError("the loop gave back a coroutine and never ran; watch runs plain functions")
        if not inspect.isgenerator(returned) or returned.gi_frame is None:
            return returned
        if returned.gi_frame.f_globals is not self.loop.namespace:
            return returned  # not the loop's own: it may never end
        while True:
            try:
                next(returned)
            except StopIteration as end:
                return end.value

    def stop(self, reason: str, detail: str, answer: Any = None, returned: Any = None) -> None:
        """Note the end of the loop; returned: what it gave back, ready for JSON."""
        entry = {"answer": answer, "detail": detail, "returned": returned}
        self.note("stop", text=reason, entry=entry, variables=self.at_the_end)

    def end(self, reason: str, detail: str) -> None:
        """End the loop from inside; the first reason stays."""
        self.ended = self.ended or (reason, detail)
        raise LoopEnded(f"watch ended this loop: {self.ended[1]}")

    def where(self) -> str:
        return f", in line {self.line}" if self.line else ""

    def line_of(self, traceback: TracebackType | None) -> int:
        """Find the loop's own line in a traceback, also of an error from further inside; 0 = none."""
        line = 0
        while traceback is not None:
            if traceback.tb_frame.f_code in self.loop.codes:
                line = traceback.tb_lineno
            traceback = traceback.tb_next
        return line

    # -- the model and the tools

    def watched_model(self, model: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap the model, so that each call and its reply are noted, also by its method `call`."""
        watched = self._watched_function(model)
        if hasattr(model, "call"):
            watched.call = self._watched_function(model.call)  # type: ignore[attr-defined]
        return watched

    def _watched_function(self, model: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(model)
        def watched(*args: Any, **kwargs: Any) -> Any:
            with self.lines.outside:
                if self.calls >= self.max_calls:
                    self.lines.let_it_finish()
                    self.end("asked too often", f"the model was asked more than {self.max_calls:,} times")
                self.lines.start_counting()
                given = [*args, *kwargs.values(), None][0]
                self.history.find(given)
                self.look()
                self.calls += 1
                entries, tokens, read = self.history.as_read(given)
                self.note("ask", entries=entries, tokens=tokens, read=read)
                try:
                    reply = model(*args, **kwargs)
                except BaseException as problem:
                    entry = {"type": "raised", **_raised(problem)}
                    self.note("reply", entry=entry, tokens=tokens, text="raised")
                    raise
                entry = plain_form(reply)
                if not isinstance(entry, dict):
                    entry = {"type": "invalid", "text": short(entry, 200)}
                counted = read_usage(entry.get("usage"))
                self.note("reply", entry=entry, tokens=counted["input_tokens"] if counted else tokens)
                return reply

        return watched

    def watched_tool(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap one tool, so that each run and its result or exception are noted."""
        self.tool_names.append(name)

        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            with self.lines.outside:
                self.look()
                begun = {"tool": name, "input": input_of(args, kwargs)}
                self.note("act", text=name, entry=begun)
                try:
                    result = function(*args, **kwargs)
                except BaseException as problem:
                    entry, id = _result(name, _raised(problem)), self.place_of(begun)
                    self.note("result", entry=entry, id=id, ran=True, text="raised")
                    raise
                self.note(
                    "result", entry=_result(name, plain_form(result)), id=self.place_of(begun), ran=True
                )
                return result

        return watched

    def place_of(self, begun: Entry) -> str:
        """Say where a tool was begun, unless it was the last one of its name: in threads it may not be."""
        for place in range(len(self.events) - 1, -1, -1):
            event = self.events[place]
            if event.kind == "act" and event.text == begun["tool"]:
                if event.entry is begun:
                    return ""
                break
        return next(str(place) for place, event in enumerate(self.events) if event.entry is begun)


class _Shown:
    """What was shown of a variable; and a copy of a small one, to see whether it still is the same."""

    def __init__(self, value: Any) -> None:
        self.text = short_form(value)
        self.copy = kept(value) if is_small(value) else self

    def still_holds(self, value: Any) -> bool:
        if self.copy is value or type(self.copy) is not type(value):
            return self.copy is value
        return is_small(value) and bool(self.copy == value)  # nothing in it has an `__eq__` of its own


def wrapped_tools(tools: Any, wrap: Callable[[str, Callable[..., Any]], Callable[..., Any]]) -> Any:
    """Wrap the function of each tool by `wrap(name, function)`; give back the same kind of container.

    Raises TypeError if the tools are no mapping or list of functions.
    """

    def wrapped(name: str, function: Any) -> Any:
        if not callable(function):
            raise TypeError(f"The tool {name} is a function, but was {describe(function)}.")
        if isinstance(function, Tool):
            return replace(function, function=wrap(name, function.function))
        return wrap(name, function)

    if isinstance(tools, Mapping):
        table: Any = copy.copy(tools) if isinstance(tools, dict) else dict(tools)
        for name, function in tools.items():
            table[name] = wrapped(str(name), function)
        return table
    if isinstance(tools, (str, bytes)) or not isinstance(tools, Iterable):
        raise TypeError(f"tools is a dict or a list of functions, but was {describe(tools)}.")
    made = [wrapped(one.name if isinstance(one, Tool) else name_of(one), one) for one in tools]
    return tuple(made) if isinstance(tools, tuple) else made


def _result(name: str, result: Any) -> Entry:
    return {"role": "tool", "id": "", "tool": name, "result": result}


def _raised(problem: BaseException) -> Entry:
    """Describe an exception; `agentlib.trace.raised_again` makes it anew."""
    code = {"code": problem.code} if isinstance(problem, ToolError) else {}
    harmless = {"failed": False} if isinstance(problem, UnrunError) and not problem.failed else {}
    recorded = {"error": type(problem).__name__, "message": _words(problem), **code, **harmless}
    if isinstance(problem, BaseExceptionGroup):
        return {
            **recorded, "group": problem.message, "exceptions": [_raised(one) for one in problem.exceptions],
        }  # fmt: skip
    if type(problem).__module__ not in ("builtins", "agentlib.errors"):
        recorded["module"] = type(problem).__module__
    fields = {name: value for name, value in _fields(problem).items() if name not in code}
    if fields:
        recorded["fields"] = fields
    if problem.args and raised_again(recorded).args != problem.args:
        recorded["args"] = plain_form(list(problem.args))
    return recorded


def _fields(problem: BaseException) -> Entry:
    """Give what an exception carries beside its words, as far as it is plain: errno, a status, a name."""
    held: Entry = dict(object.__getattribute__(problem, "__dict__"))
    for base in type(problem).__mro__:
        if base.__module__ == "builtins":
            slots = (slot for slot in vars(base).values() if type(slot) is MemberDescriptorType)
            held.update((slot.__name__, slot.__get__(problem)) for slot in slots)
    return {
        name: value
        for name, value in held.items()
        if value is not None and name[0] != "_" and _is_plain(value)
    }


def _is_plain(value: Any) -> bool:
    try:
        copy_plain(value)
    except Exception:
        return False  # it has no form in a trace
    return True


def _words(problem: BaseException) -> str:
    """Give an exception's words without addresses in memory, which change from run to run."""
    return re.sub(r"\bat 0x[0-9A-Fa-f]+", "at 0x...", words_of(problem))


def _part(value: Any, name: str) -> Any:
    """Look up a key of a mapping or an attribute of an object; None = there is none."""
    try:
        return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    except KeyboardInterrupt:
        raise
    except BaseException:  # a property may raise anything
        return None


def _in_words(returned: Any) -> tuple[str, str, Any, Any]:
    """Describe what a loop returned: stop reason, details, answer, and the value ready for JSON."""
    if returned is None:
        return "returned", NOTHING, None, None
    reason, answer = _part(returned, "stopped"), json_ready(_part(returned, "answer"))[0]
    # The text itself: a class of text of its own may have a __bool__ that raises.
    stopped = str.__str__(reason) if isinstance(reason, str) else ""
    if not stopped:
        value, text, _ = json_ready(returned)
        return "returned", f"the loop returned {short(text, 200)}", answer, value
    if not isinstance(returned, Mapping):  # such as agentlib's own Run, whose events would fill pages
        returned = {name: _part(returned, name) for name in ("answer", "steps", "stopped")}
    return stopped, _part(reason, "detail") or "", answer, json_ready(returned)[0]


def watch(
    run_agent: Callable[..., Any],
    model: Callable[..., Any],
    tools: Any,
    goal: Any,
    *,
    max_calls: int | None = None,
    max_lines: int = 20_000,
    **options: Any,
) -> Trace:
    """Run `run_agent(model, tools, goal, **options)`, whoever wrote it, and give back what happened.

    tools: a mapping or a list of functions or `Tool`s; the loop gets the same kind.
    options: what else the loop takes, such as max_steps; passed on as they are.
    max_calls: a loop that asks the model more often is ended. None = 200, or one more than max_steps if
    that is more, so that a loop which keeps its own limit never meets this one; 10,000 at most.
    max_lines: a loop that runs more lines and does not ask the model in between is ended; the functions
    that it calls may run 50 times as many. Lines are counted, not timed, so that the same loop gives the
    same trace. One call into C code that never comes back, such as `sum(itertools.count())`, has no lines
    and cannot be ended.

    However the loop ends, there is a trace. An interrupt by a person (KeyboardInterrupt) ends it too and
    is not raised again: whoever interrupts a loop wants to see where it was.
    Raises TypeError or ValueError, before anything runs, for what cannot be watched.
    """
    for name, given in (("run_agent", run_agent), ("model", model)):
        if not callable(given):
            raise TypeError(f"{name} is a function, but was {describe(given)}.")
    max_calls = options.pop("most_calls", max_calls)  # as saved notebooks of the first form call it
    max_lines = options.pop("most_lines", max_lines)
    loop = WatchedFunction(run_agent, options)
    if max_calls is None:
        needed = loop.max_steps + 1 if type(loop.max_steps) is int else 0
        max_calls = min(max(200, needed), 10_000)
    recorder = Recorder(
        loop, goal, whole_number("max_calls", max_calls), whole_number("max_lines", max_lines)
    )
    recorder.run(recorder.watched_model(model), wrapped_tools(tools, recorder.watched_tool))
    about = {
        "made_by": "watch", "goal": goal, "max_steps": loop.max_steps, "tools": recorder.tool_names,
        "function": loop.name, "source": loop.source, "first_line": loop.first_line,
        "history_names": recorder.history_names,
    }  # fmt: skip
    if loop.changed_on_disk:
        about["changed_on_disk"] = True
    if recorder.lines.remarks:
        about["remarks"] = " ".join(sorted(recorder.lines.remarks))
    return Trace(tuple(recorder.events), json_ready(about)[0])
