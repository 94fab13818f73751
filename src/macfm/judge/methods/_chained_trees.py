"""Trees, some for each column, in turn until the table stands still."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from macfm.judge.methods._base import Method
from macfm.judge.methods._encoding import TableCode


class ChainedTrees(Method):
    """Forests of a kind that a subclass chooses, the last sweep's kept.

    Starts from column means and most frequent categories. One sweep fits, for each
    column from the fewest missing cells to the most, a forest on the rows that show it
    and predicts the others. Sweeps end when the change of the filled cells grows, for
    numbers and for categories, or after `max_iter`. New rows start the same way and
    pass through the forests of the last sweep, as many times as the training rows were
    swept. Categories enter the forests as codes.
    """

    imports: ClassVar[tuple[str, ...]] = ("sklearn.ensemble",)

    @abstractmethod
    def kinds(self) -> tuple[type, type]:
        """Return the classes of a forest for numbers and of one for categories."""

    def fit(self, train: pd.DataFrame) -> Self:
        """Sweep over the training rows."""
        self.code_ = TableCode.fit(train)
        codes = self.code_.codes(train)
        hidden = np.isnan(codes)
        filled = self._start(codes)
        self.forests_: dict[int, Any] = {}
        self.n_sweeps_ = 0
        last: tuple[float, ...] = ()
        for sweep in range(self.settings["max_iter"]):
            before = filled.copy()
            forests = {}
            for j in self._order(hidden):
                forests[j] = self._forest(filled, ~hidden[:, j], j, sweep)
                self._predict(forests[j], filled, hidden[:, j], j)
            change = self._change(before, filled, hidden)
            if sweep and all(c >= a for c, a in zip(change, last, strict=True)):
                break  # the sweep before was better
            self.forests_, last, self.n_sweeps_ = forests, change, sweep + 1
        return self

    def impute(self, table: pd.DataFrame) -> pd.DataFrame:
        """Fill with the predictions of the forests."""
        return self.code_.complete(table, self._fill(table)[0])

    def probabilities(self, table: pd.DataFrame) -> dict[str, pd.DataFrame] | None:
        """Return the forests' shares of votes."""
        filled, hidden = self._fill(table)
        found = {}
        for j, column in enumerate(self.code_.columns):
            if column.is_numeric:
                continue
            shares = np.zeros((len(table), column.width))
            shares[np.arange(len(table)), filled[:, j].astype(int)] = 1.0
            if hidden[:, j].any():
                forest = self.forests_[j]
                others = np.delete(filled[hidden[:, j]], j, axis=1)
                votes = np.zeros((len(others), column.width))
                votes[:, forest.classes_.astype(int)] = forest.predict_proba(others)
                shares[hidden[:, j]] = votes
            found[column.name] = pd.DataFrame(
                shares, index=table.index, columns=list(column.categories)
            )
        return found

    def _fill(self, table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Complete the codes of a table; also tell which of them were filled."""
        codes = self.code_.codes(table)
        hidden = np.isnan(codes)
        filled = self._start(codes)
        for _ in range(self.n_sweeps_):
            for j, forest in self.forests_.items():
                self._predict(forest, filled, hidden[:, j], j)
        return filled, hidden

    def _start(self, codes: np.ndarray) -> np.ndarray:
        start = [
            c.mean if c.is_numeric else float(c.shares.argmax())
            for c in self.code_.columns
        ]
        return np.where(np.isnan(codes), start, codes)

    def _order(self, hidden: np.ndarray) -> list[int]:
        """Columns from the fewest missing cells to the most.

        Columns without any are learned too: a new row may miss them.
        """
        return np.argsort(hidden.sum(axis=0), kind="stable").tolist()

    def _forest(self, filled: np.ndarray, shown: np.ndarray, j: int, sweep: int) -> Any:
        regressor, classifier = self.kinds()
        kind = regressor if self.code_.columns[j].is_numeric else classifier
        seeds = np.random.SeedSequence([self.seed, sweep, j])
        forest = kind(
            n_estimators=self.settings["n_trees"],
            max_features=self.settings["max_features"],
            min_samples_leaf=self.settings["min_samples_leaf"],
            n_jobs=self.n_threads,
            random_state=int(seeds.generate_state(1)[0]),
        )
        return forest.fit(np.delete(filled[shown], j, axis=1), filled[shown, j])

    def _predict(
        self, forest: Any, filled: np.ndarray, hidden: np.ndarray, j: int
    ) -> None:
        if hidden.any():
            others = np.delete(filled[hidden], j, axis=1)
            filled[hidden, j] = forest.predict(others)

    def _change(
        self, before: np.ndarray, after: np.ndarray, hidden: np.ndarray
    ) -> tuple[float, ...]:
        """Relative change of filled numbers and share of changed categories.

        A kind of column that is not there has no entry.
        """
        is_numeric = np.array([column.is_numeric for column in self.code_.columns])
        changes = []
        if is_numeric.any():
            sd = np.array([c.sd for c in self.code_.columns if c.is_numeric])
            moved = (after - before)[:, is_numeric] / sd
            size = ((after[:, is_numeric] / sd) ** 2).sum()
            changes.append(float((moved**2).sum() / max(size, 1e-300)))
        if not is_numeric.all():
            flags = (after != before)[:, ~is_numeric].sum()
            changes.append(float(flags / max(hidden[:, ~is_numeric].sum(), 1)))
        return tuple(changes)
