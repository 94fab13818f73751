"""The column mean."""

from __future__ import annotations

from typing import ClassVar

import pandas as pd

from macfm.judge.methods._constant import ConstantMethod


class Mean(ConstantMethod):
    """Fill numbers with their mean, categories with the most frequent one."""

    name: ClassVar[str] = "mean"
    title: ClassVar[str] = "Mean"
    about: ClassVar[str] = "Column mean; most frequent category."

    def statistic(self, observed: pd.Series) -> float:
        """Return the mean."""
        return float(observed.mean())
