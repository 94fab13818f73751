"""A normal distribution fitted to rows with holes by expectation-maximisation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from macfm.flow._pace import in_threads
from macfm.flow._packed import beyond, blocks, by_count, inverse_root, threads_for

# Numbers in the matrices of rows that a GPU factorises together, and in the copies of
# those that rows on a CPU share.
_CHUNK_CELLS = 2**24
_LIKE_CELLS = 2**20

Moments = tuple[np.ndarray, np.ndarray]
"""Mean ``(d,)`` and covariance ``(d, d)``."""


def fit_gaussian(
    x: np.ndarray,
    observed: np.ndarray,
    *,
    ridge: float | np.ndarray,
    max_iter: int,
    tol: float,
    start: Moments | None = None,
    weights: np.ndarray | None = None,
    device: torch.device | None = None,
    n_threads: int = 1,
) -> Moments:
    """Fit a normal distribution to rows with holes by expectation-maximisation.

    Parameters
    ----------
    x, observed : ndarray, shape (n, d)
        Encoded rows and where they hold a value.
    ridge : float or ndarray, shape (d,)
        Added to the variances in each round.
    max_iter, tol
        Most rounds, and the change of the moments at which to stop.
    start : tuple of ndarray or None
        Mean and covariance to begin with; None begins with independent columns.
    weights : ndarray, shape (n,), or None
        How much each row counts; None counts all alike.
    device : torch.device or None
        A GPU to compute on; None computes here.
    n_threads : int
        Threads to compute with here; the result does not depend on them.

    Returns
    -------
    mean : ndarray, shape (d,)
    covariance : ndarray, shape (d, d)

    Notes
    -----
    A round closes a gap by the share of rows that hold a column, one in a hundred in a
    column with 99 % holes. So two rounds are taken and extrapolated, as in squared
    extrapolation (SQUAREM, Varadhan and Roland 2008).
    """
    if weights is not None:
        weights = weights / weights.mean()
    values = np.where(observed, x, 0.0).astype(float)
    counts = np.maximum(observed.sum(axis=0), 1)
    moments = start
    if moments is None:
        mean = values.sum(axis=0) / counts
        centered = np.where(observed, values - mean, 0.0)
        share = counts / len(values)
        variance = (centered**2).sum(axis=0) / counts + ridge / share
        moments = mean, np.diag(variance)
    counted = np.ones(len(values)) if weights is None else weights
    if device is not None and device.type == "cuda":
        em_round = partial(
            _em_round_on,
            torch.from_numpy(values).to(device),
            torch.from_numpy(observed).to(device),
            weights=torch.from_numpy(counted).to(device),
        )
    else:
        alike = _by_pattern(observed, counted)
        em_round = partial(
            _em_round,
            torch.from_numpy(values),
            torch.from_numpy(observed),
            alike,
            weights=torch.from_numpy(counted),
            n_threads=threads_for((a.unknown for a in alike), n_threads=n_threads),
        )
    for k in range(0, max(max_iter, 1), 2):
        first = em_round(moments, ridge=ridge)
        change = max(np.abs(a - b).max() for a, b in zip(first, moments, strict=True))
        if change < tol or k + 1 >= max_iter:
            return first
        second = em_round(first, ridge=ridge)
        before, moments = moments, second
        if k + 2 < max_iter:
            moments = _extrapolated(before, first, second, least=np.min(ridge) / 2)
    return moments


@dataclass(frozen=True)
class _Alike:
    """Some patterns of missing coordinates, and the rows that have them."""

    unknown: Tensor
    """The missing coordinates of each pattern, shape ``(b, k)``, filled up with d."""
    rows: Tensor
    """The rows, shape ``(r,)``."""
    which: Tensor
    """Which of the patterns each of them has, shape ``(r,)``."""
    weights: Tensor
    """How much the rows of each pattern count together, shape ``(b,)``."""


def _by_pattern(observed: np.ndarray, weights: np.ndarray) -> list[_Alike]:
    """Sort rows by which coordinates they miss, patterns of many and few apart."""
    packed = np.packbits(observed, axis=1)
    _, first, pattern = np.unique(
        packed, axis=0, return_index=True, return_inverse=True
    )
    pattern = pattern.reshape(-1)
    total = torch.from_numpy(np.bincount(pattern, weights))
    order = torch.from_numpy(np.argsort(pattern, kind="stable"))
    rows_of = order.split(np.bincount(pattern).tolist())
    found = []
    for some, unknown in by_count(torch.from_numpy(~observed[first])):
        rows = [rows_of[k] for k in some.tolist()]
        n_rows = torch.tensor([len(part) for part in rows])
        which = torch.arange(len(some)).repeat_interleave(n_rows)
        found.append(_Alike(unknown, torch.cat(rows), which, total[some]))
    return found


def _em_round(
    values: Tensor,
    observed: Tensor,
    alike: list[_Alike],
    moments: Moments,
    *,
    ridge: float | np.ndarray,
    weights: Tensor,
    n_threads: int,
) -> Moments:
    """Fill the holes under a normal law, and fit one to what that gives.

    Rows that miss the same coordinates share an inverse.
    """
    d = values.shape[1]
    mean, covariance = (torch.from_numpy(part) for part in moments)
    precision = torch.linalg.inv(covariance)
    pull = torch.where(observed, values - mean, 0.0) @ precision
    filled, pull, mean = (F.pad(part, (0, 1)) for part in (values, pull, mean))
    precision = beyond(precision)

    def fill(some: _Alike) -> Tensor:
        unknown = some.unknown
        block = blocks(precision, unknown)
        block.diagonal(dim1=1, dim2=2).add_(unknown == d)
        root = inverse_root(block)
        inside = root.transpose(1, 2) @ root
        n_rows = max(_LIKE_CELLS // block[0].numel(), 1)
        for here in torch.arange(len(some.rows)).split(n_rows):
            which, rows = some.which[here], some.rows[here, None]
            place = rows, unknown[which]
            part = (inside[which] @ pull[place].unsqueeze(2)).squeeze(2)
            filled[place] = mean[place[1]] - part
        pairs = unknown.unsqueeze(2) * (d + 1) + unknown.unsqueeze(1)
        inside = inside * some.weights[:, None, None]
        return pairs.flatten().bincount(inside.flatten(), (d + 1) ** 2)

    spread = torch.zeros((d + 1) ** 2, dtype=values.dtype)
    for part in in_threads(fill, alike, n_threads=n_threads):
        spread += part
    filled, spread = filled[:, :d], spread.view(d + 1, d + 1)[:d, :d]
    return _moments(filled, spread, ridge=ridge, weights=weights)


def _moments(
    filled: Tensor, spread: Tensor, *, ridge: float | np.ndarray, weights: Tensor
) -> Moments:
    """Return mean and covariance of filled rows whose holes have a spread in all."""
    n = len(filled)
    mean = (weights.unsqueeze(1) * filled).sum(dim=0) / n
    centered = filled - mean
    covariance = ((weights.unsqueeze(1) * centered).T @ centered + spread) / n
    covariance.diagonal().add_(torch.as_tensor(np.asarray(ridge)).to(filled))
    return mean.cpu().numpy(), covariance.cpu().numpy()


def _em_round_on(
    values: Tensor,
    observed: Tensor,
    moments: Moments,
    *,
    ridge: float | np.ndarray,
    weights: Tensor,
) -> Moments:
    """Do as `_em_round` on a GPU, with all coordinates of every row at once."""
    n, d = values.shape
    mean, covariance = (torch.from_numpy(part).to(values) for part in moments)
    precision = torch.linalg.inv(covariance)
    pull = torch.where(observed, values - mean, 0.0) @ precision
    filled = values.clone()
    spread = torch.zeros_like(covariance)
    for rows in torch.arange(n, device=values.device).split(_CHUNK_CELLS // d**2):
        unknown = (~observed[rows]).to(values)
        both = unknown.unsqueeze(2) * unknown.unsqueeze(1)
        # Shown coordinates stand apart as an identity.
        root = torch.linalg.cholesky_ex(
            precision * both + torch.diag_embed(1 - unknown)
        )
        inside = torch.cholesky_inverse(root.L) * both
        center = mean - (inside @ pull[rows].unsqueeze(2)).squeeze(2)
        filled[rows] = torch.where(observed[rows], values[rows], center)
        spread += (inside * weights[rows, None, None]).sum(dim=0)
    return _moments(filled, spread, ridge=ridge, weights=weights)


def _extrapolated(
    before: Moments, first: Moments, second: Moments, *, least: float
) -> Moments:
    """Go on where two rounds lead to, θ + 2 a r + a² v, a = |r| / |v| at least 1.

    θ are the moments before, r the first change and v the second less the first. What
    is no covariance with eigenvalues of at least `least` is taken half as far.
    """
    r = [one - zero for zero, one in zip(before, first, strict=True)]
    v = [two - one - by for one, two, by in zip(first, second, r, strict=True)]
    length = np.sqrt(sum((part**2).sum() for part in r))
    bend = np.sqrt(sum((part**2).sum() for part in v))
    a = length / bend if bend > 0 else 1.0
    while a > 1.01:
        mean, covariance = (
            zero + 2 * a * by + a**2 * turn
            for zero, by, turn in zip(before, r, v, strict=True)
        )
        if np.linalg.eigvalsh(covariance)[0] >= least:
            return mean, covariance
        a = (a + 1) / 2
    return second
