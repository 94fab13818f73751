"""Rules and formulas over columns: a small language, parsed and never executed.

Python's own parser reads the text, a whitelist of its nodes becomes a tree of the
classes below, and everything else is refused. Nothing is compiled, looked up or called
by name, so that a text from a model file can do no more than compare and compute.
"""

from __future__ import annotations

import ast
import keyword
import re
import warnings
from collections.abc import Collection, Hashable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from macfm._errors import Said

MOST_CHARACTERS, MOST_LEVELS = 5000, 200

FUNCTIONS: dict[str, tuple[int, int | None]] = {
    "isna": (1, 1),
    "notna": (1, 1),
    "abs": (1, 1),
    "exp": (1, 1),
    "log": (1, 1),
    "log2": (1, 1),
    "log10": (1, 1),
    "sqrt": (1, 1),
    "round": (1, 1),
    "min": (2, None),
    "max": (2, None),
}
"""Functions by name, with the least and the largest number of arguments."""

_ARITHMETIC: dict[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}
_COMPARISONS: dict[type, str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_UNARY: dict[type, str] = {ast.USub: "-", ast.UAdd: "+", ast.Not: "not"}
_INSTEAD: dict[type, str] = {
    ast.Attribute: "if it is part of a column's name, write the name in backticks",
    ast.BitAnd: "write 'and' instead of '&'",
    ast.BitOr: "write 'or' instead of '|'",
    ast.Invert: "write 'not' instead of '~'",
    ast.Is: "write == or isna(...) instead of 'is'",
    ast.IsNot: "write != or notna(...) instead of 'is not'",
    ast.Subscript: "a column is written col['its name'] or in backticks",
}

# Backticks count outside of quotes only.
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`([^`]+)`""")


class ExpressionError(ValueError):
    """A rule or formula that cannot be understood, and where."""


@dataclass(frozen=True)
class Node:
    """A part of an expression."""

    #: Where it begins, in characters from 1.
    place: int
    #: Its text.
    shown: str

    def refuse(self, why: str) -> ExpressionError:
        """Build the error that points here."""
        shown = self.shown if len(self.shown) <= 60 else f"{self.shown[:57]}..."
        said = why if isinstance(why, Said) else Said(why)
        at = f"at character {self.place}, {shown!r}: {said.template}"
        return ExpressionError(Said(at, **said.parameters))


@dataclass(frozen=True)
class Column(Node):
    """The cell of a column."""

    name: Hashable


@dataclass(frozen=True)
class Constant(Node):
    """A number, a text or a flag."""

    value: float | int | str | bool


@dataclass(frozen=True)
class Unary(Node):
    """``-``, ``+`` or ``not``."""

    op: str
    operand: Node


@dataclass(frozen=True)
class Binary(Node):
    """Arithmetic."""

    op: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Compare(Node):
    """One comparison; a chain of them is a `Junction`."""

    op: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Member(Node):
    """``in`` or ``not in`` a list of constants."""

    negated: bool
    item: Node
    options: tuple[Constant, ...]


@dataclass(frozen=True)
class Junction(Node):
    """``and`` or ``or``."""

    op: str
    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Call(Node):
    """One of `FUNCTIONS`."""

    function: str
    arguments: tuple[Node, ...]


def walk(node: Node) -> Iterator[Node]:
    """All nodes of a tree, from left to right."""
    yield node
    for value in vars(node).values():
        parts = value if isinstance(value, tuple) else (value,)
        for part in parts:
            if isinstance(part, Node):
                yield from walk(part)


def parse(text: Any, columns: Collection[Hashable]) -> Node:
    """Read an expression.

    Parameters
    ----------
    text : str
        Names, ``col["odd name"]`` or names in backticks, numbers, texts in quotes,
        True and False, comparisons (chained ones too), ``in`` and ``not in`` a list,
        ``and``, ``or``, ``not``, arithmetic and a few functions.
    columns : collection of hashable
        The names that are known.

    Returns
    -------
    Node

    Raises
    ------
    ExpressionError
        For anything else, with the place, and the closest name to an unknown one.

    Examples
    --------
    >>> parse("diabetes == 'No' and `body weight` > 40", ["diabetes", "body weight"]).op
    'and'
    >>> parse("diabtes == 'No'", ["diabetes"])
    Traceback (most recent call last):
        ...
    macfm.table._expression.ExpressionError: at character 1, 'diabtes': there is no \
such column; did you mean 'diabetes'?
    """
    if not isinstance(text, str):
        raise ExpressionError(f"expected a text such as \"x == 'No'\", got {text!r}")
    text = re.sub(r"[\r\n\t]", " ", text).strip()
    if not text:
        raise ExpressionError("it is empty")
    if len(text) > MOST_CHARACTERS:
        raise ExpressionError(
            f"it has {len(text):,} characters; at most {MOST_CHARACTERS:,} are read"
        )
    return _Reader(text, columns).read()


def column_text(name: Hashable) -> str:
    """Write a column's name as an expression does.

    Examples
    --------
    >>> column_text("age"), column_text("d.time"), column_text(3)
    ('age', '`d.time`', 'col[3]')
    """
    if not isinstance(name, str):
        return f"col[{name!r}]"
    plain = name.isidentifier() and not keyword.iskeyword(name)
    return name if plain else f"col[{name!r}]" if "`" in name else f"`{name}`"


class _Reader:
    """The way from one text to its tree."""

    def __init__(self, text: str, columns: Collection[Hashable]) -> None:
        self.text = text
        self.columns = columns
        self.quoted: dict[int, str] = {}
        # Same length, so that places stay what they are.
        self.plain = _QUOTED.sub(self._placeholder, text)
        self.bytes = self.plain.encode("utf-8", "surrogatepass")

    def _placeholder(self, found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        self.quoted[found.start()] = found[1]
        return "_" * len(found[0])

    def read(self) -> Node:
        """Parse the text and build its tree."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of odd escapes in texts
                tree = ast.parse(self.plain, mode="eval")
        except SyntaxError as error:
            raise self._syntax(error) from None
        except (ValueError, RecursionError, MemoryError):
            raise ExpressionError("it is too deeply nested or not text") from None
        return self._node(tree.body, 0)

    def _syntax(self, error: SyntaxError) -> ExpressionError:
        """Say where Python's grammar ends; a keyword may be a column."""
        place = min(max(error.offset or 1, 1), len(self.text))
        words = set(re.findall(r"\w+", self.text))
        names = sorted(w for w in words if keyword.iskeyword(w) and w in self.columns)
        hint = f"; write the column {names[0]} as `{names[0]}`" if names else ""
        if not hint and re.search(r"(?<![=!<>])=(?!=)", self.plain):
            hint = "; a comparison is written =="
        near = self.text[place - 1 : place + 19]
        return ExpressionError(f"at character {place}, {near!r}: not understood{hint}")

    def _at(self, node: ast.expr) -> dict[str, Any]:
        """Place and text of a node; Python counts bytes."""
        start, stop = (
            len(self.bytes[:offset].decode("utf-8", "surrogatepass"))
            for offset in (node.col_offset, node.end_col_offset)
        )
        return {"place": start + 1, "shown": self.text[start:stop]}

    def _node(self, node: ast.expr, level: int) -> Node:
        at = self._at(node)
        if level > MOST_LEVELS:
            raise ExpressionError("it is too deeply nested")

        def inner(part: ast.expr) -> Node:
            return self._node(part, level + 1)

        match node:
            case ast.Name():
                # As written: Python would fold letters such as the micro sign.
                name = self.quoted.get(at["place"] - 1, at["shown"])
                return self._column(name, at)
            case ast.Subscript(value=ast.Name(id="col"), slice=key):
                return self._column(self._key(key, at), at)
            case ast.Constant(value=value):
                return self._constant(value, at)
            case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
                return Unary(**at, op=_UNARY[type(op)], operand=inner(operand))
            case ast.BinOp(op=op, left=left, right=right) if type(op) in _ARITHMETIC:
                sign = _ARITHMETIC[type(op)]
                return Binary(**at, op=sign, left=inner(left), right=inner(right))
            case ast.BoolOp(op=op, values=values):
                word = "and" if isinstance(op, ast.And) else "or"
                return Junction(**at, op=word, parts=tuple(map(inner, values)))
            case ast.Compare():
                return self._compare(node, at, level)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self._call(name, tuple(args), at, level)
        raise Node(**at).refuse(f"not allowed here{self._instead(node)}")

    @staticmethod
    def _instead(node: ast.AST) -> str:
        for part in (node, getattr(node, "op", None)):
            if type(part) in _INSTEAD:
                return f"; {_INSTEAD[type(part)]}"
        return ""

    def _column(self, name: Hashable, at: dict[str, Any]) -> Column:
        if name in self.columns:
            return Column(**at, name=name)
        by_text = {str(column): column for column in self.columns}
        close = get_close_matches(str(name), list(by_text), n=1)
        folded = [text for text in by_text if text.lower() == str(name).lower()]
        like = [*folded, *close]
        hint = f"did you mean {by_text[like[0]]!r}?" if like else "texts need quotes"
        raise Node(**at).refuse(f"there is no such column; {hint}")

    def _key(self, key: ast.expr, at: dict[str, Any]) -> Hashable:
        """Read the name in ``col[...]``: a text, a number or a tuple of them."""
        if isinstance(key, ast.Tuple):
            return tuple(self._key(part, at) for part in key.elts)
        if isinstance(key, ast.Constant) and isinstance(key.value, str | int):
            return key.value
        raise Node(**at).refuse(_INSTEAD[ast.Subscript])

    @staticmethod
    def _constant(value: Any, at: dict[str, Any]) -> Constant:
        if value is None:
            raise Node(**at).refuse("an empty cell is found by isna(...)")
        if not isinstance(value, bool | int | float | str):
            raise Node(**at).refuse("not a number or a text")
        if isinstance(value, int | float) and not abs(value) < 1e300:
            raise Node(**at).refuse("the number is too large")
        return Constant(**at, value=value)

    def _literal(self, node: ast.expr) -> Constant:
        """Read an entry of a list: a constant, a minus sign allowed."""
        at = self._at(node)
        negative, inner = False, node
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            negative, inner = True, node.operand
        if not isinstance(inner, ast.Constant):
            raise Node(**at).refuse("a list holds numbers or texts in quotes only")
        value = inner.value
        if negative and isinstance(value, int | float) and value is not True:
            value = -value
        return self._constant(value, at)

    def _compare(self, node: ast.Compare, at: dict[str, Any], level: int) -> Node:
        parts: list[Node] = []
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, ast.In | ast.NotIn):
                if not isinstance(right, ast.List | ast.Tuple | ast.Set):
                    raise Node(**self._at(right)).refuse(
                        "after 'in' comes a list such as ['a', 'b']"
                    )
                options = tuple(self._literal(entry) for entry in right.elts)
                negated = isinstance(op, ast.NotIn)
                item = self._node(left, level + 1)
                parts.append(Member(**at, negated=negated, item=item, options=options))
            elif type(op) in _COMPARISONS:
                sides = (self._node(side, level + 1) for side in (left, right))
                parts.append(
                    Compare(at["place"], at["shown"], _COMPARISONS[type(op)], *sides)
                )
            else:
                raise Node(**at).refuse(f"not allowed here; {_INSTEAD[type(op)]}")
            left = right
        return (
            parts[0]
            if len(parts) == 1
            else Junction(**at, op="and", parts=tuple(parts))
        )

    def _call(
        self, name: str, args: tuple[ast.expr, ...], at: dict[str, Any], level: int
    ) -> Call:
        if name not in FUNCTIONS:
            raise Node(**at).refuse(
                f"there is no function {name!r}; functions are {', '.join(FUNCTIONS)}"
            )
        least, most = FUNCTIONS[name]
        if len(args) < least or (most is not None and len(args) > most):
            needed = f"{least}" if most == least else f"at least {least}"
            raise Node(**at).refuse(f"{name} takes {needed} argument(s)")
        arguments = tuple(self._node(arg, level + 1) for arg in args)
        if name in ("isna", "notna") and not isinstance(arguments[0], Column):
            raise Node(**at).refuse(f"{name} takes a column")
        return Call(**at, function=name, arguments=arguments)
