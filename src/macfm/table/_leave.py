"""Holes that mean “does not apply”: the user's rules, or a mask of the table."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
import pandas as pd

from macfm._errors import ParameterError, Said
from macfm._warn import warn_user
from macfm.table._column import ColumnSchema
from macfm.table._evaluate import condition
from macfm.table._expression import (
    Column,
    Compare,
    Constant,
    ExpressionError,
    Member,
    Node,
    parse,
    walk,
)
from macfm.table._infer import check_names
from macfm.table._io import Table
from macfm.table._schema import TableSchema
from macfm.table._view import View


@dataclass(frozen=True)
class LeaveRule:
    """When the holes of one column stay empty."""

    #: The column.
    column: Hashable
    #: The rule as it was given.
    text: str
    #: The rule as it was understood.
    node: Node

    def holds(self, view: View) -> np.ndarray:
        """Tell in which rows the column does not apply, shape (n_rows,)."""
        try:
            return condition(self.node, view.vector, view.table.n_rows)
        except ExpressionError as error:
            raise refused("leave", self.column, error) from None


def refused(parameter: str, column: Hashable, error: Any) -> ParameterError:
    """Build the error of a parameter's entry for a column."""
    why = error.args[0] if isinstance(error, ExpressionError) else error
    why = why if isinstance(why, Said) else Said(why)
    named = why.parameters | {parameter: ...}
    said = Said(f"{{{parameter}}} of column {column!r}: {why.template}", **named)
    return ParameterError(said, parameter=parameter)


def names_in(node: Node) -> list[Hashable]:
    """Return the columns of an expression, in the order in which they appear."""
    names = [n.name for n in walk(node) if isinstance(n, Column)]
    return list(dict.fromkeys(names))


def read_rules(
    schema: TableSchema, leave: Mapping[Hashable, str], together: list[set[Hashable]]
) -> list[LeaveRule]:
    """Read rules by column, in an order in which each follows those it looks at.

    ``together`` are columns that formulas tie to each other: a hole left in one is left
    in what was computed from it.
    """
    check_names("leave", leave, schema.names)
    rules = {}
    for name, text in leave.items():
        try:
            node = parse(text, schema.names)
        except ExpressionError as error:
            raise refused("leave", name, error) from None
        if name in names_in(node):
            raise refused("leave", name, "a rule looks at other columns, not its own")
        rules[name] = LeaveRule(name, text, node)
    looked_at = {name: set(names_in(rule.node)) for name, rule in rules.items()}
    order = _order(looked_at)
    if together:
        tied = {
            name: seen.union(*(group for group in together if group & seen)) - {name}
            for name, seen in looked_at.items()
        }
        with suppress(ValueError):  # the rules alone have an order, which will do
            order = _order(tied)
    return [rules[name] for name in order]


def _order(looked_at: Mapping[Hashable, set[Hashable]]) -> list[Hashable]:
    """Sort columns so that each follows those it looks at."""
    own = {n: [m for m in looked_at if m in seen] for n, seen in looked_at.items()}
    try:
        return list(TopologicalSorter(own).static_order())
    except CycleError as error:
        ring = error.args[1][:-1]
        others = ", ".join(map(repr, ring[1:]))
        raise refused(
            "leave",
            ring[0],
            f"its rule and those of {others} depend on each other; drop one of them",
        ) from None


def check_rules(rules: list[LeaveRule], table: Table, schema: TableSchema) -> None:
    """Evaluate rules on what was observed; warn of cells and words against them."""
    view = View(table, schema, {})
    for rule in rules:
        _warn_unknown(rule, schema)
        holds = rule.holds(view) & table.observed[:, view.position[rule.column]]
        # What will be filled is not known yet.
        for name in names_in(rule.node):
            j = view.position[name]
            holds &= table.observed[:, j] | (not schema.columns[j].impute)
        n = int(holds.sum())
        if n:
            cells = "observed cell lies" if n == 1 else "observed cells lie"
            said = f"{{leave}} of column {rule.column!r}: {n:,} {cells} in rows where "
            said += f"{rule.text}; observed cells are kept as they are"
            warn_user(Said(said, leave=...))


def _warn_unknown(rule: LeaveRule, schema: TableSchema) -> None:
    """Warn of a text that a column of categories never held."""
    columns = dict(zip(schema.names, schema.columns, strict=True))
    for node in walk(rule.node):
        match node:
            case Compare(left=Column(name=name), right=Constant() as one):
                texts = [one]
            case Compare(left=Constant() as one, right=Column(name=name)):
                texts = [one]
            case Member(item=Column(name=name), options=options):
                texts = list(options)
            case _:
                continue
        for constant in texts:
            _warn_text(rule, columns[name], constant.value)


def _warn_text(rule: LeaveRule, column: ColumnSchema, text: Any) -> None:
    known = column.categories
    if column.family != "string" or not isinstance(text, str):
        return
    if known is None or text in known:
        return
    like = [entry for entry in known if entry.lower() == text.lower()]
    like += get_close_matches(text, known, n=1)
    held = f"did you mean {like[0]!r}?" if like else f"it holds {_few(known)}"
    said = f"{{leave}} of column {rule.column!r}: {column.name!r} is never {text!r}"
    warn_user(Said(f"{said}; {held}", leave=...))


def _few(values: tuple) -> str:
    shown = ", ".join(map(repr, values[:5]))
    return f"{shown} and {len(values) - 5} more" if len(values) > 5 else shown


def read_mask(leave: Any, table: Table) -> np.ndarray:
    """Read a mask of the table's shape, True where a hole is to be left."""
    columns = getattr(leave, "columns", None)
    flags = leave
    if columns is not None:
        names = list(columns)
        if len(names) != len(table.columns) or set(names) != set(table.columns):
            expected, came = (_few(tuple(some)) for some in (table.columns, names))
            raise _bad_mask(
                f"must have the columns of the table, {expected}, got {came}"
            )
        native = table.native
        if isinstance(leave, pd.DataFrame) and isinstance(native, pd.DataFrame):
            same_length = len(leave) == len(native)
            if same_length and not leave.index.equals(native.index):
                raise _bad_mask(
                    "has another index than the table; give its rows the same index, "
                    "or use leave.to_numpy() if they are in the same order"
                )
        order = [names.index(name) for name in table.columns]
        flags = leave.to_numpy()[:, order]
    flags = np.asarray(flags)
    wanted = (table.n_rows, len(table.columns))
    if flags.shape != wanted:
        raise _bad_mask(
            f"is a mask of shape {flags.shape}, but the table has shape {wanted}; "
            "set_params(leave=...) for another table, or give rules by column"
        )
    if flags.dtype == object and all(type(f) in (bool, np.bool_) for f in flags.flat):
        flags = flags.astype(bool)
    if flags.dtype != bool:
        raise _bad_mask(f"must hold True and False, got {flags.dtype}")
    return flags


def _bad_mask(why: str) -> ParameterError:
    return ParameterError(f"leave {why}", parameter="leave")
