"""The same threads for every method that is timed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


def usual_threads() -> int:
    """Return how many threads macfm uses: torch's, rounded down to a power of two."""
    import torch

    return 1 << (torch.get_num_threads().bit_length() - 1)


@contextmanager
def threads(n: int) -> Iterator[None]:
    """Let torch and the libraries behind numpy use `n` threads, and then as before."""
    import torch
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        with threadpool_limits(limits=n):
            yield
    finally:
        torch.set_num_threads(before)
