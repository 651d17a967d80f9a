"""What was seen of each line of a watched loop: which line of which call ran before and after it."""

import ast
from collections.abc import Sequence

from agentlib.messages import short
from agentlib.trace import Event
from agentlib.views.describe import value_words
from agentlib.views.moments import next_lines
from agentlib.views.sentences import LAMBDA, Seen, hands_over
from agentlib.views.variables import Strip
from agentlib.watch.source import Source, own_lines

__all__ = ["ENDED", "VALUE_CHARS", "Onlooker"]

VALUE_CHARS = 80
"""What stands at the end of a line is about this long."""

ENDED = ("asked too often", "ran too long", "interrupted")
"""Reasons that watching gives; the loop did not come to its end by itself."""


def _makes_dict(node: ast.expr | None) -> bool:
    """True for what gives a dict and nothing else: `{...}` and `dict(...)`."""
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict"
    return isinstance(node, ast.Dict) or is_call


class Onlooker:
    """Follows the calls of a watched loop, and says of a line what came of it.

    strip: the variables of the calls. last_lines, before: by call, its last line so far and the one before.
    waiting: by call, a line for which another function runs.
    """

    def __init__(self, source: Source, events: Sequence[Event], strip: Strip) -> None:
        self.source, self.events, self.strip = source, events, strip
        self.last_lines: dict[int, int] = {}
        self.before: dict[int, int] = {}
        self.waiting: dict[int, Seen] = {}
        self.next_line = next_lines(events)

    def goes_on(self, event: Event) -> int:
        """Take in that a line of a call runs; give the line of that call before it, 0 = none."""
        line = self.last_lines.get(event.call, 0)
        self.last_lines[event.call], self.before[event.call] = event.line, line
        return line

    def seen(self, start: int, end: int, present: int) -> Seen:
        """Say what was seen of the line of a group of events: what ran after it. present: the line, if the
        group has none of its own."""
        line_events = [number for number in range(start, end) if self.events[number].kind == "line"]
        number = line_events[-1] if line_events else start
        first = self.events[start]
        line = first.line or first.made_at or present
        place = self.next_line.get(number)
        while place is not None and self.source.same_statement(line, self.events[place].line):
            if self.events[place].line == line:
                break
            place = self.next_line.get(place)
        after = self.events[end] if end < len(self.events) else None
        next_kind = after.kind if after is not None else "ended"
        if after is not None and after.kind == "crash" and not self.source.same_statement(after.line, line):
            next_kind = ""  # this line did its work; the one that waits for it raised
        if after is not None and after.kind == "stop" and after.text in ENDED:
            next_kind = "ended"
        compared = (self.events[one].compared for one in line_events)
        calls, escapes, waits_for, then = ("", 0), 0, 0, ""
        is_class = self.source.kind(line) == "class"  # its body is a call for Python
        if after is not None and after.kind == "line" and after.call != first.call and not is_class:
            if not self.strip.is_known(after.call):
                calls = self.begins(after.line) if after.caller == first.call else calls
                if after.caller != first.call and place is not None:  # such as a task of asyncio
                    waits_for = after.line
            elif self.source.catches(self.last_lines.get(after.call, 0), after.line):
                then = self.raised_above(first.call, line, after)
                escapes = 0 if then else after.line
            elif place is not None or hands_over(self.source.node(line)):
                waits_for = after.line
        caller = self.strip.caller(first.call)
        return Seen(
            self.source, line,
            following=self.events[place].line if place is not None else None,
            compared=self.strip.words(next(filter(None, compared), "")),
            calls=calls, next_kind=next_kind,
            caller=self.source.head(self.last_lines[caller]) if caller in self.last_lines else 0,
            before=self.before.get(first.call, 0), escapes=escapes,
            waits_for=waits_for, then=then, returned=self.returned(line, after),
            is_lambda=bool(first.caller) and not self.before.get(first.call) and self.holds_lambda(line),
            is_whole=first.kind == "line" and next_kind not in ("ask", "act"),
        )  # fmt: skip

    def raised_above(self, call: int, line: int, after: Event) -> str:
        """Say what raises, if it is not this line though an `except` of a caller runs next; "" = it is."""
        caller = self.strip.caller(call)
        waiting, catches = self.waiting.get(caller), f"the `except` in line {after.line} comes next."
        if waiting is not None and waiting.kind == "raise":
            return f"The `raise` in line {waiting.line} goes on: {catches}"
        function = self.source.function(line)
        is_generator = function is not None and any(
            isinstance(part, (ast.Yield, ast.YieldFrom)) for part in ast.walk(function)
        )
        handler = self.source.node(after.line)
        if is_generator and "StopIteration" in ast.unparse(getattr(handler, "type", None) or ast.Constant(0)):
            return f"That is a `StopIteration` in line {self.last_lines.get(after.call, 0)}: {catches}"
        return ""

    def returned(self, line: int, after: Event | None) -> str:
        """Give what the loop gave back, if it is a dict that is written there; "" for anything else."""
        node = self.source.node(line)
        if after is None or after.kind != "stop" or after.text in ENDED or node is None:
            return ""
        written = [part for part in ast.walk(node) if isinstance(part, ast.Return)]
        value = (after.entry or {}).get("returned")
        if len(written) != 1 or not _makes_dict(written[0].value) or not isinstance(value, dict):
            return ""
        return short(value_words(value), VALUE_CHARS)

    def begins(self, line: int) -> tuple[str, int]:
        """Give the name of the function that begins at a line, and the line; ("", 0) if none does."""
        function = self.source.function(line)
        if self.holds_lambda(line):
            return LAMBDA, line
        if self.source.kind(line) == "class":
            return "", 0
        if function is not None:
            for node in function.body[:2]:  # a docstring is no line
                first, last = own_lines(node)
                if first <= line <= last:
                    return function.name, line
        return "", 0

    def holds_lambda(self, line: int) -> bool:
        """True if a `lambda` stands on a line."""
        node = self.source.node(line)
        return node is not None and any(
            isinstance(part, ast.Lambda) and part.lineno <= line <= (part.end_lineno or 0)
            for part in ast.walk(node)
        )
