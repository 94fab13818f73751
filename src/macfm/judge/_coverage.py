"""How often intervals hold the truth, how often they should, and where they do not."""

from __future__ import annotations

import numpy as np
import pandas as pd

LEVELS = (0.5, 0.8, 0.9)
LEAST_GAP = 0.05  # of coverage: less is not worth a name
RISK = 0.05  # of naming any column of a calibrated table


def expected_coverage(level: float, n_draws: int) -> float:
    """Return how often a calibrated sampler's central range holds the truth.

    Notes
    -----
    The truth and the draws are exchangeable, so that it lies below the k-th smallest of
    n draws with probability k / (n + 1). The range reaches from rank 1 + (n - 1) α to
    1 + (n - 1) (1 - α), α = (1 - level) / 2, which makes level (n - 1) / (n + 1).

    Examples
    --------
    >>> round(expected_coverage(0.9, 20), 3)
    0.814
    """
    return level * (n_draws - 1) / (n_draws + 1)


def held_by_rank(draws: np.ndarray, truth: np.ndarray, level: float) -> np.ndarray:
    """Return whether the central range of the draws holds each truth, ties in halves.

    `draws` has the shape (n_draws, n_cells), `truth` and what is returned (n_cells,): 0
    or 1, and in between where the truth lies at an end of the range.

    Notes
    -----
    Only ranks count. A truth that equals some draws takes every rank among them with
    the same probability; otherwise columns of few distinct values, whose intervals end
    on a value that many cells have, would always seem too wide.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.arange(21.0)[:, None].repeat(3, axis=1)
    >>> held_by_rank(draws, np.array([-1.0, 9.5, 21.0]), 0.9).tolist()
    [0.0, 1.0, 0.0]
    """
    n = len(draws)
    rank = np.arange(n + 1)  # draws below the truth
    end = 1 + (n - 1) * (1 - level) / 2
    above = np.clip(rank + 1 - end, 0, 1)
    held = above + above[::-1] - 1
    total = np.concatenate([[0.0], np.cumsum(held)])
    low, high = (draws < truth).sum(axis=0), (draws <= truth).sum(axis=0)
    return (total[high + 1] - total[low]) / (high + 1 - low)


def coverage_table(cells: list[pd.DataFrame], *, n_draws: int) -> pd.DataFrame:
    """Return the coverage over all columns, then column by column.

    `cells` has one row a hidden cell and level: ``column``, ``level``, ``held``. What
    is returned has ``column`` (None for all together), ``level``, ``n_cells``,
    ``coverage``, ``expected`` and ``off``: "narrow" or "wide" for a column whose
    coverage is further from the expected one than chance explains, else None.
    """
    names = ["column", "level", "n_cells", "coverage", "expected", "off"]
    if not cells:
        return pd.DataFrame(columns=names)
    table = pd.concat(cells, ignore_index=True)
    how = {"n_cells": ("held", "size"), "coverage": ("held", "mean")}
    whole = table.groupby("level").agg(**how).reset_index()
    each = table.groupby(["column", "level"], sort=False).agg(**how).reset_index()
    whole.insert(0, "column", pd.Series([None] * len(whole), dtype=object))
    each["column"] = each["column"].astype(object)
    n_columns = each["column"].nunique()
    both = pd.concat([whole, each], ignore_index=True)
    both["expected"] = [expected_coverage(level, n_draws) for level in both["level"]]
    off = [
        None
        if row.column is None
        else far_off(row.coverage, row.expected, row.n_cells, n_columns=n_columns)
        for row in both.itertuples()
    ]
    both["off"] = pd.Series(off, index=both.index, dtype=object)
    return both[names]


def far_off(
    coverage: float, expected: float, n_cells: int, *, n_columns: int
) -> str | None:
    """Return "narrow" or "wide" if chance does not explain a column's coverage.

    Notes
    -----
    A two-sided binomial test, its level divided by the number of columns, so that a
    calibrated table has one of its columns named in at most one of twenty cases. A gap
    of less than 5 points is not named however many cells show it.

    Examples
    --------
    >>> far_off(0.51, 0.81, 100, n_columns=10), far_off(0.7, 0.81, 10, n_columns=10)
    ('narrow', None)
    """
    from scipy.stats import binom

    n_held = coverage * n_cells  # ties are held in part: round towards the expected
    narrow = coverage < expected
    p = (
        binom.cdf(np.ceil(n_held - 1e-9), n_cells, expected)
        if narrow
        else binom.sf(np.floor(n_held + 1e-9) - 1, n_cells, expected)
    )
    if abs(coverage - expected) <= LEAST_GAP or 2 * p * n_columns >= RISK:
        return None
    return "narrow" if narrow else "wide"
