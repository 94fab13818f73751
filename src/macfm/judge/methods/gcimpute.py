"""A Gaussian copula with ordinal margins, by gcimpute."""

from __future__ import annotations

import contextlib
import copy
import io
import warnings
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from macfm.judge.methods._base import Method
from macfm.judge.methods._encoding import TableCode


class GCImpute(Method):
    """The package gcimpute: latent normals with each column's own distribution.

    It knows continuous and ordinal columns and tells them apart itself, by the share of
    the most frequent value. Indicators of categories make its correlation singular, so
    that a category column enters as an ordinal one, its most frequent category in the
    middle of the order and the rarest at its ends. Of numbers that often repeat one
    value, such as a duration that is mostly 0, it refuses fractions, and whole ones
    that were not there in fit; they enter as ordinal too, by the rank of the nearest
    value that was.
    """

    name: ClassVar[str] = "gcimpute"
    title: ClassVar[str] = "gcimpute"
    about: ClassVar[str] = "Gaussian copula with ordinal margins (gcimpute)."
    requires: ClassVar[tuple[str, ...]] = ("gcimpute==0.0.4", "numpy<2")
    environment: ClassVar[str | None] = "gcimpute"
    imports: ClassVar[tuple[str, ...]] = ("gcimpute.gaussian_copula",)
    defaults: ClassVar[dict[str, Any]] = {
        "max_iter": 50,
        "tol": 0.01,
        "min_ord_ratio": 0.1,
    }

    def fit(self, train: pd.DataFrame) -> Self:
        """Learn the margins and the correlation of the columns that vary."""
        from gcimpute.gaussian_copula import GaussianCopula

        self.code_ = TableCode.fit(train)
        self.orders_ = {
            j: _center_out(column.shares)
            for j, column in enumerate(self.code_.columns)
            if not column.is_numeric
        }
        self.levels_ = {
            j: np.unique(train[column.name].dropna().to_numpy(dtype=float))
            for j, column in enumerate(self.code_.columns)
            if column.is_numeric and self._is_ordinal(train[column.name])
        }
        values = self._values(train)
        low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
        self.constants_, self.varies_ = low, low < high
        self.model_ = GaussianCopula(
            max_iter=self.settings["max_iter"],
            tol=self.settings["tol"],
            min_ord_ratio=self.settings["min_ord_ratio"],
            random_state=self.seed,
            n_jobs=self.n_threads,
        )
        ordinal = [j for j in (*self.orders_, *self.levels_) if self.varies_[j]]
        places = np.cumsum(self.varies_) - 1
        with _quiet():
            self.model_.fit(
                values[:, self.varies_],
                ordinal=[int(places[j]) for j in ordinal] or None,
            )
        return self

    def impute(self, table: pd.DataFrame) -> pd.DataFrame:
        """Fill with the margin's value at the latent conditional mean."""
        values = self._values(table)
        with _quiet():
            filled = self.model_.transform(values[:, self.varies_])
        return self._complete(table, values, filled)

    def draw(self, table: pd.DataFrame, n: int) -> list[pd.DataFrame]:
        """Draw with the package's own sampler, which uses one noise for all rows."""
        values = self._values(table)
        model = copy.deepcopy(self.model_)  # drawing moves its seeds on
        with _quiet():
            drawn = model.sample_imputation(values[:, self.varies_], num=n)
        return [self._complete(table, values, drawn[..., k]) for k in range(n)]

    def _values(self, table: pd.DataFrame) -> np.ndarray:
        """Codes with categories in the order of the model."""
        values = self.code_.codes(table)
        for j, order in self.orders_.items():
            seen = ~np.isnan(values[:, j])
            values[seen, j] = np.argsort(order)[values[seen, j].astype(int)]
        for j, levels in self.levels_.items():
            seen = ~np.isnan(values[:, j])
            between = (levels[1:] + levels[:-1]) / 2
            values[seen, j] = np.searchsorted(between, values[seen, j])
        return values

    def _is_ordinal(self, column: pd.Series) -> bool:
        """Whether numbers often repeat one value."""
        shares = column.value_counts(normalize=True)
        return shares.iloc[0] >= self.settings["min_ord_ratio"]

    def _complete(
        self, table: pd.DataFrame, values: np.ndarray, filled: np.ndarray
    ) -> pd.DataFrame:
        codes = np.where(np.isnan(values), self.constants_, values)
        codes[:, self.varies_] = filled
        for j, order in self.orders_.items():
            codes[:, j] = order[codes[:, j].round().astype(int)]
        for j, levels in self.levels_.items():
            places = codes[:, j].round().astype(int)
            codes[:, j] = levels[places.clip(0, len(levels) - 1)]
        return self.code_.complete(table, codes)


def _center_out(shares: np.ndarray) -> np.ndarray:
    """Order categories with the most frequent in the middle.

    >>> _center_out(np.array([0.1, 0.4, 0.2, 0.3])).tolist()
    [0, 3, 1, 2]
    """
    falling = np.argsort(-shares, kind="stable")
    return np.concatenate([falling[1::2][::-1], falling[0::2]])


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep what the package prints, warns of and seeds to itself."""
    state = np.random.get_state()  # noqa: NPY002
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it calls numpy's round by its old name
        try:
            yield
        finally:
            np.random.set_state(state)  # noqa: NPY002
