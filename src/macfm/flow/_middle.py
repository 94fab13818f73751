"""The median of several answers, which trees, trajectories and draws share."""

from __future__ import annotations

from torch import Tensor


def middle(values: Tensor, *, dim: int) -> Tensor:
    """Return the median along a dimension, half-way between the two of an even one."""
    ordered, n = values.sort(dim=dim).values, values.shape[dim]
    return (ordered.select(dim, (n - 1) // 2) + ordered.select(dim, n // 2)) / 2
