"""The ranks among draws between which a truth lies as often as it is to."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def least_draws(level: float) -> int:
    """Return how many draws a range needs to hold a share `level` of the truths.

    Examples
    --------
    >>> least_draws(0.9), least_draws(0.5)
    (19, 3)
    """
    return math.ceil(round(2 / (1 - level), 6)) - 1


def range_places(level: float, n_draws: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return where a range begins and ends among draws in order, counted from 0.

    `n_draws` and what is returned have the same shape. Of too few draws for `level`
    the range is that of all.

    Notes
    -----
    A truth and n draws of a calibrated sampler are exchangeable: it lies between the
    k-th smallest and the k-th largest with probability 1 − 2 k / (n + 1), of which k
    is the largest that leaves `level`.

    Examples
    --------
    >>> low, high = range_places(0.9, [3, 19, 39])
    >>> low.tolist(), high.tolist()
    ([0, 0, 1], [2, 18, 37])
    """
    n_draws = np.asarray(n_draws)
    beyond = np.round((1 - float(level)) / 2 * (n_draws + 1), 6)  # 2, not 1.9999…
    low = np.maximum(beyond.astype(int) - 1, 0)
    return low, np.maximum(n_draws - 1 - low, 0)
