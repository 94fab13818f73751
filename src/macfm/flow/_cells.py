"""Cells of several coordinates: their variances, and what they count in the loss."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from macfm.flow._schedule import interpolate

# Weights are worked out at so many values of s, evenly spaced.
_N_KNOTS = 65
# A category that hardly occurs has no variance to divide by.
_LEAST_VARIANCE = 1e-4


@dataclass(frozen=True)
class CellWeights:
    """Weights of the coordinates of columns that have several.

    Notes
    -----
    Of a coordinate with variance σ², the velocity X − ε keeps, given x_t, the variance

        r(s; σ²) = 1 / ((1 − s)² / σ² + s²).

    The variances of a category's coordinates add up to 1, so at s = 0 they leave as
    much as one number does; at s = 1 each of them does, and a column of 40 categories
    would count 40 times. Divided by what its coordinates keep together, and multiplied
    by what a number keeps, r(s; 1), a column counts as one cell at every s.
    """

    # NOTE[DIFF]: the paper counts coordinates.

    knots: Tensor
    """Weights at evenly spaced values of s, shape ``(n_knots, d)``."""
    share: Tensor
    """Which part of a cell a coordinate is, shape ``(d,)``."""

    def at(self, s_t: Tensor) -> Tensor:
        """Return the weights at s, ``(n, d)``."""
        return interpolate(self.knots, s_t)

    def mean_square(self, value: Tensor, where: Tensor, *, s_t: Tensor) -> Tensor:
        """Mean of ``value²`` over the cells where ``where`` is True."""
        square = self.at(s_t) * torch.where(where, value, 0.0).square()
        return square.sum() / (where * self.share).sum().clamp(min=1)


def cells_of(group: Tensor, is_num: Tensor) -> Tensor:
    """Return the cell of each coordinate: a column's atoms are one of their own.

    A number and its normal score share one.
    """
    return 2 * group + is_num


def parts_of(group: Tensor, is_num: Tensor) -> Tensor:
    """Return what is judged by itself: a number, its atoms and its score are three."""
    is_score = is_num & ~is_first(group)
    return 3 * group + is_num + is_score


def is_first(group: Tensor) -> Tensor:
    """Tell which coordinates are the first of their column, shape ``(d,)``."""
    return torch.diff(group, prepend=group.new_full((1,), -1)) > 0


def cell_variances(x: Tensor, observed: Tensor, *, cell: Tensor) -> Tensor | None:
    """Return the variance of coordinates that share a cell, 1 for others, ``(d,)``.

    Parameters
    ----------
    x, observed : Tensor, shape (n, d)
        Encoded rows, centred, and where they hold a value.
    cell : Tensor of int64, shape (d,)
        The cell that each coordinate belongs to, from `cells_of`.

    Returns
    -------
    Tensor or None
        None if every cell is one coordinate.
    """
    _, cell, size = torch.unique(cell, return_inverse=True, return_counts=True)
    if bool((size == 1).all()):
        return None
    squares = torch.where(observed, x, 0.0).double().square().sum(dim=0)
    variance = squares / observed.sum(dim=0).clamp(min=1)
    variance = variance.clamp(min=_LEAST_VARIANCE)
    return torch.where(size[cell] > 1, variance, 1.0).to(x.dtype)


def weigh_cells(variance: Tensor | None, *, cell: Tensor) -> CellWeights | None:
    """Weigh coordinates of some variance by cells; None weighs all alike."""
    if variance is None:
        return None
    _, cell, size = torch.unique(cell, return_inverse=True, return_counts=True)
    s = torch.linspace(0, 1, _N_KNOTS, dtype=torch.float64, device=cell.device)
    s = s.unsqueeze(1)
    kept = 1 / ((1 - s) ** 2 / variance.double() + s**2)
    together = kept.new_zeros(_N_KNOTS, len(size)).index_add_(1, cell, kept)
    of_a_number = 1 / ((1 - s) ** 2 + s**2)
    knots = torch.where(size[cell] > 1, of_a_number / together[:, cell], 1.0)
    share = 1 / size[cell]
    return CellWeights(knots=knots.to(variance.dtype), share=share.to(variance.dtype))
