"""Formulas solved for one of their columns."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np

from macfm.table._evaluate import Read, Vector, number
from macfm.table._expression import Binary, Call, Column, Constant, Node, Unary, walk

_INVERSES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "exp": np.log,
    "log": np.exp,
    "log2": np.exp2,
    "log10": lambda value: 10.0**value,
    "sqrt": lambda value: np.where(value >= 0, value**2, np.nan),
}


def why_unsolvable(node: Node, name: Hashable) -> str | None:
    """Say why a formula cannot be solved for a column, None if it can."""
    places = [n for n in walk(node) if isinstance(n, Column) and n.name == name]
    if len(places) != 1:
        return "it occurs more than once"
    while not isinstance(node, Column):
        match node:
            case Unary(op="-" | "+", operand=operand):
                node = operand
            case Binary(op="+" | "-" | "*" | "/", left=left, right=right):
                node = left if _holds(left, name) else right
            case Binary(op="**", left=left, right=right):
                if _holds(right, name):
                    node = right
                elif _exponent(right):
                    node = left
                else:
                    return f"{right.shown!r} is no exponent that is fixed and not 0"
            case Call(function=function, arguments=(argument,)) if (
                function in _INVERSES or function == "abs"
            ):
                node = argument
            case Call(function=function):
                return f"{function} cannot be undone"
            case _:
                return f"{getattr(node, 'op', 'it')} cannot be undone"
    return None


def solve(
    node: Node, name: Hashable, value: np.ndarray, read: Read, n_rows: int
) -> np.ndarray:
    """Find the cells of a column for which a formula has a given value, NaN if none.

    ``node`` is a formula that `why_unsolvable` has nothing against, values have the
    shape (n_rows,). The cells of the column itself only choose between two roots, of
    ``x**2 = 4`` for instance: the one with the same sign is taken.
    """
    with np.errstate(all="ignore"):
        while not isinstance(node, Column):
            node, value = _step(node, name, value, read, n_rows)
    return np.where(np.isfinite(value), value, np.nan)


def _step(
    node: Node, name: Hashable, value: np.ndarray, read: Read, n_rows: int
) -> tuple[Node, np.ndarray]:
    """Undo the outermost operation."""
    match node:
        case Unary(op=op, operand=operand):
            return operand, -value if op == "-" else value
        case Call(function="abs", arguments=(argument,)):
            near = number(argument, read, n_rows)
            found = np.where(near < 0, -value, value)
            return argument, np.where(value >= 0, found, np.nan)
        case Call(function=function, arguments=(argument,)):
            return argument, _INVERSES[function](value)
        case Binary(op=op, left=left, right=right):
            if _holds(left, name):
                other = number(right, read, n_rows)
                if op == "**":
                    near = number(left, read, n_rows)
                    return left, _root(value, other, near)
                undone = {
                    "+": lambda: value - other,
                    "-": lambda: value + other,
                    "*": lambda: value / other,
                    "/": lambda: value * other,
                }
                return left, undone[op]()
            other = number(left, read, n_rows)
            undone = {
                "+": lambda: value - other,
                "-": lambda: other - value,
                "*": lambda: value / other,
                "/": lambda: other / value,
                "**": lambda: np.log(value) / np.log(other),
            }
            return right, undone[op]()
    raise AssertionError(node)


def _root(value: np.ndarray, exponent: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Undo ``x ** exponent``; of two roots the one with the sign of ``near``."""
    size = np.abs(value) ** (1 / exponent)
    whole = exponent == np.rint(exponent)
    odd = whole & (np.abs(exponent) % 2 == 1)
    signed = np.where(odd, np.sign(value), np.where(whole & (near < 0), -1.0, 1.0))
    return np.where(odd | (value >= 0), signed * size, np.nan)


def _holds(node: Node, name: Hashable) -> bool:
    return any(isinstance(n, Column) and n.name == name for n in walk(node))


def _no_cells(name: Hashable) -> Vector:
    raise AssertionError(name)


def _exponent(node: Node) -> bool:
    """Whether a node is a number other than 0, with a sign or as a fraction."""
    parts = list(walk(node))
    if not all(isinstance(n, Constant | Unary | Binary) for n in parts):
        return False
    try:
        found = number(node, _no_cells, 1)[0]
    except ValueError:
        return False
    return bool(np.isfinite(found)) and found != 0
