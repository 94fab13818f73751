"""Nearest neighbours with distances over what two rows both show."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from macfm.judge.methods._encoding import row_chunks
from macfm.judge.methods._one_hot import OneHotMethod


class KNN(OneHotMethod):
    """Average the nearest training rows that show the wanted column.

    The squared distance of two rows is summed over the columns both show and scaled up
    to all columns. Neighbours count by the inverse of their distance. On numbers this
    is scikit-learn's ``KNNImputer(weights="distance")``; a category column counts as
    one column here, not as one for each category, and is looked up once.
    """

    name: ClassVar[str] = "knn"
    title: ClassVar[str] = "kNN"
    about: ClassVar[str] = "Distance-weighted mean of the 10 nearest training rows."
    defaults: ClassVar[dict[str, Any]] = {"n_neighbors": 10}

    def learn(self, x: np.ndarray) -> None:
        """Keep the training rows."""
        self.donors_ = x

    def scores(self, x: np.ndarray) -> np.ndarray:
        """Fill each column from the donors nearest to the row."""
        filled = x.copy()
        blocks = self.code_.blocks
        starts = [block.start for block in blocks]
        shown = ~np.isnan(self.donors_[:, starts])
        for rows in row_chunks(len(x), len(self.donors_)):
            hidden = np.isnan(x[rows][:, starts])
            distances = self._distances(x[rows])
            for j, block in enumerate(blocks):
                need = np.flatnonzero(hidden[:, j])
                if len(need):
                    near = distances[np.ix_(need, np.flatnonzero(shown[:, j]))]
                    values = self.donors_[shown[:, j], block]
                    filled[rows.start + need, block] = self._average(near, values, j)
        return filled

    def _distances(self, x: np.ndarray) -> np.ndarray:
        """Squared distances to the donors, shape (n, n_donors); NaN without overlap."""
        starts = [block.start for block in self.code_.blocks]
        shown = [~np.isnan(rows) for rows in (x, self.donors_)]
        a, b = (np.nan_to_num(rows) for rows in (x, self.donors_))
        m_a, m_b = (flags.astype(float) for flags in shown)
        squares = (a**2) @ m_b.T + m_a @ (b**2).T - 2 * a @ b.T
        n_common = m_a[:, starts] @ m_b[:, starts].T
        with np.errstate(divide="ignore", invalid="ignore"):
            return squares.clip(min=0) * (len(starts) / n_common)

    def _average(self, near: np.ndarray, values: np.ndarray, j: int) -> np.ndarray:
        """Average donors' values by inverse distance; the center if none is near."""
        k = min(self.settings["n_neighbors"], near.shape[1])
        near = np.where(np.isnan(near), np.inf, near)
        index = np.argpartition(near, k - 1, axis=1)[:, :k]
        distance = np.sqrt(np.take_along_axis(near, index, axis=1))
        # Rounding of the expanded square leaves about 1e-8 between equal rows.
        exact = distance < 1e-7
        weight = 1 / np.where(exact, 1.0, distance)  # no overlap: 1 / inf = 0
        weight = np.where(exact.any(axis=1, keepdims=True), exact, weight)
        total = weight.sum(axis=1, keepdims=True)
        mean = np.einsum("nk,nkw->nw", weight, values[index])
        center = self.code_.center[self.code_.blocks[j]]
        return np.where(total > 0, mean / np.where(total > 0, total, 1), center)
