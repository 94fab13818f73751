"""Mechanisms whose holes follow rules: skip patterns, and questions not asked."""

from __future__ import annotations

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype, is_numeric_dtype
from scipy.special import expit, logit

from macfm.judge._cells import (
    Seed,
    Table,
    check_driven,
    check_rate,
    like_table,
    numbers,
    observed_cells,
    offset,
    values,
)

# A rule is kept in this share of the cells it speaks of, as far as the rate allows.
_KEPT = 0.95
# Of the rows that lose their gate, the share that loses the followers with it.
_WITH_GATE = 0.25
# Columns of a skip pattern, its gate included, and of a group that is asked together.
_PATTERN_WIDTH = 5
_GROUP_WIDTH = 4
_LEAST_GROUPS = 4


def skip(table: Table, rate: float, *, seed: Seed) -> Table:
    """Hide by skip patterns: questions that are put after certain answers only.

    Of each group of about five columns one, by lot, is the gate, the others are its
    followers: columns that are recorded where the gate says yes, as the age at
    diagnosis is of those who have the disease.

    Parameters
    ----------
    table : DataFrame or array of shape (n_samples, n_features)
        The table, of two columns or more.
    rate : float
        Probability p of hiding a cell, in (0, 1), the same for every column.
    seed : int, sequence of ints or Generator
        Seed of the patterns and the cells.

    Returns
    -------
    hidden : DataFrame or array of bool, (n_samples, n_features)
        True where the cell is to be hidden.

    Notes
    -----
    There are max(⌊d / 5⌋, 1) gates; the other columns are dealt out to them. Each gate
    says no in a share of the rows as near to r (below) as its values allow: on one side
    of a threshold for numbers, for some of its categories otherwise.

    1. A gate's cell is hidden with probability p, whatever it holds. In one of four of
       these rows, by lot, the whole pattern is skipped and its followers go with it.
    2. Elsewhere a follower j is hidden with probability σ(±2.9 + bⱼ), + where the gate
       says no and - where it says yes, that is 95 % and 5 % at bⱼ = 0. bⱼ makes the
       mean over the follower's observed cells r = (p - p/4) / (1 - p/4), and so the
       rate p. Where the source is missing the gate it is hidden with probability r.

    A rule without exceptions would leave nothing to learn a follower from where the
    gate says no: its hidden cells there, which a complete table lets us score, would be
    extrapolation for every imputer. Therefore the 5 %: what a regression on the
    recorded cells learns holds for the hidden ones too (MAR given the gate). In rows
    that lose their gate as well the holes tell something of it (MNAR): it
    rather says no where followers are missing. All hidden cells are scored.
    """
    observed, rng = observed_cells(table), np.random.default_rng(seed)
    check_rate(rate, 1.0, "skip")
    return like_table(table, _skip(table, rate, rng) & observed)


def block(table: Table, rate: float, *, seed: Seed) -> Table:
    """Hide groups of columns for the rows of a wave, as when they were not asked.

    Parameters
    ----------
    table, rate, seed
        As in `skip`, as is what comes back; every group of columns is hidden at `rate`.

    Notes
    -----
    One column, by lot, drives: rows are put in the order of its standardised value,
    average where it is missing, plus standard normal noise, of either sign, and the
    order is closed to a circle. The other columns are dealt out to K groups,
    K = max(⌊(d - 1) / 4⌋, 4) or d - 1 if that is fewer. Group k is not asked on an arc
    of the circle: arcs start evenly spaced after a first one by lot, and each is as
    long as it takes to hold a share p of the observed cells of its group. All cells of
    the group on the arc are hidden, no other. The driver loses cells with
    probability p, whatever it holds.

    Each row so lacks about p K groups, whole ones, and rows of one wave, between two
    ends of arcs, lack the same. The noise puts rows of any value of the driver into
    every wave, so that nothing has to be extrapolated (MAR given the driver).
    """
    observed, rng = observed_cells(table), np.random.default_rng(seed)
    check_rate(rate, 1.0, "block")
    return like_table(table, _block(table, rate, rng) & observed)


def mixture(table: Table, rate: float, *, seed: Seed) -> Table:
    """Hide one half of the cells by rules and the other half at random.

    Parameters
    ----------
    table, rate, seed
        As in `skip`, as is what comes back; every column is hidden at `rate`.

    Notes
    -----
    The columns are parted by lot into two halves. With r = 1 - √(1 - p), one half is
    hidden by `skip` at rate r and the other by `block` at rate r; then every cell is
    hidden with probability r, whatever the table holds, which makes 1 - (1 - r)² = p. A
    table of fewer than four columns has no halves and is hidden by `skip` in place of
    the two.
    """
    observed, rng = observed_cells(table), np.random.default_rng(seed)
    check_rate(rate, 1.0, "mixture")
    half = 1 - np.sqrt(1 - rate)
    order = rng.permutation(observed.shape[1])
    n_skip = len(order) // 2 if len(order) >= 4 else len(order)
    hidden = rng.random(observed.shape) < half
    for law, part in ((_skip, order[:n_skip]), (_block, order[n_skip:])):
        columns = np.sort(part)
        if len(columns):
            hidden[:, columns] |= law(_columns(table, columns), half, rng)
    return like_table(table, hidden & observed)


def _skip(table: Table, rate: float, rng: np.random.Generator) -> np.ndarray:
    """Flags of a table under skip patterns."""
    observed = observed_cells(table)
    n, d = observed.shape
    check_driven(d)
    order = rng.permutation(d)
    n_gates = max(d // _PATTERN_WIDTH, 1)
    together = rate * _WITH_GATE
    by_rule = (rate - together) / (1 - together)
    hidden = np.zeros((n, d), dtype=bool)
    for k, gate in enumerate(order[:n_gates]):
        hidden[:, gate] = rng.random(n) < rate
        skipped = hidden[:, gate] & (rng.random(n) < _WITH_GATE)
        answer = _answer(_columns(table, [gate]), by_rule, rng)
        for j in order[n_gates + k :: n_gates]:
            shown = observed[:, j]
            chance = _rule(answer, by_rule, shown)
            hidden[:, j] = skipped | (rng.random(n) < chance)
    return hidden


def _answer(gate: Table, share: float, rng: np.random.Generator) -> np.ndarray:
    """What a gate says in each row: 1 for no, -1 for yes, 0 where it is missing.

    It says no in about a `share` of the rows, in some and not in all if it has two
    values at least.
    """
    column = gate.iloc[:, 0] if isinstance(gate, pd.DataFrame) else gate[:, 0]
    x = numbers(pd.Series(column))
    known = ~np.isnan(x)
    levels, place, counts = np.unique(x[known], return_inverse=True, return_counts=True)
    if not len(levels):
        return np.zeros(len(x))
    parts = counts / counts.sum()
    ranked = is_numeric_dtype(column) or is_datetime64_any_dtype(column)
    ranked = ranked and not is_bool_dtype(column)
    chosen = _tail(parts, share, rng) if ranked else _some(parts, share, rng)
    answer = np.zeros(len(x))
    answer[known] = np.where(chosen[place], 1.0, -1.0)
    return answer


def _tail(parts: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Flags of the levels at one end whose total is next to `share`, by lot if equal.

    `parts` are the shares of the levels, in their order.
    """
    n = len(parts)
    tails = []
    for upper in rng.permutation([False, True]):
        total = np.cumsum(parts[::-1] if upper else parts)[: max(n - 1, 1)]
        cut = int(np.abs(total - share).argmin())
        flags = np.arange(n) <= cut
        tails.append((abs(total[cut] - share), flags[::-1] if upper else flags))
    (first, flags), (second, others) = tails
    # Ends that differ by a few rows are equal.
    return others if second < first - 0.02 else flags


def _some(parts: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Flags of some categories, but not all, whose total is near to `share`."""
    flags = np.zeros(len(parts), dtype=bool)
    order = rng.permutation(len(parts))
    for j in order:
        total = parts[flags].sum()
        flags[j] = abs(total + parts[j] - share) < abs(total - share)
    if not flags.any():
        flags[order[np.abs(parts[order] - share).argmin()]] = True
    if flags.all() and len(parts) > 1:
        flags[order[-1]] = False
    return flags


def _rule(answer: np.ndarray, mean: float, shown: np.ndarray) -> np.ndarray:
    """Probability that a rule hides a follower, of the given mean where it is shown."""
    score = logit(_KEPT) * answer
    counted = score[shown & (answer != 0)]
    if not len(counted):
        return np.full(len(answer), mean)
    return np.where(answer == 0, mean, expit(score + offset(counted, mean)))


def _block(table: Table, rate: float, rng: np.random.Generator) -> np.ndarray:
    """Flags of a table whose waves lack groups of columns."""
    observed = observed_cells(table)
    n, d = observed.shape
    check_driven(d)
    driver, *others = rng.permutation(d)
    hidden = np.zeros((n, d), dtype=bool)
    hidden[:, driver] = rng.random(n) < rate
    z = values(_columns(table, [driver]), raw=False)[:, 0]
    circle = np.argsort(rng.choice([-1.0, 1.0]) * z + rng.standard_normal(n))
    n_groups = min(max(len(others) // _GROUP_WIDTH, _LEAST_GROUPS), len(others))
    first = rng.random()
    for k in range(n_groups):
        group = np.array(others[k::n_groups])
        start = int((first + k / n_groups) % 1 * n)
        rows = np.roll(circle, -start)
        passed = np.cumsum(observed[rows][:, group].sum(axis=1))
        length = np.searchsorted(passed, rate * passed[-1]) if n else 0
        hidden[np.ix_(rows[:length], group)] = True
    return hidden


def _columns(table: Table, columns: np.ndarray | list[int]) -> Table:
    """Some columns of a table, in the order given."""
    if isinstance(table, pd.DataFrame):
        return table.iloc[:, columns]
    return np.asarray(table)[:, columns]
