"""The MLP over a whole row."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from macfm.flow.network._dropout import Dropout
from macfm.flow.network._parts import TimeEncoding, masks_shown, padded


class PeriodicFeatures(nn.Module):
    """Learned sinusoids of every coordinate: ``(n, d) -> (n, 2 d n_frequencies)``.

    They let an MLP resolve steps and spikes in a column, such as a value that most
    rows share.
    """

    # NOTE[DIFF]: the paper's network reads the bare values.

    _SCALE = 0.3
    # They enter small and grow where they help: a smooth column is better off without.
    _GAIN = 0.2

    def __init__(self, *, d: int, n_frequencies: int) -> None:
        super().__init__()
        self.frequencies = nn.Parameter(self._SCALE * torch.randn(d, n_frequencies))
        self.gain = nn.Parameter(torch.full((d, 1), self._GAIN))

    def forward(self, x: Tensor) -> Tensor:
        """Expand ``x``."""
        angle = 2 * math.pi * x.unsqueeze(-1) * self.frequencies
        waves = torch.cat([torch.sin(angle), torch.cos(angle)], dim=-1)
        return (self.gain * waves).flatten(1)


class ResidualBlock(nn.Module):
    """h + W₂ dropout(SiLU(W₁ norm(h)))."""

    # NOTE[DIFF]: the paper stacks plain SiLU layers without dropout.

    def __init__(self, *, d_model: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model, elementwise_affine=False)
        self.up = nn.Linear(d_model, d_model)
        self.dropout = Dropout(dropout)
        self.down = nn.Linear(d_model, d_model)

    def forward(self, h: Tensor) -> Tensor:
        """Apply the block to ``(n, d_model)``."""
        return h + self.down(self.dropout(F.silu(self.up(self.norm(h)))))


class MLPVelocity(nn.Module):
    """The paper's compact MLP; residual blocks and mask input are our additions.

    Notes
    -----
    ``c_t = MLP(sinusoids(t))`` is added to the projected input, SiLU blocks follow, a
    two-layer head gives the velocity. Sinusoids are taken of the coordinates in
    ``waves``, shape ``(d,)``, of all if it is None. With ``n_masks=0, n_hints=0,
    residual=False, dropout=0, n_frequencies=0`` it is the network of the paper.

    Shape
    -----
    ``x_t, m_cond`` and the result are ``(n, d)``, ``t`` is ``(n, 1)``, ``hints`` are
    `n_hints` tensors of shape ``(n, d)``.
    """

    wave_place: Tensor | None

    def __init__(
        self,
        *,
        d: int,
        d_model: int,
        n_blocks: int,
        dropout: float,
        n_masks: int,
        n_hints: int,
        residual: bool,
        n_frequencies: int,
        waves: Tensor | None,
    ) -> None:
        super().__init__()
        self.n_masks = n_masks
        self.d = d
        n_waves = d if waves is None else int(waves.sum())
        # Not part of a model's file: which they are is known from its columns.
        place = None if n_waves == d or waves is None else torch.nonzero(waves)[:, 0]
        self.register_buffer("wave_place", place, persistent=False)
        self.periodic = None
        if n_frequencies and n_waves:
            self.periodic = PeriodicFeatures(d=n_waves, n_frequencies=n_frequencies)
        n_inputs = d * (1 + n_masks + n_hints) + 2 * n_frequencies * n_waves
        self.d_in = padded(n_inputs)
        self.project = nn.Linear(self.d_in, d_model)
        self.time = TimeEncoding(d_model=d_model)
        blocks: list[nn.Module] = []
        for _ in range(n_blocks):
            if residual:
                blocks.append(ResidualBlock(d_model=d_model, dropout=dropout))
            else:
                blocks += [
                    nn.Linear(d_model, d_model),
                    nn.SiLU(),
                    Dropout(dropout),
                ]
        if residual:
            blocks.append(nn.LayerNorm(d_model, elementwise_affine=False))
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Sequential(
            nn.Linear(d_model, d_model), nn.SiLU(), nn.Linear(d_model, padded(d))
        )

    def forward(
        self, x_t: Tensor, t: Tensor, m_cond: Tensor, hints: Sequence[Tensor] = ()
    ) -> Tensor:
        """Predict the velocity at ``x_t``."""
        shown = [x_t]
        if self.periodic is not None:
            place = self.wave_place
            shown.append(self.periodic(x_t if place is None else x_t[:, place]))
        shown += masks_shown(m_cond, self.n_masks, x_t.dtype)
        row = torch.cat([*shown, *hints], dim=1)
        row = F.pad(row, (0, self.d_in - row.shape[1])).to(self.project.weight.dtype)
        h = self.blocks(self.project(row) + self.time(t).to(row.dtype))
        return self.head(h)[:, : self.d].to(x_t.dtype)

    def coarsen(self) -> None:
        """Compute hidden layers in bfloat16 from here on; sinusoids stay as they are.

        Where a device has such products that is twice as fast, and a draw needs no more
        digits.
        """
        for part in (self.project, self.blocks, self.head):
            part.bfloat16()
