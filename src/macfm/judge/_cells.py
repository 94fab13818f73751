"""Tables as the mechanisms see them: which cells are there, and their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit

from macfm._errors import ParameterError

Seed = int | Sequence[int] | np.random.Generator
Table: TypeAlias = pd.DataFrame | np.ndarray

# Logits beyond this give a probability of 0 or 1 in double precision.
_LARGEST_LOGIT = 40.0


def values(table: Table, *, raw: bool) -> np.ndarray:
    """The table as numbers, (n_samples, n_features), missing cells at the mean."""
    if isinstance(table, pd.DataFrame):
        columns = [numbers(table.iloc[:, j]) for j in range(table.shape[1])]
        x = np.column_stack(columns) if columns else np.empty(table.shape)
    else:
        x = np.array(table, dtype=float)
    for j in range(x.shape[1]):
        column = x[:, j]
        known = column[~np.isnan(column)]
        center = known.mean() if len(known) else 0.0
        spread = known.std() if len(known) else 0.0
        column[np.isnan(column)] = center
        if not raw:
            x[:, j] = (column - center) / spread if spread > 0 else 0.0
    return x


def numbers(column: pd.Series) -> np.ndarray:
    """A column as floats; categories by their position in sorted order."""
    numeric = pd.api.types.is_numeric_dtype(column)
    if numeric and not pd.api.types.is_bool_dtype(column):
        return column.to_numpy(dtype=float, na_value=np.nan)
    if pd.api.types.is_datetime64_any_dtype(column):
        whole = column.astype("int64").to_numpy(dtype=float)
        return np.where(column.isna(), np.nan, whole)
    codes, _ = pd.factorize(column.astype(object), sort=True)
    return np.where(codes < 0, np.nan, codes.astype(float))


def observed_cells(table: Table) -> np.ndarray:
    """True where the table has a value, (n_samples, n_features)."""
    if isinstance(table, pd.DataFrame):
        return table.notna().to_numpy()
    array: np.ndarray = np.asarray(table)
    if array.ndim != 2:
        raise ValueError(f"a table has two dimensions, got an array of {array.ndim}")
    if array.dtype.kind not in "fiub":
        raise ValueError(
            f"an array must hold numbers, got {array.dtype}; use a DataFrame for text"
        )
    return ~np.isnan(array.astype(float))


def like_table(table: Table, hidden: np.ndarray) -> Table:
    """The flags as the kind of table that came in."""
    if isinstance(table, pd.DataFrame):
        return pd.DataFrame(hidden, index=table.index, columns=table.columns)
    return hidden


def offset(score: np.ndarray, mean: float) -> float:
    """The b for which the mean of σ(score + b) is `mean`."""
    reach = _LARGEST_LOGIT + np.abs(score).max(initial=0.0)
    return brentq(lambda b: expit(score + b).mean() - mean, -reach, reach)


def check_rate(rate: float, below: float, name: str) -> None:
    """Refuse a rate that cannot be reached."""
    if not 0 < rate < 1:
        raise ParameterError(
            f"rate must lie between 0 and 1, got {rate}", parameter="rate"
        )
    if rate >= below:
        raise ParameterError(
            f"{name} leaves some columns observed and so hides less than {below:.0%} "
            f"of the cells, got rate={rate}",
            parameter="rate",
        )


def check_driven(n_features: int) -> None:
    """Refuse a table of one column, which has none to drive its holes."""
    if n_features < 2:
        raise ValueError(
            "this mechanism needs a column to drive and one to be hidden, "
            f"got {n_features} column; use MCAR or MNAR self-masking"
        )
