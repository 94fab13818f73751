"""A Gaussian beside the network: the linear part of every answer, known in advance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

# Beyond this many coordinates one factorisation a row costs more than it tells.
MAX_COORDINATES = 160
# Rows with similarly many unknown coordinates are factorised together.
_N_CHUNKS = 8
_CHUNK_CELLS = 2**24

Moments = tuple[np.ndarray, np.ndarray]
"""Mean ``(d,)`` and covariance ``(d, d)``."""


@dataclass(frozen=True)
class Guess:
    """What a Gaussian says of every coordinate that is not shown."""

    v_s: Tensor
    """Velocity dx/ds towards its conditional mean, 0 where shown, ``(n, d)``."""
    scale: Tensor
    """Standard deviation of X − ε around it, 1 where shown, ``(n, d)``."""


class Gaussian(nn.Module):
    """N(μ, Σ) over encoded rows, and the exact velocity of the path under it.

    Parameters
    ----------
    mean : Tensor of float64, shape (d,)
        μ.
    precision : Tensor of float64, shape (d, d)
        K = Σ⁻¹.

    Notes
    -----
    Let u be the coordinates that are not shown, z the row with x on the shown ones and
    x_t on the others, and s the schedule's value. Given both, X_u is normal with
    covariance (1 − s)² M⁻¹, and the path's expected velocity is

        dx/ds = M⁻¹ (s x_t − (1 − s) [K (z − μ)]_u),   M = (1 − s)² K_uu + s² I,

    whose residual has the standard deviations √diag(M⁻¹). At s = 0 following it gives
    the conditional mean given what is shown; integrated from noise it gives draws of
    the conditional normal law with the right correlations between unknown cells.
    """

    mean: Tensor
    precision: Tensor

    def __init__(self, mean: Tensor, precision: Tensor) -> None:
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("precision", precision)

    def forward(self, x_t: Tensor, s_t: Tensor, m_cond: Tensor) -> Guess:
        """Guess the velocity at ``x_t``.

        ``m_cond`` may have fewer rows than ``x_t``, which then holds several points of
        each row, one after the other; ``s_t`` goes with ``m_cond``, shape ``(n, 1)``.
        """
        n, d = m_cond.shape
        s_64 = s_t[:n].double()
        points = x_t.double().view(-1, n, d)
        pull = (points - self.mean) @ self.precision
        right = torch.where(m_cond, 0.0, s_64 * points - (1 - s_64) * pull)
        solve = _solve_whole if right.is_cuda else _solve_packed
        v_s, scale = solve(self.precision, right, s_64, m_cond)
        return Guess(
            v_s=v_s.reshape(x_t.shape).to(x_t.dtype),
            scale=scale.to(x_t.dtype).repeat(len(points), 1),
        )


def _solve_packed(
    precision: Tensor, right: Tensor, s: Tensor, m_cond: Tensor
) -> tuple[Tensor, Tensor]:
    """Return M⁻¹ right, ``(points, n, d)``, and √diag(M⁻¹), ``(n, d)``.

    Rows with similarly many unknown coordinates are worked out together, each with as
    many coordinates as it needs: least arithmetic, for a CPU.
    """
    n, d = m_cond.shape
    # A coordinate beyond the last fills rows up that have fewer unknown ones.
    right, precision = F.pad(right, (0, 1)), F.pad(precision, (0, 1, 0, 1))
    v_s = torch.zeros_like(right)
    scale = right.new_ones(n, d + 1)
    for rows, unknown in _by_count(m_cond):
        k = unknown.shape[1]
        s_k = s[rows]
        block = precision[unknown].gather(2, unknown[:, None, :].expand(-1, k, -1))
        matrix = block.mul_((1 - s_k).square().unsqueeze(2))
        matrix.diagonal(dim1=1, dim2=2).add_(torch.where(unknown == d, 1.0, s_k**2))
        inverse = _inverse_root(matrix)
        part = right[:, rows[:, None], unknown].permute(1, 2, 0)
        solved = inverse.transpose(1, 2) @ (inverse @ part)
        v_s[:, rows[:, None], unknown] = solved.permute(2, 0, 1)
        scale[rows[:, None], unknown] = inverse.square().sum(dim=1).sqrt()
    return v_s[..., :d], scale[:, :d]


def _solve_whole(
    precision: Tensor, right: Tensor, s: Tensor, m_cond: Tensor
) -> tuple[Tensor, Tensor]:
    """Do as `_solve_packed`, with all coordinates of every row.

    Shown coordinates stand apart as an identity. Nothing depends on how many there are,
    so a GPU need not wait for anyone to count.
    """
    n, d = m_cond.shape
    v_s, scale = [], []
    for rows in torch.arange(n).split(max(_CHUNK_CELLS // max(d, 1) ** 2, 1)):
        some = slice(int(rows[0]), int(rows[-1]) + 1)
        unknown = (~m_cond[some]).to(precision.dtype)
        s_k = s[some]
        both = unknown.unsqueeze(2) * unknown.unsqueeze(1)
        matrix = precision * both * (1 - s_k).square().unsqueeze(2)
        matrix.diagonal(dim1=1, dim2=2).add_(torch.where(m_cond[some], 1.0, s_k**2))
        inverse = _inverse_root(matrix)
        part = right[:, some].permute(1, 2, 0)
        solved = inverse.transpose(1, 2) @ (inverse @ part)
        v_s.append(solved.permute(2, 0, 1))
        scale.append(inverse.square().sum(dim=1).sqrt())
    return torch.cat(v_s, dim=1), torch.cat(scale)


def _inverse_root(matrix: Tensor) -> Tensor:
    """Return L⁻¹ for symmetric matrices L Lᵀ, ``(n, k, k)``."""
    root = torch.linalg.cholesky_ex(matrix).L
    eye = torch.eye(root.shape[-1], dtype=root.dtype, device=root.device)
    return torch.linalg.solve_triangular(root, eye, upper=False)


def plain_guess(x_t: Tensor, s_t: Tensor, m_moved: Tensor) -> Guess:
    """Return what N(0, I) says: dx/ds = (2s − 1) x_t / q, q = s² + (1 − s)²."""
    q = s_t**2 + (1 - s_t) ** 2
    return Guess(
        v_s=torch.where(m_moved, (2 * s_t - 1) / q * x_t, 0.0),
        scale=torch.where(m_moved, q.rsqrt(), 1.0),
    )


def _by_count(m_cond: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield rows ``(b,)`` with their unknown coordinates ``(b, k)``, few of them first.

    A row with fewer than k of them is filled up with d.
    """
    d = m_cond.shape[1]
    n_unknown = (~m_cond).sum(dim=1)
    order = torch.argsort(n_unknown, stable=True)
    first = torch.argsort(m_cond.to(torch.uint8), dim=1, stable=True)
    size = max(-(-len(order) // _N_CHUNKS), 1)
    most = max(_CHUNK_CELLS // max(d, 1) ** 2, 1)
    for rows in order.split(min(size, most)):
        k = int(n_unknown[rows[-1]])
        if k:
            place = torch.arange(k, device=rows.device)
            beyond = place >= n_unknown[rows].unsqueeze(1)
            yield rows, torch.where(beyond, d, first[rows, :k])


def fit_gaussian(
    x: np.ndarray,
    observed: np.ndarray,
    *,
    ridge: float,
    max_iter: int,
    tol: float,
    start: Moments | None = None,
    weights: np.ndarray | None = None,
) -> Moments:
    """Fit a normal distribution to rows with holes by expectation-maximisation.

    Parameters
    ----------
    x, observed : ndarray, shape (n, d)
        Encoded rows and where they hold a value.
    ridge : float
        Added to the variances in each round.
    max_iter, tol
        Most rounds, and the change of the moments at which to stop.
    start : tuple of ndarray or None
        Mean and covariance to begin with; None begins with independent columns.
    weights : ndarray, shape (n,), or None
        How much each row counts; None counts all alike.

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
    for k in range(0, max(max_iter, 1), 2):
        first = _em_round(values, observed, moments, ridge=ridge, weights=weights)
        change = max(np.abs(a - b).max() for a, b in zip(first, moments, strict=True))
        if change < tol or k + 1 >= max_iter:
            return first
        second = _em_round(values, observed, first, ridge=ridge, weights=weights)
        before, moments = moments, second
        if k + 2 < max_iter:
            moments = _extrapolated(before, first, second, least=ridge / 2)
    return moments


def _em_round(
    values: np.ndarray,
    observed: np.ndarray,
    moments: Moments,
    *,
    ridge: float,
    weights: np.ndarray | None,
) -> Moments:
    """Fill the holes under a normal law, and fit one to what that gives."""
    n, d = values.shape
    mean, covariance = moments
    filled = values.copy()
    spread = np.zeros(d * d)
    for rows, unknown, center, inside in conditionals(
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


def draw_gaussian(
    x: np.ndarray,
    observed: np.ndarray,
    *,
    mean: np.ndarray,
    covariance: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Fill rows with a draw from their conditional normal law, shape (n, d)."""
    filled = np.where(observed, x, 0.0).astype(float)
    for rows, unknown, center, inside in conditionals(
        filled, observed, mean=mean, covariance=covariance
    ):
        noise = rng.standard_normal((*center.shape, 1))
        root = np.linalg.cholesky((inside + inside.transpose(0, 2, 1)) / 2)
        filled[rows[:, None], unknown] = center + (root @ noise)[..., 0]
    return filled


def conditionals(
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
