"""How precisely a GPU multiplies matrices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def tf32(device: torch.device) -> Iterator[None]:
    """Let a GPU round the factors of float32 products to TF32, many times as fast.

    On a CPU nothing changes. The setting is torch's, that of the whole process, and is
    put back afterwards.
    """
    precision = torch.get_float32_matmul_precision()
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(precision)
