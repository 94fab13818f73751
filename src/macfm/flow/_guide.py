"""A Gaussian beside the network: the linear part of every answer, known in advance."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from macfm.flow._pace import in_threads
from macfm.flow._packed import beyond, blocks, by_count, inverse_root, threads_for
from macfm.flow._precision import products

# Beyond this many coordinates one factorisation a row costs more than it tells.
MAX_COORDINATES = 160
# Numbers in the matrices of rows that a GPU factorises together.
_CHUNK_CELLS = 2**24
# A GPU rounds the unknown coordinates of a row up to multiples of this number.
_COUNT_STEP = 16
# On a GPU float32 will do up to this condition number: at 9e4 the largest errors that
# were seen were 1e-3 of a standard deviation, and they grow with it.
_MAX_CONDITION = 1e5


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

    @cached_property
    def is_tame(self) -> bool:
        """Whether float32 is exact enough to solve with it."""
        spectrum = torch.linalg.eigvalsh(self.precision)
        return bool(spectrum[-1] <= _MAX_CONDITION * spectrum[0])

    def forward(self, x_t: Tensor, s_t: Tensor, m_cond: Tensor) -> Guess:
        """Guess the velocity at ``x_t``.

        ``m_cond`` may have fewer rows than ``x_t``, which then holds several points of
        each row, one after the other; ``s_t`` goes with ``m_cond``, shape ``(n, 1)``,
        or is one for all, ``(1, 1)``.
        """
        n, d = m_cond.shape
        in_float32 = x_t.is_cuda and self.is_tame
        dtype = torch.float32 if in_float32 else torch.float64
        s = s_t[:n].to(dtype).expand(n, 1)
        points = x_t.to(dtype).view(-1, n, d)
        precision = self.precision.to(dtype)
        with products("highest") if in_float32 else nullcontext():
            pull = (points - self.mean.to(dtype)) @ precision
            right = torch.where(m_cond, 0.0, s * points - (1 - s) * pull)
            v_s, scale = _solve(precision, right, s, m_cond, eps=None)
        return Guess(
            v_s=v_s.reshape(x_t.shape).to(x_t.dtype),
            scale=scale.to(x_t.dtype).repeat(len(points), 1),
        )

    def draw(self, x: Tensor, observed: Tensor, *, eps: Tensor) -> Tensor:
        """Draw the unknown coordinates of rows from their conditional normal law.

        ``x`` and ``observed`` are ``(n, d)``, the noise and the result ``(n_draws, n,
        d)``; what was observed comes back as it is.
        """
        return self._conditional(x, observed, n=len(eps), eps=eps.double())

    def fill(self, x: Tensor, observed: Tensor) -> Tensor:
        """Return rows ``(n, d)`` with the conditional mean of what is unknown."""
        return self._conditional(x, observed, n=1, eps=None)[0]

    def _conditional(
        self, x: Tensor, observed: Tensor, *, n: int, eps: Tensor | None
    ) -> Tensor:
        known = torch.where(observed, x.double() - self.mean, 0.0)
        right = torch.where(observed, 0.0, -(known @ self.precision))
        right = right.expand(n, *x.shape)
        s_0 = right.new_zeros(len(x), 1)
        moved, _ = _solve(self.precision, right, s_0, observed, eps=eps)
        return torch.where(observed, x, (self.mean + moved).to(x.dtype))


def _solve(
    precision: Tensor, right: Tensor, s: Tensor, m_cond: Tensor, *, eps: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Return M⁻¹ right, ``(points, n, d)``, and √diag(M⁻¹), ``(n, d)``.

    With noise ``(points, n, d)`` a draw of N(M⁻¹ right, M⁻¹) comes instead.
    """
    solve = _solve_packed
    if right.is_cuda:
        # Where several points share a factorisation, it is not what takes the time.
        once = len(right) == 1 and right.shape[2] > 2 * _COUNT_STEP
        solve = _solve_counted if once else _solve_whole
    return solve(precision, right, s, m_cond, eps)


def _solve_packed(
    precision: Tensor, right: Tensor, s: Tensor, m_cond: Tensor, eps: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Work out rows with similarly many unknown coordinates together.

    Each takes as many coordinates as it needs: least arithmetic, for a CPU.
    """
    n, d = m_cond.shape
    right, precision = F.pad(right, (0, 1)), beyond(precision)
    eps = None if eps is None else F.pad(eps, (0, 1))
    v_s = torch.zeros_like(right)
    scale = right.new_ones(n, d + 1)

    def solve(piece: tuple[Tensor, Tensor]) -> None:
        rows, unknown = piece
        s_k, place = s[rows], (rows.unsqueeze(1), unknown)
        matrix = blocks(precision, unknown).mul_((1 - s_k).square().unsqueeze(2))
        matrix.diagonal(dim1=1, dim2=2).add_(torch.where(unknown == d, 1.0, s_k**2))
        inverse = inverse_root(matrix)
        part = inverse @ right[:, *place].permute(1, 2, 0)
        if eps is not None:
            part = part + eps[:, *place].permute(1, 2, 0)
        solved = inverse.transpose(1, 2) @ part
        v_s[:, *place] = solved.permute(2, 0, 1)
        scale[place] = torch.linalg.vector_norm(inverse, dim=1)

    pieces = list(by_count(~m_cond))
    n_threads = threads_for(
        (unknown for _, unknown in pieces), n_threads=torch.get_num_threads()
    )
    in_threads(solve, pieces, n_threads=n_threads)
    return v_s[..., :d], scale[:, :d]


def _solve_whole(
    precision: Tensor, right: Tensor, s: Tensor, m_cond: Tensor, eps: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Work out all coordinates of every row, shown ones apart as an identity.

    Nothing depends on how many are shown, so a GPU need not wait for anyone to count.
    """
    n, d = m_cond.shape
    v_s, scale = [], []
    n_rows = max(_CHUNK_CELLS // max(d, 1) ** 2, 1)
    for start in range(0, n, n_rows):
        some = slice(start, start + n_rows)
        noise = None if eps is None else eps[:, some]
        part = _solved(precision, right[:, some], s[some], m_cond[some], noise)
        v_s.append(part[0])
        scale.append(part[1])
    return torch.cat(v_s, dim=1), torch.cat(scale)


def _solve_counted(
    precision: Tensor, right: Tensor, s: Tensor, m_cond: Tensor, eps: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Work out as many coordinates of a row as it misses, rounded up, for a GPU.

    What a row gets does not depend on how many others miss, but for rounding.
    """
    n, d = m_cond.shape
    v_s, scale = torch.zeros_like(right), right.new_ones(n, d)
    n_steps = ((~m_cond).sum(dim=1) + _COUNT_STEP - 1) // _COUNT_STEP
    order = n_steps.argsort(stable=True)
    # Unknown coordinates first, each a number that occurs once in a row.
    places = m_cond.int().argsort(dim=1, stable=True)
    start = 0
    for step, n_rows in enumerate(torch.bincount(n_steps).tolist()):
        k, end = min(step * _COUNT_STEP, d), start + n_rows
        together = max(_CHUNK_CELLS // max(k * d, 1), 1)
        for first in range(start, end if k else start, together):
            rows = order[first : min(first + together, end)]
            unknown = places[rows, :k]
            at = rows.unsqueeze(1), unknown
            noise = None if eps is None else eps[:, *at]
            part = _solved(
                blocks(precision, unknown), right[:, *at], s[rows], m_cond[at], noise
            )
            v_s[:, *at], scale[at] = part
        start = end
    return v_s, scale


def _solved(
    precision: Tensor, right: Tensor, s: Tensor, m_cond: Tensor, eps: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Work out all of some coordinates of rows, shown ones apart as an identity.

    ``precision`` is that of these coordinates, or ``(n, d, d)``, one for each row.
    """
    unknown = (~m_cond).to(precision.dtype)
    weight = (1 - s) * unknown
    matrix = precision * (weight.unsqueeze(2) * weight.unsqueeze(1))
    matrix.diagonal(dim1=1, dim2=2).add_(torch.where(m_cond, 1.0, s**2))
    inverse = inverse_root(matrix)
    part = inverse @ right.permute(1, 2, 0)
    if eps is not None:
        part = part + (eps * unknown).permute(1, 2, 0)
    solved = inverse.transpose(1, 2) @ part
    return solved.permute(2, 0, 1), torch.linalg.vector_norm(inverse, dim=1)


def plain_guess(
    x_t: Tensor, s_t: Tensor, m_moved: Tensor, *, variance: Tensor | float
) -> Guess:
    """Return what N(0, diag σ²) says: dx/ds = (s − (1 − s) / σ²) x_t / M.

    M = (1 − s)² / σ² + s².
    """
    m = (1 - s_t) ** 2 / variance + s_t**2
    return Guess(
        v_s=torch.where(m_moved, (s_t - (1 - s_t) / variance) / m * x_t, 0.0),
        scale=torch.where(m_moved, m.rsqrt(), 1.0),
    )
