"""RePaint: holes drawn by a diffusion that knows whole rows only."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from macfm.judge.learned._base import Rows
from macfm.judge.learned._trials import noises


@dataclass(frozen=True)
class RePaint:
    """Draw the hole of a row by a diffusion of the whole row.

    From σ_i to σ_{i+1}, `n_inner` times: one stochastic Heun step of the row; observed
    cells become x + σ_{i+1} ε; then, but for the last time, noise brings all cells back
    to σ_i. These loops let holes and observed cells come to agree. At last one Euler
    step to σ = 0. That is 2 (n_steps − 1) n_inner + 1 evaluations.
    """

    n_steps: int
    """Levels of noise above 0."""
    n_inner: int
    """Steps taken at each but the last of them."""
    churn: float
    """Noise added before a step, as in EDM: σ grows by the share churn / n_steps."""
    sigma_max: float
    """First level."""
    sigma_min: float
    """Last level above 0."""
    rho: float
    """Levels are evenly spaced in σ^(1/rho)."""

    def levels(self) -> list[float]:
        """Return the levels of noise, falling, and 0."""
        first, last = (s ** (1 / self.rho) for s in (self.sigma_max, self.sigma_min))
        share = [i / max(self.n_steps - 1, 1) for i in range(self.n_steps)]
        return [(first + s * (last - first)) ** self.rho for s in share] + [0.0]

    def __call__(
        self,
        denoise: Callable[[Tensor, Tensor], Tensor],
        rows: Rows,
        *,
        seed: int,
        trials: range,
    ) -> Tensor:
        """Draw every cell of scaled rows, shape ``(n_trials, n, d)``.

        The noise of a row hangs on its key, the seed and the trial alone. All trials go
        through the denoiser together.
        """
        noise = self._noise(rows, seed=seed, trials=trials)
        known = rows.x.repeat(len(trials), 1)
        observed = rows.observed.repeat(len(trials), 1)
        grow = 1 + min(self.churn / self.n_steps, math.sqrt(2) - 1)
        # On the device at once, so that no step waits for a number to be sent.
        levels = torch.tensor(self.levels(), device=rows.x.device)
        raised = grow * levels
        churned = (raised.square() - levels.square()).sqrt()
        back = (levels[:-1].square() - levels[1:].square()).sqrt()

        eps_churn, eps_start, _ = next(noise)
        x = known + levels[0] * eps_start
        for i in range(self.n_steps - 1):
            for k in range(self.n_inner):
                eps, eps_known, eps_back = next(noise)
                x = x + churned[i] * eps
                x = _heun(denoise, x, raised[i], levels[i + 1])
                x = torch.where(observed, known + levels[i + 1] * eps_known, x)
                if k < self.n_inner - 1:
                    x = x + back[i] * eps_back
        # An Euler step to σ = 0 ends at the denoiser's estimate.
        x = denoise(x + churned[-2] * eps_churn, raised[-2].view(1, 1))
        return x.unflatten(0, (len(trials), -1))

    def _noise(self, rows: Rows, *, seed: int, trials: range) -> Iterator[Tensor]:
        """Yield the noise of start and end, then of each loop, ``(3, n_rows, d)``.

        Its rows are all rows of the first trial, then all of the second, and so on.
        """
        n_loops = (self.n_steps - 1) * self.n_inner + 1
        draws = [
            [
                3 * (n_loops * trial + loop) + part
                for part in range(3)
                for trial in trials
            ]
            for loop in (n_loops - 1, *range(n_loops - 1))
        ]
        for drawn in noises(rows.keys, seed=seed, draws=draws, d=rows.x.shape[1]):
            yield drawn.view(3, -1, drawn.shape[-1])


def _heun(
    denoise: Callable[[Tensor, Tensor], Tensor],
    x: Tensor,
    sigma: Tensor,
    sigma_next: Tensor,
) -> Tensor:
    """Step dx/dσ = (x − D(x; σ)) / σ by the mean of its slopes at both ends."""
    slope = (x - denoise(x, sigma.view(1, 1))) / sigma
    euler = x + (sigma_next - sigma) * slope
    slope_next = (euler - denoise(euler, sigma_next.view(1, 1))) / sigma_next
    return x + (sigma_next - sigma) * (slope + slope_next) / 2
