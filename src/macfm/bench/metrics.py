"""Scores of completed tables against the truth, over hidden cells only.

Numbers are compared in units of the standard deviation of the observed training cells,
the same for every method and for the truth. Nothing here knows a dataset's name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

__all__ = [
    "Scale",
    "coverage",
    "crps",
    "draw_scores",
    "energy_distance",
    "is_numeric",
    "log_loss",
    "point_scores",
]

# The share a probability is raised to before its logarithm is taken.
_LEAST_PROBABILITY = 1e-6
# Rows the energy distance looks at: it compares all pairs.
_ENERGY_ROWS = 2000


class Scale(NamedTuple):
    """Center and spread of the numeric columns, from observed training cells.

    Columns without two different observed training values have no spread to measure an
    error in, and are left out.
    """

    center: pd.Series
    spread: pd.Series

    @classmethod
    def of(cls, train: pd.DataFrame) -> Scale:
        """Return the scale of a training table with its holes."""
        numeric = train[[name for name in train if is_numeric(train[name])]]
        center, spread = numeric.mean(), numeric.std(ddof=0)
        # Not spread > 0: rounding gives a constant column a spread of 1e-17.
        kept = spread.index[(numeric.nunique() > 1) & np.isfinite(spread)]
        return cls(center[kept], spread[kept])

    @property
    def columns(self) -> list[str]:
        """Numeric columns that can be scored."""
        return list(self.spread.index)

    def apply(self, table: pd.DataFrame) -> np.ndarray:
        """Return the numeric columns in standard units, (n_samples, n_numeric)."""
        return ((table[self.columns] - self.center) / self.spread).to_numpy(dtype=float)


def is_numeric(column: pd.Series) -> bool:
    """Whether a column of a benchmark table holds numbers."""
    return bool(pd.api.types.is_float_dtype(column))


def point_scores(
    filled: pd.DataFrame, truth: pd.DataFrame, hidden: pd.DataFrame, scale: Scale
) -> dict[str, Any]:
    """Return MAE and RMSE of hidden numbers, accuracy of hidden categories.

    Parameters
    ----------
    filled : DataFrame
        The completed table.
    truth : DataFrame
        The table before hiding.
    hidden : DataFrame of bool
        The cells to score.
    scale : Scale
        Units of the numeric columns.

    Returns
    -------
    scores : dict
        `mae`, `rmse`, `accuracy` pooled over cells, the same `_by_column`, and the
        means of the former two over columns; None where there is nothing to score.
    """
    miss = scale.apply(filled) - scale.apply(truth)
    flags = hidden[scale.columns].to_numpy(dtype=bool)
    columns = {
        name: miss[flags[:, j], j]
        for j, name in enumerate(scale.columns)
        if flags[:, j].any()
    }
    mae_by_column = {name: float(np.abs(e).mean()) for name, e in columns.items()}
    rmse_by_column = {name: _rms(e) for name, e in columns.items()}
    hits = {
        name: (filled[name] == truth[name]).to_numpy(dtype=bool)[hidden[name]]
        for name in truth
        if not is_numeric(truth[name]) and hidden[name].any()
    }
    pooled = miss[flags]
    return {
        "mae": float(np.abs(pooled).mean()) if len(pooled) else None,
        "rmse": _rms(pooled) if len(pooled) else None,
        "mae_column_mean": _mean(mae_by_column),
        "rmse_column_mean": _mean(rmse_by_column),
        "mae_by_column": mae_by_column,
        "rmse_by_column": rmse_by_column,
        "accuracy": float(np.concatenate(list(hits.values())).mean()) if hits else None,
        "accuracy_by_column": {name: float(hit.mean()) for name, hit in hits.items()},
    }


def draw_scores(
    draws: Sequence[pd.DataFrame],
    truth: pd.DataFrame,
    hidden: pd.DataFrame,
    scale: Scale,
) -> dict[str, float | None]:
    """Return CRPS, coverage of the 90 % range and energy distance of several draws.

    Parameters
    ----------
    draws : sequence of DataFrame
        Plausible completed tables, at least two.
    truth, hidden, scale
        As in `point_scores`.
    """
    flags = hidden[scale.columns].to_numpy(dtype=bool)
    if not flags.any():
        return {"crps": None, "coverage_90": None, "energy": None}
    values = np.stack([scale.apply(draw)[flags] for draw in draws])
    target = scale.apply(truth)
    return {
        "crps": float(crps(values, target[flags]).mean()),
        "coverage_90": coverage(values, target[flags]),
        "energy": energy_distance(scale.apply(draws[0]), target),
    }


def crps(draws: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return the continuous ranked probability score of each cell.

    Parameters
    ----------
    draws : ndarray of shape (n_draws, n_cells)
        Draws from the predictive distribution, at least two.
    truth : ndarray of shape (n_cells,)
        What was hidden.

    Notes
    -----
    E|X - y| - ½ E|X - X'|, with the unbiased estimate of the second term, so that the
    score does not depend on the number of draws in expectation. Lower is better; for a
    single certain value it would be the absolute error.

    Examples
    --------
    >>> import numpy as np
    >>> from macfm.bench.metrics import crps
    >>> crps(np.array([[1.0], [1.0]]), np.array([3.0]))
    array([2.])
    """
    n = len(draws)
    if n < 2:
        raise ValueError(f"CRPS needs at least two draws, got {n}")
    ordered = np.sort(draws, axis=0)
    # Σ_{i<j} (x_(j) - x_(i)) = Σ_k (2k - n - 1) x_(k), k counted from 1.
    weights = 2 * np.arange(1, n + 1) - n - 1
    pairs = (weights[:, None] * ordered).sum(axis=0) / (n * (n - 1))
    return np.abs(draws - truth).mean(axis=0) - pairs


def coverage(draws: np.ndarray, truth: np.ndarray, level: float = 0.9) -> float:
    """Return how often the central range of the draws holds the hidden value.

    With few draws a calibrated method stays below `level`, since they rarely reach into
    the tails: 0.82 for 20 draws at 0.9.
    """
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return float(np.mean((low <= truth) & (truth <= high)))


def energy_distance(x: np.ndarray, y: np.ndarray, *, seed: int = 0) -> float:
    """Return the energy distance 2 E|X - Y| - E|X - X'| - E|Y - Y'| between two tables.

    Parameters
    ----------
    x, y : ndarray of shape (n_samples, d)
        Rows; the same 2,000 of each are compared if there are more. Rows with a missing
        value are left out.
    seed : int
        Seed of that choice.
    """
    from scipy.spatial.distance import cdist

    kept = np.flatnonzero(np.isfinite(x).all(axis=1) & np.isfinite(y).all(axis=1))
    if len(kept) > _ENERGY_ROWS:
        kept = np.random.default_rng(seed).choice(kept, _ENERGY_ROWS, replace=False)
    x, y = x[kept], y[kept]
    if not len(kept):
        return float("nan")
    return float(2 * cdist(x, y).mean() - cdist(x, x).mean() - cdist(y, y).mean())


def log_loss(
    probabilities: Mapping[str, pd.DataFrame], truth: pd.DataFrame, hidden: pd.DataFrame
) -> float | None:
    """Return the mean negative log probability of the hidden categories.

    Parameters
    ----------
    probabilities : mapping of column to DataFrame
        One column a category, one row a row of the table.
    truth, hidden
        As in `point_scores`. A category without a probability gets the least one.
    """
    losses = []
    for name, table in probabilities.items():
        rows = hidden[name].to_numpy(dtype=bool)
        place = table.columns.get_indexer(truth[name][rows])
        chance = table.to_numpy(dtype=float)[rows, place]
        chance = np.where(place < 0, 0.0, chance)
        losses.append(-np.log(np.clip(chance, _LEAST_PROBABILITY, 1.0)))
    pooled = np.concatenate(losses) if losses else np.empty(0)
    return float(pooled.mean()) if len(pooled) else None


def _rms(errors: np.ndarray) -> float:
    """Root of the mean square."""
    return float(np.sqrt(np.mean(errors**2)))


def _mean(by_column: Mapping[str, float]) -> float | None:
    """Mean over columns, None if there are none."""
    return float(np.mean(list(by_column.values()))) if by_column else None
