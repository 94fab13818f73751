"""The split of a row's cells into what the network is shown and what it must find."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from macfm.flow._rules import Rules


@dataclass(frozen=True)
class Masks:
    """Masks over encoded coordinates, each of shape ``(n, d)``."""

    cond: Tensor
    """True where the value is shown to the network and held fixed (M_cond)."""
    tgt: Tensor
    """True where the value is transported and scored (M_tgt)."""
    moved: Tensor
    """True where the value is transported.

    Besides the targets these are the cells that are truly missing from a training row:
    at inference nobody knows whether an unknown cell had been recorded, so in training
    the network must not be able to tell either.
    """


def sample_masks(
    observed: Tensor,
    *,
    group: Tensor,
    n_columns: int,
    hide_rate: tuple[float, float],
    hide_one: bool,
    rules: Rules | None,
    move_missing: bool,
    generator: torch.Generator,
) -> Masks:
    """Hide some observed cells of each row as targets; the rest is conditioning.

    Parameters
    ----------
    observed : Tensor of bool, shape (n, d)
        True where the table holds a value.
    group : Tensor of int64, shape (d,)
        Column of each coordinate; the coordinates of one column hide together.
    n_columns : int
        How many columns there are.
    hide_rate : (low, high)
        Every row draws its own rate from U[low, high] and hides each of its observed
        columns with that probability.
    hide_one : bool
        Whether a row that would hide nothing hides one of its observed columns.
    rules : Rules or None
        Rules that the table's own holes follow, and hidden cells with them.
    move_missing : bool
        Whether cells that are truly missing are transported like the hidden ones.
    generator : torch.Generator
        Source of the draws, on the device of `observed`.

    Returns
    -------
    Masks
        ``cond | tgt == observed`` and ``cond & tgt`` is empty.
    """
    n, device = len(observed), observed.device
    # NOTE[DIFF]: the paper does not say which share of a row is hidden; a range of
    # shares makes one network good for rows with few holes and with many.
    low, high = hide_rate
    rate = low + (high - low) * torch.rand(n, 1, generator=generator, device=device)
    lot = torch.rand(n, n_columns, generator=generator, device=device)
    hidden = lot < rate
    if hide_one:
        recorded = torch.zeros_like(lot).index_add_(1, group, observed.to(lot.dtype))
        lot = lot.masked_fill(recorded == 0, 2.0)
        hidden |= (lot == lot.amin(dim=1, keepdim=True)) & (recorded > 0)
    # NOTE[DIFF]: the paper hides cells by lot alone, and transports no others.
    if rules is not None:
        hidden = rules.apply(hidden, generator=generator)
    m_tgt = hidden[:, group] & observed
    m_cond = observed & ~m_tgt
    return Masks(cond=m_cond, tgt=m_tgt, moved=~m_cond if move_missing else m_tgt)


def inference_masks(observed: Tensor) -> Masks:
    """Show every observed coordinate and transport every missing one."""
    return Masks(cond=observed, tgt=~observed, moved=~observed)
