"""The frames of a watched loop: one for each line that ran, with what that line brought about."""

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from agentlib.messages import Entry, calls_in, short
from agentlib.trace import Event, Trace
from agentlib.views.building import Builder, Frames, has_no_frames, requests_words
from agentlib.views.describe import (
    call_words,
    code,
    counted,
    entry_error,
    entry_words,
    full_stop,
    one_line,
    quoted,
    role_of,
    sentence,
    value_words,
)
from agentlib.views.moments import asking_lines, grouped, rows_of_lines
from agentlib.views.onlooker import VALUE_CHARS, Onlooker
from agentlib.views.sentences import (
    Seen,
    caught_at,
    did_on_one_line,
    goes,
    is_met,
    test_in_words,
    test_words,
    what_happened,
)
from agentlib.views.variables import Strip, targets
from agentlib.watch.expressions import COMPARED_CHARS
from agentlib.watch.source import Source, is_on_one_line, own_lines
from agentlib.watch.values import short_form

__all__ = ["WatchedBuilder"]


def of_a_function(caption: str) -> str:
    """Say it of a function that is no loop; the values between backticks stay."""
    parts = caption.split("`")
    parts[::2] = [
        part.replace("The loop", "The function")
        .replace("Your loop", "Your function")
        .replace("the run", "it")
        for part in parts[::2]
    ]
    return "`".join(parts)


class WatchedBuilder(Builder):
    """Goes through the events of a watched loop."""

    def __init__(self, trace: Trace, source: Source) -> None:
        super().__init__(trace)
        self.source = source
        self.strip = Strip(source, trace.about.get("history_names") or ())
        self.line: int | None = None
        self.onlooker = Onlooker(source, self.events, self.strip)
        self.checked = True  # whether the last reply has been acted upon
        self.call: Entry = {}  # the request whose tool runs
        self.raised = ""  # the request, or the model, that raised and whose error is not yet recorded
        self.caught = False  # an `except` has run since
        self.replaced = False  # the loop has raised an error of its own in its place
        self.raised_now = False  # it raised at the very line that is told
        self.coming: list[dict[str, Any]] = []  # replies and results that are not in the history yet
        self.meter: tuple[dict[str, Any], ...] = ()
        self.vars: dict[str, str | None] = {}
        self.values: dict[int, str] = {}
        self.groups = list(grouped(source, self.events))
        self.asking = asking_lines(self.events)
        self.gaps = rows_of_lines(self.events)

    def build(self) -> Frames:
        for start, end in self.groups:
            first = self.events[start]
            if first.kind == "stop":
                self.coming.clear()
                self.apply(first)
                self.put(self.line, "", self.ended(first), stopped=first.text, mark="stop")
            elif first.kind == "crash":
                self.line = self.source.head(first.line) if first.line else self.line
                self.coming.clear()
                self.put(self.line, "", self.crashed(first), error=first.text, mark="error")
            elif self.is_left_out and has_no_frames(self.step + 1, self.last_ask):
                self.skip_group(start, end)
            else:
                self.build_group(start, end)
        return self.frames

    def skip_group(self, start: int, end: int) -> None:
        """Go through what has no frames."""
        for number in range(start, end):
            self.apply(self.events[number])
        for number in range(start + 1, min(end + 1, len(self.events))):
            if self.events[number].kind == "line":
                self.take_variables(self.events[number])

    def put(self, line: int | None, move: str, caption: str, new: tuple[int, ...] = (), **more: Any) -> None:
        """Make one frame, unless it lies in the middle of a very long run."""
        if not self.is_left_out:
            coming = self.coming[-1] if self.coming else None
            values = tuple(self.values.items())
            self.add(line, move, caption, new, vars=self.vars, values=values, coming=coming,
                     meter=self.meter, **more)  # fmt: skip
        self.vars, self.values = {}, {}

    def build_group(self, start: int, end: int) -> None:
        first = self.events[start]
        self.raised_now = False
        if first.kind == "line" or first.made_at:
            self.line = self.source.head(first.line or first.made_at)
        move, captions, new, mark, raised_at = "", [], set[int](), "", 0
        for number in range(start, end):
            event = self.events[number]
            if event.kind == "line" and number > start:
                self.take_variables(event)
                continue
            before, self.number = self.length, number
            new.update(self.apply(event))
            if self.is_left_out:
                continue
            moved, words = self.event_caption(number, event, before)
            mark = self.mark_of(event) or mark
            move = moved if moved and move in ("", "record") else move
            if words:
                captions.append(words)
            if event.kind == "result" and event.text == "raised":
                raised_at = len(captions)
        following = self.events[end] if end < len(self.events) else None
        seen = None if self.is_left_out else self.onlooker.seen(start, end, self.line or 0)
        went_on = ""
        if following is not None and following.kind == "line":
            self.take_variables(following)
            went_on = self.goes_on(following)
        elif following is not None and following.kind == "stop" and following.variables:
            self.take_variables(following._replace(call=first.call, line=first.line))
        if seen is None:
            self.forget()
            return
        if seen.kind == "raise" and seen.node.exc is not None:  # type: ignore[union-attr]
            self.replaced = True
        if seen.calls[0]:
            self.onlooker.waiting[first.call] = seen
        else:
            self.note_test(seen)
            if captions and first.kind == "line" and not went_on:
                went_on = self.came_out(seen)
        went_on = went_on or seen.then
        if self.raised_now and self.raised and self.is_caught_unseen(seen):
            captions.insert(raised_at, "A function that is not shown catches it.")
            if self.values.get(self.line or 0, "").startswith("raises "):
                self.values[self.line or 0] = "the tool raised"  # and not the line, which went on
        if not captions and first.kind == "line":
            move, words = (
                self.line_caption(seen) if end - 1 not in self.gaps else ("", self.before_a_gap(seen))
            )
            captions.append(words)
        if went_on:
            captions.append(went_on)
        if captions:
            self.put(self.line, move, " ".join(captions), tuple(sorted(new)), mark=mark)

    def forget(self) -> None:
        """Start anew behind what has no frames."""
        self.vars, self.values = {}, {}
        self.coming.clear()
        self.onlooker.waiting.clear()
        self.raised, self.checked = "", True

    def before_a_gap(self, seen: Seen) -> str:
        """Say of the last of very many lines what all those have changed that come behind it."""
        self.values.clear()
        changed = " and ".join(
            f"{code(name)} is {code(text)}" for name, text in list(self.vars.items())[:3] if text is not None
        )
        then = f" In the end {changed}." if changed else ""
        return f"{seen.text} runs, and after it lines that are not shown.{then}"

    def goes_on(self, event: Event) -> str:
        """Say how a test came out for which another function had to run first."""
        seen = self.onlooker.waiting.pop(event.call, None)
        if seen is None:
            return ""
        self.note_test(seen, self.source.head(seen.line))
        return self.came_out(seen)

    def is_caught_unseen(self, seen: Seen) -> bool:
        """True if a line went on to the next one though its tool raised: what it calls has caught that."""
        following = seen.following
        if (
            seen.calls[0]
            or seen.escapes
            or seen.waits_for
            or caught_at(seen)
            or self.source.in_with(seen.line)
        ):
            return False
        if following is None:
            return seen.next_kind in ("history", "ask", "act", "stop")
        return seen.next_kind not in ("crash", "ended") and not self.source.finally_of(seen.line, following)

    def came_out(self, seen: Seen) -> str:
        """Say how the test of a line came out that has done more than to look."""
        node = seen.node
        if isinstance(node, (ast.For, ast.AsyncFor)) and seen.is_whole and seen.following is not None:
            is_over = not caught_at(seen) and not self.source.inside(own_lines(node)[0], seen.following)
            return (
                f"Line {self.source.head(seen.line)}: there is no further one, {goes(seen)}."
                if is_over
                else ""
            )
        if not isinstance(node, (ast.If, ast.While)) or isinstance(node.test, ast.Constant):
            return ""
        if isinstance(node, ast.While) and is_on_one_line(node):
            return ""  # the next line is behind all its rounds
        outcome = is_met(seen)
        if outcome is None or seen.following is None:
            return ""
        return f"Line {self.source.head(seen.line)}: {'yes' if outcome else 'no'}, {goes(seen)}."

    def take_variables(self, event: Event) -> None:
        """Take in what a line event says of the variables: the line of its call before has changed them."""
        line = self.onlooker.goes_on(event)
        held = self.strip.variables(event.call)
        news = self.strip.update(event)
        now = self.strip.variables(event.call)
        if not self.is_left_out:
            self.vars = {**self.vars, **news}
            self.set_values(line, event.line, held, now)
        if event.budgets:
            known = {one["name"]: one for one in self.meter}
            for name, (used, limit) in event.budgets.items():
                known[name] = {"name": name, "used": used, "limit": limit}
            self.meter = tuple(known.values())

    def set_values(self, line: int, following: int, before: dict[str, str], now: dict[str, str]) -> None:
        """Put at the end of a line what it has set or changed: `cost = 9`."""
        kind = self.source.kind(line)
        took_none = kind == "loop" and not self.source.inside(line, following)
        if not line or took_none or kind in ("if", "return", "def", "class"):
            return
        head = self.source.head(line)
        if self.source.catches(line, following):
            self.values.setdefault(head, "raises an error")  # what it would have set still has its old value
            return
        raises = self.values.get(head, "").startswith("raises ")
        if raises and self.source.finally_of(line, following):
            return
        names = [*targets(self.source.node(line)), *(name for name in now if before.get(name) != now[name])]
        told = {name: f"{name} = {now[name]}" for name in names if name in now}
        if raises and self.source.in_with(line) and before == now:
            return  # the `with` has kept the error to itself
        if told:
            words = ", ".join(list(told.values())[:3])
            self.values[head] = one_line(words, VALUE_CHARS)

    def note_test(self, seen: Seen, line: int = 0) -> None:
        """Put the outcome of a test at the end of its line."""
        line = line or self.line or 0
        if seen.kind in ("if", "assert") or (seen.kind == "loop" and isinstance(seen.node, ast.While)):
            words, outcome = test_words(seen), is_met(seen)
            if outcome is not None and not isinstance(seen.node.test, ast.Constant):  # type: ignore[union-attr]
                said = "yes" if outcome else "no"
                words = words or self.values.get(line, "")
                self.values[line] = one_line(f"{words}: {said}" if words else said, VALUE_CHARS)
        elif seen.kind == "case" and is_met(seen) is not None:
            self.values[line] = "fits" if is_met(seen) else "does not fit"
        elif seen.kind == "match" and seen.compared:
            self.values[line] = seen.compared
        elif seen.kind == "return" and (seen.compared or seen.returned) and seen.next_kind != "crash":
            value = seen.compared or seen.returned
            self.values[line] = one_line(f"returns {value}", VALUE_CHARS)

    # -- captions of events

    def add(self, line: int | None, move: str, caption: str, new: tuple[int, ...] = (), **more: Any) -> None:
        # A function that is no loop was called by itself.
        super().add(
            line, move, of_a_function(caption) if self.trace.about.get("call") else caption, new, **more
        )

    def ended(self, event: Event) -> str:
        """Say how the run ended; a `return` that is there is not called missing."""
        words = self.how_it_ended(event)
        node = self.source.node(self.line or 0)
        if isinstance(node, ast.Return):
            return words.replace(
                "Your loop returned None: is a `return` missing?",
                f"Your loop returned None in line {self.line}.",
                1,
            )
        return words

    def how_it_ended(self, event: Event) -> str:
        if not self.trace.about.get("call"):
            return super().ended(event)
        if event.text == "returned":
            returned = (event.entry or {}).get("returned")
            return f"The function is over: it returned {code(short(value_words(returned), 200))}."
        return f"The function is over: {sentence(self.trace.detail, 200)}"

    def event_caption(self, number: int, event: Event, before: int) -> tuple[str, str]:
        """Give the move and the words for one event of a watched loop; "" for what needs no words."""
        if event.kind == "start":
            self.line = self.first_line()
            if call := self.trace.about.get("call"):
                return "", f"{code(str(call))} is called."
            of = f" and at most {counted(self.max_steps, 'step')}" if self.max_steps else ""
            return "", f"Your loop is called with the goal {quoted(self.trace.goal)}{of}."
        if event.kind == "ask":
            self.raised = ""
            return "ask", self.asked(event)
        if event.kind == "reply" and event.text == "raised":
            self.raised, self.caught, self.replaced = "the model", False, False
            words = (event.entry or {}).get("message", "")
            return "ask", f"The model itself raises an error: {sentence(words)}"
        if event.kind == "reply":
            self.checked = False
            self.reply_comes(event)
            return "ask", self.replied(event)
        if event.kind == "act":
            self.checked = True
            self.call = event.entry or self.trace.request(number)
            return "act", ""
        if event.kind == "result":
            return "act", self.tool_gave(event)
        if event.kind == "history":
            return self.history_changed(number, event, before)
        return "", ""

    def first_line(self) -> int | None:
        """Give the line of the `def` that is called: in a class, that of the method that runs first."""
        if not self.source.lines:
            return None
        first = next((event.line for event in self.events if event.kind == "line"), 0)
        function = self.source.function(first)
        return function.lineno if function is not None else self.source.first_line

    def reply_comes(self, event: Event) -> None:
        entry = event.entry or {}
        calls = calls_in(entry)
        words = " + ".join(map(call_words, calls)) if calls else ""
        if entry.get("type") == "answer":
            words = f"answer {quoted(entry.get('text'), 60)}"
        forms = (short_form(entry), short_form(entry, COMPARED_CHARS))
        self.strip.call_it(forms, short(words, VALUE_CHARS))
        marks = ["repeat"] if self.same_as(event) else []
        self.comes("model", entry_words({**entry, "role": "model"}), marks)
        if words and self.line:
            self.values[self.line] = one_line(words, VALUE_CHARS)

    def comes(self, who: str, text: str, marks: list[str]) -> None:
        """Keep a reply or a result until it stands in the history."""
        self.coming = [one for one in self.coming if one["who"] != who or who == "tool"]
        coming: dict[str, Any] = {"who": who, "text": short(text, 200), "recorded": False}
        self.coming.append({**coming, "marks": marks} if marks else coming)

    def tool_gave(self, event: Event) -> str:
        call = code(call_words(self.call))
        result = (event.entry or {}).get("result")
        is_error = entry_error(event.entry) is not None
        self.comes("tool", entry_words(event.entry), ["error"] if is_error else [])
        if event.text == "raised":
            self.raised, self.caught, self.replaced, self.raised_now = call, False, False, True
            problem = entry_error(event.entry) or value_words(result)
            words = f"{call} raises an error: {sentence(problem)}"
            value = f"raises {one_line(problem, 60)}"
        else:
            words = f"{call} runs and gives {code(short(value_words(result), 80))}."
            value = short(value_words(result), 60)
        if self.line and self.source.lines:
            self.values[self.line] = one_line(value, VALUE_CHARS)
        return words

    def history_changed(self, number: int, event: Event, before: int) -> tuple[str, str]:
        added = event.read or []
        for entry in added:
            self.is_recorded(entry)
        if before == 0 and number + 1 < len(self.events) and self.events[number + 1].kind == "ask":
            # It is kept where it is not seen: in an object, or made anew for each call.
            return (
                "ask",
                f"The history is what the model is given: {counted(self.length, 'entry', 'entries')}.",
            )
        if self.line and self.source.lines and added:
            places = f"entry {event.entries + 1}"
            word = "and" if len(added) == 2 else "to"
            places = places if len(added) == 1 else f"entries {event.entries + 1} {word} {self.length}"
            given = self.values.get(self.line)  # the result that was recorded on the very line
            if given and given.startswith("raises ") and self.raised_now:
                given = "the tool raised"  # and not the line, which went on
            self.values[self.line] = f"{given}, {places}" if given else places
        if event.entries < before:
            return "record", self.history_rewritten(event.entries, before, added)
        if not added:
            return "", ""
        if len(added) > 1:
            word = "and" if len(added) == 2 else "to"
            return "record", f"Entries {before + 1} {word} {self.length} are added to the history."
        entry, place = added[0], f"entry {self.length}"
        if calls_in(entry):
            return "record", f"The request goes into the history as {place}."
        if role_of(entry) == "tool":
            return "record", self.result_recorded(entry, place)
        if role_of(entry) == "model":
            kind = "answer" if isinstance(entry, Mapping) and entry.get("type") == "answer" else "reply"
            return "record", f"The {kind} goes into the history as {place}."
        if before == 0 and self.trace.goal and self.trace.goal in value_words(entry):
            return "record", f"The goal goes into the history as {place}: all that the model will know."
        return "record", full_stop(f"The loop adds {place}: {quoted(entry_words(entry))}")

    def is_recorded(self, entry: Any) -> None:
        """Take away what has now come into the history; an entry in a shape of its own ends all waiting."""
        who = role_of(entry)
        who = "model" if calls_in(entry) else who
        for number, one in enumerate(self.coming):
            if who == one["who"] or who not in ("model", "tool", "user"):
                one["recorded"] = True
                del self.coming[number]
                return

    def result_recorded(self, entry: Any, place: str) -> str:
        if self.raised and entry_error(entry) is not None:
            call, self.raised = self.raised, ""
            turned = "The `except`" if self.caught else "The loop"
            told = f"{call} raised. {turned} turned it into a result"
            if self.raised_now:
                told = "A function that is not shown catches it and makes it a result"
            if self.step >= self.last_ask:
                return f"{told}, but no further call is made to read it. It is {place} of the history."
            if self.is_read_next():
                then = f"so the model will read it in step {self.step + 1}"
                return f"{told}, {then}. It is {place} of the history."
            return f"{told}. It is {place} of the history. {self.will_be_read()}"
        kind = "error" if entry_error(entry) is not None else "result"
        return f"The {kind} goes into the history as {place}. {self.will_be_read()}"

    def history_rewritten(self, kept: int, before: int, added: Sequence[Any]) -> str:
        if not added:
            are = "is" if before - kept == 1 else "are"
            return f"The history is cut: {before - kept} of {counted(before, 'entry', 'entries')} {are} gone."
        if self.length == before and kept == before - 1:
            return full_stop(f"Entry {before} of the history is changed: {quoted(entry_words(added[0]))}")
        new = f"It had {counted(before, 'entry', 'entries')} and has {self.length} now."
        return f"The history is rewritten from entry {kept + 1} on. {new}"

    def crashed(self, event: Event) -> str:
        where = f"Line {self.line}" if self.line else "The loop"
        raised = full_stop(f"{where} raised {code(one_line(event.text, 200))}")
        return f"{raised} Nothing caught it, so the run ends here."

    # -- captions of lines

    def line_caption(self, seen: Seen) -> tuple[str, str]:
        """Say what a line does that neither asks, acts nor records, by what came next."""
        if seen.kind == "except":
            return self.except_head(seen)
        move = ""
        is_while = isinstance(seen.node, ast.While) and not isinstance(seen.node.test, ast.Constant)
        if seen.kind in ("if", "match", "case", "assert") or is_while:
            move = "" if self.checked or self.reply is None else "check"
        if self.raised and self.caught and seen.kind == "" and not seen.calls[0]:
            move = "act"  # still the error of the tool
        others = (
            seen.calls[0] or seen.escapes or seen.waits_for or caught_at(seen) or seen.next_kind == "crash"
        )
        if seen.kind == "loop" and not others:
            words = self.loop_head(seen)
            self.checked = self.checked or words.startswith("A new round")
            return move, words
        if seen.kind == "if" and move == "check":
            words = self.check_of_type(seen)
            if words:
                return move, words
        return move, what_happened(seen, self.changes(seen))

    def changes(self, seen: Seen) -> str:
        """Say what a line has set: "`cost` is now `9`"; "" = nothing that is known."""
        if seen.calls[0]:
            return ""
        # What the last line of a function has set is seen only if that shows in the function around it.
        is_known = seen.following is not None or seen.next_kind == "stop"
        names = [*(targets(seen.node) if is_known else ()), *self.vars]
        told = {
            name: f"{code(name)} is {'now ' if name in self.vars else ''}{code(self.strip.shown[name])}"
            for name in names
            if name in self.strip.shown
        }
        words = list(told.values())[:3]
        return " and ".join(words) if len(words) < 3 else f"{words[0]}, {words[1]} and {words[2]}"

    def except_head(self, seen: Seen) -> tuple[str, str]:
        words = what_happened(seen, self.changes(seen))
        if not self.raised or self.replaced or not words.startswith("The `except` catches the error."):
            return "act" if self.raised else "", words
        self.caught = True
        move = "ask" if self.raised == "the model" else "act"
        return move, words.replace("the error.", f"the error of {self.raised}. The run goes on.", 1)

    def loop_head(self, seen: Seen) -> str:
        head = own_lines(seen.node)[0] if seen.node is not None else seen.line
        inside = seen.following is not None and self.source.inside(head, seen.following)
        asks = any(self.source.inside(head, line) for line in self.asking)
        changed = self.changes(seen)
        used = f" {self.step} of {self.max_steps} steps are used." if self.max_steps and asks else ""
        if isinstance(seen.node, ast.While):
            if isinstance(seen.node.test, ast.Constant):
                return f"A new round of the loop begins.{used}" if inside else what_happened(seen, changed)
            return f"The loop looks whether to go round once more: {test_in_words(seen)}"
        if not asks:
            if inside:
                return f"The loop takes the next one{f': {changed}' if changed else ''}."
            went = f": {goes(seen)}" if seen.following is not None else ""
            return f"There is no further one{went}." if seen.is_whole else "The loop takes the next one."
        if inside:
            return f"A new round of the loop begins{f': {changed}' if changed else ''}.{used}"
        if seen.following is None and seen.next_kind == "ended":
            return "The loop looks whether there is one more round."
        if self.max_steps and self.step == self.max_steps:
            return f"There is no further step: {self.step} of {self.max_steps} are used."
        return f"There is no further round.{used}"

    def check_of_type(self, seen: Seen) -> str:
        """Say of the line that looks whether the reply is an answer what it found; "" for any other line."""
        outcome = is_met(seen)
        if outcome is None or self.reply is None or not self.source.looks_at_type(seen.line):
            return ""
        calls = calls_in(self.reply)
        if self.reply.get("type") == "answer" and outcome:
            did = did_on_one_line(seen)
            went = f": {goes(seen)}" if seen.following is not None and not did else ""
            return f"Is the reply an answer? Yes{went}.{did}"
        if calls and not outcome and seen.following is not None:
            return f"Is the reply an answer? No, it requests {requests_words(calls)}, so the loop goes on."
        return ""
