"""How far trees are believed, and how wide draws are: what held-out rows say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from macfm.flow._forest import ColumnTrees
from macfm.flow._levels import Levels
from macfm.flow._path import Path
from macfm.flow._polish import Center, Polish
from macfm.flow._sampler import draw_rows
from macfm.flow._solver import SolverConfig
from macfm.flow._trust import by_column, shrunk
from macfm.flow._validation import Validation
from macfm.flow.network import GuidedEnsemble

# Trees that are hardly believed are not worth keeping.
_LEAST_SHARE = 0.03
# Held-out rows say little of a single column, so what they say of all counts as much.
_OWN = 0.5
_SPREADS = (0.7, 1.4)
_MAX_DRAWN_CELLS = 40_000


@dataclass(frozen=True)
class Calibration:
    """What held-out rows say of trees and draws."""

    polish: Polish
    """What to add to the networks' answers."""
    mean: Tensor
    """The held-out rows' mean with it, shape ``(n, d)``."""


def calibrate(
    network: GuidedEnsemble,
    trees: Sequence[ColumnTrees],
    validation: Validation,
    *,
    levels: Sequence[tuple[Tensor, Tensor]],
    atoms: Tensor,
    group: Tensor,
    is_num: Tensor,
    path: Path,
    solver: SolverConfig,
    generator: torch.Generator,
) -> Calibration:
    """Find how far trees are believed, and how wide draws must be.

    Parameters
    ----------
    network : GuidedEnsemble
        The trained networks.
    trees : sequence of ColumnTrees
        Grown on other rows than those of `validation`.
    validation : Validation
        Held-out rows.
    levels : sequence of tuple of Tensor
        Coordinates and encoded categories of each column of categories.
    atoms : Tensor of int64
        Coordinates of numbers that repeat a value; their draws are left as they are.
    group, is_num : Tensor, shape (d,)
        Column of each coordinate, and whether it is numeric.
    path, solver : Path, SolverConfig
        How draws are made.
    generator : torch.Generator
        Source of their noise.

    Notes
    -----
    With e = x − m the networks' error on a hidden cell and f − m what the trees change,
    the share that minimises Σ (e − b (f − m))² is A / B, A = Σ e (f − m),
    B = Σ (f − m)². Of it counts what is beyond doubt, A / B · (1 − 4 / z²) for
    z = A / se(A) above 2: trees flatten what a line continues, so they must have proved
    themselves. Half is the column's own, half that of all columns of numbers, or of
    categories, together. The spread is √(Σ (x − m⋆)² / Σ (X − m)²) over draws X,
    likewise half a column's own.
    """
    known = [
        Levels(place, codes)
        for place, codes in levels
        if 1 < len(codes) <= len(place) + 1
    ]
    ones = torch.ones(len(group), device=group.device)
    moves = is_num.index_fill(0, atoms, False)
    half = Polish(trees, 0.5 * ones, ones, moves, levels=())
    mean = validation.mean(network, path=path)
    rows = validation.x, validation.masks.cond, mean
    center = half.center(*rows, n_rows=len(validation.x))
    share = _share(center, validation, group=group, is_num=is_num)
    # Categories in bits cannot be drawn again, so trees have no say in them.
    spoken = is_num.clone()
    for one in known:
        spoken[one.place] = True
    share = torch.where(spoken & (share >= _LEAST_SHARE), share, 0.0)
    kept = [one for one in trees if share[one.place[0]] > 0]
    believed = {int(one.place[0]) for one in kept}
    drawn_again = [one for one in known if int(one.place[0]) in believed]
    polish = Polish(kept, share, ones.clone(), moves, levels=drawn_again)
    polish = polish.to(group.device)
    center = polish.center(*rows, n_rows=len(validation.x))
    polish.spread.copy_(
        _spread(
            network,
            center,
            validation,
            numbers=moves,
            path=path,
            solver=solver,
            generator=generator,
        )
    )
    return Calibration(polish=polish, mean=center.polished)


def _share(
    center: Center, validation: Validation, *, group: Tensor, is_num: Tensor
) -> Tensor:
    """Return the share of trees by coordinate, from a center with half of them."""
    scored = validation.masks.tgt
    e = torch.where(scored, validation.x - center.networks, 0.0).double()
    change = 2 * (center.polished - center.networks)
    change = torch.where(scored, change, 0.0).double()
    n_columns = int(group.max()) + 1
    product, square = (
        by_column(part, group, n_columns, validation.n_rows)
        for part in (e * change, change.square())
    )
    numeric = torch.zeros(n_columns, dtype=torch.bool, device=group.device)
    numeric[group[is_num]] = True
    # A column that trees make worse counts against what is said of all.
    worse = product.sum(dim=0) / square.sum(dim=0).clamp(min=1e-12)
    own = torch.where(worse < 0, worse.clamp(min=-1.0), shrunk(product, square))
    pooled = torch.zeros_like(own)
    for kind in (numeric, ~numeric):
        both = (part[:, kind].sum(dim=1, keepdim=True) for part in (product, square))
        pooled[kind] = shrunk(*both)
    share = _OWN * own + (1 - _OWN) * pooled
    return share.clamp(0.0, 1.0)[group].to(validation.x.dtype)


def _spread(
    network: GuidedEnsemble,
    center: Center,
    validation: Validation,
    *,
    numbers: Tensor,
    path: Path,
    solver: SolverConfig,
    generator: torch.Generator,
) -> Tensor:
    """Return what the draws' distances from the mean are to be multiplied by."""
    rows = slice(0, max(_MAX_DRAWN_CELLS // validation.x.shape[1], 1))
    x, m_cond = validation.x[rows], validation.masks.cond[rows]
    scored = validation.masks.tgt[rows] & numbers
    eps = torch.randn(x.shape, generator=generator, device=x.device)
    drawn = draw_rows(network, x, m_cond, eps=eps, path=path, config=solver)
    apart = torch.where(scored, drawn - center.networks[rows], 0.0).double()
    wide = apart.square().sum(dim=0)
    miss = torch.where(scored, x - center.polished[rows], 0.0).double()
    far = miss.square().sum(dim=0)
    judged = numbers & (wide > 0) & (far > 0)
    if not judged.any():
        return torch.ones_like(x[0])
    own = (far / wide.clamp(min=1e-30)).clamp(min=1e-30).sqrt()
    pooled = (far[judged] / wide[judged]).log().mean().div(2).exp()
    spread = own.log().mul(_OWN).add(pooled.log(), alpha=1 - _OWN).exp()
    spread = torch.where(judged, spread, 1.0).clamp(*_SPREADS)
    return spread.to(x.dtype)
