"""How draws of numbers are written: values that come back, and decimals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from macfm.table._transform import NumericTransform

LEAST_CELLS, LEAST_SHARE = 5, 0.005
"""Cells that hold a value that comes back, and their share; atoms do not count.

Half of what makes draws stay at a value: they may go by a part of the rows.
"""


MAX_DECIMALS = 6
"""Most decimals that are counted; numbers with more are not rounded."""


def decimals_of(seen: np.ndarray) -> int:
    """Count the decimals of observed numbers; 0 if they are whole, or have many.

    Examples
    --------
    >>> import numpy as np
    >>> decimals_of(np.array([36.6, 37.25])), decimals_of(np.array([1.0, np.pi]))
    (2, 0)
    """
    for decimals in range(MAX_DECIMALS + 1):
        if (np.round(seen, decimals) == seen).all():
            return decimals
    return 0


@dataclass(frozen=True)
class Often:
    """Values that come back; arrays of shape (k,) that rise.

    In float32 a value is not quite itself any more: 36.6 is 36.599998.
    """

    #: Their distances from the column's origin, float64.
    offsets: np.ndarray
    #: What the column's number is in cells that hold them, float32.
    numbers: np.ndarray

    @classmethod
    def make(cls, offsets: np.ndarray, transform: NumericTransform) -> Often:
        """Make it for known values."""
        return cls(offsets, transform.forward(offsets).astype(np.float32))

    @classmethod
    def fit(
        cls, seen: np.ndarray, atoms: np.ndarray, transform: NumericTransform
    ) -> Often:
        """Find those among observed values, shape (n_observed,), but its atoms."""
        values, counts = np.unique(seen[~np.isin(seen, atoms)], return_counts=True)
        enough = max(LEAST_CELLS, LEAST_SHARE * counts.sum())
        return cls.make(values[counts >= enough], transform)

    def restore(self, offsets: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Put the value itself where a number x is that of one, but for rounding."""
        if not len(self.offsets):
            return offsets
        x = x.astype(np.float32)
        above = np.searchsorted(self.numbers, x).clip(1, max(len(self.numbers) - 1, 1))
        below, above = above - 1, np.minimum(above, len(self.numbers) - 1)
        far = [np.abs(x - self.numbers[k]) for k in (below, above)]
        k = np.where(far[0] <= far[1], below, above)
        same = np.minimum(*far) <= np.spacing(np.abs(self.numbers[k]))
        return np.where(same, self.offsets[k], offsets)
