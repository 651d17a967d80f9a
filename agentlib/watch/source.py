"""The source of a watched loop: what kind of statement stands on a line, and where it reaches."""

import ast
import textwrap

__all__ = ["Source"]

_KINDS = {
    ast.For: "loop", ast.While: "loop", ast.If: "if", ast.Try: "try", ast.ExceptHandler: "except",
    ast.Return: "return", ast.Raise: "raise", ast.Break: "break", ast.Continue: "continue",
}  # fmt: skip


class Source:
    """The text of one function.

    first_line: the number of its first line, as in its file or notebook cell; all lines are counted from it.
    """

    def __init__(self, text: str, first_line: int) -> None:
        self.first_line = first_line
        self.lines = textwrap.dedent(text).rstrip().split("\n") if text.strip() else []
        self._statements: dict[int, ast.AST] = {}
        self.has_except = False
        try:
            tree = ast.parse("\n".join(self.lines))
        except (SyntaxError, ValueError, RecursionError):
            return  # a lambda cut out of its line, say: the lines are shown, nothing is known about them
        ast.increment_lineno(tree, first_line - 1)
        for node in ast.walk(tree):
            if isinstance(node, (ast.stmt, ast.ExceptHandler)):
                self.has_except |= isinstance(node, ast.ExceptHandler)
                for line in range(node.lineno, self._last_own_line(node) + 1):
                    # Walked from the outside in, so the innermost statement of a line stays.
                    self._statements[line] = node

    @staticmethod
    def _last_own_line(node: ast.stmt | ast.ExceptHandler) -> int:
        """The last line of a statement itself, without the block beneath it."""
        body = getattr(node, "body", None)
        if isinstance(body, list) and body:
            return max(node.lineno, int(body[0].lineno) - 1)
        return node.end_lineno or node.lineno

    def text(self, line: int) -> str:
        """Give the text of a line; "" if there is no such line."""
        place = line - self.first_line
        return self.lines[place] if 0 <= place < len(self.lines) else ""

    def kind(self, line: int) -> str:
        """Name the kind of statement on a line, such as "loop" or "try"; "" for the plain ones."""
        node = self._statements.get(line)
        return _KINDS.get(type(node), "") if node is not None else ""

    def is_while(self, line: int) -> bool:
        """True if the line is the head of a `while`."""
        return isinstance(self._statements.get(line), ast.While)

    def is_endless(self, line: int) -> bool:
        """True if the line is the head of a `while` that looks at nothing, such as `while True`."""
        node = self._statements.get(line)
        return isinstance(node, ast.While) and isinstance(node.test, ast.Constant)

    def same_statement(self, one: int, other: int) -> bool:
        """True if two different lines belong to one statement."""
        node = self._statements.get(one)
        return one != other and node is not None and node is self._statements.get(other)

    def inside(self, head: int, line: int) -> bool:
        """True if `line` lies in the block of the statement whose head is at `head`."""
        node = self._statements.get(head)
        body: list[ast.stmt] = getattr(node, "body", [])
        return bool(body) and body[0].lineno <= line <= (body[-1].end_lineno or 0)

    def looks_at_type(self, line: int) -> bool:
        """True if the condition at `line` compares something with the word "answer"."""
        node = self._statements.get(line)
        test = getattr(node, "test", None)
        if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
            return False
        sides = [test.left, *test.comparators]
        return any(isinstance(side, ast.Constant) and side.value == "answer" for side in sides)
