"""How well the other columns tell where a column is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from macfm._plain import plain
from macfm.profile._drivers import Driver, drivers_of, holm, rank_test
from macfm.profile._features import Features, features_of
from macfm.profile._reading import Reading, read

LEAST = 10  # missing and observed cells a column needs
MOST_TARGETS = 50
CAVEAT = (
    "Holes that depend on what was observed can be allowed for (missing at random, "
    "MAR). Whether they also depend on the missing values themselves (missing not at "
    "random, MNAR) cannot be told from the data."
)


@dataclass(frozen=True)
class ColumnDependence:
    """How well the rest of the row tells whether one column is missing.

    Attributes
    ----------
    column : str or int
        The column with holes.
    auc, low, high : float
        Cross-validated area under the ROC curve of a model that sees the values and
        the holes of all other columns, and its 95 % interval (Hanley and McNeil): 0.5
        is chance, 1 is certainty.
    auc_values : float
        The same for a model that sees their values only. Columns that are merely
        missing together have a high `auc` and an `auc_values` near 0.5.
    p_value : float
        Of an `auc` this high by chance, after Holm's correction for the columns.
    p_values_only : float
        Of an `auc_values` this high by chance, corrected likewise.
    drivers : tuple of Driver
        The columns that go with the holes, the strongest first.
    """

    column: str | int
    auc: float
    low: float
    high: float
    auc_values: float
    p_value: float
    p_values_only: float
    drivers: tuple[Driver, ...]

    @property
    def strength(self) -> str:
        """In one word: "none", "weak", "clear" or "strong"."""
        if self.p_value >= 0.05:
            return "none"
        return "weak" if self.auc < 0.6 else "clear" if self.auc < 0.75 else "strong"

    def sentence(self, *, n_drivers: int = 2) -> str:
        """Say it for a person."""
        if self.strength == "none":
            return (
                f"{self.column!r}: no sign that its holes depend on the other columns "
                f"(AUC {self.auc:.2f})."
            )
        said = (
            f"{self.column!r}: {self.strength} dependence (AUC {self.auc:.2f}, 95 % "
            f"interval {self.low:.2f} to {self.high:.2f})"
        )
        if self.p_values_only >= 0.05:
            said += ", seen only through which other columns are missing"
        shown = [d.sentence for d in self.drivers[:n_drivers]]
        return (
            f"{said}; missing more often {' and '.join(shown)}."
            if shown
            else f"{said}."
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        said = {"strength": self.strength, "sentence": self.sentence()}
        return plain(self) | said


@dataclass(frozen=True)
class Dependence:
    """What the holes of each column depend on.

    Attributes
    ----------
    columns : tuple of ColumnDependence
        The columns that could be examined, the most predictable first.
    left_out : tuple of column names
        Columns with holes that could not: fewer than 10 cells missing or observed, or
        beyond the 50 with the most holes.
    n_rows : int
        Rows looked at.
    """

    columns: tuple[ColumnDependence, ...]
    left_out: tuple[str | int, ...]
    n_rows: int

    def sentences(self, most: int) -> list[str]:
        """Say it for a person, of at most so many columns at length."""
        clear = [c for c in self.columns if c.strength != "none"]
        said = [c.sentence() for c in clear[:most]]
        for words, names in (
            ("Likewise", [f"{c.column} ({c.strength})" for c in clear[most:]]),
            (
                "No sign of dependence",
                [c.column for c in self.columns if c.strength == "none"],
            ),
            ("Too few cells to tell", self.left_out),
        ):
            if names:
                said.append(f"{words}: {', '.join(map(str, names))}.")
        return said

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        columns = [column.to_json() for column in self.columns]
        return plain(self) | {"columns": columns, "caveat": CAVEAT}


def missing_dependence(
    frame: Any, *, max_rows: int = 5000, n_folds: int = 3, seed: int = 0
) -> Dependence:
    """Estimate how well the holes of each column follow from the other columns.

    Parameters
    ----------
    frame : DataFrame (pandas or polars), pyarrow Table or float array
        The table.
    max_rows : int, default=5000
        Larger tables are sampled.
    n_folds : int, default=3
        Folds of the cross-validation.
    seed : int, default=0
        Seed of the sample and the folds.

    Returns
    -------
    Dependence

    Notes
    -----
    The model is a ridge discriminant on ranks, their squares, frequent categories and
    missing indicators: quick, and the same for every column. It does not see
    interactions, so an AUC near 0.5 does not prove independence. The p-value
    needs no permutations: on rows the model has not seen, its AUC is a Mann-Whitney
    statistic, and folds are correlated as those of a linear model are.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> df = pd.DataFrame(rng.uniform(20, 80, (600, 2)), columns=["age", "income"])
    >>> df.loc[(df["age"] > 60) & (rng.uniform(size=600) < 0.7), "income"] = np.nan
    >>> column, = missing_dependence(df).columns
    >>> column.strength, column.drivers[0].column
    ('strong', 'age')
    """
    return dependence_of(read(frame), max_rows=max_rows, n_folds=n_folds, seed=seed)


def dependence_of(
    reading: Reading, *, max_rows: int, n_folds: int, seed: int
) -> Dependence:
    """Examine the holes of a table that is already read."""
    rng = np.random.default_rng(seed)
    rows = np.arange(reading.table.n_rows)
    if len(rows) > max_rows:
        rows = np.sort(rng.permutation(len(rows))[:max_rows])
    missing = ~reading.observed[rows]
    n_missing = missing.sum(axis=0)
    enough = (n_missing >= LEAST) & (len(rows) - n_missing >= LEAST)
    targets = [j for j in np.argsort(-n_missing, kind="stable") if enough[j]]
    targets = [j for j in targets if reading.kind(j) != "ignored"][:MOST_TARGETS]
    with_holes = np.flatnonzero(~reading.observed.all(axis=0))
    left_out = tuple(reading.names[j] for j in with_holes if j not in set(targets))
    if not targets:
        return Dependence((), left_out, len(rows))

    features = features_of(reading, rows)
    scores = [
        _cross_validate(features, missing[:, j], j, n_folds=n_folds, rng=rng)
        for j in targets
    ]
    p_both = holm([score[2] for score in scores])
    p_values = holm([score[3] for score in scores])
    columns = []
    for j, (auc, auc_values, *_), p, p_v in zip(
        targets, scores, p_both, p_values, strict=True
    ):
        error = _standard_error(auc, int(n_missing[j]), int(len(rows) - n_missing[j]))
        columns.append(
            ColumnDependence(
                column=reading.names[j],
                auc=auc,
                low=max(auc - 1.96 * error, 0.0),
                high=min(auc + 1.96 * error, 1.0),
                auc_values=auc_values,
                p_value=float(p),
                p_values_only=float(p_v),
                drivers=drivers_of(reading, rows, j),
            )
        )
    columns.sort(key=lambda column: -column.auc)
    return Dependence(tuple(columns), left_out, len(rows))


def _cross_validate(
    features: Features,
    missing: np.ndarray,
    j: int,
    *,
    n_folds: int,
    rng: np.random.Generator,
) -> tuple[float, float, float, float]:
    """Return the AUC with and without indicators, then their p-values."""
    n = len(missing)
    fold = np.empty(n, dtype=int)
    for side in (missing, ~missing):  # as many holes in every fold
        fold[rng.permutation(np.flatnonzero(side))] = np.arange(side.sum()) % n_folds
    subsets = (
        np.flatnonzero(features.column != j),
        np.flatnonzero((features.column != j) & ~features.is_indicator),
    )
    aucs = np.full((2, n_folds), 0.5)
    variances = np.empty(n_folds)
    for f in range(n_folds):
        train, test = fold != f, fold == f
        n_gone = int(missing[test].sum())
        n_there = int(test.sum()) - n_gone
        variances[f] = (n_gone + n_there + 1) / (12 * n_gone * n_there)
        x = features.x[train]
        x = x - x.mean(axis=0)
        gram, moment = x.T @ x, x.T @ (missing[train] - missing[train].mean())
        for s, subset in enumerate(subsets):
            if len(subset):
                ridge = len(subset) * np.eye(len(subset))
                weight = np.linalg.solve(
                    gram[np.ix_(subset, subset)] + ridge, moment[subset]
                )
                scores = features.x[np.ix_(test, subset)] @ weight
                # Rounding makes scores that differ by floating point alone ties.
                aucs[s, f], _ = rank_test(missing[test], np.round(scores, 10))
    auc = aucs.mean(axis=1)
    # Without dependence, the AUC of a fold is a Mann-Whitney statistic. Each pair of
    # folds meets twice, either one training and the other testing a linear model, and
    # gives nearly the same both times: twice the variance of independent folds.
    z = (auc - 0.5) / np.sqrt(2 * variances.sum() / n_folds**2)
    p = ndtr(-z)
    return float(auc[0]), float(auc[1]), float(p[0]), float(p[1])


def _standard_error(auc: float, n_gone: int, n_there: int) -> float:
    """Return Hanley and McNeil's standard error of an AUC."""
    q1, q2 = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    variance = auc * (1 - auc) + (n_gone - 1) * (q1 - auc**2)
    variance += (n_there - 1) * (q2 - auc**2)
    return float(np.sqrt(max(variance, 0.0) / (n_gone * n_there)))
