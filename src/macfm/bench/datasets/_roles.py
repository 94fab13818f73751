"""From a table as published to the benchmark's: numbers as float64, the rest text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from macfm.bench.datasets._dataset import DatasetError


def to_number(column: pd.Series) -> pd.Series:
    """Return a column as float64, missing cells as NaN.

    Examples
    --------
    >>> to_number(pd.Series([1, None, 3], dtype="Int64")).tolist()
    [1.0, nan, 3.0]
    """
    try:
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise DatasetError(
            f"column {column.name!r} must hold numbers: {error}"
        ) from error
    if np.isinf(values).any():
        raise DatasetError(f"column {column.name!r} holds infinite values")
    return pd.Series(values, index=column.index, name=column.name)


def to_text(column: pd.Series) -> pd.Series:
    """Return a column as text, whole numbers without a decimal point.

    Examples
    --------
    >>> to_text(pd.Series([1.0, None, 0.5])).tolist()[::2]
    ['1', '0.5']
    """
    try:
        codes, values = pd.factorize(column)
    except TypeError as error:
        raise DatasetError(
            f"column {column.name!r} holds lists or other nested values"
        ) from error
    texts = np.array([*map(_text, values), None], dtype=object)
    # pandas chooses its own text type here; code -1, a missing cell, reads the None.
    return pd.Series(list(texts[codes]), index=column.index, name=column.name)


def _text(value: Any) -> str:
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def apply_roles(
    frame: pd.DataFrame, *, numeric: Sequence[str], categorical: Sequence[str]
) -> pd.DataFrame:
    """Return the feature columns, in the order of the table, in their two forms."""
    absent = [c for c in (*numeric, *categorical) if c not in frame.columns]
    if absent:
        raise DatasetError(f"the table has no column {absent[0]!r}")
    numbers, texts = set(numeric), set(categorical)
    columns = {
        c: to_number(frame[c]) if c in numbers else to_text(frame[c])
        for c in frame.columns
        if c in numbers or c in texts
    }
    return pd.DataFrame(columns).reset_index(drop=True)
