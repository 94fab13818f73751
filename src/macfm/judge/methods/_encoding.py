"""Tables as numbers: category codes, one-hot blocks, and the way back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from pandas.api.types import is_float_dtype

from macfm._errors import ColumnError


@dataclass(frozen=True)
class ColumnCode:
    """What the training rows show of one column."""

    name: str
    """Name of the column."""
    mean: float
    """Mean of its observed cells; 0 for categories."""
    sd: float
    """Their standard deviation, 1 if they are all the same; 1 for categories."""
    categories: tuple[str, ...]
    """Its observed categories, sorted; empty for numbers."""
    shares: np.ndarray
    """Share of each category among the observed cells."""

    @property
    def is_numeric(self) -> bool:
        """Whether the column holds numbers."""
        return not self.categories

    @property
    def width(self) -> int:
        """Coordinates of the column in the one-hot encoding."""
        return len(self.categories) or 1


@dataclass(frozen=True)
class TableCode:
    """The translation of a table to numbers, learned from its observed cells.

    Two encodings share it. *Codes*, shape ``(n, n_columns)``: numbers as they are,
    categories by their place in the sorted list. *One-hot*, shape ``(n, d)``: numbers
    standardised, each category column a block of indicators. In both, NaN stands where
    the table is missing a cell or holds a category that `fit` did not see.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [1.0, None, 3.0], "c": ["b", "a", None]})
    >>> code = TableCode.fit(table)
    >>> code.codes(table).tolist()
    [[1.0, 1.0], [nan, 0.0], [3.0, nan]]
    >>> code.one_hot(table).tolist()
    [[-1.0, 0.0, 1.0], [nan, 1.0, 0.0], [1.0, nan, nan]]
    """

    columns: tuple[ColumnCode, ...]
    """One entry a column of the table, in its order."""

    @classmethod
    def fit(cls, train: pd.DataFrame) -> TableCode:
        """Learn scales and categories; a column without any value is an error."""
        return cls(tuple(_column_code(train[name]) for name in train.columns))

    @property
    def blocks(self) -> list[slice]:
        """Coordinates of each column in the one-hot encoding."""
        stops = np.cumsum([column.width for column in self.columns]).tolist()
        return [slice(a, b) for a, b in zip([0, *stops[:-1]], stops, strict=True)]

    @property
    def center(self) -> np.ndarray:
        """Means of the one-hot coordinates over observed training cells, ``(d,)``."""
        means = [np.zeros(1) if c.is_numeric else c.shares for c in self.columns]
        return np.concatenate(means)

    def codes(self, table: pd.DataFrame) -> np.ndarray:
        """Encode to codes, shape ``(n, n_columns)``."""
        values = [_codes(column, table[column.name]) for column in self.columns]
        return np.column_stack(values)

    def one_hot(self, table: pd.DataFrame) -> np.ndarray:
        """Encode to standardised numbers and one-hot blocks, shape ``(n, d)``."""
        parts = []
        for column, values in zip(self.columns, self.codes(table).T, strict=True):
            if column.is_numeric:
                parts.append((values[:, None] - column.mean) / column.sd)
                continue
            block = (values[:, None] == np.arange(column.width)).astype(float)
            block[np.isnan(values)] = np.nan
            parts.append(block)
        return np.hstack(parts)

    def from_one_hot(self, x: np.ndarray) -> np.ndarray:
        """Turn one-hot scores into codes; a block gives its largest coordinate."""
        values = []
        for column, block in zip(self.columns, self.blocks, strict=True):
            if column.is_numeric:
                values.append(x[:, block.start] * column.sd + column.mean)
            else:
                values.append(x[:, block].argmax(axis=1))
        return np.column_stack(values)

    def shares(self, table: pd.DataFrame, x: np.ndarray) -> dict[str, pd.DataFrame]:
        """Read one-hot scores as probabilities, clipped and scaled to sum to 1."""
        return {
            column.name: pd.DataFrame(
                as_shares(x[:, block], column.shares),
                index=table.index,
                columns=list(column.categories),
            )
            for column, block in zip(self.columns, self.blocks, strict=True)
            if not column.is_numeric
        }

    def complete(self, table: pd.DataFrame, codes: np.ndarray) -> pd.DataFrame:
        """Write codes into the holes of a table, and nothing else."""
        completed = table.copy()
        for column, values in zip(self.columns, codes.T, strict=True):
            hole = table[column.name].isna().to_numpy()
            if not hole.any():
                continue
            if column.is_numeric:
                cells = table[column.name].to_numpy(dtype=float, copy=True)
                cells[hole] = values[hole]
            else:
                cells = table[column.name].to_numpy(dtype=object, copy=True)
                names = np.asarray(column.categories, dtype=object)
                cells[hole] = names[values[hole].astype(int)]
            completed[column.name] = pd.Series(
                cells, index=table.index, dtype=table[column.name].dtype
            ).array
        return completed


def as_shares(scores: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """Clip scores at 0 and scale them to sum to 1, shape ``(n, n_categories)``.

    A row without any positive score takes the shares `otherwise`.
    """
    clipped = scores.clip(min=0)
    total = clipped.sum(axis=1, keepdims=True)
    return np.where(total > 0, clipped / np.where(total > 0, total, 1), otherwise)


def draw_categories(shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw one category a row from its shares, shape ``(n,)``."""
    levels = shares.cumsum(axis=1)
    at = rng.random((len(shares), 1)) * levels[:, -1:]
    # The last category is left out of the count, so that rounding cannot pass it.
    return (levels[:, :-1] <= at).sum(axis=1)


def row_chunks(
    n_rows: int, n_cells_a_row: int, *, most: int = 2**22
) -> Sequence[slice]:
    """Cut rows into slices of at most `most` cells."""
    step = max(most // max(n_cells_a_row, 1), 1)
    return [slice(i, min(i + step, n_rows)) for i in range(0, n_rows, step)]


def _column_code(column: pd.Series) -> ColumnCode:
    observed = column.dropna()
    if observed.empty:
        raise ColumnError(
            f"column {column.name!r} has no observed value to learn from",
            column=column.name,
        )
    if is_float_dtype(column):
        sd = float(observed.std(ddof=0))
        return ColumnCode(
            name=column.name,
            mean=float(observed.mean()),
            sd=sd if observed.nunique() > 1 else 1.0,
            categories=(),
            shares=np.empty(0),
        )
    counts = observed.value_counts().sort_index()
    return ColumnCode(
        name=column.name,
        mean=0.0,
        sd=1.0,
        categories=tuple(counts.index),
        shares=counts.to_numpy(dtype=float) / len(observed),
    )


def _codes(column: ColumnCode, values: pd.Series) -> np.ndarray:
    if column.is_numeric:
        return values.to_numpy(dtype=float)
    index = pd.Index(column.categories, dtype=object)
    codes = index.get_indexer(values.to_numpy(dtype=object)).astype(float)
    codes[codes < 0] = np.nan
    return codes
