"""Which columns go with the holes of another, one at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from macfm._plain import plain
from macfm._words import percent
from macfm.profile._plain import number
from macfm.profile._reading import Reading

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
        Of Mann and Whitney's test, the χ² test or, where few rows are expected,
        Fisher's; after Holm's correction for all tests made for the same column.
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

    Returns those with a corrected p-value below 0.05, the strongest first.
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
        role = reading.tells(k)
        if role in ("number", "time"):
            values = reading.table.column(k).numbers[rows][there]
            found.append((name, "values", *_numbers(gone[there], values, name, role)))
        elif role == "category":
            values = reading.table.column(k).values[rows][there]
            codes = reading.codes[rows, k][there]
            result = _categories(gone[there], codes, values, name)
            if result is not None:
                found.append((name, "values", *result))
    corrected = holm([entry[3] for entry in found])
    drivers = [
        Driver(name, through, float(effect), float(p), sentence)
        for (name, through, effect, _, sentence), p in zip(
            found, corrected, strict=True
        )
        if p < 0.05
    ]
    return tuple(sorted(drivers, key=lambda driver: -driver.effect))


def holm(p_values: ArrayLike) -> np.ndarray:
    """Correct p-values for their number by Holm's method.

    Parameters
    ----------
    p_values : array-like of shape (n_tests,)
        The p-values of the tests made together.

    Returns
    -------
    ndarray of shape (n_tests,)
        Each at least what it was, at most 1 and at most n_tests times it.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(2).tolist()
    [0.03, 0.06, 0.06]
    """
    p_values = np.asarray(p_values, dtype=float)
    m = len(p_values)
    order = np.argsort(p_values, kind="stable")
    stepped = np.maximum.accumulate(p_values[order] * np.arange(m, 0, -1))
    corrected = np.empty(m)
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected


def rank_test(gone: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Return the chance that a value of a flagged row is the larger, and a p-value.

    The chance is the area under the ROC curve, the p-value Mann and Whitney's.
    """
    test = stats.mannwhitneyu(
        values[gone], values[~gone], use_continuity=False, method="asymptotic"
    )
    auc = test.statistic / (gone.sum() * (~gone).sum())
    return float(auc), 1.0 if np.isnan(test.pvalue) else float(test.pvalue)


def _association(counts: np.ndarray) -> tuple[float, float] | None:
    """Return Cramér's V of a table of counts and its p-value.

    Where fewer than 5 rows are expected in a cell of a table of four, the p-value is
    Fisher's; where fewer than 1 are expected in a larger one there is no test.
    """
    test = stats.chi2_contingency(counts, correction=False)
    least, p = test.expected_freq.min(), test.pvalue
    if least < 5 and counts.shape == (2, 2):
        p = stats.fisher_exact(counts).pvalue
    elif least < 1:
        return None
    return float(np.sqrt(test.statistic / counts.sum())), float(p)


def _holes(gone: np.ndarray, gone_too: np.ndarray, name: Any) -> tuple:
    """Return phi, its p-value and a sentence for two flags a row."""
    counts = np.bincount(2 * gone_too + gone, minlength=4).reshape(2, 2)
    together = counts[1, 1] * counts[0, 0] > counts[1, 0] * counts[0, 1]
    where = "missing too" if together else "observed"
    side = gone_too if together else ~gone_too
    found = _association(counts)
    assert found is not None  # of four counts there is always a test
    return *found, _rates(gone, side, name, where)


def _numbers(gone: np.ndarray, values: np.ndarray, name: Any, role: str) -> tuple:
    """Return the rank-biserial correlation, its p-value and a sentence."""
    auc, p = rank_test(gone, values)
    effect = abs(2 * auc - 1)
    if role == "time":
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
    """Return Cramér's V, its p-value and a sentence, None if no test holds.

    Categories of fewer than 10 rows, or in which fewer than one row is expected to be
    missing or not to be, are merged, and left out where that is not enough.
    """
    _, codes = np.unique(codes, return_inverse=True)
    sizes = np.bincount(codes)
    share = min(gone.mean(), 1 - gone.mean())
    common = np.flatnonzero((sizes >= LEAST) & (sizes * share >= 1))
    merged = np.full(len(sizes), len(common))
    merged[common] = np.arange(len(common))
    merged = merged[codes]
    if (merged == len(common)).sum() * share < 1:  # too few even together
        kept = merged < len(common)
        gone, merged, values = gone[kept], merged[kept], values[kept]
    n_groups = merged.max(initial=-1) + 1
    if len(common) == 0 or n_groups < 2 or gone.all() or not gone.any():
        return None
    counts = np.bincount(2 * merged + gone, minlength=2 * n_groups).reshape(-1, 2)
    found = _association(counts)
    if found is None:
        return None
    # The category that stands out most: by its contribution to χ², missing more often.
    expected = counts.sum(axis=1) * gone.mean()
    top = int(np.argmax((counts[:, 1] - expected) / np.sqrt(expected)))
    side = merged == top
    value = "rare" if top == len(common) else repr(plain(values[side][0]))
    return *found, _rates(gone, side, name, value)


def _rates(gone: np.ndarray, side: np.ndarray, name: Any, what: str) -> str:
    """Compare the missing rates of two groups of rows."""
    here, elsewhere = percent(gone[side].mean()), percent(gone[~side].mean())
    return f"where {name!r} is {what} ({here} against {elsewhere} elsewhere)"
