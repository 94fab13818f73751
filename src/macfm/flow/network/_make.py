"""From a configuration to a velocity network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from macfm.flow._path import Path
from macfm.flow.network._mlp import MLPVelocity
from macfm.flow.network._precondition import Preconditioned
from macfm.flow.network._transformer import TransformerVelocity


@dataclass(frozen=True)
class NetworkConfig:
    """The shape of the velocity network."""

    backbone: Literal["mlp", "transformer"]
    """MLP over the whole row, or attention between its columns."""
    d_model: int
    """Width of the hidden layers or tokens."""
    n_blocks: int
    """Number of blocks between input projection and velocity head."""
    n_heads: int
    """Attention heads of the transformer; the MLP does not read it."""
    dropout: float
    """Share of hidden units dropped in training."""
    n_masks: int
    """Masks the network is shown: 0, 1 (what is shown), or 2 (models of format 1)."""
    residual: bool
    """Pre-normalised residual blocks in the MLP instead of a plain stack."""
    n_frequencies: int
    """Learned sinusoids of each number beside its value; the MLP alone reads it."""
    precondition: bool
    """Whether to wrap the network in `Preconditioned`."""
    guide: bool
    """Whether a Gaussian guide stands beside the networks."""


def make_network(
    config: NetworkConfig,
    *,
    group: Tensor,
    path: Path,
    hints: bool,
    variance: Tensor | None,
    waves: Tensor | None,
) -> nn.Module:
    """Build a velocity network for coordinates of the given columns.

    Parameters
    ----------
    config : NetworkConfig
        Its shape.
    group : Tensor of int64, shape (d,)
        Column of each coordinate.
    path : Path
        Read by the preconditioning.
    hints : bool
        Whether the network stands around a guide and reads what it says.
    variance : Tensor, shape (d,), or None
        Variances that the preconditioning assumes without a guide; None: 1.
    waves : Tensor of bool, shape (d,), or None
        Coordinates that the MLP takes sinusoids of; None: all.
    """
    network: nn.Module
    n_hints = 2 if hints else 0
    if config.backbone == "mlp":
        network = MLPVelocity(
            d=len(group),
            d_model=config.d_model,
            n_blocks=config.n_blocks,
            dropout=config.dropout,
            n_masks=config.n_masks,
            n_hints=n_hints,
            residual=config.residual,
            n_frequencies=config.n_frequencies,
            waves=waves,
        )
    else:
        network = TransformerVelocity(
            group=group,
            d_model=config.d_model,
            n_blocks=config.n_blocks,
            n_heads=config.n_heads,
            dropout=config.dropout,
            n_masks=config.n_masks,
            n_hints=n_hints,
        )
    if config.precondition:
        network = Preconditioned(network, path=path, hints=hints, variance=variance)
    return network
