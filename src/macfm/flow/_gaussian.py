"""A normal distribution fitted to rows with holes by expectation-maximisation."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
from torch import Tensor

_CHUNK_CELLS = 2**24

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
    em_round = partial(_em_round, values, observed, weights=weights)
    if device is not None and device.type == "cuda":
        em_round = partial(
            _em_round_on,
            torch.from_numpy(values).to(device),
            torch.from_numpy(observed).to(device),
            weights=torch.from_numpy(
                np.ones(len(values)) if weights is None else weights
            ).to(device),
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


def _em_round(
    values: np.ndarray,
    observed: np.ndarray,
    moments: Moments,
    *,
    ridge: float | np.ndarray,
    weights: np.ndarray | None,
) -> Moments:
    """Fill the holes under a normal law, and fit one to what that gives."""
    n, d = values.shape
    mean, covariance = moments
    filled = values.copy()
    spread = np.zeros(d * d)
    for rows, unknown, center, inside in _conditionals(
        values, observed, mean=mean, covariance=covariance
    ):
        filled[rows[:, None], unknown] = center
        if weights is not None:
            inside = inside * weights[rows, None, None]
        pairs = unknown[:, :, None] * d + unknown[:, None, :]
        spread += np.bincount(pairs.ravel(), inside.ravel(), minlength=d * d)
    mean = np.average(filled, axis=0, weights=weights)
    centered = filled - mean
    weighted = centered if weights is None else centered * weights[:, None]
    covariance = (weighted.T @ centered + spread.reshape(d, d)) / n
    covariance[np.diag_indices(d)] += ridge
    return mean, covariance


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
    mean = (weights.unsqueeze(1) * filled).sum(dim=0) / n
    centered = filled - mean
    covariance = ((weights.unsqueeze(1) * centered).T @ centered + spread) / n
    covariance.diagonal().add_(torch.as_tensor(np.asarray(ridge)).to(values))
    return mean.cpu().numpy(), covariance.cpu().numpy()


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


def _conditionals(
    values: np.ndarray,
    observed: np.ndarray,
    *,
    mean: np.ndarray,
    covariance: np.ndarray,
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield conditional laws of rows that miss equally many coordinates, say k.

    Four arrays: the rows ``(b,)``, their missing coordinates ``(b, k)``, and of these
    the mean ``(b, k)`` and the covariance ``(b, k, k)``.
    """
    precision = np.linalg.inv(covariance)
    pull = np.where(observed, values - mean, 0.0) @ precision
    n_missing = (~observed).sum(axis=1)
    first = np.argsort(observed, axis=1, kind="stable")  # missing ones first
    for k in np.unique(n_missing[n_missing > 0]):
        alike = np.flatnonzero(n_missing == k)
        for rows in np.array_split(alike, -(-len(alike) * k * k // _CHUNK_CELLS)):
            unknown = first[rows, :k]
            block = precision[unknown[:, :, None], unknown[:, None, :]]
            inside = np.linalg.inv(block)
            part = np.take_along_axis(pull[rows], unknown, 1)[..., None]
            yield rows, unknown, mean[unknown] - (inside @ part)[..., 0], inside
