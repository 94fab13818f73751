"""A user's table in two plain forms.

`plain_frame` gives any table that the imputer takes as a pandas DataFrame whose types
can all hold a missing cell; `number_text` gives it in the benchmark's own form, which
every method understands: float64 for numbers, text for the rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from macfm.table import Table, TableSchema, as_table

__all__ = ["NUMBER_KINDS", "number_text", "plain_frame"]

#: Kinds of columns that are numbers in the benchmark's form.
NUMBER_KINDS = ("numeric", "integer", "datetime", "timedelta")
TIMES = {"datetime": "M8", "timedelta": "m8"}


def plain_frame(X: Any) -> pd.DataFrame:
    """Return a table as a pandas DataFrame in which every cell may be missing.

    Parameters
    ----------
    X : DataFrame (pandas or polars) or float array
        The table.

    Returns
    -------
    DataFrame
        Whole numbers are Int64, booleans boolean, dates datetime64, text object;
        columns of types that the imputer does not know are given as text. The index of
        a pandas DataFrame is kept.

    Examples
    --------
    >>> import pandas as pd
    >>> plain_frame(pd.DataFrame({"n": [1, 2], "b": [True, False]})).dtypes.tolist()
    [Int64Dtype(), BooleanDtype]
    """
    table = as_table(X)
    columns = {name: _plain_column(table, j) for j, name in enumerate(table.columns)}
    frame = pd.DataFrame(columns, index=pd.RangeIndex(table.n_rows))
    frame.columns = pd.Index(table.columns)
    if isinstance(X, pd.DataFrame):
        frame.index = X.index
    return frame


def number_text(frame: pd.DataFrame, schema: TableSchema) -> pd.DataFrame:
    """Return a table in the benchmark's form.

    Parameters
    ----------
    frame : DataFrame
        The table, as from `plain_frame`.
    schema : TableSchema
        The kinds of its columns.

    Returns
    -------
    DataFrame
        Numbers as float64, times and durations as days; everything else as text.
    """
    table = as_table(frame)
    columns = {}
    for j, column in enumerate(schema.columns):
        data = table.column(j)
        if column.kind in NUMBER_KINDS:
            values = np.full(table.n_rows, np.nan)
            values[data.observed] = data.seen.astype(float)
            if data.family in TIMES:
                values *= np.timedelta64(1, data.unit) / np.timedelta64(1, "D")
        else:
            values = np.full(table.n_rows, None, dtype=object)
            values[data.observed] = [_word(value) for value in data.seen.tolist()]
        columns[column.name] = pd.Series(values, frame.index, dtype=values.dtype)
    return pd.DataFrame(columns, index=frame.index)


def _word(value: Any) -> str:
    """Write a category; a code that holes made a fraction is whole again."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _plain_column(table: Table, j: int) -> Any:
    """One column as an array or Series that can hold missing cells."""
    observed = table.observed[:, j]
    try:
        data = table.column(j)
    except (TypeError, ValueError):
        return _text(table, j)
    if data.listed is not None and data.family in TIMES:
        return _text(table, j)  # categories that happen to be dates
    values = data.values
    if data.family in TIMES:
        stamps = np.where(observed, values, 0).astype(np.int64)
        stamps = stamps.astype(f"{TIMES[data.family]}[{data.unit}]")
        stamps[~observed] = "NaT"
        if data.tz is not None:
            return pd.DatetimeIndex(stamps, tz="UTC").tz_convert(data.tz).array
        return pd.array(stamps)
    if data.listed is not None:
        listed = pd.Index(data.listed)
        codes = np.where(observed, listed.get_indexer(pd.Index(values)), -1)
        return pd.Categorical.from_codes(codes, listed, ordered=data.ordered)
    if data.family == "integer" and values.dtype != object:
        fits = np.where(observed, values, 0)
        dtype = "UInt64" if fits.dtype == np.uint64 else "Int64"
        return _masked(fits, observed, dtype)
    if data.family in ("integer", "float"):
        numbers = np.full(len(values), np.nan)
        numbers[observed] = values[observed].astype(float)
        return pd.array(numbers, dtype=np.dtype(float))
    if data.family == "boolean":
        return _masked(np.where(observed, values, False), observed, "boolean")
    texts = np.full(len(values), None, dtype=object)
    texts[observed] = values[observed]
    return pd.Series(texts, dtype=object)


def _masked(values: np.ndarray, observed: np.ndarray, dtype: str) -> Any:
    """An array of a nullable type."""
    array = pd.array(values, dtype=dtype)
    array[~observed] = pd.NA
    return array


def _text(table: Table, j: int) -> Any:
    """A column of an unknown type, in words."""
    native = table.native
    name = table.columns[j]
    cells = native[name].tolist() if hasattr(native, "columns") else native[:, j]
    texts = np.full(table.n_rows, None, dtype=object)
    for i in np.flatnonzero(table.observed[:, j]):
        texts[i] = str(cells[i])
    return pd.Series(texts, dtype=object)
