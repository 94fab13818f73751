"""A table as numbers from which a linear model can tell where holes are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from macfm.profile._reading import Reading
from macfm.table import codes_of

MOST_COLUMNS, MOST_CATEGORIES = 200, 10


@dataclass(frozen=True)
class Features:
    """Standardised features, 0 where a value is missing."""

    #: The features, each of mean 0 and variance 1; shape (n_rows, n_features).
    x: np.ndarray
    #: Position of the column each feature comes from; shape (n_features,).
    column: np.ndarray
    #: True for a feature that says where the column is missing; shape (n_features,).
    is_indicator: np.ndarray


def features_of(reading: Reading, rows: np.ndarray) -> Features:
    """Build the features of some rows.

    Numbers, times and ordered categories give their rank and its square, categories
    a flag for each of the ten most frequent ones, every column with holes an indicator.
    Of wide tables, the 200 columns with the fewest holes are taken. Missing values
    stand at the mean of each feature, so that a linear model cannot read them as holes.
    """
    observed = reading.observed[rows]
    by_holes = np.argsort((~observed).sum(axis=0), kind="stable")[:MOST_COLUMNS]
    found: list[np.ndarray] = []
    origin: list[tuple[int, bool]] = []
    for k in sorted(by_holes):
        there = observed[:, k]
        for values in _values(reading, rows, k) if there.any() else ():
            found.append(_standardised(values, there))
            origin.append((k, False))
        if not there.all():
            found.append(_standardised((~there).astype(float), np.ones_like(there)))
            origin.append((k, True))
    x = np.column_stack(found) if found else np.zeros((len(rows), 0))
    return Features(
        x=x,
        column=np.array([k for k, _ in origin], dtype=int),
        is_indicator=np.array([flag for _, flag in origin], dtype=bool),
    )


def _values(reading: Reading, rows: np.ndarray, k: int) -> list[np.ndarray]:
    """Return what the values of column ``k`` say, one array a feature."""
    role = reading.tells(k)
    if role is None:
        return []
    data = reading.table.column(k)
    if role != "category":
        numbers = data.numbers[rows]
    elif reading.kind(k) == "ordinal":
        levels = codes_of(reading.schema[k].categories or (), data)[rows]
        numbers = np.where(levels < 0, np.nan, levels)
    else:
        codes = reading.codes[rows, k]
        sizes = np.bincount(codes[codes >= 0])
        top = np.argsort(-sizes, kind="stable")[:MOST_CATEGORIES]
        # A flag for a row or two says nothing.
        return [(codes == c).astype(float) for c in top if sizes[c] >= 5]
    there = ~np.isnan(numbers)
    rank = np.zeros(len(rows))
    rank[there] = stats.rankdata(numbers[there]) / there.sum() - 0.5
    return [rank, rank**2]


def _standardised(values: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Scale to mean 0 and variance 1 over observed cells, 0 in the others."""
    seen = values[there]
    spread = seen.std()
    scaled = np.zeros(len(values))
    if spread > 0:
        scaled[there] = (seen - seen.mean()) / spread
    return scaled
