"""What held-out rows add to the networks' answers: trees, and the draws' spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import cast

import torch
from torch import Tensor, nn

from macfm.flow._atoms import Atoms
from macfm.flow._forest import ColumnTrees
from macfm.flow._grove import Grove
from macfm.flow._levels import Levels
from macfm.flow._margins import Margins
from macfm.flow._noise import keyed_normal
from macfm.flow._scores import Scores
from macfm.flow._stretch import Stretch

# Trees see what trees have found, as far as they are believed.
_N_SWEEPS = 2
# Noise of categories that are drawn again comes from streams of its own.
_REDRAW = 0x5D1E


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
    follows : Tensor, shape (d,)
        How far draws move with the mean, in [0, 1]: all the way where a number has no
        atoms, not at all where it is none.
    atoms : Atoms
        Values that numbers repeat.
    stretch : Stretch
        What becomes of the draws' distances from the mean.
    levels : sequence of Levels
        Categories that may be drawn again.
    scores : Scores
        Numbers whose draws are read off their normal scores.
    margins : Margins
        What makes draws of a whole column look like its values.
    reach : Tensor, shape (d,), or None
        How far trees may be from the networks' mean; None sets no bounds.
    in_median : Tensor, shape (d,), or None
        How far the median of the trees is believed where a median is asked for, in
        [0, 1]. None if nobody has asked held-out rows.

    Notes
    -----
    With m the networks' conditional mean and f what the trees make of the row that m
    completes, within their reach, the mean is m⋆ = m + b (f − m), and of a draw X of
    the networks it makes

        X⋆ = m⋆ + stretched (X − m)

    where it is a number, or the normal score that one is then read off, which its
    margin then bends. One with atoms goes a part of the way by which its mean, if it is
    none of them, goes from m to m⋆. Where it is a category, one drawn from g, which
    `Levels` tells, is kept with probability min(1, p⋆/g), and drawn from (p⋆ − g)₊
    otherwise, so that it follows p⋆.
    """

    # NOTE[DIFF]: the paper's answers are its network's alone.

    share: Tensor
    follows: Tensor
    reach: Tensor
    in_median: Tensor | None
    atom_number: Tensor

    def __init__(
        self,
        trees: Sequence[ColumnTrees],
        share: Tensor,
        follows: Tensor,
        *,
        atoms: Atoms,
        stretch: Stretch,
        levels: Sequence[Levels],
        scores: Scores,
        margins: Margins,
        reach: Tensor | None,
        in_median: Tensor | None,
    ) -> None:
        super().__init__()
        self.trees = nn.ModuleList(trees)
        self._grove = Grove(trees)
        self._first = [int(one.place[0]) for one in trees]
        self.levels = nn.ModuleList(levels)
        for part in fields(Atoms):
            self.register_buffer(f"atom_{part.name}", getattr(atoms, part.name))
        self.stretch = stretch
        self.scores = scores
        self.margins = margins
        self.register_buffer("share", share)
        self.register_buffer("follows", follows)
        far = torch.full_like(share, torch.inf) if reach is None else reach
        self.register_buffer("reach", far)
        self.register_buffer("in_median", in_median)

    @property
    def atoms(self) -> Atoms:
        """Values that numbers repeat."""
        return Atoms(*(getattr(self, f"atom_{part.name}") for part in fields(Atoms)))

    @property
    def moves(self) -> Tensor:
        """Numbers without atoms, whose draws go all the way, flags of shape (d,)."""
        return (self.follows > 0).index_fill(0, self.atom_number, False)

    def with_trees(self, trees: Sequence[ColumnTrees]) -> Polish:
        """Return the same with other trees of the same columns."""
        levels = cast("list[Levels]", list(self.levels))
        return Polish(
            trees,
            self.share,
            self.follows,
            atoms=self.atoms,
            stretch=self.stretch,
            levels=levels,
            scores=self.scores,
            margins=self.margins,
            reach=self.reach,
            in_median=self.in_median,
        )

    def center(
        self, x: Tensor, observed: Tensor, mean: Tensor, *, n_rows: int
    ) -> Center:
        """Add what the trees say to the networks' mean of rows ``(n, d)``.

        The rows after the first `n_rows` are padding, whose mean stays as it is.
        """
        found, polished = mean.clone(), mean
        hidden = ~observed[:n_rows, self._first]
        for _ in range(_N_SWEEPS if self._first else 0):
            rows = _rows_of(hidden)
            for k, said in self._grove(polished, rows).items():
                found[rows[k][:, None], self._grove.trees[k].place] = said
            found = self._within_reach(found, mean)
            polished = torch.where(observed, x, torch.lerp(mean, found, self.share))
            # Trees do not see their own column: a row that lacks no other looks to them
            # as it did before.
            hidden = hidden & (hidden.sum(dim=1, keepdim=True) > 1)
        return Center(networks=mean, polished=polished)

    def medians(self, observed: Tensor, center: Center, *, n_rows: int) -> Tensor:
        """Return what the middle one of the trees says of rows ``(n, d)``.

        The networks' mean where there are no trees; `n_rows` is as in `center`.
        """
        found = center.networks.clone()
        rows = _rows_of(~observed[:n_rows, self._first])
        for k, said in self._grove.medians(center.polished, rows).items():
            found[rows[k][:, None], self._grove.trees[k].place] = said
        return self._within_reach(found, center.networks)

    def _within_reach(self, found: Tensor, mean: Tensor) -> Tensor:
        return found.minimum(mean + self.reach).maximum(mean - self.reach)

    def moved(self, drawn: Tensor, center: Center, *, stretched: bool) -> Tensor:
        """Return draws whose numbers, and scores of them, are where they belong."""
        apart, numbers = drawn - center.networks, self.follows > 0
        if stretched:
            apart, numbers = self.stretch(apart), numbers | self.stretch.acts
        return torch.where(numbers, self.middle(center) + apart, drawn)

    def middle(self, center: Center) -> Tensor:
        """Return what draws of rows are to be around, not the networks' mean."""
        aim, atoms = center.polished, self.atoms
        if len(atoms.flag):
            go = atoms.beside(center.polished) - atoms.beside(center.networks)
            aim = torch.where(self.moves, aim, center.networks + go)
        return torch.lerp(center.networks, aim, self.follows)

    def move(
        self,
        drawn: Tensor,
        center: Center,
        observed: Tensor,
        *,
        keys: Tensor,
        seed: int,
        draws: Sequence[int],
        stretched: bool,
    ) -> Tensor:
        """Move draws ``(n_draws, n, d)`` of the networks to where they belong.

        They are `stretched`, and have their margins, if they are asked for themselves,
        not for their center.
        """
        moved = self.moved(drawn, center, stretched=stretched)
        if stretched:
            moved = self.margins(moved, center.networks)
        moved = self.scores.settle(moved)
        if len(self.levels):
            n_noise = 2 * len(self.levels)
            noise = keyed_normal(keys, seed=seed ^ _REDRAW, draws=draws, d=n_noise)
            u = torch.special.ndtr(noise)
            for k, levels in enumerate(self.levels):
                assert isinstance(levels, Levels)
                old = levels.of_draws(levels.probabilities(center.networks))
                new = levels.probabilities(center.polished)
                code = levels.redrawn(drawn, old, new, u[..., 2 * k : 2 * k + 2])
                moved[..., levels.place] = code.to(moved.dtype)
        return torch.where(observed, drawn, moved)


def _rows_of(hidden: Tensor) -> dict[int, Tensor]:
    """Return the rows in which each column is hidden, if there are any."""
    n_hidden = hidden.sum(dim=0).tolist()
    by_column = torch.nonzero(hidden.T)[:, 1].split(n_hidden)
    return {k: some for k, some in enumerate(by_column) if n_hidden[k]}
