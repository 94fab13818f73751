"""Columns of any kind of table as something that can be drawn."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from macfm._errors import ColumnError, ParameterError
from macfm.plot._style import require
from macfm.table import Table, as_table


@dataclass(frozen=True)
class Values:
    """One column."""

    #: How to draw it: "number", "time" or "category".
    kind: str
    #: Floats, matplotlib's days for points in time, days for durations; text for
    #: categories. What stands in unobserved cells has no meaning; shape (n_rows,).
    values: np.ndarray
    #: True where there is a value; shape (n_rows,).
    observed: np.ndarray
    #: The order of categories, if their type has one.
    order: tuple[str, ...] | None = None

    @property
    def seen(self) -> np.ndarray:
        """Observed values."""
        return self.values[self.observed]


def position(table: Table, name: Hashable) -> int:
    """Return the place of a column, or raise naming those that there are."""
    if name in table.columns:
        return table.columns.index(name)
    raise ColumnError(f"no column {name!r}; the table has {table.columns}", column=name)


def column_values(table: Table, name: Hashable) -> Values:
    """Read one column."""
    data = table.column(position(table, name))
    if data.role == "category":
        listed = np.array([False, True]) if data.family == "boolean" else data.listed
        order = None if listed is None else tuple(map(data.label, listed.tolist()))
        return Values("category", data.labels, data.observed, order)
    if data.family != "datetime":
        return Values("number", data.numbers, data.observed)
    require()
    from matplotlib.dates import date2num

    days = data.numbers + date2num(np.datetime64(0, "s"))  # since matplotlib's epoch
    return Values("time", days, data.observed)


def completed_values(
    table: Table, completed: Any, name: Hashable
) -> tuple[Values, np.ndarray, np.ndarray]:
    """Read one column before and after it was completed, once or in several draws.

    Returns the column with holes, its values in each completed table, shape (n_draws,
    n_rows), and flags of the cells that were filled in, shape (n_rows,).
    """
    before = column_values(table, name)
    draws = list(completed) if isinstance(completed, Sequence) else [completed]
    if not draws:
        raise ParameterError(
            "expected a completed table or a list of them, got none",
            parameter="completed",
        )
    after = []
    filled = ~before.observed
    for draw in draws:
        other = as_table(draw)
        if other.n_rows != table.n_rows:
            raise ParameterError(
                f"the table has {table.n_rows} rows and the completed one "
                f"{other.n_rows}; they must be the same rows",
                parameter="completed",
            )
        values = column_values(other, name)
        after.append(values.values)
        filled = filled & values.observed
    return before, np.stack(after), filled
