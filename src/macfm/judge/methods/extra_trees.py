"""Extremely randomised trees, some for each column, in turn."""

from __future__ import annotations

from typing import Any, ClassVar

from macfm.judge.methods._chained_trees import ChainedTrees


class ExtraTrees(ChainedTrees):
    """Chained extra-trees, as scikit-learn's ``IterativeImputer`` would run them.

    Splits are drawn by lot and the best of them taken, from all other columns, which
    suits smooth tables; each tree sees every row that shows the column.
    """

    name: ClassVar[str] = "extra-trees"
    title: ClassVar[str] = "Extra-trees"
    about: ClassVar[str] = "Chained extremely randomised trees, 60 a column."
    defaults: ClassVar[dict[str, Any]] = {
        "n_trees": 60,
        "max_iter": 5,
        "max_features": 1.0,
        "min_samples_leaf": 1,
    }

    def kinds(self) -> tuple[type, type]:
        """Return scikit-learn's extra-trees."""
        from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

        return ExtraTreesRegressor, ExtraTreesClassifier
