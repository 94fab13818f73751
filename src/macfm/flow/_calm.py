"""The calm path, which starts without noise: a second reading of the mean."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from macfm.flow._path import Path


class Calm(nn.Module):
    """How far the mean goes to where the calm path ends.

    Parameters
    ----------
    share : Tensor, shape (d,)
        In [0, 1], 0 for categories.
    n_steps : int
        Evaluations along the path; the first of them is that at t = 0.

    Notes
    -----
    One evaluation at t = 0 gives the conditional mean m₀. From no noise at all, ε = 0,
    Euler steps x_1 = s_1 m₀, x_{k+1} = x_k + (s_{k+1} − s_k) dx/ds lead to an end m_n
    that has seen what networks make of the row's other unknown cells. Under a normal
    law both are the conditional mean; networks learn it better in small steps than in
    one. The mean is m₀ + b (m_n − m₀), with b from held-out rows.
    """

    # NOTE[DIFF]: the paper averages trajectories from noise.

    share: Tensor

    def __init__(self, share: Tensor, *, n_steps: int) -> None:
        super().__init__()
        self.register_buffer("share", share)
        self.n_steps = n_steps

    def move(
        self, network: nn.Module, x: Tensor, m_cond: Tensor, mean: Tensor, *, path: Path
    ) -> Tensor:
        """Move the mean of rows ``(n, d)``, read at t = 0, as far as it pays."""
        end = calm_end(network, x, m_cond, mean, path=path, n_steps=self.n_steps)
        return torch.lerp(mean, end, self.share)


def calm_end(
    network: nn.Module,
    x: Tensor,
    m_cond: Tensor,
    mean: Tensor,
    *,
    path: Path,
    n_steps: int,
) -> Tensor:
    """Follow the calm path of rows ``(n, d)`` from their mean at t = 0 to its end."""
    t = torch.arange(n_steps + 1, dtype=x.dtype, device=x.device).view(-1, 1, 1)
    s, ds = path.schedule(t / n_steps)
    x_t = torch.where(m_cond, x, s[1] * mean)
    for k in range(1, n_steps):
        v_s = path.from_space(network(x_t, t[k] / n_steps, m_cond), ds[k])
        x_t = torch.where(m_cond, x, x_t + (s[k + 1] - s[k]) * v_s)
    return x_t
