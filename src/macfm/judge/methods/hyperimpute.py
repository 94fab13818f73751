"""Iterative imputation with a model chosen for each column, by HyperImpute."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from macfm.judge.methods._base import Method
from macfm.judge.methods._encoding import TableCode


class HyperImpute(Method):
    """The package HyperImpute with its own defaults.

    The package has no model for new rows: its `transform` fits again on the rows it is
    given, and so does `impute` here. A column of fewer than `class_threshold` distinct
    values, the missing one counted, is classified; any other is regressed, categories
    on their codes, as the package does with text, and rounded.
    """

    name: ClassVar[str] = "hyperimpute"
    title: ClassVar[str] = "HyperImpute"
    about: ClassVar[str] = "Chained models, chosen column by column (HyperImpute)."
    inductive: ClassVar[bool] = False
    # Under pandas 3 it gives column means, under scikit-learn 1.8 it loses a model,
    # both without a word.
    requires: ClassVar[tuple[str, ...]] = (
        "hyperimpute==0.1.17",
        "pandas<3",
        "scikit-learn<1.8",
    )
    environment: ClassVar[str | None] = "hyperimpute"
    imports: ClassVar[tuple[str, ...]] = ("joblib", "hyperimpute.plugins.imputers")
    defaults: ClassVar[dict[str, Any]] = {
        "optimizer": "simple",
        "class_threshold": 5,
        "n_inner_iter": 40,
        "select_patience": 5,
        "optimize_thresh": 5000,
        "classifier_seed": (
            "random_forest",
            "logistic_regression",
            "xgboost",
            "catboost",
        ),
        "regression_seed": (
            "random_forest_regressor",
            "linear_regression",
            "xgboost_regressor",
            "catboost_regressor",
        ),
    }

    def fit(self, train: pd.DataFrame) -> Self:
        """Learn the categories; the package learns when it imputes."""
        self.code_ = TableCode.fit(train)
        return self

    def impute(self, table: pd.DataFrame) -> pd.DataFrame:
        """Fit on these rows and fill them."""
        codes = self.code_.codes(table)
        hidden = np.isnan(codes)
        if not hidden.any():
            return table.copy()
        from joblib import parallel_config

        data = pd.DataFrame(codes, columns=[f"c{j}" for j in range(codes.shape[1])])
        # Its models ask for every core; in this process they take turns.
        with warnings.catch_warnings(), parallel_config(backend="sequential"):
            warnings.simplefilter("ignore")  # its chained assignments, by the thousand
            from hyperimpute.plugins.imputers import Imputers

            seeds = {
                name: list(self.settings[name])
                for name in ("classifier_seed", "regression_seed")
            }
            plugin = Imputers().get(
                "hyperimpute", random_state=self.seed, **self.settings | seeds
            )
            filled = np.asarray(plugin.fit_transform(data), dtype=float)
        for j, column in enumerate(self.code_.columns):
            if not column.is_numeric:
                filled[:, j] = filled[:, j].round().clip(0, column.width - 1)
        return self.code_.complete(table, filled)
