"""Chained LightGBM forests with predictive mean matching, by miceforest."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from macfm.judge.methods._base import Method
from macfm.judge.methods._encoding import TableCode


class MiceForest(Method):
    """The package miceforest: several chains of forests, draws by mean matching.

    Numbers are filled with the mean over the chains, categories with their most
    frequent vote. New rows pass through the forests of the chains, which are kept.

    Version 6.0.5 does not count the sweeps it takes new rows through: every sweep
    starts again from random values, and these are what it returns. With `repair` the
    sweeps are counted; without, the package is run as it is.
    """

    name: ClassVar[str] = "miceforest"
    title: ClassVar[str] = "miceforest"
    about: ClassVar[str] = "Chained LightGBM forests with mean matching (miceforest)."
    requires: ClassVar[tuple[str, ...]] = ("miceforest==6.0.5", "lightgbm<4.7")
    environment: ClassVar[str | None] = "miceforest"
    imports: ClassVar[tuple[str, ...]] = ("miceforest",)
    defaults: ClassVar[dict[str, Any]] = {
        "n_chains": 5,
        "n_sweeps": 5,
        "mean_match_candidates": 5,
        "mean_match_strategy": "normal",
        "category_match_strategy": "fast",
        "repair": True,
    }

    def fit(self, train: pd.DataFrame) -> Self:
        """Run the chains; every column gets forests, as a new row may miss any."""
        from miceforest import ImputationKernel

        self.code_ = TableCode.fit(train)
        n_values = [train[c.name].nunique() for c in self.code_.columns]
        self.varies_ = np.array(n_values) > 1
        data = self._frame(train)
        self.kernel_ = ImputationKernel(
            data,
            num_datasets=self.settings["n_chains"],
            variable_schema=list(data.columns),
            mean_match_candidates=self.settings["mean_match_candidates"],
            mean_match_strategy=self._strategies(),
            random_state=self.seed,
        )
        self.kernel_.mice(self.settings["n_sweeps"], num_threads=self.n_threads)
        return self

    def impute(self, table: pd.DataFrame) -> pd.DataFrame:
        """Fill with the mean over the chains, or their most frequent category."""
        drawn = np.stack(list(self._draws(table, self.settings["n_chains"])))
        codes = drawn.mean(axis=0)
        for j, votes in self._votes(drawn).items():
            codes[:, j] = votes.argmax(axis=1)
        return self.code_.complete(table, codes)

    def draw(self, table: pd.DataFrame, n: int) -> list[pd.DataFrame]:
        """Return `n` draws, the chains taking turns."""
        drawn = self._draws(table, n)
        return [self.code_.complete(table, codes) for codes in drawn]

    def _draws(self, table: pd.DataFrame, n: int) -> list[np.ndarray]:
        """Return codes of `n` completed tables; more than the chains start anew."""
        n_chains, found = self.settings["n_chains"], []
        data = self._frame(table)
        if not data.isna().any(axis=None):
            return [self._constants(table)] * n
        constant = self._constants(table)
        varying = np.array([(c.mean, c.sd) for c in self.code_.columns])[self.varies_]
        mean, sd = varying.T
        for turn in range(-(-n // n_chains)):
            rng = np.random.RandomState([self.seed, turn])
            # Mean matching takes the kernel's own generator, which would go on from
            # the last call.
            self.kernel_._random_state = rng
            with _counted_sweeps(self.settings["repair"]):
                completed = self.kernel_.impute_new_data(data, random_state=rng)
            for k in range(min(n_chains, n - turn * n_chains)):
                frame = completed.complete_data(dataset=k)
                codes = constant.copy()
                codes[:, self.varies_] = frame.astype(float).to_numpy() * sd + mean
                found.append(codes)
        return found

    def _strategies(self) -> dict[str, str]:
        """How each column is matched, by the package's names for them.

        Matching categories by their log odds fails where a forest is certain.
        """
        kinds = {True: "mean_match_strategy", False: "category_match_strategy"}
        return {
            f"c{j}": self.settings[kinds[column.is_numeric]]
            for j, column in enumerate(self.code_.columns)
            if self.varies_[j]
        }

    def _constants(self, table: pd.DataFrame) -> np.ndarray:
        """Codes of a table with the columns filled that never vary."""
        value = [c.mean if c.is_numeric else 0 for c in self.code_.columns]
        codes = self.code_.codes(table)
        return np.where(np.isnan(codes) & ~self.varies_, value, codes)

    def _votes(self, drawn: np.ndarray) -> dict[int, np.ndarray]:
        """Count categories over draws, by column: shape (n, n_categories)."""
        return {
            j: (drawn[:, :, j, None] == np.arange(column.width)).sum(axis=0)
            for j, column in enumerate(self.code_.columns)
            if not column.is_numeric
        }

    def _frame(self, table: pd.DataFrame) -> pd.DataFrame:
        """Codes as the package wants them: categories typed, plain names and index."""
        data = {}
        codes = self.code_.codes(table)
        for j, (column, values) in enumerate(
            zip(self.code_.columns, codes.T, strict=True)
        ):
            if not self.varies_[j]:
                continue
            if column.is_numeric:
                # Predictions are matched in 16 bits, which end at 65,504.
                values = (values - column.mean) / column.sd
            else:
                values = np.where(np.isnan(values), -1, values).astype(int)
                values = pd.Categorical.from_codes(
                    values, categories=list(range(column.width))
                )
            data[f"c{j}"] = values
        return pd.DataFrame(data)


@contextlib.contextmanager
def _counted_sweeps(wanted: bool) -> Iterator[None]:
    """Let the package's table of new rows count its sweeps, if wanted."""
    from miceforest import imputation_kernel

    original: Any = imputation_kernel.ImputedData

    class CountedData(original):
        def __setitem__(self, place: tuple[str, int, int], values: pd.Series) -> None:
            super().__setitem__(place, values)
            variable, sweep, chain = place
            self.iteration_tab[variable, chain] = sweep

    imputation_kernel.ImputedData = CountedData if wanted else original
    try:
        yield
    finally:
        imputation_kernel.ImputedData = original
