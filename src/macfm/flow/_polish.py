"""What held-out rows add to the networks' answers: trees, and the draws' spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from macfm.flow._forest import ColumnTrees
from macfm.flow._noise import keyed_normal

# Trees see what trees have found, as far as they are believed.
_N_SWEEPS = 2
# Noise of categories that are drawn again comes from streams of its own.
_REDRAW = 0x5D1E


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
        code = x[..., self.place]
        distance = self.codes.square().sum(dim=1) - 2 * code @ self.codes.T
        return distance.argmin(dim=-1)

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


@dataclass(frozen=True)
class Center:
    """The conditional mean of rows, by the networks and with the trees."""

    networks: Tensor
    """Mean of the networks, shape ``(n, d)``."""
    polished: Tensor
    """With what the trees add to it, shape ``(n, d)``."""


class Polish(nn.Module):
    """Trees beside the networks, and the spread of the draws, as held-out rows say.

    Parameters
    ----------
    trees : sequence of ColumnTrees
        Those of the columns that they help with.
    share : Tensor, shape (d,)
        How far they are believed, in [0, 1], equal within a column.
    spread : Tensor, shape (d,)
        What the draws' distance from the mean is multiplied by.
    moves : Tensor of bool, shape (d,)
        Coordinates whose draws move with the mean: numbers that repeat no value.
    levels : sequence of Levels
        Categories that may be drawn again.

    Notes
    -----
    With m the networks' conditional mean and f what the trees make of the row that m
    completes, the mean is m⋆ = m + b (f − m), and of a draw X of the networks it makes

        X⋆ = m⋆ + ρ (X − m)

    where it is a number. Where it is a category, one drawn from p is kept with
    probability min(1, p⋆/p), and drawn from (p⋆ − p)₊ otherwise, so that it follows p⋆.
    """

    # NOTE[DIFF]: the paper's answers are its network's alone.

    share: Tensor
    spread: Tensor
    moves: Tensor

    def __init__(
        self,
        trees: Sequence[ColumnTrees],
        share: Tensor,
        spread: Tensor,
        moves: Tensor,
        *,
        levels: Sequence[Levels],
    ) -> None:
        super().__init__()
        self.trees = nn.ModuleList(trees)
        self.levels = nn.ModuleList(levels)
        self.register_buffer("share", share)
        self.register_buffer("spread", spread)
        self.register_buffer("moves", moves)

    def replant(self, trees: Sequence[ColumnTrees]) -> None:
        """Take other trees for the columns that have some."""
        self.trees = nn.ModuleList(trees)

    def center(self, x: Tensor, observed: Tensor, mean: Tensor) -> Center:
        """Add what the trees say to the networks' mean of rows ``(n, d)``."""
        polished = mean
        for _ in range(_N_SWEEPS if len(self.trees) else 0):
            found = mean.clone()
            for trees in self.trees:
                assert isinstance(trees, ColumnTrees)
                place = trees.place
                rows = torch.nonzero(~observed[:, place[0]]).squeeze(1)
                found[rows[:, None], place] = trees(polished[rows])
            polished = torch.where(observed, x, torch.lerp(mean, found, self.share))
        return Center(networks=mean, polished=polished)

    def move(
        self,
        drawn: Tensor,
        center: Center,
        observed: Tensor,
        *,
        keys: Tensor,
        seed: int,
        draws: Sequence[int],
    ) -> Tensor:
        """Move draws ``(n_draws, n, d)`` of the networks to where they belong."""
        moved = center.polished + self.spread * (drawn - center.networks)
        moved = torch.where(self.moves, moved, drawn)
        if len(self.levels):
            n_noise = 2 * len(self.levels)
            noise = keyed_normal(keys, seed=seed ^ _REDRAW, draws=draws, d=n_noise)
            u = torch.special.ndtr(noise)
            for k, levels in enumerate(self.levels):
                assert isinstance(levels, Levels)
                old = levels.probabilities(center.networks)
                new = levels.probabilities(center.polished)
                code = levels.redrawn(drawn, old, new, u[..., 2 * k : 2 * k + 2])
                moved[..., levels.place] = code.to(moved.dtype)
        return torch.where(observed, drawn, moved)
