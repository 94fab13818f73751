"""Which pairs of columns to look at, and which of their points."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import pandas as pd

from macfm.report._facts import Facts

MOST_PAIRS = 4
MOST_ROWS, MOST_COLUMNS = 2000, 60  # looked at to find related columns
MOST_POINTS = 500  # of observed points, and again of filled ones
MOST_CATEGORIES = 12
LEAST_POINTS = 5


def choose_pairs(facts: Facts) -> list[tuple[Hashable, Hashable]]:
    """Return pairs (x, y): a column with many filled numbers, and its closest."""
    targets = [
        name
        for name in facts.filled_columns
        if facts.is_number(name) and facts.n_filled[name] >= LEAST_POINTS
    ]
    if not targets:
        return []
    rng = np.random.default_rng(facts.seed)
    rows = np.arange(len(facts.before))
    if len(rows) > MOST_ROWS:
        rows = np.sort(rng.permutation(rows)[:MOST_ROWS])
    sample = facts.before.iloc[rows]
    numbers = [name for name in sample if facts.is_number(name)]
    others = [name for name in numbers if name not in targets]
    numbers = [*targets, *others][:MOST_COLUMNS]
    related = sample[numbers].rank().corr(min_periods=10).abs()
    # Points of a column of few distinct values lie on top of each other.
    coarse = [name for name in numbers if sample[name].nunique() <= MOST_CATEGORIES]
    related.loc[coarse] /= 3
    pairs: list[tuple[Hashable, Hashable]] = []
    for y in targets:
        x = _closest(related, y) or _grouping(facts, sample, y)
        if x is not None and (y, x) not in pairs and (x, y) not in pairs:
            pairs.append((x, y))
        if len(pairs) == MOST_PAIRS:
            break
    return pairs


def _closest(related: pd.DataFrame, y: Hashable) -> Hashable | None:
    """The number most correlated with ``y``, by ranks."""
    if y not in related:
        return None
    strength = related[y].drop(y).dropna()
    return strength.idxmax() if len(strength) else None


def _grouping(facts: Facts, sample: pd.DataFrame, y: Hashable) -> Hashable | None:
    """The category that tells most about ``y``."""
    ranks = sample[y].rank()
    best, chosen = -1.0, None
    for name in sample:
        if facts.is_number(name) or facts.column(name).width == 0:
            continue
        groups = ranks.groupby(sample[name])
        if not 2 <= groups.ngroups <= MOST_CATEGORIES:
            continue
        between = (groups.transform("mean") - ranks.mean()).pow(2).mean()
        if between > best:
            best, chosen = between, name
    return chosen


def choose_points(facts: Facts, x: Hashable, y: Hashable) -> np.ndarray:
    """Return rows to draw: some observed in both columns, some filled in either."""
    rng = np.random.default_rng(facts.seed)
    filled = facts.filled[[x, y]].any(axis=1).to_numpy()
    there = facts.completed[[x, y]].notna().all(axis=1).to_numpy()
    chosen = []
    for side in (there & ~filled, there & filled):
        rows = np.flatnonzero(side)
        if len(rows) > MOST_POINTS:
            rows = rng.permutation(rows)[:MOST_POINTS]
        chosen.append(rows)
    return np.sort(np.concatenate(chosen))
