"""Encoded categories: the nearest to a code, and what a mean of codes tells."""

from __future__ import annotations

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor, nn

from macfm.flow._precision import products

# What is added to each probability before its logarithm is taken: draws of a smooth
# network have some of what it calls impossible.
_FLOOR = 0.01
# The doubt about power and offsets before any draw is seen.
_POWER_DOUBT, _OFFSET_DOUBT = 0.5, 1.0


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
    with products("highest"):
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
    power, offset : Tensor, shape () and (n_levels,), or None
        What the networks' draws make of these probabilities; None where they are taken
        to follow them.

    Notes
    -----
    Of a row's probabilities p a network's draws, each the category nearest to a code
    that was carried there, follow g ∝ (p + 0.01)ᵞ eᵇ, with γ the power and b the
    offset: the rare ones come too seldom.
    """

    place: Tensor
    codes: Tensor
    inverse: Tensor
    power: Tensor | None
    offset: Tensor | None

    def __init__(
        self,
        place: Tensor,
        codes: Tensor,
        *,
        power: Tensor | None = None,
        offset: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.register_buffer("place", place)
        self.register_buffer("codes", codes)
        self.register_buffer("power", power)
        self.register_buffer("offset", offset)
        # A mean code is the mean of the codes under the probabilities, which sum to 1.
        system = torch.cat([codes.T, torch.ones_like(codes[:, :1]).T]).double()
        self.register_buffer("inverse", torch.linalg.pinv(system))

    def probabilities(self, mean: Tensor) -> Tensor:
        """Return probabilities ``(n, n_levels)`` behind mean codes ``(n, d)``."""
        code = mean[:, self.place].double()
        code = torch.cat([code, torch.ones_like(code[:, :1])], dim=1)
        p = (code @ self.inverse.T).clamp(min=1e-9)
        return p / p.sum(dim=1, keepdim=True)

    def of_draws(self, p: Tensor) -> Tensor:
        """Return what draws follow where probabilities are p, ``(n, n_levels)``."""
        if self.power is None or self.offset is None:
            return p
        return torch.softmax(self.power * (p + _FLOOR).log() + self.offset, dim=1)

    def nearest(self, x: Tensor) -> Tensor:
        """Return the number of the category nearest to codes, (…, d) → (…,)."""
        return nearest(x[..., self.place], self.codes)

    def learn(self, mean: Tensor, drawn: Tensor, hidden: Tensor) -> Levels:
        """Return the same with the law of draws ``(n_draws, n, d)`` of rows.

        ``mean`` are the rows' mean codes, ``(n, d)``, of those that are `hidden`, (n,).
        """
        p = self.probabilities(mean[hidden]).cpu().numpy()
        code = self.nearest(drawn[:, hidden]).cpu().numpy()
        shares = np.zeros_like(p)  # of a row's draws that are a category
        for one in code:
            shares[np.arange(len(p)), one] += 1
        power, offset = _law(np.log(p + _FLOOR), shares)
        return Levels(
            self.place,
            self.codes,
            power=self.codes.new_tensor(power, dtype=torch.float64),
            offset=self.codes.new_tensor(offset, dtype=torch.float64),
        )

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


def _law(log_p: np.ndarray, counts: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the power and the offsets under which counts are the most likely.

    Both are of shape ``(n, n_levels)``. Power 1 and no offsets are what is thought
    before.
    """
    n_draws = counts.sum(axis=1, keepdims=True)
    told = counts.sum(axis=0)

    def loss(law: np.ndarray) -> tuple[float, np.ndarray]:
        score = (1 + law[0]) * log_p + law[1:]
        top = score.max(axis=1, keepdims=True)
        weight = np.exp(score - top)
        total = weight.sum(axis=1, keepdims=True)
        expected = n_draws * weight / total
        doubt = np.concatenate([[_POWER_DOUBT], np.full(len(told), _OFFSET_DOUBT)])
        away = law / doubt
        value = (n_draws * (np.log(total) + top)).sum() - (counts * score).sum()
        slope = [((expected - counts) * log_p).sum(), *(expected.sum(axis=0) - told)]
        return value + (away**2).sum() / 2, np.array(slope) + away / doubt

    start = np.zeros(1 + len(told))
    found = minimize(loss, start, jac=True, method="L-BFGS-B").x
    return float(1 + found[0]), found[1:]
