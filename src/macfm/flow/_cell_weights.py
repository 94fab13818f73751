"""How much a coordinate counts in the loss, so that each column counts as one cell."""

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


def weigh_cells(x: Tensor, observed: Tensor, *, part: Tensor) -> CellWeights | None:
    """Weigh coordinates by the variance that rows give them.

    Parameters
    ----------
    x, observed : Tensor, shape (n, d)
        Encoded rows, centred, and where they hold a value.
    part : Tensor of int64, shape (d,)
        The cell that each coordinate belongs to.

    Returns
    -------
    CellWeights or None
        None if every cell is one coordinate: all count alike.
    """
    _, part, size = torch.unique(part, return_inverse=True, return_counts=True)
    if bool((size == 1).all()):
        return None
    squares = torch.where(observed, x, 0.0).double().square().sum(dim=0)
    variance = squares / observed.sum(dim=0).clamp(min=1)
    s = torch.linspace(0, 1, _N_KNOTS, dtype=torch.float64, device=x.device)[:, None]
    kept = 1 / ((1 - s) ** 2 / variance.clamp(min=_LEAST_VARIANCE) + s**2)
    together = kept.new_zeros(_N_KNOTS, len(size)).index_add_(1, part, kept)
    of_a_number = 1 / ((1 - s) ** 2 + s**2)
    knots = torch.where(size[part] > 1, of_a_number / together[:, part], 1.0)
    return CellWeights(knots=knots.to(x.dtype), share=(1 / size[part]).to(x.dtype))
