"""How precisely a GPU multiplies matrices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch


def tf32(device: torch.device) -> AbstractContextManager[None]:
    """Let a GPU round the factors of float32 products to TF32, many times as fast.

    On a CPU nothing changes.
    """
    return products("high") if device.type == "cuda" else nullcontext()


@contextmanager
def products(precision: str) -> Iterator[None]:
    """Set the precision of float32 products, and put it back afterwards.

    The setting is torch's, that of the whole process. With "highest" no factor is
    rounded.
    """
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
