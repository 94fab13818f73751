"""The split of a row's cells into what the network is shown and what it must find."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Masks:
    """Disjoint masks over encoded coordinates, each of shape ``(n, d)``.

    A coordinate in neither is truly missing from a training row: the network is not
    shown it, it does not move, and no loss counts it.
    """

    cond: Tensor
    """True where the value is shown to the network and held fixed (M_cond)."""
    tgt: Tensor
    """True where the value is transported and scored (M_tgt)."""


def sample_masks(
    observed: Tensor,
    *,
    group: Tensor,
    hide_rate: tuple[float, float],
    generator: torch.Generator,
) -> Masks:
    """Hide some observed cells of each row as targets; the rest is conditioning.

    Parameters
    ----------
    observed : Tensor of bool, shape (n, d)
        True where the table holds a value.
    group : Tensor of int64, shape (d,)
        Column of each coordinate; the coordinates of one column hide together.
    hide_rate : (low, high)
        Every row draws its own rate from U[low, high] and hides each of its observed
        columns with that probability.
    generator : torch.Generator
        Source of the draws, on the device of `observed`.

    Returns
    -------
    Masks
        ``cond | tgt == observed`` and ``cond & tgt`` is empty.
    """
    n, device = len(observed), observed.device
    n_groups = int(group.max()) + 1 if len(group) else 0
    low, high = hide_rate
    rate = low + (high - low) * torch.rand(n, 1, generator=generator, device=device)
    draw = torch.rand(n, n_groups, generator=generator, device=device)
    m_tgt = (draw < rate)[:, group] & observed
    return Masks(cond=observed & ~m_tgt, tgt=m_tgt)


def inference_masks(observed: Tensor) -> Masks:
    """Show every observed coordinate and transport every missing one."""
    return Masks(cond=observed, tgt=~observed)
