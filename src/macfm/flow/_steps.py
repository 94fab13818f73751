"""Lines that stay at values which a column repeats, as often as it does."""

from __future__ import annotations

import numpy as np

# A value comes back if so many cells hold it, and this share of them.
_LEAST_CELLS, _LEAST_SHARE = 5, 0.01
# Inside of the ranks of a value, beyond all ranks, and on either side of half the way
# from one to another.
_INSIDE, _BEYOND = 1e-9, 1e-3
_BESIDE = (1 - 1e-6, 1 + 1e-6)
# What makes a line rise where it stays, so that it can be read backwards.
_TINY = 1e-9


def stepped(
    line: np.ndarray, values: np.ndarray, *, drawn: np.ndarray, ranks: np.ndarray
) -> np.ndarray:
    """Let a line ``(2, n_knots)`` stay at values that come back, as often as they do.

    Parameters
    ----------
    line : ndarray, shape (2, n_knots)
        Draws that rise, and numbers that they become.
    values : ndarray, shape (n,)
        What is observed.
    drawn : ndarray, shape (n_knots,)
        Rank of each of these draws among all draws, in [0, 1].
    ranks : ndarray, shape (n_ranks,)
        Ranks between which quantiles of the values lie on straight lines, from 0 to 1.

    Notes
    -----
    A number has the rank that these lines say, and becomes the value of this rank. One
    that comes back has many ranks. Nearer to it than half the way to its neighbours,
    where lines say little, the rank of the draw tells which of these it is.
    """
    levels, counts = np.unique(values, return_counts=True)
    often = counts >= max(_LEAST_CELLS, _LEAST_SHARE * len(values))
    if not often.any():
        return line
    last = counts.cumsum() / len(values)
    first = last - counts / len(values)
    (k,) = np.nonzero(often)
    quantiles = np.quantile(values, ranks)
    half = (levels[1:] + levels[:-1]) / 2

    at, become = line
    # Ranks go on beyond all values, so that these are where the last of them are.
    numbers = np.concatenate([quantiles[:1] - 1, quantiles, quantiles[-1:] + 1])
    of_numbers = np.concatenate([[-_BEYOND], ranks, [1 + _BEYOND]])
    # They bend at quantiles, and where a line comes near such a value or leaves it.
    edges = np.concatenate([levels[:1], half, levels[-1:]])
    beside = [
        levels[k] + (edges[side] - levels[k]) * b
        for side in (k, k + 1)
        for b in _BESIDE
    ]
    bends = np.interp(np.concatenate([*beside, numbers]), _rising(become), at)
    place = np.unique(np.concatenate([at, bends]))
    number = np.interp(place, at, become)
    rank = np.interp(number, _rising(numbers), of_numbers)
    nearest = np.searchsorted(half, number)
    low = np.minimum(first[nearest] + _INSIDE, rank)
    high = np.maximum(last[nearest] - _INSIDE, rank)
    asked = np.interp(place, at, drawn).clip(low, high)
    rank = np.maximum.accumulate(np.where(often[nearest], asked, rank))

    # Between these and the next such value's ranks stand the values beside it.
    before, after = k[k > 0], k[k < len(levels) - 1]
    between = ~often[np.searchsorted(last, ranks).clip(max=len(last) - 1)]
    told = [
        (first[k], levels[k]),
        (last[k], levels[k]),
        (first[before], levels[before - 1]),
        (last[after], levels[after + 1]),
        (ranks[between], quantiles[between]),
    ]
    at_rank, value = np.concatenate(told, axis=1)
    order = np.lexsort((value, at_rank))
    at_rank, value = at_rank[order], np.maximum.accumulate(value[order])
    steps = np.array([np.interp(at_rank, rank, place), value])
    # Beyond the outermost of them as the line does, but not beyond what comes back.
    below, above = line[:, become < value[0]], line[:, become > value[-1]]
    if often[0]:
        below = np.array([[at[0]], levels[:1]])
    if often[-1]:
        above = np.array([[at[-1]], levels[-1:]])
    found = np.concatenate([below, steps, above], axis=1)
    return np.maximum.accumulate(found, axis=1)


def _rising(numbers: np.ndarray) -> np.ndarray:
    """Let numbers that do not fall rise by a little everywhere."""
    return numbers + _TINY * np.arange(len(numbers))
