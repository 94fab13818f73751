"""Little's test of numbers missing completely at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special, stats

from macfm._plain import plain
from macfm.profile._reading import Reading, read

LEAST_ROWS, MOST_COLUMNS = 30, 60
WORK = 5e7  # patterns times columns cubed that one step of EM may cost


@dataclass(frozen=True)
class LittleTest:
    """Outcome of Little's test.

    Attributes
    ----------
    statistic, p_value : float or None
        Little's d² and the probability of a larger one under MCAR; None if the test
        does not apply.
    df : int or None
        Its degrees of freedom.
    n_patterns, n_rows : int
        Missing patterns and rows it rests on.
    columns : tuple of column names
        The numeric columns it rests on.
    normal_scores : bool
        Whether the columns were mapped to normal scores first.
    reason : str or None
        Why it does not apply.
    """

    statistic: float | None
    df: int | None
    p_value: float | None
    n_patterns: int
    n_rows: int
    columns: tuple[str | int, ...]
    normal_scores: bool
    reason: str | None = None

    @property
    def numbers(self) -> str:
        """Its statistic, degrees of freedom and p-value, where it applies."""
        assert self.p_value is not None, "the test does not apply"
        p = "p < 0.001" if self.p_value < 0.001 else f"p = {self.p_value:.3f}"
        return f"χ² = {self.statistic:.1f}, df = {self.df}, {p}"

    def sentence(self, *, level: float = 0.05) -> str:
        """Say what came out, and what it does not say."""
        if self.p_value is None:
            return f"Little's test does not apply: {self.reason}."
        found = f"Little's test ({self.numbers})"
        if self.p_value < level:
            return (
                f"{found} speaks against numbers missing completely at random (MCAR): "
                "rows with holes differ from those without."
            )
        return (
            f"{found} finds no evidence against numbers missing completely at random "
            "(MCAR), which does not prove that they are."
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return plain(self) | {"sentence": self.sentence()}


def little_test(
    frame: Any, *, normal_scores: bool = True, max_rows: int = 5000, seed: int = 0
) -> LittleTest:
    """Test whether the numeric columns are missing completely at random (MCAR).

    Compares the means of each missing pattern with the maximum likelihood means of
    all rows.

    Parameters
    ----------
    frame : DataFrame (pandas or polars), pyarrow Table or float array
        The table; columns other than numbers are left out.
    normal_scores : bool, default=True
        Map each column to normal scores first. MCAR does not depend on the scale, and
        the test needs normal columns wherever patterns are rare. False gives the
        published statistic.
    max_rows : int, default=5000
        Larger tables are sampled.
    seed : int, default=0
        Seed of the sample.

    Returns
    -------
    LittleTest

    Notes
    -----
    d² = Σ_p n_p (ȳ_p - μ_p)ᵀ Σ_p⁻¹ (ȳ_p - μ_p) over the patterns p, where μ and Σ are
    the EM estimates under a normal law, Σ scaled by n / (n - 1), and restricted to the
    columns observed in p; its degrees of freedom are the observed columns summed over
    patterns, less the number of columns (Little, 1988, J. Am. Stat. Assoc. 83).

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(500, 2))
    >>> x[x[:, 0] > 0.5, 1] = np.nan  # missing where the other column is large
    >>> little_test(x).p_value < 0.001
    True
    """
    return little_of(
        read(frame), normal_scores=normal_scores, max_rows=max_rows, seed=seed
    )


def little_of(
    reading: Reading, *, normal_scores: bool, max_rows: int, seed: int
) -> LittleTest:
    """Run the test on a table that is already read."""
    columns = [j for j in range(len(reading.schema)) if reading.tells(j) == "number"]
    names = tuple(reading.names[j] for j in columns)

    def refuse(reason: str) -> LittleTest:
        return LittleTest(
            statistic=None,
            df=None,
            p_value=None,
            n_patterns=0,
            n_rows=0,
            columns=names,
            normal_scores=normal_scores,
            reason=reason,
        )

    if len(columns) < 2:
        return refuse("it needs at least two numeric columns that vary")
    if len(columns) > MOST_COLUMNS:
        return refuse(f"it is for at most {MOST_COLUMNS} numeric columns")
    y = np.column_stack([reading.table.column(j).numbers for j in columns])
    y = y[~np.isnan(y).all(axis=1)]
    if not np.isnan(y).any():
        return refuse("no number is missing")
    n_rows = min(len(y), max_rows, int(WORK / len(columns) ** 3))
    if n_rows < len(y):
        y = y[np.random.default_rng(seed).permutation(len(y))[:n_rows]]
    if n_rows < max(LEAST_ROWS, 3 * len(columns)):
        return refuse(f"{n_rows} rows are too few for {len(columns)} numeric columns")
    y = _normal_scores(y) if normal_scores else y
    spread = np.nanstd(y, axis=0)
    if (np.isnan(y).all(axis=0) | ~(spread > 0)).any():
        return refuse("a numeric column does not vary in the rows looked at")
    y = (y - np.nanmean(y, axis=0)) / spread
    patterns = _Patterns.of(y)
    if len(patterns.n_rows) < 2:
        return refuse("all rows have the same missing pattern")
    fit = _expectation_maximisation(patterns)
    if fit is None:
        return refuse(
            "the numeric columns determine each other, or too few rows have values in "
            "common"
        )
    mean, covariance = fit
    df = int(patterns.observed.sum()) - y.shape[1]
    covariance = covariance * len(y) / (len(y) - 1)
    gap = np.where(patterns.observed, patterns.means - mean, 0.0)
    precision = _precisions(covariance, patterns.observed)
    terms = np.einsum("pi,pij,pj->p", gap, precision, gap)
    statistic = float((patterns.n_rows * terms).sum())
    return LittleTest(
        statistic=statistic,
        df=df,
        p_value=float(stats.chi2.sf(statistic, df)),
        n_patterns=len(patterns.n_rows),
        n_rows=len(y),
        columns=names,
        normal_scores=normal_scores,
    )


@dataclass(frozen=True)
class _Patterns:
    """Sufficient statistics of each missing pattern."""

    #: The patterns; shape (n_patterns, d).
    observed: np.ndarray
    #: Rows of each; shape (n_patterns,).
    n_rows: np.ndarray
    #: Means of their rows, 0 where not observed; shape (n_patterns, d).
    means: np.ndarray
    #: Products of deviations from the pattern's own mean, summed over its rows; those
    #: of unobserved cells count 0; shape (n_patterns, d, d).
    scatter: np.ndarray

    @classmethod
    def of(cls, y: np.ndarray) -> _Patterns:
        """Group the rows of ``y``, shape (n_rows, d), by pattern."""
        seen = ~np.isnan(y)
        observed, group = np.unique(seen, axis=0, return_inverse=True)
        group = group.ravel()
        n_rows = np.bincount(group)
        filled = np.where(seen, y, 0.0)
        means = np.zeros(observed.shape)
        np.add.at(means, group, filled)
        means /= n_rows[:, None]
        deviation = filled - means[group]
        d = y.shape[1]
        scatter = np.zeros((len(observed), d, d))
        np.add.at(scatter, group, deviation[:, :, None] * deviation[:, None, :])
        return cls(observed, n_rows, means, scatter)


def _precisions(covariance: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Invert the observed block for each pattern, 0 outside; (n_patterns, d, d)."""
    block = observed[:, :, None] & observed[:, None, :]
    padded = np.where(block, covariance, np.eye(len(covariance)))
    return np.where(block, np.linalg.inv(padded), 0.0)


def _expectation_maximisation(
    patterns: _Patterns, *, n_iterations: int = 100, tolerance: float = 1e-5
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the maximum likelihood mean and covariance, None if there is none."""
    d = patterns.observed.shape[1]
    n = patterns.n_rows.sum()
    weight = patterns.n_rows / n
    observed = patterns.observed
    hidden = ~observed
    both = hidden[:, :, None] & hidden[:, None, :]
    mean, covariance = np.zeros(d), np.eye(d)
    for _ in range(n_iterations):
        precision = _precisions(covariance, observed)
        # regression of every column on the observed ones: identity where observed
        slope = np.where(
            hidden[:, :, None], covariance @ precision, np.eye(d) * observed[:, :, None]
        )
        gap = np.where(observed, patterns.means - mean, 0.0)
        expected = mean + np.einsum("pij,pj->pi", slope, gap)
        residual = np.where(both, covariance - slope @ covariance, 0.0)
        new_mean = weight @ expected
        centred = expected - new_mean
        new_covariance = (
            np.einsum("p,pi,pj->ij", weight, centred, centred)
            + np.einsum("p,pij->ij", weight, residual)
            + (slope @ patterns.scatter @ slope.transpose(0, 2, 1)).sum(axis=0) / n
        )
        moved = max(
            np.abs(new_mean - mean).max(), np.abs(new_covariance - covariance).max()
        )
        mean, covariance = new_mean, new_covariance
        if not np.isfinite(moved) or np.linalg.eigvalsh(covariance)[0] < 1e-6:
            return None
        if moved < tolerance:
            break
    return mean, covariance


def _normal_scores(y: np.ndarray) -> np.ndarray:
    """Map the observed values of each column to normal scores, ties to their middle."""
    ranks = stats.rankdata(y, axis=0, nan_policy="omit")
    return special.ndtri(ranks / ((~np.isnan(y)).sum(axis=0) + 1))
