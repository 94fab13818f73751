"""A user's table in two plain forms.

`plain_frame` gives any table that the imputer takes as a pandas DataFrame whose types
can all hold a missing cell; `number_text` gives it in the benchmark's own form, which
every method understands: float64 for numbers, text for the rest.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from macfm.table import Table, TableSchema, as_table

__all__ = ["number_text", "plain_frame", "row_names"]


def plain_frame(X: Any) -> pd.DataFrame:
    """Return a table as a pandas DataFrame in which every cell may be missing.

    Whole numbers are Int64, booleans boolean, dates datetime64, text object; columns of
    types that the imputer does not know are given as text. The index of a pandas
    DataFrame is kept.

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


def row_names(frame: pd.DataFrame, ids: Sequence[Hashable]) -> pd.Index:
    """Return the names of a table's rows: what `ids` hold, or its index without them.

    Examples
    --------
    >>> import pandas as pd
    >>> row_names(pd.DataFrame({"ward": ["A", None], "bed": [1, 2]}), ["ward", "bed"])
    Index(['A 1', '? 2'], dtype='object', name='ward bed')
    """
    if not ids:
        return frame.index
    texts = frame[list(ids)].astype("string").fillna("?")
    names = texts.agg(" ".join, axis=1).to_numpy(dtype=object)
    return pd.Index(names, name=" ".join(map(str, ids)), dtype=object)


def number_text(frame: pd.DataFrame, schema: TableSchema) -> pd.DataFrame:
    """Return a table, as from `plain_frame`, in the benchmark's form.

    Numbers are float64, times and durations days; everything else is text.
    """
    table = as_table(frame)
    columns = {}
    for j, column in enumerate(schema.columns):
        data = table.column(j)
        values = data.numbers if column.is_numeric else data.labels
        columns[column.name] = pd.Series(values, frame.index, dtype=values.dtype)
    return pd.DataFrame(columns, index=frame.index)


def _plain_column(table: Table, j: int) -> Any:
    """One column as an array or Series that can hold missing cells."""
    observed = table.observed[:, j]
    try:
        data = table.column(j)
    except (TypeError, ValueError):
        return _text(table, j)
    if data.listed is not None and data.is_time:
        return _text(table, j)  # categories that happen to be dates
    values = data.values
    if data.is_time:
        if data.tz is not None:
            return pd.DatetimeIndex(data.stamps, tz="UTC").tz_convert(data.tz).array
        return pd.array(data.stamps)
    if data.listed is not None:
        listed = pd.Index(data.listed)
        codes = np.where(observed, listed.get_indexer(pd.Index(values)), -1)
        return pd.Categorical.from_codes(codes, listed, ordered=data.ordered)
    if data.family == "integer" and values.dtype != object:
        fits = np.where(observed, values, 0)
        dtype = "UInt64" if fits.dtype == np.uint64 else "Int64"
        return _masked(fits, observed, dtype)
    if data.family in ("integer", "float"):
        return pd.array(data.numbers, dtype=np.dtype(float))
    if data.family == "boolean":
        return _masked(np.where(observed, values, False), observed, "boolean")
    return pd.Series(data.labels, dtype=object)


def _masked(values: np.ndarray, observed: np.ndarray, dtype: str) -> Any:
    """An array of a nullable type."""
    array = pd.array(values, dtype=dtype)
    array[~observed] = pd.NA
    return array


def _text(table: Table, j: int) -> Any:
    """A column of an unknown type, in words."""
    native, name = table.native, table.columns[j]
    cells = list(native[:, j] if isinstance(native, np.ndarray) else native[name])
    texts = np.full(table.n_rows, None, dtype=object)
    for i in np.flatnonzero(table.observed[:, j]):
        texts[i] = str(cells[i])
    return pd.Series(texts, dtype=object)
