"""The value of an expression in every row of a table."""

from __future__ import annotations

import datetime as dt
import operator
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from macfm._errors import Said
from macfm.table._column import ColumnData
from macfm.table._expression import (
    Binary,
    Call,
    Column,
    Compare,
    Constant,
    Junction,
    Member,
    Node,
    Unary,
)

_KINDS = {
    "float": "number",
    "integer": "number",
    "boolean": "flag",
    "string": "text",
    "datetime": "time",
    "timedelta": "span",
    "unknown": "nothing",
}
_WORDS = {
    "number": "a number",
    "flag": "true or false",
    "text": "text",
    "time": "a date",
    "span": "a duration",
    "nothing": "nothing",
}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "//": np.floor_divide,
    "%": np.mod,
    "**": np.power,
}
_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "abs": np.abs,
    "exp": np.exp,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "sqrt": np.sqrt,
    "round": np.round,
}


@dataclass(frozen=True)
class Vector:
    """What an expression is worth, row by row."""

    #: What the values are: "number", "flag", "text", "time", "span" or "nothing".
    kind: str
    #: The values; what stands in empty cells has no meaning; shape (n_rows,) or ().
    values: np.ndarray
    #: False where there is no value; of the same shape.
    present: np.ndarray
    #: Order of the texts of an ordinal column.
    levels: tuple | None = None
    #: Zone of points in time, whose values count in UTC.
    tz: dt.tzinfo | str | None = None
    #: Whether it was written out.
    literal: bool = False


Read = Callable[[Hashable], Vector]
"""From a column's name to its cells."""


def vector_of(data: ColumnData, levels: tuple | None = None) -> Vector:
    """Return the cells of a column; ``levels`` is the order of an ordinal one."""
    kind, values = _KINDS[data.family], data.values
    if data.is_time:
        values = data.stamps
    elif kind == "number" and values.dtype == object:
        values = data.numbers
    ordered = levels if kind == "text" else None
    return Vector(kind, values, data.observed, levels=ordered, tz=data.tz)


def condition(node: Node, read: Read, n_rows: int) -> np.ndarray:
    """Tell in which rows a rule holds, shape (n_rows,).

    A comparison with an empty cell does not hold, whatever the comparison.
    """
    found = _value(node, read)
    if found.kind not in ("flag", "nothing"):
        raise node.refuse(
            f"this is {_WORDS[found.kind]}, but a rule is true or false, such as "
            "x == 'No'"
        )
    holds = _holds(found) if found.kind == "flag" else np.zeros(n_rows, dtype=bool)
    return np.broadcast_to(holds, (n_rows,)).copy()


def number(node: Node, read: Read, n_rows: int) -> np.ndarray:
    """Return the value of a formula as floats, NaN where it has none."""
    value = _value(node, read)
    if value.kind == "flag":
        raise node.refuse("this is true or false, not a number")
    values, present = _numbers(node, value)
    found = np.where(present, values, np.nan)
    return np.broadcast_to(found, (n_rows,)).astype(float)


def _value(node: Node, read: Read) -> Vector:
    match node:
        case Column(name=name):
            return read(name)
        case Constant(value=value):
            return _constant(value)
        case Unary(op="not", operand=operand):
            return _flags(~_condition(operand, read))
        case Unary(op=op, operand=operand):
            values, present = _numbers(operand, _value(operand, read))
            return Vector("number", -values if op == "-" else values, present)
        case Binary():
            return _arithmetic(node, read)
        case Compare(op=op, left=left, right=right):
            pair = (_value(left, read), _value(right, read))
            return _flags(_compare(node, op, *pair))
        case Member():
            return _member(node, read)
        case Junction(op=op, parts=parts):
            holds = [_condition(part, read) for part in parts]
            every = np.logical_and if op == "and" else np.logical_or
            total = holds[0]
            for one in holds[1:]:
                total = every(total, one)
            return _flags(total)
        case Call():
            return _call(node, read)
    raise AssertionError(node)


def _constant(value: Any) -> Vector:
    there = np.array(True)
    if isinstance(value, bool):
        return Vector("flag", np.array(value), there, literal=True)
    if isinstance(value, str):
        return Vector("text", np.array(value, dtype=object), there, literal=True)
    exact = isinstance(value, int) and abs(value) < 2**63
    values = np.array(value if exact else float(value))
    return Vector("number", values, there, literal=True)


def _flags(holds: np.ndarray) -> Vector:
    return Vector("flag", holds, np.ones_like(holds, dtype=bool))


def _holds(found: Vector) -> np.ndarray:
    return found.values.astype(bool) & found.present


def _condition(node: Node, read: Read) -> np.ndarray:
    """Read a part of and, or, not."""
    found = _value(node, read)
    if found.kind == "nothing":
        return np.zeros_like(found.present)
    if found.kind != "flag":
        raise node.refuse(f"this is {_WORDS[found.kind]}, not true or false")
    return _holds(found)


def _numbers(node: Node, found: Vector) -> tuple[np.ndarray, np.ndarray]:
    """Values as floats; what is no number is refused, what is not finite is empty."""
    if found.kind == "nothing":
        return np.zeros(found.present.shape), np.zeros_like(found.present)
    if found.kind not in ("number", "flag"):
        raise node.refuse(f"this is {_WORDS[found.kind]}, not a number")
    values = found.values.astype(float)
    present = found.present & np.isfinite(values)
    return np.where(present, values, 0.0), present


def _arithmetic(node: Binary, read: Read) -> Vector:
    left, has_left = _numbers(node.left, _value(node.left, read))
    right, has_right = _numbers(node.right, _value(node.right, read))
    with np.errstate(all="ignore"):
        values = _ARITHMETIC[node.op](left, right)
    return Vector("number", values, has_left & has_right & np.isfinite(values))


def _call(node: Call, read: Read) -> Vector:
    if node.function in ("isna", "notna"):
        present = _value(node.arguments[0], read).present
        return _flags(present if node.function == "notna" else ~present)
    pairs = [_numbers(part, _value(part, read)) for part in node.arguments]
    values, present = pairs[0]
    if node.function in ("min", "max"):
        pick = np.minimum if node.function == "min" else np.maximum
        for more, there in pairs[1:]:
            values, present = pick(values, more), present & there
        return Vector("number", values, present)
    with np.errstate(all="ignore"):
        values = _FUNCTIONS[node.function](values)
    return Vector("number", values, present & np.isfinite(values))


def _member(node: Member, read: Read) -> Vector:
    item = _value(node.item, read)
    found = np.zeros(item.present.shape, dtype=bool)
    for option in node.options:
        found |= _compare(node, "==", item, _constant(option.value))
    return _flags(~found & item.present if node.negated else found)


def _compare(node: Node, op: str, left: Vector, right: Vector) -> np.ndarray:
    """Compare two vectors; False where one has no value."""
    present = left.present & right.present
    if "nothing" in (left.kind, right.kind):
        return np.zeros(present.shape, dtype=bool)
    left, right = _alike(node, left, right), _alike(node, right, left)
    if left.kind != right.kind:
        raise node.refuse(_cannot(left, right))
    if (left.tz is None) != (right.tz is None):
        raise node.refuse("one of the two has a time zone and the other has none")
    if left.kind == "text" and op not in ("==", "!="):
        left, right = _ranks(node, left, right)
        present = left.present & right.present
    with np.errstate(invalid="ignore"):
        holds = _COMPARE[op](left.values, right.values)
    return np.asarray(holds, dtype=bool) & present


def _cannot(left: Vector, right: Vector) -> str:
    """Say what kind of constant was needed."""
    column, other = (left, right) if right.literal else (right, left)
    needed = {"text": "a text in quotes", "number": "a number without quotes"}
    hint = f"; it takes {needed[column.kind]}" if column.kind in needed else ""
    return f"{_WORDS[column.kind]} cannot be compared with {_WORDS[other.kind]}{hint}"


def _alike(node: Node, one: Vector, other: Vector) -> Vector:
    """Bring a vector closer to the kind it is compared with."""
    if one.kind == "flag" and other.kind == "number":
        return replace(one, kind="number", values=one.values.astype(np.int64))
    if not (one.literal and one.kind == "text"):
        return one
    text = str(one.values.item())
    if other.kind == "time":
        return _point(node, text, other)
    if other.kind == "span":
        try:
            length = pd.Timedelta(text)
        except ValueError:
            raise node.refuse(f"{text!r} is no duration such as '3 days'") from None
        return replace(one, kind="span", values=np.array(length.to_timedelta64()))
    return one


def _point(node: Node, text: str, other: Vector) -> Vector:
    """Read a date in the zone of the column it is compared with."""
    try:
        stamp = pd.Timestamp(dt.datetime.fromisoformat(text.strip()))
    except ValueError:
        raise node.refuse(
            f"{text!r} is no date such as '2024-03-01' or '2024-03-01 12:30'"
        ) from None
    if other.tz is not None and stamp.tz is None:
        stamp = stamp.tz_localize(other.tz)
    elif other.tz is None and stamp.tz is not None:
        raise node.refuse("the column has no time zone but the date has")
    point = np.array(stamp.to_datetime64())
    return Vector("time", point, np.array(True), tz=other.tz, literal=True)


def _ranks(node: Node, left: Vector, right: Vector) -> tuple[Vector, Vector]:
    """Replace texts by their place in the order of an ordinal column."""
    levels = left.levels or right.levels
    if levels is None or (left.levels or levels) != (right.levels or levels):
        said = "texts have no order; name the column in {ordinal}, or use == or in"
        raise node.refuse(Said(said, ordinal=...))
    place = {level: rank for rank, level in enumerate(levels)}

    def ranked(one: Vector) -> Vector:
        if one.literal and one.values.item() not in place:
            raise node.refuse(
                f"{one.values.item()!r} is not among the levels {list(levels)}"
            )
        ranks = np.array([place.get(text, -1) for text in one.values.ravel()])
        ranks = ranks.reshape(one.values.shape)
        return replace(one, values=ranks, present=one.present & (ranks >= 0))

    return ranked(left), ranked(right)
