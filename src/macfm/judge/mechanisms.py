"""Mechanisms of missing data: which cells of a complete table to hide.

Every mechanism takes a table, a rate and a seed, and returns one flag a cell: True
where the cell is to be hidden. Cells that are missing already are never hidden, since
nothing could be compared with them, and inform nothing: as a driver they count as
average.

>>> import numpy as np
>>> from macfm.judge import mechanisms
>>> table = np.random.default_rng(0).normal(size=(1000, 5))
>>> hidden = mechanisms.mar(table, 0.3, seed=1)
>>> incomplete = np.where(hidden, np.nan, table)
>>> rate, by_column = mechanisms.realised_rate(table, hidden)
>>> bool(0.2 < rate < 0.4)
True
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from macfm._errors import ParameterError
from macfm.judge._cells import (
    Seed,
    Table,
    check_driven,
    check_rate,
    like_table,
    observed_cells,
    offset,
    values,
)
from macfm.judge._structural import block, mixture, skip

__all__ = [
    "MECHANISMS",
    "STRUCTURAL",
    "block",
    "hide",
    "mar",
    "mcar",
    "mixture",
    "mnar",
    "mnar_quantile",
    "mnar_self",
    "realised_rate",
    "skip",
]


def mcar(table: Table, rate: float, *, seed: Seed) -> Table:
    """Hide each cell with the same probability, whatever the table holds.

    Parameters
    ----------
    table : DataFrame or array of shape (n_samples, n_features)
        The table; only its shape and its missing cells matter.
    rate : float
        Probability of hiding a cell, in (0, 1).
    seed : int, sequence of ints or Generator
        Seed of the mask.

    Returns
    -------
    hidden : DataFrame or array of bool, (n_samples, n_features)
        True where the cell is to be hidden.
    """
    observed, rng = observed_cells(table), np.random.default_rng(seed)
    check_rate(rate, 1.0, "MCAR")
    return like_table(table, (rng.random(observed.shape) < rate) & observed)


def mar(
    table: Table,
    rate: float,
    *,
    seed: Seed,
    n_counted: int | None = None,
    raw_drivers: bool = False,
) -> Table:
    """Hide cells depending on columns that stay observed.

    Some columns, the drivers, are not hidden at all; every other column j is hidden
    with probability σ(wⱼᵀz + bⱼ), z being the drivers.

    Parameters
    ----------
    table : DataFrame or array of shape (n_samples, n_features)
        The table. Text columns drive by the position of their category in sorted order.
    rate : float
        Rate p over the whole table; the columns that are hidden get p / (1 - q).
    seed : int, sequence of ints or Generator
        Seed of the drivers, their weights and the cells.
    n_counted : int, default=None
        Columns d of which q d are drivers; None counts those of the table. The
        benchmark counts the target, which is not in the table, as the original does.
    raw_drivers : bool, default=False
        Take the drivers as they are instead of standardised, as the original does; a
        column of large numbers then drives alone.

    Returns
    -------
    hidden : DataFrame or array of bool, (n_samples, n_features)
        True where the cell is to be hidden.

    Notes
    -----
    q = 0.3 for rates up to 0.3, else 0.1; max(⌊q d⌋, 1) columns are drivers. wⱼ is
    normal, rescaled so that wⱼᵀz has unit standard deviation; bⱼ makes the mean
    probability what it should be.
    """
    observed, rng = observed_cells(table), np.random.default_rng(seed)
    q = _driver_share(rate)
    check_rate(rate, 1 - q, "MAR")
    setup = _drivers(table, q, rng, n_counted, raw_drivers)
    hidden = np.zeros(observed.shape, dtype=bool)
    for j in setup.driven:
        probability = _logistic(setup.z, rate / (1 - q), rng)
        hidden[:, j] = rng.random(len(observed)) < probability
    return like_table(table, hidden & observed)


def mnar(
    table: Table,
    rate: float,
    *,
    seed: Seed,
    n_counted: int | None = None,
    raw_drivers: bool = False,
) -> Table:
    """Hide cells depending on columns that are then hidden in part themselves.

    As `mar`, but every driven column is hidden at `rate`, and the drivers lose cells
    completely at random at the same rate, so that what drove a hole may be unknown.

    Parameters
    ----------
    table, rate, seed, n_counted, raw_drivers
        As in `mar`, as is what comes back.
    """
    observed, rng = observed_cells(table), np.random.default_rng(seed)
    check_rate(rate, 1.0, "MNAR")
    setup = _drivers(table, _driver_share(rate), rng, n_counted, raw_drivers)
    hidden = np.zeros(observed.shape, dtype=bool)
    for j in setup.driven:
        hidden[:, j] = rng.random(len(observed)) < _logistic(setup.z, rate, rng)
    for j in setup.driving:
        hidden[:, j] = rng.random(len(observed)) < rate
    return like_table(table, hidden & observed)


def mnar_self(table: Table, rate: float, *, seed: Seed) -> Table:
    """Hide a cell depending on its own value: σ(wⱼ xⱼ + bⱼ), of either sign.

    Parameters
    ----------
    table, rate, seed
        As in `mar`, as is what comes back; every column is hidden at `rate`.
    """
    observed, rng = observed_cells(table), np.random.default_rng(seed)
    check_rate(rate, 1.0, "MNAR self-masking")
    x = values(table, raw=False)
    hidden = np.zeros(observed.shape, dtype=bool)
    for j in range(x.shape[1]):
        hidden[:, j] = rng.random(len(x)) < _logistic(x[:, [j]], rate, rng)
    return like_table(table, hidden & observed)


def mnar_quantile(table: Table, rate: float, *, seed: Seed) -> Table:
    """Hide cells in the upper or the lower tail of their column.

    Each column loses cells at one end only, as when an instrument saturates or a low
    reading is not reported. Three in four cells of the tail are hidden, none beyond it;
    the tail is as long as the rate needs, up to the whole column.

    Parameters
    ----------
    table, rate, seed
        As in `mar`, as is what comes back; every column is hidden at `rate`.
    """
    observed, rng = observed_cells(table), np.random.default_rng(seed)
    check_rate(rate, 1.0, "MNAR quantile")
    x = values(table, raw=True)
    tail = min(1.0, rate / 0.75)
    hidden = np.zeros(observed.shape, dtype=bool)
    for j in range(x.shape[1]):
        rows = np.flatnonzero(observed[:, j])
        side = rng.choice([-1.0, 1.0])
        # Ties fall to either side of the quantile by lot, so the rate is kept.
        order = rows[np.lexsort((rng.random(len(rows)), side * x[rows, j]))]
        within = order[len(order) - round(tail * len(order)) :]
        hidden[within, j] = rng.random(len(within)) < rate / tail
    return like_table(table, hidden)


#: Mechanisms by the names that specs and records use.
MECHANISMS: dict[str, Callable[..., Table]] = {
    "mcar": mcar,
    "mar": mar,
    "mnar": mnar,
    "mnar-self": mnar_self,
    "mnar-quantile": mnar_quantile,
    "skip": skip,
    "block": block,
    "mixture": mixture,
}
#: Those whose holes follow rules. The benchmark hides the whole table by one set of
#: rules before it splits the rows, as a questionnaire has one set for all.
STRUCTURAL = ("skip", "block", "mixture")


def hide(
    table: Table,
    mechanism: str,
    rate: float,
    *,
    seed: Seed,
    n_counted: int | None = None,
    raw_drivers: bool = False,
) -> Table:
    """Hide cells by the mechanism of that name.

    Parameters
    ----------
    table : DataFrame or array of shape (n_samples, n_features)
        The table.
    mechanism : {"mcar", "mar", "mnar", "mnar-self", "mnar-quantile", "skip", \
            "block", "mixture"}
        Name of the mechanism.
    rate : float
        Share of the cells to hide.
    seed : int, sequence of ints or Generator
        Seed of the mask.
    n_counted, raw_drivers
        As in `mar`; of no effect on a mechanism without driver columns.

    Returns
    -------
    hidden : DataFrame or array of bool, (n_samples, n_features)
        True where the cell is to be hidden.
    """
    if mechanism not in MECHANISMS:
        known = ", ".join(MECHANISMS)
        raise ParameterError(
            f"no mechanism {mechanism!r}; there are: {known}", parameter="mechanism"
        )
    options = {"n_counted": n_counted, "raw_drivers": raw_drivers}
    driven = mechanism in ("mar", "mnar")
    function = MECHANISMS[mechanism]
    return function(table, rate, seed=seed, **(options if driven else {}))


def realised_rate(table: Table, hidden: Table) -> tuple[float, np.ndarray]:
    """Return the share of observed cells that are hidden, overall and by column.

    Parameters
    ----------
    table : DataFrame or array of shape (n_samples, n_features)
        The table before hiding.
    hidden : DataFrame or array of bool, (n_samples, n_features)
        What a mechanism returned.

    Returns
    -------
    overall : float
        Share over all cells that were observed.
    by_column : ndarray of shape (n_features,)
        Share in each column; NaN where a column has no observed cell.
    """
    observed = observed_cells(table)
    flags = np.asarray(hidden, dtype=bool) & observed
    n_observed = observed.sum(axis=0)
    by_column = np.full(observed.shape[1], np.nan)
    np.divide(flags.sum(axis=0), n_observed, out=by_column, where=n_observed > 0)
    return float(flags.sum() / max(int(observed.sum()), 1)), by_column


class _Drivers(NamedTuple):
    """Columns that drive, columns that are driven, and the values of the former."""

    driving: np.ndarray
    driven: np.ndarray
    z: np.ndarray


def _driver_share(rate: float) -> float:
    """Share q of the columns that drive."""
    return 0.3 if rate <= 0.3 else 0.1


def _drivers(
    table: Table,
    q: float,
    rng: np.random.Generator,
    n_counted: int | None,
    raw: bool,
) -> _Drivers:
    """Choose the columns that drive; at least one column is left to be driven."""
    x = values(table, raw=raw)
    n_features = x.shape[1]
    check_driven(n_features)
    # ⌊q d⌋ for the decimal q: in binary 0.3 * d may fall just short of an integer.
    wanted = int(q * (n_counted or n_features) + 1e-9)
    order = rng.permutation(n_features)
    n_driving = min(max(wanted, 1), n_features - 1)
    driving, driven = np.sort(order[:n_driving]), np.sort(order[n_driving:])
    return _Drivers(driving, driven, x[:, driving])


def _logistic(z: np.ndarray, mean: float, rng: np.random.Generator) -> np.ndarray:
    """σ(wᵀz + b) for each row, w drawn, b such that the mean is `mean`."""
    score = z @ rng.standard_normal(z.shape[1])
    spread = score.std()
    if spread > 0:
        score = (score - score.mean()) / spread
    return expit(score + offset(score, mean))
