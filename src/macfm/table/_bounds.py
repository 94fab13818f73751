"""The range of imputed values: reading the user's bounds of one column."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from macfm._warn import warn_user
from macfm.table._column import TIME_FAMILIES, ColumnData
from macfm.table._schema import ColumnSchema
from macfm.table._ticks import NANOSECONDS, before, split

__all__ = ["resolve_bounds"]

_BOUNDED = ("float", "integer", *TIME_FAMILIES)


def resolve_bounds(column: ColumnSchema, data: ColumnData, wished: Any) -> ColumnSchema:
    """Return the column with checked bounds.

    Parameters
    ----------
    column : ColumnSchema
        The column so far.
    data : ColumnData
        Its cells in fit.
    wished : "observed" or tuple (lo, hi)
        What the user asked for; None is an open side.
    """
    if column.kind == "empty":
        return column
    if column.categories is not None and (
        column.kind != "constant" or data.family not in _BOUNDED
    ):
        raise ValueError(
            f"column {column.name!r} is {column.kind}; bounds are for numbers and "
            "times only"
        )
    if isinstance(wished, str) and wished == "observed":
        lo, hi = _plain(data.seen.min(), data), _plain(data.seen.max(), data)
    else:
        lo, hi = _read(column, data, wished)
        n_outside = int(_outside(data, lo, hi).sum())
        if n_outside:
            values = "value lies" if n_outside == 1 else "values lie"
            warn_user(
                f"column {column.name!r}: {n_outside} observed {values} outside "
                f"bounds={tuple(wished)}; observed cells are kept as they are"
            )
    if column.kind == "constant" or (lo is None and hi is None):
        return column
    return replace(column, bounds=(lo, hi))


def _plain(value: Any, data: ColumnData) -> int | float:
    """Return an observed value the way bounds are stored."""
    if data.family == "float":
        return float(value)
    return int(value) * (NANOSECONDS[data.unit] if data.unit else 1)


def _read(column: ColumnSchema, data: ColumnData, wished: Any) -> tuple:
    """Check (lo, hi) and bring it into the form in which bounds are stored."""
    name = column.name
    if isinstance(wished, str) or not hasattr(wished, "__len__") or len(wished) != 2:
        raise ValueError(
            f"bounds of column {name!r} must be (lo, hi) or 'observed', got {wished!r}"
        )
    ends = []
    for end in wished:
        try:
            ends.append(None if end is None else _end(data, end))
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"bounds of column {name!r} ({data.dtype}): cannot use {end!r}; {error}"
            ) from None
    lo, hi = ends
    if lo is not None and hi is not None and lo > hi:
        raise ValueError(f"bounds of column {name!r} must have lo <= hi, got {wished}")
    if data.family != "integer":
        return lo, hi
    lo = None if lo is None else math.ceil(lo)
    hi = None if hi is None else math.floor(hi)
    least, most = data.limits or (-math.inf, math.inf)
    lowest = least if lo is None else max(lo, least)
    highest = most if hi is None else min(hi, most)
    if lowest > highest:
        raise ValueError(
            f"bounds of column {name!r} leave no value of type {data.dtype}, "
            f"got {wished}"
        )
    return lo, hi


def _end(data: ColumnData, end: Any) -> int | float | None:
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
    return number if data.family == "integer" else float(number)


def _nanoseconds(value: np.datetime64 | np.timedelta64) -> int:
    return int(value.astype(np.int64)) * NANOSECONDS[np.datetime_data(value.dtype)[0]]


def _outside(data: ColumnData, lo: Any, hi: Any) -> np.ndarray:
    """Flag observed values beyond the bounds, shape (n_observed,)."""
    seen = data.seen
    outside = np.zeros(len(seen), dtype=bool)
    if data.family in TIME_FAMILIES:
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
