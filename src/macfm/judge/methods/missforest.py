"""Random forests, one a column, in turn until the table stands still."""

from __future__ import annotations

from typing import Any, ClassVar

from macfm.judge.methods._chained_trees import ChainedTrees


class MissForest(ChainedTrees):
    """MissForest of Stekhoven and Bühlmann, with the last sweep's forests kept."""

    name: ClassVar[str] = "missforest"
    title: ClassVar[str] = "MissForest"
    about: ClassVar[str] = "Chained random forests (Stekhoven and Bühlmann)."
    defaults: ClassVar[dict[str, Any]] = {
        "n_trees": 100,
        "max_iter": 5,
        "max_features": "sqrt",
        "min_samples_leaf": 3,
    }

    def kinds(self) -> tuple[type, type]:
        """Return scikit-learn's random forests."""
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        return RandomForestRegressor, RandomForestClassifier
