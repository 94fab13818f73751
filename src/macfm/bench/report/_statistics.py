"""Ranks, tests, and what counts as best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from macfm.profile import holm

#: A difference is called significant below this.
ALPHA = 0.05


@dataclass(frozen=True)
class Summary:
    """Mean and deviation over masks."""

    mean: float
    #: Standard deviation with n − 1, None for a single value.
    std: float | None
    n: int

    @property
    def standard_error(self) -> float:
        """Deviation over √n, zero where it cannot be known."""
        return 0.0 if self.std is None else self.std / math.sqrt(self.n)


def summary_of(values: Sequence[float] | np.ndarray) -> Summary | None:
    """Return the summary of the finite values, None if there are none."""
    finite = np.asarray(values, dtype=float)
    finite = finite[np.isfinite(finite)]
    if not finite.size:
        return None
    std = float(finite.std(ddof=1)) if finite.size > 1 else None
    return Summary(float(finite.mean()), std, int(finite.size))


def best_of(summaries: Mapping[str, Summary | None], *, higher: bool) -> set[str]:
    """Return the names of the best mean and of those within its standard error.

    Examples
    --------
    >>> rows = {"a": Summary(1.0, 0.2, 4), "b": Summary(1.1, 0.0, 4), "c": None}
    >>> sorted(best_of(rows, higher=False))
    ['a', 'b']
    """
    present = {name: s for name, s in summaries.items() if s is not None}
    if not present:
        return set()
    sign = -1 if higher else 1
    best = min(present.values(), key=lambda s: (sign * s.mean, s.standard_error))
    limit = sign * best.mean + best.standard_error
    return {name for name, s in present.items() if sign * s.mean <= limit}


def rank_cells(scores: pd.DataFrame, failed: pd.DataFrame) -> pd.DataFrame:
    """Rank the methods in each cell, 1 for the least error; (n_cells, n_methods).

    One that tried and failed shares the last ranks, one that was not tried has none.
    """
    return scores.mask(failed & scores.isna(), np.inf).rank(axis=1)


@dataclass(frozen=True)
class PairedTest:
    """A paired Wilcoxon signed-rank test of one method against the best-ranked."""

    method: str
    n_pairs: int
    #: Median over the pairs of its error minus the best-ranked one's.
    median_difference: float
    p: float
    p_holm: float


def best_ranked(ranks: pd.DataFrame) -> str | None:
    """Return the least average rank among methods with at least half the cells."""
    counts = ranks.notna().sum()
    enough = counts[counts * 2 >= counts.max()].index if len(counts) else []
    means = ranks[list(enough)].mean().dropna()
    return None if means.empty else str(means.idxmin())


def paired_tests(scores: pd.DataFrame, best: str) -> list[PairedTest]:
    """Test `best` against every other method over the cells they share.

    Two-sided; p-values are corrected after Holm for the number of methods compared.
    """
    found = []
    for method in scores.columns.drop(best):
        difference = (scores[method] - scores[best]).dropna().to_numpy()
        if difference.size:
            p = signed_rank(difference)
            found.append((method, difference.size, float(np.median(difference)), p))
    adjusted = holm(np.array([p for *_, p in found], dtype=float)).tolist()
    return [
        PairedTest(*row, p_holm) for row, p_holm in zip(found, adjusted, strict=True)
    ]


def signed_rank(difference: np.ndarray) -> float:
    """Return the two-sided p-value of Wilcoxon's test, zeros left out."""
    from scipy.stats import wilcoxon

    moved = difference[difference != 0]
    return float(wilcoxon(moved).pvalue) if moved.size else 1.0


def too_few_pairs(n_pairs: int, n_tests: int = 1) -> bool:
    """Whether even a unanimous result could not be significant.

    The least p-value of n pairs is 2 / 2ⁿ, and Holm multiplies the least of all by
    the number of tests.

    Examples
    --------
    >>> too_few_pairs(5), too_few_pairs(6), too_few_pairs(6, n_tests=13)
    (True, False, True)
    """
    return n_tests * 2.0 ** (1 - n_pairs) > ALPHA


def everywhere(scores: pd.DataFrame) -> pd.Series:
    """Say which methods have a score on every dataset that any method has.

    An average over the easier datasets alone would flatter a method. `scores`, of shape
    (n_cells, n_methods), has a level ``dataset`` in its index.
    """
    present = scores.notna().groupby(level="dataset").any()
    return present[present.any(axis=1)].all()
