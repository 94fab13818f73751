"""The column median."""

from __future__ import annotations

from typing import ClassVar

import pandas as pd

from macfm.judge.methods._constant import ConstantMethod


class Median(ConstantMethod):
    """Fill numbers with their median, categories with the most frequent one."""

    name: ClassVar[str] = "median"
    title: ClassVar[str] = "Median"
    about: ClassVar[str] = "Column median; most frequent category."

    def statistic(self, observed: pd.Series) -> float:
        """Return the median."""
        return float(observed.median())
