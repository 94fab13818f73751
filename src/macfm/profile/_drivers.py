"""Which columns go with the holes of another, one at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from macfm._plain import plain
from macfm._words import percent
from macfm.profile._plain import number
from macfm.profile._reading import NUMBERS, TIMES, Reading

__all__ = ["Driver", "drivers_of", "holm"]

LEAST = 10  # cells on either side of a comparison


@dataclass(frozen=True)
class Driver:
    """A column that goes with the holes of another.

    Attributes
    ----------
    column : str or int
        Its name.
    through : {"values", "missingness"}
        Whether its values or its own holes go with them.
    effect : float
        Strength in [0, 1]: the rank-biserial correlation for numbers and times,
        Cramér's V for categories, the absolute phi coefficient for holes.
    p_value : float
        Of Mann and Whitney's test or the χ² test, after Holm's correction for all
        tests made for the same column.
    sentence : str
        How the rows differ, to follow “missing more often”.
    """

    column: str | int
    through: str
    effect: float
    p_value: float
    sentence: str

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return plain(self)


def drivers_of(reading: Reading, rows: np.ndarray, j: int) -> tuple[Driver, ...]:
    """Compare, column by column, the rows where ``j`` is missing with the others.

    Parameters
    ----------
    reading : Reading
        The table.
    rows : ndarray of int
        The rows to look at.
    j : int
        Position of the column whose holes are to be explained.

    Returns
    -------
    tuple of Driver
        Those with a corrected p-value below 0.05, the strongest first.
    """
    observed = reading.observed[rows]
    gone = ~observed[:, j]
    found = []
    for k, name in enumerate(reading.names):
        if k == j:
            continue
        there = observed[:, k]
        if min((~there).sum(), there.sum()) >= LEAST:
            found.append((name, "missingness", *_holes(gone, ~there, name)))
        if min((gone & there).sum(), (~gone & there).sum()) < LEAST:
            continue
        kind = "ignored" if k in reading.identifiers else reading.kind(k)
        if kind in NUMBERS + TIMES:
            values = reading.numbers(k)[rows][there]
            found.append((name, "values", *_numbers(gone[there], values, name, kind)))
        elif kind in ("categorical", "boolean", "ordinal"):
            values = reading.table.column(k).values[rows][there]
            codes = reading.codes[rows, k][there]
            result = _categories(gone[there], codes, values, name)
            if result is not None:
                found.append((name, "values", *result))
    corrected = holm(np.array([entry[3] for entry in found]))
    drivers = [
        Driver(name, through, float(effect), float(p), sentence)
        for (name, through, effect, _, sentence), p in zip(
            found, corrected, strict=True
        )
        if p < 0.05
    ]
    return tuple(sorted(drivers, key=lambda driver: -driver.effect))


def holm(p_values: np.ndarray) -> np.ndarray:
    """Correct p-values for their number by Holm's method.

    Examples
    --------
    >>> import numpy as np
    >>> holm(np.array([0.01, 0.04, 0.03])).round(2).tolist()
    [0.03, 0.06, 0.06]
    """
    m = len(p_values)
    order = np.argsort(p_values, kind="stable")
    stepped = np.maximum.accumulate(p_values[order] * np.arange(m, 0, -1))
    corrected = np.empty(m)
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected


def _holes(gone: np.ndarray, gone_too: np.ndarray, name: Any) -> tuple:
    """Return phi, its p-value and a sentence for two flags a row."""
    n = len(gone)
    p, q = gone.mean(), gone_too.mean()
    phi = ((gone & gone_too).mean() - p * q) / np.sqrt(p * (1 - p) * q * (1 - q))
    where = "missing too" if phi > 0 else "observed"
    side = gone_too if phi > 0 else ~gone_too
    return abs(phi), stats.chi2.sf(n * phi**2, 1), _rates(gone, side, name, where)


def _numbers(gone: np.ndarray, values: np.ndarray, name: Any, kind: str) -> tuple:
    """Return the rank-biserial correlation, its p-value and a sentence."""
    ranks = stats.rankdata(values)
    n, n_gone = len(gone), int(gone.sum())
    n_there = n - n_gone
    auc = (ranks[gone].sum() - n_gone * (n_gone + 1) / 2) / (n_gone * n_there)
    variance = ranks.var() / ((n - 1) * n_gone * n_there)  # ties included
    p = 2 * stats.norm.sf(abs(auc - 0.5) / np.sqrt(variance)) if variance else 1.0
    effect = abs(2 * auc - 1)
    if kind in TIMES:
        return effect, p, f"where {name!r} is {'late' if auc > 0.5 else 'early'}"
    size = "large" if auc > 0.5 else "small"
    left, right = np.median(values[gone]), np.median(values[~gone])
    if left == right:
        left, right = values[gone].mean(), values[~gone].mean()
        size, middle = ("large" if left > right else "small"), "mean"
    else:
        middle = "median"
    compared = f"{middle} {number(left)} against {number(right)}"
    return effect, p, f"where {name!r} is {size} ({compared})"


def _categories(
    gone: np.ndarray, codes: np.ndarray, values: np.ndarray, name: Any
) -> tuple | None:
    """Return Cramér's V, its p-value and a sentence; rare categories are merged."""
    present, codes = np.unique(codes, return_inverse=True)
    sizes = np.bincount(codes)
    common = np.flatnonzero(sizes >= LEAST)
    if len(common) == 0 or len(present) < 2:
        return None
    merged = np.full(len(sizes), len(common))
    merged[common] = np.arange(len(common))
    merged = merged[codes]
    n_groups = merged.max() + 1
    if n_groups < 2:
        return None
    counts = np.bincount(2 * merged + gone, minlength=2 * n_groups).reshape(-1, 2)
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / counts.sum()
    chi2 = ((counts - expected) ** 2 / expected).sum()
    # The category that stands out most: by its contribution to χ², missing more often.
    excess = (counts[:, 1] - expected[:, 1]) / np.sqrt(expected[:, 1])
    top = int(np.argmax(excess))
    side = merged == top
    value = "rare" if top == len(common) else repr(plain(values[side][0]))
    sentence = _rates(gone, side, name, value)
    return np.sqrt(chi2 / len(gone)), stats.chi2.sf(chi2, len(counts) - 1), sentence


def _rates(gone: np.ndarray, side: np.ndarray, name: Any, what: str) -> str:
    """Compare the missing rates of two groups of rows."""
    here, elsewhere = percent(gone[side].mean()), percent(gone[~side].mean())
    return f"where {name!r} is {what} ({here} against {elsewhere} elsewhere)"
