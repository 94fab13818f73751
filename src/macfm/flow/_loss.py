"""The training objective: three terms by name, and their weighted sum."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from macfm.flow._cells import CellWeights
from macfm.flow._points import Points
from macfm.flow.network import drops, twins


@dataclass(frozen=True)
class LossConfig:
    """Weights and noise scales of the objective."""

    lambda_stab: float
    """Weight of the stability term."""
    lambda_cons: float
    """Weight of the consistency term; 0 saves its second evaluation."""
    eta_cons: float
    """Size of the consistency term's perturbation at t = 0."""
    sigma_in: float
    """Input noise on observed numeric coordinates at t = 0."""
    weigh_cells: bool
    """Whether columns count alike, however many coordinates they have."""


@dataclass(frozen=True)
class LossTerms:
    """The terms of the objective, each a scalar."""

    fm: Tensor
    """Flow matching on target coordinates (eq:fm_loss)."""
    stab: Tensor
    """Squared velocity on conditioning coordinates (R_stab)."""
    cons: Tensor
    """Change of the velocity under a small perturbation (R_cons)."""
    total: Tensor
    """Their weighted sum (eq:total_loss)."""


def _mean_square(value: Tensor, where: Tensor) -> Tensor:
    """Mean of ``value²`` over the coordinates where ``where`` is True."""
    # NOTE[DIFF]: the paper divides each row by its own number of targets plus a small
    # constant; here a batch is divided by its own, so that every cell counts alike.
    square = torch.where(where, value, 0.0).square()
    return square.sum() / where.sum().clamp(min=1)


def flow_matching_loss(
    network: nn.Module,
    points: Points,
    *,
    config: LossConfig,
    weights: CellWeights | None = None,
) -> LossTerms:
    """Score a network on a batch of path points.

    Parameters
    ----------
    network : nn.Module
        ``v_t = network(x_t, t, m_cond)``, with the guide's guess as a fourth argument
        where there is one.
    points : Points
        Points and target velocities; with noise if ``lambda_cons > 0``.
    config : LossConfig
        The weights of the terms.
    weights : CellWeights or None
        How much each target counts in the first of them; None counts all alike.

    Returns
    -------
    LossTerms
    """
    sample, masks = points.sample, points.masks
    near = None
    if config.lambda_cons > 0:
        # NOTE[DIFF]: the perturbation moves targets only. Moving the conditioning
        # too, as printed, would punish the network for reading what was observed.
        assert points.xi is not None
        xi = config.eta_cons * (1 - sample.s_t) * points.xi
        near = sample.x_t + torch.where(masks.moved, xi, 0.0)
    v_t, v_near = _velocities(network, points, near)
    miss = v_t - sample.v_star  # eq:fm_loss
    if weights is None:
        fm = _mean_square(miss, masks.tgt)
    else:
        fm = weights.mean_square(miss, masks.tgt, s_t=sample.s_t)
    # Without weight it is told, and asks for no gradient.
    stab = _mean_square(v_t if config.lambda_stab > 0 else v_t.detach(), masks.cond)
    cons = torch.zeros_like(fm)
    if v_near is not None:
        cons = _mean_square(v_near - v_t, masks.tgt)
    lambda_stab, lambda_cons = config.lambda_stab, config.lambda_cons
    total = fm + lambda_stab * stab + lambda_cons * cons  # eq:total_loss
    return LossTerms(fm=fm, stab=stab, cons=cons, total=total)


def _velocities(
    network: nn.Module, points: Points, near: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """Return the velocity at points, and at others `near` them if there are any.

    Where units are dropped, the same are dropped in both: what tells the velocities
    apart is the distance alone.
    """
    x_t, t, m_cond = points.sample.x_t, points.sample.t, points.masks.cond
    guess = () if points.guess is None else (points.guess,)
    if near is None:
        return network(x_t, t, m_cond, *guess), None
    if not drops(network):
        v_t = network(x_t, t, m_cond, *guess)
        return v_t, network(near, t, m_cond, *guess)
    both = points.map(lambda part: torch.cat([part, part]))
    guess = () if both.guess is None else (both.guess,)
    with twins(network):
        v = network(torch.cat([x_t, near]), both.sample.t, both.masks.cond, *guess)
    v_t, v_near = v.chunk(2)
    return v_t, v_near
