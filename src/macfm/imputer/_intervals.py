"""How sure filled cells are, one row each."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from macfm._warn import warn_user
from macfm.imputer._rules import integer
from macfm.table import (
    ColumnSchema,
    Table,
    TableSchema,
    as_table,
    least_draws,
    range_places,
)

_COLUMNS = ("row", "column", "value", "low", "high", "certainty")


def check_level(level: Any, n_draws: Any) -> None:
    """Refuse what is no probability, and warn of too few draws for it."""
    if not isinstance(level, Real) or not 0 < float(level) < 1:
        raise ValueError(f"level must be a number between 0 and 1, got {level!r}")
    integer(1).check("n_draws", n_draws)
    least = least_draws(float(level))
    if n_draws < least:
        said = f"ranges of {n_draws} draws hold less than {level:.6g} of the truth; "
        warn_user(f"{said}pass n_draws={least} or more")


def probability_frames(
    found: Mapping[Hashable, tuple[np.ndarray, np.ndarray]],
    *,
    schema: TableSchema,
    index: pd.Index,
) -> dict[Hashable, pd.DataFrame]:
    """Return rows and probabilities of each column's filled cells as frames."""
    categories = {column.name: column.categories for column in schema.columns}
    return {
        name: pd.DataFrame(
            shares,
            index=index[rows],
            columns=pd.Index(categories[name], tupleize_cols=False),
        )
        for name, (rows, shares) in found.items()
    }


def intervals_of(
    table: Table,
    completed: Any,
    draws: Sequence[Any],
    *,
    schema: TableSchema,
    level: float,
    index: pd.Index,
) -> pd.DataFrame:
    """Return value, range and certainty of every cell that was filled.

    The ends of a range are draws themselves, those ranks apart that hold `level` of a
    calibrated sampler's truths. Draws that leave a cell empty, by a rule of `leave`
    whose condition is drawn as well, have no rank in it.
    """
    filled, drawn = as_table(completed), [as_table(draw) for draw in draws]
    native, natives = _plain(completed), [_plain(draw) for draw in draws]
    parts = []
    for j, column in enumerate(schema.columns):
        rows = np.flatnonzero(~table.observed[:, j] & filled.observed[:, j])
        if not len(rows):
            continue
        value = native.iloc[rows, j].to_numpy(object)
        samples = np.stack([one.iloc[rows, j].to_numpy(object) for one in natives])
        held = np.stack([one.observed[rows, j] for one in drawn])
        samples[~held] = None  # whatever the table has for nothing
        ends: tuple[Any, Any] = (None, None)
        certainty: Any = (samples == value).mean(axis=0)
        if column.is_numeric or column.kind == "ordinal":
            keys = np.stack([_order(one, j, rows, column) for one in drawn])
            keys = np.where(held, keys, np.inf)
            order, cells = keys.argsort(axis=0, kind="stable"), np.arange(len(rows))
            low, high = range_places(level, held.sum(axis=0))
            ends = samples[order[low, cells], cells], samples[order[high, cells], cells]
            certainty = None
        name = [column.name] * len(rows)  # which may be a tuple
        told = (index[rows], name, value, *ends, certainty)
        columns = dict(zip(_COLUMNS, told, strict=True))
        parts.append(pd.DataFrame(columns, index=rows).astype(object))
    if not parts:
        return pd.DataFrame(columns=list(_COLUMNS)).astype({"certainty": float})
    found = pd.concat(parts).sort_index(kind="stable").reset_index(drop=True)
    return found.apply(_of_one_type).astype({"certainty": float})


def _of_one_type(cells: pd.Series) -> pd.Series:
    """Give cells the type of what they hold, if it holds them all exactly.

    Labels then find their rows again.
    """
    typed = cells.infer_objects()
    same = (typed.astype(object) == cells) | cells.isna()
    return typed if same.all() else cells


def _plain(native: Any) -> pd.DataFrame:
    """Return a native table as a pandas DataFrame."""
    if isinstance(native, pd.DataFrame):
        return native
    if isinstance(native, np.ndarray):
        return pd.DataFrame(native)
    return native.to_pandas()


def _order(table: Table, j: int, rows: np.ndarray, column: ColumnSchema) -> np.ndarray:
    """Return numbers by which the cells of a column are ordered."""
    values = table.column(j).values[rows]
    if column.kind != "ordinal":
        return values
    places = {level: place for place, level in enumerate(column.categories or ())}
    return np.array([places.get(value, np.inf) for value in values])
