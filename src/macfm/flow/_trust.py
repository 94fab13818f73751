"""How far a trained network is to be trusted beyond the guide, column by column."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from macfm.flow._cells import is_first
from macfm.flow._guide import Gaussian
from macfm.flow._path import Path
from macfm.flow._validation import Validation
from macfm.flow.network import GuidedEnsemble

# Trust is measured at s = 0, 1/5, …, 4/5; beyond, where x_t tells nearly all, it stays.
N_KNOTS = 6
# With fewer held-out rows nothing is said of a column.
_ENOUGH_ROWS = 50


def measure_trust(
    network: nn.Module,
    guide: Gaussian,
    validation: Validation,
    *,
    group: Tensor,
    path: Path,
) -> Tensor:
    """Find the share of a network's change to the guide that pays on held-out rows.

    Parameters
    ----------
    network : nn.Module
        Velocity of the network, called as ``net(x_t, t, m_cond)``; if it stands around
        the guide, a `GuidedEnsemble`.
    guide : Gaussian
        What it is to be better than.
    validation : Validation
        Held-out rows.
    group : Tensor of int64, shape (d,)
        What each coordinate is judged with, a column or, from `parts_of`, a part of it.
    path : Path
        As in training.

    Returns
    -------
    Tensor, shape (N_KNOTS, d)
        In [0, 1], equal where judged together.

    Notes
    -----
    With e the guide's error on a hidden cell and f what the network adds, the share
    that minimises Σ (e − a f)² is A / B, A = Σ e f, B = Σ f². Its standard error
    comes from the rows' contributions, and what is kept is A / B · (1 − 4 / z²) for
    z = A / se(A): nothing below z = 2, nearly all where the rows agree.
    """
    n_groups = int(group.max()) + 1
    times = path.schedule.inverse(torch.arange(N_KNOTS - 1).double() / (N_KNOTS - 1))
    alone, knots = GuidedEnsemble.alone(guide, path=path), []
    for t in times.clamp(min=validation.t).tolist():
        guess = validation.guess_of(guide, path=path, t=t)
        ends = [
            validation.end_points(
                net,
                t=t,
                path=path,
                guess=guess if isinstance(net, GuidedEnsemble) else None,
            )
            for net in (alone, network)
        ]
        scored = validation.masks.tgt
        e = torch.where(scored, validation.x - ends[0], 0.0).double()
        f = torch.where(scored, ends[1] - ends[0], 0.0).double()
        product, square = (
            by_column(part, group, n_groups, validation.n_rows)
            for part in (e * f, f * f)
        )
        knots.append(shrunk(product, square)[group])
    return torch.stack([*knots, knots[-1]]).to(validation.x.dtype)


def no_better_than_mean(
    mean: Tensor,
    validation: Validation,
    *,
    group: Tensor,
    is_num: Tensor,
) -> Tensor:
    """Tell which columns of numbers a mean ``(n, d)`` finds no better than their own.

    Returns flags of shape ``(n_columns,)``: True where enough held-out rows are there
    to tell, and the squared error falls by less than 2 %, or by less than 10 % and a
    standard error.
    """
    n_groups = int(group.max()) + 1
    scored = validation.masks.tgt & is_num & is_first(group)
    error = torch.where(scored, mean - validation.x, 0.0).double().square()
    spread = torch.where(scored, validation.x, 0.0).double().square()
    error, spread = (
        by_column(part, group, n_groups, validation.n_rows) for part in (error, spread)
    )
    gain = spread - error
    judged = (spread > 0).sum(dim=0) >= _ENOUGH_ROWS
    share = gain.sum(dim=0) / spread.sum(dim=0).clamp(min=1e-30)
    unclear = gain.sum(dim=0) < gain.square().sum(dim=0).sqrt()
    return judged & ((share < 0.02) | ((share < 0.1) & unclear))


def by_column(value: Tensor, group: Tensor, n_groups: int, n_rows: int) -> Tensor:
    """Sum over the coordinates of a column and the masks of a row, (n_rows, g)."""
    total = value.new_zeros(len(value), n_groups)
    total.index_add_(1, group, value)
    return total.view(-1, n_rows, n_groups).sum(dim=0)


def shrunk(product: Tensor, square: Tensor) -> Tensor:
    """Return A / B · (1 − 4 / z²) in [0, 1] from the rows' products and squares, (g,).

    A and B are their sums over rows, z = A / se(A).
    """
    a, b = product.sum(dim=0), square.sum(dim=0)
    share = torch.where(b > 0, a / b.clamp(min=1e-30), 0.0)
    variance = (product - share * square).square().sum(dim=0)
    kept = 1 - 4 * variance / a.square().clamp(min=1e-30)
    return (share * kept.clamp(min=0.0)).clamp(0.0, 1.0)
