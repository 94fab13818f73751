"""How precisely a GPU multiplies matrices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def tf32(device: torch.device) -> Iterator[None]:
    """Let a GPU round the factors of float32 products to TF32, many times as fast.

    On a CPU nothing changes.
    """
    with _products("high" if device.type == "cuda" else None):
        yield


@contextmanager
def full_float32() -> Iterator[None]:
    """Let no factor of a float32 product be rounded."""
    with _products("highest"):
        yield


@contextmanager
def _products(precision: str | None) -> Iterator[None]:
    """Set the precision of float32 products unless it is None, and put it back.

    The setting is torch's, that of the whole process.
    """
    before = torch.get_float32_matmul_precision()
    if precision is not None:
        torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
