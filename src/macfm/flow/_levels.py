"""Encoded categories: the nearest to a code, and what a mean of codes tells."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn


def number_rows(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows of ``(n, w)`` in order, and the number of each row.

    Rows are told apart by a sum of their entries with weights drawn by lot: one sort of
    numbers, where sorting rows would take many times as long.
    """
    lot = np.random.default_rng(0).standard_normal(x.shape[1])
    key = (x.astype(float) * lot).sum(axis=1)
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    rows = x[first]
    order = np.lexsort(rows.T[::-1])
    return rows[order], np.argsort(order)[number]


def nearest(values: Tensor, codes: Tensor) -> Tensor:
    """Return which of the codes ``(n_levels, w)`` is nearest, (…, w) → (…,)."""
    distance = codes.square().sum(dim=1) - 2 * values @ codes.T
    return distance.argmin(dim=-1)


class Levels(nn.Module):
    """Encoded categories of a column, whose probabilities a mean code tells.

    Parameters
    ----------
    place : Tensor of int64, shape (w,)
        Coordinates of the column.
    codes : Tensor, shape (n_levels, w)
        Codes of the categories, with ``n_levels <= w + 1``.
    """

    place: Tensor
    codes: Tensor
    inverse: Tensor

    def __init__(self, place: Tensor, codes: Tensor) -> None:
        super().__init__()
        self.register_buffer("place", place)
        self.register_buffer("codes", codes)
        # A mean code is the mean of the codes under the probabilities, which sum to 1.
        system = torch.cat([codes.T, torch.ones_like(codes[:, :1]).T]).double()
        self.register_buffer("inverse", torch.linalg.pinv(system))

    def probabilities(self, mean: Tensor) -> Tensor:
        """Return probabilities ``(n, n_levels)`` behind mean codes ``(n, d)``."""
        code = mean[:, self.place].double()
        code = torch.cat([code, torch.ones_like(code[:, :1])], dim=1)
        p = (code @ self.inverse.T).clamp(min=1e-9)
        return p / p.sum(dim=1, keepdim=True)

    def nearest(self, x: Tensor) -> Tensor:
        """Return the number of the category nearest to codes, (…, d) → (…,)."""
        return nearest(x[..., self.place], self.codes)

    def redrawn(self, x: Tensor, old: Tensor, new: Tensor, u: Tensor) -> Tensor:
        """Turn draws of one law into draws of another, changing as few as possible.

        ``x`` are draws ``(n_draws, n, d)``, ``old`` and ``new`` the probabilities
        ``(n, n_levels)`` they follow and are to follow, ``u`` two uniform numbers for
        each draw, ``(n_draws, n, 2)``. Returns the codes, ``(n_draws, n, w)``.
        """
        drawn = self.nearest(x)
        keep = (new / old).clamp(max=1.0).gather(1, drawn.T).T
        gain = (new - old).clamp(min=0.0)
        bounds = (gain / gain.sum(dim=1, keepdim=True).clamp(min=1e-12)).cumsum(dim=1)
        other = torch.searchsorted(bounds, u[..., 1].T.contiguous()).T
        other = other.clamp(max=len(self.codes) - 1)
        return self.codes[torch.where(u[..., 0] <= keep, drawn, other)]
