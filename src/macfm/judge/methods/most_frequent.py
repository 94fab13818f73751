"""The most frequent value of a column."""

from __future__ import annotations

from typing import ClassVar

import pandas as pd

from macfm.judge.methods._constant import ConstantMethod


class MostFrequent(ConstantMethod):
    """Fill numbers and categories with their most frequent value."""

    name: ClassVar[str] = "most-frequent"
    title: ClassVar[str] = "Most frequent"
    about: ClassVar[str] = "Most frequent value of the column, numbers included."

    def statistic(self, observed: pd.Series) -> float:
        """Return the mode; of several, the smallest."""
        return float(observed.mode().iloc[0])
