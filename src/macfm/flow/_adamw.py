"""AdamW, all weights in one kernel.

That of `torch.optim` does the same, but making one imports torch's compiler, which
takes longer than the fit of a small table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

_BETAS = 0.9, 0.999
_EPS = 1e-8


class AdamW:
    """Moves weights by the moments of their gradients (Loshchilov and Hutter 2019).

    Parameters
    ----------
    groups : mapping of float to sequence of Tensor
        The weights, by their decoupled weight decay.
    """

    # NOTE[DIFF]: the paper does not name its optimiser.

    def __init__(self, groups: Mapping[float, Sequence[Tensor]]) -> None:
        self._groups = [
            (decay, [_Moments(weight) for weight in weights])
            for decay, weights in groups.items()
        ]

    @torch.no_grad()
    def step(self, rate: float | Tensor) -> None:
        """Move all weights that have a gradient."""
        lr: Any = rate  # either will do
        for decay, moments in self._groups:
            moved = [one for one in moments if one.weight.grad is not None]
            if not moved:
                continue
            counts = [one.count for one in moved]
            gradients: Any = [one.weight.grad for one in moved]
            torch._foreach_add_(counts, 1)
            torch._fused_adamw_(
                [one.weight for one in moved],
                gradients,
                [one.first for one in moved],
                [one.second for one in moved],
                [],
                counts,
                lr=lr,
                beta1=_BETAS[0],
                beta2=_BETAS[1],
                weight_decay=decay,
                eps=_EPS,
                amsgrad=False,
                maximize=False,
            )

    def reset(self) -> None:
        """Forget the moments."""
        for _, moments in self._groups:
            for one in moments:
                for tensor in (one.first, one.second, one.count):
                    tensor.zero_()


class _Moments:
    """A weight, and what is remembered of its gradients."""

    def __init__(self, weight: Tensor) -> None:
        self.weight = weight
        self.first = torch.zeros_like(weight, requires_grad=False)
        self.second = torch.zeros_like(weight, requires_grad=False)
        self.count = torch.zeros((), device=weight.device)
