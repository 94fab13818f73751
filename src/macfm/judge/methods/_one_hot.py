"""Methods that see a table as standardised numbers and one-hot blocks."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

import numpy as np
import pandas as pd

from macfm.judge.methods._base import Method
from macfm.judge.methods._encoding import TableCode


class OneHotMethod(Method):
    """A method on the one-hot encoding: it learns from, and fills, float arrays.

    A leaf writes `learn` and `scores`; the translation from and to tables is here.
    """

    code_: TableCode

    @abstractmethod
    def learn(self, x: np.ndarray) -> None:
        """Learn from encoded rows with NaN where nothing is known, shape (n, d)."""

    @abstractmethod
    def scores(self, x: np.ndarray) -> np.ndarray:
        """Return the rows with every NaN filled, shape (n, d)."""

    def fit(self, train: pd.DataFrame) -> Self:
        """Encode the training rows and learn from them."""
        self.code_ = TableCode.fit(train)
        self.learn(self.code_.one_hot(train))
        return self

    def impute(self, table: pd.DataFrame) -> pd.DataFrame:
        """Fill numbers with their scores and categories with the largest of a block."""
        x = self.scores(self.code_.one_hot(table))
        return self.code_.complete(table, self.code_.from_one_hot(x))

    def probabilities(self, table: pd.DataFrame) -> dict[str, pd.DataFrame] | None:
        """Return the scores of each block, clipped and scaled to sum to 1."""
        return self.code_.shares(table, self.scores(self.code_.one_hot(table)))
