"""The range of imputed values: the user's bounds of one column, or the data's."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from macfm._errors import ParameterError, Said
from macfm._warn import warn_user
from macfm.table._column import ColumnData, ColumnSchema, at_fault
from macfm.table._limits import is_pile
from macfm.table._ticks import NANOSECONDS, before, split

FEW_VALUES = 20
"""Most distinct values of a column of codes or scores."""


def resolve_bounds(
    column: ColumnSchema, data: ColumnData, wished: Any, *, as_numbers: bool
) -> ColumnSchema:
    """Return the column with checked bounds.

    ``wished`` is "auto", "observed", (lo, hi) with None for an open side, or None for
    no bounds at all; ``as_numbers`` tells that the column is one of plain numbers,
    whatever it looks like.
    """
    auto = isinstance(wished, str) and wished == "auto"
    if column.kind == "empty" or wished is None or (auto and column.categories):
        return column
    if column.categories is not None and (
        column.kind != "constant" or data.family in ("boolean", "string")
    ):
        why = f"is {column.kind}; {{bounds}} are for numbers and times only"
        raise at_fault(column.name, why, bounds=...)
    if auto:
        lo, hi = _kept(column, data, as_numbers=as_numbers)
    elif isinstance(wished, str) and wished == "observed":
        lo, hi = (_plain(end, column, data) for end in _extremes(data))
    else:
        lo, hi = _read(column, data, wished)
        n_outside = int(_outside(data, lo, hi).sum())
        if n_outside:
            values = "value lies" if n_outside == 1 else "values lie"
            said = f"column {column.name!r}: {n_outside} observed {values} outside "
            said += "{bounds}; observed cells are kept as they are"
            warn_user(Said(said, bounds=tuple(wished)))
    if column.kind == "constant" or (lo is None and hi is None):
        return column
    return replace(column, bounds=(lo, hi))


def _kept(
    column: ColumnSchema, data: ColumnData, *, as_numbers: bool
) -> tuple[int | float | None, int | float | None]:
    """Return the limits that all observed values respect and others should too."""
    lo = hi = None
    if column.kind == "datetime":
        return lo, hi
    low, high = _extremes(data)
    # Whole numbers and lengths of time that are not 0 are at least one step from it.
    step = NANOSECONDS[column.unit] if column.unit else int(column.kind == "integer")
    if low >= 0:
        lo = step if low > 0 else 0
    elif high <= 0:
        hi = -step if high < 0 else 0
    if column.kind == "timedelta":
        return lo, hi
    if low >= 0 and (high == 100 or (column.kind == "numeric" and high <= 1)):
        hi = 100 if high > 1 else 1
    seen = data.seen
    few = column.kind == "integer" and len(pd.unique(seen)) <= FEW_VALUES
    if (few and not as_numbers) or is_pile(int((seen == low).sum()), len(seen)):
        lo = low
    if (few and not as_numbers) or is_pile(int((seen == high).sum()), len(seen)):
        hi = high
    kind = float if column.kind == "numeric" else int
    return None if lo is None else kind(lo), None if hi is None else kind(hi)


def _extremes(data: ColumnData) -> tuple[Any, Any]:
    """Smallest and largest observed value, in canonical form."""
    return data.seen.min(), data.seen.max()


def _plain(value: Any, column: ColumnSchema, data: ColumnData) -> int | float:
    """Return an observed value the way bounds are stored."""
    if column.kind == "numeric":
        return float(value)
    return int(value) * (NANOSECONDS[data.unit] if data.unit else 1)


def _read(column: ColumnSchema, data: ColumnData, wished: Any) -> tuple:
    """Check (lo, hi) and bring it into the form in which bounds are stored."""
    name = column.name
    if isinstance(wished, str) or not hasattr(wished, "__len__") or len(wished) != 2:
        raise _refused(
            f"{name!r} must be (lo, hi), 'auto', 'observed' or None, got {wished!r}"
        )
    ends = []
    for end in wished:
        try:
            ends.append(None if end is None else _end(column, data, end))
        except (TypeError, ValueError) as error:
            raise _refused(
                f"{name!r} ({data.dtype}): cannot use {end!r}; {error}"
            ) from None
    lo, hi = ends
    if lo is not None and hi is not None and lo > hi:
        raise _refused(f"{name!r} must have lo <= hi, got {wished}")
    if column.kind != "integer":
        return lo, hi
    lo = None if lo is None else math.ceil(lo)
    hi = None if hi is None else math.floor(hi)
    least, most = data.limits or (-math.inf, math.inf)
    lowest = least if lo is None else max(lo, least)
    highest = most if hi is None else min(hi, most)
    if lowest > highest:
        raise _refused(
            f"{name!r} leave no whole number of type {data.dtype}, got {wished}"
        )
    return lo, hi


def _refused(why: str) -> ParameterError:
    return ParameterError(f"bounds of column {why}", parameter="bounds")


def _end(column: ColumnSchema, data: ColumnData, end: Any) -> int | float | None:
    """One end of the bounds; infinities are open."""
    if data.family == "datetime":
        stamp = pd.Timestamp(end)
        if stamp is pd.NaT:
            raise ValueError("a bound cannot be missing")
        if data.tz is None and stamp.tz is not None:
            raise ValueError("the column has no time zone but the bound has")
        if data.tz is not None and stamp.tz is None:
            stamp = stamp.tz_localize(data.tz)
        return _nanoseconds(stamp.to_datetime64())
    if data.family == "timedelta":
        length = pd.Timedelta(end)
        if length is pd.NaT:
            raise ValueError("a bound cannot be missing")
        return _nanoseconds(length.to_timedelta64())
    if isinstance(end, str) or not isinstance(end, (int, float, np.number)):
        raise TypeError("a number is needed")
    number = end.item() if isinstance(end, np.number) else end
    if number != number:
        raise ValueError("a bound cannot be NaN")
    if isinstance(number, float) and math.isinf(number):
        return None
    return number if column.kind == "integer" else float(number)


def _nanoseconds(value: np.datetime64 | np.timedelta64) -> int:
    return int(value.astype(np.int64)) * NANOSECONDS[np.datetime_data(value.dtype)[0]]


def _outside(data: ColumnData, lo: Any, hi: Any) -> np.ndarray:
    """Flag observed values beyond the bounds, shape (n_observed,)."""
    seen = data.seen
    outside = np.zeros(len(seen), dtype=bool)
    if data.is_time:
        assert data.unit is not None
        points = split(seen, data.unit)
        if lo is not None:
            outside |= before(*points, lo)
        if hi is not None:
            outside |= ~before(*points, hi + 1)
        return outside
    if lo is not None:
        outside |= seen < lo
    if hi is not None:
        outside |= seen > hi
    return outside
