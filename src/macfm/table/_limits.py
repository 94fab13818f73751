"""How filled numbers are kept within a limit without piling up on it.

A value beyond a limit could be moved onto it, but where no observed value lies there
that puts a spike into the column which the data do not have. So draws are reflected,
which keeps their spread, and central values, which must keep their order, are squeezed:
they are left alone in the bulk and bent beyond a low quantile. Both end at the observed
value nearest to the limit, or at the limit itself if that is far from all of them. Only
where many observed values lie on the limit are values moved onto it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

BULK = 0.02
"""Share of the observed values that lies between a limit and the bulk."""

LEAST_WIDTH = 0.05
"""What lies there is at least this wide, in distances from the edge to the median."""

LEAST_PILE, SHARE_OF_PILE = 5, 0.01
"""Cells with one and the same extreme value that are no accident, and their share."""


@dataclass(frozen=True)
class Limit:
    """One end of the legal values and what lies near it."""

    #: 1 for a lower limit, -1 for an upper one.
    sign: int
    #: The limit.
    end: float
    #: Where values end: the observed value nearest to the limit, or the limit itself if
    #: that is further from this value than the median is.
    target: float
    #: Where squeezing begins.
    knee: float
    #: Whether many observed values lie on the limit; then values are moved onto it.
    piled: bool
    #: Whether any observed value lies on it; if not, no filled one does.
    reached: bool

    @classmethod
    def fit(cls, end: float, seen: np.ndarray, sign: int) -> Limit:
        """Look at observed values, shape (n_observed,), near a limit."""
        inner = seen[sign * seen >= sign * end]
        if not len(inner):
            return cls(sign, end, end, end, piled=True, reached=True)
        depth = sign * (inner - end)  # how far inside, at least 0
        nearest, knee, middle = np.quantile(depth, [0, BULK, 0.5])
        knee = max(knee, nearest + LEAST_WIDTH * (middle - nearest))
        target, knee = end + sign * nearest, end + sign * knee
        if nearest > middle - nearest:  # further away than its column is wide
            # The value itself: a tiny one would be lost in its distance from the limit.
            target, knee = end, inner[(sign * inner).argmin()]
        return cls(
            sign,
            end,
            target=float(target),
            knee=float(knee),
            piled=is_pile(int((depth == 0).sum()), len(seen)),
            reached=bool(nearest == 0),
        )

    @classmethod
    def from_array(cls, end: float, array: np.ndarray, sign: int) -> Limit:
        """Undo ``to_array``; sign and end follow from the schema."""
        target, knee, piled, reached = array.tolist()
        return cls(sign, end, target, knee, bool(piled), bool(reached))

    def to_array(self) -> np.ndarray:
        """Return what was fitted, shape (4,)."""
        fitted = (self.target, self.knee, self.piled, self.reached)
        return np.array(fitted, dtype=np.float64)

    def is_beyond(self, values: np.ndarray) -> np.ndarray:
        """Tell which values lie beyond the target."""
        return self.sign * (values - self.target) < 0

    def clip(self, values: np.ndarray) -> np.ndarray:
        """Move what lies beyond the limit onto it."""
        return (np.maximum if self.sign > 0 else np.minimum)(values, self.end)

    def squeeze(self, values: np.ndarray) -> np.ndarray:
        """Bend values beyond the knee so that they end at the target.

        With width w from target to knee and v a distance d beyond the knee, the result
        lies ``w / (1 + w / d)`` from the knee: continuous with its derivative, strictly
        monotone, and v itself where d is small.
        """
        width = self.sign * (self.knee - self.target)
        if self.piled or not width > 0:
            return self.clip(values)
        with np.errstate(over="ignore", divide="ignore"):
            beyond = np.maximum(self.sign * (self.knee - values), 0.0)
            bent = self.knee - self.sign * width / (1 + width / beyond)
        return np.where(beyond > 0, bent, values)


def is_pile(n_cells: int, n_observed: int) -> bool:
    """Whether many observed cells hold one and the same extreme value."""
    return n_cells >= max(LEAST_PILE, SHARE_OF_PILE * n_observed)


def squeeze(values: np.ndarray, limits: Sequence[Limit]) -> np.ndarray:
    """Bring central values, shape (n,), within the limits and keep their order."""
    for limit in limits:
        values = limit.squeeze(values)
    for limit in limits:
        values = limit.clip(values)
    return values


def fold(values: np.ndarray, limits: Sequence[Limit]) -> np.ndarray:
    """Bring draws, shape (n,), within the limits by reflection.

    Examples
    --------
    >>> import numpy as np
    >>> low = Limit.fit(0.0, np.array([0.0, 1.0, 2.0]), 1)
    >>> fold(np.array([-0.25, 0.75]), [low])
    array([0.25, 0.75])
    """
    for limit in limits:
        if limit.piled:
            values = limit.clip(values)
    mirrors = [limit for limit in limits if not limit.piled]
    with np.errstate(over="ignore", invalid="ignore"):
        for limit in mirrors:
            mirrored = 2 * limit.target - values
            values = np.where(limit.is_beyond(values), mirrored, values)
        if len(mirrors) == 2:
            first, second = mirrors
            width = abs(second.target - first.target)
            depth = np.remainder(first.sign * (values - first.target), 2 * width)
            depth = np.where(np.isfinite(depth), depth, width)
            depth = np.minimum(depth, 2 * width - depth)
            # What one reflection has brought inside keeps its digits.
            outside = first.is_beyond(values) | second.is_beyond(values)
            outside |= ~np.isfinite(values)
            values = np.where(outside, first.target + first.sign * depth, values)
    for limit in limits:
        values = limit.clip(values)
    return values
