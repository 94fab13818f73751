"""Normal noise that belongs to a row, not to the batch it happens to be in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

_GOLDEN = 0x9E3779B97F4A7C15
_MIX_1 = 0xBF58476D1CE4E5B9
_MIX_2 = 0x94D049BB133111EB


def _signed(value: int) -> int:
    """Return the 64-bit pattern of ``value`` as a signed integer."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def _shift(z: Tensor, n_bits: int) -> Tensor:
    """Shift right, filling with zeros (torch's shift keeps the sign)."""
    return (z >> n_bits) & ((1 << (64 - n_bits)) - 1)


def _mix(z: Tensor) -> Tensor:
    """Scramble 64-bit integers so that neighbours are unrelated (SplitMix64)."""
    z = z + _signed(_GOLDEN)
    z = (z ^ _shift(z, 30)) * _signed(_MIX_1)
    z = (z ^ _shift(z, 27)) * _signed(_MIX_2)
    return z ^ _shift(z, 31)


def row_keys(x: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Give every row a key that depends on its observed content alone.

    Equal rows are told apart by how many of them came before, so a row keeps its key
    when other rows are added, dropped or reordered, and twins do not share their noise.

    Parameters
    ----------
    x : ndarray of float32, shape (n, d)
        Encoded values.
    observed : ndarray of bool, shape (n, d)
        True where the table holds a value.

    Returns
    -------
    ndarray of int64, shape (n,)
    """
    content = np.where(observed, x, 0.0).astype(np.float32) + np.float32(0.0)
    bits = torch.from_numpy(content.view(np.int32).astype(np.int64))
    seen = torch.from_numpy(observed.astype(np.int64))
    key = torch.zeros(len(x), dtype=torch.int64)
    for j in range(x.shape[1]):
        key = _mix(key ^ (bits[:, j] * 2 + seen[:, j]))
    _, twin = np.unique(key.numpy(), return_inverse=True)
    order = np.argsort(twin, kind="stable")
    ranked = twin[order]
    first = np.r_[0, np.flatnonzero(np.diff(ranked)) + 1] if len(x) else ranked
    before = np.empty(len(x), dtype=np.int64)
    before[order] = np.arange(len(x)) - np.repeat(first, np.diff(np.r_[first, len(x)]))
    return _mix(key + _mix(torch.from_numpy(before))).numpy()


def keyed_normal(keys: Tensor, *, seed: int, draws: Sequence[int], d: int) -> Tensor:
    """Draw standard normal noise for rows, the same for the same key anywhere.

    Parameters
    ----------
    keys : Tensor of int64, shape (n,)
        One key a row, from `row_keys`.
    seed : int
        The model's seed.
    draws : sequence of int
        Numbers of the draws.
    d : int
        Coordinates a row.

    Returns
    -------
    Tensor of float64, shape (n_draws, n, d)
        On the device of `keys`.
    """
    streams = torch.tensor(
        [_signed(seed * 0x2545F4914F6CDD1D + draw) for draw in draws]
    )
    row = _mix(keys ^ _mix(streams).to(keys.device)[:, None])
    column = _mix(torch.arange(d, device=keys.device))
    bits = _shift(_mix(row[:, :, None] + column), 11)  # 53 random bits
    return torch.special.ndtri((bits.double() + 0.5) / (1 << 53))
