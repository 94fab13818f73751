"""Dropout that can drop the same units of two copies of a batch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Dropout(nn.Dropout):
    """Drop units in training; inside `twins`, the same of both halves of a batch."""

    def __init__(self, p: float) -> None:
        super().__init__(p)
        self.has_twins = False

    def forward(self, h: Tensor) -> Tensor:
        """Apply it to rows, shape ``(n, ...)``."""
        if not self.has_twins:
            return F.dropout(h, self.p, self.training)
        half = torch.ones_like(h[: len(h) // 2])
        return h * torch.cat([F.dropout(half, self.p, self.training)] * 2)


def drops(network: nn.Module) -> bool:
    """Whether a network drops any units."""
    return any(isinstance(m, Dropout) and m.p > 0 for m in network.modules())


@contextmanager
def twins(network: nn.Module) -> Iterator[None]:
    """Let a network see two copies of a batch, one after the other in its rows."""
    layers = [module for module in network.modules() if isinstance(module, Dropout)]
    for layer in layers:
        layer.has_twins = True
    try:
        yield
    finally:
        for layer in layers:
            layer.has_twins = False
