"""Errors of single cells pooled into scores, with their standard errors."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

CLEAR = 2.0  # standard errors a difference must exceed
N_REPLICATES = 400
FLAT_SHARE, FLAT_WIDTH = 0.95, 0.2
SCORES = ("rmse_ratio", "mae_ratio", "accuracy")
PAIRS = ["score", "method", "other", "difference", "se", "clear"]


def is_flat(values: np.ndarray) -> bool:
    """Whether 95 % of the values lie within a fifth of a standard deviation.

    Rare values then make up the standard deviation, and which method comes off well
    depends on whether one of them was hidden.

    Examples
    --------
    >>> import numpy as np
    >>> is_flat(np.repeat([0.0, 7.0], [98, 2])), is_flat(np.repeat([0.0, 7.0], [9, 1]))
    (True, False)
    """
    ordered = np.sort(values)
    n_inside = int(np.ceil(FLAT_SHARE * len(ordered)))
    if n_inside < 1:
        return True
    widths = ordered[n_inside - 1 :] - ordered[: len(ordered) - n_inside + 1]
    return bool(widths.min() < FLAT_WIDTH * ordered.std())


@dataclass(frozen=True)
class Pool:
    """The errors of several methods on the same hidden cells.

    Notes
    -----
    The pooled error of numbers is the root of the mean, over columns, of a column's
    mean squared error, divided by that of mean imputation. A column's errors are in
    units of its standard deviation, or of the mean's own error where that is larger:
    neither a column that hardly varies nor one rare hidden value can decide.
    """

    #: Names of the methods.
    methods: list[str]
    #: Names of the scored columns.
    columns: list[Hashable]
    #: Which columns hold numbers, and which of these the pooled error is made of; shape
    #: (n_columns,).
    numbers: np.ndarray
    pooled: np.ndarray
    #: Where each cell stands, in which fold it was hidden; columns by their place;
    #: shape (n_cells,).
    row: np.ndarray
    fold: np.ndarray
    column: np.ndarray
    #: Absolute errors of numbers in standard deviations of their column; shape
    #: (n_methods, n_cells).
    miss: np.ndarray
    #: 1 where a category is right, 0 where it is wrong; shape (n_methods, n_cells).
    hit: np.ndarray
    seed: int

    @classmethod
    def of(
        cls,
        cells: pd.DataFrame,
        methods: list[str],
        columns: list[Hashable],
        *,
        numbers: Sequence[bool],
        flat: Sequence[bool],
        seed: int,
    ) -> Pool:
        """Line up the cells of all methods.

        `cells` has one row a method and cell, the cells in the same order for every
        method: ``method``, ``fold``, ``row``, ``column`` by its place, ``miss``,
        ``hit``. `numbers` and `flat` tell which columns hold numbers, and which of
        these hardly vary.
        """
        parts = [cells[cells["method"] == method] for method in methods]
        first = parts[0]
        return cls(
            methods=methods,
            columns=columns,
            numbers=np.asarray(numbers, dtype=bool),
            pooled=np.asarray(numbers, dtype=bool) & ~np.asarray(flat, dtype=bool),
            row=first["row"].to_numpy(),
            fold=first["fold"].to_numpy(),
            column=first["column"].to_numpy(),
            miss=np.stack([part["miss"].to_numpy() for part in parts]),
            hit=np.stack([part["hit"].to_numpy() for part in parts]),
            seed=seed,
        )

    def overall(self) -> pd.DataFrame:
        """Return the scores over all columns with their errors, a row a method."""
        table: dict[str, list[str] | np.ndarray] = {"method": self.methods}
        for score in SCORES:
            table[score] = self._scores[score][0]
            table[f"{score}_se"] = self._error(score, lambda scores: scores)
        return pd.DataFrame(table)

    def by_column(self) -> pd.DataFrame:
        """Return the standard errors of the columns' scores, a row a method and column.

        Those of mean imputation's ratios are 0: it is the unit.
        """
        shape = (len(self.methods), len(self.columns))
        m, c = (places.ravel() for places in np.indices(shape))
        table = {
            "method": [self.methods[i] for i in m],
            "column": pd.Series([self.columns[j] for j in c], dtype=object),
        }
        for score in SCORES:
            replicates = self._replicates[f"{score}_by_column"]
            table[f"{score}_se"] = _sd(replicates).ravel()
        return pd.DataFrame(table)

    def pairs(self) -> pd.DataFrame:
        """Return the difference between every two methods, for each score.

        ``clear`` says whether it exceeds two of its standard errors.
        """
        rows = []
        for score in SCORES:
            for i, method in enumerate(self.methods):
                for j in range(i + 1, len(self.methods)):

                    def gap(scores: np.ndarray, i: int = i, j: int = j) -> np.ndarray:
                        return scores[:, i] - scores[:, j]

                    [difference] = gap(self._scores[score])
                    if not np.isfinite(difference):
                        continue
                    error = self._error(score, gap)
                    about = {"score": score, "method": method, "other": self.methods[j]}
                    clear = bool(abs(difference) > CLEAR * error)
                    size = {"difference": float(difference), "se": float(error)}
                    rows.append(about | size | {"clear": clear})
        return pd.DataFrame(rows, columns=PAIRS)

    def _error(self, score: str, of: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return the standard error of something made `of` the methods' scores.

        The larger of two: that over rows, drawn again and again, and that over folds.
        The first misses what changes from fit to fit, the second is coarse where folds
        are few.
        """
        over_rows = _sd(of(self._replicates[score]))
        n_folds = len(self._folds[score])
        if n_folds < 2:
            return over_rows
        over_folds = _sd(of(self._folds[score])) / np.sqrt(n_folds)
        return np.fmax(over_rows, over_folds)

    @cached_property
    def _scores(self) -> dict[str, np.ndarray]:
        return self._score(*self._sums(np.zeros_like(self.row)))

    @cached_property
    def _folds(self) -> dict[str, np.ndarray]:
        return self._score(*self._sums(self.fold))

    @cached_property
    def _replicates(self) -> dict[str, np.ndarray]:
        """Scores of tables whose rows are drawn from the table's, with replacement."""
        sums = self._sums(self.row)
        n_rows = len(sums[0])
        rng = np.random.default_rng(self.seed)
        times = rng.multinomial(n_rows, np.full(n_rows, 1 / n_rows), size=N_REPLICATES)
        drawn = [
            (times @ part.reshape(n_rows, -1)).reshape(-1, *part.shape[1:])
            for part in sums
        ]
        return self._score(*drawn)

    def _sums(self, unit: np.ndarray) -> tuple[np.ndarray, ...]:
        """Sum cells by unit and column.

        Returns their number, shape (n_units, n_columns), and their squared errors,
        absolute errors and hits, (n_units, n_methods, n_columns).
        """
        units, place = np.unique(unit, return_inverse=True)
        shape = (len(units), len(self.columns))
        place = place * shape[1] + self.column

        def sums(values: np.ndarray) -> np.ndarray:
            each = [np.bincount(place, row, np.prod(shape)) for row in values]
            return np.stack([one.reshape(shape) for one in each], axis=1)

        miss, hit = np.nan_to_num(self.miss), np.nan_to_num(self.hit)
        count = sums(np.ones((1, len(unit))))[:, 0]
        return count, sums(miss**2), sums(miss), sums(hit)

    def _score(
        self, count: np.ndarray, square: np.ndarray, miss: np.ndarray, hit: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Turn sums of cells into scores, one for each table that the sums belong to.

        Those over all columns have the shape (n_tables, n_methods), the others
        (n_tables, n_methods, n_columns); NaN where there is no cell.
        """
        count = np.where(count > 0, count, np.nan)[:, None]
        mse, mae, right = square / count, miss / count, hit / count
        mse[:, :, ~self.numbers] = mae[:, :, ~self.numbers] = np.nan
        right[:, :, self.numbers] = np.nan
        # Where mean imputation failed, the standard deviation stands in for its error.
        k = self.methods.index("mean") if "mean" in self.methods else None
        ones = np.where(np.isnan(mse[:, :1]), np.nan, 1.0)
        mse_mean, mae_mean = (ones, ones) if k is None else (mse[:, [k]], mae[:, [k]])
        unit = np.fmax(mse_mean, 1.0)
        parts = {
            "rmse_ratio": (mse / unit, mse_mean / unit),
            "mae_ratio": (mae / np.sqrt(unit), mae_mean / np.sqrt(unit)),
        }
        scores = {"accuracy": _mean(right), "accuracy_by_column": right}
        for score, (own, means) in parts.items():
            ratio = _ratio(_mean(own[..., self.pooled]), _mean(means[..., self.pooled]))
            by_column = _ratio(own, means)
            root = np.sqrt if score == "rmse_ratio" else np.asarray
            scores[score], scores[f"{score}_by_column"] = root(ratio), root(by_column)
        return scores


def _ratio(value: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Divide; NaN where the unit is 0."""
    return value / np.where(unit > 0, unit, np.nan)


def _mean(values: np.ndarray) -> np.ndarray:
    """Mean over the last axis of what is not NaN, NaN if nothing is."""
    known = ~np.isnan(values)
    count = known.sum(axis=-1)
    total = np.where(known, values, 0.0).sum(axis=-1)
    return total / np.where(count > 0, count, np.nan)


def _sd(values: np.ndarray) -> np.ndarray:
    """Standard deviation over the first axis of what is not NaN, NaN of less than 2."""
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    total = np.where(known, values, 0.0).sum(axis=0)
    middle = total / np.maximum(count, 1)
    square = np.where(known, (values - middle) ** 2, 0.0).sum(axis=0)
    return np.sqrt(square / np.where(count > 1, count - 1, np.nan))
