"""What a line of a watched loop did, in words: by what was seen to run next, never by how the line looks."""

import ast
import functools
import io
import tokenize
from collections.abc import Callable
from typing import NamedTuple

from agentlib.views.describe import code, double_quoted, one_line
from agentlib.watch.source import Source, Statement, blocks, is_on_one_line, own_lines

__all__ = [
    "LAMBDA",
    "Seen",
    "caught_at",
    "did_on_one_line",
    "goes",
    "hands_over",
    "is_met",
    "test_in_words",
    "test_words",
    "what_happened",
]


LAMBDA = "<lambda>"
LEFT = "The block of the `with` is left."


class Seen(NamedTuple):
    """A line that ran, and what was seen of it.

    following: the line of the same call that ran next; None = the call was over.
    compared: what its test gave, as it was worked out when the line ran; "" = not known.
    calls: the function inside the loop that it called next, and that one's first line; ("", 0) = none.
    next_kind: the kind of the next event, such as "line" or "crash"; "stop" for a loop that came to its end,
    "ended" for one that was ended from outside.
    escapes: the line of an `except` in a calling function that ran next, because this line raised; 0 = none.
    caller: the line that the present call was made from; 0 = the loop itself was called.
    before: the line of the same call that ran before; 0 = none.
    waits_for: a line of another call that ran next, while this one waits: a generator's, or a coroutine's.
    returned: what the loop as a whole gave back, as text; "" = it did not end here, or that is not known.
    is_lambda: what ran is a `lambda` that stands on the line, not the line itself.
    then: what is to be said besides of what came next.
    is_whole: False while the line is still at work, as one that asks the model several times.
    """

    source: Source
    line: int
    following: int | None = None
    compared: str = ""
    calls: tuple[str, int] = ("", 0)
    next_kind: str = ""
    caller: int = 0
    before: int = 0
    is_whole: bool = True
    escapes: int = 0
    waits_for: int = 0
    returned: str = ""
    is_lambda: bool = False
    then: str = ""

    @property
    def node(self) -> Statement | None:
        """The statement of the line."""
        return self.source.node(self.line)

    @property
    def kind(self) -> str:
        """The kind of the statement."""
        return self.source.kind(self.line)

    @property
    def text(self) -> str:
        """The statement of the line as code, without the block beneath it."""
        return code(one_line(_written(self.source, self.line), 90))

    @property
    def function(self) -> str:
        """The name of the function that the line stands in."""
        function = self.source.function(self.line)
        return function.name if function is not None else ""


def _written(source: Source, line: int) -> str:
    node = source.node(line)
    first, last = own_lines(node) if node is not None else (line, line)
    if node is None or first == last or (blocks(node) and is_on_one_line(node)):
        return _without_comment(source.text(line).strip())
    if not blocks(node):
        return double_quoted(ast.unparse(node))
    head = double_quoted(ast.unparse(node)).split("\n")  # each head on one line
    return next(text for text in head if not text.startswith("@"))


@functools.cache
def _without_comment(text: str) -> str:
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                return text[: token.start[1]].rstrip()
    except (tokenize.TokenError, SyntaxError):
        pass  # the statement goes on in the next line
    return text


def caught_at(seen: Seen) -> int:
    """Give the line of the `except` that ran next because this line raised; 0 = it did not."""
    following = seen.following
    if following is not None and seen.source.catches(seen.line, following):
        return following
    return 0


def is_met(seen: Seen) -> bool | None:
    """Say whether the test of a line held; None = that was not seen, and is not known."""
    said = {"yes": True, "no": False}.get(seen.compared.rpartition(": ")[2])
    went = _went_inside(seen) if seen.is_whole else None
    return said if went is None else went


def test_words(seen: Seen) -> str:
    """Give what a test compared, without its outcome; "" where that does not go with what ran next."""
    words, _, said = seen.compared.rpartition(": ")
    went = _went_inside(seen) if seen.is_whole else None
    return "" if went is not None and said != ("yes" if went else "no") else words


def _went_inside(seen: Seen) -> bool | None:
    """Say by the next line alone whether the block of a statement was entered."""
    node, following = seen.node, seen.following
    if node is None or caught_at(seen) or seen.escapes or seen.next_kind in ("crash", "ended"):
        return None
    if isinstance(node, ast.Assert):
        return True if following is not None and not seen.source.finally_of(seen.line, following) else None
    if is_on_one_line(node):
        return _went_inside_one_line(seen, node)
    if following is None:
        # The end of the function was reached: a block would have shown its first line.
        return False
    if seen.source.inside(own_lines(node)[0], following):
        return True
    return None if seen.source.finally_of(seen.line, following) else False


def _went_inside_one_line(seen: Seen, node: Statement) -> bool | None:
    """The same for `if done: return reply`, whose block shows no line of its own."""
    last, following = node.body[-1], seen.following  # type: ignore[union-attr]
    if isinstance(last, (ast.Return, ast.Raise)):
        if following is None:
            return None if _may_be_the_end(seen, node) else True
        return None if seen.source.finally_of(seen.line, following) else False
    if isinstance(last, (ast.Break, ast.Continue)) and following is not None:
        loop = seen.source.loop(seen.line)
        head = loop.lineno if loop is not None else 0
        inside = head <= following <= (getattr(loop, "end_lineno", 0) or 0)
        if isinstance(last, ast.Break):
            return not inside
        if following != head:
            return False
    return None


def _may_be_the_end(seen: Seen, node: Statement) -> bool:
    """True if a function may end behind this statement by itself, without another line."""
    function = seen.source.function(seen.line)
    if function is None or seen.source.loop(seen.line) is not None:
        return function is None
    return (getattr(node, "end_lineno", 0) or 0) >= (function.end_lineno or 0)


# --- sentences --------------------------------------------------------------------------------------


def what_happened(seen: Seen, changed: str) -> str:
    """Say what a line did that neither asks, acts nor records. changed: what it set, such as "`n` is `2`"."""
    if seen.waits_for:
        does = f"{seen.text} {_hands_over(seen)}"
        if seen.kind == "with" and _with(seen) == LEFT:
            does = LEFT.rstrip(".")
        return f"{does}: line {seen.source.head(seen.waits_for)} comes next."
    if seen.calls[0]:
        name, line = seen.calls
        called = code(name) if name != LAMBDA else "a `lambda`"
        is_made = seen.kind in ("def", "class")  # then it is its decorator that calls
        text = code(seen.source.text(seen.source.head(seen.line)).strip()) if is_made else seen.text
        return f"{text} calls {called}: line {seen.source.head(line)} comes next."
    if seen.is_lambda:
        return f"The `lambda` in line {seen.line} runs."
    if caught_at(seen) and seen.kind != "raise":
        return f"{seen.text} raises an error: the `except` in line {caught_at(seen)} comes next."
    if seen.next_kind == "crash" and seen.kind not in ("raise", "except", "return"):
        return f"{seen.text} raises an error."
    if seen.escapes and seen.kind != "raise":
        return f"{seen.text} raises an error, which goes up to the `except` in line {seen.escapes}."
    words = _OF_KIND[seen.kind](seen) if seen.kind in _OF_KIND else ""
    if words:
        sets = changed and seen.kind in _SETTING and words != LEFT
        return f"{words} {changed}." if sets else words
    text = seen.text if seen.text != "``" else f"Line {seen.line}"
    return f"{text} runs: {changed}." if changed else f"{text} runs."


def _hands_over(seen: Seen) -> str:
    return "hands over a value" if hands_over(seen.node) else "waits for what another function gives"


def hands_over(node: Statement | None) -> bool:
    """True for a plain statement with a `yield` in it."""
    return (
        node is not None and not blocks(node) and any(isinstance(part, ast.Yield) for part in ast.walk(node))
    )


def test_in_words(seen: Seen) -> str:
    """Say what a test looked at, and how it came out: of `if`, `while`, `assert` and `case ... if`."""
    node = seen.node
    condition: ast.expr | None = getattr(node, "test", None)
    looked = seen.text
    if condition is not None:
        looked = code(one_line(double_quoted(seen.source.written(condition)), 90))
    compared = test_words(seen)
    here = f", here {code(compared)}" if compared and code(compared) != looked else ""
    name, is_value, value = compared.partition(" = ")
    if is_value and code(name) == looked:
        here = f" is {code(value)}"
    outcome = is_met(seen)
    said = "" if outcome is None else " Yes" if outcome else " No"
    went = goes(seen) if seen.following is not None else ""
    if said and went:
        return f"{looked}{here}.{said}: {went}."
    if said:
        return f"{looked}{here}.{said}."
    return f"{looked}{here}.{f' L{went[1:]}.' if went else ''}"


def _if(seen: Seen) -> str:
    did = did_on_one_line(seen)
    return f"The loop looks: {test_in_words(seen._replace(following=None) if did else seen)}{did}"


def did_on_one_line(seen: Seen) -> str:
    """Say what the block of `if done: return reply` did."""
    node = seen.node
    if node is None or not is_on_one_line(node) or not is_met(seen):
        return ""
    last = node.body[-1]  # type: ignore[union-attr]
    words = {ast.Return: "return", ast.Raise: "raise", ast.Break: "break", ast.Continue: "continue"}
    kind = words.get(type(last), "")
    return f" {_OF_KIND[kind](seen)}" if kind else ""


def _assert(seen: Seen) -> str:
    return f"The loop makes sure: {test_in_words(seen)}"


def _try(seen: Seen) -> str:
    node = seen.node
    handlers = getattr(node, "handlers", [])
    after = getattr(node, "finalbody", [])
    parts = []
    if handlers:
        parts.append(_where_errors_go(handlers))
    if after:
        parts.append(f"Whatever happens below, line {after[0].lineno} runs at the end, in the `finally`.")
    return " ".join(parts)


def _where_errors_go(handlers: list[ast.ExceptHandler]) -> str:
    """Say which `except` takes which error; one without a kind, or for `Exception`, takes any."""
    goes = []
    for handler in handlers:
        kinds = "" if handler.type is None else ast.unparse(handler.type)
        fits = "" if kinds in ("", "Exception", "BaseException") else f" if it fits {code(kinds)}"
        goes.append(f"to the `except` in line {handler.lineno}{fits}")
        if not fits:
            break
    return f"An error in the lines below goes {', else '.join(goes)}."


def _except(seen: Seen) -> str:
    """Without the error's name; the builder knows whose error it is."""
    following, node = seen.following, seen.node
    if following is not None and node is not None:
        is_inside = seen.source.inside(own_lines(node)[0], following)
        if not is_inside and isinstance(seen.source.node(following), ast.ExceptHandler):
            return f"This `except` does not fit the error: line {following} comes next."
        return "The `except` catches the error."
    if seen.next_kind == "crash" or seen.escapes:
        return "This `except` does not fit the error, or raises one itself."
    return "The `except` looks at the error."


def _return(seen: Seen) -> str:
    if seen.next_kind == "crash":
        return f"{seen.text} raises an error."
    if seen.following is not None:
        runs = f"line {seen.source.head(seen.following)} runs"
        return f"The `return` is reached. Before the function is left, {runs}."
    value = seen.compared if seen.kind == "return" else ""
    value = f" {code(value or seen.returned)}" if value or seen.returned else ""
    if seen.caller:
        ends = ", and the run ends with that" if seen.next_kind == "stop" else ""
        return f"{code(seen.function)} returns{value} to line {seen.caller}{ends}."
    if seen.next_kind == "stop":
        return f"The loop returns{value}, so the run ends here."
    return f"The loop returns{value}."


def _raise(seen: Seen) -> str:
    text = seen.text if seen.kind == "raise" else "an error"
    what = f"The loop itself raises{': ' if seen.kind == 'raise' else ' '}{text}"
    if caught_at(seen):
        return f"{what}. The `except` in line {caught_at(seen)} comes next."
    if seen.escapes:
        return f"{what}. It goes up to the `except` in line {seen.escapes}."
    return (
        f"{what}. Line {seen.source.head(seen.following)} comes next."
        if seen.following is not None
        else f"{what}."
    )


def _break(seen: Seen) -> str:
    return f"The loop is left here: {goes(seen)}." if seen.following is not None else "The loop is left here."


def _continue(seen: Seen) -> str:
    went = f": {goes(seen)}" if seen.following is not None else ""
    return f"The rest of this round is left out{went}."


def _match(seen: Seen) -> str:
    subject = seen.node.subject if isinstance(seen.node, ast.Match) else None
    looked = seen.text
    if subject is not None:
        looked = code(one_line(double_quoted(seen.source.written(subject)), 60))
    value = f" is {code(seen.compared)}" if seen.compared else ""
    return f"The loop looks which `case` fits: {looked}{value}."


def _case(seen: Seen) -> str:
    outcome = is_met(seen)
    if outcome is None:
        return f"The loop looks: {seen.text}"
    went = f": {goes(seen)}" if seen.following is not None else ""
    return f"{seen.text} {'fits' if outcome else 'does not fit'}{went}.{did_on_one_line(seen)}"


def _with(seen: Seen) -> str:
    node = seen.node
    if node is not None and seen.before and seen.source.inside(own_lines(node)[0], seen.before):
        return LEFT
    return f"{seen.text} is entered."


def _def(seen: Seen) -> str:
    name = getattr(seen.node, "name", "")
    return f"The function {code(name)} is made. Its lines run when it is called."


def _class(seen: Seen) -> str:
    return f"The class {code(getattr(seen.node, 'name', ''))} is made."


_SETTING = {"loop", "with", "except"}

_OF_KIND: dict[str, Callable[[Seen], str]] = {
    "if": _if, "assert": _assert, "try": _try, "except": _except, "return": _return, "raise": _raise,
    "break": _break, "continue": _continue, "match": _match, "case": _case, "with": _with, "def": _def,
    "class": _class,
}  # fmt: skip


def goes(seen: Seen) -> str:
    """Say what came next: "line 24 comes next"."""
    return f"line {seen.source.head(seen.following or 0)} comes next"
