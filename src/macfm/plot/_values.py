"""Columns of any kind of table as something that can be drawn."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from macfm.plot._style import require
from macfm.table import Table, as_table

__all__ = ["Values", "column_values", "completed_values", "position"]


@dataclass(frozen=True)
class Values:
    """One column.

    Attributes
    ----------
    kind : {"number", "time", "category"}
        How to draw it.
    values : ndarray of shape (n_rows,)
        Floats, matplotlib's days for points in time, days for durations; text for
        categories. What stands in unobserved cells has no meaning.
    observed : ndarray of bool of shape (n_rows,)
        True where there is a value.
    order : tuple of str or None
        The order of categories, if their type has one.
    """

    kind: str
    values: np.ndarray
    observed: np.ndarray
    order: tuple[str, ...] | None = None

    @property
    def seen(self) -> np.ndarray:
        """Observed values."""
        return self.values[self.observed]


def position(table: Table, name: Hashable) -> int:
    """Return the place of a column, or raise naming those that there are."""
    if name in table.columns:
        return table.columns.index(name)
    raise ValueError(f"no column {name!r}; the table has {table.columns}")


def column_values(table: Table, name: Hashable) -> Values:
    """Read one column."""
    data = table.column(position(table, name))
    values, observed = data.values, data.observed
    order = None
    if data.listed is not None:
        order = tuple(map(str, data.listed.tolist()))
    if data.family in ("boolean", "string") or data.listed is not None:
        text = np.array([str(value) for value in values.tolist()], dtype=object)
        order = ("False", "True") if data.family == "boolean" else order
        return Values("category", text, observed, order)
    if data.family == "datetime":
        require()
        from matplotlib.dates import date2num

        stamps = np.where(observed, values, 0).astype(f"M8[{data.unit}]")
        return Values("time", date2num(stamps.astype("M8[us]")), observed)
    numbers = np.full(len(values), np.nan)
    numbers[observed] = values[observed].astype(float)
    if data.family == "timedelta":
        numbers *= np.timedelta64(1, data.unit) / np.timedelta64(1, "D")
    return Values("number", numbers, observed)


def completed_values(
    table: Table, completed: Any, name: Hashable
) -> tuple[Values, np.ndarray, np.ndarray]:
    """Read one column before and after.

    Parameters
    ----------
    table : Table
        The table with holes.
    completed : table or list of tables
        The completed table, or several draws of it.
    name : hashable
        The column.

    Returns
    -------
    before : Values
        The column with holes.
    after : ndarray of shape (n_draws, n_rows)
        Its values in each completed table.
    filled : ndarray of bool of shape (n_rows,)
        True where a value was filled in.
    """
    before = column_values(table, name)
    draws = list(completed) if isinstance(completed, Sequence) else [completed]
    if not draws:
        raise ValueError("expected a completed table or a list of them, got none")
    after = []
    filled = ~before.observed
    for draw in draws:
        other = as_table(draw)
        if other.n_rows != table.n_rows:
            raise ValueError(
                f"the table has {table.n_rows} rows and the completed one "
                f"{other.n_rows}; they must be the same rows"
            )
        values = column_values(other, name)
        after.append(values.values)
        filled = filled & values.observed
    return before, np.stack(after), filled
