"""A network around a guess: what it predicts has unit variance at every t."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from macfm.flow._guide import Guess, plain_guess
from macfm.flow._path import Path, end_point


class Preconditioned(nn.Module):
    """Let a network predict a quantity of unit variance at every t.

    A normal law guesses the velocity from x_t and says how far it may be off
    (`Guess`); the network gives F and

        dx/ds = guess + scale · F

    on coordinates that are not shown; elsewhere F itself. Under N(0, diag σ²) the
    guess is (s − (1 − s) / σ²) x_t / M with scale 1/√M, M = (1 − s)² / σ² + s². Noisy
    coordinates enter as s x_t / M, their best linear guess of X: at t = 0 the noise
    does not enter at all, and the end point of the path is the conditional mean,
    whatever the noise.

    With hints the law is the guide's, fitted to the table, and the network also reads
    the guide's conditional mean and its standard deviation: a network that gives 0
    then already fills and draws as the normal law does. Noisy coordinates then enter
    as if σ² were 1.
    """

    # NOTE[DIFF]: the paper's network predicts the velocity directly.

    sees_noise_at_start = False
    variance: Tensor | None

    def __init__(
        self, network: nn.Module, *, path: Path, hints: bool, variance: Tensor | None
    ) -> None:
        super().__init__()
        self.network = network
        self.path = path
        self.hints = hints
        self.register_buffer("variance", None if hints else variance)

    def forward(
        self, x_t: Tensor, t: Tensor, m_cond: Tensor, guess: Guess | None = None
    ) -> Tensor:
        """Predict the velocity at ``x_t``, shape ``(n, d)``."""
        s_t, ds_t = self.path.schedule(t)
        moved = ~m_cond
        hints: tuple[Tensor, ...] = ()
        variance = 1.0 if self.variance is None else self.variance
        if self.hints:
            assert guess is not None
            mean = torch.where(moved, end_point(x_t, guess.v_s, s_t), 0.0)
            hints = (mean, torch.where(moved, (1 - s_t) * guess.scale, 0.0))
        else:
            guess = plain_guess(x_t, s_t, moved, variance=variance)
        m = (1 - s_t) ** 2 / variance + s_t**2
        shown = torch.where(moved, s_t / m * x_t, x_t)
        f = self.network(shown, t, m_cond, hints)
        return self.path.to_space(guess.v_s + guess.scale * f, ds_t)
