"""How far a trained network is to be trusted, column by column."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from macfm.flow._calm import Calm
from macfm.flow._cells import is_first, parts_of
from macfm.flow._guide import Gaussian
from macfm.flow._path import Path
from macfm.flow._validation import Validation
from macfm.flow.network import GuidedEnsemble

# Trust is measured at s = 0, 1/5, …, 4/5; beyond, where x_t tells nearly all, it stays.
N_KNOTS = 6
# With fewer held-out rows nothing is said of a column.
_ENOUGH_ROWS = 30
# By how much squared errors of held-out numbers must fall for the calm path to pay: as
# a share of them, and in standard errors.
_LEAST_GAIN, _LEAST_SURE = 0.01, 2.0
# What is thought of it before any row speaks.
_BEFORE = 0.5
# The doubt about what was thought of a share before: of all columns together, and of
# one when all are known.
_DOUBT = 0.15


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
    alone, knots = GuidedEnsemble.alone(guide, path=path), []
    for t in _knots(validation, path):
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


def _knots(validation: Validation, path: Path) -> list[float]:
    """Return the times at which trust is measured."""
    times = path.schedule.inverse(torch.arange(N_KNOTS - 1).double() / (N_KNOTS - 1))
    return times.clamp(min=validation.t).tolist()


def measure_balance(
    network: GuidedEnsemble, validation: Validation, *, path: Path
) -> Tensor:
    """Find how much networks that read the guide count beside those that do not.

    Parameters
    ----------
    network : GuidedEnsemble
        Its members, each with its trust.
    validation : Validation
        Held-out rows.
    path : Path
        As in training.

    Returns
    -------
    Tensor, shape (n_members, N_KNOTS, 1)
        What their trust is to be multiplied with; 1 on average over the members.

    Notes
    -----
    With e the error of those without hints on a hidden cell and f what the others say
    instead, the share of the others that minimises Σ (e − a f)² over all columns is
    drawn towards their number, as that of trees is in `calibrate`.
    """
    has_hints = [getattr(member, "hints", True) for member in network.members]
    n, n_hints = len(has_hints), sum(has_hints)
    balance = torch.ones(n, N_KNOTS, 1, device=validation.x.device)
    if not 0 < n_hints < n:
        return balance
    kinds = [
        network.part([k for k in range(n) if has_hints[k] == kind])
        for kind in (False, True)
    ]
    for knot, t in enumerate(_knots(validation, path)):
        guess = validation.guess_of(network.guide, path=path, t=t)
        plain, hinted = (
            validation.end_points(kind, t=t, path=path, guess=guess) for kind in kinds
        )
        scored = validation.masks.tgt
        e = torch.where(scored, validation.x - plain, 0.0).double()
        f = torch.where(scored, hinted - plain, 0.0).double()
        product, square = (
            part.sum(dim=1).view(-1, validation.n_rows).sum(dim=0).unsqueeze(1)
            for part in (e * f, f * f)
        )
        before = product.new_full((1,), n_hints / n)
        share = weighed(product, square, before=before).clamp(0.0, 1.0)
        for k, kind in enumerate(has_hints):
            balance[k, knot] = n * (
                share / n_hints if kind else (1 - share) / (n - n_hints)
            )
    balance[:, -1] = balance[:, -2]
    return balance


def find_calm(
    network: nn.Module,
    validation: Validation,
    *,
    n_steps: int,
    group: Tensor,
    is_num: Tensor,
    path: Path,
) -> Calm | None:
    """Find the share of the calm path that pays on held-out rows.

    Parameters
    ----------
    network : nn.Module
        The networks as one, without a calm path of their own.
    validation : Validation
        Held-out rows.
    n_steps : int
        Evaluations along the path.
    group, is_num : Tensor, shape (d,)
        Column of each coordinate, and whether it is numeric.
    path : Path
        As in training.

    Returns
    -------
    Calm or None
        None where it does not lower squared errors of numbers by 1 %, and by two
        standard errors.

    Notes
    -----
    The share is found as that of trees is, in `calibrate`: for all columns together,
    drawn towards 0.5, and for each of them, drawn towards that of all. A normal score
    has one of its own, but no say in what others have, or in whether the path pays.
    """
    mean = validation.mean(network, path=path)
    end = validation.calm_end(network, mean, path=path, n_steps=n_steps)
    scored = validation.masks.tgt & is_num
    e = torch.where(scored, validation.x - mean, 0.0).double()
    f = torch.where(scored, end - mean, 0.0).double()
    part = parts_of(group, is_num)
    product, square = (
        by_column(value, part, int(part.max()) + 1, validation.n_rows)
        for value in (e * f, f * f)
    )
    read = is_num & is_first(group)  # the mean is not read off scores
    read_parts = part[read]
    of_all = (
        said[:, read_parts].sum(dim=1, keepdim=True) for said in (product, square)
    )
    before = weighed(*of_all, before=product.new_full((1,), _BEFORE))
    share = weighed(product, square, before=before).clamp(0.0, 1.0)[part]
    share = torch.where(is_num, share, 0.0)
    e, f = e * read, f * read
    gain = (e.square() - (e - share * f).square()).sum(dim=1)
    gain = gain.view(-1, validation.n_rows).sum(dim=0)  # of each row under all masks
    surely = gain.sum() > _LEAST_SURE * gain.square().sum().sqrt()
    if not bool(surely & (gain.sum() > _LEAST_GAIN * e.square().sum())):
        return None
    return Calm(share.to(mean.dtype), n_steps=n_steps)


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


def of_each(product: Tensor, square: Tensor, *, before: Tensor) -> Tensor:
    """Weigh what rows say of each column against what they say of all, ``(g,)``."""
    of_all = product.sum(dim=1, keepdim=True), square.sum(dim=1, keepdim=True)
    return weighed(product, square, before=weighed(*of_all, before=before))


def weighed(product: Tensor, square: Tensor, *, before: Tensor) -> Tensor:
    """Weigh what rows ``(n_rows, g)`` say of a share against what was thought, (g,).

    The variance of A / B is that of a jackknife, in which a row that says it all by
    itself is worth nothing.
    """
    a, b = product.sum(dim=0), square.sum(dim=0)
    share = a / b.clamp(min=1e-30)
    without = (a - product) / (b - square).clamp(min=1e-30)
    speaks = square > 0
    variance = torch.where(speaks, without - share, 0.0).square().sum(dim=0)
    weight = _DOUBT**2 / (_DOUBT**2 + variance)
    weight = torch.where(speaks.sum(dim=0) > 1, weight, 0.0)
    return torch.lerp(before.expand_as(share), share, weight)
