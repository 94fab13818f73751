"""Mean ranks over pairs of dataset and mechanism, and which of them differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from macfm.bench.report._statistics import ALPHA


@dataclass(frozen=True)
class Ranking:
    """The ranks of some methods and what tells them apart."""

    #: 1 for the least error, of shape (n_pairs, n_methods), best method first.
    ranks: pd.DataFrame
    #: Methods differ if their mean ranks are so far apart.
    distance: float
    #: Of Friedman's test that no method differs from another; None for two methods.
    p: float | None

    @property
    def means(self) -> pd.Series:
        """The mean rank of each method, in rising order."""
        return self.ranks.mean()

    @property
    def groups(self) -> list[tuple[int, int]]:
        """First and last place of the methods that do not differ from each other."""
        return groups_within(self.means.to_list(), self.distance)


def comparable(present: pd.DataFrame) -> tuple[list[str], pd.Index]:
    """Choose methods, and the cells that all of them have.

    Methods come one by one, each time the one that leaves the most pairs in common;
    those are kept that make n_methods² × n_pairs largest. So all give up a pair of
    fifteen for a method that lacks it, but not half of the pairs for one.

    Parameters
    ----------
    present : DataFrame of bool, shape (n_cells, n_methods)
        Whether a method has a result. A cell without its level ``mask`` is a pair.

    Returns
    -------
    methods : list of str
        In the order of the columns; empty if no two methods share a cell.
    cells : Index
        What these methods share.
    """

    def shared(methods: Sequence[str]) -> pd.Index:
        return present.index[present[list(methods)].all(axis=1)]

    def n_pairs(methods: Sequence[str]) -> int:
        return len(shared(methods).droplevel("mask").unique())

    chosen: list[str] = []
    best, most = chosen, 0
    for _ in present.columns:
        left = present.columns.drop(chosen)
        counts = {method: n_pairs([*chosen, method]) for method in left}
        chosen = [*chosen, max(counts, key=counts.__getitem__)]
        worth = len(chosen) ** 2 * counts[chosen[-1]]
        if len(chosen) > 1 and worth > most:
            best, most = chosen, worth
    methods = [method for method in present.columns if method in best]
    return methods, shared(methods) if methods else present.index[:0]


def rank_pairs(scores: pd.DataFrame) -> Ranking:
    """Rank methods by their mean error over the masks of each pair.

    `scores`, of shape (n_cells, n_methods), are complete and have a level ``mask``.
    """
    from scipy.stats import friedmanchisquare

    pairs = [name for name in scores.index.names if name != "mask"]
    ranks = scores.groupby(level=pairs).mean().rank(axis=1)
    ranks = ranks[ranks.mean().sort_values(kind="stable").index]
    n_pairs, n_methods = ranks.shape
    p = None
    if n_methods > 2:
        p = float(friedmanchisquare(*ranks.to_numpy().T).pvalue)
    return Ranking(ranks, critical_difference(n_methods, n_pairs), p)


def critical_difference(n_methods: int, n_pairs: int) -> float:
    """Return how far apart two mean ranks must be to differ, by Nemenyi's test.

    Notes
    -----
    q √(k (k + 1) / 6 N) for k methods and N pairs, q the quantile of the studentized
    range of k means over √2.

    Examples
    --------
    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    from scipy.stats import studentized_range

    q = studentized_range.ppf(1 - ALPHA, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_pairs)))


def groups_within(means: Sequence[float], distance: float) -> list[tuple[int, int]]:
    """Return first and last place of the longest runs that span less than a distance.

    `means` rise; a run of one is none.

    Examples
    --------
    >>> groups_within([1.0, 1.5, 2.2, 5.0], 1.0)
    [(0, 1), (1, 2)]
    """
    runs: list[tuple[int, int]] = []
    for first, low in enumerate(means):
        last = sum(mean < low + distance for mean in means) - 1
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs
