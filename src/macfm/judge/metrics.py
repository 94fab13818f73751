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
    "Law",
    "Scale",
    "coverage",
    "crps",
    "draw_scores",
    "energy_distance",
    "illegal_scores",
    "is_numeric",
    "log_loss",
    "point_scores",
    "spread_ratio",
]

# The share a probability is raised to before its logarithm is taken.
_LEAST_PROBABILITY = 1e-6
# Rows the energy distance looks at: it compares all pairs.
_ENERGY_ROWS = 2000
# What a filled number may differ from a legal one by rounding.
_ROUNDING = 1e-6


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


class Law(NamedTuple):
    """What every observed training value of a column of numbers keeps to.

    Examples
    --------
    >>> import numpy as np
    >>> law = Law.of(np.array([0.0, 3.0, 5.0]))
    >>> law.broken(np.array([4.0, 2.5, -1.0, 7.0])).tolist()
    [False, True, True, False]
    >>> Law.of(np.array([1.0, 2.0, 2.0])).broken(np.array([1.0, 3.0])).tolist()
    [False, True]
    """

    #: The two values there are, or None if there are others.
    pair: tuple[float, ...] | None
    #: Whether all are whole numbers.
    whole: bool
    #: 0 if none is negative.
    low: float
    #: 1 if all lie between 0 and 1.
    high: float

    @classmethod
    def of(cls, observed: np.ndarray) -> Law:
        """Return the law of a column's observed values, shape (n_cells,)."""
        known = np.unique(observed)
        if len(known) in (1, 2):
            return cls(tuple(known.tolist()), False, -np.inf, np.inf)
        low = 0.0 if np.all(known >= 0) else -np.inf
        high = 1.0 if low == 0 and np.all(known <= 1) else np.inf
        return cls(None, bool(np.all(known == np.round(known))), low, high)

    def broken(self, values: np.ndarray, *, fractions: bool = True) -> np.ndarray:
        """Flag the values that break it; fractions among whole numbers if asked for."""
        if self.pair is not None:
            gap = np.abs(values[:, None] - np.array(self.pair)).min(axis=1)
            return gap > _ROUNDING
        outside = (values < self.low - _ROUNDING) | (values > self.high + _ROUNDING)
        if not (self.whole and fractions):
            return outside
        return outside | (np.abs(values - np.round(values)) > _ROUNDING)


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


def illegal_scores(
    filled: pd.DataFrame, table: pd.DataFrame, train: pd.DataFrame
) -> dict[str, Any]:
    """Return how many filled numbers no observed training value allows.

    Parameters
    ----------
    filled : DataFrame
        The completed table.
    table : DataFrame
        The same with its holes: all that is missing there was filled.
    train : DataFrame
        The training rows with their holes.

    Returns
    -------
    scores : dict
        `n_illegal`, and `illegal`, their share of the filled numeric cells;
        `illegal_range` is the share without those that are fractions in a column of
        whole numbers, as means of counts are. None if no number was filled.

    Notes
    -----
    A column whose observed training values are all >= 0 takes no negative value, one
    within [0, 1] none above 1, one of whole numbers no fraction, and one of one or two
    values no other. Category columns cannot be illegal.
    """
    n_filled = n_illegal = n_range = 0
    for name in train:
        holes = table[name].isna().to_numpy()
        if not is_numeric(train[name]) or not holes.any():
            continue
        law = Law.of(train[name].dropna().to_numpy())
        values = filled[name].to_numpy(dtype=float)[holes]
        n_filled += len(values)
        n_illegal += int(law.broken(values).sum())
        n_range += int(law.broken(values, fractions=False).sum())
    if not n_filled:
        return {"n_illegal": 0, "illegal": None, "illegal_range": None}
    return {
        "n_illegal": n_illegal,
        "illegal": n_illegal / n_filled,
        "illegal_range": n_range / n_filled,
    }


def draw_scores(
    draws: Sequence[pd.DataFrame],
    truth: pd.DataFrame,
    hidden: pd.DataFrame,
    scale: Scale,
) -> dict[str, Any]:
    """Return CRPS, coverage, spread and energy distance of several draws.

    Parameters
    ----------
    draws : sequence of DataFrame
        Plausible completed tables, at least two.
    truth, hidden, scale
        As in `point_scores`.

    Returns
    -------
    scores : dict
        `crps`, `coverage_90`, `spread_ratio` pooled over cells, `energy` over rows, and
        the second and third `_by_column`; None where there is nothing to score.
    """
    flags = hidden[scale.columns].to_numpy(dtype=bool)
    names = ("crps", "coverage_90", "spread_ratio", "energy")
    by_column: dict[str, dict[str, float]] = {
        "coverage_90_by_column": {},
        "spread_ratio_by_column": {},
    }
    if not flags.any():
        return dict.fromkeys(names) | by_column
    values = np.stack([scale.apply(draw) for draw in draws])
    target = scale.apply(truth)
    pooled, wanted = values[:, flags], target[flags]
    scores = {
        "crps": float(crps(pooled, wanted).mean()),
        "coverage_90": coverage(pooled, wanted),
        "spread_ratio": spread_ratio(pooled, wanted),
        "energy": energy_distance(values[0], target),
    }
    for j in np.flatnonzero(flags.any(axis=0)):
        cells, wanted = values[:, flags[:, j], j], target[flags[:, j], j]
        name = scale.columns[j]
        by_column["coverage_90_by_column"][name] = coverage(cells, wanted)
        by_column["spread_ratio_by_column"][name] = spread_ratio(cells, wanted)
    return scores | by_column


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
    >>> from macfm.judge.metrics import crps
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


def spread_ratio(draws: np.ndarray, truth: np.ndarray) -> float:
    """Return the spread of the draws over that of their errors: 1 if calibrated.

    Parameters
    ----------
    draws : ndarray of shape (n_draws, n_cells)
        Draws of each cell, at least two.
    truth : ndarray of shape (n_cells,)
        What was hidden.

    Notes
    -----
    √((1 + 1/n) mean s² / mean e²), with s² the variance of a cell's n draws and e the
    error of their mean: if draws and truth follow one law, both means are equal in
    expectation. Less than 1 is overconfident. NaN if no cell has an error.
    """
    n = len(draws)
    spread = draws.var(axis=0, ddof=1).mean() * (1 + 1 / n)
    error = np.mean((draws.mean(axis=0) - truth) ** 2)
    return float(np.sqrt(spread / error)) if error > 0 else float("nan")


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
