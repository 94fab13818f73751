"""Columns that follow from others by a formula the user names."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np

from macfm._errors import Said
from macfm._warn import warn_user
from macfm.table._column import ColumnData, ColumnSchema
from macfm.table._evaluate import Read, Vector, number
from macfm.table._expression import ExpressionError, Node, parse
from macfm.table._infer import check_names
from macfm.table._io import Table
from macfm.table._leave import names_in, refused
from macfm.table._numbers import to_floats, to_integers
from macfm.table._schema import TableSchema
from macfm.table._solve import solve, why_unsolvable
from macfm.table._view import View

TOLERANCE, MATERIAL = 0.01, 0.05
"""Relative gap that counts as disagreement, and the share of rows worth a warning."""

_NUMBERS = ("float", "integer")


@dataclass(frozen=True)
class Formula:
    """A column and what it follows from."""

    #: The derived column.
    column: Hashable
    #: The formula.
    node: Node
    #: The columns of the formula in the order in which they appear, the derived one
    #: last.
    names: list[Hashable]
    #: Where they stand in the table.
    positions: list[int]
    #: Those the formula cannot be solved for, and why.
    unsolvable: dict[int, str]

    @property
    def target(self) -> int:
        """Position of the derived column."""
        return self.positions[-1]

    @property
    def order(self) -> list[int]:
        """Positions in the order in which the model's values are taken.

        What cannot be solved for comes first and the derived column last, since the
        last missing cell is the one that is computed.
        """
        return sorted(self.positions, key=lambda j: j not in self.unsolvable)

    def value(self, read: Read, n_rows: int) -> np.ndarray:
        """Return what the formula comes to, NaN where it has no value."""
        try:
            return number(self.node, read, n_rows)
        except ExpressionError as error:
            raise refused("derive", self.column, error) from None

    def solved(self, j: int, read: Read, n_rows: int) -> np.ndarray:
        """Return the cells of column ``j`` that make the formula hold, or NaN."""
        if j == self.target:
            return self.value(read, n_rows)
        goal = read(self.column).values
        name = self.names[self.positions.index(j)]
        found = solve(self.node, name, goal, read, n_rows)

        def again(other: Hashable) -> Vector:
            new = Vector("number", found, np.isfinite(found))
            return new if other == name else read(other)

        # What undoes a division by zero is no solution.
        value = self.value(again, n_rows)
        size = np.max([np.abs(again(other).values) for other in self.names], axis=0)
        agrees = np.abs(value - goal) <= 1e-9 * size + 1e-6 * np.abs(goal)
        return np.where(agrees, found, np.nan)


def read_formulas(schema: TableSchema, derive: Mapping[Hashable, str]) -> list[Formula]:
    """Read formulas by column, in an order in which each follows those it builds on."""
    check_names("derive", derive, schema.names)
    position = {name: j for j, name in enumerate(schema.names)}
    formulas = {}
    for name, text in derive.items():
        try:
            node = parse(text, schema.names)
        except ExpressionError as error:
            raise refused("derive", name, error) from None
        names = names_in(node)
        if name in names:
            raise refused(
                "derive", name, "a formula is over other columns, not its own"
            )
        if not names:
            raise refused("derive", name, f"{text!r} holds no column")
        for one in [*names, name]:
            _check_numbers(schema.columns[position[one]], name, one in derive)
        unsolvable = {position[n]: why_unsolvable(node, n) for n in names}
        for n in names:
            if _holds_categories(schema.columns[position[n]]):
                unsolvable[position[n]] = "it holds categories"
        formulas[name] = Formula(
            column=name,
            node=node,
            names=[*names, name],
            positions=[position[n] for n in (*names, name)],
            unsolvable={j: why for j, why in unsolvable.items() if why is not None},
        )
    graph = {n: [m for m in f.names[:-1] if m in formulas] for n, f in formulas.items()}
    try:
        return [formulas[name] for name in TopologicalSorter(graph).static_order()]
    except CycleError as error:
        ring = error.args[1][:-1]
        others = ", ".join(map(repr, ring[1:]))
        why = f"it and {others} are derived from each other; drop one of them"
        raise refused("derive", ring[0], why) from None


def _check_numbers(column: ColumnSchema, derived: Hashable, is_derived: bool) -> None:
    """Refuse columns that are no numbers, or that nobody may look at."""
    why: str
    if column.kind == "ignored":
        why = Said(f"{column.name!r} is ignored; take it out of {{ignore}}", ignore=...)
    elif column.kind == "empty" and not is_derived:
        why = f"{column.name!r} holds no value to compute from"
    elif column.family not in _NUMBERS:
        what = "has no type" if column.family == "unknown" else f"is {column.kind}"
        why = f"{column.name!r} {what}; a formula takes columns of numbers"
    elif _holds_categories(column) and column.name == derived:
        why = f"it is {column.kind}, and what a formula gives is a number"
    else:
        return
    raise refused("derive", derived, why)


def _holds_categories(column: ColumnSchema) -> bool:
    return column.categories is not None and column.kind != "constant"


def check_formulas(formulas: list[Formula], table: Table, schema: TableSchema) -> None:
    """Warn of observed cells that disagree, and of what cannot be solved for."""
    view = View(table, schema, {})
    for formula in formulas:
        value = formula.value(view.vector, table.n_rows)
        for j, why in formula.unsolvable.items():
            if not table.observed[:, j].all() and schema.columns[j].impute:
                said = (
                    f"{{derive}} of column {formula.column!r}: it cannot be solved for "
                    f"{schema.names[j]!r}, since {why}; where only that is missing the "
                    "model's value is taken and the formula need not hold"
                )
                warn_user(Said(said, derive=...))
        _warn_nothing(formula, value, table)
        _warn_gaps(formula, value, table)


def _warn_nothing(formula: Formula, value: np.ndarray, table: Table) -> None:
    """Warn if a formula has no value in rows that hold all that it looks at."""
    rows = table.observed[:, formula.positions[:-1]].all(axis=1)
    n_without = int((rows & ~np.isfinite(value)).sum())
    if n_without > MATERIAL * rows.sum():
        said = (
            f"{{derive}} of column {formula.column!r}: the formula gives no number in "
            f"{n_without:,} of {int(rows.sum()):,} rows in which all that it looks at "
            "was observed; there the model's values are taken and it does not hold"
        )
        warn_user(Said(said, derive=...))


def _warn_gaps(formula: Formula, value: np.ndarray, table: Table) -> None:
    """Warn if a formula does not describe the rows that were observed."""
    data = table.column(formula.target)
    rows = table.observed[:, formula.positions].all(axis=1) & np.isfinite(value)
    if not rows.any():
        return
    held, value = data.values[rows].astype(float), value[rows]
    gap, size = np.abs(held - value), np.maximum(np.abs(held), np.abs(value))
    wrong = gap > TOLERANCE * size + _step(data.seen.astype(float)) / 2
    if wrong.mean() > MATERIAL:
        largest = float((gap[wrong] / size[wrong]).max())
        said = (
            f"{{derive}} of column {formula.column!r}: {int(wrong.sum()):,} of "
            f"{len(wrong):,} rows in which all its columns were observed disagree with "
            f"the formula, by up to {100 * largest:.3g} %; observed cells are kept as "
            "they are"
        )
        warn_user(Said(said, derive=...))


def _step(seen: np.ndarray) -> float:
    """Return the unit to which numbers were rounded, 0 if they were not."""
    near = 1e-9 * min(np.abs(seen).max(initial=0.0), 1.0)
    for digits in range(5):
        if np.allclose(seen, np.round(seen, digits), rtol=1e-12, atol=near):
            return 10.0**-digits
    return 0.0


def keep_formulas(formulas: list[Formula], view: View) -> list[dict[int, np.ndarray]]:
    """Make the filled cells of each row agree with the formulas.

    A cell that is the only missing one of a formula is computed from the others. Of
    several, the model's values are taken for all but the last: the derived column if it
    is missing, else the last in the order of the formula. Formulas are solved one at a
    time: cells that only several of them together would give need not agree with all.
    Returned are, for each formula and by column, flags of the rows in which it gave the
    cell, shape (n_rows,).
    """
    if not formulas:
        return []
    work = _Work(formulas, view)
    work.deduce()
    for place, formula in enumerate(formulas):
        for j in formula.order[:-1]:
            work.adopt(place, j, work.n_unknown(place) > 1)
            work.deduce()
    work.write()
    return work.solved


class _Work:
    """The cells of formulas while they are made to agree."""

    def __init__(self, formulas: list[Formula], view: View) -> None:
        self.formulas, self.view = formulas, view
        self.n_rows = view.table.n_rows
        self.values: dict[int, np.ndarray] = {}
        self.known: dict[int, np.ndarray] = {}
        self.open: dict[int, np.ndarray] = {}
        self.changed: dict[int, np.ndarray] = {}
        self.adopted: list[dict[int, np.ndarray]] = [{} for _ in formulas]
        self.solved: list[dict[int, np.ndarray]] = [{} for _ in formulas]
        observed = view.table.observed
        for j in {j for formula in formulas for j in formula.positions}:
            column = view.schema.columns[j]
            found = view.vector(column.name)
            self.values[j] = np.where(found.present, found.values.astype(float), np.nan)
            self.known[j] = observed[:, j].copy()
            self.changed[j] = np.zeros(self.n_rows, dtype=bool)
            self.open[j] = ~observed[:, j] & (found.present | (column.kind == "empty"))

    def n_unknown(self, place: int) -> np.ndarray:
        """Count the cells of a formula that are still open, 0 where one is not ours."""
        positions = self.formulas[place].positions
        usable = np.all([self.known[j] | self.open[j] for j in positions], axis=0)
        return usable * np.sum([~self.known[j] for j in positions], axis=0)

    def adopt(self, place: int, j: int, where: np.ndarray) -> None:
        """Take the model's value."""
        rows = where & ~self.known[j]
        self.known[j] |= rows
        self.adopted[place][j] = rows

    def deduce(self) -> None:
        """Compute single missing cells until there are none."""
        found = True
        while found:
            found = False
            for place, formula in enumerate(self.formulas):
                one = self.n_unknown(place) == 1
                for j in formula.positions if one.any() else ():
                    rows = np.flatnonzero(one & ~self.known[j])
                    if len(rows):
                        self.known[j][rows] = True
                        self._compute(place, j, rows)
                        found = True

    def _compute(self, place: int, j: int, rows: np.ndarray) -> None:
        """Set the cells of column ``j`` to what makes a formula hold, if anything."""
        formula = self.formulas[place]
        if j in formula.unsolvable:
            return
        guess = self.values[j][rows]
        found = self._solve(formula, j, rows)
        self._set(place, j, rows, found)
        if j == formula.target:
            return  # whatever its bounds, it is what the others make it
        bad = ~self._within(j, found)
        # A cell taken from the model may give way, unless others build on it.
        for k, adopted in reversed(self.adopted[place].items()):
            elsewhere = sum(k in other.positions for other in self.formulas) > 1
            again = bad & adopted[rows]
            if elsewhere or k in formula.unsolvable or not again.any():
                continue
            self._instead(place, (j, k), rows[again], found[again], guess[again])
            bad &= ~self.solved[place].get(k, np.zeros(self.n_rows, bool))[rows]

    def _instead(
        self,
        place: int,
        pair: tuple[int, int],
        rows: np.ndarray,
        found: np.ndarray,
        guess: np.ndarray,
    ) -> None:
        """Move a cell into its bounds and compute another one from it."""
        j, k = pair
        low, high = self._bounds(j)
        before = self.values[j][rows]
        moved = np.clip(np.where(np.isfinite(found), found, guess), low, high)
        there = np.isfinite(moved)
        self.values[j][rows[there]] = self._canonical(j, moved[there]).astype(float)
        other = self._solve(self.formulas[place], k, rows)
        good = self._within(k, other) & there
        self.values[j][rows[~good]] = before[~good]
        self._set(place, k, rows[good], other[good])
        self.solved[place][j][rows[good]] = False
        self.changed[j][rows[good]] = True

    def _solve(self, formula: Formula, j: int, rows: np.ndarray) -> np.ndarray:
        position = self.view.position

        def read(name: Hashable) -> Vector:
            values = self.values[position[name]][rows]
            return Vector("number", values, np.isfinite(values))

        return formula.solved(j, read, len(rows))

    def _set(self, place: int, j: int, rows: np.ndarray, found: np.ndarray) -> None:
        """Take what was computed where it is a number."""
        good = np.isfinite(found)
        exact = self._canonical(j, found[good]).astype(float)
        self.values[j][rows[good]] = exact
        flags = self.solved[place].setdefault(j, np.zeros(self.n_rows, dtype=bool))
        flags[rows[good]] = True
        self.changed[j][rows[good]] = True

    def _bounds(self, j: int) -> tuple[float, float]:
        low, high = self.view.schema.columns[j].bounds or (None, None)
        return -np.inf if low is None else low, np.inf if high is None else high

    def _within(self, j: int, values: np.ndarray) -> np.ndarray:
        low, high = self._bounds(j)
        return np.isfinite(values) & (values >= low) & (values <= high)

    def _target(self, j: int) -> ColumnData:
        cells: Any = self.view.cells.get(j)
        return self.view.table.column(j) if cells is None else cells[2]

    def _canonical(self, j: int, values: np.ndarray) -> np.ndarray:
        """Return numbers as the column can hold them."""
        target = self._target(j)
        if target.family == "float":
            assert target.float_type is not None
            return to_floats(values, target.float_type, None, None)
        return to_integers(values, 0, *(target.limits or (None, None)))

    def write(self) -> None:
        """Hand over what was computed."""
        for j, changed in self.changed.items():
            rows = np.flatnonzero(changed)
            if len(rows):
                self.view.put(j, rows, self._canonical(j, self.values[j][rows]))
