"""Methods that fill a column with one value: its mean, its median, its mode."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Self

import numpy as np
import pandas as pd

from macfm.judge.methods._base import Method
from macfm.judge.methods._encoding import TableCode


class ConstantMethod(Method):
    """Fill numbers with one statistic and categories with the most frequent one."""

    learned: ClassVar[bool] = False

    @abstractmethod
    def statistic(self, observed: pd.Series) -> float:
        """Return the value for a numeric column, from its observed cells."""

    def fit(self, train: pd.DataFrame) -> Self:
        """Find the value of each column."""
        self.code_ = TableCode.fit(train)
        self.values_ = np.array(
            [
                self.statistic(train[column.name].dropna())
                if column.is_numeric
                else column.shares.argmax()
                for column in self.code_.columns
            ]
        )
        return self

    def impute(self, table: pd.DataFrame) -> pd.DataFrame:
        """Fill every hole with the value of its column."""
        codes = np.broadcast_to(self.values_, (len(table), len(self.values_)))
        return self.code_.complete(table, codes)

    def probabilities(self, table: pd.DataFrame) -> dict[str, pd.DataFrame] | None:
        """Return the shares of the training rows, the same for every row."""
        x = np.broadcast_to(self.code_.center, (len(table), len(self.code_.center)))
        return self.code_.shares(table, x)


class Mean(ConstantMethod):
    """Fill numbers with their mean, categories with the most frequent one."""

    name: ClassVar[str] = "mean"
    title: ClassVar[str] = "Mean"
    about: ClassVar[str] = "Column mean; most frequent category."

    def statistic(self, observed: pd.Series) -> float:
        """Return the mean."""
        return float(observed.mean())


class Median(ConstantMethod):
    """Fill numbers with their median, categories with the most frequent one."""

    name: ClassVar[str] = "median"
    title: ClassVar[str] = "Median"
    about: ClassVar[str] = "Column median; most frequent category."

    def statistic(self, observed: pd.Series) -> float:
        """Return the median."""
        return float(observed.median())


class MostFrequent(ConstantMethod):
    """Fill numbers and categories with their most frequent value."""

    name: ClassVar[str] = "most-frequent"
    title: ClassVar[str] = "Most frequent"
    about: ClassVar[str] = "Most frequent value of the column, numbers included."

    def statistic(self, observed: pd.Series) -> float:
        """Return the mode; of several, the smallest."""
        return float(observed.mode().iloc[0])
