"""Schedules s(t) of the conditional path, and the laws the times are drawn from."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from scipy.special import betaincinv
from torch import Tensor


class Schedule(ABC):
    """A monotone map of [0, 1] onto itself: how far the path is at time t."""

    @abstractmethod
    def __call__(self, t: Tensor) -> tuple[Tensor, Tensor]:
        """Return ``s_t`` and its derivative ``ds_t``, shaped like ``t``."""

    @abstractmethod
    def inverse(self, s: Tensor) -> Tensor:
        """Return the time at which the schedule reaches ``s``."""


@dataclass(frozen=True)
class Linear(Schedule):
    """s(t) = t."""

    def __call__(self, t: Tensor) -> tuple[Tensor, Tensor]:
        """Return ``t`` and ones."""
        return t, torch.ones_like(t)

    def inverse(self, s: Tensor) -> Tensor:
        """Return ``s``."""
        return s


@dataclass(frozen=True)
class Power(Schedule):
    """s(t) = t^γ with γ in [1, 3]: slow at the noise, fast at the data."""

    gamma: float

    def __post_init__(self) -> None:
        if not 1 <= self.gamma <= 3:
            raise ValueError(f"gamma must be in [1, 3], got gamma={self.gamma}")

    def __call__(self, t: Tensor) -> tuple[Tensor, Tensor]:
        """Return ``t**gamma`` and ``gamma * t**(gamma - 1)``."""
        return t**self.gamma, self.gamma * t ** (self.gamma - 1)

    def inverse(self, s: Tensor) -> Tensor:
        """Return ``s**(1 / gamma)``."""
        return s ** (1 / self.gamma)


@dataclass(frozen=True)
class Cosine(Schedule):
    """s(t) = (1 − cos πt) / 2: slow at both ends."""

    def __call__(self, t: Tensor) -> tuple[Tensor, Tensor]:
        """Return ``(1 - cos(pi t)) / 2`` and ``pi / 2 sin(pi t)``."""
        return (1 - torch.cos(math.pi * t)) / 2, math.pi / 2 * torch.sin(math.pi * t)

    def inverse(self, s: Tensor) -> Tensor:
        """Return ``arccos(1 - 2 s) / pi``."""
        return torch.arccos(1 - 2 * s) / math.pi


def interpolate(knots: Tensor, s_t: Tensor) -> Tensor:
    """Interpolate values ``(n_knots, d)``, known at evenly spaced s, ``(n, d)``."""
    place = s_t * (len(knots) - 1)
    below = place.long().clamp(0, max(len(knots) - 2, 0)).squeeze(1)
    share = place - below.unsqueeze(1)
    return torch.lerp(knots[below], knots[below + 1], share)


def make_schedule(name: str, *, gamma: float) -> Schedule:
    """Return the schedule called ``linear``, ``power`` or ``cosine``.

    Only ``power`` reads `gamma`.

    Examples
    --------
    >>> make_schedule("power", gamma=2.0)
    Power(gamma=2.0)
    """
    if name == "linear":
        return Linear()
    if name == "power":
        return Power(gamma)
    if name == "cosine":
        return Cosine()
    raise ValueError(f"schedule must be linear, power or cosine, got {name!r}")


class TimeLaw:
    """The law of the training times: U[0, 1] or Beta(a, b), some held at one time.

    Parameters
    ----------
    beta : tuple of two floats, or None
        Shape (a, b) of the Beta law; None for the uniform law.
    share_t0 : float
        Share of the times that are held.
    held_at : float
        Where: `Path.readout_time`, at which one evaluation of the network is the
        conditional mean. It is 0 unless the schedule starts at rest there, so that the
        velocity has nothing to say.
    """

    # NOTE[DIFF]: the paper draws every t from a continuous law. A share held where it
    # is read trains the one-evaluation read-out; 0 gives the paper's law.

    _N_KNOTS = 4097

    def __init__(
        self, *, beta: tuple[float, float] | None, share_t0: float, held_at: float
    ) -> None:
        self.beta = beta
        self.share_t0 = share_t0
        self.held_at = held_at
        self._quantiles: Tensor | None = None
        if beta is not None:
            u = torch.linspace(0, 1, self._N_KNOTS, dtype=torch.float64).numpy()
            self._quantiles = torch.from_numpy(betaincinv(*beta, u)).float()

    def sample(
        self, n: int, *, generator: torch.Generator, device: torch.device
    ) -> Tensor:
        """Draw ``n`` times, shape ``(n, 1)``."""
        t = torch.rand(n, 1, generator=generator, device=device)
        if self._quantiles is not None:
            self._quantiles = self._quantiles.to(device)
            place = t * (self._N_KNOTS - 1)
            below = place.long().clamp(max=self._N_KNOTS - 2)
            low, high = self._quantiles[below], self._quantiles[below + 1]
            t = low + (place - below) * (high - low)
        if self.share_t0 > 0:
            held = torch.rand(n, 1, generator=generator, device=device) < self.share_t0
            t = torch.where(held, self.held_at, t)
        return t
