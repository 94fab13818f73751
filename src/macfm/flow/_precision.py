"""How precisely matrices are multiplied."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch

# What a CPU is said to have that multiplies matrices in bfloat16.
_BFLOAT16 = ("avx512_bf16", "amx_bf16")


def multiplies_bfloat16(device: torch.device) -> bool:
    """Tell whether a device has operations for products in bfloat16.

    A CPU without them takes longer than in float32. An older torch does not tell of a
    CPU, and is taken to have none.
    """
    if device.type != "cpu":
        return True
    capabilities: Callable[[], dict] = getattr(torch.cpu, "get_capabilities", dict)
    told = capabilities()
    has_it = any(told.get(name) for name in _BFLOAT16)
    return has_it and torch.backends.mkldnn.is_available()


def fast_products(device: torch.device) -> AbstractContextManager[None]:
    """Let a device round the factors of float32 products, where that is faster.

    A GPU rounds them to TF32. A CPU that has products in bfloat16 may round them to
    that; torch then leaves them to another library, which on an AMD EPYC rounded
    nothing and took half the time. Sums are of float32 everywhere.
    """
    if device.type != "cpu":
        return tf32(device)
    return products("medium") if multiplies_bfloat16(device) else nullcontext()


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
