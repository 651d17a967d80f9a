"""The source of a watched loop: what kind of statement stands on a line, and where it reaches."""

import ast
import textwrap
from collections.abc import Iterator

__all__ = ["Function", "Source", "Statement"]

Statement = ast.stmt | ast.ExceptHandler | ast.match_case
"""What a line can belong to."""

Function = ast.FunctionDef | ast.AsyncFunctionDef

_KINDS: dict[type, str] = {
    ast.For: "loop", ast.AsyncFor: "loop", ast.While: "loop", ast.If: "if", ast.Try: "try",
    ast.TryStar: "try", ast.ExceptHandler: "except", ast.Return: "return", ast.Raise: "raise",
    ast.Break: "break", ast.Continue: "continue", ast.Match: "match", ast.match_case: "case",
    ast.With: "with", ast.AsyncWith: "with", ast.Assert: "assert", ast.FunctionDef: "def",
    ast.AsyncFunctionDef: "def", ast.ClassDef: "class",
}  # fmt: skip


class Source:
    """The text of one function, or of the methods of one class.

    first_line: the number of its first line, as in its file or notebook cell; all lines are counted from it.
    nodes: its statements, `except` and `case` clauses, from the outside in.
    """

    def __init__(self, text: str, first_line: int) -> None:
        self.first_line = first_line
        self.lines = textwrap.dedent(text).rstrip().split("\n") if text.strip() else []
        self.nodes: list[Statement] = []
        self._statements: dict[int, Statement] = {}
        self._heads: dict[int, int] = {}
        try:
            tree = ast.parse("\n".join(self.lines))
        except (SyntaxError, ValueError, RecursionError):
            return  # a lambda cut out of its line, say: the lines are shown, nothing is known about them
        ast.increment_lineno(tree, first_line - 1)
        self.nodes = [node for node in ast.walk(tree) if isinstance(node, Statement)]
        for node in self.nodes:
            first, last = own_lines(node)
            around = self._statements.get(first)
            if around is not None and is_on_one_line(around):
                continue  # `if done: return reply`: the line belongs to the `if`
            # Walked from the outside in, so the innermost statement of a line stays.
            self._statements.update(dict.fromkeys(range(first, last + 1), node))

    def text(self, line: int) -> str:
        """Give the text of a line; "" if there is no such line."""
        place = line - self.first_line
        return self.lines[place] if 0 <= place < len(self.lines) else ""

    def node(self, line: int) -> Statement | None:
        """Give the statement that a line belongs to; None if nothing is known of it."""
        return self._statements.get(line)

    def written(self, node: ast.expr) -> str:
        """Give an expression as it is written; one over several lines is put on one."""
        if node.lineno != node.end_lineno:
            return ast.unparse(node)
        line = self.text(node.lineno).encode()
        return line[node.col_offset : node.end_col_offset].decode() or ast.unparse(node)

    def in_with(self, line: int) -> bool:
        """True if a line lies in the block of a `with`, which may keep errors to itself."""
        return any(
            isinstance(node, (ast.With, ast.AsyncWith)) and _covers(node.body, line) for node in self.nodes
        )

    def kind(self, line: int) -> str:
        """Name the kind of statement on a line, such as "loop" or "try"; "" for the plain ones."""
        node = self._statements.get(line)
        return _KINDS.get(type(node), "") if node is not None else ""

    def head(self, line: int) -> int:
        """Give the line on which the statement of a line begins."""
        head = self._heads.get(line)
        if head is None:
            head = self._heads[line] = self._head(line)
        return head

    def _head(self, line: int) -> int:
        node = self._statements.get(line)
        if node is None:
            return line
        # A lambda on a line of its own runs later than the statement that it stands in.
        keeps = not blocks(node) and any(isinstance(part, ast.Lambda) for part in ast.walk(node))
        return line if keeps else own_lines(node)[0]

    def same_statement(self, one: int, other: int) -> bool:
        """True if two lines belong to one statement; a line belongs to one with itself."""
        return one == other or (one in self._statements and self.node(one) is self.node(other))

    def inside(self, head: int, line: int) -> bool:
        """True if `line` lies in the block of the statement whose head is at `head`."""
        body: list[ast.stmt] = getattr(self.node(head), "body", [])
        return bool(body) and body[0].lineno <= line <= (body[-1].end_lineno or 0)

    def function(self, line: int) -> Function | None:
        """Give the innermost function in whose body a line stands; None if it is not known."""
        found = None
        for node in self.nodes:
            if isinstance(node, Function) and _covers(node.body, line):
                found = node
        return found

    def loop(self, line: int) -> ast.For | ast.AsyncFor | ast.While | None:
        """Give the innermost `for` or `while` around a line; a loop's own head is not inside it."""
        found = None
        for node in self.nodes:
            if isinstance(node, (ast.For, ast.AsyncFor, ast.While)) and _covers(node.body, line):
                found = node if node.lineno != line else found
        return found

    def catches(self, line: int, head: int) -> bool:
        """True if the `except` at `head` belongs to a `try` whose block holds `line`."""
        handler = self.node(head)
        return isinstance(handler, ast.ExceptHandler) and any(
            isinstance(node, (ast.Try, ast.TryStar)) and handler in node.handlers and _covers(node.body, line)
            for node in self.nodes
        )

    def finally_of(self, line: int, other: int) -> bool:
        """True if `other` lies in the `finally` of a `try` around `line`."""
        return any(
            isinstance(node, (ast.Try, ast.TryStar))
            and _covers(node.finalbody, other)
            and node.lineno <= line < node.finalbody[0].lineno
            for node in self.nodes
        )

    def looks_at_type(self, line: int) -> bool:
        """True if the condition at `line` compares the type of a reply with the word "answer"."""
        test = getattr(self.node(line), "test", None)
        if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
            return False
        sides = [ast.unparse(test.left), ast.unparse(test.comparators[0])]
        return "'answer'" in sides and any("type" in side for side in sides)


def blocks(node: Statement) -> bool:
    """True for a statement with a block beneath it, such as `if` or `for`."""
    return bool(getattr(node, "body", None) or getattr(node, "cases", None))


def is_on_one_line(node: Statement) -> bool:
    """True if the block of a statement begins on the line of its head: `if done: return reply`."""
    body = getattr(node, "body", None)
    return isinstance(body, list) and bool(body) and body[0].lineno == _head_end(node)


def own_lines(node: Statement) -> tuple[int, int]:
    """Give the first and the last line of a statement itself, without the block beneath it.

    A function or a class begins at its first decorator.
    """
    first = node.pattern.lineno if isinstance(node, ast.match_case) else node.lineno
    first = min([first, *(part.lineno for part in getattr(node, "decorator_list", ()))])
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    if not isinstance(body, list):
        return first, getattr(node, "end_lineno", None) or first
    if is_on_one_line(node):
        return first, body[-1].end_lineno or first
    return first, max(first, own_lines(body[0])[0] - 1)


def _head_end(node: Statement) -> int:
    """The last line of the head of a statement with a block, as far as its parts tell."""
    first = node.pattern.lineno if isinstance(node, ast.match_case) else node.lineno
    return max([first, *(part.end_lineno or first for part in _head_parts(node))])


def _head_parts(node: Statement) -> Iterator[ast.expr]:
    for name in ("test", "iter", "subject", "type", "guard"):
        part = getattr(node, name, None)
        if isinstance(part, ast.expr):
            yield part
    for item in getattr(node, "items", ()):
        yield item.context_expr


def _covers(body: list[ast.stmt], line: int) -> bool:
    return bool(body) and body[0].lineno <= line <= (body[-1].end_lineno or 0)
