"""What the backbones share: padded widths, masks as numbers, a code of the time."""

from __future__ import annotations

import torch
from torch import Tensor, nn

_N_FREQUENCIES = 32
# CPU matrix products of other widths give last bits that depend on the thread count,
# and so do the gradients of a normalisation's scale and shift: neither occurs below.
_WIDTH_STEP = 16


def padded(width: int) -> int:
    """Round a width up to a multiple of `_WIDTH_STEP`."""
    return -(-width // _WIDTH_STEP) * _WIDTH_STEP


def masks_shown(m_cond: Tensor, n_masks: int, dtype: torch.dtype) -> list[Tensor]:
    """Return the masks a network is shown, as numbers."""
    # NOTE[DIFF]: the paper's network sees x_t and t alone and cannot tell a
    # conditioning value from a half-transported one.
    return [m_cond.to(dtype), (~m_cond).to(dtype)][:n_masks]


class TimeEncoding(nn.Module):
    """Sinusoids of t and a small MLP: ``(n, 1) -> (n, d_model)``."""

    frequencies: Tensor

    def __init__(self, *, d_model: int) -> None:
        super().__init__()
        exponents = torch.linspace(0, 1, _N_FREQUENCIES)
        self.register_buffer("frequencies", 1000.0**exponents)
        self.mlp = nn.Sequential(
            nn.Linear(2 * _N_FREQUENCIES, d_model),
            nn.SiLU(),
            nn.Linear(d_model, d_model),
        )

    def forward(self, t: Tensor) -> Tensor:
        """Encode times."""
        angle = t * self.frequencies
        return self.mlp(torch.cat([torch.sin(angle), torch.cos(angle)], dim=1))
