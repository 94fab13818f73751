"""Dropout that is quick on a CPU and can drop the same units of two copies."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional as F

# On a CPU a byte decides: eight of them come with one random number.
_LEVELS = 256
_LEAST = torch.iinfo(torch.int64).min


class Dropout(nn.Dropout):
    """Drop units in training; inside `twins`, the same of both halves of a batch.

    On a CPU shares are rounded to 1/256; those that would be rounded to nothing, or to
    all, take torch's own way.
    """

    def __init__(self, p: float) -> None:
        super().__init__(p)
        self.has_twins = False

    def forward(self, h: Tensor) -> Tensor:
        """Apply it to rows, shape ``(n, ...)``."""
        if not self.training or self.p == 0:
            return h
        n_dropped = round(_LEVELS * self.p)
        quick = h.device.type == "cpu" and 0 < n_dropped < _LEVELS
        if not self.has_twins and not quick:
            return F.dropout(h, self.p)
        shape = (len(h) // 2 if self.has_twins else len(h), *h.shape[1:])
        if quick:
            factor = _kept(shape, n_dropped).to(h.dtype)
            factor *= _LEVELS / (_LEVELS - n_dropped)
        else:
            factor = F.dropout(h.new_ones(shape), self.p)
        return h * (torch.cat([factor] * 2) if self.has_twins else factor)


def _kept(shape: tuple[int, ...], n_dropped: int) -> Tensor:
    """Draw which units are kept, all but `n_dropped` of 256, from torch's generator."""
    n = math.prod(shape)
    lots = torch.empty(-(-n // 8), dtype=torch.int64).random_(_LEAST, None)
    return lots.view(torch.uint8)[:n].view(shape) >= n_dropped


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
