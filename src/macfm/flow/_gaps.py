"""Lines that step over what lies between two groups of values."""

from __future__ import annotations

import numpy as np

# A gap is as wide as this many standard deviations and as this many steps from one
# value to the next beside it, and has so many cells, and such a share, on either side.
_LEAST_WIDTH, _LEAST_STEPS = 0.5, 8.0
_LEAST_CELLS, _LEAST_SHARE = 20, 0.05
# Values beside a gap whose steps are looked at.
_N_BESIDE = 10


def find_gaps(values: np.ndarray) -> list[tuple[float, float, float]]:
    """Return where no value lies between many: its ends, and the share below.

    Examples
    --------
    >>> import numpy as np
    >>> find_gaps(np.concatenate([np.linspace(0, 1, 50), np.linspace(9, 10, 50)]))
    [(1.0, 9.0, 0.5)]
    >>> find_gaps(np.arange(100.0))
    []
    """
    if len(values) < 2 * _LEAST_CELLS:
        return []
    levels, counts = np.unique(values, return_counts=True)
    width, below = np.diff(levels), counts.cumsum()[:-1]
    least = max(_LEAST_CELLS, _LEAST_SHARE * len(values))
    many = np.minimum(below, len(values) - below) >= least
    found = []
    for k in np.flatnonzero(many & (width >= _LEAST_WIDTH * values.std())):
        sides = levels[max(k - _N_BESIDE, 0) : k + 1], levels[k + 1 :][: _N_BESIDE + 1]
        step = max(np.ptp(side) / max(len(side) - 1, 1) for side in sides)
        alone = min(map(len, sides)) <= _N_BESIDE // 2
        if not alone and width[k] >= _LEAST_STEPS * step:
            share = float(below[k] / len(values))
            found.append((float(levels[k]), float(levels[k + 1]), share))
    return found


def over_gaps(
    line: np.ndarray, values: np.ndarray, *, at: np.ndarray, drawn: np.ndarray
) -> np.ndarray:
    """Let a line ``(2, n_knots)`` step over gaps, at the draw of the same rank.

    Parameters
    ----------
    line : ndarray, shape (2, n_knots)
        Draws that rise, and numbers that they become.
    values : ndarray, shape (n,)
        What is observed.
    at, drawn : ndarray, shape (k,)
        Draws that rise, and the rank of each among all draws, in [0, 1].
    """
    for low, high, share in find_gaps(values):
        middle = np.interp(share, drawn, at)
        before = line[:, (line[0] < middle) & (line[1] <= low)]
        after = line[:, (line[0] > middle) & (line[1] >= high)]
        step = np.array([[middle, middle], [low, high]])
        line = np.concatenate([before, step, after], axis=1)
    return line
