"""What an expression of a loop gives, worked out beside the loop and without running any of its code.

`sum(costs) + cost > budget_coins` reads as `16 + 9 = 25 > 20`. Only plain data are looked at, and only by
what Python itself does with them: no property, no `__eq__`, no function of the learner. Whatever is not known
for certain gives no words at all.
"""

import ast
import builtins
import operator
from collections import deque
from collections.abc import Callable
from types import FrameType, MemberDescriptorType, ModuleType
from typing import Any, NamedTuple

from agentlib.messages import Entry, short
from agentlib.watch.source import Source, Statement, own_lines
from agentlib.watch.values import is_small, short_form

__all__ = ["COMPARED_CHARS", "Expressions", "NotKnown", "Scope", "evaluator", "value_of"]

MAX_ITEMS = 1_000
"""A list with more items is not summed up, so that a recorded step costs the same in a long run."""

MAX_SEEN = 200
"""In a set or a list with more items nothing is looked for."""

WORDS_CHARS = 100
COMPARED_CHARS = 40
"""The short form of a value in a comparison is about this long."""


class NotKnown(Exception):
    """A value that cannot be told without running somebody's code."""


class Scope(NamedTuple):
    """Where names are looked up: the variables of one call of the loop, and its frame."""

    variables: Entry
    frame: FrameType


class _Worth(NamedTuple):
    """A value and how it was come by: 25 and "16 + 9"; simple = the words are the value alone."""

    value: Any
    words: str
    simple: bool = True


_Evaluator = Callable[[Scope], _Worth]


class Expressions:
    """The expressions of a loop that decide something: tests, what `match` looks at, what is returned.

    lines: for each line that has one, what works it out.
    """

    def __init__(self, source: Source) -> None:
        self.lines: dict[int, Callable[[Scope], str]] = {}
        for node in source.nodes:
            words = _words_of(node)
            first, last = own_lines(node)
            for line in range(first, last + 1):
                if words is not None and source.node(line) is node:
                    self.lines[line] = words

    def at(self, line: int, scope: Scope) -> str:
        """Say what the expression at a line that is about to run will give; "" = it is not known."""
        words = self.lines.get(line)
        if words is None:
            return ""
        try:
            return words(scope)
        except KeyboardInterrupt:
            raise
        except Exception:  # the loop itself may meet the same error in a moment
            return ""


def _words_of(node: Statement) -> Callable[[Scope], str] | None:
    if isinstance(node, (ast.If, ast.While, ast.Assert)):
        return None if isinstance(node.test, ast.Constant) else _test_words(node.test)
    if isinstance(node, ast.match_case):
        return None if node.guard is None else _test_words(node.guard)
    part = node.subject if isinstance(node, ast.Match) else getattr(node, "value", None)
    if not isinstance(node, (ast.Match, ast.Return)) or not isinstance(part, ast.expr):
        return None
    evaluate = evaluator(part)

    def words(scope: Scope) -> str:
        worth = evaluate(scope)
        return short_form(worth.value) if worth.simple else _whole(worth)

    return words


def _test_words(test: ast.expr) -> Callable[[Scope], str]:
    evaluate = evaluator(test)
    alone = isinstance(test, (ast.Name, ast.Attribute, ast.Subscript, ast.Call))
    source = short(ast.unparse(test), 60)

    def words(scope: Scope) -> str:
        worth = evaluate(scope)
        text = short(f"{source} = {worth.words}" if alone else worth.words, WORDS_CHARS)
        return f"{text}: {'yes' if _truth(worth.value) else 'no'}"

    return words


def value_of(evaluate: _Evaluator, scope: Scope) -> Any:
    """Give the value of an expression. Raises NotKnown, or what Python itself raises at plain data."""
    return evaluate(scope).value


def _whole(worth: _Worth) -> str:
    if type(worth.value) is bool and not worth.simple:
        return f"{worth.value} ({worth.words})"
    return worth.words if worth.simple else f"{worth.words} = {_shown(worth.value)}"


def _shown(value: Any) -> str:
    return short_form(value, COMPARED_CHARS)


def evaluator(node: ast.expr) -> _Evaluator:
    """Make a function that works out an expression; it raises NotKnown where that is not possible."""
    make = _MAKERS.get(type(node))
    return _unknown if make is None else make(node)


def _unknown(scope: Scope) -> _Worth:
    raise NotKnown


def _constant(node: ast.Constant) -> _Evaluator:
    worth = _Worth(node.value, _shown(node.value))
    return lambda scope: worth


def _simple(get: Callable[[Scope], Any]) -> _Evaluator:
    def evaluate(scope: Scope) -> _Worth:
        value = get(scope)
        return _Worth(value, _shown(value))

    return evaluate


def _name(node: ast.Name) -> _Evaluator:
    return _simple(lambda scope: _look_up(node.id, scope))


def _look_up(name: str, scope: Scope) -> Any:
    if name in scope.variables:
        return scope.variables[name]
    code = scope.frame.f_code
    if name in code.co_varnames or name in code.co_cellvars or name in code.co_freevars:
        raise NotKnown
    if name in scope.frame.f_globals:
        return scope.frame.f_globals[name]
    found = scope.frame.f_builtins.get(name)
    if type(found) is not type:  # such as `dict` in `isinstance(reply, dict)`
        raise NotKnown
    return found


def _attribute(node: ast.Attribute) -> _Evaluator:
    if isinstance(node.value, ast.Name) and node.value.id == "self":
        name = f"self.{node.attr}"
        of_self = evaluator(node.value)
        return _simple(
            lambda scope: (
                scope.variables[name]
                if name in scope.variables and _is_held(type(of_self(scope).value), node.attr)
                else _held(of_self(scope).value, node.attr)
            )
        )
    owner = evaluator(node.value)
    return _simple(lambda scope: _held(owner(scope).value, node.attr))


def _is_held(kind: Any, name: str) -> bool:
    """True if objects of this class hold the attribute themselves, so that no code of the class runs."""
    if kind.__getattribute__ is not object.__getattribute__:
        return False
    member = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)
    return not hasattr(type(member), "__set__") and not hasattr(type(member), "__delete__")


def _held(value: Any, name: str) -> Any:
    kind: Any = type(value)
    if kind is ModuleType or kind is type:
        return vars(value)[name]
    member = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)
    if type(member) is MemberDescriptorType:
        return member.__get__(value)
    if not _is_held(kind, name):
        raise NotKnown
    return object.__getattribute__(value, "__dict__")[name]


def _subscript(node: ast.Subscript) -> _Evaluator:
    owner, key = evaluator(node.value), evaluator(node.slice)

    def get(scope: Scope) -> Any:
        held, place = owner(scope).value, key(scope).value
        if type(place) not in (str, int):
            raise NotKnown
        if isinstance(held, dict) and type(held).__getitem__ is dict.__getitem__:
            return dict.__getitem__(held, place)
        if type(held) in (list, tuple, str, deque) and type(place) is int:
            return held[place]
        raise NotKnown

    return _simple(get)


def _display(node: ast.Tuple | ast.List | ast.Set) -> _Evaluator:
    parts = [evaluator(part) for part in node.elts]
    kind: Any = {ast.Tuple: tuple, ast.List: list, ast.Set: set}[type(node)]

    def get(scope: Scope) -> Any:
        made = [part(scope).value for part in parts]
        if kind is set and not all(map(is_small, made)):  # somebody's object may have a `__hash__`
            raise NotKnown
        return kind(made)

    return _simple(get)


def _dict(node: ast.Dict) -> _Evaluator:
    pairs = [
        (evaluator(key) if key else _unknown, evaluator(part))
        for key, part in zip(node.keys, node.values, strict=True)
    ]

    def get(scope: Scope) -> Entry:
        made = [(key(scope).value, part(scope).value) for key, part in pairs]
        if not all(type(key) is str for key, _ in made):
            raise NotKnown
        return dict(made)

    return _simple(get)


def _call(node: ast.Call) -> _Evaluator:
    given = [evaluator(argument) for argument in node.args]
    if node.keywords:
        return _unknown
    if isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
        name = node.func.id

        def get(scope: Scope) -> Any:
            frame = scope.frame
            shadowed = name in scope.variables or name in frame.f_globals
            if shadowed or frame.f_builtins.get(name) is not getattr(builtins, name):
                raise NotKnown
            return _FUNCTIONS[name](*(argument(scope).value for argument in given))

        return _simple(get)
    if isinstance(node.func, ast.Attribute):
        owner, method = evaluator(node.func.value), node.func.attr
        return _simple(
            lambda scope: _method(owner(scope).value, method, [part(scope).value for part in given])
        )
    return _unknown


def _method(owner: Any, name: str, given: list[Any]) -> Any:
    if type(owner) is dict and name == "get" and given and type(given[0]) in (str, int):
        return owner.get(*given)
    is_text = type(owner) is str and len(owner) < 2_000 and all(type(part) is str for part in given)
    if is_text and name in ("lower", "upper", "strip", "startswith", "endswith"):
        return getattr(owner, name)(*given)
    raise NotKnown


def _size(value: Any) -> int:
    if type(value) not in (list, tuple, dict, str, set, frozenset, bytes, deque, range):
        raise NotKnown
    return len(value)


def _over_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    def over(*given: Any) -> Any:
        items = given[0] if len(given) == 1 else given
        if type(items) not in (list, tuple, deque) or len(items) > MAX_ITEMS:
            raise NotKnown
        for item in items:
            if type(item) is not int and type(item) is not float:
                raise NotKnown
        return function(items)

    return over


def _is_instance(value: Any, kind: Any) -> bool:
    kinds = kind if type(kind) is tuple else (kind,)
    if not all(type(one) is type and getattr(builtins, one.__name__, None) is one for one in kinds):
        raise NotKnown
    if issubclass(type(value), kinds):
        return True
    if type(value).__module__ != "builtins":
        raise NotKnown  # it may claim to be of another class
    return False


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "len": _size, "sum": _over_numbers(sum), "min": _over_numbers(min), "max": _over_numbers(max),
    "abs": lambda value: abs(_number(value)), "isinstance": _is_instance,
}  # fmt: skip


def _number(value: Any) -> Any:
    if type(value) in (int, bool):
        if abs(value) > 10**50:
            raise NotKnown
    elif type(value) is not float:
        raise NotKnown
    return value


_SIGNS: dict[type, tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", operator.add), ast.Sub: ("-", operator.sub), ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv), ast.FloorDiv: ("//", operator.floordiv), ast.Mod: ("%", operator.mod),
}  # fmt: skip


def _arithmetic(node: ast.BinOp) -> _Evaluator:
    if type(node.op) not in _SIGNS:
        return _unknown
    left, right = evaluator(node.left), evaluator(node.right)
    sign, work_out = _SIGNS[type(node.op)]

    def evaluate(scope: Scope) -> _Worth:
        one, other = left(scope), right(scope)
        value = work_out(_number(one.value), _number(other.value))
        before = one.words if one.simple or sign == "+" else f"({one.words})"
        return _Worth(value, f"{before} {sign} {other.words if other.simple else f'({other.words})'}", False)

    return evaluate


def _unary(node: ast.UnaryOp) -> _Evaluator:
    of = evaluator(node.operand)
    if isinstance(node.op, ast.Not):

        def inverted(scope: Scope) -> _Worth:
            worth = of(scope)
            return _Worth(not _truth(worth.value), f"not {worth.words}", False)

        return inverted
    if isinstance(node.op, ast.USub):
        return _simple(lambda scope: -_number(of(scope).value))
    return _unknown


def _both(node: ast.BoolOp) -> _Evaluator:
    # Of a call that says yes or no the call itself says more than `True`.
    parts = [
        (evaluator(part), short(ast.unparse(part), 60) if isinstance(part, ast.Call) else "")
        for part in node.values
    ]
    word, ends_with = ("and", False) if isinstance(node.op, ast.And) else ("or", True)

    def evaluate(scope: Scope) -> _Worth:
        words = []
        for part, call in parts:
            worth = part(scope)
            words.append(call if call and type(worth.value) is bool else worth.words)
            if _truth(worth.value) is ends_with:
                break
        return _Worth(worth.value, f" {word} ".join(words), False)

    return evaluate


_COMPARED: dict[type, tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Eq: ("==", operator.eq), ast.NotEq: ("!=", operator.ne), ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le), ast.Gt: (">", operator.gt), ast.GtE: (">=", operator.ge),
    ast.Is: ("is", operator.is_), ast.IsNot: ("is not", operator.is_not),
    ast.In: ("in", lambda item, items: item in items),
    ast.NotIn: ("not in", lambda item, items: item not in items),
}  # fmt: skip


def _compare(node: ast.Compare) -> _Evaluator:
    first = evaluator(node.left)
    rest = [
        (kind, *_COMPARED[kind], evaluator(part))
        for kind, part in zip(map(type, node.ops), node.comparators, strict=True)
    ]

    def evaluate(scope: Scope) -> _Worth:
        left = first(scope)
        words, value = _whole(left), True
        for kind, sign, compare, part in rest:
            right = part(scope)
            _check_comparable(kind, left.value, right.value)
            value = compare(left.value, right.value)
            words = f"{words} {sign} {_side(right)}"
            left = right
            if not value:
                break
        return _Worth(value, words, False)

    return evaluate


def _side(worth: _Worth) -> str:
    """What stands right of a sign: `20 > 16 + 9 = 25` would read as two comparisons."""
    return worth.words if worth.simple else f"{_shown(worth.value)} ({worth.words})"


def _check_comparable(kind: type, left: Any, right: Any) -> None:
    """Refuse what Python could only compare by somebody's `__eq__`, or only slowly."""
    if kind in (ast.Is, ast.IsNot):
        return
    if kind in (ast.In, ast.NotIn):
        if type(right) is str:
            known = type(left) is str and len(right) < 10_000
        else:
            known = (
                type(right) in (list, tuple, dict, set, frozenset)
                and len(right) <= MAX_SEEN
                and is_small(left)
                and all(is_small(item) for item in right)
            )
    else:
        known = is_small(left) and is_small(right)
    if not known:
        raise NotKnown


def _truth(value: Any) -> bool:
    if type(value) not in (bool, int, float, str, bytes, type(None), list, tuple, dict, set, deque):
        raise NotKnown
    return bool(value)


_MAKERS: dict[type, Callable[[Any], _Evaluator]] = {
    ast.Constant: _constant, ast.Name: _name, ast.Attribute: _attribute, ast.Subscript: _subscript,
    ast.Tuple: _display, ast.List: _display, ast.Set: _display, ast.Dict: _dict, ast.Call: _call,
    ast.BinOp: _arithmetic, ast.UnaryOp: _unary, ast.BoolOp: _both, ast.Compare: _compare,
}  # fmt: skip
