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

    on coordinates that are not shown; elsewhere F itself. Under N(0, I) the guess is
    (2s − 1) x_t / q with scale 1/√q, q = s² + (1 − s)². Noisy coordinates enter as
    s x_t / q, their best linear guess of X: at t = 0 the noise does not enter at all,
    and the end point of the path is the conditional mean, whatever the noise.

    With hints the law is the guide's, fitted to the table, and the network also reads
    the guide's conditional mean and its standard deviation: a network that gives 0
    then already fills and draws as the normal law does.
    """

    # NOTE[DIFF]: the paper's network predicts the velocity directly.

    sees_noise_at_start = False

    def __init__(self, network: nn.Module, *, path: Path, hints: bool) -> None:
        super().__init__()
        self.network = network
        self.path = path
        self.hints = hints

    def forward(
        self, x_t: Tensor, t: Tensor, m_cond: Tensor, guess: Guess | None = None
    ) -> Tensor:
        """Predict the velocity at ``x_t``, shape ``(n, d)``."""
        s_t, ds_t = self.path.schedule(t)
        moved = ~m_cond
        q = s_t**2 + (1 - s_t) ** 2
        hints: tuple[Tensor, ...] = ()
        if self.hints:
            assert guess is not None
            mean = torch.where(moved, end_point(x_t, guess.v_s, s_t), 0.0)
            hints = (mean, torch.where(moved, (1 - s_t) * guess.scale, 0.0))
        else:
            guess = plain_guess(x_t, s_t, moved)
        shown = torch.where(moved, s_t / q * x_t, x_t)
        f = self.network(shown, t, m_cond, hints)
        return self.path.to_space(guess.v_s + guess.scale * f, ds_t)
