"""The training objective: three terms by name, and their weighted sum."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from macfm.flow._points import Points


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
    network: nn.Module, points: Points, *, config: LossConfig
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
        The weights.

    Returns
    -------
    LossTerms
    """
    sample, masks = points.sample, points.masks
    guess = () if points.guess is None else (points.guess,)
    v_t = network(sample.x_t, sample.t, masks.cond, *guess)
    fm = _mean_square(v_t - sample.v_star, masks.tgt)  # eq:fm_loss
    stab = _mean_square(v_t, masks.cond)
    cons = torch.zeros_like(fm)
    if config.lambda_cons > 0:
        # NOTE[DIFF]: the perturbation moves targets only. Moving the conditioning
        # too, as printed, would punish the network for reading what was observed.
        xi = points.xi
        assert xi is not None
        nudge = torch.where(masks.moved, config.eta_cons * (1 - sample.s_t) * xi, 0.0)
        v_near = network(sample.x_t + nudge, sample.t, masks.cond, *guess)
        cons = _mean_square(v_near - v_t, masks.tgt)
    lambda_stab, lambda_cons = config.lambda_stab, config.lambda_cons
    total = fm + lambda_stab * stab + lambda_cons * cons  # eq:total_loss
    return LossTerms(fm=fm, stab=stab, cons=cons, total=total)
